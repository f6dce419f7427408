//! The life of a copy: from the write that makes it stale to the one that makes it current again.
//!
//! A copy is *settled* while nothing is to be done for it: it lies where it belongs, or its chunk
//! lies nowhere. Only copies that are not settled have a record, so memory is bounded by what waits
//! and what is under way.
//!
//! ```text
//!                 a newer version landed elsewhere, or the copy cannot be read
//!   +---------+ ------------------------------------------------> +---------+
//!   | settled |         not due any more when its turn comes      | Waiting |<------+
//!   +---------+ <------------------------------------------------ +---------+       |
//!    ^  ^  ^  \                                  its drive has     /                |
//!    |  |  |   \ no room to wait                 spare time       /                 |
//!    |  |  |    \                                                /                  |
//!    |  |  |     +--------------> +--------+ <------------------+                   |
//!    |  |  |     +--------------> | Flying | -----------------------+               |
//!    |  |  |     |                +--------+    a newer version, or |               |
//!    |  |  |     |                 |   |  |     discarded, and it   |               |
//!    |  |  |     |        it fails |   |  | was on its way home      |               |
//!    |  |  |  +--------+ <---------+   |  |                          v               |
//!    |  |  +--| Failed |               |  |    +----------+  that write has ended    |
//!    |  |     +--------+        landed |  |    | Outdated |--------------------------+
//!    |  |    a newer version           |  |    +----------+  or settled, if it is not due
//!    |  |                              v  |
//!    |  |   the map says so      +--------+
//!    |  +------------------------| Landed |   (at once, if no change of the map has to wait)
//!    |                           +--------+
//!    +---- a newer version, or discarded, and it was on its way to any slot
//! ```
//!
//! A copy that waits is not taken from its queue when a newer version comes: it takes the newer
//! data when its turn comes, or is dropped if it is not due then. Where a copy lies, and whether it
//! is stale, is in the map alone.

use crate::ids::DriveId;
use crate::io::Owed;
use crate::place::delayed::{CopyOf, Queues, TRIES, Turn};
use crate::sorted::{Keyed, Sorted};
use crate::units::Blocks;

/// Where the data of the next delayed write of a copy are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the buffer of delayed copies.
    Buffer,
    /// On a drive alone: another copy is read first.
    AnotherCopy,
}

/// What is under way for a copy that is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// In the queue of its drive.
    Waiting(Source),
    /// The delayed write with this key is under way, or the read before it.
    Flying {
        write: usize,
        source: Source,
        /// How often it failed before.
        failed: u8,
    },
    /// Its delayed write is on the platter, and the map may not say so yet.
    Landed(Source),
    /// A write of an older version to its home is under way. Another write may not go there before
    /// that has ended, since drives may swap the two. Meanwhile the copy may be in the queue.
    Outdated { waits: bool, source: Source },
    /// It could not be written, so often one time after the other. It is tried again in spare time,
    /// [`TRIES`] times in all; then when another copy of its chunk has been, or when its drive has
    /// no slot left but the one that it holds.
    Failed(u8),
}

/// A copy that is not settled.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    of: CopyOf,
    copy: Copy,
}

impl Keyed for Unsettled {
    type Key = CopyOf;

    #[inline]
    fn key(&self) -> CopyOf {
        self.of
    }
}

/// What became of a copy that is to be written later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delayed {
    /// It waits now.
    Queued,
    /// It waited already, or will be looked at when the older write to its home has ended.
    Already,
    /// There is no room: it must be written now, with data from there.
    NoRoom(Source),
}

/// All copies that are not settled.
pub(super) struct Copies {
    unsettled: Sorted<Unsettled>,
    queues: Queues,
    /// Those that could not be written.
    failed: usize,
    /// Of these, the ones that are tried again in spare time.
    to_try: usize,
}

impl Copies {
    /// So many chunks may wait for delayed copies.
    pub(super) fn new(drives: u16, limit: u64) -> Copies {
        Copies {
            unsettled: Sorted::default(),
            queues: Queues::new(drives, limit),
            failed: 0,
            to_try: 0,
        }
    }

    /// What is owed with those that wait, of chunks so long.
    pub(super) fn owe(&self, chunk: Blocks) -> Owed {
        self.queues.owes(chunk)
    }

