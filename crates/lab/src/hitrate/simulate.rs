//! Simulations of all that a trace asks for, when it is known, side by side.

use std::sync::atomic::Ordering;

use nearslot_core::ids::Line;
use nearslot_core::registry::ConfigError;

use super::Question;
use super::asked::Flow;
use super::jobs::{self, Asking, Batch, Jobs, Missed, PARTS, Policy};
use super::read::Whole;
use crate::error::RunError;
use crate::sim::Control;

/// What was missed: in all that was looked at, and in each part of it if that is a sample. None of
/// what did not go through all of it.
pub(super) struct Counted {
    pub(super) whole: Vec<Option<Missed>>,
    pub(super) parts: Vec<Vec<Option<Missed>>>,
}

impl Counted {
    /// What simulations found that went on while the trace was read.
    pub(super) fn meanwhile(jobs: &Jobs, asking: &[Asking]) -> Counted {
        Counted {
            whole: jobs.missed(asking.len()),
            parts: Vec::new(),
        }
    }
}

/// Simulates what is asked of all lines that were kept.
///
/// # Errors
/// More is asked for than can be looked ahead.
pub(super) fn simulate(
    question: &Question,
    policies: &[Policy<'_>],
    asking: &[Asking],
    whole: &Whole,
    control: &Control,
) -> Result<Counted, RunError> {
    let Whole { asked, flow, .. } = whole;
    let footprint = asked.footprint();
    let ahead = policies.iter().any(|policy| policy.looks_ahead);
    let jobs = |share: f64| {
        Jobs::new(policies, asking, |one| {
            let lines = (one.lines as f64 * share).round() as u64;
            jobs::capacity(lines, footprint.into())
        })
    };
    let go_through = |mut jobs: Jobs, flow: &Flow| -> Result<Vec<Option<Missed>>, RunError> {
        let next = match ahead {
            true => next(&flow.lines, footprint)?,
            false => Vec::new(),
        };
        jobs.ask_all(Batch::of(flow, &next), footprint, control);
        Ok(jobs.missed(asking.len()))
    };
    let share = question.sample.map_or(1.0, |sample| sample.share);
    let first = jobs(share)?;
    control.keeps.store(true, Ordering::Relaxed);
    let times = 1 + u64::from(question.sample.is_some());
    let expected = times * first.len() as u64 * flow.lines.len() as u64;
    control.replied.store(0, Ordering::Relaxed);
    control.expected.store(expected, Ordering::Relaxed);
    let mut counted = Counted {
        whole: go_through(first, flow)?,
        parts: Vec::new(),
    };
    if question.sample.is_some() {
        let mut parts: [Flow; PARTS] = Default::default();
        for line in &flow.lines {
            parts[jobs::part_of(*line)].lines.push(*line);
        }
        for part in &parts {
            let jobs = jobs(share / PARTS as f64)?;
            counted.parts.push(go_through(jobs, part)?);
        }
    }
    Ok(counted)
}

/// For each line that is asked for, when it is asked for the next time, counted from 1; the largest
/// number if never.
fn next(asked: &[Line], lines: u32) -> Result<Vec<u32>, RunError> {
    if u32::try_from(asked.len() + 1).is_err() {
        let what = "lines that the trace asks for";
        let allowed = format!(
            "less than {} for a cache that looks ahead; --limit or --sample make them fewer",
            u32::MAX
        );
        let count = asked.len().to_string();
        return Err(RunError::Unfit(ConfigError::value(what, &count, &allowed)));
    }
    let mut last = vec![u32::MAX; lines as usize];
    let mut next = vec![0; asked.len()];
    for (index, line) in asked.iter().enumerate().rev() {
        next[index] = std::mem::replace(&mut last[line.index()], index as u32 + 1);
    }
    Ok(next)
}
