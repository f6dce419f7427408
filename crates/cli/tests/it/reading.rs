//! What a user can get wrong in saying how a trace is read, and what the traces themselves leave
//! open.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// Asserts an exit code and what standard error must contain.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(code), "{told}");
    for word in words {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
}

fn convert(trace: &Path, to: &Path, format: &str) -> Output {
    nearslot(&["convert", word(trace), "-o", word(to), "--to", format])
}

/// A file of a desk, of these columns and rows.
fn table(desk: &Desk, name: &str, columns: &str, rows: impl Iterator<Item = String>) -> PathBuf {
    desk.file(name, format!("{columns}\n{}", rows.collect::<String>()))
}

/// What it gave, however its lines were wrapped.
fn in_one_line(output: &Output) -> String {
    let words: Vec<String> = given(output)
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    words.join(" ")
}

fn json(words: &[&str]) -> Value {
    let output = nearslot(&[words, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_str(&given(&output)).expect("JSON")
}

/// The text of a warning of an inspection, if it has this one.
fn warning(found: &Value, kind: &str) -> Option<String> {
    let warnings = found["warnings"].as_array().expect("warnings");
    let warning = warnings.iter().find(|warning| warning["kind"] == kind);
    warning.map(|warning| warning["text"].as_str().expect("a text").to_owned())
}

/// A trace of the shared test data.
fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/data/traces");
    word(&folder.join(name)).to_owned()
}

#[test]
fn negative_numbers_get_a_range_and_no_tip_about_dashes() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let options = [
        ("--depth", "-1", "from 1"),
        ("--speed", "-2", "1e-9 to 1e9"),
        ("--seed", "-1", "from 0"),
        ("--limit", "-5", "from 1"),
        ("--reorder-ms", "-1", "from 0"),
        ("--block-size", "-512", "from 1"),
        ("--warmup", "-5%", "0% to 90%"),
    ];
    for (option, value, range) in options {
        let output = nearslot(&["run", word(&trace), "--replay", "closed", option, value]);
        refused(&output, 2, &[value, range, option.trim_start_matches('-')]);
        assert!(!told(&output).contains("tip:"), "{}", told(&output));
    }
    let output = nearslot(&["compare", word(&trace), "--jobs", "-1"]);
    refused(&output, 2, &["-1", "--jobs", "from 1"]);
    for option in ["--limit", "--block-size", "--jobs"] {
        let output = nearslot(&["compare", word(&trace), option, "0"]);
        refused(&output, 2, &[option, "from 1"]);
    }
}

