//! Complete fairness by time: each process has the drive for a while, in turns, as Linux's CFQ gave
//! it.
//!
//! ```text
//! group         the one with the least virtual time; time is shared by weight ([`groups`])
//! class         of a group, real-time, best effort, idle: strictly one after the other
//! workload      of a class, three trees take turns: those that are waited for, those that seek (one after the other, without waiting for each), and writes
//!               that nobody waits for. A tree has its part of 300 ms by how many of all queues are in it; the last one only 40 of 100 of that ([`trees`])
//! slice         of a tree, the queue that has waited longest has the drive for 100 ms (40 of writes; more with a lower level), less where many share 300 ms.
//!               Its time begins when its first request is answered
//! idling        when it has nothing, the drive waits 8 ms for its next request; of those that seek, only for the last one of their tree or group
//! ```
//!
//! Within a queue requests go by block, and once a slice the oldest, if it is late
//! ([`waiting`](super::waiting)). At most `quantum` requests of one queue are on the drive while
//! others wait. Writes that nobody waits for get none as long as something is waited for on the
//! drive, and then few at first. Facts of `block/cfq-iosched.c`, Linux 4.7. Left out: queues of
//! processes that read side by side and become one; each of them takes the drive from the other
//! while it waits, as there before they become one. Differently from there, who comes while a queue
//! is served that has nothing and is not waited for does not go to the front: there, where the
//! drive is full, those whose answers came last go before all others for ever; and nobody is passed
//! over for more than a second (`trees`). O(log n) for each I/O; nothing is allocated once there
//! are as many queues as there get.

mod card;
mod groups;
mod tests;
mod trees;

