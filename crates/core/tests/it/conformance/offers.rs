//! Range writes over every oracle: the place that it finds in an offer is the one that trying all places finds.

use std::cell::Cell;
use std::ops::Range;

use nearslot_core::contract::{Geometry, Oracle};
use nearslot_core::offer::{Legal, Offer, Taken};
use nearslot_core::op::Op;
use nearslot_core::position::{ArmPosition, Landing};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::conformance::oracles::for_all;

/// Ranges in order, from single blocks to most of the drive.
fn some_ranges(capacity: u64, rng: &mut Rng) -> Vec<Range<u64>> {
    let longest = [1, 9, 200, capacity / 2][rng.below(4) as usize];
    let (mut ranges, mut at) = (Vec::new(), rng.below(capacity / 2));
    for _ in 0..1 + rng.below(6) {
        let begin = at + rng.below(capacity / 8);
        at = begin + 1 + rng.below(longest);
        if at > capacity {
            break;
        }
        ranges.push(begin..at);
    }
    ranges
}

/// The same as a list, or as bits.
fn some_offer(capacity: u64, rng: &mut Rng) -> Option<Offer> {
    let ranges = some_ranges(capacity, rng);
    let align = [1, 4, 8][rng.below(3) as usize];
    let (first, last) = (ranges.first()?.start, ranges.last()?.end);
    if rng.chance(0.5) {
        return Some(Offer::list(ranges, align).unwrap());
    }
    let mut words = vec![0_u64; (last - first).div_ceil(64) as usize];
    for block in ranges.into_iter().flatten() {
        words[((block - first) / 64) as usize] |= 1 << ((block - first) % 64);
    }
    Some(Offer::bits(first, last - first, words, align).unwrap())
}

/// Blocks that others have taken, some of which the host knows of.
fn some_taken(offer: &Offer, rng: &mut Rng) -> (Taken, u64) {
    let mut taken = Taken::default();
    for _ in 0..rng.below(6) {
        let at = rng.below(offer.end());
        let range = at..at + 1 + rng.below(40);
        taken.take(&range);
        if rng.chance(0.7) {
            taken.complete(std::iter::once(range));
        }
    }
    let epoch = rng.below(taken.completions() + 1);
    (taken, epoch)
}

/// Where a write may begin.
fn all_places(legal: &Legal<'_>) -> Vec<u64> {
    let mut from = 0;
    let next = || {
        let at = legal.first(from, u64::MAX)?;
        from = at + 1;
        Some(at)
    };
    std::iter::from_fn(next).collect()
}

/// The literal twin of all searches: it tries every place. Those of which a block is remapped are left out if there are others.
fn nearest(oracle: &dyn Oracle, now: Instant, legal: &Legal<'_>) -> Option<Landing> {
    let geometry = oracle.arm().and_then(|arm| arm.geometry());
    let at_home = |at: &u64| {
        let remapped = |all: &dyn Geometry| all.remapped(Pba(*at), Blocks(legal.len()));
        !geometry.is_some_and(remapped)
    };
    let all = all_places(legal);
    let mut tried: Vec<u64> = all.iter().copied().filter(at_home).collect();
    if tried.is_empty() {
        tried.extend(all.first());
    }
    let landings = tried.into_iter().map(|at| {
        let place = oracle.locate(Pba(at));
        Landing {
            at: Pba(at),
            start: now + oracle.positioning_time(now, Op::Write, &place),
        }
    });
    landings.min_by_key(|landing| (landing.start, landing.at))
}

#[test]
fn the_nearest_place_of_an_offer_is_what_trying_all_finds() {
    let (found, alone) = (Cell::new(0), Cell::new(0));
    for len in [1, 8, 5] {
        for_all(&|oracle, blueprint, now, rng| {
            let Some(offer) = some_offer(blueprint.capacity().0, rng) else {
                return;
            };
            let (taken, epoch) = some_taken(&offer, rng);
            let legal = Legal::new(&offer, len, &taken, epoch);
            let expected = nearest(oracle, now, &legal);
            let anywhere = oracle.nearest_offered(now, Instant::NEVER, &legal);
            assert_eq!(anywhere, expected, "{legal:?}");
            let before = now + Duration(rng.below(9_000_000));
            let in_time = expected.filter(|landing| landing.start < before);
            assert_eq!(oracle.nearest_offered(now, before, &legal), in_time);
            found.set(found.get() + u32::from(expected.is_some()));
            alone.set(alone.get() + u32::from(in_time.is_some()));
        });
    }
    let (found, alone) = (found.get(), alone.get());
    assert!(found > 5_000, "{found} searches found a place");
    assert!(alone > 1_000 && alone < found, "{alone} found one in time");
}

#[test]
fn the_tracks_of_a_drive_hold_all_its_blocks_once() {
    let seen = Cell::new(0);
    for_all(&|oracle, blueprint, now, _| {
        let geometry = oracle.arm().and_then(|arm| arm.geometry());
        let Some(geometry) = geometry.filter(|_| now == Instant::ZERO) else {
            return;
        };
        let last = geometry
            .position_of(Pba(blueprint.capacity().0 - 1))
            .cylinder;
        let mut next = Pba(0);
        for cylinder in 0..=last {
            let blocks = geometry.cylinder_blocks(cylinder);
            assert_eq!(blocks.start, next, "cylinder {cylinder}");
            next = blocks.end;
            let surfaces = 0..geometry.surfaces();
            let tracks =
                surfaces.filter_map(|surface| geometry.track(ArmPosition { cylinder, surface }));
            let mut tracks: Vec<Range<Pba>> = tracks
                .map(|track| track.first..track.first + track.blocks)
                .collect();
            tracks.sort_by_key(|track| track.start);
            let ends = tracks.iter().map(|track| track.end);
            let begins = tracks.iter().map(|track| track.start).skip(1);
            assert!(begins.eq(ends.take(tracks.len().saturating_sub(1))));
            let of_all = tracks.first().zip(tracks.last());
            assert_eq!(
                of_all.map(|(first, last)| first.start..last.end),
                (!blocks.is_empty()).then_some(blocks)
            );
            for track in tracks {
                assert_eq!(geometry.position_of(track.start).cylinder, cylinder);
            }
        }
        assert_eq!(next, Pba(blueprint.capacity().0));
        seen.set(seen.get() + 1);
    });
    assert!(seen.get() > 2, "{} drives have tracks", seen.get());
}
