//! Golden scenarios: small runs whose whole results are kept as text, so that no result moves by
//! accident.
//!
//! Every part of every table runs in some scenario; one that is new, or that no scenario names,
//! fails here. Each scenario goes the way of the commands: from the text of a scenario file,
//! through the grid, to the JSON of `compare` or `capacity`. The JSON is kept whole, but for what
//! may differ from one machine or version to the next. Beside it stand digests of the rows of every
//! run, a row per request and a row per command of a drive, since two changes may cancel each other
//! out in the statistics.
//!
//! A result that is meant to move is recorded again by `INSTA_UPDATE=always cargo test --workspace
//! --locked --test it golden::`; the change that moves it says so, and by how much.

mod inputs;
mod results;
mod scenes;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use inputs::Inputs;
use nearslot_core::config::KINDS;
use scenes::Group;

/// Where the recorded results are.
const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/snapshots");

/// All scenarios of a group with their results, as text.
fn told(group: &Group, inputs: &Inputs) -> String {
    let scenes = group.scenes.iter();
    let told = scenes.map(|scene| format!("{scene}{}", results::of(scene, inputs)));
    told.collect::<Vec<String>>().join("\n")
}

/// The same of all groups, a few at a time.
fn all_told(groups: &[Group], inputs: &Inputs) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let texts: Vec<OnceLock<String>> = groups.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while let Some(index) =
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < groups.len())
        {
            texts[index].set(told(&groups[index], inputs)).unwrap();
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let texts = texts.into_iter().map(OnceLock::into_inner);
    texts.map(Option::unwrap).collect()
}

#[test]
fn no_result_moves_by_accident() {
    let inputs = Inputs::new();
    let groups = scenes::groups();
    let texts = all_told(&groups, &inputs);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(SNAPSHOTS);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut moved = Vec::new();
    for (group, text) in groups.iter().zip(texts) {
        let same = || settings.bind(|| insta::assert_snapshot!(group.name.as_str(), text));
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(same)).is_err() {
            moved.push(group.name.as_str());
        }
    }
    assert!(moved.is_empty(), "results moved: {}", moved.join(", "));
}

#[test]
fn every_part_of_every_kind_has_scenarios() {
    let groups = scenes::groups().into_iter().map(|group| group.name);
    let groups: BTreeSet<String> = groups.collect();
    for kind in KINDS {
        for part in kind.kind.parts() {
            let name = format!("{}-{}", kind.key(), part.name);
            // It knows the future, which no stack does.
            let in_no_stack = name == "cache-optimal";
            assert_ne!(groups.contains(&name), in_no_stack, "{name}");
        }
    }
}

#[test]
fn nothing_is_recorded_that_does_not_run() {
    let names = scenes::groups().into_iter().map(|group| group.name);
    let names: BTreeSet<String> = names.map(|name| format!("{name}.snap")).collect();
    let files = std::fs::read_dir(Path::new(SNAPSHOTS)).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    // What a failure leaves, to be looked at, is not kept.
    let files: BTreeSet<String> = files.filter(|name| !name.ends_with(".new")).collect();
    let left: Vec<_> = files.difference(&names).collect();
    assert!(left.is_empty(), "no scenario makes {left:?}");
}
