//! A deliberate fault for each thing that is to happen when a command fails: a placement that does
//! not do it is given to the check that exists for it, which has to fail.

use nearslot_core::contract::{Drives, Persistent, Placement, Shape};
use nearslot_core::freemap::{FreeMap, Slot};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{DriveDone, Tag};
use nearslot_core::measure::Tell;
use nearslot_core::offer::Writable;
use nearslot_core::op::{Op, Status};
use nearslot_core::plan::{Edge, Instead, Plan, Step, StepIndex};
use nearslot_core::request::Request;
use nearslot_core::units::Instant;

use crate::contents::failing::{check_answers, check_bad_drive, check_buffer, check_flush};
use crate::contents::faults::is_seen;

/// What is forgotten when a command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    /// Nothing.
    None,
    /// That it failed: it is taken for done.
    Failure(Op),
    /// That a request needs it: it goes on without.
    Need(Op),
    /// That something may stand in for it.
    StandIn(Op),
    /// That the same may be done in another way.
    Anew,
    /// That what no copy has as a whole may be put together.
    Together,
    /// That the buffer may have what could not be read.
    Buffer,
    /// That the buffer does not have everything.
    NoBuffer,
    /// To tell that a step which follows it never starts.
    Skipped,
    /// To say that a write carries what a read before it brings.
    Carries,
    /// To say that a write repeats one that has ended.
    Repeats,
    /// To wait at gates.
    Gates,
    /// To wait with writes for what is read.
    Hasty,
    /// What a parity has taken in already.
    FoldedTwice,
    /// To write parities.
    NoParity,
}

/// A placement that forgets something.
pub(crate) struct Careless {
    inner: Box<dyn Placement>,
    slip: Slip,
}

impl Careless {
    pub(crate) fn over(inner: Box<dyn Placement>, slip: Slip) -> Box<dyn Placement> {
        Box::new(Careless { inner, slip })
    }

    /// Leaves out of a plan what is forgotten.
    fn forget(&self, out: &mut Plan) {
        for edge in &mut out.edges {
            edge.carries &= self.slip != Slip::Carries;
        }
        for step in &mut out.steps {
            if let Step::Io(io) = step {
                io.repeats &= self.slip != Slip::Repeats;
                if self.slip == Slip::NoParity && io.awaited && io.parity.is_some() {
                    (io.op, io.parity) = (Op::Read, None);
                }
            }
        }
        self.forget_edges(out);
    }

    fn forget_edges(&self, out: &mut Plan) {
        let Plan { steps, edges, .. } = out;
        let op = |index: StepIndex| match &steps[index.0 as usize] {
            Step::Io(io) => Some(io.op),
            Step::Gate(_) | Step::Parity(_) => None,
        };
        let is_gate = |index: StepIndex| matches!(steps[index.0 as usize], Step::Gate(_));
        match self.slip {
            Slip::Gates => edges.retain(|edge| !is_gate(edge.before)),
            Slip::Hasty => edges.retain(|edge| op(edge.before) != Some(Op::Read)),
            Slip::FoldedTwice => {
                let reads = edges
                    .iter()
                    .filter(|edge| op(edge.before) == Some(Op::Read));
                let again: Vec<Edge> = reads.take(1).copied().collect();
                edges.extend(again);
            }
            _ => {}
        }
    }

    /// What happens instead of a command that failed, after the slip.
    fn instead(&self, op: Op, out: &Plan) -> Instead {
        let puts_together = |step: StepIndex| matches!(out.steps[step.0 as usize], Step::Parity(_));
        match (self.slip, out.instead) {
            (Slip::Need(of), Instead::Nothing) if of == op => Instead::Tolerated,
            (Slip::StandIn(of), _) if of == op => Instead::Nothing,
            (Slip::Anew, Instead::Anew) => Instead::Nothing,
            (Slip::Together, Instead::Step(step)) if puts_together(step) => Instead::Nothing,
            (Slip::Buffer, Instead::Buffered) => Instead::Nothing,
            (Slip::NoBuffer, Instead::Nothing) if op == Op::Read => Instead::Buffered,
            (_, instead) => instead,
        }
    }
}

impl Placement for Careless {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        self.inner.plan(now, request, drives, out);
        self.forget(out);
    }

    fn writable(&self, drive: DriveId) -> Option<&dyn Writable> {
        self.inner.writable(drive)
    }

    fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        self.inner.free(drive)
    }

    fn bind(&mut self, now: Instant, tag: Tag, drive: DriveId, slot: Slot) {
        self.inner.bind(now, tag, drive, slot);
    }

    fn done(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let mut told = *done;
        if self.slip == Slip::Failure(done.op) {
            told.status = Status::Done;
        }
        self.inner.done(now, tag, drive, &told, drives, out);
        self.forget(out);
        if !done.status.is_done() {
            out.instead = match told.status.is_done() {
                true => Instead::Tolerated,
                false => self.instead(done.op, out),
            };
        }
    }

    fn skipped(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if self.slip != Slip::Skipped {
            self.inner.skipped(now, tag, drive, drives, out);
        }
    }

    fn withdrawn(&mut self, tag: Tag, drive: DriveId) {
        self.inner.withdrawn(tag, drive);
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        self.inner.idle(now, drive, drives, out);
        self.forget(out);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, out: &mut Plan) {
        self.inner.timer(now, out);
        self.forget(out);
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        self.inner.persistent()
    }

    fn tell(&self, tell: Tell<'_>) {
        self.inner.tell(tell);
    }

    fn audit(&self) {
        self.inner.audit();
    }
}

#[test]
fn a_failure_that_is_taken_for_done_is_seen() {
    is_seen(check_answers, Slip::Failure(Op::Read), "found Nothing");
    is_seen(check_answers, Slip::Failure(Op::Write), "wrote nothing");
    is_seen(check_flush, Slip::Failure(Op::Flush), "sr_array");
}

#[test]
fn what_goes_on_without_what_it_needs_is_seen() {
    is_seen(check_answers, Slip::Need(Op::Read), "found Nothing");
    is_seen(check_answers, Slip::Need(Op::Write), "wrote nothing");
}

#[test]
fn a_failure_for_which_nothing_stands_in_is_seen() {
    is_seen(check_bad_drive, Slip::StandIn(Op::Read), "right: 0");
    is_seen(check_bad_drive, Slip::StandIn(Op::Write), "right: 0");
    is_seen(check_flush, Slip::StandIn(Op::Flush), "mirror:disks=2");
    is_seen(check_buffer, Slip::Buffer, "right: 0");
}

#[test]
fn a_buffer_that_does_not_have_what_is_read_is_seen() {
    is_seen(check_answers, Slip::NoBuffer, "is in no buffer");
}

#[test]
fn a_write_that_does_not_name_whose_data_it_carries_is_seen() {
    is_seen(check_answers, Slip::Carries, "found Nothing");
    is_seen(check_answers, Slip::Repeats, "found Nothing");
}

#[test]
fn a_step_that_is_not_told_to_be_skipped_is_seen() {
    is_seen(check_answers, Slip::Skipped, "");
}
