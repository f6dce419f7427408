//! A map of two copies whose log is on two drives, at home there or in NVRAM, with changes,
//! time-outs and losses of drives in any order. The power goes at every step.
//!
//! What is found has every change that was made, both copies of a chunk have the same version, and
//! no slot has two chunks.

use std::collections::BTreeMap;

use super::*;
use crate::contract::Oracle;
use crate::op::Status;
use crate::place::delayed::CopyOf;
use crate::place::eager::map::tests::{PAIR, found};
use crate::rng::Rng;
use crate::units::Pba;

const BLOCK: usize = BLOCK_BYTES as usize;
const CHUNKS: usize = PAIR.chunks as usize;
const SEEDS: u64 = 200;

/// No drive is asked for anything.
struct Unasked;

impl Drives for Unasked {
    fn idle(&self, _drive: DriveId) -> bool {
        unreachable!("it has its place")
    }

    fn waiting(&self, _drive: DriveId) -> usize {
        unreachable!("it has its place")
    }

    fn oracle(&self, _drive: DriveId) -> &dyn Oracle {
        unreachable!("it has its place")
    }
}

/// What is left on the drives.
#[derive(Clone)]
struct Left {
    nvram: Vec<u8>,
    images: [Vec<u8>; 2],
    /// A drive of which nothing can be read.
    gone: Option<usize>,
}

impl Survivors for Left {
    fn nvram(&self) -> &[u8] {
        &self.nvram
    }

    fn nvram_of_buffer(&self) -> Option<&[u8]> {
        unreachable!("a store asks for no buffer")
    }

    fn read(&self, drive: DriveId, at: Pba, out: &mut [u8]) {
        let from = at.0 as usize * BLOCK;
        match self.gone == Some(drive.index()) {
            true => out.fill(0),
            false => out.copy_from_slice(&self.images[drive.index()][from..][..out.len()]),
        }
    }
}

impl Left {
    /// A block of a drive cannot be read: not one of the youngest record, for which nothing
    /// vouches.
    fn damage(&mut self, rng: &mut Rng) {
        let drive = rng.below(2) as usize;
        let blocks = self.images[drive].chunks(BLOCK).enumerate();
        let sequence = |bytes: &[u8]| u64::from_le_bytes(bytes[24..32].try_into().unwrap());
        let records = blocks.filter(|(_, bytes)| bytes.starts_with(b"NearSLog"));
        let youngest = records.max_by_key(|(_, bytes)| sequence(bytes));
        let youngest = youngest.map(|(block, _)| block);
        let block = rng.below((self.images[drive].len() / BLOCK) as u64) as usize;
        if Some(block) != youngest {
            self.images[drive][block * BLOCK..][..BLOCK].fill(0);
        }
    }
}

struct Write {
    drive: usize,
    at: usize,
    bytes: Vec<u8>,
}

struct World {
    rng: Rng,
    region: Region,
    store: LogStore,
    map: Map,
    left: Left,
    running: Vec<Write>,
    /// A drive that does not answer.
    mute: Option<usize>,
    /// Of each drive, how many of its last writes failed, one after the other.
    failed: [u8; 2],
    waiting: VecDeque<(Tag, Entry)>,
    tags: u64,
    /// By drive and slot: the chunk and its version.
    data: BTreeMap<(usize, u32), (u32, u64)>,
    version: u64,
    /// By chunk, the version of the last change that was made.
    made: [u64; CHUNKS],
    is_lost: bool,
}

impl World {
    fn new(home: Home, seed: u64) -> World {
        let settings = settings(home);
        let len = settings.region;
        let first = Pba(0);
        let region = Region { first, len };
        let image = vec![0; len.bytes() as usize];
        let mut world = World {
            rng: Rng::stream(seed, "log on two drives"),
            region,
            store: LogStore::new(&PAIR, &settings, region).unwrap(),
            map: found([5, 1, 6, 9, 7, 8, 4, 3]).unwrap(),
            left: Left {
                nvram: Vec::new(),
                images: [image.clone(), image],
                gone: None,
            },
            running: Vec::new(),
            mute: None,
            failed: [0; 2],
            waiting: VecDeque::new(),
            tags: 0,
            data: BTreeMap::new(),
            version: 0,
            made: [0; CHUNKS],
            is_lost: false,
        };
        for (copy, chunk) in places() {
            let slot = *world.slot(copy, chunk);
            world.data.insert((drive(copy, chunk), slot.0), (chunk, 0));
        }
        world.begin();
        while !world.running.is_empty() {
            world.end();
        }
        world
    }

