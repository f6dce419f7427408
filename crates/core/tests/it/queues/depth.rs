//! Drives that hold several commands and sort them by themselves.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{
    Blueprint, Drive, Merging, Next, Oracle, Placement, Scheduler, View,
};
use nearslot_core::drive;
use nearslot_core::drive::queued::{QueuedBlueprint, SCHED_DEFAULT};
use nearslot_core::ids::IoId;
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::op::Op;
use nearslot_core::request::{Request, Timeline};
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::stack::Input;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::rig::Rig;
use crate::support::{DISK, blueprint, complete_disk, hoarding_disk, scheduler};

/// A drive of this file that holds so many commands and sorts them so.
fn queued(text: &str, depth: u32, sched: &'static str) -> QueuedBlueprint {
    let make = move |blueprint: &dyn Blueprint| scheduler(sched, blueprint);
    QueuedBlueprint::new(blueprint(text), depth, Arc::new(make))
}

/// A host's scheduler that sorts among the oldest only: so many as a drive of that depth has
/// besides the one that it does.
struct Window {
    inner: Box<dyn Scheduler>,
    room: usize,
    beyond: VecDeque<Io>,
}

impl Scheduler for Window {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        match self.inner.len() < self.room {
            true => self.inner.insert(now, io, streams),
            false => self.beyond.push_back(*io),
        }
    }

    fn withdraw(&mut self, _now: Instant, _io: &Io) {
        panic!("nothing here has alternatives");
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let next = self.inner.next(view);
        if self.inner.len() < self.room
            && let Some(io) = self.beyond.pop_front()
        {
            self.inner.insert(view.now, &io, &Streams::default());
        }
        next
    }

    fn len(&self) -> usize {
        self.inner.len() + self.beyond.len()
    }
}

/// What each request of a random load goes through.
fn answers(mut rig: Rig, seed: u64) -> Vec<(u64, Timeline)> {
    let mut rng = Rng::stream(seed, "depth");
    for id in 1..=400 {
        let op = if rng.chance(0.6) { Op::Read } else { Op::Write };
        let start = rng.below(12_800 - 16);
        rig.submit(Request::new(id, op, start, 1 + rng.below(16), rig.now));
        if rng.chance(0.3) {
            let until = rig.now + Duration::from_us(rng.below(60_000));
            while rig.step(until) {}
            rig.now = until;
        }
    }
    rig.settle();
    let answers = rig.replies.iter();
    let mut answers: Vec<_> = answers
        .map(|(_, reply)| (reply.request.id.0, reply.timeline))
        .collect();
    answers.sort_unstable_by_key(|(id, _)| *id);
    answers
}

/// Panics at the first request that fares otherwise.
fn assert_alike(one: Vec<(u64, Timeline)>, other: Vec<(u64, Timeline)>, case: &str) {
    assert_eq!(one.len(), other.len(), "{case}");
    for (one, other) in one.into_iter().zip(other) {
        assert_eq!(one, other, "{case}");
    }
}

/// True of schedulers that do not look at when a request came to the host, which the drive does not
/// know: `aged_satf` does.
#[test]
fn a_drive_that_sorts_serves_as_a_host_that_sorts_among_as_many() {
    let complete = complete_disk();
    for (seed, depth) in [2_u32, 3, 8, 32].into_iter().enumerate() {
        for text in [DISK, complete.as_str()] {
            for sched in ["satf", "mq-deadline", "clook", "fcfs"] {
                let firmware = queued(text, depth, sched);
                let fcfs = scheduler("fcfs", &firmware);
                let below = answers(Rig::over(&firmware, fcfs, Merging::None), seed as u64);
                let bare = blueprint(text);
                let window = Window {
                    inner: scheduler(sched, &*bare),
                    room: depth as usize - 1,
                    beyond: VecDeque::new(),
                };
                let rig = Rig::over(&*bare, Box::new(window), Merging::None);
                let case = format!("{sched} among {depth}");
                assert_alike(below, answers(rig, seed as u64), &case);
            }
        }
    }
}

#[test]
fn a_queue_of_one_command_changes_nothing() {
    let complete = complete_disk();
    for text in [DISK, complete.as_str()] {
        for sched in ["fcfs", "satf", "mq-deadline"] {
            let one = queued(text, 1, "fcfs");
            let around = Rig::over(&one, scheduler(sched, &one), Merging::None);
            let bare = blueprint(text);
            let rig = Rig::over(&*bare, scheduler(sched, &*bare), Merging::None);
            assert_alike(answers(around, 9), answers(rig, 9), sched);
        }
    }
}

