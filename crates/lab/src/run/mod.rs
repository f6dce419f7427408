//! Running scenarios: one, or a grid of them in parallel over cores.
//!
//! Runs share nothing but the trace's records, and each is repeatable, so the number of threads
//! changes nothing but the time. An interruption keeps the runs that were finished; where a single
//! run is asked for, it keeps what that run has measured. Where that is nothing, the interruption
//! is all that is told.

mod said;
mod unsteady;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;
use std::time::Instant as Clock;

use nearslot_core::config::{Assembly, KINDS, StackConfig};
use nearslot_core::contract::{Blueprint, Drive, Faults};
use nearslot_core::ids::DriveId;
use nearslot_core::registry::ConfigError;
use nearslot_core::stack::Stack;
use nearslot_core::units::Instant;
use nearslot_trace::Spread;
use rayon::prelude::*;
use serde_json::json;

use crate::default_drive;
use crate::doubt::Longer;
use crate::gate::{ByBatch, Gate};
use crate::grid::{self, Point};
use crate::inspect::{Against, Inspection};
use crate::load::{LoadedTrace, RequestCount};
use crate::measure::declared;
use crate::measure::recovery;
use crate::measure::series::{self, Timeseries};
use crate::measure::traced;
use crate::measure::{Basis, Estimate, Measured, Recorder, TooFew, Window};
use crate::memo::Stoppable;
use crate::number::counted;
use crate::objective::{Class, Objective};
use crate::outcome::{
    Burst, LostBlocks, LostExtent, Measures, Number, Progress, Results, Run, SCHEMA, StartUp,
    TraceInfo,
};
use crate::overload::{self, Foreseen, Overload};
use crate::prepare::{self, Prepared, built, prepare};
use crate::program;
use crate::recorders::{Groups, Recorders, RowFiles, RunRows};
use crate::report::Target;
use crate::scenario::{Scenario, Warmup};
use crate::sim::{self, Control};
use crate::verdict;
use crate::warning::{Warning, WarningKind};
use crate::workload::Workload;

pub use crate::error::RunError;
pub(crate) use said::{Spent, warned, wrong_blocks};
pub(crate) use unsteady::Unsteady;

use said::{AtEnd, Seen, add_said, left_out, met_faults, of_caches, unheard, warnings};

/// What else is wanted of the runs.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Series for plots.
    pub series: bool,
    /// The choice that the others are held against, as [`grid::baseline`] reads it; the first when
    /// not given.
    pub baseline: Option<String>,
    /// Runs at a time; one per core when not given.
    pub jobs: Option<usize>,
    /// What is done about a long load that offers clearly more than the drives can do.
    pub overload: Overload,
    /// Whether a trace that is too long for some of the volumes is fitted to the smallest of them
    /// for all. Not where runs are kept one by one: what each serves would hang on who was beside
    /// it.
    pub fit_alike: bool,
    /// Is told at once what must be known before the end of long runs.
    pub tell: Option<fn(&str)>,
    /// One row a request into this Parquet file.
    pub requests: Option<Target>,
    /// One row a command of a drive into this Parquet file.
    pub commands: Option<Target>,
    /// The schedule as a blktrace file; for a grid of one run.
    pub schedule: Option<Target>,
}

