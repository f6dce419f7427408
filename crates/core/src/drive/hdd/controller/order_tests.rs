//! Tests of the order in which dirty segments are written, of segments that serve writes only, and
//! of what waits for no arm.

use super::super::buffer::State;
use super::super::parameters::Parameters;
use super::tests::{controller, run_command};
use super::{Controller, Owner};
use crate::ids::IoId;
use crate::io::Command;
use crate::op::Op;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

/// A turn is 10 ms, a sector 1 ms; data cross the bus in no time. Eight segments of four blocks
/// serve writes only.
const NEAREST: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 2
    cylinders = 60
    head_switch_ms = 0.5
    write_settle_ms = 0.25
    seek_ms = [[1, 2.0], [59, 8.5]]
    [buffer]
    segments = 2
    segment_blocks = 20
    write_segments_max = 8
    write_segment_blocks = 4
    write_back = 'nearest'
    read_ahead = 'blocks'
    read_ahead_max_blocks = 6
    write_behind = 'any'
    write_watermark = 1.0
    accept_while_writing = true
    [[zones]]
    cylinders = [0, 59]
    sectors_per_track = 10
    track_skew_sectors = 2
    cylinder_skew_sectors = 3
";
const CAPACITY: u64 = 1_200;

fn write(drive: &mut Controller, at: u64, len: u64) -> Instant {
    let command = Command {
        io: IoId(0),
        op: Op::Write,
        at: Pba(at),
        len: Blocks(len),
        fua: false,
    };
    drive.carry_out(drive.now, &command).0
}

/// What the arm writes by itself.
fn writing(drive: &Controller) -> Option<usize> {
    match drive.owner {
        Owner::Itself(index) if drive.buffer.at(index).unwritten() => Some(index),
        _ => None,
    }
}

/// Whenever the arm begins with a segment, no other one could have begun sooner, as the mechanics
/// reckon it for themselves.
#[test]
fn the_segment_that_begins_soonest_is_written_first() {
    let mut rng = Rng::stream(31, "nearest");
    let mut chosen = 0;
    for _ in 0..300 {
        let mut drive = controller(NEAREST);
        for _ in 0..8 {
            write(&mut drive, rng.below(CAPACITY), 1);
        }
        while drive.buffer.has_unwritten() {
            let before = drive.clone();
            drive.arm_event(Instant::NEVER);
            let (Some(index), true) = (writing(&drive), writing(&drive) != writing(&before)) else {
                continue;
            };
            let begins = |index: usize| {
                let at = drive.buffer.at(index).written;
                let place = drive.mechanics.layout().spot(Pba(at)).place;
                drive
                    .mechanics
                    .positioning_time(drive.now, drive.arm, Op::Write, &place)
            };
            let others = drive.buffer.dirty().map(|(_, other)| begins(other));
            let soonest = others.min();
            assert!(soonest.is_none_or(|soonest| begins(index) <= soonest));
            chosen += u32::from(soonest.is_some());
        }
    }
    assert!(chosen > 1_500, "{chosen} choices");
}

/// Writes without a pause: in the order of nearness they take less than two thirds of the time.
#[test]
fn eight_segments_in_the_order_of_nearness_save_a_third() {
    let took = |order: &str| {
        let mut drive = controller(&NEAREST.replace("'nearest'", order));
        let mut rng = Rng::stream(32, "random");
        for _ in 0..2_000 {
            write(&mut drive, rng.below(CAPACITY), 1);
        }
        drive.now.0 as f64
    };
    let share = took("'nearest'") / took("'oldest'");
    assert!((0.45..0.67).contains(&share), "{share}");
}

