//! Fair shares by budgets: B-WF2Q+.
//!
//! Each entity (a queue, or a group of entities) that has work stands in the tree of its class with
//! two stamps of virtual time: `start`, from which it may go, and `finish`, by which it would have
//! used up its budget at the share that its weight gives. Virtual time grows with what is served,
//! divided by the weights of all that share it.
//!
//! ```text
//! who goes      of those with start <= V the one with the least finish; if there is none, V jumps to the least start
//! it was served s    V += s / (all weights)       in every tree on the way from the root
//! its turn ends      start = start + s / weight   if it has work, finish = start + budget / weight
//! it has no work     it rests, and counts, until V has passed its finish; so it gains nothing by pausing
//! ```
//!
//! So each gets its share whatever its budgets are: a small budget is served sooner, not more.
//! Classes go before each other; the last one is looked at first once in 200 ms. From: Valente and
//! Checconi, "High throughput disk scheduling with fair bandwidth distribution", IEEE Transactions
//! on Computers 2010; facts of `block/bfq-wf2q.c`, Linux 6.12. Differently from there, a group is
//! charged once for what its entities got, when their turn ends, also if its next one changes
//! meanwhile; and V has 128 bits, so that it never wraps.
//!
//! Of a tree, those that may go stand in the order of finishes, the others in the order of starts.
//! V falls only when nobody has work, so each crosses once a turn: O(log n) for everything.

use slab::Slab;

use crate::sorted::{Keyed, Sorted};
use crate::stream::Class;
use crate::units::{Duration, Instant};

/// Virtual time of a block at weight 1 is 2^22.
const SHIFT: u32 = 22;
/// The last class is looked at first after so long.
const IDLE_CLASS_WAITS: Duration = Duration::from_ms(200);

/// Virtual time.
pub(super) type Virtual = u128;

/// An entity's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntityId(u32);

impl EntityId {
    /// As an index into a table.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A group's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey(u32);

impl GroupKey {
    /// The group that all others are in.
    pub(super) const ROOT: GroupKey = GroupKey(0);
}

/// Where an entity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nowhere: it has no work, and does not count.
    Away,
    /// In its tree, and may go.
    Eligible,
    /// In its tree, ahead of virtual time.
    Ahead,
    /// It is being served.
    Served,
    /// It has no work, but counts until virtual time has passed its finish.
    Resting,
}

#[derive(Clone, Debug)]
struct Entity {
    parent: GroupKey,
    /// The group that it stands for; none of a queue.
    group: Option<GroupKey>,
    class: Class,
    weight: u64,
    /// What class and weight become when it next gets its stamps.
    pending: Option<(Class, u64)>,
    state: State,
    start: Virtual,
    finish: Virtual,
    budget: u64,
    /// Blocks served since its stamps were made.
    service: u64,
    /// What ties are broken by: the order in which entities came into their trees.
    stamp: u64,
}

/// In the order of finishes.
#[derive(Clone, Copy, Debug)]
struct ByFinish(Virtual, u64, EntityId);

impl Keyed for ByFinish {
    type Key = (Virtual, u64);

    #[inline]
    fn key(&self) -> (Virtual, u64) {
        (self.0, self.1)
    }
}

/// In the order of starts.
#[derive(Clone, Copy, Debug)]
struct ByStart(Virtual, ByFinish);

impl Keyed for ByStart {
    type Key = (Virtual, Virtual, u64);

    #[inline]
    fn key(&self) -> (Virtual, Virtual, u64) {
        (self.0, self.1.0, self.1.1)
    }
}

/// Entities of one group and class.
#[derive(Clone, Debug, Default)]
struct Tree {
    now: Virtual,
    /// Weights of all that count.
    weights: u64,
    eligible: Sorted<ByFinish>,
    ahead: Sorted<ByStart>,
    resting: Sorted<ByFinish>,
}

impl Tree {
    fn has_work(&self) -> bool {
        !(self.eligible.is_empty() && self.ahead.is_empty())
    }

