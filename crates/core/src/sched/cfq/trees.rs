//! Which queue of a group goes next: which class, which tree of it, which queue of that.
//!
//! Queues of a tree stand by when they are due: when they came there, later the smaller their
//! slices are and the more others there are, sooner by what a slice that was stopped had left. Who
//! goes before the one that is served is to be the next one of its tree. Facts of
//! `cfq_service_tree_add`, `cfq_choose_wl_type`, `choose_wl_class_and_type`.
//!
//! Differently from there, nobody is passed over for ever: who goes to the front goes a second
//! before the first one, as there, but never more than a second back from now. There, the front is
//! a second before the first one however long that has been due, so two who ask in turns keep all
//! others of their tree away. A queue that has been due for a second is passed by nobody.

use super::Cfq;
use super::scaled;
use crate::sorted::{Keyed, Sorted};
use crate::stream::Class;
use crate::units::{Duration, Instant};

/// A queue of the last class goes so long after the one before it.
const IDLE_DELAY: Duration = Duration::from_ms(200);
/// Ahead of all others of its tree that have not been due for so long.
pub(super) const FRONT: u64 = 1_000_000_000;
/// A tree has at least so long.
const LEAST: Duration = Duration::from_ms(2);

/// Trees of a class, in the order of their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// Writes that nobody waits for.
    Async,
    /// Queues that are not waited for one by one.
    Seeking,
    /// Queues that are waited for.
    Waited,
}

pub(super) const TREES: usize = 3;

/// A queue in its tree, by when it is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    key: u64,
    stamp: u64,
    queue: usize,
}

impl Keyed for Due {
    type Key = (u64, u64);

    #[inline]
    fn key(&self) -> (u64, u64) {
        (self.key, self.stamp)
    }
}

impl Cfq {
    pub(super) fn tree_of(&self, queue: usize) -> Tree {
        let queue = &self.queues[queue];
        match (queue.sync, queue.waited_for) {
            (false, _) => Tree::Async,
            (true, false) => Tree::Seeking,
            (true, true) => Tree::Waited,
        }
    }

    /// Queues of a tree that wait for their slice.
    pub(super) fn in_tree(&self, group: usize, class: Class, tree: Tree) -> &Sorted<Due> {
        &self.groups.at(group).trees[class as usize][tree as usize]
    }

    /// Queues of a group and class with work.
    pub(super) fn waiting_in(&self, group: usize, class: Class) -> usize {
        let trees = &self.groups.at(group).trees[class as usize];
        let active = self.active.is_some_and(|slice| {
            let queue = &self.queues[slice.queue];
            (queue.group, queue.class) == (group, class) && queue.due.is_none()
        });
        trees.iter().map(Sorted::len).sum::<usize>() + usize::from(active)
    }

    pub(super) fn enter_tree(&mut self, now: Instant, at: usize, front: bool) {
        let tree = self.tree_of(at);
        let queue = &self.queues[at];
        let (group, class, left) = (queue.group, queue.class, queue.left);
        let others = self.groups.at(group).busy.saturating_sub(1) as i64;
        let own = self.whole_slice(queue.sync, queue.level);
        let offset = others * (self.whole_slice(true, 0) - own);
        let line = self.in_tree(group, class, tree);
        // So that a front never falls below 0.
        let now = now.0 + 1_000 * FRONT;
        let key = match (class, front) {
            (Class::Idle, _) => line.last().map_or(now, |last| last.key) + IDLE_DELAY.0,
            (_, true) => line.first().map_or(now, |first| first.key).max(now) - FRONT,
            (_, false) => now.saturating_add_signed(offset - left),
        };
        self.stamps += 1;
        let due = Due {
            key,
            stamp: self.stamps,
            queue: at,
        };
        self.groups.at_mut(group).trees[class as usize][tree as usize].insert(due);
        let queue = &mut self.queues[at];
        queue.due = Some((tree, class, due));
        if !front {
            queue.left = 0;
        }
    }

    pub(super) fn leave_tree(&mut self, at: usize) {
        let group = self.queues[at].group;
        let place = self.queues[at].due.take();
        let (tree, class, due) = place.expect("it stands in a tree");
        let tree = &mut self.groups.at_mut(group).trees[class as usize][tree as usize];
        assert!(
            tree.take(&due.key()).is_some(),
            "queue {at} stands elsewhere"
        );
    }

    /// Which group, which class, which tree, which queue is next.
    pub(super) fn choose(&mut self, now: Instant) -> Option<usize> {
        let group = self.groups.next()?;
        let trees = &self.groups.at(group).trees;
        let has_work = |class: &Class| trees[*class as usize].iter().any(|tree| !tree.is_empty());
        let class = Class::ALL.into_iter().find(has_work)?;
        let kept = self.groups.at(group).kept;
        let goes_on = kept.is_some_and(|((of, tree), _)| {
            of == class && !self.in_tree(group, class, tree).is_empty()
        });
        match kept {
            Some((what, left)) if goes_on && class != Class::Idle => {
                (self.serving, self.serving_until) = (what, now + left);
            }
            _ => self.choose_tree(now, group, class),
        }
        let (class, tree) = self.serving;
        let first = self.in_tree(group, class, tree).first();
        first.map(|due| due.queue)
    }

    fn choose_tree(&mut self, now: Instant, group: usize, class: Class) {
        const ALL: [Tree; TREES] = [Tree::Waited, Tree::Seeking, Tree::Async];
        let first = |tree: &Tree| self.in_tree(group, class, *tree).first();
        let due = ALL.into_iter().filter(|tree| first(tree).is_some());
        let tree = due.min_by_key(|tree| first(tree).map(Keyed::key));
        let tree = tree.expect("a queue waits");
        let count = self.in_tree(group, class, tree).len() as u64;
        let of = self.groups.at(group);
        let all = of.average[class as usize].max(self.waiting_in(group, class) as u64);
        let target = self.groups.part(group, self.set.target).0;
        let slice = target * count / all.max(1);
        let slice = match tree {
            Tree::Async => {
                let of_all = self.set.target.0 * count / self.busy.max(1) as u64;
                let [own, sync] = self.set.slice.map(|slice| slice.0);
                scaled(slice.min(of_all), own, sync)
            }
            _ => slice.max(2 * self.set.slice_idle.0),
        };
        self.serving = (class, tree);
        self.serving_until = now + Duration(slice).max(LEAST);
    }
}
