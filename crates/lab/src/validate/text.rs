//! A validation as text for a terminal: one table for each kind of comparison.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};

use super::{Check, Differences, Finding, Validation};

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.drive, self.folder)?;
        for (title, columns, lines) in SECTIONS {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_header(
                ["file"]
                    .iter()
                    .chain(columns.iter())
                    .chain(&["limit", "verdict"]),
            );
            for check in &self.checks {
                for cells in lines(check) {
                    let verdict = if check.pass { "pass" } else { "FAIL" }.to_owned();
                    let ends = [check.limit.clone(), verdict];
                    table.add_row([check.file.clone()].into_iter().chain(cells).chain(ends));
                }
            }
            if table.row_count() > 0 {
                align(&mut table, columns.len());
                writeln!(f, "\n{title}\n{table}")?;
            }
        }
        if !self.absent.is_empty() {
            writeln!(f, "\nnot in the folder: {}", self.absent.join(", "))?;
        }
        if !self.unknown.is_empty() {
            writeln!(f, "\nnot known, not compared: {}", self.unknown.join(", "))?;
        }
        if !self.pass {
            writeln!(
                f,
                "\nbeyond the limits:\n  {}",
                self.failures().join("\n  ")
            )?;
        }
        writeln!(f, "\nverdict: {}", if self.pass { "pass" } else { "FAIL" })
    }
}

/// Title, columns, and what a check contributes to the section.
type Section = (
    &'static str,
    &'static [&'static str],
    fn(&Check) -> Vec<Vec<String>>,
);

const SECTIONS: [Section; 7] = [
    (
        "Where blocks lie",
        &["rows", "equal", "angle max 1e-9 rev", "borders missing"],
        layouts,
    ),
    (
        "Whether rows fit the trace, each other and the clock",
        &["rows", "do not fit", "missing", "platter lags us"],
        timelines,
    ),
    (
        "Cost of each request from its recorded state, difference in us (mean / 99 % / max)",
        &[
            "rows",
            "seek",
            "rotation",
            "transfer",
            "completion",
            "beyond",
            "at slips",
            "at edges",
        ],
        rows,
    ),
    (
        "Which request goes next",
        &["scheduler", "choices", "equal", "tied"],
        choices,
    ),
    (
        "Mean response with the clock running freely",
        &["run", "requests", "ms", "reference ms", "apart", "in step"],
        free_running,
    ),
    (
        "Statistics of whole runs with the clock running freely",
        &[
            "run",
            "requests",
            "mean ms",
            "reference ms",
            "apart",
            "nearest to its limit",
        ],
        summaries,
    ),
    (
        "Service times against the real drive's",
        &[
            "judged",
            "mean ms",
            "measured",
            "reference",
            "rms ms",
            "reference's",
            "correlation",
            "as reference",
            "hits as told",
            "bus ms/block",
        ],
        measured,
    ),
];

/// Numbers to the right; the columns between file and limit are numbers but for words like a run's
/// name.
fn align(table: &mut Table, columns: usize) {
    for index in 1..=columns {
        let column = table.column_mut(index).expect("the header has it");
        column.set_cell_alignment(CellAlignment::Right);
    }
    let limit = table.column_mut(columns + 1).expect("the header has it");
    limit.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(44)));
}

fn layouts(check: &Check) -> Vec<Vec<String>> {
    let Finding::Layout(found) = &check.finding else {
        return Vec::new();
    };
    vec![vec![
        check.compared.to_string(),
        found.equal.to_string(),
        format!("{:.1}", found.angle_nanoturns_max),
        found.borders_missing.to_string(),
    ]]
}

fn timelines(check: &Check) -> Vec<Vec<String>> {
    let Finding::Timeline(found) = &check.finding else {
        return Vec::new();
    };
    vec![vec![
        check.compared.to_string(),
        found.beyond.to_string(),
        found.missing.to_string(),
        format!("{:.1}", found.lag_us),
    ]]
}

fn rows(check: &Check) -> Vec<Vec<String>> {
    let Finding::Rows(found) = &check.finding else {
        return Vec::new();
    };
    let text = |of: &Differences| format!("{:.3} / {:.3} / {:.3}", of.mean, of.p99, of.max);
    vec![vec![
        check.compared.to_string(),
        text(&found.seek_us),
        text(&found.rotation_us),
        text(&found.transfer_us),
        text(&found.completion_us),
        found.beyond.to_string(),
        found.beyond_at_slips.to_string(),
        found.beyond_at_edges.to_string(),
    ]]
}

fn choices(check: &Check) -> Vec<Vec<String>> {
    let Finding::Choices(found) = &check.finding else {
        return Vec::new();
    };
    vec![vec![
        check.what.clone(),
        check.compared.to_string(),
        found.equal.to_string(),
        found.tied.to_string(),
    ]]
}

fn free_running(check: &Check) -> Vec<Vec<String>> {
    let Finding::FreeRunning(found) = &check.finding else {
        return Vec::new();
    };
    vec![vec![
        check.what.clone(),
        check.compared.to_string(),
        format!("{:.4}", found.mean_ms),
        format!("{:.4}", found.reference_ms),
        format!("{:+.3} %", found.relative * 100.0),
        format!("{:+.4} %", found.in_step * 100.0),
    ]]
}

fn summaries(check: &Check) -> Vec<Vec<String>> {
    let percent = |part: f64| format!("{:+.3} %", part * 100.0);
    let (requests, cells) = match &check.finding {
        Finding::Summary(found) => {
            let apart = found.ours.mean_ms / found.reference.mean_ms - 1.0;
            let cells = [
                format!("{:.4}", found.ours.mean_ms),
                format!("{:.4}", found.reference.mean_ms),
                percent(apart),
                format!("{} {}", found.worst, percent(found.worst_relative)),
            ];
            (check.compared.to_string(), cells)
        }
        Finding::Loads(found) => {
            let missing = format!("{} of {}", found.missing.len(), found.rows);
            (
                String::new(),
                [String::new(), String::new(), String::new(), missing],
            )
        }
        _ => return Vec::new(),
    };
    vec![
        [check.what.clone(), requests]
            .into_iter()
            .chain(cells)
            .collect(),
    ]
}

fn measured(check: &Check) -> Vec<Vec<String>> {
    let Finding::Measured(found) = &check.finding else {
        return Vec::new();
    };
    let times = found
        .fitted_read_ms_per_block
        .zip(found.fitted_write_ms_per_block);
    let fitted = times.map(|(read, write)| format!("fitted {read:.4}, {write:.4}"));
    let share = |part: u64, of: u64| match of {
        0 => "not told".to_owned(),
        _ => format!("{:.2} %", part as f64 / of as f64 * 100.0),
    };
    vec![vec![
        format!("{} of {}", found.judged, check.compared),
        format!("{:.3}", found.mean_ms),
        format!("{:.3}", found.measured_mean_ms),
        format!("{:.3}", found.reference_mean_ms),
        format!("{:.4}", found.rms_ms),
        format!("{:.4}", found.reference_rms_ms),
        format!("{:.3}", found.correlation),
        share(found.as_reference, found.judged),
        share(found.outcomes_equal, found.outcomes),
        fitted.unwrap_or_default(),
    ]]
}
