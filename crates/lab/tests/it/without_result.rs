//! Runs of a comparison of which nothing is measured, since all that they ask fails.

use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::Results;
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::WarningKind;

/// A comparison over what goes wrong.
fn compared(faults: &str) -> Result<Results, RunError> {
    compared_behind("auto", faults)
}

/// The same behind this warm-up.
fn compared_behind(warmup: &str, faults: &str) -> Result<Results, RunError> {
    let load = Load::Workload("iometer:requests=200".parse().unwrap());
    let mut scenario = Scenario::over(load);
    scenario.set("drive", "seagate-cheetah-9lp").unwrap();
    scenario.set("warmup", warmup).unwrap();
    let vary: Vary = faults.parse().unwrap();
    let points = grid::points(&scenario, &[vary]).unwrap();
    compare(&points, None, &Wanted::default(), &Control::default())
}

#[test]
fn the_other_runs_are_compared_and_the_headline_names_it() {
    let results = compared("faults=none,injected:gone_at_s=0,injected:timeout_share=0.5").unwrap();
    assert_eq!((results.runs.len(), results.runs_planned), (2, 3));
    let label = "faults=injected:gone_at_s=0";
    let told = results
        .warnings
        .iter()
        .filter(|warning| warning.kind == WarningKind::NothingMeasured);
    let told: Vec<_> = told.map(|warning| warning.run.as_deref()).collect();
    assert_eq!(told, [Some(label)]);
    let headline = &results.verdict.headline;
    assert!(
        headline.ends_with(&format!(
            "{label} has no result: none of its measured reads and writes was answered."
        )),
        "{headline}"
    );
    let ranked = &results.verdict.rankings[0].ranks;
    assert_eq!(ranked.len(), 2);
}

#[test]
fn if_no_run_has_a_result_that_is_an_error() {
    let told = compared("faults=injected:gone_at_s=0,injected:timeout_share=1");
    let told = told.unwrap_err().to_string();
    let expected = "faults=injected:gone_at_s=0: there is no result, since no read or write was answered behind the warm-up of";
    assert!(told.starts_with(expected), "{told}");
    assert!(
        told.ends_with("200 requests failed (gone 200); none of the 2 runs has a result"),
        "{told}"
    );
    let alone = compared("faults=injected:gone_at_s=0")
        .unwrap_err()
        .to_string();
    assert!(alone.ends_with("200 requests failed (gone 200)"), "{alone}");
    let measured = compared_behind("0", "faults=injected:gone_at_s=0");
    let measured = measured.unwrap_err().to_string();
    assert!(
        measured.contains("no read or write was answered; 200 requests failed"),
        "{measured}"
    );
}
