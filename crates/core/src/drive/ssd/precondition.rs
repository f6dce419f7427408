//! What is on a drive before a run: nothing, everything in order, or what many random writes have
//! left.
//!
//! Nothing is written to come there. Each state is a formula that says of a unit where it is and of
//! a place what is there, so a drive of any size is ready at once, and the map stores only what a
//! run changes ([`super::lazy`]).
//!
//! *full*: all addresses were written once, in order. Pages go round the planes; what is left of
//! each plane is free.
//!
//! *random*: uniform random writes went on for so long that blocks have the ages of a steady state.
//! Of a block that was written when a share x of all others has been written since, a share exp(-c
//! x) is valid, with c such that all of it adds up to the capacity: blocks are collected in the
//! order of their ages, as greedy collection does with uniform writes, nearly (Desnoyers, "Analytic
//! modeling of SSD write performance", SYSTOR 2012; the share of the oldest is the one that his
//! equation for LRU collection has). Which units are on which plane, if their addresses do not say
//! it, a permutation of all units says, and where they are there, one of all units of the plane: a
//! Feistel network of four rounds, walked until it stays in range (Black and Rogaway, "Ciphers with
//! arbitrary finite domains", CT-RSA 2002). Collection had a pause in which it came to have its
//! free blocks again.
//!
//! *saturated*: the same without a pause. A plane has as many free blocks as make collection
//! urgent. Where the host then waits for a free block, it has one more, unless collection is urgent
//! as soon as it begins. Another block is begun. How many pages of that are written goes evenly
//! from none to nearly all over the planes: else all would run out of free pages at the same time,
//! and the drive would stop. What was written to those begun blocks counts as overwritten since.
//! Where the host is paced, the oldest block of a plane is being collected. How much of it was
//! moved, to a block that is begun with that, also goes evenly over the planes, in another order:
//! else all would erase at the same time, round after round. Where the host waits for a free block,
//! it is the host that sets the pace of the planes, and they do come together.
//! The write cache, if there is one, is full: to begin with an empty one is to begin with a pause.

use super::geometry::Geometry;
use super::thresholds::Thresholds;
use crate::rng::mix;

/// Which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    Full,
    Random,
    Saturated,
}

impl State {
    /// Whether random writes have left it.
    fn is_scattered(self) -> bool {
        matches!(self, State::Random | State::Saturated)
    }
}

/// A state of a drive.
#[derive(Clone, Debug)]
pub(super) struct Initial {
    state: State,
    shape: Geometry,
    /// Whether the address says which plane a unit goes to; else it may be on any.
    by_address: bool,
    /// Of the blocks of a plane, from the oldest on: units that are valid in those before. Empty
    /// unless random.
    before: Vec<u32>,
    /// Of each plane, pages that are written of the two blocks behind those in use: what the host
    /// wrote, and what was moved out of the oldest block. Empty unless saturated.
    begun: Vec<[u32; 2]>,
}

impl Initial {
    pub(super) fn new(
        state: State,
        shape: Geometry,
        by_address: bool,
        when: Thresholds,
    ) -> Initial {
        let unused = match state {
            // One of these is begun.
            State::Saturated if when.is_paced => when.urgent + 1,
            State::Saturated => (when.urgent + 2).min(when.start + 1),
            State::Empty | State::Full | State::Random => when.start + 1,
        };
        let before = match state.is_scattered() {
            true => profile(&shape, shape.blocks - unused),
            false => Vec::new(),
        };
        let mut initial = Initial {
            state,
            shape,
            by_address,
            before,
            begun: Vec::new(),
        };
        if state == State::Saturated {
            let Geometry { planes, pages, .. } = shape;
            // Of the least plane, which may have a unit less than others.
            let moves = initial.valid((planes - 1) * shape.blocks) / shape.units;
            let turn = |plane, key, pages| {
                let turn = u64::from(scramble(plane, planes, key, false));
                (turn * u64::from(pages) / u64::from(planes)) as u32
            };
            let moves = if when.is_paced { moves } else { 0 };
            let begun = |plane| [turn(plane, HOST, pages), turn(plane, MOVED, moves)];
            initial.begun = (0..planes).map(begun).collect();
        }
        initial
    }

    /// How many pages a plane has written already of each of the two blocks behind those in use,
    /// less than all: of the host's, and of what was moved.
    pub(super) fn begun(&self, plane: u32) -> [u32; 2] {
        self.begun.get(plane as usize).copied().unwrap_or_default()
    }

