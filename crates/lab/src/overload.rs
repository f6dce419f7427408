//! Whether an open load asks for more than the drives can do, said before anything long is simulated.
//!
//! Requests of an open load come whatever the drives do. If more come than are served, the queue grows as long as the load
//! lasts, and response times tell its length and nothing else. So what is offered (over the whole load, and over its busiest
//! tenth) is held against what [`ability`] finds. A pass over the load costs some tens of nanoseconds a request; of a
//! synthetic load the first [`SYNTHETIC_MAX`] requests stand for all.
//!
//! A long load that offers clearly too much is refused unless `overload = run`: its result would be no answer, and take long.
//! A short one is run with a warning, for it takes a second, and grids over rates or speeds are meant to find the edge.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use nearslot_core::config::Assembly;
use nearslot_core::request::Request;
use rayon::prelude::*;

use crate::ability::{self, Ability, ability, is_sampled};
use crate::grid::Point;
use crate::load::LoadedTrace;
use crate::memo::SHARED;
use crate::number::{number, times};
use crate::outcome::Demand;
use crate::run::{self, RunError, Wanted};
use crate::scenario::Load;
use crate::sim::Control;
use crate::workload::Workload;

/// From this ratio of what is offered to what can be done, no error of the estimate explains it.
pub const CLEAR: f64 = 2.0;
/// Loads of so many requests are long.
pub const LONG: u64 = 100_000;
/// Requests of a synthetic load that stand for all.
const SYNTHETIC_MAX: u64 = 200_000;
/// Intervals in which arrivals are counted at most.
const INTERVALS: usize = 1_024;

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
struct Offered {
    rps: f64,
    mb_s: f64,
    busiest_rps: f64,
    busiest_mb_s: f64,
    requests: u64,
    sample: Vec<Request>,
}

impl Offered {
    fn against(&self, ability: Ability) -> Foreseen {
        Foreseen {
            requests: self.requests,
            demand: Demand {
                offered_rps: self.rps,
                offered_mb_s: self.mb_s,
                busiest_rps: self.busiest_rps,
                busiest_mb_s: self.busiest_mb_s,
                ability_rps: ability.rps,
                ability_mb_s: ability.mb_s,
                load_factor: self.rps / ability.rps,
            },
        }
    }
}

/// What is known of a run before it begins.
pub(crate) struct Foreseen {
    /// What its load asks for, and what can be done.
    pub(crate) demand: Demand,
    /// How many requests it has.
    requests: u64,
}

/// What each point asks for and what it can have; `None` for loads that wait for answers, and for those too short to tell.
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
        .map(|(load, point)| Ok((load, offered(point, trace)?)));
    let looked_over: BTreeMap<String, Option<Offered>> =
        looked_over.collect::<Result<_, RunError>>()?;
    let demand = |point: &Point| {
        let Some(Some(offered)) = looked_over.get(&identity(point)) else {
            return Ok(None);
        };
        if control.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let stack = run::stack_of(&point.scenario, trace)?;
        let ability = ability(&stack, &offered.sample, control)?;
        Ok(ability.map(|ability| offered.against(ability)))
    };
    points.par_iter().map(demand).collect()
}

/// What makes the arrivals of a point: its load, and the drives that it is fitted to.
fn identity(point: &Point) -> String {
    let scenario = &point.scenario;
    format!(
        "{:?} {} {:?} {:?}",
        scenario.load, scenario.seed, scenario.drive, scenario.place
    )
}

/// Looks over all arrivals of an open load; `None` if they are too few to tell.
fn offered(point: &Point, trace: Option<&LoadedTrace>) -> Result<Option<Offered>, RunError> {
    let scenario = &point.scenario;
    let Assembly {
        stack, blueprint, ..
    } = run::stack_of(scenario, trace)?.build_with(&SHARED)?;
    let mut prepared = run::prepare(scenario, trace, &stack, &*blueprint)?;
    let count = match scenario.load {
        Load::Trace(_) => prepared.count.get(),
        Load::Workload(_) => prepared.count.get().min(SYNTHETIC_MAX),
    };
    let offered = look_over(&mut *prepared.workload, count).map(|offered| Offered {
        requests: prepared.count.get(),
        ..offered
    });
    match prepared.workload.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(offered),
    }
}

