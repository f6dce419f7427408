//! Where the copies of granules lie on the drives of an array, and which slots are free.

use std::sync::Arc;

use super::delayed::CopyOf;
use super::eager_state::Disk;
use crate::freemap::{FreeMap, Slot};
use crate::ids::DriveId;
use crate::maplog::{self, MapView};
use crate::registry::ConfigError;

/// No slot: the copy was never written, is stale, or is no longer needed.
pub(super) const NOWHERE: Slot = Slot(maplog::NOWHERE);

/// Which drives a granule's copies are on.
pub(super) trait Shape: Send {
    /// Copies of each granule.
    fn copies(&self) -> u8;

    /// Drives.
    fn drives(&self) -> u16;

    /// Granules of the volume.
    fn granules(&self) -> u32;

    /// The drive of a copy, and its number among the drive's own granules.
    fn place(&self, of: CopyOf) -> (DriveId, usize);
}

/// Where everything lies: what the beginning of a run prepares.
#[derive(Clone)]
pub(super) struct Map {
    /// By copy, then by granule.
    pub(super) slots: Vec<Slot>,
    granules: u32,
    /// By drive.
    pub(super) free: Vec<FreeMap>,
    /// Slots in use, by drive: free or not.
    pub(super) slots_of: Vec<u64>,
    /// Fixed places by drive and its own count of granules; none have one, or the first of each drive.
    pub(super) homes: Arc<Vec<Vec<Slot>>>,
}

impl Map {
    /// The map of a volume on drives that were prepared.
    pub(super) fn new(shape: &impl Shape, disks: Vec<Disk>) -> Map {
        let granules = shape.granules();
        let of_copy = |copy| (0..granules).map(move |granule| CopyOf { granule, copy });
        let slot = |of| {
            let (drive, local) = shape.place(of);
            disks[drive.index()].slots[local]
        };
        let slots = (0..shape.copies()).flat_map(of_copy).map(slot).collect();
        let homes = disks.iter().map(|disk| disk.slots[..disk.homes].to_vec());
        let homes = Arc::new(homes.collect());
        let used = |disk: &Disk| disk.free.free() + disk.slots.len() as u64;
        Map {
            slots,
            granules,
            slots_of: disks.iter().map(used).collect(),
            free: disks.into_iter().map(|disk| disk.free).collect(),
            homes,
        }
    }

    /// The map of a volume as it was found, on drives that are empty but for that.
    ///
    /// # Errors
    /// It has blocks where none can be.
    pub(super) fn found(
        shape: &impl Shape,
        mut free: Vec<FreeMap>,
        slots: Vec<Slot>,
    ) -> Result<Map, ConfigError> {
        let slots_of = free.iter().map(FreeMap::free).collect();
        let granules = shape.granules();
        for (index, slot) in slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| **slot != NOWHERE)
        {
            let (copy, granule) = (index / granules as usize, index % granules as usize);
            let of = CopyOf {
                granule: granule as u32,
                copy: copy as u8,
            };
            let (drive, _) = shape.place(of);
            let free = &mut free[drive.index()];
            if !free.has(*slot) {
                let key = format!("map of the volume: copy {copy} of granule {granule}");
                let allowed = "slots that the volume uses, one granule in each";
                return Err(ConfigError::value(
                    &key,
                    &format!("slot {}", slot.0),
                    allowed,
                ));
            }
            free.take(*slot);
        }
        Ok(Map {
            slots,
            granules,
            slots_of,
            homes: Arc::new(vec![Vec::new(); free.len()]),
            free,
        })
    }
}

impl MapView for Map {
    fn read(&self, copy: u8, first: u32, out: &mut [u32]) {
        let first = usize::from(copy) * self.granules as usize + first as usize;
        let slots = &self.slots[first..first + out.len()];
        for (out, slot) in out.iter_mut().zip(slots) {
            *out = slot.0;
        }
    }
}
