//! Copies that are still to be written: a queue per drive, worked off in its spare time.
//!
//! What waits is a chunk and which copy of it, never a position: a copy that is queued again waits
//! once, so propagation of data that were overwritten in the meantime is dropped by itself. The
//! buffer that holds the data is limited; what it has no room for is written at once, through the
//! drive's ordinary queue, among the requests.
//!
//! If drives are gone, what they alone have, and the buffer, does not wait for spare time, as
//! flushes wait for it: such copies are *urgent*. They come first, in a queue of their own, and a
//! drive writes up to [`URGENT`] of them at a time.
//!
//! Source: Yu and others, "Trading capacity for performance in a disk array", OSDI 2000, section
//! 3.4 (a table of 10,000 entries); Zhang and others, FAST 2002, section 4. O(log n) per entry.

use std::collections::VecDeque;
use std::fmt::Debug;

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
    /// What the map's log says when it lies in this slot from now on; if `alone`, the other copies
    /// are stale.
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

/// When a copy that waits is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// As soon as its drive writes fewer than [`URGENT`] others.
    Urgent,
    /// When its drive has nothing else to do.
    SpareTime,
}

/// What waits for a drive.
struct Queue<C> {
    urgent: VecDeque<C>,
    others: VecDeque<C>,
    /// Writes of such copies under way.
    under_way: usize,
}

/// Copies that are to be written later, by drive. Whoever fills the queues knows which copies wait,
/// and what names one: [`CopyOf`] if a map says where they lie.
pub(super) struct Queues<C = CopyOf> {
    queues: Vec<Queue<C>>,
    len: usize,
    /// Of these, the urgent ones.
    urgent: usize,
    limit: usize,
}

