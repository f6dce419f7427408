//! What is behind the interface of a drive: map, chips, collection and buffer together, with the
//! writes of pages that are under way.

use std::collections::VecDeque;

use slab::Slab;

use super::buffer::{Buffer, Leaving};
use super::chips::{Chips, Operation, Owner, Times, What};
use super::collect::{Collection, Works};
use super::counts::Counts;
use super::geometry::Geometry;
use super::map::{Map, Stream};
use super::map_cache::{Asked, MapCache};
use super::precondition::Initial;
use super::thresholds::Thresholds;
use crate::units::Instant;

/// Bytes of the map that are moved for an entry.
const SECTOR: u32 = 512;

/// Bytes of a place in a page of the map.
const PLACE_BYTES: u32 = 4;

/// A job that belongs to no write that waits for it.
const NOBODY: u32 = u32::MAX;

/// A page that is to be written.
#[derive(Clone, Copy, Debug)]
struct Job {
    leaving: Leaving,
    /// The slot that waits for it.
    slot: u32,
    /// Reads that it needs before.
    reads: u32,
}

/// What the medium tells the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// So many more bytes of the read of this slot have come.
    Read { slot: u32, bytes: u32 },
    /// A page of a forced write of this slot is on the medium.
    Forced { slot: u32 },
    /// The buffer has more room.
    Room,
}

/// Everything but the interface.
#[derive(Debug)]
pub(super) struct Medium {
    shape: Geometry,
    pub(super) map: Map,
    /// None if all of the map is in memory.
    map_cache: Option<MapCache>,
    /// Reads that wait for an entry of the map: the slot, the unit, and how many bytes.
    entries: Slab<(u32, u32, u32)>,
    pub(super) chips: Chips,
    pub(super) collection: Collection,
    pub(super) buffer: Buffer,
    pub(super) counts: Counts,
    jobs: Vec<Job>,
    unused: Vec<u32>,
    /// Jobs for which no plane has a page.
    stalled: VecDeque<u32>,
    /// Pages that are on their way out of the buffer, and how many may be.
    leaving: u32,
    most: u32,
    /// Whether the address says which plane a unit goes to.
    by_address: bool,
    /// The plane that is next, if not.
    turn: u32,
    /// Whether what was never written is read from the flash.
    reads_unwritten: bool,
    /// Up to this epoch, what waits leaves even if it makes no page.
    flushing: Option<u64>,
}

/// How a medium is made.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) shape: Geometry,
    pub(super) times: Times,
    pub(super) initial: Initial,
    pub(super) thresholds: Thresholds,
    /// Units of a line of the map's cache, and lines that fit; none if all of the map is in memory.
    pub(super) map_lines: Option<(u32, u32)>,
    pub(super) by_address: bool,
    pub(super) reads_unwritten: bool,
    /// Units that the buffer has room for, and pages that leave it at a time.
    pub(super) buffer: (u32, u32),
    /// Whether the buffer is full at first.
    pub(super) is_pressed: bool,
}

impl Medium {
    pub(super) fn new(plan: &Plan) -> Medium {
        let shape = plan.shape;
        let mut medium = Medium {
            map: Map::new(shape, plan.initial.clone()),
            map_cache: plan
                .map_lines
                .map(|(units, most)| MapCache::new(shape.capacity, units, most)),
            entries: Slab::new(),
            chips: Chips::new(shape, plan.times, plan.thresholds.is_paced),
            collection: Collection::new(shape, plan.thresholds),
            buffer: Buffer::new(shape.capacity, plan.buffer.0),
            counts: Counts::default(),
            jobs: Vec::new(),
            unused: Vec::new(),
            stalled: VecDeque::new(),
            leaving: 0,
            most: plan.buffer.1,
            by_address: plan.by_address,
            turn: 0,
            reads_unwritten: plan.reads_unwritten,
            flushing: None,
            shape,
        };
        if plan.is_pressed {
            medium.press(&plan.initial);
        }
        medium
    }

    /// The buffer has all that it has room for, and what makes a page is on its way.
    fn press(&mut self, initial: &Initial) {
        let all = self.whole();
        for unit in initial.buffered(self.buffer.room()) {
            self.buffer.put(unit, all);
        }
        self.write_out(Instant::ZERO);
    }

    /// The place where a unit is read.
    #[inline]
    pub(super) fn place(&self, unit: u32) -> Option<u32> {
        let place = self.map.place(unit);
        if place.is_none() && self.reads_unwritten {
            return Some(self.map.in_order(unit));
        }
        place
    }

