//! Why a choice fails where it first does: which objective, or that the queue grows.

use super::words::{name, position};
use super::{Capacity, Reached, Reading, Tried};
use crate::number::number;
use crate::objective::{self, Objective};

/// A sentence for each choice of which the first failure needs a word: it has several objectives to fail, the queue grew, or
/// nothing holds, so that the table has no times.
pub(super) fn failures(capacity: &Capacity) -> Vec<String> {
    let choices = capacity.choices.iter();
    choices
        .filter_map(|found| failure(capacity, found))
        .collect()
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
            "Under {who} {} {verb} {place} because the queue grows as long as requests come, whatever the response times are.",
            objective::text(&all)
        ));
    }
    let failed = capacity.objectives.iter().zip(&tried.readings);
    let failed = failed.filter(|(_, reading)| reading.fails == Some(true));
    let (failed, readings): (Vec<&Objective>, Vec<&Reading>) = failed.unzip();
    let what = objective::text(&failed);
    match readings.as_slice() {
        [reading] if found.holds.is_none() => Some(match reading.ms {
            Some(ms) => format!(
                "Under {who} {what} fails {place}, the easiest setting: it is {} ms there.",
                number(ms)
            ),
            None => format!(
                "Under {who} {what} fails {place}, the easiest setting: the run ended early."
            ),
        }),
        [_] if capacity.objectives.len() == 1 => None,
        [_] => Some(format!(
            "Under {who} it is {what} that fails first, {place}."
        )),
        _ => Some(format!("Under {who} {what} fail first, {place}.")),
    }
}
