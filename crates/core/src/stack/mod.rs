//! The stack: the only place where the kinds of parts meet.
//!
//! A pure function of its timestamped inputs. Give it one input (`submit`, `drive_done`, `timer`), then drain
//! `poll` until it gives nothing, then the next input: both loops, virtual and real, do just that. Because every
//! action is carried out before the next input, two runs with the same inputs have the same actions.
//!
//! ```text
//! submit -> plan -> queue -> (drive has room) next -> Action::Start
//! drive_done -> (last I/O of its request) Action::Reply, and the drive has room again
//! ```
//!
//! Costs one slab entry per pending request and per pending I/O; nothing is allocated once they have grown.

use std::collections::VecDeque;

use slab::Slab;

use crate::contract::{Oracle, Placement, Scheduler};
use crate::ids::{DriveId, IoId};
use crate::io::{Command, Cost, DriveDone, Io, Plan, PlannedIo};
use crate::request::{Reply, Request, Status, Timeline};
use crate::units::{Blocks, Instant};

mod queue;

use queue::{Dispatch, Queue};

/// What the loop has to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give this command to this drive.
    Start(DriveId, Command),
    /// Answer this request.
    Reply(Reply),
}

/// The parts above one drive.
pub struct Lane {
    /// Chooses what goes next.
    pub scheduler: Box<dyn Scheduler>,
    /// Knows what may be known of the drive.
    pub oracle: Box<dyn Oracle>,
    /// The drive's blocks.
    pub capacity: Blocks,
}

/// A volume's decisions: placement, one queue per drive, and what is pending.
pub struct Stack {
    placement: Box<dyn Placement>,
    queues: Vec<Queue>,
    requests: Slab<Pending>,
    ios: Slab<InFlight>,
    actions: VecDeque<Action>,
    plan: Plan,
    sequence: u64,
    submitted: u64,
    replied: u64,
}

/// A request that was not answered yet.
struct Pending {
    request: Request,
    started: Option<Instant>,
    remaining: usize,
    status: Status,
    cost: Cost,
}

/// An I/O that was not completed yet.
struct InFlight {
    request: usize,
    drive: DriveId,
    command: Command,
}

impl Stack {
    /// A stack with nothing pending.
    pub fn new(placement: Box<dyn Placement>, lanes: Vec<Lane>) -> Stack {
        assert!(!lanes.is_empty(), "a stack without drives");
        let queue = |lane: Lane| Queue::new(lane.scheduler, lane.oracle, lane.capacity);
        Stack {
            placement,
            queues: lanes.into_iter().map(queue).collect(),
            requests: Slab::new(),
            ios: Slab::new(),
            actions: VecDeque::new(),
            plan: Plan::default(),
            sequence: 0,
            submitted: 0,
            replied: 0,
        }
    }

    /// Blocks that clients may address.
    pub fn capacity(&self) -> Blocks {
        self.placement.capacity()
    }

    /// Requests that were submitted and not yet answered.
    pub fn pending(&self) -> usize {
        self.requests.len()
    }

    /// Requests submitted so far.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Requests answered so far.
    pub fn replied(&self) -> u64 {
        self.replied
    }

    /// I/Os that wait in front of drives.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// A request arrives. It must lie within [`Stack::capacity`]: who feeds the stack checks that and tells the
    /// user; here it is an assertion.
    pub fn submit(&mut self, now: Instant, request: Request) {
        assert!(
            request.extent.end().0 <= self.capacity().0,
            "{:?} of {now} lies beyond block {}",
            request,
            self.capacity()
        );
        self.submitted += 1;
        let mut plan = std::mem::take(&mut self.plan);
        self.placement.plan(now, &request, &mut plan);
        self.accept(now, request, &plan.ios);
        plan.ios.clear();
        self.plan = plan;
    }

