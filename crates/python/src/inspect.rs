//! `nearslot.inspect`: one pass over a trace, as JSON.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nearslot_core::drive;
use nearslot_core::registry::ConfigError;
use nearslot_core::units::Blocks;
use nearslot_lab::inspect::{Against, Inspection, Inspector};
use nearslot_lab::scenario::drive_text;
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;
use pyo3::prelude::*;

use crate::aside::{Ended, aside};
use crate::failure::{Failure, encode};
use crate::reading::Opening;

/// Inspects a trace; the JSON is that of `nearslot inspect --format json`.
#[pyfunction]
#[pyo3(signature = (opening, *, drive))]
pub(crate) fn inspect(py: Python<'_>, opening: Opening, drive: Option<String>) -> PyResult<String> {
    let how = opening.options().map_err(Failure::from)?;
    let drive = drive.map(capacity).transpose().map_err(Failure::from)?;
    let control = Arc::new(Control::default());
    match aside(py, &control, move |control| {
        look(&opening.files, &how, drive, control)
    })? {
        Ended::Done(found) => encode(&found?),
        Ended::Stopped(raised, _) => Err(raised),
    }
}

/// A drive's name with its capacity.
fn capacity(name: String) -> Result<(String, Blocks), ConfigError> {
    let (blueprint, _) = drive::read(&name, &drive_text(&name)?, &[])?;
    Ok((name, blueprint.capacity()))
}

/// What was seen until the end, or until a stop.
fn look(
    files: &[PathBuf],
    how: &OpenOptions,
    drive: Option<(String, Blocks)>,
    control: &Control,
) -> Result<Inspection, Failure> {
    let mut reader = nearslot_trace::open(files, how)?;
    let mut inspector = Inspector::with_pictures(Against { drive });
    let mut batch = Vec::new();
    while !control.stop.load(Ordering::Relaxed) && reader.next_batch(&mut batch)? {
        inspector.record(&batch);
    }
    Ok(inspector.finish(reader.header()))
}
