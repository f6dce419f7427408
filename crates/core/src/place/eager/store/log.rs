//! The map of eager copies, kept safe by a log and checkpoints (`map=log`).
//!
//! Batches and checkpoints are ordinary I/Os, so that their cost shows. They go to a region in the
//! middle of the cylinders in use, on the drives that have the first chunk's first two copies. The
//! changes that are in no batch yet have a home ([`Home`]):
//!
//! * NVRAM: every change of the map is recorded there before the write that made it is answered and
//!   before a slot becomes free. While NVRAM has no room, changes wait for the write under way.
//! * The drive: a change waits until the batch that has it is on the medium of all drives with the
//!   log ([`on_drive`]).
//!
//! Source: Zhang and others, FAST 2002, section 5; the home on the drive is ours.

use std::collections::VecDeque;

mod aside;
mod in_nvram;
mod on_drive;
#[cfg(test)]
mod tests;

use super::{MapStore, MapWrite, Retry, TRIES, When, refused};
use crate::contract::Drives;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::maplog::{Entry, Geometry, Home, LogWrite, MapLog, Settings};
use crate::op::Failure;
use crate::place::eager::map::{Map, NOWHERE};
use crate::place::eager::region::Region;
use crate::place::gone::Gone;
use crate::plan::Target;
use crate::registry::{ConfigError, Knob, Knobs, Survivors, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks, Instant};

/// What keeps the log beside its region.
pub(in crate::place) const HOME: Knob = Knob::choice(
    "home",
    "nvram",
    &["nvram", "drive"],
    "map = log: nvram: it keeps the changes that are not in the log, and says how far that has come; drive: the log's region does, and \
     every change waits for its write",
);

/// Changes that NVRAM has room for if nothing else is said.
pub(in crate::place) const NVRAM_ENTRIES: i64 = 670;

/// Room of NVRAM.
pub(in crate::place) const NVRAM: Knob = Knob::integer(
    "nvram_entries",
    NVRAM_ENTRIES,
    2..=16_777_214,
    "map = log with NVRAM: changes of the map that it has room for, in two halves",
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
    /// Drives that are to have the log, but those that were given up.
    drives: Vec<LogDrive>,
    under_way: UnderWay,
    /// Of the write under way, drives that have not done it.
    left: usize,
    /// Changes that wait: for their batch, and the youngest of them for room.
    waiting: VecDeque<(Tag, Entry)>,
    /// How many of these are not recorded.
    unrecorded: usize,
    again: on_drive::Again,
    /// The control block that recovery has found, and where it lies.
    control: (Blocks, Vec<u8>),
}

/// A drive with the log.
#[derive(Clone, Debug)]
struct LogDrive {
    drive: DriveId,
    /// Among those that are to have the log.
    index: usize,
    part: Part,
    /// Whether it has done the write under way.
    is_done: bool,
    /// Failures since it had all of the log; or, while no other drive has, since its last write
    /// that was done.
    failures: u8,
    /// The mark that is on its way to it, if it is stale.
    mark: Option<Vec<u8>>,
}

/// What of the log a drive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All.
    Whole,
    /// All but these, which are written again: the control block, the youngest record.
    Lacks { control: bool, youngest: bool },
    /// Another log, which is to be marked as such.
    Stale,
    /// All from the record with this number on, and no control block.
    Since(u64),
}

/// What the write under way is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderWay {
    /// What the log says.
    OfTheLog,
    /// The control block that recovery has found, to drives that lack it.
    ControlAgain,
}

