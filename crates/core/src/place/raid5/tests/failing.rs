//! What one command leads to that fails, or meets what is known to be bad.

use super::*;
use crate::contract::Oracle;
use crate::ids::IoId;
use crate::op::Cost;
use crate::plan::{Instead, StepIndex};

const FAILED: Status = Status::Failed(Failure::Medium);

fn asked(raid5: &mut Raid5, op: Op, start: u64, len: u64) -> Plan {
    let mut plan = Plan::default();
    let request = Request::new(1, op, start, len, Instant::ZERO);
    raid5.plan(Instant::ZERO, &request, &Busy, &mut plan);
    plan
}

fn ends(raid5: &mut Raid5, io: &PlannedIo, status: Status) -> Plan {
    let Target::At(at) = io.target else {
        panic!("strips have their places");
    };
    let done = DriveDone {
        io: IoId(0),
        op: io.op,
        at,
        len: io.len,
        status,
        cost: Cost::default(),
        arm: None,
    };
    let mut out = Plan::default();
    raid5.done(Instant::ZERO, io.tag, io.drive, &done, &Busy, &mut out);
    out
}

/// Which blocks of which drives are read.
fn reads(plan: &Plan) -> Vec<(DriveId, u64, u64)> {
    let reads = plan.ios().filter(|io| io.op == Op::Read);
    let told = reads.map(|io| match io.target {
        Target::At(at) => (io.drive, at.0, io.len.0),
        _ => panic!("strips have their places"),
    });
    told.collect()
}

fn only(plan: &Plan) -> PlannedIo {
    assert_eq!(plan.ios().count(), 1);
    *plan.ios().next().expect("there is one")
}

/// A bad block is looked for alone: among the pages of a longer read, and among the blocks of a
/// page if the others of its rows do not tell that. What a drive does not answer in time is
/// computed at once.
#[test]
fn a_read_that_meets_a_bad_block_is_done_in_parts() {
    let mut raid5 = of_study();
    let read = only(&asked(&mut raid5, Op::Read, 0, 16));
    let drive = read.drive;
    let pages = ends(&mut raid5, &read, FAILED);
    assert_eq!(pages.instead, Instead::Tolerated);
    assert_eq!(reads(&pages), [(drive, 0, 8), (drive, 8, 8)]);
    let page = *pages.ios().next().expect("there are two");
    let found = ends(&mut raid5, &page, FAILED);
    assert_eq!(found.instead, Instead::Step(StepIndex(0)));
    let others = (0..7).map(DriveId).filter(|other| *other != drive);
    let expected: Vec<_> = others.map(|other| (other, 0, 8)).collect();
    let mut computed = reads(&found);
    computed.sort_unstable();
    assert_eq!(computed, expected);

    let mut raid5 = of_study();
    let other = raid5.geometry.stripe(0).seat(1);
    raid5.mark(other, Pba(3), Blocks(1), Kind::Bad);
    let page = only(&asked(&mut raid5, Op::Read, 0, 8));
    let blocks = ends(&mut raid5, &page, FAILED);
    assert_eq!(blocks.instead, Instead::Tolerated);
    let expected: Vec<_> = (0..8).map(|block| (drive, block, 1)).collect();
    assert_eq!(reads(&blocks), expected);

    let mut raid5 = of_study();
    let read = only(&asked(&mut raid5, Op::Read, 0, 16));
    let late = ends(&mut raid5, &read, Status::Failed(Failure::TimedOut));
    assert_eq!(late.instead, Instead::Step(StepIndex(0)));
    assert!(reads(&late).iter().all(|(.., len)| *len == 16));
}

