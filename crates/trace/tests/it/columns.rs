//! Columns are what records are, without times: the straight way gives the same requests in the
//! same order, and tells and refuses the same.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::path::{Path, PathBuf};

use nearslot_core::rng::Rng;
use nearslot_trace::{
    FORMATS, Header, OpenOptions, Options, Probe, Span, Spread, TraceOp, TraceTime, open,
};

/// What a request asks for.
type Row = (TraceOp, u32, u64, u64);

/// What a reading ends with: all of a trace and its header, or what is refused.
type End = Result<(Vec<Row>, String), String>;

/// What is known of a trace at the end, but for what hangs on the spreading of times.
fn known(header: &Header) -> String {
    let notes = &header.notes;
    format!(
        "{} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?} {notes:?}",
        header.format,
        header.devices,
        header.epoch_unix_ns,
        header.requests,
        header.understood,
        header.limited,
        header.time_kind,
        header.span,
        header.anomalies,
        header.object_ids,
    )
}

fn by_records(paths: &[PathBuf], how: &OpenOptions) -> End {
    let mut reader = open(paths, how).map_err(|error| error.to_string())?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).map_err(|e| e.to_string())? {
        let row =
            |record: &nearslot_trace::Record| (record.op, record.dev, record.offset, record.len);
        all.extend(batch.iter().map(row));
    }
    Ok((all, known(reader.header())))
}

fn by_columns(paths: &[PathBuf], how: &OpenOptions) -> End {
    let mut reader = open(paths, how).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    while let Some(asked) = reader.next_columns().map_err(|e| e.to_string())? {
        assert!(!asked.is_empty(), "a batch of none");
        let row = |at: usize| (asked.op[at], asked.dev[at], asked.offset[at], asked.len[at]);
        all.extend((0..asked.count()).map(row));
    }
    assert!(reader.next_columns().unwrap().is_none(), "the end stays");
    Ok((all, known(reader.header())))
}

fn same(paths: &[PathBuf], how: &OpenOptions, what: &str) -> End {
    // How far is read beyond a limit, and so what is known of what lies there, is each way's own.
    let within = |end: End| match how.limit {
        Some(_) => end.map(|(rows, _)| (rows, String::new())),
        None => end,
    };
    let (records, columns) = (
        within(by_records(paths, how)),
        within(by_columns(paths, how)),
    );
    assert!(
        records == columns,
        "{what}: {} and {}",
        told(&records),
        told(&columns)
    );
    records
}

/// Few words of what may be long.
fn told(end: &End) -> String {
    match end {
        Ok((rows, known)) => format!("{} requests, {known}", rows.len()),
        Err(refused) => refused.clone(),
    }
}

fn object(time: u32, id: u64, size: u32) -> [u8; 24] {
    let mut bytes = [0xff; 24];
    bytes[..4].copy_from_slice(&time.to_le_bytes());
    bytes[4..12].copy_from_slice(&id.to_le_bytes());
    bytes[12..16].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// A file that goes with the test.
fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn objects() -> OpenOptions {
    OpenOptions {
        format: Some("oracleGeneral".to_owned()),
        // Columns have no times, so none are spread; of gaps between them both tell alike then.
        spread: Spread::None,
        ..OpenOptions::default()
    }
}

/// Requests of which some are odd, and of which one in so many steps back by up to so many seconds.
fn random(rng: &mut Rng, count: u32, one_in: u64, back: u64) -> Vec<u8> {
    let mut time = 10_000;
    let request = |_| {
        time += match rng.below(2_000) {
            0 => 4_000,
            1..400 => 1,
            _ => 0,
        };
        let late = match rng.below(one_in) {
            0 => rng.below(back + 1) as u32,
            _ => 0,
        };
        let size = [4096, 4096, 512, 0, 100 << 20][rng.below(5) as usize];
        let id = match rng.below(1_000) {
            0 => u64::MAX - rng.below(1 << 62),
            _ => rng.below(1 << 40),
        };
        object(time - late, id, size)
    };
    (0..count).flat_map(request).collect()
}

#[test]
fn the_straight_way_is_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for seed in 0..8 {
        let mut rng = Rng::stream(seed, "columns");
        // Some never leave the straight way, some do at once, some when requests have been given
        // out; and some step back too far.
        let one_in = [1 << 40, 3, 100_000, 150_000][seed as usize % 4];
        let back = 1 + seed / 4;
        let bytes = random(&mut rng, 200_000, one_in, back);
        let path = [file(&folder, "objects", &bytes)];
        let mut how = objects();
        how.decode = Options {
            block_size: [None, Some(4096)][seed as usize / 2 % 2],
            ..Options::default()
        };
        refused += u32::from(same(&path, &how, &format!("seed {seed}")).is_err());
        for limit in [5, 140_000] {
            how.limit = Some(limit);
            let _ = same(&path, &how, &format!("seed {seed}, limit {limit}"));
        }
    }
    assert!((1..6).contains(&refused), "{refused} of 8 are refused");
}

#[test]
fn columns_of_what_goes_another_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::stream(1, "columns");
    let files = ["one", "other"].map(|name| file(&folder, name, &random(&mut rng, 5_000, 50, 1)));
    let _ = same(&files, &objects(), "two files");
    let device = OpenOptions {
        device: Some("other".to_owned()),
        ..objects()
    };
    let _ = same(&files, &device, "one device of two");
    let absent = OpenOptions {
        device: Some("absent".to_owned()),
        ..objects()
    };
    assert!(same(&files[..1], &absent, "a device that is not there").is_err());
    let sorted = OpenOptions {
        sort: true,
        ..objects()
    };
    let _ = same(&files[..1], &sorted, "sorted");
    let between = OpenOptions {
        span: Span::Between {
            from: TraceTime::told("from", "100s").unwrap(),
            to: Some(TraceTime::told("to", "10000s").unwrap()),
        },
        ..objects()
    };
    let _ = same(&files[..1], &between, "a span");
    let empty = [file(&folder, "empty", &object(7, 7, 0).repeat(3))];
    assert!(same(&empty, &objects(), "no request of any bytes").is_err());
    let cut = [object(7, 7, 512).to_vec(), vec![0; 23]].concat();
    let cut = [file(&folder, "cut", &cut)];
    assert_eq!(same(&cut, &objects(), "a cut record").unwrap().0.len(), 1);
}

#[test]
fn every_format_has_columns() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/traces");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let named = FORMATS.iter().find(|format| {
            matches!(format.probe, Probe::Named(_)) && name.starts_with(format.name)
        });
        let how = OpenOptions {
            format: named.map(|format| format.name.to_owned()),
            ..OpenOptions::default()
        };
        same(&[path], &how, &name).unwrap();
        seen += 1;
    }
    assert!(seen > 20, "{seen} fixtures");
}
