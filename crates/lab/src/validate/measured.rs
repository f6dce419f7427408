//! `measured.csv`: service times of a real drive against those of the complete model.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes ("An introduction to disk drive modeling", IEEE
//! Computer 1994): the root mean square of the horizontal distance between the two distributions.

use nearslot_core::contract::Drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::request::Op;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};
use serde::Serialize;

use super::folder::Folder;
use super::rows::{extent, operation};
use super::table::Table;
use super::{Check, Checks, Drives, Finding, RMS_RATIO_MAX, ValidateError};

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

pub(super) fn compare(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    let file = "measured.csv";
    let Some(table) = Table::read(&folder.path, file)? else {
        checks.absent(file);
        return Ok(());
    };
    let drive = &drives.real;
    let capacity = drive.mechanics().layout().capacity();
    let [op, lba, blocks] = table.columns(["op", "lba", "blocks"])?;
    let [measured, gap, reference] =
        table.columns(["measured_ms", "gap_to_next_ms", "reference_ms"])?;
    let (mut requests, mut real, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for row in table.rows() {
        let (at, len) = extent(&row, lba, blocks, capacity)?;
        requests.push(Replay {
            op: operation(&row, op)?,
            at,
            len,
            gap: Duration(row.ns(gap)?),
        });
        real.push(row.ns(measured)?);
        theirs.push(row.ns(reference)?);
    }
    let mut model = nearslot_core::contract::Blueprint::drive(drive);
    let ours = replay_measured(&mut *model, &requests);
    let ours: Vec<u64> = ours.iter().map(|time| time.0).collect();
    let found = Measured {
        measured_mean_ms: mean_ms(&real),
        reference_mean_ms: mean_ms(&theirs),
        mean_ms: mean_ms(&ours),
        reference_rms_ms: distance_ms(&theirs, &real),
        rms_ms: distance_ms(&ours, &real),
        to_reference_rms_ms: distance_ms(&ours, &theirs),
    };
    checks.checks.push(Check {
        file: file.to_owned(),
        what: "distribution of service times".to_owned(),
        compared: requests.len() as u64,
        // Only the complete model is to match a real drive.
        pass: None,
        finding: Finding::Measured(found),
        limit: format!("{RMS_RATIO_MAX} of the reference's distance"),
    });
    Ok(())
}

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
    fn the_distance_of_distributions_ignores_the_order() {
        let ms = |values: &[u64]| values.iter().map(|v| v * 1_000_000).collect::<Vec<_>>();
        assert!(distance_ms(&ms(&[1, 5, 3]), &ms(&[5, 3, 1])) < 1e-12);
        // Sorted 1, 3, 5 and 4, 3, 1: 0, 0, 1.
        let third = libm::sqrt(1.0 / 3.0);
        assert!((distance_ms(&ms(&[5, 1, 3]), &ms(&[1, 4, 3])) - third).abs() < 1e-12);
    }
}
