//! Power cuts of volumes without a map on drives that do not tell what goes wrong on them: sectors
//! rot, writes are lost, torn or go elsewhere.
//!
//! Without checksums all of that is served as it lies there, and nothing else: no request fails, and
//! each parity fits its row but where one of its blocks is wrong. Where sectors are protected,
//! nothing that rotted or was meant for another place is served, whatever was being written when the
//! power went: a read fails where the only copy lies there, and a parity stands in for it. What was
//! left old looks sound, so it is served, and computed with. Volumes whose copies have entries in
//! NVRAM or a map are in `crash::silent`.

use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

use crate::contents::cuts::{Kept, suffer};
use crate::contents::drawn::one_of;
use crate::contents::faults::is_seen;
use crate::contents::load;
use crate::contents::parity::counted;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};
use crate::contents::words::{self, Draw};

/// Volumes that go on over the same drives without anything that these have to tell.
fn setups() -> impl Iterator<Item = &'static Setup> {
    let names = ["linear", "stripe", "concat", "raid5"];
    SETUPS
        .iter()
        .filter(move |setup| names.contains(&setup.name()))
}

/// A life with power cuts.
fn life(setup: &Setup, seed: u64, kept: Kept) -> Rig {
    let mut rig = Rig::deciding(setup, "disk", "satf", seed);
    (rig.rules.off, rig.contents.may_fail) = (true, true);
    rig.fill();
    rig.settle();
    let mut rng = Rng::stream(seed, "silent cuts");
    for _ in 0..4 {
        suffer(&mut rig, setup, &mut rng, kept);
        load::scan(&mut rig, setup, &mut rng);
        rig.settle();
    }
    rig
}

/// Reads each block alone. How many cannot be read.
fn unreadable(rig: &mut Rig) -> u64 {
    let before = rig.failed;
    for start in 0..rig.blocks() {
        rig.submit(Op::Read, start, 1, 0);
    }
    rig.settle();
    rig.failed - before
}

/// How often this has happened on the drives.
fn happened(rig: &Rig, name: &str) -> u64 {
    let medium = rig.medium.as_ref().expect("something goes wrong");
    medium.counted(name)
}

fn check_without_checksums(kept: Kept) {
    let names = ["lost_writes", "misdirected_writes", "torn_writes"];
    let (mut totals, mut wrong, mut compared, mut repaired) = ([0; 3], 0, 0, 0);
    for (setup, _, seed) in words::each(setups(), words::silent, "silent cuts") {
        let rig = life(&setup, seed, kept);
        assert_eq!(rig.failed, 0, "{setup:?}");
        let medium = rig.medium.as_ref().expect("something goes wrong");
        let is_wrong = |drive, block| medium.is_wrong(drive, block, rig.now);
        rig.contents.check_parities_but(is_wrong);
        for (total, name) in totals.iter_mut().zip(names) {
            *total += happened(&rig, name);
        }
        (wrong, compared) = (wrong + rig.contents.wrong, compared + rig.contents.compared);
        repaired += counted(&rig, "repaired");
    }
    assert!(totals.iter().all(|total| *total > 30), "{totals:?}");
    assert!(wrong > 1_000, "only {wrong} blocks were wrong");
    assert!(compared > 10 * wrong, "{wrong} of {compared} blocks");
    assert!(repaired > 10, "only {repaired} pieces were repaired");
}

/// One drive rots, whose sectors are protected or not.
fn check_rot(protected: bool) {
    let one_rots: Draw = |rng, drives| {
        let within = one_of(rng, &[5, 15]);
        let drive = rng.below(drives);
        vec![format!(
            "rot_per_tib=16000000:rot_within_s={within}:drive={drive}"
        )]
    };
    let (mut caught, mut failed, mut lost) = (0, [0, 0], 0);
    for (setup, _, seed) in words::each(setups(), one_rots, "rot and cuts") {
        let setup = Setup { protected, ..setup };
        let mut rig = life(&setup, seed, Kept::All);
        assert_eq!(rig.contents.wrong, 0, "wrong blocks: {setup:?}");
        caught += happened(&rig, "caught_reads");
        failed[usize::from(setup.parity())] += rig.failed;
        if setup.parity() {
            // What a row does not tell that was being written, and nothing else.
            let unreadable = unreadable(&mut rig);
            assert_eq!(unreadable, rig.stack.lost().blocks, "{setup:?}");
            lost += unreadable;
        }
    }
    assert!(caught > 100, "only {caught} reads were caught");
    let [alone, with_parity] = failed;
    assert!(
        alone > 50,
        "only {alone} requests failed for want of a copy"
    );
    assert!(with_parity * 20 < alone, "{failed:?}, {lost} lost");
}

#[test]
fn what_no_drive_tells_is_served_as_it_lies_and_nothing_else() {
    check_without_checksums(Kept::All);
}

#[test]
fn what_rotted_is_served_by_none_and_told_by_parities() {
    check_rot(true);
}

/// What looks sound is served and computed with; of all else nothing is.
#[test]
fn what_was_left_old_is_served_and_what_was_meant_for_another_place_is_not() {
    let (mut caught, mut wrong, mut compared) = (0, 0, 0);
    for (setup, _, seed) in words::each(setups(), words::caught, "caught and cuts") {
        let setup = Setup {
            protected: true,
            ..setup
        };
        let rig = life(&setup, seed, Kept::All);
        caught += happened(&rig, "caught_reads");
        (wrong, compared) = (wrong + rig.contents.wrong, compared + rig.contents.compared);
    }
    assert!(caught > 50, "only {caught} reads were caught");
    assert!(wrong > 50, "only {wrong} blocks were wrong");
    assert!(compared > 10 * wrong, "{wrong} of {compared} blocks");
}

#[test]
fn a_drive_that_ignores_guards_and_a_table_that_is_lost_are_seen() {
    is_seen(check_rot, false, "wrong blocks");
    is_seen(check_without_checksums, Kept::Nothing, "the parity of row");
}
