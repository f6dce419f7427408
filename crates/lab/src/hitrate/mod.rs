//! Miss ratios of caches alone: what would be missed, whatever it would cost.
//!
//! A trace is read once. Its addresses become numbers of lines once ([`intern`]), and every
//! simulation, of each cache at each size, gets the same numbers. Nothing has a time here: what is
//! missed is there at once. What a miss costs a client, `compare` tells.
//!
//! Where a size is a share of what the trace asks for, or a cache has to know the future, all
//! numbers are kept first, four bytes each, and then simulations go on side by side. Else they get
//! batches of numbers while the trace is read, and memory grows with the different lines alone.

mod asked;
mod columns;
mod figure;
mod intern;
mod jobs;
mod read;
mod recency;
mod simulate;
mod text;
mod told;
mod words;

use std::path::PathBuf;

use nearslot_core::cache::KNOBS;
use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::registry::{ConfigError, Of};
use nearslot_trace::OpenOptions;
use serde::{Deserialize, Serialize};

use self::jobs::{Asking, Missed, PARTS, Policy};
use self::read::Whole;
use self::simulate::Counted;
use crate::error::RunError;
use crate::number::{counted, list};
use crate::program;
use crate::sim::Control;
use crate::warning::{Warning, WarningKind};

pub use columns::write;
pub use figure::figures;
pub use nearslot_core::size::Size;
pub use told::Told;

/// Version of the JSON layout; grows when a key changes its meaning or goes away.
pub const HITRATE_SCHEMA: u32 = 1;

/// Lines that are asked for at a time: their numbers stay in the nearest cache of the processor
/// while every simulation gets them.
const BATCH: usize = 512;

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
    /// Leave out sizes that are too small for the trace, as long as one is left: nobody asked for
    /// just these.
    pub leave_out: bool,
    /// What is cached as one.
    pub unit: Unit,
    /// Which requests count.
    pub which: Which,
    /// Only a sample of the lines is looked at.
    pub sample: Option<Sample>,
    /// Also count requests of which a page was missed.
    pub per_request: bool,
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
    /// How far the ratio of a sample may be off, at 95 % or more; none if all lines were looked at.
    pub off_by: Option<f64>,
    /// Requests of which at least one page was missed; none if they were not counted.
    pub missed_requests: Option<u64>,
    /// Of all requests.
    pub request_miss_ratio: Option<f64>,
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
    /// The sample of lines that was looked at; none if it was all of them. Lines and misses below
    /// are estimates then.
    pub sample: Option<Sampled>,
    /// Reads and writes that count.
    pub requests: u64,
    /// Lines that they ask for.
    pub asked: u64,
    /// Different lines among these.
    pub footprint: u64,
    /// Whether nothing was left out for an interruption.
    pub complete: bool,
    /// What to know before believing them.
    pub warnings: Vec<Warning>,
    /// A row for each cache and size.
    pub rows: Vec<Row>,
}

impl HitRates {
    /// Whether requests of which a page was missed were counted.
    fn counts_requests(&self) -> bool {
        self.rows.iter().any(|row| row.missed_requests.is_some())
    }
}

/// Reads a trace and simulates every cache of a question at every size, until `control` says stop.
/// What was simulated by then is told, if that is anything.
///
/// # Errors
/// A cache or a size is wrong, the trace cannot be read or asks for nothing, or nothing was
/// simulated before a stop.
pub fn hit_rates(
    files: &[PathBuf],
    how: &OpenOptions,
    question: &Question,
    control: &Control,
) -> Result<HitRates, RunError> {
    refuse(question)?;
    let policies = jobs::policies(&question.caches)?;
    let mut whole = read::read(files, how, question, &policies, control)?;
    let share = question.sample.map_or(1.0, |sample| sample.share);
    let footprint = (f64::from(whole.asked.footprint()) / share).round() as u64;
    let asking = jobs::asking(question, &policies, Some(footprint), share)?;
    let counted = match whole.jobs.take() {
        Some(jobs) => Counted::meanwhile(&jobs, &asking),
        None => simulate::simulate(question, &policies, &asking, &whole, control)?,
    };
    let rows = Rows {
        footprint,
        share,
        asked: whole.asked.lines,
        requests: question.per_request.then_some(whole.asked.requests),
    };
    let rows = rows.of(&asking, &counted);
    if rows.is_empty() {
        let what = "the trace was read, and no simulation went through all of it";
        return Err(RunError::Stopped(what.to_owned()));
    }
    let mut warnings = missing(&mut whole, rows.len(), asking.len());
    warnings.extend(holding_all(&rows, &asking, footprint));
    warnings.extend(without_sequences(&policies));
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
        complete: rows.len() == asking.len() && !whole.is_cut_short,
        warnings,
        rows,
    };
    found.headline = words::headline(&found);
    Ok(found)
}

