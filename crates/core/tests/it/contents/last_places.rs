//! Where each drive was given each block last: a hint, which saves a search of all that it holds.

use crate::contents::model::Stamp;

pub(super) struct LastPlaces {
    drives: usize,
    /// By block of the volume, and then by drive.
    at: Vec<u32>,
}

impl LastPlaces {
    pub(super) fn new(drives: usize, blocks: u64) -> LastPlaces {
        LastPlaces {
            drives,
            at: vec![0; drives * blocks as usize],
        }
    }

    pub(super) fn note(&mut self, drive: usize, to: usize, data: &[Stamp]) {
        for (at, stamp) in (to as u32..).zip(data) {
            if let Stamp::Of { block, .. } = stamp {
                self.at[*block as usize * self.drives + drive] = at;
            }
        }
    }

    /// How many drives hold this where they were given its block last; others may hold it
    /// elsewhere.
    pub(super) fn count(&self, stamp: Stamp, held: &[Vec<Stamp>]) -> usize {
        let Stamp::Of { block, .. } = stamp else {
            return 0;
        };
        let at = &self.at[block as usize * self.drives..];
        let drives = held.iter().zip(at);
        drives
            .filter(|(held, at)| held[**at as usize] == stamp)
            .count()
    }
}
