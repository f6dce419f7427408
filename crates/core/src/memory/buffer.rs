//! What is in the write buffer: pages by unit, which of their blocks are there and which are on
//! their way to the drives, and which unit goes next.
//!
//! A page takes the room of a whole one, whichever of its blocks are there: a write of a part of a
//! page leaves the rest where it is, so that nothing has to be read first. Of each block three
//! things are known. It is *there*; it is *going*, as a job that has begun writes it; and it was
//! written *again* since. A block that went is gone, unless it was written again.
//!
//! Units that have something and are neither going nor given up wait in the policy ([`Destage`]).
//! One that could not be written so many times is *given up*: it stays, is read from here, and
//! waits again when it is written to.
//!
//! Which blocks are there is kept in NVRAM ([`BufferTable`]), page by page: an entry changes with
//! what is there, before anybody is answered. A buffer that is made after a power cut begins with
//! what the table says. What was going, tried or given up is forgotten then, and so is in which
//! order units were written: all of them wait, as if each had been written once, by address.
//!
//! O(1) for each unit and each page that a request touches.

use std::collections::VecDeque;

use slab::Slab;

use super::between;
use super::counts::BufferCounts;
use super::shape::{Units, runs};
use super::volumes::{Bits, Volumes};
use super::writers::Writers;
use crate::contract::{Destage, Written};
use crate::directory::Directory;
use crate::ids::Unit;
use crate::io::Buffered;
use crate::maplog::BufferTable;
use crate::maplog::buffered::{Index, Kept};
use crate::op::{Failure, Op, Status};
use crate::pages::Marks;
use crate::request::Request;
use crate::units::{Blocks, Duration, Extent};

/// What a write buffer is made of.
pub struct BufferParts {
    /// What goes next.
    pub destage: Box<dyn Destage>,
    /// Pages that there is room for.
    pub pages: u64,
    /// Pages of a unit.
    pub unit: u64,
    /// What it is above.
    pub volumes: Volumes,
    /// How long the answer to a write takes.
    pub write_time: Duration,
    /// How long the answer to a read takes that gets something from here.
    pub read_time: Duration,
    /// When units go.
    pub marks: Marks,
    /// How often one that could not be written is tried again.
    pub retries: u32,
    /// What says after a power cut what it has.
    pub table: BufferTable,
    /// What it has from an earlier life, by page: all that the table says.
    pub found: Vec<(Index, Kept)>,
}

/// A page of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Page {
    there: Bits,
    going: Bits,
    again: Bits,
    /// Whether some of it could not be written since it went.
    failed: bool,
    /// Its entry in the table, if something is there.
    entry: Index,
}

/// A unit that has something.
struct Held {
    unit: Unit,
    pages: Vec<Page>,
    /// Pages that have something, and pages of which every block is there.
    taken: u64,
    whole: u64,
    /// Jobs that write it.
    jobs: u32,
    /// How often it could not be written, in a row.
    tries: u32,
    /// What one of the jobs that are under way has met.
    failed: Option<Failure>,
    /// Whether all of it was there when it went.
    went_whole: bool,
    /// Why it was given up.
    given_up: Option<Failure>,
    /// Whether it is in the list of complete ones.
    listed: bool,
    /// Whether its last write was part of a sequence.
    sequence: bool,
}

/// A page that has changed: whether some of it is in the buffer, and whether all of it is.
pub(super) type Changed = (u64, bool, bool);

/// What becomes of a write or discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It enters.
    Enters,
    /// It goes to the stack below as it is.
    Through,
    /// It waits.
    Waits,
    /// What has to be written before it cannot be.
    Fails(Failure),
}

/// The write buffer.
pub(super) struct Buffer {
    parts: BufferParts,
    units: Units,
    directory: Directory,
    /// Where the units of the directory are, if they have something.
    slots: Vec<Option<u32>>,
    held: Slab<Held>,
    /// Units that have become complete, in this order; they may have gone since.
    complete: VecDeque<Unit>,
    /// Pages that are taken.
    taken: u64,
    /// Writes that have entered.
    entered: u64,
    /// Units that are on their way.
    going: u32,
    /// Where writes ended, if the policy wants sequences of them to be told from the rest.
    writers: Option<Writers>,
    /// What has changed since it was last looked at.
    pub(super) changed: Vec<Changed>,
    pub(super) counts: BufferCounts,
    /// Pages of units that are gone, with their memory.
    spare: Vec<Vec<Page>>,
}

