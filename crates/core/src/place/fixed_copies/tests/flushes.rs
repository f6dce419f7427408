//! Flushes under way while copies are written, and while drives go.

use super::*;

/// The flushes of the drives that a plan has.
fn flushes(plan: &Plan) -> Vec<PlannedIo> {
    let flushes = plan.ios().filter(|io| io.op == Op::Flush);
    flushes.copied().collect()
}

fn flush_ends(copies: &mut FixedCopies<Side>, flush: &PlannedIo, status: Status) -> Plan {
    let mut out = Plan::default();
    if copies.gone.learn(flush.drive, status) {
        copies.leave_out(flush.drive, &mut out);
    }
    let done = end(Op::Flush, 0, 0, status);
    copies.flush_ended(flush.tag, flush.drive, &done, &mut out);
    out
}

/// The other copy of chunk 0 is written in spare time.
fn other_is_written(copies: &mut FixedCopies<Side>) {
    let mut out = Plan::default();
    copies.spend_spare_time(DriveId(1), &mut out);
    let write = *out.ios().next().expect("it waits for spare time");
    copies.ended(write.tag, &end(Op::Write, 0, 1, Status::Done), &mut out);
    assert_eq!(copies.state(Chunk(0)).current, 0b11);
}

/// A drive goes while it flushes. The other one has ended its part: what came into its cache since
/// needs one more flush.
#[test]
fn a_drive_that_goes_ends_a_flush_only_if_that_covers_another_copy() {
    for covered in [true, false] {
        let mut copies = volume(2, true);
        write_ends(&mut copies, Status::Done, &mut Plan::default());
        if covered {
            other_is_written(&mut copies);
        }
        let mut out = Plan::default();
        copies.plan_flush(FlushOf::Client, &mut out);
        let [goes, ends] = flushes(&out)[..] else {
            panic!("each drive is flushed");
        };
        flush_ends(&mut copies, &ends, Status::Done);
        if !covered {
            other_is_written(&mut copies);
        }
        let mut out = flush_ends(&mut copies, &goes, GONE);
        assert!(!copies.has_lost(), "the other one has it");
        copies.answer_held(&mut out);
        copies.audit();
        let again = flushes(&out);
        if covered {
            assert_eq!((out.instead, again.len()), (Instead::Tolerated, 0));
            continue;
        }
        assert!(matches!(out.instead, Instead::Step(_)), "{out:?}");
        assert_eq!((again.len(), again[0].drive), (1, DriveId(1)));
        assert!(out.open.is_empty(), "its answer waits");
        let out = flush_ends(&mut copies, &again[0], Status::Done);
        assert_eq!((out.open.len(), out.refused.len()), (1, 0));
        copies.audit();
    }
}

/// While a flush is under way, a forced write puts a chunk on the medium of one copy, and a younger
/// one of another copy ends in a cache. When the flush has ended, a power cut may take the younger
/// write, but not the forced one: the other copy is not safe.
#[test]
fn a_flush_covers_no_copies_any_more_that_a_forced_write_did_not_reach() {
    let mut copies = volume(2, true);
    copies.change(Chunk(0), |state| state.cached = 0b11);
    copies.note_cached(Chunk(0), 0b11, &mut Plan::default());
    let mut out = Plan::default();
    copies.plan_flush(FlushOf::Client, &mut out);
    for (copy, forced) in [(0, true), (1, false)] {
        let key = write(&mut copies, 1);
        copies.writes[key].forced = forced;
        copies.writes[key].partial = [false; 2];
        copy_ends(&mut copies, key, copy, Status::Done);
    }
    assert_eq!(copies.state(Chunk(0)).cached, 0b10);
    for flush in flushes(&out) {
        flush_ends(&mut copies, &flush, Status::Done);
    }
    assert_eq!(copies.state(Chunk(0)).safe, 0b01);
    copies.audit();
}

/// A copy could not be read in time, so a flush covers the other one alone. The drive of that goes,
/// so the first counts again before its drive has ended its part: it is on the medium then.
#[test]
fn a_copy_that_counts_again_is_safe_when_its_drive_has_flushed() {
    let mut copies = volume(2, true);
    write_ends(&mut copies, Status::Done, &mut Plan::default());
    other_is_written(&mut copies);
    let read = underway(0, 1, 1, Part::Read(Reading::default()));
    let late = end(Op::Read, 0, 1, Status::Failed(Failure::TimedOut));
    copies.read_failed(&read, &late, &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).current, 0b01);
    let mut out = Plan::default();
    copies.plan_flush(FlushOf::Client, &mut out);
    let [goes, ends] = flushes(&out)[..] else {
        panic!("each drive is flushed");
    };
    flush_ends(&mut copies, &goes, Status::Done);
    copies.gone.learn(DriveId(0), GONE);
    copies.leave_out(DriveId(0), &mut Plan::default());
    let state = copies.state(Chunk(0));
    assert_eq!((state.current, state.cached & 0b10), (0b11, 0b10));
    flush_ends(&mut copies, &ends, Status::Done);
    let state = copies.state(Chunk(0));
    assert_eq!((state.cached & 0b10, state.safe & 0b10), (0, 0b10));
    copies.audit();
}

/// A copy was in the cache of its drive as that went. A flush of the other drive makes it no safer.
#[test]
fn a_flush_says_nothing_of_copies_on_drives_that_are_gone() {
    let mut copies = volume(2, true);
    write_ends(&mut copies, Status::Done, &mut Plan::default());
    other_is_written(&mut copies);
    let mut out = Plan::default();
    copies.gone.learn(DriveId(1), GONE);
    copies.leave_out(DriveId(1), &mut out);
    copies.plan_flush(FlushOf::Client, &mut out);
    let flush = flushes(&out)[0];
    assert_eq!(flush.drive, DriveId(0), "the other one is gone");
    flush_ends(&mut copies, &flush, Status::Done);
    assert_eq!(copies.state(Chunk(0)).safe, 0b01);
    copies.audit();
}
