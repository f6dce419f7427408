//! Result files as a whole: whether their rows fit the trace, each other and the clock.
//!
//! A row repeats what others say too: it arrives when the trace says so (in a closed load: when the
//! request whose place it takes completed), it starts when it has arrived and the one before has
//! completed, its parts sum up to its service time, the heads start where the row before left them,
//! and the angle under them follows from the clock. Every request that was served when the last one
//! arrived has a row. All of this is exact, so a fault in one column shows here even where no model
//! is needed to see it.

use nearslot_core::drive::hdd::mech::Mechanics;
use nearslot_core::position::ArmPosition;
use nearslot_core::units::Instant;
use serde::Serialize;

use super::rows::{Ask, Load, Run, Served};
use super::{Check, Checks, Drives, Finding};

/// Whether the rows of a file fit together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Rows that do not fit.
    pub beyond: u64,
    /// The first of them: line, column, and what was expected.
    pub first_difference: Option<String>,
    /// Requests of the trace that were served by its end and have no row.
    pub missing: u64,
    /// How far the reference's platter is behind the clock at the last row, in microseconds.
    pub lag_us: f64,
}

/// Times are given to the nanosecond, and each is rounded by itself.
const ROUNDING_NS: u64 = 1;
/// What may be lost between four rounded times, start, parts and completion.
const SUM_NS: u64 = 3;
/// By how much the reference's platter may fall behind from one row to the next, and get ahead: it
/// drops a fraction of a nanosecond for each sector that it transfers (up to 1.4 seen), and a few
/// for what else it rounds.
const LAG_NS_PER_BLOCK: f64 = 2.0;
const LAG_NS: f64 = 10.0;

pub(super) fn compare(runs: &[Run], drives: &Drives, checks: &mut Checks) {
    for run in runs {
        let found = Walk::new(run, drives.named(run.layout).mechanics()).compare();
        let mut wrong = Vec::new();
        if let Some(first) = &found.first_difference {
            wrong.push(format!("{} rows do not fit; {first}", found.beyond));
        }
        if found.missing > 0 {
            wrong.push(format!(
                "{} requests that were served before the last one arrived have no row",
                found.missing
            ));
        }
        checks.add(Check {
            file: run.file.to_owned(),
            what: "rows fit the trace and the clock".to_owned(),
            compared: run.served.len() as u64,
            limit: "all rows, to the nanosecond; none missing".to_owned(),
            finding: Finding::Timeline(found),
            wrong,
            pass: false,
        });
    }
}

/// A walk over the rows of a file, in the order in which they were served.
struct Walk<'a> {
    run: &'a Run,
    mechanics: &'a Mechanics,
    /// Where the heads are, when the drive is free, how far its platter is behind.
    arm: ArmPosition,
    free: Instant,
    lag_ns: f64,
}

