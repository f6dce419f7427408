//! A drive that is gone, while those that are left have errors.
//!
//! What was answered and is on a drive that is left, where it can be read, is not lost. Nothing
//! hangs, and a flush is not answered while a block is on drives that are gone alone.

use nearslot_core::ids::DriveId;
use nearslot_core::op::{Op, Status};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;
use nearslot_core::units::{Duration, Instant};

use crate::contents::failing::{Slip, written};
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};
use crate::support::number;

/// How often a command of a drive that is left fails.
const FAILS: f64 = 0.08;

/// What a life was like.
#[derive(Debug, Default)]
struct Tally {
    lives: u64,
    /// In which the buffer alone had something when a drive went.
    buffered: u64,
    failures: u64,
    requests: u64,
    compared: u64,
    refused: u64,
}

/// So many lives of each setup in the tests of every day; `NEARSLOT_LIVES` says another number.
pub(crate) fn lives() -> u64 {
    number("NEARSLOT_LIVES", 1)
}

/// All volumes with copies on different drives, each so often, with another drive gone each time.
fn each(mut life: impl FnMut(&Setup, u64, DriveId)) {
    let several = |setup: &&Setup| setup.copies > 1 && setup.spread();
    for (index, setup) in (0..).zip(SETUPS.iter().filter(several)) {
        for life_number in 0..lives() {
            let seed = 1_000 * life_number + index;
            let drives = setup.build("disk", "satf", seed).drives.len() as u64;
            life(setup, seed, DriveId(((seed + life_number) % drives) as u16));
        }
    }
}

/// A volume that was written as a whole; from now on a drive is gone, and the others fail so often.
fn alone(setup: &Setup, seed: u64, gone: DriveId, chance: impl Fn(u16) -> f64) -> Rig {
    let mut rig = written(setup, seed, Slip::None, |drive| chance(drive as u16));
    rig.failing.as_mut().expect("some fail").gone = vec![gone];
    rig
}

/// Requests come; then nothing fails any more but what is bad or gone.
fn use_up(rig: &mut Rig, setup: &Setup, seed: u64, tally: &mut Tally) {
    let mut rng = Rng::stream(seed, "load");
    load::churn(rig, setup, 30, &mut rng);
    rig.settle();
    load::scan(rig, setup, &mut rng);
    rig.settle();
    tally.lives += 1;
    tally.failures += rig.failing.as_mut().expect("some fail").calm();
    tally.requests += rig.failed;
}

/// The status of a request, when nothing is left to do.
fn ask(rig: &mut Rig, op: Op, start: u64, len: u64) -> Status {
    let before = rig.trace.len();
    rig.submit(op, start, len, 0);
    rig.settle();
    let mut replies = rig.trace[before..]
        .iter()
        .filter_map(|(_, action)| match action {
            Action::Reply(reply) => Some(reply.status),
            _ => None,
        });
    replies.next_back().expect("it is answered")
}

/// Every chunk can be read.
fn read_all(rig: &mut Rig, setup: &Setup, seed: u64, gone: DriveId) {
    for start in (0..rig.blocks()).step_by(setup.chunk as usize) {
        let len = setup.chunk.min(rig.blocks() - start);
        let status = ask(rig, Op::Read, start, len);
        assert!(
            status.is_done(),
            "{setup:?}, {seed}, {gone:?}: {start} {status:?}"
        );
    }
}

/// Whether the map is on the drive that is gone alone.
fn loses_its_map(setup: &Setup, gone: DriveId) -> bool {
    setup.place.contains("map=virtual_log") && gone == DriveId(0)
}

/// A flush that is answered has all blocks on drives that are left.
fn check_flush(rig: &mut Rig, gone: DriveId, tally: &mut Tally) -> Status {
    let status = ask(rig, Op::Flush, 0, 0);
    let lost = rig.contents.lost(gone);
    let setup = rig.contents.setup();
    assert!(
        !status.is_done() || lost.is_empty(),
        "{setup:?} without {gone:?}: a flush is answered, and {lost:?} are lost"
    );
    tally.refused += u64::from(!status.is_done());
    status
}

