//! Who puts its requests where: queues of processes and of writes that nobody waits for, and the
//! groups that they are in.

use super::super::habits::Habits;
use super::super::waiting::Waiting;
use super::Bfq;
use super::claim::{Claim, QueueKey};
use super::inject::Injection;
use super::queue::{Counted, Queue};
use super::raise::Raise;
use super::turn::Why;
use super::wf2q::GroupKey;
use crate::ids::{GroupId, StreamId};
use crate::io::Io;
use crate::op::Op;
use crate::stream::Class;
use crate::units::Instant;

/// Requests at most that join though their process, or its group, has its share of the places. In
/// Linux such a request may take the first place of each word of the bitmap of places, which has
/// four words.
pub(super) const OVER_SHARE: u64 = 4;

/// Which queue an I/O is in, and whether its process had its share of the places when it joined.
#[derive(Clone, Copy)]
pub(super) struct Home {
    pub(super) key: QueueKey,
    pub(super) over: bool,
}

/// A group of streams: its share, and what it has here and on the drive.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) key: GroupKey,
    pub(super) weight: u64,
    pub(super) allocated: u64,
}

impl Bfq {
    /// Where a process puts what it waits for.
    pub(super) fn home_of(&self, stream: StreamId) -> Option<QueueKey> {
        self.processes.get(stream.index())?.home
    }

    /// The group of a claim, which weighs so much.
    pub(super) fn group_mut(&mut self, id: GroupId, weight: u64) -> &mut Group {
        let index = id.index();
        if self.groups.len() <= index {
            self.groups.resize(index + 1, None);
        }
        if self.groups[index].is_none() {
            let key = match index {
                0 => GroupKey::ROOT,
                _ => self.fair.add_group(GroupKey::ROOT, weight),
            };
            self.groups[index] = Some(Group {
                key,
                weight,
                allocated: 0,
            });
        }
        let group = self.groups[index].as_mut().expect("it is there now");
        if group.weight != weight {
            group.weight = weight;
            if let Some(entity) = self.fair.entity_of(group.key) {
                self.fair.reweigh(entity, Class::BestEffort, weight);
            }
        }
        group
    }

    /// What a group that is known has here and on the drive.
    pub(super) fn allocated_mut(&mut self, id: GroupId) -> &mut u64 {
        let group = self.groups[id.index()].as_mut();
        &mut group.expect("the group is known").allocated
    }

    /// A queue without requests.
    pub(super) fn create(&mut self, now: Instant, claim: Claim, sync: bool) -> QueueKey {
        let group = self.groups[claim.group.index()]
            .expect("the group is known")
            .key;
        let entity = self.fair.add(group, claim.class, claim.weight);
        self.born += 1;
        let entry = self.queues.vacant_entry();
        let key = QueueKey {
            place: entry.key() as u32,
            born: self.born,
        };
        entry.insert(Queue {
            born: self.born,
            created: now,
            claim,
            entity,
            sync,
            new: sync,
            waiting: Waiting::default(),
            dispatched: 0,
            busy: false,
            listed: None,
            emptied: None,
            turn_ended: now,
            answered: None,
            budget: 0,
            kept: None,
            checks_oldest: false,
            busy_since: now,
            served: 0,
            first_served: now,
            habits: Habits::new(now, sync && claim.class != Class::Idle),
            raise: Raise::none(now),
            injection: Injection::new(now),
            in_burst: false,
            processes: u32::from(sync),
            owner: None,
            shared: false,
            stable: false,
            splits: false,
            split: None,
            merged_into: None,
            counted: Counted::default(),
        });
        self.queue_mut(key).budget = self.most_trusted() * 2 / 3;
        if self.by_entity.len() <= entity.index() {
            self.by_entity.resize(entity.index() + 1, key);
        }
        self.by_entity[entity.index()] = key;
        key
    }

    /// The queue of what a process waits for.
    pub(super) fn home(&mut self, now: Instant, stream: StreamId, claim: Claim) -> QueueKey {
        let Some(key) = self.process_mut(stream).home else {
            let key = self.create(now, claim, true);
            self.process_mut(stream).home = Some(key);
            self.queue_mut(key).owner = Some(stream);
            self.joins_burst(now, key);
            return self.created_together(now, stream, key);
        };
        let (shared, of) = (self.queue(key).shared, self.queue(key).claim);
        if shared && (of.group, of.class) != (claim.group, claim.class) {
            let queue = self.queue_mut(key);
            (queue.splits, queue.stable) = (true, false);
        }
        let (key, fresh) = self.part(now, stream, key);
        if fresh {
            self.joins_burst(now, key);
        }
        self.claims(now, key, claim);
        key
    }

