//! SATF-EW: shortest access time first, where a write is as near as the nearest free slot.
//!
//! Compares the queued read that the heads reach first with the free slot that they reach first, and does what is nearer; a
//! read goes first when they are equal. Free slots are looked for in the direction of a sweep (see [`super::sweep`]), or
//! the arm would stay in one region and use up what is free there. Known weakness: with much free space and many writes
//! it always finds a near slot, and becomes write-first.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk array for a transaction
//! processing workload", FAST 2002, section 4.2. That the sweep binds the writes only is our reading: bound reads would not
//! come near SATF as writes vanish, which the paper says they do. Cost: one search for a read, one for a slot that
//! stops at the read's time.

use super::sweep::Waiting;
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::units::Instant;

#[derive(Default)]
struct SatfEw {
    waiting: Waiting,
}

impl Scheduler for SatfEw {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(io);
    }

    fn withdraw(&mut self, io: &Io) {
        self.waiting.withdraw(io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let read = self.waiting.nearest(view);
        let before = read.map_or(Instant::NEVER, |read| view.now + read.time);
        if let Some((id, slot)) = self.waiting.write(view, before) {
            return Next::Place(id, slot);
        }
        match read {
            Some(read) => Next::Start(self.waiting.fixed.remove(read.cursor).id),
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
    name: "satf_ew",
    aliases: &[],
    summary: "the nearer of the nearest read and the nearest free slot for a write",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[],
    build: |_, _| Ok(Box::<SatfEw>::default()),
};
