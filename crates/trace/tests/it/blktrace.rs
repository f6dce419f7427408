//! blktrace from end to end: what is written is read again, per-CPU sets are found and merged, and
//! the real blkparse, where it is installed, understands our files.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use nearslot_trace::{
    Anomaly, Flags, Header, OpenOptions, Record, TraceOp, TraceReader, open, writer,
};

/// Requests of two devices and two clients, with every operation that blktrace knows.
fn requests() -> Vec<Record> {
    let ops = [
        TraceOp::Read,
        TraceOp::Write,
        TraceOp::Write,
        TraceOp::Discard,
        TraceOp::Flush,
    ];
    (0..1000_u64)
        .map(|i| {
            let op = ops[i as usize % ops.len()];
            let len = if op == TraceOp::Flush {
                0
            } else {
                4096 * (1 + i % 5)
            };
            let offset = if op == TraceOp::Flush {
                0
            } else {
                i * 7919 % 100_000 * 4096
            };
            Record {
                response_ns: 900_000 + i * 13,
                service_ns: 400_000 + i * 7,
                client: 1 + (i % 2) as u32,
                flags: if i % 3 == 0 {
                    Flags::SYNC
                } else {
                    Flags::default()
                },
                ..Record::new(i as i64 * 150_000, op, offset, len, (i % 4 == 0).into())
            }
        })
        .collect()
}

fn read(path: &Path) -> (Vec<Record>, TraceReader) {
    let mut reader = open(&[path.to_owned()], &OpenOptions::default()).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    (all, reader)
}

fn write(path: &Path, records: &[Record], header: &Header) {
    let file = Box::new(std::fs::File::create(path).unwrap());
    let mut writer = (writer("blktrace").unwrap().make)(file, "test").unwrap();
    for part in records.chunks(100) {
        writer.write(part, header).unwrap();
    }
    writer.finish(header).unwrap();
}

fn header() -> Header {
    Header {
        epoch_unix_ns: Some(1_700_000_000_123_456_789),
        ..Header::made("simulated", &["8:0", "259:3"], &["postgres", "fio worker"])
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simulated.bin");
    write(&path, &requests(), &header());
    let (records, reader) = read(&path);
    let named = |records: &[Record], header: &Header| -> Vec<(Record, String, String)> {
        let strip = |record: &Record| Record {
            dev: 0,
            client: 0,
            ..*record
        };
        let dev = |record: &Record| header.devices[record.dev as usize].name.clone();
        let client = |record: &Record| header.clients[record.client as usize].clone();
        records
            .iter()
            .map(|record| (strip(record), dev(record), client(record)))
            .collect()
    };
    assert_eq!(
        named(&records, reader.header()),
        named(&requests(), &header())
    );
    assert_eq!(reader.header().epoch_unix_ns, header().epoch_unix_ns);
    assert_eq!(reader.header().format, "blktrace");
    assert_eq!(reader.header().version.as_deref(), Some("7"));
    assert_eq!(reader.header().anomalies.iter().count(), 0);
}

/// The bytes of the error, too: other readers go by these.
#[test]
fn a_request_that_failed_completes_with_an_error() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("failed.blktrace.0");
    let mut records = requests();
    records[7].flags = records[7].flags.with(Flags::FAILED);
    write(&path, &records, &header());
    let errors: Vec<u16> = events(&std::fs::read(&path).unwrap())
        .filter(|event| event[28] == 8)
        .map(|event| u16::from_le_bytes([event[44], event[45]]))
        .filter(|error| *error != 0)
        .collect();
    assert_eq!(errors, [(-5_i16).cast_unsigned()]);
    let (found, reader) = read(&path);
    let times = (Record::UNKNOWN, Record::UNKNOWN);
    for (found, written) in found.iter().zip(&records) {
        let failed = found.flags.has(Flags::FAILED);
        assert_eq!(failed, written.flags.has(Flags::FAILED));
        assert_eq!((found.service_ns, found.response_ns) == times, failed);
    }
    assert_eq!(reader.header().anomalies.of(Anomaly::Failed), 1);
}

/// The events of a file that is written.
fn events(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let payload = u16::from_le_bytes([*rest.get(46)?, rest[47]]);
        let (event, behind) = rest.split_at(48 + usize::from(payload));
        rest = behind;
        Some(event)
    })
}

