//! The rules one by one, with their times written out.

#![cfg(test)]

mod favours;
mod places;
mod sharing;

use super::*;
use crate::op::Op;
use crate::registry::KnobValue;
use crate::rng::Rng;
use crate::sched::bench::{Bench, at_ms};
use crate::stream::Stream;
use crate::units::Blocks;

impl Bench<Bfq> {
    fn new(rotational: bool, given: &[(&str, i64)]) -> Bench<Bfq> {
        let given = given.iter().map(|(key, value)| {
            let value = match *key {
                "low_latency" | "strict_guarantees" => KnobValue::Flag(*value != 0),
                _ => KnobValue::Integer(*value),
            };
            ((*key).to_owned(), value)
        });
        let given: Vec<_> = given.collect();
        let knobs = Knobs::check("bfq", SPEC.knobs, &given).unwrap();
        Bench::of(Bfq::new(&knobs, rotational))
    }

    /// On a disk, without favours, so that only budgets decide.
    fn plain() -> Bench<Bfq> {
        Bench::new(true, &[("low_latency", 0)])
    }

    fn queue(&self, stream: u32) -> &Queue {
        self.own.queue(self.own.home_of(StreamId(stream)).unwrap())
    }

    fn queue_mut(&mut self, stream: u32) -> &mut Queue {
        let key = self.own.home_of(StreamId(stream)).unwrap();
        self.own.queue_mut(key)
    }

    fn raise(&self, stream: u32) -> u64 {
        self.queue(stream).raise.factor
    }

    /// The weight by which the queue of a stream is stamped next.
    fn weight(&self, stream: u32) -> u64 {
        let queue = self.queue(stream);
        queue.claim.weight * queue.raise.factor
    }
}

#[test]
fn weights_follow_from_levels_and_the_favours_multiply_them() {
    let weight = |level| {
        let stream = Stream {
            level,
            ..Stream::UNKNOWN
        };
        Claim::of(&stream).weight
    };
    assert_eq!([0, 4, 7].map(weight), [80, 40, 10]);
    let twice = Stream {
        weight: 200,
        ..Stream::UNKNOWN
    };
    assert_eq!(Claim::of(&twice).weight, 80);
    let grouped = Stream {
        group: GroupId(3),
        ..twice
    };
    assert_eq!(Claim::of(&grouped).weight, 40, "its group has the weight");
    let mut bench = Bench::new(true, &[]);
    bench.read(1, 0, 8);
    assert_eq!(bench.weight(1), 1_200);
    bench.queue_mut(1).raise.factor = raise::SOFT_REAL_TIME;
    assert_eq!(bench.weight(1), 120_000);
}

/// A queue that is served with this budget, of which it got this much.
fn in_turn(budget: u64, blocks: u64) -> (Bench<Bfq>, QueueKey) {
    let mut bench = Bench::plain();
    let first = bench.read(1, 0, 8);
    let key = bench.own.home_of(StreamId(1)).unwrap();
    let queue = bench.own.queue_mut(key);
    queue.budget = budget;
    let entity = queue.entity;
    bench.own.fair.set_budget(bench.now, entity, budget);
    assert_eq!(bench.start(), Some(first));
    bench.own.serve(bench.now, key, blocks - 8);
    (bench, key)
}

#[test]
fn the_next_budget_follows_from_why_the_turn_ends() {
    use turn::Why::{Exhausted, NoMore, Preempted, Timeout, TooIdle};
    let most = 16_384;
    let least = most / 32;
    for (why, on_drive, budget, blocks, expected) in [
        (TooIdle, true, 3_000, 100, 6_000),
        (TooIdle, true, 12_000, 100, most),
        (TooIdle, false, 3_000, 100, 3_000 - 4 * least),
        (TooIdle, false, 5 * least, 100, least),
        (Timeout, false, 3_000, 100, 6_000),
        (Exhausted, false, 3_000, 100, 12_000),
        (Exhausted, false, 6_000, 100, most),
        (NoMore, false, 3_000, 700, 700),
        (NoMore, false, 3_000, 100, least),
        (Preempted, false, 3_000, 100, 3_000),
    ] {
        let (mut bench, key) = in_turn(budget, blocks);
        if !on_drive {
            bench.own.idling = None;
            bench.own.queue_mut(key).dispatched = 0;
        }
        bench.own.learn_budget(key, why);
        assert_eq!(
            bench.own.queue(key).budget,
            expected,
            "{why:?} from {budget}"
        );
        bench.own.queue_mut(key).raise.factor = 30;
        bench.own.learn_budget(key, why);
        assert_eq!(bench.own.queue(key).budget, 2 * least, "a favoured one");
    }
    let mut bench = Bench::plain();
    let write = bench.write(1, 0, 8);
    assert_eq!(bench.start(), Some(write));
    let key = bench.own.in_service.unwrap();
    bench.own.learn_budget(key, NoMore);
    assert_eq!(
        bench.own.queue(key).budget,
        most,
        "writes that nobody waits for"
    );
}

