//! C-LOOK: serve in rising block order; when nothing lies above, begin again at the lowest that
//! waits.
//!
//! One-way LOOK: every block waits for about the same sweep, so response times vary less than with
//! LOOK, at the price of one long seek each round. No I/O waits longer than a round, unless I/Os
//! keep arriving on one and the same block. An I/O lies above if its first block is not below that
//! of the I/O before. O(log n) per I/O.

use super::by_block::{ByBlock, Rule, Step};
use super::line::Line;
use crate::contract::Scheduler;
use crate::registry::Spec;
use crate::units::Pba;

#[derive(Default)]
struct Clook {
    /// First block of the I/O before.
    from: Pba,
}

impl Rule for Clook {
    fn next(&mut self, line: &Line, _end: Pba) -> Step {
        let above = line.not_below(self.from);
        let found = above.unwrap_or_else(|| line.lowest());
        self.from = found.0.at;
        Step::Serve(found)
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "clook",
    aliases: &["c-look"],
    summary: "rising block order, then again from the lowest that waits",
    source: "Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(ByBlock::boxed(Clook::default())),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn it_begins_again_at_the_lowest() {
        let mut desk = Desk::new("clook").reads(&[50, 70]);
        desk.step();
        assert_eq!(desk.reads(&[40, 30]).order(), [70, 30, 40]);
    }
}
