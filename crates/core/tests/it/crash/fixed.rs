//! Power cuts of copies at fixed places: none is lost, no stale one is read, and in the end all
//! copies are the same.

use nearslot_core::config::StackConfig;
use nearslot_core::contract::Placement;
use nearslot_core::registry::VolumeError;

use super::coming_back::CRAMPED;
use super::world::{Nothing, World};

/// 240 chunks, so that all of them can be looked at after each cut.
pub(super) const SMALL: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 4
    cylinders = 12
    head_switch_ms = 0.8
    write_settle_ms = 0.4
    seek_ms = [[1, 1.0], [5, 1.8], [11, 3.0]]
    [[zones]]
    cylinders = [0, 11]
    sectors_per_track = 40
    track_skew_sectors = 3
    cylinder_skew_sectors = 4
";

/// More than 2^32 chunks of 4 KiB: what is known lies around that number, see `world::fixed`.
pub(super) const LARGE: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 200
    cylinders = 4000
    head_switch_ms = 0.8
    write_settle_ms = 0.4
    seek_ms = [[1, 1.0], [10, 1.8], [3999, 9.0]]
    [[zones]]
    cylinders = [0, 3999]
    sectors_per_track = 50000
    track_skew_sectors = 4200
    cylinder_skew_sectors = 5000
";

/// The same over large drives.
fn on_large_drives(mut config: StackConfig) -> StackConfig {
    LARGE.clone_into(&mut config.drive.text);
    config
}

pub(super) fn config(place: &str, sched: &str) -> StackConfig {
    let mut config = super::config(place, sched);
    SMALL.clone_into(&mut config.drive.text);
    config
}

/// What happened in a run.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    /// Cuts inside a write.
    torn: u64,
    /// Copies that were written in spare time.
    delayed: u64,
    /// Copies that were read for another one after a cut.
    read_again: u64,
    /// Writes that came when a copy of theirs was being written again.
    met: u64,
}

/// Runs so many events, with power cuts at some: one after which everything becomes quiet, and one
/// after which writes come at once, and the power goes again. Now and then the run goes on from
/// there.
fn suffer(place: &str, sched: &str, events: u64) -> Tally {
    suffer_as(config(place, sched), events)
}

fn suffer_as(config: StackConfig, events: u64) -> Tally {
    let place = config.parts.of::<dyn Placement>().to_string();
    let mut world = World::new(config);
    let mut tally = Tally::default();
    for event in 0..events {
        world.step();
        let goes_on = event % 101 == 100;
        if !goes_on && !event.is_multiple_of(super::events_per_cut()) {
            continue;
        }
        let cut = world.cut(event);
        tally.cuts += 3;
        tally.torn += u64::from(cut.tears());
        let failed = |error| panic!("{place}, event {event}: {error}");
        let mut quiet = cut.recover().unwrap_or_else(failed);
        quiet.check(event.is_multiple_of(39));
        quiet.check_fixed_copies();
        quiet.check(false);
        tally.read_again += quiet.read_again();
        let mut busy = world.cut(event + events).recover().unwrap_or_else(failed);
        tally.met += busy.write_at_once(event);
        let mut again = busy.cut(event).recover().unwrap_or_else(failed);
        again.check(false);
        again.check_fixed_copies();
        if goes_on {
            tally.delayed += world.delayed();
            world = busy.go_on();
        } else {
            busy.check(false);
            busy.check_fixed_copies();
        }
    }
    tally.delayed += world.delayed();
    assert_eq!(world.log_writes(), 0, "there is no log");
    let rounds = tally.cuts / 3;
    assert!(tally.torn > rounds / 3, "{tally:?}");
    assert!(tally.read_again > rounds, "{tally:?}");
    assert!(tally.met * 30 > rounds, "{tally:?}");
    tally
}

#[test]
fn two_copies() {
    let tally = suffer("mirror:disks=2", "satf", 600);
    assert!(tally.delayed > 50, "{tally:?}");
    suffer("mirror:disks=4:stripe_kib=8:buffer_chunks=3", "look", 300);
    suffer("mirror:disks=2:foreground=2", "mq-deadline", 600);
}

#[test]
fn three_copies() {
    suffer("mirror:disks=3:copies=3", "gap_satf", 300);
    suffer(
        "mirror:disks=3:copies=3:foreground=2:buffer_chunks=3",
        "satf",
        400,
    );
    suffer("mirror:disks=3:copies=3:foreground=3", "satf", 400);
}

