//! The fixtures in `data/traces`: at least one per format, recognised without a flag, read without
//! an oddity.
//!
//! They are made here, a few dozen requests each, and never come from others' data. After a change
//! of a writer or of what is in them, `NEARSLOT_WRITE_FIXTURES=1 cargo test --workspace --test it
//! fixtures::` makes the binary ones anew.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nearslot_trace::{
    Anomaly, FORMATS, Flags, Header, OpenOptions, Probe, Record, TraceOp, open, writer,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/traces")
}

/// A few requests of two devices.
fn requests() -> Vec<Record> {
    let ops = [
        TraceOp::Read,
        TraceOp::Write,
        TraceOp::Read,
        TraceOp::Discard,
    ];
    (0..48_u64)
        .map(|i| {
            let mut record = Record::new(
                i as i64 * 700_000,
                ops[i as usize % 4],
                i * 37 % 64 * 65_536,
                4096 << (i % 3),
                (i % 5 == 4).into(),
            );
            record.service_ns = 300_000 + i * 100;
            record.response_ns = 500_000 + i * 1_000;
            record.client = 1 + (i % 2) as u32;
            if i % 3 == 0 {
                record.flags = Flags::SYNC;
            }
            record
        })
        .collect()
}

fn written(format: &str) -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let header = Header {
        epoch_unix_ns: Some(1_700_000_000_000_000_000),
        ..Header::made("made", &["8:0", "259:1"], &["dbwriter", "backup"])
    };
    let mut writer =
        (writer(format).unwrap().make)(Box::new(file.reopen().unwrap()), "fixture").unwrap();
    writer.write(&requests(), &header).unwrap();
    writer.finish(&header).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    bytes
}

/// Version 7 in little-endian byte order as version 8 in big-endian.
fn as_version_8_big(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let field = |from: usize, width: usize| -> Vec<u8> {
            bytes[at + from..at + from + width]
                .iter()
                .rev()
                .copied()
                .collect()
        };
        let payload = usize::from(u16::from_le_bytes([bytes[at + 46], bytes[at + 47]]));
        let body = &bytes[at + 48..at + 48 + payload];
        out.extend([0x65, 0x61, 0x74, 8]);
        for (from, width) in [(4, 4), (8, 8), (16, 8), (24, 4), (32, 4)] {
            out.extend(field(from, width));
        }
        out.extend([0; 4]);
        for (from, width) in [(28, 4), (36, 4), (40, 4), (44, 2), (46, 2)] {
            out.extend(field(from, width));
        }
        out.extend([0; 12]);
        if payload == 8 {
            // A time stamp: two numbers in the host's byte order.
            out.extend(body[..4].iter().rev().chain(body[4..].iter().rev()));
        } else {
            out.extend(body);
        }
        at += 48 + payload;
    }
    out
}

fn scsi(record: &Record) -> u16 {
    match record.op {
        TraceOp::Read => 0x28,
        TraceOp::Write => 0x2a,
        _ => 0x42,
    }
}

fn vscsi(version: u16) -> Vec<u8> {
    let of = |record: &Record| {
        let (len, lbn) = (
            (record.len as u32).to_le_bytes(),
            (record.offset / 512).to_le_bytes(),
        );
        let (ts, rt) = (
            (record.ts as u64 / 1000).to_le_bytes(),
            (record.response_ns / 1000).to_le_bytes(),
        );
        let (cmd, ver) = (scsi(record).to_le_bytes(), (version << 8).to_le_bytes());
        let one = 1_u32.to_le_bytes();
        match version {
            1 => [&one[..], &len, &one, &cmd, &ver, &lbn, &ts].concat(),
            _ => [&cmd[..], &ver, &one, &len, &one, &lbn, &ts, &rt].concat(),
        }
    };
    requests().iter().flat_map(of).collect()
}

fn oracle_general() -> Vec<u8> {
    let of = |record: &Record| {
        let (time, next) = (
            ((record.ts / 10_000_000) as u32).to_le_bytes(),
            (-1_i64).to_le_bytes(),
        );
        [
            &time[..],
            &record.offset.to_le_bytes(),
            &(record.len as u32).to_le_bytes(),
            &next,
        ]
        .concat()
    };
    requests().iter().flat_map(of).collect()
}

fn binary() -> Vec<(&'static str, Vec<u8>)> {
    let v7 = written("blktrace");
    vec![
        ("blktrace-v8-big.bin", as_version_8_big(&v7)),
        ("blktrace-v7.bin", v7.clone()),
        (
            "blktrace-v7.bin.zst",
            zstd::stream::encode_all(&v7[..], 3).unwrap(),
        ),
        ("oracleGeneral.bin", oracle_general()),
        ("parquet.parquet", written("parquet")),
        ("vscsi-v1.bin", vscsi(1)),
        ("vscsi-v2.bin", vscsi(2)),
    ]
}

#[test]
fn binary_fixtures_are_what_is_made_here() {
    for (name, bytes) in binary() {
        let path = folder().join(name);
        if std::env::var_os("NEARSLOT_WRITE_FIXTURES").is_some() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        // The versions of compressors show in their output.
        if !name.ends_with(".zst") && !name.ends_with(".parquet") {
            assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
        }
    }
}

/// The name of a fixture begins with that of its format.
#[test]
fn every_format_has_one_that_is_recognised_and_read() {
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let longest = FORMATS
            .iter()
            .filter(|format| name.starts_with(format.name))
            .max_by_key(|format| format.name.len());
        let Some(format) = longest else {
            panic!("{name} is named after no format");
        };
        let named = matches!(format.probe, Probe::Named(_)).then(|| format.name.to_owned());
        let how = OpenOptions {
            format: named,
            ..OpenOptions::default()
        };
        let mut reader = open(&[path], &how).unwrap();
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch).unwrap() {}
        let header = reader.header();
        assert_eq!(header.format, format.name, "{name}");
        assert!(header.requests >= 5, "{name}: {} requests", header.requests);
        let odd: Vec<_> = header
            .anomalies
            .iter()
            .filter(|(kind, _)| *kind != Anomaly::DirectionGuessed)
            .collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
        seen.insert(format.name);
    }
    let without: Vec<&str> = FORMATS
        .iter()
        .map(|format| format.name)
        .filter(|name| !seen.contains(name))
        .collect();
    assert!(without.is_empty(), "no fixture for {without:?}");
}

/// All binary fixtures tell the same story.
#[test]
fn the_same_requests_in_every_format() {
    let read = |name: &str| {
        let mut reader = open(&[folder().join(name)], &OpenOptions::default()).unwrap();
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch).unwrap() {
            all.extend_from_slice(&batch);
        }
        all
    };
    let places = |records: &[Record]| -> Vec<(i64, TraceOp, u64, u64)> {
        records
            .iter()
            .map(|record| (record.ts, record.op, record.offset, record.len))
            .collect()
    };
    let expected = requests();
    for name in [
        "blktrace-v7.bin",
        "blktrace-v7.bin.zst",
        "blktrace-v8-big.bin",
        "parquet.parquet",
    ] {
        assert!(read(name) == expected, "{name}");
    }
    for name in ["vscsi-v1.bin", "vscsi-v2.bin"] {
        assert!(places(&read(name)) == places(&expected), "{name}");
    }
    assert_eq!(read("oracleGeneral.bin").len(), expected.len());
}