    fn slot(&mut self, copy: u8, chunk: u32) -> &mut Slot {
        &mut self.map.slots[usize::from(copy) * CHUNKS + chunk as usize]
    }

    /// What a chunk's newest copies left, and what no change that waits needs.
    fn free_slot(&mut self, on: usize) -> Option<u32> {
        let mut used: Vec<u32> = Vec::new();
        for (copy, chunk) in places().filter(|(copy, chunk)| drive(*copy, *chunk) == on) {
            used.push(self.slot(copy, chunk).0);
        }
        let waiting = self.waiting.iter();
        used.extend(waiting.map(|(_, entry)| entry.slot));
        let free: Vec<u32> = (0..PAIR.slots)
            .filter(|slot| !used.contains(slot))
            .collect();
        let index = self.rng.below(free.len().max(1) as u64) as usize;
        free.get(index).copied()
    }

    /// A chunk was written: the copy that came first says that the other one is stale.
    fn change(&mut self) {
        let chunk = self.rng.below(PAIR.chunks.into()) as u32;
        let first = self.rng.below(2) as u8;
        let slots = [first, 1 - first].map(|copy| self.free_slot(drive(copy, chunk)));
        let [Some(one), Some(other)] = slots else {
            return;
        };
        self.version += 1;
        for (copy, slot, alone) in [(first, one, true), (1 - first, other, false)] {
            let here = (drive(copy, chunk), slot);
            self.data.insert(here, (chunk, self.version));
            let entry = Entry {
                copy,
                chunk,
                slot,
                alone,
            };
            let tag = Tag(self.tags);
            self.tags += 1;
            match self.store.change(tag, entry) {
                When::Now => self.make(&entry),
                When::Later => self.waiting.push_back((tag, entry)),
            }
        }
        self.begin();
    }

    fn begin(&mut self) {
        let mut writes = Vec::new();
        let (map, now) = (&self.map, Instant::ZERO);
        self.store.next_writes(now, &Unasked, map, &mut writes);
        for MapWrite { drive, target, .. } in writes {
            let Target::At(at) = target else {
                panic!("it has its place")
            };
            self.running.push(Write {
                drive: drive.index(),
                at: at.0 as usize * BLOCK,
                bytes: self.store.content(drive).to_vec(),
            });
        }
    }

    /// One of the writes under way ends.
    fn end(&mut self) {
        let which = self.rng.below(self.running.len() as u64) as usize;
        let write = self.running.swap_remove(which);
        let (on, drive) = (write.drive, DriveId(write.drive as u16));
        let failure = match self.left.gone == Some(on) {
            true => Some(Failure::Gone),
            false => Some(Failure::TimedOut).filter(|_| self.mute == Some(on)),
        };
        let all = write.bytes.len() / BLOCK;
        let blocks = match failure {
            None => all,
            Some(_) => self.rng.below(all as u64 + 1) as usize,
        };
        if self.left.gone != Some(on) {
            land(&mut self.left, &write, blocks);
            // The block that failed cannot be read.
            if blocks < all && self.rng.chance(0.5) {
                let failed = write.at + blocks * BLOCK;
                self.left.images[on][failed..][..BLOCK].fill(0);
            }
        }
        self.failed[on] = match failure {
            None => 0,
            Some(_) => self.failed[on].saturating_add(1),
        };
        let retry = failure.map(|failure| self.store.failed(drive, failure));
        match retry {
            None => _ = self.store.written(drive, NOWHERE),
            Some(Retry::Again) => return self.running.push(write),
            Some(Retry::Next) => {}
            Some(Retry::Lost) => {
                let in_a_row = self.failed[on];
                assert!(
                    failure == Some(Failure::Gone) || in_a_row >= TRIES,
                    "given up after {in_a_row} failures in a row"
                );
                return self.is_lost = true;
            }
        }
        while let Some(tag) = self.store.settled(&self.map) {
            let (expected, entry) = self.waiting.pop_front().expect("it waits");
            assert_eq!(tag, expected, "in order");
            self.make(&entry);
        }
        self.store.audit(&mut |_, _| {});
        self.begin();
    }

