//! The model on drives on which things go wrong as their configuration says, for all placements.
//!
//! [`Medium`](super::medium::Medium) says what has to become of each command, so a drive that fails
//! where nothing is wrong, or the other way round, is seen at once. What drives tell may fail
//! requests and is never wrong data; what they do not tell is wrong data exactly where it says so.
//! Which faults meet which placement, with caches and write buffers above or without, is drawn
//! (`words`).

use std::collections::BTreeSet;

use nearslot_core::ids::DriveId;
use nearslot_core::io::DriveDone;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::Reply;
use nearslot_core::rng::Rng;
use nearslot_core::stack::{Action, Input};

use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{BUFFERED, CACHED, SETUPS, Setup};
use crate::contents::words;
use crate::support::number;

/// A life on such drives, and what is found at its end.
fn life(setup: &Setup, kind: &str, seed: u64) -> Rig {
    let mut rig = Rig::new(setup, kind, "satf", seed);
    rig.rules.off = true;
    rig.contents.may_fail = true;
    rig.fill();
    rig.settle();
    let mut rng = Rng::stream(seed, "load");
    load::churn(&mut rig, setup, 30, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    rig.check_counts();
    rig
}

/// The commands of a life, as they ended.
fn ended(rig: &Rig) -> impl Iterator<Item = (DriveId, DriveDone)> {
    rig.inputs.iter().filter_map(|(_, input)| match input {
        Input::Done(drive, done) => Some((*drive, *done)),
        _ => None,
    })
}

/// Requests that failed.
fn failed(rig: &Rig) -> Vec<Reply> {
    let replies = rig.trace.iter().filter_map(|(_, action)| match action {
        Action::Reply(reply) => Some(*reply),
        _ => None,
    });
    replies.filter(|reply| !reply.status.is_done()).collect()
}

fn with(setup: &Setup, faults: &'static str) -> Setup {
    Setup { faults, ..*setup }
}

/// All placements, and those that have caches or write buffers above.
fn everywhere() -> impl Iterator<Item = &'static Setup> {
    SETUPS.iter().chain(CACHED).chain(BUFFERED)
}