/// Copies to write in spare time, each once.
pub(super) struct Delayed<C: Keyed> {
    queues: Queues<C>,
    waiting: Sorted<C>,
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

/// Copies that a drive is to write at a time if they must not wait for spare time: half a second of
/// a disk. More would keep requests waiting for longer.
pub(super) const URGENT: usize = 64;

/// How many times, one after the other, a write may fail whose data no drive has yet: a copy that
/// only the buffer has, or changes of a map. Then these data are lost, and a drive that the map is
/// written to is given up. At fixed places the copies of a chunk have these tries together.
pub(super) const TRIES: u8 = 8;

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

impl<C: Copy + Eq + Debug> Queues<C> {
    pub(super) fn new(drives: u16, limit: u64) -> Queues<C> {
        let empty = |_| Queue {
            urgent: VecDeque::new(),
            others: VecDeque::new(),
            under_way: 0,
        };
        Queues {
            queues: (0..drives).map(empty).collect(),
            len: 0,
            urgent: 0,
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

    /// A copy waits for its turn.
    pub(super) fn push(&mut self, drive: DriveId, copy: C, turn: Turn) {
        self.len += 1;
        let queue = &mut self.queues[drive.index()];
        match turn {
            Turn::Urgent => {
                self.urgent += 1;
                queue.urgent.push_back(copy);
            }
            Turn::SpareTime => queue.others.push_back(copy),
        }
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<C> {
        self.iter(drive).next()
    }

    /// Takes it from the queue.
    pub(super) fn pop(&mut self, drive: DriveId) -> Option<C> {
        let queue = &mut self.queues[drive.index()];
        let urgent = queue.urgent.pop_front();
        self.urgent -= usize::from(urgent.is_some());
        let copy = urgent.or_else(|| queue.others.pop_front())?;
        self.len -= 1;
        Some(copy)
    }

    /// The copies that wait for a drive: the urgent ones, then the others, the oldest first.
    pub(super) fn iter(&self, drive: DriveId) -> impl Iterator<Item = C> {
        let Queue { urgent, others, .. } = &self.queues[drive.index()];
        urgent.iter().chain(others).copied()
    }

    /// Takes one that waits out of turn. O(copies that wait for the drive).
    pub(super) fn take(&mut self, drive: DriveId, copy: C) {
        let queue = &mut self.queues[drive.index()];
        let remove = |copies: &mut VecDeque<C>| {
            let place = copies.iter().position(|other| *other == copy);
            place.is_some_and(|place| copies.remove(place).is_some())
        };
        match remove(&mut queue.urgent) {
            true => self.urgent -= 1,
            false => assert!(remove(&mut queue.others), "{copy:?} waits"),
        }
        self.len -= 1;
    }

    /// A copy that waits is urgent from now on, behind those that are already. O(copies that wait
    /// for the drive).
    pub(super) fn hurry(&mut self, drive: DriveId, copy: C) {
        if self.is_urgent(drive, copy) {
            return;
        }
        self.take(drive, copy);
        self.push(drive, copy, Turn::Urgent);
    }

    /// Whether some copy is urgent.
    pub(super) fn any_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// Whether a copy is among the urgent ones of its drive. O(these).
    pub(super) fn is_urgent(&self, drive: DriveId, copy: C) -> bool {
        self.queues[drive.index()].urgent.contains(&copy)
    }

    /// Takes all copies that wait for a drive, to be queued anew.
    pub(super) fn take_all(&mut self, drive: DriveId) -> Vec<C> {
        std::iter::from_fn(|| self.pop(drive)).collect()
    }

    /// The urgent copy that a drive is to write now, if there is one.
    pub(super) fn first_urgent(&self, drive: DriveId) -> Option<C> {
        let queue = &self.queues[drive.index()];
        let first = queue.urgent.front().copied();
        first.filter(|_| queue.under_way < URGENT)
    }

    /// The first urgent copy of a drive cannot be written now, or is urgent no longer: it waits for
    /// spare time, behind all others.
    pub(super) fn postpone(&mut self, drive: DriveId) {
        let Queue { urgent, others, .. } = &mut self.queues[drive.index()];
        let first = urgent.pop_front().expect("one is urgent");
        others.push_back(first);
        self.urgent -= 1;
    }

    /// A drive has one more of such writes to do.
    pub(super) fn write_begins(&mut self, drive: DriveId) {
        self.queues[drive.index()].under_way += 1;
    }

    /// One of them has ended, or never started.
    pub(super) fn write_ends(&mut self, drive: DriveId) {
        self.queues[drive.index()].under_way -= 1;
    }

    /// Recounts everything and panics on a contradiction. The drives of such writes under way, in
    /// any order.
    pub(super) fn audit(&self, writes: impl Iterator<Item = DriveId>) {
        let waiting = |queue: &Queue<C>| queue.urgent.len() + queue.others.len();
        let queued: usize = self.queues.iter().map(waiting).sum();
        assert_eq!(queued, self.len, "a delayed copy got lost");
        let urgent: usize = self.queues.iter().map(|queue| queue.urgent.len()).sum();
        assert_eq!(urgent, self.urgent, "urgent copies");
        let mut under_way = vec![0; self.queues.len()];
        writes.for_each(|drive| under_way[drive.index()] += 1);
        for (queue, under_way) in self.queues.iter().zip(under_way) {
            assert_eq!(queue.under_way, under_way, "delayed writes under way");
            let may_begin = !queue.urgent.is_empty() && under_way < URGENT;
            assert!(!may_begin, "an urgent copy waits for nothing");
        }
    }
}

impl<C: Keyed<Key = C> + Ord + Debug> Delayed<C> {
    pub(super) fn new(drives: u16, limit: u64) -> Delayed<C> {
        Delayed {
            queues: Queues::new(drives, limit),
            waiting: Sorted::default(),
        }
    }

    /// A copy is to be written to a drive later. One that waits already becomes urgent if it is
    /// now: O(copies that wait for the drive).
    pub(super) fn push(&mut self, drive: DriveId, copy: C, turn: Turn) -> Pushed {
        if self.waits(copy) {
            if turn == Turn::Urgent {
                self.queues.hurry(drive, copy);
            }
            return Pushed::Already;
        }
        if !self.queues.has_room() {
            return Pushed::Full;
        }
        self.waiting.insert(copy);
        self.queues.push(drive, copy, turn);
        Pushed::Queued
    }

    /// A copy that waited when the power went waits again. It is in no buffer, so there is always
    /// room.
    pub(super) fn resume(&mut self, drive: DriveId, copy: C) {
        self.waiting.insert(copy);
        self.queues.push(drive, copy, Turn::SpareTime);
    }

    /// Whether a copy waits.
    pub(super) fn waits(&self, copy: C) -> bool {
        let found = self.waiting.at(self.waiting.seek(&copy));
        found == Some(&copy)
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<C> {
        self.queues.first(drive)
    }

    /// Takes it from the queue.
    pub(super) fn pop(&mut self, drive: DriveId) -> Option<C> {
        let copy = self.queues.pop(drive)?;
        self.waiting.take(&copy).expect("what is queued waits");
        Some(copy)
    }

    /// The queues, for what is urgent in them.
    pub(super) fn queues(&mut self) -> &mut Queues<C> {
        &mut self.queues
    }

    /// Whether a copy is among the urgent ones of its drive. O(these).
    pub(super) fn is_urgent(&self, drive: DriveId, copy: C) -> bool {
        self.queues.is_urgent(drive, copy)
    }

    /// Recounts everything and panics on a contradiction. The drives of delayed writes under way,
    /// in any order.
    pub(super) fn audit(&self, writes: impl Iterator<Item = DriveId>) {
        self.queues.audit(writes);
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
        assert_eq!(
            delayed.push(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Queued
        );
        assert_eq!(
            delayed.push(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Already
        );
        assert_eq!(delayed.pop(DRIVE), Some(copy(5)));
        assert_eq!(delayed.pop(DRIVE), None);
        assert_eq!(
            delayed.push(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Queued
        );
        delayed.audit(std::iter::empty());
    }

    #[test]
    fn what_waits_already_may_become_urgent() {
        let mut delayed = Delayed::new(2, 10);
        for chunk in [5, 6] {
            delayed.push(DRIVE, copy(chunk), Turn::SpareTime);
        }
        let again = delayed.push(DRIVE, copy(6), Turn::Urgent);
        assert_eq!(again, Pushed::Already);
        delayed.push(DRIVE, copy(5), Turn::Urgent);
        delayed.push(DRIVE, copy(6), Turn::Urgent);
        let first = delayed.queues().first_urgent(DRIVE);
        assert_eq!(first, Some(copy(6)), "it keeps its turn");
        assert_eq!(delayed.pop(DRIVE), Some(copy(6)));
        assert_eq!(delayed.pop(DRIVE), Some(copy(5)));
        assert_eq!(delayed.pop(DRIVE), None);
    }

    #[test]
    fn the_buffer_is_limited() {
        let mut delayed = Delayed::new(2, 2);
        delayed.push(DRIVE, copy(1), Turn::SpareTime);
        delayed.push(DRIVE, copy(2), Turn::SpareTime);
        assert_eq!(delayed.push(DRIVE, copy(3), Turn::SpareTime), Pushed::Full);
        delayed.pop(DRIVE);
        assert_eq!(
            delayed.push(DRIVE, copy(3), Turn::SpareTime),
            Pushed::Queued
        );
    }

    #[test]
    fn what_is_urgent_comes_first_and_in_order() {
        let mut queues = Queues::new(2, 10);
        (0..6).for_each(|chunk| queues.push(DRIVE, copy(chunk), Turn::SpareTime));
        for of in queues.take_all(DRIVE) {
            let turn = [Turn::SpareTime, Turn::Urgent][of.chunk as usize % 2];
            queues.push(DRIVE, of, turn);
        }
        queues.push(DRIVE, copy(6), Turn::Urgent);
        let order = |queues: &Queues| queues.iter(DRIVE).map(|of| of.chunk).collect::<Vec<_>>();
        assert_eq!(order(&queues), [1, 3, 5, 6, 0, 2, 4]);
        assert_eq!(queues.first_urgent(DRIVE), Some(copy(1)));
        queues.postpone(DRIVE);
        assert_eq!(order(&queues), [3, 5, 6, 0, 2, 4, 1]);
        queues.take(DRIVE, copy(6));
        queues.take(DRIVE, copy(0));
        let taken = std::iter::from_fn(|| queues.pop(DRIVE));
        assert!(taken.eq([3, 5, 2, 4, 1].map(copy)));
        queues.audit(std::iter::empty());
    }

    #[test]
    fn a_drive_writes_so_many_urgent_copies_at_a_time() {
        let mut queues = Queues::new(2, 10);
        queues.push(DRIVE, copy(1), Turn::Urgent);
        (0..URGENT).for_each(|_| queues.write_begins(DRIVE));
        assert_eq!(queues.first_urgent(DRIVE), None);
        queues.write_ends(DRIVE);
        assert_eq!(queues.first_urgent(DRIVE), Some(copy(1)));
    }
}
