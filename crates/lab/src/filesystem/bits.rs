//! A bit for each of some things: which of them are free.
//!
//! The next one from a place on, and runs of them, are found by words of 64. O(words passed) for a
//! search.

use std::ops::Range;

use nearslot_core::bits;

/// Bits, and how many of them are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: u64,
    count: u64,
}

impl Bits {
    /// `len` bits, none set.
    pub(super) fn none(len: u64) -> Bits {
        Bits {
            words: vec![0; len.div_ceil(64) as usize],
            len,
            count: 0,
        }
    }

    /// How many are set.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether this one is set.
    pub(super) fn has(&self, at: u64) -> bool {
        self.words[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// Sets one that is not.
    pub(super) fn set(&mut self, at: u64) {
        assert!(at < self.len, "bit {at} of {}", self.len);
        assert!(!self.has(at), "bit {at} is set already");
        self.words[(at / 64) as usize] |= 1 << (at % 64);
        self.count += 1;
    }

    /// Clears one that is set.
    pub(super) fn clear(&mut self, at: u64) {
        assert!(self.has(at), "bit {at} is not set");
        self.words[(at / 64) as usize] &= !(1 << (at % 64));
        self.count -= 1;
    }

    /// The first from `at` on, below `until`, that is set, or is not.
    fn next(&self, at: u64, until: u64, set: bool) -> Option<u64> {
        let until = until.min(self.len);
        let words = &self.words[..until.div_ceil(64) as usize];
        bits::first(words, at, set).filter(|found| *found < until)
    }

    /// The first from `at` on that is set, and if there is none, the first of all.
    pub(super) fn first_from(&self, at: u64) -> Option<u64> {
        let behind = self.next(at, self.len, true);
        behind.or_else(|| self.next(0, at, true))
    }

    /// Runs of at least `least` that are set, within a range.
    pub(super) fn runs(&self, within: Range<u64>, least: u64) -> impl Iterator<Item = Range<u64>> {
        let mut at = within.start;
        let until = within.end.min(self.len);
        std::iter::from_fn(move || {
            loop {
                let start = self.next(at, until, true)?;
                let end = self.next(start, until, false).unwrap_or(until);
                at = end;
                if end - start >= least {
                    return Some(start..end);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_found_from_a_place_on() {
        let mut bits = Bits::none(200);
        assert_eq!(bits.first_from(0), None);
        [3, 64, 65, 66, 199].into_iter().for_each(|at| bits.set(at));
        assert_eq!(
            [0, 4, 67, 199].map(|at| bits.first_from(at)),
            [Some(3), Some(64), Some(199), Some(199)]
        );
        assert!(bits.runs(0..200, 2).eq(std::iter::once(64..67)));
        assert_eq!(
            bits.runs(65..200, 1).collect::<Vec<_>>(),
            [65..67, 199..200]
        );
        bits.clear(199);
        assert_eq!((bits.first_from(100), bits.count()), (Some(3), 4));
    }
}
