//! The I/Os that wait, in order of block numbers, for the schedulers that go by block number.
//!
//! Of the I/Os on one block the oldest comes first. O(log n) per question; nothing is allocated
//! once the queue has been as long as it gets.

use crate::ids::IoId;
use crate::io::Io;
use crate::sorted::{Cursor, Keyed, Sorted};
use crate::units::{Blocks, Pba};

/// An I/O that waits, as far as its order matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) at: Pba,
    pub(super) len: Blocks,
    pub(super) id: IoId,
    sequence: u64,
}

impl Stop {
    pub(super) fn new(io: &Io) -> Stop {
        Stop {
            at: io.at,
            len: io.len,
            id: io.id,
            sequence: io.sequence,
        }
    }
}

impl Keyed for Stop {
    type Key = (Pba, u64);

    #[inline]
    fn key(&self) -> (Pba, u64) {
        (self.at, self.sequence)
    }
}

/// I/Os by block number.
#[derive(Default)]
pub(super) struct Line {
    stops: Sorted<Stop>,
}

/// A stop and its place in the line, until the line changes.
pub(super) type Found = (Stop, Cursor);

impl Line {
    pub(super) fn insert(&mut self, io: &Io) {
        self.stops.insert(Stop::new(io));
    }

    pub(super) fn withdraw(&mut self, io: &Io) {
        let taken = self.stops.take(&Stop::new(io).key());
        assert!(taken.is_some(), "{:?} does not wait", io.id);
    }

    pub(super) fn remove(&mut self, found: Found) -> Stop {
        self.stops.remove(found.1)
    }

    pub(super) fn len(&self) -> usize {
        self.stops.len()
    }

    pub(super) fn audit(&self) {
        self.stops.audit();
    }

    /// The lowest stop that is not below `at`.
    pub(super) fn not_below(&self, at: Pba) -> Option<Found> {
        self.found(self.stops.seek(&(at, 0)))
    }

    /// The lowest stop of all.
    ///
    /// # Panics
    /// None waits.
    pub(super) fn lowest(&self) -> Found {
        self.not_below(Pba(0)).expect("an I/O waits")
    }

    /// The highest stop below `at`.
    pub(super) fn below(&self, at: Pba) -> Option<Found> {
        self.last_before(self.stops.seek(&(at, 0)))
    }

    /// The last stop before a place of the line.
    #[inline]
    fn last_before(&self, place: Cursor) -> Option<Found> {
        let (last, cursor) = self.found(self.stops.before(place)?)?;
        // Of several on its block this is the youngest.
        match self.stops.before(cursor).and_then(|c| self.found(c)) {
            Some((other, _)) if other.at == last.at => self.not_below(last.at),
            _ => Some((last, cursor)),
        }
    }

    /// The nearest stop in a direction; one on the block itself lies in both.
    #[inline]
    pub(super) fn ahead(&self, at: Pba, upward: bool) -> Option<Found> {
        let place = self.stops.seek(&(at, 0));
        let above = self.found(place);
        if upward || above.is_some_and(|(stop, _)| stop.at == at) {
            return above;
        }
        self.last_before(place)
    }

    #[inline]
    fn found(&self, cursor: Cursor) -> Option<Found> {
        self.stops.at(cursor).map(|stop| (*stop, cursor))
    }
}

/// Chooses the nearer of two sides; when they are equally far, the upper one the first time, the
/// lower one the next, and so on in turns.
#[derive(Default)]
pub(super) struct Nearer {
    tie_goes_down: bool,
}

impl Nearer {
    /// Each side with its distance.
    ///
    /// # Panics
    /// Both sides are empty.
    pub(super) fn choose(
        &mut self,
        above: Option<(Found, u64)>,
        below: Option<(Found, u64)>,
    ) -> Found {
        let ((up, up_distance), (down, down_distance)) = match (above, below) {
            (Some(up), Some(down)) => (up, down),
            (only, None) | (None, only) => return only.expect("an I/O waits on one side").0,
        };
        let tie = up_distance == down_distance;
        let goes_down = down_distance < up_distance || (tie && self.tie_goes_down);
        self.tie_goes_down ^= tie;
        if goes_down { down } else { up }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(blocks: &[u64]) -> Line {
        let mut line = Line::default();
        for (sequence, at) in blocks.iter().enumerate() {
            line.stops.insert(Stop {
                at: Pba(*at),
                sequence: sequence as u64,
                len: Blocks(1),
                id: IoId(sequence as u32),
            });
        }
        line
    }

    fn id(found: Option<Found>) -> Option<u32> {
        found.map(|(stop, _)| stop.id.0)
    }

    #[test]
    fn the_oldest_of_a_block_comes_first_from_either_side() {
        let line = line(&[50, 20, 20, 50, 80]);
        assert_eq!(id(line.not_below(Pba(21))), Some(0));
        assert_eq!(id(line.below(Pba(50))), Some(1));
        assert_eq!(id(line.below(Pba(20))), None);
        assert_eq!(id(line.not_below(Pba(81))), None);
        assert_eq!(id(line.below(Pba(u64::MAX))), Some(4));
    }

    #[test]
    fn the_block_itself_lies_in_both_directions() {
        let line = line(&[50, 20]);
        assert_eq!(id(line.ahead(Pba(50), false)), Some(0));
        assert_eq!(id(line.ahead(Pba(49), false)), Some(1));
        assert_eq!(id(line.ahead(Pba(51), true)), None);
    }
}
