//! What could have been saved: of each request that fails, whether something that is left has what
//! it asked for.
//!
//! A block that a drive could not read cannot be read there until it is written again, and a drive
//! that is gone stays gone. So when a read fails, whatever was tried for it is bad, and if a good
//! place is left that holds what was to be found, it was not tried. That is asked of each block by
//! itself (`judge`): bad blocks beside it are no reason to lose it, wherever they are. Reads that
//! meet a write of the same chunks are left out, as what is to be found is open then; and so are
//! places that were written for whatever reason since the read came, as it may have been too early
//! for them. Where blocks lie anywhere a copy is given up when another one was read: of two copies
//! that each have another bad block neither will do then, though every block is somewhere.
//!
//! A write needs what it writes to be taken, and nothing else, wherever there are parities. A part
//! of a chunk may need the rest.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

use crate::contents::failing::{Slip, written};
use crate::contents::faults::is_seen;
use crate::contents::left::lives;
use crate::contents::load;
use crate::contents::model::Stamp;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

/// A life on drives whose commands fail, each so often, one of which may go on the way.
fn life(setup: &Setup, seed: u64, slip: Slip, reads: bool) -> Rig {
    let mut rng = Rng::stream(seed, "saved");
    let chances: Vec<f64> = (0..64)
        .map(|_| [0.0, 0.02, 0.1, 0.3][rng.below(4) as usize])
        .collect();
    let mut rig = written(setup, seed, slip, |drive| chances[drive]);
    let drive = DriveId(rng.below(rig.drives()) as u16);
    let going = rng.chance(0.5).then(|| (rng.below(60), drive));
    let failing = rig.failing.as_mut().expect("some fail");
    match reads {
        true => failing.spare_writes(),
        false => failing.goes(going),
    }
    rig.judges = true;
    let mut rng = Rng::stream(seed, "load");
    load::churn(&mut rig, setup, 10, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
    rig
}

/// Lives over the whole table in which `reads` alone fail, or writes as well. Of a fault that is
/// planted one life of each setup has to tell: in others it may be seen in another way first.
fn check_saved(slip: Slip, setups: &[&Setup], reads: bool) -> [u64; 2] {
    let (mut failed, mut judged, mut wrong) = (0, 0, Vec::new());
    let lives = if slip == Slip::None { lives() } else { 1 };
    for (index, setup) in (0..).zip(setups) {
        for life_number in 0..lives {
            let seed = 1_000 * life_number + index;
            let rig = life(setup, seed, slip, reads);
            let saveable = rig.saveable.iter();
            wrong.extend(saveable.map(|request| format!("{setup:?}, {seed}: {request:?}")));
            (failed, judged) = (failed + rig.failed, judged + rig.judged);
        }
    }
    let count = wrong.len();
    wrong.truncate(5);
    assert_eq!(count, 0, "could be saved: {}", wrong.join("\n"));
    [failed, judged]
}

/// Where blocks lie anywhere, the places that count are those which the map may still name: see
/// `kept`.
#[test]
fn a_read_that_fails_could_be_read_nowhere() {
    let all: Vec<&Setup> = SETUPS.iter().collect();
    let [failed, judged] = check_saved(Slip::None, &all, false);
    assert!(
        judged > 1_000,
        "only {judged} reads of {failed} requests failed alone"
    );
}

/// Lives over fixed places, with parities or without, in which reads alone fail: some that come
/// before something is written.
fn check_writes(slip: Slip, parity: bool) -> [u64; 2] {
    let fixed = |setup: &&Setup| setup.parity() == parity && !setup.maps() && setup.chunk > 1;
    let fixed: Vec<&Setup> = SETUPS.iter().filter(fixed).collect();
    check_saved(slip, &fixed, true)
}

#[test]
fn a_write_fails_for_no_block_that_it_does_not_need() {
    for parity in [true, false] {
        let [failed, judged] = check_writes(Slip::None, parity);
        assert!(
            judged > 20,
            "only {judged} of {failed} requests failed alone"
        );
    }
}

/// Each copy of each chunk has a block that cannot be read, each another one. A read finds all, and
/// when nothing is left to do each copy has all blocks again.
fn check_healed(slip: Slip) {
    let several = |setup: &&Setup| setup.copies > 1 && !setup.maps();
    for (seed, setup) in (0..).zip(SETUPS.iter().filter(several)) {
        let mut rig = written(setup, seed, slip, |_| 0.0);
        let size = setup.chunk;
        let mut rng = Rng::stream(seed, "spoil");
        let mut bad = Vec::new();
        for first in (0..rig.blocks()).step_by(size as usize) {
            let spoiled = rng.below(size);
            for (copy, (drive, at, _)) in (0..).zip(&rig.contents.places(first..first + 1)[0]) {
                bad.push((*drive, at + (spoiled + copy) % size));
            }
        }
        let failing = rig.failing.as_mut().expect("some fail");
        bad.iter()
            .for_each(|(drive, at)| failing.spoil(*drive, *at));
        let mut rng = Rng::stream(seed, "end");
        load::scan(&mut rig, setup, &mut rng);
        rig.settle();
        assert_eq!(rig.failed, 0, "{setup:?}");
        let failing = rig.failing.as_ref().expect("some fail");
        let left = bad.iter().filter(|(drive, at)| !failing.reads(*drive, *at));
        assert_eq!(left.count(), 0, "are still bad: {setup:?}");
    }
}

#[test]
fn copies_that_each_lack_another_block_heal_each_other() {
    check_healed(Slip::None);
}

/// A block of all copies of a chunk cannot be read. So it is lost, and one copy is not written from
/// another; but a part of the chunk is written over it, as nobody needs what was there.
#[test]
fn a_write_needs_nothing_that_it_writes() {
    let several = |setup: &&Setup| setup.copies > 1 && !setup.maps();
    for (seed, setup) in (0..).zip(SETUPS.iter().filter(several)) {
        let mut rig = written(setup, seed, Slip::None, |_| 0.0);
        let failing = rig.failing.as_mut().expect("some fail");
        for (drive, at, _) in rig.contents.places(3..4).remove(0) {
            failing.spoil(drive, at);
        }
        rig.submit(Op::Read, 0, setup.chunk, 0);
        rig.settle();
        assert_eq!(rig.failed, 1, "{setup:?}");
        rig.submit(Op::Write, 2, 3, 0);
        rig.submit(Op::Read, 0, setup.chunk, 0);
        rig.settle();
        assert_eq!(rig.failed, 1, "{setup:?}");
    }
}

#[test]
fn what_is_given_up_where_it_could_be_saved_is_seen() {
    is_seen(
        |slip| _ = check_writes(slip, true),
        Slip::Anew,
        "could be saved",
    );
    is_seen(
        |slip| _ = check_writes(slip, false),
        Slip::Together,
        "could be saved",
    );
    is_seen(check_healed, Slip::Together, "right: 0");
}

/// A copy that is written in spare time and fails is written again: when there is nothing left to
/// do, none is missing. Of a request that failed nobody knows what there should be.
#[test]
fn a_delayed_copy_that_fails_now_and_then_is_there_in_the_end() {
    let (mut judged, mut failures) = (0, 0);
    let several = |setup: &&Setup| setup.copies > 1 && setup.spread();
    for (seed, setup) in (0..).zip(SETUPS.iter().filter(several)) {
        let mut rig = written(setup, seed, Slip::None, |_| 0.0);
        rig.failing.as_mut().expect("some fail").time_out(0.02);
        let mut rng = Rng::stream(seed, "load");
        load::churn(&mut rig, setup, 10, &mut rng);
        rig.settle();
        if rig.failed == 0 {
            // What was discarded is nowhere.
            let mut held = rig
                .contents
                .buffer
                .iter()
                .filter(|one| matches!(one, Stamp::Of { .. }));
            let missing = held.find(|held| rig.contents.is_in_too_few_places(**held));
            assert_eq!(missing, None, "{setup:?}, {seed}");
            judged += 1;
            failures += rig.failing.as_mut().expect("some fail").calm();
        }
    }
    assert!(judged > 20 && failures > 100, "{judged}, {failures}");
}
