//! How long the arm moves, from what is left of latencies when overhead and transfer are taken off.
//!
//! That is the move and a wait that is uniform between nothing and a turn. In groups of accesses over similar distances the middle
//! between the 5 % and the 95 % quantile, less half a turn, is the move: it knows both edges of the uniform
//! distribution, its error is 0.15 turns by the square root of the number, half of the mean's. Within a group the slope is
//! taken off first: a curve `a + b sqrt(distance) + c distance` through all (Ruemmler and Wilkes 1994 have such a curve).

use super::numbers::{least_squares, quantile, sorted};

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
    /// Cylinders and milliseconds.
    pub(super) points: Vec<(u32, f64)>,
    /// The largest standard error of a point.
    pub(super) error_ms: f64,
    /// Accesses that it was found from.
    pub(super) samples: usize,
}

/// Groups by the square root of the distance, so that short moves, where the curve is steep, have groups of their own.
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
            "{} moves of the arm; {} are needed",
            moves.len(),
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
    Ok(Curve {
        points: ends(rising(points), cylinders),
        error_ms,
        samples: moves.len(),
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

/// Makes times rise with distance: neighbours out of order take their mean (pool adjacent violators). Distances differ.
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

/// Draws the curve on to a distance of 1, by the square root through its first two points, and to the last cylinder, by the
/// line through its last two.
fn ends(mut points: Vec<(u32, f64)>, cylinders: u32) -> Vec<(u32, f64)> {
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
    if let [.., (d1, t1), (d2, t2)] = points[..]
        && d2 + 1 < cylinders
    {
        let slope = (t2 - t1) / f64::from(d2 - d1);
        points.push((cylinders - 1, t2 + slope * f64::from(cylinders - 1 - d2)));
    }
    points.retain(|(distance, _)| *distance < cylinders);
    points
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

    #[test]
    fn neighbours_out_of_order_take_their_mean() {
        let points = rising(vec![(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0)]);
        assert_eq!(points, [(1, 1.0), (2, 2.5), (3, 2.5), (4, 4.0)]);
    }
}
