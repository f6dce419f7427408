//! One drive's queue: what waits, what runs, and what may be known of the drive.
//!
//! The way of an I/O: if it may, it joins one that waits ([`Merger`]); else it waits in the room
//! before the scheduler until that admits it ([`Room`]); then in the scheduler, until the drive has
//! room for a command.

use std::collections::VecDeque;
use std::ops::Range;

use super::graph::{Graph, Standing};
use super::merger::{Grown, Merger};
use super::room::{Held, Room};
use crate::contract::{Merging, Next, Oracle, Queued, Scheduler, View};
use crate::freemap::{FreeMap, Slot};
use crate::ids::IoId;
use crate::io::{Command, DriveDone, Io};
use crate::measure::Measure;
use crate::offer::Seen;
use crate::op::{Failure, Op, Status};
use crate::position::Search;
use crate::registry::Kind;
use crate::sorted::Keyed;
use crate::stack::Lane;
use crate::stream::Streams;
use crate::units::{Blocks, Instant, Pba};
use crate::zones::Zones;

/// How every command ends on a drive that is gone.
pub(super) const GONE: Status = Status::Failed(Failure::Gone);

/// The part of the stack above one drive.
///
/// Of many drives, each is seldom asked twice while the processor has in its caches what it read of
/// it. So here is what every I/O looks at, in two lines of them; what few I/Os need lies elsewhere.
#[repr(align(64))]
pub(super) struct Queue {
    scheduler: Box<dyn Scheduler>,
    pub(super) oracle: Box<dyn Oracle>,
    capacity: Blocks,
    /// None if every I/O is a command of its own.
    merger: Option<Box<Merger>>,
    /// Commands that were spared by merging.
    spared: u64,
    /// I/Os that the scheduler has admitted.
    queued: Queued,
    /// What waits outside the scheduler; none as long as nothing ever did.
    outside: Option<Box<Outside>>,
    /// Commands that the drive has.
    in_flight: u32,
    /// Commands that it may have.
    depth: u32,
    /// Whether the arm is moved for the I/O that follows, which may change until it is there.
    arm_moves: bool,
    /// Whether the drive has said that it is gone.
    pub(super) gone: bool,
    /// When a scheduler that waits wants to be asked again.
    pub(super) timer: Option<Instant>,
    /// Whether its drive waits with its choice.
    pub(super) put_off: bool,
    /// Whether the drive chooses the places of range writes.
    pub(super) lands: bool,
    /// How far the zones of the drive are written, as far as it was heard; none if it has none.
    zones: Option<Box<Zones>>,
}

/// What waits outside a scheduler.
#[derive(Default)]
struct Outside {
    /// I/Os that the scheduler has not admitted.
    room: Room,
    /// Flushes and discards pass the scheduler by: what they are about has been answered already,
    /// or waits for them elsewhere.
    flushes: VecDeque<IoId>,
    /// Open I/Os that a scheduler started while no slot was free, and whether requests wait for
    /// them. They take no room from others: what is kept out may be the read that a slot is kept
    /// for.
    stalled: VecDeque<(IoId, bool)>,
}

impl Outside {
    /// I/Os in the room.
    fn held(&self) -> usize {
        self.room.len()
    }

    /// All that wait.
    fn len(&self) -> usize {
        self.flushes.len() + self.stalled.len() + self.held()
    }
}

/// What the drive is to do now.
pub(super) enum Dispatch {
    Io(IoId),
    /// An open I/O in this slot.
    Place(IoId, Slot),
    /// A range write at this block.
    Land(IoId, Pba),
    /// A range write whose place the drive chooses.
    Offer(IoId),
    /// A range write of whose offer nothing is left.
    Exhausted(IoId),
    Arm(Command),
}

impl Queue {
    /// The blocks of the drive that the end of a command has freed, by the reset of zones.
    pub(super) fn freed(&self, done: &DriveDone) -> Option<Range<u64>> {
        self.zones.as_ref()?.shape().freed(done)
    }

