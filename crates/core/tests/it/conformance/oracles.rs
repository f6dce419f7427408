//! Every oracle, on a small disk and on a drive without mechanics: prices that a search may prune
//! by.

use std::cell::Cell;
use std::sync::Arc;

use nearslot_core::contract::{Arm, Blueprint, Oracle};
use nearslot_core::drive;
use nearslot_core::freemap::{FreeMap, Left, Slot, Tracks};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::position::{ArmPosition, Candidate, Search, Then};
use nearslot_core::rng::Rng;
use nearslot_core::search::Sweep;
use nearslot_core::sorted::Sorted;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::conformance::drives::{CAPPED, EMPIRICAL, SSD};
use crate::support::free::nearest_free;
use crate::support::{
    DISK, NULL, blueprint, carry_out, complete_disk, hoarding_disk, late_disk, oracle, sorting_disk,
};

pub(super) type Case<'a> = &'a dyn Fn(&dyn Oracle, &dyn Blueprint, Instant, &mut Rng);

type ArmCase<'a> = &'a dyn Fn(&dyn Arm, &dyn Blueprint, Instant, &mut Rng);

/// Calls a case with each oracle at random moments of a random run.
pub(super) fn for_all(case: Case<'_>) {
    let buffered = [
        complete_disk(),
        hoarding_disk(),
        sorting_disk(),
        late_disk(),
    ];
    let others = [DISK, NULL, EMPIRICAL, CAPPED, SSD];
    let all = || {
        others
            .into_iter()
            .chain(buffered.iter().map(String::as_str))
    };
    for sight in drive::oracle::TABLE {
        for text in all() {
            let blueprint = blueprint(text);
            let (mut oracle, mut drive) = (oracle(sight.name, &*blueprint), blueprint.drive());
            let (mut rng, mut now) = (Rng::stream(3, sight.name), Instant::ZERO);
            for _ in 0..200 {
                oracle.advance(now);
                case(&*oracle, &*blueprint, now, &mut rng);
                let command = Command {
                    io: IoId(0),
                    op: if rng.chance(0.5) { Op::Read } else { Op::Write },
                    at: Pba(rng.below(blueprint.capacity().0 - 64)),
                    len: Blocks(1 + rng.below(64)),
                    fua: false,
                };
                oracle.started(now, &command);
                let done = carry_out(&mut *drive, &mut now, &command);
                oracle.observed(now, &done);
                // Writes that come at once gather in a buffer.
                now += Duration(rng.below(2) * rng.below(20_000_000));
            }
        }
    }
}

/// Calls a case with each oracle that has an arm.
fn for_all_arms(case: ArmCase<'_>) {
    let arms = Cell::new(0);
    for_all(&|oracle, blueprint, now, rng| {
        if let Some(arm) = oracle.arm() {
            arms.set(arms.get() + 1);
            case(arm, blueprint, now, rng);
        }
    });
    assert!(arms.get() > 0, "no oracle has an arm");
}

#[test]
fn what_moves_has_an_arm_and_a_host_imagines_one_over_every_drive() {
    for text in [DISK, NULL, &complete_disk(), EMPIRICAL, CAPPED, SSD] {
        let blueprint = blueprint(text);
        let moves = blueprint.exact_arm().is_some();
        assert_eq!(moves, blueprint.revolution().is_some());
        let has_arm = |name: &str| oracle(name, &*blueprint).arm().is_some();
        assert_eq!(has_arm("exact"), moves);
        assert_eq!(has_arm("noisy"), moves);
        assert!(has_arm("distance"));
    }
}

