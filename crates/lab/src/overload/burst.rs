//! A burst that the drives cannot keep up with, in a load that they keep up with on the whole.
//!
//! Over hours of quiet, half a minute of pressure shows neither in the rate of the whole load nor
//! in that of its busiest tenth. Yet its requests wait in a queue that may need longer to drain
//! than the burst lasted, and they make the tail of the run. So what comes is followed as a fluid:
//! in each interval in which arrivals are counted, the queue grows by what comes beyond what the
//! drives can do, or drains by what comes short of it.
//!
//! **From when on it is told.** When the queue is longest, its last request waits as long as the
//! drives need for all of it. From [`LONG_WAIT_S`] on that is told. The estimate of what the drives
//! can do may be too low by a tenth, so the queue has to be that long if they can do a tenth more.
//!
//! **What the drives can do with a burst.** Its requests may be of another kind than the rest, such
//! as a sequential copy by night. So the longest [`CANDIDATES`] queues that the estimate for the
//! whole load gives are only suspected: a sample of each one's own requests is served, and that
//! estimate decides.
//!
//! Not seen are bursts shorter than an interval, and those whose requests take the drives far
//! longer than the rest of the load. Cost: nothing where no queue is suspected; else a second pass
//! over the load, and an estimate for each queue.

use std::ops::Range;

use super::arrivals::{Arrivals, Swell};
use super::{Foreseen, SURELY_TOO_MUCH, samples};
use crate::ability::{Ability, ability};
use crate::error::RunError;
use crate::grid::Point;
use crate::load::LoadedTrace;
use crate::number::{duration, list, number, times};
use crate::outcome;
use crate::prepare;
use crate::sim::Control;
use crate::warning::{Warning, WarningKind};

/// Waits of so many seconds are a queue in anyone's words: it is how long the deadline scheduler of
/// Linux lets a write wait before it goes first, and ten times as long as a read. Shorter ones are
/// usual, as when an operating system writes back what it has gathered for seconds.
const LONG_WAIT_S: f64 = 5.0;

/// Queues that are looked at closely, longest first.
const CANDIDATES: usize = 3;

/// A queue of which it is told.
#[derive(Debug)]
struct Burst {
    /// When it begins, from the first request on.
    begin_s: f64,
    /// How long it grows.
    lasts_s: f64,
    /// Reads and writes that come per second while it grows.
    rps: f64,
    /// Reads and writes like these that the drives can do per second.
    ability_rps: f64,
    /// Requests that wait when it is longest.
    longest: f64,
    /// How long it takes from there until none waits.
    drain_s: f64,
    /// Share of the measured requests that come while it is there.
    share: f64,
}

/// What is to be said of the bursts of a load, if there is one that the drives cannot keep up with.
///
/// # Errors
/// The load or the stack cannot be made.
pub(super) fn warning(
    point: &Point,
    trace: Option<&LoadedTrace>,
    foreseen: &Foreseen,
    control: &Control,
) -> Result<Option<(outcome::Burst, Warning)>, RunError> {
    let arrivals = &foreseen.offered.arrivals;
    let suspected = suspected(arrivals, foreseen.demand.ability_rps);
    if suspected.is_empty() {
        return Ok(None);
    }
    let growing = suspected
        .iter()
        .map(|swell| arrivals.numbers(growth(swell)));
    let growing: Vec<Range<u64>> = growing.collect();
    let stack = prepare::stack_of(&point.scenario, trace)?;
    let mut bursts = Vec::new();
    for (swell, sample) in suspected.iter().zip(samples(point, trace, &growing)?) {
        let own = ability(&stack, &sample, control)?;
        let confirmed = |own: Ability| confirmed(arrivals, swell, own.rps, foreseen.offered.warmup);
        bursts.extend(own.and_then(confirmed));
    }
    let worst = bursts
        .into_iter()
        .max_by(|one, other| one.wait_s().total_cmp(&other.wait_s()));
    Ok(worst.map(|burst| {
        let warning = Warning::new(WarningKind::Burst, burst.words()).of_run(&point.label);
        (burst.told(), warning)
    }))
}

