//! Fair shares against a slow, literal twin, over random steps; shares against exact fractions; and
//! the rules with their numbers.

use super::*;
use crate::rng::Rng;

const ROOT: GroupKey = GroupKey::ROOT;
const UNIT: Virtual = 1 << SHIFT;

fn ms(ms: u64) -> Instant {
    Instant(ms * 1_000_000)
}

fn best_effort(weights: &[u64]) -> (Fair, Vec<EntityId>) {
    let mut fair = Fair::default();
    let ids = weights
        .iter()
        .map(|weight| fair.add(ROOT, Class::BestEffort, *weight));
    let ids = ids.collect();
    (fair, ids)
}

#[test]
fn finish_is_start_and_budget_by_weight_and_virtual_time_goes_by_all_weights() {
    let (mut fair, ids) = best_effort(&[40, 120]);
    fair.activate(ms(0), ids[0], 800, None);
    fair.activate(ms(0), ids[1], 1_200, None);
    assert_eq!(fair.stamps(ids[0]), (0, 20 * UNIT));
    assert_eq!(fair.stamps(ids[1]), (0, 10 * UNIT));
    assert_eq!(fair.begin(ms(0)), Some(ids[1]));
    fair.serve(ids[1], 1_600);
    assert_eq!(fair.tree(ids[0]).now, 10 * UNIT, "1,600 by 160");
    fair.end(ms(1), ids[1], Some(600));
    // It was served 1,600, more than its budget, and starts from there.
    let start = span(1_600, 120);
    assert_eq!(fair.stamps(ids[1]), (start, start + 5 * UNIT));
}

#[test]
fn the_least_finish_goes_of_those_that_may_and_virtual_time_jumps_if_none_may() {
    let (mut fair, ids) = best_effort(&[10, 10, 10]);
    fair.activate(ms(0), ids[0], 100, None);
    assert_eq!(fair.begin(ms(0)), Some(ids[0]));
    fair.serve(ids[0], 50);
    // V = 5; the others start there.
    fair.activate(ms(0), ids[1], 100, None);
    fair.activate(ms(0), ids[2], 60, None);
    fair.end(ms(0), ids[0], Some(10));
    assert_eq!(fair.stamps(ids[0]), (5 * UNIT, 6 * UNIT));
    assert_eq!(fair.begin(ms(0)), Some(ids[0]), "the least finish of all");
    fair.serve(ids[0], 10);
    fair.end(ms(0), ids[0], Some(10));
    // Start and finish are 6 and 7, V is 5 1/3: it may not go yet, though its finish is the least.
    assert_eq!(fair.begin(ms(0)), Some(ids[2]));
    fair.end(ms(0), ids[2], None);
    assert_eq!(fair.begin(ms(0)), Some(ids[1]));
    fair.end(ms(0), ids[1], None);
    assert_eq!(fair.begin(ms(0)), Some(ids[0]));
    assert_eq!(fair.tree(ids[0]).now, 6 * UNIT, "the jump");
}

#[test]
fn who_pauses_gains_nothing() {
    let (mut fair, ids) = best_effort(&[10, 10]);
    fair.activate(ms(0), ids[0], 100, None);
    fair.activate(ms(0), ids[1], 100, None);
    assert_eq!(fair.begin(ms(0)), Some(ids[0]));
    fair.serve(ids[0], 100);
    fair.end(ms(0), ids[0], None);
    // It rests until 10; V is 5. It counts meanwhile.
    assert_eq!(fair.entity(ids[0]).state, State::Resting);
    assert_eq!(fair.tree(ids[0]).weights, 20);
    fair.activate(ms(0), ids[0], 10, None);
    assert_eq!(fair.stamps(ids[0]), (10 * UNIT, 11 * UNIT));
    assert_eq!(fair.begin(ms(0)), Some(ids[1]));
    fair.serve(ids[1], 100);
    fair.end(ms(0), ids[1], None);
    // Its finish has come: it is forgotten.
    assert_eq!(fair.entity(ids[1]).state, State::Away);
    assert_eq!(fair.tree(ids[0]).weights, 10);
}

