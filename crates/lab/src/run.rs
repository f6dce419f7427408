//! Running scenarios: one, or a grid of them in parallel over cores.
//!
//! Runs share nothing but the trace's records, and each is repeatable, so the number of threads changes nothing but the
//! time. An interruption keeps the runs that were finished; where a single run is asked for, it keeps what that run has
//! measured.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;
use std::time::Instant as Clock;

use nearslot_core::config::{Assembly, PartConfig, StackConfig};
use nearslot_core::contract::Blueprint;
use nearslot_core::registry::{ConfigError, Env, Forgetful, written};
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};
use nearslot_trace::{Spread, TimeKind, TraceError};
use rayon::prelude::*;
use serde_json::json;

use crate::by_volume::ByVolume;
use crate::default_drive;
use crate::doubt::{self, Longer};
use crate::gate::{ByBatch, Gate};
use crate::grid::{self, Point};
use crate::inspect::{Against, Inspection};
use crate::load::{LoadedTrace, RequestCount};
use crate::measure::{BATCHES, Estimate, Measured, Recorder, TooFew, Window};
use crate::memo::SHARED;
use crate::number::number;
use crate::objective::Objective;
use crate::outcome::{Results, Run, SCHEMA, TraceInfo};
use crate::overload::{self, Foreseen, Overload};
use crate::recovery;
use crate::report::Target;
use crate::scenario::{Load, Replay, Scenario, TraceLoad, Warmup};
use crate::series::{self, Timeseries};
use crate::sim::{self, Control};
use crate::told::Told;
use crate::verdict;
use crate::watch::{Files, Parts, Watch};
use crate::workload::closed::Closed;
use crate::workload::dependent::Dependent;
use crate::workload::intake::Intake;
use crate::workload::layout::{self, Layout, VolumePlace, Volumes};
use crate::workload::open::Open;
use crate::workload::{self, Tally, Workload, WorkloadError};

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace does not fit the drive.
    #[error("{0}")]
    Unfit(ConfigError),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace became unreadable in mid-run.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// More or fewer requests came out than went in: a fault of nearslot.
    #[error("{label}: {arrived} requests arrived, {replied} were answered, {pending} are pending")]
    Conservation {
        /// Which run.
        label: String,
        /// In.
        arrived: u64,
        /// Out.
        replied: u64,
        /// Still there.
        pending: u64,
    },
    /// A long load offers clearly more than the drives can do.
    #[error("{0}")]
    Overload(String),
    /// A load does not tell whether an objective holds.
    #[error("{0}")]
    Objective(String),
    /// Something beside the simulation failed: a file of requests, a thread pool.
    #[error("{0}")]
    Beside(String),
}

/// What else is wanted of the runs.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Series for plots.
    pub series: bool,
    /// The choice that the others are held against, as [`grid::baseline`] reads it; the first when not given.
    pub baseline: Option<String>,
    /// Runs at a time; one per core when not given.
    pub jobs: Option<usize>,
    /// What is done about a long load that offers clearly more than the drives can do.
    pub overload: Overload,
    /// Is told at once what must be known before the end of long runs.
    pub tell: Option<fn(&str)>,
    /// One row a request into this Parquet file.
    pub requests: Option<Target>,
    /// One row a command of a drive into this Parquet file.
    pub commands: Option<Target>,
    /// The schedule as a blktrace file; for a grid of one run.
    pub schedule: Option<Target>,
}

