//! The stack: the only place where the kinds of parts meet.
//!
//! A pure function of its timestamped inputs. Give it one [`Input`], then carry out what
//! [`Stack::take_actions`] gives, then give the next input: every loop, in virtual or in real time,
//! does just that. Every action says all that is needed to carry it out, and is carried out before
//! the next input. So the log of the inputs of any run, given to a new stack of the same
//! configuration, gives the same actions again.
//!
//! The life of a request, and of each of its steps:
//!
//! ```text
//!   Submit --> blocked --> planned ------------------------------------------------> answered
//!              by a write   the placement says   |                                 ^  when its last
//!              to the same  which steps          v                                 |  awaited step is
//!              chunks       +--------------- missing --> waiting --> running ---> ended
//!                           |  other steps     | in the queue  | on the   |    done, or failed
//!                           |  come first      | of a drive    | drive    |
//!                           |                  |               |          | failed, and a step
//!                           |                  v               v          v stands in for it
//!                           |               skipped        withdrawn   replaced
//!                           |               a step before  an alternative
//!                           |               it failed      started
//! ```
//!
//! An I/O that waits may be *held* before its scheduler, until that admits it, and may be *merged*
//! with one that it continues: then both run, and end, as one command.
//!
//! An open I/O that its scheduler starts while no slot is free stays in the queue, *stalled*, until
//! one is. A gate goes from missing to ended when its placement opens it; a parity when the steps
//! before it are done.
//!
//! With a read cache or a write buffer ([`Memory`]) clients' requests come to that first. What has
//! the life above are then the memory's jobs, and what it lets through; it is told of their
//! answers, and answers clients.
//!
//! Costs a slab entry per request, step and edge; nothing is allocated once the slabs have grown.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use slab::Slab;

use crate::agenda::Agenda;
use crate::contract::{
    Claims, Degraded, FewCopies, Lost, Merging, Oracle, Persistent, Placement, Redundant,
    Scheduler, Shape,
};
use crate::freemap::FreeMap;
use crate::ids::{DriveId, IoId, StreamId};
use crate::io::{Buffered, Command, Data, DriveDone, Origin, Owed, RecoveryRead, StepNumber, Tag};
use crate::measure::Measure;
use crate::memory::{Memory, Move, Order};
use crate::offer::{Offer, OfferId, Offers, Refused};
use crate::op::{Failure, Op};
use crate::plan::Plan;
use crate::registry::Kind;
use crate::request::{Reply, Request};
use crate::stream::{Stream, Streams};
use crate::units::{Blocks, Duration, Extent, Instant};
use crate::zones::ZoneShape;

mod audit;
mod dispatch;
mod graph;
#[cfg(test)]
mod graph_tests;
mod hazard;
#[cfg(test)]
mod hazard_tests;
mod merged;
mod merger;
#[cfg(test)]
mod merger_tests;
mod queue;
mod requests;
mod room;
mod steps;

use graph::Graph;
use hazard::Hazards;
use queue::Queue;
use requests::Pending;

/// What happens to a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A request arrives. It must lie within [`Stack::capacity`]: who feeds the stack checks that
    /// and tells the user; here it is an assertion.
    Submit(Request),
    /// A range write arrives, with what it offers and how many completions of range writes its
    /// client had heard of. It must pass [`Stack::check_offer`].
    Offer(Request, Arc<Offer>, u64),
    /// A drive completed a command.
    Done(DriveId, DriveDone),
    /// Time has passed; schedulers that waited are asked again. It may come late, or for nothing.
    Timer,
    /// A stream is described: its weight, its class, its group. Schedulers see it with the next
    /// I/O.
    Describe(StreamId, Stream),
    /// Everything else of this instant is in: drives that waited for that start something. See
    /// [`Stack::choose_last`].
    Choose,
}

