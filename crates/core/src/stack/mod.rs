//! The stack: the only place where the kinds of parts meet.
//!
//! A pure function of its timestamped inputs. Give it one input (`submit`, `drive_done`, `timer`), then drain
//! `poll` until it gives nothing, then the next input: both loops, virtual and real, do just that. Because every
//! action is carried out before the next input, two runs with the same inputs have the same actions. After
//! `choose_last`, `choose` is an input too, the last one of an instant in which a drive got room.
//!
//! ```text
//! submit -> (hazards) plan -> queue -> (drive has room) next -> [bind] -> Action::Start
//! drive_done -> placement.done -> successors -> (last awaited I/O) Action::Reply, and the drive has room again
//! ```
//!
//! Costs one slab entry per pending request and per pending I/O; nothing is allocated once they have grown.

use std::collections::VecDeque;

use slab::Slab;

use crate::contract::{Drives, Oracle, Placement, Scheduler};
use crate::freemap::{FreeMap, Slot};
use crate::ids::{DriveId, IoId, StreamId};
use crate::io::{Command, Data, DriveDone, Io, Origin, Plan, PlannedIo, RecoveryRead, Tag, Target};
use crate::op::{Cost, Status};
use crate::request::{Reply, Request, Timeline};
use crate::units::{Blocks, Instant, Pba};

mod hazard;
mod queue;

use hazard::Hazards;
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
    hazards: Hazards,
    requests: Slab<Pending>,
    ios: Slab<InFlight>,
    actions: VecDeque<Action>,
    /// Plans that are not in use, with their memory. Boxed, as each input takes one and puts it back.
    #[expect(clippy::vec_box, reason = "what moves is the box, not the plan")]
    plans: Vec<Box<Plan>>,
    /// What requests wait for besides I/Os, in that order; some of it no request waits for.
    held: Vec<(Tag, Option<usize>)>,
    /// Drives that started nothing, to be asked for spare time when the input is dealt with; none if the placement
    /// has nothing to do then.
    spare: Vec<DriveId>,
    uses_spare_time: bool,
    /// See [`Stack::choose_last`].
    chooses_last: bool,
    /// Drives that choose when everything of this instant is in, and the instant.
    put_off: Vec<DriveId>,
    choice: Option<Instant>,
    /// Names of the I/Os of the plan that is being accepted, by their index in it.
    names: Vec<IoId>,
    sequence: u64,
    submitted: u64,
    replied: u64,
}

/// A request that was not answered yet.
struct Pending {
    request: Request,
    started: Option<Instant>,
    /// Awaited I/Os that are not done; alternatives count once.
    remaining: usize,
    status: Status,
    cost: Cost,
}

/// An I/O that was not completed yet.
struct InFlight {
    /// Who waits for it; none for what a placement does for itself, or may still do after the answer.
    request: Option<usize>,
    drive: DriveId,
    tag: Tag,
    data: Option<Data>,
    io: Io,
    /// The next of its alternatives, round in a ring; itself if it has none.
    alternative: IoId,
    /// The first of those that wait for this one.
    successor: Option<IoId>,
    /// The next of those that wait for the same.
    sibling: Option<IoId>,
}

/// What a placement may see of the queues.
struct Below<'a>(&'a [Queue]);

impl Drives for Below<'_> {
    fn idle(&self, drive: DriveId) -> bool {
        let queue = &self.0[drive.index()];
        !queue.busy() && queue.len() == 0
    }

    fn waiting(&self, drive: DriveId) -> usize {
        let queue = &self.0[drive.index()];
        queue.len() + usize::from(queue.busy())
    }

    fn oracle(&self, drive: DriveId) -> &dyn Oracle {
        &*self.0[drive.index()].oracle
    }
}

impl Stack {
    /// A stack with nothing pending.
    pub fn new(placement: Box<dyn Placement>, lanes: Vec<Lane>) -> Stack {
        assert!(!lanes.is_empty(), "a stack without drives");
        let queue = |lane: Lane| Queue::new(lane.scheduler, lane.oracle, lane.capacity);
        Stack {
            hazards: Hazards::new(placement.chunk()),
            uses_spare_time: placement.uses_spare_time(),
            placement,
            queues: lanes.into_iter().map(queue).collect(),
            requests: Slab::new(),
            ios: Slab::new(),
            actions: VecDeque::new(),
            plans: Vec::new(),
            held: Vec::new(),
            spare: Vec::new(),
            chooses_last: false,
            put_off: Vec::new(),
            choice: None,
            names: Vec::new(),
            sequence: 0,
            submitted: 0,
            replied: 0,
        }
    }

