//! Drives that are gone: what is elsewhere too is neither read nor written there any more.
//!
//! What a copy there has stays as it was: it is current until its chunk is written, or another copy
//! of it in spare time, and stale from then on, as its entry in NVRAM says. So after a power cut
//! nobody takes it for the newest, should the drive be back. An entry for each chunk that was
//! written since stays in the table. A write that failed on such drives alone has changed nothing
//! elsewhere: a copy that is being written then has what is read from then on.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::unsettled::{Copies, Unsettled, members};
use super::{Chunk, CopyOf, FixedCopies, Layout};
use crate::contract::FewCopies;
use crate::ids::DriveId;
use crate::place::delayed::Turn;
use crate::place::striping::Striping;
use crate::plan::Plan;

impl<L: Layout> FixedCopies<L> {
    /// Drives that each chunk is on, but for one. All chunks are alike in that.
    pub(super) fn losable(&self) -> u16 {
        let drive = |copy| self.layout.place(CopyOf::new(Chunk(0), copy)).0;
        let drives: BTreeSet<DriveId> = members(self.all).map(drive).collect();
        drives.len() as u16 - 1
    }

    /// Of these copies of a chunk, those whose drives are not gone.
    pub(super) fn left(&self, chunk: Chunk, copies: Copies) -> Copies {
        if !self.gone.any() {
            return copies;
        }
        let on_one_that_is_left = |copy: &u8| {
            let (drive, _) = self.layout.place(CopyOf::new(chunk, *copy));
            !self.gone.has(drive)
        };
        let left = members(copies).filter(on_one_that_is_left);
        left.fold(0, |left, copy| left | 1 << copy)
    }

    /// The same, or all if no other will do: then the drive is asked, and says that it is gone.
    pub(super) fn left_or_all(&self, chunk: Chunk, copies: Copies) -> Copies {
        match self.left(chunk, copies) {
            0 => copies,
            left => left,
        }
    }

    /// Whether the newest data of a chunk are on drives that are gone alone.
    pub(super) fn is_lost(&self, state: &Unsettled) -> bool {
        self.left(state.chunk, state.current) == 0
    }

    /// Chunks with few good copies. All chunks of a column that are settled are alike in that, so
    /// O(columns and chunks that are not settled).
    pub(super) fn count_few(&self) -> FewCopies {
        let mut few = FewCopies {
            chunk: self.layout.chunk(),
            ..FewCopies::default()
        };
        let left = |chunk| self.left(chunk, self.all).count_ones() as usize;
        if self.gone.any() {
            for (first, chunks) in self.columns() {
                few.add(left(first), chunks);
            }
        }
        for state in self.unsettled.iter() {
            few.correct(left(state.chunk), self.good(state).count_ones() as usize);
        }
        few
    }

    /// The first chunk of each column that has one, and how many it has.
    fn columns(&self) -> impl Iterator<Item = (Chunk, u64)> {
        let Striping { columns, unit } = self.layout.striping();
        let unit = unit / self.layout.chunk().0;
        let (units, rest) = (self.layout.chunks() / unit, self.layout.chunks() % unit);
        let (rounds, last) = (units / columns, units % columns);
        let chunks = move |column: u64| match column.cmp(&last) {
            Ordering::Less => (rounds + 1) * unit,
            Ordering::Equal => rounds * unit + rest,
            Ordering::Greater => rounds * unit,
        };
        let all = (0..columns).map(move |column| (Chunk(column * unit), chunks(column)));
        all.filter(|(_, chunks)| *chunks > 0)
    }

    /// The copies of a chunk that have its newest data, or get them. What a write is to leave is
    /// not known before it has ended.
    fn good(&self, state: &Unsettled) -> Copies {
        let chunk = state.chunk;
        if state.writing {
            return self.left(chunk, self.all);
        }
        let waits = |copy: &u8| self.delayed.waits(CopyOf::new(chunk, *copy));
        let waiting = members(self.all).filter(waits);
        let coming = waiting.fold(state.flying, |coming, copy| coming | 1 << copy);
        let coming = if self.has_source(state) { coming } else { 0 };
        self.left(chunk, state.current | coming)
    }

