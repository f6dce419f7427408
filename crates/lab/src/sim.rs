//! The virtual loop: gives the stack one input at a time and carries out what it asks for.
//!
//! The next event is the least of (time, rank, index) over drives, stack timers and the workload,
//! in this order of rank: drive completions, then timers, then arrivals; then by index. The order
//! is total, so a run repeats bit for bit. A drive chooses its next command within the event that
//! gave it room, or, where the workload wants that ([`Refill::Before`]), in an event of its own
//! after all others of the instant. A drive says when it is due when it got a command or let time
//! pass, so it need not be asked at every event. O(log drives) per event ([`Agenda`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nearslot_core::agenda::Agenda;
use nearslot_core::contract::Drive;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Instant, Pba};

use crate::workload::Workload;
use crate::workload::closed::Refill;

/// Sees everything that happens in a run. No part of a run depends on what it sees; it may only end
/// the run early.
pub trait Observer {
    /// A request is about to come: the stack has not seen it yet.
    fn comes(&mut self, _request: &Request, _stack: &Stack, _drives: &[Box<dyn Drive>]) {}
    /// A request came.
    fn arrived(&mut self, _now: Instant, _request: &Request) {}
    /// A drive began a command. How many I/Os wait, and what is free, the stack tells.
    fn started(
        &mut self,
        _now: Instant,
        _drive: DriveId,
        _command: &Command,
        _origin: &Origin,
        _stack: &Stack,
    ) {
    }
    /// A drive ended a command.
    fn done(&mut self, _now: Instant, _drive: DriveId, _done: &DriveDone) {}
    /// Whether it is told how blocks move, and which ones are wrong that drives bring.
    fn follows_blocks(&self) -> bool {
        false
    }
    /// A drive ended a command of which these blocks are wrong, though it was reported done.
    fn brought(&mut self, _drive: DriveId, _done: &DriveDone, _wrong: &[Pba]) {}
    /// Blocks moved otherwise than between a drive and a request.
    fn moved(&mut self, _action: &Action) {}
    /// A request was answered.
    fn replied(&mut self, _now: Instant, _reply: &Reply) {}
    /// A request failed that the load makes again, which is no failure of the load.
    fn goes_again(&mut self, now: Instant, reply: &Reply) {
        self.replied(now, reply);
    }
    /// Everything that an event led to has been carried out.
    fn settled(&mut self, _now: Instant, _stack: &Stack) {}
    /// Whether nothing more is to be learned, so that the run may end. Asked every few thousand
    /// events.
    fn over(&mut self, _now: Instant) -> bool {
        false
    }
}

/// Sees nothing.
impl Observer for () {}

/// What the outside may do to a run, and learn of it, while it goes on.
#[derive(Default)]
pub struct Control {
    /// Set it and the run ends after the next event.
    pub stop: AtomicBool,
    /// Set by work that keeps what it has when it is told to stop, from when on it may have
    /// something. Before, nothing is lost if the program ends at once.
    pub keeps: AtomicBool,
    /// Requests answered so far, over all runs that share this.
    pub replied: AtomicU64,
    /// How many there will be, once that is known of work which has to find out; 0 before.
    pub expected: AtomicU64,
}

/// A run that comes here is ended, though it is not over: 219 years, half as long again as its
/// arrivals may last. Two thirds of what can be counted are left for what a drive may take for one
/// command.
pub(crate) const END: Instant = Instant(3 << 61);

/// Actions that there is room for from the start; merged commands have many parts.
const ACTIONS: usize = 64;

/// Events between two tellings of how far a run has come. It is looked at after each event whether
/// it is to stop, since one may take long: a scheduler may have a million places to choose among.
const TELL_EVERY: u64 = 4_096;

/// The drives below, and when each is due.
struct Drives<'a> {
    drives: &'a mut [Box<dyn Drive>],
    due: Agenda,
    /// The drive whose event this is: mostly it gets the next command, so when it is due is asked
    /// when all is carried out.
    at_work: Option<usize>,
}

