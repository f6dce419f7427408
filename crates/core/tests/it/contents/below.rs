//! A power cut sets any block back to what its medium holds.

use nearslot_core::rng::Rng;

use crate::contents::model::Stamp;
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
