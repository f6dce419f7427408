//! `nearslot.capacity`: how much a drive can take before an objective fails.

use std::path::PathBuf;
use std::sync::Arc;

use nearslot_lab::capacity as search;
use nearslot_lab::capacity::{Capacity, Find, How};
use nearslot_lab::default_drive;
use nearslot_lab::given::Given;
use nearslot_lab::grid;
use nearslot_lab::objective::objectives;
use nearslot_lab::report::{self, OutputFile};
use nearslot_lab::run::check_jobs;
use nearslot_lab::scenario::Scenario;
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;
use pyo3::prelude::*;

use crate::aside::{Ended, aside};
use crate::failure::{Failure, encode};
use crate::reading::Reading;
use crate::simulate::{asked, load, name_frames};
use crate::target;

/// Finds the capacity of every choice.
///
/// Gives what was found, and what a signal's handler raised if one stopped it: then there is what
/// was found until then.
#[pyfunction]
#[pyo3(signature = (toml, *, directory, inputs, frames, given, vary, slo, find, resolution_percent, reading, jobs))]
#[expect(
    clippy::too_many_arguments,
    reason = "they are named where it is called"
)]
pub(crate) fn capacity(
    py: Python<'_>,
    toml: &str,
    directory: PathBuf,
    inputs: Vec<PathBuf>,
    frames: Vec<(String, String)>,
    given: Vec<(String, String)>,
    vary: Vec<(String, Vec<String>)>,
    slo: Vec<String>,
    find: Option<String>,
    resolution_percent: f64,
    reading: Reading,
    jobs: Option<usize>,
) -> PyResult<(Option<NativeCapacity>, Option<PyErr>)> {
    let scenario = Scenario::from_toml(toml, &directory).map_err(Failure::from)?;
    let find = match find {
        Some(word) => word.parse(),
        None => Find::of(&scenario),
    };
    let job = Job {
        reading: reading.options(scenario.seed).map_err(Failure::from)?,
        scenario,
        inputs,
        frames,
        given: asked(given, vary),
        how: How {
            objectives: objectives(&slo).map_err(Failure::from)?,
            find: find.map_err(Failure::from)?,
            resolution_percent,
            jobs,
        },
    };
    let control = Arc::new(Control::default());
    match aside(py, &control, move |control| job.run(control))? {
        Ended::Done(found) => Ok((Some(found?), None)),
        // The signal is what the user meant, whatever else went wrong.
        Ended::Stopped(raised, found) => Ok((found.and_then(Result::ok), Some(raised))),
    }
}

/// Everything a search needs to be told.
struct Job {
    scenario: Scenario,
    /// Files that were read to make the scenario.
    inputs: Vec<PathBuf>,
    /// Files that data frames were written to, and what results call them.
    frames: Vec<(String, String)>,
    given: Given,
    reading: OpenOptions,
    how: How,
}

impl Job {
    fn run(self, control: &Control) -> Result<NativeCapacity, Failure> {
        check_jobs(self.how.jobs)?;
        let points = self.given.points(&self.scenario)?;
        grid::check_effects(&self.scenario, &points)?;
        search::check(&points, &self.how)?;
        default_drive::check(&points)?;
        let mut inputs = self.inputs;
        for point in &points {
            inputs.extend(point.scenario.files()?);
        }
        inputs.sort();
        inputs.dedup();
        let trace = load(&self.scenario, &self.reading)?;
        let mut found = search::capacity(&points, trace.as_ref(), &self.how, control)?;
        let files = found.trace.iter_mut().flat_map(|trace| &mut trace.files);
        name_frames(files, &self.frames);
        Ok(NativeCapacity { found, inputs })
    }
}

/// What a search found.
#[pyclass(frozen, module = "nearslot._native")]
pub(crate) struct NativeCapacity {
    found: Capacity,
    /// The files that were read, which are never written.
    inputs: Vec<PathBuf>,
}

#[pymethods]
impl NativeCapacity {
    /// The JSON of the command.
    fn json(&self) -> PyResult<String> {
        encode(&self.found)
    }

    /// The text of the command.
    fn text(&self) -> String {
        self.found.to_string()
    }

    /// Writes the page.
    fn html(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let target = target("path", &path, &self.inputs, force)?;
        let page = report::figures_html(&search::figures(&self.found)).map_err(Failure::from)?;
        let file = OutputFile::create(&target).map_err(Failure::from)?;
        file.save(|out| Ok(out.write_all(page.as_bytes())?))
            .map_err(Failure::from)?;
        Ok(())
    }
}
