//! V(R): between SSTF and LOOK by one number, the price of turning round.
//!
//! The nearest I/O goes next, but one that lies against the current direction counts as R times the whole drive
//! farther away. V(0) is SSTF, V(1) is LOOK; R = 0.2 keeps most of SSTF's mean and most of LOOK's evenness. Geist and
//! Daniel measure in cylinders, of which a host knows nothing: here it is blocks, as in DiskSim 4.0's
//! `VSCAN_LBN`, whose conventions also hold otherwise: distances are taken from the first block of the I/O
//! before (with R = 0 from its end, as SSTF does), one on that very block is at distance 0 in either direction,
//! and ties between the two sides go up and down in turns.
//!
//! An I/O farther away than R times the drive can wait as long as nearer ones keep coming. O(log n) per I/O.

use super::line::{Found, Line, Nearer};
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::{DriveEnv, Knob, Knobs, Spec};
use crate::units::{Blocks, Instant, Pba};

struct Vscan {
    /// Blocks that an I/O against the direction counts as farther away.
    penalty: Blocks,
    line: Line,
    nearer: Nearer,
    from: Pba,
    upward: bool,
}

impl Vscan {
    fn new(knobs: &Knobs, env: &DriveEnv<'_>) -> Vscan {
        let capacity = env.blueprint.capacity().0 as f64;
        Vscan {
            penalty: Blocks(libm::round(knobs.number("r") * capacity) as u64),
            line: Line::default(),
            nearer: Nearer::default(),
            from: Pba(0),
            upward: true,
        }
    }

    fn distance(&self, found: Found, upward: bool) -> (Found, u64) {
        let blocks = self.from.distance(found.0.at).0;
        let against = upward != self.upward && blocks > 0;
        (found, blocks + if against { self.penalty.0 } else { 0 })
    }
}

impl Scheduler for Vscan {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, _view: &View<'_>) -> Next {
        let above = self.line.not_below(self.from);
        let below = self.line.below(self.from);
        let above = above.map(|found| self.distance(found, true));
        let below = below.map(|found| self.distance(found, false));
        let Some(found) = self.nearer.choose(above, below) else {
            return Next::Empty;
        };
        let stop = self.line.remove(found);
        if stop.at != self.from {
            self.upward = stop.at > self.from;
        }
        self.from = match self.penalty {
            Blocks(0) => stop.at + stop.len,
            _ => stop.at,
        };
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
    name: "vscan",
    aliases: &["v-r"],
    summary: "nearest block, but turning round costs R times the drive",
    source: "Geist and Daniel, A continuum of disk scheduling algorithms, ACM TOCS 5(1), 1987",
    knobs: &[Knob::number(
        "r",
        0.2,
        0.0..=1.0,
        "price of turning round as a fraction of the drive's blocks: 0 is sstf, 1 is look",
    )],
    build: |knobs, env| Ok(Box::new(Vscan::new(knobs, env))),
};
