//! Whose queues become one, and who is served while another is waited for.

use super::*;

#[test]
fn close_readers_share_a_queue_in_the_first_100_ms_but_not_on_flash_with_a_queue() {
    let shares = |rotational, apart: u64, after_ms: u64| {
        let mut bench = Bench::new(rotational, &[("low_latency", 0)]);
        if !rotational {
            (0..33).for_each(|_| bench.own.queueing.look(4, 9, None));
        }
        bench.own.created_last = None;
        let first = bench.read(1, 1_000_000, 8);
        bench.read(9, 9_000_000, 8);
        assert_eq!(bench.start(), Some(first));
        bench.read(1, 1_000_008, 8);
        bench.wait(after_ms);
        bench.own.created_last = None;
        bench.read(2, 1_000_008 + apart, 8);
        bench.own.home_of(StreamId(1)) == bench.own.home_of(StreamId(2))
    };
    assert!(shares(true, 8_192, 1));
    assert!(!shares(true, 8_193, 1));
    assert!(shares(true, 8_192, 100));
    assert!(
        !shares(true, 8_192, 101),
        "the other one is no longer young"
    );
    assert!(!shares(false, 8, 1));
}

#[test]
fn a_shared_queue_that_seeks_is_split_and_what_was_known_comes_back() {
    let mut bench = Bench::new(true, &[]);
    let first = bench.read(1, 1_000_000, 8);
    bench.read(9, 9_000_000, 8);
    assert_eq!(bench.start(), Some(first));
    bench.wait(1);
    bench.read(2, 1_000_100, 8);
    let shared = bench.own.home_of(StreamId(1)).unwrap();
    assert_eq!(bench.own.home_of(StreamId(2)), Some(shared));
    assert!(bench.own.queue(shared).shared);
    assert_eq!(bench.own.queue(shared).processes, 2);
    for turn in 0..32 {
        let habits = &mut bench.own.queue_mut(shared).habits;
        habits.last_end = Some(Pba(0));
        habits.asked_at(true, Pba(1_000_000 + turn), Blocks(8));
    }
    bench.own.expire(bench.now, turn::Why::Timeout, bench.now);
    bench.read(2, 8_000_000, 8);
    let own = bench.own.home_of(StreamId(2)).unwrap();
    assert_ne!(own, shared);
    assert_eq!(
        bench.raise(2),
        30,
        "it would have been interactive all the time"
    );
    assert!(!bench.own.queue(own).habits.seeky());
    bench.read(1, 1_000_300, 8);
    assert_eq!(
        bench.own.home_of(StreamId(1)),
        Some(shared),
        "the last one stays"
    );
    assert!(!bench.own.queue(shared).shared);
}

#[test]
fn queues_created_together_become_one_at_once_on_flash_and_later_elsewhere() {
    let mut bench = Bench::new(false, &[("low_latency", 0)]);
    (0..33).for_each(|_| bench.own.queueing.look(4, 9, None));
    bench.read(1, 0, 8);
    bench.wait(180);
    bench.read(2, 1_000_000, 8);
    assert_eq!(
        bench.own.home_of(StreamId(1)),
        bench.own.home_of(StreamId(2))
    );
    assert_eq!(bench.own.merged, 1, "it is counted");
    bench.wait(181);
    bench.read(3, 2_000_000, 8);
    assert_ne!(
        bench.own.home_of(StreamId(1)),
        bench.own.home_of(StreamId(3))
    );

    let mut bench = Bench::new(true, &[("low_latency", 0)]);
    let one = bench.read(1, 0, 8);
    bench.wait(100);
    let two = bench.read(2, 5_000_000, 8);
    assert_ne!(
        bench.own.home_of(StreamId(1)),
        bench.own.home_of(StreamId(2))
    );
    bench.queue_mut(1).habits.thinks_short = false;
    bench.queue_mut(2).habits.thinks_short = false;
    bench.serve(one, 1);
    bench.serve(two, 1);
    bench.wait(600);
    bench.read(2, 5_000_008, 8);
    assert_eq!(
        bench.own.home_of(StreamId(1)),
        bench.own.home_of(StreamId(2))
    );
    assert!(bench.queue(1).stable);
    assert_eq!(bench.own.merged, 1);
}

