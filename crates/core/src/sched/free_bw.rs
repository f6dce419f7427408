//! Free-bandwidth scheduling of eager writes: they fill the time in which reads would wait for the platter.
//!
//! The reads alone are scheduled by a known algorithm. Before the next read its start is computed; then, as long as a write
//! waits, it goes to a free slot on the way to the read, if the read still starts at the very same instant. A write never
//! delays a read, so writes starve where reads leave no gaps.
//!
//! | Name | Order of reads |
//! |---|---|
//! | FreeBW-SATF | SATF: reads follow each other closely and leave few gaps, so under load it is nearly read-first |
//! | FreeBW-SCAN | SCAN: ignores rotation, so that gaps are wide |
//! | FreeBW-Hybrid | SCAN while a write waits, SATF when none does |
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, FAST 2002, sections 4.3 and 4.4, after Lumb, Schindler, Ganger and others,
//! "Towards higher disk head utilization", OSDI 2000. Where the paper leaves a choice: the read is fixed before the first
//! write is inserted; "on the way" are the cylinders from the arm's to the read's, both included; if no free slot is in time
//! the writes wait; without reads, writes follow the sweep of `satf_ew`. Cost: one search for a read, and per write one for
//! a slot with the read's start as its bound.

use super::sweep::{self, Waiting};
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::Spec;
use crate::sorted::Cursor;
use crate::units::Instant;

/// In which order reads go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Satf,
    Scan,
    Hybrid,
}

struct FreeBw {
    order: Order,
    waiting: Waiting,
    /// The read that goes next, fixed before writes are inserted.
    planned: Option<Candidate>,
    /// Direction of SCAN.
    upward: bool,
}

impl FreeBw {
    fn new(order: Order) -> FreeBw {
        FreeBw {
            order,
            waiting: Waiting::default(),
            planned: None,
            upward: true,
        }
    }

    /// Fixes the next read, if one waits.
    fn plan(&mut self, view: &View<'_>) -> Option<Candidate> {
        let scan = match self.order {
            Order::Satf => false,
            Order::Scan => true,
            Order::Hybrid => self.waiting.has_open(),
        };
        // Without an arm there is nothing to sweep.
        let cursor = match view.oracle.arm().filter(|_| scan) {
            Some(arm) => self.scan(arm.position().cylinder)?,
            None => self.waiting.nearest(view)?.cursor,
        };
        Some(self.waiting.fixed.remove(cursor))
    }

    /// The nearest cylinder where a read waits in the direction of SCAN, and of its reads the oldest.
    fn scan(&mut self, cylinder: u32) -> Option<Cursor> {
        let fixed = &self.waiting.fixed;
        let above = fixed.seek(&Candidate::lowest_key(cylinder));
        let below = fixed.before(fixed.seek(&Candidate::lowest_key(cylinder + 1)));
        let above = fixed.at(above).map(|_| above);
        // The last of its cylinder was found: begin with the first.
        let below = below.and_then(|last| fixed.at(last));
        let below = below.map(|last| fixed.seek(&Candidate::lowest_key(last.place.cylinder)));
        let (ahead, behind) = if self.upward {
            (above, below)
        } else {
            (below, above)
        };
        if ahead.is_none() && behind.is_some() {
            self.upward = !self.upward;
        }
        ahead.or(behind)
    }

    /// A write that fits before the planned read.
    fn insert_write(&mut self, view: &View<'_>, read: &Candidate) -> Option<Next> {
        if !self.waiting.has_open() {
            return None;
        }
        let free_place = sweep::in_gap(view, read)?;
        let (id, slot) = self.waiting.put(free_place)?;
        Some(Next::Place(id, slot))
    }
}

impl Scheduler for FreeBw {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        let planned = self.planned.take_if(|read| read.id == io.id);
        if planned.is_none() {
            self.waiting.withdraw(io);
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let planned = self.planned.take().or_else(|| self.plan(view));
        let Some(planned) = planned else {
            let write = self.waiting.write(view, Instant::NEVER);
            return write.map_or(Next::Empty, |(id, slot)| Next::Place(id, slot));
        };
        match self.insert_write(view, &planned) {
            Some(write) => {
                self.planned = Some(planned);
                write
            }
            None => Next::Start(planned.id),
        }
    }

    fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.planned.is_some())
    }

    fn audit(&self) {
        self.waiting.audit();
    }
}

const SOURCE: &str = "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002";

pub(super) static FREEBW_SATF: Spec<dyn Scheduler> = Spec {
    name: "freebw_satf",
    aliases: &[],
    summary: "reads by SATF, eager writes in the rotational gaps before them",
    source: SOURCE,
    knobs: &[],
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Satf))),
};

pub(super) static FREEBW_SCAN: Spec<dyn Scheduler> = Spec {
    name: "freebw_scan",
    aliases: &[],
    summary: "reads by SCAN, eager writes in the rotational gaps before them",
    source: SOURCE,
    knobs: &[],
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Scan))),
};

pub(super) static FREEBW_HYBRID: Spec<dyn Scheduler> = Spec {
    name: "freebw_hybrid",
    aliases: &["free_bw"],
    summary: "reads by SCAN while a write waits and by SATF otherwise, eager writes in the gaps before them",
    source: SOURCE,
    knobs: &[],
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Hybrid))),
};
