//! How a drive's file becomes parameters: TOML into a struct, refusing what the struct does not know.
//!
//! serde says that a key is unknown; this adds where, with which value, and which valid key is nearest. The
//! list of valid keys is asked from the struct itself, so it cannot fall out of step with it.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::registry::ConfigError;

/// Reads `table` as a `T`; `path` names the table in messages, empty for the whole file.
///
/// # Errors
/// A key that `T` does not have, one that is missing, or a value of the wrong type.
pub(super) fn read_table<T: DeserializeOwned>(
    path: &str,
    table: &toml::Table,
) -> Result<T, ConfigError> {
    check_keys::<T>(path, table)?;
    table.clone().try_into().map_err(|error: toml::de::Error| {
        let place = if path.is_empty() { "parameters" } else { path };
        let keys = fields::<T>().join(", ");
        ConfigError::value(place, error.message().trim(), &keys)
    })
}

/// Checks the table `name` within `table` as a `T`, if it is there.
///
/// # Errors
/// As for [`read_table`]; not a table.
pub(super) fn read_inner<T: DeserializeOwned>(
    name: &str,
    table: &toml::Table,
) -> Result<(), ConfigError> {
    match table.get(name) {
        None => Ok(()),
        Some(toml::Value::Table(inner)) => read_table::<T>(name, inner).map(|_| ()),
        Some(other) => Err(ConfigError::value(name, &short(other), "a table")),
    }
}

/// Refuses keys of `table` that `T` does not have.
///
/// # Errors
/// The first such key, with its value and the nearest valid one.
pub(super) fn check_keys<T: DeserializeOwned>(
    path: &str,
    table: &toml::Table,
) -> Result<(), ConfigError> {
    let known = fields::<T>();
    match table.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, value)) => {
            let kind = match path {
                "" => "key".to_owned(),
                _ => format!("key of {path}"),
            };
            Err(ConfigError::unknown(&kind, key, known).with_value(&short(value)))
        }
    }
}

/// A value in few words: an array of a thousand numbers does not help in a message.
fn short(value: &toml::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        None => text,
        Some((cut, _)) => format!("{}...", &text[..cut]),
    }
}

/// The keys that a struct reads, in its own order.
fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut asked: &'static [&'static str] = &[];
    // The asking ends in an error by design; what counts is what the struct said before.
    let _ = T::deserialize(Asking(&mut asked));
    asked
}

/// A deserializer that has no data and only listens for the names of fields.
struct Asking<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Asking<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("only the names were wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        rpm: f64,
        heads: u32,
    }

    fn read(text: &str) -> Result<Sample, ConfigError> {
        read_table("zones[3]", &text.parse().unwrap())
    }

    #[test]
    fn a_fitting_table_is_read() {
        let sample = read("rpm = 7200.5\nheads = 4").unwrap();
        assert_eq!((sample.rpm as u32, sample.heads), (7200, 4));
    }

    #[test]
    fn an_unknown_key_is_named_with_value_and_nearest() {
        let error = read("rpm = 1.0\nhaeds = 4").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("heads"));
        assert_eq!(
            error.to_string(),
            "unknown key of zones[3] `haeds` = 4; did you mean `heads`? (allowed: one of rpm, heads)"
        );
    }

    #[test]
    fn a_missing_key_and_a_wrong_type_are_named() {
        assert!(read("rpm = 1.0").unwrap_err().to_string().contains("heads"));
        let error = read("rpm = 1.0\nheads = 'four'").unwrap_err();
        assert!(error.to_string().contains("four"), "{error}");
    }
}
