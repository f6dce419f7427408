//! A whole stack over its drives in virtual time, one event after the other, with the model beside
//! it.

use std::collections::BTreeMap;

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::contract::{Drive, Scheduler};
use nearslot_core::ids::DriveId;
use nearslot_core::io::DriveDone;
use nearslot_core::measure::Over;
use nearslot_core::memory::Volumes;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::registry::Survivors;
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Blocks, Instant, Pba};

use crate::contents::failing::Failing;
use crate::contents::medium::Medium;
use crate::contents::model::Contents;
use crate::contents::rules::Rules;
use crate::contents::setups::Setup;
use crate::support::number;

/// Events between two audits of the whole stack, as long as no drive is gone.
const AUDIT_EVERY: u64 = 61;

/// And while one is, in the tests of every day; `NEARSLOT_AUDIT_EVERY` says how many.
const AUDIT_EVERY_WHILE_GONE: u64 = 7;

/// Events without an arrival after which nothing will ever come to rest.
const RESTLESS: u64 = 200_000;

/// Blocks of a request that fills the volume.
const FILL: u64 = 96;

/// What is left of a volume that has no map: NVRAM of its placement and of its write buffer.
pub(crate) struct Left {
    nvram: Vec<u8>,
    pub(crate) buffer: Option<Vec<u8>>,
}

impl Survivors for Left {
    fn nvram(&self) -> &[u8] {
        &self.nvram
    }

    fn nvram_of_buffer(&self) -> Option<&[u8]> {
        self.buffer.as_deref()
    }

    fn read(&self, _drive: DriveId, _at: Pba, _out: &mut [u8]) {
        panic!("nothing has to be read");
    }
}

/// A stack at work.
pub(crate) struct Rig {
    pub(crate) stack: Stack,
    drives: Vec<Box<dyn Drive>>,
    pub(crate) now: Instant,
    pub(crate) contents: Contents,
    pub(crate) rules: Rules,
    /// Everything that happened to the stack.
    pub(crate) inputs: Vec<(Instant, Input)>,
    /// Everything that the stack did.
    pub(crate) trace: Vec<(Instant, Action)>,
    requests: u64,
    /// Those that came before the last power cut.
    before: u64,
    /// What it is built of.
    config: StackConfig,
    events: u64,
    audit_every_while_gone: u64,
    /// Whose commands fail now and then; none whose do.
    pub(crate) failing: Option<Failing>,
    /// What goes wrong on the drives, if their configuration says that something does.
    pub(crate) medium: Option<Medium>,
    /// Requests that failed.
    pub(crate) failed: u64,
    /// Of these, those that failed as a drive was gone.
    pub(crate) failed_gone: u64,
    /// Whether reads and writes that fail are looked at.
    pub(crate) judges: bool,
    /// Reads that failed and met no write, and writes that failed though no write of a drive had.
    pub(crate) judged: u64,
    /// Of these, those that could have been carried out.
    pub(crate) saveable: Vec<Request>,
    /// What the parts had counted at the last audit.
    counted: BTreeMap<(&'static str, &'static str), u64>,
}

impl Rig {
    /// At rest and blank.
    pub(crate) fn new(setup: &Setup, kind: &str, sched: &str, seed: u64) -> Rig {
        Rig::over(setup, setup.build(kind, sched, seed))
    }

    pub(crate) fn over(setup: &Setup, built: Assembly) -> Rig {
        let Assembly {
            stack,
            drives,
            blueprint,
            given,
            ..
        } = built;
        let blocks = blueprint.capacity().0;
        let faults = given.faults(drives.len() as u16, &*blueprint);
        Rig {
            medium: Medium::new(
                faults.expect("they were built"),
                setup.protected,
                (drives.len(), blocks),
            ),
            contents: Contents::new(*setup, drives.len(), blocks, stack.capacity().0),
            rules: Rules::new(setup, &given.parts.of::<dyn Scheduler>().name),
            stack,
            drives,
            now: Instant::ZERO,
            inputs: Vec::new(),
            trace: Vec::new(),
            requests: 0,
            before: 0,
            config: given,
            failing: None,
            failed: 0,
            failed_gone: 0,
            judges: false,
            judged: 0,
            saveable: Vec::new(),
            events: 0,
            audit_every_while_gone: number("NEARSLOT_AUDIT_EVERY", AUDIT_EVERY_WHILE_GONE),
            counted: BTreeMap::new(),
        }
    }

    /// Over drives that forget what is wrong on them when the power goes: so the medium beside them
    /// says what becomes of their commands.
    pub(crate) fn deciding(setup: &Setup, kind: &str, sched: &str, seed: u64) -> Rig {
        let faulty = Rig::over(setup, setup.build(kind, sched, seed));
        let medium = faulty.medium.map(Medium::that_decides);
        let sound = Setup {
            faults: "none",
            protected: false,
            ..*setup
        };
        Rig {
            medium,
            ..Rig::over(setup, sound.build(kind, sched, seed))
        }
    }

