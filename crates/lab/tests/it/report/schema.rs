//! The schema file and the structs say the same: every key is in both, and nothing else is
//! accepted.

use jsonschema::Validator;
use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::Results;
use nearslot_lab::report::{Format, html, write};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use serde_json::{Map, Value, json};

use crate::report::hosts;
use crate::report::sample::{SMALL, results};

const SCHEMA: &str = include_str!("../../../schema/results.schema.json");

/// The schema in this text, itself checked.
pub(crate) fn compiled(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// What a value breaks of a schema, the first few.
pub(crate) fn breaches(validator: &Validator, instance: &Value) -> Vec<String> {
    validator
        .iter_errors(instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .take(5)
        .collect()
}

fn validator() -> Validator {
    compiled(SCHEMA)
}

fn with_series() -> Value {
    serde_json::to_value(results(SMALL)).unwrap()
}

fn assert_valid(instance: &Value) {
    let errors = breaches(&validator(), instance);
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn results_are_valid_with_and_without_series() {
    assert_valid(&with_series());
    let mut plain = Vec::new();
    write(&results(SMALL), Format::Json, &mut plain).unwrap();
    let plain: Value = serde_json::from_slice(&plain).unwrap();
    assert_valid(&plain);
    assert!(plain["runs"][0].get("series").is_none());
    let back: Results = serde_json::from_value(plain).unwrap();
    assert_eq!(back.runs.len(), 6);
}

/// Two drives of an array go: what is lost is in the results, with a warning, and is what the
/// schema says.
#[test]
fn lost_blocks_are_told_with_their_addresses() {
    let mut base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
    for (key, value) in [
        ("requests", "600"),
        ("depth", "4"),
        ("drive", "null"),
        ("place", "raid5:disks=4:strip_kib=4"),
        (
            "faults",
            "injected:gone_at_s=0:second_gone_at_s=0.000001:second_gone_drive=2",
        ),
    ] {
        base.set(key, value).unwrap();
    }
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let run = &results.runs[0];
    let lost = run.lost.as_ref().expect("two drives are gone");
    assert_eq!(lost.extents.len(), 100, "so many are listed");
    assert!(lost.blocks > 100 * 8);
    assert_eq!(
        run.measure("place", "lost_blocks")
            .map(|count| count.value()),
        Some(lost.blocks as f64)
    );
    let mut warnings = results.warnings.iter();
    let told = warnings.find(|told| told.text.contains("lost at the end of the run"));
    assert!(told.is_some(), "{:?}", results.warnings);
    assert_valid(&serde_json::to_value(&results).unwrap());
}

/// The sample is made up; this is what a run really writes.
#[test]
fn a_real_comparison_is_valid() {
    let mut base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
    for (key, value) in [("requests", "600"), ("depth", "4")] {
        base.set(key, value).unwrap();
    }
    let vary = Vary {
        key: "sched".to_owned(),
        values: vec!["fcfs".to_owned(), "satf".to_owned()],
    };
    let points = grid::points(&base, &[vary]).unwrap();
    let wanted = Wanted {
        series: true,
        ..Wanted::default()
    };
    let results = compare(&points, None, &wanted, &Control::default()).unwrap();
    assert_eq!(results.runs.len(), 2);
    let chosen = results.drive_chosen.as_ref().unwrap();
    assert_eq!(chosen.name, results.runs[0].config["drive"]["name"]);
    assert_valid(&serde_json::to_value(&results).unwrap());
    assert!(html(&results, None).unwrap().contains("sched=satf"));
}

#[test]
fn hosts_are_valid_and_tell_when_applications_were_started() {
    let value = serde_json::to_value(hosts::starting()).unwrap();
    assert_valid(&value);
    let began = &value["runs"][8]["series"]["startups"][0]["began_s"];
    assert_eq!(began.as_f64(), Some(7.0));
    assert_valid(&serde_json::to_value(hosts::alone()).unwrap());
    assert_valid(&serde_json::to_value(hosts::two_applications()).unwrap());
    let mut more = value.clone();
    more["runs"][8]["applications"][0]["later_s"] = json!(1);
    assert!(!validator().is_valid(&more));
    let mut more = value;
    more["runs"][8]["series"]["startups"][0]["later_s"] = json!(1);
    assert!(!validator().is_valid(&more));
}

#[test]
fn edge_cases_are_valid() {
    let mut edge = results(SMALL);
    edge.trace = None;
    edge.seed = u64::MAX;
    let run = &mut edge.runs[0];
    run.read_response_ms = None;
    run.write_wait_ms = None;
    run.response_ms.ci95 = None;
    run.operations.clear();
    run.failed = [("gone".to_owned(), 7)].into();
    (run.demand, run.queue_growth_rps) = (None, Some(12.5));
    (
        run.response_ms.p95,
        run.response_ms.p99,
        run.response_ms.p999,
    ) = (None, None, None);
    run.series = Some(Default::default());
    edge.verdict.rankings[0].baseline = None;
    edge.verdict.rankings[0].ranks[1].against_best = None;
    let rank = &mut edge.verdict.rankings[0].ranks[2];
    rank.against_best.as_mut().unwrap().ci95_ms = None;
    rank.against_best.as_mut().unwrap().ms = None;
    rank.ratio_to_best = None;
    edge.varied.clear();
    assert_valid(&serde_json::to_value(&edge).unwrap());
    edge.runs.clear();
    edge.verdict.rankings.clear();
    edge.verdict.baseline = None;
    assert_valid(&serde_json::to_value(&edge).unwrap());
}

/// Calls `visit` with every object of a value that the structs made, by its path.
pub(crate) fn objects(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            visit(path, map);
            // What configurations and counters hold has no fixed keys.
            for (key, value) in map.iter().filter(|(key, _)| {
                !["config", "operations", "failed", "measures", "settings"].contains(&key.as_str())
            }) {
                objects(&format!("{path}/{key}"), value, visit);
            }
        }
        // Elements of a list have one shape.
        Value::Array(list) if !list.is_empty() => objects(&format!("{path}/0"), &list[0], visit),
        _ => {}
    }
}

#[test]
fn no_key_may_be_missing_but_the_series() {
    let (instance, validator) = (with_series(), validator());
    let mut removed = 0;
    objects("", &instance, &mut |path, map| {
        for key in map.keys().filter(|key| *key != "series").filter(|_| {
            !["/operations", "/failed", "/measures", "/settings"]
                .iter()
                .any(|key| path.ends_with(key))
        }) {
            let mut less = instance.clone();
            less.pointer_mut(path)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(key);
            assert!(
                !validator.is_valid(&less),
                "the schema does not require {path}/{key}"
            );
            removed += 1;
        }
    });
    assert!(removed > 80, "only {removed} keys were tried");
}

#[test]
fn no_key_may_be_added() {
    let (instance, validator) = (with_series(), validator());
    objects("", &instance, &mut |path, _| {
        let mut more = instance.clone();
        more.pointer_mut(path).unwrap()["unheard_of"] = json!(1);
        assert!(
            !validator.is_valid(&more),
            "the schema accepts {path}/unheard_of"
        );
    });
}

#[test]
fn wrong_values_are_refused() {
    let (instance, validator) = (with_series(), validator());
    let wrong = [
        ("/schema", json!(1)),
        ("/seed", json!(-1)),
        ("/trace/hash", json!("xyz")),
        ("/trace/fit", json!("squeeze")),
        ("/runs/0/utilisation", json!(1.5)),
        ("/runs/0/response_ms/mean", Value::Null),
        ("/runs/0/response_ms/ci95", json!([1.0])),
        ("/runs/0/operations", json!({"erase": 1})),
        ("/runs/0/failed", json!({"bored": 1})),
        ("/runs/0/response_ms/p99_ci95", json!([1.0])),
        ("/runs/0/demand", json!({})),
        ("/runs/0/demand/load_factor", Value::Null),
        ("/runs/4/measures/recovery", json!({})),
        ("/runs/4/measures/recovery/s", Value::Null),
        ("/runs/4/measures/recovery/reads", json!(-1)),
        ("/measures/0/help", Value::Null),
        ("/runs/0/config/sched", json!({"weight": 1})),
        ("/runs/0/config/warmup", json!(5)),
        ("/runs/0/config", json!({})),
        ("/varied/0/role", json!("both")),
        ("/verdict/headline", json!("")),
        ("/verdict/rankings/0/ranks/0/run", json!(0.5)),
        ("/verdict/rankings/0/ranks/0/place", json!(0)),
        (
            "/verdict/rankings/0/ranks/1/against_best/word",
            json!("beyond noise"),
        ),
        (
            "/verdict/rankings/0/ranks/1/against_best/ci95_ms",
            json!([1.0]),
        ),
    ];
    for (path, value) in wrong {
        let mut bad = instance.clone();
        *bad.pointer_mut(path).unwrap() = value;
        assert!(!validator.is_valid(&bad), "{path} is accepted");
    }
}
