//! What of the volume no drive tells any more: blocks in rows of which two are bad, until they are
//! written again.
//!
//! Nothing is kept for it. What is bad says it: `O(width of an array, log n)` for each run of rows
//! that is looked at, all at once for a drive that is gone.

use super::Raid5;
use super::geometry::{Geometry, Stripe};
use super::seats::Seat;
use crate::contract::Lost;
use crate::op::Failure;
use crate::units::{Blocks, Extent, Pba};

/// Stripes of an array that are looked at for addresses.
const STRIPES: usize = 2_048;

impl Geometry {
    /// Of the blocks of a seat between these: how many are the volume's, and no parities.
    fn data_blocks(&self, seat: Seat, from: u64, to: u64) -> u64 {
        let (width, place) = (self.width(), u64::from(seat.0) % self.width());
        // Its turn in each round of as many stripes.
        let parity = (width - 1 - place) * self.strip;
        let round = width * self.strip;
        let parities = |to: u64| {
            let in_round = (to % round).saturating_sub(parity).min(self.strip);
            to / round * self.strip + in_round
        };
        to - from - (parities(to) - parities(from))
    }
}

impl Raid5 {
    /// Runs of rows of an array, from a block of its drives to another one, of which two seats or
    /// more are bad; until `each` has seen enough.
    fn lost_rows(
        &self,
        array: usize,
        (from, to): (u64, u64),
        mut each: impl FnMut((u64, u64), &[Seat]) -> bool,
    ) {
        let (mut next, mut bad) = (from, Vec::new());
        while next < to {
            let mut end = to;
            bad.clear();
            for seat in self.geometry.seats_of(array) {
                match self.bad.first(seat, next) {
                    Some((begin, _)) if begin > next => end = end.min(begin),
                    Some((_, behind)) => {
                        end = end.min(behind);
                        bad.push(seat);
                    }
                    None => {}
                }
            }
            if bad.len() > 1 && !each((next, end), &bad) {
                return;
            }
            next = end;
        }
    }

    /// How many of the volume's blocks are lost between these blocks of an array's drives.
    pub(super) fn count_lost(&self, array: usize, rows: (u64, u64)) -> u64 {
        let mut count = 0;
        self.lost_rows(array, rows, |(from, to), bad| {
            let seats = bad.iter();
            count += seats
                .map(|seat| self.geometry.data_blocks(*seat, from, to))
                .sum::<u64>();
            true
        });
        count
    }

    /// Why what is lost between these blocks of an array's drives is: a drive that went had a part
    /// of it, or none did.
    pub(super) fn lost_by(&self, array: usize, rows: (u64, u64)) -> Failure {
        let mut gone = false;
        self.lost_rows(array, rows, |(from, to), bad| {
            let had = |seat: &Seat| self.bad.has_gone(*seat, Pba(from), Blocks(to - from));
            gone = bad.iter().any(had);
            !gone
        });
        match gone {
            true => Failure::Gone,
            false => Failure::Medium,
        }
    }

    /// All that is lost, with the first addresses.
    pub(super) fn find_lost(&self) -> Lost {
        let mut lost = Lost::default();
        if !self.bad.any() {
            return lost;
        }
        let rows = (0, self.geometry.used());
        for array in 0..self.geometry.arrays as usize {
            lost.blocks += self.count_lost(array, rows);
            let mut stripes = 0..STRIPES;
            self.lost_rows(array, rows, |(mut from, to), bad| {
                while from < to {
                    let stripe = self.geometry.stripe_at(bad[0], Pba(from));
                    let end = to.min(stripe.at(self.geometry.strip).0);
                    if stripes.next().is_none() {
                        return false;
                    }
                    self.add_lost(&stripe, (from, end), bad, &mut lost.extents);
                    from = end;
                }
                true
            });
        }
        lost.put_in_order();
        lost
    }

    fn add_lost(
        &self,
        stripe: &Stripe,
        (from, to): (u64, u64),
        bad: &[Seat],
        extents: &mut Vec<Extent>,
    ) {
        let members = bad.iter().map(|seat| stripe.member(*seat));
        for member in members.filter(|member| *member < stripe.parity()) {
            let row = from - stripe.at(0).0;
            let start = self.geometry.data(stripe, member, row).block(0);
            let len = Blocks(to - from);
            extents.push(Extent { start, len });
        }
    }
}
