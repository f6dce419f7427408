//! How long the arm moves, from what is left of latencies when overhead and transfer are taken off.
//!
//! That is the move and a wait that is uniform between nothing and a turn. In groups of accesses
//! over similar distances the middle between the 5 % and the 95 % quantile, less half a turn, is
//! the move: it knows both edges of the uniform distribution, its error is 0.15 turns by the square
//! root of the number, half of the mean's. Within a group the slope is taken off first: a curve `a
//! + b sqrt(distance) + c distance` through all (Ruemmler and Wilkes 1994 have such a curve).
//!
//! Beyond the last group the curve is extrapolated by that curve. Longer moves do not take less
//! time, and the curves of arms bend downwards: so the truth lies between the time of the last
//! group and the line from the group at half of its distance through it.

use super::estimate::Doubt;
use super::numbers::{least_squares, quantile, sorted};
use crate::number::counted;

/// An access to the medium after a move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// Cylinders.
    pub(super) distance: u32,
    /// Move and wait together, in milliseconds.
    pub(super) ms: f64,
}

/// A seek curve.
pub(super) struct Curve {
    /// Cylinders and milliseconds, from a distance of 1 to the last cylinder.
    pub(super) points: Vec<(u32, f64)>,
    /// Distances of the first and the last group of moves: what is shorter or longer is
    /// extrapolated.
    pub(super) measured: (u32, u32),
    /// The largest standard error of a point.
    pub(super) error_ms: f64,
    /// Accesses that it was found from.
    pub(super) samples: usize,
    /// How far the truth may be from the time at the last cylinder, chance aside.
    open_ms: f64,
    /// The error of that time, over that of a group.
    open_by_chance: f64,
}

impl Curve {
    /// Whether groups of moves are on both sides of a distance.
    pub(super) fn tells(&self, distance: u32) -> bool {
        (self.measured.0..=self.measured.1).contains(&distance)
    }

    /// The time at a distance, and how far off it may be.
    pub(super) fn at(&self, distance: u32) -> (f64, Doubt) {
        let ms = at_distance(&self.points, distance);
        let (first, last) = self.measured;
        let far = self.points.last().map_or(last, |(distance, _)| *distance);
        let (open_ms, by_chance) = if distance < first {
            // A short move takes any time up to that of the shortest that was measured.
            let most = at_distance(&self.points, first);
            (ms.max(most - ms), 1.0)
        } else if distance > last {
            let along = f64::from(distance - last) / f64::from(far - last);
            (
                along * self.open_ms,
                1.0 + along * (self.open_by_chance - 1.0),
            )
        } else {
            (0.0, 1.0)
        };
        let error_ms = by_chance * self.error_ms;
        (ms, Doubt { error_ms, open_ms })
    }
}

/// The curve at a distance, on the line between its points.
pub(super) fn at_distance(points: &[(u32, f64)], distance: u32) -> f64 {
    let right = points
        .partition_point(|(at, _)| *at < distance)
        .clamp(1, points.len() - 1);
    let ((d1, t1), (d2, t2)) = (points[right - 1], points[right]);
    t1 + (f64::from(distance) - f64::from(d1)) / f64::from(d2 - d1) * (t2 - t1)
}

/// Groups by the square root of the distance, so that short moves, where the curve is steep, have
/// groups of their own.
const GROUPS: usize = 24;
/// Accesses that a group must have: their 5 % quantile is one of them.
pub(super) const GROUP_MIN: usize = 25;
/// Groups that a curve needs.
const GROUPS_MIN: usize = 3;

/// Middle between the outer twentieths.
fn centre(values: impl IntoIterator<Item = f64>) -> f64 {
    let list = sorted(values);
    (quantile(&list, 0.05) + quantile(&list, 0.95)) / 2.0
}

/// How far off the centre of so many values is, if they spread over a turn.
pub(super) fn centre_error_ms(turn_ms: f64, count: usize) -> f64 {
    0.155 * turn_ms / libm::sqrt(count.max(1) as f64)
}

/// Time of a move of one kind, from accesses that all made it; none if there are too few.
pub(super) fn single(waits: &[f64], turn_ms: f64) -> Option<f64> {
    (waits.len() >= GROUP_MIN).then(|| (centre(waits.iter().copied()) - turn_ms / 2.0).max(0.0))
}

