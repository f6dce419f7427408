//! First in, first out: whatever was asked for meanwhile, the line that came first leaves first.
//!
//! What simpler hardware does, and what others are measured against. O(1).

use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

struct Fifo {
    queue: Queues<1>,
}

impl Cache for Fifo {
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
    fn hit(&mut self, _line: Line) {}

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
    name: "fifo",
    aliases: &[],
    summary: "the line that came first leaves first",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5 (2), 1966",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    build: |_, _| {
        Ok(Box::new(Fifo {
            queue: Queues::new(),
        }))
    },
};
