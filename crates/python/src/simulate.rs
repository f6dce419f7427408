//! `nearslot.run` and `nearslot.compare`: a grid of runs in one call.

use std::path::PathBuf;
use std::sync::Arc;

use nearslot_lab::default_drive;
use nearslot_lab::given::Given;
use nearslot_lab::grid::{self, Vary};
use nearslot_lab::inspect::Inspection;
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::outcome::Results;
use nearslot_lab::overload::Overload;
use nearslot_lab::report::{self, Format, OutputFile, Outputs};
use nearslot_lab::run::{self, Wanted, check_jobs};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tempfile::TempDir;

use crate::aside::{Ended, aside};
use crate::failure::{Failure, encode};
use crate::reading::Reading;
use crate::stream::{self, Rows};
use crate::target;

/// Runs every combination of `vary` over a scenario.
///
/// Gives the outcome, and what a signal's handler raised if one stopped it: then the outcome has
/// the runs that were finished, or is `None` if none could be handed over.
#[pyfunction]
#[pyo3(signature = (toml, *, directory, inputs, frames, given, vary, baseline, overload, piece, reading, jobs, series, requests, commands))]
#[expect(
    clippy::too_many_arguments,
    reason = "they are named where it is called"
)]
pub(crate) fn simulate(
    py: Python<'_>,
    toml: &str,
    directory: PathBuf,
    inputs: Vec<PathBuf>,
    frames: Vec<(String, String)>,
    given: Vec<(String, String)>,
    vary: Vec<(String, Vec<String>)>,
    baseline: Option<String>,
    overload: &str,
    piece: bool,
    reading: Reading,
    jobs: Option<usize>,
    series: bool,
    requests: bool,
    commands: bool,
) -> PyResult<(Option<Outcome>, Option<PyErr>)> {
    let scenario = Scenario::from_toml(toml, &directory).map_err(Failure::from)?;
    let job = Job {
        how: reading.options(scenario.seed).map_err(Failure::from)?,
        scenario,
        inputs,
        frames,
        given: asked(given, vary),
        baseline,
        overload: overload.parse().map_err(Failure::from)?,
        piece,
        jobs,
        series,
        requests,
        commands,
    };
    let control = Arc::new(Control::default());
    match aside(py, &control, move |control| job.run(control))? {
        Ended::Done(outcome) => Ok((Some(outcome?), None)),
        // The signal is what the user meant, whatever else went wrong.
        Ended::Stopped(raised, outcome) => Ok((outcome.and_then(Result::ok), Some(raised))),
    }
}

/// Checks that every setting of a grid has an effect on it.
#[pyfunction]
#[pyo3(signature = (toml, *, directory, given, vary))]
pub(crate) fn check_grid(
    toml: &str,
    directory: PathBuf,
    given: Vec<(String, String)>,
    vary: Vec<(String, Vec<String>)>,
) -> PyResult<()> {
    let scenario = Scenario::from_toml(toml, &directory).map_err(Failure::from)?;
    let given = asked(given, vary);
    let points = given.points(&scenario).map_err(Failure::from)?;
    grid::check_effects(&scenario, &points).map_err(Failure::from)?;
    Ok(())
}

/// Keywords with one value, and keys that are varied.
pub(crate) fn asked(once: Vec<(String, String)>, vary: Vec<(String, Vec<String>)>) -> Given {
    let vary = vary.into_iter();
    let vary = vary.map(|(key, values)| Vary { key, values }).collect();
    Given { once, vary }
}

/// Everything a grid needs to be told.
struct Job {
    scenario: Scenario,
    /// Files that were read to make the scenario.
    inputs: Vec<PathBuf>,
    /// Files that data frames were written to, and what results call them.
    frames: Vec<(String, String)>,
    given: Given,
    baseline: Option<String>,
    overload: Overload,
    /// Whether this is a piece of a larger grid, which [`check_grid`] has seen as a whole.
    piece: bool,
    how: OpenOptions,
    jobs: Option<usize>,
    series: bool,
    requests: bool,
    commands: bool,
}

