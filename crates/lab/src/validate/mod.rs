//! Holds the disk model against a folder of reference timings, made with DiskSim 4.0 or measured on
//! a drive.
//!
//! | Expected file | What is compared | Limit |
//! |---|---|---|
//! | `layout_*.csv` | every row: cylinder, head, sector, angle, blocks of the track | all equal; the borders of all zones listed |
//! | `fcfs_*.csv` and the scheduled ones | whether the rows fit the trace, each other and the clock | all rows; none missing |
//! | the same | every row from its recorded state: seek, rotation, transfer, completion | [`ROW_US_MAX`], [`LONG_ROW_US_MAX`] for longer requests, but for the time that skipped sectors take to pass |
//! | `look_…`, `clook_…`, `sstf_…`, `sptf_…` | every choice from the recorded state, by the registered schedulers | all equal; SPTF [`SPTF_EQUAL_MIN`], ties within rounding counted |
//! | `fcfs_*.csv` | mean response with the clock running freely, and the same with the platters in step | [`FREE_MEAN_MAX`] and [`STEP_MEAN_MAX`] |
//! | `summary.csv` | every statistic of every row, with the clock running freely and against the rows of its result file | see [`Statistics`] |
//! | `measured.csv` | service times against the real drive's, as distributions and request by request, and against the reference's | see [`Measured`] |
//!
//! A file that a folder does not have is reported as absent and decides nothing. Any drive in that
//! layout will do. Every column of every file is read; one that is not known is an error. What is
//! compared at all has at least [`ROWS_MIN`] rows.

use std::path::Path;

use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::registry::ConfigError;
use serde::Serialize;

mod bus;
mod choices;
mod closed;
mod electronics;
mod folder;
mod free;
mod layout;
mod measured;
mod measured_rows;
mod mechanics;
mod rows;
mod statistics;
mod summary;
mod table;
mod text;
mod timeline;

pub use choices::Choices;
pub use free::FreeRunning;
pub use layout::Layouts;
pub use measured::{
    AS_REFERENCE_MIN, CORRELATION_MIN, MEASURED_MEAN_MAX, MEASURED_ROWS_MIN, Measured,
    OUTCOMES_MIN, RMS_MEAN_MAX, RMS_RATIO_MAX,
};
pub use measured_rows::{Replay, replay_measured};
pub use mechanics::{Differences, Rows};
pub use statistics::Statistics;
pub use summary::{Loads, Summary};
pub use timeline::Timeline;

use folder::Folder;

use crate::program;

/// How few rows decide nothing: a file with fewer does not pass.
pub const ROWS_MIN: u64 = 100;
/// How far a row of at most [`SHORT_BLOCKS`] may be off, in microseconds.
pub const ROW_US_MAX: f64 = 0.2;
/// The same for longer requests: the reference rounds the time of every sector.
pub const LONG_ROW_US_MAX: f64 = 2.0;
/// Blocks of a request that counts as short: 4 KiB.
pub const SHORT_BLOCKS: u64 = 8;
/// Times that differ by no more are the same within the reference's own rounding, in microseconds.
pub const TIE_US: f64 = 0.1;
/// How many of ten thousand rows may catch or miss a sector that begins just as the heads get
/// there.
pub const EDGE_ROWS_MAX: u64 = 2;
/// How far the mean response of a first-come run may be off, relatively.
pub const FREE_MEAN_MAX: f64 = 0.002;
/// The same once our platter keeps in step with the reference's.
pub const STEP_MEAN_MAX: f64 = 0.0002;
/// How many of SPTF's choices must be equal: ties within the reference's rounding are decided
/// otherwise.
pub const SPTF_EQUAL_MIN: f64 = 0.999;

/// Why a folder could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// A file that is needed is not there.
    #[error("{folder} has no {file}; {needed}")]
    Missing {
        /// The folder.
        folder: String,
        /// What it lacks.
        file: String,
        /// What needs it.
        needed: String,
    },
    /// A file cannot be read or is not a table.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A table lacks a column.
    #[error("{file} has no column `{column}`{nearest}")]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The nearest one it has, in words.
        nearest: String,
    },
    /// A table has a column that nothing reads.
    #[error("{file} has a column `{column}` that is not known, or has it twice (known: {known})")]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Those that are known.
        known: String,
    },
    /// A cell is not what it must be.
    #[error("{file}, line {line}, column `{column}`: `{value}` is not {allowed}")]
    Cell {
        /// The file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// The column.
        column: String,
        /// What it holds.
        value: String,
        /// What it must be.
        allowed: String,
    },
    /// A row of `drive.csv` is missing or not what it must be.
    #[error("parameter `{name}`: `{value}` (allowed: {allowed})")]
    Parameter {
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
        /// What it must be.
        allowed: String,
    },
    /// The parameters contradict each other.
    #[error("{folder}: {error}")]
    Drive {
        /// The folder.
        folder: String,
        /// What is wrong.
        error: ConfigError,
    },
}

