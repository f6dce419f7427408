//! The drive's memory for what hosts write: units that wait to be programmed, and those that are
//! being programmed.
//!
//! Every write passes through it. With a write cache a write ends when its units are here, and they
//! leave in the order in which they came, a page together; what is written again while it waits
//! takes no room of its own. A forced write, and each write of a drive without a cache, leaves at
//! once and ends when it is on the medium. What is written to a unit while an older version is
//! being programmed is a new one, which has what the older one had: it may be on the medium first.
//!
//! A flush waits for what was here when it came. Units are counted by *epochs*, and each flush
//! begins one. A unit that is written again keeps its epoch, as an older flush waits for it. O(1)
//! for all.

use std::collections::VecDeque;

use super::lazy::Lazy;
use crate::io::Unwritten;
use crate::units::{Blocks, Pba};

/// No entry.
const NONE: u32 = u32::MAX;

/// A unit that is here.
#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    /// Which of its blocks.
    has: u64,
    epoch: u64,
    /// Whether it waits: then its neighbours in the order in which they came.
    waits: bool,
    before: u32,
    /// Of one that leaves, the next that leaves with it; of one that is not used, the next such.
    behind: u32,
}

/// The units of a page that leave together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    first: u32,
    pub(super) count: u32,
}

/// The memory.
#[derive(Debug)]
pub(super) struct Buffer {
    entries: Vec<Entry>,
    unused: u32,
    /// Of each unit one more than the number of its youngest entry; 0 for none.
    youngest: Lazy,
    /// Entries that wait, and how many.
    oldest: u32,
    newest: u32,
    waiting: u32,
    /// All entries.
    held: u32,
    /// For so many there is room.
    room: u32,
    /// Entries of each epoch from the oldest that has some.
    epochs: VecDeque<u32>,
    first_epoch: u64,
}

impl Buffer {
    /// For a drive with so many units.
    pub(super) fn new(capacity: u32, room: u32) -> Buffer {
        Buffer {
            entries: Vec::with_capacity(room as usize),
            unused: NONE,
            youngest: Lazy::new(capacity),
            oldest: NONE,
            newest: NONE,
            waiting: 0,
            held: 0,
            room,
            epochs: VecDeque::from([0]),
            first_epoch: 0,
        }
    }

    #[inline]
    fn find(&self, unit: u32) -> Option<u32> {
        self.youngest.get(unit).checked_sub(1)
    }

    /// Whether these blocks of a unit are here.
    #[inline]
    pub(super) fn has(&self, unit: u32, blocks: u64) -> bool {
        self.held > 0
            && self
                .find(unit)
                .is_some_and(|entry| self.entries[entry as usize].has & blocks == blocks)
    }

    /// Whether there is room for one more unit, or this one waits here.
    pub(super) fn takes(&self, unit: u32) -> bool {
        self.held < self.room || self.waiting_entry(unit).is_some()
    }

    fn waiting_entry(&self, unit: u32) -> Option<u32> {
        self.find(unit)
            .filter(|entry| self.entries[*entry as usize].waits)
    }

    /// For how many units there is room.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// Units that are here, those that are being programmed among them.
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// Units that wait.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The epoch of the one that has waited longest.
    pub(super) fn oldest_epoch(&self) -> Option<u64> {
        (self.oldest != NONE).then(|| self.entries[self.oldest as usize].epoch)
    }

    /// Some blocks of a unit are written. Whether the unit waited here before.
    pub(super) fn put(&mut self, unit: u32, blocks: u64) -> bool {
        if let Some(entry) = self.waiting_entry(unit) {
            self.entries[entry as usize].has |= blocks;
            return true;
        }
        let older = self
            .find(unit)
            .map_or(0, |older| self.entries[older as usize].has);
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        let entry = self.keep(Entry {
            unit,
            has: blocks | older,
            epoch,
            waits: true,
            before: self.newest,
            behind: NONE,
        });
        match self.newest {
            NONE => self.oldest = entry,
            newest => self.entries[newest as usize].behind = entry,
        }
        self.newest = entry;
        self.youngest.set(unit, entry + 1);
        self.waiting += 1;
        self.held += 1;
        *self.epochs.back_mut().expect("there is always one") += 1;
        false
    }

    fn keep(&mut self, entry: Entry) -> u32 {
        if self.unused == NONE {
            self.entries.push(entry);
            return self.entries.len() as u32 - 1;
        }
        let name = self.unused;
        self.unused = std::mem::replace(&mut self.entries[name as usize], entry).behind;
        name
    }

    /// An entry that waits does so no longer.
    fn unlink(&mut self, name: u32) {
        let entry = &mut self.entries[name as usize];
        entry.waits = false;
        let (before, behind) = (entry.before, std::mem::replace(&mut entry.behind, NONE));
        match before {
            NONE => self.oldest = behind,
            before => self.entries[before as usize].behind = behind,
        }
        match behind {
            NONE => self.newest = before,
            behind => self.entries[behind as usize].before = before,
        }
        self.waiting -= 1;
    }

    /// The oldest that wait leave, so many at most.
    pub(super) fn leave(&mut self, most: u32) -> Leaving {
        let mut leaving = Leaving::NONE;
        while leaving.count < most && self.oldest != NONE {
            self.add(&mut leaving, self.oldest);
        }
        leaving
    }

    /// A unit that waits leaves with others.
    pub(super) fn take(&mut self, unit: u32, leaving: &mut Leaving) {
        let entry = self.waiting_entry(unit).expect("it was put here");
        self.add(leaving, entry);
    }