/// Counts of all lives, by measure.
struct Totals(Vec<(&'static str, u64)>);

impl Totals {
    fn of(names: &[&'static str]) -> Totals {
        Totals(names.iter().map(|name| (*name, 0)).collect())
    }

    fn add(&mut self, rig: &Rig) {
        let medium = rig.medium.as_ref().expect("something goes wrong");
        for (name, count) in &mut self.0 {
            *count += medium.counted(name);
        }
    }

    fn check(&self, least: u64) {
        for (name, count) in &self.0 {
            assert!(*count > least, "{name} {count} times only");
        }
    }
}

#[test]
fn what_drives_tell_is_no_wrong_data() {
    let names = [
        "failed_medium",
        "failed_timed_out",
        "failed_gone",
        "mended_blocks",
    ];
    let (mut totals, mut failed, mut compared) = (Totals::of(&names), 0, 0);
    for (setup, kind, seed) in words::each(everywhere(), words::told, "told") {
        let rig = life(&setup, kind, seed);
        totals.add(&rig);
        (failed, compared) = (failed + rig.failed, compared + rig.contents.compared);
        assert_eq!(rig.contents.wrong, 0, "{setup:?}");
    }
    totals.check(200);
    assert!(failed > 500, "only {failed} requests failed");
    assert!(compared > 100_000, "only {compared} blocks were compared");
}

#[test]
fn what_no_drive_tells_is_wrong_where_it_happened_and_nowhere_else() {
    let names = [
        "lost_writes",
        "misdirected_writes",
        "torn_writes",
        "wrong_reads",
        "wrong_blocks_read",
    ];
    let (mut totals, mut wrong, mut compared) = (Totals::of(&names), 0, 0);
    for (setup, kind, seed) in words::each(everywhere(), words::silent, "silent") {
        let rig = life(&setup, kind, seed);
        totals.add(&rig);
        (wrong, compared) = (wrong + rig.contents.wrong, compared + rig.contents.compared);
        assert_eq!(rig.failed, 0, "{setup:?}");
    }
    totals.check(100);
    assert!(wrong > 1_000, "only {wrong} blocks were wrong");
    assert!(compared > 20 * wrong, "{wrong} of {compared} blocks");
}

/// A write that went elsewhere, or was lost or torn, may meet a bad block where it should have
/// gone: then it has failed, and has left there what came before that block.
#[test]
fn a_write_that_fails_has_left_what_came_before_wherever_it_went() {
    let names = [
        "failed_medium",
        "misdirected_writes",
        "lost_writes",
        "torn_writes",
        "wrong_blocks_read",
    ];
    let mut totals = Totals::of(&names);
    for (setup, kind, seed) in words::each(SETUPS.iter(), words::mixed, "mixed") {
        totals.add(&life(&setup, kind, seed));
    }
    totals.check(100);
}

/// Of what drives do not tell, guard and tag leave what was lost, torn, or never reached its place.
/// Which that is, the medium knows: it wants all other reads to fail.
#[test]
fn protected_sectors_bring_nothing_that_rotted_or_was_meant_for_another_place() {
    let names = ["caught_reads", "misdirected_writes", "wrong_reads"];
    let (mut totals, mut failed) = (Totals::of(&names), [0, 0]);
    for (setup, kind, seed) in words::each(everywhere(), words::caught, "caught") {
        let setup = Setup {
            protected: true,
            ..setup
        };
        // One where every place is as good as every other has no sectors.
        let kind = if kind == "null" { "disk" } else { kind };
        let rig = life(&setup, kind, seed);
        totals.add(&rig);
        let leaves_old = ["lost", "misdirected", "torn"];
        if !leaves_old.iter().any(|what| setup.faults.contains(what)) {
            assert_eq!(rig.contents.wrong, 0, "{setup:?}");
        }
        failed[usize::from(setup.copies > 1)] += rig.failed;
    }
    totals.check(200);
    assert!(failed[0] > 50, "{failed:?} requests failed");
}

/// With two copies the other one answers, and what is bad is written anew: after some looks at
/// everything hardly any is left.
#[test]
fn protected_copies_heal_each_other() {
    let faults = "injected:rot_per_tib=3000000:rot_within_s=15";
    let (mut caught, mut failed) = (0, 0);
    // Reads that were caught by seven looks at the whole volume, and by one more.
    let mut looks = [0, 0];
    let several = |setup: &&Setup| setup.copies > 1;
    for (index, setup) in SETUPS.iter().filter(several).enumerate() {
        let setup = Setup {
            protected: true,
            ..with(setup, faults)
        };
        let mut rig = life(&setup, "disk", index as u64);
        let count = |rig: &Rig| {
            rig.medium
                .as_ref()
                .map_or(0, |medium| medium.counted("caught_reads"))
        };
        caught += count(&rig);
        failed += rig.failed;
        let mut rng = Rng::stream(index as u64, "again");
        let mut before = count(&rig);
        for look in 0..8 {
            load::scan(&mut rig, &setup, &mut rng);
            rig.settle();
            looks[usize::from(look == 7)] += count(&rig) - before;
            before = count(&rig);
        }
    }
    assert!(looks[1] * 10 < looks[0], "{looks:?}, {caught} before");
    assert!(caught > 100, "{caught} reads were caught");
    assert!(failed * 10 < caught, "{failed} requests failed of {caught}");
}

/// What goes wrong is of the drive's medium, below its own queue and below what merges commands.
#[test]
fn drives_with_queues_and_merged_commands_fail_alike() {
    let names = [
        "failed_medium",
        "failed_timed_out",
        "lost_writes",
        "wrong_reads",
    ];
    let mut totals = Totals::of(&names);
    let all = [
        "injected:latent_per_tib=8000000:latent_run_blocks=3:latent_within_s=15:tries_ms=20",
        "injected:timeout_share=0.03:timeout_ms=60",
        "injected:lost_share=0.02",
        "injected:lost_share=0.01:misdirected_share=0.01:torn_share=0.02:rot_per_tib=8000000:rot_within_s=15",
    ];
    for (index, setup) in SETUPS.iter().filter(|setup| !setup.maps()).enumerate() {
        let merge = ["none", "contiguous"][index % 2];
        for (number, faults) in all.into_iter().enumerate() {
            let setup = Setup {
                merge,
                faults,
                ..*setup
            };
            let rig = life(&setup, "sorting disk", (10 * index + number) as u64);
            totals.add(&rig);
            assert!(number > 1 || rig.contents.wrong == 0, "{setup:?}");
        }
    }
    totals.check(50);
}

/// What is bad stays bad here: a slot that could not be written, or read while another copy could,
/// is retired and not written again.
#[test]
fn a_bad_slot_is_left_and_another_one_is_written() {
    let places = [
        "eager:dilution=2",
        "ew_array:dm=2:stripe_kib=8",
        "ew_array:dm=3:stripe_kib=8",
    ];
    let before = "injected:latent_per_tib=5000000:latent_mend=false:tries_ms=1";
    let meanwhile =
        "injected:latent_per_tib=9000000:latent_within_s=25:latent_mend=false:tries_ms=1";
    let (mut failures, mut reads) = (0, 0);
    for (index, place) in places.into_iter().enumerate() {
        let rig = life(&with(Setup::of(place), before), "disk", index as u64);
        assert_eq!(rig.failed, 0, "{place}: what else is there was not tried");
        failures += leaves_bad_slots(&rig).0;
    }
    for (index, place) in places.into_iter().enumerate().skip(1) {
        let rig = life(&with(Setup::of(place), meanwhile), "disk", index as u64);
        reads += leaves_bad_slots(&rig).1;
    }
    assert!(failures > 20, "only {failures} writes failed");
    assert!(reads > 5, "only {reads} reads failed");
}

/// Spare time comes to an end though a block cannot be moved, whichever hole is tried.
#[test]
fn a_move_that_cannot_be_written_is_not_tried_for_ever() {
    let faults =
        "injected:latent_per_tib=16000000:latent_run_blocks=40:latent_mend=false:tries_ms=1";
    let mut failures = 0;
    let compact = |setup: &&Setup| setup.compacts() && !setup.logs();
    for (index, setup) in SETUPS.iter().filter(compact).enumerate() {
        // It asserts that all comes to rest.
        let rig = life(&with(setup, faults), "disk", index as u64);
        let failed =
            |(_, done): &(DriveId, DriveDone)| done.op == Op::Write && !done.status.is_done();
        failures += ended(&rig).filter(failed).count();
    }
    assert!(failures > 500, "only {failures} writes failed");
}

/// No slot is written again that was bad; how many writes and reads failed.
fn leaves_bad_slots(rig: &Rig) -> (u64, u64) {
    let setup = rig.contents.setup();
    let (mut bad, mut failed) = (BTreeSet::new(), (0, 0));
    for (drive, done) in ended(rig) {
        // Slots lie one behind the other from the beginning of each track of 50 blocks on.
        let (track, behind) = (done.at.0 / 50, done.at.0 % 50);
        let slot = (drive, track, behind / setup.chunk);
        let writes = done.op == Op::Write;
        assert!(
            !writes || !bad.contains(&slot),
            "{setup:?}: {slot:?} was written again"
        );
        if !done.status.is_done() {
            bad.insert(slot);
            failed.0 += u64::from(writes);
            failed.1 += u64::from(!writes);
        }
    }
    failed
}

/// Nearly no command is answered: sooner or later eight writes of the map fail one after the other.
/// What waits for it is let go.
#[test]
fn a_map_that_is_lost_lets_go_of_what_waits_for_it() {
    let mut lost = 0;
    let on_drives = |setup: &&Setup| setup.place.contains("map=virtual_log") && !setup.tight();
    for (index, setup) in SETUPS.iter().filter(on_drives).enumerate() {
        let setup = with(setup, "injected:timeout_share=0.8:timeout_ms=12");
        let rig = life(&setup, "disk", index as u64);
        let failed = failed(&rig);
        let named = failed
            .iter()
            .filter(|reply| reply.status == Status::Failed(Failure::MapLost));
        lost += u64::from(named.count() > 0);
    }
    assert!(lost > 5, "only {lost} maps were lost");
}

/// Three copies, of which one drive is gone and another one answers nothing: the third has the
/// answer.
#[test]
fn every_copy_is_tried_before_a_request_fails() {
    let faults = "injected:gone_at_s=3:gone_drive=0:timeout_share=1:timeout_ms=20:drive=1";
    let (mut lives, mut failures) = (0, 0);
    let three = |setup: &&Setup| setup.copies == 3 && setup.foreground > 1 && !setup.logs();
    for (index, setup) in SETUPS
        .iter()
        .filter(|setup| setup.spread())
        .filter(three)
        .enumerate()
    {
        let rig = life(&with(setup, faults), "disk", index as u64);
        let failed = failed(&rig);
        assert_eq!(rig.contents.failed, 0, "{setup:?}: {failed:?}");
        let medium = rig.medium.expect("something goes wrong");
        failures += medium.counted("failed_gone") + medium.counted("failed_timed_out");
        lives += 1;
    }
    assert!(lives > 3, "{failures} failures in {lives} lives");
    assert!(failures > 1_000, "{failures} failures in {lives} lives");
}

/// With one copy before the answer, that goes to the drive that is left. The one that is gone is
/// found out, and left alone.
#[test]
fn a_write_goes_to_the_drive_that_is_left() {
    let (mut lives, mut failures) = (0, 0);
    let one_of_several = |setup: &&Setup| {
        setup.copies > 1 && setup.foreground == 1 && setup.spread() && !setup.logs()
    };
    for (index, setup) in SETUPS.iter().filter(one_of_several).enumerate() {
        let rig = life(&with(setup, "injected:gone_at_s=3"), "disk", index as u64);
        let failed = failed(&rig);
        let writes = failed.iter().filter(|reply| reply.request.op == Op::Write);
        assert_eq!(writes.count(), 0, "{setup:?}: {failed:?}");
        failures += rig
            .medium
            .expect("something goes wrong")
            .counted("failed_gone");
        lives += 1;
    }
    assert!(lives > 5, "{failures} failures in {lives} lives");
    assert!(failures > lives, "{failures} failures in {lives} lives");
    assert!(
        failures < 10 * lives,
        "{failures} failures in {lives} lives"
    );
}

/// What a write has left that failed may be what was there or what was to be there, but it is the
/// same whichever copy is read.
#[test]
fn what_is_read_twice_at_rest_is_the_same_twice() {
    let faults = [
        "injected:timeout_share=0.25:timeout_ms=30",
        "injected:latent_per_tib=12000000:latent_run_blocks=2:latent_mend=false:tries_ms=2:timeout_share=0.1:timeout_ms=30",
    ];
    let mut repeated = 0;
    let several = |setup: &&Setup| setup.copies > 1;
    for (index, setup) in SETUPS.iter().filter(several).enumerate() {
        let setup = with(setup, faults[index % 2]);
        let mut rig = life(&setup, "disk", index as u64);
        let mut rng = Rng::stream(index as u64, "again");
        for _ in 0..3 {
            load::scan(&mut rig, &setup, &mut rng);
            rig.settle();
        }
        repeated += rig.contents.repeated;
    }
    assert!(repeated > 20_000, "only {repeated} blocks were read twice");
}

/// Copies on drives that sort their commands, with everything at once that drives tell and do not
/// tell. A part of a chunk that one copy missed is not filled up from a buffer that has that part
/// alone.
#[test]
fn copies_on_drives_with_a_queue_are_the_same_twice() {
    let faults = [
        "injected:latent_per_tib=8000000:latent_run_blocks=3:latent_mend=false:tries_ms=5:timeout_share=0.05:timeout_ms=30",
        "injected:latent_per_tib=8000000:latent_run_blocks=3:latent_within_s=15:latent_mend=false:tries_ms=5:\
         timeout_share=0.05:timeout_ms=30:lost_share=0.01:rot_per_tib=8000000:rot_within_s=15",
    ];
    let lives = number("NEARSLOT_LIVES", 6);
    let mut repeated = 0;
    for life_number in 0..lives {
        let place = ["sr_array:ds=1:dr=2", "sr_array:ds=1:dr=3", "mirror:disks=2"]
            [life_number as usize % 3];
        for faults in faults {
            let setup = Setup {
                foreground: 2,
                faults,
                ..*Setup::of(place)
            };
            let mut rig = life(&setup, "sorting disk", 1_000 + life_number);
            let mut rng = Rng::stream(life_number, "again");
            for _ in 0..2 {
                load::scan(&mut rig, &setup, &mut rng);
                rig.settle();
            }
            repeated += rig.contents.repeated;
        }
    }
    assert!(
        repeated > 300 * lives,
        "only {repeated} blocks were read twice"
    );
}
