//! What the memory orders, one request after another: bytes that move, when answers come, what is
//! counted.

#![cfg(test)]

use super::tests::{TRACK, memory, parts, reply};
use super::*;
use crate::op::Failure;
use crate::pages::PAGE;
use crate::rng::Rng;

/// An answer from memory takes so long.
const HIT: Duration = Duration(500);

/// A memory over a stack that the test plays.
struct Played {
    memory: Memory,
    now: Instant,
}

impl Played {
    /// A cache of so many tracks, each a line.
    fn new(tracks: u32, cache: &str, prefetch: &str) -> Played {
        Played::filled(tracks, cache, prefetch, (Writes::Allocate, true))
    }

    /// The same: whether writes enter, and whether misses bring whole lines.
    fn filled(
        tracks: u32,
        cache: &str,
        prefetch: &str,
        (writes, whole_lines): (Writes, bool),
    ) -> Played {
        Played {
            memory: memory(CacheParts {
                shape: Shape {
                    line: TRACK,
                    track: TRACK,
                    volumes: Volumes::new(1, Blocks(TRACK * PAGE * 1_000)),
                },
                hit_time: HIT,
                writes,
                whole_lines,
                ..parts(tracks, cache, prefetch)
            }),
            now: Instant::ZERO,
        }
    }

    fn orders(&mut self) -> Vec<Order> {
        let orders = std::iter::from_fn(|| self.memory.next_order());
        let orders = orders.collect();
        self.memory.audit();
        orders
    }

    fn ask(&mut self, id: u64, op: Op, start: u64, len: u64) -> Vec<Order> {
        let request = Request::new(id, op, start, len, self.now);
        self.memory.arrive(self.now, &request);
        self.orders()
    }

    fn end(&mut self, request: Request, status: Status) -> Vec<Order> {
        self.memory.ended(self.now, &reply(request, status));
        self.orders()
    }

    /// It is asked for, and all that is submitted for it is done.
    fn done(&mut self, id: u64, op: Op, start: u64, len: u64) -> Vec<Order> {
        let mut orders = self.ask(id, op, start, len);
        for request in submitted(&orders) {
            orders.extend(self.end(request, Status::Done));
        }
        orders
    }

    fn told(&self, key: &str, name: &str) -> u64 {
        let mut found = None;
        self.memory.tell(&mut |kind, measure, number| {
            if (kind, measure.name) == (key, name) {
                found = Some(number);
            }
        });
        found.expect("it is told")
    }
}

fn submitted(orders: &[Order]) -> Vec<Request> {
    let requests = orders.iter().filter_map(|order| match order {
        Order::Submit(request) => Some(*request),
        _ => None,
    });
    requests.collect()
}

fn dropped(orders: &[Order]) -> Vec<Extent> {
    let extents = orders.iter().filter_map(|order| match order {
        Order::Move(Move::Drop(extent)) => Some(*extent),
        _ => None,
    });
    extents.collect()
}

fn replies(orders: &[Order]) -> Vec<Reply> {
    let replies = orders.iter().filter_map(|order| match order {
        Order::Reply(reply) => Some(*reply),
        _ => None,
    });
    replies.collect()
}

#[test]
fn whoever_moves_bytes_is_told_what_leaves() {
    let mut played = Played::new(1, "lru", "none");
    assert_eq!(dropped(&played.done(1, Op::Read, 0, 8)), []);
    let orders = played.done(2, Op::Read, 64, 8);
    assert_eq!(dropped(&orders), [between(0, 64)]);
}

#[test]
fn what_a_failed_write_has_put_into_memory_leaves() {
    let mut played = Played::new(2, "lru", "none");
    let write = submitted(&played.ask(1, Op::Write, 0, 16));
    let orders = played.end(write[0], Status::Failed(Failure::Medium));
    assert_eq!(dropped(&orders), [between(0, 16)]);
    let orders = played.ask(2, Op::Read, 0, 8);
    assert_eq!(submitted(&orders).len(), 1, "it is not there");
}

