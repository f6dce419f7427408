//! LRW: the unit that was written last longest ago goes first.
//!
//! LRU for writes: what is written often stays, and takes the next write as well. Where a unit lies does not matter, so the arm wanders. O(log n).

use super::settings::KNOBS;
use crate::contract::Destage;
use crate::ids::Unit;
use crate::pages::BUFFER_MEASURES;
use crate::registry::Spec;
use crate::sorted::{Keyed, Sorted};

/// A unit by itself.
#[derive(Clone, Copy, Debug)]
struct Known {
    unit: Unit,
    turn: u64,
}

impl Keyed for Known {
    type Key = Unit;

    fn key(&self) -> Unit {
        self.unit
    }
}

/// The same by when it was written last.
#[derive(Clone, Copy, Debug)]
struct Turn(Known);

impl Keyed for Turn {
    type Key = u64;

    fn key(&self) -> u64 {
        self.0.turn
    }
}

#[derive(Default)]
struct Lrw {
    known: Sorted<Known>,
    turns: Sorted<Turn>,
    turn: u64,
}

impl Destage for Lrw {
    fn written(&mut self, unit: Unit, _again: bool) {
        if let Some(before) = self.known.take(&unit) {
            self.turns.take(&before.turn);
        }
        self.turn += 1;
        let turn = self.turn;
        let known = Known { unit, turn };
        self.known.insert(known);
        self.turns.insert(Turn(known));
    }

    fn next(&mut self) -> Option<Unit> {
        let unit = self.turns.first()?.0.unit;
        self.take(unit);
        Some(unit)
    }

    fn take(&mut self, unit: Unit) {
        let known = self.known.take(&unit).expect("it waits");
        self.turns.take(&known.turn);
    }

    fn len(&self) -> usize {
        self.known.len()
    }
}

pub(super) static SPEC: Spec<dyn Destage> = Spec {
    name: "lrw",
    aliases: &[],
    summary: "what was written last longest ago goes to the drives first",
    source: "Gill and Modha, WOW: Wise Ordering for Writes, FAST 2005",
    knobs: KNOBS,
    measures: BUFFER_MEASURES,
    asks: &[],
    prepared: false,
    build: |_, ()| Ok(Box::new(Lrw::default())),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_goes_last() {
        let mut lrw = Lrw::default();
        for unit in [5, 9, 1, 5] {
            lrw.written(Unit(unit), false);
        }
        lrw.take(Unit(1));
        lrw.written(Unit(1), false);
        let order: Vec<u64> = std::iter::from_fn(|| lrw.next())
            .map(|unit| unit.0)
            .collect();
        assert_eq!((order, lrw.len()), (vec![9, 5, 1], 0));
    }
}
