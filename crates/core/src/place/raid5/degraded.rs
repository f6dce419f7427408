//! Which seats lack what they should have: since their drive is gone, or since a spare has them
//! that has not all of it.
//!
//! What is bad says it ([`bad`](super::bad)): blocks that had a drive that went. So it is told of
//! the seat and not of how many drives and spares there are, and a spare that goes before it has
//! all is one more drive that went. A spare that was rebuilt lacks nothing, whatever became bad
//! since: that is no drive that is gone. O(runs of bad blocks), when it is asked for.

use super::Raid5;
use super::seats::Seat;
use crate::contract::{Degraded, Replaced};
use crate::units::Blocks;

impl Raid5 {
    /// The drive of a seat is gone, as was just found out.
    pub(super) fn vacate(&mut self, seat: Seat) {
        let was_whole = self.lacks(seat) == 0;
        self.seats.vacate(seat, was_whole);
    }

    /// How many blocks a seat lacks of what drives had that went.
    fn lacks(&self, seat: Seat) -> u64 {
        match self.seats.is_rebuilt(seat) {
            true => 0,
            false => self.bad.gone_blocks(seat),
        }
    }

    /// Whether a seat may still get something of what it lacks: its spare is being rebuilt, or its
    /// drive, which was gone in an earlier life, is repaired.
    fn goes_on(&self, seat: Seat) -> bool {
        match self.seats.is_spare(seat) {
            true => self.repair.rebuilds(seat),
            false => self.is_left(self.geometry.array(seat)),
        }
    }

    /// What a seat lacks, if it does.
    pub(super) fn degraded_at(&self, seat: Seat) -> Option<Degraded> {
        let (is_vacant, left) = (self.seats.is_vacant(seat), self.lacks(seat));
        let (drive, spent) = self.seats.went(seat);
        (is_vacant || left > 0).then(|| Degraded {
            array: (self.geometry.arrays > 1).then(|| self.geometry.array(seat) as u16),
            drive,
            spent,
            replaced: (!is_vacant).then(|| Replaced {
                by: self.seats.drive(seat),
                left: Blocks(left),
                goes_on: self.goes_on(seat),
            }),
        })
    }
}