/// Reads that are not answered in time leave what there is, and writes something: everything can
/// still be read.
#[test]
fn what_was_not_answered_in_time_is_not_lost_with_another_drive() {
    let mut tally = Tally::default();
    each(|setup, seed, gone| {
        let mut rig = alone(setup, seed, gone, |_| FAILS);
        rig.failing.as_mut().expect("some fail").timeouts = 1.0;
        use_up(&mut rig, setup, seed, &mut tally);
        read_all(&mut rig, setup, seed, gone);
        let status = check_flush(&mut rig, gone, &mut tally);
        let expected = !loses_its_map(setup, gone);
        assert_eq!(status.is_done(), expected, "{setup:?}, {seed}, {gone:?}");
        tally.compared += rig.contents.compared;
    });
    assert!(tally.failures > 50 * tally.lives, "{tally:?}");
}

/// One drive is left of two, and some of its blocks cannot be read: the others are.
#[test]
fn what_can_be_read_on_the_drive_that_is_left_is_read() {
    let mut tally = Tally::default();
    each(|setup, seed, gone| {
        let mut rig = alone(setup, seed, gone, |_| FAILS);
        rig.failing.as_mut().expect("some fail").timeouts = 0.3;
        use_up(&mut rig, setup, seed, &mut tally);
        check_flush(&mut rig, gone, &mut tally);
        if setup.maps() || setup.copies > 2 {
            return;
        }
        for block in rig.left_of(gone) {
            let status = ask(&mut rig, Op::Read, block, 1);
            assert!(
                status.is_done(),
                "{setup:?}, {seed}, {gone:?}: {block} {status:?}"
            );
            tally.compared += 1;
        }
    });
    assert!(tally.failures > 50 * tally.lives, "{tally:?}");
    assert!(tally.compared > 1_000 * lives(), "{tally:?}");
}

/// Of three copies one is on a drive that is gone, and one on a drive with errors: the third
/// answers.
#[test]
fn one_good_drive_of_three_is_enough() {
    let mut tally = Tally::default();
    each(|setup, seed, gone| {
        if setup.copies < 3 || setup.foreground < 2 || loses_its_map(setup, gone) {
            return;
        }
        let bad = (gone.0 + 1) % 3;
        let mut rig = alone(
            setup,
            seed,
            gone,
            |drive| if drive == bad { FAILS } else { 0.0 },
        );
        rig.failing.as_mut().expect("some fail").timeouts = 0.3;
        use_up(&mut rig, setup, seed, &mut tally);
        assert_eq!(rig.contents.failed, 0, "{setup:?}, {seed}, {gone:?}");
        let status = check_flush(&mut rig, gone, &mut tally);
        assert!(status.is_done(), "{setup:?}, {seed}, {gone:?}");
    });
    assert!(tally.failures > 20 * tally.lives, "{tally:?}");
}

/// Of three copies the third is on a drive without the log: all data are left, and what is written
/// can be found no more.
#[test]
fn a_flush_fails_without_all_drives_that_have_the_log() {
    let setup = Setup::of("ew_array:dm=3:stripe_kib=8:map=log:nvram_entries=8");
    let mut rig = alone(setup, 1, DriveId(0), |_| 0.0);
    let mut tally = Tally::default();
    let columns = rig.drives() as u16 / 3;
    let status = check_flush(&mut rig, DriveId(0), &mut tally);
    assert!(
        status.is_done(),
        "the log is on the drive of the second copy"
    );
    rig.failing.as_mut().expect("some fail").gone = vec![DriveId(0), DriveId(columns)];
    let status = ask(&mut rig, Op::Flush, 0, 0);
    assert!(
        !status.is_done(),
        "drive {columns} has told that it is gone"
    );
    let status = ask(&mut rig, Op::Flush, 0, 0);
    assert!(!status.is_done(), "and it is known");
    let status = ask(&mut rig, Op::Read, 0, 8);
    assert!(status.is_done(), "the third copy is left");
}

