//! How much a drive can take before an objective fails: the highest speed, rate or depth, the most
//! business units or the fewest drives, at which `read p99 < 20 ms` still holds, for each choice.
//!
//! All choices are searched at once, a round of runs at a time, with the same requests in every run
//! of a setting (`axis`, `search`). A run says whether the objectives hold by its estimates, and by
//! both ends of their 95 % intervals; so there are three boundaries: up to where they *surely*
//! hold, up to where they hold by the estimates, and from where they *surely* fail. A growing queue
//! is no answer in time, whatever the mean: there they fail. A run that surely misses an objective
//! ends early (`gate`). A run that holds them, but of whose requests less than half is answered
//! after its faults have begun, has not shown that they hold: the boundary is looked for below, and
//! no comparison rests on it.
//!
//! One choice takes less than the best if it surely fails where the best surely holds. Otherwise
//! that is decided by paired batches at the hardest setting that the best one holds: there both
//! serve the same requests, and if the other one misses by more, it fails before the best one does.
//!
//! Cost: four to fifteen runs a choice, some of them short; the number that was needed is told.
//! Which settings are tried follows from the results alone, so neither the number of threads nor
//! the clock changes anything.

mod answer;
mod axis;
mod choice;
mod columns;
mod failures;
mod figure;
mod filling;
mod limit;
mod names;
mod search;
mod setup;
#[cfg(test)]
mod tests;
mod text;
mod told;
mod words;

use std::sync::atomic::Ordering;

use nearslot_core::registry::ConfigError;
use nearslot_trace::TraceOp;
use serde::Serialize;

pub use axis::Find;
pub use figure::figures;
pub use limit::{Limit, LimitedBy, Shares};

use crate::default_drive;
use crate::doubt::Longer;
use crate::gate::ByBatch;
use crate::grid::{self, Point};
use crate::load::LoadedTrace;
use crate::objective::{Class, Objective};
use crate::outcome::{ChosenDrive, Role, TraceInfo, Varied};
use crate::overload;
use crate::prepare;
use crate::program;
use crate::run::{self, Onset, RunError, Unsteady};
use crate::scenario::Load;
use crate::scenario::keys::role;
use crate::sim::Control;
use crate::warning::Warning;
use crate::workload;
use axis::Axis;
use choice::{Asked, Choice};
use search::Search;
use told::Told;

/// Version of the layout of the JSON.
pub const SCHEMA: u32 = 3;
/// How far apart settings are when nothing is said, in percent.
pub const RESOLUTION_DEFAULT: f64 = 2.0;
/// What may be said, in percent.
pub const RESOLUTIONS: std::ops::RangeInclusive<f64> = 0.1..=50.0;
/// Where an open load begins, as a share of what the drives can do.
const BEGIN: f64 = 0.5;

/// Share of the requests that has to come after all faults have begun, so that a run says what they
/// do: then at most twice as many requests miss a percentile as may, and a mean is at most twice
/// its limit, among those that met the faults.
const SHOWN_FROM: f64 = 0.5;

