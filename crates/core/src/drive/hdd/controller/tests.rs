//! Commands on a small drive, with their times written out, and the same by single steps.

use std::sync::Arc;

use super::super::buffer::Match;
use super::super::firmware::Firmware;
use super::super::mech::Mechanics;
use super::super::parameters::Parameters;
use super::Controller;
use crate::ids::IoId;
use crate::io::Command;
use crate::op::{Cost, Op};
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

/// 6,000 turns a minute: a turn is 10 ms, a sector 1 ms. Track 0 holds blocks 0..10 from angle 0
/// on, track 1 blocks 10..20 from angle 0.2 on; cylinder 1 begins with block 20 at 0.5. A block
/// takes 0.1 ms over the bus.
pub(super) const SMALL: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 2
    cylinders = 3
    head_switch_ms = 0.5
    write_settle_ms = 0.25
    seek_ms = [[1, 2.0], [2, 2.5]]
    [buffer]
    segments = 2
    segment_blocks = 8
    write_segments_max = 1
    read_ahead = 'blocks'
    read_ahead_max_blocks = 4
    write_behind = 'any'
    [bus]
    read_ms_per_block = 0.1
    write_ms_per_block = 0.1
    [overheads]
    read_hit_after_read_ms = 0.05
    read_hit_after_write_ms = 0.05
    read_miss_after_read_ms = 0.2
    read_miss_after_write_ms = 0.2
    write_after_read_ms = 0.3
    write_after_write_ms = 0.3
    [[zones]]
    cylinders = [0, 2]
    sectors_per_track = 10
    track_skew_sectors = 2
    cylinder_skew_sectors = 3
";

pub(super) fn controller(text: &str) -> Controller {
    let parameters = Parameters::read(&text.parse().unwrap()).unwrap();
    let mechanics = Mechanics::new(&parameters).unwrap();
    let firmware: Firmware = parameters.firmware().unwrap().expect("it has a buffer");
    Controller::new(Arc::new(mechanics), Arc::new(firmware))
}

/// The small drive with other settings.
fn with(changes: &[(&str, &str)]) -> Controller {
    let mut text = SMALL.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from} is not in the sample");
        text = text.replace(from, to);
    }
    controller(&text)
}

/// When a command that comes at `us` is done, and its cost, in microseconds.
fn run(drive: &mut Controller, us: u64, op: Op, at: u64, len: u64) -> (u64, [u64; 4]) {
    run_command(drive, us, (op, at, len, false))
}

/// The same of a write that ends on the medium.
fn force(drive: &mut Controller, us: u64, at: u64, len: u64) -> (u64, [u64; 4]) {
    run_command(drive, us, (Op::Write, at, len, true))
}

pub(super) fn run_command(
    drive: &mut Controller,
    us: u64,
    (op, at, len, fua): (Op, u64, u64, bool),
) -> (u64, [u64; 4]) {
    let command = Command {
        io: IoId(0),
        op,
        at: Pba(at),
        len: Blocks(len),
        fua,
    };
    let start = Instant(us * 1_000);
    let (done, cost) = drive.carry_out(start, &command);
    assert_eq!(
        cost.total(),
        done.since(start),
        "a cost is where the time went"
    );
    drive.buffer.audit();
    // A sector time rounded down by a nanosecond counts as whole.
    let us = |ns: u64| (ns + 10) / 1_000;
    let Cost {
        overhead,
        seek,
        rotation,
        transfer,
    } = cost;
    (
        us(done.0),
        [overhead, seek, rotation, transfer].map(|span| us(span.0)),
    )
}

#[test]
fn a_miss_is_overhead_rotation_transfer_and_the_last_block_over_the_bus() {
    // Block 3 comes at 3 ms; blocks 3 and 4 have passed at 5 ms.
    let expected = (5_100, [300, 0, 2_800, 2_000]);
    assert_eq!(run(&mut with(&[]), 0, Op::Read, 3, 2), expected);
    // A movement: block 20 lies a cylinder away, at angle 0.5.
    let expected = (6_100, [300, 2_000, 2_800, 1_000]);
    assert_eq!(run(&mut with(&[]), 0, Op::Read, 20, 1), expected);
}

#[test]
fn what_was_read_ahead_costs_the_bus_only() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Read, 3, 2);
    // Read-ahead reached block 9 at 9 ms.
    assert_eq!(
        run(&mut drive, 20_000, Op::Read, 5, 2),
        (20_250, [250, 0, 0, 0])
    );
    assert_eq!(
        run(&mut drive, 21_000, Op::Read, 8, 1),
        (21_150, [150, 0, 0, 0])
    );
    // It does not go on behind a hit: block 9 comes at 29 ms.
    assert_eq!(run(&mut drive, 22_000, Op::Read, 9, 1).0, 30_100);
}

