//! Shortest seek time first, by block number: whatever lies nearest to the end of the I/O before.
//!
//! The greedy choice of a host that knows block numbers and nothing else. It keeps the arm where most of the load
//! is, so an I/O far from there can wait as long as others keep coming: there is no bound but the end of the load.
//!
//! When the nearest above and the nearest below are equally far, they are taken in turns, the upper one first,
//! so that neither side is favoured (so does DiskSim 4.0). Of several on one block, the oldest. O(log n) per I/O.

use super::line::{Found, Line, Nearer};
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::{Instant, Pba};

#[derive(Default)]
struct Sstf {
    line: Line,
    nearer: Nearer,
    /// First block behind the I/O before.
    from: Pba,
}

impl Scheduler for Sstf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let from = self.from;
        let far = |found: Found| (found, from.distance(found.0.at).0);
        let above = self.line.not_below(from).map(far);
        let below = self.line.below(from).map(far);
        let Some(found) = self.nearer.choose(above, below) else {
            return Next::Empty;
        };
        let stop = self.line.remove(found);
        self.from = stop.at + stop.len;
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
    name: "sstf",
    aliases: &[],
    summary: "smallest block distance from the end of the I/O before",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS SJCC 1967",
    knobs: &[],
    build: |_, _| Ok(Box::<Sstf>::default()),
};
