//! SCAN: serve in block order along the current direction, go on to the end of the drive, turn there.
//!
//! ```text
//! sweeping up   --nothing ahead, something waits--> Seek(last block)  --arrived--> sweeping down
//! sweeping down --nothing ahead, something waits--> Seek(first block) --arrived--> sweeping up
//! ```
//!
//! The textbook elevator, which really drives the arm to the edge; LOOK spares that way. What arrives while the arm is
//! on its way to the edge, between arm and edge, is served on the way back. With an empty queue the arm
//! rests, it does not swing. O(log n) per I/O, and at most one bare movement a sweep.

use super::line::Line;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::{Instant, Pba};

struct Scan {
    line: Line,
    /// First block of the I/O before, or the edge.
    from: Pba,
    upward: bool,
}

impl Scheduler for Scan {
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
        let ahead = self.line.ahead(self.from, self.upward);
        if let Some(found) = ahead {
            let stop = self.line.remove(found);
            self.from = stop.at;
            return Next::Start(stop.id);
        }
        let edge = match self.upward {
            true => Pba(view.capacity.0 - 1),
            false => Pba(0),
        };
        self.upward = !self.upward;
        if self.from == edge {
            return self.next(view);
        }
        self.from = edge;
        Next::Seek(edge)
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn audit(&self) {
        self.line.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "scan",
    aliases: &[],
    summary: "block order to and fro, from edge to edge of the drive",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS SJCC 1967",
    knobs: &[],
    build: |_, _| {
        Ok(Box::new(Scan {
            line: Line::default(),
            from: Pba(0),
            upward: true,
        }))
    },
};
