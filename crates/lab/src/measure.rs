//! Measuring a run: what its requests and its drive spent their time on.
//!
//! Requests are told apart by their number (order of arrival), which is the same under every policy. The first few are
//! cut off as warm-up, and the rest falls into [`BATCHES`] batches by number: so two runs of one trace cut the same
//! requests, and their batch means can be compared pair by pair. Confidence intervals are by non-overlapping batch means
//! (Law, Simulation Modeling and Analysis, chapter 9). O(1) per request, nothing allocated.
//!
//! A percentile is told if at least [`BEYOND_MIN`] requests are expected beyond it. Its interval comes from the same
//! batches: the share of requests at or below it has an interval by batch means, never narrower than that of as many
//! independent requests, and the ends of that are taken back to times (Woodruff, Journal of the American Statistical
//! Association 47, 1952). So requests that depend on each other widen it as they widen that of the mean.
//!
//! A queue that grew is told by its length at five arrivals, from the first measured one to the last: if it grew from each to
//! the next by at least [`GROWTH_MIN`] of the requests that came between, the drives did not keep up.

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, Cost, DriveDone};
use nearslot_core::metrics::Histogram;
use nearslot_core::request::{Op, Reply, Request};
use nearslot_core::stack::Stack;
use nearslot_core::units::Instant;

use crate::objective::Class;
use crate::outcome::{Run, Times};
use crate::series::Timeseries;
use crate::sim::Observer;

/// Batches of a run: enough for a stable variance, few enough that neighbours hardly depend on each other.
pub const BATCHES: usize = 32;
/// Student's t for 95 % and `BATCHES - 1` degrees of freedom (any statistical table: 31).
const STUDENT_T: f64 = 2.039_513;
/// With fewer batches of the same size than this, or what tells as much, there is no interval.
const EVEN_BATCHES_MIN: f64 = 8.0;
/// With fewer requests in a batch than this, a batch mean means nothing.
const BATCH_REQUESTS_MIN: u64 = 10;

/// Which requests a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Requests the workload will make.
    pub requests: u64,
    /// Of these, how many at the front are warm-up.
    pub warmup: u64,
}

impl Window {
    /// The batch of a measured request.
    pub(crate) fn batch(self, number: u64) -> usize {
        let measured = u128::from(self.requests - self.warmup);
        let place = u128::from(number - self.warmup) * BATCHES as u128 / measured;
        place.min(BATCHES as u128 - 1) as usize
    }

    /// The numbers of all requests of a batch.
    pub(crate) fn numbers(self, batch: usize) -> Range<u64> {
        let measured = u128::from(self.requests - self.warmup);
        let start = |batch: usize| {
            self.warmup + (batch as u128 * measured).div_ceil(BATCHES as u128) as u64
        };
        start(batch)..start(batch + 1)
    }
}

/// A percentile is told if so many requests are expected beyond it: with fewer, its interval would have no upper end.
const BEYOND_MIN: f64 = 5.0;
/// Two-sided 95 % of the normal distribution.
const NORMAL: f64 = 1.959_964;
/// A queue that takes less than this share of what comes is not said to grow.
const GROWTH_MIN: f64 = 0.02;
/// Nor is one shorter than this.
const GROWTH_QUEUE_MIN: u64 = 64;
/// Arrivals at which the length of the queue is noted.
const LEVELS: usize = 5;

/// Times of one class of requests.
#[derive(Clone)]
struct Recorded {
    /// Response times by batch.
    response: Vec<Histogram>,
    wait: Histogram,
    service: Histogram,
}

impl Default for Recorded {
    fn default() -> Recorded {
        Recorded {
            // One by one: copies of an empty histogram would be written out, where new ones are pages not yet touched.
            response: (0..BATCHES).map(|_| Histogram::default()).collect(),
            wait: Histogram::default(),
            service: Histogram::default(),
        }
    }
}

/// What batches say, if every one has enough requests.
fn by_batch(batches: &[Histogram], of: impl Fn(&Histogram) -> f64) -> Option<[f64; BATCHES]> {
    let enough = batches
        .iter()
        .all(|batch| batch.count() >= BATCH_REQUESTS_MIN);
    enough.then(|| std::array::from_fn(|batch| of(&batches[batch])))
}

/// The length of the queue at some arrivals.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    noted: [(Instant, u64); LEVELS],
    count: usize,
}

