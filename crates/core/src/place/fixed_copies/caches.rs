//! Copies that only the cache of their drive may have, and which flush makes them safe.
//!
//! A copy that is written ends in the cache of its drive. It is *cached* until a flush of the
//! volume has ended that was planned later. Copies may be written again while the flush is under
//! way. So a flush keeps which copies of each chunk had the newest data when it was planned: when
//! it has ended, these have on the medium what they had then, or something younger, whatever became
//! of them since. Each write has a number; a copy that was written again stays cached. O(log n) for
//! each copy.
//!
//! A forced write is on the medium at once, so a flush under way covers the copies that have it,
//! and no others any more. A drive that is gone ends no flush; if everything on it is elsewhere,
//! the flush covers the copies there.

use slab::Slab;

use super::unsettled::{Copies, members};
use super::{Chunk, CopyOf, FixedCopies, Layout};
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, PlannedIo, Target};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Pba};

/// Chunks written since the last flush, beyond which the placement flushes the drives itself: each
/// has entries in NVRAM. A chunk counts each time that copies of it end in caches, so once more for
/// each delayed copy.
const CACHED_MAX: usize = 10_000;

/// The last write of a copy that ended in a cache.
#[derive(Clone, Copy, Debug)]
struct Last {
    of: CopyOf,
    number: u64,
}

impl Keyed for Last {
    type Key = CopyOf;

    #[inline]
    fn key(&self) -> CopyOf {
        self.of
    }
}

/// A chunk, and the copies that had its newest data when a flush was planned.
#[derive(Clone, Copy, Debug)]
struct Covered {
    chunk: Chunk,
    copies: Copies,
}

/// A flush of all drives under way.
#[derive(Debug)]
struct Flush {
    /// The last write that it covers.
    until: u64,
    covered: Vec<Covered>,
    /// Drives that have not ended it.
    left: u16,
    /// How it has ended so far.
    status: Status,
    of: FlushOf,
}

/// Who asked for a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlushOf {
    Client,
    /// The placement, lest too much is cached.
    Own,
    /// The placement, for clients whose flushes were held.
    Held,
}

/// What the caches of the drives may have.
pub(super) struct Caches {
    /// See [`CACHED_MAX`].
    most: usize,
    last: Sorted<Last>,
    number: u64,
    /// Chunks of writes since the last flush was planned; one that was written again stands there
    /// again.
    written: Vec<Chunk>,
    flushes: Slab<Flush>,
    /// The flush that was planned last, if it is under way.
    newest: Option<usize>,
    /// Whether the placement is flushing the drives itself.
    flushing: bool,
    /// Memory of flushes that have ended.
    unused: Vec<Vec<Covered>>,
}

impl Caches {
    pub(super) fn new() -> Caches {
        Caches {
            most: CACHED_MAX,
            last: Sorted::default(),
            number: 0,
            written: Vec::new(),
            flushes: Slab::new(),
            newest: None,
            flushing: false,
            unused: Vec::new(),
        }
    }

    /// So many chunks may be without a flush.
    #[cfg(test)]
    pub(super) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// Chunks that the next flush has to cover.
    #[cfg(test)]
    pub(super) fn due(&mut self) -> usize {
        self.chunks_to_cover().len()
    }

    /// Copies of a chunk were written. Whether the drives have to be flushed now, lest too many be
    /// cached.
    fn ended(&mut self, chunk: Chunk, copies: Copies) -> bool {
        self.number += 1;
        let number = self.number;
        for copy in members(copies) {
            let of = CopyOf::new(chunk, copy);
            self.last.take(&of);
            self.last.insert(Last { of, number });
        }
        self.written.push(chunk);
        self.written.len() > self.most && !self.flushing
    }

    /// Forgets the last write of a copy if it is one of the first so many; whether it was.
    fn settle(&mut self, of: CopyOf, until: u64) -> bool {
        let last = self.last.at(self.last.seek(&of));
        let covered = last.is_some_and(|last| last.of == of && last.number <= until);
        if covered {
            self.last.take(&of);
        }
        covered
    }

