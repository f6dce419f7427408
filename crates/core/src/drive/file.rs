//! How a drive's file becomes parameters: TOML into a struct, refusing what the struct does not
//! know.
//!
//! serde asks for a type at every place of the file. This deserializer answers with what stands
//! there, or with an error that names the place, the value and what is allowed in words of ours; a
//! parser's own messages speak of its types. The keys of a table and the words of a choice come
//! from the structs themselves, so messages cannot fall out of step with them.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Value;

use crate::registry::ConfigError;

/// Reads a drive's file as a `T`.
///
/// # Errors
/// A key that `T` does not have, one that is missing, or a value that is not allowed there: the
/// first such place.
pub(super) fn read<T: DeserializeOwned>(table: &toml::Table) -> Result<T, ConfigError> {
    let root = Value::Table(table.clone());
    T::deserialize(Node(&root)).map_err(|refusal| ConfigError::from(refusal).of_file())
}

/// Reads a drive's file as a `T` and checks it. Types know less of a whole number than checks do:
/// one that its type refuses is told with what the check of its key allows, which says that of the
/// least and of the greatest number of the type.
///
/// # Errors
/// As [`read`], and what `check` says.
pub(super) fn read_checked<T: DeserializeOwned>(
    table: &toml::Table,
    check: impl Fn(&T) -> Result<(), ConfigError>,
) -> Result<T, ConfigError> {
    let refusal = match T::deserialize(Node(&Value::Table(table.clone()))) {
        Ok(read) => {
            let checked = check(&read).map_err(ConfigError::of_file);
            return checked.map(|()| read);
        }
        Err(refusal) => refusal,
    };
    let told = refusal.most.into_iter().flat_map(|most| [0, most]);
    let told = told.filter_map(|end| {
        let mut root = Value::Table(table.clone());
        *at(&mut root, &refusal.place)? = Value::Integer(end);
        let error = check(&T::deserialize(Node(&root)).ok()?).err()?;
        (error.key == refusal.place).then_some(error.allowed)
    });
    let told = told.last();
    let mut error = ConfigError::from(refusal).of_file();
    if let Some(told) = told {
        error.allowed = match told.starts_with("a whole number") {
            true => told,
            false => format!("a whole number, {told}"),
        };
    }
    Err(error)
}

/// The value at a place, such as `zones[0].spares`.
fn at<'a>(value: &'a mut Value, place: &str) -> Option<&'a mut Value> {
    let mut steps = place.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.try_fold(value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        other => other.get_mut(step),
    })
}

/// A value of the file.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Value);

impl Node<'_> {
    fn refused<T>(self, allowed: &str) -> Result<T, Refusal> {
        Err(Refusal::value(&short(self.0), allowed))
    }

    /// A whole number that the type asked for can hold, which is `most` at most.
    fn whole<T: TryFrom<i64>>(self, most: i64, allowed: &str) -> Result<T, Refusal> {
        let whole = self.0.as_integer().and_then(|whole| whole.try_into().ok());
        whole.ok_or_else(|| Refusal {
            most: Some(most),
            ..Refusal::value(&short(self.0), allowed)
        })
    }
}

