//! The nearest of many: which waiting I/O the heads can reach first, without trying all.
//!
//! Positioning is movement plus waiting for the platter. No I/O over a distance costs less than the oracle's
//! `seek_at_least`, which never falls with distance. So the search walks outward from the arm's cylinder, up and down in turns,
//! and gives up a side as soon as its next I/O is too far to win. The choice is the same as by trying all: equal
//! prices are not passed over (an older I/O farther out may still win a tie), only greater ones.
//!
//! The idea is old: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HP Laboratories
//! HPL-CSP-91-7, 1991. Cost: O(log n) to find the arm's cylinder, then as many prices as I/Os lie within reach. A longer
//! queue has a better best and so a narrower reach: on a Cheetah 9LP 4, 11, 25 and 49 prices at 8, 64, 512 and 4,096
//! waiting. When many wait on every single cylinder, the count grows with them again.

use std::ops::Range;

use crate::contract::Oracle;
use crate::freemap::{FreeMap, Slot, Track};
use crate::op::Op;
use crate::position::{ArmPosition, Arrival, Candidate, Choice, FreePlace, Search};
use crate::sorted::{Cursor, Sorted};
use crate::units::{Blocks, Duration, Instant, Pba};

/// I/Os that are priced between two looks at the bound: a processor prices a few side by side in less time than it
/// takes to find out that it need not have.
const RUN_MAX: usize = 4;

/// What [`Oracle::nearest`] gives unless an oracle knows better.
#[inline]
pub fn nearest<O: Oracle + ?Sized>(
    oracle: &O,
    now: Instant,
    waiting: &Sorted<Candidate>,
) -> Option<Choice> {
    least(oracle, waiting, |candidate| {
        oracle.positioning_time(now, candidate.op, &candidate.place)
    })
}

/// Of those that wait, the one with the least price, and of equals the oldest. No price may be below the oracle's `seek_at_least`.
#[inline]
pub fn least<O: Oracle + ?Sized>(
    oracle: &O,
    waiting: &Sorted<Candidate>,
    price: impl Fn(&Candidate) -> Duration,
) -> Option<Choice> {
    let head = oracle.head().cylinder;
    let middle = waiting.seek(&Candidate::lowest_key(head));
    let out_of_reach = |candidate: &Candidate, best: &Best| {
        let distance = head.abs_diff(candidate.place.cylinder);
        oracle.seek_at_least(distance) > best.time
    };
    let mut best = Best {
        time: Duration::MAX,
        sequence: u64::MAX,
        cursor: None,
    };
    let (mut up, mut down) = (middle, middle);
    let (mut up_ended, mut down_ended) = (false, false);
    while !(up_ended && down_ended) {
        if !up_ended {
            let run = waiting.run_from(up);
            let run = &run[..run.len().min(RUN_MAX)];
            up_ended = run.first().is_none_or(|first| out_of_reach(first, &best));
            if !up_ended {
                best.consider(run, up, &price);
                up = waiting.forward(up, run.len());
            }
        }
        if !down_ended {
            let run = waiting.run_before(down);
            let run = &run[run.len() - run.len().min(RUN_MAX)..];
            down_ended = run.last().is_none_or(|last| out_of_reach(last, &best));
            if !down_ended {
                down = waiting.back(down, run.len());
                best.consider(run, down, &price);
            }
        }
    }
    let Best { time, cursor, .. } = best;
    cursor.map(|cursor| Choice { cursor, time })
}

/// The best so far; before any, one that all others beat.
struct Best {
    time: Duration,
    sequence: u64,
    cursor: Option<Cursor>,
}

impl Best {
    #[inline]
    fn consider(
        &mut self,
        run: &[Candidate],
        start: Cursor,
        price: impl Fn(&Candidate) -> Duration,
    ) {
        for (offset, candidate) in run.iter().enumerate() {
            let time = price(candidate);
            if (time, candidate.sequence) < (self.time, self.sequence) {
                *self = Best {
                    time,
                    sequence: candidate.sequence,
                    cursor: Some(start.plus(offset)),
                };
            }
        }
    }
}

/// What [`Oracle::nearest_free`] gives unless an oracle knows better: tries every free slot. If the first of a track to come
/// is not in time for what follows, no other of this track is tried: it would end later still.
pub fn nearest_free<O: Oracle + ?Sized>(
    oracle: &O,
    search: &Search,
    free: &FreeMap,
) -> Option<FreePlace> {
    let tracks = free.tracks();
    let mut best = Nearest::new(oracle, search, free);
    for track in 0..(tracks.cylinders() * tracks.surfaces()) as usize {
        let slots = 0..u32::from(tracks.track(track).slots);
        best.consider(
            track,
            slots.filter(|number| free.next_on_track(track, *number) == Some(*number)),
        );
    }
    best.found
}

