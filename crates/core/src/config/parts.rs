//! The table of the kinds that a stack is made of, and which part of each was chosen.
//!
//! This is the one place that lists kinds. Scenario files, grids, options, `list`, `show`, columns,
//! JSON, Python and the documentation go over the table that their [`Parts`] carry; only
//! [`super::StackConfig::build`], which makes a stack of the parts, and whoever knows something of
//! one kind alone name a kind.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::PartConfig;
use crate::contract::{
    Cache, Claims, Destage, Faults, LEVELS, Merging, Oracle, Placement, Prefetch, Scheduler,
};
use crate::ids::StreamId;
use crate::registry::{AnyKind, ConfigError, Kind, KindCard, Need, Of};
use crate::stream::by_stream;

/// A kind of which every stack has one part.
#[derive(Clone, Copy)]
pub struct StackKind {
    /// Which.
    pub kind: &'static dyn AnyKind,
    /// The part when none is named.
    pub default: &'static str,
}

/// Kinds of a stack, in the order of presentation.
pub type Kinds = &'static [StackKind];

/// Every kind of part that a stack is made of.
pub static KINDS: Kinds = &[
    StackKind {
        kind: Of::<dyn Scheduler>::KIND,
        default: "fcfs",
    },
    StackKind {
        kind: Of::<Merging>::KIND,
        default: "none",
    },
    StackKind {
        kind: Of::<dyn Oracle>::KIND,
        default: "exact",
    },
    StackKind {
        kind: Of::<dyn Placement>::KIND,
        default: "linear",
    },
    StackKind {
        kind: Of::<dyn Cache>::KIND,
        default: "none",
    },
    StackKind {
        kind: Of::<dyn Prefetch>::KIND,
        default: "none",
    },
    StackKind {
        kind: Of::<dyn Destage>::KIND,
        default: "none",
    },
    StackKind {
        kind: Of::<dyn Faults>::KIND,
        default: "none",
    },
    StackKind {
        kind: Of::<Claims>::KIND,
        default: "none",
    },
];

impl StackKind {
    /// What the kind is called.
    pub fn card(&self) -> &'static KindCard {
        self.kind.card()
    }

    /// Its key in scenarios.
    pub fn key(&self) -> &'static str {
        self.card().key
    }
}

/// A part of every kind of a table.
#[derive(Clone)]
pub struct Parts {
    kinds: Kinds,
    /// By the kind's place in the table.
    chosen: Vec<PartConfig>,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::new(KINDS)
    }
}

impl Parts {
    /// The default of every kind.
    pub fn new(kinds: Kinds) -> Parts {
        let chosen = kinds.iter().map(|kind| PartConfig::named(kind.default));
        Parts {
            kinds,
            chosen: chosen.collect(),
        }
    }

    /// The kinds that there are.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Every kind with its part.
    pub fn iter(&self) -> impl Iterator<Item = (&'static StackKind, &PartConfig)> {
        self.kinds.iter().zip(&self.chosen)
    }

