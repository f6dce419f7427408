//! The set-up of a search, told as `compare` tells that of its runs: mode, drive, placement, trace,
//! seed, configuration.

use serde_json::Value;

use super::{Capacity, Find, names};
use crate::program;
use crate::report::facts::{configs, distinct, plain, trace_facts};

/// Named facts; one without a name goes on with the one before.
pub(super) fn facts(capacity: &Capacity) -> Vec<(&'static str, String)> {
    // After an interruption some choices were never run.
    let ran = || {
        let choices = capacity.choices.iter();
        choices.filter(|found| !found.config.is_null())
    };
    let configs_of: Vec<Value> = ran()
        .map(|found| without_setting(&found.config, capacity.find))
        .collect();
    let of = |pointers: &[&str]| {
        distinct(configs_of.iter().filter_map(|config| {
            let mut found = pointers
                .iter()
                .filter_map(|pointer| config.pointer(pointer));
            Some(found.next()?.as_str()?.to_owned())
        }))
    };
    let mut facts = vec![
        ("mode", of(&["/load/replay", "/load/name"])),
        ("drive", of(&["/drive/name", "/drive"])),
        ("placement", of(&["/place/name", "/place"])),
        ("seed", capacity.seed.to_string()),
        (
            "version",
            program::named(&capacity.version, &capacity.build),
        ),
    ];
    facts.extend(trace_facts(capacity.trace.as_ref(), false));
    facts.push(("warm-up", of(&["/warmup"])));
    for (index, warning) in capacity.warnings.iter().enumerate() {
        facts.push((
            if index == 0 { "warnings" } else { "" },
            plain(&warning.to_string()),
        ));
    }
    let (shared, own) = configs(configs_of.iter());
    facts.push(("config", shared));
    for (found, config) in ran().zip(own) {
        if !config.is_empty() {
            facts.push(("", format!("{}: {config}", names::name(capacity, found))));
        }
    }
    facts
}

/// The same in a sentence without the configuration.
pub(super) fn sentence(capacity: &Capacity) -> String {
    let told = facts(capacity).into_iter();
    let told =
        told.filter(|(name, _)| ["mode", "drive", "placement", "hash", "warm-up"].contains(name));
    let told: Vec<String> = told
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    told.join(", ")
}

/// A configuration without what is looked for: that of the first run has one of many settings.
fn without_setting(config: &Value, find: Find) -> Value {
    let mut config = config.clone();
    let (part, keys): (&str, &[&str]) = match find {
        Find::Speed => ("load", &["speed"]),
        Find::Rate => ("load", &["rate_rps"]),
        Find::Depth => ("load", &["depth"]),
        Find::Bsu => ("load", &["bsu"]),
        Find::Drives => ("place", &["disks"]),
    };
    if let Some(part) = config.get_mut(part).and_then(Value::as_object_mut) {
        part.retain(|key, _| !keys.contains(&key.as_str()));
    }
    if find == Find::Drives
        && let Some(whole) = config.as_object_mut()
    {
        whole.remove("drives");
    }
    config
}
