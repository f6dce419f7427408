//! # nearslot for Python, the native part
//!
//! Thin: scenarios come in as TOML, results go out as JSON and Arrow. What a user sees is
//! `python/nearslot`, which gives both their types; nothing outside that package calls this one.
//! Work on traces and runs happens on a thread of its own with the interpreter's lock released (see
//! [`aside`]), and nothing loops over requests in Python.

mod aside;
mod capacity;
mod failure;
mod hitrate;
mod inspect;
mod reading;
mod simulate;
mod skiplog;
mod stream;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nearslot_lab::report::{self, Figures, OutputFile, Outputs, Target};
use nearslot_lab::scenario::Scenario;
use pyo3::prelude::*;

use failure::{Failure, encode};

/// Native part of nearslot; private to the package.
#[pymodule]
mod _native {
    use nearslot_lab::program;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::capacity::{NativeCapacity, capacity};
    #[pymodule_export]
    use crate::hitrate::{hitrate, hitrate_html};
    #[pymodule_export]
    use crate::inspect::inspect;
    #[pymodule_export]
    use crate::simulate::{Outcome, check_grid, simulate};
    #[pymodule_export]
    use crate::skiplog::{rehearse_log, skip_profile};
    #[pymodule_export]
    use crate::stream::Rows;
    #[pymodule_export]
    use crate::{check_output, figures_html, list_json, main, scenario_json, show_json};

    #[pymodule_export]
    #[expect(
        non_upper_case_globals,
        reason = "it is an attribute of a Python module"
    )]
    const __version__: &str = program::VERSION;
    #[pymodule_export]
    #[expect(
        non_upper_case_globals,
        reason = "it is an attribute of a Python module"
    )]
    const __build__: &str = nearslot_cli::BUILD;

    /// Says which program this is before anything runs.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        program::is_built_from(nearslot_cli::BUILD);
        module.add("is_committed", program::is_committed(nearslot_cli::BUILD))
    }
}

/// A scenario file's text, checked, with all defaults, as JSON. Relative paths are relative to
/// `directory`.
#[pyfunction]
fn scenario_json(toml: &str, directory: PathBuf) -> PyResult<String> {
    let scenario = Scenario::from_toml(toml, &directory).map_err(Failure::from)?;
    encode(&scenario.spelled_out())
}

/// The parts of a kind, or of all kinds, as JSON.
#[pyfunction]
fn list_json(kind: Option<&str>) -> PyResult<String> {
    encode(&nearslot_cli::list_json(kind).map_err(Failure::from)?)
}

/// One part as JSON.
#[pyfunction]
fn show_json(name: &str) -> PyResult<String> {
    encode(&nearslot_cli::show_json(name).map_err(Failure::from)?)
}

/// Refuses a file that is read, and one that exists unless `force` says that it may be replaced.
#[pyfunction]
fn check_output(name: &str, path: PathBuf, inputs: Vec<PathBuf>, force: bool) -> PyResult<()> {
    target(name, &path, &inputs, force)?;
    Ok(())
}

/// Where to write, if nothing is lost by it.
fn target(name: &str, path: &Path, inputs: &[PathBuf], force: bool) -> Result<Target, Failure> {
    let mut outputs = Outputs::new(force);
    for input in inputs {
        outputs.reads(input);
    }
    Ok(outputs.add(name, path)?)
}

/// Writes figures, given as JSON, as a self-contained page.
#[pyfunction]
fn figures_html(json: &str, path: PathBuf, force: bool) -> PyResult<()> {
    let figures: Figures = serde_json::from_str(json)
        .map_err(|error| Failure::Input(format!("the figures cannot be read: {error}")))?;
    Ok(save_figures(&figures, &path, force)?)
}

fn save_figures(figures: &Figures, path: &Path, force: bool) -> Result<(), Failure> {
    let page = report::figures_html(figures)?;
    let file = OutputFile::create(&target("path", path, &[], force)?)?;
    file.save(|out| Ok(out.write_all(page.as_bytes())?))?;
    Ok(())
}

/// The command; gives its exit code. Signals are the command's own business.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| nearslot_cli::run(args))
}
