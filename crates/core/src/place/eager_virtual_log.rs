//! The map of eager copies, kept safe without NVRAM by a virtual log (`map=virtual_log`).
//!
//! A change waits until the map sector that has it is on the platter. That sector is written eagerly, to a free slot of the first
//! drive, out of the same slots as data; what changes meanwhile waits for the next one, which many may share. What is written is
//! the map with the changes that wait, so that no read finds what a power cut could still take back.
//!
//! All slots could be held by data that wait for the map, which then would wait for a slot. So a *spare* is kept out of the free
//! slots, and when nothing else is free a sector goes there. What the sector leaves is the next spare.
//!
//! The tail is for who saves it at power-down: it is there while no sector is written. Without it recovery scans the drive.
//!
//! Source: Wang, Anderson and Patterson, "Virtual log based file systems for a programmable disk", OSDI 1999, section 3.2; the
//! spare, and changes that share a sector, are ours.

use std::collections::VecDeque;

use super::eager_keeper::{Keeper, MapWrite, damaged, refused};
use super::eager_map::Map;
use crate::freemap::{FreeMap, Slot, Tracks};
use crate::ids::DriveId;
use crate::io::{Tag, Target};
use crate::maplog::{
    Dirty, Entry, Geometry, MapView, NOWHERE, Spot, Tail, VirtualLog, VirtualRecovered,
    VirtualRecovery,
};
use crate::registry::{ConfigError, Survivors};
use crate::units::{Blocks, Pba};

/// The drive that has the log.
const DRIVE: DriveId = DriveId(0);

/// The virtual log of a placement's map.
pub(super) struct VirtualKeeper {
    log: VirtualLog,
    geometry: Geometry,
    slot_blocks: Blocks,
    waiting: VecDeque<Waiting>,
    /// Slots for sectors: one, and one for each sector that was never written.
    spares: Vec<Slot>,
    /// The youngest sector, as saved at power-down; empty while it is about to change.
    tail: Vec<u8>,
}

/// A change that waits for its sector.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: Tag,
    entry: Entry,
    dirty: Dirty,
    safe: bool,
}

/// The map as it will be when all that waits has been made.
struct Ahead<'a> {
    map: &'a Map,
    waiting: &'a VecDeque<Waiting>,
}

impl MapView for Ahead<'_> {
    fn read(&self, copy: u8, first: u32, out: &mut [u32]) {
        self.map.read(copy, first, out);
        for Waiting { entry, .. } in self.waiting {
            let index = entry.granule.wrapping_sub(first) as usize;
            match out.get_mut(index) {
                Some(slot) if entry.copy == copy => *slot = entry.slot,
                Some(slot) if entry.alone => *slot = NOWHERE,
                _ => {}
            }
        }
    }
}

/// Slots that a log of this geometry keeps from the volume.
pub(super) fn slots(geometry: &Geometry, slot_blocks: Blocks) -> Result<u64, ConfigError> {
    let log = VirtualLog::new(geometry, slot_blocks).map_err(refused)?;
    Ok(u64::from(log.sectors()) + 1)
}

impl VirtualKeeper {
    /// The log of a volume that begins full.
    pub(super) fn new(geometry: &Geometry, map: &mut Map) -> Result<VirtualKeeper, ConfigError> {
        let free = &mut map.free[DRIVE.index()];
        let slot_blocks = free.tracks().slot_blocks();
        let mut log = VirtualLog::new(geometry, slot_blocks).map_err(refused)?;
        log.dirty_all();
        VirtualKeeper::of(log, geometry, free)
    }

    /// Of a log whose slots were taken already.
    fn of(
        log: VirtualLog,
        geometry: &Geometry,
        free: &mut FreeMap,
    ) -> Result<VirtualKeeper, ConfigError> {
        let spares = log.sectors() as usize + 1 - log.spots().count();
        let mut keeper = VirtualKeeper {
            log,
            geometry: *geometry,
            slot_blocks: free.tracks().slot_blocks(),
            waiting: VecDeque::new(),
            spares: spread(free, spares)?,
            tail: Vec::new(),
        };
        keeper.save_tail();
        Ok(keeper)
    }

    fn save_tail(&mut self) {
        let tail = self.log.tail();
        self.tail = tail.map_or_else(Vec::new, |tail| tail.to_bytes(&self.geometry));
    }
}

/// What recovery found.
pub(super) struct VirtualFound {
    slots: Vec<Slot>,
    log: VirtualLog,
}

impl VirtualFound {
    /// Reads back what survived: from the tail if that was saved, else by a scan.
    pub(super) fn read(
        geometry: &Geometry,
        tracks: &Tracks,
        survivors: &dyn Survivors,
    ) -> Result<VirtualFound, ConfigError> {
        let damaged = |why| damaged("virtual log", &why);
        let slot_blocks = tracks.slot_blocks();
        let way = match survivors.nvram() {
            [] => VirtualRecovery::by_scan(geometry, slot_blocks, DRIVE.0 + 1),
            saved => {
                let tail = Tail::from_bytes(geometry, saved).map_err(damaged)?;
                VirtualRecovery::from_tail(geometry, slot_blocks, tail)
            }
        };
        let mut way = way.map_err(refused)?;
        let mut bytes = vec![0; slot_blocks.bytes() as usize];
        while let Some(Spot { drive, slot }) = way.next_read() {
            survivors.read(drive, tracks.at(Slot(slot)), &mut bytes);
            way.feed(&bytes).map_err(damaged)?;
        }
        let VirtualRecovered { map, log } = way.finish().map_err(damaged)?;
        if log.spots().next().is_none() {
            let what = format!("map sectors of this volume on drive {}", DRIVE.0);
            return Err(ConfigError::value(&what, "none", "at least one"));
        }
        Ok(VirtualFound {
            slots: map.copies.concat().into_iter().map(Slot).collect(),
            log,
        })
    }

