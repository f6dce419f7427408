//! Several copies of each unit, on drives of 40 units as in the other tests.

use super::*;
use crate::plan::{Edge, Step};

const TIMED_OUT: Status = Status::Failed(Failure::TimedOut);
const GONE: Status = Status::Failed(Failure::Gone);

/// Two copies over two drives.
fn mirror() -> Offering {
    over(1, 2)
}

fn over(columns: u64, copies: u8) -> Offering {
    let homes = Homes::new(40, 10, 10.0 / 7.0).expect("it is a pattern");
    let (within, spread) = (Within::Group, spread(columns, copies));
    Offering::blank(40, (CHUNK, 10 * CHUNK), homes, within, spread)
}

/// Without an order two drives could end the writes of a block in two.
#[test]
fn writes_with_copies_follow_each_other_where_units_are_small() {
    let homes = Homes::new(40, 10, 10.0 / 7.0).expect("it is a pattern");
    let of = |chunk, copies| {
        let spread = spread(1, copies);
        let volume = Offering::blank(40, (chunk, 10 * chunk), homes, Within::Group, spread);
        volume.shape().chunk.0
    };
    assert_eq!((of(1, 1), of(16, 1)), (1, 16));
    assert_eq!((of(1, 2), of(4, 2), of(16, 2)), (8, 8, 16));
}

fn ios<const COUNT: usize>(plan: &Plan) -> [PlannedIo; COUNT] {
    let ios: Vec<PlannedIo> = plan.ios().copied().collect();
    ios.try_into()
        .unwrap_or_else(|ios| panic!("not {COUNT} I/Os: {ios:?}"))
}

/// Drive, unit of the drive and blocks of what is read, and whether it is another way to do the
/// same.
fn reads(plan: &Plan) -> Vec<(u16, u64, u64, bool)> {
    let read = |io: &PlannedIo| match io.target {
        Target::At(at) => (io.drive.0, at.0 / CHUNK, io.len.0, io.alternative),
        other => panic!("a read goes to {other:?}"),
    };
    let reads = plan.ios().filter(|io| io.op == Op::Read);
    reads.map(read).collect()
}

/// Where a unit may be read: drive and unit of the drive. All drives are as they were before.
fn found(volume: &mut Offering, unit: u64) -> Vec<(u16, u64)> {
    let read = plan(volume, Op::Read, units(unit..unit + 1));
    let found = reads(&read).into_iter().map(|(drive, at, ..)| (drive, at));
    let found: Vec<(u16, u64)> = found.collect();
    for (io, (_, at)) in read.ios().zip(&found) {
        match io.alternative {
            true => volume.withdrawn(io.tag, io.drive),
            false => _ = ends(volume, io, *at, Status::Done),
        }
    }
    found
}

fn idle(volume: &mut Offering, drive: u16) -> Plan {
    let mut out = Plan::default();
    volume.idle(Instant::ZERO, DriveId(drive), &Busy, &mut out);
    volume.audit();
    out
}

#[test]
fn each_copy_is_a_range_write_and_lies_where_it_lands() {
    let mut volume = mirror();
    let write = plan(&mut volume, Op::Write, units(8..10));
    let [first, second] = ios(&write);
    assert_eq!((first.drive, second.drive), (DriveId(0), DriveId(1)));
    assert!(!second.alternative && first.awaited && second.awaited);
    assert_eq!(
        (offered(&write, &first), offered(&write, &second)),
        (10..20, 10..20)
    );
    let ended = ends(&mut volume, &first, 17, Status::Done);
    assert!(ended.is_empty());
    // One copy is where it was until its write has ended.
    let read = plan(&mut volume, Op::Read, units(8..10));
    assert_eq!(reads(&read), [(0, 17, 16, false), (1, 11, 16, true)]);
    ends(&mut volume, &second, 18, Status::Done);
    let read = plan(&mut volume, Op::Read, units(7..10));
    let expected = [
        (0, 10, 8, false),
        (1, 10, 8, true),
        (0, 17, 16, false),
        (1, 18, 16, true),
    ];
    assert_eq!(reads(&read), expected);
    assert_eq!(
        (volume.counts.range_writes, volume.counts.read_pieces),
        (2, 3)
    );
}

