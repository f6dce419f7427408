//! SIEVE: lines stay where they came, and a hand takes out those that nobody has asked for.
//!
//! The hand goes from the oldest line to the newest and begins anew then. A line that was asked for since the hand was there last is let pass,
//! and stays in its place: so what is popular gathers behind the hand, and what is new meets it soon. It has no defence against a
//! scan of blocks that are each asked for twice. O(1) amortised; marks are looked at one by one, a hit costs no more than a bit.

use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

struct Sieve {
    /// By when they came; marked: asked for since the hand passed.
    queue: Queues<1>,
}

impl Cache for Sieve {
    fn reserve(&mut self, lines: u32) {
        self.queue.reserve(lines);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queue.of(line).is_some()
    }

    #[inline]
    fn len(&self) -> usize {
        self.queue.len(0)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        self.queue.mark(line);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.queue.sweep(0)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.queue.push(0, line);
    }

    fn audit(&self) {
        self.queue.audit();
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "sieve",
    aliases: &[],
    summary: "a hand takes out what was not asked for since it came by last; the rest stays where it is",
    source: "Zhang and others, SIEVE is simpler than LRU, NSDI 2024",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    build: |_, _| {
        Ok(Box::new(Sieve {
            queue: Queues::new(),
        }))
    },
};
