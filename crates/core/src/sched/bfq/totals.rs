//! Totals over all queues, each kept by one rule: what a queue counts for follows from its state,
//! and the difference is counted.

use super::Bfq;
use super::claim::QueueKey;
use super::merge::Position;
use super::queue::Counted;
use crate::ids::GroupId;
use crate::stream::Class;

/// How often each value is there, for few values: in order, so that the smallest is the first.
#[derive(Clone, Debug)]
pub(super) struct Tally<T> {
    counts: Vec<(T, u32)>,
}

impl<T> Default for Tally<T> {
    fn default() -> Tally<T> {
        Tally { counts: Vec::new() }
    }
}

impl<T: Copy + Ord> Tally<T> {
    fn add(&mut self, value: T) {
        match self.counts.binary_search_by_key(&value, |(of, _)| *of) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (value, 1)),
        }
    }

    fn remove(&mut self, value: T) {
        let at = self.counts.binary_search_by_key(&value, |(of, _)| *of);
        let at = at.unwrap_or_else(|_| panic!("what leaves was counted"));
        self.counts[at].1 -= 1;
        if self.counts[at].1 == 0 {
            self.counts.remove(at);
        }
    }

    /// How many different ones there are.
    #[inline]
    pub(super) fn kinds(&self) -> usize {
        self.counts.len()
    }

    /// The smallest.
    #[inline]
    pub(super) fn smallest(&self) -> Option<T> {
        self.counts.first().map(|(value, _)| *value)
    }
}

/// What is counted over all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Queues that are busy, by class.
    pub(super) busy: [u32; Class::ALL.len()],
    /// Those that are busy and favoured.
    pub(super) raised: u32,
    /// Weights of those that are busy or on the drive, and not favoured.
    pub(super) weights: Tally<u64>,
    /// Groups of those that are busy or on the drive.
    pub(super) groups: Tally<GroupId>,
}

impl Bfq {
    /// Queues that are busy.
    #[inline]
    pub(super) fn busy_total(&self) -> u32 {
        self.totals.busy.iter().sum()
    }

    /// Something of a queue has changed: the totals follow.
    pub(super) fn recount(&mut self, key: QueueKey) {
        let now = self.counts_of(key);
        let claim = self.queue(key).claim;
        let before = std::mem::replace(&mut self.queue_mut(key).counted, now);
        if now == before {
            return;
        }
        let totals = &mut self.totals;
        if now.class != before.class {
            if let Some(class) = before.class {
                totals.busy[class as usize] -= 1;
            }
            if let Some(class) = now.class {
                totals.busy[class as usize] += 1;
            }
        }
        totals.raised = totals.raised + u32::from(now.raised) - u32::from(before.raised);
        if now.weight != before.weight {
            before
                .weight
                .into_iter()
                .for_each(|weight| totals.weights.remove(weight));
            now.weight
                .into_iter()
                .for_each(|weight| totals.weights.add(weight));
        }
        if now.group != before.group {
            before
                .group
                .into_iter()
                .for_each(|group| totals.groups.remove(group));
            now.group
                .into_iter()
                .for_each(|group| totals.groups.add(group));
        }
        if now.position != before.position {
            let place = |(at, group, class)| Position {
                claim: (group, class),
                at,
                key,
            };
            if let Some(position) = before.position.map(place) {
                self.forget_position(&position);
            }
            if let Some(position) = now.position.map(place) {
                self.positions.insert(position);
            }
        }
        debug_assert!(now.group.is_none_or(|group| group == claim.group));
    }

    fn forget_position(&mut self, position: &Position) {
        let taken = self.positions.take(&crate::sorted::Keyed::key(position));
        assert!(taken.is_some(), "{position:?} is nobody's");
    }

    /// What a queue counts for.
    fn counts_of(&self, key: QueueKey) -> Counted {
        let queue = self.queue(key);
        let raised = queue.raise.is_raised();
        let somewhere = queue.busy || queue.dispatched > 0;
        let next = queue.waiting.next();
        let claim = queue.claim;
        let joins = queue.sync && claim.class != Class::Idle && !self.is_flash();
        Counted {
            class: queue.busy.then_some(claim.class),
            raised: queue.busy && raised,
            weight: (somewhere && !raised).then_some(claim.weight),
            group: somewhere.then_some(claim.group),
            position: next
                .filter(|_| joins)
                .map(|next| (next.at, claim.group, claim.class)),
        }
    }

    /// Recounts the totals from scratch and panics on a contradiction.
    pub(super) fn audit_totals(&self) {
        let mut totals = Totals::default();
        let mut positions = 0;
        for key in self.keys() {
            let counts = self.counts_of(key);
            let counted = &self.queue(key).counted;
            // The position is forgotten late when the drive turns out to have a queue.
            let same = Counted {
                position: None,
                ..counts
            } == Counted {
                position: None,
                ..*counted
            };
            assert!(same, "{key:?}: {counts:?} is counted as {counted:?}");
            if let Some(class) = counts.class {
                totals.busy[class as usize] += 1;
            }
            totals.raised += u32::from(counts.raised);
            counts
                .weight
                .into_iter()
                .for_each(|weight| totals.weights.add(weight));
            counts
                .group
                .into_iter()
                .for_each(|group| totals.groups.add(group));
            positions += usize::from(counted.position.is_some());
        }
        assert_eq!(totals.busy, self.totals.busy);
        assert_eq!(totals.raised, self.totals.raised);
        assert_eq!(totals.weights.counts, self.totals.weights.counts);
        assert_eq!(totals.groups.counts, self.totals.groups.counts);
        assert_eq!(positions, self.positions.len());
    }
}