impl ValidateError {
    fn unreadable(file: &str, reason: &dyn std::fmt::Display) -> ValidateError {
        ValidateError::Unreadable {
            file: file.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// Everything that was compared.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot: the commit that it was compiled from, `-changed` behind it if the
    /// source differed, or `unknown`.
    pub build: String,
    /// The drive's model.
    pub drive: String,
    /// The folder.
    pub folder: String,
    /// What was compared, in the order of the table above.
    pub checks: Vec<Check>,
    /// Expected files that the folder does not have.
    pub absent: Vec<String>,
    /// Tables in the folder that are not known, and so not compared.
    pub unknown: Vec<String>,
    /// Whether something was compared and nothing is beyond its limit.
    pub pass: bool,
}

/// One comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The expected file.
    pub file: String,
    /// What of it.
    pub what: String,
    /// Rows compared.
    pub compared: u64,
    /// What came out.
    pub finding: Finding,
    /// What is allowed, in words.
    pub limit: String,
    /// What is beyond its limit, with what was reached; empty if all is within.
    pub wrong: Vec<String>,
    /// Whether all is within its limit.
    pub pass: bool,
}

/// What came out of a comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Where blocks lie.
    Layout(Layouts),
    /// Whether rows fit the trace, each other and the clock.
    Timeline(Timeline),
    /// What requests cost from their recorded states.
    Rows(Rows),
    /// Which request goes next.
    Choices(Choices),
    /// The mean with the clock running freely.
    FreeRunning(FreeRunning),
    /// Statistics of a run as the summary gives them.
    Summary(Summary),
    /// Whether the summary has a row for every load.
    Loads(Loads),
    /// Distances to what was measured on the real drive.
    Measured(Measured),
}

/// The two layouts of a folder's drive, purely mechanical.
struct Drives {
    ideal: HddBlueprint,
    real: HddBlueprint,
}

impl Drives {
    fn of(folder: &Folder) -> Result<Drives, ValidateError> {
        let build = |parameters| {
            HddBlueprint::mechanical(parameters).map_err(|error| ValidateError::Drive {
                folder: folder.path.display().to_string(),
                error,
            })
        };
        Ok(Drives {
            ideal: build(&folder.ideal)?,
            real: build(&folder.real)?,
        })
    }

    /// By the word that file names end with.
    fn named(&self, layout: &str) -> &HddBlueprint {
        match layout {
            "ideal" => &self.ideal,
            _ => &self.real,
        }
    }
}

/// Collects comparisons, and files that are absent.
#[derive(Default)]
struct Checks {
    checks: Vec<Check>,
    absent: Vec<String>,
}

impl Checks {
    fn absent(&mut self, file: &str) {
        self.absent.push(file.to_owned());
    }

    /// Notes a comparison. It passes if nothing is wrong and there were rows enough.
    fn add(&mut self, check: Check) {
        let mut check = check;
        if check.compared < ROWS_MIN {
            let few = format!("{} rows; at least {ROWS_MIN} decide", check.compared);
            check.wrong.push(few);
        }
        check.pass = check.wrong.is_empty();
        self.checks.push(check);
    }
}

/// Compares everything that a folder in the layout of the reference tables has.
///
/// # Errors
/// The folder does not describe a drive, or one of its files is malformed. Differences are no
/// errors.
pub fn disksim(dir: &Path) -> Result<Validation, ValidateError> {
    let folder = Folder::read(dir)?;
    let drives = Drives::of(&folder)?;
    let mut checks = Checks::default();
    layout::compare(&folder, &drives, &mut checks)?;
    let runs = rows::read_runs(&folder, &drives, &mut checks)?;
    timeline::compare(&runs, &drives, &mut checks);
    mechanics::compare(&runs, &drives, &mut checks);
    choices::compare(&runs, &drives, &mut checks);
    free::compare(&runs, &drives, &mut checks);
    summary::compare(&folder, &drives, &runs, &mut checks)?;
    measured::compare(&folder, &mut checks)?;
    let Checks { checks, absent } = checks;
    Ok(Validation {
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        pass: !checks.is_empty() && checks.iter().all(|check| check.pass),
        unknown: folder.unknown_tables(&rows::file_names().collect::<Vec<_>>())?,
        drive: folder.model,
        folder: folder.path.display().to_string(),
        checks,
        absent,
    })
}

impl Validation {
    /// What is beyond its limit, each with its file; or that nothing was compared.
    pub fn failures(&self) -> Vec<String> {
        if self.checks.is_empty() {
            return vec!["the folder has no file to compare with".to_owned()];
        }
        let of = |check: &Check| {
            let named = format!("{} ({})", check.file, check.what);
            let each = move |wrong: &String| format!("{named}: {wrong}");
            check.wrong.iter().map(each).collect::<Vec<_>>()
        };
        self.checks.iter().flat_map(of).collect()
    }
}
