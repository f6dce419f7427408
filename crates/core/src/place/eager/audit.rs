//! Where every slot of eagerly written drives is, recounted.

use super::map::NOWHERE;
use super::map::Uses;
use super::slots::Readers;
use super::{Change, EagerCopies, Landed, Purpose, Reason, Underway};
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::place::delayed::CopyOf;

impl EagerCopies {
    /// But on drives that are gone, every slot is free, or holds a copy or a part of the map, or is
    /// being written, or is still read from, or is a home.
    pub(super) fn audit_slots(&self) {
        let drives = (0..self.geometry.drives()).map(DriveId);
        let left = |drive: DriveId| !self.gone.has(drive);
        let uses = drives.map(|drive| left(drive).then(|| Uses::new(&self.map, drive)));
        let mut uses: Vec<Option<Uses>> = uses.collect();
        let mut take = |drive: DriveId, slot: Slot| {
            if let Some(uses) = uses[drive.index()].as_mut().filter(|_| slot != NOWHERE) {
                uses.take(slot);
            }
        };
        for chunk in 0..self.geometry.chunks {
            for of in self.copies_of(chunk) {
                take(self.drive(of), self.slot(of));
            }
        }
        for (_, one) in &self.underway {
            match one.purpose {
                Purpose::Read | Purpose::ReadInstead(..) | Purpose::MoveRead => {}
                Purpose::Write(_) | Purpose::Dropped | Purpose::Map => take(one.drive, one.slot),
            }
        }
        for (_, change) in self.changes.iter() {
            match change {
                Change::Moves(landed) => take(landed.drive, landed.slot),
                // Of a copy that is given up the map still knows.
                Change::Discards(_) | Change::GivesUp(..) | Change::Stays(..) => {}
            }
        }
        self.audit_homes();
        let retired = self.retired.iter();
        retired.for_each(|(drive, slot)| take(drive, slot));
        let left = self.readers.iter().filter(|readers| readers.left);
        left.for_each(|Readers { place, .. }| take(DriveId(place.0), place.1));
        if let Some(store) = &self.store {
            store.audit(&mut take);
        }
        for (uses, all) in uses.into_iter().zip(&self.map.slots_of) {
            if let Some(uses) = uses {
                uses.finish(*all);
            }
        }
    }

    /// The drives of delayed writes under way.
    pub(super) fn delayed_writes(&self) -> impl Iterator<Item = DriveId> {
        let delayed = self.underway.iter().filter(|(_, one)| one.is_delayed());
        delayed.map(|(_, one)| one.drive)
    }

    /// What is to be written at once, and can be, waits before all others; if that came about as a
    /// read was taken back, from the next answer on.
    pub(super) fn audit_urgent(&self) {
        let is_known = |chunk: &u32| self.is_lost(*chunk) && !self.withdrawn.contains(chunk);
        let lost = (0..self.geometry.chunks).filter(is_known);
        for of in lost.flat_map(|chunk| self.copies_of(chunk)) {
            let is_urgent = || self.copies.is_urgent(of);
            assert!(
                !self.can_hurry(of) || is_urgent(),
                "{of:?} waits for spare time"
            );
        }
    }

    /// How many chunks are on drives that are gone alone is known without a look at all.
    pub(super) fn audit_lost(&self) {
        let lost = (0..self.geometry.chunks).filter(|chunk| self.is_lost(*chunk));
        assert_eq!(lost.count(), self.lost, "chunks that are lost");
    }

    /// Of a chunk that is somewhere, what is known says which copies are stale: the others need not
    /// be looked at.
    pub(super) fn audit_stale(&self) {
        for chunk in 0..self.geometry.chunks {
            let is_written = || self.writing().any(|other| other == chunk);
            let mut copies = self.copies_of(chunk);
            let forgotten = |of: &CopyOf| {
                self.slot(*of) == NOWHERE
                    && self.copies.get(*of).is_none()
                    && !self.gone.has(self.drive(*of))
            };
            if self.current(chunk).next().is_some()
                && let Some(of) = copies.find(forgotten)
            {
                assert!(is_written(), "nothing is known of {of:?}, which is stale");
            }
        }
    }

    /// No home is written to while the map says that its copy lies there: a power cut would leave a
    /// torn one.
    fn audit_homes(&self) {
        let used = |of: CopyOf, slot| {
            let moves = self.home(of) == Some(slot);
            assert!(
                !moves || self.slot(of) != slot,
                "the home of {of:?} is in use, and written to"
            );
        };
        for (
            _,
            Underway {
                of, slot, purpose, ..
            },
        ) in &self.underway
        {
            match purpose {
                Purpose::Write(Reason::Delayed) | Purpose::Dropped => used(*of, *slot),
                Purpose::Write(Reason::Foreground(_) | Reason::Move) => {}
                Purpose::Read | Purpose::ReadInstead(..) => {}
                Purpose::MoveRead | Purpose::Map => {}
            }
        }
        for (_, change) in self.changes.iter() {
            match change {
                Change::Moves(Landed { of, slot, .. }) => used(*of, *slot),
                Change::Discards(_) | Change::GivesUp(..) | Change::Stays(..) => {}
            }
        }
    }
}
