//! Reads and writes that fail: another copy is read, other copies are written.

use super::{
    Apart, Chunk, Copies, CopyOf, FixedCopies, Layout, Part, Piece, Reading, Underway, Waits,
    Writing, members,
};
use crate::io::{DriveDone, Tag};
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, Step, StepIndex};
use crate::units::Blocks;

/// From here on tags are of reads that wait: no write has so high a key, and flushes that are held
/// have higher ones.
const READ_LATER: u64 = 1 << 62;

/// The writes of a plan from this one on put on their drives what a write that has ended did, or
/// could not.
fn repeat_from(first: StepIndex, out: &mut Plan) {
    for step in &mut out.steps[first.0 as usize..] {
        if let Step::Io(write) = step {
            write.repeats = true;
        }
    }
}

impl<L: Layout> FixedCopies<L> {
    /// What an I/O that has ended was to read or write, of these copies.
    pub(super) fn piece(&self, ended: &Underway, done: &DriveDone, copies: Copies) -> Piece {
        let (_, at) = self.layout.place(ended.first);
        Piece {
            first: ended.first.chunk(),
            chunks: ended.chunks,
            from: Blocks(done.at.0 - at.0),
            len: done.len,
            copies,
        }
    }

    /// A client has read of a copy of some chunks: it is the one that is taken after a power cut.
    pub(super) fn was_read(&mut self, ended: &Underway) {
        if self.undecided == 0 {
            return;
        }
        for chunk in ended.first.chunk().run(ended.chunks) {
            let state = self.state(chunk);
            if state.candidates != 0 && state.current >> ended.first.copy() & 1 == 1 {
                self.change(chunk, |state| state.candidates = 0);
            }
        }
    }

    /// Whether somebody is reading something of a chunk, from a drive that is not gone. One that
    /// waits does not read yet, and what one reads in vain is seen by nobody.
    pub(super) fn is_read(&self, chunk: Chunk) -> bool {
        let mut underway = self.underway.iter();
        underway.any(|(_, one)| {
            let mut chunks = one.first.chunk().run(one.chunks);
            let is_gone = || self.gone.has(self.layout.place(one.first).0);
            let reads = matches!(one.part, Part::Read(reading) if reading.waits == Waits::No);
            reads && chunks.any(|other| other == chunk) && !is_gone()
        })
    }

    /// A copy could not be read. If others are current and their drives are left, it is stale from
    /// now on: it will be written again from one of them. If one of them is current for all chunks,
    /// that is read instead. If all of them are still to be written from the buffer, that has the
    /// blocks.
    pub(super) fn read_failed(&mut self, ended: &Underway, done: &DriveDone, out: &mut Plan) {
        let Status::Failed(why) = done.status else {
            panic!("{:?} has not failed", ended.part);
        };
        let (bit, is_bad) = (1 << ended.first.copy(), why == Failure::Medium);
        let part = ended.part.after(bit, why);
        let Reading { tried, single, .. } = part.reading();
        let mut others = self.all & !tried;
        let chunks = ended.first.chunk().run(ended.chunks);
        for chunk in chunks.clone() {
            others &= self.copy_failed(chunk, bit, is_bad, out);
        }
        let others = self.left(ended.first.chunk(), others);
        if let Some(instead) = self.read_others(ended, done, (part, others), out) {
            out.instead = instead;
            return;
        }
        let instead = match part {
            // Each chunk is tried alone, unless none would be answered.
            Part::ReadAgain(write, _) if ended.chunks > 1 => {
                if !is_bad {
                    self.underway[write].part = Part::Delayed(Apart::Useless);
                }
                None
            }
            Part::Read(_) if ended.chunks > 1 => self.read_apart(ended, done, out),
            Part::ReadAgain(..) if !single => self.read_blocks(ended, done, part, out),
            _ => self.read_elsewhere(ended, done, part, out),
        };
        out.instead = instead.map_or(Instead::Nothing, Instead::Step);
    }

    /// What has all of what was to be read: one of these copies, or the buffer.
    fn read_others(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        (part, others): (Part, Copies),
        out: &mut Plan,
    ) -> Option<Instead> {
        if others != 0 {
            let piece = self.piece(ended, done, others);
            let step = self.alternatives(&piece, Op::Read, part, out);
            return Some(Instead::Step(step));
        }
        let mut chunks = ended.first.chunk().run(ended.chunks);
        let is_buffered = !part.reading().single && chunks.all(|chunk| self.is_buffered(chunk));
        is_buffered.then_some(Instead::Buffered)
    }

    /// Reads a chunk of which no current copy can be read from what may have the same.
    fn read_elsewhere(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        part: Part,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let instead = self.read_later(ended, done, part, out);
        let instead = instead.or_else(|| self.read_suspects(ended, done, part, out));
        instead.or_else(|| self.read_blocks(ended, done, part, out))
    }

