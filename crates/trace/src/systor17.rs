//! SYSTOR '17: block requests of an enterprise's virtual desktops, captured on the storage network.
//!
//! `timestamp,response,type,lun,offset,size` with a header line: Unix seconds with nine decimals,
//! of which six mean something, the response in seconds, bytes. Response and type are empty where
//! the answer was not seen; such a request could have been anything, so it is left out and counted
//! as lost.
//!
//! Source: C. Lee et al., "Understanding storage traffic characteristics on enterprise virtual
//! desktop infrastructure", SYSTOR 2017; README of SNIA IOTTA set 4928.

use super::decode::{Anomaly, Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECOND_NS, Text};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "systor17",
    summary: "SYSTOR '17 (SNIA 4928): seconds,response,R|W,lun,offset,bytes",
    source: "Lee et al., SYSTOR 2017; SNIA IOTTA 4928",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Systor17, options))),
};

struct Systor17;

/// The fields of a line.
struct Row<'a> {
    ts: i64,
    response_ns: u64,
    op: Option<TraceOp>,
    lun: &'a [u8],
    offset: u64,
    size: u64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let ts = cursor.decimal(SECOND_NS)?;
    cursor.byte(b',')?;
    let mut response_ns = Record::UNKNOWN;
    if cursor.peek()? != b',' {
        response_ns = cursor.decimal(SECOND_NS)?.unsigned_abs();
    }
    cursor.byte(b',')?;
    let op = match cursor.peek()? {
        b'R' => Some(TraceOp::Read),
        b'W' => Some(TraceOp::Write),
        b',' => None,
        _ => return None,
    };
    if op.is_some() {
        cursor.any()?;
    }
    cursor.byte(b',')?;
    let lun = cursor.digits_text()?;
    cursor.byte(b',')?;
    let offset = cursor.number()?;
    cursor.byte(b',')?;
    let size = cursor.number()?;
    cursor.end()?;
    Some(Row {
        ts,
        response_ns,
        op,
        lun,
        offset,
        size,
    })
}

impl Lines for Systor17 {
    const SHAPE: &'static str = "`seconds,response,R|W,lun,offset,bytes`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let Some(op) = row.op else {
            return Err(Odd::Left(
                Anomaly::Lost,
                "its answer and type were not captured",
            ));
        };
        let dev = out.devices.intern(row.lun);
        let mut record = Record::new(row.ts, op, row.offset, row.size, dev);
        record.response_ns = row.response_ns;
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1_000,
            kind: TimeKind::Issue,
            epoch_unix_ns: Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::testing::{read, takes};
    use super::*;

    #[test]
    fn seconds_keep_all_their_digits() {
        let sink = read(
            &FORMAT,
            "Timestamp,Response,IOType,LUN,Offset,Size\n\
             1455505200.123456000,0.000512000,W,4,42949672960,8192\n1455505200.5,,R,0,0,512\n",
        );
        let mut first = Record::new(
            1_455_505_200_123_456_000,
            TraceOp::Write,
            42_949_672_960,
            8_192,
            0,
        );
        first.response_ns = 512_000;
        let second = Record::new(1_455_505_200_500_000_000, TraceOp::Read, 0, 512, 1);
        assert_eq!(sink.records, [first, second]);
        assert_eq!(sink.devices.all(), ["4", "0"]);
        assert_eq!(sink.anomalies.iter().count(), 0);
    }

    #[test]
    fn requests_of_unknown_type_are_counted_and_left_out() {
        let sink = read(
            &FORMAT,
            "1455505200.5,,,0,0,512\n1455505200.5,,X,0,0,512\n1455505200.5,,R,0,0\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::Lost), 1);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 2);
    }

    #[test]
    fn the_probe_wants_six_fields() {
        assert!(takes(
            &FORMAT,
            "1455505200.123456000,0.000512000,W,4,42949672960,8192"
        ));
        assert!(!takes(&FORMAT, "2264,86400.121837000,R,48195870720,4096"));
    }
}
