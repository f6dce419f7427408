//! Power cuts of volumes whose drives do not tell what goes wrong on them.
//!
//! Where sectors are protected, what rotted or was overwritten by a write to another place is never
//! found: another copy is read and heals it, or the read fails. What a lost write, one that went
//! elsewhere or the rest of one that was torn has left old is found there and nowhere else: the
//! world knows these places. Where they are not, nothing can be said of clients' data; but what
//! placements keep themselves has checksums, so a volume comes back, or it is told what is damaged.
//! Volumes without a map, and such with parity, are in `contents::silent_cuts`.

use nearslot_core::registry::VolumeError;

use super::world::{Chances, Counts, World};
use super::{config, fixed};

/// Volumes whose map survives, and copies at fixed places.
const PLACES: [&str; 12] = [
    "eager:dilution=2:map=log:nvram_entries=6",
    "eager:dilution=2:map=log:home=drive",
    "eager:dilution=2:map=virtual_log",
    "eager:dilution=2:chunk_kib=1:map=virtual_log",
    "eager:dilution=2:map=virtual_log:map_tracks=6",
    "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
    "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive",
    "ew_array:dm=2:dd=2:map=virtual_log",
    "distorted_mirror:stripe_kib=8:foreground=2:map=log:nvram_entries=6",
    "distorted_mirror:stripe_kib=8:foreground=2:map=log:home=drive",
    "mirror:disks=2:foreground=2",
    "sr_array:ds=1:dr=2",
];

fn world(place: &str) -> World {
    let is_fixed = super::caches::is_fixed(place);
    World::new(match is_fixed {
        true => fixed::config(place, "satf"),
        false => config(place, "satf_ew"),
    })
}

/// What a life with power cuts led to.
#[derive(Debug, Default)]
struct Tally {
    recovered: u64,
    refused: u64,
    requests: u64,
    silent: Counts,
}

impl Tally {
    fn count(&mut self, world: &World) {
        let Counts {
            rotted,
            lost,
            misdirected,
            torn,
            caught,
            healed,
        } = world.silent();
        self.silent.rotted += rotted;
        self.silent.lost += lost;
        self.silent.misdirected += misdirected;
        self.silent.torn += torn;
        self.silent.caught += caught;
        self.silent.healed += healed;
        self.requests += world.failures().1;
    }
}

/// Runs so many events, with power cuts at some. `checks`: what clients find is looked at.
fn suffer(place: &str, mut world: World, events: u64, checks: bool, tally: &mut Tally) {
    for event in 0..events {
        world.step();
        if !event.is_multiple_of(super::events_per_cut()) {
            continue;
        }
        let cut = world.cut(event);
        let scans = place.contains("virtual") && event % 2 == 1;
        let cut = if scans { cut.without_nvram() } else { cut };
        match cut.recover() {
            Ok(mut recovered) => {
                tally.recovered += 1;
                if checks {
                    recovered.check(event.is_multiple_of(39));
                }
            }
            Err(VolumeError::Damaged { what, .. } | VolumeError::Unfit { what, .. }) => {
                assert!(!what.is_empty(), "{place}, event {event}: of what?");
                tally.refused += 1;
            }
            Err(error) => panic!("{place}, event {event}: {error}"),
        }
    }
    tally.count(&world);
}

/// What goes wrong with data, where the map is written as it should be.
const ALL: Chances = Chances {
    rot: 0.4,
    lost: 0.02,
    misdirected: 0.02,
    torn: 0.05,
    map: false,
    only: None,
};

/// All volumes, over drives with protection or without.
fn check_protected(protected: bool) {
    let mut tally = Tally::default();
    // Whether what goes wrong meets the map is decided early in a life: so there are many lives,
    // and more if it hardly did.
    for life in 0..24 {
        if life >= 6 && tally.refused > 5 {
            break;
        }
        for place in PLACES {
            let world = world(place).going_wrong_in_life(life, ALL, protected);
            suffer(place, world, 80, true, &mut tally);
        }
    }
    let Tally {
        recovered, silent, ..
    } = &tally;
    assert!(*recovered > 400 / super::events_per_cut(), "{tally:?}");
    assert!(silent.caught > 20, "{tally:?}");
    assert!(silent.healed > 20, "{tally:?}");
    assert!(tally.refused > 5, "{tally:?}");
    assert!(silent.lost > 5, "{tally:?}");
    assert!(silent.misdirected > 5, "{tally:?}");
    assert!(silent.torn > 5, "{tally:?}");
}

