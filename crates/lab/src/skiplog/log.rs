//! Which slots of a region are free, and where each block of the log lies.
//!
//! A slot is taken when a write to it begins. It is free again when a later write of the same
//! logical block has ended, not when that one begins: until then it holds the newest block that is
//! surely there. A write that fails never ends, so its slots stay taken for good: nobody knows what
//! they hold.
//!
//! A write of several blocks takes slots in a row. Where no run is long enough it is to be cut:
//! [`Log::room`] says how many fit. While fewer slots are mapped or being written than there are,
//! one block always fits. To look for a run costs a look at each slot on the way.

use std::ops::Range;

/// A write of some logical blocks in a row, under way or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The first of them.
    pub logical: u64,
    /// How many.
    pub count: u64,
    /// Number of the first; the others follow it. None is given twice.
    pub sequence: u64,
}

/// Where the newest version of a logical block lies that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slot: u64,
    pub(super) sequence: u64,
}

/// The account of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    map: Vec<Option<Place>>,
    taken: Vec<bool>,
    next: u64,
}

impl Log {
    /// A log of so many logical blocks over a region of so many slots, all free.
    ///
    /// # Panics
    /// If there are not more slots than blocks: once all are written, none could be written again.
    pub fn new(blocks: u64, slots: u64) -> Log {
        assert!(slots > blocks, "{slots} slots for {blocks} blocks");
        Log {
            map: vec![None; blocks as usize],
            taken: vec![false; slots as usize],
            next: 0,
        }
    }

    /// Logical blocks.
    pub fn blocks(&self) -> u64 {
        self.map.len() as u64
    }

    /// Slots of the region.
    pub fn slots(&self) -> u64 {
        self.taken.len() as u64
    }

    /// Where the newest version of a logical block lies; none if it was never written.
    pub fn at(&self, logical: u64) -> Option<u64> {
        self.map[logical as usize].map(|place| place.slot)
    }

    /// Logical blocks that were written.
    pub fn mapped(&self) -> u64 {
        self.map.iter().flatten().count() as u64
    }

    /// Slots that are neither mapped nor being written.
    pub fn free(&self) -> u64 {
        self.taken.iter().filter(|taken| !**taken).count() as u64
    }

    /// Whether a write of so many blocks may begin at this slot.
    pub fn fits(&self, slot: u64, count: u64) -> bool {
        let end = slot + count;
        end <= self.slots() && !self.taken[slot as usize..end as usize].contains(&true)
    }

    /// The free runs of the region, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let find = |from: usize, taken: bool| {
                let found = self.taken[from..].iter().position(|is| *is == taken);
                found.map(|ahead| from + ahead)
            };
            let begin = find(at, false)?;
            at = find(begin, true).unwrap_or(self.taken.len());
            Some(begin as u64..at as u64)
        })
    }

    /// The first slot from `from` on, and then from the begin of the region on, where so many
    /// blocks may be written.
    pub fn next(&self, from: u64, count: u64) -> Option<u64> {
        let first = |range: Range<u64>| {
            let (begin, mut run) = (range.start, 0);
            for slot in begin..self.slots() {
                run = if self.taken[slot as usize] {
                    0
                } else {
                    run + 1
                };
                let at = slot + 1 - run;
                if at >= range.end {
                    return None;
                }
                if run == count {
                    return Some(at);
                }
            }
            None
        };
        first(from..self.slots()).or_else(|| first(0..from))
    }

    /// How many of `count` blocks fit into one run, halved until they do; 0 if no slot is free. It
    /// is quick where there is one soon behind `from`.
    pub fn room(&self, from: u64, count: u64) -> u64 {
        let mut fits = count;
        while fits > 0 && self.next(from, fits).is_none() {
            fits /= 2;
        }
        fits
    }

    /// A write of logical blocks in a row gets its numbers. Where it goes is said later.
    ///
    /// # Panics
    /// If it has no block, or one beyond the log.
    pub fn begin(&mut self, logical: u64, count: u64) -> Write {
        let end = logical + count;
        assert!(
            count > 0 && end <= self.blocks(),
            "blocks {logical} to {end}"
        );
        let sequence = self.next;
        self.next += count;
        Write {
            logical,
            count,
            sequence,
        }
    }

    /// A write takes the slots from this one on.
    ///
    /// # Panics
    /// If one of them is not free.
    pub fn take(&mut self, write: &Write, slot: u64) {
        assert!(self.fits(slot, write.count), "{write:?} at slot {slot}");
        for slot in slot..slot + write.count {
            self.taken[slot as usize] = true;
        }
    }

    /// A write has ended whose slots begin with this one: what lay elsewhere of its logical blocks
    /// is free, if it is older.
    pub fn end(&mut self, write: &Write, slot: u64) {
        for index in 0..write.count {
            let place = Place {
                slot: slot + index,
                sequence: write.sequence + index,
            };
            self.found((write.logical + index) as usize, place);
        }
    }

    /// A version of a block is on the medium. The older of two is free.
    pub(super) fn found(&mut self, logical: usize, place: Place) {
        self.next = self.next.max(place.sequence + 1);
        let known = self.map[logical];
        let (newest, older) = match known {
            Some(known) if known.sequence > place.sequence => (known, Some(place)),
            older => (place, older),
        };
        self.map[logical] = Some(newest);
        self.taken[newest.slot as usize] = true;
        if let Some(older) = older {
            self.taken[older.slot as usize] = false;
        }
    }
}
