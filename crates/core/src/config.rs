//! From names to parts: the only module that reads the tables.
//!
//! A part is configured as a word, `name:knob=value:knob=value`, or as a table with `name` and its knobs. All
//! mistakes are found here, before anything runs.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::contract::{Blueprint, Drive};
use crate::drive;
use crate::ids::DriveId;
use crate::registry::{self, ConfigError, Env, Forgetful, KnobValue, Knobs, Memo, Spec, Survivors};
use crate::rng::Rng;
use crate::stack::{Lane, Stack};
use crate::units::Angle;
use crate::{place, sched};

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
        let knobs = pieces.map(setting).collect::<Result<_, _>>()?;
        Ok(PartConfig { name, knobs })
    }
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
        Ok(PartConfig { name, knobs })
    }
}

/// A drive to model: the name and text of its file, and settings on top.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// Name and knobs, as given.
    pub part: PartConfig,
    /// TOML, from the catalog or from the user.
    pub text: String,
}

/// Everything a stack is made of, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// The drive below; all drives of an array are of this kind.
    pub drive: DriveConfig,
    /// Which I/O goes next.
    pub sched: PartConfig,
    /// Where data lives.
    pub place: PartConfig,
    /// What the scheduler knows of the drive.
    pub oracle: PartConfig,
    /// Seeds everything random.
    pub seed: u64,
}

/// A stack and the drives it was configured for, ready for a loop.
pub struct Assembly {
    /// The decisions.
    pub stack: Stack,
    /// Models of its drives, by drive id.
    pub drives: Vec<Box<dyn Drive>>,
    /// What is known of them.
    pub blueprint: Box<dyn Blueprint>,
    /// The configuration with every default spelled out.
    pub effective: StackConfig,
}

impl StackConfig {
    /// Checks every name and every knob, without building anything that takes long.
    ///
    /// # Errors
    /// The first mistake found. What contradicts each other or the drive, [`StackConfig::build`] finds.
    pub fn check(&self) -> Result<(), ConfigError> {
        let DriveConfig { part, text } = &self.drive;
        drive::read(&part.name, text, &part.knobs)?;
        known("scheduler", sched::TABLE, &self.sched)?;
        known("placement", place::TABLE, &self.place)?;
        known("oracle", drive::oracle::TABLE, &self.oracle)?;
        Ok(())
    }

    /// Checks everything and builds it.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn build(&self) -> Result<Assembly, ConfigError> {
        self.build_with(&Forgetful)
    }

    /// The same, with preparations that other builds made too.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn build_with(&self, memo: &dyn Memo) -> Result<Assembly, ConfigError> {
        self.assemble(memo, None)
    }

    /// A stack that goes on where an earlier one of the same configuration ended.
    ///
    /// # Errors
    /// The first mistake found; what survived is damaged, newer, or another volume's.
    pub fn recover(&self, survivors: &dyn Survivors) -> Result<Assembly, ConfigError> {
        self.assemble(&Forgetful, Some(survivors))
    }

    fn assemble(
        &self,
        memo: &dyn Memo,
        survivors: Option<&dyn Survivors>,
    ) -> Result<Assembly, ConfigError> {
        let DriveConfig { part: named, text } = &self.drive;
        let (blueprint, drive_knobs) = drive::read(&named.name, text, &named.knobs)?;
        let identity = format!("{:?} {text}", drive_knobs.iter().collect::<Vec<_>>());
        let capacity = blueprint.capacity();
        let env = Env {
            seed: self.seed,
            label: "place",
            blueprint: &*blueprint,
            capacity,
            identity: &identity,
            memo,
            survivors,
        };
        let (placement, place) = part("placement", place::TABLE, &self.place, &env)?;
        let mut effective = StackConfig {
            drive: DriveConfig {
                part: effective(&named.name, &drive_knobs),
                text: text.clone(),
            },
            place,
            ..self.clone()
        };
        let (mut lanes, mut drives) = (Vec::new(), Vec::new());
        for index in 0..placement.drives() {
            let mut turned = blueprint.turned(self.phase(index));
            let free = placement.free(DriveId(index));
            if let Some(at) = free.and_then(|free| free.left().at) {
                turned = turned.resting(at);
            }
            let of_drive = Env {
                blueprint: &*turned,
                ..env
            };
            let label = &format!("sched/{index}");
            let env = Env { label, ..of_drive };
            let (scheduler, sched) = part("scheduler", sched::TABLE, &self.sched, &env)?;
            let label = &format!("oracle/{index}");
            let env = Env { label, ..of_drive };
            let table = drive::oracle::TABLE;
            let (oracle, oracle_part) = part("oracle", table, &self.oracle, &env)?;
            (effective.sched, effective.oracle) = (sched, oracle_part);
            lanes.push(Lane {
                scheduler,
                oracle,
                capacity,
            });
            drives.push(turned.seeded(self.seed, &format!("drive/{index}/service")));
        }
        Ok(Assembly {
            stack: Stack::new(placement, lanes),
            drives,
            effective,
            blueprint,
        })
    }

    /// How far a drive's platters are turned at the beginning. The first one's stand as its file says.
    fn phase(&self, drive: u16) -> Angle {
        let random = || Rng::stream(self.seed, &format!("drive/{drive}")).bits() >> 32;
        Angle(if drive == 0 { 0 } else { random() as u32 })
    }
}

/// Finds, checks and builds a part of any kind; also gives its configuration with every default spelled out.
///
/// # Errors
/// No such part, or a knob that is unknown or not allowed.
pub fn part<T: ?Sized>(
    kind: &str,
    table: &'static [&'static Spec<T>],
    config: &PartConfig,
    env: &Env<'_>,
) -> Result<(Box<T>, PartConfig), ConfigError> {
    let (spec, knobs) = known(kind, table, config)?;
    Ok(((spec.build)(&knobs, env)?, effective(spec.name, &knobs)))
}

/// A part's card, and its knobs in effect.
fn known<T: ?Sized>(
    kind: &str,
    table: &'static [&'static Spec<T>],
    config: &PartConfig,
) -> Result<(&'static Spec<T>, Knobs), ConfigError> {
    let spec = registry::find(kind, table, &config.name)?;
    let knobs = Knobs::check(spec.name, spec.knobs, &config.knobs)?;
    Ok((spec, knobs))
}

fn effective(name: &str, knobs: &Knobs) -> PartConfig {
    let knobs = knobs
        .iter()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    PartConfig {
        name: name.to_owned(),
        knobs,
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
    fn a_part_that_does_not_exist_is_named_with_its_nearest() {
        let config = StackConfig {
            drive: DriveConfig {
                part: PartConfig::named("null"),
                text: drive::catalog_text("null").unwrap().to_owned(),
            },
            sched: PartConfig::named("fcsf"),
            place: PartConfig::named("linear"),
            oracle: PartConfig::named("exact"),
            seed: 1,
        };
        let error = config.build().err().unwrap();
        assert_eq!(error.nearest.as_deref(), Some("fcfs"));
    }
}
