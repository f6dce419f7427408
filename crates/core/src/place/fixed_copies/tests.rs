//! States that hardly ever come about, built by hand: copies side by side, each on a drive of its
//! own.

mod blocks;
mod candidates;
mod flushes;
mod parts;
mod tries;

use slab::Slab;

use super::caches::{Caches, FlushOf};
use super::*;
use crate::ids::IoId;
use crate::op::Cost;
use crate::place::busy::Busy;
use crate::place::delayed::TRIES;
use crate::plan::Instead;

const FAILED: Status = Status::Failed(Failure::Medium);
const GONE: Status = Status::Failed(Failure::Gone);
const CHUNK: Blocks = Blocks(8);

/// So many copies.
struct Side(u8);

impl Layout for Side {
    fn copies(&self) -> u8 {
        self.0
    }

    fn drives(&self) -> u16 {
        self.0.into()
    }

    fn chunks(&self) -> u64 {
        100
    }

    fn chunk(&self) -> Blocks {
        CHUNK
    }

    fn place(&self, copy: CopyOf) -> (DriveId, Pba) {
        let at = copy.chunk().0 * CHUNK.0;
        (DriveId(copy.copy().into()), Pba(at))
    }

    fn striping(&self) -> Striping {
        Striping::new(1, 4)
    }
}

/// Over drives whose cache loses what it has, if they have one.
fn volume(copies: u8, cached: bool) -> FixedCopies<Side> {
    let layout = Side(copies);
    FixedCopies {
        foreground: 1,
        all: (1 << copies) - 1,
        unsettled: Sorted::default(),
        underway: Slab::new(),
        writes: Slab::new(),
        delayed: Queues::new(copies.into(), 100),
        waiting: 0,
        table: CopiesTable::new(&striped(&layout, 1)),
        undecided: 0,
        gone: Gone::none(copies.into()),
        lost: 0,
        column_is_lost: false,
        caches: cached.then(Caches::new),
        held: Held::default(),
        pieces: Vec::new(),
        layout,
    }
}

fn end(op: Op, chunk: u64, chunks: u32, status: Status) -> DriveDone {
    DriveDone {
        io: IoId(0),
        op,
        at: Pba(chunk * CHUNK.0),
        len: Blocks(u64::from(chunks) * CHUNK.0),
        status,
        cost: Cost::default(),
        arm: None,
    }
}

fn underway(chunk: u64, chunks: u32, copy: u8, part: Part) -> Underway {
    let chunk = Chunk(chunk);
    Underway {
        first: CopyOf::new(chunk, copy),
        chunks,
        part,
    }
}

/// The only foreground write of chunk 0, which goes to copy 0, ends like this.
fn write_ends(copies: &mut FixedCopies<Side>, status: Status, out: &mut Plan) {
    let key = copies.writes.insert(Writing {
        first: Chunk(0),
        chunks: 1,
        left: 1,
        done: 0,
        failed: 0,
        forced: false,
        short: false,
        partial: [false; 2],
        begun: true,
        unready: 0,
    });
    copies.change(Chunk(0), |state| state.writing = true);
    let ended = underway(0, 1, 0, Part::Foreground(key));
    copies.foreground_done(key, &ended, &end(Op::Write, 0, 1, status), out);
    copies.audit();
}

/// Copy 0 of chunk 0 alone is current; these are being written from the buffer.
fn flying(copies: &mut FixedCopies<Side>, flying: Copies) {
    copies.change(Chunk(0), |state| {
        state.current = 1;
        state.flying = flying;
    });
}

fn reads(plan: &Plan) -> Vec<(DriveId, Pba, Blocks)> {
    let reads = plan.ios().filter(|io| io.op == Op::Read);
    let place = |io: &PlannedIo| match io.target {
        Target::At(at) => (io.drive, at, io.len),
        Target::Open(_) | Target::Offered(_) | Target::Among(..) => {
            panic!("copies have fixed places")
        }
    };
    reads.map(place).collect()
}

