//! For a single run of a trace that tells response times: these beside the simulated ones, as a
//! little table.

use comfy_table::{Cell, CellAlignment, Table};

use super::facts::RULE;
use crate::number::number;
use crate::outcome::{Run, Times, Traced};

type StatisticOf = fn(&Times) -> Option<f64>;

/// Rows: how a statistic is called, and where it is.
const STATISTICS: [(&str, StatisticOf); 6] = [
    ("mean", |times| Some(times.mean)),
    ("p50", |times| times.p50),
    ("p95", |times| times.p95),
    ("p99", |times| times.p99),
    ("p99.9", |times| times.p999),
    ("max", |times| Some(times.max)),
];

/// The table; `None` unless there is one run that kept up, and its trace tells response times.
pub(super) fn beside(runs: &[Run]) -> Option<Table> {
    let [run] = runs else {
        return None;
    };
    let traced = run.traced.as_ref()?;
    if run.queue_growth_rps.is_some() {
        return None;
    }
    let classes = classes(run, traced);
    let mut table = Table::new();
    table.load_style(RULE).force_no_tty();
    let headings = classes.iter().flat_map(|(name, ..)| {
        ["simulated", "traced"].map(|source| format!("{name}\n{source} ms"))
    });
    table.set_header([String::new()].into_iter().chain(headings));
    for (name, of) in STATISTICS {
        let cells = classes.iter().flat_map(|(_, simulated, traced)| {
            [simulated, traced].map(|times| of(times).map_or("–".to_owned(), number))
        });
        let cells = [name.to_owned()].into_iter().chain(cells);
        table.add_row(cells.map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some(table)
}

/// All, reads and writes: simulated and traced; without what one of the two has none of.
fn classes<'a>(run: &'a Run, traced: &'a Traced) -> Vec<(&'static str, &'a Times, &'a Times)> {
    let all = Some(("all", &run.response_ms, &traced.response_ms));
    let of = |name, simulated: &'a Option<Times>, traced: &'a Option<Times>| {
        Some((name, simulated.as_ref()?, traced.as_ref()?))
    };
    let reads = of("reads", &run.read_response_ms, &traced.read_response_ms);
    let writes = of("writes", &run.write_response_ms, &traced.write_response_ms);
    // Of one kind alone, all are that kind.
    match (reads, writes) {
        (Some(_), Some(_)) => [all, reads, writes].into_iter().flatten().collect(),
        _ => all.into_iter().collect(),
    }
}
