//! Whole inspections: what is found, what is warned about, what is printed.

use nearslot_trace::{Anomalies, Device as TracedDevice, Sink, TimeKind};

use super::*;

fn header() -> Header {
    Header {
        format: "csv".to_owned(),
        version: None,
        files: vec!["toy.csv".to_owned()],
        epoch_unix_ns: None,
        resolution_ns: 1_000,
        stamp_step_ns: None,
        time_kind: TimeKind::Arrival,
        sector_size: 512,
        object_ids: false,
        devices: ["sda", "sdb"]
            .map(|name| TracedDevice {
                name: name.to_owned(),
                ..TracedDevice::default()
            })
            .into(),
        clients: ["", "postgres", "cc1"].map(str::to_owned).into(),
        requests: 0,
        understood: 0,
        limited: false,
        span: None,
        anomalies: Anomalies::default(),
        notes: vec!["read as toy".to_owned()],
        spread: None,
    }
}

/// 20,000 requests, one every 2.5 ms: 3 of 4 read 4 KiB at random, the rest writes 8 KiB one after
/// the other.
fn records() -> Vec<Record> {
    let record = |i: u64| {
        let ts = i as i64 * 2_500_000 + (i % 7) as i64 * 1_000;
        if i.is_multiple_of(4) {
            let write = Record::new(ts, TraceOp::Write, (1 << 30) + i / 4 * 8192, 8192, 0);
            Record { client: 1, ..write }
        } else {
            let page = nearslot_core::rng::mix(i) % 100_000;
            let read = Record::new(ts, TraceOp::Read, page * 4096, 4096, 0);
            Record {
                client: 2,
                response_ns: 5_000_000,
                ..read
            }
        }
    };
    (0..20_000).map(record).collect()
}

fn inspected(records: &[Record], header: &Header, against: Against) -> Inspection {
    let mut inspector = Inspector::new(against);
    records
        .chunks(4096)
        .for_each(|batch| inspector.record(batch));
    inspector.finish(header)
}

fn codes(found: &Inspection) -> Vec<&'static str> {
    found
        .warnings
        .iter()
        .map(|warning| warning.kind.word())
        .collect()
}

#[test]
fn a_plausible_trace_has_no_warnings() {
    let found = inspected(&records(), &header(), Against::default());
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!((found.requests, found.devices[0].reads), (20_000, 15_000));
    assert!((found.read_share.unwrap() - 0.75).abs() < 1e-12);
    assert!((found.arrivals.mean_rps.unwrap() - 400.0).abs() < 0.1);
    assert!((found.sequentiality.stream_share - 4_999.0 / 20_000.0).abs() < 1e-3);
    assert_eq!(found.clients.busiest[0].name, "cc1");
    assert!((found.queue.unwrap().mean.unwrap() - 1.5).abs() < 0.01);
    assert_eq!(found.time.step_ns, Some(1_000));
}

#[test]
fn times_a_thousand_times_off_are_told() {
    let times = |factor: f64| -> Vec<Record> {
        let scaled = |record: Record| Record {
            ts: (record.ts as f64 * factor) as i64,
            ..record
        };
        records().into_iter().map(scaled).collect()
    };
    let warned = |factor| codes(&inspected(&times(factor), &header(), Against::default()));
    assert_eq!(warned(1_000.0), ["times-too-long"]);
    assert_eq!(warned(1e-6), ["times-too-short"]);
    assert_eq!(warned(0.0), ["no-times"]);
    let told_of = |format: &str, notes: &[&str]| {
        let header = Header {
            time_kind: TimeKind::None,
            format: format.to_owned(),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
            ..header()
        };
        let found = inspected(&times(0.0), &header, Against::default());
        found.warnings[0].text.clone()
    };
    let told = |notes: &[&str]| told_of("csv", notes);
    let same = "all requests have the same time: ";
    assert!(told(&[]).starts_with(same));
    assert!(told(&[Sink::ONE_TIME]).starts_with(same));
    let without = told(&[Sink::WITHOUT_TIME]);
    assert!(without.starts_with("the trace has no times: "), "{without}");
    assert!(without.ends_with("--columns names it"), "{without}");
    // Other formats have no columns that could be named.
    let without = told_of("fio", &[Sink::WITHOUT_TIME]);
    assert!(without.ends_with(" makes sense"), "{without}");
}

#[test]
fn addresses_in_a_wrong_unit_are_told() {
    let scaled = |scale: &dyn Fn(u64) -> u64| {
        let mut records = records();
        for record in &mut records {
            (record.offset, record.len) = (scale(record.offset / 512 + 1), scale(record.len / 512));
        }
        codes(&inspected(&records, &header(), Against::default()))
    };
    assert_eq!(scaled(&|sectors| sectors), ["sectors-as-bytes"]);
    assert_eq!(scaled(&|sectors| sectors * 512 * 512), ["bytes-as-sectors"]);
    assert_eq!(
        scaled(&|sectors| sectors * 512 + (1 << 55)),
        ["address-absurd", "outsized"]
    );
}

#[test]
fn lengths_in_a_wrong_unit_are_told() {
    let mut records = records();
    records.iter_mut().for_each(|record| record.len *= 2_000);
    let found = inspected(&records, &header(), Against::default());
    assert_eq!(codes(&found), ["lengths-too-long"]);
}

