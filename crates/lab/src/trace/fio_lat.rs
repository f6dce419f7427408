//! fio's latency logs, as `write_lat_log` writes them with `log_offset=1`.
//!
//! ```text
//! 12, 8731245, 0, 4096, 81920000, 0
//! ```
//!
//! Milliseconds of the **completion** since the start, nanoseconds of latency, 0 for a read, 1 for a write and 2 for a trim, bytes,
//! offset, and since fio 3.x the priority. `_clat` logs count from the submission, `_lat` logs from the creation of the I/O. A log without
//! offsets has four columns and is refused: it does not say where. Logs of averages (`log_avg_msec`) look the same, and mean nothing here.
//! Completion times have one millisecond: too coarse to tell a rotation from rereads.
//!
//! No header marks such a log, and other tables of numbers look alike: it is read only when `--trace-format fio-lat` names it, as the
//! error says where lines look like it.
//!
//! Source: fio HOWTO, "Log File Formats" (Axboe and others).

use super::decode::{Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, Text};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "fio-lat",
    summary: "latency logs of fio with offsets (write_lat_log, log_offset=1); only if it is named",
    source: "fio HOWTO, Log File Formats",
    probe: Probe::Named(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(FioLat, options))),
};

const MILLISECOND_NS: i64 = 1_000_000;

struct FioLat;

/// The fields of a line.
struct Row {
    completed_ms: u64,
    latency: u64,
    op: TraceOp,
    bytes: u64,
    offset: Option<u64>,
}

fn row(line: &[u8]) -> Option<Row> {
    let mut cursor = Cursor::new(line);
    let mut next = |first: bool| {
        if !first {
            cursor.word(b",")?;
        }
        cursor.blanks();
        let number = cursor.number()?;
        cursor.blanks();
        Some((number, cursor.end().is_some()))
    };
    let (completed_ms, _) = next(true)?;
    let (latency, _) = next(false)?;
    let (direction, _) = next(false)?;
    let (bytes, last) = next(false)?;
    let offset = if last { None } else { Some(next(false)?.0) };
    let op = match direction {
        0 => TraceOp::Read,
        1 => TraceOp::Write,
        2 => TraceOp::Discard,
        _ => return None,
    };
    Some(Row {
        completed_ms,
        latency,
        op,
        bytes,
        offset,
    })
}

impl Lines for FioLat {
    const SHAPE: &'static str = "`milliseconds, nanoseconds, direction, bytes, offset`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let Some(offset) = row.offset else {
            let what = "the log has no offsets; fio writes them with log_offset=1";
            return Err(Odd::Fatal(what.to_owned()));
        };
        let completed = i64::try_from(row.completed_ms)
            .ok()
            .and_then(|ms| ms.checked_mul(MILLISECOND_NS));
        let latency = i64::try_from(row.latency).map_err(|_| Odd::Malformed)?;
        let ts = completed.ok_or(Odd::Malformed)? - latency;
        offset.checked_add(row.bytes).ok_or(Odd::BEYOND)?;
        let dev = out.devices.intern(b"fio");
        let mut record = Record::new(ts, row.op, offset, row.bytes, dev);
        record.service_ns = row.latency;
        record.response_ns = row.latency;
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: MILLISECOND_NS.unsigned_abs(),
            kind: TimeKind::Arrival,
            epoch_unix_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Anomaly, Options};
    use super::super::text::testing::{read, refusal};
    use super::*;

    #[test]
    fn times_are_those_of_completions() {
        let sink = read(
            &FORMAT,
            "12, 8731245, 0, 4096, 81920000, 0\n13, 500000, 1, 8192, 4096\n",
        );
        let first = sink.records[0];
        assert_eq!(
            (first.ts, first.service_ns),
            (12_000_000 - 8_731_245, 8_731_245)
        );
        assert_eq!(
            (first.offset, first.len, first.op),
            (81_920_000, 4_096, TraceOp::Read)
        );
        assert_eq!(
            (sink.records[1].op, sink.records[1].offset),
            (TraceOp::Write, 4_096)
        );
        let sink = read(&FORMAT, "1, 2, 7, 4096, 0\n1, 2\n");
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 2);
    }

    #[test]
    fn a_log_without_offsets_is_refused() {
        let error = refusal(&FORMAT, "12, 8731245, 0, 4096\n", &Options::default());
        assert!(error.contains("log_offset=1"), "{error}");
    }
}
