//! What the documentation says is so: pages of parts equal their cards, links lead somewhere,
//! commands parse, and those that can be run say what the documents show.
//!
//! After a change of a part's card or header, `NEARSLOT_BLESS=1 cargo test --workspace --test it
//! docs::` writes the pages of `docs/src/parts` anew, and the part of `SUMMARY.md` that lists them.

mod commands;
mod examples;
mod keys;
mod kinds;
mod links;
mod markdown;
mod pages;
mod samples;

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a folder of the repository that end so, sorted, as paths from the root.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root().join(&folder)) else {
            continue;
        };
        for entry in entries {
            let entry = entry.expect("the repository can be read");
            let name = entry.file_name().into_string().expect("paths are plain");
            let path = format!("{folder}/{name}");
            if entry.path().is_dir() {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Fails with all complaints at once.
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
