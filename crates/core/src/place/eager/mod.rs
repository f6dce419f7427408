//! Eager writing: a write goes to whatever slot is free where the heads are, on one drive or on several.
//!
//! A map in memory says for every chunk of the volume and each of its copies in which slot of a drive it lies: four bytes
//! each. A write is planned without an address; the scheduler binds it at dispatch, and when it is done the map points to
//! the new slot and the old one becomes free. Writes are whole chunks; where a request covers only a part of one, the rest
//! is read first.
//!
//! Of several copies, `foreground` are on the platter before a write is answered, each on the idle owner nearest to a free
//! slot, else on the one with the shortest queue. The first that lands makes the others stale: they leave the map and their
//! slots, so that no read can find them, and are written again, eagerly too, in the spare time of their drives. What was
//! overwritten while it flew is dropped. A chunk may have a home: a fixed slot of its own to which a copy is moved later.
//!
//! A slot that is read from when its block moves becomes free only when that read is done, or the read could find another
//! block there.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk array for a transaction
//! processing workload", FAST 2002, sections 2, 4 and 5. Cost: O(log n) per chunk and copy; four bytes a chunk and copy,
//! and a bit and 26 bytes a track for what is free.

use crate::io::{Data, DriveDone, RecoveryRead, Tag};
use crate::op::Op;
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::request::Request;
use slab::Slab;

use super::choice;
use super::delayed::{CopyOf, Delayed, Pushed, check_foreground};
use super::stripe::flush;
use crate::contract::{Drives, Placement};
use crate::freemap::{FreeMap, Slot};
use crate::ids::DriveId;
use crate::maplog::Geometry;
use crate::registry::ConfigError;
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Instant, Lba, Pba};

mod audit;
mod compact;
mod failures;
mod map;
mod map_changes;
pub(super) mod prepare;
mod region;
mod single;
pub(super) mod store;
pub(super) mod volume;

use compact::Compacted;
use map::{Map, NOWHERE};
pub(super) use single::SPEC;
use store::{MapStore, MapWrite};

/// A foreground write of a chunk.
struct Writing {
    chunk: u32,
    /// Copies that are not done.
    left: u32,
    /// Copies that are, as bits.
    done: u32,
    /// Copies that are on the platter.
    landed: u32,
}

/// An I/O under way.
#[derive(Clone, Copy, Debug)]
struct Underway {
    of: CopyOf,
    drive: DriveId,
    /// What is read, or where the write goes once that is known.
    slot: Slot,
    part: Part,
    /// How often the same has failed before: with other copies, or in other slots.
    failed: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Read,
    /// Of a block that compaction is to move.
    MoveRead,
    /// Of the foreground write with this key.
    Foreground(usize),
    Delayed,
    /// Of a block that compaction has read.
    Move,
    /// A delayed write or a move of what was overwritten or discarded meanwhile.
    Dropped,
    /// A write that keeps the map safe.
    Map,
    /// No I/O: a chunk that is no longer needed.
    Discarded,
}

/// A delayed write in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    of: CopyOf,
    key: usize,
}

impl Keyed for Flying {
    type Key = CopyOf;

    #[inline]
    fn key(&self) -> CopyOf {
        self.of
    }
}

/// Reads under way from a slot.
#[derive(Clone, Copy, Debug)]
struct Readers {
    place: (u16, Slot),
    count: u32,
    /// The block has moved: the slot becomes free with the last of them.
    left: bool,
}

impl Keyed for Readers {
    type Key = (u16, Slot);

    #[inline]
    fn key(&self) -> (u16, Slot) {
        self.place
    }
}

/// A placement that writes eagerly.
struct EagerCopies {
    geometry: Geometry,
    chunk: Blocks,
    foreground: u32,
    map: Map,
    underway: Slab<Underway>,
    writes: Slab<Writing>,
    flying: Sorted<Flying>,
    readers: Sorted<Readers>,
    delayed: Delayed,
    /// Copies that are delayed but in no buffer, since a power cut: another copy is read first.
    unbuffered: Sorted<CopyOf>,
    /// Copies of which a write to the home slot is under way, also where the data were overwritten since. A second write to the same slot
    /// waits for the first: drives may swap them, and the older data would stay.
    homeward: Sorted<CopyOf>,
    /// Slots that could not be read or written: they are never free again in this life.
    retired: Vec<(DriveId, Slot)>,
    /// Keeps the map safe; none if it is lost with the power.
    store: Option<Box<dyn MapStore>>,
    /// What compaction knows of each drive; nothing if nobody asked for it.
    compacted: Vec<Compacted>,
    /// The store's write whose address is open yet.
    open_map_write: Option<Tag>,
    /// StoreChoice for its memory.
    map_writes: Vec<MapWrite>,
}

