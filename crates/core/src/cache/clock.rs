//! Second chance: a line that was asked for while it was in the cache is let pass once when its
//! turn to leave comes.
//!
//! It does nearly what LRU does, and a hit costs no more than a bit. O(1) amortised: a line that is
//! let pass has been hit.

use super::in_memory::KNOBS;
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// The queue is by when lines came or were let pass; marked: asked for since.
struct Clock;

impl Rule for Clock {
    #[inline]
    fn hit(&self, queue: &mut Queues<1>, line: Line) {
        queue.mark(line);
    }

    #[inline]
    fn leave(&self, queue: &mut Queues<1>) -> Option<Line> {
        queue.pop_unmarked(QUEUE)
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "clock",
    aliases: &["second-chance", "fifo-reinsertion"],
    summary: "first in, first out, but what was asked for meanwhile is let pass once",
    source: "Corbató, A paging experiment with the Multics system, MIT Project MAC MAC-M-384, 1968",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(OneQueue::boxed(Clock)),
};
