//! How fast traces are read: requests and bytes a second on one core, format by format.
//!
//! `cargo bench -p nearslot-trace --bench traces [-- FORMAT...]` prints two tables. The first gives
//! the decoders alone: bytes in memory, windows as the pipeline gives them. The second is the whole
//! way from a file to batches in order: containers, rules, order, counts. Data are generated, a few
//! hundred thousand requests a format; each figure is the best of several passes, since other work
//! on the machine only ever slows one down.

#[path = "support/text.rs"]
mod text;

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use nearslot_core::rng::Rng;
use nearslot_trace::{
    Decoder, FORMATS, Header, OpenOptions, Options, Reads, Record, Sink, TraceOp, open, writer,
};

/// Requests of a case; small under test, where only that it runs matters.
const REQUESTS: u64 = 400_000;
const REQUESTS_TESTED: u64 = 2_000;

/// Bytes a decoder gets at a time, as in the pipeline.
const WINDOW_BYTES: usize = 256 << 10;

const PASSES: u32 = 7;

/// A format with bytes in it.
struct Case {
    name: &'static str,
    format: &'static str,
    make: fn(&[Record]) -> Vec<u8>,
}

/// One line per format.
const CASES: &[Case] = &[
    Case {
        name: "blktrace, arrivals only",
        format: "blktrace",
        make: blktrace_arrivals,
    },
    Case {
        name: "blktrace, Q G I D C",
        format: "blktrace",
        make: blktrace_all,
    },
    Case {
        name: "vscsi 1",
        format: "vscsi",
        make: vscsi_1,
    },
    Case {
        name: "vscsi 2",
        format: "vscsi",
        make: vscsi_2,
    },
    Case {
        name: "oracleGeneral",
        format: "oracleGeneral",
        make: oracle_general,
    },
    Case {
        name: "parquet",
        format: "parquet",
        make: parquet,
    },
    Case {
        name: "fio 3",
        format: "fio",
        make: |records| written("fio", records),
    },
    Case {
        name: "blkparse, arrivals only",
        format: "blkparse",
        make: text::blkparse_arrivals,
    },
    Case {
        name: "blkparse, Q G I D C",
        format: "blkparse",
        make: text::blkparse,
    },
    Case {
        name: "perf, arrivals only",
        format: "perf",
        make: text::perf_arrivals,
    },
    Case {
        name: "perf, five events",
        format: "perf",
        make: text::perf,
    },
    Case {
        name: "spc",
        format: "spc",
        make: text::spc,
    },
    Case {
        name: "msr",
        format: "msr",
        make: text::msr,
    },
    Case {
        name: "alibaba",
        format: "alibaba",
        make: text::alibaba,
    },
    Case {
        name: "tencent",
        format: "tencent",
        make: text::tencent,
    },
    Case {
        name: "k5cloud",
        format: "k5cloud",
        make: text::k5cloud,
    },
    Case {
        name: "systor17",
        format: "systor17",
        make: text::systor17,
    },
    Case {
        name: "disksim",
        format: "disksim",
        make: text::disksim,
    },
    Case {
        name: "mqsim",
        format: "mqsim",
        make: text::mqsim,
    },
    Case {
        name: "csv, named columns",
        format: "csv",
        make: text::csv,
    },
    Case {
        name: "csv, dates",
        format: "csv",
        make: text::csv_dates,
    },
];

fn main() {
    // `cargo test` runs benches with `--test`.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tested = arguments.iter().any(|argument| argument == "--test");
    let wanted: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let records = requests(if tested { REQUESTS_TESTED } else { REQUESTS });
    let cases: Vec<(&Case, Vec<u8>)> = CASES
        .iter()
        .filter(|case| wanted.is_empty() || wanted.iter().any(|name| *name == case.format))
        .map(|case| (case, (case.make)(&records)))
        .collect();
    let mut out = std::io::stdout().lock();
    let passes = if tested { 1 } else { PASSES };
    writeln!(
        out,
        "{:<28}{:>12}{:>12}{:>10}",
        "decoder alone", "M records/s", "M requests/s", "GB/s"
    )
    .expect("stdout");
    for (case, bytes) in &cases {
        if let Some(found) = best(passes, || decode(case.format, bytes)) {
            print(&mut out, case.name, bytes, &found);
        }
    }
    writeln!(
        out,
        "\n{:<28}{:>12}{:>12}{:>10}",
        "file to ordered batches", "", "M requests/s", "GB/s"
    )
    .expect("stdout");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (case, bytes) in &cases {
        for (end, pack) in CONTAINERS {
            let path = folder.path().join(format!("trace{end}"));
            std::fs::write(&path, pack(bytes)).expect("room for a trace");
            if let Some(found) = best(passes, || read(case.format, &path)) {
                print(&mut out, &format!("{}{end}", case.name), bytes, &found);
            }
        }
    }
}

/// Endings of file names and what they stand for.
type Pack = fn(&[u8]) -> Vec<u8>;
const CONTAINERS: &[(&str, Pack)] = &[
    ("", <[u8]>::to_vec),
    (".gz", |bytes| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }),
    (".zst", |bytes| {
        zstd::stream::encode_all(bytes, 3).expect("memory")
    }),
];

/// What a pass found.
struct Timed {
    requests: u64,
    /// Records of the file, where it has several a request.
    records: Option<u64>,
    took: Duration,
}

fn best(passes: u32, mut pass: impl FnMut() -> Option<Timed>) -> Option<Timed> {
    (0..passes)
        .filter_map(|_| pass())
        .min_by_key(|found| found.took)
}

