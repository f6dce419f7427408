//! Power cuts: whatever the instant, what was answered is found again, whole, and nothing else is
//! found in its place.
//!
//! A long random run over small drives keeps an image of every drive, sector by sector. At every
//! fifth I/O boundary (`make soak`: at every one) the power goes in a copy of that world: writes
//! under way have reached any part of their sectors. The volume is recovered from the images and
//! NVRAM, audited (no slot has two chunks), and read: each block must have the version that was
//! answered last or one that was on its way, and a chunk must not mix them. Now and then the run
//! goes on from what was recovered.

mod again;
mod buffered;
mod caches;
mod coming_back;
mod failing;
mod faults;
mod fixed;
mod silent;
mod two_logs;
mod world;

use crate::support::number;
use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Placement, Scheduler};
use nearslot_core::registry::KnobValue;
use nearslot_core::registry::VolumeError;

use world::World;

fn config(place: &str, sched: &str) -> StackConfig {
    let drive = DriveConfig {
        part: PartConfig::named("of the test"),
        text: crate::support::DISK.to_owned(),
    };
    StackConfig::over(drive, 5)
        .with::<dyn Scheduler>(sched.parse().unwrap())
        .with::<dyn Placement>(place.parse().unwrap())
}

/// A number that the placement was given, or its default.
fn knob(config: &StackConfig, name: &str, default: u64) -> u64 {
    let mut knobs = config.parts.of::<dyn Placement>().knobs.iter();
    match knobs.find(|(key, _)| key == name) {
        Some((_, KnobValue::Integer(given))) => *given as u64,
        _ => default,
    }
}

/// One event in so many has a power cut; `make soak` sets 1.
fn events_per_cut() -> u64 {
    number("NEARSLOT_EVENTS_PER_CUT", 5)
}

/// What the load and the losses of power cuts follow from; `make soak` sets another one each time.
fn seed() -> u64 {
    number("NEARSLOT_CUT_SEED", 0)
}

/// A volume, and if its map is in a log with NVRAM, the same with a log that is at home on its
/// drive.
fn at_both_homes(place: &str) -> Vec<String> {
    let mut places = vec![place.to_owned()];
    if place.contains("map=log") {
        let knobs = place.split(':');
        let kept = knobs.filter(|knob| !knob.trim().starts_with("nvram_entries="));
        let kept: Vec<&str> = kept.chain(["home=drive"]).collect();
        places.push(kept.join(":"));
    }
    places
}

/// Runs so many events, with power cuts among them; every so many, it is not only in a copy.
fn suffer(place: &str, sched: &str, events: u64) {
    for place in at_both_homes(place) {
        suffer_at(&place, sched, events);
    }
}

fn suffer_at(place: &str, sched: &str, events: u64) {
    let mut world = World::new(config(place, sched));
    let (mut cuts, mut torn, mut log_writes, mut moves) = (0, 0, 0, 0);
    // Whose reads were foretold: with something in NVRAM, and without.
    let mut foretold = [0, 0];
    for event in 0..events {
        world.step();
        let goes_on = event % 251 == 250;
        if !goes_on && !event.is_multiple_of(events_per_cut()) {
            continue;
        }
        let cut = world.cut(event);
        torn += u64::from(cut.tears());
        cuts += 1;
        // A tail is there only if somebody saved it.
        let saved = place.contains("map=log") || u64::is_multiple_of(cuts, 2);
        let cut = if saved { cut } else { cut.without_nvram() };
        foretold[usize::from(cut.has_no_nvram())] += u64::from(cut.is_foretold());
        let recovered = cut.recover();
        let mut recovered =
            recovered.unwrap_or_else(|error| panic!("{place}, event {event}: {error}"));
        recovered.check(u64::is_multiple_of(cuts, 13));
        if goes_on {
            log_writes += world.log_writes();
            moves += world.moves();
            world = recovered.go_on();
        }
    }
    // With the last sector of a virtual log its tail is saved.
    world.come_to_rest();
    let cut = world.cut(events);
    let is_saved = !cut.has_no_nvram();
    assert_eq!(is_saved, !place.contains("home=drive"), "{place}");
    assert!(cut.is_foretold(), "{place}");
    cut.recover().expect(place).check(true);
    assert!(torn > cuts / 3, "{torn} of {cuts} cuts were inside a write");
    log_writes += world.log_writes();
    moves += world.moves();
    let movers = ["compact", "distorted_mirror"];
    let moved = movers.iter().any(|mover| place.contains(mover));
    assert_eq!(moves > 20, moved, "{moves} moves");
    assert!(log_writes > 20, "the log was hardly written");
    match place.contains("map=log") {
        // While a control block is under way, either of two may be found.
        true if place.contains("home=drive") => assert!(foretold[1] * 2 > cuts, "{foretold:?}"),
        true => assert_eq!(foretold, [cuts, 0]),
        // A map sector is nearly always under way, so hardly a tail is saved before all is at rest.
        false => assert!(foretold[1] > 0, "{foretold:?}"),
    }
}

