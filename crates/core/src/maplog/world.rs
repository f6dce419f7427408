//! A volume for tests: a map log, its region, a model of what must survive, and slots that are
//! given out once.

use std::collections::BTreeMap;

use super::format::Header;
use super::*;
use crate::rng::Rng;
use crate::units::{BLOCK_BYTES, Blocks};

pub(super) const BLOCK: usize = BLOCK_BYTES as usize;

/// A log at work.
pub(super) struct World {
    pub(super) geometry: Geometry,
    pub(super) log: MapLog,
    pub(super) region: Vec<u8>,
    /// The caller's map.
    pub(super) map: Map,
    /// What was recorded.
    pub(super) model: BTreeMap<(u8, u32), u32>,
    /// By drive.
    pub(super) free: Vec<Vec<u32>>,
    pub(super) rng: Rng,
}

/// Slots of all drives, in a random order.
pub(super) fn free_slots(geometry: &Geometry, rng: &mut Rng) -> Vec<Vec<u32>> {
    let shuffled = |rng: &mut Rng| {
        let mut slots: Vec<u32> = (0..geometry.slots).collect();
        for index in (1..slots.len()).rev() {
            slots.swap(index, rng.below(index as u64 + 1) as usize);
        }
        slots
    };
    (0..geometry.drives()).map(|_| shuffled(rng)).collect()
}

/// A volume whose log has batches of one block and two portions of two pieces each.
pub(super) fn of_pieces() -> (Geometry, Settings) {
    let geometry = Geometry {
        volume: 5,
        chunks: 400,
        copies: 1,
        columns: 1,
        unit: 1,
        spread: Spread::ByCopy,
        slots: 500,
    };
    let settings = Settings {
        home: Home::Nvram,
        nvram_entries: 20,
        portions: 2,
        interval: Blocks(6),
        write_max: Blocks(1),
        region: Blocks(0),
    };
    (geometry, settings)
}

/// A small volume, different for each seed.
pub(super) fn small_geometry(rng: &mut Rng) -> Geometry {
    let chunks = 20 + rng.below(280) as u32;
    let geometry = Geometry {
        volume: rng.bits(),
        chunks,
        copies: 1 + rng.below(3) as u8,
        columns: 1 + rng.below(3) as u16,
        unit: 1 + rng.below(9) as u32,
        spread: Spread::ByCopy,
        slots: chunks + 1 + rng.below(60) as u32,
    };
    match geometry.copies == 2 && rng.chance(0.5) {
        true => in_pairs(geometry),
        false => geometry,
    }
}

/// The same with two copies on pairs of drives, and as many chunks as these can share.
pub(super) fn in_pairs(geometry: Geometry) -> Geometry {
    let turns = 2 * u32::from(geometry.columns) * geometry.unit;
    let chunks = geometry.chunks.next_multiple_of(turns);
    Geometry {
        chunks,
        copies: 2,
        spread: Spread::ByPair,
        slots: geometry.slots + chunks - geometry.chunks,
        ..geometry
    }
}

/// Small settings, different for each seed, in the smallest region or one somewhat larger.
pub(super) fn small_settings(geometry: &Geometry, rng: &mut Rng) -> Settings {
    let mut settings = Settings {
        home: Home::Nvram,
        nvram_entries: 2 + rng.below(60) as u32,
        portions: 1 + rng.below(4) as u8,
        interval: Blocks(1 + rng.below(6)),
        write_max: Blocks(1 + rng.below(3)),
        region: Blocks(0),
    };
    let least = settings.region_min(geometry).unwrap();
    settings.region = Blocks(least.0 + rng.below(2) * rng.below(40));
    settings
}

impl World {
    /// Records of the log in order of their numbers, with the blocks where they begin.
    pub(super) fn records(&self) -> Vec<(usize, Header)> {
        let blocks = self.region.chunks(BLOCK).enumerate();
        let header =
            |(block, bytes)| Some((block, Header::read(bytes, self.geometry.volume).ok()?));
        let mut found: Vec<(usize, Header)> = blocks.filter_map(header).collect();
        found.sort_by_key(|(_, header)| header.sequence);
        found
    }

    pub(super) fn new(geometry: Geometry, settings: Settings, mut rng: Rng) -> World {
        World {
            log: MapLog::new(&geometry, &settings).unwrap(),
            region: vec![0xA5; settings.region.bytes() as usize],
            map: Map::empty(&geometry),
            model: BTreeMap::new(),
            free: free_slots(&geometry, &mut rng),
            geometry,
            rng,
        }
    }

