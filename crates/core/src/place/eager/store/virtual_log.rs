//! The map of eager copies, kept safe without NVRAM by a virtual log (`map=virtual_log`).
//!
//! A change waits until the map sector that has it is on the platter. That sector is written
//! eagerly, to a free slot of the first drive, out of the same slots as data; what changes
//! meanwhile waits for the next one, which many may share. What is written is the map with the
//! changes that wait, so that no read finds what a power cut could still take back.
//!
//! All slots could be held by data that wait for the map, which then would wait for a slot. So a
//! *spare* is kept out of the free slots, and when nothing else is free a sector goes there. What
//! the sector leaves is the next spare.
//!
//! The tail is for who saves it at power-down: it is there while no sector is written. Without it
//! recovery scans the drive, in reads of whole tracks: slot by slot it would lose a revolution at
//! each.
//!
//! With `map_tracks` sectors go to *stations* alone, tracks that data never get: then recovery
//! reads only these. No spare is needed there: stations have more slots than there are sectors, and
//! what is to be written needs no more than one.
//!
//! Source: Wang, Anderson and Patterson, "Virtual log based file systems for a programmable disk",
//! OSDI 1999, section 3.2; the spare, and changes that share a sector, are ours.

use std::ops::Range;

use super::by_sector::BySector;
use super::{MapStore, MapWrite, Retry, TRIES, When, refused};
use crate::contract::Drives;
use crate::freemap::{FreeMap, Slot, Track, Tracks};
use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::maplog::{
    Damage, Entry, Geometry, MapView, NOWHERE, Spot, Tail, VirtualLog, VirtualRecovered,
    VirtualRecovery,
};
use crate::op::Failure;
use crate::place::eager::map::Map;
use crate::place::eager::stations::Stations;
use crate::place::gone::Gone;
use crate::plan::Target;
use crate::registry::{ConfigError, Knob, Survivors, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks, Instant, Pba};

/// The drive that has the log.
const DRIVE: DriveId = DriveId(0);
/// What a scan reads at once: 1 MiB, or a track if that is longer.
const SCAN: u64 = 2_048;

/// Where map sectors go.
pub(in crate::place) const STATIONS: Knob = Knob::integer(
    "map_tracks",
    0,
    0..=16_777_216,
    "map = virtual_log: whole tracks, spread evenly over each drive, for map sectors alone, so that recovery without a saved tail \
     reads only these; 0: map sectors go to any free slot, and it reads the drive",
);

/// Station slots for each map sector, at least: with fewer free the next one is hardly ever near.
const STATION_SLOTS: u64 = 2;

/// The virtual log of a placement's map.
pub(in crate::place::eager) struct VirtualLogStore {
    log: VirtualLog,
    geometry: Geometry,
    slot_blocks: Blocks,
    waiting: BySector,
    /// Slots for sectors: one, and one for each sector that was never written. None if there are
    /// stations.
    spares: Vec<Slot>,
    stations: Option<Stations>,
    /// The station slot that the write under way goes to.
    bound: Option<Slot>,
    /// Writes that failed one after the other.
    failures: u8,
    /// The youngest sector, as saved at power-down; empty while it is about to change.
    tail: Vec<u8>,
}

/// The map as it will be when all that waits has been made.
struct Ahead<'a> {
    map: &'a Map,
    waiting: &'a BySector,
}

impl MapView for Ahead<'_> {
    fn read(&self, copy: u8, first: u32, out: &mut [u32]) {
        self.map.read(copy, first, out);
        let behind = first.saturating_add(out.len() as u32);
        for entry in self.waiting.of(first..behind) {
            let index = entry.chunk.wrapping_sub(first) as usize;
            match out.get_mut(index) {
                Some(slot) if entry.copy == copy => *slot = entry.slot,
                Some(slot) if entry.alone => *slot = NOWHERE,
                _ => {}
            }
        }
    }
}

/// Slots that a log of this geometry keeps from the volume.
pub(in crate::place::eager) fn slots(
    geometry: &Geometry,
    slot_blocks: Blocks,
) -> Result<u64, ConfigError> {
    let log = VirtualLog::new(geometry, slot_blocks).map_err(refused)?;
    Ok(u64::from(log.sectors()) + 1)
}

