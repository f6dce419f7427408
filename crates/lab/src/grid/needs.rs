//! Settings that need something beside their own part: a rate of rebuilds needs faults, what SARC
//! says of sequences needs somebody who tells them.
//!
//! A part that is given once for all runs may have such settings if one of these has what they
//! need: with and without faults is a comparison. Of what traces ask for nothing is known before
//! they are read; `prepare` looks at that.

use nearslot_core::config::PartConfig;
use nearslot_core::registry::{ConfigError, Need};

use super::Point;

/// Checks that what settings need is there, in one run at least that has them.
///
/// # Errors
/// The first one without effect, with what it needs.
pub(super) fn check(points: &[Point]) -> Result<(), ConfigError> {
    for need in Need::ALL {
        let with = |point: &&Point| point.scenario.provides(need);
        let has = |point: &Point, part: &PartConfig| {
            let mut parts = point.scenario.parts.iter();
            parts.any(|(_, other)| other == part)
        };
        for point in points.iter().filter(|point| !with(point)) {
            for (part, error) in point.scenario.parts.needing(need) {
                let mut met = points.iter().filter(with);
                if !met.any(|point| has(point, part)) {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
