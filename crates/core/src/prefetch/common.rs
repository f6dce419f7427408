//! What all prefetchers have: how large a track is.

use crate::pages::{PAGE, TRACK_PAGES};
use crate::registry::{ConfigError, Knob, Knobs};
use crate::units::BLOCK_BYTES;

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
    let kib = knobs.integer(TRACK.name);
    if !kib.is_power_of_two() {
        let key = format!("{name}.{}", TRACK.name);
        let allowed = "a power of two from 4 to 256";
        return Err(ConfigError::value(&key, &kib.to_string(), allowed));
    }
    let pages = kib * 1024 / (PAGE * BLOCK_BYTES);
    assert!(pages <= TRACK_PAGES, "the card allows no longer ones");
    Ok(pages)
}
