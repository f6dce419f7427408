//! Requests as Parquet: rows, order, memory, provenance, and disks that are full.

use std::fs::{self, File};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use nearslot_core::ids::StreamId;
use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::request::{Reply, Request, Timeline};
use nearslot_core::units::{Duration, Instant};
use nearslot_lab::grid;
use nearslot_lab::report::{Outputs, ReportError, RequestRows, RowsWriter};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::report::sample::{SMALL, results};

fn reply(id: u64) -> Reply {
    let arrived = Instant(1_000 * id);
    let op = [Op::Read, Op::Write, Op::Read, Op::Discard][(id % 4) as usize];
    let mut request = Request::new(id, op, 8 * id, 16, arrived);
    request.stream = StreamId(3);
    let cost = Cost {
        overhead: Duration(310),
        seek: Duration(2_000 + id),
        rotation: Duration(1_500),
        transfer: Duration(90),
    };
    let started = arrived + Duration(500);
    let timeline = Timeline {
        arrived,
        started,
        replied: started + cost.total(),
        cost,
    };
    Reply {
        request,
        status: match id % 4 {
            1 => Status::Failed(Failure::Medium),
            2 => Status::Failed(Failure::TimedOut),
            3 => Status::Failed(Failure::Gone),
            _ => Status::Done,
        },
        timeline,
    }
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    builder.build().unwrap().map(Result::unwrap).collect()
}

fn column(batches: &[RecordBatch], name: &str) -> Vec<u64> {
    let of = |batch: &RecordBatch| batch[name].as_primitive::<UInt64Type>().values().to_vec();
    batches.iter().flat_map(of).collect()
}

fn words(batches: &[RecordBatch], name: &str) -> Vec<String> {
    let of = |batch: &RecordBatch| {
        let words = batch[name]
            .as_dictionary::<Int32Type>()
            .downcast_dict::<arrow_array::StringArray>();
        words
            .unwrap()
            .into_iter()
            .map(|word| word.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// A writer into a file that may exist.
fn writer(path: &Path) -> RowsWriter<RequestRows> {
    let target = Outputs::new(true).add("--requests", path).unwrap();
    RowsWriter::create(&target).unwrap()
}

/// A disk does one thing at a time, whatever it holds: what its commands took does not overlap from
/// when they were begun, and each ends as it says.
#[test]
fn commands_of_a_drive_with_a_queue_are_told_from_when_they_were_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commands.parquet");
    let mut scenario = Scenario::over(Load::Workload(
        "iometer:depth=16:requests=2000".parse().unwrap(),
    ));
    for (key, value) in [
        (
            "drive",
            "seagate-cheetah-9lp:queue_depth=8:queue_sched=satf",
        ),
        ("faults", "injected:timeout_share=0.005:timeout_ms=100"),
        ("warmup", "0"),
    ] {
        scenario.set(key, value).unwrap();
    }
    let wanted = Wanted {
        commands: Some(Outputs::new(true).add("--commands", &path).unwrap()),
        ..Wanted::default()
    };
    let points = grid::points(&scenario, &[]).unwrap();
    let results = compare(&points, None, &wanted, &Control::default()).unwrap();
    let batches = read(&path);
    let of = |name: &str| column(&batches, name);
    let (given, begun) = (of("start_ns"), of("begun_ns"));
    let parts = ["overhead_ns", "seek_ns", "rotation_ns", "transfer_ns"].map(of);
    let mut spans: Vec<[u64; 2]> = (0..begun.len())
        .map(|row| {
            [
                begun[row],
                begun[row] + parts.iter().map(|part| part[row]).sum::<u64>(),
            ]
        })
        .collect();
    spans.sort_unstable();
    assert_eq!(spans.len(), 2_000);
    assert!(
        spans.windows(2).all(|two| two[1][0] >= two[0][1]),
        "they overlap"
    );
    let later = given
        .iter()
        .zip(&begun)
        .filter(|(given, begun)| given < begun);
    assert!(later.count() > 1_900, "it holds eight of them");
    let timed_out = words(&batches, "status")
        .iter()
        .filter(|word| *word == "timed_out")
        .count();
    let counted = results.runs[0]
        .measure("faults", "failed_timed_out")
        .unwrap()
        .value();
    assert!(counted > 0.0);
    assert_eq!(timed_out as f64, counted);
}

#[test]
fn rows_come_back_run_by_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    let results = results(SMALL);
    let writer = writer(&path);
    // Side by side, the second ready first.
    let (mut one, mut two) = (writer.lane("one").unwrap(), writer.lane("two").unwrap());
    let rows = 40_000;
    for id in 0..rows {
        two.push(|rows| rows.push(&reply(id + 7), false)).unwrap();
        one.push(|rows| rows.push(&reply(id), id < 100)).unwrap();
    }
    let (two, one) = (two.finish().unwrap(), one.finish().unwrap());
    writer.finish(&results, vec![one, two]).unwrap();
    let batches = read(&path);
    let ids: Vec<u64> = (0..rows).chain(7..rows + 7).collect();
    assert_eq!(column(&batches, "id"), ids);
    assert_eq!(column(&batches, "arrival_ns")[3], 3_000);
    assert_eq!(column(&batches, "start_ns")[3], 3_500);
    assert_eq!(
        column(&batches, "completion_ns")[3],
        3_500 + 310 + 2_003 + 1_500 + 90
    );
    assert_eq!(column(&batches, "seek_ns")[3], 2_003);
    assert_eq!(
        (column(&batches, "lba")[3], column(&batches, "blocks")[3]),
        (24, 16)
    );
    assert_eq!(column(&batches, "stream")[0], 3);
    assert_eq!(
        words(&batches, "op")[..4],
        ["read", "write", "read", "discard"]
    );
    assert_eq!(
        words(&batches, "status")[..4],
        ["done", "medium", "timed_out", "gone"]
    );
    let runs = words(&batches, "run");
    assert_eq!(
        (runs[39_999].as_str(), runs[40_000].as_str()),
        ("one", "two")
    );
    let warmup = batches
        .iter()
        .map(|batch| batch["warmup"].as_boolean().true_count());
    assert_eq!(warmup.sum::<usize>(), 100);
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["requests.parquet"]);
}

