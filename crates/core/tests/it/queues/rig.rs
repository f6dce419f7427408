//! A stack over one drive of the tests, in virtual time.

use std::ops::Range;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Blueprint, Drive, Merging, Placement, Scheduler};
use nearslot_core::ids::{DriveId, IoId, RequestId};
use nearslot_core::io::{Command, DriveDone, Origin, Unwritten};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::registry::{Forgetful, VolumeEnv};
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::{Action, Input, Lane, Stack};
use nearslot_core::units::{Blocks, Instant};

use crate::support::{NULL, blueprint, scheduler};

/// What a command was for, and of which I/Os it was made.
type Started = (Origin, Vec<Command>);

/// A stack at work.
pub(crate) struct Rig {
    pub(crate) stack: Stack,
    drive: Box<dyn Drive>,
    pub(crate) now: Instant,
    pub(crate) replies: Vec<(Instant, Reply)>,
    /// First block and length of every command.
    pub(crate) commands: Vec<(u64, u64)>,
    /// What each of them was for, and of which I/Os it was made.
    pub(crate) origins: Vec<Started>,
    joining: Vec<Command>,
    /// Commands of which the drive chooses the place: told when they have landed.
    landing: Vec<(IoId, Option<Started>)>,
    /// Blocks that are bad.
    pub(crate) bad: Range<u64>,
    /// What the drive is doing, and for which request.
    pub(crate) under_way: Vec<(Option<RequestId>, Command)>,
    /// What it has done since this was emptied, if somebody wants to know.
    pub(crate) ended: Option<Vec<(Option<RequestId>, DriveDone)>>,
    /// Whether the stack is audited after each input.
    pub(crate) audits: bool,
}

impl Rig {
    /// Over a drive that takes 5 ms for each command.
    pub(crate) fn new(scheduler: Box<dyn Scheduler>, merging: Merging) -> Rig {
        Rig::over(&*blueprint(NULL), scheduler, merging)
    }

    /// The same with a scheduler from the word that names it.
    pub(crate) fn named(word: &str, merging: Merging) -> Rig {
        Rig::new(scheduler(word, &*blueprint(NULL)), merging)
    }

    /// Over a drive.
    pub(crate) fn over(
        blueprint: &dyn Blueprint,
        scheduler: Box<dyn Scheduler>,
        merging: Merging,
    ) -> Rig {
        Rig::with(blueprint, blueprint.drive(), scheduler, merging)
    }

    /// Over a drive of which this is known.
    pub(crate) fn with(
        blueprint: &dyn Blueprint,
        drive: Box<dyn Drive>,
        scheduler: Box<dyn Scheduler>,
        merging: Merging,
    ) -> Rig {
        let linear: PartConfig = "linear".parse().expect("a part's name");
        let place = linear.build(&VolumeEnv {
            seed: 1,
            label: "place",
            names: crate::support::NAMES,
            blueprint,
            identity: "of the test",
            memo: &Forgetful,
            survivors: None,
        });
        let place = place.expect("it has no knobs");
        Rig::placed(place, (blueprint, drive), scheduler, merging)
    }

    /// Over a drive of which this is known, under this placement.
    pub(crate) fn placed(
        place: Box<dyn Placement>,
        (blueprint, drive): (&dyn Blueprint, Box<dyn Drive>),
        scheduler: Box<dyn Scheduler>,
        merging: Merging,
    ) -> Rig {
        let lane = Lane {
            scheduler,
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
            depth: drive.depth(),
            merging,
            lands: drive.lands(),
            zones: blueprint.zones(),
        };
        Rig {
            stack: Stack::new(place, vec![lane]),
            drive,
            now: Instant::ZERO,
            replies: Vec::new(),
            commands: Vec::new(),
            origins: Vec::new(),
            joining: Vec::new(),
            landing: Vec::new(),
            bad: 0..0,
            under_way: Vec::new(),
            ended: None,
            audits: true,
        }
    }

    /// Blocks of which a power cut now may lose the last write that ended.
    pub(crate) fn volatile(&self) -> Vec<Unwritten> {
        let mut all = Vec::new();
        self.drive.volatile(self.now, &mut all);
        all
    }

    /// A request arrives now.
    pub(crate) fn submit(&mut self, request: Request) {
        self.give(Input::Submit(request));
    }

