//! What prefetchers have in common: how large a track is, and what those count that look for
//! sequences.

use crate::measure::Measure;
use crate::pages;
use crate::registry::{ConfigError, Knob, Knobs};

/// The setting.
pub(super) const TRACK: Knob = Knob::integer(
    "track_kib",
    32,
    4..=256,
    "bytes that are looked for in a row, and brought together, in KiB: a power of two",
);

/// What is counted where sequences are looked for.
pub(super) const SEQUENCE_MISSES: Measure =
    Measure::count("sequence_misses", "tracks", "tracks that sequences missed");
/// The same where groups have triggers.
pub(super) const TRIGGERS: Measure = Measure::count(
    "triggers",
    "tracks",
    "tracks with which the next group was sent for",
);

/// Pages of a track.
///
/// # Errors
/// It is no power of two.
pub fn track_pages(name: &str, knobs: &Knobs) -> Result<u64, ConfigError> {
    pages::of_kib(name, knobs, TRACK.name)
}
