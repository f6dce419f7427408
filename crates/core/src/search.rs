//! The nearest of many: which waiting I/O the heads can reach first, without trying all.
//!
//! Positioning is movement plus waiting for the platter. No I/O over a distance costs less than the oracle's
//! `reach`, which never falls with distance. So the search walks outward from the arm's band, up and down in turns,
//! and gives up a side as soon as its next I/O is too far to win. The choice is the same as by trying all: equal
//! prices are not passed over (an older I/O farther out may still win a tie), only greater ones.
//!
//! The idea is old: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HP Laboratories
//! HPL-CSP-91-7, 1991. Cost: O(log n) to find the arm's band, then as many prices as I/Os lie within reach. A longer
//! queue has a better best and so a narrower reach: on a Cheetah 9LP 4, 11, 25 and 49 prices at 8, 64, 512 and 4,096
//! waiting. When many wait on every single band, the count grows with them again.

use crate::contract::Oracle;
use crate::io::Candidate;
use crate::sorted::{Cursor, Sorted};
use crate::units::{Duration, Instant};

/// I/Os that are priced between two looks at the bound: a processor prices a few side by side in less time than it
/// takes to find out that it need not have.
const RUN_MAX: usize = 4;

/// The answer of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where it stands among those that wait.
    pub cursor: Cursor,
    /// When its first block can be under the heads, from now.
    pub time: Duration,
}

/// What [`Oracle::nearest`] gives unless an oracle knows better.
#[inline]
pub fn nearest<O: Oracle + ?Sized>(
    oracle: &O,
    now: Instant,
    waiting: &Sorted<Candidate>,
) -> Option<Choice> {
    let head = oracle.head().band;
    let middle = waiting.seek(&Candidate::lowest_key(head));
    let out_of_reach = |candidate: &Candidate, best: &Best| {
        let distance = head.abs_diff(candidate.place.band);
        oracle.reach(distance) > best.time
    };
    let price = |candidate: &Candidate| oracle.position(now, candidate.op, &candidate.place);
    let mut best = Best {
        time: Duration::MAX,
        sequence: u64::MAX,
        cursor: None,
    };
    let (mut up, mut down) = (middle, middle);
    let (mut up_ended, mut down_ended) = (false, false);
    while !(up_ended && down_ended) {
        if !up_ended {
            let run = waiting.run_from(up);
            let run = &run[..run.len().min(RUN_MAX)];
            up_ended = run.first().is_none_or(|first| out_of_reach(first, &best));
            if !up_ended {
                best.consider(run, up, price);
                up = waiting.forward(up, run.len());
            }
        }
        if !down_ended {
            let run = waiting.run_before(down);
            let run = &run[run.len() - run.len().min(RUN_MAX)..];
            down_ended = run.last().is_none_or(|last| out_of_reach(last, &best));
            if !down_ended {
                down = waiting.back(down, run.len());
                best.consider(run, down, price);
            }
        }
    }
    let Best { time, cursor, .. } = best;
    cursor.map(|cursor| Choice { cursor, time })
}

/// The best so far; before any, one that all others beat.
struct Best {
    time: Duration,
    sequence: u64,
    cursor: Option<Cursor>,
}

impl Best {
    #[inline]
    fn consider(
        &mut self,
        run: &[Candidate],
        start: Cursor,
        price: impl Fn(&Candidate) -> Duration,
    ) {
        for (offset, candidate) in run.iter().enumerate() {
            let time = price(candidate);
            if (time, candidate.sequence) < (self.time, self.sequence) {
                *self = Best {
                    time,
                    sequence: candidate.sequence,
                    cursor: Some(start.plus(offset)),
                };
            }
        }
    }
}