#[test]
fn who_comes_back_in_time_gets_the_place_that_it_would_have_had() {
    for raise in [None, Some(1), Some(30)] {
        let (mut fair, ids) = best_effort(&[10, 10, 10]);
        fair.activate(ms(0), ids[0], 100, None);
        fair.activate(ms(0), ids[1], 1_000, None);
        fair.activate(ms(0), ids[2], 10_000, None);
        assert_eq!(fair.begin(ms(0)), Some(ids[0]));
        fair.serve(ids[0], 90);
        fair.end(ms(0), ids[0], None);
        assert_eq!(fair.begin(ms(0)), Some(ids[1]));
        // Its finish is 9; V is 3, and 40 at last.
        fair.serve(ids[1], 1_110);
        fair.activate(ms(0), ids[0], 50, raise);
        let (start, finish) = fair.stamps(ids[0]);
        assert_eq!(finish - start, 5 * UNIT);
        let expected = match raise {
            None => 40 * UNIT,
            // From 9 to 14, and then moved on by the 26 that it is behind, divided by its raise.
            Some(raise) => 9 * UNIT + 26 * UNIT / Virtual::from(raise),
        };
        assert_eq!(start, expected, "{raise:?}");
    }
}

#[test]
fn classes_go_before_each_other_and_the_last_one_is_looked_at_every_200_ms() {
    let mut fair = Fair::default();
    let [urgent, plain, idle] = Class::ALL.map(|class| {
        let id = fair.add(ROOT, class, 40);
        fair.activate(ms(0), id, 100, None);
        id
    });
    let mut turn = |now| {
        let id = fair.begin(ms(now)).unwrap();
        fair.serve(id, 100);
        fair.end(ms(now), id, Some(100));
        id
    };
    assert!((0..20).all(|now| turn(now * 10) == urgent));
    assert_eq!(turn(200), urgent, "not before 200 ms are over");
    assert_eq!(turn(201), idle);
    assert_eq!(turn(202), urgent);
    assert_eq!(turn(401), urgent);
    assert_eq!(turn(402), idle);
    fair.withdraw(ms(402), urgent);
    assert_eq!(fair.begin(ms(403)), Some(plain));
}

#[test]
fn a_weight_changes_with_the_next_stamps_and_of_who_is_served_at_once() {
    let (mut fair, ids) = best_effort(&[10, 10]);
    fair.activate(ms(0), ids[0], 100, None);
    fair.activate(ms(0), ids[1], 200, None);
    fair.reweigh(ids[0], Class::BestEffort, 300);
    assert_eq!(fair.stamps(ids[0]).1, 10 * UNIT);
    assert_eq!(fair.begin(ms(0)), Some(ids[0]));
    fair.reweigh(ids[0], Class::BestEffort, 100);
    assert_eq!(fair.tree(ids[0]).weights, 110);
    fair.serve(ids[0], 100);
    fair.end(ms(0), ids[0], Some(100));
    assert_eq!(fair.stamps(ids[0]), (UNIT, 2 * UNIT));
    fair.reweigh(ids[1], Class::RealTime, 50);
    assert_eq!(fair.begin(ms(0)), Some(ids[1]));
    assert_eq!(fair.entity(ids[1]).class, Class::BestEffort, "not yet");
    fair.end(ms(0), ids[1], Some(200));
    assert_eq!(fair.entity(ids[1]).class, Class::RealTime);
    assert_eq!(
        fair.stamps(ids[1]),
        (0, 4 * UNIT),
        "it starts with the time of its new class"
    );
    fair.audit();
}

