//! Writes to the same chunk, against a literal twin: all unfinished writes in a list, and every one
//! compared with every other.

use std::collections::VecDeque;

use super::hazard::{Admission, Hazards, Key};
use crate::op::Op;
use crate::request::Request;
use crate::rng::Rng;
use crate::units::{Blocks, Instant};

const CHUNK: Blocks = Blocks(8);

/// All unfinished writes in the order of arrival.
#[derive(Default)]
struct Twin {
    running: Vec<Request>,
    blocked: VecDeque<Request>,
}

fn overlap(one: &Request, other: &Request) -> bool {
    let chunks = |request: &Request| {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        (start / CHUNK.0, (end - 1) / CHUNK.0)
    };
    let ((first, last), (begin, end)) = (chunks(one), chunks(other));
    first <= end && begin <= last
}

impl Twin {
    fn admit(&mut self, request: Request) -> bool {
        let mut before = self.running.iter().chain(&self.blocked);
        if before.any(|other| overlap(other, &request)) {
            self.blocked.push_back(request);
            return false;
        }
        self.running.push(request);
        true
    }

    /// Who begins when this one is answered.
    fn answered(&mut self, id: u64) -> Vec<u64> {
        self.running.retain(|request| request.id.0 != id);
        let blocked = std::mem::take(&mut self.blocked);
        let begins = |request: Request| self.admit(request).then_some(request.id.0);
        blocked.into_iter().filter_map(begins).collect()
    }
}

fn write(id: u64, first: u64, len: u64) -> Request {
    Request::new(id, Op::Write, first, len, Instant::ZERO)
}

fn begins(hazards: &mut Hazards) -> Vec<(u64, Key)> {
    std::iter::from_fn(|| hazards.next())
        .map(|(request, key)| (request.id.0, key))
        .collect()
}

#[test]
fn writes_begin_as_if_each_were_compared_with_all_before() {
    let (mut blocked, mut long) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "hazards");
        let (mut hazards, mut twin) = (Hazards::new(CHUNK, Blocks(0)), Twin::default());
        let mut running: Vec<(u64, Key)> = Vec::new();
        let room = 1 + rng.below(60);
        for id in 0..300 {
            // Some writes cover many chunks, most a part of one.
            let len = match rng.below(4) {
                0 => 1 + rng.below(CHUNK.0 * room),
                _ => 1 + rng.below(CHUNK.0),
            };
            let request = write(id, rng.below(CHUNK.0 * room), len);
            let twin_begins = twin.admit(request);
            match hazards.admit(&request) {
                Admission::Begins(key) => {
                    assert!(twin_begins, "{request:?} begins");
                    running.push((id, key.expect("a write has a name")));
                }
                Admission::Blocked => {
                    assert!(!twin_begins, "{request:?} is blocked");
                    blocked += 1;
                }
            }
            while !running.is_empty() && rng.chance(0.5) {
                let (id, key) = running.swap_remove(rng.below(running.len() as u64) as usize);
                hazards.answered(key);
                let begun = begins(&mut hazards);
                let names: Vec<u64> = begun.iter().map(|(id, _)| *id).collect();
                assert_eq!(names, twin.answered(id), "after {id}");
                running.extend(begun);
            }
            hazards.audit();
            assert_eq!(hazards.blocked(), twin.blocked.len());
            long = long.max(hazards.blocked());
        }
    }
    assert!(blocked > 10_000, "{blocked} writes were blocked");
    assert!(long > 20, "at most {long} were blocked at a time");
}

#[test]
fn who_waits_for_several_waits_for_the_last_of_them() {
    let mut hazards = Hazards::new(CHUNK, Blocks(0));
    let Admission::Begins(Some(low)) = hazards.admit(&write(1, 0, 8)) else {
        panic!("nothing is in its way");
    };
    let Admission::Begins(Some(high)) = hazards.admit(&write(2, 16, 8)) else {
        panic!("nothing is in its way");
    };
    assert_eq!(hazards.admit(&write(3, 4, 16)), Admission::Blocked);
    assert_eq!(hazards.blocked_in_chunks(), 1, "it begins within a chunk");
    hazards.answered(low);
    assert_eq!(hazards.next(), None);
    hazards.answered(high);
    assert_eq!(hazards.next().map(|(request, _)| request.id.0), Some(3));
}

