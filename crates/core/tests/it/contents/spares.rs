//! Spare drives, rebuilds and what is lost: lives in which drives go one after another, blocks turn
//! bad, commands are not answered and the power goes.
//!
//! What is computed is what was written, or its request fails; what fails is what the placement
//! says is lost, block for block.

use std::collections::BTreeSet;

use nearslot_core::contract::{Degraded, Lost, Replaced};
use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration};

use crate::contents::failing::{Failing, Slip, written};
use crate::contents::faults::is_seen;
use crate::contents::load;
use crate::contents::parity::{counted, gone, lives, read_all, setups};
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;

fn with_spares() -> impl Iterator<Item = (u64, &'static Setup)> {
    setups().filter(|(_, setup)| setup.spares() > 0)
}

/// Blocks that cannot be read, each asked for alone.
fn unreadable(rig: &mut Rig) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for block in 0..rig.blocks() {
        let before = rig.failed;
        rig.submit(Op::Read, block, 1, 0);
        rig.settle();
        if rig.failed > before {
            found.insert(block);
        }
    }
    found
}

/// A place without a drive that went, and without spares.
fn vacant(array: Option<u16>, drive: u16) -> Degraded {
    Degraded {
        array,
        drive: DriveId(drive),
        spent: Vec::new(),
        replaced: None,
    }
}

/// The same, with a spare that lacks so many blocks.
fn rebuilt(array: Option<u16>, drive: u16, by: u16, (left, goes_on): (u64, bool)) -> Degraded {
    let replaced = Some(Replaced {
        by: DriveId(by),
        left: Blocks(left),
        goes_on,
    });
    Degraded {
        replaced,
        ..vacant(array, drive)
    }
}

/// What is said to be lost is what cannot be read, once everything has been looked at.
fn check_lost(rig: &mut Rig) -> u64 {
    let mut found = unreadable(rig);
    let mut said = rig.stack.lost();
    // Who reads finds out what no repair has met; that may take a look from either side of a row.
    for _ in 0..3 {
        found = unreadable(rig);
        said = rig.stack.lost();
        if said.blocks == found.len() as u64 {
            break;
        }
    }
    let setup = rig.contents.setup();
    assert_eq!(
        said.blocks,
        found.len() as u64,
        "so many are lost: {setup:?}"
    );
    let blocks = |lost: &Lost| -> Vec<u64> {
        let runs = lost.extents.iter();
        runs.flat_map(|run| run.start.0..run.end().0).collect()
    };
    let listed = blocks(&said);
    assert!(listed.is_sorted(), "{said:?}");
    let is_all = said.extents.len() < Lost::LISTED;
    let expected = found.iter().copied();
    let expected: Vec<u64> = match is_all {
        true => expected.collect(),
        false => expected.take(listed.len()).collect(),
    };
    assert_eq!(listed, expected, "where they are: {setup:?}");
    said.blocks
}

/// A drive goes among requests; a spare gets all that it had.
fn check_rebuild(slip: Slip) {
    for (index, setup) in with_spares() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, slip, |_| 0.0);
            let mut rng = Rng::stream(seed, "spares");
            load::churn(&mut rig, setup, 3, &mut rng);
            let seats = rig.drives() - setup.spares() as u64;
            let drive = rng.below(seats) as u16;
            gone(&mut rig, &[drive]);
            load::churn(&mut rig, setup, 10, &mut rng);
            read_all(&mut rig);
            for (measure, number) in [
                ("spares_taken", 1),
                ("rebuilds", 1),
                ("rebuild_left_blocks", 0),
                ("bad_blocks", 0),
                ("lost_blocks", 0),
            ] {
                assert_eq!(counted(&rig, measure), number, "{measure}: {setup:?}");
            }
            assert_eq!(rig.stack.degraded(), [], "{setup:?}");
            rig.contents.replaced(drive, seats as u16);
            rig.contents.check_parities();
            // Another drive of the same array, as the spare stands for the first.
            let width = seats / setup.arrays() as u64;
            let other = u64::from(drive) / width * width + (u64::from(drive) + 1) % width;
            gone(&mut rig, &[drive, other as u16]);
            read_all(&mut rig);
            assert_eq!(rig.failed, 0, "{setup:?}");
            if setup.spares() == 1 {
                let array = (setup.arrays() > 1).then_some((other / width) as u16);
                let lacks = [vacant(array, other as u16)];
                assert_eq!(rig.stack.degraded(), lacks, "{setup:?}");
            }
        }
    }
}