    /// Chunks that a flush which is planned now has to cover: those of writes since the last one,
    /// and those of that one if it is under way, as it may fail. It covers what the flushes before
    /// it cover that have not ended: if one of these fails, its chunks are written anew to the
    /// list.
    fn chunks_to_cover(&mut self) -> Vec<Covered> {
        let mut covered = self.unused.pop().unwrap_or_default();
        let written = self.written.drain(..);
        covered.extend(written.map(|chunk| Covered { chunk, copies: 0 }));
        if let Some(newest) = self.newest {
            covered.extend(&self.flushes[newest].covered);
        }
        covered.sort_unstable_by_key(|one| one.chunk);
        covered.dedup_by_key(|one| one.chunk);
        covered
    }

    /// Notes a flush that has been planned; its key.
    fn begin(&mut self, flush: Flush) -> usize {
        let key = self.flushes.insert(flush);
        self.newest = Some(key);
        key
    }

    /// One more drive has ended a flush; the flush if it was the last one.
    fn drive_ended(&mut self, tag: Tag, status: Status) -> Option<Flush> {
        let key = tag.0 as usize;
        let flush = &mut self.flushes[key];
        flush.left -= 1;
        if flush.status.is_done() {
            flush.status = status;
        }
        if flush.left > 0 {
            return None;
        }
        self.newest = self.newest.filter(|newest| *newest != key);
        Some(self.flushes.remove(key))
    }

    /// These copies of a chunk may not be readable: no flush under way covers them, if it covers
    /// others that are `left`.
    fn strike(&mut self, chunk: Chunk, copies: Copies, left: Copies) {
        for (_, flush) in &mut self.flushes {
            let found = flush.covered.binary_search_by_key(&chunk, |one| one.chunk);
            if let Ok(index) = found {
                let covered = &mut flush.covered[index].copies;
                if *covered & !copies & left != 0 {
                    *covered &= !copies;
                }
            }
        }
    }

    /// A forced write has put a chunk on the medium of these copies: what was safe before is older.
    fn forced(&mut self, chunk: Chunk, copies: Copies) {
        for (_, flush) in &mut self.flushes {
            let found = flush.covered.binary_search_by_key(&chunk, |one| one.chunk);
            if let Ok(index) = found {
                flush.covered[index].copies = copies;
            }
        }
    }
}

impl<L: Layout> FixedCopies<L> {
    /// Of these copies, those that a power cut may take when they have just been written.
    pub(super) fn cached_of(&self, copies: Copies) -> Copies {
        if self.caches.is_some() { copies } else { 0 }
    }

    /// Of these copies of a chunk, those of which the last write was covered by no flush.
    pub(super) fn still_cached(&self, chunk: Chunk, copies: Copies) -> Copies {
        let is_cached = |copy: &u8| {
            let of = CopyOf::new(chunk, *copy);
            let last = self
                .caches
                .as_ref()
                .and_then(|caches| caches.last.at(caches.last.seek(&of)));
            last.is_some_and(|last| last.of == of)
        };
        members(copies)
            .filter(is_cached)
            .fold(0, |all, copy| all | 1 << copy)
    }

    /// These copies of a chunk have ended in the caches of their drives, if those may lose them.
    pub(super) fn note_cached(&mut self, chunk: Chunk, copies: Copies, out: &mut Plan) {
        let Some(caches) = self.caches.as_mut().filter(|_| copies != 0) else {
            return;
        };
        if caches.ended(chunk, copies) {
            _ = self.plan_flush(FlushOf::Own, out);
        }
    }

    /// A forced write has put a chunk on the medium of these copies.
    pub(super) fn note_forced(&mut self, chunk: Chunk, copies: Copies) {
        if let Some(caches) = self.caches.as_mut().filter(|_| copies != 0) {
            caches.forced(chunk, copies);
        }
    }

    /// These copies of a chunk may not be readable.
    pub(super) fn strike(&mut self, chunk: Chunk, copies: Copies) {
        let left = self.left(chunk, self.all);
        if let Some(caches) = self.caches.as_mut().filter(|_| copies != 0) {
            caches.strike(chunk, copies, left);
        }
    }

