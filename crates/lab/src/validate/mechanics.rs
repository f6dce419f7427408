//! Result files, row by row from the recorded state: what seek, rotation and transfer cost.

use nearslot_core::drive::hdd::mech::Mechanics;
use nearslot_core::op::Cost;
use nearslot_core::units::{Blocks, Duration, Pba};
use serde::Serialize;

use super::rows::{Ask, Run, Served};
use super::{
    Check, Checks, Drives, EDGE_ROWS_MAX, Finding, LONG_ROW_US_MAX, ROW_US_MAX, SHORT_BLOCKS,
    TIE_US,
};

/// How far the rows of a file are apart.
#[derive(Clone, Debug, Serialize)]
pub struct Rows {
    /// Seek, head switch and settle.
    pub seek_us: Differences,
    /// Wait for the first sector.
    pub rotation_us: Differences,
    /// Transfer.
    pub transfer_us: Differences,
    /// Time from start to completion.
    pub completion_us: Differences,
    /// Rows that are off by more than a row may be.
    pub beyond: u64,
    /// Those of them that are within it once skipped sectors take no time to pass, as in the
    /// reference.
    pub beyond_at_slips: u64,
    /// Those that are a whole revolution off, where the first sector begins as the heads get there,
    /// within rounding.
    pub beyond_at_edges: u64,
    /// Rows whose seek distance differs.
    pub distances_unequal: u64,
    /// Of the rows that nothing of this explains, or of all if there is none: the one that is off
    /// most, by number in order of arrival.
    pub worst_seq: u64,
    /// How far it is off, in microseconds.
    pub worst_us: f64,
}

/// Absolute differences in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Differences {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Differences {
    /// Of some nanoseconds, in any order.
    fn of_ns(mut ns: Vec<u64>) -> Differences {
        ns.sort_unstable();
        let Some(max) = ns.last() else {
            return Differences::default();
        };
        let us = |ns: u64| ns as f64 / 1e3;
        Differences {
            mean: us(ns.iter().sum()) / ns.len() as f64,
            p99: us(ns[(ns.len() * 99).div_ceil(100) - 1]),
            max: us(*max),
        }
    }
}

pub(super) fn compare(runs: &[Run], drives: &Drives, checks: &mut Checks) {
    for run in runs {
        let found = compare_rows(&run.served, drives.named(run.layout).mechanics());
        let compared = run.served.len() as u64;
        let edges_max = (compared * EDGE_ROWS_MAX).div_ceil(10_000);
        let unexplained = found.beyond - found.beyond_at_slips - found.beyond_at_edges;
        let mut wrong = Vec::new();
        if unexplained > 0 {
            wrong.push(format!(
                "{unexplained} rows are off by more than a row may be; request {} is off by {:.3} us",
                found.worst_seq, found.worst_us
            ));
        }
        if found.beyond_at_edges > edges_max {
            wrong.push(format!("{} rows lose a revolution", found.beyond_at_edges));
        }
        if found.distances_unequal > 0 {
            wrong.push(format!(
                "{} rows have another `seek_cyl`",
                found.distances_unequal
            ));
        }
        checks.add(Check {
            file: run.file.to_owned(),
            what: "each row from its state".to_owned(),
            compared,
            finding: Finding::Rows(found),
            limit: format!(
                "{ROW_US_MAX} us; {LONG_ROW_US_MAX} us beyond {SHORT_BLOCKS} blocks; skipped sectors' time; {edges_max} at edges"
            ),
            wrong,
            pass: false,
        });
    }
}

fn compare_rows(served: &[Served], mechanics: &Mechanics) -> Rows {
    let mut apart: [Vec<u64>; 4] = std::array::from_fn(|_| Vec::with_capacity(served.len()));
    let (mut beyond, mut at_slips, mut at_edges) = (0, 0, 0);
    let (mut unequal, mut worst) = (0, (false, 0, 0));
    for row in served {
        let cost = row.media(mechanics).cost;
        let place = mechanics.layout().spot(row.ask.at).place;
        unequal += u64::from(place.cylinder.abs_diff(row.arm.cylinder) != row.seek_cylinders);
        let differences = differences(row, &cost);
        for (list, difference) in apart.iter_mut().zip(differences) {
            list.push(difference);
        }
        let most = differences.into_iter().max().expect("there are four");
        let mut unexplained = !within_row(row, most, 0);
        if unexplained {
            beyond += 1;
            if at_slip(row, &cost, mechanics) {
                at_slips += 1;
                unexplained = false;
            } else if at_edge(row, &cost, mechanics) {
                at_edges += 1;
                unexplained = false;
            }
        }
        worst = worst.max((unexplained, most, row.sequence));
    }
    let [seek_us, rotation_us, transfer_us, completion_us] = apart.map(Differences::of_ns);
    Rows {
        seek_us,
        rotation_us,
        transfer_us,
        completion_us,
        beyond,
        beyond_at_slips: at_slips,
        beyond_at_edges: at_edges,
        distances_unequal: unequal,
        worst_seq: worst.2,
        worst_us: worst.1 as f64 / 1e3,
    }
}

/// How far seek, rotation, transfer and the time from start to completion are apart, in
/// nanoseconds.
fn differences(row: &Served, cost: &Cost) -> [u64; 4] {
    [
        cost.seek.0.abs_diff(row.seek_ns),
        cost.rotation.0.abs_diff(row.rotation_ns),
        cost.transfer.0.abs_diff(row.transfer_ns),
        cost.total().0.abs_diff(row.completion.since(row.start).0),
    ]
}

