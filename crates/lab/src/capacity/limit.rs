//! What keeps a choice from taking more: drives that are busy all the time, requests that wait for
//! each other now and then, or single requests that take long.
//!
//! The drives are the limit if the queue grows at the easiest setting that fails, or if they are
//! hardly ever idle at the hardest one that holds and can do no more. A drive that works on several
//! commands at a time is hardly ever idle long before that, so with such drives an open load is
//! held against what the drives can do by the estimate of [`ability`](crate::ability), and a closed
//! one against what more in flight brings. Else there is time left, and what the objective is about
//! decides: the same statistic of the waits and of the service times, each by itself, says which of
//! the two makes it long. Where nothing holds, or where waits are the longer part only at the
//! setting that fails, as behind a limit of I/Os a second, the easiest setting that fails is looked
//! at instead.

use serde::Serialize;

use super::names::{name, position};
use super::{Capacity, Find, Reached, Reading, Tried};
use crate::number::{self, number};
use crate::objective::{Class, Objective, Statistic};
use crate::outcome::{Run, Times};
use crate::overload::{SURELY_TOO_MUCH, takes_one};

/// Drives that are busy for this share of the time have none left to speak of.
const BUSY: f64 = 0.95;

words! {
    /// What keeps a choice from taking more.
    LimitedBy {
        /// The drives are busy all the time, or the queue grows.
        Drives = "drives",
        /// The drives have time left, but requests that come close together wait for each other.
        Waits = "waits",
        /// Single requests take long, whether they wait or not.
        Service = "service",
    }
}

/// Drives that are busy for less than this share of the time while the queue grows are not what it
/// grows for: a write buffer takes no more, say.
const IDLE: f64 = 0.5;

/// Drives that have less than this of what is added in flight as throughput have no time left to
/// speak of.
const GAIN: f64 = 0.5;

/// What keeps a choice from taking more, and what that is known by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// In a word.
    pub by: LimitedBy,
    /// The setting at which the rest was measured: the hardest that holds, or the easiest if none
    /// does.
    pub at: f64,
    /// Share of the time that the drives were busy there.
    pub utilisation: f64,
    /// The same of the drive that was busiest, which limits a load that does not use all alike.
    pub utilisation_max: f64,
    /// The same without what drives did in spare time, which gives way to requests: by this drives
    /// are the limit or not.
    #[serde(skip)]
    without_spare_time: f64,
    /// Whether drives that are hardly ever idle can do more all the same.
    #[serde(skip)]
    can_do_more: bool,
    /// By how many requests a second the queue grows at the easiest setting that fails, if it does.
    pub queue_growth_rps: Option<f64>,
    /// The objective that fails first; `None` where the queue grows, so that all of them fail.
    pub objective: Option<usize>,
    /// Its statistic of the waits alone, in milliseconds; the 95th percentile in place of the 90th.
    pub wait_ms: Option<f64>,
    /// The same of the service times alone.
    pub service_ms: Option<f64>,
    /// What the drives' time with a request consists of; `None` for a drive that does not tell.
    pub shares: Option<Shares>,
}

/// Shares of the drives' time with a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// The arm moves, or another head takes over.
    pub seek: f64,
    /// The platter comes round.
    pub rotation: f64,
    /// Blocks are read or written.
    pub transfer: f64,
    /// Command, bus and buffer, with what faults add.
    pub overhead: f64,
}

impl Shares {
    /// Of a run; `None` if it had no mechanics: then nothing moves or turns.
    pub(super) fn of(run: &Run) -> Option<Shares> {
        let moves = run.seek_ms + run.rotation_ms;
        let all = moves + run.transfer_ms + run.overhead_ms;
        (moves > 0.0).then(|| Shares {
            seek: run.seek_ms / all,
            rotation: run.rotation_ms / all,
            transfer: run.transfer_ms / all,
            overhead: run.overhead_ms / all,
        })
    }
}

/// Distributions of a run by class, of which an objective's own are taken: all requests, reads,
/// writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parts {
    responses: [Option<Times>; 3],
    waits: [Option<Times>; 3],
    services: [Option<Times>; 3],
}

impl Parts {
    pub(super) fn of(run: &Run) -> Parts {
        Parts {
            responses: [
                Some(run.response_ms),
                run.read_response_ms,
                run.write_response_ms,
            ],
            waits: [Some(run.wait_ms), run.read_wait_ms, run.write_wait_ms],
            services: [
                Some(run.service_ms),
                run.read_service_ms,
                run.write_service_ms,
            ],
        }
    }

