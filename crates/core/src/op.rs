//! What requests, I/Os and commands have in common: what they do, how they end, what they cost.

use serde::{Deserialize, Serialize};

use crate::units::Duration;

/// What a request or an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Bring blocks.
    Read,
    /// Store blocks.
    Write,
    /// Make everything acknowledged so far safe against power loss: of these blocks at least, of all if
    /// none are named.
    Flush,
    /// The blocks are no longer needed.
    Discard,
    /// Move the arm and nothing else; only a scheduler asks for it (`Next::Seek`).
    Seek,
}

impl Op {
    /// All of them, in the order of their codes.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Seek];

    /// The operation as results and traces spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Seek => "seek",
        }
    }
}

/// How a request or an I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Done,
    /// A drive could not carry it out.
    Failed(Failure),
}

impl Status {
    /// Whether it ended as asked.
    #[inline]
    pub fn is_done(self) -> bool {
        self == Status::Done
    }

    /// Why not, if it did not.
    #[inline]
    pub fn failure(self) -> Option<Failure> {
        match self {
            Status::Done => None,
            Status::Failed(failure) => Some(failure),
        }
    }
}

/// Why a drive could not carry out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// It could not read the medium there, or not write it. Other places are as good as before.
    Medium,
    /// It has not answered in time. Whether a write was carried out is not known.
    TimedOut,
    /// It is gone, with everything on it. That is final: whatever the drive answers later counts as
    /// failed for this reason. A drive may be called gone only when it carries out no command any
    /// more until the volume is opened again: a write that arrived later could overwrite a place
    /// that an older map still names.
    Gone,
    /// Not the drive: the placement cannot keep its map safe any more, so nothing can be written.
    /// What was answered is still read.
    MapLost,
    /// Not the drive: nothing is left of what a range write offered, as others have taken it, or as
    /// no zone's pointer lies in it. Nothing was written.
    Exhausted,
    /// A write does not begin at the pointer of its zone, or reaches behind what can be written of
    /// it, or the zone is read-only; or a reset met a zone that is. Nothing was written, and zones
    /// that can be reset are.
    Zone,
}

impl Failure {
    /// All of them, in the order of their codes.
    pub const ALL: [Failure; 6] = [
        Failure::Medium,
        Failure::TimedOut,
        Failure::Gone,
        Failure::MapLost,
        Failure::Exhausted,
        Failure::Zone,
    ];

    /// The failure as results spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Failure::Medium => "medium",
            Failure::TimedOut => "timed_out",
            Failure::Gone => "gone",
            Failure::MapLost => "map_lost",
            Failure::Exhausted => "exhausted",
            Failure::Zone => "zone",
        }
    }
}

/// What a drive's time went into. Positioning and transfer follow the reference tables: waits
/// inside a transfer that crosses tracks belong to the transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Command processing, bus, and waiting for the drive's buffer.
    pub overhead: Duration,
    /// Seek, head switch and write settle together.
    pub seek: Duration,
    /// Waiting for the first sector to come round.
    pub rotation: Duration,
    /// Reading or writing the medium.
    pub transfer: Duration,
}

impl Cost {
    /// All of it.
    #[inline]
    pub fn total(&self) -> Duration {
        self.overhead + self.seek + self.rotation + self.transfer
    }

    /// The part of it that falls to the units from `from` to `to`, of `all`. The parts of all units
    /// sum up to the whole.
    pub fn share(&self, from: u64, to: u64, all: u64) -> Cost {
        let until = |time: Duration, units: u64| {
            let scaled = u128::from(time.0) * u128::from(units) / u128::from(all);
            scaled as u64
        };
        let of = |time: Duration| Duration(until(time, to) - until(time, from));
        Cost {
            overhead: of(self.overhead),
            seek: of(self.seek),
            rotation: of(self.rotation),
            transfer: of(self.transfer),
        }
    }

    /// Adds what another I/O of the same request cost.
    #[inline]
    pub fn add(&mut self, other: &Cost) {
        self.overhead += other.overhead;
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
    }
}
