//! A capacity as a table for people: the answer first, a line for each choice, and what the numbers rest on.

use std::fmt;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use super::words::{self, from, to};
use super::{Capacity, Reached, Reading, Tried, Word, setup};
use crate::number::number;
use crate::report::facts::{dash, fact, paragraph};

/// One line below the heading, and that is enough.
const RULE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

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
fn legend(capacity: &Capacity) -> Vec<&'static str> {
    let mut legend = vec![
        "Times, rates and shares are those at the hardest setting that holds.",
        "Intervals are 95 % confidence intervals, of each objective by itself.",
    ];
    if capacity.choices.iter().any(|found| found.holds.is_none()) {
        legend.push("Where no setting holds, there are none.");
    }
    let shown = capacity.choices.iter().filter_map(at);
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

/// The hardest setting that holds.
fn at(found: &Reached) -> Option<&Tried> {
    let holds = found.holds?;
    let mut tried = found.tried.iter();
    tried.find(|tried| holds.total_cmp(&tried.at).is_eq())
}

fn table(capacity: &Capacity) -> Table {
    let find = capacity.find;
    let mut heads = vec![
        "choice".to_owned(),
        format!("surely\n{}", to(find)),
        format!("holds\n{}", to(find)),
        format!("surely fails\n{}", from(find)),
    ];
    for objective in &capacity.objectives {
        let text = objective.to_string();
        let (what, _) = text.split_once(" <").unwrap_or((&text, ""));
        heads.push(format!("{what}\nms"));
        heads.push("95 % interval\nms".to_owned());
    }
    heads.extend(["rate\nreq/s", "rate\nMB/s", "busy\n%"].map(str::to_owned));
    let ranked = capacity.choices.len() > 1 && capacity.best.is_some();
    if ranked {
        heads.push("against\nbest".to_owned());
    }
    let mut table = Table::new();
    table.load_style(RULE);
    table.set_header(heads.iter().map(Cell::new));
    for (index, found) in capacity.choices.iter().enumerate() {
        let mut cells = row(capacity, found);
        if ranked {
            cells.push(match found.against_best.map(|against| against.word) {
                _ if capacity.best == Some(index) => "best".to_owned(),
                Some(Word::Less) => "less".to_owned(),
                Some(Word::Same) => "same".to_owned(),
                Some(Word::Undecided) => "undecided".to_owned(),
                None => dash(),
            });
        }
        table.add_row(cells);
    }
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

fn row(capacity: &Capacity, found: &Reached) -> Vec<String> {
    let setting = |value: Option<f64>| value.map_or_else(dash, |value| value.to_string());
    let at = at(found);
    let mut cells = vec![
        words::name(capacity, found),
        setting(found.surely_holds),
        setting(found.holds),
        setting(found.surely_fails),
    ];
    for index in 0..capacity.objectives.len() {
        let reading = at.map(|tried| tried.readings[index]).unwrap_or_default();
        cells.push(reading.ms.map_or_else(dash, number));
        cells.push(interval(&reading));
    }
    let of = |value: fn(&Tried) -> f64| at.map_or_else(dash, |tried| number(value(tried)));
    cells.push(of(|tried| tried.throughput_rps));
    cells.push(of(|tried| tried.throughput_mb_s));
    cells.push(of(|tried| tried.utilisation * 100.0));
    cells
}

fn interval(reading: &Reading) -> String {
    match (reading.low_ms, reading.high_ms) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("from {}", number(low)),
        _ => dash(),
    }
}
