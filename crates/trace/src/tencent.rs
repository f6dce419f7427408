//! Tencent CBS: block requests of 5,584 cloud volumes over nine days.
//!
//! `timestamp,offset,size,type,volume`: Unix seconds, sectors of 512 bytes, type 0 reads and 1
//! writes. A second holds thousands of requests, so every record is marked as coarse and the
//! pipeline spreads them; queueing in such a trace means little otherwise.
//!
//! Source: the README of SNIA IOTTA set 27917.

use super::decode::{Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Flags, Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECOND_NS, SECTOR_BYTES, Text};

/// Unix seconds of the years 2001 to 2033, ten digits: what tells these lines from others with five
/// numbers.
const PLAUSIBLE_SECONDS: std::ops::Range<u64> = 1_000_000_000..2_000_000_000;

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent CBS (SNIA 27917): seconds,sector,sectors,0|1,volume",
    source: "SNIA IOTTA 27917, README",
    probe: Probe::Line(|line| {
        row(line).is_some_and(|row| PLAUSIBLE_SECONDS.contains(&row.seconds))
    }),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Tencent, options))),
};

struct Tencent;

/// The fields of a line.
struct Row<'a> {
    seconds: u64,
    sector: u64,
    sectors: u64,
    op: TraceOp,
    volume: &'a [u8],
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let seconds = cursor.number()?;
    cursor.byte(b',')?;
    let sector = cursor.number()?;
    cursor.byte(b',')?;
    let sectors = cursor.number()?;
    cursor.byte(b',')?;
    let op = cursor.op(b'0', b'1')?;
    cursor.byte(b',')?;
    let volume = cursor.digits_text()?;
    cursor.end()?;
    Some(Row {
        seconds,
        sector,
        sectors,
        op,
        volume,
    })
}

impl Lines for Tencent {
    const SHAPE: &'static str = "`seconds,sector,sectors,0|1,volume`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let ns = row.seconds.checked_mul(SECOND_NS);
        let ts = ns.and_then(|ns| i64::try_from(ns).ok());
        let offset = row.sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let length = row.sectors.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let dev = out.devices.intern(row.volume);
        let ts = ts.ok_or(Odd::Malformed)?;
        let mut record = Record::new(ts, row.op, offset, length, dev);
        record.flags = Flags::COARSE;
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: SECOND_NS,
            kind: TimeKind::Arrival,
            epoch_unix_ns: Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Anomaly;
    use super::super::text::testing::{read, takes};
    use super::*;

    #[test]
    fn the_test_vector() {
        let sink = read(&FORMAT, "1538323199,105352008,584,1,1576\n");
        let ts = 1_538_323_199_000_000_000;
        let mut record = Record::new(ts, TraceOp::Write, 53_940_228_096, 299_008, 0);
        record.flags = Flags::COARSE;
        assert_eq!(sink.records, [record]);
        assert_eq!(sink.devices.all(), ["1576"]);
    }

    #[test]
    fn type_zero_reads() {
        let sink = read(&FORMAT, "1538323200,12,8,0,1283\r\n");
        assert_eq!(sink.records[0].op, TraceOp::Read);
    }

    #[test]
    fn bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "1538323200,12,8,2,1283\n1538323200,12,8,0,\n1538323200,12,-8,0,1\n1538323200.5,12,8,0,1\n\
             1538323200,36028797018963968,8,0,1\n99999999999,12,8,0,1\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 5);
        assert_eq!(sink.anomalies.of(Anomaly::BeyondAddressSpace), 1);
    }

    #[test]
    fn the_probe_wants_seconds_of_this_age() {
        assert!(takes(&FORMAT, "1538323199,105352008,584,1,1576"));
        assert!(!takes(&FORMAT, "0,4,264719034,1,16"));
        assert!(!takes(&FORMAT, "0,303567,3584,w,0.026214"));
    }
}