/// Refuses a question that has no answer, or one that is not true.
fn refuse(question: &Question) -> Result<(), RunError> {
    refuse_none("cache", &question.caches)?;
    refuse_none("size", &question.sizes)?;
    refuse_twice("cache", &question.caches)?;
    refuse_twice("size", &question.sizes)?;
    refuse_requests(question)?;
    refuse_bytes(question)?;
    for cache in &question.caches {
        refuse_settings(cache)?;
    }
    Ok(())
}

/// Refuses settings that a cache has in a stack alone.
fn refuse_settings(cache: &PartConfig) -> Result<(), ConfigError> {
    let mut knobs = cache.knobs.iter();
    let of_stack = |key: &str| KNOBS.iter().any(|knob| knob.name == key);
    let card = Of::<dyn Cache>::KIND.find(&cache.name)?;
    if let Some((key, value)) = knobs
        .clone()
        .find(|(key, _)| card.knobs.iter().all(|knob| knob.name != key))
    {
        let own = card.knobs.iter().map(|knob| knob.name);
        let own: Vec<&str> = own.filter(|name| !of_stack(name)).collect();
        let what = format!("knob of {}", card.name);
        return Err(ConfigError::unknown(&what, key, &own).with_value(&value.to_string()));
    }
    let Some((key, value)) = knobs.find(|(key, _)| of_stack(key)) else {
        return Ok(());
    };
    let allowed = "left out here, where the size is asked apart and no time passes; a stack has it";
    let key = format!("{}.{key}", cache.name);
    Err(ConfigError::value(&key, &value.to_string(), allowed))
}

