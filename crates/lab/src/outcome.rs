//! What a run found, as plain data: the JSON of `run` and `compare`, and the input of every other
//! output.
//!
//! `schema/results.schema.json` documents it for others; a test holds the two together. Keys carry
//! their units.

use std::collections::BTreeMap;

use crate::number::{number, seconds};
use crate::warning::Warning;
use nearslot_core::io::Credits;
use nearslot_trace::SpanRead;
use serde::{Deserialize, Serialize};

/// Version of the JSON layout; grows when a key changes its meaning or goes away.
pub const SCHEMA: u32 = 5;

/// All results of one command.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot: the commit that it was compiled from, `-changed` behind it if the
    /// source differed, or `unknown`.
    pub build: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The trace that was replayed; `None` for a synthetic workload.
    pub trace: Option<TraceInfo>,
    /// The drive that was chosen, as none was named; `None` if every run has a drive that was
    /// named.
    pub drive_chosen: Option<ChosenDrive>,
    /// One per point of the grid, in the order of the grid. Fewer than asked for after an
    /// interruption.
    pub runs: Vec<Run>,
    /// What the numbers in the runs' `measures` are; only those that a run has.
    pub measures: Vec<Declared>,
    /// The keys that the grid varies, in its order; none for a single run.
    pub varied: Vec<Varied>,
    /// What the runs say of the choices, load by load.
    pub verdict: Verdict,
    /// Runs that the grid has, done or not.
    pub runs_planned: usize,
    /// What the reader ought to know before believing the numbers.
    pub warnings: Vec<Warning>,
}

/// Which trace it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Files, as given.
    pub files: Vec<String>,
    /// Format as detected or named.
    pub format: String,
    /// XXH3-128 of the canonical records that were replayed, in hex: the same trace has the same
    /// hash in any format and container.
    pub hash: String,
    /// Requests replayed.
    pub requests: u64,
    /// The device replayed, by its name in the trace, or how many devices (`3 devices`); `volumes`
    /// of a run names them.
    pub device: String,
    /// First to last arrival in seconds.
    pub span_s: f64,
    /// Which part of the trace was replayed; `None` if all of it.
    pub span: Option<SpanRead>,
    /// What was done to the addresses: `none`, `wrap`, `scale`, `truncate`, or `varied` from run to
    /// run.
    pub fit: String,
    /// How time stamps coarser than 1 ms were spread: `none`, `even`, `poisson`.
    pub spread: String,
}

/// The drive that was chosen as none was named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenDrive {
    /// Its name in the catalog.
    pub name: String,
    /// What it holds.
    pub capacity_bytes: u64,
    /// Why it is this one, in a sentence.
    pub why: String,
}

/// A volume of the trace, and where it was placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumePlace {
    /// The device, by its name in the trace.
    pub device: String,
    /// Its requests.
    pub requests: u64,
    /// First byte behind the highest that they touch.
    pub end_bytes: u64,
    /// The drive that it has for itself; `None` if volumes lie one behind the other.
    pub drive: Option<u16>,
    /// Where it begins: in 512-byte blocks of that drive, or of what the placement makes of its
    /// drives, before addresses are fitted.
    pub first_block: u64,
}

