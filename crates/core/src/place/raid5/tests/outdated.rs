//! Writes that wait for their stripe, while others change what is bad there.

use super::failing::{FAILED, asked, by_drive, ends, only};
use super::*;
use crate::plan::{Instead, Target};

/// The last of seven members.
const PARITY: u64 = 6;
const ROWS: Rows = Rows { from: 0, to: 8 };

/// What is bad or good of a member while a write waits.
struct Scene {
    raid5: Raid5,
    stripe: Stripe,
    /// Something that has the stripe to itself: its last I/O.
    first: PlannedIo,
}

/// A member is bad, and is about to be written back.
fn healing(member: u64) -> Scene {
    let mut raid5 = of_study();
    let stripe = raid5.geometry.stripe(0);
    raid5.mark(stripe.seat(member), Pba(0), Blocks(8), Kind::Bad);
    let mut out = Plan::default();
    let job = raid5.job(stripe, (member, ROWS), &mut out);
    let heal = raid5.io(&job, Op::Write, (member, ROWS), Role::Heal);
    raid5.add(&job, heal, &mut out);
    Scene {
        raid5,
        stripe,
        first: heal,
    }
}

fn drive(scene: &Scene, member: u64) -> u16 {
    scene.raid5.drive(&scene.stripe, member).0
}

/// While it waits neither the parity nor another block can be had; when it may begin the parity is
/// good again. Written without one, it would leave a parity that tells of what was there before.
#[test]
fn a_parity_that_is_good_again_follows_a_write_that_waited() {
    let mut scene = healing(PARITY);
    let bad = scene.stripe.seat(1);
    scene.raid5.mark(bad, Pba(0), Blocks(8), Kind::Bad);
    let plan = asked(&mut scene.raid5, Op::Write, 0, 8);
    let probe = only(&plan);
    assert_eq!((probe.op, probe.drive.0), (Op::Read, drive(&scene, 0)));
    let out = ends(&mut scene.raid5, &scene.first, Status::Done);
    assert_eq!(out.open.len(), 1, "it has the stripe");
    // What it reads is of no use, so that may fail.
    for status in [Status::Done, FAILED] {
        let mut scene = healing(PARITY);
        scene.raid5.mark(bad, Pba(0), Blocks(8), Kind::Bad);
        let probe = only(&asked(&mut scene.raid5, Op::Write, 0, 8));
        ends(&mut scene.raid5, &scene.first, Status::Done);
        let anew = ends(&mut scene.raid5, &probe, status);
        assert_eq!((anew.instead, anew.failure), (Instead::Anew, None));
        let mut both = vec![(drive(&scene, 0), 0, 8), (drive(&scene, PARITY), 0, 8)];
        both.sort_unstable();
        assert_eq!(by_drive(&anew, Op::Read), both, "read, modified");
        assert_eq!(by_drive(&anew, Op::Write), both, "and written");
        assert!(!scene.raid5.is_bad(&scene.stripe, PARITY, &ROWS));
        scene.raid5.audit();
    }
}

/// Of a member whose drive is gone, nothing but the parity tells what is written. While the write
/// waits, another block of the row is bad, so that there could be none; when it may begin that is
/// good again.
#[test]
fn a_write_to_a_drive_that_is_gone_fails_by_what_its_turn_finds() {
    let mut scene = healing(1);
    let gone = scene.raid5.drive(&scene.stripe, 0);
    let learned = scene.raid5.seats.learn(gone, Status::Failed(Failure::Gone));
    assert!(learned.is_some());
    let seat = scene.stripe.seat(0);
    scene.raid5.vacated(seat, &mut Plan::default());
    let plan = asked(&mut scene.raid5, Op::Write, 0, 8);
    assert_eq!((plan.failure, scene.raid5.counts.lost), (None, 0));
    let probe = only(&plan);
    ends(&mut scene.raid5, &scene.first, Status::Done);
    let anew = ends(&mut scene.raid5, &probe, Status::Done);
    assert_eq!((anew.instead, anew.failure), (Instead::Anew, None));
    let parity = (drive(&scene, PARITY), 0, 8);
    assert_eq!(by_drive(&anew, Op::Write), [parity]);
    assert_eq!(by_drive(&anew, Op::Read).len(), 5, "the rest tells it");
}

/// Two writes of one block, which the stack would keep apart. The parity of the first fails, so that
/// it has what was there before; the second one, which was to change it, computes it from the rest.
#[test]
fn a_parity_that_is_bad_by_now_is_not_changed() {
    let mut raid5 = of_study();
    let stripe = raid5.geometry.stripe(0);
    let parity = raid5.drive(&stripe, stripe.parity());
    let first = asked(&mut raid5, Op::Write, 0, 8);
    let second = asked(&mut raid5, Op::Write, 0, 8);
    let mut opened = 0;
    for io in first.ios() {
        let fails = io.op == Op::Write && io.drive == parity;
        let status = match fails {
            true => Status::Failed(Failure::TimedOut),
            false => Status::Done,
        };
        opened += ends(&mut raid5, io, status).open.len();
    }
    assert_eq!(opened, 1, "the second one has the stripe");
    let read = second.ios().find(|io| io.drive != parity);
    let anew = ends(&mut raid5, read.expect("the old data"), Status::Done);
    assert_eq!((anew.instead, anew.failure), (Instead::Anew, None));
    let read = by_drive(&anew, Op::Read);
    assert_eq!(read.len(), 5, "the rest: {read:?}");
    assert!(read.iter().all(|(drive, ..)| *drive != parity.0));
    assert_eq!(by_drive(&anew, Op::Write).len(), 2);
    // It waits for what the first way still reads, and is not looked at again.
    let left = second.ios().find(|io| io.drive == parity);
    let out = ends(&mut raid5, left.expect("the old parity"), Status::Done);
    assert_eq!(out.instead, Instead::Nothing);
}

/// A full stripe needs nothing of what is there. But where a power cut may take it, and what it
/// writes was good when it was planned, no drive was told to keep it: what was bad by then stays so.
#[test]
fn what_a_power_cut_may_take_does_not_count_as_good() {
    for (loses, stays_bad) in [(true, true), (false, false)] {
        let mut raid5 = of_study();
        raid5.written = Written::new(loses);
        let stripe = raid5.geometry.stripe(0);
        let first = asked(&mut raid5, Op::Write, 0, 8);
        let full = asked(&mut raid5, Op::Write, 0, 6 * 64);
        assert_eq!(by_drive(&full, Op::Read), []);
        for io in first.ios() {
            let is_data = io.op == Op::Write && io.drive == raid5.drive(&stripe, 0);
            ends(&mut raid5, io, if is_data { FAILED } else { Status::Done });
        }
        assert!(raid5.is_bad(&stripe, 0, &ROWS));
        for io in full.ios() {
            assert!(matches!(io.target, Target::At(_)));
            ends(&mut raid5, io, Status::Done);
        }
        assert_eq!(raid5.is_bad(&stripe, 0, &ROWS), stays_bad, "{loses}");
    }
}