    /// Those that could not be written, and how often. O(copies that are not settled), if there is
    /// any.
    pub(super) fn failed_ones(&self) -> impl Iterator<Item = (CopyOf, u8)> {
        let any = Some(&self.unsettled).filter(|_| self.failed > 0);
        let all = any.into_iter().flat_map(|unsettled| unsettled.iter());
        all.filter_map(|one| match one.copy {
            Copy::Failed(times) => Some((one.of, times)),
            _ => None,
        })
    }

    /// Those that could not be written and are tried again, as that was not too often. O(copies
    /// that are not settled), if there is any.
    pub(super) fn to_try(&self) -> impl Iterator<Item = CopyOf> {
        let any = (self.to_try > 0).then(|| self.failed_ones());
        let to_try = any
            .into_iter()
            .flatten()
            .filter(|(_, times)| *times < TRIES);
        to_try.map(|(of, _)| of)
    }

    /// What is under way for a copy; none if it is settled.
    pub(super) fn get(&self, of: CopyOf) -> Option<Copy> {
        let found = self.unsettled.at(self.unsettled.seek(&of));
        found.filter(|found| found.of == of).map(|found| found.copy)
    }

    fn take(&mut self, of: CopyOf) -> Option<Copy> {
        let taken = self.unsettled.take(&of).map(|found| found.copy);
        if let Some(Copy::Failed(times)) = taken {
            self.failed -= 1;
            self.to_try -= usize::from(times < TRIES);
        }
        taken
    }

    fn set(&mut self, of: CopyOf, copy: Copy) {
        if let Copy::Failed(times) = copy {
            self.failed += 1;
            self.to_try += usize::from(times < TRIES);
        }
        self.unsettled.insert(Unsettled { of, copy });
    }

    /// Whether a delayed write of the newest version is under way.
    pub(super) fn flies(&self, of: CopyOf) -> bool {
        match self.get(of) {
            Some(Copy::Flying { .. } | Copy::Landed(_)) => true,
            Some(Copy::Waiting(_) | Copy::Outdated { .. } | Copy::Failed(_)) | None => false,
        }
    }

    /// Whether a delayed write is under way, of whichever version.
    pub(super) fn is_written(&self, of: CopyOf) -> bool {
        match self.get(of) {
            Some(Copy::Flying { .. } | Copy::Landed(_) | Copy::Outdated { .. }) => true,
            Some(Copy::Waiting(_) | Copy::Failed(_)) | None => false,
        }
    }

    /// A copy that is due is to be written later. What is in no buffer is read before, whoever says
    /// otherwise.
    pub(super) fn delay(
        &mut self,
        drive: DriveId,
        of: CopyOf,
        source: Source,
        turn: Turn,
    ) -> Delayed {
        let room = self.queues.has_room();
        let (next, answer) = match self.take(of) {
            None if room => (Some(Copy::Waiting(source)), Delayed::Queued),
            None => (None, Delayed::NoRoom(source)),
            Some(Copy::Failed(_)) if room => {
                (Some(Copy::Waiting(Source::AnotherCopy)), Delayed::Queued)
            }
            Some(Copy::Failed(_)) => (None, Delayed::NoRoom(Source::AnotherCopy)),
            Some(Copy::Waiting(before)) => {
                let source = before.or(source);
                (Some(Copy::Waiting(source)), Delayed::Already)
            }
            Some(Copy::Outdated {
                waits,
                source: before,
            }) => {
                let source = before.or(source);
                let answer = match room && !waits {
                    true => Delayed::Queued,
                    false => Delayed::Already,
                };
                let waits = waits || room;
                (Some(Copy::Outdated { waits, source }), answer)
            }
            Some(Copy::Flying { .. } | Copy::Landed(_)) => panic!("{of:?} is written already"),
        };
        if let Some(copy) = next {
            self.set(of, copy);
        }
        if answer == Delayed::Queued {
            self.queues.push(drive, of, turn);
        }
        answer
    }

    /// A copy that was missing when the power went waits. It is in no buffer, so there is always
    /// room.
    pub(super) fn resume(&mut self, drive: DriveId, of: CopyOf) {
        self.set(of, Copy::Waiting(Source::AnotherCopy));
        self.queues.push(drive, of, Turn::SpareTime);
    }

    /// A copy that flew with data from the buffer, and failed, waits there again: nothing is ever
    /// written any more, but it may be read from there.
    pub(super) fn stays(&mut self, drive: DriveId, of: CopyOf) {
        let before = self.take(of);
        assert!(matches!(before, Some(Copy::Failed(_))), "{of:?} has failed");
        self.set(of, Copy::Waiting(Source::Buffer));
        self.queues.push(drive, of, Turn::SpareTime);
    }