#[test]
fn a_deep_drive_that_sorts_serves_sooner_than_one_that_does_not() {
    let last = |depth| {
        let drive = queued(DISK, depth, "satf");
        let fcfs = scheduler("fcfs", &drive);
        let answers = answers(Rig::over(&drive, fcfs, Merging::None), 3);
        let replied = answers.iter().map(|(_, timeline)| timeline.replied.0);
        replied.sum::<u64>()
    };
    assert!(last(32) < last(4), "32 in flight help over 4");
    assert!(last(4) < last(1), "4 in flight help over 1");
}

/// How long requests of 4 KiB in a row take, all there from the begin, in milliseconds.
fn in_a_row(text: &str, op: Op, depth: u32, sched: &'static str) -> u64 {
    let drive = queued(text, depth, sched);
    let mut rig = Rig::over(&drive, scheduler("fcfs", &drive), Merging::None);
    for id in 1..=2_000 {
        rig.submit(Request::new(id, op, (id - 1) * 8, 8, rig.now));
    }
    rig.settle();
    rig.now.0 / 1_000_000
}

/// Positioning times do not know the buffer: who sorts by them alone takes a stream of reads apart.
/// Writes the buffer puts in order once more.
#[test]
fn a_drive_that_sorts_serves_a_stream_as_fast_as_one_that_does_not() {
    let text = include_str!("../../../src/drive/catalog/hitachi-7200-90mb.toml");
    for op in [Op::Read, Op::Write] {
        let alone = in_a_row(text, op, 1, "fcfs");
        for depth in [4, 32] {
            let sorted = in_a_row(text, op, depth, SCHED_DEFAULT);
            assert!(
                sorted < alone * 11 / 10,
                "{op:?} among {depth}: {sorted} and {alone} ms"
            );
        }
        let by_position = in_a_row(text, op, 32, "aged_satf");
        let apart = by_position > alone * 5 / 4;
        assert_eq!(apart, op == Op::Read, "{op:?}: {by_position} ms");
    }
}

fn command(io: u32, op: Op, at: u64, len: u64) -> Command {
    Command {
        io: IoId(io),
        op,
        at: Pba(at),
        len: Blocks(len),
        fua: false,
    }
}

/// The names of commands in the order in which they end.
fn ended(drive: &mut dyn Drive) -> Vec<u32> {
    let mut ended = Vec::new();
    while let Some(due) = drive.next_event() {
        ended.extend(drive.advance(due).map(|done| done.io.0));
    }
    ended
}

#[test]
fn a_flush_waits_for_what_came_before_it_and_what_comes_later_waits_for_the_flush() {
    let mut drive = queued(DISK, 8, "clook").drive();
    for command in [
        command(0, Op::Write, 100, 8),
        command(1, Op::Write, 9_000, 8),
        command(2, Op::Write, 5_000, 8),
        command(3, Op::Flush, 0, 0),
        // Near, but later.
        command(4, Op::Write, 108, 8),
        command(5, Op::Flush, 0, 0),
        command(6, Op::Read, 116, 8),
    ] {
        drive.submit(Instant::ZERO, &command);
    }
    assert_eq!(ended(&mut *drive), [0, 2, 1, 3, 4, 5, 6]);
}

#[test]
fn every_scheduler_may_be_a_firmware() {
    for spec in sched::TABLE {
        let mut drive = queued(DISK, 6, spec.name).drive();
        let mut rng = Rng::stream(4, spec.name);
        let (mut now, mut free, mut done) = (Instant::ZERO, Vec::from_iter(0..6), 0);
        while done < 300 {
            while let Some(name) = free.pop() {
                let at = rng.below(12_000);
                drive.submit(now, &command(name, Op::Read, at, 8));
            }
            now = drive.next_event().expect("it has commands");
            if let Some(ended) = drive.advance(now) {
                free.push(ended.io.0);
                done += 1;
            }
        }
    }
}

#[test]
#[should_panic(expected = "the drive is full")]
fn a_drive_takes_no_more_than_its_depth() {
    let mut drive = queued(DISK, 2, "fcfs").drive();
    for name in 0..3 {
        drive.submit(Instant::ZERO, &command(name, Op::Read, 0, 8));
    }
}

#[test]
fn the_host_knows_where_the_arm_was_when_a_command_ended() {
    let blueprint = queued(DISK, 5, "satf");
    let (mut drive, mut host) = (blueprint.drive(), blueprint.exact());
    let mut rng = Rng::stream(8, "host");
    let (mut now, mut free) = (Instant::ZERO, Vec::from_iter(0..5));
    for _ in 0..500 {
        while let Some(name) = free.pop() {
            let command = command(name, Op::Read, rng.below(12_000), 8);
            host.advance(now);
            host.started(now, &command);
            drive.submit(now, &command);
        }
        now = drive.next_event().expect("it has commands");
        let done = drive.advance(now).expect("a command ends");
        host.observed(now, &done);
        let arm = host.arm().expect("it is a disk").position();
        assert_eq!(Some(arm), done.arm);
        free.push(done.io.0);
    }
}

