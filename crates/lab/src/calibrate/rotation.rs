//! Whether something turns, and how fast.
//!
//! After a long move the platter stands anywhere, so the latency is a sum of two parts: one that
//! depends on the distance, and a wait that is uniform between nothing and one turn. The first is
//! fitted as `a + b sqrt(distance) + c distance + d length`; what is left must depend on the
//! distance, be as flat as a uniform distribution, and its width is the turn, to a few percent.
//!
//! Where blocks were accessed again, the turn is known far better: the same block passes under the
//! heads once a turn, so the times between the ends of such accesses are whole numbers of turns.
//! The frequency that puts the most of them in phase, within a quarter of what the width says, is
//! the rotation (a periodogram; Worthington, Ganger, Patt and Wilkes, "On-line extraction of SCSI
//! disk drive parameters", SIGMETRICS 1995, find it from rereads too).

use std::f64::consts::TAU;

use super::numbers::{least_squares, quantile, sorted};
use super::samples::Access;
use crate::measure::correlation::correlation;
use crate::number::{counted, number};

/// One revolution, and how well it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    /// In milliseconds.
    pub(super) turn_ms: f64,
    /// One standard error.
    pub(super) error_ms: f64,
    /// Accesses, or pairs of them, that it was found from.
    pub(super) samples: usize,
    /// Found from accesses to the same blocks, not only from the spread of latencies.
    pub(super) by_rereads: bool,
}

/// Why nothing seems to turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Still(pub(super) String);

/// What latencies depend on: a constant, the square root of the distance, the distance, the length.
const TERMS: usize = 4;
/// Moves over less than this share of the addresses are not long.
pub(super) const FAR_SHARE: f64 = 0.02;
/// Long moves that are needed to tell.
const FAR_MIN: usize = 100;
/// Turns that a disk may have: 2,400 to 24,000 a minute.
const TURN_MS: (f64, f64) = (2.5, 25.0);
/// Least correlation of latency and distance of a disk.
const CORRELATION_MIN: f64 = 0.2;
/// Edges of the distribution are blurred by what the terms do not hold, such as zones: on the two
/// measured drives of DiskSim the width is 2 and 6 % too large.
const EDGE_SHARE: f64 = 0.03;
/// Spread of the middle half, as share of that of the middle nine tenths: 0.556 of a uniform
/// distribution, 0.41 of a normal one, 0.37 of an exponential one.
const FLATNESS_MIN: f64 = 0.48;

/// Finds the rotation, or says why there seems to be none. `capacity` is in blocks; `slow` says of
/// an access that the medium had to be reached.
pub(super) fn find(
    accesses: &[Access],
    capacity: u64,
    slow: impl Fn(&Access) -> bool,
) -> Result<Rotation, Still> {
    let far: Vec<([f64; TERMS], f64)> = accesses
        .iter()
        .filter(|access| slow(access))
        .filter_map(|access| {
            let share = access.step().unsigned_abs() as f64 / capacity as f64;
            let ms = access.sample.latency as f64 / 1e6;
            let len = access.sample.len as f64;
            (share >= FAR_SHARE).then(|| ([1.0, libm::sqrt(share), share, len], ms))
        })
        .collect();
    if far.len() < FAR_MIN {
        return Err(Still(format!(
            "{} over {} % of the {capacity} blocks or more reach the medium of an idle drive, and {FAR_MIN} are needed to tell",
            counted(far.len() as u64, "move"),
            FAR_SHARE * 100.0
        )));
    }
    let by_spread = by_spread(&far)?;
    Ok(by_rereads(accesses, by_spread, slow).unwrap_or(by_spread))
}

