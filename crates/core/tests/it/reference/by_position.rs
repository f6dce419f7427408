//! Twins of the schedulers that go by position: they try all.

use nearslot_core::contract::{Next, View};
use nearslot_core::io::Io;
use nearslot_core::op::Op;
use nearslot_core::position::Served;
use proptest::prelude::*;

use crate::reference::twin::{Definition, Queue, Step, compare, steps};

/// The least positioning time, less what waiting makes up for; of equals the oldest.
struct Satf {
    weight_ns_per_s: u64,
}

impl Definition for Satf {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let price = |io: &Io| {
            let positioning = view
                .oracle
                .positioning_time(view.now, io.op, &io.place, io.len);
            // A constant less, this is what waiting makes up for: the time of arrival, weighed.
            let late = u128::from(io.arrived.0) * u128::from(self.weight_ns_per_s) / 1_000_000_000;
            (u128::from(positioning.0) + late, io.sequence)
        };
        let all = queue.iter().enumerate();
        let best = all.min_by_key(|(_, io)| price(io));
        Ok(best.expect("something waits").0)
    }
}

/// What the drive has goes first, but for every so many in a row while others wait.
struct HitsFirst {
    base: Satf,
    in_row: u64,
    row: u64,
}

impl HitsFirst {
    /// What the buffer serves of an operation.
    fn served(view: &View<'_>, op: Op) -> Vec<Served> {
        let mut all = Vec::new();
        view.oracle
            .buffered(view.now, op, &mut |served| all.push(served));
        all
    }
}

impl Definition for HitsFirst {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let served = [Op::Read, Op::Write].map(|op| (op, HitsFirst::served(view, op)));
        let serves = |(op, served): (Op, &Served), io: &Io| {
            let fixed = !io.open && io.offer.is_none();
            fixed && io.op == op && served.has(io.at, io.len)
        };
        let of_op = served.iter();
        let all_served: Vec<_> = of_op
            .flat_map(|(op, all)| all.iter().map(|served| (*op, served)))
            .collect();
        // The first of each, and of these the oldest.
        let firsts = all_served.iter().filter_map(|served| {
            let of_it = queue.iter().enumerate();
            let of_it = of_it.filter(|(_, io)| serves(*served, io));
            of_it.min_by_key(|(_, io)| (io.at, io.sequence))
        });
        let hit = firsts.min_by_key(|(_, io)| io.sequence);
        let is_hit = |io: &Io| all_served.iter().any(|served| serves(*served, io));
        let others = queue.iter().any(|io| !is_hit(io));
        let may = self.in_row == 0 || self.row < self.in_row || !others;
        if let Some((index, _)) = hit.filter(|_| may) {
            self.row = if self.row < self.in_row {
                self.row + 1
            } else {
                1
            };
            return Ok(index);
        }
        self.row = 0;
        self.base.choose(queue, view)
    }
}

/// The same with any others beside hits (0), with reads alone (1), or with reads of one block and
/// writes (2).
fn with_others(mut steps: Vec<Step>, who: u8) -> Vec<Step> {
    for step in &mut steps {
        let Step::Arrive(asks) = step else {
            continue;
        };
        for ask in asks {
            match (who, ask.op) {
                (1, _) => ask.op = Op::Read,
                (2, Op::Read) => (ask.at, ask.len) = (640, 8),
                _ => {}
            }
        }
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn satf(steps in steps(), sight in prop_oneof![Just("exact"), Just("noisy:sigma_us=500"), Just("distance")]) {
        compare("satf", sight, &steps, || Satf { weight_ns_per_s: 0 });
    }

    #[test]
    fn aged_satf(steps in steps(), weight in prop_oneof![0..20u64, 0..=1_000u64]) {
        let part = format!("aged_satf:weight_ms_per_s={weight}");
        compare(&part, "exact", &steps, || Satf { weight_ns_per_s: weight * 1_000_000 });
    }

    #[test]
    fn aged_satf_over_noise(steps in steps()) {
        compare("aged_satf", "noisy", &steps, || Satf { weight_ns_per_s: 6_000_000 });
    }

    #[test]
    fn hits_first(steps in steps(), in_row in 0..6u64, weight in prop_oneof![Just(0), Just(6)], who in 0..3u8) {
        let steps = with_others(steps, who);
        let base = ["satf", "aged_satf"][usize::from(weight > 0)];
        let part = format!("hits_first:in_row={in_row}:base={base}");
        let definition = || HitsFirst {
            base: Satf { weight_ns_per_s: weight * 1_000_000 },
            in_row,
            row: 0,
        };
        compare(&part, "exact", &steps, definition);
    }

    #[test]
    fn without_weight_there_is_no_age(steps in steps()) {
        compare("aged_satf:weight_ms_per_s=0", "exact", &steps, || Satf { weight_ns_per_s: 0 });
        compare("satf", "exact", &steps, || Satf { weight_ns_per_s: 0 });
    }
}
