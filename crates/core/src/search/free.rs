//! The free slot of a map that a write reaches first.

use crate::contract::Arm;
use crate::freemap::{FreeMap, Slot, Track};
use crate::position::{ArmPosition, FreePlace, Search};
use crate::units::{Blocks, Duration, Instant, Pba};

use super::openings::{Found, Nearest, Openings};

/// The answer of [`Oracle::nearest_free`](crate::contract::Oracle::nearest_free) for an arm that
/// knows the [`angle_on_arrival`](Arm::angle_on_arrival): a search by track.
///
/// We visit cylinders outward from the arm, as long as the seek alone could still win. On a track
/// only the next free slot matters. This is the order of hierarchical-range scheduling (Anand and
/// others, Range writes, OSDI 2008).
///
/// If the write must not delay an access that follows, we walk outward from the arm and from the
/// cylinder of that access. A cylinder is visited by the walk that begins nearer to it. Each walk
/// stops when the seek to the slot plus the seek on to the access exceeds the deadline, because
/// that sum only grows from there. Cost: a few prices for each surface of the cylinders within
/// reach, mostly one or two.
#[inline]
pub fn by_track<A: Arm + ?Sized>(arm: &A, search: &Search, free: &FreeMap) -> Option<FreePlace> {
    let mut best = Nearest::new(arm, search, free);
    let here = arm.writes_from().cylinder;
    let Some(then) = &search.then else {
        best.walk(
            here,
            |_| true,
            |distance| arm.write_at_least(distance),
            None,
        );
        return best.slot();
    };
    let there = then.place.cylinder;
    let half = here.abs_diff(there).div_ceil(2);
    let nearer_here = |cylinder: u32| cylinder.abs_diff(here) <= cylinder.abs_diff(there);
    // A cylinder that is nearer to the arm is at least half the way from the access that follows,
    // and the other way round.
    let seek = |distance: u32| arm.write_at_least(distance);
    let seek_on = |distance: u32| arm.seek_at_least_after(distance.max(half));
    best.walk(here, nearer_here, seek, Some((&seek_on, then.by)));
    let seek = |distance: u32| arm.write_at_least(distance.max(half));
    let seek_on = |distance: u32| arm.seek_at_least_after(distance);
    let nearer_there = |cylinder: u32| !nearer_here(cylinder);
    best.walk(there, nearer_there, seek, Some((&seek_on, then.by)));
    best.slot()
}

/// The same for an arm whose price of a place is its distance in blocks from `from`, one nanosecond
/// a block: a search by block.
///
/// We visit cylinders outward from there, as long as one of their blocks could be nearer than the
/// best slot so far. On a track only the next free slot on each side matters. Cost: two prices for
/// each track with a free slot in the cylinders within reach.
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
    best.slot()
}

/// A lower bound of the seek from cylinders at a distance or beyond on to the access that follows,
/// and the deadline of that.
type Onward<'a> = Option<(&'a dyn Fn(u32) -> Duration, Instant)>;

impl Openings for FreeMap {
    type Track = usize;
    type Name = Slot;

    #[inline]
    fn surfaces(&self) -> u32 {
        self.tracks().surfaces()
    }

    #[inline]
    fn step(&self) -> Blocks {
        self.tracks().slot_blocks()
    }

    #[inline]
    fn len(&self) -> Blocks {
        self.tracks().slot_blocks()
    }

    #[inline]
    fn track(&self, at: ArmPosition) -> Option<usize> {
        let track = self.tracks().number(at.cylinder, at.surface);
        (self.on_track(track) > 0).then_some(track)
    }

    #[inline]
    fn of(&self, track: &usize) -> Track {
        *self.tracks().track(*track)
    }

    #[inline]
    fn cylinder(&self, track: &usize) -> u32 {
        *track as u32 / self.tracks().surfaces()
    }

    #[inline]
    fn next(&self, track: &usize, from: u32) -> Option<u32> {
        self.next_on_track(*track, from)
    }

    #[inline]
    fn place(&self, track: &usize, number: u32) -> (Slot, Pba) {
        let tracks = self.tracks();
        let slot = Slot(tracks.track(*track).first_slot + number);
        (slot, tracks.block(*track, number))
    }
}

impl<A: Arm + ?Sized> Nearest<'_, A, FreeMap> {
    /// What was found.
    fn slot(self) -> Option<FreePlace> {
        let free_place = |found: Found<Slot>| FreePlace {
            slot: found.name,
            at: found.at,
            start: found.start,
        };
        self.found.map(free_place)
    }

    /// Considers cylinders outward from one. Skips those that do not belong to this walk, and stops
    /// where nothing can win any more.
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
            self.search.high.min(self.places.tracks().cylinders() - 1),
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
                    && self.places.in_cylinder(cylinder) > 0
                    && !self.too_late(soonest, cylinder)
                {
                    self.consider_cylinder(cylinder);
                }
            }
        }
    }

    /// Considers on each track of a cylinder the nearest free slot below a block and the nearest
    /// one above.
    fn consider_by_block(&mut self, cylinder: u32, from: Pba) {
        let (free, tracks) = (self.places, self.places.tracks());
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
            self.consider(&number, above.into_iter().chain(below));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drive;
    use crate::op::Op;
    use crate::position::Then;
    use crate::sched::desk::DISK;

    /// The block that a search by track finds on the disk of [`crate::sched::desk`], and at which
    /// ms its write begins.
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
}