    /// A copy was read that was not the one to be read any more: one is that is current.
    pub(super) fn read_in_vain(&mut self, ended: &Underway, done: &DriveDone, out: &mut Plan) {
        let (chunk, part) = (ended.first.chunk(), ended.part.after_in_vain());
        let Reading { tried, why, .. } = part.reading();
        let others = self.left(chunk, self.state(chunk).current & !tried);
        if let Some(instead) = self.read_others(ended, done, (part, others), out) {
            out.instead = instead;
            return;
        }
        let instead = self.read_elsewhere(ended, done, part, out);
        let failed = || Instead::Failed(why.expect("a read waits when a copy has failed"));
        out.instead = instead.map_or_else(failed, Instead::Step);
    }

    /// A copy of a chunk could not be read, and perhaps has a bad block. The others that are
    /// current.
    fn copy_failed(&mut self, chunk: Chunk, bit: Copies, is_bad: bool, out: &mut Plan) -> Copies {
        // This read may have kept a candidate whose drive is gone.
        self.take_one_that_is_left(chunk, out);
        let before = self.state(chunk);
        let left = self.left(chunk, self.all);
        // Another read may bring what the copy has: then no other one may be taken.
        let open = before.candidates & !bit & left != 0 && !self.is_read(chunk);
        let is_only = before.current & !bit & left == 0 && !open;
        if before.current & bit == 0 || is_only {
            // It is healed with the help of others that have the newest data, if one has.
            if is_bad && before.suspect != 0 {
                self.change(chunk, |state| state.flawed |= bit);
            }
            return before.current & !bit;
        }
        let buffered = self.is_buffered(chunk);
        let state = self.change(chunk, |state| {
            state.unbuffered |= !buffered;
            state.fail(bit, left);
            if before.candidates == 0 {
                state.suspect |= bit;
            }
        });
        self.strike(chunk, bit);
        if !state.writing {
            // Which copy is read is open no longer: those that were to have its data may have to
            // wait again.
            let stale = match before.candidates {
                0 => bit,
                _ => self.all,
            };
            self.delay(chunk, stale, out);
        }
        state.current & !bit
    }

    /// After a power cut the only copy of a chunk that may be read still may be one that will do as
    /// well, but is being written: it is read when that has ended.
    fn read_later(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        part: Part,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let Part::Read(reading) = part else {
            return None;
        };
        let chunk = ended.first.chunk();
        let copy = members(self.coming(chunk, reading.tried)).next()?;
        let piece = self.piece(ended, done, 1 << copy);
        let waits = Waits::Yes;
        let part = Part::Read(Reading { waits, ..reading });
        let read = self.planned(&piece, copy, Op::Read, part);
        self.waiting += 1;
        let step = out.io(read);
        let gate = out.gate(Tag(READ_LATER + read.tag.0));
        out.after(gate, step);
        Some(step)
    }

    /// Copies of a chunk that will do after a power cut when they have been written, on drives that
    /// are left and beside those that were tried, if no current copy is there.
    fn coming(&self, chunk: Chunk, tried: Copies) -> Copies {
        let state = self.state(chunk);
        match self.left(chunk, state.current & !tried) {
            0 => self.left(chunk, state.candidates & state.flying & !tried),
            _ => 0,
        }
    }

    /// Whether a read waits for another copy of a chunk, which is being written: that one is taken
    /// then.
    pub(super) fn is_awaited(&self, chunk: Chunk, copy: u8) -> bool {
        let flying = self.state(chunk).flying;
        let waits = |one: &Underway| {
            let other = one.first.copy();
            let waits = matches!(one.part, Part::Read(read) if read.waits == Waits::Yes);
            waits && one.first.chunk() == chunk && other != copy && flying >> other & 1 == 1
        };
        self.waiting > 0 && self.underway.iter().any(|(_, one)| waits(one))
    }

    /// A copy of a chunk was written, or could not be, or a read of it has ended: who waits to read
    /// a copy does so if that is taken, or if another one is, as a write of the chunk has made it
    /// current or a client has read of it. Then the read is in vain, and its end tells what is read
    /// instead.
    pub(super) fn read_now(&mut self, chunk: Chunk, out: &mut Plan) {
        if self.waiting == 0 {
            return;
        }
        let state = self.state(chunk);
        let is_read = self.is_read(chunk);
        for (key, one) in &mut self.underway {
            let bit = 1 << one.first.copy();
            let Part::Read(reading) = &mut one.part else {
                continue;
            };
            let is_open = state.candidates & bit != 0 && (state.flying & bit != 0 || is_read);
            let is_taken = state.current & bit != 0;
            let waits = reading.waits == Waits::Yes;
            if one.first.chunk() != chunk || !waits || is_open && !is_taken {
                continue;
            }
            reading.waits = match is_taken {
                true => Waits::No,
                false => Waits::InVain,
            };
            // A write may have put there since what could not be read before.
            reading.tried &= !state.current;
            self.waiting -= 1;
            out.open(Tag(READ_LATER + key as u64));
        }
    }

