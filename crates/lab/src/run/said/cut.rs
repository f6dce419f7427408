//! Reads that a cache cuts into pieces.
//!
//! What is in memory is not read again, so a read of which pages in the middle are there becomes a
//! read of the drives for each piece around them. Linux's page cache does so, too
//! (`page_cache_ra_unbounded` of mm/readahead.c sends what it has gathered when it meets a page
//! that is there); many controllers read the whole of it instead. A disk pays a command, and often
//! a turn of the platter, for what it would have passed over in microseconds: a cache may make such
//! loads slower.

use nearslot_core::contract::Cache;
use nearslot_core::pages::{PAGE_BYTES, TRACK_PAGES};
use nearslot_core::registry::Kind;

use crate::number::number;
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// The longest lines there are.
const LINE_KIB_MAX: u64 = TRACK_PAGES * PAGE_BYTES / 1024;

/// From this share of the reads that missed on, pieces are told.
const CUT_SHARE: f64 = 0.05;

/// What would let fewer reads be cut by this cache; nothing that is known where its lines are
/// brought as wholes and cannot be longer.
fn fewer(cache: &serde_json::Value) -> &'static str {
    let longest = cache["line_kib"]
        .as_u64()
        .is_some_and(|kib| kib >= LINE_KIB_MAX);
    match (cache["stage"].as_str(), longest) {
        (Some("pages"), _) => "; with whole lines (stage=line) fewer are cut",
        (_, false) => "; with larger lines (line_kib) fewer are cut",
        (_, true) => "",
    }
}

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
             disk often a turn{}",
            number(100.0 * reads / missed),
            fewer(&run.config[key])
        );
        Warning::new(WarningKind::CutReads, text).of_run(&run.label)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_cut_fewer_reads_is_told_where_something_would() {
        let told = |stage: &str, line_kib: u64| {
            fewer(&serde_json::json!({"stage": stage, "line_kib": line_kib}))
        };
        assert!(told("line", 4).contains("larger lines"));
        assert!(told("line", 128).contains("larger lines"));
        assert_eq!(told("line", 256), "");
        assert!(told("pages", 256).contains("stage=line)"));
        assert!(fewer(&serde_json::json!({"line_kib": 4})).contains("larger lines"));
    }
}
