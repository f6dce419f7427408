//! Sequences of writes, by where the last writes ended.
//!
//! Writes bring nothing, and what they write may not stay; so a prefetcher, which goes by what is
//! in memory, cannot tell their sequences. Here a write continues a sequence if it begins where one
//! of the last writes ended. Once enough was written in a row, what follows is part of a sequence.
//! A sequence that pauses for longer than the last writes are remembered begins anew, and each ends
//! with its volume. O(log of the writes that are remembered).

use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Extent, Lba};

/// Writes that are remembered: a controller with hundreds of sequences at a time hears from each
/// once in some thousand writes.
pub(super) const REMEMBERED: usize = 1 << 14;

/// Where a write ended, and how much was written in a row up to there.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Lba,
    row: Blocks,
    turn: u64,
}

impl Keyed for End {
    type Key = Lba;

    #[inline]
    fn key(&self) -> Lba {
        self.at
    }
}

/// Where the last writes ended.
pub(super) struct Writers {
    /// So much in a row is a sequence.
    run: Blocks,
    /// Blocks of each volume; they lie one behind the other.
    each: Blocks,
    ends: Sorted<End>,
    /// By turn, in a ring: where each write ended.
    ring: Vec<Lba>,
    turn: u64,
}

impl Writers {
    pub(super) fn new(run: Blocks, each: Blocks) -> Writers {
        Writers {
            run,
            each,
            ends: Sorted::default(),
            ring: Vec::new(),
            turn: 0,
        }
    }

    /// A write; whether it is part of a sequence.
    pub(super) fn wrote(&mut self, extent: &Extent) -> bool {
        // What ends where a volume begins is of the one before it.
        let before = match extent.start.0.is_multiple_of(self.each.0) {
            true => None,
            false => self.ends.take(&extent.start),
        };
        let before = before.map_or(Blocks(0), |end| end.row);
        let (at, turn) = (extent.end(), self.turn);
        let place = turn as usize % REMEMBERED;
        match self.ring.get_mut(place) {
            Some(oldest) => {
                let cursor = self.ends.seek(oldest);
                let known = self.ends.at(cursor);
                if known.is_some_and(|end| end.turn + REMEMBERED as u64 == turn) {
                    self.ends.remove(cursor);
                }
                *oldest = at;
            }
            None => self.ring.push(at),
        }
        self.ends.take(&at);
        let row = Blocks(before.0 + extent.len.0);
        self.ends.insert(End { at, row, turn });
        self.turn += 1;
        before >= self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A volume that has all of them.
    const ONE: Blocks = Blocks(1 << 20);

    fn extent(start: u64, len: u64) -> Extent {
        Extent {
            start: Lba(start),
            len: Blocks(len),
        }
    }

    #[test]
    fn what_follows_a_run_is_part_of_a_sequence_whatever_is_written_between() {
        let mut writers = Writers::new(Blocks(32), ONE);
        let mut told = Vec::new();
        for step in 0..6 {
            told.push(writers.wrote(&extent(100 + step * 16, 16)));
            assert!(!writers.wrote(&extent(10_000 + step * 100, 16)));
        }
        assert_eq!(told, [false, false, true, true, true, true]);
    }

    #[test]
    fn a_sequence_that_pauses_for_too_long_begins_anew() {
        for (others, follows) in [(REMEMBERED as u64 - 1, true), (REMEMBERED as u64, false)] {
            let mut writers = Writers::new(Blocks(16), ONE);
            writers.wrote(&extent(0, 16));
            for other in 0..others {
                writers.wrote(&extent(1_000 + other * 3, 2));
            }
            assert_eq!(writers.wrote(&extent(16, 16)), follows, "{others}");
        }
    }

    #[test]
    fn a_sequence_ends_with_its_volume() {
        let mut writers = Writers::new(Blocks(16), Blocks(35));
        let writes = [0, 16, 32, 35, 51, 67, 70].map(|start| {
            let end = (start + 16).min(start / 35 * 35 + 35);
            writers.wrote(&extent(start, end - start))
        });
        assert_eq!(writes, [false, true, true, false, true, true, false]);
    }

    /// The last writes in a list that is searched from its end.
    #[test]
    fn it_tells_what_a_list_of_the_last_writes_tells() {
        let mut rng = Rng::stream(7, "writers");
        let mut writers = Writers::new(Blocks(12), ONE);
        let mut list: Vec<Option<(u64, u64)>> = Vec::new();
        let mut told = 0;
        for _ in 0..3 * REMEMBERED {
            let (start, len) = (rng.below(40_000) * 4, 4 * (1 + rng.below(2)));
            let last = list.len().saturating_sub(REMEMBERED);
            let mut known = list[last..].iter_mut().rev();
            let known = known.find(|end| end.is_some_and(|(at, _)| at == start));
            let row = known.and_then(Option::take).map_or(0, |(_, row)| row);
            // One that ends where another did takes its place.
            let end = start + len;
            for other in list.iter_mut().rev().take(REMEMBERED) {
                other.take_if(|(at, _)| *at == end);
            }
            list.push(Some((end, row + len)));
            let sequence = writers.wrote(&extent(start, len));
            assert_eq!(sequence, row >= 12, "{start} {len}");
            told += u32::from(sequence);
        }
        assert!(told > 100, "{told} were part of a sequence");
    }
}
