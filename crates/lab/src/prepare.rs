//! A load made ready to run over a stack: how many requests it has, which of them are measured, and
//! what makes them.

use std::collections::BTreeSet;

use nearslot_core::config::{Assembly, PartConfig, Parts, StackConfig};
use nearslot_core::contract::{Destage, Placement};
use nearslot_core::registry::{ConfigError, Kind, Memo, Need, Of, written};
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Duration, Instant};
use nearslot_trace::{TimeKind, TraceOp};
use serde_json::json;

use crate::error::RunError;
use crate::grid::Point;
use crate::load::{LoadedTrace, RequestCount};
use crate::measure::Window;
use crate::measure::by_volume::ByVolume;
use crate::memo::SHARED;
use crate::outcome::VolumePlace;
use crate::scenario::{ComeBefore, Load, Replay, Scenario, TraceLoad, Warmup};
use crate::workload::closed::Closed;
use crate::workload::dependent::Dependent;
use crate::workload::fit::{Holder, Mode};
use crate::workload::intake::Intake;
use crate::workload::layout::{self, Layout, Volumes};
use crate::workload::open::Open;
use crate::workload::{self, Below, LONGEST, LoadEnv, Workload};

/// A load ready to run.
pub(crate) struct Prepared {
    pub(crate) workload: Box<dyn Workload>,
    pub(crate) count: RequestCount,
    /// Where the volumes of a trace with several lie.
    pub(crate) volumes: Vec<VolumePlace>,
    pub(crate) by_volume: Option<ByVolume>,
    /// Its configuration with every default spelled out.
    pub(crate) effective: serde_json::Value,
    /// How requests come, in one word.
    pub(crate) replay: String,
    /// What is measured of it.
    pub(crate) window: Window,
    /// How many are in flight in a closed loop.
    pub(crate) depth: Option<u64>,
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
    check_asked(trace, &stack.parts)?;
    if let Some((name, cache)) = stack.in_memory()?
        && cache.size.is_share()
    {
        let footprint = trace.footprint(cache.line_bytes())?;
        stack.set_cache_lines(cache.lines(&name, Some(footprint))?);
    }
    trace.check_volumes(scenario.volumes())?;
    if scenario.volumes() == Some(Volumes::OwnDrives) {
        let count = trace.volumes();
        *stack.parts.of_mut::<dyn Placement>() = layout::own_drives(count);
        stack.volumes = count as u64;
    }
    Ok(stack)
}

/// The stack of a run, built.
///
/// # Errors
/// The first mistake found. A size is told as it was asked for: a share, whatever that comes to.
pub(crate) fn built(
    scenario: &Scenario,
    trace: Option<&LoadedTrace>,
) -> Result<Assembly, RunError> {
    built_with(scenario, trace, &SHARED)
}

/// The same, with what this memo has.
///
/// # Errors
/// As [`built`], or that nobody wants it any more.
pub(crate) fn built_with(
    scenario: &Scenario,
    trace: Option<&LoadedTrace>,
    memo: &dyn Memo,
) -> Result<Assembly, RunError> {
    let stack = stack_of(scenario, trace)?;
    let built = stack.build_with(memo);
    Ok(built.map_err(|error| as_asked(error, scenario, &stack))?)
}

/// A mistake about the size of a cache, with that as the scenario has it.
fn as_asked(error: ConfigError, scenario: &Scenario, stack: &StackConfig) -> ConfigError {
    let (asked, lines) = (scenario.parts.cache_size(), stack.parts.cache_size());
    let is_about = lines.is_some() && error.value == lines && error.key.ends_with(".size");
    match (asked, lines) {
        (Some(asked), Some(lines)) if is_about && asked != lines => {
            let allowed = format!("{}; {asked} is {lines} here", error.allowed);
            ConfigError::value(&error.key, &asked, &allowed)
        }
        _ => error,
    }
}

/// Finds mistakes in what is in front of drives, which depend on what the trace asks for, before
/// anything runs.
///
/// # Errors
/// The first one.
pub(crate) fn check(points: &[Point], trace: Option<&LoadedTrace>) -> Result<(), RunError> {
    for scenario in different_stacks(points) {
        let stack = scenario.stack()?;
        if stack.in_memory()?.is_some() || stack.in_buffer()?.is_some() {
            built(scenario, trace)?;
        }
    }
    Ok(())
}

