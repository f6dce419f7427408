//! SCAN: serve in block order along the current direction, go on to the end of the drive, turn
//! there.
//!
//! ```text
//! sweeping up   --nothing ahead, something waits--> Seek(last block)  --arrived--> sweeping down
//! sweeping down --nothing ahead, something waits--> Seek(first block) --arrived--> sweeping up
//! ```
//!
//! The textbook elevator, which really moves the arm to the edge; LOOK saves that seek. An I/O that
//! arrives between arm and edge while the arm is on its way to the edge is served on the way back.
//! With an empty queue the arm rests. O(log n) per I/O, and at most one bare movement a sweep.

use super::by_block::{ByBlock, Rule, Step};
use super::line::Line;
use crate::contract::Scheduler;
use crate::registry::Spec;
use crate::units::Pba;

struct Scan {
    /// First block of the I/O before, or the edge.
    from: Pba,
    upward: bool,
}

impl Rule for Scan {
    fn next(&mut self, line: &Line, end: Pba) -> Step {
        if let Some(found) = line.ahead(self.from, self.upward) {
            self.from = found.0.at;
            return Step::Serve(found);
        }
        let edge = match self.upward {
            true => Pba(end.0 - 1),
            false => Pba(0),
        };
        self.upward = !self.upward;
        if self.from == edge {
            // Nothing lies beyond the edge, so an I/O lies ahead now.
            return self.next(line, end);
        }
        self.from = edge;
        Step::Seek(edge)
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "scan",
    aliases: &[],
    summary: "block order to and fro, from edge to edge of the drive",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS SJCC 1967",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| {
        Ok(ByBlock::boxed(Scan {
            from: Pba(0),
            upward: true,
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn it_turns_at_the_edge_of_the_drive() {
        let mut desk = Desk::new("scan").reads(&[50, 70]);
        desk.step();
        // Nothing lies above 70, so the arm goes to block 99 before it comes back.
        assert_eq!(desk.reads(&[30]).order(), [70, 99, 30]);
    }

    #[test]
    fn an_arm_on_the_edge_does_not_go_there_again() {
        let mut desk = Desk::new("scan").reads(&[99]);
        desk.step();
        assert_eq!(desk.reads(&[40]).order(), [40]);
    }
}
