//! Damage of every kind to NVRAM and log: it is an error that names its place, or the map is right
//! all the same.

use super::format::{HEADER_BYTES, Kind};
use super::world::*;
use super::*;
use crate::rng::Rng;
use crate::units::Blocks;

/// Recovers from damaged bytes; whether that was an error. Anything but the right map is none of
/// the two.
fn error_or_right(world: &World, nvram: &[u8], region: &[u8], why: &str) -> bool {
    match recover(&world.geometry, nvram, region) {
        Ok(recovered) => {
            assert!(world.is_right(&recovered.map), "{why}: a wrong map");
            recovered.log.audit();
            false
        }
        Err(_) => true,
    }
}

/// Logs in all kinds of states, a write torn in some.
fn worlds() -> impl Iterator<Item = World> {
    (100..112).map(|seed| {
        let mut world = World::small(seed);
        let records = world.rng.below(2_000) as usize;
        world.run(records);
        while !world.log.is_full() && world.rng.below(40) > 0 {
            world.record_any();
        }
        if let Some((begin, bytes)) = world.begin_write() {
            let torn = world.rng.below(bytes.len() as u64) as usize / BLOCK * BLOCK;
            world.region[begin..][..torn].copy_from_slice(&bytes[..torn]);
        }
        world
    })
}