#[test]
fn all_surfaces_but_the_active_one_are_equally_far() {
    let compared = Cell::new(0);
    for_all_arms(&|arm, blueprint, now, rng| {
        let Ok(tracks) = blueprint.tracks(Blocks(1)) else {
            return;
        };
        let cylinder = rng.below(tracks.cylinders().into()) as u32;
        let own = arm.writes_from().surface;
        let surfaces = (0..tracks.surfaces()).filter(|surface| *surface != own);
        let positions = surfaces.map(|surface| ArmPosition { cylinder, surface });
        let known = positions.filter(|to| arm.angle_on_arrival(now, 0, *to, Blocks(8)).is_some());
        let mut seeks = known.map(|to| arm.seek_time(now, Op::Write, to, Blocks(8)));
        if let Some(first) = seeks.next() {
            for seek in seeks {
                assert_eq!(seek, first, "cylinder {cylinder}");
                compared.set(compared.get() + 1);
            }
        }
    });
    assert!(compared.get() > 0, "no oracle knows the angle on arrival");
}

#[test]
fn the_least_seek_bounds_the_seek_and_that_bounds_the_positioning_time() {
    for_all_arms(&|arm, blueprint, now, rng| {
        for op in [Op::Read, Op::Write] {
            let place = arm.locate(Pba(rng.below(blueprint.capacity().0)));
            let least = arm.seek_at_least(arm.position().cylinder.abs_diff(place.cylinder));
            let seek = arm.seek_time(now, op, place.arm_position(), Blocks(8));
            let time = arm.positioning_time(now, op, &place, Blocks(8));
            assert!(least <= seek, "{least} is no lower bound of {seek}");
            let from = arm.writes_from().cylinder;
            let least = arm.write_at_least(from.abs_diff(place.cylinder));
            assert!(
                op != Op::Write || least <= seek,
                "{least} is no lower bound of {seek}"
            );
            assert!(seek <= time, "{time} is less than the seek, {seek}");
            if let Some(turn) = blueprint.revolution() {
                let wait = time - seek;
                assert!(wait < turn, "{wait} is more than a turn");
            }
        }
    });
}

#[test]
fn a_price_does_not_change_when_it_is_asked_again() {
    for_all(&|oracle, blueprint, now, rng| {
        for op in [Op::Read, Op::Write] {
            let at = Pba(rng.below(blueprint.capacity().0 - 8));
            let place = oracle.locate(at);
            let time = oracle.positioning_time(now, op, &place, Blocks(8));
            assert_eq!(oracle.positioning_time(now, op, &place, Blocks(8)), time);
            let time = oracle.service_time(now, op, at, Blocks(8));
            assert_eq!(oracle.service_time(now, op, at, Blocks(8)), time);
        }
    });
}

#[test]
fn the_service_time_ends_when_the_predicted_access_ends() {
    for_all_arms(&|arm, blueprint, now, rng| {
        for op in [Op::Read, Op::Write] {
            let at = Pba(rng.below(blueprint.capacity().0 - 8));
            let predicted = arm.predict(now, op, at, Blocks(8));
            let time = arm.service_time(now, op, at, Blocks(8));
            assert_eq!(now + time, predicted.end);
        }
    });
}

#[test]
fn the_least_seek_after_an_access_bounds_the_positioning_time_after_it() {
    for_all_arms(&|arm, blueprint, now, rng| {
        let (at, next) = (rng.below(12_700), rng.below(blueprint.capacity().0));
        let write = arm.predict(now, Op::Write, Pba(at), Blocks(8));
        let place = arm.locate(Pba(next));
        let least = arm.seek_at_least_after(write.arm.cylinder.abs_diff(place.cylinder));
        for op in [Op::Read, Op::Write] {
            assert!(least <= arm.positioning_time_after(&write, op, &place));
        }
    });
}

#[test]
fn the_least_seek_never_falls_with_distance() {
    for_all_arms(&|arm, blueprint, _, rng| {
        let last = arm.locate(Pba(blueprint.capacity().0 - 1)).cylinder;
        let distance = 1 + rng.below(u64::from(last)) as u32;
        assert!(arm.seek_at_least(distance - 1) <= arm.seek_at_least(distance));
    });
}

