//! Second chance: a line that was asked for while it was in the cache is let pass once when its turn to leave comes.
//!
//! It does nearly what LRU does, and a hit costs no more than a bit. O(1) amortised: a line that is let pass has been hit.

use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

struct Clock {
    /// By when they came or were let pass; marked: asked for since.
    queue: Queues<1>,
}

impl Cache for Clock {
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
        loop {
            let line = self.queue.first(0)?;
            if !self.queue.is_marked(line) {
                self.queue.take(line);
                return Some(line);
            }
            self.queue.renew(0, line);
        }
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
    name: "clock",
    aliases: &["second-chance", "fifo-reinsertion"],
    summary: "first in, first out, but what was asked for meanwhile is let pass once",
    source: "Corbató, A paging experiment with the Multics system, MIT Project MAC MAC-M-384, 1968",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    build: |_, _| {
        Ok(Box::new(Clock {
            queue: Queues::new(),
        }))
    },
};
