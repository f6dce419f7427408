//! Reads first: an eager write goes only when no read waits.
//!
//! One of the two bounds that eager-writing schedulers are compared with. Reads are served by SATF;
//! a cheap write waits for every one of them. Source: Zhang, Yu, Krishnamurthy and Wang, FAST 2002,
//! section 4.1. Cost: as SATF.

use super::sweep::Waiting;
use crate::contract::{Next, OPEN, Scheduler, View};
use crate::io::Io;
use crate::registry::Spec;
use crate::stream::Streams;
use crate::units::Instant;

#[derive(Default)]
struct ReadFirst {
    waiting: Waiting,
}

impl Scheduler for ReadFirst {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.insert(io);
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.waiting.withdraw(io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if let Some(read) = self.waiting.nearest(view) {
            return Next::Start(self.waiting.fixed.remove(read.cursor).id);
        }
        let write = self.waiting.write(view, Instant::NEVER);
        write.map_or(Next::Empty, |(id, slot)| Next::Place(id, slot))
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn audit(&self) {
        self.waiting.audit();
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "read_first",
    aliases: &[],
    summary: "reads by SATF, eager writes only when no read waits",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::<ReadFirst>::default()),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn a_write_waits_for_every_read_even_if_its_slot_is_nearer() {
        let desk = Desk::new("read_first").free(&[4]).open_writes(1);
        assert_eq!(desk.reads(&[7]).run_all(), [Read(7, 8), Write(4, 15)]);
    }
}
