//! SIEVE: lines stay where they came, and a hand takes out those that nobody has asked for.
//!
//! The hand goes from the oldest line to the newest and begins anew then. A line that was asked for
//! since the hand was there last is let pass, and stays in its place: so what is popular gathers
//! behind the hand, and what is new meets it soon. It has no defence against a scan of blocks that
//! are each asked for twice. O(1) amortised; marks are looked at one by one, a hit costs no more
//! than a bit.

use super::in_memory::KNOBS;
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// The queue is by when lines came; marked: asked for since the hand passed.
struct Sieve;

impl Rule for Sieve {
    #[inline]
    fn hit(&self, queue: &mut Queues<1>, line: Line) {
        queue.mark(line);
    }

    #[inline]
    fn leave(&self, queue: &mut Queues<1>) -> Option<Line> {
        queue.sweep(QUEUE)
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "sieve",
    aliases: &[],
    summary: "a hand takes out what was not asked for since it came by last; the rest stays where it is",
    source: "Zhang and others, SIEVE is simpler than LRU, NSDI 2024",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(OneQueue::boxed(Sieve)),
};