/// Errors come first, then a drive goes while requests are under way: nothing is promised of what
/// it had alone, but nothing hangs or is claimed either.
#[test]
fn a_drive_that_goes_among_errors_leaves_nothing_waiting() {
    let mut tally = Tally::default();
    each(|setup, seed, gone| {
        let mut rig = written(setup, seed, Slip::None, |_| FAILS);
        rig.failing.as_mut().expect("some fail").timeouts = 0.5;
        let mut rng = Rng::stream(seed, "before");
        load::churn(&mut rig, setup, 15, &mut rng);
        load::storm(&mut rig, setup, &mut rng);
        rig.failing.as_mut().expect("some fail").gone = vec![gone];
        use_up(&mut rig, setup, seed, &mut tally);
        check_flush(&mut rig, gone, &mut tally);
        tally.compared += rig.contents.compared;
    });
    assert!(tally.failures > 50 * tally.lives, "{tally:?}");
}

/// It says that it is gone, then that all is well: nobody believes that any more.
#[test]
fn a_drive_that_was_gone_stays_gone() {
    let mut tally = Tally::default();
    each(|setup, seed, gone| {
        let mut traces = Vec::new();
        for resets in [false, true] {
            let mut rig = alone(setup, seed, gone, |_| FAILS);
            let failing = rig.failing.as_mut().expect("some fail");
            (failing.timeouts, failing.resets) = (0.5, resets);
            use_up(&mut rig, setup, seed, &mut tally);
            check_flush(&mut rig, gone, &mut tally);
            traces.push(rig.trace);
        }
        let [gone_for_good, reset] = &traces[..] else {
            panic!("two lives");
        };
        let pairs = gone_for_good.iter().zip(reset);
        let differ = pairs.into_iter().position(|(one, other)| one != other);
        assert_eq!(differ, None, "{setup:?}, {seed}, {gone:?}");
        assert_eq!(gone_for_good.len(), reset.len(), "{setup:?}, {seed}");
    });
    assert!(tally.failures > 50 * tally.lives, "{tally:?}");
}

/// Blocks of the whole volume that go bad, each on another drive than its neighbours: of every
/// chunk one copy is left.
fn spoil_all_but_one(rig: &mut Rig, setup: &Setup, seed: u64) {
    let mut rng = Rng::stream(seed, "spoil");
    let places = rig.contents.places(0..rig.blocks());
    let mut bad = Vec::new();
    for chunk in places.chunks(setup.chunk as usize) {
        let block = &chunk[rng.below(chunk.len() as u64) as usize];
        let mut copies: Vec<(DriveId, u64)> =
            block.iter().map(|(drive, at, _)| (*drive, *at)).collect();
        assert_eq!(copies.len(), setup.copies, "{setup:?}");
        copies.swap_remove(rng.below(copies.len() as u64) as usize);
        bad.extend(copies);
    }
    let failing = rig.failing.as_mut().expect("some fail");
    bad.into_iter()
        .for_each(|(drive, at)| failing.spoil(drive, at));
}

/// No copy has all that a request reads, but each chunk can be read somewhere.
#[test]
fn chunks_that_are_left_in_different_places_are_read() {
    let mut tally = Tally::default();
    let fixed = |setup: &&Setup| setup.copies > 1 && !setup.maps();
    for (seed, setup) in (0..).zip(SETUPS.iter().filter(fixed)) {
        for life in 0..lives() {
            let seed = 1_000 * life + seed;
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            spoil_all_but_one(&mut rig, setup, seed);
            let mut rng = Rng::stream(seed, "spans");
            let mut start = 0;
            while start < rig.blocks() {
                let len = (1 + rng.below(12 * setup.chunk)).min(rig.blocks() - start);
                let status = ask(&mut rig, Op::Read, start, len);
                assert!(
                    status.is_done(),
                    "{setup:?}, {seed}: {len} at {start} {status:?}"
                );
                start += len;
                tally.compared += len;
            }
            tally.lives += 1;
            tally.failures += rig.failing.as_mut().expect("some fail").calm();
        }
    }
    assert!(tally.failures > 100 * tally.lives, "{tally:?}");
}