#[test]
fn an_answer_from_memory_takes_its_time() {
    let mut played = Played::new(2, "lru", "none");
    played.done(1, Op::Read, 0, 8);
    assert_eq!(replies(&played.ask(2, Op::Read, 0, 8)), []);
    assert_eq!(played.memory.next_timer(), Some(played.now + HIT));
    played.now += HIT;
    played.memory.timer(played.now);
    let replied = replies(&played.orders());
    let timeline = replied[0].timeline;
    assert_eq!(
        (timeline.started, timeline.replied),
        (played.now, played.now)
    );
    assert_eq!(timeline.cost, Cost::default());
}

#[test]
fn writes_enter_and_misses_bring_lines_where_that_is_asked_for() {
    for (writes, whole_lines, blocks) in [
        (Writes::Allocate, true, 56),
        (Writes::Update, true, 64),
        (Writes::Update, false, 8),
    ] {
        let filled = (writes, whole_lines);
        let mut played = Played::filled(2, "lru", "none", filled);
        played.done(1, Op::Write, 56, 8);
        let jobs = submitted(&played.ask(2, Op::Read, 0, 8));
        let extents: Vec<_> = jobs.iter().map(|job| job.extent).collect();
        assert_eq!(extents, [between(0, blocks)], "{filled:?}");
    }
}

/// Whoever missed it has what his jobs cost; who waited with him has waited, and no drive has
/// worked for him.
#[test]
fn an_answer_says_when_its_first_job_began_and_what_all_have_cost() {
    let mut played = Played::new(2, "lru", "none");
    played.done(1, Op::Write, 24, 8);
    let jobs = submitted(&played.ask(2, Op::Read, 0, 64));
    assert_eq!(jobs.len(), 2, "before and behind the page that is there");
    played.ask(3, Op::Read, 0, 8);
    played.now = Instant(100);
    let mut orders = Vec::new();
    for (job, started) in jobs.iter().zip([30, 70]) {
        let mut reply = reply(*job, Status::Done);
        reply.timeline.started = Instant(started);
        reply.timeline.cost.seek = Duration(started);
        played.memory.ended(played.now, &reply);
        orders.extend(played.orders());
    }
    let told: Vec<_> = replies(&orders)
        .iter()
        .map(|reply| {
            let Timeline { started, cost, .. } = reply.timeline;
            (reply.request.id.0, started.0, cost.seek.0)
        })
        .collect();
    assert_eq!(told, [(3, 100, 0), (2, 30, 100)]);
}

/// The third leaves out who was asked for meanwhile.
#[test]
fn a_read_that_waits_with_another_one_and_a_write_are_hits() {
    let mut played = Played::new(2, "sieve", "none");
    let job = submitted(&played.ask(1, Op::Read, 0, 8));
    played.ask(2, Op::Read, 0, 8);
    played.end(job[0], Status::Done);
    played.done(3, Op::Read, 64, 8);
    assert_eq!(
        dropped(&played.done(4, Op::Read, 128, 8)),
        [between(64, 128)]
    );
    let mut played = Played::new(2, "lru", "none");
    played.done(1, Op::Read, 0, 8);
    played.done(2, Op::Read, 64, 8);
    played.done(3, Op::Write, 0, 8);
    assert_eq!(
        dropped(&played.done(4, Op::Read, 128, 8)),
        [between(64, 128)]
    );
}

#[test]
fn pages_are_counted_once_each() {
    let mut played = Played::new(3, "lru", "fixed:degree=1");
    // The second track is brought beforehand; a page of it is asked for on its way, another one
    // when it has come.
    let jobs = submitted(&played.ask(1, Op::Read, 0, 8));
    played.ask(2, Op::Read, 64, 8);
    played.ask(3, Op::Write, 0, 4);
    played.ask(4, Op::Read, 0, 8);
    for job in jobs {
        played.end(job, Status::Done);
    }
    played.ask(5, Op::Read, 64, 16);
    played.done(6, Op::Discard, 64, 64);
    let of = |key: &'static str, names: &[&str]| -> Vec<u64> {
        names.iter().map(|name| played.told(key, name)).collect()
    };
    let requests = ["read_hits", "read_misses", "passed_reads"];
    assert_eq!(of("cache", &requests), [1, 2, 1], "four reads in all");
    let pages = ["hit_pages", "joined_pages", "missed_pages", "staged_pages"];
    assert_eq!(of("cache", &pages), [2, 1, 1, 16]);
    let ahead = ["ahead_pages", "late_pages", "useful_pages", "wasted_pages"];
    assert_eq!(of("prefetch", &ahead), [8, 1, 1, 6]);
}