/// The intervals in which a queue grows.
fn growth(swell: &Swell) -> Range<usize> {
    swell.there.start..swell.peak + 1
}

/// Whether the last request of a queue waits long, if so many are served a second.
fn is_long(swell: &Swell, served_rps: f64) -> bool {
    swell.longest >= LONG_WAIT_S * served_rps
}

/// The longest queues, if what the drives can do with the whole load is what they can do with each
/// part of it.
fn suspected(arrivals: &Arrivals, ability_rps: f64) -> Vec<Swell> {
    let surely = SURELY_TOO_MUCH * ability_rps;
    let mut swells: Vec<Swell> = arrivals
        .swells(arrivals.intervals(), surely)
        .filter(|swell| is_long(swell, surely))
        .collect();
    swells.sort_by(|one, other| other.longest.total_cmp(&one.longest));
    swells.truncate(CANDIDATES);
    swells
}

/// The longest queue in these intervals, if the drives can do so many of its requests a second, and
/// if it is measured.
fn confirmed(arrivals: &Arrivals, swell: &Swell, own_rps: f64, warmup: u64) -> Option<Burst> {
    let surely = SURELY_TOO_MUCH * own_rps;
    let longest = arrivals
        .swells(swell.there.clone(), surely)
        .filter(|swell| is_long(swell, surely))
        .max_by(|one, other| one.longest.total_cmp(&other.longest))?;
    // What surely begins there also begins there by the estimate itself.
    let swell = arrivals.swell(longest.there.start, own_rps)?;
    let measured = |numbers: Range<u64>| numbers.end.saturating_sub(numbers.start.max(warmup));
    let caught = measured(arrivals.numbers(swell.there.clone()));
    if caught == 0 {
        return None;
    }
    let interval_s = arrivals.interval_s();
    let lasts_s = growth(&swell).len() as f64 * interval_s;
    Some(Burst {
        begin_s: swell.there.start as f64 * interval_s,
        lasts_s,
        rps: arrivals.moved(growth(&swell)) as f64 / lasts_s,
        ability_rps: own_rps,
        longest: swell.longest,
        drain_s: (swell.there.end - swell.peak - 1) as f64 * interval_s + swell.rest / own_rps,
        share: caught as f64 / measured(0..arrivals.total().0) as f64,
    })
}

/// Percentiles that results tell, by what share lies beyond them.
const TAILS: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.05), ("p99", 0.01), ("p99.9", 0.001)];

impl Burst {
    /// How long the last request of the longest queue waits.
    fn wait_s(&self) -> f64 {
        self.longest / self.ability_rps
    }

    /// What a headline says of it.
    fn told(&self) -> outcome::Burst {
        outcome::Burst {
            begin_s: self.begin_s,
            lasts_s: self.lasts_s,
            load_factor: self.rps / self.ability_rps,
        }
    }

    fn words(&self) -> String {
        // The half of them that waits longest is surely behind all others.
        let tails = TAILS
            .iter()
            .filter(|(_, beyond)| *beyond <= self.share / 2.0);
        let mut tails: Vec<String> = tails.map(|(name, _)| (*name).to_owned()).collect();
        let tell = if tails.is_empty() { "tells" } else { "tell" };
        tails.push("the longest response time".to_owned());
        format!(
            "for {}, from {} after the first request on, reads and writes come at {} what the drives can do, {} a second against about \
             {}: the queue grows to about {:.0} requests and needs about {} to drain; {} % of the measured requests come before it has, \
             so {} {tell} of this burst",
            rounded(self.lasts_s),
            rounded(self.begin_s),
            times(self.rps / self.ability_rps),
            number(self.rps),
            number(self.ability_rps),
            self.longest,
            rounded(self.drain_s),
            number(100.0 * self.share),
            list(&tails),
        )
    }
}

/// Seconds in words; fractions are below what the estimate can tell.
pub(crate) fn rounded(seconds: f64) -> String {
    duration(libm::round(seconds))
}
