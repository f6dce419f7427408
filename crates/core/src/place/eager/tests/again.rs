//! Copies that failed, and what is done with them again: they are read where they were written
//! since, are tried again, or keep what waits from its slot.

use super::*;
use crate::place::delayed::TRIES;

/// A read fails, and another copy is read in its place. Before that has ended, the first one may be
/// written anew in the same slot.
#[test]
fn a_copy_that_was_written_anew_is_not_given_up() {
    for written in [false, true] {
        let mut copies = volume(false);
        let home = copies.home(FIRST).expect("it has one");
        copies.put(FIRST, home);
        let again = instead(&read(&mut copies, FIRST, FAILED));
        if written {
            copies.put(FIRST, NOWHERE);
            let mut out = Plan::default();
            copies.propagate(FIRST, Source::Buffer, &mut out);
            let write = *out.ios().next().expect("it goes home");
            ends(&mut copies, &write, Status::Done, &mut out);
            assert_eq!(copies.slot(FIRST), home);
        }
        ends(&mut copies, &again, Status::Done, &mut Plan::default());
        assert_eq!(copies.slot(FIRST) == NOWHERE, !written);
    }
}

/// So may it be written in another slot. If the other copy fails, too, it is read there.
#[test]
fn a_copy_that_failed_is_read_again_where_it_was_written_since() {
    for written in [false, true] {
        let mut copies = volume(false);
        let again = instead(&read(&mut copies, FIRST, FAILED));
        if written {
            let mut out = Plan::default();
            copies.propagate(FIRST, Source::Buffer, &mut out);
            let write = *out.ios().next().expect("it goes home");
            ends(&mut copies, &write, Status::Done, &mut out);
        }
        let mut out = Plan::default();
        ends(&mut copies, &again, FAILED, &mut out);
        let place = out
            .ios()
            .next()
            .map(|io| copies.underway[io.tag.0 as usize]);
        let place = place.map(|read| (read.of, Some(read.slot)));
        assert_eq!(place, written.then(|| (FIRST, copies.home(FIRST))));
    }
}

/// A copy that could not be read is on its way home when it is given up, and arrives before the map
/// says so. If the drive of the other copy has gone, it is the last one, where it was until the map
/// has its home.
#[test]
fn what_arrives_while_its_copy_is_given_up_is_needed() {
    for is_last in [false, true] {
        let mut copies = volume(true);
        let (slot, home) = (copies.slot(FIRST), copies.home(FIRST));
        let mut out = Plan::default();
        copies.propagate(FIRST, Source::Buffer, &mut out);
        let write = *out.ios().next().expect("it goes home");
        copies.ask_to_give_up(FIRST, &mut out);
        ends(&mut copies, &write, Status::Done, &mut out);
        if is_last {
            lose(&mut copies, 1);
        }
        let store = copies.store.as_mut().expect("it keeps the map");
        store.written(DriveId(0), NOWHERE);
        let tag = copies.next_change().expect("it is given up");
        copies.take_change(tag);
        copies.changes.give_back(tag);
        copies.given_up(FIRST, slot, &mut out);
        let before = if is_last { slot } else { NOWHERE };
        assert_eq!(copies.slot(FIRST), before);
        copies.audit_lost();
        copies.make_settled(&mut out);
        assert_eq!(Some(copies.slot(FIRST)), home);
        copies.audit_lost();
        copies.audit_slots();
    }
}

/// A copy that waits for its move home is in the buffer. A newer version takes that place before
/// the map has it, and counts for nothing if the map is lost.
#[test]
fn what_the_map_does_not_know_is_not_read_from_the_buffer() {
    let mut copies = volume(true);
    copies.put(SECOND, NOWHERE);
    copies.delay(FIRST, Source::Buffer, &mut Plan::default());
    let found = |copies: &mut EagerCopies| read(copies, FIRST, FAILED).instead;
    assert_eq!(found(&mut copies), Instead::Buffered);
    second_is_written(&mut copies);
    assert_eq!(found(&mut copies), Instead::Nothing);
    map_write_ends(&mut copies, 0, FAILED, &mut Plan::default());
    assert_eq!(found(&mut copies), Instead::Nothing);
}

/// A delayed copy is on its way when the map is lost, and a newer version is refused after that:
/// the delayed write is not needed any more, and the copy stays stale.
#[test]
fn a_copy_whose_delayed_write_is_dropped_is_known_to_be_stale() {
    let mut copies = volume(true);
    copies.put(SECOND, NOWHERE);
    copies.propagate(SECOND, Source::Buffer, &mut Plan::default());
    let key = copies.writes.insert(ChunkWrite {
        chunk: 0,
        left: 1,
        tried: 0b1,
        done: 0,
        landed: 0,
    });
    let write = copies.write_copy(FIRST, Reason::Foreground(key));
    map_write_ends(&mut copies, 0, FAILED, &mut Plan::default());
    write_ends(&mut copies, &write, Status::Done);
    assert!(!copies.copies.flies(SECOND));
    copies.audit_stale();
}