/// When nothing of a chunk is delayed any more, no copy of it is written from the buffer.
#[test]
fn a_chunk_leaves_the_buffer_with_its_last_delayed_copy() {
    let mut copies = volume(3, false);
    flying(&mut copies, 0b110);
    let mut out = Plan::default();
    let delayed = |copy| underway(0, 1, copy, Part::Delayed(Apart::Tried));
    for times in 1..=TRIES {
        copies.delayed_ended(&delayed(1), false, false, &mut out);
        let mut again = Plan::default();
        copies.spend_spare_time(DriveId(1), &mut again);
        assert_eq!(again.is_empty(), times == TRIES, "{times}");
    }
    assert!(
        !copies.state(Chunk(0)).unbuffered,
        "copy 2 is still written from it"
    );
    copies.delayed_ended(&delayed(2), true, false, &mut out);
    assert!(copies.state(Chunk(0)).unbuffered);
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut Plan::default());
    copies.spend_spare_time(DriveId(0), &mut out);
    assert_eq!(reads(&out), [(DriveId(2), Pba(0), CHUNK)]);
}

/// So it does if the drive of the last one is gone.
#[test]
fn a_chunk_leaves_the_buffer_with_the_drive_of_its_last_delayed_copy() {
    let mut copies = volume(3, false);
    copies.change(Chunk(0), |state| state.current = 0b011);
    copies.delay(Chunk(0), 0b100, &mut Plan::default());
    assert!(copies.gone.learn(DriveId(2), GONE));
    copies.leave_out(DriveId(2), &mut Plan::default());
    assert!(copies.state(Chunk(0)).unbuffered);
    copies.audit();
}

/// The placement flushes its drives itself when too much is cached: with the write that is one too
/// many.
#[test]
fn a_flush_covers_the_write_that_brings_it() {
    let mut copies = volume(2, true);
    copies.caches.as_mut().expect("there are some").allow(0);
    let mut out = Plan::default();
    write_ends(&mut copies, Status::Done, &mut out);
    let flushes: Vec<PlannedIo> = out.ios().filter(|io| io.op == Op::Flush).copied().collect();
    assert_eq!(flushes.len(), 2);
    for flush in flushes {
        let done = end(Op::Flush, 0, 0, Status::Done);
        copies.flush_ended(flush.tag, flush.drive, &done, &mut Plan::default());
    }
    assert_eq!(copies.state(Chunk(0)).safe, 0b01, "copy 1 is stale");
    assert_eq!(copies.state(Chunk(0)).cached, 0);
}

/// A copy that fails while a flush is under way is not safe when that has ended.
#[test]
fn a_flush_does_not_cover_what_has_failed_meanwhile() {
    let mut copies = volume(3, true);
    copies.change(Chunk(0), |state| {
        state.cached = 0b111;
    });
    copies.note_cached(Chunk(0), 0b111, &mut Plan::default());
    let mut out = Plan::default();
    copies.plan_flush(FlushOf::Client, &mut out);
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut Plan::default());
    // Something newer is in a cache: it is not what the flush makes safe.
    copies.change(Chunk(0), |state| {
        (state.current, state.cached) = (0b010, 0b010);
    });
    copies.note_cached(Chunk(0), 0b010, &mut Plan::default());
    let flushes: Vec<PlannedIo> = out.ios().copied().collect();
    for flush in flushes {
        let done = end(Op::Flush, 0, 0, Status::Done);
        copies.flush_ended(flush.tag, flush.drive, &done, &mut Plan::default());
    }
    assert_eq!(copies.state(Chunk(0)).safe, 0b110);
}

/// But it covers what fails if the drive of the other copy goes meanwhile.
#[test]
fn a_flush_covers_what_has_failed_and_is_all_that_is_left() {
    let mut copies = volume(2, true);
    copies.change(Chunk(0), |state| state.cached = 0b11);
    copies.note_cached(Chunk(0), 0b11, &mut Plan::default());
    copies.plan_flush(FlushOf::Client, &mut Plan::default());
    assert!(copies.gone.learn(DriveId(1), GONE));
    copies.leave_out(DriveId(1), &mut Plan::default());
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut Plan::default());
    write_ends(&mut copies, FAILED, &mut Plan::default());
    let mut out = Plan::default();
    let gone = end(Op::Flush, 0, 0, GONE);
    copies.flush_ended(Tag(0), DriveId(1), &gone, &mut out);
    assert_eq!(out.instead, Instead::Tolerated);
}

