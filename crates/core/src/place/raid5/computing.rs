//! Reads, what is computed where a drive does not tell it, and what a failure leads to.
//!
//! | What fails | What stands in for it |
//! |---|---|
//! | a read that meets a bad block, of more than a page | each of its pages, read alone |
//! | the same of a page or less, which the others do not tell | each of its blocks, read alone |
//! | a read of a client's | the exclusive or of the others of its rows, which is written back, and need not be waited for |
//! | one of these others | what was to be computed, each block read alone, if it is not known to be bad, or may have been written since; else nothing: its request fails |
//! | a read that a write needs | the same exclusive or; it is written back unless the write itself goes there |
//! | the same, and the others of its rows do not tell it | another way to write these rows, without what is bad (`writing`) |
//! | a write | the others of its rows, if none of them is bad; its blocks are bad from now on |
//! | a write of what was computed | nothing has to |
//!
//! A block that cannot be read, and that nothing stands in for, is known to be bad from then on.
//! Where two of its row are, what they had is lost, and `lost` says where that is.
//!
//! What is known to be bad is not asked for. Whoever has to wait for a stripe asks again when it
//! gets it: a source may be bad by then, and so may what a write goes by, or good again
//! (`is_outdated`). What is done in another way never starts, and what of it is
//! under way brings nothing any more (`attempts`).

use super::attempts::Attempt;
use super::geometry::{Piece, Rows, Stripe};
use super::seats::Seat;
use super::{Job, Raid5, Role, tag};
use crate::io::DriveDone;
use crate::maplog::rows::Kind;
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Parity, Plan, PlannedIo, StepIndex, Target};
use crate::request::Request;
use crate::units::Blocks;

/// What is tried alone when a longer read meets a bad block: 4 KiB.
pub(super) const PAGE: Blocks = Blocks(crate::pages::PAGE);

impl Raid5 {
    pub(super) fn plan_read(&mut self, request: &Request, out: &mut Plan) {
        for number in self.geometry.stripes(&request.extent) {
            let stripe = self.geometry.stripe(number);
            for piece in self.geometry.pieces(&stripe, &request.extent) {
                match self.bad.any() && self.is_bad(&stripe, piece.member, &piece.rows) {
                    true => self.read_in_parts(&stripe, &piece, out),
                    false => self.read(&stripe, &piece, out),
                }
            }
        }
    }

    /// Reads what its drive has.
    fn read(&self, stripe: &Stripe, piece: &Piece, out: &mut Plan) {
        let Piece { member, rows } = *piece;
        let target = Target::At(stripe.at(rows.from));
        let mut read = PlannedIo::new(self.drive(stripe, member), Op::Read, target, rows.len());
        read.data = Some(self.geometry.data(stripe, member, rows.from));
        read.tag = tag(Role::Read, None);
        out.io(read);
    }

    /// Reads what of a piece is good, and computes the rest.
    fn read_in_parts(&mut self, stripe: &Stripe, piece: &Piece, out: &mut Plan) {
        self.cuts.clear();
        self.cut(stripe, &piece.rows);
        while let Some(rows) = self.next_part() {
            let member = piece.member;
            if !self.is_bad(stripe, member, &rows) {
                self.read(stripe, &Piece { member, rows }, out);
            } else if self.others_are_bad(stripe, member, &rows) {
                self.counts.lost += 1;
                out.failure = Some(self.fault_of(stripe, member, &rows));
            } else {
                self.compute_for_client(stripe, (member, rows), false, out);
            }
        }
    }

    /// Computes what a client reads: what is known to be bad, or what a read met, perhaps in one
    /// block of many. If that is one block alone, it was `found_bad`.
    fn compute_for_client(
        &mut self,
        stripe: &Stripe,
        (member, rows): (u64, Rows),
        found_bad: bool,
        out: &mut Plan,
    ) -> StepIndex {
        self.counts.degraded += 1;
        let job = self.job(*stripe, (member, rows), out);
        if found_bad {
            let (seat, at) = (stripe.seat(member), stripe.at(rows.from));
            self.attempts.find_bad(job.attempt, seat, at);
        }
        let data = self.geometry.data(stripe, member, rows.from);
        let found = self.compute(
            &job,
            (member, rows),
            Parity {
                written: None,
                data: Some(data),
                len: rows.len(),
                awaited: true,
            },
            out,
        );
        self.heal(&job, (member, rows), found, out);
        found
    }