/// A delayed copy that could not be written is tried again in spare time, so often.
#[test]
fn a_copy_that_could_not_be_written_is_tried_again_in_spare_time() {
    let mut copies = volume(false);
    let drive = copies.drive(FIRST);
    let mut out = Plan::default();
    copies.propagate(FIRST, Source::Buffer, &mut out);
    let mut tries = 0;
    let write = |plan: &Plan| plan.ios().find(|io| io.op == Op::Write).copied();
    while let Some(write) = write(&out) {
        tries += 1;
        ends(&mut copies, &write, FAILED, &mut Plan::default());
        copies.copies.audit(std::iter::empty());
        out.clear();
        copies.try_again(drive, &mut out);
    }
    assert_eq!(tries, TRIES);
}

/// It cannot be moved home, and is the only one: so what waits for a slot of its drive fails,
/// unless something may leave it that.
#[test]
fn what_waits_for_a_slot_that_bad_homes_keep_fails() {
    let fails = |may_come: &dyn Fn(&mut EagerCopies)| {
        let mut copies = volume(true);
        for _ in 0..TRIES {
            copies.copies.fly(FIRST, 0, Source::AnotherCopy);
            copies.copies.failed(FIRST);
        }
        copies.put(SECOND, NOWHERE);
        let free: Vec<Slot> = copies.map.free[0].iter().collect();
        free.into_iter()
            .for_each(|slot| copies.map.free[0].take(slot));
        let waiting = copies.write_copy(FIRST, Reason::Delayed);
        let elsewhere = copies.write_copy(CopyOf { chunk: 2, copy: 0 }, Reason::Delayed);
        assert_ne!(elsewhere.drive, waiting.drive);
        may_come(&mut copies);
        let mut out = Plan::default();
        copies.make_room(waiting.drive, &mut out);
        assert!(out.ios().next().is_none(), "it is not moved once more");
        let meant = [(waiting.tag, Failure::Medium)];
        assert!(out.revoked.is_empty() || out.revoked == meant);
        !out.revoked.is_empty()
    };
    assert!(fails(&|_| ()));
    let other = CopyOf { chunk: 1, copy: 0 };
    assert!(
        !fails(&|copies| copies.forget(2, &mut Plan::default())),
        "the map changes"
    );
    assert!(
        !fails(&|copies| _ = copies.write_copy(SECOND, Reason::Delayed)),
        "it is overwritten"
    );
    assert!(
        !fails(&|copies| copies.copies.fly(other, 0, Source::Buffer)),
        "a copy goes home"
    );
}

/// Writes wait for a slot, and a copy was moved home in vain as often as is tried.
#[test]
fn no_room_is_made_of_the_last_copy() {
    for gone in [false, true] {
        let mut copies = volume(true);
        let drive = copies.drive(FIRST);
        for _ in 0..TRIES {
            copies.copies.fly(FIRST, 0, Source::AnotherCopy);
            copies.copies.failed(FIRST);
        }
        if gone {
            let other = copies.drive(SECOND);
            lose(&mut copies, other.0);
        }
        copies.make_room(drive, &mut Plan::default());
        assert_eq!(copies.is_given_up(FIRST), !gone);
    }
}

/// A write of which every slot is bad: the drives that are tried, in order.
fn tried(copies: &mut EagerCopies, mut plan: Plan) -> Vec<DriveId> {
    let mut tried = Vec::new();
    let mut next = plan.ios().next().copied();
    while let Some(write) = next {
        tried.push(write.drive);
        assert!(tried.len() < 100, "it is tried for ever");
        plan = write_ends(copies, &write, FAILED);
        next = match plan.instead {
            Instead::Step(_) => Some(instead(&plan)),
            _ => None,
        };
    }
    assert_eq!(plan.instead, Instead::Nothing);
    copies.audit_slots();
    tried
}

/// A write that cannot be done takes three slots of a drive, and then three of the drive with the
/// other copy. So does a delayed one, but it is of that copy alone.
#[test]
fn three_slots_are_tried_and_then_those_of_another_copy() {
    let mut copies = volume(false);
    let mut plan = Plan::default();
    copies.write(Instant::ZERO, 0, None, &Busy, &mut plan);
    let first = plan.ios().next().expect("it is written").drive;
    let other = DriveId(1 - first.0);
    let drives = [first, first, first, other, other, other];
    assert_eq!(tried(&mut copies, plan), drives);
    assert!(copies.writes.is_empty(), "it has ended");

    let mut copies = volume(false);
    let mut plan = Plan::default();
    copies.put(SECOND, NOWHERE);
    copies.propagate(SECOND, Source::Buffer, &mut plan);
    assert_eq!(tried(&mut copies, plan), [copies.drive(SECOND); 3]);
}

/// An older version is on its way home when a newer one waits for the map. Entered behind that, it
/// would be current beside it.
#[test]
fn a_delayed_copy_that_lands_behind_a_newer_version_is_dropped() {
    let mut copies = buffered(true);
    let source = copies.copies.pop(DriveId(0));
    let mut out = Plan::default();
    copies.propagate(FIRST, source, &mut out);
    let older = *out.ios().next().expect("it is written");
    second_is_written(&mut copies);
    ends(&mut copies, &older, Status::Done, &mut Plan::default());
    copies.audit_slots();
    map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
    map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
    let current: Vec<CopyOf> = copies.current(0).map(|(of, ..)| of).collect();
    assert_eq!(current, [SECOND]);
    assert!(copies.is_due(FIRST), "the newer one is still to go there");
    assert!(copies.copies.is_buffered(FIRST));
    copies.audit_slots();
}