/// A value in few words: an array of a thousand numbers does not help in a message.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        None => text,
        Some((cut, _)) => format!("{}...", &text[..cut]),
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Integer(whole) => visitor.visit_i64(*whole),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::String(word) => visitor.visit_str(word),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries::of(table)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            _ => self.refused("true or false"),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_u32(self.whole(u32::MAX.into(), "a whole number from 0 to 4294967295")?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_u64(self.whole(i64::MAX, "a whole number from 0")?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_i64(self.whole(i64::MAX, "a whole number")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Integer(whole) => visitor.visit_f64(*whole as f64),
            _ => self.refused("a number"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::String(word) => visitor.visit_str(word),
            _ => self.refused("text in quotes"),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            _ => self.refused("a list in square brackets"),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Array(items) if items.len() == len => {
                visitor.visit_seq(Items(items.iter().enumerate()))
            }
            _ => self.refused(&format!("a list of {len} values in square brackets")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let Value::Table(table) = self.0 else {
            return self.refused("a table");
        };
        let unknown = table
            .iter()
            .find(|(key, _)| !fields.contains(&key.as_str()));
        match unknown {
            Some((key, value)) => Err(Refusal::unknown(key, &short(value), fields)),
            None => visitor.visit_map(Entries::of(table)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::String(word) if variants.contains(&word.as_str()) => {
                visitor.visit_enum(word.as_str().into_deserializer())
            }
            _ => self.refused(&format!("one of {}", variants.join(", "))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 u8 u16 f32 char str bytes byte_buf unit unit_struct newtype_struct tuple_struct map
        identifier ignored_any
    }
}

/// What is left of a list, with the numbers of its values.
struct Items<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Refusal;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refusal> {
        let Some((index, value)) = self.0.next() else {
            return Ok(None);
        };
        let item = seed.deserialize(Node(value));
        item.map(Some)
            .map_err(|refusal| refusal.within(&format!("[{index}]")))
    }
}

/// What is left of a table.
struct Entries<'a> {
    left: toml::map::Iter<'a, String, Value>,
    value: Option<(&'a str, &'a Value)>,
}

impl<'a> Entries<'a> {
    fn of(table: &'a toml::Table) -> Entries<'a> {
        Entries {
            left: table.iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Refusal;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refusal> {
        let Some((key, value)) = self.left.next() else {
            return Ok(None);
        };
        self.value = Some((key, value));
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let (key, value) = self.value.take().expect("a key comes before its value");
        seed.deserialize(Node(value))
            .map_err(|refusal| refusal.within(key))
    }
}

/// Why a file is refused, and at which place of it.
#[derive(Debug)]
struct Refusal {
    /// Keys and numbers that lead to the place, such as `zones[0].cylinders`; empty for the whole
    /// file.
    place: String,
    what: What,
    /// The greatest whole number of the type there, if it is one that the type refuses.
    most: Option<i64>,
}

#[derive(Debug)]
enum What {
    /// The value there is not allowed.
    Value { value: String, allowed: String },
    /// The table there has a key that it should not have.
    Unknown {
        key: String,
        value: Option<String>,
        known: &'static [&'static str],
    },
}

impl Refusal {
    fn value(value: &str, allowed: &str) -> Refusal {
        Refusal {
            place: String::new(),
            what: What::Value {
                value: value.to_owned(),
                allowed: allowed.to_owned(),
            },
            most: None,
        }
    }

    fn unknown(key: &str, value: &str, known: &'static [&'static str]) -> Refusal {
        Refusal {
            place: String::new(),
            what: What::Unknown {
                key: key.to_owned(),
                value: Some(value.to_owned()),
                known,
            },
            most: None,
        }
    }

    /// The same, seen from the table or list around.
    fn within(mut self, outer: &str) -> Refusal {
        let dot = match self.place.chars().next() {
            None | Some('[') => "",
            Some(_) => ".",
        };
        self.place = format!("{outer}{dot}{}", self.place);
        self
    }
}

impl From<Refusal> for ConfigError {
    fn from(refusal: Refusal) -> ConfigError {
        let Refusal { place, what, .. } = refusal;
        match what {
            What::Value { value, allowed } => ConfigError::value(&place, &value, &allowed),
            What::Unknown { key, value, known } => {
                let kind = match place.as_str() {
                    "" => "key".to_owned(),
                    _ => format!("key of {place}"),
                };
                let error = ConfigError::unknown(&kind, &key, known);
                match value {
                    Some(value) => error.with_value(&value),
                    None => error,
                }
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.place, self.what)
    }
}

impl std::error::Error for Refusal {}

/// What structs refuse by themselves. All but missing fields, and choices that are tables, were
/// found before.
impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Refusal {
        Refusal::value("not allowed", &message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Refusal {
        let allowed = match expected.to_string().as_str() {
            "u32" => "a whole number from 0 to 4294967295".to_owned(),
            other if other.starts_with("internally tagged enum") => "a table with `at`".to_owned(),
            other => other.to_owned(),
        };
        let value = match found {
            Unexpected::Bool(flag) => flag.to_string(),
            Unexpected::Signed(whole) => whole.to_string(),
            Unexpected::Float(number) => number.to_string(),
            Unexpected::Str(word) => format!("\"{word}\""),
            other => other.to_string(),
        };
        Refusal::value(&value, &allowed)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Refusal {
        Refusal::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Refusal {
        let allowed = format!("one of {}", known.join(", "));
        Refusal::value(&format!("\"{word}\""), &allowed)
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Refusal {
        Refusal {
            place: String::new(),
            what: What::Unknown {
                key: key.to_owned(),
                value: None,
                known,
            },
            most: None,
        }
    }

    fn missing_field(key: &'static str) -> Refusal {
        Refusal::value("missing", "a value, as it has no default").within(key)
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
        #[serde(default)]
        points: Vec<(u32, f64)>,
        #[serde(default)]
        order: Order,
        #[serde(default)]
        flag: bool,
        inner: Option<Box<Sample>>,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        #[default]
        Ascending,
        UpAndDown,
    }

    fn sample(text: &str) -> Result<Sample, ConfigError> {
        read(&text.parse().unwrap())
    }

    fn refused(more: &str) -> String {
        sample(&format!("rpm = 1\nheads = 4\n{more}"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_fitting_table_is_read() {
        let text = "rpm = 7200.5\nheads = 4\npoints = [[1, 2], [3, 4.5]]\norder = 'up-and-down'\nflag = true
            [inner]\nrpm = 1\nheads = 1";
        let sample = sample(text).unwrap();
        assert_eq!((sample.rpm as u32, sample.heads), (7200, 4));
        assert_eq!(sample.points, [(1, 2.0), (3, 4.5)]);
        assert_eq!((sample.order, sample.flag), (Order::UpAndDown, true));
        assert_eq!(sample.inner.unwrap().heads, 1);
    }

    #[test]
    fn a_whole_number_that_its_type_refuses_is_told_with_what_its_check_allows() {
        fn check(sample: &Sample) -> Result<(), ConfigError> {
            for (index, (distance, _)) in sample.points.iter().enumerate() {
                if *distance > 9 {
                    let key = format!("points[{index}][0]");
                    return Err(ConfigError::value(&key, &distance.to_string(), "up to 9"));
                }
            }
            match sample.heads {
                1..=16 => Ok(()),
                other => Err(ConfigError::value("heads", &other.to_string(), "1 to 16")),
            }
        }
        let told = |text: &str| {
            let read = read_checked(&text.parse().unwrap(), check);
            read.map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(told("rpm = 1\nheads = 17"), "heads = 17 (allowed: 1 to 16)");
        for heads in ["-2", "4294967296", "'two'"] {
            let told = told(&format!("rpm = 1\nheads = {heads}"));
            assert!(
                told.ends_with("(allowed: a whole number, 1 to 16)"),
                "{told}"
            );
            assert!(
                told.starts_with(&format!("heads = {}", heads.replace('\'', "\""))),
                "{told}"
            );
        }
        // Its check allows the least number.
        let told_of_point = told("rpm = 1\nheads = 4\npoints = [[1, 2], [-3, 4]]");
        assert_eq!(
            told_of_point,
            "points[1][0] = -3 (allowed: a whole number, up to 9)"
        );
        // It has no check of its own.
        let inner = told("rpm = 1\nheads = 4\n[inner]\nrpm = 1\nheads = -1");
        assert!(
            inner.contains("inner.heads = -1 (allowed: a whole number from 0"),
            "{inner}"
        );
    }

    #[test]
    fn an_unknown_key_is_named_with_value_and_nearest() {
        let error = sample("rpm = 1.0\nhaeds = 4").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("heads"));
        assert_eq!(
            error.to_string(),
            "unknown key `haeds` = 4; did you mean `heads`? (allowed: one of rpm, heads, points, order, flag, \
             inner)"
        );
        let text = refused("[inner]\nrpm = 1\nheads = 1\nfalg = false");
        assert!(
            text.starts_with("unknown key of inner `falg` = false; did you mean `flag`?"),
            "{text}"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            sample("rpm = 1.0").unwrap_err().to_string(),
            "heads = missing (allowed: a value, as it has no default)"
        );
        assert_eq!(
            refused("[inner]\nheads = 1"),
            "inner.rpm = missing (allowed: a value, as it has no default)"
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_with_its_place_and_what_is_allowed() {
        for (more, expected) in [
            (
                "points = [[1, 2.0], [3, 'x']]",
                "points[1][1] = \"x\" (allowed: a number)",
            ),
            (
                "points = [[1, 2.0], [-3, 4.0]]",
                "points[1][0] = -3 (allowed: a whole number from 0 to 4294967295)",
            ),
            (
                "points = [[1, 2.0, 3.0]]",
                "points[0] = [1, 2.0, 3.0] (allowed: a list of 2 values in square brackets)",
            ),
            (
                "points = 3",
                "points = 3 (allowed: a list in square brackets)",
            ),
            (
                "order = 'down'",
                "order = \"down\" (allowed: one of ascending, up-and-down)",
            ),
            ("flag = 1", "flag = 1 (allowed: true or false)"),
            ("inner = 7", "inner = 7 (allowed: a table)"),
            (
                "[inner]\nrpm = true\nheads = 1",
                "inner.rpm = true (allowed: a number)",
            ),
        ] {
            assert_eq!(refused(more), expected);
        }
    }
}
