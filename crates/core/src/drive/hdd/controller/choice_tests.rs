//! Tests of what a free arm is given, against a trial of each segment that waits for it, and of
//! what reads wait for.

use super::super::buffer::Match;
use super::tests::controller;
use super::{Bus, Controller, Owner};
use crate::ids::IoId;
use crate::io::Command;
use crate::op::Op;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

/// A turn is 10 ms, a sector 1 ms, a block over the bus 0.6 ms. Nothing moves for a write in its
/// first 2.6 ms, its data come 1.7 ms later, and one that finds no room leaves the bus.
const SLOW: &str = "
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
    write_behind = 'any'
    accept_while_writing = true
    [bus]
    write_ms_per_block = 0.6
    [overheads]
    write_after_write_ms = 2.6
    write_disconnect_ms = 3.1
    reselect_ms = 0.7
    data_preparation_ms = 1.7
    [[zones]]
    cylinders = [0, 59]
    sectors_per_track = 10
    track_skew_sectors = 2
    cylinder_skew_sectors = 3
";
const CAPACITY: u64 = 1_200;

/// A command of now arrives.
fn arrive(drive: &mut Controller, op: Op, (at, len): (u64, u64)) {
    let command = Command {
        io: IoId(0),
        op,
        at: Pba(at),
        len: Blocks(len),
        fua: false,
    };
    drive.rest_until(drive.now + drive.firmware.command);
    drive.arrive(&command, at, at + len);
}

/// Carries out a write of now. Told is each arm that becomes free meanwhile: the drive before
/// anybody got it, and then.
fn write(drive: &mut Controller, place: (u64, u64), freed: impl FnMut(&Controller, &Controller)) {
    arrive(drive, Op::Write, place);
    run(drive, freed);
}

/// The command that has arrived is carried out to its end.
fn run(drive: &mut Controller, mut freed: impl FnMut(&Controller, &Controller)) {
    loop {
        let (bus, arm) = (drive.bus_due(), drive.arm_due());
        if bus <= arm {
            drive.now = bus;
            match drive.bus_event() {
                Some(_) => return,
                None => continue,
            }
        }
        let mut free = drive.clone();
        free.awaited = true;
        free.arm_event(bus);
        free.awaited = false;
        drive.arm_event(bus);
        if free.owner == Owner::Nobody {
            freed(&free, drive);
        }
    }
}

/// When the next block of a segment is on the medium if that is what a free arm is given.
fn next_written(free: &Controller, index: usize) -> Instant {
    let mut trial = free.clone();
    let at = trial.buffer.at(index).written;
    trial.write_back(index);
    while trial.buffer.at(index).written == at {
        let (bus, arm) = (trial.bus_due(), trial.arm_due());
        match bus <= arm {
            true => {
                trial.now = bus;
                trial.bus_event();
            }
            false => trial.arm_event(bus),
        }
    }
    trial.now
}

/// Which states of the bus are met where the command's own segment is one of those that wait.
fn state_of(bus: Bus) -> usize {
    match bus {
        Bus::Contact(_) => 0,
        Bus::Burst(_) => 1,
        Bus::Leave(_) => 2,
        Bus::Idle | Bus::Hold | Bus::Pause(_) | Bus::End(_) => 3,
    }
}

/// Of all segments a free arm is given the one whose next block is on the medium first, also where
/// one waits for its data, or for what passes before the arm moves for it.
#[test]
fn a_free_arm_is_given_what_is_on_the_medium_first() {
    given_first("");
}

/// The same where a write behind another one leaves the bus once more and waits for several blocks.
#[test]
fn a_free_arm_is_given_what_is_on_the_medium_first_if_writes_leave_the_bus_twice() {
    given_first(
        "[overheads.extra_disconnect]
        command_ms = 1.0
        disconnect_ms = 0.1
        pause_ms = 2.4
        disconnect_again_ms = 0.3
        seek_ms = 0.2
        ",
    );
}

/// The same where the arm takes a while for the shortest way, but for none if a write goes on where
/// the last one ended.
#[test]
fn a_free_arm_is_given_what_is_on_the_medium_first_if_each_way_takes_a_while() {
    given_first("write_seek_min_ms = 4.0\n");
}