/// What a drive alone had that is gone is no reason to flush the others again and again.
#[test]
fn what_is_lost_is_covered_no_more() {
    let mut copies = volume(2, true);
    let mut out = Plan::default();
    write_ends(&mut copies, Status::Done, &mut out);
    copies.change(Chunk(0), |state| state.unbuffered = true);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut out);
    copies.audit();
    for _ in 0..2 {
        let mut out = Plan::default();
        copies.plan_flush(FlushOf::Client, &mut out);
        assert_eq!(out.failure, Some(Failure::Gone));
        let flush = *out.ios().next().expect("drive 1 is flushed");
        assert_eq!((out.steps.len(), flush.drive), (1, DriveId(1)));
        let done = end(Op::Flush, 0, 0, Status::Done);
        copies.flush_ended(flush.tag, flush.drive, &done, &mut Plan::default());
    }
    let caches = copies.caches.as_mut().expect("there are some");
    assert_eq!(caches.due(), 0);
}

/// So many copies; of the first two any will do after a power cut.
fn undecided(count: u8) -> FixedCopies<Side> {
    let mut copies = volume(count, false);
    copies.undecided = 1;
    copies.unsettled.insert(Unsettled {
        current: 0b01,
        candidates: 0b11,
        unbuffered: true,
        ..Unsettled::settled(Chunk(0), copies.all)
    });
    copies.change(Chunk(0), |_| ());
    copies
}

#[test]
fn another_candidate_is_taken_until_one_was_read() {
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    let failed = end(Op::Read, 0, 1, FAILED);
    let mut copies = undecided(2);
    let mut out = Plan::default();
    copies.read_failed(&read, &failed, &mut out);
    assert_eq!(copies.state(Chunk(0)).current, 0b10);
    assert!(matches!(out.instead, Instead::Step(_)));
    copies.audit();

    let mut copies = undecided(2);
    copies.was_read(&read);
    let mut out = Plan::default();
    copies.read_failed(&read, &failed, &mut out);
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b01,
        "a client has read of it"
    );
    assert_eq!(out.instead, Instead::Nothing);
    copies.audit();
}

#[test]
fn a_candidate_whose_drive_is_gone_is_none() {
    let mut copies = undecided(2);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).current, 0b10);
    copies.audit();
}

#[test]
fn a_flush_that_a_drive_does_not_end_fails_unless_that_is_gone() {
    for (status, instead) in [
        (Status::Failed(Failure::TimedOut), Instead::Nothing),
        (GONE, Instead::Tolerated),
    ] {
        let mut copies = volume(2, true);
        let mut flushes = Plan::default();
        copies.plan_flush(FlushOf::Client, &mut flushes);
        let flush = *flushes.ios().next().expect("each drive is flushed");
        let mut out = Plan::default();
        copies.gone.learn(flush.drive, status);
        let done = end(Op::Flush, 0, 0, status);
        copies.flush_ended(flush.tag, flush.drive, &done, &mut out);
        assert_eq!(out.instead, instead, "{status:?}");
    }
}

/// Delayed copies side by side are tried one by one if the medium is bad somewhere, and given up if
/// the drive does not answer.
#[test]
fn delayed_copies_that_failed_together_are_tried_alone_after_medium_errors() {
    for (status, alone) in [(FAILED, 3), (Status::Failed(Failure::TimedOut), 0)] {
        let mut copies = volume(2, false);
        (0..3).for_each(|chunk| {
            copies.change(Chunk(chunk), |state| {
                (state.current, state.flying) = (0b01, 0b10);
            });
        });
        let write = underway(0, 3, 1, Part::Delayed(Apart::Tried));
        let tag = Tag(copies.underway.insert(write) as u64);
        copies.delayed.write_begins(DriveId(1));
        let mut out = Plan::default();
        copies.ended(tag, &end(Op::Write, 0, 3, status), &mut out);
        assert_eq!(out.ios().count(), alone, "{status:?}");
        assert!(out.ios().all(|io| io.len == CHUNK), "{status:?}");
    }
}