    fn add(&mut self, leaving: &mut Leaving, entry: u32) {
        self.unlink(entry);
        self.entries[entry as usize].behind = leaving.first;
        leaving.first = entry;
        leaving.count += 1;
    }

    /// The units that leave together, and which blocks of them are here.
    pub(super) fn units(&self, leaving: Leaving) -> impl Iterator<Item = (u32, u64)> {
        let mut next = leaving.first;
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize)?;
            next = entry.behind;
            Some((entry.unit, entry.has))
        })
    }

    /// The first unit that leaves: it, which blocks of it are here, and what is behind.
    pub(super) fn first(&self, leaving: Leaving) -> Option<(u32, u64, u32)> {
        self.behind(leaving.first)
    }

    /// The next one.
    pub(super) fn behind(&self, name: u32) -> Option<(u32, u64, u32)> {
        let entry = self.entries.get(name as usize)?;
        Some((entry.unit, entry.has, entry.behind))
    }

    /// What has left is on the medium.
    pub(super) fn safe(&mut self, leaving: Leaving) {
        let mut next = leaving.first;
        while next != NONE {
            next = self.release(next);
        }
    }

    /// An entry is not here any more. The one behind it.
    fn release(&mut self, name: u32) -> u32 {
        let Entry {
            unit,
            epoch,
            behind,
            ..
        } = self.entries[name as usize];
        if self.youngest.get(unit) == name + 1 {
            self.youngest.set(unit, 0);
        }
        self.epochs[(epoch - self.first_epoch) as usize] -= 1;
        while self.epochs.len() > 1 && self.epochs[0] == 0 {
            self.epochs.pop_front();
            self.first_epoch += 1;
        }
        self.held -= 1;
        self.entries[name as usize].behind = self.unused;
        self.unused = name;
        behind
    }

    /// Nobody needs a unit any more: if it waits, it does not go to the medium.
    pub(super) fn drop_unit(&mut self, unit: u32) {
        if let Some(entry) = self.waiting_entry(unit) {
            self.unlink(entry);
            self.release(entry);
        }
    }

    /// A flush comes: the epoch that it waits for; none if nothing is here.
    pub(super) fn flush(&mut self) -> Option<u64> {
        if self.held == 0 {
            return None;
        }
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        if self.epochs[(epoch - self.first_epoch) as usize] > 0 {
            self.epochs.push_back(0);
        }
        Some(epoch)
    }

    /// Whether all of an epoch, and of those before, is on the medium.
    pub(super) fn is_flushed(&self, epoch: u64) -> bool {
        self.first_epoch > epoch || self.held == 0
    }

    /// What is not on the medium yet.
    pub(super) fn unwritten(&self, unit_blocks: u32, out: &mut Vec<Unwritten>) {
        if self.held == 0 {
            return;
        }
        for (name, entry) in self.entries.iter().enumerate() {
            if self.youngest.get(entry.unit) != name as u32 + 1 {
                continue;
            }
            let first = u64::from(entry.unit) * u64::from(unit_blocks);
            let (mut has, mut at) = (entry.has, 0);
            while has != 0 {
                at += has.trailing_zeros();
                has >>= has.trailing_zeros();
                let len = has.trailing_ones();
                out.push(Unwritten {
                    at: Pba(first + u64::from(at)),
                    len: Blocks(u64::from(len)),
                });
                at += len;
                has = has.checked_shr(len).unwrap_or(0);
            }
        }
    }
}

impl Leaving {
    /// Nothing.
    pub(super) const NONE: Leaving = Leaving {
        first: NONE,
        count: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of blocks that are not on the medium.
    fn unwritten(buffer: &Buffer) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        buffer.unwritten(8, &mut out);
        out.iter().map(|run| (run.at.0, run.len.0)).collect()
    }

    #[test]
    fn a_newer_version_has_what_an_older_one_had_that_is_on_its_way() {
        let mut buffer = Buffer::new(16, 4);
        assert!(!buffer.put(3, 0b0000_1111));
        assert!(
            buffer.put(3, 0b0001_0000),
            "it waits, and takes no more room"
        );
        let older = buffer.leave(1);
        assert!(!buffer.put(3, 0b1000_0000));
        assert!(buffer.has(3, 0b1001_1111) && !buffer.has(3, 0b0110_0000));
        let newer = buffer.leave(1);
        assert_eq!(buffer.units(newer).next(), Some((3, 0b1001_1111)));
        assert_eq!(unwritten(&buffer), [(24, 5), (31, 1)]);
        // The newer one may be there first, and then nothing of the unit can be lost.
        buffer.safe(newer);
        assert_eq!(unwritten(&buffer), []);
        buffer.safe(older);
        assert!(buffer.flush().is_none(), "nothing is left");
    }

    #[test]
    fn a_flush_waits_for_what_was_there_and_for_nothing_that_came_later() {
        let mut buffer = Buffer::new(16, 4);
        buffer.put(1, 1);
        buffer.put(2, 1);
        let flush = buffer.flush().unwrap();
        buffer.put(5, 1);
        // Written again, but the flush was promised the older version, which has gone into it.
        buffer.put(2, 2);
        let [first, second, third] = [1, 1, 1].map(|most| buffer.leave(most));
        buffer.safe(third);
        buffer.safe(first);
        assert!(!buffer.is_flushed(flush));
        buffer.safe(second);
        assert!(buffer.is_flushed(flush));
    }
}
