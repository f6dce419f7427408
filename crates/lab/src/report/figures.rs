//! Figures: lines with their confidence cylinders on the page, beside the claims that were decided
//! on them, or below the answer that they show.
//!
//! Published figures are repeated by experiments in Python; this is the form in which they hand
//! over what is to be shown, and in which a capacity (`capacity/figure.rs`) is. The page is the one
//! of [`html`](super::html()), with these data in place of results. `web/fixtures/figures.json` is
//! a sample.

use serde::{Deserialize, Serialize};

use super::ReportError;
use super::html::page;
use crate::warning::Warning;

/// Version of the layout; grows when a key changes its meaning or goes away.
pub const FIGURES_SCHEMA: u32 = 3;

/// What one page shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// [`FIGURES_SCHEMA`].
    pub schema: u32,
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot: the commit that it was compiled from, `-changed` behind it if the
    /// source differed, or `unknown`.
    pub build: String,
    /// What the page says above the figures; claims are counted there if it says nothing.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// In the order of the page.
    pub figures: Vec<Figure>,
}

/// An answer that figures are there to show.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What it is an answer of, such as `Capacity`.
    pub title: String,
    /// The answer in a sentence.
    pub headline: String,
    /// What else there is to say.
    pub details: Vec<String>,
    /// What to know before believing it.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The numbers behind it.
    #[serde(default)]
    pub table: Option<Table>,
}

/// A table of what is ready to be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What each column holds, and in what unit.
    pub heads: Vec<[String; 2]>,
    /// As many cells each as there are heads.
    pub rows: Vec<Vec<String>>,
    /// How to read it.
    pub note: String,
}

/// One figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Of the experiment, on the command line.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// Where it was published.
    pub source: String,
    /// What all of its runs have in common, in words.
    pub setup: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// What is drawn to the right.
    pub x: Axis,
    /// What is drawn upwards, from 0.
    pub y: Axis,
    /// What must not be reached, drawn as a line over the whole width.
    #[serde(default)]
    pub limit: Option<f64>,
    /// What tells the panels apart, such as `overhead of a request`.
    pub panels_by: String,
    /// One is seen at a time; the last at first.
    pub panels: Vec<Panel>,
    /// What was published and whether it holds; none if it shows no claims.
    pub claims: Vec<Claim>,
}

/// An axis of a figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// In what; empty for a plain number.
    pub unit: String,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Where it has ticks; empty for round numbers.
    pub ticks: Vec<f64>,
}

/// Lines that are seen together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// As the reader chooses it.
    pub name: String,
    /// One a scheduler.
    pub lines: Vec<Line>,
}

/// A line through means, with the cylinder in which they lie.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is of.
    pub label: String,
    /// Rising.
    pub x: Vec<f64>,
    /// Mean over seeds.
    pub y: Vec<f64>,
    /// Lower end of its 95 % interval; `None` if there is none.
    pub low: Vec<Option<f64>>,
    /// Upper end.
    pub high: Vec<Option<f64>>,
}

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The interval of what was found lies inside of the gate.
    #[serde(rename = "holds")]
    Holds,
    /// It lies outside.
    #[serde(rename = "does not hold")]
    Fails,
    /// It straddles the gate, or a part could not be tested.
    #[serde(rename = "undecided")]
    Undecided,
    /// These runs cannot tell.
    #[serde(rename = "not testable")]
    Untestable,
}

/// A statement and its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name in the list of claims.
    pub id: String,
    /// Where it comes from, such as `published with a number`.
    pub kind: String,
    /// What is claimed.
    pub statement: String,
    /// The published number, or where it stands.
    pub published: String,
    /// Over what it was decided.
    pub range: String,
    /// What was found outside of that.
    pub outside: String,
    /// What was found.
    pub found: String,
    /// What became of it; `None` if it is for information.
    pub verdict: Option<Verdict>,
    /// Whether coarse and short runs decided it, so that it may change.
    pub provisional: bool,
    /// What it would be under other conditions.
    pub note: String,
}

#[derive(Serialize)]
struct Payload<'a> {
    figures: &'a Figures,
}

/// The figures as a self-contained HTML file.
///
/// # Errors
/// Another layout, lines or a limit that are not finite, lines whose lists differ in length, or a
/// table whose rows do.
pub fn figures_html(figures: &Figures) -> Result<String, ReportError> {
    if figures.schema != FIGURES_SCHEMA {
        return Err(ReportError::Encode(format!(
            "the figures have layout {}, this version writes layout {FIGURES_SCHEMA}",
            figures.schema
        )));
    }
    if let Some(table) = figures
        .answer
        .as_ref()
        .and_then(|answer| answer.table.as_ref())
    {
        even(table)?;
    }
    for figure in &figures.figures {
        if let Some(value) = figure.limit.filter(|limit| !limit.is_finite()) {
            return Err(ReportError::NotFinite {
                label: "limit".to_owned(),
                key: format!("figure {}", figure.name),
                value,
            });
        }
        for line in figure.panels.iter().flat_map(|panel| &panel.lines) {
            check(&figure.name, line)?;
        }
    }
    page(&Payload { figures })
}

fn even(table: &Table) -> Result<(), ReportError> {
    let wanted = table.heads.len();
    let mut rows = table.rows.iter().enumerate();
    match rows.find(|(_, row)| row.len() != wanted) {
        None => Ok(()),
        Some((index, row)) => Err(ReportError::Encode(format!(
            "row {} of the table has {} cells, not {wanted}",
            index + 1,
            row.len()
        ))),
    }
}

fn check(figure: &str, line: &Line) -> Result<(), ReportError> {
    let lengths = [line.y.len(), line.low.len(), line.high.len()];
    if lengths.iter().any(|len| *len != line.x.len()) {
        return Err(ReportError::Encode(format!(
            "the lists of line {:?} of figure {figure} differ in length",
            line.label
        )));
    }
    let ends = line.low.iter().chain(&line.high).flatten();
    let mut all = line.x.iter().chain(&line.y).chain(ends);
    match all.find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(value) => Err(ReportError::NotFinite {
            label: line.label.clone(),
            key: format!("figure {figure}"),
            value: *value,
        }),
    }
}