#[test]
fn what_rotted_or_was_overwritten_is_never_found_where_sectors_are_protected() {
    check_protected(true);
}

#[test]
fn a_drive_that_ignores_guard_and_tag_is_seen() {
    let said = crate::contents::complaint(check_protected, false);
    assert!(said.contains("found"), "said {said}");
}

/// Over caches that a power cut empties. Who writes eagerly forces each write, so it loses nothing
/// by them; of copies at fixed places nobody could say what a lost write has left under what the
/// cache had.
#[test]
fn caches_that_lose_what_they_have_change_nothing() {
    let mut tally = Tally::default();
    let eager = |place: &&str| !super::caches::is_fixed(place);
    for place in PLACES.into_iter().filter(eager) {
        let config = super::caches::config(place, "satf_ew");
        let world = World::new(config).going_wrong(ALL, true);
        suffer(place, world, 150, true, &mut tally);
    }
    let Tally {
        recovered, silent, ..
    } = &tally;
    assert!(*recovered > 200 / super::events_per_cut(), "{tally:?}");
    assert!(silent.lost > 5, "{tally:?}");
    assert!(silent.misdirected > 5, "{tally:?}");
    assert!(silent.torn > 5, "{tally:?}");
}

/// Sectors of one drive rot: another copy answers, and nothing is left for the clients to hear of.
#[test]
fn another_copy_answers_and_heals() {
    let mut tally = Tally::default();
    let rot = Chances {
        rot: 0.1,
        only: Some(0),
        ..Chances::default()
    };
    for place in [
        "mirror:disks=2:foreground=2",
        "mirror:disks=3:copies=3:foreground=2",
        "ew_array:dm=2:dd=2:foreground=2:map=log:nvram_entries=6",
    ] {
        let mut world = world(place).going_wrong(rot, true);
        (0..5_000).for_each(|_| world.step());
        tally.count(&world);
    }
    assert!(tally.silent.caught > 20, "{tally:?}");
    assert!(tally.silent.healed > tally.silent.caught, "{tally:?}");
    assert_eq!(tally.requests, 0, "{tally:?}");
}

/// Whatever happens to map and data alike, a volume comes back or it is told what is damaged.
#[test]
fn a_volume_on_lying_drives_comes_back_or_says_what_is_damaged() {
    let mut tally = Tally::default();
    for (place, protected) in PLACES
        .into_iter()
        .flat_map(|place| [(place, false), (place, true)])
    {
        let chances = Chances { map: true, ..ALL };
        for chances in [
            chances,
            Chances {
                rot: 0.0,
                ..chances
            },
        ] {
            let world = world(place).going_wrong(chances, protected);
            suffer(place, world, 120, false, &mut tally);
        }
    }
    assert!(tally.recovered > 100 / super::events_per_cut(), "{tally:?}");
    assert!(tally.refused > 20, "{tally:?}");
    assert!(tally.silent.torn > 20, "{tally:?}");
}

/// Writes of map and data are torn, and told as done. NVRAM knows how far a log has come, so what is
/// left of a record is never taken for it: the volume comes back as it was, or the damage is told.
#[test]
fn a_record_that_was_torn_is_passed_over_or_told() {
    let torn = Chances {
        torn: 0.1,
        map: true,
        ..Chances::default()
    };
    let mut tally = Tally::default();
    for place in PLACES
        .into_iter()
        .filter(|place| place.contains("nvram_entries"))
    {
        for life in 0..3 {
            let world = world(place).going_wrong_in_life(life, torn, false);
            suffer(place, world, 120, true, &mut tally);
        }
    }
    assert!(tally.recovered > 100 / super::events_per_cut(), "{tally:?}");
    assert!(tally.refused > 5, "{tally:?}");
    assert!(tally.silent.torn > 20, "{tally:?}");
}
