//! Which program makes the results. Every result names it, so that nothing made by other code is
//! taken for its own.
//!
//! The version alone does not tell: it stays the same from one release to the next. So the program
//! says at its start which commit it was compiled from. The library does not find out by itself, as
//! it would be compiled again at every commit.

use std::sync::OnceLock;

/// Version of nearslot.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The build of a program that did not say which it is, and of one that git knows nothing of.
pub const UNKNOWN: &str = "unknown";

static BUILD: OnceLock<&str> = OnceLock::new();

/// Says which build this program is: a commit, `-changed` behind it if the source differed from it,
/// or [`UNKNOWN`].
///
/// # Panics
/// It was said before, and differently: a program is one build.
pub fn is_built_from(build: &'static str) {
    let said = BUILD.get_or_init(|| build);
    assert_eq!(*said, build, "a program is one build");
}

/// The build of this program.
pub fn build() -> &'static str {
    BUILD.get().copied().unwrap_or(UNKNOWN)
}

/// Whether a build is exactly what was committed, so that its name says all of its code.
pub fn is_committed(build: &str) -> bool {
    !build.is_empty() && build.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A program in words.
pub fn named(version: &str, build: &str) -> String {
    format!("nearslot {version}, build {build}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_commit_says_all_of_the_code() {
        let commit = "2857b2c1c4802ed735da462ebc4418499b7d868f";
        assert!(is_committed(commit));
        assert!(!is_committed(&format!("{commit}-changed")));
        assert!(!is_committed(UNKNOWN));
        assert!(!is_committed(""));
    }
}
