//! How a write changes a stripe: which I/Os, and what its parity is computed from.
//!
//! With `k` of `n` data strips written, `partial` of them only in some of the rows that are written
//! at all, *read-modify-write* takes `2k + 2` I/Os and *reconstruct-write* `n + partial + 1`. The
//! fewer the better; of equals the second, as it does not write where it has just read, which costs
//! a turn of the platter. If all strips are covered, the second one reads nothing.
//!
//! **A write that crosses from one strip to the next** changes rows at the end of the one and at
//! the begin of the other. Where the rows between pass under the head in a quarter of a turn or
//! less, its parity is one I/O from the first row to the last: that is about what one I/O more
//! costs, less under SATF and more under FCFS (`docs/design/0022-raid5.md`). Where there are more,
//! or nothing turns, the two ends are written each by itself, with a parity of its own rows.
//!
//! All reads come before the first write. Where the new parity cannot be known, nothing is written:
//! the stripe stays as it was. Of two ends that are written each by itself this holds for each.
//!
//! **Where something is bad**, rows are written in parts: in each, a strip is written as a whole or
//! not at all, and bad or not.
//!
//! | Parity | Bad, and not written | Bad, and written | How |
//! |---|---|---|---|
//! | good | - | - | the cheaper |
//! | good | - | one or more | reconstruct: one whose drive is gone is told by the parity alone |
//! | good | one or more | - | read-modify: what the parity tells of the bad ones stays |
//! | good | one or more | one or more | without parity: it tells neither of them any more, so it is bad from now on |
//! | bad, or gone | | | without parity; if it is not gone, and what is not written is good, reconstruct |
//!
//! That is looked up when the turn of a write comes. One that has to wait may have been planned by
//! what was bad before: the first of its reads to end asks again, and one without parity reads
//! something first in order to ask then.
//!
//! What is written to two drives that are gone, or to one without a parity, is lost: the request
//! fails.

use super::attempts::{Attempt, How, Writes};
use super::geometry::{Piece, Rows, Stripe};
use super::seats::Seat;
use super::{Job, Raid5, Role, Turn};
use crate::io::DriveDone;
use crate::maplog::rows::Kind;
use crate::op::{Failure, Op};
use crate::plan::{Instead, Parity, Plan, StepIndex};
use crate::request::Request;
use crate::units::Blocks;

/// The cheaper way to write these pieces, one of a strip at most, of stripes with so many strips of
/// data; and how many I/Os it takes.
pub(super) fn cheapest(data: u64, pieces: &[Piece]) -> (How, u64) {
    let rows = hull(pieces);
    let written = pieces.len() as u64;
    let partial = pieces.iter().filter(|piece| piece.rows != rows).count() as u64;
    let (modify, reconstruct) = (2 * written + 2, data + partial + 1);
    match modify < reconstruct {
        true => (How::Modify, modify),
        false => (How::Reconstruct, reconstruct),
    }
}

/// The rows of all pieces and those between.
pub(super) fn hull(pieces: &[Piece]) -> Rows {
    let first = pieces[0].rows;
    let all = pieces.iter().map(|piece| piece.rows);
    all.fold(first, |hull, rows| hull.hull(&rows))
}

/// How many rows a write leaves between its two ends, if it crosses from one strip to the next and
/// covers neither.
fn between(pieces: &[Piece]) -> Blocks {
    match pieces {
        [end, begin] => Blocks(end.rows.from.saturating_sub(begin.rows.to)),
        _ => Blocks(0),
    }
}

impl Raid5 {
    pub(super) fn plan_write(&mut self, request: &Request, out: &mut Plan) {
        let mut pieces = std::mem::take(&mut self.pieces);
        for number in self.geometry.stripes(&request.extent) {
            let stripe = self.geometry.stripe(number);
            pieces.clear();
            pieces.extend(self.geometry.pieces(&stripe, &request.extent));
            let turn = self.turn(stripe, hull(&pieces), request.extent, out);
            if self.is_sound(&stripe, &hull(&pieces)) {
                let together = match between(&pieces) > self.quarter_turn {
                    true => 1,
                    false => pieces.len(),
                };
                for pieces in pieces.chunks(together) {
                    let how = self.cheapest_that_works(&stripe, pieces);
                    self.write(&turn, pieces, how, out);
                }
            } else {
                self.write_in_parts(&turn, &pieces, out);
            }
            self.end_if_over(turn.work, out);
        }
        self.pieces = pieces;
        if self.written.is_flush_due() {
            self.flush_drives(true, out);
        }
    }

