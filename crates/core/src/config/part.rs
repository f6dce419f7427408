//! A part as it is configured: a word, `name:knob=value:knob=value`, or a table with `name` and its
//! knobs.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::registry::{self, AnyKind, ConfigError, Kind, KnobValue, Knobs, Refused};

/// A part by name, with settings of its knobs.
#[derive(Clone, Debug, PartialEq)]
pub struct PartConfig {
    /// Name or alias in its table.
    pub name: String,
    /// Settings; what is not set has its default.
    pub knobs: Vec<(String, KnobValue)>,
}

impl PartConfig {
    /// A part with all its defaults.
    pub fn named(name: &str) -> PartConfig {
        PartConfig {
            name: name.to_owned(),
            knobs: Vec::new(),
        }
    }
}

impl FromStr for PartConfig {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<PartConfig, ConfigError> {
        let mut pieces = word.split(':');
        let name = pieces.next().unwrap_or_default().trim().to_owned();
        if name.is_empty() {
            return Err(ConfigError::value(
                "part",
                word,
                "name or name:knob=value:knob=value",
            ));
        }
        let setting = |piece: &str| match piece.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), KnobValue::parse(value.trim()))),
            None => Err(ConfigError::value(
                &format!("setting of {name}"),
                piece,
                "knob=value",
            )),
        };
        let knobs: Vec<_> = pieces.map(setting).collect::<Result<_, _>>()?;
        each_once(&name, &knobs)?;
        Ok(PartConfig { name, knobs })
    }
}

/// A knob that is set twice would lose one of its values without a word.
fn each_once(name: &str, knobs: &[(String, KnobValue)]) -> Result<(), ConfigError> {
    for (at, (key, second)) in knobs.iter().enumerate() {
        if let Some((_, first)) = knobs[..at].iter().find(|(other, _)| other == key) {
            let values = format!("{first} and {second}");
            return Err(ConfigError::value(
                &format!("{name}.{key}"),
                &values,
                "one value",
            ));
        }
    }
    Ok(())
}

impl fmt::Display for PartConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.knobs
            .iter()
            .try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

impl Serialize for PartConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.knobs.len()))?;
        map.serialize_entry("name", &self.name)?;
        for (key, value) in &self.knobs {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for PartConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PartConfig, D::Error> {
        deserializer.deserialize_any(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = PartConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word such as \"look\", or a table with `name` and knobs")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<PartConfig, E> {
        word.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PartConfig, A::Error> {
        let (mut name, mut knobs) = (None, Vec::new());
        while let Some((key, value)) = map.next_entry::<String, KnobValue>()? {
            match (key.as_str(), value) {
                ("name", KnobValue::Text(word)) => name = Some(word),
                ("name", other) => {
                    return Err(de::Error::custom(format!("name = {other} is not a word")));
                }
                (_, value) => knobs.push((key, value)),
            }
        }
        let name = name.ok_or_else(|| de::Error::missing_field("name"))?;
        each_once(&name, &knobs).map_err(de::Error::custom)?;
        Ok(PartConfig { name, knobs })
    }
}

impl PartConfig {
    /// A part of this name, with these knobs in effect.
    pub(super) fn effective(name: &str, knobs: &Knobs) -> PartConfig {
        let knobs = knobs.iter();
        PartConfig {
            name: name.to_owned(),
            knobs: knobs
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect(),
        }
    }

    /// The same with its own name and every default spelled out.
    ///
    /// # Errors
    /// No such part of this kind, or a knob that is unknown or not allowed.
    pub fn spelled_out(&self, kind: &dyn AnyKind) -> Result<PartConfig, ConfigError> {
        let card = kind.find(&self.name)?;
        Ok(PartConfig::effective(card.name, &card.check(&self.knobs)?))
    }

    /// Finds, checks and builds it.
    ///
    /// # Errors
    /// As [`PartConfig::spelled_out`]; knobs that contradict each other or the drive, told by the
    /// part's name, too.
    pub fn build<K: Kind + ?Sized>(&self, env: &K::Env<'_>) -> Result<Box<K>, K::Error> {
        let spec = registry::find::<K>(&self.name)?;
        let card = spec.card();
        let built = (spec.build)(&card.check(&self.knobs)?, env);
        built.map_err(|mut error| {
            if let Some(error) = error.setting()
                && card.knobs.iter().any(|knob| knob.name == error.key)
            {
                error.key = format!("{}.{}", card.name, error.key);
            }
            error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_and_a_table_say_the_same() {
        let word: PartConfig = "aged_satf:batch=3:weight=0.5".parse().unwrap();
        let table: PartConfig =
            toml::from_str("name = 'aged_satf'\nweight = 0.5\nbatch = 3").unwrap();
        assert_eq!(word, table);
        assert_eq!(word.to_string(), "aged_satf:batch=3:weight=0.5");
    }

    #[test]
    fn a_knob_is_set_once() {
        let told = "aged_satf.weight = 0.5 and 2 (allowed: one value)";
        let word = "aged_satf:weight=0.5:batch=3:weight=2".parse::<PartConfig>();
        assert_eq!(word.unwrap_err().to_string(), told);
        let same = "iometer:depth=4:depth=4".parse::<PartConfig>();
        assert!(same.unwrap_err().to_string().contains("depth = 4 and 4"));
        let pairs = [("name", "x"), ("how", "a"), ("how", "b")].into_iter();
        let pairs = de::value::MapDeserializer::<_, de::value::Error>::new(pairs);
        let map = PartConfig::deserialize(pairs).unwrap_err().to_string();
        assert_eq!(map, "x.how = a and b (allowed: one value)");
    }
}
