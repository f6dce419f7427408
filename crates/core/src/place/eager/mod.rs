//! Eager writing: a write goes to whatever slot is free where the heads are, on one drive or on
//! several.
//!
//! A map in memory says for every chunk of the volume and each of its copies in which slot of a
//! drive it lies: four bytes each. A write is planned without an address; the scheduler binds it at
//! dispatch, and when it is done the map points to the new slot and the old one becomes free.
//! Writes are whole chunks; where a request covers only a part of one, the rest is read first.
//!
//! Of several copies, `foreground` are on the platter before a write is answered, each on the idle
//! owner nearest to a free slot, else on the one with the shortest queue. The first that lands
//! makes the others stale: they leave the map and their slots, so that no read can find them, and
//! are written again, eagerly too, in the spare time of their drives. What was overwritten while it
//! flew is dropped. A chunk may have a home: a fixed slot of its own to which a copy is moved
//! later.
//!
//! [`copies`] draws the life of a copy, [`store`] says what keeps the map safe. A copy that cannot
//! be read is read from another drive, or from the buffer of delayed copies; a write that fails
//! goes to another slot (`failures`).
//!
//! Where the map survives, every write to drives that may lose what is in their cache is forced to
//! the medium: data, map and answer follow each other, and only then does a slot become free.
//!
//! A slot that is read from when its block moves becomes free only when that read is done, or the
//! read could find another block there.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk
//! array for a transaction processing workload", FAST 2002, sections 2, 4 and 5. Cost: O(log n) per
//! chunk and copy; four bytes a chunk and copy, and a bit and 26 bytes a track for what is free.

use crate::io::{Data, DriveDone, Owed, RecoveryRead, Tag};
use crate::op::{Failure, Op};
use crate::plan::{Plan, PlannedIo, Target};
use crate::request::Request;
use slab::Slab;

use super::delayed::{CopyOf, check_foreground};
use super::gone::Gone;
use crate::contract::{Degraded, Drives, FewCopies, Persistent, Placement, Redundant, Shape};
use crate::freemap::{FreeMap, Slot};
use crate::ids::DriveId;
use crate::maplog::Geometry;
use crate::registry::ConfigError;
use crate::sorted::Sorted;
use crate::units::{Blocks, Instant, Lba, Pba};

mod audit;
mod compact;
mod copies;
mod failures;
mod foreground;
mod gone;
mod held;
mod map;
mod map_changes;
pub(super) mod prepare;
mod reading;
mod region;
mod single;
mod slots;
mod spare_time;
mod stations;
pub(super) mod store;
#[cfg(test)]
mod tests;
pub(super) mod volume;
mod waiting;

use compact::Compacted;
use copies::Copies;
use held::{FLUSH, Held};
use map::{Map, NOWHERE};
pub(super) use single::SPEC;
use slots::{Doubted, Readers, Retired};
use store::{MapStore, MapWrite};
use waiting::Waiting;

/// A foreground write of a chunk.
struct ChunkWrite {
    chunk: u32,
    /// Copies that are not done.
    left: u32,
    /// Copies that were begun, as bits.
    tried: u32,
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
    purpose: Purpose,
    /// In how many other slots the same write has failed before.
    failed: u8,
}

impl Underway {
    /// Whether it is a write that no request waits for: of a delayed copy, or a move, or what was
    /// one before it was dropped.
    fn is_delayed(&self) -> bool {
        match self.purpose {
            Purpose::Write(Reason::Delayed | Reason::Move) | Purpose::Dropped => true,
            Purpose::Write(Reason::Foreground(_)) | Purpose::Map => false,
            Purpose::Read | Purpose::ReadInstead(..) | Purpose::MoveRead => false,
        }
    }
}

/// Copies that the same read was tried with, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tried {
    /// Where the map has them.
    mapped: u32,
    /// Where they have arrived, of which the map is only to be told.
    arrived: u32,
}

/// What an I/O is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To read a chunk, for a request or for a delayed write.
    Read,
    /// The same in place of this copy, which could not be read in this slot.
    ReadInstead(u8, Slot, Tried),
    /// To read a chunk that compaction is to move.
    MoveRead,
    /// To write a copy of a chunk, which will lie there from then on.
    Write(Reason),
    /// None any more: a delayed write or a move of what was overwritten or discarded meanwhile.
    Dropped,
    /// To keep the map safe.
    Map,
}

/// Why a copy of a chunk is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// For the foreground write with this key.
    Foreground(usize),
    /// It is not where it belongs.
    Delayed,
    /// Compaction has read it.
    Move,
}

/// A copy that is on the platter, and not in the map yet.
#[derive(Clone, Copy, Debug)]
struct Landed {
    of: CopyOf,
    drive: DriveId,
    slot: Slot,
    reason: Reason,
}

