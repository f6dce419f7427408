//! Which parts of the map are in memory, on a drive whose memory has no room for all of it.
//!
//! The map lies on the flash, in pages of its own, and its cache holds *lines*: entries of
//! consecutive units. Who needs one that is not there waits for a read of the flash, ahead of the
//! read or program that it is for. The line that was asked for least recently makes room; if it was
//! changed, its page of the map is read and programmed anew, for which nobody waits. Source: Gupta,
//! Kim and Urgaonkar, "DFTL", ASPLOS 2009.
//!
//! Departures: a line is taken for there as soon as it is on its way, and pages of the map take no
//! part in collection. O(1).

use super::lazy::Lazy;

/// No line.
const NONE: u32 = u32::MAX;
/// Bytes of an entry, with what says which unit it is of.
pub(super) const ENTRY_BYTES: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Slot {
    line: u32,
    is_changed: bool,
    newer: u32,
    older: u32,
}

/// The cache of a map.
#[derive(Debug)]
pub(super) struct MapCache {
    /// Units of a line.
    units: u32,
    slots: Vec<Slot>,
    most: usize,
    /// Of each line one more than its slot.
    slot_of: Lazy,
    newest: u32,
    oldest: u32,
}

/// What an entry that is needed costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing.
    There,
    /// A read; and of another unit, that its page of the map is written.
    Missed {
        /// A unit of the line that made room, if it was changed.
        written: Option<u32>,
    },
}

impl MapCache {
    /// For a map of so many units; `most` lines fit.
    pub(super) fn new(capacity: u32, units: u32, most: u32) -> MapCache {
        MapCache {
            units,
            slots: Vec::with_capacity(most as usize),
            most: most as usize,
            slot_of: Lazy::new(capacity.div_ceil(units)),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// The entry of a unit is needed, and perhaps changed.
    pub(super) fn ask(&mut self, unit: u32, is_changed: bool) -> Asked {
        let line = unit / self.units;
        if let Some(slot) = self.slot_of.get(line).checked_sub(1) {
            self.unlink(slot);
            self.enter(
                slot,
                line,
                is_changed || self.slots[slot as usize].is_changed,
            );
            return Asked::There;
        }
        let mut written = None;
        let slot = if self.slots.len() < self.most {
            self.slots.push(Slot {
                line,
                is_changed,
                newer: NONE,
                older: NONE,
            });
            self.slots.len() as u32 - 1
        } else {
            let oldest = self.oldest;
            let Slot {
                line, is_changed, ..
            } = self.slots[oldest as usize];
            written = is_changed.then(|| line * self.units);
            self.slot_of.set(line, 0);
            self.unlink(oldest);
            oldest
        };
        self.enter(slot, line, is_changed);
        self.slot_of.set(line, slot + 1);
        Asked::Missed { written }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn enter(&mut self, slot: u32, line: u32, is_changed: bool) {
        self.slots[slot as usize] = Slot {
            line,
            is_changed,
            newer: NONE,
            older: self.newest,
        };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn it_is_what_a_list_in_order_of_use_is() {
        let mut cache = MapCache::new(100, 4, 5);
        // The newest first.
        let mut list: Vec<(u32, bool)> = Vec::new();
        let mut rng = Rng::stream(1, "map cache");
        for _ in 0..10_000 {
            let (unit, changed) = (rng.below(100) as u32, rng.chance(0.3));
            let line = unit / 4;
            let expected = match list.iter().position(|(held, _)| *held == line) {
                Some(index) => {
                    let (_, before) = list.remove(index);
                    list.insert(0, (line, changed || before));
                    Asked::There
                }
                None => {
                    let full = list.len() == 5;
                    let gone = full.then(|| list.pop()).flatten();
                    list.insert(0, (line, changed));
                    let written = gone
                        .filter(|(_, changed)| *changed)
                        .map(|(line, _)| line * 4);
                    Asked::Missed { written }
                }
            };
            assert_eq!(cache.ask(unit, changed), expected);
        }
    }
}
