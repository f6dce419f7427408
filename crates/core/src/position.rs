//! Where the arm stands, where blocks lie, and what is searched for: the words of oracles and of
//! those who ask them.

use std::ops::Range;

use crate::freemap::Slot;
use crate::ids::IoId;
use crate::op::Op;
use crate::sorted::{Cursor, Keyed};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// Where a block lies, as far as an oracle knows. The stack computes it once when it queues an I/O,
/// so that a decision among hundreds costs no address translation. All zero if the oracle has no
/// arm and needs no places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Cylinder, in the oracle's own count.
    pub cylinder: u32,
    /// Head that reads it.
    pub surface: u32,
    /// Angle at which it begins.
    pub angle: Angle,
}

impl Place {
    /// Where the arm stands when the heads are there.
    #[inline]
    pub const fn arm_position(&self) -> ArmPosition {
        ArmPosition {
            cylinder: self.cylinder,
            surface: self.surface,
        }
    }
}

/// Where the arm stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmPosition {
    /// Cylinder, in the oracle's own count.
    pub cylinder: u32,
    /// Active head.
    pub surface: u32,
}

/// What is under the heads when a seek ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The angle of the platters.
    pub angle: Angle,
    /// Time of a revolution.
    pub turn: Duration,
}

/// How an access will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// When it ends.
    pub end: Instant,
    /// Where it leaves the arm.
    pub arm: ArmPosition,
}

/// An I/O that waits, as a search for the nearest sees it. Ordered by cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it lies.
    pub place: Place,
    /// Read or write.
    pub op: Op,
    /// Which I/O.
    pub id: IoId,
    /// Breaks ties: the lowest wins.
    pub sequence: u64,
    /// How many blocks. In 32 bits, as all that wait are walked through; one that is longer counts
    /// as that long.
    pub blocks: u32,
}

impl Candidate {
    /// How many blocks.
    #[inline]
    pub fn len(&self) -> Blocks {
        Blocks(self.blocks.into())
    }

    /// A key that is not above that of any candidate in this cylinder or a higher one.
    #[inline]
    pub fn lowest_key(cylinder: u32) -> u128 {
        u128::from(cylinder) << 64
    }
}

impl Keyed for Candidate {
    /// Cylinder, then sequence: in one number, since no processor predicts the branch between two
    /// comparisons.
    type Key = u128;

    #[inline]
    fn key(&self) -> u128 {
        Candidate::lowest_key(self.place.cylinder) | u128::from(self.sequence)
    }
}

/// The answer of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where it stands among those that wait.
    pub cursor: Cursor,
    /// Its price: the positioning time, or what the search was given instead.
    pub time: Duration,
}

/// Which free slots a search allows for a write that begins now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// When the access would begin.
    pub now: Instant,
    /// Lowest cylinder of the drive's tracks that is allowed.
    pub low: u32,
    /// Highest cylinder that is allowed.
    pub high: u32,
    /// The write must begin before this.
    pub before: Instant,
    /// The access that the write may not delay.
    pub then: Option<Then>,
}

/// An access that follows a write, and must still begin in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Then {
    /// What it does.
    pub op: Op,
    /// Where.
    pub place: Place,
    /// It must begin no later than this.
    pub by: Instant,
}

impl Search {
    /// A search that allows every slot.
    pub fn anywhere(now: Instant) -> Search {
        Search {
            now,
            low: 0,
            high: u32::MAX,
            before: Instant::NEVER,
            then: None,
        }
    }
}

/// A free slot that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreePlace {
    /// Which.
    pub slot: Slot,
    /// Its first block.
    pub at: Pba,
    /// When the write begins there.
    pub start: Instant,
}

/// Where a command may begin that a drive's buffer serves without a way of the arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its first block lies here.
    pub begins: Range<Pba>,
    /// It ends before this block, or at it.
    pub ends: Pba,
}

impl Served {
    /// Whether it serves a command of these blocks.
    #[inline]
    pub fn has(&self, at: Pba, len: Blocks) -> bool {
        self.begins.contains(&at) && at.0 + len.0 <= self.ends.0
    }
}

/// Where a range write lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Its first block.
    pub at: Pba,
    /// When the write begins there.
    pub start: Instant,
}
