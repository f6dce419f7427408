//! What the stack and its drives exchange: I/Os with a place on one drive, commands, completions.

use crate::ids::{DriveId, IoId, RequestId, StreamId};
use crate::op::{Cost, Op, Status};
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
    /// First block on the drive; of an open I/O, where its data lie now: a hint for schedulers that go by address.
    pub at: Pba,
    /// Whether it may land in any free slot.
    pub open: bool,
    /// Length.
    pub len: Blocks,
    /// When its request came to the stack.
    pub arrived: Instant,
    /// Scheduling class and level, as in `Request`.
    pub priority: u16,
    /// Where `at` lies, by the drive's oracle.
    pub place: Place,
}

impl From<&Io> for Candidate {
    fn from(io: &Io) -> Candidate {
        Candidate {
            place: io.place,
            op: io.op,
            id: io.id,
            sequence: io.sequence,
        }
    }
}

/// A placement's own word for an I/O, which it gets back when that is bound and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u64);

/// Where an I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this block.
    At(Pba),
    /// To any free slot; schedulers that go by address take it for one to this block.
    Open(Pba),
}

/// An I/O that a placement wants done, before the stack gives it a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedIo {
    /// On which drive.
    pub drive: DriveId,
    /// What.
    pub op: Op,
    /// Where; ignored by a flush.
    pub target: Target,
    /// Length; 0 for a flush.
    pub len: Blocks,
    /// Which of the volume's blocks it moves; none if none (a flush, a map).
    pub data: Option<Data>,
    /// The placement's word for it.
    pub tag: Tag,
    /// Index in the plan of an earlier I/O that must be done first.
    pub after: Option<u32>,
    /// One of several ways to do the same, with the I/O before it in the plan: only what starts first is done.
    pub alternative: bool,
    /// Whether the request is answered only when this is done.
    pub awaited: bool,
}

impl PlannedIo {
    /// An I/O that its request waits for, and that waits for no other.
    pub const fn new(drive: DriveId, op: Op, target: Target, len: Blocks) -> PlannedIo {
        PlannedIo {
            drive,
            op,
            target,
            len,
            data: None,
            tag: Tag(0),
            after: None,
            alternative: false,
            awaited: true,
        }
    }
}

/// Whose data an I/O moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The request it belongs to; none for what a placement does for itself.
    pub request: Option<RequestId>,
    /// Which of the volume's blocks it moves, if any.
    pub data: Option<Data>,
}

/// Which of the volume's blocks an I/O moves: consecutive ones, or those of every so many that a stripe puts on one drive.
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

    /// The rest of a stripe's unit from this block on, then whole units with so much of the others between them.
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

/// I/Os that belong together: of one request, of the completion of another I/O, of spare time. The stack owns one and
/// clears it each time.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In no order, but for what each says itself; the request is answered when the last awaited one is done.
    pub ios: Vec<PlannedIo>,
    /// Drives for which there is something new to do in their spare time.
    pub wake: Vec<DriveId>,
    /// What the request waits for besides I/Os, by the placement's own words.
    pub waits: Vec<Tag>,
    /// What was waited for and is done now.
    pub settled: Vec<Tag>,
    /// An open I/O that waits is to go to this block of its drive, which is not free.
    pub pinned: Option<(Tag, Pba)>,
}

impl Plan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        let Plan {
            ios,
            wake,
            waits,
            settled,
            pinned,
        } = self;
        let nothing = ios.is_empty() && wake.is_empty() && pinned.is_none();
        nothing && waits.is_empty() && settled.is_empty()
    }

    /// Forgets all, but keeps the memory.
    pub fn clear(&mut self) {
        self.ios.clear();
        self.wake.clear();
        self.waits.clear();
        self.settled.clear();
        self.pinned = None;
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
}

impl Command {
    /// The name of a movement of the arm, which no request waits for.
    pub const ARM: IoId = IoId(u32::MAX);
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
    /// Where the heads stand now, if the drive tells.
    pub head: Option<ArmPosition>,
}
