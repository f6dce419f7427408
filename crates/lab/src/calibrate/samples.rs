//! What calibration works on: reads and writes with the time of their issue and their latency.
//!
//! A record's latency is its service time (issue to completion) where the trace tells that, else
//! its response time, which then counts from its arrival. How many commands were outstanding at an
//! issue is counted from these. A request that is no sample (a flush, one whose time is not told)
//! keeps the drive busy too, nobody knows for how long: it counts as outstanding until a sample
//! issued after it has completed.
//!
//! A trace may be of any length, the samples kept of it are not: beyond [`SAMPLES_MAX`] every
//! second stretch of [`STRETCH`] records is dropped, and again whenever they are too many, so that
//! what is kept lies evenly over the whole trace.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use nearslot_core::op::Op;
use nearslot_core::rng::mix;
use nearslot_core::units::BLOCK_BYTES;
use nearslot_trace::{Record, TraceOp};

use super::CalibrateError;

/// A read or write that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was issued, in nanoseconds.
    pub issued: u64,
    /// Read or write.
    pub op: Op,
    /// First block.
    pub at: u64,
    /// Length in blocks.
    pub len: u64,
    /// From issue to completion, in nanoseconds.
    pub latency: u64,
    /// Commands outstanding right after the issue, this one counted.
    pub outstanding: u32,
}

impl Sample {
    /// A sample of which it is not known yet how many others were outstanding.
    pub const fn new(issued: u64, op: Op, at: u64, len: u64, latency: u64) -> Sample {
        Sample {
            issued,
            op,
            at,
            len,
            latency,
            outstanding: 1,
        }
    }

    /// When it was completed.
    pub const fn completed(&self) -> u64 {
        self.issued + self.latency
    }

    /// First block behind it.
    pub const fn end(&self) -> u64 {
        self.at + self.len
    }

    /// Whether it tells of moves: a longer one crosses tracks.
    pub(super) const fn is_short(&self) -> bool {
        self.len <= SHORT_MAX
    }
}

/// Blocks of the longest request that is short.
const SHORT_MAX: u64 = 256;

/// Timed requests, in order of issue, and how many requests were left out.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// In order of issue.
    pub all: Vec<Sample>,
    /// Reads and writes without a latency.
    pub untimed: u64,
    /// Flushes, discards and the like.
    pub other: u64,
    /// Reads and writes that do not begin and end with a block of 512 bytes.
    pub odd: u64,
    /// Timed reads and writes that were dropped, as there were more than are kept.
    pub dropped: u64,
    /// Devices that timed requests went to, by their numbers in the trace.
    pub devices: BTreeSet<u32>,
    /// When requests arrived that are no samples; after a stretch that was dropped, one for the
    /// stretch.
    others: Vec<u64>,
    thinned: Thinned,
}

/// Which stretches of the trace are kept.
#[derive(Clone, Debug)]
struct Thinned {
    /// One in so many stretches is kept; a power of two.
    every: u64,
    /// Stretches kept, and what is missing between them.
    parts: Vec<Part>,
    /// Records read.
    records: u64,
    /// Samples that are kept at most.
    most: usize,
}

/// A stretch that is kept, or some in a row that are not.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Number of the first stretch.
    stretch: u64,
    /// Where its samples and others begin.
    samples: usize,
    others: usize,
}

impl Default for Thinned {
    fn default() -> Thinned {
        Thinned {
            every: 1,
            parts: Vec::new(),
            records: 0,
            most: SAMPLES_MAX,
        }
    }
}

/// Samples that are kept of a trace: enough for every estimate, and few enough for any machine.
const SAMPLES_MAX: usize = 1_000_000;
/// Records that are kept or dropped together, so that nearly all kept have their neighbours.
const STRETCH: u64 = 4_096;

impl Samples {
    /// Requests that were timed otherwise, all of them.
    ///
    /// # Errors
    /// They are too few to calibrate anything by.
    pub fn of(all: Vec<Sample>) -> Result<Samples, CalibrateError> {
        let samples = Samples {
            all,
            ..Samples::default()
        };
        samples.finish()
    }

    /// Takes a batch of a trace.
    pub fn record(&mut self, batch: &[Record]) {
        for record in batch {
            let stretch = self.thinned.records / STRETCH;
            if self.thinned.records.is_multiple_of(STRETCH) {
                self.begin(stretch);
            }
            self.thinned.records += 1;
            let before = self.all.len();
            self.take(record);
            if !stretch.is_multiple_of(self.thinned.every) {
                self.leave_out(before);
            }
        }
    }

