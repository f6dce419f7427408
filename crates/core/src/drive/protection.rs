//! Protection information: a guard and a tag that a drive keeps beside each sector, in one atom
//! with its data.
//!
//! A sector has 520 bytes: 512 of data, a checksum of these (the guard), and the address that they
//! were written for (the reference tag). The drive writes all of them at once and looks at them
//! with each read. So a sector that rotted, or that a write to another address has overwritten, is
//! not passed on as if it were sound: the read fails with
//! [`Failure::Medium`](crate::op::Failure::Medium). That is the name for it because who hears it
//! has the same to do: the place is bad, others are as good as before, and writing there mends it.
//! [`MEASURES`](crate::fault::MEASURES) count such reads apart.
//!
//! What is not seen: a write that was lost, one that went elsewhere, at the place that it did not
//! reach, and sectors that a torn write did not reach. There the older sector is sound, with the
//! right tag.
//!
//! Source: T10, SBC-3, protection information of type 1. Departures: the sectors hold 512 bytes for
//! their users and take no longer, and nothing is checked on the way from the host (DIX), since no
//! fault happens there.

use crate::contract::Faults;
use crate::ids::DriveId;
use crate::registry::{ConfigError, Knob, KnobValue, Knobs};

/// The knob of the kinds of drives that may have it: disks, and drives of which only times are
/// known. A drive without a medium has no sectors, and what keeps a cloud volume is not told.
pub(crate) const PROTECTION: Knob = Knob::choice(
    "protection",
    "off",
    &["off", "on"],
    "on: sectors of 520 bytes, with a checksum and the address that they were written for: a read of a sector that has rotted, \
     or that a write to another address has overwritten, fails; off: it brings what lies there",
);

/// Whether sectors are protected. A kind of drive without the knob has none.
pub(crate) fn is_on(knobs: &Knobs) -> bool {
    let on = |(key, value): (&str, &KnobValue)| {
        key == PROTECTION.name && *value == KnobValue::Text("on".to_owned())
    };
    knobs.iter().any(on)
}

/// Says that it has no effect where it is on, as nothing goes wrong on any drive, or nothing that
/// it sees.
///
/// # Errors
/// It has none.
pub(crate) fn check(faults: &dyn Faults, drives: u16) -> Result<(), ConfigError> {
    let any =
        |of: fn(&dyn Faults, DriveId) -> bool| (0..drives).any(|drive| of(faults, DriveId(drive)));
    if any(|faults, drive| faults.leave_traces(drive)) {
        return Ok(());
    }
    let allowed = match any(|faults, drive| faults.concern(drive)) {
        false => "off, as nothing goes wrong on the drives (faults = none)",
        true => {
            "off, as nothing goes wrong that it sees: sectors that rot (rot_per_tib), and blocks that a write to another \
             place has overwritten (misdirected_share)"
        }
    };
    Err(ConfigError::value(PROTECTION.name, "on", allowed))
}