    /// The exclusive or of the other members of a stripe in these rows.
    pub(super) fn compute(
        &mut self,
        job: &Job,
        (member, rows): (u64, Rows),
        parity: Parity,
        out: &mut Plan,
    ) -> StepIndex {
        let found = out.parity(parity);
        for other in (0..=job.stripe.parity()).filter(|other| *other != member) {
            let read = self.io(job, Op::Read, (other, rows), Role::Source);
            let read = self.add(job, read, out);
            out.after(read, found);
        }
        found
    }

    /// Writes back what was computed, unless its drive is gone.
    pub(super) fn heal(&mut self, job: &Job, of: (u64, Rows), found: StepIndex, out: &mut Plan) {
        if self.seats.is_vacant(job.stripe.seat(of.0)) {
            return;
        }
        let mut write = self.io(job, Op::Write, of, Role::Heal);
        (write.parity, write.awaited) = (Some(found), false);
        // What a power cut may still take does not count as written.
        write.fua = self.written.loses();
        let write = self.add(job, write, out);
        out.after(found, write);
    }

    /// An I/O has failed.
    pub(super) fn failed(
        &mut self,
        role: Role,
        attempt: Option<u32>,
        (seat, done): (Seat, &DriveDone),
        out: &mut Plan,
    ) {
        let stripe = self.geometry.stripe_at(seat, done.at);
        let of = (stripe.member(seat), stripe.rows(done.at, done.len));
        let job = attempt.map(|attempt| Job {
            stripe,
            attempt,
            gate: None,
        });
        if attempt.is_some_and(|attempt| self.attempts.attempt(attempt).given_up) {
            out.instead = Instead::Anew;
            return;
        }
        let is_bad_block = done.status == Status::Failed(Failure::Medium) && role.reads();
        let is_told = role != Role::Source && !self.others_are_bad(&stripe, of.0, &of.1);
        let is_long = is_bad_block && done.len > PAGE;
        let is_short = is_bad_block && done.len > Blocks(1) && !is_told;
        let computes = job.filter(|_| role == Role::Source && !is_long);
        if let Some((job, read)) = computes.and_then(|job| self.can_be_read_alone(job)) {
            self.attempts.give_up(job.attempt);
            self.read_one_by_one(&stripe, read, out);
            out.instead = Instead::Anew;
            return;
        }
        if is_long || is_short {
            out.instead = self.one_by_one(&stripe, of, (role, job), out);
            return;
        }
        if role == Role::Write {
            let why = match done.status {
                Status::Failed(Failure::Gone) => Kind::Gone,
                _ => Kind::Bad,
            };
            self.mark(seat, done.at, done.len, why);
        }
        out.instead = match (role, job) {
            (Role::Heal, Some(job)) => {
                let work = self.attempts.attempt(job.attempt).work;
                self.failed_to_repair(work, false);
                Instead::Tolerated
            }
            (Role::Read, _) if is_told => {
                let found_bad = is_bad_block && done.len == Blocks(1);
                Instead::Step(self.compute_for_client(&stripe, of, found_bad, out))
            }
            (Role::Old | Role::Rest, Some(job)) if is_told => {
                Instead::Step(self.compute_for_write(&job, of, role, out))
            }
            (Role::Write, _) if is_told => {
                self.counts.tolerated += 1;
                Instead::Tolerated
            }
            _ => self.nothing_stands_in((role, job), (seat, done), is_bad_block, out),
        };
    }

    /// What a job computes for a client, if that may be read where it lies: in shorter pieces, as
    /// one of its blocks cannot be read, or did not come in time; or as it may have been written
    /// since.
    fn can_be_read_alone(&self, job: Job) -> Option<(Job, (u64, Rows))> {
        let attempt = self.attempts.attempt(job.attempt);
        let work = self.turns.work(attempt.work);
        let member = work.computed.filter(|_| work.repair.is_none())?;
        let rows = attempt.rows;
        let is_anew = rows.len() > Blocks(1) || attempt.renewed;
        let may = is_anew && !self.is_bad(&job.stripe, member, &rows);
        may.then_some((job, (member, rows)))
    }