/// Without the other drive, one that fails is all that there is: what it has can still be read, or
/// be written again.
#[test]
fn a_copy_that_fails_stays_current_if_the_others_are_on_drives_that_are_gone() {
    for status in [FAILED, Status::Failed(Failure::TimedOut)] {
        let mut copies = volume(2, true);
        assert!(copies.gone.learn(DriveId(1), GONE));
        copies.leave_out(DriveId(1), &mut Plan::default());
        let read = underway(0, 8, 0, Part::Read(Reading::default()));
        let mut out = Plan::default();
        copies.read_failed(&read, &end(Op::Read, 0, 8, status), &mut out);
        assert_eq!(out.instead, Instead::Nothing, "nothing else can be read");
        write_ends(&mut copies, status, &mut out);
        assert_eq!(
            copies.state(Chunk(0)).current,
            0b01,
            "of which a part was written"
        );
        assert_eq!(copies.state(Chunk(0)).safe, 0b01);
        copies.audit();
        copies.plan_flush(FlushOf::Client, &mut out);
        assert_eq!(out.failure, None, "nothing is lost");
    }
}

/// The read that takes the place of one that failed finds out that its drive is gone.
#[test]
fn a_copy_that_failed_is_current_again_if_no_other_drive_is_left() {
    let mut copies = volume(2, true);
    let mut out = Plan::default();
    copies.note_cached(Chunk(0), 0b01, &mut out);
    copies.change(Chunk(0), |state| state.cached = 0b01);
    let read = underway(0, 2, 0, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 2, FAILED), &mut out);
    assert_eq!(
        [0, 1].map(|chunk| copies.state(Chunk(chunk)).current),
        [0b10; 2]
    );
    assert!(copies.gone.learn(DriveId(1), GONE));
    copies.leave_out(DriveId(1), &mut out);
    copies.audit();
    assert_eq!(
        [0, 1].map(|chunk| copies.state(Chunk(chunk)).current),
        [0b11; 2]
    );
    assert_eq!(
        [0, 1].map(|chunk| copies.state(Chunk(chunk)).cached),
        [0b01, 0]
    );
    assert!(!copies.has_lost());
}

/// But not if something newer was written since, or the write that was to mend it has not ended.
#[test]
fn a_copy_that_failed_and_is_older_is_never_current_again() {
    let mut copies = volume(2, false);
    let mut out = Plan::default();
    let read = underway(0, 1, 1, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut out);
    copies.spend_spare_time(DriveId(1), &mut out);
    assert_eq!(copies.state(Chunk(0)).flying, 0b10);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut out);
    assert_eq!(copies.state(Chunk(0)).current, 0b01, "it is being written");
    let ended = underway(0, 1, 1, Part::Delayed(Apart::Useless));
    copies.delayed_ended(&ended, false, false, &mut out);
    assert_eq!(copies.state(Chunk(0)).current, 0b11);

    let mut copies = volume(2, false);
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut out);
    write_ends(&mut copies, Status::Done, &mut out);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut out);
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b01,
        "the newest data are lost"
    );
    assert!(copies.has_lost());
}

/// Two of three copies were being written when a write came: it waits for one of them, and not for
/// the drive that is gone.
#[test]
fn a_write_that_is_held_waits_for_the_copies_that_are_left() {
    let mut copies = volume(3, false);
    copies.foreground = 3;
    let key = copies.writes.insert(Writing {
        first: Chunk(0),
        chunks: 1,
        left: 0,
        done: 0b001,
        failed: 0,
        forced: false,
        short: true,
        partial: [false; 2],
        begun: true,
        unready: 1,
    });
    flying(&mut copies, 0b110);
    copies.change(Chunk(0), |state| state.waiter = Some(key as u32));
    assert!(copies.gone.learn(DriveId(1), GONE));
    copies.leave_out(DriveId(1), &mut Plan::default());
    let delayed = |copy| underway(0, 1, copy, Part::Delayed(Apart::Tried));
    let mut out = Plan::default();
    copies.delayed_ended(&delayed(1), false, false, &mut out);
    assert!(out.open.is_empty(), "the third copy is not there");
    copies.delayed_ended(&delayed(2), true, false, &mut out);
    assert_eq!(out.open, [Writing::answer(key)]);
    copies.audit();
}

/// Reads that wait for a drive that is gone bring nothing.
#[test]
fn another_candidate_is_taken_while_reads_wait_for_a_drive_that_is_gone() {
    let mut copies = undecided(2);
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    (0..2).for_each(|_| _ = copies.underway.insert(read));
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).current, 0b10);
    copies.audit();
}