    /// A flush of every drive that is left. If what a client has written may be on the others
    /// alone, its flush waits until that is elsewhere, or fails if it will never be. None if no
    /// drive is to flush.
    pub(super) fn plan_flush(&mut self, of: FlushOf, out: &mut Plan) -> Option<Tag> {
        if of == FlushOf::Client && self.has_lost() {
            if self.all_will_be_saved() {
                self.hold_flush(out);
                return None;
            }
            out.failure = Some(Failure::Gone);
        }
        let drives = self.gone.left().count() as u16;
        if drives == 0 {
            return None;
        }
        let tag = self.begin_flush(of, drives);
        for drive in self.gone.left() {
            let mut flush = PlannedIo::new(drive, Op::Flush, Target::At(Pba(0)), Blocks(0));
            (flush.tag, flush.awaited) = (tag, of == FlushOf::Client);
            out.io(flush);
        }
        Some(tag)
    }

    /// Notes what a flush covers; its tag.
    fn begin_flush(&mut self, of: FlushOf, left: u16) -> Tag {
        let Some(caches) = &mut self.caches else {
            return Tag(0);
        };
        let mut covered = caches.chunks_to_cover();
        for one in &mut covered {
            one.copies = self.left(one.chunk, self.state(one.chunk).current);
        }
        let caches = self.caches.as_mut().expect("there are some");
        caches.flushing |= of == FlushOf::Own;
        let until = caches.number;
        Tag(caches.begin(Flush {
            until,
            covered,
            left,
            status: Status::Done,
            of,
        }) as u64)
    }

    /// Whether a client waits for the flush with this tag.
    fn is_of_client(&self, tag: Tag) -> bool {
        let caches = self.caches.as_ref();
        caches.is_none_or(|caches| caches.flushes[tag.0 as usize].of == FlushOf::Client)
    }

    /// A drive has ended its part of a flush. With the last one, what was covered is safe.
    pub(super) fn flush_ended(
        &mut self,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        out: &mut Plan,
    ) {
        let mut status = done.status;
        if status == Status::Failed(Failure::Gone) {
            let is_covered = !self.has_lost() && self.cover_elsewhere(tag, drive);
            if is_covered {
                out.instead = Instead::Tolerated;
                status = Status::Done;
            } else if self.is_of_client(tag) && (!self.has_lost() || self.all_will_be_saved()) {
                out.instead = Instead::Step(self.hold_flush(out));
            }
        }
        let caches = self.caches.as_mut();
        let Some(flush) = caches.and_then(|caches| caches.drive_ended(tag, status)) else {
            return;
        };
        if flush.of == FlushOf::Held {
            self.held_flushed(tag, flush.status, out);
        }
        for one in &flush.covered {
            match !flush.status.is_done() || one.copies == 0 {
                true => self.cover_later(one.chunk),
                false => self.make_safe(*one, flush.until),
            }
        }
        let caches = self.caches.as_mut().expect("there are some");
        caches.flushing &= flush.of != FlushOf::Own;
        let mut memory = flush.covered;
        memory.clear();
        caches.unused.push(memory);
    }

    /// A drive is gone: a flush covers no copy there. Whether it covers another one of each chunk:
    /// a copy that was written elsewhere since the flush was planned may have come too late for it.
    fn cover_elsewhere(&mut self, tag: Tag, drive: DriveId) -> bool {
        let FixedCopies { layout, caches, .. } = self;
        let Some(caches) = caches else {
            return true;
        };
        let mut all = true;
        for Covered { chunk, copies } in &mut caches.flushes[tag.0 as usize].covered {
            let chunk = *chunk;
            for copy in members(*copies) {
                let (at, _) = layout.place(CopyOf::new(chunk, copy));
                if at == drive {
                    *copies &= !(1 << copy);
                }
            }
            all &= *copies != 0;
        }
        all
    }

