//! What levels say of queues, of caches behind them and of a write buffer.

use super::levels::{LEVELS, Level, Levels, Owing};
use super::*;

/// A thousand requests come in each second.
fn level(second: u64, waiting: u64) -> Level {
    Level {
        at: Instant(second * 1_000_000_000),
        waiting,
        busy: 0,
        owed: Owing::default(),
        came: 1_000 * second,
    }
}

/// What write caches hide is told where the queue itself does not grow, with how many requests fill
/// them, unless they nearly are.
#[test]
fn caches_that_fill_are_no_queue_and_are_told() {
    let of_all =
        |owed: [u64; LEVELS], cache_size: Option<u64>, waiting: u64, sorted: Option<u64>| {
            let mut levels = Levels::from(0);
            for (second, writes) in owed.into_iter().enumerate() {
                let second = second as u64;
                let level = Level {
                    owed: Owing {
                        writes,
                        behind: Behind::Caches,
                        cache_size,
                        sorts: sorted.is_some(),
                        later: false,
                        of: sorted.unwrap_or(4_000),
                    },
                    ..level(second, waiting * second)
                };
                levels.note(level, 100_000);
            }
            let found = levels.filling(false);
            assert!(found.is_none_or(|found| found.may_end == sorted.is_some()));
            let full_after = found.map(|filling| filling.full_after);
            (levels.growth_rps().is_some(), full_after)
        };
    let told = |owed, room, waiting| of_all(owed, room, waiting, None);
    let fills = [0, 100, 200, 300, 400];
    assert_eq!(told(fills, Some(800), 0), (false, Some(Some(8_000))));
    assert_eq!(told(fills, Some(410), 0), (false, Some(None)));
    assert_eq!(told(fills, None, 0), (false, Some(None)));
    // It has not become fuller at the end; by less than 2 %; the queue grows itself.
    assert_eq!(told([0, 100, 200, 300, 300], None, 0), (false, None));
    assert_eq!(told([0, 19, 38, 57, 76], None, 0), (false, None));
    assert_eq!(told(fills, None, 50), (true, None));
    // Of drives that choose the order in which they write it is told from a fifth of the writes on.
    assert_eq!(of_all(fills, None, 0, Some(2_000)), (false, Some(None)));
    assert_eq!(of_all(fills, None, 0, Some(2_001)), (false, None));
}

/// Levels with so many writes in caches that have room for some, and so many requests before the
/// drives; a thousand writes come between two.
fn cached(owed: [u64; LEVELS], waiting: [u64; LEVELS], cache_size: Option<u64>) -> Levels {
    let mut levels = Levels::from(0);
    for second in 0..LEVELS {
        let mut noted = level(second as u64, waiting[second]);
        noted.owed = Owing {
            writes: owed[second],
            cache_size,
            of: noted.came,
            ..Owing::default()
        };
        levels.note(noted, 100_000);
    }
    levels
}

/// A queue that grows only when the caches behind it are full has grown all the time.
#[test]
fn caches_that_are_full_before_the_end_are_a_queue() {
    let owed = [0, 200, 400, 400, 400];
    let seen = |owed, waiting, room| {
        let levels = cached(owed, waiting, room);
        let fills = levels.filling(false).is_some();
        (levels.growth_rps(), levels.grew_behind().is_some(), fills)
    };
    let full = Some(440);
    let waiting = [0, 0, 0, 100, 300];
    assert_eq!(seen(owed, waiting, full), (Some(175.0), true, false));
    // They are not full; the queue stands still at last, or is short.
    assert_eq!(seen(owed, waiting, Some(445)), (None, false, true));
    assert_eq!(
        seen([0, 100, 200, 300, 400], [300; LEVELS], full),
        (None, false, true)
    );
    assert_eq!(seen(owed, [0, 0, 0, 20, 63], full), (None, false, true));
    // It needs no caches.
    let alone = seen([0; LEVELS], [0, 500, 1_000, 1_500, 2_000], None);
    assert_eq!(alone, (Some(500.0), false, false));
}

/// A loop fills a cache at first: what it keeps in the end is more than was written.
#[test]
fn a_loop_that_waits_for_answers_fills_caches_at_once() {
    let owed_by = |last: u64, first: u64, room, waits: bool| {
        let levels = cached([first, last, last, last, last], [32; LEVELS], room);
        let filling = levels.filling(waits)?;
        assert!(!filling.grows);
        Some((filling.owed, filling.of))
    };
    // Of 4,000 that come from the first to the last, and 32 that wait at first.
    assert_eq!(owed_by(807, 0, None, true), Some((807, 4_032)));
    assert_eq!(owed_by(806, 0, None, true), None);
    assert_eq!(owed_by(807, 0, None, false), None);
    assert_eq!(owed_by(1_007, 200, None, true), Some((807, 4_032)));
    assert_eq!(owed_by(1_007, 201, None, true), None);
    assert_eq!(owed_by(807, 0, Some(896), true), Some((807, 4_032)));
    assert_eq!(owed_by(807, 0, Some(897), true), None);
}

