//! Mimic as its head says it, over lists that are searched: who keeps what, what each model has let
//! go, what is apart. Random loads as a stack brings them compare.
//!
//! The models themselves are the policies of this folder, which have twins of their own.

#![cfg(test)]

use super::mimic::{ALL, AWAY, CLEARLY, LOOK, Patience, forgets, listed_most, most, remembered};
use crate::contract::{Cache, Entering, Pattern, Why};
use crate::ids::Line;
use crate::registry::{CacheEnv, find};
use crate::rng::Rng;

fn made(name: &str, capacity: usize, neighbours: bool) -> Box<dyn Cache> {
    let spec = find::<dyn Cache>(name).expect("there is one");
    let knobs = spec.card().check(&[]).expect("it has defaults");
    let env = CacheEnv {
        neighbours,
        ..CacheEnv::of_pages(capacity as u32)
    };
    (spec.build)(&knobs, &env).expect("it can be built")
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
        let mut cache = made(name, capacity, false);
        cache.reserve(LINES);
        Model {
            cache,
            sequences,
            cost: 0,
            last_missed: None,
            gone: Vec::new(),
        }
    }

    fn pays(&mut self, line: Line, neighbours: bool) {
        let follows = neighbours && self.last_missed.is_some_and(|last| last + 1 == line.0);
        self.cost += if follows { 1 } else { AWAY };
        self.last_missed = Some(line.0);
    }
}

struct Twin {
    capacity: usize,
    neighbours: bool,
    here: Vec<Line>,
    /// Ahead and behind, each with when it came there, the oldest first.
    apart: [Vec<(Line, u64)>; 2],
    models: Vec<Model>,
    leader: usize,
    clock: u64,
    patience: Patience,
}

impl Twin {
    fn new(capacity: usize, neighbours: bool) -> Twin {
        let models = [
            ("lirs", true),
            ("arc", true),
            ("s3_fifo", true),
            ("lirs", false),
            ("arc", false),
        ];
        Twin {
            capacity,
            neighbours,
            here: Vec::new(),
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
        let Model { gone, cache, .. } = &mut self.models[model];
        for line in lines {
            if self.here.contains(&line) && !gone.contains(&line) {
                gone.push(line);
            }
            // Who comes back to him has his old place in the list until that is looked through.
            if gone.len() > listed_most(self.capacity) {
                gone.retain(|one| self.here.contains(one) && !cache.holds(*one));
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
                    one.pays(line, self.neighbours);
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

    fn enter(&mut self, line: Line, why: Why, pattern: Pattern) {
        self.here.push(line);
        match (why, pattern) {
            (Why::Brought, _) => self.put(0, line),
            (_, Pattern::Random) => self.ask(line, false, why == Why::Missed),
            (_, Pattern::Sequential) => {
                self.put(1, line);
                self.ask(line, true, why == Why::Missed);
            }
        }
    }
}

const LINES: u32 = 900;

/// What a stack does: reads and writes of popular lines and of sequences, lines that are brought
/// for these, and such that are expected.
fn step(rng: &mut Rng, number: u32, cache: &mut dyn Cache, twin: &mut Twin) {
    let popular = rng.below(400).min(rng.below(400)) as u32;
    let (line, pattern) = match rng.below(4) {
        0 => (400 + number / 3 % 500, Pattern::Sequential),
        // Numbers in a row, as lines get them that come for the first time.
        1 if !twin.neighbours => (400 + number % 500, Pattern::Random),
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
    let why = match (how, pattern) {
        (0 | 1, _) => Why::Written,
        (2..6, Pattern::Sequential) => Why::Brought,
        _ => Why::Missed,
    };
    make_room(cache, twin);
    let entering = Entering {
        why,
        pattern,
        pages: 1,
    };
    cache.enter_as(line, entering);
    twin.enter(line, why, pattern);
}

#[test]
fn it_does_what_its_head_says() {
    for (capacity, neighbours) in [
        (1, true),
        (2, true),
        (9, true),
        (60, true),
        (250, true),
        (250, false),
    ] {
        let mut rng = Rng::stream(capacity as u64, "mimic");
        let mut cache = made("mimic", capacity, neighbours);
        let mut twin = Twin::new(capacity, neighbours);
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

/// Sequences whose lines wait 1,000 requests: lines stay ahead eight times as long and half the
/// cache's requests; half as long if half are in vain.
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
