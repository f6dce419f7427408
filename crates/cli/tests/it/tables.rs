//! Tables as people have them who export a trace from a script or a database: what a header may
//! say, how a table is described by its names, and what is told of what cannot be read.

use std::path::Path;
use std::process::Output;

use crate::common::{Desk, given, nearslot, told, word};
use nearslot_trace::{Record, TraceReader, open};

/// Inspects a table with more options; what it gave, then what it told.
fn inspect(trace: &Path, more: &[&str]) -> (Output, String) {
    let output = nearslot(&[&["inspect", word(trace)], more].concat());
    let said = given(&output) + &told(&output);
    (output, said)
}

fn assert_said(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

fn read(path: &Path) -> (Vec<Record>, TraceReader) {
    let options = nearslot_trace::OpenOptions::default();
    let mut reader = open(&[path.to_owned()], &options).expect("a trace");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).expect("a trace") {
        all.extend_from_slice(&batch);
    }
    (all, reader)
}

const ROWS: &str = "0,0,4096,512,R,100\n900,0,8192,512,W,200\n1800,0,0,4096,R,50\n";

#[test]
fn columns_are_described_by_the_names_of_the_header() {
    let desk = Desk::new();
    let trace = desk.file(
        "lat.csv",
        format!("begun,dev,off,nbytes,rw,took_us\n{ROWS}"),
    );
    let by = |columns: &str| inspect(&trace, &["--columns", columns]);
    let (numbered, expected) = by("ts=1:us,dev=2,offset=3:bytes,len=4:bytes,op=5,response=6:us");
    assert!(numbered.status.success(), "{expected}");
    let (named, said) =
        by("ts=begun:us,dev=dev,offset=off:bytes,len=nbytes:bytes,op=rw,response=took_us:us");
    assert!(named.status.success(), "{said}");
    assert_eq!(said, expected);
    let (wrong, said) = by("ts=begun:us,offset=where,len=nbytes");
    assert_eq!(wrong.status.code(), Some(3), "{said}");
    let parts = [
        "`offset=where`: the header has no column `where`",
        "it has: begun, dev, off, nbytes, rw, took_us",
    ];
    assert_said(&said, &parts);
    let bare = desk.file("bare.csv", ROWS);
    let (wrong, said) = inspect(&bare, &["--columns", "ts=begun:us,offset=off,len=nbytes"]);
    assert_eq!(wrong.status.code(), Some(3), "{said}");
    assert_said(
        &said,
        &["the first line is no header, found `0,0,4096,512,R,100`"],
    );
}

#[test]
fn a_key_that_is_called_otherwise_is_told() {
    let desk = Desk::new();
    let trace = desk.file("lat.csv", format!("a,b,c,d,e,f\n{ROWS}"));
    let (output, said) = inspect(
        &trace,
        &["--columns", "ts=1:us,offset=3,len=4,latency=6:us"],
    );
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_said(&said, &["there is no `latency`, `response` means the same"]);
}

#[test]
fn columns_that_a_description_leaves_out_are_named() {
    let desk = Desk::new();
    let trace = desk.file(
        "lat.csv",
        format!("time_us,dev,off,bytes,rw,latency_us\n{ROWS}"),
    );
    for (columns, add) in [
        ("ts=1:us,op=5,offset=3,len=4,dev=2", "response=6:us"),
        (
            "ts=time_us:us,op=rw,offset=off,len=bytes,dev=dev",
            "response=latency_us:us",
        ),
    ] {
        let note = format!("column 6 (latency_us) is not read: add {add} to --columns");
        let (output, said) = inspect(&trace, &["--columns", columns]);
        assert!(output.status.success(), "{said}");
        assert_said(&said, &[&note]);
        // What the note says to add is what was missing.
        let (output, said) = inspect(&trace, &["--columns", &format!("{columns},{add}")]);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("is not read"), "{said}");
    }
}

#[test]
fn the_names_that_a_header_may_use_are_listed() {
    let listed = given(&nearslot(&["show", "csv"]));
    assert_said(
        &listed,
        &[
            "start_sector (sectors)",
            "response, response_time, latency (only with a unit)",
            "microseconds",
            "kib",
            "offset=3:blocks:4096",
        ],
    );
    assert!(!listed.contains("nothing to set"), "{listed}");
}

/// What the error proposes describes the table.
#[test]
fn a_header_that_is_not_understood_is_told_what_it_lacks() {
    let desk = Desk::new();
    let trace = desk.file(
        "lat.csv",
        format!("time_us,dev,off,bytes,rw,latency_us\n{ROWS}"),
    );
    let output = nearslot(&["run", word(&trace)]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let columns =
        "ts=time_us:us,dev=dev,len=bytes:bytes,op=rw,response=latency_us:us,offset=off:bytes";
    let parts = [
        "line 1 may be the header of a table (csv), but names no column for `offset` (offset, byte_offset, lba,",
        "`off` means nothing here",
        &format!("if `off` is its offset, describe it with --columns \"{columns}\""),
        "or name it with --trace-format, one of: parquet, blktrace,",
    ];
    assert_said(&said, &parts);
    let (output, said) = inspect(&trace, &["--columns", columns]);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("not read"), "{said}");
}