fn look_over(workload: &mut dyn Workload, count: u64) -> Option<Offered> {
    let (mut arrivals, mut sample) = (Arrivals::default(), Vec::new());
    for number in 0..count {
        let due = workload.next_arrival()?;
        let request = workload.poll(due)?;
        arrivals.record(due.0, request.extent.len.bytes());
        if is_sampled(number, count) {
            sample.push(request);
        }
    }
    let seconds = (arrivals.last.checked_sub(arrivals.first?)?) as f64 / 1e9;
    let (requests, bytes) = arrivals.total();
    let (busy_requests, busy_bytes, busy_seconds) = arrivals.busiest_tenth();
    let enough = count >= 4 * ability::STRETCHES && seconds > 0.0;
    enough.then(|| Offered {
        rps: requests as f64 / seconds,
        mb_s: bytes as f64 / 1e6 / seconds,
        busiest_rps: busy_requests as f64 / busy_seconds,
        busiest_mb_s: busy_bytes as f64 / 1e6 / busy_seconds,
        requests: count,
        sample,
    })
}

/// Arrivals counted in at most [`INTERVALS`] intervals of equal length, which doubles when they are all used.
#[derive(Default)]
struct Arrivals {
    first: Option<u64>,
    last: u64,
    shift: u32,
    counts: Vec<(u64, u64)>,
}

impl Arrivals {
    fn record(&mut self, at: u64, bytes: u64) {
        let first = *self.first.get_or_insert(at);
        self.last = at;
        let place = |shift: u32| ((at - first) >> shift) as usize;
        while place(self.shift) >= INTERVALS {
            let pairs = self.counts.chunks(2);
            let sum = |pair: &[(u64, u64)]| {
                pair.iter()
                    .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
            };
            self.counts = pairs.map(sum).collect();
            self.shift += 1;
        }
        let place = place(self.shift);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, (0, 0));
        }
        self.counts[place].0 += 1;
        self.counts[place].1 += bytes;
    }

    fn total(&self) -> (u64, u64) {
        self.counts
            .iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Requests and bytes of the busiest tenth, and its length in seconds.
    fn busiest_tenth(&self) -> (u64, u64, f64) {
        let width = self.counts.len().div_ceil(10).max(1);
        let sum = |some: &[(u64, u64)]| {
            some.iter()
                .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let (requests, bytes) = self.counts.windows(width).map(sum).max().unwrap_or((0, 0));
        // The last interval is not full; a load shorter than a tenth of its intervals is taken whole.
        let whole = (self.last - self.first.unwrap_or(0)) as f64 / 1e9;
        (
            requests,
            bytes,
            ((width as f64) * (1_u64 << self.shift) as f64 / 1e9).min(whole),
        )
    }
}

/// What must be known before the runs begin; told at once, and given for the results.
///
/// # Errors
/// A long load offers clearly too much, and nobody said that it is to be run.
pub(crate) fn say(
    points: &[Point],
    foreseen: &[Option<Foreseen>],
    wanted: &Wanted,
) -> Result<Vec<String>, RunError> {
    if wanted.overload == Overload::Stop {
        refuse(points, foreseen)?;
    }
    let runs = points.iter().zip(foreseen);
    let warnings: Vec<String> = runs
        .filter_map(|(point, foreseen)| warning(point, &foreseen.as_ref()?.demand))
        .collect();
    if let Some(tell) = wanted.tell {
        warnings.iter().for_each(|warning| tell(warning));
    }
    Ok(warnings)
}

/// The estimate of what drives can do may be off by so much (`ability.rs`): up to here a queue may grow, beyond it does.
pub(crate) const SURELY_TOO_MUCH: f64 = 1.1;

/// How to ask what the drives can do, instead of how long a load is that they cannot.
fn instead(point: &Point) -> &'static str {
    match point.scenario.load {
        Load::Trace(_) => "--replay closed asks what the drives can do",
        Load::Workload(_) => "--workload iometer asks what the drives can do",
    }
}

