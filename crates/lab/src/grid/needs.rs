//! Settings that need something beside their own part: a rate of rebuilds needs faults, what SARC
//! says of sequences needs somebody who tells them.
//!
//! A part that is given once for all runs may have such settings if one of these has what they
//! need: with and without faults is a comparison. Of what traces ask for nothing is known before
//! they are read; `prepare` looks at that.
//!
//! What merges I/Os that wait needs two of them.

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Cache, Destage, Merging};
use nearslot_core::registry::{ConfigError, Kind, Need};

use super::Point;
use crate::scenario::{Load, Replay, Scenario};
use crate::workload;

/// Checks that what settings need is there, in one run at least that has them.
///
/// # Errors
/// The first one without effect, with what it needs.
pub(super) fn check(points: &[Point]) -> Result<(), ConfigError> {
    for need in Need::ALL {
        let with = |point: &Point| point.scenario.provides(need);
        for point in points.iter().filter(|point| !with(point)) {
            for (part, error) in point.scenario.parts.needing(need) {
                if !is_met(points, with, part) {
                    return Err(error);
                }
            }
        }
    }
    check_merging(points)
}

/// Whether one of these runs that has a part is such.
fn is_met(points: &[Point], is_such: impl Fn(&Point) -> bool, part: &PartConfig) -> bool {
    let has = |point: &Point| {
        let mut parts = point.scenario.parts.iter();
        parts.any(|(_, other)| other == part)
    };
    points.iter().any(|point| is_such(point) && has(point))
}

/// Checks that of each part that merges one run at least has two I/Os at a time.
fn check_merging(points: &[Point]) -> Result<(), ConfigError> {
    let with = |point: &Point| !has_one_at_a_time(&point.scenario);
    let key = Merging::CARD.key;
    let merging = points.iter().filter(|point| point.scenario.parts.has(key));
    for point in merging.filter(|point| !with(point)) {
        let part = point.scenario.parts.of::<Merging>();
        if !is_met(points, with, part) {
            let allowed = "none with depth = 1: where one request comes at a time, none waits that it could join";
            return Err(ConfigError::value(key, &part.to_string(), allowed));
        }
    }
    Ok(())
}

/// Whether a drive never has more than one I/O of its own to do: one request at a time, which is
/// one I/O.
fn has_one_at_a_time(scenario: &Scenario) -> bool {
    let depth = match &scenario.load {
        Load::Trace(trace) => (trace.replay == Replay::Closed).then(|| trace.depth()),
        Load::Workload(part) => workload::depth(part),
    };
    let linear = scenario
        .placement()
        .is_ok_and(|place| place.name == "linear");
    let memory = [<dyn Cache>::CARD.key, <dyn Destage>::CARD.key];
    let memory = memory.iter().any(|key| scenario.parts.has(key));
    depth == Some(1) && linear && !memory
}
