//! What becomes of a command, and of blocks at rest, on a drive that does not always do what it
//! should.

use std::ops::Range;

use crate::measure::Measure;
use crate::op::Status;
use crate::units::{Blocks, Duration, Instant, Pba};

/// What becomes of a command, whatever lies where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// How the drive says that it ended. One that did not answer in time may have carried out a
    /// write as a whole, in part or not at all.
    pub status: Status,
    /// Where a write puts its blocks.
    pub lands: Pba,
    /// How many of them it puts there, from its first on.
    pub written: Blocks,
    /// It takes so many times as long as it should.
    pub factor: u32,
    /// And so much longer.
    pub extra: Duration,
    /// It does not end before so much time has passed.
    pub at_least: Duration,
}

impl Fate {
    /// All is as it should be with a command of so many blocks at this place.
    pub const fn good(at: Pba, len: Blocks) -> Fate {
        Fate {
            status: Status::Done,
            lands: at,
            written: len,
            factor: 1,
            extra: Duration::ZERO,
            at_least: Duration::ZERO,
        }
    }

    /// Whether it is a command of a slow drive.
    pub fn is_slow(&self) -> bool {
        self.factor > 1 || self.extra > Duration::ZERO
    }
}

/// How blocks at rest go bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decay {
    /// They cannot be read.
    Unreadable,
    /// They are read as if nothing were wrong, and hold something else.
    Rotten,
}

impl Decay {
    /// Both.
    pub const ALL: [Decay; 2] = [Decay::Unreadable, Decay::Rotten];
}

/// Blocks of a cell, the piece of a drive in which one run of blocks may go bad of each [`Decay`].
/// The cells lie one behind the other from block 0 on.
pub const CELL: u64 = 128;

/// A run of blocks, all of one cell, that goes bad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRun {
    /// Which.
    pub blocks: Range<u64>,
    /// It is as it should be until this instant, and mended by a write that begins then or later.
    pub from: Instant,
}

/// What a drive does about blocks that it cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// So long it goes on trying before it gives up.
    pub tries: Duration,
    /// Whether a write mends them, in place or by taking spare sectors. If not, it fails there as
    /// reads do.
    pub writes_mend: bool,
}

/// What a drive has begun so far, as far as a fault may hang on it. What was sent to a drive that
/// is gone is not begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// A read.
    pub read: bool,
    /// A write.
    pub write: bool,
    /// A write of several blocks.
    pub long_write: bool,
    /// When it began a command last.
    pub last: Option<Instant>,
}

/// A setting of faults on a drive: which commands it is about, and whether there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The knob.
    pub setting: &'static str,
    /// In words, the commands on which it acts.
    pub of: &'static str,
    /// From when on.
    pub from: Instant,
    /// Whether the drive has begun one.
    pub met: bool,
}

/// What a drive on which things go wrong counts.
pub static MEASURES: &[Measure] = &[
    Measure::count(
        "failed_medium",
        "commands",
        "commands that failed since a block could not be read, or not be written",
    ).of_run(),
    Measure::count(
        "failed_timed_out",
        "commands",
        "commands that were not answered in time",
    ).of_run(),
    Measure::count(
        "failed_gone",
        "commands",
        "commands that failed since their drive was gone",
    ).of_run(),
    Measure::count(
        "delayed",
        "commands",
        "commands that took longer than they should: retries, slow drives, answers that never came",
    ).of_run(),
    Measure::count("delay_ms", "ms", "how much longer these took, all together").of_run(),
    Measure::count(
        "mended_blocks",
        "blocks",
        "blocks that could not be read until they were written again",
    ).of_run(),
    Measure::count(
        "lost_writes",
        "commands",
        "writes that were reported done and put nothing on the drive",
    ).of_run(),
    Measure::count(
        "misdirected_writes",
        "commands",
        "writes that were reported done and went to another place",
    ).of_run(),
    Measure::count(
        "torn_writes",
        "commands",
        "writes that were reported done and put only their first blocks on the drive",
    ).of_run(),
    Measure::count(
        "wrong_reads",
        "commands",
        "reads that were reported done and brought blocks that are wrong",
    ).of_run(),
    Measure::count(
        "wrong_blocks_read",
        "blocks",
        "blocks that these reads brought and that are wrong",
    ).of_run(),
    Measure::count(
        "late_time_outs",
        "commands",
        "commands that were not answered in time and kept their drive busy for longer than timeout_ms: a drive is not free before it \
         has ended a command",
    ).of_run(),
    Measure::count(
        "caught_reads",
        "commands",
        "reads of a drive with protection information that failed since a block was not what it should be; they are among \
         failed_medium",
    ).of_run(),
];
