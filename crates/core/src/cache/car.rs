//! CAR: ARC with clocks, so that a hit is no more than a mark.
//!
//! Lines that were asked for once and lines that were asked for again have a queue each, and ghosts
//! of both move the border between them, as in ARC. When a line has to leave, the first queue is
//! looked at if it is longer than it is to be, the second one else. Its oldest line becomes a ghost
//! if it has no mark; if it has one, it loses it and joins the second queue as the newest, and the
//! next one is looked at. A line that returns is one that was asked for again.
//!
//! Names in the paper: T1, T2, B1, B2, and p for the length that the first queue is to have. The
//! border moves once there is room: it is the ghosts of then that say how far. O(1) amortised: each
//! line that is passed has been asked for.

use super::arc::step;
use super::in_memory::KNOBS;
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// Asked for once, as far as is known.
const ONCE: usize = 0;
/// Asked for again.
const AGAIN: usize = 1;
/// Left the first queue.
const GHOSTS_ONCE: usize = 2;
/// Left the second one.
const GHOSTS_AGAIN: usize = 3;

struct Car {
    queues: Queues<4>,
    capacity: usize,
    /// How long the first queue is to be.
    target: f64,
}

impl Car {
    /// The first line without a mark becomes a ghost.
    fn replace(&mut self) -> Option<Line> {
        loop {
            let long = self.queues.len(ONCE) as f64 >= self.target.max(1.0);
            let from = if long { ONCE } else { AGAIN };
            let line = self.queues.first(from)?;
            if !self.queues.is_marked(line) {
                self.queues.renew(from + GHOSTS_ONCE, line);
                return Some(line);
            }
            self.queues.renew(AGAIN, line);
        }
    }

    /// Whether a line was in the cache and is remembered.
    fn is_ghost(&self, line: Line) -> bool {
        self.queues.of(line).is_some_and(|queue| queue > AGAIN)
    }

    /// How many lines each queue has.
    fn lens(&self) -> [usize; 4] {
        [ONCE, AGAIN, GHOSTS_ONCE, GHOSTS_AGAIN].map(|queue| self.queues.len(queue))
    }

    /// Forgets a ghost where there are as many as may be.
    fn forget(&mut self) {
        let lens = self.lens();
        if lens[ONCE] + lens[GHOSTS_ONCE] > self.capacity {
            self.queues.pop(GHOSTS_ONCE);
        } else if lens.iter().sum::<usize>() > 2 * self.capacity {
            self.queues.pop(GHOSTS_AGAIN);
        }
    }
}

impl Cache for Car {
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

    #[inline]
    fn hit(&mut self, line: Line) {
        self.queues.mark(line);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.replace()
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        if !self.is_ghost(line) {
            self.queues.push(ONCE, line);
            return self.forget();
        }
        let [.., once, again] = self.lens();
        self.target = match self.queues.of(line) {
            Some(GHOSTS_ONCE) => (self.target + step(once, again)).min(self.capacity as f64),
            _ => (self.target - step(again, once)).max(0.0),
        };
        self.queues.renew(AGAIN, line);
    }

    fn audit(&self) {
        self.queues.audit();
        let lens = self.lens();
        assert!(lens.iter().sum::<usize>() <= 2 * self.capacity, "{lens:?}");
        assert!(lens[ONCE] + lens[GHOSTS_ONCE] <= self.capacity, "{lens:?}");
        assert!(self.len() <= self.capacity, "{} lines", self.len());
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "car",
    aliases: &[],
    summary: "arc with clocks: a hit is a mark, and lines with one are let pass",
    source: "Bansal and Modha, CAR: Clock with Adaptive Replacement, FAST 2004",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        Ok(Box::new(Car {
            queues: Queues::new(),
            capacity: env.capacity as usize,
            target: 0.0,
        }))
    },
};