    fn make(&mut self, entry: &Entry) {
        if entry.alone {
            *self.slot(1 - entry.copy, entry.chunk) = NOWHERE;
        }
        *self.slot(entry.copy, entry.chunk) = Slot(entry.slot);
        let here = (drive(entry.copy, entry.chunk), entry.slot);
        self.made[entry.chunk as usize] = self.data[&here].1;
    }

    /// What is left if the power goes now: of each write under way the first blocks.
    fn cut(&mut self) -> Left {
        let mut left = self.left.clone();
        left.nvram = self.store.nvram().to_vec();
        let gone = left.gone;
        for write in self.running.iter().filter(|of| gone != Some(of.drive)) {
            let blocks = self.rng.below((write.bytes.len() / BLOCK) as u64 + 1);
            land(&mut left, write, blocks as usize);
        }
        left
    }

    /// What is found there, if something is.
    fn recover(&self, left: &Left) -> Result<(Vec<Slot>, LogStore), VolumeError> {
        let found = LogStore::recover(&PAIR, self.store.log.settings().home, self.region, left)?;
        for chunk in 0..PAIR.chunks {
            let versions = (0..2).filter_map(|copy| {
                let slot = found.0[usize::from(copy) * CHUNKS + chunk as usize];
                let of = self.data.get(&(drive(copy, chunk), slot.0));
                of.filter(|_| slot != NOWHERE)
            });
            let versions: Vec<(u32, u64)> = versions.copied().collect();
            let made = self.made[chunk as usize];
            let (of, version) = *versions.first().expect("a chunk lies somewhere");
            assert_eq!(of, chunk, "{made} was made, not {version}");
            assert!(version >= made, "{made} was made, not {version}");
            assert!(versions.iter().all(|of| *of == versions[0]), "{versions:?}");
        }
        Ok(found)
    }

    /// The power goes in copies of the world. Whether all of the log is on a drive that is there.
    fn look(&mut self) -> bool {
        let left = self.cut();
        let gone = left.gone.map(|drive| DriveId(drive as u16));
        let is_whole = self.store.is_whole_beside(gone);
        let mut others = self.store.drives.iter().filter(|of| Some(of.drive) != gone);
        let part = others.next().map(|of| of.part);
        // What never took its mark, or lacks the youngest record, is taken as it is.
        if gone.is_some() && matches!(part, Some(Part::Whole | Part::Since(_))) {
            let found = self.recover(&left);
            assert!(found.is_ok() || !is_whole, "{:?}", found.err());
        }
        let gone = None;
        let all = Left { gone, ..left };
        self.recover(&all).expect("all that was made is there");
        // What was found, though it was not made, is on one drive alone until it is written again.
        let lacks = |of: &LogDrive| matches!(of.part, Part::Lacks { .. });
        if !self.store.drives.iter().any(lacks) {
            let mut damaged = all;
            damaged.damage(&mut self.rng);
            _ = self.recover(&damaged);
        }
        is_whole
    }

    /// The map is lost, and no drive is: what was answered can still be read.
    fn look_at_what_was_given_up(&mut self) {
        let left = self.cut();
        if left.gone.is_none() {
            self.recover(&left).expect("all that was made is there");
        }
    }

    /// The run goes on from what is found.
    fn go_on(&mut self) {
        let left = self.cut();
        let gone = None;
        let left = Left { gone, ..left };
        let (slots, store) = self.recover(&left).expect("all that was answered is there");
        (self.map.slots, self.store, self.left) = (slots, store, left);
        self.waiting.clear();
        self.running.clear();
        self.mute = None;
        self.failed = [0; 2];
        for (copy, chunk) in places() {
            let slot = *self.slot(copy, chunk);
            if slot != NOWHERE {
                self.made[chunk as usize] = self.data[&(drive(copy, chunk), slot.0)].1;
            }
        }
        self.begin();
    }
}

fn places() -> impl Iterator<Item = (u8, u32)> {
    (0..2).flat_map(|copy| (0..PAIR.chunks).map(move |chunk| (copy, chunk)))
}

fn settings(home: Home) -> Settings {
    let mut settings = Settings {
        home,
        nvram_entries: 6,
        portions: 4,
        interval: Blocks(2),
        write_max: Blocks(1),
        region: Blocks(0),
    };
    settings.region = settings.region_min(&PAIR).unwrap();
    settings
}

fn drive(copy: u8, chunk: u32) -> usize {
    PAIR.drive(copy, chunk).index()
}