/// The same by track, for oracles that know the [`Oracle::angle_on_arrival`].
///
/// Cylinders are visited outward from the arm while moving there alone could still win; of a track, only the next free
/// slot matters. This is the order of hierarchical-range scheduling (Anand and others, Range writes, OSDI 2008). If an access
/// follows that may not be delayed, cylinders that are nearer to it are visited outward from there: between the two, the
/// ways to a slot and on from it are long together, and both walks end where they are too long for all that is left. Cost: a few
/// prices for each surface of the cylinders within reach, mostly one or two.
#[inline]
pub fn by_track<O: Oracle + ?Sized>(
    oracle: &O,
    search: &Search,
    free: &FreeMap,
) -> Option<FreePlace> {
    let mut best = Nearest::new(oracle, search, free);
    let here = oracle.head().cylinder;
    match &search.then {
        None => best.walk(
            here,
            |_| true,
            |distance| oracle.seek_at_least(distance),
            None,
        ),
        Some(then) => {
            let there = then.place.cylinder;
            let half = here.abs_diff(there).div_ceil(2);
            let nearer_here = |cylinder: u32| cylinder.abs_diff(here) <= cylinder.abs_diff(there);
            // The least way to a cylinder at this distance or beyond, and the least from there on to what follows.
            let way = |distance: u32| oracle.seek_at_least(distance);
            let on = |distance: u32| oracle.seek_at_least_after(distance.max(half));
            best.walk(here, nearer_here, way, Some((&on, then.by)));
            let way = |distance: u32| oracle.seek_at_least(distance.max(half));
            let on = |distance: u32| oracle.seek_at_least_after(distance);
            best.walk(
                there,
                |cylinder| !nearer_here(cylinder),
                way,
                Some((&on, then.by)),
            );
        }
    }
    best.found
}

/// The same by block, for oracles to whom a place costs its distance in blocks from `from`, a nanosecond a block.
///
/// Cylinders are visited outward from there, as far as their blocks could be nearer than the best. Of a track, only the free
/// slots on both sides matter. Cost: two prices for each track with a free slot in the cylinders within reach.
pub fn by_block<O: Oracle + ?Sized>(
    oracle: &O,
    search: &Search,
    free: &FreeMap,
    from: Pba,
) -> Option<FreePlace> {
    let tracks = free.tracks();
    let mut best = Nearest::new(oracle, search, free);
    let last = tracks.cylinders() - 1;
    let (low, high) = (search.low, search.high.min(last));
    let here = tracks.cylinder_at(from);
    for cylinder in here.max(low)..=high {
        if best.out_of_reach(search.now + Duration(tracks.blocks_to(from, cylinder, true).0)) {
            break;
        }
        best.consider_by_block(cylinder, from);
    }
    for cylinder in (low..here.min(high.saturating_add(1))).rev() {
        if best.out_of_reach(search.now + Duration(tracks.blocks_to(from, cylinder, false).0)) {
            break;
        }
        best.consider_by_block(cylinder, from);
    }
    best.found
}

/// The least way on from cylinders at some distance or beyond, and when it must be done.
type Onward<'a> = Option<(&'a dyn Fn(u32) -> Duration, Instant)>;

/// The earliest free_place so far.
struct Nearest<'a, O: ?Sized> {
    oracle: &'a O,
    search: &'a Search,
    free: &'a FreeMap,
    found: Option<FreePlace>,
    /// Whether a bound on the way to a write says something of what follows it.
    bounds_follow: bool,
}

