//! Reads, what is computed where a drive does not tell it, and what a failure leads to.
//!
//! | What fails | What stands in for it |
//! |---|---|
//! | a read that meets a bad block, of more than a page | each of its pages, read alone |
//! | a read of a client's | the exclusive or of the others of its rows, which is written back, and need not be waited for |
//! | a read that a write needs | the same; it is written back unless the write itself goes there |
//! | a read of the others | nothing: its rows are lost until they are written, and its request fails |
//! | a write | the others of its rows, if none of them is bad; its blocks are bad from now on |
//! | a write of what was computed | nothing has to |
//!
//! What is known to be bad is not asked for. Whoever has to wait for a stripe asks again when it gets it: a source may be bad by then.

use super::geometry::{Piece, Rows, Stripe};
use super::{Job, Raid5, Role, tag};
use crate::ids::DriveId;
use crate::io::DriveDone;
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
        let mut read = PlannedIo::new(stripe.drive(member), Op::Read, target, rows.len());
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
            } else if self.fault_of_others(stripe, member, &rows).is_some() {
                self.counts.lost += 1;
                out.failure = Some(self.fault_of(stripe, member));
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
        if self.bad.gone.has(job.stripe.drive(of.0)) {
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
        (drive, done): (DriveId, &DriveDone),
        out: &mut Plan,
    ) {
        let stripe = self.geometry.stripe_at(drive, done.at);
        let of = (stripe.member(drive), stripe.rows(done.at, done.len));
        let job = work.map(|work| Job {
            stripe,
            work,
            gate: None,
        });
        let reads = matches!(role, Role::Read | Role::Old | Role::Rest);
        let is_bad_block = done.status == Status::Failed(Failure::Medium);
        if reads && is_bad_block && done.len > PAGE {
            out.instead = self.page_by_page(&stripe, of, (role, job), out);
            return;
        }
        if role == Role::Write && !self.bad.gone.has(drive) {
            self.mark(drive, done.at, done.len);
        }
        let is_lost = match role {
            Role::Heal => false,
            Role::Source => true,
            _ => self.fault_of_others(&stripe, of.0, &of.1).is_some(),
        };
        if is_lost {
            self.counts.lost += u64::from(!work.is_some_and(|work| self.failed_to_repair(work)));
            let writes = work.is_some_and(|work| self.turns.work(work).computed.is_none());
            if writes && role != Role::Write {
                self.doubtful.mark(drive, done.at, done.len);
            }
            return;
        }
        out.instead = match (role, job) {
            (Role::Read, _) => Instead::Step(self.compute_for_client(&stripe, of, out)),
            (Role::Old | Role::Rest, Some(job)) => {
                Instead::Step(self.compute_for_write(&job, of, role, out))
            }
            (Role::Write, _) => {
                self.counts.tolerated += 1;
                Instead::Tolerated
            }
            _ => Instead::Tolerated,
        };
    }

    fn compute_for_write(
        &mut self,
        job: &Job,
        of: (u64, Rows),
        role: Role,
        out: &mut Plan,
    ) -> StepIndex {
        if self.turns.work(job.work).computed.is_none() {
            let drive = job.stripe.drive(of.0);
            self.doubtful
                .mark(drive, job.stripe.at(of.1.from), of.1.len());
        }
        let parity = Parity {
            written: None,
            data: None,
            len: of.1.len(),
            awaited: false,
        };
        let found = self.compute(job, of, parity, out);
        if role == Role::Rest {
            self.heal(job, of, found, out);
        }
        found
    }

    /// A long read met a bad block: each page is read by itself, so that the others of its row are asked for that page alone.
    fn page_by_page(
        &mut self,
        stripe: &Stripe,
        (member, rows): (u64, Rows),
        (role, job): (Role, Option<Job>),
        out: &mut Plan,
    ) -> Instead {
        let ends = |page: u64| (page * PAGE.0).max(rows.from)..((page + 1) * PAGE.0).min(rows.to);
        let pages = rows.from / PAGE.0..rows.to.div_ceil(PAGE.0);
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
