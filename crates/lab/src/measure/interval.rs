//! Means and percentiles of response times with their intervals: the one place where these are made.
//!
//! Confidence intervals are by non-overlapping batch means (Law, Simulation Modeling and Analysis, chapter 9). Requests of a
//! class may be spread unevenly over the batches: reads may all come in the morning. Every batch counts by its requests, and
//! batches that tell too little together give no interval.
//!
//! A percentile is told if at least [`BEYOND_MIN`] requests are expected beyond it. Its interval comes from the same
//! batches: the share of requests at or below it has an interval by batch means, never narrower than that of as many
//! independent requests, and the ends of that are taken back to times (Woodruff, Journal of the American Statistical
//! Association 47, 1952). So requests that depend on each other widen it as they widen that of the mean.

use nearslot_core::metrics::Histogram;

use super::BATCHES;
use crate::outcome::Times;

/// Student's t for 95 % and `BATCHES - 1` degrees of freedom (any statistical table: 31).
const STUDENT_T: f64 = 2.039_513;
/// Two-sided 95 % of the normal distribution.
const NORMAL: f64 = 1.959_963_985;
/// With fewer batches of the same size than this, or what tells as much, there is no interval.
const EVEN_BATCHES_MIN: f64 = 8.0;
/// With fewer requests in a batch than this, a batch mean means nothing.
const BATCH_REQUESTS_MIN: u64 = 10;
/// A percentile is told if so many requests are expected beyond it: with fewer, its interval would have no upper end.
const BEYOND_MIN: f64 = 5.0;

/// Half the width of the 95 % confidence interval of the mean of batch means, all of which count the same.
pub fn half_width(means: &[f64; BATCHES]) -> f64 {
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let square = |value: &f64| (value - mean) * (value - mean);
    let variance = means.iter().map(square).sum::<f64>() / (BATCHES - 1) as f64;
    STUDENT_T * (variance / BATCHES as f64).sqrt()
}

/// A mean over batches that have so many requests each, and half the width of its 95 % confidence interval.
///
/// The mean over all requests is a ratio of two sums, and its variance that of a ratio (Cochran, Sampling Techniques,
/// 3rd edition, 1977, section 6.4). Student's t has as many degrees of freedom as even batches would have that tell as much.
/// For even batches it is [`half_width`]. Infinite if fewer than [`EVEN_BATCHES_MIN`] would.
pub(crate) fn weighted(values: &[f64; BATCHES], weights: &[u64; BATCHES]) -> (f64, f64) {
    let total = weights.iter().sum::<u64>() as f64;
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        let pairs = values.iter().zip(weights);
        pairs
            .map(|(value, weight)| of(*value, *weight as f64))
            .sum::<f64>()
    };
    let mean = sum(&|value, weight| value * weight) / total;
    let even = even_batches(weights);
    if even < EVEN_BATCHES_MIN || total <= 0.0 {
        return (mean, f64::INFINITY);
    }
    let square = sum(&|value, weight| (weight * (value - mean)).powi(2));
    let error = (square * BATCHES as f64 / (BATCHES - 1) as f64).sqrt() / total;
    (mean, student(even - 1.0) * error)
}

/// Student's t for 95 % and at least seven degrees of freedom, which need not be whole, to within 1e-4
/// (Abramowitz and Stegun 26.7.5).
fn student(freedom: f64) -> f64 {
    let power = |exponent| NORMAL.powi(exponent);
    let (z, cube, fifth) = (power(1), power(3), power(5));
    let (seventh, ninth) = (power(7), power(9));
    let terms = [
        z,
        (cube + z) / 4.0,
        (5.0 * fifth + 16.0 * cube + 3.0 * z) / 96.0,
        (3.0 * seventh + 19.0 * fifth + 17.0 * cube - 15.0 * z) / 384.0,
        (79.0 * ninth + 776.0 * seventh + 1_482.0 * fifth - 1_920.0 * cube - 945.0 * z) / 92_160.0,
    ];
    terms
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum / freedom + term)
}

/// Batches of the same size that would tell as much as these.
fn even_batches(weights: &[u64; BATCHES]) -> f64 {
    let total = weights.iter().sum::<u64>() as f64;
    let squares: f64 = weights.iter().map(|weight| (*weight as f64).powi(2)).sum();
    if squares > 0.0 {
        total * total / squares
    } else {
        0.0
    }
}

/// A statistic of response times and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// In milliseconds.
    pub(crate) ms: f64,
    /// Lower end of its interval; `None` if that would reach below 0: then a few of the batches decide the mean, and there is
    /// no interval.
    pub(crate) low_ms: Option<f64>,
    /// Upper end; `None` also if it lies beyond what was seen.
    pub(crate) high_ms: Option<f64>,
}

impl Estimate {
    /// The percentile where more requests fail than lie beyond it.
    pub(crate) const NEVER: Estimate = Estimate {
        ms: f64::INFINITY,
        low_ms: Some(f64::INFINITY),
        high_ms: None,
    };
}

/// Too few requests of a kind for a statistic with an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooFew {
    /// How many were measured.
    pub(crate) requests: u64,
    /// How many it takes.
    pub(crate) needed: u64,
    /// Over how many of the batches they are spread, as if each of these had the same number.
    pub(crate) batches: f64,
    /// Over how many they must be.
    pub(crate) batches_needed: f64,
}

