//! Whether an open load asks for more than the drives can do, said before anything long is
//! simulated.
//!
//! Requests of an open load come whatever the drives do. If more come than are served, the queue
//! grows as long as the load lasts, and response times tell its length and nothing else. Those in a
//! queue are reads and writes: a flush or discard passes schedulers by. So what is offered of these
//! (over the whole load, and over its busiest tenth) is held against what [`ability`] finds. A pass
//! over the load costs some tens of nanoseconds a request; of a synthetic load the first
//! [`SYNTHETIC_MAX`] requests stand for all.
//!
//! A long load that offers clearly too much is refused unless `overload = run`: its result would be
//! no answer, and take long. A short one is run with a warning, for it takes a second, and grids
//! over rates or speeds are meant to find the edge. Of a load that is not too much on the whole it
//! is told where [`burst`] finds that a part of it is.

mod arrivals;
mod burst;

pub(crate) use burst::rounded;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nearslot_core::config::Assembly;
use nearslot_core::contract::{Cache, Destage, Placement};
use nearslot_core::op::Op;
use nearslot_core::registry::Kind;
use nearslot_core::request::Request;
use nearslot_core::units::Instant;
use rayon::prelude::*;

use self::arrivals::Arrivals;
use crate::ability::{self, Ability, ability, is_sampled};
use crate::error::RunError;
use crate::grid::Point;
use crate::load::LoadedTrace;
use crate::measure::{WAITING_PART, busy};
use crate::memo::SHARED;
use crate::number::{number, percent, times};
use crate::outcome::{Burst, Demand, Run};
use crate::prepare::{self, Prepared};
use crate::scenario::Load;
use crate::sim::Control;
use crate::warning::{Warning, WarningKind};
use crate::workload::{self, Workload};

/// From this ratio of what is offered to what can be done, no error of the estimate explains it.
pub const CLEAR: f64 = 2.0;
/// Loads of so many requests are long.
pub const LONG: u64 = 100_000;
/// Requests of a synthetic load that stand for all.
const SYNTHETIC_MAX: u64 = 200_000;
words! {
    /// What is done about a long load that offers clearly more than can be done.
    #[derive(Default)]
    Overload {
        /// It is refused before it is simulated.
        #[default]
        Stop = "stop",
        /// It is simulated nevertheless.
        Run = "run",
    }
}

/// What an open load asks for.
#[derive(Default)]
struct Offered {
    rps: f64,
    mb_s: f64,
    busiest_rps: f64,
    busiest_mb_s: f64,
    requests: u64,
    /// How many of them are cut off as warm-up.
    warmup: u64,
    arrivals: Arrivals,
    sample: Vec<Request>,
}

impl Offered {
    fn against(self: &Arc<Self>, ability: Ability, faults_begin: Option<Instant>) -> Foreseen {
        Foreseen {
            offered: self.clone(),
            demand: Demand {
                offered_rps: self.rps,
                offered_mb_s: self.mb_s,
                busiest_rps: self.busiest_rps,
                busiest_mb_s: self.busiest_mb_s,
                ability_rps: ability.rps,
                ability_mb_s: ability.mb_s,
                load_factor: self.rps / ability.rps,
                faults_begin_s: faults_begin.map(|from| from.0 as f64 / 1e9),
                credits: ability.credits,
            },
            burst: None,
        }
    }
}

/// What is known of a run before it begins.
pub(crate) struct Foreseen {
    /// What its load asks for, and what can be done.
    pub(crate) demand: Demand,
    /// A part of its load that is too much, where the whole is not.
    pub(crate) burst: Option<Burst>,
    /// What its load was found to ask for; runs under one load share it.
    offered: Arc<Offered>,
}

