//! V(R): between SSTF and LOOK by one number, the price of turning round.
//!
//! The nearest I/O goes next, but an I/O against the current direction counts as R times the whole
//! drive farther away. V(0) is SSTF, V(1) is LOOK; R = 0.2 keeps most of SSTF's mean and most of
//! LOOK's evenness. Geist and Daniel measure in cylinders, of which a host knows nothing. Here it
//! is blocks, as in DiskSim 4.0's `VSCAN_LBN`. We follow its conventions: distances are from the
//! first block of the I/O before (with R = 0 from its end, as in SSTF), an I/O on that very block
//! is at distance 0 in both directions, and ties between the two sides go up and down in turns.
//!
//! An I/O farther away than R times the drive can wait as long as nearer ones keep coming. O(log n)
//! per I/O.

use super::by_block::{ByBlock, Rule, Step};
use super::line::{Found, Line, Nearer};
use crate::contract::Scheduler;
use crate::registry::{DriveEnv, Knob, Knobs, Spec};
use crate::units::{Blocks, Pba};

struct Vscan {
    /// Blocks that an I/O against the direction counts as farther away.
    penalty: Blocks,
    nearer: Nearer,
    from: Pba,
    upward: bool,
}

impl Vscan {
    fn new(knobs: &Knobs, env: &DriveEnv<'_>) -> Vscan {
        let capacity = env.blueprint.capacity().0 as f64;
        Vscan {
            penalty: Blocks(libm::round(knobs.number("r") * capacity) as u64),
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

impl Rule for Vscan {
    fn next(&mut self, line: &Line, _end: Pba) -> Step {
        let above = line.not_below(self.from);
        let below = line.below(self.from);
        let above = above.map(|found| self.distance(found, true));
        let below = below.map(|found| self.distance(found, false));
        let found = self.nearer.choose(above, below);
        let stop = found.0;
        if stop.at != self.from {
            self.upward = stop.at > self.from;
        }
        self.from = match self.penalty {
            Blocks(0) => stop.at + stop.len,
            _ => stop.at,
        };
        Step::Serve(found)
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
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| Ok(ByBlock::boxed(Vscan::new(knobs, env))),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    /// The order of two reads below and above block 50, where the arm has arrived upward.
    fn order(name: &str, below: u64, above: u64) -> Vec<u64> {
        let mut desk = Desk::new(name).reads(&[50]);
        desk.step();
        desk.reads(&[below, above]).order()
    }

    #[test]
    fn turning_round_costs_a_share_of_the_drive() {
        // A fifth of 100 blocks: 40 counts as 10 + 20 blocks away.
        assert_eq!(order("vscan:r=0.2", 40, 79), [79, 40]);
        assert_eq!(order("vscan:r=0.2", 40, 81), [40, 81]);
    }

    #[test]
    fn a_price_of_1_never_turns_while_something_lies_ahead() {
        assert_eq!(order("vscan:r=1", 49, 99), [99, 49]);
    }

    #[test]
    fn a_price_of_0_is_the_nearest() {
        assert_eq!(order("vscan:r=0", 49, 54), [49, 54]);
    }
}