    /// Whether any of them asks that of the kind `key` while it runs.
    ///
    /// # Errors
    /// There is no part of this name.
    pub fn ask(&self, key: &str) -> Result<bool, ConfigError> {
        for (kind, part) in self.iter() {
            if kind.kind.find(&part.name)?.asks.contains(&key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a part other than the default of the kind with this key was chosen.
    pub fn has(&self, key: &str) -> bool {
        let mut chosen = self.iter();
        chosen.any(|(kind, part)| {
            let known = kind.kind.find(&part.name);
            kind.key() == key && known.is_ok_and(|card| card.name != kind.default)
        })
    }

    /// Whether there is what settings may need. What a load asks for, only that knows.
    pub fn provide(&self, need: Need) -> bool {
        match need {
            Need::Faults => self.has(<dyn Faults>::CARD.key),
            Need::Sequences => self.has(<dyn Prefetch>::CARD.key) || self.tell_written_sequences(),
            Need::Reads | Need::Writes | Need::Classes => true,
            // A part that there is none of is refused elsewhere.
            Need::Levels => self.ask(LEVELS).unwrap_or(true),
        }
    }

    /// Each part and each setting that was given that needs this: the part, and the mistake that it
    /// is where that is missing.
    pub fn needing(&self, need: Need) -> Vec<(&PartConfig, ConfigError)> {
        let mut found = Vec::new();
        for (kind, part) in self.iter() {
            let Ok(card) = kind.kind.find(&part.name) else {
                continue;
            };
            if kind.card().needs == Some(need) && card.name != kind.default {
                let allowed = format!("{}: {}", kind.default, need.missing());
                found.push((part, ConfigError::value(kind.key(), card.name, &allowed)));
            }
            let of = |key: &str| card.knobs.iter().find(|knob| knob.name == key);
            for (key, value) in &part.knobs {
                if of(key).is_some_and(|knob| knob.needs == Some(need)) {
                    let key = format!("{}.{key}", card.name);
                    let allowed = format!("left out where {}", need.missing());
                    found.push((part, ConfigError::value(&key, &value.to_string(), &allowed)));
                }
            }
        }
        found
    }

    /// The streams that settings name, each with the key of the setting.
    pub fn named_streams(&self) -> Vec<(&'static str, StreamId)> {
        let mut found = Vec::new();
        for (kind, part) in self.iter() {
            let card = kind.kind.find(&part.name);
            let knobs = card.map_or(&[][..], |card| card.knobs).iter();
            for knob in knobs.filter(|knob| knob.names_streams) {
                let value = part.knobs.iter().rfind(|(key, _)| key == knob.name);
                let text = value.map_or_else(String::new, |(_, value)| value.to_string());
                let named = by_stream(&text, |_| Some(())).unwrap_or_default();
                found.extend(named.into_iter().map(|(stream, ())| (knob.name, stream)));
            }
        }
        found
    }

    /// The part of the kind with this key; `None` if there is no such kind.
    pub fn get(&self, key: &str) -> Option<&PartConfig> {
        let mut parts = self.iter();
        parts
            .find(|(kind, _)| kind.key() == key)
            .map(|(_, part)| part)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut PartConfig> {
        let index = self.kinds.iter().position(|kind| kind.key() == key)?;
        Some(&mut self.chosen[index])
    }

    /// The part of a kind.
    ///
    /// # Panics
    /// The table does not have the kind.
    pub fn of<K: Kind + ?Sized>(&self) -> &PartConfig {
        self.get(K::CARD.key).expect("the table has this kind")
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// The table does not have the kind.
    pub fn of_mut<K: Kind + ?Sized>(&mut self) -> &mut PartConfig {
        self.get_mut(K::CARD.key).expect("the table has this kind")
    }

    /// Others, with this part of a kind.
    ///
    /// # Panics
    /// The table does not have the kind.
    #[must_use]
    pub fn with<K: Kind + ?Sized>(mut self, part: PartConfig) -> Parts {
        *self.of_mut::<K>() = part;
        self
    }

    /// The same with names and defaults spelled out.
    ///
    /// # Errors
    /// There is no such part, or it has no such knob, or the value is not allowed.
    pub fn spelled_out(&self) -> Result<Parts, ConfigError> {
        let chosen = self.iter().map(|(kind, part)| part.spelled_out(kind.kind));
        Ok(Parts {
            kinds: self.kinds,
            chosen: chosen.collect::<Result<_, _>>()?,
        })
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        let keyed = |parts: &Parts| -> Vec<(&str, PartConfig)> {
            let parts = parts.iter();
            parts
                .map(|(kind, part)| (kind.key(), part.clone()))
                .collect()
        };
        keyed(self) == keyed(other)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.iter().map(|(kind, part)| (kind.key(), part));
        f.debug_map().entries(parts).finish()
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.chosen.len()))?;
        for (kind, part) in self.iter() {
            map.serialize_entry(kind.key(), part)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Knob, KnobKind, KnobValue};

    /// What a list of streams may say of one, so that whoever takes one of these is such a list.
    const OF_STREAMS: [&str; 3] = ["1=100", "1=5", "1=idle"];

    #[test]
    fn whoever_takes_a_list_of_streams_says_so() {
        let knobs = |kind: &StackKind| kind.kind.parts().into_iter().flat_map(|card| card.knobs);
        let takes = |knob: &Knob| match knob.kind {
            KnobKind::Text { accepts, .. } => OF_STREAMS.into_iter().any(accepts),
            _ => false,
        };
        let all: Vec<&Knob> = KINDS.iter().flat_map(knobs).collect();
        let wrong = all.iter().filter(|knob| takes(knob) != knob.names_streams);
        assert_eq!(wrong.map(|knob| knob.name).collect::<Vec<_>>(), [""; 0]);
        let named = all.iter().filter(|knob| knob.names_streams);
        assert_eq!(named.count(), 5);
    }

    #[test]
    fn streams_are_named_by_settings_that_say_so_and_by_no_text_that_looks_so() {
        let text = |text: &str| KnobValue::Text(text.to_owned());
        let mut claims = PartConfig::named("told");
        claims.knobs = vec![
            ("weight".to_owned(), text("3=100 4=50")),
            ("note".to_owned(), text("9=100")),
        ];
        let parts = Parts::default().with::<Claims>(claims);
        assert_eq!(
            parts.named_streams(),
            [("weight", StreamId(3)), ("weight", StreamId(4))]
        );
    }
}