/// Says that there are too few stations for the sectors of a log.
fn check_stations(log: &VirtualLog, stations: &Stations) -> Result<(), ConfigError> {
    let least = u64::from(log.sectors()) * STATION_SLOTS;
    let (slots, count) = (stations.slots(), stations.tracks.len() as u64);
    if slots >= least {
        return Ok(());
    }
    let tracks = (least * count).div_ceil(slots.max(1));
    let allowed = format!("0, or about {tracks} and more, for {least} map sectors");
    Err(ConfigError::value(
        "map_tracks",
        &count.to_string(),
        &allowed,
    ))
}

impl VirtualLogStore {
    /// The log of a volume that begins full.
    pub(in crate::place::eager) fn new(
        geometry: &Geometry,
        map: &mut Map,
        stations: Option<Stations>,
    ) -> Result<VirtualLogStore, ConfigError> {
        let free = &mut map.free[DRIVE.index()];
        let slot_blocks = free.tracks().slot_blocks();
        let mut log = VirtualLog::new(geometry, slot_blocks).map_err(refused)?;
        log.dirty_all();
        VirtualLogStore::of(log, geometry, free, stations)
    }

    /// Of a log whose slots were taken already.
    fn of(
        log: VirtualLog,
        geometry: &Geometry,
        free: &mut FreeMap,
        stations: Option<Stations>,
    ) -> Result<VirtualLogStore, ConfigError> {
        let spares = match &stations {
            Some(stations) => {
                check_stations(&log, stations)?;
                0
            }
            None => log.sectors() as usize + 1 - log.spots().count(),
        };
        let mut store = VirtualLogStore {
            log,
            geometry: *geometry,
            slot_blocks: free.tracks().slot_blocks(),
            waiting: BySector::default(),
            spares: spread(free, spares)?,
            stations,
            bound: None,
            failures: 0,
            tail: Vec::new(),
        };
        store.save_tail();
        Ok(store)
    }

    fn save_tail(&mut self) {
        let tail = self.log.tail();
        self.tail = tail.map_or_else(Vec::new, |tail| tail.to_bytes(&self.geometry));
    }
}

/// What recovery found.
pub(in crate::place::eager) struct FoundLog {
    slots: Vec<Slot>,
    log: VirtualLog,
}

impl FoundLog {
    /// Reads back what survived: from the tail if that was saved, else by a scan.
    pub(in crate::place::eager) fn read(
        geometry: &Geometry,
        tracks: &Tracks,
        stations: Option<&Stations>,
        survivors: &dyn Survivors,
    ) -> Result<FoundLog, VolumeError> {
        let damaged = |why| VolumeError::damaged("virtual log", why);
        let slot_blocks = tracks.slot_blocks();
        let way = match survivors.nvram() {
            [] => VirtualRecovery::by_scan(geometry, slot_blocks, DRIVE.0 + 1),
            saved => {
                let tail = Tail::from_bytes(geometry, saved).map_err(damaged)?;
                VirtualRecovery::from_tail(geometry, slot_blocks, tail)
            }
        };
        let mut way = way.map_err(refused)?;
        match survivors.nvram() {
            [] => scan(tracks, stations, survivors, &mut way),
            _ => walk(tracks, survivors, &mut way),
        }
        .map_err(damaged)?;
        let VirtualRecovered { map, log } = way.finish().map_err(damaged)?;
        if log.spots().next().is_none() {
            let what = format!("map sectors of this volume on drive {}", DRIVE.0);
            return Err(VolumeError::unfit(&what, "none", "at least one"));
        }
        Ok(FoundLog {
            slots: map.copies.concat().into_iter().map(Slot).collect(),
            log,
        })
    }

    /// The map that has these slots, and the log to go on with, its own slots taken.
    pub(in crate::place::eager) fn keep(
        self,
        geometry: &Geometry,
        mut stations: Option<Stations>,
        map: impl FnOnce(Vec<Slot>) -> Result<Map, VolumeError>,
    ) -> Result<(Map, VirtualLogStore), VolumeError> {
        let mut map = map(self.slots)?;
        let free = &mut map.free[DRIVE.index()];
        let places = stations.as_mut().map_or(&mut *free, Stations::free);
        for Spot { drive, slot } in self.log.spots() {
            if drive != DRIVE || !places.has(Slot(slot)) {
                let value = format!("slot {slot} of drive {}", drive.0);
                let allowed = format!("in a slot of drive {} that map sectors go to", DRIVE.0);
                return Err(VolumeError::unfit("map sector", &value, &allowed));
            }
            places.take(Slot(slot));
        }
        let store = VirtualLogStore::of(self.log, geometry, free, stations)?;
        Ok((map, store))
    }
}

