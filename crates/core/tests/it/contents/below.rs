//! What the media of drives hold under what their caches have, block by block: a power cut sets any of it back.

use std::collections::BTreeMap;

use nearslot_core::contract::Drive;
use nearslot_core::io::Unwritten;
use nearslot_core::rng::Rng;
use nearslot_core::units::Instant;

use crate::contents::model::Stamp;

/// Of one drive: by address, what the block held before, the oldest first.
#[derive(Clone, Default)]
pub(crate) struct Below {
    older: BTreeMap<u64, Vec<Stamp>>,
}

impl Below {
    /// A write of a block has ended. `forced`: it is on the medium.
    pub(crate) fn written(&mut self, at: u64, before: Stamp, forced: bool) {
        match forced {
            true => drop(self.older.remove(&at)),
            false => self.older.entry(at).or_default().push(before),
        }
    }

    /// Forgets what lies under blocks of which the drive says that they are on the medium.
    pub(crate) fn settle(&mut self, now: Instant, drive: &dyn Drive) {
        if self.older.is_empty() {
            return;
        }
        let mut listed = Vec::new();
        drive.volatile(now, &mut listed);
        let has = |run: &Unwritten, at: u64| run.at.0 <= at && at < run.at.0 + run.len.0;
        self.older
            .retain(|at, _| listed.iter().any(|run| has(run, *at)));
    }

    /// The power goes: each of these blocks is set back with chance one half. How many were.
    pub(crate) fn cut(&mut self, held: &mut [Stamp], rng: &mut Rng) -> u64 {
        let mut lost = 0;
        for (at, older) in std::mem::take(&mut self.older) {
            if rng.chance(0.5) {
                held[at as usize] = older[rng.below(older.len() as u64) as usize];
                lost += 1;
            }
        }
        lost
    }
}
