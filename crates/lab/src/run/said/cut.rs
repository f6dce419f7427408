//! Reads that a cache cuts into pieces.
//!
//! What is in memory is not read again, so a read of which pages in the middle are there becomes a
//! read of the drives for each piece around them. Linux's page cache does so, too
//! (`page_cache_ra_unbounded` of mm/readahead.c sends what it has gathered when it meets a page
//! that is there); many controllers read the whole of it instead. A disk pays a command, and often
//! a turn of the platter, for what it would have passed over in microseconds: a cache may make such
//! loads slower.

use nearslot_core::contract::Cache;
use nearslot_core::registry::Kind;

use crate::number::number;
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// From this share of the reads that missed on, pieces are told.
const CUT_SHARE: f64 = 0.05;

/// That many of the reads that missed were cut.
pub(super) fn cut(run: &Run) -> Option<Warning> {
    let key = <dyn Cache as Kind>::CARD.key;
    let count = |name: &str| run.measure(key, name).map_or(0.0, |count| count.value());
    let (missed, reads, pieces) = (
        count("read_misses"),
        count("cut_reads"),
        count("cut_pieces"),
    );
    (reads > 0.0 && reads >= CUT_SHARE * missed).then(|| {
        let text = format!(
            "{reads:.0} of the {missed:.0} reads that missed ({} %) were cut into {pieces:.0} reads of the drives by pages between that were in memory: each piece costs a command, and on a \
             disk often a turn; with larger lines (line_kib) fewer are cut",
            number(100.0 * reads / missed)
        );
        Warning::new(WarningKind::CutReads, text).of_run(&run.label)
    })
}
