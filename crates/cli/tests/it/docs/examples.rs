//! What documents show of a command's output is what it says now.
//!
//! A `console` block shows commands and what they say. Each is run, in a folder where the files of
//! the repository are at hand, and its output held against what is shown, word by word: spaces,
//! line breaks and rules of tables do not count, and `...` stands for any words. Commands over
//! files of the reader's own are left out.

use std::os::unix::fs::symlink;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::docs::commands::{Line, commands, lines};
use crate::docs::pages::settle;
use crate::docs::{assert_none, files, markdown, read, root};

/// Folders of the repository that commands name files of.
const OURS: [&str; 2] = ["demo", "crates"];
/// How files of the reader's own end.
const OWN: [&str; 2] = [".csv", ".toml"];
/// What stands for any words.
const ANY: &str = "...";

/// The words of lines, without the rules of tables.
fn words<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let all = lines.flat_map(str::split_whitespace);
    all.filter(|word| !word.contains("──")).collect()
}

/// The first words that are shown and are not said there; `None` if all are.
fn difference(shown: &[&str], said: &[&str]) -> Option<String> {
    let mut rest = said;
    let pieces: Vec<&[&str]> = shown.split(|word| *word == ANY).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let found = match index {
            0 => rest.starts_with(piece).then_some(0),
            _ if index + 1 == pieces.len() => {
                rest.ends_with(piece).then(|| rest.len() - piece.len())
            }
            _ if piece.is_empty() => Some(0),
            _ => rest
                .windows(piece.len())
                .position(|window| window == *piece),
        };
        let Some(before) = found else {
            let from = rest.iter().position(|word| piece.first() == Some(word));
            let near = rest.iter().skip(from.unwrap_or(0)).take(piece.len() + 5);
            let near: Vec<&str> = near.copied().collect();
            return Some(format!(
                "shown: {}\nsaid:  {}",
                piece.join(" "),
                near.join(" ")
            ));
        };
        rest = &rest[before + piece.len()..];
    }
    (pieces.len() == 1 && !rest.is_empty()).then(|| format!("not shown: {}", rest.join(" ")))
}

/// A folder in which the files of the repository are found by their paths.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder can be made");
    for name in OURS {
        let root = root().canonicalize().expect("the repository is there");
        symlink(root.join(name), folder.path().join(name)).expect("links can be made");
    }
    folder
}

/// Whether a command is over a file of the reader's own.
fn is_readers_own(command: &[String], folder: &Path) -> bool {
    let ends = |word: &&String| OWN.iter().any(|end| word.ends_with(end));
    command
        .iter()
        .filter(ends)
        .any(|word| !folder.join(word).exists())
}

/// What differs between what a document shows and what its command says; `None` for a command that
/// cannot be run here, or of which nothing is shown.
fn compared(line: &Line, folder: &Path) -> Option<Option<String>> {
    let commands = commands(&line.text);
    let [command] = commands.as_slice() else {
        return None;
    };
    if line.output.is_empty() || is_readers_own(command, folder) {
        return None;
    }
    let output = Command::cargo_bin("nearslot")
        .expect("the command is built")
        .args(&command[1..])
        .current_dir(folder)
        .output()
        .expect("the command starts");
    let [told, said] =
        [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
    let shown = words(line.output.iter().map(String::as_str));
    let differs =
        |first: &str, second: &str| difference(&shown, &words([first, second].into_iter()));
    // Where both go to one terminal, notes stand before results or behind them.
    Some(differs(&told, &said).and_then(|wrong| differs(&said, &told).map(|_| wrong)))
}

#[test]
fn what_documents_show_is_what_commands_say() {
    settle();
    let (mut wrong, mut run) = (Vec::new(), 0);
    for document in files("docs/src", ".md") {
        for block in markdown::parts(&read(&document)).0 {
            let folder = folder();
            for line in lines(&block).iter().filter(|_| block.language == "console") {
                let Some(told) = compared(line, folder.path()) else {
                    continue;
                };
                run += 1;
                let place = format!("{document}:{}: {}", line.number, line.text);
                wrong.extend(told.map(|told| format!("{place}\n{told}\n")));
            }
        }
    }
    assert!(run > 12, "only {run} commands were run");
    assert_none(&wrong);
}

#[test]
fn a_difference_is_found() {
    let differs = |shown: &str, said: &str| {
        let shown: Vec<&str> = shown.split(' ').collect();
        let said: Vec<&str> = said.split(' ').collect();
        difference(&shown, &said).is_some()
    };
    for shown in [
        "a b c d",
        "a ... d",
        "a b ...",
        "... c d",
        "a ... c ... d",
        "...",
    ] {
        assert!(!differs(shown, "a b c d"), "{shown}");
    }
    for shown in [
        "a b c",
        "b c d",
        "a ... c",
        "... d c",
        "a ... x ... d",
        "x ...",
    ] {
        assert!(differs(shown, "a b c d"), "{shown}");
    }
}