    /// The map that has these slots, and the log to go on with, its own slots taken.
    pub(super) fn keep(
        self,
        geometry: &Geometry,
        map: impl FnOnce(Vec<Slot>) -> Result<Map, ConfigError>,
    ) -> Result<(Map, VirtualKeeper), ConfigError> {
        let mut map = map(self.slots)?;
        let free = &mut map.free[DRIVE.index()];
        for Spot { drive, slot } in self.log.spots() {
            if drive != DRIVE || !free.has(Slot(slot)) {
                let value = format!("slot {slot} of drive {}", drive.0);
                let allowed = format!("slots of drive {} that the volume uses", DRIVE.0);
                return Err(ConfigError::value("map sector", &value, &allowed));
            }
            free.take(Slot(slot));
        }
        let keeper = VirtualKeeper::of(self.log, geometry, free)?;
        Ok((map, keeper))
    }
}

/// Takes so many of the free slots, spread evenly.
fn spread(free: &mut FreeMap, count: usize) -> Result<Vec<Slot>, ConfigError> {
    let apart = (free.free() as usize).checked_div(count).unwrap_or(1);
    if apart == 0 {
        let found = free.free().to_string();
        let allowed = format!("{count} and more, for the sectors of the map");
        return Err(ConfigError::value("free slots", &found, &allowed));
    }
    let taken: Vec<Slot> = free.iter().step_by(apart).take(count).collect();
    taken.iter().for_each(|slot| free.take(*slot));
    Ok(taken)
}

impl Keeper for VirtualKeeper {
    fn nvram(&self) -> &[u8] {
        &self.tail
    }

    /// It is never on the platter yet.
    fn must_wait(&self) -> bool {
        true
    }

    fn wait(&mut self, tag: Tag, entry: Entry) {
        let dirty = self.log.dirty(entry.granule);
        self.waiting.push_back(Waiting {
            tag,
            entry,
            dirty,
            safe: false,
        });
    }

    fn any_waiting(&self, like: &dyn Fn(&Entry) -> bool) -> bool {
        self.waiting.iter().any(|waiting| like(&waiting.entry))
    }

    fn next(&mut self) -> Option<Tag> {
        let index = self.waiting.iter().position(|waiting| waiting.safe)?;
        self.waiting.remove(index).map(|waiting| waiting.tag)
    }

    /// It is on the platter already.
    fn record(&mut self, _entry: Entry) {}

    fn next_writes(&mut self, map: &Map, out: &mut Vec<MapWrite>) {
        let waiting = &self.waiting;
        if self.log.next_write(&Ahead { map, waiting }).is_none() {
            return;
        }
        self.tail.clear();
        let at = self.spare(map);
        let target = match map.free[DRIVE.index()].free() {
            0 => Target::At(at),
            _ => Target::Open(at),
        };
        out.push(MapWrite {
            drive: DRIVE,
            target,
            len: self.slot_blocks,
        });
    }

    fn content(&self) -> &[u8] {
        let write = self.log.under_way();
        write.expect("a map sector is under way").bytes
    }

    fn spare(&self, map: &Map) -> Pba {
        let spare = *self.spares.last().expect("a slot is kept for it");
        map.free[DRIVE.index()].tracks().at(spare)
    }

    fn written(&mut self, drive: DriveId, slot: Slot) -> Option<Slot> {
        let open = slot.0 != NOWHERE;
        let slot = match open {
            true => slot,
            false => self.spares.pop().expect("a slot was kept for it"),
        };
        let placed = self.log.placed(Spot {
            drive,
            slot: slot.0,
        });
        for waiting in &mut self.waiting {
            let Dirty { sector, after } = waiting.dirty;
            waiting.safe |= sector == placed.sector && after < placed.number;
        }
        self.save_tail();
        // A slot was kept for a sector that was never written before.
        let left = match placed.freed {
            Some(old) => Some(Slot(old.slot)),
            None if open => self.spares.pop(),
            None => None,
        };
        match open {
            true => left,
            false => {
                self.spares.extend(left);
                None
            }
        }
    }

    fn slots(&self, drive: DriveId) -> Vec<Slot> {
        if drive != DRIVE {
            return Vec::new();
        }
        let written = self.log.spots().map(|spot| Slot(spot.slot));
        written.chain(self.spares.iter().copied()).collect()
    }

    fn audit(&self) {
        self.log.audit();
        let written = self.log.spots().count();
        let all = self.log.sectors() as usize + 1;
        assert_eq!(written + self.spares.len(), all, "slots for map sectors");
        let safe = self.waiting.iter().filter(|waiting| waiting.safe).count();
        assert_eq!(safe, 0, "safe changes that were not made");
    }
}