/// What the loop has to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell this drive what the range write offers that it is given next ([`Stack::offered`]): the
    /// drive chooses the place, and its completion says which. What the command says of its place
    /// is a hint.
    Offer {
        /// Which drive.
        drive: DriveId,
        /// The I/O of the command.
        io: IoId,
    },
    /// Give this command to this drive.
    Start {
        /// Which drive.
        drive: DriveId,
        /// What it is to do.
        command: Command,
        /// What for, and what it moves.
        origin: Origin,
    },
    /// This I/O is carried out, among others, by the command that this drive starts next. It moves
    /// what its origin says, at the place that the command here names.
    Join {
        /// Which drive.
        drive: DriveId,
        /// What it would be by itself.
        command: Command,
        /// What for, and what it moves.
        origin: Origin,
    },
    /// Fold what a step has brought, byte by byte, into a parity.
    Fold {
        /// The parity.
        into: StepNumber,
        /// A read that has just ended, or a parity that was just computed.
        of: StepNumber,
        /// From which block of the parity on.
        at: Blocks,
    },
    /// Everything that steps bring has been folded into this parity: finish it.
    Compute {
        /// Its number, its request, and which of the volume's blocks it is, if any.
        origin: Origin,
        /// Fold in these blocks too, so many, as the request writes them.
        written: Option<(Data, Blocks)>,
    },
    /// Take from the buffer of delayed copies what a read should have brought that has failed.
    Recall {
        /// The read.
        origin: Origin,
        /// How many blocks.
        len: Blocks,
    },
    /// Move bytes between the memory, its jobs and clients' requests.
    Move(Move),
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
    /// Commands that the drive may have at a time.
    pub depth: u32,
    /// Which I/Os that wait become one command.
    pub merging: Merging,
    /// Whether the drive chooses the places of range writes.
    pub lands: bool,
    /// How the drive is cut into zones, if it is.
    pub zones: Option<ZoneShape>,
}

/// I/Os of one command that there is room for from the start.
const MERGED: usize = 64;

/// The drive on which the range writes of clients are: they have but one ([`Shape::offers`]).
const CLIENTS: usize = 0;

/// A volume's decisions: placement, one queue per drive, and what is pending.
pub struct Stack {
    /// A read cache, a write buffer, or both; then requests here are its jobs, and what it lets
    /// through.
    memory: Option<Box<Memory>>,
    placement: Box<dyn Placement>,
    shape: Shape,
    queues: Vec<Queue>,
    /// When queues want to be asked again: see [`Stack::note_timer`].
    timers: Agenda,
    hazards: Hazards,
    /// What is known of who asks.
    streams: Streams,
    requests: Slab<Pending>,
    graph: Graph,
    /// By drive: range writes that have not ended, and what was taken of late. A client's are on
    /// the only drive.
    offers: Vec<Offers>,
    /// The offer of the range write that arrives now.
    comes: Option<OfferId>,
    /// What is left of the range writes that drives have which choose their places.
    passed_on: BTreeMap<IoId, Arc<Offer>>,
    actions: Vec<Action>,
    /// Plans that are not in use, with their memory. Boxed, as each input takes one and puts it
    /// back.
    #[expect(clippy::vec_box, reason = "what moves is the box, not the plan")]
    plans: Vec<Box<Plan>>,
    /// Drives that started nothing, to be asked for spare time when the input is dealt with; none
    /// if the placement has nothing to do then.
    spare: Vec<DriveId>,
    /// See [`Stack::choose_last`].
    chooses_last: bool,
    /// Drives that choose when everything of this instant is in, and the instant.
    put_off: Vec<DriveId>,
    choice: Option<Instant>,
    /// Names of the steps of the plan that is being accepted, by their index in it.
    names: Vec<IoId>,
    /// Steps that were done, or were skipped, and whose successors have not been told. Empty
    /// between inputs.
    ended: VecDeque<steps::Ended>,
    /// Drives that got something to do from steps that ended. Empty between inputs.
    woken: Vec<DriveId>,
    /// I/Os that were skipped, of which the placement has not been told. Empty between inputs.
    skipped: Vec<(Tag, DriveId)>,
    /// Gates that were opened or refused, of which nobody was told. Empty between inputs.
    opened: Vec<(IoId, Option<Failure>)>,
    /// Memory for the I/Os of commands that start or end, if these are several: one may start while
    /// another one ends.
    parts: Vec<Vec<IoId>>,
    /// Requests, once for each awaited step that ended without a drive. Empty between inputs.
    fulfilled: Vec<usize>,
    /// Plans of requests that were answered while others waited for them. Empty between inputs.
    #[expect(clippy::vec_box, reason = "what moves is the box, not the plan")]
    answered: Vec<Box<Plan>>,
    sequence: u64,
    submitted: u64,
    replied: u64,
}

