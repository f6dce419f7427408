//! Writes that a request waits for.

use std::ops::Range;

use super::unsettled::{Copies, Unsettled, members};
use super::{Chunk, CopyOf, FixedCopies, Layout, Part, Piece, Reading, Writing, follow};
use crate::contract::Drives;
use crate::op::Op;
use crate::place::choice;
use crate::plan::{Plan, StepIndex};
use crate::request::Request;
use crate::units::{Blocks, Instant};

impl<L: Layout> FixedCopies<L> {
    pub(super) fn plan_write(
        &mut self,
        now: Instant,
        request: &Request,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let size = self.layout.chunk();
        let apart = self.ends_need_rest(request);
        let cut = self.cut(request, apart, Self::to_write);
        for piece in &cut {
            let mut piece = *piece;
            let (mut after, mut wanted) = (None, self.wanted(piece.first));
            let is_part = piece.covers_a_part(size);
            let state = self.state(piece.first);
            if is_part && apart && self.needs_rest(&state, request.fua) {
                let part = Part::Read(Reading {
                    written: (piece.from.0, piece.from.0 + piece.len.0),
                    ..Reading::default()
                });
                (piece.from, piece.len) = (Blocks(0), size);
                let copies = self.left_or_all(piece.first, state.current);
                let rest = Piece { copies, ..piece };
                after = Some(self.either(now, &rest, Op::Read, part, drives, out));
            } else if is_part {
                wanted = wanted.max(piece.copies.count_ones());
            }
            self.write(now, (&piece, wanted, request.fua), after, drives, out);
        }
        self.pieces = cut;
    }

    /// The copies of a chunk that a write goes to: those that are left and are not being written in
    /// spare time. If all that are left are, these: it starts when that has ended.
    fn to_write(&self, state: &Unsettled) -> Copies {
        let rest = self.all & !state.flying;
        match [rest, state.flying].map(|copies| self.left(state.chunk, copies)) {
            [0, 0] => rest,
            [0, flying] => flying,
            [rest, _] => rest,
        }
    }

    /// Whether the rest is needed of a chunk in which a request begins or ends.
    fn ends_need_rest(&self, request: &Request) -> bool {
        let size = self.layout.chunk().0;
        let ends = [request.extent.start.0, request.extent.end().0];
        let within = ends.into_iter().filter(|end| !end.is_multiple_of(size));
        let mut chunks = within.map(|block| Chunk(block / size));
        chunks.any(|chunk| self.needs_rest(&self.state(chunk), request.fua))
    }

    /// Whether a write of a part of a chunk needs the rest, so that the chunk is written as a
    /// whole: some copies have older data. If it is forced, also if there are cached ones: the part
    /// would be on the medium of these copies, and the rest perhaps on that of others alone.
    fn needs_rest(&self, state: &Unsettled, forced: bool) -> bool {
        let left = self.left(state.chunk, self.all);
        state.current & left != left || forced && state.cached & left != 0
    }

    /// Copies of a chunk that a write waits for: as many as there are, if drives are gone.
    pub(super) fn wanted(&self, chunk: Chunk) -> u32 {
        let left = self.left_or_all(chunk, self.all).count_ones();
        self.foreground.min(left)
    }

    /// Whether a write of a chunk need not wait for more copies.
    pub(super) fn has_enough(&self, state: &Unsettled) -> bool {
        let current = self.left(state.chunk, state.current).count_ones();
        current >= self.wanted(state.chunk)
    }

    /// The foreground writes of a piece, of so many copies if there are as many, which are `forced`
    /// to the medium if the request asks for that.
    fn write(
        &mut self,
        now: Instant,
        (piece, wanted, forced): (&Piece, u32, bool),
        after: Option<StepIndex>,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let foreground = wanted.min(piece.copies.count_ones());
        let short = foreground < wanted;
        let size = self.layout.chunk().0;
        let end = piece.from.0 + piece.len.0;
        let key = self.writes.insert(Writing {
            first: piece.first,
            chunks: piece.chunks,
            left: foreground,
            done: 0,
            failed: 0,
            forced,
            short,
            partial: [piece.from.0 > 0, end < u64::from(piece.chunks) * size],
            begun: true,
            unready: 0,
        });
        if short {
            out.gate(Writing::answer(key));
        }
        for chunk in piece.first.run(piece.chunks) {
            self.change(chunk, |state| state.writing = true);
        }
        let first = out.steps.len() as u32;
        match wanted {
            1 => _ = self.either(now, piece, Op::Write, Part::Foreground(key), drives, out),
            _ => self.write_several(now, piece, (key, foreground), drives, out),
        }
        let writes = first..out.steps.len() as u32;
        follow(after, writes.clone(), out);
        // Else one copy is current, and the write goes to that.
        if self.gone.any() {
            self.start_later(key, piece.copies, writes, out);
        }
    }

