//! A capacity as a table for people: the answer first, a line for each choice, and what the numbers
//! rest on.

use std::fmt;

use comfy_table::{Cell, CellAlignment, Table};

use super::{Capacity, Reached, Reading, columns, setup, words};
use crate::report::facts::{RULE, fact, paragraph};

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", paragraph(&self.headline))?;
        for detail in &self.details {
            writeln!(f, "{}", paragraph(detail))?;
        }
        writeln!(f, "\n{}\n", table(self).trim_fmt())?;
        let rest = format!("The {}. {}", words::settings(self), legend(self).join(" "));
        writeln!(f, "{}\n", paragraph(&rest))?;
        let mut text = String::new();
        for (name, value) in setup::facts(self) {
            fact(&mut text, None, name, &value);
        }
        f.write_str(&text)
    }
}

/// How to read the table, where it needs to be said.
pub(super) fn legend(capacity: &Capacity) -> Vec<&'static str> {
    let mut legend = vec![
        "Times, rates and shares are those at the hardest setting that holds.",
        "Intervals are 95 % confidence intervals, of each objective by itself.",
    ];
    if capacity.choices.iter().any(|found| found.holds.is_none()) {
        legend.push("Where no setting holds, they are those at the easiest one that was tried.");
    }
    let limits = capacity.choices.iter().any(|found| found.limit.is_some());
    legend.extend(limits.then_some(
        "What limits a choice is drives that are busy all the time, waits of requests that come close together, or the service of \
         single ones.",
    ));
    let shown = capacity.choices.iter().filter_map(Reached::shown);
    let shown: Vec<&Reading> = shown.flat_map(|tried| &tried.readings).collect();
    let unsure = |reading: &&Reading| reading.ms.is_some() && reading.low_ms.is_none();
    if shown.iter().any(unsure) {
        legend.push("Where a mean has no interval, it would reach below 0: a few parts of the load decide the mean, so nothing is sure.");
    }
    let open = |reading: &&Reading| reading.low_ms.is_some() && reading.high_ms.is_none();
    if shown.iter().any(open) {
        legend.push(
            "An interval without an upper end goes beyond the longest time that was measured: too few requests lie beyond the \
             percentile, so nothing surely holds there.",
        );
    }
    legend
}

fn table(capacity: &Capacity) -> Table {
    let mut table = Table::new();
    table.load_style(RULE);
    let heads = columns::heads(capacity);
    table.set_header(heads.iter().map(|head| Cell::new(head.join("\n"))));
    table.add_rows(columns::rows(capacity));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if column.index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    table
}