impl<'a, O: Oracle + ?Sized> Nearest<'a, O> {
    fn new(oracle: &'a O, search: &'a Search, free: &'a FreeMap) -> Nearest<'a, O> {
        Nearest {
            oracle,
            search,
            free,
            found: None,
            bounds_follow: oracle.ends_where_it_writes(),
        }
    }

    /// Whether what cannot begin before `soonest` is out of the question.
    #[inline]
    fn out_of_reach(&self, soonest: Instant) -> bool {
        soonest >= self.search.before || self.found.is_some_and(|best| soonest > best.start)
    }

    /// Considers cylinders outward from one, as far as they belong to this walk and something there could win.
    #[inline]
    fn walk(
        &mut self,
        from: u32,
        belongs: impl Fn(u32) -> bool,
        way: impl Fn(u32) -> Duration,
        onward: Onward<'_>,
    ) {
        let (low, high) = (
            self.search.low,
            self.search.high.min(self.free.tracks().cylinders() - 1),
        );
        let farthest = from.saturating_sub(low).max(high.saturating_sub(from));
        for distance in 0..=farthest {
            let soonest = self.search.now + way(distance);
            let onward = onward.filter(|_| self.bounds_follow);
            let late = onward.is_some_and(|(onward, by)| soonest + onward(distance) > by);
            if late || self.out_of_reach(soonest) {
                return;
            }
            let below = from.checked_sub(distance);
            let above = (distance > 0).then(|| from + distance);
            for cylinder in [below, above].into_iter().flatten() {
                let within = (low..=high).contains(&cylinder) && belongs(cylinder);
                if within
                    && self.free.in_cylinder(cylinder) > 0
                    && !self.too_late(soonest, cylinder)
                {
                    self.consider_cylinder(cylinder);
                }
            }
        }
    }

    /// Whether what follows would come too late after a write in this cylinder that cannot begin before `soonest`.
    #[inline]
    fn too_late(&self, soonest: Instant, cylinder: u32) -> bool {
        let then = self.search.then.as_ref().filter(|_| self.bounds_follow);
        then.is_some_and(|then| {
            let distance = cylinder.abs_diff(then.place.cylinder);
            soonest + self.oracle.seek_at_least_after(distance) > then.by
        })
    }

    /// Whether a write in this cylinder that cannot begin before `soonest` could be the best.
    #[inline]
    fn could_win(&self, soonest: Instant, cylinder: u32) -> bool {
        !self.out_of_reach(soonest) && !self.too_late(soonest, cylinder)
    }

    /// Considers a cylinder's tracks: first the one under the heads, which needs no switch and mostly puts the others out of
    /// reach, then the others, to which the way is equally long.
    #[inline]
    fn consider_cylinder(&mut self, cylinder: u32) {
        let (oracle, now, surfaces) = (self.oracle, self.search.now, self.free.tracks().surfaces());
        let there =
            |surface| now + oracle.seek_time(now, Op::Write, ArmPosition { cylinder, surface });
        let own = oracle.head().surface.min(surfaces - 1);
        let (unswitched, switched) = (there(own), there((own + 1) % surfaces));
        if self.could_win(unswitched, cylinder) {
            self.consider_track(
                ArmPosition {
                    cylinder,
                    surface: own,
                },
                unswitched,
            );
        }
        for surface in (own + 1..surfaces).chain(0..own) {
            if !self.could_win(switched, cylinder) {
                return;
            }
            self.consider_track(ArmPosition { cylinder, surface }, switched);
        }
    }

    /// Considers the free slots of a track of which one must be the first to come under the heads, which are `there` first.
    #[inline]
    fn consider_track(&mut self, to: ArmPosition, there: Instant) {
        let track = self.free.tracks().number(to.cylinder, to.surface);
        if self.free.on_track(track) == 0 {
            return;
        }
        let (free, on) = (self.free, self.free.tracks().track(track));
        let arrival = self.oracle.angle_on_arrival(self.search.now, 0, to);
        let arrival = arrival.expect("the oracle searches by track");
        let passing = Passing::new(on, free.tracks().slot_blocks(), &arrival);
        let from = passing.slot;
        let Some(next) = free.next_on_track(track, from + 1) else {
            return;
        };
        let is_free = |number: &u32| free.next_on_track(track, *number) == Some(*number);
        let late = passing.late(on);
        if late.is_empty() {
            let soonest = there + passing.least_wait(next);
            if !self.could_win(soonest, to.cylinder) {
                return;
            }
        }
        self.consider(track, std::iter::once(next).chain(late.filter(is_free)));
    }

    /// Considers of each track of a cylinder the free slots that are nearest to a block on both sides.
    fn consider_by_block(&mut self, cylinder: u32, from: Pba) {
        let (free, tracks) = (self.free, self.free.tracks());
        if free.in_cylinder(cylinder) == 0 {
            return;
        }
        for surface in 0..tracks.surfaces() {
            let number = tracks.number(cylinder, surface);
            if free.on_track(number) == 0 {
                continue;
            }
            let on = tracks.track(number);
            let behind = from.0.saturating_sub(on.first.0);
            let middle = behind.div_ceil(tracks.slot_blocks().0);
            let middle = middle.min(u64::from(on.slots)) as u32;
            let above = free
                .next_on_track(number, middle)
                .filter(|slot| *slot >= middle);
            let below = free.last_before(number, middle);
            self.consider(number, above.into_iter().chain(below));
        }
    }

    /// Considers the first to come of these slots of a track.
    #[inline]
    fn consider(&mut self, track: usize, numbers: impl Iterator<Item = u32>) {
        let tracks = self.free.tracks();
        let land = |number| {
            let at = tracks.block(track, number);
            let place = self.oracle.locate(at);
            FreePlace {
                slot: Slot(tracks.track(track).first_slot + number),
                at,
                start: self.search.now
                    + self
                        .oracle
                        .positioning_time(self.search.now, Op::Write, &place),
            }
        };
        let order = |free_place: &FreePlace| (free_place.start, free_place.slot);
        let Some(first) = numbers.map(land).min_by_key(order) else {
            return;
        };
        let cylinder = track as u32 / tracks.surfaces();
        let within = (self.search.low..=self.search.high).contains(&cylinder);
        if !within || first.start >= self.search.before {
            return;
        }
        if self.found.is_none_or(|best| order(&first) < order(&best)) && self.in_time(first.at) {
            self.found = Some(first);
        }
    }

    /// Whether what follows a write there still finds its place in time.
    fn in_time(&self, at: Pba) -> bool {
        let Some(then) = &self.search.then else {
            return true;
        };
        let len = self.free.tracks().slot_blocks();
        let write = self.oracle.predict(self.search.now, Op::Write, at, len);
        write.end
            + self
                .oracle
                .positioning_time_after(&write, then.op, &then.place)
            <= then.by
    }
}

/// Nanoseconds by which the arithmetic of angles may be wrong, and more.
const TOLERANCE_NS: u64 = 16;

/// What of a track passes under the heads when they get there, as if no sector of it were skipped.
struct Passing {
    /// The slot, or the last one if none is left before the first comes round.
    slot: u32,
    /// Sectors that have passed since the first slot began, in 2^-32.
    passed: u64,
    slot_sectors: u64,
    sectors: u64,
    turn_ns: u64,
}

impl Passing {
    #[inline]
    fn new(on: &Track, slot: Blocks, arrival: &Arrival) -> Passing {
        let sectors = u64::from(on.sectors);
        let turned = u64::from(on.angle.until(arrival.angle).0);
        let passed = turned * sectors;
        let number = (passed >> 32) as u32 / slot.0 as u32;
        Passing {
            slot: number.min(u32::from(on.slots) - 1),
            passed,
            slot_sectors: slot.0,
            sectors,
            turn_ns: arrival.turn.0,
        }
    }

