//! What can be set of a part: each knob with its default, what is allowed, and a sentence. Given
//! settings are checked here, before anything is built; defaults fill the rest.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::ConfigError;
use crate::units::Duration;

/// A thing that can be set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Knob {
    /// Its key.
    pub name: &'static str,
    /// Its kind with default and limits.
    pub kind: KnobKind,
    /// What it does.
    pub help: &'static str,
    /// What it needs beside its own part to have an effect, if anything.
    #[serde(skip)]
    pub needs: Option<Need>,
    /// Whether it is a list of `STREAM=VALUE`, so that it has no effect for a stream that asks for
    /// nothing.
    #[serde(skip)]
    pub names_streams: bool,
}

/// What a setting may need, without which it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Something may go wrong on the drives.
    Faults,
    /// A cache is told what belongs to a sequence.
    Sequences,
    /// The load reads.
    Reads,
    /// The load writes.
    Writes,
    /// The scheduler goes by classes and levels.
    Levels,
    /// Requests of the load come with another class of priority than best effort.
    Classes,
}

impl Need {
    /// All of them.
    pub const ALL: [Need; 6] = [
        Need::Faults,
        Need::Sequences,
        Need::Reads,
        Need::Writes,
        Need::Levels,
        Need::Classes,
    ];

    /// Where it is missing, in words.
    pub fn missing(self) -> &'static str {
        match self {
            Need::Faults => "nothing goes wrong on the drives, as with faults = none",
            Need::Sequences => {
                "nothing tells a cache what belongs to a sequence, as with prefetch = none and without writes = classed"
            }
            Need::Reads => "the load has no reads",
            Need::Writes => "the load has no writes",
            Need::Levels => "no scheduler goes by classes and levels of streams, as with slack",
            Need::Classes => {
                "no request of the load comes with another class of priority than best effort"
            }
        }
    }
}

/// Kinds of knobs, each with its default and what is allowed.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnobKind {
    /// A whole number.
    Integer {
        /// Value when nothing is said.
        default: i64,
        /// Least allowed.
        min: i64,
        /// Most allowed.
        max: i64,
    },
    /// A number with a fraction.
    Number {
        /// Value when nothing is said.
        default: f64,
        /// Least allowed.
        min: f64,
        /// Most allowed.
        max: f64,
    },
    /// One word of several.
    Choice {
        /// Word when nothing is said.
        default: &'static str,
        /// All words.
        options: &'static [&'static str],
    },
    /// Words of a small language of its own.
    Text {
        /// Words when nothing is said.
        default: &'static str,
        /// Whether they make sense.
        #[serde(skip)]
        accepts: fn(&str) -> bool,
        /// What makes sense, in words.
        allowed: &'static str,
    },
    /// Yes or no.
    Flag {
        /// Value when nothing is said.
        default: bool,
    },
}

impl Knob {
    /// A whole number.
    pub const fn integer(
        name: &'static str,
        default: i64,
        range: RangeInclusive<i64>,
        help: &'static str,
    ) -> Knob {
        let (min, max) = (*range.start(), *range.end());
        Knob {
            name,
            kind: KnobKind::Integer { default, min, max },
            help,
            needs: None,
            names_streams: false,
        }
    }

    /// A number with a fraction.
    pub const fn number(
        name: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        help: &'static str,
    ) -> Knob {
        let (min, max) = (*range.start(), *range.end());
        Knob {
            name,
            kind: KnobKind::Number { default, min, max },
            help,
            needs: None,
            names_streams: false,
        }
    }

