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
                    let verdict = verdict(check.pass).to_owned();
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
        writeln!(f, "\nverdict: {}", if self.pass { "pass" } else { "FAIL" })
    }
}

/// Title, columns, and what a check contributes to the section.
type Section = (
    &'static str,
    &'static [&'static str],
    fn(&Check) -> Vec<Vec<String>>,
);

const SECTIONS: [Section; 5] = [
    (
        "Where blocks lie",
        &["rows", "equal", "angle max 1e-9 rev", "first difference"],
        layouts,
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
        "Service times against the real drive's",
        &[
            "requests",
            "mean ms",
            "measured",
            "reference",
            "rms ms",
            "reference's",
            "as reference",
            "bus ms/block",
        ],
        measured,
    ),
];

/// Numbers to the right; the columns between file and limit are numbers but for words like a run's name.
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
        found.first_difference.clone().unwrap_or_default(),
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
        found
            .in_step
            .map_or(String::new(), |apart| format!("{:+.4} %", apart * 100.0)),
    ]]
}

fn measured(check: &Check) -> Vec<Vec<String>> {
    let Finding::Measured(found) = &check.finding else {
        return Vec::new();
    };
    let times = found
        .fitted_read_ms_per_block
        .zip(found.fitted_write_ms_per_block);
    let fitted = times.map(|(read, write)| format!("fitted {read:.4}, {write:.4}"));
    vec![vec![
        check.compared.to_string(),
        format!("{:.3}", found.mean_ms),
        format!("{:.3}", found.measured_mean_ms),
        format!("{:.3}", found.reference_mean_ms),
        format!("{:.4}", found.rms_ms),
        format!("{:.4}", found.reference_rms_ms),
        format!(
            "{:.2} %",
            found.as_reference as f64 / check.compared as f64 * 100.0
        ),
        fitted.unwrap_or_default(),
    ]]
}

fn verdict(pass: Option<bool>) -> &'static str {
    match pass {
        Some(true) => "pass",
        Some(false) => "FAIL",
        None => "-",
    }
}
