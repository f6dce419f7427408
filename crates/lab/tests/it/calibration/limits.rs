//! Limits of a volume are found where they bind, and nowhere else.

use std::collections::VecDeque;

use nearslot_core::op::Op;
use nearslot_core::rng::{Rng, mix};
use nearslot_lab::calibrate::{Calibration, How, Sample, Samples, Target, calibrate, fitted};

use super::{near, parallel};

fn how() -> How {
    How {
        target: Target::Capped,
        input: "the test".to_owned(),
        ..How::default()
    }
}

fn value(found: &Calibration, name: &str) -> Option<f64> {
    let mut estimates = found.estimates.iter();
    estimates.find(|one| one.name == name).unwrap().value
}

/// A volume with these limits of I/Os and MiB a second under eight outstanding, and alone at first.
/// Every two seconds another of these sizes is asked for, in blocks.
fn limited(iops: f64, mib: f64, sizes: &[u64]) -> Samples {
    let mut rng = Rng::stream(6, "sizes");
    let (mut all, mut now) = (Vec::new(), 0_u64);
    for _ in 0..400 {
        all.push(Sample::new(
            now,
            Op::Read,
            rng.below(1_000_000),
            8,
            1_000_000,
        ));
        now += 10_000_000;
    }
    let (mut running, mut free) = (VecDeque::from(vec![now; 8]), now);
    let (mut size, mut until) = (sizes[0], now);
    while now < 60_000_000_000 {
        now = running.pop_front().unwrap();
        if now >= until {
            until += 2_000_000_000;
            size = sizes[rng.below(sizes.len() as u64) as usize];
        }
        let cost = (1.0 / iops).max(size as f64 / 2_048.0 / mib);
        free = free.max(now) + (cost * 1e9) as u64;
        let end = free.max(now + 1_000_000);
        all.push(Sample::new(
            now,
            Op::Read,
            rng.below(1_000_000),
            size,
            end - now,
        ));
        running.push_back(end);
    }
    Samples::of(all).unwrap()
}

#[test]
fn only_the_limit_that_binds_is_set() {
    let sizes = [8, 16, 32, 64];
    let found = calibrate(&limited(1_500.0, 1e6, &sizes), &how()).unwrap();
    near(
        "iops",
        value(&found, "iops.baseline").unwrap(),
        1_500.0,
        8.0,
    );
    assert_eq!(value(&found, "mib.baseline"), None, "{found}");
    let found = calibrate(&limited(1e6, 20.0, &sizes), &how()).unwrap();
    // 20 MiB/s are 21 MB/s: within 2 % it is the former.
    near("mib", value(&found, "mib.baseline").unwrap(), 20.0, 0.4);
    assert_eq!(value(&found, "iops.baseline"), None, "{found}");
    let found = calibrate(&limited(1_500.0, 20.0, &sizes), &how()).unwrap();
    near(
        "iops",
        value(&found, "iops.baseline").unwrap(),
        1_500.0,
        8.0,
    );
    near("mib", value(&found, "mib.baseline").unwrap(), 20.0, 0.4);
    for one in &found.estimates[1..] {
        assert!(one.how.starts_with("binds"), "{found}");
        assert!(one.plus_minus.unwrap() > 0.0, "{found}");
    }
}

#[test]
fn where_both_rates_go_together_one_is_set_and_that_is_said() {
    let found = calibrate(&limited(1_500.0, 1e6, &[8]), &how()).unwrap();
    near(
        "iops",
        value(&found, "iops.baseline").unwrap(),
        1_500.0,
        8.0,
    );
    assert_eq!(value(&found, "mib.baseline"), None);
    let said = found.to_string();
    assert!(said.contains("may be a limit of the other kind"), "{said}");
    let found = calibrate(&limited(1e6, 100.0, &[512]), &how()).unwrap();
    near("mib", value(&found, "mib.baseline").unwrap(), 100.0, 1.0);
    assert_eq!(value(&found, "iops.baseline"), None);
}

#[test]
fn a_limit_is_told_only_if_it_was_reached() {
    let idle = parallel(&[1], |_| 1_000_000);
    let found = calibrate(&idle, &how()).unwrap();
    assert!(
        found
            .estimates
            .iter()
            .any(|one| one.how.contains("not reached")),
        "{found}"
    );
    // Eight outstanding of which each takes eight times as long: the limit of a thousand a second.
    let mut busy = idle.all.clone();
    let begin = busy.last().unwrap().completed() + 2_000_000_000;
    let rest = parallel(&[8], |_| 8_000_000).all;
    busy.extend(rest.iter().map(|sample| Sample {
        issued: sample.issued + begin,
        ..*sample
    }));
    let found = calibrate(&Samples::of(busy).unwrap(), &how()).unwrap();
    let iops = found
        .estimates
        .iter()
        .find(|one| one.name == "iops.baseline")
        .unwrap();
    near("iops", iops.value.unwrap(), 1_000.0, 20.0);
}

/// The drive's file without what judges it.
fn drive_of(samples: &Samples, target: Target) -> toml::Table {
    let how = How {
        target,
        capacity: Some(2_000_000),
        ..how()
    };
    let mut drive: toml::Table = calibrate(samples, &how).unwrap().drive.parse().unwrap();
    drive.remove("calibration").unwrap();
    drive
}

#[test]
fn tables_and_limits_are_fitted_to_their_half_alone() {
    let samples = parallel(&[1], |rng| 500_000 + rng.below(20_000_000));
    let seconds = |sample: &Sample| {
        let second = sample.completed() / 1_000_000_000;
        (mix(second / 2) ^ second).is_multiple_of(2)
    };
    for target in [Target::Empirical, Target::Capped] {
        let fits = |index: usize, sample: &Sample| match target {
            Target::Capped => seconds(sample),
            _ => fitted(index),
        };
        let clean = drive_of(&samples, target);
        for half in [true, false] {
            let mut all = samples.all.clone();
            for (index, sample) in all.iter_mut().enumerate() {
                // The completion stays, so that the request stays in its second.
                if fits(index, sample) == half {
                    sample.issued += sample.latency - sample.latency / 2;
                    sample.latency /= 2;
                }
            }
            let found = drive_of(&Samples::of(all).unwrap(), target);
            assert_eq!(found != clean, half, "{target:?}");
        }
    }
}