    /// Reads a chunk of which no current copy can be read from those that are stale only because a
    /// read has failed: perhaps of another block.
    fn read_suspects(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        part: Part,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let copies = self.suspects(ended.first.chunk()) & !part.reading().tried;
        let piece = self.piece(ended, done, copies);
        (copies != 0).then(|| self.alternatives(&piece, Op::Read, part, out))
    }

    /// Copies of a chunk that have its newest data as far as they can be read, on drives that are
    /// left: also while these are written there once more.
    pub(super) fn suspects(&self, chunk: Chunk) -> Copies {
        self.left(chunk, self.state(chunk).suspect)
    }

    /// No copy is left that has all chunks of a read: each is read by itself, if one of them is
    /// elsewhere than where that has failed. The first of these reads.
    fn read_apart(
        &mut self,
        ended: &Underway,
        done: &DriveDone,
        out: &mut Plan,
    ) -> Option<StepIndex> {
        let bit = 1 << ended.first.copy();
        let elsewhere = |chunk| {
            let others = self.left(chunk, self.state(chunk).current & !bit);
            let others = others | self.suspects(chunk) | self.coming(chunk, bit);
            others & !bit != 0 || self.is_buffered(chunk)
        };
        let mut chunks = ended.first.chunk().run(ended.chunks);
        if !chunks.clone().any(elsewhere) {
            return None;
        }
        let Piece { from, len, .. } = self.piece(ended, done, 0);
        let size = self.layout.chunk().0;
        let end = from.0 + len.0;
        let mut part = |chunk: Chunk| {
            let first = (chunk.0 - ended.first.chunk().0) * size;
            let (start, end) = (from.0.max(first), end.min(first + size));
            let alone = Piece {
                first: chunk,
                chunks: 1,
                from: Blocks(start - first),
                len: Blocks(end - start),
                copies: self.left_or_all(chunk, self.state(chunk).current),
            };
            self.alternatives(&alone, Op::Read, Part::Read(Reading::default()), out)
        };
        let step = chunks.next().map(&mut part);
        chunks.for_each(|chunk| _ = part(chunk));
        step
    }

    /// Whether the buffer has the newest version of a chunk, for a copy that is still to be
    /// written. A write of it keeps it there, though the copy does not wait for its turn meanwhile.
    pub(super) fn is_buffered(&self, chunk: Chunk) -> bool {
        let state = self.state(chunk);
        let stale = self.all & !state.current;
        !state.unbuffered && stale != 0 && (state.writing || self.is_delayed(chunk, stale))
    }

    /// Whether one of these copies of a chunk is being written in spare time, or waits for that: it
    /// keeps the chunk in the buffer.
    pub(super) fn is_delayed(&self, chunk: Chunk, copies: Copies) -> bool {
        let flying = self.state(chunk).flying & copies != 0;
        flying || members(copies).any(|copy| self.delayed.waits(CopyOf::new(chunk, copy)))
    }

    /// A copy was written, or could not be. If in the end too few are on the platters of drives
    /// that are left, those that were not tried are written, but for those of which a delayed write
    /// is under way. If it is on no drive that is left, it waits for those writes. When no more can
    /// be tried, the write is answered if one of them is there, and the others are tried again in
    /// spare time.
    pub(super) fn foreground_done(
        &mut self,
        key: usize,
        ended: &Underway,
        done: &DriveDone,
        out: &mut Plan,
    ) {
        let writing = &mut self.writes[key];
        let bit = 1 << ended.first.copy();
        match done.status.is_done() {
            true => writing.done |= bit,
            false => writing.failed |= bit,
        }
        let Writing { left, failed, .. } = *writing;
        let landed = writing.done;
        if !done.status.is_done() {
            // After a power cut another copy is taken.
            for chunk in ended.first.chunk().run(ended.chunks) {
                let left = self.left(chunk, self.all);
                let buffered = self.is_buffered(chunk);
                self.change(chunk, |state| {
                    state.unbuffered |= !buffered;
                    if done.status != Status::Failed(Failure::Medium) {
                        state.torn |= bit & state.current;
                    }
                    state.fail(bit, left);
                });
                self.strike(chunk, bit);
            }
        }
        let wanted = self.wanted(ended.first.chunk());
        let landed = self.left(ended.first.chunk(), landed);
        let others = match left == 1 && failed != 0 && landed.count_ones() < wanted {
            true => self.all & !(failed | landed) & !self.flying(ended),
            false => 0,
        };
        let mut others = self.left(ended.first.chunk(), others);
        // It has reached no drive that is left: it waits for the copies that are being written
        // there.
        if others == 0 && left == 1 && landed == 0 {
            others = self.left(ended.first.chunk(), self.flying(ended) & !failed);
        }
        if others != 0 {
            let piece = self.piece(ended, done, others);
            let step = self.alternatives(&piece, Op::Write, ended.part, out);
            repeat_from(step, out);
            self.start_later(key, others, step.0..out.steps.len() as u32, out);
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
        let chunks = ended.first.chunk().run(ended.chunks);
        chunks.fold(0, |flying, chunk| flying | self.state(chunk).flying)
    }
}
