//! Miss ratios as a page: a curve for each cache, over its size.

use super::{HitRates, Row, Unit, text, words};
use crate::number::counted;
use crate::report::figures::{Answer, Axis, FIGURES_SCHEMA, Figure, Figures, Line, Panel, Table};

/// What the page shows.
pub fn figures(found: &HitRates) -> Figures {
    let facts = text::facts(found);
    let details = facts
        .into_iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let mut figures = vec![curve(found)];
    if found.counts_requests() {
        figures.push(Figure {
            name: "request-miss-ratio".to_owned(),
            question: "And of how many requests is a page missed?".to_owned(),
            panels: panels(found, |row| {
                (row.request_miss_ratio.unwrap_or_default(), None)
            }),
            ..curve(found)
        });
    }
    Figures {
        schema: FIGURES_SCHEMA,
        version: found.version.clone(),
        build: found.build.clone(),
        answer: Some(Answer {
            title: "Miss ratios".to_owned(),
            headline: found.headline.clone(),
            details: details.collect(),
            warnings: found.warnings.clone(),
            table: Some(table(found)),
        }),
        figures,
    }
}

/// A row for each cache, and a column for each size.
fn table(found: &HitRates) -> Table {
    let sizes = words::sizes(found);
    let head = |rows: &Vec<&Row>| [rows[0].size.clone(), counted(rows[0].lines, "line")];
    let first = ["cache".to_owned(), String::new()];
    let cells = |cache: &&str| {
        // An interruption may have left some out.
        let of = |rows: &Vec<&Row>| {
            let row = rows.iter().find(|row| row.cache == *cache);
            row.map_or_else(String::new, |row| text::ratio(row))
        };
        let ratios = sizes.iter().map(of);
        std::iter::once((*cache).to_owned()).chain(ratios).collect()
    };
    Table {
        heads: std::iter::once(first).chain(sizes.iter().map(head)).collect(),
        rows: caches(found).iter().map(cells).collect(),
        note: "Misses by all lines that were asked for, at each size; the first request for a line is always a miss."
            .to_owned(),
    }
}

/// Names of the caches, in the order in which they were asked for.
fn caches(found: &HitRates) -> Vec<&str> {
    let mut caches: Vec<&str> = found.rows.iter().map(|row| &*row.cache).collect();
    caches.dedup();
    caches
}

fn curve(found: &HitRates) -> Figure {
    Figure {
        name: "miss-ratio".to_owned(),
        question: "What does a larger cache miss less?".to_owned(),
        source: format!(
            "{} ({})",
            found.files.join(", "),
            counted(found.requests, "request")
        ),
        setup: "caches alone, so what is missed is there at once, whatever that costs".to_owned(),
        seeds: Vec::new(),
        x: Axis {
            label: "size of the cache".to_owned(),
            unit: match found.unit {
                Unit::Page(_) => "MiB".to_owned(),
                Unit::Request => "lines".to_owned(),
            },
            log: true,
            ticks: Vec::new(),
        },
        y: Axis {
            label: "misses".to_owned(),
            unit: "%".to_owned(),
            log: false,
            ticks: Vec::new(),
        },
        limit: None,
        panels_by: "trace".to_owned(),
        panels: panels(found, |row| (row.miss_ratio, row.off_by)),
        claims: Vec::new(),
    }
}

/// A miss ratio, and how far that of a sample may be off.
type RatioOf = fn(&Row) -> (f64, Option<f64>);

fn panels(found: &HitRates, of: RatioOf) -> Vec<Panel> {
    let caches = caches(found).into_iter();
    vec![Panel {
        name: found.format.clone(),
        lines: caches.map(|cache| line(found, cache, of)).collect(),
    }]
}

fn line(found: &HitRates, cache: &str, of: RatioOf) -> Line {
    let scale = match found.unit {
        Unit::Page(bytes) => bytes as f64 / f64::from(1 << 20),
        Unit::Request => 1.0,
    };
    let mut rows: Vec<&Row> = found.rows.iter().filter(|row| row.cache == cache).collect();
    rows.sort_by_key(|row| row.lines);
    // Sizes that are as many lines are one place.
    rows.dedup_by_key(|row| row.lines);
    let end = |sign: f64| {
        let end = |row: &&Row| {
            let (ratio, off_by) = of(row);
            Some(100.0 * (ratio + sign * off_by?).clamp(0.0, 1.0))
        };
        rows.iter().map(end).collect()
    };
    Line {
        label: cache.to_owned(),
        x: rows.iter().map(|row| row.lines as f64 * scale).collect(),
        y: rows.iter().map(|row| 100.0 * of(row).0).collect(),
        low: end(-1.0),
        high: end(1.0),
    }
}