    /// Blocks of the longest range write.
    pub(super) fn range_write_max(&self) -> Blocks {
        let zones = self.zones.as_ref();
        zones.map_or(Blocks(u64::MAX), |zones| Blocks(zones.shape().longest()))
    }

    /// How many places a range write may offer its scheduler. Those on zones are their pointers, so
    /// few that every scheduler may list them.
    pub(super) fn places_max(&self) -> u64 {
        match self.zones {
            None => self.scheduler.places_max(),
            Some(_) => u64::MAX,
        }
    }

    pub(super) fn new(lane: Lane) -> Queue {
        let Lane {
            scheduler,
            oracle,
            capacity,
            depth,
            merging,
            lands,
            zones,
        } = lane;
        let merger = match merging {
            Merging::None => None,
            Merging::Contiguous { most, front } => {
                Some(Box::new(Merger::new(most, front, scheduler.keeps_apart())))
            }
        };
        Queue {
            scheduler,
            oracle,
            capacity,
            merger,
            spared: 0,
            queued: Queued::default(),
            outside: None,
            in_flight: 0,
            depth,
            arm_moves: false,
            gone: false,
            timer: None,
            put_off: false,
            lands,
            zones: zones.map(|shape| Box::new(Zones::new(shape))),
        }
    }

    pub(super) fn insert(&mut self, now: Instant, io: &Io, standing: Standing, streams: &Streams) {
        if passes_by(io.op) {
            return self.outside().flushes.push_back(io.id);
        }
        if !standing.asked {
            return self.scheduler.insert(now, io, streams);
        }
        let merges = standing.merges && self.merger.is_some();
        if merges && self.join(now, io, streams) {
            return self.readmit(now, streams);
        }
        if self.is_first(io) && self.scheduler.admits(io, &self.queued) {
            self.admit(now, io, merges, streams);
        } else {
            self.outside().room.insert(Held { io: *io, merges });
        }
    }

    /// Whether nobody waits to be admitted in the line of an I/O.
    #[inline]
    fn is_first(&self, io: &Io) -> bool {
        let outside = self.outside.as_ref();
        outside.is_none_or(|outside| outside.room.is_free_for(io))
    }

    /// What waits outside the scheduler.
    fn outside(&mut self) -> &mut Outside {
        let by_stream = self.scheduler.limits_streams();
        self.outside.get_or_insert_with(|| {
            Box::new(Outside {
                room: Room::new(by_stream),
                ..Outside::default()
            })
        })
    }

    /// Lets an I/O wait that was merged with others before: now by itself, and without being asked
    /// about once more.
    pub(super) fn insert_alone(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.admit(now, io, false, streams);
    }

    #[inline]
    fn admit(&mut self, now: Instant, io: &Io, merges: bool, streams: &Streams) {
        self.queued.count(io.op, 1);
        if let Some(merger) = self.merger.as_mut().filter(|_| merges) {
            merger.insert(io, streams.of(io.stream).group);
        }
        self.scheduler.insert(now, io, streams);
    }

    /// Makes an I/O a part of one that waits, if it continues one.
    fn join(&mut self, now: Instant, io: &Io, streams: &Streams) -> bool {
        let group = streams.of(io.stream).group;
        let merger = self.merger.as_mut().expect("there is one");
        let Some(grown) = merger.join(io, group) else {
            return false;
        };
        let Grown {
            before,
            after,
            gone,
        } = &grown;
        if let Some(gone) = gone {
            self.scheduler.withdraw(now, gone);
            self.queued.count(gone.op, -1);
        }
        self.scheduler.grown(now, before, after, streams);
        true
    }

    /// A command of so many parts has ended. One that failed on the medium spares nothing, as each
    /// of its parts is tried by itself; so it is not counted before.
    pub(super) fn spared_by(&mut self, parts: usize) {
        self.spared += parts as u64 - 1;
    }

