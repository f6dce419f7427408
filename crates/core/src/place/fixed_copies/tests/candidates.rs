//! Copies of which any will do after a power cut, while one of them is copied.

use super::*;

/// Of two candidates the first is read for a third copy, and that is being written when a client
/// cannot read another block of the first: so the second one is taken, and the third does not have
/// what that has.
#[test]
fn what_is_written_from_a_candidate_is_stale_when_another_one_is_taken() {
    let mut copies = undecided(3);
    let (read, again, write) = is_to_be_written(&mut copies, 2);
    assert_eq!((again.drive, write.drive), (DriveId(0), DriveId(2)));
    let failed = end(Op::Read, 0, 1, FAILED);
    copies.read_failed(&read, &failed, &mut Plan::default());
    copies.audit();
    assert_eq!(copies.state(Chunk(0)).current, 0b010);
    for io in [again, write] {
        let done = end(io.op, 0, 1, Status::Done);
        copies.ended(io.tag, &done, &mut Plan::default());
    }
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b010,
        "the third is another one"
    );
    let mut out = Plan::default();
    copies.spend_spare_time(DriveId(2), &mut out);
    assert_eq!(reads(&out), [(DriveId(1), Pba(0), CHUNK)]);
    copies.audit();
}

/// A copy was to be written from the first of two candidates while a client could not read a block
/// of that: so the second one is taken as soon as it is not written, though no delayed copy may
/// wait. It is written no more.
#[test]
fn a_candidate_that_is_taken_is_not_written_even_where_no_copy_may_wait() {
    let mut copies = undecided(2);
    copies.delayed = Queues::new(2, 0);
    let (read, again, write) = is_to_be_written(&mut copies, 1);
    let failed = end(Op::Read, 0, 1, FAILED);
    copies.read_failed(&read, &failed, &mut Plan::default());
    assert_eq!(copies.state(Chunk(0)).candidates, 0b10);
    copies.ended(again.tag, &failed, &mut Plan::default());
    let mut out = Plan::default();
    copies.skipped(Instant::ZERO, write.tag, DriveId(1), &Busy, &mut out);
    let state = copies.state(Chunk(0));
    assert_eq!((state.current, state.candidates), (0b10, 0));
    let writes: Vec<DriveId> = out
        .ios()
        .filter(|io| io.op == Op::Write)
        .map(|io| io.drive)
        .collect();
    assert_eq!(writes, [DriveId(0)], "the other one is written from it");
    copies.audit();
}

/// The same while somebody reads another block of the first one: what that brings must be found
/// ever after, so the second one is not taken before the read has ended.
#[test]
fn no_candidate_is_taken_while_another_one_is_read() {
    for is_read in [true, false] {
        let mut copies = undecided(2);
        let (read, again, write) = is_to_be_written(&mut copies, 1);
        let failed = end(Op::Read, 0, 1, FAILED);
        copies.read_failed(&read, &failed, &mut Plan::default());
        let other = copies.underway.insert(read);
        copies.ended(again.tag, &failed, &mut Plan::default());
        copies.skipped(
            Instant::ZERO,
            write.tag,
            DriveId(1),
            &Busy,
            &mut Plan::default(),
        );
        assert_eq!(copies.state(Chunk(0)).current, 0b01, "it is being read");
        copies.audit();
        let status = if is_read { Status::Done } else { FAILED };
        let tag = Tag(other as u64);
        copies.ended(tag, &end(Op::Read, 0, 1, status), &mut Plan::default());
        let current = if is_read { 0b01 } else { 0b10 };
        assert_eq!(copies.state(Chunk(0)).current, current);
        copies.audit();
    }
}

