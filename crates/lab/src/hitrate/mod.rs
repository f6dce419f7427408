//! Miss ratios of caches alone: what would be missed, whatever it would cost.
//!
//! A trace is read once. Its addresses become numbers of lines once ([`intern`]), and every simulation, of each cache at each size, gets the same
//! numbers. Nothing has a time here: what is missed is there at once. What a miss costs a client, `compare` tells.
//!
//! Where a size is a share of what the trace asks for, or a cache has to know the future, all numbers are kept first, four bytes each, and then
//! simulations go on side by side. Else they get batches of numbers while the trace is read, and memory grows with the different lines alone.

mod asked;
mod figure;
mod intern;
mod jobs;
mod recency;
mod text;
mod told;
mod words;

use std::path::PathBuf;

use nearslot_core::cache::KNOBS;
use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::ids::Line;
use nearslot_core::registry::{CacheEnv, ConfigError};
use nearslot_trace::OpenOptions;
use serde::{Deserialize, Serialize};

use self::asked::Asked;
use self::jobs::{Asking, Jobs, PARTS};
use crate::error::RunError;
use crate::program;
use crate::warning::{Warning, WarningKind};

pub use figure::figures;
pub use nearslot_core::size::Size;
pub use told::Told;

/// Version of the JSON layout; grows when a key changes its meaning or goes away.
pub const HITRATE_SCHEMA: u32 = 1;

/// Lines that are asked for at a time: their numbers stay in the nearest cache of the processor while every simulation gets them.
const BATCH: usize = 512;

/// Simulations go on while the trace is read if their caches have so many lines at most: larger ones wait until it is known how many
/// lines there are, as some take memory by what they are to hold.
const MEANWHILE_MAX: u64 = 1 << 22;

/// What is cached as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Each page of so many bytes that a request touches, one after the other.
    Page(u64),
    /// Whatever begins at the first byte of a request, as long as it may be.
    Request,
}

impl Unit {
    /// Bytes of a line.
    fn bytes(self) -> u64 {
        match self {
            Unit::Page(bytes) => bytes,
            Unit::Request => 1,
        }
    }
}

/// Which requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// Reads and writes alike: what is written is in the cache then.
    All,
    /// Reads alone, as if nothing was written.
    Reads,
}

/// What is asked of a trace.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which caches.
    pub caches: Vec<PartConfig>,
    /// Each of them at each of these sizes.
    pub sizes: Vec<Size>,
    /// Leave out sizes that are too small for the trace, as long as one is left: nobody asked for just these.
    pub leave_out: bool,
    /// What is cached as one.
    pub unit: Unit,
    /// Which requests count.
    pub which: Which,
    /// Only a sample of the lines is looked at.
    pub sample: Option<Sample>,
}

/// A sample of the lines, each with all its requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Of all lines; above 0, and 1 at most.
    pub share: f64,
    /// Another one draws others.
    pub seed: u64,
}

/// What one cache of one size missed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Name and settings of the cache.
    pub cache: String,
    /// The size as it was asked for.
    pub size: String,
    /// Lines that it holds.
    pub lines: u64,
    /// Of all lines that the trace asks for.
    pub share: f64,
    /// Lines that were asked for and not there.
    pub misses: u64,
    /// Of all that were asked for.
    pub miss_ratio: f64,
    /// Whether it knows what will be asked for, as no cache that is used does.
    pub knows_future: bool,
    /// How far the ratio of a sample may be off, at 95 %; none if all lines were looked at.
    pub off_by: Option<f64>,
}

/// What was looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sampled {
    /// Of all lines, the share that was to be drawn.
    pub share: f64,
    /// What it was drawn with.
    pub seed: u64,
    /// Lines that were.
    pub lines: u32,
}

/// Miss ratios of a trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HitRates {
    /// [`HITRATE_SCHEMA`].
    pub schema: u32,
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot.
    pub build: String,
    /// What the numbers say.
    pub headline: String,
    /// The trace's files.
    pub files: Vec<String>,
    /// Their format.
    pub format: String,
    /// What is cached as one.
    pub unit: Unit,
    /// Which requests count.
    pub which: Which,
    /// The sample of lines that was looked at; none if it was all of them. Lines and misses below are estimates then.
    pub sample: Option<Sampled>,
    /// Reads and writes that count.
    pub requests: u64,
    /// Lines that they ask for.
    pub asked: u64,
    /// Different lines among these.
    pub footprint: u64,
    /// What to know before believing them.
    pub warnings: Vec<Warning>,
    /// A row for each cache and size.
    pub rows: Vec<Row>,
}