/// Runs every point of a grid and ranks those of one load against each other. `trace` is there if
/// the points' load is a trace.
///
/// # Errors
/// The first run that failed. An interruption is none, unless nothing was measured before it.
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
    let (mut settled, drive_chosen) = default_drive::settle(points, trace, wanted.tell)?;
    prepare::fit_and_check(&mut settled, trace, wanted.fit_alike)?;
    let points = settled.as_slice();
    let files = RowFiles::create(wanted.requests.as_ref(), wanted.commands.as_ref())?;
    let pool = threads(wanted.jobs)?;
    let grid = Grid {
        trace,
        wanted,
        objectives: &[],
        files: &files,
        control,
        single: points.len() == 1,
    };
    let mut demands = pool.install(|| overload::demands(points, trace, control))?;
    let mut warnings = warned(points, trace)?;
    let said = pool.install(|| {
        overload::say(
            (points, trace),
            &mut demands,
            (wanted.overload, wanted.tell),
            control,
        )
    })?;
    warnings.extend(said);
    let one = |(point, demand): (&Point, &Option<Foreseen>)| run(point, demand.as_ref(), &grid);
    let runs = points.par_iter().zip(&demands).with_max_len(1);
    let outcomes: Vec<Result<Option<Finished>, RunError>> =
        pool.install(|| runs.map(one).collect());
    let (mut finished, without) = with_results(outcomes)?;
    overload::correct(&mut warnings, finished.iter().map(|one| &one.run));
    add_said(&mut warnings, &finished);
    let here = finished.len() + without.len();
    if here < points.len() {
        warnings.push(cut_short(&finished, here, points.len())?);
    }
    let baseline = grid::baseline(points, wanted.baseline.as_deref())?;
    let parts = finished.iter_mut();
    let parts = parts.map(|finished| std::mem::take(&mut finished.parts));
    let parts = parts.collect();
    let mut results = summed_up(points, finished, baseline);
    let labels = without.iter().filter_map(|warning| warning.run.as_deref());
    let labels: Vec<&str> = labels.collect();
    verdict::add_without_result(&mut results.verdict, &labels, &results.runs);
    warnings.extend(without);
    let configs: Vec<&serde_json::Value> = results.runs.iter().map(|run| &run.config).collect();
    results.trace = trace.map(|trace| trace_info(trace, &configs));
    (results.drive_chosen, results.warnings) = (drive_chosen, warnings);
    files.finish(&results, parts)?;
    Ok(results)
}

/// The runs that were finished, and what is to be said of those of which nothing was measured.
///
/// # Errors
/// The first run that failed; of all runs nothing was measured.
fn with_results(
    outcomes: Vec<Result<Option<Finished>, RunError>>,
) -> Result<(Vec<Finished>, Vec<Warning>), RunError> {
    let (mut finished, mut without) = (Vec::new(), Vec::new());
    let mut nothing = None;
    for outcome in outcomes {
        match outcome {
            Err(RunError::NothingMeasured { label, why }) => {
                let warning = Warning::new(WarningKind::NothingMeasured, why.clone());
                without.push(warning.of_run(&label));
                nothing.get_or_insert(RunError::NothingMeasured { label, why });
            }
            outcome => finished.extend(outcome?),
        }
    }
    match nothing.filter(|_| finished.is_empty()) {
        Some(RunError::NothingMeasured { label, why }) if without.len() > 1 => {
            let why = format!("{why}; none of the {} runs has a result", without.len());
            Err(RunError::NothingMeasured { label, why })
        }
        Some(error) => Err(error),
        None => Ok((finished, without)),
    }
}

/// What is said of a comparison that was interrupted.
///
/// # Errors
/// No run was finished.
fn cut_short(finished: &[Finished], here: usize, planned: usize) -> Result<Warning, RunError> {
    match finished {
        [] => Err(RunError::Stopped(said::nothing_found(planned))),
        _ => Ok(said::stopped(here, planned)),
    }
}

/// What finished runs come to; what else results have is the caller's.
fn summed_up(points: &[Point], finished: Vec<Finished>, baseline: Option<String>) -> Results {
    let bases = finished.iter().map(|finished| finished.basis);
    let bases: Vec<_> = bases.collect();
    let runs = finished.iter().map(|finished| &finished.run);
    let varied = grid::varied(points);
    let verdict = verdict::of(&runs.zip(&bases).collect::<Vec<_>>(), &varied, baseline);
    let runs: Vec<Run> = finished.into_iter().map(|finished| finished.run).collect();
    let first = points.first().map(|point| &point.scenario);
    let kinds = first.map_or(KINDS, |scenario| scenario.parts.kinds());
    Results {
        schema: SCHEMA,
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        seed: first.map_or(1, |scenario| scenario.seed),
        trace: None,
        drive_chosen: None,
        measures: declared::declared(kinds, &runs),
        runs,
        varied,
        verdict,
        runs_planned: points.len(),
        warnings: Vec::new(),
    }
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
        files: &RowFiles::default(),
        control,
        single: false,
    };
    let runs = points.par_iter().with_max_len(1);
    let one = |point: &Point| run(point, None, &grid);
    pool.install(|| runs.map(one).collect())
}

