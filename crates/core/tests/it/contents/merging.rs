//! Merging, limits of what may queue, and drives that sort several commands, over all placements:
//! every read finds what was written, and nothing waits for ever.

use nearslot_core::sched;
use nearslot_core::stack::Action;

use crate::contents::random::{live, named};
use crate::contents::rig::Rig;
use crate::contents::setups::{DRIVES, SETUPS, Setup};

/// Commands that carried out several I/Os, and the parts that had an I/O each.
fn joined(rig: &Rig) -> u64 {
    let joins = |(_, action): &&(_, Action)| matches!(action, Action::Join { .. });
    rig.trace.iter().filter(joins).count() as u64
}

fn merging(setup: &Setup, merge: &'static str) -> Setup {
    Setup { merge, ..*setup }
}

#[test]
fn what_is_read_is_what_was_written_when_commands_are_merged() {
    let mut joins = 0;
    let mut scheds = sched::TABLE.iter().cycle();
    for (number, setup) in SETUPS.iter().enumerate() {
        let merges = [
            "contiguous",
            "contiguous:max_kib=8",
            "contiguous:front=false",
        ];
        let setup = &merging(setup, merges[number % merges.len()]);
        let kind = DRIVES[number % DRIVES.len()];
        let spec = scheds.next().expect("it goes round");
        named(setup, kind, spec.name, || {
            joins += joined(&live(setup, kind, spec.name, 30, number as u64));
        });
    }
    assert!(joins > 2_000, "only {joins} I/Os were merged");
}

#[test]
fn nothing_waits_for_ever_before_a_queue_that_takes_few() {
    for (number, setup) in SETUPS.iter().enumerate() {
        let setup = &merging(setup, ["none", "contiguous"][number % 2]);
        let sched = [
            "mq-deadline:nr_requests=1",
            "mq-deadline:nr_requests=3:async_depth=1",
        ];
        let sched = sched[number / 2 % 2];
        named(setup, "disk", sched, || {
            live(setup, "disk", sched, 20, number as u64);
        });
    }
}

#[test]
fn what_is_read_is_what_was_written_over_drives_that_sort_by_themselves() {
    let mut scheds = sched::TABLE.iter().cycle();
    // A drive that sorts does not tell where its heads are: nothing chooses a slot by that.
    let slots = SETUPS.iter().filter(|setup| !setup.has_slots());
    for (number, setup) in slots.enumerate() {
        let setup = &merging(setup, ["none", "contiguous"][number % 2]);
        let spec = scheds.next().expect("it goes round");
        named(setup, "sorting disk", spec.name, || {
            live(setup, "sorting disk", spec.name, 30, number as u64);
        });
    }
}

#[test]
fn what_is_read_is_what_was_written_over_drives_that_end_commands_in_any_order() {
    let mut scheds = sched::TABLE.iter().cycle();
    for (number, setup) in SETUPS.iter().enumerate() {
        let setup = &merging(setup, ["none", "contiguous"][number % 2]);
        let spec = scheds.next().expect("it goes round");
        named(setup, "flash", spec.name, || {
            live(setup, "flash", spec.name, 30, number as u64);
        });
    }
}