/// A write that waited for room is among those that may be next, as soon as its data can be there.
#[test]
fn a_write_that_finds_room_is_written_next_if_it_begins_soonest() {
    let mut rng = Rng::stream(36, "room");
    let (mut first, mut later) = (0, 0);
    for _ in 0..300 {
        let mut drive = controller(NEAREST);
        while drive.buffer.takes_another(&drive.firmware) {
            write(&mut drive, rng.below(CAPACITY), 1);
        }
        let at = rng.below(CAPACITY);
        let free = drive
            .buffer
            .all_unwritten()
            .all(|run| !run.overlaps(at - at.min(1), at + 2));
        if !free {
            continue;
        }
        // It ends when the arm has written one, and begins with what is next.
        write(&mut drive, at, 1);
        let begins = |index: usize| {
            let at = drive.buffer.at(index).written;
            let place = drive.mechanics.layout().spot(Pba(at)).place;
            let mechanics = &drive.mechanics;
            mechanics.positioning_time(drive.now, drive.arm, Op::Write, &place)
        };
        let written = writing(&drive).expect("the arm goes on");
        let soonest = drive.buffer.dirty().map(|(_, other)| begins(other)).min();
        assert!(begins(written) <= soonest.expect("others wait"), "{at}");
        match drive.buffer.at(written).written == at {
            true => first += 1,
            false => later += 1,
        }
    }
    assert!(first > 15 && later > 150, "{first} next, {later} later");
}

/// A command that needs the blocks of a dirty segment waits for what is being written, and for
/// that: not for others that are nearer.
#[test]
fn what_a_command_needs_is_written_next() {
    for needs in ["read", "overwrite", "force"] {
        let mut rng = Rng::stream(33, needs);
        for _ in 0..200 {
            let mut drive = controller(NEAREST);
            for _ in 0..6 {
                write(&mut drive, rng.below(CAPACITY / 2), 2);
            }
            let far = 900 + rng.below(250);
            write(&mut drive, far, 2);
            let us = drive.now.0.div_ceil(1_000);
            let before = drive.buffer.dirty().count();
            let command = match needs {
                // One block of it, and one that is elsewhere.
                "read" => (Op::Read, far + 1, 2, false),
                "overwrite" => (Op::Write, far + 1, 1, false),
                // A write of its own, to the medium.
                _ => (Op::Write, far + 40, 1, true),
            };
            let (done, _) = run_command(&mut drive, us, command);
            // Two ways across the drive, a turn each, and the same once more for the read.
            assert!(done - us < 58_000, "{needs} of {far}: {} us", done - us);
            // The one that it needs, and one that the arm goes on with.
            let after = drive.buffer.dirty().count();
            let told = format!("{needs}: of {before} segments {after} are left");
            assert!(before > 2 && after + 2 >= before, "{told}");
        }
    }
}

/// A write that is longer than its segment goes on as soon as that has room.
#[test]
fn a_write_that_its_segment_does_not_hold_is_written_next() {
    let mut rng = Rng::stream(34, "long");
    for _ in 0..200 {
        let mut drive = controller(NEAREST);
        for _ in 0..7 {
            write(&mut drive, rng.below(CAPACITY / 2), 2);
        }
        let before = drive.now;
        let done = write(&mut drive, 800 + rng.below(300), 30);
        // The way to it, and three tracks with two turns lost.
        assert!(done.since(before).0 < 85_000_000, "{}", done.since(before));
    }
}

/// Reads find what a segment for writes has, if it has all of it; else they wait until it is
/// written, and read it.
#[test]
fn segments_for_writes_answer_reads_of_which_they_have_all() {
    let mut drive = controller(NEAREST);
    write(&mut drive, 100, 3);
    write(&mut drive, 700, 3);
    let hit = |drive: &mut Controller, at, len| {
        let us = drive.now.0.div_ceil(1_000);
        let (done, [_, _, _, transfer]) = run_command(drive, us, (Op::Read, at, len, false));
        (done - us, transfer)
    };
    // Until the arm is free of what it writes, then without it.
    assert_eq!(hit(&mut drive, 700, 3).1, 0);
    assert!(drive.buffer.has_unwritten());
    let (waited, transfer) = hit(&mut drive, 702, 2);
    let told = format!("{waited} us, {transfer} of them transfer");
    assert!(waited > 5_000 && transfer >= 2_000, "{told}");
    assert_eq!(hit(&mut drive, 701, 2), (0, 0));
    // Reads have segments of their own: the ones for writes have what they had.
    for at in [300, 400, 500] {
        hit(&mut drive, at, 4);
    }
    assert_eq!(hit(&mut drive, 100, 3), (0, 0));
}