/// Drives go one after another, sooner than spares are rebuilt, and others err.
fn check_lives(slip: Slip) {
    let (mut lost, mut compared, mut spares) = (0, 0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, slip, |_| 0.0);
            let mut rng = Rng::stream(seed, "lives");
            let mut away = Vec::new();
            for _ in 0..3 {
                if rng.chance(0.7) {
                    away.push(rng.below(rig.drives()) as u16);
                    gone(&mut rig, &away);
                }
                spoil(&mut rig, &mut rng);
                let failing = rig.failing.as_mut().expect("some fail");
                failing.time_out([0.0, 0.02][rng.below(2) as usize]);
                load::churn(&mut rig, setup, 2 + rng.below(4), &mut rng);
                if rng.chance(0.5) {
                    rig.settle();
                }
                spares += counted(&rig, "spares_taken");
                if rng.chance(0.4) {
                    rig.cut(&mut rng, true);
                }
                if rng.chance(0.3) {
                    // Drives that were gone are there again with what they had, or not yet.
                    away.retain(|_| rng.chance(0.5));
                    rig.cut(&mut rng, true);
                    gone(&mut rig, &away);
                }
            }
            rig.failing.as_mut().expect("some fail").calm();
            rig.settle();
            lost += check_lost(&mut rig);
            compared += rig.contents.compared;
            write_again(&mut rig, setup);
        }
    }
    assert!(compared > 10_000, "only {compared} blocks were compared");
    assert!(lost > 100, "only {lost} blocks were lost");
    assert!(spares > 2, "only {spares} spares were taken");
}

/// Blocks of some drives cannot be read any more.
fn spoil(rig: &mut Rig, rng: &mut Rng) {
    for _ in 0..rng.below(12) {
        let (drive, block) = (rng.below(rig.drives()) as u16, rng.below(2_400));
        let failing = rig.failing.as_mut().expect("some fail");
        failing.spoil(DriveId(drive), block);
    }
}

/// Whole stripes need nothing of what was there: what is not on two drives that are gone is there
/// again.
fn write_again(rig: &mut Rig, setup: &Setup) {
    let before = rig.failed;
    for start in (0..rig.blocks()).step_by(setup.chunk as usize) {
        rig.submit(Op::Write, start, setup.chunk, 0);
        rig.settle();
    }
    if rig.failed == before {
        assert_eq!(rig.stack.lost(), Lost::default(), "{setup:?}");
        read_all(rig);
    }
}

#[test]
fn a_spare_gets_all_that_a_drive_had() {
    check_rebuild(Slip::None);
}

#[test]
fn what_is_said_to_be_lost_is_what_cannot_be_read() {
    check_lives(Slip::None);
}

/// Each array has a drive that is gone, and there is one spare; or the spare itself goes.
#[test]
fn without_a_spare_an_array_does_without_a_drive() {
    let setup = Setup::of("raid5:disks=9:spares=1:arrays=2:strip_kib=2");
    let by_spare = |drive| Degraded {
        spent: vec![DriveId(8)],
        ..vacant(Some(0), drive)
    };
    for (away, rebuilds, lacks) in [
        ([0, 5], 1, vacant(Some(1), 5)),
        // The spare goes before it was rebuilt.
        ([0, 8], 0, by_spare(0)),
        ([8, 1], 0, by_spare(1)),
    ] {
        let mut rig = written(setup, 1, Slip::None, |_| 0.0);
        let mut rng = Rng::stream(1, "one spare");
        for count in 1..=2 {
            gone(&mut rig, &away[..count]);
            load::churn(&mut rig, setup, 5, &mut rng);
            if rebuilds > 0 {
                read_all(&mut rig);
            }
        }
        read_all(&mut rig);
        assert_eq!(rig.failed, 0, "without {away:?}");
        assert_eq!(counted(&rig, "spares_taken"), 1);
        assert!(counted(&rig, "rebuilds") >= rebuilds);
        assert_eq!(rig.stack.degraded(), [lacks], "without {away:?}");
        assert_eq!(counted(&rig, "rebuild_left_blocks"), 0);
        assert_eq!(rig.stack.lost(), Lost::default());
    }
}