#[test]
fn a_flipped_bit_in_nvram_is_never_a_wrong_map() {
    let (mut all, mut errors) = (0, 0);
    for world in worlds() {
        let mut nvram = world.log.nvram().bytes().to_vec();
        for bit in 0..nvram.len() * 8 {
            nvram[bit / 8] ^= 1 << (bit % 8);
            let error = error_or_right(&world, &nvram, &world.region, "one bit");
            (all, errors) = (all + 1, errors + usize::from(error));
            nvram[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(errors * 10 > all, "{errors} errors of {all}");
}

#[test]
fn a_flipped_bit_in_the_log_is_never_a_wrong_map() {
    let (mut all, mut errors) = (0, 0);
    for mut world in worlds() {
        let nvram = world.log.nvram().bytes().to_vec();
        for byte in 0..world.region.len() {
            let mask = 1 << world.rng.below(8);
            world.region[byte] ^= mask;
            let error = error_or_right(&world, &nvram, &world.region, "one bit");
            (all, errors) = (all + 1, errors + usize::from(error));
            world.region[byte] ^= mask;
        }
    }
    assert!(errors * 10 > all, "{errors} errors of {all}");
}

#[test]
fn wild_writes_are_never_a_wrong_map() {
    for mut world in worlds() {
        let (nvram, region) = (world.log.nvram().bytes().to_vec(), world.region.clone());
        for _ in 0..300 {
            let in_nvram = world.rng.below(3) == 0;
            let (mut bad_nvram, mut bad_region) = (nvram.clone(), region.clone());
            let bytes = if in_nvram {
                &mut bad_nvram
            } else {
                &mut bad_region
            };
            let begin = world.rng.below(bytes.len() as u64) as usize;
            let length = (1 + world.rng.below(2_000) as usize).min(bytes.len() - begin);
            let value = world.rng.bits() as u8;
            bytes[begin..begin + length].fill(value);
            error_or_right(&world, &bad_nvram, &bad_region, "wild bytes");
        }
    }
}

#[test]
fn writes_that_never_reached_the_platter_are_never_a_wrong_map() {
    for seed in 0..12 {
        let mut world = World::small(200 + seed);
        let mut errors = 0;
        for _ in 0..60 {
            let old = world.region.clone();
            let records = world.rng.below(120) as usize;
            world.run(records);
            let nvram = world.log.nvram().bytes().to_vec();
            // One block of the region is as it was before.
            for block in 0..old.len() / BLOCK {
                let range = block * BLOCK..(block + 1) * BLOCK;
                if old[range.clone()] == world.region[range.clone()] {
                    continue;
                }
                let mut region = world.region.clone();
                region[range.clone()].copy_from_slice(&old[range]);
                errors += usize::from(error_or_right(&world, &nvram, &region, "a lost write"));
            }
        }
        assert!(errors > 0);
    }
}

/// Two portions of two pieces each, batches of one block between them, in a region of so many times
/// the least.
fn pieces(times: u64) -> World {
    let rng = Rng::stream(1, "maplog/pieces");
    let (geometry, mut settings) = of_pieces();
    let least = settings.region_min(&geometry).unwrap();
    settings.region = Blocks(least.0 * times);
    World::new(geometry, settings, rng)
}

/// Runs until a portion has its first piece and not its second.
fn until_half_a_portion(world: &mut World) {
    loop {
        world.run(1);
        let records = world.records();
        let mut pieces = records.iter().rev().filter(|r| r.1.kind == Kind::Piece);
        let (last, before) = (pieces.next(), pieces.next());
        if let (Some((_, last)), Some((_, before))) = (last, before)
            && last.portion != before.portion
            && world.log.nvram().bytes().len() < records.len() * 100
        {
            return;
        }
    }
}

fn damage(world: &mut World, block: usize) {
    world.region[block * BLOCK + HEADER_BYTES + 9] ^= 4;
}

#[test]
fn a_younger_checkpoint_that_is_damaged_gives_way_to_an_older_one_in_the_log() {
    let mut world = pieces(1);
    world.run(700);
    until_half_a_portion(&mut world);
    let records = world.records();
    let (block, _) = *records.iter().rfind(|r| r.1.kind == Kind::Piece).unwrap();
    damage(&mut world, block);
    let recovered = world.recover().unwrap();
    assert!(world.is_right(&recovered.map));
    let places: Vec<DamageAt> = recovered.notes.iter().map(|note| note.place).collect();
    assert_eq!(places, [DamageAt::Log(Blocks(block as u64))]);
}

#[test]
fn a_whole_checkpoint_that_is_damaged_needs_an_older_one_that_is_still_there() {
    for (times, safe) in [(1, false), (3, true)] {
        let mut world = pieces(times);
        world.run(2_000);
        until_half_a_portion(&mut world);
        let records = world.records();
        // The last three pieces are of the portion under way, and of the one before.
        let mut young = records.iter().rev().filter(|r| r.1.kind == Kind::Piece);
        let (block, _) = *young.nth(1).unwrap();
        damage(&mut world, block);
        let place = DamageAt::Log(Blocks(block as u64));
        match world.recover() {
            Ok(recovered) => {
                assert!(safe, "no older one is there");
                assert!(world.is_right(&recovered.map));
                assert_eq!(recovered.notes[0].place, place);
            }
            Err(damage) => {
                assert!(!safe, "{damage}");
                assert_eq!(damage.place, place);
                assert!(matches!(damage.fault, Fault::Checksum { .. }), "{damage}");
            }
        }
    }
}

#[test]
fn no_older_checkpoint_makes_up_for_damaged_updates() {
    for times in [1, 3] {
        let mut world = pieces(times);
        world.run(2_000);
        until_half_a_portion(&mut world);
        let records = world.records();
        let (block, _) = *records.iter().rfind(|r| r.1.kind == Kind::Batch).unwrap();
        damage(&mut world, block);
        let damage = world.recover().unwrap_err();
        assert_eq!(damage.place, DamageAt::Log(Blocks(block as u64)));
    }
}

#[test]
fn damaged_updates_do_no_harm_when_all_was_checkpointed_after_them() {
    let mut world = pieces(1);
    world.run(2_000);
    let last = *world
        .records()
        .iter()
        .rfind(|r| r.1.kind == Kind::Batch)
        .unwrap();
    world.log.checkpoint();
    for _ in 0..3 {
        // The first piece may end a portion, so the tail still lies before the batch.
        let write = world.begin_write().unwrap();
        world.land(&write);
        world.log.written();
    }
    let before = world.records();
    assert!(before.iter().any(|r| r.1.sequence == last.1.sequence));
    damage(&mut world, last.0);
    world.write_all();
    let recovered = world.recover().unwrap();
    assert!(world.is_right(&recovered.map));
}

#[test]
fn a_newer_release_is_not_overruled() {
    let mut world = pieces(1);
    world.run(500);
    let newer = |result: Result<Recovered, Damage>| {
        let text = result.unwrap_err().to_string();
        let says = "written by a newer nearslot: version 3, this one knows up to 2";
        assert!(text.ends_with(says), "{text}");
    };
    for control in [8, 8 + 656] {
        let mut nvram = world.log.nvram().bytes().to_vec();
        nvram[control] = 3;
        newer(recover(&world.geometry, &nvram, &world.region));
    }
    let tail = world.records();
    let (block, _) = *tail.iter().rev().find(|r| r.1.kind == Kind::Piece).unwrap();
    world.region[block * BLOCK + 8] = 3;
    newer(world.recover());
}

#[test]
fn nvram_of_another_volume_or_shape_is_refused() {
    let mut world = pieces(1);
    world.run(500);
    let refused = |change: fn(&mut Geometry)| {
        let mut geometry = world.geometry;
        change(&mut geometry);
        let nvram = Nvram::from_bytes(world.log.nvram().bytes().to_vec());
        Recovery::new(&geometry, nvram).unwrap_err().to_string()
    };
    let text = refused(|geometry| geometry.volume = 6);
    assert!(
        text.contains("belongs to volume 0x0000000000000005"),
        "{text}"
    );
    let text = refused(|geometry| geometry.chunks = 401);
    assert!(
        text.ends_with("made for 400 chunks, the volume has 401"),
        "{text}"
    );
    let text = refused(|geometry| geometry.copies = 2);
    assert!(
        text.ends_with("made for 1 copies, the volume has 2"),
        "{text}"
    );
    let other = |of: Geometry, is: Geometry| {
        let nvram = World::new(
            of,
            Settings::fitting(&of).unwrap(),
            Rng::stream(1, "maplog/other"),
        );
        let nvram = Nvram::from_bytes(nvram.log.nvram().bytes().to_vec());
        Recovery::new(&is, nvram).unwrap_err().to_string()
    };
    let pairs = in_pairs(world.geometry);
    let apart = Geometry {
        spread: Spread::ByCopy,
        ..pairs
    };
    assert_eq!(
        other(pairs, apart),
        "NVRAM, byte 656: made for copies on pairs of drives, the volume has them on drives of their own"
    );
    assert_eq!(
        other(apart, pairs),
        "NVRAM, byte 656: made for copies on drives of their own, the volume has them on pairs of drives"
    );
    let nvram = Nvram::from_bytes(vec![0; 100]);
    let text = Recovery::new(&world.geometry, nvram)
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("NVRAM, byte 0: bytes of NVRAM 100"),
        "{text}"
    );
}

#[test]
fn a_batch_that_is_neither_in_nvram_nor_in_the_log_is_missed() {
    let mut world = pieces(1);
    world.run(100);
    // Until a batch is what was written last.
    let last = loop {
        world.run(1);
        let last = *world.records().last().unwrap();
        if last.1.kind == Kind::Batch {
            break last;
        }
    };
    let young = (0..2).max_by_key(|block| {
        let at = block * 656 + 24;
        u64::from_le_bytes(world.log.nvram().bytes()[at..at + 8].try_into().unwrap())
    });
    // The older control block tells of a log that ends before the batch, and the batch is not found
    // behind it.
    let mut nvram = world.log.nvram().bytes().to_vec();
    nvram[young.unwrap() * 656 + 100] ^= 1;
    let right = recover(&world.geometry, &nvram, &world.region).unwrap();
    assert!(
        world.is_right(&right.map),
        "the batch is behind the log's end"
    );
    damage(&mut world, last.0);
    let damage = recover(&world.geometry, &nvram, &world.region).unwrap_err();
    assert!(matches!(damage.place, DamageAt::Nvram(_)), "{damage}");
    assert!(damage.to_string().contains("batch"), "{damage}");
}

#[test]
fn a_half_that_is_older_than_the_other_is_found() {
    let mut world = pieces(1);
    world.run(305);
    let old = world.log.nvram().bytes().to_vec();
    (0..9).for_each(|_| world.record_any());
    let mut nvram = world.log.nvram().bytes().to_vec();
    // Ten entries a half: the one that was half full then is full now, and the other has begun.
    let words = [1_312, 1_312 + 8 + 96];
    let filling = words.iter().find(|at| old[**at] == 5).unwrap();
    assert_eq!(nvram[*filling], 10);
    nvram[*filling..][..104].copy_from_slice(&old[*filling..][..104]);
    let damage = recover(&world.geometry, &nvram, &world.region).unwrap_err();
    let text = "entries 5, allowed is 10";
    assert!(damage.to_string().ends_with(text), "{damage}");
}

#[test]
fn two_blocks_in_one_slot_are_found() {
    let mut world = pieces(1);
    world.run(300);
    let taken = (0..400)
        .find(|chunk| world.map.slot(0, *chunk) != NOWHERE)
        .unwrap();
    let (chunk, slot) = ((taken + 1) % 400, world.map.slot(0, taken));
    world.log.record(Entry {
        copy: 0,
        chunk,
        slot,
        alone: false,
    });
    let damage = world.recover().unwrap_err();
    assert!(
        matches!(damage.fault, Fault::Twice { slot: s, .. } if s == slot),
        "{damage}"
    );
}

#[test]
fn entries_that_cannot_be_are_named_with_their_place() {
    let mut world = pieces(1);
    world.run(700);
    for (kind, at, expected) in [
        (Kind::Batch, 0, "chunk 65791, allowed is 0 to 399"),
        (Kind::Batch, 8, "copy 1, allowed is 0"),
        (Kind::Piece, 0, "slot 65791, allowed is 0 to 499"),
    ] {
        let mut region = world.region.clone();
        let (block, header) = *world.records().iter().rfind(|r| r.1.kind == kind).unwrap();
        let record = &mut region[block * BLOCK..][..BLOCK];
        match at {
            0 => record[HEADER_BYTES..][..4].copy_from_slice(&65_791u32.to_le_bytes()),
            _ => record[HEADER_BYTES + at] = 1,
        }
        header.write(5, record);
        let damage = recover(&world.geometry, world.log.nvram().bytes(), &region);
        let text = damage.unwrap_err().to_string();
        assert_eq!(text, format!("map log, block {block}: {expected}"));
    }
}