#[test]
fn the_file_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    let writer = writer(&path);
    writer.finish(&results(SMALL), Vec::new()).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let pairs = builder
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    let value = |key: &str| {
        pairs
            .iter()
            .find(|pair| pair.key == key)
            .unwrap()
            .value
            .as_deref()
            .unwrap()
    };
    assert_eq!(value("nearslot.seed"), "42");
    assert_eq!(value("nearslot.version"), "0.1.0");
    assert_eq!(value("nearslot.build"), "unknown");
    assert_eq!(
        value("nearslot.trace_hash"),
        "9f1c0d5be2a84c7795bb0b6f1e0c6a3d"
    );
    assert!(value("nearslot.runs").contains("seagate-cheetah-9lp"));
    assert_eq!(builder.schema().fields().len(), 15);
}

#[test]
fn nothing_is_left_of_a_file_that_was_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    fs::write(&path, "older").unwrap();
    let writer = writer(&path);
    let mut lane = writer.lane("one").unwrap();
    (0..20_000).for_each(|id| lane.push(|rows| rows.push(&reply(id), false)).unwrap());
    drop((writer, lane));
    assert_eq!(fs::read(&path).unwrap(), b"older");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let path = Path::new("/dev/full");
    let writer = writer(path);
    let mut lane = writer.lane("one").unwrap();
    (0..20_000).for_each(|id| lane.push(|rows| rows.push(&reply(id), false)).unwrap());
    let lane = lane.finish().unwrap();
    let error = writer.finish(&results(SMALL), vec![lane]).unwrap_err();
    assert!(
        matches!(&error, ReportError::File { path, .. } if path == Path::new("/dev/full")),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("No space left on device"),
        "{error}"
    );
    assert!(!fs::metadata(path).unwrap().is_file());
}

#[test]
fn a_folder_that_is_not_there_is_found_before_the_run() {
    let error = Outputs::new(false)
        .add("--requests", Path::new("/no-such-folder/requests.parquet"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write /no-such-folder/requests.parquet"),
        "{error}"
    );
}
