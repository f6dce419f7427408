//! The rules with their times written out.

#![cfg(test)]

use super::*;
use crate::config::PartConfig;
use crate::drive;
use crate::registry::{DriveEnv, KnobValue};
use crate::sched::bench::{Bench, at_ms};
use crate::sched::desk::DISK;
use crate::stream::Stream;

/// With these targets and these parts of the time. A turn is 40 ms.
fn built(targets: &str, prompt: i64, most: i64, admission: &str) -> Result<Slack, ConfigError> {
    let given = [
        ("targets_ms".to_owned(), KnobValue::Text(targets.to_owned())),
        (
            "admission".to_owned(),
            KnobValue::Text(admission.to_owned()),
        ),
        ("prompt_percent".to_owned(), KnobValue::Integer(prompt)),
        ("most_percent".to_owned(), KnobValue::Integer(most)),
        ("quantum_ms".to_owned(), KnobValue::Number(40.0)),
    ];
    let knobs = Knobs::check("slack", SPEC.knobs, &given).unwrap();
    let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
    Slack::new(&knobs, &*blueprint, 1)
}

/// Targets are kept, and nobody with one is served before it must be.
fn bench(targets: &str) -> Bench<Slack> {
    Bench::of(built(targets, 0, 70, "alone").unwrap())
}

/// The same, with this part of the time at once.
fn prompt(targets: &str, percent: i64) -> Bench<Slack> {
    Bench::of(built(targets, percent, 90, "alone").unwrap())
}

/// All requests so far took so long, and so much more or less.
fn knows(bench: &mut Bench<Slack>, ms: u64, off_ms: u64) {
    for party in &mut bench.own.parties {
        let known = Estimate {
            mean: ms * 1_000_000,
            off: off_ms * 1_000_000,
        };
        (party.takes, party.goes_on) = (known, known);
        if let Some(target) = &mut party.target {
            target.service = known;
        }
    }
}

/// Serves so many requests, each in 10 ms and followed by another of its stream; whose they were,
/// and after how many milliseconds each was answered.
fn answered(bench: &mut Bench<Slack>, count: usize) -> Vec<(u32, u64)> {
    let mut answers = Vec::new();
    while answers.len() < count {
        let Some(id) = bench.start() else {
            bench.now = bench.waits_until.expect("something waits");
            continue;
        };
        bench.wait(10);
        bench.answer(id);
        let io = bench.ios[id as usize];
        let (stream, at) = (io.stream.0, u64::from(id) * 8);
        answers.push((stream, bench.now.since(io.arrived).0 / 1_000_000));
        bench.read(stream, u64::from(stream) * 1_000_000 + at, 8);
    }
    answers
}

fn served(bench: &mut Bench<Slack>, count: usize) -> Vec<u32> {
    let answers = answered(bench, count);
    answers.iter().map(|(stream, _)| *stream).collect()
}

fn count(streams: &[u32], stream: u32) -> usize {
    streams.iter().filter(|of| **of == stream).count()
}

fn saved(bench: &Bench<Slack>, party: usize) -> (bool, bool) {
    let target = bench.own.parties[party].target.as_ref().unwrap();
    (target.prompt.left(), target.holds.left())
}

#[test]
fn a_request_with_a_target_goes_when_another_would_make_it_late_and_not_before() {
    let mut bench = bench("0=100");
    let protected = bench.read(0, 50, 8);
    let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 100, 8)).collect();
    knows(&mut bench, 20, 0);
    // It must start at 80 ms: four of the others fit before.
    for other in &others[..4] {
        bench.serve(*other, 20);
    }
    bench.serve(protected, 20);
    assert_eq!(bench.now, at_ms(100));
    bench.serve(others[4], 20);
}

#[test]
fn what_hardly_any_exceeds_is_reckoned_for_both_together() {
    let mut bench = bench("0=100");
    let protected = bench.read(0, 50, 8);
    let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 100, 8)).collect();
    knows(&mut bench, 20, 4);
    // 40 ms and three times the root of 32 are 57 ms: at 40 ms one more fits, at 60 ms none.
    for other in &others[..3] {
        bench.serve(*other, 20);
    }
    bench.serve(protected, 20);
}

#[test]
fn whoever_is_there_is_served_if_there_is_only_one() {
    let mut bench = bench("0=1000");
    let protected = bench.read(0, 50, 8);
    bench.serve(protected, 20);
    let other = bench.read(1, 50, 8);
    bench.serve(other, 20);
}

