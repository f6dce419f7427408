//! The way back of a log that is at home on its drives, and what has to be done so that two of them have the same again.
//!
//! All drives with the log are read, and the one that has come further is taken: a drive that was given up has a log that is sound,
//! and old. If the one that has come further is damaged, that is told, since the other may be old.
//!
//! | What the other one has | What follows |
//! |---|---|
//! | the same | nothing |
//! | all but the youngest record, which the power cut tore there | that record is written there again, before anything else |
//! | anything else: nothing, damage, a log of an earlier life | its control blocks are erased; from then on it gets all records, and a control block when the log needs no older ones |
//!
//! To let the third kind go on where it is would not do: it may have records of the right number that are of another life. The
//! volume asks for a round of checkpoints, after which the log needs nothing older.
//!
//! One thing cannot be seen: if a drive was given up and then all that others have of the log is lost, the old log is taken.

use super::{BLANK, LogDrive, LogStore, MapWrite, Part, UnderWay, log_drives};
use crate::ids::DriveId;
use crate::io::RecoveryRead;
use crate::maplog::{CONTROLS, Damage, Fault, Geometry, Map, Reached, Recovered, Recovery};
use crate::place::eager::region::Region;
use crate::registry::{Survivors, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks};

/// What a survey reads at once.
const SURVEY: u64 = 2_048;

/// What a drive has of the log.
struct Found {
    drive: DriveId,
    /// Nothing, if there is no control block.
    reached: Option<Reached>,
    /// If it is sound.
    log: Result<Recovery, Damage>,
}

/// The log of a drive, while it is read.
struct Reader<'a> {
    drive: DriveId,
    region: Region,
    survivors: &'a dyn Survivors,
    reads: &'a mut Vec<RecoveryRead>,
    bytes: Vec<u8>,
}

impl Reader<'_> {
    fn read(&mut self, offset: Blocks, len: Blocks) -> &[u8] {
        let (drive, at) = (self.drive, self.region.first + offset);
        self.bytes.resize(len.bytes() as usize, 0);
        self.survivors.read(drive, at, &mut self.bytes);
        self.reads.push(RecoveryRead { drive, at, len });
        &self.bytes
    }

    fn find(&mut self, geometry: &Geometry) -> Result<Found, VolumeError> {
        let drive = self.drive;
        let mut recovery = match Recovery::on_drive(geometry, self.read(Blocks(0), CONTROLS)) {
            Ok(recovery) => recovery,
            Err(damage) if matches!(damage.fault, Fault::Newer { .. }) => {
                return Err(damaged(drive, damage));
            }
            Err(damage) => {
                return Ok(Found {
                    drive,
                    reached: None,
                    log: Err(damage),
                });
            }
        };
        let len = recovery.region();
        self.region.check_log("map log by its control block", len)?;
        while let Some((offset, len)) = recovery.next_read() {
            if let Err(damage) = recovery.feed(self.read(offset, len)) {
                self.survey(&mut recovery);
                return Ok(Found {
                    drive,
                    reached: Some(recovery.may_have_reached()),
                    log: Err(damage),
                });
            }
        }
        Ok(Found {
            drive,
            reached: Some(recovery.reached()),
            log: Ok(recovery),
        })
    }

    /// Looks for how far a damaged log has come.
    fn survey(&mut self, recovery: &mut Recovery) {
        let (mut at, end) = (CONTROLS.0, recovery.region().0);
        while at < end {
            let len = SURVEY.min(end - at);
            recovery.survey(self.read(Blocks(at), Blocks(len)));
            at += len;
        }
    }
}

fn damaged(drive: DriveId, why: Damage) -> VolumeError {
    VolumeError::damaged(&format!("map log of drive {}", drive.0), why)
}

