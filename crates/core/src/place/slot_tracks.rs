//! Where slots of a size lie on a drive, for placements that count them; refused if they would need
//! too much memory.

use std::sync::Arc;

use crate::freemap::{Room, Slot, Tracks, Uncountable};
use crate::registry::{ConfigError, VolumeEnv};
use crate::units::{BLOCK_BYTES, Blocks};

/// Cylinders in use if a `striping`-th of the tracks is.
pub(super) fn used_cylinders(tracks: &Tracks, striping: f64) -> u32 {
    (libm::ceil(f64::from(tracks.cylinders()) / striping) as u32).max(1)
}

/// Bytes that a placement takes for its maps at most: 16 GiB.
const MEMORY_MAX: u64 = 16 << 30;
/// Bytes that a chunk that is proposed instead takes at most: what most machines have.
const MEMORY_PROPOSED: u64 = 4 << 30;
/// Chunks that can be proposed at most, in KiB.
const PROPOSED_KIB_MAX: u64 = 1_024;

/// What a placement takes memory for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// Drives with a map of their own.
    pub(super) drives: u16,
    /// Slots in use for each that is remembered.
    pub(super) dilution: f64,
}

impl Footprint {
    /// About how many bytes it takes on drives with so much room.
    fn bytes(&self, room: &Room) -> u64 {
        // All slots are listed once, those in use for each drive, in its map, and in the map that
        // runs share.
        let listed = room.slots as f64 * (1.0 + 3.0 * f64::from(self.drives) / self.dilution);
        let lists = (listed * size_of::<Slot>() as f64) as u64;
        let maps = room.map_bytes().saturating_mul(1 + u64::from(self.drives));
        room.tracks_bytes()
            .saturating_add(maps)
            .saturating_add(lists)
    }
}

/// Where slots lie on a drive, found once for all who ask. What cannot be is refused before memory
/// is taken for it.
///
/// # Errors
/// There are none, too many, or more than memory has room for. `key` is the knob that says how
/// large a slot is, if there is one.
pub(super) fn tracks(
    slot: Blocks,
    footprint: Footprint,
    key: Option<&str>,
    env: &VolumeEnv<'_>,
) -> Result<Arc<Tracks>, ConfigError> {
    let room = env.blueprint.room(slot);
    let bytes = footprint.bytes(&room);
    let why = if bytes > MEMORY_MAX {
        Some(TooLarge::Memory(bytes))
    } else if room.slots > u64::from(u32::MAX) {
        Some(TooLarge::Slots(room.slots))
    } else {
        None
    };
    if let Some(why) = why {
        return Err(why.refusal(slot, footprint, key, env));
    }
    let make = || {
        let tracks = env.blueprint.tracks(slot);
        tracks.map_err(|why| uncountable(slot, key, why))
    };
    env.prepared(&format!("tracks in slots of {slot:?}"), Tracks::bytes, make)
}

/// What there is too much of.
#[derive(Clone, Copy, Debug)]
enum TooLarge {
    Slots(u64),
    Memory(u64),
}

impl TooLarge {
    fn refusal(
        self,
        slot: Blocks,
        footprint: Footprint,
        key: Option<&str>,
        env: &VolumeEnv<'_>,
    ) -> ConfigError {
        let why = match self {
            TooLarge::Slots(slots) => {
                format!("32 bits number a drive's slots, and there would be {slots}")
            }
            TooLarge::Memory(bytes) => format!(
                "it would take {} of memory, and at most {} are taken",
                gib(bytes),
                gib(MEMORY_MAX)
            ),
        };
        let kib = (slot.bytes() / 1024).max(1);
        let Some(key) = key else {
            let value = format!("{kib} KiB on {} tracks", env.blueprint.room(slot).tracks);
            let allowed = format!(
                "less: {why}; take a smaller drive, or mirror, which needs no list of slots"
            );
            return env.names.too_much("slots of the drive", &value, &allowed);
        };
        let works = |kib: &u64| {
            let room = env.blueprint.room(Blocks(kib * 1024 / BLOCK_BYTES));
            let counted = (1..=u64::from(u32::MAX)).contains(&room.slots);
            counted && footprint.bytes(&room) <= MEMORY_PROPOSED
        };
        let mut doubled = std::iter::successors(Some(kib * 2), |kib| Some(kib * 2));
        let proposed = doubled
            .find(|kib| *kib > PROPOSED_KIB_MAX || works(kib))
            .filter(|kib| *kib <= PROPOSED_KIB_MAX);
        let allowed = match proposed {
            Some(kib) => format!("more, such as {kib}: {why}"),
            None => format!("no chunk of this drive: {why}"),
        };
        env.names.too_much(key, &kib.to_string(), &allowed)
    }
}

/// Bytes for people.
fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// Why a drive has no slots of this size, as a mistake of the configuration.
fn uncountable(slot: Blocks, key: Option<&str>, why: Uncountable) -> ConfigError {
    let kib = (slot.bytes() / 1024).to_string();
    let allowed = match why {
        Uncountable::None => "no more than a track of the drive holds",
        Uncountable::TooMany => "so many that 32 bits number the drive's slots",
    };
    ConfigError::value(
        key.unwrap_or("KiB that are written as a whole"),
        &kib,
        allowed,
    )
}