#[test]
fn places_are_shared_by_weight_with_higher_classes_counting_eight_times() {
    let mut fair = Fair::default();
    let ids = [10, 30, 40].map(|weight| {
        let id = fair.add(ROOT, Class::BestEffort, weight);
        fair.activate(ms(0), id, 100, None);
        id
    });
    assert_eq!(
        ids.map(|id| fair.shares(id, 64)),
        [Some(8), Some(24), Some(32)]
    );
    let urgent = fair.add(ROOT, Class::RealTime, 20);
    assert_eq!(fair.shares(urgent, 64), None, "it has no work");
    fair.activate(ms(0), urgent, 100, None);
    assert_eq!(fair.shares(urgent, 64), Some(64));
    assert_eq!(fair.shares(ids[2], 64), Some(11), "64 * 40 / (8 * 20 + 80)");
    let group = fair.add_group(ROOT, 80);
    let inner = [1, 3].map(|weight| {
        let id = fair.add(group, Class::BestEffort, weight);
        fair.activate(ms(0), id, 100, None);
        id
    });
    // A group is measured with its own class only: half of all; then 1 and 3 of that.
    assert_eq!(inner.map(|id| fair.shares(id, 64)), [Some(8), Some(24)]);
}

/// What was served in proportion to weights, as exact fractions: no two that always had work may be
/// farther apart than their budgets, by their weights, allow.
#[test]
fn who_always_has_work_gets_its_share_whatever_the_budgets() {
    for seed in 0..30 {
        let mut rng = Rng::stream(seed, "fair");
        let weights: Vec<u64> = (0..2 + rng.below(9))
            .map(|_| 1 + rng.below(1_000))
            .collect();
        let (mut fair, ids) = best_effort(&weights);
        let mut served = vec![0u64; ids.len()];
        let most = 4_000;
        for id in &ids {
            fair.activate(ms(0), *id, 1 + rng.below(most), None);
        }
        for _ in 0..5_000 {
            let id = fair.begin(ms(0)).unwrap();
            let at = ids.iter().position(|one| *one == id).unwrap();
            let budget = fair.budget(id);
            fair.serve(id, budget);
            served[at] += budget;
            fair.end(ms(0), id, Some(1 + rng.below(most)));
        }
        for one in 0..ids.len() {
            for other in 0..ids.len() {
                // served / weight of one is at most that of the other and a budget of each by its
                // weight.
                let (a, b) = (i128::from(weights[one]), i128::from(weights[other]));
                let apart = i128::from(served[one]) * b - i128::from(served[other]) * a;
                let slack = i128::from(most) * (a + b) + (a * b) / 1_000;
                assert!(apart <= slack, "{served:?} of {weights:?} in {seed}");
            }
        }
    }
}

/// The same without any order: every question is answered by looking at all.
struct Twin {
    entities: Vec<TwinEntity>,
    /// Of each group: what stands for it, and when its last class was looked at.
    groups: Vec<(Option<usize>, Instant)>,
    times: Vec<[Virtual; 3]>,
    stamps: u64,
}

#[derive(Clone, Debug)]
struct TwinEntity {
    parent: usize,
    group: Option<usize>,
    class: usize,
    weight: u64,
    pending: Option<(usize, u64)>,
    start: Virtual,
    finish: Virtual,
    budget: u64,
    service: u64,
    stamp: u64,
    waits: bool,
    served: bool,
    rests: bool,
}

impl TwinEntity {
    fn counts(&self) -> bool {
        self.waits || self.served || self.rests
    }
}

impl Twin {
    fn weights(&self, id: usize) -> u64 {
        let one = &self.entities[id];
        let counts = |other: &&TwinEntity| {
            other.counts() && (other.parent, other.class) == (one.parent, one.class)
        };
        self.entities
            .iter()
            .filter(counts)
            .map(|one| one.weight)
            .sum()
    }

    fn time(&mut self, id: usize) -> &mut Virtual {
        let one = &self.entities[id];
        &mut self.times[one.parent][one.class]
    }

