//! Copies that are written in spare time.

use super::unsettled::{Copies, Unsettled, lowest, members};
use super::{
    Apart, Chunk, CopyOf, FixedCopies, Layout, Part, Piece, RUN_MAX, Reading, Underway, follow,
};
use crate::ids::DriveId;
use crate::op::Op;
use crate::place::delayed::{Pushed, TRIES};
use crate::plan::Plan;
use crate::units::Blocks;

impl<L: Layout> FixedCopies<L> {
    /// A drive has spare time: writes the delayed copies whose turn it is.
    pub(super) fn spend_spare_time(&mut self, drive: DriveId, out: &mut Plan) {
        while let Some(first) = self.delayed.pop(drive) {
            if !self.is_due(first) {
                continue;
            }
            let mut chunks = 1;
            while let Some(next) = self.delayed.first(drive)
                && chunks < RUN_MAX
                && next.copy() == first.copy()
                && next.chunk() == first.chunk().plus(chunks)
                && self.follows(next.chunk())
                && self.is_due(next)
                && self.same_source(first.chunk(), next.chunk())
            {
                self.delayed.pop(drive);
                chunks += 1;
            }
            return self.propagate(first, chunks, out);
        }
    }

    /// A delayed write has ended, or never started. If a block of one of several chunks could not
    /// be read or written, each is tried alone (`apart`): the others need not stay stale for it.
    pub(super) fn delayed_ended(
        &mut self,
        ended: &Underway,
        done: bool,
        apart: bool,
        out: &mut Plan,
    ) {
        let Underway { first, chunks, .. } = *ended;
        let alone = apart && chunks > 1;
        for chunk in first.chunk().run(chunks) {
            let state = self.state(chunk);
            // While a request writes the chunk, no copy of what was there before is of use.
            if alone && !state.writing && state.spoiled >> first.copy() & 1 == 0 {
                self.propagate(CopyOf::new(chunk, first.copy()), 1, out);
                continue;
            }
            let is_forced = self.must_force(chunk);
            self.delayed_done(CopyOf::new(chunk, first.copy()), is_forced, done, out);
            self.heal_flawed(chunk, out);
            match done {
                true if is_forced => self.note_forced(chunk, 1 << first.copy()),
                true => self.note_cached(chunk, 1 << first.copy(), out),
                false => {}
            }
        }
    }

    /// Whether copies of a chunk are forced to the medium, where caches lose something: after a power
    /// cut one that will do has something else there until then, and another cut must not bring that
    /// back when a client has read of the cached one.
    fn must_force(&self, chunk: Chunk) -> bool {
        self.caches.is_some() && self.state(chunk).candidates != 0
    }

    /// A copy of some chunks could not be written, and perhaps cannot be read any more: after a power
    /// cut it does not do, if another one does.
    pub(super) fn write_failed(&mut self, ended: &Underway) {
        if self.undecided == 0 {
            return;
        }
        let bit = 1 << ended.first.copy();
        for chunk in ended.first.chunk().run(ended.chunks) {
            let others = self.left(chunk, self.state(chunk).candidates & !bit);
            if others != 0 {
                self.change(chunk, |state| state.candidates &= !bit);
            }
        }
    }

    fn delayed_done(&mut self, of: CopyOf, is_forced: bool, done: bool, out: &mut Plan) {
        let (chunk, copy) = (of.chunk(), of.copy());
        let bit = 1 << copy;
        let before = self.state(chunk);
        let spoiled = before.spoiled & bit != 0;
        let cached = self.cached_of(if is_forced { 0 } else { bit });
        let left = self.left(chunk, self.all);
        // A read under way may bring what the current copy has: then no other one may be taken.
        let is_of_use = done && !spoiled;
        let is_open =
            before.candidates != 0 && !self.is_read(chunk) && !self.is_awaited(chunk, copy);
        let state = self.change(chunk, |state| {
            state.flying &= !bit;
            state.spoiled &= !bit;
            if is_of_use {
                // A write may have failed on drives that are gone since this one began: then they
                // have something else.
                if left & bit != 0 {
                    state.current &= left;
                }
                state.current |= bit;
                state.failures = 0;
                state.suspect &= !bit;
                state.cached |= cached;
            }
            if !done {
                state.distrust(bit, left);
            }
            if is_open && !is_of_use {
                state.take_candidate(left);
            }
        });
        if !done {
            self.strike(chunk, bit);
        }
        let again = spoiled && state.stale(left & bit) != 0 && self.has_source(&state);
        let waits = (before.waiter).is_some_and(|key| self.waits_on(key, &state, again));
        if let Some(key) = before.waiter.filter(|_| !waits) {
            self.change(chunk, |state| state.waiter = None);
            self.chunks_ready(key as usize, 1, out);
        }
        // The copy that was to be taken cannot be read: another one is, or that is tried again.
        if spoiled && before.candidates != 0 && !state.writing {
            self.delay(chunk, self.all, out);
        }
        self.read_now(chunk, out);
        // A copy that could not be written stays stale, unless it is the candidate that was taken.
        if spoiled && !state.writing {
            match waits && self.is_due(of) {
                true => self.propagate(of, 1, out),
                false => self.delay(chunk, bit, out),
            }
        }
        if !done && !spoiled {
            self.try_again(chunk, bit, out);
        }
        self.forget_buffer(chunk);
        self.trust_again(chunk, out);
    }

