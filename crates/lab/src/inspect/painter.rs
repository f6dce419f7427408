//! Counts what the pictures of an inspection are drawn from.

use nearslot_trace::{Header, Record};

use super::device_name;
use super::heat::HeatCounter;
use super::pictures::Pictures;
use super::reuse::ReuseCounter;

/// Counts for the pictures.
pub(super) struct Painter {
    heat: HeatCounter,
    reuse: ReuseCounter,
}

impl Painter {
    pub(super) fn new() -> Painter {
        Painter {
            heat: HeatCounter::new(),
            reuse: ReuseCounter::new(),
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        self.heat.record(batch);
        self.reuse.record(batch);
    }

    /// Everything but the findings, which need the rest of the inspection.
    pub(super) fn pictures(&self, header: &Header) -> Pictures {
        let placed = !header.object_ids;
        Pictures {
            findings: Vec::new(),
            load: self.heat.load(),
            heat: placed.then(|| self.heat.heat(&|dev| device_name(header, dev as usize))),
            reuse: placed.then(|| self.reuse.reuse()).flatten(),
        }
    }
}