/// From the log that has come furthest.
pub(super) fn recover(
    geometry: &Geometry,
    region: Region,
    survivors: &dyn Survivors,
) -> Result<(Map, LogStore), VolumeError> {
    let mut reads = Vec::new();
    let mut best: Option<Found> = None;
    let mut others = Vec::new();
    for drive in log_drives(geometry) {
        let mut reader = Reader {
            drive,
            region,
            survivors,
            reads: &mut reads,
            bytes: Vec::new(),
        };
        let found = reader.find(geometry)?;
        let further =
            |than: &Found| (found.reached, found.log.is_ok()) > (than.reached, than.log.is_ok());
        match best.as_ref().is_none_or(further) {
            true => others.extend(best.replace(found)),
            false => others.push(found),
        }
    }
    let Found { drive, log, .. } = best.expect("there is a drive with a log");
    let log = log.map_err(|why| damaged(drive, why))?;
    let mut parts = vec![(drive, Part::Whole)];
    parts.extend(others.iter().map(|other| (other.drive, part(&log, other))));
    parts.sort_by_key(|(drive, _)| *drive);
    let repeats = parts.iter().any(|(_, part)| *part == Part::AllButYoungest);
    let recovered = match repeats {
        true => log.finish_and_repeat(),
        false => log.finish(),
    };
    let Recovered { map, log, .. } = recovered.map_err(|why| damaged(drive, why))?;
    let store = LogStore {
        again: reads,
        ..LogStore::of(log, region, parts.into_iter())
    };
    Ok((map, store))
}

/// What a drive has of the log that is taken.
fn part(log: &Recovery, other: &Found) -> Part {
    let sound = other.reached.filter(|_| other.log.is_ok());
    match sound {
        Some(reached) if log.is_like(reached) => Part::Whole,
        Some(reached) if log.is_one_ahead_of(reached) => Part::AllButYoungest,
        _ => Part::Stale,
    }
}

/// From all drives that have the log. Of one that has no control block yet, the place of these is read.
pub(super) fn recovery(store: &LogStore, out: &mut Vec<RecoveryRead>) {
    let control = store.log.under_way().is_some_and(|write| write.is_control);
    for LogDrive {
        drive,
        part,
        is_done,
        ..
    } in &store.drives
    {
        let before = out.len();
        out.extend(store.again.iter().filter(|read| read.drive == *drive));
        if out.len() > before {
            continue;
        }
        let count = match part {
            Part::Whole => usize::MAX,
            _ => 1,
        };
        let read = |(offset, len)| RecoveryRead {
            drive: *drive,
            at: store.region.first + offset,
            len,
        };
        match control && *is_done {
            true => out.extend(store.log.recovery_reads_behind().take(count).map(read)),
            false => out.extend(store.log.recovery_reads().take(count).map(read)),
        }
    }
}

impl LogDrive {
    /// Whether it has all records from the oldest one on that the log needs.
    pub(super) fn may_have_control(&self, oldest: u64) -> bool {
        match self.part {
            Part::Whole => true,
            Part::Since(first) => first <= oldest,
            Part::AllButYoungest | Part::Stale => false,
        }
    }
}

impl LogStore {
    /// Writes first what makes drives with the log alike, if some are not. Whether there was something.
    pub(super) fn mends(&mut self, out: &mut Vec<MapWrite>) -> bool {
        let is = |part| move |drive: &LogDrive| drive.part == part;
        if self.drives.iter().any(is(Part::AllButYoungest)) {
            let youngest = self.log.under_way().expect("it is under way again");
            let len = Blocks(youngest.bytes.len() as u64 / BLOCK_BYTES);
            let place = (youngest.offset, len);
            self.write_to(place, is(Part::AllButYoungest), out);
            return true;
        }
        if self.drives.iter().any(is(Part::Stale)) {
            self.under_way = UnderWay::Erasing;
            let len = Blocks(BLANK.len() as u64 / BLOCK_BYTES);
            self.write_to((Blocks(0), len), is(Part::Stale), out);
            return true;
        }
        false
    }

    /// Stale logs are no logs any more: their drives get all records from now on.
    pub(super) fn join(&mut self) {
        self.under_way = UnderWay::OfTheLog;
        let next = self.log.next_number();
        let stale = self.drives.iter_mut().filter(|of| of.part == Part::Stale);
        stale.for_each(|drive| drive.part = Part::Since(next));
        self.log.checkpoint();
    }
}
