//! Aged SATF: the shortest positioning time, less a bonus for waiting.
//!
//! The I/O with the least `positioning time - weight * waiting time` goes next. With weight 0 this
//! is SATF; with a large weight it is FCFS. Starvation is bounded: no I/O goes before one that
//! arrived earlier by more than the longest positioning time divided by the weight. On a disk that
//! positions in at most 17 ms, with 6 ms a second, that is 3 seconds: an I/O waits at most for
//! those that came up to 3 seconds after it.
//!
//! The price equals `positioning time + weight * arrival time` less a constant, so each I/O gets
//! its handicap once, when it comes. Two orders bound the price of the I/Os that were not tried:
//! outward from the arm (`seek_at_least` of the distance), and by age (the handicap of the next
//! oldest). The search walks both in turns and stops when the sum of the two bounds cannot win (the
//! threshold algorithm: Fagin, Lotem and Naor, "Optimal aggregation algorithms for middleware",
//! PODS 2001). The choice is the same as by trying all. Without an arm the first bound is 0. Cost:
//! O(log n) and three prices a step. Few steps while ages are similar or the weight is small; all n
//! when the weight is large and the oldest are not the nearest.
//!
//! A range write is as near as the nearest place of what it offers, and ages like all others.

use super::ranges::Ranges;
use crate::contract::{Arm, Next, Oracle, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::{Knob, Knobs, Spec};
use crate::sorted::{Cursor, Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Duration, Instant};

/// An I/O, and what its late arrival adds to its price.
#[derive(Clone, Copy, Debug)]
struct Aged {
    candidate: Candidate,
    handicap: Duration,
}

impl Keyed for Aged {
    type Key = u128;

    #[inline]
    fn key(&self) -> u128 {
        self.candidate.key()
    }
}

/// The same, in order of age.
#[derive(Clone, Copy, Debug)]
struct Elder(Aged);

impl Keyed for Elder {
    type Key = (Duration, u64);

    #[inline]
    fn key(&self) -> (Duration, u64) {
        (self.0.handicap, self.0.candidate.sequence)
    }
}

struct AgedSatf {
    /// Nanoseconds of positioning time that a second of waiting outweighs.
    weight_ns_per_s: u64,
    by_place: Sorted<Aged>,
    by_age: Sorted<Elder>,
    ranges: Ranges,
}

impl AgedSatf {
    fn new(knobs: &Knobs) -> AgedSatf {
        AgedSatf {
            weight_ns_per_s: libm::round(knobs.number("weight_ms_per_s") * 1e6) as u64,
            by_place: Sorted::default(),
            by_age: Sorted::default(),
            ranges: Ranges::default(),
        }
    }

    fn handicap(&self, arrived: Instant) -> Duration {
        let scaled = u128::from(arrived.0) * u128::from(self.weight_ns_per_s);
        Duration((scaled / 1_000_000_000) as u64)
    }

    fn remove(&mut self, aged: &Aged) {
        let (by_place, by_age) = (
            self.by_place.take(&aged.key()),
            self.by_age.take(&Elder(*aged).key()),
        );
        assert!(by_place.is_some(), "{aged:?} does not wait by place");
        assert!(by_age.is_some(), "{aged:?} does not wait by age");
    }

    /// The I/O with the least price, and of equals the oldest.
    fn search(&self, view: &View<'_>) -> Option<(Duration, u64, Aged)> {
        // Without an arm no distance bounds a price: then only the order of age ends the search.
        let arm = view.oracle.arm();
        let from = arm.map_or(0, |arm| arm.position().cylinder);
        let seek_at_least = |to: u32| {
            let seek = |arm: &dyn Arm| arm.seek_at_least(from.abs_diff(to));
            arm.map_or(Duration::ZERO, seek)
        };
        let middle = self.by_place.seek(&Candidate::lowest_key(from));
        let mut up = Some(middle).filter(|at| self.by_place.at(*at).is_some());
        let mut down = self.by_place.before(middle);
        let mut best = Best::new(view);
        for Elder(elder) in self.by_age.iter() {
            best.consider(elder);
            let beyond = |side: Cursor| {
                let next = self.by_place.at(side).expect("the walk stays in the list");
                let seek = seek_at_least(next.candidate.place.cylinder);
                best.lies_below(seek + elder.handicap)
            };
            up = up.filter(|side| !beyond(*side));
            down = down.filter(|side| !beyond(*side));
            if up.is_none() && down.is_none() {
                break;
            }
            for side in [up, down].into_iter().flatten() {
                best.consider(self.by_place.at(side).expect("the walk stays in the list"));
            }
            up = up.map(|side| self.by_place.after(side));
            up = up.filter(|side| self.by_place.at(*side).is_some());
            down = down.and_then(|side| self.by_place.before(side));
        }
        best.found
    }
}

/// The best so far.
struct Best<'a> {
    now: Instant,
    oracle: &'a dyn Oracle,
    /// Price, sequence, and which.
    found: Option<(Duration, u64, Aged)>,
}

