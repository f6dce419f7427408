//! Changes of the map, made when it is safe that they are: what a store lets wait, and what it has to write.

use super::store::MapWrite;
use super::{EagerCopies, NOWHERE, Part, Underway};
use crate::freemap::Slot;
use crate::io::{DriveDone, Tag};
use crate::maplog::Entry;
use crate::op::Op;
use crate::place::delayed::CopyOf;
use crate::plan::{Plan, PlannedIo, Target};

impl EagerCopies {
    /// A read or write ended. What it changes in the map may have to wait.
    pub(super) fn ended(&mut self, tag: Tag, done: &DriveDone, out: &mut Plan) {
        let key = tag.0 as usize;
        match self.underway[key].part {
            Part::Read => {
                let read = self.underway.remove(key);
                self.read_ended(&read);
                if !done.status.is_done() {
                    self.read_failed(&read, done, out);
                }
            }
            Part::MoveRead => {
                let read = self.underway.remove(key);
                self.read_ended(&read);
                self.move_read_ended(&read, done.status);
            }
            Part::Map => {
                let write = self.underway.remove(key);
                self.map_write_ended(&write, done, out);
            }
            _ if !done.status.is_done() => self.write_failed(tag, out),
            _ => match self.entry(key) {
                Some(entry) if self.waits(tag, entry) => _ = out.gate(tag),
                _ => self.landed(tag, true, out),
            },
        }
    }

    /// What a write that is done enters in the map, if anything.
    fn entry(&mut self, key: usize) -> Option<Entry> {
        let write = self.underway[key];
        let Underway { of, slot, part, .. } = write;
        let alone = match part {
            Part::Foreground(write) => {
                let writing = &mut self.writes[write];
                let first = writing.landed == 0;
                writing.landed |= 1 << of.copy;
                first
            }
            Part::Delayed if self.is_overtaken(of) => {
                self.drop_flying(of);
                return None;
            }
            Part::Move if !self.move_holds(&write) => {
                self.move_ended(write.drive);
                self.underway[key].part = Part::Dropped;
                return None;
            }
            Part::Delayed | Part::Move => false,
            _ => return None,
        };
        Some(of.entry(slot, alone))
    }

    /// Whether a change waits that makes what is written of a copy now stale, or no longer needed. Behind such a change it may
    /// not wait: it would be kept by a map that has the other one.
    pub(super) fn is_overtaken(&self, of: CopyOf) -> bool {
        let CopyOf { chunk, copy } = of;
        let ends = |entry: &Entry| entry.chunk == chunk && (entry.alone || entry.copy == copy);
        let store = self.store.as_ref();
        store.is_some_and(|store| store.any_waiting(&ends))
    }

    /// Lets a change wait, if it must.
    fn waits(&mut self, tag: Tag, entry: Entry) -> bool {
        let Some(store) = self.store.as_mut().filter(|store| store.must_wait()) else {
            return false;
        };
        store.wait(tag, entry);
        true
    }

    /// A write ended, and the map may change.
    pub(super) fn landed(&mut self, tag: Tag, done: bool, out: &mut Plan) {
        let write = self.underway.remove(tag.0 as usize);
        match write.part {
            Part::Foreground(key) => self.foreground_done(key, &write, done, out),
            Part::Delayed => {
                self.delayed_done(&write, done);
                if done {
                    self.delay_others(write.of.chunk, out);
                }
            }
            Part::Move => {
                self.move_ended(write.drive);
                match done {
                    true => self.move_to(write.of, write.slot, false),
                    false => self.release(write.of, write.drive, write.slot),
                }
            }
            Part::Discarded => self.discard(write.of.chunk),
            Part::Dropped => self.dropped_ended(&write, out),
            _ => self.release(write.of, write.drive, write.slot),
        }
    }

    /// A write never started, since the read before it failed.
    pub(super) fn never_started(&mut self, tag: Tag, out: &mut Plan) {
        self.landed(tag, false, out);
        self.write_map(out);
        self.pin_map_write(out);
    }

    /// A chunk is no longer needed.
    pub(super) fn forget(&mut self, chunk: u32, out: &mut Plan) {
        let of = CopyOf { chunk, copy: 0 };
        let underway = Underway {
            of,
            drive: self.drive(of),
            slot: NOWHERE,
            part: Part::Discarded,
            failed: 0,
        };
        let changes = |entry: &Entry| entry.chunk == chunk;
        let store = self.store.as_ref();
        let waits = store.is_some_and(|store| store.any_waiting(&changes));
        if !waits && self.current(chunk).next().is_none() {
            return;
        }
        let tag = Tag(self.underway.insert(underway) as u64);
        match self.waits(tag, of.entry(NOWHERE, true)) {
            true => _ = out.gate(tag),
            false => self.landed(tag, true, out),
        }
    }

    fn discard(&mut self, chunk: u32) {
        if self.current(chunk).next().is_some() {
            self.move_to(CopyOf { chunk, copy: 0 }, NOWHERE, true);
        }
    }

    /// A drive has done its part of a write of the map, or tries again at the same place; then what waited for it goes on.
    fn map_write_ended(&mut self, write: &Underway, done: &DriveDone, out: &mut Plan) {
        let drive = write.drive;
        if !done.status.is_done() {
            let again = MapWrite {
                drive,
                target: Target::At(done.at),
                len: done.len,
            };
            return self.plan_map_write(again, write.slot, out);
        }
        let store = self.store.as_mut().expect("it keeps the map");
        if let Some(left) = store.written(drive, write.slot) {
            self.map.free[drive.index()].release(left);
        }
        while let Some(tag) = self.store.as_mut().and_then(|store| store.next()) {
            let Underway { of, part, .. } = self.underway[tag.0 as usize];
            assert_ne!(
                part,
                Part::Dropped,
                "{of:?}: a change that was kept is not made"
            );
            let chunk = of.chunk;
            self.landed(tag, true, out);
            out.open(tag);
            // Writes may wait for the slots that it left.
            out.wake.extend(self.copies(chunk).map(|of| self.drive(of)));
        }
    }

    /// What the store has to write now.
    pub(super) fn write_map(&mut self, out: &mut Plan) {
        let Some(store) = &mut self.store else {
            return;
        };
        let mut writes = std::mem::take(&mut self.map_writes);
        store.next_writes(&self.map, &mut writes);
        for write in writes.drain(..) {
            self.plan_map_write(write, NOWHERE, out);
        }
        self.map_writes = writes;
    }

    /// The store's open write gets its spare slot when none is free: all may be held by what waits for it.
    pub(super) fn pin_map_write(&mut self, out: &mut Plan) {
        let Some(tag) = self.open_map_write else {
            return;
        };
        let drive = self.underway[tag.0 as usize].drive;
        if self.map.free[drive.index()].free() > 0 {
            return;
        }
        let store = self.store.as_ref().expect("it has a write");
        out.pinned = Some((tag, store.spare(&self.map)));
        self.open_map_write = None;
    }

    fn plan_map_write(&mut self, write: MapWrite, slot: Slot, out: &mut Plan) {
        let MapWrite { drive, target, len } = write;
        let key = self.underway.insert(Underway {
            of: CopyOf { chunk: 0, copy: 0 },
            drive,
            slot,
            part: Part::Map,
            failed: 0,
        });
        let mut planned = PlannedIo::new(drive, Op::Write, target, len);
        planned.tag = Tag(key as u64);
        planned.awaited = false;
        if matches!(target, Target::Open(_)) {
            self.open_map_write = Some(planned.tag);
        }
        out.io(planned);
    }
}
