//! LIRS: a line is worth what lay between its last two requests, not how long ago the last one was.
//!
//! Nearly all of the cache is for lines that came back soon (LIR). The rest, a hundredth, is a
//! queue for all others that are there (HIR). A *stack* remembers the order of last requests, of
//! lines that are there and of some that have left, down to the LIR line that was not asked for the
//! longest. A line that is asked for while the stack remembers it came back sooner than that one:
//! it becomes LIR, and the other one becomes HIR.
//!
//! ```text
//!   unknown --> LIR, as long as there is room for such --> HIR, when another one becomes LIR
//!           --> HIR, in the stack and the queue        --> LIR, when asked for while in the stack
//!                                                      --> left, and in the stack --> LIR, when missed then
//!                                                      --> left, and forgotten
//! ```
//!
//! In the paper a line of the queue that the stack has forgotten stays HIR when it is asked for,
//! and no LIR line has to go. Here one does, as in libCacheSim, whose miss ratios are thereby met:
//! the HIR line that would leave next leaves, and the next line that comes becomes LIR. The stack
//! has twice as many lines as the cache at most; beyond, it forgets those that left the longest
//! ago. O(1) amortised.

use super::in_memory::KNOBS;
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// Of two sets of queues: the stack is the only one of the first.
const STACK: usize = 0;
/// Lines that are there and are HIR.
const THERE: usize = 0;
/// Lines that have left and that the stack remembers.
const LEFT: usize = 1;

struct Lirs {
    stack: Queues<1>,
    others: Queues<2>,
    capacity: usize,
    /// Lines that may be HIR and there.
    queue: usize,
    /// Lines that are LIR, and that may be.
    near: usize,
    near_max: usize,
    /// Has left with a hit.
    left: Option<Line>,
    /// Whether it was resized, so that more lines may be HIR for a while.
    resized: bool,
}

impl Lirs {
    fn is_near(&self, line: Line) -> bool {
        self.stack.of(line).is_some() && self.others.of(line).is_none()
    }

    /// Takes from the bottom of the stack what is not LIR.
    fn prune(&mut self) {
        while self.stack.len(STACK) > 1
            && let Some(line) = self.stack.first(STACK)
            && !self.is_near(line)
        {
            self.stack.take(line);
            if self.others.of(line) == Some(LEFT) {
                self.others.take(line);
            }
        }
    }

    /// The next line of the queue leaves.
    fn leave_queue(&mut self) -> Option<Line> {
        let line = self.others.first(THERE)?;
        match self.stack.of(line) {
            Some(_) => self.others.renew(LEFT, line),
            None => self.others.take(line),
        }
        Some(line)
    }

    /// The lowest LIR line is it no longer. What is below it the stack forgets.
    fn pop_near(&mut self) -> Option<Line> {
        while let Some(line) = self.stack.pop(STACK) {
            match self.others.of(line) {
                None => {
                    self.near -= 1;
                    return Some(line);
                }
                Some(LEFT) => self.others.take(line),
                Some(_) => {}
            }
        }
        None
    }

    /// The lowest LIR line becomes HIR. If the queue is full, a line leaves.
    fn lower(&mut self) -> Option<Line> {
        let line = self.pop_near()?;
        if self.queue == 0 {
            return Some(line);
        }
        let left = match self.others.len(THERE) >= self.queue {
            true => self.leave_queue(),
            false => None,
        };
        self.others.push(THERE, line);
        self.prune();
        left
    }

    /// Room for one more LIR line.
    fn make_near(&mut self) -> Option<Line> {
        match self.near >= self.near_max {
            true => self.lower(),
            false => None,
        }
    }

    fn limit_stack(&mut self) {
        while self.stack.len(STACK) > 2 * self.capacity
            && let Some(line) = self.others.pop(LEFT)
        {
            self.stack.take(line);
        }
    }
}

/// Lines that may be HIR and there, of so many.
fn queue_of(capacity: usize) -> usize {
    (capacity / 100).max(1).min(capacity - 1)
}

