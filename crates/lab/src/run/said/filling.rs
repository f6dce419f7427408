//! A queue that grows, before the drives or in their write caches.

use super::Seen;
use crate::measure::Filling;
use crate::number::{number, seconds};
use crate::warning::{Warning, WarningKind};

/// That the queue grew, by so many requests a second.
pub(super) fn grew(label: &str, growth_rps: f64, seen: &Seen) -> Warning {
    let caches = match seen.grew_in_caches {
        true => {
            ", with what the drives had answered and not yet written until their write caches were full,"
        }
        false => "",
    };
    let late = seen.late.map_or_else(String::new, |begin| {
        let begin = seconds(begin.0 as f64 / 1e9);
        format!(" from {begin} on, when all faults have begun,")
    });
    let text = format!(
        "the queue{caches} grew by {} requests a second{late} as long as requests came, so response times tell how long the \
         load is",
        number(growth_rps)
    );
    Warning::new(WarningKind::QueueGrew, text).of_run(label)
}

/// That write caches hid the drives.
pub(super) fn filling(label: &str, filling: Option<Filling>) -> Option<Warning> {
    let seen = filling?.seen();
    let text = format!(
        "{seen}, so response times and rates tell how long the load is; more requests tell those of the drives"
    );
    Some(Warning::new(WarningKind::FillingCaches, text).of_run(label))
}
