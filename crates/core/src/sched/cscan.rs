//! C-SCAN: serve in rising block order, go on to the last block, return to the first, begin again.
//!
//! ```text
//! sweeping --nothing above, something waits--> Seek(last block) --arrived--> Seek(first block) --arrived--> sweeping
//! ```
//!
//! One-way SCAN: the arm passes every block once each round. SCAN passes a block near an edge twice
//! in a short time and then not for two sweeps. C-LOOK saves both seeks without an I/O. With an
//! empty queue the arm rests where it is. O(log n) per I/O, at most two bare movements a round.

use super::by_block::{ByBlock, Rule, Step};
use super::line::Line;
use crate::contract::Scheduler;
use crate::registry::Spec;
use crate::units::Pba;

#[derive(Default)]
struct Cscan {
    /// First block of the I/O before, or the edge.
    from: Pba,
}

impl Rule for Cscan {
    fn next(&mut self, line: &Line, end: Pba) -> Step {
        if let Some(found) = line.not_below(self.from) {
            self.from = found.0.at;
            return Step::Serve(found);
        }
        let last = Pba(end.0 - 1);
        self.from = match self.from == last {
            true => Pba(0),
            false => last,
        };
        Step::Seek(self.from)
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "cscan",
    aliases: &["c-scan"],
    summary: "rising block order to the last block, then again from the first",
    source: "Seaman, Lind and Wilson, On teleprocessing system design, IBM Systems Journal 5(3), 1966",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(ByBlock::boxed(Cscan::default())),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn it_returns_to_the_first_block_over_the_last() {
        let mut desk = Desk::new("cscan").reads(&[50, 70]);
        desk.step();
        assert_eq!(desk.reads(&[30, 40]).order(), [70, 99, 0, 30, 40]);
    }
}
