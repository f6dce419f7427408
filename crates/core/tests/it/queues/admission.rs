//! A scheduler says what may queue; what may not waits before it, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nearslot_core::contract::{Merging, Next, Queued, Scheduler, View};
use nearslot_core::ids::StreamId;
use nearslot_core::io::{DriveDone, Io};
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Duration, Instant};

use super::rig::{CONTIGUOUS, Rig};

#[test]
fn what_does_not_fit_waits_in_order() {
    let mut rig = Rig::named("mq-deadline", Merging::None);
    rig.ask(Op::Read, &[200, 500, 400, 300]);
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (300, 8), (400, 8), (500, 8)]);
    // With room for two the scheduler does not know of 300 when it chooses 400.
    let mut rig = Rig::named("mq-deadline:nr_requests=2", Merging::None);
    rig.ask(Op::Read, &[200, 500, 400, 300]);
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (400, 8), (500, 8), (300, 8)]);
}

#[test]
fn a_limit_of_writes_does_not_keep_reads_out() {
    let mut rig = Rig::named("mq-deadline:async_depth=1:fifo_batch=1", Merging::None);
    rig.ask(Op::Write, &[0, 100, 200]);
    rig.ask(Op::Read, &[400]);
    rig.settle();
    let expected = [(0, 8), (400, 8), (100, 8), (200, 8)];
    assert_eq!(rig.commands, expected);
}

#[test]
fn what_joins_a_waiting_one_needs_no_room() {
    let mut rig = Rig::named("mq-deadline:nr_requests=2", CONTIGUOUS);
    rig.ask(Op::Read, &[200, 300, 500, 308]);
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (300, 16), (500, 8)]);
    // What waits before the queue joins when it is let in.
    let mut rig = Rig::named("mq-deadline:nr_requests=2", CONTIGUOUS);
    rig.ask(Op::Read, &[200, 300, 500, 508, 516]);
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (300, 8), (500, 24)]);
}

/// Two that wait become one with what lies between them: there is room for another one at once.
#[test]
fn what_fills_a_gap_makes_room() {
    let mut rig = Rig::named("mq-deadline:nr_requests=3", CONTIGUOUS);
    rig.ask(Op::Read, &[200, 300, 316, 500, 308]);
    rig.stack.audit();
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (300, 24), (500, 8)]);
}

/// Admits low blocks at any time, and others only by themselves.
struct Picky(VecDeque<Io>);

impl Scheduler for Picky {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.0.push_back(*io);
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        io.at.0 < 100 || queued.all() == 0
    }

    fn withdraw(&mut self, _now: Instant, _io: &Io) {
        panic!("nothing here has alternatives");
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let first = self.0.pop_front();
        first.map_or(Next::Empty, |io| Next::Start(io.id))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn who_would_be_admitted_does_not_pass_one_who_waits() {
    let mut rig = Rig::new(Box::new(Picky(VecDeque::new())), Merging::None);
    rig.ask(Op::Read, &[200, 300, 50]);
    rig.settle();
    assert_eq!(rig.commands, [(200, 8), (300, 8), (50, 8)]);
}

/// Has so many places, whoever asks; counts how often it was asked about an I/O.
struct Counting {
    asked: Arc<AtomicU64>,
    queue: VecDeque<Io>,
}

impl Scheduler for Counting {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.queue.push_back(*io);
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        self.asked.fetch_add(1, Relaxed);
        !self.is_full(io.op, io.sync, queued)
    }

    fn limits_streams(&self) -> bool {
        true
    }

    fn is_full(&self, _op: Op, _sync: bool, queued: &Queued) -> bool {
        queued.all() >= 4
    }

    fn withdraw(&mut self, _now: Instant, _io: &Io) {
        panic!("nothing here has alternatives");
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let first = self.queue.pop_front();
        first.map_or(Next::Empty, |io| Next::Start(io.id))
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Else each end of an I/O would cost as much as there are streams.
#[test]
fn of_many_streams_that_wait_few_are_asked_about() {
    let asked = Arc::new(AtomicU64::new(0));
    let counting = Counting {
        asked: asked.clone(),
        queue: VecDeque::new(),
    };
    let mut rig = Rig::new(Box::new(counting), Merging::None);
    // An audit asks about all.
    rig.audits = false;
    for id in 1..=1_000 {
        let op = [Op::Read, Op::Write][id as usize % 2];
        rig.submit(Request {
            stream: StreamId(id as u32),
            ..Request::new(id, op, id * 8, 8, rig.now)
        });
    }
    rig.settle();
    let in_order = (1..=1_000).map(|id| (id * 8, 8));
    assert!(
        rig.commands.iter().copied().eq(in_order),
        "the oldest first"
    );
    let asked = asked.load(Relaxed);
    assert!(asked < 4_000, "asked {asked} times about 1,000 I/Os");
}

/// First come, first served, with limits; knows what it was given.
struct Strict {
    reads: u32,
    writes: u32,
    queue: VecDeque<Io>,
    has: Queued,
}

impl Strict {
    fn check(&self, queued: &Queued) {
        assert_eq!(*queued, self.has, "what it was given and has not ended");
    }
}

impl Scheduler for Strict {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.has.count(io.op, 1);
        assert!(self.has.reads <= self.reads, "too many reads");
        assert!(self.has.writes <= self.writes, "too many writes");
        self.queue.push_back(*io);
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        self.check(queued);
        match io.op {
            Op::Read => queued.reads < self.reads,
            _ => queued.writes < self.writes,
        }
    }

    fn grown(&mut self, _now: Instant, before: &Io, after: &Io, _streams: &Streams) {
        let found = self.queue.iter_mut().find(|io| *io == before);
        *found.expect("it waits") = *after;
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.queue.retain(|other| other != io);
        self.has.count(io.op, -1);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let first = self.queue.pop_front();
        first.map_or(Next::Empty, |io| Next::Start(io.id))
    }

    fn done(&mut self, _now: Instant, io: &Io, done: &DriveDone, _streams: &Streams) {
        assert_eq!((io.at, io.len), (done.at, done.len));
        self.has.count(io.op, -1);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

#[test]
fn never_do_more_queue_than_the_scheduler_admits_and_all_are_served() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "admission");
        let strict = Strict {
            reads: 1 + rng.below(4) as u32,
            writes: 1 + rng.below(4) as u32,
            queue: VecDeque::new(),
            has: Queued::default(),
        };
        let merging = if rng.chance(0.5) {
            CONTIGUOUS
        } else {
            Merging::None
        };
        let mut rig = Rig::new(Box::new(strict), merging);
        for id in 1..200 {
            let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
            rig.submit(Request::new(id, op, rng.below(30) * 8, 8, rig.now));
            let until = rig.now + Duration::from_us(rng.below(9_000));
            while rig.step(until) {}
            rig.now = until;
        }
        rig.settle();
        assert_eq!(rig.replies.len(), 199);
        assert!(rig.commands.len() == 199 || merging != Merging::None);
    }
}