#[test]
fn several_with_targets_must_all_end_in_time_one_after_the_other_by_deadline() {
    let mut bench = bench("0=110 2=100 3=105");
    let protected = [0, 2, 3].map(|stream| bench.read(stream, 50, 8));
    let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 100, 8)).collect();
    knows(&mut bench, 20, 0);
    // The last of them must be over at 110 ms: they begin at 50 ms, so that two of the others fit.
    bench.serve(others[0], 20);
    bench.serve(others[1], 20);
    for at in [1, 2, 0] {
        bench.serve(protected[at], 20);
    }
    bench.serve(others[2], 20);
}

#[test]
fn so_must_all_requests_of_one_stream_with_a_target() {
    let mut bench = bench("0=100");
    let protected: Vec<u32> = (0..3).map(|step| bench.read(0, step * 100, 8)).collect();
    let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 100, 8)).collect();
    knows(&mut bench, 20, 0);
    bench.serve(others[0], 20);
    bench.serve(others[1], 20);
    for id in protected {
        bench.serve(id, 20);
    }
    bench.serve(others[2], 20);
}

#[test]
fn who_has_had_less_than_its_part_is_next_and_then_waits_until_it_must_start() {
    let mut bench = prompt("0=100", 50);
    for step in 0..9 {
        bench.read(1, step * 100, 8);
    }
    let first = bench.read(0, 50, 8);
    knows(&mut bench, 20, 0);
    bench.serve(first, 20);
    // 50 ms may be saved, what others have in 100 ms; 20 ms of its own cost 10: five times, and it
    // is gone.
    for _ in 0..4 {
        let next = bench.read(0, 50, 8);
        bench.serve(next, 20);
    }
    assert_eq!((bench.own.deferred, saved(&bench, 1).0), (0, false));
    let late = bench.read(0, 50, 8);
    assert_eq!(bench.own.deferred, 1);
    // It came at 100 ms, and must start at 180 ms. That others have their time meanwhile does not
    // bring it forward.
    for step in 0..4 {
        bench.serve(step, 20);
    }
    bench.serve(late, 20);
}

#[test]
fn who_asks_again_and_again_has_its_part_and_not_more() {
    for (percent, times) in [(50, 200), (25, 100)] {
        let mut bench = prompt("0=200", percent);
        bench.read(0, 50, 8);
        bench.read(1, 50, 8);
        knows(&mut bench, 10, 0);
        served(&mut bench, 200);
        let had = count(&served(&mut bench, 400), 0);
        assert!(had.abs_diff(times) <= 10, "{had} of 400 at {percent} %");
    }
}

#[test]
fn what_nobody_else_wants_costs_nothing() {
    let mut bench = prompt("0=100", 50);
    for _ in 0..50 {
        let alone = bench.read(0, 50, 8);
        bench.serve(alone, 20);
    }
    assert_eq!(saved(&bench, 0), (true, true));
    bench.read(1, 100, 8);
    let next = bench.read(0, 50, 8);
    bench.serve(next, 20);
}

#[test]
fn one_that_is_served_at_once_does_not_make_another_late() {
    let mut bench = prompt("0=1000 2=40", 50);
    let early = bench.read(0, 50, 8);
    let due = bench.read(2, 50, 8);
    knows(&mut bench, 20, 0);
    for party in &mut bench.own.parties {
        let target = party.target.as_mut().unwrap();
        target.at_once = target.within > Duration::from_ms(100);
    }
    bench.wait(1);
    // 20 ms for each do not fit into the 39 that are left, whoever is at once.
    bench.serve(due, 20);
    bench.serve(early, 20);
}

#[test]
fn parts_are_divided_by_weight_and_no_stream_with_a_target_spoils_anothers() {
    let mut bench = prompt("0=80 2=80", 60);
    let heavy = Stream {
        weight: 200,
        ..Stream::UNKNOWN
    };
    bench.describe(2, heavy);
    for _ in 0..8 {
        bench.read(0, 50, 8);
        bench.read(1, 50, 8);
    }
    bench.read(2, 50, 8);
    let part = |bench: &Bench<Slack>, at: usize| {
        let target = bench.own.parties[at].target.as_ref().unwrap();
        (target.prompt.part, target.holds.part)
    };
    assert_eq!(part(&bench, 0), (2_000, 3_000));
    assert_eq!(part(&bench, 2), (4_000, 6_000));
    // The first one asks for eight at a time, and misses its target as it asks for too much; the
    // other one keeps its own.
    knows(&mut bench, 10, 0);
    answered(&mut bench, 200);
    let answers = answered(&mut bench, 400);
    let latest = |stream| {
        let of = answers.iter().filter(|answer| answer.0 == stream);
        of.map(|(_, ms)| *ms).max().unwrap()
    };
    assert!(latest(2) <= 80, "{}", latest(2));
    assert!(latest(0) > 80, "{}", latest(0));
}

