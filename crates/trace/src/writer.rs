//! Writing traces that other programs read.
//!
//! A writer gets requests in the order of time, in batches, with the header as known by then for
//! their names. It refuses what its format cannot say instead of rounding it.

use std::io::Write;

use super::TraceError;
use super::decode::Made;
use super::header::{Device, Header};
use super::record::{Flags, Record};

/// Where bytes go: a file, standard output, memory.
pub type Output = Box<dyn Write + Send>;

/// Takes the requests of a trace, in the order of time.
pub trait Writer: Send {
    /// Writes some.
    ///
    /// # Errors
    /// The output says no, or the format cannot say this.
    fn write(&mut self, records: &[Record], header: &Header) -> Result<(), TraceError>;

    /// Writes what was held back and the end of the file.
    ///
    /// # Errors
    /// The output says no.
    fn finish(self: Box<Self>, header: &Header) -> Result<(), TraceError>;
}

/// A format that traces can be written in.
pub struct WriteFormat {
    /// Name for the command line; the same as that of its reader.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Makes a writer; the text names the output in errors.
    pub make: fn(Output, &str) -> Made<dyn Writer>,
    /// Whether a file of it can say that nobody knows when its requests came.
    pub may_be_untimed: bool,
    /// What it has no place for.
    pub losses: &'static [Loss],
    /// What it calls these devices.
    pub device_names: fn(&[Device]) -> Vec<String>,
}

/// Something that a format has no place for.
pub struct Loss {
    /// What so many requests lose, in words that go on after `has no place for`.
    pub words: fn(u64) -> String,
    /// Whether this request loses it.
    pub of: fn(&Record, &Header) -> bool,
}

/// The priority, of formats without a place for it.
pub(super) const PRIORITY: Loss = Loss {
    words: |count| format!("the priority of {count} of them"),
    of: |record, _| record.flags.has(Flags::PRIORITY),
};

/// How far a write may move, of formats without a place for it.
pub(super) const OFFER: Loss = Loss {
    words: |count| format!("how far {count} of them may move"),
    of: |record, _| record.flags.offer().is_some(),
};

/// How long `count` requests took.
pub(super) fn how_long(count: u64) -> String {
    format!("how long {count} of them took")
}

/// The devices' own names.
pub(super) fn own_names(devices: &[Device]) -> Vec<String> {
    devices.iter().map(|device| device.name.clone()).collect()
}