impl Levels {
    /// By how many requests a second it grew, if it grew all the time; `measured` arrivals lie between first and last.
    fn growth_rps(&self, measured: u64) -> Option<f64> {
        // Fewer arrivals than levels tell nothing.
        if self.count < LEVELS {
            return None;
        }
        let least = GROWTH_MIN * measured as f64 / (LEVELS - 1) as f64;
        let grew = |pair: &[(Instant, u64)]| pair[1].1 as f64 - pair[0].1 as f64 >= least.max(1.0);
        let [first, .., last] = self.noted;
        let seconds = last.0.since(first.0).0 as f64 / 1e9;
        let grows = last.1 >= GROWTH_QUEUE_MIN && seconds > 0.0 && self.noted.windows(2).all(grew);
        grows.then(|| (last.1 - first.1) as f64 / seconds)
    }
}

/// Half the width of the 95 % confidence interval of the mean of batch means.
pub fn half_width(means: &[f64; BATCHES]) -> f64 {
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let square = |value: &f64| (value - mean) * (value - mean);
    let variance = means.iter().map(square).sum::<f64>() / (BATCHES - 1) as f64;
    STUDENT_T * (variance / BATCHES as f64).sqrt()
}

/// A statistic of response times and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// In milliseconds.
    pub(crate) ms: f64,
    /// Lower end of its interval.
    pub(crate) low_ms: f64,
    /// Upper end; `None` if it lies beyond what was seen.
    pub(crate) high_ms: Option<f64>,
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

/// A mean over batches that have so many requests each, and half the width of its 95 % confidence interval.
///
/// Batches of a class of requests may be uneven: reads may all come in the morning. The mean over all requests is then a ratio of
/// two sums, and its variance that of a ratio (Cochran, Sampling Techniques, 3rd edition, 1977, section 6.4). Student's t has as
/// many degrees of freedom as even batches would have that tell as much (Abramowitz and Stegun 26.7.5). For even batches it is
/// [`half_width`]. Infinite if fewer than [`EVEN_BATCHES_MIN`] would.
pub(crate) fn weighted(values: &[f64; BATCHES], weights: &[u64; BATCHES]) -> (f64, f64) {
    let total = weights.iter().sum::<u64>() as f64;
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        let pairs = values.iter().zip(weights);
        pairs
            .map(|(value, weight)| of(*value, *weight as f64))
            .sum::<f64>()
    };
    let mean = sum(&|value, weight| value * weight) / total;
    let freedom = even_batches(weights) - 1.0;
    if freedom < EVEN_BATCHES_MIN - 1.0 || total <= 0.0 {
        return (mean, f64::INFINITY);
    }
    let (z, cube, fifth) = (NORMAL, NORMAL.powi(3), NORMAL.powi(5));
    let student = z
        + (cube + z) / (4.0 * freedom)
        + (5.0 * fifth + 16.0 * cube + 3.0 * z) / (96.0 * freedom * freedom);
    let square = sum(&|value, weight| (weight * (value - mean)).powi(2));
    let error = (square * BATCHES as f64 / (BATCHES - 1) as f64).sqrt() / total;
    (mean, student * error)
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

/// Observes a run and sums it up.
pub struct Recorder {
    window: Window,
    reads: Recorded,
    writes: Recorded,
    /// Requests answered, by `Op` code.
    operations: [u64; Op::ALL.len()],
    cost: CostSum,
    /// When the measured part began; the arrival of its first request.
    since: Option<Instant>,
    replied: u64,
    /// Of these, warm-up.
    warmup_replied: u64,
    /// Reads and writes answered since the measured part began, those of the warm-up that were still in the system included:
    /// the drives worked for them too.
    answered: u64,
    /// What they read and wrote.
    bytes: u64,
    in_system: u64,
    /// Of these, by `Op` code.
    present: [u64; Op::ALL.len()],
    queue_max: u64,
    /// Requests in the system, integrated over the time of the measured part.
    request_ns: u128,
    integrated: Instant,
    drives: u16,
    /// Commands that run.
    running: u32,
    /// Their number, integrated over the time of the measured part.
    busy_ns: u128,
    series: Option<Timeseries>,
    levels: Levels,
    /// The number of the request at whose arrival the queue is noted next.
    next_level: u64,
    /// The batch of the last request, and the numbers of all its requests.
    batch: usize,
    batch_numbers: Range<u64>,
}