    /// The buffer has a version that counts for nothing: what a copy is to have is on a drive
    /// alone.
    pub(super) fn leaves_buffer(&mut self, of: CopyOf) {
        let source = Source::AnotherCopy;
        let copy = match self.get(of) {
            Some(Copy::Waiting(_)) => Copy::Waiting(source),
            Some(Copy::Outdated { waits, .. }) => Copy::Outdated { waits, source },
            Some(Copy::Flying { .. } | Copy::Landed(_) | Copy::Failed(_)) | None => return,
        };
        self.take(of);
        self.set(of, copy);
    }

    /// The copy that a drive may write next.
    pub(super) fn first(&self, drive: DriveId) -> Option<CopyOf> {
        self.queues.first(drive)
    }

    /// Where the data of a copy in a queue are.
    pub(super) fn source(&self, of: CopyOf) -> Source {
        match self.get(of) {
            Some(Copy::Waiting(source) | Copy::Outdated { source, .. }) => source,
            other => panic!("{of:?} is in a queue, and is {other:?}"),
        }
    }

    /// The queues, for what is urgent in them.
    pub(super) fn queues(&mut self) -> &mut Queues {
        &mut self.queues
    }

    /// Whether a copy is among the urgent ones of its drive.
    pub(super) fn is_urgent(&self, of: CopyOf) -> bool {
        self.queues.is_urgent(of)
    }

    /// The copies that wait for a drive: the urgent ones, then the others, the oldest first.
    pub(super) fn waiting(&self, drive: DriveId) -> impl Iterator<Item = CopyOf> {
        self.queues.iter(drive)
    }

    /// Takes the first copy that waits for a drive out of its queue. Where its data are.
    pub(super) fn pop(&mut self, drive: DriveId) -> Source {
        let of = self.queues.pop(drive).expect("a copy waits");
        self.left_queue(of)
    }

    /// Takes a copy out of its queue before its turn. Where its data are.
    pub(super) fn withdraw(&mut self, of: CopyOf) -> Source {
        self.queues.take(of);
        self.left_queue(of)
    }

    /// No copy waits for a drive any more.
    pub(super) fn clear(&mut self, drive: DriveId) {
        while let Some(of) = self.queues.pop(drive) {
            match self.take(of) {
                Some(Copy::Waiting(_)) => {}
                Some(Copy::Outdated { source, .. }) => {
                    let waits = false;
                    self.set(of, Copy::Outdated { waits, source });
                }
                other => panic!("{of:?} was in a queue, and is {other:?}"),
            }
        }
    }

    fn left_queue(&mut self, of: CopyOf) -> Source {
        match self.take(of) {
            Some(Copy::Waiting(source)) => source,
            other => panic!("{of:?} was in a queue, and is {other:?}"),
        }
    }

    /// A delayed write of a copy begins, with data from there. How often it failed one time after
    /// the other is kept.
    pub(super) fn fly(&mut self, of: CopyOf, write: usize, source: Source) {
        let failed = match self.take(of) {
            None => 0,
            Some(Copy::Failed(times)) => times,
            other => panic!("{of:?} is not to be written, but {other:?}"),
        };
        self.set(
            of,
            Copy::Flying {
                write,
                source,
                failed,
            },
        );
    }

    /// Where the data of a copy were that flew, and how often it had failed.
    fn flew(&mut self, of: CopyOf) -> (Source, u8) {
        match self.take(of) {
            Some(Copy::Flying { source, failed, .. }) => (source, failed),
            other => panic!("{of:?} should fly, and is {other:?}"),
        }
    }

    /// Whether the buffer holds the newest version of a chunk for this copy of it.
    pub(super) fn is_buffered(&self, of: CopyOf) -> bool {
        match self.get(of) {
            Some(
                Copy::Waiting(source)
                | Copy::Flying { source, .. }
                | Copy::Landed(source)
                | Copy::Outdated { source, .. },
            ) => source == Source::Buffer,
            Some(Copy::Failed(_)) | None => false,
        }
    }