    /// Writes so many copies of a piece: on idle drives the nearest, then where the queue is
    /// shortest.
    fn write_several(
        &mut self,
        now: Instant,
        piece: &Piece,
        (key, foreground): (usize, u32),
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let mut left = *piece;
        for _ in 0..foreground {
            let places = |copies| self.places(piece.first, copies);
            let idle = places(left.copies).map(|(_, drive, at)| (drive, at));
            let index = choice::nearest_idle(now, (Op::Write, piece.len), drives, idle);
            let shortest = || {
                let waiting = places(left.copies).map(|(_, drive, _)| drives.waiting(drive));
                waiting.enumerate().min_by_key(|(_, waiting)| *waiting)
            };
            let index = index.or_else(|| shortest().map(|(index, _)| index));
            let index = index.expect("there are that many copies");
            let (copy, ..) = places(left.copies).nth(index).expect("it is one of them");
            left.copies &= !(1 << copy);
            let planned = self.planned(piece, copy, Op::Write, Part::Foreground(key));
            out.io(planned);
        }
    }

    /// These steps are the writes of copies of which some are being written in spare time: they
    /// start when that has ended.
    pub(super) fn start_later(
        &mut self,
        key: usize,
        copies: Copies,
        writes: Range<u32>,
        out: &mut Plan,
    ) {
        let Writing { first, chunks, .. } = self.writes[key];
        let flies = |chunk: &Chunk| self.state(*chunk).flying & copies != 0;
        let flying: Vec<Chunk> = first.run(chunks).filter(flies).collect();
        if flying.is_empty() {
            return;
        }
        let writing = &mut self.writes[key];
        (writing.begun, writing.unready) = (false, flying.len() as u32);
        for chunk in flying {
            self.change(chunk, |state| state.waiter = Some(key as u32));
        }
        let gate = out.gate(Writing::start(key));
        writes.for_each(|write| out.after(gate, StepIndex(write)));
    }

    /// A foreground write of a copy has ended, or never started.
    pub(super) fn foreground_ended(&mut self, key: usize, out: &mut Plan) {
        let writing = &mut self.writes[key];
        writing.left -= 1;
        if writing.left > 0 {
            return;
        }
        let Writing {
            first,
            chunks,
            mut done,
            mut failed,
            forced,
            short,
            ..
        } = self.writes[key];
        // It is not answered as done if only drives have it that are gone.
        if failed != 0 && self.left(first, done) == 0 {
            failed |= std::mem::take(&mut done);
        }
        let cached = if forced { 0 } else { self.cached_of(done) };
        for chunk in first.run(chunks) {
            let partial = self.writes[key].is_partial(chunk);
            let on_left = self.left(chunk, self.all);
            let still_cached = self.still_cached(chunk, self.state(chunk).torn);
            let state = self.change(chunk, |state| {
                state.writing = false;
                if done != 0 {
                    state.current = done;
                    state.failures = 0;
                    (state.suspect, state.flawed) = (0, 0);
                    state.candidates = 0;
                    state.cached = cached;
                    state.spoiled = state.flying;
                    state.unbuffered = partial;
                } else if failed != 0 {
                    state.tear(failed, on_left);
                    state.cached |= still_cached & state.current;
                }
                state.torn = 0;
                state.fail(failed, on_left);
            });
            self.strike(chunk, failed);
            // Behind the change, as a flush that begins here covers what is current.
            match forced {
                true => self.note_forced(chunk, done),
                false => self.note_cached(chunk, done, out),
            }
            let stale = state.stale(self.all);
            let comes = self.left(chunk, stale | state.flying) != 0;
            match short && done != 0 && comes && !self.has_enough(&state) {
                true => self.await_copies(chunk, key, stale, out),
                false => self.delay(chunk, stale, out),
            }
            self.forget_buffer(chunk);
            self.trust_again(chunk, out);
        }
        self.chunks_ready(key, 0, out);
    }

    /// A write that is done has too few current copies of a chunk: the stale ones are written at
    /// once, and it waits for them.
    fn await_copies(&mut self, chunk: Chunk, key: usize, stale: Copies, out: &mut Plan) {
        self.writes[key].unready += 1;
        self.change(chunk, |state| state.waiter = Some(key as u32));
        for copy in members(self.left(chunk, stale)) {
            self.propagate(CopyOf::new(chunk, copy), 1, out);
        }
    }

    /// A write need not wait for so many chunks any more. With the last of them it may start, or be
    /// answered if it is done.
    pub(super) fn chunks_ready(&mut self, key: usize, chunks: u32, out: &mut Plan) {
        let writing = &mut self.writes[key];
        writing.unready -= chunks;
        if writing.unready > 0 {
            return;
        }
        if !writing.begun {
            writing.begun = true;
            return out.open(Writing::start(key));
        }
        if self.writes.remove(key).short {
            out.open(Writing::answer(key));
        }
    }
}
