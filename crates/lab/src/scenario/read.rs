//! Reading a scenario file.

use std::path::Path;

use nearslot_core::config::{KINDS, Kinds, PartConfig, Parts};
use nearslot_core::registry::ConfigError;
use nearslot_trace::TraceTime;
use serde_json::json;

use super::keys::{self, Place};
use super::{Load, Scenario, TraceLoad, Warmup};
use crate::workload;

impl Scenario {
    /// Reads a scenario file's text. Relative paths of traces and drives are relative to
    /// `directory`.
    ///
    /// # Errors
    /// Not TOML, an unknown key (with the nearest valid one), a value that is not allowed.
    pub fn from_toml(text: &str, directory: &Path) -> Result<Scenario, ConfigError> {
        Scenario::from_toml_of(KINDS, text, directory)
    }

    /// The same where a stack is made of these kinds of parts.
    ///
    /// # Errors
    /// As [`Scenario::from_toml`].
    pub fn from_toml_of(
        kinds: Kinds,
        text: &str,
        directory: &Path,
    ) -> Result<Scenario, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error| no_toml(text, &error))?;
        if table.contains_key("kind")
            && !table.contains_key("trace")
            && !table.contains_key("workload")
        {
            let kind = table["kind"].to_string();
            let allowed = "in a drive's file alone, which --drive takes; a scenario has [trace] or [workload]";
            return Err(ConfigError::value("kind", kind.trim(), allowed));
        }
        check_keys("scenario", &table, &keys::names(kinds, Place::Top))?;
        let mut scenario = Scenario::over(load(&table, directory)?);
        scenario.parts = Parts::new(kinds);
        for (key, value) in &table {
            match key.as_str() {
                "seed" => {
                    scenario.seed = word_of(key, value, "a whole number from 0 to 2^63 - 1")?;
                }
                "drive" => scenario.drive = PartConfig::from_toml(key, value)?,
                "warmup" => scenario.warmup = word_of(key, value, Warmup::ALLOWED)?,
                _ => {
                    if let Some(part) = scenario.parts.get_mut(key) {
                        *part = PartConfig::from_toml(key, value)?;
                    }
                }
            }
        }
        if scenario.drive.name.ends_with(".toml") {
            scenario.drive.name = directory.join(&scenario.drive.name).display().to_string();
        }
        Ok(scenario)
    }
}