/// A write buffer hides the drives if a fifth of what came is in it, whether it grew to the end or
/// not, and whether the load waits for answers or not; a queue before it is one all the same.
#[test]
fn a_write_buffer_that_has_much_of_what_came_hides_the_drives() {
    let seen = |owed: [u64; LEVELS], waiting, waits: bool| {
        let mut levels = cached(owed, waiting, Some(2_000));
        for level in &mut levels.noted {
            level.owed.behind = Behind::Buffer;
        }
        let filling = levels.filling(waits)?;
        assert!(
            filling.may_end && filling.behind == Behind::Buffer,
            "it begins to write in time"
        );
        Some((filling.owed, filling.grows, filling.full_after))
    };
    let few = [0; LEVELS];
    for waits in [true, false] {
        let fills = [0, 1_000, 1_100, 1_100, 1_100];
        assert_eq!(seen(fills, few, waits), Some((1_100, false, Some(7_272))));
        assert_eq!(
            seen([0, 300, 600, 900, 1_200], few, waits),
            Some((1_200, true, Some(6_666)))
        );
        // A fifth of 4,000 is 800; what was there before is none of it.
        assert_eq!(seen([0, 799, 799, 799, 799], few, waits), None);
        assert_eq!(seen([301, 1_100, 1_100, 1_100, 1_100], few, waits), None);
        let grows = [0, 500, 1_000, 1_500, 2_000];
        assert_eq!(seen(fills, grows, waits), None);
        // Of 4,000 requests a fiftieth is 80.
        for (owed, is_told) in [(80, true), (79, false)] {
            let mut levels = cached([0, owed, owed, owed, owed], few, Some(2_000));
            for level in &mut levels.noted {
                (level.owed.behind, level.owed.of) = (Behind::Buffer, level.came / 20);
            }
            assert_eq!(levels.filling(waits).is_some(), is_told, "{owed}");
        }
    }
}

/// Copies that wait for spare time are owed like what is in write caches, and told apart.
#[test]
fn copies_that_wait_are_told() {
    let mut levels = cached([0, 100, 200, 300, 400], [0; LEVELS], Some(800));
    for level in &mut levels.noted {
        (level.owed.behind, level.owed.later) = (Behind::Copies, true);
    }
    let filling = levels.filling(false).unwrap();
    assert!(filling.grows && !filling.may_end, "{filling:?}");
    let seen = "a buffer of delayed copies that fills as long as requests come";
    assert!(filling.seen().ends_with(seen), "{}", filling.seen());
}

/// What is written later is not known when caches fill.
#[test]
fn where_copies_are_written_later_nobody_knows_when_caches_are_full() {
    let fills = [0, 100, 200, 300, 400];
    let mut levels = cached(fills, [0; LEVELS], Some(800));
    let full_after = |levels: &Levels| levels.filling(false).unwrap().full_after;
    assert_eq!(full_after(&levels), Some(8_000));
    // Of these requests half are reads.
    for level in &mut levels.noted {
        level.owed.of = level.came / 2;
    }
    assert_eq!(full_after(&levels), Some(8_000));
    for level in &mut levels.noted {
        level.owed.later = true;
    }
    assert_eq!(full_after(&levels), None);
}

/// What many drives do at a time is no queue, however soon all of them have something to do.
#[test]
fn what_drives_do_is_no_queue() {
    let grew = |busy: [u64; LEVELS]| {
        let mut levels = cached([0; LEVELS], [0, 200, 400, 600, 800], None);
        for (level, busy) in levels.noted.iter_mut().zip(busy) {
            level.busy = busy;
        }
        levels.growth_rps()
    };
    assert_eq!(grew([0; LEVELS]), Some(200.0));
    assert_eq!(grew([8; LEVELS]), Some(200.0));
    assert_eq!(grew([0, 200, 400, 600, 737]), None);
    assert_eq!(grew([0, 150, 350, 520, 700]), None);
    assert_eq!(grew([0, 100, 200, 300, 400]), Some(200.0));
    // 4,000 came and 500 waited at first; 3,200 of these were answered: eight of each drive, or nearly.
    let all_busy = |busy| {
        let mut levels = cached([0; LEVELS], [500, 700, 900, 1_100, 1_300], None);
        levels.noted.iter_mut().for_each(|level| level.busy = busy);
        levels.growth_rps()
    };
    assert_eq!(all_busy(400), Some(200.0));
    assert_eq!(all_busy(401), None);
    let waiting = |busy| {
        let mut levels = cached([0; LEVELS], [0, 900, 1_800, 2_700, 3_600], None);
        levels.noted.iter_mut().for_each(|level| level.busy = busy);
        levels.growth_rps()
    };
    assert_eq!(waiting(720), Some(900.0), "four wait for each");
    assert_eq!(waiting(721), None);
    // As many wait all the time, and fewer drives are busy.
    let mut levels = cached([0; LEVELS], [500; LEVELS], None);
    for (level, busy) in levels.noted.iter_mut().zip([400, 300, 200, 100, 0]) {
        level.busy = busy;
    }
    assert_eq!(levels.growth_rps(), None);
}

