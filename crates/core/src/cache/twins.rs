//! Caches written down as their papers say, with what anybody would take: deques that are searched.
//! Random requests compare.

use std::collections::VecDeque;

use super::queues::steps;
use super::sketch::{ANY, Sketch};
use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::{CacheEnv, Kind, KnobValue, find};
use crate::rng::Rng;

/// The cache of this name, with a knob behind it if it has one, for so many lines.
fn cache(name: &str, capacity: usize) -> Box<dyn Cache> {
    let (name, knob) = name.split_once(':').unwrap_or((name, ""));
    let knob = knob.split_once('=');
    let knob = knob.map(|(key, value)| (key.to_owned(), KnobValue::parse(value)));
    let spec = find::<dyn Cache>(name).expect("there is one");
    let knobs = spec.card().check(&Vec::from_iter(knob));
    let knobs = knobs.expect("they are allowed");
    let capacity = capacity as u32;
    (spec.build)(&knobs, &CacheEnv::of_pages(capacity)).expect("it can be built")
}

/// A queue, the oldest in front: a line and how often it was asked for.
type Queue = VecDeque<(u32, u32)>;

fn place(queue: &Queue, line: u32) -> Option<usize> {
    queue.iter().position(|(one, _)| *one == line)
}

fn take(queue: &mut Queue, line: u32) -> bool {
    place(queue, line).is_some_and(|at| queue.remove(at).is_some())
}

/// Asks a twin for a line: whether it was there.
type Ask = fn(&mut Twin, u32) -> bool;

/// A cache by its queues. `ask` says whether a line was there, which is there then.
struct Twin {
    capacity: usize,
    queues: [Queue; 4],
    target: f64,
    hand: Option<u32>,
    counters: Counters,
    ask: Ask,
}

/// How often lines were asked for: some counters of each, of which the least is taken.
#[derive(Default)]
struct Counters {
    all: Vec<u32>,
    /// Says where those of a line are.
    places: Option<Sketch>,
    /// Counted since all were halved.
    since: usize,
}

impl Counters {
    fn of(&mut self, line: u32, most: usize, each: u32) -> Vec<usize> {
        let most = most.max(2 * each as usize);
        self.all.resize(most, 0);
        let sketch = self
            .places
            .get_or_insert_with(|| Sketch::new(most, each, false, ANY));
        sketch.places(Line(line)).collect()
    }

    fn least(&self, places: &[usize]) -> u32 {
        let counters = places.iter().map(|place| self.all[*place]);
        counters.min().expect("there are some")
    }

    /// One more; all are halved after so many.
    fn counted(&mut self, halved_after: usize) {
        self.since += 1;
        if self.since >= halved_after {
            self.since = 0;
            self.all.iter_mut().for_each(|counter| *counter /= 2);
        }
    }
}

impl Twin {
    fn new(capacity: usize, ask: Ask) -> Twin {
        Twin {
            capacity,
            queues: Default::default(),
            target: 0.0,
            hand: None,
            counters: Counters::default(),
            ask,
        }
    }
}

fn fifo(twin: &mut Twin, line: u32) -> bool {
    let queue = &mut twin.queues[0];
    let hit = place(queue, line).is_some();
    if !hit {
        if queue.len() == twin.capacity {
            queue.pop_front();
        }
        queue.push_back((line, 0));
    }
    hit
}

fn lru(twin: &mut Twin, line: u32) -> bool {
    let queue = &mut twin.queues[0];
    let hit = take(queue, line);
    if !hit && queue.len() == twin.capacity {
        queue.pop_front();
    }
    queue.push_back((line, 0));
    hit
}

fn clock(twin: &mut Twin, line: u32) -> bool {
    let queue = &mut twin.queues[0];
    if let Some(at) = place(queue, line) {
        queue[at].1 = 1;
        return true;
    }
    while queue.len() == twin.capacity {
        let (first, asked) = queue.pop_front().expect("it is full");
        if asked == 1 {
            queue.push_back((first, 0));
        }
    }
    queue.push_back((line, 0));
    false
}