impl Stack {
    /// A stack with nothing pending.
    pub fn new(placement: Box<dyn Placement>, lanes: Vec<Lane>) -> Stack {
        assert!(!lanes.is_empty(), "a stack without drives");
        let shape = placement.shape();
        let drives = lanes.len();
        Stack {
            memory: None,
            hazards: Hazards::of(&shape),
            shape,
            placement,
            timers: Agenda::new(drives),
            queues: lanes.into_iter().map(Queue::new).collect(),
            streams: Streams::default(),
            requests: Slab::new(),
            graph: Graph::default(),
            offers: vec![Offers::default(); drives],
            comes: None,
            passed_on: BTreeMap::new(),
            actions: Vec::with_capacity(MERGED),
            plans: Vec::new(),
            spare: Vec::new(),
            chooses_last: false,
            put_off: Vec::new(),
            choice: None,
            names: Vec::new(),
            ended: VecDeque::new(),
            woken: Vec::new(),
            skipped: Vec::new(),
            opened: Vec::new(),
            // Merges of more are so rare that one may come late in a run, so the room grows before
            // it.
            parts: vec![Vec::with_capacity(MERGED), Vec::with_capacity(MERGED)],
            fulfilled: Vec::new(),
            answered: Vec::new(),
            sequence: 0,
            submitted: 0,
            replied: 0,
        }
    }

    /// The same with a read cache or a write buffer above the placement.
    ///
    /// # Panics
    /// Something was submitted before.
    #[must_use]
    pub fn with_memory(mut self, memory: Memory) -> Stack {
        assert_eq!(self.submitted, 0, "a cache comes before the requests");
        self.memory = Some(Box::new(memory));
        self
    }

    /// What is said of streams from the beginning.
    #[must_use]
    pub fn with_claims(mut self, claims: &Claims) -> Stack {
        for (stream, of) in &claims.0 {
            self.streams.describe(*stream, *of);
        }
        self
    }

    /// Whether a drive that has room waits with its choice until everything else of the instant is
    /// in: whoever feeds the stack then gives it [`Input::Choose`] after the last other input of an
    /// instant. If not, a drive chooses within the input that gave it room, as a host does that
    /// must not leave it idle.
    pub fn choose_last(&mut self, last: bool) {
        assert!(self.put_off.is_empty(), "drives wait for their choice");
        self.chooses_last = last;
    }

    /// Whether the stack says which bytes are to be moved between the memory, its jobs and clients
    /// ([`Action::Move`]). It does if it is told nothing; whoever has no bytes says so once, before
    /// the first request.
    pub fn tell_moves(&mut self, tells: bool) {
        if let Some(memory) = &mut self.memory {
            memory.tell_moves(tells);
        }
    }