impl Buffer {
    pub(super) fn new(mut parts: BufferParts) -> Buffer {
        let (found, run) = (std::mem::take(&mut parts.found), parts.destage.run());
        let mut buffer = Buffer {
            units: Units::new(parts.volumes, parts.unit),
            writers: run.map(|run| Writers::new(run, parts.volumes.each())),
            parts,
            directory: Directory::default(),
            slots: Vec::new(),
            held: Slab::new(),
            complete: VecDeque::new(),
            taken: 0,
            entered: 0,
            going: 0,
            changed: Vec::new(),
            counts: BufferCounts::default(),
            spare: Vec::new(),
        };
        buffer.resume(&found);
        buffer
    }

    /// A life begins with these pages in the buffer.
    fn resume(&mut self, found: &[(Index, Kept)]) {
        let mut waiting: Vec<(Unit, usize)> = Vec::new();
        for &(entry, Kept { page, blocks }) in found {
            let (unit, index) = self.units.place(page);
            let slot = self.slot(unit).unwrap_or_else(|| {
                let slot = self.begin_unit(unit);
                waiting.push((unit, slot));
                slot
            });
            let is_whole = blocks == self.parts.volumes.whole(page);
            let held = &mut self.held[slot];
            held.pages[index] = Page {
                there: blocks,
                entry,
                ..Page::default()
            };
            held.taken += 1;
            held.whole += u64::from(is_whole);
            self.taken += 1;
            self.changed.push((page, true, is_whole));
        }
        for (unit, slot) in waiting {
            self.wait(unit, slot, Written::default());
        }
    }

    /// The table in NVRAM as it would be found now.
    pub(super) fn nvram(&self) -> &[u8] {
        self.parts.table.bytes()
    }

    pub(super) fn write_time(&self) -> Duration {
        self.parts.write_time
    }

    pub(super) fn read_time(&self) -> Duration {
        self.parts.read_time
    }

    /// What there is, of what has come.
    pub(super) fn buffered(&self) -> Buffered {
        Buffered {
            pages: self.taken,
            room: self.parts.pages,
            came: self.counts.written,
            writes: self.entered,
        }
    }

    /// Pages that are taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Pages of units that were given up.
    pub(super) fn given_up(&self) -> u64 {
        let units = self.held.iter().map(|(_, held)| held);
        let units = units.filter(|held| held.given_up.is_some());
        units.map(|held| held.taken).sum()
    }

    fn find(&self, unit: Unit) -> Option<&Held> {
        self.slot(unit).map(|slot| &self.held[slot])
    }

    fn slot(&self, unit: Unit) -> Option<usize> {
        let number = self.directory.find(unit.0)?;
        self.slots[number as usize].map(|slot| slot as usize)
    }

    /// Whether a write has room in an empty buffer.
    fn may_enter(&self, request: &Request) -> bool {
        let (first, end) = self.parts.volumes.touched(&request.extent);
        request.op == Op::Write && end - first <= self.parts.pages
    }

    /// Whether a write or discard goes to the stack below even if the buffer is empty.
    pub(super) fn goes_through(&self, request: &Request) -> bool {
        !self.may_enter(request)
    }

    /// What becomes of the first write or discard that has not begun.
    pub(super) fn fate(&self, request: &Request) -> Fate {
        if self.may_enter(request) {
            let new = self.new_pages(&request.extent);
            if self.taken + new <= self.parts.pages {
                return Fate::Enters;
            }
            if self.going > 0 || !self.parts.destage.is_empty() {
                return Fate::Waits;
            }
        }
        let mut fate = Fate::Through;
        for (unit, extent) in self.units.touched(&request.extent) {
            let Some(held) = self.find(unit) else {
                continue;
            };
            if !held.has(self, &extent) {
                continue;
            }
            match held.given_up {
                Some(failure) => return Fate::Fails(failure),
                None => fate = Fate::Waits,
            }
        }
        fate
    }

