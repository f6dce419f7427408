//! Who is favoured, and for how long.

use super::*;
use crate::sched::bfq::raise::Raise;

#[test]
fn a_new_process_is_favoured_from_its_first_request_and_others_are_not() {
    let mut bench = Bench::new(true, &[]);
    bench.read(1, 0, 8);
    assert_eq!(bench.raise(1), 30);
    let urgent = Stream {
        level: 0,
        ..Stream::UNKNOWN
    };
    bench.describe(2, urgent);
    bench.read(2, 1_000_000, 8);
    assert_eq!(bench.raise(2), 1, "somebody has said what it is");
    let mut off = Bench::plain();
    off.read(1, 0, 8);
    assert_eq!(off.raise(1), 1);
    let mut bench = Bench::new(true, &[]);
    bench.write(3, 0, 8);
    let key = bench.own.async_queue(&Claim::of(&Stream::UNKNOWN)).unwrap();
    assert_eq!(
        bench.own.queue(key).raise.factor,
        1,
        "nobody waits for these"
    );
}

/// An interactive process reads in a row, so many blocks at a time, one request each `ms`; the
/// milliseconds and blocks after which it is not favoured any more.
fn favoured_for(len: u64, ms: u64) -> (u64, u64) {
    let mut bench = Bench::new(true, &[]);
    let mut at = 0;
    for _ in 0..100_000 {
        let id = bench.read(1, at, len);
        at += len;
        bench.serve(id, ms);
        if bench.raise(1) == 1 {
            return ((bench.now.0 - ms * 1_000_000) / 1_000_000, at);
        }
    }
    panic!("it is favoured for ever");
}

#[test]
fn a_favour_ends_after_its_time_or_120_000_blocks() {
    // The drive's rate is not known: 14,000 * 7,000 ms by two thirds of 14,000.
    let (ms, blocks) = favoured_for(8, 250);
    assert!((10_500..=10_750).contains(&ms), "{ms}");
    assert!(blocks < 1_000);
    let (ms, blocks) = favoured_for(1_000, 1);
    assert_eq!(blocks, 121_000, "the first request beyond 120,000");
    assert!(ms < 200);
}

#[test]
fn batches_that_need_little_and_come_late_are_soft_real_time() {
    // 64 blocks each 40 ms are 1,600 a second.
    let factor = |blocks: u64, gap_ms: u64| {
        let mut bench = Bench::new(true, &[]);
        let mut at = 0;
        for turn in 0..80 {
            let id = bench.read(1, at, blocks);
            at += blocks + 100;
            if turn == 0 {
                bench.queue_mut(1).raise = Raise::none(bench.now);
                let key = bench.own.home_of(StreamId(1)).unwrap();
                bench.own.reweigh(key);
            }
            bench.serve(id, 1);
            bench.pass(gap_ms - 1);
        }
        bench.raise(1)
    };
    assert_eq!(factor(64, 40), 3_000);
    assert_eq!(factor(64, 10), 1, "before 12 ms are over it is greedy");
    assert_eq!(factor(400, 40), 1, "10,000 blocks a second are too many");
}

#[test]
fn soft_real_time_lasts_300_ms() {
    let mut bench = Bench::new(true, &[]);
    let id = bench.read(1, 0, 8);
    let key = bench.own.home_of(StreamId(1)).unwrap();
    bench.queue_mut(1).raise = Raise::none(bench.now);
    bench.own.reweigh(key);
    bench.serve(id, 1);
    bench.pass(500);
    let id = bench.read(1, 8, 8);
    assert_eq!(bench.raise(1), 3_000);
    let began = bench.now;
    bench.serve(id, 1);
    let mut at = 16;
    while bench.raise(1) > 1 {
        // It keeps asking, so that no batch of it ends.
        let id = bench.read(1, at, 8);
        at += 8;
        bench.serve(id, 10);
    }
    let lasted = bench.now.since(began).as_ms();
    assert!((300.0..=320.0).contains(&lasted), "{lasted}");
}

