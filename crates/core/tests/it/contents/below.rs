//! What a power cut leaves: of a write under way any of its blocks, and of what only a cache has
//! what its medium holds.

use nearslot_core::ids::DriveId;
use nearslot_core::rng::Rng;

use crate::contents::model::{Contents, NEVER, Stamp};
use crate::support::below::Below;

impl Below<Stamp> {
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

impl Contents {
    /// The power goes: writes under way have reached any of their blocks, and nobody answers any
    /// more. The blocks that they have reached.
    pub(crate) fn cut(&mut self, rng: &mut Rng) -> Vec<(DriveId, u64)> {
        self.torn = true;
        let mut arrived = Vec::new();
        for (drive, running) in self.running.iter_mut().enumerate() {
            for (_, part) in running.drain(..) {
                let first = part.command.at.0;
                let blocks = self.drives[drive][first as usize..].iter_mut();
                for (at, (block, written)) in (first..).zip(blocks.zip(part.data)) {
                    if rng.chance(0.5) {
                        *block = written;
                        arrived.push((DriveId(drive as u16), at));
                    }
                }
            }
        }
        for (below, held) in self.below.iter_mut().zip(&mut self.drives) {
            self.set_back += below.cut(held, rng);
        }
        // Where caches lose what they have, no more was promised than a flush has covered; above a
        // write buffer, all that was answered.
        let loses = self.loses && self.setup().writes == "none";
        for one in self.history.iter_mut().flatten() {
            if loses && !one.covered {
                (one.answered, one.ended) = (NEVER, NEVER);
            }
        }
        self.last_read.fill(None);
        self.asked.clear();
        self.memory.clear();
        // Steps are counted anew.
        self.brought.clear();
        self.sums.forget_steps();
        arrived
    }

    /// A flush is answered that came then.
    pub(super) fn cover(&mut self, submitted: u64) {
        for one in self.history.iter_mut().flatten() {
            one.covered |= one.answered < submitted;
        }
    }
}
