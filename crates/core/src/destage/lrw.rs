//! LRW: the unit that was written last longest ago goes first.
//!
//! LRU for writes: what is written often stays, and takes the next write as well. Where a unit lies
//! does not matter, so the arm wanders. O(1).

use super::settings::{KNOBS, PROMISE};
use crate::contract::{Destage, Written};
use crate::directory::Directory;
use crate::ids::Unit;
use crate::list::{Handle, List, Pool};
use crate::pages::BUFFER_MEASURES;
use crate::registry::Spec;

#[derive(Default)]
struct Lrw {
    directory: Directory,
    /// By the number of a unit: where it waits, if it does.
    places: Vec<Option<Handle>>,
    /// Units that wait, the one that was written last longest ago first.
    waiting: List,
    pool: Pool<Unit>,
}

impl Destage for Lrw {
    fn written(&mut self, unit: Unit, _how: &Written) {
        let number = self.directory.number(unit.0) as usize;
        if number == self.places.len() {
            self.places.push(None);
        }
        if let Some(before) = self.places[number].take() {
            self.pool.remove(&mut self.waiting, before);
        }
        self.places[number] = Some(self.pool.push_back(&mut self.waiting, unit));
    }

    fn next(&mut self) -> Option<Unit> {
        let first = self.waiting.front()?;
        let unit = self.pool.remove(&mut self.waiting, first);
        let number = self.directory.number(unit.0);
        self.places[number as usize] = None;
        Some(unit)
    }

    fn take(&mut self, unit: Unit) {
        let number = self.directory.find(unit.0);
        let place = number.and_then(|number| self.places[number as usize].take());
        self.pool
            .remove(&mut self.waiting, place.expect("it waits"));
    }

    fn len(&self) -> usize {
        self.waiting.len()
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
    promises: PROMISE,
    build: |_, _| Ok(Box::new(Lrw::default())),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_goes_last() {
        let mut lrw = Lrw::default();
        for unit in [5, 9, 1, 5] {
            lrw.written(Unit(unit), &Written::default());
        }
        lrw.take(Unit(1));
        lrw.written(Unit(1), &Written::default());
        let order: Vec<u64> = std::iter::from_fn(|| lrw.next())
            .map(|unit| unit.0)
            .collect();
        assert_eq!((order, lrw.len()), (vec![9, 5, 1], 0));
    }

    /// As anybody would write it: units in order, each looked for.
    #[test]
    fn it_does_what_a_list_that_is_searched_does() {
        let mut rng = crate::rng::Rng::stream(1, "lrw");
        let (mut lrw, mut twin) = (Lrw::default(), std::collections::VecDeque::new());
        for _ in 0..20_000 {
            let unit = Unit(rng.below(60) * 97);
            match rng.below(4) {
                0 => assert_eq!(lrw.next(), twin.pop_front()),
                1 if twin.contains(&unit) => {
                    lrw.take(unit);
                    twin.retain(|other| *other != unit);
                }
                _ => {
                    lrw.written(unit, &Written::default());
                    twin.retain(|other| *other != unit);
                    twin.push_back(unit);
                }
            }
            assert_eq!(lrw.len(), twin.len());
        }
    }
}