    /// Who would go: the least finish of those that may, or that may after the jump to the least
    /// start.
    fn first(&self) -> Option<EntityId> {
        let eligible = self.eligible.first().map(|ByFinish(.., id)| *id);
        eligible.or_else(|| self.ahead.first().map(|ByStart(_, ByFinish(.., id))| *id))
    }
}

#[derive(Clone, Debug)]
struct Group {
    /// What stands for it in the group above; none of the root.
    entity: Option<EntityId>,
    trees: [Tree; Class::ALL.len()],
    /// When the last class was looked at first.
    idle_class_looked_at: Instant,
}

/// Virtual time that serving so many blocks takes at this weight.
#[inline]
fn span(blocks: u64, weight: u64) -> Virtual {
    debug_assert!(blocks < 1 << (64 - SHIFT), "{blocks} blocks in one turn");
    Virtual::from((blocks << SHIFT) / weight)
}

/// All entities and groups.
#[derive(Clone, Debug)]
pub(super) struct Fair {
    entities: Slab<Entity>,
    groups: Vec<Group>,
    stamps: u64,
}

impl Default for Fair {
    fn default() -> Fair {
        Fair {
            entities: Slab::new(),
            groups: vec![Group::standing_for(None)],
            stamps: 0,
        }
    }
}

impl Group {
    fn standing_for(entity: Option<EntityId>) -> Group {
        Group {
            entity,
            trees: Default::default(),
            idle_class_looked_at: Instant::ZERO,
        }
    }
}

impl Fair {
    /// A queue without work joins a group.
    pub(super) fn add(&mut self, parent: GroupKey, class: Class, weight: u64) -> EntityId {
        self.add_entity(parent, None, class, weight)
    }

    /// A group without work joins another.
    pub(super) fn add_group(&mut self, parent: GroupKey, weight: u64) -> GroupKey {
        let key = GroupKey(u32::try_from(self.groups.len()).expect("fewer than 2^32 groups"));
        let entity = self.add_entity(parent, Some(key), Class::BestEffort, weight);
        self.groups.push(Group::standing_for(Some(entity)));
        key
    }

    fn add_entity(
        &mut self,
        parent: GroupKey,
        group: Option<GroupKey>,
        class: Class,
        weight: u64,
    ) -> EntityId {
        assert!(weight > 0, "a weight of 0 is no share");
        let index = self.entities.insert(Entity {
            parent,
            group,
            class,
            weight,
            pending: None,
            state: State::Away,
            start: 0,
            finish: 0,
            budget: 0,
            service: 0,
            stamp: 0,
        });
        EntityId(u32::try_from(index).expect("fewer than 2^32 entities"))
    }

    /// A queue that has no work is gone for good.
    pub(super) fn remove(&mut self, id: EntityId) {
        self.forget(id);
        self.entities.remove(id.0 as usize);
    }

    /// A queue that has no work is in this group from now on, as if it had never had any.
    pub(super) fn move_to(&mut self, id: EntityId, parent: GroupKey) {
        self.forget(id);
        let entity = self.entity_mut(id);
        entity.parent = parent;
        (entity.start, entity.finish) = (0, 0);
    }

    /// One that rests no longer counts.
    fn forget(&mut self, id: EntityId) {
        match self.entity(id).state {
            State::Away => {}
            State::Resting => {
                let key = (self.entity(id).finish, self.entity(id).stamp);
                let taken = self.tree_mut(id).resting.take(&key);
                assert!(taken.is_some(), "{id:?} does not rest");
                self.uncount(id);
            }
            state => panic!("{id:?} has work: {state:?}"),
        }
    }

    /// It does not count from now on.
    fn uncount(&mut self, id: EntityId) {
        let weight = self.entity(id).weight;
        self.tree_mut(id).weights -= weight;
        let entity = self.entity_mut(id);
        entity.state = State::Away;
        if let Some((class, weight)) = entity.pending.take() {
            (entity.class, entity.weight) = (class, weight);
        }
    }

