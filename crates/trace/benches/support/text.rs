//! The requests of the bench in the text formats, as the programs that make these files write them.

use std::fmt::Write;

use nearslot_trace::{Record, TraceOp};

/// A line a record.
fn lines(records: &[Record], line: impl Fn(&mut String, &Record) -> std::fmt::Result) -> Vec<u8> {
    let mut text = String::new();
    for record in records {
        line(&mut text, record).expect("memory");
        text.push('\n');
    }
    text.into_bytes()
}

/// Five lines a record, in the order of time: queued, allocated, inserted, issued, completed.
fn events(
    records: &[Record],
    line: impl Fn(&mut String, &Record, usize, i64) -> std::fmt::Result,
) -> Vec<u8> {
    let mut events: Vec<(i64, usize, usize)> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let done = record.ts + record.response_ns as i64;
        let issued = done - record.service_ns as i64;
        for (step, time) in [record.ts, record.ts, record.ts, issued, done]
            .into_iter()
            .enumerate()
        {
            events.push((time, index, step));
        }
    }
    events.sort_unstable();
    let mut text = String::new();
    for (time, index, step) in events {
        line(&mut text, &records[index], step, time).expect("memory");
        text.push('\n');
    }
    text.into_bytes()
}

fn reads(record: &Record) -> bool {
    record.op == TraceOp::Read
}

fn letter(record: &Record) -> char {
    if reads(record) { 'R' } else { 'W' }
}

fn word(record: &Record) -> &'static str {
    if reads(record) { "Read" } else { "Write" }
}

fn sectors(record: &Record) -> (u64, u64) {
    (record.offset / 512, record.len / 512)
}

/// Seconds with nine decimals.
fn seconds(time: i64) -> String {
    format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000)
}

fn blkparse_line(text: &mut String, record: &Record, step: usize, time: i64) -> std::fmt::Result {
    let ((sector, sectors), stamp) = (sectors(record), seconds(time));
    let action = char::from(b"QGIDC"[step]);
    let last = if step == 4 { "0" } else { "kworker/u8:1" };
    write!(
        text,
        "  8,0    1        7 {stamp:>15}   700  {action}   {} {sector} + {sectors} [{last}]",
        letter(record)
    )
}

pub(crate) fn blkparse(records: &[Record]) -> Vec<u8> {
    events(records, blkparse_line)
}

pub(crate) fn blkparse_arrivals(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        blkparse_line(text, record, 0, record.ts)
    })
}

fn perf_line(text: &mut String, record: &Record, step: usize, time: i64) -> std::fmt::Result {
    let ((sector, sectors), stamp, op) = (sectors(record), seconds(time), letter(record));
    let (event, bytes, priority) = match step {
        0 => ("block_bio_queue", "", ""),
        1 => ("block_getrq", "", ""),
        2 => ("block_io_start", "4096 () ", " 0x2,0,4"),
        3 => ("block_rq_issue", "4096 () ", " 0x2,0,4"),
        _ => ("block_rq_complete", "() ", " 0x2,0,4"),
    };
    let last = if step == 4 { "0" } else { "fio" };
    write!(
        text,
        "             fio 11375 [001] {stamp:>16}: block:{event}: 254,0 {op}S {bytes}{sector} + {sectors}{priority} [{last}]"
    )
}

pub(crate) fn perf(records: &[Record]) -> Vec<u8> {
    events(records, perf_line)
}

pub(crate) fn perf_arrivals(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        perf_line(text, record, 0, record.ts)
    })
}

pub(crate) fn spc(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let (sector, _) = sectors(record);
        let (whole, micros) = (record.ts / 1_000_000_000, record.ts / 1_000 % 1_000_000);
        write!(
            text,
            "0,{sector},{},{},{whole}.{micros:06}",
            record.len,
            letter(record)
        )
    })
}

pub(crate) fn msr(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let ticks = 128_166_372_003_061_629 + record.ts / 100;
        let response = record.response_ns / 100;
        let (kind, offset, len) = (word(record), record.offset, record.len);
        write!(text, "{ticks},src1,0,{kind},{offset},{len},{response}")
    })
}

pub(crate) fn alibaba(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let micros = 1_577_808_000_000_626 + record.ts / 1_000;
        write!(
            text,
            "419,{},{},{},{micros}",
            letter(record),
            record.offset,
            record.len
        )
    })
}

pub(crate) fn tencent(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let ((sector, sectors), writes) = (sectors(record), u8::from(!reads(record)));
        let second = 1_538_323_199 + record.ts / 1_000_000_000;
        write!(text, "{second},{sector},{sectors},{writes},1576")
    })
}

pub(crate) fn k5cloud(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let (stamp, op) = (seconds(record.ts), letter(record));
        write!(text, "2264,{stamp},{op},{},{}", record.offset, record.len)
    })
}

pub(crate) fn systor17(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let stamp = seconds(1_455_505_200_000_000_000 + record.ts);
        let response = seconds(record.response_ns as i64);
        let op = letter(record);
        write!(
            text,
            "{stamp},{response},{op},4,{},{}",
            record.offset, record.len
        )
    })
}

pub(crate) fn disksim(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let ((sector, sectors), flags) = (sectors(record), u8::from(reads(record)));
        let (millis, rest) = (record.ts / 1_000_000, record.ts % 1_000_000);
        write!(text, "{millis}.{rest:06} 0 {sector} {sectors} {flags}")
    })
}

pub(crate) fn mqsim(records: &[Record]) -> Vec<u8> {
    lines(records, |text, record| {
        let ((sector, sectors), kind) = (sectors(record), u8::from(reads(record)));
        write!(text, "{} 1 {sector} {sectors} {kind}", record.ts)
    })
}

/// The same with dates to the microsecond, as a database writes them, all within an hour.
pub(crate) fn csv_dates(records: &[Record]) -> Vec<u8> {
    let rows = lines(records, |text, record| {
        let ((sector, sectors), micros) = (sectors(record), record.ts / 1_000 % 3_600_000_000);
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let (minute, second) = (seconds / 60, seconds % 60);
        write!(
            text,
            "2026-11-20 10:{minute:02}:{second:02}.{micros:06},0,{sector},{sectors},{}",
            letter(record)
        )
    });
    [&b"time,dev,lba,blocks,op\n"[..], &rows].concat()
}

pub(crate) fn csv(records: &[Record]) -> Vec<u8> {
    let rows = lines(records, |text, record| {
        let ((sector, sectors), micros) = (sectors(record), record.ts / 1_000);
        write!(text, "{micros},0,{sector},{sectors},{}", letter(record))
    });
    [&b"time_us,dev,lba,blocks,op\n"[..], &rows].concat()
}
