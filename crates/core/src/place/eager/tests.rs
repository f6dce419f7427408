//! States that hardly ever come about, built by hand: two drives with two copies of four chunks, of which the first copies have homes.

use super::copies::Source;
use super::map::tests::{PAIR, found};
use super::store::{MapWrite, Retry, When};
use super::*;
use crate::io::DriveDone;
use crate::maplog::Entry;
use crate::op::{Cost, Failure, Status};
use crate::plan::Instead;

const GONE: Status = Status::Failed(Failure::Gone);
const FAILED: Status = Status::Failed(Failure::Medium);

/// The copies of chunk 0: on the first drive, away from its home, and on the second.
const FIRST: CopyOf = CopyOf { chunk: 0, copy: 0 };
const SECOND: CopyOf = CopyOf { chunk: 0, copy: 1 };

/// Lets every change wait, keeps the map on the first drive, and is lost with the first write that fails.
struct Slow(Vec<(Tag, Entry)>);

impl MapStore for Slow {
    fn change(&mut self, tag: Tag, entry: Entry) -> When {
        self.0.push((tag, entry));
        When::Later
    }

    fn settled(&mut self, _map: &Map) -> Option<Tag> {
        None
    }

    fn next_writes(&mut self, _: Instant, _: &dyn Drives, _: &Map, _: &mut Vec<MapWrite>) {}

    fn content(&self, _drive: DriveId) -> &[u8] {
        &[]
    }

    fn written(&mut self, _drive: DriveId, _slot: Slot) -> Option<Slot> {
        None
    }

    fn failed(&mut self, _drive: DriveId, _failure: Failure) -> Retry {
        Retry::Lost
    }

    fn spares(&self, gone: &Gone) -> bool {
        !gone.has(DriveId(0))
    }

    fn nvram(&self) -> &[u8] {
        &[]
    }

    fn recovery(&self, _map: &Map, _out: &mut Vec<RecoveryRead>) {}

    fn audit(&self, _own: &mut dyn FnMut(DriveId, Slot)) {}
}

fn volume(slow: bool) -> EagerCopies {
    let map = found([5, 1, 6, 9, 7, 8, 4, 3]).expect("it is one");
    let slow = slow.then(|| Box::new(Slow(Vec::new())) as Box<dyn MapStore>);
    EagerCopies::new(PAIR, Blocks(1), map, (1, 10), slow).expect("it is one")
}

fn lose(copies: &mut EagerCopies, drive: u16) {
    assert!(copies.gone.learn(DriveId(drive), GONE));
    copies.leave_out(DriveId(drive));
    copies.audit_lost();
}

/// A copy is read, and that ends so. What was planned then.
fn read(copies: &mut EagerCopies, of: CopyOf, status: Status) -> Plan {
    let (drive, slot) = (copies.drive(of), copies.slot(of));
    let planned = copies.read_copy(of, drive, slot, Blocks(0), Blocks(1));
    let mut out = Plan::default();
    ends(copies, &planned, status, &mut out);
    out
}

fn ends(copies: &mut EagerCopies, planned: &PlannedIo, status: Status, out: &mut Plan) {
    let Target::At(at) = planned.target else {
        panic!("a read has a place");
    };
    let done = DriveDone {
        io: crate::ids::IoId(0),
        op: planned.op,
        at,
        len: planned.len,
        status,
        cost: Cost::default(),
        arm: None,
    };
    copies.ended(planned.tag, &done, out);
}

fn instead(out: &Plan) -> PlannedIo {
    assert!(matches!(out.instead, Instead::Step(_)), "{out:?}");
    *out.ios().next().expect("another copy is read")
}

#[test]
fn a_copy_that_fails_is_given_up_when_another_one_was_read() {
    let mut copies = volume(false);
    let out = read(&mut copies, FIRST, FAILED);
    assert_ne!(copies.slot(FIRST), NOWHERE, "the other one may fail too");
    let again = instead(&out);
    assert_eq!(again.drive, copies.drive(SECOND));
    ends(&mut copies, &again, Status::Done, &mut Plan::default());
    assert_eq!(copies.slot(FIRST), NOWHERE);

    let mut copies = volume(false);
    let again = instead(&read(&mut copies, FIRST, FAILED));
    assert!(copies.gone.learn(again.drive, GONE));
    copies.leave_out(again.drive);
    ends(&mut copies, &again, GONE, &mut Plan::default());
    assert_ne!(copies.slot(FIRST), NOWHERE, "it is all that is left");
}

