//! A grid: one scenario with some of its keys varied, every combination a run.

use std::str::FromStr;

use nearslot_core::registry::ConfigError;

use crate::scenario::Scenario;

/// Runs of a grid at most; more is a mistake on the command line.
pub const RUNS_MAX: usize = 10_000;

/// A key and the values it takes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// As in [`Scenario::set`].
    pub key: String,
    /// At least one.
    pub values: Vec<String>,
}

impl FromStr for Vary {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<Vary, ConfigError> {
        let wrong = || ConfigError::value("vary", word, "key=value,value,...");
        let (key, values) = word.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Vary {
            key: key.trim().to_owned(),
            values,
        })
    }
}

/// One run of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What distinguishes it: `sched=satf depth=8`.
    pub label: String,
    /// What it runs.
    pub scenario: Scenario,
}

/// Every combination of the values, the last key varying fastest.
///
/// # Errors
/// A key or value that is not allowed, a key varied twice, more than [`RUNS_MAX`] runs.
pub fn points(base: &Scenario, vary: &[Vary]) -> Result<Vec<Point>, ConfigError> {
    check(vary)?;
    let mut points = vec![Point {
        label: String::new(),
        scenario: base.clone(),
    }];
    for Vary { key, values } in vary {
        let mut finer = Vec::with_capacity(points.len() * values.len());
        for point in &points {
            for value in values {
                let mut next = point.clone();
                next.scenario.set(key, value)?;
                next.label = format!("{} {key}={value}", point.label)
                    .trim_start()
                    .to_owned();
                finer.push(next);
            }
        }
        points = finer;
    }
    if let [only] = points.as_mut_slice()
        && only.label.is_empty()
    {
        only.label = format!("sched={}", only.scenario.sched);
    }
    Ok(points)
}

fn check(vary: &[Vary]) -> Result<(), ConfigError> {
    let mut runs = 1_usize;
    for (index, Vary { key, values }) in vary.iter().enumerate() {
        if vary[..index].iter().any(|earlier| earlier.key == *key) {
            return Err(ConfigError::value("vary", key, "each key once"));
        }
        let twice = values
            .iter()
            .enumerate()
            .find(|(at, value)| values[..*at].contains(value));
        if let Some((_, value)) = twice {
            return Err(ConfigError::value(
                &format!("vary {key}"),
                value,
                "each value once",
            ));
        }
        runs = runs.saturating_mul(values.len());
    }
    if runs > RUNS_MAX {
        let allowed = format!("a grid of at most {RUNS_MAX} runs");
        return Err(ConfigError::value(
            "vary",
            &format!("{runs} runs"),
            &allowed,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Load, TraceLoad};

    fn base() -> Scenario {
        let files = vec!["a".into()];
        Scenario::over(Load::Trace(TraceLoad {
            files,
            ..TraceLoad::default()
        }))
    }

    fn labels(words: &[&str]) -> Result<Vec<String>, ConfigError> {
        let vary: Vec<Vary> = words
            .iter()
            .map(|word| word.parse())
            .collect::<Result<_, _>>()?;
        Ok(points(&base(), &vary)?
            .into_iter()
            .map(|point| point.label)
            .collect())
    }

    #[test]
    fn every_combination_is_a_run() {
        let found = labels(&["sched=look,satf", "depth=1,8"]).unwrap();
        let expected = [
            "sched=look depth=1",
            "sched=look depth=8",
            "sched=satf depth=1",
            "sched=satf depth=8",
        ];
        assert_eq!(found, expected);
        assert_eq!(labels(&[]).unwrap(), ["sched=fcfs"]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(labels(&["sched"]).is_err());
        assert!(
            labels(&["sched=look,look"])
                .unwrap_err()
                .to_string()
                .contains("look")
        );
        assert!(labels(&["depth=1", "depth=2"]).is_err());
        assert_eq!(
            labels(&["dept=1"]).unwrap_err().nearest.as_deref(),
            Some("depth")
        );
    }
}
