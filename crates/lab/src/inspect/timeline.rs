//! What happened when, although nobody knows beforehand how long a trace is.
//!
//! Intervals begin at 1 us; when they become too many, neighbours are merged by twos and fives in
//! turn, so lengths stay 1 or 2 times a power of ten. At the end they are merged once more into at
//! most [`INTERVALS_MAX`]. Working sets merge because they are sketches. A few nanoseconds per
//! page; 2.6 MB.

use nearslot_trace::{Record, TraceOp};

use super::inspection::Timeline;
use super::sketch::Sketch;
use super::{OUTSIZED_BYTES, PAGE_BITS};
use nearslot_core::rng::mix;

/// Intervals kept while it goes on.
const FINE_MAX: usize = 640;
/// Intervals given out at the end.
const INTERVALS_MAX: usize = 64;
const NS_FIRST: u64 = 1_000;

/// Intervals so far.
pub(super) struct TimelineCounter {
    first_ns: Option<i64>,
    width_ns: u64,
    /// End of the current interval, from the first arrival.
    until_ns: u64,
    by_five: bool,
    intervals: Vec<Interval>,
}

#[derive(Clone)]
struct Interval {
    requests: u64,
    reads: u64,
    writes: u64,
    bytes: u128,
    pages: Sketch,
}

impl Interval {
    fn empty() -> Interval {
        Interval {
            requests: 0,
            reads: 0,
            writes: 0,
            bytes: 0,
            pages: Sketch::new(),
        }
    }

    fn merge(&mut self, other: &Interval) {
        self.requests += other.requests;
        self.reads += other.reads;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.pages.merge(&other.pages);
    }

    #[inline]
    fn count(&mut self, record: &Record) {
        self.requests += 1;
        self.reads += u64::from(record.op == TraceOp::Read);
        self.writes += u64::from(record.op == TraceOp::Write);
        if !record.op.is_media() {
            return;
        }
        self.bytes += u128::from(record.len);
        if record.len <= OUTSIZED_BYTES {
            let device = u64::from(record.dev) << (63 - PAGE_BITS);
            for page in record.offset >> PAGE_BITS..=(record.end() - 1) >> PAGE_BITS {
                self.pages.add(mix(page ^ device));
            }
        }
    }
}

impl TimelineCounter {
    pub(super) fn new() -> TimelineCounter {
        TimelineCounter {
            first_ns: None,
            width_ns: NS_FIRST,
            until_ns: 0,
            by_five: false,
            intervals: Vec::new(),
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch {
            let first = *self.first_ns.get_or_insert(record.ts);
            let since = record.ts.abs_diff(first);
            if since >= self.until_ns {
                self.open(since);
            }
            let current = self.intervals.last_mut().expect("opening made one");
            current.count(record);
        }
    }

    /// Makes the interval of an instant the last one.
    #[cold]
    fn open(&mut self, since_ns: u64) {
        while since_ns / self.width_ns >= FINE_MAX as u64 {
            let factor = if self.by_five { 5 } else { 2 };
            self.by_five = !self.by_five;
            self.width_ns *= factor;
            self.intervals = merged(&self.intervals, factor as usize);
        }
        let index = (since_ns / self.width_ns) as usize;
        self.intervals.resize_with(index + 1, Interval::empty);
        self.until_ns = (index as u64 + 1) * self.width_ns;
    }

    pub(super) fn timeline(&self) -> Timeline {
        let factor = [1, 2, 5, 10].into_iter().find(|factor| {
            let round = *factor != 2 || !self.by_five;
            round && self.intervals.len().div_ceil(*factor) <= INTERVALS_MAX
        });
        let factor = factor.expect("a tenth of 640 is 64");
        let intervals = merged(&self.intervals, factor);
        let width_s = (self.width_ns * factor as u64) as f64 / 1e9;
        let rate = |per: &dyn Fn(&Interval) -> f64| {
            intervals
                .iter()
                .map(|interval| per(interval) / width_s)
                .collect()
        };
        let page_mib = (1_u64 << PAGE_BITS) as f64 / (1_u64 << 20) as f64;
        let read_share = |interval: &Interval| {
            let media = interval.reads + interval.writes;
            (media > 0).then(|| interval.reads as f64 / media as f64)
        };
        Timeline {
            interval_s: width_s,
            working_set_mib: intervals
                .iter()
                .map(|i| i.pages.estimate() * page_mib)
                .collect(),
            rate_rps: rate(&|interval| interval.requests as f64),
            throughput_mb_s: rate(&|interval| interval.bytes as f64 / 1e6),
            read_share: intervals.iter().map(read_share).collect(),
        }
    }
}

fn merged(intervals: &[Interval], factor: usize) -> Vec<Interval> {
    let merge = |group: &[Interval]| {
        let mut sum = group[0].clone();
        group[1..].iter().for_each(|interval| sum.merge(interval));
        sum
    };
    intervals.chunks(factor).map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(requests: &[(i64, u64, u64)]) -> Timeline {
        let record = |&(ts, offset, len): &_| Record::new(ts, TraceOp::Read, offset, len, 0);
        let records: Vec<Record> = requests.iter().map(record).collect();
        let mut counter = TimelineCounter::new();
        counter.record(&records);
        counter.timeline()
    }

    #[test]
    fn intervals_are_round_and_cover_the_span() {
        let second = 1_000_000_000;
        let requests: Vec<_> = (0..=100).map(|i| (i * second, 0, 1_000_000)).collect();
        let found = timeline(&requests);
        assert!((found.interval_s - 2.0).abs() < 1e-12);
        assert_eq!(found.rate_rps.len(), 51);
        // One request a second; the last interval ends early.
        assert!((found.rate_rps[50] - 0.5).abs() < 1e-9);
        assert!(
            found.rate_rps[..50]
                .iter()
                .all(|rate| (rate - 1.0).abs() < 1e-9)
        );
        assert!((found.throughput_mb_s[7] - 1.0).abs() < 1e-9);
        assert!((found.working_set_mib[7] / 0.957_031_25 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_long_pause_is_a_row_of_zeroes() {
        let found = timeline(&[(5, 0, 4096), (6, 0, 4096), (3_600_000_000_005, 0, 4096)]);
        assert!((found.interval_s - 100.0).abs() < 1e-9);
        assert_eq!(found.rate_rps.len(), 37);
        assert!(found.rate_rps[1..36].iter().all(|rate| *rate < 1e-12));
        assert_eq!(found.read_share[0], Some(1.0));
        assert_eq!(found.read_share[1], None);
    }

    #[test]
    fn one_instant_is_one_interval() {
        let found = timeline(&[(9, 0, 4096)]);
        assert_eq!(found.working_set_mib.len(), 1);
        assert_eq!(timeline(&[]).rate_rps.len(), 0);
    }

    #[test]
    fn whatever_the_span_there_are_enough_and_not_too_many() {
        for shift in 8..60 {
            let step = 1_i64 << shift >> 8;
            let requests: Vec<_> = (0..256).map(|i| (i * step, 0, 512)).collect();
            let found = timeline(&requests).rate_rps.len();
            assert!(found <= INTERVALS_MAX, "{shift}: {found}");
            assert!(shift < 20 || found > 12, "{shift}: {found}");
        }
    }
}
