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
            "None wins: drive.protection=off served wrong blocks, and drive.protection=on failed"
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