#[test]
fn a_turn_lasts_125_ms_and_thirty_times_as_long_for_an_interactive_process() {
    for (factor, ms) in [(1, 125), (30, 3_750), (3_000, 125)] {
        let mut bench = Bench::plain();
        let first = bench.read(1, 0, 8);
        bench.queue_mut(1).raise.factor = factor;
        let key = bench.own.home_of(StreamId(1)).unwrap();
        bench.own.recount(key);
        assert_eq!(bench.start(), Some(first));
        assert!(!bench.own.may_time_out(at_ms(ms - 1), key));
        assert!(bench.own.may_time_out(at_ms(ms), key), "{factor}");
    }
}

#[test]
fn who_is_slow_or_times_out_with_a_third_left_is_charged_by_time() {
    use turn::Why::{NoMore, Timeout};
    // M is 16,384 blocks in 125 ms: 131 a millisecond.
    let charged = |took_ms, blocks, why, raised: bool| {
        let (mut bench, key) = in_turn(10_000, blocks);
        bench.own.queue_mut(key).raise.factor = if raised { 30 } else { 1 };
        bench
            .own
            .charge_time(bench.now, key, why, Duration::from_ms(took_ms));
        bench.own.fair.service(bench.own.queue(key).entity)
    };
    assert_eq!(
        charged(50, 1_000, NoMore, false),
        16_384 * 50 / 125,
        "slow: below half of M"
    );
    assert_eq!(
        charged(20, 1_000, NoMore, false),
        1_000,
        "20 ms say nothing"
    );
    assert_eq!(
        charged(50, 8_192, NoMore, false),
        8_192,
        "half of M is quick"
    );
    assert_eq!(charged(125, 9_000, NoMore, false), 9_000);
    assert_eq!(charged(125, 6_000, Timeout, false), 16_384);
    assert_eq!(
        charged(300, 6_000, Timeout, false),
        16_384,
        "no more than M"
    );
    assert_eq!(
        charged(50, 1_000, NoMore, true),
        1_000,
        "not a favoured one"
    );
    let quick = |left: u64| {
        let (mut bench, key) = in_turn(14_000, 14_000 - left);
        bench
            .own
            .charge_time(bench.now, key, Timeout, Duration::from_ms(125));
        bench.own.fair.service(bench.own.queue(key).entity)
    };
    assert_eq!(quick(4_666), 16_384, "a third of the budget is left");
    assert_eq!(quick(4_665), 14_000 - 4_665);
}

#[test]
fn who_comes_back_within_24_ms_goes_on_with_what_its_turn_left() {
    // Its turn ends as it has no more; the drive does not wait for it, as it thinks long. Its
    // budget was two thirds of 16,384, of which it got 8,000, which is its budget now.
    let run = |pause_ms| {
        let mut bench = Bench::plain();
        let one = bench.read(1, 0, 8_000);
        let other = bench.read(2, 10_000_000, 8);
        bench.queue_mut(1).habits.thinks_short = false;
        bench.serve(one, 5);
        assert_eq!(bench.queue(1).kept, Some(10_922 - 8_000));
        let entity = bench.queue(1).entity;
        let finish = bench.own.fair.stamps(entity).1;
        assert_eq!(bench.start(), Some(other));
        bench.wait(pause_ms);
        bench.queue_mut(1).habits.io_bound = true;
        bench.read(1, 8_000, 8);
        let preempted = bench.own.in_service != bench.own.home_of(StreamId(2));
        let goes_on = bench.own.fair.stamps(entity).0 == finish;
        (preempted, bench.own.fair.budget(entity), goes_on)
    };
    assert_eq!(run(24), (true, 2_922, true));
    assert!(matches!(run(25), (false, 8_000, _)));
}

