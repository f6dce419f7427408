//! The way back of a log that is at home in NVRAM: that says how far the log has come, and which
//! drives have all of it, so any of these will do.
//!
//! A drive whose log is damaged is passed over if another one has it too. From then on it is [on its
//! way](super::aside), and so is one that was given up before: it gets all records that are written
//! now, and a round of checkpoints makes it whole. Such a round is written, too, if some of the log
//! that was read is damaged, and an older portion made up for that.

use super::{LogDrive, LogStore, Part, log_drives};
use crate::ids::DriveId;
use crate::io::RecoveryRead;
use crate::maplog::{Geometry, Lacking, Map, Nvram, Recovered, Recovery};
use crate::place::eager::region::Region;
use crate::registry::{Survivors, VolumeError};

/// From the first drive that has all of the log; from one that was given up only if no other one
/// can be read.
pub(super) fn recover(
    geometry: &Geometry,
    region: Region,
    survivors: &dyn Survivors,
) -> Result<(Map, LogStore), VolumeError> {
    let mut recovery = begin(geometry, survivors)?;
    let lacking = recovery.lacking();
    let all: Vec<DriveId> = log_drives(geometry).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| lacking[*index]);
    let mut is_damaged: Lacking = [false; 2];
    let mut failure = None;
    for index in order {
        match read_log(recovery, region, all[index], survivors) {
            Ok(found) => {
                let behind = |other| lacking[other] || is_damaged[other] || found.has_more;
                let behind = (0..all.len()).map(|other| other != index && behind(other));
                return Ok(go_on(&all, behind.collect(), found, region));
            }
            Err(error) => {
                is_damaged[index] = true;
                failure = failure.or(Some(error));
                recovery = begin(geometry, survivors)?;
            }
        }
    }
    Err(failure.expect("there is a drive with a log"))
}

/// The log goes on, on all drives that are to have it. `behind`: which of them do not have all.
fn go_on(
    drives: &[DriveId],
    behind: Vec<bool>,
    Recovered {
        map,
        mut log,
        notes,
        ..
    }: Recovered,
    region: Region,
) -> (Map, LogStore) {
    if behind.contains(&true) || !notes.is_empty() {
        log.checkpoint();
    }
    let since = Part::Since(log.next_number());
    let parts = behind.into_iter().map(|is_behind| match is_behind {
        true => since,
        false => Part::Whole,
    });
    let parts = drives.iter().copied().zip(parts);
    let mut store = LogStore::of(log, region, parts);
    store.tell_lacking();
    (map, store)
}

/// From the first drive that has all of the log: another one is read only if this one is damaged.
/// Nothing if all were given up, as the map is lost.
pub(super) fn recovery(store: &LogStore, out: &mut Vec<RecoveryRead>) {
    let is_whole = |of: &&LogDrive| of.part == Part::Whole;
    let Some(LogDrive { drive, .. }) = store.drives.iter().find(is_whole) else {
        return;
    };
    let first = store.region.first;
    let reads = store.log.recovery_reads();
    out.extend(reads.map(|(offset, len)| RecoveryRead {
        drive: *drive,
        at: first + offset,
        len,
    }));
}

/// What NVRAM says.
fn begin(geometry: &Geometry, survivors: &dyn Survivors) -> Result<Recovery, VolumeError> {
    let nvram = Nvram::from_bytes(survivors.nvram().to_vec());
    Recovery::new(geometry, nvram).map_err(|why| VolumeError::damaged("NVRAM", why))
}

/// Recovery from one drive's log.
fn read_log(
    mut recovery: Recovery,
    region: Region,
    drive: DriveId,
    survivors: &dyn Survivors,
) -> Result<Recovered, VolumeError> {
    let place = format!("map log of drive {}", drive.0);
    region.check_log("map log by NVRAM", recovery.region())?;
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
