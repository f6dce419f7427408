//! Tables as people write them, read whole.

use super::super::decode::TimeUnit;
use super::super::record::Record;
use super::super::text::SECOND_NS;
use super::super::text::testing::{decoder, read, read_with, refusal};
use super::*;

/// The examples of what was odd.
fn told(sink: &Sink) -> Vec<&str> {
    let examples = sink.anomalies.examples().iter();
    examples.map(|(_, example)| example.as_str()).collect()
}

fn columns(text: &str) -> Options {
    Options {
        columns: Some(text.to_owned()),
        file: "table.csv".to_owned(),
        ..Options::default()
    }
}

#[test]
fn the_shared_tables() {
    let sink = read(
        &FORMAT,
        "time_us,dev,lba,blocks,op\n0,0,42932745,1,W\n242639,13,40409911,13,R\n",
    );
    let records = [
        Record::new(0, TraceOp::Write, 42_932_745 * 512, 512, 0),
        Record::new(242_639_000, TraceOp::Read, 40_409_911 * 512, 13 * 512, 1),
    ];
    assert_eq!(
        (sink.records, sink.devices.all()),
        (records.to_vec(), &["0".to_owned(), "13".to_owned()][..])
    );
    assert!(sink.notes.is_empty());
}

#[test]
fn our_own_exports_come_back_whole() {
    let sink = read(
        &FORMAT,
        "ts,op,offset,len,dev,client,flags,prio,service_ns,response_ns\n\
         5,write_zeroes,512,1024,sda,db,5,16388,100,200\n7,flush,0,0,sdb,,0,,,\n",
    );
    let mut full = Record::new(5, TraceOp::WriteZeroes, 512, 1_024, 0);
    full.flags = Flags(5).with(Flags::PRIORITY);
    (full.priority, full.client) = (16_388, 1);
    (full.service_ns, full.response_ns) = (100, 200);
    assert_eq!(
        sink.records,
        [full, Record::new(7, TraceOp::Flush, 0, 0, 1)]
    );
}

#[test]
fn described_columns_need_no_header() {
    let options = columns("ts=5:us,op=2:R/W,offset=3:bytes,len=4:bytes,dev=1");
    let rows = b"7,W,4096,512,1500\n7,R,0,1024,1501\n7,X,0,1024,1501\n";
    let sink = read_with(&FORMAT, rows, &options);
    let records = [
        Record::new(1_500_000, TraceOp::Write, 4_096, 512, 0),
        Record::new(1_501_000, TraceOp::Read, 0, 1_024, 0),
    ];
    assert_eq!(sink.records, records);
    assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
    let header = [&b"device;kind;at;size;when\n"[..], b"7;W;4096;512;1500\n"].concat();
    assert_eq!(read_with(&FORMAT, &header, &options).records, records[..1]);
}

#[test]
fn delimiters_quotes_and_blanks() {
    let same = |text: &str| {
        let sink = read_with(
            &FORMAT,
            text.as_bytes(),
            &columns("ts=1:ms,op=2,offset=3,len=5,dev=4"),
        );
        let record = Record::new(1_250_000, TraceOp::Write, 4_096, 512, 0);
        assert_eq!(sink.records, [record], "{text}");
        assert_eq!(sink.devices.all(), ["a b"], "{text}");
    };
    same("1.25\twrite\t4096\ta b\t512\textra");
    same("1.25\twrite\t4096\ta b\t512\t");
    same(" 1.25 ; Write ; 4096.00 ; a b ; 512 ");
    same("\"1.25\",\"WRITE\",\"4096\",\"a b\",\"512\"");
    same("1.25 w 4096 \"a b\" 512");
    same("0.125e1,1,4096,a b,512");
}

#[test]
fn empty_columns_in_front_count() {
    let options = columns("op=2,offset=3,len=4");
    let sink = read_with(&FORMAT, b"\tR\t8\t512\n,R,8,512\n", &options);
    assert_eq!((sink.records.len(), sink.records[0].offset), (1, 8));
}

