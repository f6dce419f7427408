//! Configurations that cannot be: each is refused with the thing, the value and what is allowed.
//! What can be says what it promises.

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Placement, Scheduler};
use nearslot_core::{destage, place};

use crate::support::DISK;

fn refusal(place: &str) -> String {
    let drive = DriveConfig {
        part: PartConfig::named("of the test"),
        text: DISK.to_owned(),
    };
    let config = StackConfig::over(drive, 1)
        .with::<dyn Scheduler>(PartConfig::named("satf"))
        .with::<dyn Placement>(place.parse().unwrap());
    let built = config.build();
    built
        .err()
        .unwrap_or_else(|| panic!("{place} was built"))
        .to_string()
}

#[test]
fn impossible_arrays_are_named() {
    for (place, told) in [
        (
            "ew_array:ds=1.5:dd=1.5",
            "ds x dd = 2.25 (allowed: a whole number of drives",
        ),
        (
            "ew_array:dm=2:ds=600:dd=1.5",
            "dm x ds x dd = 1800 (allowed: a whole number of drives from 1 to 1024)",
        ),
        ("ew_array:dd=0.9:ds=1", "ew_array.dd = 0.9 (allowed: "),
        (
            "ew_array:dm=2:foreground=3",
            "ew_array.foreground = 3 (allowed: at most 2, the copies there are)",
        ),
        (
            "ew_array:stripe_kib=6",
            "ew_array.stripe_kib = 6 (allowed: a multiple of 4, the KiB that are written as a whole)",
        ),
        (
            "eager:dilution=5000",
            "eager.dilution = 5000 (allowed: what gives some of a drive's",
        ),
        (
            "eager:chunk_kib=1024",
            "eager.chunk_kib = 1024 (allowed: no more than a track",
        ),
        (
            "mirror:disks=3",
            "mirror.disks = 3 (allowed: a multiple of 2, the copies)",
        ),
        (
            "mirror:copies=4:disks=2",
            "mirror.disks = 2 (allowed: a multiple of 4, the copies)",
        ),
        (
            "mirror:foreground=3",
            "mirror.foreground = 3 (allowed: at most 2, the copies there are)",
        ),
        (
            "mirror:stripe_kib=6",
            "mirror.stripe_kib = 6 (allowed: a multiple of 4",
        ),
        ("sr_array:ds=1.3:dr=3", "ds x dr = 3.9"),
        ("sr_array:dr=4", "sr_array.dr = 4 (allowed: "),
        (
            "stripe:stripe_kib=1000000",
            "stripe.stripe_kib = 1000000 (allowed: no more than the 6400 KiB of a drive)",
        ),
        ("distorted_mirror:ds=1.2", "ds x dd = 2.4"),
        (
            "raid5:disks=7:arrays=2",
            "raid5.disks = 7 (allowed: a multiple of 2, the arrays, and at least 6: an array has three drives or more)",
        ),
    ] {
        let refusal = refusal(place);
        assert!(refusal.starts_with(told), "{place}: {refusal}");
    }
}

#[test]
fn a_nearly_full_drive_is_still_written() {
    // One slot in a hundred is free.
    let refused = refusal("eager:dilution=1.0001");
    assert!(refused.starts_with("eager.dilution = 1.0001"), "{refused}");
}

#[test]
fn whoever_keeps_data_says_what_is_found_after_a_power_cut() {
    let kept = place::TABLE.iter().map(|spec| spec.card());
    let buffered = destage::TABLE.iter().map(|spec| spec.card());
    for card in kept.chain(buffered.filter(|card| card.name != "none")) {
        assert_ne!(card.promises, "", "{}", card.name);
    }
}
