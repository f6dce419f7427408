//! Reads of a chunk: from the nearest copy.

use super::slots::Readers;
use super::{EagerCopies, Purpose, Underway};
use crate::contract::Drives;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::op::Op;
use crate::place::choice;
use crate::place::delayed::CopyOf;
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::units::{Blocks, Instant};

impl EagerCopies {
    /// Reads a part of a chunk, unless it lies nowhere: the nearest copy on an idle drive, else
    /// whichever can begin first. The first of these reads.
    pub(super) fn read(
        &mut self,
        now: Instant,
        (chunk, from, len): (u32, Blocks, Blocks),
        drives: &dyn Drives,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let nearest = self.nearest_copy(now, chunk, (from, len), drives);
        let readable = self.readable(chunk);
        let readable = readable.fold(0_u32, |all, (of, ..)| all | 1 << of.copy);
        let copies = self.copies_of(chunk);
        let copies = copies.filter(|of| readable >> of.copy & 1 == 1);
        let mut planned = None;
        for (index, of) in copies.enumerate() {
            if nearest.is_none_or(|nearest| nearest == index) {
                let mut read = self.read_copy(of, self.drive(of), self.slot(of), from, len);
                read.alternative = planned.is_some();
                let step = out.io(read);
                planned = planned.or(Some(step));
            }
        }
        planned
    }

    /// Of the copies that can be read, the nearest on an idle drive, by number.
    fn nearest_copy(
        &self,
        now: Instant,
        chunk: u32,
        (from, len): (Blocks, Blocks),
        drives: &dyn Drives,
    ) -> Option<usize> {
        if self.geometry.copies == 1 {
            return None;
        }
        let places = self.readable(chunk);
        let places = places.map(|(_, drive, slot)| (drive, self.at(drive, slot) + from));
        choice::nearest_idle(now, (Op::Read, len), drives, places)
    }

    pub(super) fn read_copy(
        &mut self,
        of: CopyOf,
        drive: DriveId,
        slot: Slot,
        from: Blocks,
        len: Blocks,
    ) -> PlannedIo {
        let place = (drive.0, slot);
        let mut readers = self.readers.take(&place).unwrap_or(Readers {
            place,
            count: 0,
            left: false,
        });
        readers.count += 1;
        self.readers.insert(readers);
        let underway = Underway {
            of,
            drive,
            slot,
            purpose: Purpose::Read,
            failed: 0,
        };
        let target = Target::At(self.at(drive, slot) + from);
        self.planned(underway, Op::Read, target, (from, len))
    }
}
