//! What plots need of a run, in bounded memory: a time series whose intervals double when it grows
//! too long, a stretch of consecutive drive commands (`command_window.rs`), and where the drive was
//! free (`free_space.rs`).

use nearslot_core::contract::Oracle;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::metrics::Histogram;
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Duration, Instant};

use super::command_window::Recording;
use super::free_space::Space;
use super::{Window, seconds};
use crate::outcome::Series;

/// Intervals of the time series at most; folded to half when reached.
const INTERVALS_MAX: usize = 512;
/// Width of an interval at first.
const WIDTH_FIRST: Duration = Duration::from_ms(1);
/// Points of a distribution at most.
const POINTS_MAX: usize = 800;

/// Collects the series of a run.
pub struct Timeseries {
    begin: Instant,
    integrated: Instant,
    width: Duration,
    intervals: Vec<Interval>,
    commands: Recording,
    space: Space,
}

#[derive(Clone, Copy, Default)]
struct Interval {
    replies: u64,
    response_ns: u128,
    request_ns: u128,
    read_ns: u128,
    write_ns: u128,
}

impl Interval {
    fn add(&mut self, other: &Interval) {
        self.replies += other.replies;
        self.response_ns += other.response_ns;
        self.request_ns += other.request_ns;
        self.read_ns += other.read_ns;
        self.write_ns += other.write_ns;
    }
}

impl Timeseries {
    /// An empty series of a run that measures `window`; `locator` tells the cylinder of a block.
    pub fn new(window: Window, locator: Box<dyn Oracle>, capacity: Blocks) -> Timeseries {
        Timeseries {
            begin: Instant::ZERO,
            integrated: Instant::ZERO,
            width: WIDTH_FIRST,
            intervals: Vec::with_capacity(INTERVALS_MAX),
            commands: Recording::new(window, locator, capacity),
            space: Space::default(),
        }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        (self.begin, self.integrated) = (now, now);
        self.space.begin(now);
    }

    #[inline]
    pub(crate) fn arrived(&mut self, request: &Request) {
        self.commands.arrived(request);
    }

    /// So many requests of each `Op` code were there since the last call.
    pub(crate) fn integrate(&mut self, now: Instant, present: &[u64; Op::ALL.len()]) {
        let all = u128::from(present.iter().sum::<u64>());
        let of = |op: Op| u128::from(present[op as usize]);
        while self.integrated < now {
            let index = self.index(self.integrated);
            let end = self.begin + Duration((index as u64 + 1) * self.width.0);
            let until = end.min(now);
            let span = u128::from(until.since(self.integrated).0);
            let interval = &mut self.intervals[index];
            interval.request_ns += all * span;
            interval.read_ns += of(Op::Read) * span;
            interval.write_ns += of(Op::Write) * span;
            self.integrated = until;
        }
    }

    pub(crate) fn replied(&mut self, now: Instant, response: Duration) {
        let index = self.index(now);
        self.intervals[index].replies += 1;
        self.intervals[index].response_ns += u128::from(response.0);
    }

    #[inline]
    pub(crate) fn started(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        origin: &Origin,
    ) {
        self.commands.started(now, drive, command, origin.open);
    }

    #[inline]
    pub(crate) fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.commands.done(now, drive, done);
    }

    #[inline]
    pub(crate) fn settled(&mut self, now: Instant, stack: &Stack) {
        self.space.settled(now, stack);
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

    /// The intervals until the end, each from when to when. A rest of less than half an interval
    /// belongs to the one before: alone it would tell the rate of a few requests.
    fn until(&self, end: Instant) -> Vec<(Instant, Instant, Interval)> {
        let mut found: Vec<(Instant, Instant, Interval)> = Vec::new();
        for (index, interval) in self.intervals.iter().enumerate() {
            let start = self.begin + Duration(index as u64 * self.width.0);
            let stop = (start + self.width).min(end);
            let is_rest = stop < start + Duration(self.width.0 / 2);
            match found.last_mut() {
                Some((_, last_stop, last)) if is_rest => {
                    *last_stop = stop.max(*last_stop);
                    last.add(interval);
                }
                _ if start < end => found.push((start, stop, *interval)),
                _ => {}
            }
        }
        found
    }

    pub(crate) fn finish(self, end: Instant, responses: (&Histogram, u64)) -> Series {
        let mut series = Series::default();
        let intervals = self.until(end);
        self.commands.finish(self.begin, &mut series);
        series.free = self.space.finish();
        for (start, stop, interval) in intervals {
            let span = seconds(stop.since(start));
            series.time_s.push(seconds(start.since(self.begin)));
            series.rate_rps.push(interval.replies as f64 / span);
            let present = |ns: u128| ns as f64 / 1e9 / span;
            series.queue.push(present(interval.request_ns));
            series.queue_read.push(present(interval.read_ns));
            series.queue_write.push(present(interval.write_ns));
            let mean = interval.response_ns as f64 / 1e6 / interval.replies.max(1) as f64;
            series
                .response_ms
                .push((interval.replies > 0).then_some(mean));
        }
        (series.cdf_ms, series.cdf_share) = distribution(responses);
        series
    }
}

/// The distribution as points, milliseconds and share of all requests at or below, thinned evenly
/// in rank but never at its ends. So many requests failed, and are below none.
pub(crate) fn distribution((response, failed): (&Histogram, u64)) -> (Vec<f64>, Vec<f64>) {
    let (mut ms, mut shares) = (Vec::new(), Vec::new());
    let steps: Vec<(Duration, u64)> = response.steps().collect();
    let total = response.count();
    let (mut seen, mut shown) = (0, None);
    for (index, (upper, count)) in steps.iter().enumerate() {
        seen += count;
        // Finer towards the tail: equal steps of rank in the body, every step in the last percent.
        let place = (seen as f64 / total as f64 * POINTS_MAX as f64) as u64;
        let tail = total - seen < total / 100;
        if index == 0 || tail || shown != Some(place) {
            ms.push(upper.as_ms());
            shares.push(seen as f64 / (total + failed) as f64);
            shown = Some(place);
        }
    }
    (ms, shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearslot_core::drive;

    /// The rates told of one answer every 100 us, for so long.
    fn rates(us: u64) -> Vec<f64> {
        let text = "kind = 'null'\ncapacity_blocks = 1000\nservice_us = 100.0";
        let (blueprint, _) = drive::read("toy", text, &[]).unwrap();
        let window = Window {
            requests: us / 100,
            warmup: 0,
        };
        let mut series = Timeseries::new(window, blueprint.exact(), blueprint.capacity());
        series.begin(Instant::ZERO);
        for number in 1..=us / 100 {
            series.replied(Instant(number * 100_000), Duration::from_us(100));
        }
        let end = Instant(us * 1_000);
        series.finish(end, (&Histogram::default(), 0)).rate_rps
    }

    #[test]
    fn the_last_interval_tells_the_rate_of_no_few_requests() {
        let near = |rates: Vec<f64>, intervals: usize| {
            assert_eq!(rates.len(), intervals, "{rates:?}");
            let off = |rate: &&f64| (**rate - 10_000.0).abs() > 2_001.0;
            assert_eq!(rates.iter().find(off), None, "{rates:?}");
        };
        near(rates(10_000), 10);
        near(rates(10_100), 10);
        near(rates(10_400), 10);
        near(rates(10_500), 11);
        near(rates(10_900), 11);
        assert_eq!(rates(300), [10_000.0]);
    }
}