/// Settings of a log by its knobs, with the region that is asked for or the smallest that will do.
pub(in crate::place::eager) fn settings(
    geometry: &Geometry,
    knobs: &Knobs,
) -> Result<Settings, ConfigError> {
    let portions = (knobs.integer(PORTIONS.name) as u8).min(geometry.entries().min(16) as u8);
    let fitting = Settings::fitting(geometry).map_err(refused)?;
    let (home, nvram_entries) = match knobs.choice(HOME.name) {
        "drive" => (Home::Drive, fitting.nvram_entries),
        _ => (Home::Nvram, knobs.integer(NVRAM.name) as u32),
    };
    let mut settings = Settings {
        home,
        nvram_entries,
        portions,
        ..fitting
    };
    let asked = Blocks(knobs.integer(REGION.name) * 1024 / BLOCK_BYTES);
    let least = settings.region_min(geometry).map_err(refused)?;
    if asked.0 > 0 && asked.0 < least.0 {
        let allowed = format!("0, or at least {}", (least.bytes()).div_ceil(1024));
        let kib = (asked.bytes() / 1024).to_string();
        return Err(ConfigError::value(REGION.name, &kib, &allowed));
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
        let parts = log_drives(geometry).map(|drive| (drive, Part::Whole));
        Ok(LogStore::of(log, region, parts))
    }

    fn of(log: MapLog, region: Region, parts: impl Iterator<Item = (DriveId, Part)>) -> LogStore {
        let drives = parts.enumerate().map(|(index, (drive, part))| LogDrive {
            drive,
            index,
            part,
            is_done: false,
            failures: 0,
            mark: None,
        });
        LogStore {
            log,
            region,
            drives: drives.collect(),
            under_way: UnderWay::OfTheLog,
            left: 0,
            waiting: VecDeque::new(),
            unrecorded: 0,
            again: on_drive::Again::default(),
            control: (Blocks(0), Vec::new()),
        }
    }

    /// What survived, read back: the map, and the log to go on with. `home`: as the knobs have it.
    pub(in crate::place::eager) fn recover(
        geometry: &Geometry,
        home: Home,
        region: Region,
        survivors: &dyn Survivors,
    ) -> Result<(Vec<Slot>, LogStore), VolumeError> {
        let (map, store) = match home {
            Home::Nvram => in_nvram::recover(geometry, region, survivors)?,
            Home::Drive => on_drive::recover(geometry, region, survivors)?,
        };
        let slots = map.copies.concat().into_iter().map(Slot).collect();
        Ok((slots, store))
    }

    /// A drive has done its part of the write under way, or is given up.
    fn one_is_done(&mut self) {
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        self.drives
            .iter_mut()
            .for_each(|drive| drive.is_done = false);
        if self.under_way == UnderWay::OfTheLog {
            self.log.written();
        }
        if self.log.settings().home == Home::Nvram {
            self.come_whole();
        }
    }

    fn known(&mut self, drive: DriveId) -> &mut LogDrive {
        let mut drives = self.drives.iter_mut();
        let known = drives.find(|other| other.drive == drive);
        known.expect("it has the log")
    }

    /// The same write to drives, or to some of them.
    fn write_to(
        &mut self,
        (offset, len): (Blocks, Blocks),
        goes: impl Fn(&LogDrive) -> bool,
        out: &mut Vec<MapWrite>,
    ) {
        let target = Target::At(self.region.first + offset);
        let drives = self.drives.iter().filter(|drive| goes(drive));
        let before = out.len();
        out.extend(drives.map(|LogDrive { drive, .. }| MapWrite {
            drive: *drive,
            target,
            len,
        }));
        self.left = out.len() - before;
    }
}

impl MapStore for LogStore {
    fn nvram(&self) -> &[u8] {
        self.log.nvram().bytes()
    }

    fn recovery(&self, _map: &Map, out: &mut Vec<RecoveryRead>) {
        match self.log.settings().home {
            Home::Nvram => in_nvram::recovery(self, out),
            Home::Drive => on_drive::recovery(self, out),
        }
    }

    /// It waits if nothing can be recorded now, or others wait for that; and if its record is in
    /// memory alone.
    fn change(&mut self, tag: Tag, entry: Entry) -> When {
        if self.unrecorded > 0 || self.log.is_full() || !self.is_whole_beside(None) {
            self.unrecorded += 1;
        } else {
            self.log.record(entry);
            if self.log.at_risk() == 0 {
                return When::Now;
            }
        }
        self.waiting.push_back((tag, entry));
        When::Later
    }

    fn settled(&mut self, map: &Map) -> Option<Tag> {
        if self.nothing_is_safe() {
            return None;
        }
        let recorded = self.waiting.len() - self.unrecorded;
        if recorded > self.log.at_risk() {
            return self.waiting.pop_front().map(|(tag, _)| tag);
        }
        if recorded > 0 || self.log.is_full() {
            return None;
        }
        let (tag, entry) = self.waiting.pop_front()?;
        self.unrecorded -= 1;
        // What was discarded while it waited need not be discarded again.
        if Slot(entry.slot) != NOWHERE || map.holds(entry.chunk) {
            self.log.record(entry);
        }
        Some(tag)
    }