/// What fails never comes: it is neither staged nor brought beforehand, and a read that waited for
/// it found nothing of it.
#[test]
fn pages_count_as_brought_when_they_have_come() {
    let mut played = Played::new(3, "lru", "fixed:degree=1");
    let of = |played: &Played| {
        let ahead = ["ahead_pages", "late_pages", "failed_pages"];
        let ahead = ahead.map(|name| played.told("prefetch", name));
        (played.told("cache", "staged_pages"), ahead)
    };
    let jobs = submitted(&played.ask(1, Op::Read, 0, 8));
    assert_eq!(of(&played), (0, [0; 3]), "all is on its way");
    // Two want the same page of what comes beforehand, and one of them another one.
    played.ask(2, Op::Read, 64, 8);
    played.ask(3, Op::Read, 64, 16);
    assert_eq!(jobs.len(), 2);
    played.end(jobs[0], Status::Done);
    assert_eq!(of(&played), (8, [0; 3]));
    let failed = played.end(jobs[1], Status::Failed(Failure::Medium));
    assert_eq!(of(&played), (8, [0, 0, 8]));
    for request in submitted(&failed) {
        played.end(request, Status::Done);
    }

    let mut played = Played::new(3, "lru", "fixed:degree=1");
    let jobs = submitted(&played.ask(1, Op::Read, 0, 8));
    played.ask(2, Op::Read, 64, 8);
    played.ask(3, Op::Read, 64, 16);
    jobs.into_iter().for_each(|job| {
        played.end(job, Status::Done);
    });
    assert_eq!(of(&played), (16, [8, 2, 0]));
}

/// Of three lines the second is there: what is before it and what is behind it is a read of the
/// drives each.
#[test]
fn reads_that_are_cut_are_counted() {
    let mut played = Played::new(10, "lru", "none");
    let cut = |played: &Played| ["cut_reads", "cut_pieces"].map(|name| played.told("cache", name));
    for job in submitted(&played.ask(1, Op::Read, 64, 8)) {
        played.end(job, Status::Done);
    }
    assert_eq!(cut(&played), [0, 0]);
    let jobs = submitted(&played.ask(2, Op::Read, 0, 192));
    let pieces: Vec<_> = jobs.iter().map(|job| job.extent).collect();
    assert_eq!(pieces, [between(0, 64), between(128, 192)]);
    assert_eq!(cut(&played), [1, 2]);
}

/// The rest of a line comes with what is asked for. Where a page of it is there already, that rest
/// comes in two reads, of which only one has what was asked for.
#[test]
fn what_comes_beside_a_read_does_not_cut_it() {
    let mut played = Played::new(10, "lru", "none");
    played.done(1, Op::Write, 3 * PAGE, PAGE);
    let jobs = submitted(&played.ask(2, Op::Read, 0, PAGE));
    let pieces: Vec<_> = jobs.iter().map(|job| job.extent).collect();
    assert_eq!(pieces, [between(0, 24), between(32, 64)]);
    let cut = ["cut_reads", "cut_pieces"].map(|name| played.told("cache", name));
    assert_eq!(cut, [0, 0]);
}

/// One read of eight tracks: a sequence from the fourth on, which misses once, as the prefetcher
/// then wants the rest.
#[test]
fn a_long_read_is_a_sequence_that_misses_once() {
    let mut played = Played::new(40, "sarc", "sarc:degree=8");
    let orders = played.ask(1, Op::Read, 0, 8 * 64);
    let extents: Vec<_> = submitted(&orders).iter().map(|job| job.extent).collect();
    let groups = [between(0, 192), between(192, 512), between(512, 768)];
    assert_eq!(extents, groups);
    assert_eq!(played.told("prefetch", "sequence_misses"), 1);
    assert_eq!(played.told("cache", "sequence_misses"), 1);
    // Nothing of it was there: what is brought apart is not cut.
    assert_eq!(played.told("cache", "cut_reads"), 0);
}

