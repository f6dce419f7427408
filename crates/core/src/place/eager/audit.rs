//! Where every slot of eagerly written drives is, recounted.

use super::map::Uses;
use super::{EagerCopies, NOWHERE, Part, Readers, Underway};
use crate::freemap::Slot;
use crate::ids::DriveId;

impl EagerCopies {
    /// Every slot is free, or holds a copy or a part of the map, or is being written, or is still read from, or is a home.
    pub(super) fn audit_slots(&self) {
        let drives = (0..self.geometry.drives()).map(DriveId);
        let mut uses: Vec<Uses> = drives.map(|drive| Uses::new(&self.map, drive)).collect();
        let mut take = |drive: DriveId, slot: Slot| {
            if slot != NOWHERE {
                uses[drive.index()].take(slot);
            }
        };
        for chunk in 0..self.geometry.chunks {
            for of in self.copies(chunk) {
                take(self.drive(of), self.slot(of));
            }
        }
        let underway = self.underway.iter().map(|(_, underway)| underway);
        let writes = underway.filter(|one| !matches!(one.part, Part::Read | Part::MoveRead));
        writes.for_each(|write| take(write.drive, write.slot));
        self.audit_homes();
        let retired = self.retired.iter();
        retired.for_each(|(drive, slot)| take(*drive, *slot));
        let left = self.readers.iter().filter(|readers| readers.left);
        left.for_each(|Readers { place, .. }| take(DriveId(place.0), place.1));
        if let Some(store) = &self.store {
            for drive in (0..self.geometry.drives()).map(DriveId) {
                let own = store.slots(drive).into_iter();
                own.for_each(|slot| take(drive, slot));
            }
        }
        for (uses, all) in uses.into_iter().zip(&self.map.slots_of) {
            uses.finish(*all);
        }
    }

    /// No home is written to while the map says that its copy lies there: a power cut would leave a torn one.
    fn audit_homes(&self) {
        for (_, Underway { of, slot, part, .. }) in &self.underway {
            let moves =
                matches!(part, Part::Delayed | Part::Dropped) && self.home(*of) == Some(*slot);
            assert!(
                !moves || self.slot(*of) != *slot,
                "the home of {of:?} is in use, and written to"
            );
        }
    }
}