fn load(table: &toml::Table, directory: &Path) -> Result<Load, ConfigError> {
    match (table.get("trace"), table.get("workload")) {
        (Some(value), None) => {
            let toml::Value::Table(table) = value else {
                let allowed = "a table, [trace], with `files`";
                return Err(ConfigError::value(
                    "trace",
                    value.to_string().trim(),
                    allowed,
                ));
            };
            check_keys("[trace]", table, &keys::names(KINDS, Place::Trace))?;
            let trace = value.clone().try_into();
            let mut trace: TraceLoad = trace.map_err(|_| wrong_setting(table))?;
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
        (None, Some(value)) => {
            let flat = without_tables(value);
            let mut part = PartConfig::from_toml("workload", &flat)?;
            workload::in_folder(&mut part, directory);
            Ok(Load::Workload(part))
        }
        (None, None) => Err(ConfigError::value(
            "load",
            "missing",
            "[trace] or [workload]",
        )),
        (Some(_), Some(_)) => Err(ConfigError::value("load", "both", "[trace] or [workload]")),
    }
}

/// What is wrong with a file that is no TOML, and where. A number that is too large for TOML is
/// told by its key.
fn no_toml(text: &str, error: &toml::de::Error) -> ConfigError {
    let span = error.span().unwrap_or_default();
    let (before, found) = (&text[..span.start], text[span.clone()].trim());
    let at = format!("line {}", 1 + before.matches('\n').count());
    if error.message() == "duplicate key" {
        return ConfigError::value(&at, &format!("`{found}` again"), "each key once");
    }
    let digits = found.trim_start_matches(['+', '-']);
    if digits.starts_with(|first: char| first.is_ascii_digit()) {
        let (key, _) = before.rsplit_once('=').unwrap_or((before, ""));
        let key = key
            .trim_end()
            .rsplit(['\n', '{', ',', ' ', '['])
            .next()
            .unwrap_or_default();
        let allowed = "a whole number from -2^63 to 2^63 - 1, or any other value of TOML";
        return ConfigError::value(&format!("{at}: {key}"), found, allowed);
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    let rest = text[span.start..].lines().next().unwrap_or_default();
    let allowed = "TOML: key = value or [table] on each line, words in quotes, as sched = \"look\"";
    ConfigError::value(&at, format!("{line}{rest}").trim(), allowed)
}

/// Which setting of `[trace]` is to blame, and what is allowed there.
fn wrong_setting(trace: &toml::Table) -> ConfigError {
    let is_wrong = |(key, value): &(&String, &toml::Value)| {
        let alone = toml::Table::from_iter([((*key).clone(), (*value).clone())]);
        alone.try_into::<TraceLoad>().is_err()
    };
    let found = trace.iter().find(is_wrong);
    let (key, value) = found.expect("each setting is read by itself");
    let word = bare(value);
    let wrong = |allowed: &str| ConfigError::value(key, &value.to_string(), allowed);
    match key.as_str() {
        "from" | "to" | "busiest" => {
            let refused = TraceTime::told(key, &word).err();
            refused.unwrap_or_else(|| wrong(&format!("\"{word}\", in quotes")))
        }
        "files" => {
            let file = if value.is_str() { &*word } else { "trace.csv" };
            wrong(&format!("a list of names in quotes, as [\"{file}\"]"))
        }
        "limit" => wrong("a whole number from 1"),
        "device" | "format" => wrong("a name in quotes"),
        _ => {
            let mut other = Scenario::over(Load::Trace(TraceLoad {
                files: vec!["-".into()],
                ..TraceLoad::default()
            }));
            let refused = other.set(key, &word).err();
            refused.unwrap_or_else(|| wrong(&format!("{word}, without quotes")))
        }
    }
}

/// The same with every list of tables as the JSON that a setting has in its place.
fn without_tables(value: &toml::Value) -> toml::Value {
    let toml::Value::Table(table) = value else {
        return value.clone();
    };
    let flat = table.iter().map(|(key, value)| {
        let value = match value {
            toml::Value::Array(_) => toml::Value::String(json!(value).to_string()),
            other => other.clone(),
        };
        (key.clone(), value)
    });
    toml::Value::Table(flat.collect())
}

fn check_keys(what: &str, table: &toml::Table, known: &[&str]) -> Result<(), ConfigError> {
    let unknown = table.iter().find(|(key, _)| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |(key, value)| {
        Err(ConfigError::unknown(&format!("key of {what}"), key, known)
            .with_value(value.to_string().trim()))
    })
}

/// A value that is told in a word or a number.
fn word_of<T: serde::de::DeserializeOwned>(
    key: &str,
    value: &toml::Value,
    allowed: &str,
) -> Result<T, ConfigError> {
    let found = bare(value);
    let wrong = |_| ConfigError::value(key, found.trim(), allowed);
    value.clone().try_into().map_err(wrong)
}

/// A value as a command line would spell it.
fn bare(value: &toml::Value) -> String {
    match value {
        toml::Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::scenario::{AUTO, Replay};

    fn read(text: &str) -> Result<Scenario, ConfigError> {
        Scenario::from_toml(text, Path::new("/data"))
    }

    #[test]
    fn a_scenario_is_read_with_its_defaults() {
        let scenario =
            read("sched = 'look'\n[trace]\nfiles = ['a.csv']\nreplay = 'closed'").unwrap();
        assert_eq!(scenario.parts.get("sched").unwrap().name, "look");
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
        for (line, told) in [
            (
                "seed = -1",
                "seed = -1 (allowed: a whole number from 0 to 2^63 - 1)".to_owned(),
            ),
            (
                "warmup = 1.5",
                format!("warmup = 1.5 (allowed: {})", Warmup::ALLOWED),
            ),
            (
                "warmup = -3",
                format!("warmup = -3 (allowed: {})", Warmup::ALLOWED),
            ),
            (
                "warmup = '91%'",
                format!("warmup = 91% (allowed: {})", Warmup::ALLOWED),
            ),
            (
                "warmup = [1]",
                format!("warmup = [1] (allowed: {})", Warmup::ALLOWED),
            ),
        ] {
            let error = read(&format!("{line}\n[trace]\nfiles = ['a']")).unwrap_err();
            assert_eq!(error.to_string(), told);
        }
        assert!(read("sched = 'fcfs'").is_err());
    }

    #[test]
    fn a_setting_of_a_trace_is_named_by_itself() {
        for (line, told) in [
            ("depth = '4'", "depth = \"4\" (allowed: 4, without quotes)"),
            (
                "replay = 'close'",
                "unknown replay `close`; did you mean `closed`",
            ),
            ("limit = -1", "limit = -1 (allowed: a whole number from 1)"),
            ("from = 5", "from = 5 (allowed: a time with its unit"),
            ("to = '9'", "to = 9 (allowed: a time with its unit"),
            ("device = 5", "device = 5 (allowed: a name in quotes)"),
            ("format = 5", "format = 5 (allowed: a name in quotes)"),
        ] {
            let error = read(&format!("[trace]\nfiles = ['a.csv']\n{line}"));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(told), "{line}: {error}");
        }
    }

    #[test]
    fn messages_are_in_the_words_of_a_scenario() {
        for (text, told) in [
            (
                "[trace]\nfiles = 'hot.csv'",
                "files = \"hot.csv\" (allowed: a list of names in quotes, as [\"hot.csv\"])",
            ),
            (
                "[trace]\nfiles = [5]",
                "files = [5] (allowed: a list of names in quotes, as [\"trace.csv\"])",
            ),
            (
                "trace = 'hot.csv'",
                "trace = \"hot.csv\" (allowed: a table, [trace], with `files`)",
            ),
            (
                "[[trace]]\nfiles = ['a']",
                "trace = [{ files = [\"a\"] }] (allowed: a table, [trace], with `files`)",
            ),
            (
                "[workload]\ndepth = 4",
                "workload.name = missing (allowed: a name in quotes, which says which part it is)",
            ),
            (
                "sched = 'look'\nseed = 18446744073709551615",
                "line 2: seed = 18446744073709551615 (allowed: a whole number from -2^63 to 2^63 - 1, or any other value of TOML)",
            ),
            (
                "drive = {name = 'null', queue_depth = 99999999999999999999}",
                "line 1: queue_depth = 99999999999999999999 (allowed: a whole number from -2^63",
            ),
            (
                "seed = 1\nsched = look",
                "line 2 = sched = look (allowed: TOML: key = value or",
            ),
            (
                "seed =\nsched = 'look'",
                "line 1 = seed = (allowed: TOML: key = value or",
            ),
            (
                "seed = 1\n[trace\nfiles = ['a']",
                "line 2 = [trace (allowed: TOML: key",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_named_with_its_line() {
        let told = |text: &str| read(text).unwrap_err().to_string();
        let top = told("seed = 1\nsched = 'look'\nsched = 'satf'\n[trace]\nfiles = ['a']");
        assert_eq!(top, "line 3 = `sched` again (allowed: each key once)");
        let knob = told("sched = { name = 'vscan', r = 0.1, r = 0.2 }\n[trace]\nfiles = ['a']");
        assert_eq!(knob, "line 1 = `r` again (allowed: each key once)");
        let word = told("sched = 'vscan:r=0.1:r=0.2'\n[trace]\nfiles = ['a']");
        assert!(
            word.contains("vscan.r = 0.1 and 0.2 (allowed: one value)"),
            "{word}"
        );
    }

    #[test]
    fn a_drives_file_is_no_scenario() {
        let told = read("kind = 'hdd'\nrpm = 7200").unwrap_err().to_string();
        assert!(told.contains("which --drive takes"), "{told}");
    }
}
