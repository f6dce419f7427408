//! Runs whose start decides their mean say so.

use nearslot_lab::grid;
use nearslot_lab::outcome::Results;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::{Warning, WarningKind};

fn ran(place: &str, rate: u32, warmup: &str) -> Results {
    let load = format!("poisson:requests=8000:rate_rps={rate}:read_share=0.5");
    let mut scenario = Scenario::over(Load::Workload(load.parse().unwrap()));
    for (key, value) in [
        ("drive", "seagate-cheetah-9lp"),
        ("sched", "look"),
        ("place", place),
        ("warmup", warmup),
    ] {
        scenario.set(key, value).unwrap();
    }
    let points = grid::points(&scenario, &[]).unwrap();
    compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
}

fn of_start(results: &Results) -> Option<&Warning> {
    let mut warnings = results.warnings.iter();
    warnings.find(|warning| warning.kind == WarningKind::Start)
}

/// Each sector of a virtual log is written for the first time within seconds, and what waits for
/// that is most of all response time.
#[test]
fn a_map_that_is_written_for_the_first_time_is_told_and_the_warm_up_that_leaves_it_out() {
    let whole = ran("eager:map=virtual_log", 130, "auto");
    let told = &of_start(&whole).unwrap().text;
    assert!(whole.runs[0].response_ms.mean > 40.0);
    let warmup = told.split("--warmup ").nth(1).unwrap();
    let warmup = warmup.split(' ').next().unwrap();
    let later = ran("eager:map=virtual_log", 130, warmup);
    let mean = later.runs[0].response_ms.mean;
    assert!(mean < 25.0, "{mean} ms behind {warmup}: {told}");
    assert_eq!(of_start(&later), None);
}

#[test]
fn a_run_that_has_nothing_to_set_up_is_not_told_of_its_start() {
    for place in ["linear", "eager"] {
        assert_eq!(of_start(&ran(place, 60, "auto")), None, "{place}");
    }
}