/// What each point asks for and what it can have; `None` for loads that wait for answers, and for
/// those too short to tell.
///
/// # Errors
/// A load or a stack cannot be made.
pub(crate) fn demands(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    control: &Control,
) -> Result<Vec<Option<Foreseen>>, RunError> {
    let mut loads: BTreeMap<String, &Point> = BTreeMap::new();
    for point in points.iter().filter(|point| point.scenario.is_open()) {
        loads.entry(identity(point)).or_insert(point);
    }
    let looked_over = loads
        .into_par_iter()
        .map(|(load, point)| Ok((load, offered(point, trace)?.map(Arc::new))));
    let looked_over: BTreeMap<String, Option<Arc<Offered>>> =
        looked_over.collect::<Result<_, RunError>>()?;
    let demand = |point: &Point| {
        let Some(Some(offered)) = looked_over.get(&identity(point)) else {
            return Ok(None);
        };
        if control.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let stack = prepare::stack_of(&point.scenario, trace)?;
        let ability = ability(&stack, &offered.sample, control)?;
        let Assembly {
            drives,
            blueprint,
            given,
            ..
        } = stack.build_with(&SHARED)?;
        let faults = given.faults(drives.len() as u16, &*blueprint)?;
        let begin = faults.begins().map(|[first, _]| first);
        Ok(ability.map(|ability| offered.against(ability, begin)))
    };
    points.par_iter().map(demand).collect()
}

/// What makes the arrivals of a point: its load, and the drives that it is fitted to.
fn identity(point: &Point) -> String {
    let scenario = &point.scenario;
    format!(
        "{:?} {} {:?} {:?}",
        scenario.load,
        scenario.seed,
        scenario.drive,
        scenario.parts.of::<dyn Placement>()
    )
}

/// Looks over all arrivals of an open load; `None` if they are too few to tell.
fn offered(point: &Point, trace: Option<&LoadedTrace>) -> Result<Option<Offered>, RunError> {
    let looked = |prepared: &mut Prepared, count| {
        let (requests, warmup) = (prepared.count.get(), prepared.window.warmup);
        let offered = look_over(&mut *prepared.workload, count)?;
        Some(Offered {
            requests,
            warmup,
            ..offered
        })
    };
    pass(point, trace, looked)
}

/// Samples of the requests with these numbers, by another pass over the load.
fn samples(
    point: &Point,
    trace: Option<&LoadedTrace>,
    numbers: &[Range<u64>],
) -> Result<Vec<Vec<Request>>, RunError> {
    pass(point, trace, |prepared, _| {
        let mut samples = vec![Vec::new(); numbers.len()];
        let end = numbers.iter().map(|numbers| numbers.end).max();
        for number in 0..end.unwrap_or(0) {
            let Some(request) = next(&mut *prepared.workload) else {
                break;
            };
            for (sample, numbers) in samples.iter_mut().zip(numbers) {
                let length = numbers.end - numbers.start;
                if numbers.contains(&number) && is_sampled(number - numbers.start, length) {
                    sample.push(request);
                }
            }
        }
        samples
    })
}

/// What a pass over the requests of an open load finds, so many of them.
fn pass<T>(
    point: &Point,
    trace: Option<&LoadedTrace>,
    look: impl FnOnce(&mut Prepared, u64) -> T,
) -> Result<T, RunError> {
    let scenario = &point.scenario;
    let Assembly { stack, .. } = prepare::built(scenario, trace)?;
    let mut prepared = prepare::prepare(scenario, trace, (&stack, &SHARED))?;
    let count = match scenario.load {
        Load::Trace(_) => prepared.count.get(),
        Load::Workload(_) => prepared.count.get().min(SYNTHETIC_MAX),
    };
    let found = look(&mut prepared, count);
    match prepared.workload.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(found),
    }
}

/// The next request of an open load, when it comes.
fn next(workload: &mut dyn Workload) -> Option<Request> {
    let due = workload.next_arrival()?;
    workload.poll(due)
}

fn look_over(workload: &mut dyn Workload, count: u64) -> Option<Offered> {
    let (mut arrivals, mut sample) = (Arrivals::default(), Vec::new());
    for number in 0..count {
        let request = next(workload)?;
        let moves = matches!(request.op, Op::Read | Op::Write);
        let bytes = moves.then(|| request.extent.len.bytes());
        arrivals.record(request.arrived.0, bytes);
        if is_sampled(number, count) {
            sample.push(request);
        }
    }
    let seconds = (arrivals.last.checked_sub(arrivals.first?)?) as f64 / 1e9;
    let (_, requests, bytes) = arrivals.total();
    let (busy_requests, busy_bytes, busy_seconds) = arrivals.busiest_tenth();
    let enough = is_enough(count) && seconds > 0.0 && requests > 0;
    enough.then(|| Offered {
        rps: requests as f64 / seconds,
        mb_s: bytes as f64 / 1e6 / seconds,
        busiest_rps: busy_requests as f64 / busy_seconds,
        busiest_mb_s: busy_bytes as f64 / 1e6 / busy_seconds,
        requests: count,
        warmup: 0,
        arrivals,
        sample,
    })
}

