//! FIU traces: IODedup, SRCMap, home directories; block requests with the digest of their content.
//!
//! `ts pid process lba size op major minor digest`, blank-separated: ns since an arbitrary start,
//! sectors of 512 bytes. The name of a process may hold blanks, so the last six words are counted
//! from the end.
//!
//! Source: R. Koller, R. Rangaswami, "I/O Deduplication", FAST 2010; README of SNIA IOTTA sets 390,
//! 391, 411, 414.

use super::decode::{Format, Probe, Reads, Sink, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, DeviceNumbers, Lines, Odd, SECTOR_BYTES, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "fiu",
    summary: "FIU (SNIA 390, 391, 411, 414): ns pid process sector sectors R|W major minor digest",
    source: "Koller and Rangaswami, FAST 2010; SNIA IOTTA 391",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Fiu::default(), options))),
};

#[derive(Default)]
struct Fiu {
    devices: DeviceNumbers,
}

/// The fields of a line.
struct Row<'a> {
    ts: i64,
    process: &'a [u8],
    sector: u64,
    sectors: u64,
    op: TraceOp,
    major: u64,
    minor: u64,
}

/// Words after the name of the process.
const LAST_WORDS: usize = 6;

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let ts = i64::try_from(cursor.number()?).ok()?;
    cursor.gap()?;
    let _pid = cursor.number()?;
    cursor.gap()?;
    let rest = cursor.rest().trim_ascii_end();
    let mut words = memchr::memrchr_iter(b' ', rest);
    let end = words.nth(LAST_WORDS - 1)?;
    let (process, last) = (&rest[..end], &rest[end + 1..]);
    let mut cursor = Cursor::new(last);
    let sector = cursor.number()?;
    cursor.gap()?;
    let sectors = cursor.number()?;
    cursor.gap()?;
    let op = match cursor.token()? {
        b"R" => TraceOp::Read,
        b"W" => TraceOp::Write,
        _ => return None,
    };
    cursor.gap()?;
    let major = cursor.number()?;
    cursor.gap()?;
    let minor = cursor.number()?;
    cursor.gap()?;
    let digest = cursor.token()?;
    cursor.end()?;
    digest.iter().all(u8::is_ascii_hexdigit).then_some(Row {
        ts,
        process,
        sector,
        sectors,
        op,
        major,
        minor,
    })
}

impl Lines for Fiu {
    const SHAPE: &'static str = "`ns pid process sector sectors R|W major minor digest`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let offset = row.sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let length = row.sectors.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let dev = self.devices.number(row.major, row.minor, out);
        let mut record = Record::new(row.ts, row.op, offset, length, dev);
        record.client = out.clients.intern(row.process);
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

    const LINE: &str =
        "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523";

    #[test]
    fn names_may_hold_blanks() {
        let blanks = LINE.replace("gzip", "my gzip 8 R");
        let sink = read(&FORMAT, &format!("{LINE}\n{blanks}\n"));
        let mut record = Record::new(
            89_968_195_792_462,
            TraceOp::Read,
            283_193_184 * 512,
            4_096,
            0,
        );
        record.client = 1;
        assert_eq!(sink.records[0], record);
        record.client = 2;
        assert_eq!(sink.records[1], record);
        assert_eq!(sink.clients.all(), ["", "gzip", "my gzip 8 R"]);
        assert_eq!(sink.devices.all(), ["6:0"]);
    }

    #[test]
    fn bad_lines_are_left_out() {
        let bad = [
            LINE.replace(" R ", " r "),
            LINE.replace(" gzip", ""),
            LINE.replace("56f1", "x6f1"),
            LINE.replace(" 8 ", " -8 "),
            LINE.replace("89968195792462", "9223372036854775808"),
        ];
        let sink = read(&FORMAT, &bad.join("\n"));
        assert!(sink.records.is_empty());
        let counted = sink.anomalies.of(Anomaly::BadRecord) + sink.anomalies.of(Anomaly::Truncated);
        assert_eq!(counted, 5);
    }

    #[test]
    fn the_probe_wants_nine_fields_and_a_digest() {
        assert!(takes(&FORMAT, LINE));
        assert!(!takes(
            &FORMAT,
            "  8,0    3        1     0.000000000   697  G  WS 223490 + 8 [kjournald]"
        ));
    }
}
