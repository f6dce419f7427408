//! Shortest seek time first, by block number: the I/O nearest to the end of the I/O before.
//!
//! The greedy choice of a host that knows block numbers and nothing else. It keeps the arm where
//! most of the load is, so an I/O far from there can wait as long as others keep coming: no time
//! bounds its wait.
//!
//! If the nearest I/O above and the nearest below are equally far, the scheduler takes one above
//! the first time, one below the next time, and so on, so that it favours neither side (so does
//! DiskSim 4.0). Of several on one block it takes the oldest. O(log n) per I/O.

use super::by_block::{ByBlock, Rule, Step};
use super::line::{Found, Line, Nearer};
use crate::contract::Scheduler;
use crate::registry::Spec;
use crate::units::Pba;

#[derive(Default)]
struct Sstf {
    nearer: Nearer,
    /// First block behind the I/O before.
    from: Pba,
}

impl Rule for Sstf {
    fn next(&mut self, line: &Line, _end: Pba) -> Step {
        let from = self.from;
        let far = |found: Found| (found, from.distance(found.0.at).0);
        let above = line.not_below(from).map(far);
        let below = line.below(from).map(far);
        let found = self.nearer.choose(above, below);
        self.from = found.0.at + found.0.len;
        Step::Serve(found)
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "sstf",
    aliases: &[],
    summary: "smallest block distance from the end of the I/O before",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS SJCC 1967",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(ByBlock::boxed(Sstf::default())),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn the_nearest_goes_next_counted_from_the_end_of_the_io_before() {
        // From block 0 to 20 and then from 41: 50 is 9 blocks away, 30 is 11.
        let desk = Desk::new("sstf").long_read(20, 21).reads(&[50, 30]);
        assert_eq!(desk.order(), [20, 50, 30]);
    }

    #[test]
    fn equally_far_sides_take_turns_and_the_upper_one_begins() {
        let mut desk = Desk::new("sstf").long_read(40, 10);
        desk.step();
        // From 50: 60 and 40 are 10 blocks away, so up. From 61: 82 and 40 are 21 blocks away, so
        // down.
        assert_eq!(desk.reads(&[60, 40, 82]).order(), [60, 40, 82]);
    }
}
