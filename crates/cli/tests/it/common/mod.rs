//! What tests of the command share: running it, and small traces.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;

/// Runs `nearslot` with these words.
pub(crate) fn nearslot<S: AsRef<std::ffi::OsStr>>(words: &[S]) -> Output {
    Command::cargo_bin("nearslot")
        .expect("the command is built")
        .args(words)
        .output()
        .expect("the command starts")
}

/// A folder for files of a test.
pub(crate) struct Desk(TempDir);

impl Desk {
    /// An empty one.
    pub(crate) fn new() -> Desk {
        Desk(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of all files in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.0.path()).expect("the folder is there");
        let names = all.map(|entry| entry.expect("a file").file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    /// A CSV trace of `count` requests of 4 KiB, far apart, every third a write.
    pub(crate) fn trace(&self, count: u64) -> PathBuf {
        let mut text = String::from("time_us,dev,lba,blocks,op\n");
        for number in 0..count {
            let lba = number.wrapping_mul(7_919_317) % 17_000_000;
            let op = if number % 3 == 0 { "W" } else { "R" };
            text += &format!("{},0,{},8,{op}\n", number * 9_000, lba / 8 * 8);
        }
        self.file("trace.csv", text)
    }
}

/// What it said on standard error.
pub(crate) fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What it gave on standard output.
pub(crate) fn given(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A path as a word.
pub(crate) fn word(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}