/// Units that lie in a row on one drive alone are read one by one.
#[test]
fn a_read_is_cut_where_one_of_the_copies_is() {
    let mut volume = mirror();
    for (unit, places) in [(0, [7, 8]), (1, [8, 7])] {
        let writes: [PlannedIo; 2] = ios(&plan(&mut volume, Op::Write, units(unit..unit + 1)));
        for (write, place) in writes.iter().zip(places) {
            ends(&mut volume, write, place, Status::Done);
        }
    }
    let read = plan(&mut volume, Op::Read, units(0..2));
    let expected = [
        (0, 7, 8, false),
        (1, 8, 8, true),
        (0, 8, 8, false),
        (1, 7, 8, true),
    ];
    assert_eq!(reads(&read), expected);
}

#[test]
fn a_copy_that_was_not_written_lies_nowhere_and_is_written_again() {
    // Whichever ends first.
    for fails_first in [false, true] {
        let mut volume = mirror();
        let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
        let lands = |volume: &mut Offering| ends(volume, &first, 9, Status::Done);
        let fails = |volume: &mut Offering| ends(volume, &second, 8, TIMED_OUT);
        let (missed, last) = match fails_first {
            true => {
                let missed = fails(&mut volume);
                assert_eq!(found(&mut volume, 3), [(0, 3), (1, 3)]);
                (missed, lands(&mut volume))
            }
            false => {
                lands(&mut volume);
                let missed = fails(&mut volume);
                (missed.clone(), missed)
            }
        };
        assert_eq!(missed.instead, Instead::Tolerated);
        assert_eq!(last.wake, [DriveId(1)]);
        assert_eq!(found(&mut volume, 3), [(0, 9)]);
        assert!(volume.drives[1].space.is_free(3) && !volume.drives[1].space.is_free(8));
        // Its drive has nothing else to do: it is read on the other one.
        assert!(idle(&mut volume, 0).is_empty());
        let renewal = idle(&mut volume, 1);
        let [read, write] = ios(&renewal);
        assert_eq!(reads(&renewal), [(0, 9, 8, false)]);
        assert_eq!(
            (write.drive, offered(&renewal, &write)),
            (DriveId(1), 0..10)
        );
        let edge = Edge {
            before: StepIndex(0),
            then: StepIndex(1),
            carries: true,
            at: Blocks(0),
        };
        assert_eq!(renewal.edges, [edge]);
        assert!(idle(&mut volume, 1).is_empty(), "one at a time");
        ends(&mut volume, &read, 9, Status::Done);
        ends(&mut volume, &write, 3, Status::Done);
        assert_eq!(found(&mut volume, 3), [(0, 9), (1, 3)]);
        assert!(idle(&mut volume, 1).is_empty(), "nothing is missing");
    }
}

#[test]
fn where_no_copy_lands_all_are_as_they_were() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    let missed = ends(&mut volume, &second, 8, TIMED_OUT);
    assert_eq!(missed.instead, Instead::Tolerated);
    let fails = ends(&mut volume, &first, 9, TIMED_OUT);
    assert_eq!(fails.instead, Instead::Nothing);
    assert_eq!(found(&mut volume, 3), [(0, 3), (1, 3)]);
    assert!(idle(&mut volume, 0).is_empty() && idle(&mut volume, 1).is_empty());
}

/// Half of one copy lands, and nothing of the other one.
#[test]
fn a_write_fails_if_some_unit_of_it_was_written_nowhere() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(0..2)));
    let missed = ends(&mut volume, &second, 8, TIMED_OUT);
    assert_eq!(missed.instead, Instead::Tolerated);
    let wider = ends(&mut volume, &first, 0, EXHAUSTED);
    let halves = ends(&mut volume, &ios::<1>(&wider)[0], 0, EXHAUSTED);
    let [one, two] = ios(&halves);
    let lost = ends(&mut volume, &one, 7, TIMED_OUT);
    assert_eq!(lost.instead, Instead::Nothing);
    ends(&mut volume, &two, 17, Status::Done);
    assert_eq!(found(&mut volume, 0), [(0, 0), (1, 0)]);
    assert_eq!(found(&mut volume, 1), [(0, 17)]);
}

