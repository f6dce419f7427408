//! Miss ratios of caches alone: what would be missed, whatever it would cost.
//!
//! A trace is read once. Its addresses become numbers of lines once ([`intern`]), and every simulation, of each cache at each size, gets the same
//! batches of numbers. Nothing has a time here: what is missed is there at once. What a miss costs a client, `compare` tells.
//!
//! Where a size is a share of what the trace asks for, or a cache has to know the future, all numbers are kept first, four bytes each; else
//! memory grows with the different lines alone.

mod intern;
mod size;
mod text;

use std::path::PathBuf;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::ids::Line;
use nearslot_core::registry::{CacheEnv, ConfigError};
use nearslot_trace::{OpenOptions, Record, TraceOp};
use serde::Serialize;

use self::intern::{Interner, Key};
use crate::error::RunError;
use crate::program;

pub use size::Size;

/// Version of the JSON layout; grows when a key changes its meaning or goes away.
pub const HITRATE_SCHEMA: u32 = 1;

/// Lines that are asked for at a time: their numbers stay in the nearest cache of the processor while every simulation gets them.
const BATCH: usize = 512;

/// Lines of an entry in the table of addresses, as a power of two: neighbouring pages share one.
const GROUP_BITS: u32 = 6;

/// What is cached as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Each page of so many bytes that a request touches, one after the other.
    Page(u64),
    /// Whatever begins at the first byte of a request, as long as it may be.
    Request,
}

/// Which requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// What is cached as one.
    pub unit: Unit,
    /// Which requests count.
    pub which: Which,
}

/// What one cache of one size missed.
#[derive(Clone, Debug, Serialize)]
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
}

/// Miss ratios of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct HitRates {
    /// [`HITRATE_SCHEMA`].
    pub schema: u32,
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot.
    pub build: String,
    /// The trace's files.
    pub files: Vec<String>,
    /// Their format.
    pub format: String,
    /// What is cached as one.
    pub unit: Unit,
    /// Which requests count.
    pub which: Which,
    /// Reads and writes that count.
    pub requests: u64,
    /// Lines that they ask for.
    pub asked: u64,
    /// Different lines among these.
    pub footprint: u64,
    /// A row for each cache and size.
    pub rows: Vec<Row>,
}

/// One cache of one size.
struct Simulation {
    cache: Box<dyn Cache>,
    name: String,
    size: Size,
    capacity: u32,
    misses: u64,
}

impl Simulation {
    fn ask(&mut self, asked: &[Line], next: &[u32]) {
        self.misses += self.cache.ask(self.capacity as usize, asked, next);
    }
}

/// What a trace asks for, as far as it was read.
struct Asked {
    unit: Unit,
    which: Which,
    interner: Interner,
    keys: Vec<Key>,
    requests: u64,
}

impl Asked {
    fn new(question: &Question) -> Asked {
        let bits = match question.unit {
            Unit::Page(_) => GROUP_BITS,
            Unit::Request => 0,
        };
        Asked {
            unit: question.unit,
            which: question.which,
            interner: Interner::new(bits),
            keys: Vec::with_capacity(2 * BATCH),
            requests: 0,
        }
    }

    /// The lines of a record wait to get their numbers.
    #[inline]
    fn record(&mut self, record: &Record) {
        let counts = match record.op {
            TraceOp::Read => true,
            TraceOp::Write => self.which == Which::All,
            _ => false,
        };
        if !counts {
            return;
        }
        self.requests += 1;
        let Record {
            dev: device,
            offset,
            len,
            ..
        } = *record;
        match self.unit {
            Unit::Request => self.keys.push(Key {
                device,
                address: offset,
            }),
            Unit::Page(bytes) => {
                let last = (offset + len.max(1) - 1) / bytes;
                let pages = (offset / bytes)..=last;
                self.keys
                    .extend(pages.map(|address| Key { device, address }));
            }
        }
    }

