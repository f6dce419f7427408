//! Means and percentiles of response times with their intervals: the one place where these are
//! made.
//!
//! Confidence intervals are by non-overlapping batch means (Law, Simulation Modeling and Analysis,
//! chapter 9). Requests of a class may be spread unevenly over the batches: reads may all come in
//! the morning. Every batch counts by its requests, and batches that tell too little together give
//! no interval.
//!
//! A mean is that of the requests that were answered. A percentile is one of all requests: one that
//! failed was never answered, so it is beyond all that were. Where as many fail as lie beyond it
//! there is none.
//!
//! A percentile is told if at least [`BEYOND_MIN`] requests are expected beyond it. Its interval
//! comes from the same batches: the share of requests at or below it has an interval by batch
//! means, never narrower than that of as many independent requests, and the ends of that are taken
//! back to times (Woodruff, Journal of the American Statistical Association 47, 1952). So requests
//! that depend on each other widen it as they widen that of the mean.

use nearslot_core::metrics::Histogram;
use nearslot_core::units::Duration;

use super::BATCHES;
use super::basis::too_many_fail;
use crate::outcome::Times;

/// Student's t for 95 % and `BATCHES - 1` degrees of freedom (any statistical table: 31).
const STUDENT_T: f64 = 2.039_513;
/// Two-sided 95 % of the normal distribution.
const NORMAL: f64 = 1.959_963_985;
/// With fewer batches of the same size than this, or what tells as much, there is no interval.
const EVEN_BATCHES_MIN: f64 = 8.0;
/// With fewer requests in a batch than this, a batch mean means nothing.
const BATCH_REQUESTS_MIN: u64 = 10;
/// Requests that any statistic with an interval needs.
const NEEDED_MIN: u64 = BATCHES as u64 * BATCH_REQUESTS_MIN;
/// A percentile is told if so many requests are expected beyond it: with fewer, its interval would
/// have no upper end.
const BEYOND_MIN: f64 = 5.0;

/// Half the width of the 95 % confidence interval of the mean of batch means, all of which count
/// the same.
pub fn half_width(means: &[f64; BATCHES]) -> f64 {
    STUDENT_T * standard_error(means)
}

/// Standard error of the mean of values, all of which count the same.
pub(crate) fn standard_error<const N: usize>(values: &[f64; N]) -> f64 {
    let mean = values.iter().sum::<f64>() / N as f64;
    let square = |value: &f64| (value - mean) * (value - mean);
    let variance = values.iter().map(square).sum::<f64>() / (N - 1) as f64;
    (variance / N as f64).sqrt()
}

/// A mean over batches that have so many requests each, and half the width of its 95 % confidence
/// interval.
///
/// The mean over all requests is a ratio of two sums, and its variance that of a ratio (Cochran,
/// Sampling Techniques, 3rd edition, 1977, section 6.4). Student's t has as many degrees of freedom
/// as even batches would have that tell as much. For even batches it is [`half_width`]. Infinite if
/// fewer than [`EVEN_BATCHES_MIN`] would.
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

/// Student's t for 95 % and at least seven degrees of freedom, which need not be whole, to within
/// 1e-4 (Abramowitz and Stegun 26.7.5).
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
    /// In milliseconds; infinite for a percentile that there is not, as too many requests failed,
    /// and for a mean of which so many failed that the others are too few to tell it.
    pub(crate) ms: f64,
    /// Lower end of its interval, infinite where there is not even that; `None` if that would reach
    /// below 0: then a few of the batches decide the mean, and there is no interval.
    pub(crate) low_ms: Option<f64>,
    /// Upper end; `None` also if it lies beyond what was seen, or was never answered.
    pub(crate) high_ms: Option<f64>,
}