    /// The entity that stands for a group.
    pub(super) fn entity_of(&self, group: GroupKey) -> Option<EntityId> {
        self.groups[group.0 as usize].entity
    }

    /// Another class or weight. What waits or rests gets them with its next stamps; who is being
    /// served gets another weight at once, so that its whole turn is stamped by it.
    pub(super) fn reweigh(&mut self, id: EntityId, class: Class, weight: u64) {
        assert!(weight > 0, "a weight of 0 is no share");
        let entity = self.entity_mut(id);
        match entity.state {
            State::Away => (entity.class, entity.weight) = (class, weight),
            State::Served if entity.class == class => {
                let before = std::mem::replace(&mut entity.weight, weight);
                entity.pending = None;
                let tree = self.tree_mut(id);
                tree.weights = tree.weights - before + weight;
            }
            _ => {
                let changes = (entity.class, entity.weight) != (class, weight);
                entity.pending = changes.then_some((class, weight));
            }
        }
    }

    /// So many blocks are served, of an entity that has work: it and all above it are charged.
    #[inline]
    pub(super) fn serve(&mut self, id: EntityId, blocks: u64) {
        let mut at = Some(id);
        while let Some(id) = at {
            let entity = self.entity_mut(id);
            entity.service += blocks;
            let parent = entity.parent;
            let tree = self.tree_mut(id);
            tree.now += span(blocks, tree.weights);
            self.pass(id);
            self.forget_one(id);
            at = self.groups[parent.0 as usize].entity;
        }
    }

    /// A queue that had no work has some now. `back` tells that it came back in time to go on with
    /// its turn, and how much its weight is raised: it gets the place that it would have if it had
    /// waited.
    pub(super) fn activate(&mut self, now: Instant, id: EntityId, budget: u64, back: Option<u64>) {
        self.entity_mut(id).budget = budget;
        self.enter(id, back);
        self.tell_above(now, id, back);
    }

    /// A queue that waits has another budget.
    pub(super) fn set_budget(&mut self, now: Instant, id: EntityId, budget: u64) {
        if self.entity(id).budget != budget {
            self.take_out(id);
            self.entity_mut(id).budget = budget;
            self.stamp(id, None);
            self.tell_above(now, id, None);
        }
    }

    /// A queue that waits has no work any more.
    pub(super) fn withdraw(&mut self, now: Instant, id: EntityId) {
        self.take_out(id);
        self.charge(id);
        self.rest(id);
        self.tell_above(now, id, None);
    }

    /// Who goes next is served from now on, and all above it; none if nobody has work.
    pub(super) fn begin(&mut self, now: Instant) -> Option<EntityId> {
        let mut at = GroupKey::ROOT;
        loop {
            let id = self.peek(now, at)?;
            let group = &mut self.groups[at.0 as usize];
            if idle_class_is_due(now, group) {
                group.idle_class_looked_at = now;
            }
            let start = self.entity(id).start;
            if self.tree_mut(id).now < start {
                self.tree_mut(id).now = start;
                self.pass(id);
                self.forget_one(id);
            }
            self.take_out(id);
            self.entity_mut(id).state = State::Served;
            match self.entity(id).group {
                None => return Some(id),
                Some(group) => at = group,
            }
        }
    }

    /// The turn of the queue that is served ends. It has work, and this budget for it; or it has
    /// none.
    pub(super) fn end(&mut self, now: Instant, id: EntityId, budget: Option<u64>) {
        let (mut at, mut budget) = (id, budget);
        loop {
            assert_eq!(
                self.entity(at).state,
                State::Served,
                "{at:?} ends a turn of another"
            );
            self.charge(at);
            match budget {
                Some(budget) => {
                    let entity = self.entity_mut(at);
                    entity.start = entity.finish;
                    entity.budget = budget;
                    self.stamp(at, None);
                }
                None => self.rest(at),
            }
            let parent = self.entity(at).parent;
            let Some(above) = self.groups[parent.0 as usize].entity else {
                return;
            };
            at = above;
            budget = self.budget_of_next(now, parent);
        }
    }

