//! What coming back after a power cut costs: within what the drive's platters and arm allow, and
//! nothing where nothing is kept.

use nearslot_core::config::{DriveConfig, PartConfig};
use nearslot_core::drive;
use nearslot_core::units::Blocks;
use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::{Number, Run};
use nearslot_lab::report::{Format, table, write};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario, drive_text};
use nearslot_lab::sim::Control;

/// Without a buffer, so that only platters and arm take time.
const DRIVE: &str = "seagate-cheetah-9lp:model=mechanical";

fn scenario(place: &str, requests: u64) -> Scenario {
    let load = format!("iometer:depth=16:requests={requests}:read_share=0.3");
    let mut scenario = Scenario::over(Load::Workload(load.parse().unwrap()));
    for (key, value) in [("drive", DRIVE), ("place", place), ("sched", "satf_ew")] {
        scenario.set(key, value).unwrap();
    }
    scenario
}

/// What coming back costs.
#[derive(Debug, PartialEq)]
struct RecoveryCost {
    seconds: f64,
    reads: u64,
    mib: f64,
}

impl RecoveryCost {
    fn of(run: &Run) -> Option<RecoveryCost> {
        let told = |name| run.measure("recovery", name).map(Number::value);
        Some(RecoveryCost {
            seconds: told("s")?,
            reads: told("reads")? as u64,
            mib: told("mib")?,
        })
    }
}

fn recovery(place: &str, requests: u64) -> Option<RecoveryCost> {
    RecoveryCost::of(&run(place, requests))
}

fn run(place: &str, requests: u64) -> Run {
    run_of(&scenario(place, requests))
}

fn run_of(scenario: &Scenario) -> Run {
    let points = grid::points(scenario, &[]).unwrap();
    let wanted = Wanted::default();
    let results = compare(&points, None, &wanted, &Control::default()).unwrap();
    results.runs.into_iter().next().unwrap()
}

/// Least and most seconds that the reads can take.
fn limits(cost: &RecoveryCost) -> (f64, f64) {
    let part: PartConfig = DRIVE.parse().unwrap();
    let config = DriveConfig {
        text: drive_text(&part.name).unwrap(),
        part,
    };
    let (blueprint, _) = drive::read(&config.part.name, &config.text, &config.part.knobs).unwrap();
    let turn = blueprint.revolution().unwrap().0 as f64 / 1e9;
    let arm = blueprint.exact_arm().unwrap();
    let tracks = blueprint.tracks(Blocks(8)).unwrap();
    let stroke = arm.seek_at_least(tracks.cylinders() - 1).0 as f64 / 1e9;
    let all = (0..tracks.number(tracks.cylinders(), 0)).map(|number| tracks.track(number));
    let slots: Vec<f64> = all
        .map(|track| track.slots.into())
        .filter(|slots| *slots > 0.0)
        .collect();
    let longest = slots.iter().fold(0.0, |most: f64, slots| most.max(*slots));
    let shortest = slots.iter().fold(longest, |least, slots| least.min(*slots));
    let slots = cost.mib * 256.0;
    // The longest track has a few blocks besides whole slots.
    let least = slots / (longest + 1.0) * turn;
    // The next track may come by a turn later, and the transfer begin and end within one.
    let (reads, tracks) = (cost.reads as f64, slots / shortest);
    let most = reads * (stroke + turn) + (tracks + 2.0 * reads) * 2.0 * turn;
    (least, most)
}

fn assert_possible(cost: &RecoveryCost) {
    let (least, most) = limits(cost);
    let seconds = cost.seconds;
    assert!(
        (least..most).contains(&seconds),
        "{least} to {most}: {cost:?}"
    );
}

#[test]
fn a_log_is_read_as_fast_as_the_platter_turns() {
    let cost = recovery("eager:map=log", 4_000).unwrap();
    assert_possible(&cost);
    // The map: four bytes for each of the 1.1 million chunks, and what was written since.
    assert!((4.2..5.2).contains(&cost.mib), "{cost:?}");
    assert_eq!(cost.reads, cost.mib.ceil() as u64, "{cost:?}");
    let (least, _) = limits(&cost);
    // The skew from track to track takes nearly half a turn.
    assert!(cost.seconds < least * 2.0, "{least}: {cost:?}");
}

/// At home on the drive, the log is read as far as it may reach, and so are the control blocks
/// before it.
#[test]
fn a_log_without_nvram_is_read_as_far_as_it_may_reach() {
    let cost = recovery("eager:map=log:home=drive", 4_000).unwrap();
    assert_possible(&cost);
    // Five portions with what is written meanwhile, of which four are the map; and a record.
    assert!((6.2..7.5).contains(&cost.mib), "{cost:?}");
    let (least, _) = limits(&cost);
    assert!(cost.seconds < least * 2.2, "{least}: {cost:?}");
    // Two drives have the log, and which has come further is known when both were read.
    let pair = recovery("distorted_mirror:map=log:home=drive", 8_000).unwrap();
    let one = recovery("distorted_mirror:map=log", 8_000).unwrap();
    assert!(pair.mib > 2.0 * one.mib, "{pair:?}, {one:?}");
}

