//! Where the copies of chunks lie on the drives of an array, and which slots are free.

use std::sync::Arc;

use super::prepare::{Disk, Empty, Setup, disks};
use crate::freemap::{FreeMap, Slot};
use crate::ids::DriveId;
use crate::maplog::{self, Geometry, MapView};
use crate::registry::{ConfigError, VolumeEnv, VolumeError};

/// No slot: the copy was never written, is stale, or is no longer needed.
pub(super) const NOWHERE: Slot = Slot(maplog::NOWHERE);

/// Where everything lies: what the beginning of a run prepares.
#[derive(Clone)]
pub(super) struct Map {
    /// By copy, then by chunk.
    pub(super) slots: Vec<Slot>,
    chunks: u32,
    /// By drive.
    pub(super) free: Vec<FreeMap>,
    /// Slots in use, by drive: free or not.
    pub(super) slots_of: Vec<u64>,
    /// Fixed places by drive and its own count of chunks; none have one, or the first of each
    /// drive.
    pub(super) homes: Arc<Vec<Vec<Slot>>>,
}

impl Map {
    /// The map of a volume that begins, made once for all that ask for the same.
    ///
    /// # Errors
    /// There is no room for a single unit, or none left to write to.
    pub(super) fn prepared(
        geometry: &Geometry,
        setup: &Setup,
        env: &VolumeEnv<'_>,
    ) -> Result<Map, ConfigError> {
        let what = format!("eager map {geometry:?} {setup:?}");
        let make = || Ok(Map::new(geometry, disks(setup, env)?));
        Ok(Map::clone(&*env.prepared(&what, Map::bytes, make)?))
    }

    /// Memory it takes, about.
    fn bytes(&self) -> usize {
        let homes = self.homes.iter().map(Vec::len).sum::<usize>();
        let free: usize = self.free.iter().map(FreeMap::bytes).sum();
        (self.slots.len() + homes) * size_of::<Slot>() + free
    }

    /// The map of a volume on these drives.
    fn new(geometry: &Geometry, disks: Vec<Disk>) -> Map {
        let of_copy = |copy| (0..geometry.chunks).map(move |chunk| (copy, chunk));
        let slot = |(copy, chunk)| {
            let (drive, local) = geometry.place(copy, chunk);
            disks[drive.index()].slots[local as usize]
        };
        let slots = (0..geometry.copies).flat_map(of_copy).map(slot).collect();
        let homes = disks.iter().map(|disk| disk.slots[..disk.homes].to_vec());
        let homes = Arc::new(homes.collect());
        let used = |disk: &Disk| disk.free.free() + disk.slots.len() as u64;
        Map {
            slots,
            chunks: geometry.chunks,
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
        geometry: &Geometry,
        setup: &Setup,
        empty: &Empty,
        slots: Vec<Slot>,
    ) -> Result<Map, VolumeError> {
        let drives = usize::from(geometry.drives());
        let homes = empty.homes(setup);
        let mut free = empty.free.clone();
        homes.iter().for_each(|home| free.take(*home));
        let mut map = Map {
            slots,
            chunks: geometry.chunks,
            slots_of: vec![empty.free.free(); drives],
            free: vec![free; drives],
            homes: Arc::new(vec![homes; drives]),
        };
        for index in 0..map.slots.len() {
            map.settle(geometry, index)?;
        }
        Ok(map)
    }

    /// Whether a chunk lies somewhere.
    pub(super) fn holds(&self, chunk: u32) -> bool {
        let copies = self.slots.iter().skip(chunk as usize);
        let mut copies = copies.step_by(self.chunks as usize);
        copies.any(|slot| *slot != NOWHERE)
    }

    /// Takes the slot in which a copy was found, which may be its home or else has to be free.
    fn settle(&mut self, geometry: &Geometry, index: usize) -> Result<(), VolumeError> {
        let slot = self.slots[index];
        let chunks = self.chunks as usize;
        let (copy, chunk) = (index / chunks, index % chunks);
        let (drive, local) = geometry.place(copy as u8, chunk as u32);
        let homes = &self.homes[drive.index()];
        if slot == NOWHERE || homes.get(local as usize) == Some(&slot) {
            return Ok(());
        }
        let free = &mut self.free[drive.index()];
        if free.has(slot) {
            free.take(slot);
            return Ok(());
        }
        let what = format!("map of the volume, copy {copy} of chunk {chunk}");
        let home = homes.iter().position(|home| *home == slot);
        let of = home.and_then(|local| {
            let mut all = 0..self.chunks;
            all.find(|of| geometry.place(0, *of) == (drive, local as u32))
        });
        let found = match of {
            Some(of) => format!("slot {}, the home of chunk {of}", slot.0),
            None => format!("slot {}", slot.0),
        };
        let expected = "a slot that the volume uses, with one chunk in it";
        Err(VolumeError::unfit(&what, &found, expected))
    }
}

/// Which slots of a drive are used, counted anew.
pub(super) struct Uses<'a> {
    drive: DriveId,
    free: &'a FreeMap,
    /// Free ones, and those found to hold something.
    known: Bits,
    /// Copies' fixed places, whether they lie there or not.
    homes: Bits,
    counted: u64,
}

