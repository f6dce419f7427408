//! A long trace needs no more memory than a short one: five million requests, plain, compressed and
//! from standard input.
//!
//! The peak is that of a process of its own, which reads the trace and reports what the kernel saw
//! (`VmHWM`).

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nearslot_trace::{OpenOptions, open};

const REQUESTS: u64 = 5_000_000;

/// Mapped and buffered windows, requests held for order, and the program itself take 20 to 30 MiB.
const PEAK_MIB_MAX: u64 = 80;

/// Names the trace to the reading process.
const TRACE: &str = "NEARSLOT_TEST_MEMORY_TRACE";

/// vscsi version 2, twenty thousand requests a second, every hundredth a little late.
fn write(to: &mut dyn Write) {
    for i in 0..REQUESTS {
        let late = if i % 100 == 0 { 120 } else { 0 };
        let mut record = [0_u8; 40];
        record[..4].copy_from_slice(&[0x28 + 2 * u8::from(i % 3 == 0), 0, 0, 2]);
        record[8..12].copy_from_slice(&4096_u32.to_le_bytes());
        record[16..24]
            .copy_from_slice(&(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30).to_le_bytes());
        record[24..32].copy_from_slice(&(1_000 + i * 50 - late).to_le_bytes());
        to.write_all(&record).unwrap();
    }
}

/// Reads the trace that the environment names; a test only when it is named.
#[test]
fn reading_process() {
    let Some(trace) = std::env::var_os(TRACE) else {
        return;
    };
    let mut reader = open(&[PathBuf::from(trace)], &OpenOptions::default()).unwrap();
    let (mut batch, mut newest) = (Vec::new(), 0);
    while reader.next_batch(&mut batch).unwrap() {
        assert!(batch.len() <= 10_000, "a batch of {}", batch.len());
        for record in &batch {
            assert!(record.ts >= newest);
            newest = record.ts;
        }
    }
    assert_eq!(reader.header().requests, REQUESTS);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    println!("\npeak {}", peak.split_whitespace().nth(1).unwrap());
}

fn peak_mib(trace: &str, stdin: Stdio) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reading_process", "--nocapture"])
        .env(TRACE, trace)
        .stdin(stdin)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let peak = text.lines().find_map(|line| line.strip_prefix("peak "));
    let Some(peak) = peak else {
        panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    };
    peak.parse::<u64>().unwrap() / 1024
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("trace"), folder.path().join("trace.zst"));
    let mut file = BufWriter::new(File::create(&plain).unwrap());
    write(&mut file);
    file.flush().unwrap();
    let mut encoder = zstd::stream::write::Encoder::new(File::create(&packed).unwrap(), 1).unwrap();
    std::io::copy(&mut File::open(&plain).unwrap(), &mut encoder).unwrap();
    encoder.finish().unwrap();
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    for (trace, stdin) in [
        (name(&plain), Stdio::null()),
        (name(&packed), Stdio::null()),
        ("-".to_owned(), Stdio::from(File::open(&plain).unwrap())),
    ] {
        let peak = peak_mib(&trace, stdin);
        println!("{trace}: {peak} MiB");
        assert!(peak <= PEAK_MIB_MAX, "{trace} took {peak} MiB");
    }
}
