//! Some streams are told apart by what they may claim: a weight, a class, a level within it, a
//! group.
//!
//! Each setting is a list of `STREAM=VALUE`, separated by spaces. A stream is a number: the number
//! of a client in the trace, of a stream in the results. A priority that a request brings along
//! still counts for class and level, as in Linux a process may change its own.

use crate::contract::Claims;
use crate::ids::GroupId;
use crate::registry::{ConfigError, Knob, Knobs, Need, Spec};
use crate::stream::{Class, Stream, by_stream};

/// Words of classes, in the order of [`Class::ALL`].
const CLASSES: [&str; 3] = ["real-time", "best-effort", "idle"];
fn number(text: &str, least: u16, most: u16) -> Option<u16> {
    let number = text.parse().ok();
    number.filter(|number| (least..=most).contains(number))
}

fn weight(text: &str) -> Option<u16> {
    number(text, 1, 1_000)
}

fn class(text: &str) -> Option<Class> {
    let at = CLASSES.iter().position(|word| *word == text)?;
    Some(Class::ALL[at])
}

fn level(text: &str) -> Option<u16> {
    number(text, 0, 7)
}

fn group(text: &str) -> Option<u16> {
    number(text, 0, 10_000)
}

/// Adds one setting to what is said of streams.
///
/// # Errors
/// A stream has two values.
fn say<T: Copy>(
    claims: &mut Claims,
    (knobs, key): (&Knobs, &str),
    value: fn(&str) -> Option<T>,
    set: fn(&mut Stream, T),
) -> Result<(), ConfigError> {
    let text = knobs.choice(key);
    let mut before = Vec::new();
    for (stream, value) in by_stream(text, value).expect("knobs are checked") {
        if before.contains(&stream) {
            let key = format!("told.{key}");
            let allowed = format!("one value for each stream, and {} has two", stream.0);
            return Err(ConfigError::value(&key, text, &allowed));
        }
        before.push(stream);
        let found = claims.0.iter_mut().find(|(of, _)| *of == stream);
        match found {
            Some((_, of)) => set(of, value),
            None => {
                let mut of = Stream::UNKNOWN;
                set(&mut of, value);
                claims.0.push((stream, of));
            }
        }
    }
    Ok(())
}

/// A group has one weight.
///
/// # Errors
/// Streams of a group have several.
fn check_groups(claims: &Claims) -> Result<(), ConfigError> {
    let grouped = claims.0.iter().map(|(_, of)| of);
    let grouped = grouped.filter(|of| of.group != GroupId(0));
    for of in grouped.clone() {
        let other = grouped
            .clone()
            .find(|other| other.group == of.group && other.weight != of.weight);
        if let Some(other) = other {
            let value = format!("{} and {}", of.weight, other.weight);
            let allowed = format!(
                "one for all streams of group {}, as it is the group's (100 where nothing is said)",
                of.group.0
            );
            return Err(ConfigError::value("told.weight", &value, &allowed));
        }
    }
    Ok(())
}

fn build(knobs: &Knobs) -> Result<Claims, ConfigError> {
    let mut claims = Claims::default();
    say(&mut claims, (knobs, "weight"), weight, |of, weight| {
        of.weight = weight;
    })?;
    say(&mut claims, (knobs, "class"), class, |of, class| {
        of.class = class;
    })?;
    say(&mut claims, (knobs, "level"), level, |of, level| {
        of.level = level as u8;
    })?;
    say(&mut claims, (knobs, "group"), group, |of, group| {
        of.group = GroupId(group);
    })?;
    check_groups(&claims)?;
    if claims.0.is_empty() {
        let allowed = "a weight, class, level or group of some stream, or claims = none";
        return Err(ConfigError::value("claims", "told", allowed));
    }
    Ok(claims)
}

pub(super) static SPEC: Spec<Claims> = Spec {
    name: "told",
    aliases: &["described"],
    summary: "weight, class, level or group of some streams, by their numbers",
    source: "Linux, ioprio_set(2) and io.bfq.weight of a control group",
    knobs: &[
        Knob::text(
            "weight",
            "",
            |text| by_stream(text, weight).is_some(),
            "STREAM=WEIGHT, several separated by spaces, with weights from 1 to 1000, such as \"0=500 3=50\"",
            "shares, compared with those of others: 100 unless told; in a group, that of the group",
        )
        .naming_streams(),
        Knob::text(
            "class",
            "",
            |text| by_stream(text, class).is_some(),
            "STREAM=CLASS, several separated by spaces, with real-time, best-effort or idle",
            "scheduling classes: best-effort unless told",
        )
        .naming_streams()
        .needing(Need::Levels),
        Knob::text(
            "level",
            "",
            |text| by_stream(text, level).is_some(),
            "STREAM=LEVEL, several separated by spaces, with levels from 0, the most urgent, to 7",
            "priorities within the class: 4 unless told",
        )
        .naming_streams()
        .needing(Need::Levels),
        Knob::text(
            "group",
            "",
            |text| by_stream(text, group).is_some(),
            "STREAM=GROUP, several separated by spaces, with groups from 0, the root, to 10000",
            "streams that share one share: 0, the root, unless told",
        )
        .naming_streams(),
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, ()| Ok(Box::new(build(knobs)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PartConfig;
    use crate::ids::StreamId;

    fn told(part: &str) -> Result<Claims, String> {
        let part: PartConfig = part.parse().unwrap();
        let built = part.build::<Claims>(&()).map(|claims| *claims);
        built.map_err(|error| error.to_string())
    }

    #[test]
    fn each_stream_has_what_is_said_of_it_and_the_rest_as_nobody_says() {
        let claims = told("told:weight=3=500 7=20:class=7=idle:level=3=0:group=9=2").unwrap();
        let heavy = Stream {
            weight: 500,
            level: 0,
            ..Stream::UNKNOWN
        };
        let light = Stream {
            weight: 20,
            class: Class::Idle,
            ..Stream::UNKNOWN
        };
        let grouped = Stream {
            group: GroupId(2),
            ..Stream::UNKNOWN
        };
        let expected = [(3, heavy), (7, light), (9, grouped)];
        assert_eq!(
            claims.0,
            expected.map(|(stream, of)| (StreamId(stream), of))
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (part, names) in [
            ("told:weight=3=0", "from 1 to 1000"),
            ("told:weight=3=1001", "from 1 to 1000"),
            ("told:weight=3", "STREAM=WEIGHT"),
            ("told:weight=x=5", "STREAM=WEIGHT"),
            ("told:level=1=8", "to 7"),
            ("told:class=1=rt", "real-time, best-effort or idle"),
            ("told:group=1=-2", "to 10000"),
            ("told:weight=1=5 1=6", "one value for each stream"),
            (
                "told:weight=1=50 2=60:group=1=7 2=7",
                "for all streams of group 7",
            ),
            ("told", "or claims = none"),
        ] {
            let error = told(part).unwrap_err();
            assert!(error.contains(names), "{part}: {error}");
        }
    }
}
