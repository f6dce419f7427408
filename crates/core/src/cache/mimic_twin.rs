//! Mimic as its head says it, over lists that are searched: who keeps what, what each model has let go, what is apart. Random loads as a stack brings them compare.
//!
//! The models themselves are the policies of this folder, which have twins of their own.

#![cfg(test)]

use super::mimic::{ALL, AWAY, CLEARLY, LOOK, Patience, forgets, most, remembered};
use crate::contract::{Cache, Entering, Pattern};
use crate::ids::Line;
use crate::registry::{CacheEnv, find};
use crate::rng::Rng;

fn made(name: &str, capacity: usize) -> Box<dyn Cache> {
    let spec = find::<dyn Cache>(name).expect("there is one");
    let knobs = spec.card().check(&[]).expect("it has defaults");
    (spec.build)(&knobs, &CacheEnv::of_pages(capacity as u32)).expect("it can be built")
}

struct Model {
    cache: Box<dyn Cache>,
    sequences: bool,
    cost: u64,
    last_missed: Option<u32>,
    /// The longest ago first.
    gone: Vec<Line>,
}

impl Model {
    fn new(name: &str, sequences: bool, capacity: usize) -> Model {
        let mut cache = made(name, capacity);
        cache.reserve(LINES);
        Model {
            cache,
            sequences,
            cost: 0,
            last_missed: None,
            gone: Vec::new(),
        }
    }

    fn pays(&mut self, line: Line) {
        let follows = self.last_missed.is_some_and(|last| last + 1 == line.0);
        self.cost += if follows { 1 } else { AWAY };
        self.last_missed = Some(line.0);
    }
}

struct Twin {
    capacity: usize,
    here: Vec<Line>,
    missed: Vec<Line>,
    /// Ahead and behind, each with when it came there, the oldest first.
    apart: [Vec<(Line, u64)>; 2],
    models: Vec<Model>,
    leader: usize,
    clock: u64,
    patience: Patience,
}

impl Twin {
    fn new(capacity: usize) -> Twin {
        let models = [
            ("lirs", true),
            ("arc", true),
            ("s3_fifo", true),
            ("lirs", false),
            ("arc", false),
        ];
        Twin {
            capacity,
            here: Vec::new(),
            missed: Vec::new(),
            apart: Default::default(),
            models: models
                .map(|(name, sequences)| Model::new(name, sequences, capacity))
                .into(),
            leader: 0,
            clock: 0,
            patience: Patience::new(capacity),
        }
    }

    fn place(&self, line: Line) -> Option<(usize, u64)> {
        let of = |queue: usize| self.apart[queue].iter().find(|(one, _)| *one == line);
        (0..2).find_map(|queue| of(queue).map(|(_, since)| (queue, *since)))
    }

    fn put(&mut self, queue: usize, line: Line) {
        self.unite(line);
        self.apart[queue].push((line, self.clock));
    }

    fn unite(&mut self, line: Line) {
        for queue in &mut self.apart {
            queue.retain(|(one, _)| *one != line);
        }
    }

    fn let_go(&mut self, model: usize, incoming: Line) -> bool {
        let one = &mut self.models[model];
        let mut left = Vec::from_iter(one.cache.leave(incoming));
        let is_some = !left.is_empty();
        left.extend(std::iter::from_fn(|| one.cache.left()));
        self.list(model, left);
        is_some
    }

    fn list(&mut self, model: usize, lines: Vec<Line>) {
        let gone = &mut self.models[model].gone;
        for line in lines {
            if self.here.contains(&line) && !gone.contains(&line) {
                gone.push(line);
            }
        }
    }

    fn ask(&mut self, line: Line, sequential: bool, costs: bool) {
        let room = self
            .capacity
            .saturating_sub(self.apart[0].len() + self.apart[1].len());
        for model in 0..self.models.len() {
            let one = &mut self.models[model];
            if one.cache.holds(line) {
                one.cache.hit(line);
            } else {
                if costs {
                    one.pays(line);
                }
                if sequential && !one.sequences {
                    continue;
                }
                one.cache.miss(line);
                one.cache.resize(room.max(1) as u32);
                while self.models[model].cache.len() >= room.max(1) && self.let_go(model, line) {}
                self.models[model].cache.enter(line);
            }
            let cache = &mut self.models[model].cache;
            let left = std::iter::from_fn(|| cache.left()).collect();
            self.list(model, left);
        }
        self.clock += 1;
        if self.clock.is_multiple_of(forgets(self.capacity)) {
            self.models
                .iter_mut()
                .for_each(|one| one.cost = remembered(one.cost));
        }
        if self.clock.is_multiple_of(LOOK) {
            let costs: Vec<u64> = self.models.iter().map(|one| one.cost).collect();
            let (own, least) = (costs[self.leader], *costs.iter().min().expect("some"));
            if own - least > own / CLEARLY {
                self.leader = costs.iter().position(|cost| *cost == least).expect("one");
            }
        }
    }

    fn hit(&mut self, line: Line, read: bool) {
        let place = self.place(line);
        let mut costs = place.is_none();
        if let Some((0, since)) = place {
            costs = self.patience.asked(self.clock - since);
            self.put(1, line);
        }
        self.ask(line, place.is_some(), read && costs);
    }

    fn keeps(&self, line: Line) -> bool {
        self.models[self.leader].cache.holds(line)
    }