/// Runs every point of a grid and ranks those of one load against each other. `trace` is there if the points' load is a trace.
///
/// # Errors
/// The first run that failed; an interruption is no failure.
pub fn compare(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    wanted: &Wanted,
    control: &Control,
) -> Result<Results, RunError> {
    if wanted.schedule.is_some() && points.len() != 1 {
        let runs = format!("{} runs", points.len());
        return Err(ConfigError::value("blktrace schedule", &runs, "a single run").into());
    }
    let (settled, drive_chosen) = default_drive::settle(points, trace, wanted.tell)?;
    let points = settled.as_slice();
    let files = Files::create(wanted)?;
    let pool = threads(wanted.jobs)?;
    let grid = Grid {
        trace,
        wanted,
        objectives: &[],
        files: &files,
        control,
        single: points.len() == 1,
    };
    let demands = pool.install(|| overload::demands(points, trace, control))?;
    let mut warnings = warned(points, trace)?;
    let said = pool.install(|| overload::say((points, trace), &demands, wanted, control))?;
    warnings.extend(said);
    let one = |(point, demand): (&Point, &Option<Foreseen>)| run(point, demand.as_ref(), &grid);
    let runs = points.par_iter().zip(&demands).with_max_len(1);
    let outcomes: Vec<Result<Option<Finished>, RunError>> =
        pool.install(|| runs.map(one).collect());
    let mut finished = Vec::new();
    for outcome in outcomes {
        finished.extend(outcome?);
    }
    add_said(&mut warnings, &finished);
    let baseline = grid::baseline(points, wanted.baseline.as_deref())?;
    let batches = finished.iter().map(|finished| finished.batches_ms);
    let batches: Vec<_> = batches.collect();
    let runs = finished.iter().map(|finished| &finished.run);
    let varied = grid::varied(points);
    let verdict = verdict::of(&runs.zip(&batches).collect::<Vec<_>>(), &varied, baseline);
    let seed = points.first().map_or(1, |point| point.scenario.seed);
    let parts = finished.iter_mut();
    let parts = parts.map(|finished| std::mem::take(&mut finished.parts));
    let parts = parts.collect();
    let results = Results {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        trace: trace.map(|trace| trace_info(trace, points)),
        drive_chosen,
        runs: finished.into_iter().map(|finished| finished.run).collect(),
        varied,
        verdict,
        runs_planned: points.len(),
        warnings,
    };
    files.finish(&results, parts)?;
    Ok(results)
}

/// Runs points that are held against objectives; nothing of those that were interrupted.
///
/// # Errors
/// The first run that failed.
pub(crate) fn probe(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    (objectives, pool): (&[Objective], &rayon::ThreadPool),
    control: &Control,
) -> Result<Vec<Option<Finished>>, RunError> {
    let grid = Grid {
        trace,
        wanted: &Wanted::default(),
        objectives,
        files: &Files::default(),
        control,
        single: false,
    };
    let runs = points.par_iter().with_max_len(1);
    let one = |point: &Point| run(point, None, &grid);
    pool.install(|| runs.map(one).collect())
}

/// Adds what the runs of a grid have to say.
fn add_said(warnings: &mut Vec<String>, finished: &[Finished]) {
    let mut longer = Longer::default();
    for one in finished {
        add_new(warnings, one.warnings.iter());
        longer.join(&one.longer);
    }
    warnings.extend(longer.words());
}

/// Adds what runs have to say, each thing once.
pub(crate) fn add_new<'a>(warnings: &mut Vec<String>, said: impl Iterator<Item = &'a String>) {
    for warning in said {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
}

/// Runs that may go on at a time: each is a thread, and beyond a few per core they only take memory from each other.
pub const JOBS: RangeInclusive<usize> = 1..=1_024;

/// Whether so many runs may go on at a time.
///
/// # Errors
/// They may not.
pub fn check_jobs(jobs: Option<usize>) -> Result<(), ConfigError> {
    match jobs.filter(|jobs| !JOBS.contains(jobs)) {
        None => Ok(()),
        Some(jobs) => {
            let allowed = format!("a whole number from {} to {}", JOBS.start(), JOBS.end());
            Err(ConfigError::value("jobs", &jobs.to_string(), &allowed))
        }
    }
}

/// So many threads, or one per core.
pub(crate) fn threads(jobs: Option<usize>) -> Result<rayon::ThreadPool, RunError> {
    check_jobs(jobs)?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0));
    let beside = |error| RunError::Beside(format!("threads: {error}"));
    threads.build().map_err(beside)
}

