//! Nothing of the user's is destroyed: what a command refuses to write, and that it then has
//! written nothing at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::common::{Desk, given, nearslot, told, word};

/// All files of a folder, with what is in them.
fn contents(desk: &Desk) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(desk.path("")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.is_file());
    files
        .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
        .collect()
}

/// Asserts that a command is refused with exit code 2 and these words, and changes no file.
fn refused(desk: &Desk, words: &[&str], expected: &[&str]) {
    let before = contents(desk);
    let output = nearslot(words);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    for word in expected {
        assert!(told.contains(word), "{words:?}: `{word}` is not in: {told}");
    }
    assert!(contents(desk) == before, "{words:?} changed a file");
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", told(output));
}

const OUTPUTS: [&str; 5] = [
    "--output",
    "--html",
    "--requests",
    "--commands",
    "--blktrace",
];

#[test]
fn an_output_that_was_forgotten_turns_no_trace_into_parquet() {
    let desk = Desk::new();
    let one = desk.trace(20);
    let other = desk.file("day2.csv", std::fs::read(&one).expect("the trace"));
    let words = ["convert", word(&one), word(&other), "--to", "parquet"];
    refused(&desk, &words, &["--output"]);
    let both = desk.path("both.parquet");
    done(&nearslot(&[&words[..], &["-o", word(&both)]].concat()));
    let read = given(&nearslot(&["inspect", word(&both)]));
    assert!(read.contains("requests      40 in"), "{read}");
}

#[test]
fn no_output_is_the_trace_that_is_read() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    for force in [&[][..], &["--force"]] {
        for option in OUTPUTS {
            let words = ["run", word(&trace), option, word(&trace)];
            refused(
                &desk,
                &[&words[..], force].concat(),
                &[option, "which is read"],
            );
        }
        let words = ["convert", word(&trace), "--to", "fio", "-o", word(&trace)];
        refused(&desk, &[&words[..], force].concat(), &["which is read"]);
    }
}

#[cfg(unix)]
#[test]
fn the_trace_is_recognised_by_any_path() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    std::os::unix::fs::symlink(&trace, desk.path("soft.csv")).expect("a link");
    std::fs::hard_link(&trace, desk.path("hard.csv")).expect("a link");
    std::fs::create_dir(desk.path("sub")).expect("a folder");
    for name in ["soft.csv", "hard.csv", "./trace.csv", "sub/../trace.csv"] {
        let path = desk.path(name);
        let words = ["run", word(&trace), "--html", word(&path), "--force"];
        refused(&desk, &words, &["--html", "which is read"]);
        let words = ["run", word(&path), "--html", word(&trace), "--force"];
        refused(&desk, &words, &["--html", "which is read"]);
    }
}

#[test]
fn no_output_is_a_scenario_or_a_drive() {
    let desk = Desk::new();
    desk.trace(20);
    let shown = given(&nearslot(&["show", "hp-c2247a", "--format", "json"]));
    let card: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let drive = desk.file("own.toml", card["text"].as_str().expect("its text"));
    let scenario = format!(
        "drive = '{}'\n[trace]\nfiles = ['trace.csv']\n",
        word(&drive)
    );
    let scenario = desk.file("s.toml", scenario);
    let trace = desk.path("trace.csv");
    for input in [&drive, &scenario, &trace] {
        let words = ["run", word(&scenario), "--output", word(input), "--force"];
        let words = [&words[..], &["--format", "table"]].concat();
        refused(&desk, &words, &["--output", "which is read"]);
    }
    let vary = format!("drive=hp-c2247a,{}", word(&drive));
    let words = ["compare", word(&trace), "--vary", &vary, "--force"];
    let words = [&words[..], &["--html", word(&drive)]].concat();
    refused(&desk, &words, &["--html", "which is read"]);
}

#[test]
fn no_output_is_any_file_of_a_blktrace() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let one = desk.path("d.blktrace.0");
    done(&nearslot(&[
        "convert",
        word(&trace),
        "--to",
        "blktrace",
        "-o",
        word(&one),
    ]));
    let other = desk.path("d.blktrace.1");
    std::fs::copy(&one, &other).expect("a copy");
    let words = ["run", word(&one), "--output", word(&other), "--force"];
    let words = [&words[..], &["--format", "table"]].concat();
    refused(&desk, &words, &["--output", "which is read"]);
}

#[test]
fn no_output_is_what_standard_input_comes_from() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let before = contents(&desk);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("nearslot"));
    let file = std::fs::File::open(&trace).expect("the trace");
    let output = command
        .args([
            "convert",
            "-",
            "--to",
            "parquet",
            "--force",
            "-o",
            word(&trace),
        ])
        .stdin(Stdio::from(file))
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(
        told(&output).contains("standard input"),
        "{}",
        told(&output)
    );
    assert!(contents(&desk) == before);
}

#[test]
fn standard_output_appends_to_no_trace() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let before = contents(&desk);
    for command in ["run", "inspect"] {
        let file = std::fs::File::options().append(true).open(&trace);
        let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("nearslot"))
            .args([command, word(&trace)])
            .stdout(Stdio::from(file.expect("the trace")))
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(contents(&desk) == before, "{command}");
    }
}

