//! Reads and writes that fail: another copy is read, other copies are written.

use super::{Copies, FixedCopies, Layout, Piece, Underway, Writing};
use crate::io::DriveDone;
use crate::op::Op;
use crate::plan::{Instead, Plan};
use crate::units::Blocks;

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
    /// one of them is current for all chunks, that is read instead.
    pub(super) fn read_failed(&mut self, ended: &Underway, done: &DriveDone, out: &mut Plan) {
        let bit = 1 << ended.first.copy;
        let mut others = self.all & !bit;
        for chunk in ended.first.chunk..ended.first.chunk + ended.chunks {
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
            });
            if !state.writing {
                self.delay(chunk, bit & !state.flying, out);
            }
        }
        if others != 0 {
            let piece = self.piece(ended, done, others);
            let step = self.alternatives(&piece, Op::Read, ended.part, out);
            out.instead = Instead::Step(step);
        }
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
