//! Caches written down as their papers say, with what anybody would take: deques that are searched. Random requests compare.

use std::collections::VecDeque;

use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::{CacheEnv, Kind, find};
use crate::rng::Rng;

/// The cache of this name, for so many lines.
fn cache(name: &str, capacity: usize) -> Box<dyn Cache> {
    let spec = find::<dyn Cache>(name).expect("there is one");
    let knobs = spec.card().check(&[]).expect("it has defaults");
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
    ask: Ask,
}

impl Twin {
    fn new(capacity: usize, ask: Ask) -> Twin {
        Twin {
            capacity,
            queues: Default::default(),
            target: 0.0,
            hand: None,
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

#[test]
fn caches_miss_what_their_papers_say() {
    let twins: [(&str, Ask); 9] = [
        ("fifo", fifo),
        ("lru", lru),
        ("clock", clock),
        ("sieve", sieve),
        ("two_q", two_q),
        ("arc", arc),
        ("car", car),
        ("s3_fifo", s3_fifo),
        ("slru", slru),
    ];
    for (name, ask) in twins {
        for capacity in [1, 2, 5, 8, 20, 41, 100] {
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