    /// Whether a copy will have the newest version of its chunk if nothing fails, though no other
    /// copy can be read any more: it is being written, or the buffer has its data.
    pub(super) fn will_have(&self, of: CopyOf) -> bool {
        match self.get(of) {
            Some(Copy::Flying { .. } | Copy::Landed(_)) => true,
            Some(Copy::Waiting(source) | Copy::Outdated { source, .. }) => source == Source::Buffer,
            Some(Copy::Failed(_)) | None => false,
        }
    }

    /// Chunks of copies that are not settled, in order; one of several such copies more than once.
    /// O(these).
    pub(super) fn chunks(&self) -> impl Iterator<Item = u32> {
        self.unsettled.iter().map(|one| one.of.chunk)
    }

    /// Its delayed write goes on as another one: to another slot.
    pub(super) fn fly_on(&mut self, of: CopyOf, write: usize) {
        let (source, failed) = self.flew(of);
        let flying = Copy::Flying {
            write,
            source,
            failed,
        };
        self.set(of, flying);
    }

    /// Its delayed write is on the platter.
    pub(super) fn landed(&mut self, of: CopyOf) {
        let (source, _) = self.flew(of);
        self.set(of, Copy::Landed(source));
    }

    /// The map says where its delayed write has landed.
    pub(super) fn settled(&mut self, of: CopyOf) {
        let before = self.take(of);
        assert!(matches!(before, Some(Copy::Landed(_))), "{of:?} landed");
    }

    /// Its delayed write has failed, or never began. Where its data were, and how often it failed
    /// one time after the other.
    pub(super) fn failed(&mut self, of: CopyOf) -> (Source, u8) {
        let (source, failed) = match self.take(of) {
            Some(Copy::Flying { source, failed, .. }) => (source, failed.saturating_add(1)),
            Some(Copy::Landed(source)) => (source, 1),
            other => panic!("{of:?} should fly, and is {other:?}"),
        };
        self.set(of, Copy::Failed(failed));
        (source, failed)
    }

    /// The buffer has a newer version, or the copy is no longer needed, or it lies somewhere else
    /// now. The delayed write that is under way for nothing, if one is.
    pub(super) fn renewed(&mut self, of: CopyOf, has_home: bool) -> Option<usize> {
        let source = Source::Buffer;
        match self.take(of)? {
            Copy::Waiting(_) => self.set(of, Copy::Waiting(source)),
            Copy::Outdated { waits, .. } => self.set(of, Copy::Outdated { waits, source }),
            Copy::Failed(_) => {}
            Copy::Flying { write, .. } => {
                self.outdate(of, has_home, source);
                return Some(write);
            }
            Copy::Landed(_) => panic!("{of:?}: a change that was kept is not made"),
        }
        None
    }

    /// What its delayed write has put on the platter is overtaken by a change that waits for the
    /// map. Until that is made, no buffer has more than before.
    pub(super) fn overtaken(&mut self, of: CopyOf, has_home: bool) {
        let (source, _) = self.flew(of);
        self.outdate(of, has_home, source);
    }

    fn outdate(&mut self, of: CopyOf, has_home: bool, source: Source) {
        if has_home {
            let waits = false;
            self.set(of, Copy::Outdated { waits, source });
        }
    }

    /// A delayed write of an older version has ended. If that went to the copy's home and the copy
    /// does not wait, where the data of its next write are.
    pub(super) fn outdated_ended(&mut self, of: CopyOf) -> Option<Source> {
        let Some(Copy::Outdated { waits, source }) = self.get(of) else {
            return None;
        };
        self.take(of);
        if waits {
            self.set(of, Copy::Waiting(source));
            return None;
        }
        Some(source)
    }

    /// Recounts everything and panics on a contradiction. The drives of delayed writes under way,
    /// in any order.
    pub(super) fn audit(&self, writes: impl Iterator<Item = DriveId>) {
        self.queues.audit(writes);
        let waits = |one: &&Unsettled| match one.copy {
            Copy::Waiting(_) => true,
            Copy::Outdated { waits, .. } => waits,
            Copy::Flying { .. } | Copy::Landed(_) | Copy::Failed(_) => false,
        };
        let waiting = self.unsettled.iter().filter(waits).count();
        assert_eq!(waiting, self.queues.len(), "copies in queues");
        let failed = |most: u8| {
            let failed =
                |one: &&Unsettled| matches!(one.copy, Copy::Failed(times) if times <= most);
            self.unsettled.iter().filter(failed).count()
        };
        assert_eq!(failed(u8::MAX), self.failed, "copies that failed");
        assert_eq!(
            failed(TRIES - 1),
            self.to_try,
            "copies that are tried again"
        );
    }
}