fn given_first(extra: &str) {
    let mut rng = Rng::stream(41, "freed");
    // How often the command's own segment was next, and how often another one was, by what the bus
    // did.
    let mut next = [[0, 0]; 4];
    for round in 0..1_200 {
        let segments = format!("write_segments_max = {}", [2, 3, 5, 8][round % 4]);
        let text = SLOW.replace("write_segments_max = 8", &segments);
        let text = text.replace("[[zones]]", &format!("{extra}[[zones]]"));
        // Over the slower bus a block comes later than the next sector passes.
        let block = [0.6, 0.95, 1.4][round % 3];
        let text = text.replace("_ms_per_block = 0.6", &format!("_ms_per_block = {block}"));
        let mut drive = controller(&text);
        drive.single_steps = true;
        let mut ends = [0; 3];
        for _ in 0..20 {
            let at = match rng.below(if block > 1.0 { 8 } else { 10 }) {
                0..6 => ends[rng.below(3) as usize],
                6..8 => ends[0] + rng.below(20),
                _ => rng.below(CAPACITY),
            };
            let place = (at % (CAPACITY - 4), 1 + rng.below(4));
            ends.rotate_right(1);
            ends[0] = place.0 + place.1;
            write(&mut drive, place, |free, then| {
                // What the command cannot end without goes before what is nearest.
                if free.needed_dirty().is_some() {
                    return;
                }
                let own = free.job().segment.map(|own| (own, free.buffer.at(own)));
                let own = own.filter(|(_, segment)| segment.written == segment.end);
                let left = own.map(|(_, segment)| free.job().end - segment.written);
                // That of several blocks none comes late is more than that the first is there.
                if block > 1.0 && left.is_some_and(|left| left > 1) {
                    return;
                }
                let given = then.arm_segment();
                let soonest = next_written(free, given);
                for (_, other) in free.buffer.dirty() {
                    let other = next_written(free, other);
                    assert!(soonest.0 <= other.0 + 1_000, "{soonest}, not {other}");
                }
                if let Some((own, _)) = own {
                    next[state_of(free.bus)][usize::from(own != given)] += 1;
                }
            });
            drive.rest_until(Instant(drive.now.0 + rng.below(2) * rng.below(9_000_000)));
        }
    }
    let [contact, burst, leave, _] = next;
    let both = |[own, others]: [u32; 2]| own > 20 && others > 20;
    assert!(both(contact) && both(burst) && both(leave), "{next:?}");
}

/// While a command overwrites what waits for the arm, the arm goes on with what else waits: only
/// that one segment is left alone.
#[test]
fn the_arm_goes_on_with_others_while_one_is_overwritten() {
    for order in ["nearest", "oldest"] {
        let hits = format!("write_back = '{order}'\nhits_while_writing = true");
        let text = SLOW.replace("write_back = 'nearest'", &hits);
        let text = text.replace("_ms_per_block = 0.6", "_ms_per_block = 1.0");
        let mut rng = Rng::stream(42, order);
        let mut went_on = 0;
        for _ in 0..300 {
            let mut drive = controller(&text);
            let places = [0; 7].map(|_| (rng.below(CAPACITY - 4), 4));
            for place in places {
                write(&mut drive, place, |_, _| {});
            }
            let again = places[1 + rng.below(6) as usize];
            write(&mut drive, again, |free, then| {
                let job = free.job();
                if job.meets != Match::Overwrite {
                    return;
                }
                let own = job.segment.expect("it overwrites one");
                let given = match then.owner {
                    Owner::Nobody => None,
                    Owner::Host(index) | Owner::Itself(index) => Some(index),
                };
                assert_ne!(given, Some(own), "{order}: the overwritten one");
                let others = free.buffer.dirty().any(|(_, index)| index != own);
                assert_eq!(given.is_some(), others, "{order}");
                went_on += u32::from(others);
            });
        }
        assert!(went_on > 50, "{order}: {went_on}");
    }
}

/// A read that finds all of it in a segment for writes needs nothing from the medium: that segment
/// has to be written no sooner than others.
#[test]
fn what_answers_a_read_is_not_written_for_it() {
    let text = SLOW.replace("write_back =", "hits_while_writing = true\nwrite_back =");
    let text = text.replace("[bus]", "[bus]\nread_ms_per_block = 3.0");
    let mut rng = Rng::stream(44, "answers");
    let (mut own, mut others) = (0, 0);
    for _ in 0..300 {
        let mut drive = controller(&text);
        drive.single_steps = true;
        let places = [0; 6].map(|_| (rng.below(CAPACITY - 4), 4));
        for place in places {
            write(&mut drive, place, |_, _| {});
        }
        arrive(&mut drive, Op::Read, places[2 + rng.below(4) as usize]);
        run(&mut drive, |free, then| {
            let job = free.job();
            if job.meets != Match::Whole || !free.buffer.has_unwritten() {
                return;
            }
            let given = then.arm_segment();
            let soonest = next_written(free, given);
            let all = free.buffer.dirty();
            let all = all.map(|(_, other)| next_written(free, other));
            assert!(all.min().is_none_or(|other| soonest.0 <= other.0 + 1_000));
            match job.segment == Some(given) {
                true => own += 1,
                false => others += 1,
            }
        });
    }
    assert!(own > 20 && others > 100, "{own} {others}");
}

