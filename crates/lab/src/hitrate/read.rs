//! A trace, read once: which lines it asks for, in which order; simulations that need no more than
//! that go on meanwhile.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use nearslot_trace::OpenOptions;

use super::asked::{Asked, Flow};
use super::jobs::{self, Batch, Jobs, Policy};
use super::{Question, Size, Unit, Which};
use crate::error::RunError;
use crate::inspect;
use crate::sim::Control;
use crate::warning::Warning;

/// Simulations go on while the trace is read if their caches have so many lines at most: larger
/// ones wait until it is known how many lines there are, as some take memory by what they are to
/// hold.
const MEANWHILE_MAX: u64 = 1 << 22;

/// What a trace asks for, read to its end or to a stop.
pub(super) struct Whole {
    pub(super) asked: Asked,
    /// What is asked for, if it is kept.
    pub(super) flow: Flow,
    /// Simulations that went on meanwhile, if they are not.
    pub(super) jobs: Option<Jobs>,
    pub(super) files: Vec<String>,
    pub(super) format: String,
    /// Warnings of records of the trace that are not among the requests.
    pub(super) left_out: Vec<Warning>,
    /// Whether it was told to stop before the end.
    pub(super) is_cut_short: bool,
}

/// Reads a trace. Simulations that need neither what comes later nor how much that is go on
/// meanwhile.
///
/// # Errors
/// The trace cannot be read or asks for nothing, or it is to stop, and nothing was simulated
/// meanwhile.
pub(super) fn read(
    files: &[PathBuf],
    how: &OpenOptions,
    question: &Question,
    policies: &[Policy<'_>],
    control: &Control,
) -> Result<Whole, RunError> {
    let mut jobs = meanwhile(question, policies)?;
    let mut reader = nearslot_trace::open(files, how)?;
    let (mut asked, mut flow) = (Asked::new(question), Flow::default());
    let mut is_cut_short = control.stop.load(Ordering::Relaxed);
    while !is_cut_short && let Some(mut requests) = reader.next_columns()? {
        while !requests.is_empty() && !is_cut_short {
            let taken = asked.take(&requests, &mut flow)?;
            (_, requests) = requests.split_at(taken);
            if let Some(jobs) = &mut jobs {
                control.keeps.store(true, Ordering::Relaxed);
                jobs.ask(Batch::of(&flow, &[]), asked.footprint());
                flow.clear();
            }
            control.replied.fetch_add(taken as u64, Ordering::Relaxed);
            is_cut_short = control.stop.load(Ordering::Relaxed);
        }
        if let Unit::Page(_) = question.unit {
            reader.header().needs_places("a cache of pages")?;
        }
    }
    if is_cut_short && (jobs.is_none() || asked.footprint() == 0) {
        let what = "the trace was not read to its end";
        return Err(RunError::Stopped(what.to_owned()));
    }
    let header = reader.header();
    header.needs_most_records()?;
    let (files, format) = (header.files.clone(), header.format.clone());
    let mut left_out = Vec::from_iter(inspect::lost(header, asked.requests));
    left_out.extend(inspect::left_out(header));
    if asked.footprint() == 0 {
        let what = match (question.which, asked.lines) {
            (Which::All, 0) => "has neither reads nor writes",
            (Which::Reads, 0) => "has no reads",
            _ => "has no line in the sample; a larger one may have some",
        };
        let error = nearslot_trace::TraceError::unfit(what);
        return Err(error.in_file(&files.join(", ")).into());
    }
    Ok(Whole {
        asked,
        flow,
        jobs,
        files,
        format,
        left_out,
        is_cut_short,
    })
}

/// Simulations that can go on while the trace is read: all that are asked for, or none.
fn meanwhile(question: &Question, policies: &[Policy<'_>]) -> Result<Option<Jobs>, RunError> {
    let known =
        |size: &Size| !size.is_share() && size.lines(0, question.unit.bytes()) <= MEANWHILE_MAX;
    let ahead = policies.iter().any(|policy| policy.looks_ahead);
    if ahead || question.sample.is_some() || !question.sizes.iter().all(known) {
        return Ok(None);
    }
    let asking = jobs::asking(question, policies, None, 1.0)?;
    let capacity = |one: &jobs::Asking| jobs::capacity(one.lines, MEANWHILE_MAX);
    Ok(Some(Jobs::new(policies, &asking, capacity)?))
}