    /// Blocks of the volume.
    pub(crate) fn blocks(&self) -> u64 {
        self.stack.capacity().0
    }

    /// The volumes of its clients.
    pub(crate) fn volumes(&self) -> Volumes {
        let count = self.config.volumes;
        Volumes::new(count, Blocks(self.blocks() / count))
    }

    /// What its random numbers come from.
    pub(crate) fn seed(&self) -> u64 {
        self.config.seed
    }

    /// How many drives.
    pub(crate) fn drives(&self) -> u64 {
        self.drives.len() as u64
    }

    /// What drives have counted is what has gone wrong.
    pub(crate) fn check_counts(&self) {
        let medium = self.medium.as_ref().expect("something goes wrong");
        medium.check_counts(&self.drives);
    }

    /// Writes the whole volume.
    pub(crate) fn fill(&mut self) {
        for start in (0..self.blocks()).step_by(FILL as usize) {
            self.submit(Op::Write, start, FILL.min(self.blocks() - start), 0);
        }
    }

    /// Blocks with a copy on a drive that is gone, of which another one can read what is to be
    /// found.
    pub(crate) fn left_of(&self, gone: DriveId) -> Vec<u64> {
        let failing = self.failing.as_ref().expect("some fail");
        let places = self.contents.places(0..self.blocks());
        let is_left = |(_, places): &(u64, Vec<(DriveId, u64, bool)>)| {
            let was_there = places.iter().any(|(drive, ..)| *drive == gone);
            let good = |(drive, at, is_one): &(DriveId, u64, bool)| {
                *is_one && *drive != gone && failing.reads(*drive, *at)
            };
            was_there && places.iter().any(good)
        };
        let left = (0..).zip(places).filter(is_left);
        left.map(|(block, _)| block).collect()
    }

    /// A request arrives now; where these blocks lie in several volumes, one for each of them.
    pub(crate) fn submit(&mut self, op: Op, start: u64, len: u64, priority: u16) {
        let each = self.blocks() / self.config.volumes;
        let own = len.min(each - start % each);
        self.submit_one(op, start, own, priority);
        if own < len {
            self.submit(op, start + own, len - own, priority);
        }
    }

    fn submit_one(&mut self, op: Op, start: u64, len: u64, priority: u16) {
        self.requests += 1;
        let mut request = Request::new(self.requests, op, start, len, self.now);
        request.priority = priority;
        self.contents.submitted(&request);
        self.give(Input::Submit(request));
        self.drain();
    }

    /// The power goes, and comes again: the volume goes on with what it kept in NVRAM, if it
    /// `keeps` that.
    pub(crate) fn cut(&mut self, rng: &mut Rng, keeps: bool) {
        let left = keeps.then(|| self.left());
        self.cut_with(rng, left.as_ref());
    }

    /// What the power would leave in NVRAM now.
    pub(crate) fn left(&self) -> Left {
        let buffer = self.stack.nvram_of_buffer();
        Left {
            nvram: self.stack.nvram().unwrap_or_default().to_vec(),
            buffer: buffer.map(<[u8]>::to_vec),
        }
    }

    /// The power goes, and the volume goes on with this, or as if it had never been.
    pub(crate) fn cut_with(&mut self, rng: &mut Rng, left: Option<&Left>) {
        for (index, drive) in self.drives.iter().enumerate() {
            self.contents.settle(self.now, index, &**drive);
        }
        let arrived = self.contents.cut(rng);
        if let Some(medium) = &mut self.medium {
            (arrived.iter()).for_each(|(drive, block)| medium.arrived(self.now, *drive, *block));
        }
        let built = match left {
            Some(left) => self.config.recover(left).expect("what it kept is sound"),
            None => self.config.build().expect("it was built before"),
        };
        built.stack.audit();
        (self.stack, self.drives) = (built.stack, built.drives);
        self.counted.clear();
        self.contents.check_buffer(&self.stack);
        self.before = self.requests;
    }

    /// Lets time pass until this instant.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Lets time pass until nothing is left to do, then checks that it was done.
    pub(crate) fn settle(&mut self) {
        let last = self.events + RESTLESS;
        while self.step(Instant::NEVER) {
            assert!(self.events < last, "it never comes to rest");
        }
        let pending = self.stack.pending();
        let setup = self.contents.setup();
        assert_eq!(pending, 0, "requests of {setup:?} are never answered");
        assert_eq!(self.stack.submitted(), self.requests - self.before);
        assert_eq!(self.stack.replied(), self.requests - self.before);
        for drive in 0..self.drives.len() as u16 {
            let waiting = self.stack.waiting_on(DriveId(drive));
            assert_eq!(waiting, 0, "so many I/Os wait for drive {drive} for ever");
        }
        self.stack.audit();
        self.contents.check_at_rest();
    }