/// Two drives have a bad block each, in other rows of a page. So each is computed with the help of
/// the other.
#[test]
fn a_source_that_fails_is_computed_with_what_it_was_read_for() {
    let mut raid5 = of_study();
    let first = only(&asked(&mut raid5, Op::Read, 0, 8));
    let computed = ends(&mut raid5, &first, FAILED);
    let source = *computed.ios().next().expect("the others are read");
    assert_ne!(source.drive, first.drive);
    let blocks = ends(&mut raid5, &source, FAILED);
    assert!(matches!(blocks.instead, Instead::Step(_)), "{blocks:?}");
    let expected: Vec<_> = (0..8).map(|block| (source.drive, block, 1)).collect();
    assert_eq!(reads(&blocks), expected);
    let bad = *blocks.ios().nth(3).expect("there are eight");
    let detour = ends(&mut raid5, &bad, FAILED);
    assert!(matches!(detour.instead, Instead::Step(_)), "{detour:?}");
    let others = (0..7).map(DriveId).filter(|other| *other != source.drive);
    let expected: Vec<_> = others.map(|other| (other, 3, 1)).collect();
    let mut helped = reads(&detour);
    helped.sort_unstable();
    assert_eq!(helped, expected);
    assert_eq!(raid5.counts.lost, 0);
    // The block of the first drive that was to help is bad, too.
    let help = detour.ios().find(|io| io.drive == first.drive);
    let help = *help.expect("it is read");
    let nothing = ends(&mut raid5, &help, FAILED);
    assert_eq!(nothing.instead, Instead::Nothing);
    assert_eq!(raid5.counts.lost, 1);
}

/// A block that was computed counts as good from then on, so a power cut may not take it.
#[test]
fn what_is_computed_is_written_back_by_force_where_caches_lose_it() {
    for loses in [false, true] {
        let mut raid5 = of_study();
        raid5.written = Written::new(loses);
        let seat = raid5.geometry.stripe(0).seat(0);
        raid5.mark(seat, Pba(10), Blocks(1), Kind::Bad);
        let plan = asked(&mut raid5, Op::Read, 8, 8);
        let writes: Vec<&PlannedIo> = plan.ios().filter(|io| io.op == Op::Write).collect();
        let [back] = writes[..] else {
            panic!("one block is written: {writes:?}");
        };
        assert_eq!(back.drive, raid5.seats.drive(seat));
        assert_eq!((back.target, back.len), (Target::At(Pba(10)), Blocks(1)));
        assert_eq!((back.fua, back.awaited), (loses, false));
    }
}

/// Rows whose parity may be in a cache alone have an entry each, until a flush. When there are
/// many, the drives are flushed, once, and nobody waits.
#[test]
fn drives_are_flushed_before_too_many_rows_wait_for_it() {
    for loses in [false, true] {
        let mut raid5 = of_study();
        raid5.written = Written::new(loses);
        let mut flushes = Vec::new();
        for number in 0..12_000_u64 {
            // Every other row of the first strip of each stripe.
            let start = number / 32 * 384 + number % 32 * 2;
            let plan = asked(&mut raid5, Op::Write, start, 1);
            let ios = plan.ios().filter(|io| io.op == Op::Flush);
            flushes.extend(ios.map(|io| (number, io.drive, io.awaited)));
        }
        let number = flushes.first().map_or(0, |(number, ..)| *number);
        let drives = if loses { 7 } else { 0 };
        let expected: Vec<_> = (0..drives)
            .map(|drive| (number, DriveId(drive), false))
            .collect();
        assert_eq!(flushes, expected);
    }
}

/// Drives of which one has something to do, if any has.
struct But(Option<DriveId>);

impl Drives for But {
    fn idle(&self, drive: DriveId) -> bool {
        self.0 != Some(drive)
    }

    fn waiting(&self, drive: DriveId) -> usize {
        usize::from(!self.idle(drive))
    }

    fn oracle(&self, _drive: DriveId) -> &dyn Oracle {
        panic!("nobody asks what time costs")
    }
}

/// A repair reads all drives of its array: none of them may have anything else to do.
#[test]
fn repairs_wait_until_all_drives_of_the_array_rest() {
    for busy in [None, Some(DriveId(0)), Some(DriveId(6))] {
        let mut raid5 = of_study();
        raid5.mark(Seat(2), Pba(10), Blocks(1), Kind::Bad);
        let mut plan = Plan::default();
        raid5.idle(Instant::ZERO, DriveId(2), &But(busy), &mut plan);
        assert_eq!(plan.is_empty(), busy.is_some(), "{busy:?}");
    }
}
