//! What is said of a volume that is to survive power cuts, over drives of which nobody knows what
//! those leave; and of drives that are faster than they are for ever, on credits.

use nearslot_lab::grid;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::{Warning, WarningKind};

/// Warnings of one kind about requests at random.
fn warnings_of(kind: WarningKind, drive: &str, place: &str) -> Vec<Warning> {
    let load = Load::Workload("iometer:requests=200".parse().unwrap());
    let mut base = Scenario::over(load);
    base.set("drive", drive).unwrap();
    base.set("place", place).unwrap();
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let of_kind = |warning: &Warning| warning.kind == kind;
    results.warnings.into_iter().filter(of_kind).collect()
}

/// Warnings of caches that nobody knows.
fn warnings(drive: &str, place: &str) -> Vec<Warning> {
    warnings_of(WarningKind::UnknownCache, drive, place)
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

#[test]
fn credits_that_were_spent_are_told() {
    let told = |drive: &str| {
        let told = warnings_of(WarningKind::CreditsSpent, drive, "linear");
        let [warning] = told.as_slice() else {
            panic!("{drive}: {told:?}");
        };
        warning.text.clone()
    };
    let full = told("cloud-gp2-100gib");
    for words in [
        "of its 5,400,000 credits for bursts; at this pace the others last for 33 min",
        "without them it does 300.0 commands/s",
        "so response times and rates are those of a burst; credits_full=0",
    ] {
        assert!(full.contains(words), "{words}: {full}");
    }
    // 54 credits, and few are earned meanwhile: they end before the run does.
    let few = told("cloud-gp2-100gib:credits_full=0.00001");
    for words in [
        "spent all its 54 credits",
        "partly those after it; credits_full=0",
    ] {
        assert!(few.contains(words), "{words}: {few}");
    }
    for steady in ["cloud-gp2-100gib:credits_full=0", "seagate-cheetah-9lp"] {
        let told = warnings_of(WarningKind::CreditsSpent, steady, "linear");
        assert!(told.is_empty(), "{steady}: {told:?}");
    }
}