    /// Whether another entity of the root would go if the turn of this one ended now. Of a group,
    /// the next one of its own may go then.
    pub(super) fn has_rival(&self, now: Instant, served: EntityId) -> bool {
        let Some(rival) = self.peek(now, GroupKey::ROOT) else {
            return false;
        };
        let mut top = served;
        while let Some(above) = self.groups[self.entity(top).parent.0 as usize].entity {
            top = above;
        }
        let top = self.entity(top);
        let Some(budget) = top.group.and_then(|group| self.budget_of_next(now, group)) else {
            return true;
        };
        let rival = self.entity(rival);
        let start = top.start + span(top.service, top.weight);
        let finish = start + span(budget, top.weight);
        if rival.class != top.class {
            return rival.class < top.class;
        }
        let tree = &self.groups[GroupKey::ROOT.0 as usize].trees[top.class as usize];
        // Who may not go yet does so only if nobody may.
        let waits = start > tree.now.max(rival.start.min(start));
        waits || rival.finish <= finish
    }

    /// What its turn leaves of a queue's budget.
    #[inline]
    pub(super) fn left(&self, id: EntityId) -> u64 {
        let entity = self.entity(id);
        entity.budget.saturating_sub(entity.service)
    }

    /// Its stamps.
    #[cfg(test)]
    pub(super) fn stamps(&self, id: EntityId) -> (Virtual, Virtual) {
        (self.entity(id).start, self.entity(id).finish)
    }

    /// Its budget.
    #[inline]
    pub(super) fn budget(&self, id: EntityId) -> u64 {
        self.entity(id).budget
    }

    /// What it was served since its stamps were made.
    #[inline]
    pub(super) fn service(&self, id: EntityId) -> u64 {
        self.entity(id).service
    }

    /// A budget must not be below what was served.
    pub(super) fn raise_budget(&mut self, id: EntityId, least: u64) {
        let entity = self.entity_mut(id);
        assert_eq!(
            entity.state,
            State::Served,
            "its stamps stand on its budget"
        );
        entity.budget = entity.budget.max(least);
    }

    /// Of two queues, the classes and weights by which one goes before the other: their own if they
    /// are in one group, else those of their groups.
    pub(super) fn ranks(&self, one: EntityId, other: EntityId) -> [(Class, u64); 2] {
        let siblings = self.entity(one).parent == self.entity(other).parent;
        [one, other].map(|id| {
            let own = self.entity(id);
            let above = self.groups[own.parent.0 as usize].entity;
            let weighs = above
                .filter(|_| !siblings)
                .map_or(own, |id| self.entity(id));
            let (_, weight) = weighs.pending.unwrap_or((weighs.class, weighs.weight));
            let (class, _) = own.pending.unwrap_or((own.class, own.weight));
            (class, weight)
        })
    }

    /// How many of `requests` places an entity may have, and each above it, from the root down;
    /// none for one that does not count.
    pub(super) fn shares(&self, id: EntityId, requests: u64) -> Option<u64> {
        let entity = self.entity(id);
        if entity.state == State::Away {
            return None;
        }
        let group = &self.groups[entity.parent.0 as usize];
        let requests = match group.entity {
            Some(above) => self.shares(above, requests)?,
            None => requests,
        };
        // A queue is measured with those of its class and of the classes before it, each of which
        // counts eight times as much as the next.
        let classes = match entity.group {
            None => &group.trees[..=entity.class as usize],
            Some(_) => &group.trees[entity.class as usize..=entity.class as usize],
        };
        let weights = classes.iter().fold(0, |sum, tree| sum * 8 + tree.weights);
        Some((requests * entity.weight + weights / 2) / weights)
    }

    /// The entity that goes next in a group.
    fn peek(&self, now: Instant, group: GroupKey) -> Option<EntityId> {
        let group = &self.groups[group.0 as usize];
        let last = group.trees[Class::Idle as usize].first();
        let due = last.filter(|_| idle_class_is_due(now, group));
        due.or_else(|| group.trees.iter().find_map(Tree::first))
    }