#[test]
fn what_is_written_in_place_is_written_to_all_copies() {
    let mut volume = mirror();
    let [_, second] = ios(&plan(&mut volume, Op::Write, units(1..2)));
    ends(&mut volume, &second, 8, Status::Done);
    let write = plan(&mut volume, Op::Write, 4..10);
    let places: Vec<(u16, Target, u64)> = write
        .ios()
        .map(|io| (io.drive.0, io.target, io.len.0))
        .collect();
    let at = |block| Target::At(Pba(block));
    let expected = [(0, at(4), 4), (1, at(4), 4), (0, at(8), 2), (1, at(64), 2)];
    assert_eq!(places, expected);
    assert_eq!(volume.counts.in_place, 1);
}

/// What all copies hold then may be anything, and no two the same.
#[test]
fn of_copies_that_could_not_be_written_in_place_one_is_kept() {
    let cases = [
        ([Status::Done, MEDIUM], 0, Instead::Tolerated),
        ([MEDIUM, Status::Done], 1, Instead::Nothing),
        ([MEDIUM, TIMED_OUT], 1, Instead::Nothing),
        ([TIMED_OUT, TIMED_OUT], 0, Instead::Nothing),
        ([TIMED_OUT, GONE], 0, Instead::Nothing),
        ([GONE, MEDIUM], 1, Instead::Nothing),
    ];
    for (statuses, kept, instead) in cases {
        let mut volume = mirror();
        let writes: [PlannedIo; 2] = ios(&plan(&mut volume, Op::Write, 0..2));
        let [_, last] = [0, 1].map(|copy| ends(&mut volume, &writes[copy], 0, statuses[copy]));
        assert_eq!(last.instead, instead, "{statuses:?}");
        assert_eq!(found(&mut volume, 0), [(kept, 0)], "{statuses:?}");
        // What was there is not known, so nobody has it.
        let other = &volume.drives[1 - usize::from(kept)];
        assert!(!other.space.is_free(0), "{statuses:?}");
    }
}

#[test]
fn what_was_written_meanwhile_is_not_renewed() {
    let begin = |volume: &mut Offering| {
        let [first, second] = ios(&plan(volume, Op::Write, units(3..4)));
        ends(volume, &first, 9, Status::Done);
        ends(volume, &second, 8, TIMED_OUT);
        let [read, write]: [PlannedIo; 2] = ios(&idle(volume, 1));
        ends(volume, &read, 9, Status::Done);
        write
    };
    let mut volume = mirror();
    let renewal = begin(&mut volume);
    // Both copies are written before it ends.
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &first, 7, Status::Done);
    ends(&mut volume, &second, 7, Status::Done);
    ends(&mut volume, &renewal, 3, Status::Done);
    assert_eq!(found(&mut volume, 3), [(0, 7), (1, 7)]);
    assert!(volume.drives[1].space.is_free(3));
    // A part of it is written where the only copy lies.
    let mut volume = mirror();
    let renewal = begin(&mut volume);
    let [part] = ios(&plan(&mut volume, Op::Write, 24..25));
    assert_eq!(part.target, Target::At(Pba(9 * CHUNK)));
    ends(&mut volume, &part, 9, Status::Done);
    ends(&mut volume, &renewal, 3, Status::Done);
    assert_eq!(found(&mut volume, 3), [(0, 9)]);
    let again = idle(&mut volume, 1);
    assert_eq!(reads(&again), [(0, 9, 8, false)]);
    // It holds nothing any more.
    let mut volume = mirror();
    let renewal = begin(&mut volume);
    plan(&mut volume, Op::Discard, units(3..4));
    ends(&mut volume, &renewal, 3, Status::Done);
    assert_eq!(found(&mut volume, 3), []);
    assert!(idle(&mut volume, 1).is_empty());
}

#[test]
fn what_cannot_be_renewed_is_given_up_after_five_tries() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &first, 9, Status::Done);
    ends(&mut volume, &second, 8, TIMED_OUT);
    for _ in 0..5 {
        let [read, write]: [PlannedIo; 2] = ios(&idle(&mut volume, 1));
        ends(&mut volume, &read, 9, TIMED_OUT);
        let mut out = Plan::default();
        volume.skipped(Instant::ZERO, write.tag, write.drive, &Busy, &mut out);
        volume.audit();
    }
    assert!(idle(&mut volume, 1).is_empty());
    // Until somebody writes it.
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &first, 7, Status::Done);
    ends(&mut volume, &second, 9, TIMED_OUT);
    assert!(!idle(&mut volume, 1).is_empty());
}

