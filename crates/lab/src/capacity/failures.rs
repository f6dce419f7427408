//! Why a choice fails where it first does: which objective and by how much, or that the queue
//! grows; and what limits it.

use super::filling::why_it_grows;
use super::names::{name, position};
use super::{Capacity, Reached, Reading, Tried, limit};
use crate::number::{counted, number, times};
use crate::objective::{self, Objective};

/// For each choice that fails somewhere what fails there, and what limits it.
pub(super) fn failures(capacity: &Capacity) -> Vec<String> {
    let told = |found: &Reached| {
        let failure = failure(capacity, found)?;
        let limit = limit::sentence(capacity, found);
        Some(limit.map_or_else(|| failure.clone(), |limit| format!("{failure} {limit}")))
    };
    capacity.choices.iter().filter_map(told).collect()
}

fn failure(capacity: &Capacity, found: &Reached) -> Option<String> {
    let fails = found.fails?;
    let is = |tried: &&Tried| tried.at.total_cmp(&fails).is_eq();
    let tried = found.tried.iter().find(is)?;
    let (who, place) = (name(capacity, found), position(capacity.find, fails));
    if tried.queue_growth_rps.is_some() {
        let all: Vec<&Objective> = capacity.objectives.iter().collect();
        let verb = if all.len() == 1 { "fails" } else { "fail" };
        return Some(format!(
            "Under {who} {} {verb} {place} because {}.",
            objective::text(&all),
            why_it_grows(tried)
        ));
    }
    let failed = capacity.objectives.iter().zip(&tried.readings);
    let failed = failed.filter(|(_, reading)| reading.fails == Some(true));
    let (failed, readings): (Vec<&Objective>, Vec<&Reading>) = failed.unzip();
    let what = objective::text(&failed);
    let place = match found.holds {
        None if fails.total_cmp(&found.easiest).is_eq() => format!("{place}, the easiest setting"),
        _ => place,
    };
    Some(match readings.as_slice() {
        [reading] if capacity.objectives.len() == 1 || found.holds.is_none() => {
            let reached = reached(failed[0], reading, tried);
            format!("Under {who} {what} fails {place}: {reached}.")
        }
        [_] => format!("Under {who} it is {what} that fails first, {place}."),
        _ => format!("Under {who} {what} fail first, {place}."),
    })
}

/// So many times the limit; what would be rounded to the limit itself is above it all the same.
fn over(ratio: f64) -> String {
    match times(ratio) {
        _ if ratio > 1.0 && ratio < 1.005 => "just above the limit".to_owned(),
        times => format!("{times} the limit"),
    }
}

/// What was reached of an objective that is missed, and how far that is from it.
pub(super) fn reached(objective: &Objective, reading: &Reading, tried: &Tried) -> String {
    let far = |ms: f64| over(ms / objective.limit_ms);
    if tried.missed_for_failures(objective, reading) {
        let all = counted(tried.requests, "request");
        let so = match objective.statistic.rank() {
            Some(_) => ", and so miss it",
            None => ": a mean is missed where more than 1 % of its requests fail",
        };
        return format!("{} of {all} fail there{so}", tried.failed);
    }
    match (reading.ms, reading.so_far_ms) {
        (Some(ms), _) => format!("it is {} ms there, {}", number(ms), far(ms)),
        (None, Some(ms)) => format!(
            "the run ended early there, as it is surely missed; of the first {} it is {} ms, {}",
            counted(tried.requests, "answer"),
            number(ms),
            far(ms)
        ),
        (None, None) => "the run ended early there, as it is surely missed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misses_a_limit_is_never_told_as_the_limit() {
        let told = [1.000_01, 1.004, 1.005_1, 2.0, 0.99].map(over);
        let just = "just above the limit";
        assert_eq!(
            told,
            [
                just,
                just,
                "1.01× the limit",
                "2.00× the limit",
                "0.99× the limit"
            ]
        );
    }
}
