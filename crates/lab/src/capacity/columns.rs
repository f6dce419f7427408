//! The table of a capacity, a row for each choice, as text and page both show it.

use super::names;
use super::words::{from, to};
use super::{Capacity, Find, Reached, Reading, Tried, Word};
use crate::number::{in_percent, number};
use crate::report::facts::dash;

/// What each column holds, and in what unit, or another word for it.
pub(super) fn heads(capacity: &Capacity) -> Vec<[String; 2]> {
    let find = capacity.find;
    let head = |name: &str, unit: &str| [name.to_owned(), unit.to_owned()];
    let mut heads = vec![
        head("choice", ""),
        head("surely", to(find)),
        head("holds", to(find)),
        head("surely fails", from(find)),
    ];
    for objective in &capacity.objectives {
        let text = objective.to_string();
        let (what, _) = text.split_once(" <").unwrap_or((&text, ""));
        heads.push(head(what, "ms"));
        heads.push(head("95 % interval", "ms"));
    }
    heads.extend([
        head("rate", "req/s"),
        head("rate", "MB/s"),
        head("busy", "%"),
    ]);
    if any_failed(capacity) {
        heads.push(head("failed", "requests"));
    }
    heads.push(head("limited", "by"));
    if ranked(capacity) {
        heads.push(head("against", "best"));
    }
    heads
}

/// Whether requests failed at a setting that is shown.
fn any_failed(capacity: &Capacity) -> bool {
    let mut shown = capacity.choices.iter().filter_map(Reached::shown);
    shown.any(|tried| tried.failed > 0)
}

fn ranked(capacity: &Capacity) -> bool {
    capacity.choices.len() > 1 && capacity.best.is_some()
}

/// A row for each choice.
pub(super) fn rows(capacity: &Capacity) -> Vec<Vec<String>> {
    let rows = capacity.choices.iter().enumerate();
    let row = |(index, found): (usize, &Reached)| {
        let mut cells = row(capacity, found);
        if ranked(capacity) {
            cells.push(match found.against_best.map(|against| against.word) {
                _ if capacity.best == Some(index) => "best".to_owned(),
                Some(Word::Less) if capacity.find == Find::Drives => "more drives".to_owned(),
                Some(Word::Less) => "less".to_owned(),
                Some(Word::Same) => "same".to_owned(),
                Some(Word::Undecided) => "undecided".to_owned(),
                None => dash(),
            });
        }
        cells
    };
    rows.map(row).collect()
}

fn row(capacity: &Capacity, found: &Reached) -> Vec<String> {
    let setting = |value: Option<f64>| value.map_or_else(dash, |value| value.to_string());
    let at = found.shown();
    let mut cells = vec![
        names::name(capacity, found),
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
    cells.push(at.map_or_else(dash, |tried| in_percent(tried.utilisation)));
    if any_failed(capacity) {
        cells.push(at.map_or_else(dash, |tried| tried.failed.to_string()));
    }
    let by = found.limit.as_ref().map(|limit| limit.by.word().to_owned());
    cells.push(by.unwrap_or_else(dash));
    cells
}

fn interval(reading: &Reading) -> String {
    match (reading.low_ms, reading.high_ms) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("from {}", number(low)),
        _ => dash(),
    }
}