#[test]
fn no_output_is_another_output() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let (one, other) = (desk.path("x"), desk.path("./x"));
    for first in OUTPUTS {
        for second in OUTPUTS.iter().filter(|second| **second != first) {
            let words = ["run", word(&trace), first, word(&one), second, word(&other)];
            refused(
                &desk,
                &[&words[..], &["--force"]].concat(),
                &["writes the same file"],
            );
        }
    }
}

#[test]
fn a_file_that_exists_is_replaced_by_force_alone() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let old = desk.file("old", "years of work");
    for option in OUTPUTS {
        std::fs::write(&old, "years of work").expect("the file");
        let words = ["run", word(&trace), option, word(&old)];
        refused(&desk, &words, &[option, "the file exists", "--force"]);
        done(&nearslot(&[&words[..], &["--force"]].concat()));
        assert_ne!(std::fs::read(&old).expect("the file"), b"years of work");
    }
    let words = ["convert", word(&trace), "--to", "fio", "-o", word(&old)];
    refused(&desk, &words, &["--output", "the file exists", "--force"]);
    done(&nearslot(&[&words[..], &["--force"]].concat()));
}

#[test]
fn a_folder_is_no_output() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    std::fs::create_dir(desk.path("folder")).expect("a folder");
    for name in ["folder", "new/"] {
        let path = desk.path(name);
        let words = ["run", word(&trace), "--html", word(&path), "--force"];
        refused(&desk, &words, &["--html", "folder"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_standard_output_are_written() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let run = ["run", word(&trace)];
    let null = ["--html", "/dev/null", "--requests", "/dev/null"];
    done(&nearslot(&[&run[..], &null].concat()));
    for name in ["-", "/dev/stdout"] {
        let output = nearslot(&[&run[..], &["--format", "csv", "--output", name]].concat());
        done(&output);
        assert!(given(&output).starts_with("label,"), "{}", given(&output));
        let output = nearslot(&["convert", word(&trace), "--to", "fio", "-o", name]);
        done(&output);
        assert!(
            given(&output).starts_with("fio version 3"),
            "{}",
            given(&output)
        );
    }
    // The table goes there already.
    refused(
        &desk,
        &[&run[..], &["--html", "-"]].concat(),
        &["standard output"],
    );
    assert!(!Path::new("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_a_file_is_appended_to() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let log = desk.file("log", "begun\n");
    let file = std::fs::File::options().append(true).open(&log);
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("nearslot"))
        .args(["run", word(&trace), "--output", "/dev/stdout"])
        .stdout(Stdio::from(file.expect("the log")))
        .output()
        .expect("it starts");
    done(&output);
    let text = std::fs::read_to_string(&log).expect("the log");
    assert!(text.starts_with("begun\n"), "{text}");
    assert!(text.contains("fcfs"), "{text}");
}

#[test]
fn the_page_of_an_inspection_replaces_nothing_unasked() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    for force in [&[][..], &["--force"]] {
        let words = ["inspect", word(&trace), "--html", word(&trace)];
        refused(
            &desk,
            &[&words[..], force].concat(),
            &["--html", "which is read"],
        );
    }
    let shown = given(&nearslot(&["show", "hp-c2247a", "--format", "json"]));
    let card: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let drive = desk.file("own.toml", card["text"].as_str().expect("its text"));
    let words = [
        "inspect",
        word(&trace),
        "--drive",
        word(&drive),
        "--html",
        word(&drive),
        "--force",
    ];
    refused(&desk, &words, &["--html", "which is read"]);
    let page = desk.file("page.html", "mine");
    let words = ["inspect", word(&trace), "--html", word(&page)];
    refused(&desk, &words, &["the file exists", "--force"]);
    for command in ["run", "compare", "inspect", "calibrate"] {
        let words = [command, word(&trace), "--force"];
        refused(&desk, &words, &["--force", "no option names a file"]);
    }
    done(&nearslot(&[&words[..], &["--force"]].concat()));
    let written = std::fs::read_to_string(&page).expect("the page");
    assert!(
        written.contains("\"pictures\":{\"findings\""),
        "no pictures"
    );
}

/// The name of a summary's file says its form, unless `--format` does.
#[test]
fn a_summary_has_the_form_that_its_name_says() {
    let desk = Desk::new();
    let trace = desk.trace(30);
    let begin = |name: &str, more: &[&str]| {
        let out = desk.path(name);
        let words = ["run", word(&trace), "-o", word(&out)];
        let output = nearslot(&[&words[..], more].concat());
        assert!(output.status.success(), "{}", told(&output));
        let bytes = std::fs::read(out).unwrap();
        String::from_utf8_lossy(&bytes[..bytes.len().min(9)]).into_owned()
    };
    assert!(begin("a.json", &[]).starts_with('{'));
    assert!(
        begin("a.csv", &[]).starts_with("label"),
        "{}",
        begin("b.csv", &[])
    );
    assert!(begin("a.parquet", &[]).starts_with("PAR1"));
    assert_eq!(begin("a.txt", &[]), "verdict  ");
    assert_eq!(begin("b.json", &["--format", "table"]), "verdict  ");
    let page = desk.path("a.html");
    let output = nearslot(&["run", word(&trace), "-o", word(&page)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("--html writes a page"),
        "{}",
        told(&output)
    );
    assert!(!page.exists());
}
