//! What a drive holds that it should not: bad blocks that nobody has mended, and blocks that are
//! not what the drive said they would be.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::contract::Faults;
use crate::fault::{CELL, Decay};
use crate::ids::DriveId;
use crate::units::Instant;

/// What goes wrong, and on which drive.
type About<'a> = (&'a dyn Faults, DriveId);

/// Bad blocks that were mended, and blocks that are wrong.
#[derive(Default)]
pub(super) struct Damage {
    /// By cell, a bit for each of its blocks.
    mended: BTreeMap<(Decay, u64), u128>,
    /// Unreadable blocks that were mended so far.
    readable: u64,
    wrong: Runs,
    /// Of the wrong blocks, those that were meant for other places.
    strays: Runs,
}

/// Runs of blocks: first block and the one behind the last. None touch.
#[derive(Default)]
struct Runs(BTreeMap<u64, u64>);

const _: () = assert!(CELL == u128::BITS as u64, "a bit for each block of a cell");

/// The bits of a run of blocks within a cell.
fn bits(cell: u64, blocks: &Range<u64>) -> u128 {
    let first = blocks.start.max(cell * CELL);
    let behind = blocks.end.min((cell + 1) * CELL);
    (first..behind).fold(0, |bits, block| bits | 1 << (block % CELL))
}

/// The cells that a run of blocks touches.
fn cells(blocks: &Range<u64>) -> Range<u64> {
    if blocks.is_empty() {
        return 0..0;
    }
    blocks.start / CELL..(blocks.end - 1) / CELL + 1
}

impl Damage {
    /// Bits of the blocks of a cell, among these, that have gone bad by `now` and were not mended.
    fn bad_bits(
        &self,
        about: About<'_>,
        (decay, cell): (Decay, u64),
        blocks: &Range<u64>,
        now: Instant,
    ) -> u128 {
        let (faults, drive) = about;
        let Some(run) = faults
            .bad_run(drive, decay, cell)
            .filter(|run| run.from <= now)
        else {
            return 0;
        };
        let mended = self.mended.get(&(decay, cell)).copied().unwrap_or_default();
        bits(cell, &run.blocks) & bits(cell, blocks) & !mended
    }

    /// Which of these blocks have gone bad by `now` and were not mended, in order.
    pub(super) fn bad<'a>(
        &'a self,
        about: About<'a>,
        decay: Decay,
        blocks: Range<u64>,
        now: Instant,
    ) -> impl Iterator<Item = u64> + use<'a> {
        cells(&blocks).flat_map(move |cell| {
            let bad = self.bad_bits(about, (decay, cell), &blocks, now);
            let ones = (0..CELL).filter(move |bit| bad >> bit & 1 == 1);
            ones.map(move |bit| cell * CELL + bit)
        })
    }

    /// A write that began at `began` has put what it should on these blocks.
    pub(super) fn written(&mut self, about: About<'_>, blocks: &Range<u64>, began: Instant) {
        self.clear(blocks);
        for decay in Decay::ALL {
            let unreadable = decay == Decay::Unreadable;
            if unreadable && !about.0.recovery().writes_mend {
                continue;
            }
            for cell in cells(blocks) {
                let bad = self.bad_bits(about, (decay, cell), blocks, began);
                if bad != 0 {
                    *self.mended.entry((decay, cell)).or_default() |= bad;
                    self.readable += u64::from(bad.count_ones()) * u64::from(unreadable);
                }
            }
        }
    }

    /// Unreadable blocks that were mended so far.
    pub(super) fn mended(&self) -> u64 {
        self.readable
    }

    /// These blocks are not what they should be.
    pub(super) fn spoil(&mut self, blocks: &Range<u64>) {
        self.wrong.add(blocks);
    }

    /// Neither are these: they were meant for other places.
    pub(super) fn stray(&mut self, blocks: &Range<u64>) {
        self.wrong.add(blocks);
        self.strays.add(blocks);
    }

    /// Which of these blocks are not what they should be, but for those that rot by themselves.
    pub(super) fn wrong(&self, blocks: &Range<u64>) -> impl Iterator<Item = u64> + use<'_> {
        self.wrong.of(blocks)
    }

    /// Whether one of these blocks was meant for another place.
    pub(super) fn strays(&self, blocks: &Range<u64>) -> bool {
        self.strays.of(blocks).next().is_some()
    }

    /// These blocks are what they should be.
    fn clear(&mut self, blocks: &Range<u64>) {
        self.wrong.remove(blocks);
        self.strays.remove(blocks);
    }
}

impl Runs {
    fn add(&mut self, blocks: &Range<u64>) {
        if blocks.is_empty() {
            return;
        }
        let (mut start, mut end) = (blocks.start, blocks.end);
        // Runs that touch become one.
        while let Some((first, behind)) = self.last_before(end + 1).filter(|run| run.1 >= start) {
            self.0.remove(&first);
            (start, end) = (start.min(first), end.max(behind));
        }
        self.0.insert(start, end);
    }

    fn remove(&mut self, blocks: &Range<u64>) {
        while let Some((first, behind)) = self
            .last_before(blocks.end)
            .filter(|run| run.1 > blocks.start)
        {
            self.0.remove(&first);
            if behind > blocks.end {
                self.0.insert(blocks.end, behind);
            }
            if first < blocks.start {
                self.0.insert(first, blocks.start);
            }
        }
    }

    /// The last run that begins before this block.
    fn last_before(&self, end: u64) -> Option<(u64, u64)> {
        let run = self.0.range(..end).next_back();
        run.map(|(first, behind)| (*first, *behind))
    }

    /// Which of these blocks are in a run, the last run first.
    fn of(&self, blocks: &Range<u64>) -> impl Iterator<Item = u64> + use<'_> {
        let Range { start, end } = *blocks;
        let runs = self.0.range(..end).rev();
        let met = runs.take_while(move |run| *run.1 > start);
        met.flat_map(move |(first, behind)| *first.max(&start)..*behind.min(&end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Against a flag for each block.
    #[test]
    fn runs_of_wrong_blocks_are_what_single_flags_say() {
        let (mut damage, mut flags) = (Damage::default(), [false; 60]);
        let mut rng = Rng::stream(1, "runs");
        for _ in 0..20_000 {
            let first = rng.below(60);
            let behind = first + rng.below(61 - first);
            let blocks = first..behind;
            let wrong = rng.chance(0.5);
            if wrong {
                damage.spoil(&blocks);
            } else {
                damage.clear(&blocks);
            }
            flags[first as usize..behind as usize].fill(wrong);
            let from = rng.below(60);
            let to = from + rng.below(61 - from);
            let expected = flags[from as usize..to as usize]
                .iter()
                .filter(|flag| **flag);
            assert_eq!(damage.wrong(&(from..to)).count(), expected.count());
        }
        let runs = &damage.wrong.0;
        let touch = runs.iter().zip(runs.iter().skip(1));
        assert!(touch.into_iter().all(|(one, next)| one.1 < next.0));
    }

    #[test]
    fn blocks_and_cells_agree_at_their_ends() {
        assert_eq!(cells(&(0..0)), 0..0);
        assert_eq!(cells(&(127..128)), 0..1);
        assert_eq!(cells(&(127..129)), 0..2);
        assert_eq!(bits(1, &(120..130)), 0b11);
        assert_eq!(bits(0, &(126..130)), 0b11 << 126);
        assert_eq!(bits(0, &(0..128)), u128::MAX);
    }
}