/// A unit that no drive can read is not read for ever.
#[test]
fn what_is_bad_everywhere_is_given_up_on_each_drive() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Read, units(3..4)));
    volume.withdrawn(second.tag, second.drive);
    let [second] = ios(&ends(&mut volume, &first, 3, MEDIUM));
    ends(&mut volume, &second, 3, MEDIUM);
    let mut tries = 0;
    for drive in [0, 1].into_iter().cycle().take(40) {
        let renewal = idle(&mut volume, drive);
        if renewal.is_empty() {
            continue;
        }
        tries += 1;
        let [read, write]: [PlannedIo; 2] = ios(&renewal);
        ends(&mut volume, &read, 3, MEDIUM);
        let mut out = Plan::default();
        volume.skipped(Instant::ZERO, write.tag, write.drive, &Busy, &mut out);
    }
    assert_eq!(tries, 10);
    assert_eq!(found(&mut volume, 3), [(0, 3), (1, 3)]);
}

#[test]
fn another_copy_is_read_and_the_bad_one_written_anew() {
    let mut volume = mirror();
    let [first, _] = ios(&plan(&mut volume, Op::Read, units(0..2)));
    let other = ends(&mut volume, &first, 0, MEDIUM);
    assert_eq!(reads(&other), [(1, 0, 16, false)]);
    assert_eq!(other.instead, Instead::Step(StepIndex(0)));
    assert_eq!(other.wake, [DriveId(0); 2]);
    // Which of the two is bad is not known, so both are read elsewhere as long as they can be.
    assert_eq!(found(&mut volume, 1), [(1, 1)]);
    // They cannot be read there either: each alone, where it lies.
    let alone = ends(&mut volume, &ios::<1>(&other)[0], 0, MEDIUM);
    let expected = [
        (0, 0, 8, false),
        (1, 0, 8, true),
        (0, 1, 8, false),
        (1, 1, 8, true),
    ];
    assert_eq!(reads(&alone), expected);
    // A single one that no drive can read fails.
    let [one, other, ..]: [PlannedIo; 4] = ios(&alone);
    volume.withdrawn(other.tag, other.drive);
    let last = ends(&mut volume, &one, 0, MEDIUM);
    assert_eq!(reads(&last), [(1, 0, 8, false)]);
    let fails = ends(&mut volume, &ios::<1>(&last)[0], 0, MEDIUM);
    assert_eq!((fails.steps.len(), fails.instead), (0, Instead::Nothing));
}

#[test]
fn a_drive_that_is_gone_is_left_alone_where_others_have_the_unit() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &second, 9, Status::Done);
    let gone = ends(&mut volume, &first, 0, GONE);
    assert_eq!(gone.instead, Instead::Tolerated);
    assert_eq!(found(&mut volume, 3), [(1, 9)]);
    assert_eq!(found(&mut volume, 0), [(1, 0)]);
    let [write] = ios(&plan(&mut volume, Op::Write, units(0..1)));
    assert_eq!(write.drive, DriveId(1));
    let [part] = ios(&plan(&mut volume, Op::Write, 33..34));
    assert_eq!(part.drive, DriveId(1));
    assert!(idle(&mut volume, 0).is_empty() && idle(&mut volume, 1).is_empty());
    let flush = plan(&mut volume, Op::Flush, 0..0);
    assert_eq!(ios::<1>(&flush)[0].drive, DriveId(1));
    assert_eq!(flush.failure, None);
    // With the other one all is lost, and asked for all the same.
    ends(&mut volume, &write, 0, GONE);
    assert_eq!(found(&mut volume, 3), [(1, 9)]);
    assert_eq!(found(&mut volume, 0), [(0, 0), (1, 0)]);
    let flush = plan(&mut volume, Op::Flush, 0..0);
    assert_eq!(flush.failure, Some(Failure::Gone));
}

