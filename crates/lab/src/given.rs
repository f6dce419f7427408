//! What a user gives beside a load: settings that hold for all runs, each as an option of the
//! command or as a keyword, and keys that a grid varies.
//!
//! A key that is varied may not be given once as well, for the one value would be dropped without a
//! word. What a scenario file says is no such setting: options, keywords and grids override it.

use nearslot_core::config::{Kinds, PartConfig};
use nearslot_core::registry::ConfigError;

use crate::grid::{self, Point, Vary};
use crate::scenario::Scenario;
use crate::scenario::keys::{says, spelled};

/// Settings that were given one by one, and keys that are varied.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Keys, each with the one value that it has in all runs.
    pub once: Vec<(String, String)>,
    /// Keys with the values that they take in turn.
    pub vary: Vec<Vary>,
}

impl Given {
    /// All runs that are asked for over a scenario, which has the settings that were given once
    /// already.
    ///
    /// # Errors
    /// As [`grid::points`]; a key was given twice, or is varied and was given once as well.
    pub fn points(&self, scenario: &Scenario) -> Result<Vec<Point>, ConfigError> {
        self.check_twice(scenario)?;
        for (key, value) in &self.once {
            for (said, _) in says(scenario, key, value) {
                let varied = |vary: &&Vary| spelled(scenario, &vary.key) == said;
                if let Some(Vary {
                    key: varied,
                    values,
                }) = self.vary.iter().find(varied)
                {
                    let values = values.join(",");
                    let allowed = format!(
                        "left out beside {varied}={values}, which varies the same key: one of them"
                    );
                    return Err(ConfigError::value(key, value, &allowed));
                }
            }
        }
        grid::points(scenario, &self.vary)
    }

    /// Checks that no two settings say the same key, as a workload with a depth and a depth by
    /// itself do.
    fn check_twice(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        let mut said: Vec<(String, &(String, String))> = Vec::new();
        for setting in &self.once {
            let (key, value) = setting;
            for (says, _) in says(scenario, key, value) {
                let other = said.iter().find(|(other, _)| *other == says);
                if let Some((_, (other, at))) = other {
                    let allowed = format!(
                        "left out beside {other}={at}, which sets the same key: one of them"
                    );
                    return Err(ConfigError::value(key, value, &allowed));
                }
                said.push((says, setting));
            }
        }
        Ok(())
    }

    /// Whether an error is about something that was given here, and not about what a scenario file
    /// says.
    pub fn explains(&self, kinds: Kinds, error: &ConfigError) -> bool {
        let about = |key: &str, value: &str| about(error, kinds, key, value);
        let mut once = self.once.iter();
        let once = once.any(|(key, value)| about(key, value));
        let varied = |vary: &Vary| {
            let mut values = vary.values.iter();
            values.any(|value| about(&vary.key, value))
        };
        once || error.key.starts_with("vary") || self.vary.iter().any(varied)
    }
}

