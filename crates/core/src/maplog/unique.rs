//! The last check of a recovered map: no two blocks lie in one slot of a drive.
//!
//! A bit for each slot, set by the first who has it. Neighbours in the map lie anywhere on a drive,
//! and a bit at a time, each far from the last, would cost a miss of every cache. So slots are
//! gathered by region, a region being as many bits as a processor keeps near, and a region's bits
//! are set when enough have come together.
//!
//! The bits may take a sixteenth of the map's own memory; with more slots than that (a dilution
//! above two, about) they are gone through in several windows, each a pass over the map. The
//! gathered slots take a sixty-fourth. With the map's four bytes an entry that stays within the ten
//! per cent that the claim about its memory allows.
//!
//! Cost: a bit an entry, near its predecessors, and a sequential read of the map per window.

use super::format::{Claim, Damage, DamageAt, Fault};
use super::virtual_log::Spot;
use super::{Geometry, Map, NOWHERE, Spread};
use crate::ids::DriveId;

/// Below this, memory is no question: 1 MiB of bits.
const WINDOW_MIN: u64 = 1 << 23;
/// Slots are gathered as numbers of 32 bits.
const WINDOW_MAX: u64 = 1 << 32;
/// 512 KiB of bits, which second-level caches hold.
const REGION_SHIFT: u32 = 22;
/// Slots gathered at least before their bits are set.
const GATHERED_MIN: usize = 1 << 10;

/// Says which two have one slot: blocks of the volume, or `own`, the slots of the map itself.
pub(super) fn check(geometry: &Geometry, map: &Map, own: &[Spot]) -> Result<(), Damage> {
    let sixteenth = geometry.entries() * 4 * 8 / 16;
    let window = sixteenth.clamp(WINDOW_MIN, WINDOW_MAX);
    check_by(geometry, map, own, window)
}

/// A range of slots, numbered through all drives, and which of them somebody has.
struct Window {
    first: u64,
    last: u64,
    bits: Vec<u64>,
    /// By region, slots whose bits are to be set, numbered from the first of the window.
    gathered: Vec<u32>,
    /// By region, how many.
    counts: Vec<usize>,
    /// How many fit.
    room: usize,
}

impl Window {
    fn new(bits: u64, entries: u64) -> Window {
        let regions = bits.div_ceil(1 << REGION_SHIFT) as usize;
        let room = GATHERED_MIN.max((entries / 64) as usize / regions);
        Window {
            first: 0,
            last: 0,
            bits: vec![0; bits.div_ceil(64) as usize],
            gathered: vec![0; regions * room],
            counts: vec![0; regions],
            room,
        }
    }

    /// Claims a slot; an error may name another one that was claimed twice. Slots elsewhere are not
    /// claimed.
    #[inline]
    fn claim(&mut self, slot: u64) -> Result<(), u64> {
        if slot < self.first || slot > self.last {
            return Ok(());
        }
        let slot = (slot - self.first) as u32;
        let region = (slot >> REGION_SHIFT) as usize;
        let count = self.counts[region];
        self.gathered[region * self.room + count] = slot;
        self.counts[region] = count + 1;
        match count + 1 == self.room {
            true => self.settle(region),
            false => Ok(()),
        }
    }

    /// Sets the bits of a region's slots.
    fn settle(&mut self, region: usize) -> Result<(), u64> {
        let count = std::mem::take(&mut self.counts[region]);
        for slot in &self.gathered[region * self.room..][..count] {
            let (word, mask) = (&mut self.bits[(slot / 64) as usize], 1 << (slot % 64));
            if *word & mask != 0 {
                return Err(self.first + u64::from(*slot));
            }
            *word |= mask;
        }
        Ok(())
    }

    /// Claims what is in the window of a map, and of the slots that hold it.
    fn claim_all(&mut self, geometry: &Geometry, map: &Map, own: &[Spot]) -> Result<(), u64> {
        let slots = u64::from(geometry.slots);
        for spot in own {
            self.claim(u64::from(spot.drive.0) * slots + u64::from(spot.slot))?;
        }
        // One drive is one run.
        let unit = match (geometry.spread, geometry.columns) {
            (Spread::ByCopy, 1) => geometry.chunks,
            _ => geometry.unit,
        };
        for (copy, of_copy) in (0..).zip(&map.copies) {
            for (index, run) in of_copy.chunks(unit as usize).enumerate() {
                let drive = geometry.drive(copy, index as u32 * unit);
                let first = u64::from(drive.0) * slots;
                if first > self.last || first + slots <= self.first {
                    continue;
                }
                for slot in run.iter().filter(|slot| **slot != NOWHERE) {
                    self.claim(first + u64::from(*slot))?;
                }
            }
        }
        (0..self.counts.len()).try_for_each(|region| self.settle(region))
    }
}

/// Goes through the slots in windows of so many.
fn check_by(geometry: &Geometry, map: &Map, own: &[Spot], window: u64) -> Result<(), Damage> {
    let all = u64::from(geometry.drives()) * u64::from(geometry.slots);
    let mut seen = Window::new(window.min(all), geometry.entries());
    while seen.first < all {
        seen.last = all.min(seen.first + window) - 1;
        let claimed = seen.claim_all(geometry, map, own);
        claimed.map_err(|slot| twice(geometry, map, own, slot))?;
        seen.first = seen.last + 1;
        seen.bits.fill(0);
    }
    Ok(())
}

