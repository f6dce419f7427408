//! Caches above placements: what a read gets from memory, or from a job that others wait for, is
//! what it may find.
//!
//! The same lives as without a cache, and lives in which commands fail. The memory is a list of
//! stamps that the stack's own moves change.

use nearslot_core::sched;

use crate::contents::failing::{Slip, life};
use crate::contents::random::{live, named};
use crate::contents::setups::{CACHED, DRIVES, Setup};

#[test]
fn what_is_read_is_what_was_written_whatever_stays_in_memory() {
    let (mut served, mut compared) = (0, 0);
    let mut scheds = sched::TABLE.iter().cycle();
    for (number, setup) in CACHED.iter().enumerate() {
        for kind in DRIVES {
            let spec = scheds.next().expect("it goes round");
            for seed in 0..3 {
                named(setup, kind, spec.name, || {
                    let rig = live(setup, kind, spec.name, 40, 100 * seed + number as u64);
                    served += rig.contents.served;
                    compared += rig.contents.compared;
                });
            }
        }
    }
    assert!(compared > 100_000, "only {compared} blocks were compared");
    assert!(served > compared / 10, "{served} of {compared} from memory");
}

#[test]
fn what_is_answered_is_right_whatever_fails_below_a_cache() {
    let (mut failed, mut served) = (0, 0);
    for (number, setup) in CACHED.iter().enumerate() {
        for seed in 0..4 {
            named(setup, "disk", "satf", || {
                let seed = 100 * seed + number as u64;
                let rig = life(setup, seed, Slip::None, |_| 0.03);
                failed += rig.failed;
                served += rig.contents.served;
            });
        }
    }
    assert!(failed > 100, "{failed} requests failed");
    assert!(served > 10_000, "{served} blocks were in memory");
}

/// It has no settings of a stack either.
#[test]
fn a_cache_that_knows_the_future_is_refused() {
    for cache in ["optimal", "belady"] {
        let setup = Setup::of("linear").caching(cache, "none");
        let error = setup.config("disk", "fcfs", 0).build().err();
        let error = error.expect("it is refused").to_string();
        assert!(error.contains("nearslot hitrate"), "{error}");
    }
}
