//! LRU-Bottom: one list, in which what belongs to a sequence comes in near the end at which lines
//! leave.
//!
//! It is the second of the two that SARC is held against: where LRU gives sequences too much room,
//! this gives them too little. What is asked for by itself comes to the top, as with LRU. What is
//! part of a sequence comes in at a point above the last pages of the list, and comes back to that
//! point when it is asked for again. How far above the end the point lies the paper does not say:
//! it is a setting.
//!
//! The list is two queues, with the point between them. As lines leave the lower one, the oldest of
//! the upper one move down. Beside it are the two lists that SARC goes by (`lists.rs`), so that
//! what both make of a load can be compared; nothing is decided by them. O(1).

use super::in_memory::{COMMON, SETTINGS};
use super::lists::{self, BOTTOM, Lists, SEQUENCES};
use super::queues::Queues;
use crate::contract::{Cache, Entering, Pattern};
use crate::ids::Line;
use crate::measure::{Measure, Tell};
use crate::pages::CACHE_COUNTS;
use crate::registry::{Knob, Need, Spec, joined};

const UPPER: usize = 0;
const LOWER: usize = 1;

struct LruBottom {
    queues: Queues<2>,
    lists: Lists,
    /// Pages below the point, and how many are to be.
    below: u64,
    depth: u64,
}

impl LruBottom {
    fn take(&mut self, line: Line) {
        if self.queues.of(line) == Some(LOWER) {
            self.below -= self.lists.pages_of(line);
        }
        self.queues.take(line);
    }

    fn put(&mut self, line: Line) {
        let queue = match self.lists.list(line) {
            Some(SEQUENCES) => LOWER,
            _ => UPPER,
        };
        if queue == LOWER {
            self.fill();
            self.below += self.lists.pages_of(line);
        }
        self.queues.push(queue, line);
    }

    /// As many pages are below the point as are to be, if there are so many.
    fn fill(&mut self) {
        while self.below < self.depth {
            let Some(line) = self.queues.pop(UPPER) else {
                return;
            };
            self.below += self.lists.pages_of(line);
            self.queues.push(LOWER, line);
        }
    }
}

impl Cache for LruBottom {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
        self.lists.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
        self.lists.fetch(line);
    }

    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some()
    }

    fn len(&self) -> usize {
        self.queues.len(UPPER) + self.queues.len(LOWER)
    }

    fn hit(&mut self, line: Line) {
        let (list, _) = self.lists.hit(line);
        self.lists.promote(list, line);
        self.take(line);
        self.put(line);
    }

    fn miss(&mut self, line: Line) {
        self.miss_in(line, Pattern::Random);
    }

    fn miss_in(&mut self, _line: Line, pattern: Pattern) {
        self.lists.miss(pattern);
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.fill();
        let line = self
            .queues
            .first(LOWER)
            .or_else(|| self.queues.first(UPPER))?;
        self.take(line);
        self.lists.leave(line);
        Some(line)
    }

    fn enter(&mut self, line: Line) {
        self.enter_as(line, Entering::BY_ITSELF);
    }

    fn enter_as(&mut self, line: Line, entering: Entering) {
        self.lists.enter(line, entering.pattern, entering.pages);
        self.put(line);
    }

    fn grow(&mut self, line: Line, pages: u32) {
        self.lists.grow(line, pages);
        if self.queues.of(line) == Some(LOWER) {
            self.below += u64::from(pages);
        }
    }

    fn shrink(&mut self, line: Line, pages: u32) {
        self.lists.shrink(line, pages);
        if self.queues.of(line) == Some(LOWER) {
            self.below -= u64::from(pages);
        }
    }

    fn expect(&mut self, line: Line) {
        self.take(line);
        self.lists.promote(SEQUENCES, line);
        self.put(line);
    }

    fn counts_pages(&self) -> bool {
        true
    }

    fn is_recency(&self) -> bool {
        true
    }

    fn tell(&self, tell: Tell<'_>) {
        self.lists.tell(tell);
    }

    fn audit(&self) {
        self.queues.audit();
        self.lists.audit();
        let lines = self.lists.known();
        let lower = lines.filter(|line| self.queues.of(*line) == Some(LOWER));
        let below: u64 = lower.map(|line| self.lists.pages_of(line)).sum();
        assert_eq!(below, self.below, "pages below the point");
        assert_eq!(self.len(), self.lists.len(), "lines of both lists");
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "lru_bottom",
    aliases: &[],
    summary: "as lru, but what belongs to a sequence comes in near the end of the list",
    source: "Gill and Modha, SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX Annual Technical Conference 2005",
    knobs: &KNOBS,
    measures: &MEASURES,
    asks: &["prefetch"],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let pages = f64::from(env.capacity) * f64::from(env.line_pages);
        Ok(Box::new(LruBottom {
            queues: Queues::new(),
            lists: Lists::of(knobs, env),
            below: 0,
            depth: (pages * knobs.number("depth_percent") / 100.0) as u64,
        }))
    },
};

const DEPTH: Knob = Knob::number(
    "depth_percent",
    10.0,
    0.0..=100.0,
    "how far above the end of the list sequences come in, as a share of the cache; the paper does not say",
)
.needing(Need::Sequences);

static KNOBS: [Knob; SETTINGS + 2] = joined([DEPTH, BOTTOM], COMMON);

static MEASURES: [Measure; lists::MEASURES.len() + CACHE_COUNTS.len()] =
    joined(lists::MEASURES, CACHE_COUNTS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_expected_comes_to_the_point_where_sequences_do() {
        let mut cache = LruBottom {
            queues: Queues::new(),
            lists: Lists::new(1),
            below: 0,
            depth: 2,
        };
        cache.reserve(11);
        for line in 0..10 {
            cache.enter(Line(line));
        }
        cache.expect(Line(9));
        cache.audit();
        let left: Vec<_> = (0..4).map(|_| cache.leave(Line(10))).collect();
        assert_eq!(left, [0, 1, 9, 2].map(|line| Some(Line(line))));
        cache.audit();
    }
}
