//! The way back of a log that is at home on its drives, and what has to be done so that two of them
//! have the same again.
//!
//! All drives with the log are read, and of those that are sound the one that has come further is
//! taken. One that is damaged may have come further still: then that is told, unless the one that
//! is taken has [all that was answered](Recovery::covers).
//!
//! | What the other one has | What follows |
//! |---|---|
//! | the same | nothing |
//! | the same records, but another control block or none, as the power tore it or it cannot be read | the control block is written there again, before anything else |
//! | all but the youngest record, which the power cut tore there | that record is written there again, next |
//! | anything else: nothing, damage, a log of an earlier life | it is [stale](super::aside) |
//!
//! To let the last kind go on where it is would not do: it may have records of the right number
//! that are of another life.
//!
//! One thing cannot be seen: if a drive was set aside and then all that others have of the log is
//! lost, to the last record, the old log is taken.

use super::{LogDrive, LogStore, MapWrite, Part, UnderWay, log_drives};
use crate::ids::DriveId;
use crate::io::RecoveryRead;
use crate::maplog::{
    CONTROL_LEN, Damage, Fault, Geometry, Has, Map, Recovered, Recovery, Survey, control_places,
};
use crate::place::eager::region::Region;
use crate::registry::{Survivors, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks};

/// What a survey reads at once.
const SURVEY: u64 = 2_048;

/// What a drive has of the log.
struct Found {
    drive: DriveId,
    log: Result<Recovery, Remains>,
}

/// What can be seen of a log that is damaged.
struct Remains {
    /// What is wrong.
    damage: Damage,
    /// Its way back as far as that came, if there is a control block.
    way: Option<Recovery>,
    survey: Survey,
}

/// What recovery has read, and would read again of a drive until its log is as it is to be.
#[derive(Default)]
pub(super) struct Again {
    /// Drive by drive.
    first: Vec<RecoveryRead>,
    /// Then by the control block of the log that is taken.
    second: Vec<RecoveryRead>,
}

impl Again {
    /// This drive has another log than it had.
    pub(super) fn forget(&mut self, drive: DriveId) {
        self.first.retain(|read| read.drive != drive);
        self.second.retain(|read| read.drive != drive);
    }
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
        let (drive, len) = (self.drive, self.region.len);
        let [even, odd] = control_places(len).map(|at| self.read(at, CONTROL_LEN).to_vec());
        let mut way = match Recovery::on_drive(geometry, len, [&even, &odd]) {
            Ok(way) => way,
            Err(damage) if matches!(damage.fault, Fault::Newer { .. }) => {
                return Err(damaged(drive, damage));
            }
            Err(damage) => {
                let survey = self.survey(geometry);
                let log = Err(Remains {
                    damage,
                    way: None,
                    survey,
                });
                return Ok(Found { drive, log });
            }
        };
        self.region
            .check_log("map log by its control block", way.region())?;
        let log = match self.walk(&mut way) {
            Ok(()) => Ok(way),
            Err(damage) => Err(Remains {
                damage,
                way: Some(way),
                survey: self.survey(geometry),
            }),
        };
        Ok(Found { drive, log })
    }

    fn walk(&mut self, way: &mut Recovery) -> Result<(), Damage> {
        while let Some((offset, len)) = way.next_read() {
            way.feed(self.read(offset, len))?;
        }
        Ok(())
    }

    /// Looks for how far a damaged log has come.
    fn survey(&mut self, geometry: &Geometry) -> Survey {
        let mut survey = Survey::new(geometry);
        let (mut at, end) = (0, self.region.len.0);
        while at < end {
            let len = SURVEY.min(end - at);
            survey.look(self.read(Blocks(at), Blocks(len)));
            at += len;
        }
        survey
    }
}

impl Found {
    /// The highest number that a control block there may have. One that cannot be read may be the next
    /// after that which the youngest records follow.
    fn control(&self, near: u64) -> u64 {
        match &self.log {
            Ok(log) => log.control_at_most(),
            Err(Remains { way, survey, .. }) => {
                let read = way.as_ref().map_or(0, Recovery::control_at_most);
                let told = survey.reached(if read > 0 { read } else { near });
                read.max(told.map_or(0, |told| told.control + 1))
            }
        }
    }
}

fn damaged(drive: DriveId, why: Damage) -> VolumeError {
    VolumeError::damaged(&format!("map log of drive {}", drive.0), why)
}

/// The sound log that has come furthest, and the other drives.
fn furthest(mut all: Vec<Found>) -> Result<(DriveId, Recovery, Vec<Found>), VolumeError> {
    let reached = |found: &Found| Some(found.log.as_ref().ok()?.reached());
    let mut best = 0;
    for index in 1..all.len() {
        if reached(&all[index]) > reached(&all[best]) {
            best = index;
        }
    }
    let Found { drive, log } = all.remove(best);
    let log = log.map_err(|remains| damaged(drive, remains.damage))?;
    for other in &all {
        let Err(remains) = &other.log else {
            continue;
        };
        if !remains.damage.is_mark() && !log.covers(best, remains.way.as_ref(), &remains.survey) {
            let (other, taken) = (other.drive.0, drive.0);
            let what = format!(
                "map log of drive {other}, beside which that of drive {taken} may lack something,"
            );
            return Err(VolumeError::damaged(&what, remains.damage.clone()));
        }
    }
    Ok((drive, log, all))
}

