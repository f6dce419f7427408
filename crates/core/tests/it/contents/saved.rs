//! What could have been saved: of each request that fails, whether something that is left has what
//! it asked for.
//!
//! A block that a drive could not read cannot be read there until it is written again, and a drive
//! that is gone stays gone. So when a read fails, whatever was tried for it is bad, and if a good
//! place is left that holds what was to be found, it was not tried. Reads that meet a write of the
//! same chunks are left out, as what is to be found is open then; and so are places that were
//! written for whatever reason since the read came, as it may have been too early for them. A chunk
//! is what placements know copies of: one of which the last write of any block failed is none,
//! whatever lies there. At fixed places a copy with a bad block is read for its others. Where
//! blocks lie anywhere it is given up when another one was read: of two copies that each have
//! another bad block neither will do then, though every block is somewhere.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

use crate::contents::failing::{Slip, written};
use crate::contents::left::lives;
use crate::contents::load;
use crate::contents::model::Stamp;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

/// A life on drives whose commands fail, each so often, one of which may go on the way.
fn life(setup: &Setup, seed: u64) -> Rig {
    let mut rng = Rng::stream(seed, "saved");
    let chances: Vec<f64> = (0..64)
        .map(|_| [0.0, 0.02, 0.1, 0.3][rng.below(4) as usize])
        .collect();
    let mut rig = written(setup, seed, Slip::None, |drive| chances[drive]);
    let drive = DriveId(rng.below(rig.drives()) as u16);
    let going = rng.chance(0.5).then(|| (rng.below(60), drive));
    rig.failing.as_mut().expect("some fail").goes(going);
    rig.judges = true;
    let mut rng = Rng::stream(seed, "load");
    load::churn(&mut rig, setup, 10, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
    rig
}

/// Where blocks lie anywhere, the places that count are those which the map may still name: see
/// `kept`.
#[test]
fn a_read_that_fails_could_be_read_nowhere() {
    let (mut failed, mut judged, mut wrong) = (0, 0, Vec::new());
    for (index, setup) in (0..).zip(SETUPS) {
        for life_number in 0..lives() {
            let seed = 1_000 * life_number + index;
            let rig = life(setup, seed);
            let saveable = rig.saveable.iter();
            wrong.extend(saveable.map(|request| format!("{setup:?}, {seed}: {request:?}")));
            (failed, judged) = (failed + rig.failed, judged + rig.judged);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        judged > 1_000,
        "only {judged} reads of {failed} requests failed alone"
    );
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
