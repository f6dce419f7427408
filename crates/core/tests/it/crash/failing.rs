//! Power cuts of volumes whose drives fail now and then, and drives that cannot be read when a
//! volume comes back.
//!
//! Nothing else may be found than without failures: what was answered, or was on its way, or was
//! refused and may be there or not. A block may be unreadable for each block of a drive that is.
//! Recovery succeeds: what it needs was written, and what could not be written is not needed.

use nearslot_core::registry::VolumeError;

use super::world::World;
use super::{caches, fixed};

/// How often a command fails.
const FAILS: f64 = 0.08;

/// What happened.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    /// At which some block of a drive could not be read.
    unreadable: u64,
    /// Reads and writes of drives that failed, and requests.
    reads: u64,
    writes: u64,
    requests: u64,
}

impl Tally {
    fn count(&mut self, world: &World) {
        let ([reads, writes], requests) = world.failures();
        self.reads += reads;
        self.writes += writes;
        self.requests += requests;
    }

    /// Over all volumes enough has failed to say something.
    fn check(&self) {
        assert!(self.writes > 20, "{self:?}");
        assert!(self.unreadable > self.cuts / 8, "{self:?}");
    }
}

/// Runs so many events, with power cuts at some, over drives of which some commands fail. `scans`:
/// what makes recovery short is lost at every other cut.
fn suffer(place: &str, mut world: World, events: u64, scans: bool, tally: &mut Tally) {
    for event in 0..events {
        world.step();
        let goes_on = event % 101 == 100;
        if !goes_on && !event.is_multiple_of(super::events_per_cut()) {
            continue;
        }
        let mut cut = world.cut(event);
        tally.cuts += 1;
        tally.unreadable += u64::from(cut.unreadable() > 0);
        let scans = scans && place.contains("virtual") && !goes_on && tally.cuts.is_multiple_of(2);
        if scans {
            cut = cut.without_nvram();
        }
        let failed = |error| panic!("{place}, event {event}: {error}");
        let mut recovered = cut.recover().unwrap_or_else(failed);
        recovered.check(event.is_multiple_of(39));
        if caches::is_fixed(place) {
            recovered.check_fixed_copies();
            recovered.check(false);
        }
        if goes_on {
            tally.count(&world);
            world = recovered.go_on().failing(FAILS);
        }
    }
    tally.count(&world);
}

#[test]
fn maps_of_drives_that_fail() {
    let mut tally = Tally::default();
    for place in caches::EAGER {
        let volatile = World::new(caches::config(place, "satf_ew")).failing(FAILS);
        suffer(place, volatile, 240, false, &mut tally);
    }
    for place in [
        "eager:dilution=2:map=virtual_log",
        "eager:dilution=2:map=virtual_log:map_tracks=6",
        "ew_array:dm=2:dd=2:map=virtual_log",
    ] {
        let world = World::new(super::config(place, "satf_ew")).failing(FAILS);
        suffer(place, world, 240, true, &mut tally);
    }
    tally.check();
}

/// A copy that cannot be read is given up where another one is current. Hardly a slot is free, so
/// that its slot cannot be retired: it is used again, but not before the map on the drives names it
/// no longer.
#[test]
fn a_slot_of_a_copy_that_was_given_up_holds_nothing_else_before_the_map_says_so() {
    let mut tally = Tally::default();
    for place in [
        "ew_array:dm=2:ds=1.98:dd=1.0101010101:stripe_kib=4:map=log:nvram_entries=6",
        "ew_array:dm=2:ds=1.98:dd=1.0101010101:stripe_kib=4:foreground=2:map=virtual_log",
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:map=log:nvram_entries=6",
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:foreground=2:map=virtual_log",
    ] {
        let world = World::new(super::config(place, "satf_ew")).failing(3.0 * FAILS);
        suffer(place, world, 400, true, &mut tally);
    }
    tally.check();
}

/// Sooner or later eight writes of the map fail one after the other: each world goes on until they
/// have. A sector that was not answered may be on the drive, and what it names may not be
/// overwritten by what comes after.
#[test]
fn a_map_that_was_given_up_is_found_as_it_was_or_as_it_was_to_be() {
    for place in [
        "eager:dilution=1.005:map=virtual_log",
        "eager:dilution=1.04:map=virtual_log:map_tracks=6",
        "ew_array:dm=2:dd=2:map=virtual_log",
        "ew_array:dm=2:ds=1.98:dd=1.0101010101:stripe_kib=4:foreground=2:map=virtual_log",
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:foreground=2:map=virtual_log",
        "eager:dilution=1.005:map=log:home=drive",
        "ew_array:dm=2:dd=2:map=log:home=drive",
    ] {
        for life in 0..4 {
            let mut world = World::new(super::config(place, "satf_ew"));
            (0..40 + life).for_each(|_| world.step());
            let mut world = world.failing(0.75);
            let mut steps = 0;
            while !world.has_lost_its_map() {
                world.step();
                steps += 1;
                assert!(steps < 5_000, "{place}: the map is never given up");
            }
            for event in 0_u64..60 {
                if event.is_multiple_of(3 * super::events_per_cut()) {
                    let failed = |error| panic!("{place}, life {life}, event {event}: {error}");
                    let recovered = world.cut(event).without_nvram().recover();
                    recovered.unwrap_or_else(failed).check(event == 0);
                }
                world.step();
            }
        }
    }
}

#[test]
fn fixed_copies_on_drives_that_fail() {
    let mut tally = Tally::default();
    for place in caches::FIXED
        .into_iter()
        .chain(["mirror:disks=3:copies=3:foreground=2"])
    {
        let plain = World::new(fixed::config(place, "satf")).failing(FAILS);
        suffer(place, plain, 180, false, &mut tally);
        let volatile = World::new(caches::config(place, "satf")).failing(FAILS);
        suffer(place, volatile, 180, false, &mut tally);
    }
    tally.check();
}

