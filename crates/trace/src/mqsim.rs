//! MQSim traces, a simulator of solid state drives.
//!
//! `time device sector sectors type`, blank-separated whole numbers: sectors of 512 bytes, type **0
//! writes, 1 reads**. The unit of the time stands in MQSim's configuration and not in the trace. It
//! is taken as nanoseconds, as in MQSim's own examples, unless `--time-unit` says otherwise, and
//! that is told, because whoever errs here sees drives of endless speed. A DiskSim trace of whole
//! milliseconds looks the same, and must be named.
//!
//! Source: MQSim, README and `ASCII_Trace_Definition.h`.

use super::decode::{Choice, Format, Options, Probe, Reads, Sink, TimeMeaning, TimeUnit};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECTOR_BYTES, Text, arrivals};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "mqsim",
    summary: "MQSim: time (ns, or --time-unit) device sector sectors 0|1, where 1 reads",
    source: "MQSim, ASCII_Trace_Definition.h",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[Choice::TimeUnit],
    reads: Reads::Stream(|options| Ok(Text::boxed(Mqsim::new(options), options))),
};

struct Mqsim {
    unit_ns: u64,
    /// The user said the unit, or has been told.
    told: bool,
}

/// The fields of a line.
struct Row<'a> {
    time: u64,
    device: &'a [u8],
    sector: u64,
    sectors: u64,
    op: TraceOp,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let time = cursor.number()?;
    cursor.gap()?;
    let device = cursor.digits_text()?;
    cursor.gap()?;
    let sector = cursor.number()?;
    cursor.gap()?;
    let sectors = cursor.number()?;
    cursor.gap()?;
    let op = cursor.op(b'1', b'0')?;
    cursor.end()?;
    Some(Row {
        time,
        device,
        sector,
        sectors,
        op,
    })
}

impl Mqsim {
    fn new(options: &Options) -> Mqsim {
        Mqsim {
            unit_ns: options.time_unit.unwrap_or(TimeUnit::Nanoseconds).ns(),
            told: options.time_unit.is_some(),
        }
    }
}

impl Lines for Mqsim {
    const SHAPE: &'static str = "`time device sector sectors 0|1`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        let ts = row.time.checked_mul(self.unit_ns);
        let ts = ts
            .and_then(|ts| i64::try_from(ts).ok())
            .ok_or(Odd::Malformed)?;
        let offset = row.sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let length = row.sectors.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        if !std::mem::replace(&mut self.told, true) {
            out.note(
                "times are whole numbers without a unit: taken as MQSim's nanoseconds; --time-unit takes them otherwise, \
                 --trace-format disksim as DiskSim's milliseconds",
            );
        }
        let dev = out.devices.intern(row.device);
        out.records
            .push(Record::new(ts, row.op, offset, length, dev));
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        arrivals(self.unit_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Anomaly;
    use super::super::text::testing::{read, read_with, takes};
    use super::*;

    #[test]
    fn the_test_vector() {
        let sink = read(&FORMAT, "4851300 1 524288 16 0\n");
        let record = Record::new(4_851_300, TraceOp::Write, 268_435_456, 8_192, 0);
        assert_eq!(sink.records, [record]);
        assert_eq!(sink.devices.all(), ["1"]);
        assert!(sink.notes[0].contains("taken as MQSim's nanoseconds"));
    }

    #[test]
    fn the_unit_can_be_told() {
        let options = Options {
            time_unit: Some(TimeUnit::Microseconds),
            ..Options::default()
        };
        let sink = read_with(&FORMAT, b"7 0 0 8 1\r\n", &options);
        assert_eq!(
            (sink.records[0].ts, sink.records[0].op),
            (7_000, TraceOp::Read)
        );
        assert!(sink.notes.is_empty());
    }

    #[test]
    fn bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "1 0 0 8 2\n1 0 0 8\n1 0 0 8 1 1\n-1 0 0 8 1\n1.5 0 0 8 1\n9223372036854775808 0 0 8 1\n\
             1 0 36028797018963968 8 1\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 6);
        assert_eq!(sink.anomalies.of(Anomaly::BeyondAddressSpace), 1);
    }

    #[test]
    fn the_probe_wants_whole_numbers() {
        assert!(takes(&FORMAT, "4851300 1 524288 16 0"));
        assert!(!takes(&FORMAT, "13.191135 30 0 5 1"));
        assert!(!takes(&FORMAT, "110765 64 0 0"));
    }
}
