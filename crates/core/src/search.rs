//! The nearest of many: which waiting I/O the heads can reach first, without trying all.
//!
//! Positioning is movement plus waiting for the platter. No I/O over a distance costs less than the oracle's
//! `reach`, which never falls with distance. So the search walks outward from the arm's band, up and down in turns,
//! and gives up a side as soon as its next I/O is too far to win. The choice is the same as by trying all: equal
//! prices are not passed over (an older I/O farther out may still win a tie), only greater ones.
//!
//! The idea is old: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HP Laboratories
//! HPL-CSP-91-7, 1991, name it as a way to make SATF affordable. Cost: O(log n) to find the arm's band, then as
//! many prices as I/Os lie within reach. Those become fewer with a longer queue at first, as the best price
//! falls; then their number stays, for the window narrows as the density grows, until it is one band.

use crate::contract::Oracle;
use crate::io::Candidate;
use crate::sorted::{Cursor, Sorted};
use crate::units::{Duration, Instant};

/// The answer of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where it stands among those that wait.
    pub cursor: Cursor,
    /// When its first block can be under the heads, from now.
    pub time: Duration,
    /// What the tie was broken by, if there was one.
    sequence: u64,
}

/// What [`Oracle::nearest`] gives unless an oracle knows better.
#[inline]
pub fn nearest<O: Oracle + ?Sized>(
    oracle: &O,
    now: Instant,
    waiting: &Sorted<Candidate>,
) -> Option<Choice> {
    let head = oracle.head().band;
    let middle = waiting.seek(&(head, 0));
    let mut best: Option<Choice> = None;
    let mut up = waiting.at(middle).map(|_| middle);
    let mut down = waiting.before(middle);
    while up.is_some() || down.is_some() {
        up = up
            .filter(|at| consider(oracle, now, head, waiting, *at, &mut best))
            .map(|at| waiting.after(at))
            .filter(|at| waiting.at(*at).is_some());
        down = down
            .filter(|at| consider(oracle, now, head, waiting, *at, &mut best))
            .and_then(|at| waiting.before(at));
    }
    best
}

/// Tries one; false if it is too far out to win, and with it all beyond.
#[inline]
fn consider<O: Oracle + ?Sized>(
    oracle: &O,
    now: Instant,
    head: u32,
    waiting: &Sorted<Candidate>,
    cursor: Cursor,
    best: &mut Option<Choice>,
) -> bool {
    let candidate = waiting.at(cursor).expect("the walk stays in the list");
    let least = oracle.reach(head.abs_diff(candidate.place.band));
    if best.is_some_and(|found| found.time < least) {
        return false;
    }
    let time = oracle.position(now, candidate.op, &candidate.place);
    let sequence = candidate.sequence;
    if best.is_none_or(|found| (time, sequence) < (found.time, found.sequence)) {
        *best = Some(Choice {
            cursor,
            time,
            sequence,
        });
    }
    true
}
