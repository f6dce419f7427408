//! Favour: what the processes of a person get before others, without being told who they are.
//!
//! Two kinds of processes are favoured, by a raised weight, for a while:
//!
//! ```text
//! interactive      it had nothing to do for 2 s, or is new: its weight counts 30 times, for as long as a reference task takes on this drive (the start of
//!                  a word processor), or until it got 120,000 blocks
//! soft real-time   it asks in batches, each after the last one was answered, and needs no more than 7,000 blocks a second: 3,000 times, for 300 ms
//!                  from each batch on
//! ```
//!
//! Only processes of which nobody has said anything (weight 40) are favoured; and not those that
//! came with many others at once. Facts of `bfq_update_bfqq_wr_on_rq_arrival`,
//! `bfq_update_wr_data`, `bfq_bfqq_softrt_next_start`.

use super::Bfq;
use super::claim::{PLAIN, QueueKey};
use crate::units::{Duration, Instant};

/// An interactive process weighs so many times its weight.
pub(super) const INTERACTIVE: u64 = 30;
/// A soft real-time one.
pub(super) const SOFT_REAL_TIME: u64 = 30 * 100;
/// For so long, from each batch on.
const SOFT_REAL_TIME_LASTS: Duration = Duration::from_ms(300);
/// Blocks a second of a process that is soft real-time at most.
const SOFT_REAL_TIME_RATE: u64 = 7_000;
/// An interactive process gets so much at most as one.
const INTERACTIVE_BLOCKS: u64 = 120_000;
/// Who had nothing to do for so long is interactive.
pub(super) const IDLE: Duration = Duration::from_ms(2_000);
/// Writes that nobody waits for are favoured if they come after so long.
const ASYNC_GAP: Duration = Duration::from_ms(500);
/// Linux counts in ticks, of which four are added here: of a millisecond each, as at 1,000 a
/// second.
const TICKS: Duration = Duration::from_ms(4);

/// The favour of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raise {
    /// What its weight is multiplied by: 1, [`INTERACTIVE`] or [`SOFT_REAL_TIME`].
    pub(super) factor: u64,
    /// When the present favour began; without favour, when it last had one or was served.
    pub(super) began: Instant,
    /// How long it lasts.
    lasts: Duration,
    /// When it became interactive, of one that is soft real-time now.
    interactive_since: Option<Instant>,
    /// What it got since it became interactive.
    pub(super) served: u64,
    /// From when on it is soft real-time if it comes back.
    pub(super) soft_from: Instant,
    /// That instant is found when the last of its requests is answered.
    soft_later: bool,
}

impl Raise {
    pub(super) fn none(now: Instant) -> Raise {
        Raise {
            factor: 1,
            began: now,
            lasts: Duration::ZERO,
            interactive_since: None,
            served: 0,
            soft_from: now,
            soft_later: false,
        }
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.factor > 1
    }

    #[inline]
    pub(super) fn is_soft(&self) -> bool {
        self.factor == SOFT_REAL_TIME
    }

    /// It becomes interactive.
    pub(super) fn interactive(&mut self, length: Duration) {
        (self.factor, self.lasts) = (INTERACTIVE, length);
    }

    /// It becomes soft real-time, and may go back to be interactive.
    fn soft(&mut self, interactive_since: Option<Instant>) {
        self.interactive_since = interactive_since;
        (self.factor, self.lasts) = (SOFT_REAL_TIME, SOFT_REAL_TIME_LASTS);
    }

    /// It loses its favour.
    pub(super) fn end(&mut self, now: Instant) {
        if self.factor == INTERACTIVE {
            self.soft_from = now;
        }
        (self.factor, self.lasts, self.began) = (1, Duration::ZERO, now);
    }

    /// One that is soft real-time no longer is: interactive again, if it was and that lasts, else
    /// without favour.
    fn end_soft(&mut self, now: Instant, length: Duration) {
        match self.interactive_since {
            Some(since) if now <= since + length => {
                self.interactive(length);
                self.began = since;
            }
            _ => self.end(now),
        }
    }

    /// It gets the favour of a process that joins it.
    pub(super) fn inherit(&mut self, other: &Raise) {
        *self = Raise {
            factor: other.factor,
            began: other.began,
            lasts: other.lasts,
            interactive_since: other.interactive_since,
            ..*self
        };
    }

    /// Its favour, as a process takes it along to another queue or comes back with it, if it still
    /// lasts.
    pub(super) fn still(mut self, now: Instant, in_burst: bool, length: Duration) -> Raise {
        if self.is_raised() && (in_burst || now > self.began + self.lasts) {
            match self.is_soft() && !in_burst {
                true => self.end_soft(now, length),
                false => self.factor = 1,
            }
        }
        self
    }
}

