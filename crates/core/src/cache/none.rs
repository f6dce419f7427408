//! No cache: whatever is asked for is missed.
//!
//! What every cache is compared with. It takes no memory, whatever its size is.

use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

struct None;

impl Cache for None {
    fn reserve(&mut self, _lines: u32) {}

    #[inline]
    fn holds(&self, _line: Line) -> bool {
        false
    }

    #[inline]
    fn len(&self) -> usize {
        0
    }

    fn hit(&mut self, line: Line) {
        unreachable!("{line:?} is not there");
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        Option::None
    }

    #[inline]
    fn enter(&mut self, _line: Line) {}
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "none",
    aliases: &[],
    summary: "nothing stays",
    source: "what every cache is compared with",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(None)),
};