impl EagerCopies {
    /// Over drives that were prepared. A write is answered when `foreground` of the copies are on the platter; so many
    /// chunks may wait for the others.
    ///
    /// # Errors
    /// There are not so many copies.
    fn new(
        geometry: Geometry,
        chunk: Blocks,
        map: Map,
        (foreground, buffer): (u64, u64),
        store: Option<Box<dyn MapStore>>,
    ) -> Result<EagerCopies, ConfigError> {
        Ok(EagerCopies {
            chunk,
            foreground: check_foreground(foreground, geometry.copies)?,
            map,
            underway: Slab::new(),
            writes: Slab::new(),
            flying: Sorted::default(),
            readers: Sorted::default(),
            delayed: Delayed::new(geometry.drives(), buffer),
            unbuffered: Sorted::default(),
            homeward: Sorted::default(),
            retired: Vec::new(),
            store,
            compacted: Vec::new(),
            open_map_write: None,
            map_writes: Vec::new(),
            geometry,
        })
    }

    /// Copies that were not where they belong when the power went are to be written now.
    fn delay_missing(&mut self) {
        for chunk in 0..self.geometry.chunks {
            for of in self.copies(chunk) {
                if self.is_due(of) {
                    self.delayed.resume(self.drive(of), of);
                    self.unbuffered.insert(of);
                }
            }
        }
    }

    fn index(&self, of: CopyOf) -> usize {
        of.copy as usize * self.geometry.chunks as usize + of.chunk as usize
    }

    fn slot(&self, of: CopyOf) -> Slot {
        self.map.slots[self.index(of)]
    }

    fn drive(&self, of: CopyOf) -> DriveId {
        self.geometry.drive(of.copy, of.chunk)
    }

    fn at(&self, drive: DriveId, slot: Slot) -> Pba {
        self.map.free[drive.index()].tracks().at(slot)
    }

    /// The fixed place of a copy, if it has one.
    fn home(&self, of: CopyOf) -> Option<Slot> {
        let (drive, local) = self.geometry.place(of.copy, of.chunk);
        self.map.homes[drive.index()].get(local as usize).copied()
    }

    fn copies(&self, chunk: u32) -> impl Iterator<Item = CopyOf> + use<> {
        (0..self.geometry.copies).map(move |copy| CopyOf { chunk, copy })
    }

    /// The copies of a chunk that can be read, with their places.
    fn current(&self, chunk: u32) -> impl Iterator<Item = (CopyOf, DriveId, Slot)> {
        let placed = move |of| (of, self.drive(of), self.slot(of));
        let somewhere = |(_, _, slot): &(CopyOf, DriveId, Slot)| *slot != NOWHERE;
        self.copies(chunk).map(placed).filter(somewhere)
    }

    /// The part of a request in one of its chunks: chunk, first block within it, blocks.
    fn parts(&self, request: &Request) -> impl Iterator<Item = (u32, Blocks, Blocks)> + use<> {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        let size = self.chunk.0;
        (start / size..end.div_ceil(size)).map(move |chunk| {
            let (from, to) = (start.max(chunk * size), end.min((chunk + 1) * size));
            let within = Blocks(from - chunk * size);
            (chunk as u32, within, Blocks(to - from))
        })
    }

    /// An I/O of a chunk's copy from one of its blocks on.
    fn planned(
        &mut self,
        underway: Underway,
        op: Op,
        target: Target,
        (from, len): (Blocks, Blocks),
    ) -> PlannedIo {
        let mut planned = PlannedIo::new(underway.drive, op, target, len);
        let block = u64::from(underway.of.chunk) * self.chunk.0 + from.0;
        planned.data = Some(Data::from(Lba(block)));
        planned.tag = Tag(self.underway.insert(underway) as u64);
        planned
    }

    /// Reads a part of a chunk, unless it lies nowhere: the nearest copy on an idle drive, else whichever can begin first.
    /// The first of these reads.
    fn read(
        &mut self,
        now: Instant,
        (chunk, from, len): (u32, Blocks, Blocks),
        drives: &dyn Drives,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let nearest = self.nearest_copy(now, chunk, from, drives);
        let mut planned = None;
        let mut index = 0;
        for of in self.copies(chunk) {
            let (drive, slot) = (self.drive(of), self.slot(of));
            if slot == NOWHERE {
                continue;
            }
            if nearest.is_none_or(|nearest| nearest == index) {
                let mut read = self.read_copy(of, drive, slot, from, len);
                read.alternative = planned.is_some();
                let step = out.io(read);
                planned = planned.or(Some(step));
            }
            index += 1;
        }
        planned
    }

