//! Two drives with a log at home on them: which has come further, what makes them alike again, and
//! what a lost life has left.

use std::collections::VecDeque;

use super::drive_tests::*;
use super::format::Header;
use super::world::{BLOCK, of_pieces};
use super::*;
use crate::rng::Rng;
use crate::units::Blocks;

/// Records were written to both drives until one of them was given up.
#[test]
fn the_log_that_came_further_is_known() {
    let mut world = DriveWorld::of_blocks("two");
    world.run(300);
    for records in [1, 2, 40, 200] {
        let old = world.world.region.clone();
        world.run(records);
        let geometry = world.world.geometry;
        let older = read(&geometry, &old).unwrap();
        let newer = read(&geometry, &world.world.region).unwrap();
        assert!(newer.reached() > older.reached(), "{records} records");
        let has = has(&newer, &older, &old);
        let lacks_youngest = records == 1 && newer.youngest_is_new(&older);
        assert_eq!(has == Has::AllButYoungest, lacks_youngest, "{has:?}");
        assert_ne!(has, Has::All);
        // Damaged, it still tells that the other one is old, but where that one lacks what was
        // never answered.
        let (block, _) = world.world.records()[world.world.records().len() - 2];
        let mut region = world.world.region.clone();
        region[block * BLOCK + 9] ^= 1;
        let damaged = begin(&geometry, &region).unwrap();
        let looked_at = survey(&geometry, &region);
        assert_eq!(older.covers(1, Some(&damaged), &looked_at), lacks_youngest);
        assert!(!older.covers(1, None, &looked_at), "it may be alone");
        assert!(newer.covers(1, Some(&older), &survey(&geometry, &old)));
        assert!(newer.covers(1, None, &survey(&geometry, &old)));
    }
}

/// One drive has a record that the power tore on the other, and is away for a life in which another
/// record gets its number.
#[test]
fn a_record_of_a_life_that_was_lost_is_not_gone_on_with() {
    let mut world = DriveWorld::of_blocks("lost life");
    world.run(300);
    let geometry = world.world.geometry;
    let before = world.world.region.clone();
    world.record_any();
    let write = world.world.begin_write().unwrap();
    assert!(!world.is_control(&write), "a record is under way");
    world.world.land(&write);
    let away = std::mem::replace(&mut world.world.region, before);
    // The other life: a control block, and a record.
    world.crash();
    for _ in 0..2 {
        world.record_any();
        let write = world.world.begin_write().unwrap();
        world.world.land(&write);
        world.written();
    }
    let region = away;
    let (away, here) = (
        read(&geometry, &region).unwrap(),
        read(&geometry, &world.world.region).unwrap(),
    );
    assert_eq!(away.next, here.next, "of the same number");
    assert!(here.reached() > away.reached());
    // Its own record of that number is not taken for it.
    assert_eq!(has(&here, &away, &region), Has::AllButYoungest);
    world.run(1);
    let here = read(&geometry, &world.world.region).unwrap();
    assert_eq!(has(&here, &away, &region), Has::Less);
}

/// After a power cut the youngest record is on one of two drives. It is written again as it was,
/// and nothing else before it.
#[test]
fn the_youngest_record_is_written_again_as_it_was() {
    for seed in 0..30 {
        let mut world = DriveWorld::small(seed + 50);
        world.run(60);
        (0..3).for_each(|_| world.record_any());
        let before = world.world.region.clone();
        let Some(write) = world.world.begin_write() else {
            continue;
        };
        if world.is_control(&write) {
            continue;
        }
        world.world.land(&write);
        let geometry = world.world.geometry;
        let one = read(&geometry, &world.world.region).unwrap();
        let other = read(&geometry, &before).unwrap();
        assert_eq!(one.has(&other), Has::AllButYoungest, "seed {seed}");
        let mut recovered = one.finish_and_repeat().unwrap();
        assert!(world.is_right(&recovered.map));
        let again = recovered.log.under_way().unwrap();
        assert_eq!(again.offset.bytes() as usize, write.0);
        assert_eq!(again.bytes, write.1);
        assert_eq!(recovered.log.next_write(&recovered.map), None);
        recovered.log.written();
        assert_eq!(recovered.log.at_risk(), 0);
        let next = recovered.log.next_write(&recovered.map).unwrap();
        assert!(next.is_control, "a life begins with a control block");
    }
}