/// A change of the map that waits until its store lets it be made.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A copy lies in another slot from then on.
    Moves(Landed),
    /// A chunk lies nowhere.
    Discards(u32),
    /// A copy is not in this slot any more, and nowhere else: another one is current.
    GivesUp(CopyOf, Slot),
    /// A copy that was given up is where it was all the same: since then the drives of all others
    /// are gone.
    Stays(CopyOf),
}

/// A placement that writes eagerly.
struct EagerCopies {
    geometry: Geometry,
    chunk: Blocks,
    foreground: u32,
    map: Map,
    underway: Slab<Underway>,
    writes: Slab<ChunkWrite>,
    /// Copies that something is to be done for.
    copies: Copies,
    readers: Sorted<Readers>,
    retired: Retired,
    doubted: Doubted,
    /// Drives that had no free slot, and have one now: writes may wait for it.
    freed: Vec<DriveId>,
    /// Drives that nothing more is sent to that is elsewhere too.
    gone: Gone,
    /// Chunks that are on such drives alone.
    lost: usize,
    /// Chunks of which the last read of a slot was taken back since the last answer, if drives are
    /// gone: copies may have waited for it that are urgent.
    withdrawn: Vec<u32>,
    /// Keeps the map safe; none if it is lost with the power.
    store: Option<Box<dyn MapStore>>,
    /// Whether every write is forced to the medium, as the map must not name a slot whose data a
    /// power cut may take, and a slot must not become free before the data that follow are safe.
    /// Not where no map survives, or no drive loses anything.
    forces: bool,
    /// Whether what is written may be in the cache of its drive alone, which a power cut takes,
    /// until a flush.
    keeps_in_caches: bool,
    /// Whether no change of the map can be kept safe any more.
    map_lost: bool,
    /// Changes that it lets wait, by tag.
    changes: Waiting,
    /// Answers that wait for copies on drives that are not gone.
    held: Vec<Held>,
    /// Whether some of them may wait in vain from now on.
    in_doubt: bool,
    /// What compaction knows of each drive; nothing if nobody asked for it.
    compacted: Vec<Compacted>,
    /// The store's write whose address is open yet, and where it goes if no slot is free.
    open_map_write: Option<(Tag, Pba)>,
    /// Kept for its memory.
    map_writes: Vec<MapWrite>,
}

impl EagerCopies {
    /// Over drives that were prepared. A write is answered when `foreground` of the copies are on
    /// the platter; so many chunks may wait for the others.
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
            copies: Copies::new(geometry.drives(), buffer),
            readers: Sorted::default(),
            retired: Retired::new(geometry.drives()),
            doubted: Doubted::default(),
            freed: Vec::new(),
            gone: Gone::none(geometry.drives()),
            lost: 0,
            withdrawn: Vec::new(),
            store,
            forces: false,
            keeps_in_caches: false,
            map_lost: false,
            changes: Waiting::default(),
            held: Vec::new(),
            in_doubt: false,
            compacted: Vec::new(),
            open_map_write: None,
            map_writes: Vec::new(),
            geometry,
        })
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

    fn copies_of(&self, chunk: u32) -> impl Iterator<Item = CopyOf> + use<> {
        (0..self.geometry.copies).map(move |copy| CopyOf { chunk, copy })
    }

    /// The copies of a chunk that can be read, with their places.
    fn current(&self, chunk: u32) -> impl Iterator<Item = (CopyOf, DriveId, Slot)> {
        let placed = move |of| (of, self.drive(of), self.slot(of));
        let somewhere = |(_, _, slot): &(CopyOf, DriveId, Slot)| *slot != NOWHERE;
        self.copies_of(chunk).map(placed).filter(somewhere)
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
        planned.fua = op == Op::Write && self.forces;
        let block = u64::from(underway.of.chunk) * self.chunk.0 + from.0;
        planned.data = Some(Data::from(Lba(block)));
        if underway.is_delayed() {
            self.copies.queues().write_begins(underway.drive);
        }
        planned.tag = Tag(self.underway.insert(underway) as u64);
        planned
    }

    /// An I/O is under way no longer.
    fn take_underway(&mut self, tag: Tag) -> Underway {
        let underway = self.underway.remove(tag.0 as usize);
        if underway.is_delayed() {
            self.copies.queues().write_ends(underway.drive);
        }
        underway
    }

    /// A copy lies in another slot from now on. If `alone`, the other copies of its chunk are
    /// stale: they leave the map, and what of them is in flight is dropped. Their slots become free
    /// when the map is safe.
    fn move_to(&mut self, of: CopyOf, slot: Slot, alone: bool) {
        self.counting_lost(of.chunk, |copies| {
            for other in copies.copies_of(of.chunk) {
                if alone || other == of {
                    copies.put(other, if other == of { slot } else { NOWHERE });
                }
            }
        });
    }

    /// Says that a copy lies there and no longer where it was.
    fn put(&mut self, of: CopyOf, to: Slot) {
        if let Some(write) = self.copies.renewed(of, self.home(of).is_some()) {
            self.underway[write].purpose = Purpose::Dropped;
        }
        let index = self.index(of);
        let old = std::mem::replace(&mut self.map.slots[index], to);
        self.compact_moved(of, old, to);
        self.vacate(of, old);
    }
}

