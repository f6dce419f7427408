//! Ten seconds of damage: every reader must survive what it is given.
//!
//! Seeds are the fixtures, one or more per format. They are bitten, cut, doubled and mixed with
//! each other and with bytes that mean much to parsers, then given to decoders by the laws of
//! `support/laws.rs` and, as files, to the whole pipeline. The seed of each round is printed when
//! it fails, and `NEARSLOT_FUZZ_ROUND=n` repeats it alone; `NEARSLOT_FUZZ_SECONDS` sets the time.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use crate::laws;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nearslot_core::rng::Rng;
use nearslot_trace::{FORMATS, OpenOptions, Options, Spread, open};

/// Pieces that parsers trip over.
const MORSELS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\0",
    b",",
    b",,,,,,,,",
    b" ",
    b"\t",
    b"-1",
    b"+",
    b"18446744073709551616",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"1e309",
    b"0x",
    b".",
    b"nan",
    b"\xef\xbb\xbf",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"#",
    b"[",
    b"]",
    b"\"",
    b"(",
    b"+ 8",
    b"999999999999999999999999999999.999999999",
    b"\x07tae",
    b"eat\x08",
    b"PAR1",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
];

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/traces");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    files
        .iter()
        .map(|file| (name(file), std::fs::read(file).unwrap()))
        .collect()
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(bound.max(1) as u64) as usize
}

/// A seed with some damage.
fn damaged(rng: &mut Rng, seeds: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = seeds[below(rng, seeds.len())].1.clone();
    for _ in 0..below(rng, 8) {
        let at = below(rng, bytes.len());
        let to = (at + below(rng, 64)).min(bytes.len());
        match rng.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => drop(bytes.splice(at..at, MORSELS[below(rng, MORSELS.len())].iter().copied())),
            3 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            4 if at < bytes.len() => bytes[at] = rng.bits() as u8,
            5 => {
                let part = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, part));
            }
            6 => {
                let other = &seeds[below(rng, seeds.len())].1;
                let from = below(rng, other.len());
                let part = other[from..(from + 200).min(other.len())].to_vec();
                drop(bytes.splice(at..at, part));
            }
            _ => bytes[at..to].fill(rng.bits() as u8),
        }
    }
    bytes
}

fn options(rng: &mut Rng) -> Options {
    Options {
        strict: rng.chance(0.2),
        block_size: rng.chance(0.5).then(|| 1 << rng.below(64)),
        file: "fuzz".to_owned(),
        ..Options::default()
    }
}

fn round(number: u64, seeds: &[(String, Vec<u8>)], folder: &Path) {
    let mut rng = Rng::stream(number, "fuzz/readers");
    let bytes = damaged(&mut rng, seeds);
    let options = options(&mut rng);
    let cuts: Vec<usize> = (0..1 + below(&mut rng, 8))
        .map(|_| {
            let bits = below(&mut rng, 12);
            1 + below(&mut rng, 1 << bits)
        })
        .collect();
    let format = FORMATS[below(&mut rng, FORMATS.len())];
    laws::check(format, &options, &bytes, &cuts);
    if rng.chance(0.2) {
        let how = OpenOptions {
            format: rng.chance(0.3).then(|| format.name.to_owned()),
            decode: options,
            sort: rng.chance(0.1),
            limit: rng.chance(0.1).then(|| 1 + rng.below(50)),
            reorder_window_ns: rng.below(1 << 40),
            spread: [Spread::Even, Spread::None, Spread::Poisson(number)][below(&mut rng, 3)],
            ..OpenOptions::default()
        };
        read_as_file(&bytes, &how, folder);
    }
}

/// Whatever comes out of the pipeline is in order and within bounds.
fn read_as_file(bytes: &[u8], how: &OpenOptions, folder: &Path) {
    let path = folder.join("fuzz");
    std::fs::write(&path, bytes).unwrap();
    let Ok(mut reader) = open(&[path], how) else {
        return;
    };
    let (mut batch, mut newest) = (Vec::new(), i64::MIN);
    while let Ok(true) = reader.next_batch(&mut batch) {
        for record in &batch {
            assert!(record.ts >= newest, "out of order");
            assert!(
                record
                    .offset
                    .checked_add(record.len)
                    .is_some_and(|end| end <= 1 << 63)
            );
            assert!((record.dev as usize) < reader.header().devices.len());
            assert!((record.client as usize) < reader.header().clients.len());
            newest = record.ts;
        }
    }
}

#[test]
fn readers_survive_damage() {
    let seeds = seeds();
    let folder = tempfile::tempdir().unwrap();
    if let Ok(number) = std::env::var("NEARSLOT_FUZZ_ROUND") {
        round(number.parse().unwrap(), &seeds, folder.path());
        return;
    }
    let seconds = std::env::var("NEARSLOT_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut number = 0;
    while Instant::now() < end {
        let survived = std::panic::catch_unwind(|| round(number, &seeds, folder.path()));
        assert!(survived.is_ok(), "repeat with NEARSLOT_FUZZ_ROUND={number}");
        number += 1;
    }
    println!("{number} rounds");
}