#[test]
fn a_read_takes_over_what_is_being_read_ahead() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Read, 3, 2);
    // At 7.5 ms blocks 5 and 6 are there, 7 passes; 7 and 8 follow at 8 and 9 ms.
    assert_eq!(
        run(&mut drive, 7_500, Op::Read, 5, 4),
        (9_100, [100, 0, 0, 1_500])
    );
}

#[test]
fn a_read_with_a_gap_waits_for_read_ahead_that_comes_to_it_within_a_turn() {
    // Blocks 3 and 4 are read; at 5.1 ms block 5 passes, and 6 comes when a miss would still be
    // looked at.
    let gap = |drive: &mut Controller| {
        run(drive, 0, Op::Read, 3, 2);
        run(drive, 5_850, Op::Read, 6, 1)
    };
    assert_eq!(gap(&mut with(&[])).0, 17_100, "a turn is lost");
    let changes = [("write_behind", "read_hits_within_turn = true\nwrite_behind")];
    // What is left of block 5 is a wait, block 6 the transfer.
    assert_eq!(gap(&mut with(&changes)), (7_100, [100, 0, 150, 1_000]));
    // Read-ahead ends with block 8: what lies behind it is a miss, and so is what comes a turn
    // later.
    let mut drive = with(&changes);
    run(&mut drive, 0, Op::Read, 3, 2);
    let behind = run(&mut drive, 5_850, Op::Read, 9, 1);
    assert_eq!(behind, (10_100, [450, 0, 2_800, 1_000]));
}

#[test]
fn a_stream_of_reads_keeps_its_turn_if_the_next_block_counts_as_a_hit() {
    // Block 5 begins to pass at 5 ms; the command that asks for it comes at 5.1 ms.
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Read, 3, 2);
    assert_eq!(run(&mut drive, 5_100, Op::Read, 5, 1).0, 16_100);
    let mut drive = with(&[(
        "write_behind",
        "read_hits_on_next_block = true\nwrite_behind",
    )]);
    run(&mut drive, 0, Op::Read, 3, 2);
    assert_eq!(
        run(&mut drive, 5_100, Op::Read, 5, 1),
        (6_100, [100, 0, 0, 900])
    );
}

#[test]
fn read_ahead_stops_behind_its_sector() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Read, 3, 2);
    // Block 7 passes until 8 ms; overhead, head switch, then block 12 comes at 14 ms.
    let expected = (15_100, [200 + 700 + 100, 500, 5_300, 1_000]);
    assert_eq!(run(&mut drive, 7_300, Op::Read, 12, 1), expected);
    let mut drive = with(&[("write_behind", "stop_within_sector = true\nwrite_behind")]);
    run(&mut drive, 0, Op::Read, 3, 2);
    let expected = (15_100, [300, 500, 6_000, 1_000]);
    assert_eq!(run(&mut drive, 7_300, Op::Read, 12, 1), expected);
}

#[test]
fn read_ahead_is_not_stopped_below_its_minimum() {
    let mut drive = with(&[(
        "read_ahead_max_blocks",
        "read_ahead_min_blocks = 4\nread_ahead_max_blocks",
    )]);
    run(&mut drive, 0, Op::Read, 3, 2);
    // Blocks up to 9 have passed at 9 ms; the switch ends at 9.5 ms, block 12 comes at 14 ms.
    let expected = (15_100, [1_700 + 100, 500, 4_500, 1_000]);
    assert_eq!(run(&mut drive, 7_300, Op::Read, 12, 1), expected);
}

#[test]
fn a_write_is_acknowledged_by_the_buffer_and_flushed_by_the_arm() {
    let mut drive = with(&[]);
    assert_eq!(run(&mut drive, 0, Op::Write, 3, 2), (500, [500, 0, 0, 0]));
    // Blocks 3 and 4 pass until 5 ms.
    assert_eq!(
        run(&mut drive, 1_000, Op::Flush, 0, 0),
        (5_000, [4_000, 0, 0, 0])
    );
    assert_eq!(
        run(&mut drive, 6_000, Op::Flush, 0, 0),
        (6_300, [300, 0, 0, 0])
    );
    // What was written is in the buffer.
    assert_eq!(
        run(&mut drive, 6_300, Op::Read, 4, 1),
        (6_450, [150, 0, 0, 0])
    );
}