/// A drive comes back from a life that was lost, and gets all records from there on. Those of the
/// lost life have higher numbers.
#[test]
fn records_of_a_lost_life_are_passed_over() {
    let (geometry, settings) = of_pieces();
    let settings = Settings {
        region: Blocks(1_500),
        ..settings
    };
    let mut world = DriveWorld::new(geometry, settings, Rng::stream(1, "lost life"));
    world.run(100);
    let before = world.world.region.clone();
    world.run(300);
    let mut away = std::mem::replace(&mut world.world.region, before);
    let mut recovery = read(&geometry, &world.world.region).unwrap();
    let lost = read(&geometry, &away).unwrap().reached();
    recovery.outdo(lost.control);
    (world.world.map, world.waiting) = (Map::empty(&geometry), VecDeque::new());
    world.go_on(recovery.finish().unwrap());
    world.world.log.checkpoint();
    let mut sound = 0;
    for _ in 0..60 {
        world.record_any();
        while let Some((begin, bytes)) = world.world.begin_write() {
            world.world.land(&(begin, bytes.clone()));
            away[begin..][..bytes.len()].copy_from_slice(&bytes);
            world.written();
        }
        if world.world.log.is_checkpointed() {
            let (_, recovered) = recover(&geometry, &away).unwrap();
            assert!(world.is_right(&recovered.map));
            sound += 1;
        }
    }
    assert!(world.world.log.next_number() < lost.next, "none is left");
    assert!(sound > 20, "{sound} looks");
}

#[test]
fn a_mark_takes_all_control_blocks_that_are_not_younger() {
    let mut world = DriveWorld::of_blocks("mark");
    world.run(100);
    let geometry = world.world.geometry;
    let (at, mark) = world.world.log.mark();
    world.world.land(&(at.bytes() as usize, mark));
    let damage = begin(&geometry, &world.world.region).unwrap_err();
    assert!(damage.is_mark(), "{damage}");
    let (_, number) = world.controls();
    let says = format!("was set aside behind control block {number}, and is not whole again");
    assert!(damage.to_string().ends_with(&says), "{damage}");
    while world.controls().1 == number {
        world.run(1);
    }
    let found = begin(&geometry, &world.world.region).unwrap();
    assert_eq!(found.control, number + 1);
    world.cut("whole again");
}

/// A drive that lacks what was answered is told by the control block of the one that went on alone,
/// even if that one is damaged.
#[test]
fn who_is_alone_says_so_before_anything_is_answered() {
    let mut world = DriveWorld::of_blocks("alone");
    world.run(300);
    while world.world.log.next_number() < world.records_known() + 4 {
        world.run(1);
    }
    let geometry = world.world.geometry;
    let set_aside = world.world.region.clone();
    let older = read(&geometry, &set_aside).unwrap();
    world.record_any();
    let write = world.world.begin_write().unwrap();
    assert!(!world.is_control(&write));
    world.world.land(&write);
    let covers = |region: &[u8]| {
        let mut region = region.to_vec();
        // A record in the middle is damaged.
        let known = begin(&geometry, &region).unwrap().told.sequence;
        let records = world_records(&region, geometry.volume);
        let (block, _) = records.iter().rfind(|(_, of)| of.sequence < known).unwrap();
        region[block * BLOCK + 9] ^= 1;
        let way = begin(&geometry, &region).unwrap();
        older.covers(1, Some(&way), &survey(&geometry, &region))
    };
    assert!(covers(&world.world.region), "it is not answered");
    world.world.log.tell_lacking([false, true]);
    world.world.log.written();
    assert!(!world.world.log.has_told());
    let control = world.world.begin_write().unwrap();
    assert!(world.is_control(&control), "before the next record");
    world.world.land(&control);
    world.world.log.written();
    assert!(world.world.log.has_told());
    assert!(!covers(&world.world.region), "it may be answered");
}

