//! A bench for unit tests of schedulers that go by who asks: requests come and are answered when
//! the test says so, so that times can be written out.

#![cfg(test)]

use crate::contract::{Blueprint, Next, Scheduler, View};
use crate::drive;
use crate::ids::{IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::offer::{Offers, Seen};
use crate::op::{Cost, Op, Status};
use crate::position::Place;
use crate::rng::Rng;
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
            offer: None,
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
            offers: Seen {
                offers: &Offers::default(),
                writable: None,
            },
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

    /// Random requests, starts, withdrawals and answers, and changes of who asks, then all that is
    /// left: every request is served. Nine streams; `ask` draws what one asks for (who, operation,
    /// whether it waits, where, how much), `claim` what is said of one.
    pub(super) fn walk(
        &mut self,
        rng: &mut Rng,
        ask: impl Fn(&mut Rng) -> (u32, Op, bool, u64, u64),
        claim: impl Fn(&mut Rng) -> Stream,
    ) {
        let (mut waiting, mut on_drive) = (Vec::new(), Vec::new());
        for _ in 0..700 {
            self.now += Duration::from_us(rng.below(4_000));
            match rng.below(10) {
                0..=3 => {
                    let (stream, op, sync, at, len) = ask(rng);
                    waiting.push(self.ask(stream, op, sync, at, len));
                }
                4..=6 if on_drive.len() < 8 => {
                    if let Some(id) = self.start() {
                        waiting.retain(|one| *one != id);
                        on_drive.push(id);
                    }
                }
                7 if rng.chance(0.1) && !waiting.is_empty() => {
                    let at = rng.below(waiting.len() as u64) as usize;
                    let io = self.ios[waiting.swap_remove(at) as usize];
                    self.own.withdraw(self.now, &io);
                    self.own.audit();
                }
                8 if rng.chance(0.2) => {
                    let of = claim(rng);
                    self.describe(rng.below(9) as u32, of);
                }
                _ if !on_drive.is_empty() => {
                    let at = rng.below(on_drive.len() as u64) as usize;
                    self.answer(on_drive.swap_remove(at));
                }
                _ => {}
            }
        }
        self.drain(waiting.len() + on_drive.len(), &mut on_drive);
        assert_eq!(self.own.len(), 0);
    }

    /// Serves and answers so many.
    fn drain(&mut self, mut left: usize, on_drive: &mut Vec<u32>) {
        for _ in 0..100_000 {
            if left == 0 {
                return;
            }
            match (self.start(), on_drive.pop()) {
                (Some(id), last) => on_drive.extend(last.into_iter().chain([id])),
                (None, Some(id)) => {
                    self.answer(id);
                    left -= 1;
                }
                (None, None) => self.now = self.waits_until.expect("something waits, nothing runs"),
            }
            self.wait(1);
        }
        panic!("{left} are never served");
    }
}