    /// Pages that were moved out of a block.
    pub(super) fn moved_out(&self, block: u32) -> u32 {
        match block % self.shape.blocks {
            0 => self.begun(block / self.shape.blocks)[1],
            _ => 0,
        }
    }

    /// Units that were moved out of the oldest block of a plane, its first ones.
    fn moved(&self, plane: u32) -> u32 {
        self.begun(plane)[1] * self.shape.units
    }

    /// The block of a plane to which they were moved.
    fn moved_to(&self) -> u32 {
        self.before.len() as u32
    }

    /// So many units that the write cache has, which are to be written again; all if there are not
    /// so many. They may be any: the last ones of the drive lie together in the map, and take
    /// little memory there.
    pub(super) fn buffered(&self, room: u32) -> std::ops::Range<u32> {
        self.shape.capacity.saturating_sub(room)..self.shape.capacity
    }

    /// Blocks of a plane that are full, from the first on.
    pub(super) fn used(&self, plane: u32) -> u32 {
        match self.state {
            State::Empty => 0,
            State::Full => self.pages(plane).div_ceil(self.shape.pages),
            State::Random | State::Saturated => self.before.len() as u32 - 1,
        }
    }

    /// Pages of a plane that have something, if all was written in order.
    fn pages(&self, plane: u32) -> u32 {
        let pages = self.shape.capacity.div_ceil(self.shape.units);
        (pages + self.shape.planes - 1 - plane) / self.shape.planes
    }

    /// Units of a block that are valid.
    pub(super) fn valid(&self, block: u32) -> u32 {
        let shape = &self.shape;
        let (plane, within) = (block / shape.blocks, block % shape.blocks);
        match self.state {
            State::Empty => 0,
            State::Full => {
                let pages = self.pages(plane).saturating_sub(within * shape.pages);
                let pages = pages.min(shape.pages);
                // The last page of all may have fewer units.
                let last = (shape.capacity - 1) / shape.units;
                let has_last =
                    last % shape.planes == plane && (last / shape.planes) / shape.pages == within;
                let missing = shape.units - 1 - (shape.capacity - 1) % shape.units;
                pages * shape.units - if has_last { missing } else { 0 }
            }
            State::Random | State::Saturated => {
                if within == self.moved_to() {
                    return self.moved(plane);
                }
                let Some([from, to]) = self.before.get(within as usize..within as usize + 2) else {
                    return 0;
                };
                let valid = to.min(&shape.share(plane)).saturating_sub(*from);
                valid - if within == 0 { self.moved(plane) } else { 0 }
            }
        }
    }

    /// Where a unit would be if all was written in order.
    pub(super) fn in_order(&self, unit: u32) -> u32 {
        let Geometry {
            planes,
            blocks,
            pages,
            units,
            ..
        } = self.shape;
        let page = unit / units;
        let (plane, page) = (page % planes, page / planes);
        (plane * blocks * pages + page) * units + unit % units
    }

    /// Where a unit is.
    #[inline]
    pub(super) fn place(&self, unit: u32) -> Option<u32> {
        match self.state {
            State::Empty => None,
            State::Full => Some(self.in_order(unit)),
            State::Random | State::Saturated => Some(self.scattered(unit)),
        }
    }

    /// Which units are on a plane: those that random writes have left there, unless their addresses
    /// say it. The other way round if `back`.
    fn mixed(&self, unit: u32, back: bool) -> u32 {
        match self.by_address {
            true => unit,
            false => scramble(
                unit,
                self.shape.capacity,
                u64::from(self.shape.planes),
                back,
            ),
        }
    }

    fn scattered(&self, unit: u32) -> u32 {
        let Geometry { planes, blocks, .. } = self.shape;
        let unit = self.mixed(unit, false);
        let (plane, index) = (unit % planes, unit / planes);
        let index = scramble(index, self.shape.share(plane), u64::from(plane), false);
        let within = self.before.partition_point(|before| *before <= index) - 1;
        if within == 0 && index < self.moved(plane) {
            return (plane * blocks + self.moved_to()) * self.shape.block_units() + index;
        }
        let (from, to) = (self.before[within], self.before[within + 1]);
        let slots = self.shape.block_units();
        let slot = u64::from(index - from) * u64::from(slots) / u64::from(to - from);
        (plane * blocks + within as u32) * slots + slot as u32
    }

