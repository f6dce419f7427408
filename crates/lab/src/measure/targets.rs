//! Targets that a scheduler was given for some streams, and what of them was not kept.
//!
//! A target is accepted for requests as the drive is known to serve them. Who asks for longer ones,
//! or for more of them, may be answered later all the same, and no other number of a run tells.
//! O(1).

use nearslot_core::contract::Scheduler;
use nearslot_core::registry::Kind;

use crate::number::{grouped, number, percent};
use crate::outcome::Run;

/// Requests of streams with a target that were answered too late.
pub(crate) struct Missed {
    /// How many.
    pub(crate) count: u64,
    /// Of so many of these streams.
    of: u64,
    /// By how much, on average.
    late_ms: f64,
}

impl Missed {
    /// Those of a run; `None` if there are none, or no targets.
    pub(crate) fn of(run: &Run) -> Option<Missed> {
        let key = <dyn Scheduler as Kind>::CARD.key;
        let told = |name: &str| run.measure(key, name).map(|told| told.value());
        let [kept, missed, late_us] = [told("kept")?, told("missed")?, told("late_us")?];
        (missed > 0.0).then(|| Missed {
            count: missed as u64,
            of: (kept + missed) as u64,
            late_ms: late_us / missed / 1e3,
        })
    }

    /// How many, and by how much.
    pub(crate) fn words(&self) -> String {
        format!(
            "{} of {} ({}) by {} ms on average",
            grouped(self.count),
            grouped(self.of),
            percent(self.count as f64 / self.of as f64, 1),
            number(self.late_ms)
        )
    }
}