#[test]
fn times_are_exact_in_every_notation() {
    let ts = |time: &str, unit: TimeUnit| {
        let options = Options {
            time_unit: Some(unit),
            ..Options::default()
        };
        let text = format!("time,offset,len,op\n{time},0,512,R\n0,0,512,R\n");
        let sink = read_with(&FORMAT, text.as_bytes(), &options);
        sink.records
            .first()
            .filter(|_| sink.records.len() == 2)
            .map(|it| it.ts)
    };
    assert_eq!(ts("1.5", TimeUnit::Seconds), Some(1_500_000_000));
    assert_eq!(ts("1.25e-05", TimeUnit::Seconds), Some(12_500));
    assert_eq!(
        ts("-2", TimeUnit::Microseconds),
        Some(-2_000),
        "the first is read as those behind it are"
    );
    let sink = read(&FORMAT, "time_us,offset,len,op\n-5x,0,512,R\n0,0,512,R\n");
    assert_eq!(
        told(&sink),
        [
            "line 2: column 1 (time_us) is `-5x`, allowed is a number of microseconds, such as 1500 or 1.25, of at most 146 years"
        ]
    );
    let error = refusal(
        &FORMAT,
        "ts,offset,len,op\n-5,0,512,R\n",
        &Options::default(),
    );
    assert!(
        error.contains("the first time is -5 and its column (ts) names no unit"),
        "{error}"
    );
    assert_eq!(ts("1E3", TimeUnit::Milliseconds), Some(1_000_000_000));
    assert_eq!(ts("1e39", TimeUnit::Seconds), None);
    assert_eq!(
        ts("9223372036854775807", TimeUnit::Nanoseconds),
        Some(i64::MAX)
    );
    assert_eq!(ts("9223372036854775808", TimeUnit::Nanoseconds), None);
    assert_eq!(ts("1.5.2", TimeUnit::Seconds), None);
    let sink = read(
        &FORMAT,
        "time_us,offset,len,op\n0,0,512,R\n-2.5,0,512,R\n-1e-1,0,512,R\n",
    );
    let times: Vec<_> = sink.records.iter().map(|it| it.ts).collect();
    assert_eq!(times, [0, -2_500, -100]);
}

#[test]
fn the_size_of_absolute_times_tells_their_unit() {
    let of = |time: &str| {
        let text = format!("time,offset,len,op\n{time},0,512,R\n");
        let sink = read(&FORMAT, &text);
        assert!(sink.notes[0].contains("has no unit"), "{:?}", sink.notes);
        sink.records[0].ts
    };
    let unix = 1_577_808_000_000_626_000;
    assert_eq!(of("1577808000.000626"), unix);
    assert_eq!(of("1577808000000.626"), unix);
    assert_eq!(of("1577808000000626"), unix);
    assert_eq!(of("1577808000000626000"), unix);
    assert_eq!(of("128166372003061629"), 1_172_163_600_306_162_900);
    let error = refusal(
        &FORMAT,
        "time,offset,len,op\n5,0,512,R\n",
        &Options::default(),
    );
    assert!(error.contains("say --time-unit"), "{error}");
}

#[test]
fn a_unit_that_the_header_names_is_not_said_again() {
    let options = Options {
        time_unit: Some(TimeUnit::Milliseconds),
        ..Options::default()
    };
    for (header, named) in [
        ("time_us,offset,len,op", "column 1 (time_us)"),
        ("#time_us,offset,len,op", "column 1 (time_us)"),
        ("op,Timestamp [ms],offset,len", "column 2 (Timestamp [ms])"),
        ("ts,op,offset,len,dev", "our own tables, whose times are ns"),
    ] {
        let row = match header.starts_with("op") {
            true => "R,5,0,512,a",
            false if header.starts_with("ts") => "5,R,0,512,a",
            false => "5,0,512,R",
        };
        let error = refusal(&FORMAT, &format!("{header}\n{row}\n"), &options);
        assert!(error.contains("--time-unit"), "{error}");
        assert!(error.contains(named), "{error}");
    }
    let open = "time,offset,len,op\n5,0,512,R\n";
    assert_eq!(
        read_with(&FORMAT, open.as_bytes(), &options).records[0].ts,
        5_000_000
    );
}

