//! What the stack and its drives exchange: I/Os with a place on one drive, commands, completions.

use std::num::NonZeroU64;

use crate::ids::{DriveId, IoId, RequestId, StreamId};
use crate::offer::OfferId;
use crate::op::{Cost, Failure, Op, Status};
use crate::position::{ArmPosition, Candidate, Place};
use crate::units::{Blocks, Instant, Lba, Pba};

/// One I/O to one drive, waiting in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// The stack's name for it; used again after completion.
    pub id: IoId,
    /// Order of creation, never used again: what ties are broken by.
    pub sequence: u64,
    /// Who asks.
    pub stream: StreamId,
    /// Read or write.
    pub op: Op,
    /// First block on the drive; of an open I/O, where its data lie now: a hint for schedulers that
    /// go by address.
    pub at: Pba,
    /// Whether it may land in any free slot.
    pub open: bool,
    /// What it may land in, of a range write; then `at` is but a hint, too.
    pub offer: Option<OfferId>,
    /// Length.
    pub len: Blocks,
    /// When its request came to the stack.
    pub arrived: Instant,
    /// Scheduling class and level, as in `Request`.
    pub priority: u16,
    /// Force unit access, of a write: it ends only when its data are on the medium.
    pub fua: bool,
    /// Synchronous: a read, or a write that somebody waits for.
    pub sync: bool,
    /// Where `at` lies, by the drive's oracle.
    pub place: Place,
}

impl Io {
    /// What its drive is told to do, if it goes where it lies.
    pub fn command(&self) -> Command {
        Command {
            io: self.id,
            op: self.op,
            at: self.at,
            len: self.len,
            fua: self.fua,
        }
    }
}

impl From<&Io> for Candidate {
    fn from(io: &Io) -> Candidate {
        Candidate {
            place: io.place,
            op: io.op,
            id: io.id,
            sequence: io.sequence,
            blocks: u32::try_from(io.len.0).unwrap_or(u32::MAX),
        }
    }
}

/// A placement's own word for an I/O, which it gets back when that is bound and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u64);

/// What a command is for, and what it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The request it belongs to; none for what a placement or a scheduler does for itself.
    pub request: Option<RequestId>,
    /// The number of its step, which no other one ever has.
    pub step: StepNumber,
    /// Whether its address was open until it started, as of eager and range writes.
    pub open: bool,
    /// What it brings from the drive or puts there.
    pub moves: Moves,
    /// Of a write: the step that brought its data, as far as its request does not write them
    /// itself. None if no step before it did: then they are in the buffer of delayed copies, or
    /// were read by a plan that had ended.
    pub carries: Option<StepNumber>,
}

impl Origin {
    /// Which of the volume's blocks the command moves, if any.
    pub fn data(&self) -> Option<Data> {
        match self.moves {
            Moves::Volume(data) => Some(data),
            Moves::Nothing | Moves::Own | Moves::Parity(_) | Moves::Parts => None,
        }
    }
}

/// The number of a step, in the order of creation; never used again. Steps are counted from 1: so
/// the number of a step that may not be there takes no more room than one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepNumber(NonZeroU64);

impl StepNumber {
    /// The step with this number.
    ///
    /// # Panics
    /// If it is 0.
    #[inline]
    pub const fn new(number: u64) -> StepNumber {
        StepNumber(NonZeroU64::new(number).expect("steps are counted from 1"))
    }

    /// As a number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

/// What an I/O brings from a drive, or puts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Nothing: a flush, a movement of the arm.
    Nothing,
    /// Blocks of the volume.
    Volume(Data),
    /// What the placement keeps for itself: its map.
    Own,
    /// The parity of this step.
    Parity(StepNumber),
    /// What each of the I/Os moves that joined it: [`Action::Join`](crate::stack::Action::Join).
    Parts,
}

/// Which of the volume's blocks an I/O moves: consecutive ones, or those of every so many that a
/// stripe puts on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    first: Lba,
    /// Blocks of a stripe's unit; 0 if all are consecutive.
    unit: u32,
    /// Blocks of the others' units between two of the drive's own.
    skip: u32,
}

impl Data {
    /// Consecutive blocks from this one on.
    pub const fn from(first: Lba) -> Data {
        Data {
            first,
            unit: 0,
            skip: 0,
        }
    }

    /// The rest of a stripe's unit from this block on, then whole units with so much of the others
    /// between them.
    ///
    /// # Panics
    /// A unit or what lies between two has 2^32 blocks or more.
    pub fn striped(first: Lba, unit: Blocks, skip: Blocks) -> Data {
        let short =
            |blocks: Blocks| u32::try_from(blocks.0).expect("stripes are shorter than 2 TiB");
        Data {
            first,
            unit: short(unit),
            skip: short(skip),
        }
    }

    /// The volume's block that a block of the I/O holds, counted from 0.
    pub fn block(&self, index: u64) -> Lba {
        if self.unit == 0 {
            return Lba(self.first.0 + index);
        }
        // Counted from the begin of the unit that it begins in.
        let unit = u64::from(self.unit);
        let within = self.first.0 % unit + index;
        Lba(self.first.0 + index + within / unit * u64::from(self.skip))
    }
}