/// What must be known before the runs begin; told at once, and given for the results.
///
/// # Errors
/// A long load offers clearly too much, and nobody said that it is to be run.
pub(crate) fn say(
    (points, trace): (&[Point], Option<&LoadedTrace>),
    foreseen: &mut [Option<Foreseen>],
    (overload, tell): (Overload, Option<fn(&str)>),
    control: &Control,
) -> Result<Vec<Warning>, RunError> {
    if overload == Overload::Stop {
        refuse(points, foreseen)?;
    }
    let of = |(point, foreseen): (&Point, &mut Option<Foreseen>)| match foreseen {
        Some(foreseen) => {
            let warnings = warnings(point, trace, foreseen, control)?;
            let reserved = warnings.into_iter().map(|one| reserved(one, foreseen));
            Ok(reserved.collect())
        }
        None => Ok(Vec::new()),
    };
    let runs = points.par_iter().zip(foreseen.par_iter_mut());
    let warnings: Vec<Vec<Warning>> = runs.map(of).collect::<Result<_, RunError>>()?;
    let warnings = warnings.concat();
    if let Some(tell) = tell {
        warnings
            .iter()
            .for_each(|warning| tell(&warning.to_string()));
    }
    Ok(warnings)
}

/// What is to be said of a run before it begins: that its load is too much, or else that a part of
/// it is, which is noted for the headline.
fn warnings(
    point: &Point,
    trace: Option<&LoadedTrace>,
    foreseen: &mut Foreseen,
    control: &Control,
) -> Result<Vec<Warning>, RunError> {
    let demand = foreseen.demand;
    let whole = on_the_whole(point, &demand);
    if demand.load_factor > SURELY_TOO_MUCH || control.stop.load(Ordering::Relaxed) {
        return Ok(Vec::from_iter(whole));
    }
    let burst = burst::warning(point, trace, foreseen, control)?;
    let (burst, told) = burst.unzip();
    foreseen.burst = burst;
    let part = told.or_else(|| in_the_busiest_tenth(point, &demand).filter(|_| whole.is_none()));
    Ok(whole.into_iter().chain(part).collect())
}

/// The same warning, with what its estimate leaves out.
fn reserved(mut warning: Warning, foreseen: &Foreseen) -> Warning {
    warning.text += &foreseen.demand.reservation();
    warning
}

/// A drive that takes one command at a time and is busier than this under given arrivals cannot
/// keep up. Others may do far more all the same: that is what [`is_near`] is for.
pub(crate) const SATURATED: f64 = 0.98;

/// The estimate of what drives can do may be off by so much (`ability.rs`): up to here a queue may
/// grow, beyond it does.
pub(crate) const SURELY_TOO_MUCH: f64 = 1.1;

/// Whether a load is so close to what drives can do, by an estimate that may be off, that they may
/// not keep up.
pub(crate) fn is_near(demand: &Demand) -> bool {
    demand.load_factor > 1.0 / SURELY_TOO_MUCH
}

/// Whether the drives of a run with this configuration take one command at a time, so that they
/// have no time left when they are busy. Volumes and tables of measured times have no queue, and
/// serve several at a time all the same.
pub(crate) fn takes_one(config: &serde_json::Value) -> bool {
    config["drive"]["queue_depth"].as_u64() == Some(1)
}

/// Whether the drives of a run had no time left for more requests, which came whatever these did.
/// What is answered from memory is answered the faster the more there is of it, so what drives can
/// do below a cache or a write buffer is not estimated: there it goes by drives that take one
/// command at a time alone. As long as a write buffer has room, more writes mean that more of them
/// go to the drives together: so there requests have to wait, too.
pub(crate) fn at_limit(run: &Run, is_open: bool) -> bool {
    let [busy, _] = busy::for_requests(run);
    if busy <= SATURATED || !is_open || !is_enough(run.requests) {
        return false;
    }
    let takes_one = takes_one(&run.config);
    match run.demand {
        Some(demand) => takes_one || is_near(&demand),
        None => takes_one && is_below_memory(run),
    }
}

/// Requests for each drive, on average, that a write buffer does not leave there which keeps its
/// drives busy while it has room.
const WAITING_MIN: f64 = 4.0;