#[test]
fn where_the_format_fixes_the_unit_of_addresses_it_is_not_doubted() {
    let of = |format: &str| {
        let header = Header {
            format: format.to_owned(),
            ..header()
        };
        let mut records = records();
        for record in &mut records {
            record.offset = record.offset / 4096 * (256 << 10);
            record.len = 256 << 10;
        }
        codes(&inspected(&records, &header, Against::default()))
    };
    assert_eq!(of("csv"), ["bytes-as-sectors"]);
    assert_eq!(of("fio, parquet"), ["bytes-as-sectors"]);
    assert_eq!(of("fio"), [""; 0]);
}

#[test]
fn a_quiet_device_is_not_one_with_times_too_long() {
    // 7 requests a second in bursts of ten within 60 ms.
    let mut records: Vec<Record> = records().into_iter().collect();
    for (record, i) in records.iter_mut().zip(0_i64..) {
        record.ts = i / 10 * 1_430_000_000 + i % 10 * 6_000_000;
    }
    let found = inspected(&records, &header(), Against::default());
    assert!(found.arrivals.gap_p10_ms.unwrap() > 1.0);
    assert!(found.arrivals.mean_rps.unwrap() < 10.0);
    assert_eq!(codes(&found), [""; 0]);
}

/// One pause makes the mean gap long, and no other.
#[test]
fn a_pause_is_not_a_clock_that_stands() {
    let mut records: Vec<Record> = records().into_iter().collect();
    let mut every = |gap_ns: i64, pause_ns: i64| {
        for (record, i) in records.iter_mut().zip(0_i64..) {
            let pause_ns = if i > 9_000 { pause_ns } else { 0 };
            record.ts = i * gap_ns + i % 7 * 1_000_000 + pause_ns;
        }
        codes(&inspected(&records, &header(), Against::default()))
    };
    let month = 30 * 86_400 * 1_000_000_000;
    assert_eq!(every(50_000_000, month), [""; 0]);
    assert_eq!(every(200_000_000_000, 0), ["times-too-long"]);
}

#[test]
fn stamps_coarser_than_their_unit_are_told_with_their_step() {
    let header = Header {
        resolution_ns: 1_000_000_000,
        stamp_step_ns: Some(60_000_000_000),
        spread: Some(Spread::Even),
        ..header()
    };
    let found = inspected(&records(), &header, Against::default());
    assert_eq!(codes(&found), ["coarse-stamps"]);
    let expected = "time stamps have steps of 60 s; requests of one stamp were spread evenly over 1 s, their smallest unit, so bursts and \
                    pauses are those of the stamps (--replay closed does without times)";
    assert_eq!(found.warnings[0].text, expected);
}

#[test]
fn a_drive_that_is_too_small_is_named() {
    let drive = Some(("toy-drive".to_owned(), Blocks(1 << 21)));
    let found = inspected(&records(), &header(), Against { drive });
    assert_eq!(codes(&found), ["beyond-drive"]);
    let text = &found.warnings[0].text;
    assert!(text.contains("5000 of 20000"), "{text}");
    assert!(text.contains("toy-drive"), "{text}");
}

#[test]
fn what_the_reader_found_odd_is_told() {
    let mut header = header();
    header.resolution_ns = 1_000_000_000;
    header.spread = Some(Spread::Even);
    let anomalies = &mut header.anomalies;
    anomalies.add(Anomaly::DirectionGuessed, 9);
    anomalies.add(Anomaly::Inversion, 3);
    anomalies.add(Anomaly::Lost, 100);
    anomalies.add(Anomaly::Failed, 2);
    let mut records = records();
    records[7].dev = 1;
    let found = inspected(&records, &header, Against::default());
    let expected = [
        "one-second-stamps",
        "several-devices",
        "not-monotone",
        "lost-events",
        "direction-guessed",
        "failed-completions",
    ];
    assert_eq!(codes(&found), expected);
    assert!((found.lost_share - 100.0 / 20_100.0).abs() < 1e-12);
    assert_eq!(found.time.step_ns, None);
}

#[test]
fn the_text_has_every_line_and_the_json_every_key() {
    let found = inspected(&records(), &header(), Against::default());
    let text = found.to_string();
    for part in [
        "20,000 in 49.998 s",
        "75.0 % of reads and writes",
        "cc1 (15,000)",
        "working set   ",
        "median 4 KiB",
        "resolution 1 us",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["schema"], 2);
    assert_eq!(json["operations"]["read"]["requests"], 15_000);
    assert_eq!(json["sizes"]["all"]["p50_bytes"], 4096);
    assert_eq!(
        json["timeline"]["working_set_mib"]
            .as_array()
            .unwrap()
            .len(),
        50
    );
}

#[test]
fn nothing_at_all_is_inspected_without_a_panic() {
    let found = inspected(&[], &header(), Against::default());
    assert_eq!(codes(&found), ["no-media"]);
    assert!(found.to_string().contains("requests      0 in 0 s"));
    let flush = [Record::new(0, TraceOp::Flush, 0, 0, 0)];
    assert!(
        inspected(&flush, &header(), Against::default())
            .sizes
            .all
            .is_none()
    );
}

#[test]
fn without_times_nothing_is_drawn_over_time() {
    let records: Vec<Record> = records()
        .into_iter()
        .map(|record| Record { ts: 0, ..record })
        .collect();
    let of = |time_kind| {
        let mut inspector = Inspector::with_pictures(Against::default());
        inspector.record(&records);
        let header = Header {
            time_kind,
            ..header()
        };
        let found = inspector.finish(&header);
        let pictures = found.pictures.unwrap();
        (
            found.arrivals.gaps.zero,
            pictures.heat.is_some(),
            pictures.reuse.is_some(),
        )
    };
    assert_eq!(of(TimeKind::None), (0, false, true));
    assert_eq!(
        of(TimeKind::Arrival),
        (records.len() as u64 - 1, true, true)
    );
}
