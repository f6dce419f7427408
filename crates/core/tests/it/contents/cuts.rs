//! Power cuts of volumes with parity: what was answered is there, and what is computed is what was
//! written, whenever the power goes.
//!
//! Over drives whose cache a power cut empties, what a flush has covered.
//!
//! Writes under way have reached any of their blocks. The volume goes on with what its table in
//! NVRAM says, over the same drives.

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

/// What a life goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    All,
    /// A table that says nothing: what was being written is forgotten, and what is bad.
    Nothing,
}

/// Requests come, and somewhere among them the power goes.
pub(super) fn suffer(rig: &mut Rig, setup: &Setup, rng: &mut Rng, kept: Kept) {
    load::churn(rig, setup, 3, rng);
    for _ in 0..20 {
        let chunks = rig.blocks() / setup.chunk;
        let start = rng.below(chunks.min(8)) * setup.chunk + rng.below(setup.chunk);
        let len = 1 + rng.below(setup.chunk);
        rig.submit(Op::Write, start, len.min(rig.blocks() - start), 0);
    }
    rig.run_until(rig.now + Duration::from_us(rng.below(150_000)));
    rig.cut(rng, kept == Kept::All);
}

/// Nothing fails: all is there after each cut, and when spare time has done its work, all drives
/// but any one tell it.
fn check_cuts(kept: Kept) {
    let mut repaired = 0;
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            let mut rng = Rng::stream(seed, "cuts");
            for _ in 0..6 {
                suffer(&mut rig, setup, &mut rng, kept);
                read_all(&mut rig);
            }
            assert_eq!(rig.failed, 0, "{setup:?}");
            rig.contents.check_parities();
            repaired += counted(&rig, "repaired");
            let drive = rng.below(rig.drives()) as u16;
            gone(&mut rig, &[drive]);
            read_all(&mut rig);
        }
    }
    assert!(repaired > 10, "only {repaired} pieces were repaired");
}

/// The same over drives whose cache a power cut empties: what a flush has covered is there, or what
/// came later.
fn check_cuts_of_caches(kept: Kept) {
    let (mut repaired, mut set_back) = (0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let built = setup.build("complete disk", "satf", seed);
            let drives = built.drives.len();
            let mut rig = Rig::over(setup, built);
            (rig.rules.off, rig.contents.may_fail) = (true, true);
            rig.contents.loses = true;
            rig.failing = Some(Failing::none(drives));
            rig.fill();
            rig.settle();
            let mut rng = Rng::stream(seed, "cuts");
            for _ in 0..6 {
                rig.submit(Op::Flush, 0, 0, 0);
                rig.settle();
                suffer(&mut rig, setup, &mut rng, kept);
                read_all(&mut rig);
            }
            assert_eq!(rig.failed, 0, "{setup:?}");
            rig.contents.check_parities();
            repaired += counted(&rig, "repaired");
            set_back += rig.contents.set_back;
            let drive = rng.below(rig.drives()) as u16;
            gone(&mut rig, &[drive]);
            read_all(&mut rig);
        }
    }
    assert!(repaired > 10, "only {repaired} pieces were repaired");
    assert!(set_back > 10, "only {set_back} blocks were set back");
}

/// A drive goes, and then the power; or a drive that was gone is there again, with what it had.
/// What is answered is right: blocks of rows that were being written may be lost, and no others.
fn check_cuts_without_a_drive(kept: Kept) {
    let (mut lost, mut compared, mut repaired) = (0, 0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            let mut rng = Rng::stream(seed, "cuts");
            let drive = rng.below(rig.drives()) as u16;
            gone(&mut rig, &[drive]);
            load::churn(&mut rig, setup, 10, &mut rng);
            rig.settle();
            assert_eq!(rig.failed, 0, "{setup:?}");
            suffer(&mut rig, setup, &mut rng, kept);
            if life % 2 == 0 {
                gone(&mut rig, &[]);
            }
            let before = rig.failed;
            for start in 0..rig.blocks() {
                rig.submit(Op::Read, start, 1, 0);
                rig.run_until(rig.now + Duration::from_us(300));
            }
            rig.settle();
            let failed = rig.failed - before;
            lost += failed;
            assert!(failed < rig.blocks() / 4, "{failed} are lost: {setup:?}");
            load::churn(&mut rig, setup, 5, &mut rng);
            rig.settle();
            compared += rig.contents.compared;
            repaired += counted(&rig, "repaired");
        }
    }
    assert!(compared > 10_000, "only {compared} blocks were compared");
    assert!(repaired > 100, "only {repaired} pieces were repaired");
    assert!(lost > 0, "nothing was being written");
}

/// A write fails, and its block is told by the others of its row alone: so it is after a cut.
fn check_cuts_after_failures(kept: Kept) {
    let mut tolerated = 0;
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let chance = |drive: usize| if drive == 1 { 0.5 } else { 0.0 };
            let mut rig = written(setup, seed, Slip::None, chance);
            rig.failing.as_mut().expect("some fail").timeouts = 1.0;
            let mut rng = Rng::stream(seed, "cuts");
            load::churn(&mut rig, setup, 10, &mut rng);
            rig.settle();
            tolerated += counted(&rig, "tolerated_writes");
            rig.failing.as_mut().expect("some fail").calm();
            rig.cut(&mut rng, kept == Kept::All);
            read_all(&mut rig);
            assert_eq!(rig.failed, 0, "{setup:?}");
            rig.contents.check_parities();
        }
    }
    assert!(tolerated > 50, "only {tolerated} writes were tolerated");
}