impl Source {
    /// What is in no buffer stays in none until a newer version comes.
    fn or(self, other: Source) -> Source {
        match (self, other) {
            (Source::Buffer, Source::Buffer) => Source::Buffer,
            (Source::AnotherCopy, _) | (_, Source::AnotherCopy) => Source::AnotherCopy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: DriveId = DriveId(1);
    const ONE: CopyOf = CopyOf { chunk: 7, copy: 1 };
    const OTHER: CopyOf = CopyOf { chunk: 8, copy: 1 };
    use Source::{AnotherCopy, Buffer};

    /// With room for so many that wait.
    fn copies(limit: u64) -> Copies {
        Copies::new(2, limit)
    }

    /// With one copy that flies.
    fn flying() -> Copies {
        let mut copies = copies(10);
        copies.fly(ONE, 5, Buffer);
        copies
    }

    /// With one copy whose write of an older version to its home is under way.
    fn outdated(limit: u64) -> Copies {
        let mut copies = copies(limit);
        copies.fly(ONE, 5, Buffer);
        assert_eq!(copies.renewed(ONE, true), Some(5));
        copies
    }

    #[test]
    fn a_stale_copy_waits_flies_and_settles() {
        let mut copies = copies(10);
        assert_eq!(
            copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime),
            Delayed::Queued
        );
        assert_eq!(copies.get(ONE), Some(Copy::Waiting(Buffer)));
        assert_eq!(copies.first(DRIVE), Some(ONE));
        assert_eq!(copies.pop(DRIVE), Buffer);
        assert_eq!((copies.get(ONE), copies.first(DRIVE)), (None, None));
        copies.fly(ONE, 5, Buffer);
        assert!(copies.flies(ONE));
        assert!(copies.is_written(ONE));
        copies.landed(ONE);
        assert!(copies.flies(ONE));
        assert!(copies.is_written(ONE));
        copies.audit(std::iter::empty());
        copies.settled(ONE);
        assert_eq!(copies.get(ONE), None);
        copies.audit(std::iter::empty());
    }

    #[test]
    fn a_copy_waits_once_and_in_its_old_place() {
        let mut copies = copies(10);
        copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        copies.delay(DRIVE, OTHER, Buffer, Turn::SpareTime);
        assert_eq!(
            copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime),
            Delayed::Already
        );
        assert!(copies.waiting(DRIVE).eq([ONE, OTHER]));
        assert_eq!(copies.withdraw(OTHER), Buffer);
        assert!(copies.waiting(DRIVE).eq([ONE]));
        copies.audit(std::iter::empty());
    }

    #[test]
    fn the_buffer_is_limited_but_for_what_no_buffer_has() {
        let mut copies = copies(1);
        copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        assert_eq!(
            copies.delay(DRIVE, OTHER, Buffer, Turn::SpareTime),
            Delayed::NoRoom(Buffer)
        );
        assert_eq!(copies.get(OTHER), None);
        copies.resume(DRIVE, OTHER);
        assert_eq!(copies.get(OTHER), Some(Copy::Waiting(AnotherCopy)));
        copies.audit(std::iter::empty());
    }

    #[test]
    fn what_is_in_no_buffer_is_read_until_a_newer_version_comes() {
        let mut copies = copies(10);
        copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        copies.delay(DRIVE, ONE, AnotherCopy, Turn::SpareTime);
        copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        assert_eq!(copies.get(ONE), Some(Copy::Waiting(AnotherCopy)));
        assert_eq!(copies.renewed(ONE, false), None);
        assert_eq!(copies.pop(DRIVE), Buffer);
    }

    #[test]
    fn a_newer_version_drops_a_write_to_any_slot() {
        let mut copies = flying();
        assert_eq!(copies.renewed(ONE, false), Some(5));
        assert_eq!(copies.get(ONE), None);
        assert_eq!(copies.outdated_ended(ONE), None);
    }

