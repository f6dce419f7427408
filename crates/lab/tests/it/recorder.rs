//! What the page draws of a run is what its drive did: every recorded command beside the
//! completions that a plain observer of the same run sees.

use std::collections::BTreeSet;

use nearslot_core::contract::Oracle;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::op::Op;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Instant};
use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::{Results, Series};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::{self, Control, Observer};
use nearslot_lab::workload;

const DEPTH: u64 = 16;
const REQUESTS: u64 = 6_000;

fn scenario(sched: &str, place: &str) -> Scenario {
    let load = format!("iometer:depth={DEPTH}:requests={REQUESTS}:read_share=0.5");
    let mut scenario = Scenario::over(Load::Workload(load.parse().unwrap()));
    for (key, value) in [
        (
            "drive",
            "seagate-cheetah-9lp:model=mechanical:overhead_ms=0.3",
        ),
        ("place", place),
        ("sched", sched),
    ] {
        scenario.set(key, value).unwrap();
    }
    scenario
}

fn results(sched: &str, place: &str, series: bool) -> Results {
    let points = grid::points(&scenario(sched, place), &[]).unwrap();
    let wanted = Wanted {
        series,
        ..Wanted::default()
    };
    compare(&points, None, &wanted, &Control::default()).unwrap()
}

fn series(sched: &str, place: &str) -> Series {
    let mut runs = results(sched, place, true).runs;
    runs.remove(0).series.unwrap()
}

/// Everything that a drive did, with nothing left out.
struct Seen {
    locator: Box<dyn Oracle>,
    begin: Option<Instant>,
    warmup: u64,
    commands: Vec<(Instant, Command, bool)>,
    ends: Vec<(Instant, DriveDone)>,
}

impl Observer for Seen {
    fn arrived(&mut self, now: Instant, request: &nearslot_core::request::Request) {
        if request.id.0 >= self.warmup {
            self.begin.get_or_insert(now);
        }
    }

    fn started(
        &mut self,
        now: Instant,
        _drive: DriveId,
        command: &Command,
        origin: &Origin,
        _stack: &Stack,
    ) {
        let open = origin.open;
        self.commands.push((now, *command, open));
    }

    fn done(&mut self, now: Instant, _drive: DriveId, done: &DriveDone) {
        self.ends.push((now, *done));
    }
}

fn seen(sched: &str, place: &str, warmup: u64) -> Seen {
    let scenario = scenario(sched, place);
    let mut built = scenario.stack().unwrap().build().unwrap();
    let env = workload::LoadEnv {
        seed: scenario.seed,
        label: "workload/0",
        capacity: built.stack.capacity(),
        drive: None,
        places_max: u64::MAX,
    };
    let Load::Workload(part) = &scenario.load else {
        panic!("the load is synthetic")
    };
    let mut workload = workload::synthetic(part, &env).unwrap().0.workload;
    let mut seen = Seen {
        locator: built.blueprint.exact(),
        begin: None,
        warmup,
        commands: Vec::new(),
        ends: Vec::new(),
    };
    let control = Control::default();
    sim::run(
        &mut built.stack,
        &mut built.drives,
        &mut *workload,
        &mut seen,
        &control,
    );
    seen
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.since(from).0 as f64 / 1e9
}

#[test]
fn every_recorded_command_is_one_of_the_drives_to_the_nanosecond() {
    let results = results("freebw_hybrid", "eager:dilution=2", true);
    let run = &results.runs[0];
    let series = run.series.as_ref().unwrap();
    let seen = seen("freebw_hybrid", "eager:dilution=2", run.warmup_requests);
    let begin = seen.begin.unwrap();
    assert_eq!(series.arm_s.len(), 2_000);
    let first = seen
        .commands
        .iter()
        .position(|(start, ..)| *start >= begin && seconds(begin, *start) == series.arm_s[0])
        .unwrap();
    // The middle: neither where the queue fills nor where it runs dry.
    assert!((1_500..2_500).contains(&first), "{first}");
    let cylinder = |at| seen.locator.locate(at).cylinder;
    for index in 0..series.arm_s.len() {
        let (start, command, open) = seen.commands[first + index];
        let (end, done) = seen.ends[first + index];
        let (_, before, _) = seen.commands[first + index - 1];
        assert_eq!(series.arm_s[index], seconds(begin, start));
        assert_eq!(series.arm_write[index], command.op == Op::Write);
        assert_eq!((series.arm_open[index], series.arm_drive[index]), (open, 0));
        assert_eq!(series.arm_open[index], series.arm_write[index]);
        assert_eq!(series.arm_cylinder[index], cylinder(command.at));
        assert_eq!(
            series.arm_from[index],
            cylinder(before.at + Blocks(before.len.0 - 1))
        );
        let parts = [
            series.arm_overhead_ms[index],
            series.arm_seek_ms[index],
            series.arm_rotation_ms[index],
            series.arm_transfer_ms[index],
        ];
        let ns = parts.map(|ms| (ms * 1e6).round() as u64);
        let cost = done.cost;
        assert_eq!(
            ns,
            [cost.overhead, cost.seek, cost.rotation, cost.transfer].map(|part| part.0)
        );
        assert_eq!(start.0 + ns.iter().sum::<u64>(), end.0, "command {index}");
    }
    let stretch = series.stretch.as_ref().unwrap();
    let writes = series.arm_write.iter().filter(|write| **write).count() as u64;
    assert_eq!((stretch.writes, stretch.open_writes), (writes, writes));
    assert_eq!(stretch.reads + stretch.writes, 2_000);
    let gaps = stretch.gaps.as_ref().unwrap();
    assert_eq!(gaps.by_writes.iter().sum::<u64>(), stretch.reads - 1);
}