fn land(left: &mut Left, write: &Write, blocks: usize) {
    let bytes = &write.bytes[..blocks * BLOCK];
    left.images[write.drive][write.at..][..bytes.len()].copy_from_slice(bytes);
}

/// What happened.
#[derive(Debug, Default)]
struct Tally {
    lives: u64,
    /// Steps at which no drive was whole.
    not_whole: u64,
    /// How often one was whole again while the other one was gone, and while it was there.
    whole_again: u64,
    both_again: u64,
    /// How often the map was lost while both drives were there.
    lost: u64,
}

fn suffer(home: Home) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        let mut world = World::new(home, seed);
        let mut were_both = true;
        let mut was_whole = true;
        for _ in 0..400 {
            let drive = world.rng.below(2) as usize;
            match world.rng.below(300) {
                0..3 => world.mute = Some(drive),
                3..10 => world.mute = None,
                10..13 => _ = world.left.gone.get_or_insert(drive),
                13..16 => {
                    world.go_on();
                    tally.lives += 1;
                    (was_whole, were_both) = (true, true);
                }
                16..80 => world.change(),
                _ if world.running.is_empty() => world.change(),
                _ => world.end(),
            }
            if world.is_lost {
                tally.lost += u64::from(world.left.gone.is_none());
                world.look_at_what_was_given_up();
                break;
            }
            let is_whole = world.look();
            tally.not_whole += u64::from(!is_whole);
            tally.whole_again += u64::from(is_whole && !was_whole && world.left.gone.is_some());
            was_whole = is_whole;
            let whole = |of: &&LogDrive| of.part == Part::Whole;
            let are_both = world.store.drives.iter().filter(whole).count() == 2;
            tally.both_again += u64::from(are_both && !were_both);
            were_both = are_both;
        }
    }
    tally
}

#[test]
fn the_power_may_go_whatever_drives_do() {
    let tally = suffer(Home::Drive);
    assert!(tally.lives > SEEDS, "{tally:?}");
    assert!(tally.not_whole > SEEDS, "{tally:?}");
    assert!(tally.whole_again > SEEDS / 8, "{tally:?}");
    assert!(tally.lost > SEEDS / 20, "{tally:?}");
}

/// What was given up in one life is written again in the next one, and what the power cut left on
/// one drive alone counts on none.
#[test]
fn the_power_may_go_whatever_drives_do_beside_nvram() {
    let tally = suffer(Home::Nvram);
    assert!(tally.lives > SEEDS, "{tally:?}");
    assert!(tally.both_again > SEEDS / 8, "{tally:?}");
}

/// No drive has all of the log, and the last one is on its way: its failures count only one after
/// the other.
#[test]
fn the_last_drive_is_given_up_when_so_many_writes_in_a_row_fail() {
    let mut world = World::new(Home::Drive, 0);
    let drive = DriveId(0);
    world.store.drives.truncate(1);
    world.store.was_marked(drive);
    for _ in 0..3 {
        world.begin();
        assert_eq!(world.running.len(), 1, "a piece of the map is written");
        world.running.clear();
        for _ in 0..TRIES / 2 {
            let retry = world.store.failed(drive, Failure::TimedOut);
            assert!(matches!(retry, Retry::Again));
        }
        world.store.written(drive, NOWHERE);
        assert!(matches!(world.store.drives[0].part, Part::Since(_)));
    }
    world.begin();
    for _ in 1..TRIES {
        _ = world.store.failed(drive, Failure::TimedOut);
    }
    let retry = world.store.failed(drive, Failure::TimedOut);
    assert!(matches!(retry, Retry::Lost));
}

/// A drive that does not answer holds up no change beside another one: that goes on alone. One that
/// could not write is asked again, and so is the last.
#[test]
fn a_drive_that_does_not_answer_is_set_aside_at_once_beside_another_one() {
    for (failure, alone, set_aside) in [
        (Failure::TimedOut, false, true),
        (Failure::Medium, false, false),
        (Failure::TimedOut, true, false),
    ] {
        let mut world = World::new(Home::Drive, 0);
        while world.running.is_empty() {
            world.change();
        }
        let drive = DriveId(world.running[0].drive as u16);
        if alone {
            world.store.drives.retain(|known| known.drive == drive);
        }
        let retry = world.store.failed(drive, failure);
        let is_next = matches!(retry, Retry::Next);
        assert_eq!(is_next, set_aside, "{failure:?} {alone}");
        assert!(is_next || matches!(retry, Retry::Again));
        let is_stale = world.store.known(drive).part == Part::Stale;
        assert_eq!(is_stale, set_aside, "{failure:?} {alone}");
    }
}

