//! Reads and writes that fail: another copy is read, another slot is written.
//!
//! A slot that could not be read or written is retired: it is not free again while the volume is
//! up, as long as enough others are. When the volume is opened again it is tried again, since the
//! map does not say what was retired. A copy that could not be read is given up when another one
//! was read, and is written anew from that in spare time. If none can be, one may have arrived at
//! its drive of which the map does not know yet, or the buffer may have what it held.

use super::copies::Source;
use super::map::NOWHERE;
use super::{Change, ChunkWrite, EagerCopies, Purpose, Reason, Tried, Underway};
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::op::Failure;
use crate::place::delayed::CopyOf;
use crate::plan::{Instead, Plan, PlannedIo};
use crate::units::Blocks;

/// So many slots are tried for a write before it fails.
const SLOTS_MAX: u8 = 3;

/// At most one in so many of the slots that no copy needs is retired.
const RETIRED_SHARE: u64 = 4;

impl EagerCopies {
    /// A copy could not be read: another one is, each once. If no other is current, the buffer may
    /// have the chunk, since other copies are still to be written from there.
    pub(super) fn read_failed(&mut self, read: &Underway, done: &DriveDone, out: &mut Plan) {
        let Underway {
            of, slot, drive, ..
        } = *read;
        self.doubted.add(drive, slot);
        let mut tried = match read.purpose {
            Purpose::ReadInstead(.., tried) => tried,
            _ => Tried {
                mapped: 1 << of.copy,
                arrived: 0,
            },
        };
        let copies = self.geometry.copies;
        let from = Blocks(done.at.0 - self.at(drive, slot).0);
        // Those that were tried too, if they have been written since.
        let others = (1..=copies).map(|step| CopyOf {
            copy: (of.copy + step) % copies,
            ..of
        });
        let others = others.filter(|other| self.can_be_read(*other));
        let mut others = others.map(|other| (other, self.slot(other)));
        let is_new = |(other, place): &(CopyOf, Slot)| {
            let is_bad = || self.doubted.has(self.drive(*other), *place);
            tried.mapped >> other.copy & 1 == 0 || !is_bad()
        };
        let current = others.find(is_new);
        let Some((other, place)) = current.or_else(|| self.on_its_way(read, tried)) else {
            out.instead = match self.current(of.chunk).next() {
                Some(_) if self.is_buffered(of.chunk) => Instead::Buffered,
                Some(_) => Instead::Nothing,
                // It was discarded meanwhile: there is nothing to read.
                None => Instead::Tolerated,
            };
            return;
        };
        match current {
            Some(_) => tried.mapped |= 1 << other.copy,
            None => tried.arrived |= 1 << other.copy,
        }
        let again = self.read_copy(other, self.drive(other), place, from, done.len);
        let instead = &mut self.underway[again.tag.0 as usize];
        instead.purpose = Purpose::ReadInstead(of.copy, slot, tried);
        out.instead = Instead::Step(out.io(again));
    }

    /// A copy that is on a drive with what the others have, and of which the map is only to be
    /// told: its place.
    fn on_its_way(&self, read: &Underway, tried: Tried) -> Option<(CopyOf, Slot)> {
        let mut arrived = self.changes.arrived(read.of.chunk);
        arrived.find(|(other, place)| {
            let is_new = tried.arrived >> other.copy & 1 == 0;
            // It may have been read there when the map had it, and be on its way there again.
            let is_elsewhere = (*other, *place) != (read.of, read.slot);
            is_new && is_elsewhere && !self.gone.has(self.drive(*other))
        })
    }

    /// A copy was read in place of this one, which could not be: that is given up, unless it has
    /// been written there anew meanwhile.
    pub(super) fn read_instead(&mut self, of: CopyOf, slot: Slot, out: &mut Plan) {
        // What waits to be entered in the map supersedes it anyway; and when no change of it can be
        // kept, it stays as it is.
        let stays = self.is_overtaken(of) || self.map_lost || self.gone.has(self.drive(of));
        let is_bad = self.slot(of) == slot && self.doubted.has(self.drive(of), slot);
        if is_bad && !stays && self.is_elsewhere(of) {
            self.give_up(of, out);
        }
    }

    /// Whether the buffer has the newest version of a chunk, for a copy that is still to be
    /// written: in spare time, or for the request that has brought that version. A newer one that
    /// the map does not know yet is there in its place: nobody was told of that.
    fn is_buffered(&self, chunk: u32) -> bool {
        if self.changes.renews(chunk) {
            return false;
        }
        let mut copies = self.copies_of(chunk);
        let delayed = copies.any(|of| self.is_missing(of) && self.copies.is_buffered(of));
        let written = |(_, write): (usize, &ChunkWrite)| write.chunk == chunk && write.done != 0;
        delayed || self.writes.iter().any(written)
    }

    /// A copy cannot be read, and another one is current: it is written anew, elsewhere or to its
    /// home. While the map on the drives names its slot, nothing else may be written there: the
    /// slot is retired, or the map is changed first.
    fn give_up(&mut self, of: CopyOf, out: &mut Plan) {
        let slot = self.slot(of);
        match self.retire(of, self.drive(of), slot) {
            true => {
                self.leaves_the_map(of, slot);
                self.delay(of, Source::AnotherCopy, out);
            }
            false => self.ask_to_give_up(of, out),
        }
    }

