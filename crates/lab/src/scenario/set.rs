//! Setting a scenario's keys by name, as options of the command, keywords and grids do.

use nearslot_core::config::PartConfig;
use nearslot_core::registry::{ConfigError, KnobValue};

use super::keys::{self, Place};
use crate::workload;

use super::{DEPTH_MAX, Load, Scenario, drive_is_file};

/// Keys of `[trace]` that all runs of a grid have in common.
const FIXED: [&str; 7] = [
    "from", "to", "busiest", "limit", "device", "format", "files",
];

impl Scenario {
    /// Sets one key, as grids and command lines do: `sched=look`, `depth=8`, `sched.fifo_batch=4`.
    ///
    /// # Errors
    /// An unknown key (with the nearest valid one) or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        if let Some((part, knob)) = key.split_once('.') {
            return self.set_knob(key, part, knob, value);
        }
        self.set_plain(key, value).map_err(|error| {
            match keys::is_key(self.parts.kinds(), key)
                && value.contains(',')
                && !FIXED.contains(&key)
            {
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
            "warmup" => self.warmup = value.parse()?,
            _ => match self.parts.get_mut(key) {
                Some(chosen) => *chosen = part(key, value)?,
                None => return self.set_load(key, value),
            },
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
        let kinds = self.parts.kinds();
        let config = match (part, &mut self.load) {
            ("drive", _) => Some(&mut self.drive),
            ("workload", Load::Workload(config)) => Some(config),
            _ => self.parts.get_mut(part),
        };
        let config = config.ok_or_else(|| {
            ConfigError::unknown("part", part, &keys::parts(kinds)).with_value(key)
        })?;
        config.knobs.retain(|(name, _)| name != knob);
        config
            .knobs
            .push((knob.to_owned(), KnobValue::parse(value)));
        Ok(())
    }

    /// A key of the load: of `[trace]`, or a knob of the synthetic workload.
    fn set_load(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match &mut self.load {
            Load::Workload(config)
                if keys::is_of_trace(key) && !workload::has_knob(config, key) =>
            {
                let allowed = format!(
                    "with a trace: the workload {} has no such knob",
                    config.name
                );
                return Err(ConfigError::value(key, value, &allowed));
            }
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
                    let kinds = self.parts.kinds();
                    let top = keys::names(kinds, Place::Top);
                    let mut keys = [top, keys::names(kinds, Place::Trace)].concat();
                    keys.retain(|key| *key != "trace");
                    return Err(ConfigError::unknown("key", key, &keys).with_value(value));
                }
            },
        }
        self.check()
    }
}

/// A part with its settings; its name is one name.
fn part(key: &str, word: &str) -> Result<PartConfig, ConfigError> {
    let part: PartConfig = word.parse()?;
    // The path of a drive's file may hold any sign.
    if part.name.contains(',') && !drive_is_file(&part.name) {
        return Err(ConfigError::value(key, word, PartConfig::ALLOWED));
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
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<Scenario, ConfigError> {
        Scenario::from_toml(text, Path::new("/data"))
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
    fn a_key_of_traces_is_no_unknown_knob_of_a_workload() {
        let mut scenario = read("workload = 'poisson'").unwrap();
        let mut told = |key: &str, value: &str| scenario.set(key, value).unwrap_err().to_string();
        for (key, value) in [("speed", "3"), ("depth", "8"), ("volumes", "concat")] {
            assert_eq!(
                told(key, value),
                format!(
                    "{key} = {value} (allowed: with a trace: the workload poisson has no such knob)"
                )
            );
        }
        let mut scenario = read("workload = 'iometer'").unwrap();
        scenario.set("depth", "8").unwrap();
    }

    #[test]
    fn every_key_can_be_set_by_name() {
        let mut scenario = read("[trace]\nfiles = ['a']").unwrap();
        scenario.set("depth", "64").unwrap();
        scenario.set("sched", "aged_satf").unwrap();
        scenario.set("sched.weight", "0.5").unwrap();
        let sched = scenario.parts.get("sched").unwrap();
        assert_eq!(sched.to_string(), "aged_satf:weight=0.5");
        assert_eq!(
            scenario.set("dept", "1").unwrap_err().nearest.as_deref(),
            Some("depth")
        );
        assert!(scenario.set("depth", "many").is_err());
    }
}