#[test]
fn copies_that_have_no_room_to_wait() {
    for (number, place) in CRAMPED.into_iter().enumerate() {
        suffer(place, ["satf", "look", "gap_satf"][number % 3], 200);
    }
}

/// Chunks whose numbers have 33 bits, beside some with 32.
#[test]
fn copies_of_more_chunks_than_32_bits_number() {
    let suffer = |place, sched, events| suffer_as(on_large_drives(config(place, sched)), events);
    let tally = suffer("mirror:disks=2", "satf", 600);
    assert!(tally.delayed > 50, "{tally:?}");
    suffer("mirror:disks=4:stripe_kib=8:buffer_chunks=3", "look", 300);
    suffer("mirror:disks=3:copies=3:foreground=2", "satf", 300);
}

#[test]
fn replicas_on_a_track() {
    let tally = suffer("sr_array:dr=2:ds=1:stripe_kib=8", "satf", 400);
    assert!(tally.delayed > 50, "{tally:?}");
    suffer(
        "sr_array:dr=3:ds=1:foreground=2:stripe_kib=8:buffer_chunks=3",
        "look",
        300,
    );
    suffer(
        "sr_array:dr=2:ds=1.5:foreground=2:stripe_kib=8",
        "satf",
        400,
    );
}

#[test]
fn a_single_copy() {
    let place = "mirror:disks=2:copies=1:stripe_kib=8";
    let mut world = World::new(config(place, "satf"));
    for event in 0..300 {
        world.step();
        let mut recovered = world.cut(event).recover().unwrap();
        recovered.check(true);
        recovered.check_fixed_copies();
        assert_eq!(recovered.read_again(), 0, "there is no other copy");
    }
}

#[test]
fn damage_of_nvram_is_always_told() {
    let mut world = World::new(config("mirror:disks=2", "satf"));
    for event in 0..300 {
        world.step();
        let damaged = world.cut(event).with_a_flipped_bit_in_nvram(event);
        let error = damaged.recover().err().expect("it is told");
        assert!(matches!(error, VolumeError::Damaged { .. }), "{error:?}");
        let says = "NVRAM is damaged: NVRAM, byte ";
        assert!(error.to_string().starts_with(says), "{error}");
    }
}

#[test]
fn without_nvram_nothing_is_believed() {
    let config = config("mirror:disks=2", "satf");
    let error = config.recover(&Nothing).err().unwrap().to_string();
    let says = "NVRAM is damaged: NVRAM, byte 0: bytes of NVRAM 0, allowed is 56 to ";
    assert!(error.starts_with(says), "{error}");
}

/// What a mirror over small drives wrote is not taken for that of one over large drives, nor the
/// other way round.
#[test]
fn nvram_of_a_volume_of_another_size_is_refused() {
    let small = config("mirror:disks=2", "satf");
    let large = on_large_drives(small.clone());
    let refused = |made: &StackConfig, opened: &StackConfig| {
        let cut = World::new(made.clone()).cut(1);
        opened.recover(&cut).err().unwrap().to_string()
    };
    let text = refused(&small, &large);
    let says = "made for 240 chunks, the volume has 5000000000";
    assert!(text.ends_with(says), "{text}");
    let text = refused(&large, &small);
    let says = "made for 5000000000 chunks, the volume has 240";
    assert!(text.ends_with(says), "{text}");
}

/// 16 copies leave 32 bits for a chunk.
#[test]
fn more_chunks_than_the_table_numbers_are_refused() {
    let config = |copies: u64| {
        let place = format!("mirror:disks={copies}:copies={copies}");
        on_large_drives(config(&place, "satf"))
    };
    assert!(config(15).build().is_ok());
    let error = config(16).build().err().unwrap().to_string();
    assert_eq!(
        error,
        "mirror over of the test: chunks of the volume = 5000000000 (allowed: at most 4294967296 with 16 copies of each, which is 16 TiB, \
         as the table of copies in NVRAM has 48 bits for a chunk and its copies; take fewer copies, fewer drives or smaller ones)"
    );
}

#[test]
fn nvram_of_another_volume_is_refused() {
    let cut = World::new(config("mirror:disks=2", "satf")).cut(1);
    let refused = |place: &str, seed: u64| {
        let mut other = config(place, "satf");
        other.seed = seed;
        other.recover(&cut).err().unwrap().to_string()
    };
    let volume = refused("mirror:disks=2", 6);
    assert!(volume.contains("belongs to volume "), "{volume}");
    let copies = refused("mirror:disks=3:copies=3", 5);
    let says = "made for 2 copies, the volume has 3";
    assert!(copies.contains(says), "{copies}");
}