    /// Requests of 8 blocks each arrive now.
    pub(crate) fn ask(&mut self, op: Op, blocks: &[u64]) {
        for at in blocks {
            let id = self.stack.submitted() + 1;
            self.submit(Request::new(id, op, *at, 8, self.now));
        }
    }

    /// Something happens to the stack, which does what it wants.
    pub(crate) fn give(&mut self, input: Input) {
        self.stack.input(self.now, input);
        let mut actions = Vec::new();
        self.stack.take_actions(&mut actions);
        for action in actions {
            match action {
                Action::Join { command, .. } => self.joining.push(command),
                Action::Start {
                    command, origin, ..
                } => {
                    let parts = std::mem::take(&mut self.joining);
                    match self.landing.iter_mut().find(|(io, _)| *io == command.io) {
                        Some((_, started)) => *started = Some((origin, parts)),
                        None => self.started(&command, origin, parts),
                    }
                    self.under_way.push((origin.request, command));
                    self.drive.submit(self.now, &command);
                }
                Action::Offer { io, .. } => {
                    self.landing.push((io, None));
                    self.drive.offer(io, self.stack.offered(io));
                }
                Action::Reply(reply) => self.replies.push((self.now, reply)),
                other => panic!("no placement here wants {other:?}"),
            }
        }
        if self.audits {
            self.stack.audit();
        }
    }

    fn started(&mut self, command: &Command, origin: Origin, parts: Vec<Command>) {
        self.commands.push((command.at.0, command.len.0));
        self.origins.push((origin, parts));
    }

    /// A range write has ended of which the drive chose the place.
    fn landed(&mut self, done: &DriveDone) {
        let found = self.landing.iter().position(|(io, _)| *io == done.io);
        let Some(index) = found else {
            return;
        };
        let (_, started) = self.landing.swap_remove(index);
        let (origin, parts) = started.expect("it was started before");
        if done.status != Status::Failed(Failure::Exhausted) {
            self.commands.push((done.at.0, done.len.0));
            self.origins.push((origin, parts));
        }
    }

    /// The next event, if there is one by then.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let drive = self.drive.next_event();
        let due = drive.into_iter().chain(self.stack.next_timer()).min();
        // A choice comes behind everything else of its instant.
        let choice = self.stack.next_choice();
        if let Some(choice) = choice.filter(|choice| due.is_none_or(|due| *choice < due)) {
            self.now = choice;
            self.give(Input::Choose);
            return true;
        }
        let Some(due) = due.filter(|due| *due <= until) else {
            return false;
        };
        self.now = due;
        if drive != Some(due) {
            self.give(Input::Timer);
        } else if let Some(mut done) = self.drive.advance(due) {
            let blocks = done.at.0..(done.at + done.len).0;
            let meets = blocks.start < self.bad.end && self.bad.start < blocks.end;
            if meets && done.status.is_done() {
                done.status = Status::Failed(Failure::Medium);
            }
            self.landed(&done);
            let is_it = |(_, command): &(_, Command)| command.io == done.io;
            let index = self.under_way.iter().position(is_it);
            let (request, _) = self.under_way.swap_remove(index.expect("it was started"));
            if let Some(ended) = &mut self.ended {
                ended.push((request, done));
            }
            self.give(Input::Done(DriveId(0), done));
        }
        true
    }

    /// Lets time pass until all is answered.
    pub(crate) fn settle(&mut self) {
        while self.step(Instant::NEVER) {}
        assert_eq!(self.stack.pending(), 0, "so many are never answered");
    }

    /// When each request was answered, in milliseconds, by number, and whether it was done.
    pub(crate) fn answers(&self) -> Vec<(u64, u64, bool)> {
        let answer = |(at, reply): &(Instant, Reply)| {
            let ms = at.since(Instant::ZERO).0 / 1_000_000;
            (reply.request.id.0, ms, reply.status.is_done())
        };
        let mut answers: Vec<_> = self.replies.iter().map(answer).collect();
        answers.sort_unstable();
        answers
    }
}

/// Up to 128 blocks, behind and in front.
pub(crate) const CONTIGUOUS: Merging = Merging::Contiguous {
    most: Blocks(128),
    front: true,
};
