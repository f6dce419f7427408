//! The map of eager copies, kept safe while it is used: what a placement asks of `maplog`.
//!
//! Every change of the map is recorded in NVRAM before the write that made it is answered and before a slot becomes free.
//! Batches and checkpoints go to a region in the middle of the cylinders in use, on one drive of each of the first two copies,
//! as ordinary I/Os, so that their cost shows. While NVRAM has no room, changes wait for the write under way.
//!
//! Source: Zhang and others, FAST 2002, section 5.

use std::collections::VecDeque;

use super::delayed::CopyOf;
use crate::freemap::{FreeMap, Slot, Tracks};
use crate::ids::DriveId;
use crate::io::Tag;
use crate::maplog::{
    Damage, Entry, Geometry, MapLog, MapView, Nvram, Recovered, Recovery, Refused, Settings,
};
use crate::registry::{ConfigError, Knob, Knobs, Survivors};
use crate::request::Status;
use crate::units::{BLOCK_BYTES, Blocks, Pba};

/// Where the map lives.
pub(super) const MAP: Knob = Knob::choice(
    "map",
    "memory",
    &["memory", "log"],
    "memory: lost with the power; log: NVRAM, a log region and checkpoints keep it",
);

/// Room of NVRAM.
pub(super) const NVRAM: Knob = Knob::integer(
    "nvram_entries",
    670,
    2..=16_777_214,
    "map = log: changes of the map that NVRAM has room for, in two halves",
);

/// How often the map is checkpointed.
pub(super) const PORTIONS: Knob = Knob::integer(
    "portions",
    4,
    1..=16,
    "map = log: portions that the map is checkpointed in, in turns",
);

/// Room of the log.
pub(super) const REGION: Knob = Knob::integer(
    "log_region_kib",
    0,
    0..=1_073_741_824,
    "map = log: KiB for the log on each drive that has one; 0: as many as it needs",
);

/// The log of a placement's map.
pub(super) struct Keeper {
    log: MapLog,
    region: Region,
    /// Drives that have the log.
    drives: Vec<DriveId>,
    /// Of the write under way, drives that have not done it.
    left: usize,
    /// Changes that wait for room.
    waiting: VecDeque<Change>,
}

/// Blocks of a drive that belong to the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) first: Pba,
    pub(super) len: Blocks,
}

/// A change of the map that is to be recorded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// This write ended.
    Landed(Tag, Status),
    /// A granule is no longer needed.
    Discarded(u32),
}

/// Settings of a log by its knobs, with the region that is asked for or the smallest that will do.
pub(super) fn settings(geometry: &Geometry, knobs: &Knobs) -> Result<Settings, ConfigError> {
    let portions = (knobs.integer("portions") as u8).min(geometry.entries().min(16) as u8);
    let mut settings = Settings {
        nvram_entries: knobs.integer("nvram_entries") as u32,
        portions,
        ..Settings::fitting(geometry).map_err(refused)?
    };
    let asked = Blocks(knobs.integer("log_region_kib") * 1024 / BLOCK_BYTES);
    let least = settings.region_min(geometry).map_err(refused)?;
    if asked.0 > 0 && asked.0 < least.0 {
        let allowed = format!("0, or at least {}", (least.bytes()).div_ceil(1024));
        let kib = (asked.bytes() / 1024).to_string();
        return Err(ConfigError::value("log_region_kib", &kib, &allowed));
    }
    settings.region = if asked.0 == 0 { least } else { asked };
    Ok(settings)
}

fn refused(why: Refused) -> ConfigError {
    ConfigError::value(why.what, &why.found.to_string(), &why.allowed)
}

fn damaged(what: &str, why: &Damage) -> ConfigError {
    let allowed = "what this volume wrote and nobody changed";
    ConfigError::value(what, &why.to_string(), allowed)
}

/// Takes the slots out of a drive's free map that a log needs: consecutive blocks from the middle of the used bands on.
///
/// # Errors
/// There is no room.
pub(super) fn reserve(free: &mut FreeMap, bands: u32, len: Blocks) -> Result<Region, ConfigError> {
    let tracks = free.tracks();
    let first = first_block(tracks, bands / 2);
    let behind = Pba(first.0 + len.0);
    let slot_blocks = tracks.slot_blocks().0;
    let inside = |slot: &Slot| {
        let at = tracks.at(*slot);
        at < behind && at.0 + slot_blocks > first.0
    };
    let taken: Vec<Slot> = free.iter().filter(inside).collect();
    let whole = taken.len() as u64 * slot_blocks >= len.0 / 2;
    if behind > first_block(tracks, bands) || !whole {
        let kib = (len.bytes().div_ceil(1024)).to_string();
        let allowed = "what half of the cylinders in use have room for";
        return Err(ConfigError::value("KiB of the map's log", &kib, allowed));
    }
    taken.iter().for_each(|slot| free.take(*slot));
    Ok(Region { first, len })
}