    /// The cheaper way, unless a write has failed for that: then the other one, if it needs nothing
    /// of the kind.
    fn cheapest_that_works(&self, stripe: &Stripe, pieces: &[Piece]) -> How {
        let (how, _) = cheapest(self.geometry.data, pieces);
        if !self.doubtful.any() {
            return how;
        }
        let all = hull(pieces);
        let doubtful = |member: u64, rows: &Rows| {
            let (seat, at) = (stripe.seat(member), stripe.at(rows.from));
            self.doubtful.has(seat, at, rows.len())
        };
        let covers = |member| move |piece: &Piece| piece.member == member && piece.rows == all;
        let left = |member: &u64| !pieces.iter().any(covers(*member));
        let mut rest = (0..stripe.parity()).filter(left);
        let mut old = pieces.iter().map(|piece| (piece.member, piece.rows));
        let modifies = !old.any(|(member, rows)| doubtful(member, &rows));
        match modifies && !doubtful(stripe.parity(), &all) {
            false if !rest.any(|member| doubtful(member, &all)) => How::Reconstruct,
            _ => how,
        }
    }

    /// Whether nothing is bad in these rows.
    fn is_sound(&self, stripe: &Stripe, rows: &Rows) -> bool {
        let mut members = 0..=stripe.parity();
        !self.bad.any() || !members.any(|member| self.is_bad(stripe, member, rows))
    }

    /// A way to write some rows has led nowhere: more is known to be bad now, and they are written
    /// in another way, in parts.
    pub(super) fn write_anew(&mut self, job: &Job, out: &mut Plan) -> Instead {
        let Attempt {
            work, rows, writes, ..
        } = *self.attempts.attempt(job.attempt);
        let Writes { extent, .. } = writes.expect("it writes");
        // What it has under way may still write back what it computes.
        let gate = self.attempts.replace(job.attempt).map(|tag| out.gate(tag));
        let stripe = job.stripe;
        let turn = Turn {
            stripe,
            work,
            gate,
            waits: false,
            extent,
        };
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        let all = self.geometry.pieces(&stripe, &extent);
        pieces.extend(all.filter_map(|piece| piece.within(&rows)));
        self.write_in_parts(&turn, &pieces, out);
        self.pieces = pieces;
        Instead::Anew
    }

    fn write_in_parts(&mut self, turn: &Turn, pieces: &[Piece], out: &mut Plan) {
        self.cuts.clear();
        self.cut(&turn.stripe, &hull(pieces));
        for piece in pieces {
            self.cuts.extend([piece.rows.from, piece.rows.to]);
        }
        self.cuts.sort_unstable();
        self.cuts.dedup();
        let mut within = std::mem::take(&mut self.within);
        while let Some(rows) = self.next_part() {
            within.clear();
            within.extend(pieces.iter().filter_map(|piece| piece.within(&rows)));
            if !within.is_empty() {
                self.write_part(turn, &within, out);
            }
        }
        self.within = within;
    }

    /// Rows in which each strip is written as a whole or not at all, and bad or not.
    fn write_part(&mut self, turn: &Turn, pieces: &[Piece], out: &mut Plan) {
        let (stripe, rows) = (&turn.stripe, hull(pieces));
        let parity = stripe.parity();
        let bad = |member: u64| self.is_bad(stripe, member, &rows);
        let gone = |member: u64| self.seats.is_vacant(stripe.seat(member));
        let is_written = |member: &u64| pieces.iter().any(|piece| piece.member == *member);
        let left = (0..parity).any(|member| !is_written(&member) && bad(member));
        let written = (0..parity).any(|member| is_written(&member) && bad(member));
        let away = (0..parity).filter(|member| is_written(member) && gone(*member));
        let how = match (bad(parity), left, written) {
            (false, false, false) => self.cheapest_that_works(stripe, pieces),
            (false, false, true) => How::Reconstruct,
            (false, true, false) => How::Modify,
            (true, false, _) if !gone(parity) => How::Reconstruct,
            (false, true, true) | (true, ..) => How::Bare,
        };
        let told = usize::from(how != How::Bare);
        if turn.waits && how == How::Bare {
            let mut members = pieces.iter().map(|piece| piece.member).chain(0..=parity);
            if let Some(member) = members.find(|member| !gone(*member)) {
                self.write_later(turn, (member, rows), out);
                return;
            }
        }
        if away.count() > told {
            self.counts.lost += 1;
            out.failure = Some(Failure::Gone);
            return;
        }
        if how == How::Bare && !bad(parity) {
            let at = stripe.at(rows.from);
            self.mark(stripe.seat(parity), at, rows.len(), Kind::Bad);
        }
        self.write(turn, pieces, how, out);
    }

