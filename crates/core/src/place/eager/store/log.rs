//! The map of eager copies, kept safe by NVRAM, a log and checkpoints (`map=log`).
//!
//! Every change of the map is recorded in NVRAM before the write that made it is answered and before a slot becomes free.
//! Batches and checkpoints go to a region in the middle of the cylinders in use, on the drives that
//! have the first chunk's first two copies,
//! as ordinary I/Os, so that their cost shows. While NVRAM has no room, changes wait for the write under way.
//!
//! Source: Zhang and others, FAST 2002, section 5.

use std::collections::VecDeque;

use super::{MapStore, MapWrite, Retry, TRIES, When, refused};
use crate::contract::Drives;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::maplog::{Entry, Geometry, MapLog, Nvram, Recovered, Recovery, Settings};
use crate::op::Failure;
use crate::place::eager::map::{Map, NOWHERE};
use crate::place::eager::region::Region;
use crate::plan::Target;
use crate::registry::{ConfigError, Knob, Knobs, Survivors, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks, Instant};

/// Room of NVRAM.
pub(in crate::place) const NVRAM: Knob = Knob::integer(
    "nvram_entries",
    670,
    2..=16_777_214,
    "map = log: changes of the map that NVRAM has room for, in two halves",
);

/// How often the map is checkpointed.
pub(in crate::place) const PORTIONS: Knob = Knob::integer(
    "portions",
    4,
    1..=16,
    "map = log: portions that the map is checkpointed in, in turns",
);

/// Room of the log.
pub(in crate::place) const REGION: Knob = Knob::integer(
    "log_region_kib",
    0,
    0..=1_073_741_824,
    "map = log: KiB for the log on each drive that has one; 0: as many as it needs",
);

/// The log of a placement's map.
pub(in crate::place::eager) struct LogStore {
    log: MapLog,
    region: Region,
    /// Drives that have the log.
    drives: Vec<DriveId>,
    /// Of the write under way, drives that have not done it.
    left: usize,
    /// Failures one after the other, by drive that has the log.
    failures: Vec<(DriveId, u8)>,
    /// Changes that wait for room.
    waiting: VecDeque<(Tag, Entry)>,
}

