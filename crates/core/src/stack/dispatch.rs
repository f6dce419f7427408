//! Drives with room: who is asked what to start, and what starts.

use super::graph::{Open, OpenIo};
use super::queue::{Dispatch, GONE, Queue};
use super::{Action, Stack};
use crate::contract::{Drives, Oracle};
use crate::freemap::Slot;
use crate::ids::{DriveId, IoId};
use crate::io::{Command, Data, DriveDone, Io, Moves, Origin, StepNumber};
use crate::op::{Cost, Failure, Status};
use crate::plan::Plan;
use crate::units::{Instant, Lba, Pba};

/// What a placement may see of the queues.
pub(super) struct Below<'a>(pub(super) &'a [Queue]);

impl Drives for Below<'_> {
    fn idle(&self, drive: DriveId) -> bool {
        self.waiting(drive) == 0
    }

    fn waiting(&self, drive: DriveId) -> usize {
        self.0[drive.index()].outstanding()
    }

    fn oracle(&self, drive: DriveId) -> &dyn Oracle {
        &*self.0[drive.index()].oracle
    }
}

impl Stack {
    pub(super) fn drive_done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        if self.queues[drive.index()].takes_back(done.status) {
            let status = GONE;
            return self.drive_done(now, drive, &DriveDone { status, ..*done });
        }
        if done.io == Command::ARM {
            self.queues[drive.index()].arm_moved(now, done);
        } else {
            self.ended(now, drive, done);
        }
        self.pump(now, drive);
    }

    /// Lets the drives of a plan start something, and keeps the plan's memory.
    pub(super) fn pump_all(&mut self, now: Instant, mut plan: Box<Plan>) {
        for planned in plan.ios() {
            self.pump(now, planned.drive);
        }
        for drive in &plan.wake {
            self.pump(now, *drive);
        }
        plan.clear();
        self.plans.push(plan);
    }

    /// Lets one drive start something, if it has room and something may start.
    #[inline]
    pub(super) fn pump(&mut self, now: Instant, drive: DriveId) {
        if self.queues[drive.index()].full() {
            return;
        }
        match self.chooses_last {
            true => self.put_off(now, drive),
            false => self.start(now, drive),
        }
    }

    /// A drive with room starts something, if something may start.
    #[inline]
    pub(super) fn start(&mut self, now: Instant, drive: DriveId) {
        while self.dispatch(now, drive) {
            if self.queues[drive.index()].full() {
                return;
            }
        }
        if self.shape.spare_time {
            self.spare.push(drive);
        }
    }

    /// A drive with room is asked when everything else of this instant is in.
    fn put_off(&mut self, now: Instant, drive: DriveId) {
        // It is asked soon enough, whatever its scheduler waits for.
        let queue = &mut self.queues[drive.index()];
        queue.timer = None;
        if !std::mem::replace(&mut queue.put_off, true) {
            self.put_off.push(drive);
        }
        self.choice = Some(now);
        self.note_timer(drive);
    }

    /// Asks what drives with nothing else to do may do. Last of all, as an answer may have let
    /// requests begin.
    #[inline]
    pub(super) fn spend_spare_time(&mut self, now: Instant) {
        // What was revoked lets others begin that may wait for the same: they are asked at once, as
        // no input may follow.
        while !self.spare.is_empty() && self.ask_spare(now) {}
    }

    /// Asks each drive once. Whether an I/O was revoked.
    fn ask_spare(&mut self, now: Instant) -> bool {
        let mut revoked = false;
        let mut drives = std::mem::take(&mut self.spare);
        let mut plan = self.plans.pop().unwrap_or_default();
        for drive in drives.drain(..) {
            if !self.has_spare_time(drive) {
                continue;
            }
            let below = Below(&self.queues);
            self.placement.idle(now, drive, &below, &mut plan);
            if plan.is_empty() {
                continue;
            }
            self.note_opened(&plan);
            self.accept(now, None, &plan);
            self.tell_all(now, &mut plan);
            for planned in plan.ios() {
                self.dispatch(now, planned.drive);
            }
            for drive in &plan.wake {
                self.pump(now, *drive);
            }
            revoked |= !plan.revoked.is_empty();
            plan.clear();
        }
        self.plans.push(plan);
        // Drives that were woken are asked with the next input, lest two wake each other for ever.
        drives.append(&mut self.spare);
        self.spare = drives;
        revoked
    }

    /// Whether a drive has no command and nothing to do, or only what waits for a slot to become
    /// free.
    fn has_spare_time(&self, drive: DriveId) -> bool {
        let queue = &self.queues[drive.index()];
        let full = || {
            let free = self.placement.free(drive);
            queue.timer.is_none() && free.is_some_and(|free| free.free() == 0)
        };
        queue.resting() && (queue.len() == 0 || full())
    }

    /// Starts what a drive's scheduler wants started; whether that is something.
    fn dispatch(&mut self, now: Instant, drive: DriveId) -> bool {
        let queue = &mut self.queues[drive.index()];
        let free = self.placement.free(drive);
        let offers = self.offers[drive.index()].within(self.placement.writable(drive));
        let known = (&self.graph, offers);
        let next = queue.next(now, free, known, &self.streams);
        self.note_timer(drive);
        match next {
            None => return false,
            Some(Dispatch::Arm(command)) => {
                let origin = self.of_arm();
                self.start_command(now, drive, command, origin);
            }
            Some(Dispatch::Io(id)) => self.start_io(now, drive, id, None),
            Some(Dispatch::Place(id, slot)) => self.start_io(now, drive, id, Some(slot)),
            Some(Dispatch::Land(id, at)) => self.land(now, drive, id, at),
            Some(Dispatch::Offer(id)) => self.pass_on(now, drive, id),
            Some(Dispatch::Exhausted(id)) => self.exhausted(now, drive, id),
        }
        true
    }

    /// Gives a drive a command.
    #[inline]
    fn start_command(&mut self, now: Instant, drive: DriveId, command: Command, origin: Origin) {
        self.queues[drive.index()].started(now, command);
        self.note_timer(drive);
        self.actions.push(Action::Start {
            drive,
            command,
            origin,
        });
    }

    /// What a movement of the arm is for: nobody in particular.
    fn of_arm(&mut self) -> Origin {
        Origin {
            request: None,
            step: self.next_number(),
            open: false,
            moves: Moves::Nothing,
            carries: None,
        }
    }

    /// An I/O starts, its address bound and its alternatives withdrawn.
    #[inline]
    fn start_io(&mut self, now: Instant, drive: DriveId, id: IoId, slot: Option<Slot>) {
        if self.graph.io(id).alternative != id {
            self.withdraw_alternatives(now, id);
        }
        if let Some(whole) = self.queues[drive.index()].merged(id) {
            self.start_parts(drive, id);
            let (command, origin) = self.command_of_parts(&whole);
            return self.start_command(now, drive, command, origin);
        }
        let step = self.graph.step(id);
        let started = step.io(id);
        assert_eq!(
            started.io.open,
            slot.is_some(),
            "an open I/O goes to a slot, others do not"
        );
        let origin = self.begun(drive, step, started);
        let mut command = started.io.command();
        if let Some(slot) = slot {
            command.at = self.bind(now, id, slot);
        }
        self.start_command(now, drive, command, origin);
    }

    /// A range write starts at this block.
    fn land(&mut self, now: Instant, drive: DriveId, id: IoId, at: Pba) {
        let offer = self.graph.io(id).io.offer;
        let offer = offer.expect("what lands is a range write");
        self.offers[drive.index()].land(offer, at.0);
        self.graph.landed(id, Data::from(Lba(at.0)));
        let step = self.graph.step(id);
        let started = step.io(id);
        let origin = self.begun(drive, step, started);
        let command = Command {
            at,
            ..started.io.command()
        };
        self.start_command(now, drive, command, origin);
    }

    /// A range write goes to a drive that chooses the place.
    fn pass_on(&mut self, now: Instant, drive: DriveId, id: IoId) {
        let offer = self.graph.io(id).io.offer;
        let offer = offer.expect("a range write alone is passed on");
        let offers = &self.offers[drive.index()];
        let left = match self.placement.writable(drive) {
            None => offers.left(offer),
            Some(writable) => offers.left_near(offer, self.graph.io(id).io.at, writable),
        };
        let Some(offer) = left else {
            return self.exhausted(now, drive, id);
        };
        self.passed_on.insert(id, offer);
        self.actions.push(Action::Offer { drive, io: id });
        self.start_io(now, drive, id, None);
    }

    /// A drive that chooses places has ended an I/O. If that is a range write of which it found
    /// nothing left, how it ends.
    pub(super) fn has_landed(&mut self, done: &DriveDone) -> Option<Status> {
        let of = self.graph.io(done.io);
        let (offer, drive) = (of.io.offer?, of.drive);
        self.passed_on.remove(&done.io);
        match done.status {
            Status::Failed(Failure::Exhausted) => return Some(self.as_exhausted(done.io)),
            Status::Done | Status::Failed(Failure::Medium) => {
                self.offers[drive.index()].land(offer, done.at.0);
                self.graph.landed(done.io, Data::from(Lba(done.at.0)));
            }
            Status::Failed(_) => {}
        }
        None
    }

    /// How a range write ends of which nothing is left.
    pub(super) fn as_exhausted(&self, id: IoId) -> Status {
        let of = self.graph.io(id);
        let offer = of.io.offer.expect("a range write alone is exhausted");
        // One that was tried before has failed there, and may have left something.
        let tried = !self.offers[of.drive.index()].failed(offer).is_empty();
        Status::Failed(if tried {
            Failure::Medium
        } else {
            Failure::Exhausted
        })
    }

    /// Nothing is left of what a range write offers: it ends without a command.
    fn exhausted(&mut self, now: Instant, drive: DriveId, id: IoId) {
        let step = self.graph.step(id);
        let (io, asked) = (step.io(id).io, step.standing(id).asked);
        let done = io.command().ends(self.as_exhausted(id), Cost::default());
        let queue = &mut self.queues[drive.index()];
        queue.has_ended(now, (&io, asked), &done, &self.streams);
        self.complete(now, drive, &done);
    }

    /// An I/O starts on a drive; what for, and what it moves.
    #[inline]
    pub(super) fn begun(&self, drive: DriveId, step: &Open, started: &OpenIo) -> Origin {
        assert_eq!(
            started.drive, drive,
            "a scheduler started an I/O of another drive"
        );
        Origin {
            request: step.request.map(|key| self.requests[key].request.id),
            step: StepNumber::new(started.io.sequence),
            open: started.io.open || started.io.offer.is_some(),
            moves: started.moves(),
            carries: started.carries,
        }
    }

    fn bind(&mut self, now: Instant, id: IoId, slot: Slot) -> Pba {
        let io = self.graph.io(id);
        let (drive, tag, data) = (io.drive, io.tag, io.data);
        self.graph.started(tag, data);
        let free = self
            .placement
            .free(drive)
            .expect("the slot was found there");
        let at = free.tracks().at(slot);
        self.placement.bind(now, tag, drive, slot);
        at
    }

    /// An I/O waits no longer for its drive.
    pub(super) fn withdraw(&mut self, now: Instant, drive: DriveId, io: &Io, asked: bool) {
        let queue = &mut self.queues[drive.index()];
        queue.withdraw(now, io, asked, &self.streams);
        self.note_timer(drive);
    }

    /// Only the first of several ways to do the same starts; the others are taken back.
    fn withdraw_alternatives(&mut self, now: Instant, id: IoId) {
        while let Some(other) = self.graph.leave_ring_after(id) {
            let (gone, edges) = self.graph.remove(other);
            let asked = gone.standing(other).asked;
            let gone = gone.into_io();
            self.withdraw(now, gone.drive, &gone.io, asked);
            self.placement.withdrawn(gone.tag, gone.drive);
            // What waits for it waits for what is done in its stead.
            self.graph.hand_over(edges, id);
        }
    }
}
