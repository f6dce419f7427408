//! Units that wait, in a circle by address, and the hand that goes round: what CSCAN, WOW and STOW
//! have in common.

use crate::contract::{Destage, Written};
use crate::ids::Unit;
use crate::sorted::{Keyed, Sorted};

/// A unit that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) unit: Unit,
    /// Pages of it.
    pub(super) pages: u64,
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
    /// Pages of all that wait.
    pages: u64,
    /// The unit at which the hand is, or would be.
    hand: Unit,
}

impl Circle {
    /// An empty one.
    pub(super) fn new(passes_over: bool) -> Circle {
        Circle {
            passes_over,
            units: Sorted::default(),
            pages: 0,
            hand: Unit::default(),
        }
    }

    /// Pages of all units that wait.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// A unit waits no more, if it did.
    pub(super) fn remove(&mut self, unit: Unit) -> Option<Waiting> {
        let found = self.units.take(&unit)?;
        self.pages -= found.pages;
        Some(found)
    }

    fn put(&mut self, waiting: Waiting) {
        self.pages += waiting.pages;
        self.units.insert(waiting);
    }

    /// A unit is written. Whether it waited here before.
    pub(super) fn write(&mut self, unit: Unit, how: &Written) -> bool {
        let before = self.remove(unit);
        let was_recent = before.is_some_and(|before| before.recent);
        self.put(Waiting {
            unit,
            pages: how.pages,
            recent: self.passes_over && how.again || was_recent,
        });
        before.is_some()
    }

    /// The first unit from the hand on, and round, that is not to be passed over, goes.
    pub(super) fn go(&mut self) -> Option<Waiting> {
        loop {
            let from = self.units.at(self.units.seek(&self.hand));
            let found = *from.or_else(|| self.units.first())?;
            self.hand = Unit(found.unit.0 + 1);
            self.remove(found.unit);
            if !found.recent {
                return Some(found);
            }
            self.put(Waiting {
                recent: false,
                ..found
            });
        }
    }
}

impl Destage for Circle {
    fn written(&mut self, unit: Unit, how: &Written) {
        self.write(unit, how);
    }

    fn next(&mut self) -> Option<Unit> {
        self.go().map(|found| found.unit)
    }

    /// The hand stays.
    fn take(&mut self, unit: Unit) {
        self.remove(unit).expect("it waits");
    }

    fn len(&self) -> usize {
        self.units.len()
    }
}

/// How a unit of one page is written, in tests.
#[cfg(test)]
pub(super) fn how(again: bool) -> Written {
    Written {
        again,
        pages: 1,
        ..Written::default()
    }
}