use crate::contract::{Next, Scheduler, View};
use crate::ids::{IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::list::Pool;
use crate::measure::Tell;
use crate::registry::Knobs;
use crate::sorted::Sorted;
use crate::stream::{Class, Stream, Streams};
use crate::units::{Blocks, Duration, Instant, Pba};

use super::habits::Habits;
use super::queueing::Queueing;
use super::waiting::{Arrival, Waiting};
use card::{MEASURES, Settings};
use groups::Groups;
use trees::{Due, Tree};

pub(super) use card::SPEC;

/// A queue is seeky if more than so many of its last 32 requests are seeks.
const SEEKS: u32 = 4;
/// A request that begins no farther than this from the end of the last one is served instead of
/// waiting for the process whose turn it is.
const CLOSE: Blocks = Blocks(8_192);
/// A process that once had so many requests waiting at a time is waited for though it seeks.
const DEEP: usize = 4;
/// The least that a slice is charged as which had no answer: a tick of Linux's clock.
const TICK: Duration = Duration::from_ms(1);
/// Writes in a row, for each level: four times so many of the most urgent one.
const ASYNC_ROUND: u64 = 2;

/// The requests of a process, or the writes of a priority that nobody waits for.
struct Queue {
    group: usize,
    class: Class,
    level: u8,
    sync: bool,
    waiting: Waiting,
    dispatched: u32,
    habits: Habits,
    answered: Option<Instant>,
    /// The drive waits for it when it has nothing.
    waited_for: bool,
    /// It once had many requests at once.
    deep: bool,
    /// What the last slice left, or took too much, in nanoseconds.
    left: i64,
    checks_oldest: bool,
    /// Its place in its tree.
    due: Option<(Tree, Class, Due)>,
}

/// The slice that goes on.
#[derive(Clone, Copy, Debug)]
struct Slice {
    queue: usize,
    chosen: Instant,
    /// When its time began: when it was chosen, until the first answer.
    began: Instant,
    /// None before the first answer.
    end: Option<Instant>,
    length: Duration,
    dispatched: u64,
    /// Its time is over, and the drive waits for one more request, so that its group has work when
    /// it ends.
    waits_for_more: bool,
}

struct Cfq {
    set: Settings,
    rotational: bool,
    queues: Vec<Queue>,
    /// The queue of a stream.
    by_stream: Vec<Option<usize>>,
    /// Queues of streams that have gone to other groups: taken again when nothing of them is left.
    orphans: Vec<usize>,
    homes: Vec<usize>,
    arrivals: Pool<Arrival>,

    groups: Groups,
    stamps: u64,
    busy: usize,
    busy_sync: usize,

    active: Option<Slice>,
    idling: Option<Instant>,
    /// What is served, and until when.
    serving: (Class, Tree),
    serving_until: Instant,
    last_end: Pba,
    on_drive: [u32; 2],
    /// When a request that was waited for was last late.
    last_delayed: Instant,
    queueing: Queueing,

    slices: u64,
    waits: u64,
}

impl Cfq {
    fn new(knobs: &Knobs, rotational: bool) -> Cfq {
        Cfq {
            set: Settings::of(knobs),
            rotational,
            queues: Vec::new(),
            by_stream: Vec::new(),
            orphans: Vec::new(),
            homes: Vec::new(),
            arrivals: Pool::default(),
            groups: Groups::new(),
            stamps: 0,
            busy: 0,
            busy_sync: 0,
            active: None,
            idling: None,
            serving: (Class::BestEffort, Tree::Waited),
            serving_until: Instant::ZERO,
            last_end: Pba(0),
            on_drive: [0; 2],
            last_delayed: Instant::ZERO,
            queueing: Queueing::new(4, 50),
            slices: 0,
            waits: 0,
        }
    }

    /// A queue without requests; one whose stream has left it, if there is one.
    fn create(&mut self, now: Instant, group: usize, stream: &Stream, sync: bool) -> usize {
        let waited_for = sync && stream.class != Class::Idle;
        let queue = Queue {
            group,
            class: stream.class,
            level: stream.level.min(7),
            sync,
            waiting: Waiting::default(),
            dispatched: 0,
            habits: Habits::new(now, waited_for),
            answered: None,
            waited_for,
            deep: false,
            left: 0,
            checks_oldest: false,
            due: None,
        };
        match self.orphans.iter().position(|at| self.has_nothing(*at)) {
            Some(free) => {
                let at = self.orphans.swap_remove(free);
                self.queues[at] = queue;
                at
            }
            None => {
                self.queues.push(queue);
                self.queues.len() - 1
            }
        }
    }

    /// Whether nothing of a queue is anywhere.
    fn has_nothing(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        let served = self.active.is_some_and(|slice| slice.queue == at);
        queue.waiting.is_empty() && queue.dispatched == 0 && !served
    }

    /// The queue that a request goes to.
    fn home(&mut self, now: Instant, id: StreamId, stream: &Stream, sync: bool) -> usize {
        let group = self.groups.of(id, stream);
        let (class, level) = (stream.class as usize, usize::from(stream.level.min(7)));
        if !sync {
            let known = self.groups.at(group).asyncs[class][level];
            let home = known.unwrap_or_else(|| self.create(now, group, stream, false));
            self.groups.at_mut(group).asyncs[class][level] = Some(home);
            return home;
        }
        if self.by_stream.len() <= id.index() {
            self.by_stream.resize(id.index() + 1, None);
        }
        let known = self.by_stream[id.index()].filter(|at| self.stays(*at, group));
        let home = known.unwrap_or_else(|| self.create(now, group, stream, true));
        self.by_stream[id.index()] = Some(home);
        let queue = &mut self.queues[home];
        let changes = (queue.class, queue.level) != (stream.class, level as u8);
        (queue.class, queue.level) = (stream.class, level as u8);
        if changes && queue.due.is_some() {
            self.leave_tree(home);
            self.enter_tree(now, home, false);
        }
        home
    }

    /// Whether a stream that is in this group keeps its queue. In another group it gets another
    /// one; what is left in the old one is served there.
    fn stays(&mut self, at: usize, group: usize) -> bool {
        if self.queues[at].group == group {
            return true;
        }
        let moves = self.has_nothing(at);
        match moves {
            true => self.queues[at].group = group,
            false => self.orphans.push(at),
        }
        moves
    }

    /// The slice of a queue, as its level says.
    fn whole_slice(&self, sync: bool, level: u8) -> i64 {
        let base = self.set.slice[usize::from(sync)].0 as i64;
        base + base / 5 * (4 - i64::from(level))
    }

    /// The same, if all are to have one within the target.
    fn slice_of(&mut self, queue: usize) -> Duration {
        let Queue {
            group,
            sync,
            level,
            class,
            ..
        } = self.queues[queue];
        let whole = self.whole_slice(sync, level);
        if !self.set.low_latency {
            return Duration(whole as u64);
        }
        let there = self.waiting_in(group, class) as u64;
        let average = &mut self.groups.at_mut(group).average[class as usize];
        *average = (3 * there.max(*average) + there.min(*average) + 2) / 4;
        let expected = self.set.slice[1].0 as i64 * *average as i64;
        let base = self.set.slice[1].0 as i64;
        let target = self.groups.part(group, self.set.target).0 as i64;
        if expected <= target {
            return Duration(whole as u64);
        }
        let low = scaled(2 * self.set.slice_idle.0, whole as u64, base as u64);
        let fits = scaled(whole as u64, target as u64, expected as u64);
        Duration(fits.max(low.min(whole as u64)))
    }

    fn count_busy(&mut self, at: usize, change: isize) {
        self.busy = self.busy.checked_add_signed(change).expect("it was busy");
        if self.queues[at].sync {
            let busy = self.busy_sync.checked_add_signed(change);
            self.busy_sync = busy.expect("it was busy");
        }
        let Queue { group, sync, .. } = self.queues[at];
        match change {
            1 => self.groups.enter(group, sync, self.counts_requests()),
            _ => self.groups.leave(group, sync),
        }
    }

    /// Where nobody is waited for and the drive has a queue, slices have no length: groups are
    /// charged by requests.
    fn counts_requests(&self) -> bool {
        self.set.slice_idle == Duration::ZERO && self.queueing.queues()
    }

    /// Whether the drive waits when this queue, which is served, has nothing.
    fn should_idle(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        if self.set.slice_idle == Duration::ZERO || queue.class == Class::Idle {
            return false;
        }
        let flash = !self.rotational && self.queueing.queues();
        if queue.waited_for && !flash {
            return true;
        }
        // The last one of its tree, if it is soon back.
        let tree = self.in_tree(queue.group, queue.class, self.tree_of(at));
        let alone = tree.len() + usize::from(queue.due.is_none()) == 1;
        let soon = queue.habits.think_time();
        alone && queue.sync && soon.is_none_or(|time| time <= self.set.slice_idle)
    }

    /// Whether a process is waited for follows from how it asks.
    fn judge(&mut self, now: Instant, at: usize) {
        let slice_idle = self.set.slice_idle;
        let queue = &mut self.queues[at];
        if !queue.sync || queue.class == Class::Idle {
            return;
        }
        queue.deep |= queue.waiting.len() >= DEEP;
        let seeky = queue.habits.seeks() > SEEKS;
        let waits = match queue.habits.think_time() {
            _ if slice_idle == Duration::ZERO || seeky && !queue.deep => false,
            Some(time) => time <= slice_idle,
            None => queue.waited_for,
        };
        self.set_waited_for(now, at, waits);
    }

    fn set_waited_for(&mut self, now: Instant, at: usize, waits: bool) {
        let queue = &mut self.queues[at];
        if queue.waited_for == waits {
            return;
        }
        queue.waited_for = waits;
        if queue.due.is_some() {
            self.leave_tree(at);
            self.enter_tree(now, at, false);
        }
    }

    fn slice_used(&self, now: Instant) -> bool {
        let slice = self.active.expect("a queue is served");
        slice.end.is_some_and(|end| now >= end)
    }

    /// The slice ends. What it left, or took too much, counts for the next one if it was stopped.
    fn expire(&mut self, now: Instant, stopped: bool) {
        let slice = self.active.expect("a queue is served");
        self.idling = None;
        if stopped {
            let left = match slice.end {
                None => self.slice_of(slice.queue).0 as i64,
                Some(end) => end.0 as i64 - now.0 as i64,
            };
            self.queues[slice.queue].left = left;
        }
        self.charge_group(now, &slice);
        self.active = None;
        if self.queues[slice.queue].waiting.is_empty() {
            self.count_busy(slice.queue, -1);
        } else {
            self.enter_tree(now, slice.queue, false);
        }
    }

    /// The group of the queue that was served is charged for it, and keeps what of it was served.
    fn charge_group(&mut self, now: Instant, slice: &Slice) {
        let Queue { group, sync, .. } = self.queues[slice.queue];
        let used = match slice.end {
            Some(_) if now > slice.began => now.since(slice.began).min(slice.length),
            _ => now.since(slice.chosen).max(TICK),
        };
        let used = match sync || self.groups.at(group).busy_sync > 0 {
            _ if self.counts_requests() => slice.dispatched,
            true => used.0,
            false => slice.length.0,
        };
        self.groups.charge(group, used);
        self.groups
            .keep(group, now, self.serving, self.serving_until);
    }

    /// Whether the drive waits for the only queue of its group though it would not wait for it
    /// otherwise.
    fn idles_for_group(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        let idle = self.set.group_idle;
        let soon = queue.habits.think_time();
        idle > Duration::ZERO
            && self.groups.has_one_of_several(queue.group)
            && soon.is_none_or(|time| time <= idle)
    }

    /// A queue that has a request now goes before the one that is served.
    fn preempts(&self, now: Instant, at: usize, io: &Io) -> bool {
        let Some(slice) = self.active else {
            return false;
        };
        let (one, other) = (&self.queues[at], &self.queues[slice.queue]);
        if one.class == Class::Idle || other.class == Class::Idle {
            return one.class != Class::Idle;
        }
        if one.class > other.class {
            return false;
        }
        if one.class < other.class {
            return one.group == other.group || one.sync && !other.sync;
        }
        if one.sync != other.sync {
            return one.sync;
        }
        if one.group != other.group {
            return false;
        }
        let empty = other.waiting.is_empty();
        // The drive waits for the last one of those that seek.
        let alone = self.in_tree(one.group, one.class, Tree::Seeking).len() == 1;
        let seek = self.tree_of(at) == Tree::Seeking && self.serving.1 == Tree::Seeking && alone;
        if self.slice_used(now) || seek && empty {
            return true;
        }
        let near = self.last_end.distance(io.at) <= CLOSE;
        self.idling.is_some() && (near || empty && !self.should_idle(slice.queue))
    }

    /// The queue of which a request may go next; none if there is none, or the drive waits.
    fn select(&mut self, now: Instant, rests: bool) -> Option<usize> {
        if let Some(slice) = self.active {
            match self.goes_on(now, &slice, rests) {
                Some(true) => return Some(slice.queue),
                Some(false) => return None,
                None => self.expire(now, false),
            }
        }
        let next = self.choose(now)?;
        self.leave_tree(next);
        self.queues[next].checks_oldest = true;
        self.slices += 1;
        self.active = Some(Slice {
            queue: next,
            chosen: now,
            began: now,
            end: None,
            length: Duration::ZERO,
            dispatched: 0,
            waits_for_more: false,
        });
        Some(next)
    }

    /// Whether the queue that is served has a request to go next, or the drive waits for one; none
    /// if its slice is over.
    fn goes_on(&mut self, now: Instant, slice: &Slice, rests: bool) -> Option<bool> {
        let queue = &self.queues[slice.queue];
        let empty = queue.waiting.is_empty();
        if slice.waits_for_more && !empty {
            return None;
        }
        if !self.slice_used(now) {
            if !empty {
                return Some(true);
            }
            if self.idling.is_some() {
                return Some(false);
            }
            // It seeks, and has a long way to its end: the drive is faster than it asks.
            let half = slice
                .end
                .is_none_or(|end| end.0.saturating_sub(now.0) > now.since(slice.began).0);
            if queue.habits.seeks() > SEEKS && queue.waited_for && half {
                self.queues[slice.queue].deep = false;
                self.set_waited_for(now, slice.queue, false);
            }
        }
        let queue = &self.queues[slice.queue];
        let due = match self.slice_used(now) {
            true => self.groups.has_one_of_several(queue.group) && empty,
            false => true,
        };
        let own = due && queue.dispatched > 0 && self.should_idle(slice.queue);
        let on_drive = self.groups.at(queue.group).on_drive > 0;
        let waits = own || on_drive && self.idles_for_group(slice.queue);
        (waits && !rests).then_some(false)
    }

    /// Whether the queue that is served may have one more request on the drive.
    fn may_dispatch(&self, now: Instant, at: usize) -> bool {
        let queue = &self.queues[at];
        let [writes, waited] = self.on_drive;
        if self.should_idle(at) && writes > 0 || waited > 0 && !queue.sync {
            return false;
        }
        let dispatched = u64::from(queue.dispatched);
        let mut most = (self.set.quantum / 2).max(1);
        if queue.class == Class::Idle {
            most = 1;
        } else if dispatched >= most {
            let alone = queue.sync && self.busy_sync == 1;
            let slice = self.active.expect("a queue is served");
            let soon = slice
                .end
                .is_none_or(|end| now + Duration(self.set.slice_idle.0 * dispatched) > end);
            if self.busy > 1 && soon && !alone {
                return false;
            }
            most = match self.busy == 1 || alone {
                true => u64::MAX,
                false => self.set.quantum,
            };
        }
        if !queue.sync && self.set.low_latency {
            let quiet = now.since(self.last_delayed).0 / self.set.slice[1].0.max(1);
            let depth = match (quiet, dispatched) {
                (0, 0) => 1,
                (depth, _) => depth,
            };
            most = most.min(depth);
        }
        dispatched < most
    }

    /// A queue goes to the front of its tree, and the slice that goes on ends.
    fn preempt(&mut self, now: Instant, at: usize) {
        let slice = self.active.expect("a queue is served");
        let other = self.tree_of(slice.queue);
        self.expire(now, true);
        if other != self.tree_of(at) {
            self.groups.at_mut(self.queues[at].group).kept = None;
        }
        if self.queues[at].due.is_some() {
            self.leave_tree(at);
            self.enter_tree(now, at, true);
        }
    }

    /// The queue that is served was answered.
    fn served_is_answered(&mut self, now: Instant, mut slice: Slice) {
        let at = slice.queue;
        if slice.end.is_none() {
            slice.length = self.slice_of(at);
            (slice.began, slice.end) = (now, Some(now + slice.length));
        }
        let queue = &self.queues[at];
        let think_time = queue.habits.think_time();
        let nothing = queue.waiting.is_empty() && queue.dispatched == 0;
        let end = slice.end.expect("it has begun");
        let thinks =
            |end: Instant| think_time.is_some_and(|time| time.0 > end.0.saturating_sub(now.0));
        if nothing && (now >= end || thinks(end)) && self.idles_for_group(at) {
            slice.end = Some(now + self.set.slice_idle.max(self.set.group_idle));
            slice.waits_for_more = true;
        }
        self.active = Some(slice);
        let queue = &self.queues[at];
        if self.slice_used(now) || queue.class == Class::Idle {
            return self.expire(now, true);
        }
        let end = slice.end.expect("it has begun");
        if queue.sync && nothing && !thinks(end) {
            let idle = match self.should_idle(at) {
                true => Some(self.set.slice_idle),
                false => Some(self.set.group_idle).filter(|_| self.idles_for_group(at)),
            };
            if let Some(idle) = idle {
                self.waits += 1;
                self.idling = Some(now + idle);
            }
        }
    }

    fn catch_up(&mut self, now: Instant) {
        if let Some(until) = self.idling.take_if(|until| now >= *until)
            && self
                .active
                .is_some_and(|slice| self.queues[slice.queue].waiting.is_empty())
        {
            self.expire(until, true);
        }
    }

    /// A request goes to the drive.
    fn start(&mut self, now: Instant, at: usize) -> IoId {
        let reach = self.set.reach;
        let queue = &mut self.queues[at];
        let stop = queue
            .waiting
            .serve(&mut self.arrivals, reach, now, &mut queue.checks_oldest);
        queue.dispatched += 1;
        let (sync, class, level) = (queue.sync, queue.class, queue.level);
        self.last_end = stop.end();
        self.on_drive[usize::from(sync)] += 1;
        self.groups.at_mut(self.queues[at].group).on_drive += 1;
        let slice = self.active.as_mut().expect("a queue is served");
        slice.dispatched += 1;
        let round = 2 * ASYNC_ROUND * u64::from(8 - level);
        let full = !sync && slice.dispatched >= round || class == Class::Idle;
        if self.busy > 1 && full {
            self.expire(now, false);
        }
        stop.id
    }
}

/// A time by the ratio of two others.
fn scaled(time: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(time) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

impl Scheduler for Cfq {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.catch_up(now);
        let stream = streams.of(io.stream);
        let at = self.home(now, io.stream, &stream, io.sync);
        if self.homes.len() <= io.id.index() {
            self.homes.resize(io.id.index() + 1, 0);
        }
        self.homes[io.id.index()] = at;
        let (rotational, slice_idle) = (self.rotational, self.set.slice_idle);
        let queue = &mut self.queues[at];
        if queue.waiting.is_empty() && queue.dispatched == 0 {
            // A first request comes behind no think time.
            let since = queue.answered.map(|answered| now.since(answered));
            queue
                .habits
                .thought(since.unwrap_or(Duration::ZERO), slice_idle);
        }
        queue.habits.asked_at(rotational, io.at, io.len);
        queue.habits.last_end = Some(io.at + io.len);
        let first = queue.waiting.is_empty();
        let deadline = now + self.set.expire[usize::from(queue.sync)];
        queue.waiting.insert(
            &mut self.arrivals,
            (io.id, io.stream, io.sequence),
            (io.at, io.len),
            deadline,
            (self.set.reach, self.last_end),
        );
        let served = self.active.is_some_and(|slice| slice.queue == at);
        if first && !served {
            self.count_busy(at, 1);
            self.enter_tree(now, at, false);
        }
        self.judge(now, at);
        if served {
            self.idling = None;
        } else if self.preempts(now, at, io) {
            self.preempt(now, at);
        }
    }

    fn keeps_apart(&self) -> bool {
        true
    }

    fn grown(&mut self, _now: Instant, before: &Io, after: &Io, _streams: &Streams) {
        let queue = &mut self.queues[self.homes[after.id.index()]];
        queue.waiting.grow(
            &mut self.arrivals,
            (before.at, before.sequence),
            (after.at, after.len),
            (self.set.reach, self.last_end),
        );
        queue.habits.last_end = Some(after.at + after.len);
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.catch_up(now);
        let at = self.homes[io.id.index()];
        let key = (io.at, io.sequence);
        let queue = &mut self.queues[at];
        queue
            .waiting
            .withdraw(&mut self.arrivals, key, self.set.reach);
        if queue.waiting.is_empty() && queue.due.is_some() {
            self.leave_tree(at);
            self.count_busy(at, -1);
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let now = view.now;
        self.catch_up(now);
        if self.arrivals.is_empty() {
            return Next::Empty;
        }
        // The drive has nothing: what was started and is not there waits for a place that only
        // others may free.
        let rests = view.in_flight == 0;
        match self.select(now, rests) {
            Some(at) if rests || self.may_dispatch(now, at) => Next::Start(self.start(now, at)),
            _ => self.idling.map_or(Next::Empty, Next::WaitUntil),
        }
    }

    fn done(&mut self, now: Instant, io: &Io, _done: &DriveDone, _streams: &Streams) {
        self.catch_up(now);
        let at = self.homes[io.id.index()];
        let (on_drive, waiting) = (self.on_drive.iter().sum(), self.arrivals.len() as u32);
        self.queueing.look(on_drive, waiting, None);
        let late = self.set.expire[1];
        let queue = &mut self.queues[at];
        queue.dispatched -= 1;
        queue.answered = Some(now);
        let sync = queue.sync;
        self.on_drive[usize::from(sync)] -= 1;
        let group = queue.group;
        self.groups.at_mut(group).on_drive -= 1;
        if sync && now > io.arrived + late {
            self.last_delayed = now;
        }
        if let Some(slice) = self.active.filter(|slice| slice.queue == at) {
            self.served_is_answered(now, slice);
        }
    }

    fn len(&self) -> usize {
        self.arrivals.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.slices);
        tell(&MEASURES[1], self.waits);
    }

    fn audit(&self) {
        let waiting: usize = self.queues.iter().map(|queue| queue.waiting.len()).sum();
        assert_eq!(waiting, self.arrivals.len(), "a request is in one queue");
        let (mut busy, mut in_trees) = (0, 0);
        for (at, queue) in self.queues.iter().enumerate() {
            queue.waiting.audit(&self.arrivals);
            let served = self.active.is_some_and(|slice| slice.queue == at);
            busy += usize::from(served || !queue.waiting.is_empty());
            in_trees += usize::from(queue.due.is_some());
            assert_eq!(queue.due.is_some(), !served && !queue.waiting.is_empty());
        }
        assert_eq!(busy, self.busy);
        let trees = self.groups.iter().flat_map(|group| &group.trees);
        assert_eq!(in_trees, trees.flatten().map(Sorted::len).sum::<usize>());
        let groups = || self.groups.iter();
        assert_eq!(busy, groups().map(|group| group.busy).sum::<usize>());
        let on_drive: u32 = groups().map(|group| group.on_drive).sum();
        assert_eq!(on_drive, self.on_drive.iter().sum::<u32>());
        self.groups.audit();
    }
}
