//! The fewest drives of an array.

use nearslot_core::rng::Rng;
use nearslot_lab::capacity::{Capacity, Find, How, capacity};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

use crate::capacity::{how, points, said, table};

#[test]
fn drives_are_found_for_a_trace_that_no_single_disk_holds() {
    let place = |number: u64| number * 2_654_435_761 % 6_000_000_000 * 4_096;
    let rows =
        (0..1_000_u64).map(|number| format!("{},R,{},4096\n", number * 100_000, place(number)));
    let (load, loaded) = table("ts_us,op,offset,size", rows);
    let base = Scenario::over(Load::Trace(load));
    let how = how("p95 < 10 s", Find::Drives);
    let capacity = capacity(
        &points(&base, &[]),
        Some(&loaded),
        &how,
        &Control::default(),
    )
    .unwrap();
    let choice = &capacity.choices[0];
    assert_eq!((choice.holds, choice.hardest), (Some(2.0), 2.0));
    assert_eq!(choice.config["drive"]["name"], "modern-20tb");
    assert!(
        said(&capacity).contains("none holds the trace alone"),
        "{}",
        said(&capacity)
    );
}

/// Small writes of a few stripes. Few drives cannot do them; of many drives a stripe is so wide that
/// writes which meet on it wait for each other.
fn hot_writes(objective: &str) -> Capacity {
    let mut rng = Rng::stream(1, "hot writes");
    let mut at_us = 0.0;
    let rows = (0..4_000).map(|_| {
        at_us -= 1_000.0 * libm::log(1.0 - rng.below(1 << 20) as f64 / f64::from(1 << 20));
        format!("{at_us:.0},W,{},4096\n", rng.below(96 << 8) * 4_096)
    });
    let (load, loaded) = table("ts_us,op,offset,size", rows);
    let mut base = Scenario::over(Load::Trace(load));
    for (key, value) in [
        ("drive", "scsi-10k-73gb"),
        ("place", "raid5"),
        ("sched", "satf"),
    ] {
        base.set(key, value).unwrap();
    }
    let coarse = How {
        resolution_percent: 10.0,
        ..how(objective, Find::Drives)
    };
    capacity(
        &points(&base, &[]),
        Some(&loaded),
        &coarse,
        &Control::default(),
    )
    .unwrap()
}

/// It said that not even the most drives hold, as it had tried none between.
#[test]
fn fewer_drives_are_found_where_the_most_are_too_slow() {
    let capacity = hot_writes("p99 < 60 ms");
    let choice = &capacity.choices[0];
    let holds = choice.holds.unwrap();
    assert!((15.0..60.0).contains(&holds), "{holds}");
    assert!(choice.fails.unwrap() < holds && choice.contradicted);
    let words =
        format!("with {holds} drives, but it fails with 236 drives: more are not always faster");
    assert!(said(&capacity).contains(&words), "{}", said(&capacity));
    // Of an objective that no number meets the text tells the most drives.
    let capacity = hot_writes("p99 < 10 ms");
    assert_eq!(capacity.choices[0].holds, None);
    assert!(!capacity.choices[0].contradicted);
    let headline = &capacity.headline;
    assert!(headline.contains("not even with 236 drives"), "{headline}");
    assert!(capacity.choices[0].tried.len() < 20);
}
