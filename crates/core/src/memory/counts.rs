//! What a memory counts, in pages where nothing else is said.

use crate::contract::{Cache, Destage, Prefetch};
use crate::measure::Measure;
use crate::pages::{BUFFER_MEASURES, CACHE_MEASURES, PREFETCH_COUNTS};
use crate::registry::Kind;

/// The key of the kind under which what is brought beforehand is told.
pub(super) const PREFETCH: &str = <dyn Prefetch as Kind>::CARD.key;
/// The same of the cache.
pub(super) const CACHE: &str = <dyn Cache as Kind>::CARD.key;

/// The same of the write buffer.
pub(super) const BUFFER: &str = <dyn Destage as Kind>::CARD.key;

/// The numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) read_hits: u64,
    pub(super) read_misses: u64,
    pub(super) hit: u64,
    pub(super) joined: u64,
    pub(super) missed: u64,
    pub(super) staged: u64,
    pub(super) passed: u64,
    pub(super) cut_reads: u64,
    pub(super) cut_pieces: u64,
    pub(super) ahead: u64,
    pub(super) useful: u64,
    pub(super) late: u64,
    pub(super) wasted: u64,
    pub(super) failed: u64,
}

/// The numbers of a write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferCounts {
    pub(super) written: u64,
    pub(super) overwritten: u64,
    pub(super) read: u64,
    pub(super) waited: u64,
    pub(super) through: u64,
    pub(super) units: u64,
    pub(super) full_units: u64,
    pub(super) destaged: u64,
    pub(super) failed: u64,
}

impl BufferCounts {
    /// Tells all of them, and how many pages are in the buffer and were given up.
    pub(super) fn tell(
        &self,
        (dirty, given_up): (u64, u64),
        told: &mut dyn FnMut(&'static str, &'static Measure, u64),
    ) {
        let numbers = [
            self.written,
            self.overwritten,
            self.read,
            self.waited,
            self.through,
            self.units,
            self.full_units,
            self.destaged,
            self.failed,
            dirty,
            given_up,
        ];
        for (measure, number) in BUFFER_MEASURES.iter().zip(numbers) {
            told(BUFFER, measure, number);
        }
    }
}

impl Counts {
    /// Tells all of them; those of what is brought beforehand only if something is.
    pub(super) fn tell(
        &self,
        prefetches: bool,
        told: &mut dyn FnMut(&'static str, &'static Measure, u64),
    ) {
        let cache = [
            self.read_hits,
            self.read_misses,
            self.hit,
            self.joined,
            self.missed,
            self.staged,
            self.passed,
            self.cut_reads,
            self.cut_pieces,
        ];
        let prefetch = [self.ahead, self.useful, self.late, self.wasted, self.failed];
        let mut all = |key, measures: &'static [Measure], numbers: &[u64]| {
            for (measure, number) in measures.iter().zip(numbers) {
                told(key, measure, *number);
            }
        };
        all(CACHE, CACHE_MEASURES, &cache);
        if prefetches {
            all(PREFETCH, &PREFETCH_COUNTS, &prefetch);
        }
    }
}
