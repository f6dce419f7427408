//! A log that is at home on its drive: power cuts at every step, damage and what looks like it.

use std::collections::VecDeque;

use super::format::{HEADER_BYTES, Header, Kind};
use super::world::*;
use super::*;
use crate::rng::Rng;
use crate::units::Blocks;

pub(super) const HEAD: usize = CONTROL_LEN.0 as usize;

/// A volume whose log has no NVRAM: what was recorded is in the map, and in the model, when its
/// batch is written.
pub(super) struct DriveWorld {
    pub(super) world: World,
    /// Recorded, and not safe.
    pub(super) waiting: VecDeque<Entry>,
}

/// How far a log has come, and its map.
type Log = (Reached, Recovered);

/// Where control blocks lie in a region.
pub(super) fn places(region: &[u8]) -> [usize; 2] {
    let blocks = Blocks((region.len() / BLOCK) as u64);
    control_places(blocks).map(|at| at.bytes() as usize)
}

pub(super) fn begin(geometry: &Geometry, region: &[u8]) -> Result<Recovery, Damage> {
    let controls = places(region).map(|at| &region[at..][..HEAD * BLOCK]);
    let blocks = Blocks((region.len() / BLOCK) as u64);
    Recovery::on_drive(geometry, blocks, controls)
}

/// Goes on to the end.
pub(super) fn walk(mut recovery: Recovery, region: &[u8]) -> Result<Recovery, Damage> {
    let mut reads = 0;
    let [head, tail] = places(region);
    while let Some((offset, blocks)) = recovery.next_read() {
        let from = offset.bytes() as usize;
        let bytes = &region[from..][..blocks.bytes() as usize];
        let between = from >= head + HEAD * BLOCK && from + bytes.len() <= tail;
        assert!(between, "records lie between the control blocks");
        recovery.feed(bytes)?;
        reads += 1;
        assert!(reads < 20_000, "recovery does not end");
    }
    Ok(recovery)
}

pub(super) fn read(geometry: &Geometry, region: &[u8]) -> Result<Recovery, Damage> {
    walk(begin(geometry, region)?, region)
}

pub(super) fn recover(geometry: &Geometry, region: &[u8]) -> Result<Log, Damage> {
    let recovery = read(geometry, region)?;
    Ok((recovery.reached(), recovery.finish()?))
}

