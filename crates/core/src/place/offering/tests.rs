//! What is planned and what follows, step by step: 40 units of eight blocks in groups of ten, of
//! which seven are used.

use super::*;
use crate::ids::IoId;
use crate::io::Data;
use crate::op::Cost;
use crate::place::busy::Busy;
use crate::place::striping::Striping;
use crate::plan::StepIndex;
use crate::request::Freedom;
use crate::units::Lba;

mod copies;

const CHUNK: u64 = 8;
const EXHAUSTED: Status = Status::Failed(Failure::Exhausted);
const MEDIUM: Status = Status::Failed(Failure::Medium);

fn volume(within: Within) -> Offering {
    let homes = Homes::new(40, 10, 10.0 / 7.0).expect("it is a pattern");
    Offering::blank(40, (CHUNK, 10 * CHUNK), homes, within, spread(1, 1))
}

fn spread(columns: u64, copies: u8) -> Spread {
    let unit = 4 * CHUNK;
    let striping = Striping { columns, unit };
    Spread { striping, copies }
}

fn plan(volume: &mut Offering, op: Op, blocks: Range<u64>) -> Plan {
    let mut out = Plan::default();
    let len = blocks.end - blocks.start;
    let request = Request::new(1, op, blocks.start, len, Instant::ZERO);
    volume.plan(Instant::ZERO, &request, &Busy, &mut out);
    volume.audit();
    out
}

/// The plan of a write that says how far it may go.
fn plan_of(volume: &mut Offering, freedom: Freedom, blocks: Range<u64>) -> Plan {
    let mut out = Plan::default();
    let len = blocks.end - blocks.start;
    let request = Request::new(1, Op::Write, blocks.start, len, Instant::ZERO);
    let request = Request { freedom, ..request };
    volume.plan(Instant::ZERO, &request, &Busy, &mut out);
    volume.audit();
    out
}

#[test]
fn a_client_says_how_far_its_write_may_go() {
    let of = |within, told, freedom| {
        let mut volume = volume(within);
        volume.told = told;
        let plan = plan_of(&mut volume, freedom, units(8..9));
        let only = only(&plan);
        let moves = matches!(only.target, Target::Among(..));
        moves.then(|| offered(&plan, &only))
    };
    // Unit 8 lies in the second of four groups. The drive has no tracks: a group counts as one.
    let (group, disk) = (Some(10..20), Some(0..40));
    assert_eq!(of(Within::Group, false, Freedom::Untold), group);
    assert_eq!(of(Within::Disk, false, Freedom::Untold), disk);
    assert_eq!(of(Within::Group, true, Freedom::Untold), None);
    for (within, told) in [(Within::Group, false), (Within::Disk, true)] {
        assert_eq!(of(within, told, Freedom::None), None);
        assert_eq!(of(within, told, Freedom::Track), group);
        assert_eq!(of(within, told, Freedom::Group), group);
        assert_eq!(of(within, told, Freedom::Disk), disk);
    }
}

#[test]
fn a_volume_that_ends_within_a_table_of_its_map_is_whole() {
    // 28 units of the volume, and entries of its map for 32.
    let mut volume = volume(Within::Group);
    let write = only(&plan(&mut volume, Op::Write, units(27..28)));
    ends(&mut volume, &write, 38, Status::Done);
    assert_eq!(volume.column(0)[0].map.moved().count(), 28);
}

fn units(units: Range<u64>) -> Range<u64> {
    units.start * CHUNK..units.end * CHUNK
}

/// An I/O ends at this unit of its drive; what follows.
fn ends(volume: &mut Offering, io: &PlannedIo, at: u64, status: Status) -> Plan {
    let mut out = Plan::default();
    let done = DriveDone {
        io: IoId(0),
        op: io.op,
        at: Pba(at * CHUNK),
        len: io.len,
        status,
        arm: None,
        cost: Cost::default(),
    };
    volume.done(Instant::ZERO, io.tag, io.drive, &done, &Busy, &mut out);
    volume.audit();
    out
}

