//! Turns: whose requests go to the drive, for how long, and what that is charged as.
//!
//! One queue at a time is served, until
//!
//! ```text
//! its budget is used up                 it wanted more: four times the budget next time
//! its time is up                        twice
//! it has nothing, and is not worth      as much as it got
//! waiting for
//! it was waited for in vain             less, if nothing of it was on the drive; else twice
//! another must go first                 as before
//! ```
//!
//! The budget is charged by blocks, so that who reads in a row is not punished for being quick; but
//! who is slow, or whose time was up with a third of the budget left, is charged by time: so queues
//! that seek share the time of the drive, the others its rate. Facts of `bfq_bfqq_expire`,
//! `__bfq_bfqq_recalc_budget`, `bfq_bfqq_charge_time`, `bfq_bfqq_handle_idle_busy_switch`,
//! `bfq_select_queue`.

use super::super::waiting::Stop;
use super::Bfq;
use super::burst::FORGOTTEN;
use super::claim::QueueKey;
use super::raise::IDLE;
use crate::units::{Duration, Instant};

/// The most that a turn gets before the drive's rate is known.
const BUDGET: u64 = 16_384;
/// The least budget is so small a part of the most.
const LEAST: u64 = 32;
/// Estimates are trusted from the eleventh turn on: the smoothed count then reaches this.
const TRUSTED: u64 = 194;
/// A turn is taken for slow only if it was longer than this,
const SLOW: Duration = Duration::from_ms(20);
/// and shorter ones than this are charged as idling.
const SHORT: Duration = Duration::from_ms(1);

/// Why a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    TooIdle,
    Timeout,
    Exhausted,
    NoMore,
    Preempted,
}

/// The turn that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    began: Instant,
    deadline: Instant,
}

impl Turn {
    pub(super) const NONE: Turn = Turn {
        began: Instant::ZERO,
        deadline: Instant::ZERO,
    };
}

impl Bfq {
    /// The most that a turn gets.
    pub(super) fn most(&self) -> u64 {
        match self.set.max_budget {
            0 => self.rate.turn(self.set.timeout).unwrap_or(BUDGET),
            told => told,
        }
    }

    /// The same, as far as it is trusted.
    pub(super) fn most_trusted(&self) -> u64 {
        match self.set.max_budget == 0 && self.assigned < TRUSTED {
            true => BUDGET,
            false => self.most(),
        }
    }

    fn least(&self) -> u64 {
        (self.most_trusted() / LEAST).max(1)
    }

    /// What serving a request is charged as.
    #[inline]
    pub(super) fn charge_of(&self, key: QueueKey, next: &Stop) -> u64 {
        let queue = self.queue(key);
        let plain = queue.sync || queue.raise.is_raised() || self.is_asymmetric(key);
        next.len.0 * if plain { 1 } else { self.set.async_charge }
    }

    /// A queue is charged.
    pub(super) fn serve(&mut self, now: Instant, key: QueueKey, blocks: u64) {
        let queue = self.queue_mut(key);
        if queue.served == 0 {
            queue.first_served = now;
        }
        if queue.raise.is_raised() {
            queue.raise.served += blocks;
        }
        queue.served += blocks;
        let entity = queue.entity;
        self.fair.serve(entity, blocks);
    }

    /// The queue of which a request goes next; none if there is none, or the drive waits. `rests`
    /// tells that the drive has nothing at all: what was started and is not there waits for a place
    /// that only others may free.
    pub(super) fn select(&mut self, now: Instant, rests: bool) -> Option<QueueKey> {
        if let Some(key) = self.in_service {
            let waits = self.queue(key).waiting.is_empty() && self.better_to_idle(key);
            if self.may_time_out(now, key) && !waits {
                self.expire(now, Why::Timeout, now);
            }
        }
        loop {
            let Some(key) = self.in_service else {
                self.begin_turn(now)?;
                continue;
            };
            let queue = self.queue(key);
            let Some(next) = queue.waiting.next() else {
                let on_drive = queue.dispatched > 0 && !rests && self.better_to_idle(key);
                if self.idling.is_some() || on_drive {
                    return self.injectable(now, key);
                }
                self.expire(now, Why::NoMore, now);
                continue;
            };
            if self.charge_of(key, &next) <= self.fair.left(queue.entity) {
                self.idling = None;
                return Some(key);
            }
            self.expire(now, Why::Exhausted, now);
        }
    }

