//! The rules with their times written out.

#![cfg(test)]

mod sharing;

use super::*;
use crate::ids::GroupId;
use crate::registry::KnobValue;
use crate::sched::bench::{Bench, at_ms};

fn cfq() -> Bench<Cfq> {
    with(&[])
}

fn with(given: &[(&str, f64)]) -> Bench<Cfq> {
    let given = given
        .iter()
        .map(|(key, value)| ((*key).to_owned(), KnobValue::Number(*value)));
    let given: Vec<_> = given.collect();
    let knobs = Knobs::check("cfq", SPEC.knobs, &given).unwrap();
    Bench::of(Cfq::new(&knobs, true))
}

fn at_level(class: Class, level: u8) -> Stream {
    Stream {
        class,
        level,
        group: GroupId(0),
        ..Stream::UNKNOWN
    }
}

#[test]
fn a_slice_is_100_ms_or_40_and_a_fifth_more_or_less_for_each_level() {
    let bench = cfq();
    let ms = |sync, level| bench.own.whole_slice(sync, level) / 1_000_000;
    assert_eq!([ms(true, 4), ms(true, 0), ms(true, 7)], [100, 180, 40]);
    assert_eq!([ms(false, 4), ms(false, 0), ms(false, 7)], [40, 72, 16]);
}

/// So many processes read; how long a slice of one is, once their number is known.
fn slice_among(processes: u32) -> Duration {
    let mut bench = cfq();
    for process in 0..processes {
        bench.read(process, u64::from(process) * 1_000_000, 8);
    }
    let slices = (0..40).map(|_| bench.own.slice_of(0));
    slices.last().unwrap()
}

#[test]
fn slices_are_shortened_so_that_all_have_one_in_300_ms_but_not_below_two_idling_times() {
    assert_eq!(slice_among(3), Duration::from_ms(100));
    assert_eq!(slice_among(10), Duration::from_ms(30));
    assert_eq!(slice_among(40), Duration::from_ms(16));
}

#[test]
fn the_drive_waits_8_ms_for_the_process_that_has_it_and_then_the_next_one_has_it() {
    let mut bench = cfq();
    let first = bench.read(1, 0, 8);
    let other = bench.read(2, 5_000_000, 8);
    bench.serve(first, 3);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(11))));
    let next = bench.read(1, 8, 8);
    bench.serve(next, 3);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(14))));
    bench.now = at_ms(14);
    assert_eq!(bench.start(), Some(other));
}

#[test]
fn a_slice_begins_with_the_first_answer_and_ends_the_turn() {
    let mut bench = cfq();
    let mine: Vec<u32> = (0..20).map(|step| bench.read(1, step * 8, 8)).collect();
    let other = bench.read(2, 5_000_000, 8);
    // The first takes 50 ms; the slice is from there to 150 ms.
    bench.serve(mine[0], 50);
    for id in &mine[1..10] {
        bench.serve(*id, 10);
    }
    assert_eq!(bench.now, at_ms(140));
    bench.serve(mine[10], 10);
    assert_eq!(bench.start(), Some(other));
}

#[test]
fn one_process_has_four_to_eight_requests_on_the_drive_while_others_wait() {
    let mut bench = cfq();
    (0..20).for_each(|step| {
        bench.read(1, step * 8, 8);
    });
    bench.read(2, 5_000_000, 8);
    let started = std::iter::from_fn(|| bench.start()).count();
    assert_eq!(started, 4, "nothing was answered yet");
    bench.wait(1);
    bench.answer(0);
    let more = std::iter::from_fn(|| bench.start()).count();
    assert_eq!(more, 5, "eight of them, early in a slice");
    let mut alone = cfq();
    (0..20).for_each(|step| {
        alone.read(1, step * 8, 8);
    });
    assert_eq!(std::iter::from_fn(|| alone.start()).count(), 20);
}

#[test]
fn writes_that_nobody_waits_for_give_way() {
    let mut bench = cfq();
    let writes = [bench.write(1, 0, 8), bench.write(1, 8, 8)];
    assert_eq!(bench.start(), Some(writes[0]));
    // A read takes the drive away, but waits until no such write is on it.
    let read = bench.read(2, 5_000_000, 8);
    assert_eq!(bench.start(), None);
    bench.wait(5);
    bench.answer(writes[0]);
    assert_eq!(bench.start(), Some(read));
}

#[test]
fn classes_go_before_each_other() {
    let mut bench = cfq();
    bench.describe(1, at_level(Class::Idle, 0));
    bench.describe(3, at_level(Class::RealTime, 7));
    let idle = bench.read(1, 0, 8);
    let plain = [bench.read(2, 1_000_000, 8), bench.read(2, 1_000_008, 8)];
    bench.serve(plain[0], 2);
    let urgent = bench.read(3, 2_000_000, 8);
    bench.serve(urgent, 2);
    bench.pass(7);
    bench.wait(1);
    bench.serve(plain[1], 2);
    bench.pass(7);
    bench.wait(1);
    assert_eq!(bench.start(), Some(idle));
}