#[test]
fn the_drive_waits_8_or_2_or_20_ms() {
    let waits = |seeky: bool, raised: bool| {
        let mut bench = Bench::new(true, &[]);
        let first = bench.read(1, 0, 8);
        let other = bench.read(2, 5_000_000, 8);
        bench.queue_mut(1).raise.factor = if raised { 30 } else { 1 };
        bench.queue_mut(2).raise.factor = 1;
        for stream in [1, 2] {
            let key = bench.own.home_of(StreamId(stream)).unwrap();
            bench.own.reweigh(key);
            bench.own.recount(key);
        }
        // A disk without a queue is worth waiting for whoever it is.
        (0..33).for_each(|_| bench.own.queueing.look(1, 9, None));
        bench.serve(first, 3);
        if seeky {
            (0..32).for_each(|turn| {
                bench.queue_mut(1).habits.last_end = Some(Pba(0));
                let at = Pba(1_000_000 + turn);
                bench.queue_mut(1).habits.asked_at(true, at, Blocks(8));
            });
            bench
                .own
                .begin_idling(bench.now, bench.own.in_service.unwrap());
        }
        assert_eq!(bench.start(), None, "{other} waits");
        bench.waits_until.unwrap().since(bench.now)
    };
    assert_eq!(waits(false, false), Duration::from_ms(8));
    assert_eq!(waits(true, false), Duration::from_ms(2));
    assert_eq!(waits(false, true), Duration::from_ms(20));
    assert_eq!(waits(true, true), Duration::from_ms(20));
}

#[test]
fn after_idling_in_vain_the_next_queue_has_its_turn() {
    let mut bench = Bench::plain();
    let first = bench.read(1, 0, 8);
    let other = bench.read(2, 5_000_000, 8);
    bench.serve(first, 3);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(11))));
    bench.now = at_ms(11);
    assert_eq!(bench.start(), Some(other));
    // 10,922 blocks less four times 512.
    assert_eq!(bench.queue(1).budget, 10_922 - 2_048);
}

#[test]
fn a_request_that_comes_while_the_drive_waits_is_served_at_once() {
    let mut bench = Bench::plain();
    let first = bench.read(1, 0, 8);
    bench.read(2, 5_000_000, 8);
    bench.serve(first, 3);
    assert_eq!(bench.start(), None);
    bench.wait(5);
    let next = bench.read(1, 8, 8);
    assert_eq!(bench.start(), Some(next));
}

#[test]
fn blocks_that_nobody_waits_for_count_three_times_unless_shares_differ() {
    let mut bench = Bench::plain();
    let write = bench.write(1, 0, 100);
    assert_eq!(bench.start(), Some(write));
    let key = bench.own.in_service.unwrap();
    assert_eq!(bench.own.fair.service(bench.own.queue(key).entity), 300);
    let mut bench = Bench::plain();
    let light = Stream {
        level: 7,
        ..Stream::UNKNOWN
    };
    bench.describe(2, light);
    bench.read(2, 1_000_000, 100_000);
    let write = bench.write(1, 0, 100);
    assert_eq!(bench.start(), Some(write));
    let key = bench.own.async_queue(&Claim::of(&Stream::UNKNOWN)).unwrap();
    assert_eq!(
        bench.own.fair.service(bench.own.queue(key).entity),
        100,
        "weights differ"
    );
    let mut bench = Bench::plain();
    let write = bench.write(1, 0, 100);
    let key = bench.own.async_queue(&Claim::of(&Stream::UNKNOWN)).unwrap();
    bench.own.queue_mut(key).raise.factor = 30;
    bench.own.reweigh(key);
    assert_eq!(bench.start(), Some(write));
    let entity = bench.own.queue(key).entity;
    assert_eq!(bench.own.fair.service(entity), 100, "they are favoured");
}

#[test]
fn one_late_request_a_turn_jumps_the_order() {
    let mut bench = Bench::plain();
    let late = [bench.read(1, 900, 8), bench.read(1, 800, 8)];
    bench.wait(125);
    let near: Vec<u32> = (0..4).map(|step| bench.read(1, step * 8, 8)).collect();
    let order: Vec<u32> = std::iter::from_fn(|| bench.start()).collect();
    // The first is the nearest, then the oldest, which is late; from there on by distance: backward
    // counts twice.
    assert_eq!(
        order,
        [near[0], late[0], late[1], near[3], near[2], near[1]]
    );
    // A nearer one that comes before it has gone does not go before it.
    let mut bench = Bench::plain();
    let late = bench.read(1, 900, 8);
    bench.wait(125);
    let near = [bench.read(1, 0, 8), bench.read(1, 8, 8)];
    assert_eq!(bench.start(), Some(near[0]));
    let nearer = bench.read(1, 8, 8);
    assert_eq!(bench.start(), Some(late));
    assert_eq!(bench.start(), Some(near[1]));
    assert_eq!(bench.start(), Some(nearer));
    // 124 ms are not late.
    let mut bench = Bench::plain();
    let early = [bench.read(1, 900, 8), bench.read(1, 800, 8)];
    bench.wait(124);
    let near: Vec<u32> = (0..2).map(|step| bench.read(1, step * 8, 8)).collect();
    let order: Vec<u32> = std::iter::from_fn(|| bench.start()).collect();
    assert_eq!(order, [near[0], near[1], early[1], early[0]]);
}