    /// Numbers what waits, behind what `lines` has.
    fn number(&mut self, lines: &mut Vec<Line>) -> Result<(), RunError> {
        self.interner.intern(&self.keys, lines).ok_or_else(|| {
            let most = intern::LINES_MAX.to_string();
            let what = "different lines that the trace asks for";
            RunError::Unfit(ConfigError::value(
                what,
                "more",
                &format!("at most {most}; larger pages are fewer"),
            ))
        })?;
        self.keys.clear();
        Ok(())
    }
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
    for cache in &question.caches {
        cache.build::<dyn Cache>(&CacheEnv { capacity: 1 })?;
    }
    let mut reader = nearslot_trace::open(files, how)?;
    let (mut asked, mut batch, mut lines) = (Asked::new(question), Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        for record in &batch {
            asked.record(record);
            if asked.keys.len() >= BATCH {
                asked.number(&mut lines)?;
            }
        }
    }
    asked.number(&mut lines)?;
    let header = reader.header();
    header.needs_most_records()?;
    if lines.is_empty() {
        let what = match question.which {
            Which::All => "has neither reads nor writes",
            Which::Reads => "has no reads",
        };
        let error = nearslot_trace::TraceError::unfit(what);
        return Err(error.in_file(&header.files.join(", ")).into());
    }
    let mut simulations = simulations(question, asked.interner.lines())?;
    let ahead = simulations.iter().any(|one| one.cache.looks_ahead());
    let next = if ahead {
        next(&lines, asked.interner.lines())
    } else {
        Vec::new()
    };
    for (number, part) in lines.chunks(BATCH).enumerate() {
        let from = number * BATCH;
        let next = next.get(from..from + part.len()).unwrap_or_default();
        for simulation in &mut simulations {
            simulation.ask(part, next);
        }
    }
    let footprint = asked.interner.lines();
    Ok(HitRates {
        schema: HITRATE_SCHEMA,
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        files: header.files.clone(),
        format: header.format.clone(),
        unit: question.unit,
        which: question.which,
        requests: asked.requests,
        asked: lines.len() as u64,
        footprint: footprint.into(),
        rows: rows(&simulations, lines.len() as u64, footprint),
    })
}

/// Every cache at every size.
fn simulations(question: &Question, footprint: u32) -> Result<Vec<Simulation>, RunError> {
    let line_bytes = match question.unit {
        Unit::Page(bytes) => bytes,
        Unit::Request => 1,
    };
    let mut all = Vec::new();
    for part in &question.caches {
        for size in &question.sizes {
            let lines = size.lines(footprint.into(), line_bytes);
            if lines == 0 {
                let allowed =
                    format!("at least one line; the trace asks for {footprint} different ones");
                return Err(RunError::Unfit(ConfigError::value(
                    "size",
                    &size.to_string(),
                    &allowed,
                )));
            }
            // A cache that is larger than all that is asked for misses each once, however large it is.
            let capacity = lines.min(footprint.into()) as u32;
            let mut cache = part.build::<dyn Cache>(&CacheEnv { capacity })?;
            cache.reserve(footprint);
            all.push(Simulation {
                cache,
                name: part.to_string(),
                size: *size,
                capacity,
                misses: 0,
            });
        }
    }
    Ok(all)
}

/// For each line that is asked for, when it is asked for the next time, counted from 1; the largest number if never.
fn next(asked: &[Line], lines: u32) -> Vec<u32> {
    let mut last = vec![u32::MAX; lines as usize];
    let mut next = vec![0; asked.len()];
    for (index, line) in asked.iter().enumerate().rev() {
        next[index] = std::mem::replace(&mut last[line.index()], index as u32 + 1);
    }
    next
}

fn rows(simulations: &[Simulation], asked: u64, footprint: u32) -> Vec<Row> {
    let row = |one: &Simulation| Row {
        cache: one.name.clone(),
        size: one.size.to_string(),
        lines: one.capacity.into(),
        share: f64::from(one.capacity) / f64::from(footprint),
        misses: one.misses,
        miss_ratio: one.misses as f64 / asked as f64,
    };
    simulations.iter().map(row).collect()
}
