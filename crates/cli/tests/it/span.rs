//! A part of a trace, by time: every command reads the same requests of it, and says which part it
//! was.

use std::path::Path;
use std::process::Output;

use crate::common::{Desk, given, nearslot, told, word};
use assert_cmd::Command;
use serde_json::{Value, json};

/// A minute with a request each 100 ms, then ten seconds with one each 10 ms, then a minute as the
/// first. The last is far away.
fn trace(desk: &Desk) -> std::path::PathBuf {
    let slow = |from: u64| (0..600).map(move |n| from + n * 100_000);
    let quick = (0..1_000).map(|n| 60_000_000 + n * 10_000);
    let mut text = String::from("time_us,dev,lba,blocks,op\n");
    for (number, time) in slow(0).chain(quick).chain(slow(70_000_000)).enumerate() {
        let lba = if number == 2_199 {
            17_000_000
        } else {
            number * 8
        };
        text += &format!("{time},0,{lba},8,R\n");
    }
    desk.file("trace.csv", text)
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", told(output));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn inspected(trace: &Path, options: &[&str]) -> Value {
    let words = [&["inspect", word(trace), "--format", "json"], options].concat();
    json_of(&nearslot(&words))
}

fn ran(trace: &Path, options: &[&str]) -> Value {
    let words = [&["run", word(trace), "--format", "json"], options].concat();
    json_of(&nearslot(&words))
}

#[test]
fn every_command_reads_the_same_part() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let span = ["--from", "59s", "--to", "1m1s"];
    let expected = json!({ "from_s": 59.0, "to_s": 61.0, "busiest": false });
    let found = inspected(&trace, &span);
    assert_eq!(
        (&found["requests"], &found["span"]),
        (&json!(110), &expected)
    );
    let run = ran(&trace, &span);
    assert_eq!(run["trace"]["hash"], found["hash"]);
    assert_eq!(run["trace"]["span"], expected);
    assert_eq!(run["runs"][0]["config"]["load"]["from"], "59s");
    let part = desk.path("part.parquet");
    let words = [
        "convert",
        word(&trace),
        "-o",
        word(&part),
        "--to",
        "parquet",
    ];
    let written = nearslot(&[&words, &["--from", "59s", "--until", "1m1s"][..]].concat());
    assert!(written.status.success(), "{}", told(&written));
    let part = inspected(&part, &[]);
    assert_eq!(
        (&part["hash"], &part["span"]),
        (&found["hash"], &Value::Null)
    );
    let table = nearslot(&["compare", word(&trace), "--from", "59s", "--to", "1m1s"]);
    assert!(
        given(&table).contains("from 59s to 1m1s of the trace"),
        "{}",
        given(&table)
    );
    let text = nearslot(&[&["inspect", word(&trace)], &span[..]].concat());
    assert!(
        given(&text).contains("from 59s to 1m1s of the trace"),
        "{}",
        given(&text)
    );
}

#[test]
fn addresses_are_fitted_to_what_is_left() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let refused = nearslot(&["run", word(&trace), "--drive", "hp-c2247a"]);
    assert!(told(&refused).contains("--fit"), "{}", told(&refused));
    let run = ran(&trace, &["--drive", "hp-c2247a", "--to", "60s"]);
    assert_eq!(run["trace"]["requests"], 600);
}

#[test]
fn the_busiest_window_is_found_and_told() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let found = inspected(&trace, &["--busiest", "10s"]);
    let expected = json!({ "from_s": 60.0, "to_s": 70.0, "busiest": true });
    assert_eq!(
        (&found["requests"], &found["span"]),
        (&json!(1_000), &expected)
    );
    let run = ran(&trace, &["--busiest", "10s", "--limit", "50"]);
    assert_eq!(
        (&run["trace"]["requests"], &run["trace"]["span"]),
        (&json!(50), &expected)
    );
    let text = std::fs::read(&trace).unwrap();
    let piped = Command::cargo_bin("nearslot").unwrap();
    let piped = { piped }
        .args(["inspect", "-", "--busiest", "10s", "--format", "json"])
        .write_stdin(text)
        .output()
        .unwrap();
    let piped = json_of(&piped);
    assert_eq!(
        (&piped["hash"], &piped["files"]),
        (&found["hash"], &json!(["standard input"]))
    );
}

