//! A drive's file may say of itself, in its table `calibration`, that it does not stand for the drive that was measured. Who runs
//! on it has to know.

use std::collections::BTreeSet;

use nearslot_core::registry::ConfigError;
use toml::{Table, Value};

use crate::grid::Point;
use crate::scenario;

/// Verdicts of a calibration with which a drive's times are not to be believed, as `calibrate` writes them.
pub(crate) const DOUBTFUL: [&str; 2] = ["poor", "unjudged"];

/// What to know of the drives of these runs, in words.
///
/// # Errors
/// A drive's file cannot be read.
pub(crate) fn doubts(points: &[Point]) -> Result<Vec<String>, ConfigError> {
    let names: BTreeSet<&str> = points
        .iter()
        .map(|point| point.scenario.drive.name.as_str())
        .collect();
    let mut doubts = Vec::new();
    for name in names {
        doubts.extend(doubt(name, &scenario::drive_text(name)?));
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

#[cfg(test)]
mod tests {
    use super::doubt;

    #[test]
    fn a_poor_calibration_is_told_to_who_uses_it() {
        let file = |verdict: &str| {
            format!("kind = 'null'\n[calibration]\nverdict = '{verdict}'\ndemerit_share = 0.403")
        };
        let told = doubt("mine.toml", &file("poor")).unwrap();
        assert!(
            told.contains("of mine.toml was poor, 40.3 % from"),
            "{told}"
        );
        assert!(doubt("mine.toml", &file("unjudged")).is_some());
        assert_eq!(doubt("mine.toml", &file("good")), None);
        assert_eq!(doubt("mine.toml", &file("fair")), None);
        assert_eq!(doubt("mine.toml", "kind = 'null'"), None);
    }
}
