//! What else may have happened to drives and NVRAM when the power went.

use std::ops::Range;

use nearslot_core::rng::Rng;

use super::image::Sector;
use super::{Cut, World};

impl World {
    /// Whether a mark says that the log went on without this drive, and no cut takes that back.
    pub(crate) fn is_marked(&self, drive: usize) -> bool {
        let mark = |sector: &Sector| matches!(sector, Sector::Own(bytes) if bytes.starts_with(b"NearSOut"));
        let mut below = self.below[drive].clone();
        below.settle(self.now, &*self.drives[drive]);
        let mut sectors = self.images[drive].iter();
        sectors.any(|(at, sector)| mark(sector) && !below.may_lose(at))
    }
}

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

    /// The log of one drive is as it was at an earlier cut.
    pub(crate) fn with_log_of(mut self, drive: usize, before: &Cut) -> Cut {
        let own = |sector: &Sector| matches!(sector, Sector::Own(_));
        self.images[drive].forget(own);
        let older = before.images[drive].iter().filter(|(_, of)| own(of));
        for (at, sector) in older {
            *self.images[drive].place(at) = Some(sector.clone());
        }
        self.foretold = None;
        self
    }

    /// Control blocks of the map's log on a drive, from the oldest to the youngest: number and
    /// place.
    fn controls_of(&self, drive: usize) -> Vec<(u64, u64)> {
        let number = |(at, sector): (u64, &Sector)| match sector {
            Sector::Own(bytes) if sector.is_control() => {
                Some((u64::from_le_bytes(bytes[24..32].try_into().unwrap()), at))
            }
            _ => None,
        };
        let mut found: Vec<_> = self.images[drive].iter().filter_map(number).collect();
        found.sort_unstable();
        found
    }

    /// No control block on this drive can be read.
    pub(crate) fn without_controls_of(mut self, drive: usize) -> Cut {
        for (_, at) in self.controls_of(drive) {
            let bad = self.bad.get_or_insert_default();
            bad.insert((drive, at));
        }
        self.foretold = None;
        self
    }

    /// The power tore the youngest control block on this drive; nothing, if a record follows it
    /// there.
    pub(crate) fn with_a_torn_control_of(mut self, drive: usize) -> Option<Cut> {
        let (youngest, at) = *self.controls_of(drive).last()?;
        let follows = |(_, sector): (u64, &Sector)| match sector {
            Sector::Own(bytes) if bytes.starts_with(b"NearSLog") => {
                bytes[60..64] == (youngest as u32).to_le_bytes()
            }
            _ => false,
        };
        if self.images[drive].iter().any(follows) {
            return None;
        }
        let sector = self.images[drive].place(at).as_mut();
        sector.expect("it is there").flip(300, 1);
        self.foretold = None;
        Some(self)
    }

    /// A sector of the map's log cannot be read, on one of these drives. If there is one alone, it
    /// is not of the youngest record, for which nothing vouches.
    pub(crate) fn with_an_unreadable_sector(mut self, seed: u64, drives: &[usize]) -> Cut {
        let mut rng = Rng::stream(seed, "one unreadable");
        let drive = drives[rng.below(drives.len() as u64) as usize];
        let youngest = match drives {
            [_] => self.youngest_record_of(drive),
            _ => 0..0,
        };
        let own = self.images[drive].own();
        let own: Vec<u64> = own.filter(|at| !youngest.contains(at)).collect();
        let at = own[rng.below(own.len() as u64) as usize];
        self.bad.get_or_insert_default().insert((drive, at));
        self.foretold = None;
        self
    }

    /// The drive that was gone can be read.
    pub(crate) fn with_all_drives(mut self) -> Cut {
        self.gone = None;
        self
    }

    /// The second drive that has something of the map's log.
    pub(crate) fn second_log(&self) -> usize {
        let has = |drive: &usize| self.images[*drive].own().next().is_some();
        let found = (1..self.images.len()).find(has);
        found.expect("the log is on two drives")
    }

    /// Blocks of the first drive that have the record of the map's log with the highest number, if
    /// nothing else vouches for it.
    pub(crate) fn youngest_record(&self) -> Range<u64> {
        self.youngest_record_of(0)
    }

    /// The same of another drive.
    pub(crate) fn youngest_record_of(&self, drive: usize) -> Range<u64> {
        let number = |bytes: &[u8], at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let record = |(at, sector): (u64, &Sector)| match sector {
            Sector::Own(bytes) if bytes.starts_with(b"NearSLog") => Some((
                number(&bytes[..], 24),
                at,
                number(&bytes[..], 36) & 0xFFFF_FFFF,
            )),
            _ => None,
        };
        let records = self.images[drive].iter().filter_map(record);
        match records.max().filter(|_| self.is_without_nvram()) {
            Some((_, at, blocks)) => at..at + blocks,
            None => 0..0,
        }
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
        let youngest = self.youngest_record();
        let logged = self.images[0].own();
        let logged: Vec<u64> = logged.filter(|at| !youngest.contains(at)).collect();
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