/// What the buffer has of a chunk that was written in part is not the whole chunk.
#[test]
fn a_copy_that_missed_a_part_is_written_from_another_one() {
    let mut copies = volume(2, false);
    copies.foreground = 2;
    let key = copies.writes.insert(Writing {
        first: Chunk(0),
        chunks: 3,
        left: 2,
        done: 0,
        failed: 0,
        forced: false,
        short: false,
        partial: [true, false],
        begun: true,
        unready: 0,
    });
    (0..3).for_each(|chunk| _ = copies.change(Chunk(chunk), |state| state.writing = true));
    for (copy, status) in [(0, Status::Done), (1, FAILED)] {
        let ended = underway(0, 3, copy, Part::Foreground(key));
        let done = end(Op::Write, 0, 3, status);
        copies.foreground_done(key, &ended, &done, &mut Plan::default());
    }
    let unbuffered = [0, 1, 2].map(|chunk| copies.state(Chunk(chunk)).unbuffered);
    assert_eq!(unbuffered, [true, false, false]);
    let mut out = Plan::default();
    copies.spend_spare_time(DriveId(1), &mut out);
    assert_eq!(reads(&out), [(DriveId(0), Pba(0), CHUNK)]);
    copies.audit();
}

/// A foreground write of chunk 0 goes to so many copies.
fn write(copies: &mut FixedCopies<Side>, left: u32) -> usize {
    copies.change(Chunk(0), |state| state.writing = true);
    copies.writes.insert(Writing {
        first: Chunk(0),
        chunks: 1,
        left,
        done: 0,
        failed: 0,
        forced: false,
        short: false,
        partial: [true; 2],
        begun: true,
        unready: 0,
    })
}

/// One of the copies that it goes to ends like this, as its placement is told. What that leads to.
fn copy_ends(copies: &mut FixedCopies<Side>, key: usize, copy: u8, status: Status) -> Plan {
    let mut out = Plan::default();
    let drive = DriveId(copy.into());
    if copies.gone.learn(drive, status) {
        copies.leave_out(drive, &mut out);
    }
    let ended = underway(0, 1, copy, Part::Foreground(key));
    copies.foreground_done(key, &ended, &end(Op::Write, 0, 1, status), &mut out);
    copies.audit();
    out
}

/// It was only on a drive that is gone, and is being written to the one that is left, when a
/// younger write failed.
#[test]
fn what_is_being_written_counts_if_the_write_that_failed_went_to_no_drive_that_is_left() {
    let mut copies = volume(2, false);
    flying(&mut copies, 0b10);
    let key = write(&mut copies, 1);
    copy_ends(&mut copies, key, 0, GONE);
    assert!(copies.has_lost());
    let ended = underway(0, 1, 1, Part::Delayed(Apart::Tried));
    copies.delayed_ended(&ended, true, false, &mut Plan::default());
    copies.audit();
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b10,
        "the other one may be torn"
    );
    assert!(!copies.has_lost());
}

#[test]
fn a_copy_on_a_drive_that_is_gone_is_not_enough() {
    let mut copies = volume(3, false);
    copies.foreground = 2;
    let key = write(&mut copies, 2);
    copy_ends(&mut copies, key, 0, Status::Done);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    let out = copy_ends(&mut copies, key, 1, GONE);
    let third = out.ios().next().expect("the third one is written");
    assert_eq!(third.drive, DriveId(2));
    assert!(matches!(out.instead, Instead::Step(_)));
}

/// A write that only a drive has which is gone has failed, if it failed elsewhere.
#[test]
fn a_write_fails_if_only_drives_that_are_gone_have_it() {
    let mut copies = volume(2, false);
    copies.foreground = 2;
    let key = write(&mut copies, 2);
    copy_ends(&mut copies, key, 0, Status::Done);
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    let out = copy_ends(&mut copies, key, 1, FAILED);
    assert_eq!(out.instead, Instead::Nothing);
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b10,
        "it has what was there before"
    );
}

