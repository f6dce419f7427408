//! For a single run, response times of each volume and of each stream of its trace, as little
//! tables.

use std::cmp::Reverse;

use comfy_table::{Cell, CellAlignment, Table};

use super::facts::{RULE, dash, plain};
use crate::number::number;
use crate::outcome::Run;

/// Rows that are listed: those with most requests. Results as JSON have all.
pub(super) const LISTED_MAX: usize = 32;

/// Who asked or was asked, how many requests were answered and failed, and mean, p50, p99 and
/// longest in milliseconds.
type Row = (String, [u64; 2], [Option<f64>; 4]);

/// A table, what its rows are, and how many more there are.
pub(super) struct Groups {
    pub(super) table: Table,
    /// What its rows are, in words, of which there are `more`.
    pub(super) of: &'static str,
    pub(super) more: usize,
}

/// The tables; none unless there is one run.
pub(super) fn groups(runs: &[Run]) -> Vec<Groups> {
    let [run] = runs else {
        return Vec::new();
    };
    let volumes = run.volume_responses.iter().map(|one| {
        let times = [one.mean_ms, one.p50_ms, one.p99_ms, one.max_ms];
        (plain(&one.device), [one.requests, one.failed], times)
    });
    let streams = run.stream_responses.iter().map(|one| {
        let times = [one.mean_ms, one.p50_ms, one.p99_ms, one.max_ms];
        let name = match one.name.as_str() {
            "" => one.stream.to_string(),
            name => format!("{} ({})", plain(name), one.stream),
        };
        let name = format!("{name}, {}s", one.op);
        (name, [one.requests, one.failed], times)
    });
    let tables = [
        group(
            ("volume", "volumes, with fewer requests"),
            volumes.collect(),
            run,
        ),
        group(
            ("stream", "streams, with fewer requests"),
            streams.collect(),
            run,
        ),
    ];
    tables.into_iter().flatten().collect()
}

/// A table of these rows, if there are any.
fn group((one, of): (&str, &'static str), mut rows: Vec<Row>, run: &Run) -> Option<Groups> {
    if rows.is_empty() {
        return None;
    }
    // Among equals their order is kept.
    rows.sort_by_key(|(_, [answered, failed], _)| Reverse(answered + failed));
    let any_failed = rows.iter().any(|(_, [_, failed], _)| *failed > 0);
    let more = rows.len().saturating_sub(LISTED_MAX);
    rows.truncate(LISTED_MAX);
    let mut table = Table::new();
    table.load_style(RULE).force_no_tty();
    let mut heads = vec![one, "requests"];
    heads.extend(any_failed.then_some("failed\nrequests"));
    heads.extend(["mean\nms", "p50\nms", "p99\nms", "max\nms"]);
    table.set_header(heads);
    // Where the queue grew, times tell how long the load is.
    let known = run.queue_growth_rps.is_none();
    for (name, [answered, failed], times) in rows {
        let times = times.map(|ms| ms.filter(|_| known).map_or(dash(), number));
        let mut cells = vec![name, answered.to_string()];
        cells.extend(any_failed.then(|| failed.to_string()));
        cells.extend(times);
        table.add_row(cells.into_iter().map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some(Groups { table, of, more })
}