    /// Admits what there is room for.
    #[inline]
    fn readmit(&mut self, now: Instant, streams: &Streams) {
        if self.held() > 0 {
            self.admit_more(now, streams);
        }
    }

    fn admit_more(&mut self, now: Instant, streams: &Streams) {
        while let Some(held) = self.admissible() {
            self.outside().room.take(&held.io);
            if !(held.merges && self.join(now, &held.io, streams)) {
                self.admit(now, &held.io, held.merges, streams);
            }
        }
    }

    /// What it, its scheduler and its oracle have counted so far.
    pub(super) fn tell(&self, told: &mut dyn FnMut(&'static str, &'static Measure, u64)) {
        let key = <dyn Scheduler as Kind>::CARD.key;
        self.scheduler
            .tell(&mut |measure, number| told(key, measure, number));
        let key = <dyn Oracle as Kind>::CARD.key;
        self.oracle
            .tell(&mut |measure, number| told(key, measure, number));
        if self.merger.is_some() {
            let key = <Merging as Kind>::CARD.key;
            told(key, &Merging::MEASURES[0], self.spared);
        }
    }

    /// Of the oldest of each line, the oldest that is admitted.
    fn admissible(&self) -> Option<Held> {
        let mut found: Option<&Held> = None;
        for mut of_class in self.outside.as_ref()?.room.oldest() {
            let Some(oldest) = of_class.next() else {
                continue;
            };
            let Io { op, sync, .. } = oldest.io;
            if self.scheduler.is_full(op, sync, &self.queued) {
                continue;
            }
            let before = found.map_or(u64::MAX, Keyed::key);
            let all = std::iter::once(oldest).chain(of_class);
            let mut older = all.take_while(|held| held.key() < before);
            let admitted = older.find(|held| self.scheduler.admits(&held.io, &self.queued));
            found = admitted.or(found);
        }
        found.copied()
    }

    /// Another drive has begun what waits here too, or it is open and now gets an address.
    pub(super) fn withdraw(&mut self, now: Instant, io: &Io, asked: bool, streams: &Streams) {
        if let Some(outside) = &mut self.outside {
            if asked && outside.room.take(io).is_some() {
                // It may have been the oldest, which alone is asked about.
                return self.readmit_here(now, streams);
            }
            // Nothing else ever waits there: alternatives that are taken back are reads.
            let stalled = || outside.stalled.iter().position(|(id, _)| *id == io.id);
            if let Some(index) = io.open.then(stalled).flatten() {
                outside.stalled.remove(index);
                return;
            }
        }
        self.scheduler.withdraw(now, io);
        if asked {
            self.queued.count(io.op, -1);
            self.readmit_here(now, streams);
        }
    }

    /// Admits what there is room for, though no input comes here.
    fn readmit_here(&mut self, now: Instant, streams: &Streams) {
        if self.held() > 0 {
            self.readmit(now, streams);
            // Who was admitted has to be asked for.
            if !self.full() {
                self.timer = Some(now);
            }
        }
    }

    /// I/Os in the room.
    #[inline]
    fn held(&self) -> usize {
        self.outside.as_ref().map_or(0, |outside| outside.held())
    }

    /// I/Os that wait here; those that were merged count as one.
    pub(super) fn len(&self) -> usize {
        self.scheduler.len() + self.outside.as_ref().map_or(0, |outside| outside.len())
    }

    /// I/Os that run or wait here.
    pub(super) fn outstanding(&self) -> usize {
        self.len() + self.in_flight as usize
    }

    /// Whether the drive has all the commands that it may have.
    pub(super) fn full(&self) -> bool {
        self.in_flight >= self.depth || self.arm_moves
    }

    /// Whether the drive has no command.
    pub(super) fn resting(&self) -> bool {
        self.in_flight == 0
    }

