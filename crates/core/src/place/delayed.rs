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

use std::fmt::Debug;

use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::Owed;
use crate::list::{Handle, List, Pool};
use crate::maplog::Entry;
use crate::registry::{ConfigError, Knob};
use crate::sorted::{Keyed, Sorted};
use crate::units::Blocks;

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

/// When a copy that waits is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// As soon as its drive writes fewer than [`URGENT`] others.
    Urgent,
    /// When its drive has nothing else to do.
    SpareTime,
}

/// What waits for a drive.
#[derive(Default)]
struct Queue {
    urgent: List,
    others: List,
    /// Writes of such copies under way.
    under_way: usize,
}

impl Queue {
    fn of(&mut self, turn: Turn) -> &mut List {
        match turn {
            Turn::Urgent => &mut self.urgent,
            Turn::SpareTime => &mut self.others,
        }
    }
}

/// What names a copy.
pub(super) trait Name: Copy + Ord + Debug {}

impl<C: Copy + Ord + Debug> Name for C {}

/// Where a copy waits in the queue of its drive.
#[derive(Clone, Copy)]
struct Place<C> {
    of: C,
    drive: DriveId,
    turn: Turn,
    handle: Handle,
}

impl<C: Name> Keyed for Place<C> {
    type Key = C;

    #[inline]
    fn key(&self) -> C {
        self.of
    }
}

/// Copies that are to be written later, each once, by drive. Whoever fills the queues knows what
/// names one: [`CopyOf`] if a map says where they lie.
pub(super) struct Queues<C: Name = CopyOf> {
    waiting: Pool<C>,
    queues: Vec<Queue>,
    places: Sorted<Place<C>>,
    /// Of those that wait, the urgent ones.
    urgent: usize,
    limit: usize,
}

/// What became of a copy that is to be written later.
#[must_use]
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

impl<C: Name> Queues<C> {
    pub(super) fn new(drives: u16, limit: u64) -> Queues<C> {
        Queues {
            waiting: Pool::default(),
            queues: (0..drives).map(|_| Queue::default()).collect(),
            places: Sorted::default(),
            urgent: 0,
            limit: limit as usize,
        }
    }

    /// Copies that wait.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// What is owed with that, of chunks so long.
    pub(super) fn owes(&self, chunk: Blocks) -> Owed {
        let of = |chunks: usize| Blocks(chunks as u64 * chunk.0);
        Owed {
            blocks: of(self.len()),
            cache_size: Some(of(self.limit)),
            sorts: false,
        }
    }

    /// Whether the buffer has room for the data of another copy.
    pub(super) fn has_room(&self) -> bool {
        self.len() < self.limit
    }

    /// A copy is to be written to a drive later, if the buffer has room for its data. One that
    /// waits already becomes urgent if it is now.
    pub(super) fn delay(&mut self, drive: DriveId, of: C, turn: Turn) -> Pushed {
        if self.waits(of) {
            if turn == Turn::Urgent {
                self.hurry(of);
            }
            return Pushed::Already;
        }
        if !self.has_room() {
            return Pushed::Full;
        }
        self.push(drive, of, turn);
        Pushed::Queued
    }

    /// A copy waits for its turn, whether there is room or not.
    ///
    /// # Panics
    /// It waits already.
    pub(super) fn push(&mut self, drive: DriveId, of: C, turn: Turn) {
        let list = self.queues[drive.index()].of(turn);
        let handle = self.waiting.push_back(list, of);
        self.urgent += usize::from(turn == Turn::Urgent);
        self.places.insert(Place {
            of,
            drive,
            turn,
            handle,
        });
    }

    fn place(&self, of: C) -> Option<&Place<C>> {
        let found = self.places.at(self.places.seek(&of));
        found.filter(|place| place.of == of)
    }

