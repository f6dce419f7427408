//! One drive's queue: what waits, what runs, and what may be known of the drive.

use std::collections::VecDeque;

use crate::contract::{Next, Oracle, Scheduler, View};
use crate::freemap::{FreeMap, Slot};
use crate::ids::IoId;
use crate::io::{Command, DriveDone, Io};
use crate::measure::Measure;
use crate::op::Op;
use crate::position::Search;
use crate::registry::Kind;
use crate::stream::Streams;
use crate::units::{Blocks, Instant};

/// The part of the stack above one drive.
pub(super) struct Queue {
    scheduler: Box<dyn Scheduler>,
    pub(super) oracle: Box<dyn Oracle>,
    capacity: Blocks,
    /// Flushes pass the scheduler by: what they make safe has been answered already.
    flushes: VecDeque<IoId>,
    /// Open I/Os that a scheduler started while no slot was free.
    stalled: VecDeque<IoId>,
    busy: bool,
    /// When a scheduler that waits wants to be asked again.
    pub(super) timer: Option<Instant>,
}

/// What the drive is to do now.
pub(super) enum Dispatch {
    Io(IoId),
    /// An open I/O in this slot.
    Place(IoId, Slot),
    Arm(Command),
}

impl Queue {
    pub(super) fn new(
        scheduler: Box<dyn Scheduler>,
        oracle: Box<dyn Oracle>,
        capacity: Blocks,
    ) -> Queue {
        Queue {
            scheduler,
            oracle,
            capacity,
            flushes: VecDeque::new(),
            stalled: VecDeque::new(),
            busy: false,
            timer: None,
        }
    }

    pub(super) fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        match io.op {
            Op::Flush => self.flushes.push_back(io.id),
            _ => self.scheduler.insert(now, io, streams),
        }
    }

    /// Another drive has begun what waits here too.
    pub(super) fn withdraw(&mut self, io: &Io) {
        match self.stalled.iter().position(|stalled| *stalled == io.id) {
            Some(index) => drop(self.stalled.remove(index)),
            None => self.scheduler.withdraw(io),
        }
    }

    /// What its scheduler and its oracle have counted so far.
    pub(super) fn tell(&self, told: &mut dyn FnMut(&'static str, &'static Measure, u64)) {
        let key = <dyn Scheduler as Kind>::CARD.key;
        self.scheduler
            .tell(&mut |measure, number| told(key, measure, number));
        let key = <dyn Oracle as Kind>::CARD.key;
        self.oracle
            .tell(&mut |measure, number| told(key, measure, number));
    }

    /// I/Os that wait here.
    pub(super) fn len(&self) -> usize {
        self.scheduler.len() + self.flushes.len() + self.stalled.len()
    }

    /// I/Os that run or wait here.
    pub(super) fn outstanding(&self) -> usize {
        self.len() + usize::from(self.busy)
    }

    /// Whether a command runs here.
    pub(super) fn busy(&self) -> bool {
        self.busy
    }

    /// Asks what goes next, if the drive has room. `is_open` says of an I/O whether its address is open; `free` are the
    /// slots where it may land.
    pub(super) fn next(
        &mut self,
        now: Instant,
        free: Option<&FreeMap>,
        is_open: impl Fn(IoId) -> bool,
    ) -> Option<Dispatch> {
        if self.busy {
            return None;
        }
        self.timer = None;
        if let Some(flush) = self.flushes.pop_front() {
            return Some(Dispatch::Io(flush));
        }
        self.oracle.advance(now);
        if let Some(slot) = self.stalled.front().and_then(|_| self.nearest(now, free)) {
            let id = self.stalled.pop_front()?;
            return Some(Dispatch::Place(id, slot));
        }
        loop {
            let view = View {
                now,
                oracle: &*self.oracle,
                capacity: self.capacity,
                free,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) if is_open(id) => match self.nearest(now, free) {
                    Some(slot) => return Some(Dispatch::Place(id, slot)),
                    None => self.stalled.push_back(id),
                },
                Next::Start(id) => return Some(Dispatch::Io(id)),
                Next::Place(id, slot) => return Some(Dispatch::Place(id, slot)),
                Next::Seek(at) => {
                    return Some(Dispatch::Arm(Command {
                        io: Command::ARM,
                        op: Op::Seek,
                        at,
                        len: Blocks(0),
                        fua: false,
                    }));
                }
                Next::WaitUntil(instant) => {
                    assert!(
                        instant > now,
                        "a scheduler waits until {instant}, which is past at {now}"
                    );
                    self.timer = Some(instant);
                    return None;
                }
                Next::Empty => return None,
            }
        }
    }

    /// The free slot that the heads reach first.
    fn nearest(&self, now: Instant, free: Option<&FreeMap>) -> Option<Slot> {
        let free = free.expect("who plans open I/Os says where they may land");
        let free_place = self.oracle.nearest_free(&Search::anywhere(now), free);
        free_place.map(|free_place| free_place.slot)
    }

    pub(super) fn started(&mut self, now: Instant, command: &Command) {
        self.busy = true;
        self.oracle.started(now, command);
    }

    /// A command has ended; `io` is what it carried out, none if it only moved the arm.
    pub(super) fn done(
        &mut self,
        now: Instant,
        io: Option<&Io>,
        done: &DriveDone,
        streams: &Streams,
    ) {
        assert!(self.busy, "an idle drive completed {:?}", done.io);
        self.busy = false;
        self.oracle.observed(now, done);
        // Flushes have passed the scheduler by.
        if let Some(io) = io.filter(|io| io.op != Op::Flush) {
            self.scheduler.done(now, io, done, streams);
        }
    }

    pub(super) fn audit(&self) {
        self.scheduler.audit();
    }
}
