//! Writes that a request waits for.

use super::copies::Source;
use super::map::NOWHERE;
use super::{ChunkWrite, EagerCopies, Landed, Purpose, Reason, Underway};
use crate::contract::Drives;
use crate::op::Op;
use crate::place::choice;
use crate::place::delayed::CopyOf;
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::units::{Blocks, Instant, Pba};

impl EagerCopies {
    /// The foreground writes of a chunk.
    pub(super) fn write(
        &mut self,
        now: Instant,
        chunk: u32,
        after: Option<StepIndex>,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let foreground = self.foreground.min(self.owners(chunk).count() as u32);
        let key = self.writes.insert(ChunkWrite {
            chunk,
            left: foreground,
            tried: 0,
            done: 0,
            landed: 0,
        });
        let reason = Reason::Foreground(key);
        let mut used = 0_u32;
        for _ in 0..foreground {
            let of = self.owner(now, chunk, used, drives);
            used |= 1 << of.copy;
            let write = self.write_copy(of, reason);
            let step = out.io(write);
            if let Some(read) = after {
                out.carry(read, step);
            }
        }
        self.writes[key].tried = used;
    }

    /// A copy of a chunk's write that was not begun, and is begun now since another one could not
    /// be written.
    pub(super) fn untried(&mut self, key: usize) -> Option<CopyOf> {
        let ChunkWrite { chunk, tried, .. } = self.writes[key];
        let mut copies = self.copies_of(chunk);
        let untried = |of: &CopyOf| tried >> of.copy & 1 == 0 && !self.gone.has(self.drive(*of));
        let of = copies.find(untried)?;
        self.writes[key].tried |= 1 << of.copy;
        Some(of)
    }

    /// The owner that a foreground write goes to: the idle one nearest to a free slot, else the one
    /// with the shortest queue.
    fn owner(&self, now: Instant, chunk: u32, used: u32, drives: &dyn Drives) -> CopyOf {
        let unused = || {
            let unused = self.owners(chunk).filter(|of| used >> of.copy & 1 == 0);
            unused.map(|of| (of, self.drive(of)))
        };
        if self.geometry.copies == 1 {
            return CopyOf { chunk, copy: 0 };
        }
        let free = unused().map(|(_, drive)| (drive, &self.map.free[drive.index()]));
        let nearest = choice::nearest_free(now, drives, free);
        let shortest = || choice::shortest(drives, unused().map(|(_, drive)| drive));
        let drive = nearest.or_else(shortest);
        let mut found = unused().filter(|(_, owner)| Some(*owner) == drive);
        found
            .next()
            .expect("there are more copies than foreground writes")
            .0
    }

    /// An open write of a copy. Schedulers that go by address take it for a write in place.
    pub(super) fn write_copy(&mut self, of: CopyOf, reason: Reason) -> PlannedIo {
        let drive = self.drive(of);
        let near = match self.slot(of) {
            NOWHERE => Pba(0),
            slot => self.at(drive, slot),
        };
        let underway = Underway {
            of,
            drive,
            slot: NOWHERE,
            purpose: Purpose::Write(reason),
            failed: 0,
        };
        let whole = (Blocks(0), self.chunk);
        self.planned(underway, Op::Write, Target::Open(near), whole)
    }

    pub(super) fn foreground_done(
        &mut self,
        key: usize,
        landed: &Landed,
        done: bool,
        out: &mut Plan,
    ) {
        let writing = &mut self.writes[key];
        writing.left -= 1;
        if done {
            // With the first, what the other copies hold is stale.
            let first = writing.done == 0;
            writing.done |= 1 << landed.of.copy;
            self.move_to(landed.of, landed.slot, first);
        } else {
            self.vacate(landed.of, landed.slot);
        }
        if self.writes[key].left == 0 {
            let ChunkWrite { chunk, done, .. } = self.writes.remove(key);
            if done != 0 {
                self.delay_others(chunk, out);
            }
        } else if self.home(landed.of).is_some() {
            // The other copy may wait for a slot that only a move home makes free.
            self.delay(landed.of, Source::Buffer, out);
        }
    }
}