#[test]
fn one_drive_without_nvram() {
    suffer("eager:dilution=2:map=virtual_log", "satf_ew", 500);
    // Many map sectors.
    suffer(
        "eager:dilution=2:chunk_kib=1:map=virtual_log",
        "satf_ew",
        300,
    );
    // Hardly a slot is free.
    suffer("eager:dilution=1.005:map=virtual_log", "freebw_hybrid", 400);
    suffer("eager:dilution=1.005:map=virtual_log", "look", 300);
}

#[test]
fn map_stations_without_nvram() {
    suffer(
        "eager:dilution=2:map=virtual_log:map_tracks=6",
        "satf_ew",
        400,
    );
    // Many map sectors, in hardly more slots than there have to be.
    suffer(
        "eager:dilution=2:chunk_kib=1:map=virtual_log:map_tracks=4",
        "satf_ew",
        300,
    );
    suffer(
        "eager:dilution=1.3:map=virtual_log:map_tracks=6:compact=true",
        "look",
        300,
    );
    suffer(
        "ew_array:dm=2:dd=2:map=virtual_log:map_tracks=9",
        "gap_satf",
        300,
    );
    suffer(
        "distorted_mirror:stripe_kib=8:map=virtual_log:map_tracks=5",
        "freebw_satf",
        300,
    );
}

/// Without a saved tail recovery reads the stations, and nothing else of the drive.
#[test]
fn recovery_from_stations_reads_these_alone() {
    let blocks = |place: &str| {
        let built = config(place, "satf_ew").build().unwrap();
        let mut reads = Vec::new();
        built.stack.recovery(&mut reads);
        assert!(reads.iter().all(|read| read.drive.0 == 0), "{reads:?}");
        reads.iter().map(|read| read.len.0).sum::<u64>()
    };
    let anywhere = blocks("eager:chunk_kib=1:map=virtual_log");
    // Of 640 tracks, all alike.
    let stations = blocks("eager:chunk_kib=1:map=virtual_log:map_tracks=8");
    assert_eq!(stations * 80, anywhere);
}

#[test]
fn map_tracks_that_cannot_be_are_refused() {
    let refused = |place: &str| {
        let error = config(place, "satf_ew").build().err().unwrap();
        error.to_string()
    };
    let few = refused("eager:chunk_kib=1:map=virtual_log:map_tracks=2");
    assert!(
        few.starts_with("eager.map_tracks = 2 (allowed: 0, or about "),
        "{few}"
    );
    let many = refused("eager:map=virtual_log:map_tracks=640");
    assert!(
        many.starts_with("eager.map_tracks = 640 (allowed: 0, or fewer than the 640 tracks"),
        "{many}"
    );
    for map in ["log", "memory"] {
        let other = refused(&format!("eager:map={map}:map_tracks=6"));
        assert!(
            other.starts_with("eager.map_tracks = 6 (allowed: 0 with map="),
            "{other}"
        );
    }
}

#[test]
fn striped_without_nvram() {
    suffer(
        "ew_array:ds=1.5:dd=2:stripe_kib=8:map=virtual_log",
        "mq-deadline",
        800,
    );
}

#[test]
fn copies_without_nvram() {
    suffer("ew_array:dm=2:dd=2:map=virtual_log", "satf_ew", 500);
    suffer(
        "ew_array:dm=2:dd=2:foreground=2:chunk_kib=1:map=virtual_log",
        "freebw_satf",
        200,
    );
    suffer(
        "ew_array:dm=3:ds=1:dd=2:map=virtual_log:buffer_chunks=3",
        "gap_satf",
        300,
    );
}