#[test]
fn rows_with_more_fields_than_the_header_names_are_told() {
    let table =
        "time_us,op,offset,len,note\n1,R,0,512,a,b,c\n2,R,0,512,\"a,b\"\n3,R,0,512,a,\n4,R,0,512\n";
    let sink = read(&FORMAT, table);
    assert_eq!(sink.records.len(), 4);
    let note = "1 row has more fields than the header names, for example `b,c`: what is beyond was not read";
    assert!(
        sink.notes.iter().any(|told| told == note),
        "{:?}",
        sink.notes
    );
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = refusal(&FORMAT, "time_us,op,offset,len\n1,R,0,512,9\n", &strict);
    assert!(
        error.contains("the row goes on behind column 4 (len) with `9`"),
        "{error}"
    );
    // Where nothing says how many there are, others are left out.
    let sink = read_with(
        &FORMAT,
        b"1,R,0,512,9\n",
        &columns("ts=1:us,op=2,offset=3,len=4"),
    );
    assert!(sink.notes.is_empty(), "{:?}", sink.notes);
}

#[test]
fn flags_are_words_or_bits() {
    let flags = |field: &str| {
        let table = format!("time_us,op,offset,len,flags\n1,W,0,512,{field}\n");
        let sink = read(&FORMAT, &table);
        sink.records.first().map(|record| record.flags)
    };
    assert_eq!(flags("1"), Some(Flags::FUA));
    assert_eq!(flags("fua"), Some(Flags::FUA));
    assert_eq!(flags("FUA|Sync"), Some(Flags::FUA.with(Flags::SYNC)));
    assert_eq!(
        flags("\"preflush|metadata\""),
        Some(Flags::PREFLUSH.with(Flags::METADATA))
    );
    assert_eq!(flags(""), Some(Flags::default()));
    assert_eq!(flags("fua|"), None);
    assert_eq!(flags("forced"), None);
    let sink = read(&FORMAT, "time_us,op,offset,len,flags\n1,W,0,512,forced\n");
    assert_eq!(
        told(&sink),
        [
            "line 2: column 5 (flags) is `forced`, allowed is a whole number from 0 to 65535, or words joined by |: fua, preflush, \
             sync, metadata, readahead, priority, reconstructed, coarse, atomic, failed, stays, offer_track, offer_group, offer_disk (one \
             of the last four at most)"
        ]
    );
}

#[test]
fn a_column_says_how_far_a_write_may_move() {
    let flags = |field: &str| {
        let table = format!("time_us,op,offset,len,may_move\n1,W,0,512,{field}\n");
        let sink = read(&FORMAT, &table);
        sink.records.first().map(|record| record.flags)
    };
    for (word, flag) in Flags::OFFERS {
        assert_eq!(flags(word), Some(flag));
    }
    assert_eq!(flags("\"Group\""), Some(Flags::OFFER_GROUP));
    assert_eq!(flags(""), Some(Flags::default()));
    let sink = read(&FORMAT, "time_us,op,offset,len,may_move\n1,W,0,512,drive\n");
    assert_eq!(
        told(&sink),
        ["line 2: column 5 (may_move) is `drive`, allowed is none, track, group, disk, or nothing"]
    );
    let said = read_with(
        &FORMAT,
        b"1,W,0,512,disk\n",
        &columns("ts=1:us,op=2,offset=3,len=4,may_move=5"),
    );
    assert_eq!(said.records[0].flags, Flags::OFFER_DISK);
    // Two that contradict each other are none.
    let both = |flags: &str, offer: &str| {
        let table = format!("time_us,op,offset,len,flags,may_move\n1,W,0,512,{flags},{offer}\n");
        read(&FORMAT, &table).records.len()
    };
    assert_eq!(both("fua|offer_track", "track"), 1);
    assert_eq!(both("offer_track", "disk"), 0);
    let table = "time_us,op,offset,len,flags,may_move\n1,W,0,512,offer_track,disk\n";
    let complaint =
        "line 2: column 6 (may_move) is `disk`, allowed is the same as in flags, or nothing";
    assert_eq!(told(&read(&FORMAT, table)), [complaint]);
    assert_eq!(both("offer_track|offer_disk", ""), 0);
    assert_eq!(both("1536", ""), 0, "stays, and may move on its track");
    assert_eq!(both("512", ""), 1);
}