#[test]
fn eight_queues_180_ms_apart_are_a_burst_and_not_favoured() {
    let favoured = |queues: u32, gap_ms: u64, busy: bool| {
        let mut bench = Bench::new(true, &[]);
        if busy {
            bench.read(100, 9_000_000, 8);
            bench.wait(200);
        }
        for stream in 0..queues {
            let id = bench.read(stream, u64::from(stream) * 1_000_000, 8);
            if !busy {
                bench.serve(id, 1);
            }
            match busy {
                true => bench.wait(gap_ms),
                false => bench.pass(gap_ms - 1),
            }
        }
        // The latest, and one that comes later.
        (0..queues)
            .filter(|stream| !bench.queue(*stream).in_burst)
            .count()
    };
    assert_eq!(favoured(7, 180, false), 7);
    assert_eq!(favoured(8, 180, false), 0);
    assert_eq!(
        favoured(12, 180, false),
        0,
        "who joins later is marked, too"
    );
    assert_eq!(favoured(12, 181, false), 12);
    assert_eq!(
        favoured(12, 10, true),
        12,
        "others are busy: it may be an application"
    );
}

/// A process without favour reads so many blocks in one request that takes `ms`, after which the
/// drive does not wait for it. From when on it would be soft real-time.
fn soft_from(blocks: u64, ms: u64) -> Instant {
    let mut bench = without_favour();
    let id = bench.read(1, 0, blocks);
    let other = bench.read(2, 50_000_000, 8);
    bench.queue_mut(1).raise = Raise::none(bench.now);
    bench.queue_mut(1).habits.thinks_short = false;
    let key = bench.own.home_of(StreamId(1)).unwrap();
    bench.own.reweigh(key);
    bench.start_at_last(id);
    bench.wait(ms);
    bench.answer(id);
    assert!(
        bench.own.in_service != Some(key),
        "its turn is over, {other} waits"
    );
    bench.queue(1).raise.soft_from
}

/// The other one is none that is favoured.
fn without_favour() -> Bench<Bfq> {
    let mut bench = Bench::new(true, &[]);
    let plain = Stream {
        level: 3,
        ..Stream::UNKNOWN
    };
    bench.describe(2, plain);
    bench
}

#[test]
fn soft_real_time_is_who_comes_after_the_latest_of_three_instants() {
    // 8 blocks take 1.1 ms at 7,000 a second: 12 ms after the end of the batch it is, which is the
    // idling time and 4 ms.
    assert_eq!(soft_from(8, 1), at_ms(13));
    assert_eq!(soft_from(8, 5), at_ms(17));
    // 700 blocks take 100 ms from when it began to have requests.
    assert_eq!(soft_from(700, 1), at_ms(100));
    assert_eq!(soft_from(700, 19), at_ms(100));
    assert_eq!(soft_from(100, 19), at_ms(31), "14.3 ms are over before");
    // The third: what was found before, which a quick phase has left far ahead.
    let mut bench = without_favour();
    let id = bench.read(1, 0, 8);
    bench.queue_mut(1).raise = Raise::none(bench.now);
    bench.queue_mut(1).raise.soft_from = at_ms(900);
    let key = bench.own.home_of(StreamId(1)).unwrap();
    bench.own.reweigh(key);
    bench.serve(id, 1);
    bench.pass(50);
    assert_eq!(bench.start(), None, "the drive has waited in vain");
    assert!(bench.own.in_service.is_none());
    assert_eq!(bench.queue(1).raise.soft_from, at_ms(900));
}

#[test]
fn who_comes_when_12_ms_are_over_to_the_nanosecond_is_greedy() {
    let factor = |after: Duration| {
        let mut bench = without_favour();
        let id = bench.read(1, 0, 8);
        bench.read(2, 50_000_000, 8);
        bench.queue_mut(1).raise = Raise::none(bench.now);
        bench.queue_mut(1).habits.thinks_short = false;
        let key = bench.own.home_of(StreamId(1)).unwrap();
        bench.own.reweigh(key);
        bench.start_at_last(id);
        bench.wait(1);
        bench.answer(id);
        bench.now += after;
        bench.read(1, 8, 8);
        bench.raise(1)
    };
    assert_eq!(factor(Duration::from_ms(12)), 1);
    assert_eq!(factor(Duration::from_ms(12) + Duration(1)), 3_000);
}
