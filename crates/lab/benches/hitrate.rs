//! Speed of `hitrate`, everything counted: reading, numbering, simulating.
//!
//! `cargo bench -p nearslot-lab --bench hitrate [-- MILLIONS [FILTER]]`. A trace of Zipf(1.0)
//! requests over a million objects, and one of equally likely ones over ten million, are written to
//! a temporary folder in libCacheSim's format, so that the same file can be given to that. Millions
//! of requests a second; misses stand beside, so that a faster answer that is another answer shows.
//! With a filter, as `zipf lru 1%`, there is nothing in the process but that question, so its
//! processor time can be told from outside.

#![allow(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant as Clock;

use nearslot_core::rng::Rng;
use nearslot_lab::hitrate::{Question, Unit, Which, hit_rates};
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;

/// What is asked at a time: caches, and sizes.
const QUESTIONS: &[(&str, &str)] = &[
    ("lru", "1%"),
    ("lru", "10%"),
    ("sarc", "1%"),
    ("sarc", "10%"),
    ("sieve", "1%"),
    ("sieve", "10%"),
    ("arc", "1%"),
    ("arc", "10%"),
    ("clock", "1%"),
    ("clock", "10%"),
    ("s3_fifo", "1%"),
    ("s3_fifo", "10%"),
    ("w_tinylfu", "1%"),
    ("lirs", "1%"),
    ("lru", "0.1%,0.3%,1%,3%,10%,20%,30%,50%"),
    ("lru,sieve,arc,s3_fifo", "1%,10%"),
    ("lru,sieve,arc,clock", "1%"),
    ("lru,sieve,arc,clock", "10%"),
];

/// The trace: objects by the inverse of a power law's distribution, or equally likely.
fn write(path: &Path, millions: usize, objects: u64, zipf: bool) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut rng = Rng::stream(1, "bench");
    let cumulated: Vec<f64> = (1..=objects)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        })
        .collect();
    let whole = cumulated[cumulated.len() - 1];
    for number in 0..millions as u64 * 1_000_000 {
        let share = rng.unit() * whole;
        let object = match zipf {
            true => cumulated.partition_point(|sum| *sum < share) as u64,
            false => rng.below(objects),
        };
        out.write_all(&((number / 10_000) as u32).to_le_bytes())?;
        // Popular objects are anywhere.
        let id = object.wrapping_mul(0x9e37_79b9) % (objects * 8);
        out.write_all(&id.to_le_bytes())?;
        out.write_all(&4096u32.to_le_bytes())?;
        out.write_all(&(-1i64).to_le_bytes())?;
    }
    out.flush()
}

fn main() {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    let millions = words.first().and_then(|word| word.parse().ok());
    let millions: usize = millions.unwrap_or(20);
    let filter = words.get(1).map_or("", String::as_str);
    let folder = std::env::temp_dir().join("nearslot-bench-hitrate");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    for (name, objects, zipf) in [("zipf", 1_000_000, true), ("uniform", 10_000_000, false)] {
        let asked =
            |(caches, sizes): &&(&str, &str)| format!("{name} {caches} {sizes}").ends_with(filter);
        let questions: Vec<_> = QUESTIONS.iter().filter(asked).collect();
        if questions.is_empty() {
            continue;
        }
        let path = folder.join(format!("{name}-{millions}.oracleGeneral"));
        if !path.exists() {
            write(&path, millions, objects, zipf).expect("the trace can be written");
        }
        println!("{}", path.display());
        println!(
            "{:<28} {:<36} {:>9} {:>12}",
            "caches", "sizes", "M/s", "misses"
        );
        let files = [path];
        if filter.is_empty() {
            read(&files, millions);
        }
        measure(&files, &questions, millions);
    }
}

fn how() -> OpenOptions {
    OpenOptions {
        format: Some("oracleGeneral".to_owned()),
        ..OpenOptions::default()
    }
}

fn read(files: &[PathBuf], millions: usize) {
    let began = Clock::now();
    let mut reader = nearslot_trace::open(files, &how()).expect("it was written");
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).expect("it is whole") {}
    println!(
        "{:<65} {:>9.1}",
        "reading",
        millions as f64 / began.elapsed().as_secs_f64()
    );
}

fn measure(files: &[PathBuf], questions: &[&(&str, &str)], millions: usize) {
    for (caches, sizes) in questions {
        let question = Question {
            caches: caches
                .split(',')
                .map(|word| word.parse().expect("a cache"))
                .collect(),
            sizes: sizes
                .split(',')
                .map(|word| word.parse().expect("a size"))
                .collect(),
            leave_out: false,
            unit: Unit::Request,
            which: Which::All,
            sample: None,
            per_request: false,
        };
        let began = Clock::now();
        let found = hit_rates(files, &how(), &question, &Control::default()).expect("it is valid");
        let took = began.elapsed().as_secs_f64();
        let misses: u64 = found.rows.iter().map(|row| row.misses).sum();
        println!(
            "{caches:<28} {sizes:<36} {:>9.1} {misses:>12}",
            millions as f64 / took
        );
    }
}
