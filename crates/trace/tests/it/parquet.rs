//! Parquet from end to end: our own columns there and back, others' columns by their names, and
//! damage.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::{
    ArrayRef, Decimal128Array, DurationMicrosecondArray, Float64Array, Int32Array, Int64Array,
    NullArray, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use nearslot_trace::{
    Anomalies, Anomaly, Flags, Header, OpenOptions, Options, Record, Spread, TimeKind, TimeUnit,
    TraceError, TraceOp, open, writer,
};
use parquet::arrow::ArrowWriter;

fn requests() -> Vec<Record> {
    (0..30_000_u64)
        .map(|i| {
            let mut record = Record::new(
                i as i64 * 1000,
                TraceOp::ALL[i as usize % 4],
                i * 512 % (1 << 40),
                512 + i % 4096,
                0,
            );
            record.dev = (i % 3) as u32;
            record.client = (i % 2) as u32;
            if i % 5 == 0 {
                record.flags = Flags::SYNC.with(Flags::PRIORITY);
                record.priority = 3 << 13 | 4;
            }
            if i % 7 == 0 {
                record.service_ns = i;
                record.response_ns = 2 * i;
            }
            record
        })
        .collect()
}

fn header() -> Header {
    let mut anomalies = Anomalies::default();
    anomalies.add(Anomaly::Lost, 17);
    anomalies.add(Anomaly::Inversion, 5);
    Header {
        epoch_unix_ns: Some(1_700_000_000_000_000_001),
        resolution_ns: 100,
        stamp_step_ns: None,
        time_kind: TimeKind::Issue,
        anomalies,
        ..Header::made("msr", &["usr_0", "usr_1", "proj 2"], &["someone"])
    }
}

fn write(path: &Path, records: &[Record], header: &Header) {
    let file = Box::new(std::fs::File::create(path).unwrap());
    let mut writer = (writer("parquet").unwrap().make)(file, "test").unwrap();
    for part in records.chunks(4096) {
        writer.write(part, header).unwrap();
    }
    writer.finish(header).unwrap();
}

fn read(path: &Path, how: &OpenOptions) -> Result<(Vec<Record>, Header), TraceError> {
    let mut reader = open(&[path.to_owned()], how)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok((all, reader.header().clone()))
}

#[test]
fn our_columns_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    write(&path, &requests(), &header());
    // The flushes among them have lengths, which the reader keeps.
    let (records, found) = read(&path, &OpenOptions::default()).unwrap();
    assert!(records == requests());
    assert_eq!(found.format, "parquet");
    assert_eq!(found.version.as_deref(), Some("1"));
    assert_eq!(found.clients, ["", "someone"]);
    let names: Vec<&str> = found
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(names, ["usr_0", "usr_1", "proj 2"]);
    assert_eq!(
        (found.epoch_unix_ns, found.resolution_ns),
        (header().epoch_unix_ns, 100)
    );
    assert_eq!(found.time_kind, TimeKind::Issue);
    assert_eq!(found.anomalies.of(Anomaly::Lost), 17);
    assert_eq!(found.anomalies.of(Anomaly::Inversion), 0);
    assert_eq!(found.notes, ["written from a trace in the format msr"]);
}

#[test]
fn a_compressed_stream_of_it_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    write(&path, &requests(), &header());
    let packed: PathBuf = folder.path().join("trace.parquet.zst");
    std::fs::write(
        &packed,
        zstd::stream::encode_all(std::fs::File::open(&path).unwrap(), 1).unwrap(),
    )
    .unwrap();
    assert!(read(&packed, &OpenOptions::default()).unwrap().0 == requests());
}

