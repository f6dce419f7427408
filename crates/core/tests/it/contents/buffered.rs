//! Write buffers above placements, with caches and without: what a read gets from the buffer, the
//! cache, a job or a drive is what it may find, whatever is on its way to the drives; and at any
//! instant the buffer and what is on the medium are all that was answered.
//!
//! The buffer is a list of stamps that the stack's own moves change, as the memory is. A power cut
//! is looked at here, over all placements: what counts as kept is a version that may be read which
//! the buffer has, or else a drive that cannot lose it. `buffered_cuts` carries it out.

use nearslot_core::rng::Rng;
use nearslot_core::sched;

use crate::contents::failing::{Slip, life};
use crate::contents::load;
use crate::contents::parity::lives;
use crate::contents::random::named;
use crate::contents::rig::Rig;
use crate::contents::setups::{BUFFERED, DRIVES, Setup};

/// What a buffer has counted.
pub(super) fn told(rig: &Rig, name: &str) -> u64 {
    let mut found = None;
    rig.stack.tell(&mut |key, measure, number| {
        if (key, measure.name) == ("buffer", name) {
            found = Some(number);
        }
    });
    found.unwrap_or_else(|| panic!("no buffer counts {name}"))
}

/// A life, whose power might go after each of its rounds.
fn live(setup: &Setup, kind: &str, sched: &str, seed: u64) -> Rig {
    let mut rig = Rig::new(setup, kind, sched, seed);
    let mut rng = Rng::stream(seed, "load");
    rig.fill();
    if rng.chance(0.5) {
        rig.settle();
    }
    for _ in 0..40 {
        load::churn(&mut rig, setup, 1, &mut rng);
        rig.check_cut();
    }
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    rig.check_cut();
    rig
}

#[test]
fn what_is_read_is_what_was_written_wherever_it_is() {
    let (mut lent, mut compared) = (0, 0);
    let mut counted = [0; 4];
    let mut scheds = sched::TABLE.iter().cycle();
    for (number, setup) in BUFFERED.iter().enumerate() {
        for kind in DRIVES {
            let spec = scheds.next().expect("it goes round");
            for seed in lives(number as u64) {
                named(setup, kind, spec.name, || {
                    let rig = live(setup, kind, spec.name, 100 * seed + number as u64);
                    lent += rig.contents.lent;
                    compared += rig.contents.compared;
                    let names = [
                        "waited_writes",
                        "overwritten_pages",
                        "full_units",
                        "dirty_pages",
                    ];
                    for (count, name) in counted.iter_mut().zip(names) {
                        *count += told(&rig, name);
                    }
                    for none in ["failed_units", "given_up_pages"] {
                        assert_eq!(told(&rig, none), 0, "nothing fails");
                    }
                });
            }
        }
    }
    assert!(compared > 100_000, "only {compared} blocks were compared");
    assert!(lent > 10_000, "{lent} of {compared} from the buffer");
    assert!(counted.iter().all(|count| *count > 500), "{counted:?}");
}

#[test]
fn what_is_answered_is_right_whatever_fails_below_a_buffer() {
    let (mut failed, mut lent, mut tried) = (0, 0, 0);
    for (number, setup) in BUFFERED.iter().enumerate() {
        for seed in 0..4 {
            named(setup, "disk", "satf", || {
                let seed = 100 * seed + number as u64;
                let rig = life(setup, seed, Slip::None, |_| 0.03);
                failed += rig.failed;
                lent += rig.contents.lent;
                tried += told(&rig, "failed_units");
            });
        }
    }
    assert!(failed > 50, "{failed} requests failed");
    assert!(tried > 50, "{tried} units could not be written");
    assert!(lent > 10_000, "{lent} blocks were in the buffer");
}
