//! GAP-SATF: of the nearest reads, the one whose way and gap together are worth most; eager writes fill the gap.
//!
//! The published schedulers either order reads well and leave gaps to chance (FreeBW-SATF), or leave wide gaps and order
//! reads badly (FreeBW-SCAN), or do not look at gaps at all (SATF-EW). Here a gap has a price. A write that is done by itself
//! takes some time, `c`; one that fits before a read, without delaying it, takes none. So a read whose gap takes a write is
//! worth `c` more than its access time says, and the read to do next is the one with the least
//!
//! ```text
//! access time - c if a free slot on the way is in time
//! ```
//!
//! among those that the heads reach first. When no write waits this is SATF. A gap needs no more than a few writes to
//! choose from, and every write in the queue is a read less to order, so writes beyond a small backlog are not kept for gaps: one
//! goes by itself whenever a free slot is nearer than the nearest read (SATF-EW's rule, with its sweep). An I/O that has waited
//! beyond the age limit goes first, so that no class starves the other: a write to the nearest slot, a read with its gap.
//!
//! The idea of pricing a placement against the next read is left open in Zhang, Yu, Krishnamurthy and Wang, FAST 2002; the
//! gaps are those of Lumb and others, OSDI 2000. Cost: one search for a slot per read that is weighed, so some times that of
//! `satf_ew`.

use super::sweep::{self, Waiting};
use crate::contract::{Next, Scheduler, View};
use crate::io::{Candidate, Io};
use crate::registry::{Knob, Knobs, Spec};
use crate::request::Op;
use crate::search::{Landing, Search};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Duration, Instant};

/// Reads that are weighed at most.
const WEIGHED_MAX: usize = 64;

/// Writes in one gap at most, as far as its price goes: a turn has hardly time for more.
const FILLING_MAX: u64 = 8;

/// What so many writes in a gap are worth, in nanoseconds.
fn worth(alone: Duration, writes: u64) -> i64 {
    (alone.0 * writes).cast_signed()
}

/// An I/O in order of arrival.
#[derive(Clone, Copy)]
struct Elder {
    sequence: u64,
    arrived: Instant,
    /// None of an open write.
    candidate: Option<Candidate>,
}

impl Keyed for Elder {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.sequence
    }
}

/// A read with when its first block comes under the heads.
#[derive(Clone, Copy)]
struct Weighed {
    time: Duration,
    read: Candidate,
}

struct GapSatf {
    weighed_max: usize,
    backlog_max: usize,
    age_limit: Duration,
    waiting: Waiting,
    by_age: Sorted<Elder>,
    /// The read that goes next, fixed before writes are inserted.
    planned: Option<Candidate>,
    /// The nearest reads, kept for its memory.
    nearest: Vec<Weighed>,
}

impl GapSatf {
    fn new(knobs: &Knobs) -> GapSatf {
        GapSatf {
            weighed_max: knobs.integer("reads") as usize,
            backlog_max: knobs.integer("backlog") as usize,
            age_limit: knobs.duration_ms("age_limit_ms"),
            waiting: Waiting::default(),
            by_age: Sorted::default(),
            planned: None,
            nearest: Vec::with_capacity(WEIGHED_MAX + 1),
        }
    }

    /// What has waited beyond the limit.
    fn expired(&self, now: Instant) -> Option<Elder> {
        let elder = self.by_age.first()?;
        (elder.arrived + self.age_limit <= now).then_some(*elder)
    }

    /// Finds the reads that the heads reach first.
    fn find_nearest(&mut self, view: &View<'_>) {
        let fixed = &self.waiting.fixed;
        let head = view.oracle.head().band;
        let middle = fixed.seek(&Candidate::lowest_key(head));
        let mut up = Some(middle);
        let mut down = fixed.before(middle);
        self.nearest.clear();
        while up.is_some() || down.is_some() {
            for (side, upward) in [(&mut up, true), (&mut down, false)] {
                let Some(cursor) = *side else { continue };
                let next = fixed.at(cursor).copied();
                let within = next.filter(|read| {
                    let reach = view.oracle.reach(head.abs_diff(read.place.band));
                    let full = self.nearest.len() == self.weighed_max;
                    !full || self.nearest.last().is_none_or(|last| reach <= last.time)
                });
                let Some(read) = within else {
                    *side = None;
                    continue;
                };
                *side = if upward {
                    Some(fixed.after(cursor))
                } else {
                    fixed.before(cursor)
                };
                let time = view.oracle.position(view.now, read.op, &read.place);
                let key = (time, read.sequence);
                let at = self
                    .nearest
                    .partition_point(|other| (other.time, other.read.sequence) < key);
                self.nearest.insert(at, Weighed { time, read });
                self.nearest.truncate(self.weighed_max);
            }
        }
    }

    /// What a write by itself would take now.
    fn alone(view: &View<'_>) -> Option<Duration> {
        let landing = view.nearest_free(&Search::anywhere(view.now))?;
        let len = view.free?.tracks().slot_blocks();
        let write = view.oracle.foresee(view.now, Op::Write, landing.at, len);
        Some(write.end.since(view.now))
    }