/// Runs that may go on at a time: each is a thread, and beyond a few per core they only take memory
/// from each other.
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
    let failed = |error| RunError::Output(format!("threads: {error}"));
    threads.build().map_err(failed)
}

/// Describes the trace of a grid for the report, held against the drive if all points have the
/// same.
///
/// # Errors
/// The trace cannot be read again.
pub fn inspect(points: &[Point], trace: &LoadedTrace) -> Result<Inspection, RunError> {
    let (points, _) = default_drive::settle(points, Some(trace), None)?;
    let mut against = Against::default();
    if let Some(first) = points.first() {
        let drive = &first.scenario.drive;
        if points.iter().all(|point| point.scenario.drive == *drive) {
            let Assembly { blueprint, .. } = built(&first.scenario, Some(trace))?;
            against.drive = Some((drive.name.clone(), blueprint.capacity()));
        }
    }
    Ok(trace.inspect(against)?)
}

/// A run that came to an end.
pub(crate) struct Finished {
    parts: RunRows,
    pub(crate) run: Run,
    basis: Basis,
    /// What it says of each objective.
    pub(crate) estimates: Vec<Result<Estimate, TooFew>>,
    /// Whether each objective was surely missed before the run's end.
    pub(crate) missed: Vec<bool>,
    /// For each objective, what every batch had of misses, or its mean.
    pub(crate) by_batch: Vec<ByBatch>,
    warnings: Vec<Warning>,
    /// What of its load was left out or changed.
    pub(crate) lost: Vec<Warning>,
    /// When its faults begin; `None` if none comes at an instant of its own, or it ended early.
    pub(crate) onset: Option<Onset>,
    /// What hides how fast its drives are for ever.
    pub(crate) unsteady: Unsteady,
    /// Commands that its drives have no times of.
    pub(crate) longer: Longer,
}

/// When the last of a run's faults begins that come at an instant of their own, and what of the run
/// is behind that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Onset {
    pub(crate) begin_s: f64,
    pub(crate) ended_s: f64,
    /// Of the requests that the objectives are about, those of which least was answered from then
    /// on.
    pub(crate) of: Class,
    /// Share of these that were, measured ones alone.
    pub(crate) share: f64,
}

impl Onset {
    /// Of a whole run, if there is such a fault.
    fn of(run: &Run, end: Instant, (begin, (of, share)): (Instant, (Class, f64))) -> Option<Onset> {
        let [begin_s, ended_s] = [begin, end].map(|at| at.0 as f64 / 1e9);
        let is = begin > Instant::ZERO && run.pending == 0;
        is.then_some(Onset {
            begin_s,
            ended_s,
            of,
            share,
        })
    }

    /// Whether the run was over before.
    pub(crate) fn never_came(&self) -> bool {
        self.ended_s < self.begin_s
    }
}

/// What all runs of a grid have in common.
struct Grid<'a> {
    trace: Option<&'a LoadedTrace>,
    wanted: &'a Wanted,
    /// What the runs are held against; one that surely misses them ends early.
    objectives: &'a [Objective],
    files: &'a RowFiles,
    control: &'a Control,
    /// Whether it has one point only. What an interrupted run has measured is then kept; among
    /// others it would be compared with runs of other lengths.
    single: bool,
}

