//! What plots need of a run, in bounded memory: a time series whose intervals double when it grows too long, and a
//! stretch of consecutive arm positions.

use nearslot_core::contract::Oracle;
use nearslot_core::io::Command;
use nearslot_core::metrics::Histogram;
use nearslot_core::request::Op;
use nearslot_core::units::{Blocks, Duration, Instant};

use crate::outcome::Series;

/// Intervals of the time series at most; folded to half when reached.
const INTERVALS_MAX: usize = 512;
/// Width of an interval at first.
const WIDTH_FIRST: Duration = Duration::from_ms(1);
/// Consecutive starts on the drive that are kept.
const STARTS_MAX: usize = 3_000;
/// Points of a distribution at most.
const POINTS_MAX: usize = 800;

/// Collects the series of a run.
pub struct Timeseries {
    begin: Instant,
    integrated: Instant,
    width: Duration,
    intervals: Vec<Interval>,
    locator: Box<dyn Oracle>,
    capacity: Blocks,
    arm: Series,
}

#[derive(Clone, Copy, Default)]
struct Interval {
    replies: u64,
    response_ns: u128,
    request_ns: u128,
}

impl Interval {
    fn add(&mut self, other: &Interval) {
        self.replies += other.replies;
        self.response_ns += other.response_ns;
        self.request_ns += other.request_ns;
    }
}

impl Timeseries {
    /// An empty series; `locator` tells the cylinder of a block.
    pub fn new(locator: Box<dyn Oracle>, capacity: Blocks) -> Timeseries {
        Timeseries {
            begin: Instant::ZERO,
            integrated: Instant::ZERO,
            width: WIDTH_FIRST,
            intervals: Vec::with_capacity(INTERVALS_MAX),
            locator,
            capacity,
            arm: Series::default(),
        }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        (self.begin, self.integrated) = (now, now);
    }

    /// `in_system` requests were there since the last call.
    pub(crate) fn integrate(&mut self, now: Instant, in_system: u64) {
        while self.integrated < now {
            let index = self.index(self.integrated);
            let end = self.begin + Duration((index as u64 + 1) * self.width.0);
            let until = end.min(now);
            let span = until.since(self.integrated);
            self.intervals[index].request_ns += u128::from(in_system) * u128::from(span.0);
            self.integrated = until;
        }
    }

    pub(crate) fn replied(&mut self, now: Instant, response: Duration) {
        let index = self.index(now);
        self.intervals[index].replies += 1;
        self.intervals[index].response_ns += u128::from(response.0);
    }

    pub(crate) fn started(&mut self, now: Instant, command: &Command) {
        if self.arm.arm_s.len() < STARTS_MAX && command.op != Op::Flush {
            self.arm.arm_s.push(seconds(now.since(self.begin)));
            self.arm
                .arm_share
                .push(command.at.0 as f64 / self.capacity.0 as f64);
            self.arm.arm_band.push(self.locator.locate(command.at).band);
            self.arm.arm_write.push(command.op == Op::Write);
        }
    }

    /// The interval of `now`, made if it is new; intervals double when there would be too many.
    fn index(&mut self, now: Instant) -> usize {
        let mut index = (now.since(self.begin).0 / self.width.0) as usize;
        while index >= INTERVALS_MAX {
            self.fold();
            index = (now.since(self.begin).0 / self.width.0) as usize;
        }
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, Interval::default());
        }
        index
    }

    fn fold(&mut self) {
        for index in 0..self.intervals.len() {
            let interval = std::mem::take(&mut self.intervals[index]);
            self.intervals[index / 2].add(&interval);
        }
        self.intervals.truncate(self.intervals.len().div_ceil(2));
        self.width = Duration(self.width.0 * 2);
    }

    pub(crate) fn finish(mut self, end: Instant, response: &Histogram) -> Series {
        let mut series = std::mem::take(&mut self.arm);
        for (index, interval) in self.intervals.iter().enumerate() {
            let start = self.begin + Duration(index as u64 * self.width.0);
            if start >= end {
                break;
            }
            let span = seconds((start + self.width).min(end).since(start));
            series.time_s.push(seconds(start.since(self.begin)));
            series.rate_rps.push(interval.replies as f64 / span);
            series.queue.push(interval.request_ns as f64 / 1e9 / span);
            let mean = interval.response_ns as f64 / 1e6 / interval.replies.max(1) as f64;
            series
                .response_ms
                .push((interval.replies > 0).then_some(mean));
        }
        distribution(response, &mut series);
        series
    }
}

/// The distribution as points, thinned evenly in rank but never at its ends.
fn distribution(response: &Histogram, series: &mut Series) {
    let steps: Vec<(Duration, u64)> = response.steps().collect();
    let total = response.count();
    let (mut seen, mut shown) = (0, None);
    for (index, (upper, count)) in steps.iter().enumerate() {
        seen += count;
        // Finer towards the tail: equal steps of rank in the body, every step in the last percent.
        let place = (seen as f64 / total as f64 * POINTS_MAX as f64) as u64;
        let tail = total - seen < total / 100;
        if index == 0 || tail || shown != Some(place) {
            series.cdf_ms.push(upper.as_ms());
            series.cdf_share.push(seen as f64 / total as f64);
            shown = Some(place);
        }
    }
}

fn seconds(span: Duration) -> f64 {
    span.0 as f64 / 1e9
}
