//! Segments of an LRU list, each with a length of its own: what SLRU is made of, and the main part
//! of W-TinyLFU.
//!
//! A line that is asked for goes to the front of the segment above its own, and what a segment has
//! too many goes to the one below.

use super::queues::Queues;
use crate::ids::Line;

/// The first `N` queues are segments, the lowest first.
#[derive(Clone, Debug)]
pub(super) struct Segments<const N: usize> {
    /// How many lines each may have.
    pub(super) lengths: [usize; N],
}

impl<const N: usize> Segments<N> {
    /// Segments of these shares of so many lines; if that is too little for any, all are for the
    /// lowest.
    pub(super) fn new(capacity: usize, shares: [usize; N]) -> Segments<N> {
        let all: usize = shares.iter().sum();
        let mut lengths = shares.map(|share| capacity * share / all);
        if lengths.iter().all(|length| *length == 0) {
            lengths[0] = capacity;
        }
        Segments { lengths }
    }

    /// All lines in them.
    #[inline]
    pub(super) fn len<const M: usize>(&self, queues: &Queues<M>) -> usize {
        (0..N).map(|segment| queues.len(segment)).sum()
    }

    /// A line of a segment is asked for. If one comes down into the lowest, what that has too many
    /// has left.
    #[inline]
    pub(super) fn hit<const M: usize>(
        &self,
        queues: &mut Queues<M>,
        line: Line,
        segment: usize,
        left: &mut Vec<Line>,
    ) {
        let above = (segment + 1).min(N - 1);
        queues.renew(above, line);
        for segment in (1..=above).rev() {
            if queues.len(segment) <= self.lengths[segment] {
                return;
            }
            queues.shift(segment, segment - 1);
        }
        while queues.len(0) > self.lengths[0] {
            left.extend(queues.pop(0));
        }
    }

    /// A line enters, into the lowest segment that has room.
    #[inline]
    pub(super) fn enter<const M: usize>(&self, queues: &mut Queues<M>, line: Line) {
        let room = |segment: &usize| queues.len(*segment) < self.lengths[*segment];
        queues.renew((0..N).find(room).unwrap_or(0), line);
    }

    /// The next line to leave.
    #[inline]
    pub(super) fn first<const M: usize>(&self, queues: &mut Queues<M>) -> Option<Line> {
        (0..N).find_map(|segment| queues.first(segment))
    }
}
