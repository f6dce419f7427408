//! Merging, and drives that sort by themselves, as results show them.

use nearslot_lab::grid;
use nearslot_lab::outcome::Run;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

/// The run of a load with these settings.
fn run(load: &str, settings: &[(&str, &str)]) -> Run {
    let mut scenario = Scenario::over(Load::Workload(load.parse().unwrap()));
    for (key, value) in settings {
        scenario.set(key, value).unwrap();
    }
    let points = grid::points(&scenario, &[]).unwrap();
    let wanted = Wanted {
        series: true,
        ..Wanted::default()
    };
    let results = compare(&points, None, &wanted, &Control::default());
    results.unwrap().runs.remove(0)
}

const DRIVE: &str = "seagate-cheetah-9lp:model=mechanical";
const DEEP: &str = "seagate-cheetah-9lp:model=mechanical:queue_depth=32";

fn deep(drive: &str, sched: &str) -> Run {
    let load = "iometer:depth=64:requests=6000";
    run(load, &[("drive", drive), ("sched", sched)])
}

#[test]
fn a_drive_that_sorts_serves_more_and_is_busy_no_more_than_all_the_time() {
    let (bare, queued) = (deep(DRIVE, "fcfs"), deep(DEEP, "fcfs"));
    let gain = queued.throughput_rps / bare.throughput_rps;
    assert!(gain > 1.5, "{gain}");
    // 64 are always there.
    for run in [&bare, &queued] {
        let busy = run.utilisation;
        assert!((0.999..=1.0).contains(&busy), "{busy}");
    }
    // It does one at a time, whatever it holds: what is drawn of its commands does not overlap.
    let series = queued.series.as_ref().unwrap();
    let parts = [
        &series.arm_overhead_ms,
        &series.arm_seek_ms,
        &series.arm_rotation_ms,
        &series.arm_transfer_ms,
    ];
    let ends: Vec<f64> = (0..series.arm_s.len())
        .map(|index| series.arm_s[index] + parts.map(|ms| ms[index]).iter().sum::<f64>() / 1e3)
        .collect();
    assert!(ends.len() > 1_000);
    for index in 1..ends.len() {
        assert!(series.arm_s[index] > ends[index - 1] - 1e-9, "{index}");
    }
}

#[test]
fn what_continues_is_served_in_fewer_commands() {
    let load = "iometer:depth=64:requests=4000:sequential_share=0.9";
    // While it deals with a command, the block that continues the one before has passed.
    let drive = (
        "drive",
        "seagate-cheetah-9lp:model=mechanical:overhead_ms=0.3",
    );
    let apart = run(load, &[drive]);
    let merged = run(load, &[drive, ("merge", "contiguous")]);
    let gain = merged.throughput_rps / apart.throughput_rps;
    assert!(gain > 2.0, "{gain}");
    let spared = |run: &Run| run.measure("merge", "spared_commands");
    assert_eq!(spared(&apart), None);
    // Nine in ten continue the one before; those that start at once and those that find nothing to
    // join do not count.
    let spared = spared(&merged).unwrap().value();
    assert!((2_000.0..3_600.0).contains(&spared), "{spared}");
}
