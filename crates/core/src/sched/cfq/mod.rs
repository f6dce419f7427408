//! Complete fairness by time: each process has the drive for a while, in turns, as Linux's CFQ gave it.
//!
//! ```text
//! class         real-time, best effort, idle: strictly one after the other
//! workload      of a class, three trees take turns: those that are waited for, those that seek (one after the other, without waiting for each), and writes
//!               that nobody waits for. A tree has its part of 300 ms by how many of all queues are in it; the last one only 40 of 100 of that
//! slice         of a tree, the queue that has waited longest has the drive for 100 ms (40 of writes; more with a lower level), less where many share 300 ms.
//!               Its time begins when its first request is answered
//! idling        when it has nothing, the drive waits 8 ms for its next request; of those that seek, only for the last one of their tree
//! ```
//!
//! Within a queue requests go by block, and once a slice the oldest, if it is late ([`waiting`](super::waiting)). At most `quantum` requests of one queue are on the
//! drive while others wait. Writes that nobody waits for get none as long as something is waited for on the drive, and then few at first.
//! Facts of `block/cfq-iosched.c`, Linux 4.7. Left out: groups, and queues of processes that read side by side and become one. O(log n) for each
//! I/O; nothing is allocated once there are as many queues as there get.

mod card;
mod tests;

use crate::contract::{Next, Scheduler, View};
use crate::ids::{IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::list::Pool;
use crate::measure::Tell;
use crate::registry::Knobs;
use crate::sorted::{Keyed, Sorted};
use crate::stream::{Class, Stream, Streams};
use crate::units::{Blocks, Duration, Instant, Pba};

use super::habits::Habits;
use super::queueing::Queueing;
use super::waiting::{Arrival, Waiting};
use card::{MEASURES, Settings};

pub(super) use card::SPEC;

/// More seeks of the last 32 requests make a queue seeky.
const SEEKS: u32 = 4;
/// So near is as good as what is waited for.
const CLOSE: Blocks = Blocks(8_192);
/// So many requests at once, and a process is waited for though it seeks.
const DEEP: usize = 4;
/// A queue of the last class goes so long after the one before it.
const IDLE_DELAY: Duration = Duration::from_ms(200);
/// Ahead of all others of its tree.
const FRONT: u64 = 1_000_000_000;
/// A tree has at least so long.
const LEAST: Duration = Duration::from_ms(2);
/// Writes in a row, for each level: four times so many of the most urgent one.
const ASYNC_ROUND: u64 = 2;

/// Trees of a class, in the order of their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tree {
    /// Writes that nobody waits for.
    Async,
    /// Queues that are not waited for one by one.
    Seeking,
    /// Queues that are waited for.
    Waited,
}

const TREES: usize = 3;

/// A queue in its tree, by when it is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    key: u64,
    stamp: u64,
    queue: usize,
}

impl Keyed for Due {
    type Key = (u64, u64);

    #[inline]
    fn key(&self) -> (u64, u64) {
        (self.key, self.stamp)
    }
}

/// The requests of a process, or the writes of a priority that nobody waits for.
struct Queue {
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
    began: Instant,
    /// None before the first answer.
    end: Option<Instant>,
    dispatched: u64,
}

struct Cfq {
    set: Settings,
    rotational: bool,
    queues: Vec<Queue>,
    /// The queue of a stream, and of writes by class and level.
    by_stream: Vec<Option<usize>>,
    asyncs: [[Option<usize>; 8]; Class::ALL.len()],
    homes: Vec<usize>,
    arrivals: Pool<Arrival>,

    trees: [[Sorted<Due>; TREES]; Class::ALL.len()],
    stamps: u64,
    /// Queues with work, of each class, smoothed.
    average: [u64; Class::ALL.len()],
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
            asyncs: Default::default(),
            homes: Vec::new(),
            arrivals: Pool::default(),
            trees: Default::default(),
            stamps: 0,
            average: [0; Class::ALL.len()],
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

    fn create(&mut self, now: Instant, stream: &Stream, sync: bool) -> usize {
        let waited_for = sync && stream.class != Class::Idle;
        self.queues.push(Queue {
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
        });
        self.queues.len() - 1
    }

    /// The queue that a request goes to.
    fn home(&mut self, now: Instant, id: StreamId, stream: &Stream, sync: bool) -> usize {
        let (class, level) = (stream.class as usize, usize::from(stream.level.min(7)));
        let known = match sync {
            true => self.by_stream.get(id.index()).copied().flatten(),
            false => self.asyncs[class][level],
        };
        let home = known.unwrap_or_else(|| self.create(now, stream, sync));
        if sync {
            if self.by_stream.len() <= id.index() {
                self.by_stream.resize(id.index() + 1, None);
            }
            self.by_stream[id.index()] = Some(home);
            let queue = &mut self.queues[home];
            let changes = (queue.class, queue.level) != (stream.class, level as u8);
            (queue.class, queue.level) = (stream.class, level as u8);
            if changes && queue.due.is_some() {
                self.leave_tree(home);
                self.enter_tree(now, home, false);
            }
        } else {
            self.asyncs[class][level] = Some(home);
        }
        home
    }

