//! All placements under random loads: every read finds what was written, and at last every copy is
//! the newest.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::rng::Rng;
use nearslot_core::stack::Stack;
use nearslot_core::{place, sched};

use crate::contents::failing::{self, Slip};
use crate::contents::load;
use crate::contents::parity::lives;
use crate::contents::rig::Rig;
use crate::contents::setups::{BUFFERED, CACHED, DRIVES, SETUPS, Setup};

/// Whether drives choose when everything else of an instant is in, as they do for a loop that
/// refills before the choice.
fn chooses_last(seed: u64) -> bool {
    seed % 2 == 1
}

/// A whole life: the volume is written, used, and read.
pub(crate) fn live(setup: &Setup, kind: &str, sched: &str, rounds: u64, seed: u64) -> Rig {
    let mut rig = Rig::new(setup, kind, sched, seed);
    rig.stack.choose_last(chooses_last(seed));
    let mut rng = Rng::stream(seed, "load");
    rig.fill();
    if rng.chance(0.5) {
        rig.settle();
    }
    load::churn(&mut rig, setup, rounds, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    rig
}

pub(crate) fn named(setup: &Setup, kind: &str, sched: &str, case: impl FnOnce()) {
    let outcome = catch_unwind(AssertUnwindSafe(case));
    assert!(outcome.is_ok(), "{sched} over {setup:?} on {kind}");
}

#[test]
fn every_placement_is_among_the_setups() {
    for spec in place::TABLE {
        let mut setups = SETUPS.iter();
        assert!(setups.any(|one| one.name() == spec.name), "{}", spec.name);
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    let mut compared = 0;
    let mut scheds = sched::TABLE.iter().cycle();
    for (number, setup) in SETUPS.iter().enumerate() {
        for life in lives(number as u64) {
            let kind = DRIVES[life as usize % DRIVES.len()];
            let spec = scheds.next().expect("it goes round");
            named(setup, kind, spec.name, || {
                let rig = live(setup, kind, spec.name, 30, 100 * life + number as u64);
                compared += rig.contents.compared;
            });
        }
    }
    assert!(compared > 100_000, "only {compared} blocks were compared");
}

#[test]
fn every_scheduler_finds_what_was_written() {
    for (number, spec) in sched::TABLE.iter().enumerate() {
        for setup in SETUPS.iter().filter(|setup| setup.copies > 1).step_by(5) {
            named(setup, "disk", spec.name, || {
                live(setup, "disk", spec.name, 15, number as u64);
            });
        }
    }
}

/// A fresh stack is given the inputs of a life: its actions are the same. No drive, no loop and no
/// clock has a part in it.
pub(crate) fn replay(mut again: Stack, lived: &Rig) {
    let mut expected = lived.trace.iter();
    for (now, input) in &lived.inputs {
        again.input(*now, input.clone());
        let mut actions = Vec::new();
        again.take_actions(&mut actions);
        for action in actions {
            assert_eq!(expected.next(), Some(&(*now, action)), "after {input:?}");
        }
    }
    assert_eq!(expected.next(), None, "an action is missing");
}

/// Placements with all their maps, caches, prefetchers, write buffers and schedulers have a turn,
/// and commands are merged. More caches have one in `drawn`.
#[test]
fn the_log_of_the_inputs_gives_the_same_actions_again() {
    assert!(
        SETUPS.len() >= sched::TABLE.len(),
        "each scheduler has a turn"
    );
    let setups = SETUPS.iter().chain(CACHED).chain(BUFFERED);
    for ((number, setup), spec) in setups.enumerate().zip(sched::TABLE.iter().cycle()) {
        let merge = ["none", "none", "contiguous"][number % 3];
        let setup = Setup { merge, ..*setup };
        named(&setup, "disk", spec.name, || {
            let lived = live(&setup, "disk", spec.name, 6, 3);
            let mut again = setup.build("disk", spec.name, 3).stack;
            again.choose_last(chooses_last(3));
            replay(again, &lived);
        });
    }
}

/// So it does where commands fail.
#[test]
fn the_log_of_the_inputs_gives_the_same_actions_again_whatever_fails() {
    let setups = SETUPS.iter().step_by(2).chain(CACHED).chain(BUFFERED);
    let mut failed = 0;
    for setup in setups {
        named(setup, "disk", "satf", || {
            let lived = failing::life(setup, 4, Slip::None, |_| 0.03);
            failed += lived.failed;
            replay(setup.build("disk", "satf", 4).stack, &lived);
        });
    }
    assert!(failed > 100, "only {failed} requests failed");
}

#[test]
fn a_storm_of_writes_passes() {
    for setup in SETUPS {
        named(setup, "disk", "satf", || {
            let mut rig = Rig::new(setup, "disk", "satf", 1);
            let mut rng = Rng::stream(1, "storm");
            rig.fill();
            for _ in 0..3 {
                load::storm(&mut rig, setup, &mut rng);
            }
            rig.settle();
            load::scan(&mut rig, setup, &mut rng);
            rig.settle();
        });
    }
}

#[test]
fn delayed_copies_wait_for_what_an_answer_lets_begin() {
    let mirror = |one: &&Setup| one.place == "mirror:disks=2" && one.foreground == 1;
    let setup = SETUPS.iter().find(mirror).expect("it is among the setups");
    // Several held writes begin at one answer, and that now and then.
    for seed in 0..20 {
        named(setup, "disk", "satf", || {
            live(setup, "disk", "satf", 20, seed);
        });
    }
}

/// Schedulers that know of urgency let a later write to a place pass an earlier one.
#[test]
fn what_goes_home_is_not_undone_by_what_was_to_go_there_before() {
    let homes = |one: &&Setup| one.homes();
    for setup in SETUPS.iter().filter(homes) {
        for sched in ["mq-deadline", "satf"] {
            named(setup, "disk", sched, || {
                for seed in 0..6 {
                    live(setup, "disk", sched, 30, seed);
                }
            });
        }
    }
}