#[test]
fn while_tracks_are_emptied() {
    suffer(
        "eager:dilution=1.3:map=log:nvram_entries=6:compact=true",
        "satf_ew",
        300,
    );
    suffer(
        "eager:dilution=1.3:map=virtual_log:compact=true",
        "satf_ew",
        300,
    );
    suffer(
        "ew_array:dm=2:dd=2:map=virtual_log:compact=true",
        "gap_satf",
        300,
    );
}

#[test]
fn one_drive() {
    suffer(
        "eager:dilution=1.3:map=log:nvram_entries=6:portions=3",
        "satf_ew",
        1_500,
    );
    suffer(
        "eager:dilution=2:map=log:nvram_entries=2:portions=1",
        "freebw_hybrid",
        800,
    );
}

#[test]
fn striped() {
    suffer(
        "ew_array:ds=1.5:dd=2:map=log:nvram_entries=8:stripe_kib=8",
        "look",
        1_000,
    );
}

#[test]
fn copies_in_spare_time() {
    suffer(
        "ew_array:dm=2:dd=2:map=log:nvram_entries=6",
        "satf_ew",
        1_200,
    );
    suffer(
        "ew_array:dm=3:ds=1:dd=2:map=log:nvram_entries=4:buffer_chunks=3",
        "gap_satf",
        600,
    );
}

#[test]
fn copies_that_have_no_room_to_wait() {
    for place in coming_back::CRAMPED_EAGER {
        suffer_at(place, "satf_ew", 240);
    }
}

#[test]
fn copies_in_the_foreground() {
    suffer(
        "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
        "freebw_satf",
        1_200,
    );
}

#[test]
fn pairs_in_spare_time() {
    suffer(
        "distorted_mirror:stripe_kib=8:map=log:nvram_entries=6",
        "satf_ew",
        900,
    );
    // Three pairs, and moves home that have no room to wait.
    suffer(
        "distorted_mirror:ds=1.5:dd=2:stripe_kib=8:buffer_chunks=3:map=log:nvram_entries=4",
        "gap_satf",
        600,
    );
}

#[test]
fn pairs_in_the_foreground() {
    suffer(
        "distorted_mirror:stripe_kib=8:foreground=2:map=log:nvram_entries=6:portions=3",
        "freebw_satf",
        600,
    );
    // Hardly a slot is free beside the homes.
    suffer(
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:foreground=2:buffer_chunks=3:\
         map=log:nvram_entries=2",
        "satf_ew",
        600,
    );
}

#[test]
fn pairs_without_nvram() {
    suffer(
        "distorted_mirror:stripe_kib=8:map=virtual_log",
        "satf_ew",
        600,
    );
    suffer(
        "distorted_mirror:ds=1.5:dd=2:stripe_kib=8:foreground=2:map=virtual_log",
        "freebw_hybrid",
        400,
    );
    suffer(
        "distorted_mirror:stripe_kib=8:chunk_kib=1:buffer_chunks=3:map=virtual_log",
        "gap_satf",
        200,
    );
    suffer(
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:foreground=2:map=virtual_log",
        "look",
        500,
    );
}

#[test]
fn after_a_power_cut_copies_go_home() {
    for map in ["log", "log:home=drive", "virtual_log"] {
        let place = format!("distorted_mirror:stripe_kib=8:map={map}");
        let mut world = World::new(config(&place, "satf_ew"));
        let mut moved = 0;
        for event in 0..400 {
            world.step();
            if event % 20 == 19 {
                let rested = world.cut(event).recover().unwrap().rest();
                moved += rested.moves();
                let again = rested.cut(event).recover().unwrap().rest();
                assert_eq!(again.moves(), 0, "event {event}: not all went home");
            }
        }
        assert!(moved > 20, "{place}: {moved} moved");
    }
}

