//! The way back of a map log: time and memory to recover the maps of volumes of 1, 4 and 16 TiB,
//! and the price of an entry.
//!
//! `cargo bench --workspace --bench recovery`. The log region is made while it is read, by a second
//! log that runs the same course as the first; only the time within recovery counts. Every block
//! lies in a slot that is a function of its number, so neither log needs a map in memory. 16 TiB in
//! chunks of 4 KiB are 2^32, more than 32 bits number; in chunks of 16 KiB they are 2^30 and need 4
//! GiB. What does not fit the machine's memory is left out, and said so.
//!
//! `--quick` recovers small volumes only, which take a second.

#![allow(clippy::print_stdout, reason = "a bench prints")]
#![allow(clippy::disallowed_types, reason = "a bench measures time")]

use std::collections::VecDeque;
use std::fs;
use std::time::{Duration, Instant};

use nearslot_core::maplog::{Entry, Geometry, MapLog, MapView, Nvram, Recovery, Settings, Spread};
use nearslot_core::units::{BLOCK_BYTES, Blocks};

const TIB: u64 = 1 << 40;
const GIB: f64 = 1_073_741_824.0;
/// Blocks of the largest write, in the settings that fit.
const WRITE_MAX: u64 = 512;

/// A volume: bytes, bytes of a chunk, copies.
const VOLUMES: [(u64, u64, u8); 4] = [
    (TIB, 4_096, 1),
    (TIB, 4_096, 2),
    (4 * TIB, 4_096, 1),
    (16 * TIB, 16_384, 1),
];
const QUICK: [(u64, u64, u8); 2] = [(TIB / 256, 4_096, 1), (TIB / 256, 4_096, 2)];

/// Blocks at slots that are far from each other for neighbours, as eager writing leaves them: a
/// dilution of two.
struct Scattered {
    geometry: Geometry,
}

impl Scattered {
    /// Chunks of a drive follow each other by an odd stride, so no two meet.
    #[inline]
    fn slot(&self, chunk: u32) -> u32 {
        let slots = u64::from(self.geometry.slots);
        (u64::from(chunk).wrapping_mul(2_654_435_761) & (slots - 1)) as u32
    }

    fn entry(&self, chunk: u32) -> Entry {
        let slot = self.slot(chunk);
        Entry {
            copy: 0,
            chunk,
            slot,
            alone: false,
        }
    }
}

impl MapView for Scattered {
    fn read(&self, _copy: u8, first: u32, out: &mut [u32]) {
        for (chunk, slot) in (first..).zip(out) {
            *slot = self.slot(chunk);
        }
    }
}

/// A log that is written to nowhere, write by write.
struct Course {
    map: Scattered,
    log: MapLog,
    chunk: u32,
}

impl Course {
    fn new(geometry: &Geometry, settings: &Settings) -> Course {
        Course {
            map: Scattered {
                geometry: *geometry,
            },
            log: MapLog::of_filled(geometry, settings).expect("the settings fit"),
            chunk: 0,
        }
    }

    /// Blocks that moved to where they lie already: the map stays what the view says.
    fn record(&mut self) {
        let Geometry { chunks, copies, .. } = self.map.geometry;
        while self.log.room() > 0 {
            self.chunk = (self.chunk + 1_640_531_527) % chunks;
            let copy = (self.chunk % u32::from(copies)) as u8;
            let entry = self.map.entry(self.chunk);
            self.log.record(Entry { copy, ..entry });
        }
    }

    /// The next write, given to `take`.
    fn step(&mut self, take: impl FnOnce(Blocks, &[u8])) {
        if self.log.is_checkpointed() {
            self.record();
        }
        let write = self.log.next_write(&self.map).expect("NVRAM is full");
        take(write.offset, write.bytes);
        self.log.written();
    }
}

/// Runs a course of so many writes again, and has its last writes ready to be read.
struct Replay {
    course: Course,
    writes: u64,
    region: u64,
    /// Block behind the last write of the course, counted through all laps.
    head: u64,
    /// The same of the last write that was run again.
    run: u64,
    /// First block and bytes, in the order in which they are read.
    recent: VecDeque<(u64, Vec<u8>)>,
}

