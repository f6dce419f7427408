//! For tests of placements: drives that all have something to do, so that nobody asks what their
//! time costs.

use crate::contract::{Drives, Oracle};
use crate::ids::DriveId;

/// No drive is idle.
pub(super) struct Busy;

impl Drives for Busy {
    fn idle(&self, _drive: DriveId) -> bool {
        false
    }

    fn waiting(&self, _drive: DriveId) -> usize {
        1
    }

    fn oracle(&self, _drive: DriveId) -> &dyn Oracle {
        panic!("none is idle")
    }
}
