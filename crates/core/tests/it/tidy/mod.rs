//! The rules of the house, checked on every Rust file of the workspace: floors, circles, headers,
//! lengths, orphans, words.
//!
//! A rule is a function from a file to complaints, tested on strings that break it; the last tests
//! apply the rules to the files. Paths are relative to the root of the repository.

mod circles;
mod floors;
mod form;
mod orphans;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use source::Source;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 4] = ["target", "node_modules", ".git", ".venv"];

/// All files of the repository with this ending, sorted by path.
fn files(ending: &str) -> Vec<Source> {
    let (root, mut found) = (root(), Vec::new());
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the repository can be read") {
            let path = entry.expect("the repository can be read").path();
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .unwrap_or_default();
            if path.is_dir() && !FOREIGN.contains(&name) {
                folders.push(path);
            } else if path.is_file() && path.to_str().is_some_and(|p| p.ends_with(ending)) {
                let relative = path
                    .strip_prefix(&root)
                    .expect("it was found below the root");
                found.push(Source::new(
                    relative.to_str().expect("paths are plain"),
                    &fs::read_to_string(&path).expect("sources are text"),
                ));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// All Rust files, parsed once.
static RUST: LazyLock<Vec<Source>> = LazyLock::new(|| files(".rs"));

/// Applies a rule to all Rust files and fails with all complaints at once.
fn all_rust(rule: impl Fn(&Source) -> Vec<String>) {
    assert!(RUST.len() > 20, "the repository was not found");
    none(&RUST.iter().flat_map(rule).collect::<Vec<_>>());
}

/// There are no complaints.
fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn modules_stay_on_their_floors() {
    all_rust(floors::rule);
    all_rust(|source| match circles::is_test_file(&RUST, source) {
        true => Vec::new(),
        false => floors::lab_rule(source),
    });
    all_rust(floors::trace_rule);
}

#[test]
fn no_modules_know_each_other_in_a_circle() {
    none(&circles::rule(&RUST));
}

#[test]
fn files_open_with_a_header() {
    all_rust(form::header);
}

#[test]
fn files_and_functions_are_short() {
    all_rust(form::length);
}

#[test]
fn nothing_is_left_to_do() {
    all_rust(form::words);
}

#[test]
fn every_file_is_part_of_something() {
    all_rust(|source| orphans::rule(source, &RUST));
}

#[test]
fn every_drive_of_the_catalog_is_in_its_table() {
    let table = files("core/src/drive/mod.rs");
    assert_eq!(table.len(), 1);
    let drives = files(".toml");
    let complaints: Vec<String> = drives
        .iter()
        .filter_map(|drive| orphans::catalog_rule(&drive.path, &table[0].text))
        .collect();
    none(&complaints);
}

#[test]
fn the_core_depends_on_pure_crates_only() {
    let manifest = fs::read_to_string(root().join("crates/core/Cargo.toml"));
    let complaints = floors::manifest_rule(&manifest.expect("core has a manifest"));
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