/// What is there of a group becomes part of the sequence: pages of a track of which the rest comes,
/// and tracks behind what comes. What is discarded is not.
#[test]
fn what_is_there_of_a_group_belongs_to_the_sequence() {
    let mut played = Played::new(40, "sarc", "sarc:degree=4");
    played.done(1, Op::Write, 5 * 64, 8);
    played.done(2, Op::Write, 7 * 64, 64);
    let pages = |played: &Played| played.told("cache", "sequence_pages");
    for track in 0..4 {
        assert_eq!(pages(&played), 0);
        played.done(3 + track, Op::Read, track * 64, 64);
    }
    assert_eq!(pages(&played), 5 * TRACK, "3 to 7");
    played.done(7, Op::Discard, 5 * 64, 8);
    assert_eq!(pages(&played), 5 * TRACK - 1);
}

#[test]
fn what_follows_a_run_of_writes_enters_as_is_asked_for() {
    let run = Blocks(16);
    for (writes, entered) in [
        (Writes::Allocate, 4),
        (Writes::Classed(run), 4),
        (Writes::Rest(run), 2),
        (Writes::Update, 0),
    ] {
        let mut played = Played::filled(4, "lru", "none", (writes, false));
        for step in 0..4 {
            played.done(1 + step, Op::Write, 256 + step * PAGE, PAGE);
        }
        let there = (0..4).filter(|step| {
            let orders = played.ask(10 + step, Op::Read, 256 + step * PAGE, PAGE);
            submitted(&orders).is_empty()
        });
        assert_eq!(there.count(), entered, "{writes:?}");
    }
}

#[test]
fn sequences_of_writes_are_sequences_to_the_cache() {
    for (writes, there) in [
        (Writes::Allocate, [false, true]),
        (Writes::Classed(Blocks(TRACK * PAGE)), [true, false]),
    ] {
        let track = TRACK * PAGE;
        let mut played = Played::filled(4, "lru_bottom:depth_percent=0", "none", (writes, true));
        for (step, at) in [100, 50, 51, 52, 53].into_iter().enumerate() {
            played.done(1 + step as u64, Op::Write, at * track, track);
        }
        let found = [100, 51].map(|at| {
            let orders = played.ask(10 + at, Op::Read, at * track, PAGE);
            submitted(&orders).is_empty()
        });
        assert_eq!(found, there, "{writes:?}");
    }
}

#[test]
fn a_prefetcher_knows_what_is_on_its_way_and_how_much_a_read_asks_for() {
    let mut played = Played::new(60, "lru", "amp:threshold=1:start=6:most=8");
    let track = TRACK * PAGE;
    played.done(1, Op::Read, 0, track);
    played.done(2, Op::Read, track, track);
    let sent_for = submitted(&played.ask(3, Op::Read, 5 * track, track));
    assert_eq!(sent_for[0].extent, between(8 * track, 14 * track));
    assert_eq!(played.told("prefetch", "late_groups"), 0);
    played.ask(4, Op::Read, 8 * track, track);
    assert_eq!(played.told("prefetch", "late_groups"), 1);
    played.end(sent_for[0], Status::Done);
    played.done(5, Op::Read, 6 * track, 2 * track);
    let orders = played.done(6, Op::Read, 11 * track, track);
    let group = submitted(&orders)[0].extent;
    assert_eq!(group, between(14 * track, 22 * track), "two tracks more");
}

#[test]
fn who_has_no_bytes_is_told_all_but_which_move() {
    let mut rng = Rng::stream(1, "moves");
    let mut both = [(); 2].map(|()| Played::new(8, "sarc", "sarc"));
    both[1].memory.tell_moves(false);
    let mut moves = 0;
    for id in 0..2_000 {
        let op = match rng.chance(0.7) {
            true => Op::Read,
            false => Op::Write,
        };
        let (start, len) = (rng.below(40 * TRACK * PAGE), 1 + rng.below(TRACK * PAGE));
        let [told, untold] = both.each_mut().map(|played| {
            let mut orders = played.done(id, op, start, len);
            played.now += HIT;
            played.memory.timer(played.now);
            orders.extend(played.orders());
            orders
        });
        let is_move = |order: &Order| matches!(order, Order::Move(_));
        let (moved, others): (Vec<_>, Vec<_>) = told.into_iter().partition(is_move);
        moves += moved.len();
        assert_eq!(untold, others);
    }
    assert!(moves > 2_000, "{moves} moves");
}
