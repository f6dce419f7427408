//! What is free on a drive, unit by unit: a bit for each, but only where something has changed
//! since the volume was made.
//!
//! Range writes look here for where they may begin: an offer is free space cut by ranges, and
//! nothing is copied. A step among bits goes by words of 64, one where nothing has changed by
//! arithmetic.

use std::ops::Range;

use super::homes::Homes;
use crate::bits;
use crate::offer::Writable;

/// Units of a table.
const TABLE: u64 = 1 << 15;
/// Words of a table.
const WORDS: usize = TABLE as usize / 64;

/// The units of a drive, and which of them are free.
#[derive(Debug)]
pub(super) struct Space {
    /// Blocks of a unit.
    chunk: u64,
    units: u64,
    homes: Homes,
    /// A bit for each unit that is free; none where all is as in the beginning.
    tables: Vec<Option<Box<[u64; WORDS]>>>,
    free: u64,
}

impl Space {
    pub(super) fn new(units: u64, chunk: u64, homes: Homes) -> Space {
        Space {
            chunk,
            units,
            homes,
            tables: vec![None; units.div_ceil(TABLE) as usize],
            free: units - homes.volume(),
        }
    }

    /// Units that are free.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    pub(super) fn units(&self) -> u64 {
        self.units
    }

    pub(super) fn is_free(&self, unit: u64) -> bool {
        match &self.tables[(unit / TABLE) as usize] {
            None => self.homes.is_free(unit),
            Some(words) => words[word(unit)] & bit(unit) != 0,
        }
    }

    /// A unit is free no longer.
    ///
    /// # Panics
    /// It was not.
    pub(super) fn take(&mut self, unit: u64) {
        let word = self.word_of(unit);
        assert!(*word & bit(unit) != 0, "unit {unit} is taken twice");
        *word &= !bit(unit);
        self.free -= 1;
    }

    /// A unit becomes free.
    ///
    /// # Panics
    /// It was.
    pub(super) fn release(&mut self, unit: u64) {
        let word = self.word_of(unit);
        assert!(*word & bit(unit) == 0, "unit {unit} becomes free twice");
        *word |= bit(unit);
        self.free += 1;
    }

    /// Recounts what is free where something has changed.
    pub(super) fn audit(&self) {
        let mut free = self.units - self.homes.volume();
        for (index, words) in (0..).zip(&self.tables) {
            let Some(words) = words else {
                continue;
            };
            let units = index * TABLE..((index + 1) * TABLE).min(self.units);
            let at_first = units.filter(|unit| self.homes.is_free(*unit)).count() as u64;
            let now: u32 = words.iter().map(|word| word.count_ones()).sum();
            free = free - at_first + u64::from(now);
        }
        assert_eq!(free, self.free, "units that are free");
    }

    fn word_of(&mut self, unit: u64) -> &mut u64 {
        let (homes, first) = (self.homes, unit - unit % TABLE);
        let units = self.units;
        let table = &mut self.tables[(unit / TABLE) as usize];
        let words = table.get_or_insert_with(|| {
            let mut words = Box::new([0; WORDS]);
            for unit in (first..(first + TABLE).min(units)).filter(|unit| homes.is_free(*unit)) {
                words[word(unit)] |= bit(unit);
            }
            words
        });
        &mut words[word(unit)]
    }

    /// The first of some units that is free, or that is not.
    fn next(&self, within: Range<u64>, free: bool) -> Option<u64> {
        let (mut from, until) = (within.start, within.end.min(self.units));
        while from < until {
            let end = (from - from % TABLE + TABLE).min(until);
            let found = match &self.tables[(from / TABLE) as usize] {
                None => self.homes.first(from..end, free),
                Some(words) => first_bit(words, from..end, free),
            };
            if found.is_some() {
                return found;
            }
            from = end;
        }
        None
    }

    /// The last of some units that is free, or that is not.
    fn before(&self, within: Range<u64>, free: bool) -> Option<u64> {
        let (from, mut until) = (within.start, within.end.min(self.units));
        while from < until {
            let table = (until - 1) / TABLE;
            let begin = (table * TABLE).max(from);
            let found = match &self.tables[table as usize] {
                None => self.homes.last(begin..until, free),
                Some(words) => last_bit(words, begin..until, free),
            };
            if found.is_some() {
                return found;
            }
            until = begin;
        }
        None
    }

    /// Units that a write of so many blocks takes.
    fn len(&self, blocks: u64) -> u64 {
        blocks.div_ceil(self.chunk)
    }
}