/// What is asked.
#[derive(Clone, Debug)]
pub struct How {
    /// What has to hold, all of it.
    pub objectives: Vec<Objective>,
    /// Along what.
    pub find: Find,
    /// How far apart neighbouring settings are, in percent.
    pub resolution_percent: f64,
    /// Runs at a time; one per core when not given.
    pub jobs: Option<usize>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Capacity {
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
    /// What had to hold.
    pub objectives: Vec<Objective>,
    /// Along what it was looked for.
    pub find: Find,
    /// How far apart neighbouring settings are, in percent; whole numbers are at least 1 apart.
    pub resolution_percent: f64,
    /// The answer in a sentence.
    pub headline: String,
    /// What else there is to say, a sentence each.
    pub details: Vec<String>,
    /// The choice that takes most, as an index into `choices`; `None` if none holds anywhere.
    pub best: Option<usize>,
    /// In the order of the grid.
    pub choices: Vec<Reached>,
    /// Whether all boundaries were found; not after an interruption.
    pub complete: bool,
    /// How many runs it took.
    pub runs: usize,
    /// Requests that were simulated in all of them.
    pub simulated_requests: u64,
    /// Requests of one whole run.
    pub requests: u64,
    /// What the reader ought to know before believing the numbers.
    pub warnings: Vec<Warning>,
    /// The keys that tell the choices apart.
    #[serde(skip)]
    varied: Vec<Varied>,
}

/// What was found of a choice.
#[derive(Clone, Debug, Serialize)]
pub struct Reached {
    /// What distinguishes it: `sched=satf`.
    pub choice: String,
    /// The hardest setting at which the objectives surely hold, with all that were tried below it.
    pub surely_holds: Option<f64>,
    /// The hardest at which they hold by their estimates.
    pub holds: Option<f64>,
    /// The easiest at which they fail by their estimates.
    pub fails: Option<f64>,
    /// The easiest at which they surely fail.
    pub surely_fails: Option<f64>,
    /// The easiest at which they hold by their estimates in a run of which too little came after
    /// its faults began, if there is none below at which they fail: what these faults do there is
    /// not known.
    #[serde(skip)]
    not_shown: Option<f64>,
    /// The easiest setting that could have been tried.
    pub easiest: f64,
    /// Why there is none easier, if that is not the range of the setting itself.
    pub easiest_because: Option<String>,
    /// The hardest.
    pub hardest: f64,
    /// Why there is none harder, if that is not the range of the setting itself.
    pub hardest_because: Option<String>,
    /// Whether the objectives held at a setting that is harder than one at which they failed, of those
    /// that the choice's own search has tried: runs that only a comparison asked for do not count.
    pub contradicted: bool,
    /// Whether a harder setting is surer to hold than an easier one, or less sure to fail.
    pub unevenly_sure: bool,
    /// Whether it takes less than the best; `None` for the best, where none holds, and for a choice
    /// that was not tried before an interruption, or held as far as the best was tried.
    pub against_best: Option<Against>,
    /// What keeps it from taking more; `None` if it holds to the end, or was not tried.
    pub limit: Option<Limit>,
    /// Everything in effect in the first run of the search, defaults spelled out; each setting in
    /// `tried` takes the place of the one there.
    pub config: serde_json::Value,
    /// Every setting that was tried, from the easiest to the hardest.
    pub tried: Vec<Tried>,
}

impl Reached {
    /// Whether the objectives hold at the hardest setting that there is.
    fn to_the_end(&self) -> bool {
        let holds = |at: f64| at.total_cmp(&self.hardest).is_eq();
        self.fails.is_none() && self.holds.is_some_and(holds)
    }

    /// The easiest setting that was tried at which they hold by their estimates though too little
    /// of the run came after its faults began: where nothing is known of harder ones, or nothing
    /// holds.
    fn first_not_shown(&self) -> Option<&Tried> {
        let mut tried = self.tried.iter();
        match (self.not_shown, self.holds) {
            (Some(at), _) => tried.find(|tried| at.total_cmp(&tried.at).is_eq()),
            (None, Some(_)) => None,
            (None, None) => tried.find(|tried| tried.word == Outcome::NotShown),
        }
    }

    /// The setting whose numbers are told: the hardest that holds, or where none does the easiest
    /// that was tried.
    fn shown(&self) -> Option<&Tried> {
        let mut tried = self.tried.iter();
        match self.holds {
            Some(holds) => tried.find(|tried| holds.total_cmp(&tried.at).is_eq()),
            None => tried.next(),
        }
    }
}

/// How a choice compares to the one that takes most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    /// What is known.
    pub word: Word,
    /// The setting at which the batches of both were compared; `None` if that was not needed, as
    /// one surely fails where the other surely holds, or not possible.
    pub at: Option<f64>,
}