/// A map is left as long as a drive is that has all of the log. One that was set aside does not
/// have it.
#[test]
fn a_map_is_lost_with_the_last_drive_that_has_all_of_the_log() {
    let mut world = World::new(Home::Drive, 0);
    let mut gone = Gone::none(2);
    assert!(world.store.spares(&gone));
    gone.learn(DriveId(0), Status::Failed(Failure::Gone));
    assert!(world.store.spares(&gone), "the other drive has it");
    world.store.known(DriveId(1)).part = Part::Stale;
    assert!(!world.store.spares(&gone), "what it has is older");
}

impl World {
    /// The control block that is on its way to a drive, and its number.
    fn control_under_way(&self, on: usize) -> Option<(&Write, u64)> {
        let end = self.region.len.bytes() as usize;
        let mut running = self.running.iter().filter(|write| write.drive == on);
        let control = running.find(|write| write.at == 0 || write.at + write.bytes.len() == end)?;
        let number = u64::from_le_bytes(control.bytes[24..32].try_into().unwrap());
        Some((control, number))
    }

    fn step(&mut self) {
        match self.running.is_empty() {
            true => self.change(),
            false => self.end(),
        }
    }
}

/// A control block is on one drive alone when the power goes, and nothing else can be read there.
/// So the other log is taken, which is older, and the next control block is younger than both.
#[test]
fn the_next_control_block_is_younger_than_all_that_are_found() {
    let mut tried = 0;
    for seed in 0..20 {
        let mut world = World::new(Home::Drive, seed);
        for _ in 0..100 + seed {
            world.step();
        }
        while [0, 1]
            .iter()
            .any(|on| world.control_under_way(*on).is_none())
        {
            world.step();
        }
        let (control, seen) = world.control_under_way(1).expect("one is");
        let mut left = world.left.clone();
        land(&mut left, control, control.bytes.len() / BLOCK);
        let blocks = left.images[1].chunks_mut(BLOCK);
        let records = blocks.filter(|block| block.starts_with(b"NearSLog"));
        records.for_each(|record| record.fill(0));
        let (slots, store) = world.recover(&left).expect("drive 0 has all");
        (world.map.slots, world.store, world.left) = (slots, store, left);
        world.waiting.clear();
        world.running.clear();
        let mut younger = 0;
        for _ in 0..60 {
            world.step();
            for on in [0, 1] {
                let number = world.control_under_way(on).map_or(0, |(_, number)| number);
                assert_ne!(number, seen, "seed {seed}: two have one number");
                younger += usize::from(number > seen);
            }
        }
        tried += usize::from(younger > 0);
    }
    assert_eq!(tried, 20);
}

/// A chunk was discarded while NVRAM was full, and discarded again. When there is room that takes
/// none of it.
#[test]
fn what_was_discarded_while_a_discard_waited_is_not_recorded_again() {
    for holds in [true, false] {
        let settings = settings(Home::Nvram);
        let (first, len) = (Pba(0), settings.region);
        let mut store = LogStore::new(&PAIR, &settings, Region { first, len }).unwrap();
        let mut map = found([5, 1, 6, 9, 7, 8, 4, 3]).unwrap();
        let moved = CopyOf { chunk: 0, copy: 0 }.entry(Slot(5), false);
        let discarded = CopyOf { chunk: 3, copy: 0 }.entry(NOWHERE, true);
        while store.change(Tag(0), moved) == When::Now {}
        assert_eq!(store.change(Tag(1), discarded), When::Later);
        if !holds {
            (map.slots[3], map.slots[CHUNKS + 3]) = (NOWHERE, NOWHERE);
        }
        let mut settled = Vec::new();
        while settled.len() < 2 {
            let mut writes = Vec::new();
            store.next_writes(Instant::ZERO, &Unasked, &map, &mut writes);
            for MapWrite { drive, .. } in writes {
                store.written(drive, NOWHERE);
            }
            let before = store.log.room();
            if let Some(tag) = store.settled(&map) {
                settled.push((tag, before - store.log.room()));
            }
        }
        let taken = u32::from(holds);
        assert_eq!(settled, [(Tag(0), 1), (Tag(1), taken)]);
    }
}