/// From the log that has come furthest.
pub(super) fn recover(
    geometry: &Geometry,
    region: Region,
    survivors: &dyn Survivors,
) -> Result<(Map, LogStore), VolumeError> {
    let mut again = Again::default();
    let mut all = Vec::new();
    for drive in log_drives(geometry) {
        let reads = &mut again.first;
        let mut reader = Reader {
            drive,
            region,
            survivors,
            reads,
            bytes: Vec::new(),
        };
        all.push(reader.find(geometry)?);
    }
    let (drive, mut log, others) = furthest(all)?;
    let mut parts = vec![(drive, Part::Whole)];
    for other in &others {
        let mut reader = Reader {
            drive: other.drive,
            region,
            survivors,
            reads: &mut again.second,
            bytes: Vec::new(),
        };
        parts.push((other.drive, part(&log, other, &mut reader)));
        log.outdo(other.control(log.reached().control));
    }
    parts.sort_by_key(|(drive, _)| *drive);
    let lacks = |part: &Part| matches!(part, Part::Lacks { youngest: true, .. });
    let repeats = parts.iter().any(|(_, part)| lacks(part));
    let control = log.control_block();
    let recovered = match repeats {
        true => log.finish_and_repeat(),
        false => log.finish(),
    };
    let Recovered { map, log, .. } = recovered.map_err(|why| damaged(drive, why))?;
    let store = LogStore {
        again,
        control,
        ..LogStore::of(log, region, parts.into_iter())
    };
    Ok((map, store))
}

/// What a drive has of the log that is taken.
fn part(log: &Recovery, other: &Found, reader: &mut Reader<'_>) -> Part {
    let own = other.log.as_ref().ok().filter(|own| log.has_control(own));
    let (has, control) = match own {
        Some(own) => (log.has(own), true),
        None => {
            let mut way = log.of_another_drive();
            match reader.walk(&mut way) {
                Ok(()) => (log.has(&way), false),
                Err(_) => (Has::Less, false),
            }
        }
    };
    match (has, control) {
        (Has::All, true) => Part::Whole,
        (Has::Less, _) => Part::Stale,
        (has, control) => Part::Lacks {
            control: !control,
            youngest: has == Has::AllButYoungest,
        },
    }
}

/// From all drives that have the log. Of one that is not whole, what is read besides follows from
/// what lies there. So it is what was read when the volume came back, and only nearly what would be
/// read now if another drive has got a younger control block since.
pub(super) fn recovery(store: &LogStore, out: &mut Vec<RecoveryRead>) {
    let control = store.log.under_way().is_some_and(|write| write.is_control);
    let is_ahead = control && store.drives.iter().any(|drive| drive.is_done);
    let controls = control_places(store.region.len).len();
    let mut second = Vec::new();
    for LogDrive {
        drive,
        part,
        is_done,
        ..
    } in &store.drives
    {
        let read = |(offset, len)| RecoveryRead {
            drive: *drive,
            at: store.region.first + offset,
            len,
        };
        if is_ahead && !is_done && *part == Part::Whole {
            let behind = store.log.recovery_reads_behind();
            second.extend(behind.skip(controls).map(read));
        }
        let before = out.len();
        let again = store.again.first.iter();
        out.extend(again.filter(|read| read.drive == *drive));
        if out.len() > before {
            continue;
        }
        let count = match part {
            Part::Whole => usize::MAX,
            _ => controls,
        };
        match control && *is_done {
            true => out.extend(store.log.recovery_reads_behind().take(count).map(read)),
            false => out.extend(store.log.recovery_reads().take(count).map(read)),
        }
    }
    out.extend(&store.again.second);
    out.append(&mut second);
}

impl LogStore {
    /// Writes first what makes drives with the log alike, if some lack something. Whether there was
    /// something.
    pub(super) fn mends(&mut self, out: &mut Vec<MapWrite>) -> bool {
        let lacks_control = |of: &LogDrive| matches!(of.part, Part::Lacks { control: true, .. });
        let lacks_youngest = |of: &LogDrive| matches!(of.part, Part::Lacks { youngest: true, .. });
        if self.drives.iter().any(lacks_control) {
            self.under_way = UnderWay::ControlAgain;
            let (offset, block) = &self.control;
            let place = (*offset, Blocks(block.len() as u64 / BLOCK_BYTES));
            self.write_to(place, lacks_control, out);
            return true;
        }
        self.under_way = UnderWay::OfTheLog;
        if self.drives.iter().any(lacks_youngest) {
            let youngest = self.log.under_way().expect("it is under way again");
            let place = (
                youngest.offset,
                Blocks(youngest.bytes.len() as u64 / BLOCK_BYTES),
            );
            self.write_to(place, lacks_youngest, out);
            return true;
        }
        // The drives that lacked it were set aside.
        if self.log.under_way().is_some() {
            self.log.written();
        }
        false
    }
}
