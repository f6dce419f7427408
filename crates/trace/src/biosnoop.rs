//! `biosnoop`, of bcc and of libbpf-tools.
//!
//! ```text
//! TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)
//! 0.000004    supervise      1950    xvda1     W 13092560   4096       0.74
//! ```
//!
//! The header says which columns there are; a command name may hold blanks, so they are counted
//! from the end. TIME is that of the **completion**: the arrival is LAT before it, and QUE, the
//! wait in the scheduler, before that where it was asked for (`-Q`). bcc's `T` is `W` or else `R`,
//! so that a row without bytes is a flush, not a read; libbpf's is the letters of the tracepoint.
//! Rows of `?` have no valid address. LAT has 10 or 1 us.
//!
//! Source: bcc `tools/biosnoop.py`, `libbpf-tools/biosnoop.c`.

use super::decode::{Anomaly, Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Flags, Record, TraceOp};
use super::rwbs::Rwbs;
use super::text::{Cursor, Lines, Odd, SECOND_NS, SECTOR_BYTES, Text, excerpt};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "biosnoop",
    summary: "biosnoop of bcc or libbpf-tools, with its header",
    source: "bcc, tools/biosnoop.py",
    probe: Probe::Magic(|bytes| {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
        is_header(&bytes[..end])
    }),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Biosnoop::default(), options))),
};

const MILLISECOND_NS: u64 = 1_000_000;

#[derive(Default)]
struct Biosnoop {
    /// None before the header.
    columns: Option<Columns>,
    /// Digits behind the point of latencies.
    digits: u32,
}

/// Which columns there are besides those that always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    /// Columns behind BYTES.
    behind: usize,
    /// Where QUE is among them.
    wait: Option<usize>,
}

/// Whether this is the line that names biosnoop's columns.
pub(super) fn is_header(line: &[u8]) -> bool {
    Columns::of(line).is_some()
}

impl Columns {
    fn of(header: &[u8]) -> Option<Columns> {
        const ALWAYS: [&[u8]; 7] = [
            b"TIME(s)", b"COMM", b"PID", b"DISK", b"T", b"SECTOR", b"BYTES",
        ];
        let words = header
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let words: Vec<&[u8]> = words.collect();
        let behind = words.strip_prefix(&ALWAYS)?;
        (behind.last() == Some(&&b"LAT(ms)"[..])).then(|| Columns {
            behind: behind.len(),
            wait: behind.iter().position(|word| *word == b"QUE(ms)"),
        })
    }
}

/// The fields of a row.
struct Row<'a> {
    done: i64,
    comm: &'a [u8],
    disk: &'a [u8],
    kind: &'a [u8],
    sector: u64,
    bytes: u64,
    wait_ns: u64,
    latency_ns: u64,
    digits: u32,
}

fn row(line: &[u8], columns: Columns) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let done = time(cursor.token()?)?;
    cursor.blanks();
    // PID, DISK, T, SECTOR, BYTES and what is behind them, from the end.
    let mut words = LastWords(cursor.rest());
    let (mut wait_ns, mut latency) = (0, (0, 0));
    for at in (0..columns.behind).rev() {
        let word = words.next()?;
        if at + 1 == columns.behind {
            latency = duration(word)?;
        } else if columns.wait == Some(at) {
            wait_ns = duration(word)?.0;
        }
    }
    let bytes = whole(words.next()?)?;
    let sector = whole(words.next()?)?;
    let (kind, disk) = (words.next()?, words.next()?);
    let _pid = whole(words.next()?)?;
    Some(Row {
        done,
        comm: words.0.trim_ascii_end(),
        disk,
        kind,
        sector,
        bytes,
        wait_ns,
        latency_ns: latency.0,
        digits: latency.1,
    })
}

/// The words of a line, the last first.
struct LastWords<'a>(&'a [u8]);

impl<'a> Iterator for LastWords<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0.trim_ascii_end();
        let start = rest
            .iter()
            .rposition(u8::is_ascii_whitespace)
            .map_or(0, |at| at + 1);
        self.0 = &rest[..start];
        (start < rest.len()).then(|| &rest[start..])
    }
}

fn whole(word: &[u8]) -> Option<u64> {
    let mut cursor = Cursor::new(word);
    let value = cursor.number()?;
    cursor.end()?;
    Some(value)
}

/// Milliseconds as ns, and the digits behind their point.
fn duration(word: &[u8]) -> Option<(u64, u32)> {
    let mut cursor = Cursor::new(word);
    let (ns, digits) = cursor.decimal_and_digits(MILLISECOND_NS)?;
    cursor.end()?;
    Some((ns.unsigned_abs(), digits))
}

/// Seconds, or the hours, minutes and seconds of libbpf's `-t`.
fn time(word: &[u8]) -> Option<i64> {
    let mut cursor = Cursor::new(word);
    let mut parts = word.split(|byte| *byte == b':');
    if word.contains(&b':') {
        let mut minutes = i64::try_from(whole(parts.next()?)?).ok()?.checked_mul(60)?;
        minutes = minutes.checked_add(i64::try_from(whole(parts.next()?)?).ok()?)?;
        cursor = Cursor::new(parts.next()?);
        let seconds = cursor.decimal(SECOND_NS)?;
        cursor.end()?;
        return minutes
            .checked_mul(60 * SECOND_NS as i64)?
            .checked_add(seconds);
    }
    let done = cursor.decimal(SECOND_NS)?;
    cursor.end()?;
    Some(done)
}