    /// The budget of a group is that of its entity that goes next.
    fn budget_of_next(&self, now: Instant, group: GroupKey) -> Option<u64> {
        self.peek(now, group).map(|id| self.entity(id).budget)
    }

    /// Something has changed in the group of `id`: what stands for it above gets or loses work, or
    /// has another budget.
    fn tell_above(&mut self, now: Instant, id: EntityId, back: Option<u64>) {
        let mut group = self.entity(id).parent;
        while let Some(entity) = self.groups[group.0 as usize].entity {
            let budget = self.budget_of_next(now, group);
            let waits = match self.entity(entity).state {
                // It is stamped anew when the turn ends.
                State::Served => return,
                State::Eligible | State::Ahead => true,
                State::Away | State::Resting => false,
            };
            match budget {
                Some(budget) if waits => {
                    if self.entity(entity).budget == budget {
                        return;
                    }
                    self.take_out(entity);
                    self.entity_mut(entity).budget = budget;
                    self.stamp(entity, None);
                }
                Some(budget) => {
                    self.entity_mut(entity).budget = budget;
                    self.enter(entity, back);
                }
                None => {
                    self.take_out(entity);
                    self.charge(entity);
                    self.rest(entity);
                }
            }
            group = self.entity(entity).parent;
        }
    }

    /// An entity that had no work comes into its tree.
    fn enter(&mut self, id: EntityId, back: Option<u64>) {
        let Entity {
            state,
            finish,
            stamp,
            weight,
            ..
        } = *self.entity(id);
        let tree = self.tree_mut(id);
        let back = back.filter(|_| tree.now > finish);
        let floor = back.map_or(tree.now, |_| finish);
        let start = match state {
            State::Resting => {
                let taken = tree.resting.take(&(finish, stamp));
                assert!(taken.is_some(), "{id:?} does not rest");
                floor.max(finish)
            }
            State::Away => {
                tree.weights += weight;
                floor
            }
            state => panic!("{id:?} has had work: {state:?}"),
        };
        self.entity_mut(id).start = start;
        self.stamp(id, back);
    }

    /// Puts an entity that counts, and stands nowhere, into its tree by its start and budget.
    fn stamp(&mut self, id: EntityId, back: Option<u64>) {
        self.apply_pending(id);
        self.stamps += 1;
        let stamp = self.stamps;
        let now = self.tree(id).now;
        let entity = self.entity_mut(id);
        entity.finish = entity.start + span(entity.budget, entity.weight);
        if let Some(raise) = back
            && now > entity.finish
        {
            let behind = (now - entity.finish) / Virtual::from(raise);
            entity.start += behind;
            entity.finish += behind;
        }
        entity.stamp = stamp;
        let ahead = entity.start > now;
        entity.state = if ahead { State::Ahead } else { State::Eligible };
        let (start, by_finish) = (entity.start, ByFinish(entity.finish, stamp, id));
        let tree = self.tree_mut(id);
        match ahead {
            true => tree.ahead.insert(ByStart(start, by_finish)),
            false => tree.eligible.insert(by_finish),
        }
    }

    fn apply_pending(&mut self, id: EntityId) {
        let Some((class, weight)) = self.entity_mut(id).pending.take() else {
            return;
        };
        let before = self.entity(id).weight;
        self.tree_mut(id).weights -= before;
        let entity = self.entity_mut(id);
        let moves = entity.class != class;
        (entity.class, entity.weight) = (class, weight);
        let tree = self.tree_mut(id);
        tree.weights += weight;
        if moves {
            let now = tree.now;
            self.entity_mut(id).start = now;
        }
    }

    /// Takes an entity that waits out of its tree; it still counts.
    fn take_out(&mut self, id: EntityId) {
        let Entity {
            state,
            start,
            finish,
            stamp,
            ..
        } = *self.entity(id);
        let tree = self.tree_mut(id);
        let taken = match state {
            State::Eligible => tree.eligible.take(&(finish, stamp)).is_some(),
            State::Ahead => tree.ahead.take(&(start, finish, stamp)).is_some(),
            state => panic!("{id:?} does not wait: {state:?}"),
        };
        assert!(taken, "{id:?} stands elsewhere");
    }

