//! What caches, prefetchers and the memory that they make have in common: pages, and what is counted of them, in pages where nothing else is said.

use crate::measure::Measure;

/// Blocks of a page: 4 KiB.
pub const PAGE: u64 = 8;

/// Pages of a track at most, as many as a word has bits.
pub const TRACK_PAGES: u64 = 64;

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