#[test]
fn reads_flushes_and_whatever_has_no_chunks_are_never_blocked() {
    let mut hazards = Hazards::new(CHUNK, Blocks(0));
    assert!(matches!(
        hazards.admit(&write(1, 0, 64)),
        Admission::Begins(Some(_))
    ));
    let read = Request::new(2, Op::Read, 0, 64, Instant::ZERO);
    let flush = Request::new(3, Op::Flush, 0, 0, Instant::ZERO);
    assert_eq!(hazards.admit(&read), Admission::Begins(None));
    assert_eq!(hazards.admit(&flush), Admission::Begins(None));
    // Drives order nothing by themselves.
    let mut free = Hazards::new(Blocks(1), Blocks(0));
    assert_eq!(free.admit(&write(1, 0, 64)), Admission::Begins(None));
    assert_eq!(free.admit(&write(2, 0, 64)), Admission::Begins(None));
}

/// A hundred thousand writes behind one: with a look at all of them at each step it would take
/// minutes.
#[test]
fn many_behind_one_take_their_turns_quickly() {
    let mut hazards = Hazards::new(CHUNK, Blocks(0));
    let Admission::Begins(Some(first)) = hazards.admit(&write(0, 0, 8)) else {
        panic!("nothing is in its way");
    };
    for id in 1..=100_000 {
        assert_eq!(hazards.admit(&write(id, 0, 8)), Admission::Blocked);
        assert_eq!(
            hazards.blocked_in_chunks(),
            0,
            "whole chunks wait for the same blocks"
        );
    }
    let mut key = first;
    for id in 1..=100_000 {
        hazards.answered(key);
        let (request, next) = hazards.next().expect("the next one begins");
        assert_eq!(request.id.0, id);
        assert_eq!(hazards.next(), None, "one after the other");
        key = next;
    }
    assert_eq!(hazards.blocked(), 0);
}

/// Many wide writes, each with a chunk at its end that none after it covers, and many small ones
/// over the rest: a look at all runs from the first chunk on, whenever a wide one is answered,
/// would take minutes.
#[test]
fn many_small_ones_over_many_wide_ones_take_their_turns_quickly() {
    let (wide, small) = (40_000, 40_000);
    let mut hazards = Hazards::new(CHUNK, Blocks(0));
    let mut key = None;
    for id in 0..wide {
        let chunks = small + wide - id;
        match hazards.admit(&write(id, 0, chunks * CHUNK.0)) {
            Admission::Begins(first) => key = first,
            Admission::Blocked => assert!(id > 0, "nothing is in the first one's way"),
        }
    }
    for id in 0..small {
        let one = write(wide + id, id * CHUNK.0, CHUNK.0);
        assert_eq!(hazards.admit(&one), Admission::Blocked);
    }
    for id in 1..wide {
        hazards.answered(key.expect("it has begun"));
        let (request, next) = hazards.next().expect("the next one begins");
        assert_eq!(request.id.0, id);
        key = Some(next);
    }
    hazards.answered(key.expect("it has begun"));
    hazards.audit();
    let begun = begins(&mut hazards);
    assert_eq!(begun.len() as u64, small);
    for (_, key) in begun {
        hazards.answered(key);
    }
    hazards.audit();
    assert_eq!(hazards.blocked(), 0);
}

/// Zones behind a conventional one: there the order is open, and range writes have none.
#[test]
fn writes_of_a_zone_follow_each_other_and_others_do_not() {
    let mut hazards = Hazards::new(Blocks(10), Blocks(10));
    let begins = |hazards: &mut Hazards, op, at, len| {
        let request = Request::new(1, op, at, len, Instant::ZERO);
        matches!(hazards.admit(&request), Admission::Begins(_))
    };
    for _ in 0..2 {
        assert!(begins(&mut hazards, Op::Write, 3, 7));
    }
    assert!(begins(&mut hazards, Op::Write, 10, 2));
    assert!(!begins(&mut hazards, Op::Write, 12, 2));
    assert!(begins(&mut hazards, Op::Write, 20, 2));
    assert!(!begins(&mut hazards, Op::Discard, 0, 15));
    assert!(begins(&mut hazards, Op::Read, 10, 2));
    let offered = Request {
        offered: true,
        ..Request::new(1, Op::Write, 12, 2, Instant::ZERO)
    };
    assert_eq!(hazards.admit(&offered), Admission::Begins(None));
    hazards.audit();
}
