//! A virtual log in a small array: its sectors and the data share the drives' slots, and every
//! freed slot is used again at once.

use std::collections::VecDeque;

use super::world::{BLOCK, free_slots, in_pairs, small_geometry};
use super::*;
use crate::rng::Rng;
use crate::units::Blocks;

struct Array {
    geometry: Geometry,
    slot: usize,
    log: VirtualLog,
    /// By drive, then by slot.
    slots: Vec<Vec<Vec<u8>>>,
    free: Vec<Vec<u32>>,
    /// The caller's map, and the map as completed writes of sectors have it.
    map: Map,
    written: Map,
    /// Slots that become free when their block's move is safe.
    leaving: VecDeque<(Dirty, Spot)>,
    rng: Rng,
    writes: usize,
    updates: usize,
}

impl Array {
    fn new(seed: u64, blocks: usize) -> Array {
        let mut rng = Rng::stream(seed, "maplog/virtual");
        let geometry = Geometry {
            slots: 500,
            ..small_geometry(&mut rng)
        };
        Array::of(geometry, blocks, rng)
    }

    fn of(geometry: Geometry, blocks: usize, mut rng: Rng) -> Array {
        let slot = blocks * BLOCK;
        let of_drive = vec![vec![0xA5; slot]; geometry.slots as usize];
        Array {
            log: VirtualLog::new(&geometry, Blocks(blocks as u64)).unwrap(),
            slots: vec![of_drive; usize::from(geometry.drives())],
            free: free_slots(&geometry, &mut rng),
            map: Map::empty(&geometry),
            written: Map::empty(&geometry),
            leaving: VecDeque::new(),
            writes: 0,
            updates: 0,
            geometry,
            slot,
            rng,
        }
    }

    fn blocks(&self) -> Blocks {
        Blocks((self.slot / BLOCK) as u64)
    }

    fn at(&mut self, spot: Spot) -> &mut Vec<u8> {
        &mut self.slots[spot.drive.index()][spot.slot as usize]
    }

    fn release(&mut self, spot: Spot) {
        self.free[spot.drive.index()].push(spot.slot);
    }

    /// A block moves: data first, into the slot that became free last.
    fn update(&mut self, copy: u8, chunk: u32) {
        let drive = self.geometry.drive(copy, chunk);
        let slot = self.free[drive.index()].pop().unwrap();
        self.at(Spot { drive, slot }).fill(chunk as u8);
        let entry = Entry {
            copy,
            chunk,
            slot,
            alone: false,
        };
        let old = self.map.set(entry);
        let dirty = self.log.dirty(chunk);
        self.updates += 1;
        if old != NOWHERE {
            self.leaving.push_back((dirty, Spot { drive, slot: old }));
        }
    }

    fn update_any(&mut self) {
        let copy = self.rng.below(self.geometry.copies.into()) as u8;
        let chunk = self.rng.below(self.geometry.chunks.into()) as u32;
        self.update(copy, chunk);
    }

    /// A write of a sector: which, its bytes, and where it goes.
    fn begin(&mut self) -> Option<(u32, Vec<u8>, Spot)> {
        let write = self.log.next_write(&self.map)?;
        let (sector, bytes) = (write.sector, write.bytes.to_vec());
        let mut drive = self.rng.below(self.geometry.drives().into()) as u16;
        while self.free[usize::from(drive)].is_empty() {
            drive = (drive + 1) % self.geometry.drives();
        }
        let slot = self.free[usize::from(drive)].pop().unwrap();
        let drive = DriveId(drive);
        Some((sector, bytes, Spot { drive, slot }))
    }

    /// The map when this sector is written, as its own bytes do not say.
    fn with_sector(&self, sector: u32) -> Map {
        let count = (self.slot as u32 - 208) / 4 / u32::from(self.geometry.copies);
        let first = sector * count;
        let until = (first + count).min(self.geometry.chunks);
        let mut map = self.written.clone();
        for (written, now) in map.copies.iter_mut().zip(&self.map.copies) {
            let chunks = first as usize..until as usize;
            written[chunks.clone()].copy_from_slice(&now[chunks]);
        }
        map
    }