/// One simulated run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// What distinguishes it within the grid, such as `sched=satf depth=8`.
    pub label: String,
    /// What distinguishes its load, such as `depth=8`; empty where all runs have the same.
    pub load: String,
    /// What distinguishes what answers, such as `sched=satf`.
    pub choice: String,
    /// The keys that the grid varies, with their values here.
    pub settings: BTreeMap<String, String>,
    /// Everything in effect, defaults spelled out: `drive` and the part of each kind, such as
    /// `sched` (tables with `name` and knobs), `drives`, `load`, `seed`, `warmup`.
    pub config: serde_json::Value,
    /// How requests came: `open`, `closed`, `dependent`, or the synthetic workload's name.
    pub replay: String,
    /// Where each volume of a trace with several was placed; empty otherwise.
    pub volumes: Vec<VolumePlace>,
    /// Response times of each of these volumes, in their order; empty, too, where `--fit` puts
    /// addresses of volumes that lie one behind the other elsewhere, so that they cannot be told
    /// apart.
    pub volume_responses: Vec<VolumeResponse>,
    /// Response times of each stream, where the load says who asks, and several do; empty
    /// otherwise.
    pub stream_responses: Vec<StreamResponse>,
    /// What each process of a host has done; empty where the load is no host.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub processes: Vec<ProcessFound>,
    /// How soon each application of a host was up; empty where none was to be started.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub applications: Vec<ApplicationFound>,
    /// Requests answered, those that failed among them.
    pub requests: u64,
    /// Of these, how many were cut off the front as warm-up; all times below are without them.
    pub warmup_requests: u64,
    /// Requests by operation: `read`, `write`, `flush`, `discard`.
    pub operations: BTreeMap<String, u64>,
    /// Requests answered with a failure, by what failed: `medium`, `timed_out`, `gone`, `map_lost`,
    /// `exhausted`, `zone`; only those that occurred. They are in no mean, no throughput and no
    /// cost below, and beyond all that were answered in percentiles of response times.
    pub failed: BTreeMap<String, u64>,
    /// Requests that arrived and were not answered when the run ended; 0 unless it was cut short.
    pub pending: u64,
    /// Virtual time the measured part took, in seconds.
    pub duration_s: f64,
    /// Requests answered per second, without those that failed.
    pub throughput_rps: f64,
    /// Megabytes (10^6) read and written per second, without requests that failed.
    pub throughput_mb_s: f64,
    /// Arrival to answer, reads and writes.
    pub response_ms: Times,
    /// The same for reads alone; `None` if there was none.
    pub read_response_ms: Option<Times>,
    /// The same for writes alone.
    pub write_response_ms: Option<Times>,
    /// Response times of flushes, which are in no other time; `None` if none was answered.
    pub flush_response_ms: Option<Times>,
    /// Arrival to start on the drive.
    pub wait_ms: Times,
    /// Waits of reads alone.
    pub read_wait_ms: Option<Times>,
    /// Waits of writes alone.
    pub write_wait_ms: Option<Times>,
    /// Start on the drive to answer.
    pub service_ms: Times,
    /// Service times of reads alone.
    pub read_service_ms: Option<Times>,
    /// Service times of writes alone.
    pub write_service_ms: Option<Times>,
    /// Mean seek (with head switch and settle) per request. This and the next three are times of
    /// drives: of a request with several commands they are sums over these, which may run side by
    /// side, so they need not add up to its service time.
    pub seek_ms: f64,
    /// Mean rotational wait per request.
    pub rotation_ms: f64,
    /// Mean media transfer per request.
    pub transfer_ms: f64,
    /// Mean command, bus and buffer time per request, with what faults add.
    pub overhead_ms: f64,
    /// Share of the time that the drive was busy, in `0..=1`; of several drives the mean.
    pub utilisation: f64,
    /// The same of the drive that was busiest.
    pub utilisation_max: f64,
    /// Mean number of requests in the system, waiting or in service (time average), whichever they
    /// are: those of the warm-up that were still there count, and those that fail, which are in no
    /// response time.
    pub queue_mean: f64,
    /// Most requests in the system at once.
    pub queue_max: u64,
    /// What its parts, and measurements of the lab, have counted; [`Results::measures`] says what
    /// that is.
    pub measures: Measures,
    /// What the load asks for and what can be done; `None` where requests wait for answers, are too
    /// few to tell, or are answered the faster the more there are.
    pub demand: Option<Demand>,
    /// By how many requests a second the queue grew from the first measured arrival to the last;
    /// `None` if it did not grow in every quarter of that. Where it grew, response times tell how
    /// long the load is: they have no interval, and are not compared.
    pub queue_growth_rps: Option<f64>,
    /// Whether requests came whatever the drives did, and these had no time left for more. It
    /// decides what is said.
    #[serde(skip)]
    pub at_limit: bool,
    /// What the trace tells of its own response times; `None` where it tells nothing, or was not
    /// replayed at its own times.
    pub traced: Option<Traced>,
    /// What of the volume no drive told any more at the end of the run; left out if nothing is
    /// lost, or its placement keeps no account of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<LostBlocks>,
    /// Wall-clock seconds that the simulation took. Not part of what repeats.
    pub simulated_in_s: f64,
    /// What the plots need; left out of plain JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<Series>,
}

/// Blocks of a volume that no drive tells any more, until they are written again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBlocks {
    /// How many 512-byte blocks.
    pub blocks: u64,
    /// Where these are, by address: all of them, or the first hundred runs.
    pub extents: Vec<LostExtent>,
}

/// A run of such blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostExtent {
    /// The first, by its address in the volume.
    pub first_block: u64,
    /// How many.
    pub blocks: u64,
}

