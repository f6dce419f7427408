//! The way from files to requests: several files, one device, limits, clocks, disorder, and
//! everything that can be wrong.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use nearslot_trace::{
    Anomaly, FioWait, Flags, Header, OpenOptions, Options, Record, Span, SpanRead, Spread,
    TimeKind, TraceError, TraceOp, TraceTime, open,
};
use tempfile::TempDir;

/// A folder of files that goes with the test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn read(paths: &[PathBuf], how: &OpenOptions) -> Result<(Vec<Record>, Header), TraceError> {
    let mut reader = open(paths, how)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    assert_eq!(reader.header().requests, all.len() as u64);
    assert!(all.is_sorted_by_key(|record| record.ts));
    Ok((all, reader.header().clone()))
}

fn refusal(paths: &[PathBuf], how: &OpenOptions) -> String {
    read(paths, how).err().unwrap().to_string()
}

fn plain() -> OpenOptions {
    OpenOptions::default()
}

/// Alibaba lines: device, read, place, 4 KiB, microseconds.
fn alibaba(requests: &[(u32, u64)]) -> String {
    requests
        .iter()
        .fold(String::new(), |mut text, (device, microseconds)| {
            writeln!(
                text,
                "{device},R,{},4096,{}",
                microseconds * 8192,
                1_577_808_000_000_000 + microseconds
            )
            .unwrap();
            text
        })
}

#[test]
fn files_are_merged_by_time_and_share_their_devices() {
    let folder = Folder::new();
    let one = folder.file("one.csv", alibaba(&[(7, 0), (8, 30), (7, 50)]));
    let two = folder.file("two.csv", alibaba(&[(9, 10), (7, 20), (8, 50)]));
    let (records, header) = read(&[one, two], &plain()).unwrap();
    let order: Vec<(i64, &str)> = records
        .iter()
        .map(|record| {
            (
                record.ts / 1000,
                header.devices[record.dev as usize].name.as_str(),
            )
        })
        .collect();
    assert_eq!(
        order,
        [
            (0, "7"),
            (10, "9"),
            (20, "7"),
            (30, "8"),
            (50, "7"),
            (50, "8")
        ]
    );
    let seven = header
        .devices
        .iter()
        .find(|device| device.name == "7")
        .unwrap();
    assert_eq!((seven.requests, seven.end_byte), (3, 50 * 8192 + 4096));
    assert_eq!(header.epoch_unix_ns, Some(1_577_808_000_000_000_000));
    assert_eq!(header.files.len(), 2);
}

