//! Standard output and files, with errors that name them.

use std::error::Error;
use std::io::{self, Write};

use nearslot_lab::report::OutputFile;
use serde_json::Value;

use crate::failure::Failure;

/// Writes to standard output. A reader that went away (`| head`) is no failure.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output, as [`print`] does.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Err(error) if has_no_reader(&error) => Ok(()),
        Err(error) => Err(Failure::Input(format!("standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Whether writing failed as the reader went away (`| head`), which is no failure.
pub(crate) fn has_no_reader(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Writes a value as indented JSON.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Saves a page, and tells where it is.
///
/// # Errors
/// It cannot be written.
pub(crate) fn save_page(file: OutputFile, page: &str) -> Result<(), Failure> {
    let told = format!("report: {}", file.path().display());
    file.save(|out| Ok(out.write_all(page.as_bytes())?))?;
    note(&told);
    Ok(())
}

/// Tells something on standard error.
pub(crate) fn note(text: &str) {
    // Nothing is left to tell anybody if standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}