/// Describes the trace of a grid for the report, held against the drive if all points have the same.
///
/// # Errors
/// The trace cannot be read again.
pub fn inspect(points: &[Point], trace: &LoadedTrace) -> Result<Inspection, RunError> {
    let (points, _) = default_drive::settle(points, Some(trace), None)?;
    let mut against = Against::default();
    if let Some(first) = points.first() {
        let drive = &first.scenario.drive;
        if points.iter().all(|point| point.scenario.drive == *drive) {
            let Assembly { blueprint, .. } = first.scenario.stack()?.build()?;
            against.drive = Some((drive.name.clone(), blueprint.capacity()));
        }
    }
    Ok(trace.inspect(against)?)
}

/// A run that came to an end.
pub(crate) struct Finished {
    parts: Parts,
    pub(crate) run: Run,
    batches_ms: Option<[f64; BATCHES]>,
    /// What it says of each objective.
    pub(crate) estimates: Vec<Result<Estimate, TooFew>>,
    /// Whether each objective was surely missed before the run's end.
    pub(crate) missed: Vec<bool>,
    /// For each objective, what every batch had of misses, or its mean.
    pub(crate) by_batch: Vec<ByBatch>,
    warnings: Vec<String>,
    /// What of its load was left out or changed.
    pub(crate) lost: Vec<String>,
    /// Commands that its drives have no times of.
    pub(crate) longer: Longer,
}

/// What all runs of a grid have in common.
struct Grid<'a> {
    trace: Option<&'a LoadedTrace>,
    wanted: &'a Wanted,
    /// What the runs are held against; one that surely misses them ends early.
    objectives: &'a [Objective],
    files: &'a Files,
    control: &'a Control,
    /// Whether it has one point only. What an interrupted run has measured is then kept; among others it would be
    /// compared with runs of other lengths.
    single: bool,
}

/// Runs one point; `None` if it was interrupted and has nothing to keep.
fn run(
    point: &Point,
    foreseen: Option<&Foreseen>,
    grid: &Grid<'_>,
) -> Result<Option<Finished>, RunError> {
    if grid.control.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let scenario = &point.scenario;
    let Assembly {
        mut stack,
        mut drives,
        blueprint,
        effective,
    } = stack_of(scenario, grid.trace)?.build_with(&SHARED)?;
    let load = prepare(scenario, grid.trace, &stack, &*blueprint)?;
    let (mut workload, count, window) = (load.workload, load.count, load.window);
    let watch = watch(point, grid, (window, drives.len()), &*blueprint)?;
    let mut watch = watch.with_volumes(load.by_volume);
    let clock = Clock::now();
    let load_of = &mut *workload;
    let end = sim::run(&mut stack, &mut drives, load_of, &mut watch, grid.control);
    let simulated_in_s = clock.elapsed().as_secs_f64();
    check_end(&mut *workload, end, &point.label)?;
    let interrupted = stack.pending() > 0 && grid.control.stop.load(Ordering::Relaxed);
    if interrupted && !(grid.single && watch.recorder.measured_any()) {
        return Ok(None);
    }
    let missed = watch.missed();
    let ended_early = stack.pending() > 0 && missed.contains(&true);
    conserve(&point.label, &stack, interrupted || ended_early)?;
    let any = ended_early || watch.recorder.measured_any();
    check_measured(&point.label, window, any)?;
    let by_batch = watch.by_batch(end, !ended_early);
    let (recorder, parts, by_volume) = watch.finish()?;
    let measured = recorder.end(end);
    let estimates = estimates(&measured, grid.objectives);
    let config = configuration(&effective, drives.len(), &load.effective, scenario.warmup);
    let batches_ms = measured.batch_means_ms();
    // Of an interrupted run the slowest may be missing.
    let told = workload.told().filter(|_| stack.pending() == 0);
    let mut run = measured.run(point.label.clone(), config);
    identify(&mut run, point, foreseen);
    (run.replay, run.volumes, run.volume_responses) = (load.replay, load.volumes, by_volume);
    run.recovery = recovery::cost(&stack, &effective)?;
    run.simulated_in_s = simulated_in_s;
    let mut warnings = warnings(&run, workload.tally(), (count, load.depth));
    warnings.extend(told.and_then(|told| hold_beside(&mut run, told)));
    Ok(Some(Finished {
        warnings,
        lost: lost(workload.tally()),
        longer: Longer::of(&scenario.drive.name, &drives),
        parts,
        run,
        batches_ms,
        estimates,
        missed,
        by_batch,
    }))
}

