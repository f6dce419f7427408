//! The overhead of a command (`overhead_ms`) passes before the arm moves and overlaps with nothing:
//! a drive with overhead does what one without does if it gets the command that much later. The
//! oracle has to predict the same.

use nearslot_core::contract::{Arm, Blueprint, Drive};
use nearslot_core::drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::op::Op;
use nearslot_core::position::Predicted;
use nearslot_core::registry::KnobValue;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::support::DISK;

const OVERHEAD: Duration = Duration(600_000);

/// The same disk with an overhead and without.
fn blueprints() -> [Box<dyn Blueprint>; 2] {
    [0.6, 0.0].map(|ms| {
        let knobs = [("overhead_ms".to_owned(), KnobValue::Number(ms))];
        let read = drive::read("of the test", DISK, &knobs);
        read.expect("the test's drive is valid").0
    })
}

fn carry_out(drive: &mut dyn Drive, at: Instant, command: &Command) -> (Instant, DriveDone) {
    drive.submit(at, command);
    let end = drive.next_event().expect("the drive works");
    (end, drive.advance(end).expect("it is due"))
}

fn random_command(rng: &mut Rng) -> Command {
    let op = [Op::Read, Op::Write, Op::Seek][rng.below(3) as usize];
    Command {
        io: IoId(0),
        op,
        at: Pba(rng.below(12_700)),
        len: Blocks(if op == Op::Seek { 0 } else { 1 + rng.below(60) }),
        fua: false,
    }
}

/// What the oracles say about `command`, whoever has the overhead being asked that much earlier.
fn compare_oracles(oracles: &[Box<dyn Arm>; 2], now: Instant, command: &Command) {
    let [with, without] = oracles;
    let later = now + OVERHEAD;
    let Command { op, at, len, .. } = *command;
    let place = with.locate(at);
    assert_eq!(
        with.positioning_time(now, op, &place, Blocks(1)),
        OVERHEAD + without.positioning_time(later, op, &place, Blocks(1))
    );
    assert_eq!(
        with.seek_time(now, op, place.arm_position(), Blocks(1)),
        OVERHEAD + without.seek_time(later, op, place.arm_position(), Blocks(1))
    );
    assert_eq!(with.seek_at_least(3), OVERHEAD + without.seek_at_least(3));
    assert_eq!(
        with.seek_at_least_after(3),
        OVERHEAD + without.seek_at_least_after(3)
    );
    let (access, expected) = (
        with.predict(now, op, at, len),
        without.predict(later, op, at, len),
    );
    assert_eq!((access.end, access.arm), (expected.end, expected.arm));
    let delayed = Predicted {
        end: expected.end + OVERHEAD,
        arm: expected.arm,
    };
    assert_eq!(
        with.positioning_time_after(&access, op, &place),
        OVERHEAD + without.positioning_time_after(&delayed, op, &place)
    );
}

#[test]
fn overhead_comes_first_and_overlaps_with_nothing() {
    let [with, without] = blueprints();
    let (mut drive, mut plain) = (with.drive(), without.drive());
    let mut oracles = [&with, &without].map(|drive| drive.exact_arm().expect("a disk"));
    let mut rng = Rng::stream(1, "test/overhead");
    let mut now = Instant::ZERO;
    for _ in 0..1_000 {
        now += Duration(rng.below(30_000_000));
        let command = random_command(&mut rng);
        if command.op != Op::Seek {
            compare_oracles(&oracles, now, &command);
        }
        let (end, done) = carry_out(&mut *drive, now, &command);
        let (same_end, same) = carry_out(&mut *plain, now + OVERHEAD, &command);
        assert_eq!(
            (end, done.arm),
            (same_end, same.arm),
            "{command:?} at {now}"
        );
        let mut cost = same.cost;
        cost.overhead = OVERHEAD;
        assert_eq!((done.cost, end.since(now)), (cost, cost.total()));
        for (oracle, at, done) in [(0, now, &done), (1, now + OVERHEAD, &same)] {
            oracles[oracle].started(at, &command);
            oracles[oracle].observed(end, done);
        }
        now = end;
    }
}
