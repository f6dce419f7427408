//! What coming back after a power cut would cost: the reads that a placement names, carried out as
//! ordinary I/Os of a stack.
//!
//! The reads of a recovery follow one another, and nothing else runs. So each drive that has some
//! carries them out by itself, from rest and first come first served, and the times add up. What
//! the processor does with what was read is not counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::io::RecoveryRead;
use nearslot_core::measure::Measure;
use nearslot_core::op::Op;
use nearslot_core::registry::ConfigError;
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Instant};

use crate::memo::SHARED;
use crate::outcome::Number;
use crate::sim::{self, Control};
use crate::workload::Workload;

/// Who counts.
pub(crate) const KEY: &str = "recovery";

/// What.
pub(crate) const MEASURES: &[Measure] = &[
    Measure::quantity(
        "s",
        "s",
        "drive time to find the map again if the power went at the end of the run",
    ),
    Measure::count("reads", "reads", "the reads of that, one after another"),
    Measure::quantity("mib", "MiB", "what they read"),
];

/// What it would cost if the power went now; none if the volume would not come back, as where a
/// drive that is gone has what is to be read, and none if it is told to stop. `config` is the
/// run's.
///
/// # Errors
/// The drive cannot be built.
pub(crate) fn cost(
    stack: &Stack,
    config: &StackConfig,
    stop: &AtomicBool,
) -> Result<Option<BTreeMap<String, Number>>, ConfigError> {
    let mut reads = Vec::new();
    stack.recovery(&mut reads);
    let lost = |read: &RecoveryRead| stack.is_gone(read.drive);
    if reads.is_empty() || reads.iter().any(lost) {
        return Ok(None);
    }
    let count = reads.len() as u64;
    let bytes: u64 = reads.iter().map(|read| read.len.bytes()).sum();
    let mut seconds = 0.0;
    while let Some(RecoveryRead { drive, .. }) = reads.first().copied() {
        let (of_drive, others) = reads.into_iter().partition(|read| read.drive == drive);
        seconds += carry_out(of_drive, config, stop)?;
        reads = others;
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let numbers = [
        Number::Quantity(seconds),
        Number::Count(count),
        Number::Quantity(bytes as f64 / f64::from(1 << 20)),
    ];
    let names = MEASURES.iter().map(|measure| measure.name.to_owned());
    Ok(Some(names.zip(numbers).collect()))
}

/// Carries out the reads of one drive; the seconds that it takes.
fn carry_out(
    reads: Vec<RecoveryRead>,
    config: &StackConfig,
    stop: &AtomicBool,
) -> Result<f64, ConfigError> {
    let plain = StackConfig::over(config.drive.clone(), config.seed);
    let Assembly {
        mut stack,
        mut drives,
        ..
    } = plain.build_with(&SHARED)?;
    let mut in_turn = InTurn {
        left: reads.into_iter().enumerate(),
        due: Some(Instant::ZERO),
        stop,
    };
    let end = sim::run(
        &mut stack,
        &mut drives,
        &mut in_turn,
        &mut (),
        &Control::default(),
    );
    Ok(end.0 as f64 / 1e9)
}

/// Reads, each asked for when the one before was answered.
struct InTurn<'a, R> {
    left: R,
    /// Once it is set, no more are asked for.
    stop: &'a AtomicBool,
    /// When the next one is asked for; none while one is under way, and at the end.
    due: Option<Instant>,
}

impl<R: ExactSizeIterator<Item = (usize, RecoveryRead)> + Send> Workload for InTurn<'_, R> {
    fn next_arrival(&self) -> Option<Instant> {
        self.due
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.due = None;
        let (number, RecoveryRead { at, len, .. }) = self.left.next()?;
        let Blocks(len) = len;
        Some(Request::new(number as u64, Op::Read, at.0, len, now))
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        let more = self.left.len() > 0 && !self.stop.load(Ordering::Relaxed);
        self.due = more.then_some(now);
    }
}
