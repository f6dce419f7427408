//! Where a write may begin, track by track, and the one that an arm reaches first.
//!
//! Free slots of a map and what is left of an offer are searched in the same way: only the next
//! place behind the heads, when they arrive on a track, can win there.

use std::ops::Range;

use crate::contract::Arm;
use crate::freemap::Track;
use crate::op::Op;
use crate::position::{ArmPosition, Arrival, Search};
use crate::units::{Blocks, Duration, Instant, Pba};

/// Places where a write may begin. On a track they are numbered from its begin, one each
/// [`Openings::step`] blocks.
pub(super) trait Openings {
    /// A track with a place, in the form in which it is asked about.
    type Track;
    /// What a place is called. Of equal places the lowest is taken.
    type Name: Copy + Ord;

    /// Surfaces of a cylinder.
    fn surfaces(&self) -> u32;

    /// Blocks from the begin of one place to the begin of the next.
    fn step(&self) -> Blocks;

    /// Blocks that are written.
    fn len(&self) -> Blocks;

    /// The track there, if a write may begin on it.
    fn track(&self, at: ArmPosition) -> Option<Self::Track>;

    /// Where it lies and how its places follow each other.
    fn of(&self, track: &Self::Track) -> Track;

    /// Its cylinder.
    fn cylinder(&self, track: &Self::Track) -> u32;

    /// The first place on it from this number on, round the track.
    fn next(&self, track: &Self::Track, from: u32) -> Option<u32>;

    /// What a place is called, and its first block.
    fn place(&self, track: &Self::Track, number: u32) -> (Self::Name, Pba);
}

/// A place that was found.
#[derive(Clone, Copy)]
pub(super) struct Found<N> {
    pub(super) name: N,
    pub(super) at: Pba,
    /// When the write begins there.
    pub(super) start: Instant,
}

/// A search, and the place that begins first so far.
pub(super) struct Nearest<'a, A: ?Sized, P: Openings> {
    pub(super) arm: &'a A,
    pub(super) search: &'a Search,
    pub(super) places: &'a P,
    pub(super) found: Option<Found<P::Name>>,
    /// Whether the distance from a place to the access that follows may rule the place out.
    pub(super) bounds_follow: bool,
}