    /// Of the copies that can be read, the nearest on an idle drive, by number.
    fn nearest_copy(
        &self,
        now: Instant,
        chunk: u32,
        from: Blocks,
        drives: &dyn Drives,
    ) -> Option<usize> {
        if self.geometry.copies == 1 {
            return None;
        }
        let places = self.current(chunk);
        let places = places.map(|(_, drive, slot)| (drive, self.at(drive, slot) + from));
        choice::nearest_idle(now, Op::Read, drives, places)
    }

    fn read_copy(
        &mut self,
        of: CopyOf,
        drive: DriveId,
        slot: Slot,
        from: Blocks,
        len: Blocks,
    ) -> PlannedIo {
        let place = (drive.0, slot);
        let mut readers = self.readers.take(&place).unwrap_or(Readers {
            place,
            count: 0,
            left: false,
        });
        readers.count += 1;
        self.readers.insert(readers);
        let part = Part::Read;
        let underway = Underway {
            of,
            drive,
            slot,
            part,
            failed: 0,
        };
        let target = Target::At(self.at(drive, slot) + from);
        self.planned(underway, Op::Read, target, (from, len))
    }

    /// The foreground writes of a chunk.
    fn write(
        &mut self,
        now: Instant,
        chunk: u32,
        after: Option<StepIndex>,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let part = Part::Foreground(self.writes.insert(Writing {
            chunk,
            left: self.foreground,
            done: 0,
            landed: 0,
        }));
        let mut used = 0_u32;
        for _ in 0..self.foreground {
            let of = self.owner(now, chunk, used, drives);
            used |= 1 << of.copy;
            let write = self.write_copy(of, part);
            let step = out.io(write);
            if let Some(read) = after {
                out.after(read, step);
            }
        }
    }

    /// The owner that a foreground write goes to: the idle one nearest to a free slot, else the one with the shortest queue.
    fn owner(&self, now: Instant, chunk: u32, used: u32, drives: &dyn Drives) -> CopyOf {
        let unused = || {
            let unused = self.copies(chunk).filter(|of| used >> of.copy & 1 == 0);
            unused.map(|of| (of, self.drive(of)))
        };
        if self.geometry.copies == 1 {
            return CopyOf { chunk, copy: 0 };
        }
        let free = unused().map(|(_, drive)| (drive, &self.map.free[drive.index()]));
        let nearest = choice::nearest_free(now, drives, free);
        let shortest = || choice::shortest(drives, unused().map(|(_, drive)| drive));
        let drive = nearest.or_else(shortest);
        let mut found = unused().filter(|(_, owner)| Some(*owner) == drive);
        found
            .next()
            .expect("there are more copies than foreground writes")
            .0
    }

    /// An open write of a copy. Schedulers that go by address take it for a write in place.
    fn write_copy(&mut self, of: CopyOf, part: Part) -> PlannedIo {
        let drive = self.drive(of);
        let near = match self.slot(of) {
            NOWHERE => Pba(0),
            slot => self.at(drive, slot),
        };
        let underway = Underway {
            of,
            drive,
            slot: NOWHERE,
            part,
            failed: 0,
        };
        let whole = (Blocks(0), self.chunk);
        self.planned(underway, Op::Write, Target::Open(near), whole)
    }

    /// A copy lies in another slot from now on. If `alone`, the other copies of its chunk are stale: they leave the map,
    /// and what of them is in flight is dropped. Their slots become free when the map is safe.
    fn move_to(&mut self, of: CopyOf, slot: Slot, alone: bool) {
        if let Some(store) = &mut self.store {
            store.record(of.entry(slot, alone));
        }
        for other in self.copies(of.chunk) {
            if alone || other == of {
                self.drop_flying(other);
                self.unbuffered.take(&other);
                let to = if other == of { slot } else { NOWHERE };
                let index = self.index(other);
                let old = std::mem::replace(&mut self.map.slots[index], to);
                self.compact_moved(other, old, to);
                self.vacate(other, old);
            }
        }
    }

