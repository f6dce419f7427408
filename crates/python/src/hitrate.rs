//! `nearslot.hitrate`: what caches would miss of a trace, as JSON, and its page.

use std::path::PathBuf;
use std::sync::Arc;

use nearslot_core::registry::ConfigError;
use nearslot_lab::hitrate::{HitRates, Told, Which, figures, hit_rates};
use nearslot_lab::sim::Control;
use pyo3::prelude::*;

use crate::aside::{Ended, aside};
use crate::failure::{Failure, encode};
use crate::reading::Opening;
use crate::save_figures;

/// Miss ratios of a trace; the JSON is that of `nearslot hitrate --format json`.
#[pyfunction]
#[pyo3(signature = (opening, *, caches, sizes, unit, count, sample, seed, per_request))]
#[expect(
    clippy::too_many_arguments,
    reason = "they are named where it is called"
)]
pub(crate) fn hitrate(
    py: Python<'_>,
    opening: Opening,
    caches: Vec<String>,
    sizes: Option<Vec<String>>,
    unit: String,
    count: String,
    sample: Option<String>,
    seed: u64,
    per_request: bool,
) -> PyResult<String> {
    let how = opening.options().map_err(Failure::from)?;
    let told = Told {
        caches: &caches,
        sizes: sizes.as_deref(),
        curve: false,
        unit: &unit,
        which: which(&count).map_err(Failure::from)?,
        sample: sample.as_deref(),
        seed,
        per_request,
    };
    let question = told.question().map_err(Failure::from)?;
    let control = Arc::new(Control::default());
    match aside(py, &control, move |control| {
        hit_rates(&opening.files, &how, &question, control)
    })? {
        Ended::Done(found) => encode(&found.map_err(Failure::from)?),
        Ended::Stopped(raised, _) => Err(raised),
    }
}

fn which(word: &str) -> Result<Which, ConfigError> {
    match word {
        "all" => Ok(Which::All),
        "reads" => Ok(Which::Reads),
        _ => Err(ConfigError::value("count", word, "all or reads")),
    }
}

/// Writes the page of miss ratios, given as JSON.
#[pyfunction]
#[pyo3(signature = (json, *, path, force))]
pub(crate) fn hitrate_html(json: &str, path: PathBuf, force: bool) -> PyResult<()> {
    let found: HitRates = serde_json::from_str(json)
        .map_err(|error| Failure::Input(format!("the miss ratios cannot be read: {error}")))?;
    Ok(save_figures(&figures(&found), &path, force)?)
}