    /// What is lost is covered by no flush any more: whatever is done, the power takes nothing
    /// else.
    fn cover_later(&mut self, chunk: Chunk) {
        let is_lost = self.is_lost(&self.state(chunk));
        if let Some(caches) = self.caches.as_mut().filter(|_| !is_lost) {
            caches.written.push(chunk);
        }
    }

    /// Copies of a chunk have on the medium what they had at write number `until`.
    fn make_safe(&mut self, one: Covered, until: u64) {
        let Covered { chunk, copies } = one;
        let mut settled = 0;
        // The drives of all that are left have done it, also of copies that were not current then.
        for copy in members(copies | self.left(chunk, self.all)) {
            let caches = self.caches.as_mut().expect("there are some");
            if caches.settle(CopyOf::new(chunk, copy), until) {
                settled |= 1 << copy;
            }
        }
        self.change(chunk, |state| {
            state.cached &= !settled;
            // If newer data are on a medium, these count.
            state.safe = copies;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(chunk: u64) -> CopyOf {
        let chunk = Chunk(chunk);
        CopyOf::new(chunk, 0)
    }

    fn chunks(covered: &[Covered]) -> Vec<u64> {
        covered.iter().map(|one| one.chunk.0).collect()
    }

    #[test]
    fn a_copy_that_was_written_again_stays_cached() {
        let mut caches = Caches::new();
        caches.ended(Chunk(5), 1);
        caches.ended(Chunk(6), 1);
        assert_eq!(chunks(&caches.chunks_to_cover()), [5, 6]);
        let until = caches.number;
        caches.ended(Chunk(5), 1);
        assert!(!caches.settle(copy(5), until), "it was written again");
        assert!(caches.settle(copy(6), until), "it was not");
        assert!(!caches.settle(copy(6), until), "it is settled");
        assert_eq!(chunks(&caches.chunks_to_cover()), [5]);
        assert!(caches.settle(copy(5), caches.number), "now it was not");
    }

    #[test]
    fn a_flush_covers_what_one_under_way_may_fail_chunks_to_cover() {
        let mut caches = Caches::new();
        caches.ended(Chunk(7), 1);
        let covered = caches.chunks_to_cover();
        let key = caches.begin(Flush {
            until: 1,
            covered,
            left: 2,
            status: Status::Done,
            of: FlushOf::Client,
        });
        caches.ended(Chunk(3), 1);
        assert_eq!(chunks(&caches.chunks_to_cover()), [3, 7]);
        let tag = Tag(key as u64);
        let gone = Status::Failed(Failure::Gone);
        assert!(caches.drive_ended(tag, gone).is_none(), "one is left");
        assert_eq!(caches.drive_ended(tag, Status::Done).unwrap().status, gone);
    }

    /// Each takes over what the one before covers, so it is enough to look at that.
    #[test]
    fn a_flush_covers_all_that_is_under_way_once() {
        let mut caches = Caches::new();
        let mut keys = Vec::new();
        for chunk in 0..10 {
            caches.ended(Chunk(chunk), 1);
            let covered = caches.chunks_to_cover();
            assert_eq!(chunks(&covered), (0..=chunk).collect::<Vec<_>>());
            keys.push(caches.begin(Flush {
                until: caches.number,
                covered,
                left: 1,
                status: Status::Done,
                of: FlushOf::Client,
            }));
        }
        // The newest has ended: what it covered is safe, and so is what the others cover.
        caches.drive_ended(Tag(keys[9] as u64), Status::Done);
        caches.ended(Chunk(77), 1);
        assert_eq!(chunks(&caches.chunks_to_cover()), [77]);
    }

    #[test]
    fn too_many_cached_copies_ask_for_a_flush() {
        let mut caches = Caches::new();
        let asks = (0..CACHED_MAX as u64).any(|chunk| caches.ended(Chunk(chunk), 1));
        assert!(!asks, "there is room for them");
        assert!(caches.ended(Chunk(0), 1), "there is room for no more");
        caches.flushing = true;
        assert!(!caches.ended(Chunk(1), 1), "a flush is under way");
    }
}
