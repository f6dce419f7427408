//! The keys of a scenario, in one table: where each stands, whether it is part of the load or a
//! choice, and which replay modes read it. A key that no run reads is an error, not a setting
//! without effect.
//!
//! A *load* is what asks: which requests come, and when. A *choice* is what answers: scheduler,
//! oracle, placement, drive. Only runs under one load are ranked against each other, for under
//! another load the times differ whoever serves. A knob (`sched.fifo_batch`, `workload.depth`) is
//! of its part; a bare key beside a synthetic workload is a knob of it.

use nearslot_core::config::{Kinds, PartConfig};

use super::{Load, Replay, Scenario};
use crate::outcome::Role;

/// Where a key stands in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the top level.
    Top,
    /// In `[trace]`.
    Trace,
}

/// A key of a scenario.
pub struct Key {
    /// As files, command lines and grids spell it.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What varying it changes.
    pub role: Role,
    /// The replay modes that read it.
    pub replays: &'static [Replay],
}

const ALL: &[Replay] = &[Replay::Open, Replay::Closed, Replay::Dependent];
const TIMED: &[Replay] = &[Replay::Open, Replay::Dependent];

/// All keys but those of the kinds of parts that a stack is made of. Every run reads these, and
/// they are choices.
pub static KEYS: &[Key] = &[
    key("seed", Place::Top, Role::Load),
    key("drive", Place::Top, Role::Choice),
    key("warmup", Place::Top, Role::Load),
    key("trace", Place::Top, Role::Load),
    key("workload", Place::Top, Role::Load),
    key("files", Place::Trace, Role::Load),
    key("format", Place::Trace, Role::Load),
    key("device", Place::Trace, Role::Load),
    key("volumes", Place::Trace, Role::Choice),
    key("from", Place::Trace, Role::Load),
    key("to", Place::Trace, Role::Load),
    key("busiest", Place::Trace, Role::Load),
    key("limit", Place::Trace, Role::Load),
    key("replay", Place::Trace, Role::Load),
    key("depth", Place::Trace, Role::Load).read_by(&[Replay::Closed]),
    key("refill", Place::Trace, Role::Load).read_by(&[Replay::Closed]),
    key("speed", Place::Trace, Role::Load).read_by(TIMED),
    key("fit", Place::Trace, Role::Load),
    key("service_guess_us", Place::Trace, Role::Load).read_by(&[Replay::Dependent]),
];

const fn key(name: &'static str, place: Place, role: Role) -> Key {
    Key {
        name,
        place,
        role,
        replays: ALL,
    }
}

impl Key {
    const fn read_by(self, replays: &'static [Replay]) -> Key {
        Key { replays, ..self }
    }

    /// What it needs of a replay, in words.
    pub fn needs(&self) -> String {
        let words: Vec<&str> = self.replays.iter().map(|replay| replay.word()).collect();
        format!("replay = {}", words.join(" or "))
    }
}

/// The names of the keys that stand there, those of kinds behind the drive.
pub fn names(kinds: Kinds, place: Place) -> Vec<&'static str> {
    let there = KEYS.iter().filter(|key| key.place == place);
    let mut names: Vec<&str> = there.map(|key| key.name).collect();
    if let Some(drive) = names.iter().position(|name| *name == "drive") {
        let behind = drive + 1;
        names.splice(behind..behind, kinds.iter().map(|kind| kind.key()));
    }
    names
}

/// Whether this is a key of a scenario.
pub(crate) fn is_key(kinds: Kinds, key: &str) -> bool {
    KEYS.iter().any(|known| known.name == key) || is_kind(kinds, key)
}

/// Whether this is a key of `[trace]`.
pub(crate) fn is_of_trace(key: &str) -> bool {
    let mut keys = KEYS.iter().filter(|known| known.place == Place::Trace);
    keys.any(|known| known.name == key)
}

fn is_kind(kinds: Kinds, key: &str) -> bool {
    kinds.iter().any(|kind| kind.key() == key)
}

/// What varying `key` changes; `key` is one that [`crate::scenario::Scenario::set`] takes.
pub fn role(kinds: Kinds, key: &str) -> Role {
    let part = key.split_once('.').map_or(key, |(part, _)| part);
    if is_kind(kinds, part) {
        return Role::Choice;
    }
    let known = KEYS.iter().find(|known| known.name == part);
    // What is not in the table is a knob of the synthetic workload.
    known.map_or(Role::Load, |known| known.role)
}

/// The one spelling of a key that a scenario takes: beside a synthetic workload `depth` is its
/// knob, `workload.depth`.
pub(crate) fn spelled(scenario: &Scenario, key: &str) -> String {
    let top = || names(scenario.parts.kinds(), Place::Top).contains(&key);
    match scenario.load {
        Load::Workload(_) if !key.contains('.') && !top() => format!("workload.{key}"),
        _ => key.to_owned(),
    }
}

/// Keys of parts, whose values are a name with settings of its knobs.
pub(crate) fn parts(kinds: Kinds) -> Vec<&'static str> {
    let kinds = kinds.iter().map(|kind| kind.key());
    ["drive"]
        .into_iter()
        .chain(kinds)
        .chain(["workload"])
        .collect()
}

/// All that a setting says, each key in its one spelling: `place = stripe:disks=4` names the
/// placement and sets a knob of it.
pub(crate) fn says(scenario: &Scenario, key: &str, value: &str) -> Vec<(String, String)> {
    let key = spelled(scenario, key);
    let part = parts(scenario.parts.kinds()).contains(&key.as_str());
    let part = part.then(|| value.parse::<PartConfig>().ok()).flatten();
    let Some(part) = part else {
        return vec![(key, value.to_owned())];
    };
    let knobs = part.knobs.into_iter();
    let knobs: Vec<(String, String)> = knobs
        .map(|(knob, value)| (format!("{key}.{knob}"), value.to_string()))
        .collect();
    [vec![(key, part.name)], knobs].concat()
}

#[cfg(test)]
mod tests {
    use nearslot_core::config::KINDS;

    use super::*;

    #[test]
    fn what_asks_is_told_from_what_answers() {
        let choices = [
            "sched",
            "sched.fifo_batch",
            "oracle",
            "place.map",
            "drive",
            "drive.overhead_ms",
        ];
        assert!(choices.iter().all(|key| role(KINDS, key) == Role::Choice));
        let loads = [
            "depth",
            "refill",
            "speed",
            "seed",
            "fit",
            "workload",
            "workload.depth",
            "rate_rps",
        ];
        assert!(loads.iter().all(|key| role(KINDS, key) == Role::Load));
    }
}
