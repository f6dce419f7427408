//! A scenario: drive, policies, load and seed, as TOML and as a struct.
//!
//! ```toml
//! seed = 1
//! drive = "modern-20tb"              # a name of the catalog, or the path of a drive's TOML file; auto if left out
//! sched = "aged_satf:weight_ms_per_s=3" # or a table: { name = "aged_satf", weight_ms_per_s = 3 }
//! oracle = "exact"
//! warmup = "1%"
//!
//! [trace]
//! files = ["mytrace.blktrace.0"]
//! replay = "closed"
//! depth = 16
//!
//! # instead of [trace]:
//! # [workload]
//! # name = "iometer"
//! # depth = 16
//! ```
//!
//! Every key can also be set by name ([`Scenario::set`]), which is how grids vary it.

use std::path::{Path, PathBuf};

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::Placement;
use nearslot_core::drive;
use nearslot_core::place;
use nearslot_core::registry::{self, ConfigError, KnobValue, Spec, written};
use nearslot_trace::{OpenOptions, Span, TraceError, TraceTime};
use serde::{Deserialize, Serialize};

use crate::default_drive::AUTO;
use crate::keys::{self, Key, Place};
use crate::workload::closed::Refill;
use crate::workload::layout::Volumes;
use crate::workload::{self, fit::Mode};

/// Everything a run needs to be told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Seeds everything random.
    pub seed: u64,
    /// Name in the catalog or path of a file, with knobs; [`AUTO`] if the drive is to be chosen.
    pub drive: PartConfig,
    /// Which I/O goes next.
    pub sched: PartConfig,
    /// What the scheduler knows of the drive.
    pub oracle: PartConfig,
    /// Where data lives.
    pub place: PartConfig,
    /// What is cut off the front.
    pub warmup: Warmup,
    /// What asks.
    pub load: Load,
}

/// How much of a run's front is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WarmupWord", into = "String")]
pub enum Warmup {
    /// So many requests.
    Requests(u64),
    /// A share of all requests, in percent.
    Percent(f64),
    /// One percent; in closed loops at least four times the depth, so that the first filling of the queue is not
    /// measured; never more than a tenth.
    Auto,
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A trace.
    Trace(TraceLoad),
    /// A synthetic workload, with knobs.
    Workload(PartConfig),
}

/// A trace and how to replay it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceLoad {
    /// Its files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Its format, when it is not to be detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Which device of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How several devices are placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Volumes>,
    /// Only what came at this time after the trace's first request, or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<TraceTime>,
    /// Only what came before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<TraceTime>,
    /// Only the window of this length with most requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest: Option<TraceTime>,
    /// Only the first requests (of the span).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How arrivals are made of it.
    pub replay: Replay,
    /// Requests in flight in a closed replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// In a closed replay, whether the request that an answer brings comes after or before the drive chooses its next
    /// command; after, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill: Option<Refill>,
    /// Arrival times are divided by this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// What is done about addresses beyond the drive.
    pub fit: Mode,
    /// In a dependent replay, the response time of requests whose completion the trace does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_guess_us: Option<f64>,
}

impl TraceLoad {
    /// Requests in flight in a closed replay: 16 when nothing is said.
    pub fn depth(&self) -> u64 {
        self.depth.unwrap_or(16)
    }

    /// When the next request comes in a closed replay: after the drive has chosen when nothing is said.
    pub fn refill(&self) -> Refill {
        self.refill.unwrap_or(Refill::After)
    }

    /// What arrival times are divided by: 1 when nothing is said.
    pub fn speed(&self) -> f64 {
        self.speed.unwrap_or(1.0)
    }

    /// The response time that is taken where the trace does not tell one: 5 ms when nothing is said.
    pub fn service_guess_us(&self) -> f64 {
        self.service_guess_us.unwrap_or(5_000.0)
    }

    /// A setting that only some replay modes read, if it was given.
    fn given(&self, key: &str) -> Option<String> {
        match key {
            "depth" => self.depth.map(|depth| depth.to_string()),
            "refill" => self.refill.map(|refill| refill.word().to_owned()),
            "speed" => self.speed.map(written),
            "service_guess_us" => self.service_guess_us.map(written),
            _ => None,
        }
    }
}