impl<'a, A: Arm + ?Sized, P: Openings> Nearest<'a, A, P> {
    pub(super) fn new(arm: &'a A, search: &'a Search, places: &'a P) -> Nearest<'a, A, P> {
        Nearest {
            arm,
            search,
            places,
            found: None,
            bounds_follow: arm.ends_where_it_writes(),
        }
    }

    /// Whether a write that cannot begin before `soonest` cannot win.
    #[inline]
    pub(super) fn out_of_reach(&self, soonest: Instant) -> bool {
        soonest >= self.search.before || self.found.is_some_and(|best| soonest > best.start)
    }

    /// Whether a write in this cylinder, which cannot begin before `soonest`, would delay the
    /// access that follows.
    #[inline]
    pub(super) fn too_late(&self, soonest: Instant, cylinder: u32) -> bool {
        let then = self.search.then.as_ref().filter(|_| self.bounds_follow);
        then.is_some_and(|then| {
            let distance = cylinder.abs_diff(then.place.cylinder);
            soonest + self.arm.seek_at_least_after(distance) > then.by
        })
    }

    /// Whether a write in this cylinder, which cannot begin before `soonest`, could win.
    #[inline]
    fn could_win(&self, soonest: Instant, cylinder: u32) -> bool {
        !self.out_of_reach(soonest) && !self.too_late(soonest, cylinder)
    }

    /// Considers a cylinder's tracks. The track of the active head comes first: it needs no head
    /// switch, and its best place mostly rules the others out. To all other tracks the seek takes
    /// equally long.
    #[inline]
    pub(super) fn consider_cylinder(&mut self, cylinder: u32) {
        let (arm, now, surfaces) = (self.arm, self.search.now, self.places.surfaces());
        let len = self.places.len();
        let there =
            |surface| now + arm.seek_time(now, Op::Write, ArmPosition { cylinder, surface }, len);
        let own = arm.writes_from().surface.min(surfaces - 1);
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

    /// Considers those places of a track of which one must be the first under the heads. The heads
    /// are on the track at `there`.
    #[inline]
    fn consider_track(&mut self, to: ArmPosition, there: Instant) {
        let places = self.places;
        let Some(track) = places.track(to) else {
            return;
        };
        let on = places.of(&track);
        let arrival = self
            .arm
            .angle_on_arrival(self.search.now, 0, to, places.len());
        let arrival = arrival.expect("the oracle searches by track");
        let passing = Passing::new(&on, places.step(), &arrival);
        let Some(next) = places.next(&track, passing.slot + 1) else {
            return;
        };
        let is_free = |number: &u32| places.next(&track, *number) == Some(*number);
        let late = passing.late(&on);
        if late.is_empty() {
            let soonest = there + passing.least_wait(next);
            if !self.could_win(soonest, to.cylinder) {
                return;
            }
        }
        self.consider(&track, std::iter::once(next).chain(late.filter(is_free)));
    }

    /// Considers the place that begins first of these places of a track.
    #[inline]
    pub(super) fn consider(&mut self, track: &P::Track, numbers: impl Iterator<Item = u32>) {
        let land = |number| {
            let (name, at) = self.places.place(track, number);
            let place = self.arm.locate(at);
            let time =
                self.arm
                    .positioning_time(self.search.now, Op::Write, &place, self.places.len());
            let start = self.search.now + time;
            Found { name, at, start }
        };
        let order = |found: &Found<P::Name>| (found.start, found.name);
        let Some(first) = numbers.map(land).min_by_key(order) else {
            return;
        };
        let cylinder = self.places.cylinder(track);
        let within = (self.search.low..=self.search.high).contains(&cylinder);
        if !within || first.start >= self.search.before {
            return;
        }
        if self.found.is_none_or(|best| order(&first) < order(&best)) && self.in_time(first.at) {
            self.found = Some(first);
        }
    }

    /// Whether the access that follows still begins in time after a write there.
    fn in_time(&self, at: Pba) -> bool {
        let Some(then) = &self.search.then else {
            return true;
        };
        let len = self.places.len();
        let write = self.arm.predict(self.search.now, Op::Write, at, len);
        write.end
            + self
                .arm
                .positioning_time_after(&write, then.op, &then.place)
            <= then.by
    }
}

/// An upper bound of the error of the arithmetic of angles, in nanoseconds.
const TOLERANCE_NS: u64 = 16;

/// Which slot of a track is under the heads on arrival, computed as if no sector of the track were
/// skipped.
struct Passing {
    /// That slot; the last one if the heads are between the last slot and the first.
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

    /// Slots up to this one that may still begin before the next slot. If the track is straight,
    /// that is this slot if it has just begun. Otherwise skipped sectors move slots back, by no
    /// more than all skipped sectors of the track together.
    #[inline]
    fn late(&self, on: &Track) -> Range<u32> {
        if on.straight {
            return self.slot + u32::from(!self.just_begun())..self.slot + 1;
        }
        let skipped = self.sectors - u64::from(on.slots) * self.slot_sectors;
        let slots = skipped / self.slot_sectors + 1;
        self.slot.saturating_sub(slots as u32)..self.slot + 1
    }

    /// Begin of a slot, in 2^-32 sectors behind the begin of the first.
    #[inline]
    fn begin(&self, slot: u32) -> u64 {
        (u64::from(slot) * self.slot_sectors) << 32
    }

    /// Whether the slot began so short a time ago that it may have been rounding.
    #[inline]
    fn just_begun(&self) -> bool {
        let since = self.passed - self.begin(self.slot);
        (since >> 16) * self.turn_ns <= TOLERANCE_NS * (self.sectors << 16)
    }

    /// The least time until the slot `next` begins; a revolution later if that is this slot or one
    /// before it.
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
