//! Why a run has no result.

use nearslot_core::registry::ConfigError;
use nearslot_trace::TraceError;

use crate::report::ReportError;
use crate::workload::WorkloadError;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace does not fit the drive.
    #[error("{0}")]
    Unfit(ConfigError),
    /// Of a run no read or write was measured.
    #[error("{label}: {why}")]
    NothingMeasured {
        /// Which run.
        label: String,
        /// How many there were, and how many failed.
        why: String,
    },
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace became unreadable in mid-run.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// More or fewer requests came out than went in: a fault of nearslot.
    #[error("{label}: {arrived} requests arrived, {replied} were answered, {pending} are pending")]
    Conservation {
        /// Which run.
        label: String,
        /// In.
        arrived: u64,
        /// Out.
        replied: u64,
        /// Still there.
        pending: u64,
    },
    /// A long load offers clearly more than the drives can do.
    #[error("{0}")]
    Overload(String),
    /// A load does not tell whether an objective holds.
    #[error("{0}")]
    Objective(String),
    /// It was told to stop before there was anything to keep.
    #[error("interrupted, and nothing is written: {0}")]
    Stopped(String),
    /// A file could not be written, or no threads could be started.
    #[error("{0}")]
    Output(String),
}

impl From<ReportError> for RunError {
    fn from(error: ReportError) -> RunError {
        RunError::Output(error.to_string())
    }
}
