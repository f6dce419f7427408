//! The times of a block over the bus, where the parameters leave them open: fitted to every second
//! row.
//!
//! Two fits answer two questions. The one to the measured times says which bus the measured host
//! had; the other half of the rows says how good the model is with it. The one to the reference's
//! times says which bus the reference was given; with that, the other half must agree request by
//! request.

use std::sync::Arc;

use nearslot_core::drive::hdd::Mechanics;

use super::electronics::Electronics;
use super::measured_rows::{Rows, distance_ms};

/// What a bus is fitted to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The distribution of the measured times.
    Real,
    /// The reference's times, request by request.
    Reference,
}

/// Whether a row, counted from 0, is one that is fitted on.
pub(super) fn fits_on(row: usize) -> bool {
    row.is_multiple_of(2)
}

/// Finds the times of a block over the bus: first as if both ways were alike, then each, then each
/// more finely.
pub(super) fn fit(
    rows: &Rows,
    mechanics: &Arc<Mechanics>,
    electronics: &Electronics,
    target: Target,
) -> Electronics {
    let with = |read_ms: f64, write_ms: f64| {
        let mut fitted = electronics.clone();
        fitted.bus.read_ms_per_block = read_ms;
        fitted.bus.write_ms_per_block = write_ms;
        fitted
    };
    let apart = |read_ms: f64, write_ms: f64| {
        apart(
            rows,
            &rows.replay(mechanics, &with(read_ms, write_ms)),
            target,
        )
    };
    let both = least(0.0, BLOCK_MS_MAX, |ms| apart(ms, ms));
    let (mut read, mut write) = (both, both);
    for (low, high) in [(0.5, 2.0), (0.98, 1.02)] {
        write = least(low * write, high * write, |ms| apart(read, ms));
        read = least(low * read, high * read, |ms| apart(ms, write));
    }
    with(read, write)
}

/// How far the rows that are fitted on are from the target.
fn apart(rows: &Rows, ours: &[u64], target: Target) -> f64 {
    let of = |times: &[u64]| -> Vec<u64> { times.iter().copied().step_by(2).collect() };
    let ours = of(ours);
    match target {
        Target::Real => distance_ms(&ours, &of(&rows.real)),
        // Absolute values, so that the few rows that are a revolution apart do not decide.
        Target::Reference => {
            let pairs = ours.iter().zip(of(&rows.reference));
            pairs.map(|(a, b)| a.abs_diff(b) as f64).sum()
        }
    }
}

/// The slowest bus that is looked for: half a megabyte a second.
const BLOCK_MS_MAX: f64 = 1.0;

/// Where between `low` and `high` a function with one valley is least, to a ten-thousandth of the
/// way.
fn least(low: f64, high: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    let (mut low, mut high, mut best) = (low, high, (f64::INFINITY, low));
    for _ in 0..4 {
        let step = (high - low) / 20.0;
        for index in 0..=20 {
            let at = low + step * f64::from(index);
            let found = value(at);
            if found < best.0 {
                best = (found, at);
            }
        }
        (low, high) = ((best.1 - step).max(low), (best.1 + step).min(high));
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_value_is_found_between_and_at_the_ends() {
        assert!((least(0.0, 1.0, |x| (x - 0.17345) * (x - 0.17345)) - 0.17345).abs() < 1e-4);
        assert!(least(0.0, 1.0, |x| x).abs() < 1e-12);
        assert!((least(0.0, 1.0, |x| -x) - 1.0).abs() < 1e-12);
    }
}
