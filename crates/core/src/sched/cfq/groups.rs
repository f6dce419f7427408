//! Which group has the drive: by the drive's time, as Linux's CFQ shared it among control groups.
//!
//! ```text
//! who goes        the group with the least virtual time
//! a slice ends    the virtual time of its group grows by what was used, divided by the group's part of the weights of all that have work
//! one gets work   it goes 200 ms behind the last of those that have some
//! one queue       of a group that is not alone: the drive waits for the next request of that queue, also at the end of a slice, since a group
//!                 that has nothing loses its place
//! ```
//!
//! All streams that are in no group are one, the root, which weighs twice as much as a group of
//! which nothing is said. Only groups have weights: a stream of the root of which one is told is a
//! group by itself. Each group has trees, averages and queues of writes of its own (`trees`). Facts
//! of `cfq_group_served`, `cfq_group_notify_queue_add`, `cfq_choose_cfqg`, `cfq_should_wait_busy`.
//! Differently from there groups have no groups in them, another weight counts at once, and how
//! soon a group is back is told by its only queue. O(log n) in groups for each slice.

use super::trees::{Due, TREES, Tree};
use crate::ids::{GroupId, StreamId};
use crate::sorted::{Keyed, Sorted};
use crate::stream::{Class, Stream};
use crate::units::{Duration, Instant};

/// What is in no group.
pub(super) const ROOT: usize = 0;
/// The weight of all that is in no group.
const ROOT_WEIGHT: u64 = 2 * Stream::UNKNOWN.weight as u64;
/// Who gets work goes so far behind the last one: by time, and where requests are counted.
const BEHIND: [u128; 2] = [200_000_000, 1];

/// A group in the order of virtual times.
#[derive(Clone, Copy, Debug)]
struct Turn {
    time: u128,
    stamp: u64,
    group: usize,
}

impl Keyed for Turn {
    type Key = (u128, u64);

    #[inline]
    fn key(&self) -> (u128, u64) {
        (self.time, self.stamp)
    }
}

/// Streams that share one share.
#[derive(Default)]
pub(super) struct Group {
    pub(super) trees: [[Sorted<Due>; TREES]; Class::ALL.len()],
    /// Queues with work, of each class, smoothed.
    pub(super) average: [u64; Class::ALL.len()],
    /// Its queues of writes that nobody waits for, by class and level.
    pub(super) asyncs: [[Option<usize>; 8]; Class::ALL.len()],
    /// Queues with work, and those of them that somebody waits for.
    pub(super) busy: usize,
    pub(super) busy_sync: usize,
    /// Requests on the drive.
    pub(super) on_drive: u32,
    /// What of it was served last, and for how much longer.
    pub(super) kept: Option<((Class, Tree), Duration)>,
    weight: u64,
    /// Its place among those that have work.
    turn: Option<Turn>,
}

/// All groups.
pub(super) struct Groups {
    all: Vec<Group>,
    /// The group of a name, and of a stream that is one by itself.
    by_name: Vec<Option<usize>>,
    alone: Vec<Option<usize>>,
    line: Sorted<Turn>,
    stamps: u64,
    /// Virtual time: the least of all that had the drive grows.
    least: u128,
    /// Weights of all that have work.
    weights: u64,
}

impl Groups {
    pub(super) fn new() -> Groups {
        let root = Group {
            weight: ROOT_WEIGHT,
            ..Group::default()
        };
        Groups {
            all: vec![root],
            by_name: Vec::new(),
            alone: Vec::new(),
            line: Sorted::default(),
            stamps: 0,
            least: 0,
            weights: 0,
        }
    }

    /// The group of a stream.
    pub(super) fn of(&mut self, id: StreamId, stream: &Stream) -> usize {
        let weight = u64::from(stream.weight).max(1);
        let (table, index) = match stream.group {
            GroupId(0) if stream.weight == Stream::UNKNOWN.weight => return ROOT,
            GroupId(0) => (&mut self.alone, id.index()),
            group => (&mut self.by_name, group.index()),
        };
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        let next = self.all.len();
        let at = *table[index].get_or_insert(next);
        if at == next {
            self.all.push(Group::default());
        }
        let before = std::mem::replace(&mut self.all[at].weight, weight);
        if self.all[at].turn.is_some() {
            self.weights = self.weights - before + weight;
        }
        at
    }

    pub(super) fn at(&self, group: usize) -> &Group {
        &self.all[group]
    }

    pub(super) fn at_mut(&mut self, group: usize) -> &mut Group {
        &mut self.all[group]
    }

    /// A queue of a group gets work. `counted` tells that requests are counted, and not time.
    pub(super) fn enter(&mut self, group: usize, sync: bool, counted: bool) {
        let of = &mut self.all[group];
        of.busy += 1;
        of.busy_sync += usize::from(sync);
        if of.busy > 1 {
            return;
        }
        self.weights += of.weight;
        let last = self.line.last().map(|last| last.time);
        let time = last.map_or(self.least, |last| last + BEHIND[usize::from(counted)]);
        self.list(group, time);
    }

    /// A queue of a group has no work any more.
    pub(super) fn leave(&mut self, group: usize, sync: bool) {
        let of = &mut self.all[group];
        of.busy -= 1;
        of.busy_sync -= usize::from(sync);
        if of.busy == 0 {
            of.kept = None;
            self.weights -= of.weight;
            self.take_out(group);
        }
    }

    fn list(&mut self, group: usize, time: u128) {
        self.stamps += 1;
        let turn = Turn {
            time,
            stamp: self.stamps,
            group,
        };
        self.line.insert(turn);
        self.all[group].turn = Some(turn);
    }

    fn take_out(&mut self, group: usize) -> u128 {
        let turn = self.all[group].turn.take().expect("it has work");
        let taken = self.line.take(&turn.key());
        assert!(taken.is_some(), "group {group} stands elsewhere");
        turn.time
    }

    /// A group that has work had so much of the drive.
    pub(super) fn charge(&mut self, group: usize, used: u64) {
        let time = self.take_out(group);
        let by_weight = u128::from(used) * u128::from(self.weights);
        let weight = u128::from(self.all[group].weight);
        self.list(group, time + by_weight / weight);
    }

    /// The group that goes next; none if none has work.
    pub(super) fn next(&mut self) -> Option<usize> {
        let first = self.line.first()?;
        self.least = self.least.max(first.time);
        Some(first.group)
    }

    /// The part of a time that a group with work has of it.
    pub(super) fn part(&self, group: usize, time: Duration) -> Duration {
        let of = &self.all[group];
        match of.turn {
            Some(_) => Duration(super::scaled(time.0, of.weight, self.weights)),
            None => time,
        }
    }

    /// Whether a group has one queue with work, and others have some as well.
    pub(super) fn has_one_of_several(&self, group: usize) -> bool {
        self.all[group].busy == 1 && self.line.len() > 1
    }

    /// What of a group was being served goes on when it has the drive again, for as long as it was
    /// to.
    pub(super) fn keep(&mut self, group: usize, now: Instant, what: (Class, Tree), until: Instant) {
        let left = Duration(until.0.saturating_sub(now.0));
        self.all[group].kept = Some((what, left)).filter(|_| left > Duration::ZERO);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.iter()
    }

    pub(super) fn audit(&self) {
        let listed = self.all.iter().filter(|group| group.turn.is_some());
        let weights: u64 = listed.clone().map(|group| group.weight).sum();
        assert_eq!(weights, self.weights);
        assert_eq!(listed.count(), self.line.len());
        assert!(
            self.all
                .iter()
                .all(|group| group.turn.is_some() == (group.busy > 0))
        );
    }
}
