//! SATF-EW: shortest access time first, where a write is as near as the nearest free slot.
//!
//! Compares the queued read that the heads reach first with the free slot that they reach first,
//! and takes the nearer. If they are equal the read goes first. It searches for free slots in the
//! direction of a sweep (see [`super::sweep`]); otherwise the arm would stay in one region and use
//! up the free slots there. Known weakness: with much free space and many writes it always finds a
//! near slot, and becomes write-first.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk
//! array for a transaction processing workload", FAST 2002, section 4.2. That the sweep binds only
//! the writes is our reading: the paper says that the scheduler approaches SATF as writes become
//! rare, and with reads bound to a sweep it would not. Cost: one search for a read, one for a slot
//! that stops at the read's time.

use super::sweep::Waiting;
use crate::contract::{Next, OPEN, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::stream::Streams;
use crate::units::Instant;

#[derive(Default)]
struct SatfEw {
    waiting: Waiting,
}

impl Scheduler for SatfEw {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.insert(io);
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
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
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::<SatfEw>::default()),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn the_nearer_of_read_and_free_slot_goes_first() {
        let desk = Desk::new("satf_ew").free(&[4]).open_writes(1);
        assert_eq!(desk.reads(&[7]).run_all(), [Write(4, 5), Read(7, 8)]);
        let desk = Desk::new("satf_ew").free(&[9]).open_writes(1);
        assert_eq!(desk.reads(&[7]).run_all(), [Read(7, 8), Write(9, 10)]);
    }

    #[test]
    fn writes_keep_their_direction_while_a_slot_is_free_ahead() {
        // From cylinder 5 upward: block 69 first, though block 41 comes sooner.
        let mut desk = Desk::new("satf_ew").reads(&[50]);
        desk.step();
        let desk = desk.free(&[41, 69]).open_writes(2);
        assert_eq!(desk.order(), [69, 41]);
    }
}