/// Fits the curve for distances below `cylinders`, or says what is missing.
pub(super) fn fit(moves: &[Move], turn_ms: f64, cylinders: u32) -> Result<Curve, String> {
    let mut moves: Vec<Move> = moves
        .iter()
        .filter(|one| one.distance > 0)
        .copied()
        .collect();
    moves.sort_by_key(|one| one.distance);
    let too_few = || {
        format!(
            "{} of the arm, and {} are needed",
            counted(moves.len() as u64, "move"),
            GROUPS_MIN * GROUP_MIN
        )
    };
    let rows: Vec<([f64; 3], f64)> = moves
        .iter()
        .map(|one| (terms(one.distance), one.ms))
        .collect();
    let smooth = least_squares(&rows).ok_or_else(too_few)?;
    let expected = |distance| {
        terms(distance)
            .iter()
            .zip(smooth)
            .map(|(x, c)| x * c)
            .sum::<f64>()
    };
    let groups = groups(&moves, cylinders);
    if groups.len() < GROUPS_MIN {
        return Err(too_few());
    }
    let mut points: Vec<(u32, f64)> = Vec::new();
    let mut error_ms = 0.0_f64;
    for group in groups {
        let root = group
            .iter()
            .map(|one| libm::sqrt(f64::from(one.distance)))
            .sum::<f64>();
        let root = root / group.len() as f64;
        let distance = libm::round(root * root) as u32;
        let off = centre(group.iter().map(|one| one.ms - expected(one.distance)));
        points.push((distance, expected(distance) + off - turn_ms / 2.0));
        error_ms = error_ms.max(centre_error_ms(turn_ms, group.len()));
    }
    let points = rising(points);
    if points.len() < 2 {
        return Err("all moves of the arm are over the same distance".to_owned());
    }
    let measured = (points[0].0, points[points.len() - 1].0);
    let beyond = Beyond::of(&points, cylinders - 1, expected);
    let mut points = begin(points);
    points.extend(beyond.point);
    Ok(Curve {
        points,
        measured,
        error_ms,
        samples: moves.len(),
        open_ms: beyond.open_ms,
        open_by_chance: beyond.by_chance,
    })
}

fn terms(distance: u32) -> [f64; 3] {
    let distance = f64::from(distance);
    [1.0, libm::sqrt(distance), distance]
}

/// Cuts moves in order of distance into groups that are large enough.
fn groups(moves: &[Move], cylinders: u32) -> Vec<&[Move]> {
    let group = |one: &Move| {
        let share = f64::from(one.distance) / f64::from(cylinders.max(2) - 1);
        ((libm::sqrt(share) * GROUPS as f64) as usize).min(GROUPS - 1)
    };
    let mut cuts = vec![0];
    let mut begin = 0;
    for index in 1..moves.len() {
        if group(&moves[index]) != group(&moves[index - 1]) && index - begin >= GROUP_MIN {
            cuts.push(index);
            begin = index;
        }
    }
    // What is left at the end joins the group before.
    if moves.len() - begin < GROUP_MIN && cuts.len() > 1 {
        cuts.pop();
    }
    cuts.push(moves.len());
    cuts.windows(2).map(|cut| &moves[cut[0]..cut[1]]).collect()
}

/// Makes times rise with distance: neighbours out of order take their mean (pool adjacent
/// violators). Distances differ.
fn rising(points: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let mut pools: Vec<(Vec<u32>, f64)> = Vec::new();
    for (distance, ms) in points {
        let mut pool = (vec![distance], ms.max(0.0));
        while let Some((before, ms)) = pools.pop_if(|(_, ms)| *ms > pool.1) {
            let (a, b) = (before.len() as f64, pool.0.len() as f64);
            let mean = (ms * a + pool.1 * b) / (a + b);
            pool = ([before, pool.0].concat(), mean);
        }
        pools.push(pool);
    }
    let mut rising: Vec<(u32, f64)> = pools
        .into_iter()
        .flat_map(|(distances, ms)| distances.into_iter().map(move |distance| (distance, ms)))
        .collect();
    rising.dedup_by_key(|(distance, _)| *distance);
    rising
}

/// Extrapolates the curve to a distance of 1, by the square root through its first two points.
fn begin(mut points: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    if let [(d1, t1), (d2, t2), ..] = points[..]
        && d1 > 1
    {
        let root = |distance: u32| libm::sqrt(f64::from(distance));
        let slope = (t2 - t1) / (root(d2) - root(d1));
        let begin: Vec<(u32, f64)> = [1, 2, 4, 8, 16, 32, 64]
            .into_iter()
            .filter(|distance| *distance < d1)
            .map(|distance| {
                (
                    distance,
                    (t1 - slope * (root(d1) - root(distance))).max(t1 / 4.0),
                )
            })
            .collect();
        points.splice(0..0, begin);
    }
    points
}

