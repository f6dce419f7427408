//! Sorted batches with a deadline for every request, as Linux's mq-deadline makes them.
//!
//! Three levels of priority, in each of them reads and writes apart, each both in block order and
//! in order of arrival:
//!
//! ```text
//! a batch runs   --next in block order, fewer than fifo_batch--> serve it
//!                --otherwise--> choose a direction
//! direction      reads, unless there are none, or writes were passed over writes_starved times
//! new batch      from the oldest if that has expired or nothing lies ahead, else on in block order
//! level          the highest that has work, unless a lower one has waited for prio_aging_expire
//! ```
//!
//! Deadlines are soft: they are checked only between batches. So a request waits at most for its
//! expiry and for the batches of requests with an older deadline. The facts are those of
//! `block/mq-deadline.c` (Linux 6.x), with its peculiarities: the first batch after the start goes
//! to writes if any wait, and a check of a lower level that finds no request old enough may still
//! end the running batch. What is merged keeps the deadline of its oldest part. `async_depth` holds
//! for every write, also for those that somebody waits for, as there. Left out: zoned devices.
//!
//! O(log n) per I/O; nothing is allocated once the queue has been as long as it gets.

use crate::contract::{Next, Queued, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::list::{Handle, List, Pool};
use crate::measure::{Measure, Tell};
use crate::op::Op;
use crate::registry::{ConfigError, Knob, Knobs, Need, Spec};
use crate::sorted::{Cursor, Keyed, Sorted};
use crate::stream::{Class, Streams};
use crate::units::{Duration, Instant, Pba};

/// A request in block order.
#[derive(Clone, Copy, Debug)]
struct Stop {
    at: Pba,
    sequence: u64,
    id: IoId,
    /// Its place in order of arrival.
    arrival: Handle,
}

impl Keyed for Stop {
    type Key = (Pba, u64);

    #[inline]
    fn key(&self) -> (Pba, u64) {
        (self.at, self.sequence)
    }
}

/// A request in order of arrival.
struct Arrival {
    inserted: Instant,
    /// Its place in block order.
    stop: (Pba, u64),
}

/// Which way data goes; reads first, as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

use Direction::{Read, Write};

impl Direction {
    fn of(op: Op) -> Direction {
        if op == Op::Read { Read } else { Write }
    }
}

/// Requests of one level and direction.
#[derive(Default)]
struct Queue {
    stops: Sorted<Stop>,
    arrivals: List,
    /// Block of the last request that was served from here.
    latest: Pba,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// The next in block order, if one lies ahead.
    fn ahead(&self) -> Option<Cursor> {
        let cursor = self.stops.seek(&(self.latest, 0));
        self.stops.at(cursor).map(|_| cursor)
    }
}

/// Each class has queues of its own: its level.
const CLASSES: usize = Class::ALL.len();

struct MqDeadline {
    expire: [Duration; 2],
    writes_starved: u64,
    fifo_batch: u64,
    prio_aging_expire: Duration,
    /// Requests that may be in the queue or on the drive; 0 if any number may.
    nr_requests: u64,
    /// Of those, writes.
    async_depth: u64,

    queues: [[Queue; 2]; CLASSES],
    pool: Pool<Arrival>,
    direction: Direction,
    /// Requests served in this batch.
    batching: u64,
    /// Times that reads were preferred to waiting writes.
    starved: u64,
    /// Batches that began with a request whose time was up.
    expired: u64,
}

impl MqDeadline {
    fn new(knobs: &Knobs) -> MqDeadline {
        MqDeadline {
            expire: [
                knobs.duration_ms("read_expire_ms"),
                knobs.duration_ms("write_expire_ms"),
            ],
            writes_starved: knobs.integer("writes_starved"),
            fifo_batch: knobs.integer("fifo_batch"),
            prio_aging_expire: knobs.duration_ms("prio_aging_expire_ms"),
            nr_requests: knobs.integer("nr_requests"),
            async_depth: knobs.integer("async_depth"),
            queues: Default::default(),
            pool: Pool::default(),
            direction: Write,
            batching: 0,
            starved: 0,
            expired: 0,
        }
    }

    fn idle(&self, level: usize) -> bool {
        self.queues[level].iter().all(Queue::is_empty)
    }

    /// Serves a lower level that has waited too long for the higher ones.
    fn dispatch_aged(&mut self, now: Instant) -> Option<IoId> {
        let busy = (0..CLASSES).filter(|level| !self.idle(*level)).count();
        if busy < 2 {
            return None;
        }
        let waited = Some(self.prio_aging_expire);
        (1..CLASSES).find_map(|level| self.dispatch(now, level, waited))
    }

    /// Serves a level; with `waited`, only a request that has waited so long.
    fn dispatch(&mut self, now: Instant, level: usize, waited: Option<Duration>) -> Option<IoId> {
        let running = self.queues[level][self.direction as usize].ahead();
        let cursor = match running {
            Some(next) if self.batching < self.fifo_batch => next,
            _ => {
                let direction = self.turn(level)?;
                let first = self.first_of_batch(now, level, direction);
                self.direction = direction;
                self.batching = 0;
                first
            }
        };
        let queue = &mut self.queues[level][self.direction as usize];
        let stop = *queue.stops.at(cursor).expect("a request was found here");
        let inserted = self.pool.item(stop.arrival).inserted;
        if waited.is_some_and(|waited| inserted + waited > now) {
            return None;
        }
        self.batching += 1;
        queue.latest = stop.at;
        queue.stops.remove(cursor);
        self.pool.remove(&mut queue.arrivals, stop.arrival);
        Some(stop.id)
    }

    /// The direction of the next batch.
    fn turn(&mut self, level: usize) -> Option<Direction> {
        let [reads, writes] = &self.queues[level];
        if reads.is_empty() && writes.is_empty() {
            return None;
        }
        if !reads.is_empty() {
            let passed_over = self.starved;
            self.starved += u64::from(!writes.is_empty());
            if writes.is_empty() || passed_over < self.writes_starved {
                return Some(Read);
            }
        }
        self.starved = 0;
        Some(Write)
    }

    /// Where a batch begins: on in block order, unless the oldest has expired or nothing lies
    /// ahead.
    fn first_of_batch(&mut self, now: Instant, level: usize, direction: Direction) -> Cursor {
        let queue = &self.queues[level][direction as usize];
        let front = queue.arrivals.front().expect("the direction has work");
        let oldest = self.pool.item(front);
        let expired = now >= oldest.inserted + self.expire[direction as usize];
        match queue.ahead() {
            Some(next) if !expired => next,
            _ => {
                self.expired += u64::from(expired);
                queue.stops.seek(&oldest.stop)
            }
        }
    }
}

/// Where the requests of a priority stand.
fn level_of(priority: u16) -> usize {
    Class::of(priority) as usize
}

impl Scheduler for MqDeadline {
    fn insert(&mut self, now: Instant, io: &Io, _streams: &Streams) {
        let queue = &mut self.queues[level_of(io.priority)][Direction::of(io.op) as usize];
        let arrival = Arrival {
            inserted: now,
            stop: (io.at, io.sequence),
        };
        queue.stops.insert(Stop {
            at: io.at,
            sequence: io.sequence,
            id: io.id,
            arrival: self.pool.push_back(&mut queue.arrivals, arrival),
        });
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        let below = |count: u32, limit: u64| limit == 0 || u64::from(count) < limit;
        let writes = Direction::of(io.op) == Write;
        below(queued.all(), self.nr_requests) && (!writes || below(queued.writes, self.async_depth))
    }

    fn grown(&mut self, _now: Instant, before: &Io, after: &Io, _streams: &Streams) {
        // It keeps its deadline.
        let queue = &mut self.queues[level_of(after.priority)][Direction::of(after.op) as usize];
        let stop = queue.stops.take(&(before.at, before.sequence));
        let stop = Stop {
            at: after.at,
            ..stop.expect("what grows waits")
        };
        self.pool.item_mut(stop.arrival).stop = stop.key();
        queue.stops.insert(stop);
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        let queue = &mut self.queues[level_of(io.priority)][Direction::of(io.op) as usize];
        let stop = queue.stops.take(&(io.at, io.sequence));
        let stop = stop.expect("what is withdrawn waits");
        self.pool.remove(&mut queue.arrivals, stop.arrival);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let now = view.now;
        let found = self.dispatch_aged(now).or_else(|| {
            let level = (0..CLASSES).find(|level| !self.idle(*level))?;
            self.dispatch(now, level, None)
        });
        found.map_or(Next::Empty, Next::Start)
    }

    fn len(&self) -> usize {
        self.pool.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.expired);
    }

    fn audit(&self) {
        let queues = || self.queues.iter().flatten();
        let waiting: usize = queues().map(|queue| queue.stops.len()).sum();
        assert_eq!(
            waiting,
            self.pool.len(),
            "a request stands in one order only"
        );
        for queue in queues() {
            queue.stops.audit();
            assert_eq!(queue.stops.len(), self.pool.iter(&queue.arrivals).count());
            for stop in queue.stops.iter() {
                assert_eq!(self.pool.item(stop.arrival).stop, stop.key());
            }
        }
    }
}