/// Nobody may read the last candidate that is left and find it bad for ever.
#[test]
fn a_candidate_whose_drive_went_during_a_read_is_none_when_that_has_failed() {
    let mut copies = undecided(3);
    copies.delay(Chunk(0), 0b100, &mut Plan::default());
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    let key = copies.underway.insert(read);
    assert!(copies.gone.learn(DriveId(1), GONE));
    copies.leave_out(DriveId(1), &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).candidates, 0b011, "a client reads");
    let failed = end(Op::Read, 0, 1, FAILED);
    copies.ended(Tag(key as u64), &failed, &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).candidates, 0);
    copies.audit();
    let mut tries = 0;
    loop {
        let mut out = Plan::default();
        copies.spend_spare_time(DriveId(2), &mut out);
        let Some(read) = out.ios().find(|io| io.op == Op::Read).copied() else {
            break;
        };
        let write = out.ios().find(|io| io.op == Op::Write).copied();
        copies.ended(read.tag, &failed, &mut Plan::default());
        let never = copies
            .underway
            .remove(write.expect("it is copied").tag.0 as usize);
        copies.delayed_ended(&never, false, false, &mut Plan::default());
        tries += 1;
        assert!(tries <= TRIES, "it is tried for ever");
    }
}

/// A copy whose drive did not answer can be read, unlike one with a bad block.
#[test]
fn of_torn_copies_one_is_taken_that_can_be_read() {
    const LATE: Status = Status::Failed(Failure::TimedOut);
    for ends in [[(0, FAILED), (1, LATE)], [(1, LATE), (0, FAILED)]] {
        let mut copies = volume(2, true);
        copies.change(Chunk(0), |state| state.cached = 0b11);
        copies.note_cached(Chunk(0), 0b11, &mut Plan::default());
        let key = write(&mut copies, 2);
        for (copy, status) in ends {
            copy_ends(&mut copies, key, copy, status);
        }
        let state = copies.state(Chunk(0));
        assert_eq!((state.current, state.cached), (0b10, 0b10), "{ends:?}");
    }
}

/// All copies that are left are being written: so a write waits, whether it is known that the other
/// drive is gone, or found out by that. So does one that failed where it went first.
#[test]
fn a_write_that_cannot_go_elsewhere_waits_for_the_copy_that_is_being_written() {
    let first = [None, Some(GONE), Some(FAILED)];
    let cases = first
        .into_iter()
        .flat_map(|first| [(first, Status::Done), (first, FAILED)]);
    for (first, status) in cases {
        let mut copies = volume(2, false);
        flying(&mut copies, 0b10);
        let mut out = Plan::default();
        if let Some(failed) = first {
            let key = write(&mut copies, 1);
            out = copy_ends(&mut copies, key, 0, failed);
            assert!(matches!(out.instead, Instead::Step(_)));
        } else {
            assert!(copies.gone.learn(DriveId(0), GONE));
            copies.leave_out(DriveId(0), &mut out);
            let request = Request::new(1, Op::Write, 0, CHUNK.0, Instant::ZERO);
            copies.plan_write(Instant::ZERO, &request, &Busy, &mut out);
        }
        let waiting = *out.ios().next().expect("it is to be written");
        assert_eq!((waiting.drive, out.steps.len()), (DriveId(1), 2));
        assert_eq!(out.edges.len(), 1, "a gate comes first");
        let mut out = Plan::default();
        let ended = underway(0, 1, 1, Part::Delayed(Apart::Tried));
        copies.delayed_ended(&ended, status.is_done(), false, &mut out);
        assert_eq!(out.open, [Writing::start(0)]);
        copies.audit();
        copies.ended(waiting.tag, &end(Op::Write, 0, 1, Status::Done), &mut out);
        copies.audit();
        assert_eq!(copies.state(Chunk(0)).current, 0b10);
        assert_eq!((out.open.len(), copies.writes.len()), (1, 0));
    }
}

/// What is being written of one chunk is waited for, of the other one it is not.
#[test]
fn a_write_of_several_chunks_waits_for_those_that_are_being_written() {
    let mut copies = volume(3, false);
    copies.foreground = 2;
    let mut out = Plan::default();
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut out);
    for chunk in [0, 2] {
        copies.change(Chunk(chunk), |state| {
            state.current = 0b001;
            state.flying = 0b110;
        });
    }
    let request = Request::new(1, Op::Write, 0, 3 * CHUNK.0, Instant::ZERO);
    copies.plan_write(Instant::ZERO, &request, &Busy, &mut out);
    assert_eq!((out.ios().count(), out.edges.len()), (2, 2));
    let mut opened = Vec::new();
    for (chunk, copy) in [(2, 1), (0, 1), (0, 2), (2, 2)] {
        let mut out = Plan::default();
        let ended = underway(chunk, 1, copy, Part::Delayed(Apart::Tried));
        copies.delayed_ended(&ended, true, false, &mut out);
        opened.push(out.open.len());
    }
    assert_eq!(opened, [0, 0, 0, 1]);
    copies.audit();
}