#[test]
fn a_forced_write_ends_on_the_medium() {
    // As without write-behind.
    let mut drive = with(&[]);
    assert_eq!(force(&mut drive, 0, 3, 2), (5_000, [300, 0, 2_700, 2_000]));
    assert!(!drive.buffer.has_unwritten());
    // It continues what the arm writes by itself: blocks 3 to 6 pass without a gap.
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    assert_eq!(force(&mut drive, 500, 5, 2).0, 7_000);
    // It waits for what is older, then for its own: block 12 comes at 14 ms.
    let several = "write_segments_max = 2\naccept_while_writing = true";
    let mut drive = with(&[("write_segments_max = 1", several)]);
    run(&mut drive, 0, Op::Write, 3, 2);
    assert_eq!(force(&mut drive, 500, 12, 1).0, 15_000);
    // And one that continues what waits in the buffer while the arm writes something else.
    let mut drive = with(&[("write_segments_max = 1", several)]);
    run(&mut drive, 0, Op::Write, 3, 2);
    run(&mut drive, 500, Op::Write, 12, 1);
    assert_eq!(force(&mut drive, 1_000, 13, 1).0, 16_000);
}

#[test]
fn what_a_power_cut_takes_shrinks_as_the_arm_writes() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    let mut at = |us: u64| {
        drive.rest_until(Instant(us * 1_000));
        let runs = drive.unwritten();
        runs.map(|run| (run.at.0, run.len.0)).collect::<Vec<_>>()
    };
    // Block 3 passes from 3 ms to 4 ms, block 4 until 5 ms.
    assert_eq!(at(3_900), [(3, 2)]);
    assert_eq!(at(4_100), [(4, 1)]);
    assert_eq!(at(5_100), []);
}

#[test]
fn a_miss_waits_for_the_write_before() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    // The arm is free at 5 ms; block 12 comes at 14 ms.
    let expected = (15_100, [4_000 + 100, 500, 8_500, 1_000]);
    assert_eq!(run(&mut drive, 1_000, Op::Read, 12, 1), expected);
}

#[test]
fn a_write_that_continues_joins_and_one_elsewhere_waits() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    assert_eq!(
        run(&mut drive, 500, Op::Write, 5, 2),
        (1_000, [500, 0, 0, 0])
    );
    // Blocks 3 to 6 pass without a gap.
    assert_eq!(run(&mut drive, 1_000, Op::Flush, 0, 0).0, 7_000);
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    // The only write segment is free at 5 ms; then the data flow.
    assert_eq!(
        run(&mut drive, 500, Op::Write, 8, 2),
        (5_200, [4_700, 0, 0, 0])
    );
    assert_eq!(run(&mut drive, 6_000, Op::Flush, 0, 0).0, 10_000);
}

#[test]
fn several_segments_of_writes_are_accepted_and_written_in_order() {
    let mut drive = with(&[(
        "write_segments_max = 1",
        "write_segments_max = 2\naccept_while_writing = true",
    )]);
    run(&mut drive, 0, Op::Write, 3, 2);
    assert_eq!(
        run(&mut drive, 500, Op::Write, 8, 2),
        (1_000, [500, 0, 0, 0])
    );
    // A third one waits for a segment.
    assert_eq!(run(&mut drive, 1_000, Op::Write, 15, 1).0, 5_100);
    // Blocks 8 and 9 pass until 10 ms, then head switch and settle; block 15 comes at 17 ms.
    assert_eq!(run(&mut drive, 5_500, Op::Flush, 0, 0).0, 18_000);
}

#[test]
fn without_write_behind_a_write_ends_on_the_medium() {
    let mut drive = with(&[("'any'", "'none'")]);
    assert_eq!(
        run(&mut drive, 0, Op::Write, 3, 2),
        (5_000, [300, 0, 2_700, 2_000])
    );
    // ArmPosition switch and settle end at 7.05 ms; block 12 comes at 14 ms.
    let expected = (15_000, [300, 750, 7_950, 1_000]);
    assert_eq!(run(&mut drive, 5_000, Op::Write, 12, 1), expected);
}

#[test]
fn data_that_come_too_late_cost_a_revolution() {
    let slow = [
        ("'any'", "'none'"),
        ("write_ms_per_block = 0.1", "write_ms_per_block = 2.0"),
    ];
    // Block 3 is there at 2.3 ms and passes at 3 ms. Block 4 is there at 4.3 ms, but began to pass
    // at 4 ms.
    assert_eq!(run(&mut with(&slow), 0, Op::Write, 3, 2).0, 15_000);
}

