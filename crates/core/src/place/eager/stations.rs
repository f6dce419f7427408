//! Map stations: whole tracks, spread evenly over a drive, that the sectors of a virtual log go to,
//! and nothing else does.
//!
//! A sector goes to the station slot that the heads reach first. Stations are mostly free, so that
//! is a short seek away at most, and the next slot that comes by. In return whoever looks for the
//! youngest sector reads the stations alone: which tracks these are follows from drive and knobs,
//! and is written down nowhere.
//!
//! Source: ours; the eager sectors are those of Wang, Anderson and Patterson, OSDI 1999, which
//! scans the drive. Cost: a free map more.

use std::sync::Arc;

use crate::contract::Oracle;
use crate::freemap::{FreeMap, Slot, Tracks};
use crate::position::Search;
use crate::registry::ConfigError;
use crate::units::Instant;

/// The stations of a drive.
#[derive(Clone)]
pub(super) struct Stations {
    /// Numbers of their tracks, in order.
    pub(super) tracks: Vec<usize>,
    /// Their free slots.
    free: FreeMap,
    /// Slots that could not be written, and are not tried again in this life.
    retired: u64,
    all: u64,
}

impl Stations {
    /// Takes whole tracks out of a drive's free map, spread evenly over the cylinders in use.
    ///
    /// # Errors
    /// There are not so many.
    pub(super) fn reserve(
        volume: &mut FreeMap,
        tracks: &Arc<Tracks>,
        cylinders: u32,
        count: u64,
    ) -> Result<Stations, ConfigError> {
        let in_use = 0..tracks.number(cylinders, 0);
        let usable: Vec<usize> = in_use.filter(|n| volume.on_track(*n) > 0).collect();
        let all = usable.len() as u64;
        if count >= all {
            let allowed = format!("0, or fewer than the {all} tracks in use");
            return Err(ConfigError::value(
                "map_tracks",
                &count.to_string(),
                &allowed,
            ));
        }
        // In the middle of equal parts: the ends of the drive are as near to one as any other
        // place.
        let middle = |part| usable[((2 * part + 1) * all / (2 * count)) as usize];
        let chosen: Vec<usize> = (0..count).map(middle).collect();
        let mut free = FreeMap::full(Arc::clone(tracks));
        for number in &chosen {
            let track = tracks.track(*number);
            let slots = (0..u32::from(track.slots)).map(|slot| Slot(track.first_slot + slot));
            for slot in slots {
                if volume.has(slot) {
                    volume.take(slot);
                    free.release(slot);
                }
            }
        }
        Ok(Stations {
            tracks: chosen,
            all: free.free(),
            free,
            retired: 0,
        })
    }

    /// Memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.tracks.len() * size_of::<usize>() + self.free.bytes()
    }

    /// Slots of all stations.
    pub(super) fn slots(&self) -> u64 {
        self.all
    }

    /// Which of them are free.
    pub(super) fn free(&mut self) -> &mut FreeMap {
        &mut self.free
    }

    /// Takes the free slot that the heads reach first; the drive need not know of the others.
    ///
    /// # Panics
    /// None is free.
    pub(super) fn take_nearest(&mut self, now: Instant, oracle: &dyn Oracle) -> Slot {
        let nearest = oracle.nearest_free(&Search::anywhere(now), &self.free);
        let slot = nearest.expect("one station slot more than sectors").slot;
        self.free.take(slot);
        slot
    }

    /// What lies there is not needed any more.
    pub(super) fn release(&mut self, slot: Slot) {
        self.free.release(slot);
    }

    /// A slot that was taken could not be written. It is left alone as long as half of the others
    /// are free.
    pub(super) fn retire(&mut self, slot: Slot) {
        match self.free.free() > self.all / 2 {
            true => self.retired += 1,
            false => self.free.release(slot),
        }
    }

    /// Recounts, with so many slots that are in use.
    pub(super) fn audit(&self, used: u64) {
        self.free.audit();
        let counted = self.free.free() + self.retired + used;
        assert_eq!(counted, self.all, "a slot of a station got lost");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::freemap::Span;
    use crate::units::{Angle, Blocks, Pba};

    #[test]
    fn slots_that_fail_are_left_alone_while_half_of_all_are_free() {
        let span = Span {
            first: Pba(0),
            angle: Angle(0),
            blocks: Blocks(64),
            sectors: 64,
            contiguous: Blocks(64),
        };
        let tracks = Tracks::new(Blocks(8), 1, std::iter::once(span), |_| false).unwrap();
        let free = FreeMap::empty(Arc::new(tracks));
        let all: Vec<Slot> = free.iter().collect();
        let mut stations = Stations {
            tracks: vec![0],
            retired: 0,
            all: free.free(),
            free,
        };
        for slot in all {
            stations.free.take(slot);
            stations.retire(slot);
            stations.audit(0);
        }
        assert_eq!((stations.retired, stations.free.free()), (3, 5));
    }
}
