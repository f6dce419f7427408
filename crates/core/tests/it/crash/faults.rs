//! A deliberate fault for what recovery counts on (A11 of the published claims): the check after a
//! power cut has to see it, or it says nothing. Drives lose what they had written, NVRAM is of an
//! earlier instant, an answer is given before what it says is safe. At some cuts a fault does no
//! harm.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::World;
use super::world::Cut;

/// What is left now, with something as it was a few events before.
type Fault = fn(Cut, &Cut) -> Cut;

const IN_A_LOG: &str = "eager:dilution=2:map=log:nvram_entries=6";
const ON_A_DRIVE: &str = "eager:dilution=2:map=log:home=drive";
const VIRTUAL: &str = "eager:dilution=2:map=virtual_log";
const STATIONS: &str = "eager:dilution=2:map=virtual_log:map_tracks=6";
const PAIRS: &str = "distorted_mirror:map=log:nvram_entries=6";
const PAIRS_ON_DRIVES: &str = "distorted_mirror:map=log:home=drive";

const ALL: [&str; 6] = [
    IN_A_LOG,
    ON_A_DRIVE,
    VIRTUAL,
    STATIONS,
    PAIRS,
    PAIRS_ON_DRIVES,
];

const CUTS: u64 = 16;
/// Enough that in nearly all of them something arrives at a drive and is answered.
const EVENTS_BETWEEN: u64 = 45;

/// In how many of the cuts recovery is refused, or finds what is not to be found.
fn seen(place: &str, fault: Fault) -> u64 {
    let mut world = World::new(super::config(place, "satf_ew"));
    let mut seen = 0;
    for number in 0..CUTS {
        let before = world.cut(number);
        for _ in 0..EVENTS_BETWEEN {
            world.step();
        }
        let cut = fault(world.cut(number), &before);
        let outcome = catch_unwind(AssertUnwindSafe(|| match cut.recover() {
            Ok(mut recovered) => {
                recovered.check(true);
                false
            }
            Err(_) => true,
        }));
        seen += u64::from(outcome.unwrap_or(true));
    }
    seen
}

#[test]
fn without_a_fault_nothing_is_seen() {
    for place in ALL {
        assert_eq!(seen(place, |cut, _| cut), 0, "{place}");
    }
}

#[test]
fn nvram_of_an_earlier_instant_is_seen() {
    for place in [IN_A_LOG, PAIRS] {
        let seen = seen(place, |cut, before| cut.with_nvram_of(before));
        assert!(seen > CUTS / 4, "{place}: {seen}");
    }
}

#[test]
fn a_map_that_lost_its_last_writes_is_seen() {
    for place in ALL {
        let seen = seen(place, |cut, before| cut.with_own_sectors_of(before));
        assert!(seen > CUTS / 4, "{place}: {seen}");
    }
}

#[test]
fn data_that_never_reached_the_drive_are_seen() {
    for place in ALL {
        let seen = seen(place, |cut, before| cut.with_data_of(before));
        assert!(seen > CUTS / 4, "{place}: {seen}");
    }
}

#[test]
fn an_answer_before_its_time_is_seen() {
    for place in ALL {
        let seen = seen(place, |cut, _| cut.with_all_answered());
        assert!(seen > CUTS / 4, "{place}: {seen}");
    }
}
