//! Changes of the map, made when it is safe that they are: what its store lets wait, and what it
//! has to write.

use super::copies::{Copy, Source};
use super::map::NOWHERE;
use super::store::{MapWrite, Retry, When};
use super::{Change, EagerCopies, Landed, Purpose, Reason, Underway};
use crate::contract::Drives;
use crate::io::{DriveDone, Tag};
use crate::maplog::Entry;
use crate::op::{Failure, Op};
use crate::place::delayed::CopyOf;
use crate::plan::{Plan, PlannedIo, Target};
use crate::units::Instant;

impl EagerCopies {
    /// A read or write ended. What it changes in the map may have to wait.
    pub(super) fn ended(&mut self, tag: Tag, done: &DriveDone, out: &mut Plan) {
        let ended = self.take_underway(tag);
        let is_done = done.status.is_done();
        match is_done {
            true if done.op == Op::Write => self.doubted.remove(ended.drive, ended.slot),
            true => {}
            false => self.doubt_held(),
        }
        match ended.purpose {
            Purpose::Read | Purpose::ReadInstead(..) if !is_done => {
                self.read_ended(&ended);
                self.read_failed(&ended, done, out);
            }
            Purpose::Read => self.read_ended(&ended),
            Purpose::ReadInstead(copy, slot, _) => {
                self.read_ended(&ended);
                self.read_instead(CopyOf { copy, ..ended.of }, slot, out);
            }
            Purpose::MoveRead => {
                self.read_ended(&ended);
                self.move_read_ended(&ended, done.status);
            }
            Purpose::Map => self.map_write_ended(&ended, done, out),
            Purpose::Write(reason) if is_done => self.write_landed(&ended, reason, out),
            Purpose::Write(reason) => self.write_failed(&ended, reason, out),
            Purpose::Dropped => {
                if !is_done {
                    self.retire(ended.of, ended.drive, ended.slot);
                }
                self.dropped_ended(&ended, out);
            }
        }
    }

    /// A copy is on the platter. It is entered in the map, unless it is no longer needed.
    fn write_landed(&mut self, write: &Underway, reason: Reason, out: &mut Plan) {
        if self.map_lost {
            out.failure = Some(Failure::MapLost);
            if reason == Reason::Delayed {
                self.copies.landed(write.of);
            }
            return self.landed_without_map(&write.landed(reason), out);
        }
        let of = write.of;
        let mut alone = false;
        match reason {
            Reason::Foreground(key) => {
                let writing = &mut self.writes[key];
                alone = writing.landed == 0;
                writing.landed |= 1 << of.copy;
            }
            Reason::Delayed if self.changes.supersedes(of) => {
                self.copies.overtaken(of, self.home(of).is_some());
                return self.dropped_ended(write, out);
            }
            Reason::Delayed => self.copies.landed(of),
            Reason::Move if !self.move_holds(write) => {
                self.move_ended(write.drive);
                return self.dropped_ended(write, out);
            }
            Reason::Move => {}
        }
        let entry = of.entry(write.slot, alone);
        self.change(Change::Moves(write.landed(reason)), entry, out);
    }

    /// A copy has landed, and no change of the map can be kept any more. The map in memory names it
    /// all the same, if it is what the map has of its chunk, or if that is lost: then a version
    /// that was refused is the only one.
    fn landed_without_map(&mut self, landed: &Landed, out: &mut Plan) {
        let Landed { of, drive, .. } = *landed;
        let is_taken = match landed.reason {
            Reason::Foreground(key) => self.writes[key].done != 0 || self.is_lost(of.chunk),
            Reason::Delayed => true,
            // It is where it was, too.
            Reason::Move => false,
        };
        let is_taken = is_taken && !self.gone.has(drive);
        if !is_taken && landed.is_newer() {
            self.drop_delayed(of.chunk, out);
        }
        self.landed(landed, is_taken, out);
    }

    /// Delayed writes of a chunk may carry a version that was refused, and the buffer has that.
    fn drop_delayed(&mut self, chunk: u32, out: &mut Plan) {
        for of in self.copies_of(chunk) {
            if let Some(Copy::Flying { write, .. }) = self.copies.get(of) {
                self.underway[write].purpose = Purpose::Dropped;
                self.copies.overtaken(of, self.home(of).is_some());
            }
            self.copies.leaves_buffer(of);
            self.delay(of, Source::AnotherCopy, out);
        }
    }

    /// True if a change that waits will make this copy stale, or put it elsewhere. What lands of
    /// the copy must be dropped then, not wait behind that change: recovery would find the older
    /// version under the newer map.
    pub(super) fn is_overtaken(&self, of: CopyOf) -> bool {
        self.changes.overtakes(of)
    }

