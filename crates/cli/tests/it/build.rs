//! The build that results name: the commit, and whether the source differs from it.

use std::fs;
use std::path::Path;
use std::process::Command;

use nearslot_cli::BUILD;
use nearslot_lab::program::is_committed;
use tempfile::TempDir;

use crate::common::{given, nearslot};

#[path = "../../build.rs"]
#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "only Cargo calls its `main`, which speaks to it by printing"
)]
mod script;

/// A repository with a crate in it, in a folder of its own.
struct Repository(TempDir);

impl Repository {
    fn new() -> Repository {
        let repository = Repository(tempfile::tempdir().unwrap());
        repository.write("Cargo.toml", "[workspace]");
        repository.write("crates/a/src/lib.rs", "//! A crate.");
        repository.write("docs/a.md", "A text.");
        repository.git(&["init", "--quiet"]);
        repository.commit();
        repository
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "A commit"]);
    }

    fn git(&self, words: &[&str]) -> String {
        let said = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(words)
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(said.status.success(), "{words:?}: {said:?}");
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// When each of the watched files was changed last: if one of these moves, Cargo asks again.
    fn stamps(&self) -> Vec<(std::path::PathBuf, std::time::SystemTime, u64)> {
        let stamp = |path: std::path::PathBuf| {
            let found = fs::metadata(&path).unwrap();
            (path, found.modified().unwrap(), found.len())
        };
        script::watched(self.root())
            .into_iter()
            .map(stamp)
            .collect()
    }
}

#[test]
fn this_program_names_the_source_that_it_was_compiled_from() {
    // The commit may be another one by now, but where git knows the source, the program knows its
    // commit.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known = script::describe(&root) != "unknown";
    let commit = BUILD.strip_suffix("-changed").unwrap_or(BUILD);
    assert_eq!(is_committed(commit), known, "{BUILD}");
    let version = given(&nearslot(&["--version"]));
    let expected = format!("nearslot {}, build {BUILD}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, expected);
    assert!(given(&nearslot(&["doctor"])).contains(BUILD));
}

#[test]
fn a_source_as_committed_is_its_commit_and_any_other_is_said_to_be_changed() {
    let here = Repository::new();
    let commit = here.head();
    assert_eq!(script::describe(here.root()), commit);
    here.write("docs/a.md", "Another text.");
    here.write("crates/a/tests/a.rs", "A test.");
    assert_eq!(
        script::describe(here.root()),
        commit,
        "nothing of it is compiled"
    );
    here.write("crates/a/src/lib.rs", "//! Another crate.");
    assert_eq!(script::describe(here.root()), format!("{commit}-changed"));
    here.git(&["add", "--all"]);
    assert_eq!(script::describe(here.root()), format!("{commit}-changed"));
    here.commit();
    assert_ne!(here.head(), commit);
    assert_eq!(script::describe(here.root()), here.head());
    here.write(
        "crates/a/src/new.rs",
        "//! A file that git does not know yet.",
    );
    let changed = format!("{}-changed", here.head());
    assert_eq!(script::describe(here.root()), changed);
}

#[test]
fn an_archive_is_of_an_unknown_build_even_within_another_repository() {
    let archive = tempfile::tempdir().unwrap();
    fs::create_dir_all(archive.path().join("crates/a/src")).unwrap();
    assert_eq!(script::describe(archive.path()), "unknown");
    assert_eq!(script::watched(archive.path()).len(), 1, "its source");
    let other = Repository::new();
    other.write("vendor/nearslot/Cargo.toml", "[workspace]");
    other.commit();
    let inside = other.root().join("vendor/nearslot");
    assert_eq!(script::describe(&inside), "unknown");
}

#[test]
fn a_new_commit_and_a_change_of_the_source_ask_again_and_nothing_else_does() {
    for journal in ["true", "false"] {
        let here = Repository::new();
        here.git(&["config", "core.logAllRefUpdates", journal]);
        if journal == "false" {
            fs::remove_dir_all(here.root().join(".git/logs")).unwrap();
        }
        let before = here.stamps();
        here.write("docs/a.md", "Another text.");
        here.git(&["add", "--all"]);
        assert_eq!(here.stamps(), before);
        // Some file systems keep no finer times.
        std::thread::sleep(std::time::Duration::from_millis(20));
        here.commit();
        assert_ne!(here.stamps(), before, "journal: {journal}");
        let before = here.stamps();
        std::thread::sleep(std::time::Duration::from_millis(20));
        here.git(&["switch", "--quiet", "--create", "other"]);
        assert_ne!(here.stamps(), before, "journal: {journal}");
    }
}