    /// Pages of an extent of which nothing is there.
    fn new_pages(&self, extent: &Extent) -> u64 {
        let units = self.units.touched(extent).map(|(unit, extent)| {
            let held = self.find(unit);
            let pages = self.parts.volumes.parts(&extent);
            let new =
                pages.filter(|(page, _)| held.is_none_or(|held| held.at(self, *page).there == 0));
            new.count() as u64
        });
        units.sum()
    }

    /// Runs of all blocks that are there, in order.
    pub(super) fn all_there(&self, out: &mut Vec<Extent>) {
        for volume in self.parts.volumes.all() {
            self.there(&volume, out);
        }
    }

    /// Pages of these runs that a read gets are counted.
    pub(super) fn count_read(&mut self, runs: &[Extent]) {
        let volumes = self.parts.volumes;
        let pages = runs.iter().map(|run| volumes.touched(run));
        self.counts.read += pages.map(|(first, end)| end - first).sum::<u64>();
    }

    /// Runs of blocks of an extent of a volume that are there, in order.
    pub(super) fn there(&self, extent: &Extent, out: &mut Vec<Extent>) {
        let volumes = self.parts.volumes;
        for (unit, extent) in self.units.touched(extent) {
            let Some(held) = self.find(unit) else {
                continue;
            };
            for (page, bits) in volumes.parts(&extent) {
                add_runs(&volumes, page, held.at(self, page).there & bits, out);
            }
        }
    }

    /// A write enters, for which there is room.
    pub(super) fn enter(&mut self, extent: &Extent) {
        self.entered += 1;
        let writers = self.writers.as_mut();
        let sequence = writers.is_some_and(|known| known.wrote(extent));
        let volumes = self.parts.volumes;
        for (unit, extent) in self.units.touched(extent) {
            let slot = self.slot(unit).unwrap_or_else(|| self.begin_unit(unit));
            let first = self.units.first(unit);
            let mut again = false;
            for (page, bits) in volumes.parts(&extent) {
                let all = volumes.whole(page);
                let held = &mut self.held[slot];
                let one = &mut held.pages[(page - first) as usize];
                let before = one.there;
                one.again |= bits & one.going;
                one.there |= bits;
                let now = one.there;
                let kept = Kept { page, blocks: now };
                match before {
                    0 => one.entry = self.parts.table.add(&kept),
                    _ if now != before => self.parts.table.set(one.entry, &kept),
                    _ => {}
                }
                again |= before != 0;
                self.counts.written += 1;
                self.counts.overwritten += u64::from(before != 0);
                self.taken += u64::from(before == 0);
                held.taken += u64::from(before == 0);
                held.whole += u64::from(now == all && before != all);
                self.changed.push((page, true, now == all));
            }
            let held = &mut self.held[slot];
            held.sequence = sequence;
            if held.given_up.take().is_some() {
                held.tries = 0;
            }
            if held.jobs == 0 {
                let how = Written {
                    again,
                    ..Written::default()
                };
                self.wait(unit, slot, how);
            }
        }
    }

    fn begin_unit(&mut self, unit: Unit) -> usize {
        let mut pages = self.spare.pop().unwrap_or_default();
        pages.resize(self.units.pages(unit), Page::default());
        let held = self.held.insert(Held {
            unit,
            pages,
            taken: 0,
            whole: 0,
            jobs: 0,
            tries: 0,
            failed: None,
            went_whole: false,
            given_up: None,
            listed: false,
            sequence: false,
        });
        let number = self.directory.number(unit.0) as usize;
        if number == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[number] = Some(held as u32);
        held
    }

    /// A unit waits to go; what it has is not said yet.
    fn wait(&mut self, unit: Unit, slot: usize, how: Written) {
        let held = &mut self.held[slot];
        if held.is_complete() && !held.listed && self.parts.marks.full_units > 0 {
            held.listed = true;
            self.complete.push_back(unit);
        }
        let how = Written {
            sequence: held.sequence,
            pages: held.taken,
            ..how
        };
        self.parts.destage.written(unit, &how);
    }