/// A read by which a volume comes back after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryRead {
    /// From which drive.
    pub drive: DriveId,
    /// First block.
    pub at: Pba,
    /// Length.
    pub len: Blocks,
}

/// What a drive is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The I/O it carries out, or `Command::ARM` for a bare movement of the arm.
    pub io: IoId,
    /// What to do.
    pub op: Op,
    /// First block.
    pub at: Pba,
    /// Length; 0 for flush and seek.
    pub len: Blocks,
    /// Force unit access, of a write: it ends only when its data are on the medium, whatever the
    /// drive's cache.
    pub fua: bool,
}

impl Command {
    /// The name of a movement of the arm, which no request waits for.
    pub const ARM: IoId = IoId(u32::MAX);

    /// Its end, by a drive that does not tell where its arm is.
    #[inline]
    pub const fn ends(&self, status: Status, cost: Cost) -> DriveDone {
        DriveDone {
            io: self.io,
            op: self.op,
            at: self.at,
            len: self.len,
            status,
            cost,
            arm: None,
        }
    }

    /// A movement of the arm to this block.
    pub const fn seek(at: Pba) -> Command {
        Command {
            io: Command::ARM,
            op: Op::Seek,
            at,
            len: Blocks(0),
            fua: false,
        }
    }
}

/// What a drive does with the data of a write before they are on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteCache {
    /// Nothing: a write ends when its data are on the medium.
    Off,
    /// It ends a write when its cache has the data. A power cut loses what is in the cache.
    Volatile,
    /// The same, but a battery or a capacitor keeps the cache: a power cut loses nothing, and a
    /// forced write ends there, too.
    Protected,
    /// Nobody has said. Who promises anything has to expect a volatile cache.
    Unknown,
}

impl WriteCache {
    /// As configurations and results spell it.
    pub const fn name(self) -> &'static str {
        match self {
            WriteCache::Off => "off",
            WriteCache::Volatile => "volatile",
            WriteCache::Protected => "protected",
            WriteCache::Unknown => "unknown",
        }
    }

    /// Whether a power cut may lose writes that were answered.
    pub const fn may_lose(self) -> bool {
        matches!(self, WriteCache::Volatile | WriteCache::Unknown)
    }
}

/// Blocks of a drive that a power cut may set back to what they held before the last writes to them
/// that were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// First block.
    pub at: Pba,
    /// How many.
    pub len: Blocks,
}

/// What a drive has in its write cache of the writes that ended, and not on the medium yet, or what
/// a placement has in its buffer of delayed copies: work that it still owes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// How much that is.
    pub blocks: Blocks,
    /// How much there is room for, if that does not hang on how the blocks lie.
    pub cache_size: Option<Blocks>,
    /// Whether the drive writes that in an order of its choice, and so the faster the more it has:
    /// then it may owe more and more for a while, and come to rest.
    pub sorts: bool,
}

/// What a write buffer has: work that the stack owes its drives. In pages, as it keeps count of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Pages of which something is there.
    pub pages: u64,
    /// How many it has room for.
    pub room: u64,
    /// Pages that writes have brought so far.
    pub came: u64,
    /// How many writes that were; those that went past it are none of these.
    pub writes: u64,
}

/// Credits for bursts that a drive has, by which it is faster than it can be for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credits {
    /// What they are counted in: commands or MiB.
    pub unit: &'static str,
    /// Spent since the run began, but for what was earned; 0 if more was earned.
    pub spent: f64,
    /// What is left of them.
    pub left: f64,
    /// All that commands took, earned meanwhile or not.
    pub taken: f64,
    /// How much there is a second without credits.
    pub baseline: f64,
}

impl Credits {
    /// Of several, those that end first at the pace of the run so far.
    pub fn first(all: impl Iterator<Item = Credits>) -> Option<Credits> {
        all.min_by(|one, other| one.pace_left().total_cmp(&other.pace_left()))
    }

    /// For how many times the run so far they last at its pace; infinite if none were spent.
    pub fn pace_left(&self) -> f64 {
        match self.spent > 0.0 {
            true => self.left / self.spent,
            false => f64::INFINITY,
        }
    }
}

/// Commands of one direction whose times were extrapolated by their lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extrapolated {
    /// Reads or writes.
    pub op: Op,
    /// Up to this length there are times.
    pub told: Blocks,
    /// How many were longer.
    pub commands: u64,
    /// The longest.
    pub longest: Blocks,
}

/// A drive's completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveDone {
    /// Which I/O.
    pub io: IoId,
    /// What it was.
    pub op: Op,
    /// Where.
    pub at: Pba,
    /// How long.
    pub len: Blocks,
    /// How it ended.
    pub status: Status,
    /// What it cost.
    pub cost: Cost,
    /// Where the arm stands now, if the drive tells.
    pub arm: Option<ArmPosition>,
}

impl DriveDone {
    /// Whether it is a write that the drive has refused, and done nothing.
    #[inline]
    pub fn is_refused(&self) -> bool {
        self.op == Op::Write && self.status == Status::Failed(Failure::Zone)
    }
}