fn print(out: &mut impl Write, name: &str, bytes: &[u8], found: &Timed) {
    let seconds = found.took.as_secs_f64();
    let millions = |count: u64| format!("{:.1}", count as f64 / seconds / 1e6);
    writeln!(
        out,
        "{name:<28}{:>12}{:>12}{:>10.2}",
        found.records.map_or(String::new(), millions),
        millions(found.requests),
        bytes.len() as f64 / seconds / 1e9
    )
    .expect("stdout");
}

fn decode(format: &str, bytes: &[u8]) -> Option<Timed> {
    let options = Options {
        file: "bench".to_owned(),
        ..Options::default()
    };
    let format = FORMATS
        .iter()
        .find(|card| card.name == format)
        .expect("a format of the table");
    let Reads::Stream(make) = format.reads else {
        return None;
    };
    let mut decoder: Box<dyn Decoder> = make(&options).expect("a decoder");
    let mut sink = Sink::default();
    let (mut at, mut requests) = (0, 0);
    let start = Instant::now();
    while at < bytes.len() {
        let end = bytes.len().min(at + WINDOW_BYTES);
        at += decoder
            .decode(&bytes[at..end], end == bytes.len(), &mut sink)
            .expect("good bytes");
        requests += black_box(&sink.records).len() as u64;
        sink.records.clear();
    }
    decoder.finish(&mut sink).expect("good bytes");
    requests += sink.records.len() as u64;
    let took = start.elapsed();
    // Events or lines, where several make a request.
    let records = match format.name {
        "blktrace" => bytes.len() as u64 / 48,
        "blkparse" | "perf" => memchr::memchr_iter(b'\n', bytes).count() as u64,
        _ => requests,
    };
    Some(Timed {
        requests,
        records: Some(records),
        took,
    })
}

fn read(format: &str, path: &Path) -> Option<Timed> {
    let how = OpenOptions {
        format: Some(format.to_owned()),
        ..OpenOptions::default()
    };
    let start = Instant::now();
    let mut reader = open(&[path.to_owned()], &how).expect("a trace");
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).expect("a good trace") {
        black_box(&batch);
    }
    let took = start.elapsed();
    Some(Timed {
        requests: reader.header().requests,
        records: None,
        took,
    })
}

/// Reads and writes of a busy volume, 20,000 a second.
fn requests(count: u64) -> Vec<Record> {
    let mut rng = Rng::stream(1, "bench/traces");
    let mut ts = 0;
    (0..count)
        .map(|_| {
            ts += rng.exponential(50_000.0) as i64;
            let op = if rng.chance(0.7) {
                TraceOp::Read
            } else {
                TraceOp::Write
            };
            let len = 4096 << rng.below(5);
            let service_ns = 80_000 + rng.below(200_000);
            Record {
                service_ns,
                response_ns: service_ns + rng.below(300_000),
                ..Record::new(ts, op, rng.below(1 << 28) * 4096, len, 0)
            }
        })
        .collect()
}

fn written(format: &str, records: &[Record]) -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let header = Header::made("bench", &["8:0"], &[]);
    let to = Box::new(file.reopen().expect("the same file"));
    let mut writer = (writer(format).expect("a writer").make)(to, "bench").expect("a writer");
    for part in records.chunks(4096) {
        writer.write(part, &header).expect("room");
    }
    writer.finish(&header).expect("room");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("a readable file");
    bytes
}

fn blktrace_all(records: &[Record]) -> Vec<u8> {
    written("blktrace", records)
}

fn blktrace_arrivals(records: &[Record]) -> Vec<u8> {
    let bare = |record: &Record| Record::new(record.ts, record.op, record.offset, record.len, 0);
    written("blktrace", &records.iter().map(bare).collect::<Vec<_>>())
}

fn parquet(records: &[Record]) -> Vec<u8> {
    written("parquet", records)
}

fn scsi(record: &Record) -> u16 {
    if record.op == TraceOp::Read {
        0x28
    } else {
        0x2a
    }
}

fn vscsi_1(records: &[Record]) -> Vec<u8> {
    let of = |record: &Record| {
        [
            &1_u32.to_le_bytes()[..],
            &(record.len as u32).to_le_bytes(),
            &1_u32.to_le_bytes(),
            &scsi(record).to_le_bytes(),
            &0x0100_u16.to_le_bytes(),
            &(record.offset / 512).to_le_bytes(),
            &(record.ts as u64 / 1000).to_le_bytes(),
        ]
        .concat()
    };
    records.iter().flat_map(of).collect()
}

fn vscsi_2(records: &[Record]) -> Vec<u8> {
    let of = |record: &Record| {
        [
            &scsi(record).to_le_bytes()[..],
            &0x0200_u16.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &(record.len as u32).to_le_bytes(),
            &1_u32.to_le_bytes(),
            &(record.offset / 512).to_le_bytes(),
            &(record.ts as u64 / 1000).to_le_bytes(),
            &(record.response_ns / 1000).to_le_bytes(),
        ]
        .concat()
    };
    records.iter().flat_map(of).collect()
}

fn oracle_general(records: &[Record]) -> Vec<u8> {
    let of = |record: &Record| {
        [
            &((record.ts / 1_000_000_000) as u32).to_le_bytes()[..],
            &record.offset.to_le_bytes(),
            &(record.len as u32).to_le_bytes(),
            &(-1_i64).to_le_bytes(),
        ]
        .concat()
    };
    records.iter().flat_map(of).collect()
}