words! {
    /// Whether a choice takes less than another.
    Word {
        /// It does: it surely fails where the other surely holds, or the interval of the difference
        /// excludes 0.
        Less = "less",
        /// Both hold up to the same setting.
        Same = "same",
        /// Its estimate is lower, but the interval of the difference contains 0.
        Undecided = "undecided",
    }
}

words! {
    /// What a run says of all objectives together.
    Outcome {
        /// Even by the unfavourable ends of the intervals.
        SurelyHolds = "surely holds",
        /// By the estimates.
        Holds = "holds",
        /// Not by the estimates.
        Fails = "fails",
        /// Not even by the favourable ends of the intervals.
        SurelyFails = "surely fails",
        /// They hold by the estimates, but less than half of the requests was answered after all
        /// faults had begun that come at an instant of their own.
        NotShown = "not shown",
    }
}

/// A setting that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The setting.
    pub at: f64,
    /// Whether that was only to compare the choice with the best one.
    #[serde(skip)]
    compared: bool,
    /// Whether the objectives hold.
    pub word: Outcome,
    /// What was measured for each objective, in their order.
    pub readings: Vec<Reading>,
    /// Requests answered per second.
    pub throughput_rps: f64,
    /// Megabytes (10^6) read and written per second.
    pub throughput_mb_s: f64,
    /// Share of the time that the drives were busy.
    pub utilisation: f64,
    /// The same of the drive that was busiest.
    pub utilisation_max: f64,
    /// By how many requests a second the queue grew, if it did; of an open load with what drives
    /// had answered and not yet written.
    pub queue_growth_rps: Option<f64>,
    /// What hides how fast its drives are for ever, flash only if it collected too seldom.
    #[serde(skip)]
    unsteady: Unsteady,
    /// Requests that were simulated; fewer than there are if the run ended because an objective was
    /// surely missed.
    pub requests: u64,
    /// Of these, requests that failed. They miss an objective on a percentile; a mean is of the
    /// others.
    pub failed: u64,
    /// Blocks that drives have read which were not what had been written there.
    #[serde(skip)]
    wrong_blocks: u64,
    /// Whether it ended so.
    pub ended_early: bool,
    /// The same without what drives did in spare time, which gives way to requests.
    #[serde(skip)]
    busiest_without_spare: f64,
    /// When its faults begin, and how much of the run is behind that.
    #[serde(skip)]
    onset: Option<Onset>,
    /// Shares of the drives' time with a request.
    #[serde(skip)]
    shares: Option<Shares>,
    /// What response times consist of.
    #[serde(skip)]
    parts: limit::Parts,
    /// For each objective that is missed, what every batch had of misses, or its mean.
    #[serde(skip)]
    missed: Vec<Option<ByBatch>>,
    /// The same for all objectives.
    #[serde(skip)]
    by_batch: Vec<ByBatch>,
}

impl Tried {
    /// Whether an objective that is missed is missed for requests that failed: those that were
    /// answered were answered in time.
    fn missed_for_failures(&self, objective: &Objective, reading: &Reading) -> bool {
        let in_time = |ms: f64| ms < objective.limit_ms;
        let reached = reading.reached_ms();
        // Where nothing tells what was reached, they are the reason if more of them failed than a
        // percentile allows to be late.
        let rank = objective.statistic.rank();
        let too_many =
            rank.is_none_or(|rank| self.failed as f64 > (1.0 - rank) * self.requests as f64);
        self.failed > 0 && self.queue_growth_rps.is_none() && reached.map_or(too_many, in_time)
    }
}

/// What was measured for an objective; nothing where the run ended early, the queue grew, or more
/// requests failed than lie beyond the percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reading {
    /// Whether the objective fails: by the estimate, or surely where the run ended early for it.
    /// `None` where that is not known, since the run ended early for another objective, or where
    /// the queue grew, so that all objectives fail.
    pub fails: Option<bool>,
    /// The statistic in milliseconds.
    pub ms: Option<f64>,
    /// Lower end of its 95 % interval; `None` also if that would reach below 0, so that a few
    /// requests decide the mean.
    pub low_ms: Option<f64>,
    /// Upper end; `None` also if it lies beyond what was seen.
    pub high_ms: Option<f64>,
    /// The statistic of the requests that were answered before the run ended early; `None` if it
    /// did not, or they are too few.
    pub so_far_ms: Option<f64>,
}