#[test]
fn the_nearest_is_what_trying_all_finds() {
    for_all(&|oracle, blueprint, now, rng| {
        let mut waiting = Sorted::default();
        for sequence in 0..rng.below(100) {
            waiting.insert(Candidate {
                place: oracle.locate(Pba(rng.below(blueprint.capacity().0))),
                op: if rng.chance(0.5) { Op::Read } else { Op::Write },
                id: IoId(sequence as u32),
                sequence,
                blocks: 1 + rng.below(20) as u32,
            });
        }
        let price = |c: &Candidate| {
            (
                oracle.positioning_time(now, c.op, &c.place, c.len()),
                c.sequence,
            )
        };
        let expected = waiting.iter().min_by_key(|c| price(c)).copied();
        let choice = oracle.nearest(now, &waiting);
        let found = choice.and_then(|choice| waiting.at(choice.cursor).copied());
        assert_eq!(found, expected);
    });
}

/// A map of the drive with some slots free: a share of all, or a few.
fn some_free(tracks: &Arc<Tracks>, rng: &mut Rng) -> FreeMap {
    let mut free = FreeMap::empty(Arc::clone(tracks));
    let all: Vec<Slot> = free.iter().collect();
    let share = [0.5, 0.1, 0.01, 0.002][rng.below(4) as usize];
    for slot in all {
        if !rng.chance(share) {
            free.take(slot);
        }
    }
    free
}

#[test]
fn the_nearest_free_slot_is_what_trying_all_finds() {
    let found = Cell::new(0);
    for slot in [8, 5] {
        for_all(&|oracle, blueprint, now, rng| {
            let tracks = Arc::new(blueprint.tracks(Blocks(slot)).expect("it has slots"));
            let free = some_free(&tracks, rng);
            let place = oracle.locate(Pba(rng.below(blueprint.capacity().0)));
            let start = now + oracle.positioning_time(now, Op::Read, &place, Blocks(8));
            let [one, other] = oracle.arm().map_or([0, 0], |arm| {
                let ends = [arm.position(), place.arm_position()];
                ends.map(|position| arm.track_cylinder(&tracks, position))
            });
            let on_the_way = Search {
                low: one.min(other),
                high: one.max(other),
                before: start,
                then: Some(Then {
                    op: Op::Read,
                    place,
                    by: start,
                }),
                now,
            };
            let sweep = Sweep::default().search(now, one, &free);
            let bounded = Search {
                before: start,
                ..sweep
            };
            for search in [Search::anywhere(now), sweep, bounded, on_the_way] {
                let expected = nearest_free(oracle, &search, &free);
                assert_eq!(oracle.nearest_free(&search, &free), expected, "{search:?}");
                found.set(found.get() + u32::from(expected.is_some()));
            }
        });
    }
    assert!(found.get() > 3_000, "{} searches found a slot", found.get());
}

#[test]
fn the_first_sweep_goes_on_as_the_one_before_went() {
    let tracks = Arc::new(blueprint(DISK).tracks(Blocks(8)).expect("it has slots"));
    let (last, middle) = (tracks.cylinders() - 1, tracks.cylinders() / 2);
    for upward in [true, false] {
        let mut free = FreeMap::empty(Arc::clone(&tracks));
        free.leave(Left { at: None, upward });
        let mut sweep = Sweep::default();
        let search = sweep.search(Instant::ZERO, middle, &free);
        let expected = if upward { (middle, last) } else { (0, middle) };
        assert_eq!((search.low, search.high), expected);
        assert_eq!(sweep.upward(&free), upward);
    }
}

#[test]
fn drives_and_oracles_begin_where_the_arm_rests() {
    for text in [DISK, &complete_disk()] {
        let first = blueprint(text);
        let at = Pba(first.capacity().0 / 2);
        let resting = first.resting(at);
        let arm = resting.exact_arm().expect("a disk has an arm");
        let usual = first.exact_arm().expect("a disk has an arm");
        assert_eq!(arm.position(), arm.locate(at).arm_position());
        assert_ne!(arm.position(), usual.position());
        let mut drive = resting.drive();
        let command = Command {
            io: IoId(0),
            op: Op::Read,
            at,
            len: Blocks(1),
            fua: false,
        };
        drive.submit(Instant::ZERO, &command);
        let due = drive.next_event().expect("the drive works");
        let done = drive.advance(due).expect("the drive is done");
        assert_eq!(done.cost.seek, Duration::ZERO);
    }
}