/// The drive of the first of two candidates goes while the second one is written from that, which no
/// client has seen. Who reads waits for the end of that, and the second one is taken then, however
/// it ends: it has of each block what will do.
#[test]
fn a_read_waits_for_the_only_copy_that_is_left_while_it_is_written() {
    for status in [Status::Done, FAILED] {
        let mut copies = undecided(2);
        let (read, again, write) = is_to_be_written(&mut copies, 1);
        let done = end(Op::Read, 0, 1, Status::Done);
        copies.ended(again.tag, &done, &mut Plan::default());
        assert_eq!(
            copies.state(Chunk(0)).candidates,
            0b11,
            "no client has read"
        );
        assert!(copies.gone.learn(DriveId(0), GONE));
        copies.leave_out(DriveId(0), &mut Plan::default());
        copies.audit();

        let mut out = Plan::default();
        copies.read_failed(&read, &end(Op::Read, 0, 1, GONE), &mut out);
        let waits: Vec<PlannedIo> = out.ios().copied().collect();
        let [read] = waits[..] else {
            panic!("one copy is left: {waits:?}");
        };
        assert_eq!((read.op, read.drive), (Op::Read, DriveId(1)));
        assert!(matches!(out.instead, Instead::Step(_)));
        assert_eq!(out.edges.len(), 1, "behind a gate");
        assert!(!copies.is_read(Chunk(0)), "it does not read yet");

        let mut out = Plan::default();
        copies.ended(write.tag, &end(Op::Write, 0, 1, status), &mut out);
        assert_eq!(out.open.len(), 1);
        let state = copies.state(Chunk(0));
        assert_eq!((state.current, state.candidates), (0b10, 0), "{status:?}");
        copies.audit();
        let done = end(Op::Read, 0, 1, Status::Done);
        copies.ended(read.tag, &done, &mut Plan::default());
        copies.audit();
    }
}

/// The same where a block of the first one is bad. If somebody else reads the first one meanwhile, and
/// finds what is there, the second one is none: who waits for it reads it in vain, then the
/// first once more, and is told of the bad block.
#[test]
fn a_read_of_a_bad_block_waits_for_the_copy_that_is_written() {
    let failed = end(Op::Read, 0, 1, FAILED);
    for other in [None, Some(Status::Done), Some(FAILED)] {
        let mut copies = undecided(2);
        let (read, again, write) = is_to_be_written(&mut copies, 1);
        copies.ended(again.tag, &failed, &mut Plan::default());
        let reads = other.map(|status| (copies.underway.insert(read), status));
        let mut out = Plan::default();
        copies.read_failed(&read, &failed, &mut out);
        assert!(matches!(out.instead, Instead::Step(_)), "it waits");
        let waits = out.ios().next().copied().expect("the second is read");
        assert_eq!((waits.drive, out.edges.len()), (DriveId(1), 1));
        copies.audit();

        let (mut out, mut later) = (Plan::default(), Plan::default());
        copies.skipped(Instant::ZERO, write.tag, DriveId(1), &Busy, &mut out);
        if let Some((key, status)) = reads {
            assert_eq!((out.open.len(), out.refused.len()), (0, 0), "{status:?}");
            let ends = end(Op::Read, 0, 1, status);
            copies.ended(Tag(key as u64), &ends, &mut later);
            out = later;
        }
        assert_eq!((out.open.len(), out.refused.len()), (1, 0), "{other:?}");
        let mut then = Plan::default();
        copies.ended(waits.tag, &end(Op::Read, 1, 1, Status::Done), &mut then);
        if other == Some(Status::Done) {
            // The block may have been written meanwhile: it is tried once more.
            let again = then.ios().next().copied().expect("the first is read");
            assert_eq!(again.drive, DriveId(0));
            then = Plan::default();
            copies.ended(again.tag, &failed, &mut then);
        }
        assert_eq!((then.instead, then.ios().count()), (Instead::Nothing, 0));
        copies.audit();
    }
}

/// Two copies are being written from a candidate whose drive goes, and a read waits for the first of
/// them: that one is taken, though the other one is written before.
#[test]
fn the_copy_that_a_read_waits_for_is_taken() {
    let (mut copies, _, [first, second]) = one_of_two_is_awaited();
    for (io, open) in [(second, 0), (first, 1)] {
        let mut out = Plan::default();
        copies.ended(io.tag, &end(Op::Write, 0, 1, Status::Done), &mut out);
        assert_eq!((out.open.len(), out.refused.len()), (open, 0));
    }
    assert_eq!(copies.state(Chunk(0)).current, 0b010);
    copies.audit();
}

/// The same, but a write of the chunk makes the other one current: the one that the read waits for
/// is read in vain, and then that one.
#[test]
fn a_read_in_vain_is_followed_by_one_of_the_copy_that_was_taken() {
    let (mut copies, out, [first, second]) = one_of_two_is_awaited();
    let waits = out
        .ios()
        .next()
        .copied()
        .expect("the first of them is read");
    let written = end(Op::Write, 0, 1, Status::Done);
    copies.ended(second.tag, &written, &mut Plan::default());
    copies.change(Chunk(0), |state| {
        (state.current, state.candidates, state.spoiled) = (0b100, 0, 0b010);
    });
    let mut out = Plan::default();
    copies.ended(first.tag, &written, &mut out);
    assert_eq!((out.open.len(), out.refused.len()), (1, 0));
    let mut then = Plan::default();
    copies.ended(waits.tag, &end(Op::Read, 0, 1, Status::Done), &mut then);
    assert!(
        matches!(then.instead, Instead::Step(_)),
        "{:?}",
        then.instead
    );
    assert_eq!(then.ios().map(|io| io.drive).next(), Some(DriveId(2)));
    copies.audit();
}