/// A run of which no read or write was measured has no result.
fn check_measured(label: &str, window: Window, any: bool) -> Result<(), RunError> {
    if any {
        return Ok(());
    }
    let Window { requests, warmup } = window;
    let allowed = format!(
        "at least 1 behind the warm-up of {warmup} of {requests} requests; nothing was measured in {label}"
    );
    let error = ConfigError::value("measured reads and writes", "0", &allowed);
    Err(RunError::Unfit(error))
}

/// What a run says of each objective.
fn estimates(measured: &Measured, objectives: &[Objective]) -> Vec<Result<Estimate, TooFew>> {
    let of = |one: &Objective| measured.estimate(one.class, one.statistic.rank());
    objectives.iter().map(of).collect()
}

/// Fills in what the trace tells of response times; gives why not, if that is to be known.
fn hold_beside(run: &mut Run, told: &Told) -> Option<String> {
    match told.beside(run.queue_growth_rps.is_none()) {
        Ok(traced) => run.traced = traced,
        Err(why) => return Some(why),
    }
    if let (Some(_), Some(series)) = (&run.traced, &mut run.series) {
        (series.traced_cdf_ms, series.traced_cdf_share) = series::distribution(&told.responses());
    }
    None
}

/// What asks and what answers in this run.
fn identify(run: &mut Run, point: &Point, foreseen: Option<&Foreseen>) {
    run.demand = foreseen.map(|foreseen| foreseen.demand);
    run.load = point.load();
    run.choice = point.choice();
    run.settings = point.settings.iter().cloned().collect();
}

/// The stack of a run, with a drive for each volume if they are to have their own.
pub(crate) fn stack_of(
    scenario: &Scenario,
    trace: Option<&LoadedTrace>,
) -> Result<StackConfig, RunError> {
    let mut stack = scenario.stack()?;
    let Some(trace) = trace else {
        return Ok(stack);
    };
    trace.check_volumes(scenario.volumes())?;
    if scenario.volumes() == Some(Volumes::OwnDrives) {
        stack.place = layout::own_drives(trace.volumes());
    }
    Ok(stack)
}

/// What a run is observed by.
fn watch(
    point: &Point,
    grid: &Grid<'_>,
    (window, drives): (Window, usize),
    blueprint: &dyn Blueprint,
) -> Result<Watch, RunError> {
    let series = grid
        .wanted
        .series
        .then(|| Timeseries::new(window, blueprint.exact(), blueprint.capacity()));
    Watch::new(Recorder::new(window, drives as u16, series), window.warmup)
        .with_gate(Gate::new(window, grid.objectives))
        .with_files(grid.files, &point.label, (blueprint, drives))?
        .with_schedule(grid.wanted.schedule.as_ref())
}

/// Everything in effect, defaults spelled out.
fn configuration(
    stack: &StackConfig,
    drives: usize,
    load: &serde_json::Value,
    warmup: Warmup,
) -> serde_json::Value {
    json!({
        "drive": stack.drive.part,
        "drives": drives,
        "sched": stack.sched,
        "oracle": stack.oracle,
        "place": stack.place,
        "load": load,
        "seed": stack.seed,
        "warmup": String::from(warmup),
    })
}

/// What to know of the results of a run that was interrupted.
fn interrupted(run: &Run, count: RequestCount) -> String {
    format!(
        "{}: the run was interrupted: {} of {} requests were answered and {} were waiting; the results are of the answered \
         ones alone, so the slowest may be missing, and there is no confidence interval for part of a run",
        run.label,
        run.requests,
        count.get(),
        run.pending
    )
}

