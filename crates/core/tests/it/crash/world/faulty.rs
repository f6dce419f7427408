//! Drives whose commands fail now and then, in a world whose power goes too.
//!
//! Of a read that fails one block cannot be read from then on, until it is written again. Of a
//! write that fails a part is written, and nothing of what it was to write can be read; if the
//! drive only does not answer in time, whatever is there can be read. What cannot be read before a
//! power cut cannot be read after it.

use std::collections::BTreeSet;

use nearslot_core::io::DriveDone;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::rng::Rng;

/// A block of a drive.
pub(super) type Spot = (usize, u64);

/// What fails, and what has failed.
#[derive(Clone)]
pub(super) struct Faulty {
    rng: Rng,
    /// How often a command fails.
    chance: f64,
    /// The only drive whose commands fail; none if all may.
    only: Option<usize>,
    /// A drive that does not answer.
    pub(super) mute: Option<usize>,
    /// A drive that carries out nothing any more.
    pub(super) gone: Option<usize>,
    /// Blocks that cannot be read.
    pub(super) bad: BTreeSet<Spot>,
    /// Reads and writes that failed, and of these the writes of the map.
    pub(super) failures: [u64; 2],
    pub(super) map_failures: u64,
}

impl Faulty {
    /// `life`: in each other one other commands fail.
    pub(super) fn new(chance: f64, bad: BTreeSet<Spot>, life: &str) -> Faulty {
        Faulty {
            rng: Rng::stream(7 ^ super::super::seed(), life),
            chance,
            only: None,
            mute: None,
            gone: None,
            bad,
            failures: [0; 2],
            map_failures: 0,
        }
    }

    /// Of this drive alone.
    pub(super) fn of(self, drive: usize) -> Faulty {
        Faulty {
            only: Some(drive),
            ..self
        }
    }

    /// No command fails any more but for what is bad.
    pub(super) fn calm(&mut self) {
        self.chance = 0.0;
    }

    /// And this drive is gone.
    pub(super) fn without(self, gone: Option<usize>) -> Faulty {
        Faulty { gone, ..self }
    }

    /// A command has ended; perhaps it has failed. `of_map`: it is the map's. How many of the
    /// blocks that it was to write are written.
    pub(super) fn ended(&mut self, (drive, of_map): (usize, bool), done: &mut DriveDone) -> u64 {
        let blocks = done.at.0..done.at.0 + done.len.0;
        let spots = || blocks.clone().map(|at| (drive, at));
        if self.gone == Some(drive) {
            self.failures[usize::from(done.op == Op::Write)] += 1;
            self.map_failures += u64::from(of_map && done.op == Op::Write);
            done.status = Status::Failed(Failure::Gone);
            return 0;
        }
        let fails = self.rng.chance(self.chance) && self.only.is_none_or(|only| only == drive);
        let late = fails && self.rng.chance(0.5) || self.mute == Some(drive);
        let failure = match done.op {
            Op::Read | Op::Write if late => Some(Failure::TimedOut),
            Op::Read => {
                if fails {
                    self.bad
                        .insert((drive, done.at.0 + self.rng.below(done.len.0)));
                }
                let bad = spots().any(|spot| self.bad.contains(&spot));
                bad.then_some(Failure::Medium)
            }
            Op::Write if fails => {
                self.bad.extend(spots());
                Some(Failure::Medium)
            }
            Op::Write => {
                spots().for_each(|spot| _ = self.bad.remove(&spot));
                None
            }
            Op::Flush | Op::Discard | Op::Seek => None,
        };
        let Some(failure) = failure else {
            return done.len.0;
        };
        self.failures[usize::from(done.op == Op::Write)] += 1;
        self.map_failures += u64::from(of_map && done.op == Op::Write);
        done.status = Status::Failed(failure);
        self.rng.below(done.len.0 + 1)
    }
}
