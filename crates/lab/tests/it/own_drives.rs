//! Volumes on drives of their own, of any length: memory above them does with each what it does
//! with that one alone, up to its last block, and a flush goes to its own drive.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use nearslot_lab::grid;
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::outcome::Run;
use nearslot_lab::report::Outputs;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_lab::sim::Control;
use nearslot_lab::workload::layout::Volumes;
use nearslot_trace::OpenOptions;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

const DEVICES: [&str; 3] = ["sda", "sdb", "sdc"];
/// Whole pages of each drive: no whole number of tracks, nor of units.
const PAGES: u64 = 4_099;

/// Drives of this length, and a trace that asks each device for sequences up to its last block and
/// for pages anywhere; a request comes when all before it are answered.
struct Desk {
    folder: TempDir,
    blocks: u64,
}

/// What a drive did: block, blocks and operation of each command, in order.
type Commands = Vec<(u64, u64, String)>;

impl Desk {
    fn new(beyond: u64, reads_only: bool) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let blocks = PAGES * 8 + beyond;
        let drive = format!("kind = 'null'\ncapacity_blocks = {blocks}\nservice_us = 100");
        std::fs::write(folder.path().join("odd.toml"), drive).unwrap();
        let mut rows = String::from("time_us,dev,lba,blocks,op\n");
        let mut row = |number: u64, device: u64, lba: u64, len: u64, op: &str| {
            let device = DEVICES[device as usize];
            rows += &format!("{},{device},{lba},{len},{op}\n", number * 10_000);
        };
        for number in 0..1_200_u64 {
            let (device, turn) = (number % 3, number / 3);
            let last = blocks - 8 * 60;
            let (lba, op) = match turn % 4 {
                0 => (number * 7_919 % PAGES * 8, "R"),
                // To the last block, and once more.
                1 => (last + turn / 4 % 60 * 8, "R"),
                2 => (turn / 4 * 8, "R"),
                _ => (last + turn / 4 * 24 % 480, "W"),
            };
            row(number, device, lba, 8, if reads_only { "R" } else { op });
            if !reads_only && number % 7 == 0 {
                row(number, turn % 3, 0, 0, "F");
            }
        }
        // All that came before has ended, and nothing follows.
        (0..3).for_each(|device| row(1_300 + device, device, blocks - 1, 1, "R"));
        std::fs::write(folder.path().join("dev.csv"), rows).unwrap();
        Desk { folder, blocks }
    }

    /// A run of one device, or of all on drives of their own, and what each drive did.
    fn run(&self, device: Option<&str>, settings: &[(&str, &str)]) -> (Run, Vec<Commands>) {
        let load = TraceLoad {
            files: vec![self.folder.path().join("dev.csv")],
            device: device.map(str::to_owned),
            volumes: device.is_none().then_some(Volumes::OwnDrives),
            ..TraceLoad::default()
        };
        let how = load.opened(OpenOptions::default()).unwrap();
        let trace = LoadedTrace::read(&load.files, &how).unwrap();
        let mut scenario = Scenario::over(Load::Trace(load));
        let drive = self.folder.path().join("odd.toml");
        let given = [("drive", drive.to_str().unwrap()), ("warmup", "0")];
        for (key, value) in given.iter().chain(settings) {
            scenario.set(key, value).unwrap();
        }
        let points = grid::points(&scenario, &[]).unwrap();
        let path = self.folder.path().join("commands.parquet");
        let target = Outputs::new(true).add("commands", &path).unwrap();
        let wanted = Wanted {
            commands: Some(target),
            ..Wanted::default()
        };
        let results = compare(&points, Some(&trace), &wanted, &Control::default()).unwrap();
        let run = results.runs.into_iter().next().unwrap();
        (run, commands(&path, device.map_or(3, |_| 1)))
    }
}