    /// Something happens at `now`, which is not before anything that happened so far.
    #[inline]
    pub fn input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Submit(request) => return self.submit(now, &request),
            Input::Offer(request, offer, epoch) => {
                return self.offer(now, &request, &offer, epoch);
            }
            Input::Done(drive, done) => return self.done(now, drive, &done),
            Input::Timer => self.timer(now),
            Input::Describe(id, stream) => self.streams.describe(id, stream),
            Input::Choose => self.choose(now),
        }
        self.finish(now);
    }

    /// [`Input::Submit`], of a request that stays where it lies.
    #[inline]
    pub fn submit(&mut self, now: Instant, request: &Request) {
        self.check_place(now, request);
        match &mut self.memory {
            Some(memory) => memory.arrive(now, request),
            None => self.arrive(now, request),
        }
        self.finish(now);
    }

    /// Whether a range write of so many blocks may be made: whoever feeds the stack asks before,
    /// and tells the user why not.
    ///
    /// # Errors
    /// What is wrong with the offer, or which part does not carry out range writes.
    pub fn check_offer(&self, offer: &Offer, len: Blocks, epoch: u64) -> Result<(), Refused> {
        self.carries_out_offers()?;
        let most = self.range_write_max();
        if len > most {
            let (given, most) = (len.0, most.0);
            return Err(Refused::TooLong { given, most });
        }
        let capacity = self.shape.capacity;
        let bounds = (capacity.0, self.places_max());
        self.offers[CLIENTS].check(offer, len.0, epoch, bounds)
    }

    /// Blocks of the longest range write.
    pub fn range_write_max(&self) -> Blocks {
        let most = self.queues.iter().map(|queue| queue.range_write_max());
        most.min().unwrap_or(Blocks(u64::MAX))
    }

    /// How many places a range write may offer.
    pub fn places_max(&self) -> u64 {
        let most = self.queues.iter().map(|queue| queue.places_max());
        most.min().unwrap_or(u64::MAX)
    }

    /// Whether its parts carry out range writes.
    ///
    /// # Errors
    /// Which of them does not.
    pub fn carries_out_offers(&self) -> Result<(), Refused> {
        if self.memory.is_some() {
            return Err(Refused::Memory);
        }
        match self.shape.offers {
            true => Ok(()),
            false => Err(Refused::Placement),
        }
    }

    /// Whether only those writes move of which the client says how far.
    pub fn moves_told(&self) -> bool {
        self.shape.moves_told
    }

    /// Completions of range writes so far: the epoch of a client that has heard of all.
    pub fn epoch(&self) -> u64 {
        self.offers[CLIENTS].taken().completions()
    }

    /// [`Input::Offer`], of values that stay where they lie.
    ///
    /// # Panics
    /// It does not pass [`Stack::check_offer`].
    pub fn offer(&mut self, now: Instant, request: &Request, offer: &Arc<Offer>, epoch: u64) {
        let checked = self.check_offer(offer, request.extent.len, epoch);
        let is_range_write = request.offered && request.op == Op::Write;
        assert!(is_range_write, "{request:?} of {now} is no range write");
        assert!(checked.is_ok(), "{request:?} of {now}: {checked:?}");
        let len = request.extent.len.0;
        self.comes = Some(self.offers[CLIENTS].make(Arc::clone(offer), len, epoch));
        self.submit(now, request);
        assert!(self.comes.is_none(), "a range write that was not planned");
    }

    /// [`Input::Done`], of a completion that stays where it lies.
    #[inline]
    pub fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.drive_done(now, drive, done);
        self.finish(now);
    }

    /// An input has been dealt with: what is left is what the memory wants, and spare time.
    #[inline]
    fn finish(&mut self, now: Instant) {
        if self.memory.is_some() {
            self.carry_orders(now);
        }
        self.spend_spare_time(now);
    }

    /// Carries out what the memory wants, which may be answered at once and lead to more.
    fn carry_orders(&mut self, now: Instant) {
        while let Some(order) = self.memory.as_mut().and_then(|memory| memory.next_order()) {
            match order {
                Order::Submit(request) => self.arrive(now, &request),
                Order::Move(one) => self.actions.push(Action::Move(one)),
                Order::Reply(reply) => self.actions.push(Action::Reply(reply)),
            }
        }
    }

    /// Puts what is to be carried out into an empty list, in order. The lists change places, so
    /// that no action is copied.
    ///
    /// # Panics
    /// The list is not empty.
    #[inline]
    pub fn take_actions(&mut self, actions: &mut Vec<Action>) {
        assert!(actions.is_empty(), "actions that were not carried out");
        std::mem::swap(&mut self.actions, actions);
    }

    /// When the stack wants [`Input::Timer`] at the latest.
    pub fn next_timer(&self) -> Option<Instant> {
        let below = self.timers.least().into_iter();
        let below = below.chain(self.placement.next_timer()).min();
        match &self.memory {
            None => below,
            Some(memory) => below.into_iter().chain(memory.next_timer()).min(),
        }
    }

    /// The instant at which drives wait for [`Input::Choose`]; none if no drive does.
    #[inline]
    pub fn next_choice(&self) -> Option<Instant> {
        self.choice
    }

    /// Blocks that clients may address.
    pub fn capacity(&self) -> Blocks {
        self.shape.capacity
    }

    /// How many of its drives may be gone, whichever they are, so that everything can still be
    /// read.
    pub fn losable(&self) -> u16 {
        self.shape.losable
    }

    /// Requests that were submitted and not yet answered.
    pub fn pending(&self) -> usize {
        match &self.memory {
            None => self.pending_below(),
            Some(memory) => memory.counts().2,
        }
    }

    /// The same of those that reach the placement, or are to.
    fn pending_below(&self) -> usize {
        self.requests.len() + self.hazards.blocked()
    }

    /// Requests submitted so far.
    pub fn submitted(&self) -> u64 {
        let memory = self.memory.as_ref();
        memory.map_or(self.submitted, |memory| memory.counts().0)
    }

    /// Requests answered so far.
    pub fn replied(&self) -> u64 {
        let memory = self.memory.as_ref();
        memory.map_or(self.replied, |memory| memory.counts().1)
    }

    /// Drives below it.
    pub fn drives(&self) -> usize {
        self.queues.len()
    }

    /// Where open I/Os to this drive may land, at this instant; none if the placement leaves no
    /// address open.
    pub fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        self.placement.free(drive)
    }

    /// I/Os that wait in front of drives.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// Blocks of which the placement keeps each copy as one, if it does.
    pub fn copy_unit(&self) -> Option<Blocks> {
        self.shape.copy_unit
    }

    /// Blocks that the placement writes best together.
    pub fn stripe(&self) -> Blocks {
        self.shape.stripe
    }

    /// What the placement has answered and still has to write, if it answers before all is written.
    pub fn owes(&self) -> Option<Owed> {
        self.placement.owes()
    }

    /// Whether the placement does anything in spare time.
    pub fn uses_spare_time(&self) -> bool {
        self.shape.spare_time
    }

    /// Writes so far that begin or end within a chunk of the placement, and waited for another
    /// write of that chunk.
    pub fn blocked_in_chunks(&self) -> u64 {
        self.hazards.blocked_in_chunks()
    }

    /// Whether its read cache has something, and had room for all that came so far: then no policy
    /// has chosen anything.
    pub fn cache_holds_all(&self) -> bool {
        let memory = self.memory.as_ref();
        memory.is_some_and(|memory| memory.holds_all())
    }

    /// I/Os that run or wait on one drive.
    pub fn waiting_on(&self, drive: DriveId) -> usize {
        self.queues[drive.index()].outstanding()
    }

    /// The bytes of a write that the placement makes for itself
    /// ([`Moves::Own`](crate::io::Moves::Own)), while its action is carried out: they are not
    /// copied into the action.
    pub fn content(&self, command: &Command) -> &[u8] {
        let persistent = self.placement.persistent();
        persistent.map_or(&[], |kept| kept.content(self.tag(command.io)))
    }

    /// What is left of a range write that goes to a drive which chooses the place, while its action
    /// is carried out: it is not copied into the action.
    pub fn offered(&self, io: IoId) -> &Arc<Offer> {
        &self.passed_on[&io]
    }

    /// What of the placement has to survive a power cut besides the drives; none if it keeps
    /// nothing.
    pub fn nvram(&self) -> Option<&[u8]> {
        self.placement.persistent().map(Persistent::nvram)
    }

    /// What of the write buffer has to survive a power cut, beside the bytes of the blocks that it
    /// has ([`Stack::in_buffer`]): which blocks these are. None if there is no buffer. It has
    /// changed when an input was taken, before whoever keeps the bytes has carried out what the
    /// stack says then ([`Move::Buffer`](crate::memory::Move::Buffer)): these bytes are to be there
    /// before the table is seen by a power cut.
    pub fn nvram_of_buffer(&self) -> Option<&[u8]> {
        self.memory.as_ref().and_then(|memory| memory.nvram())
    }

    /// What clients wrote and no drive tells any more.
    pub fn lost(&self) -> Lost {
        let redundant = self.placement.redundant();
        redundant.map(Redundant::lost).unwrap_or_default()
    }

    /// Each place below its placement that lacks what it should have.
    pub fn degraded(&self) -> Vec<Degraded> {
        let redundant = self.placement.redundant();
        redundant.map(Redundant::degraded).unwrap_or_default()
    }

    /// How many chunks below its placement have few good copies, if that keeps several of each.
    pub fn few_copies(&self) -> Option<FewCopies> {
        self.placement.redundant()?.few_copies()
    }

    /// How long drives have been rebuilt that do not have all, all together.
    pub fn rebuilding(&self) -> Duration {
        let redundant = self.placement.redundant();
        redundant.map_or(Duration::ZERO, Redundant::rebuilding)
    }

    /// The reads, one after another, by which the volume would come back if the power went at this
    /// instant.
    pub fn recovery(&self, out: &mut Vec<RecoveryRead>) {
        if let Some(kept) = self.placement.persistent() {
            kept.recovery(out);
        }
    }

    /// What the write buffer has, in runs of blocks by address. Whoever moves bytes keeps those of
    /// these blocks in NVRAM, by their address.
    pub fn in_buffer(&self, out: &mut Vec<Extent>) {
        if let Some(memory) = &self.memory {
            memory.in_buffer(out);
        }
    }

    /// How much the write buffer has; nothing if there is none.
    pub fn buffered(&self) -> Option<Buffered> {
        self.memory.as_ref()?.buffered()
    }

    /// Whether a drive has said that it is gone.
    pub fn is_gone(&self, drive: DriveId) -> bool {
        self.queues[drive.index()].gone
    }

    /// What its parts have counted so far: the key of a kind, one of its measures, and a number.
    /// Each drive has a scheduler and an oracle of its own; what they tell adds up.
    pub fn tell(&self, told: &mut dyn FnMut(&'static str, &'static Measure, u64)) {
        let key = <dyn Placement as Kind>::CARD.key;
        self.placement
            .tell(&mut |measure, number| told(key, measure, number));
        for queue in &self.queues {
            queue.tell(told);
        }
        if let Some(memory) = &self.memory {
            memory.tell(told);
        }
    }

    fn tag(&self, io: IoId) -> Tag {
        self.graph.io(io).tag
    }

    fn timer(&mut self, now: Instant) {
        let mut from = 0;
        while let Some(index) = self.timers.due_by(now, from) {
            self.pump(now, DriveId(index as u16));
            from = index + 1;
        }
        if self.placement.next_timer().is_some_and(|due| due <= now) {
            let mut plan = self.plans.pop().unwrap_or_default();
            self.placement.timer(now, &mut plan);
            self.note_opened(&plan);
            self.accept(now, None, &plan);
            self.tell_all(now, &mut plan);
            self.pump_all(now, plan);
        }
        if let Some(memory) = &mut self.memory {
            memory.timer(now);
        }
    }

    fn choose(&mut self, now: Instant) {
        self.choice = None;
        let mut drives = std::mem::take(&mut self.put_off);
        for drive in drives.drain(..) {
            self.queues[drive.index()].put_off = false;
            self.start(now, drive);
        }
        // What started may have ended at once, and so have let others begin: their drives choose at
        // this instant once more.
        drives.append(&mut self.put_off);
        self.put_off = drives;
    }

    /// Whatever lets a queue want another instant than before is followed by this.
    #[inline]
    fn note_timer(&mut self, drive: DriveId) {
        let index = drive.index();
        self.timers.set(index, self.queues[index].timer);
    }
}
