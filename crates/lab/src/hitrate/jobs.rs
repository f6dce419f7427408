//! The simulations of a question: every cache at every size.
//!
//! A cache that keeps what was asked for last needs one pass for all sizes ([`Recency`]); every
//! other is simulated at each size by itself.
//!
//! Of a sample, a cache is as much smaller as the sample is. How far a sample may be off is told by
//! [`PARTS`] parts of it, each with caches that are once more as much smaller: what they differ by,
//! the mean of them is off by less (Student's t).

use std::sync::atomic::Ordering;

use nearslot_core::config::{PartConfig, is_lru_but_for_sequences};
use nearslot_core::contract::Cache;
use nearslot_core::ids::Line;
use nearslot_core::registry::{CacheEnv, ConfigError};
use nearslot_core::rng::mix;
use rayon::prelude::*;

use super::asked::Flow;
use super::recency::Recency;
use super::{BATCH, Question, Size, Unit};
use crate::error::RunError;
use crate::measure::standard_error;
use crate::number::counted;
use crate::sim::Control;

/// Parts of a sample.
pub(super) const PARTS: usize = 8;
/// Lines of a cache of a part, at least: with fewer, each counts for too much.
const PART_LINES_MIN: u64 = 8;
/// Student's t of [`PARTS`] - 1 degrees of freedom that 97.5 % are below.
const STUDENT_T: f64 = 2.364_624;

/// Lines between two looks at the outside, about: some milliseconds.
const LOOK_EVERY: usize = 64 * BATCH;

/// A cache that is asked about, and what it says of itself.
pub(super) struct Policy<'a> {
    part: &'a PartConfig,
    /// Whether it looks ahead.
    pub(super) looks_ahead: bool,
    /// Whether one pass tells all sizes.
    is_recency: bool,
    /// Whether it is another one than `lru` that decides as that does, since here nothing belongs
    /// to a sequence.
    pub(super) is_lru_here: bool,
}

impl Policy<'_> {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.part.name
    }

    /// Refuses settings by which nothing goes here.
    fn refuse_idle(&self) -> Result<(), ConfigError> {
        match self.part.knobs.first().filter(|_| self.is_lru_here) {
            None => Ok(()),
            Some((key, value)) => {
                let name = self.name();
                let allowed = format!(
                    "left out here, where nothing is brought beforehand, so that nothing belongs to a sequence: {name} decides as lru does; \
                     `nearslot compare` has prefetchers"
                );
                let key = format!("{name}.{key}");
                Err(ConfigError::value(&key, &value.to_string(), &allowed))
            }
        }
    }

    fn built(&self, capacity: u32) -> Result<Box<dyn Cache>, ConfigError> {
        self.part.build(&CacheEnv::of_pages(capacity))
    }
}

/// These caches, in turn.
///
/// # Errors
/// One that cannot be built, or has a setting without effect.
pub(super) fn policies(caches: &[PartConfig]) -> Result<Vec<Policy<'_>>, ConfigError> {
    caches.iter().map(policy).collect()
}

/// This cache, and what it says of itself.
fn policy(part: &PartConfig) -> Result<Policy<'_>, ConfigError> {
    let cache = part.build::<dyn Cache>(&CacheEnv::of_pages(1))?;
    let policy = Policy {
        part,
        looks_ahead: cache.looks_ahead(),
        is_recency: cache.is_recency(),
        is_lru_here: is_lru_but_for_sequences(part)?,
    };
    policy.refuse_idle()?;
    Ok(policy)
}

/// One cache of one size, as it was asked for.
pub(super) struct Asking {
    pub(super) name: String,
    pub(super) size: Size,
    /// Whether it looks ahead.
    pub(super) knows_future: bool,
    /// Its lines, of all that the trace asks for.
    pub(super) lines: u64,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    /// One after the other.
    lines: &'a [Line],
    /// Of each, when it is asked for the next time, if a cache looks ahead.
    next: &'a [u32],
    /// How many of them each request asks for, if requests are counted.
    lengths: &'a [u32],
}