fn sieve(twin: &mut Twin, line: u32) -> bool {
    let queue = &mut twin.queues[0];
    if let Some(at) = place(queue, line) {
        queue[at].1 = 1;
        return true;
    }
    if queue.len() == twin.capacity {
        let mut at = twin.hand.and_then(|hand| place(queue, hand)).unwrap_or(0);
        while queue[at].1 == 1 {
            queue[at].1 = 0;
            at = (at + 1) % queue.len();
        }
        queue.remove(at);
        twin.hand = queue.get(at).map(|(next, _)| *next);
    }
    queue.push_back((line, 0));
    false
}

/// Queues: A1in, Am, A1out.
fn two_q(twin: &mut Twin, line: u32) -> bool {
    let capacity = twin.capacity;
    let [short, long, ghosts, _] = &mut twin.queues;
    if place(short, line).is_some() {
        return true;
    }
    if take(long, line) {
        long.push_back((line, 0));
        return true;
    }
    let returns = take(ghosts, line);
    if short.len() + long.len() == capacity {
        if short.len() > capacity / 4 || long.is_empty() {
            let left = short.pop_front().expect("it is too long");
            if ghosts.len() == capacity / 2 {
                ghosts.pop_front();
            }
            if capacity / 2 > 0 {
                ghosts.push_back(left);
            }
        } else {
            long.pop_front();
        }
    }
    if returns {
        long.push_back((line, 0));
    } else {
        short.push_back((line, 0));
    }
    false
}

/// Queues: T1, T2, B1, B2.
fn arc(twin: &mut Twin, line: u32) -> bool {
    let (capacity, target) = (twin.capacity, &mut twin.target);
    let [t1, t2, b1, b2] = &mut twin.queues;
    if take(t1, line) || take(t2, line) {
        t2.push_back((line, 0));
        return true;
    }
    let (in_b1, in_b2) = (place(b1, line).is_some(), place(b2, line).is_some());
    if in_b1 {
        *target = (*target + (b2.len() as f64 / b1.len() as f64).max(1.0)).min(capacity as f64);
        take(b1, line);
    } else if in_b2 {
        *target = (*target - (b1.len() as f64 / b2.len() as f64).max(1.0)).max(0.0);
        take(b2, line);
    }
    if t1.len() + t2.len() == capacity {
        let known = in_b1 || in_b2;
        let mut replaces = true;
        if !known && t1.len() + b1.len() == capacity {
            replaces = b1.pop_front().is_some();
            if !replaces {
                t1.pop_front();
            }
        } else if !known && t1.len() + t2.len() + b1.len() + b2.len() == 2 * capacity {
            b2.pop_front();
        }
        let long = t1.len() as f64 > *target || in_b2 && (t1.len() as f64 - *target).abs() == 0.0;
        if replaces && (!t1.is_empty() && long || t2.is_empty()) {
            b1.extend(t1.pop_front());
        } else if replaces {
            b2.extend(t2.pop_front());
        }
    }
    if in_b1 || in_b2 {
        t2.push_back((line, 0));
    } else {
        t1.push_back((line, 0));
    }
    false
}