impl Reading {
    /// What was reached, as far as it is known.
    fn reached_ms(&self) -> Option<f64> {
        self.ms.or(self.so_far_ms)
    }
}

/// The choices of a grid for which capacities can be found.
///
/// # Errors
/// A key of the load is varied, a load has not what is to be found or gives it, or the resolution
/// is out of range.
pub fn check(points: &[Point], how: &How) -> Result<(), ConfigError> {
    if !RESOLUTIONS.contains(&how.resolution_percent) {
        let allowed = format!("{} to {} percent", RESOLUTIONS.start(), RESOLUTIONS.end());
        let value = how.resolution_percent.to_string();
        return Err(ConfigError::value("resolution", &value, &allowed));
    }
    for point in points {
        let kinds = point.scenario.parts.kinds();
        if let Some((key, value)) = point
            .settings
            .iter()
            .find(|(key, _)| role(kinds, key) == Role::Load)
        {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.key()).collect();
            let allowed = format!(
                "keys that answer: {}, drive and their knobs; a capacity is that of one load",
                kinds.join(", ")
            );
            return Err(ConfigError::value(&format!("vary {key}"), value, &allowed));
        }
        how.find.check(&point.scenario)?;
    }
    Ok(())
}

/// Finds the capacity of every choice.
///
/// # Errors
/// As [`check`], a run that failed, or requests that are too few to tell. An interruption is none,
/// unless no run was finished before it.
pub fn capacity(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    how: &How,
    control: &Control,
) -> Result<Capacity, RunError> {
    check(points, how)?;
    let pool = run::threads(how.jobs)?;
    let (settled, chosen) = settle(&axis::with_enough(points, how.find)?, trace, how.find)?;
    let mut points = axis::arrays(&settled, how.find)?;
    // With the number of drives the volume changes from try to try: there each is fitted by itself.
    prepare::fit_and_check(&mut points, trace, how.find != Find::Drives)?;
    let mut warnings = run::warned(&points, trace)?;
    check_classes(&points, trace, &how.objectives)?;
    let mut choices = pool.install(|| choices(&points, trace, how, control))?;
    let requests = match choices.first() {
        Some(choice) => prepare::count(&choice.axis.point(&choice.point, 0)?, trace)?.get(),
        None => 0,
    };
    let (mut longer, mut told) = (Longer::default(), Told::default());
    let complete = loop {
        let (next, asked) = next(&choices);
        if next.is_empty() || control.stop.load(Ordering::Relaxed) {
            break next.is_empty();
        }
        let runs = next.iter().map(|(choice, at)| {
            let choice = &choices[*choice];
            choice.axis.point(&choice.point, *at)
        });
        let runs: Vec<Point> = runs.collect::<Result<_, _>>()?;
        let found = run::probe(&runs, trace, (&how.objectives, &pool), control)?;
        for ((choice, at), finished) in next.into_iter().zip(found) {
            if let Some(mut finished) = finished {
                told.add(choice, std::mem::take(&mut finished.lost));
                longer.join(&finished.longer);
                choices[choice].learn((at, asked), finished, &how.objectives)?;
            }
        }
    };
    check_any(&choices, complete)?;
    warnings.extend(told.warnings());
    warnings.extend(longer.warnings());
    let mut capacity = Capacity {
        seed: points.first().map_or(1, |point| point.scenario.seed),
        complete,
        requests,
        warnings,
        varied: grid::varied(&points),
        ..summed_up(choices, how)
    };
    let configs: Vec<_> = capacity.choices.iter().map(|found| &found.config).collect();
    capacity.trace = trace.map(|trace| run::trace_info(trace, &configs));
    if !capacity.complete {
        forget_same(&mut capacity.choices);
    }
    let made_arrays = settled != points;
    (capacity.headline, capacity.details) = words::sentences(&capacity, made_arrays);
    capacity.details.extend(chosen.map(|chosen| chosen.why));
    Ok(capacity)
}

