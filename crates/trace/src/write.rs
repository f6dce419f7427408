//! The formats in which traces can be written.

use nearslot_core::registry::ConfigError;

#[cfg(feature = "parquet")]
use super::parquet;
use super::writer::WriteFormat;
use super::{blktrace, fio};

/// Every format that can be written.
pub static WRITERS: &[&WriteFormat] = &[
    &blktrace::WRITE_FORMAT,
    #[cfg(feature = "parquet")]
    &parquet::WRITE_FORMAT,
    &fio::WRITE_FORMAT,
];

/// The format called `name`.
///
/// # Errors
/// There is none; names all.
pub fn writer(name: &str) -> Result<&'static WriteFormat, ConfigError> {
    let found = WRITERS.iter().find(|format| format.name == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = WRITERS.iter().map(|format| format.name).collect();
        ConfigError::unknown("format to write", name, &names)
    })
}