/// Runs one point; `None` if it was interrupted and has nothing to keep.
fn run(
    point: &Point,
    foreseen: Option<&Foreseen>,
    grid: &Grid<'_>,
) -> Result<Option<Finished>, RunError> {
    let scenario = &point.scenario;
    let Some((made, load)) = prepared(scenario, grid)? else {
        return Ok(None);
    };
    let (mut stack, mut drives, blueprint) = (made.stack, made.drives, made.blueprint);
    let (given, effective) = (made.given, made.effective);
    let (mut workload, count, window) = (load.workload, load.count, load.window);
    let faults = given.faults(drives.len() as u16, &*blueprint)?;
    let mut recorders = recorders(point, grid, (window, drives.len()), (&*blueprint, &*faults))?
        .with_volumes(load.by_volume);
    let (below, how) = ((&mut stack, &mut drives[..]), (grid.control, &*point.label));
    let (end, simulated_in_s, counted) = simulate(below, &mut *workload, &mut recorders, how)?;
    let interrupted = stack.pending() > 0 && grid.control.stop.load(Ordering::Relaxed);
    if interrupted && !(grid.single && recorders.recorder.measured_any()) {
        return Ok(None);
    }
    let ended_early = checked(point, &stack, &recorders, (&*workload, window, interrupted))?;
    let (missed, by_batch) = (recorders.missed(), recorders.by_batch(end, !ended_early));
    let behind = recorders.least_behind(grid.objectives);
    let names = grid.trace.map(|trace| &*trace.header().clients);
    let unheard = unheard((&effective, &point.label), |stream| recorders.heard(stream));
    let (recorder, parts, groups) = recorders.finish(names.unwrap_or(workload.streams()))?;
    let measured = recorder.end(end);
    let (estimates, mut basis) = (estimates(&measured, grid.objectives), measured.basis());
    let config = configuration(&effective, drives.len(), &load.effective, scenario.warmup);
    let seen = Seen::of(&measured, &stack, (&*faults, scenario));
    let (begin, mut run) = (measured.begin(), measured.run(point.label.clone(), config));
    identify(&mut run, (point, foreseen), groups, (&*workload, begin));
    (run.replay, run.volumes, run.simulated_in_s) = (load.replay, load.volumes, simulated_in_s);
    count_parts(&mut run, (&stack, counted), (point, &given, grid.control))?;
    let came = interrupted.then(|| progress(&*workload, (end, &run), count));
    beside(&mut basis, &run, foreseen, (came, end));
    let onset = Onset::of(&run, end, (last_begin(&*faults), behind));
    let at_end = AtEnd::of((&stack, &drives), &*faults, end).told(&mut run, begin);
    let of_start = (onset, basis.batches_ms.as_ref());
    let lost = left_out(&run, workload.tally(), of_start, &at_end);
    let unsteady = Unsteady::of(&seen, &drives, (window, &run, end));
    let mut warnings = warnings(&run, (count, load.depth), (seen, &unsteady));
    let told = hold_beside(&mut run, &*workload, &stack);
    warnings.extend(lost.iter().cloned().chain(told).chain(unheard));
    warnings.extend(of_caches((scenario, given), (&*blueprint, &stack))?);
    Ok(Some(Finished {
        warnings,
        lost,
        onset,
        unsteady,
        longer: Longer::of(&scenario.drive.name, &drives),
        parts,
        run,
        basis,
        estimates,
        missed,
        by_batch,
    }))
}

/// The stack and the load of a run; `None` if it is told to stop before they are made.
fn prepared(
    scenario: &Scenario,
    grid: &Grid<'_>,
) -> Result<Option<(Assembly, Prepared)>, RunError> {
    let stop = &grid.control.stop;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let memo = &Stoppable(stop);
    let made = prepare::built_with(scenario, grid.trace, memo).and_then(|made| {
        let load = prepare(scenario, grid.trace, (&made.stack, memo))?;
        Ok((made, load))
    });
    match made {
        // What was given up is no mistake.
        Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
        made => {
            grid.control.keeps.fetch_or(grid.single, Ordering::Relaxed);
            made.map(Some)
        }
    }
}

/// Adds to what a run is judged by what others than its requests say.
fn beside(
    basis: &mut Basis,
    run: &Run,
    foreseen: Option<&Foreseen>,
    (came, end): (Option<Progress>, Instant),
) {
    (basis.wrong_blocks, basis.met_faults) = (wrong_blocks(run), met_faults(run));
    basis.burst = foreseen.and_then(|foreseen| met(foreseen.burst?, end));
    basis.interrupted = came;
}

/// A burst of the load of a run with this end; a run that was ended before did not meet it.
fn met(burst: Burst, end: Instant) -> Option<Burst> {
    (burst.begin_s < end.0 as f64 / 1e9).then_some(burst)
}

/// How far a run had come at its end.
fn progress(workload: &dyn Workload, (end, run): (Instant, &Run), count: RequestCount) -> Progress {
    workload.progress(end).unwrap_or_else(|| Progress {
        done: run.requests as f64,
        all: count.is_known().then(|| count.get() as f64),
        unit: "requests",
    })
}