/// A block of the first copy is bad, and a read waits for the second, whose drive goes. A write of the
/// chunk has made the first one good meanwhile: that is read once more.
#[test]
fn what_could_not_be_read_is_read_once_more_when_it_was_written() {
    let mut copies = undecided(2);
    let (read, again, write) = is_to_be_written(&mut copies, 1);
    let done = end(Op::Read, 0, 1, Status::Done);
    copies.ended(again.tag, &done, &mut Plan::default());
    let mut out = Plan::default();
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut out);
    let waits = out.ios().next().copied().expect("the second is read");
    copies.change(Chunk(0), |state| {
        (state.current, state.candidates, state.spoiled) = (0b01, 0, 0b10);
    });
    let mut out = Plan::default();
    copies.ended(write.tag, &end(Op::Write, 0, 1, GONE), &mut out);
    assert_eq!((out.open.len(), out.refused.len()), (1, 0));
    let mut then = Plan::default();
    copies.ended(waits.tag, &end(Op::Read, 0, 1, GONE), &mut then);
    assert!(
        matches!(then.instead, Instead::Step(_)),
        "{:?}",
        then.instead
    );
    assert_eq!(then.ios().map(|io| io.drive).next(), Some(DriveId(0)));
}

/// Of three copies the second is current, and has a bad block; the third will do, too, and is being
/// written, and the first is to be written from the second. No copy may wait for its turn: until the
/// third one is there, nothing is read again and again that cannot be read.
#[test]
fn nothing_is_copied_before_the_copy_that_will_do_is_there() {
    let mut copies = undecided(3);
    copies.delayed = Queues::new(3, 0);
    copies.change(Chunk(0), |state| {
        (state.current, state.candidates) = (0b010, 0b110);
    });
    let (_, again, third) = is_to_be_written(&mut copies, 2);
    let done = end(Op::Read, 0, 1, Status::Done);
    copies.ended(again.tag, &done, &mut Plan::default());
    let (_, again, first) = is_to_be_written(&mut copies, 0);
    let failed = end(Op::Read, 0, 1, FAILED);
    copies.ended(again.tag, &failed, &mut Plan::default());
    assert!(copies.state(Chunk(0)).awaits_candidate());
    let mut out = Plan::default();
    copies.skipped(Instant::ZERO, first.tag, DriveId(0), &Busy, &mut out);
    assert_eq!(out.ios().count(), 0, "the bad copy is not read again");
    copies.audit();
    let mut out = Plan::default();
    let written = end(Op::Write, 0, 1, Status::Done);
    copies.ended(third.tag, &written, &mut out);
    assert_eq!(copies.state(Chunk(0)).current, 0b100);
    let drives: Vec<u16> = out.ios().map(|io| io.drive.0).collect();
    assert_eq!(drives, [2, 0, 2, 1], "both are written from the third");
    copies.audit();
}

/// The first copy has failed twice, and both drives went before the read of the second one
/// ended, which was in vain: the last failure is told.
#[test]
fn a_read_in_vain_of_which_nothing_is_left_fails_as_it_did_before() {
    let mut copies = undecided(2);
    for drive in [DriveId(0), DriveId(1)] {
        assert!(copies.gone.learn(drive, GONE));
    }
    for [before, why] in [
        [Failure::Medium, Failure::TimedOut],
        [Failure::TimedOut, Failure::Medium],
    ] {
        let first = underway(0, 1, 0, Part::Read(Reading::default()));
        let reading = first.part.after(0b01, before).after(0b01, why).reading();
        let waits = Waits::InVain;
        let part = Part::Read(Reading { waits, ..reading });
        let mut out = Plan::default();
        let done = end(Op::Read, 0, 1, Status::Done);
        copies.read_in_vain(&underway(0, 1, 1, part), &done, &mut out);
        assert_eq!(out.instead, Instead::Failed(why));
    }
}

