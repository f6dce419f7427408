//! Drives that are gone: what is elsewhere too is neither read nor written there any more.
//!
//! The map goes on to say what lies there. A copy that is overwritten elsewhere leaves it, as always, and is not written again.

use super::EagerCopies;
use super::map::NOWHERE;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::op::{Failure, Op, Status};
use crate::place::delayed::CopyOf;
use crate::plan::{Instead, Plan, PlannedIo, Target};
use crate::units::{Blocks, Pba};

impl EagerCopies {
    /// Whether a chunk can be read from a drive that is not gone.
    pub(super) fn is_left(&self, chunk: u32) -> bool {
        let mut current = self.current(chunk);
        current.any(|(_, drive, _)| !self.gone.has(drive))
    }

    /// The copies of a chunk that are read, with their places: those that are left, or all if none is.
    pub(super) fn readable(&self, chunk: u32) -> impl Iterator<Item = (CopyOf, DriveId, Slot)> {
        let is_left = self.gone.any() && self.is_left(chunk);
        let current = self.current(chunk);
        current.filter(move |(_, drive, _)| !(is_left && self.gone.has(*drive)))
    }

    /// The copies of a chunk that are written: those that are left, or all if none is.
    pub(super) fn owners(&self, chunk: u32) -> impl Iterator<Item = CopyOf> {
        let gone = |of: &CopyOf| self.gone.has(self.drive(*of));
        let is_left = self.gone.any() && !self.copies_of(chunk).all(|of| gone(&of));
        let copies = self.copies_of(chunk);
        copies.filter(move |of| !(is_left && gone(of)))
    }

    /// A drive is gone, as was just found out. Copies that wait for it stay stale.
    pub(super) fn leave_out(&mut self, drive: DriveId) {
        self.copies.clear(drive);
        let gone = |chunk| {
            let mut copies = self.copies_of(chunk);
            copies.all(|of| self.gone.has(self.drive(of)))
        };
        self.column_is_lost = (0..self.geometry.chunks).any(gone);
    }

    /// A flush of every drive that is left. It fails if something may be on the others alone.
    pub(super) fn flush(&self, out: &mut Plan) {
        if self.has_lost() {
            out.failure = Some(Failure::Gone);
        }
        for drive in self.gone.left() {
            let target = Target::At(Pba(0));
            out.io(PlannedIo::new(drive, Op::Flush, target, Blocks(0)));
        }
    }

    /// A drive has ended its part of a flush. One that is gone is not needed if everything on it is elsewhere.
    pub(super) fn flush_ended(&self, status: Status, out: &mut Plan) {
        if status == Status::Failed(Failure::Gone) && !self.has_lost() {
            out.instead = Instead::Tolerated;
        }
    }

    /// Whether some chunk, or the map, is on drives that are gone alone. Of chunks for which nothing is to be done, every copy is current
    /// whose drive is left.
    fn has_lost(&self) -> bool {
        let mut gone = (0..self.geometry.drives())
            .map(DriveId)
            .filter(|drive| self.gone.has(*drive));
        let lost = |chunk: u32| self.current(chunk).next().is_some() && !self.is_left(chunk);
        let mut unsettled = self.copies.unsettled().map(|of| of.chunk);
        let loses_map = |drive| self.store.iter().any(|store| !store.spares(drive));
        self.gone.any()
            && (self.column_is_lost
                || gone.any(loses_map)
                || unsettled.any(lost)
                || self.writing().any(lost))
    }

    /// Writes may wait for a slot of a drive that is gone: they are to have one, and fail. It is that of a copy which is elsewhere too.
    /// O(chunks), if no slot is free.
    pub(super) fn free_a_slot(&mut self, drive: DriveId, out: &mut Plan) {
        if self.map.free[drive.index()].free() > 0 {
            return;
        }
        let spared = |of: &CopyOf| {
            let here = self.drive(*of) == drive && self.slot(*of) != NOWHERE;
            let holds_one = here && self.home(*of) != Some(self.slot(*of));
            holds_one && self.is_left(of.chunk) && !self.is_overtaken(*of) && !self.is_given_up(*of)
        };
        let mut all = (0..self.geometry.chunks).flat_map(|chunk| self.copies_of(chunk));
        let Some(of) = all.find(spared) else {
            return;
        };
        self.ask_to_give_up(of, out);
    }
}
