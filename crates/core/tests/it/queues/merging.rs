//! I/Os that continue each other become one command, and end with it.

use nearslot_core::contract::Merging;
use nearslot_core::io::Moves;
use nearslot_core::op::{Cost, Op};
use nearslot_core::request::Request;
use nearslot_core::sched;
use nearslot_core::units::Duration;

use super::rig::{CONTIGUOUS, Rig};
use crate::support::{DISK, blueprint, scheduler};

#[test]
fn what_continues_while_it_waits_is_one_command_and_ends_with_it() {
    let mut rig = Rig::named("fcfs", CONTIGUOUS);
    // The first one starts at once; the others wait behind it.
    rig.ask(Op::Read, &[800, 100, 300, 116, 108]);
    rig.settle();
    assert_eq!(rig.commands, [(800, 8), (100, 24), (300, 8)]);
    let ended = rig.answers();
    let expected = [
        (1, 5, true),
        (2, 10, true),
        (3, 15, true),
        (4, 10, true),
        (5, 10, true),
    ];
    assert_eq!(ended, expected);
    let (origin, parts) = &rig.origins[1];
    assert_eq!(origin.moves, Moves::Parts);
    assert_eq!(
        origin.request.expect("a client's").0,
        2,
        "the oldest's name"
    );
    let told: Vec<_> = parts.iter().map(|part| (part.at.0, part.len.0)).collect();
    assert_eq!(told, [(100, 8), (108, 8), (116, 8)]);
}

#[test]
fn a_forced_write_stays_a_command_of_its_own() {
    let mut rig = Rig::named("fcfs", CONTIGUOUS);
    rig.ask(Op::Write, &[800, 100]);
    let mut forced = Request::new(3, Op::Write, 108, 8, rig.now);
    forced.fua = true;
    rig.submit(forced);
    rig.ask(Op::Write, &[116, 92]);
    rig.settle();
    assert_eq!(rig.commands, [(800, 8), (92, 16), (108, 8), (116, 8)]);
}

#[test]
fn nothing_is_merged_unless_that_is_wanted() {
    let mut rig = Rig::named("fcfs", Merging::None);
    rig.ask(Op::Read, &[800, 100, 108]);
    rig.settle();
    assert_eq!(rig.commands, [(800, 8), (100, 8), (108, 8)]);
}

#[test]
fn the_parts_share_what_their_command_cost() {
    let disk = blueprint(DISK);
    let mut rig = Rig::over(&*disk, scheduler("fcfs", &*disk), CONTIGUOUS);
    rig.ask(Op::Read, &[9_000, 100, 108, 116]);
    rig.settle();
    assert_eq!(rig.commands, [(9_000, 8), (100, 24)]);
    let mut all = Cost::default();
    for (_, reply) in &rig.replies[1..] {
        let cost = &reply.timeline.cost;
        all.add(cost);
        let response = reply.timeline.response();
        assert!(cost.total() < response, "{cost:?} is not all of it");
    }
    let (began, ended) = (rig.replies[0].0, rig.replies[1].0);
    assert_eq!(all.total(), ended.since(began), "nothing counts twice");
}

#[test]
fn a_request_does_not_fail_for_its_neighbour() {
    let mut rig = Rig::named("fcfs", CONTIGUOUS);
    rig.bad = 110..111;
    rig.ask(Op::Read, &[800, 100, 108, 116]);
    rig.settle();
    let expected = [(800, 8), (100, 24), (100, 8), (108, 8), (116, 8)];
    assert_eq!(rig.commands, expected);
    let expected = [(1, 5, true), (2, 15, true), (3, 20, false), (4, 25, true)];
    assert_eq!(rig.answers(), expected);
}

#[test]
fn what_is_merged_keeps_its_turn() {
    // A back merge and a front merge of what waits first.
    let mut rig = Rig::named("fcfs", CONTIGUOUS);
    rig.ask(Op::Write, &[800, 100, 300, 92, 108]);
    rig.settle();
    assert_eq!(rig.commands, [(800, 8), (92, 24), (300, 8)]);
    // The oldest has expired when the drive is ready; what joins it later does not make it younger.
    let word = "mq-deadline:read_expire_ms=4:fifo_batch=1";
    let mut rig = Rig::named(word, CONTIGUOUS);
    rig.ask(Op::Read, &[800, 200]);
    rig.ask(Op::Read, &[840]);
    rig.now += Duration::from_ms(3);
    rig.ask(Op::Read, &[208]);
    rig.settle();
    assert_eq!(rig.commands, [(800, 8), (200, 16), (840, 8)]);
}

#[test]
fn every_scheduler_serves_what_was_merged() {
    let disk = blueprint(DISK);
    for spec in sched::TABLE {
        let mut rig = Rig::over(&*disk, scheduler(spec.name, &*disk), CONTIGUOUS);
        let pairs = [
            800, 100, 300, 92, 108, 308, 5_000, 4_992, 9_000, 9_016, 9_008,
        ];
        rig.ask(Op::Read, &pairs);
        rig.ask(Op::Write, &pairs[1..]);
        rig.settle();
        let arm_moves = rig.commands.iter().filter(|(_, len)| *len == 0).count();
        assert_eq!(
            rig.commands.len() - arm_moves,
            1 + 2 * 4,
            "{}: {:?}",
            spec.name,
            rig.commands
        );
        assert!(rig.answers().iter().all(|(_, _, done)| *done));
    }
}
