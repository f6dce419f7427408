//! WOW: the next unit by address goes, but for those that were written again since the hand came
//! by: these are passed over once.
//!
//! CSCAN with the bit of CLOCK. A unit comes with its bit off; a write of a page that it has turns
//! it on, and the hand turns it off. A write of other pages of the unit turns nothing on, so that a
//! sequence has no second life: the paper asks for more, that no sequential write turns it on, but
//! who writes in sequence writes no page again. O(log n), and amortised O(log n) for each unit that
//! is passed over.

use super::by_address::Circle;
use super::settings::{KNOBS, PROMISE};
use crate::contract::Destage;
use crate::pages::BUFFER_MEASURES;
use crate::registry::Spec;

pub(super) static SPEC: Spec<dyn Destage> = Spec {
    name: "wow",
    aliases: &[],
    summary: "the next by address goes to the drives, but what was written again is passed over once",
    source: "Gill and Modha, WOW: Wise Ordering for Writes, FAST 2005",
    knobs: KNOBS,
    measures: BUFFER_MEASURES,
    asks: &[],
    prepared: false,
    promises: PROMISE,
    build: |_, _| Ok(Box::new(Circle::new(true))),
};

#[cfg(test)]
mod tests {
    use super::super::by_address::how;
    use super::*;
    use crate::ids::Unit;

    #[test]
    fn what_was_written_again_is_passed_over_once() {
        let mut wow = Circle::new(true);
        for (unit, again) in [(5, false), (9, false), (1, false), (1, true), (9, true)] {
            wow.written(Unit(unit), &how(again));
        }
        // 1 is passed over, later 9; then it is the turn of 1.
        assert_eq!(wow.next(), Some(Unit(5)));
        assert_eq!(wow.next(), Some(Unit(1)));
        // Written again after the hand was there, and alone: the hand comes round.
        wow.written(Unit(9), &how(true));
        wow.written(Unit(3), &how(false));
        assert_eq!((wow.next(), wow.next()), (Some(Unit(3)), Some(Unit(9))));
        assert_eq!(wow.next(), None);
    }
}
