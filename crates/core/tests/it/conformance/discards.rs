//! Discards that wait behind a write are answered when it is done, however many they are: the stack
//! may not go one call deeper for each.

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Placement, Scheduler};
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::stack::{Action, Input};
use nearslot_core::units::Instant;

use super::drives::SSD;
use crate::support::DISK;

const DISCARDS: u64 = 20_000;

#[test]
fn many_discards_behind_a_write_are_answered_in_order() {
    let drive = DriveConfig {
        part: PartConfig::named("of the test"),
        text: DISK.to_owned(),
    };
    let config = StackConfig::over(drive, 1)
        .with::<dyn Scheduler>(PartConfig::named("satf_ew"))
        .with::<dyn Placement>(PartConfig::named("eager"));
    let mut built = config.build().expect("it is a stack");
    let (stack, drive) = (&mut built.stack, &mut built.drives[0]);
    let write = Request::new(0, Op::Write, 0, 8, Instant::ZERO);
    stack.input(Instant::ZERO, Input::Submit(write));
    for number in 1..=DISCARDS {
        let discard = Request::new(number, Op::Discard, 0, 8, Instant::ZERO);
        stack.input(Instant::ZERO, Input::Submit(discard));
    }
    let mut actions = Vec::new();
    stack.take_actions(&mut actions);
    let [
        Action::Start {
            drive: on, command, ..
        },
    ] = actions[..]
    else {
        panic!("the write starts, and discards wait for it: {actions:?}");
    };
    actions.clear();
    drive.submit(Instant::ZERO, &command);
    let now = drive.next_event().expect("the drive works");
    let done = drive.advance(now).expect("it is due");
    stack.input(now, Input::Done(on, done));
    stack.take_actions(&mut actions);
    assert_eq!(actions.len() as u64, DISCARDS + 1);
    for (number, action) in (0..).zip(&actions) {
        let Action::Reply(reply) = action else {
            panic!("request {number} is answered");
        };
        assert_eq!(reply.request.id.0, number);
    }
    stack.audit();
    assert_eq!((stack.pending(), stack.replied()), (0, DISCARDS + 1));
}

#[test]
fn a_discard_goes_to_drives_that_keep_a_map_and_to_no_others() {
    for (text, keeps_map) in [(DISK, false), (SSD, true)] {
        for place in [
            "linear",
            "stripe:disks=2:stripe_kib=8",
            "concat:disks=2",
            "mirror",
        ] {
            let drive = DriveConfig {
                part: PartConfig::named("of the test"),
                text: text.to_owned(),
            };
            let config = StackConfig::over(drive, 1);
            let config = config.with::<dyn Placement>(place.parse().expect("it is a part"));
            let mut built = config.build().expect("it is a stack");
            let discard = Request::new(0, Op::Discard, 0, 64, Instant::ZERO);
            built.stack.input(Instant::ZERO, Input::Submit(discard));
            let mut actions = Vec::new();
            built.stack.take_actions(&mut actions);
            let is_discard = |action: &&Action| matches!(action, Action::Start { command, .. } if command.op == Op::Discard);
            let discards = actions.iter().filter(is_discard).count();
            let expected = match place {
                _ if !keeps_map || place == "mirror" => 0,
                "stripe:disks=2:stripe_kib=8" => 2,
                _ => 1,
            };
            assert_eq!(discards, expected, "{place}");
        }
    }
}