/// As [`check`], behind [`fit_alike`] where that is asked.
///
/// # Errors
/// As these.
pub(crate) fn fit_and_check(
    points: &mut [Point],
    trace: Option<&LoadedTrace>,
    alike: bool,
) -> Result<(), RunError> {
    if alike {
        fit_alike(points, trace)?;
    }
    check(points, trace)
}

/// Fits a trace that is too long for some of the volumes that are compared to the smallest of them:
/// else each would serve other requests. With a drive for each of its volumes it stays as it is, as
/// these begin where drives do.
///
/// # Errors
/// A stack that cannot be built.
fn fit_alike(points: &mut [Point], trace: Option<&LoadedTrace>) -> Result<(), RunError> {
    let fitted = |scenario: &Scenario| match &scenario.load {
        Load::Trace(load) => load.fit != Mode::None && load.volumes != Some(Volumes::OwnDrives),
        Load::Workload(_) => false,
    };
    let stacks = different_stacks(points).filter(|scenario| fitted(scenario));
    let stacks: Vec<&Scenario> = stacks.collect();
    if stacks.len() < 2 {
        return Ok(());
    }
    let mut smallest = None::<Blocks>;
    for scenario in stacks {
        let room = built(scenario, trace)?.stack.capacity();
        smallest = Some(smallest.map_or(room, |smallest| smallest.min(room)));
    }
    for point in points.iter_mut().filter(|point| fitted(&point.scenario)) {
        if let Load::Trace(load) = &mut point.scenario.load {
            load.room = smallest;
        }
    }
    Ok(())
}

/// The first scenario with each stack: runs of it differ in their loads, in which no mistake about
/// it lies, and to build a stack may take longer than to run it.
fn different_stacks(points: &[Point]) -> impl Iterator<Item = &Scenario> {
    let mut known = BTreeSet::new();
    let scenarios = points.iter().map(|point| &point.scenario);
    scenarios.filter(move |scenario| {
        let (drive, parts) = (&scenario.drive, &scenario.parts);
        known.insert(format!("{drive:?} {parts:?} {:?}", scenario.volumes()))
    })
}

/// What parts and settings need that the trace may not have: a cache of what is read has an effect
/// only where something is.
fn check_asked(trace: &LoadedTrace, parts: &Parts) -> Result<(), ConfigError> {
    for (need, op) in [(Need::Reads, TraceOp::Read), (Need::Writes, TraceOp::Write)] {
        let mut idle = parts.needing(need).into_iter();
        if let (0, Some((_, error))) = (trace.summary().of(op).requests, idle.next()) {
            return Err(error);
        }
    }
    let mut classed = parts.needing(Need::Classes).into_iter();
    match classed.next() {
        Some((_, error)) if trace.summary().classed == 0 => Err(error),
        _ => Ok(()),
    }
}

/// How many requests a point has.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn count(point: &Point, trace: Option<&LoadedTrace>) -> Result<RequestCount, RunError> {
    let Assembly { stack, .. } = built(&point.scenario, trace)?;
    Ok(prepare(&point.scenario, trace, (&stack, &SHARED))?.count)
}

/// Makes the load of a scenario.
///
/// # Errors
/// The trace cannot be read or does not fit, the workload is wrong, or nobody wants it any more.
pub(crate) fn prepare(
    scenario: &Scenario,
    trace: Option<&LoadedTrace>,
    (stack, memo): (&Stack, &dyn Memo),
) -> Result<Prepared, RunError> {
    match (&scenario.load, trace) {
        (Load::Trace(load), Some(trace)) => prepare_trace(scenario, load, trace, stack),
        (Load::Workload(part), None) => prepare_synthetic(scenario, part, (stack, memo)),
        _ => panic!("a trace is loaded exactly if the scenario names one"),
    }
}

