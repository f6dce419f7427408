//! Budget fair queueing: no client ruins another's latency, and who is waited for by a person is
//! favoured.
//!
//! Every process has a queue; writes that nobody waits for share one for each group and priority.
//! Queues are served in turns:
//!
//! ```text
//! wf2q       who has the next turn: shares by weight, whatever the budgets
//! turn       how much a turn may take, why it ends, what it is charged as
//! idling     when the drive waits for the queue that is served, though others have requests
//! inject     what of others may be served meanwhile
//! raise      whose weight is raised for a while: interactive and soft real-time processes
//! burst      who is not favoured, as too many came at once
//! merge      whose queues become one
//! homes      who puts its requests where
//! rate       how fast the drive is at best
//! totals     what is counted over all queues
//! ```
//!
//! What is shared with `cfq` lies beside this folder: which request of a queue goes next
//! (`waiting.rs`), what is known of a process (`habits.rs`), whether the drive has a queue
//! (`queueing.rs`). Facts are those of `block/bfq-iosched.c`, Linux 6.12, with its constants,
//! restated. A process is a stream; streams never end. Differently from there: one that asks for
//! less than 16 KiB while it is waited for is served at once (Linux holds that back until the drive
//! is asked again, which is at once, too); nothing is known of requests for metadata; a group is
//! charged once a turn (`wf2q.rs`); of those that may be injected, the one that has been busy
//! longest comes first; there is one actuator. O(log n) in queues for each I/O, but for a search
//! for what may be injected, which looks at those that are busy until it finds one; nothing is
//! allocated once there are as many queues as there get.

mod burst;
mod card;
mod claim;
mod homes;
mod idling;
mod inject;
mod merge;
mod queue;
mod raise;
mod rate;
mod totals;
mod turn;
mod wf2q;

mod tests;

pub(super) use self::card::SPEC;

use slab::Slab;