    /// A drive completed a command.
    pub fn drive_done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.queues[drive.index()].done(now, done);
        if done.io != Command::ARM {
            self.complete(now, drive, done);
        }
        self.pump(now, drive);
    }

    /// When the stack wants [`Stack::timer`] called at the latest.
    pub fn next_timer(&self) -> Option<Instant> {
        self.queues.iter().filter_map(|queue| queue.timer).min()
    }

    /// Time has passed; schedulers that waited are asked again. Calling late, or for nothing, is allowed.
    pub fn timer(&mut self, now: Instant) {
        for index in 0..self.queues.len() {
            if self.queues[index].timer.is_some_and(|due| due <= now) {
                self.pump(now, DriveId(index as u16));
            }
        }
    }

    /// The next thing to carry out.
    #[inline]
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub fn audit(&self) {
        assert_eq!(
            self.submitted,
            self.replied + self.requests.len() as u64,
            "a request got lost"
        );
        let remaining: usize = self
            .requests
            .iter()
            .map(|(_, pending)| pending.remaining)
            .sum();
        assert_eq!(remaining, self.ios.len(), "an I/O got lost");
        assert!(
            self.waiting() <= self.ios.len(),
            "more I/Os wait than exist"
        );
        self.placement.audit();
        self.queues.iter().for_each(Queue::audit);
    }

    fn accept(&mut self, now: Instant, request: Request, ios: &[PlannedIo]) {
        let remaining = ios.len();
        let pending = Pending {
            request,
            started: None,
            remaining,
            status: Status::Done,
            cost: Cost::default(),
        };
        let key = self.requests.insert(pending);
        for planned in ios {
            self.enqueue(now, key, &request, planned);
        }
        if ios.is_empty() {
            self.reply(now, key);
        }
        for planned in ios {
            self.pump(now, planned.drive);
        }
    }

    fn enqueue(&mut self, now: Instant, key: usize, request: &Request, planned: &PlannedIo) {
        let PlannedIo { drive, op, at, len } = *planned;
        let entry = self.ios.vacant_entry();
        let id = IoId(u32::try_from(entry.key()).expect("fewer than 2^32 I/Os are pending"));
        entry.insert(InFlight {
            request: key,
            drive,
            command: Command {
                io: id,
                op,
                at,
                len,
            },
        });
        let queue = &mut self.queues[drive.index()];
        let io = Io {
            id,
            sequence: self.sequence,
            stream: request.stream,
            op,
            at,
            len,
            arrived: request.arrived,
            priority: request.priority,
            place: queue.oracle.locate(at),
        };
        self.sequence += 1;
        queue.insert(now, &io);
    }

    /// Lets one drive start something, if it has room and something may start.
    fn pump(&mut self, now: Instant, drive: DriveId) {
        let queue = &mut self.queues[drive.index()];
        let command = match queue.next(now) {
            None => return,
            Some(Dispatch::Arm(command)) => command,
            Some(Dispatch::Io(id)) => {
                let io = &self.ios[id.index()];
                assert_eq!(
                    io.drive, drive,
                    "a scheduler started an I/O of another drive"
                );
                self.requests[io.request].started.get_or_insert(now);
                io.command
            }
        };
        queue.started(now, &command);
        self.actions.push_back(Action::Start(drive, command));
    }

    fn complete(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        let io = self.ios.remove(done.io.index());
        assert_eq!(
            io.drive, drive,
            "drive {drive:?} completed an I/O of another"
        );
        let pending = &mut self.requests[io.request];
        pending.cost.add(&done.cost);
        pending.remaining -= 1;
        if done.status == Status::Failed {
            pending.status = Status::Failed;
        }
        if pending.remaining == 0 {
            self.reply(now, io.request);
        }
    }

    fn reply(&mut self, now: Instant, key: usize) {
        let Pending {
            request,
            started,
            status,
            cost,
            ..
        } = self.requests.remove(key);
        self.replied += 1;
        let started = started.unwrap_or(now);
        let timeline = Timeline {
            arrived: request.arrived,
            started,
            replied: now,
            cost,
        };
        self.actions.push_back(Action::Reply(Reply {
            request,
            status,
            timeline,
        }));
    }
}
