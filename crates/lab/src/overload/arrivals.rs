//! How many requests of a load come when, and how many of them are reads and writes, which alone
//! wait in a queue: counts in intervals of equal length, and the queue that a fluid would make of
//! them.
//!
//! The intervals double in length when they are all used, so a load of any length needs the same
//! memory, 1.5 MiB. A load of three hours is counted in intervals of a quarter of a second, one of
//! a week in intervals of a quarter of a minute. O(1) a request, O(intervals) a question.

use std::ops::Range;

/// Intervals at most.
const INTERVALS: usize = 65_536;

/// Requests, such of them as are read or written, and bytes of these.
type Count = (u64, u64, u64);

/// Arrivals counted in at most [`INTERVALS`] intervals.
#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) first: Option<u64>,
    pub(super) last: u64,
    shift: u32,
    counts: Vec<Count>,
}

/// A queue that grows from nothing and comes back to nothing, or to the end of the load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Swell {
    /// Intervals from the one in which it begins to the one in which it ends.
    pub(super) there: Range<usize>,
    /// The interval at whose end it is longest.
    pub(super) peak: usize,
    /// How many requests wait then.
    pub(super) longest: f64,
    /// How many wait when the load has ended.
    pub(super) rest: f64,
}

impl Arrivals {
    /// A request comes; `bytes` are read or written, if it does that.
    pub(super) fn record(&mut self, at: u64, bytes: Option<u64>) {
        let first = *self.first.get_or_insert(at);
        self.last = at;
        let place = |shift: u32| ((at - first) >> shift) as usize;
        while place(self.shift) >= INTERVALS {
            self.counts = self.counts.chunks(2).map(sum).collect();
            self.shift += 1;
        }
        let place = place(self.shift);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, (0, 0, 0));
        }
        let count = &mut self.counts[place];
        count.0 += 1;
        count.1 += u64::from(bytes.is_some());
        count.2 += bytes.unwrap_or(0);
    }

    pub(super) fn total(&self) -> Count {
        sum(&self.counts)
    }

    /// Length of an interval in seconds.
    pub(super) fn interval_s(&self) -> f64 {
        (1_u64 << self.shift) as f64 / 1e9
    }

    /// Reads and writes of the busiest tenth, their bytes, and its length in seconds.
    pub(super) fn busiest_tenth(&self) -> (u64, u64, f64) {
        let width = self.counts.len().div_ceil(10).max(1);
        let begin = sum(&self.counts[..width.min(self.counts.len())]);
        let (mut busiest, mut window) = (begin, begin);
        for (next, gone) in self.counts.iter().skip(width).zip(&self.counts) {
            window = (
                window.0 + next.0 - gone.0,
                window.1 + next.1 - gone.1,
                window.2 + next.2 - gone.2,
            );
            busiest = [busiest, window]
                .into_iter()
                .max_by_key(|(_, moved, bytes)| (*moved, *bytes))
                .expect("there are two");
        }
        // The last interval is not full; a load shorter than a tenth of its intervals is taken
        // whole.
        let whole = (self.last - self.first.unwrap_or(0)) as f64 / 1e9;
        let seconds = (width as f64 * self.interval_s()).min(whole);
        (busiest.1, busiest.2, seconds)
    }

    /// The first queue that begins in interval `from` or later, if so many requests are served a
    /// second.
    pub(super) fn swell(&self, from: usize, served_rps: f64) -> Option<Swell> {
        let served = served_rps * self.interval_s();
        let mut waiting = 0.0;
        let mut found: Option<Swell> = None;
        for (index, (_, moved, _)) in self.counts.iter().enumerate().skip(from) {
            waiting = (waiting + *moved as f64 - served).max(0.0);
            match &mut found {
                None if waiting > 0.0 => {
                    found = Some(Swell {
                        there: index..index + 1,
                        peak: index,
                        longest: waiting,
                        rest: waiting,
                    });
                }
                None => {}
                Some(swell) => {
                    swell.there.end = index + 1;
                    swell.rest = waiting;
                    if waiting > swell.longest {
                        (swell.peak, swell.longest) = (index, waiting);
                    }
                    if waiting <= 0.0 {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// All queues that begin in these intervals, if so many requests are served a second.
    pub(super) fn swells(
        &self,
        within: Range<usize>,
        served_rps: f64,
    ) -> impl Iterator<Item = Swell> {
        let mut from = within.start;
        std::iter::from_fn(move || {
            let swell = self.swell(from, served_rps)?;
            from = swell.there.end;
            within.contains(&swell.there.start).then_some(swell)
        })
    }

    /// All intervals.
    pub(super) fn intervals(&self) -> Range<usize> {
        0..self.counts.len()
    }

    /// The numbers of the requests that come in these intervals; the first of the load has number
    /// 0.
    pub(super) fn numbers(&self, intervals: Range<usize>) -> Range<u64> {
        let (before, ..) = sum(&self.counts[..intervals.start]);
        before..before + sum(&self.counts[intervals]).0
    }

    /// How many reads and writes come in these intervals.
    pub(super) fn moved(&self, intervals: Range<usize>) -> u64 {
        sum(&self.counts[intervals]).1
    }
}

fn sum(some: &[Count]) -> Count {
    some.iter().fold((0, 0, 0), |sum, one| {
        (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_tenth_is_found_at_any_length() {
        for scale in [1, 1_000_000, 1_000_000_000] {
            let mut arrivals = Arrivals::default();
            // 1,000 requests at even distances, and ten times as many in one tenth.
            for tick in 0..1_000_u64 {
                let many = if (500..600).contains(&tick) { 10 } else { 1 };
                (0..many).for_each(|_| arrivals.record(tick * scale + 7, Some(512)));
            }
            let (requests, bytes, seconds) = arrivals.busiest_tenth();
            assert!((980..=1_030).contains(&requests), "{requests}");
            assert_eq!(bytes, requests * 512);
            let share = seconds * 1e9 / (1_000.0 * scale as f64);
            assert!((0.09..0.12).contains(&share), "{share}");
            assert_eq!(arrivals.total().0, 1_900);
        }
    }

    /// Arrivals with these numbers of requests, one interval of 1 ns each.
    fn counted(counts: &[u64]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (at, count) in (100..).zip(counts) {
            (0..*count).for_each(|_| arrivals.record(at, Some(512)));
        }
        arrivals
    }

    #[test]
    fn a_queue_grows_by_what_comes_too_much_and_drains_by_what_comes_too_little() {
        // Two are served in each.
        let arrivals = counted(&[1, 2, 5, 4, 0, 3, 0, 0, 3, 1, 2, 7]);
        let found: Vec<Swell> = arrivals.swells(arrivals.intervals(), 2e9).collect();
        let swell = |there, peak, longest, rest| Swell {
            there,
            peak,
            longest,
            rest,
        };
        // Waiting: 0 0 3 5 3 4 2 0 1 0 0 5.
        let expected = [
            swell(2..8, 3, 5.0, 0.0),
            swell(8..10, 8, 1.0, 0.0),
            swell(11..12, 11, 5.0, 5.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(arrivals.numbers(2..4), 3..12);
        let within: Vec<Swell> = arrivals.swells(3..9, 2e9).collect();
        assert_eq!(
            within,
            [
                swell(3..5, 3, 2.0, 0.0),
                swell(5..7, 5, 1.0, 0.0),
                swell(8..10, 8, 1.0, 0.0)
            ]
        );
    }

    /// A flush between any two of them changes neither what is offered nor when it comes.
    #[test]
    fn only_what_is_read_or_written_is_in_the_queue() {
        let mut arrivals = Arrivals::default();
        for at in 0..8 {
            arrivals.record(at, (at % 2 == 0).then_some(512));
        }
        assert_eq!(arrivals.total(), (8, 4, 2_048));
        assert_eq!(arrivals.numbers(2..6), 2..6);
        assert_eq!(arrivals.moved(2..6), 2);
        let longest = arrivals.swell(0, 0.6e9).expect("it grows").longest;
        assert!((longest - 0.4).abs() < 1e-9, "{longest}");
    }

    #[test]
    fn intervals_that_are_joined_keep_their_requests_and_their_time() {
        let mut arrivals = Arrivals::default();
        let many = 5 * INTERVALS as u64;
        (0..many).for_each(|at| arrivals.record(3 * at, Some(512)));
        assert!(arrivals.intervals().end <= INTERVALS);
        let end_s = arrivals.intervals().end as f64 * arrivals.interval_s();
        let whole_s = (3 * many) as f64 / 1e9;
        assert!((end_s / whole_s - 1.0).abs() < 1e-3, "{end_s} {whole_s}");
        assert_eq!(arrivals.numbers(arrivals.intervals()), 0..many);
    }
}
