//! Power cuts of volumes whose drives fail now and then, and drives that cannot be read when a volume comes back.
//!
//! Nothing else may be found than without failures: what was answered, or was on its way, or was refused and may be there or not. A
//! block may be unreadable for each block of a drive that is. Recovery succeeds: what it needs was written,
//! and what could not be written is not needed.

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

/// Runs so many events, with power cuts at some, over drives of which some commands fail. `scans`: what makes recovery
/// short is lost at every other cut.
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
        let scans = scans && !goes_on && tally.cuts.is_multiple_of(2);
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
        "ew_array:dm=2:dd=2:map=virtual_log",
    ] {
        let world = World::new(super::config(place, "satf_ew")).failing(FAILS);
        suffer(place, world, 240, true, &mut tally);
    }
    tally.check();
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

/// A sector of the map that cannot be read is passed over if it is not needed; else it is told, and never guessed at.
#[test]
fn a_map_that_cannot_be_read_is_told() {
    for place in [
        "eager:dilution=2:map=log:nvram_entries=6",
        "eager:dilution=2:chunk_kib=1:map=virtual_log",
    ] {
        let mut world = World::new(super::config(place, "satf_ew"));
        let is_virtual = place.contains("virtual");
        let (mut refused, mut recovered) = (0, 0);
        for event in 0..300 {
            world.step();
            let cut = world.cut(event);
            // For the youngest sector of a virtual log nothing vouches but a saved tail. Slots have two blocks.
            let youngest = match cut.tail_slot() {
                _ if !is_virtual => 0..0,
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
        assert!(
            refused > 5 && recovered > 5,
            "{place}: {refused} refused, {recovered} not"
        );
    }
}