/// Copies at fixed places of which two are written before an answer.
const TWICE: [&str; 2] = [
    "mirror:disks=2:foreground=2",
    "mirror:disks=3:copies=3:foreground=2",
];

/// What one drive cannot read, or could not write when the power went, another one has.
#[test]
fn one_bad_drive_leaves_nothing_unreadable_after_a_cut() {
    for (place, drive) in TWICE.into_iter().flat_map(|place| [(place, 0), (place, 1)]) {
        let plain = World::new(fixed::config(place, "satf"));
        let volatile = World::new(caches::config(place, "satf")).in_few_places();
        for world in [plain, volatile] {
            let mut world = world.failing_on(drive, 0.2);
            for event in 0_u64..250 {
                world.step();
                if event.is_multiple_of(super::events_per_cut()) {
                    let mut recovered = world.cut(event).recover().expect("it is whole");
                    let unreadable = recovered.check(false);
                    assert_eq!(unreadable, 0, "{place}, drive {drive}, event {event}");
                }
            }
            assert_eq!(world.failures().1, 0, "{place}: requests failed");
        }
    }
}

/// A drive is gone, and then the power, once and again: what was promised is on the other drives.
#[test]
fn a_drive_that_is_gone_takes_nothing_that_was_promised() {
    for (place, drive) in TWICE.into_iter().flat_map(|place| [(place, 0), (place, 1)]) {
        for life in 0..4 {
            let plain = World::new(fixed::config(place, "satf"));
            let volatile = World::new(caches::config(place, "satf")).in_few_places();
            for mut world in [plain, volatile] {
                (0..30 + 7 * life).for_each(|_| world.step());
                let mut world = world.losing(drive);
                for event in 0_u64..90 {
                    world.step();
                    if !event.is_multiple_of(super::events_per_cut()) {
                        continue;
                    }
                    let mut recovered = world.cut(event).recover().expect("it is whole");
                    let mut again = recovered.cut(event).recover().expect("it is whole");
                    // While a copy that is gone is being read, another read of the chunk may fail.
                    recovered.go_on_alone(400);
                    again.go_on_alone(400);
                    let unreadable = recovered.check(false) + again.check(false);
                    assert_eq!(unreadable, 0, "{place} without {drive}, event {event}");
                }
                assert_eq!(world.failures().1, 0, "{place}: requests failed");
            }
        }
    }
}

/// A log is on two drives, a virtual log on the first: without that it is told that the volume
/// cannot come back.
#[test]
fn a_map_comes_back_without_one_of_its_drives() {
    for (place, drive, comes_back) in [
        (
            "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
            0,
            true,
        ),
        (
            "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
            2,
            true,
        ),
        (
            "distorted_mirror:stripe_kib=8:foreground=2:map=log:nvram_entries=6",
            0,
            true,
        ),
        (
            "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive",
            0,
            true,
        ),
        (
            "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive",
            2,
            true,
        ),
        (
            "distorted_mirror:stripe_kib=8:foreground=2:map=log:home=drive",
            0,
            true,
        ),
        ("ew_array:dm=2:dd=2:foreground=2:map=virtual_log", 1, true),
        ("ew_array:dm=2:dd=2:foreground=2:map=virtual_log", 0, false),
    ] {
        let mut world = World::new(super::config(place, "satf_ew"));
        (0..60).for_each(|_| world.step());
        let mut world = world.losing(drive);
        for event in 0_u64..120 {
            world.step();
            if !event.is_multiple_of(super::events_per_cut()) {
                continue;
            }
            match world.cut(event).recover() {
                Ok(mut recovered) => {
                    assert!(comes_back, "{place} without {drive}");
                    recovered.check(false);
                }
                Err(error) => assert!(!comes_back, "{place} without {drive}: {error}"),
            }
        }
    }
}

/// A sector of the map that cannot be read is passed over if it is not needed; else it is told, and
/// never guessed at.
#[test]
fn a_map_that_cannot_be_read_is_told() {
    for place in [
        "eager:dilution=2:map=log:nvram_entries=6",
        "eager:dilution=2:map=log:home=drive",
        "eager:dilution=2:chunk_kib=1:map=virtual_log",
        "eager:dilution=2:chunk_kib=1:map=virtual_log:map_tracks=8",
    ] {
        let mut world = World::new(super::config(place, "satf_ew"));
        let is_virtual = place.contains("virtual");
        let (mut refused, mut recovered) = (0, 0);
        for event in 0..300 {
            world.step();
            let cut = world.cut(event);
            // For the youngest sector of a virtual log nothing vouches but a saved tail, and for
            // the youngest record of a log without NVRAM nothing does. Slots have two blocks.
            let youngest = match cut.tail_slot() {
                _ if !is_virtual => cut.youngest_record(),
                Some(slot) => u64::from(slot) * 2..u64::from(slot + 1) * 2,
                None => continue,
            };
            let cut = cut.with_unreadable_sectors(event, &youngest);
            let scans = is_virtual && event % 2 == 1;
            let cut = if scans { cut.without_nvram() } else { cut };
            match cut.recover() {
                Ok(mut volume) => {
                    recovered += 1;
                    volume.check(event % 39 == 0);
                }
                Err(VolumeError::Damaged { .. }) => refused += 1,
                Err(error) => panic!("{place}, event {event}: {error}"),
            }
        }
        assert!(refused > 5, "{place}: {refused} refused, {recovered} not");
        assert!(recovered > 5, "{place}: {refused} refused, {recovered} not");
    }
}
