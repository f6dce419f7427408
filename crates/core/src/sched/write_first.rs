//! Writes first: a read goes only when no eager write waits, or when one has waited too long.
//!
//! One of the two bounds that eager-writing schedulers are compared with. Every write is cheap, so
//! the queue soon holds none. But the rotational latency of later reads, which could have hidden
//! those writes, is lost, and a steady stream of writes starves the reads. With an age limit the
//! oldest read goes first once it has waited that long. Otherwise reads go by SATF.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, FAST 2002, section 4.1. Cost: as SATF.

use super::sweep::Waiting;
use crate::contract::{Next, OPEN, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::{Knob, Knobs, Spec};
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Duration, Instant};

/// An I/O with an address, in order of arrival.
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
    /// The longest time that a read waits for writes; none if there is no limit.
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
        let by_place = self.waiting.fixed.take(&candidate.key());
        let by_age = self.by_age.take(&candidate.sequence);
        assert!(by_place.is_some(), "{candidate:?} does not wait by place");
        assert!(by_age.is_some(), "{candidate:?} does not wait by age");
        Next::Start(candidate.id)
    }
}

impl Scheduler for WriteFirst {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.insert(io);
        if !io.open {
            let (candidate, arrived) = (Candidate::from(io), io.arrived);
            self.by_age.insert(Elder { candidate, arrived });
        }
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
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
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |knobs, _| Ok(Box::new(WriteFirst::new(knobs))),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn a_read_waits_for_every_write() {
        let desk = Desk::new("write_first").free(&[9]).open_writes(1);
        assert_eq!(desk.reads(&[7]).run_all(), [Write(9, 10), Read(7, 18)]);
    }

    #[test]
    fn a_read_that_has_waited_too_long_goes_first() {
        // The limit is over at 5 ms, and it is 6 ms.
        let desk = Desk::new("write_first:age_limit_ms=5").free(&[9]);
        let desk = desk.reads(&[7]).wait_ms(6).open_writes(1);
        assert_eq!(desk.run_all(), [Read(7, 8), Write(9, 10)]);
    }
}
