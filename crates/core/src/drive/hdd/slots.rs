//! Slots for eager writes: where they lie on the tracks of a disk.
//!
//! Slots follow each other along a track from its first block on, as far as blocks do; one that
//! reaches into a remapped sector is no place to write. Slipped sectors only move the slots behind
//! them a little farther round.

use super::mech::Mechanics;
use crate::freemap::{Room, Span, Tracks, Uncountable};
use crate::units::{Angle, Blocks, Pba};

/// How many tracks and slots there are, by the zones alone.
pub(super) fn room(mechanics: &Mechanics, slot: Blocks) -> Room {
    let layout = mechanics.layout();
    let of_zone = |(tracks, sectors): (u64, u64)| (tracks * (sectors / slot.0), sectors / slot.0);
    let zones = layout.tracks_of_zones().map(of_zone);
    let (slots, on_track) = zones.fold((0, 0), |(slots, most), (of_zone, on_track)| {
        (slots + of_zone, most.max(on_track))
    });
    Room {
        tracks: u64::from(mechanics.cylinders()) * u64::from(layout.heads()),
        slots,
        on_track,
    }
}

/// All tracks, by cylinder and head; those that hold spare sectors only have no slots.
///
/// # Errors
/// No track has room for a slot, or there are too many to number.
pub(super) fn tracks(mechanics: &Mechanics, slot: Blocks) -> Result<Tracks, Uncountable> {
    let layout = mechanics.layout();
    let heads = layout.heads();
    let nothing = Span {
        first: Pba(0),
        angle: Angle(0),
        blocks: Blocks(0),
        sectors: 0,
        contiguous: Blocks(0),
    };
    let count = u64::from(mechanics.cylinders()) * u64::from(heads);
    // A track is numbered by 32 bits, too.
    let count = u32::try_from(count).map_err(|_| Uncountable::TooMany)?;
    let mut all = vec![nothing; count as usize];
    let mut next = Pba(0);
    while next.0 < layout.capacity().0 {
        // A block that was remapped tells nothing of the track that it comes from: its home does.
        let home = layout.home(next).arm_position();
        let span = layout.track_span(next);
        let behind = if span.contains(&next) {
            span.end
        } else {
            next + Blocks(1)
        };
        all[(home.cylinder * heads + home.surface) as usize] =
            layout.span(next, Blocks(behind.0 - next.0));
        next = behind;
    }
    let broken = |first: Pba| {
        if layout.spot(first).contiguous >= slot {
            return false;
        }
        layout.any_lies_elsewhere(first.0..first.0 + slot.0)
    };
    Tracks::new(slot, heads, all.into_iter(), broken)
}
