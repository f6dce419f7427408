//! First in, first out: whatever was asked for meanwhile, the line that came first leaves first.
//!
//! What simpler hardware does, and what others are measured against. O(1).

use super::in_memory::KNOBS;
use super::one_queue::{OneQueue, Rule};
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

struct Fifo;

impl Rule for Fifo {
    #[inline]
    fn hit(&self, _queue: &mut Queues<1>, _line: Line) {}
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "fifo",
    aliases: &[],
    summary: "the line that came first leaves first",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5 (2), 1966",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(OneQueue::boxed(Fifo)),
};