fn write_others(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let columns = columns
        .into_iter()
        .map(|(name, values)| (name, values, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn column<T: arrow_array::Array + 'static>(values: T) -> ArrayRef {
    Arc::new(values)
}

#[test]
fn columns_of_others_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("others.parquet");
    write_others(
        &path,
        vec![
            (
                "Timestamp",
                column(TimestampMicrosecondArray::from(vec![
                    1_600_000_000_000_000,
                    1_600_000_000_000_250,
                ])),
            ),
            ("IOType", column(Int32Array::from(vec![1, 0]))),
            ("LBA", column(Int64Array::from(vec![16, 8]))),
            ("nr_sectors", column(Int64Array::from(vec![8, 1]))),
            ("Volume_ID", column(Int64Array::from(vec![7, 9]))),
        ],
    );
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    let expected = [
        Record::new(0, TraceOp::Write, 8192, 4096, 0),
        Record::new(250_000, TraceOp::Read, 4096, 512, 1),
    ];
    assert_eq!(records, expected);
    assert_eq!(header.devices[1].name, "9");
    assert_eq!(header.epoch_unix_ns, Some(1_600_000_000_000_000_000));
    assert_eq!(header.resolution_ns, 1000);
}

/// As in the header of a table: units behind names, durations, and no column dropped without a
/// word.
#[test]
fn columns_of_others_have_units_and_latencies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("others.parquet");
    write_others(
        &path,
        vec![
            (
                "start_time_ms",
                column(Int64Array::from(vec![0, 2_000, 4_000])),
            ),
            ("Offset (KiB)", column(Int64Array::from(vec![4, 8, 12]))),
            ("lba", column(Int64Array::from(vec![1, 2, 3]))),
            ("size_bytes", column(Int64Array::from(vec![512, 512, 512]))),
            ("rw", column(StringArray::from(vec!["r", "r", "w"]))),
            ("comm", column(StringArray::from(vec!["db", "db", "cp"]))),
            ("response", column(Int64Array::from(vec![1, 2, 3]))),
            (
                "latency_us",
                column(Float64Array::from(vec![1.25, -3.0, f64::NAN])),
            ),
            (
                "service_time",
                column(DurationMicrosecondArray::from(vec![100, 7, 0])),
            ),
            ("prio", column(Int64Array::from(vec![1, 2, 3]))),
            ("colour", column(Int64Array::from(vec![1, 2, 3]))),
        ],
    );
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    let places: Vec<(i64, u64, u64)> = records
        .iter()
        .map(|one| (one.ts, one.offset, one.len))
        .collect();
    // Sectors come before KiB: the lower unit is the exact one.
    let expected = [
        (0, 512, 512),
        (2_000_000_000, 1_024, 512),
        (4_000_000_000, 1_536, 512),
    ];
    assert_eq!(places, expected);
    let took: Vec<[u64; 2]> = records
        .iter()
        .map(|one| [one.response_ns, one.service_ns])
        .collect();
    let unknown = Record::UNKNOWN;
    assert_eq!(took, [[1_250, 100_000], [unknown, 7_000], [unknown, 0]]);
    assert_eq!(header.resolution_ns, 1_000_000);
    assert_eq!(header.epoch_unix_ns, None);
    assert_eq!(records[2].client, 2);
    assert_eq!(records[0].priority, 0);
    let notes = [
        "column 7 (response) was not read, as its name says no unit that is known; it may be called response_s, response_ms, \
         response_us, response_ns",
        "columns were not read: Offset (KiB), prio, colour",
        "how long a request took is negative, too large or no number, and was taken as unknown, in rows: 2",
    ];
    assert_eq!(header.notes, notes);
}

/// Decimals and floats keep their digits where there may be some, and are refused where there are
/// none, as in a CSV.
#[test]
fn digits_behind_the_point_are_not_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("others.parquet");
    let decimal = |values: Vec<i128>| {
        let values = Decimal128Array::from(values).with_precision_and_scale(18, 3);
        column(values.unwrap())
    };
    write_others(
        &path,
        vec![
            ("time_s", decimal(vec![0, 17, 34, 51])),
            (
                "offset_kib",
                column(Float64Array::from(vec![4.0, 8.5, 12.0, -0.5])),
            ),
            ("size_kib", decimal(vec![4_000, 4_000, 4_500, 4_000])),
            ("op", column(StringArray::from(vec!["WSM", "R", "R", "R"]))),
            (
                "latency_ms",
                column(StringArray::from(vec!["0.75", "1", "1", "1"])),
            ),
            ("service_ms", column(NullArray::new(4))),
        ],
    );
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    let mut expected = Record::new(0, TraceOp::Write, 4_096, 4_096, 0);
    expected.response_ns = 750_000;
    assert_eq!(records, [expected]);
    assert_eq!(header.anomalies.of(Anomaly::BadRecord), 3);
    assert_eq!(header.notes, [""; 0]);
    write_others(
        &path,
        vec![
            ("time_s", decimal(vec![0, 17])),
            ("offset", column(Int64Array::from(vec![0, 0]))),
            ("size", column(Int64Array::from(vec![512, 512]))),
        ],
    );
    let (records, _) = read(&path, &OpenOptions::default()).unwrap();
    assert_eq!(records[1].ts, 17_000_000);
}