#[test]
fn a_read_longer_than_its_segment_waits_for_the_bus() {
    let mut drive = with(&[
        ("read_ms_per_block = 0.1", "read_ms_per_block = 2.0"),
        ("segment_blocks = 8", "segment_blocks = 3"),
    ]);
    // Block 0 comes at 10 ms. Block 4 begins at 14 ms, when only block 0 has been sent: no room
    // until 24 ms. Block 5 flows from 27 ms on.
    assert_eq!(run(&mut drive, 0, Op::Read, 0, 6).0, 29_000);
}

#[test]
fn watermark_and_held_bus() {
    let mut drive = with(&[("write_behind", "read_watermark = 1.0\nwrite_behind")]);
    // All four blocks have passed at 7 ms, then flow.
    assert_eq!(run(&mut drive, 0, Op::Read, 3, 4).0, 7_400);
    let held = [(
        "[overheads]",
        "hold_during_reads = true\n[overheads]\nreselect_ms = 0.4\nread_completion_ms = 0.01",
    )];
    // Contacted at 4 ms, there at 4.4 ms; held from 4.5 ms to 5 ms.
    assert_eq!(run(&mut with(&held), 0, Op::Read, 3, 2).0, 5_110);
}

#[test]
fn an_extra_disconnect_follows_an_unrelated_write() {
    let mut drive = with(&[
        ("'any'", "'none'\ndedicated_write_segment = true"),
        (
            "[[zones]]",
            "[overheads.extra_disconnect]\ncommand_ms = 1.0\ndisconnect_ms = 0.1\npause_ms = 0.4\n\
             disconnect_again_ms = 0.2\nseek_ms = 0.25\n[[zones]]",
        ),
        (
            "[overheads]",
            "[overheads]\nreselect_ms = 0.05\nreselect_again_ms = 0.7",
        ),
    ]);
    // On the medium at 5 ms, then reselected.
    assert_eq!(run(&mut drive, 0, Op::Write, 3, 2).0, 5_050);
    // At 10 ms the arm is ready after 1.25 ms and needs 0.75 ms; data flow from 11.55 ms on; block
    // 12 comes at 14 ms; the host is contacted again.
    assert_eq!(run(&mut drive, 10_000, Op::Write, 12, 1).0, 15_700);
}

#[test]
fn zero_latency_reads_begin_anywhere_on_the_track() {
    let mut drive = with(&[
        ("write_behind", "zero_latency_reads = true\nwrite_behind"),
        ("segment_blocks = 8", "segment_blocks = 20"),
    ]);
    // At 3.7 ms sector 3 is passing: blocks 4 to 9 from 4 ms on, then 0 to 3 until 14 ms; 7 blocks
    // are left to send.
    let expected = (14_700, [200 + 700, 0, 300, 10_000]);
    assert_eq!(run(&mut drive, 3_500, Op::Read, 0, 10), expected);
    // A track is read ahead in a turn wherever it begins: blocks 10 to 13 in any order.
    assert_eq!(run(&mut drive, 40_000, Op::Read, 10, 4).0, 40_450);
}

/// Where a read comes while a block passes that is read before its turn, that block pushes out
/// nothing that the read has to send yet. A block takes longer over the bus than to pass, and three
/// fill a segment.
#[test]
fn a_block_before_its_turn_pushes_out_nothing_that_a_read_needs() {
    let mut drive = with(&[
        (
            "write_behind",
            "zero_latency_reads = true\nroom_at_sector_start = true\nwrite_behind",
        ),
        ("segment_blocks = 8", "segment_blocks = 3"),
        ("read_ahead_max_blocks = 4", "read_ahead_max_blocks = 25"),
        ("read_ms_per_block = 0.1", "read_ms_per_block = 1.5"),
        ("[overheads]", "[overheads]\ncommand_ms = 1.1"),
    ]);
    let (came, _) = run(&mut drive, 0, Op::Read, 10, 4);
    let came = Instant(came * 1_000);
    drive.rest_until(came + drive.firmware.command);
    let command = Command {
        io: IoId(0),
        op: Op::Read,
        at: Pba(14),
        len: Blocks(9),
        fua: false,
    };
    drive.arrive(&command, 14, 23);
    // Were it to wait for what has been pushed out, the platters would turn for ever.
    let last = Instant(came.0 + 200_000_000);
    loop {
        let (bus, arm) = (drive.bus_due(), drive.arm_due());
        assert!(bus.min(arm) < last, "{:?}", drive.job);
        if arm < bus {
            drive.arm_event(bus);
            continue;
        }
        drive.now = bus;
        if drive.bus_event().is_some() {
            return;
        }
    }
}

