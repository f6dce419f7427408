//! A part of a trace, by time: from one instant to another, or the busiest window of some length.
//!
//! Times count from the first request that would be read without a span: of the device, if one is
//! named, and with coarse stamps spread. A span has its beginning and not its end, so neighbouring
//! spans share no request. What is read of it starts at time 0 again, like any other trace.
//!
//! # The busiest window
//! Which window of length `w` holds most requests is found in one pass and in the memory of
//! [`STEPS`] counters. Windows begin at multiples of `w` / [`STEPS`]; their requests are counted
//! exactly; of several with as many, the earliest is taken. So the window that is found holds at
//! least as many requests as any window of 0.999 `w`, wherever that begins: such a window lies
//! within one that begins at a multiple. The trace is then read again. O(1) a request.

use std::fmt;
use std::str::FromStr;

use nearslot_core::registry::ConfigError;
use serde::{Deserialize, Serialize};

use super::TraceError;
use super::record::Record;

/// Windows begin at this share of their length.
const STEPS: usize = 1000;

/// Later times are damage, as in records: 146 years.
const TIME_MAX_NS: u128 = 1 << 62;

/// How times are written, for messages.
const ALLOWED: &str = "a time with its unit, such as 250ms, 90s, 10m or 1h30m";

/// A time since the first request of a trace, or a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceTime {
    ns: u64,
}

/// Which part of a trace is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// All of it.
    #[default]
    Whole,
    /// From an instant on, up to one that is not part of it.
    Between {
        /// The earliest time that is read.
        from: TraceTime,
        /// The first time that is not; none reads to the end.
        to: Option<TraceTime>,
    },
    /// The window of this length with most requests.
    Busiest(TraceTime),
}

/// The part that was read, as results tell it. Seconds count from the first request of the whole
/// trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanRead {
    /// Begin.
    pub from_s: f64,
    /// End, which is not part of it; none is the end of the trace.
    pub to_s: Option<f64>,
    /// Whether it was found as the busiest window of its length.
    pub busiest: bool,
}

impl SpanRead {
    /// In words, for people.
    pub fn words(&self) -> String {
        let time = |seconds: f64| TraceTime {
            ns: libm::round(seconds * 1e9) as u64,
        };
        let from = time(self.from_s);
        let to = self.to_s.map(|to| time(to).to_string());
        let to = to.as_deref().unwrap_or("the end");
        let busiest = if self.busiest {
            ", the busiest window of its length"
        } else {
            ""
        };
        format!("from {from} to {to} of the trace{busiest}")
    }
}

impl TraceTime {
    /// So many nanoseconds.
    pub const fn from_ns(ns: u64) -> TraceTime {
        TraceTime { ns }
    }

    /// The same in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// A time as the user wrote it; `key` names it in errors.
    ///
    /// # Errors
    /// It has no unit, or is too long.
    pub fn told(key: &str, word: &str) -> Result<TraceTime, ConfigError> {
        let wrong = |allowed: &str| ConfigError::value(key, word, allowed);
        let time = humantime::parse_duration(word).map_err(|_| wrong(ALLOWED))?;
        match u64::try_from(time.as_nanos()) {
            Ok(ns) if u128::from(ns) < TIME_MAX_NS => Ok(TraceTime { ns }),
            _ => Err(wrong("at most 146 years")),
        }
    }

    fn seconds(self) -> f64 {
        self.ns as f64 / 1e9
    }
}

impl FromStr for TraceTime {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<TraceTime, ConfigError> {
        TraceTime::told("time", word)
    }
}

impl TryFrom<String> for TraceTime {
    type Error = ConfigError;

    fn try_from(word: String) -> Result<TraceTime, ConfigError> {
        word.parse()
    }
}

impl From<TraceTime> for String {
    fn from(time: TraceTime) -> String {
        time.to_string()
    }
}

impl fmt::Display for TraceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = std::time::Duration::from_nanos(self.ns);
        let text = humantime::format_duration(time).to_string();
        f.write_str(&text.replace(' ', ""))
    }
}

