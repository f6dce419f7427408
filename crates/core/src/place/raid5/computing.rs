//! Reads, what is computed where a drive does not tell it, and what a failure leads to.
//!
//! | What fails | What stands in for it |
//! |---|---|
//! | a read that meets a bad block, of more than a page | each of its pages, read alone |
//! | the same of a page or less, which the others do not tell | each of its blocks, read alone |
//! | a read of a client's | the exclusive or of the others of its rows, which is written back, and need not be waited for |
//! | a read that a write needs | the same; it is written back unless the write itself goes there |
//! | a read of the others | what is to be computed, read in turn, if that is not known to be bad; else nothing: its request fails |
//! | a write | the others of its rows, if none of them is bad; its blocks are bad from now on |
//! | a write of what was computed | nothing has to |
//!
//! A block that cannot be read, and that nothing stands in for, is known to be bad from then on: of
//! its row two are, so what they had is lost, and `lost` says where that is.
//!
//! What is known to be bad is not asked for. Whoever has to wait for a stripe asks again when it
//! gets it: a source may be bad by then.

use super::geometry::{Piece, Rows, Stripe};
use super::seats::Seat;
use super::{Job, Raid5, Role, tag};
use crate::io::DriveDone;
use crate::maplog::rows::Kind;
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Parity, Plan, PlannedIo, StepIndex, Target};
use crate::request::Request;
use crate::units::Blocks;

/// Sources that may fail and be computed themselves, for one job.
const DETOURS: u8 = 8;

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
                self.compute_for_client(stripe, (member, rows), out);
            }
        }
    }

    fn compute_for_client(
        &mut self,
        stripe: &Stripe,
        (member, rows): (u64, Rows),
        out: &mut Plan,
    ) -> StepIndex {
        self.counts.degraded += 1;
        let job = self.job(*stripe, Some(member), rows, out);
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
        work: Option<u32>,
        (seat, done): (Seat, &DriveDone),
        out: &mut Plan,
    ) {
        let stripe = self.geometry.stripe_at(seat, done.at);
        let of = (stripe.member(seat), stripe.rows(done.at, done.len));
        let job = work.map(|work| Job {
            stripe,
            work,
            gate: None,
        });
        let is_bad_block = done.status == Status::Failed(Failure::Medium) && role.reads();
        let is_told = role != Role::Source && !self.others_are_bad(&stripe, of.0, &of.1);
        if is_bad_block && (done.len > PAGE || done.len > Blocks(1) && !is_told) {
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
        let detour = job.filter(|job| role == Role::Source && self.may_take_detour(job, of));
        out.instead = match (role, job) {
            (Role::Source, _) if detour.is_some() => {
                let job = detour.expect("there is one");
                Instead::Step(self.compute_part(&job, of, out))
            }
            (Role::Heal, Some(job)) => {
                self.failed_to_repair(job.work, false);
                Instead::Tolerated
            }
            (Role::Read, _) if is_told => Instead::Step(self.compute_for_client(&stripe, of, out)),
            (Role::Old | Role::Rest, Some(job)) if is_told => {
                Instead::Step(self.compute_for_write(&job, of, role, out))
            }
            (Role::Write, _) if is_told => {
                self.counts.tolerated += 1;
                Instead::Tolerated
            }
            _ => return self.nothing_stands_in(role, work, (seat, done), is_bad_block, out),
        };
    }

    /// An I/O has failed, and its request with it.
    fn nothing_stands_in(
        &mut self,
        role: Role,
        work: Option<u32>,
        (seat, done): (Seat, &DriveDone),
        is_bad_block: bool,
        out: &mut Plan,
    ) {
        if is_bad_block {
            self.mark(seat, done.at, done.len, Kind::Bad);
        }
        let of = work.map(|work| *self.turns.work(work));
        match (work, of) {
            (Some(work), Some(of)) if of.repair.is_some() => {
                self.failed_to_repair(work, is_bad_block);
            }
            _ => self.counts.lost += 1,
        }
        if let Some((of, member)) = of.and_then(|of| Some((of, of.computed?))) {
            let stripe = self.geometry.stripe(of.stripe);
            // A drive that went had what was to be computed: that is why it is asked for here.
            let gone = self.fault_of(&stripe, member, &of.rows) == Failure::Gone;
            out.failure = gone.then_some(Failure::Gone);
        }
        if of.is_some_and(|of| of.computed.is_none()) && role != Role::Write {
            self.doubtful.mark(seat, done.at, done.len, Kind::Bad);
        }
    }

    /// Whether a source that failed may be computed with the help of what was to be computed:
    /// another block of that may have failed.
    fn may_take_detour(&mut self, job: &Job, (member, rows): (u64, Rows)) -> bool {
        let Some(computed) = self.turns.work(job.work).computed else {
            return false;
        };
        let others = (0..=job.stripe.parity()).filter(|other| *other != member);
        let are_good = !{ others }.any(|other| self.is_bad(&job.stripe, other, &rows));
        let work = self.turns.work_mut(job.work);
        let may = computed != member && are_good && work.detours < DETOURS;
        work.detours += u8::from(may);
        may
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
        if self.turns.work(job.work).computed.is_none() {
            let seat = job.stripe.seat(of.0);
            self.doubtful
                .mark(seat, job.stripe.at(of.1.from), of.1.len(), Kind::Bad);
        }
        let found = self.compute_part(job, of, out);
        if role == Role::Rest {
            self.heal(job, of, found, out);
        }
        found
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
        let size = if rows.len() > PAGE { PAGE.0 } else { 1 };
        let ends = |page: u64| (page * size).max(rows.from)..((page + 1) * size).min(rows.to);
        let pages = rows.from / size..rows.to.div_ceil(size);
        let pages = pages.map(ends).map(|page| Rows {
            from: page.start,
            to: page.end,
        });
        let Some(job) = job else {
            for rows in pages {
                self.read(stripe, &Piece { member, rows }, out);
            }
            // Its request waits for all of them.
            return Instead::Tolerated;
        };
        let all = out.parity(Parity {
            written: None,
            data: None,
            len: rows.len(),
            awaited: false,
        });
        for page in pages {
            self.take_in(&job, (member, page), role, (all, rows), out);
        }
        Instead::Step(all)
    }
}
