//! Drives that are gone, as a placement has learned.
//!
//! A drive that is gone says so at the first command that is sent to it ([`Failure::Gone`]). That
//! is final: the stack takes whatever it answers later for the same. A placement with copies
//! elsewhere sends it nothing more: no read, no copy, no flush. What lies there alone is asked for
//! all the same, so that its request fails with that failure. A drive stays gone until the volume
//! is opened again; then it is found out anew.
//!
//! O(1).

use crate::contract::Degraded;
use crate::ids::DriveId;
use crate::op::{Failure, Status};

/// Which drives of a volume are gone.
pub(super) struct Gone {
    drives: Vec<bool>,
    count: usize,
}

impl Gone {
    /// Of so many drives, none.
    pub(super) fn none(drives: u16) -> Gone {
        Gone {
            drives: vec![false; drives.into()],
            count: 0,
        }
    }

    /// Whether there is one.
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    pub(super) fn has(&self, drive: DriveId) -> bool {
        self.drives[drive.index()]
    }

    /// Notes how a command has ended. Whether its drive is gone, and nobody knew.
    pub(super) fn learn(&mut self, drive: DriveId, status: Status) -> bool {
        let new = status == Status::Failed(Failure::Gone) && !self.has(drive);
        if new {
            self.drives[drive.index()] = true;
            self.count += 1;
        }
        new
    }

    /// Each place of a volume with copies that lacks what it should have, if it can lose so many
    /// drives: those of the drives that are gone, as none takes the place of one.
    pub(super) fn degraded(&self, losable: u16) -> Vec<Degraded> {
        let drives = self.drives.iter().zip(0..);
        let gone = drives.filter(|(gone, _)| **gone && losable > 0);
        let lacks = |(_, drive)| Degraded {
            array: None,
            drive: DriveId(drive),
            spent: Vec::new(),
            replaced: None,
        };
        gone.map(lacks).collect()
    }

    /// The drives that are left.
    pub(super) fn left(&self) -> impl Iterator<Item = DriveId> {
        let drives = self.drives.iter().zip(0..);
        drives.filter_map(|(gone, drive)| (!gone).then_some(DriveId(drive)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_gone_when_it_says_so() {
        let mut gone = Gone::none(3);
        assert!(!gone.learn(DriveId(1), Status::Done));
        assert!(!gone.learn(DriveId(1), Status::Failed(Failure::TimedOut)));
        assert!(!gone.any());
        assert!(gone.learn(DriveId(1), Status::Failed(Failure::Gone)));
        assert!(!gone.learn(DriveId(1), Status::Failed(Failure::Gone)));
        assert!(gone.any());
        assert!(gone.has(DriveId(1)));
        assert!(!gone.has(DriveId(2)));
        assert!(gone.left().eq([DriveId(0), DriveId(2)]));
        let lacks = |losable| gone.degraded(losable).into_iter().map(|one| one.drive);
        assert!(lacks(1).eq([DriveId(1)]));
        assert!(lacks(0).next().is_none(), "nothing stands in for it");
    }
}
