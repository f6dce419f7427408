//! What a verdict judges a run by, beside what the run tells: means of its batches, and how many
//! requests it failed.
//!
//! A request that failed was never answered, so of a run that failed more than one in a hundred of
//! its reads and writes there is no 99th percentile. A flush is a request, too: who asked for one
//! that failed does not know what is on the medium. So the share of requests that failed is that of
//! reads and writes, or that of these and flushes together, whichever is greater: flushes that were
//! answered make up for no write that was not. Blocks that drives brought though they were wrong
//! are in no other number: who reads them is told nothing. Warm-up and discards are not counted.
//! Means are those of reads and writes. O(1).

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
    /// Its measured flushes, those that failed among them.
    pub flushes: u64,
    /// Those that failed.
    pub flushes_failed: u64,
    /// Wrong blocks that its reads were answered with, over the whole run.
    pub wrong_blocks: u64,
    /// Whether anything went wrong on its drives; `None` where nothing was to.
    pub met_faults: Option<bool>,
    /// The burst of its load that the drives cannot keep up with, though they do with the rest.
    pub burst: Option<Burst>,
    /// Of a run that was interrupted: how far it had come.
    pub interrupted: Option<Progress>,
}

/// A run that failed a greater share of its measured requests is compared with none.
const FAILED_MAX_PERCENT: u64 = 1;

/// Whether so many of the requests that were asked failed that the mean of the others tells
/// nothing.
pub(super) fn too_many_fail(failed: u64, asked: u64) -> bool {
    100 * u128::from(failed) > u128::from(FAILED_MAX_PERCENT) * u128::from(asked)
}

fn share_of((failed, asked): (u64, u64)) -> f64 {
    failed as f64 / asked.max(1) as f64
}

impl Basis {
    /// Whether so many requests failed that the others tell nothing beside those of another run.
    pub(crate) fn fails(&self) -> bool {
        let (failed, asked) = self.failing();
        too_many_fail(failed, asked)
    }

    /// How many measured requests failed, and of how many: reads and writes, with flushes where
    /// that is a greater share.
    pub(crate) fn failing(&self) -> (u64, u64) {
        let alone = (self.failed, self.measured);
        let all = (
            self.failed + self.flushes_failed,
            self.measured + self.flushes,
        );
        match share_of(all) > share_of(alone) {
            true => all,
            false => alone,
        }
    }

    /// The share of its measured requests that failed.
    pub(crate) fn failed_share(&self) -> f64 {
        share_of(self.failing())
    }

    /// Which of two failed the smaller share.
    pub(crate) fn by_failures(&self, other: &Basis) -> Ordering {
        let [(failed, of), (other_failed, other_of)] = [self, other].map(Basis::failing);
        let own = u128::from(failed) * u128::from(other_of);
        own.cmp(&(u128::from(other_failed) * u128::from(of)))
    }
}
