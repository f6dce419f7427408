//! Least recently used: the line leaves that nobody has asked for the longest.
//!
//! Right where what was asked for lately is asked for again. A scan that is longer than the cache takes everything else out of it. In the
//! terms of SARC this is LRU-Top: whatever comes, comes to the top. O(1).

use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

struct Lru {
    /// By when they were asked for last.
    queue: Queues<1>,
}

impl Cache for Lru {
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
        self.queue.renew(0, line);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.queue.pop(0)
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
    name: "lru",
    aliases: &["lru-top"],
    summary: "the line leaves that was not asked for the longest",
    source: "Mattson and others, Evaluation techniques for storage hierarchies, IBM Systems Journal 9 (2), 1970",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    build: |_, _| {
        Ok(Box::new(Lru {
            queue: Queues::new(),
        }))
    },
};