#[test]
fn strict_guarantees_wait_always_and_give_the_drive_one_request_at_a_time() {
    let mut bench = Bench::new(
        false,
        &[
            ("strict_guarantees", 1),
            ("slice_idle_ms", 8),
            ("low_latency", 0),
        ],
    );
    let one = bench.read(1, 0, 8);
    let two = bench.read(1, 8, 8);
    bench.read(2, 1_000_000, 8);
    assert_eq!(bench.start(), Some(one));
    assert_eq!(bench.start(), None, "one at a time");
    bench.wait(1);
    bench.answer(one);
    bench.serve(two, 1);
    assert_eq!(
        (bench.start(), bench.waits_until),
        (None, Some(at_ms(10))),
        "8 ms"
    );
}

#[test]
fn no_waiting_for_throughput_on_flash_with_a_queue_nor_while_one_is_favoured() {
    let boosts = |rotational, queue: Option<bool>, raised: u32| {
        let mut bench = Bench::new(rotational, &[("low_latency", 0)]);
        bench.read(1, 0, 8);
        match queue {
            Some(true) => (0..33).for_each(|_| bench.own.queueing.look(4, 9, None)),
            Some(false) => (0..33).for_each(|_| bench.own.queueing.look(1, 9, None)),
            None => {}
        }
        bench.own.totals.raised = raised;
        bench
            .own
            .idling_boosts(bench.own.home_of(StreamId(1)).unwrap())
    };
    assert!(boosts(true, Some(true), 0) && boosts(true, Some(false), 0));
    assert!(boosts(false, Some(false), 0));
    assert!(!boosts(false, Some(true), 0) && !boosts(false, None, 0));
    assert!(!boosts(true, Some(true), 1) && !boosts(false, Some(false), 1));
}

#[test]
fn a_group_that_a_stream_leaves_loses_its_requests_to_the_other() {
    let mut bench = Bench::plain();
    let in_group = |group| Stream {
        group: GroupId(group),
        ..Stream::UNKNOWN
    };
    bench.describe(1, in_group(5));
    let ids = [bench.read(1, 0, 8), bench.read(1, 8, 8)];
    assert_eq!(bench.start(), Some(ids[0]));
    assert_eq!(bench.own.groups[5].unwrap().allocated, 2);
    // The group disappears: what is left goes on in the root.
    bench.describe(1, in_group(0));
    let last = bench.read(1, 16, 8);
    assert_eq!(bench.own.groups[5].unwrap().allocated, 0);
    assert_eq!(bench.own.groups[0].unwrap().allocated, 3);
    assert_eq!(bench.start(), Some(ids[1]));
    assert_eq!(bench.start(), Some(last));
    for id in [ids[0], ids[1], last] {
        bench.answer(id);
    }
    assert_eq!(bench.own.groups[0].unwrap().allocated, 0);
}

/// Random processes, priorities, groups, withdrawals and answers: every request is served, and the
/// books are right after each step.
#[test]
fn every_request_is_served_whatever_comes() {
    for seed in 0..24 {
        let mut rng = Rng::stream(seed, "bfq");
        let mut bench = Bench::new(
            seed % 2 == 0,
            &[("strict_guarantees", i64::from(seed % 7 == 0))],
        );
        let ask = |rng: &mut Rng| {
            let stream = rng.below(9) as u32;
            let near = u64::from(stream / 3) * 100_000;
            let at = match rng.chance(0.6) {
                true => near + rng.below(4_000),
                false => rng.below(1 << 24),
            };
            let op = if rng.chance(0.7) { Op::Read } else { Op::Write };
            let sync = op == Op::Read || rng.chance(0.4);
            (stream, op, sync, at, 1 + rng.below(300))
        };
        bench.walk(&mut rng, ask, |rng| Stream {
            weight: 1 + rng.below(1_000) as u16,
            class: Class::ALL[rng.below(3) as usize],
            level: rng.below(8) as u8,
            group: GroupId(rng.below(3) as u16),
        });
    }
}