    /// A stretch begins; if there are too many samples, every second stretch goes.
    fn begin(&mut self, stretch: u64) {
        while self.all.len() + self.others.len() + STRETCH as usize > self.thinned.most {
            self.halve();
        }
        self.part(stretch);
    }

    /// A part begins with this stretch, unless it goes on with one that is not kept either.
    fn part(&mut self, stretch: u64) {
        let missing = |stretch: u64| !stretch.is_multiple_of(self.thinned.every);
        let goes_on = self
            .thinned
            .parts
            .last()
            .is_some_and(|part| missing(part.stretch));
        if !(goes_on && missing(stretch)) {
            self.thinned.parts.push(Part {
                stretch,
                samples: self.all.len(),
                others: self.others.len(),
            });
        }
    }

    fn take(&mut self, record: &Record) {
        let op = match record.op {
            TraceOp::Read => Some(Op::Read),
            TraceOp::Write => Some(Op::Write),
            _ => None,
        };
        let odd = |bytes: u64| !bytes.is_multiple_of(BLOCK_BYTES);
        match (op, timed(record)) {
            (None, _) => self.other += 1,
            (Some(_), None) => self.untimed += 1,
            (Some(_), Some(_)) if odd(record.offset) || odd(record.len) || record.len == 0 => {
                self.odd += 1;
            }
            (Some(op), Some((issued, latency))) => {
                self.devices.insert(record.dev);
                let (at, len) = (record.offset / BLOCK_BYTES, record.len / BLOCK_BYTES);
                self.all.push(Sample::new(issued, op, at, len, latency));
                return;
            }
        }
        self.others.extend(u64::try_from(record.ts).ok());
    }

    /// What was taken from this sample on belongs to a part that is not kept: of that, only its
    /// last arrival is.
    fn leave_out(&mut self, samples: usize) {
        let part = self.thinned.parts.last().expect("a part has begun");
        self.dropped += (self.all.len() - samples) as u64;
        let issues = self.all.drain(samples..).map(|sample| sample.issued);
        let last = issues.chain(self.others.drain(part.others..)).max();
        self.others.extend(last);
    }

    /// Drops every second stretch of those that are kept.
    fn halve(&mut self) {
        self.thinned.every *= 2;
        let old = std::mem::take(&mut self.thinned.parts);
        let all = std::mem::take(&mut self.all);
        let others = std::mem::take(&mut self.others);
        let end = (all.len(), others.len());
        for (index, part) in old.iter().enumerate() {
            let next = old.get(index + 1);
            let end = next.map_or(end, |next| (next.samples, next.others));
            self.part(part.stretch);
            let samples = self.all.len();
            self.all.extend_from_slice(&all[part.samples..end.0]);
            self.others.extend_from_slice(&others[part.others..end.1]);
            if !part.stretch.is_multiple_of(self.thinned.every) {
                self.leave_out(samples);
            }
        }
    }

    /// No batch follows.
    ///
    /// # Errors
    /// There is no latency, or there are too few to calibrate anything by.
    pub fn finish(mut self) -> Result<Samples, CalibrateError> {
        if self.all.is_empty() {
            return Err(CalibrateError::NoLatencies {
                requests: self.untimed + self.other + self.odd,
            });
        }
        if self.all.len() < SAMPLES_MIN {
            return Err(CalibrateError::TooFew {
                found: self.all.len(),
                what: "timed reads and writes".to_owned(),
                needed: SAMPLES_MIN,
            });
        }
        self.others.sort_unstable();
        count_outstanding(&mut self.all, &self.others);
        Ok(self)
    }
}

/// Fewer requests than this tell nothing that could be held against a half of them.
pub(super) const SAMPLES_MIN: usize = 200;

/// Issue and latency of a record, if it tells a latency.
fn timed(record: &Record) -> Option<(u64, u64)> {
    let arrived = u64::try_from(record.ts).ok()?;
    let known = |ns: u64| (ns != Record::UNKNOWN).then_some(ns);
    match (known(record.service_ns), known(record.response_ns)) {
        (Some(service), Some(response)) => {
            Some((arrived + response.saturating_sub(service), service))
        }
        (Some(service), None) => Some((arrived, service)),
        (None, Some(response)) => Some((arrived, response)),
        (None, None) => None,
    }
}