    /// One word of several.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        options: &'static [&'static str],
        help: &'static str,
    ) -> Knob {
        Knob {
            name,
            kind: KnobKind::Choice { default, options },
            help,
            needs: None,
            names_streams: false,
        }
    }

    /// Words of a small language; `allowed` says which.
    pub const fn text(
        name: &'static str,
        default: &'static str,
        accepts: fn(&str) -> bool,
        allowed: &'static str,
        help: &'static str,
    ) -> Knob {
        let kind = KnobKind::Text {
            default,
            accepts,
            allowed,
        };
        Knob {
            name,
            kind,
            help,
            needs: None,
            names_streams: false,
        }
    }

    /// Yes or no.
    pub const fn flag(name: &'static str, default: bool, help: &'static str) -> Knob {
        Knob {
            name,
            kind: KnobKind::Flag { default },
            help,
            needs: None,
            names_streams: false,
        }
    }

    /// The same, which has an effect only where there is this.
    #[must_use]
    pub const fn needing(self, need: Need) -> Knob {
        Knob {
            needs: Some(need),
            ..self
        }
    }

    /// The same, a list that [`by_stream`](crate::stream::by_stream) reads.
    #[must_use]
    pub const fn naming_streams(self) -> Knob {
        Knob {
            names_streams: true,
            ..self
        }
    }

    /// The default, as a value.
    pub fn default_value(&self) -> KnobValue {
        match self.kind {
            KnobKind::Integer { default, .. } => KnobValue::Integer(default),
            KnobKind::Number { default, .. } => KnobValue::Number(default),
            KnobKind::Choice { default, .. } | KnobKind::Text { default, .. } => {
                KnobValue::Text(default.to_owned())
            }
            KnobKind::Flag { default } => KnobValue::Flag(default),
        }
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        match &self.kind {
            KnobKind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            KnobKind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            KnobKind::Choice { options, .. } => format!("one of {}", options.join(", ")),
            KnobKind::Text { allowed, .. } => (*allowed).to_owned(),
            KnobKind::Flag { .. } => "true or false".to_owned(),
        }
    }

    /// Checks a given value; the error is what is allowed. An integer serves where a number is
    /// asked for.
    fn check(&self, value: &KnobValue) -> Result<KnobValue, String> {
        let fit = match (&self.kind, value) {
            (KnobKind::Integer { min, max, .. }, KnobValue::Integer(v)) => {
                (min <= v && v <= max).then(|| value.clone())
            }
            (KnobKind::Number { min, max, .. }, KnobValue::Number(v)) => {
                (min <= v && v <= max).then(|| value.clone())
            }
            (KnobKind::Number { min, max, .. }, KnobValue::Integer(v)) => {
                let v = *v as f64;
                (*min <= v && v <= *max).then_some(KnobValue::Number(v))
            }
            (KnobKind::Choice { options, .. }, KnobValue::Text(v)) => {
                options.contains(&v.as_str()).then(|| value.clone())
            }
            (KnobKind::Text { accepts, .. }, v) => {
                // A word that happens to be a number has been read as one.
                let text = v.to_string();
                accepts(&text).then_some(KnobValue::Text(text))
            }
            (KnobKind::Flag { .. }, KnobValue::Flag(_)) => Some(value.clone()),
            _ => None,
        };
        fit.ok_or_else(|| self.allowed())
    }

    /// A value that it does not allow, so written that it does not read like one that it does:
    /// `4.0` is no whole number, and `"32"` is none at all.
    fn refused(&self, value: &KnobValue) -> String {
        match (&self.kind, value) {
            (KnobKind::Integer { .. }, KnobValue::Number(number)) if number.fract() == 0.0 => {
                format!("{number:?}")
            }
            (
                KnobKind::Integer { .. } | KnobKind::Number { .. } | KnobKind::Flag { .. },
                KnobValue::Text(word),
            ) if !matches!(KnobValue::parse(word), KnobValue::Text(_)) => {
                format!("{word:?}")
            }
            _ => value.to_string(),
        }
    }
}

/// A knob's value as given or as in effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum KnobValue {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// A word.
    Text(String),
}

impl KnobValue {
    /// Reads a word of a command line: `true`, `12`, `0.5`, `text`.
    pub fn parse(word: &str) -> KnobValue {
        if let Ok(flag) = word.parse() {
            KnobValue::Flag(flag)
        } else if let Ok(integer) = word.parse() {
            KnobValue::Integer(integer)
        } else if let Ok(number) = word.parse::<f64>() {
            KnobValue::Number(number)
        } else {
            KnobValue::Text(word.to_owned())
        }
    }
}

impl std::fmt::Display for KnobValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KnobValue::Flag(value) => value.fmt(f),
            KnobValue::Integer(value) => value.fmt(f),
            KnobValue::Number(value) => f.write_str(&written(*value)),
            KnobValue::Text(value) => value.fmt(f),
        }
    }
}

