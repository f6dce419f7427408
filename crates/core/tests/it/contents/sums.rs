//! What parities hold, in the model: each version of a block is a number, and a parity the
//! exclusive or of such numbers.
//!
//! So what is computed from the others of a row is a version of a block if, and only if, these are
//! all of that row and belong together.

use std::collections::BTreeMap;

use nearslot_core::io::StepNumber;

use crate::contents::model::Stamp;

/// None if something went into it that no drive told was wrong.
pub(crate) type Sum = Option<u64>;

/// What steps have brought that go into parities, and what they were computed to be.
#[derive(Default)]
pub(crate) struct Sums {
    /// Versions by their numbers.
    known: BTreeMap<u64, Stamp>,
    steps: BTreeMap<StepNumber, Vec<Sum>>,
}

fn fold(one: Sum, other: Sum) -> Sum {
    Some(one? ^ other?)
}

/// A number that no other pair has, but by a chance that never comes.
fn mixed(block: u64, write: u64) -> u64 {
    let mut bits = block.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ write.rotate_left(32);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 29).wrapping_mul(factor);
    }
    bits ^ bits >> 32
}

impl Sums {
    pub(crate) fn of(&mut self, stamp: Stamp) -> Sum {
        match stamp {
            Stamp::Blank => Some(0),
            Stamp::Wrong => None,
            Stamp::Sum(sum) => Some(sum),
            Stamp::Of { block, write } => {
                let number = mixed(block, write.0);
                let before = self.known.insert(number, stamp);
                assert!(before.is_none_or(|before| before == stamp), "a collision");
                Some(number)
            }
            Stamp::Nothing => panic!("a drive holds nothing"),
        }
    }

    pub(crate) fn stamp(&self, sum: Sum) -> Stamp {
        match sum {
            None => Stamp::Wrong,
            Some(0) => Stamp::Blank,
            Some(number) => {
                let known = self.known.get(&number).copied();
                known.unwrap_or(Stamp::Sum(number))
            }
        }
    }

    /// A read has brought something that may go into a parity.
    pub(crate) fn brought(&mut self, step: StepNumber, held: &[Stamp]) {
        let sums: Vec<Sum> = held.iter().map(|stamp| self.of(*stamp)).collect();
        self.steps.insert(step, sums);
    }

    /// Steps are counted anew.
    pub(crate) fn forget_steps(&mut self) {
        self.steps.clear();
    }

    /// What a step has brought, or was computed to be.
    pub(crate) fn stamps(&self, step: StepNumber) -> Vec<Stamp> {
        let sums = self.steps.get(&step).expect("it has brought something");
        sums.iter().map(|sum| self.stamp(*sum)).collect()
    }

    /// These go into a parity, from this block of it on.
    pub(crate) fn fold(&mut self, into: StepNumber, sums: &[Sum], at: usize) {
        let of = self.steps.entry(into).or_default();
        of.resize(of.len().max(at + sums.len()), Some(0));
        for (sum, other) in of[at..].iter_mut().zip(sums) {
            *sum = fold(*sum, *other);
        }
    }

    /// What a step has brought goes into a parity.
    pub(crate) fn fold_step(&mut self, into: StepNumber, of: StepNumber, at: usize) {
        let sums = self.steps.get(&of).expect("it has brought something");
        self.fold(into, &sums.clone(), at);
    }
}