#[test]
fn a_flush_ends_all_and_a_seek_moves_the_arm() {
    let mut drive = with(&[]);
    run(&mut drive, 0, Op::Write, 3, 2);
    // Behind the write that is under way, without settle.
    assert_eq!(
        run(&mut drive, 1_000, Op::Seek, 20, 0),
        (7_000, [4_000, 2_000, 0, 0])
    );
    assert_eq!(
        run(&mut drive, 7_000, Op::Seek, 20, 0),
        (7_000, [0, 0, 0, 0])
    );
}

/// A block is told as buffered exactly if a read of it that comes now meets a segment that has it,
/// or comes to have it while the command is looked at.
#[test]
fn what_is_told_as_buffered_is_what_a_read_would_meet() {
    const BUFFER: &str = "write_behind = 'any'";
    let changes: [&[(&str, &str)]; 9] = [
        &[],
        &[(BUFFER, "write_behind = 'any'\nread_hits_on_writes = false")],
        &[(
            BUFFER,
            "write_behind = 'any'\nread_hits_on_writes = true\ndedicated_write_segment = true",
        )],
        &[("[overheads]", "[overheads]\ncommand_ms = 1.5")],
        &[(
            BUFFER,
            "write_behind = 'any'\nread_hits_on_next_block = true",
        )],
        &[(BUFFER, "write_behind = 'any'\nread_hits_within_turn = true")],
        &[
            (BUFFER, "write_behind = 'any'\nread_hits_on_writes = true"),
            ("[overheads]", "[overheads]\ncommand_ms = 0.4"),
        ],
        &[("segments = 2", "segments = 4\nread_ahead_min_blocks = 2")],
        &[
            (
                "write_segments_max = 1",
                "write_segments_max = 3\nwrite_segment_blocks = 5",
            ),
            (
                BUFFER,
                "write_behind = 'any'\naccept_while_writing = true\nhits_while_writing = true",
            ),
        ],
    ];
    let (mut told, mut ahead) = (0, 0);
    for (number, changes) in changes.into_iter().enumerate() {
        let mut drive = with(changes);
        let mut rng = Rng::stream(number as u64, "buffered");
        let mut at = 0;
        for _ in 0..2_000 {
            at = if rng.chance(0.6) {
                (at + 1) % 55
            } else {
                rng.below(55)
            };
            let op = if rng.chance(0.8) { Op::Read } else { Op::Write };
            let us = drive.now.0.div_ceil(1_000) + rng.below(2) * rng.below(9_000);
            let len = 1 + rng.below(3);
            run(&mut drive, us, op, at, len);
            at += len - 1;
            let now = Instant(drive.now.0 + rng.below(2) * rng.below(6_000_000));
            drive.rest_until(now);
            let found = told_as_met(&drive, now);
            told += found.0;
            ahead += found.1;
        }
    }
    assert!(told > 10_000 && ahead > 50, "{told} {ahead}");
}

/// How many blocks are told as buffered, all of which a read would meet, and how many of these only
/// when the command has been looked at.
fn told_as_met(drive: &Controller, now: Instant) -> (u64, u64) {
    let mut runs = Vec::new();
    drive.reads_served(now, &mut |served| runs.push(served.begins));
    let mut arrived = drive.clone();
    arrived.rest_until(now + arrived.firmware.command);
    // Only where written blocks may answer do segments stand in each other's way.
    let may_collide = drive.firmware.buffer.read_hits_on_writes;
    let (mut told, mut ahead) = (0, 0);
    for block in 0..60 {
        let mut of = runs.iter().map(|run| run.start.0..run.end.0);
        let of = of.any(|run| run.contains(&block));
        let before = drive
            .buffer
            .for_read(&drive.firmware, block, block + 1, drive.near());
        let then = arrived
            .buffer
            .for_read(&arrived.firmware, block, block + 1, arrived.near());
        if of && !(may_collide && then.meets == Match::Collision) {
            let meets = matches!(then.meets, Match::Whole | Match::Partial);
            assert!(meets, "block {block} of {runs:?}: {then:?}");
            told += 1;
            ahead += u64::from(before.meets == Match::Miss);
        }
        // Of a segment that is being filled the oldest may be left out that just stay.
        let mut gaps = runs.iter().map(|run| run.start.0.wrapping_sub(block));
        let oldest = gaps.any(|gap| (1..=2).contains(&gap));
        if before.meets == Match::Whole && then.meets == Match::Whole {
            assert!(of || oldest, "block {block} is there, told are {runs:?}");
        }
    }
    let mut begins = Vec::new();
    drive.writes_served(&mut |served| begins.push(served.begins.start.0..served.begins.end.0));
    for block in 0..59 {
        let meets = drive
            .buffer
            .for_write(&drive.firmware, block, block + 1)
            .meets;
        let told = begins.iter().any(|begins| begins.contains(&block));
        let served = matches!(meets, Match::Join | Match::Overwrite);
        let as_met = told == served || meets == Match::Collision;
        assert!(as_met, "{block} of {begins:?}: {meets:?}");
    }
    (told, ahead)
}

