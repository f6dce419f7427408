//! fio's latency logs, as `write_lat_log` writes them with `log_offset=1`.
//!
//! ```text
//! 12, 8731245, 0, 4096, 81920000, 0
//! ```
//!
//! Milliseconds of the **completion** since the start, nanoseconds of latency, 0 for a read, 1 for
//! a write and 2 for a trim, bytes, offset, and since fio 3.x the priority. `_clat` logs count from
//! the submission, `_lat` logs from the creation of the I/O. Logs of averages (`log_avg_msec`) look
//! the same, and mean nothing here. Completion times have one millisecond: too coarse to tell a
//! rotation from rereads.
//!
//! A log without offsets does not say where, and is refused. It has four columns, or five, as newer
//! versions of fio put the priority where the offset would be: 0 or 1, or a hexadecimal number with
//! `log_prio`. So the lines before the first offset above 1 are held back, and a log without one
//! among its first 1,000 lines is refused. Logs of bandwidth, of requests per second and of
//! submissions have the same columns, but the second is no time of a request: files that are named
//! as fio names those (`_bw.1.log`, `_iops.1.log`, `_slat.1.log`) are refused.
//!
//! No header marks such a log, and other tables of numbers look alike: it is read only when
//! `--trace-format fio-lat` names it, as the error says where lines look like it.
//!
//! Source: fio HOWTO, "Log File Formats" (Axboe and others).

use super::TraceError;
use super::decode::{Decoder, Format, Made, Options, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, Text};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "fio-lat",
    summary: "latency logs of fio with offsets (write_lat_log, log_offset=1), not its logs of bandwidth, IOPS or submissions; only if it is named",
    source: "fio HOWTO, Log File Formats",
    probe: Probe::Named(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(decoder),
};

fn decoder(options: &Options) -> Made<dyn Decoder> {
    let file = options.file.as_str();
    let other = OTHER_LOGS
        .iter()
        .find(|(part, _)| file.contains(part) && file.contains(".log"));
    if let Some((_, what)) = other {
        return Err(TraceError::unfit(format!(
            "is by its name a log of {what}, whose second column is no latency; fio's latency logs are called _lat or _clat"
        )));
    }
    Ok(Text::boxed(FioLat::default(), options))
}

/// What fio puts into the names of its other logs with the same columns, and what these hold.
const OTHER_LOGS: [(&str, &str); 3] = [
    ("_bw.", "bandwidth"),
    ("_iops.", "requests per second"),
    ("_slat.", "the times of submissions"),
];

/// Lines that may pass before the first that has an offset for sure.
const HELD_MAX: usize = 1_000;

/// No offset in bytes, but whether the priority is the highest.
const PRIORITY_MAX: u64 = 1;

const MILLISECOND_NS: i64 = 1_000_000;

#[derive(Default)]
struct FioLat {
    /// Whether a line had an offset for sure.
    placed: bool,
    /// Requests before that.
    held: Vec<Record>,
}

impl FioLat {
    /// Takes a request, and those that were held back once it is clear that they have offsets.
    fn take(&mut self, record: Record, out: &mut Sink) -> Result<(), Odd> {
        if self.placed {
            out.records.push(record);
            return Ok(());
        }
        self.placed = record.offset > PRIORITY_MAX;
        self.held.push(record);
        if self.placed {
            out.records.append(&mut self.held);
        } else if self.held.len() >= HELD_MAX {
            return Err(self.without_offsets());
        }
        Ok(())
    }

    fn without_offsets(&self) -> Odd {
        Odd::Fatal(format!(
            "the log has no offsets: the fifth column never exceeds 1 (lines read: {}), so that it holds priorities; fio writes \
             offsets with log_offset=1",
            self.held.len()
        ))
    }
}

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
        self.take(record, out)
    }

    fn finish(&mut self, _: &mut Sink) -> Result<(), Odd> {
        match self.held.is_empty() {
            true => Ok(()),
            false => Err(self.without_offsets()),
        }
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
    use super::super::decode::Anomaly;
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

    #[test]
    fn a_priority_is_no_offset() {
        for priorities in [["0", "0"], ["0", "1"], ["0x4001", "0x0"]] {
            let lines = |count: usize| -> String {
                let line = |at: usize| format!("{at}, 8731245, 0, 4096, {}\n", priorities[at % 2]);
                (0..count).map(line).collect()
            };
            for count in [1, 3, 5_000] {
                let error = refusal(&FORMAT, &lines(count), &Options::default());
                assert!(error.contains("the log has no offsets"), "{error}");
                let seen = format!("lines read: {})", count.min(HELD_MAX));
                assert!(error.contains(&seen), "{error}");
            }
        }
        // A log with offsets may begin at 0.
        let sink = read(
            &FORMAT,
            "1, 500, 0, 4096, 0\n2, 500, 0, 4096, 4096\n3, 500, 0, 4096, 0\n",
        );
        let offsets: Vec<u64> = sink.records.iter().map(|record| record.offset).collect();
        assert_eq!(offsets, [0, 4_096, 0]);
    }

    #[test]
    fn logs_of_other_things_are_refused_by_their_names() {
        for (file, what) in [
            ("mix_bw.1.log", "bandwidth"),
            ("mix_iops.1.log.gz", "requests per second"),
            ("mix_slat.2.log", "submissions"),
        ] {
            let options = Options {
                file: file.to_owned(),
                ..Options::default()
            };
            let error = refusal(&FORMAT, "12, 8731245, 0, 4096, 8192, 0\n", &options);
            assert!(error.contains(what), "{error}");
        }
    }
}