    /// A way to write these rows.
    fn way(&mut self, turn: &Turn, rows: Rows, how: How) -> Job {
        let writes = Writes {
            extent: turn.extent,
            how,
            was_sound: self.is_sound(&turn.stripe, &rows),
            early: turn.waits,
        };
        Job {
            stripe: turn.stripe,
            attempt: self.attempts.begin(turn.work, rows, Some(writes)),
            gate: turn.gate,
        }
    }

    /// Chooses how to write these rows when a read of them ends, whatever that brings.
    fn write_later(&mut self, turn: &Turn, (member, rows): (u64, Rows), out: &mut Plan) {
        let job = &self.way(turn, rows, How::Later);
        let read = self.io(job, Op::Read, (member, rows), Role::Old);
        self.add(job, read, out);
    }

    /// Whether what a way goes by is not so any more.
    fn is_outdated(&self, stripe: &Stripe, rows: &Rows, writes: &Writes) -> bool {
        let written = |member: u64| {
            let of_extent = self.geometry.pieces(stripe, &writes.extent);
            let mut pieces = of_extent.filter_map(|piece| piece.within(rows));
            pieces.find(|piece| piece.member == member)
        };
        let parity = stripe.parity();
        let needs = |member: u64| match writes.how {
            How::Modify => member == parity || written(member).is_some(),
            How::Reconstruct => {
                let is_covered = written(member).is_some_and(|piece| piece.rows == *rows);
                member != parity && !is_covered
            }
            How::Bare | How::Later => false,
        };
        let lacks = |member: u64| needs(member) && self.is_bad(stripe, member, rows);
        writes.how == How::Later || (self.bad.any() && (0..=parity).any(lacks))
    }

    /// A way of which the first read has ended, if it was chosen before its turn and does not hold
    /// any more.
    pub(super) fn outdated(
        &mut self,
        role: Role,
        attempt: Option<u32>,
        (seat, done): (Seat, &DriveDone),
    ) -> Option<Job> {
        let attempt = attempt.filter(|_| matches!(role, Role::Old | Role::Rest))?;
        let writes = self.attempts.looked_at(attempt)?;
        let stripe = self.geometry.stripe_at(seat, done.at);
        let rows = self.attempts.attempt(attempt).rows;
        let outdated = self.is_outdated(&stripe, &rows, &writes);
        outdated.then_some(Job {
            stripe,
            attempt,
            gate: None,
        })
    }

    /// Whether what an I/O of this role has written counts as good from then on. Where a power cut
    /// could take it, and nothing was bad when it was planned, it may not last: what became bad
    /// meanwhile stays so until a repair writes it for good.
    pub(super) fn lasts(&self, role: Role, attempt: Option<u32>) -> bool {
        let of = attempt.filter(|_| role == Role::Write && self.written.loses());
        let writes = of.and_then(|attempt| self.attempts.attempt(attempt).writes);
        writes.is_none_or(|writes| !writes.was_sound)
    }