/// A copy that cannot be written is none that will do after another power cut, and is tried so often
/// and no more.
#[test]
fn a_candidate_that_cannot_be_written_is_none() {
    let mut copies = undecided(2);
    let (_, again, write) = is_to_be_written(&mut copies, 1);
    let done = end(Op::Read, 0, 1, Status::Done);
    copies.ended(again.tag, &done, &mut Plan::default());
    let failed = end(Op::Write, 0, 1, FAILED);
    copies.ended(write.tag, &failed, &mut Plan::default());
    let state = copies.state(Chunk(0));
    assert_eq!(
        (state.current, state.candidates, state.safe),
        (0b01, 0, 0b01)
    );
    copies.audit();
    let mut tries = 1;
    loop {
        let mut out = Plan::default();
        copies.spend_spare_time(DriveId(1), &mut out);
        let ios: Vec<PlannedIo> = out.ios().copied().collect();
        let [again, write] = ios[..] else {
            break;
        };
        copies.ended(again.tag, &done, &mut Plan::default());
        copies.ended(write.tag, &failed, &mut Plan::default());
        tries += 1;
    }
    assert_eq!(tries, u32::from(TRIES));
}

/// Two of three candidates have the same on the medium, and the drive of the first goes: what was
/// written from it will do as well as the third.
#[test]
fn what_was_written_from_a_candidate_is_one() {
    let mut copies = undecided(3);
    let (_, again, write) = is_to_be_written(&mut copies, 2);
    for io in [again, write] {
        let done = end(io.op, 0, 1, Status::Done);
        copies.ended(io.tag, &done, &mut Plan::default());
    }
    assert_eq!(copies.state(Chunk(0)).candidates, 0b111);
    for drive in [0, 1] {
        assert!(copies.gone.learn(DriveId(drive), GONE));
        copies.leave_out(DriveId(drive), &mut Plan::default());
    }
    let state = copies.state(Chunk(0));
    assert_eq!((state.current, state.safe), (0b100, 0b100));
    copies.audit();
}

/// The drive of the first of two candidates goes while the second one is written from that, and a
/// third copy was to be: where no copy may wait it is not tried again before the second one is taken,
/// and it is written then.
#[test]
fn nothing_is_written_from_a_drive_that_is_gone_while_a_candidate_is_coming() {
    let mut copies = undecided(3);
    copies.delayed = Queues::new(3, 0);
    let (_, again, second) = is_to_be_written(&mut copies, 1);
    let (_, missed, third) = is_to_be_written(&mut copies, 2);
    let done = end(Op::Read, 0, 1, Status::Done);
    copies.ended(again.tag, &done, &mut Plan::default());
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());

    let failed = end(Op::Read, 0, 1, GONE);
    let mut out = Plan::default();
    copies.ended(missed.tag, &failed, &mut out);
    copies.skipped(Instant::ZERO, third.tag, DriveId(2), &Busy, &mut out);
    assert_eq!(out.ios().count(), 0, "nothing could be read");
    copies.audit();

    let done = end(Op::Write, 0, 1, Status::Done);
    copies.ended(second.tag, &done, &mut out);
    let drives: Vec<(Op, DriveId)> = out.ios().map(|io| (io.op, io.drive)).collect();
    assert_eq!(drives, [(Op::Read, DriveId(1)), (Op::Write, DriveId(2))]);
    copies.audit();
}

/// Two copies are being written from a candidate whose drive goes, and a read waits for the first of
/// them: what is planned for that, and the writes of both.
fn one_of_two_is_awaited() -> (FixedCopies<Side>, Plan, [PlannedIo; 2]) {
    let mut copies = undecided(3);
    copies.change(Chunk(0), |state| state.candidates = 0b111);
    let (read, again, first) = is_to_be_written(&mut copies, 1);
    let (_, twice, second) = is_to_be_written(&mut copies, 2);
    for io in [again, twice] {
        let done = end(Op::Read, 0, 1, Status::Done);
        copies.ended(io.tag, &done, &mut Plan::default());
    }
    assert!(copies.gone.learn(DriveId(0), GONE));
    copies.leave_out(DriveId(0), &mut Plan::default());
    let mut out = Plan::default();
    copies.read_failed(&read, &end(Op::Read, 0, 1, GONE), &mut out);
    assert!(matches!(out.instead, Instead::Step(_)), "it waits");
    (copies, out, [first, second])
}

/// A copy is to be written from the first candidate: a read of that, and the read and the write
/// that are planned.
fn is_to_be_written(copies: &mut FixedCopies<Side>, copy: u8) -> (Underway, PlannedIo, PlannedIo) {
    let mut out = Plan::default();
    copies.delay(Chunk(0), 1 << copy, &mut out);
    copies.spend_spare_time(DriveId(copy.into()), &mut out);
    let ios: Vec<PlannedIo> = out.ios().copied().collect();
    let [again, write] = ios[..] else {
        panic!("a copy is read and one is written: {ios:?}");
    };
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    (read, again, write)
}
