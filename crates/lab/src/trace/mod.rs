//! Block traces: reading what storage people have, detected without flags.
//!
//! ```text
//! files or stdin -> containers (gzip, zstd) -> decoder of the format -> order -> canonical records
//! ```
//!
//! A format is a file here and a line in [`FORMATS`]. Everything behind [`open`] sees only [`Record`]s in rising
//! time order, starting at 0, in batches, so a trace of any length needs bounded memory.

pub mod decode;
pub mod record;

pub use decode::{Anomalies, Anomaly, Decoder, Format, Options, Probe, Sink, TimeKind, TimeUnit};
pub use record::{Flags, Record, TraceOp};

/// Every trace format, in the order of detection.
pub static FORMATS: &[&Format] = &[];

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file system said no.
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
        /// Which file, with line or byte where known.
        path: String,
        /// What is wrong, what was found and what is allowed.
        what: String,
    },
}
