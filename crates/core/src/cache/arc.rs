//! ARC: lines that were asked for once, lines that were asked for again, and a border between them
//! that moves.
//!
//! Both kinds have a queue, by when they were asked for last, and remember as *ghosts* which lines
//! left it. A miss on a ghost says that the queue it left was too short: the border moves to its
//! favour, the faster, the fewer ghosts that queue has beside the other. So a scan fills the first
//! queue alone, and soon no more than a line of it. There is nothing to set.
//!
//! Names in the paper: T1, T2, B1, B2, and p for the length that the first queue is to have. O(1).

use super::in_memory::KNOBS;
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// Asked for once since they came.
const ONCE: usize = 0;
/// Asked for again.
const AGAIN: usize = 1;
/// Left after they had been asked for once.
const GHOSTS_ONCE: usize = 2;
/// Left after they had been asked for again.
const GHOSTS_AGAIN: usize = 3;
/// No queues: a ghost of one kind or the other that was missed, and is to enter.
const RETURNS_ONCE: usize = 4;
const RETURNS_AGAIN: usize = 5;

struct Arc {
    queues: Queues<4>,
    capacity: usize,
    /// How long the queue of lines that were asked for once is to be.
    target: f64,
}

impl Arc {
    /// Lines and ghosts.
    #[inline]
    fn all(&self) -> usize {
        let queues = ONCE..=GHOSTS_AGAIN;
        queues.map(|queue| self.queues.len(queue)).sum()
    }

    /// Lines that were asked for once, or again, and their ghosts.
    fn len_of(&self, queue: usize) -> usize {
        self.queues.len(queue) + self.queues.len(queue + GHOSTS_ONCE)
    }

    /// A line leaves the queue that is too long, and becomes a ghost.
    fn replace(&mut self, incoming: Option<usize>) -> Option<Line> {
        let once = self.queues.len(ONCE);
        let at_target = (once as f64 - self.target).abs() == 0.0 && incoming == Some(RETURNS_AGAIN);
        let too_long = once > 0 && (once as f64 > self.target || at_target);
        let from = match too_long || self.queues.len(AGAIN) == 0 {
            true => ONCE,
            false => AGAIN,
        };
        self.queues.shift(from, from + GHOSTS_ONCE)
    }

    /// The same for a line of which nothing is known: the ghosts become fewer by one, where there
    /// are as many as may be.
    fn replace_for_unknown(&mut self) -> Option<Line> {
        let [once, again, ghosts_once, ghosts_again] =
            [ONCE, AGAIN, GHOSTS_ONCE, GHOSTS_AGAIN].map(|queue| self.queues.len(queue));
        if once + ghosts_once >= self.capacity {
            if ghosts_once == 0 {
                return self.queues.pop(ONCE);
            }
            self.queues.pop(GHOSTS_ONCE);
        } else if once + ghosts_once + again + ghosts_again >= 2 * self.capacity {
            self.queues.pop(GHOSTS_AGAIN);
        }
        self.replace(None)
    }
}

/// How far a miss on a ghost moves the border, by how many ghosts there are of its kind and of the
/// other.
pub(super) fn step(own: usize, other: usize) -> f64 {
    (other as f64 / own as f64).max(1.0)
}

impl Cache for Arc {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some_and(|queue| queue <= AGAIN)
    }

    #[inline]
    fn len(&self) -> usize {
        self.queues.len(ONCE) + self.queues.len(AGAIN)
    }

    #[inline(always)]
    fn hit(&mut self, line: Line) {
        self.queues.renew(AGAIN, line);
    }

    #[inline]
    fn miss(&mut self, line: Line) {
        let [once, again] = [GHOSTS_ONCE, GHOSTS_AGAIN].map(|queue| self.queues.len(queue));
        let returns = match self.queues.of(line) {
            Some(GHOSTS_ONCE) => {
                self.target = (self.target + step(once, again)).min(self.capacity as f64);
                RETURNS_ONCE
            }
            Some(GHOSTS_AGAIN) => {
                self.target = (self.target - step(again, once)).max(0.0);
                RETURNS_AGAIN
            }
            _ => return,
        };
        self.queues.set_aside(line, returns);
    }

    #[inline]
    fn leave(&mut self, incoming: Line) -> Option<Line> {
        match self.queues.of(incoming) {
            None => self.replace_for_unknown(),
            returns => self.replace(returns),
        }
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        let queue = match self.queues.of(line) {
            None => ONCE,
            Some(_) => AGAIN,
        };
        self.queues.renew(queue, line);
        // Others may have become ghosts while this one, which was a ghost, was on its way.
        while self.all() > 2 * self.capacity && self.queues.pop(GHOSTS_AGAIN).is_some() {}
    }

    fn resize(&mut self, lines: u32) {
        self.capacity = lines as usize;
        self.target = self.target.min(lines.into());
        while self.len_of(ONCE) > self.capacity && self.queues.pop(GHOSTS_ONCE).is_some() {}
        while self.all() > 2 * self.capacity && self.queues.pop(GHOSTS_AGAIN).is_some() {}
    }

    fn audit(&self) {
        self.queues.audit();
        let all = self.all();
        assert!(all <= 2 * self.capacity, "{all} lines and ghosts");
        assert!(self.len() <= self.capacity, "{} lines", self.len());
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "arc",
    aliases: &[],
    summary: "what was asked for once and what was asked for again, with a border that ghosts of both move",
    source: "Megiddo and Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        Ok(Box::new(Arc {
            queues: Queues::new(),
            capacity: env.capacity as usize,
            target: 0.0,
        }))
    },
};
