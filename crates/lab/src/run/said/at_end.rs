//! How drives are at the end of a run, and which of its faults could not happen.

use nearslot_core::contract::{Degraded, Drive, Faults, FewCopies};
use nearslot_core::fault::Exposed;
use nearslot_core::ids::DriveId;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};

use crate::outcome::{Gone, Run};

/// A setting of faults that no command has met, on any drive that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unmet {
    pub(super) exposed: Exposed,
    /// These drives; none if it is about all.
    pub(super) drives: Vec<DriveId>,
}

/// How drives are at the end of a run.
pub(in crate::run) struct AtEnd {
    /// Those that are gone, from when on, and whether the stack has noticed it.
    pub(super) gone: Vec<(DriveId, Instant, bool)>,
    /// What places of the volume lack.
    pub(super) degraded: Vec<Degraded>,
    /// How many chunks have few good copies, if the volume keeps several of each.
    pub(super) few: Option<FewCopies>,
    /// How long drives have been rebuilt that do not have all, all together.
    pub(super) rebuilding: Duration,
    /// Settings of faults that had begun and that no command has met.
    pub(super) unmet: Vec<Unmet>,
    /// When that is.
    pub(super) end: Instant,
}

impl AtEnd {
    /// Of a run that has ended at this instant.
    pub(in crate::run) fn of(
        (stack, drives): (&Stack, &[Box<dyn Drive>]),
        faults: &dyn Faults,
        end: Instant,
    ) -> AtEnd {
        let all = (0..stack.drives() as u16).map(DriveId);
        let since = all.map(|drive| (drive, faults.gone_from(drive), stack.is_gone(drive)));
        AtEnd {
            gone: since.filter(|(_, from, _)| *from <= end).collect(),
            degraded: stack.degraded(),
            few: stack.few_copies(),
            rebuilding: stack.rebuilding(),
            unmet: unmet(drives, end),
            end,
        }
    }

    /// Tells the plots of a run which drives went; its measured part began at `begin`.
    pub(in crate::run) fn told(self, run: &mut Run, begin: Instant) -> AtEnd {
        let told = self.gone.iter().map(|(drive, from, _)| Gone {
            drive: drive.0,
            at_s: (from.0 as f64 - begin.0 as f64) / 1e9,
        });
        if let Some(series) = &mut run.series {
            series.gone = told.collect();
        }
        self
    }

    /// From when on a drive was gone.
    pub(super) fn gone_from(&self, drive: DriveId) -> Instant {
        let found = self.gone.iter().find(|(gone, ..)| *gone == drive);
        found.expect("it is gone").1
    }
}

/// Settings that had begun when the run ended, and that no command has met on any drive.
fn unmet(drives: &[Box<dyn Drive>], end: Instant) -> Vec<Unmet> {
    let mut all: Vec<(Exposed, Vec<DriveId>)> = Vec::new();
    for (drive, number) in drives.iter().zip(0..) {
        drive.tell_exposed(&mut |exposed| {
            let same = |(other, _): &&mut (Exposed, _)| other.setting == exposed.setting;
            match all.iter_mut().find(same) {
                Some((other, on)) => {
                    other.met |= exposed.met;
                    on.push(DriveId(number));
                }
                None => all.push((exposed, vec![DriveId(number)])),
            }
        });
    }
    all.retain(|(exposed, _)| !exposed.met && exposed.from <= end);
    let unmet = all.into_iter().map(|(exposed, on)| Unmet {
        exposed,
        drives: if on.len() == drives.len() {
            Vec::new()
        } else {
            on
        },
    });
    unmet.collect()
}
