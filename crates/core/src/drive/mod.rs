//! Drives: kinds of models, the catalog of named drives, and the oracles that schedulers see.
//!
//! A kind is a file here and a line in [`KINDS`]; a named drive is a TOML file in `catalog/` and a
//! line in [`CATALOG`]; an oracle is a file in `oracle/` and a line in [`oracle::TABLE`].

use crate::contract::Blueprint;
use crate::measure::Measure;
use crate::registry::{ConfigError, Knob, KnobValue, Knobs, canonical, nearest};

mod cache;
pub mod capped;
pub mod empirical;
pub mod faulty;
mod file;
mod flat;
pub mod hdd;
mod null;
pub mod oracle;
pub(crate) mod protection;
pub mod queued;
pub mod ssd;
pub mod zoned;

/// A kind of drive model: how to read its parameters.
pub struct Kind {
    /// Value of `kind` in a drive's file.
    pub name: &'static str,
    /// What it models, in one line.
    pub summary: &'static str,
    /// Where the model comes from.
    pub source: &'static str,
    /// What can be set per run, on top of the drive's file.
    pub knobs: &'static [Knob],
    /// What its drives count.
    pub measures: &'static [Measure],
    /// Checks a drive's parameters.
    pub read: Reader,
}

impl Kind {
    /// What can be set of the drive of this file, with the defaults that the file gives.
    pub fn knobs_of(&self, file: &toml::Table) -> Vec<Knob> {
        queued::knobs(self.knobs, file)
    }
}

/// Turns a drive's file and the knobs in effect into checked parameters.
pub type Reader = fn(&toml::Table, &Knobs) -> Result<Box<dyn Blueprint>, ConfigError>;

/// What drives count, by kind, and what those with zones count.
pub fn measures() -> impl Iterator<Item = &'static [Measure]> {
    KINDS
        .iter()
        .map(|kind| kind.measures)
        .chain([zoned::MEASURES])
}

/// The key under which results have what a drive of any kind counts.
pub const KEY: &str = "drive";

/// Every kind of drive.
pub static KINDS: &[&Kind] = &[
    &null::KIND,
    &hdd::KIND,
    &empirical::KIND,
    &capped::KIND,
    &ssd::KIND,
];

/// Blocks of a drive at most: 8 PiB. The bytes of an array of 1,024 such drives still fit 64 bits.
pub const CAPACITY_MAX: u64 = 1 << 44;

/// A named drive that ships with nearslot.
pub struct Entry {
    /// Name in configuration.
    pub name: &'static str,
    /// Its parameters.
    pub text: &'static str,
}

impl Entry {
    /// Whether it is a disk, and not another kind of drive.
    pub fn is_disk(&self) -> bool {
        self.is_of(&hdd::KIND)
    }

    /// Whether it is flash.
    pub fn is_flash(&self) -> bool {
        self.is_of(&ssd::KIND)
    }

    fn is_of(&self, kind: &Kind) -> bool {
        let of = |table: toml::Table| kind_of(self.name, &table).ok();
        let own = self.text.parse().ok().and_then(of);
        own.is_some_and(|own| own.name == kind.name)
    }

    /// The year in which it was first sold, if its file tells. A disk that stands for that of one
    /// study tells none, and is taken only where it is named.
    pub fn year(&self) -> Option<u32> {
        let table: toml::Table = self.text.parse().ok()?;
        table.get("year")?.as_integer()?.try_into().ok()
    }
}

macro_rules! catalog {
    ($($name:literal),+ $(,)?) => {
        &[$(Entry { name: $name, text: include_str!(concat!("catalog/", $name, ".toml")) }),+]
    };
}

/// Every drive that ships with nearslot.
pub static CATALOG: &[Entry] = catalog![
    "cloud-gp2-100gib",
    "desktop-7200-90mb",
    "emulated-7200-150mb",
    "hitachi-7200-90mb",
    "hp-c2247a",
    "modern-20tb",
    "null",
    "nvme-tlc-1tb",
    "plextor-px-256m5s",
    "sata-tlc-500gb",
    "scsi-10k-73gb",
    "seagate-7200-125mb",
    "seagate-cheetah-9lp",
];

/// The parameters of a drive of the catalog.
///
/// # Errors
/// No such drive; the error suggests the nearest.
pub fn catalog_text(name: &str) -> Result<&'static str, ConfigError> {
    let found = CATALOG
        .iter()
        .find(|entry| canonical(entry.name) == canonical(name));
    found.map(|entry| entry.text).ok_or_else(|| {
        let names: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        ConfigError::unknown("drive", name, &names)
    })
}

/// Reads a drive's file: `name` is for messages, `knobs` are settings on top of it.
///
/// # Errors
/// Not TOML, an unknown kind or key, a value that is not allowed, parameters that contradict each
/// other.
pub fn read(
    name: &str,
    text: &str,
    knobs: &[(String, KnobValue)],
) -> Result<(Box<dyn Blueprint>, Knobs), ConfigError> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| unreadable(name, text, &error))?;
    let kind = kind_of(name, &table)?;
    let knobs = Knobs::check(name, &kind.knobs_of(&table), knobs)?;
    let blueprint = (kind.read)(&table, &knobs);
    let zoned = blueprint.and_then(|bare| zoned::around(bare, &knobs));
    let blueprint = zoned.map_err(|mut error| {
        error.key = format!("drive {name}: {}", error.key);
        error
    })?;
    Ok((blueprint, knobs))
}

/// A line of a drive's file that is no TOML.
fn unreadable(name: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let number = text[..start].matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default().trim();
    let key = format!("drive {name}: line {}", number + 1);
    let allowed = format!("TOML, such as `rpm = 7200`; {}", error.message());
    ConfigError::value(&key, line, &allowed).of_file()
}

/// The kind that a drive's file names.
///
/// # Errors
/// The file names none, or one that does not exist.
pub fn kind_of(name: &str, table: &toml::Table) -> Result<&'static Kind, ConfigError> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let key = format!("drive {name}: kind");
    let Some(toml::Value::String(word)) = table.get("kind") else {
        let found = table.get("kind").map(toml::Value::to_string);
        let allowed = format!("one of {}", names.join(", "));
        let found = found.as_deref().unwrap_or("missing");
        return Err(ConfigError::value(&key, found, &allowed).of_file());
    };
    let found = KINDS.iter().find(|kind| kind.name == word);
    found.copied().ok_or_else(|| {
        let allowed = format!("one of {}", names.join(", "));
        ConfigError {
            nearest: nearest(word, &names),
            ..ConfigError::value(&key, word, &allowed).of_file()
        }
    })
}