/// Settings of a log by its knobs, with the region that is asked for or the smallest that will do.
pub(in crate::place::eager) fn settings(
    geometry: &Geometry,
    knobs: &Knobs,
) -> Result<Settings, ConfigError> {
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

/// Drives that have the log: those of the first two copies of the first chunk.
fn log_drives(geometry: &Geometry) -> impl Iterator<Item = DriveId> {
    (0..geometry.copies.min(2)).map(|copy| geometry.drive(copy, 0))
}

impl LogStore {
    /// The log of a volume that begins full.
    pub(in crate::place::eager) fn new(
        geometry: &Geometry,
        settings: &Settings,
        region: Region,
    ) -> Result<LogStore, ConfigError> {
        let log = MapLog::of_filled(geometry, settings).map_err(refused)?;
        Ok(LogStore::of(log, geometry, region))
    }

    fn of(log: MapLog, geometry: &Geometry, region: Region) -> LogStore {
        LogStore {
            log,
            region,
            drives: log_drives(geometry).collect(),
            left: 0,
            failures: log_drives(geometry).map(|drive| (drive, 0)).collect(),
            waiting: VecDeque::new(),
        }
    }

    /// A drive has done its part of the write under way, or is given up.
    fn one_is_done(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.log.written();
        }
    }

    /// What survived, read back: the map, and the log to go on with. A drive whose log is damaged is passed over if another
    /// one has it too.
    pub(in crate::place::eager) fn recover(
        geometry: &Geometry,
        region: Region,
        survivors: &dyn Survivors,
    ) -> Result<(Vec<Slot>, LogStore), VolumeError> {
        let mut failure = None;
        for drive in log_drives(geometry) {
            match read_log(geometry, region, drive, survivors) {
                Ok(Recovered { map, log, .. }) => {
                    let slots = map.copies.concat().into_iter().map(Slot).collect();
                    return Ok((slots, LogStore::of(log, geometry, region)));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.expect("there is a drive with a log"))
    }
}

impl MapStore for LogStore {
    fn nvram(&self) -> &[u8] {
        self.log.nvram().bytes()
    }

    /// From the first drive that has the log: another one is read only if this one is damaged.
    fn recovery(&self, _map: &Map, out: &mut Vec<RecoveryRead>) {
        let (drive, first) = (self.drives[0], self.region.first);
        out.extend(self.log.recovery_reads().map(|(offset, len)| RecoveryRead {
            drive,
            at: first + offset,
            len,
        }));
    }

    /// It waits if nothing can be recorded now, or others wait that came before.
    fn change(&mut self, tag: Tag, entry: Entry) -> When {
        if !self.waiting.is_empty() || self.log.is_full() {
            self.waiting.push_back((tag, entry));
            return When::Later;
        }
        self.log.record(entry);
        When::Now
    }

    fn settled(&mut self, map: &Map) -> Option<Tag> {
        if self.log.is_full() {
            return None;
        }
        let (tag, entry) = self.waiting.pop_front()?;
        // What was discarded while it waited need not be discarded again.
        if Slot(entry.slot) != NOWHERE || map.holds(entry.chunk) {
            self.log.record(entry);
        }
        Some(tag)
    }

    /// The same to each drive that has the log.
    fn next_writes(
        &mut self,
        _now: Instant,
        _drives: &dyn Drives,
        map: &Map,
        out: &mut Vec<MapWrite>,
    ) {
        let Some(write) = self.log.next_write(map) else {
            return;
        };
        let target = Target::At(self.region.first + write.offset);
        let len = Blocks(write.bytes.len() as u64 / BLOCK_BYTES);
        self.left = self.drives.len();
        out.extend(self.drives.iter().map(|drive| MapWrite {
            drive: *drive,
            target,
            len,
        }));
    }

    fn content(&self) -> &[u8] {
        let write = self.log.under_way();
        write.expect("a log write is under way").bytes
    }

    fn written(&mut self, drive: DriveId, _slot: Slot) -> Option<Slot> {
        let known = self.failures.iter_mut().filter(|(of, _)| *of == drive);
        known.for_each(|(_, failures)| *failures = 0);
        self.one_is_done();
        None
    }

    /// The region has one place for it. A drive that fails again and again, or is gone, has no log from now on: what lies there is
    /// older than NVRAM says, so recovery passes it over.
    fn failed(&mut self, drive: DriveId, failure: Failure) -> Retry {
        let known = self.failures.iter_mut().find(|(of, _)| *of == drive);
        let (_, failures) = known.expect("it has the log");
        *failures += 1;
        if failure != Failure::Gone && *failures < TRIES {
            return Retry::Again;
        }
        self.drives.retain(|other| *other != drive);
        if self.drives.is_empty() {
            self.waiting.clear();
            return Retry::Lost;
        }
        self.one_is_done();
        Retry::Next
    }

    fn spares(&self, drive: DriveId) -> bool {
        self.drives.iter().any(|other| *other != drive)
    }

    /// No slot is its own: those in the region were never free.
    fn audit(&self, _own: &mut dyn FnMut(DriveId, Slot)) {
        self.log.audit();
    }
}

/// Recovery from one drive's log.
fn read_log(
    geometry: &Geometry,
    region: Region,
    drive: DriveId,
    survivors: &dyn Survivors,
) -> Result<Recovered, VolumeError> {
    let place = format!("map log of drive {}", drive.0);
    let nvram = Nvram::from_bytes(survivors.nvram().to_vec());
    let mut recovery =
        Recovery::new(geometry, nvram).map_err(|why| VolumeError::damaged("NVRAM", why))?;
    if recovery.region().0 > region.len.0 {
        let found = format!("{} KiB", recovery.region().bytes() / 1024);
        let expected = format!("at most the {} KiB of its place", region.len.bytes() / 1024);
        return Err(VolumeError::unfit("map log by NVRAM", &found, &expected));
    }
    let mut bytes = Vec::new();
    while let Some((offset, len)) = recovery.next_read() {
        bytes.resize(len.bytes() as usize, 0);
        survivors.read(drive, region.first + offset, &mut bytes);
        recovery
            .feed(&bytes)
            .map_err(|why| VolumeError::damaged(&place, why))?;
    }
    recovery
        .finish()
        .map_err(|why| VolumeError::damaged(&place, why))
}
