//! What hides from a short run how fast its drives are for ever: write caches that fill, a queue
//! that has not come to rest, credits for bursts that are spent, flash that has hardly
//! collected.

use nearslot_core::contract::Drive;
use nearslot_core::units::Instant;

use super::said::Seen;
use super::{Spent, Window};
use crate::measure::{Filling, Settling};
use crate::outcome::Run;

/// What of that was there in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unsteady {
    /// A write buffer, copies that wait or write caches of its drives that hid how fast these write.
    pub(crate) filling: Option<Filling>,
    /// A queue that was not seen at rest.
    pub(crate) settling: Option<Settling>,
    /// Credits for bursts without which its drives would have been slower.
    pub(crate) spent: Option<Spent>,
    /// How often what its drives do in rounds by themselves came round, on that drive where it did
    /// least, or would have if the run had not ended early; nothing if no drive does such things.
    pub(crate) rounds: Option<f64>,
}

impl Unsteady {
    /// Of a run that ended then, of which this was seen.
    pub(super) fn of(
        seen: &Seen,
        drives: &[Box<dyn Drive>],
        (window, run, end): (Window, &Run, Instant),
    ) -> Unsteady {
        Unsteady {
            filling: seen.filling,
            settling: seen.settling,
            spent: Spent::of(drives, end.0 as f64 / 1e9),
            rounds: rounds(drives, window, run),
        }
    }

    /// A queue that still grew, if nothing else tells that there is more to do.
    pub(super) fn grew_alone(&self) -> Option<Settling> {
        self.settling
            .filter(|settling| settling.grew && self.filling.is_none())
    }

    /// Whether there is any of that by which drives may be faster or slower later.
    pub(crate) fn hides(&self) -> bool {
        self.filling.is_some() || self.spent.is_some() || self.rounds.is_some()
    }
}

/// How often what drives do in rounds has come round, on that where it has least, or would have by
/// the end of a run that ended early.
fn rounds(drives: &[Box<dyn Drive>], window: Window, run: &Run) -> Option<f64> {
    let permille = drives.iter().filter_map(|drive| drive.rounds_permille());
    let whole = window.requests as f64 / run.requests.max(1) as f64;
    Some(permille.min()? as f64 / 1e3 * whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ability::tests::Told;
    use crate::measure::Behind;

    /// Of one queue there is one warning.
    #[test]
    fn a_queue_that_still_grew_is_told_where_no_cache_is() {
        let settling = |grew| Settling {
            waiting: 30,
            of: 100,
            grew,
        };
        let filling = Filling {
            behind: Behind::Caches,
            rps: 1.0,
            owed: 30,
            of: 100,
            grows: true,
            full_after: None,
            may_end: false,
        };
        let told = |grew, filling| {
            let unsteady = Unsteady {
                filling,
                settling: Some(settling(grew)),
                spent: None,
                rounds: None,
            };
            unsteady.grew_alone().is_some()
        };
        assert!(told(true, None));
        assert!(!told(false, None));
        assert!(!told(true, Some(filling)));
    }

    /// Of an array the drive counts that did least: others beside it may do nothing of the kind. A
    /// run that ended early would have gone on like that.
    #[test]
    fn rounds_are_those_of_the_drive_that_did_least_in_a_whole_run() {
        let of = |drives: &[Option<u64>], requests| {
            let drive = |&rounds: &Option<u64>| {
                Box::new(Told {
                    rounds,
                    ..Told::default()
                }) as Box<dyn Drive>
            };
            let drives: Vec<Box<dyn Drive>> = drives.iter().map(drive).collect();
            let window = Window {
                requests: 4_000,
                warmup: 0,
            };
            let run = Run {
                requests,
                ..Run::default()
            };
            rounds(&drives, window, &run)
        };
        assert_eq!(of(&[None, Some(3_000), Some(500)], 4_000), Some(0.5));
        assert_eq!(of(&[Some(500)], 1_000), Some(2.0));
        assert_eq!(of(&[None], 4_000), None);
    }
}