fn warning(point: &Point, demand: &Demand) -> Option<String> {
    let label = &point.label;
    if demand.load_factor > 1.0 && demand.load_factor <= SURELY_TOO_MUCH {
        return Some(format!(
            "{label}: the load offers {} requests/s ({} MB/s), about as much as the drives can do, {} by an estimate that may be \
             off by a tenth: the queue may grow",
            number(demand.offered_rps),
            number(demand.offered_mb_s),
            number(demand.ability_rps),
        ));
    }
    if demand.load_factor > 1.0 {
        return Some(format!(
            "{label}: {}; response times tell how long the load is, {}",
            too_much(demand),
            instead(point)
        ));
    }
    let busiest = demand.busiest_rps / demand.ability_rps;
    (busiest > 1.0).then(|| {
        let grows = match busiest > SURELY_TOO_MUCH {
            true => "grows",
            false => "may grow",
        };
        format!(
            "{label}: in its busiest tenth the load offers {} requests/s, and the drives can do about {}: the queue {grows} as \
             long as that lasts",
            number(demand.busiest_rps),
            number(demand.ability_rps),
        )
    })
}

fn too_much(demand: &Demand) -> String {
    format!(
        "the load offers {} requests/s ({} MB/s), {} what the drives can do, about {}; the queue grows by about {} requests a \
         second",
        number(demand.offered_rps),
        number(demand.offered_mb_s),
        times(demand.load_factor),
        number(demand.ability_rps),
        number(demand.offered_rps - demand.ability_rps),
    )
}

fn refuse(points: &[Point], foreseen: &[Option<Foreseen>]) -> Result<(), RunError> {
    let over = points.iter().zip(foreseen).filter_map(|(point, foreseen)| {
        let foreseen = foreseen.as_ref()?;
        let refused = foreseen.demand.load_factor >= CLEAR && foreseen.requests >= LONG;
        refused.then_some((point, foreseen))
    });
    let over: Vec<(&Point, &Foreseen)> = over.collect();
    let Some((point, Foreseen { demand, requests })) = over.first() else {
        return Ok(());
    };
    let others = match points.len() {
        1 => String::new(),
        all => format!(" ({} of {all} runs are such)", over.len()),
    };
    Err(RunError::Overload(format!(
        "{}: {}. Nothing was simulated: simulating its {requests} requests would take long and show only this growth{others}. \
         A speed or rate of {} of this one would be bearable; {}; --overload run simulates it nevertheless",
        point.label,
        too_much(demand),
        number(0.9 / demand.load_factor),
        instead(point),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            };
            warning(&points[0], &demand).unwrap_or_default()
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
        for (load, advice) in [
            (Load::Trace(trace), "--replay closed"),
            (
                Load::Workload("poisson".parse().unwrap()),
                "--workload iometer",
            ),
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
            };
            let advice = format!("{advice} asks what the drives can do");
            let told = warning(&points[0], &demand).unwrap();
            assert!(told.contains(&advice), "{told}");
            let requests = LONG;
            let foreseen = [Some(Foreseen { demand, requests })];
            let told = refuse(&points, &foreseen).unwrap_err().to_string();
            assert!(told.contains(&advice), "{told}");
            let why = format!(
                "simulating its {LONG} requests would take long and show only this growth. A speed"
            );
            assert!(told.contains(&why), "{told}");
        }
    }

    #[test]
    fn the_busiest_tenth_is_found_at_any_length() {
        for scale in [1, 1_000_000, 1_000_000_000] {
            let mut arrivals = Arrivals::default();
            // 1,000 requests at even distances, and ten times as many in one tenth.
            for tick in 0..1_000_u64 {
                let many = if (500..600).contains(&tick) { 10 } else { 1 };
                (0..many).for_each(|_| arrivals.record(tick * scale + 7, 512));
            }
            let (requests, bytes, seconds) = arrivals.busiest_tenth();
            assert!((980..=1_030).contains(&requests), "{requests}");
            assert_eq!(bytes, requests * 512);
            let share = seconds * 1e9 / (1_000.0 * scale as f64);
            assert!((0.09..0.12).contains(&share), "{share}");
            assert_eq!(arrivals.total().0, 1_900);
        }
    }
}