#[test]
fn a_scenario_has_the_same_settings() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let scenario = |settings: &str| {
        let text = format!("[trace]\nfiles = ['trace.csv']\n{settings}\n");
        let path = desk.file("scenario.toml", text);
        nearslot(&["run", word(&path), "--format", "json"])
    };
    let found = inspected(&trace, &["--busiest", "10s"]);
    let run = json_of(&scenario("busiest = '10s'"));
    assert_eq!(run["trace"]["hash"], found["hash"]);
    let run = json_of(&scenario("from = '59s'\nto = '1m1s'"));
    assert_eq!(run["trace"]["requests"], 110);
    let refused = scenario("from = '59s'\nbusiest = '10s'");
    assert_eq!(refused.status.code(), Some(3));
    assert!(told(&refused).contains("from = 59s"), "{}", told(&refused));
    let refused = scenario("from = '59'");
    assert!(told(&refused).contains("1h30m"), "{}", told(&refused));
}

/// What is wrong with a span, the exit code, and what must be told.
const WRONG: [(&[&str], i32, &str); 9] = [
    (&["--from", "10"], 2, "from = 10"),
    (&["--to", "0s"], 2, "to = 0s"),
    (&["--from", "5s", "--to", "5s"], 2, "later than from"),
    (
        &["--from", "5s", "--busiest", "10s"],
        2,
        "nothing beside busiest",
    ),
    (&["--busiest", "10us"], 2, "at least 1ms"),
    (
        &["--from", "10m"],
        3,
        "last request, which comes at 2m9s900ms",
    ),
    (
        &["--to", "10m"],
        3,
        "last request, which comes at 2m9s900ms",
    ),
    (
        &["--from", "10ms", "--to", "90ms"],
        3,
        "the one before comes at 0s, the next at 100ms",
    ),
    (&["--busiest", "1h"], 3, "last request comes at 2m9s900ms"),
];

#[test]
fn spans_that_leave_nothing_are_refused() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let file = desk.path("part.parquet");
    let convert = [
        "convert",
        word(&trace),
        "-o",
        word(&file),
        "--to",
        "parquet",
    ];
    let commands: [&[&str]; 4] = [
        &["inspect", word(&trace)],
        &["run", word(&trace)],
        &["compare", word(&trace)],
        &convert,
    ];
    for (options, code, part) in WRONG {
        for command in commands {
            // Where `--to` names the format.
            let until = |word: &&'static str| if *word == "--to" { "--until" } else { word };
            let options: Vec<&str> = match command[0] {
                "convert" => options.iter().map(until).collect(),
                _ => options.to_vec(),
            };
            let output = nearslot(&[command, &options].concat());
            let told = told(&output);
            assert_eq!(output.status.code(), Some(code), "{options:?}: {told}");
            assert!(told.contains(part), "{options:?}: {told}");
        }
        assert!(!file.exists(), "{options:?} left a file");
    }
}

#[test]
fn spans_without_a_trace_and_spans_that_vary_are_refused() {
    let desk = Desk::new();
    let synthetic = nearslot(&["run", "--workload", "iometer", "--from", "5s"]);
    assert_eq!(synthetic.status.code(), Some(2));
    assert!(
        told(&synthetic).contains("--from says how a trace is read"),
        "{}",
        told(&synthetic)
    );
    let varied = nearslot(&["compare", word(&desk.trace(20)), "--vary", "busiest=1s,2s"]);
    assert!(
        told(&varied).contains("one for all runs"),
        "{}",
        told(&varied)
    );
}