/// Sorts by issue and counts what is outstanding at each. `others` are the arrivals of requests
/// that are no samples.
fn count_outstanding(samples: &mut [Sample], others: &[u64]) {
    samples.sort_by_key(|sample| sample.issued);
    let mut running: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut others = others.iter().peekable();
    for sample in samples {
        while running
            .peek()
            .is_some_and(|Reverse(end)| *end <= sample.issued)
        {
            running.pop();
        }
        running.push(Reverse(sample.completed()));
        while others.next_if(|at| **at <= sample.issued).is_some() {
            running.push(Reverse(sample.completed()));
        }
        sample.outstanding = u32::try_from(running.len()).unwrap_or(u32::MAX);
    }
}

/// Requests that stand together on one side of the split into two halves: long enough that most
/// have their predecessor on the same side.
const CHUNK: usize = 64;

/// Whether a request is one of those that parameters are fitted to; the others judge the fit.
/// Chunks go to either side at random, since loads have periods of their own.
pub fn fitted(index: usize) -> bool {
    mix((index / CHUNK) as u64).is_multiple_of(2)
}

/// What is fitted to and judges by turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// Chunks of requests.
    Chunks,
    /// Seconds of completions: the rate of a second needs all requests of it. Of two in a row one
    /// is drawn for either side, so that neither is without any.
    Seconds,
}

impl Split {
    /// Whether the request of this place in the order of issue is one of those that parameters are
    /// fitted to.
    pub(super) fn fitted(self, index: usize, sample: &Sample) -> bool {
        match self {
            Split::Chunks => fitted(index),
            Split::Seconds => {
                let second = sample.completed() / SECOND_NS;
                (mix(second / 2) ^ second).is_multiple_of(2)
            }
        }
    }
}

/// A second, which rates are counted in.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A request that found the drive idle, and the one that completed last before it: there the arm
/// was left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Place in the order of issue.
    pub(super) index: usize,
    pub(super) sample: Sample,
    pub(super) before: Sample,
    /// From the completion of all before to its issue.
    pub(super) gap: u64,
}

impl Access {
    /// Blocks from where the one before ended to where this one begins; negative if backwards.
    pub(super) fn step(&self) -> i64 {
        self.sample.at.cast_signed() - self.before.end().cast_signed()
    }

    /// Whether the arm had to move over a fiftieth of the addresses or more.
    pub(super) fn is_far(&self, capacity: u64) -> bool {
        self.step().unsigned_abs() >= capacity / FAR_PART
    }
}

/// The part of the addresses from which on a move is far.
const FAR_PART: u64 = 50;

