//! A part as it is configured: a word, `name:knob=value:knob=value`, or a table with `name` and its
//! knobs.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use toml::{Table, Value};

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

impl PartConfig {
    /// What may be said of a part in a file.
    pub const ALLOWED: &str = "a name, name:knob=value, or a table with `name` and knobs";

    /// Reads the value of the key `key` of a file: a word, or a table.
    ///
    /// # Errors
    /// Neither of them, a table without a name, or a knob whose value is not one.
    pub fn from_toml(key: &str, value: &Value) -> Result<PartConfig, ConfigError> {
        let table = match value {
            Value::String(word) => return word.parse(),
            Value::Table(table) => table,
            _ => {
                let allowed = format!("{}{}", PartConfig::ALLOWED, of_several(value));
                return Err(ConfigError::value(key, value.to_string().trim(), &allowed));
            }
        };
        let of_name = |found: &str| {
            let allowed = "a name in quotes, which says which part it is";
            Err(ConfigError::value(&format!("{key}.name"), found, allowed))
        };
        let name = match table.get("name") {
            Some(Value::String(name)) => name.clone(),
            Some(other) => return of_name(&other.to_string()),
            None => return of_name("missing"),
        };
        let knobs = table.iter().filter(|(knob, _)| *knob != "name");
        let knobs = knobs.map(|(knob, value)| {
            let told = knob_of_toml(&format!("{key}.{knob}"), value);
            Ok((knob.clone(), told?))
        });
        let knobs = knobs.collect::<Result<_, ConfigError>>()?;
        Ok(PartConfig { name, knobs })
    }
}

/// The value of a knob in a table.
fn knob_of_toml(key: &str, value: &Value) -> Result<KnobValue, ConfigError> {
    Ok(match value {
        Value::Boolean(flag) => KnobValue::Flag(*flag),
        Value::Integer(whole) => KnobValue::Integer(*whole),
        Value::Float(number) => KnobValue::Number(*number),
        Value::String(word) => KnobValue::Text(word.clone()),
        Value::Datetime(time) => KnobValue::Text(time.to_string()),
        Value::Array(_) => {
            let allowed = format!("one value{}", of_several(value));
            return Err(ConfigError::value(key, &value.to_string(), &allowed));
        }
        Value::Table(table) => {
            let allowed = format!(
                "a number, true or false, or text in quotes, such as {}",
                in_words(key, table)
            );
            return Err(ConfigError::value(key, value.to_string().trim(), &allowed));
        }
    })
}

/// A table as the text that says the same: a part with its settings, or what holds for which
/// stream.
fn in_words(key: &str, table: &Table) -> String {
    match PartConfig::from_toml(key, &Value::Table(table.clone())) {
        Ok(part) => format!("\"{part}\""),
        Err(_) => {
            let bare = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            let pairs = table
                .iter()
                .map(|(key, value)| format!("{key}={}", bare(value)));
            format!("\"{}\"", pairs.collect::<Vec<_>>().join(" "))
        }
    }
}

/// What to do about a list where one value belongs.
fn of_several(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "; of several, which compare takes with --vary, each alone",
        _ => "",
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
        let table = "name = 'aged_satf'\nweight = 0.5\nbatch = 3".parse();
        let table = PartConfig::from_toml("sched", &Value::Table(table.unwrap())).unwrap();
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
    }

    #[test]
    fn a_value_that_says_no_part_is_named_with_what_is_allowed() {
        for (text, told) in [
            (
                "x = 5",
                "x = 5 (allowed: a name, name:knob=value, or a table with `name` and knobs)",
            ),
            (
                "x = ['lru', 'none']",
                "x = [\"lru\", \"none\"] (allowed: a name, name:knob=value, or a table with `name` and knobs; of several, \
                 which compare takes with --vary, each alone)",
            ),
            (
                "x = {size = 1}",
                "x.name = missing (allowed: a name in quotes, which says which part it is)",
            ),
            (
                "x = {name = 5}",
                "x.name = 5 (allowed: a name in quotes, which says which part it is)",
            ),
            (
                "x = {name = 'vscan', r = [0.1, 0.2]}",
                "x.r = [0.1, 0.2] (allowed: one value; of several, which compare takes with --vary, each alone)",
            ),
            (
                "x = {name = 'null', queue_sched = {name = 'look', batch = 3}}",
                "x.queue_sched = { batch = 3, name = \"look\" } (allowed: a number, true or false, or text in quotes, \
                 such as \"look:batch=3\")",
            ),
            (
                "x = {name = 'told', weight = {1 = 500, 2 = 100}}",
                "x.weight = { 1 = 500, 2 = 100 } (allowed: a number, true or false, or text in quotes, such as \
                 \"1=500 2=100\")",
            ),
        ] {
            let table: Table = text.parse().unwrap();
            let error = PartConfig::from_toml("x", &table["x"]).unwrap_err();
            assert_eq!(error.to_string(), told);
        }
    }
}