    /// The objective's statistic of the response times; no 90th percentile is known.
    pub(super) fn response_ms(&self, objective: &Objective) -> Option<f64> {
        let known = objective.statistic != Statistic::P90;
        known.then(|| of(&self.responses, objective)).flatten()
    }

    /// The objective's statistic of waits, and of service times.
    fn wait_and_service_ms(&self, objective: &Objective) -> Option<(f64, f64)> {
        Some((of(&self.waits, objective)?, of(&self.services, objective)?))
    }
}

/// An objective's statistic; the 95th percentile in place of the 90th.
fn of(times: &[Option<Times>; 3], objective: &Objective) -> Option<f64> {
    let times = times[match objective.class {
        Class::All => 0,
        Class::Read => 1,
        Class::Write => 2,
    }]?;
    match objective.statistic {
        Statistic::Mean => Some(times.mean),
        Statistic::P50 => times.p50,
        Statistic::P90 | Statistic::P95 => times.p95,
        Statistic::P99 => times.p99,
        Statistic::P999 => times.p999,
    }
}

/// What keeps a choice from taking more; `None` if it holds to the end, was not tried, fails since
/// so many requests do, or has drives that are idle while the queue grows.
///
/// `full` is the setting at which an open load is all that the drives can do, as far as that is
/// known.
pub(super) fn limit(
    found: &Reached,
    objectives: &[Objective],
    (find, full): (Find, Option<f64>),
) -> Option<Limit> {
    let tried = |at: f64| {
        found
            .tried
            .iter()
            .find(|tried| tried.at.total_cmp(&at).is_eq())
    };
    let failed = tried(found.fails?)?;
    let failing = |reading: &Reading| reading.fails == Some(true);
    let objective = failed.readings.iter().position(failing);
    let parts_of = |tried: &Tried| {
        objective.and_then(|index| tried.parts.wait_and_service_ms(&objectives[index]))
    };
    let waits = |tried: &Tried| parts_of(tried).is_some_and(|(wait, service)| wait > service);
    let holds = found.holds.and_then(tried);
    // Where waits make it long at once, what holds says nothing of what fails.
    let jumps = |holds: &&Tried| waits(failed) && !waits(holds);
    let seen = holds.filter(|holds| !jumps(holds)).unwrap_or(failed);
    let parts = parts_of(seen);
    let for_failures =
        |index: usize| failed.missed_for_failures(&objectives[index], &failed.readings[index]);
    if objective.is_some_and(for_failures) {
        return None;
    }
    let busy = seen.busiest_without_spare >= BUSY;
    let at_end = busy && do_no_more(found, seen, (find, full));
    if failed.queue_growth_rps.is_some() && failed.busiest_without_spare < IDLE {
        return None;
    }
    let by = match parts {
        _ if failed.queue_growth_rps.is_some() => LimitedBy::Drives,
        // Drives that are busy with a single request at a time are no limit to more of them if that
        // one takes too long.
        Some((wait, service)) if service >= wait && !(at_end && holds.is_some()) => {
            LimitedBy::Service
        }
        _ if at_end => LimitedBy::Drives,
        _ => LimitedBy::Waits,
    };
    Some(Limit {
        by,
        at: seen.at,
        utilisation: seen.utilisation,
        utilisation_max: seen.utilisation_max,
        without_spare_time: seen.busiest_without_spare,
        can_do_more: busy && !at_end,
        queue_growth_rps: failed.queue_growth_rps,
        objective,
        wait_ms: parts.map(|(wait, _)| wait),
        service_ms: parts.map(|(_, service)| service),
        shares: seen.shares,
    })
}

/// Whether drives that are busy can do hardly more than at this setting. Where nothing tells, those
/// can that take several commands at a time.
fn do_no_more(found: &Reached, seen: &Tried, (find, full): (Find, Option<f64>)) -> bool {
    match (find, full) {
        _ if takes_one(&found.config) => true,
        (Find::Depth, _) => gain(&found.tried, seen).is_none_or(|gain| gain < GAIN),
        (Find::Speed | Find::Rate | Find::Bsu, Some(full)) => SURELY_TOO_MUCH * seen.at > full,
        (Find::Drives, Some(full)) => seen.at < SURELY_TOO_MUCH * full,
        (_, None) => found.config["drive"]["queue_depth"].is_null(),
    }
}

/// How much of what is added in flight comes back as throughput, by the deepest setting that was
/// tried: 1 if twice the depth has twice the throughput, 0 if it has the same. `None` if no other
/// depth was tried.
fn gain(tried: &[Tried], seen: &Tried) -> Option<f64> {
    let deepest = tried
        .iter()
        .rfind(|other| !other.compared && other.at.total_cmp(&seen.at).is_ne())?;
    let rate = (deepest.throughput_rps / seen.throughput_rps).ln();
    Some(rate / (deepest.at / seen.at).ln())
}

