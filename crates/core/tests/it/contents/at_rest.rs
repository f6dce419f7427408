//! What drives hold when nothing is left to do, and what copies they still miss.

use std::ops::Range;

use nearslot_core::ids::DriveId;

use crate::contents::model::{Contents, NEVER, Stamp};
use crate::contents::sums::Sums;

impl Contents {
    /// Each parity is that of its row: all blocks of an array's drives at the same address make
    /// nothing.
    pub(crate) fn check_parities(&self) {
        self.check_rows(|_| false);
    }

    /// The same, but for rows with a place that `is_wrong`, or of which something was computed from
    /// such a place.
    pub(crate) fn check_parities_but(&self, is_wrong: impl Fn(DriveId, u64) -> bool) {
        self.check_rows(|places| {
            let mut places = places.iter();
            places.any(|(drive, row)| {
                let held = self.drives[drive.index()][*row as usize];
                held == Stamp::Wrong || is_wrong(*drive, *row)
            })
        });
    }

    /// All rows but those that are `left_out` for their places.
    fn check_rows(&self, left_out: impl Fn(&[(DriveId, u64)]) -> bool) {
        if !self.setup().parity() {
            return;
        }
        let mut sums = Sums::default();
        for array in self.seats.chunks(self.seats.len() / self.setup().arrays()) {
            for row in 0..self.drives[0].len() {
                let places = array.iter();
                let places = places.map(|drive| (DriveId(*drive as u16), row as u64));
                if left_out(&places.collect::<Vec<_>>()) {
                    continue;
                }
                let mut held = array.iter().map(|drive| sums.of(self.drives[*drive][row]));
                let sum = held.try_fold(0, |sum, one| Some(sum ^ one?));
                assert_eq!(
                    sum,
                    Some(0),
                    "the parity of row {row} of {:?}",
                    self.setup()
                );
            }
        }
    }

    /// The other drives of a row, if what these hold there makes a version of a block that a read may
    /// find.
    pub(super) fn others_of_row(
        &self,
        drive: DriveId,
        at: u64,
        block: u64,
    ) -> Option<Vec<DriveId>> {
        let mut arrays = self.seats.chunks(self.seats.len() / self.setup().arrays());
        let array = arrays.find(|array| array.contains(&drive.index()))?;
        let mut sums = Sums::default();
        let others: Vec<usize> = array
            .iter()
            .copied()
            .filter(|other| *other != drive.index())
            .collect();
        let held = others.iter().map(|other| self.drives[*other][at as usize]);
        let sum = held
            .map(|held| sums.of(held))
            .try_fold(0, |sum, one| Some(sum ^ one?))?;
        let allowed = self.allowed(block, NEVER);
        let tells = allowed.into_iter().any(|stamp| sums.of(stamp) == Some(sum));
        tells.then(|| {
            others
                .into_iter()
                .map(|other| DriveId(other as u16))
                .collect()
        })
    }

    /// Nothing is under way and nothing is left to do: all copies of every block are the newest.
    pub(crate) fn check_at_rest(&self) {
        assert!(self.asked.is_empty(), "something is not answered");
        assert!(self.running.iter().all(Vec::is_empty), "something runs");
        // A copy that holds everything may yet be one that its placement writes again.
        let (parts, short) = self.parts;
        assert!(
            short <= 1 + parts / 2,
            "{short} of {parts} parts miss a copy"
        );
        if !self.setup().ordered() || self.may_fail {
            return;
        }
        self.check_parities();
        let newest = |block: usize| self.history[block].last().expect("it was written").stamp;
        let mut places = vec![(0, 0); self.history.len()];
        for (number, drive) in self.drives.iter().enumerate() {
            for stamp in drive {
                if let Stamp::Of { block, .. } = stamp
                    && newest(*block as usize) == *stamp
                {
                    let (count, drives) = &mut places[*block as usize];
                    *count += 1;
                    *drives |= 1_u64 << number;
                }
            }
        }
        for (block, (count, drives)) in places.iter().enumerate() {
            if self.buffered.contains_key(&(block as u64)) {
                continue;
            }
            let copies = match self.setup().spread() {
                true => drives.count_ones() as usize,
                false => *count,
            };
            let newest = newest(block);
            assert!(
                copies == self.setup().copies || newest == Stamp::Nothing,
                "{copies} copies of {block} are {newest:?}"
            );
        }
    }

    /// Whether a copy of a block's chunk may be missing still, as far as is known, or away from its
    /// home, or the map may not say yet where it is, so that it is in the buffer.
    pub(super) fn may_be_buffered(&self, block: u64) -> bool {
        let unknown = self.setup().logs() || self.setup().homes() || self.torn;
        if self.setup().copies > 1 && unknown {
            return true;
        }
        self.misses_a_copy(block) || self.counts_too_few(block)
    }

    /// The blocks of the chunk that a block is in.
    pub(super) fn chunk_of(&self, block: u64) -> Range<u64> {
        let size = self.setup().chunk;
        let first = block / size * size;
        first..first + size
    }

    /// Whether a copy of something in a block's chunk is missing.
    pub(super) fn misses_a_copy(&self, block: u64) -> bool {
        self.chunk_of(block)
            .any(|block| self.is_in_too_few_places(self.buffer[block as usize]))
    }

    /// Whether so few places hold this that a copy of it is missing.
    pub(crate) fn is_in_too_few_places(&self, stamp: Stamp) -> bool {
        let copies = self.setup().copies;
        if self.last_places.count(stamp, &self.drives) >= copies {
            return false;
        }
        let count = |drive: &Vec<Stamp>| drive.iter().filter(|held| **held == stamp).count();
        // Where a chunk moves, it stays where it was until that is written over.
        let written: usize = match self.setup().spread() {
            true => self
                .drives
                .iter()
                .filter(|one| one.contains(&stamp))
                .count(),
            false => self.drives.iter().map(count).sum(),
        };
        written < copies
    }
}
