//! Drives that are gone: what is elsewhere too is neither read nor written there any more.
//!
//! The map goes on to say what lies there. A copy that is overwritten elsewhere leaves it, as
//! always, and is not written again.

use super::EagerCopies;
use super::copies::{Copy, Source};
use super::map::NOWHERE;
use super::store::MapStore;
use crate::contract::FewCopies;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::place::delayed::{CopyOf, TRIES, Turn};
use crate::plan::Plan;

impl EagerCopies {
    /// Whether a chunk can be read from a drive that is not gone.
    pub(super) fn is_left(&self, chunk: u32) -> bool {
        let mut current = self.current(chunk);
        current.any(|(_, drive, _)| !self.gone.has(drive))
    }

    /// The copies of a chunk that are read, with their places: those that are left, or all if none
    /// is.
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

    /// Whether a copy can still be read, as far as is known: it lies somewhere and stays there, on
    /// a drive that is not gone.
    pub(super) fn can_be_read(&self, of: CopyOf) -> bool {
        let stays = self.slot(of) != NOWHERE && !self.is_given_up(of);
        stays && !self.gone.has(self.drive(of))
    }

    /// Whether another copy of its chunk can still be read: only then a copy may be given up.
    pub(super) fn is_elsewhere(&self, of: CopyOf) -> bool {
        let mut copies = self.copies_of(of.chunk);
        copies.any(|other| other != of && self.can_be_read(other))
    }

    /// A drive is gone, as was just found out. Copies that wait for it stay stale. What is written
    /// there fails, so it needs no slot of its own: from now on all are free, and who waits for one
    /// is told by the drive and writes another copy.
    pub(super) fn leave_out(&mut self, drive: DriveId) {
        self.copies.clear(drive);
        let free = &mut self.map.free[drive.index()];
        *free = free.emptied();
        self.count_lost();
        self.hurry();
        self.doubt_held();
    }

    /// What only drives that are gone have, and the buffer, is urgent from now on.
    fn hurry(&mut self) {
        for drive in (0..self.geometry.drives()).map(DriveId) {
            for of in self.copies.queues().take_all(drive) {
                let turn = self.turn(of, self.copies.source(of));
                self.copies.queues().push(drive, of, turn);
            }
        }
    }

    /// A chunk is lost, or its copies can be written now that could not before: those that wait are
    /// urgent. O(copies that wait), if a drive is gone and the chunk is lost.
    pub(super) fn hurry_copies(&mut self, chunk: u32) {
        if !self.gone.any() || !self.is_lost(chunk) {
            return;
        }
        for of in self.copies_of(chunk) {
            let waits = self.copies.get(of) == Some(Copy::Waiting(Source::Buffer));
            if waits && self.turn(of, Source::Buffer) == Turn::Urgent {
                self.copies.queues().hurry(of);
            }
        }
    }

    /// When a copy is to be written whose data are there.
    pub(super) fn turn(&self, of: CopyOf, source: Source) -> Turn {
        match source {
            Source::Buffer if !self.map_lost && self.is_lost(of.chunk) => Turn::Urgent,
            Source::Buffer | Source::AnotherCopy => Turn::SpareTime,
        }
    }

    /// Drives write urgent copies. One that cannot be written now waits for spare time.
    pub(super) fn write_urgent(&mut self, out: &mut Plan) {
        while let Some(chunk) = self.withdrawn.pop() {
            self.hurry_copies(chunk);
        }
        if !self.copies.queues().any_urgent() {
            return;
        }
        for drive in (0..self.geometry.drives()).map(DriveId) {
            while let Some(of) = self.copies.queues().first_urgent(drive) {
                if self.can_hurry(of) {
                    let source = self.copies.pop(drive);
                    self.propagate(of, source, out);
                } else {
                    self.copies.queues().postpone(drive);
                }
            }
        }
    }

    /// Whether a copy that waits is to be written at once, and can be.
    pub(super) fn can_hurry(&self, of: CopyOf) -> bool {
        let waits = self.copies.get(of) == Some(Copy::Waiting(Source::Buffer));
        let is_urgent = waits && self.turn(of, Source::Buffer) == Turn::Urgent;
        is_urgent && self.is_due(of) && !self.home_is_used(of)
    }

    /// Changes something of a chunk, by which it may be lost or found.
    pub(super) fn counting_lost<T>(
        &mut self,
        chunk: u32,
        change: impl FnOnce(&mut EagerCopies) -> T,
    ) -> T {
        let was_lost = self.is_lost(chunk);
        self.lost -= usize::from(was_lost);
        let result = change(self);
        self.lost += usize::from(self.is_lost(chunk));
        // Also if it was lost before: then what waits may have the newer version, from the buffer.
        self.hurry_copies(chunk);
        result
    }

    /// Counts anew what is lost.
    pub(super) fn count_lost(&mut self) {
        let lost = (0..self.geometry.chunks).filter(|chunk| self.is_lost(*chunk));
        self.lost = lost.count();
    }

    /// Chunks with few good copies, of those that lie anywhere. O(chunks), if drives are gone or
    /// copies could not be written.
    pub(super) fn count_few(&self) -> FewCopies {
        let mut few = FewCopies {
            chunk: self.chunk,
            ..FewCopies::default()
        };
        if !self.gone.any() && self.copies.failed_ones().next().is_none() {
            return few;
        }
        for chunk in 0..self.geometry.chunks {
            if self.current(chunk).next().is_some() {
                let good = self.copies_of(chunk).filter(|of| self.is_good(*of));
                few.add(good.count(), 1);
            }
        }
        few
    }

    /// Whether a copy has the newest data of its chunk, or gets them.
    fn is_good(&self, of: CopyOf) -> bool {
        let has_source = || self.is_left(of.chunk);
        let comes = || match self.copies.get(of) {
            Some(Copy::Waiting(Source::Buffer) | Copy::Landed(_)) => true,
            Some(Copy::Flying { source, .. }) => source == Source::Buffer || has_source(),
            Some(Copy::Waiting(_) | Copy::Outdated { .. }) => has_source(),
            Some(Copy::Failed(times)) => times < TRIES && has_source(),
            None => false,
        };
        !self.gone.has(self.drive(of)) && (self.can_be_read(of) || comes())
    }

    /// Whether a chunk is on drives that are gone alone. A copy elsewhere does not count while the
    /// map on the drives may say that it is not there: it was given up, and that it stays is not
    /// safe yet.
    pub(super) fn is_lost(&self, chunk: u32) -> bool {
        let counts = |(of, drive, _): (CopyOf, DriveId, Slot)| {
            !self.gone.has(drive) && !self.changes.leaves_open(of)
        };
        self.gone.any() && self.current(chunk).next().is_some() && !self.current(chunk).any(counts)
    }

    /// Whether some chunk, or the map, is on drives that are gone alone. A chunk is not lost any
    /// more when it is written elsewhere, or discarded. O(drives).
    pub(super) fn has_lost(&self) -> bool {
        self.gone.any() && (self.lost > 0 || self.loses_map())
    }

    /// Whether the map is on drives that are gone alone.
    pub(super) fn loses_map(&self) -> bool {
        let loses_map = |store: &dyn MapStore| !store.spares(&self.gone);
        self.store.as_deref().is_some_and(loses_map)
    }
}
