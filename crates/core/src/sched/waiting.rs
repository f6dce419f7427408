//! Requests of one queue: which one it would have served next.
//!
//! They go by block, onward from where the heads were, with short ways back allowed: a distance
//! backward counts twice, and nothing farther back than `back_seek_max` is a way back at all. Once
//! in a turn of its queue the oldest request goes instead, if its time is up. So time limits matter
//! between the requests of one queue only, and at most one that is late jumps the order in each
//! turn. Facts of `bfq_choose_req`, `bfq_check_fifo`; requests for metadata are not told apart,
//! since nothing tells them, and one that is late goes next though a nearer one comes before it has
//! gone (in Linux that goes before, so that it may wait for ever).

use crate::ids::{IoId, StreamId};
use crate::list::{Handle, List, Pool};
use crate::registry::{Knob, Knobs};
use crate::sorted::{Cursor, Keyed, Sorted};
use crate::units::{Blocks, Instant, Pba};

pub(super) const EXPIRE_SYNC: Knob = Knob::integer(
    "fifo_expire_sync_ms",
    125,
    0..=3_600_000,
    "milliseconds after which a request that somebody waits for jumps the order of its process, once a turn",
);

pub(super) const EXPIRE_ASYNC: Knob = Knob::integer(
    "fifo_expire_async_ms",
    250,
    0..=3_600_000,
    "the same of writes that nobody waits for",
);

pub(super) const BACK_SEEK_MAX: Knob = Knob::integer(
    "back_seek_max_kib",
    16_384,
    0..=1_073_741_824,
    "KiB backward that are still a way to the next request",
);

pub(super) const BACK_SEEK_PENALTY: Knob = Knob::integer(
    "back_seek_penalty",
    2,
    1..=1_000,
    "what a distance backward is multiplied by",
);

/// A request in block order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) at: Pba,
    pub(super) len: Blocks,
    pub(super) id: IoId,
    pub(super) stream: StreamId,
    sequence: u64,
    arrival: Handle,
}

impl Stop {
    pub(super) fn end(&self) -> Pba {
        self.at + self.len
    }
}

impl Keyed for Stop {
    type Key = (Pba, u64);

    #[inline]
    fn key(&self) -> (Pba, u64) {
        (self.at, self.sequence)
    }
}

/// A request in order of arrival.
pub(super) struct Arrival {
    deadline: Instant,
    stop: (Pba, u64),
}

/// How far back is a way back, and how much longer it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) back_max: Blocks,
    pub(super) penalty: u64,
}

impl Reach {
    /// As it is set.
    pub(super) fn of(knobs: &Knobs) -> Reach {
        Reach {
            back_max: Blocks(2 * knobs.integer(BACK_SEEK_MAX.name)),
            penalty: knobs.integer(BACK_SEEK_PENALTY.name),
        }
    }

    /// How far a request is; none beyond the way back.
    fn distance(&self, from: Pba, to: Pba) -> Option<u64> {
        let back = from.0.saturating_sub(to.0);
        match to.0.checked_sub(from.0) {
            Some(forward) => Some(forward),
            None if back <= self.back_max.0 => Some(back.saturating_mul(self.penalty)),
            None => None,
        }
    }

    /// The better of two from this position.
    fn choose(&self, from: Pba, one: Stop, other: Stop) -> Stop {
        let takes_one = match (self.distance(from, one.at), self.distance(from, other.at)) {
            (Some(a), Some(b)) if a == b => one.at >= other.at,
            (Some(a), Some(b)) => a < b,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => one.at <= other.at,
        };
        if takes_one { one } else { other }
    }
}