impl Default for TraceLoad {
    fn default() -> TraceLoad {
        TraceLoad {
            files: Vec::new(),
            format: None,
            device: None,
            volumes: None,
            from: None,
            to: None,
            busiest: None,
            limit: None,
            replay: Replay::Open,
            depth: None,
            refill: None,
            speed: None,
            fit: Mode::None,
            service_guess_us: None,
        }
    }
}

impl TraceLoad {
    /// The part of the trace that is replayed.
    ///
    /// # Errors
    /// `from`, `to` and `busiest` contradict each other.
    pub fn span(&self) -> Result<Span, ConfigError> {
        Span::told(self.from, self.to, self.busiest)
    }

    /// How its files are opened: as `how` says, and what the load itself says of them.
    ///
    /// # Errors
    /// As [`TraceLoad::span`].
    pub fn opened(&self, how: OpenOptions) -> Result<OpenOptions, ConfigError> {
        Ok(OpenOptions {
            format: self.format.clone(),
            device: self.device.clone(),
            span: self.span()?,
            limit: self.limit,
            ..how
        })
    }
}

words! {
    /// How arrivals are made of a trace.
    Replay {
        /// At the traced times.
        Open = "open",
        /// A constant number in flight, whatever the times.
        Closed = "closed",
        /// Think times after completions, inferred.
        Dependent = "dependent",
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WarmupWord {
    Count(u64),
    Word(String),
}

impl TryFrom<WarmupWord> for Warmup {
    type Error = ConfigError;

    fn try_from(word: WarmupWord) -> Result<Warmup, ConfigError> {
        match word {
            WarmupWord::Count(count) => Ok(Warmup::Requests(count)),
            WarmupWord::Word(word) => word.parse(),
        }
    }
}

impl std::str::FromStr for Warmup {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<Warmup, ConfigError> {
        let wrong =
            || ConfigError::value("warmup", word, "auto, a number of requests, or 0% to 90%");
        if word == "auto" {
            return Ok(Warmup::Auto);
        }
        match word.strip_suffix('%') {
            None => word.parse().map(Warmup::Requests).map_err(|_| wrong()),
            Some(number) => match number.parse::<f64>() {
                Ok(percent) if (0.0..=90.0).contains(&percent) => Ok(Warmup::Percent(percent)),
                _ => Err(wrong()),
            },
        }
    }
}

impl From<Warmup> for String {
    fn from(warmup: Warmup) -> String {
        match warmup {
            Warmup::Requests(count) => count.to_string(),
            Warmup::Percent(percent) => format!("{percent}%"),
            Warmup::Auto => "auto".to_owned(),
        }
    }
}

impl Warmup {
    /// Requests to cut off `requests`, given the depth of a closed loop.
    ///
    /// # Errors
    /// More than there are.
    pub fn requests(self, requests: u64, depth: Option<u64>) -> Result<u64, ConfigError> {
        let cut = match self {
            Warmup::Requests(count) => count,
            Warmup::Percent(percent) => (requests as f64 * percent / 100.0) as u64,
            Warmup::Auto => {
                let filling = depth.map_or(0, |depth| depth.saturating_mul(4));
                (requests / 100).max(filling).min(requests / 10)
            }
        };
        if cut > 0 && cut >= requests {
            let allowed = format!("fewer than the {requests} requests of the run");
            return Err(ConfigError::value("warmup", &cut.to_string(), &allowed));
        }
        Ok(cut)
    }
}

impl Scenario {
    /// The defaults over a load.
    pub fn over(load: Load) -> Scenario {
        Scenario {
            seed: 1,
            drive: PartConfig::named(AUTO),
            sched: PartConfig::named("fcfs"),
            oracle: PartConfig::named("exact"),
            place: PartConfig::named("linear"),
            warmup: Warmup::Auto,
            load,
        }
    }

    /// Reads a scenario file's text. Relative paths of traces and drives are relative to `directory`.
    ///
    /// # Errors
    /// Not TOML, an unknown key (with the nearest valid one), a value that is not allowed.
    pub fn from_toml(text: &str, directory: &Path) -> Result<Scenario, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].lines().count().max(1));
            ConfigError::value(&format!("line {line}"), error.message(), "TOML")
        })?;
        if table.contains_key("kind")
            && !table.contains_key("trace")
            && !table.contains_key("workload")
        {
            let kind = table["kind"].to_string();
            let allowed = "in a drive's file alone, which --drive takes; a scenario has [trace] or [workload]";
            return Err(ConfigError::value("kind", kind.trim(), allowed));
        }
        check_keys("scenario", &table, &keys::names(Place::Top))?;
        let mut scenario = Scenario::over(load(&table, directory)?);
        for (key, value) in &table {
            match key.as_str() {
                "seed" => {
                    scenario.seed = value_of("seed", value, "a whole number from 0 to 2^63 - 1")?;
                }
                "drive" => scenario.drive = value_of(key, value, PART_ALLOWED)?,
                "sched" => scenario.sched = value_of(key, value, PART_ALLOWED)?,
                "oracle" => scenario.oracle = value_of(key, value, PART_ALLOWED)?,
                "place" => scenario.place = value_of(key, value, PART_ALLOWED)?,
                "warmup" => scenario.warmup = value_of(key, value, "auto, requests or percent")?,
                _ => {}
            }
        }
        if scenario.drive.name.ends_with(".toml") {
            scenario.drive.name = directory.join(&scenario.drive.name).display().to_string();
        }
        Ok(scenario)
    }

    /// Sets one key, as grids and command lines do: `sched=look`, `depth=8`, `sched.fifo_batch=4`.
    ///
    /// # Errors
    /// An unknown key (with the nearest valid one) or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        if let Some((part, knob)) = key.split_once('.') {
            return self.set_knob(key, part, knob, value);
        }
        self.set_plain(key, value).map_err(|error| {
            let known = keys::KEYS.iter().any(|known| known.name == key);
            match known && value.contains(',') && !FIXED.contains(&key) {
                true => several(error, key, value),
                false => error,
            }
        })
    }

    fn set_plain(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match key {
            "seed" => {
                self.seed = number(
                    key,
                    value,
                    &format!("a whole number from 0 to {}", u64::MAX),
                )?;
            }
            "drive" => self.drive = part(key, value)?,
            "sched" => self.sched = part(key, value)?,
            "oracle" => self.oracle = part(key, value)?,
            "place" => self.place = part(key, value)?,
            "warmup" => self.warmup = value.parse()?,
            _ => return self.set_load(key, value),
        }
        Ok(())
    }

    fn set_knob(
        &mut self,
        key: &str,
        part: &str,
        knob: &str,
        value: &str,
    ) -> Result<(), ConfigError> {
        let config = match (part, &mut self.load) {
            ("drive", _) => &mut self.drive,
            ("sched", _) => &mut self.sched,
            ("oracle", _) => &mut self.oracle,
            ("place", _) => &mut self.place,
            ("workload", Load::Workload(config)) => config,
            _ => {
                let parts = ["drive", "sched", "oracle", "place", "workload"];
                return Err(ConfigError::unknown("part", part, &parts).with_value(key));
            }
        };
        config.knobs.retain(|(name, _)| name != knob);
        config
            .knobs
            .push((knob.to_owned(), KnobValue::parse(value)));
        Ok(())
    }

    /// A key of the load: of `[trace]`, or a knob of the synthetic workload.
    fn set_load(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match &mut self.load {
            Load::Workload(config) => {
                config.knobs.retain(|(name, _)| name != key);
                config.knobs.push((key.to_owned(), KnobValue::parse(value)));
            }
            Load::Trace(trace) => match key {
                "replay" => trace.replay = value.parse()?,
                "depth" => {
                    let allowed = format!("a whole number from 1 to {DEPTH_MAX}");
                    trace.depth = Some(number(key, value, &allowed)?);
                }
                "refill" => trace.refill = Some(value.parse()?),
                "speed" => trace.speed = Some(number(key, value, "1e-9 to 1e9")?),
                "fit" => trace.fit = value.parse()?,
                "volumes" => trace.volumes = Some(value.parse()?),
                "service_guess_us" => {
                    trace.service_guess_us = Some(number(key, value, "0.001 to 1e9 microseconds")?);
                }
                _ if FIXED.contains(&key) => {
                    let allowed = "one for all runs: it decides which requests there are";
                    return Err(ConfigError::value(key, value, allowed));
                }
                _ => {
                    let mut keys = [keys::names(Place::Top), keys::names(Place::Trace)].concat();
                    keys.retain(|key| *key != "trace");
                    return Err(ConfigError::unknown("key", key, &keys).with_value(value));
                }
            },
        }
        self.check()
    }

    /// Checks what types do not.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Load::Trace(trace) = &self.load else {
            return Ok(());
        };
        if trace.files.is_empty() {
            return Err(ConfigError::value(
                "trace.files",
                "[]",
                "at least one file, or -",
            ));
        }
        if !(1..=DEPTH_MAX).contains(&trace.depth()) {
            let allowed = format!("a whole number from 1 to {DEPTH_MAX}");
            return Err(ConfigError::value(
                "depth",
                &trace.depth().to_string(),
                &allowed,
            ));
        }
        if !(1e-9..=1e9).contains(&trace.speed()) {
            return Err(ConfigError::value(
                "speed",
                &written(trace.speed()),
                "1e-9 to 1e9",
            ));
        }
        let guess = trace.service_guess_us();
        if !(0.001..=1e9).contains(&guess) {
            return Err(ConfigError::value(
                "service_guess_us",
                &written(guess),
                "0.001 to 1e9",
            ));
        }
        trace.span()?;
        if let (Some(volumes), Some(device)) = (trace.volumes, &trace.device) {
            let allowed = format!("nothing beside device, which is {device}: one has no others");
            return Err(ConfigError::value("volumes", volumes.word(), &allowed));
        }
        if trace.limit == Some(0) {
            return Err(ConfigError::value("limit", "0", "a whole number from 1"));
        }
        Ok(())
    }

    /// Whether its requests come whatever the drives do.
    pub(crate) fn is_open(&self) -> bool {
        match &self.load {
            Load::Trace(trace) => trace.replay == Replay::Open,
            Load::Workload(part) => !workload::keeps_a_depth(part),
        }
    }

    /// A setting that was given, by its key, and what it needs that this scenario has not; `None` if it is read.
    pub fn unread(&self, key: &Key) -> Option<(String, String)> {
        let Load::Trace(trace) = &self.load else {
            return None;
        };
        let value = trace.given(key.name)?;
        let allowed = format!(
            "with {}; here replay = {}",
            key.needs(),
            trace.replay.word()
        );
        (!key.replays.contains(&trace.replay)).then_some((value, allowed))
    }

    /// The same scenario with every setting that its replay reads spelled out.
    #[must_use]
    pub fn spelled_out(mut self) -> Scenario {
        if let Load::Trace(trace) = &mut self.load {
            match trace.replay {
                Replay::Closed => trace.depth = Some(trace.depth()),
                Replay::Open => trace.speed = Some(trace.speed()),
                Replay::Dependent => {
                    trace.speed = Some(trace.speed());
                    trace.service_guess_us = Some(trace.service_guess_us());
                }
            }
        }
        self
    }

    /// How the volumes of its trace are placed, if it has several.
    pub fn volumes(&self) -> Option<Volumes> {
        match &self.load {
            Load::Trace(trace) => trace.volumes,
            Load::Workload(_) => None,
        }
    }

    /// The card of the placement, by whichever of its names it is called.
    ///
    /// # Errors
    /// There is no such placement.
    pub(crate) fn placement(&self) -> Result<&'static Spec<dyn Placement>, ConfigError> {
        registry::find("placement", place::TABLE, &self.place.name)
    }

    /// The stack below the load, with the drive's file read.
    ///
    /// # Errors
    /// No such drive in the catalog and no such file; a placement that does not go with drives of their own.
    pub fn stack(&self) -> Result<StackConfig, ConfigError> {
        let own = self.volumes() == Some(Volumes::OwnDrives);
        if own && self.placement()?.name != "linear" {
            let allowed = "linear (the default) with volumes = own-drives: each volume is one drive, block n on block n";
            return Err(ConfigError::value(
                "place",
                &self.place.to_string(),
                allowed,
            ));
        }
        let text = drive_text(&self.drive.name)?;
        Ok(StackConfig {
            drive: DriveConfig {
                part: self.drive.clone(),
                text,
            },
            sched: self.sched.clone(),
            place: self.place.clone(),
            oracle: self.oracle.clone(),
            seed: self.seed,
        })
    }

    /// All files that a run of it reads: those of its trace, and of its drive if that is described in a file.
    ///
    /// # Errors
    /// A folder of the trace cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, TraceError> {
        let mut files = match &self.load {
            Load::Trace(load) => nearslot_trace::files(&load.files, load.format.as_deref())?,
            Load::Workload(_) => Vec::new(),
        };
        if drive_is_file(&self.drive.name) {
            files.push(PathBuf::from(&self.drive.name));
        }
        Ok(files)
    }
}