    /// Writes pieces and the parity of their rows.
    fn write(&mut self, turn: &Turn, pieces: &[Piece], how: How, out: &mut Plan) {
        let rows = hull(pieces);
        let job = &self.way(turn, rows, how);
        let parity = match how {
            How::Bare => None,
            _ => Some(self.new_parity(job, pieces, how, out)),
        };
        self.counts.bare += u64::from(how == How::Bare);
        for piece in pieces {
            if self.seats.is_vacant(job.stripe.seat(piece.member)) {
                continue;
            }
            let mut write = self.io(job, Op::Write, (piece.member, piece.rows), Role::Write);
            let Piece { member, rows } = *piece;
            write.data = Some(self.geometry.data(&job.stripe, member, rows.from));
            write.fua = self.has_to_last(job, member, &rows);
            let write = self.add(job, write, out);
            // Where the parity cannot be known, nothing is written.
            if let Some(parity) = parity {
                out.after(parity, write);
            }
        }
        if let Some(parity) = parity {
            let of = (job.stripe.parity(), rows);
            let mut write = self.io(job, Op::Write, of, Role::Write);
            write.parity = Some(parity);
            write.fua = self.has_to_last(job, of.0, &rows);
            let write = self.add(job, write, out);
            out.after(parity, write);
        }
    }

    /// Whether a write ends only when a power cut cannot take it: where blocks are bad they count
    /// as good from then on. What is good now may be bad when its turn comes.
    fn has_to_last(&self, job: &Job, member: u64, rows: &Rows) -> bool {
        if !self.written.loses() || !self.bad.any() {
            return false;
        }
        let writes = self.attempts.attempt(job.attempt).writes;
        let may_become_bad = writes.is_some_and(|writes| writes.early && !writes.was_sound);
        may_become_bad || self.is_bad(&job.stripe, member, rows)
    }

    /// The parity of the rows of pieces, once they are written.
    fn new_parity(&mut self, job: &Job, pieces: &[Piece], how: How, out: &mut Plan) -> StepIndex {
        let rows = hull(pieces);
        let of_piece = |piece: &Piece| {
            let data = self
                .geometry
                .data(&job.stripe, piece.member, piece.rows.from);
            Parity {
                written: Some(data),
                data: None,
                len: piece.rows.len(),
                awaited: false,
            }
        };
        // Mostly it is one.
        let only = pieces.len() == 1;
        let parity = out.parity(Parity {
            written: only.then(|| of_piece(&pieces[0]).written).flatten(),
            data: None,
            len: rows.len(),
            awaited: false,
        });
        if !only {
            for piece in pieces {
                let part = out.parity(of_piece(piece));
                out.fold(part, parity, Blocks(piece.rows.from - rows.from));
            }
        }
        match how {
            How::Modify => {
                for piece in pieces {
                    self.take_in(
                        job,
                        (piece.member, piece.rows),
                        Role::Old,
                        (parity, rows),
                        out,
                    );
                }
                let of = (job.stripe.parity(), rows);
                self.take_in(job, of, Role::Old, (parity, rows), out);
                self.counts.modified += 1;
            }
            _ => {
                let reads = self.take_in_rest(job, pieces, (parity, rows), out);
                self.counts.reconstructed += u64::from(reads > 0);
                self.counts.full += u64::from(reads == 0);
            }
        }
        parity
    }

    /// What pieces leave of their rows goes into a parity. How many reads that takes.
    fn take_in_rest(
        &mut self,
        job: &Job,
        pieces: &[Piece],
        (parity, rows): (StepIndex, Rows),
        out: &mut Plan,
    ) -> u64 {
        let mut reads = 0;
        for member in 0..self.geometry.data {
            let piece = pieces.iter().find(|piece| piece.member == member);
            // Of a request that begins or ends in a strip it leaves one of the two.
            let rests = match piece {
                None => [Some(rows), None],
                Some(piece) => {
                    let (from, to) = (piece.rows.to, piece.rows.from);
                    [Rows { to, ..rows }, Rows { from, ..rows }].map(|rest| rest.within(&rows))
                }
            };
            for rest in rests.into_iter().flatten() {
                self.take_in(job, (member, rest), Role::Rest, (parity, rows), out);
                reads += 1;
            }
        }
        reads
    }

    /// What a read of a member brings goes into the parity of these rows.
    pub(super) fn take_in(
        &mut self,
        job: &Job,
        (member, rows): (u64, Rows),
        role: Role,
        (parity, of): (StepIndex, Rows),
        out: &mut Plan,
    ) {
        let read = self.io(job, Op::Read, (member, rows), role);
        let read = self.add(job, read, out);
        out.fold(read, parity, Blocks(rows.from - of.from));
    }
}
