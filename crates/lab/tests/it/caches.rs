//! What is said of a volume that is to survive power cuts, over drives of which nobody knows what
//! those leave.

use nearslot_lab::grid;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::{Warning, WarningKind};

/// Warnings of caches that nobody knows.
fn warnings(drive: &str, place: &str) -> Vec<Warning> {
    let load = Load::Workload("iometer:requests=200".parse().unwrap());
    let mut base = Scenario::over(load);
    base.set("drive", drive).unwrap();
    base.set("place", place).unwrap();
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let of_cache = |warning: &Warning| warning.kind == WarningKind::UnknownCache;
    results.warnings.into_iter().filter(of_cache).collect()
}

#[test]
fn a_cache_that_nobody_knows_is_told_where_the_volume_is_to_survive() {
    let told = warnings("cloud-gp2-100gib", "mirror:disks=2");
    let [warning] = told.as_slice() else {
        panic!("{told:?}");
    };
    for word in [
        "cloud-gp2-100gib",
        "does not say whether a power cut empties its cache",
        "cloud-gp2-100gib:cache=off, volatile or protected",
    ] {
        assert!(warning.text.contains(word), "{word}: {warning}");
    }
    for known in ["cloud-gp2-100gib:cache=protected", "seagate-cheetah-9lp"] {
        let told = warnings(known, "mirror:disks=2");
        assert!(told.is_empty(), "{known}: {told:?}");
    }
    let told = warnings("cloud-gp2-100gib", "linear");
    assert!(
        told.is_empty(),
        "it promises no more than its drive: {told:?}"
    );
}