    /// Slots up to this one that may come before the next: one that has just begun, and those that sectors without a block
    /// move back, by no more than all of these together.
    #[inline]
    fn late(&self, on: &Track) -> Range<u32> {
        if on.straight {
            return self.slot + u32::from(!self.just_begun())..self.slot + 1;
        }
        let skipped = self.sectors - u64::from(on.slots) * self.slot_sectors;
        let slots = skipped / self.slot_sectors + 1;
        self.slot.saturating_sub(slots as u32)..self.slot + 1
    }

    /// Where a slot begins, in 2^-32 sectors behind the first.
    #[inline]
    fn begin(&self, slot: u32) -> u64 {
        (u64::from(slot) * self.slot_sectors) << 32
    }

    /// Whether the slot may be on time, by rounding.
    #[inline]
    fn just_begun(&self) -> bool {
        let since = self.passed - self.begin(self.slot);
        (since >> 16) * self.turn_ns <= TOLERANCE_NS * (self.sectors << 16)
    }

    /// The least time until another slot comes, or this one again.
    #[inline]
    fn least_wait(&self, next: u32) -> Duration {
        let round = if next <= self.slot {
            self.sectors << 32
        } else {
            0
        };
        let arc = self.begin(next) + round - self.passed;
        let wait_ns = (arc >> 16) * self.turn_ns / (self.sectors << 16);
        Duration(wait_ns.saturating_sub(TOLERANCE_NS))
    }
}

/// One direction for eager writes, until nothing is free farther on.
///
/// Alone they would keep the arm where it is until nothing is free there. So they look from the arm's cylinder on in one
/// direction only, and turn round where nothing lies ahead (Zhang and others, FAST 2002, section 4; the virtual-log disk of
/// OSDI 1999 began again at the first cylinder). The first sweep goes on as the writes before the run went: behind them few
/// slots are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Not known before the first search.
    upward: Option<bool>,
}

impl Sweep {
    /// The search for a free slot from `cylinder` on.
    pub fn search(&mut self, now: Instant, cylinder: u32, free: &FreeMap) -> Search {
        let last = free.tracks().cylinders() - 1;
        let cylinder = cylinder.min(last);
        let lies = |upward: bool| match upward {
            true => cylinder < last && free.any_in(cylinder + 1..=last),
            false => cylinder > 0 && free.any_in(0..=cylinder - 1),
        };
        let mut upward = self.upward(free);
        if !lies(upward) && lies(!upward) {
            upward = !upward;
        }
        self.upward = Some(upward);
        let (low, high) = if upward {
            (cylinder, last)
        } else {
            (0, cylinder)
        };
        Search {
            low,
            high,
            ..Search::anywhere(now)
        }
    }

    /// Whether it goes upward.
    pub fn upward(&self, free: &FreeMap) -> bool {
        self.upward.unwrap_or_else(|| free.left().upward)
    }
}