/// Response times of a volume: reads and writes that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeResponse {
    /// The device, by its name in the trace.
    pub device: String,
    /// How many were answered.
    pub requests: u64,
    /// How many failed; they are in no mean, and beyond all that were answered in percentiles.
    pub failed: u64,
    /// The mean of those that were answered, in milliseconds; `None`, as the others, if there was
    /// none.
    pub mean_ms: Option<f64>,
    /// Median; of many volumes, as `p99_ms`, told of the 256 with most requests; `None`, as that,
    /// too, where as many failed as lie beyond it.
    pub p50_ms: Option<f64>,
    /// 99th percentile; `None`, too, where fewer than five requests are expected beyond it.
    pub p99_ms: Option<f64>,
    /// Longest.
    pub max_ms: Option<f64>,
}

/// Response times of the reads or of the writes of a stream, of those that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamResponse {
    /// Who asks, as `stream` in rows of requests.
    pub stream: u32,
    /// What the trace calls it; empty if it has no name.
    pub name: String,
    /// `read` or `write`.
    pub op: String,
    /// How many were answered.
    pub requests: u64,
    /// How many failed; they are in no mean, and beyond all that were answered in percentiles.
    pub failed: u64,
    /// The mean of those that were answered, in milliseconds; `None`, as the others, if there was
    /// none.
    pub mean_ms: Option<f64>,
    /// Median; of many streams, as `p99_ms`, told of the 128 that came first; `None`, as that, too,
    /// where as many failed as lie beyond it.
    pub p50_ms: Option<f64>,
    /// 99th percentile; `None`, too, where fewer than five requests are expected beyond it.
    pub p99_ms: Option<f64>,
    /// Longest.
    pub max_ms: Option<f64>,
}

/// What a process of a host has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFound {
    /// What it is called.
    pub name: String,
    /// Its stream, as in rows of requests.
    pub stream: u32,
    /// How often it did all its steps.
    pub rounds: u64,
    /// Whether it did them as often as it was told to.
    pub ended: bool,
    /// How long that took on average, in seconds; `None`, as the next two, if it never did.
    pub mean_s: Option<f64>,
    /// The shortest.
    pub min_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// Times at which it was to begin a round, of which each has ended, was late or did not begin;
    /// `None` without `every_ms`.
    pub due: Option<u64>,
    /// Of these, those whose round took longer than `every_ms`, or did not begin, as the one before
    /// was not over.
    pub late: Option<u64>,
    /// Megabytes (10^6) a second that it read, from the page cache or the drives, over the time
    /// from its begin to its end.
    pub read_mb_s: f64,
    /// Megabytes a second that it wrote, to memory or the drives, over the same time.
    pub written_mb_s: f64,
    /// How long it was held since too much was dirty, in seconds.
    pub held_s: f64,
    /// Requests of it that failed.
    pub failed: u64,
}

/// How soon an application of a host was up; if all of these are 0, it was never started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationFound {
    /// What it is called.
    pub name: String,
    /// Start-ups after which it was up.
    pub up: u64,
    /// Start-ups that had not ended when the run did.
    pub not_up: u64,
    /// Start-ups of which a request failed.
    pub failed: u64,
    /// How long those took after which it was up, on average, in seconds; `None` if there are none.
    pub mean_s: Option<f64>,
}

/// By the key of who counts (the kind of a part, or a measurement), its numbers by their names.
pub type Measures = BTreeMap<String, BTreeMap<String, Number>>;

/// A number that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// Of things.
    Count(u64),
    /// A quantity.
    Quantity(f64),
}

impl Number {
    /// It, whatever it is of.
    pub fn value(self) -> f64 {
        match self {
            Number::Count(count) => count as f64,
            Number::Quantity(quantity) => quantity,
        }
    }
}

/// What a number in [`Run::measures`] is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// Who counts: the key of a kind of parts, or of a measurement.
    pub of: String,
    /// Its name there.
    pub name: String,
    /// What it counts, or its unit.
    pub unit: String,
    /// What it says, in a line.
    pub help: String,
}

impl Run {
    /// A number that is declared, if the run has it.
    pub fn measure(&self, of: &str, name: &str) -> Option<Number> {
        self.measures.get(of)?.get(name).copied()
    }

    /// Whether the run has a number that is declared.
    pub fn has(&self, of: &str, name: &str) -> bool {
        self.measure(of, name).is_some()
    }