#[test]
fn the_others_share_by_time_and_weight_a_quantum_each_in_turns() {
    let mut bench = bench("0=1000");
    let heavy = Stream {
        weight: 200,
        ..Stream::UNKNOWN
    };
    bench.describe(2, heavy);
    bench.read(1, 0, 8);
    bench.read(2, 0, 8);
    (0..8).for_each(|_| _ = bench.read(1, 0, 8));
    (0..8).for_each(|_| _ = bench.read(2, 0, 8));
    let streams = served(&mut bench, 60);
    assert_eq!(count(&streams, 2), 40, "two thirds");
    // 40 ms in a row, or 20 if the weight is half.
    assert_eq!(streams[..12], [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
}

/// Who has one request at a time has none there when its turn is over, so a turn is the longer the
/// higher the weight.
#[test]
fn weights_hold_for_who_asks_one_at_a_time() {
    let mut bench = bench("0=1000");
    let heavy = Stream {
        weight: 200,
        ..Stream::UNKNOWN
    };
    bench.describe(2, heavy);
    bench.read(1, 1_000_000, 8);
    bench.read(2, 2_000_000, 8);
    let (mut streams, mut coming) = (Vec::new(), None);
    while streams.len() < 120 {
        // The drive is given its next command, if there is one, before who was answered asks again.
        let started = bench.start();
        if let Some((stream, at)) = coming.take() {
            bench.read(stream, at, 8);
        }
        let Some(id) = started else { continue };
        bench.wait(10);
        bench.answer(id);
        let io = bench.ios[id as usize];
        streams.push(io.stream.0);
        coming = Some((io.stream.0, io.at.0 + 8));
    }
    assert_eq!(streams[..12], [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
    assert_eq!(count(&streams, 2), 80, "two thirds");
}

#[test]
fn who_reads_in_a_row_has_its_turn_alone_on_a_drive_that_holds_several() {
    for rotational in [true, false] {
        let mut bench = bench("0=100");
        bench.own.rotational = rotational;
        let first = bench.read(1, 1_000_000, 8);
        let other = bench.read(2, 2_000_000, 8);
        assert_eq!(bench.start(), Some(first));
        assert_eq!(bench.start().is_some(), !rotational);
        if !rotational {
            continue;
        }
        // One with a target that must start goes between all the same.
        let protected = bench.read(0, 50, 8);
        knows(&mut bench, 20, 0);
        assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(80))));
        bench.wait(80);
        assert_eq!(bench.start(), Some(protected));
        bench.answer(first);
        assert_eq!(bench.start(), Some(other), "the turn of 40 ms is over");
    }
}

#[test]
fn where_nothing_turns_nobody_goes_in_a_row_and_nobody_is_waited_for() {
    let mut bench = prompt("0=1000", 50);
    bench.own.rotational = false;
    for step in 0..4 {
        bench.read(1, step * 8, 8);
        bench.read(2, step * 8, 8);
    }
    assert_eq!(served(&mut bench, 6), [1, 2, 1, 2, 1, 2]);
    let mut bench = prompt("0=1000", 50);
    bench.own.rotational = false;
    let first = bench.read(0, 0, 8);
    let other = bench.read(2, 1_000_000, 8);
    bench.serve(first, 1);
    bench.serve(other, 1);
}

#[test]
fn a_turn_that_is_half_over_ends_when_one_with_a_target_goes_between() {
    let mut bench = prompt("0=1000", 50);
    for step in 0..8 {
        bench.read(1, step * 8, 8);
        bench.read(2, 1_000_000 + step * 8, 8);
    }
    for (between, goes_on) in [(10, 1), (10, 2)] {
        let id = bench.start().unwrap();
        assert_eq!(bench.ios[id as usize].stream.0, 1);
        bench.wait(between);
        bench.answer(id);
        let protected = bench.read(0, 50, 8);
        bench.serve(protected, 1);
        bench.wait(3);
        let next = bench.start().unwrap();
        assert_eq!(bench.ios[next as usize].stream.0, goes_on);
        bench.answer(next);
    }
}

#[test]
fn the_drive_waits_for_who_reads_in_a_row_but_not_beyond_a_target() {
    let mut bench = bench("0=100");
    let first = bench.read(1, 0, 8);
    bench.read(2, 1_000_000, 8);
    bench.serve(first, 1);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(3))));
    let next = bench.read(1, 8, 8);
    bench.serve(next, 1);
    // A target that is due earlier than 2 ms after that.
    let protected = bench.read(0, 50, 8);
    let at = bench.own.homes[protected as usize].at;
    let known = Estimate {
        mean: 98_500_000,
        off: 0,
    };
    bench.own.parties[at].target.as_mut().unwrap().service = known;
    let must = Instant(at_ms(2).0 + 1_500_000);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(must)));
    bench.now = must;
    assert_eq!(bench.start(), Some(protected));
}