    /// The next queue gets its turn.
    fn begin_turn(&mut self, now: Instant) -> Option<()> {
        let entity = self.fair.begin(now)?;
        let key = self.by_entity[entity.index()];
        self.in_service = Some(key);
        self.assigned = (7 * self.assigned + 256) / 8;
        self.prolong(now, key);
        let queue = self.queue_mut(key);
        queue.checks_oldest = true;
        let longer = match queue.raise.is_soft() {
            true => 1,
            false => queue.raise.factor,
        };
        self.turn = Turn {
            began: now,
            deadline: now + Duration(self.set.timeout.0 * longer),
        };
        self.turns += 1;
        Some(())
    }

    /// Whether its time is up; while it is waited for, only if a third of its budget is left.
    pub(super) fn may_time_out(&self, now: Instant, key: QueueKey) -> bool {
        let entity = self.queue(key).entity;
        let third = || self.fair.left(entity) >= self.fair.budget(entity) / 3;
        now >= self.turn.deadline && (self.idling.is_none() || third())
    }

    /// The drive has waited long enough for the queue that is served.
    pub(super) fn idled(&mut self, now: Instant, began: Instant) {
        let key = self.in_service.expect("the drive waits for a queue");
        if now >= self.turn.deadline {
            self.expire(now, Why::Timeout, began);
        } else if self.queue(key).waiting.is_empty() {
            self.expire(now, Why::TooIdle, began);
        }
    }

    /// The queue that is served has got a request for which the drive waited.
    pub(super) fn waited_for(&mut self, now: Instant) {
        self.idling = None;
        if now >= self.turn.deadline {
            self.expire(now, Why::Timeout, now);
        }
    }

    /// The turn ends; it has worked until that instant.
    pub(super) fn expire(&mut self, now: Instant, why: Why, worked_until: Instant) {
        let key = self.in_service.take().expect("a turn goes on");
        self.idling = None;
        self.charge_time(now, key, why, worked_until.since(self.turn.began));
        if self.set.low_latency {
            self.turn_says(now, key);
        }
        self.learn_budget(key, why);
        self.stop_measuring();
        let needed = why == Why::Preempted && self.idling_is_needed(key);
        let queue = self.queue(key);
        let (entity, next) = (queue.entity, queue.waiting.next());
        let left = self.fair.left(entity);
        let stays = next.is_some() || needed;
        let charge = next.map_or(0, |next| self.charge_of(key, &next));
        let budget = match why {
            Why::Preempted => self.fair.budget(entity),
            _ => self.queue(key).budget,
        };
        self.fair
            .end(now, entity, stays.then_some(budget.max(charge)));
        let queue = self.queue_mut(key);
        queue.turn_ended = now;
        queue.splits |= queue.shared && queue.habits.seeky();
        queue.kept = None;
        if !stays {
            if queue.dispatched == 0 {
                queue.emptied = Some(now);
            }
            let comes_back = !matches!(why, Why::Timeout | Why::Exhausted);
            queue.kept = comes_back.then_some(left);
            self.no_longer_busy(key);
        }
        self.recount(key);
    }

    /// Who was slow is charged by time.
    pub(super) fn charge_time(&mut self, now: Instant, key: QueueKey, why: Why, took: Duration) {
        let most = self.most();
        let queue = self.queue(key);
        let entity = queue.entity;
        let service = self.fair.service(entity);
        let slow = match took > SLOW {
            true => service < most / 2,
            false => queue.habits.seeky(),
        };
        let third = self.fair.left(entity) >= self.fair.budget(entity) / 3;
        let by_time = queue.sync && slow || why == Why::Timeout && third;
        if queue.raise.is_raised() || !by_time || !queue.sync {
            return;
        }
        let took = match took < SHORT {
            true if self.rotational => self.set.slice_idle,
            true => super::rate::AT_ONCE,
            false => took,
        };
        let share = took.min(self.set.timeout);
        // Whole milliseconds, as Linux counts them.
        let charge = most * (share.0 / 1_000_000) / (self.set.timeout.0 / 1_000_000);
        if charge > service {
            self.fair.raise_budget(entity, charge);
            self.serve(now, key, charge - service);
        }
    }