    /// Whether something that is counted happened.
    pub fn happened(&self, of: &str, name: &str) -> bool {
        let count = self.measure(of, name);
        count.is_some_and(|count| count.value() > 0.0)
    }
}

/// A distribution of times in milliseconds. Mean and longest are those of the requests that were
/// answered. Percentiles of response times are those of all requests: one that failed was never
/// answered, so it is beyond all others. Waits and service times are told of the answered ones
/// alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Median; `None`, as the other percentiles, where as many requests failed as lie beyond it.
    pub p50: Option<f64>,
    /// 95th percentile; `None`, too, as those below, where fewer than five requests are expected
    /// beyond it.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Longest.
    pub max: f64,
    /// 95 % confidence interval of the mean `[low, high]` by batch means or replications; `None`
    /// when there are too few requests to tell, a few of them decide the mean (it would reach below
    /// 0), or the queue grew.
    pub ci95: Option<[f64; 2]>,
    /// The same of the 99th percentile; told of response times.
    pub p99_ci95: Option<[f64; 2]>,
    /// The same of the 99.9th percentile.
    pub p999_ci95: Option<[f64; 2]>,
}

/// The response times that a trace tells of the requests that a run measured, to be held beside
/// those of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// Reads and writes that were answered and that the trace tells it of; those that failed are on
    /// neither side.
    pub requests: u64,
    /// Answered reads and writes that it does not tell it of.
    pub untold: u64,
    /// Response times as traced, reads and writes.
    pub response_ms: Times,
    /// The same for reads alone; `None` if there was none.
    pub read_response_ms: Option<Times>,
    /// The same for writes alone.
    pub write_response_ms: Option<Times>,
    /// How far the distributions of simulated and traced response times are apart: the root mean
    /// square of their distance at equal ranks. `None` where the queue grew.
    pub demerit_ms: Option<f64>,
    /// The same as a share of the traced mean; `None`, too, if that is 0.
    pub demerit_share: Option<f64>,
}

/// What an open load asks for, and about what the drives can do, found out before the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Reads and writes that come per second, over the whole load; others wait for no queue.
    pub offered_rps: f64,
    /// Megabytes (10^6) that they are about, per second.
    pub offered_mb_s: f64,
    /// Reads and writes per second in the busiest tenth of the load.
    pub busiest_rps: f64,
    /// Megabytes per second in that tenth.
    pub busiest_mb_s: f64,
    /// Reads and writes per second that the drives answer under constant pressure, estimated from a
    /// sample of all requests.
    pub ability_rps: f64,
    /// Megabytes per second of that.
    pub ability_mb_s: f64,
    /// What is offered over what can be done; above 1 the queue grows.
    pub load_factor: f64,
    /// When the first fault of the run begins that comes at an instant of its own, in seconds, if
    /// there is one: what can be done is told without those that begin then and later.
    #[serde(skip)]
    pub faults_begin_s: Option<f64>,
    /// Credits for bursts that what can be done lives on, if it does.
    #[serde(skip)]
    pub credits: Option<Credits>,
}

/// How far a run had come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// So much of it was done.
    pub done: f64,
    /// Of so much, where that is known.
    pub all: Option<f64>,
    /// Of what.
    pub unit: &'static str,
}

/// A part of an open load that the drives cannot keep up with, found out before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// When the queue begins to grow, from the first request on.
    pub begin_s: f64,
    /// How long it grows.
    pub lasts_s: f64,
    /// What comes meanwhile over what can be done.
    pub load_factor: f64,
}

impl Demand {
    /// What is to be added where it is told what the drives can do.
    pub(crate) fn reservation(&self) -> String {
        let faults = self.faults_begin_s.map(|begin| {
            let begin = seconds(begin);
            format!(
                " (what the drives can do is told without the faults that begin from {begin} on)"
            )
        });
        let credits = self.credits.map(|Credits { baseline, unit, .. }| {
            format!(
                " (what the drives can do lives on credits for bursts; without them one does {} {unit}/s)",
                number(baseline)
            )
        });
        [faults, credits].into_iter().flatten().collect()
    }
}

/// What varying a key changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What asks.
    Load,
    /// What answers.
    Choice,
}

/// A key that a grid varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Varied {
    /// As the command line spells it.
    pub key: String,
    /// Whether it changes what asks or what answers.
    pub role: Role,
    /// Its values, in the order given.
    pub values: Vec<String>,
}

