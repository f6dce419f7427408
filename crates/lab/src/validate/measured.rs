//! `measured.csv`: service times of a real drive against those of the complete model.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes ("An introduction to disk drive modeling", IEEE
//! Computer 1994): the root mean square of the horizontal distance between the two distributions.
//!
//! Some drives leave the rate of the bus open, which then was that of the measured host. It is fitted here: the two
//! times of a block, to and from the drive, that bring the distributions closest.

use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::firmware::{BusParameters, Firmware};
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::request::Op;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};
use serde::Serialize;

use super::electronics::Electronics;
use super::folder::Folder;
use super::rows::{extent, operation};
use super::table::Table;
use super::{Check, Checks, Finding, RMS_RATIO_MAX, ValidateError};

/// How far the complete model is from the real drive.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Mean service time on the real drive, in milliseconds.
    pub measured_mean_ms: f64,
    /// Of the reference's complete model.
    pub reference_mean_ms: f64,
    /// Of ours.
    pub mean_ms: f64,
    /// Distance of the reference's distribution from the measured one, in milliseconds.
    pub reference_rms_ms: f64,
    /// Distance of ours.
    pub rms_ms: f64,
    /// Distance of our distribution from the reference's.
    pub to_reference_rms_ms: f64,
    /// Requests that take as long as with the reference, to 10 us.
    pub as_reference: u64,
    /// Time of a block from the drive over the bus, if it was fitted to the measured times.
    pub fitted_read_ms_per_block: Option<f64>,
    /// The same to the drive.
    pub fitted_write_ms_per_block: Option<f64>,
}

/// A request of a measured trace: the next is issued `gap` after the completion of this one.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    /// Read or write.
    pub op: Op,
    /// First block.
    pub at: Pba,
    /// Length.
    pub len: Blocks,
    /// From the completion of this one to the issue of the next.
    pub gap: Duration,
}

/// Issues requests one at a time, each its predecessor's gap after that one's completion; their service times.
pub fn replay_measured(drive: &mut dyn Drive, requests: &[Replay]) -> Vec<Duration> {
    let mut now = Instant::ZERO;
    let mut service = Vec::with_capacity(requests.len());
    for request in requests {
        let command = Command {
            io: IoId(0),
            op: request.op,
            at: request.at,
            len: request.len,
        };
        // What the drive does by itself in the gap.
        while drive.next_event().is_some_and(|due| due <= now) {
            let done = drive.advance(now);
            assert!(done.is_none(), "an idle drive completed {done:?}");
        }
        drive.submit(now, &command);
        let ended = loop {
            let due = drive.next_event().expect("a command is under way");
            if drive.advance(due).is_some() {
                break due;
            }
        };
        service.push(ended.since(now));
        now = ended + request.gap;
    }
    service
}

/// What was measured, row by row.
struct Rows {
    requests: Vec<Replay>,
    /// Service times on the real drive and of the reference, in nanoseconds.
    real: Vec<u64>,
    reference: Vec<u64>,
}

impl Rows {
    fn read(table: &Table, capacity: Blocks) -> Result<Rows, ValidateError> {
        let [op, lba, blocks] = table.columns(["op", "lba", "blocks"])?;
        let [measured, gap, reference] =
            table.columns(["measured_ms", "gap_to_next_ms", "reference_ms"])?;
        let mut rows = Rows {
            requests: Vec::new(),
            real: Vec::new(),
            reference: Vec::new(),
        };
        for row in table.rows() {
            let (at, len) = extent(&row, lba, blocks, capacity)?;
            rows.requests.push(Replay {
                op: operation(&row, op)?,
                at,
                len,
                gap: Duration(row.ns(gap)?),
            });
            rows.real.push(row.ns(measured)?);
            rows.reference.push(row.ns(reference)?);
        }
        Ok(rows)
    }

    /// Service times of the complete model, in nanoseconds.
    fn replay(&self, mechanics: &Arc<Mechanics>, electronics: &Electronics) -> Vec<u64> {
        let Electronics {
            buffer,
            bus,
            overheads,
        } = electronics;
        let firmware =
            Firmware::new(buffer, bus, overheads).expect("checked, but for a fitted bus");
        let blueprint = HddBlueprint::complete(Arc::clone(mechanics), Arc::new(firmware));
        let times = replay_measured(&mut *blueprint.drive(), &self.requests);
        times.iter().map(|time| time.0).collect()
    }

