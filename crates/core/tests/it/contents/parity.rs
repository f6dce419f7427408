//! Drives whose rows tell what one of them does not: one may fail or be gone, and nobody pays with
//! a request; with a second one nothing is made up.
//!
//! The planted faults below stay: what a placement leaves out of its plans has to be seen.

use std::ops::Range;

use nearslot_core::ids::DriveId;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;
use nearslot_core::units::Duration;

use crate::contents::failing::{Slip, use_up, written};
use crate::contents::faults::is_seen;
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

pub(crate) fn setups() -> impl Iterator<Item = (u64, &'static Setup)> {
    let with_parity = SETUPS.iter().filter(|setup| setup.parity());
    (0..).zip(with_parity)
}

/// Drives of an array.
pub(crate) fn width(setup: &Setup) -> usize {
    let drives = setup.build("disk", "satf", 1).drives.len();
    (drives - setup.spares()) / setup.arrays()
}

/// Lives of a setup: in the tests of every day one of three, another one for the next setup;
/// `NEARSLOT_LIVES` says how many.
pub(crate) fn lives(index: u64) -> Range<u64> {
    let told = std::env::var("NEARSLOT_LIVES").ok();
    match told.map(|lives| lives.parse().expect("a number")) {
        Some(lives) => 0..lives,
        None => index % 3..index % 3 + 1,
    }
}

/// What the placement has counted.
pub(crate) fn counted(rig: &Rig, name: &str) -> u64 {
    let mut sum = 0;
    rig.stack.tell(&mut |_, measure, number| {
        if measure.name == name {
            sum += number;
        }
    });
    sum
}

/// The whole volume can be read.
pub(crate) fn read_all(rig: &mut Rig) {
    let failed = rig.failed;
    let blocks = rig.blocks();
    for start in (0..blocks).step_by(96) {
        rig.submit(Op::Read, start, 96.min(blocks - start), 0);
    }
    rig.settle();
    assert_eq!(rig.failed, failed, "{:?}", rig.contents.setup());
}

pub(crate) fn gone(rig: &mut Rig, drives: &[u16]) {
    let drives = drives.iter().copied().map(DriveId).collect();
    rig.failing.as_mut().expect("some fail").gone = drives;
}

/// One drive of the first array errs: it costs no request, and all that was written is there
/// without any other one.
fn check_one_bad_drive(slip: Slip) {
    let (mut failures, mut rebuilt) = (0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let width = width(setup);
            let bad = seed as usize % width;
            let chance = |drive: usize| if drive == bad { 0.15 } else { 0.0 };
            let mut rig = written(setup, seed, slip, chance);
            rig.failing.as_mut().expect("some fail").timeouts = [0.0, 0.5, 1.0][life as usize % 3];
            let mut rig = use_up(rig, setup, seed);
            assert_eq!(rig.failed, 0, "{setup:?}");
            failures += rig.failing.as_mut().expect("some fail").calm();
            read_all(&mut rig);
            gone(&mut rig, &[bad as u16]);
            read_all(&mut rig);
            assert_eq!(counted(&rig, "lost"), 0, "{setup:?}");
            rebuilt += rig.contents.rebuilt;
        }
    }
    assert!(failures > 400, "only {failures} commands failed");
    assert!(rebuilt > 10_000, "only {rebuilt} blocks were computed");
}

/// A drive goes, at once or among requests: all is there, nothing more is sent to it, and a flush
/// is answered.
fn check_gone(slip: Slip) {
    let mut rebuilt = 0;
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, slip, |_| 0.0);
            let mut rng = Rng::stream(seed, "before");
            if life % 2 == 0 {
                load::churn(&mut rig, setup, 10, &mut rng);
            }
            let drive = seed % rig.drives();
            gone(&mut rig, &[drive as u16]);
            let mut rig = use_up(rig, setup, seed);
            read_all(&mut rig);
            rig.submit(Op::Flush, 0, 0, 0);
            rig.settle();
            assert_eq!(rig.failed, 0, "{setup:?}");
            let before = rig.trace.len();
            load::churn(&mut rig, setup, 10, &mut rng);
            rig.settle();
            let sent = |(_, action): &&(_, Action)| match action {
                Action::Start { drive: to, .. } => u64::from(to.0) == drive,
                _ => false,
            };
            assert_eq!(rig.trace[before..].iter().filter(sent).count(), 0);
            assert_eq!(counted(&rig, "lost"), 0, "{setup:?}");
            rebuilt += rig.contents.rebuilt;
        }
    }
    assert!(rebuilt > 10_000, "only {rebuilt} blocks were computed");
}

/// One drive is gone and the others of its array err: requests fail, and what is answered is right.
fn check_second_failure(slip: Slip) {
    let (mut failed, mut compared) = (0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, slip, |_| 0.05);
            rig.failing.as_mut().expect("some fail").timeouts = [0.0, 0.5, 1.0][life as usize % 3];
            if life % 2 == 0 {
                let drive = seed % rig.drives();
                gone(&mut rig, &[drive as u16]);
            }
            let mut rig = use_up(rig, setup, seed);
            rig.failing.as_mut().expect("some fail").calm();
            // What was lost stays lost, and is never something else.
            for start in 0..rig.blocks() {
                rig.submit(Op::Read, start, 1, 0);
                rig.run_until(rig.now + Duration::from_us(500));
            }
            rig.settle();
            assert!(counted(&rig, "lost") > 0, "{setup:?}");
            failed += rig.failed;
            compared += rig.contents.compared;
        }
    }
    assert!(failed > 200, "only {failed} requests failed");
    assert!(compared > 10_000, "only {compared} blocks were compared");
}