    /// Whether a drive that has room waits with its choice until everything else of the instant is in: whoever feeds the
    /// stack then calls [`Stack::choose`] after the last input of an instant. If not, a drive chooses within the input
    /// that gave it room, as a host does that must not leave it idle.
    pub fn choose_last(&mut self, last: bool) {
        assert!(self.put_off.is_empty(), "drives wait for their choice");
        self.chooses_last = last;
    }

    /// Blocks that clients may address.
    pub fn capacity(&self) -> Blocks {
        self.placement.capacity()
    }

    /// Requests that were submitted and not yet answered.
    pub fn pending(&self) -> usize {
        self.requests.len() + self.hazards.held()
    }

    /// Requests submitted so far.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Requests answered so far.
    pub fn replied(&self) -> u64 {
        self.replied
    }

    /// Drives below it.
    pub fn drives(&self) -> usize {
        self.queues.len()
    }

    /// Where open I/Os to this drive may land, at this instant; none if the placement leaves no address open.
    pub fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        self.placement.free(drive)
    }

    /// Whether the address of an I/O that is under way was open until it was dispatched.
    pub fn was_open(&self, io: IoId) -> bool {
        io != Command::ARM && self.ios[io.index()].io.open
    }

    /// I/Os that wait in front of drives.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// I/Os that run or wait on one drive.
    pub fn waiting_on(&self, drive: DriveId) -> usize {
        Below(&self.queues).waiting(drive)
    }

    /// Whose data a command moves, from its start until [`Stack::drive_done`] is called. None for a movement of the arm.
    pub fn origin(&self, command: &Command) -> Option<Origin> {
        let io = self.ios.get(command.io.index())?;
        let request = io.request.map(|key| self.requests[key].request.id);
        Some(Origin {
            request,
            data: io.data,
        })
    }

    /// What a write has to put on the drive that moves none of the volume's data: a placement's own.
    pub fn content(&self, command: &Command) -> &[u8] {
        self.placement.content(self.ios[command.io.index()].tag)
    }

    /// What has to survive a power cut besides the drives.
    pub fn nvram(&self) -> Option<&[u8]> {
        self.placement.nvram()
    }

    /// The reads, one after another, by which the volume would come back if the power went at this instant.
    pub fn recovery(&self, out: &mut Vec<RecoveryRead>) {
        self.placement.recovery(out);
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
        if self.hazards.admit(&request) {
            self.begin(now, request);
        }
        self.spend_spare_time(now);
    }

    /// A drive completed a command.
    pub fn drive_done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.queues[drive.index()].done(now, done);
        if done.io != Command::ARM {
            self.complete(now, drive, done);
        }
        self.pump(now, drive);
        self.spend_spare_time(now);
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
        self.spend_spare_time(now);
    }

    /// The instant at which drives wait for [`Stack::choose`]; none if no drive does.
    #[inline]
    pub fn next_choice(&self) -> Option<Instant> {
        self.choice
    }

    /// Everything else of this instant is in: drives that waited for it start something.
    pub fn choose(&mut self, now: Instant) {
        self.choice = None;
        let mut drives = std::mem::take(&mut self.put_off);
        for drive in drives.drain(..) {
            self.start(now, drive);
        }
        self.put_off = drives;
        self.spend_spare_time(now);
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
            self.replied + self.pending() as u64,
            "a request got lost"
        );
        // The first of a ring of alternatives stands for all.
        let counts = |(key, io): &(usize, &InFlight)| {
            io.request.is_some()
                && self
                    .ring(IoId(*key as u32))
                    .all(|other| other.index() >= *key)
        };
        let remaining: usize = self.requests.iter().map(|(_, one)| one.remaining).sum();
        let held = self.held.iter().filter(|(_, request)| request.is_some());
        let awaited = self.ios.iter().filter(counts).count() + held.count();
        assert_eq!(remaining, awaited, "what a request waits for got lost");
        assert!(
            self.waiting() <= self.ios.len(),
            "more I/Os wait than exist"
        );
        self.placement.audit();
        self.queues.iter().for_each(Queue::audit);
    }

    /// An I/O and its alternatives.
    fn ring(&self, first: IoId) -> impl Iterator<Item = IoId> {
        let next = move |id: &IoId| {
            let next = self.ios[id.index()].alternative;
            (next != first).then_some(next)
        };
        std::iter::successors(Some(first), next)
    }

    /// Plans a request, queues what it needs, and lets its drives start something.
    fn begin(&mut self, now: Instant, request: Request) {
        if let Some(plan) = self.plan(now, request) {
            self.release(now);
            self.pump_all(now, plan);
        }
    }

    /// Requests that an answer has let begin. Many may be answered at once, such as discards behind a write; so they wait in
    /// a list for their drives' turn, the last one first, and not in calls within calls.
    fn release(&mut self, now: Instant) {
        let mut answered = Vec::new();
        while let Some(held) = self.hazards.release() {
            answered.extend(self.plan(now, held));
        }
        while let Some(plan) = answered.pop() {
            self.pump_all(now, plan);
        }
    }

    /// Plans a request and queues what it needs. Gives the plan back if it is answered with that; then others may begin before
    /// its drives start something.
    fn plan(&mut self, now: Instant, request: Request) -> Option<Box<Plan>> {
        let mut plan = self.plans.pop().unwrap_or_default();
        let drives = Below(&self.queues);
        self.placement.plan(now, &request, &drives, &mut plan);
        let key = self.requests.insert(Pending {
            request,
            started: None,
            remaining: 0,
            status: Status::Done,
            cost: Cost::default(),
        });
        self.accept(now, Some(key), &plan);
        self.hold(Some(key), &plan);
        if self.requests[key].remaining == 0 {
            self.answer(now, key);
            return Some(plan);
        }
        self.pump_all(now, plan);
        None
    }

    /// Gives the I/Os of a plan their names, and queues those that wait for no other.
    fn accept(&mut self, now: Instant, request: Option<usize>, plan: &Plan) {
        // Mostly there is one, and nothing that it hangs together with.
        if let [only] = plan.ios.as_slice() {
            if let Some(pending) = request.filter(|_| only.awaited) {
                self.requests[pending].remaining += 1;
            }
            let id = self.name(now, request, only);
            return self.enqueue(now, id);
        }
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        for planned in &plan.ios {
            let id = self.name(now, request, planned);
            if planned.alternative {
                let before = *names.last().expect("an alternative follows another");
                let next = std::mem::replace(&mut self.ios[before.index()].alternative, id);
                self.ios[id.index()].alternative = next;
            } else if let Some(pending) = request.filter(|_| planned.awaited) {
                self.requests[pending].remaining += 1;
            }
            match planned.after {
                Some(index) => {
                    let first = &mut self.ios[names[index as usize].index()].successor;
                    let sibling = first.replace(id);
                    self.ios[id.index()].sibling = sibling;
                }
                None => self.enqueue(now, id),
            }
            names.push(id);
        }
        self.names = names;
    }

    fn name(&mut self, now: Instant, request: Option<usize>, planned: &PlannedIo) -> IoId {
        let id = u32::try_from(self.ios.vacant_key()).expect("fewer than 2^32 I/Os are pending");
        let (at, open) = match planned.target {
            Target::At(at) => (at, false),
            Target::Open(near) => (near, true),
        };
        let asked = request.map(|key| &self.requests[key].request);
        let io = Io {
            id: IoId(id),
            sequence: self.sequence,
            stream: asked.map_or(StreamId(0), |request| request.stream),
            op: planned.op,
            at,
            open,
            len: planned.len,
            arrived: asked.map_or(now, |request| request.arrived),
            priority: asked.map_or(0, |request| request.priority),
            place: self.queues[planned.drive.index()].oracle.locate(at),
        };
        self.sequence += 1;
        // What is not awaited may outlive its request.
        let request = request.filter(|_| planned.awaited);
        self.ios.insert(InFlight {
            request,
            drive: planned.drive,
            tag: planned.tag,
            data: planned.data,
            io,
            alternative: IoId(id),
            successor: None,
            sibling: None,
        });
        IoId(id)
    }

    fn enqueue(&mut self, now: Instant, id: IoId) {
        let InFlight { drive, io, .. } = &self.ios[id.index()];
        self.queues[drive.index()].insert(now, io);
    }

    /// Lets the drives of a plan start something, and keeps the plan's memory.
    fn pump_all(&mut self, now: Instant, mut plan: Box<Plan>) {
        for planned in &plan.ios {
            self.pump(now, planned.drive);
        }
        for drive in &plan.wake {
            self.pump(now, *drive);
        }
        plan.clear();
        self.plans.push(plan);
    }

    /// Lets one drive start something, if it has room and something may start.
    fn pump(&mut self, now: Instant, drive: DriveId) {
        if self.queues[drive.index()].busy() {
            return;
        }
        match self.chooses_last {
            true => self.put_off(now, drive),
            false => self.start(now, drive),
        }
    }

    /// A drive with room starts something, if something may start.
    fn start(&mut self, now: Instant, drive: DriveId) {
        if !self.dispatch(now, drive) && self.uses_spare_time {
            self.spare.push(drive);
        }
    }

    /// A drive with room is asked when everything else of this instant is in.
    fn put_off(&mut self, now: Instant, drive: DriveId) {
        // It is asked soon enough, whatever its scheduler waits for.
        self.queues[drive.index()].timer = None;
        self.choice = Some(now);
        if !self.put_off.contains(&drive) {
            self.put_off.push(drive);
        }
    }

    /// Asks what drives with nothing else to do may do. Last of all, as an answer may have let requests begin.
    #[inline]
    fn spend_spare_time(&mut self, now: Instant) {
        if !self.spare.is_empty() {
            self.ask_spare(now);
        }
    }

    fn ask_spare(&mut self, now: Instant) {
        let mut drives = std::mem::take(&mut self.spare);
        let mut plan = self.plans.pop().unwrap_or_default();
        for drive in drives.drain(..) {
            if !self.has_spare_time(drive) {
                continue;
            }
            let below = Below(&self.queues);
            self.placement.idle(now, drive, &below, &mut plan);
            if plan.is_empty() {
                continue;
            }
            self.accept(now, None, &plan);
            for planned in &plan.ios {
                self.dispatch(now, planned.drive);
            }
            plan.clear();
        }
        self.plans.push(plan);
        self.spare = drives;
    }

    /// Whether a drive has no command and nothing to do, or only what waits for a slot to become free.
    fn has_spare_time(&self, drive: DriveId) -> bool {
        let queue = &self.queues[drive.index()];
        let full = || {
            let free = self.placement.free(drive);
            queue.timer.is_none() && free.is_some_and(|free| free.free() == 0)
        };
        !queue.busy() && (queue.len() == 0 || full())
    }

    /// Starts what a drive's scheduler wants started; whether that is something.
    fn dispatch(&mut self, now: Instant, drive: DriveId) -> bool {
        let (queue, ios) = (&mut self.queues[drive.index()], &self.ios);
        let free = self.placement.free(drive);
        let command = match queue.next(now, free, |id| ios[id.index()].io.open) {
            None => return false,
            Some(Dispatch::Arm(command)) => command,
            Some(Dispatch::Io(id)) => self.command(now, drive, id, None),
            Some(Dispatch::Place(id, slot)) => self.command(now, drive, id, Some(slot)),
        };
        self.queues[drive.index()].started(now, &command);
        self.actions.push_back(Action::Start(drive, command));
        true
    }

    /// The command of an I/O that starts, its address bound and its alternatives withdrawn.
    fn command(&mut self, now: Instant, drive: DriveId, id: IoId, slot: Option<Slot>) -> Command {
        self.withdraw_alternatives(id);
        let started = &self.ios[id.index()];
        assert_eq!(
            started.drive, drive,
            "a scheduler started an I/O of another drive"
        );
        assert_eq!(
            started.io.open,
            slot.is_some(),
            "an open I/O goes to a slot, others do not"
        );
        if let Some(request) = started.request {
            self.requests[request].started.get_or_insert(now);
        }
        let Io { op, len, at, .. } = started.io;
        let at = slot.map_or(at, |slot| self.bind(now, id, slot));
        Command {
            io: id,
            op,
            at,
            len,
        }
    }

    fn bind(&mut self, now: Instant, id: IoId, slot: Slot) -> Pba {
        let InFlight { drive, tag, .. } = self.ios[id.index()];
        let free = self
            .placement
            .free(drive)
            .expect("the slot was found there");
        let at = free.tracks().at(slot);
        self.placement.bind(now, tag, drive, slot);
        at
    }

    /// Only the first of several ways to do the same is gone.
    fn withdraw_alternatives(&mut self, id: IoId) {
        let mut other = std::mem::replace(&mut self.ios[id.index()].alternative, id);
        while other != id {
            let gone = self.ios.remove(other.index());
            self.queues[gone.drive.index()].withdraw(&gone.io);
            self.placement.withdrawn(gone.tag, gone.drive);
            // Who waits for it waits for what is done in its stead.
            let started = &mut self.ios[id.index()];
            started.successor = started.successor.or(gone.successor);
            other = gone.alternative;
        }
    }

    fn complete(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        let io = self.ios.remove(done.io.index());
        assert_eq!(
            io.drive, drive,
            "drive {drive:?} completed an I/O of another"
        );
        let mut plan = self.plans.pop().unwrap_or_default();
        self.placement.done(now, io.tag, drive, done, &mut plan);
        if plan.is_empty() && io.successor.is_none() {
            self.plans.push(plan);
            if let Some(key) = io.request {
                self.count(now, key, done);
            }
            return;
        }
        if !plan.ios.is_empty() {
            self.accept(now, io.request, &plan);
        }
        // All of them wait before one of them starts: they may be alternatives.
        let mut successor = io.successor;
        while let Some(id) = successor {
            self.enqueue(now, id);
            let InFlight { drive, sibling, .. } = self.ios[id.index()];
            successor = sibling;
            if drive != io.drive {
                plan.wake.push(drive);
            }
        }
        self.hold(io.request, &plan);
        if let Some(key) = io.request {
            self.count(now, key, done);
        }
        for tag in &plan.settled {
            self.settle(now, *tag);
        }
        if let Some((tag, at)) = plan.pinned {
            plan.wake.push(self.pin(now, tag, at));
        }
        self.pump_all(now, plan);
    }

    /// A request waits for more than I/Os.
    fn hold(&mut self, request: Option<usize>, plan: &Plan) {
        for tag in &plan.waits {
            self.held.push((*tag, request));
            if let Some(key) = request {
                self.requests[key].remaining += 1;
            }
        }
    }

    /// What was waited for is done.
    fn settle(&mut self, now: Instant, tag: Tag) {
        let held = self.held.iter().position(|(held, _)| *held == tag);
        let (_, request) = self.held.remove(held.expect("what settles was held"));
        if let Some(key) = request {
            self.fulfil(now, key);
        }
    }

    /// An open I/O that waits goes to this block; on which drive.
    fn pin(&mut self, now: Instant, tag: Tag, at: Pba) -> DriveId {
        let mut ios = self.ios.iter_mut();
        let open = ios.find(|(_, one)| one.tag == tag && one.io.open);
        let (_, InFlight { drive, io, .. }) = open.expect("what is pinned waits");
        let queue = &mut self.queues[drive.index()];
        queue.withdraw(io);
        (io.open, io.at, io.place) = (false, at, queue.oracle.locate(at));
        queue.insert(now, io);
        *drive
    }

    /// An I/O that a request waits for is done.
    fn count(&mut self, now: Instant, key: usize, done: &DriveDone) {
        let pending = &mut self.requests[key];
        pending.cost.add(&done.cost);
        if done.status == Status::Failed {
            pending.status = Status::Failed;
        }
        self.fulfil(now, key);
    }

    /// A request waits for one thing less.
    fn fulfil(&mut self, now: Instant, key: usize) {
        let pending = &mut self.requests[key];
        pending.remaining -= 1;
        if pending.remaining == 0 {
            self.reply(now, key);
        }
    }

    fn reply(&mut self, now: Instant, key: usize) {
        self.answer(now, key);
        self.release(now);
    }

    fn answer(&mut self, now: Instant, key: usize) {
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
        self.hazards.answered(&request);
    }
}
