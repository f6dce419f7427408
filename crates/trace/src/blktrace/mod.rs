//! blktrace, the kernel's own record of the block layer, versions 7 and 8, in both byte orders.
//!
//! A trace is one file per processor (`x.blktrace.0`, `x.blktrace.1`, ...) or what `blkparse -d`
//! makes of them. Both are plain sequences of records. Arrivals are the Q records, one per request
//! as the file system made it; the rest tells when each was issued and answered. Times are ns of a
//! clock that does not tell the wall time, but a note in the trace may.
//!
//! Parts: `event.rs` reads records, `requests.rs` makes requests of them, `set.rs` merges
//! per-processor files, `write.rs` writes version 7.

mod event;
mod requests;
mod set;
mod write;

use event::Parser;
use requests::Requests;
pub(super) use set::{PerCpu, siblings};
pub(super) use write::WRITE_FORMAT;

use super::TraceError;
use super::decode::{Decoder, Format, Options, Probe, Reads, Sink, TimeKind, TimeMeaning};

/// The card.
pub(super) static FORMAT: Format = Format {
    name: "blktrace",
    summary: "Linux blktrace binary, versions 7 and 8; per-CPU files are merged",
    source: "Linux include/uapi/linux/blktrace_api.h",
    probe: Probe::Magic(event::is_blktrace),
    options: &[],
    reads: Reads::Stream(|options| Ok(Box::new(Blktrace::new(options)))),
};

/// One stream of records.
struct Blktrace {
    parser: Parser,
    requests: Requests,
}

impl Blktrace {
    fn new(options: &Options) -> Blktrace {
        Blktrace {
            parser: Parser::new(options.strict),
            requests: Requests::default(),
        }
    }
}

impl Decoder for Blktrace {
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Sink) -> Result<usize, TraceError> {
        let used = self
            .parser
            .parse(bytes, last, self.requests.events(), out)?;
        self.requests.advance(out);
        Ok(used)
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), TraceError> {
        self.requests.finish(out);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        meaning(self.requests.kind(), self.parser.epoch_unix_ns)
    }
}

fn meaning(kind: TimeKind, epoch_unix_ns: Option<i64>) -> TimeMeaning {
    TimeMeaning {
        resolution_ns: 1,
        kind,
        epoch_unix_ns,
    }
}