/// Only a placement that keeps its map is asked.
impl Persistent for EagerCopies {
    fn nvram(&self) -> &[u8] {
        self.store.as_ref().map_or(&[], |store| store.nvram())
    }

    fn content(&self, tag: Tag) -> &[u8] {
        let drive = self.underway[tag.0 as usize].drive;
        self.store
            .as_ref()
            .map_or(&[], |store| store.content(drive))
    }

    fn recovery(&self, out: &mut Vec<RecoveryRead>) {
        if let Some(store) = &self.store {
            store.recovery(&self.map, out);
        }
    }
}

impl Redundant for EagerCopies {
    fn degraded(&self) -> Vec<Degraded> {
        self.gone.degraded(self.shape().losable)
    }

    fn few_copies(&self) -> Option<FewCopies> {
        (self.geometry.copies > 1).then(|| self.count_few())
    }
}

impl Placement for EagerCopies {
    fn shape(&self) -> Shape {
        Shape {
            capacity: Blocks(u64::from(self.geometry.chunks) * self.chunk.0),
            drives: self.geometry.drives(),
            losable: u16::from(self.geometry.copies) - 1,
            chunk: self.chunk,
            copy_unit: Some(self.chunk),
            stripe: self.chunk,
            spare_time: true,
            offers: false,
            places: 0,
            moves_told: false,
            zones: None,
        }
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => self.flush(out),
            Op::Read => {
                for part in self.parts(request) {
                    self.read(now, part, drives, out);
                }
            }
            Op::Write | Op::Discard if self.map_lost => out.failure = Some(Failure::MapLost),
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
                self.write_map(now, drives, out);
            }
            Op::Seek => panic!("no client moves the arm"),
        }
        self.answer_held(out);
        out.wake.append(&mut self.freed);
    }

    fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        Some(&self.map.free[drive.index()])
    }

    fn bind(&mut self, _now: Instant, tag: Tag, drive: DriveId, slot: Slot) {
        if !self.gone.has(drive) {
            self.map.free[drive.index()].take(slot);
        }
        self.underway[tag.0 as usize].slot = slot;
        self.open_map_write.take_if(|(open, _)| *open == tag);
    }

    fn withdrawn(&mut self, tag: Tag, _drive: DriveId) {
        let read = self.take_underway(tag);
        if self.end_read(&read) && self.gone.any() {
            self.withdrawn.push(read.of.chunk);
        }
    }

    fn done(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if self.gone.learn(drive, done.status) {
            self.leave_out(drive);
        }
        match done.op {
            Op::Flush => self.flush_ended(done.status, out),
            _ => self.ended(tag, done, out),
        }
        self.write_urgent(out);
        self.write_map(now, drives, out);
        self.pin_map_write(out);
        self.answer_held(out);
        out.wake.append(&mut self.freed);
    }

    fn skipped(
        &mut self,
        now: Instant,
        tag: Tag,
        _drive: DriveId,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if tag == FLUSH {
            return;
        }
        self.never_started(now, tag, drives, out);
        self.write_urgent(out);
        self.answer_held(out);
        out.wake.append(&mut self.freed);
    }

    fn owes(&self) -> Option<Owed> {
        let delays = self.foreground < u32::from(self.geometry.copies);
        delays.then(|| self.copies.owe(self.chunk))
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        if self.map_lost || self.gone.has(drive) {
            return;
        }
        if self.map.free[drive.index()].free() == 0 {
            self.make_room(drive, out);
            self.write_map(now, drives, out);
            out.wake.append(&mut self.freed);
            return self.pin_map_write(out);
        }
        // A home that is still in use is left for the next idle moment, which comes when the read
        // or write is done.
        while let Some(of) = self.copies.first(drive)
            && !self.home_is_used(of)
        {
            let source = self.copies.pop(drive);
            if self.is_due(of) {
                return self.propagate(of, source, out);
            }
        }
        if self.try_again(drive, out) {
            return;
        }
        self.spend_on_compaction(now, drive, drives.oracle(drive), out);
    }

    fn redundant(&self) -> Option<&dyn Redundant> {
        Some(self)
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        let keeps_map = self.store.is_some();
        keeps_map.then_some(self)
    }

    fn audit(&self) {
        self.copies.audit(self.delayed_writes());
        self.audit_compactor();
        self.audit_slots();
        self.audit_stale();
        self.audit_lost();
        self.audit_urgent();
        self.audit_held();
    }
}
