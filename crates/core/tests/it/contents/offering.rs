//! A host that offers, on disks with tracks and on such as choose by themselves: every read finds what was written, and all that can happen to a write has happened.

use std::collections::BTreeMap;

use nearslot_core::rng::Rng;
use nearslot_core::sched;

use crate::contents::failing::{Slip, use_up, written};
use crate::contents::load;
use crate::contents::random::{live, named};
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;

const KINDS: [&str; 3] = ["disk", "complete disk", "sorting disk"];

/// What is free is spread over tracks, and hardly more than a few writes need.
const SETUPS: &[Setup] = &[
    Setup::new("offering:within=track:dilution=1.5:unit_blocks=4", 1, 1).chunk(4),
    Setup::new("offering:within=track:dilution=1.1:unit_blocks=2", 1, 1).chunk(2),
    Setup::new("offering:within=disk:dilution=1.02", 1, 1),
];

/// What the placement counts, in all lives together.
#[derive(Default)]
struct Sum(BTreeMap<&'static str, u64>);

impl Sum {
    fn add(&mut self, rig: &Rig) {
        rig.stack.tell(&mut |kind, measure, number| {
            if kind == "place" {
                *self.0.entry(measure.name).or_default() += number;
            }
        });
    }

    fn check(&self, names: &[&str]) {
        for name in names {
            assert!(self.0[name] > 20, "{name}: {:?}", self.0);
        }
    }
}

#[test]
fn what_is_read_is_what_was_written_wherever_it_may_land() {
    let mut sum = Sum::default();
    for (number, spec) in sched::TABLE.iter().enumerate() {
        let setup = &SETUPS[number % SETUPS.len()];
        for kind in KINDS {
            named(setup, kind, spec.name, || {
                sum.add(&live(setup, kind, spec.name, 20, number as u64));
            });
        }
    }
    sum.check(&[
        "range_writes",
        "in_place",
        "widened",
        "halved",
        "read_pieces",
    ]);
}

/// More writes at a time than there is room for.
#[test]
fn a_storm_of_writes_waits_for_room() {
    let mut sum = Sum::default();
    for (seed, setup) in SETUPS.iter().enumerate() {
        for kind in KINDS {
            named(setup, kind, "satf", || {
                let mut rig = Rig::new(setup, kind, "satf", seed as u64);
                let mut rng = Rng::stream(seed as u64, "storm");
                rig.fill();
                for _ in 0..3 {
                    load::storm(&mut rig, setup, &mut rng);
                }
                rig.settle();
                load::scan(&mut rig, setup, &mut rng);
                rig.settle();
                sum.add(&rig);
            });
        }
    }
    sum.check(&["waited_for_room"]);
}

/// A write goes elsewhere when its place is bad, and what a drive has not answered hurts nobody.
#[test]
fn what_fails_is_no_wrong_data() {
    let mut failed = 0;
    for (seed, setup) in (0..).zip(SETUPS.iter().cycle().take(9)) {
        named(setup, "disk", "satf", || {
            let mut rig = written(setup, seed, Slip::None, |_| 0.04);
            let timeouts = rig.failing.as_mut().expect("some fail");
            timeouts.timeouts = [0.0, 0.3][seed as usize % 2];
            failed += use_up(rig, setup, seed).failed;
        });
    }
    assert!(failed > 100, "{failed} requests failed");
}