#[test]
fn who_was_told_another_weight_shares_no_queue() {
    let shares = |rotational, close: bool, weight| {
        let mut bench = Bench::new(rotational, &[("low_latency", 0)]);
        bench.describe(
            2,
            Stream {
                weight,
                ..Stream::UNKNOWN
            },
        );
        if !rotational {
            (0..33).for_each(|_| bench.own.queueing.look(4, 9, None));
        }
        let first = bench.read(1, 1_000_000, 8);
        bench.read(9, 9_000_000, 8);
        assert_eq!(bench.start(), Some(first));
        bench.wait(1);
        if close {
            bench.own.created_last = None;
        }
        bench.read(2, if close { 1_000_008 } else { 5_000_000 }, 8);
        bench.own.home_of(StreamId(1)) == bench.own.home_of(StreamId(2))
    };
    assert!(shares(true, true, 100) && !shares(true, true, 500));
    assert!(shares(false, false, 100) && !shares(false, false, 500));
}

#[test]
fn a_first_request_comes_behind_a_long_think_time_or_behind_none() {
    let soon_back = |first: &str| {
        let value = KnobValue::Text(first.to_owned());
        let knobs = Knobs::check("bfq", SPEC.knobs, &[("first_think".to_owned(), value)]).unwrap();
        let mut bench = Bench::of(Bfq::new(&knobs, true));
        // Three requests, each at once behind the last answer: of 16, 0 and 0 ms the moving mean is
        // 4.7.
        for turn in 0..3 {
            let io = bench.read(1, 1_000 + 8 * turn, 8);
            bench.start_at_last(io);
            bench.wait(1);
            bench.answer(io);
            // While it is waited for, no think time counts.
            bench.own.expire(bench.now, turn::Why::TooIdle, bench.now);
        }
        let habits = &bench.queue(1).habits;
        (
            habits.think_time(),
            habits.is_soon_back(Duration::from_ms(8)),
        )
    };
    assert_eq!(soon_back("none"), (Some(Duration(1)), true));
    let (mean, soon) = soon_back("long");
    let mean = mean.unwrap().0;
    assert!((4_600_000..4_700_000).contains(&mean) && !soon, "{mean}");
}

#[test]
fn a_waker_is_found_by_three_wakings_and_served_while_the_woken_is_waited_for() {
    let mut bench = Bench::new(true, &[("low_latency", 0), ("slice_idle_ms", 8)]);
    // 1 asks within 4 ms of each answer to 2, and thinks long.
    let mut at = 0;
    for turn in 0..6 {
        let io = bench.read(2, 2_000_000 + at, 8);
        bench.start_at_last(io);
        bench.wait(1);
        bench.answer(io);
        bench.wait(3);
        // Its long thinking is known from its third request on.
        if turn > 0 {
            let found = bench.queue(1).injection.waker.is_some();
            assert_eq!(found, turn > 4, "{turn}");
        }
        let woken = bench.read(1, at, 8);
        at += 8;
        bench.start_at_last(woken);
        bench.wait(1);
        bench.answer(woken);
        bench.pass(40);
    }
    let waker = bench.queue(1).injection.waker;
    assert!(waker.is_some() && waker == bench.own.home_of(StreamId(2)));
}

#[test]
fn the_limit_of_injection_is_found_anew_every_second() {
    let limit = |after_ms: u64| {
        let mut bench = Bench::plain();
        let first = bench.read(1, 0, 8);
        bench.serve(first, 1);
        let injection = &mut bench.queue_mut(1).injection;
        (injection.limit, injection.base) = (5, Some(Duration::from_ms(3)));
        // It began at 0.
        bench.pass(after_ms - 1);
        bench.read(1, 8, 8);
        let injection = &bench.queue(1).injection;
        (injection.limit, injection.base.is_some())
    };
    assert_eq!(limit(999), (5, true));
    assert_eq!(
        limit(1_000),
        (0, false),
        "it is soon back, as far as is known"
    );
}

/// A request is taken back long after it came: what is due then is found by that instant, not by
/// the one at which its queue got work.
#[test]
fn a_request_is_taken_back_now_and_not_when_its_queue_began() {
    let mut bench = Bench::plain();
    let served = bench.read(1, 0, 8);
    let taken = bench.read(2, 50_000_000, 8);
    bench.serve(served, 2);
    // The drive waits for the first until 10 ms.
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(10))));
    bench.now = at_ms(30);
    bench
        .own
        .withdraw(bench.now, &bench.ios[taken as usize].clone());
    bench.own.audit();
    assert!(bench.own.idling.is_none(), "nobody is waited for any more");
    assert_eq!(bench.queue(1).turn_ended, at_ms(10));
}
