//! Chunks of which no copy can be read as a whole.

use super::*;

/// What the drives are asked for next, when the read of these blocks of copy `copy` fails, or ends.
fn next(copies: &mut FixedCopies<Side>, io: &PlannedIo, status: Status) -> Plan {
    let mut out = Plan::default();
    let Target::At(at) = io.target else {
        panic!("copies have fixed places");
    };
    let done = DriveDone {
        at,
        len: io.len,
        ..end(io.op, at.0 / CHUNK.0, 1, status)
    };
    copies.ended(io.tag, &done, &mut out);
    copies.audit();
    out
}

fn first(plan: &Plan) -> PlannedIo {
    *plan.ios().next().expect("something is asked for")
}

/// A chunk is read, which fails on both copies: what is asked for then.
fn both_fail(copies: &mut FixedCopies<Side>, statuses: [Status; 2]) -> Plan {
    let request = Request::new(1, Op::Read, 0, CHUNK.0, Instant::ZERO);
    let mut plan = Plan::default();
    copies.plan(Instant::ZERO, &request, &Busy, &mut plan);
    let all: Vec<PlannedIo> = plan.ios().copied().collect();
    all[1..]
        .iter()
        .for_each(|io| copies.withdrawn(io.tag, io.drive));
    let other = next(copies, &all[0], statuses[0]);
    next(copies, &first(&other), statuses[1])
}

/// Each block is read from whichever copy has it, and what they bring is put together.
#[test]
fn a_chunk_that_no_copy_has_is_read_block_by_block() {
    let mut copies = volume(2, false);
    let plan = both_fail(&mut copies, [FAILED; 2]);
    assert!(matches!(plan.instead, Instead::Step(_)), "{plan:?}");
    let ios: Vec<PlannedIo> = plan.ios().copied().collect();
    let told: Vec<_> = ios.iter().map(|io| (io.target, io.drive.0)).collect();
    let expected: Vec<_> = (0..8)
        .flat_map(|at| [0, 1].map(|drive| (Target::At(Pba(at)), drive)))
        .collect();
    assert_eq!(told, expected);
    let folds = plan.edges.iter().map(|edge| edge.at.0);
    assert!(folds.eq(0..8), "{:?}", plan.edges);
    // A block is bad on the second copy, and on the first as well.
    copies.withdrawn(ios[6].tag, ios[6].drive);
    let other = next(&mut copies, &ios[7], FAILED);
    assert_eq!(first(&other).drive, DriveId(0));
    assert_eq!(first(&other).target, Target::At(Pba(3)));
    let nothing = next(&mut copies, &first(&other), FAILED);
    assert_eq!(
        (nothing.instead, nothing.ios().count()),
        (Instead::Nothing, 0)
    );
}

/// Who does not answer in time would not do so eight times over.
#[test]
fn copies_that_did_not_answer_are_not_asked_block_by_block() {
    let late = Status::Failed(Failure::TimedOut);
    for (statuses, reads) in [([late; 2], 0), ([FAILED, late], 16), ([late, FAILED], 16)] {
        let plan = both_fail(&mut volume(2, false), statuses);
        assert_eq!(plan.ios().count(), reads, "{statuses:?}");
    }
}

/// The stale copy is written with what both have together; then the other one, with what that has.
#[test]
fn copies_heal_each_other() {
    let mut copies = volume(2, false);
    for io in both_fail(&mut copies, [FAILED; 2]).ios() {
        copies.withdrawn(io.tag, io.drive);
    }
    let state = copies.state(Chunk(0));
    assert_eq!((state.current, state.flawed), (0b10, 0b10));
    let mut spare = Plan::default();
    copies.spend_spare_time(DriveId(0), &mut spare);
    let ios: Vec<PlannedIo> = spare.ios().copied().collect();
    let [read, write] = ios[..] else {
        panic!("a read and a write: {ios:?}");
    };
    let blocks = next(&mut copies, &read, FAILED);
    assert_eq!(blocks.ios().count(), 16);
    assert!(blocks.ios().all(|io| !io.awaited));
    blocks
        .ios()
        .for_each(|io| copies.withdrawn(io.tag, io.drive));
    let ended = next(&mut copies, &write, Status::Done);
    let state = copies.state(Chunk(0));
    assert_eq!(
        (state.current, state.suspect, state.flawed),
        (0b01, 0b10, 0)
    );
    assert_eq!(ended.wake, [DriveId(1)]);
    let mut spare = Plan::default();
    copies.spend_spare_time(DriveId(1), &mut spare);
    assert_eq!(reads(&spare), [(DriveId(0), Pba(0), CHUNK)]);
}

/// The rest of a chunk is read for a part that is written: what the part covers is not.
#[test]
fn what_a_write_covers_is_not_read_block_by_block() {
    let mut copies = volume(2, false);
    copies.change(Chunk(0), |state| {
        (state.current, state.unbuffered) = (1, true);
    });
    let request = Request::new(1, Op::Write, 2, 3, Instant::ZERO);
    let mut plan = Plan::default();
    copies.plan(Instant::ZERO, &request, &Busy, &mut plan);
    let rest = plan.ios().find(|io| io.op == Op::Read);
    let blocks = next(&mut copies, rest.expect("the rest is read"), FAILED);
    let found = reads(&blocks);
    let expected = [0, 1, 5, 6, 7].map(|at| (DriveId(0), Pba(at), Blocks(1)));
    assert_eq!(found, expected);
}
