//! Finds out which source the program is compiled from, so that every result can name it.
//!
//! `NEARSLOT_BUILD` is the commit, as git spells it. `-changed` follows if what is compiled differs
//! from the commit. It is `unknown` where git knows nothing of the source: in an archive, or in a
//! folder within another repository. Only what the compiler reads counts as changed, so text and
//! tests may differ from the commit.
//!
//! It stands in the topmost crate, as a new commit compiles this one again and none below it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled, as git's patterns; a star matches slashes too.
const COMPILED: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates/*/Cargo.toml",
    "crates/*/build.rs",
    "crates/*/src/*",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for path in watched(&root) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rustc-env=NEARSLOT_BUILD={}", describe(&root));
}

/// The source in this folder: its commit, whether it was changed, or that nothing is known of it.
pub(crate) fn describe(root: &Path) -> String {
    let Some(commit) = commit(root) else {
        return "unknown".to_owned();
    };
    let status = ["status", "--porcelain", "--untracked-files=all", "--"];
    match git(root, &[&status[..], &COMPILED[..]].concat()) {
        Some(changes) if changes.is_empty() => commit,
        Some(_) => format!("{commit}-changed"),
        None => "unknown".to_owned(),
    }
}

/// The commit, if the folder is the root of its repository.
fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    let same = fs::canonicalize(top).ok()? == fs::canonicalize(root).ok()?;
    same.then(|| git(root, &["rev-parse", "--verify", "HEAD"]))?
}

/// What says that the source or its commit is another one now. What is not there is left out: Cargo
/// would start over at every build.
pub(crate) fn watched(root: &Path) -> Vec<PathBuf> {
    let mut paths = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten();
    for folder in crates.flatten() {
        paths.extend(["Cargo.toml", "build.rs", "src"].map(|name| folder.path().join(name)));
    }
    if commit(root).is_some() {
        // Its journal grows with every commit and switch. Where git keeps none, the branch itself
        // has to be watched.
        let journal = git_path(root, "logs/HEAD").filter(|path| path.exists());
        let branch = git(root, &["rev-parse", "--symbolic-full-name", "HEAD"]);
        let kept = match journal {
            Some(journal) => vec![Some(journal)],
            None => vec![
                branch.and_then(|branch| git_path(root, &branch)),
                git_path(root, "packed-refs"),
            ],
        };
        paths.extend(kept.into_iter().flatten());
        paths.extend(git_path(root, "HEAD"));
    }
    paths.retain(|path| path.exists());
    paths.sort();
    paths
}

/// Where git keeps one of its own files; a work tree of several shares some of them.
fn git_path(root: &Path, name: &str) -> Option<PathBuf> {
    let path = git(root, &["rev-parse", "--git-path", name])?;
    Some(root.join(path))
}

/// What git says, if it does.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        // Set where a hook of another repository compiles this one.
        command.env_remove(variable);
    }
    let said = command
        .arg("--no-optional-locks")
        .args(words)
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim_end().to_owned())
}
