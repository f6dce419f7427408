//! What was measured, once the run is over: distributions are summed up once, and all that is told
//! is taken from these sums.

use nearslot_core::metrics::Histogram;
use nearslot_core::units::Instant;

use super::interval::{Responses, times};
use super::{
    BATCHES, Basis, Behind, Estimate, Filling, ReadFirst, Recorded, Recorder, Settling, Starved,
    TooFew, busy,
};
use crate::objective::Class;
use crate::outcome::{Run, Times};

/// What a run measured up to its end.
pub(crate) struct Measured {
    recorder: Recorder,
    end: Instant,
    /// Response times of all reads, of all writes, and of both.
    reads: Histogram,
    writes: Histogram,
    both: Histogram,
}

impl Measured {
    pub(super) fn new(recorder: Recorder, end: Instant) -> Measured {
        let sum = |class: &Recorded| Histogram::sum(&class.response);
        let (reads, writes) = (sum(&recorder.reads), sum(&recorder.writes));
        Measured {
            both: Histogram::sum([&reads, &writes]),
            reads,
            writes,
            recorder,
            end,
        }
    }

    /// Response times of a class.
    fn responses(&self, of: Class) -> Responses<'_> {
        let (reads, writes) = (&self.recorder.reads, &self.recorder.writes);
        let failed = [&reads.failed, &writes.failed];
        let (reads, writes) = (reads.response.as_slice(), writes.response.as_slice());
        match of {
            Class::All => Responses {
                kinds: [reads, writes],
                failed: std::array::from_fn(|batch| failed[0][batch] + failed[1][batch]),
                all: &self.both,
            },
            Class::Read => Responses {
                kinds: [reads, &[]],
                failed: *failed[0],
                all: &self.reads,
            },
            Class::Write => Responses {
                kinds: [writes, &[]],
                failed: *failed[1],
                all: &self.writes,
            },
        }
    }

    /// The mean of the answered requests of a class, or the percentile of this rank of all its
    /// requests.
    ///
    /// # Errors
    /// They are too few for that, or for its interval.
    pub(crate) fn estimate(&self, of: Class, rank: Option<f64>) -> Result<Estimate, TooFew> {
        self.responses(of).objective(rank)
    }

    /// The arrival from which on it was looked at whether the queue grew.
    pub(crate) fn growth_from(&self) -> Instant {
        self.recorder.telling().noted[0].at
    }

    /// A write buffer or write caches that hide how fast the drives write, if the queue did not grow; `waits` if the
    /// load waits for answers.
    pub(crate) fn filling(&self, waits: bool) -> Option<Filling> {
        self.recorder.telling().filling(waits)
    }

    /// What waited in the end, if the queue was not seen at rest and is not said to grow; `waits` if
    /// the load waits for answers.
    pub(crate) fn settling(&self, waits: bool) -> Option<Settling> {
        self.recorder.telling().settling(waits)
    }

    /// Whether what was answered and not yet written grew before the queue did.
    pub(crate) fn grew_behind(&self) -> Option<Behind> {
        self.recorder.telling().grew_behind()
    }

    /// Requests of the warm-up that took far longer than all that were measured, if there are any.
    pub(crate) fn starved(&self) -> Option<Starved> {
        self.recorder.starved(&self.both)
    }

    /// How much of what was written for requests had to be read first.
    pub(crate) fn read_first(&self) -> ReadFirst {
        self.recorder.writes_begun
    }

    /// When the measured part began.
    pub(crate) fn begin(&self) -> Instant {
        self.recorder.since.unwrap_or(self.end)
    }

    /// What a verdict judges it by, but for what drives count: wrong blocks, and whether they met
    /// faults.
    pub(crate) fn basis(&self) -> Basis {
        let failed = self.failed();
        let Recorder {
            flushes,
            flushes_failed,
            ..
        } = &self.recorder;
        Basis {
            batches_ms: self.batch_means_ms(),
            measured: self.both.count() + failed,
            failed,
            flushes: flushes.count() + flushes_failed,
            flushes_failed: *flushes_failed,
            ..Basis::default()
        }
    }

    /// Measured reads and writes that failed.
    fn failed(&self) -> u64 {
        self.responses(Class::All).failed.iter().sum()
    }

    /// Means of response times per batch, reads and writes together.
    fn batch_means_ms(&self) -> Option<[f64; BATCHES]> {
        let tell = self.recorder.batches_tell();
        let means = || self.responses(Class::All).means_ms();
        tell.then(means).flatten()
    }

    /// Response, wait and service times of a class; `None` if it has no requests.
    fn class(&self, of: Class, class: &Recorded) -> [Option<Times>; 3] {
        if class.wait.count() == 0 {
            return [None; 3];
        }
        let response = self.responses(of).times(self.recorder.batches_tell());
        [response, times(&class.wait, 0), times(&class.service, 0)].map(Some)
    }

    /// Response times of flushes; `None` if none was answered.
    fn flushes(&self) -> Option<Times> {
        let Recorder {
            flushes,
            flushes_failed,
            ..
        } = &self.recorder;
        (flushes.count() > 0).then(|| times(flushes, *flushes_failed))
    }

    /// All of it; what else a run has is the caller's.
    pub(crate) fn run(mut self, label: String, config: serde_json::Value) -> Run {
        let (failed, series) = (self.failed(), self.recorder.series.take());
        let series = series.map(|series| series.finish(self.end, (&self.both, failed)));
        let recorder = &self.recorder;
        let (reads, writes) = (&recorder.reads, &recorder.writes);
        let lasted = self.end.since(self.begin());
        let duration = lasted.0 as f64 / 1e9;
        let measured = self.both.count();
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
        let busy = recorder.in_flight.iter();
        let busy = busy.map(|drive| drive.until(self.end));
        let busy: Vec<[u64; 2]> = busy.collect();
        let measures = busy::measures(&busy, lasted.0);
        let [read_response_ms, read_wait_ms, read_service_ms] = self.class(Class::Read, reads);
        let [write_response_ms, write_wait_ms, write_service_ms] = self.class(Class::Write, writes);
        Run {
            label,
            config,
            requests: recorder.replied,
            warmup_requests: recorder.warmup_replied,
            operations: recorder.operations_by_name(),
            failed: recorder.failed_by_name(),
            pending: recorder.in_system,
            duration_s: duration,
            throughput_rps: per_second(recorder.answered as f64),
            throughput_mb_s: per_second(recorder.bytes as f64 / 1e6),
            response_ms: self.responses(Class::All).times(recorder.batches_tell()),
            read_response_ms,
            write_response_ms,
            flush_response_ms: self.flushes(),
            wait_ms: times(&Histogram::sum([&reads.wait, &writes.wait]), 0),
            read_wait_ms,
            write_wait_ms,
            service_ms: times(&Histogram::sum([&reads.service, &writes.service]), 0),
            read_service_ms,
            write_service_ms,
            seek_ms: per_request(recorder.cost.seek_ns),
            rotation_ms: per_request(recorder.cost.rotation_ns),
            transfer_ms: per_request(recorder.cost.transfer_ns),
            overhead_ms: per_request(recorder.cost.overhead_ns),
            utilisation: share(busy.iter().map(|[ns, _]| u128::from(*ns)).sum::<u128>() as f64)
                / f64::from(recorder.drives),
            utilisation_max: share(busy.iter().map(|[ns, _]| *ns).max().unwrap_or(0) as f64),
            measures,
            queue_mean: share(recorder.request_ns as f64),
            queue_max: recorder.queue_max,
            queue_growth_rps: recorder.growth_rps(),
            series,
            ..Run::default()
        }
    }
}
