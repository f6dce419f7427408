//! Measuring a run: what its requests and its drive spent their time on.
//!
//! Requests are told apart by their number (order of arrival), which is the same under every policy. The first few are
//! cut off as warm-up, and the rest falls into [`BATCHES`] batches by number: so two runs of one trace cut the same
//! requests, and their batch means can be compared pair by pair. Confidence intervals are by non-overlapping batch means
//! (Law, Simulation Modeling and Analysis, chapter 9). A few dozen nanoseconds per request, nothing allocated.

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, Cost, DriveDone};
use nearslot_core::metrics::Histogram;
use nearslot_core::request::{Op, Reply, Request};
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};

use crate::outcome::{Run, Times};
use crate::series::Timeseries;
use crate::sim::Observer;

/// Batches of a run: enough for a stable variance, few enough that neighbours hardly depend on each other.
pub const BATCHES: usize = 32;
/// Student's t for 95 % and `BATCHES - 1` degrees of freedom (any statistical table: 31).
const STUDENT_T: f64 = 2.039_513;
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

/// Times of one class of requests.
#[derive(Clone, Default)]
struct Class {
    response: Histogram,
    wait: Histogram,
    service: Histogram,
    batches: Batches,
}

/// Response times by batch.
#[derive(Clone)]
pub struct Batches {
    sum_ns: [u128; BATCHES],
    count: [u64; BATCHES],
}

impl Default for Batches {
    fn default() -> Batches {
        Batches {
            sum_ns: [0; BATCHES],
            count: [0; BATCHES],
        }
    }
}

impl Batches {
    #[inline]
    fn record(&mut self, batch: usize, response: Duration) {
        self.sum_ns[batch] += u128::from(response.0);
        self.count[batch] += 1;
    }

    fn merge(&mut self, other: &Batches) {
        for batch in 0..BATCHES {
            self.sum_ns[batch] += other.sum_ns[batch];
            self.count[batch] += other.count[batch];
        }
    }

    /// Batch means in milliseconds, if every batch has enough requests.
    pub fn means_ms(&self) -> Option<[f64; BATCHES]> {
        let enough = self.count.iter().all(|count| *count >= BATCH_REQUESTS_MIN);
        enough.then(|| {
            std::array::from_fn(|batch| self.sum_ns[batch] as f64 / self.count[batch] as f64 / 1e6)
        })
    }
}

/// Half the width of the 95 % confidence interval of the mean of batch means.
pub fn half_width(means: &[f64; BATCHES]) -> f64 {
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let square = |value: &f64| (value - mean) * (value - mean);
    let variance = means.iter().map(square).sum::<f64>() / (BATCHES - 1) as f64;
    STUDENT_T * (variance / BATCHES as f64).sqrt()
}

