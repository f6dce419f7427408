//! The schema of capacities and the structs say the same, and the page of a capacity shows what was
//! found.

use nearslot_lab::capacity::{Capacity, Find, How, capacity, figures};
use nearslot_lab::grid;
use nearslot_lab::objective::objectives;
use nearslot_lab::report::figures_html;
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use serde_json::{Value, json};

use crate::report::schema::{breaches, compiled, objects};

const SCHEMA: &str = include_str!("../../../schema/capacity.schema.json");
const RESULTS: &str = include_str!("../../../schema/results.schema.json");

pub(crate) fn found() -> Capacity {
    let workload = "poisson:requests=2000:read_share=0.5".parse().unwrap();
    let mut base = Scenario::over(Load::Workload(workload));
    base.set("drive", "null").unwrap();
    let vary = ["sched=fcfs,look".parse().unwrap()];
    let how = How {
        objectives: objectives(&["read p95 < 300 us and mean < 300 us".to_owned()]).unwrap(),
        find: Find::Rate,
        resolution_percent: 5.0,
        jobs: None,
    };
    let points = grid::points(&base, &vary).unwrap();
    capacity(&points, None, &how, &Control::default()).unwrap()
}

#[test]
fn the_schema_takes_what_a_search_writes_and_nothing_else() {
    let (validator, instance) = (compiled(SCHEMA), json!(found()));
    let errors = breaches(&validator, &instance);
    assert!(errors.is_empty(), "{errors:#?}");
    let mut tried = 0;
    objects("", &instance, &mut |path, map| {
        // What is in effect differs from part to part.
        if path.contains("/config") {
            return;
        }
        let mut more = instance.clone();
        more.pointer_mut(path).unwrap()["unheard_of"] = json!(1);
        assert!(!validator.is_valid(&more), "{path}/unheard_of is accepted");
        for key in map.keys() {
            let mut less = instance.clone();
            let object = less.pointer_mut(path).unwrap().as_object_mut().unwrap();
            object.remove(key);
            assert!(!validator.is_valid(&less), "{path}/{key} is not required");
            tried += 1;
        }
    });
    assert!(tried > 40, "only {tried} keys were tried");
}

/// A trace is described in the same words everywhere.
#[test]
fn the_trace_is_described_as_in_results() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (own, results) = (read(SCHEMA), read(RESULTS));
    for name in ["trace", "span"] {
        assert_eq!(own["$defs"][name], results["$defs"][name]);
    }
}

#[test]
fn the_page_has_the_answer_and_a_figure_for_each_objective() {
    let found = found();
    let shown = figures(&found);
    let answer = shown.answer.as_ref().unwrap();
    assert_eq!(answer.headline, found.headline);
    assert_eq!(shown.figures.len(), 2);
    for (figure, limit) in shown.figures.iter().zip([0.3, 0.3]) {
        let lines = &figure.panels[0].lines;
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["fcfs", "look"]);
        assert_eq!(figure.limit, Some(limit));
        for line in lines {
            assert!(line.x.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(line.y.iter().all(|ms| *ms <= 3.0 * limit), "{:?}", line.y);
        }
    }
    assert_eq!(shown.figures[0].name, "read-p95");
    let table = answer.table.as_ref().unwrap();
    assert_eq!(table.rows.len(), 2);
    assert!(table.rows.iter().all(|row| row.len() == table.heads.len()));
    let column = |name: &str| table.heads.iter().position(|head| head.join(" ") == name);
    let by = column("limited by").unwrap();
    for (row, choice) in table.rows.iter().zip(&found.choices) {
        assert_eq!(row[by], choice.limit.as_ref().unwrap().by.word());
    }
    assert!(
        answer
            .details
            .iter()
            .all(|detail| found.warnings.iter().all(|warning| warning.text != *detail))
    );
    assert!(figures_html(&shown).unwrap().contains("Capacity"));
}
