//! When the drive waits: for the next request of the queue that is served, though others have some.
//!
//! ```text
//! for throughput    the next request of a process that reads in a row, and soon asks again, costs no seek; not on a drive without an arm that has a
//!                   queue of its own, and not for the others while a favoured queue is busy (they would fill the drive's queue)
//! for shares        who is served would lose its share to those who ask ahead: when it is favoured and others are busy, when weights or classes
//!                   differ, when several groups are busy
//! ```
//!
//! Facts of `bfq_better_to_idle`, `idling_boosts_thr_without_issues`,
//! `idling_needed_for_service_guarantees`, `bfq_arm_slice_timer`.

use super::Bfq;
use super::claim::QueueKey;
use super::rate::AT_ONCE;
use crate::stream::Class;
use crate::units::{Duration, Instant};

/// The drive waits for a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idling {
    pub(super) began: Instant,
    pub(super) until: Instant,
}

impl Bfq {
    /// Whether the drive should wait when this queue, which is served, has no request.
    pub(super) fn better_to_idle(&self, key: QueueKey) -> bool {
        if self.set.strict {
            return true;
        }
        let queue = self.queue(key);
        if self.set.slice_idle == Duration::ZERO || !queue.sync || queue.claim.class == Class::Idle
        {
            return false;
        }
        self.idling_boosts(key) || self.idling_is_needed(key)
    }

    /// Whether waiting for it makes the drive do more.
    pub(super) fn idling_boosts(&self, key: QueueKey) -> bool {
        let habits = &self.queue(key).habits;
        let in_a_row = !habits.seeky() && habits.io_bound && habits.thinks_short;
        let queues = self.queueing.queues();
        let boosts = match self.rotational {
            true => !queues || in_a_row,
            false => !queues && in_a_row,
        };
        boosts && self.totals.raised == 0
    }

    /// Whether it would lose its share else.
    pub(super) fn idling_is_needed(&self, key: QueueKey) -> bool {
        let queue = self.queue(key);
        let busy = self.busy_total();
        // So many requests of others on the drive delay the next one of a favoured process.
        let foreign = u64::from(self.in_drive - queue.dispatched);
        let crowded = self.set.foreign > 0 && foreign >= self.set.foreign;
        let raised = queue.raise.is_raised() && (self.totals.raised < busy || crowded);
        raised || self.is_asymmetric(key) || busy == 1
    }

    /// Whether queues are to get different shares, and this one not the smallest.
    pub(super) fn is_asymmetric(&self, key: QueueKey) -> bool {
        let weights = &self.totals.weights;
        let smallest = weights.smallest();
        let smallest = smallest.is_some() && self.queue(key).counted.weight == smallest;
        let classes = self.totals.busy.iter().filter(|busy| **busy > 0).count();
        weights.kinds() > 1 && !smallest || classes > 1 || self.totals.groups.kinds() > 1
    }

    /// The drive begins to wait for a queue that has nothing, here or there.
    pub(super) fn begin_idling(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue(key);
        let raised = queue.raise.is_raised();
        let length = match queue.habits.seeky() && !raised && !self.is_asymmetric(key) {
            true => self.set.slice_idle.min(AT_ONCE),
            false if raised => self.set.slice_idle.max(self.set.raised_idle),
            false => self.set.slice_idle,
        };
        self.idling = Some(Idling {
            began: now,
            until: now + length,
        });
    }
}
