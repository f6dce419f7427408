//! What is known of one queue: the requests of a process, of several that were merged, or of writes
//! that nobody waits for.

use super::super::habits::Habits;
use super::super::waiting::Waiting;
use super::claim::Claim;
use super::claim::QueueKey;
use super::inject::Injection;
use super::raise::Raise;
use super::wf2q::EntityId;
use crate::ids::{GroupId, StreamId};
use crate::list::Handle;
use crate::stream::Class;
use crate::units::{Duration, Instant, Pba};

/// For what of a queue the totals over all queues have been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// It is busy.
    pub(super) class: Option<Class>,
    /// It is busy and favoured.
    pub(super) raised: bool,
    /// It is busy or on the drive, and not favoured.
    pub(super) weight: Option<u64>,
    /// It is busy or on the drive.
    pub(super) group: Option<GroupId>,
    /// Where its next request is, if others may join it.
    pub(super) position: Option<(Pba, GroupId, Class)>,
}

pub(super) struct Queue {
    pub(super) born: u32,
    pub(super) created: Instant,
    pub(super) claim: Claim,
    pub(super) entity: EntityId,
    /// Somebody waits for its requests.
    pub(super) sync: bool,
    /// Nothing came yet but what is coming now.
    pub(super) new: bool,

    pub(super) waiting: Waiting,
    /// Requests on the drive.
    pub(super) dispatched: u32,
    /// It has requests, is being served, or keeps its place without requests.
    pub(super) busy: bool,
    /// Its place among those that are busy.
    pub(super) listed: Option<Handle>,
    /// When it last had nothing, neither here nor on the drive.
    pub(super) emptied: Option<Instant>,
    /// When its last turn ended.
    pub(super) turn_ended: Instant,
    /// When the drive last answered it.
    pub(super) answered: Option<Instant>,

    /// The most that it gets in a turn.
    pub(super) budget: u64,
    /// What its last turn left, if that ended for want of requests: it may come back for that.
    pub(super) kept: Option<u64>,
    /// Its oldest request was not looked at in this turn yet.
    pub(super) checks_oldest: bool,
    /// Since when it has been busy, and what it was served since.
    pub(super) busy_since: Instant,
    pub(super) served: u64,
    pub(super) first_served: Instant,

    pub(super) habits: Habits,
    pub(super) raise: Raise,
    pub(super) injection: Injection,
    /// It came with many others at once.
    pub(super) in_burst: bool,

    /// Processes that put their requests here.
    pub(super) processes: u32,
    /// The one that does, if it is one.
    pub(super) owner: Option<StreamId>,
    /// Several do, or did.
    pub(super) shared: bool,
    /// It was shared because its processes were created together: for good.
    pub(super) stable: bool,
    /// Its processes had better part.
    pub(super) splits: bool,
    /// When it was split from another.
    pub(super) split: Option<Instant>,
    /// The queue that its processes put their requests into from now on.
    pub(super) merged_into: Option<QueueKey>,

    pub(super) counted: Counted,
}

impl Queue {
    /// Requests here and on the drive.
    pub(super) fn allocated(&self) -> u64 {
        self.waiting.len() as u64 + u64::from(self.dispatched)
    }

    /// Whether nothing of it is anywhere.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.dispatched == 0
    }

    /// Whether it was long without anything, or never had anything.
    pub(super) fn idle_longer_than(&self, now: Instant, time: Duration) -> bool {
        self.dispatched == 0 && self.emptied.is_none_or(|since| now > since + time)
    }
}