/// Whether a row is off by just the time of the skipped sectors that it crosses.
fn at_slip(row: &Served, cost: &Cost, mechanics: &Mechanics) -> bool {
    let [seek, rotation, ..] = differences(row, cost);
    let skipping = skipping_ns(row, mechanics);
    within_row(row, seek.max(rotation), 0)
        && skipping != cost.total().0
        && within_row(row, skipping, row.completion.since(row.start).0)
}

/// Whether two times of a row are as near as its length lets them be.
fn within_row(row: &Served, ours_ns: u64, theirs_ns: u64) -> bool {
    let limit_us = match row.ask.len.0 {
        ..=SHORT_BLOCKS => ROW_US_MAX,
        _ => LONG_ROW_US_MAX,
    };
    ours_ns.abs_diff(theirs_ns) as f64 <= limit_us * 1e3
}

/// Whether a row is a revolution off because its first sector begins, within [`TIE_US`], just as
/// the heads get there: one simulator catches it, the other misses it. Happens to requests that
/// continue the one before.
fn at_edge(row: &Served, cost: &Cost, mechanics: &Mechanics) -> bool {
    let revolution = mechanics.spindle().revolution().0;
    let (ours, theirs) = (cost.total().0, row.completion.since(row.start).0);
    let edge = (TIE_US * 1e3) as u64;
    let near = cost.rotation.0 <= edge || cost.rotation.0 + edge >= revolution;
    let arm = within_row(row, cost.seek.0, row.seek_ns);
    arm && near && within_row(row, ours.abs_diff(theirs), revolution)
}

/// What a request costs if sectors that are skipped on a track take no time to pass.
///
/// The rules let them pass under the head, as on a real platter. DiskSim's mechanics jump over
/// them, which shows only where nothing follows on another track: there the platter would have to
/// come round anyway.
fn skipping_ns(row: &Served, mechanics: &Mechanics) -> u64 {
    let Ask { op, at, len, .. } = row.ask;
    let (mut done, mut spent, mut arm, mut track) = (0, Duration::ZERO, row.arm, None);
    while done < len.0 {
        let phase = mechanics.spindle().after(row.phase, spent);
        let left = Blocks(len.0 - done);
        let next = mechanics.stretch(phase, arm, op, Pba(at.0 + done), left);
        let same = track == Some((next.spot.zone, next.spot.track));
        let gap = if same {
            next.movement + next.wait
        } else {
            Duration::ZERO
        };
        spent += next.until(next.len.0) - gap;
        arm = next.spot.place.arm_position();
        track = Some((next.spot.zone, next.spot.track));
        done += next.len.0;
    }
    spent.0
}

#[cfg(test)]
mod tests {
    use nearslot_core::drive::hdd::Parameters;
    use nearslot_core::drive::hdd::spindle::Phase;
    use nearslot_core::op::Op;
    use nearslot_core::position::ArmPosition;
    use nearslot_core::units::{Angle, Instant};

    use super::*;

    /// 6,000 turns a minute, 10 sectors a track, 1 ms each; position 3 is skipped.
    fn mechanics() -> Mechanics {
        let text = "kind = 'hdd'\nrpm = 6000\nheads = 2\ncylinders = 3\nhead_switch_ms = 0.5\n\
                    write_settle_ms = 0.0\nsparing = { at = 'zone-end' }\nseek_ms = [[1, 2.0], [2, 2.5]]\n\
                    [[zones]]\ncylinders = [0, 2]\nsectors_per_track = 10\nspares = 5\nslips = [3]";
        let table = text.parse().expect("it is TOML");
        Mechanics::new(&Parameters::read(&table).expect("it is a drive")).expect("it is a drive")
    }

    /// A read of blocks 1 to 4, at sectors 1, 2, 4 and 5, when sector 0 begins: 1 ms of waiting.
    fn row(rotation_ms: u64, transfer_ms: u64) -> Served {
        let ns = |ms: u64| ms * 1_000_000;
        Served {
            line: 2,
            sequence: 0,
            ask: Ask {
                arrival: Instant::ZERO,
                op: Op::Read,
                at: Pba(1),
                len: Blocks(4),
            },
            start: Instant::ZERO,
            arm: ArmPosition::default(),
            phase: Phase::at(Angle(0)),
            seek_cylinders: 0,
            seek_ns: 0,
            rotation_ns: ns(rotation_ms),
            transfer_ns: ns(transfer_ms),
            completion: Instant(ns(rotation_ms + transfer_ms)),
        }
    }

    fn beyond(row: &Served) -> (u64, u64, u64) {
        let found = compare_rows(std::slice::from_ref(row), &mechanics());
        (found.beyond, found.beyond_at_slips, found.beyond_at_edges)
    }

    #[test]
    fn a_skipped_sector_takes_time_and_a_reference_without_it_is_recognised() {
        assert_eq!(beyond(&row(1, 5)), (0, 0, 0));
        assert_eq!(beyond(&row(1, 4)), (1, 1, 0));
        assert_eq!(beyond(&row(1, 3)), (1, 0, 0));
    }

    #[test]
    fn a_lost_revolution_is_an_edge_only_where_the_sector_begins() {
        assert_eq!(beyond(&row(1, 15)), (1, 0, 0));
        let mut at_edge = row(0, 15);
        at_edge.phase = Phase::at(Angle(429_496_730));
        assert_eq!(beyond(&at_edge), (1, 0, 1));
    }

    #[test]
    fn differences_are_in_microseconds() {
        let found = Differences::of_ns((1..=200).rev().map(|k| k * 1_000).collect());
        assert!((found.mean - 100.5).abs() < 1e-9);
        assert!((found.p99 - 198.0).abs() < 1e-9);
        assert!((found.max - 200.0).abs() < 1e-9);
    }
}
