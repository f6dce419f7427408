//! `measured.csv` of the reference tables: service times of a real drive, one request after
//! another.
//!
//! ```text
//! seq,op,lba,blocks,measured_ms,drive_cache_outcome,gap_to_next_ms,reference_ms
//! 0,R,1975456,4,15.362,Hit,56.074,8.086286
//! ```
//!
//! No arrival is written down: the first request comes at 0, each other one the gap of its
//! predecessor after that one's completion. `measured_ms` is the time on the real drive; the
//! outcome and what the reference makes of it are passed over.
//!
//! Source: DiskSim 4.0's validation traces (Bucy, Ganger and others, CMU 2008), rewritten as
//! tables.

use super::decode::{Format, Probe, Reads, Sink, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECTOR_BYTES, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "disksim-measured",
    summary: "measured.csv of DiskSim's reference tables: service times of a real drive",
    source: "DiskSim 4.0, validation traces",
    probe: Probe::Magic(|bytes| bytes.starts_with(HEADER)),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Measured::default(), options))),
};

const HEADER: &[u8] = b"seq,op,lba,blocks,measured_ms,drive_cache_outcome,gap_to_next_ms,";
const MILLISECOND_NS: u64 = 1_000_000;

#[derive(Default)]
struct Measured {
    /// When the next request is issued.
    next: i64,
}

/// The fields of a line that are used.
struct Row {
    op: TraceOp,
    sector: u64,
    sectors: u64,
    service: u64,
    gap: u64,
}

fn row(line: &[u8]) -> Option<Row> {
    let mut cursor = Cursor::new(line);
    cursor.number()?;
    cursor.word(b",")?;
    let op = match cursor.rest().first()? {
        b'R' => TraceOp::Read,
        b'W' => TraceOp::Write,
        _ => return None,
    };
    cursor.word(if op == TraceOp::Read { b"R," } else { b"W," })?;
    let sector = cursor.number()?;
    cursor.word(b",")?;
    let sectors = cursor.number()?;
    cursor.word(b",")?;
    let service = u64::try_from(cursor.decimal(MILLISECOND_NS)?).ok()?;
    cursor.word(b",")?;
    let outcome = memchr::memchr(b',', cursor.rest())?;
    let mut cursor = Cursor::new(&cursor.rest()[outcome + 1..]);
    let gap = u64::try_from(cursor.decimal(MILLISECOND_NS)?).ok()?;
    Some(Row {
        op,
        sector,
        sectors,
        service,
        gap,
    })
}

impl Lines for Measured {
    const SHAPE: &'static str = "`seq,R or W,lba,blocks,measured_ms,outcome,gap_to_next_ms,...`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let offset = row.sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let length = row.sectors.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let dev = out.devices.intern(b"drive");
        let mut record = Record::new(self.next, row.op, offset, length, dev);
        record.service_ns = row.service;
        record.response_ns = row.service;
        let later =
            i64::try_from(row.service.saturating_add(row.gap)).map_err(|_| Odd::Malformed)?;
        self.next = self.next.checked_add(later).ok_or(Odd::Malformed)?;
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        arrivals(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Anomaly;
    use super::super::text::testing::{read, takes};
    use super::*;

    const TEXT: &str = "seq,op,lba,blocks,measured_ms,drive_cache_outcome,gap_to_next_ms,reference_ms\n\
                        0,R,1975456,4,15.362,Hit,56.074,8.086286\n1,W,16,8,3.0,Miss,1,3\n2,X,16,8,3.0,Miss,1,3\n";

    #[test]
    fn each_request_comes_the_gap_after_the_completion_before() {
        let sink = read(&FORMAT, TEXT);
        let times: Vec<_> = sink
            .records
            .iter()
            .map(|it| (it.ts, it.service_ns))
            .collect();
        assert_eq!(times, [(0, 15_362_000), (71_436_000, 3_000_000)]);
        assert_eq!(
            (sink.records[1].offset, sink.records[1].len),
            (8_192, 4_096)
        );
        assert_eq!(sink.records[1].op, TraceOp::Write);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
    }

    #[test]
    fn its_header_tells_it() {
        assert!(takes(&FORMAT, TEXT));
        assert!(!takes(&FORMAT, "seq,op,lba,blocks,time_ms\n"));
    }
}
