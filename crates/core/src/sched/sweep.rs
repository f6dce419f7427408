//! What the eager-writing schedulers share: I/Os with an address in order of cylinder, open writes
//! in order of arrival, and the one-way sweep.
//!
//! Only open writes are bound to the direction of the sweep, see [`Sweep`]. I/Os with an address
//! are not.

use std::collections::VecDeque;

use crate::contract::View;
use crate::freemap::Slot;
use crate::ids::IoId;
use crate::io::Io;
use crate::position::{Candidate, Choice, FreePlace, Search, Then};
use crate::search::Sweep;
use crate::sorted::{Keyed, Sorted};
use crate::units::Instant;

/// A free slot on the way to a read that does not delay the read. None if the drive has no arm:
/// then no access leaves a gap.
///
/// The read's start is computed afresh for every write. Writes before this one have not changed it,
/// but a late decision has.
pub(super) fn in_gap(view: &View<'_>, read: &Candidate) -> Option<FreePlace> {
    let arm = view.oracle.arm()?;
    let tracks = view.free?.tracks();
    let start = view.now + arm.positioning_time(view.now, read.op, &read.place, read.len());
    let ends = [arm.position(), read.place.arm_position()];
    let [from, to] = ends.map(|position| arm.track_cylinder(tracks, position));
    view.nearest_free(&Search {
        now: view.now,
        low: from.min(to),
        high: from.max(to),
        before: start,
        then: Some(Then {
            op: read.op,
            place: read.place,
            by: start,
        }),
    })
}

/// Takes an open I/O back. O(n), but it is rarely asked for.
///
/// # Panics
/// It does not wait.
pub(super) fn withdraw_open<T>(open: &mut VecDeque<T>, is: impl Fn(&T) -> bool) {
    let found = open.iter().position(is);
    open.remove(found.expect("what is withdrawn waits"));
}

/// A write that may go to any free slot.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) id: IoId,
    pub(super) sequence: u64,
    pub(super) arrived: Instant,
}

/// I/Os that wait, of both kinds.
#[derive(Default)]
pub(super) struct Waiting {
    /// I/Os with an address: reads, and writes that must go to one place.
    pub(super) fixed: Sorted<Candidate>,
    /// Open writes, in order of arrival.
    open: VecDeque<Open>,
    sweep: Sweep,
}

impl Waiting {
    pub(super) fn insert(&mut self, io: &Io) {
        if io.open {
            self.open.push_back(Open {
                id: io.id,
                sequence: io.sequence,
                arrived: io.arrived,
            });
        } else {
            self.fixed.insert(Candidate::from(io));
        }
    }

    /// Takes an I/O back.
    ///
    /// # Panics
    /// It does not wait.
    pub(super) fn withdraw(&mut self, io: &Io) {
        if io.open {
            return withdraw_open(&mut self.open, |open| open.id == io.id);
        }
        let taken = self.fixed.take(&Candidate::from(io).key());
        assert!(taken.is_some(), "{:?} does not wait at an address", io.id);
    }

    pub(super) fn len(&self) -> usize {
        self.fixed.len() + self.open.len()
    }

    /// Whether an open write waits.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Open writes that wait, in order of arrival.
    pub(super) fn open(&self) -> &VecDeque<Open> {
        &self.open
    }

    /// The I/O with an address that has the least positioning time.
    pub(super) fn nearest(&self, view: &View<'_>) -> Option<Choice> {
        view.oracle.nearest(view.now, &self.fixed)
    }

    /// The oldest open write and the first free slot in the direction of the sweep, if a write
    /// there begins before `before`.
    pub(super) fn write(&mut self, view: &View<'_>, before: Instant) -> Option<(IoId, Slot)> {
        let free_place = self.free_place(view, before)?;
        self.put(free_place)
    }

    /// The first free slot in the direction of the sweep for a write that waits, if a write there
    /// begins before `before`. Without an arm there is no sweep, and every slot will do.
    pub(super) fn free_place(&mut self, view: &View<'_>, before: Instant) -> Option<FreePlace> {
        if self.open.is_empty() {
            return None;
        }
        let free = view.free?;
        let search = match view.oracle.arm() {
            Some(arm) => {
                let cylinder = arm.track_cylinder(free.tracks(), arm.writes_from());
                self.sweep.search(view.now, cylinder, free)
            }
            None => Search::anywhere(view.now),
        };
        view.nearest_free(&Search { before, ..search })
    }

    /// The oldest open write goes to this slot.
    pub(super) fn put(&mut self, free_place: FreePlace) -> Option<(IoId, Slot)> {
        let oldest = self.open.pop_front()?;
        Some((oldest.id, free_place.slot))
    }

    pub(super) fn audit(&self) {
        self.fixed.audit();
    }
}
