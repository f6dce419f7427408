//! Compaction in spare time: it makes empty tracks, comes to rest, delays nobody, and eager writes
//! profit from short pauses.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;
use nearslot_core::units::Duration;

use crate::contents::failing::{Slip, written};
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

fn compacting() -> impl Iterator<Item = &'static Setup> {
    SETUPS.iter().filter(|setup| setup.compacts())
}

/// Tracks of all drives on which nothing lies.
fn empty_tracks(rig: &Rig) -> usize {
    let drives = (0..rig.drives()).map(|drive| rig.stack.free(DriveId(drive as u16)).unwrap());
    let of_drive = |free: &nearslot_core::freemap::FreeMap| {
        let tracks = (0..(free.tracks().cylinders() * free.tracks().surfaces()) as usize)
            .filter(|track| free.tracks().track(*track).slots > 0);
        tracks
            .filter(|track| free.on_track(*track) == free.tracks().track(*track).slots)
            .count()
    };
    drives.map(of_drive).sum()
}

/// Mean milliseconds of writes that come in bursts with pauses between them, and how many tracks
/// are empty after a pause.
fn bursts(place: &'static str, pause: Duration) -> (f64, f64) {
    let setup = Setup {
        place,
        ..*SETUPS
            .iter()
            .find(|one| one.place == "eager:dilution=2")
            .unwrap()
    };
    let mut rig = Rig::new(&setup, "disk", "satf_ew", 3);
    let mut rng = Rng::stream(3, "bursts");
    let chunks = rig.blocks() / setup.chunk;
    let (mut empty, rounds) = (0, 150);
    for _ in 0..rounds {
        for _ in 0..6 {
            rig.submit(Op::Write, rng.below(chunks) * setup.chunk, setup.chunk, 0);
        }
        while rig.stack.pending() > 0 {
            rig.run_until(rig.now + Duration::from_us(100));
        }
        rig.run_until(rig.now + pause);
        empty += empty_tracks(&rig);
    }
    let replies = rig.trace.iter().filter_map(|(at, action)| match action {
        Action::Reply(reply) => Some(at.since(reply.request.arrived).as_ms()),
        _ => None,
    });
    let (sum, count) = replies.fold((0.0, 0.0), |(sum, count), ms| (sum + ms, count + 1.0));
    (sum / count, empty as f64 / f64::from(rounds))
}

#[test]
fn eager_writes_profit_from_short_pauses() {
    let gain = |pause| {
        let (without, none) = bursts("eager:dilution=1.25", pause);
        let (with, some) = bursts("eager:dilution=1.25:compact=true", pause);
        assert!(some > 5.0, "{some} tracks are empty, else {none}");
        assert!(none < 0.5, "{some} tracks are empty, else {none}");
        1.0 - with / without
    };
    // A tenth of a second is time for five moves or so, which serve a burst of six.
    let (short, long) = (gain(Duration::from_ms(100)), gain(Duration::from_ms(2_000)));
    assert!(short > 0.2, "{short} of a write's time");
    assert!(
        (short - long).abs() < 0.1,
        "{short}, and {long} from long pauses"
    );
}

#[test]
fn spare_time_makes_empty_tracks_and_then_rests() {
    for setup in compacting() {
        let mut rig = Rig::new(setup, "disk", "satf_ew", 1);
        let mut rng = Rng::stream(1, "compaction");
        rig.fill();
        rig.settle();
        load::churn(&mut rig, setup, 10, &mut rng);
        rig.settle();
        // With hardly a free slot there is no track to be had.
        let (moved, empty) = (rig.rules.moved, empty_tracks(&rig));
        let full = setup.place.contains("dilution=1.004");
        assert_eq!(moved > 50, !full, "{moved} moves: {setup:?}");
        assert_eq!(empty > 5, !full, "{empty} tracks are empty: {setup:?}");
    }
}

#[test]
fn a_request_waits_for_one_move_at_most() {
    let setup = compacting().next().expect("there is one");
    let mut rig = Rig::new(setup, "disk", "satf_ew", 1);
    let mut rng = Rng::stream(1, "waits");
    rig.fill();
    while rig.stack.pending() > 0 {
        rig.run_until(rig.now + Duration::from_ms(1));
    }
    let mut met = 0;
    for round in 0..400 {
        rig.run_until(rig.now + Duration::from_us(rng.below(60_000)));
        let chunk = rng.below(rig.blocks() / setup.chunk);
        let busy = rig.stack.waiting_on(DriveId(0));
        assert!(busy <= 1, "{busy} I/Os of its own");
        let before = rig.trace.len();
        // Writes make holes, so that there is always something to move.
        let op = if round % 2 == 0 { Op::Read } else { Op::Write };
        rig.submit(op, chunk * setup.chunk, setup.chunk, 0);
        while rig.stack.pending() > 0 {
            rig.run_until(rig.now + Duration::from_us(20));
        }
        let started = |(_, action): &&(_, Action)| matches!(action, Action::Start { .. });
        let starts = rig.trace[before..].iter().filter(started).count();
        // Its own, and perhaps one in the time that passes behind it.
        assert!(starts <= 2, "{starts} I/Os began before it was answered");
        met += busy;
    }
    assert!(met > 20, "only {met} came while something was moved");
}

/// What cannot be written elsewhere stays where it is, and is not tried for ever.
#[test]
fn spare_time_rests_though_no_block_can_be_moved() {
    for (seed, setup) in compacting().enumerate() {
        let seed = seed as u64;
        let mut rig = written(setup, seed, Slip::None, |_| 0.0);
        let mut rng = Rng::stream(seed, "load");
        load::storm(&mut rig, setup, &mut rng);
        while rig.stack.pending() > 0 {
            rig.run_until(rig.now + Duration::from_us(100));
        }
        let failing = rig.failing.as_mut().expect("some fail");
        failing.all_writes = true;
        rig.settle();
        let failures = rig.failing.as_mut().expect("some fail").calm();
        // With hardly a free slot there is nowhere to move to.
        let full = setup.place.contains("dilution=1.004");
        assert_eq!(failures > 0, !full, "{failures} failures: {setup:?}");
    }
}