#[test]
fn the_drive_waits_for_who_has_part_of_its_time_left_though_it_reads_here_and_there() {
    let mut bench = prompt("0=100", 50);
    let first = bench.read(0, 50, 8);
    let other = bench.read(1, 1_000_000, 8);
    bench.serve(first, 1);
    assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(3))));
    bench.wait(1);
    let next = bench.read(0, 5_000_000, 8);
    bench.serve(next, 1);
    bench.pass(1);
    bench.wait(1);
    bench.serve(other, 1);
    // Without time that is left it is not.
    let mut bench = self::bench("0=100");
    let first = bench.read(0, 50, 8);
    bench.serve(first, 1);
    let other = bench.read(1, 1_000_000, 8);
    bench.serve(other, 1);
}

#[test]
fn who_seeks_or_comes_back_late_or_is_not_waited_for_itself_is_not_waited_for() {
    let mut bench = self::bench("0=1000");
    let seeks: Vec<u32> = (0..25)
        .map(|step| bench.read(1, step * 10_000, 8))
        .collect();
    let other = bench.read(2, 1_000_000, 8);
    for id in seeks {
        bench.serve(id, 1);
    }
    bench.serve(other, 1);

    let mut bench = self::bench("0=1000");
    for step in 0..4 {
        let alone = bench.read(1, step * 8, 8);
        bench.serve(alone, 1);
        bench.pass(10);
    }
    let late = bench.read(1, 32, 8);
    let other = bench.read(2, 1_000_000, 8);
    bench.serve(late, 1);
    bench.serve(other, 1);

    let mut bench = self::bench("0=1000");
    let write = bench.write(1, 0, 8);
    let other = bench.read(2, 1_000_000, 8);
    bench.serve(write, 1);
    bench.serve(other, 1);
}

#[test]
fn who_is_waited_for_has_had_that_time() {
    let mut bench = bench("0=1000");
    let first = bench.read(1, 0, 8);
    bench.read(2, 1_000_000, 8);
    bench.serve(first, 1);
    assert_eq!(bench.start(), None);
    bench.wait(1);
    bench.read(1, 8, 8);
    assert_eq!(bench.own.parties[0].had, 2_000_000, "it came after 1 ms");
    let second = bench.start().unwrap();
    bench.answer(second);
    assert_eq!(bench.start(), None);
    bench.wait(5);
    assert!(
        bench.start().is_some(),
        "it did not come, and 2 ms were lost"
    );
    assert_eq!(bench.own.parties[0].had, 4_000_000);
}

#[test]
fn a_target_that_is_waited_for_pays_for_it() {
    for (rests, deferred) in [(0, 0), (1, 1)] {
        let mut bench = prompt("0=40", 1);
        bench.own.quantum = Duration::from_ms(1);
        bench.read(1, 1_000_000, 8);
        let first = bench.read(0, 50, 8);
        // 1 ms costs 0.99 of the 1 ms that is there.
        bench.serve(first, 1);
        assert_eq!(bench.start(), None);
        bench.wait(rests);
        bench.read(0, 50, 8);
        assert_eq!(bench.own.deferred, deferred);
    }
}

