//! States that hardly ever come about, built by hand: two drives with two copies of four chunks, of
//! which the first copies have homes.

mod again;
mod kept;

use std::collections::VecDeque;

use super::copies::Source;
use super::map::tests::{PAIR, THREE, found, three};
use super::store::{MapWrite, Retry, When};
use super::*;
use crate::io::DriveDone;
use crate::maplog::Entry;
use crate::op::{Cost, Failure, Status};
use crate::place::busy::Busy;
use crate::plan::{Instead, Step, StepIndex};

const GONE: Status = Status::Failed(Failure::Gone);
const FAILED: Status = Status::Failed(Failure::Medium);

/// The copies of chunk 0: on the first drive, away from its home, and on the second.
const FIRST: CopyOf = CopyOf { chunk: 0, copy: 0 };
const SECOND: CopyOf = CopyOf { chunk: 0, copy: 1 };

/// Lets every change wait for the next write, keeps the map on the first drive, and is lost with
/// the first write that fails.
#[derive(Default)]
struct Slow {
    waiting: VecDeque<Tag>,
    /// Of these, on the drive.
    written: usize,
    /// What it has to write.
    writes: Vec<MapWrite>,
}

impl MapStore for Slow {
    fn change(&mut self, tag: Tag, _entry: Entry) -> When {
        self.waiting.push_back(tag);
        When::Later
    }

    fn settled(&mut self, _map: &Map) -> Option<Tag> {
        self.written = self.written.checked_sub(1)?;
        self.waiting.pop_front()
    }

    fn next_writes(&mut self, _: Instant, _: &dyn Drives, _: &Map, out: &mut Vec<MapWrite>) {
        out.append(&mut self.writes);
    }

    fn content(&self, _drive: DriveId) -> &[u8] {
        &[]
    }

