//! The last check of a recovered map: no two blocks lie in one slot of a drive.
//!
//! A bit for each slot, set by the first who has it. The bits may take a sixteenth of the map's own memory; with more slots
//! than that (a dilution above two, about) they are gone through in several windows, each a pass over the map. The map's
//! four bytes an entry and its bits stay within the ten per cent that the claim about its memory allows.
//!
//! Cost: one random bit an entry, and a sequential read of the map per window.

use crate::ids::DriveId;

use super::format::{Claim, Damage, Fault, Place};
use super::virtual_log::Spot;
use super::{Geometry, Map, NOWHERE};

/// Below this, memory is no question: 1 MiB of bits.
const WINDOW_MIN: u64 = 1 << 23;

/// Panics of nothing; says which two have one slot, blocks of the volume or the slots of its map.
pub(super) fn check(geometry: &Geometry, map: &Map, own: &[Spot]) -> Result<(), Damage> {
    let sixteenth = geometry.entries() * 4 * 8 / 16;
    check_by(geometry, map, own, sixteenth.max(WINDOW_MIN))
}

/// A range of slots, numbered through all drives, and which of them somebody has.
struct Window {
    first: u64,
    last: u64,
    bits: Vec<u64>,
}

impl Window {
    /// Claims a slot; whether it was claimed before. Slots elsewhere are not claimed.
    #[inline]
    fn claim(&mut self, slot: u64) -> bool {
        if slot < self.first || slot > self.last {
            return false;
        }
        let bit = slot - self.first;
        let (word, mask) = (&mut self.bits[(bit / 64) as usize], 1 << (bit % 64));
        let before = *word & mask != 0;
        *word |= mask;
        before
    }

    fn overlaps(&self, first: u64, count: u64) -> bool {
        first <= self.last && first + count > self.first
    }
}

/// Goes through the slots in windows of so many.
fn check_by(geometry: &Geometry, map: &Map, own: &[Spot], window: u64) -> Result<(), Damage> {
    let slots = u64::from(geometry.slots);
    let all = u64::from(geometry.drives()) * slots;
    let mut seen = Window {
        first: 0,
        last: 0,
        bits: vec![0; window.min(all).div_ceil(64) as usize],
    };
    while seen.first < all {
        seen.last = all.min(seen.first + window) - 1;
        for spot in own {
            let number = u64::from(spot.drive.0) * slots + u64::from(spot.slot);
            assert!(!seen.claim(number), "each has its own");
        }
        for copy in 0..geometry.copies {
            check_copy(geometry, map, own, copy, &mut seen)?;
        }
        seen.first = seen.last + 1;
        seen.bits.fill(0);
    }
    Ok(())
}

fn check_copy(
    geometry: &Geometry,
    map: &Map,
    own: &[Spot],
    copy: u8,
    seen: &mut Window,
) -> Result<(), Damage> {
    let slots = u64::from(geometry.slots);
    // One column is one run.
    let unit = match geometry.columns {
        1 => geometry.granules,
        _ => geometry.unit,
    };
    let of_copy = &map.copies[usize::from(copy)];
    for (index, run) in of_copy.chunks(unit as usize).enumerate() {
        let drive = geometry.drive(copy, index as u32 * unit);
        let first = u64::from(drive.0) * slots;
        if !seen.overlaps(first, slots) {
            continue;
        }
        for slot in run {
            if *slot != NOWHERE && seen.claim(first + u64::from(*slot)) {
                return Err(twice(geometry, map, own, copy, drive, *slot));
            }
        }
    }
    Ok(())
}

/// Who has a slot that two have.
fn twice(
    geometry: &Geometry,
    map: &Map,
    own: &[Spot],
    copy: u8,
    drive: DriveId,
    slot: u32,
) -> Damage {
    let all = map.copies[usize::from(copy)].iter().zip(0..);
    let mut owners = all
        .filter(|(other, granule)| **other == slot && geometry.drive(copy, *granule) == drive)
        .map(|(_, granule)| (copy, granule));
    let first = owners.next().expect("somebody has it");
    let of_map = own.contains(&Spot { drive, slot });
    let second = match owners.next() {
        Some((copy, granule)) if !of_map => Claim::Granule(copy, granule),
        _ => Claim::MapSector,
    };
    let fault = Fault::Twice {
        drive,
        slot,
        first,
        second,
    };
    fault.at(Place::Map)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        volume: 1,
        granules: 100,
        copies: 2,
        columns: 3,
        unit: 7,
        slots: 150,
    };

    /// All slots differ on each drive, and are the same from drive to drive where they can be.
    fn map() -> Map {
        let mut map = Map::empty(&GEOMETRY);
        let mut next = [149u32; 6];
        for copy in 0..2 {
            for granule in (0..100).filter(|granule| granule % 9 != 0) {
                let drive = GEOMETRY.drive(copy, granule);
                map.copies[usize::from(copy)][granule as usize] = next[drive.index()];
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
                    second: Claim::Granule(1, other as u32),
                };
                assert_eq!(damage.fault, expected, "window {window}");
            }
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
            "recovered map: slot 149 of drive 0 holds granule 1 (copy 0) and a sector of the map, \
             allowed is one of them"
        );
    }
}