/// Keys of `[trace]` that all runs of a grid have in common.
const FIXED: [&str; 7] = [
    "from", "to", "busiest", "limit", "device", "format", "files",
];

/// Requests in flight at most.
pub const DEPTH_MAX: u64 = 1 << 20;

const PART_ALLOWED: &str = "a name, name:knob=value, or a table with `name` and knobs";

/// Whether a drive is named by the path of its file.
pub fn drive_is_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// A drive's parameters: from a file if `name` looks like one, else from the catalog.
///
/// # Errors
/// No such drive in the catalog and no such file.
pub fn drive_text(name: &str) -> Result<String, ConfigError> {
    if drive_is_file(name) {
        return std::fs::read_to_string(name).map_err(|error| {
            ConfigError::value(
                "drive",
                &format!("{name} ({error})"),
                "a readable TOML file",
            )
        });
    }
    if name == AUTO {
        let allowed = "a drive that is named, as it is chosen for runs alone";
        return Err(ConfigError::value("drive", name, allowed));
    }
    drive::catalog_text(name).map(str::to_owned)
}

fn load(table: &toml::Table, directory: &Path) -> Result<Load, ConfigError> {
    match (table.get("trace"), table.get("workload")) {
        (Some(value), None) => {
            if let toml::Value::Table(trace) = value {
                check_keys("[trace]", trace, &keys::names(Place::Trace))?;
            }
            let mut trace: TraceLoad = value_of("trace", value, "a table with `files`")?;
            for file in trace
                .files
                .iter_mut()
                .filter(|file| file.as_os_str() != "-")
            {
                *file = directory.join(&file);
            }
            let scenario = Scenario::over(Load::Trace(trace));
            scenario.check()?;
            Ok(scenario.load)
        }
        (None, Some(value)) => Ok(Load::Workload(value_of("workload", value, PART_ALLOWED)?)),
        (None, None) => Err(ConfigError::value(
            "load",
            "missing",
            "[trace] or [workload]",
        )),
        (Some(_), Some(_)) => Err(ConfigError::value("load", "both", "[trace] or [workload]")),
    }
}