fn prepare_trace(
    scenario: &Scenario,
    load: &TraceLoad,
    trace: &LoadedTrace,
    stack: &Stack,
) -> Result<Prepared, RunError> {
    check_told(scenario, stack, trace.summary().freedom_told)?;
    check_times(trace, load).map_err(RunError::Unfit)?;
    check_length(trace, load)?;
    let (layout, room) = laid_out(scenario, load, trace, stack)?;
    let count = trace.count(&layout)?;
    let (fit, volumes) = (layout.fit(), layout.volumes().to_vec());
    let depth = matches!(load.replay, Replay::Closed).then(|| load.depth());
    let come_before = |time: Instant| {
        let again = trace.intake(layout.clone()).map_err(|error| {
            let allowed = format!("a trace that can be read again: {error}");
            ConfigError::value("warmup", &String::from(scenario.warmup), &allowed)
        })?;
        Ok(come_before(&mut Open::new(again, load.speed()), time))
    };
    let is_open = matches!(load.replay, Replay::Open);
    let come_before: Option<ComeBefore<'_>> = is_open.then_some(&come_before);
    let window = window(scenario, count, (depth, come_before))?;
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
            check_guess(load, trace)?;
            let guess = Duration::from_ms_f64(load.service_guess_us() / 1e3);
            Box::new(Dependent::new(noting(intake), load.speed(), Some(guess)))
        }
    };
    Ok(Prepared {
        workload,
        count,
        volumes,
        by_volume,
        effective: effective((load, trace), fit, room),
        replay: load.replay.word().to_owned(),
        window,
        depth,
    })
}