/// In = out + pending, counted by the stack and recounted by its audit. Only a run that was cut short has some pending.
fn conserve(label: &str, stack: &Stack, cut_short: bool) -> Result<(), RunError> {
    stack.audit();
    let (arrived, replied) = (stack.submitted(), stack.replied());
    let pending = stack.pending() as u64;
    if arrived != replied + pending || (pending > 0 && !cut_short) {
        let label = label.to_owned();
        return Err(RunError::Conservation {
            label,
            arrived,
            replied,
            pending,
        });
    }
    Ok(())
}

/// A load ready to run.
pub(crate) struct Prepared {
    pub(crate) workload: Box<dyn Workload>,
    pub(crate) count: RequestCount,
    /// Where the volumes of a trace with several lie.
    volumes: Vec<VolumePlace>,
    by_volume: Option<ByVolume>,
    /// Its configuration with every default spelled out.
    effective: serde_json::Value,
    /// How requests come, in one word.
    replay: String,
    /// What is measured of it.
    pub(crate) window: Window,
    /// How many are in flight in a closed loop.
    depth: Option<u64>,
}

/// How many requests a point has.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn count(point: &Point, trace: Option<&LoadedTrace>) -> Result<u64, RunError> {
    let Assembly {
        stack, blueprint, ..
    } = stack_of(&point.scenario, trace)?.build_with(&SHARED)?;
    Ok(prepare(&point.scenario, trace, &stack, &*blueprint)?
        .count
        .get())
}

/// Makes the load of a scenario.
///
/// # Errors
/// The trace cannot be read or does not fit, or the workload is wrong.
pub(crate) fn prepare(
    scenario: &Scenario,
    trace: Option<&LoadedTrace>,
    stack: &Stack,
    blueprint: &dyn Blueprint,
) -> Result<Prepared, RunError> {
    match (&scenario.load, trace) {
        (Load::Trace(load), Some(trace)) => prepare_trace(scenario, load, trace, stack),
        (Load::Workload(part), None) => prepare_synthetic(scenario, part, stack, blueprint),
        _ => panic!("a trace is loaded exactly if the scenario names one"),
    }
}

fn prepare_trace(
    scenario: &Scenario,
    load: &TraceLoad,
    trace: &LoadedTrace,
    stack: &Stack,
) -> Result<Prepared, RunError> {
    check_times(trace, load).map_err(RunError::Unfit)?;
    check_length(trace, load)?;
    let layout = Layout::new(
        load.volumes,
        load.fit,
        (trace.header(), trace.summary()),
        (stack.capacity(), &scenario.drive.name),
    )
    .map_err(RunError::Unfit)?;
    let count = trace.count(&layout)?;
    let (fit, volumes) = (layout.fit(), layout.volumes().to_vec());
    let depth = matches!(load.replay, Replay::Closed).then(|| load.depth());
    let window = window(scenario, count, depth)?;
    let by_volume = ByVolume::of(&layout, window.warmup);
    let intake = trace.intake(layout)?;
    // At the trace's own times only: another speed is another load.
    let own_times = load.speed().to_bits() == 1_f64.to_bits();
    let noting = |intake: Intake| {
        if own_times {
            intake.noting(window.warmup)
        } else {
            intake
        }
    };
    let workload: Box<dyn Workload> = match load.replay {
        Replay::Open => Box::new(Open::new(noting(intake), load.speed())),
        Replay::Closed => Box::new(Closed::new(intake, load.depth(), load.refill())),
        Replay::Dependent => {
            let guess = Duration::from_ms_f64(load.service_guess_us() / 1e3);
            Box::new(Dependent::new(noting(intake), load.speed(), Some(guess)))
        }
    };
    Ok(Prepared {
        workload,
        count,
        volumes,
        by_volume,
        effective: effective(load, fit),
        replay: load.replay.word().to_owned(),
        window,
        depth,
    })
}

