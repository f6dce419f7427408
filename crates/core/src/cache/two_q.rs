//! 2Q: a line is kept for long only if it is asked for again after it has left a short queue.
//!
//! What comes enters the short queue and leaves it in order, whatever is asked for meanwhile: so
//! several requests for a line in a short time, as for the records of one page, count once. What
//! left it is remembered as a ghost for a while. A line that is missed while it is one enters the
//! long queue, which is an LRU. O(1).
//!
//! Names in the paper: A1in (a quarter of the lines), A1out (ghosts, half as many as there are
//! lines), Am. This is the full version, in which a hit in the short queue changes nothing.

use super::in_memory::KNOBS;
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

const SHORT: usize = 0;
const LONG: usize = 1;
const GHOSTS: usize = 2;
/// No queue: a ghost that was missed, and is to enter.
const RETURNS: usize = 3;

struct TwoQ {
    queues: Queues<3>,
    /// Lines that the short queue may have, and ghosts that there may be.
    short: usize,
    ghosts: usize,
}

impl Cache for TwoQ {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some_and(|queue| queue <= LONG)
    }

    #[inline]
    fn len(&self) -> usize {
        self.queues.len(SHORT) + self.queues.len(LONG)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        if self.queues.of(line) == Some(LONG) {
            self.queues.renew(LONG, line);
        }
    }

    #[inline]
    fn miss(&mut self, line: Line) {
        if self.queues.of(line) == Some(GHOSTS) {
            self.queues.set_aside(line, RETURNS);
        }
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        let is_short = self.queues.len(SHORT) > self.short || self.queues.len(LONG) == 0;
        if !is_short {
            return self.queues.pop(LONG);
        }
        self.queues.shift_of_most(SHORT, GHOSTS, self.ghosts)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        let queue = match self.queues.of(line) {
            None => SHORT,
            Some(_) => LONG,
        };
        self.queues.renew(queue, line);
    }

    fn audit(&self) {
        self.queues.audit();
        assert!(self.queues.len(GHOSTS) <= self.ghosts, "too many ghosts");
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "two_q",
    aliases: &["2q"],
    summary: "a short queue for what is new, and a long one for what was missed again after it had left that",
    source: "Johnson and Shasha, 2Q: a low overhead high performance buffer management replacement algorithm, VLDB 1994",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        Ok(Box::new(TwoQ {
            queues: Queues::new(),
            short: env.capacity as usize / 4,
            ghosts: env.capacity as usize / 2,
        }))
    },
};