    /// The entry of a unit is needed. Whether it has to be read from the flash first, which is
    /// begun then.
    fn asks_flash(&mut self, now: Instant, unit: u32, is_changed: bool, owner: Owner) -> bool {
        let Some(cache) = &mut self.map_cache else {
            return false;
        };
        let Asked::Missed { written } = cache.ask(unit, is_changed) else {
            return false;
        };
        if let Some(written) = written {
            let bytes = self.shape.units * self.shape.unit_bytes();
            for what in [What::Read, What::Program] {
                let operation = Operation::new(what, Owner::Nobody, bytes);
                self.chips.push(now, self.die_of_entry(written), operation);
            }
            self.counts.programmed += u64::from(self.shape.units);
        }
        self.counts.entries += 1;
        let operation = Operation::new(What::Read, owner, SECTOR);
        self.chips.push(now, self.die_of_entry(unit), operation);
        true
    }

    /// The die on which the map has the entry of a unit: its pages go round the dies.
    fn die_of_entry(&self, unit: u32) -> u32 {
        let entries = self.shape.units * self.shape.unit_bytes() / PLACE_BYTES;
        unit / entries % self.shape.dies
    }

    /// Whether a read of a unit has to wait for the map; then it goes on by itself.
    #[inline]
    pub(super) fn waits_for_map(&mut self, now: Instant, slot: u32, unit: u32, bytes: u32) -> bool {
        if self.map_cache.is_none() {
            return false;
        }
        let name = self.entries.vacant_key();
        let waits = self.asks_flash(now, unit, false, Owner::Entry(name as u32));
        if waits {
            self.entries.insert((slot, unit, bytes));
        }
        waits
    }

    /// The entry that a read waited for has come.
    fn entry_came(&mut self, now: Instant, name: u32) -> News {
        let (slot, unit, bytes) = self.entries.remove(name as usize);
        match self.place(unit) {
            None => News::Read { slot, bytes },
            Some(place) => {
                self.read(now, self.shape.page_of(place), Owner::Slot(slot), bytes);
                News::None
            }
        }
    }

    /// A read of a page for somebody. Its name.
    #[inline]
    pub(super) fn read(&mut self, now: Instant, page: u32, owner: Owner, bytes: u32) -> u32 {
        let die = self.shape.die(self.shape.plane_of_page(page));
        self.chips
            .push(now, die, Operation::new(What::Read, owner, bytes))
    }

    /// Units that have been put into the buffer leave as pages, for a slot that waits for them. How
    /// many pages.
    pub(super) fn force(&mut self, now: Instant, slot: u32, units: std::ops::Range<u32>) -> u32 {
        let (mut pages, mut next) = (0, units.start);
        while next < units.end {
            let end = units.end.min(next + self.shape.units);
            let mut leaving = Leaving::NONE;
            for unit in next..end {
                self.buffer.take(unit, &mut leaving);
            }
            self.start(now, leaving, slot);
            pages += 1;
            next = end;
        }
        pages
    }

    /// Lets leave what makes a page, or has to.
    pub(super) fn write_out(&mut self, now: Instant) {
        while self.leaving < self.most {
            let page = self.buffer.waiting() >= self.shape.units;
            let must = || {
                let oldest = self.buffer.oldest_epoch();
                oldest.is_some_and(|epoch| self.flushing.is_some_and(|flush| epoch <= flush))
            };
            if !page && !must() {
                return;
            }
            let leaving = self.buffer.leave(self.shape.units);
            self.leaving += 1;
            self.start(now, leaving, NOBODY);
        }
    }

    /// A flush wants all up to this epoch on the medium.
    pub(super) fn flush(&mut self, now: Instant, epoch: u64) {
        self.flushing = Some(epoch);
        self.write_out(now);
    }

    /// A page begins its way to the flash: first what is missing of its units is read.
    fn start(&mut self, now: Instant, leaving: Leaving, slot: u32) {
        let job = Job {
            leaving,
            slot,
            // One more, so that it does not go on before all reads are counted.
            reads: 1,
        };
        let name = match self.unused.pop() {
            Some(name) => {
                self.jobs[name as usize] = job;
                name
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() as u32 - 1
            }
        };
        let all = self.whole();
        let mut next = self.buffer.first(leaving);
        while let Some((unit, has, behind)) = next {
            next = self.buffer.behind(behind);
            if self.asks_flash(now, unit, true, Owner::Fill(name)) {
                self.jobs[name as usize].reads += 1;
            }
            if has == all {
                continue;
            }
            if let Some(place) = self.map.place(unit) {
                let missing = (all & !has).count_ones() * 512;
                self.jobs[name as usize].reads += 1;
                self.counts.filled += 1;
                self.read(now, self.shape.page_of(place), Owner::Fill(name), missing);
            }
        }
        self.filled(now, name);
    }