/// What moves longer than those of the last group take.
struct Beyond {
    /// The farthest move, if it is longer.
    point: Option<(u32, f64)>,
    /// How far off that is at most, if the curve bends downwards.
    open_ms: f64,
    /// Its error, over that of a group.
    by_chance: f64,
}

impl Beyond {
    /// By the growth of a smooth curve, within the bounds.
    fn of(points: &[(u32, f64)], far: u32, smooth: impl Fn(u32) -> f64) -> Beyond {
        let (last, ms) = points[points.len() - 1];
        // The group at half of the distance or below; the first one if all are beyond.
        let half = points.partition_point(|(distance, _)| *distance <= last / 2);
        let (from, from_ms) = points[half.saturating_sub(1)];
        if last >= far {
            return Beyond {
                point: None,
                open_ms: 0.0,
                by_chance: 1.0,
            };
        }
        let way = f64::from(far - last) / f64::from(last - from);
        let most = (ms - from_ms) * way;
        let more = (smooth(far) - smooth(last)).clamp(0.0, most);
        Beyond {
            point: Some((far, ms + more)),
            open_ms: more.max(most - more),
            by_chance: 1.0 + way,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearslot_core::rng::Rng;

    #[test]
    fn a_known_curve_is_found_within_its_error() {
        let mut rng = Rng::stream(5, "seek");
        let truth = |distance: u32| {
            let distance = f64::from(distance);
            if distance < 2_000.0 {
                0.8 + 0.1 * libm::sqrt(distance)
            } else {
                5.27 + 0.0011 * (distance - 2_000.0)
            }
        };
        let moves: Vec<Move> = (0..4_000)
            .map(|_| {
                let ends = [rng.below(7_000) as u32, rng.below(7_000) as u32];
                let distance = ends[0].abs_diff(ends[1]);
                let ms = truth(distance) + 6.0 * rng.unit();
                Move { distance, ms }
            })
            .collect();
        let curve = fit(&moves, 6.0, 7_000).unwrap();
        for (distance, ms) in &curve.points {
            let off = (ms - truth(*distance)).abs();
            let allowed = if *distance < 50 {
                0.6
            } else {
                3.0 * curve.error_ms
            };
            assert!(off < allowed, "{distance}: {ms}, not {}", truth(*distance));
        }
        assert!(
            curve
                .points
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        );
        assert_eq!(curve.points.last().unwrap().0, 6_999);
    }

    /// Moves of an arm over less than `reach` of 10,000 cylinders.
    fn curve_of(reach: u64, truth: impl Fn(u32) -> f64) -> Curve {
        let mut rng = Rng::stream(7, "reach");
        let moves: Vec<Move> = (0..4_000)
            .map(|_| {
                let distance = 1 + rng.below(reach) as u32;
                let ms = truth(distance) + 8.0 * rng.unit();
                Move { distance, ms }
            })
            .collect();
        fit(&moves, 8.0, 10_000).unwrap()
    }

    #[test]
    fn the_far_end_is_extrapolated_and_the_truth_within_its_doubt() {
        let root = |distance: u32| 0.6 + 0.12 * libm::sqrt(f64::from(distance));
        let line = |distance: u32| 2.0 + 0.001 * f64::from(distance);
        let flat = |distance: u32| line(distance.min(4_000));
        let truths: [&dyn Fn(u32) -> f64; 3] = [&root, &line, &flat];
        for reach in [2_500, 5_000, 9_000] {
            for truth in truths {
                let curve = curve_of(reach, truth);
                assert_eq!(curve.points.last().unwrap().0, 9_999);
                let last = u64::from(curve.measured.1);
                assert!((reach * 8 / 10..reach).contains(&last), "{last} of {reach}");
                for distance in [3_333, 6_000, 9_999] {
                    let (ms, doubt) = curve.at(distance);
                    let (off, told) = ((ms - truth(distance)).abs(), doubt.plus_minus_ms(0.0));
                    assert!(
                        off <= told,
                        "{distance} after {reach}: {off} off, not {told}"
                    );
                    assert!(doubt.open_ms <= 0.0 || !curve.tells(distance), "{distance}");
                }
            }
        }
    }

    #[test]
    fn neighbours_out_of_order_take_their_mean() {
        let points = rising(vec![(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0)]);
        assert_eq!(points, [(1, 1.0), (2, 2.5), (3, 2.5), (4, 4.0)]);
    }
}