    /// The next event, if there is one by then.
    fn step(&mut self, until: Instant) -> bool {
        let due = |drive: &dyn Drive| drive.next_event().unwrap_or(Instant::NEVER);
        let drives = self.drives.iter().enumerate();
        let first = drives.map(|(index, drive)| (due(&**drive), index)).min();
        let (at, index) = first.expect("there are drives");
        let timer = self.stack.next_timer().unwrap_or(Instant::NEVER);
        // A choice comes behind everything else of its instant.
        let choice = self.stack.next_choice().unwrap_or(Instant::NEVER);
        let next = at.min(timer).min(choice);
        if next == Instant::NEVER || next > until {
            return false;
        }
        assert!(next >= self.now, "time runs backwards");
        self.now = next;
        if at.min(timer) > choice {
            self.give(Input::Choose);
        } else if at > timer {
            self.give(Input::Timer);
        } else if let Some(mut done) = self.drives[index].advance(next) {
            let drive = DriveId(index as u16);
            if let Some(failing) = &mut self.failing {
                failing.ended(self.now, drive, &mut done);
            }
            let medium = self.medium.as_mut();
            let deed = medium.map(|medium| medium.ended(next, drive, &mut done));
            let failing = self.failing.as_mut();
            let said = failing.map_or(done.status, |failing| failing.said(drive, done.status));
            self.contents.done(drive, &done, deed.as_ref());
            self.contents.settle(next, index, &*self.drives[index]);
            let status = said;
            self.give(Input::Done(drive, DriveDone { status, ..done }));
        }
        self.drain();
        self.events += 1;
        let mut failing = self.failing.iter();
        let every = match failing.any(|failing| !failing.gone.is_empty()) {
            true => self.audit_every_while_gone,
            false => AUDIT_EVERY,
        };
        if self.events.is_multiple_of(every) {
            self.stack.audit();
            self.check_counts_grow();
        }
        true
    }

    /// What parts count from the begin of a run never falls: else what was counted before the
    /// measured part could not be taken off.
    fn check_counts_grow(&mut self) {
        let mut counted = BTreeMap::new();
        self.stack.tell(&mut |kind, measure, number| {
            if measure.over != Over::Run {
                *counted.entry((kind, measure.name)).or_default() += number;
            }
        });
        for (of, before) in &self.counted {
            let now = counted[of];
            assert!(now >= *before, "{of:?} falls from {before} to {now}");
        }
        self.counted = counted;
    }

    /// The power goes now: is everything that was answered in the write buffer, or on a medium?
    pub(crate) fn check_cut(&self) {
        let mut lost = Vec::new();
        for (index, drive) in self.drives.iter().enumerate() {
            let mut runs = Vec::new();
            drive.volatile(self.now, &mut runs);
            let drive = DriveId(index as u16);
            let runs = runs
                .iter()
                .map(|run| (drive, run.at.0, run.at.0 + run.len.0));
            lost.extend(runs);
        }
        self.contents.check_cut(&lost);
    }

    fn give(&mut self, input: Input) {
        self.inputs.push((self.now, input.clone()));
        self.stack.input(self.now, input);
    }

    /// Carries out what the stack wants.
    fn drain(&mut self) {
        let mut actions = Vec::new();
        self.stack.take_actions(&mut actions);
        for action in actions {
            self.trace.push((self.now, action));
            match action {
                Action::Start {
                    drive,
                    command,
                    origin,
                } => {
                    let waiting = self.stack.waiting_on(drive);
                    self.rules.started(&command, &origin, waiting);
                    self.contents.started(drive, &command, &origin);
                    self.drives[drive.index()].submit(self.now, &command);
                }
                Action::Join {
                    drive,
                    command,
                    origin,
                } => self.contents.joins(drive, &command, &origin),
                Action::Fold { into, of, at } => self.contents.folds(into, of, at),
                Action::Compute { origin, written } => self.contents.computed(&origin, written),
                Action::Move(one) => self.contents.moves(&one),
                Action::Offer { drive, io } => {
                    self.contents.landing.insert(io);
                    let offer = self.stack.offered(io);
                    self.drives[drive.index()].offer(io, offer);
                }
                Action::Recall { origin, len } => self.contents.recalled(&origin, len),
                Action::Reply(reply) => {
                    self.failed += u64::from(!reply.status.is_done());
                    let is_gone = reply.status == Status::Failed(Failure::Gone);
                    self.failed_gone += u64::from(is_gone);
                    if self.judges && !reply.status.is_done() {
                        self.judge(&reply.request);
                    }
                    self.contents.answered(reply.request.id, reply.status);
                }
            }
        }
    }
}