impl Span {
    /// The span that the three settings say, as the command line and scenarios have them.
    ///
    /// # Errors
    /// They contradict each other, or leave nothing.
    pub fn told(
        from: Option<TraceTime>,
        to: Option<TraceTime>,
        busiest: Option<TraceTime>,
    ) -> Result<Span, ConfigError> {
        let Some(length) = busiest else {
            return Span::between(from, to);
        };
        if let Some((key, time)) = from.map(|t| ("from", t)).or(to.map(|t| ("to", t))) {
            let allowed = "nothing beside busiest, which finds begin and end by itself";
            return Err(ConfigError::value(key, &time.to_string(), allowed));
        }
        // So that windows begin at whole nanoseconds.
        if length.ns < 1_000_000 || !length.ns.is_multiple_of(STEPS as u64) {
            let allowed = "at least 1ms, in whole microseconds";
            return Err(ConfigError::value("busiest", &length.to_string(), allowed));
        }
        Ok(Span::Busiest(length))
    }

    fn between(from: Option<TraceTime>, to: Option<TraceTime>) -> Result<Span, ConfigError> {
        if from.is_none() && to.is_none() {
            return Ok(Span::Whole);
        }
        let from = from.unwrap_or(TraceTime { ns: 0 });
        if let Some(to) = to.filter(|to| *to <= from) {
            let allowed = format!("later than from, which is {from}");
            return Err(ConfigError::value("to", &to.to_string(), &allowed));
        }
        Ok(Span::Between { from, to })
    }

    /// As results tell it, once the busiest window is known.
    pub(crate) fn read(self, busiest: bool) -> Option<SpanRead> {
        match self {
            Span::Whole => None,
            Span::Between { from, to } => Some(SpanRead {
                from_s: from.seconds(),
                to_s: to.map(TraceTime::seconds),
                busiest,
            }),
            Span::Busiest(_) => unreachable!("it was found before anything was read"),
        }
    }
}

/// Keeps what lies within a span, in a stream of records in rising order of time.
pub(crate) struct Cut {
    from: TraceTime,
    to: Option<TraceTime>,
    /// Time of the first record of all.
    origin: Option<i64>,
    /// Times, from the origin, of the last record before the span, and of the last one seen.
    before: Option<u64>,
    last: u64,
    /// Time of the first record behind the span.
    behind: Option<u64>,
}

impl Cut {
    /// The cut that a span needs, if it is not the whole trace.
    pub(crate) fn of(span: Span) -> Option<Cut> {
        let Span::Between { from, to } = span else {
            assert_eq!(span, Span::Whole, "the busiest window was found");
            return None;
        };
        Some(Cut {
            from,
            to,
            origin: None,
            before: None,
            last: 0,
            behind: None,
        })
    }

    /// Leaves what is within the span; true when nothing further can be.
    pub(crate) fn keep(&mut self, records: &mut Vec<Record>) -> bool {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return false;
        };
        let origin = *self.origin.get_or_insert(first.ts);
        self.last = last.ts.abs_diff(origin);
        let since = |record: &Record| record.ts.abs_diff(origin);
        if let Some(to) = self.to {
            let end = records.partition_point(|record| since(record) < to.ns);
            self.behind = records.get(end).map(since);
            records.truncate(end);
        }
        let begin = records.partition_point(|record| since(record) < self.from.ns);
        if begin > 0 {
            self.before = Some(since(&records[begin - 1]));
            records.drain(..begin);
        }
        self.behind.is_some()
    }

    /// What is wrong with the span, at the end of the trace; `kept` requests were within.
    pub(crate) fn fault(&self, kept: u64) -> Option<String> {
        let time = |ns: u64| TraceTime { ns };
        self.origin?;
        let last = time(self.last);
        if self.before == Some(self.last) && kept == 0 && self.behind.is_none() {
            let from = self.from;
            return Some(format!(
                "the part to be read begins at {from}, behind the last request, which comes at {last}"
            ));
        }
        let to = self.to?;
        match self.behind {
            None => Some(format!(
                "the part to be read ends at {to}, behind the last request, which comes at {last}; leave its end out to read \
                 all that is left"
            )),
            Some(behind) if kept == 0 => Some(format!(
                "no request comes from {} to {to}: the one before comes at {}, the next at {}",
                self.from,
                time(self.before.unwrap_or(0)),
                time(behind)
            )),
            Some(_) => None,
        }
    }
}

/// Finds the busiest window, see the head of this file.
pub(crate) struct Busiest {
    length: TraceTime,
    step_ns: u64,
    origin: Option<i64>,
    last_ns: u64,
    /// Requests of the last [`STEPS`] steps, by step modulo [`STEPS`], and their sum.
    counts: Box<[u64; STEPS]>,
    sum: u64,
    /// The current step.
    step: u64,
    /// First step of the busiest window so far, and its requests.
    best: (u64, u64),
}

