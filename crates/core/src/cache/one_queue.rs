//! What caches have in common that are one queue: a line that enters is the newest, and which one
//! leaves is each rule's own.

use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;

/// The queue.
pub(super) const QUEUE: usize = 0;

/// What a hit changes, and which line leaves.
pub(super) trait Rule: Send + 'static {
    /// Whether the queue has the lines that were asked for last.
    const IS_RECENCY: bool = false;

    /// A line of the queue is asked for.
    fn hit(&self, queue: &mut Queues<1>, line: Line);

    /// A line of the queue will be asked for soon.
    #[inline]
    fn expect(&self, _queue: &mut Queues<1>, _line: Line) {}

    /// A line leaves: the oldest, if the rule does not know better.
    #[inline]
    fn leave(&self, queue: &mut Queues<1>) -> Option<Line> {
        queue.pop(QUEUE)
    }
}

/// A cache that is one queue.
pub(super) struct OneQueue<R> {
    queue: Queues<1>,
    rule: R,
}

impl<R: Rule> OneQueue<R> {
    /// An empty one.
    pub(super) fn boxed(rule: R) -> Box<dyn Cache> {
        Box::new(OneQueue {
            queue: Queues::new(),
            rule,
        })
    }
}

impl<R: Rule> Cache for OneQueue<R> {
    fn reserve(&mut self, lines: u32) {
        self.queue.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queue.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queue.of(line).is_some()
    }

    #[inline]
    fn len(&self) -> usize {
        self.queue.len(QUEUE)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        self.rule.hit(&mut self.queue, line);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.rule.leave(&mut self.queue)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.queue.push(QUEUE, line);
    }

    fn expect(&mut self, line: Line) {
        self.rule.expect(&mut self.queue, line);
    }

    fn counts_pages(&self) -> bool {
        true
    }

    fn is_recency(&self) -> bool {
        R::IS_RECENCY
    }

    fn audit(&self) {
        self.queue.audit();
    }
}
