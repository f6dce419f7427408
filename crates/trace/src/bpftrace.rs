//! Lines of our bpftrace program for block requests; bpftrace's own `biosnoop.bt` prints neither
//! address nor size.
//!
//! ```text
//! I,1685757457233,254,0,323804048,4096,WS,10,kworker/0:0H
//! C,1685757528228,254,0,323804048,4096,WS,0,
//! ```
//!
//! event, ns since boot, major, minor, sector, bytes, rwbs, pid or error, comm. The program is
//!
//! ```text
//! tracepoint:block:block_rq_issue    { printf("I,%llu,%d,%d,%llu,%u,%s,%d,%s\n", nsecs, args->dev >> 20,
//!     args->dev & 0xfffff, args->sector, args->bytes, args->rwbs, pid, comm); }
//! tracepoint:block:block_rq_complete { printf("C,%llu,%d,%d,%llu,%u,%s,%d,\n", nsecs, args->dev >> 20,
//!     args->dev & 0xfffff, args->sector, args->nr_sector * 512, args->rwbs, args->error); }
//! ```
//!
//! Source: tracepoint formats of Linux 4.x and later.

use super::decode::{Format, Probe, Reads, Sink, TimeMeaning};
use super::pairing::Step;
use super::rwbs::Rwbs;
use super::text::{Cursor, Lines, Odd, SECTOR_BYTES, Text, arrivals};
use super::traced::{Traced, TracedRequests};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "bpftrace",
    summary: "our bpftrace program: I|C,ns,major,minor,sector,bytes,rwbs,pid,comm",
    source: "Linux include/trace/events/block.h",
    probe: Probe::Line(|line| row(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Bpftrace::default(), options))),
};

#[derive(Default)]
struct Bpftrace {
    requests: TracedRequests,
}

fn row(line: &[u8]) -> Option<Traced<'_>> {
    let mut cursor = Cursor::new(line);
    let step = match cursor.any()? {
        b'I' => Step::Issue,
        b'C' => Step::Complete,
        _ => return None,
    };
    cursor.byte(b',')?;
    let ts = i64::try_from(cursor.number()?).ok()?;
    cursor.byte(b',')?;
    let major = cursor.number()?;
    cursor.byte(b',')?;
    let minor = cursor.number()?;
    cursor.byte(b',')?;
    let sector = cursor.number()?;
    cursor.byte(b',')?;
    let bytes = cursor.number()?;
    cursor.byte(b',')?;
    let rwbs = Rwbs::parse(cursor.field(b',')?)?;
    if step == Step::Complete {
        // Errors are negative.
        let _ = cursor.byte(b'-');
    }
    let pid_or_error = cursor.number()?;
    cursor.byte(b',')?;
    let comm = match step {
        Step::Issue => cursor.rest(),
        _ => b"",
    };
    Some(Traced {
        step,
        ts,
        major,
        minor,
        rwbs,
        sector,
        bytes,
        priority: None,
        failed: step == Step::Complete && pid_or_error != 0,
        comm,
    })
}

impl Lines for Bpftrace {
    const SHAPE: &'static str = "`I|C,ns,major,minor,sector,bytes,rwbs,pid,comm`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let row = row(line).ok_or(Odd::Malformed)?;
        if row.bytes % SECTOR_BYTES != 0 {
            return TracedRequests::passed_through(row.step);
        }
        self.requests.take(&row, out)
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        self.requests.finish(out);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            kind: self.requests.kind(),
            ..arrivals(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Anomaly;
    use super::super::record::{Flags, Record, TraceOp};
    use super::super::text::testing::{read, takes};
    use super::*;

    #[test]
    fn issues_meet_completions() {
        let sink = read(
            &FORMAT,
            "Attaching 2 probes...\nI,1000,254,0,8,4096,WS,10,a,b c\nI,1100,254,0,0,0,FF,10,kworker\n\
             C,1150,254,0,18446744073709551615,0,FF,0,\nC,5000,254,0,8,4096,WS,0,\nI,6000,254,0,0,36,R,9,sg\n\
             I,7000,254,0,16,4096,WS,10,a,b c\nC,9000,254,0,16,4096,WS,-5,\n",
        );
        let mut write = Record::new(1_000, TraceOp::Write, 4_096, 4_096, 0);
        (write.flags, write.client, write.service_ns) = (Flags::SYNC, 1, 4_000);
        assert_eq!(sink.records[0], write);
        assert_eq!(
            (sink.records.len(), sink.records[1].op),
            (3, TraceOp::Flush)
        );
        let failed = sink.records[2];
        let flags = Flags::SYNC.with(Flags::FAILED);
        assert_eq!((failed.flags, failed.service_ns), (flags, Record::UNKNOWN));
        assert_eq!(sink.clients.all(), ["", "a,b c", "kworker"]);
        let anomalies: Vec<_> = sink.anomalies.iter().collect();
        assert_eq!(anomalies, [(Anomaly::NotData, 1), (Anomaly::Failed, 1)]);
    }

    #[test]
    fn the_probe_wants_all_fields() {
        assert!(takes(&FORMAT, "C,5000,254,0,8,4096,WS,0,"));
        assert!(!takes(&FORMAT, "I,1000,254,0,8,4096,write,10,a"));
        assert!(!takes(&FORMAT, "I,-1000,254,0,8,4096,W,10,a"));
    }
}