/// Costs summed over many requests.
#[derive(Clone, Copy, Default)]
struct CostSum {
    overhead_ns: u128,
    seek_ns: u128,
    rotation_ns: u128,
    transfer_ns: u128,
}

impl CostSum {
    #[inline]
    fn add(&mut self, cost: &Cost) {
        self.overhead_ns += u128::from(cost.overhead.0);
        self.seek_ns += u128::from(cost.seek.0);
        self.rotation_ns += u128::from(cost.rotation.0);
        self.transfer_ns += u128::from(cost.transfer.0);
    }
}

impl Recorder {
    /// Measures the requests of `window` over so many drives; `series` collects what plots need.
    pub fn new(window: Window, drives: u16, series: Option<Timeseries>) -> Recorder {
        assert!(
            window.warmup <= window.requests,
            "more warm-up than requests"
        );
        Recorder {
            window,
            reads: Recorded::default(),
            writes: Recorded::default(),
            operations: [0; Op::ALL.len()],
            cost: CostSum::default(),
            since: None,
            replied: 0,
            warmup_replied: 0,
            answered: 0,
            bytes: 0,
            in_system: 0,
            present: [0; Op::ALL.len()],
            queue_max: 0,
            request_ns: 0,
            integrated: Instant::ZERO,
            drives,
            running: 0,
            busy_ns: 0,
            series,
            levels: Levels::default(),
            next_level: window.warmup,
            batch: 0,
            batch_numbers: 0..0,
        }
    }

    /// Whether batches tell how sure a mean is. If the run was cut short, the last ones have fewer requests or none; if the
    /// queue grew, they differ by how far the load had come.
    fn batches_tell(&self) -> bool {
        self.in_system == 0 && self.growth_rps().is_none()
    }

    /// Means of response times per batch, reads and writes together.
    pub fn batch_means_ms(&self) -> Option<[f64; BATCHES]> {
        if !self.batches_tell() {
            return None;
        }
        let both = merged(&self.reads.response, &self.writes.response);
        by_batch(&both, |batch| batch.mean_ns() / 1e6)
    }

    /// The mean, or the percentile of this rank, of the requests of a class.
    ///
    /// # Errors
    /// They are too few for that, or for its interval.
    pub(crate) fn estimate(&self, of: Class, rank: Option<f64>) -> Result<Estimate, TooFew> {
        let batches = match of {
            Class::All => merged(&self.reads.response, &self.writes.response),
            Class::Read => self.reads.response.clone(),
            Class::Write => self.writes.response.clone(),
        };
        let all = sum(&batches);
        let weights = std::array::from_fn(|batch| batches[batch].count());
        let few = TooFew {
            requests: all.count(),
            needed: rank
                .map_or(0, tail_needs)
                .max(BATCHES as u64 * BATCH_REQUESTS_MIN),
            batches: even_batches(&weights),
            batches_needed: EVEN_BATCHES_MIN,
        };
        if few.requests < few.needed || few.batches < few.batches_needed {
            return Err(few);
        }
        let half = |of: &dyn Fn(&Histogram) -> f64| {
            let even = by_batch(&batches, of).map(|values| half_width(&values));
            let values = std::array::from_fn(|batch| match weights[batch] {
                0 => 0.0,
                _ => of(&batches[batch]),
            });
            even.unwrap_or_else(|| weighted(&values, &weights).1)
        };
        let (ms, (low_ms, high_ms)) = match rank {
            None => {
                let half = half(&|batch| batch.mean_ns() / 1e6);
                let ms = all.mean_ns() / 1e6;
                (ms, (ms - half, Some(ms + half)))
            }
            Some(rank) => {
                let at = all.quantile(rank);
                let half = half(&|batch| batch.at_most(at) as f64 / batch.count() as f64);
                (at.as_ms(), tail_ends(&all, rank, half))
            }
        };
        Ok(Estimate {
            ms,
            low_ms,
            high_ms,
        })
    }

    /// Whether any request after the warm-up was read or written and answered.
    pub fn measured_any(&self) -> bool {
        self.reads.count() + self.writes.count() > 0
    }