    /// Its finish is where it would stand by what it was served.
    fn charge(&mut self, id: EntityId) {
        let entity = self.entity_mut(id);
        entity.finish = entity.start + span(entity.service, entity.weight);
        entity.service = 0;
    }

    /// An entity that counts, and stands nowhere, has no work.
    fn rest(&mut self, id: EntityId) {
        self.stamps += 1;
        let stamp = self.stamps;
        let finish = self.entity(id).finish;
        if finish > self.tree(id).now {
            let entity = self.entity_mut(id);
            (entity.state, entity.stamp) = (State::Resting, stamp);
            let resting = ByFinish(finish, stamp, id);
            self.tree_mut(id).resting.insert(resting);
        } else {
            self.uncount(id);
        }
    }

    /// Virtual time of the tree of `id` has grown: who may go now goes by its finish.
    fn pass(&mut self, id: EntityId) {
        loop {
            let tree = self.tree_mut(id);
            match tree.ahead.first() {
                Some(ByStart(start, by_finish)) if *start <= tree.now => {
                    let (start, by_finish) = (*start, *by_finish);
                    tree.ahead.take(&(start, by_finish.0, by_finish.1));
                    tree.eligible.insert(by_finish);
                    self.entity_mut(by_finish.2).state = State::Eligible;
                }
                _ => return,
            }
        }
    }

    /// Lets one of those go that rest in the tree of `id` and whose finish has passed.
    fn forget_one(&mut self, id: EntityId) {
        let tree = self.tree_mut(id);
        if !tree.has_work()
            && let Some(last) = tree.resting.last()
            && last.0 <= tree.now
        {
            tree.now = last.0;
        }
        if let Some(first) = tree.resting.first().copied()
            && first.0 <= tree.now
        {
            tree.resting.take(&first.key());
            self.uncount(first.2);
        }
    }

    #[inline]
    fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }

    #[inline]
    fn entity_mut(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.0 as usize]
    }

    #[inline]
    fn tree(&self, id: EntityId) -> &Tree {
        let entity = self.entity(id);
        &self.groups[entity.parent.0 as usize].trees[entity.class as usize]
    }

    #[inline]
    fn tree_mut(&mut self, id: EntityId) -> &mut Tree {
        let entity = &self.entities[id.0 as usize];
        &mut self.groups[entity.parent.0 as usize].trees[entity.class as usize]
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub(super) fn audit(&self) {
        for (key, group) in self.groups.iter().enumerate() {
            for (class, tree) in Class::ALL.into_iter().zip(&group.trees) {
                let all = self.entities.iter().map(|(_, entity)| entity);
                let here = all.filter(|one| one.parent.0 as usize == key && one.class == class);
                let counts = here.filter(|one| one.state != State::Away);
                let weights: u64 = counts.map(|one| one.weight).sum();
                assert_eq!(weights, tree.weights, "weights of group {key}");
                tree.eligible.audit();
                tree.ahead.audit();
                tree.resting.audit();
                for ByFinish(finish, stamp, id) in tree.eligible.iter() {
                    let one = self.entity(*id);
                    let found = (one.state, one.finish, one.stamp);
                    assert_eq!(found, (State::Eligible, *finish, *stamp));
                    assert!(one.start <= tree.now, "{id:?} may not go");
                }
                for ByStart(start, by_finish) in tree.ahead.iter() {
                    let one = self.entity(by_finish.2);
                    assert_eq!((one.state, one.start), (State::Ahead, *start));
                    assert!(*start > tree.now, "{:?} may go", by_finish.2);
                }
            }
        }
    }
}

/// Whether the last class of a group is looked at first.
fn idle_class_is_due(now: Instant, group: &Group) -> bool {
    now > group.idle_class_looked_at + IDLE_CLASS_WAITS
}

#[cfg(test)]
mod tests;