    pub(super) fn small(seed: u64) -> World {
        let mut rng = Rng::stream(seed, "maplog/world");
        let geometry = small_geometry(&mut rng);
        let settings = small_settings(&geometry, &mut rng);
        World::new(geometry, settings, rng)
    }

    /// Moves or discards a random block.
    pub(super) fn record_any(&mut self) {
        let copy = self.rng.below(self.geometry.copies.into()) as u8;
        let chunk = self.rng.below(self.geometry.chunks.into()) as u32;
        let discard = self.rng.below(8) == 0;
        self.record(copy, chunk, discard);
    }

    pub(super) fn record(&mut self, copy: u8, chunk: u32, discard: bool) {
        let drive = self.geometry.drive(copy, chunk).index();
        let slot = match discard {
            true => NOWHERE,
            false => self.free[drive].pop().unwrap(),
        };
        let alone = self.rng.below(3) == 0;
        let entry = Entry {
            copy,
            chunk,
            slot,
            alone,
        };
        for other in (0..self.geometry.copies).filter(|other| alone && *other != copy) {
            let stale = self.map.slot(other, chunk);
            if stale != NOWHERE {
                self.free[self.geometry.drive(other, chunk).index()].push(stale);
            }
            self.model.insert((other, chunk), NOWHERE);
        }
        let old = self.map.set(entry);
        if old != NOWHERE {
            // The next write goes there at once.
            self.free[drive].push(old);
        }
        self.log.record(entry);
        self.model.insert((copy, chunk), slot);
    }

    /// The write that the log wants, as its owner would keep it.
    pub(super) fn begin_write(&mut self) -> Option<(usize, Vec<u8>)> {
        let write = self.log.next_write(&self.map)?;
        let begin = write.offset.bytes() as usize;
        assert!(begin + write.bytes.len() <= self.region.len());
        Some((begin, write.bytes.to_vec()))
    }

    pub(super) fn land(&mut self, write: &(usize, Vec<u8>)) {
        let (begin, bytes) = write;
        self.region[*begin..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Writes until the log wants no more.
    pub(super) fn write_all(&mut self) {
        while let Some(write) = self.begin_write() {
            self.land(&write);
            self.log.written();
        }
    }

    /// Records and writes for a while.
    pub(super) fn run(&mut self, records: usize) {
        for _ in 0..records {
            self.record_any();
            self.write_all();
        }
    }

    pub(super) fn recover(&self) -> Result<Recovered, Damage> {
        self.recover_by().0
    }

    /// The recovered, and what was read for it.
    pub(super) fn recover_by(&self) -> (Result<Recovered, Damage>, Vec<(Blocks, Blocks)>) {
        let mut reads = Vec::new();
        let nvram = self.log.nvram().bytes();
        let recovered = recover_reading(&self.geometry, nvram, &self.region, &mut reads);
        (recovered, reads)
    }

    /// Whether a map is what the model says.
    pub(super) fn is_right(&self, map: &Map) -> bool {
        is_map(&self.geometry, &self.model, map)
    }
}

pub(super) fn is_map(geometry: &Geometry, model: &BTreeMap<(u8, u32), u32>, map: &Map) -> bool {
    let slot = |place: &(u8, u32)| model.get(place).copied().unwrap_or(NOWHERE);
    let all = (0..geometry.copies).flat_map(|c| (0..geometry.chunks).map(move |g| (c, g)));
    let mut all = all.collect::<Vec<_>>().into_iter();
    all.all(|(copy, chunk)| map.slot(copy, chunk) == slot(&(copy, chunk)))
}

/// Recovers from what is left.
pub(super) fn recover(
    geometry: &Geometry,
    nvram: &[u8],
    region: &[u8],
) -> Result<Recovered, Damage> {
    recover_reading(geometry, nvram, region, &mut Vec::new())
}

fn recover_reading(
    geometry: &Geometry,
    nvram: &[u8],
    region: &[u8],
    reads: &mut Vec<(Blocks, Blocks)>,
) -> Result<Recovered, Damage> {
    let mut recovery = Recovery::new(geometry, Nvram::from_bytes(nvram.to_vec()))?;
    while let Some((offset, blocks)) = recovery.next_read() {
        let bytes = &region[offset.bytes() as usize..][..blocks.bytes() as usize];
        recovery.feed(bytes)?;
        reads.push((offset, blocks));
        assert!(reads.len() < 10_000, "recovery does not end");
    }
    recovery.finish()
}
