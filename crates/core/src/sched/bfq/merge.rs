//! Queues that become one: processes that read side by side, or that were created together.
//!
//! ```text
//! close         both read in a row, began at most 100 ms ago, and one asks within 8,192 blocks of where the other is or will be: together
//!               they read in a row, apart the heads go to and fro. Not where nothing turns and the drive has a queue. They part when it turns
//!               out that together they seek
//! created       at most 180 ms after each other, alike in all that counts: likely to be one application. Where nothing turns and the drive has
//! together      a queue, at once; else after 600 ms, if waiting for them would not make the drive do more. They stay together
//! ```
//!
//! Who was told a weight of its own stands for a group of its own, so it shares with none that has
//! another one.
//!
//! What was known of a process is kept for the time when it parts, and its favour goes with it.
//! Facts of `bfq_setup_cooperator`, `bfq_merge_bfqqs`, `bfq_split_bfqq`,
//! `bfq_do_or_sched_stable_merge`.

use super::super::habits::Habits;
use super::Bfq;
use super::claim::{Claim, QueueKey};
use super::queue::Queue;
use super::raise::{IDLE, Raise};
use crate::ids::{GroupId, StreamId};
use crate::sorted::Keyed;
use crate::stream::Class;
use crate::units::{Blocks, Duration, Instant, Pba};

/// Who asks so near another cooperates with it.
const CLOSE: Blocks = Blocks(8_192);
/// Who was first served longer ago stays alone.
const YOUNG: Duration = Duration::from_ms(100);
/// Who is created so soon after another belongs to it.
const TOGETHER: Duration = Duration::from_ms(180);
/// The first one of those that are created together is at most so old.
const WINDOW: Duration = Duration::from_ms(600);
/// They become one after so long.
const LATE: Duration = Duration::from_ms(600);

/// Where the next request of a queue is, that others may join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) claim: (GroupId, Class),
    pub(super) at: Pba,
    pub(super) key: QueueKey,
}

impl Keyed for Position {
    type Key = (GroupId, Class, Pba, QueueKey);

    #[inline]
    fn key(&self) -> Self::Key {
        (self.claim.0, self.claim.1, self.at, self.key)
    }
}

/// What is kept of a process while it shares a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    habits: Habits,
    raise: Raise,
    in_burst: bool,
    answered: Option<Instant>,
    emptied: Option<Instant>,
}

impl Kept {
    fn of(queue: &Queue, raise: Raise) -> Kept {
        Kept {
            habits: queue.habits,
            raise,
            in_burst: queue.in_burst,
            answered: queue.answered,
            emptied: queue.emptied,
        }
    }
}

/// A process: where it puts its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    /// What it claimed with its last request; none if it never asked.
    pub(super) claim: Option<Claim>,
    /// Its queue for what it waits for.
    pub(super) home: Option<QueueKey>,
    /// What was known of it when it came to share that.
    pub(super) kept: Option<Kept>,
    /// A queue that was created just before its own.
    pub(super) created_after: Option<QueueKey>,
    /// Requests of it here and on the drive.
    pub(super) underway: u32,
}

impl Bfq {
    /// Lets a process part whose queue had better be split, with its next request. Its queue from
    /// now on, and whether that is another.
    pub(super) fn part(
        &mut self,
        now: Instant,
        stream: StreamId,
        key: QueueKey,
    ) -> (QueueKey, bool) {
        let queue = self.queue(key);
        if !(queue.shared && queue.splits) || queue.stable {
            return (key, false);
        }
        let (alone, claim) = (queue.processes == 1, queue.claim);
        let length = self.rate.raise_length();
        let own = match alone {
            true => key,
            false => {
                self.leave(key);
                self.create(now, claim, true)
            }
        };
        self.process_mut(stream).home = Some(own);
        let kept = self.process_mut(stream).kept.take();
        let queue = self.queue_mut(own);
        (queue.shared, queue.splits) = (false, false);
        queue.split = Some(now);
        queue.owner = Some(stream);
        if let Some(kept) = kept {
            queue.habits = kept.habits;
            queue.in_burst = kept.in_burst;
            queue.raise = kept.raise.still(now, kept.in_burst, length);
            (queue.answered, queue.emptied) = match alone {
                true => (queue.answered, queue.emptied),
                false => (kept.answered, kept.emptied),
            };
        }
        self.reweigh(own);
        (own, !alone)
    }

    /// The queue that a request goes to: the one that its process is to share, if there is one.
    pub(super) fn cooperator(
        &mut self,
        now: Instant,
        stream: StreamId,
        key: QueueKey,
        at: Pba,
    ) -> QueueKey {
        if let Some(target) = self
            .queue(key)
            .merged_into
            .filter(|to| self.alive(*to).is_some())
        {
            return self.merge(now, stream, key, target);
        }
        let Some((target, stable)) = self.find_partner(now, stream, key, at) else {
            return key;
        };
        if stable {
            self.queue_mut(target).stable = true;
        }
        self.queue_mut(key).merged_into = Some(target);
        self.merge(now, stream, key, target)
    }

