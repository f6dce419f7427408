//! A closed load with the clock running freely: so many requests at time 0, then one more for each
//! that completes, chosen by a registered scheduler.
//!
//! At a completion the next request is chosen among those that wait, then the one that takes the
//! free place joins them.

use nearslot_core::contract::{Blueprint, Drive, Next, Oracle, Scheduler, View};
use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::offer::{Offers, Seen};
use nearslot_core::op::Op;
use nearslot_core::stream::Streams;
use nearslot_core::units::Instant;

use super::choices::scheduler;
use super::free::carry_out;
use super::rows::{Ask, closed_order};
use super::statistics::Statistics;

/// Statistics of the first `count` completions of a closed load.
pub(super) fn run_closed(
    trace: &[Ask],
    depth: usize,
    count: usize,
    drive: &HddBlueprint,
    name: &str,
) -> Statistics {
    let order = closed_order(trace, depth);
    let mut desk = Closed {
        scheduler: scheduler(name, drive).expect("the table has it, and defaults are valid"),
        oracle: drive.exact(),
        model: drive.drive(),
        arrived: vec![Instant::ZERO; order.len()],
        order,
        joined: 0,
    };
    let mut now = Instant::ZERO;
    let mut responses = Vec::with_capacity(count);
    desk.join(now);
    let mut running = desk.choose(now, drive);
    for _ in 1..depth {
        desk.join(now);
    }
    for completed in 1..=count {
        let ask = desk.order[running];
        let (ended, done) = desk.run(now, running, &ask);
        now = ended;
        desk.oracle.observed(now, &done);
        let io = desk.io(running);
        desk.scheduler.done(now, &io, &done, &Streams::default());
        responses.push(now.0 - desk.arrived[running].0);
        if completed < count {
            // With a depth of 1 nothing waits, and the next is what comes now.
            if depth == 1 {
                desk.join(now);
                running = desk.choose(now, drive);
            } else {
                running = desk.choose(now, drive);
                desk.join(now);
            }
        }
    }
    Statistics::of(responses, now.0)
}

/// A closed load on one drive.
struct Closed {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    model: Box<dyn Drive>,
    arrived: Vec<Instant>,
    order: Vec<Ask>,
    joined: usize,
}

impl Closed {
    /// The next request of the trace, if there is one, joins those that wait.
    fn join(&mut self, now: Instant) {
        let index = self.joined;
        if index == self.order.len() {
            return;
        }
        self.joined += 1;
        self.arrived[index] = now;
        let io = self.io(index);
        self.scheduler.insert(now, &io, &Streams::default());
    }

    fn io(&self, index: usize) -> Io {
        let ask = self.order[index];
        Io {
            id: IoId(index as u32),
            sequence: index as u64,
            stream: StreamId(0),
            op: ask.op,
            at: ask.at,
            open: false,
            offer: None,
            len: ask.len,
            arrived: self.arrived[index],
            priority: 0,
            place: self.oracle.locate(ask.at),
            fua: false,
            sync: ask.op == Op::Read,
        }
    }

    fn choose(&mut self, now: Instant, drive: &HddBlueprint) -> usize {
        let view = View {
            now,
            oracle: &*self.oracle,
            capacity: drive.capacity(),
            free: None,
            offers: Seen {
                offers: &Offers::default(),
                writable: None,
            },
            in_flight: 0,
            depth: 1,
        };
        match self.scheduler.next(&view) {
            Next::Start(id) => id.index(),
            other => panic!("requests wait, and the scheduler says {other:?}"),
        }
    }

    fn run(&mut self, now: Instant, index: usize, ask: &Ask) -> (Instant, DriveDone) {
        let command = Command {
            io: IoId(index as u32),
            op: ask.op,
            at: ask.at,
            len: ask.len,
            fua: false,
        };
        self.oracle.started(now, &command);
        carry_out(&mut *self.model, now, index, ask)
    }
}