    fn complete(&mut self, spot: Spot, written: Map) {
        let placed = self.log.placed(spot);
        self.writes += 1;
        self.written = written;
        let (safe, leaving): (VecDeque<_>, _) = self
            .leaving
            .drain(..)
            .partition(|(dirty, _)| dirty.sector == placed.sector && placed.number > dirty.after);
        self.leaving = leaving;
        safe.into_iter().for_each(|(_, spot)| self.release(spot));
        // Last, so that it is used next.
        placed.freed.into_iter().for_each(|spot| self.release(spot));
        self.log.audit();
    }

    /// Writes until nothing is dirty.
    fn settle(&mut self) {
        while let Some((sector, bytes, spot)) = self.begin() {
            *self.at(spot) = bytes;
            let written = self.with_sector(sector);
            self.complete(spot, written);
        }
    }

    fn by_scan(&self) -> Result<VirtualRecovered, Damage> {
        let recovery =
            VirtualRecovery::by_scan(&self.geometry, self.blocks(), self.geometry.drives());
        self.recover(recovery.unwrap())
            .map(|(recovered, _)| recovered)
    }

    fn by_tail(&self) -> Result<(VirtualRecovered, Vec<Spot>), Damage> {
        let tail = self.log.tail().unwrap().to_bytes(&self.geometry);
        let tail = Tail::from_bytes(&self.geometry, &tail)?;
        let recovery = VirtualRecovery::from_tail(&self.geometry, self.blocks(), tail);
        self.recover(recovery.unwrap())
    }

    /// The recovered, and which slots were read.
    fn recover(&self, mut way: VirtualRecovery) -> Result<(VirtualRecovered, Vec<Spot>), Damage> {
        let mut reads = Vec::new();
        while let Some(spot) = way.next_read() {
            // A tail that was damaged may lead anywhere on the drives.
            way.feed(&self.slots[spot.drive.index()][spot.slot as usize])?;
            reads.push(spot);
        }
        Ok((way.finish()?, reads))
    }

    /// Whether every block finds its own data.
    fn check_data(&self, map: &Map) {
        for copy in 0..self.geometry.copies {
            for chunk in 0..self.geometry.chunks {
                let (drive, slot) = (self.geometry.drive(copy, chunk), map.slot(copy, chunk));
                if slot != NOWHERE {
                    let data = &self.slots[drive.index()][slot as usize];
                    assert!(data.iter().all(|byte| *byte == chunk as u8), "{chunk}");
                }
            }
        }
    }

    /// Cuts the power: the map of completed writes is found both ways.
    fn cut(&self, scanned: &Map) {
        self.check_data(scanned);
        let recovered = self.by_scan().unwrap_or_else(|damage| panic!("{damage}"));
        assert_eq!(&recovered.map, scanned, "by scan");
        recovered.log.audit();
        if self.log.tail().is_some() {
            let (recovered, reads) = self.by_tail().unwrap_or_else(|damage| panic!("{damage}"));
            assert_eq!(recovered.map, self.written, "from the tail");
            assert_eq!(
                reads.len(),
                self.log.spots().count(),
                "live sectors, each once"
            );
            assert_eq!(reads, self.log.walk(), "as foretold");
            recovered.log.audit();
        }
    }

    /// Goes on after a power cut: what was not safe is gone, and nobody was told that it was.
    fn crash(&mut self) {
        let recovered = self.by_scan().unwrap();
        (self.log, self.map) = (recovered.log, recovered.map);
        self.written = self.map.clone();
        self.leaving.clear();
        let own: Vec<Spot> = self.log.spots().collect();
        for drive in 0..self.geometry.drives() {
            let mut taken: Vec<bool> = vec![false; self.geometry.slots as usize];
            for copy in 0..self.geometry.copies {
                for chunk in 0..self.geometry.chunks {
                    let slot = self.map.slot(copy, chunk);
                    if slot != NOWHERE && self.geometry.drive(copy, chunk).0 == drive {
                        taken[slot as usize] = true;
                    }
                }
            }
            let own = own.iter().filter(|spot| spot.drive.0 == drive);
            own.for_each(|spot| taken[spot.slot as usize] = true);
            let free = (0..self.geometry.slots).filter(|slot| !taken[*slot as usize]);
            self.free[usize::from(drive)] = free.collect();
        }
    }
}

