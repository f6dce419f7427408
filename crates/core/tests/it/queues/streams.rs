//! Who asks reaches the scheduler, with the I/O and with its end.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};

use nearslot_core::contract::{Merging, Next, Scheduler, View};
use nearslot_core::ids::{GroupId, StreamId};
use nearslot_core::io::{DriveDone, Io};
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::stack::Input;
use nearslot_core::stream::{Class, Stream, Streams};
use nearslot_core::units::Instant;

use super::rig::Rig;

/// What a scheduler was told: whether an I/O came or ended, of which stream, and what was known of
/// that.
type Told = (&'static str, u32, Stream);

/// First come, first served, and writes down what it is told.
struct Listener {
    queue: VecDeque<Io>,
    log: Sender<Told>,
}

impl Listener {
    fn note(&self, what: &'static str, io: &Io, streams: &Streams) {
        let noted = (what, io.stream.0, streams.of(io.stream));
        self.log.send(noted).expect("the test listens");
    }
}

impl Scheduler for Listener {
    fn insert(&mut self, _now: Instant, io: &Io, streams: &Streams) {
        self.note("insert", io, streams);
        self.queue.push_back(*io);
    }

    fn withdraw(&mut self, _now: Instant, _io: &Io) {
        panic!("nothing here has alternatives");
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let first = self.queue.pop_front();
        first.map_or(Next::Empty, |io| Next::Start(io.id))
    }

    fn done(&mut self, _now: Instant, io: &Io, done: &DriveDone, streams: &Streams) {
        assert_eq!((io.id, io.at, io.len), (done.io, done.at, done.len));
        self.note("done", io, streams);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

fn request(id: u64, stream: u32, op: Op, priority: u16) -> Request {
    let len = if op == Op::Flush { 0 } else { 8 };
    Request {
        stream: StreamId(stream),
        priority,
        ..Request::new(id, op, 0, len, Instant::ZERO)
    }
}

#[test]
fn a_scheduler_sees_who_asks_with_the_io_and_with_its_end() {
    let (log, told) = channel();
    let listener = Listener {
        queue: VecDeque::new(),
        log,
    };
    let mut rig = Rig::new(Box::new(listener), Merging::None);
    let heavy = Stream {
        weight: 500,
        group: GroupId(3),
        ..Stream::UNKNOWN
    };
    rig.give(Input::Describe(StreamId(2), heavy));
    rig.submit(request(1, 1, Op::Read, 1 << 13 | 7));
    rig.submit(request(2, 2, Op::Write, 0));
    // Flushes pass by.
    rig.submit(request(3, 2, Op::Flush, 0));
    rig.settle();
    let urgent = Stream {
        class: Class::RealTime,
        level: 7,
        ..Stream::UNKNOWN
    };
    let expected = [
        ("insert", 1, urgent),
        ("insert", 2, heavy),
        ("done", 1, urgent),
        ("done", 2, heavy),
    ];
    assert_eq!(told.try_iter().collect::<Vec<_>>(), expected);
    assert_eq!(rig.replies.len(), 3);
}