/// Where a trace goes on a stack; and how many blocks it is fitted to, if that is less than there
/// are.
fn laid_out(
    scenario: &Scenario,
    load: &TraceLoad,
    trace: &LoadedTrace,
    stack: &Stack,
) -> Result<(Layout, Option<Blocks>), RunError> {
    let own = stack.capacity();
    let room = load.room.map_or(own, |room| room.min(own));
    let (name, what) = (scenario.holder()?, (trace.header(), trace.summary()));
    let on = |holder: Holder<'_>| Layout::new(load.volumes, load.fit, what, holder);
    let layout = match on((room, name.as_str()).into()) {
        Ok(layout) => layout,
        // What is told then is drives that are large enough under this placement.
        Err(_) => {
            let drive = scenario.stack()?.drive()?.0.capacity();
            on(Holder::over((room, &name), drive)).map_err(RunError::Unfit)?
        }
    };
    Ok((layout, Some(room).filter(|room| *room < own)))
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

/// Which requests are measured, given what [`Warmup::requests`](crate::scenario::Warmup::requests)
/// has to know.
fn window(
    scenario: &Scenario,
    count: RequestCount,
    (depth, come_before): (Option<u64>, Option<ComeBefore<'_>>),
) -> Result<Window, ConfigError> {
    let requests = count.get();
    if !count.is_known() && matches!(scenario.warmup, Warmup::Percent(_)) {
        let allowed =
            "auto (0 here) or a number of requests: how many there will be hangs on the answers";
        let share = String::from(scenario.warmup);
        return Err(ConfigError::value("warmup", &share, allowed));
    }
    if !count.is_known() && scenario.warmup == Warmup::Auto {
        return Ok(Window {
            requests,
            warmup: 0,
        });
    }
    Ok(Window {
        requests,
        warmup: scenario.warmup.requests(requests, depth, come_before)?,
    })
}

/// How many requests of a load come before an instant, if none of them waits for an answer.
fn come_before(load: &mut dyn Workload, time: Instant) -> u64 {
    let mut count = 0;
    while let Some(next) = load.next_arrival().filter(|next| *next < time) {
        count += u64::from(load.poll(next).is_some());
    }
    count
}

/// Whether response times have to be guessed, as the trace does not tell all.
fn guesses(trace: &LoadedTrace) -> bool {
    let known = trace.summary();
    known.responses_known < known.requests
}

/// Whether something is to be guessed, if it was said what.
fn check_guess(load: &TraceLoad, trace: &LoadedTrace) -> Result<(), ConfigError> {
    match load.service_guess_us {
        Some(guess) if !guesses(trace) => {
            let allowed = "for a trace that does not tell all response times; this one does";
            Err(ConfigError::value(
                "service_guess_us",
                &guess.to_string(),
                allowed,
            ))
        }
        _ => Ok(()),
    }
}

/// How a trace is replayed, every default spelled out; `fit` is what was done to addresses, within
/// so many blocks if that is less than the volume.
fn effective(
    (load, trace): (&TraceLoad, &LoadedTrace),
    fit: &str,
    room: Option<Blocks>,
) -> serde_json::Value {
    let mut effective = json!({ "replay": load.replay, "fit": fit });
    if let Some(room) = room.filter(|_| fit != "none") {
        effective["fit_bytes"] = json!(room.bytes());
    }
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
            if guesses(trace) {
                effective["service_guess_us"] = json!(load.service_guess_us());
            }
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

/// Whether writes say how far they may move where only such move, and whether they say it to the
/// placement.
fn check_told(scenario: &Scenario, stack: &Stack, told: u64) -> Result<(), ConfigError> {
    if !stack.moves_told() {
        return Ok(());
    }
    let buffer = scenario.parts.of::<dyn Destage>();
    if buffer.name != "none" {
        let allowed = "none, where only those writes move that say how far (within=told): what a write buffer writes says nothing";
        return Err(ConfigError::value(
            <dyn Destage>::CARD.key,
            &buffer.to_string(),
            allowed,
        ));
    }
    if told > 0 {
        return Ok(());
    }
    let allowed = "track, group or disk: no write of this load says how far it may move, as the column `may_move` of a trace does";
    Err(ConfigError::value("within", "told", allowed))
}

/// Whether a stack carries out range writes.
fn check_offers(scenario: &Scenario, stack: &Stack) -> Result<(), ConfigError> {
    let Err(refused) = stack.carries_out_offers() else {
        return Ok(());
    };
    let Load::Workload(part) = &scenario.load else {
        panic!("traces make no range writes");
    };
    let allowed = format!("a load without range writes here: {refused}");
    Err(ConfigError::value("workload", &part.name, &allowed))
}

/// Whether a load with range writes makes no others that the zones of a drive would refuse.
fn check_zones(part: &PartConfig, below: Option<&Below<'_>>) -> Result<(), ConfigError> {
    let zoned = below.is_some_and(|below| below.blueprint.zones().is_some());
    if !zoned || !workload::offers_and_writes_in_place(part) {
        return Ok(());
    }
    let allowed = "a load whose range writes go along with no writes in place: the drive has zones (zone_blocks), which are written from their \
                   begin to their end";
    Err(ConfigError::value("workload", &part.name, allowed))
}

fn prepare_synthetic(
    scenario: &Scenario,
    part: &PartConfig,
    (stack, memo): (&Stack, &dyn Memo),
) -> Result<Prepared, RunError> {
    check_told(scenario, stack, 0)?;
    if scenario.makes_range_writes() {
        check_offers(scenario, stack)?;
    }
    let drive = match workload::asks_drive(part) {
        true => Some(scenario.stack()?.drive()?),
        false => None,
    };
    let place = scenario.parts.of::<dyn Placement>();
    let place = place.spelled_out(Of::<dyn Placement>::KIND)?.name;
    let below = drive.as_ref().map(|(blueprint, identity)| Below {
        blueprint: &**blueprint,
        identity,
        place: &place,
        memo,
    });
    check_zones(part, below.as_ref())?;
    let env = LoadEnv {
        seed: scenario.seed,
        label: "workload/0",
        capacity: stack.capacity(),
        places_max: stack.places_max(),
        drive: below,
    };
    let (synthetic, effective) = workload::synthetic(part, &env)?;
    let count = synthetic.requests;
    let count = count.map_or(RequestCount::UNKNOWN, RequestCount::new);
    let come_before = |time: Instant| {
        let (mut again, _) = workload::synthetic(part, &env)?;
        Ok(come_before(&mut *again.workload, time))
    };
    let come_before: Option<ComeBefore<'_>> = scenario.is_open().then_some(&come_before);
    Ok(Prepared {
        window: window(scenario, count, (synthetic.depth, come_before))?,
        workload: synthetic.workload,
        count,
        volumes: Vec::new(),
        by_volume: None,
        replay: effective.name.clone(),
        effective: json!(effective),
        depth: synthetic.depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Vary, points};

    #[test]
    fn each_stack_is_checked_once_whatever_asks() {
        let base = Scenario::over(Load::Workload("iometer:requests=40".parse().unwrap()));
        let count = |words: &[&str]| {
            let vary = words.iter().map(|word| word.parse::<Vary>().unwrap());
            let points = points(&base, &vary.collect::<Vec<_>>()).unwrap();
            (points.len(), different_stacks(&points).count())
        };
        assert_eq!(count(&["seed=1,2,3", "depth=1,8"]), (6, 1));
        let caches = "cache=lru:size=1MiB,lru:size=2MiB,arc:size=1MiB";
        assert_eq!(count(&["depth=1,8", caches]), (6, 3));
        assert_eq!(
            count(&[caches, "drive=null,hp-c2247a", "seed=1,2"]),
            (12, 6)
        );
        assert_eq!(
            count(&["place=linear,mirror", "buffer=lrw:size=1MiB,none"]),
            (4, 4)
        );
    }
}