/// Response times of a class of requests, batch by batch and together.
#[derive(Clone, Copy)]
pub(crate) struct Responses<'a> {
    /// The batches of each kind of requests that is in it.
    pub(super) kinds: [&'a [Histogram]; 2],
    /// What all of them have together.
    pub(super) all: &'a Histogram,
}

impl Responses<'_> {
    /// What the kinds have in a batch, added up.
    fn in_batch<T: std::iter::Sum>(self, batch: usize, of: impl Fn(&Histogram) -> T) -> T {
        let kinds = self.kinds.iter().filter_map(|kind| kind.get(batch));
        kinds.map(of).sum()
    }

    /// How many requests each batch has.
    fn counts(self) -> [u64; BATCHES] {
        std::array::from_fn(|batch| self.in_batch(batch, Histogram::count))
    }

    fn mean_ms(self, batch: usize) -> f64 {
        let ns = self.in_batch(batch, Histogram::sum_ns) as f64;
        ns / self.in_batch(batch, Histogram::count) as f64 / 1e6
    }

    /// The mean of each batch, if every one has enough requests.
    pub(super) fn means_ms(self) -> Option<[f64; BATCHES]> {
        let enough = |count: &u64| *count >= BATCH_REQUESTS_MIN;
        let all = self.counts().iter().all(enough);
        all.then(|| std::array::from_fn(|batch| self.mean_ms(batch)))
    }

    /// The mean, or the percentile of this rank, with its interval.
    ///
    /// # Errors
    /// The requests are too few for that, or for its interval.
    pub(crate) fn estimate(self, rank: Option<f64>) -> Result<Estimate, TooFew> {
        let counts = self.counts();
        self.check(&counts, rank)?;
        let half = |of: &dyn Fn(usize) -> f64| {
            let value = |batch: usize| if counts[batch] > 0 { of(batch) } else { 0.0 };
            weighted(&std::array::from_fn(value), &counts).1
        };
        Ok(match rank {
            None => {
                let ms = self.all.mean_ns() / 1e6;
                let half = half(&|batch| self.mean_ms(batch));
                let told = half <= ms;
                Estimate {
                    ms,
                    low_ms: told.then_some(ms - half),
                    high_ms: told.then_some(ms + half),
                }
            }
            Some(rank) => {
                let at = self.all.quantile(rank);
                let share = |batch| {
                    let at_most = self.in_batch(batch, |kind| kind.at_most(at));
                    at_most as f64 / counts[batch] as f64
                };
                let (low_ms, high_ms) = tail_ends(self.all, rank, half(&share));
                Estimate {
                    ms: at.as_ms(),
                    low_ms: Some(low_ms),
                    high_ms,
                }
            }
        })
    }

    /// Whether these are enough requests for a statistic with an interval.
    fn check(self, counts: &[u64; BATCHES], rank: Option<f64>) -> Result<(), TooFew> {
        let least = BATCHES as u64 * BATCH_REQUESTS_MIN;
        let few = TooFew {
            requests: self.all.count(),
            needed: rank.map_or(0, tail_needs).max(least),
            batches: even_batches(counts),
            batches_needed: EVEN_BATCHES_MIN,
        };
        if few.requests < few.needed || few.batches < few.batches_needed {
            return Err(few);
        }
        Ok(())
    }

    /// Both ends of an interval, if it has both.
    fn interval(self, rank: Option<f64>) -> Option<[f64; 2]> {
        let estimate = self.estimate(rank).ok()?;
        Some([estimate.low_ms?, estimate.high_ms?])
    }

    /// The distribution, with intervals if batches tell how sure it is.
    pub(super) fn times(self, batches_tell: bool) -> Times {
        let times = times(self.all);
        if !batches_tell {
            return times;
        }
        Times {
            ci95: self.interval(None),
            p99_ci95: self.interval(Some(0.99)),
            p999_ci95: self.interval(Some(0.999)),
            ..times
        }
    }
}

/// The ends of the interval of a percentile in milliseconds, if the share of requests at or below it is sure to within `half`; the
/// upper one if it was seen.
fn tail_ends(all: &Histogram, rank: f64, half: f64) -> (f64, Option<f64>) {
    let independent = NORMAL * (rank * (1.0 - rank) / all.count() as f64).sqrt();
    let half = half.max(independent);
    let end = |rank: f64| all.quantile(rank).as_ms();
    let high = (rank + half < 1.0).then(|| end(rank + half));
    (end((rank - half).max(0.0)), high)
}

/// How many requests it takes to tell a percentile.
fn tail_needs(rank: f64) -> u64 {
    // The difference is rounded, and so is the quotient: 5 / (1 - 0.99) is 500, whatever the last bits say.
    (BEYOND_MIN / (1.0 - rank) - 1e-6).ceil() as u64
}

pub(crate) fn times(histogram: &Histogram) -> Times {
    let at = |rank| histogram.quantile(rank).as_ms();
    let tail = |rank: f64| (histogram.count() >= tail_needs(rank)).then(|| at(rank));
    Times {
        mean: histogram.mean_ns() / 1e6,
        p50: at(0.5),
        p95: tail(0.95),
        p99: tail(0.99),
        p999: tail(0.999),
        max: histogram.max().as_ms(),
        ..Times::default()
    }
}