    /// Asks what goes next, if the drive has room. `graph` knows which I/Os are open; `free` are
    /// the slots where these may land.
    pub(super) fn next(
        &mut self,
        now: Instant,
        free: Option<&FreeMap>,
        (graph, offers): (&Graph, Seen<'_>),
        streams: &Streams,
    ) -> Option<Dispatch> {
        if self.full() {
            return None;
        }
        self.timer = None;
        let outside = self.outside.as_mut();
        if let Some(flush) = outside.and_then(|outside| outside.flushes.pop_front()) {
            return Some(Dispatch::Io(flush));
        }
        self.oracle.advance(now);
        if self.outside.is_some()
            && let Some(next) = self.next_stalled(now, free)
        {
            return Some(next);
        }
        loop {
            let view = View {
                now,
                oracle: &*self.oracle,
                capacity: self.capacity,
                free,
                offers: within(self.zones.as_deref(), offers),
                in_flight: self.in_flight,
                depth: self.depth,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) if graph.io(id).io.open => match self.nearest(now, free) {
                    Some(slot) => return Some(Dispatch::Place(id, slot)),
                    None => self.stall(now, id, graph.step(id).standing(id).asked, streams),
                },
                Next::Start(id) => {
                    let offer = graph.io(id).io.offer;
                    return Some(offer.map_or(Dispatch::Io(id), |offer| {
                        let landing = || view.nearest_offered(offer, Instant::NEVER);
                        self.lands_at(id, || landing().map(|landing| landing.at))
                    }));
                }
                Next::Land(id, at) => return Some(self.lands_at(id, || Some(at))),
                Next::Place(id, slot) => return Some(Dispatch::Place(id, slot)),
                Next::Seek(at) => {
                    return Some(Dispatch::Arm(Command::seek(at)));
                }
                Next::WaitUntil(instant) => {
                    assert!(
                        instant > now,
                        "a scheduler waits until {instant}, which is past at {now}"
                    );
                    self.timer = Some(instant);
                    return None;
                }
                Next::Empty => return None,
            }
        }
    }

    /// A range write starts, at this block if its drive does not choose by itself, which then knows
    /// better.
    fn lands_at(&self, id: IoId, at: impl FnOnce() -> Option<Pba>) -> Dispatch {
        if self.lands {
            return Dispatch::Offer(id);
        }
        at().map_or(Dispatch::Exhausted(id), |at| Dispatch::Land(id, at))
    }

    /// The oldest open I/O that waits for a slot, if one is free.
    fn next_stalled(&mut self, now: Instant, free: Option<&FreeMap>) -> Option<Dispatch> {
        self.outside.as_ref()?.stalled.front()?;
        let slot = self.nearest(now, free)?;
        let (id, asked) = self.outside().stalled.pop_front()?;
        self.queued.count(Op::Write, i32::from(asked));
        Some(Dispatch::Place(id, slot))
    }

    /// An open I/O waits for a slot.
    fn stall(&mut self, now: Instant, id: IoId, asked: bool, streams: &Streams) {
        self.outside().stalled.push_back((id, asked));
        if asked {
            self.queued.count(Op::Write, -1);
            self.readmit(now, streams);
        }
    }

    /// The free slot that the heads reach first.
    fn nearest(&self, now: Instant, free: Option<&FreeMap>) -> Option<Slot> {
        let free = free.expect("who plans open I/Os says where they may land");
        let free_place = self.oracle.nearest_free(&Search::anywhere(now), free);
        free_place.map(|free_place| free_place.slot)
    }

    /// An I/O starts. If others were merged with it, what their command is to do.
    #[inline]
    pub(super) fn merged(&mut self, id: IoId) -> Option<Io> {
        self.merger.as_mut()?.started(id)
    }

    /// The I/Os of a command that was merged and has started.
    pub(super) fn parts(&self, id: IoId) -> impl Iterator<Item = IoId> {
        self.merger.iter().flat_map(move |merger| merger.parts(id))
    }