#[test]
fn a_level_without_a_class_is_no_priority() {
    let read = |prio: u64| {
        let text = format!("time_us,op,offset,len,prio\n1,W,0,512,{prio}\n");
        read(&FORMAT, &text)
    };
    for prio in [0, 1 << 13, 2 << 13 | 4, 3 << 13] {
        assert_eq!(u64::from(read(prio).records[0].priority), prio);
    }
    let allowed = "allowed is 0 for none, or Linux's class << 13 | level, where the class is 1 (real-time), 2 (best effort) or 3 \
        (idle): 16388 is level 4 of best effort";
    for prio in [1, 7, 8_191, 4 << 13, 65_536] {
        let sink = read(prio);
        assert_eq!(
            sink.records,
            [Record::new(1_000, TraceOp::Write, 0, 512, 0)]
        );
        assert_eq!(
            sink.notes,
            [format!(
                "1 row has no priority where one should be (first line 2: `{prio}`): these requests were taken without one; {allowed}"
            )]
        );
        assert_eq!(told(&sink), [""; 0]);
    }
    // No request is lost for what stands there, and the first is named.
    let text = "# made\ntime_us,prio,op,offset,len\n1,16388,W,0,512\n\n2,\"be/4\",W,0,512\n3,,W,0,512\n4,2x,W,0,512\n5,-4,W,0,512\n";
    let sink = read_with(&FORMAT, text.as_bytes(), &Options::default());
    assert_eq!(sink.records.len(), 5);
    assert_eq!(
        sink.notes,
        [format!(
            "3 rows have no priority where one should be (first line 5: `be/4`): these requests were taken without one; {allowed}"
        )]
    );
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = refusal(
        &FORMAT,
        "time_us,op,offset,len,prio\n1,W,0,512,4\n",
        &strict,
    );
    assert!(
        error.contains(&format!("line 2: column 5 (prio) is `4`, {allowed}")),
        "{error}"
    );
}

#[test]
fn the_epoch_and_the_resolution_are_told() {
    let of = |text: &str| {
        let (mut decoder, mut sink) = (
            decoder(&FORMAT, &Options::default()).unwrap(),
            Sink::default(),
        );
        decoder.decode(text.as_bytes(), true, &mut sink).unwrap();
        let time = decoder.time();
        let coarse = sink.records[0].flags.has(Flags::COARSE);
        (time.resolution_ns, time.kind, time.epoch_unix_ns, coarse)
    };
    let kind = TimeKind::Arrival;
    assert_eq!(
        of("time_us,offset,len\n5,0,1\n"),
        (1_000, kind, None, false)
    );
    assert_eq!(
        of("time,offset,len\n1577808000,0,1\n"),
        (SECOND_NS, kind, Some(0), true)
    );
    assert_eq!(
        of("time_s,offset,len\n1.000001,0,1\n"),
        (1_000, kind, None, false)
    );
    assert_eq!(
        of("op,offset,len\nR,0,1\n"),
        (1, TimeKind::None, None, false)
    );
}

#[test]
fn operations_are_called_many_names() {
    let ops = |names: &[&str]| {
        let rows = names.iter().map(|name| format!("1,{name},0,512\n"));
        let sink = read(
            &FORMAT,
            &format!("time_us,op,offset,len\n{}", rows.collect::<String>()),
        );
        sink.records.iter().map(|it| it.op).collect::<Vec<_>>()
    };
    assert_eq!(
        ops(&["R", "r", "READ", "0", "false", "RA", "rd"]),
        [TraceOp::Read; 7]
    );
    assert_eq!(
        ops(&["W", "Write", "1", "TRUE", "WS", "FWFSM", "ws"]),
        [TraceOp::Write; 7]
    );
    assert_eq!(ops(&["flush", "FF", "fsync", "F"]), [TraceOp::Flush; 4]);
    assert_eq!(ops(&["trim", "DE", "unmap"]), [TraceOp::Discard; 3]);
    assert_eq!(ops(&["2", "", "reads", "X"]), []);
}