impl<'a> Drives<'a> {
    fn new(drives: &'a mut [Box<dyn Drive>]) -> Drives<'a> {
        let mut due = Agenda::new(drives.len());
        for (index, drive) in drives.iter().enumerate() {
            due.set(index, drive.next_event());
        }
        Drives {
            drives,
            due,
            at_work: None,
        }
    }

    fn submit(&mut self, now: Instant, drive: DriveId, command: &Command) {
        let index = drive.index();
        self.drives[index].submit(now, command);
        if self.at_work != Some(index) {
            self.due.set(index, self.drives[index].next_event());
        }
    }

    fn advance(&mut self, now: Instant, index: usize) -> Option<DriveDone> {
        self.at_work = Some(index);
        self.drives[index].advance(now)
    }

    /// Everything that an event led to has been carried out.
    #[inline]
    fn settle(&mut self) {
        if let Some(index) = self.at_work.take() {
            self.due.set(index, self.drives[index].next_event());
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Drive,
    Timer,
    Arrival,
    Choice,
}

/// Runs until the workload has ended and everything is answered, or until `control` or the observer
/// says stop, or [`END`]; then at least one request is unanswered. What drives and placements still
/// have to do for themselves then is left undone: it belongs to no request. Gives the instant of
/// the last event.
pub fn run(
    stack: &mut Stack,
    drives: &mut [Box<dyn Drive>],
    workload: &mut dyn Workload,
    observer: &mut impl Observer,
    control: &Control,
) -> Instant {
    let mut now = Instant::ZERO;
    stack.choose_last(workload.refill() == Refill::Before);
    stack.tell_moves(observer.follows_blocks());
    let mut drives = Drives::new(drives);
    let mut actions = Vec::with_capacity(ACTIONS);
    let (mut events, mut reported) = (0_u64, stack.replied());
    let mut over = false;
    while let Some((due, source)) = earliest(stack, &drives.due, workload) {
        assert!(due >= now, "an event at {due} comes after {now}");
        now = due;
        deliver(now, source, stack, &mut drives, workload, observer);
        stack.take_actions(&mut actions);
        for action in &actions {
            carry_out(now, action, stack, &mut drives, workload, observer);
        }
        actions.clear();
        drives.settle();
        observer.settled(now, stack);
        events += 1;
        if events.is_multiple_of(TELL_EVERY) {
            control
                .replied
                .fetch_add(stack.replied() - reported, Ordering::Relaxed);
            reported = stack.replied();
            over = observer.over(now);
        }
        if now >= END {
            break;
        }
        // A run that is cut short always leaves a request unanswered: that is how its results are
        // told from whole ones.
        if (over || control.stop.load(Ordering::Relaxed)) && stack.pending() > 0 {
            break;
        }
    }
    control
        .replied
        .fetch_add(stack.replied() - reported, Ordering::Relaxed);
    now
}

#[inline]
fn earliest(stack: &Stack, drives: &Agenda, workload: &dyn Workload) -> Option<(Instant, Source)> {
    let mut best: Option<(Instant, Source)> = None;
    let mut offer = |due: Option<Instant>, source| {
        if let Some(due) = due
            && best.is_none_or(|(earliest, _)| due < earliest)
        {
            best = Some((due, source));
        }
    };
    offer(drives.least(), Source::Drive);
    offer(stack.next_timer(), Source::Timer);
    let arrival = workload.next_arrival();
    if arrival.is_none() && stack.pending() == 0 {
        return None;
    }
    offer(arrival, Source::Arrival);
    offer(stack.next_choice(), Source::Choice);
    best
}

#[inline]
fn deliver(
    now: Instant,
    source: Source,
    stack: &mut Stack,
    drives: &mut Drives<'_>,
    workload: &mut dyn Workload,
    observer: &mut impl Observer,
) {
    match source {
        Source::Drive => {
            let index = drives.due.winner().expect("one is due");
            let drive = DriveId(index as u16);
            drives.drives[index].outstanding(&mut || stack.waiting_on(drive) as u64);
            if let Some(done) = &drives.advance(now, index) {
                observer.done(now, drive, done);
                if observer.follows_blocks() {
                    observer.brought(drive, done, drives.drives[index].wrongly_brought());
                }
                stack.done(now, drive, done);
            }
        }
        Source::Timer => stack.input(now, Input::Timer),
        Source::Arrival => {
            if let Some(request) = &workload.poll(now) {
                observer.comes(request, stack, drives.drives);
                observer.arrived(now, request);
                if request.offered {
                    let (offer, epoch) = workload.offer();
                    stack.offer(now, request, &offer, epoch);
                } else {
                    stack.submit(now, request);
                }
            }
        }
        Source::Choice => stack.input(now, Input::Choose),
    }
}

#[inline]
fn carry_out(
    now: Instant,
    action: &Action,
    stack: &Stack,
    drives: &mut Drives<'_>,
    workload: &mut dyn Workload,
    observer: &mut impl Observer,
) {
    match action {
        Action::Start {
            drive,
            command,
            origin,
        } => {
            observer.started(now, *drive, command, origin, stack);
            drives.submit(now, *drive, command);
        }
        Action::Offer { drive, io } => {
            drives.drives[drive.index()].offer(*io, stack.offered(*io));
        }
        // No data are simulated.
        Action::Join { .. }
        | Action::Fold { .. }
        | Action::Compute { .. }
        | Action::Recall { .. }
        | Action::Move(_) => observer.moved(action),
        Action::Reply(reply) => {
            let failure = reply.status.failure();
            match failure.is_some_and(|failure| workload.asks_again(failure)) {
                true => observer.goes_again(now, reply),
                false => observer.replied(now, reply),
            }
            workload.replied(now, reply);
        }
    }
}