    /// Finds the times of a block over the bus: first as if both ways were alike, then each.
    fn fit_bus(&self, mechanics: &Arc<Mechanics>, electronics: &mut Electronics) {
        let distance = |bus: BusParameters, electronics: &Electronics| {
            let fitted = Electronics {
                bus,
                ..electronics.clone()
            };
            distance_ms(&self.replay(mechanics, &fitted), &self.real)
        };
        let set =
            |bus: &BusParameters, read_ms: Option<f64>, write_ms: Option<f64>| BusParameters {
                read_ms_per_block: read_ms.unwrap_or(bus.read_ms_per_block),
                write_ms_per_block: write_ms.unwrap_or(bus.write_ms_per_block),
                ..bus.clone()
            };
        let bus = electronics.bus.clone();
        let both = least(0.0, BLOCK_MS_MAX, |ms| {
            distance(set(&bus, Some(ms), Some(ms)), electronics)
        });
        let bus = set(&bus, Some(both), Some(both));
        let write = least(0.5 * both, 2.0 * both, |ms| {
            distance(set(&bus, None, Some(ms)), electronics)
        });
        let bus = set(&bus, None, Some(write));
        let read = least(0.8 * both, 1.25 * both, |ms| {
            distance(set(&bus, Some(ms), None), electronics)
        });
        electronics.bus = set(&bus, Some(read), None);
    }
}

/// The slowest bus that is looked for: half a megabyte a second.
const BLOCK_MS_MAX: f64 = 1.0;

/// Where between `low` and `high` a function with one valley is least, to a ten-thousandth of the way.
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

pub(super) fn compare(folder: &Folder, checks: &mut Checks) -> Result<(), ValidateError> {
    let file = "measured.csv";
    let Some(table) = Table::read(&folder.path, file)? else {
        checks.absent(file);
        return Ok(());
    };
    let Some(mut electronics) = folder.electronics.clone() else {
        checks.absent("rows `full:` of drive.csv, without which measured.csv cannot be compared");
        return Ok(());
    };
    let mechanics = Arc::new(Mechanics::new(&folder.real).map_err(|error| folder.config(error))?);
    electronics.check().map_err(|error| folder.config(error))?;
    let rows = Rows::read(&table, mechanics.layout().capacity())?;
    let fitted = electronics.bus_is_unknown();
    if fitted {
        rows.fit_bus(&mechanics, &mut electronics);
    }
    let ours = rows.replay(&mechanics, &electronics);
    let pairs = || ours.iter().zip(&rows.reference);
    let found = Measured {
        measured_mean_ms: mean_ms(&rows.real),
        reference_mean_ms: mean_ms(&rows.reference),
        mean_ms: mean_ms(&ours),
        reference_rms_ms: distance_ms(&rows.reference, &rows.real),
        rms_ms: distance_ms(&ours, &rows.real),
        to_reference_rms_ms: distance_ms(&ours, &rows.reference),
        as_reference: pairs().filter(|(a, b)| a.abs_diff(**b) <= SAME_NS).count() as u64,
        fitted_read_ms_per_block: fitted.then_some(electronics.bus.read_ms_per_block),
        fitted_write_ms_per_block: fitted.then_some(electronics.bus.write_ms_per_block),
    };
    checks.checks.push(Check {
        file: file.to_owned(),
        what: "distribution of service times".to_owned(),
        compared: rows.requests.len() as u64,
        pass: Some(found.rms_ms <= RMS_RATIO_MAX * found.reference_rms_ms),
        finding: Finding::Measured(found),
        limit: format!("{RMS_RATIO_MAX} of the reference's distance"),
    });
    Ok(())
}

/// Two times that differ by less are the same, but for the reference's rounding.
const SAME_NS: u64 = 10_000;

fn mean_ms(ns: &[u64]) -> f64 {
    ns.iter().sum::<u64>() as f64 / ns.len() as f64 / 1e6
}

/// Root mean square of the distance between two distributions of equally many values.
fn distance_ms(a: &[u64], b: &[u64]) -> f64 {
    let sorted = |list: &[u64]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    let squares = sorted(a).into_iter().zip(sorted(b)).map(|(a, b)| {
        let apart = a.abs_diff(b) as f64 / 1e6;
        apart * apart
    });
    libm::sqrt(squares.sum::<f64>() / a.len() as f64)
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

    #[test]
    fn the_distance_of_distributions_ignores_the_order() {
        let ms = |values: &[u64]| values.iter().map(|v| v * 1_000_000).collect::<Vec<_>>();
        assert!(distance_ms(&ms(&[1, 5, 3]), &ms(&[5, 3, 1])) < 1e-12);
        // Sorted 1, 3, 5 and 4, 3, 1: 0, 0, 1.
        let third = libm::sqrt(1.0 / 3.0);
        assert!((distance_ms(&ms(&[5, 1, 3]), &ms(&[1, 4, 3])) - third).abs() < 1e-12);
    }
}
