//! An empirical drive from measured times: a table of quantiles for each direction, size and number
//! outstanding.
//!
//! Sizes and numbers outstanding are classed by powers of two. A class with fewer than [`BIN_MIN`]
//! fitted times joins the next larger one of its kind, the last one the one before: a quantile at 1
//! % then has a time below it.

use nearslot_core::drive::empirical::{Bin, Direction, EmpiricalParameters};
use nearslot_core::op::Op;

use super::numbers::{quantile, sorted};
use super::samples::{Sample, fitted};
use super::{CalibrateError, Finding};

/// Times that a table is made of, at least.
const BIN_MIN: usize = 100;
/// Shares at which quantiles are kept.
const SHARES: [f64; 15] = [
    0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0,
];

/// Fits the tables to the samples' fitted half.
pub(super) fn fit(
    samples: &[Sample],
    capacity: u64,
) -> Result<(EmpiricalParameters, Finding), CalibrateError> {
    let mut finding = Finding::default();
    let mut bins = Vec::new();
    let own: Vec<Sample> = samples
        .iter()
        .enumerate()
        .filter(|(index, _)| fitted(*index))
        .map(|(_, sample)| *sample)
        .collect();
    let of = |op: Op| -> Vec<Sample> {
        own.iter()
            .filter(|sample| sample.op == op)
            .copied()
            .collect()
    };
    by_direction(&of(Op::Read), &of(Op::Write), &mut bins, &mut finding)?;
    for bin in &bins {
        note(bin, &mut finding);
    }
    let parameters = EmpiricalParameters {
        kind: "empirical".to_owned(),
        description: None,
        capacity_blocks: capacity,
        flush_ms: 0.0,
        discard_ms: 0.0,
        // A trace of times does not tell it.
        cache: None,
        bins,
        calibration: None,
    };
    finding
        .notes
        .push("Flushes and discards take no time, as nothing was measured of them.".to_owned());
    Ok((parameters, finding))
}

/// Tables of both directions, or of one for both.
fn by_direction(
    reads: &[Sample],
    writes: &[Sample],
    bins: &mut Vec<Bin>,
    finding: &mut Finding,
) -> Result<(), CalibrateError> {
    let one_for_both = |told: &str, other: &str, count: usize| {
        format!("The trace has too few {other} to tell ({count}): {other} take as long as {told}.")
    };
    match (reads.len() >= BIN_MIN, writes.len() >= BIN_MIN) {
        (true, true) => {
            tables(Direction::Read, reads, bins);
            tables(Direction::Write, writes, bins);
        }
        (true, false) => {
            tables(Direction::Any, reads, bins);
            finding
                .notes
                .push(one_for_both("reads", "writes", writes.len()));
        }
        (false, true) => {
            tables(Direction::Any, writes, bins);
            finding
                .notes
                .push(one_for_both("writes", "reads", reads.len()));
        }
        (false, false) => {
            return Err(CalibrateError::TooFew {
                found: reads.len().max(writes.len()),
                what: "requests of one direction in the half that tables are made of".to_owned(),
                needed: BIN_MIN,
            });
        }
    }
    Ok(())
}

fn note(bin: &Bin, finding: &mut Finding) {
    let at = |share: f64| {
        let found = bin.quantiles.iter().find(|(at, _)| *at >= share);
        found.map_or(0.0, |(_, ms)| *ms)
    };
    let op = match bin.op {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Any => "reads and writes",
    };
    // The median lies between the ranks n/2 -+ sqrt(n)/2, to one standard error; the density from
    // the middle fifth.
    let error = (at(0.6) - at(0.4)) / 0.2 * 0.5 / libm::sqrt(bin.samples as f64);
    finding.measured(
        &format!(
            "{op} of up to {} blocks, up to {} outstanding",
            bin.blocks, bin.outstanding
        ),
        at(0.5),
        "ms",
        Some(error),
        bin.samples as usize,
        &format!(
            "median of the time per command; 99 % take up to {:.3} ms",
            at(0.99)
        ),
    );
}

/// Classes by powers of two, joined until each has enough: the largest value of each class.
fn classes(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sizes: Vec<u64> = values.collect();
    sizes.sort_unstable();
    let mut ends = Vec::new();
    let mut begin = 0;
    for index in 0..sizes.len() {
        let last = index + 1 == sizes.len();
        let class = |value: u64| value.next_power_of_two();
        if last || class(sizes[index]) != class(sizes[index + 1]) {
            if index + 1 - begin >= BIN_MIN {
                ends.push(sizes[index]);
                begin = index + 1;
            } else if last {
                ends.pop();
                ends.push(sizes[index]);
            }
        }
    }
    ends
}

fn tables(op: Direction, samples: &[Sample], bins: &mut Vec<Bin>) {
    let mut from = 0;
    for blocks in classes(samples.iter().map(|sample| sample.len)) {
        let of_size: Vec<&Sample> = samples
            .iter()
            .filter(|sample| (from + 1..=blocks).contains(&sample.len))
            .collect();
        from = blocks;
        let mut above = 0;
        for outstanding in classes(of_size.iter().map(|sample| sample.outstanding.into())) {
            let inside = of_size
                .iter()
                .filter(|sample| (above + 1..=outstanding).contains(&sample.outstanding.into()));
            // The effective time per command, as the drive wants it.
            let times = sorted(
                inside.map(|sample| sample.latency as f64 / 1e6 / f64::from(sample.outstanding)),
            );
            above = outstanding;
            let point = |share: f64| (share, libm::round(quantile(&times, share) * 1e6) / 1e6);
            bins.push(Bin {
                op,
                blocks,
                outstanding,
                quantiles: SHARES.into_iter().map(point).collect(),
                samples: times.len() as u64,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_classes_join_the_next_and_the_last_the_one_before() {
        let values = |counts: &[(u64, usize)]| {
            let list = counts
                .iter()
                .flat_map(|(value, count)| std::iter::repeat_n(*value, *count));
            classes(list.collect::<Vec<_>>().into_iter())
        };
        assert_eq!(values(&[(1, 100), (8, 100)]), [1, 8]);
        assert_eq!(values(&[(1, 50), (8, 100), (64, 100)]), [8, 64]);
        assert_eq!(values(&[(1, 100), (8, 100), (64, 3)]), [1, 64]);
        assert_eq!(values(&[(3, 7)]), [3]);
    }

    #[test]
    fn times_are_divided_by_what_was_outstanding() {
        let sample = |index: u64| Sample {
            outstanding: 4,
            ..Sample::new(index, Op::Read, 0, 8, 8_000_000)
        };
        let samples: Vec<Sample> = (0..400).map(sample).collect();
        let (drive, _) = fit(&samples, 1_000).unwrap();
        assert_eq!(drive.bins.len(), 1);
        assert_eq!(drive.bins[0].op, Direction::Any);
        assert!(
            drive.bins[0]
                .quantiles
                .iter()
                .all(|(_, ms)| (ms - 2.0).abs() < 1e-9)
        );
    }
}