impl Writable for Space {
    fn first(&self, from: u64, until: u64, len: u64) -> Option<u64> {
        let (len, until) = (self.len(len), until.div_ceil(self.chunk));
        let mut at = from.div_ceil(self.chunk);
        while at < until {
            at = self.next(at..until, true)?;
            match self.next(at..at + len, false) {
                None if at + len <= self.units => return Some(at * self.chunk),
                None => return None,
                Some(taken) => at = taken,
            }
        }
        None
    }

    fn last(&self, until: u64, from: u64, len: u64) -> Option<u64> {
        let (len, from) = (self.len(len), from.div_ceil(self.chunk));
        // Behind the last unit that such a write may take.
        let last = until.div_ceil(self.chunk).checked_sub(1)?;
        let mut end = (last + len).min(self.units);
        while end >= from + len {
            match self.before(end - len..end, false) {
                None => return Some((end - len) * self.chunk),
                Some(taken) => end = self.before(from..taken, true)? + 1,
            }
        }
        None
    }

    fn reach(&self, at: u64) -> u64 {
        let taken = self.next(at / self.chunk..self.units, false);
        taken.unwrap_or(self.units) * self.chunk
    }
}

fn word(unit: u64) -> usize {
    (unit % TABLE / 64) as usize
}

fn bit(unit: u64) -> u64 {
    1 << (unit % 64)
}

/// The first of some units of a table whose bit is set, or is not.
fn first_bit(words: &[u64; WORDS], within: Range<u64>, set: bool) -> Option<u64> {
    let begin = within.start - within.start % TABLE;
    let (from, until) = (within.start - begin, within.end - begin);
    let words = &words[..until.div_ceil(64) as usize];
    let bit = bits::first(words, from, set)?;
    (bit < until).then_some(begin + bit)
}

/// The last of some units of a table whose bit is set, or is not.
fn last_bit(words: &[u64; WORDS], within: Range<u64>, set: bool) -> Option<u64> {
    // From the begin of the first word.
    let begin = within.start - within.start % 64;
    let bit = bits::last(&words[word(begin)..], within.end - begin, set)?;
    Some(begin + bit).filter(|unit| *unit >= within.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Against a list of all units, over more than two tables.
    #[test]
    fn what_is_found_is_what_looking_at_all_units_finds() {
        let mut rng = Rng::stream(3, "space");
        for round in 0..6 {
            let (units, chunk) = (2 * TABLE + 300 + rng.below(500), 1 + rng.below(9));
            let homes = Homes::new(units, 5 + rng.below(90), 1.3).unwrap();
            let mut space = Space::new(units, chunk, homes);
            let mut free: Vec<bool> = (0..units).map(|unit| homes.is_free(unit)).collect();
            // The first rounds leave tables as they were.
            for _ in 0..round * 3_000 {
                let unit = rng.below(units);
                let now = rng.chance(0.4);
                match (space.is_free(unit), now) {
                    (false, true) => space.release(unit),
                    (true, false) => space.take(unit),
                    _ => {}
                }
                free[unit as usize] = now;
            }
            assert_eq!(
                space.free(),
                free.iter().filter(|free| **free).count() as u64
            );
            for _ in 0..600 {
                let (short, near) = (rng.chance(0.5), rng.chance(0.5));
                let len = 1 + rng.below(if short { 3 } else { 40 });
                let from = rng.below(units * chunk);
                let until = from + rng.below(if near { 900 } else { 90_000 });
                let fits = |at: &u64| {
                    let unit = at / chunk;
                    let run = unit..unit + len;
                    at.is_multiple_of(chunk)
                        && run.end <= units
                        && free[run.start as usize..run.end as usize]
                            .iter()
                            .all(|free| *free)
                };
                let all = || (from..until).filter(|at| *at < units * chunk && fits(at));
                let first = space.first(from, until, len * chunk);
                assert_eq!(first, all().next(), "{from}..{until} for {len}");
                let last = space.last(until, from, len * chunk);
                assert_eq!(last, all().next_back(), "{from}..{until} for {len}");
                if let Some(at) = first {
                    let taken = (at / chunk..units).find(|unit| !free[*unit as usize]);
                    assert_eq!(space.reach(at), taken.unwrap_or(units) * chunk);
                }
            }
        }
    }
}