/// What is to be said before anything runs.
pub(crate) fn warned(
    points: &[Point],
    trace: Option<&LoadedTrace>,
) -> Result<Vec<String>, ConfigError> {
    let mut warnings = trace.map(LoadedTrace::warnings).unwrap_or_default();
    let timed = |point: &Point| matches!(&point.scenario.load, Load::Trace(load) if !matches!(load.replay, Replay::Closed));
    if points.iter().any(timed) {
        warnings.extend(trace.and_then(LoadedTrace::coarse).map(str::to_owned));
    }
    warnings.extend(doubt::doubts(points)?);
    Ok(warnings)
}

/// Whether the trace says when requests came, if that is asked.
fn check_times(trace: &LoadedTrace, load: &TraceLoad) -> Result<(), ConfigError> {
    if matches!(load.replay, Replay::Closed) || trace.header().time_kind != TimeKind::None {
        return Ok(());
    }
    let allowed = "closed: the trace has no times, or one time for all its requests, so nothing says when they came; if a column \
                   has them under a name that is not known, --columns names it";
    Err(ConfigError::value("replay", load.replay.word(), allowed))
}

/// Whether the load could be read to its end, and the run was not ended because virtual time is over.
fn check_end(workload: &mut dyn Workload, end: Instant, label: &str) -> Result<(), RunError> {
    if let Some(failure) = workload.failure() {
        return Err(failure.into());
    }
    if end < sim::END {
        return Ok(());
    }
    let allowed = "service times of drives with which the run ends within 219 years";
    let value = format!("{label}: the run lasts longer than virtual time");
    Err(RunError::Unfit(ConfigError::value(
        "drive", &value, allowed,
    )))
}

/// The longest that a run may last by its arrivals: 146 years, so that answers still have a time.
pub(crate) const LONGEST: Duration = Duration(1 << 62);

/// The slowest speed at which a trace may be replayed.
pub(crate) fn slowest(trace: &LoadedTrace) -> f64 {
    let summary = trace.summary();
    (summary.last_ns - summary.first_ns) as f64 / LONGEST.0 as f64
}

/// Whether a replay is not so slow that it lasts too long.
fn check_length(trace: &LoadedTrace, load: &TraceLoad) -> Result<(), ConfigError> {
    let slowest = slowest(trace);
    if matches!(load.replay, Replay::Closed) || load.speed() >= slowest {
        return Ok(());
    }
    let allowed = format!("at least {slowest:.3e}, at which this trace takes 146 years");
    Err(ConfigError::value(
        "speed",
        &written(load.speed()),
        &allowed,
    ))
}

/// Which requests are measured.
fn window(
    scenario: &Scenario,
    count: RequestCount,
    depth: Option<u64>,
) -> Result<Window, ConfigError> {
    let requests = count.get();
    Ok(Window {
        requests,
        warmup: scenario.warmup.requests(requests, depth)?,
    })
}

/// How a trace is replayed, every default spelled out; `fit` is what was done to addresses.
fn effective(load: &TraceLoad, fit: &str) -> serde_json::Value {
    let mut effective = json!({ "replay": load.replay, "fit": fit });
    if let Some(how) = load.volumes {
        effective["volumes"] = json!(how);
    }
    match load.replay {
        Replay::Closed => {
            effective["depth"] = json!(load.depth());
            effective["refill"] = json!(load.refill());
        }
        Replay::Open => effective["speed"] = json!(load.speed()),
        Replay::Dependent => {
            effective["speed"] = json!(load.speed());
            effective["service_guess_us"] = json!(load.service_guess_us());
        }
    }
    let span = [
        ("from", load.from),
        ("to", load.to),
        ("busiest", load.busiest),
    ];
    for (key, time) in span {
        if let Some(time) = time {
            effective[key] = json!(time);
        }
    }
    if let Some(limit) = load.limit {
        effective["limit"] = json!(limit);
    }
    effective
}