/// One drive is gone, and writes to the others fail: what is answered as done can be read.
fn check_answered(slip: Slip) {
    let mut failed = 0;
    for (index, setup) in setups() {
        let mut rig = written(setup, index, slip, |_| 0.0);
        let drive = index % rig.drives();
        gone(&mut rig, &[drive as u16]);
        let mut rng = Rng::stream(index, "blocks");
        for _ in 0..60 {
            let start = rng.below(rig.blocks() - 8);
            let len = 1 + rng.below(8);
            let before = rig.failed;
            rig.failing.as_mut().expect("some fail").time_out(0.2);
            rig.submit(Op::Write, start, len, 0);
            rig.settle();
            rig.failing.as_mut().expect("some fail").time_out(0.0);
            if rig.failed > before {
                failed += 1;
                continue;
            }
            rig.submit(Op::Read, start, len, 0);
            rig.settle();
            assert_eq!(rig.failed, before, "{start} was answered: {setup:?}");
        }
    }
    assert!(failed > 20, "only {failed} writes failed");
}

#[test]
fn what_is_answered_beside_a_drive_that_is_gone_can_be_read() {
    check_answered(Slip::None);
}

#[test]
fn one_bad_drive_of_an_array_costs_no_request() {
    check_one_bad_drive(Slip::None);
}

#[test]
fn an_array_does_without_a_drive() {
    check_gone(Slip::None);
}

#[test]
fn a_second_failure_is_told_and_nothing_is_made_up() {
    check_second_failure(Slip::None);
}

/// What two drives do not tell can be written again, and read.
#[test]
fn what_was_lost_can_be_written_again() {
    for (index, setup) in setups() {
        let mut rig = written(setup, index, Slip::None, |_| 0.1);
        let mut rng = Rng::stream(index, "load");
        load::churn(&mut rig, setup, 40, &mut rng);
        rig.settle();
        rig.failing.as_mut().expect("some fail").calm();
        // Whole stripes need nothing of what was there.
        let size = setup.chunk;
        for start in (0..rig.blocks()).step_by(size as usize) {
            rig.submit(Op::Write, start, size, 0);
        }
        // A flush says once that something was lost.
        rig.submit(Op::Flush, 0, 0, 0);
        rig.settle();
        let failed = rig.failed;
        read_all(&mut rig);
        load::churn(&mut rig, setup, 20, &mut rng);
        rig.settle();
        assert_eq!(rig.failed, failed, "{setup:?}");
        gone(&mut rig, &[1]);
        read_all(&mut rig);
    }
}

/// A block that no drive tells is there again when it is written, if need be at the second try: the
/// first one finds out what it cannot read.
#[test]
fn a_lost_block_can_be_written_alone() {
    for (index, setup) in setups() {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        // The first strip and the parity of the first stripe.
        let last = width(setup) - 1;
        for drive in [0, last as u16] {
            let failing = rig.failing.as_mut().expect("some fail");
            failing.spoil(DriveId(drive), 3);
        }
        let mut fails = |op: Op| {
            let before = rig.failed;
            rig.submit(op, 3, 1, 0);
            rig.settle();
            rig.failed > before
        };
        assert!(fails(Op::Read), "{setup:?}");
        let again = fails(Op::Write) && fails(Op::Write);
        assert!(!again && !fails(Op::Read), "{setup:?}");
    }
}

/// Two drives of an array are gone: what is there fails by that name, and so does a flush.
#[test]
fn two_drives_that_are_gone_are_told() {
    for (index, setup) in setups().filter(|(_, setup)| setup.spares() == 0) {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        gone(&mut rig, &[0, 1]);
        for _ in 0..2 {
            rig.submit(Op::Read, 0, 3 * setup.chunk, 0);
            rig.submit(Op::Write, 0, 3 * setup.chunk, 0);
            rig.settle();
            rig.submit(Op::Flush, 0, 0, 0);
            rig.settle();
        }
        let replies = rig.trace.iter().filter_map(|(_, action)| match action {
            Action::Reply(reply) => Some(reply.status),
            _ => None,
        });
        let replies: Vec<Status> = replies.collect();
        let last = &replies[replies.len() - 4..];
        assert_eq!(last, [Status::Failed(Failure::Gone); 4], "{setup:?}");
    }
}

#[test]
fn a_parity_that_takes_something_in_twice_is_seen() {
    is_seen(check_gone, Slip::FoldedTwice, "allowed were");
}

#[test]
fn a_parity_that_is_not_written_is_seen() {
    is_seen(check_gone, Slip::NoParity, "allowed were");
}

/// What is computed while a stripe is being written is nothing that was ever written.
#[test]
fn who_does_not_wait_for_a_stripe_is_seen() {
    is_seen(check_gone, Slip::Gates, "allowed were");
}

#[test]
fn writes_that_do_not_wait_for_what_is_read_are_seen() {
    is_seen(check_one_bad_drive, Slip::Hasty, "");
}

#[test]
fn a_second_failure_that_is_ignored_is_seen() {
    is_seen(check_answered, Slip::Need(Op::Write), "was answered");
    is_seen(check_second_failure, Slip::Need(Op::Read), "allowed were");
}

#[test]
fn a_first_failure_for_which_nothing_stands_in_is_seen() {
    is_seen(check_one_bad_drive, Slip::StandIn(Op::Read), "right: 0");
    is_seen(check_one_bad_drive, Slip::StandIn(Op::Write), "right: 0");
}

#[test]
fn a_failed_write_that_is_taken_for_done_is_seen() {
    is_seen(check_one_bad_drive, Slip::Failure(Op::Write), "");
}
