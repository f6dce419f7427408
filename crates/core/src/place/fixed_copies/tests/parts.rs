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

/// By copy: first block, length, and whether it is one of which a copy before it may take the
/// place.
fn writes(plan: &Plan) -> Vec<(u16, u64, u64, bool)> {
    let writes = plan.ios().filter(|io| io.op == Op::Write);
    let told = |io: &PlannedIo| match io.target {
        Target::At(at) => (io.drive.0, at.0, io.len.0, io.alternative),
        Target::Open(_) | Target::Offered(_) | Target::Among(..) => {
            panic!("copies have fixed places")
        }
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

/// The older copy is of a chunk that 32 bits do not number.
#[test]
fn a_part_of_a_chunk_with_a_large_number_needs_its_rest() {
    let mut copies = volume(2, false);
    copies.change(Chunk(1 << 32), |state| state.current = 1);
    let out = planned(&mut copies, (8 << 32) + 2, 4);
    assert_eq!(reads(&out), [(DriveId(0), Pba(8 << 32), CHUNK)]);
}

/// The first chunk is written as a whole, so its older copy has no part in it.
#[test]
fn an_end_that_is_none_within_a_chunk_needs_no_rest() {
    let mut copies = volume(2, false);
    copies.change(Chunk(0), |state| state.current = 1);
    let out = planned(&mut copies, 0, 12);
    assert_eq!(reads(&out), []);
    assert_eq!(writes(&out), [(0, 0, 12, false), (1, 0, 12, false)]);
}

/// A part that is forced, while a copy is only in a cache, would be on the medium of all and the
/// rest perhaps on one alone.
#[test]
fn a_forced_part_over_a_copy_in_a_cache_needs_the_rest() {
    for forced in [false, true] {
        let mut copies = volume(2, true);
        copies.change(Chunk(0), |state| state.cached = 0b11);
        let request = Request {
            fua: forced,
            ..Request::new(1, Op::Write, 1, 2, Instant::ZERO)
        };
        let mut out = Plan::default();
        copies.plan_write(Instant::ZERO, &request, &Busy, &mut out);
        assert_eq!(reads(&out).is_empty(), !forced);
        let whole = [(0, 0, 8, false), (1, 0, 8, true)];
        let part = [(0, 1, 2, false), (1, 1, 2, false)];
        assert_eq!(writes(&out), if forced { whole } else { part });
    }
}

/// A part fails on one copy: that one is stale, and is written from the other one, as the buffer
/// has only the part.
#[test]
fn a_copy_that_missed_its_part_is_written_with_what_another_one_has() {
    let mut copies = volume(2, false);
    let out = planned(&mut copies, 1, 2);
    let [first, second] = [0, 1].map(|drive| {
        let mut ios = out.ios().filter(|io| io.drive == DriveId(drive));
        ios.next().expect("it is written there").tag
    });
    let mut ends = Plan::default();
    copies.ended(first, &end(Op::Write, 0, 1, FAILED), &mut ends);
    assert_eq!(ends.instead, Instead::Tolerated);
    copies.ended(second, &end(Op::Write, 0, 1, Status::Done), &mut ends);
    assert_eq!(copies.state(Chunk(0)).current, 0b10);
    let mut spare = Plan::default();
    copies.spend_spare_time(DriveId(0), &mut spare);
    assert_eq!(reads(&spare), [(DriveId(1), Pba(0), CHUNK)]);
    assert_eq!(writes(&spare), [(0, 0, 8, false)]);
    copies.audit();
}

/// The other one is all that is left, and all that the write waits for.
#[test]
fn a_part_goes_to_the_drives_that_are_left() {
    let mut copies = volume(2, false);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    let out = planned(&mut copies, 1, 2);
    assert_eq!(reads(&out), []);
    assert_eq!(writes(&out), [(1, 1, 2, false)]);
}

/// Of each end by itself: copy 1 of the first chunk is older, all of the last one are the newest.
#[test]
fn a_part_of_a_chunk_with_an_older_copy_needs_the_rest_of_that_chunk_alone() {
    let mut copies = volume(2, false);
    copies.change(Chunk(0), |state| state.current = 1);
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

/// Its other copy was to be written in spare time, and is not while a write of the chunk is under
/// way.
#[test]
fn the_rest_is_in_the_buffer_while_a_part_is_written() {
    let mut copies = volume(2, false);
    copies.change(Chunk(0), |state| state.current = 1);
    copies.delay(Chunk(0), 0b10, &mut Plan::default());
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
