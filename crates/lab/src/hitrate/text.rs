//! Miss ratios as a table for people.

use std::fmt;

use comfy_table::Table;

use super::{HitRates, Row, Sampled, Unit, Which};
use crate::number::counted;
use crate::report::facts::{RULE, fact};

impl fmt::Display for HitRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}\n", table(self).trim_fmt(), self.headline)?;
        let mut text = String::new();
        for (name, value) in facts(self) {
            fact(&mut text, None, name, &value);
        }
        for warning in &self.warnings {
            fact(&mut text, None, "warning", &warning.text);
        }
        f.write_str(&text)
    }
}

fn table(found: &HitRates) -> Table {
    let mut table = Table::new();
    table.load_style(RULE);
    let mut heads = vec!["cache", "size", "lines", "share %", "misses", "miss ratio"];
    if found.counts_requests() {
        heads.extend(["requests missed", "of requests"]);
    }
    table.set_header(heads);
    for row in &found.rows {
        table.add_row(cells(row));
    }
    table
}

/// A row as people read it.
fn cells(row: &Row) -> Vec<String> {
    let mut cells = vec![
        row.cache.clone(),
        row.size.clone(),
        row.lines.to_string(),
        format!("{:.3}", 100.0 * row.share),
        row.misses.to_string(),
        ratio(row),
    ];
    if let (Some(missed), Some(ratio)) = (row.missed_requests, row.request_miss_ratio) {
        cells.extend([missed.to_string(), format!("{ratio:.4}")]);
    }
    cells
}

/// A miss ratio, and how far that of a sample may be off.
pub(super) fn ratio(row: &Row) -> String {
    match row.off_by {
        None => format!("{:.4}", row.miss_ratio),
        Some(off_by) => format!("{:.4} ± {off_by:.4}", row.miss_ratio),
    }
}

/// What was counted of what.
pub(super) fn facts(found: &HitRates) -> Vec<(&'static str, String)> {
    let unit = match found.unit {
        Unit::Page(bytes) => format!("pages of {bytes} bytes, each that a request touches"),
        Unit::Request => "requests by their first byte, whatever their length".to_owned(),
    };
    let which = match found.which {
        Which::All => "reads and writes",
        Which::Reads => "reads alone",
    };
    let mut facts = vec![
        (
            "trace",
            format!("{} ({})", found.files.join(", "), found.format),
        ),
        ("lines", unit),
        (
            "counted",
            format!(
                "{which}: {} for {}, {}",
                match found.requests {
                    1 => "1 request asks".to_owned(),
                    requests => format!("{requests} requests ask"),
                },
                counted(found.asked, "line"),
                match found.footprint {
                    1 => "1 of them different".to_owned(),
                    lines => format!("{lines} different ones"),
                }
            ),
        ),
    ];
    if found.counts_requests() {
        let text = "one is missed if at least one of its pages is, however many of them are";
        facts.push(("requests", text.to_owned()));
    }
    if let Some(Sampled { share, lines, .. }) = &found.sample {
        let sample = format!(
            "{} % of the lines, {lines}, with all their requests; numbers of lines and misses are estimates, ± is at 95 % or more",
            share * 100.0
        );
        facts.push(("looked at", sample));
    }
    facts
}