    #[test]
    fn a_home_is_not_written_twice_at_a_time() {
        let mut copies = outdated(10);
        assert!(copies.is_written(ONE));
        assert!(!copies.flies(ONE));
        assert_eq!(
            copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime),
            Delayed::Queued
        );
        assert_eq!(
            copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime),
            Delayed::Already
        );
        copies.audit(std::iter::empty());
        assert_eq!(copies.outdated_ended(ONE), None);
        assert_eq!(copies.get(ONE), Some(Copy::Waiting(Buffer)));
        copies.audit(std::iter::empty());
    }

    #[test]
    fn a_copy_without_room_to_wait_is_looked_at_when_the_older_write_has_ended() {
        let mut copies = outdated(0);
        assert_eq!(
            copies.delay(DRIVE, ONE, AnotherCopy, Turn::SpareTime),
            Delayed::Already
        );
        assert_eq!(copies.first(DRIVE), None);
        copies.audit(std::iter::empty());
        assert_eq!(copies.outdated_ended(ONE), Some(AnotherCopy));
        assert_eq!(copies.get(ONE), None);
    }

    #[test]
    fn a_write_that_is_overtaken_in_the_map_leaves_its_home_in_use() {
        let mut copies = flying();
        copies.overtaken(ONE, true);
        assert!(copies.is_written(ONE));
        assert_eq!(copies.outdated_ended(ONE), Some(Buffer));
        let mut copies = flying();
        copies.overtaken(ONE, false);
        assert_eq!(copies.get(ONE), None);
    }

    #[test]
    fn what_could_not_be_written_is_in_no_buffer_any_more() {
        let mut copies = flying();
        copies.failed(ONE);
        assert!(!copies.flies(ONE));
        assert!(!copies.is_written(ONE));
        assert_eq!(
            copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime),
            Delayed::Queued
        );
        assert_eq!(copies.pop(DRIVE), AnotherCopy);
        copies.fly(ONE, 6, AnotherCopy);
        copies.failed(ONE);
        assert_eq!(copies.renewed(ONE, true), None);
        assert_eq!(copies.get(ONE), None);
    }

    #[test]
    fn a_version_is_in_the_buffer_until_its_last_copy_is_settled() {
        let mut copies = copies(10);
        assert!(!copies.is_buffered(ONE));
        copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        assert!(copies.is_buffered(ONE));
        copies.pop(DRIVE);
        copies.fly(ONE, 5, Buffer);
        assert!(copies.is_buffered(ONE));
        copies.landed(ONE);
        assert!(copies.is_buffered(ONE));
        copies.settled(ONE);
        assert!(!copies.is_buffered(ONE));
        copies.resume(DRIVE, OTHER);
        assert!(!copies.is_buffered(OTHER));
        copies.pop(DRIVE);
        copies.fly(OTHER, 5, AnotherCopy);
        assert!(!copies.is_buffered(OTHER));
        copies.failed(OTHER);
        assert!(!copies.is_buffered(OTHER));
    }

    #[test]
    fn while_an_older_version_is_on_its_way_home_the_newer_one_is_in_the_buffer() {
        // With no room, so that the copy is written when the older one has arrived.
        let mut copies = outdated(0);
        assert!(copies.is_buffered(ONE));
        let answer = copies.delay(DRIVE, ONE, Buffer, Turn::SpareTime);
        assert_eq!(answer, Delayed::Already);
        assert!(copies.is_buffered(ONE));
    }

    #[test]
    fn what_the_buffer_has_for_nothing_is_read_from_another_copy() {
        let mut copies = outdated(10);
        copies.leaves_buffer(ONE);
        assert!(!copies.is_buffered(ONE));
        copies.delay(DRIVE, OTHER, Buffer, Turn::SpareTime);
        copies.leaves_buffer(OTHER);
        assert_eq!(copies.get(OTHER), Some(Copy::Waiting(AnotherCopy)));
        copies.audit(std::iter::empty());
    }

    #[test]
    fn what_was_read_for_a_write_home_is_in_no_buffer_until_a_newer_version_comes() {
        let mut copies = copies(10);
        copies.fly(ONE, 5, AnotherCopy);
        copies.overtaken(ONE, true);
        assert!(!copies.is_buffered(ONE));
        assert_eq!(copies.renewed(ONE, true), None);
        assert!(copies.is_buffered(ONE));
    }

    #[test]
    fn a_write_goes_on_in_another_slot() {
        let mut copies = flying();
        copies.fly_on(ONE, 9);
        assert_eq!(copies.renewed(ONE, false), Some(9));
    }

    #[test]
    #[should_panic(expected = "a change that was kept is not made")]
    fn what_waits_for_the_map_is_not_dropped() {
        let mut copies = flying();
        copies.landed(ONE);
        copies.renewed(ONE, false);
    }
}