    /// The one that goes next of a group and class, and the least start of all that wait there.
    fn first(&self, group: usize, class: usize) -> Option<usize> {
        let here = |id: &usize| {
            let one = &self.entities[*id];
            one.waits && (one.parent, one.class) == (group, class)
        };
        let all: Vec<usize> = (0..self.entities.len()).filter(here).collect();
        let least = all.iter().map(|id| self.entities[*id].start).min()?;
        let now = self.times[group][class].max(least);
        let may = all.into_iter().filter(|id| self.entities[*id].start <= now);
        may.min_by_key(|id| (self.entities[*id].finish, self.entities[*id].stamp))
    }

    fn peek(&self, now: Instant, group: usize) -> Option<usize> {
        let due = now > self.groups[group].1 + Duration::from_ms(200);
        let order = if due { [2, 0, 1] } else { [0, 1, 2] };
        order.into_iter().find_map(|class| self.first(group, class))
    }

    fn forget_one(&mut self, id: usize) {
        let (group, class) = (self.entities[id].parent, self.entities[id].class);
        let of = |one: &TwinEntity| (one.parent, one.class) == (group, class);
        let waits = self.entities.iter().any(|one| of(one) && one.waits);
        let resting = |twin: &Twin| {
            let rests = (0..twin.entities.len()).filter(|id| {
                let one = &twin.entities[*id];
                of(one) && one.rests
            });
            let mut all: Vec<_> = rests
                .map(|id| (twin.entities[id].finish, twin.entities[id].stamp, id))
                .collect();
            all.sort();
            all
        };
        let all = resting(self);
        let now = &mut self.times[group][class];
        if let Some(last) = all.last().filter(|last| !waits && last.0 <= *now) {
            *now = last.0;
        }
        if let Some(first) = all.first().filter(|first| first.0 <= *now) {
            self.away(first.2);
        }
    }

    fn away(&mut self, id: usize) {
        let one = &mut self.entities[id];
        one.rests = false;
        if let Some((class, weight)) = one.pending.take() {
            (one.class, one.weight) = (class, weight);
        }
    }

    fn above(&self, id: usize) -> Option<usize> {
        self.groups[self.entities[id].parent].0
    }

    fn serve(&mut self, id: usize, blocks: u64) {
        let mut at = Some(id);
        while let Some(id) = at {
            self.entities[id].service += blocks;
            let weights = self.weights(id);
            *self.time(id) += (Virtual::from(blocks) << 22) / Virtual::from(weights);
            self.forget_one(id);
            at = self.above(id);
        }
    }

    fn enter(&mut self, id: usize, back: Option<u64>) {
        let now = *self.time(id);
        let one = &mut self.entities[id];
        let back = back.filter(|_| now > one.finish);
        let floor = if back.is_some() { one.finish } else { now };
        one.start = if one.rests {
            floor.max(one.finish)
        } else {
            floor
        };
        one.rests = false;
        self.stamp(id, back);
    }

    fn stamp(&mut self, id: usize, back: Option<u64>) {
        if let Some((class, weight)) = self.entities[id].pending.take() {
            let moves = self.entities[id].class != class;
            (self.entities[id].class, self.entities[id].weight) = (class, weight);
            if moves {
                self.entities[id].start = *self.time(id);
            }
        }
        self.stamps += 1;
        let now = *self.time(id);
        let one = &mut self.entities[id];
        let length = (Virtual::from(one.budget) << 22) / Virtual::from(one.weight);
        one.finish = one.start + length;
        if let Some(raise) = back.filter(|_| now > one.finish) {
            one.start += (now - one.finish) / Virtual::from(raise);
            one.finish = one.start + length;
        }
        (one.stamp, one.waits) = (self.stamps, true);
    }

    fn charge(&mut self, id: usize) {
        let one = &mut self.entities[id];
        one.finish = one.start + (Virtual::from(one.service) << 22) / Virtual::from(one.weight);
        one.service = 0;
        (one.waits, one.served) = (false, false);
    }