/// What a trace asks for, read to its end.
struct Whole {
    asked: Asked,
    /// The lines that are asked for, one after the other, if they are kept.
    lines: Vec<Line>,
    /// Simulations that went on meanwhile, if they are not.
    jobs: Option<Jobs>,
    files: Vec<String>,
    format: String,
}

/// Reads a trace and simulates every cache of a question at every size.
///
/// # Errors
/// A cache or a size is wrong, or the trace cannot be read or asks for nothing.
pub fn hit_rates(
    files: &[PathBuf],
    how: &OpenOptions,
    question: &Question,
) -> Result<HitRates, RunError> {
    refuse_twice("cache", &question.caches)?;
    refuse_twice("size", &question.sizes)?;
    let mut ahead = false;
    for cache in &question.caches {
        refuse_settings(cache)?;
        let built = cache.build::<dyn Cache>(&CacheEnv::of_pages(1))?;
        ahead |= built.looks_ahead();
    }
    let mut whole = read(files, how, question, ahead)?;
    let share = question.sample.map_or(1.0, |sample| sample.share);
    let footprint = (f64::from(whole.asked.footprint()) / share).round() as u64;
    let asking = jobs::asking(question, Some(footprint), share)?;
    let counted = match whole.jobs.take() {
        Some(jobs) => counted(&jobs, &asking),
        None => simulate(question, &asking, &whole, ahead)?,
    };
    let rows = rows(&asking, &counted, (whole.asked.lines, footprint, share));
    let mut found = HitRates {
        schema: HITRATE_SCHEMA,
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        headline: String::new(),
        files: whole.files,
        format: whole.format,
        unit: question.unit,
        which: question.which,
        sample: question.sample.map(|Sample { share, seed }| Sampled {
            share,
            seed,
            lines: whole.asked.footprint(),
        }),
        requests: whole.asked.requests,
        asked: whole.asked.lines,
        footprint,
        warnings: warnings(&asking, footprint),
        rows,
    };
    found.headline = words::headline(&found);
    Ok(found)
}

/// Refuses settings that a cache has in a stack alone.
fn refuse_settings(cache: &PartConfig) -> Result<(), ConfigError> {
    let mut knobs = cache.knobs.iter();
    let of_stack = |key: &str| KNOBS.iter().any(|knob| knob.name == key);
    let Some((key, value)) = knobs.find(|(key, _)| of_stack(key)) else {
        return Ok(());
    };
    let allowed = "left out here, where the size is asked apart and no time passes; a stack has it";
    let key = format!("{}.{key}", cache.name);
    Err(ConfigError::value(&key, &value.to_string(), allowed))
}

/// Refuses what is given twice.
fn refuse_twice(key: &str, given: &[impl ToString]) -> Result<(), RunError> {
    let mut words: Vec<String> = Vec::new();
    for word in given.iter().map(ToString::to_string) {
        if words.contains(&word) {
            let error = ConfigError::value(key, &word, "each once; it is given twice");
            return Err(RunError::Config(error));
        }
        words.push(word);
    }
    Ok(())
}

/// Reads a trace. Simulations that need neither what comes later nor how much that is go on meanwhile.
fn read(
    files: &[PathBuf],
    how: &OpenOptions,
    question: &Question,
    ahead: bool,
) -> Result<Whole, RunError> {
    let known =
        |size: &Size| !size.is_share() && size.lines(0, question.unit.bytes()) <= MEANWHILE_MAX;
    let mut jobs = None;
    if question.sizes.iter().all(known) && !ahead && question.sample.is_none() {
        let asking = jobs::asking(question, None, 1.0)?;
        jobs = Some(Jobs::new(&question.caches, &asking, |one| {
            capacity(one.lines, MEANWHILE_MAX)
        })?);
    }
    let mut reader = nearslot_trace::open(files, how)?;
    let (mut asked, mut batch, mut lines) = (Asked::new(question), Vec::new(), Vec::new());
    let mut pass = |asked: &mut Asked, lines: &mut Vec<Line>| -> Result<(), RunError> {
        asked.number(lines)?;
        if let Some(jobs) = &mut jobs {
            jobs.ask(lines, asked.footprint());
            lines.clear();
        }
        Ok(())
    };
    while reader.next_batch(&mut batch)? {
        for record in &batch {
            asked.record(record);
            if asked.is_full() {
                pass(&mut asked, &mut lines)?;
            }
        }
    }
    pass(&mut asked, &mut lines)?;
    let header = reader.header();
    header.needs_most_records()?;
    let (files, format) = (header.files.clone(), header.format.clone());
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
        lines,
        jobs,
        files,
        format,
    })
}

