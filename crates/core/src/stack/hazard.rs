//! Writes to the same chunk follow each other in the order in which they came.
//!
//! A placement that writes chunks as a whole reads, changes and writes back where a request covers only a part of one,
//! and maps what it wrote when that is done; two such writes at a time would lose one. So a write (or discard) that
//! touches a chunk of an unfinished one is held until that is answered. Reads are not held: what was not answered
//! may be seen or not.
//!
//! Chunks under way are disjoint runs in order; cost O(log n) per write, and a look at all that is held per answer,
//! which is rarely anything.

use std::collections::VecDeque;

use crate::op::Op;
use crate::request::Request;
use crate::sorted::{Keyed, Sorted};
use crate::units::Blocks;

/// Chunks of a write under way.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    last: u64,
}

impl Keyed for Run {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.first
    }
}

/// Writes under way, and those that wait for one of them.
pub(super) struct Hazards {
    chunk: Blocks,
    running: Sorted<Run>,
    held: VecDeque<Request>,
}

impl Hazards {
    pub(super) fn new(chunk: Blocks) -> Hazards {
        Hazards {
            chunk,
            running: Sorted::default(),
            held: VecDeque::new(),
        }
    }

    /// The chunks that a request changes.
    #[inline]
    fn run(&self, request: &Request) -> Option<Run> {
        let changes = matches!(request.op, Op::Write | Op::Discard) && request.extent.len.0 > 0;
        (self.chunk.0 > 1 && changes).then(|| Run {
            first: request.extent.start.0 / self.chunk.0,
            last: (request.extent.end().0 - 1) / self.chunk.0,
        })
    }

    fn meets_running(&self, run: &Run) -> bool {
        let above = self.running.seek(&run.first);
        let below = self.running.before(above);
        let touches = |at| {
            self.running
                .at(at)
                .is_some_and(|other| other.first <= run.last && run.first <= other.last)
        };
        touches(above) || below.is_some_and(touches)
    }

    /// Whether a request may begin; if not, it is held.
    #[inline]
    pub(super) fn admit(&mut self, request: &Request) -> bool {
        let Some(run) = self.run(request) else {
            return true;
        };
        let held = |other: &Request| {
            let other = self.run(other).expect("only writes are held");
            other.first <= run.last && run.first <= other.last
        };
        if self.meets_running(&run) || self.held.iter().any(held) {
            self.held.push_back(*request);
            return false;
        }
        self.running.insert(run);
        true
    }

    /// A request was answered. What it held up and may begin now is given by [`Hazards::release`].
    #[inline]
    pub(super) fn answered(&mut self, request: &Request) {
        if let Some(run) = self.run(request) {
            let taken = self.running.take(&run.first);
            assert!(taken.is_some(), "{:?} was not under way", request.id);
        }
    }

    /// A held request that may begin now.
    #[inline]
    pub(super) fn release(&mut self) -> Option<Request> {
        if self.held.is_empty() {
            return None;
        }
        let all: Vec<Request> = self.held.drain(..).collect();
        let mut free = None;
        for request in all {
            // In order of arrival: whoever is held by an earlier one that is held stays.
            if free.is_none() {
                if self.admit(&request) {
                    free = Some(request);
                }
            } else {
                self.held.push_back(request);
            }
        }
        free
    }

    /// Requests that are held.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}
