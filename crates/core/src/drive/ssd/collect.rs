//! Collection: what is valid of a block is moved elsewhere in its plane, and the block is erased.
//!
//! A plane collects while it has [`Thresholds::start`] free blocks or fewer, one block at a time
//! and one operation at a time: a page that has something valid is read, what came is written as
//! soon as it makes a page, and so on. What the host asks of the die goes first, until the plane
//! has [`Thresholds::urgent`] free blocks or fewer. What the host has written meanwhile is not
//! moved.
//!
//! A block of which `v` of `n` pages have to be written again makes room for `n - v`. The die is
//! told of that room while the block is being collected, evenly over what is moved
//! ([`Chips::earn`]): so a host that has to wait for collection waits for a few pages, not for a
//! block. That is our own; what controllers do about it is not published.

use super::chips::{Chips, Operation, Owner, What};
use super::counts::Counts;
use super::geometry::Geometry;
use super::map::{Map, Stream};
use super::thresholds::Thresholds;
use crate::units::Instant;

/// What a plane does about its free blocks.
#[derive(Debug, Default)]
struct Plane {
    victim: Option<u32>,
    /// The next page of the victim to look at.
    page: u32,
    /// The page that is being read, or was last.
    reading: u32,
    /// Units in memory, and where they were.
    held: Vec<(u32, u32)>,
    is_urgent: bool,
    /// Pages that the valid units of the victim make, counted when it was chosen, and those that
    /// were moved before the run.
    moves: u32,
    /// Those of them that have been written.
    moved: u32,
    /// Pages of room that the die was told of.
    told: u32,
    /// Blocks that it has collected.
    collected: u64,
    /// Thousandths of the first of them that were collected before the run.
    before_permille: u64,
}

impl Plane {
    /// Pages of room that a victim of so many pages has made by what of it was moved.
    fn room(&self, pages: u32) -> u32 {
        let gain = u64::from(pages - self.moves);
        (gain * u64::from(self.moved) / u64::from(self.moves.max(1))) as u32
    }

    /// Thousandths of its moves that are done.
    fn done_permille(&self) -> u64 {
        1_000 * u64::from(self.moved) / u64::from(self.moves.max(1))
    }
}

/// The collection of all planes.
#[derive(Debug)]
pub(super) struct Collection {
    shape: Geometry,
    when: Thresholds,
    planes: Vec<Plane>,
}

/// What a collection works on.
pub(super) struct Works<'a> {
    pub(super) map: &'a mut Map,
    pub(super) chips: &'a mut Chips,
    pub(super) counts: &'a mut Counts,
}

impl Collection {
    pub(super) fn new(shape: Geometry, when: Thresholds) -> Collection {
        Collection {
            shape,
            when,
            planes: (0..shape.planes).map(|_| Plane::default()).collect(),
        }
    }

    /// A plane has fewer free blocks, or a block that can be collected: it begins if it has to.
    #[inline]
    pub(super) fn look(&mut self, now: Instant, plane: u32, works: &mut Works<'_>) {
        let free = works.map.free(plane);
        if free > self.when.start && !self.planes[plane as usize].is_urgent {
            return;
        }
        self.urge(plane, free <= self.when.urgent, works);
        let own = &mut self.planes[plane as usize];
        if own.victim.is_none() && free <= self.when.start {
            own.victim = works.map.victim(plane);
            own.page = 0;
            if let Some(victim) = own.victim {
                own.moved = works.map.moved_before(victim);
                own.moves = own.moved + works.map.valid(victim).div_ceil(self.shape.units);
                own.told = own.room(self.shape.pages);
                own.before_permille += own.done_permille();
                self.step(now, plane, works);
            }
        }
    }

    fn urge(&mut self, plane: u32, is_urgent: bool, works: &mut Works<'_>) {
        let own = &mut self.planes[plane as usize];
        if own.is_urgent != is_urgent {
            own.is_urgent = is_urgent;
            works.chips.urge(self.shape.die(plane), is_urgent);
        }
    }