/// What was planned in place of a read of this copy of these chunks that has failed.
fn read_fails(copies: &mut FixedCopies<Side>, read: &Underway) -> Vec<Underway> {
    let done = end(Op::Read, read.first.chunk().0, read.chunks, FAILED);
    let mut out = Plan::default();
    copies.read_failed(read, &done, &mut out);
    copies.audit();
    assert_eq!(out.instead == Instead::Nothing, out.steps.is_empty());
    let instead = out.ios().map(|io| copies.underway[io.tag.0 as usize]);
    instead.collect()
}

/// Each of two drives has another bad block.
#[test]
fn chunks_that_no_copy_has_all_of_are_read_one_by_one() {
    let place = |reads: &[Underway]| -> Vec<(u64, u32, u8)> {
        let place = |read: &Underway| (read.first.chunk().0, read.chunks, read.first.copy());
        reads.iter().map(place).collect()
    };
    let mut copies = volume(2, false);
    let whole = read_fails(
        &mut copies,
        &underway(3, 3, 0, Part::Read(Reading::default())),
    );
    assert_eq!(place(&whole), [(3, 3, 1)]);
    let apart = read_fails(&mut copies, &whole[0]);
    assert_eq!(place(&apart), [(3, 1, 1), (4, 1, 1), (5, 1, 1)]);
    let again = read_fails(&mut copies, &apart[1]);
    assert_eq!(
        place(&again),
        [(4, 1, 0)],
        "where the first read has failed"
    );
    let blocks = read_fails(&mut copies, &again[0]);
    let of_chunk = blocks.iter().filter(|read| read.first.chunk() == Chunk(4));
    assert_eq!((of_chunk.count(), blocks.len()), (16, 16), "from each copy");
}

/// The same of chunks that 32 bits do not number.
#[test]
fn chunks_with_large_numbers_are_read_one_by_one() {
    let first = (1 << 32) - 1;
    let mut copies = volume(2, false);
    let whole = read_fails(
        &mut copies,
        &underway(first, 3, 0, Part::Read(Reading::default())),
    );
    let apart = read_fails(&mut copies, &whole[0]);
    let chunks: Vec<u64> = apart.iter().map(|read| read.first.chunk().0).collect();
    assert_eq!(chunks, [first, first + 1, first + 2]);
}

/// Of a read that begins and ends within chunks no more is read.
#[test]
fn a_read_that_is_split_reads_what_was_asked() {
    let mut copies = volume(2, false);
    copies.change(Chunk(1), |state| state.current = 0b10);
    let ended = underway(0, 2, 0, Part::Read(Reading::default()));
    let done = DriveDone {
        at: Pba(5),
        len: Blocks(6),
        ..end(Op::Read, 0, 2, FAILED)
    };
    let mut out = Plan::default();
    copies.change(Chunk(0), |state| state.current = 0b01);
    copies.read_failed(&ended, &done, &mut out);
    let parts = [
        (DriveId(0), Pba(5), Blocks(3)),
        (DriveId(1), Pba(8), Blocks(3)),
    ];
    assert_eq!(reads(&out), parts);
    assert_eq!(out.instead, Instead::Step(StepIndex(0)));
}

#[test]
fn a_flush_that_is_held_waits_for_its_own_flush_of_the_drives() {
    let mut copies = volume(2, true);
    let mut out = Plan::default();
    copies.hold_flush(&mut out);
    copies.answer_held(&mut out);
    let own = out.ios().next().expect("the drives flush").tag;
    assert_eq!(out.ios().count(), 2);
    let mut out = Plan::default();
    copies.held_flushed(Tag(own.0 + 1), Status::Done, &mut out);
    assert!(out.open.is_empty(), "an earlier one covers less");
    copies.answer_held(&mut out);
    assert_eq!(out.ios().count(), 0, "it is under way");
    copies.held_flushed(own, Status::Done, &mut out);
    assert_eq!(out.open.len(), 1);
}