/// Queues: T1, T2, B1, B2; asked: the bit of a page.
fn car(twin: &mut Twin, line: u32) -> bool {
    let (capacity, target) = (twin.capacity, &mut twin.target);
    let [t1, t2, b1, b2] = &mut twin.queues;
    for clock in [&mut *t1, &mut *t2] {
        if let Some(at) = place(clock, line) {
            clock[at].1 = 1;
            return true;
        }
    }
    let (in_b1, in_b2) = (place(b1, line).is_some(), place(b2, line).is_some());
    if t1.len() + t2.len() == capacity {
        let mut found = false;
        while !found {
            let of_t1 = t1.len() as f64 >= target.max(1.0);
            let head = if of_t1 {
                t1.pop_front()
            } else {
                t2.pop_front()
            };
            let (page, asked) = head.expect("it is not empty");
            found = asked == 0;
            match (found, of_t1) {
                (true, true) => b1.push_back((page, 0)),
                (true, false) => b2.push_back((page, 0)),
                (false, _) => t2.push_back((page, 0)),
            }
        }
        let known = in_b1 || in_b2;
        if !known && t1.len() + b1.len() == capacity {
            b1.pop_front();
        } else if !known && t1.len() + t2.len() + b1.len() + b2.len() == 2 * capacity {
            b2.pop_front();
        }
    }
    if in_b1 {
        *target = (*target + (b2.len() as f64 / b1.len() as f64).max(1.0)).min(capacity as f64);
        take(b1, line);
        t2.push_back((line, 0));
    } else if in_b2 {
        *target = (*target - (b1.len() as f64 / b2.len() as f64).max(1.0)).max(0.0);
        take(b2, line);
        t2.push_back((line, 0));
    } else {
        t1.push_back((line, 0));
    }
    false
}

/// Queues: small, main, ghosts.
fn s3_fifo(twin: &mut Twin, line: u32) -> bool {
    let capacity = twin.capacity;
    let (small_max, ghosts_max) = (capacity / 10, capacity * 9 / 10);
    let [small, main, ghosts, _] = &mut twin.queues;
    for queue in [&mut *small, &mut *main] {
        if let Some(at) = place(queue, line) {
            queue[at].1 = (queue[at].1 + 1).min(3);
            return true;
        }
    }
    let returns = take(ghosts, line);
    while small.len() + main.len() == capacity {
        if main.len() > capacity - small_max || small.is_empty() {
            let (first, asked) = main.pop_front().expect("it is too long");
            if asked > 0 {
                main.push_back((first, asked - 1));
            }
            continue;
        }
        let (first, asked) = small.pop_front().expect("it is not empty");
        if asked >= 2 {
            main.push_back((first, 0));
            continue;
        }
        if ghosts.len() == ghosts_max {
            ghosts.pop_front();
        }
        if ghosts_max > 0 {
            ghosts.push_back((first, 0));
        }
    }
    if returns {
        main.push_back((line, 0));
    } else {
        small.push_back((line, 0));
    }
    false
}

/// Queues: the four segments, the lowest first.
fn slru(twin: &mut Twin, line: u32) -> bool {
    let capacity = twin.capacity;
    let most = |at: usize| {
        if capacity < 4 && at == 0 {
            capacity
        } else {
            capacity / 4
        }
    };
    let queues = &mut twin.queues;
    let at = (0..4).find(|at| take(&mut queues[*at], line));
    let Some(at) = at else {
        if queues.iter().map(Queue::len).sum::<usize>() == capacity {
            let lowest = queues.iter_mut().find(|queue| !queue.is_empty());
            lowest.expect("it is full").pop_front();
        }
        let room = (0..4).find(|at| queues[*at].len() < most(*at));
        queues[room.unwrap_or(0)].push_back((line, 0));
        return false;
    };
    let above = (at + 1).min(3);
    queues[above].push_back((line, 0));
    let mut goes_down = above;
    while goes_down > 0 && queues[goes_down].len() > most(goes_down) {
        let down = queues[goes_down].pop_front().expect("it is too long");
        goes_down -= 1;
        queues[goes_down].push_back(down);
        if goes_down == 0 {
            while queues[0].len() > most(0) {
                queues[0].pop_front();
            }
        }
    }
    true
}