/// The requests that found the drive idle, but for the first.
pub(super) fn alone(samples: &[Sample]) -> Vec<Access> {
    let mut found = Vec::new();
    let mut last: Option<Sample> = None;
    for (index, sample) in samples.iter().enumerate() {
        // All before have completed, so the last to complete is known.
        if let (1, Some(before)) = (sample.outstanding, last) {
            found.push(Access {
                index,
                sample: *sample,
                before,
                gap: sample.issued - before.completed(),
            });
        }
        last = Some(last.map_or(*sample, |last| {
            if last.completed() > sample.completed() {
                last
            } else {
                *sample
            }
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_counts_from_the_issue_and_response_from_the_arrival() {
        let mut record = Record::new(100, TraceOp::Read, 4_096, 512, 0);
        assert_eq!(timed(&record), None);
        record.response_ns = 50;
        assert_eq!(timed(&record), Some((100, 50)));
        record.service_ns = 20;
        assert_eq!(timed(&record), Some((130, 20)));
        record.response_ns = Record::UNKNOWN;
        assert_eq!(timed(&record), Some((100, 20)));
    }

    #[test]
    fn what_is_outstanding_is_counted_at_the_issue() {
        let sample = |issued, latency| Sample::new(issued, Op::Read, 0, 1, latency);
        let mut samples = vec![sample(0, 10), sample(5, 20), sample(10, 1), sample(30, 1)];
        count_outstanding(&mut samples, &[]);
        let counts: Vec<u32> = samples.iter().map(|sample| sample.outstanding).collect();
        assert_eq!(counts, [1, 2, 2, 1]);
        let alone = alone(&samples);
        assert_eq!((alone.len(), alone[0].gap, alone[0].index), (1, 5, 3));
    }

    #[test]
    fn a_trace_without_latencies_is_refused() {
        let mut samples = Samples::default();
        samples.record(&[Record::new(0, TraceOp::Read, 0, 512, 0)]);
        let error = samples.finish().unwrap_err().to_string();
        assert!(error.contains("tells no latency"), "{error}");
    }

    #[test]
    fn the_arm_is_where_the_last_completed_request_left_it() {
        let sample = |issued, at, latency| Sample::new(issued, Op::Read, at, 1, latency);
        // The second is issued later and completes sooner.
        let mut samples = vec![sample(0, 100, 30), sample(5, 200, 10), sample(40, 300, 5)];
        count_outstanding(&mut samples, &[]);
        let alone = alone(&samples);
        assert_eq!(alone.len(), 1);
        assert_eq!((alone[0].before.at, alone[0].gap), (100, 10));
    }

    #[test]
    fn requests_without_times_are_outstanding_until_a_later_sample_has_completed() {
        let mut samples = Samples::default();
        let read = |ts, ns| {
            let mut record = Record::new(ts, TraceOp::Read, 4_096, 512, 0);
            record.service_ns = ns;
            record
        };
        let untimed = Record::new(15, TraceOp::Write, 0, 512, 0);
        let flush = Record::new(45, TraceOp::Flush, 0, 0, 0);
        samples.record(&[
            read(0, 10),
            untimed,
            read(20, 10),
            read(30, 10),
            flush,
            read(50, 10),
            read(60, 10),
        ]);
        count_outstanding(&mut samples.all, &samples.others);
        let counts: Vec<u32> = samples
            .all
            .iter()
            .map(|sample| sample.outstanding)
            .collect();
        assert_eq!(counts, [1, 2, 1, 2, 1]);
        assert_eq!((samples.untimed, samples.other), (1, 1));
        let issues: Vec<u64> = alone(&samples.all)
            .iter()
            .map(|access| access.sample.issued)
            .collect();
        assert_eq!(issues, [30, 60]);
    }

    #[test]
    fn a_long_trace_keeps_a_bounded_number_from_all_over_it() {
        let mut samples = Samples::default();
        samples.thinned.most = 80_000;
        let record = |index: u64| {
            let mut record = Record::new(
                i64::try_from(index * 100).unwrap(),
                TraceOp::Read,
                index * 512,
                512,
                0,
            );
            record.service_ns = 10;
            if index % 50 == 49 {
                record.service_ns = Record::UNKNOWN;
            }
            record
        };
        let count = 500_000;
        for first in (0..count).step_by(1_000) {
            let batch: Vec<Record> = (first..first + 1_000).map(record).collect();
            samples.record(&batch);
            assert!(samples.all.len() + samples.others.len() <= 80_000);
        }
        assert_eq!(samples.untimed, count / 50);
        assert_eq!(
            samples.all.len() as u64 + samples.dropped,
            count - count / 50
        );
        let samples = samples.finish().unwrap();
        assert!(samples.all.len() > 5_000, "{}", samples.all.len());
        // Of every tenth of the trace a tenth, give or take a stretch.
        let tenths = (0..10).map(|tenth| {
            let inside = samples
                .all
                .iter()
                .filter(|sample| sample.at * 10 / count == tenth);
            inside.count() as f64 / samples.all.len() as f64
        });
        let tenths: Vec<f64> = tenths.collect();
        assert!(
            tenths.iter().all(|share| (0.03..0.2).contains(share)),
            "{tenths:?}"
        );
        // What follows a stretch that is missing did not find the drive idle for sure.
        for pair in samples.all.windows(2) {
            let missing = pair[1].at - pair[0].at > 2;
            assert!(!missing || pair[1].outstanding > 1, "{pair:?}");
        }
    }

    #[test]
    fn of_two_seconds_in_a_row_one_is_fitted_to() {
        let fitted = |second: u64| {
            let sample = Sample::new(second * SECOND_NS, Op::Read, 0, 8, 1);
            Split::Seconds.fitted(0, &sample)
        };
        for pair in 0..1_000 {
            assert_ne!(fitted(2 * pair), fitted(2 * pair + 1));
        }
        let first = (0..1_000).filter(|pair| fitted(2 * pair)).count();
        assert!((400..600).contains(&first), "not by turns alone: {first}");
    }
}