/// Whether a search that was interrupted has found anything.
fn check_any(choices: &[Choice], complete: bool) -> Result<(), RunError> {
    let any = choices.iter().any(|choice| !choice.tried.is_empty());
    match complete || any {
        true => Ok(()),
        false => Err(RunError::Stopped(
            "no run of the search was finished".to_owned(),
        )),
    }
}

/// Names the drive of points that leave it open. Where no disk holds the trace alone and drives are
/// what is looked for, it is the largest: of that one the fewest are needed.
fn settle(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    find: Find,
) -> Result<(Vec<Point>, Option<ChosenDrive>), RunError> {
    match (default_drive::settle(points, trace, None), trace) {
        (Err(RunError::Unfit(_)), Some(trace)) if find == Find::Drives => {
            Ok(default_drive::largest(points, trace))
        }
        (settled, _) => Ok(settled?),
    }
}

/// Whether the load has requests of the kinds that the objectives are about.
fn check_classes(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    objectives: &[Objective],
) -> Result<(), RunError> {
    for objective in objectives {
        let class = objective.class;
        let lacks = match trace {
            Some(trace) => !TraceOp::ALL
                .iter()
                .zip(trace.summary().operations)
                .any(|(op, volume)| volume.requests > 0 && class.has_traced(*op)),
            None => points.iter().any(|point| match &point.scenario.load {
                Load::Workload(part) => makes_none(workload::read_share(part), class),
                Load::Trace(_) => false,
            }),
        };
        if lacks {
            let (load, kind) = (
                if trace.is_some() { "trace" } else { "workload" },
                class.requests(),
            );
            return Err(RunError::Objective(format!(
                "slo '{objective}': the {load} has no {kind} (allowed: objectives about requests that it has)"
            )));
        }
    }
    Ok(())
}

/// Whether a workload with this share of reads makes no request of a class.
fn makes_none(read_share: Option<f64>, class: Class) -> bool {
    read_share.is_some_and(|share| match class {
        Class::All => false,
        Class::Read => share <= 0.0,
        Class::Write => share >= 1.0,
    })
}

fn choices(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    how: &How,
    control: &Control,
) -> Result<Vec<Choice>, RunError> {
    let requests = match (how.find, points.first()) {
        (Find::Depth | Find::Rate | Find::Bsu, Some(point)) => prepare::count(point, trace)?.get(),
        _ => 0,
    };
    let mut axes = Vec::new();
    for point in points {
        let size = (requests, how.resolution_percent / 100.0);
        axes.push(Axis::new(how.find, point, trace, size)?);
    }
    let starts = starts(points, &axes, trace, control)?;
    let choice = |((point, axis), (start, full)): ((&Point, Axis), (usize, Option<f64>))| {
        // Neighbours that are whole numbers are far enough apart; of those that are percents apart
        // some are passed over.
        let step = match how.find {
            Find::Speed | Find::Rate => (20.0 / how.resolution_percent).ceil() as i64,
            Find::Depth | Find::Bsu => 4,
            Find::Drives => 1,
        };
        let last = axis.values.len() as i64 - 1;
        let mut search = Search::new((0, last), start as i64, step);
        if how.find == Find::Drives {
            search.may_turn();
        }
        let mut choice = Choice::new(point, axis, search);
        choice.full = full;
        choice
    };
    let all = points.iter().zip(axes).zip(starts);
    Ok(all.map(choice).collect())
}

