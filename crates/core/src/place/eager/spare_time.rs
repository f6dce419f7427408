//! What drives do in their spare time for copies that are not where they belong.

use super::copies::{Copy, Delayed, Source};
use super::map::NOWHERE;
use super::{EagerCopies, Landed, Purpose, Reason, Underway};
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::op::{Failure, Op};
use crate::place::delayed::{CopyOf, TRIES, Turn};
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::units::Blocks;

impl EagerCopies {
    /// Copies that were not where they belong when the power went are to be written now.
    pub(super) fn delay_missing(&mut self) {
        for chunk in 0..self.geometry.chunks {
            for of in self.copies_of(chunk) {
                if self.is_due(of) {
                    self.copies.resume(self.drive(of), of);
                }
            }
        }
    }

    /// Copies that are not where they belong are to be written in spare time.
    pub(super) fn delay_others(&mut self, chunk: u32, out: &mut Plan) {
        for of in self.copies_of(chunk) {
            self.delay(of, Source::Buffer, out);
        }
    }

    /// A copy is to be written in spare time if it is not where it belongs.
    pub(super) fn delay(&mut self, of: CopyOf, source: Source, out: &mut Plan) {
        if !self.is_due(of) {
            return;
        }
        let drive = self.drive(of);
        if self.map_lost {
            // It is never written.
            if self.copies.get(of).is_none() {
                self.copies.resume(drive, of);
            }
            return;
        }
        let turn = self.turn(of, source);
        match self.copies.delay(drive, of, source, turn) {
            Delayed::Queued => out.wake.push(drive),
            Delayed::Already => self.hurry_copies(of.chunk),
            Delayed::NoRoom(source) => self.propagate(of, source, out),
        }
    }

    /// Moves a copy home that holds one of the slots of a drive that has no other: writes that wait
    /// there wait for that.
    pub(super) fn make_room(&mut self, drive: DriveId, out: &mut Plan) {
        let holds_one = |of: &CopyOf| {
            let somewhere = self.home(*of).is_some() && self.slot(*of) != NOWHERE;
            somewhere && !self.copies.is_written(*of)
        };
        let due = |of: &CopyOf| holds_one(of) && self.is_due(*of);
        let found = self.copies.waiting(drive).find(due);
        if let Some(of) = found {
            let source = self.copies.withdraw(of);
            return self.propagate(of, source, out);
        }
        let here = |(of, _): &(CopyOf, u8)| {
            self.drive(*of) == drive && holds_one(of) && self.is_missing(*of)
        };
        let failed = self.copies.failed_ones().filter(here);
        let least = failed.min_by_key(|(_, times)| *times);
        match least.filter(|(_, times)| *times < TRIES) {
            Some((of, _)) => self.propagate(of, Source::AnotherCopy, out),
            None if self.give_room(drive, out) || self.room_comes(drive) => {}
            None => self.refuse_room(drive, out),
        }
    }

    /// Writes wait for a slot of a drive, and each copy that holds one was moved home in vain too
    /// often: one that is current elsewhere too is given up here, if there is one.
    fn give_room(&mut self, drive: DriveId, out: &mut Plan) -> bool {
        let spared = |of: &CopyOf| {
            let here = self.drive(*of) == drive && self.slot(*of) != NOWHERE;
            let holds_one = here && self.home(*of) != Some(self.slot(*of));
            holds_one && self.is_elsewhere(*of) && !self.is_overtaken(*of)
        };
        let found = self.copies.failed_ones().map(|(of, _)| of).find(spared);
        if let Some(of) = found {
            self.ask_to_give_up(of, out);
        }
        found.is_some()
    }

    /// Whether something is under way that may leave a slot of a drive: a change of the map, a copy
    /// on its way home, or a write of a chunk that holds one. O(what is not settled and what is
    /// under way, with a search for each), for a drive where nothing else can be done.
    fn room_comes(&self, drive: DriveId) -> bool {
        let is_here = |of: CopyOf| self.drive(of) == drive;
        let mut changes = self.changes.iter();
        // Who is at another drive alone leaves no slot here, and this drive is not asked again when
        // it is made.
        if changes.any(|(_, change)| self.copies_of(change.chunk()).any(is_here)) {
            return true;
        }
        let starts =
            |one: &Underway| one.slot != NOWHERE || self.map.free[one.drive.index()].free() > 0;
        let leaves = |one: &Underway| {
            let holds = |of: CopyOf| is_here(of) && self.slot(of) != NOWHERE;
            let is_unsettled = |of: CopyOf| self.copies.get(of).is_some();
            let copies = || self.copies_of(one.of.chunk);
            starts(one) && copies().any(holds) && copies().any(is_unsettled)
        };
        if self.underway.iter().any(|(_, one)| leaves(one)) {
            return true;
        }
        let mut here = self.copies.chunks().flat_map(|chunk| self.copies_of(chunk));
        // A delayed write to any slot waits for one itself.
        here.any(|of| is_here(of) && self.home(of).is_some() && self.copies.is_written(of))
    }

