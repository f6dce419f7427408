//! K5cloud: block requests of a thousand virtual machines' volumes in a production cloud.
//!
//! `volume,seconds,op,offset,size`: seconds with decimals since the collection began, offset and
//! size in bytes.
//!
//! Source: SNIA IOTTA, parallel traces, "K5cloud".

use super::decode::{Format, Probe, Reads, Sink, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECOND_NS, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "k5cloud",
    summary: "K5cloud (SNIA): volume,seconds,R|W,offset,bytes",
    source: "SNIA IOTTA, parallel traces, K5cloud",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(K5cloud, options))),
};

struct K5cloud;

/// The fields of a line.
struct Row<'a> {
    volume: &'a [u8],
    ts: i64,
    op: TraceOp,
    offset: u64,
    size: u64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let volume = cursor.digits_text()?;
    cursor.byte(b',')?;
    let ts = cursor.decimal(SECOND_NS)?;
    cursor.byte(b',')?;
    let op = cursor.op(b'R', b'W')?;
    cursor.byte(b',')?;
    let offset = cursor.number()?;
    cursor.byte(b',')?;
    let size = cursor.number()?;
    cursor.end()?;
    Some(Row {
        volume,
        ts,
        op,
        offset,
        size,
    })
}

impl Lines for K5cloud {
    const SHAPE: &'static str = "`volume,seconds,R|W,offset,bytes`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let dev = out.devices.intern(row.volume);
        let record = Record::new(row.ts, row.op, row.offset, row.size, dev);
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        arrivals(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::testing::{read, takes};
    use super::*;

    #[test]
    fn seconds_have_decimals_and_sizes_are_bytes() {
        let sink = read(
            &FORMAT,
            "2264,86400.121837000,R,48195870720,4096\n7,0.5,W,0,512\n",
        );
        let records = [
            Record::new(86_400_121_837_000, TraceOp::Read, 48_195_870_720, 4_096, 0),
            Record::new(500_000_000, TraceOp::Write, 0, 512, 1),
        ];
        assert_eq!(sink.records, records);
        assert_eq!(sink.devices.all(), ["2264", "7"]);
    }

    #[test]
    fn the_probe_wants_the_opcode_in_third_place() {
        assert!(takes(&FORMAT, "2264,86400.121837000,R,48195870720,4096"));
        assert!(!takes(&FORMAT, "0,R,126703644672,4096,1577808000000626"));
        assert!(!takes(&FORMAT, "0,303567,3584,w,0.026214"));
    }
}
