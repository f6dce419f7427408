//! What speaks against the times of a drive: its file may say, in its table `calibration`, that it
//! does not quite stand for the drive that was measured; and commands may be longer than any that
//! were measured. Who runs on it has to know.

use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::contract::Drive;
use nearslot_core::io::Extrapolated;
use nearslot_core::registry::ConfigError;
use nearslot_core::units::Blocks;
use toml::{Table, Value};

use crate::grid::Point;
use crate::number::counted;
use crate::scenario;
use crate::warning::{Warning, WarningKind};

/// Verdicts of a calibration with which a drive's times are not to be read as those of the drive,
/// as `calibrate` writes them.
pub(crate) const DOUBTFUL: [&str; 3] = ["fair", "poor", "unjudged"];

/// What to know of the drives of these runs.
///
/// # Errors
/// A drive's file cannot be read.
pub(crate) fn doubts(points: &[Point]) -> Result<Vec<Warning>, ConfigError> {
    let names: BTreeSet<&str> = points
        .iter()
        .map(|point| point.scenario.drive.name.as_str())
        .collect();
    let mut doubts = Vec::new();
    for name in names {
        let words = doubt(name, &scenario::drive_text(name)?);
        doubts.extend(words.map(|words| Warning::new(WarningKind::DoubtfulDrive, words)));
    }
    Ok(doubts)
}

fn doubt(name: &str, text: &str) -> Option<String> {
    let file: Table = text.parse().ok()?;
    let calibration = file.get("calibration")?;
    let verdict = calibration.get("verdict")?.as_str()?;
    if !DOUBTFUL.contains(&verdict) {
        return None;
    }
    let share = calibration.get("demerit_share").and_then(Value::as_float);
    let far = share.map_or(String::new(), |share| {
        format!(", {:.1} % from what was measured", 100.0 * share)
    });
    Some(format!(
        "the calibration of {name} was {verdict}{far}: times on it need not be those of the drive"
    ))
}

/// Commands that were longer than any that their drive has times of, by drive and direction.
#[derive(Default)]
pub(crate) struct Longer(BTreeMap<(String, &'static str), Extrapolated>);

impl Longer {
    /// Those of a run's drives, which have this name.
    pub(crate) fn of(name: &str, drives: &[Box<dyn Drive>]) -> Longer {
        let mut longer = Longer::default();
        for found in drives.iter().flat_map(|drive| drive.extrapolated()) {
            longer.add(name, found);
        }
        longer
    }

    /// Those of one run more.
    pub(crate) fn join(&mut self, other: &Longer) {
        for ((name, _), found) in &other.0 {
            self.add(name, found);
        }
    }

    fn add(&mut self, name: &str, found: &Extrapolated) {
        let key = (name.to_owned(), found.op.name());
        let sum = self.0.entry(key).or_insert(Extrapolated {
            commands: 0,
            ..*found
        });
        sum.commands += found.commands;
        sum.longest = sum.longest.max(found.longest);
    }

    /// What to know of them.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let kib = |blocks: Blocks| format!("{} KiB", blocks.bytes() as f64 / 1_024.0);
        let warnings = self.0.iter().map(|((name, op), found)| {
            let text = format!(
                "{name} was made from {op}s of up to {}, and {} of these runs had up to {}: they took the time of the longest measured \
                 ones in proportion to their length, which is a guess",
                kib(found.told),
                counted(found.commands, op),
                kib(found.longest)
            );
            Warning::new(WarningKind::Extrapolated, text)
        });
        warnings.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::doubt;

    #[test]
    fn a_calibration_that_is_not_good_is_told_to_who_uses_it() {
        let file = |verdict: &str| {
            format!("kind = 'null'\n[calibration]\nverdict = '{verdict}'\ndemerit_share = 0.403")
        };
        for verdict in ["fair", "poor", "unjudged"] {
            let told = doubt("mine.toml", &file(verdict)).unwrap();
            let words = format!("of mine.toml was {verdict}, 40.3 % from");
            assert!(told.contains(&words), "{told}");
        }
        assert_eq!(doubt("mine.toml", &file("good")), None);
        assert_eq!(doubt("mine.toml", "kind = 'null'"), None);
    }
}