#[test]
fn a_bad_row_is_told_by_column_value_and_what_is_allowed() {
    let desk = Desk::new();
    let rows = |row: &str| format!("time_us,dev,lba,blocks,op\n0,0,0,8,R\n{row}\n90,0,8,8,W\n");
    let cases = [
        (
            "5,0,12x4,8,R",
            "column 3 (lba) is `12x4`, allowed is a whole number from 0",
        ),
        (
            "5,0,-8,8,R",
            "column 3 (lba) is `-8`, allowed is a whole number from 0",
        ),
        (
            "5,0,0,,R",
            "column 4 (blocks) is ``, allowed is a whole number",
        ),
        (
            "soon,0,0,8,R",
            "column 1 (time_us) is `soon`, allowed is a number",
        ),
        (
            "5,0,0,8,Q",
            "column 5 (op) is `Q`, allowed is R, W, 0, 1, read",
        ),
        ("5,,0,8,R", "column 2 (dev) is ``, allowed is a name"),
        ("5,0,0", "the row ends before column 4 (blocks)"),
        ("5,0,0,8,", "column 5 (op)"),
    ];
    for (row, expected) in cases {
        let path = desk.file("t.csv", rows(row));
        let strict = nearslot(&["inspect", word(&path), "--strict"]);
        refused(&strict, 3, &["t.csv: line 3: ", expected]);
        let found = json(&["inspect", word(&path)]);
        let text = warning(&found, "bad-records").expect("it is counted");
        assert!(text.contains("1 of 3 records (33.33 %)"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let path = desk.file("t.csv", "1500;W;40z96;512\n1600;W;4096;512\n");
    let words = ["inspect", word(&path), "--strict", "--columns"];
    let words = [&words[..], &["ts=1:us,op=2:W/R,offset=3,len=4"]].concat();
    refused(
        &nearslot(&words),
        3,
        &["line 1", "column 3 (offset) is `40z96`"],
    );
}

#[test]
fn a_bad_first_row_is_no_header() {
    let desk = Desk::new();
    let path = desk.file("t.csv", "W,40z96,512\nW,4096,512\nR,0,512\nR,512,512\n");
    let found = json(&["inspect", word(&path), "--columns", "op=1,offset=2,len=3"]);
    let text = warning(&found, "bad-records").expect("it is counted");
    assert!(text.contains("1 of 4 records (25.00 %)"), "{text}");
}

#[test]
fn the_share_of_bad_rows_is_of_all_rows_that_were_read() {
    let desk = Desk::new();
    let mut text = String::from("time_us,dev,lba,blocks,op\n");
    for number in 0..90 {
        let dev = if number % 9 == 0 { "sda" } else { "sdb" };
        text += &format!("{},{dev},{},8,R\n", number * 1_000, number * 8);
    }
    text += &"never,sdb,0,8,R\n".repeat(10);
    let path = desk.file("t.csv", text);
    for more in [&[][..], &["--device", "sda"], &["--limit", "5"]] {
        let found = json(&[&["inspect", word(&path)], more].concat());
        let text = warning(&found, "bad-records").expect("they are counted");
        assert!(
            text.contains("10 of 100 records (10.00 %)"),
            "{more:?}: {text}"
        );
    }
}

#[test]
fn a_file_that_is_named_twice_is_named() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    std::fs::hard_link(&trace, desk.path("hard.csv")).expect("a link");
    for name in ["trace.csv", "./trace.csv", "hard.csv"] {
        let other = desk.path(name);
        for command in ["inspect", "run"] {
            let output = nearslot(&[command, word(&trace), word(&other)]);
            refused(
                &output,
                2,
                &[word(&other), "is the same file as", word(&trace)],
            );
        }
    }
    let schedule = desk.path("s.blktrace.0");
    let words = [
        "convert",
        word(&trace),
        "--to",
        "blktrace",
        "-o",
        word(&schedule),
    ];
    assert!(nearslot(&words).status.success());
    let output = nearslot(&["inspect", word(&schedule), word(&schedule)]);
    refused(&output, 2, &["is the same file as"]);
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("nearslot"))
        .args(["inspect", "-", word(&trace)])
        .stdin(std::fs::File::open(&trace).expect("it is there"))
        .output();
    let output = output.expect("the command starts");
    refused(
        &output,
        2,
        &[word(&trace), "is the same file as standard input"],
    );
    let text = "drive = 'null'\n[trace]\nfiles = ['trace.csv', './trace.csv']";
    let scenario = desk.file("s.toml", text);
    let output = nearslot(&["run", word(&scenario)]);
    refused(&output, 3, &[word(&scenario), "is the same file as"]);
    // Two files of one set are one set, but for two names of one file.
    let other = desk.path("./s.blktrace.1");
    std::fs::hard_link(&schedule, &other).expect("a link");
    let output = nearslot(&["inspect", word(&schedule)]);
    refused(&output, 2, &["s.blktrace.1 is the same file as"]);
    std::fs::remove_file(&other).expect("the link");
    std::fs::copy(&schedule, &other).expect("a copy");
    let found = json(&["inspect", word(&schedule), word(&other)]);
    assert_eq!(found["files"].as_array().map(Vec::len), Some(2));
}

#[test]
fn biosnoop_measures_what_dependent_replays_guess() {
    let desk = Desk::new();
    let mut text = String::from("TIME(s)     COMM  PID  DISK  T SECTOR  BYTES   LAT(ms)\n");
    // In the order of completion: the second request of a pair ends first.
    for number in 0..500_u64 {
        let at = number as f64 * 0.02;
        text += &format!(
            "{:.6} b 2 sda R {} 4096 1.00\n",
            at + 0.002,
            number * 7_000 + 8
        );
        text += &format!(
            "{:.6} a 1 sda R {} 4096 12.00\n",
            at + 0.012,
            number * 7_000
        );
    }
    let path = desk.file("b.txt", text);
    let found = json(&["inspect", word(&path)]);
    assert_eq!(warning(&found, "not-monotone"), None);
    assert_eq!(warning(&found, "clock-step"), None);
    assert_eq!(found["service"]["known"], 1_000);
    let results = json(&["run", word(&path), "--replay", "dependent"]);
    let warnings = results["warnings"].to_string();
    assert!(!warnings.contains("guess"), "{warnings}");
    // A table whose times step back is still out of order.
    let path = desk.file("t.csv", "time_us,dev,lba,blocks,op\n9,0,0,8,R\n5,0,8,8,R\n");
    let found = json(&["inspect", word(&path)]);
    assert!(warning(&found, "not-monotone").is_some());
}

#[test]
fn object_ids_are_no_addresses() {
    let trace = sample("oracleGeneral.bin");
    let output = nearslot(&["inspect", &trace]);
    assert!(output.status.success(), "{}", told(&output));
    let text = given(&output);
    assert!(text.contains("--block-size"), "{text}");
    assert!(!text.contains("touched"), "{text}");
    let found = json(&["inspect", &trace]);
    assert_eq!(found["footprint"]["bytes"], Value::Null);
    let desk = Desk::new();
    refused(
        &nearslot(&["run", &trace]),
        3,
        &["object ids", "--block-size"],
    );
    let out = desk.path("o.parquet");
    let words = ["convert", &trace, "--to", "parquet", "-o", word(&out)];
    refused(&nearslot(&words), 3, &["object ids", "--block-size"]);
    // Each page would have as many of them as it has bytes.
    let hitrate = ["hitrate", &trace, "--cache", "lru", "--size", "2lines"];
    let parts = ["object ids", "a cache of pages needs", "--block-size"];
    refused(&nearslot(&hitrate), 3, &parts);
    assert!(!out.exists());
    let found = json(&["inspect", &trace, "--block-size", "512"]);
    assert!(found["footprint"]["bytes"].as_u64() > Some(0));
    let words = [
        "run",
        &trace,
        "--block-size",
        "512",
        "--fit",
        "wrap",
        "--warmup",
        "0",
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
fn an_option_without_effect_is_an_error_that_says_what_it_needs() {
    let cases: [(&str, &[&str], &str); 9] = [
        ("csv-header.csv", &["--block-size", "4096"], "obj-id-col"),
        ("msr.csv", &["--block-size", "4096"], "oracleGeneral or spc"),
        ("blktrace-v7.bin", &["--time-unit", "us"], "mqsim"),
        ("msr.csv", &["--time-unit", "us"], "this is msr"),
        ("msr.csv", &["--fio-wait", "rel-us"], "the format fio"),
        ("csv-own.csv", &["--spread", "even"], "coarser than 1 ms"),
        (
            "biosnoop.txt",
            &["--spread", "poisson"],
            "coarser than 1 ms",
        ),
        (
            "blktrace-v7.bin",
            &["--trace-format", "blktrace", "--columns", "offset=1,len=2"],
            "the format csv",
        ),
        (
            "csv-own.csv",
            &[
                "--columns",
                "ts=1:ns,op=2,offset=3,len=4",
                "--time-unit",
                "us",
            ],
            "names the unit of times already",
        ),
    ];
    for (name, options, needs) in cases {
        let trace = sample(name);
        let output = nearslot(&[&["inspect", &trace], options].concat());
        refused(&output, 2, &["has no effect on", name, needs]);
    }
    for (name, options) in [
        ("tencent.csv", &["--spread", "poisson"][..]),
        ("csv-own.csv", &["--spread", "none"]),
        ("spc.txt", &["--block-size", "4096"]),
    ] {
        let trace = sample(name);
        let output = nearslot(&[&["inspect", &trace], options].concat());
        assert!(output.status.success(), "{name}: {}", told(&output));
    }
    let trace = sample("csv-own.csv");
    let output = nearslot(&["inspect", &trace, "--sort", "--reorder-ms", "5"]);
    refused(&output, 2, &["--sort", "--reorder-ms"]);
    let load = ["run", "--workload", "iometer:requests=100"];
    for option in [
        &["--limit", "5"][..],
        &["--sort"],
        &["--columns", "ts=1"],
        &["--strict"],
    ] {
        let output = nearslot(&[&load[..], option].concat());
        refused(&output, 2, &[option[0], "says how a trace is read"]);
    }
}

#[test]
fn disorder_is_as_documented() {
    let desk = Desk::new();
    // As the documents say: the first 131,072 requests may be in any order, behind them a second.
    let rows = |count: u64, back_us: u64| {
        let mut text = String::from("time_us,dev,lba,blocks,op\n");
        for number in 0..count {
            text += &format!("{},0,0,8,R\n", 10_000_000 + number * 100);
        }
        text += &format!("{},0,8,8,R\n", 10_000_000 + count * 100 - back_us);
        // What follows is far enough behind for all of it to be given out.
        text + &format!("{},0,8,8,R\n", 100_000_000_u64)
    };
    let inspect = |text: String, more: &[&str]| {
        let path = desk.file("t.csv", text);
        nearslot(&[&["inspect", word(&path)], more].concat())
    };
    assert!(inspect(rows(1_000, 9_000_000), &[]).status.success());
    assert!(inspect(rows(200_000, 900_000), &[]).status.success());
    let late = inspect(rows(200_000, 1_200_000), &[]);
    refused(
        &late,
        3,
        &["1.2", "reorder window of 1.000 s", "--reorder-ms", "--sort"],
    );
    for more in [&["--reorder-ms", "1300"][..], &["--sort"]] {
        let output = inspect(rows(200_000, 1_200_000), more);
        assert!(output.status.success(), "{more:?}: {}", told(&output));
    }
}

/// A format that has no place for latencies says how many are lost; one that has says nothing.
#[test]
fn a_conversion_says_what_it_loses() {
    let desk = Desk::new();
    let text = "time_us,dev,lba,blocks,op,response_ns,service_ns\n0,0,0,8,R,5000,\n10,0,8,8,R,,4000\n20,0,16,8,R,,\n";
    let trace = desk.file("told.csv", text);
    for (to, lost) in [("parquet", None), ("blktrace", Some(1)), ("fio", Some(2))] {
        let out = desk.path(to);
        let output = convert(&trace, &out, to);
        assert!(output.status.success(), "{}", told(&output));
        let said = told(&output);
        let words = lost.map(|lost| format!("{to} has no place for how long {lost} of them took"));
        match words {
            Some(words) => assert!(said.contains(&words), "{said}"),
            None => assert!(!said.contains("no place"), "{said}"),
        }
    }
}

/// A column that nothing reads is named, with the names that would be read where only the unit is
/// missing; by `run`, too.
#[test]
fn columns_that_are_not_read_are_named() {
    let desk = Desk::new();
    let rows: String = (0..40)
        .map(|i| format!("{},R,{},4096,5,x\n", i * 9_000, i * 8_192))
        .collect();
    let trace = desk.file(
        "t.csv",
        format!("time_us,op,offset,len,latency,colour\n{rows}"),
    );
    for words in [&["inspect"][..], &["run", "--format", "json"]] {
        let output = nearslot(&[words, &[word(&trace)]].concat());
        assert!(output.status.success(), "{}", told(&output));
        let said = given(&output) + &told(&output);
        for part in [
            "column 5 (latency) was not read",
            "latency_us",
            "not read: colour",
        ] {
            assert!(said.contains(part), "{words:?}: {part} is not in {said}");
        }
    }
}

#[test]
fn the_first_line_that_is_left_out_is_shown_by_every_command() {
    let desk = Desk::new();
    let rows: String = (0..40)
        .map(|i| format!("{},R,{},4096\n", i * 9_000, i * 8_192))
        .collect();
    let trace = desk.file("t.csv", format!("time_us,op,offset,len\n5,Q,0,512\n{rows}"));
    let output = nearslot(&["run", word(&trace), "--format", "json"]);
    let said = given(&output);
    let told = "left out, such as: line 2: column 2 (op) is `Q`, allowed is R, W,";
    assert!(said.contains(told), "{said}");
}

#[test]
fn a_table_without_rows_says_so() {
    let desk = Desk::new();
    let trace = desk.file("t.csv", "time_us,op,offset,len\n");
    let output = nearslot(&["inspect", word(&trace)]);
    assert_eq!(output.status.code(), Some(3));
    let said = told(&output);
    let expected = "the table t.csv names its columns and has no rows";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_latency_log_of_fio_is_recognised_and_not_believed() {
    let desk = Desk::new();
    let rows: String = (0..40)
        .map(|i| format!("{}, 8731245, 0, 4096, {}, 0\n", i * 12, i * 4_096))
        .collect();
    let trace = desk.file("fio_lat.1.log", rows);
    for command in ["inspect", "calibrate"] {
        let output = nearslot(&[command, word(&trace)]);
        assert_eq!(output.status.code(), Some(3));
        let said = told(&output);
        assert!(said.contains("--trace-format fio-lat"), "{said}");
        assert!(said.contains("latency logs of fio"), "{said}");
    }
    let named = nearslot(&["inspect", word(&trace), "--trace-format", "fio-lat"]);
    assert!(named.status.success(), "{}", told(&named));
}

/// Devices that get other names are told, and no two of them become one.
#[test]
fn a_conversion_says_how_devices_are_called() {
    let desk = Desk::new();
    let text =
        "time_us,dev,lba,blocks,op\n0,240:1,0,8,R\n10,sda,8,8,W\n20,sdb,16,8,R\n30,8:16,16,8,R\n";
    let trace = desk.file("devices.csv", text);
    let out = desk.path("t.blktrace.0");
    let output = nearslot(&[
        "convert",
        word(&trace),
        "--to",
        "blktrace",
        "-o",
        word(&out),
    ]);
    let said = told(&output);
    let names = "blktrace calls devices by numbers: sda is now 240:2, sdb is now 240:3\n";
    assert!(said.contains(names), "{said}");
    let found = given(&nearslot(&["inspect", word(&out)]));
    for device in [
        "240:1: 1 request,",
        "240:2: 1 request,",
        "240:3: 1 request,",
        "8:16: 1 request,",
    ] {
        assert!(found.contains(device), "{device} is not in {found}");
    }
    let out = desk.path("t.fio");
    let output = convert(&trace, &out, "fio");
    assert!(!told(&output).contains("is now"), "{}", told(&output));
}

#[test]
fn options_that_another_version_reads_are_refused() {
    let desk = Desk::new();
    let two = desk.file(
        "two.log",
        "fio version 2 iolog\na add\na open\na read 0 4096\n",
    );
    let three = desk.file(
        "three.log",
        "fio version 3 iolog\n1 a add\n1 a open\n5 a read 0 4096\n",
    );
    let parquet = desk.path("own.parquet");
    let made = nearslot(&[
        "convert",
        word(&three),
        "--to",
        "parquet",
        "-o",
        word(&parquet),
    ]);
    assert!(made.status.success(), "{}", told(&made));
    let waits = desk.file(
        "waits.log",
        "fio version 2 iolog\na add\na open\na wait 5 0\na read 0 4096\n",
    );
    for (file, option, value) in [
        (&two, "--time-unit", "us"),
        (&two, "--fio-wait", "abs-ms"),
        (&three, "--fio-wait", "abs-ms"),
        (&parquet, "--time-unit", "us"),
    ] {
        let output = nearslot(&["inspect", word(file), option, value]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(option), "{}", told(&output));
    }
    for (file, option, value) in [
        (&waits, "--fio-wait", "abs-ms"),
        (&three, "--time-unit", "ns"),
    ] {
        let output = nearslot(&["inspect", word(file), option, value]);
        assert!(output.status.success(), "{}", told(&output));
    }
}

/// What a setting cannot do with this trace is said where it would look as if it had been done.
#[test]
fn settings_that_reach_beyond_the_trace_are_told() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let run = |more: &[&str]| {
        given(&nearslot(
            &[&["run", word(&trace), "--format", "json"], more].concat(),
        ))
    };
    let said = run(&["--replay", "closed", "--depth", "5000"]);
    assert!(
        said.contains("depth = 5000 is more than the 50 requests that there are"),
        "{said}"
    );
    let said = run(&["--replay", "closed", "--depth", "50"]);
    assert!(!said.contains("is more than"), "{said}");
    let limited = run(&["--replay", "closed", "--depth", "16", "--limit", "10"]);
    assert!(
        limited.contains("depth = 16 is more than the 10 requests"),
        "{limited}"
    );

    let far = desk.file(
        "far.csv",
        "time_us,dev,lba,blocks,op\n0,0,0,8,R\n9000,0,99000000,8,R\n18000,0,8,8,R\n",
    );
    for (fit, moved) in [("wrap", "1 request was"), ("scale", "2 requests were")] {
        let small = [
            "run",
            word(&far),
            "--drive",
            "seagate-cheetah-9lp",
            "--format",
            "json",
            "--warmup",
            "0",
        ];
        let said = given(&nearslot(&[&small[..], &["--fit", fit]].concat()));
        assert!(
            said.contains(&format!("{moved} put elsewhere")),
            "{fit}: {said}"
        );
    }
}

#[test]
fn a_trace_without_times_is_replayed_closed_alone() {
    let desk = Desk::new();
    let rows = (0..400).map(|row| format!("{},{},4096,R\n", row * 100, row * 8192));
    let trace = table(&desk, "untimed.csv", "begun,offset,length,op", rows);
    let kept = desk.path("untimed.parquet");
    let output = convert(&trace, &kept, "parquet");
    assert!(output.status.success(), "{}", told(&output));
    for trace in [word(&trace), word(&kept)] {
        let words = ["replay = open", "closed", "has no times", "--columns"];
        refused(&nearslot(&["run", trace]), 3, &words);
        refused(&nearslot(&["compare", trace]), 3, &words);
        let asked = ["capacity", trace, "--slo", "mean < 100 ms"];
        refused(&nearslot(&asked), 3, &words);
        let dependent = nearslot(&["run", trace, "--replay", "dependent"]);
        refused(&dependent, 3, &["replay = dependent", "has no times"]);
        let closed = nearslot(&["run", trace, "--replay", "closed"]);
        assert!(closed.status.success(), "{}", told(&closed));
        let inspected = given(&nearslot(&["inspect", trace]));
        assert!(inspected.contains("time stamps   none"), "{inspected}");
        assert!(!inspected.contains("outstanding"), "{inspected}");
    }
    let at_once = desk.path("untimed.fio");
    let output = convert(&trace, &at_once, "fio");
    refused(&output, 0, &["has no times", "all requests come at once"]);
}

#[test]
fn a_conversion_says_what_it_left_out() {
    let desk = Desk::new();
    let row = |row: u32| match row % 10 {
        7 => "broken\n".to_owned(),
        _ => format!("{},{},4096,R\n", row * 100, row * 8192),
    };
    let rows = (0..1_000).map(row);
    let trace = table(&desk, "broken.csv", "time_us,offset,length,op", rows);
    let kept = desk.path("kept.parquet");
    let output = convert(&trace, &kept, "parquet");
    refused(
        &output,
        0,
        &["900 requests", "100 of 1000 records (10.00 %)"],
    );
}

#[test]
fn a_run_doubts_units_as_inspect_does() {
    let desk = Desk::new();
    let rows = (0..400).map(|row| format!("{},{},4096,R\n", row * 20_000, row * 4096));
    let trace = table(&desk, "bytes.csv", "time_us,lba,blocks,op", rows);
    let doubt = "are they bytes that were read as sectors?";
    let inspected = given(&nearslot(&["inspect", word(&trace)]));
    assert!(inspected.contains(doubt), "{inspected}");
    let ran = in_one_line(&nearslot(&["run", word(&trace)]));
    assert!(ran.contains(doubt), "{ran}");
    let rows = (0..400).map(|row| format!("{},{},8,R\n", row * 20_000, row % 37 * 4096));
    let sound = table(&desk, "sectors.csv", "time_us,lba,blocks,op", rows);
    let ran = in_one_line(&nearslot(&["run", word(&sound)]));
    assert!(!ran.contains("are they bytes"), "{ran}");
}

/// Three columns with names look like a fio iolog of version 1 but for their first line.
#[test]
fn a_table_with_names_is_no_fio_log() {
    let desk = Desk::new();
    let rows: String = (0..300)
        .map(|row| format!("{},{},4096\n", row % 2, row))
        .collect();
    let table = desk.file("table.csv", format!("id,when,size\n{rows}"));
    let output = nearslot(&["inspect", word(&table)]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    for piece in ["id,when,size", "--columns"] {
        assert!(told(&output).contains(piece), "{}", told(&output));
    }
    assert!(
        nearslot(&["inspect", word(&desk.file("log", rows))])
            .status
            .success()
    );
}

#[test]
fn a_window_that_no_request_needs_is_refused() {
    let desk = Desk::new();
    let rows = |late: u64| {
        let mut text = String::from("time_us,lba,blocks,op\n");
        for number in 0..300_000_u64 {
            let back = if number == late { 3_000 } else { 0 };
            text += &format!(
                "{},{},8,R\n",
                number * 10 + 5_000 - back,
                number % 1_000 * 8
            );
        }
        text
    };
    let expected = "--reorder-ms has no effect on";
    // In order; or out of it among the first, which are sorted anyhow.
    for late in [u64::MAX, 500] {
        let trace = desk.file("ordered.csv", rows(late));
        let output = nearslot(&["inspect", word(&trace), "--reorder-ms", "5"]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(expected), "{}", told(&output));
    }
    let trace = desk.file("late.csv", rows(250_000));
    // Where only a part is read, nobody knows what the rest would have needed.
    for part in [&[][..], &["--to", "1s"], &["--limit", "1000"]] {
        let words = ["inspect", word(&trace), "--reorder-ms", "5"];
        let output = nearslot(&[&words[..], part].concat());
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
}

#[test]
fn a_process_or_stream_is_the_client_if_columns_say_so() {
    let desk = Desk::new();
    let text = "time_us,pid,stream,lba,blocks,op\n0,5,1,0,8,R\n100,6,2,800,8,W\n200,5,1,1600,8,R\n";
    let trace = desk.file("pids.csv", text);
    let columns = |client: &str| {
        let spec = format!("ts=1:us,offset=lba:sectors,len=blocks:sectors,op=op,{client}");
        nearslot(&["inspect", word(&trace), "--columns", &spec])
    };
    for (client, expected) in [("pid=pid", "5 (2), 6 (1)"), ("stream=3", "1 (2), 2 (1)")] {
        let found = given(&columns(client));
        assert!(found.contains(expected), "{client}: {found}");
    }
    let both = told(&columns("pid=2,client=3"));
    assert!(
        both.contains("`client=3`: there is another `client` already"),
        "{both}"
    );
}

/// Before anything is read: the trace is none.
#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_refuses_rows_before_it_reads() {
    let desk = Desk::new();
    let trace = desk.file("one.csv", "no trace\n");
    for option in ["--requests", "--commands"] {
        let output = nearslot(&["run", word(&trace), option, "rows.parquet"]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        let said = told(&output);
        assert!(
            said.contains("this build of nearslot leaves Parquet out"),
            "{said}"
        );
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_which_has_it() {
    let desk = Desk::new();
    let trace = desk.file("one.csv", "time_us,lba,blocks,op\n0,0,8,R\n");
    let words = [
        "convert",
        word(&trace),
        "--to",
        "parquet",
        "-o",
        "one.parquet",
    ];
    let refused = told(&nearslot(&words));
    assert!(
        refused.contains("leaves Parquet out: `make build` makes one"),
        "{refused}"
    );
}

#[test]
fn wrong_words_about_the_trace_are_usage() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let format = ["inspect", word(&trace), "--trace-format", "bogus"];
    refused(&nearslot(&format), 2, &["--trace-format", "`bogus`"]);
    for columns in ["ts=1:us", "ts=1:us,offset=2,len=3:furlongs"] {
        let output = nearslot(&["inspect", word(&trace), "--columns", columns]);
        refused(&output, 2, &["--columns: `"]);
    }
    let unit = nearslot(&["inspect", word(&trace), "--time-unit", "ms"]);
    refused(&unit, 2, &["--time-unit has no effect", "(time_us)"]);
    let scenario = desk.file(
        "s.toml",
        format!("[trace]\nfiles = ['{}']\nformat = 'bogus'", word(&trace)),
    );
    refused(
        &nearslot(&["run", word(&scenario)]),
        3,
        &["trace.format", "`bogus`"],
    );
    refused(
        &nearslot(&["run", "-", "-"]),
        3,
        &["-: standard input is read once"],
    );
}
