//! What caches, prefetchers, write buffers and the memory that they make have in common: pages,
//! units, marks, and what is counted of them, in pages where nothing else is said.

use crate::contract::Pattern;
use crate::measure::Measure;
use crate::registry::{ConfigError, Knobs};
use crate::units::{BLOCK_BYTES, Blocks};

/// Blocks of a page: 4 KiB.
pub const PAGE: u64 = 8;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = PAGE * BLOCK_BYTES;

/// Pages of a track at most, as many as a word has bits.
pub const TRACK_PAGES: u64 = 64;

/// What enters a cache as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nothing; what is there changes.
    Update,
    /// Every page.
    Allocate,
    /// Every page; once so much was written in a row, as part of a sequence.
    Classed(Blocks),
    /// Every page, until so much was written in a row.
    Rest(Blocks),
}

impl Writes {
    /// How much in a row is a sequence, where that matters.
    pub fn run(self) -> Option<Blocks> {
        match self {
            Writes::Update | Writes::Allocate => None,
            Writes::Classed(run) | Writes::Rest(run) => Some(run),
        }
    }

    /// As what a write enters that is, or is not, part of a sequence; none if it does not.
    pub fn entering(self, sequence: bool) -> Option<Pattern> {
        match self {
            Writes::Update => None,
            Writes::Rest(_) if sequence => None,
            Writes::Classed(_) if sequence => Some(Pattern::Sequential),
            _ => Some(Pattern::Random),
        }
    }
}

/// What is counted of every cache.
pub const CACHE_COUNTS: [Measure; 9] = [
    Measure::count(
        "read_hits",
        "requests",
        "reads that found in memory all that they asked for",
    ),
    Measure::count(
        "read_misses",
        "requests",
        "reads that did not, those among them that asked the drives by themselves as a job had failed",
    ),
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
        "reads that went around the memory from the first, as a write of the same page was under way: neither hits nor misses",
    ),
    Measure::count(
        "cut_reads",
        "requests",
        "reads of which several pieces were missed, with pages between them that were in memory or on their way: each piece is a read of the drives",
    ),
    Measure::count("cut_pieces", "reads", "pieces of these reads"),
];

/// What is counted of everything that is brought beforehand.
pub const PREFETCH_COUNTS: [Measure; 5] = [
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
    Measure::count(
        "failed_pages",
        "pages",
        "pages that were to be brought before they were asked for, by reads that failed: none of these came",
    ),
];

/// The same, as a card has them.
pub static CACHE_MEASURES: &[Measure] = &CACHE_COUNTS;

/// Blocks of a unit at least, if nothing else is said: 64 KiB.
pub const BLOCKS_OF_UNIT: u64 = 128;

/// When units go to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// How full the buffer is, in percent, when nothing goes that is not complete.
    pub low: u64,
    /// How full it is when as many go as may.
    pub high: u64,
    /// How many may at a time.
    pub units: u32,
    /// How many complete ones may, however full it is.
    pub full_units: u32,
}

impl Marks {
    /// Units that may be on their way when so many pages of so many are taken: none at the low
    /// mark, all at the high mark, in proportion in between.
    pub fn allow(&self, taken: u64, room: u64) -> u32 {
        let (taken, low, high) = (taken * 100, room * self.low, room * self.high);
        if taken <= low {
            return 0;
        }
        if taken >= high {
            return self.units;
        }
        ((taken - low) * u64::from(self.units)).div_ceil(high - low) as u32
    }
}

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
        "pages of these that were there already, so that the drives are spared a write, unless the older one is on its way to them",
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
        "how often all that a unit had was written to the drives",
    ),
    Measure::count(
        "full_units",
        "units",
        "how often of these every block of the unit was there when it went",
    ),
    Measure::count(
        "destaged_pages",
        "pages",
        "pages that were written to the drives, each time that one was: what failed is none of these",
    ),
    Measure::count(
        "failed_units",
        "units",
        "how often a unit that went could not be written, or not all of it",
    )
    .of_run(),
    Measure::count(
        "dirty_pages",
        "pages",
        "pages that are in the buffer at the end, those on their way to the drives among them",
    )
    .of_run(),
    Measure::count(
        "given_up_pages",
        "pages",
        "pages of these that could not be written so often that they are not tried again",
    )
    .of_run(),
];

/// Pages of what a setting says in KiB: lines and tracks, which divide each other.
///
/// # Errors
/// It is no power of two.
pub fn of_kib(part: &str, knobs: &Knobs, key: &str) -> Result<u64, ConfigError> {
    let kib = knobs.integer(key);
    if !kib.is_power_of_two() {
        let key = format!("{part}.{key}");
        let allowed = "a power of two from 4 to 256";
        return Err(ConfigError::value(&key, &kib.to_string(), allowed));
    }
    let pages = kib * 1024 / PAGE_BYTES;
    assert!(pages <= TRACK_PAGES, "the card allows no longer ones");
    Ok(pages)
}