#[test]
fn who_has_had_its_part_of_the_time_waits_like_the_others() {
    let mut bench = Bench::of(built("0=40", 0, 10, "alone").unwrap());
    // Both ask for everything: eight requests of 10 ms each at a time, of which the last would wait
    // for 80 ms.
    for step in 0..8 {
        bench.read(0, step * 8, 8);
        bench.read(1, 1_000_000 + step * 8, 8);
    }
    let of_target = count(&served(&mut bench, 400), 0);
    assert!((180..=240).contains(&of_target), "{of_target}");
}

#[test]
fn streams_of_a_group_have_one_share() {
    let mut bench = bench("0=1000");
    let grouped = Stream {
        group: GroupId(4),
        ..Stream::UNKNOWN
    };
    for stream in 10..110 {
        bench.describe(stream, grouped);
        bench.read(stream, u64::from(stream) * 1_000, 8);
    }
    for step in 0..60 {
        bench.read(1, 9_000_000 + step * 8, 8);
    }
    let mut alone = 0;
    for _ in 0..100 {
        let id = bench.start().unwrap();
        bench.wait(10);
        bench.answer(id);
        alone += u32::from(bench.ios[id as usize].stream.0 == 1);
    }
    assert!(
        (48..=52).contains(&alone),
        "a hundred streams gained nothing: {alone}"
    );
}

#[test]
fn of_others_no_more_are_on_the_drive_than_targets_bear() {
    let mut bench = prompt("0=1000", 50);
    // Writes that nobody waits for: who reads in a row has its turn alone.
    for stream in 1..9 {
        bench.write(stream, 1_000_000, 8);
    }
    let protected = bench.read(0, 50, 8);
    bench.serve(protected, 1);
    bench.own.depth.allowed = 2;
    bench.own.held = None;
    let there = [bench.start().unwrap(), bench.start().unwrap()];
    assert_eq!((bench.start(), bench.waits_until), (None, None));
    let protected = bench.read(0, 50, 8);
    assert_eq!(bench.start(), Some(protected), "it is none of them");
    assert_eq!(bench.start(), None);
    bench.answer(there[0]);
    assert!(bench.start().is_some());
    // Its own are as few at a time.
    let mut more = || {
        bench.read(0, 50, 8);
        bench.start().is_some()
    };
    assert_eq!([more(), more(), more()], [true, false, false]);
}

#[test]
fn what_would_wait_for_room_waits_on_a_disk_and_lets_a_target_go_where_nothing_turns() {
    for rotational in [true, false] {
        let mut bench = bench("0=1000");
        bench.own.rotational = rotational;
        let first = bench.read(0, 50, 8);
        bench.serve(first, 1);
        bench.own.depth.allowed = 1;
        bench.read(1, 0, 8);
        bench.read(2, 0, 8);
        let protected = bench.read(0, 50, 8);
        assert!(bench.start().is_some());
        let next = (!rotational).then_some(protected);
        assert_eq!(bench.start(), next);
    }
}

#[test]
fn answers_are_counted_by_whether_they_came_in_time() {
    let mut bench = bench("0=100");
    for ms in [20, 100, 101] {
        let id = bench.read(0, 50, 8);
        bench.serve(id, ms);
    }
    let mut told = Vec::new();
    bench
        .own
        .tell(&mut |measure, value| told.push((measure.name, value)));
    assert_eq!(
        told,
        [
            ("kept", 2),
            ("missed", 1),
            ("late_us", 1_000),
            ("deferred", 3)
        ]
    );
}

