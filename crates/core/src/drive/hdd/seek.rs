//! How long the arm moves: a measured curve, spread into one number per distance.
//!
//! Source: the `extracted` seek curves of DiskSim 4.0: straight lines between measured points, the last line
//! drawn on beyond the last point. A table costs 4 bytes a cylinder and makes a look-up one load.

use crate::units::Duration;

/// Seek times of a drive, by distance in cylinders.
#[derive(Clone, Debug)]
pub struct SeekCurve {
    /// Nanoseconds by distance; 0 at 0.
    times_ns: Vec<u32>,
    /// The least of `times_ns` from a distance on: measured curves have dents.
    reach_ns: Vec<u32>,
}

impl SeekCurve {
    /// Spreads points of (distance, milliseconds) over distances below `cylinders`.
    ///
    /// The points are checked by the caller: distances from 1 and rising, at least two of them unless there is
    /// nowhere to go.
    ///
    /// # Errors
    /// The distance whose time is negative or above 4 seconds, with that time in milliseconds.
    pub(super) fn new(points: &[(u32, f64)], cylinders: u32) -> Result<SeekCurve, (u32, f64)> {
        let mut times_ns = vec![0];
        let mut next = 0;
        for distance in 1..cylinders {
            while next + 1 < points.len() && points[next].0 < distance {
                next += 1;
            }
            let ms = interpolate(points, next, distance);
            let ns = libm::round(ms * 1e6);
            if !(0.0..=4e9).contains(&ns) {
                return Err((distance, ms));
            }
            times_ns.push(ns as u32);
        }
        let mut reach_ns = times_ns.clone();
        for distance in (1..reach_ns.len()).rev() {
            let beyond = reach_ns.get(distance + 1).copied().unwrap_or(u32::MAX);
            reach_ns[distance] = reach_ns[distance].min(beyond);
        }
        Ok(SeekCurve { times_ns, reach_ns })
    }

    /// Time to move over `distance` cylinders and come to rest for reading.
    #[inline]
    pub fn time(&self, distance: u32) -> Duration {
        Duration(u64::from(self.times_ns[distance as usize]))
    }

    /// The least time of any movement over `distance` cylinders or more.
    #[inline]
    pub fn reach(&self, distance: u32) -> Duration {
        Duration(u64::from(self.reach_ns[distance as usize]))
    }
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
    let along = f64::from(distance - left) / f64::from(right - left);
    left_ms + along * (right_ms - left_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(curve: &SeekCurve) -> Vec<u32> {
        curve.times_ns.clone()
    }

    #[test]
    fn lines_between_points_and_the_last_one_drawn_on() {
        let curve = SeekCurve::new(&[(1, 1.0), (3, 2.0), (5, 2.5)], 8).unwrap();
        let expected = [
            0, 1_000_000, 1_500_000, 2_000_000, 2_250_000, 2_500_000, 2_750_000, 3_000_000,
        ];
        assert_eq!(ns(&curve), expected);
    }

    #[test]
    fn a_first_point_beyond_one_begins_at_rest() {
        let curve = SeekCurve::new(&[(2, 1.0), (3, 2.0)], 4).unwrap();
        assert_eq!(ns(&curve), [0, 500_000, 1_000_000, 2_000_000]);
    }

    #[test]
    fn reach_never_falls_with_distance_and_never_exceeds_the_curve() {
        let curve = SeekCurve::new(&[(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0)], 5).unwrap();
        let reach: Vec<u64> = (0..5).map(|d| curve.reach(d).0 / 1_000_000).collect();
        assert_eq!(reach, [0, 1, 2, 2, 4]);
    }

    #[test]
    fn a_curve_that_falls_below_zero_names_the_distance() {
        let (distance, ms) = SeekCurve::new(&[(1, 1.0), (2, 0.5)], 9).unwrap_err();
        assert_eq!(distance, 4);
        assert!((ms + 0.5).abs() < 1e-12);
    }
}
