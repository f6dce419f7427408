//! Where each unit is, which blocks are free, and where the next page goes.
//!
//! Each plane has two open blocks: one for what the host writes, one for what is moved out of
//! blocks that are to be erased. Kept apart, as what is moved has just been found to live longer.
//! Free blocks are used in the order in which they were erased, so all of a plane wear alike where
//! the load is uniform. The victim is the closed block with the least valid units (greedy).
//!
//! A stored number of the map is 0 where all is as it was preconditioned ([`Initial`]), 1 for
//! nothing, else two more than what is there. What a place held is valid as long as the map of its
//! unit says so: no marks are kept. O(1) for all but the choice of a victim, which is O(blocks of a
//! plane).

use std::collections::VecDeque;

use super::geometry::Geometry;
use super::lazy::Lazy;
use super::precondition::Initial;

/// What is stored for nothing.
const NOTHING: u32 = 1;
/// What is added to what is stored.
const OFFSET: u32 = 2;

/// Blocks of a plane that are never full: two that are open, and one that moves can always go on
/// with.
pub(super) const OPEN: u32 = 3;

/// Units that a plane holds at most so that one of its blocks is worth collecting whenever no page
/// is left for the host.
///
/// All but two blocks are closed then: the last free one and the one that takes what is moved are
/// not.
pub(super) fn collectable(shape: &Geometry) -> u32 {
    (shape.blocks.saturating_sub(2) * too_full(shape)).saturating_sub(1)
}

/// Units with which a block is not worth collecting, or with more: all its pages would be written
/// again.
pub(super) fn too_full(shape: &Geometry) -> u32 {
    shape.block_units() - shape.units + 1
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Free,
    Open,
    Closed,
    /// Its valid units are being moved.
    Victim,
}

/// For whom a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Host,
    Moved,
}

/// An open block: the next page of it.
#[derive(Clone, Copy, Debug)]
struct Front {
    block: u32,
    page: u32,
}

#[derive(Debug)]
struct Plane {
    free: VecDeque<u32>,
    fronts: [Option<Front>; 2],
    /// Units that are valid here.
    valid: u32,
}

/// The map of a drive.
#[derive(Debug)]
pub(super) struct Map {
    shape: Geometry,
    initial: Initial,
    place_of: Lazy,
    unit_at: Lazy,
    /// Of each block.
    valid: Vec<u32>,
    stage: Vec<Stage>,
    erases: Vec<u32>,
    planes: Vec<Plane>,
    /// Units that a plane takes at most where the host's pages may go to any.
    most: u32,
}

impl Map {
    pub(super) fn new(shape: Geometry, initial: Initial) -> Map {
        let blocks = shape.planes * shape.blocks;
        let stage = |block: u32| {
            let (plane, within) = (block / shape.blocks, block % shape.blocks);
            let begun = initial.begun(plane);
            match within.checked_sub(initial.used(plane)) {
                None => Stage::Closed,
                Some(behind) if begun.get(behind as usize).is_some_and(|pages| *pages > 0) => {
                    Stage::Open
                }
                Some(_) => Stage::Free,
            }
        };
        let plane = |plane| {
            let blocks = plane * shape.blocks..(plane + 1) * shape.blocks;
            let unused = blocks.start + initial.used(plane);
            let front = |page, block| (page > 0).then_some(Front { block, page });
            let [host, moved] = initial.begun(plane);
            Plane {
                free: (unused..blocks.end)
                    .filter(|block| stage(*block) == Stage::Free)
                    .collect(),
                fronts: [front(host, unused), front(moved, unused + 1)],
                valid: blocks.map(|block| initial.valid(block)).sum(),
            }
        };
        Map {
            place_of: Lazy::new(shape.capacity),
            unit_at: Lazy::new(shape.places()),
            valid: (0..blocks).map(|block| initial.valid(block)).collect(),
            stage: (0..blocks).map(stage).collect(),
            erases: vec![0; blocks as usize],
            planes: (0..shape.planes).map(plane).collect(),
            most: (shape.blocks - OPEN) * shape.block_units(),
            shape,
            initial,
        }
    }

    /// Where a unit is; none if it was never written, or trimmed.
    #[inline]
    pub(super) fn place(&self, unit: u32) -> Option<u32> {
        match self.place_of.get(unit) {
            0 => self.initial.place(unit),
            NOTHING => None,
            stored => Some(stored - OFFSET),
        }
    }

    /// Where a unit would be if all was written in order.
    pub(super) fn in_order(&self, unit: u32) -> u32 {
        self.initial.in_order(unit)
    }

    /// The valid unit at a place, if there is one.
    fn unit(&self, place: u32) -> Option<u32> {
        let unit = match self.unit_at.get(place) {
            0 => self.initial.unit(place),
            NOTHING => None,
            stored => Some(stored - OFFSET),
        }?;
        (self.place(unit) == Some(place)).then_some(unit)
    }

    /// Blocks of a plane that are free.
    #[inline]
    pub(super) fn free(&self, plane: u32) -> u32 {
        self.planes[plane as usize].free.len() as u32
    }

    /// Whether one more page of the host may go to a plane that is chosen freely, without so much
    /// being there that nothing could be collected.
    #[inline]
    pub(super) fn has_room(&self, plane: u32) -> bool {
        self.planes[plane as usize].valid + self.shape.units <= self.most
            && self.has_page(plane, Stream::Host)
    }

    /// Whether a page is there to be written. The last free block is for moves.
    #[inline]
    pub(super) fn has_page(&self, plane: u32, stream: Stream) -> bool {
        let plane = &self.planes[plane as usize];
        let left = usize::from(stream == Stream::Host);
        plane.fronts[stream as usize].is_some() || plane.free.len() > left
    }