/// A control block says that a drive is alone, and a record follows it. Whatever of that drive
/// cannot be read, the other one's log, which lacks something that was answered, is not taken.
#[test]
fn what_was_answered_to_a_drive_that_is_alone_is_not_lost_for_the_other() {
    let mut world = DriveWorld::of_blocks("alone");
    world.run(300);
    while world.world.log.next_number() < world.records_known() + 4 {
        world.run(1);
    }
    let geometry = world.world.geometry;
    // A record in the middle is damaged, and these places.
    let known = world.records_known();
    let records = world.world.records();
    let (middle, _) = records.iter().rfind(|(_, of)| of.sequence < known).unwrap();
    let covers_as = |index: usize, log: &[u8], other: &[u8], damaged: &[usize]| {
        let mut other = other.to_vec();
        for at in damaged.iter().chain([&(middle * BLOCK)]) {
            other[at + 25] ^= 1;
        }
        let way = begin(&geometry, &other).unwrap();
        let log = read(&geometry, log).unwrap();
        log.covers(index, Some(&way), &survey(&geometry, &other))
    };
    let covers = |log: &[u8], other: &[u8], damaged: &[usize]| covers_as(1, log, other, damaged);
    let next = |world: &mut DriveWorld| {
        let write = world.world.begin_write().unwrap();
        world.world.land(&write);
        write
    };
    let lacks_last = world.world.region.clone();
    world.record_any();
    let last = next(&mut world);
    assert!(!world.is_control(&last));
    let has_last = world.world.region.clone();
    world.world.log.tell_lacking([false, true]);
    world.written();
    let control = next(&mut world);
    assert!(world.is_control(&control));
    world.written();
    let alone = world.world.region.clone();
    // The control block could be one that says it.
    assert!(covers(&lacks_last, &has_last, &[]));
    assert!(!covers(&lacks_last, &alone, &[control.0]));
    world.record_any();
    let more = next(&mut world);
    assert!(!world.is_control(&more));
    let answered = &world.world.region;
    // Nothing is seen of the last record, but something may have been.
    assert!(!covers(&has_last, answered, &[more.0]));
    // It has that control block by now, and not yet that record.
    assert!(!covers(&alone, answered, &[]));
    // If it is the one that is alone, the record was not answered: the other one got it on its way
    // back.
    assert!(covers_as(0, &alone, answered, &[]));
    assert!(covers(answered, answered, &[]));
}

/// The drive that is alone was given up, and the other one, on its way, went on getting records.
/// Nothing of them was answered while it was not whole; its own control block says that it was not.
#[test]
fn what_a_drive_got_on_its_way_after_the_other_one_was_given_up_was_not_answered() {
    let mut world = DriveWorld::of_blocks("given up");
    world.run(300);
    let whole = world.world.region.clone();
    let (_, before) = world.controls();
    world.world.log.tell_lacking([false, true]);
    while world.controls().1 == before {
        world.run(1);
    }
    let alone = world.world.region.clone();
    let (_, told) = world.controls();
    while world.controls().1 < told + 3 {
        world.run(1);
    }
    let geometry = world.world.geometry;
    // It has the records, but of control blocks what it had before, and a mark that was spoiled.
    let mut on_its_way = world.world.region.clone();
    let places = places(&on_its_way);
    let block =
        |number: u64| places[(number % 2) as usize]..places[(number % 2) as usize] + HEAD * BLOCK;
    on_its_way[block(before)].copy_from_slice(&whole[block(before)]);
    on_its_way[block(before + 1)].fill(0);
    let covers = |index: usize, log: &[u8], other: &[u8]| {
        let log = read(&geometry, log).unwrap();
        let way = begin(&geometry, other).unwrap();
        log.covers(index, Some(&way), &survey(&geometry, other))
    };
    assert!(covers(0, &alone, &on_its_way), "it has what was answered");
    // A younger control block may have been on it.
    let mut with_one = alone.clone();
    with_one[block(told + 1)].fill(0);
    assert!(!covers(0, &with_one, &on_its_way));
    let at_most = |region: &[u8]| read(&geometry, region).unwrap().control_at_most();
    assert_eq!((at_most(&alone), at_most(&with_one)), (told, told + 1));
    assert!(!covers(1, &alone, &on_its_way), "the other one is alone");
    assert!(!covers(0, &whole, &on_its_way), "nothing says who is alone");
    let younger = &world.world.region;
    assert!(!covers(0, &alone, younger), "it is whole");
}

