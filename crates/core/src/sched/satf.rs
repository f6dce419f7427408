//! Shortest access time first: what the heads can reach soonest, arm and platter together.
//!
//! The greedy choice of whoever knows the rotational position: firmware, or a host with a model of the drive. Also called
//! SPTF, shortest positioning time first: transfer is the same wherever it happens, so it is left out. Write
//! settle counts. It gives the highest throughput of the schedulers here and the least even response times: an I/O at
//! the edge waits as long as others keep coming; `aged_satf` bounds that.
//!
//! A write that may go anywhere is as near as the nearest free slot, so over a placement that leaves addresses open this
//! is an eager writer already, without the sweep of `satf_ew`: it stays where it is and fills what is free there.
//!
//! What is nearest is the oracle's answer: with the `exact` one this is a drive's firmware, with `noisy` a host's guess,
//! with `distance` it is SSTF. Cost: see [`crate::search`]; the twin in the tests tries all and chooses the same.

use std::collections::VecDeque;

use super::sweep;
use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::position::{Candidate, Search};
use crate::registry::Spec;
use crate::sorted::{Keyed, Sorted};
use crate::units::Instant;

#[derive(Default)]
struct Satf {
    waiting: Sorted<Candidate>,
    /// What may go to any free slot, in order of arrival.
    open: VecDeque<IoId>,
}

impl Scheduler for Satf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        if io.open {
            self.open.push_back(io.id);
        } else {
            self.waiting.insert(Candidate::from(io));
        }
    }

    fn withdraw(&mut self, io: &Io) {
        if io.open {
            return sweep::withdraw_open(&mut self.open, |open| *open == io.id);
        }
        let taken = self.waiting.take(&Candidate::from(io).key());
        assert!(taken.is_some(), "{:?} does not wait at an address", io.id);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if self.len() == 1 && self.open.is_empty() {
            let only = self.waiting.seek(&Candidate::lowest_key(0));
            return Next::Start(self.waiting.remove(only).id);
        }
        let nearest = view.oracle.nearest(view.now, &self.waiting);
        if !self.open.is_empty() {
            let search = Search {
                before: nearest.map_or(Instant::NEVER, |choice| view.now + choice.time),
                ..Search::anywhere(view.now)
            };
            if let Some(free_place) = view.nearest_free(&search) {
                let id = self.open.pop_front().expect("one waits");
                return Next::Place(id, free_place.slot);
            }
        }
        match nearest {
            Some(choice) => Next::Start(self.waiting.remove(choice.cursor).id),
            None => Next::Empty,
        }
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.open.len()
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
    build: |_, _| Ok(Box::<Satf>::default()),
};
