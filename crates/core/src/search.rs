//! The nearest of many: which waiting I/O or free slot an arm can reach first, without trying all.
//!
//! Positioning is movement plus rotational latency. No I/O at a distance costs less than the arm's
//! [`seek_at_least`](Arm::seek_at_least), which never falls with distance. So the search walks outward from the arm's cylinder, up
//! and down in turns, and ends a side when its next I/O is too far to win. The choice is the same as by trying all. A side goes on
//! while its bound equals the best price, because an older I/O farther out may still win the tie.
//!
//! The idea is old: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HP Laboratories
//! HPL-CSP-91-7, 1991. Cost: O(log n) to find the arm's cylinder, then one price for each I/O within reach. In a longer queue
//! the best price is lower, so the reach is narrower: on a Cheetah 9LP 4, 11, 25 and 49 prices at 8, 64, 512 and 4,096
//! waiting I/Os. If many I/Os wait on every single cylinder, the count grows with them again.

use std::ops::Range;

use crate::contract::Arm;
use crate::freemap::{FreeMap, Slot, Track};
use crate::op::Op;
use crate::position::{ArmPosition, Arrival, Candidate, Choice, FreePlace, Search};
use crate::sorted::{Cursor, Sorted};
use crate::units::{Blocks, Duration, Instant, Pba};

/// I/Os that are priced between two looks at the bound. A processor computes a few prices in parallel faster than it evaluates
/// a branch after each.
const RUN_MAX: usize = 4;

/// The answer of [`Oracle::nearest`](crate::contract::Oracle::nearest) for an oracle with an arm.
#[inline]
pub fn nearest<A: Arm + ?Sized>(
    arm: &A,
    now: Instant,
    waiting: &Sorted<Candidate>,
) -> Option<Choice> {
    least(
        waiting,
        arm.position().cylinder,
        |distance| arm.seek_at_least(distance),
        |candidate| arm.positioning_time(now, candidate.op, &candidate.place),
    )
}

/// The waiting I/O with the least price, and of equals the oldest. `at_least` is a lower bound of all prices at a distance in
/// cylinders `from` this one or farther; 0 for all distances makes the search try all.
#[inline]
pub fn least(
    waiting: &Sorted<Candidate>,
    from: u32,
    at_least: impl Fn(u32) -> Duration,
    price: impl Fn(&Candidate) -> Duration,
) -> Option<Choice> {
    let middle = waiting.seek(&Candidate::lowest_key(from));
    let out_of_reach = |candidate: &Candidate, best: &Best| {
        let distance = from.abs_diff(candidate.place.cylinder);
        at_least(distance) > best.time
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

/// The best so far; at the beginning one that every candidate beats.
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

/// The answer of [`Oracle::nearest_free`](crate::contract::Oracle::nearest_free) for an arm that knows the
/// [`angle_on_arrival`](Arm::angle_on_arrival): a search by track.
///
/// We visit cylinders outward from the arm, as long as the seek alone could still win. On a track only the next free slot
/// matters. This is the order of hierarchical-range scheduling (Anand and others, Range writes, OSDI 2008).
///
/// If the write must not delay an access that follows, we walk outward from the arm and from the cylinder of that access. A
/// cylinder is visited by the walk that begins nearer to it. Each walk stops when the seek to the slot plus the seek on to the
/// access exceeds the deadline, because that sum only grows from there. Cost: a few prices for each surface of the
/// cylinders within reach, mostly one or two.
#[inline]
pub fn by_track<A: Arm + ?Sized>(arm: &A, search: &Search, free: &FreeMap) -> Option<FreePlace> {
    let mut best = Nearest::new(arm, search, free);
    let here = arm.position().cylinder;
    let Some(then) = &search.then else {
        best.walk(here, |_| true, |distance| arm.seek_at_least(distance), None);
        return best.found;
    };
    let there = then.place.cylinder;
    let half = here.abs_diff(there).div_ceil(2);
    let nearer_here = |cylinder: u32| cylinder.abs_diff(here) <= cylinder.abs_diff(there);
    // A cylinder that is nearer to the arm is at least half the way from the access that follows, and the other way round.
    let seek = |distance: u32| arm.seek_at_least(distance);
    let seek_on = |distance: u32| arm.seek_at_least_after(distance.max(half));
    best.walk(here, nearer_here, seek, Some((&seek_on, then.by)));
    let seek = |distance: u32| arm.seek_at_least(distance.max(half));
    let seek_on = |distance: u32| arm.seek_at_least_after(distance);
    let nearer_there = |cylinder: u32| !nearer_here(cylinder);
    best.walk(there, nearer_there, seek, Some((&seek_on, then.by)));
    best.found
}

/// The same for an arm whose price of a place is its distance in blocks from `from`, one nanosecond a block: a search by block.
///
/// We visit cylinders outward from there, as long as one of their blocks could be nearer than the best slot so far. On a track
/// only the next free slot on each side matters. Cost: two prices for each track with a free slot in the cylinders within reach.
pub fn by_block<A: Arm + ?Sized>(
    arm: &A,
    search: &Search,
    free: &FreeMap,
    from: Pba,
) -> Option<FreePlace> {
    let tracks = free.tracks();
    let mut best = Nearest::new(arm, search, free);
    let last = tracks.cylinders() - 1;
    let (low, high) = (search.low, search.high.min(last));
    let here = tracks.cylinder_at(from);
    // A cylinder with no slot in it or beyond is farther than time goes.
    let reached = |way: Blocks| Instant(search.now.0.saturating_add(way.0));
    for cylinder in here.max(low)..=high {
        if best.out_of_reach(reached(tracks.blocks_to(from, cylinder, true))) {
            break;
        }
        best.consider_by_block(cylinder, from);
    }
    for cylinder in (low..here.min(high.saturating_add(1))).rev() {
        if best.out_of_reach(reached(tracks.blocks_to(from, cylinder, false))) {
            break;
        }
        best.consider_by_block(cylinder, from);
    }
    best.found
}

/// A lower bound of the seek from cylinders at a distance or beyond on to the access that follows, and the deadline of that.
type Onward<'a> = Option<(&'a dyn Fn(u32) -> Duration, Instant)>;

/// A search, and the free slot that begins first so far.
struct Nearest<'a, A: ?Sized> {
    arm: &'a A,
    search: &'a Search,
    free: &'a FreeMap,
    found: Option<FreePlace>,
    /// Whether the distance from a slot to the access that follows may rule the slot out.
    bounds_follow: bool,
}