impl Lines for Biosnoop {
    const SHAPE: &'static str = "a row under biosnoop's header";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let Some(columns) = self.columns else {
            if line.trim_ascii().is_empty() {
                return Err(Odd::Malformed);
            }
            let header = Columns::of(line).ok_or_else(|| {
                let found = excerpt(line);
                Odd::Fatal(format!(
                    "biosnoop's header `TIME(s) COMM PID DISK T SECTOR BYTES ... LAT(ms)` is wanted, found `{found}`"
                ))
            });
            self.columns = Some(header?);
            return Ok(());
        };
        let row = row(line, columns).ok_or(Odd::Malformed)?;
        if row.comm == b"?" {
            return Err(Odd::Left(Anomaly::NotData, "a row without a valid address"));
        }
        let rwbs = Rwbs::parse(row.kind).ok_or(Odd::Malformed)?;
        let op = match (rwbs.op(row.bytes), row.bytes) {
            (TraceOp::Read | TraceOp::Write, 0) => TraceOp::Flush,
            (op, _) => op,
        };
        let sector = if row.bytes == 0 { 0 } else { row.sector };
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let response_ns = row.latency_ns.saturating_add(row.wait_ns);
        let taken = i64::try_from(response_ns).map_err(|_| Odd::Malformed)?;
        let ts = row.done.checked_sub(taken).ok_or(Odd::Malformed)?;
        let dev = out.devices.intern(row.disk);
        let mut record = Record::new(ts, op, offset, row.bytes, dev);
        record.flags = rwbs.flags.with(Flags::RECONSTRUCTED);
        record.client = out.clients.intern(row.comm);
        record.service_ns = row.latency_ns;
        if columns.wait.is_some() {
            record.response_ns = response_ns;
        }
        self.digits = self.digits.max(row.digits);
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        let waits = self.columns.is_some_and(|columns| columns.wait.is_some());
        TimeMeaning {
            resolution_ns: MILLISECOND_NS / 10_u64.pow(self.digits.min(6)),
            kind: if waits {
                TimeKind::Arrival
            } else {
                TimeKind::Issue
            },
            epoch_unix_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Options;
    use super::super::text::testing::{read, refusal, takes};
    use super::*;

    #[test]
    fn the_completion_minus_the_latency_is_the_issue() {
        let sink = read(
            &FORMAT,
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n\
             10.000740   supervise      1950    xvda1     W 13092560   4096       0.74\n\
             10.001000   my [ap p       1951    xvda1     R 8          512        1.00\n\
             10.001000   jbd2           1951    xvda1     R 99         0          0.50\n\
             10.001000   ?              0                 R 0          8192       0.01\n\
             10.001000   ?              0       xvda1     R 0          8192       0.01\n",
        );
        let mut write = Record::new(10_000_000_000, TraceOp::Write, 13_092_560 * 512, 4_096, 0);
        (write.flags, write.client, write.service_ns) = (Flags::RECONSTRUCTED, 1, 740_000);
        assert_eq!(sink.records[0], write);
        assert_eq!(
            (sink.records[1].ts, sink.records[1].op),
            (10_000_000_000, TraceOp::Read)
        );
        assert_eq!(
            (sink.records[2].op, sink.records[2].offset),
            (TraceOp::Flush, 0)
        );
        assert_eq!(sink.records.len(), 3);
        assert_eq!(sink.clients.all(), ["", "supervise", "my [ap p", "jbd2"]);
        assert_eq!(sink.anomalies.of(Anomaly::NotData), 1);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
    }

    #[test]
    fn the_wait_in_the_scheduler_comes_off_too() {
        let sink = read(
            &FORMAT,
            "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
             01:00:01.500 fio            7       nvme0n1 WFS  8          4096      0.250   1.250\n",
        );
        let record = sink.records[0];
        assert_eq!(record.ts, 3_601_500_000_000 - 1_500_000);
        assert_eq!(
            (record.service_ns, record.response_ns),
            (1_250_000, 1_500_000)
        );
        assert!(record.flags.has(Flags::FUA.with(Flags::SYNC)));
    }

    #[test]
    fn a_pattern_column_is_passed_over() {
        let sink = read(
            &FORMAT,
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   P QUE(ms) LAT(ms)\n\
             1.0         fio            7       sda       W 8          4096    R 0.25    1.25\n",
        );
        assert_eq!(
            (sink.records[0].ts, sink.records[0].len),
            (998_500_000, 4_096)
        );
    }

    #[test]
    fn the_header_is_needed() {
        assert!(takes(
            &FORMAT,
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)"
        ));
        assert!(!takes(&FORMAT, "TIME(s) COMM PID DISK T SECTOR BYTES"));
        let error = refusal(
            &FORMAT,
            "1.0 fio 7 sda W 8 4096 1.25\n",
            &Options::default(),
        );
        assert!(error.contains("is wanted, found `1.0 fio"), "{error}");
    }
}