    /// All blocks of a unit.
    #[inline]
    pub(super) fn whole(&self) -> u64 {
        u64::MAX >> (64 - self.shape.unit_blocks)
    }

    /// A read of a job has come, or all are counted.
    fn filled(&mut self, now: Instant, name: u32) {
        let job = &mut self.jobs[name as usize];
        job.reads -= 1;
        if job.reads == 0 && !self.program(now, name) {
            self.stalled.push_back(name);
            self.look_at_all(now);
        }
    }

    /// Programs a page, if a plane has one.
    fn program(&mut self, now: Instant, name: u32) -> bool {
        let job = self.jobs[name as usize];
        let Some(plane) = self.plane(job.leaving) else {
            return false;
        };
        let (all, map) = (self.whole(), &self.map);
        let bytes = self.buffer.units(job.leaving).map(|(unit, has)| {
            let has = if map.place(unit).is_some() { all } else { has };
            has.count_ones() * 512
        });
        let bytes = bytes.sum();
        let units = self.buffer.units(job.leaving).map(|(unit, _)| unit);
        self.map.write(plane, Stream::Host, units);
        self.counts.programmed += u64::from(self.shape.units);
        let die = self.shape.die(plane);
        let operation = Operation::new(What::Program, Owner::Job(name), bytes);
        self.chips.push(now, die, operation);
        self.look(now, plane);
        true
    }

    /// Where the next page of the host goes.
    fn plane(&mut self, leaving: Leaving) -> Option<u32> {
        if self.by_address {
            let (unit, _) = self.buffer.units(leaving).next()?;
            let plane = unit % self.shape.planes;
            return self.map.has_page(plane, Stream::Host).then_some(plane);
        }
        for _ in 0..self.shape.planes {
            let plane = self.turn;
            self.turn = (self.turn + 1) % self.shape.planes;
            if self.map.has_room(plane) {
                return Some(plane);
            }
        }
        None
    }

    fn look(&mut self, now: Instant, plane: u32) {
        let mut works = Works {
            map: &mut self.map,
            chips: &mut self.chips,
            counts: &mut self.counts,
        };
        self.collection.look(now, plane, &mut works);
    }

    /// Units are gone, or a page waits: planes that had nothing to collect may have now, also as
    /// what they held was written elsewhere.
    pub(super) fn look_at_all(&mut self, now: Instant) {
        for plane in 0..self.shape.planes {
            self.look(now, plane);
        }
    }

    /// Lets the die go on that is due.
    pub(super) fn advance(&mut self, now: Instant) -> News {
        let Some((die, operation)) = self.chips.advance(now) else {
            return News::None;
        };
        let news = match operation.owner {
            Owner::Slot(slot) => News::Read {
                slot,
                bytes: operation.bytes,
            },
            Owner::Fill(job) => {
                self.filled(now, job);
                News::None
            }
            Owner::Job(job) => self.programmed(now, job),
            Owner::Entry(name) => self.entry_came(now, name),
            Owner::Nobody => News::None,
            Owner::Plane(plane) => {
                self.collected(now, plane, operation.what);
                News::None
            }
        };
        self.chips.go_on(now, die);
        news
    }

    fn programmed(&mut self, now: Instant, name: u32) -> News {
        let Job { leaving, slot, .. } = self.jobs[name as usize];
        self.unused.push(name);
        self.buffer.safe(leaving);
        if slot != NOBODY {
            return News::Forced { slot };
        }
        self.leaving -= 1;
        self.write_out(now);
        News::Room
    }

    fn collected(&mut self, now: Instant, plane: u32, what: What) {
        let mut works = Works {
            map: &mut self.map,
            chips: &mut self.chips,
            counts: &mut self.counts,
        };
        if self.collection.ended(now, plane, what, &mut works) {
            for _ in 0..self.stalled.len() {
                let Some(job) = self.stalled.pop_front() else {
                    return;
                };
                if !self.program(now, job) {
                    self.stalled.push_back(job);
                }
            }
            if !self.stalled.is_empty() {
                self.look_at_all(now);
            }
        }
    }
}