impl Busiest {
    pub(crate) fn new(length: TraceTime) -> Busiest {
        Busiest {
            length,
            step_ns: length.ns / STEPS as u64,
            origin: None,
            last_ns: 0,
            counts: Box::new([0; STEPS]),
            sum: 0,
            step: 0,
            best: (0, 0),
        }
    }

    /// Takes the next records, in rising order of time.
    pub(crate) fn record(&mut self, records: &[Record]) {
        for record in records {
            let origin = *self.origin.get_or_insert(record.ts);
            self.last_ns = record.ts.abs_diff(origin);
            let step = self.last_ns / self.step_ns;
            if step > self.step {
                self.go_to(step);
            }
            self.counts[(step % STEPS as u64) as usize] += 1;
            self.sum += 1;
        }
    }

    /// Ends the steps before `next`.
    fn go_to(&mut self, next: u64) {
        // After so many steps without a request there is nothing left to forget.
        let passed = (next - self.step).min(2 * STEPS as u64);
        for _ in 0..passed {
            self.judge();
            self.step += 1;
            let oldest = &mut self.counts[(self.step % STEPS as u64) as usize];
            self.sum -= std::mem::take(oldest);
        }
        self.step = next;
    }

    /// Holds the window that ends with the current step against the best.
    fn judge(&mut self) {
        let begin = (self.step + 1).checked_sub(STEPS as u64);
        if let Some(begin) = begin.filter(|_| self.sum > self.best.1) {
            self.best = (begin, self.sum);
        }
    }

