//! Overload is said before it is simulated, and a queue that grows has no mean.

use std::sync::atomic::{AtomicUsize, Ordering};

use nearslot_lab::grid;
use nearslot_lab::outcome::{Results, Word};
use nearslot_lab::overload::Overload;
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

const DRIVE: &str = "hp-c2247a:model=mechanical";

fn simulate(workload: &str, wanted: &Wanted, control: &Control) -> Result<Results, RunError> {
    let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
    base.set("drive", DRIVE).unwrap();
    let points = grid::points(&base, &["sched=fcfs,satf".parse().unwrap()]).unwrap();
    compare(&points, None, wanted, control)
}

fn simulated(workload: &str) -> Results {
    simulate(workload, &Wanted::default(), &Control::default()).unwrap()
}

/// No clock is needed to see that it is fast: not one request of the runs was answered.
#[test]
fn a_long_overload_is_refused_before_the_first_request() {
    let control = Control::default();
    let workload = "poisson:rate_rps=4000:requests=3000000";
    let error = simulate(workload, &Wanted::default(), &control).err();
    assert!(matches!(error, Some(RunError::Overload(_))), "{error:?}");
    let text = error.unwrap().to_string();
    for word in [
        "sched=fcfs",
        "the load offers 40",
        "its 3000000 requests",
        "(2 of 2 runs are such)",
        "--overload run",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(control.replied.load(Ordering::Relaxed), 0);
}

#[test]
fn whoever_says_so_gets_it_simulated() {
    let wanted = Wanted {
        overload: Overload::Run,
        ..Wanted::default()
    };
    let workload = "poisson:rate_rps=4000:requests=100000";
    assert!(simulate(workload, &Wanted::default(), &Control::default()).is_err());
    let results = simulate(workload, &wanted, &Control::default()).unwrap();
    assert_eq!(results.runs[0].requests, 100_000);
}

static TOLD: AtomicUsize = AtomicUsize::new(0);

#[test]
fn under_overload_there_is_growth_and_no_interval() {
    let wanted = Wanted {
        tell: Some(|_| {
            TOLD.fetch_add(1, Ordering::Relaxed);
        }),
        ..Wanted::default()
    };
    for load in ["poisson:rate_rps=1000", "oltp:rate_rps=1000"] {
        TOLD.store(0, Ordering::Relaxed);
        let results = simulate(
            &format!("{load}:requests=6000"),
            &wanted,
            &Control::default(),
        )
        .unwrap();
        assert_eq!(TOLD.load(Ordering::Relaxed), 2, "{load}");
        for run in &results.runs {
            let (demand, growth) = (run.demand.unwrap(), run.queue_growth_rps.unwrap());
            assert!(demand.load_factor > 3.0, "{load}: {demand:?}");
            let expected = demand.offered_rps - demand.ability_rps;
            assert!(
                (growth / expected - 1.0).abs() < 0.15,
                "{load}: {growth} is not {expected}"
            );
            assert_eq!(
                (run.response_ms.ci95, run.response_ms.p99_ci95),
                (None, None)
            );
            let told = |warning: &&String| warning.starts_with(&run.label);
            assert_eq!(
                results.warnings.iter().filter(told).count(),
                2,
                "{:?}",
                results.warnings
            );
        }
        assert!(
            results.verdict.headline.starts_with("None keeps up"),
            "{}",
            results.verdict.headline
        );
        let word = results.verdict.rankings[0].ranks[1]
            .against_best
            .unwrap()
            .word;
        assert_eq!(word, Word::Overloaded);
    }
}

#[test]
fn a_load_that_can_be_borne_has_its_mean() {
    let results = simulated("poisson:rate_rps=20:requests=6000");
    for run in &results.runs {
        let demand = run.demand.unwrap();
        assert!((demand.offered_rps / 20.0 - 1.0).abs() < 0.1, "{demand:?}");
        assert!(
            demand.load_factor < 0.5 && demand.busiest_rps < 30.0,
            "{demand:?}"
        );
        assert!(run.queue_growth_rps.is_none() && run.response_ms.ci95.is_some());
    }
    assert!(results.warnings.is_empty(), "{:?}", results.warnings);
}

/// What is found from a sample is what a long closed loop does.
#[test]
fn the_ability_is_that_of_a_long_closed_loop() {
    let open = simulated("poisson:rate_rps=20:requests=20000");
    let closed = simulated("iometer:depth=128:requests=20000");
    for (open, closed) in open.runs.iter().zip(&closed.runs) {
        let ratio = open.demand.unwrap().ability_rps / closed.throughput_rps;
        assert!((ratio - 1.0).abs() < 0.05, "{}: {ratio}", open.label);
        assert!(closed.demand.is_none());
    }
}

/// The drive `null` takes 0.1 ms for each request, whichever comes: 10,000 a second.
#[test]
fn a_long_load_is_refused_from_twice_what_the_drive_can_do_on() {
    let constant = |rate: u64, requests: u64| {
        let workload = format!("poisson:rate_rps={rate}:requests={requests}");
        let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
        base.set("drive", "null").unwrap();
        let points = grid::points(&base, &[]).unwrap();
        compare(&points, None, &Wanted::default(), &Control::default())
    };
    let demand = constant(15_000, 5_000).unwrap().runs[0].demand.unwrap();
    assert!((demand.load_factor - 1.5).abs() < 0.05, "{demand:?}");
    assert!(constant(21_000, 100_000).is_err());
    assert!(constant(19_000, 100_000).is_ok());
}
