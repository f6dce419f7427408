//! Shortest access time first: what the heads can reach soonest, arm and platter together.
//!
//! The greedy choice of whoever knows the rotational position: firmware, or a host with a model of the drive. Also called
//! SPTF, shortest positioning time first: transfer is the same wherever it happens, so it is left out. Write
//! settle counts. It gives the highest throughput of the schedulers here and the least even response times: an I/O at
//! the edge waits as long as others keep coming; `aged_satf` bounds that.
//!
//! What is nearest is the oracle's answer: with the `exact` one this is a drive's firmware, with `noisy` a host's guess,
//! with `distance` it is SSTF. Cost: see [`crate::search`]; the twin in the tests tries all and chooses the same.

use crate::contract::{Next, Scheduler, View};
use crate::io::{Candidate, Io};
use crate::registry::Spec;
use crate::sorted::Sorted;
use crate::units::Instant;

#[derive(Default)]
struct Satf {
    waiting: Sorted<Candidate>,
}

impl Scheduler for Satf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(Candidate::from(io));
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if self.waiting.len() == 1 {
            let only = self.waiting.seek(&Candidate::lowest_key(0));
            return Next::Start(self.waiting.remove(only).id);
        }
        match view.oracle.nearest(view.now, &self.waiting) {
            Some(choice) => Next::Start(self.waiting.remove(choice.cursor).id),
            None => Next::Empty,
        }
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn audit(&self) {
        self.waiting.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "satf",
    aliases: &["sptf"],
    summary: "shortest positioning time, seek and rotation together",
    source: "Jacobson and Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7, 1991; Seltzer, Chen and Ousterhout, Disk scheduling revisited, USENIX Winter 1990",
    knobs: &[],
    build: |_, _| Box::<Satf>::default(),
};
