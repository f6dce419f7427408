//! A write behind a gate and a read that fails: what the stack tells its placement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nearslot_core::contract::{Drives, Placement, Shape};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, Data, DriveDone, Tag};
use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::plan::{Parity, Plan, PlannedIo, Target};
use nearslot_core::request::Request;
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Blocks, Instant, Lba, Pba};

use super::lanes;

const GATE: Tag = Tag(9);
const WRITE: Tag = Tag(2);

/// A write reads on the first drive, and writes on the second when that is done and a gate is open.
/// A client's read on the second drive opens the gate.
struct Gated {
    /// Writes of which it was told that they never start.
    skipped: Arc<AtomicU64>,
}

fn io(drive: u16, op: Op, tag: Tag) -> PlannedIo {
    let mut io = PlannedIo::new(DriveId(drive), op, Target::At(Pba(0)), Blocks(1));
    io.tag = tag;
    io
}

impl Placement for Gated {
    fn shape(&self) -> Shape {
        Shape {
            drives: 2,
            ..Shape::of(Blocks(10))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        if request.op == Op::Read {
            out.io(io(1, Op::Read, GATE));
            return;
        }
        let read = out.io(io(0, Op::Read, Tag(1)));
        let gate = out.gate(GATE);
        let write = out.io(io(1, Op::Write, WRITE));
        out.carry(read, write);
        out.after(gate, write);
    }

    fn done(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        _done: &DriveDone,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if tag == GATE {
            out.open(GATE);
        }
    }

    fn skipped(&mut self, _: Instant, tag: Tag, _: DriveId, _: &dyn Drives, _: &mut Plan) {
        assert_eq!(tag, WRITE);
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the drives have started, and requests that were answered.
fn drain(stack: &mut Stack, running: &mut [Option<Command>], replies: &mut Vec<(u64, Status)>) {
    let mut actions = Vec::new();
    stack.take_actions(&mut actions);
    for action in actions {
        match action {
            Action::Start { drive, command, .. } => running[drive.index()] = Some(command),
            Action::Reply(reply) => replies.push((reply.request.id.0, reply.status)),
            other => panic!("{other:?}"),
        }
    }
}

/// How a drive ends a command.
fn ended(command: Command, status: Status) -> DriveDone {
    let Command {
        io, op, at, len, ..
    } = command;
    DriveDone {
        io,
        op,
        at,
        len,
        status,
        cost: Cost::default(),
        arm: None,
    }
}

#[test]
fn a_placement_is_told_what_is_skipped_behind_a_gate() {
    const FAILED: Status = Status::Failed(Failure::Medium);
    let skipped = Arc::new(AtomicU64::new(0));
    let place = Gated {
        skipped: Arc::clone(&skipped),
    };
    let mut stack = Stack::new(Box::new(place), lanes(2));
    let (mut running, mut replies) = ([None; 2], Vec::new());
    for (id, op) in [(1, Op::Write), (2, Op::Read)] {
        let request = Request::new(id, op, 0, 1, Instant::ZERO);
        stack.input(Instant::ZERO, Input::Submit(request));
        drain(&mut stack, &mut running, &mut replies);
    }
    for (drive, status) in [(0, FAILED), (1, Status::Done)] {
        let done = ended(running[drive].take().expect("it works"), status);
        stack.input(Instant::ZERO, Input::Done(DriveId(drive as u16), done));
        drain(&mut stack, &mut running, &mut replies);
        stack.audit();
    }
    assert_eq!(skipped.load(Ordering::Relaxed), 1);
    replies.sort_by_key(|(id, _)| *id);
    assert_eq!(replies, [(1, FAILED), (2, Status::Done)]);
}

/// A write of several stripes, whose parities are there as soon as it comes.
struct Striped;

impl Placement for Striped {
    fn shape(&self) -> Shape {
        Shape {
            drives: 2,
            ..Shape::of(Blocks(10))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        for at in request.extent.start.0..request.extent.end().0 {
            let parity = out.parity(Parity {
                written: Some(Data::from(Lba(at))),
                data: None,
                len: Blocks(1),
                awaited: false,
            });
            let mut write = io(1, Op::Write, Tag(at));
            write.target = Target::At(Pba(at));
            write.parity = Some(parity);
            let write = out.io(write);
            out.after(parity, write);
        }
    }

    fn done(
        &mut self,
        _: Instant,
        _: Tag,
        _: DriveId,
        _: &DriveDone,
        _: &dyn Drives,
        _: &mut Plan,
    ) {
    }
}

#[test]
fn what_follows_steps_that_end_together_begins_in_their_order() {
    let mut stack = Stack::new(Box::new(Striped), lanes(2));
    let request = Request::new(1, Op::Write, 2, 5, Instant::ZERO);
    stack.input(Instant::ZERO, Input::Submit(request));
    let (mut actions, mut order) = (Vec::new(), Vec::new());
    loop {
        stack.take_actions(&mut actions);
        let mut starts = actions.drain(..).filter_map(|action| match action {
            Action::Start { command, .. } => Some(command),
            _ => None,
        });
        let Some(command) = starts.next_back() else {
            break;
        };
        order.push(command.at.0);
        let done = ended(command, Status::Done);
        stack.input(Instant::ZERO, Input::Done(DriveId(1), done));
    }
    assert_eq!(order, [2, 3, 4, 5, 6]);
}