/// A number as people write it: with an exponent where it would have very many digits.
pub fn written(value: f64) -> String {
    let size = value.abs();
    if size >= 1e17 || (size > 0.0 && size < 1e-12) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// A part's knobs in effect: every knob of its card, given or default, in the card's order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Knobs(Vec<Setting>);

/// A knob in effect.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    name: &'static str,
    value: KnobValue,
    /// Whether somebody said so; the value may be the default all the same.
    given: bool,
}

impl Knobs {
    /// Checks given settings against a card; defaults fill the rest.
    ///
    /// # Errors
    /// An unknown key (with the nearest valid one) or a value that is not allowed.
    pub fn check(
        part: &str,
        card: &[Knob],
        given: &[(String, KnobValue)],
    ) -> Result<Knobs, ConfigError> {
        for (key, value) in given {
            if !card.iter().any(|knob| knob.name == key) {
                let keys: Vec<&str> = card.iter().map(|knob| knob.name).collect();
                return Err(ConfigError::unknown(&format!("knob of {part}"), key, &keys)
                    .with_value(&value.to_string()));
            }
        }
        let effective = |knob: &Knob| {
            let said = given.iter().rfind(|(key, _)| key == knob.name);
            let value = match said {
                None => knob.default_value(),
                Some((key, value)) => knob.check(value).map_err(|allowed| {
                    let allowed = format!("{allowed}{}", of_several(value));
                    ConfigError::value(&format!("{part}.{key}"), &knob.refused(value), &allowed)
                })?,
            };
            Ok(Setting {
                name: knob.name,
                value,
                given: said.is_some(),
            })
        };
        card.iter()
            .map(effective)
            .collect::<Result<_, _>>()
            .map(Knobs)
    }

    /// All of them, in the card's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &KnobValue)> {
        self.0.iter().map(|one| (one.name, &one.value))
    }

    /// The first of these knobs that was given, whatever its value, with that: where they have no
    /// effect, that is a mistake.
    pub fn first_given<'a>(
        &'a self,
        mut of: impl Iterator<Item = &'a Knob>,
    ) -> Option<(&'a Knob, &'a KnobValue)> {
        of.find_map(|knob| {
            let setting = self.setting(knob.name);
            setting.given.then_some((knob, &setting.value))
        })
    }

    /// Refuses these knobs, whatever their values, where they have no effect; `allowed` says why.
    ///
    /// # Errors
    /// One of them was given.
    pub fn check_idle<'a>(
        &'a self,
        of: impl Iterator<Item = &'a Knob>,
        allowed: &str,
    ) -> Result<(), ConfigError> {
        match self.first_given(of) {
            None => Ok(()),
            Some((knob, value)) => Err(ConfigError::value(knob.name, &value.to_string(), allowed)),
        }
    }

    fn setting(&self, name: &str) -> &Setting {
        let found = self.0.iter().find(|one| one.name == name);
        found.unwrap_or_else(|| panic!("the card has no knob {name}"))
    }

    fn value(&self, name: &str) -> &KnobValue {
        &self.setting(name).value
    }

    /// A whole number that the card declares non-negative.
    pub fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            KnobValue::Integer(value) => {
                u64::try_from(*value).expect("its card allows no negative")
            }
            other => panic!("knob {name} is not an integer: {other}"),
        }
    }

    /// A number.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            KnobValue::Number(value) => *value,
            other => panic!("knob {name} is not a number: {other}"),
        }
    }

    /// A time given in milliseconds (`*_ms`), whole or not.
    pub fn duration_ms(&self, name: &str) -> Duration {
        match self.value(name) {
            KnobValue::Integer(_) => Duration::from_ms(self.integer(name)),
            _ => Duration::from_ms_f64(self.number(name)),
        }
    }

    /// A time given in microseconds (`*_us`), whole or not.
    pub fn duration_us(&self, name: &str) -> Duration {
        Duration((self.number(name) * 1e3).round() as u64)
    }

    /// A word.
    pub fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            KnobValue::Text(value) => value,
            other => panic!("knob {name} is not a word: {other}"),
        }
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            KnobValue::Flag(value) => *value,
            other => panic!("knob {name} is not a flag: {other}"),
        }
    }
}