/// Splits a blktrace by a pretended processor for every record, as the kernel would have written
/// it.
fn split_by_cpu(bytes: &[u8], cpus: usize) -> Vec<Vec<u8>> {
    let mut files = vec![Vec::new(); cpus];
    let mut sequences = std::collections::BTreeMap::new();
    let (mut at, mut number) = (0, 0_usize);
    while at < bytes.len() {
        let whole = 48 + usize::from(u16::from_le_bytes([bytes[at + 46], bytes[at + 47]]));
        let mut record = bytes[at..at + whole].to_vec();
        let cpu = (number * 7 / 3) % cpus;
        record[40..44].copy_from_slice(&(cpu as u32).to_le_bytes());
        if record[4..8] != [0; 4] {
            let sequence: &mut u32 = sequences.entry((cpu, record[36..40].to_vec())).or_default();
            *sequence += 1;
            record[4..8].copy_from_slice(&sequence.to_le_bytes());
        }
        files[cpu].extend(record);
        at += whole;
        number += 1;
    }
    files
}

#[test]
fn a_set_of_processors_is_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.bin");
    write(&whole, &requests(), &header());
    let files = split_by_cpu(&std::fs::read(&whole).unwrap(), 5);
    for (cpu, bytes) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("sda.blktrace.{cpu}")), bytes).unwrap();
    }
    std::fs::write(folder.path().join("sda.blktrace.5"), b"").unwrap();
    let (one, _) = read(&whole);
    let (merged, reader) = read(&folder.path().join("sda.blktrace.3"));
    assert_eq!(merged, one);
    let header = reader.header();
    assert_eq!(header.files.len(), 6);
    assert!(
        header.notes[0].starts_with("per-CPU files merged: 6 of "),
        "{:?}",
        header.notes
    );
    assert_eq!(header.anomalies.iter().count(), 0);
    let all: Vec<PathBuf> = (0..6)
        .map(|cpu| folder.path().join(format!("sda.blktrace.{cpu}")))
        .collect();
    let mut named = open(&all, &OpenOptions::default()).unwrap();
    let mut batch = Vec::new();
    assert!(named.next_batch(&mut batch).unwrap());
    assert_eq!(batch, one[..batch.len()]);
    assert_eq!(read(&folder.path().join("sda")).0, one);
}

#[test]
fn lost_events_of_a_limited_trace_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lossy.bin");
    write(&path, &requests(), &header());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.drain(48 * 20 + 56..48 * 23 + 56);
    std::fs::write(&path, bytes).unwrap();
    let how = OpenOptions {
        limit: Some(10),
        ..OpenOptions::default()
    };
    let mut reader = open(&[path], &how).unwrap();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {}
    assert_eq!(reader.header().requests, 10);
    assert!(reader.header().limited);
    let lost: u64 = reader
        .header()
        .anomalies
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert!(lost > 0, "{:?}", reader.header().anomalies);
}

/// blkparse prints the same requests. Where it is not installed there is nothing to compare with.
#[test]
fn blkparse_reads_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder.path().join("sim.blktrace.0"),
        &requests(),
        &header(),
    );
    let format = "%a %T.%9t %M:%m %S %N %d %C\\n";
    let command = Command::new("blkparse")
        .args(["-q", "-i", "sim", "-f", format])
        .current_dir(folder.path())
        .output();
    let Ok(output) = command else {
        println!("blkparse is not installed: not compared");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let arrivals: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("Q "))
        .collect();
    let names = header();
    let expected: Vec<String> = requests()
        .iter()
        .map(|record| {
            let kind = match record.op {
                TraceOp::Read => "R",
                TraceOp::Write => "W",
                TraceOp::Discard => "D",
                _ => "FN",
            };
            let sync = if record.flags.has(Flags::SYNC) {
                "S"
            } else {
                ""
            };
            let ts = record.ts;
            format!(
                "{}.{:09} {} {} {} {kind}{sync} {}",
                ts / 1_000_000_000,
                ts % 1_000_000_000,
                names.devices[record.dev as usize].name,
                record.offset / 512,
                record.len,
                names.clients[record.client as usize],
            )
        })
        .collect();
    assert_eq!(arrivals.len(), expected.len());
    for (theirs, ours) in arrivals.iter().zip(&expected) {
        assert_eq!(theirs, ours);
    }
    let count = |action: &str| text.lines().filter(|line| line.starts_with(action)).count();
    assert_eq!((count("D "), count("C ")), (1000, 1000));
}