#[test]
fn writes_in_place_are_not_open_and_leave_no_map() {
    let series = series("satf", "linear");
    assert!(series.arm_write.contains(&true));
    assert!(!series.arm_open.contains(&true));
    assert!(series.free.is_empty());
    assert_eq!(series.stretch.unwrap().open_writes, 0);
}

#[test]
fn free_space_is_sampled_over_the_whole_run_in_bounded_memory() {
    let series = series("satf_ew", "eager:dilution=4");
    let [free] = &series.free[..] else {
        panic!("one drive, one map")
    };
    assert!(
        (100..=200).contains(&free.time_s.len()),
        "{}",
        free.time_s.len()
    );
    assert_eq!(free.time_s[0], 0.0);
    assert!(free.time_s.is_sorted());
    let last = *series.time_s.last().unwrap();
    assert!(*free.time_s.last().unwrap() > 0.98 * last);
    assert_eq!((free.cylinders.len(), free.cylinders[0]), (65, 0));
    assert_eq!(free.cylinders[64], 6_962);
    // With a dilution of 4 three quarters are free; groups differ, their mean does not.
    for shares in &free.free_per_10k {
        let mean = shares.iter().map(|share| f64::from(*share)).sum::<f64>() / 64.0;
        assert!((7_400.0..7_600.0).contains(&mean), "{mean}");
    }
}

#[test]
fn the_queue_is_told_apart_by_operation() {
    let series = series("read_first", "eager:dilution=2");
    let half = series.queue.len() / 2;
    for index in 0..series.queue.len() {
        let both = series.queue_read[index] + series.queue_write[index];
        assert!((series.queue[index] - both).abs() < 1e-9);
    }
    // Reads go first, so what waits in a closed loop is nearly all writes.
    assert!(series.queue_write[half] > 0.8 * DEPTH as f64);
    assert!(series.queue_read[half] < 0.2 * DEPTH as f64);
}

#[test]
fn watching_changes_nothing_and_repeats() {
    let plain = |watched: bool| {
        let mut results = results("satf_ew", "eager:dilution=2", watched);
        results.runs[0].simulated_in_s = 0.0;
        results
    };
    let json = |results: &Results| serde_json::to_string(results).unwrap();
    let (once, again, mut unwatched) = (plain(true), plain(true), plain(false));
    assert_eq!(json(&once), json(&again));
    assert!(unwatched.runs[0].series.is_none(), "nobody asked for it");
    unwatched.runs[0].series.clone_from(&once.runs[0].series);
    assert_eq!(json(&once), json(&unwatched));
}

/// Runs of a comparison show the same part of their load.
#[test]
fn the_stretch_begins_at_the_same_request_whatever_the_scheduler() {
    let vary = Vary {
        key: "sched".to_owned(),
        values: vec!["fcfs".to_owned(), "satf".to_owned()],
    };
    let points = grid::points(&scenario("fcfs", "linear"), &[vary]).unwrap();
    let wanted = Wanted {
        series: true,
        ..Wanted::default()
    };
    let results = compare(&points, None, &wanted, &Control::default()).unwrap();
    for run in &results.runs {
        let series = run.series.as_ref().unwrap();
        // Requests come at one rate in a closed loop: the middle 2,000 of the measured ones.
        let middle = (series.arm_s[0] + series.arm_s[1_999]) / 2.0;
        let share = middle / run.duration_s;
        assert!((0.45..0.55).contains(&share), "{}: {share}", run.label);
    }
}

/// Each drive of an array has its own commands, one after the other, and its own map.
#[test]
fn the_drives_of_an_array_are_told_apart() {
    let series = series("satf_ew", "ew_array:dm=2:ds=1:dd=2");
    let drives: BTreeSet<u16> = series.arm_drive.iter().copied().collect();
    assert_eq!(drives, BTreeSet::from([0, 1, 2, 3]));
    let maps: Vec<u16> = series.free.iter().map(|free| free.drive).collect();
    assert_eq!(maps, [0, 1, 2, 3]);
    for drive in drives {
        let mut before = (0, None);
        for index in 0..series.arm_s.len() {
            if series.arm_drive[index] != drive {
                continue;
            }
            let start_ns = (series.arm_s[index] * 1e9).round() as u64;
            let parts_ms = [
                series.arm_overhead_ms[index],
                series.arm_seek_ms[index],
                series.arm_rotation_ms[index],
                series.arm_transfer_ms[index],
            ];
            let (end, arm) = before;
            assert!(start_ns >= end, "drive {drive}, command {index}");
            assert!(arm.is_none_or(|cylinder| cylinder == series.arm_from[index]));
            let length_ns = parts_ms.map(|ms| (ms * 1e6).round() as u64);
            let length_ns: u64 = length_ns.iter().sum();
            before = (start_ns + length_ns, Some(series.arm_cylinder[index]));
        }
    }
    let stretch = series.stretch.unwrap();
    let gaps = stretch.gaps.unwrap();
    // One gap less than reads on each drive.
    assert_eq!(gaps.by_writes.iter().sum::<u64>(), stretch.reads - 4);
}