/// Reads the sectors that links lead to, one by one.
fn walk(
    tracks: &Tracks,
    survivors: &dyn Survivors,
    way: &mut VirtualRecovery,
) -> Result<(), Damage> {
    let mut bytes = vec![0; tracks.slot_blocks().bytes() as usize];
    while let Some(Spot { drive, slot }) = way.next_read() {
        survivors.read(drive, tracks.at(Slot(slot)), &mut bytes);
        way.feed(&bytes)?;
    }
    Ok(())
}

/// Reads all slots, or those of stations, many at once.
fn scan(
    tracks: &Tracks,
    stations: Option<&Stations>,
    survivors: &dyn Survivors,
    way: &mut VirtualRecovery,
) -> Result<(), Damage> {
    let slot_bytes = tracks.slot_blocks().bytes() as usize;
    let (mut bytes, blank) = (Vec::new(), vec![0; slot_bytes]);
    for read in scan_reads(tracks, stations) {
        // What is no station has no map sector.
        while way
            .next_read()
            .is_some_and(|spot| spot.slot < read.slots.start)
        {
            way.feed(&blank)?;
        }
        bytes.resize(read.len().bytes() as usize, 0);
        survivors.read(DRIVE, read.first, &mut bytes);
        for slot in read.slots {
            let from = tracks.at(Slot(slot)).0 - read.first.0;
            let bytes = &bytes[(from * BLOCK_BYTES) as usize..];
            way.feed(&bytes[..slot_bytes])?;
        }
    }
    while way.next_read().is_some() {
        way.feed(&blank)?;
    }
    Ok(())
}

/// Slots that a scan reads at once.
struct ScanRead {
    slots: Range<u32>,
    first: Pba,
    end: Pba,
}

impl ScanRead {
    fn len(&self) -> Blocks {
        Blocks(self.end.0 - self.first.0)
    }
}

/// The reads of a scan, by number of their slots: whole tracks, as long as one follows the other
/// but for blocks that fill no slot.
fn scan_reads(tracks: &Tracks, stations: Option<&Stations>) -> Vec<ScanRead> {
    match stations {
        Some(stations) => joined(tracks, stations.tracks.iter().copied()),
        None => joined(tracks, 0..tracks.number(tracks.cylinders(), 0)),
    }
}

