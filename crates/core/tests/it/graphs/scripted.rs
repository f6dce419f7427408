//! Single words of plans, each said by a placement that says nothing else: what the stack makes of
//! it.

use std::sync::mpsc::{Receiver, Sender, channel};

use nearslot_core::contract::{Drives, Placement, Shape};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, Data, DriveDone, Origin, StepNumber, Tag};
use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::plan::{Instead, Plan, PlannedIo, StepIndex, Target};
use nearslot_core::request::Request;
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Blocks, Instant, Lba, Pba};

use super::lanes;

const FAILED: Status = Status::Failed(Failure::Medium);
const GONE: Status = Status::Failed(Failure::Gone);

/// The gate that the second request of a test is about, or what waits behind it.
const LATER: Tag = Tag(9);

/// What a placement was told beside what has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Skipped(Tag),
    Withdrawn(Tag),
    Idle(DriveId),
}

/// Says what a test wants said of a request, and of an I/O that has ended.
struct Scripted {
    plan: fn(&Request, &mut Plan),
    done: fn(Tag, &DriveDone, &mut Plan),
    told: Sender<Told>,
}

impl Scripted {
    fn hears(&self, told: Told) {
        self.told.send(told).expect("the test listens");
    }
}

impl Placement for Scripted {
    fn shape(&self) -> Shape {
        Shape {
            drives: 3,
            spare_time: true,
            ..Shape::of(Blocks(10))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        (self.plan)(request, out);
    }

    fn done(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        done: &DriveDone,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        (self.done)(tag, done, out);
    }

    fn skipped(&mut self, _: Instant, tag: Tag, _: DriveId, _: &dyn Drives, _: &mut Plan) {
        self.hears(Told::Skipped(tag));
    }

    fn withdrawn(&mut self, tag: Tag, _drive: DriveId) {
        self.hears(Told::Withdrawn(tag));
    }

    fn idle(&mut self, _: Instant, drive: DriveId, _: &dyn Drives, _: &mut Plan) {
        self.hears(Told::Idle(drive));
    }
}

/// An I/O of one block on a drive, known by its tag.
fn io(drive: u16, op: Op, tag: Tag) -> PlannedIo {
    let mut io = PlannedIo::new(DriveId(drive), op, Target::At(Pba(0)), Blocks(1));
    io.tag = tag;
    io
}

/// A stack over such a placement, and what its drives do.
struct Stage {
    stack: Stack,
    running: [Option<Command>; 3],
    /// All that has started.
    started: Vec<(DriveId, Command, Origin)>,
    recalled: Vec<StepNumber>,
    replies: Vec<(u64, Status)>,
    hears: Receiver<Told>,
    told: Vec<Told>,
}

impl Stage {
    fn new(plan: fn(&Request, &mut Plan), done: fn(Tag, &DriveDone, &mut Plan)) -> Stage {
        let (told, hears) = channel();
        let place = Scripted { plan, done, told };
        Stage {
            stack: Stack::new(Box::new(place), lanes(3)),
            running: [None; 3],
            started: Vec::new(),
            recalled: Vec::new(),
            replies: Vec::new(),
            hears,
            told: Vec::new(),
        }
    }

    fn input(&mut self, input: Input) {
        self.stack.input(Instant::ZERO, input);
        let mut actions = Vec::new();
        self.stack.take_actions(&mut actions);
        for action in actions {
            match action {
                Action::Start {
                    drive,
                    command,
                    origin,
                } => {
                    self.running[drive.index()] = Some(command);
                    self.started.push((drive, command, origin));
                }
                Action::Reply(reply) => self.replies.push((reply.request.id.0, reply.status)),
                Action::Recall { origin, .. } => self.recalled.push(origin.step),
                other => panic!("{other:?}"),
            }
        }
        self.told.extend(self.hears.try_iter());
        self.stack.audit();
    }

    fn submit(&mut self, id: u64, op: Op, fua: bool) {
        let request = Request::new(id, op, id, 1, Instant::ZERO);
        self.input(Input::Submit(Request { fua, ..request }));
    }

