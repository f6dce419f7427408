//! How results leave the laboratory: a table for people, JSON, CSV and Parquet for programs, one
//! page for the eyes.
//!
//! Nothing is computed here. Every number is a field of [`Results`]; this module chooses, names and
//! arranges them. [`columns`] is the one list of what a run has, and the table, CSV and Parquet are
//! three ways of printing it, so that a value has the same name everywhere. Every form carries
//! version, seed, configuration, trace hash and mode. Cost: linear in the runs (and in the points
//! of their series for the page); requests and commands are streamed, see [`RowsWriter`].

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::outcome::Results;

mod columns;
#[cfg(feature = "parquet")]
mod commands;
mod csv;
pub(crate) mod facts;
pub mod figures;
mod file;
pub(crate) mod flat;
mod groups;
mod hosts;
mod html;
#[cfg(not(feature = "parquet"))]
mod no_rows;
mod outputs;
#[cfg(feature = "parquet")]
mod parquet;
mod profile;
#[cfg(feature = "parquet")]
mod requests;
#[cfg(feature = "parquet")]
mod rows;
mod table;
mod traced;

#[cfg(feature = "parquet")]
pub use commands::{CommandLane, CommandRows};
pub use figures::{Figures, figures_html};
pub use file::{OutputFile, SharedOutput};
pub use html::{CUT_MARK, html, inspection_html};
#[cfg(not(feature = "parquet"))]
pub use no_rows::{CommandLane, CommandRows, Lane, LaneFile, RequestRows, RowsWriter};
pub use outputs::{Outputs, Refusal, Target};
#[cfg(feature = "parquet")]
pub use parquet::record_batch;
#[cfg(feature = "parquet")]
pub use requests::RequestRows;
#[cfg(feature = "parquet")]
pub use rows::{Lane, LaneFile, Rows, RowsWriter};
pub use table::table;

/// A form of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people; as wide as the terminal.
    Table,
    /// [`Results`] without series, as `schema/results.schema.json` describes it.
    Json,
    /// One row a run, flat columns.
    Csv,
    /// The columns of [`Format::Csv`], typed.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Table, Format::Json, Format::Csv, Format::Parquet];

    /// As the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }
}

impl Format {
    /// The form of a summary: as it is called, else as the name of its file ends; a table if that
    /// has no ending.
    ///
    /// # Errors
    /// There is no such form, this build leaves it out, or the name of the file ends as that of
    /// none.
    pub fn told(word: Option<&str>, file: Option<&Path>) -> Result<Format, ReportError> {
        match Format::meant(word, file)? {
            Format::Parquet if cfg!(not(feature = "parquet")) => Err(ReportError::NoParquet),
            format => Ok(format),
        }
    }

    fn meant(word: Option<&str>, file: Option<&Path>) -> Result<Format, ReportError> {
        if let Some(word) = word {
            return word.parse();
        }
        let ending = file.and_then(|file| Some(file.extension()?.to_str()?.to_ascii_lowercase()));
        let unknown = || ReportError::Ending(file.unwrap_or(Path::new("")).to_owned());
        match ending.as_deref() {
            Some("txt") => Ok(Format::Table),
            Some(ending) => ending.parse().map_err(|_| unknown()),
            None => Ok(Format::Table),
        }
    }
}

impl FromStr for Format {
    type Err = ReportError;

    fn from_str(word: &str) -> Result<Format, ReportError> {
        // Commands that have no more than a text and JSON call the table a text.
        let word_meant = if word == "text" { "table" } else { word };
        let named = Format::ALL
            .into_iter()
            .find(|format| format.name() == word_meant);
        named.ok_or_else(|| ReportError::Format(word.to_owned()))
    }
}

