//! The way back of a map log: time and memory to recover the maps of volumes of 1, 4 and 16 TiB, and the price of an entry.
//!
//! `cargo bench --workspace --bench recovery`. The log region is made while it is read, by a second log that runs the same
//! course as the first; only the time within recovery counts. Every block lies in a slot that is a function of its number,
//! so neither log needs a map in memory. 16 TiB in granules of 4 KiB are 2^32, more than 32 bits number; in granules of
//! 16 KiB they are 2^30 and need 4 GiB. What does not fit the machine's memory is left out, and said so.
//!
//! `--quick` recovers small volumes only, which take a second.

#![allow(clippy::print_stdout, reason = "a bench prints")]
#![allow(clippy::disallowed_types, reason = "a bench measures time")]

use std::collections::VecDeque;
use std::fs;
use std::time::{Duration, Instant};

use nearslot_core::maplog::{Entry, Geometry, MapLog, MapView, Nvram, Recovery, Settings};
use nearslot_core::units::{BLOCK_BYTES, Blocks};

const TIB: u64 = 1 << 40;
const GIB: f64 = 1_073_741_824.0;

/// A volume: bytes, bytes of a granule, copies.
const VOLUMES: [(u64, u64, u8); 5] = [
    (TIB / 4, 4_096, 1),
    (TIB, 4_096, 1),
    (TIB, 4_096, 2),
    (4 * TIB, 4_096, 1),
    (16 * TIB, 16_384, 1),
];
const QUICK: [(u64, u64, u8); 2] = [(TIB / 256, 4_096, 1), (TIB / 256, 4_096, 2)];

/// Blocks at slots that are far from each other for neighbours, as eager writing leaves them: a dilution of two.
struct Scattered {
    geometry: Geometry,
}

impl Scattered {
    /// Granules of a drive follow each other by an odd stride, so no two meet.
    #[inline]
    fn slot(&self, granule: u32) -> u32 {
        let slots = u64::from(self.geometry.slots);
        (u64::from(granule).wrapping_mul(2_654_435_761) & (slots - 1)) as u32
    }
}

impl MapView for Scattered {
    fn read(&self, _copy: u8, first: u32, out: &mut [u32]) {
        for (granule, slot) in (first..).zip(out) {
            *slot = self.slot(granule);
        }
    }
}

/// A log that is written to nowhere, write by write.
struct Course {
    map: Scattered,
    log: MapLog,
    granule: u32,
}

impl Course {
    fn new(geometry: &Geometry, settings: &Settings) -> Course {
        Course {
            map: Scattered {
                geometry: *geometry,
            },
            log: MapLog::of_filled(geometry, settings).expect("the settings fit"),
            granule: 0,
        }
    }