use self::burst::Burst;
use self::card::{MEASURES, Settings};
use self::claim::{Claim, QueueKey};
use self::homes::{Group, Home, OVER_SHARE};
use self::idling::Idling;
use self::inject::Measuring;
use self::merge::{Position, Process};
use self::queue::Queue;
use self::rate::Rate;
use self::totals::Totals;
use self::turn::{Turn, Why};
use self::wf2q::Fair;
use super::queueing::Queueing;
use super::waiting::Arrival;
use crate::contract::{Next, Queued, Scheduler, View};
use crate::ids::{GroupId, IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::list::{List, Pool};
use crate::measure::Tell;
use crate::op::Op;
use crate::registry::Knobs;
use crate::sorted::Sorted;
use crate::stream::{Class, Streams};
use crate::units::{Duration, Instant, Pba};

struct Bfq {
    set: Settings,
    rotational: bool,

    fair: Fair,
    queues: Slab<Queue>,
    /// Queues that were ever made.
    born: u32,
    /// The queue of an entity.
    by_entity: Vec<QueueKey>,
    /// The queue that an I/O is in, or was when it went to the drive.
    homes: Vec<Option<Home>>,
    /// Requests that joined though their process had its share of the places.
    over_share: u64,
    processes: Vec<Process>,
    /// Queues of writes that nobody waits for, in the order of what they may claim.
    asyncs: Vec<((GroupId, Class, u8), QueueKey)>,
    groups: Vec<Option<Group>>,
    /// Queues without processes, which are gone when nothing of them is left.
    orphans: Vec<QueueKey>,

    arrivals: Pool<Arrival>,
    busy: Pool<QueueKey>,
    busy_list: List,
    positions: Sorted<Position>,
    totals: Totals,

    in_service: Option<QueueKey>,
    turn: Turn,
    idling: Option<Idling>,
    /// A smoothed count of turns.
    assigned: u64,
    in_drive: u32,
    /// Where the last request ended that went to the drive, and the last one of the queue that is
    /// served.
    last_end: Pba,
    served_end: Pba,
    /// The queue that was answered last, if it is one process's.
    answered_last: Option<QueueKey>,
    /// The queue that was created last, of those that may belong together.
    created_last: Option<QueueKey>,

    rate: Rate,
    queueing: Queueing,
    burst: Burst,
    measuring: Measuring,

    /// What is counted of a run.
    turns: u64,
    injected: u64,
    idled: u64,
    raised: u64,
    merged: u64,
}

impl Bfq {
    fn new(knobs: &Knobs, rotational: bool) -> Bfq {
        Bfq {
            set: Settings::of(knobs),
            rotational,
            fair: Fair::default(),
            queues: Slab::new(),
            born: 0,
            by_entity: Vec::new(),
            homes: Vec::new(),
            over_share: 0,
            processes: Vec::new(),
            asyncs: Vec::new(),
            groups: Vec::new(),
            orphans: Vec::new(),
            arrivals: Pool::default(),
            busy: Pool::default(),
            busy_list: List::default(),
            positions: Sorted::default(),
            totals: Totals::default(),
            in_service: None,
            turn: Turn::NONE,
            idling: None,
            assigned: 0,
            in_drive: 0,
            last_end: Pba(0),
            served_end: Pba(0),
            answered_last: None,
            created_last: None,
            rate: Rate::new(rotational),
            queueing: Queueing::new(3, 33),
            burst: Burst::default(),
            measuring: Measuring::default(),
            turns: 0,
            injected: 0,
            idled: 0,
            raised: 0,
            merged: 0,
        }
    }

    fn alive(&self, key: QueueKey) -> Option<&Queue> {
        let queue = self.queues.get(key.place as usize);
        queue.filter(|queue| queue.born == key.born)
    }

    fn alive_mut(&mut self, key: QueueKey) -> Option<&mut Queue> {
        let queue = self.queues.get_mut(key.place as usize);
        queue.filter(|queue| queue.born == key.born)
    }

    #[inline]
    fn queue(&self, key: QueueKey) -> &Queue {
        &self.queues[key.place as usize]
    }

    #[inline]
    fn queue_mut(&mut self, key: QueueKey) -> &mut Queue {
        &mut self.queues[key.place as usize]
    }

    fn keys(&self) -> impl Iterator<Item = QueueKey> {
        let key = |(place, queue): (usize, &Queue)| QueueKey {
            place: place as u32,
            born: queue.born,
        };
        self.queues.iter().map(key)
    }

    /// Whether nothing turns, and the drive has a queue of its own.
    #[inline]
    fn is_flash(&self) -> bool {
        !self.rotational && self.queueing.surely()
    }

    fn process_mut(&mut self, stream: StreamId) -> &mut Process {
        let index = stream.index();
        if self.processes.len() <= index {
            self.processes.resize_with(index + 1, Process::default);
        }
        &mut self.processes[index]
    }

    /// The weight of a queue follows from what it claims and how it is favoured.
    fn reweigh(&mut self, key: QueueKey) {
        let Queue {
            entity,
            claim,
            raise,
            ..
        } = *self.queue(key);
        self.fair
            .reweigh(entity, claim.class, claim.weight * raise.factor);
        self.recount(key);
    }

    fn now_busy(&mut self, key: QueueKey) {
        let listed = self.busy.push_back(&mut self.busy_list, key);
        let queue = self.queue_mut(key);
        (queue.busy, queue.listed) = (true, Some(listed));
        self.recount(key);
    }

    fn no_longer_busy(&mut self, key: QueueKey) {
        let queue = self.queue_mut(key);
        queue.busy = false;
        let listed = queue.listed.take().expect("it was busy");
        self.busy.remove(&mut self.busy_list, listed);
    }

    /// What came due before this input.
    fn catch_up(&mut self, now: Instant) {
        if let Some(idling) = self.idling.take_if(|idling| now >= idling.until) {
            self.idled(idling.until, idling.began);
        }
        if !self.orphans.is_empty() {
            self.drop_orphans();
        }
    }

    fn home_of_io(&self, id: IoId) -> QueueKey {
        let home = self.homes[id.index()];
        home.expect("an I/O is in a queue").key
    }

    /// Whether somebody waits for an I/O, or it is to be taken as if.
    fn is_sync(&self, io: &Io) -> bool {
        io.sync || self.set.own_writes
    }

    /// What a request says of who asks.
    fn learn_habits(&mut self, now: Instant, key: QueueKey, io: &Io) {
        let (slice_idle, first_think) = (self.set.slice_idle, self.set.first_think);
        let settled = self.settled(now, key);
        let rotational = self.rotational;
        let queue = self.queue_mut(key);
        if queue.is_idle() {
            let since = queue.answered.map(|answered| now.since(answered));
            queue
                .habits
                .thought(since.unwrap_or(first_think), slice_idle);
        }
        let idles = queue.sync && queue.claim.class != Class::Idle && slice_idle > Duration::ZERO;
        let short = queue.habits.is_soon_back(slice_idle);
        let changes = idles && settled && short != queue.habits.thinks_short;
        if changes {
            queue.habits.thinks_short = short;
        }
        queue.habits.asked_at(rotational, io.at, io.len);
        if changes {
            self.thinks_otherwise(now, key);
        }
        self.end_favour_of_seeky(now, key);
    }

    /// A request joins its queue.
    fn join(&mut self, now: Instant, key: QueueKey, io: &Io) {
        self.learn_habits(now, key, io);
        let process = self.process_mut(io.stream);
        process.underway += 1;
        let alone = process.underway <= 1;
        if self.queue(key).sync {
            if alone {
                self.measure_from(now, key);
            }
            let queue = self.queue_mut(key);
            let nothing = queue.waiting.is_empty() && queue.dispatched == 0;
            let since = queue.answered.filter(|_| nothing);
            queue.habits.worked(now, since, queue.new);
        }
        let (reach, from) = (self.set.reach, self.last_end);
        let expires = match self.queue(key).sync {
            true => self.set.expire_sync,
            false => self.set.expire_async,
        };
        let queue = &mut self.queues[key.place as usize];
        let before = queue.waiting.next().map(|next| next.id);
        let name = (io.id, io.stream, io.sequence);
        let span = (io.at, io.len);
        queue
            .waiting
            .insert(&mut self.arrivals, name, span, now + expires, (reach, from));
        queue.habits.last_end = Some(io.at + io.len);
        let changed = queue.waiting.next().map(|next| next.id) != before;
        let (busy, raised, group) = (queue.busy, queue.raise.is_raised(), queue.claim.group);
        *self.allocated_mut(group) += 1;
        if !busy {
            self.becomes_busy(now, key);
        } else {
            if self.set.low_latency && !raised {
                self.favour_async(now, key);
                self.queue_mut(key).raise.began = now;
            }
            if changed {
                self.next_has_changed(now, key);
            }
        }
        if !raised && self.queue(key).raise.is_raised() {
            self.raised += 1;
        }
        if self.in_service == Some(key) && self.idling.is_some() {
            self.waited_for(now);
        }
    }

    /// A request that is next goes to the drive.
    fn start(&mut self, now: Instant, key: QueueKey) -> IoId {
        let next = self.queue(key).waiting.next().expect("it has a request");
        let charge = self.charge_of(key, &next);
        self.serve(now, key, charge);
        self.rate.dispatched(now, next.at, next.len, self.in_drive);
        self.last_end = next.end();
        let served = self.in_service == Some(key);
        let reach = self.set.reach;
        let queue = &mut self.queues[key.place as usize];
        let checks = &mut queue.checks_oldest;
        let stop = queue.waiting.serve(&mut self.arrivals, reach, now, checks);
        queue.dispatched += 1;
        self.in_drive += 1;
        if served {
            self.served_end = stop.end();
            self.measure_with(stop.id);
            self.end_favour(now, key);
            self.reweigh(key);
            let queue = self.queue(key);
            if queue.claim.class == Class::Idle && self.busy_total() > 1 {
                self.expire(now, Why::Exhausted, now);
            }
        } else {
            self.injected += 1;
            self.empties(now, key);
        }
        stop.id
    }

    /// A queue that is not being served has lost a request: it may have none left.
    fn empties(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue(key);
        if queue.waiting.is_empty() && queue.busy && self.in_service != Some(key) {
            let entity = queue.entity;
            self.fair.withdraw(now, entity);
            self.queue_mut(key).kept = None;
            self.no_longer_busy(key);
            self.recount(key);
        } else {
            self.next_has_changed(now, key);
        }
    }

    /// An I/O is no longer here, nor on the drive.
    fn let_go(&mut self, io: &Io) -> QueueKey {
        let home = self.homes[io.id.index()].take();
        let Home { key, over } = home.expect("what leaves has come");
        self.over_share -= u64::from(over);
        self.process_mut(io.stream).underway -= 1;
        *self.allocated_mut(self.queue(key).claim.group) -= 1;
        key
    }

    /// The queue that is served was answered.
    fn served_is_answered(&mut self, now: Instant, key: QueueKey) {
        let empty = self.queue(key).waiting.is_empty();
        let on_drive = self.queue(key).dispatched > 0;
        let waits = empty && self.better_to_idle(key);
        if waits {
            if !on_drive && self.idling.is_none() {
                self.begin_idling(now, key);
                self.idled += 1;
            }
        } else if self.may_time_out(now, key) {
            self.expire(now, Why::Timeout, now);
        } else if empty {
            self.expire(now, Why::NoMore, now);
        }
    }
}

impl Scheduler for Bfq {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.catch_up(now);
        let stream = streams.of(io.stream);
        let claim = Claim::of(&stream);
        self.group_mut(claim.group, u64::from(stream.weight).max(1));
        self.process_mut(io.stream).claim = Some(claim);
        let key = match self.is_sync(io) {
            true => {
                let own = self.home(now, io.stream, claim);
                self.cooperator(now, io.stream, own, io.at)
            }
            false => self.async_home(now, claim),
        };
        let index = io.id.index();
        if self.homes.len() <= index {
            self.homes.resize(index + 1, None);
        }
        let limit = self.limit_of(io);
        let over = limit.is_some_and(|limit| self.is_over(io, self.is_sync(io), limit));
        self.over_share += u64::from(over);
        self.homes[index] = Some(Home { key, over });
        self.join(now, key, io);
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        let Some(limit) = self.limit_of(io).filter(|_| queued.all() > 0) else {
            return true;
        };
        let over = || self.is_over(io, self.is_sync(io), limit);
        u64::from(queued.all()) < limit && (self.over_share < OVER_SHARE || !over())
    }

    fn limits_streams(&self) -> bool {
        true
    }

    fn is_full(&self, op: Op, sync: bool, queued: &Queued) -> bool {
        let limit = self.limit(op, sync || self.set.own_writes);
        limit.is_some_and(|limit| queued.all() > 0 && u64::from(queued.all()) >= limit)
    }

    fn keeps_apart(&self) -> bool {
        true
    }

    fn grown(&mut self, now: Instant, before: &Io, after: &Io, _streams: &Streams) {
        self.catch_up(now);
        let key = self.home_of_io(after.id);
        let (reach, from) = (self.set.reach, self.last_end);
        let queue = &mut self.queues[key.place as usize];
        let (was, is) = ((before.at, before.sequence), (after.at, after.len));
        queue
            .waiting
            .grow(&mut self.arrivals, was, is, (reach, from));
        queue.habits.last_end = Some(after.at + after.len);
        self.next_has_changed(now, key);
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.catch_up(now);
        let key = self.let_go(io);
        let reach = self.set.reach;
        let queue = &mut self.queues[key.place as usize];
        queue
            .waiting
            .withdraw(&mut self.arrivals, (io.at, io.sequence), reach);
        self.empties(now, key);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let now = view.now;
        self.catch_up(now);
        let rests = view.in_flight == 0;
        if self.arrivals.is_empty() || self.set.strict && !rests {
            return Next::Empty;
        }
        if let Some(key) = self.select(now, rests) {
            return Next::Start(self.start(now, key));
        }
        self.idling
            .map_or(Next::Empty, |idling| Next::WaitUntil(idling.until))
    }

    fn done(&mut self, now: Instant, io: &Io, _done: &DriveDone, _streams: &Streams) {
        self.catch_up(now);
        let key = self.let_go(io);
        self.measured(now, key, io.id);
        let waiting = self.arrivals.len() as u32;
        let served = self.in_service.map(|key| self.queue(key));
        let served = served.filter(|queue| queue.habits.thinks_short);
        let served = served.map(|queue| queue.allocated() as u32);
        self.queueing.look(self.in_drive, waiting, served);
        self.in_drive -= 1;
        let queue = self.queue_mut(key);
        queue.dispatched -= 1;
        queue.answered = Some(now);
        if queue.is_idle() {
            queue.emptied = Some(now);
        }
        self.answered_last = (!queue.shared).then_some(key);
        self.rate.completed(now);
        self.recount(key);
        self.answer_says(now, key);
        if self.in_service == Some(key) {
            self.served_is_answered(now, key);
        }
    }

    fn len(&self) -> usize {
        self.arrivals.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        let told = [
            self.turns,
            self.idled,
            self.injected,
            self.raised,
            self.merged,
        ];
        for (measure, number) in MEASURES.iter().zip(told) {
            tell(measure, number);
        }
    }

    fn audit(&self) {
        self.fair.audit();
        self.audit_totals();
        let waiting: usize = self
            .queues
            .iter()
            .map(|(_, queue)| queue.waiting.len())
            .sum();
        assert_eq!(waiting, self.arrivals.len(), "a request is in one queue");
        let on_drive: u32 = self.queues.iter().map(|(_, queue)| queue.dispatched).sum();
        assert_eq!(on_drive, self.in_drive);
        for (_, queue) in &self.queues {
            queue.waiting.audit(&self.arrivals);
            assert!(queue.busy || queue.waiting.is_empty(), "it waits in vain");
            assert_eq!(queue.busy, queue.listed.is_some());
        }
    }
}
