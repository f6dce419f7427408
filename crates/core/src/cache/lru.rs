//! Least recently used: the line leaves that nobody has asked for the longest.
//!
//! Right where what was asked for lately is asked for again. A scan that is longer than the cache
//! takes everything else out of it. In the terms of SARC this is LRU-Top: whatever comes, comes to
//! the top. O(1).

use super::in_memory::KNOBS;
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// The queue is by when lines were asked for last.
struct Lru;

impl Rule for Lru {
    const IS_RECENCY: bool = true;

    #[inline]
    fn hit(&self, queue: &mut Queues<1>, line: Line) {
        queue.renew(QUEUE, line);
    }

    fn expect(&self, queue: &mut Queues<1>, line: Line) {
        queue.renew(QUEUE, line);
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "lru",
    aliases: &["lru-top"],
    summary: "the line leaves that was not asked for the longest",
    source: "Mattson and others, Evaluation techniques for storage hierarchies, IBM Systems Journal 9 (2), 1970",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(OneQueue::boxed(Lru)),
};