/// Refuses a question about nothing.
fn refuse_none<T>(key: &str, given: &[T]) -> Result<(), ConfigError> {
    match given {
        [] => Err(ConfigError::value(key, "[]", "at least one value")),
        _ => Ok(()),
    }
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

/// Refuses to count requests by themselves where that tells nothing, or nothing true.
fn refuse_requests(question: &Question) -> Result<(), RunError> {
    let allowed = match (question.unit, question.sample) {
        _ if !question.per_request => return Ok(()),
        (Unit::Request, _) => "left out with unit = request, where a miss is that of a request",
        (_, Some(_)) => "left out beside sample, which is of lines: of most requests it has a part",
        _ => return Ok(()),
    };
    Err(RunError::Config(ConfigError::value(
        "per_request",
        "true",
        allowed,
    )))
}

/// Refuses a size in bytes where requests are cached as wholes, whatever their length.
fn refuse_bytes(question: &Question) -> Result<(), ConfigError> {
    let mut sizes = question.sizes.iter();
    match sizes.find(|size| size.is_bytes()) {
        Some(size) if question.unit == Unit::Request => {
            let allowed = "so many lines, or a share: with unit = request each counts as one, whatever its length";
            Err(ConfigError::value("size", &size.to_string(), allowed))
        }
        _ => Ok(()),
    }
}

/// What misses are held against.
struct Rows {
    footprint: u64,
    /// The share of lines that was looked at.
    share: f64,
    /// Lines that were asked for.
    asked: u64,
    /// Requests, if they were counted.
    requests: Option<u64>,
}

impl Rows {
    /// A row for each of these, but for those that did not go through all.
    fn of(&self, asking: &[Asking], counted: &Counted) -> Vec<Row> {
        let row = |(number, one): (usize, &Asking)| {
            let whole = counted.whole[number]?;
            let parts = counted.parts.iter().map(|part| part[number]);
            Some(self.row(one, whole, &parts.collect::<Option<Vec<Missed>>>()?))
        };
        asking.iter().enumerate().filter_map(row).collect()
    }

    fn row(&self, one: &Asking, missed: Missed, parts: &[Missed]) -> Row {
        let ratio = |misses: u64, share: f64| misses as f64 / (self.asked as f64 * share);
        let of_part = |part: &Missed| ratio(part.lines, self.share / PARTS as f64);
        let parts: Vec<f64> = parts.iter().map(of_part).collect();
        // None if all lines were looked at.
        let parts = <[f64; PARTS]>::try_from(parts).ok();
        let lines = one.lines.min(self.footprint);
        Row {
            cache: one.name.clone(),
            size: one.size.to_string(),
            lines,
            share: lines as f64 / self.footprint as f64,
            misses: (missed.lines as f64 / self.share).round() as u64,
            // A sample may have more than its share of the requests.
            miss_ratio: ratio(missed.lines, self.share).min(1.0),
            knows_future: one.knows_future,
            off_by: parts.as_ref().map(jobs::half_width),
            missed_requests: self.requests.map(|_| missed.requests),
            request_miss_ratio: self
                .requests
                .map(|requests| missed.requests as f64 / requests as f64),
        }
    }
}

/// Warnings of parts of the trace that the numbers leave out.
fn missing(whole: &mut Whole, rows: usize, planned: usize) -> Vec<Warning> {
    let mut warnings = Vec::from_iter(cut_short(whole, rows, planned));
    warnings.append(&mut whole.left_out);
    warnings
}

/// What an interruption left out.
fn cut_short(whole: &Whole, rows: usize, planned: usize) -> Option<Warning> {
    let text = if whole.is_cut_short {
        let requests = counted(whole.asked.requests, "request");
        format!(
            "interrupted: these are miss ratios of the first {requests} that count; the rest of the trace was not read"
        )
    } else if rows < planned {
        format!(
            "interrupted: {rows} of {planned} miss ratios are here; the simulations of the others did not go through all of the trace"
        )
    } else {
        return None;
    };
    Some(Warning::new(WarningKind::Interrupted, text))
}

/// Caches that are told apart from `lru` by sequences alone, of which there are none here.
fn without_sequences(policies: &[Policy<'_>]) -> Option<Warning> {
    let same = policies.iter().filter(|policy| policy.is_lru_here);
    let names: Vec<String> = same.map(|policy| policy.name().to_owned()).collect();
    let (who, does) = match names.as_slice() {
        [] => return None,
        [one] => (
            one.clone(),
            "decides as lru does, and misses what that does",
        ),
        some => (list(some), "decide as lru does, and miss what that does"),
    };
    let text = format!(
        "nothing is brought beforehand here, so nothing belongs to a sequence: {who} {does}; `nearslot compare` has prefetchers"
    );
    Some(Warning::new(WarningKind::WithoutSequences, text))
}

/// Sizes at which a cache holds all that is asked for, and who misses more than each line once even
/// so.
fn holding_all(rows: &[Row], asking: &[Asking], footprint: u64) -> Vec<Warning> {
    let mut told: Vec<String> = Vec::new();
    for one in asking.iter().filter(|one| one.lines >= footprint) {
        let size = one.size.to_string();
        if !told.contains(&size) {
            told.push(size);
        }
    }
    let word = |size: String| {
        let more = rows.iter();
        let more = more.filter(|row| row.size == size && row.misses > footprint);
        let more: Vec<String> = more.map(|row| row.cache.clone()).collect();
        let who = match more.as_slice() {
            [] => "whatever the policy".to_owned(),
            some => format!("whatever the policy, but for {}", list(some)),
        };
        Warning::new(
            WarningKind::HoldsAll,
            format!(
                "a cache of {size} holds all that the trace asks for, {}: {who}, each is missed once",
                counted(footprint, "line")
            ),
        )
    };
    told.into_iter().map(word).collect()
}