    /// Whether a copy waits.
    pub(super) fn waits(&self, of: C) -> bool {
        self.place(of).is_some()
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<C> {
        let Queue { urgent, others, .. } = &self.queues[drive.index()];
        let first = urgent.front().or_else(|| others.front())?;
        Some(*self.waiting.item(first))
    }

    /// Takes it from the queue.
    pub(super) fn pop(&mut self, drive: DriveId) -> Option<C> {
        let of = self.first(drive)?;
        self.take(of);
        Some(of)
    }

    /// The copies that wait for a drive: the urgent ones, then the others, the oldest first.
    pub(super) fn iter(&self, drive: DriveId) -> impl Iterator<Item = C> {
        let Queue { urgent, others, .. } = &self.queues[drive.index()];
        let lists = [urgent, others].into_iter();
        lists.flat_map(|list| self.waiting.iter(list)).copied()
    }

    /// Takes one that waits, in turn or out of it. Its drive.
    ///
    /// # Panics
    /// It does not wait.
    pub(super) fn take(&mut self, of: C) -> DriveId {
        let taken = self.places.take(&of);
        let place = taken.unwrap_or_else(|| panic!("{of:?} waits"));
        let list = self.queues[place.drive.index()].of(place.turn);
        self.waiting.remove(list, place.handle);
        self.urgent -= usize::from(place.turn == Turn::Urgent);
        place.drive
    }

    /// A copy that waits is urgent from now on, behind those that are already.
    pub(super) fn hurry(&mut self, of: C) {
        if !self.is_urgent(of) {
            let drive = self.take(of);
            self.push(drive, of, Turn::Urgent);
        }
    }

    /// Whether some copy is urgent.
    pub(super) fn any_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// Whether a copy is among the urgent ones of its drive.
    pub(super) fn is_urgent(&self, of: C) -> bool {
        let place = self.place(of);
        place.is_some_and(|place| place.turn == Turn::Urgent)
    }

    /// Takes all copies that wait for a drive, to be queued anew.
    pub(super) fn take_all(&mut self, drive: DriveId) -> Vec<C> {
        std::iter::from_fn(|| self.pop(drive)).collect()
    }

    /// The urgent copy that a drive is to write now, if there is one.
    pub(super) fn first_urgent(&self, drive: DriveId) -> Option<C> {
        let queue = &self.queues[drive.index()];
        let first = queue.urgent.front().filter(|_| queue.under_way < URGENT)?;
        Some(*self.waiting.item(first))
    }

    /// The first urgent copy of a drive cannot be written now, or is urgent no longer: it waits for
    /// spare time, behind all others.
    pub(super) fn postpone(&mut self, drive: DriveId) {
        let of = self.first(drive).filter(|of| self.is_urgent(*of));
        let of = of.expect("one is urgent");
        self.take(of);
        self.push(drive, of, Turn::SpareTime);
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
        self.places.audit();
        let waiting = |queue: &Queue| queue.urgent.len() + queue.others.len();
        let queued: usize = self.queues.iter().map(waiting).sum();
        let places = (self.len(), self.waiting.len());
        assert_eq!((queued, queued), places, "a delayed copy got lost");
        for (drive, queue) in (0..).map(DriveId).zip(&self.queues) {
            let lists = [
                (&queue.urgent, Turn::Urgent),
                (&queue.others, Turn::SpareTime),
            ];
            for (list, turn) in lists {
                for of in self.waiting.iter(list) {
                    let place = self.place(*of).expect("it has a place");
                    assert_eq!((place.drive, place.turn), (drive, turn), "{of:?}");
                    assert_eq!(self.waiting.item(place.handle), of);
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const DRIVE: DriveId = DriveId(1);

    fn copy(chunk: u32) -> CopyOf {
        CopyOf { chunk, copy: 1 }
    }

    #[test]
    fn a_copy_waits_once() {
        let mut delayed = Queues::new(2, 10);
        assert_eq!(
            delayed.delay(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Queued
        );
        assert_eq!(
            delayed.delay(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Already
        );
        assert_eq!(delayed.pop(DRIVE), Some(copy(5)));
        assert_eq!(delayed.pop(DRIVE), None);
        assert_eq!(
            delayed.delay(DRIVE, copy(5), Turn::SpareTime),
            Pushed::Queued
        );
        delayed.audit(std::iter::empty());
    }

    #[test]
    fn what_waits_already_may_become_urgent() {
        let mut delayed = Queues::new(2, 10);
        for chunk in [5, 6] {
            delayed.push(DRIVE, copy(chunk), Turn::SpareTime);
        }
        let again = delayed.delay(DRIVE, copy(6), Turn::Urgent);
        assert_eq!(again, Pushed::Already);
        for chunk in [5, 6] {
            let again = delayed.delay(DRIVE, copy(chunk), Turn::Urgent);
            assert_eq!(again, Pushed::Already);
        }
        let first = delayed.first_urgent(DRIVE);
        assert_eq!(first, Some(copy(6)), "it keeps its turn");
        assert_eq!(delayed.pop(DRIVE), Some(copy(6)));
        assert_eq!(delayed.pop(DRIVE), Some(copy(5)));
        assert_eq!(delayed.pop(DRIVE), None);
    }

    #[test]
    fn the_buffer_is_limited() {
        let mut delayed = Queues::new(2, 2);
        delayed.push(DRIVE, copy(1), Turn::SpareTime);
        delayed.push(DRIVE, copy(2), Turn::SpareTime);
        assert_eq!(delayed.delay(DRIVE, copy(3), Turn::SpareTime), Pushed::Full);
        delayed.pop(DRIVE);
        assert_eq!(
            delayed.delay(DRIVE, copy(3), Turn::SpareTime),
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
        queues.take(copy(6));
        queues.take(copy(0));
        let taken = std::iter::from_fn(|| queues.pop(DRIVE));
        assert!(taken.eq([3, 5, 2, 4, 1].map(copy)));
        queues.audit(std::iter::empty());
    }

    /// Lists that are searched.
    #[derive(Default)]
    struct Literal([Vec<CopyOf>; 2]);

    impl Literal {
        fn take(&mut self, of: CopyOf) -> bool {
            let before = self.0.each_ref().map(Vec::len);
            self.0
                .iter_mut()
                .for_each(|list| list.retain(|one| *one != of));
            before != self.0.each_ref().map(Vec::len)
        }

        fn push(&mut self, of: CopyOf, turn: Turn) {
            self.0[usize::from(turn == Turn::SpareTime)].push(of);
        }
    }

    #[test]
    fn random_sequences_leave_what_lists_that_are_searched_leave() {
        let mut rng = Rng::stream(3, "delayed");
        let mut queues = Queues::new(1, 30);
        let mut literal = Literal::default();
        let drive = DriveId(0);
        // So that none that is urgent is to be written now.
        (0..URGENT).for_each(|_| queues.write_begins(drive));
        for _ in 0..20_000 {
            let of = copy(rng.below(40) as u32);
            let turn = [Turn::Urgent, Turn::SpareTime][rng.below(2) as usize];
            match rng.below(6) {
                0 | 1 => {
                    let waits = literal.0.concat().contains(&of);
                    let expected = match (waits, literal.0.concat().len() < 30) {
                        (true, _) => Pushed::Already,
                        (false, true) => Pushed::Queued,
                        (false, false) => Pushed::Full,
                    };
                    assert_eq!(queues.delay(drive, of, turn), expected);
                    let hurries = turn == Turn::Urgent && !literal.0[0].contains(&of);
                    if expected == Pushed::Queued || waits && hurries {
                        literal.take(of);
                        literal.push(of, turn);
                    }
                }
                2 => {
                    let first = literal.0.concat().first().copied();
                    assert_eq!(queues.pop(drive), first);
                    first.map(|of| literal.take(of));
                }
                3 if literal.take(of) => assert_eq!(queues.take(of), drive),
                4 if !literal.0[0].is_empty() => {
                    queues.postpone(drive);
                    let first = literal.0[0].remove(0);
                    literal.push(first, Turn::SpareTime);
                }
                _ => {}
            }
            assert!(queues.iter(drive).eq(literal.0.concat()));
            queues.audit(std::iter::repeat_n(drive, URGENT));
        }
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
