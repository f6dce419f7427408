//! What else may have happened to drives and NVRAM when the power went.

use nearslot_core::rng::Rng;

use super::Cut;
use super::image::Sector;

impl Cut {
    /// NVRAM has what it had at an earlier cut.
    pub(crate) fn with_nvram_of(mut self, before: &Cut) -> Cut {
        self.nvram.clone_from(&before.nvram);
        self.foretold = None;
        self
    }

    /// What the map keeps on the drives is as it was at an earlier cut.
    pub(crate) fn with_own_sectors_of(self, before: &Cut) -> Cut {
        self.with_sectors_of(before, |sector| matches!(sector, Sector::Own(_)))
    }

    /// What clients wrote is as it was at an earlier cut.
    pub(crate) fn with_data_of(self, before: &Cut) -> Cut {
        self.with_sectors_of(before, |sector| matches!(sector, Sector::Client(..)))
    }

    fn with_sectors_of(mut self, before: &Cut, lost: fn(&Sector) -> bool) -> Cut {
        for (image, before) in self.images.iter_mut().zip(&before.images) {
            image.forget(lost);
            let older = before.iter().filter(|(_, sector)| lost(sector));
            for (at, sector) in older {
                image.place(at).get_or_insert_with(|| sector.clone());
            }
        }
        self.foretold = None;
        self
    }

    /// Whatever was on its way was answered.
    pub(crate) fn with_all_answered(mut self) -> Cut {
        for (version, range) in std::mem::take(&mut self.pending).into_values() {
            for block in range {
                self.answered[block as usize] = version;
            }
        }
        self
    }

    /// The log of a drive cannot be read.
    pub(crate) fn without_log_of(mut self, drive: usize) -> Cut {
        self.images[drive].forget(|sector| matches!(sector, Sector::Own(_)));
        self.foretold = None;
        self
    }

    /// The slot that a saved tail names, if there is one.
    pub(crate) fn tail_slot(&self) -> Option<u32> {
        let slot = self.nvram.get(44..48)?;
        Some(u32::from_le_bytes(slot.try_into().unwrap()))
    }

    /// Nothing but the drives is left.
    pub(crate) fn without_nvram(mut self) -> Cut {
        if !self.nvram.is_empty() {
            self.nvram.clear();
            self.foretold = None;
        }
        self
    }

    /// What lies in a slot of the first drive is damaged if it is the map's own; whether it is.
    pub(crate) fn damage(&mut self, block: u64) -> bool {
        self.foretold = None;
        let sector = self.images[0].place(block).as_mut();
        sector.is_some_and(|sector| sector.flip(300, 4))
    }

    /// A bit of the log or of NVRAM is wrong.
    pub(crate) fn with_a_flipped_bit(mut self, seed: u64) -> Cut {
        let mut rng = Rng::stream(seed, "flip");
        self.foretold = None;
        let logged: Vec<u64> = self.images[0].own().collect();
        let bit = 1 << rng.below(8);
        if rng.chance(0.3) && !self.nvram.is_empty() {
            let at = rng.below(self.nvram.len() as u64) as usize;
            self.nvram[at] ^= bit;
        } else {
            let which = rng.below(logged.len() as u64) as usize;
            let sector = self.images[0].place(logged[which]).as_mut();
            sector.unwrap().flip(rng.below(512) as usize, bit);
        }
        self
    }

    /// A bit of NVRAM is wrong.
    pub(crate) fn with_a_flipped_bit_in_nvram(mut self, seed: u64) -> Cut {
        let bit = Rng::stream(seed, "flip").below(8 * self.nvram.len() as u64);
        self.nvram[bit as usize / 8] ^= 1 << (bit % 8);
        self
    }
}
