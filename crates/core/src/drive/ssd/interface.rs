//! The drive as its host sees it: commands, the link over which their data go, and the controller
//! that takes them.
//!
//! A command takes the controller for a while, and the link for its data. What the controller does
//! for it beyond that is added at its end, as other commands go on meanwhile. A read ends when all
//! its pages have come and gone over the link. A write ends when its data are in the write cache,
//! or on the medium: see [`super::buffer`]. A discard takes units out of the map that lie wholly in
//! it. A flush waits for what was in a volatile cache when it came.
//!
//! Commands run side by side and end in any order, as many as the drive is deep. O(log depth) an
//! event, and nothing is allocated once the drive is in full swing.

use std::collections::VecDeque;

use super::super::flat;
use super::chips::Owner;
use super::geometry::Geometry;
use super::medium::{Medium, News, Plan};
use crate::agenda::Agenda;
use crate::contract::Drive;
use crate::io::{Command, DriveDone, Owed, Unwritten, WriteCache};
use crate::measure::Tell;
use crate::op::Op;
use crate::units::{Blocks, Duration, Instant, Pba};

/// What the host sees of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) depth: u32,
    pub(super) cache: WriteCache,
    /// Picoseconds that a byte takes over the link.
    pub(super) byte_ps: u64,
    pub(super) full_duplex: bool,
    /// The same of the write cache's memory.
    pub(super) memory_ps: u64,
    /// What a command takes of the controller.
    pub(super) command: Duration,
    /// What is added to a read, and to another command.
    pub(super) read: Duration,
    pub(super) write: Duration,
}

impl Host {
    /// Whether writes end in a cache.
    pub(super) fn has_cache(&self) -> bool {
        self.cache != WriteCache::Off
    }
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is none.
    Free,
    /// It waits for the controller.
    Waits,
    /// Its data are on their way to the drive.
    Enters,
    /// It waits for room in the write cache.
    Room,
    /// Pages of it are read or programmed.
    Works,
    /// A flush waits for this epoch.
    Flushes(u64),
    /// It ends when this is over.
    Ends,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    command: Command,
    began: Instant,
    phase: Phase,
    /// Pages that it waits for.
    left: u32,
    /// When what it has so far is over the link.
    ready: Instant,
    /// The next unit that enters the write cache.
    next: u32,
}

/// A drive that runs.
pub(super) struct SsdDrive {
    shape: Geometry,
    host: Host,
    medium: Medium,
    slots: Vec<Slot>,
    free: Vec<u32>,
    due: Agenda,
    /// When the controller has taken all commands that have come.
    controller: Instant,
    /// When the link is free, to the host and to the drive, and the cache's memory.
    link: [Instant; 2],
    memory: Instant,
    /// Writes that wait for room, in the order in which they came.
    room: VecDeque<u32>,
    /// Flushes that wait.
    flushes: Vec<u32>,
}

/// Which blocks of which unit a command is about.
#[inline]
fn part(command: &Command, unit: u32, unit_blocks: u32) -> u64 {
    let first = u64::from(unit) * u64::from(unit_blocks);
    let from = command.at.0.max(first) - first;
    let to = (command.at + command.len)
        .0
        .min(first + u64::from(unit_blocks))
        - first;
    (u64::MAX >> (64 - (to - from))) << from
}