impl<'a> Batch<'a> {
    /// All of this.
    pub(super) fn of(flow: &'a Flow, next: &'a [u32]) -> Batch<'a> {
        let Flow { lines, lengths } = flow;
        Batch {
            lines,
            next,
            lengths,
        }
    }

    /// The first lines; whole requests where these are counted. The rest is left behind.
    fn split_off(&mut self, lines: usize) -> Batch<'a> {
        let (mut requests, mut count) = (0, lines.min(self.lines.len()));
        if !self.lengths.is_empty() {
            count = 0;
            while count < lines && requests < self.lengths.len() {
                count += self.lengths[requests] as usize;
                requests += 1;
            }
        }
        let ahead = count.min(self.next.len());
        let first = Batch {
            lines: &self.lines[..count],
            next: &self.next[..ahead],
            lengths: &self.lengths[..requests],
        };
        *self = Batch {
            lines: &self.lines[count..],
            next: &self.next[ahead..],
            lengths: &self.lengths[requests..],
        };
        first
    }
}

/// What was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) lines: u64,
    /// Requests of which a line was missed, if these are counted.
    pub(super) requests: u64,
}

/// What simulates.
enum Work {
    /// One cache of so many lines, and what it has missed.
    Cache(Box<dyn Cache>, u32, Missed),
    /// Some that keep what was asked for last.
    Recency(Recency),
}

/// A simulation, of one cache or of several.
struct Job {
    work: Work,
    /// The numbers of the rows that it fills, of all rows that are asked for, in rising order of
    /// sizes.
    tells: Vec<usize>,
    /// Whether it has seen all that it was to see.
    is_done: bool,
}

impl Job {
    fn new(work: Work, tells: Vec<usize>) -> Job {
        Job {
            work,
            tells,
            is_done: true,
        }
    }

    fn ask(&mut self, mut batch: Batch<'_>) {
        match &mut self.work {
            Work::Cache(cache, capacity, missed) if batch.lengths.is_empty() => {
                missed.lines += cache.ask(*capacity as usize, batch.lines, batch.next);
            }
            Work::Cache(cache, capacity, missed) => {
                while !batch.lengths.is_empty() {
                    let one = batch.split_off(1);
                    let lines = cache.ask(*capacity as usize, one.lines, one.next);
                    missed.lines += lines;
                    missed.requests += u64::from(lines > 0);
                }
            }
            Work::Recency(recency) if batch.lengths.is_empty() => recency.ask(batch.lines),
            Work::Recency(recency) => {
                while !batch.lengths.is_empty() {
                    recency.ask_request(batch.split_off(1).lines);
                }
            }
        }
    }

    /// All that there is, unless it is told to stop.
    fn ask_all(&mut self, mut all: Batch<'_>, control: &Control) {
        while !all.lines.is_empty() {
            if control.stop.load(Ordering::Relaxed) {
                self.is_done = false;
                return;
            }
            let part = all.split_off(LOOK_EVERY);
            self.ask(part);
            let lines = part.lines.len() as u64;
            control.replied.fetch_add(lines, Ordering::Relaxed);
        }
    }

    fn reserve(&mut self, lines: u32) {
        match &mut self.work {
            Work::Cache(cache, ..) => cache.reserve(lines),
            Work::Recency(recency) => recency.reserve(lines),
        }
    }

    fn missed(&self) -> Vec<Missed> {
        match &self.work {
            Work::Cache(_, _, missed) => vec![*missed],
            Work::Recency(recency) => {
                let (lines, requests) = (recency.misses(), recency.missed_requests());
                let both = lines.into_iter().zip(requests);
                both.map(|(lines, requests)| Missed { lines, requests })
                    .collect()
            }
        }
    }
}

/// Simulations that get the same lines.
pub(super) struct Jobs(Vec<Job>);

