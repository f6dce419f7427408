//! First come, first served: the order of arrival, whatever it costs.
//!
//! The yardstick of every comparison, and what Linux calls `none`. O(1) per I/O.

use std::collections::VecDeque;

use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::registry::Spec;
use crate::units::Instant;

#[derive(Default)]
struct Fcfs {
    queue: VecDeque<IoId>,
}

impl Scheduler for Fcfs {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.queue.push_back(io.id);
    }

    fn withdraw(&mut self, io: &Io) {
        let found = self.queue.iter().position(|id| *id == io.id);
        let index = found.expect("what is withdrawn waits");
        self.queue.remove(index);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        self.queue.pop_front().map_or(Next::Empty, Next::Start)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "fcfs",
    aliases: &["none", "noop", "fifo"],
    summary: "first come, first served",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS 1967",
    knobs: &[],
    build: |_, _| Ok(Box::<Fcfs>::default()),
};