/// Lets time pass until a drive writes a copy in spare time; which one.
fn until_a_copy_is_written(rig: &mut Rig) -> DriveId {
    let before = rig.trace.len();
    let copies = |(_, action): &(Instant, Action)| match action {
        Action::Start {
            drive,
            command,
            origin,
        } if command.op == Op::Write && origin.request.is_none() => Some(*drive),
        _ => None,
    };
    for _ in 0..1_000 {
        if let Some(drive) = rig.trace[before..].iter().find_map(copies) {
            return drive;
        }
        rig.run_until(rig.now + Duration::from_us(200));
    }
    panic!("no copy is written");
}

/// A copy is being written in spare time when all other drives go, and the next write of its chunk
/// comes: before that is found out, or after.
#[test]
fn a_write_waits_for_the_only_copy_that_is_left() {
    let mut tally = Tally::default();
    each(|setup, seed, _| {
        if setup.maps() || setup.foreground == setup.copies {
            return;
        }
        for finds_out in [false, true] {
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            rig.submit(Op::Write, 0, setup.chunk, 0);
            let left = until_a_copy_is_written(&mut rig);
            let others = (0..rig.drives() as u16).map(DriveId);
            let failing = rig.failing.as_mut().expect("some fail");
            failing.gone = others.filter(|drive| *drive != left).collect();
            if finds_out {
                rig.submit(Op::Flush, 0, 0, 0);
                rig.run_until(rig.now + Duration::from_us(500));
            }
            let before = rig.trace.len();
            rig.submit(Op::Write, 0, setup.chunk, 0);
            let starts = |(_, action): &(Instant, Action)| matches!(action, Action::Start { .. });
            let started = rig.trace[before..].iter().any(starts);
            rig.settle();
            assert!(
                !finds_out || !started,
                "{setup:?}: it is sent to a drive that is gone"
            );
            let has_failed = |(_, action): &(Instant, Action)| match action {
                Action::Reply(reply) => reply.request.op == Op::Write && !reply.status.is_done(),
                _ => false,
            };
            let failed = rig.trace[before..].iter().any(has_failed);
            assert!(!failed, "{setup:?}: a write has failed, {finds_out}");
            let status = ask(&mut rig, Op::Read, 0, setup.chunk);
            assert!(status.is_done(), "{setup:?}: it is left");
            tally.lives += 1;
        }
    });
    assert!(tally.lives >= 6 * lives(), "{tally:?}");
}

/// The requests after a number of actions that failed.
fn failed_since(rig: &Rig, before: usize) -> Vec<Op> {
    let failed = |(_, action): &(Instant, Action)| match action {
        Action::Reply(reply) if !reply.status.is_done() => Some(reply.request.op),
        _ => None,
    };
    rig.trace[before..].iter().filter_map(failed).collect()
}

