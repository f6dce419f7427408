//! Writes first: a read goes only when no eager write waits, or when one has waited too long.
//!
//! One of the two bounds that eager-writing schedulers are held against. Every write is cheap, so the queue is soon free of
//! them; but the waits inside later reads, which could have hidden those writes, are lost, and a steady stream of writes
//! starves the reads. With an age limit the oldest read goes first once it has waited that long. Reads otherwise by SATF.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, FAST 2002, section 4.1. Cost: as SATF.

use super::sweep::Waiting;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::{Knob, Knobs, Spec};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Duration, Instant};

/// What has an address, in order of arrival.
#[derive(Clone, Copy)]
struct Elder {
    candidate: Candidate,
    arrived: Instant,
}

impl Keyed for Elder {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.candidate.sequence
    }
}

struct WriteFirst {
    /// Longest that a read waits while writes do; none if for ever.
    age_limit: Option<Duration>,
    waiting: Waiting,
    by_age: Sorted<Elder>,
}

impl WriteFirst {
    fn new(knobs: &Knobs) -> WriteFirst {
        let limit = knobs.duration_ms("age_limit_ms");
        WriteFirst {
            age_limit: (limit > Duration::ZERO).then_some(limit),
            waiting: Waiting::default(),
            by_age: Sorted::default(),
        }
    }

    /// A read that has waited too long.
    fn expired(&self, now: Instant) -> Option<Candidate> {
        let (limit, elder) = (self.age_limit?, self.by_age.first()?);
        (elder.arrived + limit <= now).then_some(elder.candidate)
    }

    fn start(&mut self, candidate: &Candidate) -> Next {
        let taken = self.waiting.fixed.take(&candidate.key()).is_some()
            && self.by_age.take(&candidate.sequence).is_some();
        assert!(taken, "a read stands in one order only");
        Next::Start(candidate.id)
    }
}

impl Scheduler for WriteFirst {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(io);
        if !io.open {
            let (candidate, arrived) = (Candidate::from(io), io.arrived);
            self.by_age.insert(Elder { candidate, arrived });
        }
    }

    fn withdraw(&mut self, io: &Io) {
        match io.open {
            true => self.waiting.withdraw(io),
            false => drop(self.start(&Candidate::from(io))),
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if let Some(candidate) = self.expired(view.now) {
            return self.start(&candidate);
        }
        if let Some((id, slot)) = self.waiting.write(view, Instant::NEVER) {
            return Next::Place(id, slot);
        }
        let Some(read) = self.waiting.nearest(view) else {
            return Next::Empty;
        };
        let candidate = *self.waiting.fixed.at(read.cursor).expect("it was found");
        self.start(&candidate)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn audit(&self) {
        self.waiting.audit();
        assert_eq!(self.by_age.len(), self.waiting.fixed.len());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "write_first",
    aliases: &[],
    summary: "eager writes first, reads by SATF when none waits",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[Knob::integer(
        "age_limit_ms",
        0,
        0..=3_600_000,
        "milliseconds after which a read goes before all writes; 0 is never",
    )],
    build: |knobs, _| Ok(Box::new(WriteFirst::new(knobs))),
};
