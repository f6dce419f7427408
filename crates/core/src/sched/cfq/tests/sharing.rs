//! Who has how much of the drive, and how long anybody waits.

use super::*;
use crate::op::Op;
use crate::rng::Rng;

/// Processes that each ask for one request after the other, over a drive that has so many at a time
/// and takes `ms` for each.
struct Readers {
    bench: Bench<Cfq>,
    on_drive: Vec<u32>,
    room: usize,
    ms: u64,
    /// Of each process: where it reads next, how far from there the one after that is, what it was
    /// served, the longest that it waited, and since when it waits.
    next: Vec<u64>,
    step: Vec<u64>,
    served: Vec<u64>,
    waited: Vec<Duration>,
    waiting: Vec<Option<Instant>>,
}

impl Readers {
    fn new(bench: Bench<Cfq>, room: usize, ms: u64) -> Readers {
        Readers {
            bench,
            on_drive: Vec::new(),
            room,
            ms,
            next: Vec::new(),
            step: Vec::new(),
            served: Vec::new(),
            waited: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// One more that begins here, and goes so far with each request.
    fn reads(mut self, at: u64, step: u64) -> Readers {
        let stream = self.next.len() as u32;
        self.next.push(at);
        self.step.push(step);
        self.served.push(0);
        self.waited.push(Duration::ZERO);
        self.waiting.push(None);
        self.ask(stream);
        self
    }

    fn ask(&mut self, stream: u32) {
        let of = stream as usize;
        self.bench.read(stream, self.next[of], 8);
        self.waiting[of] = Some(self.bench.now);
        self.next[of] = (self.next[of] + self.step[of]) % 1_000_000_000;
    }

    fn fill(&mut self) {
        while self.on_drive.len() < self.room {
            let Some(id) = self.bench.start() else {
                break;
            };
            let stream = self.bench.ios[id as usize].stream;
            self.waited(stream.index());
            self.on_drive.push(id);
        }
    }

    /// A process waits no longer.
    fn waited(&mut self, stream: usize) {
        if let Some(since) = self.waiting[stream].take() {
            let waited = self.bench.now.since(since);
            self.waited[stream] = self.waited[stream].max(waited);
        }
    }

    /// The drive is full again before the one that was answered asks.
    fn run(mut self, ms: u64) -> Readers {
        let end = self.bench.now + Duration::from_ms(ms);
        while self.bench.now < end {
            self.fill();
            if self.on_drive.is_empty() {
                self.bench.now = self.bench.waits_until.expect("something waits");
                continue;
            }
            let id = self.on_drive.remove(0);
            self.bench.wait(self.ms);
            self.bench.answer(id);
            self.fill();
            let stream = self.bench.ios[id as usize].stream;
            self.served[stream.index()] += 1;
            self.ask(stream.0);
        }
        (0..self.next.len()).for_each(|stream| self.waited(stream));
        self
    }

    /// What these had of all that was served, in percent.
    fn percent(&self, streams: std::ops::Range<usize>) -> u64 {
        let all: u64 = self.served.iter().sum();
        let own: u64 = self.served[streams].iter().sum();
        (100 * own + all / 2) / all
    }
}

const FAR: u64 = 20_000_000;

/// Those that read here and there go one after the other, also where the drive is full and each
/// that was answered asks at once.
#[test]
fn nobody_is_passed_over_by_those_whose_answers_came_last() {
    for room in [1, 4] {
        let mut readers = Readers::new(cfq(), room, 5);
        for reader in 0..10 {
            readers = readers.reads(reader * FAR, 7_000_003);
        }
        let readers = readers.run(20_000);
        let longest = readers.waited.iter().max().unwrap().as_ms();
        // Ten requests of 5 ms are before it; in the beginning some have slices of 100 ms, as
        // nobody knows that they seek.
        assert!(longest < 500.0, "{room} at a time: {longest} ms");
        let least = readers.served.iter().min().unwrap();
        assert!(*least > 330, "{room} at a time: {:?}", readers.served);
    }
}

/// Two that read side by side take the drive from each other while it waits for one of them; a
/// third one is passed over for a second at most.
#[test]
fn nobody_is_passed_over_for_more_than_a_second_by_two_that_are_near_each_other() {
    let mut bench = cfq();
    let first = bench.read(0, 0, 8);
    let third = bench.read(2, FAR, 8);
    bench.serve(first, 2);
    assert_eq!(bench.start(), None, "the drive waits for it");
    for turn in 1..10_000_u32 {
        bench.wait(1);
        let near = bench.read(turn % 2, u64::from(turn) * 8, 8);
        let next = bench.start().expect("one of the two is there");
        if next == third {
            break;
        }
        assert_eq!(next, near, "it takes the drive");
        bench.wait(2);
        bench.answer(near);
        assert_eq!(bench.start(), None, "the drive waits for it");
    }
    // A second, and by how much its slice is shorter than the longest one, 80 ms, for the one other
    // that had work when it came.
    let waited = bench.now.0 / 1_000_000;
    assert!((1_000..1_080 + 6).contains(&waited), "{waited} ms");
}

fn in_group(group: u16, weight: u16) -> Stream {
    Stream {
        group: GroupId(group),
        weight,
        ..Stream::UNKNOWN
    }
}

/// Streams that read in a row for twenty seconds, each as told; what part the first ones had, in
/// percent.
fn part_of_first(first: usize, streams: &[Stream]) -> u64 {
    let mut bench = cfq();
    for (number, stream) in streams.iter().enumerate() {
        bench.describe(number as u32, *stream);
    }
    let mut readers = Readers::new(bench, 1, 2);
    for number in 0..streams.len() as u64 {
        readers = readers.reads(number * FAR, 8);
    }
    readers.run(20_000).percent(0..first)
}

#[test]
fn groups_share_the_time_of_the_drive_by_weight_whatever_is_in_them() {
    let plain = Stream::UNKNOWN;
    let (heavy, light) = (in_group(1, 300), in_group(2, 100));
    let is = |percent: u64, expected: u64| {
        assert!(
            percent.abs_diff(expected) <= 2,
            "{percent} is not {expected}"
        );
    };
    is(part_of_first(1, &[heavy, light]), 75);
    is(part_of_first(1, &[heavy, light, light, light]), 75);
    is(part_of_first(3, &[heavy, heavy, heavy, light]), 75);
    // What is in no group weighs 200 together.
    is(part_of_first(2, &[plain, plain, light]), 67);
    // A weight of a stream that is in no group makes it one.
    let alone = in_group(0, 600);
    is(part_of_first(1, &[alone, plain, plain]), 75);
    is(part_of_first(2, &[plain, plain, plain]), 67);
}

/// One that reads here and there, alone in its group, is not waited for but for its group.
#[test]
fn the_only_process_of_a_group_is_waited_for_so_that_the_group_keeps_its_share() {
    let part = |group_idle_ms| {
        let mut bench = with(&[("group_idle_ms", group_idle_ms)]);
        bench.describe(0, in_group(1, 100));
        bench.describe(1, in_group(2, 100));
        bench.describe(2, in_group(2, 100));
        Readers::new(bench, 1, 2)
            .reads(0, 7_000_003)
            .reads(FAR, 8)
            .reads(2 * FAR, 8)
            .run(20_000)
            .percent(0..1)
    };
    assert!(part(8.0).abs_diff(50) <= 3, "{}", part(8.0));
    assert!(part(0.0) < 45, "{}", part(0.0));
}

#[test]
fn a_stream_that_goes_to_another_group_is_served_in_both_until_nothing_is_left() {
    let mut bench = cfq();
    bench.describe(1, in_group(1, 100));
    let old = [bench.read(1, 0, 8), bench.read(1, 8, 8)];
    assert_eq!(bench.start(), Some(old[0]));
    bench.describe(1, in_group(2, 100));
    let new = bench.read(1, 16, 8);
    let queues = bench.own.queues.len();
    assert_eq!((queues, bench.own.orphans.len()), (2, 1));
    bench.wait(1);
    bench.answer(old[0]);
    bench.start_at_last(old[1]);
    bench.wait(1);
    bench.answer(old[1]);
    bench.start_at_last(new);
    bench.wait(1);
    bench.answer(new);
    // Back again: the queue that it left is taken, and no third one made.
    let other = bench.read(2, FAR, 8);
    bench.start_at_last(other);
    bench.wait(1);
    bench.answer(other);
    assert_eq!(bench.own.queues.len(), 2);
    assert!(bench.own.orphans.is_empty());
}

#[test]
fn a_queue_of_another_group_takes_the_drive_from_writes_alone() {
    let preempts = |sync: bool, class: Class| {
        let mut bench = cfq();
        bench.describe(1, in_group(1, 100));
        let urgent = Stream {
            class,
            ..in_group(2, 100)
        };
        bench.describe(2, urgent);
        let op = if sync { Op::Read } else { Op::Write };
        let first = bench.ask(1, op, sync, 0, 8);
        bench.ask(1, op, sync, 8, 8);
        assert_eq!(bench.start(), Some(first));
        bench.read(2, FAR, 8);
        bench.own.active.is_none()
    };
    // The drive waits for one that reads in a row, and another asks just there.
    let near = |group| {
        let mut bench = cfq();
        bench.describe(1, in_group(1, 100));
        bench.describe(2, in_group(group, 100));
        let first = bench.read(1, 0, 8);
        bench.serve(first, 2);
        bench.read(2, 8, 8);
        bench.own.active.is_none()
    };
    assert!(near(1) && !near(2));
    assert!(preempts(false, Class::BestEffort));
    assert!(!preempts(true, Class::BestEffort));
    assert!(!preempts(true, Class::RealTime));
}

/// Random processes, priorities, groups, weights, withdrawals and answers: every request is served,
/// and the books are right after each step.
#[test]
fn every_request_is_served_whatever_comes() {
    for seed in 0..24 {
        let mut rng = Rng::stream(seed, "cfq");
        let mut bench = with(&[("group_idle_ms", [8.0, 0.0][seed as usize % 2])]);
        let ask = |rng: &mut Rng| {
            let op = if rng.chance(0.7) { Op::Read } else { Op::Write };
            let sync = op == Op::Read || rng.chance(0.4);
            let stream = rng.below(9) as u32;
            (stream, op, sync, rng.below(1 << 24), 8)
        };
        bench.walk(&mut rng, ask, |rng| Stream {
            class: Class::ALL[rng.below(3) as usize],
            level: rng.below(8) as u8,
            ..in_group(rng.below(3) as u16, 50 * (1 + rng.below(4)) as u16)
        });
    }
}
