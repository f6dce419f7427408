//! Power cuts over drives with volatile write caches: what the medium does not have yet is lost,
//! sector by sector, with chance one half. What a volume promises is found all the same: what was
//! answered, where it writes eagerly; what a flush covered, where copies have fixed places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::config::StackConfig;

use super::coming_back::{CRAMPED, CRAMPED_EAGER};
use super::world::{Lies, World};
use crate::support::{DISK, with_buffer};

/// A disk whose cache has several runs of blocks that are not on the medium.
fn caching(disk: &str) -> String {
    let segments = "segments = 6\n    segment_blocks = 64\n    write_segments_max = 4\n    \
                    accept_while_writing = true";
    let shallow = "segments = 3\n    segment_blocks = 64\n    write_segments_max = 1";
    let text = with_buffer(disk);
    assert!(text.contains(shallow), "the disk has another buffer");
    text.replacen(shallow, segments, 1)
}

/// Whether copies have places of their own.
pub(super) fn is_fixed(place: &str) -> bool {
    place.starts_with("mirror") || place.starts_with("sr_array")
}

pub(super) fn config(place: &str, sched: &str) -> StackConfig {
    let mut config = super::config(place, sched);
    let disk = match is_fixed(place) {
        true => super::fixed::SMALL,
        false => DISK,
    };
    config.drive.text = caching(disk);
    config
}

/// What became of power cuts.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    /// After which recovery was refused, or something was found that is not to be found.
    failed: u64,
    /// At which a cache lost something.
    lossy: u64,
}

/// Runs so many events, with power cuts at some.
fn tally(place: &str, mut world: World, events: u64) -> Tally {
    let mut tally = Tally::default();
    for event in 0..events {
        world.step();
        if !event.is_multiple_of(super::events_per_cut()) {
            continue;
        }
        let cut = world.cut(event);
        tally.cuts += 1;
        tally.lossy += u64::from(cut.lost() > 0);
        let all = event.is_multiple_of(39);
        let again = world.cut(event + events);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut recovered = cut.recover().map_err(|error| error.to_string())?;
            if is_fixed(place) {
                recovered.check(all);
                recovered.check_fixed_copies();
            }
            recovered.check(all);
            // The power goes again while writes come to what was recovered.
            let mut busy = again.recover().map_err(|error| error.to_string())?;
            busy.write_at_once(event);
            let twice = busy.cut(event).recover();
            twice.map_err(|error| error.to_string())?.check(all);
            Ok::<(), String>(())
        }));
        tally.failed += u64::from(!matches!(outcome, Ok(Ok(()))));
    }
    tally
}

/// All is found that has to be.
fn suffer(place: &str, sched: &str, events: u64) {
    for place in &super::at_both_homes(place) {
        suffer_in(place, World::new(config(place, sched)), events);
    }
}

fn suffer_in(place: &str, world: World, events: u64) {
    let tally = tally(place, world, events);
    assert_eq!(tally.failed, 0, "{place}: {tally:?}");
    // Where every write is forced, caches have nothing to lose.
    match is_fixed(place) {
        true => assert!(tally.lossy > tally.cuts / 2, "{place}: {tally:?}"),
        false => assert_eq!(tally.lossy, 0, "{place}"),
    }
}

#[test]
fn one_drive() {
    suffer("eager:dilution=2:map=log:nvram_entries=6", "satf_ew", 120);
    suffer("eager:dilution=2:map=virtual_log", "satf_ew", 120);
    suffer(
        "eager:dilution=1.3:map=virtual_log:compact=true",
        "satf_ew",
        90,
    );
    suffer("eager:dilution=1.005:map=virtual_log", "look", 60);
    suffer("eager:dilution=2:map=virtual_log:map_tracks=6", "satf", 90);
}

#[test]
fn copies_anywhere() {
    suffer(
        "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
        "satf_ew",
        120,
    );
    suffer("ew_array:dm=2:dd=2:map=virtual_log", "gap_satf", 120);
    suffer(
        "distorted_mirror:stripe_kib=8:map=log:nvram_entries=6",
        "satf_ew",
        120,
    );
    suffer(
        "distorted_mirror:stripe_kib=8:map=virtual_log",
        "freebw_satf",
        60,
    );
}

#[test]
fn copies_at_fixed_places() {
    suffer("mirror:disks=2", "satf", 180);
    suffer("mirror:disks=2:foreground=2", "mq-deadline", 120);
    suffer("mirror:disks=4:stripe_kib=8:buffer_chunks=3", "look", 90);
    suffer("mirror:disks=3:copies=3:foreground=2", "satf", 120);
    suffer("sr_array:dr=2:ds=1:stripe_kib=8", "satf", 120);
}

#[test]
fn copies_that_have_no_room_to_wait() {
    CRAMPED.iter().for_each(|place| suffer(place, "satf", 60));
    (CRAMPED_EAGER.iter())
        .for_each(|place| suffer_in(place, World::new(config(place, "satf_ew")), 40));
}

#[test]
fn copies_of_more_chunks_than_32_bits_number() {
    for place in ["mirror:disks=2", "mirror:disks=3:copies=3:foreground=2"] {
        let mut config = config(place, "satf");
        config.drive.text = caching(super::fixed::LARGE);
        suffer_in(place, World::new(config), 120);
    }
}

#[test]
fn forced_writes_and_flushes_that_meet() {
    let few = |place| World::new(config(place, "satf")).in_few_places();
    for place in FIXED {
        suffer_in(place, few(place), 240);
    }
}

/// Placements that write eagerly and keep their map, and such with copies at fixed places.
pub(super) const EAGER: [&str; 7] = [
    "eager:dilution=2:map=log:nvram_entries=6",
    "eager:dilution=2:map=log:home=drive",
    "eager:dilution=2:map=virtual_log",
    "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
    "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive",
    "distorted_mirror:stripe_kib=8:map=log:nvram_entries=6",
    "distorted_mirror:stripe_kib=8:map=log:home=drive",
];
pub(super) const FIXED: [&str; 3] = [
    "mirror:disks=2",
    "mirror:disks=2:foreground=2",
    "sr_array:dr=2:ds=1:stripe_kib=8",
];

/// Of the cuts after which something is wrong, at least one in so many is seen.
fn is_seen(place: &str, world: World, events: u64, one_in: u64) {
    let tally = tally(place, world, events);
    assert!(tally.failed * one_in > tally.cuts, "{place}: {tally:?}");
}

/// A placement that takes a volatile cache for a safe one.
#[test]
fn trust_in_caches_is_seen() {
    for place in EAGER.into_iter().chain(FIXED) {
        is_seen(place, World::trusting(config(place, "satf_ew")), 90, 4);
    }
}

/// What is not forced, of the data or of the map, and flushes that do nothing.
#[test]
fn what_is_not_put_on_the_medium_is_seen() {
    let lying = |place, lies| World::lying(config(place, "satf_ew"), lies).in_few_places();
    for place in EAGER {
        is_seen(place, lying(place, Lies::ForcedData), 240, 20);
        is_seen(place, lying(place, Lies::ForcedMap), 300, 50);
    }
    for place in FIXED {
        is_seen(place, lying(place, Lies::ForcedData), 240, 50);
        is_seen(place, lying(place, Lies::Flushes), 400, 50);
    }
}
