//! # nearslot-trace
//!
//! Block traces: reading what storage people have, detected without flags; writing a few of the
//! formats.
//!
//! ```text
//! files or stdin -> containers (gzip, zstd) -> decoder of the format -> rules -> order -> merge -> spread -> records
//!    open.rs             input.rs                one file each         order.rs         merge.rs spread.rs  open.rs
//! ```
//!
//! A format is a file here and a line in [`FORMATS`]. Everything behind [`open()`] sees only
//! [`Record`]s in rising time order, starting at 0, in batches, so a trace of any length needs
//! bounded memory.

pub mod decode;
pub mod file_identity;
pub mod header;
pub mod open;
pub mod record;
pub mod write;
mod writer;

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod bpftrace;
mod columns;
mod csv;
mod cursor;
mod detect;
mod disksim_ascii;
mod disksim_measured;
mod fio;
mod fio_lat;
mod fiu;
mod input;
mod k5cloud;
mod merge;
mod mqsim;
mod msr;
mod names;
mod oracle_general;
mod order;
mod pairing;
#[cfg(feature = "parquet")]
mod parquet;
mod perf_text;
mod plain;
mod rows;
mod rwbs;
mod sort;
mod source;
mod span;
mod spc;
pub mod spool;
mod spread;
mod straight;
mod systor17;
pub mod temporary;
mod tencent;
mod text;
mod traced;
mod vscsi;

pub use columns::Asked;
pub use decode::{
    Anomalies, Anomaly, Choice, Decoder, FileReader, FioWait, Format, Made, Naming, Options, Probe,
    Reads, Sink, TimeKind, TimeMeaning, TimeUnit,
};
pub use header::{Device, Header};
pub use names::names_listed;
pub use open::{OpenOptions, TraceReader, files, open};
pub use record::{Flags, Record, TraceOp};
pub use span::{Span, SpanRead, TraceTime};
pub use spread::{Spread, common_step};
pub use write::{WRITERS, writer};
pub use writer::{Output, WriteFormat, Writer};

/// Every trace format, in the order of detection.
pub static FORMATS: &[&Format] = &[
    #[cfg(feature = "parquet")]
    &parquet::FORMAT,
    &blktrace::FORMAT,
    &vscsi::FORMAT,
    &oracle_general::FORMAT,
    &fio::FORMAT,
    &biosnoop::FORMAT,
    &blkparse::FORMAT,
    &perf_text::FORMAT,
    &bpftrace::FORMAT,
    &spc::FORMAT,
    &msr::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &k5cloud::FORMAT,
    &systor17::FORMAT,
    &fiu::FORMAT,
    &disksim_ascii::FORMAT,
    &disksim_measured::FORMAT,
    &fio_lat::FORMAT,
    &mqsim::FORMAT,
    &fio::FORMAT_V1,
    &csv::FORMAT,
];

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file system or a decompressor said no.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What it said.
        source: std::io::Error,
    },
    /// The bytes are not what they should be.
    #[error("{path}: {what}")]
    Unfit {
        /// Which file.
        path: String,
        /// What is wrong and where, what was found and what is allowed.
        what: String,
    },
    /// An option has no effect on this trace.
    #[error("{option} has no effect on {path}: {what}")]
    Option {
        /// The option.
        option: &'static str,
        /// Which file.
        path: String,
        /// What it needs.
        what: String,
    },
    /// An option is wrong, whatever the trace.
    #[error("{option}: {what}")]
    Wrong {
        /// The option.
        option: &'static str,
        /// What is wrong with it, and what is allowed.
        what: String,
    },
    /// A file is named twice, by whatever paths.
    #[error("{path} is the same file as {other}; name each file once")]
    Twice {
        /// Which file.
        path: String,
        /// By which path it is named before.
        other: String,
    },
    /// The requests are further out of order than the reorder window and memory allow. Reading
    /// again with [`OpenOptions::sort`] helps.
    #[error("{path}: {what}")]
    OutOfOrder {
        /// Which file.
        path: String,
        /// How far, where, and what helps.
        what: String,
    },
}

impl TraceError {
    /// Bytes that are not what they should be, in a file that the pipeline names.
    pub fn unfit(what: impl Into<String>) -> TraceError {
        TraceError::Unfit {
            path: String::new(),
            what: what.into(),
        }
    }

    /// An option that is wrong, whatever the trace.
    pub(crate) fn wrong(option: &'static str, what: impl Into<String>) -> TraceError {
        TraceError::Wrong {
            option,
            what: what.into(),
        }
    }

    /// An option without effect, and what it needs; the pipeline names the file.
    pub(crate) fn without_effect(option: &'static str, what: impl Into<String>) -> TraceError {
        TraceError::Option {
            option,
            path: String::new(),
            what: what.into(),
        }
    }

    /// The same error with the file named, unless it names one already.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> TraceError {
        match &mut self {
            TraceError::Io { path, .. }
            | TraceError::Unfit { path, .. }
            | TraceError::Option { path, .. }
            | TraceError::OutOfOrder { path, .. }
                if path.is_empty() =>
            {
                file.clone_into(path);
            }
            _ => {}
        }
        self
    }
}