    /// Fills in what was measured; what else a run has is the caller's.
    pub fn finish(mut self, end: Instant, label: String, config: serde_json::Value) -> Run {
        self.integrate(end);
        let tells = self.batches_tell();
        let duration = end.since(self.since.unwrap_or(end)).0 as f64 / 1e9;
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        let measured = all.count();
        // Of a run that took no time nothing is told per second.
        let per_second = |amount: f64| {
            if duration > 0.0 {
                amount / duration
            } else {
                0.0
            }
        };
        let per_request = |ns: u128| ns as f64 / 1e6 / measured.max(1) as f64;
        let share = |ns: f64| per_second(ns / 1e9);
        let class = |class: &Recorded, times: fn(&Recorded) -> Times| {
            (class.count() > 0).then(|| times(class))
        };
        let series = self
            .series
            .take()
            .map(|series| series.finish(end, &all.responses()));
        let mut run = Run {
            label,
            config,
            requests: self.replied,
            warmup_requests: self.warmup_replied,
            operations: self.operations_by_name(),
            pending: self.in_system,
            duration_s: duration,
            throughput_rps: per_second(self.answered as f64),
            throughput_mb_s: per_second(self.bytes as f64 / 1e6),
            response_ms: all.response_times(),
            read_response_ms: class(&self.reads, Recorded::response_times),
            write_response_ms: class(&self.writes, Recorded::response_times),
            wait_ms: all.wait_times(),
            read_wait_ms: class(&self.reads, Recorded::wait_times),
            write_wait_ms: class(&self.writes, Recorded::wait_times),
            service_ms: all.service_times(),
            read_service_ms: class(&self.reads, Recorded::service_times),
            write_service_ms: class(&self.writes, Recorded::service_times),
            seek_ms: per_request(self.cost.seek_ns),
            rotation_ms: per_request(self.cost.rotation_ns),
            transfer_ms: per_request(self.cost.transfer_ns),
            overhead_ms: per_request(self.cost.overhead_ns),
            utilisation: share(self.busy_ns as f64) / f64::from(self.drives),
            queue_mean: share(self.request_ns as f64),
            queue_max: self.queue_max,
            queue_growth_rps: self.growth_rps(),
            series,
            ..Run::default()
        };
        if !tells {
            run.forget_intervals();
        }
        run
    }

    /// By how many requests a second the queue grew, if it grew all the time.
    fn growth_rps(&self) -> Option<f64> {
        self.levels
            .growth_rps(self.window.requests - self.window.warmup)
    }

    /// Notes the length of the queue at the arrival that just was.
    #[cold]
    fn note_level(&mut self, now: Instant) {
        let Window { requests, warmup } = self.window;
        self.levels.noted[self.levels.count] = (now, self.in_system);
        self.levels.count += 1;
        let measured = u128::from((requests - warmup).saturating_sub(1));
        let next = measured * self.levels.count as u128 / (LEVELS - 1) as u128;
        let over = self.levels.count == LEVELS;
        self.next_level = if over { u64::MAX } else { warmup + next as u64 };
    }

    fn operations_by_name(&self) -> BTreeMap<String, u64> {
        let counted = Op::ALL
            .iter()
            .zip(self.operations)
            .filter(|(_, count)| *count > 0);
        counted
            .map(|(op, count)| (op.name().to_owned(), count))
            .collect()
    }

    /// Brings the integrals up to `now`. Several things happen at most instants; the first brings them there.
    #[inline]
    fn integrate(&mut self, now: Instant) {
        if now == self.integrated {
            return;
        }
        if self.since.is_some() {
            let span = now.since(self.integrated);
            self.request_ns += u128::from(self.in_system) * u128::from(span.0);
            self.busy_ns += u128::from(self.running) * u128::from(span.0);
            if let Some(series) = &mut self.series {
                series.integrate(now, &self.present);
            }
        }
        self.integrated = now;
    }

    fn begin(&mut self, now: Instant) {
        self.since = Some(now);
        self.queue_max = self.in_system;
        if let Some(series) = &mut self.series {
            series.begin(now);
        }
    }

    /// The batch of a measured request. Numbers come nearly in order, so it is mostly that of the one before.
    #[inline]
    fn batch(&mut self, number: u64) -> usize {
        if !self.batch_numbers.contains(&number) {
            self.find_batch(number);
        }
        self.batch
    }

    #[cold]
    fn find_batch(&mut self, number: u64) {
        self.batch = self.window.batch(number);
        self.batch_numbers = self.window.numbers(self.batch);
    }
}