/// What to do about a comma in a value that is to be one.
fn of_several(value: &KnobValue) -> &'static str {
    match value {
        KnobValue::Text(text) if text.contains(',') && text.contains('=') => {
            "; between settings stands a colon, as in name:knob=1:other=2"
        }
        KnobValue::Text(text) if text.contains(',') => {
            "; of several values, which compare takes with --vary, each alone"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CARD: &[Knob] = &[
        Knob::integer("batch", 16, 1..=64, "how many"),
        Knob::number("weight", 0.5, 0.0..=1.0, "how much"),
        Knob::text("size", "4k", |text| text != "7", "not seven", "how big"),
    ];

    fn given(key: &str, value: KnobValue) -> Vec<(String, KnobValue)> {
        vec![(key.to_owned(), value)]
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let knobs = Knobs::check("p", CARD, &given("batch", KnobValue::Integer(3))).unwrap();
        assert_eq!(knobs.integer("batch"), 3);
        assert!((knobs.number("weight") - 0.5).abs() < 1e-12);
    }

    /// One that has no effect is a mistake also where it says what would be so anyway.
    #[test]
    fn what_is_given_counts_whatever_its_value() {
        let given = given("weight", KnobValue::Number(0.5));
        let knobs = Knobs::check("p", CARD, &given).unwrap();
        let found = knobs.first_given(CARD.iter());
        let (knob, value) = found.expect("the weight");
        assert_eq!((knob.name, value), ("weight", &KnobValue::Number(0.5)));
        assert_eq!(knobs.first_given(CARD[..1].iter()).map(|_| ()), None);
    }

    #[test]
    fn a_value_of_a_wrong_type_does_not_read_like_one_that_is_allowed() {
        let told = |key: &str, value: KnobValue| {
            let error = Knobs::check("p", CARD, &given(key, value)).unwrap_err();
            error.to_string()
        };
        let is =
            |told: String, value: &str| assert!(told.contains(&format!(" = {value} (")), "{told}");
        is(told("batch", KnobValue::Number(4.0)), "4.0");
        is(told("batch", KnobValue::Text("4".to_owned())), "\"4\"");
        is(told("weight", KnobValue::Text("0.5".to_owned())), "\"0.5\"");
        is(told("batch", KnobValue::Text("many".to_owned())), "many");
        is(told("batch", KnobValue::Integer(65)), "65");
    }

    #[test]
    fn an_unknown_knob_names_the_nearest() {
        let error = Knobs::check("p", CARD, &given("wieght", KnobValue::Integer(1))).unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("weight"));
    }

    #[test]
    fn a_value_out_of_range_names_what_is_allowed() {
        let error = Knobs::check("p", CARD, &given("batch", KnobValue::Integer(65))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "p.batch = 65 (allowed: a whole number from 1 to 64)"
        );
        assert!(Knobs::check("p", CARD, &given("batch", KnobValue::Number(1.5))).is_err());
    }

    #[test]
    fn a_comma_where_one_value_belongs_is_explained() {
        let told = |text: &str| {
            let value = KnobValue::Text(text.to_owned());
            Knobs::check("p", CARD, &given("batch", value))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            told("4,foo=7"),
            "p.batch = 4,foo=7 (allowed: a whole number from 1 to 64; between settings stands a colon, as in \
             name:knob=1:other=2)"
        );
        assert!(told("4,8").contains("--vary"), "{}", told("4,8"));
        assert!(!told("many").contains("--vary"), "{}", told("many"));
    }

    #[test]
    fn numbers_of_hundreds_of_digits_are_written_with_an_exponent() {
        let texts = [0.0, 0.5, 1e6, -3.25, 1e300, -1e-300].map(written);
        assert_eq!(texts, ["0", "0.5", "1000000", "-3.25", "1e300", "-1e-300"]);
        assert_eq!(KnobValue::parse("1e300").to_string(), "1e300");
    }

    #[test]
    fn a_text_may_look_like_a_number() {
        let knobs = Knobs::check("p", CARD, &given("size", KnobValue::Integer(8))).unwrap();
        assert_eq!(knobs.choice("size"), "8");
        let error = Knobs::check("p", CARD, &given("size", KnobValue::Integer(7))).unwrap_err();
        assert_eq!(error.to_string(), "p.size = 7 (allowed: not seven)");
    }
}
