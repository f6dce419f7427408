//! First come, first served: the order of arrival, whatever it costs.
//!
//! The baseline of every comparison; Linux calls it `none`. O(1) per I/O, and O(log n),
//! amortised, where some are withdrawn.

use super::fifo::Fifo;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::stream::Streams;
use crate::units::Instant;

#[derive(Default)]
struct Fcfs {
    queue: Fifo<()>,
}

impl Scheduler for Fcfs {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.queue.push(io.id, ());
    }

    fn grown(&mut self, _now: Instant, _before: &Io, _after: &Io, _streams: &Streams) {
        // It keeps its turn.
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.queue.leave(io.id);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let first = self.queue.pop();
        first.map_or(Next::Empty, |(id, ())| Next::Start(id))
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn audit(&self) {
        self.queue.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "fcfs",
    aliases: &["none", "noop", "fifo"],
    summary: "first come, first served",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS 1967",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::<Fcfs>::default()),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::Read;

    #[test]
    fn the_order_is_that_of_arrival_whatever_it_costs() {
        // Block 5 passes at 5 ms. Then block 13 has just passed when the arm is there, at 6.5 ms.
        let desk = Desk::new("fcfs").reads(&[5, 13]);
        assert_eq!(desk.run_all(), [Read(5, 6), Read(13, 14)]);
    }

    #[test]
    fn a_withdrawn_io_is_not_served() {
        let desk = Desk::new("fcfs").reads(&[50, 20, 80]).withdraw(1);
        assert_eq!(desk.order(), [50, 80]);
    }
}