fn only(plan: &Plan) -> PlannedIo {
    let ios: Vec<&PlannedIo> = plan.ios().collect();
    assert_eq!(ios.len(), 1, "{plan:?}");
    *ios[0]
}

/// The units that a range write is offered.
fn offered(plan: &Plan, io: &PlannedIo) -> Range<u64> {
    let Target::Among(_, number) = io.target else {
        panic!("{io:?} offers nothing");
    };
    let offer = &plan.offers[number as usize];
    let first = offer.first(0, u64::MAX, CHUNK).expect("a region");
    assert_eq!(offer.align(), CHUNK);
    first / CHUNK..offer.end() / CHUNK
}

fn reads(plan: &Plan) -> Vec<(u64, u64)> {
    let read = |io: &PlannedIo| match io.target {
        Target::At(at) => (at.0, io.len.0),
        other => panic!("a read goes to {other:?}"),
    };
    plan.ios()
        .filter(|io| io.op == Op::Read)
        .map(read)
        .collect()
}

#[test]
fn a_write_offers_its_group_and_lies_where_it_lands() {
    let mut volume = volume(Within::Group);
    assert_eq!(volume.shape().capacity, Blocks(28 * CHUNK));
    let write = plan(&mut volume, Op::Write, units(8..10));
    let io = only(&write);
    assert_eq!((offered(&write, &io), io.len), (10..20, Blocks(16)));
    // Its home is where schedulers that go by address take it to be.
    assert!(matches!(io.target, Target::Among(Pba(88), 0)), "{io:?}");
    // Until it has landed it is read where it was.
    assert_eq!(
        reads(&plan(&mut volume, Op::Read, units(8..10))),
        [(88, 16)]
    );
    ends(&mut volume, &io, 17, Status::Done);
    let read = plan(&mut volume, Op::Read, units(7..11));
    assert_eq!(reads(&read), [(80, 8), (136, 16), (104, 8)]);
    let free: Vec<u64> = (10..20)
        .filter(|unit| volume.drives[0].space.is_free(*unit))
        .collect();
    // The first read has not ended, so what it reads from is not free.
    assert_eq!(free, [19]);
}

#[test]
fn a_place_becomes_free_with_the_last_read_from_it() {
    let mut volume = volume(Within::Group);
    let [first, second] = [0, 1].map(|_| only(&plan(&mut volume, Op::Read, units(0..2))));
    let write = only(&plan(&mut volume, Op::Write, units(0..1)));
    ends(&mut volume, &write, 7, Status::Done);
    assert!(!volume.drives[0].space.is_free(0));
    ends(&mut volume, &first, 0, Status::Done);
    assert!(!volume.drives[0].space.is_free(0));
    ends(&mut volume, &second, 0, Status::Done);
    assert!(volume.drives[0].space.is_free(0) && !volume.drives[0].space.is_free(1));
}

#[test]
fn what_is_not_whole_units_is_written_where_it_lies() {
    let mut volume = volume(Within::Group);
    // The end of unit 0, unit 1, and the begin of unit 2, which lies elsewhere.
    let moved = only(&plan(&mut volume, Op::Write, units(2..3)));
    ends(&mut volume, &moved, 9, Status::Done);
    let write = plan(&mut volume, Op::Write, 4..18);
    let writes: Vec<(Target, u64)> = write.ios().map(|io| (io.target, io.len.0)).collect();
    let at = |block| Target::At(Pba(block));
    assert_eq!(writes, [(at(4), 12), (at(72), 2)]);
    // A unit that lies nowhere is written as a whole, where there is room.
    plan(&mut volume, Op::Discard, units(5..6));
    let write = plan(&mut volume, Op::Write, 41..43);
    let io = only(&write);
    assert_eq!((offered(&write, &io), io.len), (0..10, Blocks(CHUNK)));
    assert_eq!(io.data, Some(Data::from(Lba(40))));
    assert_eq!(volume.counts.in_place, 2);
}

