//! A log that skips, for the study of range writes: its table, and a rehearsal of power cuts.

use nearslot_core::config::PartConfig;
use nearslot_core::drive;
use nearslot_core::registry::ConfigError;
use nearslot_core::units::Duration;
use nearslot_lab::scenario::drive_text;
use nearslot_lab::skiplog::rehearsal::rehearse;
use nearslot_lab::skiplog::{Grid, Profile};
use pyo3::prelude::*;

use crate::failure::Failure;

/// The costs of a table in nanoseconds, by think time and then by skip.
#[pyfunction]
#[pyo3(signature = (drive, *, first, blocks, think_step_us, thinks, skip_step, skips, repeats))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn skip_profile(
    py: Python<'_>,
    drive: String,
    first: u64,
    blocks: u64,
    think_step_us: u64,
    thinks: u64,
    skip_step: u64,
    skips: u64,
    repeats: u64,
) -> PyResult<Vec<u64>> {
    let grid = Grid {
        think_step: Duration::from_us(think_step_us),
        thinks,
        skip_step,
        skips,
        repeats,
    };
    let measured = py.detach(move || measured(&drive, (first, blocks), grid));
    Ok(measured.map_err(Failure::from)?)
}

fn measured(drive: &str, (first, blocks): (u64, u64), grid: Grid) -> Result<Vec<u64>, ConfigError> {
    let part: PartConfig = drive.parse()?;
    let text = drive_text(&part.name)?;
    let (blueprint, _) = drive::read(&part.name, &text, &part.knobs)?;
    let capacity = blueprint.capacity().0;
    let end = first.saturating_add(blocks);
    if end > capacity || blocks < grid.reach() {
        let allowed = format!(
            "at least {} and within the {capacity} blocks of the drive",
            grid.reach()
        );
        return Err(ConfigError::value("blocks", &blocks.to_string(), &allowed));
    }
    let profile = Profile::measure(&*blueprint, first..end, grid, true, &|| true)
        .expect("nobody gives it up");
    Ok(profile.costs().to_vec())
}

/// Instants at which the power went in a rehearsal of a log, blocks lost, torn writes, and scans
/// that found something else than the first.
#[pyfunction]
pub(crate) fn rehearse_log(seed: u64, steps: u64) -> (u64, u64, u64, u64) {
    let found = rehearse(seed, steps);
    (found.instants, found.lost, found.torn, found.changed)
}