    /// Another queue to share, and whether for good.
    fn find_partner(
        &mut self,
        now: Instant,
        stream: StreamId,
        key: QueueKey,
        at: Pba,
    ) -> Option<(QueueKey, bool)> {
        let alone = self.is_flash();
        let queue = self.queue(key);
        if !alone && !queue.new && now > queue.created + LATE && self.long_apart(now, key, LATE) {
            let created_after = self.process_mut(stream).created_after.take();
            let partner = created_after.filter(|to| *to != key && self.alive(*to).is_some());
            if let Some(partner) = partner.filter(|_| !self.idling_boosts(key)) {
                return Some((self.last_of(partner), true)).filter(|(to, _)| *to != key);
            }
        }
        if alone || self.is_old(now, key) || self.busy_total() == 1 || !self.may_share(key) {
            return None;
        }
        let near = |of: Pba| of.distance(at) <= CLOSE;
        let served = self
            .in_service
            .filter(|served| *served != key && near(self.served_end));
        let found = served.filter(|served| self.cooperate(now, key, *served));
        let found = found.or_else(|| {
            let found = self.next_near(key, at)?;
            self.cooperate(now, key, found).then_some(found)
        })?;
        Some((found, false))
    }

    fn long_apart(&self, now: Instant, key: QueueKey, time: Duration) -> bool {
        self.queue(key).split.is_none_or(|split| now > split + time)
    }

    /// The queue that one was merged into, at last.
    fn last_of(&self, key: QueueKey) -> QueueKey {
        let mut at = key;
        while let Some(next) = self.alive(at).and_then(|queue| queue.merged_into) {
            match self.alive(next) {
                Some(_) => at = next,
                None => break,
            }
        }
        at
    }

    fn is_old(&self, now: Instant, key: QueueKey) -> bool {
        let queue = self.queue(key);
        queue.served > 0 && now > queue.first_served + YOUNG
    }

    /// Whether a queue reads in a row, and its class shares at all.
    fn may_share(&self, key: QueueKey) -> bool {
        let queue = self.queue(key);
        queue.sync && queue.claim.class != Class::Idle && !queue.habits.seeky()
    }

    fn cooperate(&self, now: Instant, key: QueueKey, other: QueueKey) -> bool {
        let same = |key: QueueKey| {
            let claim = self.queue(key).claim;
            (claim.group, claim.class, claim.told)
        };
        let free = self.queue(other).merged_into.is_none() && self.queue(other).processes > 0;
        same(key) == same(other) && free && self.may_share(other) && !self.is_old(now, other)
    }

    /// Of the queues whose next request is near, the one at or behind this block, else the one
    /// before it.
    fn next_near(&self, key: QueueKey, at: Pba) -> Option<QueueKey> {
        let claim = self.queue(key).claim;
        let least = QueueKey { place: 0, born: 0 };
        let positions = &self.positions;
        let cursor = positions.seek(&(claim.group, claim.class, at, least));
        let fits = |position: &&Position| {
            let near = position.at.distance(at) <= CLOSE && position.key != key;
            near && position.claim == (claim.group, claim.class)
        };
        let behind = positions.at(cursor).filter(fits);
        let before = || {
            positions
                .before(cursor)
                .and_then(|cursor| positions.at(cursor))
        };
        behind
            .or_else(|| before().filter(fits))
            .map(|found| found.key)
    }

    /// A process shares another queue from now on; its own has no other use, or other processes
    /// that follow with their next requests.
    fn merge(
        &mut self,
        now: Instant,
        stream: StreamId,
        key: QueueKey,
        target: QueueKey,
    ) -> QueueKey {
        self.merged += 1;
        let target = self.last_of(target);
        let length = self.rate.raise_length();
        let queue = self.queue_mut(key);
        let mut raise = queue.raise;
        if queue.new && !queue.in_burst && !raise.is_raised() {
            // It was never served: it would have been interactive.
            raise.interactive(length);
            raise.began = now;
        }
        let kept = Kept::of(queue, raise);
        let (raised, io_bound) = (queue.raise, queue.habits.io_bound);
        if raised.is_raised() {
            queue.raise.factor = 1;
        }
        queue.habits.io_bound = false;
        let process = self.process_mut(stream);
        process.home = Some(target);
        process.kept.get_or_insert(kept);
        self.keep_owner(target);
        let other = self.queue_mut(target);
        other.processes += 1;
        other.owner = None;
        other.shared = true;
        other.habits.io_bound |= io_bound;
        if raised.is_raised() && !other.raise.is_raised() {
            other.raise.inherit(&raised);
        }
        self.reweigh(target);
        self.reweigh(key);
        self.leave(key);
        target
    }

    /// A queue becomes shared: what is known of the process that it belonged to is kept for it.
    fn keep_owner(&mut self, target: QueueKey) {
        let queue = self.queue(target);
        if let Some(owner) = queue.owner {
            let kept = Kept::of(queue, queue.raise);
            self.process_mut(owner).kept.get_or_insert(kept);
        }
    }

    /// A queue is new: it may have been created together with the one before it. The queue that its
    /// process shares at once, or its own.
    pub(super) fn created_together(
        &mut self,
        now: Instant,
        stream: StreamId,
        key: QueueKey,
    ) -> QueueKey {
        let claim = self.queue(key).claim;
        let last = self.created_last.filter(|last| {
            let last = self.alive(*last);
            last.is_some_and(|last| now <= last.created + WINDOW && last.claim == claim)
        });
        let Some(last) = last else {
            self.created_last = Some(key);
            return key;
        };
        if now > self.queue(last).created + TOGETHER {
            return key;
        }
        if !self.is_flash() {
            self.process_mut(stream).created_after = Some(last);
            return key;
        }
        let target = self.last_of(last);
        self.queue_mut(target).stable = true;
        self.merge(now, stream, key, target)
    }

    /// The favour of a queue that was lately split is left alone for a while.
    pub(super) fn settled(&self, now: Instant, key: QueueKey) -> bool {
        self.long_apart(now, key, IDLE)
    }
}