#[test]
fn a_power_cut_leaves_what_was_answered() {
    check_cuts(Kept::All);
}

#[test]
fn a_power_cut_that_takes_caches_leaves_what_was_flushed() {
    check_cuts_of_caches(Kept::All);
}

#[test]
fn a_power_cut_without_a_drive_makes_nothing_up() {
    check_cuts_without_a_drive(Kept::All);
}

#[test]
fn what_could_not_be_written_is_known_after_a_power_cut() {
    check_cuts_after_failures(Kept::All);
}

/// A drive that is new has nothing: all of it is computed in spare time.
#[test]
fn a_drive_that_is_there_again_is_written_anew() {
    for (index, setup) in setups() {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        let mut rng = Rng::stream(index, "anew");
        gone(&mut rig, &[1]);
        load::churn(&mut rig, setup, 10, &mut rng);
        rig.settle();
        rig.cut(&mut rng, true);
        rig.contents.blank(DriveId(1));
        gone(&mut rig, &[]);
        if setup.spares() > 0 {
            let spare = rig.drives() - setup.spares() as u64;
            rig.contents.replaced(1, spare as u16);
        }
        // The first I/O of a life; then there is nothing but spare time.
        rig.submit(Op::Read, 0, 1, 0);
        rig.run_until(rig.now + Duration::from_ms(100));
        if setup.spares() == 0 {
            let [lacks] = &rig.stack.degraded()[..] else {
                panic!("one drive was gone: {setup:?}")
            };
            let by = lacks.replaced.expect("it is there");
            assert_eq!((lacks.drive, by.by), (DriveId(1), DriveId(1)), "{setup:?}");
            assert!(by.left > Blocks(0) && by.goes_on, "{by:?}: {setup:?}");
        }
        rig.settle();
        assert_eq!(rig.stack.degraded(), [], "{setup:?}");
        rig.contents.check_parities();
        gone(&mut rig, &[2]);
        read_all(&mut rig);
        assert_eq!(rig.failed, 0, "{setup:?}");
    }
}

/// What a row that was being written leaves bad of a spare is repaired, and counts as no rebuild.
#[test]
fn a_spare_that_was_rebuilt_is_not_rebuilt_again() {
    let mut repaired = 0;
    for (index, setup) in setups().filter(|(_, setup)| setup.spares() > 0) {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        let mut rng = Rng::stream(index, "rebuilt");
        gone(&mut rig, &[1]);
        rig.submit(Op::Read, 0, rig.blocks(), 0);
        rig.settle();
        assert_eq!(counted(&rig, "rebuilds"), 1, "{setup:?}");
        let spare = rig.drives() - setup.spares() as u64;
        rig.contents.replaced(1, spare as u16);
        for _ in 0..8 {
            suffer(&mut rig, setup, &mut rng, Kept::All);
            rig.submit(Op::Read, 0, 1, 0);
            rig.settle();
            assert_eq!(counted(&rig, "rebuilds"), 0, "{setup:?}");
            repaired += counted(&rig, "repaired");
        }
        rig.contents.check_parities();
    }
    assert!(repaired > 20, "only {repaired} pieces were repaired");
}

/// Bad blocks of the other drives cost a block each, and the block of their row, and are told.
#[test]
fn bad_blocks_that_a_repair_meets_cost_a_block_each() {
    for (index, setup) in setups().filter(|(_, setup)| setup.spares() == 0) {
        let mut rig = written(setup, index, Slip::None, |_| 0.0);
        gone(&mut rig, &[1]);
        rig.submit(Op::Write, 0, 3 * setup.chunk, 0);
        rig.settle();
        rig.cut(&mut Rng::stream(index, "cut"), true);
        gone(&mut rig, &[]);
        for block in [3, 100, 501] {
            let failing = rig.failing.as_mut().expect("some fail");
            failing.spoil(DriveId(2), block);
        }
        rig.submit(Op::Read, rig.blocks() - 1, 1, 0);
        rig.settle();
        assert_eq!(counted(&rig, "bad_blocks"), 2 * 3, "{setup:?}");
        let failed = rig.failed;
        for start in 0..rig.blocks() {
            rig.submit(Op::Read, start, 1, 0);
        }
        rig.settle();
        let lost = rig.stack.lost().blocks;
        assert_eq!(rig.failed - failed, lost, "{setup:?}");
        assert!((3..=6).contains(&lost), "{lost}: {setup:?}");
    }
}

#[test]
fn a_table_that_is_lost_is_seen() {
    is_seen(check_cuts, Kept::Nothing, "the parity of row");
    is_seen(check_cuts_of_caches, Kept::Nothing, "the parity of row");
    is_seen(check_cuts_without_a_drive, Kept::Nothing, "allowed were");
    is_seen(check_cuts_after_failures, Kept::Nothing, "allowed were");
}