/// Who has a slot that two have.
fn twice(geometry: &Geometry, map: &Map, own: &[Spot], number: u64) -> Damage {
    let slots = u64::from(geometry.slots);
    let (drive, slot) = (DriveId((number / slots) as u16), (number % slots) as u32);
    let chunks_of = |copy| (0..geometry.chunks).map(move |chunk| (copy, chunk));
    let all = (0..geometry.copies).flat_map(chunks_of);
    let mut owners = all.filter(|(copy, chunk)| {
        map.slot(*copy, *chunk) == slot && geometry.drive(*copy, *chunk) == drive
    });
    let first = owners.next().expect("map sectors have slots of their own");
    let of_map = own.contains(&Spot { drive, slot });
    let second = match owners.next() {
        Some((copy, chunk)) if !of_map => Claim::Chunk(copy, chunk),
        _ => Claim::MapSector,
    };
    let fault = Fault::Twice {
        drive,
        slot,
        first,
        second,
    };
    fault.at(DamageAt::Map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const GEOMETRY: Geometry = Geometry {
        volume: 1,
        chunks: 100,
        copies: 2,
        columns: 3,
        unit: 7,
        spread: Spread::ByCopy,
        slots: 150,
    };

    /// All slots differ on each drive, and are the same from drive to drive where they can be.
    fn map() -> Map {
        let mut map = Map::empty(&GEOMETRY);
        let mut next = [149u32; 6];
        for copy in 0..2 {
            for chunk in (0..100).filter(|chunk| chunk % 9 != 0) {
                let drive = GEOMETRY.drive(copy, chunk);
                map.copies[usize::from(copy)][chunk as usize] = next[drive.index()];
                next[drive.index()] -= 1;
            }
        }
        map
    }

    #[test]
    fn each_window_finds_its_twins() {
        let good = map();
        for window in [64, 100, 151, 1_000, 1 << 20] {
            assert_eq!(check_by(&GEOMETRY, &good, &[], window), Ok(()));
            for (one, other) in [(1, 2), (22, 43), (10, 94)] {
                let mut bad = good.clone();
                bad.copies[1][other] = bad.copies[1][one];
                let drive = GEOMETRY.drive(1, one as u32);
                assert_eq!(drive, GEOMETRY.drive(1, other as u32), "one drive");
                let damage = check_by(&GEOMETRY, &bad, &[], window).unwrap_err();
                let expected = Fault::Twice {
                    drive,
                    slot: bad.copies[1][one],
                    first: (1, one as u32),
                    second: Claim::Chunk(1, other as u32),
                };
                assert_eq!(damage.fault, expected, "window {window}");
            }
        }
    }

    #[test]
    fn drives_of_a_pair_have_both_copies() {
        let geometry = Geometry {
            chunks: 84,
            spread: Spread::ByPair,
            ..GEOMETRY
        };
        // Chunks 0 and 21 are of the same pair: each drive has the first copy of one and the second
        // of the other.
        let mut map = Map::empty(&geometry);
        map.copies = vec![(0..84).collect(), (0..84).collect()];
        let check = |map: &Map| check_by(&geometry, map, &[], 100);
        assert_eq!(check(&map), Ok(()));
        assert_eq!(geometry.drive(0, 0), geometry.drive(1, 21));
        map.copies[1][21] = 0;
        let damage = check(&map).unwrap_err();
        let expected = Fault::Twice {
            drive: DriveId(0),
            slot: 0,
            first: (0, 0),
            second: Claim::Chunk(1, 21),
        };
        assert_eq!(damage.fault, expected);
        map.copies[1][21] = 21;
        map.copies[1][0] = 21;
        assert!(check(&map).is_err());
        map.copies[0][21] = NOWHERE;
        assert_eq!(check(&map), Ok(()));
    }

    #[test]
    fn a_twin_is_found_wherever_it_is_among_many() {
        // More slots than a region has, more entries than are gathered.
        let geometry = Geometry {
            volume: 1,
            chunks: 300_000,
            copies: 1,
            columns: 1,
            unit: 1,
            spread: Spread::ByCopy,
            slots: 9_000_000,
        };
        let mut map = Map::empty(&geometry);
        for (slot, entry) in (0..).zip(&mut map.copies[0]) {
            *entry = slot * 30;
        }
        assert_eq!(check_by(&geometry, &map, &[], 1 << 32), Ok(()));
        let mut rng = Rng::stream(1, "maplog/unique");
        for _ in 0..20 {
            let [one, other] = [0; 2].map(|_: usize| rng.below(300_000) as usize);
            let twin = map.copies[0][other];
            let old = std::mem::replace(&mut map.copies[0][one], twin);
            let found = check_by(&geometry, &map, &[], 1 << 32);
            assert_eq!(found.is_err(), one != other);
            map.copies[0][one] = old;
        }
    }

    #[test]
    fn the_maps_own_sectors_have_slots_too() {
        let map = map();
        let spot = |slot| Spot {
            drive: GEOMETRY.drive(0, 1),
            slot,
        };
        assert_eq!(check(&GEOMETRY, &map, &[spot(3), spot(4)]), Ok(()));
        let damage = check(&GEOMETRY, &map, &[spot(3), spot(149)]).unwrap_err();
        assert_eq!(
            damage.to_string(),
            "recovered map: slot 149 of drive 0 holds chunk 1 (copy 0) and a sector of the map, \
             allowed is one of them"
        );
    }
}