/// Lines of a cache: one that is larger than all that is asked for misses each once, however large it is.
fn capacity(lines: u64, footprint: u64) -> u32 {
    lines.min(footprint) as u32
}

/// What was missed: in all that was looked at, and in each part of it if that is a sample.
struct Counted {
    whole: Vec<u64>,
    parts: Vec<Vec<u64>>,
}

fn counted(jobs: &Jobs, asking: &[Asking]) -> Counted {
    Counted {
        whole: jobs.misses(asking.len()),
        parts: Vec::new(),
    }
}

/// Simulates what is asked of all lines that were kept.
fn simulate(
    question: &Question,
    asking: &[Asking],
    whole: &Whole,
    ahead: bool,
) -> Result<Counted, RunError> {
    let Whole { asked, lines, .. } = whole;
    let footprint = asked.footprint();
    let one = |lines: &[Line], share: f64| -> Result<Vec<u64>, RunError> {
        let next = match ahead {
            true => next(lines, footprint)?,
            false => Vec::new(),
        };
        let mut jobs = Jobs::new(&question.caches, asking, |one| {
            let lines = (one.lines as f64 * share).round() as u64;
            capacity(lines, footprint.into())
        })?;
        jobs.ask_all(lines, &next, footprint);
        Ok(jobs.misses(asking.len()))
    };
    let share = question.sample.map_or(1.0, |sample| sample.share);
    let mut counted = Counted {
        whole: one(lines, share)?,
        parts: Vec::new(),
    };
    if question.sample.is_some() {
        let mut parts: [Vec<Line>; PARTS] = Default::default();
        for line in lines {
            parts[jobs::part_of(*line)].push(*line);
        }
        for part in &parts {
            counted.parts.push(one(part, share / PARTS as f64)?);
        }
    }
    Ok(counted)
}

/// For each line that is asked for, when it is asked for the next time, counted from 1; the largest number if never.
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

fn rows(
    asking: &[Asking],
    counted: &Counted,
    (asked, footprint, share): (u64, u64, f64),
) -> Vec<Row> {
    let row = |(number, one): (usize, &Asking)| {
        let ratio = |misses: u64, share: f64| misses as f64 / (asked as f64 * share);
        let lines = one.lines.min(footprint);
        let misses = counted.whole[number];
        let off_by = (!counted.parts.is_empty()).then(|| {
            let of_part = |part: usize| ratio(counted.parts[part][number], share / PARTS as f64);
            jobs::half_width(&std::array::from_fn(of_part))
        });
        Row {
            cache: one.name.clone(),
            size: one.size.to_string(),
            lines,
            share: lines as f64 / footprint as f64,
            misses: (misses as f64 / share).round() as u64,
            // A sample may have more than its share of the requests.
            miss_ratio: ratio(misses, share).min(1.0),
            knows_future: one.knows_future,
            off_by,
        }
    };
    asking.iter().enumerate().map(row).collect()
}

/// Sizes at which every cache does the same.
fn warnings(asking: &[Asking], footprint: u64) -> Vec<Warning> {
    let mut told: Vec<String> = Vec::new();
    for one in asking.iter().filter(|one| one.lines >= footprint) {
        let size = one.size.to_string();
        if !told.contains(&size) {
            told.push(size);
        }
    }
    let word = |size: String| {
        Warning::new(
            WarningKind::HoldsAll,
            format!(
                "a cache of {size} holds all {footprint} lines that the trace asks for: whatever the policy, each is missed once"
            ),
        )
    };
    told.into_iter().map(word).collect()
}