/// Where searches begin: open loads at half of what the drives can do about. Beside it the setting
/// at which an open load is all that they can do, if that is known.
fn starts(
    points: &[Point],
    axes: &[Axis],
    trace: Option<&LoadedTrace>,
    control: &Control,
) -> Result<Vec<(usize, Option<f64>)>, RunError> {
    let begin = |axis: &Axis| match axis.find {
        Find::Speed => axis.near(1.0),
        Find::Rate => axis.near(100.0),
        Find::Depth => axis.near(8.0),
        Find::Bsu | Find::Drives => axis.near(2.0),
    };
    let mut first = Vec::new();
    for (point, axis) in points.iter().zip(axes) {
        first.push(axis.point(point, begin(axis))?);
    }
    let demands = overload::demands(&first, trace, control)?;
    let start = |(axis, demand): (&Axis, &Option<overload::Foreseen>)| {
        let begin = begin(axis);
        let Some(foreseen) = demand else {
            return (begin, None);
        };
        let (value, factor) = (axis.values[begin], foreseen.demand.load_factor);
        let [start, full] = match axis.find {
            Find::Speed | Find::Rate | Find::Bsu => [value * BEGIN / factor, value / factor],
            Find::Drives => [value / BEGIN * factor, value * factor],
            Find::Depth => return (begin, None),
        };
        // Faults that begin at an instant of their own are not in that estimate.
        let is_known = foreseen.demand.faults_begin_s.is_none();
        (axis.near(start), is_known.then_some(full))
    };
    Ok(axes.iter().zip(&demands).map(start).collect())
}

/// What is tried next: what narrows the boundaries, and in the end what decides between choices.
fn next(choices: &[Choice]) -> (Vec<(usize, usize)>, Asked) {
    let mut next = Vec::new();
    let mut asked = Asked::BySearch;
    for (index, choice) in choices.iter().enumerate() {
        next.extend(
            choice
                .search
                .next()
                .into_iter()
                .map(|at| (index, at as usize)),
        );
    }
    if next.is_empty()
        && let Some((best, hardest)) = best(choices)
    {
        let at = choices[best].axis.values[hardest];
        asked = Asked::ByComparison;
        for (index, choice) in choices.iter().enumerate() {
            let setting = choice.axis.index(at);
            next.extend(
                setting
                    .filter(|at| !choice.tried.contains_key(at))
                    .map(|at| (index, at)),
            );
        }
    }
    (next, asked)
}

/// The choice that takes most, and the hardest setting that it holds; of several, the one that
/// holds the hardest surely.
fn best(choices: &[Choice]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for (index, choice) in choices.iter().enumerate() {
        let Some(at) = choice.holds() else { continue };
        if best.is_none_or(|(other, _)| choice.reach() > choices[other].reach()) {
            best = Some((index, at));
        }
    }
    best
}

/// After an interruption two choices that hold as far have only been tried as far.
fn forget_same(choices: &mut [Reached]) {
    for found in choices {
        let against = found.against_best.take();
        found.against_best = against.filter(|against| against.word != Word::Same);
    }
}

/// What the runs say, without what is the same for all of them.
fn summed_up(choices: Vec<Choice>, how: &How) -> Capacity {
    let best = best(&choices);
    let tried = || choices.iter().flat_map(|choice| choice.tried.values());
    let (runs, simulated_requests) = (tried().count(), tried().map(|tried| tried.requests).sum());
    let others: Vec<Option<Against>> = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| {
            let compared = |(best, _): &(usize, usize)| *best != index && !choice.tried.is_empty();
            let (best, hardest) = best.filter(compared)?;
            Some(choice.against(&choices[best], hardest))
        })
        .collect();
    let found = choices.into_iter().zip(others);
    Capacity {
        schema: SCHEMA,
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        seed: 0,
        trace: None,
        objectives: how.objectives.clone(),
        find: how.find,
        resolution_percent: how.resolution_percent,
        headline: String::new(),
        details: Vec::new(),
        best: best.map(|(best, _)| best),
        choices: found
            .map(|(choice, against)| choice.found(against, &how.objectives))
            .collect(),
        complete: false,
        runs,
        simulated_requests,
        requests: 0,
        warnings: Vec::new(),
        varied: Vec::new(),
    }
}
