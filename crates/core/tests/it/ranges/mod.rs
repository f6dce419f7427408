//! Range writes through whole stacks: every scheduler that chooses in its own way, over disks,
//! flash and a drive without mechanics.
//!
//! A client ([`client`]) offers what it takes for free, hears of completions late, frees blocks and
//! uses them again. Whatever chooses, a write lands within what was offered, aligned and whole,
//! never where another one is or what was not freed lies; and it is answered once.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]

mod choice;
mod client;
mod cuts;
mod planned;
mod prices;
mod zoned;

use nearslot_core::contract::{Blueprint, Merging};
use nearslot_core::drive::queued::QueuedBlueprint;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::Request;
use nearslot_core::sched;
use nearslot_core::stack::Input;
use nearslot_core::units::Instant;

use self::client::{Client, Habits};
use crate::conformance::drives::SSD;
use crate::queues::rig::{CONTIGUOUS, Rig};
use crate::support::{DISK, NULL, blueprint, complete_disk, number, scheduler};
use nearslot_core::offer::{Offer, Refused};
use nearslot_core::units::Blocks;
use std::sync::Arc;

/// Those that choose among places by themselves, and all that go by where a range write might lie.
fn schedulers() -> impl Iterator<Item = &'static str> {
    let all = sched::TABLE.iter().map(|spec| spec.name);
    all.chain(["expand:options=4", "expand:base=look"])
}

/// Requests of each run; more than a million in all with `NEARSLOT_RANGE_WRITES=8000`.
fn requests() -> u64 {
    number("NEARSLOT_RANGE_WRITES", 1_000)
}

#[test]
fn nobody_writes_where_another_one_does_whatever_chooses() {
    let disk = complete_disk();
    let mut sum = client::Counts::default();
    for (number, name) in schedulers().enumerate() {
        let plain = [DISK, &disk, NULL, SSD].into_iter().map(blueprint);
        let sorting = [DISK, &disk].map(|text| choosing(text, name));
        for (index, blueprint) in plain.chain(sorting).enumerate() {
            let mut rig = Rig::over(&*blueprint, scheduler(name, &*blueprint), CONTIGUOUS);
            let seed = 100 * number as u64 + index as u64;
            rig.stack.choose_last(seed % 2 == 1);
            let habits = Habits::drawn(seed);
            let mut client = Client::new(rig, habits, seed);
            client.run(requests());
            sum.add(&client.counts);
        }
    }
    // What the suite is about has happened.
    assert!(sum.landed > 10_000, "{sum:?}");
    assert!(sum.exhausted > 50, "{sum:?}");
    assert!(sum.late > 5_000, "{sum:?}");
    assert!(sum.retried > 50 && sum.failed > 5, "{sum:?}");
    assert!(sum.refused > 20, "{sum:?}");
}

/// A disk that holds eight commands, and chooses the places of range writes with this scheduler in
/// its firmware.
fn choosing(text: &str, name: &'static str) -> Box<dyn Blueprint> {
    let firmware = Arc::new(move |bare: &dyn Blueprint| scheduler(name, bare));
    Box::new(QueuedBlueprint::new(blueprint(text), 8, firmware))
}

fn offer(ranges: &[std::ops::Range<u64>]) -> Arc<Offer> {
    Arc::new(Offer::list(ranges.to_vec(), 1).unwrap())
}

fn range_write(id: u64, at: u64, len: u64) -> Request {
    Request {
        offered: true,
        ..Request::new(id, Op::Write, at, len, Instant::ZERO)
    }
}

/// A rig over the small disk, under SATF.
fn rig() -> Rig {
    let blueprint = blueprint(DISK);
    Rig::over(&*blueprint, scheduler("satf", &*blueprint), Merging::None)
}

fn landed(rig: &Rig) -> Vec<(u64, u64, Status)> {
    let replies = rig.replies.iter().map(|(_, reply)| {
        let Request { id, extent, .. } = reply.request;
        (id.0, extent.start.0, reply.status)
    });
    replies.collect()
}

#[test]
fn the_answer_says_where_a_write_has_landed() {
    let mut rig = rig();
    rig.give(Input::Offer(
        range_write(1, 13, 4),
        offer(&[13..17, 40..44]),
        0,
    ));
    rig.settle();
    assert_eq!(rig.commands.len(), 1);
    let (at, len) = rig.commands[0];
    assert!(at == 13 || at == 40, "at {at}");
    assert_eq!(len, 4);
    assert_eq!(landed(&rig), [(1, at, Status::Done)]);
}

#[test]
fn a_drive_that_chooses_says_where_a_write_has_landed() {
    let blueprint = choosing(DISK, "satf");
    let mut rig = Rig::over(&*blueprint, scheduler("fcfs", &*blueprint), Merging::None);
    // Under FIFO before the drive the hint would be block 19; block 4 passes first.
    rig.give(Input::Offer(
        range_write(1, 19, 1),
        offer(&[4..5, 19..20]),
        0,
    ));
    for id in 2..=3 {
        rig.give(Input::Offer(range_write(id, 6, 1), offer(&[6..7]), 0));
    }
    rig.settle();
    assert_eq!(rig.commands, [(4, 1), (6, 1)]);
    let mut told = landed(&rig);
    told.sort_unstable_by_key(|(id, ..)| *id);
    let failed = Status::Failed(Failure::Exhausted);
    assert_eq!(
        told,
        [(1, 4, Status::Done), (2, 6, Status::Done), (3, 6, failed)]
    );
    assert_eq!(rig.stack.epoch(), 3);
}

