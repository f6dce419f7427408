//! `nearslot hitrate`: what it prints, and what it refuses.

use serde_json::{Value, json};

use crate::common::{Desk, given, nearslot, told, word};

#[test]
fn caches_and_sizes_have_a_row_each() {
    let desk = Desk::new();
    let trace = desk.trace(500);
    let ask = [
        "hitrate",
        word(&trace),
        "--cache",
        "lru,optimal",
        "--size",
        "10%,100%",
    ];
    let text = given(&nearslot(&ask));
    for row in ["lru ", "optimal "] {
        assert_eq!(
            text.lines()
                .filter(|line| line.trim_start().starts_with(row) && !line.contains("misses"))
                .count(),
            2,
            "{text}"
        );
    }
    let output = nearslot(&[&ask[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(found["unit"], json!({"page": 4096}));
    let rows = found["rows"].as_array().expect("rows");
    // With room for all, each line is missed once.
    for whole in [&rows[1], &rows[3]] {
        assert_eq!(whole["misses"], found["footprint"]);
    }
    assert!(rows[2]["misses"].as_u64() <= rows[0]["misses"].as_u64());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    for (words, code, why) in [
        (["--cache", "lur"], 2, "did you mean `lru`?"),
        (["--size", "10"], 2, "a number with its unit"),
        (
            ["--size", "-5%"],
            2,
            "size = -5% (allowed: a number with its unit",
        ),
        (["--unit", "1000"], 2, "a multiple of 512"),
        (["--size", "0.0001%"], 3, "at least one line"),
        (["--size", "1%,2%,1%"], 2, "given twice"),
        (["--cache", "lru,arc,lru"], 2, "given twice"),
        (["--sample", "5"], 2, "a share of the lines"),
        (["--sample", "100%"], 2, "below 100 %"),
        (["--seed", "7"], 2, "--sample"),
        (["--format", "yaml"], 2, "table, json, csv, parquet"),
        (["-o", "page.html"], 2, "--html writes a page"),
        (["-o", "table.bogus"], 2, "a name that ends in .txt, .json"),
        (["--cache", "two_q:foo=3"], 2, "unknown knob of two_q `foo`"),
        (
            ["--size", "1kB"],
            3,
            "at least one line, which is 4096 bytes",
        ),
        (["--size", "10mb"], 2, "KiB, MiB, GiB and TiB"),
        (
            ["--sample", "1%"],
            3,
            "as only a sample of them is looked at",
        ),
    ] {
        let output = nearslot(&[&["hitrate", word(&trace)][..], &words].concat());
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        assert!(told(&output).contains(why), "{}", told(&output));
    }
}

#[test]
fn a_size_in_bytes_is_none_of_requests() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    let ask = ["hitrate", word(&trace), "--unit", "request", "--size"];
    let output = nearslot(&[&ask[..], &["10lines,1MiB"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let said = told(&output);
    assert!(
        said.contains("1MiB") && said.contains("whatever its length"),
        "{said}"
    );
}

#[test]
fn records_that_were_left_out_are_told() {
    let desk = Desk::new();
    let rows = "time_us,lba,blocks,op\n0,0,8,R\n1,8,8,R\n2,16,8,?\n3,24,0,R\n4,0,8,R\n";
    let trace = desk.file("bad.csv", rows);
    let ask = ["hitrate", word(&trace), "--size", "1lines"];
    let output = nearslot(&[&ask[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let warnings = found["warnings"].as_array().expect("warnings");
    let kinds: Vec<_> = warnings.iter().map(|warning| &warning["kind"]).collect();
    assert_eq!(kinds, ["bad-records", "zero-length"], "{found}");
    assert_eq!(found["requests"], 3);
}

/// Whoever names no sizes is not told that one is too small.
#[test]
fn sizes_that_nobody_named_are_large_enough() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    let text = given(&nearslot(&["hitrate", word(&trace), "--cache", "lru"]));
    assert!(text.contains(" 10% "), "{text}");
    assert!(!text.contains(" 0.1% "), "{text}");
    assert!(text.contains("lru misses "), "{text}");
    // Of few lines none of them is.
    let trace = desk.file("few.csv", "time_us,lba,blocks,op\n0,0,8,R\n1,8,8,R\n");
    let output = nearslot(&["hitrate", word(&trace), "--cache", "lru"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(3), "{told}");
    let expected = "size = unset (allowed: set, to at least one line, which is 4096 bytes; the trace asks for 2 different ones; the sizes that are taken";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn curves_are_a_page() {
    let desk = Desk::new();
    let trace = desk.trace(3_000);
    let page = desk.path("curve.html");
    let ask = ["hitrate", word(&trace), "--html", word(&page)];
    let output = nearslot(&ask);
    assert!(output.status.success(), "{}", told(&output));
    let text = std::fs::read_to_string(&page).expect("it was written");
    for piece in [
        "Miss ratios",
        "s3_fifo",
        "no policy could miss less",
        "0.5%",
    ] {
        assert!(text.contains(piece), "{piece}");
    }
    let again = nearslot(&ask);
    assert_eq!(again.status.code(), Some(2), "{}", told(&again));
    assert!(told(&again).contains("curve.html"), "{}", told(&again));
}

#[test]
fn miss_ratios_are_written_for_programs() {
    let desk = Desk::new();
    let trace = desk.trace(500);
    let ask = |more: &[&str]| {
        let own = [
            "hitrate",
            word(&trace),
            "--cache",
            "lru,arc",
            "--size",
            "10%",
        ];
        nearslot(&[&own[..], more].concat())
    };
    let csv = given(&ask(&["--format", "csv", "--per-request"]));
    let heads = csv.lines().next().expect("heads");
    assert!(
        heads.starts_with("cache,size,lines,share,misses,miss_ratio,"),
        "{heads}"
    );
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let (file, table) = (desk.path("misses.csv"), desk.path("misses.parquet"));
    for path in [&file, &table] {
        let output = ask(&["--per-request", "-o", word(path)]);
        assert!(output.status.success(), "{}", told(&output));
        assert!(output.stdout.is_empty());
        let again = ask(&["-o", word(path)]);
        assert_eq!(again.status.code(), Some(2), "{}", told(&again));
        assert!(told(&again).contains("--force"), "{}", told(&again));
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), csv);
    let bytes = std::fs::read(&table).expect("it was written");
    assert_eq!(&bytes[..4], b"PAR1");
    // Over what is read, not even where files may be replaced.
    let over = ask(&["-o", word(&trace), "--force"]);
    assert_eq!(over.status.code(), Some(2), "{}", told(&over));
    let text = given(&ask(&["--format", "text", "--per-request"]));
    assert!(text.contains("requests missed"), "{text}");
    let sample = ask(&["--per-request", "--sample", "50%"]);
    assert_eq!(sample.status.code(), Some(2), "{}", told(&sample));
    assert!(told(&sample).contains("per_request"), "{}", told(&sample));
}