/// A spare goes while it is rebuilt, and the next one is.
#[test]
fn a_spare_that_fails_is_replaced() {
    let setup = Setup::of(
        "raid5:disks=10:spares=2:arrays=2:strip_kib=3:extent_stripes=3:rebuild_mib_s=0.5",
    );
    let mut rig = written(setup, 2, Slip::None, |_| 0.0);
    gone(&mut rig, &[6]);
    rig.submit(Op::Read, 0, rig.blocks(), 0);
    rig.run_until(rig.now + Duration::from_ms(1_000));
    let left = counted(&rig, "rebuild_left_blocks");
    assert!(left > 0, "it is not rebuilt yet");
    let first = rebuilt(Some(1), 6, 8, (left, true));
    assert_eq!(rig.stack.degraded(), [first]);
    gone(&mut rig, &[6, 8]);
    rig.submit(Op::Read, 0, rig.blocks(), 0);
    rig.run_until(rig.now + Duration::from_ms(1_000));
    let second = Degraded {
        spent: vec![DriveId(8)],
        ..rebuilt(Some(1), 6, 9, (counted(&rig, "rebuild_left_blocks"), true))
    };
    assert_eq!(rig.stack.degraded(), [second]);
    read_all(&mut rig);
    assert_eq!(rig.stack.degraded(), []);
    assert_eq!(
        (counted(&rig, "spares_taken"), counted(&rig, "rebuilds")),
        (2, 1)
    );
    rig.contents.replaced(6, 9);
    rig.contents.check_parities();
    gone(&mut rig, &[6, 8, 9]);
    read_all(&mut rig);
    assert_eq!(rig.stack.degraded(), [vacant(Some(1), 9)], "it had all");
    assert_eq!(rig.failed, 0);
}

/// A second drive goes before the spare of the first is rebuilt: whole strips are lost, and the
/// rest is rebuilt.
#[test]
fn two_drives_of_an_array_that_go_lose_what_was_not_rebuilt() {
    let setup = Setup::of("raid5:disks=6:spares=1:strip_kib=4");
    let mut rig = written(setup, 3, Slip::None, |_| 0.0);
    gone(&mut rig, &[2]);
    rig.submit(Op::Write, 0, 2 * setup.chunk, 0);
    rig.run_until(rig.now + Duration::from_ms(2_000));
    let left = counted(&rig, "rebuild_left_blocks");
    assert!((100..2_300).contains(&left), "{left} are left");
    gone(&mut rig, &[2, 0]);
    rig.submit(Op::Read, 0, 1, 0);
    rig.settle();
    let lost = check_lost(&mut rig);
    // Of each row two of five are, and a parity is among them in two stripes of five.
    assert!(lost > left && lost < 2 * left, "{lost} of {left}");
    assert_eq!(lost, counted(&rig, "lost_blocks"));
    assert_eq!(counted(&rig, "rebuilds"), 0);
    // Of four drives' data one drive is bad as a whole, and of the spare what it did not get.
    let lacks = counted(&rig, "rebuild_left_blocks");
    assert!(0 < lacks && lacks <= left, "{lacks} of {left}");
    assert_eq!(counted(&rig, "bad_blocks"), rig.blocks() / 4 + lacks);
    let seats = [vacant(None, 0), rebuilt(None, 2, 5, (lacks, false))];
    assert_eq!(rig.stack.degraded(), seats);
    assert_eq!(rig.failed, rig.failed_gone, "drives that went had all that");
    // A flush says so once.
    let failed = rig.failed;
    (0..2).for_each(|_| rig.submit(Op::Flush, 0, 0, 0));
    rig.settle();
    assert_eq!(rig.failed, failed + 1);
}