/// Blocks of a write.
fn blocks_of(bytes: &[u8]) -> u64 {
    bytes.len() as u64 / BLOCK_BYTES
}

/// The block behind a write to `offset` that follows one that ended at `head`, counted through all
/// laps.
fn ahead(head: u64, region: u64, offset: Blocks, bytes: &[u8]) -> u64 {
    let lap = head - head % region;
    let at = lap + offset.0;
    let at = if at < head { at + region } else { at };
    at + blocks_of(bytes)
}

impl Replay {
    /// Runs on until what ends at this block was written; what lies before `begin` is of no use any
    /// more.
    fn run_to(&mut self, begin: u64, end: u64) {
        while self.run < end && self.writes > 0 {
            self.writes -= 1;
            let (recent, run, region) = (&mut self.recent, &mut self.run, self.region);
            self.course.step(|offset, bytes| {
                *run = ahead(*run, region, offset, bytes);
                if *run > begin {
                    recent.push_back((*run - blocks_of(bytes), bytes.to_vec()));
                }
            });
        }
        let passed = |(at, bytes): &(u64, Vec<u8>)| at + blocks_of(bytes) <= begin;
        while self.recent.front().is_some_and(passed) {
            self.recent.pop_front();
        }
    }

    /// Bytes of the region. Reads go forward, and not far back.
    fn read(&mut self, offset: Blocks, out: &mut [u8]) {
        out.fill(0);
        if offset.0 > self.head {
            // No lap has come here yet.
            return;
        }
        // Of all laps the last that the log has come to; the look behind its end may be the first
        // of the next.
        let laps = match self.head % self.region + WRITE_MAX > self.region && offset.0 == 0 {
            true => self.head / self.region + 1,
            false => (self.head - offset.0) / self.region,
        };
        let begin = laps * self.region + offset.0;
        let end = begin + blocks_of(out);
        self.run_to(begin, end);
        for (at, bytes) in &self.recent {
            let from = begin.max(*at);
            let rest = &bytes[((from - at) * BLOCK_BYTES) as usize..];
            let Some(room) = out.get_mut(((from - begin) * BLOCK_BYTES) as usize..) else {
                return;
            };
            let count = rest.len().min(room.len());
            room[..count].copy_from_slice(&rest[..count]);
        }
    }
}

/// Time by the clock, and of that on the processor: other work on the machine does not make
/// recovery slower.
#[derive(Default)]
struct Stopwatch {
    clock: Duration,
    processor: Duration,
}

impl Stopwatch {
    fn time<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let (began, ran) = (Instant::now(), on_processor());
        let result = act();
        self.clock += began.elapsed();
        self.processor += on_processor().saturating_sub(ran);
        result
    }
}

/// Time that this process has run. The system counts in ticks of a few milliseconds, which is right
/// on average.
fn on_processor() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    Duration::from_nanos(first.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// A line of `/proc`, in bytes.
fn of_proc(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0u64) * 1_024
}

fn geometry(bytes: u64, chunk: u64, copies: u8) -> Geometry {
    let chunks = (bytes / chunk) as u32;
    Geometry {
        volume: 0x6E65_6172_736C_6F74,
        chunks,
        copies,
        columns: 1,
        unit: chunks,
        spread: Spread::ByCopy,
        slots: 2 * chunks,
    }
}