/// Runs to the end; gives when that was, how long it took by the clock on the wall, in seconds, and
/// what was counted.
fn simulate(
    (stack, drives): (&mut Stack, &mut [Box<dyn Drive>]),
    workload: &mut dyn Workload,
    recorders: &mut Recorders,
    (control, label): (&Control, &str),
) -> Result<(Instant, f64, Measures), RunError> {
    let clock = Clock::now();
    let end = sim::run(stack, drives, workload, recorders, control);
    let simulated_in_s = clock.elapsed().as_secs_f64();
    if !control.stop.load(Ordering::Relaxed) {
        control.keeps.store(true, Ordering::Relaxed);
    }
    check_end(workload, end, label)?;
    let mut counted = declared::counted(stack, drives, recorders.before());
    if let Some(served) = recorders.served() {
        served.tell(&mut counted);
    }
    Ok((end, simulated_in_s, counted))
}

/// Checks that nothing was lost, and that the run, or its load of itself, tells something; whether
/// the run ended before its load.
fn checked(
    Point { label, .. }: &Point,
    stack: &Stack,
    recorders: &Recorders,
    (workload, window, interrupted): (&dyn Workload, Window, bool),
) -> Result<bool, RunError> {
    let recorder = &recorders.recorder;
    let ended_early = stack.pending() > 0 && recorders.missed().contains(&true);
    conserve(label, stack, interrupted || ended_early)?;
    let any = ended_early || recorders.tells() || workload.works();
    check_measured(label, (window, &recorder.failed_by_name()), any)?;
    Ok(ended_early)
}

/// When the last of the faults begins that come at an instant of their own; the run's begin if
/// there are no such.
fn last_begin(faults: &dyn Faults) -> Instant {
    faults.begins().map_or(Instant::ZERO, |[_, last]| last)
}

/// Adds what parts and measurements have counted, and what that says of the time that drives had
/// left.
fn count_parts(
    run: &mut Run,
    (stack, counted): (&Stack, Measures),
    (point, config, control): (&Point, &StackConfig, &Control),
) -> Result<(), RunError> {
    run.measures.extend(counted);
    run.at_limit = overload::at_limit(run, point.scenario.is_open());
    run.lost = lost_blocks(stack);
    let recovery = recovery::cost(stack, config, &control.stop)?;
    let named = recovery.map(|numbers| (recovery::KEY.to_owned(), numbers));
    run.measures.extend(named);
    Ok(())
}

/// What no drive tells any more.
fn lost_blocks(stack: &Stack) -> Option<LostBlocks> {
    let lost = stack.lost();
    let extents = lost.extents.iter().map(|extent| LostExtent {
        first_block: extent.start.0,
        blocks: extent.len.0,
    });
    (lost.blocks > 0).then(|| LostBlocks {
        blocks: lost.blocks,
        extents: extents.collect(),
    })
}

/// A run of which no read or write was measured has no result, unless its load counts its own work.
fn check_measured(
    label: &str,
    (window, failed): (Window, &BTreeMap<String, u64>),
    any: bool,
) -> Result<(), RunError> {
    if any {
        return Ok(());
    }
    let Window { requests, warmup } = window;
    let behind = match (warmup, RequestCount::new(requests).is_known()) {
        (0, _) => String::new(),
        (_, true) => format!(
            " behind the warm-up of {warmup} of {}",
            counted(requests, "request")
        ),
        (_, false) => format!(" behind the warm-up of {}", counted(warmup, "request")),
    };
    let failed = match failed.values().sum::<u64>() {
        0 => String::new(),
        all => format!(
            "; {} failed ({})",
            counted(all, "request"),
            said::causes(failed)
        ),
    };
    Err(RunError::NothingMeasured {
        label: label.to_owned(),
        why: format!("there is no result, since no read or write was answered{behind}{failed}"),
    })
}

/// What a run says of each objective.
fn estimates(measured: &Measured, objectives: &[Objective]) -> Vec<Result<Estimate, TooFew>> {
    let of = |one: &Objective| measured.estimate(one.class, one.statistic.rank());
    objectives.iter().map(of).collect()
}