    /// Makes a change, or lets it wait if it must. Whoever asked for it waits with it.
    pub(super) fn change(&mut self, change: Change, entry: Entry, out: &mut Plan) {
        let Some(store) = &mut self.store else {
            return self.make(change, out);
        };
        let tag = self.changes.next_tag();
        match store.change(tag, entry) {
            When::Now => self.make(change, out),
            When::Later => {
                self.counting_lost(entry.chunk, |copies| copies.changes.add(change, entry));
                if change.is_awaited() {
                    out.gate(tag);
                }
            }
        }
    }

    fn make(&mut self, change: Change, out: &mut Plan) {
        match change {
            Change::Moves(landed) => self.landed(&landed, true, out),
            Change::Discards(chunk) => self.discard(chunk),
            Change::GivesUp(of, slot) => self.given_up(of, slot, out),
            Change::Stays(..) => {}
        }
    }

    /// A copy is on the platter, and the map may say so; or it could not be written.
    pub(super) fn landed(&mut self, landed: &Landed, done: bool, out: &mut Plan) {
        match landed.reason {
            Reason::Foreground(key) => self.foreground_done(key, landed, done, out),
            Reason::Delayed => self.delayed_ended(landed, done, out),
            Reason::Move if done => {
                self.move_ended(landed.drive);
                self.move_to(landed.of, landed.slot, false);
            }
            Reason::Move => {
                self.move_failed(landed.drive);
                self.vacate(landed.of, landed.slot);
            }
        }
    }

    /// A write never started, since the read before it failed.
    pub(super) fn never_started(
        &mut self,
        now: Instant,
        tag: Tag,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let never = self.take_underway(tag);
        self.doubt_held();
        match never.purpose {
            Purpose::Write(reason) => self.landed(&never.landed(reason), false, out),
            Purpose::Dropped => self.dropped_ended(&never, out),
            Purpose::Read | Purpose::ReadInstead(..) | Purpose::MoveRead | Purpose::Map => {
                panic!("{never:?} waits for nothing")
            }
        }
        self.write_map(now, drives, out);
        self.pin_map_write(out);
    }

    /// A chunk is no longer needed.
    pub(super) fn forget(&mut self, chunk: u32, out: &mut Plan) {
        if !self.changes.any(chunk) && self.current(chunk).next().is_none() {
            return;
        }
        let entry = CopyOf { chunk, copy: 0 }.entry(NOWHERE, true);
        self.change(Change::Discards(chunk), entry, out);
    }

    fn discard(&mut self, chunk: u32) {
        if self.current(chunk).next().is_some() {
            self.move_to(CopyOf { chunk, copy: 0 }, NOWHERE, true);
        }
    }

    /// A drive has done its part of a write of the map, or could not; then what waited for it goes
    /// on.
    fn map_write_ended(&mut self, write: &Underway, done: &DriveDone, out: &mut Plan) {
        let Underway { drive, slot, .. } = *write;
        let store = self.store.as_mut().expect("it keeps the map");
        let Some(failure) = done.status.failure() else {
            if let Some(left) = store.written(drive, slot) {
                self.free(drive, left);
            }
            return self.make_settled(out);
        };
        let retry = store.failed(drive, failure);
        if slot != NOWHERE && !self.retire_slot(drive, slot) {
            self.free(drive, slot);
        }
        match retry {
            Retry::Again => {
                let (target, len) = (Target::At(done.at), done.len);
                self.plan_map_write(MapWrite { drive, target, len }, out);
            }
            Retry::Next => self.make_settled(out),
            Retry::Lost => self.lose_map(out),
        }
    }

    /// Makes the changes that waited and need not wait any more.
    pub(super) fn make_settled(&mut self, out: &mut Plan) {
        while let Some(tag) = self.next_change() {
            let change = self.take_change(tag);
            self.make(change, out);
            if self.came_too_late(change) {
                self.hold_write(tag, change.chunk());
            } else {
                if change.is_awaited() {
                    out.open(tag);
                }
                self.changes.give_back(tag);
            }
            self.wake_owners(change, out);
        }
    }

    /// A change need not wait any more.
    pub(super) fn take_change(&mut self, tag: Tag) -> Change {
        let chunk = self.changes.get(tag).chunk();
        self.counting_lost(chunk, |copies| copies.changes.take(tag))
    }

    /// Whether a change was the last of a foreground write of which all drives have gone that have
    /// it, while it waited.
    fn came_too_late(&self, change: Change) -> bool {
        match change {
            Change::Moves(Landed {
                of,
                reason: Reason::Foreground(key),
                ..
            }) => !self.writes.contains(key) && self.is_lost(of.chunk),
            _ => false,
        }
    }

