//! Power cuts at every step of a map log's life: between any two words of NVRAM, between any two
//! sectors of a write.

use super::world::*;
use super::*;
use crate::rng::Rng;
use crate::units::Blocks;

/// Cuts the power now; the map has to be right, and the log to go on has to be as it was.
fn cut(world: &World, why: &str) -> Recovered {
    let (recovered, reads) = world.recover_by();
    let recovered = recovered.unwrap_or_else(|damage| panic!("{why}: {damage}"));
    assert!(world.is_right(&recovered.map), "{why}");
    assert_eq!(recovered.notes, [], "{why}");
    let foretold: Vec<_> = world.log.recovery_reads().collect();
    assert_eq!(reads, foretold, "{why}");
    recovered.log.audit();
    recovered
}

/// Cuts the power between any two words that were stored into NVRAM; how many cuts found the map
/// that `old` says.
fn cut_between_words(
    world: &World,
    before: &[u8],
    stores: &[(usize, Vec<u8>)],
    old: &std::collections::BTreeMap<(u8, u32), u32>,
) -> (usize, usize) {
    let (mut bytes, mut cuts, mut olds) = (before.to_vec(), 0, 0);
    for (at, stored) in stores {
        let mut done = 0;
        while done < stored.len() {
            // As far as the next aligned word.
            let now = (8 - (at + done) % 8).min(stored.len() - done);
            bytes[at + done..][..now].copy_from_slice(&stored[done..done + now]);
            done += now;
            let recovered = recover(&world.geometry, &bytes, &world.region).unwrap();
            cuts += 1;
            match is_map(&world.geometry, old, &recovered.map) {
                true => olds += 1,
                false => assert!(world.is_right(&recovered.map), "neither before nor after"),
            }
        }
    }
    assert_eq!(bytes, world.log.nvram().bytes(), "everything was stored");
    (cuts, olds)
}

/// Runs a step and cuts the power between any two words that it stores.
fn torn_step(world: &mut World, step: impl FnOnce(&mut World)) -> (usize, usize) {
    let (before, old) = (world.log.nvram().bytes().to_vec(), world.model.clone());
    world.log.nvram_mut().journal.clear();
    step(world);
    let stores = std::mem::take(&mut world.log.nvram_mut().journal);
    cut_between_words(world, &before, &stores, &old)
}

/// Cuts the power after every sector of a write, and after some sectors in any order.
fn torn_write(world: &mut World, write: &(usize, Vec<u8>)) -> usize {
    let (begin, bytes) = write;
    let old = world.region[*begin..][..bytes.len()].to_vec();
    let sectors = bytes.len() / BLOCK;
    let choices = if sectors > 2 { 3 } else { 0 };
    for _ in 0..choices {
        let chosen = world.rng.bits();
        for sector in (0..sectors).filter(|sector| chosen >> (sector % 64) & 1 == 1) {
            let range = sector * BLOCK..(sector + 1) * BLOCK;
            world.region[begin + range.start..][..BLOCK].copy_from_slice(&bytes[range]);
        }
        cut(world, "some sectors");
        world.region[*begin..][..bytes.len()].copy_from_slice(&old);
    }
    for sector in 0..sectors {
        let range = sector * BLOCK..(sector + 1) * BLOCK;
        world.region[begin + range.start..][..BLOCK].copy_from_slice(&bytes[range]);
        cut(world, "after a sector");
    }
    choices + sectors
}

/// Goes on after a power cut, at times with a cut while the log resumes.
fn crash(world: &mut World) -> usize {
    let mut recovered = cut(world, "crash");
    let before = world.log.nvram().bytes().to_vec();
    let stores = std::mem::take(&mut recovered.log.nvram_mut().journal);
    world.log = recovered.log;
    world.map = recovered.map;
    let old = world.model.clone();
    cut_between_words(world, &before, &stores, &old).0
}