/// Observes a run and sums it up.
pub struct Recorder {
    window: Window,
    reads: Class,
    writes: Class,
    /// Requests answered, by `Op` code.
    operations: [u64; Op::ALL.len()],
    cost: CostSum,
    /// When the measured part began; the arrival of its first request.
    since: Option<Instant>,
    replied: u64,
    /// Of these, warm-up.
    warmup_replied: u64,
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
            reads: Class::default(),
            writes: Class::default(),
            operations: [0; Op::ALL.len()],
            cost: CostSum::default(),
            since: None,
            replied: 0,
            warmup_replied: 0,
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
            batch: 0,
            batch_numbers: 0..0,
        }
    }

    /// Means of response times per batch, reads and writes together.
    pub fn batch_means_ms(&self) -> Option<[f64; BATCHES]> {
        let mut both = self.reads.batches.clone();
        both.merge(&self.writes.batches);
        both.means_ms()
    }

    /// Whether any request after the warm-up was read or written and answered.
    pub fn measured_any(&self) -> bool {
        self.reads.response.count() + self.writes.response.count() > 0
    }

    /// Fills in what was measured; what else a run has is the caller's.
    pub fn finish(mut self, end: Instant, label: String, config: serde_json::Value) -> Run {
        self.end(end);
        let duration = end.since(self.since.unwrap_or(end)).0 as f64 / 1e9;
        let measured = self.reads.response.count() + self.writes.response.count();
        let per_second = |count: f64| {
            if duration > 0.0 {
                count / duration
            } else {
                0.0
            }
        };
        let per_request = |ns: u128| ns as f64 / 1e6 / measured.max(1) as f64;
        let share = |ns: f64| {
            if duration > 0.0 {
                ns / 1e9 / duration
            } else {
                0.0
            }
        };
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        let class = |class: &Class, times: fn(&Class) -> Times| {
            (class.response.count() > 0).then(|| times(class))
        };
        let series = self
            .series
            .take()
            .map(|series| series.finish(end, &all.response));
        Run {
            label,
            config,
            requests: self.replied,
            warmup_requests: self.warmup_replied,
            operations: self.operations_by_name(),
            pending: self.in_system,
            duration_s: duration,
            throughput_rps: per_second(measured as f64),
            throughput_mb_s: per_second(self.bytes as f64 / 1e6),
            response_ms: all.response_times(),
            read_response_ms: class(&self.reads, Class::response_times),
            write_response_ms: class(&self.writes, Class::response_times),
            wait_ms: all.wait_times(),
            read_wait_ms: class(&self.reads, Class::wait_times),
            write_wait_ms: class(&self.writes, Class::wait_times),
            service_ms: all.service_times(),
            read_service_ms: class(&self.reads, Class::service_times),
            write_service_ms: class(&self.writes, Class::service_times),
            seek_ms: per_request(self.cost.seek_ns),
            rotation_ms: per_request(self.cost.rotation_ns),
            transfer_ms: per_request(self.cost.transfer_ns),
            overhead_ms: per_request(self.cost.overhead_ns),
            utilisation: share(self.busy_ns as f64) / f64::from(self.drives),
            queue_mean: share(self.request_ns as f64),
            queue_max: self.queue_max,
            series,
            ..Run::default()
        }
    }

    /// Nothing more comes.
    fn end(&mut self, now: Instant) {
        self.integrate(now);
        if self.in_system > 0 {
            // Cut short: the last batches have fewer requests or none, and an interval by them claims too much.
            (self.reads.batches, self.writes.batches) = Default::default();
        }
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
        let Window { requests, warmup } = self.window;
        let measured = u128::from(requests - warmup);
        let batches = BATCHES as u128;
        let index = (u128::from(number - warmup) * batches / measured).min(batches - 1);
        let start = |index: u128| warmup + (index * measured).div_ceil(batches) as u64;
        self.batch = index as usize;
        self.batch_numbers = start(index)..start(index + 1);
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
        class.response.record(response);
        class.wait.record(reply.timeline.wait());
        class.service.record(reply.timeline.service());
        class.batches.record(batch, response);
        self.cost.add(&reply.timeline.cost);
        self.bytes += request.extent.len.bytes();
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

impl Class {
    fn merge(&mut self, other: &Class) {
        self.response.merge(&other.response);
        self.wait.merge(&other.wait);
        self.service.merge(&other.service);
        self.batches.merge(&other.batches);
    }

    fn response_times(&self) -> Times {
        let spread = self.batches.means_ms().map(|means| half_width(&means));
        let mut times = times(&self.response);
        times.ci95 = spread.map(|half| [times.mean - half, times.mean + half]);
        times
    }

    fn wait_times(&self) -> Times {
        times(&self.wait)
    }

    fn service_times(&self) -> Times {
        times(&self.service)
    }
}

fn times(histogram: &Histogram) -> Times {
    let at = |rank| histogram.quantile(rank).as_ms();
    Times {
        mean: histogram.mean_ns() / 1e6,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max().as_ms(),
        ci95: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_divide_the_measured_requests_evenly() {
        let window = Window {
            requests: 1_000,
            warmup: 100,
        };
        let mut recorder = Recorder::new(window, 1, None);
        let mut counts = [0_u64; BATCHES];
        for number in (100..1_000).rev() {
            let batch = recorder.batch(number);
            assert_eq!(batch as u64, (number - 100) * BATCHES as u64 / 900);
            counts[batch] += 1;
        }
        assert!(
            counts.iter().all(|count| (28..=29).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn the_interval_is_that_of_student() {
        // Batch means 1..=32: variance 88, so t * sqrt(88 / 32).
        let rising: [f64; BATCHES] = std::array::from_fn(|batch| batch as f64 + 1.0);
        assert!((half_width(&rising) - 2.039_513 * (88.0_f64 / 32.0).sqrt()).abs() < 1e-9);
    }
}