    fn written(&mut self, _drive: DriveId, _slot: Slot) -> Option<Slot> {
        self.written = self.waiting.len();
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
    let slow = slow.then(|| Box::new(Slow::default()) as Box<dyn MapStore>);
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
    let at = match planned.target {
        Target::At(at) => at,
        Target::Open(_) => copies.at(planned.drive, copies.underway[planned.tag.0 as usize].slot),
        Target::Offered(_) | Target::Among(..) => panic!("clients offer nothing"),
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

/// A drive has ended a write of the map like this.
fn map_write_ends(copies: &mut EagerCopies, drive: u16, status: Status, out: &mut Plan) {
    let drive = DriveId(drive);
    let tag = copies.underway.insert(Underway {
        of: FIRST,
        drive,
        slot: NOWHERE,
        purpose: Purpose::Map,
        failed: 0,
    });
    let target = Target::At(Pba(0));
    let mut write = PlannedIo::new(drive, Op::Write, target, Blocks(1));
    write.tag = Tag(tag as u64);
    ends(copies, &write, status, out);
}

/// An open write gets a slot there, and ends like this.
fn write_ends(copies: &mut EagerCopies, write: &PlannedIo, status: Status) -> Plan {
    let slot = copies.map.free[write.drive.index()].iter().next();
    let slot = slot.expect("one is free");
    copies.bind(Instant::ZERO, write.tag, write.drive, slot);
    let mut out = Plan::default();
    ends(copies, write, status, &mut out);
    out
}

#[derive(Debug, PartialEq, Eq)]
enum Flush {
    Goes,
    Waits,
    Fails,
}

/// What becomes of a flush that is planned now.
fn flush(copies: &mut EagerCopies) -> Flush {
    let mut out = Plan::default();
    copies.flush(&mut out);
    copies.audit_lost();
    let waits = out.steps.iter().any(|step| matches!(step, Step::Gate(_)));
    match out.failure {
        Some(failure) => {
            assert_eq!((failure, waits), (Failure::Gone, false));
            Flush::Fails
        }
        None if waits => Flush::Waits,
        None => Flush::Goes,
    }
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

/// What happens to a copy that could not be read, before another one has been.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Nothing,
    /// It was written elsewhere.
    Moves,
    /// A newer version of the other copy waits for the map.
    Overtaken,
    MapLost,
    Gone,
}

#[test]
fn a_copy_that_failed_is_given_up_only_if_it_is_still_there_and_the_map_may_change() {
    use Meanwhile::{Gone, MapLost, Moves, Nothing, Overtaken};
    for meanwhile in [Nothing, Moves, Overtaken, MapLost, Gone] {
        let mut copies = volume(true);
        let again = instead(&read(&mut copies, FIRST, FAILED));
        match meanwhile {
            Nothing => {}
            Moves => {
                let slot = copies.map.free[0].iter().next().expect("one is free");
                copies.map.free[0].take(slot);
                copies.move_to(FIRST, slot, false);
            }
            Overtaken => second_is_written(&mut copies),
            MapLost => map_write_ends(&mut copies, 0, FAILED, &mut Plan::default()),
            Gone => lose(&mut copies, 0),
        }
        let before = copies.slot(FIRST);
        ends(&mut copies, &again, Status::Done, &mut Plan::default());
        let given_up = copies.slot(FIRST) == NOWHERE || copies.is_given_up(FIRST);
        assert_eq!(given_up, meanwhile == Nothing, "{meanwhile:?}");
        assert!(given_up || copies.slot(FIRST) == before, "{meanwhile:?}");
        copies.audit_slots();
    }
}

/// A copy is overwritten, or given up, while somebody reads what was there.
#[test]
fn what_was_read_is_written_over_only_behind_the_read() {
    for overwritten in [false, true] {
        let mut copies = volume(true);
        let (drive, slot) = (copies.drive(FIRST), copies.slot(FIRST));
        let read = copies.read_copy(FIRST, drive, slot, Blocks(0), Blocks(1));
        if overwritten {
            both_arrive(&mut copies);
        } else {
            copies.ask_to_give_up(FIRST, &mut Plan::default());
            map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
        }
        assert_ne!(copies.slot(FIRST), slot);
        let free = |copies: &EagerCopies| copies.map.free[drive.index()].has(slot);
        assert!(!free(&copies));
        ends(&mut copies, &read, Status::Done, &mut Plan::default());
        assert!(free(&copies));
        copies.audit_slots();
    }
}

/// A write of both copies is in the map with the first one; the second has arrived.
fn both_arrive(copies: &mut EagerCopies) {
    let key = copies.writes.insert(ChunkWrite {
        chunk: 0,
        left: 2,
        tried: 0b11,
        done: 0,
        landed: 0,
    });
    let reason = Reason::Foreground(key);
    let first = copies.write_copy(FIRST, reason);
    write_ends(copies, &first, Status::Done);
    map_write_ends(copies, 0, Status::Done, &mut Plan::default());
    let second = copies.write_copy(SECOND, reason);
    write_ends(copies, &second, Status::Done);
}

/// A write is in the map with its first copy, and the second has arrived when that cannot be read.
/// If a newer write has arrived since, nobody was told of it yet.
#[test]
fn a_copy_that_the_map_does_not_know_yet_is_read() {
    for newer in [false, true] {
        let mut copies = volume(true);
        both_arrive(&mut copies);
        if newer {
            second_is_written(&mut copies);
        }
        let out = read(&mut copies, FIRST, FAILED);
        if newer {
            assert!(!matches!(out.instead, Instead::Step(_)), "{out:?}");
            continue;
        }
        let again = instead(&out);
        assert_eq!(again.drive, copies.drive(SECOND));
        let mut out = Plan::default();
        ends(&mut copies, &again, FAILED, &mut out);
        assert!(
            !matches!(out.instead, Instead::Step(_)),
            "each is read once"
        );
        map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
        let again = instead(&read(&mut copies, FIRST, FAILED));
        assert_eq!(again.drive, copies.drive(SECOND), "now it is in the map");
        copies.audit_slots();
    }
}

/// Of three copies the map has one, and two have arrived. None can be read.
#[test]
fn each_copy_is_tried_once() {
    let store = Box::new(Slow::default());
    let copies = EagerCopies::new(THREE, Blocks(1), three(), (3, 10), Some(store));
    let mut copies = copies.expect("it is one");
    let mut plan = Plan::default();
    copies.write(Instant::ZERO, 0, None, &Busy, &mut plan);
    let writes: Vec<PlannedIo> = plan.ios().copied().collect();
    for (number, write) in writes.iter().enumerate() {
        write_ends(&mut copies, write, Status::Done);
        if number == 0 {
            map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
        }
    }
    let (mapped, ..) = copies.current(0).next().expect("one is in the map");
    let mut tried = vec![copies.drive(mapped)];
    let mut out = read(&mut copies, mapped, FAILED);
    while let Instead::Step(_) = out.instead {
        let again = instead(&out);
        tried.push(again.drive);
        out = Plan::default();
        ends(&mut copies, &again, FAILED, &mut out);
    }
    assert_eq!(tried.len(), 3, "{tried:?}");
    tried.sort();
    assert_eq!(tried, [0, 1, 2].map(DriveId));
    copies.audit_slots();
}

/// Somebody reads a copy that has arrived while the map on the drives is lost, which will never
/// have it: the map in memory does.
#[test]
fn a_copy_that_has_arrived_is_in_the_map_in_memory_when_the_map_is_lost() {
    let mut copies = volume(true);
    both_arrive(&mut copies);
    let again = instead(&read(&mut copies, FIRST, FAILED));
    let place = copies.underway[again.tag.0 as usize];
    assert_ne!(copies.slot(place.of), place.slot);
    map_write_ends(&mut copies, 0, FAILED, &mut Plan::default());
    assert_eq!(copies.slot(place.of), place.slot);
    ends(&mut copies, &again, Status::Done, &mut Plan::default());
    assert_eq!(copies.slot(place.of), place.slot);
    copies.audit_slots();
}

/// While the map is told that a copy is given up, the drive of the other one goes.
#[test]
fn a_copy_that_is_given_up_and_has_become_the_last_one_stays() {
    for overwritten in [false, true] {
        let mut copies = volume(true);
        let slot = copies.slot(FIRST);
        let mut out = Plan::default();
        copies.ask_to_give_up(FIRST, &mut out);
        assert!(copies.is_given_up(FIRST));
        assert!(!copies.is_elsewhere(SECOND));
        lose(&mut copies, 1);
        if overwritten {
            copies.forget(0, &mut out);
        }
        copies.take_change(Tag(0));
        copies.changes.give_back(Tag(0));
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
    for drive in [0, 1] {
        map_write_ends(&mut copies, drive, GONE, &mut out);
    }
    assert_eq!(out.revoked, [(write.tag, Failure::MapLost)]);
}

#[test]
fn a_flush_knows_what_is_lost() {
    let mut copies = volume(true);
    lose(&mut copies, 1);
    assert_eq!(flush(&mut copies), Flush::Goes, "all is on the first drive");
    let slot = copies.slot(FIRST);
    copies.move_to(FIRST, NOWHERE, false);
    assert_eq!(flush(&mut copies), Flush::Fails);
    copies.move_to(FIRST, slot, true);
    assert_eq!(flush(&mut copies), Flush::Goes, "it was written again");
    let mut copies = volume(true);
    lose(&mut copies, 0);
    assert_eq!(flush(&mut copies), Flush::Fails, "the map is there");
    let mut copies = volume(false);
    lose(&mut copies, 0);
    lose(&mut copies, 1);
    assert_eq!(flush(&mut copies), Flush::Fails);
    for chunk in 0..PAIR.chunks {
        assert_eq!(flush(&mut copies), Flush::Fails);
        copies.forget(chunk, &mut Plan::default());
    }
    assert_eq!(flush(&mut copies), Flush::Goes, "all is discarded");
}

/// Each copy that a drive had of what waits is told when that is gone: writes there need no slot
/// that is free.
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

/// The map on the drives does not say any more where a copy is, or not yet again, and the drive of
/// the other one goes.
#[test]
fn a_flush_does_not_count_a_copy_that_may_be_in_no_map() {
    for is_lost in [false, true] {
        let mut copies = volume(true);
        let mut out = Plan::default();
        copies.ask_to_give_up(FIRST, &mut out);
        assert_eq!(flush(&mut copies), Flush::Goes, "the other one is there");
        lose(&mut copies, 1);
        assert_eq!(flush(&mut copies), Flush::Waits, "it may be in no map");
        copies.flush_ended(GONE, &mut out);
        assert!(matches!(out.instead, Instead::Step(_)), "so one under way");
        copies.audit_held();
        if is_lost {
            map_write_ends(&mut copies, 0, FAILED, &mut out);
            assert_eq!(flush(&mut copies), Flush::Fails, "nobody knows");
            assert_eq!((out.open.len(), out.refused.len()), (0, 2));
            continue;
        }
        map_write_ends(&mut copies, 0, Status::Done, &mut out);
        assert_eq!(flush(&mut copies), Flush::Waits, "now it is in none");
        copies.answer_held(&mut out);
        assert!(out.open.is_empty(), "{out:?}");
        map_write_ends(&mut copies, 0, Status::Done, &mut out);
        assert_eq!(flush(&mut copies), Flush::Goes, "it stays");
        copies.answer_held(&mut out);
        assert_eq!((out.open.len(), out.refused.len()), (3, 0));
    }
}

/// A drive that goes while it flushes is not needed if all that it had is elsewhere. But what was
/// written elsewhere meanwhile may be in the cache of a drive that had ended its part before.
#[test]
fn a_flush_beside_a_drive_that_goes_covers_what_came_into_other_caches_since() {
    for keeps_in_caches in [false, true] {
        let mut copies = volume(false);
        copies.keeps_in_caches = keeps_in_caches;
        lose(&mut copies, 1);
        let mut out = Plan::default();
        copies.flush_ended(GONE, &mut out);
        let flushed: Vec<DriveId> = out.ios().map(|io| io.drive).collect();
        match keeps_in_caches {
            false => assert_eq!((flushed, out.instead), (vec![], Instead::Tolerated)),
            true => {
                assert_eq!(flushed, [DriveId(0)]);
                assert_eq!(out.instead, Instead::Step(StepIndex(0)));
            }
        }
    }
}

/// A foreground write of chunk 0 that is in the map with the second copy alone.
fn half_written(copies: &mut EagerCopies) -> usize {
    copies.writes.insert(ChunkWrite {
        chunk: 0,
        left: 1,
        tried: 0b11,
        done: 0b10,
        landed: 0b10,
    })
}

#[test]
fn a_write_fails_if_only_a_drive_that_is_gone_has_it() {
    for (gone, instead) in [(false, Instead::Tolerated), (true, Instead::Nothing)] {
        let mut copies = volume(false);
        let key = half_written(&mut copies);
        if gone {
            lose(&mut copies, 1);
        }
        let mut write = copies.write_copy(FIRST, Reason::Foreground(key));
        let mut out = write_ends(&mut copies, &write, FAILED);
        while let Instead::Step(_) = out.instead {
            write = *out.ios().next().expect("another slot is tried");
            out = write_ends(&mut copies, &write, FAILED);
        }
        assert_eq!(out.instead, instead);
    }
}

/// A foreground write of the second copy alone ends on its drive; its change of the map waits.
fn second_is_written(copies: &mut EagerCopies) {
    let key = copies.writes.insert(ChunkWrite {
        chunk: 0,
        left: 1,
        tried: 0b10,
        done: 0,
        landed: 0,
    });
    let write = copies.write_copy(SECOND, Reason::Foreground(key));
    write_ends(copies, &write, Status::Done);
}

/// The change of the map that it waits for comes too late: then another copy is written, and the
/// answer waits for that.
#[test]
fn a_write_whose_drive_goes_while_it_waits_for_the_map_is_answered_when_it_is_elsewhere() {
    let mut copies = volume(true);
    second_is_written(&mut copies);
    let mut out = Plan::default();
    map_write_ends(&mut copies, 0, Status::Done, &mut out);
    assert_eq!((&*out.open, &*out.refused), (&[Tag(0)][..], &[][..]));

    for status in [Status::Done, FAILED] {
        let mut copies = volume(true);
        second_is_written(&mut copies);
        lose(&mut copies, 1);
        let mut out = Plan::default();
        map_write_ends(&mut copies, 0, Status::Done, &mut out);
        copies.answer_held(&mut out);
        assert_eq!((&*out.open, &*out.refused), (&[][..], &[][..]));
        let mut writes = urgent(&mut copies);
        assert_eq!(writes.len(), 1, "the first copy");
        while let Some(write) = writes.pop() {
            assert!(out.open.is_empty() && out.refused.is_empty());
            copies.audit_held();
            out = write_ends(&mut copies, &write, status);
            copies.answer_held(&mut out);
            writes.extend(out.ios());
        }
        if status.is_done() {
            assert_eq!((&*out.open, &*out.refused), (&[][..], &[][..]));
            map_write_ends(&mut copies, 0, Status::Done, &mut out);
            copies.answer_held(&mut out);
            // The delayed write's change of the map, then the request.
            let answered = [Tag(1), Tag(0)];
            assert_eq!((&*out.open, &*out.refused), (&answered[..], &[][..]));
        } else {
            let refused = [(Tag(0), Failure::Gone)];
            assert_eq!((&*out.open, &*out.refused), (&[][..], &refused[..]));
        }
        assert!(copies.held.is_empty());
    }
}

/// The first copy of chunk 0 is stale, and waits with what the buffer has.
fn buffered(slow: bool) -> EagerCopies {
    let mut copies = volume(slow);
    copies.move_to(FIRST, NOWHERE, false);
    copies.delay(FIRST, Source::Buffer, &mut Plan::default());
    copies
}

/// The copies that are written now, since they are urgent.
fn urgent(copies: &mut EagerCopies) -> Vec<PlannedIo> {
    let mut out = Plan::default();
    copies.write_urgent(&mut out);
    copies.audit_urgent();
    out.ios().copied().collect()
}

/// What the buffer alone has is tried so often; what a drive has that is left waits for the next
/// write of its chunk.
#[test]
fn what_the_buffer_alone_has_is_tried_so_often() {
    for (lost, gone, tries) in [
        (true, false, crate::place::delayed::TRIES),
        (true, true, 1),
        (false, false, 1),
    ] {
        let mut copies = buffered(false);
        let mut writes = match lost {
            true => {
                lose(&mut copies, 1);
                urgent(&mut copies)
            }
            false => {
                let source = copies.copies.pop(DriveId(0));
                let mut out = Plan::default();
                copies.propagate(FIRST, source, &mut out);
                out.ios().copied().collect()
            }
        };
        let mut count = 0;
        while let Some(write) = writes.pop().filter(|_| count < 100) {
            count += 1;
            let mut out = Plan::default();
            let status = match gone {
                true => GONE,
                false => Status::Failed(Failure::TimedOut),
            };
            if copies.gone.learn(write.drive, status) {
                copies.leave_out(write.drive);
            }
            ends(&mut copies, &write, status, &mut out);
            writes = out.ios().copied().collect();
        }
        assert_eq!(count, tries, "{lost} {gone}");
    }
}

/// Nothing is written any more when the map is lost, however urgent it was.
#[test]
fn nothing_is_urgent_without_a_map() {
    let mut copies = buffered(true);
    map_write_ends(&mut copies, 0, FAILED, &mut Plan::default());
    lose(&mut copies, 1);
    assert_eq!(urgent(&mut copies).len(), 0);
}

/// Its home is still read when a copy becomes urgent: it is written when that has ended.
#[test]
fn an_urgent_copy_waits_until_its_home_is_not_read() {
    for withdrawn in [false, true] {
        let mut copies = volume(false);
        let mut firsts = (0..PAIR.chunks).map(|chunk| CopyOf { chunk, copy: 0 });
        let home = firsts.find(|of| copies.home(*of) == Some(copies.slot(*of)));
        let of = home.expect("one is at home");
        let (drive, slot) = (copies.drive(of), copies.slot(of));
        let read = copies.read_copy(of, drive, slot, Blocks(0), Blocks(1));
        copies.move_to(of, NOWHERE, false);
        copies.delay(of, Source::Buffer, &mut Plan::default());
        lose(&mut copies, 1 - drive.0);
        assert_eq!(urgent(&mut copies).len(), 0, "its home is read");
        match withdrawn {
            // Another drive has begun the same read.
            true => copies.withdrawn(read.tag, drive),
            false => ends(&mut copies, &read, Status::Done, &mut Plan::default()),
        }
        assert_eq!(urgent(&mut copies).len(), 1);
    }
}

/// An older version is still on its way home when a copy becomes urgent: it is written when that
/// has ended.
#[test]
fn an_urgent_copy_waits_until_an_older_version_is_at_its_home() {
    let mut copies = buffered(false);
    let source = copies.copies.pop(DriveId(0));
    let mut out = Plan::default();
    copies.propagate(FIRST, source, &mut out);
    let older = *out.ios().next().expect("it is written");
    let free = copies.map.free[1].iter().next().expect("one is free");
    copies.map.free[1].take(free);
    copies.move_to(SECOND, free, true);
    copies.delay(FIRST, Source::Buffer, &mut Plan::default());
    lose(&mut copies, 1);
    assert_eq!(urgent(&mut copies).len(), 0, "its home is written");
    ends(&mut copies, &older, Status::Done, &mut Plan::default());
    assert_eq!(urgent(&mut copies).len(), 1);
}

/// A chunk is lost, and a copy of it waits for what another one has, when a newer version is found
/// to be lost too: the buffer has that.
#[test]
fn a_copy_that_waits_is_urgent_when_the_buffer_has_a_newer_version() {
    for resumed in [false, true] {
        let mut copies = volume(true);
        copies.move_to(FIRST, NOWHERE, false);
        match resumed {
            true => copies.copies.resume(DriveId(0), FIRST),
            false => copies.delay(FIRST, Source::Buffer, &mut Plan::default()),
        }
        second_is_written(&mut copies);
        lose(&mut copies, 1);
        assert_eq!(urgent(&mut copies).len(), usize::from(!resumed));
        if resumed {
            map_write_ends(&mut copies, 0, Status::Done, &mut Plan::default());
            assert_eq!(urgent(&mut copies).len(), 1, "the buffer has it");
        }
    }
}

/// A write that never started was one of those that a drive has to do at a time.
#[test]
fn an_urgent_copy_is_written_in_place_of_one_that_never_started() {
    let mut copies = buffered(false);
    let other = CopyOf { chunk: 1, copy: 0 };
    copies.move_to(other, NOWHERE, false);
    let drive = copies.drive(other);
    assert_eq!(drive, copies.drive(FIRST));
    let mut out = Plan::default();
    copies.propagate(other, Source::AnotherCopy, &mut out);
    let never = *out
        .ios()
        .find(|io| io.op == Op::Write)
        .expect("it waits for a read");
    for _ in 1..crate::place::delayed::URGENT {
        copies.copies.queues().write_begins(drive);
    }
    lose(&mut copies, 1);
    assert_eq!(urgent(&mut copies).len(), 0, "the drive has enough to do");
    let mut out = Plan::default();
    copies.skipped(Instant::ZERO, never.tag, drive, &Busy, &mut out);
    assert_eq!(out.ios().count(), 1);
}
