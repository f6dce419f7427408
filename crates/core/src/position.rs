//! Where the arm stands, where blocks lie, and what is searched for: the words of oracles and of those who ask them.

use crate::freemap::Slot;
use crate::ids::IoId;
use crate::op::Op;
use crate::sorted::{Cursor, Keyed};
use crate::units::{Angle, Duration, Instant, Pba};

/// Where a block lies, as far as an oracle knows: computed once when an I/O is queued, so that a
/// decision among hundreds costs no address translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Cylinder, or whatever the oracle counts arm movement in.
    pub cylinder: u32,
    /// ArmPosition that reads it.
    pub surface: u32,
    /// Angle at which it begins.
    pub angle: Angle,
}

impl Place {
    /// Where the heads stand when they are there.
    #[inline]
    pub const fn head(&self) -> ArmPosition {
        ArmPosition {
            cylinder: self.cylinder,
            surface: self.surface,
        }
    }
}

/// Where a head stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmPosition {
    /// Cylinder, in the oracle's own count.
    pub cylinder: u32,
    /// Active head.
    pub surface: u32,
}

/// What passes under the heads when they get to a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The angle that is under them.
    pub angle: Angle,
    /// Time of a revolution.
    pub turn: Duration,
}

/// What an access by the heads comes to, beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// When the heads have done it.
    pub end: Instant,
    /// Where it leaves them.
    pub head: ArmPosition,
}

/// An I/O that waits, as a search for the nearest sees it. In order of the arm's movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it lies.
    pub place: Place,
    /// Read or write.
    pub op: Op,
    /// Which I/O.
    pub id: IoId,
    /// What ties are broken by.
    pub sequence: u64,
}

impl Candidate {
    /// Not above the key of any candidate in this cylinder or beyond.
    #[inline]
    pub fn lowest_key(cylinder: u32) -> u128 {
        u128::from(cylinder) << 64
    }
}

impl Keyed for Candidate {
    /// Cylinder, then sequence: one number, since comparing two in a row is a branch that no processor foresees.
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
    /// When its first block can be under the heads, from now; or its price, if that is another one.
    pub time: Duration,
}

/// What is asked of a free slot, to be written from where the heads stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// When the access would begin.
    pub now: Instant,
    /// Lowest cylinder of the drive's tracks that will do.
    pub low: u32,
    /// Highest cylinder that will do.
    pub high: u32,
    /// The slot must come under the heads before this.
    pub before: Instant,
    /// What the access may not delay.
    pub then: Option<Then>,
}

/// An access that follows, and must still find its place in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Then {
    /// What it does.
    pub op: Op,
    /// Where.
    pub place: Place,
    /// Its first block must come under the heads no later than this.
    pub by: Instant,
}

impl Search {
    /// Any slot.
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
    /// When that comes under the heads.
    pub start: Instant,
}