/// Small segments, and a block in some tracks that lies elsewhere.
const REMAPPED: &str = "
    kind = 'hdd'
    rpm = 100000
    heads = 17
    cylinders = 21
    head_switch_ms = 0.03
    write_settle_ms = 0.0
    seek_ms = [[1, 0.0], [8, 0.24], [13, 1.5], [20, 2.2]]
    sparing = { at = 'cylinder-ranges', cylinders = 21 }
    [buffer]
    segments = 4
    segment_blocks = 3
    write_segments_max = 2
    read_ahead = 'within-track'
    read_ahead_max_blocks = 300
    read_watermark = 0.0
    read_whole_track = true
    [bus]
    hold_during_reads = true
    [[zones]]
    cylinders = [0, 20]
    sectors_per_track = 20
    spares = 30
    remaps = [[1386, 7137], [1116, 7133], [5371, 7134], [5228, 7136], [3702, 7135]]
";

/// Where a read of the whole track keeps what passes in front of it, a block there that was
/// remapped sends nobody to and fro for ever.
#[test]
fn a_whole_track_with_a_remapped_block_is_read_once() {
    let mut rng = Rng::stream(5, "remapped");
    for bus in ["true", "false"] {
        let mut drive =
            controller(&REMAPPED.replace("true\n    [[zones]]", &format!("{bus}\n    [[zones]]")));
        let mut now = 0;
        for _ in 0..5_000 {
            let broken = [1386, 1116, 5371, 5228, 3702][rng.below(5) as usize];
            let (at, len) = (broken + 1 - rng.below(20), 1 + rng.below(40));
            let (done, _) = run(&mut drive, now, Op::Read, at, len);
            let within = 100_000 + 600 * len;
            assert!(done - now < within, "{len} from {at} at {now}: {done}");
            now = done + rng.below(2) * rng.below(1_000);
        }
    }
}

/// The disks of the catalog that are described from data sheets keep up with their platters: no
/// turn is lost where a segment is full, where the head or the cylinder changes, or between two
/// commands.
#[test]
fn reads_and_writes_in_a_row_go_as_fast_as_the_platters_turn() {
    let texts = [
        include_str!("../../catalog/desktop-7200-90mb.toml"),
        include_str!("../../catalog/hitachi-7200-90mb.toml"),
        include_str!("../../catalog/modern-20tb.toml"),
        include_str!("../../catalog/seagate-7200-125mb.toml"),
    ];
    for text in texts {
        for (op, len) in [Op::Read, Op::Write]
            .into_iter()
            .flat_map(|op| [64, 100, 128, 200, 2_048].map(|len| (op, len)))
        {
            let mut drive = controller(text);
            let (mut now, mut at) = (Instant(0), 0);
            // The buffer has taken what it takes at first when half of them are done.
            let mut half = (now, at);
            let most = 2_000_000 / len;
            for step in 0..most {
                if step == most / 2 {
                    half = (now, at);
                }
                let command = Command {
                    io: IoId(0),
                    op,
                    at: Pba(at),
                    len: Blocks(len),
                    fua: false,
                };
                (now, _) = drive.carry_out(now, &command);
                at += len;
            }
            let layout = drive.mechanics.layout();
            let passes = layout.sector_time(0).0 * (at - half.1);
            let (took, passes) = (now.since(half.0).0 as f64, passes as f64);
            // A turn and a skew for each track; a lost turn would double that.
            let most = 1.32;
            let name = text.lines().find(|line| line.starts_with("description"));
            assert!(
                took < passes * most,
                "{op:?} of {len}: {took} {passes} {name:?}"
            );
        }
    }
}