    /// A command starts. It comes by value: the oracle reads a copy, so the caller can write its
    /// own straight into the action.
    #[inline]
    pub(super) fn started(&mut self, now: Instant, command: Command) {
        self.in_flight += 1;
        self.arm_moves = command.io == Command::ARM;
        // Its scheduler is asked when a command ends.
        if self.full() {
            self.timer = None;
        }
        if !self.is_refused(&command) {
            self.oracle.started(now, &command);
        }
    }

    /// Whether the drive will not do what it is told, as its zones are written otherwise. That is
    /// known of one which does a command at a time.
    #[inline]
    fn is_refused(&self, command: &Command) -> bool {
        let zones = self.zones.as_ref().filter(|_| !self.lands);
        zones.is_some_and(|zones| zones.refuses(command))
    }

    /// Whether the drive has said before that it is gone, and says otherwise now, as after a reset.
    /// Nobody has kept account of what lies there meanwhile, so it stays gone.
    #[inline]
    pub(super) fn takes_back(&mut self, status: Status) -> bool {
        let is_gone = status == GONE;
        self.gone |= is_gone;
        self.gone && !is_gone
    }

    /// The drive has moved its arm.
    pub(super) fn arm_moved(&mut self, now: Instant, done: &DriveDone) {
        self.oracle.observed(now, done);
        self.arm_moves = false;
        self.leave(done);
    }

    /// A command has ended, but the drive counts as busy until [`Queue::leave`]. The names of the
    /// I/Os that it carried out go to `parts` if these are several.
    pub(super) fn done(
        &mut self,
        now: Instant,
        (io, asked): (&Io, bool),
        done: &DriveDone,
        streams: &Streams,
        parts: &mut Vec<IoId>,
    ) {
        let refused = !self.lands && done.is_refused();
        if !refused {
            self.oracle.observed(now, done);
        }
        if let Some(zones) = &mut self.zones {
            zones.heard(done);
        }
        if passes_by(io.op) {
            return;
        }
        let merger = self.merger.as_mut();
        let whole = merger.and_then(|merger| merger.ended(io.id, parts));
        let io = whole.as_ref().unwrap_or(io);
        self.has_ended(now, (io, asked), done, streams);
    }

    /// An I/O that the scheduler has started has ended, if it got a command or not.
    #[inline]
    pub(super) fn has_ended(
        &mut self,
        now: Instant,
        (io, asked): (&Io, bool),
        done: &DriveDone,
        streams: &Streams,
    ) {
        self.scheduler.done(now, io, done, streams);
        if asked {
            self.queued.count(io.op, -1);
            self.readmit(now, streams);
        }
    }

    /// The drive is rid of a command.
    pub(super) fn leave(&mut self, done: &DriveDone) {
        assert!(self.in_flight > 0, "an idle drive completed {:?}", done.io);
        self.in_flight -= 1;
    }

    /// Whether something waits that could run on a drive which does nothing: with a slot that is
    /// free, if it has to have one.
    pub(super) fn forgets(&self, free: Option<&FreeMap>) -> bool {
        let has_slot = free.is_none_or(|free| free.free() > 0);
        self.resting() && !self.full() && self.timer.is_none() && self.len() > 0 && has_slot
    }

    pub(super) fn audit(&self) {
        self.scheduler.audit();
        self.merger.iter().for_each(|merger| merger.audit());
        let rooms = self.outside.iter().map(|outside| &outside.room);
        for held in rooms.flat_map(|room| room.oldest()).flatten() {
            assert!(
                !self.scheduler.admits(&held.io, &self.queued),
                "{:?} waits to be admitted, and would be",
                held.io.id
            );
        }
    }
}

/// Range writes as they are seen on a drive whose zones are written so far.
#[inline]
fn within<'a>(zones: Option<&'a Zones>, offers: Seen<'a>) -> Seen<'a> {
    match zones {
        None => offers,
        Some(zones) => offers.within(zones),
    }
}

/// Whether an I/O passes the scheduler by, which knows reads and writes.
fn passes_by(op: Op) -> bool {
    matches!(op, Op::Flush | Op::Discard)
}