    /// The next unit that goes, if one may. `first` is what the first write or discard that waits
    /// touches, if that has to be written before it; `pressed` says that one waits for room.
    pub(super) fn choose(&mut self, first: Option<&Extent>, pressed: bool) -> Option<Unit> {
        let Marks {
            units, full_units, ..
        } = self.parts.marks;
        let urgent = first.filter(|_| self.going < units);
        if let Some(unit) = urgent.and_then(|extent| self.in_the_way(extent)) {
            self.parts.destage.take(unit);
            return Some(unit);
        }
        let limit = match pressed {
            true => units,
            false => self.parts.marks.allow(self.taken, self.parts.pages),
        };
        if self.going < limit.max(full_units) {
            while let Some(unit) = self.complete.pop_front() {
                let Some(slot) = self.slot(unit) else {
                    continue;
                };
                let held = &mut self.held[slot];
                held.listed = false;
                if held.waits() && held.is_complete() {
                    self.parts.destage.take(unit);
                    return Some(unit);
                }
            }
        }
        match self.going < limit {
            true => self.parts.destage.next(),
            false => None,
        }
    }

    /// A unit that waits and has something of an extent.
    fn in_the_way(&self, extent: &Extent) -> Option<Unit> {
        let mut units = self.units.touched(extent).filter(|(unit, extent)| {
            let held = self.find(*unit).filter(|held| held.waits());
            held.is_some_and(|held| held.has(self, extent))
        });
        units.next().map(|(unit, _)| unit)
    }

    /// A unit goes: all that it has, in these runs, each of which a job writes.
    pub(super) fn go(&mut self, unit: Unit, out: &mut Vec<Extent>) {
        let slot = self.slot(unit).expect("it has something");
        let (first, volumes) = (self.units.first(unit), self.parts.volumes);
        let held = &mut self.held[slot];
        assert_eq!(held.jobs, 0, "{unit:?} goes twice");
        for (page, one) in (first..).zip(&mut held.pages) {
            (one.going, one.failed) = (one.there, false);
            add_runs(&volumes, page, one.there, out);
        }
        held.jobs = out.len() as u32;
        held.went_whole = held.is_complete();
        self.going += 1;
    }

    /// A job has ended that wrote these blocks of a unit. What has left the buffer goes to `out`.
    pub(super) fn gone(
        &mut self,
        unit: Unit,
        extent: &Extent,
        status: Status,
        out: &mut Vec<Extent>,
    ) {
        let slot = self.slot(unit).expect("a unit that goes is there");
        let (first, volumes) = (self.units.first(unit), self.parts.volumes);
        for (page, bits) in volumes.parts(extent) {
            let all = volumes.whole(page);
            let held = &mut self.held[slot];
            let one = &mut held.pages[(page - first) as usize];
            let (before, leaves) = (one.there, bits & !one.again);
            one.going &= !bits;
            one.again &= !bits;
            one.failed |= !status.is_done();
            self.counts.destaged += u64::from(one.going == 0 && !one.failed);
            if !status.is_done() {
                continue;
            }
            one.there &= !leaves;
            let now = one.there;
            match now {
                0 => self.parts.table.remove(one.entry),
                blocks => self.parts.table.set(one.entry, &Kept { page, blocks }),
            }
            add_runs(&volumes, page, leaves, out);
            held.taken -= u64::from(now == 0);
            held.whole -= u64::from(before == all && now != all);
            self.taken -= u64::from(now == 0);
            self.changed.push((page, now != 0, now == all));
        }
        let held = &mut self.held[slot];
        held.failed = held.failed.or(status.failure());
        held.jobs -= 1;
        if held.jobs == 0 {
            self.unit_gone(unit, slot);
        }
    }

