//! Commands that carry out several I/Os: what they are told to do, and what becomes of their parts
//! when they end.
//!
//! Each part ends as if it had been a command: with its own address, and with its share of the
//! cost, by length. If the drive cannot read or write the medium somewhere, the parts are tried
//! once more, each by itself, so that a request does not fail for its neighbour.

use super::{Action, Stack};
use crate::ids::{DriveId, IoId};
use crate::io::{Command, DriveDone, Io, Moves, Origin, StepNumber};
use crate::op::{Failure, Op, Status};
use crate::units::Instant;

impl Stack {
    /// Says of each I/O of a command that it starts.
    pub(super) fn start_parts(&mut self, drive: DriveId, whole: IoId) {
        for part in self.queues[drive.index()].parts(whole) {
            let step = self.graph.step(part);
            let of = step.io(part);
            self.actions.push(Action::Join {
                drive,
                command: of.io.command(),
                origin: self.begun(drive, step, of),
            });
        }
    }

    /// The command of I/Os that were merged. It goes by the name of the oldest.
    pub(super) fn command_of_parts(&self, whole: &Io) -> (Command, Origin) {
        let request = self.graph.step(whole.id).request;
        let origin = Origin {
            request: request.map(|key| self.requests[key].request.id),
            step: StepNumber::new(whole.sequence),
            open: false,
            moves: Moves::Parts,
            carries: None,
        };
        debug_assert!(matches!(whole.op, Op::Read | Op::Write));
        (whole.command(), origin)
    }

    /// A drive has ended a command that carried out one I/O, or several.
    pub(super) fn ended(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        if !self.queues[drive.index()].lands {
            return self.ends(now, drive, done);
        }
        match self.has_landed(done) {
            None => self.ends(now, drive, done),
            Some(status) => self.ends(now, drive, &DriveDone { status, ..*done }),
        }
    }

    #[inline]
    fn ends(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        let step = self.graph.step(done.io);
        let io = (&step.io(done.io).io, step.standing(done.io).asked);
        let queue = &mut self.queues[drive.index()];
        let mut parts = self.parts.pop().unwrap_or_default();
        queue.done(now, io, done, &self.streams, &mut parts);
        if let Some(freed) = queue.freed(done) {
            self.offers[drive.index()].free(&freed);
        }
        let began = now - done.cost.total();
        if parts.is_empty() {
            self.parts.push(parts);
            queue.leave(done);
            self.worked_on(done.io, began);
            return self.complete(now, drive, done);
        }
        for part in &parts {
            self.worked_on(*part, began);
        }
        if done.status == Status::Failed(Failure::Medium) {
            self.try_alone(now, drive, done, &parts);
        } else {
            self.queues[drive.index()].spared_by(parts.len());
            self.complete_parts(now, drive, done, &parts);
        }
        parts.clear();
        self.parts.push(parts);
    }

    /// The drive began to work on an I/O at this instant. That may be long after it got the
    /// command, if it has a queue of its own.
    fn worked_on(&mut self, id: IoId, began: Instant) {
        if let Some(key) = self.graph.step(id).request {
            let started = &mut self.requests[key].started;
            *started = Some(started.map_or(began, |earlier| earlier.min(began)));
        }
    }

    fn complete_parts(&mut self, now: Instant, drive: DriveId, done: &DriveDone, parts: &[IoId]) {
        for (index, part) in parts.iter().enumerate() {
            // Until all have ended the drive counts as busy, so that it is not asked what is next
            // too early.
            if index + 1 == parts.len() {
                self.queues[drive.index()].leave(done);
            }
            let share = self.share(done, *part);
            self.complete(now, drive, &share);
        }
    }

    /// The parts of a command that failed wait once more, each by itself.
    fn try_alone(&mut self, now: Instant, drive: DriveId, done: &DriveDone, parts: &[IoId]) {
        for part in parts {
            let share = self.share(done, *part);
            let request = self.graph.step(*part).request;
            let request = request.expect("what a placement does for itself is not merged");
            self.requests[request].cost.add(&share.cost);
            let io = &self.graph.io(*part).io;
            self.queues[drive.index()].insert_alone(now, io, &self.streams);
        }
        self.queues[drive.index()].leave(done);
    }

    /// What the end of a command is to one of its parts.
    fn share(&self, done: &DriveDone, part: IoId) -> DriveDone {
        let Io { id, at, len, .. } = self.graph.io(part).io;
        let from = at.distance(done.at).0;
        DriveDone {
            io: id,
            at,
            len,
            cost: done.cost.share(from, from + len.0, done.len.0),
            ..*done
        }
    }
}
