//! LOOK: serve in block order along the current direction; turn round when nothing lies ahead.
//!
//! SCAN without the way to the end of the drive where nothing waits. No I/O waits longer than two sweeps over what
//! was ahead of it, unless I/Os keep arriving on one and the same block. Distances are between first blocks
//! (as in DiskSim 4.0); an I/O on the block of the one before lies ahead in either direction. O(log n) per I/O.

use super::line::Line;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::{Instant, Pba};

struct Look {
    line: Line,
    /// First block of the I/O before.
    from: Pba,
    upward: bool,
}

impl Scheduler for Look {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        if self.line.len() == 0 {
            return Next::Empty;
        }
        let found = self.line.ahead(self.from, self.upward).unwrap_or_else(|| {
            self.upward = !self.upward;
            let turned = self.line.ahead(self.from, self.upward);
            turned.expect("what waits and does not lie ahead lies behind")
        });
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
    name: "look",
    aliases: &["elevator"],
    summary: "block order to and fro, turning where nothing more lies ahead",
    source: "Merten, Some quantitative techniques for file organization, 1970",
    knobs: &[],
    build: |_, _| {
        Ok(Box::new(Look {
            line: Line::default(),
            from: Pba(0),
            upward: true,
        }))
    },
};
