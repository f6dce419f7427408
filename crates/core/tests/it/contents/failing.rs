//! Drives whose commands fail now and then: what no other copy has fails its request, and nothing that is answered is wrong.
//!
//! A block that could not be read or written cannot be read until it is written again, as with a bad sector that the drive
//! replaces at the next write.

use std::collections::BTreeSet;

use nearslot_core::ids::DriveId;
use nearslot_core::io::DriveDone;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;

use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

/// What fails, and what has failed.
pub(crate) struct Failing {
    rng: Rng,
    /// How often commands fail, by drive.
    chance: Vec<f64>,
    /// Blocks that cannot be read.
    unreadable: BTreeSet<(DriveId, u64)>,
    /// Reads and writes that failed.
    failures: [u64; 2],
}

impl Failing {
    fn new(seed: u64, chance: Vec<f64>) -> Failing {
        Failing {
            rng: Rng::stream(seed, "failing"),
            chance,
            unreadable: BTreeSet::new(),
            failures: [0; 2],
        }
    }

    /// A command has ended; perhaps it has failed.
    pub(crate) fn ended(&mut self, drive: DriveId, done: &mut DriveDone) {
        let blocks = done.at.0..done.at.0 + done.len.0;
        let places = || blocks.clone().map(|block| (drive, block));
        let fails = self.rng.chance(self.chance[drive.index()]);
        match done.op {
            Op::Read => {
                if fails {
                    let bad = done.at.0 + self.rng.below(done.len.0);
                    self.unreadable.insert((drive, bad));
                }
                if places().any(|place| self.unreadable.contains(&place)) {
                    self.failures[0] += 1;
                    done.status = Status::Failed(Failure::Medium);
                }
            }
            Op::Write if fails => {
                self.unreadable.extend(places());
                self.failures[1] += 1;
                done.status = Status::Failed(Failure::Medium);
                // How much of it was written.
                done.cost.transfer = Duration(self.rng.below(1 << 20));
            }
            Op::Write => places().for_each(|place| _ = self.unreadable.remove(&place)),
            Op::Flush | Op::Discard | Op::Seek => {}
        }
    }
}

/// A life in which so many of each drive's commands fail, and what is left when they do not any more.
fn life(setup: &Setup, seed: u64, chance: impl Fn(usize) -> f64) -> Rig {
    let mut rig = Rig::new(setup, "disk", "satf", seed);
    let mut rng = Rng::stream(seed, "load");
    rig.rules.off = true;
    rig.contents.may_fail = true;
    rig.fill();
    rig.settle();
    let drives = rig.drives() as usize;
    rig.failing = Some(Failing::new(seed, (0..drives).map(chance).collect()));
    load::churn(&mut rig, setup, 40, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    rig
}

/// Two copies of every block are on different drives when its write is answered.
fn spread(setup: &Setup) -> bool {
    setup.foreground > 1 && setup.spread()
}

/// Only a read may fail that comes while a write of the same chunk is under way: the first copy that lands may be on the bad
/// drive, and the older ones are given up with it.
#[test]
fn one_bad_drive_among_copies_costs_no_request() {
    let mut failures = [0; 2];
    for (seed, setup) in SETUPS.iter().filter(|setup| spread(setup)).enumerate() {
        let rig = life(
            setup,
            seed as u64,
            |drive| if drive == 0 { 0.1 } else { 0.0 },
        );
        assert_eq!(rig.contents.failed, 0, "{setup:?}");
        let failing = rig.failing.expect("some fail");
        (0..2).for_each(|op| failures[op] += failing.failures[op]);
    }
    assert!(failures.iter().all(|count| *count > 500), "{failures:?}");
}

#[test]
fn what_is_answered_is_right_whatever_fails() {
    let (mut failed, mut compared) = (0, 0);
    for (seed, setup) in SETUPS.iter().enumerate() {
        let rig = life(setup, seed as u64, |_| 0.03);
        failed += rig.failed;
        compared += rig.contents.compared;
    }
    assert!(failed > 100, "only {failed} requests failed");
    assert!(compared > 100_000, "only {compared} blocks were compared");
}
