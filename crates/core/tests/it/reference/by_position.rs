//! Twins of the schedulers that go by position: they try all.

use nearslot_core::contract::{Next, View};
use nearslot_core::io::Io;
use proptest::prelude::*;

use crate::reference::twin::{Definition, Queue, compare, steps};

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
    fn without_weight_there_is_no_age(steps in steps()) {
        compare("aged_satf:weight_ms_per_s=0", "exact", &steps, || Satf { weight_ns_per_s: 0 });
        compare("satf", "exact", &steps, || Satf { weight_ns_per_s: 0 });
    }
}