/// Queues: window, probation, protected.
fn w_tinylfu_of_paper(twin: &mut Twin, line: u32) -> bool {
    let capacity = twin.capacity;
    let window_max = (capacity / 100).max(1);
    let main_max = capacity - window_max;
    let counters = &mut twin.counters;
    let places = counters.of(line, 8 * capacity, 4);
    let least = counters.least(&places);
    for place in places {
        if counters.all[place] == least {
            counters.all[place] = (least + 1).min(8);
        }
    }
    counters.counted(8 * capacity);
    let [window, probation, protected, _] = &mut twin.queues;
    if take(window, line) {
        window.push_back((line, 0));
        return true;
    }
    if take(probation, line) || take(protected, line) {
        protected.push_back((line, 0));
        if protected.len() > main_max * 4 / 5 {
            probation.extend(protected.pop_front());
        }
        return true;
    }
    window.push_back((line, 0));
    if window.len() <= window_max {
        return false;
    }
    let (candidate, _) = window.pop_front().expect("it has too many");
    if probation.len() + protected.len() < main_max {
        probation.push_back((candidate, 0));
        return false;
    }
    let first = [&mut *probation, protected]
        .into_iter()
        .find(|queue| !queue.is_empty());
    if let Some(queue) = first {
        let (victim, _) = queue[0];
        let mut asked = |line| {
            let places = counters.of(line, 8 * capacity, 4);
            counters.least(&places)
        };
        if asked(candidate) > asked(victim) {
            queue.pop_front();
            probation.push_back((candidate, 0));
        }
    }
    false
}

/// Of two segments the one whose oldest leaves first.
fn lowest<'a>(lower: &'a mut Queue, upper: &'a mut Queue) -> &'a mut Queue {
    if lower.is_empty() { upper } else { lower }
}

/// Queues: window, and two segments, the lowest first.
fn w_tinylfu_of_libcachesim(twin: &mut Twin, line: u32) -> bool {
    let capacity = twin.capacity;
    let main_max = capacity - (capacity / 100).max(1);
    let most = match main_max {
        0..5 if main_max * 4 / 5 == 0 => [main_max, 0],
        _ => [main_max / 5, main_max * 4 / 5],
    };
    let (counters, all) = (&mut twin.counters, main_max * 14_378 / 1_000);
    let own = counters.of(line, all, 10);
    let [window, lower, upper, _] = &mut twin.queues;
    let up = |counters: &mut Counters, places: &[usize]| {
        places.iter().for_each(|place| counters.all[*place] += 1);
    };
    if take(window, line) {
        window.push_back((line, 0));
        return true;
    }
    if take(lower, line) || take(upper, line) {
        upper.push_back((line, 0));
        if upper.len() > most[1] {
            lower.extend(upper.pop_front());
            while lower.len() > most[0] {
                lower.pop_front();
            }
        }
        up(counters, &own);
        counters.counted(32 * main_max);
        return true;
    }
    while window.len() + lower.len() + upper.len() >= capacity {
        let mut one_lost = false;
        // Until one loses, though there is room by then.
        while let Some((candidate, _)) = window.pop_front() {
            let is_full = lower.len() + upper.len() >= main_max;
            let first = lowest(lower, upper).front().filter(|_| is_full).copied();
            let of_candidate = counters.of(candidate, all, 10);
            let stays = first.is_none_or(|(victim, _)| {
                let of_victim = counters.of(victim, all, 10);
                counters.least(&of_candidate) > counters.least(&of_victim)
            });
            up(counters, &of_candidate);
            if !stays || main_max == 0 {
                one_lost = true;
                break;
            }
            if first.is_some() {
                lowest(lower, upper).pop_front();
            }
            let has_room = lower.len() < most[0] || upper.len() >= most[1];
            let queue = if has_room { &mut *lower } else { &mut *upper };
            queue.push_back((candidate, 0));
        }
        if !one_lost {
            lowest(lower, upper).pop_front();
        }
    }
    window.push_back((line, 0));
    up(counters, &own);
    false
}