    /// A copy of which another one is current is to leave the map, and its slot becomes free with
    /// that.
    pub(super) fn ask_to_give_up(&mut self, of: CopyOf, out: &mut Plan) {
        let entry = of.entry(NOWHERE, false);
        self.change(Change::GivesUp(of, self.slot(of)), entry, out);
    }

    /// The map says on the drives, too, that a copy is not there any more. If meanwhile it has
    /// become the last one, it is to say that it is.
    pub(super) fn given_up(&mut self, of: CopyOf, slot: Slot, out: &mut Plan) {
        assert_eq!(self.slot(of), slot, "changes of {of:?} follow each other");
        if !self.is_elsewhere(of) {
            let is_this = |(other, _)| other == of;
            if self.changes.arrived(of.chunk).any(is_this) {
                // A change that follows puts it elsewhere.
                return;
            }
            if !self.changes.supersedes(of) {
                let entry = of.entry(slot, false);
                return self.change(Change::Stays(of), entry, out);
            }
        }
        self.leaves_the_map(of, slot);
        self.vacate(of, slot);
        self.delay(of, Source::AnotherCopy, out);
    }

    fn leaves_the_map(&mut self, of: CopyOf, slot: Slot) {
        self.counting_lost(of.chunk, |copies| {
            let index = copies.index(of);
            copies.map.slots[index] = NOWHERE;
            copies.compact_moved(of, slot, NOWHERE);
        });
    }

    /// Whether a change that gives a copy up waits.
    pub(super) fn is_given_up(&self, of: CopyOf) -> bool {
        self.changes.gives_up(of)
    }

    /// A write failed: the same is written to another slot, and after some of these another copy
    /// is.
    pub(super) fn write_failed(&mut self, write: &Underway, reason: Reason, out: &mut Plan) {
        self.retire(write.of, write.drive, write.slot);
        let goes_elsewhere = match reason {
            Reason::Foreground(_) => true,
            Reason::Delayed => self.home(write.of).is_none(),
            Reason::Move => false,
        };
        let goes_on = !self.map_lost;
        let is_gone = self.gone.has(write.drive);
        if goes_on && goes_elsewhere && !is_gone && write.failed + 1 < SLOTS_MAX {
            self.release(write.of, write.drive, write.slot);
            let again = self.write_again(write.of, reason);
            let key = again.tag.0 as usize;
            self.underway[key].failed = write.failed + 1;
            if reason == Reason::Delayed {
                self.copies.fly_on(write.of, key);
            }
            out.instead = Instead::Step(out.io(again));
            return;
        }
        if let Reason::Foreground(writing) = reason
            && goes_on
            && let Some(other) = self.untried(writing)
        {
            self.release(write.of, write.drive, write.slot);
            let again = self.write_again(other, reason);
            out.instead = Instead::Step(out.io(again));
            return;
        }
        if let Reason::Foreground(writing) = reason
            && (self.writes[writing].left > 1 || self.is_on_one_left(writing))
        {
            out.instead = Instead::Tolerated;
        }
        self.landed(&write.landed(reason), false, out);
    }

    /// Whether a foreground write is in the map with a copy on a drive that is not gone.
    fn is_on_one_left(&self, writing: usize) -> bool {
        let ChunkWrite { chunk, done, .. } = self.writes[writing];
        let mut copies = self.copies_of(chunk);
        copies.any(|of| done >> of.copy & 1 == 1 && !self.gone.has(self.drive(of)))
    }

    /// Writes what another write could not.
    fn write_again(&mut self, of: CopyOf, reason: Reason) -> PlannedIo {
        let repeats = true;
        let write = self.write_copy(of, reason);
        PlannedIo { repeats, ..write }
    }

    /// Writes of copies that have no slot yet are to get none, if they are meant.
    pub(super) fn revoke_open(
        &self,
        failure: Failure,
        is_meant: impl Fn(&Underway) -> bool,
        out: &mut Plan,
    ) {
        for (key, one) in &self.underway {
            let writes = matches!(one.purpose, Purpose::Write(_) | Purpose::Dropped);
            if writes && one.slot == NOWHERE && is_meant(one) {
                out.revoke(Tag(key as u64), failure);
            }
        }
    }

    /// Chunks of foreground writes, and of changes that wait for the map.
    pub(super) fn writing(&self) -> impl Iterator<Item = u32> {
        let writes = self.writes.iter().map(|(_, write)| write.chunk);
        writes.chain(self.changes.iter().map(|(_, change)| change.chunk()))
    }

    /// A slot is not used any more, unless too few would be left: then it is tried again when its
    /// turn comes. A home stays one: its drive may replace the bad block when it is written again.
    /// True if it is retired.
    pub(super) fn retire(&mut self, of: CopyOf, drive: DriveId, slot: Slot) -> bool {
        self.home(of) != Some(slot) && self.retire_slot(drive, slot)
    }

    pub(super) fn retire_slot(&mut self, drive: DriveId, slot: Slot) -> bool {
        let copies = u64::from(self.geometry.chunks) * u64::from(self.geometry.copies);
        let here = copies.div_ceil(u64::from(self.geometry.drives()));
        let spare = self.map.slots_of[drive.index()].saturating_sub(here);
        let room = self.retired.count(drive) < spare / RETIRED_SHARE && !self.gone.has(drive);
        if room {
            self.retired.add(drive, slot);
        }
        room
    }
}
