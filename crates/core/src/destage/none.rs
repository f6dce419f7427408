//! No write buffer: writes go through, and are answered when drives have them.

use crate::contract::{Destage, Written};
use crate::ids::Unit;
use crate::registry::Spec;

struct None;

impl Destage for None {
    fn written(&mut self, unit: Unit, _how: &Written) {
        unreachable!("{unit:?} is in no buffer");
    }

    fn next(&mut self) -> Option<Unit> {
        Option::None
    }

    fn take(&mut self, unit: Unit) {
        unreachable!("{unit:?} is in no buffer");
    }

    fn len(&self) -> usize {
        0
    }
}

pub(super) static SPEC: Spec<dyn Destage> = Spec {
    name: "none",
    aliases: &[],
    summary: "writes go through",
    source: "what every write buffer is compared with",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(None)),
};