impl<'a, A: Arm + ?Sized> Nearest<'a, A> {
    fn new(arm: &'a A, search: &'a Search, free: &'a FreeMap) -> Nearest<'a, A> {
        Nearest {
            arm,
            search,
            free,
            found: None,
            bounds_follow: arm.ends_where_it_writes(),
        }
    }

    /// Whether a write that cannot begin before `soonest` cannot win.
    #[inline]
    fn out_of_reach(&self, soonest: Instant) -> bool {
        soonest >= self.search.before || self.found.is_some_and(|best| soonest > best.start)
    }

    /// Considers cylinders outward from one. Skips those that do not belong to this walk, and stops where nothing can win any more.
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

    /// Whether a write in this cylinder, which cannot begin before `soonest`, would delay the access that follows.
    #[inline]
    fn too_late(&self, soonest: Instant, cylinder: u32) -> bool {
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

    /// Considers a cylinder's tracks. The track of the active head comes first: it needs no head switch, and its best slot mostly
    /// rules the others out. To all other tracks the seek takes equally long.
    #[inline]
    fn consider_cylinder(&mut self, cylinder: u32) {
        let (arm, now, surfaces) = (self.arm, self.search.now, self.free.tracks().surfaces());
        let there =
            |surface| now + arm.seek_time(now, Op::Write, ArmPosition { cylinder, surface });
        let own = arm.position().surface.min(surfaces - 1);
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

    /// Considers those free slots of a track of which one must be the first under the heads. The heads are on the track at `there`.
    #[inline]
    fn consider_track(&mut self, to: ArmPosition, there: Instant) {
        let track = self.free.tracks().number(to.cylinder, to.surface);
        if self.free.on_track(track) == 0 {
            return;
        }
        let (free, on) = (self.free, self.free.tracks().track(track));
        let arrival = self.arm.angle_on_arrival(self.search.now, 0, to);
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

    /// Considers on each track of a cylinder the nearest free slot below a block and the nearest one above.
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

    /// Considers the slot that begins first of these slots of a track.
    #[inline]
    fn consider(&mut self, track: usize, numbers: impl Iterator<Item = u32>) {
        let tracks = self.free.tracks();
        let land = |number| {
            let at = tracks.block(track, number);
            let place = self.arm.locate(at);
            FreePlace {
                slot: Slot(tracks.track(track).first_slot + number),
                at,
                start: self.search.now
                    + self
                        .arm
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

    /// Whether the access that follows still begins in time after a write there.
    fn in_time(&self, at: Pba) -> bool {
        let Some(then) = &self.search.then else {
            return true;
        };
        let len = self.free.tracks().slot_blocks();
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

/// Which slot of a track is under the heads on arrival, computed as if no sector of the track were skipped.
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

    /// Slots up to this one that may still begin before the next slot. If the track is straight, that is this slot if it has just begun.
    /// Otherwise skipped sectors move slots back, by no more than all skipped sectors of the track together.
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

    /// The least time until the slot `next` begins; a revolution later if that is this slot or one before it.
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

/// The direction in which eager writes look for free slots.
///
/// If they took the nearest free slot in both directions, the arm would stay in one region until no slot is free there. So they
/// search from the arm's cylinder in one direction, and turn round when no slot is free ahead (Zhang and others, FAST 2002,
/// section 4; the virtual-log disk of OSDI 1999 began again at the first cylinder). The first sweep continues in the direction of
/// the writes that prepared the drive, because few slots are free behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// None before the first search.
    upward: Option<bool>,
}

impl Sweep {
    /// The search for a free slot from `cylinder` on, which turns the sweep round if no slot is free ahead.
    pub fn search(&mut self, now: Instant, cylinder: u32, free: &FreeMap) -> Search {
        let last = free.tracks().cylinders() - 1;
        let cylinder = cylinder.min(last);
        let any_ahead = |upward: bool| match upward {
            true => cylinder < last && free.any_in(cylinder + 1..=last),
            false => cylinder > 0 && free.any_in(0..=cylinder - 1),
        };
        let mut upward = self.upward(free);
        if !any_ahead(upward) && any_ahead(!upward) {
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

    /// Whether the sweep goes upward.
    pub fn upward(&self, free: &FreeMap) -> bool {
        self.upward.unwrap_or_else(|| free.left().upward)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;
    use crate::drive;
    use crate::freemap::Left;
    use crate::ids::IoId;
    use crate::position::{Place, Then};
    use crate::sched::desk::DISK;
    use crate::units::Angle;

    /// I/Os that wait, given by cylinder and rotational latency in ms, in order of age.
    fn waiting(places: &[(u32, u32)]) -> Sorted<Candidate> {
        let mut waiting = Sorted::default();
        for (sequence, (cylinder, latency_ms)) in places.iter().enumerate() {
            waiting.insert(Candidate {
                place: Place {
                    cylinder: *cylinder,
                    surface: 0,
                    angle: Angle(*latency_ms),
                },
                op: Op::Read,
                id: IoId(sequence as u32),
                sequence: sequence as u64,
            });
        }
        waiting
    }

    fn seek(distance: u32) -> Duration {
        Duration::from_ms(distance.into())
    }

    /// The age of the nearest from cylinder 5 on, its time in ms, and how many prices were computed; a seek takes 1 ms a cylinder.
    fn nearest_of(places: &[(u32, u32)]) -> (u64, u64, u32) {
        let (waiting, prices) = (waiting(places), Cell::new(0));
        let price = |candidate: &Candidate| {
            prices.set(prices.get() + 1);
            let Place {
                cylinder, angle, ..
            } = candidate.place;
            seek(cylinder.abs_diff(5)) + Duration::from_ms(angle.0.into())
        };
        let choice = least(&waiting, 5, seek, price).unwrap();
        let found = waiting.at(choice.cursor).unwrap();
        (found.sequence, choice.time.0 / 1_000_000, prices.get())
    }

    #[test]
    fn a_short_seek_and_a_short_latency_beat_a_long_latency_here() {
        let (age, time, _) = nearest_of(&[(5, 9), (7, 1)]);
        assert_eq!((age, time), (1, 3));
        let (age, time, _) = nearest_of(&[(5, 9), (3, 1)]);
        assert_eq!((age, time), (1, 3));
    }

    #[test]
    fn of_equals_the_oldest_wins_even_at_the_very_end_of_the_reach() {
        // The oldest costs 3 ms by its seek alone, which is no more than the 3 ms of the next one. Those at hand fill a run, so that
        // the bound is looked at before the oldest is priced.
        let places = [(8, 0), (5, 3), (5, 9), (5, 9), (5, 9)];
        let (age, time, prices) = nearest_of(&places);
        assert_eq!((age, time), (0, 3));
        assert_eq!(prices, 5);
    }

    #[test]
    fn what_lies_out_of_reach_is_not_priced() {
        let mut places = vec![(5, 1)];
        places.extend((0..100).map(|index| (20 + index, 0)));
        let (age, time, prices) = nearest_of(&places);
        assert_eq!((age, time), (0, 1));
        assert!(prices as usize <= RUN_MAX, "{prices} prices");
    }

    #[test]
    fn without_a_bound_every_one_is_priced() {
        let waiting = waiting(&[(0, 4), (9, 2), (90, 1)]);
        let price = |candidate: &Candidate| Duration::from_ms(candidate.place.angle.0.into());
        let choice = least(&waiting, 0, |_| Duration::ZERO, price).unwrap();
        assert_eq!(waiting.at(choice.cursor).unwrap().sequence, 2);
    }

    #[test]
    fn of_none_there_is_no_nearest() {
        let price = |_: &Candidate| Duration::ZERO;
        assert_eq!(least(&waiting(&[]), 3, seek, price), None);
    }

    /// The block that a search by track finds on the disk of [`crate::sched::desk`], and at which ms its write begins.
    fn found(free: &[u32], search: &Search) -> Option<(u64, u64)> {
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let tracks = Arc::new(blueprint.tracks(Blocks(1)).unwrap());
        let mut map = FreeMap::full(tracks);
        free.iter().for_each(|block| map.release(Slot(*block)));
        let arm = blueprint.exact_arm().unwrap();
        let found = by_track(&*arm, search, &map)?;
        Some((found.at.0, (found.start.0 + 500_000) / 1_000_000))
    }

    #[test]
    fn the_free_slot_that_passes_first_is_found_on_whatever_cylinder() {
        let anywhere = Search::anywhere(Instant::ZERO);
        assert_eq!(found(&[8, 14], &anywhere), Some((14, 4)));
        assert_eq!(found(&[8, 19], &anywhere), Some((8, 8)));
        // Block 30 has passed when the arm is on cylinder 3 at 2.5 ms, and comes again at 10 ms.
        assert_eq!(found(&[30], &anywhere), Some((30, 10)));
        assert_eq!(found(&[], &anywhere), None);
    }

    #[test]
    fn a_slot_outside_of_the_cylinders_or_too_late_is_not_found() {
        let now = Instant::ZERO;
        let from_cylinder_1 = Search {
            low: 1,
            ..Search::anywhere(now)
        };
        assert_eq!(found(&[3, 17], &from_cylinder_1), Some((17, 7)));
        let before = now + Duration::from_ms(5);
        let soon = Search {
            before,
            ..Search::anywhere(now)
        };
        assert_eq!(found(&[14], &soon), Some((14, 4)));
        assert_eq!(found(&[16], &soon), None);
    }

    #[test]
    fn a_slot_that_would_delay_what_follows_is_not_found() {
        // Block 27 lies on cylinder 2 and passes at 7 ms.
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let place = blueprint.exact().locate(Pba(27));
        let then = Then {
            op: Op::Read,
            place,
            by: Instant::ZERO + Duration::from_ms(7) + Duration::from_us(1),
        };
        let in_time = Search {
            then: Some(then),
            ..Search::anywhere(Instant::ZERO)
        };
        // Block 13 ends at 4 ms. Block 16 ends at 7 ms, and a seek of 0.5 ms follows.
        assert_eq!(found(&[13], &in_time), Some((13, 3)));
        assert_eq!(found(&[16], &in_time), None);
        // Cylinder 9 begins at 8.5 ms at the earliest.
        assert_eq!(found(&[99], &in_time), None);
    }

    #[test]
    fn a_sweep_turns_when_no_slot_is_free_ahead_and_not_before() {
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let mut free = FreeMap::full(Arc::new(blueprint.tracks(Blocks(1)).unwrap()));
        free.release(Slot(10));
        free.release(Slot(80));
        let mut sweep = Sweep::default();
        let mut range = |cylinder| {
            let search = sweep.search(Instant::ZERO, cylinder, &free);
            (search.low, search.high)
        };
        assert_eq!(range(5), (5, 9));
        assert_eq!(range(8), (0, 8));
        // Block 80 is free above, but block 10 is free ahead.
        assert_eq!(range(5), (0, 5));
        assert_eq!(range(1), (1, 9));
    }

    #[test]
    fn the_first_sweep_continues_as_the_drive_was_prepared() {
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let mut free = FreeMap::empty(Arc::new(blueprint.tracks(Blocks(1)).unwrap()));
        for upward in [true, false] {
            free.leave(Left { at: None, upward });
            let search = Sweep::default().search(Instant::ZERO, 5, &free);
            let expected = if upward { (5, 9) } else { (0, 5) };
            assert_eq!((search.low, search.high), expected);
        }
    }
}
