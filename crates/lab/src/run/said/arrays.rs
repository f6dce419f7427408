//! Arrays that served without one of their drives: which, since when, and whether anything took its
//! place.
//!
//! Of an array that stands in for a drive that is gone no request fails, and its times are longer:
//! nothing else in the results says why. One that still is without the drive when the run ends has
//! lived in that state: one drive more that goes may take data with it. Which places lack what, the
//! placement says ([`Degraded`]); of placements that can lose no drive requests fail that need the
//! drive, and that is told.
//!
//! Of volumes with copies it is told, too, how many chunks have one good copy left, or none.

use nearslot_core::contract::{Degraded, FewCopies, Placement, Replaced};
use nearslot_core::registry::Kind;
use serde_json::Value;

use super::at_end::AtEnd;
use super::faults::gone_from;
use crate::number::{counted, grouped, number, seconds};
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// That arrays lack drives at the end of the run: a warning for each place, in the order in which
/// their drives went.
pub(super) fn degraded(run: &Run, at_end: &AtEnd) -> impl Iterator<Item = Warning> {
    let mut places: Vec<&Degraded> = at_end.degraded.iter().collect();
    places.sort_by_key(|place| at_end.gone_from(place.drive));
    places.into_iter().map(|place| {
        let text = format!(
            "{} was degraded up to the end: {}; {}",
            array(run, place),
            since(run, at_end, place),
            why(run, place)
        );
        Warning::new(WarningKind::Degraded, text).of_run(&run.label)
    })
}

/// That chunks of a volume with copies have one good copy at the end of the run, or none.
pub(super) fn few_copies(run: &Run, at_end: &AtEnd) -> Vec<Warning> {
    let Some(FewCopies { one, none, chunk }) = at_end.few else {
        return Vec::new();
    };
    let kib = number(chunk.bytes() as f64 / 1_024.0);
    let told = |chunks: u64, kind, what: &str| {
        let chunks = match chunks {
            1 => format!("1 chunk of {kib} KiB has"),
            many => format!("{} chunks of {kib} KiB have", grouped(many)),
        };
        Warning::new(kind, format!("{chunks} {what}")).of_run(&run.label)
    };
    let one = (one > 0).then(|| {
        let what = "one good copy left at the end of the run: the drives of the others are gone, or commands \
                    for them failed, and nothing writes them again";
        told(one, WarningKind::FewCopies, what)
    });
    let none = (none > 0).then(|| {
        let what = "no good copy left at the end of the run: what clients wrote there may be lost";
        told(none, WarningKind::LostBlocks, what)
    });
    one.into_iter().chain(none).collect()
}

fn config(run: &Run) -> &Value {
    &run.config[<dyn Placement as Kind>::CARD.key]
}

/// Which array that is.
fn array(run: &Run, place: &Degraded) -> String {
    match place.array {
        None => "the array".to_owned(),
        Some(array) => {
            let arrays = config(run)["arrays"].as_u64().unwrap_or_default();
            format!("array {array} (of 0 to {})", arrays.saturating_sub(1))
        }
    }
}

/// Which drives went, and for how long the place has lacked something.
fn since(run: &Run, at_end: &AtEnd, place: &Degraded) -> String {
    let from = at_end.gone_from(place.drive);
    let end_s = at_end.end.0 as f64 / 1e9;
    let lacked = end_s - (from.0 as f64 / 1e9).max(end_s - run.duration_s);
    let mut drives = gone_from(place.drive, from);
    for spare in &place.spent {
        let spare_gone = gone_from(*spare, at_end.gone_from(*spare));
        drives += &format!(", and {spare_gone}, before it had all as its spare");
    }
    format!(
        "{drives}, for {} of the {} that were measured",
        seconds(lacked),
        seconds(run.duration_s)
    )
}

/// What has taken the place, or why nothing has.
fn why(run: &Run, place: &Degraded) -> String {
    let config = config(run);
    let spares = config["spares"].as_u64();
    match (place.replaced, spares) {
        (Some(replaced), _) => replacing(config, replaced),
        (None, None) => {
            let name = config["name"].as_str().unwrap_or_default();
            format!("nothing was rebuilt, as {name} has no spare drives")
        }
        (None, Some(_)) if place.spent.is_empty() => {
            "no spare took its place (spares of the placement)".to_owned()
        }
        (None, Some(_)) => "no other spare took its place (spares of the placement)".to_owned(),
    }
}

/// How far a spare is.
fn replacing(config: &Value, replaced: Replaced) -> String {
    let (by, left) = (replaced.by.0, counted(replaced.left.0, "block"));
    if !replaced.goes_on {
        return format!(
            "its spare, drive {by}, has all but {left}, which no other drive tells any more"
        );
    }
    let how = match config["rebuild_mib_s"].as_f64() {
        Some(rate) if rate > 0.0 => format!("at rebuild_mib_s = {rate} or more"),
        _ => "in spare time alone (rebuild_mib_s = 0)".to_owned(),
    };
    format!("its spare, drive {by}, was being rebuilt {how}, and {left} were left")
}
