//! Alibaba block traces of 2020: one line a request of a thousand cloud volumes.
//!
//! `device_id,opcode,offset,length,timestamp`: bytes, and microseconds of Unix time at which the
//! server got the request. The file is not in time order across volumes.
//!
//! Source: the README of `alibaba/block-traces`.

use super::decode::{Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, Text};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba block traces 2020: device,opcode,offset,length,microseconds",
    source: "github.com/alibaba/block-traces",
    probe: Probe::Doubtful {
        parses: |line| row(line).is_some(),
        against,
    },
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Alibaba, options))),
};

struct Alibaba;

/// Numbers that have to grow before they look like times.
const GROWS_MIN: usize = 3;

/// The fields of a line.
struct Row<'a> {
    device: &'a [u8],
    op: TraceOp,
    offset: u64,
    length: u64,
    ts: i64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let device = cursor.digits_text()?;
    cursor.byte(b',')?;
    let op = cursor.op(b'R', b'W')?;
    cursor.byte(b',')?;
    let offset = cursor.number()?;
    cursor.byte(b',')?;
    let length = cursor.number()?;
    cursor.byte(b',')?;
    let ts = i64::try_from(cursor.number()?.checked_mul(1_000)?).ok()?;
    cursor.end()?;
    Some(Row {
        device,
        op,
        offset,
        length,
        ts,
    })
}

/// Tables of times, addresses and response times look the same: there the first column grows all the
/// time, and the last one does not. A trace of few volumes has one number on many lines.
fn against(lines: &[&[u8]]) -> Option<&'static str> {
    let mut first: Vec<u64> = Vec::new();
    let mut last = Vec::new();
    for row in lines.iter().filter_map(|line| row(line)) {
        first.push(std::str::from_utf8(row.device).ok()?.parse().ok()?);
        last.push(row.ts);
    }
    let steps = first.windows(2).filter(|pair| pair[0] < pair[1]).count();
    let grows = first.len() >= GROWS_MIN && first.is_sorted() && 2 * steps >= first.len();
    let is_time = grows && !last.is_sorted();
    is_time.then_some(
        "the numbers in the first column grow from line to line, as times do, and those in the last do not",
    )
}

impl Lines for Alibaba {
    const SHAPE: &'static str = "`device,R|W,offset,length,microseconds`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let dev = out.devices.intern(row.device);
        let record = Record::new(row.ts, row.op, row.offset, row.length, dev);
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1_000,
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
    fn offsets_are_bytes_and_times_microseconds() {
        let sink = read(
            &FORMAT,
            "0,R,126703644672,4096,1577808000000626\n419,W,8792731648,16384,1577808000004775\n",
        );
        let records = [
            Record::new(
                1_577_808_000_000_626_000,
                TraceOp::Read,
                126_703_644_672,
                4_096,
                0,
            ),
            Record::new(
                1_577_808_000_004_775_000,
                TraceOp::Write,
                8_792_731_648,
                16_384,
                1,
            ),
        ];
        assert_eq!(sink.records, records);
        assert_eq!(sink.devices.all(), ["0", "419"]);
    }

    #[test]
    fn a_header_is_passed_over_and_bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "device_id,opcode,offset,length,timestamp\n0,r,0,1,1\n0,R,0,1\n0,R,0,1,2,3\n0,R,-4096,1,1\n\
             0,R,0,1,18446744073709551615\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 5);
    }

    #[test]
    fn a_table_of_times_is_not_taken_for_one_of_volumes() {
        let against = |text: &str| {
            let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            against(&lines).is_some()
        };
        assert!(against(
            "0,R,4096,4096,700\n150,W,0,512,90\n310,R,8192,4096,650"
        ));
        // Its last column may be times; it is of few volumes, in their order; it is too short.
        assert!(!against(
            "0,R,4096,4096,700\n150,W,0,512,790\n310,R,8192,4096,850"
        ));
        assert!(!against(
            "1,R,0,512,7\n1,R,0,512,6\n1,R,0,512,5\n2,R,0,512,4\n2,R,0,512,3"
        ));
        assert!(!against("3,R,0,512,7\n1,R,0,512,6\n2,R,0,512,5"));
        assert!(!against("0,R,4096,4096,700\n150,W,0,512,90"));
    }

    #[test]
    fn the_probe_wants_the_opcode_in_second_place() {
        assert!(takes(&FORMAT, "0,R,126703644672,4096,1577808000000626"));
        assert!(!takes(&FORMAT, "0,303567,3584,w,0.026214"));
        assert!(!takes(&FORMAT, "2264,86400.121837000,R,48195870720,4096"));
    }
}