    fn rest(&mut self, id: usize) {
        self.stamps += 1;
        let now = *self.time(id);
        let one = &mut self.entities[id];
        one.rests = one.finish > now;
        one.stamp = self.stamps;
        if !one.rests {
            self.away(id);
        }
    }

    fn tell_above(&mut self, now: Instant, id: usize, back: Option<u64>) {
        let mut group = self.entities[id].parent;
        while let Some(above) = self.groups[group].0 {
            if self.entities[above].served {
                return;
            }
            let budget = self.peek(now, group).map(|id| self.entities[id].budget);
            match budget {
                Some(budget) if self.entities[above].waits => {
                    if self.entities[above].budget == budget {
                        return;
                    }
                    self.entities[above].budget = budget;
                    self.stamp(above, None);
                }
                Some(budget) => {
                    self.entities[above].budget = budget;
                    self.enter(above, back);
                }
                None => {
                    self.charge(above);
                    self.rest(above);
                }
            }
            group = self.entities[above].parent;
        }
    }

    fn begin(&mut self, now: Instant) -> Option<usize> {
        let mut group = 0;
        loop {
            let id = self.peek(now, group)?;
            if now > self.groups[group].1 + Duration::from_ms(200) {
                self.groups[group].1 = now;
            }
            let start = self.entities[id].start;
            if *self.time(id) < start {
                *self.time(id) = start;
                self.forget_one(id);
            }
            (self.entities[id].waits, self.entities[id].served) = (false, true);
            match self.entities[id].group {
                None => return Some(id),
                Some(inner) => group = inner,
            }
        }
    }

    fn end(&mut self, now: Instant, id: usize, budget: Option<u64>) {
        let (mut at, mut budget) = (id, budget);
        loop {
            self.charge(at);
            match budget {
                Some(budget) => {
                    let one = &mut self.entities[at];
                    (one.start, one.budget) = (one.finish, budget);
                    self.stamp(at, None);
                }
                None => self.rest(at),
            }
            let group = self.entities[at].parent;
            let Some(above) = self.groups[group].0 else {
                return;
            };
            at = above;
            budget = self.peek(now, group).map(|id| self.entities[id].budget);
        }
    }
}

