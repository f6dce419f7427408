//! The power goes again while a volume comes back, or just after: the way back can be gone again,
//! and leads to the same.
//!
//! Recovery itself only reads. What it leaves to be done, such as copies that are to be the same
//! again, is done in the spare time of the volume, and may be cut anywhere.

use super::caches::{EAGER, FIXED, config};
use super::world::{Cut, Recovered, World};

fn recover(cut: Cut, place: &str) -> Recovered {
    let recovered = cut.recover();
    recovered.unwrap_or_else(|error| panic!("{place}: {error}"))
}

/// Cuts the power again and again after a cut. Whatever was found the first time is found each
/// time.
fn come_back(place: &str, cut: &Cut, seed: u64) {
    let found = recover(cut.clone(), place).contents();
    let same = |recovered: &mut Recovered, when| {
        assert_eq!(recovered.contents(), found, "{place}, {when}");
    };
    let mut again = recover(cut.clone(), place).cut(seed);
    same(&mut recover(again.clone(), place), "at once");
    for round in 0..4 {
        let mut recovered = recover(again, place);
        if round == 2 {
            same(&mut recovered, "after two rounds");
        }
        recovered.go_on_alone(seed % 7 * (round + 1));
        again = recovered.cut(seed + round);
    }
    same(&mut recover(again, place), "in the end");
}

fn suffer(place: &str, events: u64) {
    let mut world = World::new(config(place, "satf_ew"));
    for event in 0..events {
        world.step();
        if event.is_multiple_of(3 * super::events_per_cut()) {
            come_back(place, &world.cut(event), event);
        }
    }
}

#[test]
fn a_cut_while_copies_are_written_again_changes_nothing() {
    FIXED.into_iter().for_each(|place| suffer(place, 90));
    suffer("mirror:disks=3:copies=3", 90);
}

#[test]
fn a_cut_while_a_map_comes_back_changes_nothing() {
    EAGER.into_iter().for_each(|place| suffer(place, 60));
    suffer("distorted_mirror:stripe_kib=8:map=virtual_log", 60);
}

#[test]
fn a_cut_while_the_drives_are_scanned_changes_nothing() {
    for place in [
        "eager:dilution=2:map=virtual_log",
        "eager:dilution=2:map=virtual_log:map_tracks=6",
        "ew_array:dm=2:dd=2:map=virtual_log",
    ] {
        let mut world = World::new(config(place, "satf_ew"));
        for event in 0..60 {
            world.step();
            if event % 9 == 8 {
                come_back(place, &world.cut(event).without_nvram(), event);
            }
        }
    }
}