    /// The window that was found.
    ///
    /// # Errors
    /// The trace is not longer than a window.
    pub(crate) fn finish(mut self) -> Result<Span, TraceError> {
        if self.last_ns < self.length.ns {
            return Err(TraceError::unfit(format!(
                "a busiest window of {} is no shorter than the trace, whose last request comes at {}",
                self.length,
                TraceTime { ns: self.last_ns }
            )));
        }
        self.judge();
        let from = self.best.0 * self.step_ns;
        // A window at the end may reach behind the last request.
        let to = Some(from + self.length.ns).filter(|to| *to <= self.last_ns);
        Ok(Span::Between {
            from: TraceTime { ns: from },
            to: to.map(TraceTime::from_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::TraceOp;

    fn time(word: &str) -> TraceTime {
        word.parse().unwrap()
    }

    fn at(times: &[u64]) -> Vec<Record> {
        let read = |ts: &u64| Record::new(*ts as i64 + 7, TraceOp::Read, 0, 512, 0);
        times.iter().map(read).collect()
    }

    fn busiest(times: &[u64], length_ns: u64) -> Result<Span, TraceError> {
        let mut found = Busiest::new(TraceTime { ns: length_ns });
        at(times).chunks(3).for_each(|batch| found.record(batch));
        found.finish()
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("1h30m").ns(), 5_400_000_000_000);
        assert_eq!(time("1.5h"), time("1h30m"));
        assert_eq!(
            (time("90s"), time("250ms").ns()),
            (time("1m30s"), 250_000_000)
        );
        assert_eq!(time("90s").to_string(), "1m30s");
        for word in ["90", "", "-1s", "s", "9 lightyears", "200years"] {
            let error = TraceTime::told("from", word).unwrap_err().to_string();
            assert!(error.contains(&format!("from = {word}")), "{error}");
        }
    }

    #[test]
    fn settings_that_contradict_each_other_are_named() {
        let told = |from: &str, to: &str, busiest: &str| {
            let time = |word: &str| (!word.is_empty()).then(|| time(word));
            Span::told(time(from), time(to), time(busiest)).map_err(|error| error.to_string())
        };
        assert_eq!(told("", "", ""), Ok(Span::Whole));
        let (from, to) = (time("0s"), Some(time("5s")));
        assert_eq!(told("", "5s", ""), Ok(Span::Between { from, to }));
        assert!(
            told("5s", "5s", "")
                .unwrap_err()
                .contains("later than from")
        );
        assert!(told("5s", "", "1h").unwrap_err().contains("from = 5s"));
        assert!(told("", "5s", "1h").unwrap_err().contains("to = 5s"));
        assert!(told("", "", "1us").unwrap_err().contains("at least 1ms"));
    }

    #[test]
    fn a_cut_has_its_beginning_and_not_its_end() {
        let span = Span::told(Some(time("10ns")), Some(time("20ns")), None).unwrap();
        let mut cut = Cut::of(span).unwrap();
        let mut kept = Vec::new();
        for batch in at(&[0, 9, 10, 10, 19, 20, 21]).chunks(2) {
            let mut batch = batch.to_vec();
            let over = cut.keep(&mut batch);
            kept.extend(batch.iter().map(|record| record.ts - 7));
            if over {
                break;
            }
        }
        assert_eq!(kept, [10, 10, 19]);
        assert_eq!(cut.fault(3), None);
    }

    #[test]
    fn spans_without_a_request_are_faults() {
        let fault = |from: u64, to: Option<u64>| {
            let (from, to) = (TraceTime { ns: from }, to.map(TraceTime::from_ns));
            let mut cut = Cut::of(Span::Between { from, to }).unwrap();
            let mut records = at(&[0, 100, 900]);
            cut.keep(&mut records);
            cut.fault(records.len() as u64)
        };
        assert_eq!(fault(100, Some(900)), None);
        assert_eq!(fault(900, None), None);
        let words = |from, to| fault(from, to).unwrap();
        assert!(words(901, None).contains("begins at 901ns, behind"));
        assert!(words(901, Some(950)).contains("begins at 901ns, behind"));
        assert!(words(0, Some(901)).contains("ends at 901ns, behind"));
        let empty = words(101, Some(900));
        assert!(empty.contains("before comes at 100ns"));
        assert!(empty.contains("next at 900ns"));
    }

    #[test]
    fn the_earliest_of_equal_windows_is_taken() {
        let millisecond = 1_000_000;
        // Two bursts of two, and three of one.
        let times = [0, 5, 5, 9, 12, 12, 30].map(|ms| ms * millisecond);
        let Span::Between { from, to } = busiest(&times, millisecond).unwrap() else {
            panic!("it is a span")
        };
        // The earliest window of 1 ms that holds both begins 999 us before them.
        assert_eq!((from.ns(), to.unwrap().ns()), (4_001_000, 5_001_000));
    }

    #[test]
    fn a_window_that_ends_at_the_last_request_is_without_it() {
        let times = [0, 4_001_000, 4_001_000, 5_000_000, 5_001_000];
        let Span::Between { from, to } = busiest(&times, 1_000_000).unwrap() else {
            panic!("it is a span")
        };
        assert_eq!(
            (from.ns(), to.map(|to| to.ns())),
            (4_001_000, Some(5_001_000))
        );
    }

    #[test]
    fn a_trace_no_longer_than_the_window_is_a_fault() {
        let error = busiest(&[0, 999_999], 1_000_000).unwrap_err().to_string();
        assert!(error.contains("window of 1ms"), "{error}");
        assert!(busiest(&[0, 1_000_000], 1_000_000).is_ok());
    }

    proptest! {
        /// Against every window on the grid, counted one by one, and against windows that begin
        /// anywhere.
        #[test]
        fn no_window_is_busier(gaps in prop::collection::vec(0_u64..3_000_000, 2..60), long in 0_u64..20_000_000) {
            let mut now = 0;
            let mut times: Vec<u64> = vec![0];
            for (index, gap) in gaps.iter().enumerate() {
                now += gap + if index == gaps.len() / 2 { long } else { 0 };
                times.push(now);
            }
            let (length, step) = (1_000_000, 1_000);
            let held = |from: u64, length: u64| {
                let before = |end: u64| times.partition_point(|time| *time < end);
                before(from + length) - before(from)
            };
            match busiest(&times, length) {
                Err(_) => prop_assert!(now < length),
                Ok(Span::Between { from, .. }) => {
                    let begin = from.ns();
                    prop_assert!(begin.is_multiple_of(step));
                    let best = held(begin, length);
                    prop_assert!((0..=now / step).all(|grid| held(grid * step, length) <= best));
                    prop_assert!((0..begin / step).all(|grid| held(grid * step, length) < best));
                    prop_assert!(times.iter().all(|time| held(*time, length - step) <= best));
                }
                Ok(_) => prop_assert!(false, "it is a span"),
            }
        }
    }
}
