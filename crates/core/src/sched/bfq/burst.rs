//! Bursts: many processes that begin at once are no application that somebody waits for.
//!
//! A queue that is created at most 180 ms after the one before it, in the same group, belongs to
//! its burst. The eighth makes the burst a large one: all of it, and all that join later, are not
//! favoured. A new burst is looked for only while nothing else is busy, since who starts an
//! application while others work is not starting a service. Facts of `bfq_handle_burst`.

use super::Bfq;
use super::claim::QueueKey;
use crate::ids::GroupId;
use crate::units::{Duration, Instant};

/// Queues that make a burst a large one.
const LARGE: usize = 8;
/// Who comes later begins another burst.
const SPACING: Duration = Duration::from_ms(180);
/// Who had nothing for so long no longer belongs to its burst.
pub(super) const FORGOTTEN: Duration = Duration::from_ms(10_000);

/// The burst that is going on.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    members: Vec<QueueKey>,
    large: bool,
    group: GroupId,
    latest: Option<Instant>,
}

impl Burst {
    /// A queue no longer belongs to it.
    fn leave(&mut self, key: QueueKey) {
        self.members.retain(|member| *member != key);
    }
}

impl Bfq {
    /// A queue is new.
    pub(super) fn joins_burst(&mut self, now: Instant, key: QueueKey) {
        let nothing_busy = self.busy_total() == 0;
        if self.burst.members.is_empty() && !self.burst.large && !nothing_busy {
            return;
        }
        let group = self.queue(key).claim.group;
        let burst = &mut self.burst;
        let late = burst.latest.is_none_or(|latest| now > latest + SPACING);
        burst.latest = Some(now);
        if late || burst.group != group {
            burst.members.clear();
            burst.large = false;
            burst.group = group;
            if nothing_busy {
                burst.members.push(key);
            }
        } else if burst.large {
            self.queue_mut(key).in_burst = true;
        } else {
            burst.members.push(key);
            if burst.members.len() == LARGE {
                burst.large = true;
                for member in std::mem::take(&mut self.burst.members) {
                    if let Some(queue) = self.alive_mut(member) {
                        queue.in_burst = true;
                    }
                }
            }
        }
    }

    /// A queue that was long without anything gets a request.
    pub(super) fn forget_burst(&mut self, key: QueueKey) {
        self.burst.leave(key);
        self.queue_mut(key).in_burst = false;
    }
}