    /// Whether a write still waits for copies of a chunk. If it is done, it does as long as a copy
    /// comes, perhaps as one is written `again`: none does that cannot be written, or whose drive
    /// is gone. If it has not begun, it waits until none is being written.
    fn waits_on(&self, key: u32, state: &Unsettled, again: bool) -> bool {
        let flies = state.flying & self.left(state.chunk, self.all) != 0;
        match self.writes[key as usize].begun {
            true => (flies || again) && !self.has_enough(state),
            false => flies,
        }
    }

    /// A copy could not be written: it is tried again, so often.
    fn try_again(&mut self, chunk: Chunk, copy: Copies, out: &mut Plan) {
        let state = self.state(chunk);
        let is_left = self.left(chunk, copy) != 0;
        if is_left && !state.writing && state.failures + 1 < TRIES {
            self.change(chunk, |state| state.failures += 1);
            self.delay(chunk, copy, out);
        }
    }

    /// The buffer has no chunk any more of which no copy is delayed: whoever writes another copy
    /// reads one first.
    pub(super) fn forget_buffer(&mut self, chunk: Chunk) {
        let state = self.state(chunk);
        let stale = self.all & !state.current;
        if stale != 0 && !state.unbuffered && !self.is_delayed(chunk, stale) {
            self.change(chunk, |state| state.unbuffered = true);
        }
    }

    /// Those of these copies that are stale are to be written in spare time. Where none may wait, they
    /// are written at once, if there is something to be written: a copy that is being written may
    /// be taken when that has ended, and all others are to be written then.
    pub(super) fn delay(&mut self, chunk: Chunk, copies: Copies, out: &mut Plan) {
        for copy in members(self.state(chunk).stale(copies)) {
            let of = CopyOf::new(chunk, copy);
            let (drive, _) = self.layout.place(of);
            if self.gone.has(drive) {
                continue;
            }
            match self.delayed.delay(drive, of, self.turn(chunk)) {
                Pushed::Queued => out.wake.push(drive),
                Pushed::Already => {}
                Pushed::Full if self.has_data(&self.state(chunk)) => self.propagate(of, 1, out),
                Pushed::Full => {}
            }
        }
    }

    /// Whether a delayed copy still has to be written.
    pub(super) fn is_due(&self, of: CopyOf) -> bool {
        let state = self.state(of.chunk());
        !state.writing && self.has_data(&state) && state.stale(1 << of.copy()) != 0
    }

    /// Whether the buffer has the newest data of a chunk, or a drive that is left.
    pub(super) fn has_source(&self, state: &Unsettled) -> bool {
        !state.unbuffered || !self.is_lost(state)
    }

    /// Whether a copy may be written from there now. If not, all are when one has been written that is
    /// taken then.
    fn has_data(&self, state: &Unsettled) -> bool {
        self.has_source(state) && !(state.unbuffered && state.awaits_candidate())
    }

    /// Writes one copy of chunks whose data are in the same place.
    pub(super) fn propagate(&mut self, first: CopyOf, chunks: u32, out: &mut Plan) {
        let Unsettled {
            current,
            unbuffered,
            ..
        } = self.state(first.chunk());
        let current = self.left_or_all(first.chunk(), current);
        for chunk in first.chunk().run(chunks) {
            self.change(chunk, |state| state.flying |= 1 << first.copy());
        }
        let piece = Piece {
            first: first.chunk(),
            chunks,
            from: Blocks(0),
            len: Blocks(u64::from(chunks) * self.layout.chunk().0),
            copies: 0,
        };
        let delayed = Part::Delayed(Apart::Tried);
        let mut planned = self.planned(&piece, first.copy(), Op::Write, delayed);
        planned.awaited = false;
        let mut run = first.chunk().run(chunks);
        planned.fua = run.any(|chunk| self.must_force(chunk));
        let mut after = None;
        if unbuffered {
            let source = Piece {
                copies: lowest(current),
                ..piece
            };
            let part = Part::ReadAgain(planned.tag.0 as usize, Reading::default());
            after = Some(self.alternatives(&source, Op::Read, part, out));
        }
        let write = out.io(planned);
        follow(after, write.0..write.0 + 1, out);
    }

    /// Whether two chunks' delayed copies get their data from the same place: the buffer, or one
    /// copy.
    fn same_source(&self, one: Chunk, other: Chunk) -> bool {
        let source = |chunk| {
            let state = self.state(chunk);
            let current = self.left_or_all(chunk, state.current);
            state.unbuffered.then_some(current.trailing_zeros())
        };
        source(one) == source(other)
    }
}