/// A sentence or two for a choice that is limited.
pub(super) fn sentence(capacity: &Capacity, found: &Reached) -> Option<String> {
    let limit = found.limit.as_ref()?;
    let (who, place) = (name(capacity, found), position(capacity.find, limit.at));
    let busy = format!("{place} {}", busy(limit));
    let objective = limit.objective.map(|index| &capacity.objectives[index]);
    let parts = objective.zip(limit.wait_ms).zip(limit.service_ms);
    let parts = parts.map(|((objective, wait), service)| {
        format!(
            "{} is {} ms of waits alone and {} ms of service alone",
            statistic_told(objective),
            number(wait),
            number(service)
        )
    });
    let parts = parts.unwrap_or_else(|| "a few requests take long".to_owned());
    let mut text = match limit.by {
        LimitedBy::Drives => format!(
            "The drives limit {who}: {busy}{}",
            then(capacity.find, limit)
        ),
        LimitedBy::Waits => format!(
            "Requests that wait for each other limit {who}, not the drives alone: {busy}, but {parts}"
        ),
        LimitedBy::Service => format!(
            "Single requests that take long limit {who}, not their number: {busy}, and {parts}"
        ),
    };
    if let Some(shares) = &limit.shares {
        text += &format!("; of the drives' time with a request {}", shared(shares));
    }
    Some(text + ".")
}

/// How busy the drives are; what the busiest one would be without what it does in spare time stands
/// behind what is said of it.
fn busy(limit: &Limit) -> String {
    let (all, most) = (percent(limit.utilisation), percent(limit.utilisation_max));
    let needed = percent(limit.without_spare_time);
    let without = match needed == most {
        true => String::new(),
        false => format!(" ({needed} but for what is done in spare time)"),
    };
    let more = match limit.can_do_more && limit.by != LimitedBy::Drives {
        true => ", though they can do more",
        false => "",
    };
    match most == all {
        true => format!("the drives are busy {all} of the time{without}{more}"),
        false => {
            format!(
                "the busiest drive is busy {most} of the time{without}, all of them {all}{more}"
            )
        }
    }
}

/// What more requests do to drives that are busy.
fn then(find: Find, limit: &Limit) -> String {
    match (limit.queue_growth_rps, find) {
        (Some(growth), _) => format!(
            ", and beyond it {} requests/s more come than the drives serve",
            number(growth)
        ),
        (None, Find::Depth) => ", so that what is added in flight only waits".to_owned(),
        (None, _) => ", so that what is added only waits".to_owned(),
    }
}

/// What is told of the parts of an objective: `read p99`.
fn statistic_told(objective: &Objective) -> String {
    let word = match objective.statistic {
        Statistic::P90 => Statistic::P95,
        other => other,
    }
    .word();
    match objective.class {
        Class::All => word.to_owned(),
        class => format!("{} {word}", class.word()),
    }
}

/// The shares, the largest first.
fn shared(shares: &Shares) -> String {
    let mut parts = [
        (shares.seek, "seeks"),
        (shares.rotation, "rotation"),
        (shares.transfer, "transfer"),
        (shares.overhead, "overhead (command, bus and buffer)"),
    ];
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let [first, rest @ ..] = parts.map(|(share, part)| format!("{} are {part}", percent(share)));
    let rest = rest.map(|text| text.replace(" are ", " "));
    format!("{first}, {}", rest.join(", "))
}

/// Whole, but for what is hardly there.
fn percent(share: f64) -> String {
    let is_little = share > 0.0 && share < 0.0095;
    number::percent(share, usize::from(is_little))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_time_is_told_of_the_busiest_drive() {
        let limit = |utilisation| Limit {
            by: LimitedBy::Waits,
            at: 1.0,
            utilisation,
            utilisation_max: 0.48,
            without_spare_time: 0.44,
            can_do_more: false,
            queue_growth_rps: None,
            objective: None,
            wait_ms: None,
            service_ms: None,
            shares: None,
        };
        assert_eq!(
            busy(&limit(0.4)),
            "the busiest drive is busy 48 % of the time (44 % but for what is done in spare time), all of them 40 %"
        );
        assert_eq!(
            busy(&limit(0.48)),
            "the drives are busy 48 % of the time (44 % but for what is done in spare time)"
        );
        let nearly = Limit {
            utilisation_max: 0.9996,
            without_spare_time: 0.9996,
            ..limit(0.9996)
        };
        assert_eq!(busy(&nearly), "the drives are busy 99.96 % of the time");
    }
}