    /// All jobs of a unit have ended.
    fn unit_gone(&mut self, unit: Unit, slot: usize) {
        self.going -= 1;
        let held = &mut self.held[slot];
        let failed = held.failed.take();
        match failed {
            None => {
                held.tries = 0;
                self.counts.units += 1;
                self.counts.full_units += u64::from(held.went_whole);
            }
            Some(_) => {
                held.tries += 1;
                self.counts.failed += 1;
            }
        }
        if held.taken == 0 {
            let mut pages = std::mem::take(&mut held.pages);
            pages.clear();
            self.spare.push(pages);
            self.held.remove(slot);
            let number = self.directory.number(unit.0) as usize;
            self.slots[number] = None;
        } else if held.tries > self.parts.retries {
            held.given_up = failed;
        } else {
            let how = Written {
                failed: failed.is_some(),
                ..Written::default()
            };
            self.wait(unit, slot, how);
        }
    }

    /// Recounts everything from scratch and panics on a contradiction; `jobs` is how many are under
    /// way.
    pub(super) fn audit(&self, jobs: usize) {
        let (mut taken, mut going, mut own_jobs, mut waiting) = (0, 0, 0, 0);
        let known = self.slots.iter().flatten().count();
        assert_eq!(known, self.held.len(), "a unit that nobody knows");
        for (slot, held) in &self.held {
            let unit = held.unit;
            assert_eq!(self.slot(unit), Some(slot), "where {unit:?} is");
            let first = self.units.first(unit);
            let (mut own, mut whole, mut is_going) = (0, 0, false);
            for (page, one) in (first..).zip(&held.pages) {
                own += u64::from(one.there != 0);
                whole += u64::from(one.there == self.parts.volumes.whole(page));
                is_going |= one.going != 0;
                assert_eq!(one.going & !one.there, 0, "what goes is there");
                assert_eq!(one.again & !one.going, 0, "what was written again goes");
                let kept = self.parts.table.entry(one.entry);
                let blocks = kept.filter(|kept| kept.page == page);
                let blocks = blocks.map_or(0, |kept| kept.blocks);
                let is_kept = one.there == 0 || blocks == one.there;
                assert!(is_kept, "what a power cut leaves of page {page}");
            }
            assert!(own > 0, "{unit:?} has nothing");
            assert_eq!((own, whole), (held.taken, held.whole), "{unit:?}");
            assert_eq!(is_going, held.jobs > 0, "{unit:?} and its jobs");
            assert!(!is_going || held.given_up.is_none(), "given up, but goes");
            taken += own;
            going += u32::from(is_going);
            own_jobs += held.jobs as usize;
            waiting += usize::from(held.waits());
        }
        assert_eq!((taken, going), (self.taken, self.going), "what is there");
        assert_eq!(own_jobs, jobs, "jobs that write");
        assert_eq!(waiting, self.parts.destage.len(), "units that wait");
        assert!(taken <= self.parts.pages, "more than there is room for");
        let kept = self.parts.table.len() as u64;
        assert_eq!(kept, taken, "pages that a power cut leaves");
        assert!(self.changed.is_empty(), "nobody was told what has changed");
    }
}

impl Held {
    fn at(&self, buffer: &Buffer, page: u64) -> Page {
        self.pages[buffer.units.place(page).1]
    }

    /// Whether some of an extent of its unit is there.
    fn has(&self, buffer: &Buffer, extent: &Extent) -> bool {
        let mut pages = buffer.parts.volumes.parts(extent);
        pages.any(|(page, bits)| self.at(buffer, page).there & bits != 0)
    }

    fn is_complete(&self) -> bool {
        self.whole == self.pages.len() as u64
    }

    fn waits(&self) -> bool {
        self.jobs == 0 && self.given_up.is_none()
    }
}

/// Adds the runs of these blocks of a page; one that continues the last is a part of it.
fn add_runs(volumes: &Volumes, page: u64, bits: Bits, out: &mut Vec<Extent>) {
    let (first, _) = volumes.blocks(page, page + 1);
    for (from, to) in runs(bits.into()) {
        let (from, to) = (first + from, first + to);
        match out.last_mut() {
            Some(last) if last.end().0 == from => last.len = Blocks(to - last.start.0),
            _ => out.push(between(from, to)),
        }
    }
}