    /// What is at a place: a unit that is there now or has been there, and is now where
    /// [`Initial::place`] says.
    pub(super) fn unit(&self, place: u32) -> Option<u32> {
        let Geometry {
            planes,
            blocks,
            pages,
            units,
            capacity,
            ..
        } = self.shape;
        let (plane, within) = (
            place / (blocks * pages * units),
            place % (blocks * pages * units),
        );
        match self.state {
            State::Empty => None,
            State::Full => {
                let page = (within / units) * planes + plane;
                let unit = u64::from(page) * u64::from(units) + u64::from(within % units);
                u32::try_from(unit).ok().filter(|unit| *unit < capacity)
            }
            State::Random | State::Saturated => {
                let share = self.shape.share(plane);
                let index = self.index(plane, within).filter(|index| *index < share)?;
                let unit = scramble(index, share, u64::from(plane), true) * planes + plane;
                Some(self.mixed(unit, true))
            }
        }
    }

    /// Which of the units of a plane is at a place of it, by the order of their places at first.
    fn index(&self, plane: u32, within: u32) -> Option<u32> {
        let slots = self.shape.block_units();
        let (block, slot) = (within / slots, within % slots);
        let moved = self.moved(plane);
        if block == self.moved_to() {
            return Some(slot).filter(|index| *index < moved);
        }
        let block = block as usize;
        let [from, to] = *self.before.get(block..block + 2)?.first_chunk()?;
        let many = u64::from(to - from);
        let nth = (u64::from(slot) * many).div_ceil(u64::from(slots));
        if nth >= many || nth * u64::from(slots) / many != u64::from(slot) {
            return None;
        }
        Some(from + nth as u32).filter(|index| block > 0 || *index >= moved)
    }
}

/// What the orders of planes are made of in which they have begun the blocks of the host and those
/// of what was moved.
const HOST: u64 = 0;
const MOVED: u64 = 1;

