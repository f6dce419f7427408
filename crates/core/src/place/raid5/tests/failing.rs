//! What one command leads to that fails, or meets what is known to be bad.

use super::*;
use crate::contract::Oracle;
use crate::ids::IoId;
use crate::op::Cost;
use crate::plan::{Instead, Step, StepIndex};

pub(super) const FAILED: Status = Status::Failed(Failure::Medium);

pub(super) fn asked(raid5: &mut Raid5, op: Op, start: u64, len: u64) -> Plan {
    let mut plan = Plan::default();
    let request = Request::new(1, op, start, len, Instant::ZERO);
    raid5.plan(Instant::ZERO, &request, &Busy, &mut plan);
    plan
}

pub(super) fn ends(raid5: &mut Raid5, io: &PlannedIo, status: Status) -> Plan {
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

/// The only I/O of a plan.
pub(super) fn only(plan: &Plan) -> PlannedIo {
    let ios: Vec<PlannedIo> = plan.ios().copied().collect();
    let [io] = ios[..] else {
        panic!("one is enough: {ios:?}");
    };
    io
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

/// Two drives have a bad block each in one page, and perhaps in other rows: each block of what is
/// asked for is read alone, and only one that cannot be read has to be computed.
#[test]
fn a_page_that_the_others_do_not_tell_is_read_block_by_block() {
    let mut raid5 = of_study();
    let first = only(&asked(&mut raid5, Op::Read, 0, 8));
    let computed = ends(&mut raid5, &first, FAILED);
    let others: Vec<PlannedIo> = computed.ios().copied().collect();
    assert_ne!(others[0].drive, first.drive);
    let blocks = ends(&mut raid5, &others[0], FAILED);
    assert_eq!(blocks.instead, Instead::Anew);
    let expected: Vec<_> = (0..8).map(|block| (first.drive, block, 1)).collect();
    assert_eq!(reads(&blocks), expected);
    // The fourth cannot be read, nor can another one of its row.
    let bad = *blocks.ios().nth(3).expect("there are eight");
    let row = ends(&mut raid5, &bad, FAILED);
    assert!(matches!(row.instead, Instead::Step(_)), "{row:?}");
    assert!(reads(&row).iter().all(|(_, at, len)| (*at, *len) == (3, 1)));
    assert_eq!((raid5.counts.lost, raid5.counts.lost_blocks), (0, 0));
    let other = *row.ios().next().expect("the others of the row are read");
    let nothing = ends(&mut raid5, &other, FAILED);
    assert_eq!(nothing.instead, Instead::Nothing);
    assert_eq!((raid5.counts.lost, raid5.counts.lost_blocks), (1, 2));
    // Nobody needs any more what the first way has under way.
    let more = ends(&mut raid5, &others[1], FAILED);
    assert_eq!((more.instead, reads(&more)), (Instead::Anew, Vec::new()));
}

/// A block that was found to be bad, of which another block of the row is bad too.
fn found_bad(raid5: &mut Raid5) -> (PlannedIo, Plan) {
    let read = only(&asked(raid5, Op::Read, 0, 1));
    let computed = ends(raid5, &read, FAILED);
    assert!(matches!(computed.instead, Instead::Step(_)), "{computed:?}");
    (read, computed)
}

/// The first of the others of its row cannot be read either.
fn cannot_be_computed(raid5: &mut Raid5, computed: &Plan) -> Plan {
    let other = computed.ios().find(|io| io.op == Op::Read);
    ends(raid5, other.expect("the others tell it"), FAILED)
}

/// A block was found to be bad while a write of it was under way. That wrote it before the others
/// of its row could be read: so it is good, and read where it lies, whatever else is bad.
#[test]
fn what_was_written_before_it_could_be_computed_is_not_lost() {
    let mut raid5 = of_study();
    let write = asked(&mut raid5, Op::Write, 0, 1);
    let (read, computed) = found_bad(&mut raid5);
    for io in write.ios() {
        ends(&mut raid5, io, Status::Done);
    }
    let again = cannot_be_computed(&mut raid5, &computed);
    assert_eq!((again.instead, again.failure), (Instead::Anew, None));
    assert_eq!(reads(&again), [(read.drive, 0, 1)]);
    assert_eq!(raid5.counts.lost_blocks, 0);
    // It is bad all the same: nothing has to wait now, and nothing is left to try.
    let anew = only(&again);
    let computed = ends(&mut raid5, &anew, FAILED);
    assert!(matches!(computed.instead, Instead::Step(_)), "{computed:?}");
    for io in computed.ios().filter(|io| io.op == Op::Read) {
        let nothing = ends(&mut raid5, io, FAILED);
        assert_ne!(nothing.instead, Instead::Anew);
    }
    assert!(raid5.counts.lost_blocks > 0);
}

/// Two requests compute a block that both have found to be bad. The first writes it back, the
/// second one meets a bad block of another drive: so it reads what the first has written.
#[test]
fn what_another_request_has_written_back_is_not_lost() {
    for heals in [true, false] {
        let mut raid5 = of_study();
        let read = only(&asked(&mut raid5, Op::Read, 0, 1));
        let (_, second) = found_bad(&mut raid5);
        let first = ends(&mut raid5, &read, FAILED);
        for io in first.ios().filter(|io| heals || io.op == Op::Read) {
            ends(&mut raid5, io, Status::Done);
        }
        raid5.audit();
        let again = cannot_be_computed(&mut raid5, &second);
        let expected = if heals {
            Instead::Anew
        } else {
            Instead::Nothing
        };
        assert_eq!((again.instead, again.failure), (expected, None));
        let lost = if heals { 0 } else { 2 };
        assert_eq!(raid5.counts.lost_blocks, lost);
    }
}

/// A block that was known to be bad when it was asked for, and was written before its turn came, is
/// not marked again.
#[test]
fn what_was_bad_when_it_was_asked_for_may_be_good_by_now() {
    let mut raid5 = of_study();
    let stripe = raid5.geometry.stripe(0);
    raid5.mark(stripe.seat(0), Pba(0), Blocks(1), Kind::Bad);
    let write = asked(&mut raid5, Op::Write, 0, 1);
    let computed = asked(&mut raid5, Op::Read, 0, 1);
    assert_eq!(reads(&computed).len(), 6, "the others tell it");
    for io in write.ios() {
        ends(&mut raid5, io, Status::Done);
    }
    let again = cannot_be_computed(&mut raid5, &computed);
    assert_eq!(again.instead, Instead::Anew);
    assert_eq!(reads(&again).len(), 1, "it is read where it lies");
    let row = Rows { from: 0, to: 1 };
    assert!(!raid5.is_bad(&stripe, 0, &row));
}

/// By drive, what of a plan is read and written there: rows from and to.
pub(super) fn by_drive(plan: &Plan, op: Op) -> Vec<(u16, u64, u64)> {
    let ios = plan.ios().filter(|io| io.op == op);
    let told = ios.map(|io| match io.target {
        Target::At(at) => (io.drive.0, at.0, at.0 + io.len.0),
        _ => panic!("strips have their places"),
    });
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    told
}

/// Nothing of a plan begins before all of this has ended: it may be written back.
fn check_waits(raid5: &mut Raid5, anew: &Plan, left: &[PlannedIo]) {
    let mut gates = (0..)
        .zip(&anew.steps)
        .filter_map(|(index, step)| match step {
            Step::Gate(tag) => Some((index, *tag)),
            _ => None,
        });
    let (gate, opened) = gates.next().expect("it waits");
    let waiting = anew.edges.iter().filter(|edge| edge.before.0 == gate);
    assert_eq!(waiting.count(), anew.ios().count());
    for (number, io) in (1..).zip(left) {
        let mut out = Plan::default();
        match io.op {
            Op::Read => out = ends(raid5, io, Status::Done),
            _ => raid5.skipped(Instant::ZERO, io.tag, io.drive, &Busy, &mut out),
        }
        let is_last = number == left.len();
        assert_eq!(out.open, if is_last { vec![opened] } else { Vec::new() });
    }
}

/// A page is written whose old data cannot be read, and the sixth block of another drive neither:
/// the rows around that are written as before, and in its row the parity follows the old data.
#[test]
fn a_write_that_meets_a_bad_block_of_another_drive_goes_row_by_row() {
    let mut raid5 = of_study();
    let plan = asked(&mut raid5, Op::Write, 0, 8);
    let ios: Vec<PlannedIo> = plan.ios().filter(|io| io.op == Op::Read).copied().collect();
    let [old, parity] = ios[..] else {
        panic!("old data and old parity: {ios:?}");
    };
    let computed = ends(&mut raid5, &old, FAILED);
    let source = computed.ios().find(|io| io.drive != parity.drive);
    let source = *source.expect("the others are read");
    let blocks = ends(&mut raid5, &source, FAILED);
    let bad = *blocks.ios().nth(5).expect("there are eight");
    let anew = ends(&mut raid5, &bad, FAILED);
    assert_eq!((anew.instead, anew.failure), (Instead::Anew, None));
    let (old, parity, other) = (old.drive.0, parity.drive.0, source.drive.0);
    let mut both = vec![(old, 0, 5), (old, 5, 6), (old, 6, 8)];
    both.extend([(parity, 0, 5), (parity, 5, 6), (parity, 6, 8)]);
    both.sort_unstable();
    assert_eq!(by_drive(&anew, Op::Write), both);
    let read = by_drive(&anew, Op::Read);
    assert!(read.contains(&(old, 5, 6)) && read.contains(&(parity, 5, 6)));
    assert!(
        !read
            .iter()
            .any(|(drive, from, _)| (*drive, *from) == (other, 5))
    );
    // What waited for the first way never starts.
    let mut left: Vec<PlannedIo> = blocks.ios().filter(|io| **io != bad).copied().collect();
    left.extend(computed.ios().filter(|io| **io != source));
    left.extend(ios.iter().filter(|io| io.drive.0 == parity));
    left.extend(plan.ios().filter(|io| io.op == Op::Write));
    check_waits(&mut raid5, &anew, &left);
    assert_eq!(raid5.counts.lost, 0);
    raid5.audit();
}

/// The same, and the parity cannot be read in that row: so two blocks of it are lost, but what is
/// written is not one of them.
#[test]
fn a_row_of_which_two_are_bad_is_written_without_parity() {
    let mut raid5 = of_study();
    let stripe = raid5.geometry.stripe(0);
    raid5.mark(stripe.seat(1), Pba(5), Blocks(1), Kind::Bad);
    let plan = asked(&mut raid5, Op::Write, 5, 1);
    let parity = raid5.drive(&stripe, stripe.parity());
    let read = plan.ios().find(|io| io.drive == parity);
    let anew = ends(&mut raid5, read.expect("the old parity"), FAILED);
    assert_eq!((anew.instead, anew.failure), (Instead::Anew, None));
    let to = raid5.drive(&stripe, 0);
    assert_eq!(by_drive(&anew, Op::Write), [(to.0, 5, 6)]);
    assert_eq!((raid5.counts.lost, raid5.counts.lost_blocks), (0, 1));
    // Its drive gone, nothing would tell it.
    let mut raid5 = of_study();
    let gone = raid5.drive(&stripe, 0);
    assert!(
        raid5
            .seats
            .learn(gone, Status::Failed(Failure::Gone))
            .is_some()
    );
    raid5.vacated(stripe.seat(0), &mut Plan::default());
    let plan = asked(&mut raid5, Op::Write, 0, 8);
    let rest = *plan.ios().find(|io| io.op == Op::Read).expect("the rest");
    let blocks = ends(&mut raid5, &rest, FAILED);
    let bad = *blocks.ios().nth(5).expect("there are eight");
    let anew = ends(&mut raid5, &bad, FAILED);
    assert_eq!(anew.failure, Some(Failure::Gone), "of the sixth row");
    let parity = raid5.drive(&stripe, stripe.parity()).0;
    let others = [(parity, 0, 5), (parity, 6, 8)];
    assert_eq!(by_drive(&anew, Op::Write), others);
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