/// Whether reads are answered from a cache, or writes from a buffer that was full, or did not let
/// reads through.
fn is_below_memory(run: &Run) -> bool {
    let count = |key: &str, name: &str| run.measure(key, name).map(|count| count.value());
    let buffer = <dyn Destage as Kind>::CARD.key;
    let written = count(buffer, "written_pages");
    let drives = run.config["drives"].as_f64().unwrap_or(1.0);
    match count(buffer, "waited_writes") {
        Some(waited) if written > Some(0.0) => {
            waited > 0.0 || run.queue_mean > WAITING_MIN * drives
        }
        Some(_) => true,
        None => count(<dyn Cache as Kind>::CARD.key, "read_hits").is_some(),
    }
}

/// Whether so many requests tell what a load asks for.
fn is_enough(requests: u64) -> bool {
    requests >= 4 * ability::STRETCHES
}

/// Whether a run has shown that an estimate of what its drives can do was too low: they had time
/// left, and no queue grew. A load that is over before much of it is answered shows nothing.
pub(crate) fn is_refuted(run: &Run) -> bool {
    let [busy, _] = busy::for_requests(run);
    let too_much = |demand: Demand| demand.load_factor > SURELY_TOO_MUCH;
    let kept_up = run.pending == 0 && run.queue_growth_rps.is_none() && busy <= SATURATED;
    let is_short = run.queue_mean * WAITING_PART as f64 > run.requests as f64;
    kept_up && !is_short && run.demand.is_some_and(too_much)
}

/// Tells of runs that are over what they have shown, instead of what was expected of them.
pub(crate) fn correct<'a>(warnings: &mut [Warning], runs: impl Iterator<Item = &'a Run>) {
    let refuted: BTreeMap<&str, &Run> = runs
        .filter(|run| is_refuted(run))
        .map(|run| (&*run.label, run))
        .collect();
    let of_load = warnings.iter_mut();
    for warning in of_load.filter(|warning| warning.kind == WarningKind::Overload) {
        let run = warning.run.as_deref().and_then(|label| refuted.get(label));
        if let Some((run, demand)) = run.and_then(|run| Some((run, run.demand?))) {
            warning.text = format!(
                "the load offers {} reads and writes/s ({} MB/s), {} what was estimated from a sample of it, about {}; but the drives were busy {} of the \
                 time, and the queue did not grow: they can do more with this load than the estimate says",
                number(demand.offered_rps),
                number(demand.offered_mb_s),
                times(demand.load_factor),
                number(demand.ability_rps),
                percent(busy::for_requests(run)[0], 0)
            );
        }
    }
}

/// How to ask what the drives can do, instead of how long a load is that they cannot.
fn instead(point: &Point) -> &'static str {
    match point.scenario.load {
        Load::Trace(_) => "--replay closed asks what the drives can do",
        Load::Workload(_) => "--workload iometer asks what the drives can do",
    }
}

fn on_the_whole(point: &Point, demand: &Demand) -> Option<Warning> {
    if demand.load_factor <= 1.0 {
        return None;
    }
    let text = match demand.load_factor <= SURELY_TOO_MUCH {
        true => format!(
            "the load offers {} reads and writes/s ({} MB/s), about as much as the drives can do, {} by an estimate that may be off by a \
             tenth: the queue may grow",
            number(demand.offered_rps),
            number(demand.offered_mb_s),
            number(demand.ability_rps),
        ),
        false => format!(
            "{}; response times tell how long the load is, {}",
            too_much(demand),
            instead(point)
        ),
    };
    Some(Warning::new(WarningKind::Overload, text).of_run(&point.label))
}

fn in_the_busiest_tenth(point: &Point, demand: &Demand) -> Option<Warning> {
    let busiest = demand.busiest_rps / demand.ability_rps;
    (busiest > 1.0).then(|| {
        let grows = match busiest > SURELY_TOO_MUCH {
            true => "grows",
            false => "may grow",
        };
        let text = format!(
            "in its busiest tenth the load offers {} reads and writes/s, and the drives can do about {}: the queue {grows} as long as that \
             lasts",
            number(demand.busiest_rps),
            number(demand.ability_rps),
        );
        Warning::new(WarningKind::BusiestTenth, text).of_run(&point.label)
    })
}

