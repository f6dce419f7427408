//! A set of pages of a file.

/// Which of so many pages are in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// None of `pages` pages.
    pub(super) fn none(pages: u64) -> Bits {
        Bits {
            words: vec![0; pages.div_ceil(64) as usize],
            count: 0,
        }
    }

    /// How many are in it.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub(super) fn has(&self, page: u64) -> bool {
        self.words[(page / 64) as usize] >> (page % 64) & 1 == 1
    }

    /// Adds a page; whether it was not there.
    #[inline]
    pub(super) fn add(&mut self, page: u64) -> bool {
        let word = &mut self.words[(page / 64) as usize];
        let was = *word >> (page % 64) & 1;
        *word |= 1 << (page % 64);
        self.count += 1 - was;
        was == 0
    }

    /// Takes a page away; whether it was there.
    ///
    /// The count goes by the bit as a number. Where it goes by a comparison of the masked word,
    /// rustc 1.95 drops it from loops over pages that are optimised as in a release:
    /// `counts_are_kept_however_it_is_compiled` sees that under `make soak`, which compiles so.
    #[inline]
    pub(super) fn take(&mut self, page: u64) -> bool {
        let word = &mut self.words[(page / 64) as usize];
        let was = *word >> (page % 64) & 1;
        *word &= !(1 << (page % 64));
        self.count -= was;
        was == 1
    }

    /// The first page from `from` on that is in it.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let mut at = (from / 64) as usize;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(word.trailing_zeros()))
    }

    /// How many from `from` on are in it one after another, `most` at most.
    pub(super) fn run(&self, from: u64, most: u64) -> u64 {
        let end = self.words.len() as u64 * 64;
        let mut pages = 0;
        while pages < most && from + pages < end && self.has(from + pages) {
            pages += 1;
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearslot_core::rng::Rng;

    use super::*;

    /// As whoever syncs takes pages from one of two sets.
    #[test]
    fn counts_are_kept_however_it_is_compiled() {
        let (mut one, mut other) = (Bits::none(10_000), Bits::none(10_000));
        for page in 0..4_000 {
            one.add(page);
            other.add(page + 4_000);
        }
        for first in (0..8_000).step_by(128) {
            for page in first..(first + 128).min(8_000) {
                if !one.take(page) {
                    other.take(page);
                }
            }
        }
        assert_eq!((one.count(), other.count()), (0, 0));
        assert_eq!((one.next(0), other.next(0)), (None, None));
    }

    #[test]
    fn it_is_a_set() {
        let mut rng = Rng::stream(1, "bits");
        let (mut bits, mut set) = (Bits::none(300), BTreeSet::new());
        for _ in 0..4_000 {
            let page = rng.below(300);
            match rng.below(2) {
                0 => assert_eq!(bits.add(page), set.insert(page)),
                _ => assert_eq!(bits.take(page), set.remove(&page)),
            }
            let from = rng.below(300);
            assert_eq!(bits.next(from), set.range(from..).next().copied());
            let run = (from..).take_while(|page| set.contains(page)).count() as u64;
            assert_eq!(bits.run(from, 5), run.min(5));
            assert_eq!(bits.count(), set.len() as u64);
            assert_eq!(bits.has(from), set.contains(&from));
        }
    }
}
