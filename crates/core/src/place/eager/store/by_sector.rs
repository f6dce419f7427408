//! Changes that wait for their sectors of a virtual log: found by sector when that is written, and
//! by chunk when it is put together.
//!
//! A volume under load has thousands that wait, and a sector concerns those of its own chunks.
//! Cost: O(log n) a change, whatever else waits.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::io::Tag;
use crate::maplog::{Dirty, Entry, Placed};

/// Changes that wait.
#[derive(Debug, Default)]
pub(super) struct BySector {
    /// How many came so far.
    came: u64,
    /// By chunk, and by age.
    entries: BTreeMap<(u32, u64), Entry>,
    /// By sector, the oldest first.
    sectors: BTreeMap<u32, VecDeque<One>>,
    /// Those that need not wait any more, the oldest first.
    safe: VecDeque<One>,
}

/// A change of a sector.
#[derive(Clone, Copy, Debug)]
struct One {
    tag: Tag,
    place: (u32, u64),
    after: u64,
}

impl BySector {
    /// One more waits until its sector is written.
    pub(super) fn add(&mut self, tag: Tag, entry: Entry, dirty: Dirty) {
        let place = (entry.chunk, self.came);
        self.came += 1;
        self.entries.insert(place, entry);
        let of_sector = self.sectors.entry(dirty.sector).or_default();
        let after = dirty.after;
        of_sector.push_back(One { tag, place, after });
    }

    /// A sector was written: those are safe that came before that was begun, which are the first
    /// ones.
    pub(super) fn placed(&mut self, placed: &Placed) {
        let Some(of_sector) = self.sectors.get_mut(&placed.sector) else {
            return;
        };
        while let Some(one) = of_sector.front().filter(|one| one.after < placed.number) {
            self.safe.push_back(*one);
            of_sector.pop_front();
        }
        if of_sector.is_empty() {
            self.sectors.remove(&placed.sector);
        }
    }

    /// The next one that is safe: it waits no more.
    pub(super) fn settled(&mut self) -> Option<Tag> {
        let one = self.safe.pop_front()?;
        self.entries.remove(&one.place);
        Some(one.tag)
    }

    /// What waits for these chunks, by chunk and by age.
    pub(super) fn of(&self, chunks: Range<u32>) -> impl Iterator<Item = &Entry> {
        let places = (chunks.start, 0)..(chunks.end, 0);
        self.entries.range(places).map(|(_, entry)| entry)
    }

    /// Nothing waits any more.
    pub(super) fn clear(&mut self) {
        *self = BySector::default();
    }

    /// How many are safe and not made.
    pub(super) fn unmade(&self) -> usize {
        self.safe.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(chunk: u32, slot: u32) -> Entry {
        Entry {
            copy: 0,
            chunk,
            slot,
            alone: false,
        }
    }

    /// A sector has ten chunks here.
    fn dirty(chunk: u32, after: u64) -> Dirty {
        Dirty {
            sector: chunk / 10,
            after,
        }
    }

    #[test]
    fn a_sector_concerns_the_changes_of_its_chunks_alone() {
        let mut waiting = BySector::default();
        for (number, chunk) in [31, 5, 32, 31, 7, 39].into_iter().enumerate() {
            let number = number as u64;
            waiting.add(Tag(number), entry(chunk, number as u32), dirty(chunk, 4));
        }
        waiting.add(Tag(9), entry(33, 9), dirty(33, 5));
        let slots: Vec<u32> = waiting.of(30..40).map(|entry| entry.slot).collect();
        // By chunk; of the same chunk the youngest comes last.
        assert_eq!(slots, [0, 3, 2, 9, 5]);
        waiting.placed(&Placed {
            sector: 3,
            number: 5,
            freed: None,
        });
        let settled: Vec<Tag> = std::iter::from_fn(|| waiting.settled()).collect();
        assert_eq!(settled, [0, 2, 3, 5].map(Tag), "what came later waits");
        assert_eq!(waiting.of(30..40).count(), 1);
        assert_eq!(waiting.of(0..u32::MAX).count(), 3);
    }

    /// With a walk over all that waits, for each sector that is written, this would be forty
    /// thousand million steps.
    #[test]
    fn what_else_waits_costs_nothing() {
        let mut waiting = BySector::default();
        for chunk in 0..200_000 {
            waiting.add(Tag(chunk.into()), entry(chunk, 1), dirty(chunk, 0));
        }
        for number in 1..200_000 {
            let chunk = 10 + number % 10;
            waiting.add(Tag(0), entry(chunk, number), dirty(chunk, number.into()));
            let sector = 1;
            let number = u64::from(number) + 1;
            let freed = None;
            waiting.placed(&Placed {
                sector,
                number,
                freed,
            });
            assert_eq!(waiting.unmade() > 0, waiting.settled().is_some());
            while waiting.settled().is_some() {}
            assert_eq!(waiting.of(10..20).count(), 0);
        }
        assert_eq!(waiting.of(0..u32::MAX).count(), 199_990);
    }
}