/// What is read again to be moved home must not come there after what was written since.
#[test]
fn writes_come_at_once_after_a_power_cut() {
    let log = "distorted_mirror:stripe_kib=8:buffer_chunks=0:map=log:nvram_entries=6";
    let virtual_log = "distorted_mirror:stripe_kib=8:map=virtual_log";
    let on_drive = "distorted_mirror:stripe_kib=8:buffer_chunks=0:map=log:home=drive";
    for (place, sched) in [
        (log, "read_first"),
        (on_drive, "satf_ew"),
        (virtual_log, "satf_ew"),
        (virtual_log, "write_first"),
    ] {
        let mut world = World::new(config(place, sched));
        for event in 0..1_200_u64 {
            world.step();
            if event.is_multiple_of(3 * events_per_cut()) {
                world.cut(event).recover().unwrap().work(200);
            }
        }
    }
}

#[test]
fn one_of_two_logs_may_be_lost() {
    let place = "ew_array:dm=2:dd=2:map=log:nvram_entries=6";
    let places = at_both_homes(place);
    places.iter().for_each(|place| lose_logs(place));
}

fn lose_logs(place: &str) {
    let mut world = World::new(config(place, "satf_ew"));
    for event in 0..300 {
        world.step();
        if event % 20 == 19 {
            world
                .cut(event)
                .without_log_of(0)
                .recover()
                .unwrap()
                .check(true);
            world
                .cut(event)
                .without_log_of(2)
                .recover()
                .unwrap()
                .check(true);
            let both = world.cut(event).without_log_of(0).without_log_of(2);
            let error = both.recover().err().expect("no log is left");
            assert!(matches!(error, VolumeError::Damaged { .. }), "{error:?}");
            let says = "map log of drive 0 is damaged: ";
            assert!(error.to_string().starts_with(says), "{error}");
        }
    }
}

#[test]
fn damage_is_told_and_never_guessed_at() {
    let places = at_both_homes("eager:dilution=2:map=log:nvram_entries=6");
    places.iter().for_each(|place| flip_bits(place));
}