/// A life that begins with one drive alone says so twice before its first record: with one control
/// block lost it is still younger than all that was before it.
#[test]
fn a_life_that_begins_alone_says_so_in_both_places() {
    for alone in [false, true] {
        let mut world = DriveWorld::of_blocks("begins alone");
        world.run(100);
        let (_, before) = world.controls();
        world.crash();
        world.world.log.tell_lacking([false, alone]);
        world.record_any();
        let mut numbers = Vec::new();
        while !world.world.log.has_told() || numbers.is_empty() {
            let write = world.world.begin_write().unwrap();
            assert!(world.is_control(&write), "before any record");
            world.world.land(&write);
            world.written();
            numbers.push(world.controls().1);
        }
        let written = if alone { 2 } else { 1 };
        assert_eq!(numbers.len(), written, "{alone}");
        assert!(numbers[0] > before);
        let write = world.world.begin_write().unwrap();
        assert!(!world.is_control(&write), "{alone}");
    }
}

/// The other drive has the next control block, of a life that was lost: the one after that would
/// lie over the youngest of this drive.
#[test]
fn a_control_block_never_lies_over_the_youngest() {
    for more in 0..4 {
        let mut world = DriveWorld::of_blocks("over");
        world.run(100);
        let mut recovery = read(&world.world.geometry, &world.world.region).unwrap();
        let (_, number) = world.controls();
        recovery.outdo(number + more);
        world.go_on(recovery.finish().unwrap());
        world.record_any();
        let control = world.world.begin_write().unwrap();
        assert!(world.is_control(&control));
        // Whatever sectors of it arrive, none can be read before all have.
        let (at, mut torn) = control.clone();
        torn[100] ^= 1;
        world.world.land(&(at, torn));
        world.cut("a torn control block");
        world.world.land(&control);
        world.written();
        assert!(world.controls().1 > number + more);
    }
}

/// What a drive has of a log, as a volume that comes back asks for it.
fn has(log: &Recovery, own: &Recovery, region: &[u8]) -> Has {
    if log.has_control(own) {
        return log.has(own);
    }
    let way = walk(log.of_another_drive(), region);
    way.map_or(Has::Less, |way| log.has(&way))
}

fn world_records(region: &[u8], volume: u64) -> Vec<(usize, Header)> {
    let blocks = region.chunks(BLOCK).enumerate();
    let header = |(block, bytes)| Some((block, Header::read(bytes, volume).ok()?));
    let mut found: Vec<(usize, Header)> = blocks.filter_map(header).collect();
    found.sort_by_key(|(_, header)| header.sequence);
    found
}

/// A look at all of a region.
fn survey(geometry: &Geometry, region: &[u8]) -> Survey {
    let mut survey = Survey::new(geometry);
    survey.look(region);
    survey
}

impl Recovery {
    /// Whether the two have the same control block, so that one record is all the difference.
    fn youngest_is_new(&self, older: &Recovery) -> bool {
        self.control == older.control
    }
}