#[test]
fn what_is_predicted_happens() {
    let blueprint = blueprint(DISK);
    let mut exact = blueprint.exact_arm().expect("a disk has an arm");
    let mut drive = blueprint.drive();
    let (mut rng, mut now) = (Rng::stream(9, "predicted"), Instant::ZERO);
    for _ in 0..1_000 {
        let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
        let (at, next) = (Pba(rng.below(12_700)), Pba(rng.below(12_800)));
        let command = Command {
            io: IoId(0),
            op,
            at,
            len: Blocks(1 + rng.below(40)),
            fua: false,
        };
        let predicted = exact.predict(now, op, at, command.len);
        let place = exact.locate(next);
        let then = exact.positioning_time_after(&predicted, Op::Read, &place);
        exact.started(now, &command);
        drive.submit(now, &command);
        now = drive.next_event().expect("the drive works");
        let done = drive.advance(now).expect("the drive is done");
        exact.observed(now, &done);
        assert_eq!(predicted.end, now);
        assert_eq!(predicted.arm, exact.position());
        assert_eq!(
            exact.positioning_time(now, Op::Read, &place, Blocks(8)),
            then
        );
    }
}

#[test]
fn no_noise_is_exact() {
    let blueprint = blueprint(DISK);
    let (exact, silent) = (
        oracle("exact", &*blueprint),
        oracle("noisy:sigma_us=0", &*blueprint),
    );
    let mut rng = Rng::stream(5, "silent");
    for _ in 0..1_000 {
        let (now, at) = (Instant(rng.below(1 << 40)), Pba(rng.below(12_800)));
        let place = exact.locate(at);
        for op in [Op::Read, Op::Write] {
            let truth = exact.positioning_time(now, op, &place, Blocks(8));
            assert_eq!(silent.positioning_time(now, op, &place, Blocks(8)), truth);
        }
    }
}

/// How much later `noisy` sees a place than it is: the shortest way round, for errors wrap as turns
/// do.
fn error_ns(exact: &dyn Oracle, noisy: &dyn Oracle, now: Instant, at: u64) -> i64 {
    let (place, turn) = (exact.locate(Pba(at)), 10_000_000);
    let seen = noisy
        .positioning_time(now, Op::Read, &place, Blocks(8))
        .0
        .cast_signed();
    let off = seen
        - exact
            .positioning_time(now, Op::Read, &place, Blocks(8))
            .0
            .cast_signed();
    (off + turn / 2).rem_euclid(turn) - turn / 2
}

#[test]
fn noise_has_its_deviation_between_places_and_between_decisions() {
    let blueprint = blueprint(DISK);
    let exact = oracle("exact", &*blueprint);
    let mut noisy = oracle("noisy:sigma_us=200", &*blueprint);
    let flush = Command {
        io: IoId(0),
        op: Op::Flush,
        at: Pba(0),
        len: Blocks(0),
        fua: false,
    };
    let check = |errors: Vec<f64>| {
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / count).sqrt();
        assert!((deviation / 200_000.0 - 1.0).abs() < 0.05, "{deviation}");
        assert!(mean.abs() < 25_000.0, "{mean}");
    };
    let places = (0..4_000).map(|n| error_ns(&*exact, &*noisy, Instant(1_000), n * 3) as f64);
    check(places.collect());
    let decisions = (0..4_000).map(|n| {
        noisy.started(Instant(n), &flush);
        error_ns(&*exact, &*noisy, Instant(n * 1_000), 7_005) as f64
    });
    check(decisions.collect());
}