    /// Whether some chunk is lost.
    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0 || self.column_is_lost
    }

    /// A drive is gone, as was just found out. Copies that wait for it stay stale.
    pub(super) fn leave_out(&mut self, drive: DriveId, out: &mut Plan) {
        let lost = self.unsettled.iter().filter(|one| self.is_lost(one));
        self.lost = lost.count();
        let unit = self.layout.striping().unit / self.layout.chunk().0;
        let first = (0..self.layout.chunks()).step_by(unit as usize);
        let mut columns = first
            .map(Chunk)
            .take(self.layout.striping().columns as usize);
        self.column_is_lost = columns.any(|chunk| self.left(chunk, self.all) == 0);
        while let Some(of) = self.delayed.pop(drive) {
            self.forget_buffer(of.chunk());
        }
        let lost = self.unsettled.iter().filter(|one| self.is_lost(one));
        let lost: Vec<Chunk> = lost.map(|one| one.chunk).collect();
        lost.into_iter()
            .for_each(|chunk| self.trust_again(chunk, out));
        if self.undecided == 0 {
            return;
        }
        let undecided = self.unsettled.iter().filter(|one| one.candidates != 0);
        let undecided: Vec<Chunk> = undecided.map(|one| one.chunk).collect();
        for chunk in undecided {
            self.take_one_that_is_left(chunk, out);
        }
    }

    /// What only drives that are gone have, and the buffer, is urgent from now on.
    pub(super) fn hurry(&mut self) {
        for drive in (0..self.layout.drives()).map(DriveId) {
            for of in self.delayed.take_all(drive) {
                let turn = self.turn(of.chunk());
                self.delayed.push(drive, of, turn);
            }
        }
    }

    /// When copies of a chunk are to be written that wait.
    pub(super) fn turn(&self, chunk: Chunk) -> Turn {
        if !self.gone.any() {
            return Turn::SpareTime;
        }
        let state = self.state(chunk);
        match !state.unbuffered && self.is_lost(&state) {
            true => Turn::Urgent,
            false => Turn::SpareTime,
        }
    }

    /// Whether a copy that waits is to be written at once, and can be.
    pub(super) fn can_hurry(&self, of: CopyOf) -> bool {
        self.turn(of.chunk()) == Turn::Urgent && self.is_due(of)
    }

    /// Drives write urgent copies. One that cannot be written now waits for spare time.
    pub(super) fn write_urgent(&mut self, out: &mut Plan) {
        if !self.delayed.any_urgent() {
            return;
        }
        for drive in (0..self.layout.drives()).map(DriveId) {
            while let Some(of) = self.delayed.first_urgent(drive) {
                if self.can_hurry(of) {
                    self.delayed.pop(drive);
                    self.propagate(of, 1, out);
                } else {
                    self.delayed.postpone(drive);
                }
            }
        }
    }

    /// If the newest data of a chunk are on drives that are gone alone: copies that were stale
    /// because of a failed read have them too, and are current again.
    pub(super) fn trust_again(&mut self, chunk: Chunk, out: &mut Plan) {
        let state = self.state(chunk);
        let again = self.left(chunk, state.suspect & !state.flying);
        if again == 0 || state.writing || !self.is_lost(&state) {
            return;
        }
        let cached = self.still_cached(chunk, again);
        self.change(chunk, |state| {
            state.current |= again;
            state.suspect &= !again;
            state.cached |= cached;
        });
        self.delay(chunk, self.all, out);
    }

    /// A power cut has left several copies of which any will do: one whose drive is not gone does,
    /// if nobody reads another one.
    pub(super) fn take_one_that_is_left(&mut self, chunk: Chunk, out: &mut Plan) {
        let candidates = self.state(chunk).candidates;
        let gone = candidates & !self.left(chunk, candidates);
        if gone == 0 || self.is_read(chunk) {
            return;
        }
        let left = self.left(chunk, self.all);
        let state = self.change(chunk, |state| state.fail(gone, left));
        if !state.writing {
            self.delay(chunk, self.all, out);
        }
    }
}