    /// Writes may wait for the slots that a change left.
    fn wake_owners(&self, change: Change, out: &mut Plan) {
        let drives = self.copies_of(change.chunk()).map(|of| self.drive(of));
        out.wake.extend(drives);
    }

    /// No change of the map can be kept any more: those that wait fail, and so does everything that
    /// would bring one. The map in memory has what was kept, so that can be read, and further
    /// copies of that which have landed: they may be the only ones that are left. A write of the
    /// map that failed may be on the drive all the same: so whatever would still go to a free slot,
    /// which that may name, is not begun any more.
    fn lose_map(&mut self, out: &mut Plan) {
        // Each drive that had a part of it may say so.
        if std::mem::replace(&mut self.map_lost, true) {
            return;
        }
        self.refuse_held(Failure::MapLost, out);
        let mut chunks = Vec::new();
        let changes = std::mem::take(&mut self.changes);
        // What the map has of a chunk comes before what is newer.
        let is_newer =
            |change: &Change| matches!(change, Change::Moves(landed) if landed.is_newer());
        let mut all: Vec<(Tag, &Change)> = changes.iter().collect();
        all.sort_by_key(|(_, change)| is_newer(change));
        for (tag, change) in all {
            match change {
                Change::Moves(landed) => self.landed_without_map(landed, out),
                Change::Discards(_) => {}
                // Nobody knows whether the map on the drives still says that it is there.
                Change::GivesUp(of, _) | Change::Stays(of) => {
                    let entry = of.entry(self.slot(*of), false);
                    self.changes.add(Change::Stays(*of), entry);
                }
            }
            if change.is_awaited() {
                out.refuse(tag, Failure::MapLost);
            }
            chunks.push(change.chunk());
        }
        self.count_lost();
        // Copies that these changes would have made stale, or settled.
        for chunk in chunks {
            self.delay_others(chunk, out);
        }
        self.revoke_open(Failure::MapLost, |_| true, out);
    }

    /// The next change that may be made now.
    pub(super) fn next_change(&mut self) -> Option<Tag> {
        self.store.as_mut()?.settled(&self.map)
    }

    /// What the store has to write now.
    pub(super) fn write_map(&mut self, now: Instant, drives: &dyn Drives, out: &mut Plan) {
        let Some(store) = self.store.as_mut().filter(|_| !self.map_lost) else {
            return;
        };
        let mut writes = std::mem::take(&mut self.map_writes);
        store.next_writes(now, drives, &self.map, &mut writes);
        for write in writes.drain(..) {
            self.plan_map_write(write, out);
        }
        self.map_writes = writes;
    }

    /// The store's open write gets its spare slot when none is free: all may be held by what waits
    /// for it.
    pub(super) fn pin_map_write(&mut self, out: &mut Plan) {
        let Some((tag, spare)) = self.open_map_write else {
            return;
        };
        let drive = self.underway[tag.0 as usize].drive;
        if self.map.free[drive.index()].free() == 0 {
            out.pinned = Some((tag, spare));
            self.open_map_write = None;
        }
    }

    fn plan_map_write(&mut self, write: MapWrite, out: &mut Plan) {
        let MapWrite { drive, target, len } = write;
        let key = self.underway.insert(Underway {
            of: CopyOf { chunk: 0, copy: 0 },
            drive,
            slot: NOWHERE,
            purpose: Purpose::Map,
            failed: 0,
        });
        let mut planned = PlannedIo::new(drive, Op::Write, target, len);
        planned.tag = Tag(key as u64);
        planned.awaited = false;
        planned.fua = self.forces;
        if let Target::Open(spare) = target {
            self.open_map_write = Some((planned.tag, spare));
        }
        out.io(planned);
    }
}

impl Landed {
    /// Whether it may be a version that the map does not have yet.
    fn is_newer(&self) -> bool {
        matches!(self.reason, Reason::Foreground(_))
    }
}

impl Change {
    pub(super) fn chunk(&self) -> u32 {
        match self {
            Change::Moves(landed) => landed.of.chunk,
            Change::Discards(chunk) => *chunk,
            Change::GivesUp(of, _) | Change::Stays(of) => of.chunk,
        }
    }

    /// Whether somebody is answered only when it is made.
    fn is_awaited(&self) -> bool {
        !matches!(self, Change::GivesUp(..) | Change::Stays(..))
    }
}

impl Underway {
    /// What it has put on the platter.
    pub(super) fn landed(&self, reason: Reason) -> Landed {
        Landed {
            of: self.of,
            drive: self.drive,
            slot: self.slot,
            reason,
        }
    }
}