/// Valid units before each of so many blocks, from the oldest on, and of all.
fn profile(shape: &Geometry, used: u32) -> Vec<u32> {
    let all = f64::from(shape.share(0));
    let share = all / (f64::from(used) * f64::from(shape.block_units()));
    let mean = |c: f64| (1.0 - libm::exp(-c)) / c;
    let (mut low, mut high) = (1e-9, 1e3);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if mean(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    let c = low;
    // Of the blocks that are older than a share x of all, these are the units.
    let older = |x: f64| (libm::exp(-c * x) - libm::exp(-c)) / (1.0 - libm::exp(-c));
    let of = |index: u32| {
        let x = 1.0 - f64::from(index) / f64::from(used);
        libm::round(all * older(x)) as u32
    };
    let mut before: Vec<u32> = (0..=used).map(of).collect();
    // No block has more than it has room for.
    for index in (0..used as usize).rev() {
        before[index] = before[index].max(before[index + 1].saturating_sub(shape.block_units()));
    }
    before
}

/// A permutation of the numbers below `bound`, or the way back.
fn scramble(number: u32, bound: u32, key: u64, back: bool) -> u32 {
    let bits = (32 - bound.saturating_sub(1).leading_zeros())
        .div_ceil(2)
        .max(1);
    let mask = (1_u64 << bits) - 1;
    let round = |half: u64, round: u64| mix(half ^ (key << 8 | round) << 32) & mask;
    let mut number = u64::from(number);
    loop {
        let (mut left, mut right) = (number >> bits, number & mask);
        for step in 0..4 {
            if back {
                (left, right) = (right ^ round(left, 3 - step), left);
            } else {
                (left, right) = (right, left ^ round(right, step));
            }
        }
        number = left << bits | right;
        if number < u64::from(bound) {
            return number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Geometry = Geometry {
        channels: 2,
        dies: 2,
        planes: 4,
        blocks: 12,
        pages: 8,
        units: 3,
        unit_blocks: 8,
        capacity: 801,
    };

    fn when(start: u32, urgent: u32) -> Thresholds {
        Thresholds {
            start,
            urgent,
            is_paced: false,
        }
    }

    #[test]
    fn every_unit_has_a_place_of_its_own_and_back_and_blocks_count_them() {
        let states = [State::Full, State::Random, State::Saturated];
        for (state, by_address) in states
            .into_iter()
            .flat_map(|state| [(state, false), (state, true)])
        {
            let is_paced = state == State::Saturated;
            let when = Thresholds {
                is_paced,
                ..when(2, 2)
            };
            let initial = Initial::new(state, SHAPE, by_address, when);
            let mut valid = vec![0; (SHAPE.planes * SHAPE.blocks) as usize];
            let mut seen = vec![false; SHAPE.places() as usize];
            for unit in 0..SHAPE.capacity {
                let place = initial.place(unit).unwrap();
                assert!(!std::mem::replace(&mut seen[place as usize], true));
                assert_eq!(initial.unit(place), Some(unit), "{state:?}");
                valid[(place / SHAPE.block_units()) as usize] += 1;
            }
            for place in (0..SHAPE.places()).filter(|place| !seen[*place as usize]) {
                assert_eq!(initial.unit(place), None, "{state:?} {place}");
            }
            for (block, valid) in valid.iter().enumerate() {
                let block = block as u32;
                assert_eq!(initial.valid(block), *valid, "{state:?} {block}");
                let used = initial.used(block / SHAPE.blocks);
                let moved = state == State::Saturated && block % SHAPE.blocks == used + 1;
                assert!(block % SHAPE.blocks < used || moved || *valid == 0);
            }
        }
    }

    #[test]
    fn after_random_writes_older_blocks_have_less_and_the_youngest_is_nearly_full() {
        let initial = Initial::new(State::Random, SHAPE, false, when(1, 0));
        let valid: Vec<u32> = (0..10).map(|block| initial.valid(block)).collect();
        assert!(valid.is_sorted(), "{valid:?}");
        assert!(valid[9] >= 23 && valid[0] < 18, "{valid:?}");
    }

    #[test]
    fn planes_of_a_saturated_drive_have_begun_apart() {
        let initial = Initial::new(State::Saturated, SHAPE, false, when(4, 1));
        let begun = |initial: &Initial, stream: usize| {
            let mut begun: Vec<u32> = (0..4).map(|plane| initial.begun(plane)[stream]).collect();
            begun.sort_unstable();
            begun
        };
        assert_eq!(begun(&initial, 0), [0, 2, 4, 6]);
        assert_eq!(begun(&initial, 1), [0; 4]);
        assert_eq!(initial.used(0), 9, "one free block more than is urgent");
        let is_paced = true;
        let paced = Thresholds {
            is_paced,
            ..when(4, 1)
        };
        let paced = Initial::new(State::Saturated, SHAPE, false, paced);
        assert_eq!(paced.used(0), 10);
        let all = (0..4).map(|plane| {
            let [oldest, moved] = [0, 11].map(|block| paced.valid(plane * SHAPE.blocks + block));
            assert_eq!(moved, paced.begun(plane)[1] * SHAPE.units);
            (oldest + moved) / SHAPE.units
        });
        let all = all.min().unwrap();
        assert_eq!(begun(&paced, 0), [0, 2, 4, 6]);
        assert_eq!(begun(&paced, 1), [0, all / 4, all / 2, all * 3 / 4]);
        let random = Initial::new(State::Random, SHAPE, false, when(4, 1));
        assert!((0..4).all(|plane| random.begun(plane) == [0, 0]));
    }

    /// Units that follow each other are on planes in turn only where their addresses say so, or all
    /// was written in order.
    #[test]
    fn random_writes_leave_neighbours_on_any_plane() {
        for (state, by_address) in [
            (State::Random, false),
            (State::Random, true),
            (State::Full, false),
        ] {
            let initial = Initial::new(state, SHAPE, by_address, when(1, 0));
            let plane = |unit| initial.place(unit).unwrap() / SHAPE.block_units() / SHAPE.blocks;
            let step = if state == State::Full { SHAPE.units } else { 1 };
            let units = (0..SHAPE.capacity - step).step_by(step as usize);
            let next = units
                .clone()
                .filter(|unit| plane(unit + step) == (plane(*unit) + 1) % SHAPE.planes);
            let percent = next.count() * 100 / units.count();
            let allowed = match (state, by_address) {
                (State::Random, false) => 20..=30,
                _ => 100..=100,
            };
            assert!(
                allowed.contains(&percent),
                "{state:?} {by_address}: {percent} %"
            );
        }
    }

    #[test]
    fn a_permutation_is_one() {
        for bound in [1, 2, 3, 17, 1_000] {
            let mut found: Vec<u32> = (0..bound)
                .map(|number| scramble(number, bound, 5, false))
                .collect();
            for (number, there) in found.iter().enumerate() {
                assert_eq!(scramble(*there, bound, 5, true), number as u32);
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(0..bound));
        }
    }
}
