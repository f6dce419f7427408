//! Which parts ask an oracle: one that nobody asks is refused, so the cards must say rightly who
//! does.

use nearslot_core::{place, sched};
use nearslot_lab::grid;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

/// Whether results are the same whatever the oracle says, with these parts and so many requests at
/// a time.
fn is_blind(sched: &str, place: &str, depth: &str) -> bool {
    let mut base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
    let settings = [
        ("drive", "hp-c2247a:model=mechanical"),
        ("sched", sched),
        ("place", place),
        ("requests", "800"),
        ("depth", depth),
        ("read_share", "0.7"),
    ];
    for (key, value) in settings {
        base.set(key, value).unwrap();
    }
    let vary = "oracle=exact,distance,noisy:sigma_us=900".parse().unwrap();
    let points = grid::points(&base, &[vary]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let mean = |index: usize| results.runs[index].response_ms.mean.to_bits();
    mean(0) == mean(1) && mean(0) == mean(2)
}

#[test]
fn a_scheduler_asks_an_oracle_if_its_card_says_so() {
    for spec in sched::TABLE {
        let asks = spec.asks.contains(&"oracle");
        assert_eq!(!is_blind(spec.name, "linear", "24"), asks, "{}", spec.name);
    }
}

#[test]
fn a_placement_asks_an_oracle_if_its_card_says_so() {
    for spec in place::TABLE {
        let asks = spec.asks.contains(&"oracle");
        // With one at a time all drives are idle, and those that have a choice ask which is nearer.
        let blind = ["1", "24"]
            .iter()
            .all(|depth| is_blind("fcfs", spec.name, depth));
        assert_eq!(!blind, asks, "{}", spec.name);
    }
}

/// Where nothing turns there is nothing to misjudge.
#[test]
fn an_oracle_that_errs_about_an_arm_is_refused_where_there_is_none() {
    let refused = |drive: &str, vary: &[&str]| {
        let mut base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
        for (key, value) in [("sched", "satf"), ("oracle", "noisy"), ("drive", drive)] {
            base.set(key, value).unwrap();
        }
        let vary: Vec<_> = vary.iter().map(|word| word.parse().unwrap()).collect();
        let points = grid::points(&base, &vary).unwrap();
        let checked = grid::check_effects(&base, &points);
        checked.err().map(|error| error.to_string())
    };
    for drive in ["null", "cloud-gp2-100gib"] {
        let error = refused(drive, &[]).unwrap();
        assert!(error.starts_with("oracle = noisy"), "{error}");
        assert!(
            error.contains(&format!("without an arm, as {drive}")),
            "{error}"
        );
    }
    assert_eq!(refused("hp-c2247a", &[]), None);
    // One run with an arm is enough, as one that asks is.
    assert_eq!(refused("null", &["drive=null,hp-c2247a"]), None);
    assert!(refused("null", &["oracle=exact,noisy"]).is_some());
}

/// A host that goes by block numbers does so over flash, too, where no place is nearer than
/// another: it makes those wait that are far away.
#[test]
fn distance_has_an_effect_without_an_arm() {
    let mut base = Scenario::over(Load::Workload(
        "iometer:requests=4000:depth=32".parse().unwrap(),
    ));
    base.set("drive", "plextor-px-256m5s:queue_depth=2")
        .unwrap();
    base.set("sched", "satf").unwrap();
    let points = grid::points(&base, &["oracle=exact,distance".parse().unwrap()]).unwrap();
    grid::check_effects(&base, &points).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let p99 = |index: usize| results.runs[index].response_ms.p99.unwrap();
    assert!(p99(1) > 1.5 * p99(0), "{} {}", p99(0), p99(1));
}
