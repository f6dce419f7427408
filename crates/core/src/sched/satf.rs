//! Shortest access time first: the I/O whose first block the heads reach first, seek and rotation together.
//!
//! The greedy choice of a scheduler that knows the rotational position: firmware, or a host with a model of the drive. Also called
//! SPTF, shortest positioning time first. The transfer takes the same time everywhere, so it is left out. Write settle
//! counts. Of the schedulers here it gives the highest throughput and the least even response times: an I/O at the
//! edge of the drive waits as long as others keep coming. `aged_satf` bounds that wait.
//!
//! An open write is as near as the nearest free slot. So over a placement that leaves addresses open this is an eager
//! writer, without the sweep of `satf_ew`: the arm stays where it is and fills the free slots there.
//!
//! The oracle says what is nearest: with `exact` this is a drive's firmware, with `noisy` a host that guesses, and with
//! `distance` it is SSTF. Cost: see [`crate::search`]; the twin in the tests tries all I/Os and chooses the same one.

use std::collections::VecDeque;

use super::sweep;
use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::position::{Candidate, Search};
use crate::registry::Spec;
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::Instant;

#[derive(Default)]
struct Satf {
    waiting: Sorted<Candidate>,
    /// Open writes, in order of arrival.
    open: VecDeque<IoId>,
}

impl Scheduler for Satf {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        if io.open {
            self.open.push_back(io.id);
        } else {
            self.waiting.insert(Candidate::from(io));
        }
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
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
    measures: &[],
    asks: &["oracle"],
    prepared: false,
    build: |_, _| Ok(Box::<Satf>::default()),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn what_passes_first_goes_first() {
        // Block 5 passes at 5 ms; block 13 at 3 ms, when the arm has been there since 0.5 ms.
        let desk = Desk::new("satf").reads(&[5, 13]);
        assert_eq!(desk.run_all(), [Read(13, 4), Read(5, 6)]);
    }

    #[test]
    fn of_equals_the_oldest_goes_first_even_if_it_is_farther() {
        // Both pass at 3 ms. Then the arm is on cylinder 1 at 4.5 ms, too late for block 13.
        let desk = Desk::new("satf").reads(&[23, 13]);
        assert_eq!(desk.run_all(), [Read(23, 4), Read(13, 14)]);
    }

    #[test]
    fn an_open_write_is_as_near_as_the_nearest_free_slot() {
        // Block 14 passes at 4 ms, before the read at 6 ms; block 8 comes later.
        let desk = Desk::new("satf").free(&[8, 14]).reads(&[6]).open_writes(1);
        assert_eq!(desk.run_all(), [Write(14, 5), Read(6, 7)]);
        let desk = Desk::new("satf").free(&[8]).reads(&[6]).open_writes(1);
        assert_eq!(desk.run_all(), [Read(6, 7), Write(8, 9)]);
    }

    #[test]
    fn without_an_arm_the_oldest_goes_first_and_writes_take_the_lowest_slot() {
        let desk = Desk::without_arm("satf").reads(&[50, 3, 70]);
        assert_eq!(desk.order(), [50, 3, 70]);
        let desk = Desk::without_arm("satf").free(&[20, 10]).open_writes(2);
        assert_eq!(desk.run_all(), [Write(10, 1), Write(20, 2)]);
    }
}