/// A life with a power cut at every step and within every write.
fn life(seed: u64, blocks: usize) {
    let mut array = Array::new(seed, blocks);
    for _ in 0..60 {
        for _ in 0..array.rng.below(4) {
            array.update_any();
        }
        let Some((sector, bytes, spot)) = array.begin() else {
            continue;
        };
        let (old, new) = (array.written.clone(), array.with_sector(sector));
        for block in 0..blocks {
            // What follows may be the same as what was there.
            let whole = *array.at(spot) == bytes;
            array.cut(if whole { &new } else { &old });
            let range = block * BLOCK..(block + 1) * BLOCK;
            array.at(spot)[range.clone()].copy_from_slice(&bytes[range]);
        }
        array.cut(&new);
        if array.rng.below(12) == 0 {
            array.crash();
            continue;
        }
        // The sector on its way does not hold these.
        for _ in 0..array.rng.below(3) {
            array.update_any();
        }
        array.complete(spot, new.clone());
        array.cut(&new);
    }
}

#[test]
fn the_power_may_go_at_every_sector_write() {
    for seed in 0..16 {
        life(seed, 1 + seed as usize % 3);
    }
}

#[test]
fn a_walk_reaches_every_live_sector_after_any_order_of_updates() {
    let mut rng = Rng::stream(3, "maplog/orders");
    let geometry = Geometry {
        chunks: 7_000,
        copies: 1,
        slots: 8_000,
        columns: 1,
        spread: Spread::ByCopy,
        ..small_geometry(&mut rng)
    };
    // 92 sectors, all written once, then again in the order that makes one sector's links the most.
    let mut array = Array::of(geometry, 1, rng);
    (0..7_000).for_each(|chunk| array.update(0, chunk));
    array.settle();
    assert_eq!(array.log.spots().count(), 93);
    for step in 0..600 {
        let busiest = array.log.busiest();
        let sector = if step % 2 == 0 { busiest } else { step % 93 };
        array.update(0, (sector * 76).min(6_999));
        array.settle();
        let (recovered, reads) = array.by_tail().unwrap();
        assert_eq!(recovered.map, array.map);
        assert_eq!(reads.len(), 93);
    }
    assert!(
        array.writes > 93 + 600,
        "some had too many links to replace"
    );
    assert_eq!(array.by_scan().unwrap().map, array.map);
}

#[test]
fn random_updates_hardly_ever_need_a_second_write() {
    let mut rng = Rng::stream(4, "maplog/helpers");
    let geometry = Geometry {
        chunks: 20_000,
        copies: 1,
        slots: 21_000,
        columns: 1,
        spread: Spread::ByCopy,
        ..small_geometry(&mut rng)
    };
    let mut array = Array::of(geometry, 1, rng);
    for _ in 0..40_000 {
        array.update_any();
        array.settle();
    }
    let more = array.writes - array.updates;
    assert!(more * 10_000 < array.updates, "{more} of {}", array.updates);
}

#[test]
fn a_saved_tail_is_read_back_or_refused() {
    let mut array = Array::new(5, 1);
    array.update_any();
    array.settle();
    let tail = array.log.tail().unwrap();
    let good = tail.to_bytes(&array.geometry);
    assert_eq!(Tail::from_bytes(&array.geometry, &good), Ok(tail));
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Tail::from_bytes(&array.geometry, &bytes).is_err(), "{bit}");
    }
    let damage = Tail::from_bytes(&array.geometry, &good[1..]).unwrap_err();
    assert_eq!(damage.to_string(), "saved tail: bytes 51, allowed is 52");
}