    fn next_writes(
        &mut self,
        _now: Instant,
        _drives: &dyn Drives,
        map: &Map,
        out: &mut Vec<MapWrite>,
    ) {
        self.mark(out);
        if self.left > 0 || self.mends(out) {
            return;
        }
        self.tell_lacking();
        let is_stale = |drive: &LogDrive| drive.part == Part::Stale;
        while self.left == 0 && !self.drives.iter().all(is_stale) {
            let Some(LogWrite {
                offset,
                bytes,
                is_control,
            }) = self.log.next_write(map)
            else {
                return;
            };
            let len = Blocks(bytes.len() as u64 / BLOCK_BYTES);
            let oldest = self.log.oldest_number();
            let goes = |drive: &LogDrive| match is_control {
                true => drive.may_have_control(oldest),
                false => !is_stale(drive),
            };
            self.write_to((offset, len), goes, out);
            if self.left == 0 {
                // No drive may have a control block yet.
                self.log.written();
            }
        }
    }

    fn content(&self, drive: DriveId) -> &[u8] {
        let mut drives = self.drives.iter().filter(|of| of.drive == drive);
        if let Some(mark) = drives.find_map(|of| of.mark.as_ref()) {
            return mark;
        }
        match self.under_way {
            UnderWay::ControlAgain => &self.control.1,
            UnderWay::OfTheLog => {
                let write = self.log.under_way();
                write.expect("a log write is under way").bytes
            }
        }
    }

    fn written(&mut self, drive: DriveId, _slot: Slot) -> Option<Slot> {
        let write = self.log.under_way();
        let again = self.under_way == UnderWay::ControlAgain;
        let is_control = again || write.is_some_and(|write| write.is_control);
        let was_whole = self.is_whole_beside(None);
        let is_last = !self.is_whole_beside(Some(drive));
        let known = self.known(drive);
        if is_last {
            known.failures = 0;
        }
        if known.part == Part::Stale {
            self.was_marked(drive);
            return None;
        }
        known.is_done = true;
        known.part = match known.part {
            Part::Since(_) if is_control => Part::Whole,
            Part::Lacks { youngest: true, .. } if again => Part::Lacks {
                control: false,
                youngest: true,
            },
            Part::Lacks { .. } => Part::Whole,
            part => part,
        };
        if known.part == Part::Whole {
            known.failures = 0;
        }
        if is_control {
            self.again.forget(drive);
        }
        self.one_is_done();
        if !was_whole && self.is_whole_beside(None) {
            self.record_again();
        }
        None
    }

    /// The region has one place for it, so what failed is written again there. A drive that does
    /// not answer is [set aside](aside); one that fails again and again, or is gone, has no log
    /// from now on: what lies there is older than NVRAM or the other drive says, so recovery passes
    /// it over.
    fn failed(&mut self, drive: DriveId, failure: Failure) -> Retry {
        let others = self.is_whole_beside(Some(drive));
        let waits = self.log.settings().home == Home::Drive;
        let known = self.known(drive);
        known.failures += 1;
        let given_up = failure == Failure::Gone || known.failures >= TRIES;
        let is_stale = known.part == Part::Stale;
        let set_aside = waits && others && failure == Failure::TimedOut && !is_stale;
        if !given_up && !set_aside {
            return Retry::Again;
        }
        known.part = Part::Stale;
        if given_up {
            self.drives.retain(|other| other.drive != drive);
        }
        self.again.forget(drive);
        if self.drives.is_empty() || !waits && !others {
            self.waiting.clear();
            self.unrecorded = 0;
            return Retry::Lost;
        }
        if !others {
            self.begin_anew();
        }
        self.tell_lacking();
        if !is_stale {
            self.one_is_done();
        }
        Retry::Next
    }

    fn spares(&self, gone: &Gone) -> bool {
        let mut left = self.drives.iter().filter(|known| !gone.has(known.drive));
        left.any(|known| known.part == Part::Whole)
    }

    /// No slot is its own: those in the region were never free.
    fn audit(&self, _own: &mut dyn FnMut(DriveId, Slot)) {
        self.log.audit();
    }
}
