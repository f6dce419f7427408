//! First-come runs with the clock running freely: mean response times.
//!
//! The drive model runs the trace itself here, so differences add up as they do in use: what just
//! catches its sector in one simulator may just miss it in the other. Beside it runs the same with
//! our platter kept in step with the reference's: there only the model counts, not that chance.
//! Both have to hold.

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::ids::IoId;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::units::Instant;
use serde::Serialize;

use super::rows::{Ask, Load, Run, Served};
use super::{Check, Checks, Drives, FREE_MEAN_MAX, Finding, STEP_MEAN_MAX};
use crate::alone;

/// The mean response of a whole run.
#[derive(Clone, Debug, Serialize)]
pub struct FreeRunning {
    /// The reference's, in milliseconds.
    pub reference_ms: f64,
    /// Ours.
    pub mean_ms: f64,
    /// Ours against the reference's, relatively.
    pub relative: f64,
    /// The same with our platter kept in step with the reference's.
    pub in_step: f64,
}

pub(super) fn compare(runs: &[Run], drives: &Drives, checks: &mut Checks) {
    for run in runs.iter().filter(|run| run.load == Load::Open) {
        let found = mean(run, drives.named(run.layout));
        let apart = [
            ("", found.relative, FREE_MEAN_MAX),
            (" in step", found.in_step, STEP_MEAN_MAX),
        ];
        let beyond = apart
            .iter()
            .filter(|(_, apart, limit)| apart.abs() > *limit);
        let wrong = beyond.map(|(what, apart, limit)| {
            let [apart, limit] = [apart * 100.0, limit * 100.0];
            format!("the mean is {apart:+.4} % apart{what}, where {limit} % is allowed")
        });
        checks.add(Check {
            file: run.file.to_owned(),
            what: format!("fcfs, open, {}", run.layout),
            compared: run.served.len() as u64,
            limit: format!(
                "{} %, and {} % in step",
                FREE_MEAN_MAX * 100.0,
                STEP_MEAN_MAX * 100.0
            ),
            wrong: wrong.collect(),
            finding: Finding::FreeRunning(found),
            pass: false,
        });
    }
}

/// The mean over a file's requests.
fn mean(run: &Run, drive: &HddBlueprint) -> FreeRunning {
    let ends = run_open(&run.trace, drive);
    // Our run has its arrivals from the trace, whatever the rows say of theirs.
    let ours = |row: &Served| {
        let number = row.sequence as usize;
        ends[number].since(run.trace[number].arrival).0
    };
    let sum: u128 = run.served.iter().map(|row| u128::from(ours(row))).sum();
    let reference = run.served.iter().map(|row| u128::from(row.response_ns()));
    let reference: u128 = reference.sum();
    let count = run.served.len() as f64;
    FreeRunning {
        reference_ms: reference as f64 / count / 1e6,
        mean_ms: sum as f64 / count / 1e6,
        relative: sum as f64 / reference as f64 - 1.0,
        in_step: run_in_step(&run.served, drive.mechanics()) as f64 / reference as f64 - 1.0,
    }
}

/// When the requests of a trace with given arrivals are completed, first come, first served.
pub(super) fn run_open(trace: &[Ask], drive: &HddBlueprint) -> Vec<Instant> {
    let mut model = drive.drive();
    let mut now = Instant::ZERO;
    let mut end = |(index, ask): (usize, &Ask)| {
        now = carry_out(&mut *model, now.max(ask.arrival), index, ask).0;
        now
    };
    trace.iter().enumerate().map(&mut end).collect()
}

/// Sum of response times in nanoseconds of a first-come run whose platter lags behind as the
/// reference's did.
///
/// The reference drops a fraction of a nanosecond for each sector, so its platter falls behind by
/// up to some tenths of a millisecond in a run; a per cent of the requests then catch a sector that
/// they would have missed, or the other way round. Each is a revolution, and their sum is a random
/// number with a standard deviation of about 0.1 % of the mean. Each row tells how far behind the
/// platter was; with that, arm and queue still run freely.
fn run_in_step(served: &[Served], mechanics: &Mechanics) -> u128 {
    let (mut now, mut arm, mut sum) = (Instant::ZERO, mechanics.start(), 0);
    for row in served {
        now = now.max(row.ask.arrival);
        let theirs = mechanics.spindle().phase(row.start);
        let phase = mechanics.spindle().phase(now).shifted(theirs, row.phase);
        let Ask { op, at, len, .. } = row.ask;
        let media = mechanics.access_from(phase, arm, op, at, len);
        now += media.cost.total();
        arm = media.arm;
        sum += u128::from(now.since(row.ask.arrival).0);
    }
    sum
}

/// Runs one command on an idle drive; when it ends, and its completion.
pub(super) fn carry_out(
    drive: &mut dyn Drive,
    now: Instant,
    index: usize,
    ask: &Ask,
) -> (Instant, DriveDone) {
    let command = Command {
        io: IoId(index as u32),
        op: ask.op,
        at: ask.at,
        len: ask.len,
        fua: false,
    };
    alone::serve(drive, now, &command, |_| 1)
}
