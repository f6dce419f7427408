//! The way back of a log that is at home in NVRAM: that says how far the log has come, so any drive
//! with the log will do.

use super::{LogDrive, LogStore, Part, log_drives};
use crate::ids::DriveId;
use crate::io::RecoveryRead;
use crate::maplog::{Geometry, Map, Nvram, Recovered, Recovery};
use crate::place::eager::region::Region;
use crate::registry::{Survivors, VolumeError};

/// A drive whose log is damaged is passed over if another one has it too.
pub(super) fn recover(
    geometry: &Geometry,
    region: Region,
    survivors: &dyn Survivors,
) -> Result<(Map, LogStore), VolumeError> {
    let mut failure = None;
    for drive in log_drives(geometry) {
        match read_log(geometry, region, drive, survivors) {
            Ok(Recovered { map, log, .. }) => {
                let parts = log_drives(geometry).map(|drive| (drive, Part::Whole));
                return Ok((map, LogStore::of(log, region, parts)));
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.expect("there is a drive with a log"))
}

/// From the first drive that has the log: another one is read only if this one is damaged. Nothing
/// if all were given up, as the map is lost.
pub(super) fn recovery(store: &LogStore, out: &mut Vec<RecoveryRead>) {
    let Some(LogDrive { drive, .. }) = store.drives.first() else {
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
