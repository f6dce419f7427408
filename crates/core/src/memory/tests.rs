//! The memory by itself, over a stack that answers each job at once: what SARC's parts do, step by
//! step, and the published statements about them.
//!
//! The numbers of the worked examples were found by a model that was made from the paper alone.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::cache;
use crate::contract::{Entering, Why};
use crate::ids::{Line, Track};
use crate::op::Failure;
use crate::pages::PAGE;
use crate::prefetch;
use crate::registry::{CacheEnv, Kind, KnobValue, PrefetchEnv, Spec};

/// Pages of a track.
pub(super) const TRACK: u64 = 8;
/// Requests between two audits.
const AUDIT_EVERY: u64 = 64;

pub(super) fn built<K: Kind + ?Sized>(
    table: &[&'static Spec<K>],
    word: &str,
    env: &K::Env<'_>,
) -> Result<Box<K>, K::Error> {
    let mut pieces = word.split(':');
    let name = pieces.next();
    let spec = table.iter().find(|spec| Some(spec.name) == name);
    let spec = spec.expect("it is in the table");
    let knobs: Vec<_> = pieces
        .map(|piece| piece.split_once('=').expect("a setting"))
        .map(|(key, value)| (key.to_owned(), KnobValue::parse(value)))
        .collect();
    (spec.build)(&spec.card().check(&knobs)?, env)
}

/// A memory without a write buffer.
pub(super) fn memory(cache: CacheParts) -> Memory {
    Memory::new(Parts {
        cache: Some(cache),
        buffer: None,
    })
}

/// A cache of so many tracks, each a line, whose answers take no time.
pub(super) fn parts(tracks: u32, cache: &str, prefetch: &str) -> CacheParts {
    let env = CacheEnv {
        capacity: tracks,
        line_pages: TRACK as u32,
        neighbours: true,
    };
    let cache = built::<dyn Cache>(cache::TABLE, cache, &env);
    let env = PrefetchEnv { stripe: Blocks(1) };
    let prefetch = built::<dyn Prefetch>(prefetch::TABLE, prefetch, &env);
    CacheParts {
        cache: cache.unwrap_or_else(|error| panic!("{error}")),
        prefetch: prefetch.unwrap_or_else(|error| panic!("{error}")),
        shape: Shape {
            line: TRACK,
            track: TRACK,
            volumes: Volumes::new(1, Blocks(TRACK * PAGE * 1_000_000)),
        },
        lines: tracks,
        hit_time: Duration::ZERO,
        writes: Writes::Allocate,
        whole_lines: true,
    }
}

/// A memory whose jobs are done at once, in order.
struct Bench {
    memory: Memory,
    requests: u64,
}

impl Bench {
    /// A cache of so many tracks.
    fn new(tracks: u32, cache: &str, prefetch: &str) -> Bench {
        Bench {
            memory: memory(parts(tracks, cache, prefetch)),
            requests: 0,
        }
    }

    /// A whole track is read; whether it was in memory.
    fn read(&mut self, track: u64) -> bool {
        self.read_tracks(track, 1)
    }

    /// The same of some tracks by one request.
    fn read_tracks(&mut self, track: u64, count: u64) -> bool {
        let before = self.memory.lines().counts.read_hits;
        self.ask(Op::Read, track, count);
        self.memory.lines().counts.read_hits > before
    }

    /// Some tracks are read or written by one request.
    fn ask(&mut self, op: Op, track: u64, count: u64) {
        self.requests += 1;
        let blocks = TRACK * PAGE;
        let request = Request::new(
            self.requests,
            op,
            track * blocks,
            count * blocks,
            Instant::ZERO,
        );
        self.memory.arrive(Instant::ZERO, &request);
        let mut below = VecDeque::new();
        loop {
            while let Some(order) = self.memory.next_order() {
                if let Order::Submit(request) = order {
                    below.push_back(request);
                }
            }
            let Some(request) = below.pop_front() else {
                break;
            };
            self.memory
                .ended(Instant::ZERO, &reply(request, Status::Done));
        }
        if self.requests.is_multiple_of(AUDIT_EVERY) {
            self.memory.audit();
        }
    }

    fn misses(&mut self, tracks: impl Iterator<Item = u64>) -> usize {
        tracks.filter(|track| !self.read(*track)).count()
    }

    fn told(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        let mut told = BTreeMap::new();
        self.memory.tell(&mut |key, measure, number| {
            told.insert((key, measure.name), number);
        });
        told
    }

    /// What a cache has told.
    fn of_cache(&self, name: &str) -> u64 {
        self.told()[&("cache", name)]
    }

    fn holds(&mut self, track: u64) -> bool {
        self.memory.lines().is_there(Track(track))
    }

    /// Tracks in memory.
    fn tracks(&mut self) -> u64 {
        self.memory.lines().taken() / TRACK
    }
}

pub(super) fn reply(request: Request, status: Status) -> Reply {
    let timeline = Timeline {
        arrived: request.arrived,
        started: request.arrived,
        replied: request.arrived,
        cost: Cost::default(),
    };
    Reply {
        request,
        status,
        timeline,
    }
}

#[test]
fn six_tracks_in_a_row() {
    for (test, first) in [("previous", 103), ("own", 102)] {
        let prefetch = format!("sarc:stripe_tracks=6:test={test}");
        let mut bench = Bench::new(1_000, "sarc", &prefetch);
        let missed = bench.misses(100..106);
        assert_eq!(missed as u64, first - 99, "{test}");
        let end = match test {
            "previous" => 131,
            _ => 131,
        };
        let sequences = end - first + 1;
        assert_eq!(bench.of_cache("sequence_pages"), sequences * TRACK);
        assert_eq!(bench.of_cache("sequence_misses"), 1);
        assert_eq!(bench.tracks(), sequences + first - 100);
        assert!(bench.holds(131) && !bench.holds(132), "{test}");
        // The trigger is the third before the last.
        assert_eq!(bench.misses(106..128), 0);
        assert!(!bench.holds(132));
        assert!(bench.read(128) && bench.holds(132), "{test}");
    }
}

#[test]
fn a_steady_sequence_misses_at_its_beginning_only_if_groups_come_before_they_are_asked_for() {
    for (prefetch, missed) in [
        ("sarc", 4),
        ("sarc:mode=sync", 203),
        ("sarc:mode=sync:degree=5", 836),
        // Until a group has more than four tracks.
        ("amp", 8),
        ("none", 5_000),
    ] {
        let mut bench = Bench::new(6_000, "lru", prefetch);
        assert_eq!(bench.misses(0..5_000), missed, "{prefetch}");
    }
}

#[test]
fn any_number_of_sequences_is_seen() {
    let mut bench = Bench::new(60_000, "sarc", "sarc");
    let streams = 1_000;
    let tracks = (0..60).flat_map(|step| (0..streams).map(move |stream| stream * 500 + step));
    assert_eq!(bench.misses(tracks), 4 * streams as usize);
}

#[test]
fn what_comes_by_itself_takes_room_from_sequences_once() {
    let mut bench = Bench::new(1_000, "sarc", "sarc");
    bench.misses(1_000..1_400);
    assert_eq!(bench.of_cache("sequence_pages"), 3_224);
    assert_eq!(bench.tracks() * TRACK - 3_224, 24);
    bench.misses((0..700).map(|index| 200_000 + 10 * index));
    assert_eq!(bench.tracks(), 1_000);
    assert_eq!(bench.of_cache("sequence_pages"), 3_216);
    assert_eq!(bench.of_cache("goal_pages"), 3_216);
}

#[test]
fn sequences_enter_near_the_end_of_lru_bottom() {
    let mut bench = Bench::new(100, "lru_bottom", "sarc:degree=8");
    bench.misses((0..100).map(|index| 10_000 + 10 * index));
    bench.misses(1_000..1_004);
    let there = |bench: &mut Bench| (1_003..1_012).filter(|track| bench.holds(*track)).count();
    assert_eq!((there(&mut bench), bench.tracks()), (9, 100));
    let first: Vec<bool> = (0..13)
        .map(|index| bench.holds(10_000 + 10 * index))
        .collect();
    assert_eq!(first.iter().filter(|there| !**there).count(), 12);
    let left: Vec<usize> = (0..12)
        .map(|index| {
            bench.read(50_000 + 10 * index);
            there(&mut bench)
        })
        .collect();
    assert_eq!(left, [9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
}

/// Misses of a sequence that shares a cache with reads of which none is asked for again: so many
/// between two of its own.
fn among_others(tracks: u32, others: u64, prefetch: &str) -> u64 {
    let mut bench = Bench::new(tracks, "lru", prefetch);
    let (mut missed, mut other) = (0, 100_000);
    for step in 0..1_200 {
        missed += u64::from(!bench.read(step));
        for _ in 0..others {
            other += 2;
            bench.read(other);
        }
    }
    missed
}

/// From 42 tracks on the trigger of a group is still there when it is asked for. In smaller caches
/// no trigger ever is, so the remedy changes nothing; there misses rise here and there whoever
/// prefetches, as groups are cut where the cache ends.
#[test]
fn without_the_remedy_a_larger_cache_misses_more_and_with_it_never() {
    let misses = |prefetch: &str| -> Vec<u64> {
        let sizes = 30..160;
        sizes
            .map(|tracks| among_others(tracks, 5, prefetch))
            .collect()
    };
    let rises = |misses: &[u64]| misses.windows(2).filter(|two| two[1] > two[0]).count();
    let without = misses("sarc:degree=12:trigger=6:remedy=false");
    let with = misses("sarc:degree=12:trigger=6");
    assert_eq!(without[..12], with[..12]);
    assert!(rises(&without[12..]) > 3, "{without:?}");
    assert_eq!(with[12..], [4; 118]);
}

/// However long a read is, and whatever part of it is there.
#[test]
fn so_many_tracks_come_behind_the_end_of_a_read_as_are_to() {
    for degree in 1..=8 {
        for count in 1..=6 {
            let prefetch = format!("fixed:degree={degree}");
            let mut bench = Bench::new(100, "lru", &prefetch);
            bench.ask(Op::Read, 10, count);
            let end = 10 + count;
            let there: Vec<u64> = (0..40).filter(|track| bench.holds(*track)).collect();
            let all: Vec<u64> = (10..end + degree).collect();
            assert_eq!(there, all, "{prefetch}, {count} at once");
            // All that it wants is there: nothing more comes.
            bench.ask(Op::Read, 11, count + degree - 1);
            assert!(!bench.holds(end + degree));
            // Its last track alone is missing.
            bench.ask(Op::Read, end, degree + 1);
            assert!(bench.holds(end + 2 * degree) && !bench.holds(end + 2 * degree + 1));
        }
    }
}

/// The last track of a group, and no other, stays once more when it has to make room unread; so
/// does each line of it, and the prefetcher is told once.
#[test]
fn the_end_of_a_group_that_nobody_has_asked_for_stays_once_more() {
    let prefetch = "amp:most=4:start=2:asynchronous=2:threshold=1:spare=last";
    for line in [TRACK, 2] {
        let mut bench = Bench::new(6, "lru", prefetch);
        let shape = Shape {
            line,
            ..parts(1, "lru", "none").shape
        };
        let capacity = 6 * (TRACK / line) as u32;
        bench.memory = memory(CacheParts {
            shape,
            lines: capacity,
            ..parts(capacity, "lru", prefetch)
        });
        bench.misses(10..12);
        let there = |bench: &mut Bench| [10, 11, 12, 13].map(|track| bench.holds(track));
        assert_eq!(there(&mut bench), [true; 4]);
        let mut left = Vec::new();
        for other in 1..12 {
            bench.read(100 * other);
            left.push(there(&mut bench).iter().filter(|there| !**there).count());
        }
        // The sixth finds the end of the group there, and it is young again for as long as the
        // cache has room.
        assert_eq!(left, [0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 4], "{line}");
        assert_eq!(bench.told()[&("prefetch", "falls")], 1, "{line}");
        bench.memory.audit();
    }
}

/// A track stays in memory for as long as it takes to ask for as many others as fit; the degree
/// comes to what the sequence asks for meanwhile. Then nothing is missed, if every track stays that
/// had to make room unread.
#[test]
fn the_degree_of_a_steady_sequence_is_what_it_asks_for_while_a_track_stays() {
    let sizes = [(120, 5), (240, 5), (300, 2)];
    for (tracks, others, spare) in sizes
        .iter()
        .flat_map(|(tracks, others)| ["unread", "last"].map(|spare| (*tracks, *others, spare)))
    {
        let prefetch = format!("amp:most=200:spare={spare}");
        let mut bench = Bench::new(tracks, "lru", &prefetch);
        let groups = |bench: &Bench| {
            let told = bench.told();
            let of = |name| told[&("prefetch", name)];
            (of("group_tracks"), of("triggers") + of("sequence_misses"))
        };
        let (mut half, mut missed) = ((0, 0), 0);
        for step in 0..12_000 {
            if step == 6_000 {
                half = groups(&bench);
                missed = 0;
            }
            missed += u64::from(!bench.read(step));
            for other in 0..others {
                bench.read(1_000 * (100 + step * 7 % 800) + 2 * other);
            }
        }
        let all = groups(&bench);
        let mean = (all.0 - half.0) as f64 / (all.1 - half.1) as f64;
        let fits = f64::from(tracks) / f64::from(others as u32 + 1);
        let told = format!("{prefetch}: {mean} of {fits}, {missed} missed");
        assert!((mean - fits).abs() <= 1.0, "{told}");
        assert_eq!(missed == 0, spare == "unread", "{told}");
    }
}

/// What a job brings of a page that a write has passed does not enter, and a read that comes later
/// does not wait for it.
#[test]
fn a_write_spoils_what_is_on_its_way() {
    let mut bench = Bench::new(10, "lru", "none");
    let memory = &mut bench.memory;
    let now = Instant::ZERO;
    let mut below = Vec::new();
    let submitted = |memory: &mut Memory, below: &mut Vec<Request>| {
        while let Some(order) = memory.next_order() {
            if let Order::Submit(request) = order {
                below.push(request);
            }
        }
    };
    memory.arrive(now, &Request::new(1, Op::Read, 0, 8, now));
    submitted(memory, &mut below);
    assert_eq!(below[0].extent.len, Blocks(64), "the whole line");
    // A part of a page: so it does not enter.
    memory.arrive(now, &Request::new(2, Op::Write, 8, 4, now));
    memory.arrive(now, &Request::new(3, Op::Read, 8, 8, now));
    submitted(memory, &mut below);
    assert_eq!(below[2].id, RequestId(3), "it goes around");
    for request in below.drain(..) {
        memory.ended(now, &reply(request, Status::Done));
    }
    submitted(memory, &mut below);
    memory.audit();
    assert!(below.is_empty());
    memory.arrive(now, &Request::new(4, Op::Read, 0, 64, now));
    submitted(memory, &mut below);
    assert_eq!(below[0].extent, between(8, 16), "only that page is missing");
}

/// Reads that hit, that missed, and that went around the memory.
fn reads(memory: &Memory) -> [u64; 3] {
    let mut counts = [0; 3];
    memory.tell(&mut |_, measure, number| {
        let names = ["read_hits", "read_misses", "passed_reads"];
        if let Some(at) = names.iter().position(|name| *name == measure.name) {
            counts[at] = number;
        }
    });
    counts
}

/// A job has failed: who waited for it asks for what he wants, and nobody else's trouble is his.
#[test]
fn a_job_that_fails_fails_nobody() {
    let mut bench = Bench::new(10, "lru", "none");
    let memory = &mut bench.memory;
    let now = Instant::ZERO;
    let orders = |memory: &mut Memory| {
        let mut orders = Vec::new();
        while let Some(order) = memory.next_order() {
            orders.push(order);
        }
        orders
    };
    memory.arrive(now, &Request::new(1, Op::Read, 0, 8, now));
    memory.arrive(now, &Request::new(2, Op::Read, 16, 8, now));
    let first = orders(memory);
    let jobs = first.iter().filter_map(|order| match order {
        Order::Submit(request) => Some(*request),
        _ => None,
    });
    let jobs: Vec<Request> = jobs.collect();
    assert_eq!(jobs.len(), 1, "the second waits for the first's line");
    assert_eq!(reads(memory), [0, 2, 0]);
    memory.ended(now, &reply(jobs[0], Status::Failed(Failure::Medium)));
    let again: Vec<RequestId> = orders(memory)
        .iter()
        .filter_map(|order| match order {
            Order::Submit(request) => Some(request.id),
            _ => None,
        })
        .collect();
    assert_eq!(again, [RequestId(1), RequestId(2)]);
    assert_eq!(reads(memory), [0, 2, 0], "each read is of one kind");
    memory.ended(
        now,
        &reply(
            Request::new(1, Op::Read, 0, 8, now),
            Status::Failed(Failure::Medium),
        ),
    );
    memory.ended(
        now,
        &reply(Request::new(2, Op::Read, 16, 8, now), Status::Done),
    );
    let replies = orders(memory)
        .iter()
        .filter_map(|order| match order {
            Order::Reply(reply) => Some(reply.status.is_done()),
            _ => None,
        })
        .collect::<Vec<bool>>();
    assert_eq!(replies, [false, true]);
    memory.audit();
}

/// A cache that insists on what the contract promises: what enters was missed before, and is not
/// there. It tells what enters, and as what.
struct Strict {
    missed: BTreeSet<Line>,
    held: VecDeque<Line>,
    entered: Sender<(Line, Entering)>,
}

impl Strict {
    /// In place of the cache of a memory; what hears of what enters.
    fn within(bench: &mut Bench) -> Receiver<(Line, Entering)> {
        let (entered, told) = channel();
        bench.memory.lines().replace(Box::new(Strict {
            missed: BTreeSet::new(),
            held: VecDeque::new(),
            entered,
        }));
        told
    }
}

impl Cache for Strict {
    fn reserve(&mut self, _lines: u32) {}

    fn holds(&self, line: Line) -> bool {
        self.held.contains(&line)
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn hit(&mut self, line: Line) {
        assert!(self.holds(line), "{line:?} is hit and not there");
    }

    fn miss(&mut self, line: Line) {
        assert!(!self.holds(line), "{line:?} is missed and there");
        self.missed.insert(line);
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        self.held.pop_front()
    }

    fn enter(&mut self, line: Line) {
        self.enter_as(line, Entering::BY_ITSELF);
    }

    fn enter_as(&mut self, line: Line, entering: Entering) {
        assert!(self.missed.remove(&line), "{line:?} enters without a miss");
        self.held.push_back(line);
        self.entered.send((line, entering)).expect("it is heard");
    }
}

/// A read of several tracks is asked for, all of it; what comes behind it is brought; what stays
/// once more is so as well. What is written is neither.
#[test]
fn what_enters_was_missed_and_is_told_why() {
    for prefetch in [
        "none",
        "fixed:degree=3",
        "sarc:degree=4:trigger=1:threshold=2",
        "amp:most=5:asynchronous=1:threshold=1",
        "amp:most=5:asynchronous=2:spare=last:threshold=1",
    ] {
        let mut bench = Bench::new(20, "lru", prefetch);
        let told = Strict::within(&mut bench);
        let mut rng = crate::rng::Rng::stream(1, "strict");
        let (mut next, mut missed, mut brought) = (0, 0, 0);
        for _ in 0..4_000 {
            let at = if rng.chance(0.5) {
                next
            } else {
                rng.below(400)
            };
            let tracks = 1 + rng.below(4);
            next = at + tracks;
            let op = match rng.chance(0.1) {
                true => Op::Write,
                false => Op::Read,
            };
            bench.ask(op, at, tracks);
            for (line, entering) in told.try_iter() {
                let is_asked = (at..next).contains(&bench.memory.lines().track_of(line).0);
                // What stays once more does so for a write as for a read.
                let why = match (op, is_asked) {
                    (_, false) => Why::Brought,
                    (Op::Write, true) => Why::Written,
                    (_, true) => Why::Missed,
                };
                assert_eq!(entering.why, why, "{prefetch}: {line:?} of {at}..{next}");
                missed += u64::from(why == Why::Missed);
                brought += u64::from(why == Why::Brought);
            }
        }
        assert!(missed > 1_000, "{prefetch}: {missed}");
        assert_eq!(brought > 1_000, prefetch != "none", "{prefetch}: {brought}");
    }
}