fn check_keys(what: &str, table: &toml::Table, known: &[&str]) -> Result<(), ConfigError> {
    let unknown = table.iter().find(|(key, _)| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |(key, value)| {
        Err(ConfigError::unknown(&format!("key of {what}"), key, known)
            .with_value(value.to_string().trim()))
    })
}

fn value_of<T: serde::de::DeserializeOwned>(
    key: &str,
    value: &toml::Value,
    allowed: &str,
) -> Result<T, ConfigError> {
    value.clone().try_into().map_err(|error: toml::de::Error| {
        let found = format!("{} ({})", value.to_string().trim(), error.message().trim());
        ConfigError::value(key, &found, allowed)
    })
}

/// A part with its settings; its name is one name.
fn part(key: &str, word: &str) -> Result<PartConfig, ConfigError> {
    let part: PartConfig = word.parse()?;
    // The path of a drive's file may hold any sign.
    if part.name.contains(',') && !drive_is_file(&part.name) {
        return Err(ConfigError::value(key, word, PART_ALLOWED));
    }
    Ok(part)
}

/// The same mistake where several values were given to what takes one.
fn several(error: ConfigError, key: &str, values: &str) -> ConfigError {
    ConfigError {
        allowed: format!(
            "{}; compare takes several: --vary {key}={values}",
            error.allowed
        ),
        ..error
    }
}