fn recover(bytes: u64, chunk: u64, copies: u8) {
    let geometry = geometry(bytes, chunk, copies);
    let settings = Settings::fitting(&geometry).expect("the geometry fits");
    let region = settings.region.0;
    let mut course = Course::new(&geometry, &settings);
    let (mut writes, mut head) = (0, 0);
    while course.log.used().0 * 100 < course.log.bound().0 * 98 {
        course.step(|offset, bytes| head = ahead(head, region, offset, bytes));
        writes += 1;
    }
    let nvram = Nvram::from_bytes(course.log.nvram().bytes().to_vec());
    drop(course);
    let mut replay = Replay {
        course: Course::new(&geometry, &settings),
        writes,
        region,
        head,
        run: 0,
        recent: VecDeque::new(),
    };
    // Memory from here on is recovery's, and a few buffers.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = of_proc("/proc/self/status", "VmRSS:");
    let (mut feeding, mut checking) = (Stopwatch::default(), Stopwatch::default());
    let mut read = 0;
    let mut recovery = feeding.time(|| Recovery::new(&geometry, nvram).expect("NVRAM is sound"));
    let mut buffer = Vec::new();
    while let Some((offset, blocks)) = recovery.next_read() {
        buffer.resize(blocks.bytes() as usize, 0);
        replay.read(offset, &mut buffer);
        read += blocks.bytes();
        feeding.time(|| recovery.feed(&buffer).expect("the log is sound"));
    }
    let recovered = checking.time(|| recovery.finish().expect("the map is sound"));
    let peak = of_proc("/proc/self/status", "VmHWM:") - before;
    let last = geometry.chunks - 1;
    let found = recovered.map.slot(copies - 1, last);
    assert_eq!(found, replay.course.map.slot(last));
    println!(
        "{:6.3} TiB by {:2} KiB, copies {copies}: map {:6.3} GiB, peak {:6.3} GiB = {:.3} of it",
        bytes as f64 / TIB as f64,
        chunk / 1_024,
        gib(geometry.entries() * 4),
        gib(peak),
        peak as f64 / (geometry.entries() * 4) as f64,
    );
    println!(
        "    log read {:6.2} GiB in {:6.2} s, {:6.2} s on the processor; last check in {:5.2} s, {:5.2} s",
        gib(read),
        feeding.clock.as_secs_f64(),
        feeding.processor.as_secs_f64(),
        checking.clock.as_secs_f64(),
        checking.processor.as_secs_f64(),
    );
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / GIB
}

/// The price of an entry: alone, and with its share of the writes.
fn record() {
    let geometry = geometry(TIB / 64, 4_096, 1);
    let fitting = Settings::fitting(&geometry).expect("the geometry fits");
    // A large NVRAM: so many entries before the first write.
    let large = Settings {
        nvram_entries: 4_000_000,
        write_max: Blocks(1 << 16),
        ..fitting
    };
    let region = large.region_min(&geometry).expect("the settings fit");
    let mut log = MapLog::new(&geometry, &Settings { region, ..large }).expect("they fit");
    let map = Scattered { geometry };
    let entries: Vec<Entry> = (0..log.room()).map(|chunk| map.entry(chunk)).collect();
    let mut alone = Stopwatch::default();
    alone.time(|| entries.iter().for_each(|entry| log.record(*entry)));

    let mut course = Course::new(&geometry, &fitting);
    while !course.log.is_checkpointed() {
        course.step(|_, _| ());
    }
    let (mut recorded, mut all) = (0u64, Stopwatch::default());
    all.time(|| {
        while recorded < 20_000_000 {
            recorded += u64::from(course.log.room());
            course.step(|_, _| ());
        }
    });
    println!(
        "record: {:.1} ns an entry; with batches and checkpoints {:.1} ns",
        alone.processor.as_nanos() as f64 / entries.len() as f64,
        all.processor.as_nanos() as f64 / recorded as f64,
    );
}

fn main() {
    record();
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let volumes: &[_] = if quick { &QUICK } else { &VOLUMES };
    for (bytes, chunk, copies) in volumes {
        let needed = bytes / chunk * 4 * u64::from(*copies) * 11 / 10;
        let available = of_proc("/proc/meminfo", "MemAvailable:");
        match needed < available {
            true => recover(*bytes, *chunk, *copies),
            false => println!(
                "{:8.3} TiB by {} KiB: left out, {:.1} GiB of memory are needed and {:.1} free",
                *bytes as f64 / TIB as f64,
                chunk / 1_024,
                needed as f64 / GIB,
                available as f64 / GIB
            ),
        }
    }
    println!("  16 TiB by  4 KiB: 2^32 chunks, more than 32 bits number; with 16 KiB as above");
}