/// A drive goes while delayed copies wait, and requests come faster than the others can serve them:
/// the copies that the buffer alone has do not wait until there is spare time, so a flush is
/// answered while there is none. Until then only flushes fail, if the buffer has room.
#[test]
fn what_the_buffer_alone_has_does_not_wait_for_spare_time() {
    let delays = |setup: &&Setup| setup.copies > setup.foreground;
    // Changes of a map that is kept wait for its writes, which wait among all the requests.
    let spread = |setup: &&Setup| setup.spread() && !setup.logs();
    for setup in SETUPS.iter().filter(delays).filter(spread) {
        for writes in [false, true] {
            let mut rig = alone(setup, 5, DriveId(0), |_| 0.0);
            rig.failing.as_mut().expect("one is gone").gone.clear();
            let mut rng = Rng::stream(5, "load");
            let begin = rig.now;
            let before = rig.trace.len();
            for number in 0..2_400_u64 {
                let (burst, rest) = (number.min(100), number.saturating_sub(100));
                rig.run_until(begin + Duration::from_us(500 * burst + 2_500 * rest));
                if number == 100 {
                    rig.failing.as_mut().expect("one is gone").gone = vec![DriveId(0)];
                }
                let chunk = rng.below(rig.blocks() / setup.chunk);
                let (op, len) = match rng.below(10) {
                    // Homes are read while their chunks are written elsewhere.
                    0..3 if number < 100 => (Op::Read, setup.chunk),
                    _ if number < 100 => (Op::Write, setup.chunk),
                    // A part of a chunk, or a whole one.
                    0 if writes => (Op::Write, 1 + rng.below(setup.chunk)),
                    1 if writes => (Op::Flush, 0),
                    _ => (Op::Read, setup.chunk),
                };
                rig.submit(op, chunk * setup.chunk, len, 0);
            }
            let last = rig.trace.len();
            rig.submit(Op::Flush, 0, 0, 0);
            rig.run_until(rig.now + Duration::from_us(50_000));
            let flushed = rig.trace[last..]
                .iter()
                .find_map(|(_, action)| match action {
                    Action::Reply(reply) if reply.request.op == Op::Flush => Some(reply.status),
                    _ => None,
                });
            assert_eq!(flushed, Some(Status::Done), "{setup:?}");
            rig.settle();
            let failed = failed_since(&rig, before);
            let others = failed.iter().filter(|op| **op != Op::Flush).count();
            assert!(others == 0 || setup.buffer <= 3, "{setup:?}: {failed:?}");
        }
    }
}

/// Submits a flush, and lets time pass until everything is answered.
fn flush(rig: &mut Rig) {
    rig.submit(Op::Flush, 0, 0, 0);
    while rig.stack.pending() > 0 {
        rig.run_until(rig.now + Duration::from_us(100));
    }
}

/// Writes and reads at once, then a flush, which is answered while copies still wait.
fn flush_after_a_burst(rig: &mut Rig, setup: &Setup, rng: &mut Rng) {
    for _ in 0..120 {
        let chunk = rng.below(rig.blocks() / setup.chunk);
        let op = if rng.chance(0.3) { Op::Read } else { Op::Write };
        rig.submit(op, chunk * setup.chunk, setup.chunk, 0);
        rig.run_until(rig.now + Duration::from_us(rng.below(1_000)));
    }
    flush(rig);
}

/// A drive goes, as a flush finds out, and the others often do not answer for a while: what an
/// answered flush has covered, and the buffer has, is written in the end.
#[test]
fn what_was_flushed_is_not_lost_if_its_last_copies_fail_to_be_written() {
    let mut tally = Tally::default();
    let delays = |setup: &&Setup| setup.copies > setup.foreground;
    let several = |setup: &&Setup| setup.spread() && !setup.logs() && delays(setup);
    for (index, setup) in (0..).zip(SETUPS.iter().filter(several)) {
        for life in 0..3 * lives() {
            let seed = 1_000 * life + index;
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            let mut rng = Rng::stream(seed, "load");
            flush_after_a_burst(&mut rig, setup, &mut rng);
            let gone = DriveId(rng.below(rig.drives()) as u16);
            tally.buffered += u64::from(!rig.contents.lost(gone).is_empty());
            let failing = rig.failing.as_mut().expect("some fail");
            failing.gone = vec![gone];
            flush(&mut rig);
            rig.failing.as_mut().expect("some fail").time_out(0.3);
            for _ in 0..200 {
                let chunk = rng.below(rig.blocks() / setup.chunk);
                rig.submit(Op::Read, chunk * setup.chunk, setup.chunk, 0);
                rig.run_until(rig.now + Duration::from_us(rng.below(20_000)));
            }
            rig.settle();
            tally.failures += rig.failing.as_mut().expect("some fail").calm();
            read_all(&mut rig, setup, seed, gone);
            let status = check_flush(&mut rig, gone, &mut tally);
            assert!(status.is_done(), "{setup:?}, {seed}, {gone:?}");
            tally.lives += 1;
        }
    }
    assert!(tally.failures > 20 * tally.lives, "{tally:?}");
    assert!(tally.buffered > tally.lives / 2, "{tally:?}");
}