/// The commands of each of so many drives.
fn commands(path: &Path, drives: usize) -> Vec<Commands> {
    let mut found = vec![Commands::new(); drives];
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    for batch in reader.build().unwrap() {
        let batch: RecordBatch = batch.unwrap();
        let numbers = |name: &str| -> ArrayRef { cast(&batch[name], &DataType::UInt64).unwrap() };
        let [drive, at, len] = ["drive", "pba", "blocks"].map(numbers);
        let ops = cast(&batch["op"], &DataType::Utf8).unwrap();
        for index in 0..batch.num_rows() {
            let number = |of: &ArrayRef| of.as_primitive::<UInt64Type>().value(index);
            let op = ops.as_string::<i32>().value(index).to_owned();
            found[number(&drive) as usize].push((number(&at), number(&len), op));
        }
    }
    found
}

const MEASURES: [(&str, &str); 8] = [
    ("cache", "missed_pages"),
    ("cache", "staged_pages"),
    ("cache", "hit_pages"),
    ("prefetch", "ahead_pages"),
    ("buffer", "written_pages"),
    ("buffer", "destaged_pages"),
    ("buffer", "destaged_units"),
    ("buffer", "full_units"),
];

fn counted(run: &Run) -> [f64; MEASURES.len()] {
    let told = |(kind, name)| run.measure(kind, name);
    MEASURES.map(|of| told(of).map_or(0.0, |number| number.value()))
}

const MEMORIES: [&[(&str, &str)]; 5] = [
    &[("cache", "lru:size=64MiB")],
    &[
        ("cache", "sarc:size=64MiB:line_kib=32:stage=pages"),
        ("prefetch", "sarc:track_kib=64:stripe_tracks=7"),
    ],
    &[
        ("cache", "lru:size=64MiB:line_kib=16"),
        ("prefetch", "amp:track_kib=128"),
    ],
    &[("buffer", "lrw:size=64MiB:low_percent=0:unit_kib=48")],
    &[
        ("cache", "sarc:size=64MiB"),
        ("prefetch", "fixed:degree=2"),
        ("buffer", "lrw:size=64MiB:low_percent=0"),
    ],
];

#[test]
fn volumes_of_any_length_have_the_memory_that_each_has_alone() {
    for beyond in [0, 1, 3, 7] {
        let desk = Desk::new(beyond, false);
        for memory in MEMORIES {
            let (all, drives) = desk.run(None, memory);
            let mut sum = [0.0; MEASURES.len()];
            for (device, of_drive) in DEVICES.iter().zip(&drives) {
                let (alone, own) = desk.run(Some(device), memory);
                let told = format!("{memory:?}, {beyond} blocks more, {device}");
                assert!(own == [of_drive.as_slice()], "{told}: {own:?}");
                let behind = of_drive.iter().map(|(at, len, _)| at + len).max();
                assert_eq!(behind, Some(desk.blocks), "{told}");
                let numbers = counted(&alone);
                (0..)
                    .zip(numbers)
                    .for_each(|(at, number): (usize, f64)| sum[at] += number);
            }
            assert_eq!(counted(&all), sum, "{memory:?}, {beyond} blocks more");
            assert!(sum[0] + sum[5] >= 300.0, "{sum:?}");
        }
    }
}

/// A page of a cache is a page of the trace: what drives bring of rot is what is served.
#[test]
fn volumes_of_any_length_are_served_the_rot_that_they_ask_for() {
    let faults = ("faults", "injected:rot_per_tib=16777216:rot_within_s=0");
    for beyond in [0, 1, 3, 7] {
        let desk = Desk::new(beyond, true);
        let served = |memory: &[(&str, &str)]| {
            let run = desk.run(None, &[&[faults], memory].concat()).0;
            let told = ["wrong_blocks_read", "wrong_blocks_served"];
            told.map(|name| run.measure("faults", name).unwrap().value())
        };
        let none = served(&[]);
        assert!(none[0] > 0.0 && none[0] == none[1], "{none:?}");
        for memory in [MEMORIES[0], MEMORIES[1], MEMORIES[2]] {
            assert_eq!(served(memory)[1], none[1], "{memory:?}, {beyond}");
        }
    }
}
