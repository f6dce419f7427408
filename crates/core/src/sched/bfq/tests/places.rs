//! Who may join while so many places are taken: F22, by kind of request, by level, class and group,
//! and for whom no queue of its own tells.

use super::*;

#[test]
fn a_part_of_the_places_is_for_writes_and_less_while_one_is_favoured() {
    let mut bench = Bench::new(true, &[("nr_requests", 64)]);
    let most = |bench: &Bench<Bfq>, op, sync| {
        let io = Io {
            op,
            sync,
            stream: StreamId(99),
            ..bench.ios[0]
        };
        (0..=64).find(|reads| {
            let queued = Queued {
                reads: *reads,
                writes: 0,
            };
            !bench.own.admits(&io, &queued)
        })
    };
    bench.read(1, 0, 8);
    let all = |bench: &Bench<Bfq>| {
        [(Op::Read, true), (Op::Write, true), (Op::Write, false)]
            .map(|(op, sync)| most(bench, op, sync).unwrap())
    };
    assert_eq!(all(&bench), [64, 24, 12], "one is favoured");
    bench.own.totals.raised = 0;
    assert_eq!(all(&bench), [64, 48, 32]);
    // Each has its share: two of the same weight, half each.
    bench.own.totals.raised = 1;
    bench.read(2, 1_000_000, 8);
    for step in 1..40 {
        bench.read(2, 1_000_000 + step * 8, 8);
    }
    let io = bench.ios[1];
    assert!(!bench.own.admits(
        &io,
        &Queued {
            reads: 41,
            writes: 0
        }
    ));
    assert!(bench.own.admits(
        &bench.ios[0],
        &Queued {
            reads: 41,
            writes: 0
        }
    ));
    assert!(bench.own.admits(
        &io,
        &Queued {
            reads: 0,
            writes: 0
        }
    ));
}

/// Two of one weight share 64 places: 32 each, and four more for those who are beyond.
#[test]
fn beyond_its_share_a_process_may_take_one_place_of_each_word() {
    let mut bench = Bench::new(true, &[("nr_requests", 64)]);
    bench.read(1, 0, 8);
    bench.read(2, 1_000_000, 8);
    let io = bench.ios[1];
    let queued = |reads| Queued { reads, writes: 0 };
    let mut joined = 1;
    while bench.own.admits(&io, &queued(1 + joined)) {
        bench.read(2, 1_000_000 + u64::from(joined) * 8, 8);
        joined += 1;
    }
    assert_eq!(joined, 36);
    // Another one that is not beyond its own is let in.
    assert!(bench.own.admits(&bench.ios[0], &queued(1 + joined)));
}

/// How many requests of a stream may join one after the other, while others have so many places;
/// all of them stay.
fn joins(bench: &mut Bench<Bfq>, stream: u32, op: Op, others: u32) -> u32 {
    let mut joined = 0;
    loop {
        let io = Io {
            op,
            sync: op == Op::Read,
            stream: StreamId(stream),
            ..bench.ios[0]
        };
        let queued = Queued {
            reads: others + joined,
            writes: 0,
        };
        if !bench.own.admits(&io, &queued) {
            return joined;
        }
        let at = u64::from(stream) * 10_000_000 + u64::from(joined) * 8;
        bench.ask(stream, op, op == Op::Read, at, 8);
        joined += 1;
    }
}

/// Its share, and the four places of those who have theirs.
const BEYOND: u32 = 4;

/// Streams that each have one request; how many the last one has at most, of 64 places.
fn most_of_last(streams: &[Stream]) -> u32 {
    let mut bench = Bench::new(true, &[("nr_requests", 64), ("low_latency", 0)]);
    for (number, stream) in streams.iter().enumerate() {
        bench.describe(number as u32, *stream);
        bench.read(number as u32, number as u64 * 10_000_000, 8);
    }
    let last = streams.len() as u32 - 1;
    joins(&mut bench, last, Op::Read, last + 1) + 1 - BEYOND
}

#[test]
fn the_share_of_the_places_goes_by_level_class_and_group() {
    let plain = Stream::UNKNOWN;
    let level = |level| Stream { level, ..plain };
    // Weights are 80, 40 and 10.
    assert_eq!(most_of_last(&[level(4), level(0)]), 43, "64 * 80 / 120");
    assert_eq!(most_of_last(&[level(0), level(4)]), 21, "64 * 40 / 120");
    assert_eq!(most_of_last(&[level(0), level(7)]), 7, "64 * 10 / 90");
    // A higher class counts eight times.
    let urgent = Stream {
        class: Class::RealTime,
        ..plain
    };
    assert_eq!(most_of_last(&[urgent, plain]), 7, "64 * 40 / (320 + 40)");
    // From the root down: of 64 the group has 100 / 140, 46, and each of its two streams half of
    // that.
    let grouped = Stream {
        group: GroupId(3),
        ..plain
    };
    assert_eq!(most_of_last(&[plain, grouped, grouped]), 23);
    // In a group of one level 0 has two thirds of 46.
    let first = Stream {
        level: 0,
        ..grouped
    };
    assert_eq!(most_of_last(&[plain, grouped, first]), 31);
    // A group that has its share lets none of its streams join, though they have less than theirs.
    let heavy = Stream {
        weight: 960,
        ..plain
    };
    let mut bench = Bench::new(true, &[("nr_requests", 64), ("low_latency", 0)]);
    bench.describe(0, heavy);
    (1..9).for_each(|stream| bench.describe(stream, grouped));
    bench.read(0, 0, 8);
    // 64 * 100 / (100 + 384) is 13. Of each of the others one joins, as who has no queue yet is not
    // measured.
    let all = (1..9).map(|stream| joins(&mut bench, stream, Op::Read, 9));
    assert_eq!(all.collect::<Vec<_>>(), [13 + BEYOND, 1, 1, 1, 1, 1, 1, 1]);
}

/// Writes that nobody waits for have half of 64 places, and one queue of two of the same weight
/// half of these.
#[test]
fn who_only_writes_and_waits_for_nothing_has_a_share_too() {
    let mut bench = Bench::new(true, &[("nr_requests", 64), ("low_latency", 0)]);
    bench.read(1, 0, 8);
    bench.write(2, 5_000_000, 8);
    assert_eq!(joins(&mut bench, 2, Op::Write, 2) + 1, 16 + BEYOND);
    // It has told who it is with its first request: another level, another queue.
    let mut bench = Bench::new(true, &[("nr_requests", 64), ("low_latency", 0)]);
    let first = Stream {
        level: 0,
        ..Stream::UNKNOWN
    };
    bench.describe(2, first);
    bench.read(1, 0, 8);
    bench.write(2, 5_000_000, 8);
    assert_eq!(joins(&mut bench, 2, Op::Write, 2) + 1, 21 + BEYOND);
}
