//! Which schedulers ask an oracle: an option without effect is refused, so the list of those that do not must be right.

use nearslot_core::sched;
use nearslot_lab::grid::{self, BLIND};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

#[test]
fn just_the_schedulers_of_the_list_never_ask_an_oracle() {
    for spec in sched::TABLE {
        let mut base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
        let settings = [
            ("drive", "hp-c2247a:model=mechanical"),
            ("sched", spec.name),
            ("requests", "800"),
            ("depth", "24"),
            ("read_share", "0.7"),
        ];
        for (key, value) in settings {
            base.set(key, value).unwrap();
        }
        let vary = "oracle=exact,distance,noisy:sigma_us=900".parse().unwrap();
        let points = grid::points(&base, &[vary]).unwrap();
        let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
        let mean = |index: usize| results.runs[index].response_ms.mean.to_bits();
        let blind = mean(0) == mean(1) && mean(0) == mean(2);
        assert_eq!(blind, BLIND.contains(&spec.name), "{}", spec.name);
    }
}
