//! Which parts ask an oracle: one that nobody asks is refused, so the cards must say rightly who does.

use nearslot_core::{place, sched};
use nearslot_lab::grid;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

/// Whether results are the same whatever the oracle says, with these parts and so many requests at a time.
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