#[test]
fn damage_is_an_error_or_does_no_harm() {
    let mut array = Array::new(6, 1);
    for _ in 0..400 {
        array.update_any();
        array.settle();
    }
    let tail = array.log.tail().unwrap().0.spot;
    let spots: Vec<Spot> = array.log.spots().collect();
    for spot in spots {
        for bit in 0..BLOCK * 8 {
            array.at(spot)[bit / 8] ^= 1 << (bit % 8);
            let damage = array.by_tail().unwrap_err();
            assert_eq!(damage.place, DamageAt::Slot(spot.drive, spot.slot));
            // The youngest is the one that nothing vouches for.
            if spot != tail {
                assert!(array.by_scan().is_err(), "bit {bit} of {spot:?}");
            }
            array.at(spot)[bit / 8] ^= 1 << (bit % 8);
        }
    }
    array.cut(&array.written.clone());
}

#[test]
fn a_newer_release_and_another_volume_are_told() {
    let mut array = Array::new(8, 1);
    array.update_any();
    array.settle();
    let spot = array.log.tail().unwrap().0.spot;
    array.at(spot)[8] = 3;
    let text = array.by_scan().unwrap_err().to_string();
    assert!(
        text.contains("written by a newer nearslot: version 3"),
        "{text}"
    );
    array.at(spot)[8] = 2;
    array.geometry.volume ^= 1;
    let text = array.by_scan().unwrap_err().to_string();
    assert!(text.contains("belongs to volume"), "{text}");
}

#[test]
fn copies_that_lie_otherwise_are_told() {
    let mut rng = Rng::stream(8, "maplog/virtual");
    let mut array = Array::of(in_pairs(small_geometry(&mut rng)), 1, rng);
    array.update_any();
    array.settle();
    array.geometry.spread = Spread::ByCopy;
    let says = "made for copies on pairs of drives, the volume has them on drives of their own";
    for damage in [array.by_scan().err(), array.by_tail().err()] {
        let text = damage.unwrap().to_string();
        assert!(text.ends_with(says), "{text}");
    }
}

#[test]
fn a_block_in_a_slot_of_the_map_is_found() {
    let mut array = Array::new(9, 1);
    array.update(0, 0);
    array.settle();
    // On this drive, so that the same slot number is the same slot.
    array.update(0, 0);
    let (_, bytes, _) = array.begin().unwrap();
    let slot = array.map.slot(0, 0);
    let spot = Spot {
        drive: array.geometry.drive(0, 0),
        slot,
    };
    *array.at(spot) = bytes;
    let damage = array.by_scan().unwrap_err();
    let expected = Fault::Twice {
        drive: spot.drive,
        slot,
        first: (0, 0),
        second: format::Claim::MapSector,
    };
    assert_eq!(damage.fault, expected);
}

/// A drive that did not answer in time may have written the sector all the same. While it was under
/// way it changed again, behind another one.
#[test]
fn a_sector_that_may_have_been_written_comes_before_those_that_wait() {
    let geometry = Geometry {
        chunks: 280,
        copies: 1,
        columns: 1,
        spread: Spread::ByCopy,
        slots: 500,
        ..small_geometry(&mut Rng::stream(11, "geometry"))
    };
    let mut array = Array::of(geometry, 1, Rng::stream(11, "maplog/virtual"));
    for chunk in [0, 279] {
        array.update(0, chunk);
        array.settle();
    }
    array.update(0, 0);
    let (sector, bytes, spot) = array.begin().unwrap();
    *array.at(spot) = bytes;
    [279, 0]
        .into_iter()
        .for_each(|chunk| array.update(0, chunk));
    array.log.failed();
    array.log.audit();
    let (again, bytes, other) = array.begin().unwrap();
    assert_eq!((again, other != spot), (sector, true));
    array
        .by_scan()
        .expect("what may have been written is the youngest");
    let written = array.with_sector(again);
    *array.at(other) = bytes;
    array.complete(other, written);
    array.settle();
    array
        .by_scan()
        .expect("it is older than what was written again");
}