/// A rebuild meets blocks that cannot be read: these are lost, and those of the spare in their
/// rows, until they are written.
#[test]
fn bad_blocks_that_a_rebuild_meets_cost_a_block_each() {
    for (index, setup) in with_spares() {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        gone(&mut rig, &[1]);
        // Two in one page, and one in another.
        for block in [3, 5, 501] {
            let failing = rig.failing.as_mut().expect("some fail");
            failing.spoil(DriveId(2), block);
        }
        // Some stripes of each array that have none of them.
        rig.submit(Op::Read, 20 * setup.chunk, 6 * setup.chunk, 0);
        rig.settle();
        let found = counted(&rig, "lost_blocks");
        assert_eq!(counted(&rig, "bad_blocks"), 6, "{setup:?}");
        assert_eq!(counted(&rig, "rebuilds"), 1, "{setup:?}");
        assert_eq!(check_lost(&mut rig), found, "{setup:?}");
        assert!((3..=6).contains(&found), "{found}: {setup:?}");
        // By what is asked for: what the drive had that went, and what cannot be read.
        let before = (rig.failed, rig.failed_gone);
        assert_eq!(unreadable(&mut rig).len() as u64, found);
        let gone = rig.failed_gone - before.1;
        let medium = rig.failed - before.0 - gone;
        assert!(gone <= 3 && medium <= 3, "{gone} and {medium}: {setup:?}");
        assert_eq!(rig.stack.degraded(), [], "it was rebuilt: {setup:?}");
        write_again(&mut rig, setup);
        assert_eq!(counted(&rig, "bad_blocks"), 0, "{setup:?}");
    }
}

/// What a drive had that went fails as gone, whatever else keeps the others of its rows from
/// telling it, and whether that was known; what cannot be read fails as that.
#[test]
fn a_block_fails_by_what_became_of_its_drive() {
    let mut sums = [0; 2];
    for (index, setup) in setups().filter(|(_, setup)| setup.spares() == 0) {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        gone(&mut rig, &[1]);
        for block in [3, 501, 1_003] {
            let failing = rig.failing.as_mut().expect("some fail");
            failing.spoil(DriveId(2), block);
        }
        let mut look = || {
            let before = (rig.failed, rig.failed_gone);
            unreadable(&mut rig);
            let gone = rig.failed_gone - before.1;
            [gone, rig.failed - before.0 - gone]
        };
        let first = look();
        assert_eq!(first, look(), "{setup:?}");
        assert!(first.iter().all(|of| *of <= 3), "{first:?}: {setup:?}");
        (0..2).for_each(|which| sums[which] += first[which]);
    }
    assert!(sums.iter().all(|sum| *sum > 5), "{sums:?}");
}

/// One command in fifty is not answered: about one strip in ten fails at first, for a source or for
/// its own write.
#[test]
fn a_rebuild_tries_again_what_was_not_answered() {
    for (index, setup) in with_spares() {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        gone(&mut rig, &[1]);
        rig.failing.as_mut().expect("some fail").time_out(0.02);
        rig.submit(Op::Read, 20 * setup.chunk, 6 * setup.chunk, 0);
        rig.settle();
        let failures = rig.failing.as_mut().expect("some fail").calm();
        assert!(failures > 20, "only {failures} were not answered");
        assert_eq!(counted(&rig, "bad_blocks"), 0, "{setup:?}");
        assert_eq!(counted(&rig, "rebuilds"), 1, "{setup:?}");
        rig.contents
            .replaced(1, (rig.drives() - setup.spares() as u64) as u16);
        rig.contents.check_parities();
    }
}

/// Blocks of two drives cannot be read, in one page and not in one row: nothing is lost.
#[test]
fn bad_blocks_of_two_drives_in_a_page_cost_nothing() {
    for (index, setup) in setups().filter(|(_, setup)| setup.chunk > 16) {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        for (drive, block) in [(0, 0), (1, 1), (2, 3)] {
            let failing = rig.failing.as_mut().expect("some fail");
            failing.spoil(DriveId(drive), block);
        }
        read_all(&mut rig);
        assert_eq!(rig.stack.lost().blocks, 0, "{setup:?}");
    }
}

