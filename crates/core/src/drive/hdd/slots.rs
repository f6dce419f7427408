//! Slots for eager writes: where they lie on the tracks of a disk, and which one passes under the heads.
//!
//! Slots follow each other along a track from its first block on, as far as blocks do; one that reaches into a remapped
//! sector is no place to write. Slipped sectors only move the slots behind them a little farther round.

use super::mech::Mechanics;
use super::spindle::Phase;
use crate::freemap::{Track, Tracks, Uncountable};
use crate::io::Head;
use crate::request::Op;
use crate::units::{Angle, Blocks, Pba};

/// All tracks, by cylinder and head; those that hold spare sectors only have no slots.
///
/// # Errors
/// No track has room for a slot, or there are too many to number.
pub(super) fn tracks(mechanics: &Mechanics, slot: Blocks) -> Result<Tracks, Uncountable> {
    let layout = mechanics.layout();
    let heads = layout.heads();
    let nothing = (Pba(0), Angle(0), Blocks(0), 0);
    let mut all = vec![nothing; (mechanics.cylinders() * heads) as usize];
    let mut next = Pba(0);
    while next.0 < layout.capacity().0 {
        // A block that was remapped tells nothing of the track that it comes from: its home does.
        let home = layout.home(next);
        let span = layout.track_span(next);
        let behind = if span.contains(&next) {
            span.end
        } else {
            next + Blocks(1)
        };
        let blocks = Blocks(behind.0 - next.0);
        let place = home.place;
        all[(place.band * heads + place.surface) as usize] =
            (next, place.angle, blocks, home.sectors);
        next = behind;
    }
    let broken = |first: Pba| {
        if layout.spot(first).contiguous >= slot {
            return false;
        }
        let here = layout.home(first).head();
        (first.0..first.0 + slot.0).any(|block| {
            let (spot, home) = (layout.spot(Pba(block)), layout.home(Pba(block)));
            spot.head() != here || spot.sector != home.sector
        })
    };
    Tracks::new(slot, heads, all.into_iter(), broken)
}

/// The slot of a track that passes when heads that leave `from` when `phase` is under them arrive, as if no sector of the
/// track were skipped.
#[inline]
pub(super) fn passing(
    mechanics: &Mechanics,
    phase: Phase,
    from: Head,
    to: Head,
    track: &Track,
    slot: Blocks,
) -> u32 {
    let movement = mechanics.movement(from, to, Op::Write);
    let arrived = mechanics.spindle().after(phase, movement).angle();
    let turned = u64::from(track.angle.until(arrived).0);
    let sector = (turned * u64::from(track.sectors)) >> 32;
    let number = sector / slot.0;
    number.min(u64::from(track.slots) - 1) as u32
}