    /// An operation of a plane has ended. Whether a block is free that was not.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        plane: u32,
        what: What,
        works: &mut Works<'_>,
    ) -> bool {
        let own = &mut self.planes[plane as usize];
        match what {
            What::Read => own.held.extend(works.map.valid_units(own.reading)),
            What::Program => {}
            What::Erase => {
                let victim = own.victim.take().expect("it was erased");
                own.collected += 1;
                works.map.erased(victim);
                works.counts.erases += 1;
                let room = self.shape.pages - own.moved;
                self.tell(plane, room, works);
                self.look(now, plane, works);
                return true;
            }
        }
        self.step(now, plane, works);
        false
    }

    /// Blocks that a plane has collected, on the mean of those planes that collect or have done so,
    /// in thousandths: a round is over when each has collected one.
    pub(super) fn rounds_permille(&self) -> Option<u64> {
        let works = |plane: &&Plane| plane.victim.is_some() || plane.collected > 0;
        let planes = self.planes.iter().filter(works);
        let (count, sum) = planes.fold((0, 0), |(count, sum), plane| {
            let begun = plane.victim.map_or(0, |_| plane.done_permille());
            let done = 1_000 * plane.collected + begun - plane.before_permille;
            (count + 1, sum + done)
        });
        (count > 0).then(|| sum / count)
    }

    /// The victim of a plane has made room for so many pages by now.
    fn tell(&mut self, plane: u32, room: u32, works: &mut Works<'_>) {
        let own = &mut self.planes[plane as usize];
        works.chips.earn(self.shape.die(plane), room - own.told);
        own.told = room;
    }

    /// The next operation of a plane that collects.
    fn step(&mut self, now: Instant, plane: u32, works: &mut Works<'_>) {
        let victim = self.planes[plane as usize].victim.expect("it collects");
        let last =
            !works.map.is_void(victim) && self.planes[plane as usize].page < self.shape.pages;
        let operation = if self.is_full(plane, works.map) {
            self.write(plane, works)
        } else if last {
            self.read(plane, victim, works.map)
        } else {
            None
        };
        let rest = || Operation::new(What::Erase, Owner::Plane(plane), 0);
        let operation = match operation {
            Some(operation) => operation,
            None => self.write(plane, works).unwrap_or_else(rest),
        };
        let die = self.shape.die(plane);
        works.chips.push(now, die, operation);
    }

    /// Whether what is in memory makes a page.
    fn is_full(&mut self, plane: u32, map: &Map) -> bool {
        let units = self.shape.units as usize;
        let held = &mut self.planes[plane as usize].held;
        if held.len() >= units {
            held.retain(|(unit, place)| map.place(*unit) == Some(*place));
        }
        held.len() >= units
    }

    /// Reads the next page of the victim that has something; none if there is none.
    fn read(&mut self, plane: u32, victim: u32, map: &Map) -> Option<Operation> {
        let own = &mut self.planes[plane as usize];
        while own.page < self.shape.pages {
            own.reading = victim * self.shape.pages + own.page;
            own.page += 1;
            let count = map.valid_units(own.reading).count() as u32;
            if count > 0 {
                let bytes = count * self.shape.unit_bytes();
                return Some(Operation::new(What::Read, Owner::Plane(plane), bytes));
            }
        }
        None
    }

    /// Writes a page of what is in memory; none if nothing is.
    fn write(&mut self, plane: u32, works: &mut Works<'_>) -> Option<Operation> {
        let held = &mut self.planes[plane as usize].held;
        held.retain(|(unit, place)| works.map.place(*unit) == Some(*place));
        let count = held.len().min(self.shape.units as usize);
        if count == 0 {
            return None;
        }
        assert!(
            works.map.has_page(plane, Stream::Moved),
            "moves have a block of their own"
        );
        let units = held.drain(..count).map(|(unit, _)| unit);
        works.map.write(plane, Stream::Moved, units);
        works.counts.moved += count as u64;
        works.counts.programmed += u64::from(self.shape.units);
        let own = &mut self.planes[plane as usize];
        own.moved += 1;
        let room = own.room(self.shape.pages);
        self.tell(plane, room, works);
        let bytes = count as u32 * self.shape.unit_bytes();
        Some(Operation::new(What::Program, Owner::Plane(plane), bytes))
    }
}