impl<'a> Walk<'a> {
    fn new(run: &'a Run, mechanics: &'a Mechanics) -> Walk<'a> {
        Walk {
            run,
            mechanics,
            arm: mechanics.start(),
            free: Instant::ZERO,
            lag_ns: 0.0,
        }
    }

    fn compare(mut self) -> Timeline {
        let mut found = Timeline::default();
        for (index, row) in self.run.served.iter().enumerate() {
            let mut differences = self.differences(index, row).into_iter();
            if let Some((column, expected)) = differences
                .find_map(|(column, fits, expected)| (!fits).then_some((column, expected)))
            {
                found.beyond += 1;
                found.first_difference.get_or_insert_with(|| {
                    format!("line {}, column `{column}`: {expected}", row.line)
                });
            }
            self.arm = row.media(self.mechanics).arm;
            self.free = row.completion;
            self.lag_ns = self.lag(row);
        }
        found.lag_us = self.lag_ns / 1e3;
        found.missing = self.missing();
        found
    }

    /// Columns of a row, whether they fit, and what they must be.
    fn differences(&self, index: usize, row: &Served) -> [(&'static str, bool, String); 6] {
        let arrival = self.arrival(row);
        let sum = row.seek_ns + row.rotation_ns + row.transfer_ns;
        let served = row.completion.0 - row.start.0;
        [
            self.number(index, row),
            (
                "arrival_ms",
                near(row.ask.arrival, arrival),
                format!(
                    "{}, but {} ms by {}",
                    ms(row.ask.arrival),
                    ms(arrival),
                    self.run.load.clock()
                ),
            ),
            self.start(row, self.free.max(arrival)),
            self.heads(row),
            self.angle(index, row),
            (
                "completion_ms",
                served.abs_diff(sum) <= SUM_NS,
                format!(
                    "{} ms after the start, but the parts sum up to {}",
                    served as f64 / 1e6,
                    sum as f64 / 1e6
                ),
            ),
        ]
    }

    fn number(&self, index: usize, row: &Served) -> (&'static str, bool, String) {
        let next = match self.run.load {
            Load::Open => index as u64,
            Load::Closed(_) if index == 0 => 0,
            Load::Closed(_) => row.sequence,
        };
        let text = format!("{}, but request {next} is the next", row.sequence);
        ("seq", row.sequence == next, text)
    }

    fn start(&self, row: &Served, start: Instant) -> (&'static str, bool, String) {
        let text = format!(
            "{}, but the request has arrived and the drive is free at {}",
            ms(row.start),
            ms(start)
        );
        ("start_ms", near(row.start, start), text)
    }

    fn heads(&self, row: &Served) -> (&'static str, bool, String) {
        let text = format!(
            "{}, head {}, but the heads were left at {}, head {}",
            row.arm.cylinder, row.arm.surface, self.arm.cylinder, self.arm.surface
        );
        ("start_cyl", row.arm == self.arm, text)
    }

    fn angle(&self, index: usize, row: &Served) -> (&'static str, bool, String) {
        let step = self.lag(row) - self.lag_ns;
        let blocks = match index {
            0 => 0,
            _ => self.run.served[index - 1].ask.len.0,
        };
        let most = LAG_NS + LAG_NS_PER_BLOCK * blocks as f64;
        let text = format!(
            "{:.9}, but the platter would turn {step:.0} ns less than the clock from the row before",
            row.phase.angle().as_turns()
        );
        ("start_angle_rev", (-LAG_NS..=most).contains(&step), text)
    }

    /// When a row's request arrives.
    fn arrival(&self, row: &Served) -> Instant {
        let number = row.sequence as usize;
        match self.run.load {
            Load::Open => self.run.trace[number].arrival,
            Load::Closed(depth) if number < depth => Instant::ZERO,
            // It takes the place of the request that completed as number - depth, counted from 0.
            Load::Closed(depth) => self.run.served[number - depth].completion,
        }
    }

    /// How far the platter is behind the clock at the start of a row, in nanoseconds; the shorter
    /// way round.
    fn lag(&self, row: &Served) -> f64 {
        let spindle = self.mechanics.spindle();
        let behind = row
            .phase
            .angle()
            .until(spindle.phase(row.start).angle())
            .as_turns();
        let behind = if behind > 0.5 { behind - 1.0 } else { behind };
        behind * spindle.revolution().0 as f64
    }

    /// Requests that were served when the last one of the trace arrived, and have no row.
    fn missing(mut self) -> u64 {
        let (trace, served) = (&self.run.trace, &self.run.served);
        match self.run.load {
            // When the trace has no more lines for a completed request, the reference stops.
            Load::Closed(depth) => {
                let expected = (trace.len() + 1).saturating_sub(depth);
                (expected as u64).saturating_sub(served.len() as u64)
            }
            Load::Open => {
                let last = trace.last().map_or(Instant::ZERO, |ask| ask.arrival);
                let mut has_row = vec![false; trace.len()];
                for row in served {
                    has_row[row.sequence as usize] = true;
                }
                let without = |(_, has): &(&Ask, bool)| !has;
                let asks = trace
                    .iter()
                    .zip(has_row)
                    .filter(without)
                    .map(|(ask, _)| ask);
                asks.take_while(|ask| self.serve(ask) <= last).count() as u64
            }
        }
    }

    /// Serves a request that has no row, behind all others; when it is done.
    fn serve(&mut self, ask: &Ask) -> Instant {
        let now = self.free.max(ask.arrival);
        let Ask { op, at, len, .. } = *ask;
        let media = self.mechanics.access(now, self.arm, op, at, len);
        self.arm = media.arm;
        self.free = now + media.cost.total();
        self.free
    }
}

/// Whether two times are the same but for their rounding.
fn near(a: Instant, b: Instant) -> bool {
    a.0.abs_diff(b.0) <= ROUNDING_NS
}

fn ms(at: Instant) -> f64 {
    at.0 as f64 / 1e6
}