fn by_spread(far: &[([f64; TERMS], f64)]) -> Result<Rotation, Still> {
    let flat = || Still("all latencies are alike, or all distances".to_owned());
    // Without the length where all are of one.
    let without = |far: &[([f64; TERMS], f64)]| {
        let rows: Vec<([f64; 3], f64)> =
            far.iter().map(|(x, y)| ([x[0], x[1], x[2]], *y)).collect();
        least_squares(&rows).map(|[a, b, c]| [a, b, c, 0.0])
    };
    let seek = least_squares(far)
        .or_else(|| without(far))
        .ok_or_else(flat)?;
    let expected = |x: &[f64; TERMS]| x.iter().zip(seek).map(|(x, c)| x * c).sum::<f64>();
    let pairs: Vec<(f64, f64)> = far.iter().map(|(x, y)| (expected(x), *y)).collect();
    let found = correlation(&pairs);
    if found.is_nan() {
        let ms = far.first().map_or(0.0, |(_, ms)| *ms);
        return Err(Still(format!(
            "latencies do not depend on the distance: all of them are {} ms",
            number(ms)
        )));
    }
    if found < CORRELATION_MIN {
        return Err(Still(format!(
            "latencies do not depend on the distance: their correlation is {found:.2}, and a disk's at least {CORRELATION_MIN}"
        )));
    }
    let rest = sorted(pairs.iter().map(|(expected, y)| y - expected));
    let nine_tenths = quantile(&rest, 0.95) - quantile(&rest, 0.05);
    let half = quantile(&rest, 0.75) - quantile(&rest, 0.25);
    let (flatness, turn_ms) = (half / nine_tenths, nine_tenths / 0.9);
    if flatness < FLATNESS_MIN {
        return Err(Still(format!(
            "what is left of the latencies besides the distance is not spread evenly: the middle half spans {flatness:.2} of what \
             nine tenths span, and a platter's at least {FLATNESS_MIN}"
        )));
    }
    if !(TURN_MS.0..=TURN_MS.1).contains(&turn_ms) {
        return Err(Still(format!(
            "the spread of the latencies would be that of a turn of {turn_ms:.3} ms; disks turn in {} to {} ms",
            TURN_MS.0, TURN_MS.1
        )));
    }
    // Two quantiles at p of a uniform distribution: the variance of each is p (1 - p) / n in turns.
    let by_chance = libm::sqrt(2.0 * 0.05 * 0.95 / far.len() as f64) / 0.9;
    let error_ms = turn_ms * libm::hypot(by_chance, EDGE_SHARE);
    Ok(Rotation {
        turn_ms,
        error_ms,
        samples: far.len(),
        by_rereads: false,
    })
}

/// Blocks between two accesses that count as accesses to the same place.
const SAME_BLOCKS: u64 = 8;
/// Pairs that are looked at, and how far apart in time.
const PAIRS_MAX: usize = 400;
const APART_MS_MAX: f64 = 30_000.0;
/// Pairs that are needed.
const PAIRS_MIN: usize = 20;
/// Another frequency that puts nearly as many in phase leaves it open which one is the rotation.
const RIVAL_MAX: f64 = 0.97;
/// Mean cosine of the phases that is needed, beyond what chance gives.
const IN_PHASE_MIN: f64 = 0.4;

fn by_rereads(
    accesses: &[Access],
    spread: Rotation,
    slow: impl Fn(&Access) -> bool,
) -> Option<Rotation> {
    let apart = apart_ms(accesses, slow);
    if apart.len() < PAIRS_MIN {
        return None;
    }
    let middle = 1.0 / spread.turn_ms;
    let margin = (6.0 * spread.error_ms / spread.turn_ms).clamp(0.1, 0.25);
    let (score, frequency) = peak(&apart, middle * (1.0 - margin), middle * (1.0 + margin))?;
    // Of so many tries one is by chance this far out, at five standard deviations.
    let chance = 5.0 / libm::sqrt(2.0 * apart.len() as f64);
    if score < IN_PHASE_MIN.max(chance) {
        return None;
    }
    // The phases scatter by `noise` turns; the slope of a line through them has this error.
    let noise = libm::sqrt(-2.0 * libm::log(score.min(0.999_999))) / TAU;
    let squares: f64 = apart.iter().map(|ms| ms * ms).sum();
    let turn_ms = 1.0 / frequency;
    Some(Rotation {
        turn_ms,
        error_ms: turn_ms * turn_ms * noise / libm::sqrt(squares),
        samples: apart.len(),
        by_rereads: true,
    })
}

/// The mean cosine and the frequency, in turns a millisecond, that puts the most of these times in
/// phase; none if another one does nearly as well.
fn peak(apart_ms: &[f64], low: f64, high: f64) -> Option<(f64, f64)> {
    let longest = apart_ms.iter().copied().fold(0.0, f64::max);
    let in_phase = |frequency: f64| {
        let sum: f64 = apart_ms
            .iter()
            .map(|ms| libm::cos(TAU * ms * frequency))
            .sum();
        sum / apart_ms.len() as f64
    };
    let tried = |from: f64, step: f64, count: usize| -> Vec<(f64, f64)> {
        let frequencies = (0..=count).map(|index| from + step * index as f64);
        frequencies
            .map(|frequency| (in_phase(frequency), frequency))
            .collect()
    };
    let best = |tried: &[(f64, f64)]| {
        let highest = tried.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        *highest.expect("at least one was tried")
    };
    // A small part of a turn over the longest time: no peak lies between two steps.
    let mut step = 0.04 / longest;
    let all = tried(low, step, ((high - low) / step) as usize);
    let (mut score, mut frequency) = best(&all);
    let elsewhere = all
        .iter()
        .filter(|(_, other)| (other - frequency).abs() > 0.5 / longest);
    let rival = elsewhere.map(|(score, _)| *score).fold(0.0, f64::max);
    if rival > RIVAL_MAX * score {
        return None;
    }
    for _ in 0..6 {
        let from = frequency - step;
        step /= 5.0;
        (score, frequency) = best(&tried(from, step, 10));
    }
    Some((score, frequency))
}

