//! What calibration works on: reads and writes with the time of their issue and their latency.
//!
//! A record's latency is its service time (issue to completion) where the trace tells that, else its response time, which
//! then counts from its arrival. How many commands were outstanding at an issue is counted from these.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use nearslot_core::request::Op;
use nearslot_core::rng::mix;
use nearslot_core::units::BLOCK_BYTES;

use super::CalibrateError;
use crate::trace::{Record, TraceOp};

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
}

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
    /// Devices that timed requests went to, by their numbers in the trace.
    pub devices: BTreeSet<u32>,
}

impl Samples {
    /// Takes a batch of a trace.
    pub fn record(&mut self, batch: &[Record]) {
        for record in batch {
            let op = match record.op {
                TraceOp::Read => Op::Read,
                TraceOp::Write => Op::Write,
                _ => {
                    self.other += 1;
                    continue;
                }
            };
            let odd = |bytes: u64| !bytes.is_multiple_of(BLOCK_BYTES);
            match timed(record) {
                None => self.untimed += 1,
                Some(_) if odd(record.offset) || odd(record.len) || record.len == 0 => {
                    self.odd += 1;
                }
                Some((issued, latency)) => {
                    self.devices.insert(record.dev);
                    let (at, len) = (record.offset / BLOCK_BYTES, record.len / BLOCK_BYTES);
                    self.all.push(Sample::new(issued, op, at, len, latency));
                }
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
        count_outstanding(&mut self.all);
        Ok(self)
    }
}

/// Fewer requests than this tell nothing that could be held against a half of them.
const SAMPLES_MIN: usize = 200;

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

/// Sorts by issue and counts what is outstanding at each.
fn count_outstanding(samples: &mut [Sample]) {
    samples.sort_by_key(|sample| sample.issued);
    let mut running: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for sample in samples {
        while running
            .peek()
            .is_some_and(|Reverse(end)| *end <= sample.issued)
        {
            running.pop();
        }
        running.push(Reverse(sample.completed()));
        sample.outstanding = u32::try_from(running.len()).unwrap_or(u32::MAX);
    }
}

/// Requests that stand together on one side of the split into two halves: long enough that most have their predecessor
/// on the same side.
const CHUNK: usize = 64;

/// Whether a request is one of those that parameters are fitted to; the others judge the fit. Chunks go to either side at random,
/// since loads have periods of their own.
pub fn fitted(index: usize) -> bool {
    mix((index / CHUNK) as u64).is_multiple_of(2)
}

/// A request that found the drive idle, and the one before it.
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
}

/// The requests that found the drive idle, but for the first.
pub(super) fn alone(samples: &[Sample]) -> Vec<Access> {
    let mut idle_from = 0;
    let mut found = Vec::new();
    for (index, pair) in samples.windows(2).enumerate() {
        let [before, sample] = [pair[0], pair[1]];
        idle_from = before.completed().max(idle_from);
        if sample.outstanding == 1 {
            found.push(Access {
                index: index + 1,
                sample,
                before,
                gap: sample.issued - idle_from,
            });
        }
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
        count_outstanding(&mut samples);
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
}