/// Whether an error names this setting: by its key, by the kind of its part, or by a knob of that
/// part.
fn about(error: &ConfigError, kinds: Kinds, key: &str, value: &str) -> bool {
    let (part, knob) = match key.split_once('.') {
        Some((part, knob)) => (part, Some(knob)),
        None => (key, None),
    };
    let name = PartConfig::named(value.split(':').next().unwrap_or(value)).name;
    let (kind, known) = match kinds.iter().find(|kind| kind.key() == part) {
        Some(kind) => {
            let known = kind.kind.find(&name).ok();
            (kind.card().word, known.map(|card| card.name))
        }
        None => (part, None),
    };
    let known = known.unwrap_or(&name);
    match knob {
        // Of a knob alone, whose part another setting names.
        Some(knob) => {
            error.key == key
                || error.key.ends_with(&format!(".{knob}"))
                || error.key.starts_with("unknown knob of")
                    && error.key.ends_with(&format!("`{knob}`"))
        }
        None => {
            error.key == key
                || error.key.starts_with(&format!("{key}."))
                || error.key.starts_with(&format!("unknown {kind} `"))
                || error.key.starts_with(&format!("unknown knob of {known} `"))
                || error.key.starts_with(&format!("{known}."))
        }
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::config::KINDS;

    use super::*;
    use crate::scenario::{Load, TraceLoad};

    fn over_trace() -> Scenario {
        let files = vec!["a".into()];
        Scenario::over(Load::Trace(TraceLoad {
            files,
            ..TraceLoad::default()
        }))
    }

    fn told(base: &Scenario, once: &[(&str, &str)], vary: &[&str]) -> Result<usize, String> {
        let given = Given {
            once: once
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            vary: vary.iter().map(|word| word.parse().unwrap()).collect(),
        };
        let points = given.points(base).map_err(|error| error.to_string())?;
        Ok(points.len())
    }

    #[test]
    fn what_is_varied_is_not_given_once_as_well() {
        let trace = over_trace();
        let synthetic = Scenario::over(Load::Workload("iometer:depth=4".parse().unwrap()));
        for (base, once, vary) in [
            (&trace, ("depth", "8"), "depth=1,2"),
            (&trace, ("drive", "no-such-drive"), "drive=hp-c2247a,null"),
            (&trace, ("seed", "3"), "seed=1,2"),
            (&trace, ("sched", "fcfs"), "sched=look,satf"),
            (&trace, ("place", "stripe:disks=4"), "place.disks=2,8"),
            (&trace, ("place", "stripe:disks=4"), "place=mirror,stripe"),
            (&synthetic, ("workload", "iometer:depth=4"), "depth=1,2"),
            (
                &synthetic,
                ("workload", "iometer:depth=4"),
                "workload.depth=1,2",
            ),
        ] {
            let refused = told(base, &[once], &[vary]).unwrap_err();
            let expected = format!("{} = {} (allowed: left out beside {vary}", once.0, once.1);
            assert!(refused.starts_with(&expected), "{refused}");
        }
        for (base, once, vary) in [
            (&trace, ("depth", "8"), "seed=1,2"),
            (&trace, ("place", "stripe"), "place.disks=2,8"),
            (
                &synthetic,
                ("workload", "iometer:depth=4"),
                "workload.read_share=0,1",
            ),
        ] {
            assert_eq!(told(base, &[once], &[vary]), Ok(2));
        }
        // What the scenario itself says is overridden.
        let mut of_file = trace;
        of_file.set("depth", "8").unwrap();
        assert_eq!(told(&of_file, &[], &["depth=1,2"]), Ok(2));
    }

    #[test]
    fn no_key_is_given_twice() {
        let synthetic = Scenario::over(Load::Workload("iometer:depth=4".parse().unwrap()));
        let workload = ("workload", "iometer:depth=4");
        for (once, refused) in [
            (
                [workload, ("depth", "8")],
                "depth = 8 (allowed: left out beside workload=iometer:depth=4",
            ),
            (
                [workload, ("workload.depth", "8")],
                "workload.depth = 8 (allowed: left out beside workload=",
            ),
            (
                [("place", "stripe:disks=4"), ("place.disks", "2")],
                "place.disks = 2 (allowed: left out beside place=",
            ),
        ] {
            let told = told(&synthetic, &once, &[]).unwrap_err();
            assert!(told.starts_with(refused), "{told}");
        }
        let several = [
            workload,
            ("place", "stripe"),
            ("place.disks", "2"),
            ("seed", "3"),
        ];
        assert_eq!(told(&synthetic, &several, &[]), Ok(1));
    }

    #[test]
    fn an_error_is_explained_by_the_setting_that_it_names() {
        let explained = |key: &str, value: &str, error: &ConfigError| {
            let given = Given {
                once: vec![(key.to_owned(), value.to_owned())],
                vary: Vec::new(),
            };
            given.explains(KINDS, error)
        };
        let unread = ConfigError::value("depth", "8", "with replay = closed");
        assert!(explained("depth", "8", &unread));
        assert!(!explained("speed", "8", &unread));
        let unknown = ConfigError::unknown("scheduler", "nosuch", &["fcfs"]);
        assert!(explained("sched", "nosuch", &unknown));
        assert!(!explained("place", "mirror", &unknown));
        let knob = ConfigError::unknown("knob of vscan", "x", &["r"]);
        assert!(explained("sched", "vscan:x=1", &knob));
        assert!(explained("sched.x", "1", &knob));
        assert!(!explained("sched", "satf:x=1", &knob));
        let range = ConfigError::value("vscan.r", "7", "0 to 1");
        assert!(explained("sched", "vscan:r=7", &range));
        assert!(!explained("drive", "null", &range));
    }
}
