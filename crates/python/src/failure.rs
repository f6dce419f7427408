//! From the laboratory's errors to the package's: `nearslot.errors` mirrors the kinds that the
//! command has exit codes for.

use nearslot_core::registry::ConfigError;
use nearslot_lab::report::{Refusal, ReportError};
use nearslot_lab::run::RunError;
use nearslot_trace::TraceError;
use pyo3::prelude::*;

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The scenario or an argument is wrong.
    Config(ConfigError),
    /// A file is unfit, or cannot be read or written.
    Input(String),
    /// A check came out wrong: a fault of nearslot.
    Check(String),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        match error.of_file {
            true => Failure::Input(error.to_string()),
            false => Failure::Config(error),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        match error {
            TraceError::Option { option, path, what } => {
                let value = format!("(no effect on {path})");
                Failure::Config(ConfigError::value(option, &value, &what))
            }
            TraceError::Twice { path, other } => {
                let allowed = format!("each file once; it is the same file as {other}");
                Failure::Config(ConfigError::value("files", &path, &allowed))
            }
            _ => Failure::Input(error.to_string()),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        match error {
            ReportError::Refused { option, path, why } => Failure::Config(ConfigError::value(
                &option,
                &path.display().to_string(),
                &allowed(&why),
            )),
            _ => Failure::Input(error.to_string()),
        }
    }
}

/// What may be written in place of what was refused.
fn allowed(why: &Refusal) -> String {
    match why {
        Refusal::Input(name) => format!("a file that is not read; this is {name}"),
        Refusal::Output(name) => format!("a file that no other output writes; {name} writes this"),
        Refusal::Exists => "a file that does not exist yet, or force=True".to_owned(),
        Refusal::Folder => "a file; this is a folder".to_owned(),
        Refusal::Disk => "a file; this is a block device".to_owned(),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Config(error) => Failure::from(error),
            RunError::Unfit(error) => Failure::Input(error.to_string()),
            RunError::Conservation { .. } => Failure::Check(error.to_string()),
            RunError::NothingMeasured { .. }
            | RunError::Trace(_)
            | RunError::Workload(_)
            | RunError::Overload(_)
            | RunError::Objective(_)
            | RunError::Stopped(_)
            | RunError::Output(_) => Failure::Input(error.to_string()),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| {
            let made = py
                .import("nearslot.errors")
                .and_then(|errors| match &failure {
                    Failure::Config(error) => errors.getattr("ConfigError")?.call1((
                        error.to_string(),
                        &error.key,
                        error.value.as_deref(),
                        &error.allowed,
                        error.nearest.as_deref(),
                    )),
                    Failure::Input(text) => errors.getattr("InputError")?.call1((text,)),
                    Failure::Check(text) => errors.getattr("CheckError")?.call1((text,)),
                });
            made.map_or_else(|broken| broken, PyErr::from_value)
        })
    }
}

/// Results as JSON.
///
/// # Errors
/// A number that JSON has no word for.
pub(crate) fn encode(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| Failure::Check(error.to_string()).into())
}
