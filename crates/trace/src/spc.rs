//! SPC trace format, as UMass publishes Financial1/2 and WebSearch1-3.
//!
//! `asu,lba,bytes,opcode,seconds[,anything]`, blanks around fields allowed. The ASU is a device of
//! its own; addresses count blocks whose size the format leaves open: 512 bytes in all published
//! traces, otherwise `--block-size`.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1
//! (2002).

use super::decode::{Choice, Decoder, Format, Made, Options, Probe, Reads, Sink, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECOND_NS, SECTOR_BYTES, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "spc",
    summary: "SPC trace, UMass Financial and WebSearch: asu,lba,bytes,opcode,seconds",
    source: "SPC Trace File Format Specification 1.0.1 (2002)",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[Choice::BlockSize],
    reads: Reads::Stream(decoder),
};

fn decoder(options: &Options) -> Made<dyn Decoder> {
    let spc = Spc {
        block_bytes: options.block_size.unwrap_or(SECTOR_BYTES),
    };
    Ok(Text::boxed(spc, options))
}

struct Spc {
    block_bytes: u64,
}

/// The fields of a line, in the format's units.
struct Row<'a> {
    asu: &'a [u8],
    lba: u64,
    bytes: u64,
    op: TraceOp,
    ts: i64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let asu = cursor.digits_text()?;
    cursor.comma()?;
    let lba = cursor.number()?;
    cursor.comma()?;
    let bytes = cursor.number()?;
    cursor.comma()?;
    let op = match cursor.any()? {
        b'R' | b'r' => TraceOp::Read,
        b'W' | b'w' => TraceOp::Write,
        _ => return None,
    };
    cursor.comma()?;
    let ts = cursor.decimal(SECOND_NS)?;
    // Optional fields may follow, which mean nothing to us.
    if cursor.end().is_none() {
        cursor.byte(b',')?;
    }
    Some(Row {
        asu,
        lba,
        bytes,
        op,
        ts,
    })
}

impl Lines for Spc {
    const SHAPE: &'static str = "`asu,lba,bytes,R|W,seconds`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let offset = row.lba.checked_mul(self.block_bytes).ok_or(Odd::BEYOND)?;
        let dev = out.devices.intern(row.asu);
        let record = Record::new(row.ts, row.op, offset, row.bytes, dev);
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        arrivals(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Anomaly;
    use super::super::text::testing::{read, read_with, takes};
    use super::*;

    #[test]
    fn the_test_vector() {
        let sink = read(&FORMAT, "1,240840,3072,W,0.026214\n");
        let record = Record::new(26_214_000, TraceOp::Write, 123_310_080, 3_072, 0);
        assert_eq!(sink.records, [record]);
        assert_eq!(sink.devices.all(), ["1"]);
    }

    #[test]
    fn case_white_space_and_further_fields_do_not_matter() {
        let sink = read(
            &FORMAT,
            "0,303567,3584,w,0.026214\n 0 , 303567 ,\t3584 , r , 0.026214 \r\n0,8,0,R,1,note, x\n",
        );
        let ops: Vec<_> = sink.records.iter().map(|record| record.op).collect();
        assert_eq!(ops, [TraceOp::Write, TraceOp::Read, TraceOp::Read]);
        assert!(
            sink.records
                .iter()
                .take(2)
                .all(|it| it.offset == 303_567 * 512)
        );
        // A size of 0 is legal here; what to do with it is decided for all formats alike.
        assert_eq!(
            (sink.records[2].len, sink.records[2].ts),
            (0, 1_000_000_000)
        );
        assert_eq!(sink.anomalies.iter().count(), 0);
    }

    #[test]
    fn units_are_devices_of_their_own() {
        let sink = read(&FORMAT, "0,0,512,R,0\n7,0,512,R,0\n0,1,512,R,0\n");
        let devices: Vec<_> = sink.records.iter().map(|record| record.dev).collect();
        assert_eq!(
            (devices, sink.devices.all()),
            (vec![0, 1, 0], &["0".to_owned(), "7".to_owned()][..])
        );
    }

    #[test]
    fn the_block_size_is_outside_the_file() {
        let options = Options {
            block_size: Some(4_096),
            ..Options::default()
        };
        let sink = read_with(&FORMAT, b"0,3,512,R,0\n", &options);
        assert_eq!(sink.records[0].offset, 12_288);
    }

    #[test]
    fn lines_that_do_not_fit_are_left_out() {
        let sink = read(
            &FORMAT,
            "0,1,512,X,0\n0,1,512,RW,0\n-1,1,512,R,0\n0,1,512,R,-0.5\n0,1,512,R,1e3\n0,1,512,R\n\
             0,1,512,R,0 7\n0,18446744073709551615,512,R,0\n0,18446744073709551616,512,R,0\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 8);
        assert_eq!(sink.anomalies.of(Anomaly::BeyondAddressSpace), 1);
    }

    #[test]
    fn the_probe_wants_a_letter_and_five_fields() {
        assert!(takes(&FORMAT, "0,303567,3584,w,0.026214"));
        assert!(!takes(&FORMAT, "1538323199,105352008,584,1,1576"));
        assert!(!takes(&FORMAT, "0,R,126703644672,4096,1577808000000626"));
        assert!(!takes(&FORMAT, "0,42932745,1,W"));
    }
}