/// An arm that is made to leave what it reads ahead passes the sector that it is in before it
/// moves, also where it goes on with what waits to be written.
#[test]
fn a_sector_that_is_read_ahead_has_passed_before_the_arm_goes_to_write() {
    let ahead = "read_ahead = 'blocks'\nread_ahead_max_blocks = 12\nhits_while_writing = true\n";
    let text = SLOW.replace("write_back =", &format!("{ahead}write_back ="));
    let mut rng = Rng::stream(45, "leaves");
    let mut left = 0;
    for _ in 0..300 {
        let mut drive = controller(&text);
        let places = [0; 4].map(|_| (rng.below(CAPACITY - 4), 4));
        for place in places {
            write(&mut drive, place, |_, _| {});
        }
        arrive(&mut drive, Op::Read, (rng.below(CAPACITY - 40), 1));
        run(&mut drive, |_, _| {});
        drive.rest_until(Instant(drive.now.0 + rng.below(6_000_000)));
        let again = drive.buffer.dirty().next();
        let Some((_, again)) = again.filter(|_| drive.buffer.dirty().count() > 1) else {
            continue;
        };
        let again = drive.buffer.at(again).written;
        arrive(&mut drive, Op::Write, (again, 1));
        let Owner::Itself(index) = drive.owner else {
            continue;
        };
        if drive.buffer.at(index).unwritten() && drive.stopped > drive.now {
            let access = drive.access();
            let to = access.arm_position();
            let movement = drive.mechanics.movement(drive.arm, to, Op::Write);
            assert_eq!(access.due, drive.stopped + movement, "{again}");
            left += 1;
        }
    }
    assert!(left > 50, "{left}");
}

/// Of what a read has to wait for the first blocks are told first: what is to be written where that
/// answers no reads, in whatever order it came. A segment for writes only that answers none is in
/// the way where others are not.
#[test]
fn what_is_to_be_written_is_in_the_way_of_reads_that_it_does_not_answer() {
    let text = SLOW.replace("write_segment_blocks = 4\n", "");
    let text = text.replace("segments = 2", "segments = 8");
    // All come at once.
    let at_once = [
        "write_ms_per_block = 0.6",
        "after_write_ms = 2.6",
        "preparation_ms = 1.7",
    ];
    let text = at_once.iter().fold(text, |text, slow| {
        let (key, _) = slow.split_once(" = ").expect("a setting");
        text.replace(slow, &format!("{key} = 0.0"))
    });
    let silent = "read_hits_on_writes = false\nwrite_back =";
    let mut drive = controller(&text.replace("write_back =", silent));
    for at in [500, 40, 20, 60] {
        write(&mut drive, (at, 4), |_, _| {});
    }
    let in_the_way = |drive: &Controller, from| {
        let first = drive.buffer.in_the_way(&drive.firmware, &(from..100));
        first.map(|blocks| (blocks.start, blocks.end))
    };
    let told = [0, 24, 44, 62, 64].map(|from| in_the_way(&drive, from));
    let expected = [(20, 24), (40, 44), (60, 64), (62, 64)].map(Some);
    assert_eq!(told, [&expected[..], &[None]].concat()[..]);

    let dedicated = "dedicated_write_segment = true\nread_hits_on_writes = true\n";
    let text = text.replace("write_segments_max = 8", "write_segments_max = 1");
    let text = text.replace("write_back = 'nearest'\n", dedicated);
    let mut drive = controller(&text.replace("accept_while_writing = true\n", ""));
    write(&mut drive, (40, 4), |_, _| {});
    assert_eq!(in_the_way(&drive, 0), Some((40, 44)));
    let shared = text.replace("dedicated_write_segment = true\n", "");
    let mut drive = controller(&shared.replace("accept_while_writing = true\n", ""));
    write(&mut drive, (40, 4), |_, _| {});
    assert_eq!(in_the_way(&drive, 0), None);
}
