//! What all prefetchers have: how large a track is.

use crate::pages;
use crate::registry::{ConfigError, Knob, Knobs};

/// The setting.
pub(super) const TRACK: Knob = Knob::integer(
    "track_kib",
    32,
    4..=256,
    "bytes that are looked for in a row, and brought together, in KiB: a power of two",
);

/// Pages of a track.
///
/// # Errors
/// It is no power of two.
pub fn track_pages(name: &str, knobs: &Knobs) -> Result<u64, ConfigError> {
    pages::of_kib(name, knobs, TRACK.name)
}
