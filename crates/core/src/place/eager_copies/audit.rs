//! Where every slot of eagerly written drives is, recounted.

use super::{EagerCopies, NOWHERE, Part};
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::place::delayed::CopyOf;
use crate::place::eager_map::Shape;

impl<S: Shape> EagerCopies<S> {
    pub(super) fn audit_drive(&self, drive: DriveId) {
        let free = &self.map.free[drive.index()];
        free.audit();
        let homes = &self.map.homes[drive.index()];
        let all = (0..self.shape.copies()).flat_map(|copy| {
            (0..self.shape.granules()).map(move |granule| CopyOf { granule, copy })
        });
        let here = all.filter(|of| self.drive(*of) == drive);
        let mapped = here.map(|of| self.slot(of)).filter(|slot| *slot != NOWHERE);
        let underway = self.underway.iter().map(|(_, underway)| underway);
        let writes = underway
            .filter(|one| one.drive == drive && !matches!(one.part, Part::Read | Part::MoveRead));
        let written = writes
            .map(|write| write.slot)
            .filter(|slot| *slot != NOWHERE);
        let left = self
            .readers
            .iter()
            .filter(|readers| readers.left && readers.place.0 == drive.0);
        let left = left.map(|readers| readers.place.1);
        let is_home = |slot: &Slot| homes.binary_search(slot).is_ok();
        let keeper = self.keeper.iter();
        let own = keeper.flat_map(|keeper| keeper.slots(drive));
        let mut taken: Vec<Slot> = mapped.chain(written).chain(left).chain(own).collect();
        if !homes.is_empty() {
            taken.retain(|slot| !is_home(slot));
            taken.extend(homes);
        }
        taken.sort_unstable();
        assert!(
            taken.windows(2).all(|pair| pair[0] < pair[1]),
            "a slot of {drive:?} is used twice"
        );
        assert!(
            taken.iter().all(|slot| !free.has(*slot)),
            "a free slot of {drive:?} is used"
        );
        assert_eq!(
            taken.len() as u64 + free.free(),
            self.map.slots_of[drive.index()],
            "a slot of {drive:?} got lost"
        );
    }
}