#[test]
fn dates_are_times() {
    let desk = Desk::new();
    let rows = "2026-11-20 10:15:32.123456,R,0,4096\n2026-11-20T10:15:32.123457001Z,W,8192,4096\n\
                2026-11-20T11:15:33.123456+01:00,R,4096,4096\n";
    let trace = desk.file("db.csv", format!("time,op,offset,len\n{rows}"));
    let (records, reader) = read(&trace);
    let times: Vec<i64> = records.iter().map(|record| record.ts).collect();
    assert_eq!(times, [0, 1_001, 1_000_000_000]);
    let epoch = reader.header().epoch_unix_ns;
    assert_eq!(epoch, Some(1_795_169_732_123_456_000));
    let (output, said) = inspect(&trace, &[]);
    assert!(output.status.success(), "{said}");
    assert_said(
        &said,
        &["1 rows are dates that do not say their offset from UTC"],
    );
    for option in [
        &["--time-unit", "us"][..],
        &["--columns", "ts=time:us,op=op,offset=offset,len=len"],
    ] {
        let (output, said) = inspect(&trace, option);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_said(&said, &["has no effect on", "db.csv: its times are dates"]);
    }
    let bad = "2026-11-20 10:15:60,R,0,4096\n1795169733,R,0,4096\n1969-07-20 20:17:40Z,R,0,4096\n2500-01-01 00:00:00Z,R,0,4096\n";
    let trace = desk.file("bad.csv", format!("time,op,offset,len\n{rows}{bad}"));
    let (output, said) = inspect(&trace, &["--format", "json"]);
    assert!(output.status.success(), "{said}");
    let parts = [
        "column 1 (time) is `2026-11-20 10:15:60`, allowed is a date with its time",
        "column 1 (time) is `1795169733`, allowed is a date",
        "column 1 (time) is `1969-07-20 20:17:40Z`",
        "column 1 (time) is `2500-01-01 00:00:00Z`",
        "4 of 7 records",
    ];
    assert_said(&said, &parts);
}

/// Times whose unit is not said are read by the first; where others do not fit it, that is told.
#[test]
fn times_of_two_clocks_are_told() {
    let desk = Desk::new();
    let table = |name: &str, times: [&str; 3]| {
        let rows = times.map(|time| format!("{time},R,0,4096\n")).concat();
        desk.file(name, format!("time,op,offset,len\n{rows}"))
    };
    let coarse = table("coarse.csv", ["1795169732", "1795169733", "1795169734000"]);
    let (_, said) = inspect(&coarse, &[]);
    assert_said(
        &said,
        &[
            "the first time, 1795169732, has no unit and was taken as seconds by its size",
            "column 1 (time) is `1795169734000`, allowed is a number of seconds",
        ],
    );
    let fine = table("fine.csv", ["1795169732000", "1795169733000", "1795169734"]);
    let (_, said) = inspect(&fine, &[]);
    assert_said(
        &said,
        &[
            "was taken as milliseconds by its size",
            "steps of the clock, such as: time steps back by 1793374",
        ],
    );
}

/// blktrace has process 0 for requests of nobody; none is made up for them.
#[test]
fn requests_without_a_client_have_none_in_a_blktrace() {
    let desk = Desk::new();
    let table = "time_us,op,offset,len,client\n0,R,0,4096,db\n10,W,8192,4096,\n20,R,4096,4096,db\n";
    let trace = desk.file("clients.csv", table);
    let out = desk.path("t.blktrace.0");
    let words = [
        "convert",
        word(&trace),
        "--to",
        "blktrace",
        "-o",
        word(&out),
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    let clients = |path: &Path| -> Vec<String> {
        let (records, reader) = read(path);
        let names = &reader.header().clients;
        let name = |record: &Record| names[record.client as usize].clone();
        records.iter().map(name).collect()
    };
    assert_eq!(clients(&trace), ["db", "", "db"]);
    assert_eq!(clients(&out), ["db", "", "db"]);
}

#[test]
fn a_time_in_place_of_a_format_is_told_the_option_for_it() {
    let desk = Desk::new();
    let trace = desk.trace(10);
    let out = desk.path("y");
    let convert = |to: &str| {
        told(&nearslot(&[
            "convert",
            word(&trace),
            "--to",
            to,
            "-o",
            word(&out),
        ]))
    };
    let said = convert("60s");
    assert_said(
        &said,
        &["unknown format to write `60s`", "that is --until 60s"],
    );
    assert!(!convert("parket").contains("--until"));
}
