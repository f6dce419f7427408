//! Schedulers for writes whose place is left open, where no place is.
//!
//! They stand beside each other in comparisons of placements, so it is no mistake to name one over
//! a placement that leaves nothing open. But there they decide as others do, and who compares them
//! sees that all do the same and not why.

use nearslot_core::contract::{OFFERED, OPEN, Placement, Scheduler};
use nearslot_core::registry::{ConfigError, Of};

use crate::grid::Point;
use crate::number::list;
use crate::warning::{Warning, WarningKind};

/// That schedulers have no effect of their own, of each of both kinds: those for open writes, and
/// those for range writes.
pub(super) fn without_places(points: &[Point]) -> Result<Vec<Warning>, ConfigError> {
    let mut warnings = Vec::new();
    for key in [OPEN, OFFERED] {
        let (mut scheds, mut places): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for point in points {
            let parts = &point.scenario.parts;
            let sched = Of::<dyn Scheduler>::KIND.find(&parts.of::<dyn Scheduler>().name)?;
            let place = Of::<dyn Placement>::KIND.find(&parts.of::<dyn Placement>().name)?;
            let made = key == OFFERED && point.scenario.makes_range_writes();
            if sched.asks.contains(&key) && !place.asks.contains(&key) && !made {
                for (names, card) in [(&mut scheds, sched), (&mut places, place)] {
                    if !names.iter().any(|name| name == card.name) {
                        names.push(card.name.to_owned());
                    }
                }
            }
        }
        if !scheds.is_empty() {
            let text = text(key, &scheds, &places);
            warnings.push(Warning::new(WarningKind::NothingOpen, text));
        }
    }
    Ok(warnings)
}

fn text(key: &str, scheds: &[String], places: &[String]) -> String {
    let does = if scheds.len() == 1 { "does" } else { "do" };
    let (names, over) = (list(scheds), list(places));
    let there = Of::<dyn Placement>::KIND.parts().into_iter();
    let there = there.filter(|card| card.asks.contains(&key));
    let there: Vec<String> = there.map(|card| card.name.to_owned()).collect();
    let with = list(&there);
    match key {
        OPEN => format!(
            "over place={over} every write has its place, so {names} {does} nothing of its own about writes; places are left open with place={with}"
        ),
        _ => format!(
            "over place={over} no write offers several places, so {names} {does} what the scheduler would that is its base; writes offer places with place={with} \
             (--offer), or with a load of range writes, such as --workload ranges"
        ),
    }
}