fn flip_bits(place: &str) {
    let mut world = World::new(config(place, "satf_ew"));
    let mut refused = 0;
    for event in 0..400 {
        world.step();
        match world.cut(event).with_a_flipped_bit(event).recover() {
            Ok(mut recovered) => _ = recovered.check(true),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 20, "{refused} refused");
}

#[test]
fn a_damaged_map_sector_is_told_with_its_place() {
    damage_map_sectors("eager:dilution=2:chunk_kib=1:map=virtual_log");
    damage_map_sectors("eager:dilution=2:chunk_kib=1:map=virtual_log:map_tracks=8");
}

fn damage_map_sectors(place: &str) {
    let mut world = World::new(config(place, "satf_ew"));
    (0..200).for_each(|_| world.step());
    // Until no map sector is under way: then there is a tail to be saved.
    while world.cut(1).tail_slot().is_none() {
        world.step();
    }
    let tail = world.cut(1).tail_slot();
    let mut told = [0, 0];
    // Ten slots of two blocks on each track.
    for slot in 0..6_400 {
        for scans in [false, true] {
            let mut cut = world.cut(1);
            if !cut.damage(u64::from(slot) * 2) || scans && Some(slot) == tail {
                continue;
            }
            let cut = if scans { cut.without_nvram() } else { cut };
            match cut.recover() {
                // It was an old sector, whose slot is free.
                Ok(mut recovered) if slot % 8 == 0 => _ = recovered.check(false),
                Ok(_) => {}
                Err(error) => {
                    told[usize::from(scans)] += 1;
                    let (error, place) = (error.to_string(), format!("drive 0, slot {slot}:"));
                    assert!(error.contains(&place), "{error} is not {place}");
                }
            }
        }
    }
    // All live sectors; by scan all but the youngest, for which nothing vouches.
    assert!(told[0] > 1, "{told:?}");
    assert!(told[1] == told[0] - 1, "{told:?}");
}

#[test]
fn blank_drives_are_not_an_empty_volume() {
    let config = config("eager:map=virtual_log", "satf_ew");
    let error = config.recover(&world::Nothing).err().unwrap();
    assert!(matches!(error, VolumeError::Unfit { .. }), "{error:?}");
    let says = "map sectors of this volume on drive 0: found none";
    assert!(error.to_string().starts_with(says), "{error}");
}

#[test]
fn a_map_in_memory_is_not_recovered() {
    let config = config("eager:dilution=2", "satf_ew");
    let built = config.build().unwrap();
    assert!(built.stack.nvram().is_none());
    let error = config.recover(&world::Nothing).err().unwrap();
    assert!(matches!(error, VolumeError::Config(_)), "{error:?}");
    assert!(
        error.to_string().starts_with("eager.map = memory"),
        "{error}"
    );
}

/// The older of two logs is that of a drive that was given up: it is sound.
#[test]
fn the_older_of_two_logs_is_not_taken() {
    for place in [
        "ew_array:dm=2:dd=2:map=log:home=drive",
        "distorted_mirror:stripe_kib=8:foreground=2:map=log:home=drive",
    ] {
        for drive in [0, World::new(config(place, "satf_ew")).cut(0).second_log()] {
            let mut world = World::new(config(place, "satf_ew"));
            let mut before = world.cut(0);
            let mut recent = before.clone();
            for event in 0..300 {
                world.step();
                if event % 10 == 9 {
                    let cut = world.cut(event).with_log_of(drive, &before);
                    let recovered = cut.clone().recover();
                    recovered
                        .unwrap_or_else(|error| panic!("{place}, event {event}: {error}"))
                        .check(true);
                    // Not even if the younger one is damaged. The old one lacks more than a record:
                    // else the other drive would have said that it is alone.
                    if let Ok(mut recovered) = cut.with_a_flipped_bit(event).recover() {
                        recovered.check(true);
                    }
                }
                if event % 70 == 9 {
                    before = std::mem::replace(&mut recent, world.cut(event));
                }
            }
        }
    }
}

/// A drive has an old log when the volume comes back: it is made whole in that life, so that the
/// other one may be lost in the next.
#[test]
fn an_old_log_is_made_whole() {
    let place = "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive";
    for drive in [0, 2] {
        let mut world = World::new(config(place, "satf_ew"));
        (0..60).for_each(|_| world.step());
        let before = world.cut(1);
        (0..90).for_each(|_| world.step());
        let cut = world.cut(2).with_log_of(drive, &before);
        let mut world = cut.recover().unwrap().go_on();
        let mut alone = 0;
        for event in 0..400 {
            world.step();
            let cut = world.cut(event).without_log_of(2 - drive);
            match cut.recover() {
                Ok(mut recovered) => {
                    alone += 1;
                    recovered.check(event % 20 == 0);
                }
                Err(error) => assert_eq!(alone, 0, "event {event}: {error}"),
            }
        }
        assert!(alone > 200, "drive {drive}: whole at {alone} cuts of 400");
    }
}

#[test]
fn a_knob_of_a_log_without_effect_is_refused() {
    let refused = |place: &str| {
        let error = config(place, "satf_ew").build().err().unwrap();
        error.to_string()
    };
    for (place, says) in [
        (
            "eager:home=drive",
            "eager.home = drive (allowed: nvram with map=memory,",
        ),
        (
            "ew_array:map=virtual_log:home=drive",
            "ew_array.home = drive (allowed: nvram with map=virtual_log,",
        ),
        (
            "distorted_mirror:map=log:home=drive:nvram_entries=8",
            "distorted_mirror.nvram_entries = 8 (allowed: 670 with home=drive,",
        ),
        (
            "eager:nvram_entries=8",
            "eager.nvram_entries = 8 (allowed: 670 with map=memory, which has no log region)",
        ),
        (
            "ew_array:map=virtual_log:portions=3",
            "ew_array.portions = 3 (allowed: 4 with map=virtual_log, which has no log region)",
        ),
        (
            "distorted_mirror:map=virtual_log:log_region_kib=900",
            "distorted_mirror.log_region_kib = 900 (allowed: 0 with map=virtual_log, which has no log region)",
        ),
    ] {
        let text = refused(place);
        assert!(text.starts_with(says), "{text}");
    }
}

#[test]
fn a_log_region_that_is_too_small_is_named_with_what_it_needs() {
    let error = config("eager:map=log:log_region_kib=1", "satf_ew")
        .build()
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("eager.log_region_kib = 1 (allowed: 0, or at least "),
        "{error}"
    );
    let error = config("eager:dilution=1.01:map=log:log_region_kib=6000", "satf_ew").build();
    let error = error.err().unwrap().to_string();
    assert!(error.starts_with("KiB of the map's log = 6000"), "{error}");
}