/// Whether a value says of what it is one. A choice that is a number or a switch is nothing without
/// its key.
pub(crate) fn is_name(value: &str) -> bool {
    let is_switch = ["true", "false", "on", "off"].contains(&value);
    value.starts_with(char::is_alphabetic) && !is_switch
}

/// What the runs say of the choices: in words, and in numbers load by load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer in a sentence.
    pub headline: String,
    /// What else there is to say, a sentence each.
    pub details: Vec<String>,
    /// The choice that the others are held against; `None` where there is nothing to choose from.
    pub baseline: Option<String>,
    /// One for each load under which several runs were finished, in the order of the grid. Only
    /// what has the same load is ranked.
    pub rankings: Vec<Ranking>,
}

/// Runs under one load, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// What distinguishes the load; empty where all runs have the same.
    pub load: String,
    /// The run of the baseline, as an index into `runs`; `None` if it was not finished.
    pub baseline: Option<usize>,
    /// The runs, in the order of [`Standing`]: those that keep up by mean response time, those
    /// whose queue grew by how fast it grew, those that failed by the share of their measured
    /// requests that did, those that served wrong blocks by how many.
    pub ranks: Vec<Rank>,
}

/// A place in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Index into `runs`.
    pub run: usize,
    /// From 1; runs with the same mean, growth, share of failures or number of wrong blocks share a
    /// place.
    pub place: usize,
    /// What distinguishes what answers.
    pub choice: String,
    /// What it is ranked by.
    pub standing: Standing,
    /// What it is first in; `None` behind the first place, and for one that shares it by its mean:
    /// `against_best` tells of that.
    pub first: Option<First>,
    /// Its mean response time in milliseconds.
    pub response_ms_mean: f64,
    /// That mean divided by the best one's; 1 for the best. `None` unless both keep up.
    pub ratio_to_best: Option<f64>,
    /// The difference to the baseline; `None` for the baseline, or if that was not finished.
    pub against_baseline: Option<Difference>,
    /// The difference to the best; `None` for the best.
    pub against_best: Option<Difference>,
}

words! {
    /// What a run is ranked by, from the front of a ranking to its end.
    Standing {
        /// Its mean tells how fast its requests are answered.
        KeepsUp = "keeps up",
        /// Its queue grew, so that its mean tells how long the load is.
        Overloaded = "overloaded",
        /// It failed more than one in a hundred of its measured reads and writes, or of these and
        /// flushes together: its mean is of those that it served.
        Failed = "failed",
        /// It served blocks that were wrong, where another choice under its load served none.
        WrongBlocks = "wrong blocks",
    }
}

words! {
    /// What the first of a load is first in.
    First {
        /// It has the lowest mean response time.
        Best = "best",
        /// The queue grew under all that did not fail, and least under this one.
        GrowsLeast = "grows least",
        /// All that served no wrong block failed, and this one least.
        FailsLeast = "fails least",
    }
}

impl First {
    /// How a ranking with such a first one is ordered.
    pub(crate) fn order(self) -> &'static str {
        match self {
            First::Best => "best first by mean response time",
            First::GrowsLeast => "first the one whose queue grows least",
            First::FailsLeast => "first the one that failed least",
        }
    }
}

/// How a mean response time differs from another one under the same load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// This mean less the other, in milliseconds; `None` unless both keep up.
    pub ms: Option<f64>,
    /// Its 95 % confidence interval `[low, high]` by paired batch means; `None` with too few
    /// requests to tell.
    pub ci95_ms: Option<[f64; 2]>,
    /// What that says of this run.
    pub word: Word,
}

words! {
    /// How a run compares to another.
    Word {
        /// Its mean is lower, and the interval of the difference excludes 0; or the other's queue
        /// grew and its own did not.
        Faster = "faster",
        /// Its mean is higher, and the interval of the difference excludes 0.
        Slower = "slower",
        /// Both have the same mean in every batch: they did the same.
        Equal = "equal",
        /// The interval of the difference contains 0.
        Undecided = "undecided",
        /// There is no interval: too few requests.
        TooFew = "too few requests",
        /// Its queue grew: see [`Standing::Overloaded`].
        Overloaded = "overloaded",
        /// It failed many: see [`Standing::Failed`].
        Failed = "failed",
        /// The other failed so many, and it did not: there is nothing to be compared with.
        OtherFailed = "other failed",
        /// It served wrong blocks, where another choice served none: see [`Standing::WrongBlocks`].
        WrongBlocks = "wrong blocks",
        /// The other did, and it did not: there is nothing to be compared with.
        OtherWrongBlocks = "other wrong blocks",
    }
}

