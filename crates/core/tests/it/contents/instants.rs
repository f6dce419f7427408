//! A drive goes at each instant of a life: a volume that can lose it serves every request all the
//! same.
//!
//! What a drive had is elsewhere, or in memory while its request is not answered or its other
//! copies are not written. So no request may fail for a drive alone, whatever was under way when it
//! went: a read takes another copy, a write goes to another drive, and a flush is answered when
//! what it covers is on the drives that are left. The instants are the ends of commands, since
//! between these nothing changes.
//!
//! How many drives a volume can lose, its placement says; that is held against what can be read
//! without some of them.

use nearslot_core::ids::DriveId;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::Reply;
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;

use crate::contents::failing::{Failing, Slip, written};
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};
use crate::support::number;

/// Bursts in a life.
const ROUNDS: u64 = 3;

/// So many instants of each drive of each setup in the tests of every day; `NEARSLOT_INSTANTS` says
/// another number.
fn instants() -> u64 {
    number("NEARSLOT_INSTANTS", 2)
}

/// Drives with a place, of all.
fn seats(setup: &Setup, drives: usize) -> impl Iterator<Item = DriveId> + use<> {
    let seats = (drives - setup.spares()) as u16;
    (0..seats).map(DriveId)
}

/// Whether the map is on this drive alone: then nothing can be written without it.
fn has_the_map(setup: &Setup, drive: DriveId) -> bool {
    setup.place.contains("map=virtual_log") && drive == DriveId(0)
}

/// Requests that failed, from this action on.
fn failed(rig: &Rig, from: usize) -> Vec<(Op, Status)> {
    let replies = rig.trace[from..]
        .iter()
        .filter_map(|(_, action)| match action {
            Action::Reply(Reply {
                request, status, ..
            }) => Some((request.op, *status)),
            _ => None,
        });
    replies.filter(|(_, status)| !status.is_done()).collect()
}

/// A life in which a drive goes with the end of one of its commands; none if it does not end so
/// many.
fn life(setup: &Setup, seed: u64, going: Option<(u64, DriveId)>) -> Rig {
    let mut rig = written(setup, seed, Slip::None, |_| 0.0);
    rig.failing.as_mut().expect("some may fail").goes(going);
    let mut rng = Rng::stream(seed, "load");
    load::churn(&mut rig, setup, ROUNDS, &mut rng);
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
    rig
}

/// Everything is read, and then made safe.
fn use_up(rig: &mut Rig, setup: &Setup) {
    let mut rng = Rng::stream(rig.seed(), "end");
    load::scan(rig, setup, &mut rng);
    rig.settle();
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
}

#[test]
fn whenever_a_drive_goes_no_request_fails_that_another_one_can_serve() {
    let (mut lives, mut compared) = (0, 0);
    for (seed, setup) in (0..).zip(SETUPS) {
        let whole = life(setup, seed, None);
        if whole.stack.losable() == 0 {
            continue;
        }
        let ended = whole.failing.expect("some may fail").ended;
        let drives = seats(setup, ended.len());
        for drive in drives.filter(|drive| !has_the_map(setup, *drive)) {
            let all = ended[drive.index()].max(1);
            let step = all.div_ceil(instants());
            for at in (seed % step..all).step_by(step as usize) {
                let mut rig = life(setup, seed, Some((at, drive)));
                use_up(&mut rig, setup);
                // A parity may tell what is on no other drive.
                let lost = match setup.parity() {
                    true => Vec::new(),
                    false => rig.contents.lost(drive),
                };
                let failed = failed(&rig, 0);
                assert!(
                    failed.is_empty() && lost.is_empty(),
                    "{setup:?} without {drive:?} from its command {at} of {all} on: {failed:?}, {lost:?}"
                );
                (lives, compared) = (lives + 1, compared + rig.contents.compared);
            }
        }
    }
    assert!(lives > 300, "only {lives} lives");
    assert!(compared > 300_000, "only {compared} blocks were compared");
}

/// Without the drive that alone has the map nothing can be written, and that is what such requests
/// say; all else goes on, also for what was being written.
#[test]
fn whenever_the_drive_with_the_map_goes_writes_alone_fail_and_say_so() {
    let (mut lives, mut lost) = (0, 0);
    for (seed, setup) in (0..).zip(SETUPS) {
        let drive = DriveId(0);
        if setup.copies < 2 || !has_the_map(setup, drive) {
            continue;
        }
        let all = life(setup, seed, None)
            .failing
            .expect("some may fail")
            .ended[0];
        for at in (0..all).step_by(all.div_ceil(instants()) as usize) {
            let mut rig = life(setup, seed, Some((at, drive)));
            use_up(&mut rig, setup);
            let failed = failed(&rig, 0);
            let reads = failed.iter().filter(|(op, _)| *op == Op::Read);
            assert_eq!(reads.count(), 0, "{setup:?}, {at}: {failed:?}");
            let is_named = |(op, status): &(Op, Status)| match status {
                Status::Failed(Failure::MapLost) => *op != Op::Flush,
                _ => *op == Op::Flush,
            };
            assert!(failed.iter().all(is_named), "{setup:?}, {at}: {failed:?}");
            (lives, lost) = (lives + 1, lost + failed.len());
        }
    }
    assert!(lives > 3 && lost > lives, "{lost} in {lives} lives");
}

/// Whether a volume that was written as a whole can be read without these drives.
fn reads_without(setup: &Setup, gone: &[DriveId]) -> bool {
    let mut rig = written(setup, 7, Slip::None, |_| 0.0);
    let mut failing = Failing::none(rig.drives() as usize);
    failing.gone = gone.to_vec();
    rig.failing = Some(failing);
    let before = rig.trace.len();
    let mut rng = Rng::stream(7, "end");
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    failed(&rig, before).is_empty()
}

/// All sets of so many of these drives.
fn sets(drives: &[DriveId], size: usize) -> Vec<Vec<DriveId>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut sets = Vec::new();
    for (index, drive) in drives.iter().enumerate() {
        for mut set in self::sets(&drives[index + 1..], size - 1) {
            set.push(*drive);
            sets.push(set);
        }
    }
    sets
}

/// Over the whole table: a volume can be read without any drives that are as many as its placement
/// says, and not without any that are one more.
#[test]
fn what_a_volume_can_lose_is_what_its_placement_says() {
    let mut spared = [0; 4];
    for setup in SETUPS {
        let built = setup.build("disk", "satf", 7);
        let drives: Vec<DriveId> = seats(setup, built.drives.len()).collect();
        let count = usize::from(built.stack.losable());
        for gone in sets(&drives, count) {
            assert!(reads_without(setup, &gone), "{setup:?} without {gone:?}");
        }
        let more = sets(&drives, count + 1);
        let reads = more.iter().all(|gone| reads_without(setup, gone));
        assert!(!reads, "{setup:?}: more than {count} drives can be gone");
        spared[count] += 1;
    }
    assert!(spared[..3].iter().all(|setups| *setups > 3), "{spared:?}");
}
