//! `--offer`: which hosts that offer are run, and over which drives.
//!
//! A host that offers takes the place of one drive, of stripes or of mirrors, and has the same
//! drives and as many copies. Whatever else `--place` names is run beside it; over one drive that
//! is a comparison, over several it would be one of arrays of different sizes.

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Placement;
use nearslot_core::registry::{ConfigError, Kind, Of};
use nearslot_lab::scenario::Scenario;

use crate::args::ScenarioArgs;
use crate::failure::Failure;
use crate::part_args::several;

/// The placement of a host that offers.
const OFFERING: &str = "offering";

/// Settings that it takes over where units go round over several drives.
const STRIPES: &str = "stripe_kib";

/// Placements for `--offer`: beside those of `--place`, or beside the scenario's own, where a
/// command `compares`; else in their stead.
///
/// # Errors
/// None of these can be had with offers, or what is said of one has no effect.
pub(super) fn add(
    args: &ScenarioArgs,
    scenario: &Scenario,
    compares: bool,
    named: &mut Vec<(String, Vec<String>)>,
) -> Result<(), Failure> {
    let Some(reaches) = &args.offer else {
        return Ok(());
    };
    let key = <dyn Placement>::CARD.key;
    let said = named.iter().position(|(named, _)| named == key);
    let places = match said {
        Some(index) => named.remove(index).1,
        None => vec![scenario.parts.of::<dyn Placement>().to_string()],
    };
    let mut drives: Vec<String> = Vec::new();
    for place in &places {
        let place = place.parse().map_err(Failure::usage)?;
        let taken = taken_over(&place, compares).map_err(Failure::usage)?;
        drives.extend(taken.filter(|taken| !drives.contains(taken)));
    }
    if drives.is_empty() {
        let allowed = format!(
            "beside --place linear, stripe or mirror, whose drives a host that offers takes over; {} can be offered nothing, as it says by itself where each write goes",
            places.join(", ")
        );
        let error = ConfigError::value("--offer", reaches, &allowed);
        return Err(Failure::usage(error));
    }
    let reaches = several(reaches);
    let offering = drives.iter().flat_map(|drives| {
        let word = move |within: &&str| format!("{OFFERING}:within={within}{drives}");
        reaches.iter().map(word)
    });
    // Commands that compare run beside it what does without.
    let beside = if compares { places } else { Vec::new() };
    let all = beside.into_iter().chain(offering).collect();
    named.push((key.to_owned(), all));
    Ok(())
}

/// The settings with which a host that offers has the drives of a placement; none if it cannot.
fn taken_over(place: &PartConfig, compares: bool) -> Result<Option<String>, ConfigError> {
    let card = Of::<dyn Placement>::KIND.find(&place.name)?;
    let knobs = card.check(&place.knobs)?;
    let kept: &[&str] = match card.name {
        "linear" => return Ok(Some(String::new())),
        // It is eager on one drive, and is no other with offers.
        "eager" if compares => return Ok(Some(String::new())),
        "stripe" => &["disks", STRIPES],
        "mirror" => &["disks", "copies", STRIPES],
        _ => return Ok(None),
    };
    let lost = place
        .knobs
        .iter()
        .find(|(key, _)| !kept.contains(&key.as_str()));
    if let Some((key, value)) = lost.filter(|_| !compares) {
        let allowed =
            "left out beside --offer: a host that offers answers when all copies are written";
        let key = format!("{}.{key}", card.name);
        return Err(ConfigError::value(&key, &value.to_string(), allowed));
    }
    let copies = if kept.contains(&"copies") {
        knobs.integer("copies")
    } else {
        1
    };
    let mut taken = format!(":disks={}:copies={copies}", knobs.integer("disks"));
    if knobs.integer("disks") > copies {
        taken += &format!(":{STRIPES}={}", knobs.integer(STRIPES));
    }
    Ok(Some(taken))
}
