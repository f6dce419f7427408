//! How long the arm moves: a measured curve, spread into one number per distance.
//!
//! Source: the `extracted` seek curves of DiskSim 4.0: straight lines between measured points. A
//! drive's file has a curve up to its last cylinder; where a measured one ends before that,
//! [`drawn_on`] does as DiskSim does. A table costs 4 bytes a cylinder and makes a look-up one
//! load.

use std::sync::Arc;

use crate::units::Duration;

/// Seek times of a drive, by distance in cylinders. Drives of a kind share the tables: those of a
/// hundred fill no processor's cache.
#[derive(Clone, Debug)]
pub struct SeekCurve {
    /// Nanoseconds by distance; 0 at 0.
    times_ns: Arc<[u32]>,
    /// The least of `times_ns` from a distance on: measured curves have dents. Of one that has none
    /// it is the same table.
    reach_ns: Arc<[u32]>,
}

impl SeekCurve {
    /// Spreads points of (distance, milliseconds) over distances below `cylinders`.
    ///
    /// The points are checked by the caller: distances from 1, rising, up to the last cylinder;
    /// times from 0 to 4 seconds.
    pub(super) fn new(points: &[(u32, f64)], cylinders: u32) -> SeekCurve {
        let mut next = 0;
        let time_ns = |distance| {
            if distance == 0 {
                return 0;
            }
            while points[next].0 < distance {
                next += 1;
            }
            rounded(interpolate(points, next, distance) * 1e6)
        };
        let times_ns: Arc<[u32]> = (0..cylinders).map(time_ns).collect();
        let reach_ns = match times_ns.is_sorted() {
            true => Arc::clone(&times_ns),
            false => reach(&times_ns),
        };
        SeekCurve { times_ns, reach_ns }
    }

    /// The least time of a movement that takes any; `None` if none does.
    pub(super) fn shortest(&self) -> Option<Duration> {
        let moving = self.times_ns.iter().filter(|time| **time > 0);
        moving.min().map(|time| Duration(u64::from(*time)))
    }

    /// Time to move over `distance` cylinders and come to rest for reading.
    #[inline]
    pub fn time(&self, distance: u32) -> Duration {
        Duration(u64::from(self.times_ns[distance as usize]))
    }

    /// The least time of any movement over `distance` cylinders or more.
    #[inline]
    pub fn seek_at_least(&self, distance: u32) -> Duration {
        Duration(u64::from(self.reach_ns[distance as usize]))
    }
}

/// The least time from each distance on.
fn reach(times_ns: &[u32]) -> Arc<[u32]> {
    let mut reach_ns: Arc<[u32]> = times_ns.into();
    let reach = Arc::make_mut(&mut reach_ns);
    for distance in (1..reach.len().saturating_sub(1)).rev() {
        reach[distance] = reach[distance].min(reach[distance + 1]);
    }
    reach_ns
}

/// To the nearest, and halfway up, as `libm::round` does it to numbers of any size.
fn rounded(ns: f64) -> u32 {
    let whole = ns as u32;
    whole + u32::from(ns - f64::from(whole) >= 0.5)
}

/// The points of a curve with one more at the last of so many cylinders, on the last line drawn on,
/// if they end before it.
pub fn drawn_on(mut points: Vec<(u32, f64)>, cylinders: u32) -> Vec<(u32, f64)> {
    let farthest = cylinders.saturating_sub(1);
    if let Some((last, _)) = points.last()
        && *last < farthest
    {
        let ms = interpolate(&points, points.len() - 1, farthest);
        points.push((farthest, ms));
    }
    points
}

/// On the line that ends at point `next`; the first line begins at distance 0, time 0.
fn interpolate(points: &[(u32, f64)], next: usize, distance: u32) -> f64 {
    let (right, right_ms) = points[next];
    if right == distance {
        return right_ms;
    }
    let (left, left_ms) = match next {
        0 => (0, 0.0),
        _ => points[next - 1],
    };
    let along = (f64::from(distance) - f64::from(left)) / (f64::from(right) - f64::from(left));
    left_ms + along * (right_ms - left_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn ns(curve: &SeekCurve) -> Vec<u32> {
        curve.times_ns.to_vec()
    }

    #[test]
    fn a_time_is_rounded_as_everywhere() {
        let mut rng = Rng::stream(1, "round");
        let near = |ns: f64| [ns, f64::next_up(ns), f64::next_down(ns).max(0.0)];
        for _ in 0..10_000 {
            let ns = rng.below(4_000_000_000) as f64;
            for ns in [ns, ns + 0.5].into_iter().flat_map(near) {
                assert_eq!(rounded(ns), libm::round(ns) as u32, "{ns}");
            }
        }
        assert_eq!([0.0, 0.499_999_999_999_999_94, 0.5].map(rounded), [0, 0, 1]);
    }

    #[test]
    fn lines_between_points_and_the_last_one_drawn_on() {
        let points = drawn_on(vec![(1, 1.0), (3, 2.0), (5, 2.5)], 8);
        assert_eq!(points[3], (7, 3.0));
        let curve = SeekCurve::new(&points, 8);
        let expected = [
            0, 1_000_000, 1_500_000, 2_000_000, 2_250_000, 2_500_000, 2_750_000, 3_000_000,
        ];
        assert_eq!(ns(&curve), expected);
        // A curve that reaches the last cylinder stays as it is.
        assert_eq!(drawn_on(points.clone(), 6), points);
    }

    #[test]
    fn a_first_point_beyond_one_begins_at_rest() {
        let curve = SeekCurve::new(&[(2, 1.0), (3, 2.0)], 4);
        assert_eq!(ns(&curve), [0, 500_000, 1_000_000, 2_000_000]);
        assert_eq!(curve.shortest(), Some(Duration(500_000)));
    }

    #[test]
    fn reach_never_falls_with_distance_and_never_exceeds_the_curve() {
        let curve = SeekCurve::new(&[(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0)], 5);
        let reach: Vec<u64> = (0..5)
            .map(|d| curve.seek_at_least(d).0 / 1_000_000)
            .collect();
        assert_eq!(reach, [0, 1, 2, 2, 4]);
        let rising = SeekCurve::new(&[(1, 1.0), (4, 4.0)], 5);
        assert!(
            Arc::ptr_eq(&rising.times_ns, &rising.reach_ns),
            "one table is enough"
        );
    }

    #[test]
    fn the_shortest_movement_is_the_least_that_takes_time() {
        // A measured curve may fall behind its first point; a movement that takes no time is none.
        let falling = SeekCurve::new(&[(1, 2.0), (20, 1.0), (30, 5.0)], 31);
        assert_eq!(falling.shortest(), Some(Duration::from_ms(1)));
        let from_nothing = SeekCurve::new(&[(1, 0.0), (3, 1.0)], 4);
        assert_eq!(from_nothing.shortest(), Some(Duration(500_000)));
        assert_eq!(SeekCurve::new(&[(2, 0.0)], 3).shortest(), None);
    }
}
