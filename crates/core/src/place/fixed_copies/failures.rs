//! Reads and writes that fail: another copy is read, other copies are written.

use super::{Copies, FixedCopies, Layout, Piece, Underway, Writing, members};
use crate::ids::DriveId;
use crate::io::DriveDone;
use crate::op::Op;
use crate::place::delayed::CopyOf;
use crate::plan::{Instead, Plan, Step, StepIndex};
use crate::units::Blocks;

/// The writes of a plan from this one on put on their drives what a write that has ended did, or could not.
fn repeat_from(first: StepIndex, out: &mut Plan) {
    for step in &mut out.steps[first.0 as usize..] {
        if let Step::Io(write) = step {
            write.repeats = true;
        }
    }
}

impl<L: Layout> FixedCopies<L> {
    /// What an I/O that has ended was to read or write, of these copies.
    fn piece(&self, ended: &Underway, done: &DriveDone, copies: Copies) -> Piece {
        let (_, at) = self.layout.place(ended.first);
        Piece {
            first: ended.first.chunk,
            chunks: ended.chunks,
            from: Blocks(done.at.0 - at.0),
            len: done.len,
            copies,
        }
    }

    /// A copy could not be read. If others are current, it is stale from now on: it will be written again from one of them. If
    /// one of them is current for all chunks, that is read instead. If all of them are still to be written from the buffer, that
    /// has the blocks.
    pub(super) fn read_failed(&mut self, ended: &Underway, done: &DriveDone, out: &mut Plan) {
        let bit = 1 << ended.first.copy;
        let mut others = self.all & !bit;
        let chunks = ended.first.chunk..ended.first.chunk + ended.chunks;
        for chunk in chunks.clone() {
            let before = self.state(chunk);
            let current = before.current & !bit;
            others &= current;
            if current == 0 || before.current == current {
                continue;
            }
            let all = self.all;
            let state = self.change(chunk, |state| {
                state.unbuffered |= state.current == all;
                state.current = current;
                state.distrust(bit);
            });
            if !state.writing {
                self.delay(chunk, bit & !state.flying, out);
            }
        }
        if others != 0 {
            let piece = self.piece(ended, done, others);
            let step = self.alternatives(&piece, Op::Read, ended.part, out);
            out.instead = Instead::Step(step);
        } else if chunks.clone().all(|chunk| self.is_buffered(chunk)) {
            out.instead = Instead::Buffered;
        }
    }

    /// Whether the buffer has the newest version of a chunk, for a copy that is still to be written.
    fn is_buffered(&self, chunk: u32) -> bool {
        let state = self.state(chunk);
        let waits = |copy| self.delayed.waits(CopyOf { chunk, copy });
        let mut stale = members(self.all & !state.current);
        !state.unbuffered && stale.any(|copy| state.flying >> copy & 1 == 1 || waits(copy))
    }

    /// Whether everything on a drive is on another one too: then nobody has to miss what is safe there, if it is gone.
    pub(super) fn is_spared(&self, drive: DriveId) -> bool {
        let elsewhere = |chunk: u32, copies: Copies| {
            let mut places = members(copies).map(|copy| self.layout.place(CopyOf { chunk, copy }));
            places.any(|(other, _)| other != drive)
        };
        let mut unsettled = self.unsettled.iter();
        elsewhere(0, self.all) && unsettled.all(|state| elsewhere(state.chunk, state.current))
    }

    /// A copy was written, or could not be. If in the end too few are on the platter, those that were not tried are written. If
    /// all were tried, the write is answered if one of them is there, and the others are tried again in spare time.
    pub(super) fn foreground_done(
        &mut self,
        key: usize,
        ended: &Underway,
        done: &DriveDone,
        out: &mut Plan,
    ) {
        let writing = &mut self.writes[key];
        let bit = 1 << ended.first.copy;
        match done.status.is_done() {
            true => writing.done |= bit,
            false => writing.failed |= bit,
        }
        let Writing { left, failed, .. } = *writing;
        let landed = writing.done;
        let others = match left == 1 && failed != 0 && landed.count_ones() < self.foreground {
            true => self.all & !(failed | landed) & !self.flying(ended),
            false => 0,
        };
        if others != 0 {
            let piece = self.piece(ended, done, others);
            let step = self.alternatives(&piece, Op::Write, ended.part, out);
            repeat_from(step, out);
            if !done.status.is_done() {
                out.instead = Instead::Step(step);
            }
            return;
        }
        if !done.status.is_done() && (landed != 0 || left > 1) {
            out.instead = Instead::Tolerated;
        }
        self.foreground_ended(key, out);
    }

    /// Copies of which a delayed write of one of these chunks is under way.
    fn flying(&self, ended: &Underway) -> Copies {
        let chunks = ended.first.chunk..ended.first.chunk + ended.chunks;
        chunks.fold(0, |flying, chunk| flying | self.state(chunk).flying)
    }
}
