//! Range writes over every oracle: the place that it finds in an offer is the one that trying all
//! places finds.

use std::cell::Cell;
use std::ops::Range;

use nearslot_core::contract::{Blueprint, Geometry, Oracle};
use nearslot_core::ids::IoId;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::offer::{Legal, Offer, Taken};
use nearslot_core::op::{Cost, Op, Status};
use nearslot_core::position::{ArmPosition, Landing};
use nearslot_core::rng::Rng;
use nearslot_core::search::offered::Reach;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::conformance::oracles::for_all;
use crate::reference::hdd::drive_of;

/// Ranges in order, from single blocks to most of the drive.
fn some_ranges(capacity: u64, rng: &mut Rng) -> Vec<Range<u64>> {
    let longest = [1, 9, 200, capacity / 2][rng.below(4) as usize];
    let (mut ranges, mut at) = (Vec::new(), rng.below(capacity / 2));
    for _ in 0..1 + rng.below(6) {
        let begin = at + rng.below((capacity / 8).max(1));
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
            taken.complete(std::iter::once(range), None);
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

/// The literal twin of all searches: it tries every place. Those of which a block is remapped are
/// left out if there are others.
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
            start: now + oracle.positioning_time(now, Op::Write, &place, Blocks(legal.len())),
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

/// The tracks of a drive hold all its blocks once, and every block where it is said to lie.
fn check_tracks(geometry: &dyn Geometry, capacity: u64) {
    let last = geometry.position_of(Pba(capacity - 1)).cylinder;
    let mut next = Pba(0);
    for cylinder in 0..=last + 1 {
        let blocks = geometry.cylinder_blocks(cylinder);
        assert_eq!(blocks.start, next, "cylinder {cylinder}");
        next = blocks.end;
        let mut tracks = Vec::new();
        for surface in 0..geometry.surfaces() {
            let at = ArmPosition { cylinder, surface };
            let Some(track) = geometry.track(at) else {
                continue;
            };
            let of_track = track.first..track.first + track.blocks;
            for block in of_track.start.0..of_track.end.0 {
                assert_eq!(geometry.position_of(Pba(block)), at, "block {block}");
            }
            tracks.push(of_track);
        }
        tracks.sort_by_key(|track| track.start);
        let ends = tracks.iter().map(|track| track.end);
        let begins = tracks.iter().map(|track| track.start).skip(1);
        assert!(begins.eq(ends.take(tracks.len().saturating_sub(1))));
        let of_all = tracks.first().zip(tracks.last());
        assert_eq!(
            of_all.map(|(first, last)| first.start..last.end),
            (!blocks.is_empty()).then_some(blocks)
        );
    }
    assert_eq!(next, Pba(capacity));
}

#[test]
fn the_tracks_of_a_drive_hold_all_its_blocks_once() {
    let seen = Cell::new(0);
    for_all(&|oracle, blueprint, now, _| {
        let geometry = oracle.arm().and_then(|arm| arm.geometry());
        if let Some(geometry) = geometry.filter(|_| now == Instant::ZERO) {
            check_tracks(geometry, blueprint.capacity().0);
            seen.set(seen.get() + 1);
        }
    });
    assert!(seen.get() > 2, "{} drives have tracks", seen.get());
    // Heads in turns, zones apart from each other, sectors that are skipped or lie elsewhere.
    let layouts = (0..400).filter_map(drive_of);
    let checked = layouts.map(|(_, blueprint)| {
        check_tracks(&**blueprint.mechanics(), blueprint.capacity().0);
    });
    assert!(checked.count() > 200);
}

#[test]
fn over_every_layout_the_nearest_place_is_what_trying_all_finds() {
    let (mut found, mut elsewhere) = (0, 0);
    for (seed, (_, blueprint)) in (0..400).filter_map(|seed| Some((seed, drive_of(seed)?))) {
        let mut rng = Rng::stream(seed, "layouts");
        let mut oracle = blueprint.exact();
        let mut now = Instant::ZERO;
        for _ in 0..30 {
            let capacity = blueprint.capacity().0;
            now += Duration(rng.below(20_000_000));
            let Some(offer) = some_offer(capacity, &mut rng) else {
                continue;
            };
            let (taken, epoch) = some_taken(&offer, &mut rng);
            let legal = Legal::new(&offer, 1 + rng.below(6), &taken, epoch);
            let expected = nearest(&*oracle, now, &legal);
            let landing = oracle.nearest_offered(now, Instant::NEVER, &legal);
            assert_eq!(landing, expected, "drive {seed}: {legal:?}");
            let Some(Landing { at, .. }) = landing else {
                continue;
            };
            found += 1;
            reaches_no_farther_than_told(&*oracle, now, &legal, landing);
            let len = Blocks(legal.len());
            elsewhere += u32::from(blueprint.mechanics().remapped(at, len));
            // Somewhere else next time: mostly there, sometimes far away.
            let at = if rng.chance(0.5) {
                at
            } else {
                Pba(rng.below(capacity))
            };
            let command = Command {
                io: IoId(0),
                op: Op::Write,
                at,
                len: Blocks(1),
                fua: false,
            };
            let time = oracle.service_time(now, Op::Write, at, Blocks(1));
            oracle.started(now, &command);
            now += time;
            oracle.observed(now, &done(&command));
        }
    }
    assert!(found > 3_000, "{found} searches found a place");
    assert!(
        elsewhere > 5,
        "{elsewhere} found one that is remapped, and no other"
    );
}

/// One that lies elsewhere may be far nearer, or farther, than its neighbours.
#[test]
fn nothing_is_ruled_out_beforehand_that_lies_elsewhere() {
    let mut elsewhere = 0;
    for (_, blueprint) in (0..400).filter_map(drive_of) {
        let geometry = blueprint.mechanics();
        let blocks = (0..blueprint.capacity().0).map(Pba);
        for at in blocks.filter(|at| geometry.remapped(*at, Blocks(1))) {
            let oracle = blueprint.exact();
            let offer = Offer::list(std::iter::once(at.0..at.0 + 1).collect(), 1).unwrap();
            let taken = Taken::default();
            let legal = Legal::new(&offer, 1, &taken, 0);
            let found = oracle.nearest_offered(Instant::ZERO, Instant::NEVER, &legal);
            reaches_no_farther_than_told(&*oracle, Instant::ZERO, &legal, found);
            elsewhere += 1;
        }
    }
    assert!(elsewhere > 100, "{elsewhere} blocks lie elsewhere");
}

/// What is told of an offer beforehand rules out no place that is found, and one remapped block
/// makes a run of them such.
fn reaches_no_farther_than_told(
    oracle: &dyn Oracle,
    now: Instant,
    legal: &Legal<'_>,
    found: Option<Landing>,
) {
    let arm = oracle.arm().expect("a disk has an arm");
    let reach = Reach::of(legal, Some(arm), Blocks(u64::MAX));
    let least = arm.write_at_least(reach.distance(arm.writes_from().cylinder));
    let start = found.expect("a place is found").start;
    assert!(
        now + least <= start,
        "{reach:?}: {least} after {now}, {start}"
    );
    let geometry = arm.geometry().expect("a disk has tracks");
    let span = legal.span();
    let one_by_one = span.clone().any(|at| geometry.remapped(Pba(at), Blocks(1)));
    let blocks = Blocks(span.end - span.start);
    assert_eq!(geometry.remapped(Pba(span.start), blocks), one_by_one);
    let anywhere = [0, u32::MAX - 1].map(|from| reach.distance(from)) == [0, 0];
    assert!(anywhere || !one_by_one, "{reach:?} of what lies elsewhere");
}

/// The drive has carried it out, and says nothing more.
fn done(command: &Command) -> DriveDone {
    DriveDone {
        io: command.io,
        op: command.op,
        at: command.at,
        len: command.len,
        status: Status::Done,
        cost: Cost::default(),
        arm: None,
    }
}

/// One that fits nowhere in what it offers is out of nobody's reach.
#[test]
fn an_offer_without_room_is_said_nothing_of() {
    let (_, blueprint) = (0..).find_map(drive_of).expect("a drive");
    let oracle = blueprint.exact();
    let offer = Offer::list(std::iter::once(4..8).collect(), 1).unwrap();
    let taken = Taken::default();
    let legal = Legal::new(&offer, 5, &taken, 0);
    assert!(legal.span().is_empty());
    let reach = Reach::of(&legal, oracle.arm(), blueprint.capacity());
    assert_eq!(
        [0, 7, u32::MAX - 1].map(|from| reach.distance(from)),
        [0; 3]
    );
}