impl<'a> Best<'a> {
    fn new(view: &View<'a>) -> Best<'a> {
        Best {
            now: view.now,
            oracle: view.oracle,
            found: None,
        }
    }

    fn consider(&mut self, aged: &Aged) {
        let candidate = &aged.candidate;
        let Candidate {
            place,
            op,
            sequence,
            ..
        } = candidate;
        let len = candidate.len();
        let price = self.oracle.positioning_time(self.now, *op, place, len) + aged.handicap;
        if self
            .found
            .is_none_or(|(p, s, _)| (price, *sequence) < (p, s))
        {
            self.found = Some((price, *sequence, *aged));
        }
    }

    /// Whether it surely beats every I/O that costs at least `bound`.
    fn lies_below(&self, bound: Duration) -> bool {
        self.found.is_some_and(|(price, _, _)| price < bound)
    }
}

impl Scheduler for AgedSatf {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        let handicap = self.handicap(io.arrived);
        if let Some(offer) = io.offer {
            return self.ranges.insert(io, offer, handicap);
        }
        let aged = Aged {
            candidate: Candidate::from(io),
            handicap,
        };
        self.by_place.insert(aged);
        self.by_age.insert(Elder(aged));
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        if io.offer.is_some() {
            return self.ranges.withdraw(io.id);
        }
        let aged = Aged {
            candidate: Candidate::from(io),
            handicap: self.handicap(io.arrived),
        };
        self.remove(&aged);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let chosen = self.search(view);
        if !self.ranges.is_empty() {
            let others = chosen.map(|(price, sequence, _)| (price, sequence));
            if let Some(found) = self.ranges.take(view, others) {
                return found.next();
            }
        }
        let Some((_, _, chosen)) = chosen else {
            return Next::Empty;
        };
        self.remove(&chosen);
        Next::Start(chosen.candidate.id)
    }

    fn len(&self) -> usize {
        self.by_place.len() + self.ranges.len()
    }

    fn audit(&self) {
        self.by_place.audit();
        self.by_age.audit();
        assert_eq!(self.by_place.len(), self.by_age.len());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "aged_satf",
    aliases: &["asatf", "asptf"],
    summary: "shortest positioning time less a bonus for waiting, so nobody starves",
    source: "Jacobson and Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7, 1991",
    knobs: &[Knob::number(
        "weight_ms_per_s",
        6.0,
        0.0..=1_000.0,
        "milliseconds of positioning time that a second of waiting makes up for; 0 is satf",
    )],
    measures: &[],
    asks: &["oracle"],
    prepared: false,
    promises: "",
    build: |knobs, _| Ok(Box::new(AgedSatf::new(knobs))),
};

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    /// Block 8 waits since the beginning, block 0 comes at 9 ms. Then block 8 passes in 9 ms and
    /// block 0 in 1 ms.
    fn old_and_near(scheduler: &str) -> Desk {
        Desk::new(scheduler).reads(&[8]).wait_ms(9).reads(&[0])
    }

    #[test]
    fn a_wait_of_9_ms_outweighs_8_ms_of_positioning_if_a_second_counts_as_a_second() {
        let desk = old_and_near("aged_satf:weight_ms_per_s=1000");
        assert_eq!(desk.run_all(), [Read(8, 19), Read(0, 21)]);
    }

    #[test]
    fn without_a_weight_the_nearest_goes_first() {
        let desk = old_and_near("aged_satf:weight_ms_per_s=0");
        assert_eq!(desk.run_all(), [Read(0, 11), Read(8, 19)]);
    }

    #[test]
    fn without_an_arm_the_oldest_goes_first() {
        let desk = Desk::without_arm("aged_satf").reads(&[50, 3, 70]);
        assert_eq!(desk.order(), [50, 3, 70]);
    }

    #[test]
    fn a_range_write_ages_as_well() {
        // It waits since the beginning, and its block passes in 9 ms; block 0 comes at 9 ms and
        // passes in 1 ms.
        let old = |weight: &str| {
            Desk::new(weight)
                .range_write(&[8..9])
                .wait_ms(9)
                .reads(&[0])
        };
        let aged = old("aged_satf:weight_ms_per_s=1000").run_all();
        assert_eq!(aged, [Write(8, 19), Read(0, 21)]);
        let nearest = old("aged_satf:weight_ms_per_s=0").run_all();
        assert_eq!(nearest, [Read(0, 11), Write(8, 19)]);
        let desk = Desk::new("aged_satf")
            .reads(&[6])
            .range_write(&[7..9, 14..16]);
        assert_eq!(desk.run_all(), [Write(14, 5), Read(6, 7)]);
    }

    #[test]
    fn a_withdrawn_io_is_not_served() {
        let desk = Desk::new("aged_satf").reads(&[50, 20, 80]).withdraw(1);
        assert_eq!(desk.order(), [50, 80]);
    }
}
