//! How often a copy is tried that only the buffer has, and when.

use super::*;

/// The drive of the only current copy of chunk 0 goes; the placement is told.
fn goes(copies: &mut FixedCopies<Side>, drive: u16) {
    assert!(copies.gone.learn(DriveId(drive), GONE));
    copies.leave_out(DriveId(drive), &mut Plan::default());
    copies.hurry();
}

/// The urgent copy of chunk 0 is written, which fails again and again, at most so often. How often
/// it was written.
fn tries(copies: &mut FixedCopies<Side>, max: usize) -> usize {
    let mut count = 0;
    loop {
        if count == max {
            return count;
        }
        let mut out = Plan::default();
        copies.write_urgent(&mut out);
        copies.audit();
        let Some(write) = out.ios().next().copied() else {
            return count;
        };
        count += 1;
        copies.ended(
            write.tag,
            &end(Op::Write, 0, 1, FAILED),
            &mut Plan::default(),
        );
    }
}

/// What the buffer alone has is tried so often one time after the other, and of each version anew.
#[test]
fn what_the_buffer_alone_has_is_tried_so_often() {
    let tries_max = usize::from(crate::place::delayed::TRIES);
    for newer in [None, Some(true), Some(false)] {
        let mut copies = volume(3, false);
        let mut out = Plan::default();
        copies.change(Chunk(0), |state| state.current = 0b001);
        copies.delay(Chunk(0), 0b010, &mut out);
        goes(&mut copies, 0);
        let Some(in_spare_time) = newer else {
            assert_eq!(tries(&mut copies, 100), tries_max);
            assert!(copies.state(Chunk(0)).unbuffered, "it is lost");
            continue;
        };
        assert_eq!(tries(&mut copies, 3), 3);
        let mut out = Plan::default();
        copies.write_urgent(&mut out);
        let again = *out.ios().next().expect("it is tried again");
        if in_spare_time {
            copies.ended(again.tag, &end(Op::Write, 0, 1, Status::Done), &mut out);
        } else {
            // This one fails, too, and a newer version comes.
            let key = write(&mut copies, 1);
            copies.writes[key].partial = [false; 2];
            copies.ended(again.tag, &end(Op::Write, 0, 1, FAILED), &mut out);
            copy_ends(&mut copies, key, 1, Status::Done);
        }
        assert_eq!(copies.state(Chunk(0)).current, 0b010, "{in_spare_time}");
        copies.change(Chunk(0), |state| state.unbuffered = false);
        copies.delay(Chunk(0), 0b100, &mut out);
        goes(&mut copies, 1);
        assert_eq!(tries(&mut copies, 100), tries_max, "{in_spare_time}");
    }
}

/// A write that never started was one of those that a drive has to do at a time.
#[test]
fn an_urgent_copy_is_written_in_place_of_one_that_never_started() {
    let mut copies = volume(2, false);
    copies.change(Chunk(0), |state| state.current = 0b01);
    copies.delay(Chunk(0), 0b10, &mut Plan::default());
    copies.change(Chunk(1), |state| {
        state.current = 0b01;
        state.unbuffered = true;
    });
    goes(&mut copies, 0);
    for _ in 1..crate::place::delayed::URGENT {
        copies.delayed.write_begins(DriveId(1));
    }
    let mut out = Plan::default();
    copies.propagate(CopyOf::new(Chunk(1), 1), 1, &mut out);
    let never = *out
        .ios()
        .find(|io| io.op == Op::Write)
        .expect("it waits for a read");
    let mut out = Plan::default();
    copies.write_urgent(&mut out);
    assert_eq!(out.ios().count(), 0, "the drive has enough to do");
    copies.skipped(Instant::ZERO, never.tag, DriveId(1), &Busy, &mut out);
    assert_eq!(out.ios().filter(|io| io.op == Op::Write).count(), 1);
}

/// What waited when the power went may be more than the buffer has room for. It waits on as another
/// drive goes.
#[test]
fn copies_that_wait_beyond_the_buffer_wait_on_as_a_drive_goes() {
    let mut copies = volume(3, false);
    copies.delayed = Queues::new(3, 1);
    let waiting = [1, 2].map(|chunk| CopyOf::new(Chunk(chunk), 2));
    for of in waiting {
        copies.delayed.push(DriveId(2), of, Turn::SpareTime);
    }
    goes(&mut copies, 0);
    assert!(waiting.iter().all(|of| copies.delayed.waits(*of)));
}
