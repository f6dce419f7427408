//! What a drive counts.

use crate::measure::{Measure, Tell};

/// Numbers since the begin of a run. Units are those of the map.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Blocks of 512 bytes that hosts have written.
    pub(super) written: u64,
    /// Units of pages that were programmed, those that stayed empty included.
    pub(super) programmed: u64,
    /// Units that were moved before their block was erased.
    pub(super) moved: u64,
    /// Blocks that were erased.
    pub(super) erases: u64,
    /// Units that were read to complete what a host had written in part.
    pub(super) filled: u64,
    /// Entries of the map that were read from the flash.
    pub(super) entries: u64,
    /// Units that were found in the write cache by reads.
    pub(super) hits: u64,
    /// Units that waited in the write cache and were written again.
    pub(super) absorbed: u64,
    /// Units that were trimmed.
    pub(super) trimmed: u64,
}

const WRITTEN: Measure = Measure::count(
    "written_blocks",
    "blocks",
    "blocks of 512 bytes that hosts wrote",
);

/// What is told, in the order of [`Counts::tell`].
pub(super) static MEASURES: &[Measure] = &[
    WRITTEN,
    Measure::count(
        "amplification_permille",
        "0.001",
        "blocks that were programmed, for a thousand that hosts wrote: what is moved, completed and left empty, \
         less what was written again in the write cache",
    )
    .mean_over(&WRITTEN),
    Measure::count("moved_units", "units of the map", "what was moved before its block was erased"),
    Measure::count("erases", "blocks", "flash blocks that were erased"),
    Measure::count(
        "completed_units",
        "units of the map",
        "what was read from flash because a host wrote a part of a unit",
    ),
    Measure::count("map_reads", "reads", "reads of the flash for a part of the map that was not in memory"),
    Measure::count("stops", "operations", "programs and erases that were stopped for a read"),
    Measure::count("cache_hits", "units of the map", "what reads found in the write cache"),
    Measure::count(
        "absorbed_units",
        "units of the map",
        "what was written again while it waited in the write cache",
    ),
    Measure::count("trimmed_units", "units of the map", "what hosts no longer needed"),
    Measure::count("most_erased", "erases", "how often the flash block was erased that was erased most").of_run(),
];

impl Counts {
    pub(super) fn tell(&self, unit_blocks: u64, stops: u64, most_erased: u64, tell: Tell<'_>) {
        let numbers = [
            self.written,
            self.programmed * unit_blocks * 1_000,
            self.moved,
            self.erases,
            self.filled,
            self.entries,
            stops,
            self.hits,
            self.absorbed,
            self.trimmed,
            most_erased,
        ];
        for (measure, number) in MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }
}