/// A life of a log with a power cut at every step of it, going on after some of them.
fn life(seed: u64, steps: usize) -> usize {
    let mut world = World::small(seed);
    let (mut cuts, mut under_way) = (0, None);
    for _ in 0..steps {
        match (world.rng.below(8), under_way.take()) {
            (0..=4, write) if !world.log.is_full() => {
                under_way = write;
                let (all, olds) = torn_step(&mut world, World::record_any);
                // Only the last word of an entry makes it count.
                assert!(olds >= all.min(3) - 1, "{olds} of {all}");
                cuts += all;
            }
            (7, Some(write)) => {
                cuts += torn_write(&mut world, &write);
                cuts += crash(&mut world);
            }
            (_, Some(write)) => {
                cuts += torn_write(&mut world, &write);
                cuts += torn_step(&mut world, |world| world.log.written()).0;
            }
            (_, None) => under_way = world.begin_write(),
        }
        world.log.audit();
        cut(&world, "after a step");
        cuts += 1;
        if world.rng.below(20) == 0 {
            // Whatever was being written is lost or torn.
            if let Some((begin, bytes)) = under_way.take() {
                let sectors = world.rng.below((bytes.len() / BLOCK) as u64 + 1) as usize;
                world.region[begin..][..sectors * BLOCK].copy_from_slice(&bytes[..sectors * BLOCK]);
            }
            cuts += crash(&mut world);
        }
    }
    cuts
}

#[test]
fn the_power_may_go_at_every_step() {
    let cuts: usize = (0..40).map(|seed| life(seed, 250)).sum();
    assert!(cuts > 50_000, "{cuts} cuts");
}

#[test]
fn the_log_never_exceeds_its_bound() {
    for seed in 0..6 {
        let mut rng = Rng::stream(seed, "maplog/bound");
        let geometry = small_geometry(&mut rng);
        let mut settings = small_settings(&geometry, &mut rng);
        settings.region = settings.region_min(&geometry).unwrap();
        let mut world = World::new(geometry, settings, rng);
        let (bound, mut used, mut written) = (world.log.bound(), Blocks(0), 0);
        for _ in 0..20_000 {
            world.record_any();
            while let Some(write) = world.begin_write() {
                world.land(&write);
                written += write.1.len();
                // A crash must not make it longer.
                if world.rng.below(50) == 0 {
                    world.log = world.recover().unwrap().log;
                } else {
                    world.log.written();
                }
                used = used.max(world.log.used());
            }
        }
        assert!(used <= bound, "{used} of {bound}");
        assert!(used.0 * 10 >= bound.0 * 6, "{used} of {bound}: too wide");
        assert!(written > 10 * world.region.len(), "it wraps");
        cut(&world, "after a long run");
    }
}

#[test]
fn a_filled_map_is_safe_after_its_first_round() {
    let mut world = World::small(7);
    (0..world.geometry.chunks).for_each(|chunk| {
        world.run(0);
        let slot = world.free[world.geometry.drive(0, chunk).index()]
            .pop()
            .unwrap();
        world.map.copies[0][chunk as usize] = slot;
        world.model.insert((0, chunk), slot);
    });
    let settings = *world.log.settings();
    world.log = MapLog::of_filled(&world.geometry, &settings).unwrap();
    while !world.log.is_checkpointed() {
        let damage = world.recover().unwrap_err();
        assert!(matches!(damage.fault, Fault::Lost { .. }), "{damage}");
        assert_eq!(world.log.recovery_reads().count(), 0, "by none is it found");
        let write = world.begin_write().unwrap();
        world.land(&write);
        world.log.written();
    }
    cut(&world, "after the first round");
    world.run(500);
    cut(&world, "after a while");
}

#[test]
fn recovery_reads_no_more_than_the_log_needs() {
    let mut rng = Rng::stream(1, "maplog/reads");
    let geometry = Geometry {
        chunks: 30_000,
        slots: 40_000,
        spread: Spread::ByCopy,
        ..small_geometry(&mut rng)
    };
    let settings = Settings {
        interval: Blocks(64),
        write_max: Blocks(16),
        ..Settings::fitting(&geometry).unwrap()
    };
    let settings = Settings {
        region: settings.region_min(&geometry).unwrap(),
        ..settings
    };
    let mut world = World::new(geometry, settings, rng);
    world.run(100_000);
    let nvram = Nvram::from_bytes(world.log.nvram().bytes().to_vec());
    let mut recovery = Recovery::new(&geometry, nvram).unwrap();
    let mut read = 0;
    while let Some((offset, blocks)) = recovery.next_read() {
        read += blocks.0;
        let bytes = &world.region[offset.bytes() as usize..];
        recovery.feed(&bytes[..blocks.bytes() as usize]).unwrap();
    }
    assert!(world.is_right(&recovery.finish().unwrap().map));
    let used = world.log.used().0;
    assert!(read >= used, "{read} of {used}");
    assert!(read * 4 <= used * 5, "{read} of {used}");
}
