//! Chunks that can be read in no copy as a whole: each block by itself, from whichever copy has it.
//!
//! Copies may have bad blocks, each at another place. So when all of a chunk were tried, each of its
//! blocks is read alone, in turn from all that have the newest data as far as they can be read: the
//! current ones, and those that are stale only since a read has failed. Blocks that the request
//! writes anyway are left out. A delayed write that needs such a chunk gets it put together in the
//! same way, so copies are healed; when one has all blocks again, those that had all but some are
//! written from it in their turn.
//!
//! What no copy has fails whoever needs it, and nobody else. A copy that did not answer in time is
//! not asked block by block, unless another one has a bad block: it would not answer each of them.
//! Only what has failed pays for this: O(blocks of a chunk, copies).

use super::{Chunk, Copies, FixedCopies, Layout, Part, Piece, Reading, Underway, Waits};
use crate::io::DriveDone;
use crate::op::{Failure, Op};
use crate::plan::{Parity, Plan, StepIndex};
use crate::units::Blocks;

impl Part {
    /// How far a read has come.
    pub(super) fn reading(&self) -> Reading {
        match self {
            Part::Read(reading) | Part::ReadAgain(_, reading) => *reading,
            Part::Foreground(_) | Part::Delayed(_) => panic!("{self:?} is no read"),
        }
    }

    /// The same read, of another copy, after one that failed.
    pub(super) fn after(self, copy: Copies, why: Failure) -> Part {
        let reading = self.reading();
        self.with(Reading {
            tried: reading.tried | copy,
            why: Some(why),
            bad: reading.bad || why == Failure::Medium,
            waits: Waits::No,
            ..reading
        })
    }

    /// The same read, of another copy, after one that was of no use.
    pub(super) fn after_in_vain(self) -> Part {
        let waits = Waits::No;
        self.with(Reading {
            waits,
            ..self.reading()
        })
    }

    fn with(self, reading: Reading) -> Part {
        match self {
            Part::ReadAgain(write, _) => Part::ReadAgain(write, reading),
            _ => Part::Read(reading),
        }
    }
}

impl<L: Layout> FixedCopies<L> {
    /// Reads each block of a chunk alone, if that may bring more than was tried. What they bring
    /// together.
    pub(super) fn read_blocks(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        part: Part,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let chunk = ended.first.chunk();
        let state = self.state(chunk);
        let copies = self.left(chunk, state.current | state.suspect);
        let Reading {
            bad,
            single,
            written,
            ..
        } = part.reading();
        let Piece { from, len, .. } = self.piece(ended, done, copies);
        let is_more = copies.count_ones() > 1 || copies != 0 && written.0 < written.1;
        if !bad || single || len == Blocks(1) || !is_more {
            return None;
        }
        let all = out.parity(Parity {
            written: None,
            data: None,
            len,
            awaited: matches!(part, Part::Read(_)),
        });
        let alone = part.with(Reading {
            single: true,
            ..Reading::default()
        });
        let is_needed = |block: &u64| !(written.0..written.1).contains(block);
        for block in (from.0..from.0 + len.0).filter(is_needed) {
            let piece = Piece {
                first: chunk,
                chunks: 1,
                from: Blocks(block),
                len: Blocks(1),
                copies,
            };
            let read = self.alternatives(&piece, Op::Read, alone, out);
            out.fold(read, all, Blocks(block - from.0));
        }
        Some(all)
    }

    /// A copy of a chunk has all of it: those with blocks that cannot be read are written anew.
    pub(super) fn heal_flawed(&mut self, chunk: Chunk, out: &mut Plan) {
        let state = self.state(chunk);
        let (flawed, left) = (state.flawed, self.left(chunk, self.all));
        if flawed == 0 || state.writing || state.current & left & !flawed == 0 {
            return;
        }
        let buffered = self.is_buffered(chunk);
        self.change(chunk, |state| {
            state.unbuffered |= !buffered;
            state.fail(flawed, left);
            state.suspect |= flawed;
        });
        self.strike(chunk, flawed);
        self.delay(chunk, flawed, out);
    }
}