/// Why a report could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No such form.
    #[error("format = {0:?} is not one of table, json, csv, parquet")]
    Format(String),
    /// A build without Parquet is to write it.
    #[error(
        "this build of nearslot leaves Parquet out, which summaries, and rows of requests and commands, are written in; `make build` makes one that has it"
    )]
    NoParquet,
    /// The summary is to go into a file whose name ends as that of no form of it, such as a page.
    #[error(
        "--output = {} (allowed: a name that ends in .txt, .json, .csv or .parquet, or any with --format; --html writes a page)",
        .0.display()
    )]
    Ending(PathBuf),
    /// A result that is infinite or not a number; JSON has no word for it.
    #[error("{key} of run {label:?} is {value}, which is not a finite number")]
    NotFinite {
        /// Label of the run.
        label: String,
        /// Name of the column or series.
        key: String,
        /// What it is.
        value: f64,
    },
    /// The ranking names a run that is not there.
    #[error("the ranking names run {run} ({label:?}), but there are {runs} runs")]
    NoSuchRun {
        /// Index in the ranking.
        run: usize,
        /// Label in the ranking.
        label: String,
        /// How many runs there are.
        runs: usize,
    },
    /// A file may not be written: something would be lost.
    #[error("{option} {}: {why}", path.display())]
    Refused {
        /// The option that names it.
        option: String,
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: Refusal,
    },
    /// Files may be replaced, and no file is written.
    #[error("--force replaces a file that is there, and no option names a file to write")]
    NothingToReplace,
    /// A file could not be written, such as on a full disk.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The same for an output that has no name here, such as standard output.
    #[error("cannot write the results: {0}")]
    Write(#[from] io::Error),
    /// Results that no encoder takes.
    #[error("cannot encode the results: {0}")]
    Encode(String),
}

impl ReportError {
    /// The same failure, with the file that it happened to.
    #[must_use]
    pub(crate) fn at(self, path: &Path) -> ReportError {
        match self {
            ReportError::Write(source) => ReportError::File {
                path: path.to_owned(),
                source,
            },
            other => other,
        }
    }
}

impl From<serde_json::Error> for ReportError {
    fn from(error: serde_json::Error) -> ReportError {
        if error.is_io() {
            ReportError::Write(error.into())
        } else {
            ReportError::Encode(error.to_string())
        }
    }
}

/// Writes the summary to `out`; the table as wide as the terminal that standard output is, if it is
/// one.
///
/// # Errors
/// Results that are not finite or do not fit together, and what `out` answers.
pub fn write(results: &Results, format: Format, out: &mut dyn Write) -> Result<(), ReportError> {
    check(results)?;
    match format {
        Format::Table => out.write_all(table(results, table::terminal_width()).as_bytes())?,
        Format::Json => json(results, out)?,
        Format::Csv => write_csv(&columns::table(results), out)?,
        Format::Parquet => {
            write_parquet(&columns::table(results), &columns::pairs(results)?, out)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Writes a table as CSV.
///
/// # Errors
/// What `out` answers.
pub(crate) fn write_csv(table: &flat::Flat, out: &mut dyn Write) -> Result<(), ReportError> {
    csv::write(table, out)
}

/// Writes a table as Parquet, with these key-values of the whole file.
///
/// # Errors
/// What `out` answers; a build without Parquet.
#[cfg(feature = "parquet")]
pub(crate) fn write_parquet(
    table: &flat::Flat,
    pairs: &[(&str, String)],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    Ok(out.write_all(&parquet::encode(table, pairs)?)?)
}

/// Says that this build leaves Parquet out.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub(crate) fn write_parquet(
    _: &flat::Flat,
    _: &[(&str, String)],
    _: &mut dyn Write,
) -> Result<(), ReportError> {
    Err(ReportError::NoParquet)
}

/// Writes the summary to a file, which appears only when it is complete.
///
/// # Errors
/// As [`write`], with the file named.
pub fn save(results: &Results, format: Format, file: OutputFile) -> Result<(), ReportError> {
    file.save(|out| match format {
        // A file is as wide as it likes.
        Format::Table => {
            check(results)?;
            Ok(out.write_all(table(results, None).as_bytes())?)
        }
        _ => write(results, format, out),
    })
}

/// Plain JSON leaves the series out: they are for the plots, and large.
fn json(results: &Results, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut plain = results.clone();
    plain.runs.iter_mut().for_each(|run| run.series = None);
    serde_json::to_writer_pretty(&mut *out, &plain)?;
    Ok(out.write_all(b"\n")?)
}

/// What must hold of results before any form is made of them.
fn check(results: &Results) -> Result<(), ReportError> {
    let rankings = results.verdict.rankings.iter();
    for rank in rankings.flat_map(|ranking| &ranking.ranks) {
        if rank.run >= results.runs.len() {
            return Err(ReportError::NoSuchRun {
                run: rank.run,
                label: rank.choice.clone(),
                runs: results.runs.len(),
            });
        }
    }
    let (columns, ranked) = (columns::all(), columns::Ranked::of(results));
    for (index, run) in results.runs.iter().enumerate() {
        for column in &columns {
            let value = column.value(&ranked, index);
            if let flat::Value::Measure(value) = value
                && !value.is_finite()
            {
                return Err(ReportError::NotFinite {
                    label: run.label.clone(),
                    key: column.name.clone(),
                    value,
                });
            }
        }
    }
    Ok(())
}