/// The other drive has missed a write before: what was answered is nowhere else.
#[test]
fn a_flush_fails_if_some_unit_is_on_a_drive_alone_that_is_gone() {
    let mut volume = mirror();
    let [first, second] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &first, 9, Status::Done);
    ends(&mut volume, &second, 9, TIMED_OUT);
    let [one, other]: [PlannedIo; 2] = ios(&plan(&mut volume, Op::Flush, 0..0));
    let told = ends(&mut volume, &one, 0, GONE);
    assert_eq!(told.instead, Instead::Nothing);
    ends(&mut volume, &other, 0, Status::Done);
    // What is written anew is not lost.
    let [write] = ios(&plan(&mut volume, Op::Write, units(3..4)));
    ends(&mut volume, &write, 8, Status::Done);
    assert_eq!(plan(&mut volume, Op::Flush, 0..0).failure, None);
    assert_eq!(found(&mut volume, 3), [(1, 8)]);
}

/// Units go round by four over two columns, and each has its copies on two drives.
#[test]
fn columns_have_drives_and_addresses_of_their_own() {
    let mut volume = over(2, 2);
    assert_eq!(volume.shape().drives, 4);
    let write = plan(&mut volume, Op::Write, units(3..6));
    let what = |io: &PlannedIo| {
        let data = io.data.expect("it carries blocks");
        (io.drive.0, data.block(0).0 / CHUNK, io.len.0)
    };
    let expected = [(0, 3, 8), (1, 3, 8), (2, 4, 16), (3, 4, 16)];
    assert!(write.ios().map(what).eq(expected), "{write:?}");
    let [.., last]: [PlannedIo; 4] = ios(&write);
    ends(&mut volume, &last, 8, Status::Done);
    let read = plan(&mut volume, Op::Read, units(2..13));
    // Of the first column two runs of four, of which the second lies behind the first but for what
    // is free between groups.
    let expected = [
        (0, 2, 40, false),
        (1, 2, 40, true),
        (0, 10, 8, false),
        (1, 10, 8, true),
        (2, 0, 16, false),
        (3, 8, 16, true),
        (2, 2, 24, false),
        (3, 2, 24, true),
    ];
    assert_eq!(reads(&read), expected);
    let [first, ..]: [PlannedIo; 8] = ios(&read);
    let blocks = [0, 2 * CHUNK].map(|index| first.data.expect("it is read").block(index).0);
    assert_eq!(blocks, [2 * CHUNK, 8 * CHUNK]);
}

/// Each drive has room of its own: a write waits where there is none.
#[test]
fn a_copy_waits_for_room_on_its_own_drive() {
    let mut volume = mirror();
    // Twelve units are free on each drive.
    let writes: Vec<Plan> = [0..3, 3..6, 7..10, 14..17]
        .map(|run| plan(&mut volume, Op::Write, units(run)))
        .into();
    let waits = plan(&mut volume, Op::Write, units(20..21));
    let gates = waits
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Gate(_)));
    assert_eq!((gates.count(), waits.edges.len()), (2, 2));
    let [_, second]: [PlannedIo; 2] = ios(&writes[0]);
    let follows = ends(&mut volume, &second, 7, Status::Done);
    let [_, waiting]: [PlannedIo; 2] = ios(&waits);
    assert_eq!(follows.open, [waiting.tag]);
    assert_eq!(offered(&waits, &waiting), 20..30);
}

/// The read has begun on the other drive, so nothing ends on this one.
#[test]
fn room_that_a_withdrawn_read_leaves_is_used() {
    let mut volume = mirror();
    let [read, other] = ios(&plan(&mut volume, Op::Read, units(0..1)));
    let moves: [PlannedIo; 2] = ios(&plan(&mut volume, Op::Write, units(0..1)));
    for write in &moves {
        ends(&mut volume, write, 7, Status::Done);
    }
    // Eleven units are free on each drive, and what unit 0 has left is read still.
    for run in [3..6, 7..10, 14..17, 20..22] {
        plan(&mut volume, Op::Write, units(run));
    }
    let waiting: [PlannedIo; 2] = ios(&plan(&mut volume, Op::Write, units(24..25)));
    assert_eq!(volume.counts.waited, 2);
    volume.withdrawn(other.tag, other.drive);
    let follows = ends(&mut volume, &read, 0, Status::Done);
    assert_eq!(follows.open, waiting.map(|write| write.tag));
}