#[test]
fn a_time_of_a_named_unit_counts_from_1970_only_where_it_is_of_our_days() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("others.parquet");
    for (name, first, epoch) in [
        ("time_ns", 2_000_000_000, None),
        ("time_s", 1_600_000_000, Some(1_600_000_000_000_000_000)),
    ] {
        write_others(
            &path,
            vec![
                (name, column(Int64Array::from(vec![first, first + 3]))),
                ("offset", column(Int64Array::from(vec![0, 512]))),
                ("len", column(Int64Array::from(vec![512, 512]))),
            ],
        );
        let (_, header) = read(&path, &OpenOptions::default()).unwrap();
        assert_eq!(header.epoch_unix_ns, epoch, "{name}");
    }
}

#[test]
fn plain_numbers_need_a_unit_unless_they_are_dates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.parquet");
    let small = |first: i64| {
        write_others(
            &path,
            vec![
                ("time", column(Int64Array::from(vec![first, first + 3]))),
                ("op", column(StringArray::from(vec!["Read", "W"]))),
                ("offset", column(UInt64Array::from(vec![0, 4096]))),
                ("size", column(UInt64Array::from(vec![512, 512]))),
            ],
        );
    };
    small(5);
    let error = read(&path, &OpenOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("plain.parquet"), "{error}");
    assert!(error.contains("--time-unit"), "{error}");
    let decode = Options {
        time_unit: Some(TimeUnit::Milliseconds),
        ..Options::default()
    };
    let (records, header) = read(
        &path,
        &OpenOptions {
            decode,
            ..OpenOptions::default()
        },
    )
    .unwrap();
    assert_eq!(records[1].ts, 3_000_000);
    assert_eq!(header.devices[0].name, "plain.parquet");
    // Seconds of today are recognised, said, and coarse.
    small(1_600_000_000);
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    assert_eq!(records[1].ts, 3_000_000_000);
    assert!(
        header.notes[0].contains("taken as s since 1970"),
        "{:?}",
        header.notes
    );
    assert_eq!(header.spread, Some(Spread::Even));
    assert!(records[1].flags.has(Flags::COARSE));
}

#[test]
fn a_column_of_others_says_how_far_a_write_may_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offers.parquet");
    let words = vec![Some("track"), None, Some(""), Some("none"), Some("far")];
    write_others(
        &path,
        vec![
            ("time_us", column(Int64Array::from(vec![1, 2, 3, 4, 5]))),
            ("op", column(StringArray::from(vec!["W"; 5]))),
            ("offset", column(UInt64Array::from(vec![0; 5]))),
            ("size", column(UInt64Array::from(vec![512; 5]))),
            ("may_move", column(StringArray::from(words))),
        ],
    );
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    let flags: Vec<Flags> = records.iter().map(|record| record.flags).collect();
    let none = Flags::default();
    assert_eq!(flags, [Flags::OFFER_TRACK, none, none, Flags::STAYS]);
    assert_eq!(header.anomalies.of(Anomaly::BadRecord), 1, "no such word");
}

#[test]
fn rows_without_sense_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.parquet");
    write_others(
        &path,
        vec![
            (
                "time",
                column(Float64Array::from(vec![
                    1.6e9,
                    f64::NAN,
                    1.6e9 + 0.5,
                    1.6e9,
                ])),
            ),
            (
                "rw",
                column(StringArray::from(vec![
                    Some("r"),
                    Some("r"),
                    None,
                    Some("w"),
                ])),
            ),
            ("offset", column(Int64Array::from(vec![0, 0, 0, -512]))),
            ("len", column(Int64Array::from(vec![512, 512, 512, 512]))),
        ],
    );
    let (records, header) = read(&path, &OpenOptions::default()).unwrap();
    assert_eq!(
        (records.len(), header.anomalies.of(Anomaly::BadRecord)),
        (1, 3)
    );
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = read(
        &path,
        &OpenOptions {
            decode: strict,
            ..OpenOptions::default()
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("row 1"), "{error}");
}

#[test]
fn damage_and_missing_columns_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    write_others(&path, vec![("time", column(Int64Array::from(vec![1])))]);
    let error = read(&path, &OpenOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no column for the address"), "{error}");
    write(&path, &requests(), &header());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 100);
    std::fs::write(&path, bytes).unwrap();
    let error = read(&path, &OpenOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("damaged.parquet: cannot be read as Parquet"),
        "{error}"
    );
}