/// What the plots need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Response-time distribution: milliseconds, rising.
    pub cdf_ms: Vec<f64>,
    /// Share of requests at or below, in `0..=1`.
    pub cdf_share: Vec<f64>,
    /// The distribution that the trace tells of the same requests, as `cdf_ms`; empty where
    /// `traced` is `None`.
    pub traced_cdf_ms: Vec<f64>,
    /// Share of them at or below.
    pub traced_cdf_share: Vec<f64>,
    /// Start of each interval of the run in seconds.
    pub time_s: Vec<f64>,
    /// Requests answered per second in each interval.
    pub rate_rps: Vec<f64>,
    /// Mean response time of those answered in each interval, in milliseconds; `None` if none was.
    pub response_ms: Vec<Option<f64>>,
    /// Mean number in the system in each interval.
    pub queue: Vec<f64>,
    /// Of these, reads.
    pub queue_read: Vec<f64>,
    /// Of these, writes.
    pub queue_write: Vec<f64>,
    /// Commands of the drives, some thousands in a row from the middle of the run: when each
    /// started, in seconds.
    pub arm_s: Vec<f64>,
    /// On which drive.
    pub arm_drive: Vec<u16>,
    /// Where its first block lies, as a share of the drive's blocks in `0..=1`.
    pub arm_share: Vec<f64>,
    /// Cylinder (or the oracle's cylinder) where the arm was.
    pub arm_from: Vec<u32>,
    /// Cylinder of its first block.
    pub arm_cylinder: Vec<u32>,
    /// Whether it was a write.
    pub arm_write: Vec<bool>,
    /// Whether its address was open until it started, as eager writes have it.
    pub arm_open: Vec<bool>,
    /// Command processing, bus and buffer, in milliseconds.
    pub arm_overhead_ms: Vec<f64>,
    /// Seek, head switch and settle.
    pub arm_seek_ms: Vec<f64>,
    /// Wait for the first sector.
    pub arm_rotation_ms: Vec<f64>,
    /// Reading or writing.
    pub arm_transfer_ms: Vec<f64>,
    /// What these commands come to; `None` if there are none.
    pub stretch: Option<Stretch>,
    /// Where drives were free over time, for the first few that a placement keeps a map of.
    pub free: Vec<FreeSpace>,
    /// When a host started applications, the first 64 times; left out where it started none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub startups: Vec<StartUp>,
    /// Drives that went before the run ended; left out where none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Gone>,
}

/// A drive that is gone from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gone {
    /// Which.
    pub drive: u16,
    /// Seconds since the start of the measured part; below 0 if it went before.
    pub at_s: f64,
}

/// A start-up of an application of a host, in seconds since the start of the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartUp {
    /// When it began; below 0 if that was in the warm-up.
    pub began_s: f64,
    /// When the application was up; `None` if it was not when the run ended, or a request of it
    /// failed.
    pub up_s: Option<f64>,
}

/// What a stretch of consecutive commands comes to, over all its drives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stretch {
    /// First start to last end, in seconds.
    pub span_s: f64,
    /// Reads among them.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Writes whose address was open until they started.
    pub open_writes: u64,
    /// What lies between two reads that follow each other on a drive; `None` if none do.
    pub gaps: Option<Gaps>,
}

/// Gaps between reads that follow each other on a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gaps {
    /// How many there are, by the writes in them: 0, 1, 2 and so on; the last counts those with
    /// more, too.
    pub by_writes: Vec<u64>,
    /// Mean writes in one.
    pub writes_mean: f64,
    /// Mean time from the end of a read to where the next one's first sector comes by, in
    /// milliseconds.
    pub ms_mean: f64,
    /// Of it, mean time in which the arm moved.
    pub seek_ms_mean: f64,
    /// Of it, mean time in which the heads only waited for the platter.
    pub rotation_ms_mean: f64,
}

/// Free slots of a drive over time, by groups of neighbouring cylinders.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Which drive.
    pub drive: u16,
    /// First cylinder of each group, and behind the last one.
    pub cylinders: Vec<u32>,
    /// When, in seconds since the start of the measured part.
    pub time_s: Vec<f64>,
    /// Ten thousandths of the slots that were free, by time, then by group.
    pub free_per_10k: Vec<Vec<u16>>,
}
