//! Holds the disk model against a folder of reference timings, made with DiskSim 4.0 or measured on a drive.
//!
//! | Expected file | What is compared | Limit |
//! |---|---|---|
//! | `layout_*.csv` | every row: cylinder, head, sector, angle, blocks of the track | all equal |
//! | `fcfs_*.csv` and the scheduled ones | every row from its recorded state: seek, rotation, transfer, completion | [`ROW_US_MAX`], but for the time that skipped sectors take to pass |
//! | `fcfs_*.csv` | mean response with the clock running freely | [`FREE_MEAN_MAX`] |
//! | `look_…`, `clook_…`, `sstf_…`, `sptf_…` | every choice from the recorded state, by the registered schedulers | all equal; SPTF [`SPTF_EQUAL_MIN`], ties within rounding counted |
//! | `summary.csv` | mean response of closed loads with the clock running freely | [`FREE_MEAN_MAX`], SPTF [`SPTF_MEAN_MAX`] |
//! | `measured.csv` | distribution of service times on the real drive | [`RMS_RATIO_MAX`] times the reference's own distance |
//!
//! A file that a folder does not have is reported as absent and decides nothing. Any drive in that layout will do.

use std::path::Path;

use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::registry::ConfigError;
use serde::Serialize;

mod choices;
mod electronics;
mod folder;
mod free;
mod layout;
mod measured;
mod mechanics;
mod rows;
mod table;
mod text;

pub use choices::Choices;
pub use free::FreeRunning;
pub use layout::Layouts;
pub use measured::{Measured, Replay, replay_measured};
pub use mechanics::{Differences, Rows};

use folder::Folder;

/// How far a row may be off, in microseconds.
pub const ROW_US_MAX: f64 = 5.0;
/// Times that differ by no more are the same within the reference's own rounding, in microseconds.
pub const TIE_US: f64 = 0.1;
/// How many of ten thousand rows may catch or miss a sector that begins just as the heads get there.
pub const EDGE_ROWS_MAX: u64 = 2;
/// How far the mean response of a first-come run may be off, relatively.
pub const FREE_MEAN_MAX: f64 = 0.002;
/// The same under SPTF: one choice that rounding decides otherwise changes all later ones.
pub const SPTF_MEAN_MAX: f64 = 0.02;
/// How many of SPTF's choices must be equal: ties within the reference's rounding are decided otherwise.
pub const SPTF_EQUAL_MIN: f64 = 0.99;
/// How far from a real drive the complete model may be, in distances of the reference's complete model.
pub const RMS_RATIO_MAX: f64 = 1.25;

/// Why a folder could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// A file that every folder must have is not there.
    #[error("{folder} has no {file}; a drive's folder has drive.csv, zones.csv and seek_curve.csv")]
    Missing {
        /// The folder.
        folder: String,
        /// What it lacks.
        file: String,
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
    #[error("drive.csv, parameter `{name}`: `{value}` (allowed: {allowed})")]
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
    /// The drive's model.
    pub drive: String,
    /// The folder.
    pub folder: String,
    /// What was compared, in the order of the table above.
    pub checks: Vec<Check>,
    /// Expected files that the folder does not have.
    pub absent: Vec<String>,
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
    /// Whether it is within the limit; `None` if it is shown for information only.
    pub pass: Option<bool>,
}

/// What came out of a comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Where blocks lie.
    Layout(Layouts),
    /// What requests cost from their recorded states.
    Rows(Rows),
    /// Which request goes next.
    Choices(Choices),
    /// The mean with the clock running freely.
    FreeRunning(FreeRunning),
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
}

/// Compares everything that a folder in the layout of the reference tables has.
///
/// # Errors
/// The folder does not describe a drive, or one of its files is malformed. Differences are no errors.
pub fn disksim(dir: &Path) -> Result<Validation, ValidateError> {
    let folder = Folder::read(dir)?;
    let drives = Drives::of(&folder)?;
    let mut checks = Checks::default();
    layout::compare(&folder, &drives, &mut checks)?;
    mechanics::compare(&folder, &drives, &mut checks)?;
    choices::compare(&folder, &drives, &mut checks)?;
    free::compare(&folder, &drives, &mut checks)?;
    measured::compare(&folder, &mut checks)?;
    let Checks { checks, absent } = checks;
    let decided = checks.iter().filter_map(|check| check.pass);
    Ok(Validation {
        drive: folder.model,
        folder: folder.path.display().to_string(),
        pass: decided.clone().count() > 0 && decided.clone().all(|pass| pass),
        checks,
        absent,
    })
}
