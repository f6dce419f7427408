//! Slots: when one that no copy is in any more becomes free.

use super::map::NOWHERE;
use super::{EagerCopies, Underway};
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::place::delayed::CopyOf;
use crate::sorted::{Keyed, Sorted};

/// Reads under way from a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readers {
    pub(super) place: (u16, Slot),
    pub(super) count: u32,
    /// The block has moved: the slot becomes free with the last of them.
    pub(super) left: bool,
}

/// Slots that could not be read or written: they are never free again in this life. O(log n).
pub(super) struct Retired {
    slots: Sorted<Bad>,
    /// By drive.
    counts: Vec<u64>,
}

/// A slot that could not be read or written.
#[derive(Clone, Copy, Debug)]
struct Bad((u16, Slot));

fn has(slots: &Sorted<Bad>, drive: DriveId, slot: Slot) -> bool {
    let place = (drive.0, slot);
    let found = slots.at(slots.seek(&place));
    found.is_some_and(|found| found.0 == place)
}

impl Keyed for Bad {
    type Key = (u16, Slot);

    #[inline]
    fn key(&self) -> (u16, Slot) {
        self.0
    }
}

impl Retired {
    pub(super) fn new(drives: u16) -> Retired {
        Retired {
            slots: Sorted::default(),
            counts: vec![0; drives.into()],
        }
    }

    pub(super) fn add(&mut self, drive: DriveId, slot: Slot) {
        self.slots.insert(Bad((drive.0, slot)));
        self.counts[drive.index()] += 1;
    }

    /// How many of a drive.
    pub(super) fn count(&self, drive: DriveId) -> u64 {
        self.counts[drive.index()]
    }

    fn has(&self, drive: DriveId, slot: Slot) -> bool {
        has(&self.slots, drive, slot)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DriveId, Slot)> {
        self.slots.iter().map(|bad| (DriveId(bad.0.0), bad.0.1))
    }
}

/// Slots where a read has failed and nothing was written since. By the time another copy was read
/// in place of one that could not be, a newer version may lie in the same slot: that is not in
/// doubt.
#[derive(Default)]
pub(super) struct Doubted(Sorted<Bad>);

impl Doubted {
    pub(super) fn add(&mut self, drive: DriveId, slot: Slot) {
        if !self.has(drive, slot) {
            self.0.insert(Bad((drive.0, slot)));
        }
    }

    /// The slot was written.
    pub(super) fn remove(&mut self, drive: DriveId, slot: Slot) {
        self.0.take(&(drive.0, slot));
    }

    pub(super) fn has(&self, drive: DriveId, slot: Slot) -> bool {
        has(&self.0, drive, slot)
    }
}

impl Keyed for Readers {
    type Key = (u16, Slot);

    #[inline]
    fn key(&self) -> (u16, Slot) {
        self.place
    }
}

impl EagerCopies {
    /// A slot that no copy is in any more becomes free with the last read from it.
    pub(super) fn vacate(&mut self, of: CopyOf, slot: Slot) {
        if slot == NOWHERE {
            return;
        }
        let drive = self.drive(of);
        match self.readers.take(&(drive.0, slot)) {
            Some(readers) => self.readers.insert(Readers {
                left: true,
                ..readers
            }),
            None => self.release(of, drive, slot),
        }
    }

    /// A slot becomes free, unless it is some copy's home: that waits for its own.
    pub(super) fn release(&mut self, of: CopyOf, drive: DriveId, slot: Slot) {
        // A write that never started has no slot.
        let usable = slot != NOWHERE && !self.retired.has(drive, slot);
        if usable && self.home(of) != Some(slot) {
            self.free(drive, slot);
        }
    }

    /// A slot becomes free, whatever lay there. Those of a drive that is gone are.
    pub(super) fn free(&mut self, drive: DriveId, slot: Slot) {
        if self.gone.has(drive) {
            return;
        }
        let free = &mut self.map.free[drive.index()];
        if free.free() == 0 {
            self.freed.push(drive);
        }
        free.release(slot);
    }

    /// A read has ended.
    pub(super) fn read_ended(&mut self, read: &Underway) {
        if self.end_read(read) {
            // A copy may wait for its home.
            self.hurry_copies(read.of.chunk);
        }
    }

    /// A read has ended, or is taken back. Whether it was the last one there.
    pub(super) fn end_read(&mut self, read: &Underway) -> bool {
        let place = (read.drive.0, read.slot);
        let mut readers = self
            .readers
            .take(&place)
            .expect("a read is under way there");
        readers.count -= 1;
        let is_last = readers.count == 0;
        if !is_last {
            self.readers.insert(readers);
        } else if readers.left {
            self.release(read.of, read.drive, read.slot);
        }
        is_last
    }
}