#[test]
fn one_device_may_be_chosen() {
    let folder = Folder::new();
    let path = folder.file("t.csv", alibaba(&[(7, 0), (8, 30), (7, 50)]));
    let how = OpenOptions {
        device: Some("8".to_owned()),
        ..plain()
    };
    let (records, header) = read(std::slice::from_ref(&path), &how).unwrap();
    assert_eq!((records.len(), records[0].ts), (1, 0));
    let counts: Vec<u64> = header
        .devices
        .iter()
        .map(|device| device.requests)
        .collect();
    assert_eq!(counts, [2, 1], "devices that were left out are counted too");
    let how = OpenOptions {
        device: Some("sda".to_owned()),
        ..plain()
    };
    let error = refusal(&[path], &how);
    assert!(
        error.contains(
            "has no device `sda`, as --device asks; it has: 7 (2 requests), 8 (1 request)"
        ),
        "{error}"
    );
    let rows: String = (0..20).map(|dev| format!("{dev},d{dev},0,8,R\n")).collect();
    let table = format!(
        "time_us,dev,lba,blocks,op,pid\n{}",
        rows.replace(",R\n", ",R,1\n")
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.csv");
    std::fs::write(&path, table).unwrap();
    let error = refusal(&[path], &how);
    assert!(error.ends_with(", d11 (1 request) and 8 more"), "{error}");
}

#[test]
fn a_limit_takes_the_first_in_time() {
    let folder = Folder::new();
    let path = folder.file("t.csv", alibaba(&[(1, 90), (1, 10), (1, 50), (1, 20)]));
    let how = OpenOptions {
        limit: Some(2),
        ..plain()
    };
    let (records, header) = read(std::slice::from_ref(&path), &how).unwrap();
    let places: Vec<u64> = records.iter().map(|record| record.offset / 8192).collect();
    assert_eq!(places, [10, 20]);
    assert!(header.limited);
    let how = OpenOptions {
        limit: Some(0),
        ..plain()
    };
    assert!(refusal(&[path], &how).contains("at least 1"));
}

#[test]
fn times_may_stay_absolute() {
    let folder = Folder::new();
    let path = folder.file("t.csv", alibaba(&[(1, 5), (1, 6)]));
    let how = OpenOptions {
        absolute: true,
        ..plain()
    };
    let (records, header) = read(&[path], &how).unwrap();
    assert_eq!(records[0].ts, 1_577_808_000_000_005_000);
    assert_eq!(header.epoch_unix_ns, Some(0));
}

/// More requests than are held back before the first goes out, with one that is two seconds late.
fn disorder() -> String {
    let mut requests: Vec<(u32, u64)> = (0..200_000).map(|i| (1, 10_000_000 + i * 50)).collect();
    requests[190_000].1 -= 2_000_000;
    alibaba(&requests)
}

#[test]
fn disorder_beyond_the_window_is_told_and_can_be_sorted() {
    let folder = Folder::new();
    let path = folder.file("t.csv", disorder());
    let Err(error) = read(std::slice::from_ref(&path), &plain()) else {
        panic!("two seconds are beyond the window");
    };
    assert!(matches!(error, TraceError::OutOfOrder { .. }));
    let error = error.to_string();
    for part in ["t.csv", "2.000 s earlier", "--sort"] {
        assert!(error.contains(part), "{error}");
    }
    for how in [
        OpenOptions {
            sort: true,
            ..plain()
        },
        OpenOptions {
            reorder_window_ns: 3_000_000_000,
            ..plain()
        },
    ] {
        let (records, header) = read(std::slice::from_ref(&path), &how).unwrap();
        assert_eq!(records.len(), 200_000);
        assert_eq!(header.anomalies.of(Anomaly::Inversion), 1);
        assert_eq!(header.anomalies.of(Anomaly::ClockStep), 1);
    }
}

#[test]
fn a_short_trace_is_sorted_whatever_its_disorder() {
    let folder = Folder::new();
    let path = folder.file(
        "t.csv",
        alibaba(&[(1, 9_000_000_000), (1, 0), (1, 8_000_000)]),
    );
    let (records, header) = read(&[path], &plain()).unwrap();
    assert_eq!(records.len(), 3);
    let steps = header.anomalies.of(Anomaly::ClockStep);
    assert_eq!(steps, 2, "a step back, and a gap of more than an hour");
}

#[test]
fn coarse_stamps_are_spread() {
    let folder = Folder::new();
    let lines: String = [0, 0, 0, 0, 3]
        .map(|second| format!("{},80,8,1,17\n", 1_538_323_200 + second))
        .concat();
    let path = folder.file("t.csv", lines);
    let times = |how: &OpenOptions| -> (Vec<i64>, Option<Spread>) {
        let (records, header) = read(std::slice::from_ref(&path), how).unwrap();
        assert!(records.iter().all(|record| record.flags.has(Flags::COARSE)));
        (
            records.iter().map(|record| record.ts / 1_000_000).collect(),
            header.spread,
        )
    };
    assert_eq!(
        times(&plain()),
        (vec![0, 250, 500, 750, 3000], Some(Spread::Even))
    );
    let none = OpenOptions {
        spread: Spread::None,
        ..plain()
    };
    assert_eq!(times(&none).0, [0, 0, 0, 0, 3000]);
    let poisson = OpenOptions {
        spread: Spread::Poisson(4),
        ..plain()
    };
    let (drawn, said) = times(&poisson);
    assert_eq!((drawn[0], said), (0, Some(Spread::Poisson(4))));
    assert_eq!(times(&poisson).0, drawn);
}

#[test]
fn waits_may_begin_late() {
    let folder = Folder::new();
    let read_of = |number: u64| format!("x read {} 512\n", number * 512);
    let early: String = (0..2_200_000).map(read_of).collect();
    let log = format!("fio version 2 iolog\nx add\nx open\n{early}x wait 250 0\nx read 0 512\n");
    let how = OpenOptions {
        decode: Options {
            fio_wait: Some(FioWait::RelativeUs),
            ..Options::default()
        },
        ..plain()
    };
    let (records, header) = read(&[folder.file("late.log", log)], &how).unwrap();
    assert_eq!(records.last().unwrap().ts, 250_000);
    assert_eq!(header.time_kind, TimeKind::Issue);
    assert!(!header.notes.iter().any(|note| note.contains("no times")));
}

#[test]
fn marks_and_line_ends_of_other_systems_do_not_matter() {
    let folder = Folder::new();
    let text = alibaba(&[(1, 0), (1, 10)]).replace('\n', "\r\n");
    let path = folder.file(
        "t.csv",
        [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat(),
    );
    let (records, header) = read(&[path], &plain()).unwrap();
    assert_eq!((records.len(), header.anomalies.iter().count()), (2, 0));
}

#[test]
fn damage_inside_a_text_is_counted() {
    let folder = Folder::new();
    let mut bytes = alibaba(&(0..100).map(|i| (1, i)).collect::<Vec<_>>()).into_bytes();
    bytes.extend(b"\0\xff\x01 garbage \0\n");
    bytes.extend(vec![b'x'; 5 << 20]);
    bytes.extend(b"\n");
    bytes.extend(alibaba(&[(1, 200)]).into_bytes());
    let path = folder.file("t.csv", bytes);
    let (records, header) = read(std::slice::from_ref(&path), &plain()).unwrap();
    assert_eq!(
        (records.len(), header.anomalies.of(Anomaly::BadRecord)),
        (101, 2)
    );
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = refusal(
        &[path],
        &OpenOptions {
            decode: strict,
            ..plain()
        },
    );
    assert!(error.contains("t.csv"), "{error}");
    assert!(error.contains("line 101"), "{error}");
}

#[test]
fn what_is_no_trace_says_why() {
    let folder = Folder::new();
    let garbage: Vec<u8> = (0..5000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8)
        .collect();
    for (name, bytes, word) in [
        ("empty", Vec::new(), "empty: is empty"),
        ("blank", b"\n\n# nothing\n".to_vec(), "only blank lines"),
        (
            "prose",
            b"It was a dark\nand stormy night.\n".to_vec(),
            "no known format",
        ),
        ("noise", garbage, "binary, but of no known format"),
    ] {
        let path = folder.file(name, bytes);
        let error = refusal(&[path], &plain());
        assert!(error.contains(name), "{error}");
        assert!(error.contains(word), "{error}");
    }
    let error = refusal(&[folder.0.path().to_owned()], &plain());
    assert!(error.contains("is a directory"), "{error}");
    let error = refusal(&[folder.0.path().join("absent")], &plain());
    assert!(error.contains("absent"), "{error}");
    let stdin = PathBuf::from("-");
    assert!(refusal(&[stdin.clone(), stdin], &plain()).contains("only once"));
    assert!(refusal(&[], &plain()).contains("no trace file"));
}

#[test]
fn a_forced_format_that_fits_nothing_shows_the_first_oddity() {
    let folder = Folder::new();
    let path = folder.file("t.csv", alibaba(&[(1, 0)]));
    let how = OpenOptions {
        format: Some("blktrace".to_owned()),
        ..plain()
    };
    let error = refusal(std::slice::from_ref(&path), &how);
    assert!(
        error.contains("no request that blktrace can read"),
        "{error}"
    );
    assert!(error.contains("byte 0"), "{error}");
    let how = OpenOptions {
        format: Some("blocktrace".to_owned()),
        ..plain()
    };
    let error = refusal(&[path], &how);
    assert!(error.contains("no trace format `blocktrace`"), "{error}");
}

#[test]
fn huge_and_empty_requests_follow_the_rules() {
    let folder = Folder::new();
    let path = folder.file(
        "t.csv",
        "1,R,0,0,1577808000000000\n1,W,0,70000000,1577808000000001\n1,R,9223372036854775807,512,1577808000000002\n\
         1,R,4096,512,1577808000000003\n",
    );
    let (records, header) = read(&[path], &plain()).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].op, TraceOp::Write);
    for kind in [
        Anomaly::ZeroLength,
        Anomaly::Oversized,
        Anomaly::BeyondAddressSpace,
    ] {
        assert_eq!(header.anomalies.of(kind), 1, "{kind:?}");
    }
}

