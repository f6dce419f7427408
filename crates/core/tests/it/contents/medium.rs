//! A slow, literal twin of what goes wrong on drives: a flag for each block, and the same questions
//! to the same faults.
//!
//! It says what must become of each command, does to the data what no drive tells, and counts by
//! itself. Over drives that nothing goes wrong on, it decides what becomes of a command: these forget
//! what they hold when the power goes, and it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nearslot_core::contract::{Drive, Faults};
use nearslot_core::fault::{CELL, Decay};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::units::{Instant, Pba};

/// What a command has really done.
pub(crate) struct Deed {
    /// Where a write has put its blocks.
    pub(crate) lands: Pba,
    /// How many of them, from the first on.
    pub(crate) written: u64,
    /// Blocks of a drive that a read has brought and that are wrong.
    pub(crate) wrong: BTreeSet<u64>,
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// It is not what the drive said it would be.
    wrong: bool,
    /// It was meant for another place.
    strays: bool,
    /// When the last write began that has reached it.
    written: Option<Instant>,
}

/// The command that has ended so; whether a write was forced changes nothing.
fn commanded(done: &DriveDone) -> Command {
    Command {
        io: done.io,
        op: done.op,
        at: done.at,
        len: done.len,
        fua: false,
    }
}

/// All drives of a volume.
pub(crate) struct Medium {
    faults: Arc<dyn Faults>,
    /// Whether drives look at guard and tag of each block.
    protected: bool,
    /// Whether it decides how a command ends, and no drive does.
    decides: bool,
    drives: Vec<Vec<Block>>,
    /// By the name of the measure.
    counts: BTreeMap<&'static str, u64>,
}

impl Medium {
    /// So many drives with so many blocks each; none if nothing goes wrong on any.
    pub(crate) fn new(
        faults: Arc<dyn Faults>,
        protected: bool,
        (drives, blocks): (usize, u64),
    ) -> Option<Medium> {
        let any = (0..drives as u16).any(|drive| faults.concern(DriveId(drive)));
        any.then(|| Medium {
            faults,
            protected,
            decides: false,
            drives: vec![vec![Block::default(); blocks as usize]; drives],
            counts: BTreeMap::new(),
        })
    }

    /// The same over drives on which nothing goes wrong.
    pub(crate) fn that_decides(self) -> Medium {
        Medium {
            decides: true,
            ..self
        }
    }

    /// Whether a block does not hold what the drive has said, or has rotted by this instant.
    pub(crate) fn is_wrong(&self, drive: DriveId, block: u64, by: Instant) -> bool {
        let flag = self.drives[drive.index()][block as usize].wrong;
        flag || self.bad(Decay::Rotten, drive, block, by)
    }

    /// The power has gone while a write was under way: it had reached this block.
    pub(crate) fn arrived(&mut self, now: Instant, drive: DriveId, block: u64) {
        self.drives[drive.index()][block as usize] = Block {
            written: Some(now),
            ..Block::default()
        };
    }

    fn count(&mut self, name: &'static str, number: u64) {
        *self.counts.entry(name).or_default() += number;
    }

    /// So often this has happened.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// Whether a block has gone bad by this instant and was not written since.
    fn bad(&self, decay: Decay, drive: DriveId, block: u64, by: Instant) -> bool {
        let mends = decay == Decay::Rotten || self.faults.recovery().writes_mend;
        let written = self.drives[drive.index()][block as usize].written;
        let run = self.faults.bad_run(drive, decay, block / CELL);
        run.is_some_and(|run| {
            let mended = mends && written.is_some_and(|written| written >= run.from);
            run.blocks.contains(&block) && run.from <= by && !mended
        })
    }