/// Eight writes are taken at once beside what reads hold, and one more when the arm has written the
/// first.
#[test]
fn segments_for_writes_are_beside_the_others() {
    let mut drive = controller(NEAREST);
    let read = run_command(&mut drive, 0, (Op::Read, 10, 4, false)).0;
    let read = run_command(&mut drive, read, (Op::Read, 400, 4, false)).0;
    for number in 0..8 {
        let (done, _) = run_command(&mut drive, read, (Op::Write, 600 + 50 * number, 1, false));
        assert_eq!(done, read, "write {number}");
    }
    let (done, _) = run_command(&mut drive, read, (Op::Write, 500, 1, false));
    assert!(done > read + 1_000, "{}", done - read);
    // Of what was read nothing is lost.
    let (_, [_, _, _, transfer]) = run_command(&mut drive, done, (Op::Read, 10, 4, false));
    assert_eq!(transfer, 0);
}

/// What has no effect is refused.
#[test]
fn orders_and_segments_without_effect_are_refused() {
    for (from, to, says) in [
        (
            "write_behind = 'any'",
            "write_behind = 'none'",
            "buffer.write_back",
        ),
        (
            "write_behind = 'any'",
            "write_behind = 'sequential'",
            "buffer.write_back",
        ),
        (
            "accept_while_writing = true",
            "accept_while_writing = false",
            "buffer.write_back",
        ),
        (
            "write_segments_max = 8",
            "write_segments_max = 1",
            "buffer.write_back",
        ),
        (
            "read_ahead = 'blocks'",
            "dedicated_write_segment = true\nread_ahead = 'blocks'",
            "buffer.dedicated_write_segment",
        ),
        (
            "write_segment_blocks = 4\n",
            "",
            "buffer.write_segments_max",
        ),
        (
            "write_segment_blocks = 4",
            "write_segment_blocks = 0",
            "buffer.write_segment_blocks",
        ),
        (
            "write_segments_max = 8",
            "write_segments_max = 1025",
            "buffer.write_segments_max",
        ),
    ] {
        let text = NEAREST.replace(from, to);
        let read = Parameters::read(&text.parse().unwrap());
        let refused = read.and_then(|parameters| parameters.firmware().map(|_| ()));
        let told = refused.expect_err(to).to_string();
        assert!(told.contains(says), "{to}: {told}");
    }
}

/// A drive that serves hits while it writes, with six writes of two blocks to be written, the last
/// one at 1,000.
fn serving() -> Controller {
    let mut drive =
        controller(&NEAREST.replace("write_back =", "hits_while_writing = true\nwrite_back ="));
    run_command(&mut drive, 0, (Op::Read, 0, 4, false));
    for at in [700, 100, 300, 500, 900, 1_000] {
        write(&mut drive, at, 2);
    }
    drive
}

/// What the buffer has is read and overwritten at once, and does not become more to write by that.
#[test]
fn hits_wait_for_no_arm() {
    let mut drive = serving();
    let us = drive.now.0.div_ceil(1_000);
    for hit in [
        (Op::Read, 1_000, 2),
        (Op::Read, 1, 3),
        (Op::Write, 1_001, 1),
        (Op::Write, 500, 2),
    ] {
        let (done, _) = run_command(&mut drive, us, (hit.0, hit.1, hit.2, false));
        assert_eq!(done, us, "{hit:?}");
    }
    let blocks: u64 = drive.buffer.runs_unwritten().map(|run| run.len.0).sum();
    assert_eq!(blocks, 12);
    assert!(writing(&drive).is_some(), "the arm goes on");
    // Half of it is elsewhere; and what is to be on the medium waits for that.
    for miss in [(Op::Write, 1_001, 2, false), (Op::Write, 900, 1, true)] {
        let mut drive = serving();
        let (done, _) = run_command(&mut drive, us, miss);
        assert!(done > us + 1_000, "{miss:?}: {}", done - us);
    }
    // What was written still answers.
    drive.write_all();
    let us = drive.now.0.div_ceil(1_000);
    let (done, _) = run_command(&mut drive, us, (Op::Read, 500, 2, false));
    assert_eq!(done, us);
}