/// Times between the ends of accesses to the same place that had to reach the medium.
fn apart_ms(accesses: &[Access], slow: impl Fn(&Access) -> bool) -> Vec<f64> {
    let mut places: Vec<(u64, u64, u64)> = accesses
        .iter()
        .filter(|access| slow(access))
        .map(|access| {
            (
                access.sample.len,
                access.sample.end(),
                access.sample.completed(),
            )
        })
        .collect();
    places.sort_unstable();
    let mut apart = Vec::new();
    for (index, (len, end, completed)) in places.iter().enumerate() {
        let near = places[index + 1..]
            .iter()
            .take_while(|(other_len, other, _)| other_len == len && other - end <= SAME_BLOCKS);
        apart.extend(near.map(|(_, _, other)| other.abs_diff(*completed) as f64 / 1e6));
    }
    apart.retain(|ms| (1.0..APART_MS_MAX).contains(ms));
    apart.sort_by(f64::total_cmp);
    // Evenly from all times apart: short ones tell which turn, long ones tell it well.
    let keep = apart.len().div_ceil(PAIRS_MAX).max(1);
    apart.into_iter().step_by(keep).collect()
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::Op;
    use nearslot_core::rng::Rng;

    use super::super::samples::Sample;
    use super::*;

    const TURN_MS: f64 = 8.333;

    /// Accesses in pairs to one place each, so far apart.
    fn pairs(apart_ms: &[f64]) -> Vec<Access> {
        let pair = |(index, apart): (usize, &f64)| {
            let first = 1_000_000_000_000 * index as u64;
            [first, first + (apart * 1e6) as u64].map(|issued| {
                let sample = Sample::new(issued, Op::Read, 1_000 * index as u64, 8, 5_000_000);
                Access {
                    index,
                    sample,
                    before: sample,
                    gap: 0,
                }
            })
        };
        apart_ms.iter().enumerate().flat_map(pair).collect()
    }

    /// The rotation from so many pairs, whose times apart scatter about whole turns by `scatter`
    /// turns.
    fn found(count: usize, scatter: f64) -> Option<Rotation> {
        let mut rng = Rng::stream(11, "rereads");
        let apart: Vec<f64> = (0..count)
            .map(|index| {
                let turns = 10 + rng.below(350);
                let off = (index as f64 + 0.5) / count as f64 - 0.5;
                (turns as f64 + scatter * off) * TURN_MS
            })
            .collect();
        let spread = Rotation {
            turn_ms: 8.2,
            error_ms: 0.25,
            samples: 1_000,
            by_rereads: false,
        };
        by_rereads(&pairs(&apart), spread, |_| true)
    }

    #[test]
    fn pairs_that_are_hardly_in_phase_tell_no_rotation() {
        let well = found(300, 0.3).unwrap();
        assert!(
            (well.turn_ms - TURN_MS).abs() <= 3.0 * well.error_ms,
            "{well:?}"
        );
        // Their best frequency has a score near 0.3: no other one comes near, but a disk's has 0.4
        // or more.
        assert!(found(300, 0.75).is_none());
        // A score near 0.5 is too little for so few pairs.
        assert!(found(40, 0.62).is_none());
        assert!(found(40, 0.3).is_some());
    }

    #[test]
    fn two_frequencies_that_fit_alike_tell_no_rotation() {
        let around = (1.0 / 9.0, 1.0 / 7.5);
        let told = peak(
            &[80.0 * TURN_MS, 97.0 * TURN_MS, 131.0 * TURN_MS],
            around.0,
            around.1,
        );
        assert!((1.0 / told.unwrap().1 - TURN_MS).abs() < 1e-3);
        // All equally far apart: with a turn more or less in between they are in phase too.
        assert_eq!(peak(&[80.0 * TURN_MS; 30], around.0, around.1), None);
    }
}