/// What is said of these targets.
fn said(targets: &str, admission: &str) -> String {
    let error = built(targets, 50, 70, admission).err();
    error.map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn what_cannot_be_promised_is_refused_with_what_can() {
    let error = said("3=35.9", "alone");
    assert!(error.contains("slack.targets_ms = 3=35.9"), "{error}");
    assert!(error.contains("at least 36.000: so long does a random read of 4 KiB take on this drive in 99 of 100 cases, if nobody else asks"), "{error}");
    assert_eq!(said("3=36", "alone"), "");
    // 128 KiB are the whole of this disk.
    let error = said("3=239.9", "beside");
    assert!(error.contains("at least 240.000: so long does"), "{error}");
    assert!(
        error.contains("and one command of 128 KiB of a stream without a target"),
        "{error}"
    );
    assert!(error.contains("; admission=alone leaves"), "{error}");
    assert_eq!(said("3=240", "beside"), "");
    let part: PartConfig = "slack:targets_ms=0=239.9".parse().unwrap();
    let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
    let env = DriveEnv {
        blueprint: &*blueprint,
        label: "drive",
        seed: 1,
    };
    assert!(
        part.build::<dyn Scheduler>(&env).is_err(),
        "beside others unless told"
    );
}

#[test]
fn targets_are_refused_that_cannot_be_kept_together_if_all_ask_at_once() {
    let error = said("3=66.9 2=40", "alone");
    assert!(error.contains("slack.targets_ms = 3=66.9"), "{error}");
    assert!(error.contains("at least 67.000: so long does a random read of 4 KiB take on this drive, behind one of another stream whose target is not longer"), "{error}");
    assert_eq!(said("3=67 2=40", "alone"), "", "40 ms are served first");
    let error = said("1=300 3=70 4=80 2=40", "alone");
    assert!(error.contains("slack.targets_ms = 4=80"), "{error}");
    assert!(
        error.contains("behind one each of 2 other streams"),
        "{error}"
    );
}

#[test]
fn a_stream_has_one_target_or_none() {
    assert!(admission::targets("3=25 3=30").is_none());
    assert!(admission::targets("x=25").is_none());
    assert!(admission::targets("3=0").is_none());
    assert_eq!(admission::targets("3=25 7=0.5").unwrap().len(), 2);
}

#[test]
fn whether_a_request_is_served_at_once_is_decided_when_its_turn_begins() {
    let mut bench = prompt("0=100", 50);
    for step in 0..9 {
        bench.read(1, step * 100, 8);
    }
    for _ in 0..5 {
        let id = bench.read(0, 50, 8);
        knows(&mut bench, 20, 0);
        bench.serve(id, 20);
    }
    let late = bench.read(0, 50, 8);
    bench.serve(0, 20);
    bench.serve(1, 20);
    // There is time left again, and another one comes; both must be over in time, and begin at 180
    // ms.
    let another = bench.read(0, 50, 8);
    assert!(saved(&bench, 1).0);
    bench.serve(2, 20);
    bench.serve(3, 20);
    bench.serve(late, 20);
    bench.serve(another, 20);
    assert_eq!(bench.own.deferred, 1, "the other one's turn came later");
}

#[test]
fn what_goes_on_where_the_last_one_ended_is_reckoned_by_itself() {
    let mut bench = bench("0=100");
    let protected = bench.read(0, 5_000, 8);
    let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 8, 8)).collect();
    knows(&mut bench, 20, 0);
    bench.own.parties[1].takes.mean = 81_000_000;
    for other in &others[..4] {
        bench.serve(*other, 20);
    }
    bench.serve(protected, 20);
    // Now it does not go on there any more, and 81 ms before another one are too long.
    let protected = bench.read(0, 5_000, 8);
    bench.serve(protected, 20);
    bench.serve(others[4], 20);
}

#[test]
fn answers_are_what_estimates_and_the_bound_follow() {
    let mut bench = bench("0=100");
    for stream in 1..6 {
        bench.write(stream, 1_000, 8);
        assert!(bench.start().is_some(), "nobody with a target has asked");
    }
    let protected = bench.read(0, 50, 8);
    knows(&mut bench, 101, 0);
    assert_eq!(bench.start(), Some(protected));
    bench.wait(101);
    bench.answer(protected);
    assert_eq!(bench.own.depth.allowed, 2);
    let service = bench.own.parties[5].target.as_ref().unwrap().service;
    assert_eq!(service.mean, 101_000_000, "not its part of them");
}

#[test]
fn of_whom_nothing_is_known_is_taken_for_the_others() {
    let mut bench = bench("0=1000");
    for step in 1..60 {
        let id = bench.read(1, step * 1_000, 8);
        bench.serve(id, 10);
    }
    bench.read(2, 0, 8);
    let takes = bench.own.parties[1].takes;
    assert!((9_900_000..10_200_000).contains(&takes.mean), "{takes:?}");
}

#[test]
fn who_comes_back_has_no_more_of_the_past_to_its_credit_than_those_that_had_least() {
    let mut bench = bench("0=1000");
    let early = bench.read(2, 0, 8);
    bench.serve(early, 1);
    bench.read(1, 0, 8);
    bench.read(3, 0, 8);
    served(&mut bench, 80);
    (0..8).for_each(|_| _ = bench.read(2, 0, 8));
    let had = count(&served(&mut bench, 24), 2);
    assert!((8..=12).contains(&had), "a third, but for a turn: {had}");
}
