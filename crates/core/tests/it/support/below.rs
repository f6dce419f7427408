//! What the medium of a drive holds under what its cache has, block by block: a power cut sets any
//! of it back.

use std::collections::BTreeMap;

use nearslot_core::contract::Drive;
use nearslot_core::io::Unwritten;
use nearslot_core::units::Instant;

/// Of one drive: by address, what the block held before, the oldest first.
#[derive(Clone)]
pub(crate) struct Below<T> {
    pub(crate) older: BTreeMap<u64, Vec<T>>,
}

impl<T> Default for Below<T> {
    fn default() -> Below<T> {
        Below {
            older: BTreeMap::new(),
        }
    }
}

impl<T> Below<T> {
    /// A write of a block has ended. `forced`: it is on the medium.
    pub(crate) fn written(&mut self, at: u64, before: T, forced: bool) {
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
}
