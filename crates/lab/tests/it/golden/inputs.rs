//! The files that the golden scenarios read: drives and traces, made anew in a folder.
//!
//! Nothing here takes a random number from the engine, so that only a change of the engine's
//! decisions moves a result.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nearslot_lab::load::LoadedTrace;
use nearslot_lab::scenario::Load;
use nearslot_trace::{OpenOptions, Spread};

/// 6,000 turns a minute, so a turn is 10 ms; 16,640 blocks in 160 cylinders of 4 tracks. Small, so
/// that requests meet.
const DISK: &str = "
kind = 'hdd'
rpm = 6000
heads = 4
cylinders = 160
head_switch_ms = 0.8
write_settle_ms = 0.4
sparing = { at = 'zone-end' }
seek_ms = [[1, 1.0], [10, 1.8], [40, 3.0], [80, 4.5], [159, 7.0]]
";

/// What makes a disk a complete one: it reads ahead and writes behind by itself.
const ELECTRONICS: &str = "
[buffer]
segments = 3
segment_blocks = 64
write_segments_max = 1
read_ahead = 'blocks'
read_ahead_min_blocks = 2
read_ahead_max_blocks = 40
write_behind = 'any'
[overheads]
read_miss_after_read_ms = 0.21
read_miss_after_write_ms = 0.32
write_after_read_ms = 0.43
write_after_write_ms = 0.54
";

const ZONES: &str = "
[[zones]]
cylinders = [0, 79]
sectors_per_track = 28
track_skew_sectors = 3
cylinder_skew_sectors = 4
[[zones]]
cylinders = [80, 159]
sectors_per_track = 24
track_skew_sectors = 3
cylinder_skew_sectors = 4
";

const NULL: &str = "kind = 'null'\ncapacity_blocks = 12_800\nservice_us = 2500.0\n";

const EMPIRICAL: &str = "
kind = 'empirical'
capacity_blocks = 12_800
flush_ms = 1.0
[[bins]]
op = 'read'
blocks = 8
outstanding = 1
quantiles = [[0.0, 1.0], [0.5, 2.0], [1.0, 6.0]]
[[bins]]
op = 'any'
blocks = 32
outstanding = 4
quantiles = [[0.0, 0.5], [0.9, 1.0], [1.0, 20.0]]
";

const CAPPED: &str = "
kind = 'capped'
capacity_blocks = 12_800
latency_ms = 5.0
io_kib_max = 16
iops = { baseline = 150, burst = 1000, credits = 50 }
mib = { baseline = 2, burst = 10, credits = 1 }
";

const SSD: &str = "
kind = 'ssd'
capacity_blocks = 12_800
queue_depth = 8
channels = 2
dies_per_channel = 2
planes_per_die = 2
planes = 'together'
blocks_per_plane = 34
pages_per_block = 4
page_kib = 8
map_kib = 4
allocation = 'in-turn'
read_us = 60
program_us = 700
erase_us = 3000
channel_mb_s = 200
suspension = { program = true, erase = true, takes_us = 20 }
host = { mb_s = 500, full_duplex = false, command_us = 2, read_us = 10, write_us = 15 }
cache = { kib = 128, mb_s = 1000, pages_at_once = 4, protected = false }
collection = { start_percent = 5, urgent_percent = 4 }
";

/// A folder with all of them.
pub(crate) struct Inputs {
    folder: tempfile::TempDir,
    /// Traces that were read, by all that decides what was read of them.
    loaded: Mutex<BTreeMap<String, Arc<LoadedTrace>>>,
}