fn number<T: std::str::FromStr>(key: &str, word: &str, allowed: &str) -> Result<T, ConfigError> {
    word.parse()
        .map_err(|_| ConfigError::value(key, word, allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, ConfigError> {
        Scenario::from_toml(text, Path::new("/data"))
    }

    #[test]
    fn a_scenario_is_read_with_its_defaults() {
        let scenario =
            read("sched = 'look'\n[trace]\nfiles = ['a.csv']\nreplay = 'closed'").unwrap();
        assert_eq!(scenario.sched.name, "look");
        assert_eq!(scenario.drive.name, AUTO);
        let Load::Trace(trace) = scenario.load else {
            panic!("it has a trace")
        };
        assert_eq!(trace.files, [PathBuf::from("/data/a.csv")]);
        assert_eq!((trace.replay, trace.depth()), (Replay::Closed, 16));
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        let error = read("schde = 'look'\n[trace]\nfiles = ['a']").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("sched"));
        let error = read("[trace]\nfiles = ['a']\nreply = 'open'").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("replay"));
    }

    #[test]
    fn values_out_of_range_are_named() {
        let error = read("[trace]\nfiles = ['a']\ndepth = 0").unwrap_err();
        assert!(error.to_string().contains("depth = 0"), "{error}");
        assert!(read("seed = -1\n[trace]\nfiles = ['a']").is_err());
        assert!(read("sched = 'fcfs'").is_err());
    }

    #[test]
    fn several_values_where_one_belongs_name_vary() {
        let mut scenario = read("[trace]\nfiles = ['a']").unwrap();
        for (key, values) in [
            ("speed", "0.5,1"),
            ("depth", "4,8"),
            ("seed", "1,2"),
            ("replay", "open,closed"),
            ("fit", "wrap,scale"),
            ("warmup", "0,5%"),
            ("sched", "fcfs,satf"),
            ("drive", "modern-20tb,hp-c2247a"),
            ("place", "linear,stripe:disks=4"),
            ("oracle", "exact,noisy"),
        ] {
            let told = scenario.set(key, values).unwrap_err().to_string();
            let hint = format!("compare takes several: --vary {key}={values}");
            assert!(told.contains(&hint), "{told}");
        }
        let told = scenario.set("seed", "-1").unwrap_err().to_string();
        assert_eq!(
            told,
            "seed = -1 (allowed: a whole number from 0 to 18446744073709551615)"
        );
        let told = scenario.set("depth", "x").unwrap_err().to_string();
        assert_eq!(
            told,
            "depth = x (allowed: a whole number from 1 to 1048576)"
        );
        let told = scenario.set("speed", "1e300").unwrap_err().to_string();
        assert_eq!(told, "speed = 1e300 (allowed: 1e-9 to 1e9)");
        scenario
            .set("drive", "./odd,name.toml")
            .unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn a_drives_file_is_no_scenario() {
        let told = read("kind = 'hdd'\nrpm = 7200").unwrap_err().to_string();
        assert!(told.contains("which --drive takes"), "{told}");
    }

    #[test]
    fn every_key_can_be_set_by_name() {
        let mut scenario = read("[trace]\nfiles = ['a']").unwrap();
        scenario.set("depth", "64").unwrap();
        scenario.set("sched", "aged_satf").unwrap();
        scenario.set("sched.weight", "0.5").unwrap();
        assert_eq!(scenario.sched.to_string(), "aged_satf:weight=0.5");
        assert_eq!(
            scenario.set("dept", "1").unwrap_err().nearest.as_deref(),
            Some("depth")
        );
        assert!(scenario.set("depth", "many").is_err());
    }

    #[test]
    fn warm_up_is_a_count_a_share_or_automatic() {
        let cut = |word: &str, depth| word.parse::<Warmup>().unwrap().requests(1_000, depth);
        assert_eq!(cut("10", None), Ok(10));
        assert_eq!(cut("5%", None), Ok(50));
        assert_eq!(cut("auto", None), Ok(10));
        assert_eq!(cut("auto", Some(16)), Ok(64));
        assert_eq!(cut("auto", Some(4_096)), Ok(100));
        assert!(cut("1000", None).is_err());
        assert!("91%".parse::<Warmup>().is_err());
    }
}