impl Uses<'_> {
    pub(super) fn new(map: &Map, drive: DriveId) -> Uses<'_> {
        let (free, all) = (&map.free[drive.index()], &map.homes[drive.index()]);
        free.audit();
        let slots = free.tracks().slots() as usize;
        let (mut known, mut homes) = (Bits::new(slots), Bits::new(slots));
        free.iter().for_each(|slot| _ = known.set(slot));
        for home in all {
            assert!(!known.has(*home), "a home on {drive:?} is free");
            assert!(homes.set(*home), "two copies have one home on {drive:?}");
        }
        Uses {
            drive,
            free,
            known,
            homes,
            counted: free.free() + all.len() as u64,
        }
    }

    /// This slot holds something, or is kept for it.
    pub(super) fn take(&mut self, slot: Slot) {
        let drive = self.drive;
        if self.homes.has(slot) {
            // A copy that lies at home may be on its way there again.
            return;
        }
        if !self.known.set(slot) {
            assert!(!self.free.has(slot), "a free slot of {drive:?} is used");
            panic!("a slot of {drive:?} is used twice");
        }
        self.counted += 1;
    }

    /// All slots in use were found.
    pub(super) fn finish(self, all: u64) {
        assert_eq!(self.counted, all, "a slot of {:?} got lost", self.drive);
    }
}

/// A set of slots.
struct Bits(Vec<u64>);

impl Bits {
    fn new(slots: usize) -> Bits {
        Bits(vec![0; slots.div_ceil(64)])
    }

    fn has(&self, slot: Slot) -> bool {
        self.0[(slot.0 / 64) as usize] >> (slot.0 % 64) & 1 == 1
    }

    /// Adds a slot; false if it was there.
    fn set(&mut self, slot: Slot) -> bool {
        let new = !self.has(slot);
        self.0[(slot.0 / 64) as usize] |= 1 << (slot.0 % 64);
        new
    }
}