impl Inputs {
    pub(crate) fn new() -> Inputs {
        let folder = tempfile::tempdir().unwrap();
        let complete = format!("{DISK}{ELECTRONICS}{ZONES}");
        let files = [
            ("disk.toml", format!("{DISK}{ZONES}")),
            ("complete.toml", complete),
            ("null.toml", NULL.to_owned()),
            ("empirical.toml", EMPIRICAL.to_owned()),
            ("capped.toml", CAPPED.to_owned()),
            ("ssd.toml", SSD.to_owned()),
            ("mixed.csv", mixed()),
            ("beyond.csv", beyond()),
            ("told.csv", responses()),
            ("volumes.csv", volumes()),
        ];
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Inputs {
            folder,
            loaded: Mutex::default(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The trace of a load, if it has one. Most scenarios read the same one, and reading takes
    /// longer than a run.
    pub(crate) fn loaded(&self, load: &Load) -> Option<Arc<LoadedTrace>> {
        let Load::Trace(load) = load else {
            return None;
        };
        let how = OpenOptions {
            spread: Spread::Even,
            ..OpenOptions::default()
        };
        let how = load.opened(how).unwrap();
        let read = || Arc::new(LoadedTrace::read(&load.files, &how).unwrap());
        let mut loaded = self.loaded.lock().unwrap();
        let trace = loaded.entry(format!("{:?} {how:?}", load.files));
        Some(Arc::clone(trace.or_insert_with(read)))
    }
}

/// Numbers in no order that anybody would expect (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

/// Requests of a trace.
const REQUESTS: u64 = 400;

/// All operations; chunks as a whole, parts of them and several, now and then in sequence; bursts
/// and quiet times.
fn mixed() -> String {
    let mut numbers = Numbers(1);
    let mut text = "ts_us,op,lba,blocks\n".to_owned();
    let (mut now, mut next) = (0, 0);
    for number in 0..REQUESTS {
        now += [0, 400, 5_000, 5_000, 40_000][numbers.below(5) as usize] + numbers.below(3_000);
        let blocks = [8, 8, 8, 8, 16, 3, 1, 21][numbers.below(8) as usize];
        let at = match numbers.below(8) {
            0 => next,
            1..=4 => numbers.below(120) * 8,
            5 => numbers.below(800) + 3,
            _ => numbers.below(300) * 8,
        };
        let op = match numbers.below(100) {
            _ if number == 0 => "R",
            0 => "F",
            1..=5 => "D",
            6..=52 => "R",
            _ => "W",
        };
        next = at + blocks;
        let _ = match op {
            "F" => writeln!(text, "{now},F,0,0"),
            _ => writeln!(text, "{now},{op},{at},{blocks}"),
        };
    }
    text
}

/// Addresses beyond the small drives, coarse time stamps.
fn beyond() -> String {
    let mut numbers = Numbers(2);
    let mut text = "ts_ms,op,lba,blocks\n".to_owned();
    for number in 0..REQUESTS {
        let at = numbers.below(40_000);
        let op = if numbers.below(3) == 0 { "W" } else { "R" };
        let _ = writeln!(text, "{},{op},{at},8", number / 7 * 120);
    }
    text
}

/// A trace that tells most response times.
fn responses() -> String {
    let mut numbers = Numbers(3);
    let mut text = "ts_us,op,lba,blocks,response_us\n".to_owned();
    let mut now = 0;
    for number in 0..REQUESTS {
        now += numbers.below(25_000);
        let (at, response) = (numbers.below(1_400) * 8, 300 + numbers.below(20_000));
        let op = if numbers.below(3) == 0 { "W" } else { "R" };
        let response = match number % 29 {
            5 => String::new(),
            _ => response.to_string(),
        };
        let _ = writeln!(text, "{now},{op},{at},8,{response}");
    }
    text
}

/// Three devices of different sizes.
fn volumes() -> String {
    let mut numbers = Numbers(4);
    let mut text = "ts_us,dev,op,lba,blocks\n".to_owned();
    let mut now = 0;
    for _ in 0..REQUESTS {
        now += numbers.below(9_000);
        let device = numbers.below(3);
        let at = numbers.below([300, 40, 200][device as usize]) * 8;
        let op = if numbers.below(3) == 0 { "W" } else { "R" };
        let _ = writeln!(text, "{now},disk{device},{op},{at},8");
    }
    text
}