    /// An I/O has failed, which nothing stands in for. Where a write needs it, that may be done in
    /// another way; else its request fails.
    fn nothing_stands_in(
        &mut self,
        (role, job): (Role, Option<Job>),
        (seat, done): (Seat, &DriveDone),
        is_bad_block: bool,
        out: &mut Plan,
    ) -> Instead {
        if is_bad_block {
            self.mark(seat, done.at, done.len, Kind::Bad);
        }
        let Some(job) = job else {
            self.counts.lost += 1;
            return Instead::Nothing;
        };
        let Attempt {
            work,
            rows,
            writes,
            found_bad,
            ..
        } = *self.attempts.attempt(job.attempt);
        if writes.is_some() && role != Role::Write {
            if done.status != Status::Failed(Failure::TimedOut) {
                return self.write_anew(&job, out);
            }
            self.doubtful.mark(seat, done.at, done.len, Kind::Bad);
        }
        let of = *self.turns.work(work);
        match of.repair {
            Some(_) => self.failed_to_repair(work, is_bad_block),
            None => self.counts.lost += 1,
        }
        if let Some(member) = of.computed {
            if let Some((seat, at)) = found_bad.filter(|_| !self.is_bad(&job.stripe, member, &rows))
            {
                self.mark(seat, at, Blocks(1), Kind::Bad);
            }
            // A drive that went had what was to be computed: that is why it is asked for here.
            let gone = self.fault_of(&job.stripe, member, &rows) == Failure::Gone;
            out.failure = gone.then_some(Failure::Gone);
        }
        Instead::Nothing
    }

    /// A part of something else, computed from the others of its rows.
    fn compute_part(&mut self, job: &Job, of: (u64, Rows), out: &mut Plan) -> StepIndex {
        let parity = Parity {
            written: None,
            data: None,
            len: of.1.len(),
            awaited: false,
        };
        self.compute(job, of, parity, out)
    }

    fn compute_for_write(
        &mut self,
        job: &Job,
        of: (u64, Rows),
        role: Role,
        out: &mut Plan,
    ) -> StepIndex {
        let (seat, at) = (job.stripe.seat(of.0), job.stripe.at(of.1.from));
        self.doubtful.mark(seat, at, of.1.len(), Kind::Bad);
        let found = self.compute_part(job, of, out);
        if role == Role::Rest {
            self.heal(job, of, found, out);
        }
        found
    }

    /// Reads each page of what a client reads by itself, or each block of a page.
    fn read_one_by_one(&self, stripe: &Stripe, (member, rows): (u64, Rows), out: &mut Plan) {
        for rows in parts(rows) {
            self.read(stripe, &Piece { member, rows }, out);
        }
    }

    /// A read met a bad block: each of its pages is read by itself, or each block of a page, so
    /// that the others of its row are asked for that alone.
    fn one_by_one(
        &mut self,
        stripe: &Stripe,
        (member, rows): (u64, Rows),
        (role, job): (Role, Option<Job>),
        out: &mut Plan,
    ) -> Instead {
        let Some(job) = job else {
            self.read_one_by_one(stripe, (member, rows), out);
            // Its request waits for all of them.
            return Instead::Tolerated;
        };
        let all = out.parity(Parity {
            written: None,
            data: None,
            len: rows.len(),
            awaited: false,
        });
        for part in parts(rows) {
            self.take_in(&job, (member, part), role, (all, rows), out);
        }
        Instead::Step(all)
    }
}

/// The pages of rows, or the single rows of a page.
fn parts(rows: Rows) -> impl Iterator<Item = Rows> {
    let size = if rows.len() > PAGE { PAGE.0 } else { 1 };
    let pages = rows.from / size..rows.to.div_ceil(size);
    pages.map(move |page| Rows {
        from: (page * size).max(rows.from),
        to: ((page + 1) * size).min(rows.to),
    })
}