/// Fills in what the trace tells of response times; gives why not, if that is to be known.
fn hold_beside(run: &mut Run, workload: &dyn Workload, stack: &Stack) -> Option<Warning> {
    // Of an interrupted run the slowest may be missing.
    let told = workload.told().filter(|_| stack.pending() == 0)?;
    match traced::beside(told, run.queue_growth_rps.is_none()) {
        Ok(traced) => run.traced = traced,
        Err(why) => return Some(Warning::new(WarningKind::ToldInPart, why)),
    }
    if let (Some(_), Some(series)) = (&run.traced, &mut run.series) {
        (series.traced_cdf_ms, series.traced_cdf_share) =
            series::distribution((&told.responses(), 0));
    }
    None
}

/// What asks and what answers in this run, who had which response times, and what its load says of
/// itself.
fn identify(
    run: &mut Run,
    (point, foreseen): (&Point, Option<&Foreseen>),
    groups: Groups,
    (workload, begin): (&dyn Workload, Instant),
) {
    of_host(run, workload, begin);
    (run.volume_responses, run.stream_responses) = groups;
    run.demand = foreseen.map(|foreseen| foreseen.demand);
    run.load = point.load();
    run.choice = point.choice();
    run.settings = point.settings.iter().cloned().collect();
}

/// What its processes have done, if its load is made of such.
fn of_host(run: &mut Run, workload: &dyn Workload, begin: Instant) {
    if let Some(series) = &mut run.series {
        let since = |at: Instant| (at.0 as f64 - begin.0 as f64) / 1e9;
        let told = workload.startups().iter();
        let told = told.map(|(began, up)| StartUp {
            began_s: since(*began),
            up_s: up.map(since),
        });
        series.startups = told.collect();
    }
    (run.processes, run.applications) = (workload.processes(), workload.applications());
    let (key, measured) = workload.measures();
    let measured: BTreeMap<String, Number> = measured
        .into_iter()
        .map(|(name, number)| (name.to_owned(), number))
        .collect();
    if !measured.is_empty() {
        run.measures.insert(key.to_owned(), measured);
    }
}

/// What a run is observed by.
fn recorders(
    point: &Point,
    grid: &Grid<'_>,
    (window, drives): (Window, usize),
    (blueprint, faults): (&dyn Blueprint, &dyn Faults),
) -> Result<Recorders, RunError> {
    let faults_begin = last_begin(faults);
    let may_fail = (0..drives as u16).any(|drive| faults.concern(DriveId(drive)));
    let series = grid
        .wanted
        .series
        .then(|| Timeseries::new(window, blueprint.exact(), blueprint.capacity()));
    let recorder = Recorder::new(window, drives as u16, series).with_faults_from(faults_begin);
    Recorders::new(recorder, window.warmup)
        .with_answers_from(faults_begin)
        .with_served(may_fail)
        .with_gate(Gate::new(window, grid.objectives, may_fail))
        .with_files(grid.files, &point.label, blueprint)?
        .with_schedule(grid.wanted.schedule.as_ref())
}

/// Everything in effect, defaults spelled out.
fn configuration(
    stack: &StackConfig,
    drives: usize,
    load: &serde_json::Value,
    warmup: Warmup,
) -> serde_json::Value {
    let mut config = json!({
        "drive": stack.drive.part,
        "drives": drives,
        "load": load,
        "seed": stack.seed,
        "warmup": String::from(warmup),
    });
    for (kind, part) in stack.parts.iter() {
        config[kind.key()] = json!(part);
    }
    config
}

/// In = out + pending, counted by the stack and recounted by its audit. Only a run that was cut
/// short has some pending.
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

/// Whether the load could be read to its end, and the run was not ended because virtual time is
/// over.
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

/// What was replayed by runs with these configurations.
pub(crate) fn trace_info(trace: &LoadedTrace, configs: &[&serde_json::Value]) -> TraceInfo {
    let summary = trace.summary();
    // What was done, not what was asked for: where all addresses fit, that is nothing.
    let fits = configs
        .iter()
        .filter_map(|config| config["load"]["fit"].as_str());
    let mut fits = fits.peekable();
    let fit = fits.peek().copied().unwrap_or("none");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_that_a_run_did_not_come_to_is_not_told() {
        let burst = Burst {
            begin_s: 10.0,
            lasts_s: 5.0,
            load_factor: 2.0,
        };
        assert_eq!(met(burst, Instant(9_000_000_000)), None);
        assert_eq!(met(burst, Instant(11_000_000_000)), Some(burst));
    }
}