#[test]
fn caches_miss_what_their_papers_say() {
    let twins: [(&str, Ask); 11] = [
        ("fifo", fifo),
        ("lru", lru),
        ("clock", clock),
        ("sieve", sieve),
        ("two_q", two_q),
        ("arc", arc),
        ("car", car),
        ("s3_fifo", s3_fifo),
        ("slru", slru),
        ("w_tinylfu:variant=paper", w_tinylfu_of_paper),
        ("w_tinylfu", w_tinylfu_of_libcachesim),
    ];
    for (name, ask) in twins {
        for capacity in [1, 2, 5, 8, 20, 41, 100, 250] {
            let (mut cache, mut twin) = (cache(name, capacity), Twin::new(capacity, ask));
            cache.reserve(400);
            let mut rng = Rng::stream(capacity as u64, name);
            for number in 0..6_000_u32 {
                // What is popular, and now and then a scan.
                let line = match number / 500 % 3 {
                    2 => 200 + number % 200,
                    _ => rng.below(200).min(rng.below(200)).min(rng.below(400)) as u32,
                };
                let hit = (twin.ask)(&mut twin, line);
                steps::allow(1_000 + 100 * capacity as u64, name);
                let misses = cache.ask(capacity, &[Line(line)], &[]);
                assert_eq!(
                    misses,
                    u64::from(!hit),
                    "{name} of {capacity}, request {number}"
                );
            }
            cache.audit();
        }
    }
}

/// What is farthest away in the future leaves: tried by looking through all that is to come.
#[test]
fn the_optimum_is_what_a_search_of_the_future_finds() {
    let mut rng = Rng::stream(3, "future");
    let asked: Vec<u32> = (0..3_000)
        .map(|_| rng.below(60).min(rng.below(60)) as u32)
        .collect();
    let next = |from: usize, line: u32| {
        let later = asked[from..].iter().position(|one| *one == line);
        later.map_or(u32::MAX, |later| (from + later + 1) as u32)
    };
    for capacity in [1, 2, 7, 25] {
        let mut cache = cache("optimal", capacity);
        cache.reserve(60);
        let mut held: Vec<u32> = Vec::new();
        for (number, line) in asked.iter().enumerate() {
            let hit = held.contains(line);
            if !hit {
                if held.len() == capacity {
                    let farthest = held.iter().max_by_key(|one| next(number, **one));
                    let farthest = *farthest.expect("it is full");
                    held.retain(|one| *one != farthest);
                }
                held.push(*line);
            }
            let next = [next(number + 1, *line)];
            assert_eq!(cache.ask(capacity, &[Line(*line)], &next), u64::from(!hit));
        }
    }
}

#[test]
fn no_cache_holds_more_than_it_may_nor_less() {
    let table = <dyn Cache>::table().iter();
    for spec in table.filter(|spec| spec.name != "none") {
        for capacity in [1, 2, 3, 7, 100] {
            let mut cache = cache(spec.name, capacity);
            cache.reserve(300);
            let mut rng = Rng::stream(7, "cache");
            for number in 1..5_000_u32 {
                let line = Line(rng.below(300).min(rng.below(300)) as u32);
                steps::allow(1_000 + 100 * capacity as u64, spec.name);
                let (before, held) = (cache.len(), cache.holds(line));
                let misses = cache.ask(capacity, &[line], &[number + 1]);
                assert_eq!(misses, u64::from(!held), "{}", spec.name);
                assert!(cache.holds(line), "{} holds what was asked for", spec.name);
                assert!(cache.len() <= capacity, "{}", spec.name);
                // Few of them let others go with a hit, or several at a time.
                let leaves = matches!(spec.name, "slru" | "lirs" | "w_tinylfu");
                let kept = cache.len() >= (before + usize::from(!held)).min(capacity);
                assert!(leaves || kept, "{} let one go", spec.name);
                if number % 500 == 0 {
                    cache.audit();
                }
            }
        }
    }
}
