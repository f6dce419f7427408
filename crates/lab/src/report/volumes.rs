//! For a single run of a trace with several volumes: response times of each, as a little table.

use comfy_table::{Cell, CellAlignment, Table};

use super::facts::{dash, plain};
use super::table::RULE;
use crate::number::number;
use crate::outcome::{Run, VolumeResponse};

/// Volumes that are listed: those with most requests. Results as JSON have all.
const LISTED_MAX: usize = 32;

/// The table, and how many volumes are not in it; `None` unless there is one run, and it has several volumes.
pub(super) fn volumes(runs: &[Run]) -> Option<(Table, usize)> {
    let [run] = runs else {
        return None;
    };
    if run.volume_responses.is_empty() {
        return None;
    }
    let mut listed: Vec<&VolumeResponse> = run.volume_responses.iter().collect();
    // Among equals the order of the trace is kept.
    listed.sort_by_key(|volume| std::cmp::Reverse(volume.requests));
    let more = listed.len().saturating_sub(LISTED_MAX);
    listed.truncate(LISTED_MAX);
    let mut table = Table::new();
    table.load_style(RULE).force_no_tty();
    table.set_header([
        "volume", "requests", "mean\nms", "p50\nms", "p99\nms", "max\nms",
    ]);
    // Where the queue grew, times tell how long the load is.
    let known = run.queue_growth_rps.is_none();
    for volume in listed {
        let times = [volume.mean_ms, volume.p50_ms, volume.p99_ms, volume.max_ms];
        let times = times.map(|ms| ms.filter(|_| known).map_or(dash(), number));
        let front = [plain(&volume.device), volume.requests.to_string()];
        table.add_row(front.into_iter().chain(times).map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some((table, more))
}
