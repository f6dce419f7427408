//! Counting without allocation: a histogram of durations and running sums.
//!
//! The histogram is log-linear (256 steps an octave), so a percentile is at most 0.4 % above the
//! true one and recording costs a shift and an increment. Means are exact: they come from integer
//! sums.

use crate::units::Duration;

/// Sub-steps of an octave, as a power of two.
const STEP_BITS: u32 = 8;
const STEPS: u64 = 1 << STEP_BITS;
/// Steps for every duration a `u64` holds.
const BUCKETS: usize = ((64 - STEP_BITS as usize) + 1) << STEP_BITS;

/// How durations are distributed.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            sum_ns: 0,
            max: Duration::ZERO,
        }
    }
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, duration: Duration) {
        self.counts[bucket(duration.0)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(duration.0);
        self.max = self.max.max(duration);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest; zero if there was none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// All of them added up, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact arithmetic mean in nanoseconds; zero if there was none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum_ns as f64 / self.count as f64
        }
    }

    /// The duration that a share `rank` (in `0..=1`) does not exceed, by nearest rank; zero if
    /// there was none.
    pub fn quantile(&self, rank: f64) -> Duration {
        assert!((0.0..=1.0).contains(&rank), "no such rank: {rank}");
        let wanted = (libm::ceil(rank * self.count as f64) as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration(highest(index)).min(self.max);
            }
        }
        self.max
    }

    /// How many were no longer than this, as far as steps tell them apart.
    pub fn at_most(&self, duration: Duration) -> u64 {
        self.counts[..=bucket(duration.0)].iter().sum()
    }

    /// What several have together.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Histogram {
        let mut all = Histogram::default();
        parts.into_iter().for_each(|part| all.merge(part));
        all
    }

    /// Adds all that another histogram counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        // Beyond its longest there is nothing, and no page of it was touched.
        let filled = &other.counts[..=bucket(other.max.0)];
        for (mine, theirs) in self.counts.iter_mut().zip(filled) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max = self.max.max(other.max);
    }

    /// The steps that hold anything: upper bound and count, rising.
    pub fn steps(&self) -> impl Iterator<Item = (Duration, u64)> {
        let filled = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| (Duration(highest(index)).min(self.max), *count))
    }
}

#[inline]
fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - STEP_BITS;
    (((u64::from(shift) + 1) << STEP_BITS) + ((ns >> shift) - STEPS)) as usize
}

/// The longest duration that a bucket counts.
fn highest(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let shift = (index >> STEP_BITS) - 1;
    let lowest = (STEPS + (index & (STEPS - 1))) << shift;
    lowest + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_without_gap_or_overlap() {
        let mut below = 0;
        for index in 1..BUCKETS {
            let first = highest(index - 1) + 1;
            assert_eq!((bucket(first), bucket(highest(index))), (index, index));
            assert!(highest(index) >= first);
            assert!(first > below);
            below = first;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_close_and_the_mean_exact() {
        let mut histogram = Histogram::default();
        for us in 1..=10_000 {
            histogram.record(Duration::from_us(us));
        }
        assert!((histogram.mean_ns() - 5_000_500.0).abs() < 1e-6);
        for (rank, us) in [
            (0.5, 5_000.0),
            (0.99, 9_900.0),
            (0.999, 9_990.0),
            (1.0, 10_000.0),
        ] {
            let found = histogram.quantile(rank).0 as f64 / 1_000.0;
            assert!(found >= us, "{rank}: {found}");
            assert!(found <= us * 1.004, "{rank}: {found}");
        }
    }

    #[test]
    fn a_quantile_has_its_share_at_or_below_it() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|us| histogram.record(Duration::from_us(us)));
        let at_most = histogram.at_most(histogram.quantile(0.99));
        assert!((9_900..=9_940).contains(&at_most), "{at_most}");
        assert_eq!(histogram.at_most(Duration(u64::MAX)), 10_000);
        assert_eq!(histogram.at_most(Duration::ZERO), 0);
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        one.record(Duration(5));
        two.record(Duration(7_000_000));
        one.merge(&two);
        assert_eq!((one.count(), one.max()), (2, Duration(7_000_000)));
        assert_eq!(one.steps().count(), 2);
    }
}