/// Before each drive has had many requests, a queue that grows less and less may be coming to rest,
/// and then nothing is known of it.
#[test]
fn a_queue_that_comes_to_rest_is_told_from_one_that_grows() {
    let seen = |queue: [u64; LEVELS], busy: u64, waits: bool| {
        let waiting = queue.map(|queue| queue + busy);
        let mut levels = cached([0; LEVELS], waiting, None);
        levels.noted.iter_mut().for_each(|level| level.busy = busy);
        let grew = levels.settling(waits).map(|settling| settling.grew);
        (levels.growth_rps().is_some(), grew)
    };
    // 3,650 requests were answered, or 3,649.
    let [steady, slower] = [[0, 100, 200, 280, 350], [0, 100, 200, 280, 349]];
    assert_eq!(seen(steady, 100, false), (true, None));
    assert_eq!(seen(slower, 100, false), (false, Some(true)));
    assert_eq!(seen(slower, 100, true), (false, None));
    assert_eq!(seen(slower, 36, false), (true, None), "a hundred each");
    // It rises by less than a fiftieth of what comes; 3,900 requests were answered.
    let rises = |last, busy| seen([700, 710, 720, 730, last], busy, false);
    assert_eq!(rises(800, 4), (false, Some(true)), "by a tenth at last");
    assert_eq!(rises(799, 4), (false, None));
    assert_eq!(rises(800, 3), (false, None), "a thousand each");
    assert_eq!(seen([700, 710, 720, 720, 800], 4, false), (false, None));
    // What drives owe grows less and less.
    let owed = [0, 100, 200, 280, 349];
    let mut levels = cached(owed, [100; LEVELS], None);
    levels.noted.iter_mut().for_each(|level| level.busy = 100);
    assert_eq!(levels.filling(false), None);
    assert!(levels.settling(false).is_some_and(|settling| settling.grew));
    // Of those that came before the first level none counts as answered.
    let mut levels = cached([0; LEVELS], slower.map(|queue| queue + 36), None);
    for level in &mut levels.noted {
        (level.busy, level.came) = (36, level.came / 2 + 10_000);
    }
    assert_eq!(levels.growth_rps(), None);
    // It stands still: long, and less so.
    assert_eq!(seen([799, 800, 800, 800, 800], 1, false), (false, None));
    assert_eq!(
        seen([0, 801, 801, 801, 801], 1, false),
        (false, Some(false))
    );
    assert_eq!(seen([0, 800, 800, 800, 800], 1, false), (false, None));
}

#[test]
fn a_queue_that_grows_all_the_time_is_told_from_one_that_fluctuates() {
    let levels = |lengths: [u64; LEVELS]| Levels {
        noted: std::array::from_fn(|index| level(index as u64, lengths[index])),
        count: LEVELS,
        ..Levels::default()
    };
    let grows = |lengths| levels(lengths).growth_rps();
    assert_eq!(grows([0, 500, 1_000, 1_500, 2_000]), Some(500.0));
    assert_eq!(grows([10, 30, 50, 70, 90]), Some(20.0));
    // Falls in one quarter; grows by less than a fiftieth; stays short.
    assert_eq!(grows([0, 500, 400, 1_500, 2_000]), None);
    assert_eq!(grows([100, 110, 120, 130, 140]), None);
    let few = |lengths: [u64; LEVELS]| {
        let mut few = levels(lengths);
        few.noted.iter_mut().for_each(|level| level.came /= 100);
        few.growth_rps()
    };
    assert_eq!(few([0, 2, 4, 6, 63]), None);
    assert_eq!(few([0, 2, 4, 6, 64]), Some(16.0));
    let early = Levels {
        count: 4,
        ..levels([0, 500, 1_000, 1_500, 2_000])
    };
    assert_eq!(early.growth_rps(), None);
}

#[test]
fn a_queue_that_takes_less_than_a_fiftieth_of_what_comes_does_not_grow() {
    let levels = |lengths: [u64; LEVELS]| Levels {
        noted: std::array::from_fn(|index| level(index as u64, lengths[index])),
        count: LEVELS,
        ..Levels::default()
    };
    // 1,000 requests come between two levels: 20 of them.
    assert_eq!(levels([0, 20, 40, 60, 80]).growth_rps(), Some(20.0));
    assert_eq!(levels([0, 20, 40, 60, 79]).growth_rps(), None);
}

#[test]
fn the_queue_is_noted_from_the_first_measured_arrival_to_the_last() {
    let window = Window {
        requests: 1_100,
        warmup: 100,
    };
    let mut recorder = Recorder::new(window, 1, None);
    for number in 0..1_100 {
        let now = Instant(number * 1_000_000);
        recorder.arrived(now, &Request::new(number, Op::Read, 0, 8, now));
    }
    let lengths = recorder.levels.noted.map(|level| level.waiting);
    assert_eq!(lengths, [101, 350, 600, 850, 1_100]);
    assert_eq!(recorder.growth_rps(), Some(999.0 / 0.999));
}
