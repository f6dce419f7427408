//! CSCAN: the next unit by address goes, and after the last the first.
//!
//! The arm moves one way and seldom far. What is written often goes as soon as anything else. O(log
//! n).

use super::by_address::Circle;
use super::settings::{KNOBS, PROMISE};
use crate::contract::Destage;
use crate::pages::BUFFER_MEASURES;
use crate::registry::Spec;

pub(super) static SPEC: Spec<dyn Destage> = Spec {
    name: "cscan",
    aliases: &[],
    summary: "the next by address goes to the drives, and after the last the first",
    source: "Gill and Modha, WOW: Wise Ordering for Writes, FAST 2005",
    knobs: KNOBS,
    measures: BUFFER_MEASURES,
    asks: &[],
    prepared: false,
    promises: PROMISE,
    build: |_, _| Ok(Box::new(Circle::new(false))),
};

#[cfg(test)]
mod tests {
    use super::super::by_address::how;
    use super::*;
    use crate::ids::Unit;

    #[test]
    fn the_hand_goes_round() {
        let mut cscan = Circle::new(false);
        for unit in [5, 9, 1] {
            cscan.written(Unit(unit), &how(false));
        }
        assert_eq!(cscan.next(), Some(Unit(1)));
        assert_eq!(cscan.next(), Some(Unit(5)));
        // Behind the hand: the one goes when the hand comes round.
        cscan.written(Unit(5), &how(true));
        cscan.written(Unit(7), &how(true));
        cscan.written(Unit(12), &how(false));
        cscan.take(Unit(9));
        let order: Vec<u64> = std::iter::from_fn(|| cscan.next())
            .map(|unit| unit.0)
            .collect();
        assert_eq!(order, [7, 12, 5]);
    }
}