/// Only what has yet to be written, and waits for the arm, is overwritten; only a segment with room
/// is continued.
#[test]
fn what_is_written_or_being_written_is_not_overwritten_and_what_is_full_not_continued() {
    let text = NEAREST.replace(
        "write_back =",
        "hits_while_writing = true\njoin_writes = true\nwrite_back =",
    );
    let drive = controller(&text);
    let mut segment = drive.buffer.at(2).clone();
    (segment.first, segment.written, segment.end) = (10, 12, 14);
    for (state, overwritten, continued) in [
        (State::Dirty, 12..14, true),
        (State::Writing, 0..0, true),
        (State::Clean, 0..0, false),
    ] {
        segment.state = state;
        let told = (
            segment.may_overwrite(&drive.firmware),
            segment.has_room(&drive.firmware),
        );
        assert_eq!(told, (overwritten, continued), "{state:?}");
    }
    // Four blocks to be written are all that it holds.
    (segment.state, segment.end) = (State::Dirty, 16);
    assert!(!segment.has_room(&drive.firmware));
}

/// A write of blocks that the arm is writing waits until it has.
#[test]
fn what_the_arm_writes_is_not_overwritten() {
    let mut drive = serving();
    let index = writing(&drive).expect("the arm writes");
    let at = drive.buffer.at(index).first;
    let us = drive.now.0.div_ceil(1_000);
    let (done, _) = run_command(&mut drive, us, (Op::Write, at, 2, false));
    assert!(done > us, "{at}");
}

/// A read of which a segment for writes has a part ends when the medium has that part: it is not
/// read before.
#[test]
fn a_read_of_what_is_partly_to_be_written_waits_for_that() {
    let mut rng = Rng::stream(36, "partly");
    for _ in 0..200 {
        let mut drive = controller(NEAREST);
        for _ in 0..5 {
            write(&mut drive, rng.below(CAPACITY - 4), 2);
        }
        let at = rng.below(CAPACITY - 4);
        write(&mut drive, at, 3);
        let us = drive.now.0.div_ceil(1_000);
        run_command(&mut drive, us, (Op::Read, at + 2, 2, false));
        let mut left = drive.buffer.runs_unwritten();
        let own = left.find(|run| run.at.0 <= at + 2 && at + 2 < run.at.0 + run.len.0);
        assert_eq!(own, None, "{at}");
    }
}

/// Where what is overwritten is all there is to write, the arm waits for the end of that and then
/// writes all of it.
#[test]
fn what_is_overwritten_is_written_after_that() {
    let mut rests = 0;
    for order in ["'nearest'", "'oldest'"] {
        let hits = format!("hits_while_writing = true\nwrite_back = {order}");
        let text = NEAREST.replace("write_back = 'nearest'", &hits);
        let bus = "[bus]\nwrite_ms_per_block = 3.0\n[[zones]]";
        let mut rng = Rng::stream(35, order);
        for _ in 0..200 {
            let mut drive = controller(&text.replace("[[zones]]", bus));
            // While four blocks cross the bus the arm writes another block or two.
            let last = 1_060 + rng.below(30);
            for (at, len) in [(rng.below(500), 1), (1_100, 1), (last, 4)] {
                write(&mut drive, at, len);
            }
            let writes_it = |drive: &Controller| {
                let written = writing(drive).map(|index| drive.buffer.at(index));
                written.is_some_and(|segment| segment.first == last)
            };
            // Or the arm reads ahead, and is stopped.
            if rng.chance(0.5) {
                let us = drive.now.0.div_ceil(1_000);
                run_command(&mut drive, us, (Op::Read, last - 40, 1, false));
            }
            let runs = |drive: &Controller| drive.buffer.runs_unwritten().collect::<Vec<_>>();
            let has = |drive: &Controller| runs(drive).iter().any(|run| run.at.0 == last);
            if !has(&drive) || writes_it(&drive) {
                continue;
            }
            write(&mut drive, last, 4);
            assert!(has(&drive), "{order}: {last} of {:?}", runs(&drive));
            rests += u32::from(writes_it(&drive));
            drive.write_all();
        }
    }
    assert!(rests > 100, "{rests}");
}
