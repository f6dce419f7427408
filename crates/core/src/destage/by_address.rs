//! Units that wait, in a circle by address, and the hand that goes round: what CSCAN and WOW have in common.

use crate::contract::Destage;
use crate::ids::Unit;
use crate::sorted::{Keyed, Sorted};

/// A unit that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    unit: Unit,
    /// Whether it has been written again since the hand was there, and is to be passed over once.
    recent: bool,
}

impl Keyed for Waiting {
    type Key = Unit;

    fn key(&self) -> Unit {
        self.unit
    }
}

/// The circle.
pub(super) struct Circle {
    /// Whether what was written again is passed over once.
    passes_over: bool,
    units: Sorted<Waiting>,
    /// The unit at which the hand is, or would be.
    hand: Unit,
}

impl Circle {
    /// An empty one.
    pub(super) fn new(passes_over: bool) -> Circle {
        Circle {
            passes_over,
            units: Sorted::default(),
            hand: Unit::default(),
        }
    }
}

impl Destage for Circle {
    fn written(&mut self, unit: Unit, again: bool) {
        let before = self.units.take(&unit);
        let recent = self.passes_over && again || before.is_some_and(|before| before.recent);
        self.units.insert(Waiting { unit, recent });
    }

    /// The first unit from the hand on, and round, that is not to be passed over.
    fn next(&mut self) -> Option<Unit> {
        loop {
            let from = self.units.at(self.units.seek(&self.hand));
            let found = *from.or_else(|| self.units.first())?;
            self.hand = Unit(found.unit.0 + 1);
            self.units.take(&found.unit);
            if !found.recent {
                return Some(found.unit);
            }
            self.units.insert(Waiting {
                recent: false,
                ..found
            });
        }
    }

    /// The hand stays.
    fn take(&mut self, unit: Unit) {
        self.units.take(&unit).expect("it waits");
    }

    fn len(&self) -> usize {
        self.units.len()
    }
}