impl Cache for Lirs {
    fn reserve(&mut self, lines: u32) {
        self.stack.reserve(lines);
        self.others.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.stack.fetch(line);
        self.others.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        match self.others.of(line) {
            Some(queue) => queue == THERE,
            None => self.stack.of(line).is_some(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.near + self.others.len(THERE)
    }

    fn hit(&mut self, line: Line) {
        let (stacked, queued) = (
            self.stack.of(line).is_some(),
            self.others.of(line).is_some(),
        );
        if stacked {
            self.stack.renew(STACK, line);
        }
        match (stacked, queued) {
            (true, false) => self.prune(),
            (true, true) => {
                self.others.take(line);
                self.make_near();
                self.near += 1;
            }
            (false, _) => {
                self.others.renew(THERE, line);
                // The only line of the queue would have to leave for itself.
                if self.queue > 1 {
                    self.left = self.make_near();
                }
                self.stack.push(STACK, line);
            }
        }
        self.limit_stack();
    }

    fn miss(&mut self, line: Line) {
        if self.stack.of(line).is_some() {
            self.stack.renew(STACK, line);
        }
    }

    fn resize(&mut self, lines: u32) {
        self.capacity = lines as usize;
        self.queue = queue_of(self.capacity);
        self.near_max = self.capacity - self.queue;
        self.resized = true;
        while self.near > self.near_max
            && let Some(line) = self.pop_near()
        {
            self.others.push(THERE, line);
            self.prune();
        }
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        match self.others.len(THERE) {
            0 => self.lower(),
            _ => self.leave_queue(),
        }
    }

    fn enter(&mut self, line: Line) {
        match (self.stack.of(line), self.near < self.near_max) {
            (Some(_), _) => {
                // Since it was missed others may have come above it: it is LIR before what is below
                // is forgotten.
                self.others.take(line);
                self.make_near();
                self.near += 1;
            }
            (None, true) => {
                self.stack.push(STACK, line);
                self.near += 1;
            }
            (None, false) => {
                self.stack.push(STACK, line);
                self.others.push(THERE, line);
            }
        }
        self.limit_stack();
    }

    fn left(&mut self) -> Option<Line> {
        self.left.take()
    }

    fn audit(&self) {
        self.stack.audit();
        self.others.audit();
        assert!(self.near <= self.near_max, "{} lines are LIR", self.near);
        assert!(
            self.resized || self.others.len(THERE) <= self.queue,
            "too many lines are HIR"
        );
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "lirs",
    aliases: &[],
    summary: "keeps what came back soonest, by what lay between the last two requests",
    source: "Jiang and Zhang, LIRS: an efficient low inter-reference recency set replacement policy, SIGMETRICS 2002",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        let capacity = env.capacity as usize;
        // A cache of one line is for what came last.
        let queue = queue_of(capacity);
        Ok(Box::new(Lirs {
            stack: Queues::new(),
            others: Queues::new(),
            capacity,
            queue,
            near: 0,
            left: None,
            resized: false,
            near_max: capacity - queue,
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{CacheEnv, Knobs};

    /// In a stack a drive's time lies between a miss and its entering, and others are asked for
    /// meanwhile.
    #[test]
    fn a_line_that_was_missed_long_before_it_enters_is_there_then() {
        let env = CacheEnv::of_pages(3);
        let knobs = Knobs::check("lirs", KNOBS, &[]).unwrap();
        let mut cache = (SPEC.build)(&knobs, &env).unwrap();
        cache.reserve(10);
        // Lines 0 and 1 are LIR, 2 and 3 are not; 2 has left.
        cache.ask(3, &[0, 1, 2, 3].map(Line), &[]);
        cache.miss(Line(2));
        cache.hit(Line(1));
        while cache.len() >= 3 {
            cache.leave(Line(2));
        }
        cache.enter(Line(2));
        cache.audit();
        assert!(cache.holds(Line(2)));
        assert_eq!(cache.len(), 3);
    }
}