    /// The command of a drive ends like this.
    fn ends(&mut self, drive: u16, status: Status) {
        let command = self.running[usize::from(drive)].take();
        let Command {
            io, op, at, len, ..
        } = command.expect("it works");
        let done = DriveDone {
            io,
            op,
            at,
            len,
            status,
            cost: Cost::default(),
            arm: None,
        };
        self.input(Input::Done(DriveId(drive), done));
    }

    fn skipped(&self) -> Vec<Told> {
        let told = self.told.iter().copied();
        told.filter(|told| !matches!(told, Told::Idle(_))).collect()
    }
}

fn nothing(_tag: Tag, _done: &DriveDone, _out: &mut Plan) {}

#[test]
fn a_request_fails_with_its_plan_whatever_becomes_of_the_steps() {
    for failure in [None, Some(Failure::Gone)] {
        let plan: fn(&Request, &mut Plan) = match failure {
            None => |_, out| _ = out.io(io(0, Op::Read, Tag(1))),
            Some(_) => |_, out| {
                out.io(io(0, Op::Read, Tag(1)));
                out.failure = Some(Failure::Gone);
            },
        };
        let mut stage = Stage::new(plan, nothing);
        stage.submit(1, Op::Read, false);
        stage.ends(0, Status::Done);
        let status = failure.map_or(Status::Done, Status::Failed);
        assert_eq!(stage.replies, [(1, status)]);
    }
}

/// What a gate keeps waiting never starts when that is refused, and its request fails for the
/// reason that is told.
#[test]
fn a_gate_that_is_refused_fails_what_waits_for_it() {
    for refused in [false, true] {
        let plan: fn(&Request, &mut Plan) = |request, out| {
            if request.op == Op::Read {
                out.io(io(0, Op::Read, LATER));
                return;
            }
            let gate = out.gate(LATER);
            let write = out.io(io(1, Op::Write, Tag(1)));
            out.after(gate, write);
        };
        let mut stage = Stage::new(
            plan,
            match refused {
                true => |tag, _, out| {
                    if tag == LATER {
                        out.refuse(LATER, Failure::Gone);
                    }
                },
                false => |tag, _, out| {
                    if tag == LATER {
                        out.open(LATER);
                    }
                },
            },
        );
        stage.submit(1, Op::Write, false);
        stage.submit(2, Op::Read, false);
        stage.ends(0, Status::Done);
        stage.replies.sort_by_key(|(id, _)| *id);
        if refused {
            assert_eq!(stage.replies, [(1, GONE), (2, Status::Done)]);
            assert_eq!(stage.skipped(), [Told::Skipped(Tag(1))]);
        } else {
            assert_eq!(stage.replies, [(2, Status::Done)]);
            stage.ends(1, Status::Done);
            assert_eq!(stage.replies.pop(), Some((1, Status::Done)));
        }
    }
}

/// A write to any slot waits for a read, and is revoked meanwhile. When the read has ended, it does
/// not start.
#[test]
fn what_is_revoked_while_it_waits_for_another_step_never_starts() {
    let plan: fn(&Request, &mut Plan) = |request, out| {
        if request.op == Op::Read {
            out.io(io(2, Op::Read, LATER));
            return;
        }
        let read = out.io(io(0, Op::Read, Tag(1)));
        let mut write = io(1, Op::Write, Tag(2));
        write.target = Target::Open(Pba(0));
        let write = out.io(write);
        out.carry(read, write);
    };
    let mut stage = Stage::new(plan, |tag, _, out| {
        if tag == LATER {
            out.revoke(Tag(2), Failure::MapLost);
        }
    });
    stage.submit(1, Op::Write, false);
    stage.submit(2, Op::Read, false);
    stage.ends(2, Status::Done);
    assert_eq!(stage.skipped(), [], "its turn has not come");
    stage.ends(0, Status::Done);
    let lost = Status::Failed(Failure::MapLost);
    assert_eq!(stage.replies, [(2, Status::Done), (1, lost)]);
    assert_eq!(stage.skipped(), [Told::Skipped(Tag(2))]);
    assert_eq!(stage.started.len(), 2, "two reads");
}

/// A write waits for a read, and carries what that brings.
fn a_write_carries_what_is_read(_: &Request, out: &mut Plan) {
    let read = out.io(PlannedIo {
        data: Some(Data::from(Lba(0))),
        ..io(0, Op::Read, Tag(1))
    });
    let write = out.io(io(1, Op::Write, Tag(2)));
    out.carry(read, write);
}

/// A write has something to carry from a read, and fails. What is written in its place carries the
/// same, and so does it if the buffer stood in for the read.
#[test]
fn what_is_written_again_carries_what_the_first_write_did() {
    for buffered in [false, true] {
        let mut stage = Stage::new(a_write_carries_what_is_read, |tag, done, out| {
            if done.status.is_done() {
                return;
            }
            out.instead = match tag {
                Tag(1) => Instead::Buffered,
                _ => {
                    let again = io(2, Op::Write, Tag(3));
                    Instead::Step(out.io(PlannedIo {
                        repeats: true,
                        ..again
                    }))
                }
            };
        });
        stage.submit(1, Op::Write, false);
        stage.ends(0, if buffered { FAILED } else { Status::Done });
        stage.ends(1, FAILED);
        stage.ends(2, Status::Done);
        assert_eq!(stage.replies, [(1, Status::Done)]);
        let read = stage.started[0].2.step;
        let carries: Vec<_> = stage.started.iter().map(|(.., of)| of.carries).collect();
        assert_eq!(carries, [None, Some(read), Some(read)], "{buffered}");
        let recalled: Vec<StepNumber> = buffered.then_some(read).into_iter().collect();
        assert_eq!(stage.recalled, recalled);
    }
}

/// Of the writes of a forced request those are forced that it waits for; a placement may force its
/// own, too.
#[test]
fn a_forced_request_forces_what_it_waits_for() {
    let plan: fn(&Request, &mut Plan) = |_, out| {
        out.io(io(0, Op::Write, Tag(1)));
        for (drive, fua) in [(1, false), (2, true)] {
            out.io(PlannedIo {
                awaited: false,
                fua,
                ..io(drive, Op::Write, Tag(2))
            });
        }
    };
    for forced in [false, true] {
        let mut stage = Stage::new(plan, nothing);
        stage.submit(1, Op::Write, forced);
        let started = stage.started.iter();
        let fua: Vec<bool> = started.map(|(_, command, _)| command.fua).collect();
        assert_eq!(fua, [forced, false, true]);
    }
}

/// Two writes of which one is enough wait for a read that fails: one stands for both, and of each
/// the placement is told.
#[test]
fn of_alternatives_that_never_start_each_is_told() {
    let plan: fn(&Request, &mut Plan) = |_, out| {
        let read = out.io(io(0, Op::Read, Tag(1)));
        let first = out.io(io(1, Op::Write, Tag(2)));
        out.io(PlannedIo {
            alternative: true,
            ..io(2, Op::Write, Tag(3))
        });
        out.after(read, first);
        out.after(read, StepIndex(2));
    };
    let mut stage = Stage::new(plan, nothing);
    stage.submit(1, Op::Write, false);
    stage.ends(0, FAILED);
    assert_eq!(stage.replies, [(1, FAILED)]);
    let [Told::Withdrawn(one), Told::Skipped(other)] = stage.skipped()[..] else {
        panic!("{:?}", stage.told);
    };
    assert_ne!(one, other, "the last one stands for both");
    assert_eq!(stage.started.len(), 1, "the read alone");
}

/// A read is done, and brings what is of no use any more: another one is in its place, or its request
/// fails, and what waits for it never starts.
#[test]
fn a_read_in_vain_is_done_elsewhere_or_fails() {
    for elsewhere in [true, false] {
        let mut stage = Stage::new(
            a_write_carries_what_is_read,
            match elsewhere {
                true => |tag, _, out| {
                    if tag == Tag(1) {
                        let other = io(2, Op::Read, Tag(3));
                        out.instead = Instead::Step(out.io(other));
                    }
                },
                false => |_, _, out| out.instead = Instead::Failed(Failure::Gone),
            },
        );
        stage.submit(1, Op::Write, false);
        stage.ends(0, Status::Done);
        let gone = Status::Failed(Failure::Gone);
        if !elsewhere {
            assert_eq!(stage.replies, [(1, gone)]);
            assert_eq!(stage.skipped(), [Told::Skipped(Tag(2))]);
            assert_eq!(stage.started.len(), 1, "the read alone");
            continue;
        }
        assert_eq!(stage.started.len(), 2, "two reads");
        stage.ends(2, Status::Done);
        let read = stage.started[1].2.step;
        assert_eq!(
            stage.started[2].2.carries,
            Some(read),
            "what that one brought"
        );
        stage.ends(1, Status::Done);
        assert_eq!(stage.replies, [(1, Status::Done)]);
    }
}

/// A write waits for two reads, of which one fails and is done anew: the write never starts, told
/// when the other read has ended, and its request waits for what is done in its place. Of
/// alternatives the request waits for one.
#[test]
fn what_is_done_anew_leaves_out_what_waited() {
    for several in [false, true] {
        let plan: fn(&Request, &mut Plan) = match several {
            false => |_, out| two_reads(out, false),
            true => |_, out| two_reads(out, true),
        };
        let mut stage = Stage::new(plan, |tag, done, out| {
            if tag == Tag(1) && !done.status.is_done() {
                out.io(io(0, Op::Write, Tag(5)));
                out.instead = Instead::Anew;
            }
        });
        stage.submit(1, Op::Write, false);
        stage.ends(0, FAILED);
        assert_eq!(stage.skipped(), [], "another read is under way");
        stage.ends(0, Status::Done);
        assert_eq!(stage.replies, [], "the request waits for that read");
        stage.ends(2, Status::Done);
        assert_eq!(stage.replies, [(1, Status::Done)]);
        let skipped = stage.skipped();
        match several {
            false => assert_eq!(skipped, [Told::Skipped(Tag(3))]),
            true => assert!(
                matches!(skipped[..], [Told::Withdrawn(_), Told::Skipped(_)]),
                "{skipped:?}"
            ),
        }
        assert_eq!(stage.started.len(), 3, "two reads and what was done anew");
    }
}

/// Behind them a write, or two of which one is enough.
fn two_reads(out: &mut Plan, several: bool) {
    let first = out.io(io(0, Op::Read, Tag(1)));
    let second = out.io(io(2, Op::Read, Tag(2)));
    for number in 0..1 + u64::from(several) {
        let write = out.io(PlannedIo {
            alternative: number > 0,
            ..io(1, Op::Write, Tag(3 + number))
        });
        out.after(first, write);
        out.after(second, write);
    }
}

/// A write never starts: its drive was to be busy, and may do something else now.
#[test]
fn a_drive_with_less_to_do_is_asked_what_it_does_in_spare_time() {
    let plan: fn(&Request, &mut Plan) = |_, out| {
        let read = out.io(io(0, Op::Read, Tag(1)));
        let write = out.io(io(1, Op::Write, Tag(2)));
        out.after(read, write);
    };
    let mut stage = Stage::new(plan, nothing);
    stage.submit(1, Op::Write, false);
    let before = stage.told.len();
    stage.ends(0, FAILED);
    let since = stage.told.split_off(before);
    let skipped = since.iter().position(|told| *told == Told::Skipped(Tag(2)));
    let asked = since
        .iter()
        .rposition(|told| *told == Told::Idle(DriveId(1)));
    assert!(skipped.is_some() && asked > skipped, "{since:?}");
}

/// A drive that has said that it is gone is there again, and does what it is told. Nobody has kept
/// account of it meanwhile.
#[test]
fn a_drive_that_was_gone_stays_so() {
    let plan: fn(&Request, &mut Plan) = |_, out| _ = out.io(io(0, Op::Read, Tag(1)));
    let mut stage = Stage::new(plan, nothing);
    for (id, status) in (1..).zip([Status::Done, FAILED, GONE, Status::Done, FAILED]) {
        stage.submit(id, Op::Read, false);
        stage.ends(0, status);
    }
    let expected = [Status::Done, FAILED, GONE, GONE, GONE];
    let found: Vec<Status> = stage.replies.iter().map(|(_, status)| *status).collect();
    assert_eq!(found, expected);
}
