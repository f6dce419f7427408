//! Which of several drives: the nearest that is idle, else the shortest queue.
//!
//! Source: Zhang and others, FAST 2002, section 4: a read goes to the idle owner whose head is
//! nearest to its copy, a write to the idle owner nearest to a free block, and with no owner idle
//! to the shortest queue. Of equals, the first.

use crate::contract::Drives;
use crate::freemap::FreeMap;
use crate::ids::DriveId;
use crate::op::Op;
use crate::position::Search;
use crate::units::{Blocks, Instant, Pba};

/// Of places on idle drives, the index of the one that the heads reach first.
pub(super) fn nearest_idle(
    now: Instant,
    (op, len): (Op, Blocks),
    drives: &dyn Drives,
    places: impl Iterator<Item = (DriveId, Pba)>,
) -> Option<usize> {
    let idle = places
        .enumerate()
        .filter(|(_, (drive, _))| drives.idle(*drive));
    let time = |(_, (drive, at)): &(usize, (DriveId, Pba))| {
        let oracle = drives.oracle(*drive);
        oracle.positioning_time(now, op, &oracle.locate(*at), len)
    };
    idle.min_by_key(time).map(|(index, _)| index)
}

/// Of idle drives, the one whose heads reach a free slot first.
pub(super) fn nearest_free<'a>(
    now: Instant,
    drives: &dyn Drives,
    among: impl Iterator<Item = (DriveId, &'a FreeMap)>,
) -> Option<DriveId> {
    let idle = among.filter(|(drive, free)| drives.idle(*drive) && free.free() > 0);
    let start = |(drive, free): &(DriveId, &FreeMap)| {
        let free_place = drives
            .oracle(*drive)
            .nearest_free(&Search::anywhere(now), free);
        free_place.map_or(Instant::NEVER, |free_place| free_place.start)
    };
    idle.min_by_key(start).map(|(drive, _)| drive)
}

/// Of drives, the one with the fewest I/Os.
pub(super) fn shortest(
    drives: &dyn Drives,
    among: impl Iterator<Item = DriveId>,
) -> Option<DriveId> {
    among.min_by_key(|drive| drives.waiting(*drive))
}
