//! C-LOOK: serve in rising block order; when nothing lies above, begin again at the lowest that waits.
//!
//! One-way LOOK: every block waits for about the same sweep, so response times vary less than with LOOK at the price
//! of a long seek a round. No I/O waits longer than a round, unless I/Os keep arriving on one and the same
//! block. "Above" is measured from the first block of the I/O before, itself included. O(log n) per I/O.

use super::line::Line;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::{Instant, Pba};

#[derive(Default)]
struct Clook {
    line: Line,
    /// First block of the I/O before.
    from: Pba,
}

impl Scheduler for Clook {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let above = self.line.not_below(self.from);
        let Some(found) = above.or_else(|| self.line.not_below(Pba(0))) else {
            return Next::Empty;
        };
        let stop = self.line.remove(found);
        self.from = stop.at;
        Next::Start(stop.id)
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn audit(&self) {
        self.line.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "clook",
    aliases: &["c-look"],
    summary: "rising block order, then again from the lowest that waits",
    source: "Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    knobs: &[],
    build: |_, _| Ok(Box::<Clook>::default()),
};