    fn tree_of(&self, queue: usize) -> Tree {
        let queue = &self.queues[queue];
        match (queue.sync, queue.waited_for) {
            (false, _) => Tree::Async,
            (true, false) => Tree::Seeking,
            (true, true) => Tree::Waited,
        }
    }

    /// The slice of a queue, as its level says.
    fn whole_slice(&self, sync: bool, level: u8) -> i64 {
        let base = self.set.slice[usize::from(sync)].0 as i64;
        base + base / 5 * (4 - i64::from(level))
    }

    /// The same, if all are to have one within the target.
    fn slice_of(&mut self, queue: usize) -> Duration {
        let Queue {
            sync, level, class, ..
        } = self.queues[queue];
        let whole = self.whole_slice(sync, level);
        if !self.set.low_latency {
            return Duration(whole as u64);
        }
        let there = self.waiting_in(class) as u64;
        let average = &mut self.average[class as usize];
        *average = (3 * there.max(*average) + there.min(*average) + 2) / 4;
        let (base, target) = (self.set.slice[1].0 as i64, self.set.target.0 as i64);
        let expected = base * *average as i64;
        if expected <= target {
            return Duration(whole as u64);
        }
        let low = scaled(2 * self.set.slice_idle.0, whole as u64, base as u64);
        let fits = scaled(whole as u64, target as u64, expected as u64);
        Duration(fits.max(low.min(whole as u64)))
    }

    fn waiting_in(&self, class: Class) -> usize {
        let trees = &self.trees[class as usize];
        let active = self.active.is_some_and(|slice| {
            let queue = &self.queues[slice.queue];
            queue.class == class && queue.due.is_none()
        });
        trees.iter().map(Sorted::len).sum::<usize>() + usize::from(active)
    }

    fn enter_tree(&mut self, now: Instant, at: usize, front: bool) {
        let tree = self.tree_of(at);
        let Queue {
            class,
            sync,
            level,
            left,
            ..
        } = self.queues[at];
        let others = self.busy.saturating_sub(1) as i64;
        let offset = others * (self.whole_slice(true, 0) - self.whole_slice(sync, level));
        let line = &self.trees[class as usize][tree as usize];
        // So that a front never falls below 0.
        let now = now.0 + 1_000 * FRONT;
        let key = match (class, front) {
            (Class::Idle, _) => line.last().map_or(now, |last| last.key) + IDLE_DELAY.0,
            (_, true) => line
                .first()
                .map_or(now, |first| first.key)
                .saturating_sub(FRONT),
            (_, false) => now.saturating_add_signed(offset - left),
        };
        self.stamps += 1;
        let due = Due {
            key,
            stamp: self.stamps,
            queue: at,
        };
        self.trees[class as usize][tree as usize].insert(due);
        let queue = &mut self.queues[at];
        queue.due = Some((tree, class, due));
        if !front {
            queue.left = 0;
        }
    }

    fn leave_tree(&mut self, at: usize) {
        let place = self.queues[at].due.take();
        let (tree, class, due) = place.expect("it stands in a tree");
        let taken = self.trees[class as usize][tree as usize].take(&due.key());
        assert!(taken.is_some(), "queue {at} stands elsewhere");
    }

    fn count_busy(&mut self, at: usize, change: isize) {
        self.busy = self.busy.checked_add_signed(change).expect("it was busy");
        if self.queues[at].sync {
            let busy = self.busy_sync.checked_add_signed(change);
            self.busy_sync = busy.expect("it was busy");
        }
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
        let tree = &self.trees[queue.class as usize][self.tree_of(at) as usize];
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
        self.active = None;
        if self.queues[slice.queue].waiting.is_empty() {
            self.count_busy(slice.queue, -1);
        } else {
            self.enter_tree(now, slice.queue, false);
        }
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
        if one.class != other.class {
            return one.class < other.class;
        }
        if one.sync != other.sync {
            return one.sync;
        }
        let empty = other.waiting.is_empty();
        // The drive waits for the last one of those that seek.
        let alone = self.trees[one.class as usize][Tree::Seeking as usize].len() == 1;
        let seek = self.tree_of(at) == Tree::Seeking && self.serving.1 == Tree::Seeking && alone;
        if self.slice_used(now) || seek && empty || empty && !self.should_idle(slice.queue) {
            return true;
        }
        self.idling.is_some() && self.last_end.distance(io.at) <= CLOSE
    }

