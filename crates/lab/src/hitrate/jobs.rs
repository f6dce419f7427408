//! The simulations of a question: every cache at every size.
//!
//! A cache that keeps what was asked for last needs one pass for all sizes ([`Recency`]); every other is simulated at each size by itself.
//!
//! Of a sample, a cache is as much smaller as the sample is. How far a sample may be off is told by [`PARTS`] parts of it, each with caches
//! that are once more as much smaller: what they differ by, the mean of them is off by less (Student's t).

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::ids::Line;
use nearslot_core::registry::{CacheEnv, ConfigError};
use nearslot_core::rng::mix;
use rayon::prelude::*;

use super::recency::Recency;
use super::{BATCH, Question, Size};
use crate::error::RunError;
use crate::measure::standard_error;

/// Parts of a sample.
pub(super) const PARTS: usize = 8;
/// Lines of a cache of a part, at least: with fewer, each counts for too much.
const PART_LINES_MIN: u64 = 8;
/// Student's t of [`PARTS`] - 1 degrees of freedom that 97.5 % are below.
const STUDENT_T: f64 = 2.364_624;

/// One cache of one size, as it was asked for.
pub(super) struct Asking {
    pub(super) name: String,
    pub(super) size: Size,
    /// Whether it looks ahead.
    pub(super) knows_future: bool,
    /// Its lines, of all that the trace asks for.
    pub(super) lines: u64,
}

/// What simulates.
enum Work {
    /// One cache of so many lines, and what it has missed.
    Cache(Box<dyn Cache>, u32, u64),
    /// Some that keep what was asked for last.
    Recency(Recency),
}

/// A simulation, of one cache or of several.
struct Job {
    work: Work,
    /// Which of all that are asked for it tells, in rising order of sizes.
    tells: Vec<usize>,
}

impl Job {
    fn ask(&mut self, asked: &[Line], next: &[u32]) {
        match &mut self.work {
            Work::Cache(cache, capacity, misses) => {
                *misses += cache.ask(*capacity as usize, asked, next);
            }
            Work::Recency(recency) => recency.ask(asked),
        }
    }

    fn reserve(&mut self, lines: u32) {
        match &mut self.work {
            Work::Cache(cache, ..) => cache.reserve(lines),
            Work::Recency(recency) => recency.reserve(lines),
        }
    }

    fn misses(&self) -> Vec<u64> {
        match &self.work {
            Work::Cache(_, _, misses) => vec![*misses],
            Work::Recency(recency) => recency.misses(),
        }
    }
}

/// Simulations that get the same lines.
pub(super) struct Jobs(Vec<Job>);

impl Jobs {
    /// Simulates every cache of `asking`, made of `caches` in turn, with as many lines as `lines` says.
    pub(super) fn new(
        caches: &[PartConfig],
        asking: &[Asking],
        lines: impl Fn(&Asking) -> u32,
    ) -> Result<Jobs, ConfigError> {
        let mut jobs = Vec::new();
        let each = asking.len() / caches.len();
        for (number, part) in caches.iter().enumerate() {
            let mut tells: Vec<usize> = (number * each..(number + 1) * each).collect();
            let make = |capacity| part.build::<dyn Cache>(&CacheEnv::of_pages(capacity));
            if make(1)?.is_recency() {
                tells.sort_by_key(|one| lines(&asking[*one]));
                let sizes = tells.iter().map(|one| lines(&asking[*one])).collect();
                let work = Work::Recency(Recency::new(sizes));
                jobs.push(Job { work, tells });
                continue;
            }
            for one in tells {
                let capacity = lines(&asking[one]);
                jobs.push(Job {
                    work: Work::Cache(make(capacity)?, capacity, 0),
                    tells: vec![one],
                });
            }
        }
        Ok(Jobs(jobs))
    }

    /// These lines are asked for, of which there are `footprint` so far; `next` says of each when it is asked for the next time, if a cache
    /// looks ahead.
    pub(super) fn ask(&mut self, asked: &[Line], footprint: u32) {
        for job in &mut self.0 {
            job.reserve(footprint);
            job.ask(asked, &[]);
        }
    }

    /// All that a trace asks for, at once: each simulation goes through it by itself, as many at a time as there are processors.
    pub(super) fn ask_all(&mut self, asked: &[Line], next: &[u32], footprint: u32) {
        self.0.par_iter_mut().with_max_len(1).for_each(|job| {
            job.reserve(footprint);
            for (number, part) in asked.chunks(BATCH).enumerate() {
                let from = number * BATCH;
                let next = next.get(from..from + part.len()).unwrap_or_default();
                job.ask(part, next);
            }
        });
    }

    /// What each of so many that were asked for has missed.
    pub(super) fn misses(&self, count: usize) -> Vec<u64> {
        let mut all = vec![0; count];
        for job in &self.0 {
            for (one, misses) in job.tells.iter().zip(job.misses()) {
                all[*one] = misses;
            }
        }
        all
    }
}

/// Every cache at every size, where the trace asks for about `footprint` lines, of which `share` are looked at.
///
/// # Errors
/// A cache has no line, or too few in a sample.
pub(super) fn asking(
    question: &Question,
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
    let mut all = Vec::new();
    for part in &question.caches {
        let knows_future = part
            .build::<dyn Cache>(&CacheEnv::of_pages(1))?
            .looks_ahead();
        for size in &sizes {
            let lines = lines(size);
            if lines < least {
                let different = match footprint {
                    Some(lines) => format!("; the trace asks for {lines} different ones"),
                    None => String::new(),
                };
                let allowed = match question.sample {
                    None => format!("at least one line{different}"),
                    Some(_) => format!(
                        "at least {least} lines, as only a sample of them is looked at{different}; a larger sample allows smaller ones"
                    ),
                };
                let error = ConfigError::value("size", &size.to_string(), &allowed);
                return Err(RunError::Unfit(error));
            }
            all.push(Asking {
                name: part.to_string(),
                size: *size,
                knows_future,
                lines,
            });
        }
    }
    Ok(all)
}

/// Which part of the sample a line belongs to.
#[inline]
pub(super) fn part_of(line: Line) -> usize {
    (mix(u64::from(line.0)) % PARTS as u64) as usize
}

/// How far off the mean of these is, at 95 %.
pub(super) fn half_width(values: &[f64; PARTS]) -> f64 {
    STUDENT_T * standard_error(values)
}