/// The power goes while a spare is rebuilt: what was rebuilt need not be again, and a drive that is
/// there again is not used.
fn check_cuts(kept: bool) {
    let mut left = Vec::new();
    for (index, setup) in with_spares() {
        for (life, kind) in ["disk", "complete disk"]
            .into_iter()
            .cycle()
            .take(4)
            .enumerate()
        {
            let seed = 10 * life as u64 + index;
            let mut rig = Rig::new(setup, kind, "satf", seed);
            (rig.rules.off, rig.contents.may_fail) = (true, true);
            rig.contents.loses = kind != "disk";
            rig.failing = Some(Failing::none(rig.drives() as usize));
            rig.fill();
            rig.submit(Op::Flush, 0, 0, 0);
            rig.settle();
            gone(&mut rig, &[1]);
            rig.submit(Op::Write, 0, setup.chunk, 0);
            for _ in 0..3 {
                rig.run_until(rig.now + Duration::from_ms(700));
                rig.submit(Op::Flush, 0, 0, 0);
                rig.run_until(rig.now + Duration::from_ms(100));
                left.push(counted(&rig, "bad_blocks"));
                rig.cut(&mut Rng::stream(seed, "cut"), kept);
                if life > 1 {
                    gone(&mut rig, &[]);
                }
                rig.submit(Op::Read, 0, 1, 0);
                left.push(counted(&rig, "bad_blocks"));
            }
            read_all(&mut rig);
            assert_eq!(rig.failed, 0, "{setup:?}");
            let spare = rig.drives() - setup.spares() as u64;
            rig.contents.replaced(1, spare as u16);
            rig.contents.check_parities();
            gone(&mut rig, &[1, 2]);
            read_all(&mut rig);
        }
    }
    let goes_on = |two: &[u64]| two[1] > 0 && two[1] <= two[0];
    let on = left.chunks(2).filter(|two| goes_on(two)).count();
    assert!(on > 8, "only {on} went on: {left:?}");
}

#[test]
fn a_rebuild_goes_on_after_a_power_cut() {
    check_cuts(true);
}

/// Drives that always have something to do.
fn busy(place: &'static str) -> Rig {
    let setup = Setup {
        place,
        ..*Setup::of("raid5:disks=6:spares=1:strip_kib=4")
    };
    let mut rig = written(&setup, 4, Slip::None, |_| 0.0);
    gone(&mut rig, &[3]);
    let mut rng = Rng::stream(4, "busy");
    let end = rig.now + Duration::from_ms(6_000);
    while rig.now < end {
        if rig.stack.waiting() < 30 {
            let start = rng.below(rig.blocks() - 8);
            rig.submit(Op::Read, start, Blocks(8).0, 0);
        }
        rig.run_until(rig.now + Duration::from_us(300));
    }
    rig
}

/// 1.2 MB at 0.5 MiB a second are 2.3 s.
#[test]
fn a_rate_is_kept_under_load() {
    let rig = busy("raid5:disks=6:spares=1:strip_kib=4");
    assert_eq!(counted(&rig, "rebuilds"), 0, "there is no spare time");
    let rig = busy("raid5:disks=6:spares=1:strip_kib=4:rebuild_mib_s=0.5");
    assert_eq!(counted(&rig, "rebuilds"), 1);
    let took = counted(&rig, "rebuild_ms");
    assert!((1_000..2_800).contains(&took), "{took} ms");
}

/// In spare time as fast as drives can, however low the rate is.
#[test]
fn a_rate_takes_nothing_from_spare_time() {
    let took = |place: &'static str| {
        let setup = Setup {
            place,
            ..*Setup::of("raid5:disks=6:spares=1:strip_kib=4")
        };
        let mut rig = written(&setup, 4, Slip::None, |_| 0.0);
        gone(&mut rig, &[3]);
        rig.submit(Op::Read, 0, setup.chunk, 0);
        rig.settle();
        assert_eq!(counted(&rig, "rebuilds"), 1);
        counted(&rig, "rebuild_ms")
    };
    let without = took("raid5:disks=6:spares=1:strip_kib=4");
    let slow = took("raid5:disks=6:spares=1:strip_kib=4:rebuild_mib_s=0.01");
    assert!(
        slow.abs_diff(without) < without / 50,
        "{slow} and {without} ms"
    );
    assert!(took("raid5:disks=6:spares=1:strip_kib=4:rebuild_mib_s=50") < without);
}

#[test]
fn a_write_that_passes_a_rebuild_is_seen() {
    is_seen(check_lives, Slip::Gates, "");
    is_seen(check_rebuild, Slip::Gates, "");
}

#[test]
fn a_rebuild_that_takes_something_in_twice_is_seen() {
    is_seen(check_rebuild, Slip::FoldedTwice, "");
}

#[test]
fn a_table_without_the_spare_is_seen() {
    is_seen(check_cuts, false, "");
}