#[test]
fn a_write_that_is_too_long_goes_where_its_units_lie() {
    let mut volume = volume(Within::Group);
    let moved = only(&plan(&mut volume, Op::Write, units(1..2)));
    ends(&mut volume, &moved, 9, Status::Done);
    let write = plan(&mut volume, Op::Write, units(0..4));
    let places: Vec<Target> = write.ios().map(|io| io.target).collect();
    let at = |unit| Target::At(Pba(unit * CHUNK));
    assert_eq!(places, [at(0), at(9), at(2)]);
    assert_eq!(volume.counts.in_place, 1);
    // Those that lie nowhere go where there is room.
    plan(&mut volume, Op::Discard, units(0..1));
    let write = plan(&mut volume, Op::Write, units(0..4));
    let first = write.ios().next().copied().expect("one of three");
    assert_eq!(offered(&write, &first), 0..10);
}

#[test]
fn more_is_offered_where_nothing_has_room_and_then_the_write_is_halved() {
    let mut volume = volume(Within::Group);
    let write = only(&plan(&mut volume, Op::Write, units(0..3)));
    let wider = ends(&mut volume, &write, 0, EXHAUSTED);
    let again = only(&wider);
    assert_eq!(offered(&wider, &again), 0..40);
    assert!(again.repeats && wider.instead == Instead::Step(StepIndex(0)));
    let halves = ends(&mut volume, &again, 0, EXHAUSTED);
    let lens: Vec<u64> = halves.ios().map(|io| io.len.0).collect();
    assert_eq!(lens, [8, 16]);
    assert_eq!(halves.instead, Instead::Step(StepIndex(0)));
    assert_eq!((volume.counts.widened, volume.counts.halved), (1, 1));
    let [one, two] = [0, 1].map(|index| *halves.ios().nth(index).expect("two"));
    ends(&mut volume, &one, 7, Status::Done);
    ends(&mut volume, &two, 27, Status::Done);
    assert_eq!(
        reads(&plan(&mut volume, Op::Read, units(0..3))),
        [(56, 8), (216, 16)]
    );
}

#[test]
fn writes_wait_until_enough_is_free() {
    let mut volume = volume(Within::Group);
    // Twelve units are free, of which eleven are promised when one comes that is too long.
    let writes: Vec<Plan> = [0..3, 3..6, 6..9, 9..11, 12..15]
        .map(|run| plan(&mut volume, Op::Write, units(run)))
        .into();
    assert!(writes[3].edges.is_empty());
    let gates = |plan: &Plan| {
        let gate = |step: &crate::plan::Step| matches!(step, crate::plan::Step::Gate(_));
        plan.steps.iter().filter(|step| gate(step)).count()
    };
    assert_eq!((gates(&writes[4]), writes[4].edges.len()), (1, 1));
    // What comes later waits behind it, though it would fit.
    let short = plan(&mut volume, Op::Write, units(20..21));
    assert_eq!(gates(&short), 1);
    let follows = ends(&mut volume, &only(&writes[0]), 7, Status::Done);
    assert_eq!(
        follows.open,
        [&writes[4], &short].map(|plan| only(plan).tag)
    );
    assert_eq!(volume.counts.waited, 2);
}

/// Only what could not be written makes less free than there was.
#[test]
fn the_last_unit_waits_for_others_and_fails_when_there_are_none() {
    let mut volume = volume(Within::Disk);
    let write = only(&plan(&mut volume, Op::Write, units(0..1)));
    let other = only(&plan(&mut volume, Op::Write, units(1..2)));
    let waits = ends(&mut volume, &write, 0, EXHAUSTED);
    let again = only(&waits);
    assert!(
        waits.open.is_empty(),
        "it is tried when another one has ended"
    );
    assert!(matches!(waits.instead, Instead::Step(_)) && again.repeats);
    let follows = ends(&mut volume, &other, 7, Status::Done);
    assert_eq!(follows.open, [again.tag]);
    let fails = ends(&mut volume, &again, 0, EXHAUSTED);
    assert_eq!(fails.instead, Instead::Nothing);
    assert!(fails.steps.is_empty() && volume.drives[0].promised == 0);
}