fn joined(tracks: &Tracks, numbers: impl Iterator<Item = usize>) -> Vec<ScanRead> {
    let mut reads: Vec<ScanRead> = Vec::new();
    let slot = tracks.slot_blocks();
    for number in numbers {
        let &Track {
            first,
            first_slot,
            slots,
            ..
        } = tracks.track(number);
        if slots == 0 {
            continue;
        }
        let behind = first_slot + u32::from(slots);
        let end = first + Blocks(u64::from(slots) * slot.0);
        let joins = |last: &&mut ScanRead| {
            let follows = last.end <= first && first.0 < last.end.0 + slot.0;
            let next = last.slots.end == first_slot;
            follows && next && end.0 - last.first.0 <= SCAN
        };
        match reads.last_mut().filter(joins) {
            Some(last) => (last.slots.end, last.end) = (behind, end),
            None => reads.push(ScanRead {
                slots: first_slot..behind,
                first,
                end,
            }),
        }
    }
    reads
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

impl MapStore for VirtualLogStore {
    fn nvram(&self) -> &[u8] {
        &self.tail
    }

    /// From the tail if it is saved, else by a scan.
    fn recovery(&self, map: &Map, out: &mut Vec<RecoveryRead>) {
        let tracks = map.free[DRIVE.index()].tracks();
        if self.tail.is_empty() {
            let reads = scan_reads(tracks, self.stations.as_ref());
            out.extend(reads.iter().map(|read| RecoveryRead {
                drive: DRIVE,
                at: read.first,
                len: read.len(),
            }));
        } else {
            let walked = self.log.walk().into_iter();
            out.extend(walked.map(|spot| RecoveryRead {
                drive: spot.drive,
                at: tracks.at(Slot(spot.slot)),
                len: self.slot_blocks,
            }));
        }
    }

    /// It waits: it is never on the platter yet.
    fn change(&mut self, tag: Tag, entry: Entry) -> When {
        let dirty = self.log.dirty(entry.chunk);
        self.waiting.add(tag, entry, dirty);
        When::Later
    }

    fn settled(&mut self, _map: &Map) -> Option<Tag> {
        self.waiting.settled()
    }

    fn next_writes(
        &mut self,
        now: Instant,
        drives: &dyn Drives,
        map: &Map,
        out: &mut Vec<MapWrite>,
    ) {
        let waiting = &self.waiting;
        if self.log.next_write(&Ahead { map, waiting }).is_none() {
            return;
        }
        self.tail.clear();
        let free = &map.free[DRIVE.index()];
        if let Some(stations) = &mut self.stations {
            let slot = stations.take_nearest(now, drives.oracle(DRIVE));
            self.bound = Some(slot);
            let target = Target::At(free.tracks().at(slot));
            let (drive, len) = (DRIVE, self.slot_blocks);
            return out.push(MapWrite { drive, target, len });
        }
        let spare = *self.spares.last().expect("a slot is kept for it");
        let at = free.tracks().at(spare);
        let target = match free.free() {
            0 => Target::At(at),
            _ => Target::Open(at),
        };
        out.push(MapWrite {
            drive: DRIVE,
            target,
            len: self.slot_blocks,
        });
    }

    fn content(&self, _drive: DriveId) -> &[u8] {
        let write = self.log.under_way();
        write.expect("a map sector is under way").bytes
    }

    fn written(&mut self, drive: DriveId, slot: Slot) -> Option<Slot> {
        self.failures = 0;
        let (bound, open) = (self.bound.take(), slot.0 != NOWHERE);
        let slot = match bound {
            Some(bound) => bound,
            None if open => slot,
            None => self.spares.pop().expect("a slot was kept for it"),
        };
        let placed = self.log.placed(Spot {
            drive,
            slot: slot.0,
        });
        self.waiting.placed(&placed);
        self.save_tail();
        if let Some(stations) = &mut self.stations {
            let left = placed.freed.map(|old| Slot(old.slot));
            left.into_iter().for_each(|old| stations.release(old));
            return None;
        }
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

    /// It goes to another slot, unless none is free.
    fn failed(&mut self, _drive: DriveId, failure: Failure) -> Retry {
        self.log.failed();
        if let (Some(stations), Some(slot)) = (&mut self.stations, self.bound.take()) {
            stations.retire(slot);
        }
        self.failures += 1;
        if failure != Failure::Gone && self.failures < TRIES {
            return Retry::Next;
        }
        self.waiting.clear();
        Retry::Lost
    }

    fn spares(&self, gone: &Gone) -> bool {
        !gone.has(DRIVE)
    }

    fn audit(&self, own: &mut dyn FnMut(DriveId, Slot)) {
        self.log.audit();
        assert_eq!(self.waiting.unmade(), 0, "safe changes that were not made");
        if let Some(stations) = &self.stations {
            let used = self.log.spots().count() + usize::from(self.bound.is_some());
            return stations.audit(used as u64);
        }
        let written = self.log.spots().map(|spot| Slot(spot.slot));
        let slots = written.chain(self.spares.iter().copied());
        let count = slots.inspect(|slot| own(DRIVE, *slot)).count();
        let all = self.log.sectors() as usize + 1;
        assert_eq!(count, all, "slots for map sectors");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::freemap::Span;
    use crate::maplog::Spread;
    use crate::place::busy::Busy;
    use crate::place::delayed::CopyOf;
    use crate::place::eager::map::tests::{PAIR, found};
    use crate::units::Angle;

    /// Tracks of so many blocks, by their first one.
    fn tracks(of: &[(u64, u64)]) -> Tracks {
        let span = |(first, blocks): &(u64, u64)| Span {
            first: Pba(*first),
            angle: Angle(0),
            blocks: Blocks(*blocks),
            sectors: *blocks as u32,
            contiguous: Blocks(*blocks),
        };
        Tracks::new(Blocks(8), 1, of.iter().map(span), |_| false).unwrap()
    }

    fn reads(of: &[(u64, u64)]) -> Vec<(Range<u32>, u64, u64)> {
        let reads = scan_reads(&tracks(of), None).into_iter();
        reads
            .map(|read| (read.slots.clone(), read.first.0, read.len().0))
            .collect()
    }

    #[test]
    fn a_scan_reads_whole_tracks_and_joins_those_that_follow() {
        // Five blocks of each fill no slot; the third track is no neighbour, the fourth has no
        // slot.
        let found = reads(&[(0, 21), (21, 21), (50, 21), (71, 7), (78, 21)]);
        assert_eq!(found, [(0..4, 0, 37), (4..6, 50, 16), (6..8, 78, 16)]);
        // Backward.
        assert_eq!(reads(&[(16, 16), (0, 16)]), [(0..2, 16, 16), (2..4, 0, 16)]);
    }

    #[test]
    fn a_scan_reads_a_mebibyte_at_most_but_for_a_longer_track() {
        let found = reads(&[(0, 1_024), (1_024, 1_024), (2_048, 8), (2_056, 4_096)]);
        let expected = [
            (0..256, 0, 2_048),
            (256..257, 2_048, 8),
            (257..769, 2_056, 4_096),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_slot_is_kept_for_each_sector_and_one_more() {
        let geometry = Geometry {
            volume: 1,
            chunks: 5_000,
            copies: 1,
            columns: 1,
            unit: 1,
            spread: Spread::ByCopy,
            slots: 20_000,
        };
        let log = || {
            let mut log = VirtualLog::new(&geometry, Blocks(8)).unwrap();
            log.dirty_all();
            log
        };
        let kept = slots(&geometry, Blocks(8)).unwrap();
        assert!(log().sectors() > 1, "one sector tells little");
        // When all sectors are on the platter, the next one needs a slot before the old one's is
        // free.
        assert_eq!(kept, u64::from(log().sectors()) + 1);
        let left = |count: u64| {
            let mut free = FreeMap::empty(Arc::new(tracks(&[(0, 4_096)])));
            let taken: Vec<Slot> = free.iter().skip(count as usize).collect();
            taken.iter().for_each(|slot| free.take(*slot));
            VirtualLogStore::of(log(), &geometry, &mut free, None).map(|_| free.free())
        };
        assert_eq!(left(kept).unwrap(), 0);
        assert_eq!(left(kept + 3).unwrap(), 3);
        let refused = left(kept - 1).unwrap_err().to_string();
        assert!(refused.contains("for the sectors of the map"), "{refused}");
    }

    /// What is saved at power-down leads to all of the map: so nothing is while a sector is on its
    /// way, and recovery scans the drive then.
    #[test]
    fn a_tail_is_there_while_no_sector_is_written() {
        let mut map = found([5, 1, 6, 9, 7, 8, 4, 3]).expect("it is one");
        let store = VirtualLogStore::new(&PAIR, &mut map, None);
        let mut store = store.expect("there is room");
        let mut written = 0;
        for number in 0..3 {
            let entry = CopyOf { chunk: 0, copy: 0 }.entry(Slot(5), false);
            assert_eq!(store.change(Tag(number), entry), When::Later);
            let mut writes = Vec::new();
            loop {
                store.next_writes(Instant::ZERO, &Busy, &map, &mut writes);
                if writes.is_empty() {
                    break;
                }
                writes.clear();
                written += 1;
                assert!(store.nvram().is_empty(), "it does not lead there");
                let free = &mut map.free[DRIVE.index()];
                let slot = free.iter().next().expect("one is free");
                free.take(slot);
                if let Some(left) = store.written(DRIVE, slot) {
                    map.free[DRIVE.index()].release(left);
                }
                assert!(!store.nvram().is_empty(), "nothing is on its way");
            }
            assert_eq!(store.settled(&map), Some(Tag(number)));
        }
        assert!(written >= 3, "each change was written");
    }
}