    /// Writes a page of a plane that has one: these units are there from now on. The page.
    pub(super) fn write(
        &mut self,
        plane: u32,
        stream: Stream,
        units: impl Iterator<Item = u32>,
    ) -> u32 {
        let page = self.next_page(plane, stream);
        let first = page * self.shape.units;
        let mut place = first;
        for unit in units {
            self.forget(unit);
            self.place_of.set(unit, place + OFFSET);
            self.unit_at.set(place, unit + OFFSET);
            place += 1;
        }
        let count = place - first;
        debug_assert!((1..=self.shape.units).contains(&count));
        self.valid[self.shape.block_of(page) as usize] += count;
        self.planes[plane as usize].valid += count;
        for empty in place..first + self.shape.units {
            self.unit_at.set(empty, NOTHING);
        }
        page
    }

    fn next_page(&mut self, plane: u32, stream: Stream) -> u32 {
        let own = &mut self.planes[plane as usize];
        let front = &mut own.fronts[stream as usize];
        let Front { block, page } = front.unwrap_or_else(|| Front {
            block: own
                .free
                .pop_front()
                .expect("it was asked whether there is a page"),
            page: 0,
        });
        let is_last = page + 1 == self.shape.pages;
        *front = (!is_last).then_some(Front {
            block,
            page: page + 1,
        });
        self.stage[block as usize] = if is_last { Stage::Closed } else { Stage::Open };
        block * self.shape.pages + page
    }

    /// A unit is not where it was any more.
    fn forget(&mut self, unit: u32) -> bool {
        let Some(place) = self.place(unit) else {
            return false;
        };
        let block = self.shape.block_of(self.shape.page_of(place));
        self.valid[block as usize] -= 1;
        self.planes[self.shape.plane_of(block) as usize].valid -= 1;
        true
    }

    /// Nobody needs a unit any more. Whether it was there.
    pub(super) fn trim(&mut self, unit: u32) -> bool {
        let was_there = self.forget(unit);
        if was_there {
            self.place_of.set(unit, NOTHING);
        }
        was_there
    }

    /// The block of a plane that is best erased next; none if that would gain nothing.
    pub(super) fn victim(&mut self, plane: u32) -> Option<u32> {
        let first = plane * self.shape.blocks;
        let blocks = first as usize..(first + self.shape.blocks) as usize;
        let closed = self.stage[blocks.clone()].iter().zip(&self.valid[blocks]);
        let closed = closed
            .enumerate()
            .filter(|(_, (stage, _))| **stage == Stage::Closed);
        let (index, (_, valid)) = closed.min_by_key(|(_, (_, valid))| **valid)?;
        if *valid >= too_full(&self.shape) {
            return None;
        }
        let block = first + index as u32;
        self.stage[block as usize] = Stage::Victim;
        Some(block)
    }

    /// The valid units of a page, with their places.
    pub(super) fn valid_units(&self, page: u32) -> impl Iterator<Item = (u32, u32)> {
        let first = page * self.shape.units;
        let places = first..first + self.shape.units;
        places.filter_map(|place| self.unit(place).map(|unit| (unit, place)))
    }

    /// Units of a block that are valid.
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.valid[block as usize]
    }

    /// Pages that were moved out of a block before the run.
    pub(super) fn moved_before(&self, block: u32) -> u32 {
        match self.erases[block as usize] {
            0 => self.initial.moved_out(block),
            _ => 0,
        }
    }

    /// Whether nothing of a block is valid.
    pub(super) fn is_void(&self, block: u32) -> bool {
        self.valid(block) == 0
    }

    /// A victim was erased.
    pub(super) fn erased(&mut self, block: u32) {
        debug_assert_eq!(self.valid[block as usize], 0);
        self.stage[block as usize] = Stage::Free;
        self.erases[block as usize] += 1;
        let plane = self.shape.plane_of(block);
        self.planes[plane as usize].free.push_back(block);
    }

    /// How often the block was erased that was erased most.
    pub(super) fn most_erased(&self) -> u32 {
        self.erases.iter().copied().max().unwrap_or(0)
    }

    /// Recounts everything and panics on a contradiction.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        let mut valid = vec![0; self.valid.len()];
        let mut taken = vec![false; self.shape.places() as usize];
        for unit in 0..self.shape.capacity {
            if let Some(place) = self.place(unit) {
                assert!(
                    !std::mem::replace(&mut taken[place as usize], true),
                    "two units at {place}"
                );
                assert_eq!(self.unit(place), Some(unit));
                valid[self.shape.block_of(self.shape.page_of(place)) as usize] += 1;
            }
        }
        assert_eq!(valid, self.valid);
        for (index, plane) in self.planes.iter().enumerate() {
            let first = index * self.shape.blocks as usize;
            let blocks = first..first + self.shape.blocks as usize;
            assert_eq!(plane.valid, valid[blocks.clone()].iter().sum::<u32>());
            let of = |stage| {
                blocks
                    .clone()
                    .filter(move |block| self.stage[*block] == stage)
            };
            let mut free: Vec<usize> = plane.free.iter().map(|block| *block as usize).collect();
            free.sort_unstable();
            assert!(free.iter().copied().eq(of(Stage::Free)));
            assert!(of(Stage::Free).all(|block| valid[block] == 0));
            assert_eq!(
                of(Stage::Open).count(),
                plane.fronts.iter().flatten().count()
            );
        }
    }
}