    /// The read with the least price.
    fn choose(&mut self, view: &View<'_>) -> Option<Candidate> {
        self.find_nearest(view);
        let first = self.nearest.first()?;
        let alone = Self::alone(view).filter(|_| self.waiting.has_open());
        let Some(alone) = alone else {
            return Some(first.read);
        };
        let most = (self.waiting.open_len() as u64).min(FILLING_MAX);
        let mut best: Option<(i64, Candidate)> = None;
        for weighed in &self.nearest {
            let time = weighed.time.0.cast_signed();
            // No gap that is filled as well as can be would make it the best.
            if best.is_some_and(|(least, _)| time - worth(alone, most) >= least) {
                break;
            }
            let fit = Self::fitting(view, &weighed.read, alone).min(most);
            let price = time - worth(alone, fit);
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, weighed.read));
            }
        }
        best.map(|(_, read)| read)
    }

    /// About how many writes fit before a read: one if there is a slot for it, and more by the time that it leaves.
    fn fitting(view: &View<'_>, read: &Candidate, alone: Duration) -> u64 {
        let (Some(landing), Some(free)) = (sweep::in_gap(view, read), view.free) else {
            return 0;
        };
        let start = view.now + view.oracle.position(view.now, read.op, &read.place);
        let len = free.tracks().slot_blocks();
        let write = view.oracle.foresee(view.now, Op::Write, landing.at, len);
        let distance = write.head.band.abs_diff(read.place.band);
        let arrival = write.end + view.oracle.reach_after(distance);
        1 + start.0.saturating_sub(arrival.0) / alone.0.max(1)
    }

    /// Fixes the read that goes next.
    fn plan(&mut self, read: Candidate) -> Candidate {
        let taken = self.waiting.fixed.take(&read.key());
        taken.expect("what was chosen waits")
    }

    /// The planned read, or a write before it.
    fn go_on(&mut self, view: &View<'_>, read: Candidate) -> Next {
        if self.waiting.has_open()
            && let Some(landing) = sweep::in_gap(view, &read)
        {
            self.planned = Some(read);
            return self.place(landing);
        }
        self.by_age.take(&read.sequence);
        Next::Start(read.id)
    }

    fn place(&mut self, landing: Landing) -> Next {
        let (id, slot) = self.waiting.put(landing).expect("a write waits");
        let oldest = self.by_age.iter().find(|elder| elder.candidate.is_none());
        let sequence = oldest.expect("it waits in order of arrival").sequence;
        self.by_age.take(&sequence);
        Next::Place(id, slot)
    }

    /// A write by itself, if the backlog is long and a slot nearer than the nearest read.
    fn relieve(&mut self, view: &View<'_>) -> Option<Next> {
        if self.waiting.open_len() <= self.backlog_max {
            return None;
        }
        let read = self.waiting.nearest(view);
        let before = read.map_or(Instant::NEVER, |read| view.now + read.time);
        let landing = self.waiting.landing(view, before)?;
        Some(self.place(landing))
    }
}

impl Scheduler for GapSatf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(io);
        self.by_age.insert(Elder {
            sequence: io.sequence,
            arrived: io.arrived,
            candidate: (!io.open).then(|| Candidate::from(io)),
        });
    }

    fn withdraw(&mut self, io: &Io) {
        let planned = self.planned.take_if(|read| read.id == io.id);
        if planned.is_none() {
            self.waiting.withdraw(io);
        }
        self.by_age.take(&io.sequence);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if let Some(read) = self.planned.take() {
            return self.go_on(view, read);
        }
        match self.expired(view.now) {
            Some(Elder {
                candidate: Some(read),
                ..
            }) => {
                let read = self.plan(read);
                return self.go_on(view, read);
            }
            Some(_) => {
                if let Some(landing) = self.waiting.landing(view, Instant::NEVER) {
                    return self.place(landing);
                }
            }
            None => {}
        }
        if let Some(write) = self.relieve(view) {
            return write;
        }
        if let Some(read) = self.choose(view) {
            let read = self.plan(read);
            return self.go_on(view, read);
        }
        match self.waiting.landing(view, Instant::NEVER) {
            Some(landing) => self.place(landing),
            None => Next::Empty,
        }
    }

    fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.planned.is_some())
    }

    fn audit(&self) {
        self.waiting.audit();
        assert_eq!(self.by_age.len(), self.len());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "gap_satf",
    aliases: &[],
    summary: "of the nearest reads the one worth most with the eager write that fits before it",
    source: "ours, after Zhang, Yu, Krishnamurthy and Wang, FAST 2002, and Lumb and others, OSDI 2000",
    knobs: &[
        Knob::integer(
            "reads",
            8,
            1..=WEIGHED_MAX as i64,
            "nearest reads that are weighed",
        ),
        Knob::integer(
            "backlog",
            4,
            0..=1_048_576,
            "writes that are kept waiting for a gap",
        ),
        Knob::integer(
            "age_limit_ms",
            5_000,
            1..=3_600_000,
            "milliseconds after which an I/O goes before all others",
        ),
    ],
    build: |knobs, _| Ok(Box::new(GapSatf::new(knobs))),
};