/// Of a drive with a buffer a host knows as much as an oracle that is told what the drive does,
/// when it does it.
#[test]
fn the_host_prices_as_one_who_saw_what_has_ended() {
    let complete = complete_disk();
    let blueprint = queued(&complete, 4, "satf");
    let (mut drive, mut host) = (blueprint.drive(), blueprint.exact());
    let mut told = crate::support::blueprint(&complete).exact();
    let mut rng = Rng::stream(9, "host");
    let (mut now, mut free) = (Instant::ZERO, Vec::from_iter(0..4));
    for _ in 0..500 {
        while let Some(name) = free.pop() {
            let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
            let command = command(name, op, rng.below(12_000), 8);
            host.started(now, &command);
            drive.submit(now, &command);
        }
        now = drive.next_event().expect("it has commands");
        let done = drive.advance(now).expect("a command ends");
        host.observed(now, &done);
        let Command { io, op, .. } = command(done.io.0, done.op, 0, 8);
        let (at, len) = (done.at, done.len);
        let began = Instant(now.0 - done.cost.total().0);
        let fua = false;
        told.started(
            began,
            &Command {
                io,
                op,
                at,
                len,
                fua,
            },
        );
        told.observed(now, &done);
        let place = host.locate(Pba(rng.below(12_000)));
        let price = host.positioning_time(now, Op::Read, &place, Blocks(1));
        assert_eq!(
            price,
            told.positioning_time(now, Op::Read, &place, Blocks(1))
        );
        free.push(done.io.0);
    }
}

#[test]
fn a_drive_that_chooses_last_gets_as_much_as_it_may_have() {
    let drive = queued(DISK, 3, "satf");
    let fcfs = scheduler("fcfs", &drive);
    let mut rig = Rig::over(&drive, fcfs, Merging::None);
    rig.stack.choose_last(true);
    rig.ask(Op::Read, &[0, 100, 200, 300]);
    assert_eq!(rig.commands.len(), 0);
    rig.give(Input::Choose);
    assert_eq!(rig.commands.len(), 3);
}

/// First come, first served, and looks at how much the drive has.
struct Onlooker(VecDeque<IoId>, u32);