/// Writes wait for a slot, and a copy was moved home in vain as often as is tried.
#[test]
fn no_room_is_made_of_the_last_copy() {
    for gone in [false, true] {
        let mut copies = volume(true);
        let drive = copies.drive(FIRST);
        for _ in 0..failures::MOVES_MAX {
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

/// While the map is told that a copy is given up, the drive of the other one goes.
#[test]
fn a_copy_that_is_given_up_and_has_become_the_last_one_stays() {
    for overwritten in [false, true] {
        let mut copies = volume(true);
        let slot = copies.slot(FIRST);
        let mut out = Plan::default();
        copies.ask_to_give_up(FIRST, &mut out);
        assert!(copies.is_given_up(FIRST) && !copies.is_elsewhere(SECOND));
        lose(&mut copies, 1);
        if overwritten {
            copies.forget(0, &mut out);
        }
        copies.changes.take(Tag(0));
        copies.given_up(FIRST, slot, &mut out);
        let stays = copies
            .changes
            .iter()
            .any(|(_, change)| matches!(change, Change::Stays(FIRST)));
        assert_eq!(
            (stays, copies.slot(FIRST) == slot),
            (!overwritten, !overwritten)
        );
        copies.audit_lost();
    }
}

/// Each drive with a part of the map may say that it is lost.
#[test]
fn a_map_is_lost_once() {
    let mut copies = volume(true);
    let write = copies.write_copy(FIRST, Reason::Delayed);
    let mut out = Plan::default();
    for drive in [0, 1].map(DriveId) {
        let tag = Tag(copies.underway.insert(Underway {
            of: FIRST,
            drive,
            slot: NOWHERE,
            purpose: Purpose::Map,
            failed: 0,
        }) as u64);
        let target = Target::At(Pba(0));
        let mut write = PlannedIo::new(drive, Op::Write, target, Blocks(1));
        write.tag = tag;
        ends(&mut copies, &write, GONE, &mut out);
    }
    assert_eq!(out.revoked, [(write.tag, Failure::MapLost)]);
}

#[test]
fn a_flush_knows_what_is_lost() {
    let flush = |copies: &EagerCopies| {
        let mut out = Plan::default();
        copies.flush(&mut out);
        out.failure
    };
    let mut copies = volume(true);
    lose(&mut copies, 1);
    assert_eq!(flush(&copies), None, "all is on the first drive");
    let slot = copies.slot(FIRST);
    copies.given_up(FIRST, slot, &mut Plan::default());
    copies.changes = Waiting::default();
    copies.move_to(FIRST, NOWHERE, false);
    assert_eq!(flush(&copies), Some(Failure::Gone));
    copies.move_to(FIRST, slot, true);
    assert_eq!(flush(&copies), None, "it was written again");
    let mut copies = volume(true);
    lose(&mut copies, 0);
    assert_eq!(flush(&copies), Some(Failure::Gone), "the map is there");
    let mut copies = volume(false);
    lose(&mut copies, 0);
    lose(&mut copies, 1);
    assert_eq!(flush(&copies), Some(Failure::Gone));
    for chunk in 0..PAIR.chunks {
        assert_eq!(flush(&copies), Some(Failure::Gone));
        copies.forget(chunk, &mut Plan::default());
    }
    assert_eq!(flush(&copies), None, "all is discarded");
}

/// Each copy that a drive had of what waits is told when that is gone: writes there need no slot that is free.
#[test]
fn what_waits_for_a_slot_of_a_drive_that_is_gone_gets_one() {
    let mut copies = volume(false);
    let drive = DriveId(1);
    let all: Vec<Slot> = copies.map.free[1].iter().collect();
    for slot in all {
        copies.map.free[1].take(slot);
    }
    let write = copies.write_copy(SECOND, Reason::Delayed);
    lose(&mut copies, 1);
    let free = copies.free(drive).expect("it writes eagerly");
    let slot = free.iter().next().expect("there is one");
    copies.bind(Instant::ZERO, write.tag, drive, slot);
    EagerCopies::free(&mut copies, drive, slot);
    copies.audit_slots();
}