/// The first block of a band, or the first behind all.
fn first_block(tracks: &Tracks, band: u32) -> Pba {
    let of = |band: u32| {
        let surfaces = 0..tracks.surfaces();
        let firsts = surfaces.map(|surface| tracks.track(tracks.number(band, surface)));
        firsts
            .filter(|track| track.slots > 0)
            .map(|track| track.first)
            .min()
    };
    (band..tracks.bands()).find_map(of).unwrap_or(Pba(u64::MAX))
}

/// Drives that have the log: the first of each of the first two copies.
fn log_drives(geometry: &Geometry) -> impl Iterator<Item = DriveId> {
    (0..geometry.copies.min(2)).map(|copy| geometry.drive(copy, 0))
}

impl Keeper {
    /// The log of a volume that begins full.
    pub(super) fn new(
        geometry: &Geometry,
        settings: &Settings,
        region: Region,
    ) -> Result<Keeper, ConfigError> {
        let log = MapLog::of_filled(geometry, settings).map_err(refused)?;
        Ok(Keeper::of(log, geometry, region))
    }

    fn of(log: MapLog, geometry: &Geometry, region: Region) -> Keeper {
        Keeper {
            log,
            region,
            drives: log_drives(geometry).collect(),
            left: 0,
            waiting: VecDeque::new(),
        }
    }

    /// What survived, read back: the map, and the log to go on with. A drive whose log is damaged is passed over if another
    /// one has it too.
    pub(super) fn recover(
        geometry: &Geometry,
        region: Region,
        survivors: &dyn Survivors,
    ) -> Result<(Vec<Slot>, Keeper), ConfigError> {
        let mut failure = None;
        for drive in log_drives(geometry) {
            match read_log(geometry, region, drive, survivors) {
                Ok(Recovered { map, log, .. }) => {
                    let slots = map.copies.concat().into_iter().map(Slot).collect();
                    return Ok((slots, Keeper::of(log, geometry, region)));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.expect("there is a drive with a log"))
    }

    /// What survives a power cut beside the drives.
    pub(super) fn nvram(&self) -> &[u8] {
        self.log.nvram().bytes()
    }

    /// A change waits its turn.
    pub(super) fn wait(&mut self, change: Change) {
        self.waiting.push_back(change);
    }

    /// Whether nothing can be recorded now, or others wait that came before.
    pub(super) fn must_wait(&self) -> bool {
        !self.waiting.is_empty() || self.log.is_full()
    }

    /// The next change that waits, if there is room for it.
    pub(super) fn next(&mut self) -> Option<Change> {
        match self.log.is_full() {
            true => None,
            false => self.waiting.pop_front(),
        }
    }

    /// A copy lies somewhere else now; if `alone`, the others lie nowhere.
    pub(super) fn record(&mut self, of: CopyOf, slot: Slot, alone: bool) {
        self.log.record(Entry {
            copy: of.copy,
            granule: of.granule,
            slot: slot.0,
            alone,
        });
    }

    /// Drives that have the log.
    pub(super) fn drives(&self) -> &[DriveId] {
        &self.drives
    }

    /// What each of them has to write now, if nothing is under way.
    pub(super) fn next_write(&mut self, map: &dyn MapView) -> Option<(Pba, Blocks)> {
        self.log.next_write(map)?;
        self.left = self.drives.len();
        Some(self.under_way())
    }

    /// Where the write under way goes.
    pub(super) fn under_way(&self) -> (Pba, Blocks) {
        let write = self.log.under_way().expect("a log write is under way");
        let len = Blocks(write.bytes.len() as u64 / BLOCK_BYTES);
        (self.region.first + write.offset, len)
    }

    /// The bytes of the write under way.
    pub(super) fn content(&self) -> &[u8] {
        self.log
            .under_way()
            .expect("a log write is under way")
            .bytes
    }

    /// A drive has done the write under way.
    pub(super) fn written(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.log.written();
        }
    }

    pub(super) fn audit(&self) {
        self.log.audit();
    }
}

/// Recovery from one drive's log.
fn read_log(
    geometry: &Geometry,
    region: Region,
    drive: DriveId,
    survivors: &dyn Survivors,
) -> Result<Recovered, ConfigError> {
    let place = format!("map log of drive {}", drive.0);
    let nvram = Nvram::from_bytes(survivors.nvram().to_vec());
    let mut recovery = Recovery::new(geometry, nvram).map_err(|why| damaged("NVRAM", &why))?;
    if recovery.region().0 > region.len.0 {
        let kib = (recovery.region().bytes() / 1024).to_string();
        let allowed = format!("at most the {} KiB of its place", region.len.bytes() / 1024);
        return Err(ConfigError::value(
            "KiB of the map's log, by NVRAM",
            &kib,
            &allowed,
        ));
    }
    let mut bytes = Vec::new();
    while let Some((offset, len)) = recovery.next_read() {
        bytes.resize(len.bytes() as usize, 0);
        survivors.read(drive, region.first + offset, &mut bytes);
        recovery.feed(&bytes).map_err(|why| damaged(&place, &why))?;
    }
    recovery.finish().map_err(|why| damaged(&place, &why))
}
