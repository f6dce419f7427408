//! A bench for unit tests of schedulers that go by who asks: requests come and are answered when the test says so, so that times can be written out.

#![cfg(test)]

use crate::contract::{Blueprint, Next, Scheduler, View};
use crate::drive;
use crate::ids::{IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::op::{Cost, Op, Status};
use crate::position::Place;
use crate::stream::{Stream, Streams};
use crate::units::{Blocks, Duration, Instant, Pba};

use super::desk::DISK;

/// A scheduler, and a drive that answers when it is told to.
pub(super) struct Bench<S> {
    pub(super) own: S,
    blueprint: Box<dyn Blueprint>,
    pub(super) now: Instant,
    pub(super) ios: Vec<Io>,
    streams: Streams,
    on_drive: u32,
    pub(super) waits_until: Option<Instant>,
}

/// So many milliseconds after the begin.
pub(super) fn at_ms(ms: u64) -> Instant {
    Instant(ms * 1_000_000)
}

impl<S: Scheduler> Bench<S> {
    pub(super) fn of(own: S) -> Bench<S> {
        Bench {
            own,
            blueprint: drive::read("small", DISK, &[]).unwrap().0,
            now: Instant::ZERO,
            ios: Vec::new(),
            streams: Streams::default(),
            on_drive: 0,
            waits_until: None,
        }
    }

    pub(super) fn describe(&mut self, stream: u32, of: Stream) {
        self.streams.describe(StreamId(stream), of);
    }

    pub(super) fn ask(&mut self, stream: u32, op: Op, sync: bool, at: u64, len: u64) -> u32 {
        let id = self.ios.len() as u32;
        let io = Io {
            id: IoId(id),
            sequence: u64::from(id),
            stream: StreamId(stream),
            op,
            at: Pba(at),
            open: false,
            len: Blocks(len),
            arrived: self.now,
            priority: 0,
            fua: false,
            sync,
            place: Place::default(),
        };
        self.ios.push(io);
        self.own.insert(self.now, &io, &self.streams);
        self.own.audit();
        id
    }

    pub(super) fn read(&mut self, stream: u32, at: u64, len: u64) -> u32 {
        self.ask(stream, Op::Read, true, at, len)
    }

    pub(super) fn write(&mut self, stream: u32, at: u64, len: u64) -> u32 {
        self.ask(stream, Op::Write, false, at, len)
    }

    /// What goes to the drive now.
    pub(super) fn start(&mut self) -> Option<u32> {
        let oracle = self.blueprint.exact();
        let view = View {
            now: self.now,
            oracle: &*oracle,
            capacity: Blocks(1 << 30),
            free: None,
            in_flight: self.on_drive,
            depth: 32,
        };
        let next = self.own.next(&view);
        self.own.audit();
        self.waits_until = None;
        match next {
            Next::Start(id) => {
                self.on_drive += 1;
                Some(id.0)
            }
            Next::WaitUntil(until) => {
                self.waits_until = Some(until);
                None
            }
            Next::Empty => None,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn answer(&mut self, id: u32) {
        let io = self.ios[id as usize];
        let done = DriveDone {
            io: io.id,
            op: io.op,
            at: io.at,
            len: io.len,
            status: Status::Done,
            cost: Cost::default(),
            arm: None,
        };
        self.on_drive -= 1;
        self.own.done(self.now, &io, &done, &self.streams);
        self.own.audit();
    }

    /// Starts what is next, which must be this, and answers it after so long.
    pub(super) fn serve(&mut self, id: u32, ms: u64) {
        assert_eq!(self.start(), Some(id), "at {}", self.now);
        self.now += Duration::from_ms(ms);
        self.answer(id);
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.now += Duration::from_ms(ms);
    }

    /// So much time passes, in which nothing can start.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.now + Duration::from_ms(ms);
        loop {
            assert_eq!(self.start(), None);
            match self.waits_until.filter(|until| *until <= end) {
                Some(until) => self.now = until,
                None => break,
            }
        }
        self.now = end;
    }

    /// Starts this one, after others, each of which takes a millisecond.
    pub(super) fn start_at_last(&mut self, id: u32) {
        loop {
            match self.start() {
                Some(started) if started == id => return,
                Some(other) => {
                    self.wait(1);
                    self.answer(other);
                }
                None => self.now = self.waits_until.expect("something waits"),
            }
        }
    }
}
