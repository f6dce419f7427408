//! The rows of a table of measured service times, and how long their requests take on a modelled
//! drive.

use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::firmware::Firmware;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::ValidateError;
use super::electronics::Electronics;
use super::rows::{extent, operation};
use super::table::Table;
use crate::alone;
use crate::measure::demerit::demerit;

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

/// Issues requests one at a time, each its predecessor's gap after that one's completion; their
/// service times.
pub fn replay_measured(drive: &mut dyn Drive, requests: &[Replay]) -> Vec<Duration> {
    let mut now = Instant::ZERO;
    let mut service = Vec::with_capacity(requests.len());
    for request in requests {
        let command = Command {
            io: IoId(0),
            op: request.op,
            at: request.at,
            len: request.len,
            fua: false,
        };
        let (ended, _) = alone::serve(drive, now, &command, |_| 1);
        service.push(ended.since(now));
        now = ended + request.gap;
    }
    service
}

/// What was measured, row by row.
pub(super) struct Rows {
    pub(super) requests: Vec<Replay>,
    /// Service times on the real drive and of the reference, in nanoseconds.
    pub(super) real: Vec<u64>,
    pub(super) reference: Vec<u64>,
    /// Whether the drive's buffer had the blocks of a read, where the table says so.
    pub(super) hits: Vec<Option<bool>>,
}

impl Rows {
    pub(super) fn read(table: &Table, capacity: Blocks) -> Result<Rows, ValidateError> {
        let [op, lba, blocks] = table.columns(["op", "lba", "blocks"])?;
        let [measured, gap, reference] =
            table.columns(["measured_ms", "gap_to_next_ms", "reference_ms"])?;
        let (sequence, outcome) = (table.optional("seq"), table.optional("drive_cache_outcome"));
        table.check_all_read()?;
        let mut rows = Rows {
            requests: Vec::new(),
            real: Vec::new(),
            reference: Vec::new(),
            hits: Vec::new(),
        };
        let mut pauses = 0;
        for row in table.rows() {
            let (at, len) = extent(&row, lba, blocks, capacity)?;
            let op = operation(&row, op)?;
            let number = rows.requests.len() as u64;
            if let Some(column) = sequence
                && row.number::<u64>(column)? != number
            {
                return Err(row.wrong(column, &format!("{number}, as rows are counted from 0")));
            }
            let hit = outcome.map(|column| match (row.text(column), op) {
                ("Hit", _) => Ok(true),
                ("Miss", _) | ("Doub" | "Trip", Op::Write) => Ok(false),
                _ => Err(row.wrong(column, &"Hit or Miss, or Doub or Trip of a write")),
            });
            rows.hits.push(hit.transpose()?.filter(|_| op == Op::Read));
            let pause = row.ns(gap)?;
            pauses += pause;
            if pauses > PAUSES_NS_MAX {
                return Err(row.wrong(gap, &"gaps that sum up to at most ten years"));
            }
            rows.requests.push(Replay {
                op,
                at,
                len,
                gap: Duration(pause),
            });
            rows.real.push(row.ns(measured)?);
            rows.reference.push(row.ns(reference)?);
        }
        // A table that calls every read a hit does not tell.
        if !rows.hits.contains(&Some(false)) {
            rows.hits.fill(None);
        }
        Ok(rows)
    }

    /// Service times of the complete model, in nanoseconds.
    pub(super) fn replay(&self, mechanics: &Arc<Mechanics>, electronics: &Electronics) -> Vec<u64> {
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
}

/// All gaps together: ten years, so that the end of a replay can be counted.
const PAUSES_NS_MAX: u64 = 315_360_000_000_000_000;

/// Root mean square of the distance between two distributions of equally many values.
pub(super) fn distance_ms(a: &[u64], b: &[u64]) -> f64 {
    let steps = |list: &[u64]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list.into_iter().map(|ns| (ns as f64 / 1e6, 1))
    };
    demerit(steps(a), steps(b)).unwrap_or(f64::NAN)
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