impl Observer for Recorder {
    #[inline]
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.integrate(now);
        self.in_system += 1;
        self.present[request.op as usize] += 1;
        self.queue_max = self.queue_max.max(self.in_system);
        if self.since.is_none() && request.id.0 >= self.window.warmup {
            self.begin(now);
        }
        if request.id.0 >= self.next_level {
            self.note_level(now);
        }
        if let Some(series) = &mut self.series {
            series.arrived(request);
        }
    }

    #[inline]
    fn started(&mut self, now: Instant, drive: DriveId, command: &Command, stack: &Stack) {
        self.integrate(now);
        self.running += 1;
        if let Some(series) = &mut self.series {
            series.started(now, drive, command, stack);
        }
    }

    #[inline]
    fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.integrate(now);
        self.running -= 1;
        if let Some(series) = &mut self.series {
            series.done(drive, done);
        }
    }

    #[inline]
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.integrate(now);
        let request = &reply.request;
        self.in_system -= 1;
        self.present[request.op as usize] -= 1;
        self.replied += 1;
        self.operations[request.op as usize] += 1;
        if self.since.is_some() && matches!(request.op, Op::Read | Op::Write) {
            self.answered += 1;
            self.bytes += request.extent.len.bytes();
        }
        if request.id.0 < self.window.warmup {
            self.warmup_replied += 1;
            return;
        }
        let batch = self.batch(request.id.0);
        let class = match request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Flush | Op::Discard | Op::Seek => return,
        };
        let response = reply.timeline.response();
        class.response[batch].record(response);
        class.wait.record(reply.timeline.wait());
        class.service.record(reply.timeline.service());
        self.cost.add(&reply.timeline.cost);
        if let Some(series) = &mut self.series {
            series.replied(now, response);
        }
    }

    #[inline]
    fn settled(&mut self, now: Instant, stack: &Stack) {
        if let Some(series) = &mut self.series {
            series.settled(now, stack);
        }
    }
}

/// What all batches have together.
fn sum(batches: &[Histogram]) -> Histogram {
    let mut all = Histogram::default();
    batches.iter().for_each(|batch| all.merge(batch));
    all
}

/// Batch by batch, what two classes have together.
fn merged(one: &[Histogram], other: &[Histogram]) -> Vec<Histogram> {
    let mut both = one.to_vec();
    both.iter_mut()
        .zip(other)
        .for_each(|(mine, theirs)| mine.merge(theirs));
    both
}

impl Recorded {
    fn merge(&mut self, other: &Recorded) {
        self.response = merged(&self.response, &other.response);
        self.wait.merge(&other.wait);
        self.service.merge(&other.service);
    }

    fn count(&self) -> u64 {
        self.wait.count()
    }

    /// All response times.
    fn responses(&self) -> Histogram {
        sum(&self.response)
    }

    fn response_times(&self) -> Times {
        let all = self.responses();
        let mut times = times(&all);
        let spread = by_batch(&self.response, |batch| batch.mean_ns() / 1e6);
        let half = spread.map(|means| half_width(&means));
        // An interval that reached below 0 would say that a few of the batches decide the mean: it has none.
        let half = half.filter(|half| *half <= times.mean);
        times.ci95 = half.map(|half| [times.mean - half, times.mean + half]);
        times.p99_ci95 = times
            .p99
            .and_then(|_| tail_interval(&all, &self.response, 0.99));
        times.p999_ci95 = times
            .p999
            .and_then(|_| tail_interval(&all, &self.response, 0.999));
        times
    }

    fn wait_times(&self) -> Times {
        times(&self.wait)
    }

    fn service_times(&self) -> Times {
        times(&self.service)
    }
}

/// The 95 % confidence interval of a percentile in milliseconds; `None` if its upper end lies beyond what was seen.
fn tail_interval(all: &Histogram, batches: &[Histogram], rank: f64) -> Option<[f64; 2]> {
    let at = all.quantile(rank);
    let shares = by_batch(batches, |batch| {
        batch.at_most(at) as f64 / batch.count() as f64
    })?;
    let (low, high) = tail_ends(all, rank, half_width(&shares));
    Some([low, high?])
}

/// The ends of that interval, if the share of requests at or below it is sure to within `half`; the upper one if it was seen.
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

#[cfg(test)]
mod tests;