fn too_much(demand: &Demand) -> String {
    format!(
        "the load offers {} reads and writes/s ({} MB/s), {} what the drives can do, about {}; the queue grows by about {} requests a \
         second",
        number(demand.offered_rps),
        number(demand.offered_mb_s),
        times(demand.load_factor),
        number(demand.ability_rps),
        number(demand.offered_rps - demand.ability_rps),
    )
}

/// By what a load asks for more or less, with an article.
fn pace(load: &Load) -> &'static str {
    match load {
        Load::Trace(_) => "A speed of",
        Load::Workload(part) if workload::has_knob(part, "bsu") => "A bsu of",
        Load::Workload(_) => "A rate of",
    }
}

fn refuse(points: &[Point], foreseen: &[Option<Foreseen>]) -> Result<(), RunError> {
    let over = points.iter().zip(foreseen).filter_map(|(point, foreseen)| {
        let foreseen = foreseen.as_ref()?;
        let refused = foreseen.demand.load_factor >= CLEAR && foreseen.offered.requests >= LONG;
        refused.then_some((point, foreseen))
    });
    let over: Vec<(&Point, &Foreseen)> = over.collect();
    let Some((point, foreseen)) = over.first() else {
        return Ok(());
    };
    let Foreseen {
        demand, offered, ..
    } = foreseen;
    let requests = offered.requests;
    let others = match points.len() {
        1 => String::new(),
        all => format!(" ({} of {all} runs are such)", over.len()),
    };
    Err(RunError::Overload(format!(
        "{}: {}. Nothing was simulated: simulating its {requests} requests would take long and show only this growth{others}. \
         {} {} of this one would be bearable; {}; --overload run simulates it nevertheless{}",
        point.label,
        too_much(demand),
        pace(&point.scenario.load),
        number(0.9 / demand.load_factor),
        instead(point),
        foreseen.demand.reservation(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Number;
    use crate::scenario::{Scenario, TraceLoad};

    #[test]
    fn what_the_estimate_cannot_tell_is_not_said_as_a_fact() {
        let base = Scenario::over(Load::Workload("poisson".parse().unwrap()));
        let points = crate::grid::points(&base, &[]).unwrap();
        let of = |load_factor: f64, busiest_rps: f64| {
            let demand = Demand {
                offered_rps: 100.0 * load_factor,
                offered_mb_s: 1.0,
                busiest_rps,
                busiest_mb_s: 0.0,
                ability_rps: 100.0,
                ability_mb_s: 1.0,
                load_factor,
                faults_begin_s: None,
                credits: None,
            };
            let whole = on_the_whole(&points[0], &demand);
            let part = || in_the_busiest_tenth(&points[0], &demand);
            let told = whole.or_else(part);
            told.map_or_else(String::new, |warning| warning.text)
        };
        let said = |load_factor: f64| of(load_factor, 0.0);
        assert_eq!(of(0.5, 99.0), "");
        for near in [101.0, 110.0] {
            assert!(
                of(0.5, near).contains("the queue may grow as long"),
                "{near}"
            );
        }
        assert!(of(0.5, 111.0).contains("the queue grows as long"));
        assert_eq!(said(0.99), "");
        for near in [1.01, 1.1] {
            assert!(said(near).contains("the queue may grow"), "{}", said(near));
        }
        assert!(
            said(1.11).contains("the queue grows by about 11.00"),
            "{}",
            said(1.11)
        );
    }

    #[test]
    fn advice_can_be_followed() {
        let files = vec!["a".into()];
        let trace = TraceLoad {
            files,
            ..TraceLoad::default()
        };
        let workload = |name: &str| Load::Workload(name.parse().unwrap());
        for (load, advice, pace) in [
            (Load::Trace(trace), "--replay closed", "A speed of 0.225"),
            (workload("poisson"), "--workload iometer", "A rate of 0.225"),
            (workload("spc1"), "--workload iometer", "A bsu of 0.225"),
        ] {
            let points = crate::grid::points(&Scenario::over(load), &[]).unwrap();
            let demand = Demand {
                offered_rps: 400.0,
                offered_mb_s: 1.0,
                busiest_rps: 400.0,
                busiest_mb_s: 1.0,
                ability_rps: 100.0,
                ability_mb_s: 1.0,
                load_factor: 4.0,
                faults_begin_s: Some(30.0),
                credits: None,
            };
            let advice = format!("{advice} asks what the drives can do");
            let told = on_the_whole(&points[0], &demand).unwrap();
            assert!(told.text.contains(&advice), "{told}");
            let offered = Arc::new(Offered {
                requests: LONG,
                ..Offered::default()
            });
            let foreseen = [Some(Foreseen {
                demand,
                burst: None,
                offered,
            })];
            let told = refuse(&points, &foreseen).unwrap_err().to_string();
            assert!(told.contains(&advice), "{told}");
            let why = format!(
                "simulating its {LONG} requests would take long and show only this growth. {pace}"
            );
            assert!(told.contains(&why), "{told}");
            let left_out =
                "(what the drives can do is told without the faults that begin from 30 s on)";
            assert!(told.ends_with(left_out), "{told}");
        }
    }

    /// A run over a drive with so long a queue, that was busy for that share of the time.
    fn run(busy: f64, depth: u32) -> Run {
        Run {
            label: "satf".to_owned(),
            requests: 1_000,
            utilisation: busy,
            config: serde_json::json!({"drive": {"queue_depth": depth}}),
            ..Run::default()
        }
    }

    /// Nothing is estimated below a cache or a write buffer: there drives that have no time left
    /// tell it.
    #[test]
    fn drives_below_memory_are_at_their_limit_when_they_have_no_time_left() {
        let counting = |key: &str, counts: &[(&str, u64)]| {
            let counts = counts.iter();
            let counts = counts.map(|(name, count)| ((*name).to_owned(), Number::Count(*count)));
            let mut run = run(0.99, 1);
            run.measures.insert(key.to_owned(), counts.collect());
            run
        };
        let cached = || counting("cache", &[("read_hits", 7)]);
        assert!(at_limit(&cached(), true));
        assert!(
            !at_limit(&cached(), false),
            "a closed loop never leaves time"
        );
        let quiet = Run {
            utilisation: 0.9,
            ..cached()
        };
        let queued = Run {
            config: run(0.0, 32).config,
            ..cached()
        };
        let short = Run {
            requests: 10,
            ..cached()
        };
        assert!(
            [quiet, queued, short]
                .iter()
                .all(|run| !at_limit(run, true))
        );
        assert!(!at_limit(&run(0.99, 1), true), "too few to tell");
        let buffered = |written, waited, queue_mean| {
            let counts = [("written_pages", written), ("waited_writes", waited)];
            let counted = counting("buffer", &counts);
            at_limit(
                &Run {
                    queue_mean,
                    ..counted
                },
                true,
            )
        };
        assert!(buffered(9, 1, 1.0));
        assert!(
            !buffered(9, 0, 1.0),
            "there was room for more to go together"
        );
        assert!(buffered(9, 0, 500.0), "reads wait");
        assert!(buffered(0, 0, 1.0), "only reads came");
    }

    #[test]
    fn an_estimate_that_a_run_has_refuted_is_told_as_such() {
        let in_system = |queue_mean: f64, busy: f64, load_factor: f64, growth: Option<f64>| {
            let demand = Demand {
                offered_rps: 100.0 * load_factor,
                offered_mb_s: 1.0,
                busiest_rps: 0.0,
                busiest_mb_s: 0.0,
                ability_rps: 100.0,
                ability_mb_s: 1.0,
                load_factor,
                faults_begin_s: None,
                credits: None,
            };
            let run = Run {
                demand: Some(demand),
                queue_growth_rps: growth,
                requests: 1_000,
                queue_mean,
                ..run(busy, 1)
            };
            let warning = Warning::new(WarningKind::Overload, "the queue grows");
            let mut warnings = [warning.of_run("satf")];
            correct(&mut warnings, [&run].into_iter());
            let [warning] = warnings;
            warning.text
        };
        let of = |busy, load_factor, growth| in_system(200.0, busy, load_factor, growth);
        let told = of(0.41, 1.2, None);
        assert!(
            told.contains("busy 41 % of the time, and the queue did not grow"),
            "{told}"
        );
        let stays = "the queue grows";
        assert_eq!(of(0.99, 1.2, None), stays);
        assert_eq!(of(0.41, 1.2, Some(3.0)), stays);
        assert_eq!(of(0.41, 1.05, None), stays);
        // More than a fifth of all are there at a time.
        assert_eq!(in_system(201.0, 0.41, 1.2, None), stays);
    }
}