#[test]
fn a_span_is_what_lies_between_of_the_whole_trace() {
    let folder = Folder::new();
    let requests: Vec<(u32, u64)> = (0..20_000).map(|n| (n % 3, u64::from(n) * 1_000)).collect();
    let path = folder.file("t.csv", alibaba(&requests));
    let (whole, header) = read(std::slice::from_ref(&path), &plain()).unwrap();
    let time = |word: &str| Some(word.parse::<TraceTime>().unwrap());
    let span = Span::told(time("5s"), time("15s"), None).unwrap();
    for (device, limit) in [(None, None), (Some("1"), None), (None, Some(100))] {
        let how = OpenOptions {
            device: device.map(str::to_owned),
            span,
            limit,
            ..plain()
        };
        let (part, of_part) = read(std::slice::from_ref(&path), &how).unwrap();
        let one = OpenOptions {
            span: Span::Whole,
            limit: None,
            ..how
        };
        let (whole, _) = read(std::slice::from_ref(&path), &one).unwrap();
        let within = |record: &&Record| (5_000_000_000..15_000_000_000).contains(&record.ts);
        let mut expected: Vec<Record> = whole.iter().filter(within).copied().collect();
        expected.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
        let first = expected[0].ts;
        expected.iter_mut().for_each(|record| record.ts -= first);
        assert_eq!(part, expected);
        let epoch = header.epoch_unix_ns.unwrap();
        if device.is_none() {
            assert_eq!(of_part.epoch_unix_ns, Some(epoch + first));
        }
    }
    assert_eq!(whole.len(), 20_000);
}

