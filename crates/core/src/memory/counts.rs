//! What a memory counts, in pages where nothing else is said.

use crate::contract::{Cache, Destage, Prefetch};
use crate::measure::Measure;
use crate::registry::Kind;

/// The key of the kind under which what is brought beforehand is told.
pub(super) const PREFETCH: &str = <dyn Prefetch as Kind>::CARD.key;
/// The same of the cache.
pub(super) const CACHE: &str = <dyn Cache as Kind>::CARD.key;

/// The same of the write buffer.
pub(super) const BUFFER: &str = <dyn Destage as Kind>::CARD.key;

/// What is counted of every write buffer.
pub static BUFFER_MEASURES: &[Measure] = &[
    Measure::count(
        "written_pages",
        "pages",
        "pages of 4 KiB of writes that entered the buffer",
    ),
    Measure::count(
        "overwritten_pages",
        "pages",
        "pages of these that were there already, so that the drives are spared a write",
    ),
    Measure::count(
        "read_pages",
        "pages",
        "pages that reads got from the buffer",
    ),
    Measure::count(
        "waited_writes",
        "requests",
        "writes that waited for room, or behind one that did",
    ),
    Measure::count(
        "through_writes",
        "requests",
        "writes that went to the drives as they are: larger than the buffer, or there was no room and nothing in it could be written",
    ),
    Measure::count(
        "destaged_units",
        "units",
        "how often a unit went to the drives",
    ),
    Measure::count(
        "full_units",
        "units",
        "how often of these every block of the unit was there",
    ),
    Measure::count("destaged_pages", "pages", "pages that went to the drives"),
    Measure::count(
        "failed_units",
        "units",
        "how often a unit that went could not be written, or not all of it",
    ),
    Measure::count(
        "dirty_pages",
        "pages",
        "pages that are in the buffer at the end",
    ),
    Measure::count(
        "given_up_pages",
        "pages",
        "pages of these that could not be written so often that they are not tried again",
    ),
];

/// What is counted of every cache.
pub const CACHE_COUNTS: [Measure; 7] = [
    Measure::count(
        "read_hits",
        "requests",
        "reads that found in memory all that they asked for",
    ),
    Measure::count("read_misses", "requests", "reads that did not"),
    Measure::count(
        "hit_pages",
        "pages",
        "pages of 4 KiB that reads found in memory",
    ),
    Measure::count(
        "joined_pages",
        "pages",
        "pages that were on their way when reads asked for them",
    ),
    Measure::count(
        "missed_pages",
        "pages",
        "pages that reads asked for and that were neither in memory nor on their way",
    ),
    Measure::count(
        "staged_pages",
        "pages",
        "pages that were read from the drives into memory",
    ),
    Measure::count(
        "passed_reads",
        "requests",
        "reads that went around the memory, as a write of the same page was under way or a job had failed",
    ),
];

/// What is counted of everything that is brought beforehand.
pub const PREFETCH_COUNTS: [Measure; 4] = [
    Measure::count(
        "ahead_pages",
        "pages",
        "pages that were brought before they were asked for",
    ),
    Measure::count(
        "useful_pages",
        "pages",
        "pages of these that were asked for when they had come",
    ),
    Measure::count(
        "late_pages",
        "pages",
        "pages of these that were asked for when they were on their way",
    ),
    Measure::count(
        "wasted_pages",
        "pages",
        "pages of these that left the memory before they were asked for",
    ),
];

/// The same, as a card has them.
pub static CACHE_MEASURES: &[Measure] = &CACHE_COUNTS;

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
    pub(super) ahead: u64,
    pub(super) useful: u64,
    pub(super) late: u64,
    pub(super) wasted: u64,
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
        ];
        let prefetch = [self.ahead, self.useful, self.late, self.wasted];
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