    /// The queue of writes that nobody waits for.
    pub(super) fn async_home(&mut self, now: Instant, claim: Claim) -> QueueKey {
        let of = (claim.group, claim.class, claim.level);
        match self.asyncs.binary_search_by_key(&of, |(of, _)| *of) {
            Ok(at) => {
                let key = self.asyncs[at].1;
                self.claims(now, key, claim);
                key
            }
            Err(at) => {
                let key = self.create(now, claim, false);
                self.asyncs.insert(at, (of, key));
                key
            }
        }
    }

    pub(super) fn async_queue(&self, claim: &Claim) -> Option<QueueKey> {
        let of = (claim.group, claim.class, claim.level);
        let at = self.asyncs.binary_search_by_key(&of, |(of, _)| *of);
        at.ok().map(|at| self.asyncs[at].1)
    }

    /// A queue may claim something else than before.
    pub(super) fn claims(&mut self, now: Instant, key: QueueKey, claim: Claim) {
        let before = self.queue(key).claim;
        if before == claim {
            return;
        }
        if before.group != claim.group {
            self.moves(now, key, claim);
        } else {
            self.queue_mut(key).claim = claim;
            self.reweigh(key);
        }
    }

    /// A queue is in another group from now on, with what it has.
    pub(super) fn moves(&mut self, now: Instant, key: QueueKey, claim: Claim) {
        if self.in_service == Some(key) {
            self.expire(now, Why::Preempted, now);
        }
        let queue = self.queue(key);
        let (entity, busy, allocated) = (queue.entity, queue.busy, queue.allocated());
        let before = queue.claim.group;
        let budget = self.fair.budget(entity);
        if busy {
            self.fair.withdraw(now, entity);
        }
        *self.allocated_mut(before) -= allocated;
        *self.allocated_mut(claim.group) += allocated;
        let group = self.groups[claim.group.index()].expect("it is known").key;
        self.fair.move_to(entity, group);
        self.queue_mut(key).claim = claim;
        self.reweigh(key);
        if busy {
            self.fair.activate(now, entity, budget, None);
        }
    }

    /// A process no longer puts its requests into a queue.
    pub(super) fn leave(&mut self, key: QueueKey) {
        let queue = self.queue_mut(key);
        queue.processes -= 1;
        if queue.processes == 0 {
            self.orphans.push(key);
            self.drop_orphans();
        }
    }

    /// Queues without processes are gone when nothing of them is left.
    pub(super) fn drop_orphans(&mut self) {
        for at in (0..self.orphans.len()).rev() {
            let key = self.orphans[at];
            if self.queue(key).is_idle() {
                self.orphans.swap_remove(at);
                self.recount(key);
                let queue = self.queues.remove(key.place as usize);
                self.fair.remove(queue.entity);
            }
        }
    }

    /// How many places may be taken when an I/O joins; none if there is no limit.
    pub(super) fn limit_of(&self, io: &Io) -> Option<u64> {
        self.limit(io.op, self.is_sync(io))
    }

    /// The same for all of an operation that somebody waits for, or that nobody does.
    pub(super) fn limit(&self, op: Op, sync: bool) -> Option<u64> {
        let all = Some(self.set.nr_requests).filter(|all| *all > 0)?;
        let raised = self.totals.raised > 0;
        Some(match (op == Op::Read, sync, raised) {
            (true, ..) => all,
            (_, true, false) => all * 12 / 16,
            (_, true, true) => all * 6 / 16,
            (_, false, false) => all * 8 / 16,
            (_, false, true) => all * 3 / 16,
        })
    }

    /// Whether a process, or its group, has as many of the places as its share is.
    pub(super) fn is_over(&self, io: &Io, sync: bool, limit: u64) -> bool {
        let process = self.processes.get(io.stream.index());
        let key = match sync {
            true => process.and_then(|process| process.home),
            false => process.and_then(|process| self.async_queue(&process.claim?)),
        };
        let Some(queue) = key.map(|key| self.queue(key)) else {
            return false;
        };
        let over = |entity, allocated| {
            let share = self.fair.shares(entity, limit);
            share.is_some_and(|share| allocated >= share)
        };
        let group = self.groups[queue.claim.group.index()].expect("it is known");
        let above = self.fair.entity_of(group.key);
        above.is_some_and(|above| over(above, group.allocated))
            || over(queue.entity, queue.allocated())
    }
}