fn prepare_synthetic(
    scenario: &Scenario,
    part: &PartConfig,
    stack: &Stack,
    blueprint: &dyn Blueprint,
) -> Result<Prepared, RunError> {
    let env = Env {
        seed: scenario.seed,
        label: "workload/0",
        blueprint,
        capacity: stack.capacity(),
        identity: "",
        memo: &Forgetful,
        survivors: None,
    };
    let (synthetic, effective) = workload::synthetic(part, &env)?;
    let count = RequestCount::new(synthetic.requests);
    Ok(Prepared {
        window: window(scenario, count, synthetic.depth)?,
        workload: synthetic.workload,
        count,
        volumes: Vec::new(),
        by_volume: None,
        replay: effective.name.clone(),
        effective: json!(effective),
        depth: synthetic.depth,
    })
}

pub(crate) fn trace_info(trace: &LoadedTrace, points: &[Point]) -> TraceInfo {
    let summary = trace.summary();
    let mut fits = points.iter().map(|point| match &point.scenario.load {
        Load::Trace(load) => load.fit.word(),
        Load::Workload(_) => "none",
    });
    let fit = fits.next().unwrap_or("none");
    let one_fit = fits.all(|other| other == fit);
    TraceInfo {
        files: trace.header().files.clone(),
        format: trace.header().format.clone(),
        hash: format!("{:032x}", summary.hash),
        requests: summary.requests,
        device: trace.device(),
        span: trace.header().span,
        span_s: (summary.last_ns - summary.first_ns) as f64 / 1e9,
        fit: if one_fit { fit } else { "varied" }.to_owned(),
        spread: match trace.header().spread {
            None | Some(Spread::None) => "none".to_owned(),
            Some(Spread::Even) => "even".to_owned(),
            Some(Spread::Poisson(_)) => "poisson".to_owned(),
        },
    }
}

/// A drive busier than this under given arrivals cannot keep up.
pub(crate) const SATURATED: f64 = 0.98;

fn warnings(run: &Run, tally: Tally, (count, depth): (RequestCount, Option<u64>)) -> Vec<String> {
    let mut warnings = Vec::new();
    if run.pending > 0 {
        warnings.push(interrupted(run, count));
    }
    let label = &run.label;
    if let Some(growth) = run.queue_growth_rps {
        warnings.push(format!(
            "{label}: the queue grew by {} requests a second as long as requests came, so response times tell how long the \
             load is",
            number(growth)
        ));
    } else if run.demand.is_some() && run.utilisation > SATURATED {
        warnings.push(format!(
            "{label}: the drives were busy {:.1} % of the time: a little more load, and the queue grows without end",
            run.utilisation * 100.0
        ));
    }
    warnings.extend(never_full(label, depth, count));
    warnings.extend(lost(tally));
    warnings
}

/// What to know of a closed loop that asks for more requests in flight than there are.
fn never_full(label: &str, depth: Option<u64>, count: RequestCount) -> Option<String> {
    let (depth, requests) = (depth?, count.get());
    (depth > requests).then(|| {
        format!(
            "{label}: depth = {depth} is more than the {requests} requests that there are: all come at once, as with depth = \
             {requests}"
        )
    })
}

/// What of a load was left out or changed.
fn lost(tally: Tally) -> Vec<String> {
    let counts = [
        (
            tally.other,
            "requests were neither read, write, flush nor discard and were left out",
        ),
        (
            tally.beyond,
            "requests beyond the drive were left out (--fit truncate)",
        ),
        (
            tally.moved,
            "requests were put elsewhere, since the trace has addresses beyond the drive (--fit wrap, scale)",
        ),
        (
            tally.fua,
            "writes asked for force unit access and were replayed as plain writes",
        ),
        (
            tally.late,
            "requests came later than inferred: the trace was not read far enough ahead",
        ),
        (
            tally.guessed,
            "requests do not tell their response time, so what waits for them is inferred from a guess \
             (service_guess_us)",
        ),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{count} {what}"))
        .collect()
}