impl SsdDrive {
    pub(super) fn new(plan: &Plan, host: Host) -> SsdDrive {
        let empty = Slot {
            command: Command::seek(Pba(0)),
            began: Instant::ZERO,
            phase: Phase::Free,
            left: 0,
            ready: Instant::ZERO,
            next: 0,
        };
        SsdDrive {
            shape: plan.shape,
            host,
            medium: Medium::new(plan),
            slots: vec![empty; host.depth as usize],
            free: (0..host.depth).rev().collect(),
            due: Agenda::new(host.depth as usize),
            controller: Instant::ZERO,
            link: [Instant::ZERO; 2],
            memory: Instant::ZERO,
            room: VecDeque::new(),
            flushes: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Units that a command touches.
    #[inline]
    fn units(&self, command: &Command) -> std::ops::Range<u32> {
        let unit = u64::from(self.shape.unit_blocks);
        let end = (command.at + command.len).0.div_ceil(unit);
        (command.at.0 / unit) as u32..end as u32
    }

    /// Moves bytes over the link, to the host (`way` 0) or to the drive (1), as soon as it is free.
    /// Returns when that is done.
    #[inline]
    fn moved(&mut self, from: Instant, way: usize, bytes: u64) -> Instant {
        let way = if self.host.full_duplex { way } else { 0 };
        let over = self.link[way].max(from) + Duration(bytes * self.host.byte_ps / 1_000);
        self.link[way] = over;
        over
    }

    /// Moves bytes through the memory of the write cache. Returns when that is done.
    fn remembered(&mut self, from: Instant, bytes: u64) -> Instant {
        self.memory = self.memory.max(from) + Duration(bytes * self.host.memory_ps / 1_000);
        self.memory
    }

    /// Whether a write of this kind ends on the medium.
    fn is_forced(&self, command: &Command) -> bool {
        match self.host.cache {
            WriteCache::Off => true,
            WriteCache::Protected => false,
            WriteCache::Volatile | WriteCache::Unknown => command.fua,
        }
    }

    /// The controller takes a command.
    fn begin(&mut self, now: Instant, slot: u32) {
        let own = &mut self.slots[slot as usize];
        (own.ready, own.phase) = (now, Phase::Works);
        let command = own.command;
        match command.op {
            Op::Read => self.begin_read(now, slot, &command),
            Op::Write => {
                let bytes = command.len.bytes();
                let over = self.moved(now, 1, bytes);
                let over = match self.host.has_cache() {
                    false => over,
                    true => self.remembered(over, bytes),
                };
                self.slots[slot as usize].phase = Phase::Enters;
                self.due.set(slot as usize, Some(over));
            }
            Op::Flush => {
                let may_lose = self.host.cache.may_lose();
                match may_lose.then(|| self.medium.buffer.flush()).flatten() {
                    Some(epoch) => {
                        self.slots[slot as usize].phase = Phase::Flushes(epoch);
                        self.flushes.push(slot);
                        self.medium.flush(now, epoch);
                    }
                    None => self.end(slot),
                }
            }
            Op::Discard => {
                self.discard(now, &command);
                self.end(slot);
            }
            // Nothing moves.
            Op::Seek => self.end(slot),
        }
    }

    /// What is in the write cache comes from there, pages of the flash are read, and the rest is
    /// nothing.
    fn begin_read(&mut self, now: Instant, slot: u32, command: &Command) {
        let (mut last, mut from_memory, mut left) = (None, 0, 0);
        let mut nothing = 0;
        for unit in self.units(command) {
            let blocks = part(command, unit, self.shape.unit_blocks);
            let bytes = blocks.count_ones() * 512;
            if self.medium.buffer.has(unit, blocks) {
                self.medium.counts.hits += 1;
                from_memory += u64::from(bytes);
                continue;
            }
            if self.medium.waits_for_map(now, slot, unit, bytes) {
                left += 1;
                continue;
            }
            let Some(place) = self.medium.place(unit) else {
                nothing += u64::from(bytes);
                continue;
            };
            let page = self.shape.page_of(place);
            match last {
                Some((before, name)) if before == page => self.medium.chips.more(name, bytes),
                _ => {
                    let name = self.medium.read(now, page, Owner::Slot(slot), bytes);
                    last = Some((page, name));
                    left += 1;
                }
            }
        }
        self.slots[slot as usize].left = left;
        let mut over = now;
        if from_memory > 0 {
            over = self.remembered(now, from_memory);
        }
        if from_memory + nothing > 0 {
            over = self.moved(over, 0, from_memory + nothing);
        }
        self.slots[slot as usize].ready = over;
        if left == 0 {
            self.end(slot);
        }
    }

    /// The data of a write are in the drive's memory.
    fn enter(&mut self, now: Instant, slot: u32) {
        let command = self.slots[slot as usize].command;
        let units = self.units(&command);
        self.medium.counts.written += command.len.0;
        self.slots[slot as usize].next = units.start;
        if !self.is_forced(&command) {
            self.slots[slot as usize].phase = Phase::Room;
            self.room.push_back(slot);
            return self.fill(now);
        }
        for unit in units.clone() {
            self.put(&command, unit);
        }
        self.slots[slot as usize].phase = Phase::Works;
        self.slots[slot as usize].left = self.medium.force(now, slot, units);
    }

    fn put(&mut self, command: &Command, unit: u32) {
        let blocks = part(command, unit, self.shape.unit_blocks);
        let absorbed = self.medium.buffer.put(unit, blocks);
        self.medium.counts.absorbed += u64::from(absorbed);
    }

    /// Writes enter the write cache in their order, as far as there is room.
    fn fill(&mut self, now: Instant) {
        while let Some(slot) = self.room.front().copied() {
            let Slot {
                command, mut next, ..
            } = self.slots[slot as usize];
            let end = self.units(&command).end;
            while next < end && self.medium.buffer.takes(next) {
                self.put(&command, next);
                next += 1;
            }
            self.slots[slot as usize].next = next;
            self.medium.write_out(now);
            if next < end && !self.medium.buffer.takes(next) {
                return;
            }
            if next == end {
                self.room.pop_front();
                self.slots[slot as usize].ready = now;
                self.end(slot);
            }
        }
    }

    /// Units that lie wholly in a discard are needed no more.
    fn discard(&mut self, now: Instant, command: &Command) {
        let unit = u64::from(self.shape.unit_blocks);
        let first = command.at.0.div_ceil(unit) as u32;
        let end = ((command.at + command.len).0 / unit) as u32;
        for unit in first..end {
            self.medium.buffer.drop_unit(unit);
            self.medium.counts.trimmed += u64::from(self.medium.map.trim(unit));
        }
        self.medium.look_at_all(now);
    }

    /// Everything of a command is there, or will be at once: it ends when that is so, and what the
    /// controller adds is over.
    fn end(&mut self, slot: u32) {
        let own = &mut self.slots[slot as usize];
        own.phase = Phase::Ends;
        let added = match own.command.op {
            Op::Read => self.host.read,
            Op::Seek => Duration::ZERO,
            Op::Write | Op::Flush | Op::Discard => self.host.write,
        };
        let due = own.ready + added;
        self.due.set(slot as usize, Some(due));
    }

    /// The medium has something for a command.
    #[inline]
    fn hear(&mut self, now: Instant, news: News) {
        match news {
            News::None => {}
            News::Read { slot, bytes } => {
                let over = self.moved(now, 0, u64::from(bytes));
                self.slots[slot as usize].ready = self.slots[slot as usize].ready.max(over);
                self.one_less(slot);
            }
            News::Forced { slot } => {
                self.slots[slot as usize].ready = now;
                self.one_less(slot);
                self.is_safe(now);
            }
            News::Room => {
                self.fill(now);
                self.is_safe(now);
            }
        }
    }

    fn one_less(&mut self, slot: u32) {
        let own = &mut self.slots[slot as usize];
        own.left -= 1;
        if own.left == 0 {
            self.end(slot);
        }
    }

    /// More is on the medium: flushes may end.
    fn is_safe(&mut self, now: Instant) {
        let mut index = 0;
        while let Some(slot) = self.flushes.get(index).copied() {
            let Phase::Flushes(epoch) = self.slots[slot as usize].phase else {
                panic!("a flush that waits is one");
            };
            if self.medium.buffer.is_flushed(epoch) {
                self.flushes.swap_remove(index);
                self.slots[slot as usize].ready = now;
                self.end(slot);
            } else {
                index += 1;
            }
        }
    }

    /// A command is due.
    fn slot_due(&mut self, now: Instant, slot: u32) -> Option<DriveDone> {
        self.due.set(slot as usize, None);
        match self.slots[slot as usize].phase {
            Phase::Waits => {
                self.begin(now, slot);
                None
            }
            Phase::Enters => {
                self.enter(now, slot);
                None
            }
            Phase::Ends => {
                let own = &mut self.slots[slot as usize];
                own.phase = Phase::Free;
                self.free.push(slot);
                Some(flat::done(&own.command, now.since(own.began)))
            }
            other => panic!("a command is due that {other:?}"),
        }
    }
}

impl Drive for SsdDrive {
    fn depth(&self) -> u32 {
        self.host.depth
    }

    fn submit(&mut self, now: Instant, command: &Command) {
        debug_assert!(
            self.next_event().is_none_or(|due| due >= now),
            "what is past comes first"
        );
        let slot = self.free.pop().expect("the drive is full");
        self.slots[slot as usize] = Slot {
            command: *command,
            began: now,
            phase: Phase::Waits,
            left: 0,
            ready: now,
            next: 0,
        };
        if command.op == Op::Seek {
            // Nothing moves, and nobody has to know.
            return self.begin(now, slot);
        }
        let begins = self.controller.max(now);
        self.controller = begins + self.host.command;
        if begins > now {
            self.due.set(slot as usize, Some(begins));
        } else {
            self.begin(now, slot);
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let (chips, slots) = (self.medium.chips.next_event(), self.due.least());
        match (chips, slots) {
            (Some(chips), Some(slots)) => Some(chips.min(slots)),
            (chips, slots) => chips.or(slots),
        }
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        loop {
            let chips = self.medium.chips.next_event().unwrap_or(Instant::NEVER);
            let slots = self.due.least().unwrap_or(Instant::NEVER);
            if chips.min(slots) > now {
                return None;
            }
            if chips <= slots {
                let news = self.medium.advance(chips);
                self.hear(chips, news);
            } else {
                let slot = self.due.winner().expect("one is due") as u32;
                if let Some(done) = self.slot_due(slots, slot) {
                    return Some(done);
                }
            }
        }
    }

    fn volatile(&self, _now: Instant, out: &mut Vec<Unwritten>) {
        if self.host.cache.may_lose() {
            self.medium.buffer.unwritten(self.shape.unit_blocks, out);
        }
    }

    fn owes(&self, _now: Instant) -> Owed {
        if !self.host.has_cache() {
            return Owed::default();
        }
        let buffer = &self.medium.buffer;
        let blocks = |units: u32| Blocks(u64::from(units) * u64::from(self.shape.unit_blocks));
        Owed {
            blocks: blocks(buffer.held()),
            cache_size: Some(blocks(buffer.room())),
            sorts: false,
        }
    }

    fn rounds_permille(&self) -> Option<u64> {
        self.medium.collection.rounds_permille()
    }

    fn tell(&self, tell: Tell<'_>) {
        let stops = self.medium.chips.stops;
        let most = u64::from(self.medium.map.most_erased());
        let unit = u64::from(self.shape.unit_blocks);
        self.medium.counts.tell(unit, stops, most, tell);
    }
}
