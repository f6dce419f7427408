//! Arrays that served without one of their drives: for how long, and whether anything took its place.
//!
//! Of an array that stands in for a drive that is gone no request fails, and its times are longer: nothing else in the results says why. One that still is without
//! the drive when the run ends has lived in that state: one drive more that goes may take data with it. Which placements can stand in for a drive
//! they say themselves ([`Shape::spared`](nearslot_core::contract::Shape)); of all others the requests fail that need the drive, and that is told.

use nearslot_core::contract::{Faults, Placement};
use nearslot_core::registry::Kind;

use super::{AtEnd, gone_from};
use crate::number::{counted, list, seconds};
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// That an array which can lose a drive was without one up to the end of the run.
pub(super) fn degraded(run: &Run, at_end: &AtEnd) -> Option<Warning> {
    let noticed = run.happened(<dyn Faults as Kind>::CARD.key, "failed_gone");
    if at_end.gone.is_empty() || at_end.spared == 0 || !noticed {
        return None;
    }
    let key = <dyn Placement as Kind>::CARD.key;
    let count = |name: &str| run.measure(key, name).map(|number| number.value() as u64);
    let spares = count("spares_taken");
    let under_way = at_end.rebuilding.0 > 0;
    let all_replaced = spares.is_some_and(|taken| taken >= at_end.gone.len() as u64);
    if all_replaced && !under_way {
        return None;
    }
    let name = run.config[key]["name"].as_str().unwrap_or_default();
    let why = match spares {
        None => format!("nothing was rebuilt, as {name} has no spare drives"),
        Some(_) if under_way => {
            let left = counted(count("rebuild_left_blocks").unwrap_or(0), "block");
            let how = match run.config[key]["rebuild_mib_s"].as_f64() {
                Some(rate) if rate > 0.0 => format!("at rebuild_mib_s = {rate} or more"),
                _ => "in spare time alone (rebuild_mib_s = 0)".to_owned(),
            };
            format!("its spare was being rebuilt {how}, and {left} were left")
        }
        Some(_) => "no spare took its place (spares of the placement)".to_owned(),
    };
    let end_s = at_end.end.0 as f64 / 1e9;
    let begin_s = end_s - run.duration_s;
    // Spares took the places of those that went first; of a rebuild under way the drive counts as gone.
    let replaced = spares.unwrap_or(0).saturating_sub(u64::from(under_way));
    let mut gone = at_end.gone.clone();
    gone.sort_unstable_by_key(|(drive, from)| (*from, *drive));
    let lacking = gone.iter().skip(replaced as usize);
    let drives = lacking.map(|(drive, from)| {
        let lacked = end_s - (from.0 as f64 / 1e9).max(begin_s);
        format!(
            "{}, for {} of the {} that were measured",
            gone_from(*drive, *from),
            seconds(lacked),
            seconds(run.duration_s)
        )
    });
    let drives: Vec<String> = drives.collect();
    let text = format!(
        "the array was degraded up to the end: {}; {why}",
        list(&drives)
    );
    Some(Warning::new(WarningKind::Degraded, text).of_run(&run.label))
}