impl Scheduler for Onlooker {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.0.push_back(io.id);
    }

    fn withdraw(&mut self, _now: Instant, _io: &Io) {}

    fn next(&mut self, view: &View<'_>) -> Next {
        assert_eq!((view.in_flight, view.depth), (self.1, 3));
        let Some(id) = self.0.pop_front() else {
            return Next::Empty;
        };
        self.1 += 1;
        Next::Start(id)
    }

    fn done(
        &mut self,
        _now: Instant,
        _io: &Io,
        _done: &nearslot_core::io::DriveDone,
        _streams: &Streams,
    ) {
        self.1 -= 1;
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn a_scheduler_sees_how_much_the_drive_has() {
    let drive = queued(DISK, 3, "satf");
    let onlooker = Box::new(Onlooker(VecDeque::new(), 0));
    let mut rig = Rig::over(&drive, onlooker, Merging::None);
    rig.ask(Op::Read, &[0, 100, 200, 300, 400]);
    assert_eq!(rig.commands.len(), 3);
    assert_eq!(rig.stack.waiting(), 2);
    rig.settle();
    assert_eq!(rig.commands.len(), 5);
}

/// Why a stack cannot be built.
fn refused(drive: &str, text: &str, place: &str) -> String {
    let drive = DriveConfig {
        part: drive.parse().expect("a part's name"),
        text: text.to_owned(),
    };
    let place: PartConfig = place.parse().expect("a part's name");
    let built = StackConfig::over(drive, 1)
        .with::<dyn Placement>(place)
        .build();
    built
        .err()
        .map_or_else(|| "it is built".to_owned(), |error| error.to_string())
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_eq!(refused("x:queue_depth=32", DISK, "linear"), "it is built");
    let named = |drive: &str, place: &str| refused(drive, DISK, place);
    let error = named("x:queue_sched=satf", "linear");
    assert!(
        error.contains("drive x: queue_sched = satf (allowed: queue_depth above 1"),
        "{error}"
    );
    let error = named("x:queue_depth=32:queue_sched=satv", "linear");
    assert!(error.contains("queue_sched"), "{error}");
    assert!(error.contains("did you mean `satf`"), "{error}");
    let error = named("x:queue_depth=0", "linear");
    assert!(error.contains("queue_depth = 0"), "{error}");
    let error = named("x:queue_depth=2", "eager");
    assert!(
        error.contains("queue_depth = 2 (allowed: 1 with place = eager"),
        "{error}"
    );
    let null = drive::catalog_text("null").expect("it is there");
    let error = refused("null:queue_depth=2", null, "linear");
    assert!(error.contains("queue_depth"), "{error}");
}

/// Sends a command of eight blocks, and tells the oracle of it.
fn send(
    (drive, oracle): (&mut dyn Drive, &mut dyn Oracle),
    now: Instant,
    (io, op, at): (u32, Op, u64),
) -> Command {
    let command = Command {
        io: IoId(io),
        op,
        at: Pba(at),
        len: Blocks(8),
        fua: false,
    };
    drive.submit(now, &command);
    oracle.started(now, &command);
    command
}

/// The next command of a drive ends, and the oracle is told; `meanwhile` it is asked at each
/// instant at which the drive does something.
fn end(
    (drive, oracle): (&mut dyn Drive, &mut dyn Oracle),
    mut meanwhile: impl FnMut(&mut dyn Oracle, Instant),
) -> (Instant, DriveDone) {
    loop {
        let now = drive.next_event().expect("it has a command");
        meanwhile(oracle, now);
        if let Some(done) = drive.advance(now) {
            oracle.observed(now, &done);
            return (now, done);
        }
    }
}

/// A host knows what a drive that sorts has in its buffer when the last command has ended. While
/// the drive has commands, what they bring and push out is not known, and nothing is told.
#[test]
fn what_the_buffer_has_is_told_while_the_drive_has_no_command() {
    let firmware = queued(&complete_disk(), 4, SCHED_DEFAULT);
    let (mut drive, mut oracle) = (firmware.drive(), firmware.exact());
    let told = |oracle: &dyn Oracle, now: Instant, op: Op| {
        let mut begins = Vec::new();
        oracle.buffered(now, op, &mut |served| begins.push(served.begins));
        begins
    };
    let has = |begins: &[Range<Pba>], at: u64| begins.iter().any(|one| one.contains(&Pba(at)));
    send(
        (&mut *drive, &mut *oracle),
        Instant::ZERO,
        (0, Op::Read, 1_000),
    );
    assert_eq!(told(&*oracle, Instant::ZERO, Op::Read), []);
    let (now, _) = end((&mut *drive, &mut *oracle), |_, _| {});
    oracle.advance(now);
    assert!(has(&told(&*oracle, now, Op::Read), 1_000));
    // Two more: as long as one of them is under way nothing is told of any.
    send((&mut *drive, &mut *oracle), now, (1, Op::Write, 5_000));
    send((&mut *drive, &mut *oracle), now, (2, Op::Read, 9_000));
    for ended in 0..2 {
        oracle.advance(now);
        for op in [Op::Read, Op::Write] {
            assert_eq!(told(&*oracle, now, op), [], "{ended} of two have ended");
        }
        end((&mut *drive, &mut *oracle), |_, _| {});
    }
    let now = now + Duration::from_ms(100);
    oracle.advance(now);
    let begins = told(&*oracle, now, Op::Read);
    assert!([5_000, 9_000].iter().all(|at| has(&begins, *at)));
}

/// When a command ends, a host's prices are those of whoever saw each command begin: when the one
/// before ended, or when it was sent. That others ask the host meanwhile changes nothing.
#[test]
fn a_host_prices_as_who_sees_each_command_begin() {
    let mut rng = Rng::stream(7, "host");
    for text in [DISK.to_owned(), complete_disk(), hoarding_disk()] {
        let firmware = queued(&text, 4, "fcfs");
        let (mut drive, mut host) = (firmware.drive(), firmware.exact());
        let mut seen = blueprint(&text).exact();
        let mut now = Instant::ZERO;
        for _ in 0..300 {
            let sent = (0..1 + rng.below(4) as u32).map(|io| {
                let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
                let place = (io, op, rng.below(12_800 - 8));
                send((&mut *drive, &mut *host), now, place)
            });
            let sent: Vec<Command> = sent.collect();
            for command in sent {
                seen.started(now, &command);
                let ask = |host: &mut dyn Oracle, at: Instant| host.advance(at);
                let (ends, done) = end((&mut *drive, &mut *host), ask);
                seen.observed(ends, &done);
                now = ends;
                let place = seen.locate(Pba(rng.below(12_800)));
                for op in [Op::Read, Op::Write] {
                    let price = |of: &dyn Oracle| of.positioning_time(now, op, &place, Blocks(8));
                    assert_eq!(price(&*host), price(&*seen), "{op:?} at {now}");
                }
            }
            now += Duration::from_us(rng.below(2) * rng.below(30_000));
            host.advance(now);
            seen.advance(now);
        }
    }
}