/// Both, side by side. An entity has the same number in both.
struct Pair {
    fair: Fair,
    twin: Twin,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            fair: Fair::default(),
            twin: Twin {
                entities: Vec::new(),
                groups: vec![(None, Instant::ZERO)],
                times: vec![[0; 3]],
                stamps: 0,
            },
        }
    }

    fn add(&mut self, parent: GroupKey, class: Class, weight: u64, group: bool) -> GroupKey {
        let key = match group {
            true => self.fair.add_group(parent, weight),
            false => {
                self.fair.add(parent, class, weight);
                parent
            }
        };
        self.twin.entities.push(TwinEntity {
            parent: parent.0 as usize,
            group: group.then_some(key.0 as usize),
            class: class as usize,
            weight,
            pending: None,
            start: 0,
            finish: 0,
            budget: 0,
            service: 0,
            stamp: 0,
            waits: false,
            served: false,
            rests: false,
        });
        if group {
            let id = self.twin.entities.len() - 1;
            self.twin.groups.push((Some(id), Instant::ZERO));
            self.twin.times.push([0; 3]);
        }
        key
    }

    fn check(&self) {
        self.fair.audit();
        for (id, one) in self.twin.entities.iter().enumerate() {
            let other = self.fair.entity(EntityId(id as u32));
            let state = match other.state {
                State::Away => (false, false, false),
                State::Eligible | State::Ahead => (true, false, false),
                State::Served => (false, true, false),
                State::Resting => (false, false, true),
            };
            assert_eq!(state, (one.waits, one.served, one.rests), "{id}: {other:?}");
            assert_eq!(
                (other.class as usize, other.weight),
                (one.class, one.weight)
            );
            if one.counts() {
                let found = (other.start, other.finish, other.budget, other.service);
                let expected = (one.start, one.finish, one.budget, one.service);
                assert_eq!(found, expected, "{id}");
            }
        }
        for (group, times) in self.fair.groups.iter().zip(&self.twin.times) {
            let found = group.trees.each_ref().map(|tree| tree.now);
            assert_eq!(found, *times);
        }
    }

    /// One random step. `served` is who is being served.
    fn step(&mut self, rng: &mut Rng, now: Instant, served: &mut Option<usize>) {
        let id = rng.below(self.twin.entities.len() as u64) as usize;
        let entity = EntityId(id as u32);
        let one = self.twin.entities[id].clone();
        let budget = 1 + rng.below(500);
        match rng.below(10) {
            0..=2 if one.group.is_none() && !one.waits && !one.served => {
                let back = rng.chance(0.4).then(|| 1 + rng.below(40));
                self.fair.activate(now, entity, budget, back);
                self.twin.entities[id].budget = budget;
                self.twin.enter(id, back);
                self.twin.tell_above(now, id, back);
            }
            3 if one.group.is_none() && one.waits => match rng.chance(0.5) {
                true => {
                    self.fair.set_budget(now, entity, budget);
                    if one.budget != budget {
                        self.twin.entities[id].budget = budget;
                        self.twin.stamp(id, None);
                        self.twin.tell_above(now, id, None);
                    }
                }
                false => {
                    self.fair.withdraw(now, entity);
                    self.twin.charge(id);
                    self.twin.rest(id);
                    self.twin.tell_above(now, id, None);
                }
            },
            4 => self.reweigh(rng, id),
            5 if one.group.is_none() && (one.waits || one.served) => {
                self.fair.serve(entity, budget / 8);
                self.twin.serve(id, budget / 8);
            }
            6..=7 => {
                if served.is_none() {
                    let found = self.fair.begin(now).map(|id| id.0 as usize);
                    assert_eq!(found, self.twin.begin(now));
                    *served = found;
                }
            }
            _ => {
                if let Some(id) = served.take() {
                    let blocks = rng.below(600);
                    self.fair.serve(EntityId(id as u32), blocks);
                    self.twin.serve(id, blocks);
                    let budget = rng.chance(0.6).then_some(budget);
                    self.fair.end(now, EntityId(id as u32), budget);
                    self.twin.end(now, id, budget);
                }
            }
        }
    }

    fn reweigh(&mut self, rng: &mut Rng, id: usize) {
        let one = &mut self.twin.entities[id];
        let class = match one.group {
            Some(_) => 1,
            None => rng.below(3) as usize,
        };
        let weight = 1 + rng.below(300);
        let entity = EntityId(id as u32);
        self.fair.reweigh(entity, Class::ALL[class], weight);
        if !one.counts() {
            (one.class, one.weight) = (class, weight);
        } else if one.served && one.class == class {
            (one.weight, one.pending) = (weight, None);
        } else {
            let changes = (one.class, one.weight) != (class, weight);
            one.pending = changes.then_some((class, weight));
        }
    }
}

#[test]
fn it_does_what_looking_at_all_would_do() {
    let mut turns = 0;
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "wf2q");
        let mut pair = Pair::new();
        let mut groups = vec![ROOT];
        for _ in 0..2 + rng.below(9) {
            let parent = groups[rng.below(groups.len() as u64) as usize];
            let group = seed % 3 > 0 && rng.chance(0.3);
            let class = match group {
                true => Class::BestEffort,
                false => Class::ALL[rng.below(3) as usize],
            };
            let key = pair.add(parent, class, 1 + rng.below(300), group);
            if group {
                groups.push(key);
            }
        }
        let (mut now, mut served) = (Instant::ZERO, None);
        for _ in 0..600 {
            now += Duration::from_ms(rng.below(12));
            let before = served.is_some();
            pair.step(&mut rng, now, &mut served);
            turns += u32::from(!before && served.is_some());
            pair.check();
        }
    }
    assert!(turns > 3_000, "{turns}");
}
