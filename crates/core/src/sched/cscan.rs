//! C-SCAN: serve in rising block order, go on to the last block, return to the first, begin again.
//!
//! ```text
//! sweeping --nothing above, something waits--> Seek(last block) --arrived--> Seek(first block) --arrived--> sweeping
//! ```
//!
//! One-way SCAN: every block is passed once a round, where SCAN passes the edges twice in a row and then not for
//! two sweeps. C-LOOK spares both idle ways. With an empty queue the arm rests where it is. O(log n) per I/O, at most two bare movements a round.

use super::line::Line;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::{Instant, Pba};

#[derive(Default)]
struct Cscan {
    line: Line,
    /// First block of the I/O before, or the edge.
    from: Pba,
}

impl Cscan {
    fn travel(&mut self, to: Pba) -> Next {
        self.from = to;
        Next::Seek(to)
    }
}

impl Scheduler for Cscan {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if self.line.len() == 0 {
            return Next::Empty;
        }
        if let Some(found) = self.line.not_below(self.from) {
            let stop = self.line.remove(found);
            self.from = stop.at;
            return Next::Start(stop.id);
        }
        let last = Pba(view.capacity.0 - 1);
        match self.from == last {
            true => self.travel(Pba(0)),
            false => self.travel(last),
        }
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn audit(&self) {
        self.line.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "cscan",
    aliases: &["c-scan"],
    summary: "rising block order to the last block, then again from the first",
    source: "Seaman, Lind and Wilson, On teleprocessing system design, IBM Systems Journal 5(3), 1966",
    knobs: &[],
    build: |_, _| Ok(Box::<Cscan>::default()),
};