impl Jobs {
    /// Simulates every cache of `asking`, made of `policies` in turn, with as many lines as `lines`
    /// says.
    pub(super) fn new(
        policies: &[Policy<'_>],
        asking: &[Asking],
        lines: impl Fn(&Asking) -> u32,
    ) -> Result<Jobs, ConfigError> {
        let mut jobs = Vec::new();
        let each = asking.len() / policies.len();
        for (number, policy) in policies.iter().enumerate() {
            let mut tells: Vec<usize> = (number * each..(number + 1) * each).collect();
            if policy.is_recency {
                tells.sort_by_key(|one| lines(&asking[*one]));
                let sizes = tells.iter().map(|one| lines(&asking[*one])).collect();
                jobs.push(Job::new(Work::Recency(Recency::new(sizes)), tells));
                continue;
            }
            for one in tells {
                let capacity = lines(&asking[one]);
                let work = Work::Cache(policy.built(capacity)?, capacity, Missed::default());
                jobs.push(Job::new(work, vec![one]));
            }
        }
        Ok(Jobs(jobs))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// This is asked for, of `footprint` different lines so far; no cache looks ahead.
    pub(super) fn ask(&mut self, batch: Batch<'_>, footprint: u32) {
        for job in &mut self.0 {
            job.reserve(footprint);
            job.ask(batch);
        }
    }

    /// All that a trace asks for, at once: each simulation goes through it by itself, as many at a
    /// time as there are processors.
    pub(super) fn ask_all(&mut self, all: Batch<'_>, footprint: u32, control: &Control) {
        self.0.par_iter_mut().with_max_len(1).for_each(|job| {
            job.reserve(footprint);
            job.ask_all(all, control);
        });
    }

    /// What each of so many that were asked for has missed; none of those that were told to stop.
    pub(super) fn missed(&self, count: usize) -> Vec<Option<Missed>> {
        let mut all = vec![None; count];
        for job in self.0.iter().filter(|job| job.is_done) {
            for (one, missed) in job.tells.iter().zip(job.missed()) {
                all[*one] = Some(missed);
            }
        }
        all
    }
}

/// Every cache at every size, where the trace asks for about `footprint` lines, of which `share`
/// are looked at.
///
/// # Errors
/// A cache has no line, or too few in a sample.
pub(super) fn asking(
    question: &Question,
    policies: &[Policy<'_>],
    footprint: Option<u64>,
    share: f64,
) -> Result<Vec<Asking>, RunError> {
    let least = match question.sample {
        None => 1,
        Some(_) => ((PARTS as u64 * PART_LINES_MIN) as f64 / share).ceil() as u64,
    };
    let lines = |size: &Size| size.lines(footprint.unwrap_or(0), question.unit.bytes());
    let mut sizes = question.sizes.clone();
    if question.leave_out && sizes.iter().any(|size| lines(size) >= least) {
        sizes.retain(|size| lines(size) >= least);
    }
    if let Some(size) = sizes.iter().find(|size| lines(size) < least) {
        let allowed = allowed(question, footprint, least);
        let error = match (question.leave_out, sizes.last()) {
            (true, Some(last)) => {
                let allowed = format!(
                    "set, to {allowed}; the sizes that are taken where none is named, {size} to {last}, are less than that"
                );
                ConfigError::value("size", "unset", &allowed)
            }
            _ => ConfigError::value("size", &size.to_string(), &allowed),
        };
        return Err(RunError::Unfit(error));
    }
    let of = |policy: &Policy<'_>| {
        let one = |size: &Size| Asking {
            name: policy.part.to_string(),
            size: *size,
            knows_future: policy.looks_ahead,
            lines: lines(size),
        };
        sizes.iter().map(one).collect::<Vec<_>>()
    };
    Ok(policies.iter().flat_map(of).collect())
}

/// Which sizes are large enough: of so many lines at least.
fn allowed(question: &Question, footprint: Option<u64>, least: u64) -> String {
    let different = footprint.map(|lines| counted(lines, "different one"));
    match question.sample {
        None => {
            let line = match question.unit {
                Unit::Request => String::new(),
                unit => format!(", which is {} bytes", unit.bytes()),
            };
            let different = different.map(|lines| format!("; the trace asks for {lines}"));
            format!("at least one line{line}{}", different.unwrap_or_default())
        }
        Some(_) => {
            let different = different
                .map(|lines| format!("; the trace asks for about {lines}, by this sample"));
            format!(
                "at least {least} lines, as only a sample of them is looked at{}; a larger sample allows smaller ones",
                different.unwrap_or_default()
            )
        }
    }
}

/// A cache with so much room beside all that is asked for does what a larger one does: it misses
/// each line once. Without any beside, those of several segments need not.
const BESIDE: u64 = 64;

/// Lines of a cache: some take memory by what they may hold, so it is no more than can matter.
pub(super) fn capacity(lines: u64, footprint: u64) -> u32 {
    lines.min(footprint + BESIDE) as u32
}

/// Which part of the sample a line belongs to.
#[inline]
pub(super) fn part_of(line: Line) -> usize {
    (mix(u64::from(line.0)) % PARTS as u64) as usize
}

/// How far off the mean of these is, at 95 % if the sample is a small part of all lines, and at
/// more if it is a large one: how much of what is asked about was seen does not enter.
pub(super) fn half_width(values: &[f64; PARTS]) -> f64 {
    STUDENT_T * standard_error(values)
}
