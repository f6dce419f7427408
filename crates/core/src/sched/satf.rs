//! Shortest access time first: the I/O whose first block the heads reach first, seek and rotation
//! together.
//!
//! The greedy choice of a scheduler that knows the rotational position: firmware, or a host with a
//! model of the drive. Also called SPTF, shortest positioning time first. The transfer takes the
//! same time everywhere, so it is left out. Write settle counts. Of the schedulers here it gives
//! the highest throughput and the least even response times: an I/O at the edge of the drive waits
//! as long as others keep coming. `aged_satf` bounds that wait.
//!
//! An open write is as near as the nearest free slot. So over a placement that leaves addresses
//! open this is an eager writer, without the sweep of `satf_ew`: the arm stays where it is and
//! fills the free slots there.
//!
//! A range write is as near as the nearest place of what it offers. That is hierarchical-range
//! scheduling (Anand and others, "Avoiding file system micromanagement with range writes", OSDI
//! 2008): the oracle goes through its ranges track by track.
//!
//! The oracle says what is nearest: with `exact` this is a drive's firmware, with `noisy` a host
//! that guesses, and with `distance` it is SSTF. Cost: see [`crate::search`]; the twin in the tests
//! tries all I/Os and chooses the same one.

use std::collections::VecDeque;

use super::ranges::Ranges;
use super::sweep;
use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::position::{Candidate, Search};
use crate::registry::Spec;
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Duration, Instant};

#[derive(Default)]
struct Satf {
    waiting: Sorted<Candidate>,
    /// Open writes, in order of arrival.
    open: VecDeque<IoId>,
    ranges: Ranges,
}

impl Scheduler for Satf {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        if io.open {
            self.open.push_back(io.id);
        } else if let Some(offer) = io.offer {
            self.ranges.insert(io, offer, Duration::ZERO);
        } else {
            self.waiting.insert(Candidate::from(io));
        }
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        if io.open {
            return sweep::withdraw_open(&mut self.open, |open| *open == io.id);
        }
        if io.offer.is_some() {
            return self.ranges.withdraw(io.id);
        }
        let taken = self.waiting.take(&Candidate::from(io).key());
        assert!(taken.is_some(), "{:?} does not wait at an address", io.id);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if self.len() == 1 && self.waiting.len() == 1 {
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
        if !self.ranges.is_empty() {
            let others = nearest.and_then(|choice| {
                let candidate = self.waiting.at(choice.cursor)?;
                Some((choice.time, candidate.sequence))
            });
            if let Some(found) = self.ranges.take(view, others) {
                return found.next();
            }
        }
        match nearest {
            Some(choice) => Next::Start(self.waiting.remove(choice.cursor).id),
            None => Next::Empty,
        }
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.open.len() + self.ranges.len()
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
    promises: "",
    build: |_, _| Ok(Box::<Satf>::default()),
};

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]
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
    fn a_range_write_is_as_near_as_the_nearest_place_that_it_offers() {
        // Block 14 passes at 4 ms, before the read at 6 ms; blocks 7 and 8 pass later.
        let desk = Desk::new("satf").reads(&[6]).range_write(&[7..9, 14..16]);
        assert_eq!(desk.run_all(), [Write(14, 5), Read(6, 7)]);
        let desk = Desk::new("satf").reads(&[1]).range_write(&[2..4, 24..26]);
        assert_eq!(desk.run_all(), [Read(1, 2), Write(2, 3)]);
    }

    #[test]
    fn within_a_range_the_block_that_comes_next_is_taken() {
        // The heads are on block 3 of the track when they have read block 2, and on block 34 at 4.5
        // ms when they reach cylinder 3.
        let mut desk = Desk::new("satf").reads(&[2]);
        desk.step();
        let desk = desk.range_write(&[0..9]);
        assert_eq!(desk.run_all(), [Write(3, 4)]);
        let desk = Desk::new("satf").wait_ms(2).range_write(&[30..40]);
        assert_eq!(desk.run_all(), [Write(35, 6)]);
    }

    #[test]
    fn of_two_that_offer_the_same_each_gets_a_block_of_its_own() {
        let desk = Desk::new("satf").range_write(&[4..6]).range_write(&[4..6]);
        assert_eq!(desk.run_all(), [Write(4, 5), Write(5, 6)]);
    }

    #[test]
    fn of_equals_the_oldest_goes_first_range_or_not() {
        // Both would begin at block 3, at 3 ms.
        let desk = Desk::new("satf").range_write(&[3..4]).reads(&[13]);
        assert_eq!(desk.run_all(), [Write(3, 4), Read(13, 14)]);
        let desk = Desk::new("satf").reads(&[13]).range_write(&[3..4]);
        assert_eq!(desk.run_all(), [Read(13, 4), Write(3, 14)]);
    }

    #[test]
    fn one_that_has_nothing_left_goes_at_once_and_writes_nothing() {
        let desk = Desk::new("satf").range_write(&[4..5]).range_write(&[4..5]);
        assert_eq!(desk.reads(&[60]).run_all(), [Write(4, 5), Read(60, 21)]);
    }

    #[test]
    fn a_withdrawn_range_write_is_not_served() {
        let desk = Desk::new("satf").range_write(&[4..5]).range_write(&[7..9]);
        assert_eq!(desk.withdraw(0).run_all(), [Write(7, 8)]);
    }

    #[test]
    fn without_an_arm_the_oldest_goes_first_and_writes_take_the_lowest_slot() {
        let desk = Desk::without_arm("satf").reads(&[50, 3, 70]);
        assert_eq!(desk.order(), [50, 3, 70]);
        let desk = Desk::without_arm("satf").free(&[20, 10]).open_writes(2);
        assert_eq!(desk.run_all(), [Write(10, 1), Write(20, 2)]);
    }
}
