//! Where the next write of a log goes, by a measured table.
//!
//! A skip counts from the begin of the last 4 KiB that were written, so the slot behind them lies 4
//! KiB away, and each further one a slot more. The skips are gone through from the quickest on
//! after the time that has passed, and the first whose run of slots is free is taken; behind the
//! end of the region its begin follows, of which the table knows nothing. If the table has none
//! that is free, it is the next run that is, beyond it.
//!
//! At most a look at each slot that the table speaks of.

use nearslot_core::units::Duration;

use super::{Log, PAYLOAD_BLOCKS, Profile, SLOT_BLOCKS};

/// The slot where a write of so many blocks is quickest, so long after one that ended before slot
/// `end`; none if no run is long enough.
pub fn quickest(
    log: &Log,
    profile: &Profile,
    (end, think): (u64, Duration),
    count: u64,
) -> Option<u64> {
    // How many slots behind the last write begin at less than this skip.
    let below = |skip: u64| skip.saturating_sub(PAYLOAD_BLOCKS).div_ceil(SLOT_BLOCKS);
    for skips in profile.quickest(think) {
        let mut ahead = below(skips.start)..below(skips.end);
        let free = ahead.find(|ahead| log.fits((end + ahead) % log.slots(), count));
        if let Some(ahead) = free {
            return Some((end + ahead) % log.slots());
        }
    }
    let grid = profile.grid();
    let beyond = end + below(grid.skips * grid.skip_step);
    log.next(beyond % log.slots(), count)
}