/// Refuses a limit of writes that all requests together have anyway.
fn check_depth(knobs: &Knobs) -> Result<(), ConfigError> {
    let (all, writes) = (knobs.integer("nr_requests"), knobs.integer("async_depth"));
    if all == 0 || writes < all {
        return Ok(());
    }
    let allowed = match all {
        1 => "0, as nr_requests = 1 lets no more than one wait".to_owned(),
        _ => format!(
            "0, or 1 to {}, less than nr_requests, which bounds all",
            all - 1
        ),
    };
    Err(ConfigError::value(
        "async_depth",
        &writes.to_string(),
        &allowed,
    ))
}

const MEASURES: &[Measure] = &[Measure::count(
    "expired",
    "batches",
    "batches that began with the oldest request, as its time was up",
)];

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "mq-deadline",
    aliases: &["deadline"],
    summary: "block-sorted batches, reads before writes, a deadline for each, three priorities",
    source: "Linux 6.x, block/mq-deadline.c and Documentation/block/deadline-iosched.rst",
    knobs: &[
        Knob::integer(
            "read_expire_ms",
            500,
            0..=3_600_000,
            "milliseconds after which a read begins the next batch of reads",
        ),
        Knob::integer(
            "write_expire_ms",
            5_000,
            0..=3_600_000,
            "milliseconds after which a write begins the next batch of writes",
        ),
        Knob::integer(
            "writes_starved",
            2,
            0..=1_000_000,
            "batches of reads that may pass waiting writes",
        ),
        Knob::integer(
            "fifo_batch",
            16,
            1..=1_000_000,
            "requests in a batch: more is throughput, less is latency",
        ),
        Knob::integer(
            "prio_aging_expire_ms",
            10_000,
            0..=3_600_000,
            "milliseconds after which a lower priority is served before higher ones",
        )
        .needing(Need::Classes),
        Knob::integer(
            "nr_requests",
            0,
            0..=1_000_000,
            "requests that may be in the queue or on the drive, others wait before it; Linux has twice the drive's \
             depth, at most 256; 0 is no limit",
        ),
        Knob::integer(
            "async_depth",
            0,
            0..=1_000_000,
            "of those, writes: fewer than nr_requests, if that is a limit; 0 is no limit of their own",
        ),
    ],
    measures: MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, _| {
        check_depth(knobs)?;
        Ok(Box::new(MqDeadline::new(knobs)))
    },
};
