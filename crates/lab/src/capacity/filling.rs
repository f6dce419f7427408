//! What is said of runs whose drives had not yet written what they had answered, by more and more as long as requests came.
//!
//! An open load then is more than the drives can do: with more requests, when the write caches are full, the queue grows. A load that waits for answers comes more slowly then, and a disk
//! that chooses the order in which it writes does so the faster the more it has, so nothing is sure of such a setting.

use super::names::{name, position};
use super::{Capacity, Reached, Tried};
use crate::measure::Filling;
use crate::number::grouped;

/// Why all objectives fail at a setting under an open load: the queue grows, or what hides that it would.
pub(super) fn why_it_grows(tried: &Tried) -> String {
    match tried.filling {
        None => {
            "the queue grows as long as requests come, whatever the response times are".to_owned()
        }
        Some(filling) => format!(
            "the drives write less than comes: their write caches fill as long as requests come{}; then the queue grows, whatever the response times are before",
            full(filling)
        ),
    }
}

/// For each choice of which the numbers that are told are those of write caches that fill, that nothing is sure there.
pub(super) fn not_steady(capacity: &Capacity) -> Vec<String> {
    let told = |found: &Reached| {
        let tried = found.shown()?;
        let filling = tried.filling.filter(|_| tried.queue_growth_rps.is_none())?;
        Some(format!(
            "Under {} the drives are not steady {}: their write caches fill as long as requests come{}, so nothing is sure there before there are more requests.",
            name(capacity, found),
            position(capacity.find, tried.at),
            full(filling)
        ))
    };
    capacity.choices.iter().filter_map(told).collect()
}

fn full(filling: Filling) -> String {
    filling.full_after.map_or_else(String::new, |requests| {
        format!(" and are full after about {} of them", grouped(requests))
    })
}
