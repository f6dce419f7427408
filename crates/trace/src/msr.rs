//! MSR Cambridge: a week of 36 volumes of an enterprise data centre.
//!
//! `filetime,host,disk,Read|Write,offset,bytes,response`: times count 100 ns, the first from 1601
//! (a Windows FILETIME) when the request was issued, the last how long it took. A disk number
//! repeats from host to host, so a device is host and disk together. Offsets and sizes are bytes.
//!
//! Source: D. Narayanan, A. Donnelly, A. Rowstron, "Write Off-Loading", FAST 2008; README of SNIA
//! IOTTA set 388.

use super::decode::{Format, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, Text};

/// Ticks of a FILETIME from its start in 1601 to the start of Unix time.
const UNIX_START_TICKS: i64 = 116_444_736_000_000_000;

/// Nanoseconds of a tick.
const TICK_NS: u64 = 100;

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge (SNIA 388): filetime,host,disk,Read|Write,offset,bytes,response",
    source: "Narayanan et al., Write Off-Loading, FAST 2008; SNIA IOTTA 388",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Msr::default(), options))),
};

#[derive(Default)]
struct Msr {
    /// `host_disk` of the line, kept for its memory.
    device: Vec<u8>,
}

/// The fields of a line; times in ns.
struct Row<'a> {
    ts: i64,
    host: &'a [u8],
    disk: &'a [u8],
    op: TraceOp,
    offset: u64,
    bytes: u64,
    response_ns: u64,
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cursor = Cursor::new(line);
    let ticks = i64::try_from(cursor.number()?).ok()?;
    let ts = (ticks - UNIX_START_TICKS).checked_mul(TICK_NS as i64)?;
    cursor.byte(b',')?;
    let host = cursor.field(b',')?;
    let disk = cursor.digits_text()?;
    cursor.byte(b',')?;
    let op = match cursor.peek()? {
        b'R' => cursor.word(b"Read,").map(|()| TraceOp::Read)?,
        _ => cursor.word(b"Write,").map(|()| TraceOp::Write)?,
    };
    let offset = cursor.number()?;
    cursor.byte(b',')?;
    let bytes = cursor.number()?;
    cursor.byte(b',')?;
    let response_ns = cursor.number()?.checked_mul(TICK_NS)?;
    cursor.end()?;
    Some(Row {
        ts,
        host,
        disk,
        op,
        offset,
        bytes,
        response_ns,
    })
}

impl Lines for Msr {
    const SHAPE: &'static str = "`filetime,host,disk,Read|Write,offset,bytes,response`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        self.device.clear();
        self.device.extend_from_slice(row.host);
        self.device.push(b'_');
        self.device.extend_from_slice(row.disk);
        let dev = out.devices.intern(&self.device);
        let mut record = Record::new(row.ts, row.op, row.offset, row.bytes, dev);
        record.response_ns = row.response_ns;
        out.records.push(record);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: TICK_NS,
            kind: TimeKind::Issue,
            epoch_unix_ns: Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Anomaly, Options};
    use super::super::text::testing::{decoder, read, takes};
    use super::*;

    #[test]
    fn a_filetime_is_unix_time_in_ns() {
        let sink = read(&FORMAT, "128166372003061629,mds,0,Read,0,512,1\n");
        // 2007-02-22T17:00:00.306162900Z
        assert_eq!(sink.records[0].ts, 1_172_163_600_306_162_900);
        let meaning = decoder(&FORMAT, &Options::default()).unwrap().time();
        assert_eq!(
            (meaning.kind, meaning.epoch_unix_ns),
            (TimeKind::Issue, Some(0))
        );
    }

    #[test]
    fn the_published_example() {
        let line = "128166372011600556,mds,0,Write,3201662976,20480,45361\r\n";
        let sink = read(&FORMAT, line);
        let record = sink.records[0];
        assert_eq!(
            (record.op, record.offset, record.len),
            (TraceOp::Write, 3_201_662_976, 20_480)
        );
        assert_eq!(record.response_ns, 4_536_100);
    }

    #[test]
    fn equal_disk_numbers_of_two_hosts_are_two_devices() {
        let sink = read(
            &FORMAT,
            "128166372003061629,mds,0,Read,0,512,1\n128166372003061629,prn,0,Read,0,512,1\n\
             128166372003061629,mds,1,Read,0,512,1\n128166372003061629,prn,0,Read,0,512,1\n",
        );
        let devices: Vec<_> = sink.records.iter().map(|record| record.dev).collect();
        assert_eq!(devices, [0, 1, 2, 1]);
        assert_eq!(sink.devices.all(), ["mds_0", "prn_0", "mds_1"]);
    }

    #[test]
    fn bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,mds,0,read,0,512,1\n128166372003061629,mds,0,Read,0,512\n\
             128166372003061629,mds,0,Read,-512,512,1\n9223372036854775808,mds,0,Read,0,512,1\n\
             9223372036854775807,mds,0,Read,0,512,1\n",
        );
        assert!(sink.records.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 5);
    }

    #[test]
    fn the_probe_wants_the_words() {
        assert!(takes(
            &FORMAT,
            "128166372011600556,mds,0,Write,3201662976,20480,45361"
        ));
        assert!(!takes(&FORMAT, "1538323199,105352008,584,1,1576"));
    }
}