impl Bfq {
    /// Whether a queue that gets its first request now would be soft real-time, and whether it
    /// would be interactive.
    pub(super) fn character(&self, now: Instant, key: QueueKey) -> (bool, bool) {
        let queue = self.queue(key);
        let plain = !queue.in_burst && queue.claim.weight == PLAIN;
        let quiet = queue.dispatched == 0 && now > queue.raise.soft_from;
        let soft = plain && quiet && !queue.habits.totally_seeky();
        (soft, plain && queue.idle_longer_than(now, IDLE))
    }

    /// A queue that had no requests gets one. Whether it is interactive.
    pub(super) fn favour(&mut self, now: Instant, key: QueueKey, soft: bool, interactive: bool) {
        let length = self.rate.raise_length();
        let single = !self.queue(key).shared || self.queue(key).stable;
        let queue = self.queue_mut(key);
        let in_burst = queue.in_burst;
        let raise = &mut queue.raise;
        if raise.is_raised() {
            if interactive {
                raise.interactive(length);
            } else if in_burst {
                raise.factor = 1;
            } else if soft {
                if !raise.is_soft() {
                    raise.soft(Some(raise.began));
                }
                raise.began = now;
            }
        } else if queue.sync && single && (interactive || soft) {
            match interactive {
                true => {
                    raise.served = 0;
                    raise.interactive(length);
                }
                false => raise.soft(None),
            }
        }
    }

    /// Writes that nobody waits for come to a queue that has some: after a pause they are favoured.
    pub(super) fn favour_async(&mut self, now: Instant, key: QueueKey) {
        let length = self.rate.raise_length();
        let queue = self.queue_mut(key);
        if !queue.sync && !queue.raise.is_raised() && now > queue.raise.began + ASYNC_GAP {
            queue.raise.interactive(length);
            self.reweigh(key);
        }
    }

    /// The queue that is served has got more: its favour may be over.
    pub(super) fn end_favour(&mut self, now: Instant, key: QueueKey) {
        let length = self.rate.raise_length();
        let queue = self.queue_mut(key);
        let in_burst = queue.in_burst;
        let raise = &mut queue.raise;
        if !raise.is_raised() {
            return;
        }
        if in_burst {
            raise.end(now);
        } else if now > raise.began + raise.lasts {
            match raise.is_soft() {
                true => raise.end_soft(now, length),
                false => raise.end(now),
            }
        }
        if raise.factor == INTERACTIVE && raise.served > INTERACTIVE_BLOCKS {
            raise.end(now);
        }
    }

    /// A request came: one whose requests all lie here and there is not soft real-time.
    pub(super) fn end_favour_of_seeky(&mut self, now: Instant, key: QueueKey) {
        let length = self.rate.raise_length();
        let queue = self.queue_mut(key);
        if queue.raise.is_soft() && queue.habits.totally_seeky() {
            queue.raise.end_soft(now, length);
            self.reweigh(key);
        }
    }

    /// A soft real-time queue is served at last: the time that it was not does not count.
    pub(super) fn prolong(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue_mut(key);
        if queue.raise.is_soft() && now > queue.raise.began {
            let unserved = now.since(queue.turn_ended);
            match queue.turn_ended > queue.raise.began {
                true => queue.raise.began += unserved,
                false => queue.raise.began = now,
            }
        }
    }

    /// The turn of a queue ends: from when on it is soft real-time follows from what it got since
    /// it began to have requests.
    pub(super) fn turn_says(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue_mut(key);
        if !queue.raise.is_raised() {
            queue.raise.began = now;
        }
        if queue.waiting.is_empty() {
            queue.raise.soft_later = queue.dispatched > 0;
            self.find_soft_from(now, key);
        }
    }

    /// Requests came again before the last batch was answered.
    pub(super) fn batch_goes_on(&mut self, key: QueueKey) {
        self.queue_mut(key).raise.soft_later = false;
    }

    /// An answer came: if it was the last one of a batch, what was put off is found.
    pub(super) fn answer_says(&mut self, now: Instant, key: QueueKey) {
        if self.queue(key).raise.soft_later {
            self.find_soft_from(now, key);
        }
    }

    fn find_soft_from(&mut self, now: Instant, key: QueueKey) {
        let idle = self.set.slice_idle;
        let queue = self.queue_mut(key);
        if queue.dispatched > 0 || !queue.waiting.is_empty() || queue.raise.factor == INTERACTIVE {
            return;
        }
        // As long as its batch takes at the rate that is allowed.
        let allowed = Duration(queue.served.saturating_mul(1_000_000_000) / SOFT_REAL_TIME_RATE);
        let by_rate = queue.busy_since + allowed;
        let raise = &mut queue.raise;
        raise.soft_from = raise.soft_from.max(by_rate).max(now + idle + TICKS);
    }
}
