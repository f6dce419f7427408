//! Parquet: our own columns, and those of others by their names.
//!
//! ```text
//! ts int64 ns         op dictionary: read write flush discard write_zeroes other     offset uint64   len uint64
//! dev dictionary      client dictionary or null     flags uint16     prio uint16 or null
//! service_ns uint64 or null                         response_ns uint64 or null
//! ```
//!
//! Our own files are sorted by `ts`, compressed with zstd in row groups of 2^20 requests, and carry
//! what the header knows under the keys of [`key`]. Columns of other files are found by the names
//! and units that `nearslot show csv` lists (`time_us`, `lba`, `latency_ms`, ...); a column that
//! nothing reads is told. The index of a Parquet file stands at its end, so it is read from a file,
//! not from a stream.
//!
//! Source of the container: Apache Parquet; the work is done by the `parquet` crate.

mod columns;
mod read;
mod write;

pub(super) use write::WRITE_FORMAT;

use super::decode::{Choice, Format, Probe, Reads};

/// The card.
pub(super) static FORMAT: Format = Format {
    name: "parquet",
    summary: "Parquet with our own columns, or others' by their names",
    source: "Apache Parquet; column names in trace/names.rs",
    probe: Probe::Magic(|bytes| bytes.starts_with(b"PAR1")),
    options: &[Choice::TimeUnit],
    reads: Reads::File(|file, options| Ok(Box::new(read::Reader::open(file, options)?))),
};

/// Version of our columns, under [`key::SCHEMA`].
const SCHEMA_VERSION: &str = "1";

/// Keys of the file's metadata.
mod key {
    pub(super) const SCHEMA: &str = "trace.schema";
    pub(super) const SOURCE_FORMAT: &str = "trace.source_format";
    pub(super) const EPOCH: &str = "trace.epoch_unix_ns";
    pub(super) const RESOLUTION: &str = "trace.resolution_ns";
    pub(super) const TIME_KIND: &str = "trace.time_kind";
    pub(super) const SECTOR_SIZE: &str = "trace.sector_size";
    pub(super) const DEVICES: &str = "trace.devices";
    pub(super) const ANOMALIES: &str = "trace.anomalies";
    pub(super) const TRANSFORM: &str = "trace.transform";
}
