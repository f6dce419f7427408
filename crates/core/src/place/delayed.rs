//! Copies that are still to be written: a queue per drive, worked off in its spare time.
//!
//! What waits is a chunk and which copy of it, never a position: a copy that is queued again waits once, so propagation of
//! data that were overwritten in the meantime is dropped by itself. The buffer that holds the data is limited; what it
//! has no room for goes to the front of the stage, to the drive's ordinary queue.
//!
//! Source: Yu and others, "Trading capacity for performance in a disk array", OSDI 2000, section 3.4 (a table of 10,000
//! entries); Zhang and others, FAST 2002, section 4. O(log n) per entry.

use std::collections::VecDeque;

use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::maplog::Entry;
use crate::registry::{ConfigError, Knob};
use crate::sorted::{Keyed, Sorted};

/// A copy of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyOf {
    pub(super) chunk: u32,
    pub(super) copy: u8,
}

impl CopyOf {
    /// What the map's log says when it lies in this slot from now on; if `alone`, the other copies are stale.
    pub(super) fn entry(self, slot: Slot, alone: bool) -> Entry {
        Entry {
            copy: self.copy,
            chunk: self.chunk,
            slot: slot.0,
            alone,
        }
    }
}

impl Keyed for CopyOf {
    type Key = CopyOf;

    #[inline]
    fn key(&self) -> CopyOf {
        *self
    }
}

/// Copies to write in spare time, in one queue per drive. Whoever fills them knows which copies wait.
pub(super) struct Queues {
    queues: Vec<VecDeque<CopyOf>>,
    len: usize,
    limit: usize,
}

/// Copies to write in spare time, each once.
pub(super) struct Delayed {
    queues: Queues,
    waiting: Sorted<CopyOf>,
}

/// What became of a copy that is to be written later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It waits now.
    Queued,
    /// It waited already.
    Already,
    /// There is no room: it must be written in the foreground.
    Full,
}

/// Copies that a drive is to write at a time if they must not wait for spare time, since the others of their chunks are gone: half a
/// second of a disk. More would keep requests waiting for longer.
pub(super) const URGENT: usize = 64;

/// Size of the buffer.
pub(super) const BUFFER: Knob = Knob::integer(
    "buffer_chunks",
    10_000,
    0..=100_000_000,
    "chunks that may wait for delayed copies; beyond, copies are written in the foreground",
);

/// How many copies a write waits for.
pub(super) const FOREGROUND: Knob = Knob::integer(
    "foreground",
    1,
    1..=32,
    "copies that their drives have ended before a write is answered; the others follow in spare time",
);

/// Refuses a write that waits for more copies than there are.
pub(super) fn check_foreground(foreground: u64, copies: u8) -> Result<u32, ConfigError> {
    if foreground <= copies.into() {
        return Ok(foreground as u32);
    }
    let allowed = format!("at most {copies}, the copies there are");
    let value = foreground.to_string();
    Err(ConfigError::value("foreground", &value, &allowed))
}

impl Queues {
    pub(super) fn new(drives: u16, limit: u64) -> Queues {
        Queues {
            queues: vec![VecDeque::new(); drives.into()],
            len: 0,
            limit: limit as usize,
        }
    }

    /// Copies that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has room for the data of another copy.
    pub(super) fn has_room(&self) -> bool {
        self.len < self.limit
    }

