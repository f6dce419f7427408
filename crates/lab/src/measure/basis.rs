//! What a verdict judges a run by, beside what the run tells: means of its batches, and how many requests it failed.
//!
//! A request that failed was never answered, so of a run that failed more than one in a hundred there is no 99th percentile. Blocks that
//! drives brought though they were wrong are in no other number: who reads them is told nothing.
//! Warm-up, flushes and discards are not counted: what is compared are the measured reads and writes. O(1).

use std::cmp::Ordering;

use super::BATCHES;
use crate::outcome::{Burst, Progress};

/// What a run is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basis {
    /// Its mean response time in each batch in milliseconds, if every batch has enough requests.
    pub batches_ms: Option<[f64; BATCHES]>,
    /// Its measured reads and writes, those that failed among them.
    pub measured: u64,
    /// Those that failed.
    pub failed: u64,
    /// Wrong blocks that reads brought which were reported done, over the whole run.
    pub wrong_blocks: u64,
    /// Whether anything went wrong on its drives; `None` where nothing was to.
    pub met_faults: Option<bool>,
    /// The burst of its load that the drives cannot keep up with, though they do with the rest.
    pub burst: Option<Burst>,
    /// Of a run that was interrupted: how far it had come.
    pub interrupted: Option<Progress>,
}

/// A run that failed a greater share of its measured reads and writes is compared with none: it has no 99th percentile.
const FAILED_MAX_PERCENT: u64 = 1;

/// Whether so many of the requests that were asked failed that the mean of the others tells nothing.
pub(super) fn too_many_fail(failed: u64, asked: u64) -> bool {
    100 * u128::from(failed) > u128::from(FAILED_MAX_PERCENT) * u128::from(asked)
}

impl Basis {
    /// Whether so many requests failed that the others tell nothing beside those of another run.
    pub(crate) fn fails(&self) -> bool {
        too_many_fail(self.failed, self.measured)
    }

    /// The share of reads and writes that failed.
    pub(crate) fn failed_share(&self) -> f64 {
        self.failed as f64 / self.measured.max(1) as f64
    }

    /// Which of two failed the smaller share.
    pub(crate) fn by_failures(&self, other: &Basis) -> Ordering {
        let own = u128::from(self.failed) * u128::from(other.measured);
        own.cmp(&(u128::from(other.failed) * u128::from(self.measured)))
    }
}