impl DriveWorld {
    pub(super) fn new(geometry: Geometry, settings: Settings, rng: Rng) -> DriveWorld {
        let mut settings = Settings {
            home: Home::Drive,
            ..settings
        };
        let more = settings.region.0 - settings.region.0.min(least_in_nvram(&geometry, &settings));
        settings.region = Blocks(settings.region_min(&geometry).unwrap().0 + more);
        DriveWorld {
            world: World::new(geometry, settings, rng),
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn small(seed: u64) -> DriveWorld {
        let mut rng = Rng::stream(seed, "maplog/drive");
        let geometry = small_geometry(&mut rng);
        let settings = small_settings(&geometry, &mut rng);
        DriveWorld::new(geometry, settings, rng)
    }

    /// Batches of one block, two portions of two pieces each.
    pub(super) fn of_blocks(rng: &str) -> DriveWorld {
        let (geometry, settings) = of_pieces();
        DriveWorld::new(geometry, settings, Rng::stream(1, rng))
    }

    /// Records a move or a discard of a random block, to a slot that is neither in use nor will be.
    pub(super) fn record_any(&mut self) {
        let world = &mut self.world;
        let copy = world.rng.below(world.geometry.copies.into()) as u8;
        let chunk = world.rng.below(world.geometry.chunks.into()) as u32;
        let drive = world.geometry.drive(copy, chunk).index();
        let slot = match world.rng.below(8) {
            0 => NOWHERE,
            _ => world.free[drive].pop().unwrap_or(NOWHERE),
        };
        let alone = world.rng.below(3) == 0;
        let entry = Entry {
            copy,
            chunk,
            slot,
            alone,
        };
        world.log.record(entry);
        self.waiting.push_back(entry);
    }

    /// What became safe is in the map, and what it left is free.
    pub(super) fn settle(&mut self) {
        while self.waiting.len() > self.world.log.at_risk() {
            let entry = self.waiting.pop_front().unwrap();
            let world = &mut self.world;
            let copies = 0..world.geometry.copies;
            for copy in copies.filter(|copy| entry.alone && *copy != entry.copy) {
                let stale = world.map.slot(copy, entry.chunk);
                let drive = world.geometry.drive(copy, entry.chunk).index();
                world.free[drive].extend(Some(stale).filter(|slot| *slot != NOWHERE));
                world.model.insert((copy, entry.chunk), NOWHERE);
            }
            let old = world.map.set(entry);
            let drive = world.geometry.drive(entry.copy, entry.chunk).index();
            world.free[drive].extend(Some(old).filter(|slot| *slot != NOWHERE));
            world.model.insert((entry.copy, entry.chunk), entry.slot);
        }
    }

    pub(super) fn written(&mut self) {
        self.world.log.written();
        self.settle();
    }

    pub(super) fn write_all(&mut self) {
        while let Some(write) = self.world.begin_write() {
            self.world.land(&write);
            self.written();
        }
    }

    pub(super) fn run(&mut self, records: usize) {
        for _ in 0..records {
            self.record_any();
            self.write_all();
        }
    }

    /// The map has what is safe, and of what waits the first ones or none.
    pub(super) fn is_right(&self, map: &Map) -> bool {
        let mut expected = self.world.map.clone();
        if *map == expected {
            return true;
        }
        self.waiting.iter().any(|entry| {
            expected.set(*entry);
            *map == expected
        })
    }

    /// Cuts the power now.
    pub(super) fn cut(&self, why: &str) -> Recovered {
        let world = &self.world;
        let (_, recovered) = recover(&world.geometry, &world.region)
            .unwrap_or_else(|damage| panic!("{why}: {damage}"));
        assert!(self.is_right(&recovered.map), "{why}");
        assert_eq!(recovered.notes, [], "{why}");
        recovered.log.audit();
        recovered
    }

    /// Cuts it after every sector of a write, and after some in any order.
    pub(super) fn tear(&mut self, write: &(usize, Vec<u8>)) -> usize {
        let (begin, bytes) = write;
        let old = self.world.region[*begin..][..bytes.len()].to_vec();
        let sectors = bytes.len() / BLOCK;
        let put = |world: &mut DriveWorld, chosen: &dyn Fn(usize) -> bool| {
            for sector in (0..sectors).filter(|sector| chosen(*sector)) {
                let range = sector * BLOCK..(sector + 1) * BLOCK;
                world.world.region[begin + range.start..][..BLOCK].copy_from_slice(&bytes[range]);
            }
            world.cut("inside a write");
            world.world.region[*begin..][..bytes.len()].copy_from_slice(&old);
        };
        for _ in 0..3 {
            let bits = self.world.rng.bits();
            put(self, &|sector| bits >> (sector % 64) & 1 == 1);
        }
        (0..sectors).for_each(|until| put(self, &|sector| sector <= until));
        3 + sectors
    }

    /// Goes on after a power cut. What was on its way is there or lost.
    pub(super) fn crash(&mut self) {
        let recovered = self.cut("crash");
        self.go_on(recovered);
    }

    pub(super) fn go_on(&mut self, Recovered { map, log, .. }: Recovered) {
        (self.world.map, self.world.log) = (map, log);
        self.waiting.clear();
        let world = &mut self.world;
        let geometry = world.geometry;
        world.free = free_slots(&geometry, &mut world.rng);
        for chunk in 0..geometry.chunks {
            for copy in 0..geometry.copies {
                let slot = world.map.slot(copy, chunk);
                world.model.insert((copy, chunk), slot);
                world.free[geometry.drive(copy, chunk).index()].retain(|free| *free != slot);
            }
        }
    }

    /// Whether a write is that of a control block.
    pub(super) fn is_control(&self, (begin, _): &(usize, Vec<u8>)) -> bool {
        places(&self.world.region).contains(begin)
    }

    /// The control blocks: which is the younger one, and its number.
    pub(super) fn controls(&self) -> (usize, u64) {
        let number = |index: usize| {
            let at = places(&self.world.region)[index] + 24;
            u64::from_le_bytes(self.world.region[at..at + 8].try_into().unwrap())
        };
        let younger = usize::from(number(1) > number(0));
        (younger, number(younger))
    }
}

fn least_in_nvram(geometry: &Geometry, settings: &Settings) -> u64 {
    let settings = Settings {
        home: Home::Nvram,
        ..*settings
    };
    settings.region_min(geometry).unwrap().0
}

/// A life of a log with a power cut at every step, going on after some of them.
fn life(seed: u64, steps: usize) -> usize {
    let mut world = DriveWorld::small(seed);
    let first = world.world.begin_write().unwrap();
    world.world.land(&first);
    world.written();
    let (mut cuts, mut under_way) = (0, None);
    for _ in 0..steps {
        match (world.world.rng.below(8), under_way.take()) {
            (0..=3, write) => {
                under_way = write;
                world.record_any();
            }
            (_, Some(write)) => {
                cuts += world.tear(&write);
                if world.world.rng.below(6) == 0 {
                    let sectors = world.world.rng.below((write.1.len() / BLOCK) as u64 + 1);
                    let (begin, bytes) = write;
                    let bytes = &bytes[..sectors as usize * BLOCK];
                    world.world.land(&(begin, bytes.to_vec()));
                    world.crash();
                } else {
                    world.world.land(&write);
                    world.cut("before it is told");
                    world.written();
                }
            }
            (_, None) => under_way = world.world.begin_write(),
        }
        world.world.log.audit();
        world.cut("after a step");
        cuts += 2;
    }
    cuts
}

#[test]
fn the_power_may_go_at_every_step() {
    let cuts: usize = (0..40).map(|seed| life(seed, 250)).sum();
    assert!(cuts > 20_000, "{cuts} cuts");
}

/// The smallest region, gone round again and again: what recovery needs is never overwritten, and
/// the reads are those foretold.
#[test]
fn the_log_goes_round_in_the_smallest_region() {
    for seed in 0..6 {
        let mut rng = Rng::stream(seed, "maplog/drive/round");
        let geometry = small_geometry(&mut rng);
        let mut settings = small_settings(&geometry, &mut rng);
        settings.region = Blocks(0);
        let mut world = DriveWorld::new(geometry, settings, rng);
        let (bound, mut used, mut written) = (world.world.log.bound(), Blocks(0), 0);
        for step in 0..6_000 {
            for _ in 0..world.world.rng.below(4) {
                world.record_any();
            }
            while let Some(write) = world.world.begin_write() {
                world.world.land(&write);
                written += write.1.len();
                world.written();
                used = used.max(world.world.log.used());
            }
            if step % 50 == 49 {
                world.cut("while it goes round");
            }
            if step % 400 == 399 {
                world.crash();
            }
        }
        assert!(used <= bound, "{used} of {bound}");
        assert!(used.0 * 10 >= bound.0 * 5, "{used} of {bound}: too wide");
        assert!(written > 10 * world.world.region.len(), "it wraps");
    }
}

#[test]
fn recovery_reads_what_was_foretold() {
    let mut world = DriveWorld::of_blocks("foretold");
    world.run(700);
    let mut foretold = world.world.log.recovery_reads();
    for at in places(&world.world.region) {
        let at = Blocks((at / BLOCK) as u64);
        assert_eq!(foretold.next(), Some((at, CONTROL_LEN)));
    }
    let mut recovery = begin(&world.world.geometry, &world.world.region).unwrap();
    while let Some(read) = recovery.next_read() {
        assert_eq!(foretold.next(), Some(read));
        let bytes = &world.world.region[read.0.bytes() as usize..][..read.1.bytes() as usize];
        recovery.feed(bytes).unwrap();
    }
    assert_eq!(foretold.next(), None);
}

#[test]
fn a_batch_has_what_changed_while_the_one_before_was_written() {
    let mut world = DriveWorld::of_blocks("shared");
    world.run(1);
    let mut sizes = Vec::new();
    world.record_any();
    for more in [3, 25, 0, 0, 0] {
        let write = world.world.begin_write().unwrap();
        let header = Header::read(&write.1, 5).unwrap();
        assert_eq!(header.kind, Kind::Batch);
        sizes.push(header.count);
        (0..more).for_each(|_| world.record_any());
        world.world.land(&write);
        world.written();
    }
    // Twenty entries are the most that NVRAM would have, and half of these the most that a batch
    // has.
    assert_eq!(sizes, [1, 3, 10, 10, 5]);
    assert!(world.waiting.is_empty());
}

/// While pieces are asked for and changes keep coming, both are written.
#[test]
fn a_round_of_checkpoints_ends_under_load() {
    let mut world = DriveWorld::of_blocks("load");
    world.run(10);
    world.world.log.checkpoint();
    for _ in 0..30 {
        world.record_any();
        let write = world.world.begin_write().unwrap();
        world.world.land(&write);
        world.written();
    }
    assert!(world.world.log.is_checkpointed());
    assert!(world.waiting.len() < 20, "batches are written too");
}

/// However many changes come, none of them waits for more than one piece, and no piece for more
/// than one batch.
#[test]
fn pieces_go_in_turns_with_batches_while_a_round_is_wanted() {
    let mut world = DriveWorld::of_blocks("turns");
    world.run(10);
    world.world.log.checkpoint();
    let mut kinds = Vec::new();
    while !world.world.log.is_checkpointed() {
        world.record_any();
        let write = world.world.begin_write().unwrap();
        if !world.is_control(&write) {
            kinds.push(Header::read(&write.1, 5).unwrap().kind);
        }
        world.world.land(&write);
        world.written();
        assert!(kinds.len() < 100, "the round does not end");
    }
    let batches = kinds.iter().filter(|kind| **kind == Kind::Batch).count();
    assert!(batches > 0 && batches < kinds.len(), "{kinds:?}");
    assert!(kinds.windows(2).all(|two| two[0] != two[1]), "{kinds:?}");
}

/// Else a record could cover what the youngest control block on the medium still needs.
#[test]
fn a_record_follows_a_control_block_that_tells_its_tail() {
    let mut world = DriveWorld::of_blocks("follows");
    let mut records = 0;
    for _ in 0..300 {
        (0..2).for_each(|_| world.record_any());
        let Some(write) = world.world.begin_write() else {
            continue;
        };
        if !world.is_control(&write) {
            let found = begin(&world.world.geometry, &world.world.region).unwrap();
            let header = Header::read(&write.1, 5).unwrap();
            assert_eq!(found.next.sequence, world.world.log.oldest_number());
            assert_eq!(u64::from(header.control), found.control);
            records += 1;
        }
        world.world.land(&write);
        world.written();
    }
    assert!(records > 200, "{records} records");
}

#[test]
fn either_control_block_may_tear() {
    let mut world = DriveWorld::of_blocks("controls");
    let mut torn = 0;
    for _ in 0..200 {
        world.record_any();
        while let Some((begin, bytes)) = world.world.begin_write() {
            if places(&world.world.region).contains(&begin) {
                torn += 1;
                // Its second sector comes first.
                let mut half = bytes.clone();
                half[..BLOCK].copy_from_slice(&world.world.region[begin..][..BLOCK]);
                let old = world.world.region[begin..][..bytes.len()].to_vec();
                world.world.land(&(begin, half));
                if torn > 1 {
                    world.cut("a torn control block");
                }
                world.world.land(&(begin, old));
                if torn > 1 {
                    world.cut("between the tail's move and its control block");
                }
            }
            world.world.land(&(begin, bytes));
            world.written();
            world.cut("between control block and record");
        }
    }
    assert!(torn > 10, "{torn}");
}

/// The youngest control block is damaged, not torn: records follow it, and say so.
#[test]
fn a_damaged_control_block_is_told() {
    let mut world = DriveWorld::of_blocks("damaged control");
    world.run(500);
    let (mut right, mut told) = (0, 0);
    for _ in 0..60 {
        world.run(1);
        let (young, number) = world.controls();
        let records = world.world.records();
        let follows = records.last().unwrap().1.control == number as u32;
        let mut region = world.world.region.clone();
        let at = places(&region);
        region[at[young] + 100] ^= 1;
        match recover(&world.world.geometry, &region) {
            Ok((_, recovered)) => {
                assert!(!follows, "records follow a control block that is lost");
                assert!(world.is_right(&recovered.map));
                right += 1;
            }
            Err(damage) => {
                // What the older one needs was perhaps overwritten since.
                let place = DamageAt::Control(Blocks((at[young] / BLOCK) as u64));
                let overwritten = matches!(damage.fault, Fault::Sequence { .. });
                assert!(damage.place == place || overwritten, "{damage}");
                told += 1;
            }
        }
        // It never reached the drive: the other one is sound, and older.
        let old = region[at[1 - young]..][..HEAD * BLOCK].to_vec();
        region[at[young]..][..HEAD * BLOCK].copy_from_slice(&old);
        let lost = recover(&world.world.geometry, &region);
        assert_eq!(lost.is_err(), follows, "{lost:?}");
        if let Err(damage) = lost {
            let told = matches!(damage.fault, Fault::Control { .. } | Fault::Sequence { .. });
            assert!(told, "{damage}");
        }
    }
    assert!(told > 20, "{told} told, {right} right");
    let blank = vec![0; world.world.region.len()];
    let damage = recover(&world.world.geometry, &blank).unwrap_err();
    assert!(matches!(damage.fault, Fault::Magic { .. }), "{damage}");
}

/// Of the records that the control block does not know, each but the last has one behind it.
#[test]
fn damage_in_the_middle_is_no_torn_write() {
    let mut world = DriveWorld::of_blocks("middle");
    world.run(500);
    // At the end of an interval many records are not known.
    while world.world.log.next_number() < world.records_known() + 5 {
        world.run(1);
    }
    let records = world.world.records();
    let known = world.records_known();
    let last = records.last().unwrap().1.sequence;
    let (mut torn, mut told) = (0, 0);
    for (block, header) in records.iter().filter(|(_, of)| of.sequence >= known) {
        for at in [9, HEADER_BYTES + 3] {
            let mut region = world.world.region.clone();
            region[block * BLOCK + at] ^= 4;
            match recover(&world.world.geometry, &region) {
                Ok(_) if header.sequence == last => torn += 1,
                // A piece that an older one can do without.
                Ok((_, recovered)) => {
                    assert_eq!(header.kind, Kind::Piece);
                    assert!(world.is_right(&recovered.map));
                    assert_eq!(
                        recovered.notes[0].place,
                        DamageAt::Log(Blocks(*block as u64))
                    );
                }
                Err(damage) => {
                    assert!(header.sequence < last, "{damage}");
                    assert_eq!(damage.place, DamageAt::Log(Blocks(*block as u64)));
                    told += 1;
                }
            }
        }
    }
    assert_eq!(torn, 2, "the youngest has nothing that vouches for it");
    assert!(told > 5, "{told} told");
}

#[test]
fn a_flipped_bit_is_never_a_wrong_map() {
    let (mut errors, mut all) = (0, 0);
    for seed in 100..108 {
        let mut world = DriveWorld::small(seed);
        let records = 20 + world.world.rng.below(700) as usize;
        world.run(records);
        let last = world.world.records().last().unwrap().0;
        let geometry = world.world.geometry;
        for byte in 0..world.world.region.len() {
            let mask = 1 << world.world.rng.below(8);
            world.world.region[byte] ^= mask;
            match recover(&geometry, &world.world.region) {
                // The youngest record is not vouched for: damaged, it is taken for torn.
                Ok((_, found)) => {
                    let right = byte / BLOCK >= last || world.is_right(&found.map);
                    assert!(right, "seed {seed}, byte {byte}: a wrong map");
                }
                Err(_) => errors += 1,
            }
            all += 1;
            world.world.region[byte] ^= mask;
        }
    }
    assert!(errors * 10 > all, "{errors} errors of {all}");
}

impl DriveWorld {
    /// Number of the first record that the control block does not know.
    pub(super) fn records_known(&self) -> u64 {
        let recovery = begin(&self.world.geometry, &self.world.region).unwrap();
        recovery.told.sequence
    }
}

#[test]
fn nvram_and_drive_are_not_taken_for_each_other() {
    let mut world = DriveWorld::of_blocks("homes");
    world.run(50);
    let nvram = Nvram::from_bytes(world.world.log.nvram().bytes().to_vec());
    let text = Recovery::new(&world.world.geometry, nvram).unwrap_err();
    assert!(
        text.to_string()
            .starts_with("NVRAM, byte 0: bytes of NVRAM 0")
    );
    let mut other = World::small(3);
    other.run(50);
    let damage = begin(&other.geometry, &other.region);
    let text = damage.unwrap_err().to_string();
    assert!(
        text.starts_with("map log, control block at block"),
        "{text}"
    );
}

/// The youngest control block is lost, and the first record that follows it is the last one that
/// its log may have: it is read.
#[test]
fn a_lost_control_block_is_told_wherever_the_next_record_lies() {
    let (mut told, mut hidden) = (0, 0);
    for seed in 0..40 {
        let mut world = DriveWorld::small(seed + 300);
        let settings = Settings {
            region: Blocks(3 * world.world.log.settings().region.0),
            ..*world.world.log.settings()
        };
        world = DriveWorld::new(world.world.geometry, settings, Rng::stream(seed, "lost"));
        world.run(30);
        for _ in 0..60 {
            world.record_any();
            while let Some(write) = world.world.begin_write() {
                world.world.land(&write);
                world.written();
                let (young, number) = world.controls();
                let records = world.world.records();
                let follows = records.last().map(|(_, last)| last.control);
                if follows != Some(number as u32) {
                    continue;
                }
                let mut region = world.world.region.clone();
                let at = places(&region)[young];
                region[at..][..HEAD * BLOCK].fill(0);
                let damage = recover(&world.world.geometry, &region);
                assert!(damage.is_err(), "seed {seed}: an old log is taken");
                told += 1;
                hidden += usize::from(is_refused_behind_damage(&world.world, region, number));
            }
        }
    }
    assert!(told > 1_000, "{told} told");
    assert!(hidden > 200, "{hidden} behind a record that is damaged");
}

/// The last record before those that follow the control block with this number, which is lost, is
/// damaged as well: it is no write that the power cut tore, as these are behind it. False if the
/// older control block knows it already.
fn is_refused_behind_damage(world: &World, mut region: Vec<u8>, number: u64) -> bool {
    let records = world.records();
    let follows = |(_, header): &(usize, Header)| header.control == number as u32;
    let first = records.iter().position(follows).expect("one does");
    let known = begin(&world.geometry, &region).map(|older| older.told.sequence);
    let Some((block, before)) = first.checked_sub(1).map(|before| &records[before]) else {
        return false;
    };
    if known.is_ok_and(|known| before.sequence < known) {
        return false;
    }
    region[block * BLOCK..][..BLOCK].fill(0);
    let damage = recover(&world.geometry, &region);
    assert!(damage.is_err(), "an old log is taken behind damage");
    true
}
