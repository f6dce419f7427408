//! What is said of runs that were too short for what their drives do: a write buffer or the caches
//! had not yet written what they had answered, the queue had not come to rest, flash had not
//! collected often enough, or a volume lived on the credits that it had.
//!
//! An open load that fills caches is more than the drives can do: with more requests, when the
//! write caches are full, the queue grows. A load that waits for answers comes more slowly then,
//! and a disk that chooses the order in which it writes does so the faster the more it has, so
//! nothing is sure of such a setting. Nor is anything of one at which a write buffer has much of
//! what came: it waits before it writes, whether the drives could take more or not.
//!
//! Flash that collects what was overwritten is slower and faster by turns, as its planes move more
//! or less before they erase a block: a round is over when each has collected one, and of a part of
//! one round no interval tells what the next is like. So nothing is sure before there are
//! [`ROUNDS`].

use super::names::{name, position};
use super::{Capacity, Reached, Tried};
use crate::measure::{Filling, Settling};
use crate::number::{grouped, number};
use crate::run::{Spent, Unsteady};

/// How often drives have to come round with what they do by themselves, so that a run tells what
/// they are like: the second round tells whether the first was like others.
pub(super) const ROUNDS: f64 = 2.0;

/// Why all objectives fail at a setting under an open load: the queue grows, or what hides that it
/// would.
pub(super) fn why_it_grows(tried: &Tried) -> String {
    match &tried.unsteady.filling {
        None => {
            "the queue grows as long as requests come, whatever the response times are".to_owned()
        }
        Some(filling) => format!(
            "the drives write less than comes ({}): once that is full the queue grows, whatever the response times are before",
            filling.seen()
        ),
    }
}

/// For each choice of which the numbers that are told are those of write caches that hide the
/// drives, of credits, of a part of what flash does, or of a queue that is not at rest, what is not
/// sure there.
pub(super) fn not_steady(capacity: &Capacity) -> Vec<String> {
    let told = |found: &Reached| {
        let tried = found.shown()?;
        if tried.queue_growth_rps.is_some() {
            return None;
        }
        let drives = "the drives are not steady";
        let (what, why) = match &tried.unsteady {
            Unsteady {
                filling: Some(filling),
                ..
            } => (drives, hidden(filling)),
            Unsteady {
                spent: Some(spent), ..
            } => (drives, on_credits(spent)),
            Unsteady {
                rounds: Some(rounds),
                ..
            } => (drives, collecting(*rounds, tried.requests)),
            Unsteady {
                settling: Some(settling),
                ..
            } => ("the queue was not seen at rest", too_short(settling)),
            _ => return None,
        };
        Some(format!(
            "Under {} {what} {}: {why}.",
            name(capacity, found),
            position(capacity.find, tried.at),
        ))
    };
    capacity.choices.iter().filter_map(told).collect()
}

/// Drives may be faster or slower than was seen.
fn hidden(filling: &Filling) -> String {
    format!(
        "{}, so nothing is sure there before there are more requests",
        filling.seen()
    )
}

/// A longer queue may be to come.
fn too_short(settling: &Settling) -> String {
    format!(
        "{}, so that it holds is not sure there before there are more requests",
        settling.seen()
    )
}

/// What was spent, and how to know what there is without it.
fn on_credits(spent: &Spent) -> String {
    format!(
        "{}; what is carried for ever is found with credits_full=0 of the drive",
        spent.seen()
    )
}

/// What flash had collected in a run of so many requests.
fn collecting(rounds: f64, requests: u64) -> String {
    let needed = match rounds > 0.0 {
        true => format!(
            " about {} requests",
            grouped((requests as f64 * ROUNDS / rounds) as u64)
        ),
        false => " more requests".to_owned(),
    };
    format!(
        "each plane of the flash has collected {} blocks on average during the run, and less than {ROUNDS} tell nothing sure of those to come, so nothing is sure there before there are{needed}",
        number(rounds)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_requests_are_wanted_that_flash_collects_twice() {
        let half = collecting(0.5, 4_000);
        assert!(half.contains("has collected 0.500 blocks"), "{half}");
        assert!(
            half.ends_with("before there are about 16,000 requests"),
            "{half}"
        );
        let none = collecting(0.0, 4_000);
        assert!(none.ends_with("before there are more requests"), "{none}");
    }
}