    /// A copy waits until its drive has time.
    pub(super) fn push(&mut self, drive: DriveId, copy: CopyOf) {
        self.len += 1;
        self.queues[drive.index()].push_back(copy);
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<CopyOf> {
        self.queues[drive.index()].front().copied()
    }

    /// Takes it from the queue.
    pub(super) fn pop(&mut self, drive: DriveId) -> Option<CopyOf> {
        let copy = self.queues[drive.index()].pop_front()?;
        self.len -= 1;
        Some(copy)
    }

    /// The copies that wait for a drive, the oldest first.
    pub(super) fn iter(&self, drive: DriveId) -> impl Iterator<Item = CopyOf> {
        self.queues[drive.index()].iter().copied()
    }

    /// Takes one that waits out of turn. O(copies that wait for the drive).
    pub(super) fn take(&mut self, drive: DriveId, copy: CopyOf) {
        let queue = &mut self.queues[drive.index()];
        let place = queue.iter().position(|other| *other == copy);
        queue.remove(place.expect("what is taken waits"));
        self.len -= 1;
    }

    /// Recounts everything and panics on a contradiction.
    pub(super) fn audit(&self) {
        let queued: usize = self.queues.iter().map(VecDeque::len).sum();
        assert_eq!(queued, self.len, "a delayed copy got lost");
    }
}

impl Delayed {
    pub(super) fn new(drives: u16, limit: u64) -> Delayed {
        Delayed {
            queues: Queues::new(drives, limit),
            waiting: Sorted::default(),
        }
    }

    /// A copy is to be written to a drive when that has time.
    pub(super) fn push(&mut self, drive: DriveId, copy: CopyOf) -> Pushed {
        if self.waits(copy) {
            return Pushed::Already;
        }
        if !self.queues.has_room() {
            return Pushed::Full;
        }
        self.resume(drive, copy);
        Pushed::Queued
    }

    /// A copy that waited when the power went waits again. It is in no buffer, so there is always room.
    pub(super) fn resume(&mut self, drive: DriveId, copy: CopyOf) {
        self.waiting.insert(copy);
        self.queues.push(drive, copy);
    }

    /// Whether a copy waits.
    pub(super) fn waits(&self, copy: CopyOf) -> bool {
        let found = self.waiting.at(self.waiting.seek(&copy));
        found == Some(&copy)
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<CopyOf> {
        self.queues.first(drive)
    }

    /// Takes it from the queue.
    pub(super) fn pop(&mut self, drive: DriveId) -> Option<CopyOf> {
        let copy = self.queues.pop(drive)?;
        self.waiting.take(&copy).expect("what is queued waits");
        Some(copy)
    }

    /// The copies that wait for a drive, the oldest first.
    pub(super) fn iter(&self, drive: DriveId) -> impl Iterator<Item = CopyOf> {
        self.queues.iter(drive)
    }

    /// Takes one that waits out of turn. O(copies that wait for the drive before it).
    pub(super) fn take(&mut self, drive: DriveId, copy: CopyOf) {
        self.queues.take(drive, copy);
        self.waiting.take(&copy).expect("what is queued waits");
    }

    /// Recounts everything and panics on a contradiction.
    pub(super) fn audit(&self) {
        self.queues.audit();
        assert_eq!(self.queues.len(), self.waiting.len(), "copies that wait");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: DriveId = DriveId(1);

    fn copy(chunk: u32) -> CopyOf {
        CopyOf { chunk, copy: 1 }
    }

    #[test]
    fn a_copy_waits_once() {
        let mut delayed = Delayed::new(2, 10);
        assert_eq!(delayed.push(DRIVE, copy(5)), Pushed::Queued);
        assert_eq!(delayed.push(DRIVE, copy(5)), Pushed::Already);
        assert_eq!(delayed.pop(DRIVE), Some(copy(5)));
        assert_eq!(delayed.pop(DRIVE), None);
        assert_eq!(delayed.push(DRIVE, copy(5)), Pushed::Queued);
        delayed.audit();
    }

    #[test]
    fn the_buffer_is_limited() {
        let mut delayed = Delayed::new(2, 2);
        delayed.push(DRIVE, copy(1));
        delayed.push(DRIVE, copy(2));
        assert_eq!(delayed.push(DRIVE, copy(3)), Pushed::Full);
        delayed.pop(DRIVE);
        assert_eq!(delayed.push(DRIVE, copy(3)), Pushed::Queued);
    }
}