#[test]
fn what_is_exhausted_says_so_and_writes_nothing() {
    let mut rig = rig();
    for id in 1..=3 {
        rig.give(Input::Offer(range_write(id, 5, 1), offer(&[5..7]), 0));
    }
    rig.settle();
    assert_eq!(rig.commands.len(), 2);
    let failed = Status::Failed(Failure::Exhausted);
    // It ends when the second one begins.
    let mut told = landed(&rig);
    told.sort_unstable_by_key(|(id, ..)| *id);
    assert_eq!(told[0].2, Status::Done);
    assert_eq!(
        told.iter().filter(|(.., status)| *status == failed).count(),
        1
    );
    assert_eq!(told[2].2, failed);
}

#[test]
fn a_bad_block_sends_a_write_elsewhere_and_is_told_only_if_there_is_nothing_else() {
    let mut rig = rig();
    rig.bad = 5..6;
    rig.give(Input::Offer(
        range_write(1, 5, 1),
        offer(&[5..6, 60..61]),
        0,
    ));
    rig.settle();
    assert_eq!(landed(&rig), [(1, 60, Status::Done)]);
    let epoch = rig.stack.epoch();
    rig.give(Input::Offer(range_write(2, 5, 1), offer(&[5..6]), epoch));
    rig.settle();
    assert_eq!(landed(&rig)[1], (2, 5, Status::Failed(Failure::Medium)));
    // It was tried at both, and has landed nowhere: its answer has the address that it came with.
    rig.bad = 5..16;
    let epoch = rig.stack.epoch();
    let both = offer(&[5..6, 15..16]);
    rig.give(Input::Offer(range_write(3, 40, 1), both, epoch));
    rig.settle();
    assert_eq!(landed(&rig)[2], (3, 40, Status::Failed(Failure::Medium)));
}

/// A queue with little room, and one that counts what has not ended, are as empty as before.
#[test]
fn what_is_exhausted_leaves_no_trace_in_its_queue() {
    for name in ["mq_deadline:nr_requests=2", "kyber"] {
        let blueprint = blueprint(DISK);
        let mut rig = Rig::over(&*blueprint, scheduler(name, &*blueprint), Merging::None);
        for id in 1..=400 {
            rig.give(Input::Offer(range_write(id, 5, 1), offer(&[5..6]), 0));
        }
        rig.settle();
        assert_eq!(rig.commands, [(5, 1)], "{name}");
        for id in 401..=404 {
            rig.submit(Request::new(id, Op::Write, 8 * id, 1, rig.now));
        }
        rig.settle();
        assert_eq!(rig.commands.len(), 5, "{name}");
    }
}

#[test]
fn an_offer_of_what_was_taken_meanwhile_is_not_had() {
    let mut rig = rig();
    rig.give(Input::Offer(range_write(1, 5, 1), offer(&[5..7]), 0));
    rig.settle();
    let (_, taken, _) = landed(&rig)[0];
    // Its client has not heard of the first one yet.
    rig.give(Input::Offer(range_write(2, 5, 1), offer(&[5..7]), 0));
    rig.settle();
    assert_ne!(landed(&rig)[1].1, taken);
    rig.give(Input::Offer(range_write(3, 5, 1), offer(&[5..7]), 0));
    rig.settle();
    assert_eq!(landed(&rig)[2].2, Status::Failed(Failure::Exhausted));
    // One that has heard of both may have freed them.
    rig.give(Input::Offer(range_write(4, 5, 1), offer(&[5..7]), 2));
    rig.settle();
    assert_eq!(landed(&rig)[3].2, Status::Done);
    let none = rig.stack.check_offer(&offer(&[5..7]), Blocks(3), 2);
    assert!(matches!(none, Err(Refused::NoCandidate { .. })));
}

#[test]
fn a_placement_with_addresses_of_its_own_refuses_them() {
    let blueprint = blueprint(DISK);
    let stripe: nearslot_core::config::PartConfig = "stripe".parse().unwrap();
    let env = nearslot_core::registry::VolumeEnv {
        seed: 1,
        label: "place",
        names: crate::support::NAMES,
        blueprint: &*blueprint,
        identity: "of the test",
        memo: &nearslot_core::registry::Forgetful,
        survivors: None,
    };
    let place = stripe
        .build::<dyn nearslot_core::contract::Placement>(&env)
        .unwrap();
    let lanes = (0..place.shape().drives).map(|_| nearslot_core::stack::Lane {
        scheduler: scheduler("satf", &*blueprint),
        oracle: blueprint.exact(),
        capacity: blueprint.capacity(),
        depth: 1,
        merging: Merging::None,
        lands: false,
        zones: None,
    });
    let lanes = lanes.collect();
    let stack = nearslot_core::stack::Stack::new(place, lanes);
    let refused = stack
        .check_offer(&offer(&[5..7]), Blocks(1), 0)
        .unwrap_err();
    assert_eq!(refused, Refused::Placement);
    assert!(refused.to_string().contains("place = linear"), "{refused}");
}