/// All that is free may have been left by units that moved, and be read from still.
#[test]
fn the_last_unit_waits_for_reads_of_what_was_left() {
    let mut volume = volume(Within::Disk);
    let read = only(&plan(&mut volume, Op::Read, units(0..1)));
    let moved = only(&plan(&mut volume, Op::Write, units(0..1)));
    ends(&mut volume, &moved, 7, Status::Done);
    let write = only(&plan(&mut volume, Op::Write, units(1..2)));
    let waits = ends(&mut volume, &write, 0, EXHAUSTED);
    let again = only(&waits);
    assert!(matches!(waits.instead, Instead::Step(_)));
    let follows = ends(&mut volume, &read, 0, Status::Done);
    assert_eq!(follows.open, [again.tag]);
}

#[test]
fn what_could_not_be_written_is_never_free_again() {
    let mut volume = volume(Within::Group);
    let mut write = only(&plan(&mut volume, Op::Write, units(0..1)));
    for bad in [7, 8] {
        let again = ends(&mut volume, &write, bad, MEDIUM);
        assert!(!volume.drives[0].space.is_free(bad));
        assert_eq!(again.instead, Instead::Step(StepIndex(0)));
        write = only(&again);
        assert!(write.repeats);
    }
    let fails = ends(&mut volume, &write, 9, MEDIUM);
    assert_eq!(fails.instead, Instead::Nothing);
    assert_eq!(reads(&plan(&mut volume, Op::Read, units(0..1))), [(0, 8)]);
    assert_eq!(volume.drives[0].promised, 0);
}

/// Of twelve units that are free three may be bad, so that there is room at last. What was not
/// answered may still arrive.
#[test]
fn no_more_than_a_quarter_of_what_is_free_is_retired() {
    let mut volume = volume(Within::Disk);
    for bad in [7, 8, 9, 17, 18] {
        let write = only(&plan(&mut volume, Op::Write, units(0..1)));
        ends(&mut volume, &write, bad, Status::Failed(Failure::TimedOut));
    }
    let free = [7, 8, 9, 17, 18].map(|unit| volume.drives[0].space.is_free(unit));
    assert_eq!(free, [false, false, false, true, true]);
}

/// Where nothing is free, what was left must become free first: two that wait would wake each other
/// for ever.
#[test]
fn who_waits_for_room_is_not_tried_before_there_is_some() {
    let mut volume = volume(Within::Disk);
    let reads: Vec<PlannedIo> = (0..12)
        .map(|unit| only(&plan(&mut volume, Op::Read, units(unit..unit + 1))))
        .collect();
    let free: Vec<u64> = (0..40)
        .filter(|unit| volume.drives[0].space.is_free(*unit))
        .collect();
    for (unit, place) in (0..).zip(&free) {
        let moved = only(&plan(&mut volume, Op::Write, units(unit..unit + 1)));
        ends(&mut volume, &moved, *place, Status::Done);
    }
    assert_eq!(
        (volume.drives[0].space.free(), volume.drives[0].left),
        (0, 12)
    );
    let [one, two] = [20, 21].map(|unit| plan(&mut volume, Op::Write, units(unit..unit + 1)));
    assert_eq!(volume.counts.waited, 2);
    let other = only(&plan(&mut volume, Op::Read, units(20..21)));
    assert!(ends(&mut volume, &other, 29, Status::Done).open.is_empty());
    let follows = ends(&mut volume, &reads[0], 0, Status::Done);
    assert_eq!(follows.open, [only(&one).tag]);
    let follows = ends(&mut volume, &reads[1], 1, Status::Done);
    assert_eq!(follows.open, [only(&two).tag]);
}

#[test]
fn what_was_discarded_lies_nowhere() {
    let mut volume = volume(Within::Group);
    // Units 1 and 2 as a whole.
    plan(&mut volume, Op::Discard, 4..28);
    assert_eq!(
        reads(&plan(&mut volume, Op::Read, 0..32)),
        [(0, 8), (24, 8)]
    );
    assert!(
        volume.drives[0].space.is_free(1)
            && volume.drives[0].space.is_free(2)
            && !volume.drives[0].space.is_free(3)
    );
}
