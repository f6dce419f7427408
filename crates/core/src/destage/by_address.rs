//! Units that wait, in a circle by address, and the hand that goes round: what CSCAN and WOW have in common.

use crate::ids::Unit;
use crate::sorted::{Keyed, Sorted};

/// A unit that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    unit: Unit,
    /// Whether it has been written again since the hand was there.
    recent: bool,
}

impl Keyed for Waiting {
    type Key = Unit;

    fn key(&self) -> Unit {
        self.unit
    }
}

/// The circle.
#[derive(Default)]
pub(super) struct Circle {
    units: Sorted<Waiting>,
    /// The unit at which the hand is, or would be.
    hand: Unit,
}

impl Circle {
    /// A unit waits; `recent` if it is to be passed over once.
    pub(super) fn written(&mut self, unit: Unit, recent: bool) {
        let before = self.units.take(&unit);
        let recent = recent || before.is_some_and(|before| before.recent);
        self.units.insert(Waiting { unit, recent });
    }

    /// The first unit from the hand on, and round, that is not to be passed over, goes.
    pub(super) fn next(&mut self) -> Option<Unit> {
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

    /// A unit goes out of turn; the hand stays.
    pub(super) fn take(&mut self, unit: Unit) {
        self.units.take(&unit).expect("it waits");
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }
}