    /// Which class, which tree, which queue is next.
    fn choose(&mut self, now: Instant) -> Option<usize> {
        let busy = |class: &Class| {
            self.trees[*class as usize]
                .iter()
                .any(|tree| !tree.is_empty())
        };
        let class = Class::ALL.into_iter().find(busy)?;
        let count = self.trees[class as usize][self.serving.1 as usize].len();
        let goes_on = class == self.serving.0 && count > 0 && now <= self.serving_until;
        if class == Class::Idle || !goes_on {
            self.choose_tree(now, class);
        }
        let (class, tree) = self.serving;
        let first = self.trees[class as usize][tree as usize].first();
        first.map(|due| due.queue)
    }

    fn choose_tree(&mut self, now: Instant, class: Class) {
        const ALL: [Tree; TREES] = [Tree::Waited, Tree::Seeking, Tree::Async];
        let first = |tree: &Tree| self.trees[class as usize][*tree as usize].first();
        let due = ALL.into_iter().filter(|tree| first(tree).is_some());
        let tree = due.min_by_key(|tree| first(tree).map(Keyed::key));
        let tree = tree.expect("a queue waits");
        let count = self.trees[class as usize][tree as usize].len() as u64;
        let all = self.average[class as usize].max(self.waiting_in(class) as u64);
        let target = self.set.target.0;
        let slice = target * count / all.max(1);
        let slice = match tree {
            Tree::Async => {
                let of_all = target * count / self.busy.max(1) as u64;
                let [own, sync] = self.set.slice.map(|slice| slice.0);
                scaled(slice.min(of_all), own, sync)
            }
            _ => slice.max(2 * self.set.slice_idle.0),
        };
        self.serving = (class, tree);
        self.serving_until = now + Duration(slice).max(LEAST);
    }

    /// The queue of which a request may go next; none if there is none, or the drive waits.
    fn select(&mut self, now: Instant, rests: bool) -> Option<usize> {
        if let Some(slice) = self.active {
            let queue = &self.queues[slice.queue];
            let empty = queue.waiting.is_empty();
            if !self.slice_used(now) {
                if !empty {
                    return Some(slice.queue);
                }
                if self.idling.is_some() {
                    return None;
                }
                // It seeks, and has a long way to its end: the drive is faster than it asks.
                let half = slice
                    .end
                    .is_none_or(|end| end.0.saturating_sub(now.0) > now.since(slice.began).0);
                if queue.habits.seeks() > SEEKS && queue.waited_for && half {
                    self.queues[slice.queue].deep = false;
                    self.set_waited_for(now, slice.queue, false);
                }
                let queue = &self.queues[slice.queue];
                if queue.dispatched > 0 && !rests && self.should_idle(slice.queue) {
                    return None;
                }
            }
            self.expire(now, false);
        }
        let next = self.choose(now)?;
        self.leave_tree(next);
        self.queues[next].checks_oldest = true;
        self.slices += 1;
        self.active = Some(Slice {
            queue: next,
            began: now,
            end: None,
            dispatched: 0,
        });
        Some(next)
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
            let since = queue.answered.map(|answered| now.since(answered));
            queue.habits.thought(since, slice_idle);
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
            self.expire(now, true);
            if self.queues[at].due.is_some() {
                self.leave_tree(at);
                self.enter_tree(now, at, true);
                self.serving = (self.queues[at].class, self.tree_of(at));
                self.serving_until = self.serving_until.max(now);
            }
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
        // The drive has nothing: what was started and is not there waits for a place that only others may free.
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
        if sync && now > io.arrived + late {
            self.last_delayed = now;
        }
        let Some(slice) = self.active.filter(|slice| slice.queue == at) else {
            return;
        };
        if slice.end.is_none() {
            let length = self.slice_of(at);
            self.active = Some(Slice {
                began: now,
                end: Some(now + length),
                ..slice
            });
        }
        let queue = &self.queues[at];
        if self.slice_used(now) || queue.class == Class::Idle {
            self.expire(now, true);
        } else if sync && queue.waiting.is_empty() && queue.dispatched == 0 {
            let slice = self.active.expect("it is served");
            let left = slice.end.map_or(0, |end| end.0 - now.0);
            let thinks = queue.habits.think_time().is_some_and(|time| time.0 > left);
            if self.should_idle(at) && !thinks {
                self.waits += 1;
                self.idling = Some(now + self.set.slice_idle);
            }
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
        let trees = self.trees.iter().flatten();
        assert_eq!(in_trees, trees.map(Sorted::len).sum::<usize>());
    }
}