#[test]
fn coarse_stamps_are_spread_before_a_span_is_cut() {
    let folder = Folder::new();
    // Whole seconds, four requests each.
    let text: String = (0..40)
        .map(|n| format!("1,R,{},4096,{}\n", n * 8192, 1_577_808_000 + n / 4))
        .collect();
    let path = folder.file("t.csv", text);
    let how = OpenOptions {
        decode: Options {
            columns: Some("ts=5:s,op=2:R/W,offset=3:bytes,len=4:bytes,dev=1".to_owned()),
            ..Options::default()
        },
        span: Span::told(
            Some("2s500ms".parse().unwrap()),
            Some("3s250ms".parse().unwrap()),
            None,
        )
        .unwrap(),
        ..plain()
    };
    let (part, header) = read(&[path], &how).unwrap();
    let times: Vec<i64> = part.iter().map(|record| record.ts / 1_000_000).collect();
    assert_eq!(times, [0, 250, 500]);
    assert_eq!(
        header.span,
        Some(SpanRead {
            from_s: 2.5,
            to_s: Some(3.25),
            busiest: false
        })
    );
}

#[test]
fn files_that_do_not_have_times_alike_are_refused() {
    let folder = Folder::new();
    let timed = folder.file("timed.csv", "time_us,op,offset,len\n0,R,0,512\n5,R,0,512\n");
    let untimed = folder.file("untimed.csv", "op,offset,len\nR,0,512\nR,0,512\n");
    let unix = folder.file(
        "unix.csv",
        "time_s,op,offset,len\n1700000000.5,R,0,512\n1700000001.5,R,0,512\n",
    );
    let empty = folder.file("empty.csv", "op,offset,len\n");
    let sorted = OpenOptions {
        sort: true,
        ..plain()
    };
    for how in [plain(), sorted] {
        let refusal = |files: [&PathBuf; 2]| {
            read(&files.map(Clone::clone), &how)
                .unwrap_err()
                .to_string()
        };
        for files in [[&timed, &untimed], [&untimed, &timed]] {
            let error = refusal(files);
            assert!(error.contains("timed.csv has times, and "), "{error}");
            assert!(error.contains("untimed.csv has none"), "{error}");
        }
        for files in [[&timed, &unix], [&unix, &timed]] {
            let error = refusal(files);
            assert!(
                error.contains("unix.csv tells the date and time of its requests, and "),
                "{error}"
            );
        }
        for (files, requests) in [([&timed, &empty], 2), ([&untimed, &untimed], 4)] {
            let twice = folder.file("twice.csv", std::fs::read(files[1]).unwrap());
            let files = [files[0].clone(), twice];
            assert_eq!(read(&files, &how).unwrap().0.len(), requests);
        }
    }
}

#[test]
fn one_time_for_all_requests_is_none() {
    let folder = Folder::new();
    let of = |rows: &str, how: &OpenOptions| {
        let text = format!("time_s,op,offset,len\n{rows}");
        let (_, header) = read(&[folder.file("t.csv", text)], how).unwrap();
        let told = header
            .notes
            .iter()
            .any(|note| note.contains("the same time stamp"));
        assert_eq!(
            told,
            header.time_kind == TimeKind::None,
            "{:?}",
            header.notes
        );
        header.time_kind
    };
    let same = "7,R,0,512\n7,R,512,512\n7,R,1024,512\n";
    let first_two = OpenOptions {
        limit: Some(2),
        ..plain()
    };
    // Whole seconds are spread, but were one stamp.
    assert_eq!(of(same, &plain()), TimeKind::None);
    assert_eq!(of(&same.replace('7', "7.000001"), &plain()), TimeKind::None);
    assert_eq!(
        of(&format!("{same}8,R,0,512\n"), &plain()),
        TimeKind::Arrival
    );
    // The trace has other times, though its first two requests came at once.
    assert_eq!(
        of(&format!("{same}8,R,0,512\n"), &first_two),
        TimeKind::Arrival
    );
    assert_eq!(of("7,R,0,512\n", &plain()), TimeKind::Arrival);
}