    /// A drive has ended a command.
    pub(crate) fn ended(&mut self, now: Instant, drive: DriveId, done: &mut DriveDone) -> Deed {
        let DriveDone { op, at, len, .. } = *done;
        let command = commanded(done);
        let began = Instant(now.0 - done.cost.total().0);
        let fate = self.faults.fate(drive, began, &command);
        let mut blocks = at.0..at.0 + len.0;
        let bad = blocks.find(|block| self.bad(Decay::Unreadable, drive, *block, began));
        let refuses = op == Op::Read || op == Op::Write && !self.faults.recovery().writes_mend;
        let expected = match bad {
            _ if now >= self.faults.gone_from(drive) => Status::Failed(Failure::Gone),
            _ if !fate.status.is_done() => fate.status,
            Some(_) if refuses => Status::Failed(Failure::Medium),
            _ if op == Op::Read && self.catches(drive, &command, began) => {
                self.count("caught_reads", 1);
                Status::Failed(Failure::Medium)
            }
            _ => Status::Done,
        };
        if self.decides {
            done.status = expected;
        }
        assert_eq!(done.status, expected, "{command:?} of {began}");
        let mut deed = Deed {
            lands: fate.lands,
            written: fate.written.0,
            wrong: BTreeSet::new(),
        };
        match expected {
            Status::Failed(Failure::Gone) => deed.written = 0,
            Status::Failed(Failure::Medium) => {
                deed.written = bad.map_or(0, |bad| (bad - at.0).min(fate.written.0));
            }
            _ => {}
        }
        if let Status::Failed(failure) = expected {
            let name = match failure {
                Failure::Medium => "failed_medium",
                Failure::TimedOut => "failed_timed_out",
                Failure::Gone | Failure::MapLost | Failure::Exhausted | Failure::Zone => {
                    "failed_gone"
                }
            };
            self.count(name, 1);
            let late = failure == Failure::TimedOut && done.cost.total() > fate.at_least;
            self.count("late_time_outs", u64::from(late));
        }
        match op {
            Op::Read if expected.is_done() => self.was_read(drive, &command, began, &mut deed),
            Op::Write => self.was_written(drive, &command, began, (&deed, expected)),
            _ => {}
        }
        deed
    }

    /// Whether guard or tag of a block that is read does not fit.
    fn catches(&self, drive: DriveId, command: &Command, began: Instant) -> bool {
        let mut blocks = command.at.0..command.at.0 + command.len.0;
        let strange = |block| {
            let strays = self.drives[drive.index()][block as usize].strays;
            strays || self.bad(Decay::Rotten, drive, block, began)
        };
        self.protected && blocks.any(strange)
    }

    fn was_read(&mut self, drive: DriveId, command: &Command, began: Instant, deed: &mut Deed) {
        let blocks = command.at.0..command.at.0 + command.len.0;
        let is_wrong = |block: &u64| self.is_wrong(drive, *block, began);
        deed.wrong = blocks.filter(is_wrong).collect();
        self.count("wrong_reads", u64::from(!deed.wrong.is_empty()));
        self.count("wrong_blocks_read", deed.wrong.len() as u64);
    }

    fn was_written(
        &mut self,
        drive: DriveId,
        command: &Command,
        began: Instant,
        (deed, status): (&Deed, Status),
    ) {
        let astray = deed.lands != command.at;
        if status.is_done() {
            self.count("misdirected_writes", u64::from(astray));
            self.count("lost_writes", u64::from(deed.written == 0));
            let torn = deed.written > 0 && deed.written < command.len.0;
            self.count("torn_writes", u64::from(torn));
        }
        for block in deed.lands.0..deed.lands.0 + deed.written {
            let mends = self.faults.recovery().writes_mend;
            let mended = mends && self.bad(Decay::Unreadable, drive, block, began);
            self.count("mended_blocks", u64::from(mended));
            self.drives[drive.index()][block as usize] = Block {
                wrong: astray,
                strays: astray,
                written: Some(began),
            };
        }
        let missed = match astray {
            true => 0,
            false => deed.written,
        };
        if status.is_done() {
            for block in command.at.0 + missed..command.at.0 + command.len.0 {
                self.drives[drive.index()][block as usize].wrong = true;
            }
        }
    }

    /// The drives have counted as much.
    pub(crate) fn check_counts(&self, drives: &[Box<dyn Drive>]) {
        let mut told: BTreeMap<&str, u64> = BTreeMap::new();
        for drive in drives {
            drive.tell_faults(&mut |measure, number| {
                *told.entry(measure.name).or_default() += number;
            });
        }
        assert!(!told.is_empty(), "no drive tells anything");
        for (name, number) in told {
            // How much longer commands take, tests of the drive by itself say.
            if !name.starts_with("delay") {
                assert_eq!(number, self.counted(name), "{name}");
            }
        }
    }
}