    /// Blocks that moved to where they lie already: the map stays what the view says.
    fn record(&mut self) {
        let Geometry {
            granules, copies, ..
        } = self.map.geometry;
        while self.log.room() > 0 {
            self.granule = (self.granule + 1_640_531_527) % granules;
            let entry = Entry {
                copy: (self.granule % u32::from(copies)) as u8,
                granule: self.granule,
                slot: self.map.slot(self.granule),
            };
            self.log.record(entry);
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
    /// Offset and bytes, in the order in which they are read.
    recent: VecDeque<(u64, Vec<u8>)>,
}

impl Replay {
    /// Bytes of the region. Reads go forward, and not far back.
    fn read(&mut self, offset: Blocks, blocks: Blocks, out: &mut [u8]) {
        out.fill(0);
        let (begin, end) = (offset.0, offset.0 + blocks.0);
        let blocks_of = |bytes: &[u8]| bytes.len() as u64 / BLOCK_BYTES;
        let behind = |recent: &VecDeque<(u64, Vec<u8>)>| {
            let last = recent.back();
            last.is_some_and(|(at, bytes)| *at < end && *at + blocks_of(bytes) >= end)
        };
        while !behind(&self.recent) && self.writes > 0 {
            self.writes -= 1;
            let recent = &mut self.recent;
            self.course
                .step(|at, bytes| recent.push_back((at.0, bytes.to_vec())));
        }
        let passed = |(at, bytes): &(u64, Vec<u8>)| *at + blocks_of(bytes) <= begin;
        while self.recent.front().is_some_and(passed) {
            self.recent.pop_front();
        }
        for (at, bytes) in &self.recent {
            let first = (at.max(&begin) - at) * BLOCK_BYTES;
            let to = (at.max(&begin) - begin) * BLOCK_BYTES;
            let rest = &bytes[first as usize..];
            let count = rest.len().min(out.len() - to as usize);
            out[to as usize..][..count].copy_from_slice(&rest[..count]);
        }
    }
}

/// A line of `/proc`, in bytes.
fn of_proc(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0u64) * 1_024
}

fn geometry(bytes: u64, granule: u64, copies: u8) -> Geometry {
    let granules = (bytes / granule) as u32;
    Geometry {
        volume: 0x6E65_6172_736C_6F74,
        granules,
        copies,
        columns: 1,
        unit: granules,
        slots: 2 * granules,
    }
}

fn recover(bytes: u64, granule: u64, copies: u8) {
    let geometry = geometry(bytes, granule, copies);
    let settings = Settings::fitting(&geometry).expect("the geometry fits");
    let mut course = Course::new(&geometry, &settings);
    // The first round, then as long as the log can be, and no lap more: the reads stay in order.
    let mut writes = 0;
    while course.log.used().0 * 100 < course.log.bound().0 * 98 {
        course.step(|_, _| ());
        writes += 1;
    }
    let nvram = Nvram::from_bytes(course.log.nvram().bytes().to_vec());
    drop(course);
    let mut replay = Replay {
        course: Course::new(&geometry, &settings),
        writes,
        recent: VecDeque::new(),
    };
    // Memory from here on is recovery's, and a few buffers.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = of_proc("/proc/self/status", "VmRSS:");
    let began = Instant::now();
    let mut recovery = Recovery::new(&geometry, nvram).expect("NVRAM is sound");
    let (mut time, mut read) = (began.elapsed(), 0);
    let mut buffer = Vec::new();
    while let Some((offset, blocks)) = recovery.next_read() {
        buffer.resize(blocks.bytes() as usize, 0);
        replay.read(offset, blocks, &mut buffer);
        read += buffer.len();
        let began = Instant::now();
        recovery.feed(&buffer).expect("the log is sound");
        time += began.elapsed();
    }
    let began = Instant::now();
    let recovered = recovery.finish().expect("the log is sound");
    let check = began.elapsed();
    let peak = of_proc("/proc/self/status", "VmHWM:") - before;
    let last = geometry.granules - 1;
    assert_eq!(recovered.map.slot(0, last), replay.course.map.slot(last));
    report(&geometry, bytes, granule, read, time, check, peak);
}

fn report(
    geometry: &Geometry,
    bytes: u64,
    granule: u64,
    read: usize,
    time: Duration,
    check: Duration,
    peak: u64,
) {
    let map = geometry.entries() * 4;
    println!(
        "{:8.3} TiB by {:2} KiB, {} {}: map {:6.3} GiB, log read {:6.2} GiB in {:6.2} s ({:5.2} GiB/s), last check {:5.2} s, \
         peak {:6.3} GiB = {:.3} of the map",
        bytes as f64 / TIB as f64,
        granule / 1_024,
        geometry.copies,
        if geometry.copies == 1 {
            "copy  "
        } else {
            "copies"
        },
        map as f64 / GIB,
        read as f64 / GIB,
        time.as_secs_f64(),
        read as f64 / GIB / time.as_secs_f64(),
        check.as_secs_f64(),
        peak as f64 / GIB,
        peak as f64 / map as f64,
    );
}

/// The price of an entry, and of the log's writes with it.
fn record() {
    let geometry = geometry(TIB / 64, 4_096, 1);
    let settings = Settings::fitting(&geometry).expect("the geometry fits");
    let mut course = Course::new(&geometry, &settings);
    while !course.log.is_checkpointed() {
        course.step(|_, _| ());
    }
    let (mut entries, mut in_record, mut in_writes) = (0u64, Duration::ZERO, Duration::ZERO);
    while entries < 20_000_000 {
        entries += u64::from(course.log.room());
        let began = Instant::now();
        course.record();
        in_record += began.elapsed();
        let began = Instant::now();
        if course.log.next_write(&course.map).is_some() {
            course.log.written();
        }
        in_writes += began.elapsed();
    }
    println!(
        "record: {:.1} ns an entry; writes of the log, checkpoints too: {:.1} ns an entry",
        in_record.as_nanos() as f64 / entries as f64,
        in_writes.as_nanos() as f64 / entries as f64,
    );
}

fn main() {
    record();
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let volumes: &[_] = if quick { &QUICK } else { &VOLUMES };
    for (bytes, granule, copies) in volumes {
        let needed = bytes / granule * 4 * u64::from(*copies) * 11 / 10;
        let available = of_proc("/proc/meminfo", "MemAvailable:");
        match needed < available {
            true => recover(*bytes, *granule, *copies),
            false => println!(
                "{:8.3} TiB by {} KiB: left out, {:.1} GiB of memory are needed and {:.1} free",
                *bytes as f64 / TIB as f64,
                granule / 1_024,
                needed as f64 / GIB,
                available as f64 / GIB
            ),
        }
    }
    println!("  16 TiB by  4 KiB: 2^32 granules, more than 32 bits number; with 16 KiB as above");
}
