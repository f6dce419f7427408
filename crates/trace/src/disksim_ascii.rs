//! DiskSim ASCII traces, the default input of DiskSim.
//!
//! `time device block count flags`, blank-separated: milliseconds with decimals, sectors of 512
//! bytes, and hexadecimal flags of which bit 0 set means a **read**. A sixth number (of a batch)
//! may follow and is passed over. MQSim's traces look the same with whole numbers for times; with a
//! decimal point it is DiskSim.
//!
//! Source: DiskSim 4.0, `disksim_iotrace.c`, `disksim_reqflags.h`.

use super::decode::{Format, Probe, Reads, Sink, TimeMeaning};
use super::record::{Flags, Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECTOR_BYTES, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII: milliseconds device sector sectors hexadecimal-flags",
    source: "DiskSim 4.0, disksim_iotrace.c",
    probe: Probe::Line(|line| row(line).is_some_and(|row| row.fractional)),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Disksim, options))),
};

/// Set for a read.
const READ: u64 = 0x1;
/// The process that asked waits for the answer.
const SYNC: u64 = 0x80;

const MILLISECOND_NS: u64 = 1_000_000;

struct Disksim;

/// The fields of a line.
struct Row<'a> {
    ts: i64,
    /// The time had a decimal point.
    fractional: bool,
    device: &'a [u8],
    sector: u64,
    sectors: u64,
    flags: u64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let (ts, digits) = cursor.decimal_and_digits(MILLISECOND_NS)?;
    cursor.gap()?;
    let device = cursor.digits_text()?;
    cursor.gap()?;
    let sector = cursor.number()?;
    cursor.gap()?;
    let sectors = cursor.number()?;
    cursor.gap()?;
    if cursor.rest().starts_with(b"0x") {
        cursor.word(b"0x")?;
    }
    let flags = cursor.hexadecimal()?;
    if cursor.end().is_none() {
        let _batch = cursor.number()?;
        cursor.end()?;
    }
    Some(Row {
        ts,
        fractional: digits > 0,
        device,
        sector,
        sectors,
        flags,
    })
}

impl Lines for Disksim {
    const SHAPE: &'static str = "`milliseconds device sector sectors hexadecimal-flags`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let offset = row.sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let length = row.sectors.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let op = if row.flags & READ == 0 {
            TraceOp::Write
        } else {
            TraceOp::Read
        };
        let dev = out.devices.intern(row.device);
        let mut record = Record::new(row.ts, op, offset, length, dev);
        if row.flags & SYNC != 0 {
            record.flags = Flags::SYNC;
        }
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

    #[test]
    fn the_test_vector() {
        let sink = read(&FORMAT, "13.191135 30 0 5 1\n");
        assert_eq!(
            sink.records,
            [Record::new(13_191_135, TraceOp::Read, 0, 2_560, 0)]
        );
        assert_eq!(sink.devices.all(), ["30"]);
    }

    #[test]
    fn bit_0_is_a_read_and_flags_are_hexadecimal() {
        let sink = read(
            &FORMAT,
            "0.000000 0 8 8 0\n1.5\t0  16 8 81\n2 0 24 8 0x180\n3.0 0 32 8 10 7\n4.0 0 40 8 b\n",
        );
        use TraceOp::{Read, Write};
        let ops: Vec<_> = sink.records.iter().map(|it| it.op).collect();
        assert_eq!(ops, [Write, Read, Write, Write, Read]);
        let sync: Vec<_> = sink
            .records
            .iter()
            .map(|it| it.flags.has(Flags::SYNC))
            .collect();
        assert_eq!(sync, [false, true, true, false, false]);
        assert_eq!(
            sink.records[2].ts, 2_000_000,
            "named, whole milliseconds are taken"
        );
    }

    #[test]
    fn bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "-1.0 0 0 8 1\n1.0 0 0 8\n1.0 0 0 8 g\n1.0 0 0 8 1 x\n1.0 0 0 8 1 2 3\n1.0 a 0 8 1\n1.0 0 0 8 11111111111111111\n\
             1.0 0 36028797018963968 8 1\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 7);
        assert_eq!(sink.anomalies.of(Anomaly::BeyondAddressSpace), 1);
    }

    #[test]
    fn the_probe_wants_a_decimal_point() {
        assert!(takes(&FORMAT, "13.191135 30 0 5 1"));
        assert!(!takes(&FORMAT, "4851300 1 524288 16 0"));
    }
}