#[test]
fn a_walk_reads_sector_by_sector() {
    let cost = recovery("eager:map=virtual_log", 8_000).unwrap();
    assert_possible(&cost);
    assert_eq!(cost.mib * 256.0, cost.reads as f64, "4 KiB each");
    // Here and there on the drive: a seek and half a turn for each.
    let each = cost.seconds / cost.reads as f64;
    assert!((0.004..0.012).contains(&each), "{each} s a read");
}

#[test]
fn a_scan_reads_whole_tracks() {
    // When the last request is answered, copies are still delayed, and a map sector that tells of
    // one is under way.
    let place = "ew_array:dm=2:dd=2:map=virtual_log";
    let cost = recovery(place, 1_000).unwrap();
    assert_possible(&cost);
    assert!(cost.mib > 8_000.0, "all of the drive: {cost:?}");
    let (least, _) = limits(&cost);
    assert!(cost.seconds < least * 2.0, "{least}: {cost:?}");
}

#[test]
fn nothing_comes_back_of_a_map_in_memory() {
    for place in ["eager", "linear", "ew_array:dm=2", "sr_array"] {
        assert_eq!(recovery(place, 400), None, "{place}");
    }
    // The first round of checkpoints is not complete.
    assert_eq!(recovery("eager:map=log", 20), None);
}

/// No drive with the log is left, as all are gone or given up.
#[test]
fn nothing_comes_back_of_a_map_that_is_lost() {
    let silent = "injected:timeout_share=0.8:timeout_ms=3";
    for (place, faults) in [
        ("eager:map=log", "injected:gone_at_s=1"),
        ("ew_array:dm=1:ds=1:dd=2:map=log", "injected:gone_at_s=1"),
        ("eager:map=log", silent),
        ("ew_array:dm=2:ds=1:dd=2:map=log", silent),
        ("distorted_mirror:ds=2:dd=2:map=log", silent),
    ] {
        let mut scenario = scenario(place, 3_000);
        scenario.set("faults", faults).unwrap();
        assert_eq!(RecoveryCost::of(&run_of(&scenario)), None, "{place}");
    }
}

#[test]
fn copies_are_read_from_one_drive() {
    let one = recovery("eager:map=log", 4_000).unwrap();
    // Two copies on two drives each, whose map is in one log.
    let four = recovery("ew_array:dm=2:dd=2:map=log", 8_000).unwrap();
    assert_possible(&four);
    let times = four.mib / one.mib;
    assert!((3.7..4.3).contains(&times), "{one:?}, {four:?}");
}

#[test]
fn reports_tell_it_where_there_is_something_to_tell() {
    let vary = Vary {
        key: "place.map".to_owned(),
        values: vec!["memory".to_owned(), "log".to_owned()],
    };
    let base = scenario("eager", 4_000);
    let compared = |vary: &[Vary]| {
        let points = grid::points(&base, vary).unwrap();
        compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
    };
    let both = compared(&[vary]);
    let text = table(&both, None);
    assert!(text.contains("recovery"), "{text}");
    let without = compared(&[]);
    for width in [None, Some(60)] {
        let text = table(&without, width);
        assert!(!text.contains("recovery"), "{text}");
    }
    let mut csv = Vec::new();
    write(&both, Format::Csv, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let cell = |row: usize, name: &str| {
        let names = csv.lines().next().unwrap().split(',');
        let index = names.into_iter().position(|other| other == name).unwrap();
        csv.lines()
            .nth(row)
            .unwrap()
            .split(',')
            .nth(index)
            .unwrap()
            .to_owned()
    };
    let cost = RecoveryCost::of(&both.runs[1]).unwrap();
    for (name, value) in [
        ("recovery_s", cost.seconds),
        ("recovery_reads", cost.reads as f64),
        ("recovery_mib", cost.mib),
    ] {
        assert_eq!(cell(1, name), "", "{name}");
        assert_eq!(cell(2, name).parse::<f64>().unwrap(), value, "{name}");
    }
}

#[test]
fn a_single_run_is_told_in_words() {
    let base = scenario("eager:map=log", 4_000);
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let text = table(&results, None);
    let line = text.lines().find(|line| line.starts_with("recovery  "));
    let reads = RecoveryCost::of(&results.runs[0]).unwrap().reads;
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(
        line.contains(&format!("s of drive time, {reads} reads of ")),
        "{line}"
    );
}

/// Nobody reads the map of a drive that is gone.
#[test]
fn what_is_gone_is_not_recovered() {
    let cost = |faults: &str| {
        let mut scenario = scenario("eager:map=virtual_log", 4_000);
        scenario.set("faults", faults).unwrap();
        let points = grid::points(&scenario, &[]).unwrap();
        let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
        RecoveryCost::of(&results.runs[0])
    };
    assert!(cost("none").is_some());
    assert_eq!(cost("injected:gone_at_s=2"), None);
}
