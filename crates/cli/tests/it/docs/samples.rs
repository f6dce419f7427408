//! Files that the guide shows can be read, and its table of columns is that of the results.

use std::path::Path;

use assert_cmd::Command;
use nearslot_core::drive;
use nearslot_lab::scenario::Scenario;

use crate::docs::pages::settle;
use crate::docs::{assert_none, files, markdown, read};

/// What distributions have: their columns are shown once, with `*`.
const STATISTICS: [&str; 12] = [
    "mean",
    "p50",
    "p95",
    "p99",
    "p999",
    "max",
    "ci95_low",
    "ci95_high",
    "p99_ci95_low",
    "p99_ci95_high",
    "p999_ci95_low",
    "p999_ci95_high",
];

#[test]
fn shown_files_are_read() {
    settle();
    let (mut drives, mut scenarios) = (0, 0);
    for document in files("docs/src", ".md") {
        let blocks = markdown::parts(&read(&document)).0;
        for block in blocks.iter().filter(|block| block.language == "toml") {
            let text = block.lines.join("\n");
            let place = format!("{document}:{}", block.line);
            if text.starts_with("kind = ") {
                let wrong = drive::read("shown", &text, &[]).err();
                assert!(wrong.is_none(), "{place}: {wrong:?}");
                drives += 1;
            } else {
                let wrong = Scenario::from_toml(&text, Path::new("")).err();
                assert!(wrong.is_none(), "{place}: {wrong:?}");
                scenarios += 1;
            }
        }
    }
    assert!(drives > 0, "none were found");
    assert!(scenarios > 0, "none were found");
}

/// A column as the guide names it: `response_ms_*` stands for all statistics.
fn shown(column: &str) -> String {
    let statistic = STATISTICS
        .iter()
        .find_map(|statistic| column.strip_suffix(&format!("_ms_{statistic}")));
    statistic.map_or(column.to_owned(), |of| format!("{of}_ms_*"))
}

#[test]
fn every_column_is_explained() {
    let words = "run --workload iometer:requests=400 --format csv".split(' ');
    let output = Command::cargo_bin("nearslot")
        .expect("the command is built")
        .args(words)
        .output()
        .expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("CSV is text");
    let columns: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    assert!(columns.len() > 100, "{columns:?}");
    let guide = read("docs/src/results.md");
    let named = columns
        .iter()
        .map(|column| shown(column))
        .chain(STATISTICS.map(str::to_owned));
    let missing = named.filter(|name| !guide.contains(&format!("`{name}`")));
    assert_none(&missing.collect::<Vec<_>>());
}
