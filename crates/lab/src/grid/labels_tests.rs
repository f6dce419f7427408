//! Labels of random grids, held against what their runs did.

use std::cell::Cell;

use proptest::sample::subsequence;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use super::{Vary, check_effects};
use crate::default_drive;
use crate::given::Given;
use crate::outcome::{Results, Run};
use crate::run::{Wanted, compare};
use crate::scenario::keys::says;
use crate::scenario::{Load, Scenario};
use crate::sim::Control;

/// Keys that contradict each other in part: two spellings of one, names beside knobs, knobs that
/// only some of the parts have.
const AXES: [&str; 15] = [
    "depth=1,4",
    "workload.depth=2,8",
    "read_share=0.5,1",
    "workload.requests=30,60",
    "seed=1,2",
    "warmup=0,5",
    "sched=gap_satf,satf",
    "sched=gap_satf,gap_satf:age_limit_ms=70",
    "sched.age_limit_ms=5,5000",
    "place=stripe,mirror",
    "place=stripe:disks=2,stripe:disks=3",
    "place.disks=2,4",
    "place.stripe_kib=32,64",
    "drive=hp-c2247a,seagate-cheetah-9lp",
    "drive.overhead_ms=0,1",
];

fn base() -> Scenario {
    let mut base = Scenario::over(Load::Workload("iometer:requests=40".parse().unwrap()));
    base.set("drive", "hp-c2247a").unwrap();
    base
}

/// The runs of a grid, unless it is refused.
fn ran(base: &Scenario, axes: &[&str]) -> Option<Results> {
    let given = Given {
        once: Vec::new(),
        vary: axes
            .iter()
            .map(|word| word.parse::<Vary>().unwrap())
            .collect(),
    };
    let points = given.points(base).ok()?;
    check_effects(base, &points).ok()?;
    default_drive::check(&points).ok()?;
    compare(&points, None, &Wanted::default(), &Control::default()).ok()
}

/// What is in effect under a key in its one spelling.
fn in_effect<'a>(run: &'a Run, key: &str) -> &'a Value {
    let pointer = match key.split_once('.') {
        Some(("workload", knob)) => format!("/load/{knob}"),
        Some((part, knob)) => format!("/{part}/{knob}"),
        None if ["seed", "warmup"].contains(&key) => format!("/{key}"),
        None => format!("/{key}/name"),
    };
    let found = run.config.pointer(&pointer);
    found.unwrap_or_else(|| panic!("{} has no {pointer}: {}", run.label, run.config))
}

fn same(found: &Value, told: &str) -> bool {
    match found {
        Value::Number(number) => number.as_f64() == told.parse().ok(),
        Value::String(word) => word == told,
        _ => false,
    }
}

fn parts<'a>(run: &'a Run, keys: &[&str]) -> Vec<&'a Value> {
    keys.iter().map(|key| &run.config[*key]).collect()
}

fn labels_tell_the_truth(base: &Scenario, results: &Results) {
    for run in &results.runs {
        for (key, value) in &run.settings {
            for (key, told) in says(base, key, value) {
                let found = in_effect(run, &key);
                assert!(same(found, &told), "{}: {key} is {found}", run.label);
            }
        }
        for other in &results.runs {
            let loads = ["load", "seed", "warmup"];
            let loads = parts(run, &loads) == parts(other, &loads);
            assert_eq!(
                run.load == other.load,
                loads,
                "{} {}",
                run.label,
                other.label
            );
            let choices = ["drive", "sched", "oracle", "place"];
            let choices = parts(run, &choices) == parts(other, &choices);
            assert_eq!(
                run.choice == other.choice,
                choices,
                "{} {}",
                run.label,
                other.label
            );
        }
    }
}

#[test]
fn every_setting_of_a_label_is_in_effect() {
    let base = base();
    let (ran_of_two, refused) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 70,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let grids = subsequence(AXES.to_vec(), 1..=3).prop_shuffle();
    let outcome = runner.run(&grids, |axes| {
        match ran(&base, &axes) {
            None => refused.set(refused.get() + 1),
            Some(results) => {
                ran_of_two.set(ran_of_two.get() + usize::from(axes.len() > 1));
                labels_tell_the_truth(&base, &results);
            }
        }
        Ok::<(), TestCaseError>(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // Neither side of the rule is tested by nothing.
    assert!(ran_of_two.get() > 20, "{ran_of_two:?} {refused:?}");
    assert!(refused.get() > 20, "{ran_of_two:?} {refused:?}");
}
