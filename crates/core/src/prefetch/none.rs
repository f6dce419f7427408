//! No prefetcher: only what is asked for is brought.

use crate::contract::{Around, Pattern, Prefetch, Touch};
use crate::registry::Spec;

struct None;

impl Prefetch for None {
    fn asked(&mut self, _touch: Touch, _tracks: &mut dyn Around) -> Pattern {
        Pattern::Random
    }
}

pub(super) static SPEC: Spec<dyn Prefetch> = Spec {
    name: "none",
    aliases: &[],
    summary: "only what is asked for is brought",
    source: "what every prefetcher is compared with",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(None)),
};