impl MapView for Map {
    fn read(&self, copy: u8, first: u32, out: &mut [u32]) {
        let first = usize::from(copy) * self.chunks as usize + first as usize;
        let slots = &self.slots[first..first + out.len()];
        for (out, slot) in out.iter_mut().zip(slots) {
            *out = slot.0;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::freemap::{Span, Tracks};
    use crate::maplog::Spread;
    use crate::rng::Rng;
    use crate::units::{Angle, Blocks, Pba};

    /// One pair of drives with 20 slots each; both have two homes.
    pub(in crate::place::eager) const PAIR: Geometry = Geometry {
        volume: 1,
        chunks: 4,
        copies: 2,
        columns: 1,
        unit: 2,
        spread: Spread::ByPair,
        slots: 20,
    };

    const SETUP: Setup = Setup {
        chunk: Blocks(1),
        striping: 1.0,
        dilution: 2.0,
        aging: 0.0,
        unit: 4,
        homes: 2,
        drives: 2,
        log: Blocks(0),
        spares: 0,
        stations: 0,
    };

    fn empty() -> Empty {
        let track = Span {
            first: Pba(0),
            angle: Angle(0),
            blocks: Blocks(20),
            sectors: 20,
            contiguous: Blocks(20),
        };
        let tracks = Tracks::new(Blocks(1), 1, std::iter::once(track), |_| false).unwrap();
        let mut free = FreeMap::empty(Arc::new(tracks));
        // As if a log's region were here.
        free.take(Slot(10));
        Empty {
            free,
            region: None,
            stations: None,
            units: 1,
        }
    }

    /// What was found there, by copy and chunk.
    pub(in crate::place::eager) fn found(slots: [u32; 8]) -> Result<Map, String> {
        let map = Map::found(&PAIR, &SETUP, &empty(), slots.map(Slot).to_vec());
        map.map_err(|error| error.to_string())
    }

    /// One chunk with three copies without homes.
    pub(in crate::place::eager) const THREE: Geometry = Geometry {
        volume: 1,
        chunks: 1,
        copies: 3,
        columns: 1,
        unit: 1,
        spread: Spread::ByCopy,
        slots: 20,
    };

    /// They lie in the same slot of their drives.
    pub(in crate::place::eager) fn three() -> Map {
        let setup = Setup {
            homes: 0,
            drives: 3,
            ..SETUP
        };
        let map = Map::found(&THREE, &setup, &empty(), vec![Slot(5); 3]);
        map.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn homes_are_found_where_they_were_prepared() {
        let empty = empty();
        let homes = empty.homes(&SETUP);
        assert_eq!(homes, [Slot(0), Slot(9)]);
        let mut rng = Rng::stream(1, "homes");
        let disk = || Disk::scatter(empty.free.clone(), (4, 2), &mut rng, &|| Ok(())).unwrap();
        let disks: Vec<Disk> = std::iter::repeat_with(disk).take(2).collect();
        let prepared = Map::new(&PAIR, disks);
        assert_eq!(*prepared.homes, [homes.clone(), homes]);
        let slots = prepared.slots.clone();
        let again = Map::found(&PAIR, &SETUP, &empty, slots).unwrap();
        assert_eq!(again.homes, prepared.homes);
        assert_eq!(again.slots_of, prepared.slots_of);
        for (again, prepared) in again.free.iter().zip(&prepared.free) {
            assert!(again.iter().eq(prepared.iter()));
        }
    }

    #[test]
    fn a_copy_at_home_or_in_a_free_slot_is_found() {
        // Chunks 0 and 1 are first on drive 0, 2 and 3 on drive 1.
        let map = found([0, 5, 6, 9, NOWHERE.0, 7, 4, 8]).unwrap();
        assert_eq!(map.free[0].free(), 19 - 2 - 3);
        assert_eq!(map.free[1].free(), 19 - 2 - 2);
        assert!(!map.free[0].has(Slot(9)), "a home that is empty is free");
    }

    #[test]
    fn a_copy_where_none_can_be_is_named() {
        let text = |slots| found(slots).err().expect("it cannot be");
        let n = NOWHERE.0;
        assert_eq!(
            text([9, n, n, n, n, n, n, n]),
            "map of the volume, copy 0 of chunk 0: found slot 9, the home of chunk 1, and it has to be \
             a slot that the volume uses, with one chunk in it"
        );
        // The second copy of chunk 2 is on drive 0 too.
        let second = text([n, n, n, n, n, n, 0, n]);
        let says = "map of the volume, copy 1 of chunk 2: found slot 0, the home of chunk 0, ";
        assert!(second.starts_with(says), "{second}");
        let twice = text([5, n, n, n, n, n, 5, n]);
        assert!(
            twice.contains("copy 1 of chunk 2: found slot 5, "),
            "{twice}"
        );
        let of_log = text([10, n, n, n, n, n, n, n]);
        assert!(
            of_log.contains("copy 0 of chunk 0: found slot 10, "),
            "{of_log}"
        );
    }
}
