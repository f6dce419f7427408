//! Why a command ends without having done what it was asked, and the exit code that says so.

use nearslot_core::registry::ConfigError;
use nearslot_lab::report::{Refusal, ReportError};
use nearslot_trace::TraceError;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A check came out wrong: exit code 1.
    Check(String),
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// A file is unfit, or cannot be read or written: exit code 3.
    Input(String),
    /// Interrupted; what was finished has been written: exit code 4.
    Interrupted(String),
}

impl Failure {
    /// A configuration mistake that came from the command line.
    pub(crate) fn usage(error: ConfigError) -> Failure {
        Failure::Usage(error.to_string())
    }

    /// A configuration mistake that came from a file.
    pub(crate) fn file(path: &std::path::Path, error: &ConfigError) -> Failure {
        Failure::Input(format!("{}: {error}", path.display()))
    }

    /// A mistake about drives: of a drive's file, or of the command line.
    pub(crate) fn drive(error: &ConfigError) -> Failure {
        match error.of_file {
            true => Failure::Input(error.to_string()),
            false => Failure::Usage(error.to_string()),
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Check(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Input(_) => 3,
            Failure::Interrupted(_) => 4,
        }
    }

    /// What to tell the user.
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Check(text)
            | Failure::Usage(text)
            | Failure::Input(text)
            | Failure::Interrupted(text) => text,
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        match &error {
            ReportError::Refused { why, .. } if *why == Refusal::Exists => {
                Failure::Usage(format!("{error}, or replace it with --force"))
            }
            ReportError::Refused { .. }
            | ReportError::NothingToReplace
            | ReportError::NoParquet => Failure::Usage(error.to_string()),
            _ => Failure::Input(error.to_string()),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        match error {
            TraceError::Option { .. } | TraceError::Wrong { .. } | TraceError::Twice { .. } => {
                Failure::Usage(error.to_string())
            }
            _ => Failure::Input(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What scripts go by.
    #[test]
    fn each_kind_of_failure_has_its_exit_code() {
        let kinds = [
            Failure::Check,
            Failure::Usage,
            Failure::Input,
            Failure::Interrupted,
        ];
        let codes = kinds.map(|kind| kind("why".to_owned()).code());
        assert_eq!(codes, [1, 2, 3, 4]);
    }

    /// Whoever names an output that may not be written is wrong; one that cannot be written is no
    /// mistake of the command line.
    #[test]
    fn outputs_that_are_refused_are_mistakes_of_the_command_line() {
        let refused = |why| {
            Failure::from(ReportError::Refused {
                option: "--output".to_owned(),
                path: "found.json".into(),
                why,
            })
        };
        let exists = refused(Refusal::Exists);
        assert_eq!(exists.code(), 2);
        assert!(exists.message().ends_with("or replace it with --force"));
        let folder = refused(Refusal::Folder);
        assert_eq!(folder.code(), 2);
        assert!(!folder.message().contains("--force"));
        assert_eq!(Failure::from(ReportError::NoParquet).code(), 2);
        let full = std::io::Error::other("the disk is full");
        assert_eq!(Failure::from(ReportError::from(full)).code(), 3);
    }
}