    /// Bad homes keep all slots of a drive: what waits for one there fails.
    fn refuse_room(&self, drive: DriveId, out: &mut Plan) {
        self.revoke_open(Failure::Medium, |write| write.drive == drive, out);
    }

    /// Whether a copy is still to be written: it lies nowhere while another can be read, or away
    /// from its home.
    pub(super) fn is_due(&self, of: CopyOf) -> bool {
        let flies = self.copies.flies(of);
        let can_be_written = !flies && !self.gone.has(self.drive(of));
        self.is_missing(of) && can_be_written && self.current(of.chunk).next().is_some()
    }

    /// Whether a copy lies nowhere, or away from its home.
    pub(super) fn is_missing(&self, of: CopyOf) -> bool {
        match self.home(of) {
            Some(home) => self.slot(of) != home,
            None => self.slot(of) == NOWHERE,
        }
    }

    /// A delayed write, to the copy's home or to any free slot.
    pub(super) fn propagate(&mut self, of: CopyOf, source: Source, out: &mut Plan) {
        let mut write = match self.home(of) {
            None => self.write_copy(of, Reason::Delayed),
            Some(slot) => self.write_home(of, slot),
        };
        write.awaited = false;
        self.copies.fly(of, write.tag.0 as usize, source);
        match source {
            Source::Buffer => _ = out.io(write),
            Source::AnotherCopy => {
                let read = self.read_again(of.chunk, out);
                let write = out.io(write);
                out.carry(read, write);
            }
        }
    }

    fn write_home(&mut self, of: CopyOf, slot: Slot) -> PlannedIo {
        let drive = self.drive(of);
        let underway = Underway {
            of,
            drive,
            slot,
            purpose: Purpose::Write(Reason::Delayed),
            failed: 0,
        };
        let target = Target::At(self.at(drive, slot));
        self.planned(underway, Op::Write, target, (Blocks(0), self.chunk))
    }

    /// Reads a chunk that is in no buffer, for another copy of it.
    fn read_again(&mut self, chunk: u32, out: &mut Plan) -> StepIndex {
        let (of, drive, slot) = self.readable(chunk).next().expect("some copy is");
        let mut read = self.read_copy(of, drive, slot, Blocks(0), self.chunk);
        read.awaited = false;
        out.io(read)
    }

    /// A drive tries to write a copy that it could not, if there is one; another copy is read
    /// before.
    pub(super) fn try_again(&mut self, drive: DriveId, out: &mut Plan) -> bool {
        let is_meant =
            |of: &CopyOf| self.drive(*of) == drive && self.is_due(*of) && !self.home_is_used(*of);
        let found = self.copies.to_try().find(is_meant);
        if let Some(of) = found {
            self.propagate(of, Source::AnotherCopy, out);
        }
        found.is_some()
    }

    /// A delayed write is in the map now, or it could not be done.
    pub(super) fn delayed_ended(&mut self, landed: &Landed, done: bool, out: &mut Plan) {
        let Landed { of, slot, .. } = *landed;
        if done {
            self.copies.settled(of);
            self.move_to(of, slot, false);
            self.delay_others(of.chunk, out);
        } else {
            let flew = matches!(self.copies.get(of), Some(Copy::Flying { .. }));
            let (source, failed) = self.copies.failed(of);
            self.vacate(of, slot);
            if self.map_lost && flew && source == Source::Buffer {
                return self.copies.stays(self.drive(of), of);
            }
            // Nobody else has it: it is tried again while the buffer has it.
            let is_urgent = self.turn(of, source) == Turn::Urgent;
            if failed < TRIES && is_urgent && self.is_due(of) {
                self.propagate(of, source, out);
            }
        }
    }

    /// A write that is no longer wanted has ended.
    pub(super) fn dropped_ended(&mut self, write: &Underway, out: &mut Plan) {
        self.release(write.of, write.drive, write.slot);
        // A change that waits for the map looks at the copy when it is made; before, every write
        // home would be dropped again.
        if let Some(source) = self.copies.outdated_ended(write.of)
            && !self.is_overtaken(write.of)
        {
            self.delay(write.of, source, out);
        }
        self.hurry_copies(write.of.chunk);
    }

    /// Whether somebody reads what was at a copy's home before, or an older write to it is still
    /// under way.
    pub(super) fn home_is_used(&self, of: CopyOf) -> bool {
        self.copies.is_written(of) || self.home_is_read(of)
    }

    fn home_is_read(&self, of: CopyOf) -> bool {
        self.home(of).is_some_and(|home| {
            let place = (self.drive(of).0, home);
            let found = self.readers.at(self.readers.seek(&place));
            found.is_some_and(|readers| readers.place == place)
        })
    }
}
