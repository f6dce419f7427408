//! One drive's queue: what waits, what runs, and what may be known of the drive.

use std::collections::VecDeque;

use crate::contract::{Next, Oracle, Scheduler, View};
use crate::ids::IoId;
use crate::io::{Command, DriveDone, Io};
use crate::request::Op;
use crate::units::{Blocks, Instant};

/// The part of the stack above one drive.
pub(super) struct Queue {
    scheduler: Box<dyn Scheduler>,
    pub(super) oracle: Box<dyn Oracle>,
    capacity: Blocks,
    /// Flushes pass the scheduler by: what they make safe has been answered already.
    flushes: VecDeque<IoId>,
    busy: bool,
    /// When a scheduler that waits wants to be asked again.
    pub(super) timer: Option<Instant>,
}

/// What the drive is to do now.
pub(super) enum Dispatch {
    Io(IoId),
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
            busy: false,
            timer: None,
        }
    }

    pub(super) fn insert(&mut self, now: Instant, io: &Io) {
        match io.op {
            Op::Flush => self.flushes.push_back(io.id),
            _ => self.scheduler.insert(now, io),
        }
    }

    /// I/Os that wait here.
    pub(super) fn len(&self) -> usize {
        self.scheduler.len() + self.flushes.len()
    }

    /// Asks what goes next, if the drive has room.
    pub(super) fn next(&mut self, now: Instant) -> Option<Dispatch> {
        if self.busy {
            return None;
        }
        self.timer = None;
        if let Some(flush) = self.flushes.pop_front() {
            return Some(Dispatch::Io(flush));
        }
        self.oracle.advance(now);
        let view = View {
            now,
            oracle: &*self.oracle,
            capacity: self.capacity,
        };
        match self.scheduler.next(&view) {
            Next::Start(id) => Some(Dispatch::Io(id)),
            Next::Seek(at) => Some(Dispatch::Arm(Command {
                io: Command::ARM,
                op: Op::Seek,
                at,
                len: Blocks(0),
            })),
            Next::WaitUntil(instant) => {
                assert!(
                    instant > now,
                    "a scheduler waits until {instant}, which is past at {now}"
                );
                self.timer = Some(instant);
                None
            }
            Next::Empty => None,
        }
    }

    pub(super) fn started(&mut self, now: Instant, command: &Command) {
        self.busy = true;
        self.oracle.started(now, command);
    }

    pub(super) fn done(&mut self, now: Instant, done: &DriveDone) {
        assert!(self.busy, "an idle drive completed {:?}", done.io);
        self.busy = false;
        self.oracle.observed(now, done);
        self.scheduler.done(now, done);
    }

    pub(super) fn audit(&self) {
        self.scheduler.audit();
    }
}