impl Estimate {
    /// Surely beyond every limit.
    const NEVER: Estimate = Estimate {
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

impl TooFew {
    /// Whether it takes more of them than the mean does, as it is a statistic of the tail.
    pub(crate) fn is_of_the_tail(&self) -> bool {
        self.needed > NEEDED_MIN
    }
}

/// Response times of a class of requests, batch by batch and together.
#[derive(Clone, Copy)]
pub(crate) struct Responses<'a> {
    /// The batches of each kind of requests that is in it.
    pub(super) kinds: [&'a [Histogram]; 2],
    /// How many of each batch failed.
    pub(super) failed: [u64; BATCHES],
    /// What all of them have together that were answered.
    pub(super) all: &'a Histogram,
}

impl Responses<'_> {
    /// What the kinds have in a batch, added up.
    fn in_batch<T: std::iter::Sum>(self, batch: usize, of: impl Fn(&Histogram) -> T) -> T {
        let kinds = self.kinds.iter().filter_map(|kind| kind.get(batch));
        kinds.map(of).sum()
    }

    /// How many requests of each batch were answered.
    fn answered(self) -> [u64; BATCHES] {
        std::array::from_fn(|batch| self.in_batch(batch, Histogram::count))
    }

    /// The same with those that failed.
    fn asked(self) -> [u64; BATCHES] {
        let answered = self.answered();
        std::array::from_fn(|batch| answered[batch] + self.failed[batch])
    }

    fn mean_ms(self, batch: usize) -> f64 {
        let ns = self.in_batch(batch, Histogram::sum_ns) as f64;
        ns / self.in_batch(batch, Histogram::count) as f64 / 1e6
    }

    /// The mean of each batch, if every one has enough requests.
    pub(super) fn means_ms(self) -> Option<[f64; BATCHES]> {
        let enough = |count: &u64| *count >= BATCH_REQUESTS_MIN;
        let all = self.answered().iter().all(enough);
        all.then(|| std::array::from_fn(|batch| self.mean_ms(batch)))
    }

    /// The mean of those that were answered, or the percentile of this rank of all, with its
    /// interval.
    ///
    /// # Errors
    /// The requests are too few for that, or for its interval.
    pub(crate) fn estimate(self, rank: Option<f64>) -> Result<Estimate, TooFew> {
        match rank {
            None => self.mean(),
            Some(rank) => self.percentile(rank),
        }
    }

    /// The same for an objective. A mean is of no use for one if so many failed that a percentile
    /// would not hold either.
    ///
    /// # Errors
    /// The requests are too few, those that failed among them.
    pub(crate) fn objective(self, rank: Option<f64>) -> Result<Estimate, TooFew> {
        let asked = self.asked();
        if rank.is_none() && too_many_fail(self.failed.iter().sum(), asked.iter().sum()) {
            check(&asked, None)?;
            return Ok(Estimate::NEVER);
        }
        self.estimate(rank)
    }

    fn mean(self) -> Result<Estimate, TooFew> {
        let counts = self.answered();
        check(&counts, None)?;
        let ms = self.all.mean_ns() / 1e6;
        let half = half_of(&counts, |batch| self.mean_ms(batch));
        let told = half <= ms;
        Ok(Estimate {
            ms,
            low_ms: told.then_some(ms - half),
            high_ms: told.then_some(ms + half),
        })
    }

    fn percentile(self, rank: f64) -> Result<Estimate, TooFew> {
        let (answered, counts) = (self.answered(), self.asked());
        check(&counts, Some(rank))?;
        let at = self.at(rank);
        let half = half_of(&counts, |batch| {
            let at_most = match at {
                Some(at) => self.in_batch(batch, |kind| kind.at_most(at)),
                None => answered[batch],
            };
            at_most as f64 / counts[batch] as f64
        });
        let total = counts.iter().sum::<u64>() as f64;
        let half = half.max(NORMAL * (rank * (1.0 - rank) / total).sqrt());
        let ms = |at: Option<Duration>| at.map_or(f64::INFINITY, Duration::as_ms);
        let high = (rank + half < 1.0).then(|| self.at(rank + half));
        Ok(Estimate {
            ms: ms(at),
            low_ms: Some(ms(self.at((rank - half).max(0.0)))),
            high_ms: high.flatten().map(Duration::as_ms),
        })
    }

    /// The response time of this rank among all requests; `None` if it was never answered.
    fn at(self, rank: f64) -> Option<Duration> {
        at(self.all, self.failed.iter().sum(), rank)
    }

    /// Both ends of an interval, if it has both.
    fn interval(self, rank: Option<f64>) -> Option<[f64; 2]> {
        let estimate = self.estimate(rank).ok()?;
        let high_ms = estimate.high_ms.filter(|_| estimate.ms.is_finite())?;
        Some([estimate.low_ms?, high_ms])
    }

    /// The distribution, with intervals if batches tell how sure it is.
    pub(super) fn times(self, batches_tell: bool) -> Times {
        let times = times(self.all, self.failed.iter().sum());
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

/// Half the interval of what each batch has, weighted by how many requests it has.
fn half_of(counts: &[u64; BATCHES], of: impl Fn(usize) -> f64) -> f64 {
    let value = |batch: usize| if counts[batch] > 0 { of(batch) } else { 0.0 };
    weighted(&std::array::from_fn(value), counts).1
}

/// Whether so many requests in each batch are enough for a statistic with an interval.
fn check(counts: &[u64; BATCHES], rank: Option<f64>) -> Result<(), TooFew> {
    let few = TooFew {
        requests: counts.iter().sum(),
        needed: rank.map_or(0, tail_needs).max(NEEDED_MIN),
        batches: even_batches(counts),
        batches_needed: EVEN_BATCHES_MIN,
    };
    if few.requests < few.needed || few.batches < few.batches_needed {
        return Err(few);
    }
    Ok(())
}

/// The response time of this rank among so many that were answered and so many that failed; `None`
/// if as many failed as lie beyond it.
fn at(answered: &Histogram, failed: u64, rank: f64) -> Option<Duration> {
    if failed == 0 {
        return Some(answered.quantile(rank));
    }
    let all = (answered.count() + failed) as f64;
    // A rank is rounded, and so is its product: a hundredth of 3,000 is 30, whatever the last bits
    // say.
    let answers = failed as f64 + 1e-6 < (1.0 - rank) * all;
    answers.then(|| answered.quantile((rank * all / answered.count() as f64).min(1.0)))
}

/// How many requests it takes to tell a percentile.
fn tail_needs(rank: f64) -> u64 {
    // The difference is rounded, and so is the quotient: 5 / (1 - 0.99) is 500, whatever the last
    // bits say.
    (BEYOND_MIN / (1.0 - rank) - 1e-6).ceil() as u64
}

/// The distribution of those that were answered and of so many that failed; without intervals.
pub(crate) fn times(answered: &Histogram, failed: u64) -> Times {
    let ms = |rank| at(answered, failed, rank).map(Duration::as_ms);
    let enough = |rank: &f64| answered.count() + failed >= tail_needs(*rank);
    let tail = |rank: f64| Some(rank).filter(enough).and_then(ms);
    Times {
        mean: answered.mean_ns() / 1e6,
        p50: ms(0.5),
        p95: tail(0.95),
        p99: tail(0.99),
        p999: tail(0.999),
        max: answered.max().as_ms(),
        ..Times::default()
    }
}