    /// What the next turn may get follows from why this one ends.
    pub(super) fn learn_budget(&mut self, key: QueueKey, why: Why) {
        let (most, least) = (self.most(), self.least());
        let trusted = self.set.max_budget == 0 && self.assigned >= TRUSTED;
        let queue = self.queue(key);
        let budget = queue.budget;
        let budget = if !queue.sync {
            most
        } else if queue.raise.is_raised() {
            2 * least
        } else {
            match why {
                Why::TooIdle if queue.dispatched > 0 => most.min(2 * budget),
                Why::TooIdle if budget > 5 * least => budget - 4 * least,
                Why::TooIdle => least,
                Why::Timeout => most.min(2 * budget),
                Why::Exhausted => most.min(4 * budget),
                Why::NoMore => self.fair.service(queue.entity).max(least),
                Why::Preempted => return,
            }
        };
        let queue = self.queue_mut(key);
        queue.budget = if trusted { budget.min(most) } else { budget };
    }

    /// A queue without requests gets its first.
    pub(super) fn becomes_busy(&mut self, now: Instant, key: QueueKey) {
        let in_time = 3 * self.set.slice_idle.0;
        let settled = self.settled(now, key);
        let (soft, interactive) = self.character(now, key);
        let queue = self.queue_mut(key);
        let long_idle = queue.idle_longer_than(now, IDLE);
        let kept = queue.kept.take().filter(|left| *left > 0);
        let kept = kept.filter(|_| {
            let since = queue.answered.map(|answered| now.since(answered).0);
            since.is_none_or(|since| since <= in_time)
        });
        let forgets = !queue.new && long_idle && queue.idle_longer_than(now, FORGOTTEN);
        queue.new = false;
        if forgets {
            self.forget_burst(key);
        }
        let was_raised = self.queue(key).raise.is_raised();
        if self.set.low_latency && settled {
            self.favour(now, key, soft, interactive);
        }
        let next = self.queue(key).waiting.next().expect("it has a request");
        let charge = self.charge_of(key, &next);
        let (least, low_latency) = (self.least(), self.set.low_latency);
        let queue = self.queue_mut(key);
        let mut budget = match kept {
            Some(left) => left.min(queue.budget),
            None => queue.budget.max(charge),
        };
        let is_raised = queue.raise.is_raised();
        if is_raised && !was_raised {
            budget = budget.min(2 * least);
        }
        if low_latency && (!was_raised || !is_raised || interactive) {
            queue.raise.began = now;
        }
        (queue.busy_since, queue.served) = (now, 0);
        let (entity, factor) = (queue.entity, queue.raise.factor);
        self.batch_goes_on(key);
        self.reweigh(key);
        self.fair
            .activate(now, entity, budget, kept.map(|_| factor));
        self.now_busy(key);
        self.woken(key);
        if self.preempts(now, key, kept.is_some()) {
            self.expire(now, Why::Preempted, now);
        }
    }

    /// Whether a queue that is busy now ends the turn of the one that is served.
    fn preempts(&self, now: Instant, key: QueueKey, comes_back: bool) -> bool {
        let Some(served) = self.in_service else {
            return false;
        };
        let (one, other) = (self.queue(key), self.queue(served));
        let [own, its] = self.fair.ranks(one.entity, other.entity);
        let goes_on = comes_back && one.raise.factor >= other.raise.factor;
        let ranks = own.0 < its.0 || own.0 == its.0 && own.1 > its.1;
        (goes_on || ranks || !self.better_to_idle(served)) && self.fair.has_rival(now, other.entity)
    }

    /// The next request of a queue that waits is another, or has grown.
    pub(super) fn next_has_changed(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue(key);
        let (entity, budget) = (queue.entity, queue.budget);
        if let Some(next) = queue
            .waiting
            .next()
            .filter(|_| self.in_service != Some(key))
        {
            let charge = self.charge_of(key, &next);
            let budget = budget.max(charge).max(self.fair.service(entity));
            self.fair.set_budget(now, entity, budget);
        }
        self.recount(key);
    }
}
