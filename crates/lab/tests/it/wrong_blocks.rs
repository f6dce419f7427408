//! Choices that serve wrong blocks beside others that refuse them.

use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::{Results, Standing};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

/// A comparison over drives of which many sectors rot.
fn compared(vary: &str) -> Results {
    let load = Load::Workload("iometer:requests=2000:read_share=1".parse().unwrap());
    let mut scenario = Scenario::over(load);
    scenario.set("drive", "seagate-cheetah-9lp").unwrap();
    let faults = "injected:rot_per_tib=8000000:rot_within_s=0";
    scenario.set("faults", faults).unwrap();
    let vary: Vary = vary.parse().unwrap();
    let points = grid::points(&scenario, &[vary]).unwrap();
    compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
}

#[test]
fn a_drive_that_serves_rot_does_not_win_over_one_that_refuses_it() {
    let results = compared("drive.protection=off,on");
    let ranks = &results.verdict.rankings[0].ranks;
    let found: Vec<_> = ranks.iter().map(|rank| (rank.run, rank.standing)).collect();
    let refuses = Standing::Failed;
    assert_eq!(found, [(1, refuses), (0, Standing::WrongBlocks)]);
    let off = &results.runs[0];
    let wrong = off.measure("faults", "wrong_blocks_read").unwrap().value();
    assert!(wrong > 0.0);
    let headline = &results.verdict.headline;
    assert!(
        headline.starts_with(
            "No choice wins: drive.protection=off served wrong blocks, and drive.protection=on failed"
        ),
        "{headline}"
    );
    let told = format!("drive.protection=off served {wrong} wrong blocks.");
    assert!(headline.ends_with(&told), "{headline}");
}

#[test]
fn schedulers_over_drives_that_all_serve_rot_are_compared() {
    let results = compared("sched=fcfs,satf");
    let headline = &results.verdict.headline;
    assert!(
        headline.contains("2 of 2 runs served wrong blocks"),
        "{headline}"
    );
    let ranks = &results.verdict.rankings[0].ranks;
    assert!(ranks.iter().all(|rank| rank.standing == Standing::KeepsUp));
}

/// Wrong blocks that drives brought, and that were served, of each run; over drives that rot from
/// the begin on.
fn brought_and_served(load: &str, settings: &[(&str, &str)], vary: &[&str]) -> Vec<[f64; 2]> {
    let mut scenario = Scenario::over(Load::Workload(load.parse().unwrap()));
    scenario.set("drive", "seagate-cheetah-9lp").unwrap();
    for (key, value) in settings {
        scenario.set(key, value).unwrap();
    }
    let vary: Vec<Vary> = vary.iter().map(|vary| vary.parse().unwrap()).collect();
    let points = grid::points(&scenario, &vary).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let count = |name: &'static str| {
        move |run: &nearslot_lab::outcome::Run| run.measure("faults", name).unwrap().value()
    };
    let [brought, served] = ["wrong_blocks_read", "wrong_blocks_served"].map(count);
    let runs = results.runs.iter();
    runs.map(|run| [brought(run), served(run)]).collect()
}

const ROT: (&str, &str) = ("faults", "injected:rot_per_tib=8000000:rot_within_s=0");

/// Reads get what is on the medium, whether they find it in memory or not: so many wrong blocks,
/// with any cache and any prefetcher.
#[test]
fn reads_of_rot_are_served_as_much_of_it_from_memory_as_from_the_drive() {
    let small = "iometer:requests=3000:size=8k:span=0.007:sequential_share=0.5";
    let vary = [
        "cache=none,lru:size=8MiB,arc:size=32MiB",
        "prefetch=none,fixed:degree=8",
    ];
    let counted = brought_and_served(small, &[ROT], &vary);
    let [none, rest @ ..] = &counted[..] else {
        panic!("nothing was run");
    };
    assert!(none[0] > 0.0 && none[0] == none[1], "{none:?}");
    assert!(rest.iter().all(|run| run[1] == none[1]), "{counted:?}");
    let apart = rest.iter().filter(|run| run[0] != none[0]).count();
    assert_eq!(
        apart,
        rest.len(),
        "memory changes what is brought: {counted:?}"
    );
}

/// Old data and parities that a small write reads are no client's, so a load that only writes is
/// served nothing wrong, and no placement wins for it.
#[test]
fn what_is_read_for_a_parity_is_served_to_nobody() {
    let mut scenario = Scenario::over(Load::Workload(
        "iometer:requests=2000:read_share=0:size=4k"
            .parse()
            .unwrap(),
    ));
    scenario.set("drive", "seagate-cheetah-9lp").unwrap();
    scenario.set(ROT.0, ROT.1).unwrap();
    let vary: Vary = "place=raid5,mirror".parse().unwrap();
    let points = grid::points(&scenario, &[vary]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let count = |name: &str| results.runs[0].measure("faults", name).unwrap().value();
    assert!(count("wrong_blocks_passed_on") > 0.0);
    assert_eq!(count("wrong_blocks_served"), 0.0);
    assert_eq!(count("wrong_blocks_passed_on"), count("wrong_blocks_read"));
    let headline = &results.verdict.headline;
    assert!(!headline.contains("wrong block"), "{headline}");
    let ranks = &results.verdict.rankings[0].ranks;
    assert!(
        ranks.iter().all(|rank| rank.standing == Standing::KeepsUp),
        "{headline}"
    );
}

/// What an array computes in place of a drive that is gone is wrong where something is that it was
/// computed from, from memory or not.
#[test]
fn what_is_computed_from_rot_is_served_wrong() {
    let small = "iometer:requests=2000:size=8k:span=0.007";
    let faults = "injected:rot_per_tib=8000000:rot_within_s=0:gone_at_s=0:gone_drive=1";
    let array = [("faults", faults), ("place", "raid5:disks=4")];
    let counted = brought_and_served(small, &array, &["cache=none,lru:size=8MiB"]);
    let [[brought, none], [_, lru]] = counted[..] else {
        panic!("two runs");
    };
    assert_eq!(none, lru, "{counted:?}");
    // One of the sources of a block is rotten, or none.
    assert!(none > 0.0 && brought == none, "{counted:?}");
}