    /// A slot that no copy is in any more becomes free with the last read from it.
    fn vacate(&mut self, of: CopyOf, slot: Slot) {
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
    fn release(&mut self, of: CopyOf, drive: DriveId, slot: Slot) {
        // A write that never started has no slot.
        let usable = slot != NOWHERE && !self.retired.contains(&(drive, slot));
        if usable && self.home(of) != Some(slot) {
            self.map.free[drive.index()].release(slot);
        }
    }

    /// A delayed write in flight carries what is no longer wanted.
    fn drop_flying(&mut self, of: CopyOf) {
        if let Some(flying) = self.flying.take(&of) {
            self.underway[flying.key].part = Part::Dropped;
        }
    }

    fn read_ended(&mut self, read: &Underway) {
        let place = (read.drive.0, read.slot);
        let mut readers = self
            .readers
            .take(&place)
            .expect("a read is under way there");
        readers.count -= 1;
        if readers.count > 0 {
            self.readers.insert(readers);
        } else if readers.left {
            self.release(read.of, read.drive, read.slot);
        }
    }

    fn foreground_done(&mut self, key: usize, write: &Underway, done: bool, out: &mut Plan) {
        let writing = &mut self.writes[key];
        writing.left -= 1;
        if done {
            // With the first, what the other copies hold is stale.
            let first = writing.done == 0;
            writing.done |= 1 << write.of.copy;
            self.move_to(write.of, write.slot, first);
        } else {
            self.release(write.of, write.drive, write.slot);
        }
        if self.writes[key].left == 0 {
            let Writing { chunk, done, .. } = self.writes.remove(key);
            if done != 0 {
                self.delay_others(chunk, out);
            }
        } else if self.home(write.of).is_some() {
            // The other copy may wait for a slot that only a move home makes free.
            self.delay(write.of, out);
        }
    }

    /// Copies that are not where they belong are to be written in spare time.
    fn delay_others(&mut self, chunk: u32, out: &mut Plan) {
        for of in self.copies(chunk) {
            self.delay(of, out);
        }
    }

    /// A copy is to be written in spare time if it is not where it belongs.
    fn delay(&mut self, of: CopyOf, out: &mut Plan) {
        if !self.is_due(of) {
            return;
        }
        let drive = self.drive(of);
        match self.delayed.push(drive, of) {
            Pushed::Queued => out.wake.push(drive),
            Pushed::Already => {}
            // When that write ends, it is looked at again.
            Pushed::Full if contains(&self.homeward, of) => {}
            Pushed::Full => self.propagate(of, out),
        }
    }

    /// Moves a copy home that holds one of the slots of a drive that has no other: writes that wait there wait for that.
    fn make_room(&mut self, drive: DriveId, out: &mut Plan) {
        let holds_one = |of: &CopyOf| {
            let somewhere = self.home(*of).is_some() && self.slot(*of) != NOWHERE;
            somewhere && !contains(&self.homeward, *of)
        };
        let due = |of: &CopyOf| holds_one(of) && self.is_due(*of);
        let found = self.delayed.iter(drive).find(due);
        if let Some(of) = found {
            self.delayed.take(drive, of);
            self.propagate(of, out);
        }
    }

    /// Whether a copy is still to be written: it lies nowhere while another can be read, or away from its home.
    fn is_due(&self, of: CopyOf) -> bool {
        let missing = match self.home(of) {
            Some(home) => self.slot(of) != home,
            None => self.slot(of) == NOWHERE,
        };
        let flies = self
            .flying
            .at(self.flying.seek(&of))
            .is_some_and(|flying| flying.of == of);
        missing && !flies && self.current(of.chunk).next().is_some()
    }

    /// A delayed write, to the copy's home or to any free slot.
    fn propagate(&mut self, of: CopyOf, out: &mut Plan) {
        let mut write = match self.home(of) {
            None => self.write_copy(of, Part::Delayed),
            Some(slot) => {
                let drive = self.drive(of);
                let part = Part::Delayed;
                let underway = Underway {
                    of,
                    drive,
                    slot,
                    part,
                    failed: 0,
                };
                let target = Target::At(self.at(drive, slot));
                let whole = (Blocks(0), self.chunk);
                self.planned(underway, Op::Write, target, whole)
            }
        };
        write.awaited = false;
        let unbuffered = self.unbuffered.take(&of).is_some();
        let read = unbuffered.then(|| self.read_again(of.chunk, out));
        if self.home(of).is_some() {
            self.homeward.insert(of);
        }
        let key = write.tag.0 as usize;
        self.flying.insert(Flying { of, key });
        let step = out.io(write);
        if let Some(read) = read {
            out.after(read, step);
        }
    }

    /// Reads a chunk that is in no buffer, for another copy of it.
    fn read_again(&mut self, chunk: u32, out: &mut Plan) -> StepIndex {
        let (of, drive, slot) = self.current(chunk).next().expect("some copy is");
        let mut read = self.read_copy(of, drive, slot, Blocks(0), self.chunk);
        read.awaited = false;
        out.io(read)
    }

    fn delayed_done(&mut self, write: &Underway, done: bool) {
        let Underway {
            of, drive, slot, ..
        } = *write;
        self.flying.take(&of).expect("it flew");
        self.homeward.take(&of);
        if done {
            self.move_to(of, slot, false);
        } else {
            self.release(of, drive, slot);
        }
    }

    /// A write that is no longer wanted has ended.
    fn dropped_ended(&mut self, write: &Underway, out: &mut Plan) {
        self.release(write.of, write.drive, write.slot);
        // A change that waits for the map looks at it when it is made; before, every write home would be dropped again.
        if self.homeward.take(&write.of).is_some() && !self.is_overtaken(write.of) {
            self.delay(write.of, out);
        }
    }

    /// Whether somebody reads what was at a copy's home before, or an older write to it is still under way.
    fn home_is_used(&self, of: CopyOf) -> bool {
        contains(&self.homeward, of) || self.home_is_read(of)
    }

    fn home_is_read(&self, of: CopyOf) -> bool {
        self.home(of).is_some_and(|home| {
            let place = (self.drive(of).0, home);
            let found = self.readers.at(self.readers.seek(&place));
            found.is_some_and(|readers| readers.place == place)
        })
    }
}

fn contains(copies: &Sorted<CopyOf>, of: CopyOf) -> bool {
    copies.at(copies.seek(&of)) == Some(&of)
}

impl Placement for EagerCopies {
    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => flush(self.geometry.drives(), out),
            Op::Read => {
                for part in self.parts(request) {
                    self.read(now, part, drives, out);
                }
            }
            Op::Write => {
                for (chunk, _, len) in self.parts(request) {
                    // What the request does not cover is read first.
                    let whole = (chunk, Blocks(0), self.chunk);
                    let read = match len < self.chunk {
                        true => self.read(now, whole, drives, out),
                        false => None,
                    };
                    self.write(now, chunk, read, drives, out);
                }
            }
            Op::Discard => {
                for (chunk, _, len) in self.parts(request) {
                    if len == self.chunk {
                        self.forget(chunk, out);
                    }
                }
                self.write_map(out);
            }
            Op::Seek => panic!("no client moves the arm"),
        }
    }

    fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        Some(&self.map.free[drive.index()])
    }

    fn bind(&mut self, _now: Instant, tag: Tag, drive: DriveId, slot: Slot) {
        self.map.free[drive.index()].take(slot);
        self.underway[tag.0 as usize].slot = slot;
        self.open_map_write.take_if(|open| *open == tag);
    }

    fn withdrawn(&mut self, tag: Tag, _drive: DriveId) {
        let read = self.underway.remove(tag.0 as usize);
        self.read_ended(&read);
    }

    fn done(&mut self, _now: Instant, tag: Tag, _drive: DriveId, done: &DriveDone, out: &mut Plan) {
        match done.op {
            Op::Flush => {}
            _ => self.ended(tag, done, out),
        }
        self.write_map(out);
        self.pin_map_write(out);
    }

    fn skipped(&mut self, _now: Instant, tag: Tag, _drive: DriveId, out: &mut Plan) {
        self.never_started(tag, out);
    }

    fn uses_spare_time(&self) -> bool {
        true
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        if self.map.free[drive.index()].free() == 0 {
            return self.make_room(drive, out);
        }
        // A home that is still in use is left for the next idle moment, which comes when the read or write is done.
        while let Some(of) = self.delayed.first(drive)
            && !self.home_is_used(of)
        {
            self.delayed.pop(drive);
            if self.is_due(of) {
                return self.propagate(of, out);
            }
        }
        self.spend_on_compaction(now, drive, drives.oracle(drive), out);
    }

    fn content(&self, _tag: Tag) -> &[u8] {
        let store = self
            .store
            .as_ref()
            .expect("only the map is written besides data");
        store.content()
    }

    fn nvram(&self) -> Option<&[u8]> {
        self.store.as_ref().map(|store| store.nvram())
    }

    fn recovery(&self, out: &mut Vec<RecoveryRead>) {
        let store = self.store.iter();
        store.for_each(|store| store.recovery(&self.map, out));
    }

    fn capacity(&self) -> Blocks {
        Blocks(u64::from(self.geometry.chunks) * self.chunk.0)
    }

    fn drives(&self) -> u16 {
        self.geometry.drives()
    }

    fn chunk(&self) -> Blocks {
        self.chunk
    }

    fn audit(&self) {
        self.delayed.audit();
        self.audit_compactor();
        self.store.iter().for_each(|store| store.audit());
        self.audit_slots();
    }
}
