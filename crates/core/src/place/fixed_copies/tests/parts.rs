//! Writes that cover only a part of a chunk.

use super::*;

/// What a write of these blocks leads to.
fn planned(copies: &mut FixedCopies<Side>, start: u64, len: u64) -> Plan {
    let now = Instant::ZERO;
    let request = Request::new(1, Op::Write, start, len, now);
    let mut out = Plan::default();
    copies.plan_write(now, &request, &Busy, &mut out);
    copies.audit();
    out
}

/// By copy: first block, length, and whether it is one of which a copy before it may take the place.
fn writes(plan: &Plan) -> Vec<(u16, u64, u64, bool)> {
    let writes = plan.ios().filter(|io| io.op == Op::Write);
    let told = |io: &PlannedIo| match io.target {
        Target::At(at) => (io.drive.0, at.0, io.len.0, io.alternative),
        Target::Open(_) => panic!("copies have fixed places"),
    };
    writes.map(told).collect()
}

/// Reading the rest first would cost a turn of the platter, and leave it on one drive alone.
#[test]
fn a_part_goes_to_all_copies_and_needs_no_rest() {
    let mut copies = volume(2, false);
    let out = planned(&mut copies, 1, 16);
    assert_eq!(reads(&out), []);
    assert_eq!(writes(&out), [(0, 1, 16, false), (1, 1, 16, false)]);
    // Whole chunks go to one of them.
    let out = planned(&mut volume(2, false), 8, 16);
    assert_eq!(writes(&out), [(0, 8, 16, false), (1, 8, 16, true)]);
}

/// Of each end by itself: copy 1 of the first chunk is older, all of the last one are the newest.
#[test]
fn a_part_of_a_chunk_with_an_older_copy_needs_the_rest_of_that_chunk_alone() {
    let mut copies = volume(2, false);
    copies.change(0, |state| state.current = 1);
    let out = planned(&mut copies, 4, 16);
    assert_eq!(reads(&out), [(DriveId(0), Pba(0), CHUNK)]);
    let mut found = writes(&out);
    found.sort_by_key(|(drive, at, ..)| (*at, *drive));
    let expected = [
        (0, 0, 8, false),
        (1, 0, 8, true),
        (0, 8, 8, false),
        (1, 8, 8, true),
        (0, 16, 4, false),
        (1, 16, 4, false),
    ];
    assert_eq!(found, expected);
}

/// Its other copy was to be written in spare time, and is not while a write of the chunk is under way.
#[test]
fn the_rest_is_in_the_buffer_while_a_part_is_written() {
    let mut copies = volume(2, false);
    copies.change(0, |state| state.current = 1);
    copies.delay(0, 0b10, &mut Plan::default());
    let out = planned(&mut copies, 4, 2);
    let read = out.ios().find(|io| io.op == Op::Read);
    let tag = read.expect("the rest is read").tag;
    let mut spare = Plan::default();
    copies.spend_spare_time(DriveId(1), &mut spare);
    assert_eq!(writes(&spare), []);
    let mut instead = Plan::default();
    copies.ended(tag, &end(Op::Read, 0, 1, FAILED), &mut instead);
    assert_eq!(instead.instead, Instead::Buffered);
}
