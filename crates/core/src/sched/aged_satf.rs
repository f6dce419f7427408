//! Aged SATF: what the heads can reach soonest, but waiting counts.
//!
//! The I/O with the least `positioning time - weight * waiting time` goes next. With weight 0 this is SATF; a large weight
//! is FCFS. Starvation is bounded: an I/O is never passed over by one that arrived later by more than the longest
//! positioning time over the weight. A disk that positions in 17 ms at most and ages by 6 ms a second lets nobody
//! pass who came 3 seconds later, so an I/O waits at most for what came in those 3 seconds.
//!
//! The price is the same as `positioning time + weight * arrival time`, less a constant, so each I/O gets its handicap
//! once, when it comes. Two orders then bound what was not tried: outward from the arm (`seek_at_least` of the distance), and by
//! age (handicap of the next oldest). The search walks both in turns and stops when their sum cannot win (the
//! threshold algorithm: Fagin, Lotem and Naor, "Optimal aggregation algorithms for middleware", PODS 2001). The choice
//! is the same as by trying all. Cost: O(log n) and two prices a step; few steps while ages are alike or the
//! weight is small, up to all n when a heavy weight sets the oldest against the nearest.

use crate::contract::{Arm, Next, Oracle, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::{Knob, Knobs, Spec};
use crate::sorted::{Cursor, Keyed, Sorted};
use crate::units::{Duration, Instant};

/// An I/O with what its late arrival adds to its price.
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

/// The same in the order of age.
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
    /// Nanoseconds of positioning that a second of waiting makes up for.
    weight_ns_per_s: u64,
    by_place: Sorted<Aged>,
    by_age: Sorted<Elder>,
}

impl AgedSatf {
    fn new(knobs: &Knobs) -> AgedSatf {
        AgedSatf {
            weight_ns_per_s: libm::round(knobs.number("weight_ms_per_s") * 1e6) as u64,
            by_place: Sorted::default(),
            by_age: Sorted::default(),
        }
    }

    fn handicap(&self, arrived: Instant) -> Duration {
        let scaled = u128::from(arrived.0) * u128::from(self.weight_ns_per_s);
        Duration((scaled / 1_000_000_000) as u64)
    }

    fn remove(&mut self, aged: &Aged) {
        let taken = self.by_place.take(&aged.key()).is_some()
            && self.by_age.take(&Elder(*aged).key()).is_some();
        assert!(taken, "an I/O stands in one order only");
    }

    /// The I/O with the least price, and of equals the oldest.
    fn search(&self, view: &View<'_>) -> Option<Aged> {
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
        best.found.map(|(_, _, aged)| aged)
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
        let Candidate {
            place,
            op,
            sequence,
            ..
        } = &aged.candidate;
        let price = self.oracle.positioning_time(self.now, *op, place) + aged.handicap;
        if self
            .found
            .is_none_or(|(p, s, _)| (price, *sequence) < (p, s))
        {
            self.found = Some((price, *sequence, *aged));
        }
    }

    /// Whether it is certain to beat all that cost at least `bound`.
    fn lies_below(&self, bound: Duration) -> bool {
        self.found.is_some_and(|(price, _, _)| price < bound)
    }
}

impl Scheduler for AgedSatf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        let aged = Aged {
            candidate: Candidate::from(io),
            handicap: self.handicap(io.arrived),
        };
        self.by_place.insert(aged);
        self.by_age.insert(Elder(aged));
    }

    fn withdraw(&mut self, io: &Io) {
        let aged = Aged {
            candidate: Candidate::from(io),
            handicap: self.handicap(io.arrived),
        };
        self.remove(&aged);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let Some(chosen) = self.search(view) else {
            return Next::Empty;
        };
        self.remove(&chosen);
        Next::Start(chosen.candidate.id)
    }

    fn len(&self) -> usize {
        self.by_place.len()
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
    build: |knobs, _| Ok(Box::new(AgedSatf::new(knobs))),
};
