//! Power cuts of volumes under a write buffer: what was answered is in the buffer, or where its
//! placement finds it, whatever drives were doing.
//!
//! Over caches that a power cut empties, with placements that write eagerly, keep copies or a log,
//! and again while what was in the buffer goes to the drives. A buffer that comes back with what it
//! had at an earlier instant is seen.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::config::StackConfig;
use nearslot_core::contract::Destage;

use super::caches::{EAGER, FIXED, config, is_fixed};
use super::world::{Cut, World};

/// Answers take no time, as this world has no clock but that of its drives.
const BUFFERS: [&str; 3] = [
    "lrw:size=40lines:unit_kib=16:write_us=0:read_us=0",
    "wow:size=24lines:unit_kib=8:write_us=0:read_us=0:low_percent=20:high_percent=60",
    "cscan:size=60lines:unit_kib=4:write_us=0:read_us=0:low_percent=0:high_percent=1",
];

fn buffered(place: &str, sched: &str, buffer: &str) -> StackConfig {
    let config = config(place, sched);
    config.with::<dyn Destage>(buffer.parse().expect("a part's name"))
}

/// What happened in a run.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    /// With units on their way.
    going: u64,
    /// After which something was found that is not to be found, or nothing was.
    wrong: u64,
    destaged: u64,
}

/// Runs so many events, with power cuts at some, each of which `harm` makes something of; the
/// second cut is of an earlier instant.
fn tally(mut world: World, events: u64, harm: fn(Cut, &Cut) -> Cut) -> Tally {
    let mut tally = Tally::default();
    let mut before = world.cut(events);
    for event in 0..events {
        world.step();
        let goes_on = event % 101 == 100;
        if !goes_on && !event.is_multiple_of(super::events_per_cut()) {
            continue;
        }
        tally.cuts += 1;
        tally.going += u64::from(world.destages());
        let cut = harm(world.cut(event), &before);
        let again = harm(world.cut(event + events), &before);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut recovered = cut.recover().expect("it comes back");
            recovered.check(event.is_multiple_of(39));
            // The power goes again while writes come, and what was in the buffer goes to the
            // drives.
            let mut busy = again.recover().expect("it comes back");
            busy.write_at_once(event);
            let mut twice = busy.cut(event).recover().expect("it comes back twice");
            twice.check(event.is_multiple_of(39));
            goes_on.then(|| recovered.go_on())
        }));
        match outcome {
            Ok(Some(next)) => {
                tally.destaged += world.destaged();
                world = next;
                before = world.cut(event);
            }
            Ok(None) => {}
            Err(_) => tally.wrong += 1,
        }
        if event % 30 == 29 {
            before = world.cut(event);
        }
    }
    tally.destaged += world.destaged();
    tally
}

fn suffer(place: &str, sched: &str, events: u64) {
    for (number, buffer) in BUFFERS.into_iter().enumerate() {
        let world = World::new(buffered(place, sched, buffer));
        let tally = tally(world, events, |cut, _| cut);
        assert_eq!(tally.wrong, 0, "{place} under {buffer}: {tally:?}");
        assert!(tally.destaged > events / 10, "{buffer}: {tally:?}");
        assert!(tally.going > tally.cuts / 4 || number == 1, "{tally:?}");
    }
}

#[test]
fn eager_writing_under_a_buffer() {
    EAGER
        .into_iter()
        .for_each(|place| suffer(place, "satf_ew", 120));
    suffer(
        "eager:dilution=1.3:map=virtual_log:compact=true",
        "satf_ew",
        120,
    );
}

#[test]
fn copies_at_fixed_places_under_a_buffer() {
    FIXED
        .into_iter()
        .for_each(|place| suffer(place, "satf", 150));
    suffer("mirror:disks=4:stripe_kib=8:buffer_chunks=3", "look", 120);
}

/// Copies are the same in the end, as without a buffer. A flush does not reach the placement, so
/// reads are the first I/Os of a life.
#[test]
fn copies_under_a_buffer_are_the_same_in_the_end() {
    for place in FIXED {
        assert!(is_fixed(place));
        let mut world = World::new(buffered(place, "satf", BUFFERS[0]));
        for event in 0..120 {
            world.step();
            if event % 9 == 8 {
                let mut recovered = world.cut(event).recover().expect("it comes back");
                recovered.check(true);
                recovered.check_fixed_copies();
            }
        }
    }
}

/// After some cuts of each volume, and one in four of all.
#[test]
fn a_buffer_of_an_earlier_instant_is_seen() {
    for harm in [Cut::with_buffer_of, |cut: Cut, _: &Cut| {
        cut.without_buffer()
    }] {
        let (mut cuts, mut wrong) = (0, 0);
        for place in EAGER.into_iter().chain(FIXED) {
            let world = World::new(buffered(place, "satf_ew", BUFFERS[0]));
            let tally = tally(world, 120, harm);
            assert!(tally.wrong > 0, "{place}: {tally:?}");
            (cuts, wrong) = (cuts + tally.cuts, wrong + tally.wrong);
        }
        assert!(wrong * 4 > cuts, "{wrong} of {cuts}");
    }
}