impl Job {
    fn run(self, control: &Control) -> Result<Outcome, Failure> {
        check_jobs(self.jobs)?;
        let mut points = self.given.points(&self.scenario)?;
        grid::baseline(&points, self.baseline.as_deref())?;
        match self.piece {
            true => grid::label_in_full(&mut points),
            false => grid::check_effects(&self.scenario, &points)?,
        }
        // A wrong name is found before a long trace is read.
        default_drive::check(&points)?;
        let mut inputs = self.inputs.clone();
        for point in &points {
            inputs.extend(point.scenario.files()?);
        }
        inputs.sort();
        inputs.dedup();
        let trace = load(&self.scenario, &self.how)?;
        let folder = (self.requests || self.commands)
            .then(TempDir::new)
            .transpose();
        let folder =
            folder.map_err(|error| Failure::Input(format!("temporary folder: {error}")))?;
        let files = folder.as_ref();
        let mut outputs = Outputs::new(false);
        let mut rows = |wanted: bool, name: &str, path: fn(&TempDir) -> PathBuf| {
            let file = files.filter(|_| wanted).map(path);
            file.map(|file| outputs.add_rows(name, &file)).transpose()
        };
        let wanted = Wanted {
            series: self.series,
            baseline: self.baseline.clone(),
            overload: self.overload,
            jobs: self.jobs,
            requests: rows(self.requests, "requests", stream::requests_file)?,
            commands: rows(self.commands, "commands", stream::commands_file)?,
            fit_alike: !self.piece,
            ..Wanted::default()
        };
        let mut results = run::compare(&points, trace.as_ref(), &wanted, control)?;
        let files = results.trace.iter_mut().flat_map(|trace| &mut trace.files);
        name_frames(files, &self.frames);
        let inspection = match &trace {
            Some(trace) if self.series => Some(run::inspect(&points, trace)?),
            _ => None,
        };
        Ok(Outcome {
            results,
            inspection,
            inputs: Arc::from(inputs),
            rows: (self.requests, self.commands),
            folder: folder.map(Arc::new),
        })
    }
}

/// Says of data frames that they were some, and not in which temporary files they lay.
pub(crate) fn name_frames<'a>(
    files: impl Iterator<Item = &'a mut String>,
    frames: &[(String, String)],
) {
    for file in files {
        if let Some((_, frame)) = frames.iter().find(|(written, _)| written == file) {
            file.clone_from(frame);
        }
    }
}

/// The trace of a scenario, if it has one.
pub(crate) fn load(scenario: &Scenario, how: &OpenOptions) -> Result<Option<LoadedTrace>, Failure> {
    let Load::Trace(load) = &scenario.load else {
        return Ok(None);
    };
    let how = load.opened(how.clone())?;
    Ok(Some(LoadedTrace::read(&load.files, &how)?))
}

/// What a grid found.
#[pyclass(frozen, module = "nearslot._native")]
pub(crate) struct Outcome {
    results: Results,
    /// What its trace is, if plots are wanted.
    inspection: Option<Inspection>,
    /// The files that were read, which are never written.
    inputs: Arc<[PathBuf]>,
    /// Whether rows of requests and of commands were wanted.
    rows: (bool, bool),
    /// Where they lie.
    folder: Option<Arc<TempDir>>,
}

#[pymethods]
impl Outcome {
    /// The JSON of the command; with `series`, also what plots need.
    fn json(&self, series: bool) -> PyResult<String> {
        if series {
            return encode(&self.results);
        }
        let mut bytes = Vec::new();
        report::write(&self.results, Format::Json, &mut bytes).map_err(Failure::from)?;
        Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
    }

    /// The table of the command, `width` characters wide if that is given.
    fn table(&self, width: Option<u16>) -> String {
        report::table(&self.results, width)
    }

    /// Writes the page.
    fn html(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let target = target("path", &path, &self.inputs, force)?;
        let page = report::html(&self.results, self.inspection.as_ref()).map_err(Failure::from)?;
        let file = OutputFile::create(&target).map_err(Failure::from)?;
        file.save(|out| Ok(out.write_all(page.as_bytes())?))
            .map_err(Failure::from)?;
        Ok(())
    }

    /// One row a run, as an Arrow stream.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batch = report::record_batch(&self.results).map_err(Failure::from)?;
        stream::of_batch(py, batch)
    }

    /// One row a request, if they were wanted.
    fn requests(&self) -> Option<Rows> {
        let folder = self.folder.clone().filter(|_| self.rows.0)?;
        Some(Rows::new(
            stream::requests_file(&folder),
            folder,
            Arc::clone(&self.inputs),
        ))
    }

    /// One row a command of a drive, if they were wanted.
    fn commands(&self) -> Option<Rows> {
        let folder = self.folder.clone().filter(|_| self.rows.1)?;
        Some(Rows::new(
            stream::commands_file(&folder),
            folder,
            Arc::clone(&self.inputs),
        ))
    }
}