#[test]
fn what_the_table_does_not_say_is_told() {
    let options = columns("offset=1:sectors,len=2:sectors");
    let sink = read_with(&FORMAT, b"8,1\n16,2\n", &options);
    assert_eq!(sink.anomalies.of(Anomaly::DirectionGuessed), 2);
    assert_eq!(sink.devices.all(), ["table.csv"]);
    assert_eq!(sink.notes.len(), 2, "{:?}", sink.notes);
    let sink = read(&FORMAT, "time_us,type,offset,len\n1,1,0,512\n");
    assert!(sink.notes[0].contains("0 was taken as read"));
}

#[test]
fn bad_rows_are_left_out() {
    let sink = read(
        &FORMAT,
        "time_us,dev,lba,blocks,op\n0,0,-1,1,W\n0,0,1,1\n0,,1,1,W\n0,0,1.5,1,W\nx,0,1,1,W\n\
         0,0,1,36028797018963968,W\n\0,0,1,1,W\n0,0,1,1,W\n",
    );
    assert_eq!(sink.records.len(), 1);
    assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 6);
    assert_eq!(sink.anomalies.of(Anomaly::BeyondAddressSpace), 1);
}

#[test]
fn a_duration_of_minus_one_is_unknown_and_a_bad_one_leaves_the_request() {
    let header = "time_us,op,offset,len,latency_us,client\n";
    let text = |durations: &[&str]| -> String {
        let rows = durations
            .iter()
            .map(|duration| format!("0,R,0,512,{duration},a\n"));
        std::iter::once(header.to_owned()).chain(rows).collect()
    };
    let sink = read(
        &FORMAT,
        &text(&[
            "-1", "7", "-2", "-1.5", "-1.0", "8ms", "\"x,y\"", "1.2.3", "9",
        ]),
    );
    let times: Vec<u64> = sink.records.iter().map(|it| it.response_ns).collect();
    let unknown = Record::UNKNOWN;
    let expected = [
        unknown, 7_000, unknown, unknown, unknown, unknown, unknown, unknown, 9_000,
    ];
    assert_eq!(times, expected);
    assert!(sink.records.iter().all(|record| record.client == 1));
    let allowed = "a number from 0, such as 1500, 1.25 or 8.7e-05, or -1 where it is not known";
    let notes = [
        "2 rows have -1 where they tell how long a request took: that was taken as unknown"
            .to_owned(),
        format!(
            "5 rows do not tell how long a request took, but have for example `-2`: that was taken as unknown; allowed is {allowed}"
        ),
    ];
    assert_eq!(sink.notes, notes);
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = refusal(&FORMAT, &text(&["1", "8ms"]), &strict);
    let expected = format!("line 3: column 5 (latency_us) is `8ms`, allowed is {allowed}");
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn durations_may_have_an_exponent() {
    let sink = read(
        &FORMAT,
        "time,op,offset,size,latency_s\n1795217400.0,R,0,4096,5.9999999999999995e-05\n1795217400.1,R,0,4096,8.7E-05\n\
         1795217400.2,R,0,4096,\"1e+1\"\n",
    );
    let times: Vec<u64> = sink.records.iter().map(|it| it.response_ns).collect();
    assert_eq!(times, [59_999, 87_000, 10_000_000_000]);
}

#[test]
fn numbers_that_are_too_large_are_told_with_the_largest() {
    let sink = read(
        &FORMAT,
        "time_us,op,lba,blocks\n0,R,99999999999999999999,1\n1e30,R,0,1\n",
    );
    let told = told(&sink);
    assert!(
        told[0].ends_with("allowed is a whole number from 0 to 18014398509481984"),
        "{told:?}"
    );
    assert!(
        told[1].ends_with("a number of microseconds, such as 1500 or 1.25, of at most 146 years"),
        "{told:?}"
    );
}

#[test]
fn a_table_without_names_is_refused_with_what_helps() {
    let error = refusal(&FORMAT, "1,2,3\n", &Options::default());
    assert!(
        error.contains("found `1,2,3`; describe them with --columns"),
        "{error}"
    );
}

/// Three rows with these times, and nothing else in them that differs.
fn timed(header: &str, times: [&str; 3], options: &Options) -> Sink {
    let rows = times.map(|time| format!("{time},0,512,R\n")).concat();
    let text = format!("{header},offset,len,op\n{rows}");
    read_with(&FORMAT, text.as_bytes(), options)
}

#[test]
fn times_may_be_dates() {
    let dates = [
        "2026-11-20 10:15:32.123456",
        "\"2026-11-20T10:15:32.123457Z\"",
        " 2026-11-20T11:15:32.1234585+01:00 ",
    ];
    // A unit in the name of their column does not make numbers of them.
    for header in ["time", "time_us", "ts"] {
        let sink = timed(header, dates, &Options::default());
        let base = 1_795_169_732_000_000_000;
        let times: Vec<i64> = sink.records.iter().map(|it| it.ts - base).collect();
        assert_eq!(times, [123_456_000, 123_457_000, 123_458_500], "{header}");
        let note = "the times of 1 rows are dates that do not say their offset from UTC, as Z or +01:00 do: they were taken as UTC";
        assert_eq!(sink.notes, [note]);
    }
    let own = "ts,op,offset,len,dev\n2026-11-20T10:15:32.5Z,read,0,512,a\n";
    assert_eq!(read(&FORMAT, own).records[0].ts, 1_795_169_732_500_000_000);
    let blanks =
        "time op offset len\n2026-11-20T10:15:32Z R 0 512\n\"2026-11-20 10:15:33Z\" R 0 512\n";
    let sink = read(&FORMAT, blanks);
    assert_eq!(sink.records[1].ts - sink.records[0].ts, SECOND_NS as i64);
}

#[test]
fn a_number_among_dates_is_a_bad_row_and_a_date_among_numbers() {
    let date = "2026-11-20 10:15:32Z";
    let sink = timed(
        "time",
        [date, "1795169732", "2026-11-20 10:15:60Z"],
        &Options::default(),
    );
    assert_eq!(sink.records.len(), 1);
    let allowed = "allowed is a date with its time, such as 2026-11-20 10:15:32.123456";
    let bad = told(&sink);
    assert!(
        bad[0].contains(&format!("column 1 (time) is `1795169732`, {allowed}")),
        "{bad:?}"
    );
    assert!(bad[1].contains("10:15:60Z`, allowed is"), "{bad:?}");
    let sink = timed(
        "time",
        ["1795169732", date, "1795169733"],
        &Options::default(),
    );
    assert_eq!(sink.records.len(), 2);
    let expected = "line 3: column 1 (time) is `2026-11-20 10:15:32Z`, allowed is a number of seconds, such as";
    assert!(told(&sink)[0].starts_with(expected), "{:?}", told(&sink));
    let text = "time op offset len\n2026-11-20 10:15:32Z R 0 512\n";
    let sink = read(&FORMAT, text);
    assert!(
        told(&sink)[0].contains("with a T in it or in quotes"),
        "{:?}",
        told(&sink)
    );
}

#[test]
fn a_unit_that_is_said_of_dates_is_an_option_without_effect() {
    let date = "2026-11-20 10:15:32Z,0,512\n";
    let error = refusal(&FORMAT, date, &columns("ts=1:us,offset=2,len=3"));
    assert!(
        error.contains("the unit of `ts` in --columns has no effect"),
        "{error}"
    );
    assert!(error.contains("its times are dates"), "{error}");
    let options = Options {
        time_unit: Some(TimeUnit::Milliseconds),
        ..Options::default()
    };
    for header in ["time,offset,len\n", "time_us,offset,len\n"] {
        let error = refusal(&FORMAT, &format!("{header}{date}"), &options);
        assert!(error.contains("--time-unit has no effect"), "{error}");
    }
    let error = refusal(&FORMAT, "op,offset,len\nR,0,512\n", &options);
    assert!(
        error.contains("no column of the table tells times"),
        "{error}"
    );
    let sink = read_with(&FORMAT, date.as_bytes(), &columns("ts=1,offset=2,len=3"));
    assert_eq!(sink.records.len(), 1);
    let libcachesim = columns("time-col=1,obj-size-col=3,offset=2");
    assert_eq!(
        read_with(&FORMAT, date.as_bytes(), &libcachesim)
            .records
            .len(),
        1
    );
}

#[test]
fn dates_tell_their_resolution_and_their_epoch() {
    let of = |time: &str| {
        let (mut decoder, mut sink) = (
            decoder(&FORMAT, &Options::default()).unwrap(),
            Sink::default(),
        );
        let text = format!("time,offset,len\n{time},0,512\n");
        decoder.decode(text.as_bytes(), true, &mut sink).unwrap();
        let time = decoder.time();
        let coarse = sink.records[0].flags.has(Flags::COARSE);
        (time.resolution_ns, time.epoch_unix_ns, coarse)
    };
    assert_eq!(of("2026-11-20 10:15:32"), (SECOND_NS, Some(0), true));
    assert_eq!(of("2026-11-20 10:15:32.123Z"), (1_000_000, Some(0), false));
    assert_eq!(of("2026-11-20 10:15:32.123456789"), (1, Some(0), false));
}

#[test]
fn columns_may_be_described_by_the_names_of_a_header() {
    let options = columns("ts=begun:us,op=rw,offset=off:bytes,len=nbytes:bytes");
    let rows = "5,R,4096,512,7\n6,W,0,1024,8\n";
    let records = [
        Record::new(5_000, TraceOp::Read, 4_096, 512, 0),
        Record::new(6_000, TraceOp::Write, 0, 1_024, 0),
    ];
    for header in [
        "begun,rw,off,nbytes,colour\n",
        "\nbegun,rw,off,nbytes,colour\n",
        "# by hand\n#begun,rw,off,nbytes,colour\n",
    ] {
        let sink = read_with(&FORMAT, format!("{header}{rows}").as_bytes(), &options);
        assert_eq!(sink.records, records, "{header}");
        assert!(sink.notes.is_empty(), "{:?}", sink.notes);
    }
    let error = refusal(&FORMAT, rows, &options);
    assert!(
        error.contains("line 1: --columns names columns, and the first line is no header"),
        "{error}"
    );
    let error = refusal(&FORMAT, "begun,rw,at,nbytes\n5,R,0,512\n", &options);
    assert!(
        error.contains("no column `off`; it has: begun, rw, at, nbytes"),
        "{error}"
    );
}

#[test]
fn a_header_above_numbered_columns_says_what_they_are_called_and_what_is_left_out() {
    let options = columns("ts=1:us,op=2,offset=3,len=4");
    let text = "begun,rw,off,nbytes,latency_us\n5,R,x,512,7\n6,R,0,512,7\n";
    let sink = read_with(&FORMAT, text.as_bytes(), &options);
    assert_eq!(
        sink.notes,
        ["column 5 (latency_us) is not read: add response=5:us to --columns"]
    );
    assert!(
        told(&sink)[0].contains("column 3 (off) is `x`"),
        "{:?}",
        told(&sink)
    );
    // A row whose numbers stand between other signs is none the less no header.
    let options = columns("op=1,offset=2,len=3,delimiter=|");
    let sink = read_with(&FORMAT, b"R|0|512\nW|0|512\n", &options);
    assert_eq!(sink.records.len(), 2);
}

#[test]
fn a_header_may_be_a_comment() {
    let sink = read(
        &FORMAT,
        "# made by hand\n# time_us op offset len\n5 R 0 512\n",
    );
    assert_eq!(sink.records[0].ts, 5_000);
}
