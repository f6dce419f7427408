//! Consecutive blocks of a drive that are kept for the log of a map.

use crate::freemap::{FreeMap, Slot, Tracks};
use crate::registry::{ConfigError, VolumeError};
use crate::units::{Blocks, Pba};

/// Blocks of a drive that belong to the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) first: Pba,
    pub(super) len: Blocks,
}

impl Region {
    /// A log that was found has room here.
    pub(super) fn check_log(&self, what: &str, len: Blocks) -> Result<(), VolumeError> {
        if len.0 <= self.len.0 {
            return Ok(());
        }
        let found = format!("{} KiB", len.bytes() / 1024);
        let expected = format!("at most the {} KiB of its place", self.len.bytes() / 1024);
        Err(VolumeError::unfit(what, &found, &expected))
    }
}

/// Takes the slots out of a drive's free map that a log needs: consecutive blocks from the middle
/// of the used cylinders on.
///
/// # Errors
/// There is no room.
pub(super) fn reserve(
    free: &mut FreeMap,
    cylinders: u32,
    len: Blocks,
    capacity: Blocks,
) -> Result<Region, ConfigError> {
    let tracks = free.tracks();
    let first = first_block(tracks, cylinders / 2);
    let behind = Pba(first.0.saturating_add(len.0));
    // Where all cylinders are in use, or no unused one has a slot, the drive ends behind them.
    let end = first_block(tracks, cylinders).min(Pba(capacity.0));
    let slot_blocks = tracks.slot_blocks().0;
    let inside = |slot: &Slot| {
        let at = tracks.at(*slot);
        at < behind && at.0 + slot_blocks > first.0
    };
    let taken: Vec<Slot> = free.iter().filter(inside).collect();
    let whole = taken.len() as u64 * slot_blocks >= len.0 / 2;
    if behind > end || !whole {
        let kib = (len.bytes().div_ceil(1024)).to_string();
        let allowed = "what half of the cylinders in use have room for";
        return Err(ConfigError::value("KiB of the map's log", &kib, allowed));
    }
    taken.iter().for_each(|slot| free.take(*slot));
    Ok(Region { first, len })
}

/// The first block of a cylinder, or the first behind all.
fn first_block(tracks: &Tracks, cylinder: u32) -> Pba {
    let of = |cylinder: u32| {
        let surfaces = 0..tracks.surfaces();
        let firsts = surfaces.map(|surface| tracks.track(tracks.number(cylinder, surface)));
        firsts
            .filter(|track| track.slots > 0)
            .map(|track| track.first)
            .min()
    };
    (cylinder..tracks.cylinders())
        .find_map(of)
        .unwrap_or(Pba(u64::MAX))
}