    fn victim(&mut self, incoming: Line) -> Option<Line> {
        let limits = |twin: &Twin| [twin.patience.ahead(), twin.patience.behind()];
        let over = |twin: &Twin, queue: usize| {
            let (line, since) = *twin.apart[queue].first()?;
            let is_long = twin.apart[queue].len() > most(twin.capacity)[queue];
            (is_long || twin.clock - since > limits(twin)[queue]).then_some((queue, line))
        };
        while let Some((queue, line)) = over(self, 1).or_else(|| over(self, 0)) {
            if queue == 0 {
                self.patience.in_vain();
            }
            self.unite(line);
            if !self.keeps(line) {
                return Some(line);
            }
            for model in 0..self.models.len() {
                if !self.models[model].cache.holds(line) {
                    self.list(model, vec![line]);
                }
            }
        }
        loop {
            while !self.models[self.leader].gone.is_empty() {
                let line = self.models[self.leader].gone.remove(0);
                if self.here.contains(&line) && !self.keeps(line) && self.place(line).is_none() {
                    return Some(line);
                }
            }
            if !self.let_go(self.leader, incoming) {
                let queue = usize::from(!self.apart[1].is_empty());
                let (line, _) = *self.apart[queue].first()?;
                self.unite(line);
                return Some(line);
            }
        }
    }

    fn leave(&mut self, incoming: Line) -> Option<Line> {
        let line = self.victim(incoming)?;
        self.here.retain(|one| *one != line);
        Some(line)
    }

    fn miss_in(&mut self, line: Line) {
        self.missed.push(line);
        let lacks = self.models.iter_mut().filter(|one| !one.cache.holds(line));
        lacks.for_each(|one| one.pays(line));
    }

    fn enter(&mut self, line: Line, pattern: Pattern) {
        let was_missed = self.missed.contains(&line);
        self.missed.retain(|one| *one != line);
        self.here.push(line);
        let sequential = pattern == Pattern::Sequential;
        if sequential {
            self.put(usize::from(was_missed), line);
        }
        if was_missed || !sequential {
            self.ask(line, sequential, false);
        }
    }
}

const LINES: u32 = 900;

/// What a stack does: reads and writes of popular lines, sequences for which lines are brought, such that are expected, and misses that enter later.
fn step(rng: &mut Rng, number: u32, cache: &mut dyn Cache, twin: &mut Twin) {
    let popular = rng.below(400).min(rng.below(400)) as u32;
    let (line, pattern) = match rng.below(4) {
        0 => (400 + number / 3 % 500, Pattern::Sequential),
        _ => (popular, Pattern::Random),
    };
    let line = Line(line);
    assert_eq!(
        cache.holds(line),
        twin.here.contains(&line),
        "step {number}"
    );
    let make_room = |cache: &mut dyn Cache, twin: &mut Twin| {
        while cache.len() >= twin.capacity {
            assert_eq!(cache.leave(line), twin.leave(line), "step {number}");
        }
    };
    let how = rng.below(8);
    if cache.holds(line) {
        match how {
            0 => {
                cache.hit_by_write(line);
                twin.hit(line, false);
            }
            1 => {
                cache.expect(line);
                twin.put(0, line);
            }
            _ => {
                cache.hit(line);
                twin.hit(line, true);
            }
        }
        return;
    }
    // Some are missed, others written or brought beforehand.
    if how > 2 && (pattern == Pattern::Random || how == 3) {
        cache.miss_in(line, pattern);
        twin.miss_in(line);
        if how == 7 {
            return;
        }
    } else {
        cache.miss(line);
    }
    make_room(cache, twin);
    let entering = Entering {
        pattern,
        ..Entering::BY_ITSELF
    };
    cache.enter_as(line, entering);
    twin.enter(line, pattern);
}

#[test]
fn it_does_what_its_head_says() {
    for capacity in [1, 2, 9, 60, 250] {
        let mut rng = Rng::stream(capacity as u64, "mimic");
        let (mut cache, mut twin) = (made("mimic", capacity), Twin::new(capacity));
        cache.reserve(LINES);
        let mut leaders = Vec::new();
        for number in 0..12_000 {
            step(&mut rng, number, &mut *cache, &mut twin);
            leaders.push(twin.leader);
            if number % 1_000 == 0 {
                cache.audit();
            }
        }
        leaders.dedup();
        assert!(
            capacity < 9 || leaders.len() > 1,
            "nobody else was mimicked"
        );
    }
}

/// Sequences whose lines wait 1,000 requests: lines stay ahead eight times as long and half the cache's requests; half as long if half are in vain.
#[test]
fn patience_goes_with_what_is_useful() {
    let mut patience = Patience::new(100);
    assert_eq!((patience.ahead(), patience.behind()), (50, 0));
    for _ in 0..2_000 {
        assert!(!patience.asked(1_000));
    }
    assert!((7_900..=8_050).contains(&patience.ahead()), "{patience:?}");
    assert!((1_480..=1_500).contains(&patience.behind()), "{patience:?}");
    for _ in 0..2_000 {
        patience.asked(1_000);
        patience.in_vain();
    }
    assert!((3_800..=4_200).contains(&patience.ahead()), "{patience:?}");
    // All late: nine times.
    for _ in 0..5_000 {
        assert!(patience.asked(3));
    }
    let late = patience.ahead() as f64 / ((ALL / 2) as f64 / ALL as f64 * 8_000.0);
    assert!((8.3..9.2).contains(&late), "{late}");
}