/// The requests of a queue.
#[derive(Default)]
pub(super) struct Waiting {
    by_block: Sorted<Stop>,
    arrivals: List,
    next: Option<Stop>,
    /// The next one is late, and not the nearest: what comes does not go before it.
    late: bool,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.by_block.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_block.is_empty()
    }

    /// What it would have served next.
    #[inline]
    pub(super) fn next(&self) -> Option<Stop> {
        self.next
    }

    /// A request comes, which is late from `deadline` on; the heads are at `from`.
    pub(super) fn insert(
        &mut self,
        pool: &mut Pool<Arrival>,
        (id, stream, sequence): (IoId, StreamId, u64),
        (at, len): (Pba, Blocks),
        deadline: Instant,
        (reach, from): (Reach, Pba),
    ) {
        let stop = (at, sequence);
        let stop = Stop {
            at,
            len,
            id,
            stream,
            sequence,
            arrival: pool.push_back(&mut self.arrivals, Arrival { deadline, stop }),
        };
        self.by_block.insert(stop);
        self.next = Some(match self.next {
            Some(next) if self.late => next,
            Some(next) => reach.choose(from, next, stop),
            None => stop,
        });
    }

    /// A request grows, and keeps its turn and its deadline.
    pub(super) fn grow(
        &mut self,
        pool: &mut Pool<Arrival>,
        (before, sequence): (Pba, u64),
        (at, len): (Pba, Blocks),
        (reach, from): (Reach, Pba),
    ) {
        let stop = self.by_block.take(&(before, sequence));
        let stop = Stop {
            at,
            len,
            ..stop.expect("what grows waits")
        };
        pool.item_mut(stop.arrival).stop = stop.key();
        self.by_block.insert(stop);
        let next = self.next.expect("requests wait");
        self.next = Some(match next.sequence == sequence {
            true => stop,
            false if self.late => next,
            false => reach.choose(from, next, stop),
        });
    }

    /// Takes out the next one, which is served; `checks` tells whether this may be the turn of one
    /// that is late, and is cleared when that was looked at.
    pub(super) fn serve(
        &mut self,
        pool: &mut Pool<Arrival>,
        reach: Reach,
        now: Instant,
        checks: &mut bool,
    ) -> Stop {
        let stop = self.next.expect("requests wait");
        let cursor = self.by_block.seek(&stop.key());
        let late = std::mem::take(checks).then(|| self.late_one(pool, &stop, now));
        let late = late.flatten();
        self.late = late.is_some();
        self.next = late.or_else(|| self.choose_next(cursor, reach));
        self.take(pool, cursor)
    }

    /// When the oldest one is late, and the one that came last.
    pub(super) fn deadlines(&self, pool: &Pool<Arrival>) -> Option<(Instant, Instant)> {
        let (oldest, latest) = self.arrivals.front().zip(self.arrivals.back())?;
        Some((pool.item(oldest).deadline, pool.item(latest).deadline))
    }

    /// Takes out the oldest one, which is served.
    pub(super) fn serve_oldest(&mut self, pool: &mut Pool<Arrival>, reach: Reach) -> Stop {
        let oldest = self.arrivals.front().expect("requests wait");
        let key = pool.item(oldest).stop;
        self.withdraw(pool, key, reach)
    }

    /// Takes back a request.
    pub(super) fn withdraw(
        &mut self,
        pool: &mut Pool<Arrival>,
        key: (Pba, u64),
        reach: Reach,
    ) -> Stop {
        let cursor = self.by_block.seek(&key);
        if self.next.is_some_and(|next| next.key() == key) {
            self.late = false;
            self.next = self.choose_next(cursor, reach);
        }
        self.take(pool, cursor)
    }

    fn take(&mut self, pool: &mut Pool<Arrival>, cursor: Cursor) -> Stop {
        let stop = self.by_block.remove(cursor);
        pool.remove(&mut self.arrivals, stop.arrival);
        stop
    }

    /// The oldest one, if it is late and not the one that is served.
    fn late_one(&self, pool: &Pool<Arrival>, served: &Stop, now: Instant) -> Option<Stop> {
        let oldest = pool.item(self.arrivals.front().expect("requests wait"));
        let late = oldest.stop != served.key() && now >= oldest.deadline;
        let found = || self.by_block.at(self.by_block.seek(&oldest.stop)).copied();
        late.then(found).flatten()
    }

    /// What is served after the one at `cursor`: the nearer of its two neighbours.
    fn choose_next(&self, cursor: Cursor, reach: Reach) -> Option<Stop> {
        let last = *self.by_block.at(cursor).expect("it waits");
        let before = self.by_block.before(cursor);
        let before = before.and_then(|cursor| self.by_block.at(cursor)).copied();
        let after = self.by_block.at(self.by_block.after(cursor)).copied();
        // Behind the last one the first one follows.
        let wrapped = || before.and_then(|_| self.by_block.first()).copied();
        match (after.or_else(wrapped), before) {
            (Some(after), Some(before)) => Some(reach.choose(last.at, after, before)),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn audit(&self, pool: &Pool<Arrival>) {
        self.by_block.audit();
        assert_eq!(self.by_block.len(), pool.iter(&self.arrivals).count());
        for stop in self.by_block.iter() {
            assert_eq!(pool.item(stop.arrival).stop, stop.key());
        }
        match self.next {
            None => assert!(self.is_empty(), "something waits, and nothing is next"),
            Some(next) => {
                let found = self.by_block.at(self.by_block.seek(&next.key()));
                assert_eq!(
                    found.map(|stop| (stop.id, stop.len)),
                    Some((next.id, next.len))
                );
            }
        }
    }
}
