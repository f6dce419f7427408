//! Where the copies of granules lie on the drives of an array, and which slots are free.

use std::fmt::Debug;
use std::sync::Arc;

use super::delayed::CopyOf;
use super::eager_state::{Disk, Setup, disks};
use crate::freemap::{FreeMap, Slot};
use crate::ids::DriveId;
use crate::maplog::{self, MapView};
use crate::registry::{ConfigError, Env};

/// No slot: the copy was never written, is stale, or is no longer needed.
pub(super) const NOWHERE: Slot = Slot(maplog::NOWHERE);

/// Which drives a granule's copies are on.
pub(super) trait Shape: Debug + Send {
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
    /// The map of a volume that begins, made once for all that ask for the same.
    ///
    /// # Errors
    /// There is no room for a single unit, or none left to write to.
    pub(super) fn prepared(
        shape: &impl Shape,
        setup: &Setup,
        env: &Env<'_>,
    ) -> Result<Map, ConfigError> {
        let what = format!("eager map {shape:?} {setup:?}");
        let make = || Ok(Map::new(shape, disks(setup, env)?));
        Ok(Map::clone(&*env.prepared(&what, Map::bytes, make)?))
    }

    /// Memory it takes, about.
    fn bytes(&self) -> usize {
        let homes = self.homes.iter().map(Vec::len).sum::<usize>();
        let free: usize = self.free.iter().map(FreeMap::bytes).sum();
        (self.slots.len() + homes) * size_of::<Slot>() + free
    }

    /// The map of a volume on these drives.
    fn new(shape: &impl Shape, disks: Vec<Disk>) -> Map {
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

/// What every slot of a drive is used for, counted anew.
pub(super) struct Uses {
    drive: DriveId,
    uses: Vec<Use>,
    counted: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Unknown,
    Free,
    /// Some copy's fixed place, whether that lies there or not.
    Home,
    Taken,
}

impl Uses {
    pub(super) fn new(map: &Map, drive: DriveId) -> Uses {
        let free = &map.free[drive.index()];
        free.audit();
        let mut uses = vec![Use::Unknown; free.tracks().slots() as usize];
        free.iter()
            .for_each(|slot| uses[slot.0 as usize] = Use::Free);
        let mut counted = free.free();
        for home in &map.homes[drive.index()] {
            let was = std::mem::replace(&mut uses[home.0 as usize], Use::Home);
            assert!(was == Use::Unknown, "a home on {drive:?} is free");
            counted += 1;
        }
        Uses {
            drive,
            uses,
            counted,
        }
    }

    /// This slot holds something, or is kept for it.
    pub(super) fn take(&mut self, slot: Slot) {
        let before = std::mem::replace(&mut self.uses[slot.0 as usize], Use::Taken);
        match before {
            Use::Unknown => self.counted += 1,
            Use::Home => self.uses[slot.0 as usize] = Use::Home,
            Use::Free => panic!("a free slot of {:?} is used", self.drive),
            Use::Taken => panic!("a slot of {:?} is used twice", self.drive),
        }
    }

    /// All slots in use were found.
    pub(super) fn finish(self, all: u64) {
        assert_eq!(self.counted, all, "a slot of {:?} got lost", self.drive);
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
