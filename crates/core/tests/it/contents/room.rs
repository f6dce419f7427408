//! Volumes with hardly a free slot, on drives whose homes go bad: whatever waits for a slot is
//! answered, if only by a failure.
//!
//! A copy away from its home holds a slot until it can be written there. Where no home can be, and
//! the copy is the only one of its chunk as the drive of the other one is gone, no slot becomes
//! free any more; what waits for one is told so, whatever else is under way, and also what begins
//! to wait only as another request was told. `NEARSLOT_LIVES` says how many lives each of them has
//! besides those that are listed.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

use crate::contents::failing::{Slip, written};
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;
use crate::support::number;

/// One slot in a hundred is free.
const TIGHT: [Setup; 4] = [
    Setup::new(
        "distorted_mirror:ds=1.98:dd=1.0101010101:stripe_kib=8",
        2,
        2,
    ),
    Setup::new(
        "distorted_mirror:ds=1.98:dd=1.0101010101:stripe_kib=8",
        2,
        1,
    ),
    Setup::new(
        "distorted_mirror:ds=1.98:dd=1.0101010101:stripe_kib=8:map=log:nvram_entries=2",
        2,
        1,
    ),
    Setup::new(
        "distorted_mirror:ds=1.98:dd=1.0101010101:stripe_kib=8:map=log:home=drive",
        2,
        2,
    ),
];

/// In each of these lives some volume did not answer before: as a delayed write that waits for a
/// slot itself was taken for one that leaves one, as a change of the map was that is of other
/// drives alone, or as what began to wait when others had failed was not asked for again; or a copy
/// that the buffer alone had waited for spare time.
const SEEDS: [u64; 6] = [5, 6, 13, 17, 25, 29];

/// Bursts of writes on drives each of which fails so often, and two of which may go.
fn life(setup: &Setup, seed: u64) -> Rig {
    let mut rng = Rng::stream(seed, "room");
    let chances = [(); 4].map(|()| [0.02, 0.1, 0.3, 0.6][rng.below(4) as usize]);
    let mut rig = written(setup, seed, Slip::None, |drive| chances[drive]);
    for _ in 0..2 {
        let drive = DriveId(rng.below(rig.drives()) as u16);
        let failing = rig.failing.as_mut().expect("some fail");
        failing.goes(Some((rng.below(80), drive)));
        load::storm(&mut rig, setup, &mut rng);
        load::churn(&mut rig, setup, 5, &mut rng);
    }
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
    rig
}

#[test]
fn what_waits_for_a_slot_that_never_comes_is_told_so() {
    let mut failed = 0;
    for setup in &TIGHT {
        let more = 100..100 + number("NEARSLOT_LIVES", 1);
        for seed in SEEDS.into_iter().chain(more) {
            failed += life(setup, seed).failed;
        }
    }
    assert!(failed > 1_000, "only {failed} requests failed");
}
