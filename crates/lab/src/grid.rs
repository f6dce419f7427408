//! A grid: one scenario with some of its keys varied, every combination a run.

use std::collections::BTreeMap;
use std::str::FromStr;

use nearslot_core::config::{PartConfig, Parts, StackKind};
use nearslot_core::contract::{ARM, Oracle, Scheduler};
use nearslot_core::registry::{self, ConfigError, Kind, KindCard};

use crate::outcome::{Role, Varied};
use crate::scenario::keys::{KEYS, role, says, spelled};
use crate::scenario::{Load, Scenario};
use crate::workload;

mod needs;

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
    /// What distinguishes it from the other runs of the grid: `sched=satf depth=8`. Of a single run
    /// all that was varied, or its scheduler.
    pub label: String,
    /// The keys that were varied, in the order of the grid, with their values here.
    pub settings: Vec<(String, String)>,
    /// Those of these keys that have one value in all runs of the grid, and so distinguish none.
    pub shared: Vec<String>,
    /// What it runs.
    pub scenario: Scenario,
}

impl Point {
    /// What distinguishes its load: `depth=8`; empty where no key of the load is varied.
    pub fn load(&self) -> String {
        self.settings_of(Role::Load)
    }

    /// What distinguishes what answers: `sched=satf`; all of it where the runs do not differ in
    /// that.
    pub fn choice(&self) -> String {
        match self.settings_of(Role::Choice) {
            choice if choice.is_empty() => self.whole_choice(),
            choice => choice,
        }
    }

    /// What answers, as far as it was varied: what all runs share, too; the scheduler where no such
    /// key was.
    fn whole_choice(&self) -> String {
        let kinds = self.scenario.parts.kinds();
        match self.words(|key| role(kinds, key) == Role::Choice) {
            choice if choice.is_empty() => self.scheduler(),
            choice => choice,
        }
    }

    /// The scheduler, as a setting.
    fn scheduler(&self) -> String {
        format!("sched={}", self.scenario.parts.of::<dyn Scheduler>())
    }

    fn settings_of(&self, wanted: Role) -> String {
        let kinds = self.scenario.parts.kinds();
        self.words(|key| role(kinds, key) == wanted && !self.is_shared(key))
    }

    fn is_shared(&self, key: &str) -> bool {
        self.shared.iter().any(|shared| shared == key)
    }

    /// Settings with such keys, in words.
    fn words(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let of = self.settings.iter().filter(|(key, _)| is_wanted(key));
        let words: Vec<String> = of.map(|(key, value)| format!("{key}={value}")).collect();
        words.join(" ")
    }
}

/// The keys that points vary, in the order of the grid, with their values in the order given.
pub fn varied(points: &[Point]) -> Vec<Varied> {
    let mut varied: Vec<Varied> = Vec::new();
    let settings = points.iter().flat_map(|point| {
        let kinds = point.scenario.parts.kinds();
        point.settings.iter().map(move |setting| (kinds, setting))
    });
    for (kinds, (key, value)) in settings {
        match varied.iter_mut().find(|varied| varied.key == *key) {
            Some(varied) if varied.values.contains(value) => {}
            Some(varied) => varied.values.push(value.clone()),
            None => varied.push(Varied {
                key: key.clone(),
                role: role(kinds, key),
                values: vec![value.clone()],
            }),
        }
    }
    varied
}

/// The choice that the others are held against: the one that `named` names, or the first. `None` if
/// there is nothing to choose from. A choice is named by its settings or by their values:
/// `sched=fcfs`, `fcfs`, `"fcfs place=eager"`. Those that all runs share may be among them.
///
/// # Errors
/// `named` names no choice, or several, or there is only one, or runs are of hosts.
pub fn baseline(points: &[Point], named: Option<&str>) -> Result<Option<String>, ConfigError> {
    // As they are called, and with all their settings.
    let mut choices: Vec<(String, String)> = Vec::new();
    for point in points {
        let choice = point.choice();
        if choices.iter().all(|(known, _)| *known != choice) {
            choices.push((choice, point.whole_choice()));
        }
    }
    let Some(named) = named else {
        return Ok((choices.len() > 1).then(|| choices.swap_remove(0).0));
    };
    let host = |point: &Point| matches!(&point.scenario.load, Load::Workload(part) if workload::is_host(part));
    if points.iter().all(host) {
        let allowed = "left out for hosts: which requests come hangs on the answers, so runs are not ranked, and none is held against another";
        return Err(ConfigError::value("baseline", named, allowed));
    }
    if choices.len() < 2 {
        let allowed = "left out where there is one choice and nothing to hold against it";
        return Err(ConfigError::value("baseline", named, allowed));
    }
    let says = |(_, whole): &&(String, String)| {
        let mut words = named.split_whitespace();
        words.all(|word| {
            let mut settings = whole.split(' ');
            settings.any(|setting| {
                setting == word
                    || setting
                        .split_once('=')
                        .is_some_and(|(_, value)| value == word)
            })
        })
    };
    let found: Vec<&(String, String)> = choices.iter().filter(says).collect();
    match found.as_slice() {
        [(one, _)] if !named.trim().is_empty() => Ok(Some(one.clone())),
        _ => {
            let called: Vec<&str> = choices.iter().map(|(called, _)| called.as_str()).collect();
            let allowed = format!("one of {}", called.join(", "));
            Err(ConfigError::value("baseline", named, &allowed))
        }
    }
}

/// Every combination of the values, the last key varying fastest.
///
/// # Errors
/// A key or value that is not allowed, a key that two settings of a run set, more than [`RUNS_MAX`]
/// runs.
pub fn points(base: &Scenario, vary: &[Vary]) -> Result<Vec<Point>, ConfigError> {
    check(base, vary)?;
    let mut points = vec![Point {
        label: String::new(),
        settings: Vec::new(),
        shared: Vec::new(),
        scenario: base.clone(),
    }];
    for Vary { key, values } in vary {
        let mut finer = Vec::with_capacity(points.len() * values.len());
        for point in &points {
            for value in values {
                let mut next = point.clone();
                next.settings.push((key.clone(), value.clone()));
                finer.push(next);
            }
        }
        points = finer;
    }
    for point in &mut points {
        configure(&mut point.scenario, &point.settings)?;
    }
    check_values(&points, vary)?;
    leave_out_idle(&mut points);
    let one_value = varied(&points)
        .into_iter()
        .filter(|varied| varied.values.len() == 1);
    let shared: Vec<String> = match points.len() {
        1 => Vec::new(),
        _ => one_value.map(|varied| varied.key).collect(),
    };
    label(&mut points, &shared);
    Ok(points)
}

/// Labels runs of a piece of a larger grid as if each were the only one: by all that is varied, for
/// in another piece something else may be shared.
pub fn label_in_full(points: &mut [Point]) {
    label(points, &[]);
}

fn label(points: &mut [Point], shared: &[String]) {
    for point in points {
        point.shared = shared.to_vec();
        point.label = match point.words(|key| !point.is_shared(key)) {
            label if label.is_empty() => point.scheduler(),
            label => label,
        };
    }
}

/// Of runs that differ in a part alone which has no effect, as one of another kind is missing that
/// it acts within, one is enough.
fn leave_out_idle(points: &mut Vec<Point>) {
    for [inner, outer] in nested(points) {
        if points
            .iter()
            .any(|point| has(point, [inner, outer]) == [false, false])
        {
            points.retain(|point| has(point, [inner, outer]) != [true, false]);
        }
    }
}

/// Kinds whose parts act within those of another kind alone: both, each pair once.
pub(crate) fn nested(points: &[Point]) -> Vec<[&'static KindCard; 2]> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let kinds = first.scenario.parts.kinds();
    let card = |key: &str| {
        kinds
            .iter()
            .find(|kind| kind.key() == key)
            .map(StackKind::card)
    };
    let pair = |kind: &StackKind| Some([kind.card(), card(kind.card().within?)?]);
    kinds.iter().filter_map(pair).collect()
}

/// Whether a point has a part of each of these kinds that is not the default.
pub(crate) fn has<const N: usize>(point: &Point, kinds: [&KindCard; N]) -> [bool; N] {
    kinds.map(|kind| point.scenario.parts.has(kind.key))
}

/// Sets what distinguishes a run. The name of a part comes before its knobs, whatever the order of
/// the grid, for it replaces the part as a whole; and no key is set twice, so the run has every
/// setting that its label tells.
fn configure(scenario: &mut Scenario, settings: &[(String, String)]) -> Result<(), ConfigError> {
    let mut said: Vec<(String, &str)> = Vec::new();
    for (key, value) in settings {
        for (one, to) in says(scenario, key, value) {
            if let Some((_, by)) = said.iter().find(|(other, _)| *other == one) {
                let allowed = format!("without {one}={to}, as {by} sets the same: one of them");
                return Err(ConfigError::value(&format!("vary {key}"), value, &allowed));
            }
            said.push((one, key));
        }
    }
    let is_knob = |(key, _): &&(String, String)| key.contains('.');
    let names = settings.iter().filter(|setting| !is_knob(setting));
    let mut ordered = names.chain(settings.iter().filter(is_knob));
    ordered.try_for_each(|(key, value)| scenario.set(key, value))
}

/// Checks that every setting has an effect. A key that is varied must be read by every run, for it
/// is in every run's label; one that is given once for all must be read by one run at least. An
/// oracle must be asked by one run at least.
///
/// # Errors
/// The first setting without effect, with what it needs.
pub fn check_effects(base: &Scenario, points: &[Point]) -> Result<(), ConfigError> {
    for key in KEYS {
        let varied = |point: &Point| point.settings.iter().any(|(varied, _)| varied == key.name);
        for point in points.iter().filter(|point| varied(point)) {
            if let Some((value, allowed)) = point.scenario.unread(key) {
                return Err(ConfigError::value(key.name, &value, &allowed));
            }
        }
        let unread = |point: &Point| point.scenario.unread(key).is_some();
        if points.iter().all(unread)
            && let Some((value, allowed)) = base
                .unread(key)
                .or_else(|| points.first()?.scenario.unread(key))
        {
            return Err(ConfigError::value(key.name, &value, &allowed));
        }
    }
    check_asked(points)?;
    needs::check(points)?;
    check_arms(points)
}

/// An oracle that errs about the arm says the same as the exact one over a drive that has none: one
/// run at least must have an arm.
fn check_arms(points: &[Point]) -> Result<(), ConfigError> {
    let errs = |point: &&Point| {
        let part = point.scenario.parts.of::<dyn Oracle>();
        registry::find::<dyn Oracle>(&part.name).is_ok_and(|spec| spec.asks.contains(&ARM))
    };
    let mut flat = None;
    for point in points.iter().filter(errs) {
        if point.scenario.has_an_arm() {
            return Ok(());
        }
        flat.get_or_insert(&point.scenario);
    }
    let Some(scenario) = flat else {
        return Ok(());
    };
    let part = scenario.parts.of::<dyn Oracle>();
    let allowed = format!(
        "left out over a drive without an arm, as {}: where nothing turns there is nothing to misjudge",
        scenario.drive.name
    );
    Err(ConfigError::value("oracle", &part.to_string(), &allowed))
}

/// Checks that what was said of overload, if anything was, has an effect: that one load at least is
/// open.
///
/// # Errors
/// All loads wait for answers.
pub fn check_overload(word: Option<&str>, points: &[Point]) -> Result<(), ConfigError> {
    match word {
        Some(word) if !points.iter().any(|point| point.scenario.is_open()) => {
            let allowed = "left out where requests wait for answers, as with a depth: only an open load can be too much";
            Err(ConfigError::value("overload", word, allowed))
        }
        _ => Ok(()),
    }
}

/// A part that acts only when another asks it makes a difference only where one does. The default
/// is there for who needs it.
fn check_asked(points: &[Point]) -> Result<(), ConfigError> {
    let all = || points.iter().map(|point| &point.scenario.parts);
    for parts in all() {
        for (kind, part) in parts.iter().filter(|(kind, _)| kind.card().asked) {
            let key = kind.key();
            if *part == PartConfig::named(kind.default) {
                continue;
            }
            // Range writes ask the oracle, whatever schedules them.
            let offered = |point: &Point| point.scenario.makes_range_writes();
            if key == <dyn Oracle as Kind>::CARD.key && points.iter().any(offered) {
                continue;
            }
            let mut asking = all().map(|parts| parts.ask(key));
            let first = asking.find(|asks| !matches!(asks, Ok(false)));
            if first.transpose()?.is_some() {
                continue;
            }
            let (words, here) = askers(parts, key);
            let word = kind.card().word;
            let allowed = format!(
                "left out where no {} asks the {word}, as under {}",
                words.join(" or "),
                here.join(" over ")
            );
            return Err(ConfigError::value(key, &part.to_string(), &allowed));
        }
    }
    Ok(())
}

/// Words of the kinds that have a part which asks that of the kind `key`, and their parts here.
fn askers(parts: &Parts, key: &str) -> (Vec<&'static str>, Vec<String>) {
    let asks = |kind: &StackKind| {
        kind.kind
            .parts()
            .iter()
            .any(|part| part.asks.contains(&key))
    };
    let asking = parts.iter().filter(|(kind, _)| asks(kind));
    asking
        .map(|(kind, part)| (kind.card().word, part.to_string()))
        .unzip()
}

fn check(base: &Scenario, vary: &[Vary]) -> Result<(), ConfigError> {
    let mut runs = 1_usize;
    for (index, Vary { key, values }) in vary.iter().enumerate() {
        let same = |earlier: &&Vary| spelled(base, &earlier.key) == spelled(base, key);
        if let Some(earlier) = vary[..index].iter().find(same) {
            let allowed = format!(
                "left out beside {}={}, which varies the same key: one of them",
                earlier.key,
                earlier.values.join(",")
            );
            let key = format!("vary {key}");
            return Err(ConfigError::value(&key, &values.join(","), &allowed));
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

/// Checks that no value of a key is given twice, nor in two ways, as in `1,1.0` or `fcfs,none`: runs
/// would be told apart that are the same.
fn check_values(points: &[Point], vary: &[Vary]) -> Result<(), ConfigError> {
    let mut apart = points.len();
    for Vary { key, values } in vary.iter().filter(|_| !points.is_empty()) {
        apart /= values.len();
        let mut known: BTreeMap<String, &String> = BTreeMap::new();
        // The other keys have their first values.
        for (value, point) in values.iter().zip(points.iter().step_by(apart)) {
            let made = point.scenario.made();
            if let Some(earlier) = known.insert(made, value) {
                let allowed = match earlier == value {
                    true => "each value once".to_owned(),
                    false => format!("each value once: it is the same as {earlier}"),
                };
                return Err(ConfigError::value(&format!("vary {key}"), value, &allowed));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod labels_tests;

#[cfg(test)]
mod tests {
    use nearslot_core::contract::Placement;

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
    fn a_value_is_varied_once_however_it_is_written() {
        for (words, complaint) in [
            (
                &["speed=1,2,1.0"][..],
                "vary speed = 1.0 (allowed: each value once: it is the same as 1)",
            ),
            (
                &["sched=fcfs,satf", "speed=2,1,2e0"],
                "vary speed = 2e0 (allowed: each value once: it is the same as 2)",
            ),
            (
                &["speed=1,01", "sched=fcfs,satf"],
                "vary speed = 01 (allowed: each value once: it is the same as 1)",
            ),
            (
                &["sched=satf,fcfs,satf"],
                "vary sched = satf (allowed: each value once)",
            ),
            (
                &["sched=satf,fcfs,none"],
                "vary sched = none (allowed: each value once: it is the same as fcfs)",
            ),
            (
                &["sched=bfq,bfq:low_latency=true"],
                "vary sched = bfq:low_latency=true (allowed: each value once: it is the same as bfq)",
            ),
        ] {
            let refused = labels(words).map_err(|error| error.to_string());
            assert_eq!(refused, Err(complaint.to_owned()), "{words:?}");
        }
    }

    fn grid(words: &[&str]) -> Vec<Point> {
        let vary: Vec<Vary> = words.iter().map(|word| word.parse().unwrap()).collect();
        points(&base(), &vary).unwrap()
    }

    #[test]
    fn a_run_has_a_load_and_a_choice() {
        let points = grid(&["depth=1,8", "sched=look,satf", "seed=3,4"]);
        assert_eq!(points[3].load(), "depth=1 seed=4");
        assert_eq!(points[3].choice(), "sched=satf");
        assert_eq!(points[3].label, "depth=1 sched=satf seed=4");
        let varied = varied(&points);
        let roles: Vec<Role> = varied.iter().map(|varied| varied.role).collect();
        assert_eq!(roles, [Role::Load, Role::Choice, Role::Load]);
        assert_eq!(varied[2].values, ["3", "4"]);
        let alone = grid(&[]);
        assert_eq!(
            (alone[0].load(), alone[0].choice()),
            (String::new(), "sched=fcfs".to_owned())
        );
    }

    #[test]
    fn what_all_runs_share_is_in_no_label() {
        let points = grid(&["sched=satf", "depth=8", "oracle=exact,noisy", "seed=3,4"]);
        let last = &points[3];
        assert_eq!(last.label, "oracle=noisy seed=4");
        assert_eq!(
            (last.load().as_str(), last.choice().as_str()),
            ("seed=4", "oracle=noisy")
        );
        assert_eq!((last.settings.len(), varied(&points).len()), (4, 4));
        let named = |word| baseline(&points, Some(word)).map(Option::unwrap);
        assert_eq!(named("noisy").unwrap(), "oracle=noisy");
        assert_eq!(named("sched=satf noisy").unwrap(), "oracle=noisy");
        let error = named("satf").unwrap_err().to_string();
        assert!(
            error.contains("one of oracle=exact, oracle=noisy"),
            "{error}"
        );
        // Where the runs differ in their load alone, all of the choice is told, and so is all of a
        // single run.
        let loads = grid(&["sched=satf", "oracle=noisy", "depth=1,8"]);
        assert_eq!(loads[1].choice(), "sched=satf oracle=noisy");
        assert_eq!(loads[1].label, "depth=8");
        let mut pieces = loads.clone();
        label_in_full(&mut pieces);
        assert_eq!(pieces[1].label, "sched=satf oracle=noisy depth=8");
        let one = grid(&["sched=satf", "depth=8"]);
        assert_eq!(one[0].label, "sched=satf depth=8");
        assert_eq!(one[0].load(), "depth=8");
    }

    #[test]
    fn a_baseline_is_a_choice_of_the_grid() {
        let points = grid(&["sched=look,satf", "oracle=exact,noisy", "depth=1,8"]);
        assert_eq!(
            baseline(&points, None).unwrap().unwrap(),
            "sched=look oracle=exact"
        );
        let named = |word| baseline(&points, Some(word)).map(Option::unwrap);
        assert_eq!(named("satf noisy").unwrap(), "sched=satf oracle=noisy");
        assert_eq!(
            named("oracle=exact satf").unwrap(),
            "sched=satf oracle=exact"
        );
        // No such choice, several of them, a load.
        for wrong in ["fcfs", "satf", "depth=1", ""] {
            let error = named(wrong).unwrap_err().to_string();
            assert!(error.contains("sched=satf oracle=noisy"), "{error}");
        }
        let loads = grid(&["depth=1,8"]);
        assert_eq!(baseline(&loads, None), Ok(None));
        assert!(baseline(&loads, Some("fcfs")).is_err());
    }

    fn effects(given: &[(&str, &str)], vary: &[&str]) -> Result<(), String> {
        let mut base = base();
        for (key, value) in given {
            base.set(key, value).unwrap();
        }
        let vary: Vec<Vary> = vary.iter().map(|word| word.parse().unwrap()).collect();
        let points = points(&base, &vary).unwrap();
        check_effects(&base, &points).map_err(|error| error.to_string())
    }

    #[test]
    fn overload_is_said_of_open_loads() {
        let told = |given: &[(&str, &str)], vary: &[&str]| {
            let mut base = base();
            for (key, value) in given {
                base.set(key, value).unwrap();
            }
            let vary: Vec<Vary> = vary.iter().map(|word| word.parse().unwrap()).collect();
            let points = points(&base, &vary).unwrap();
            check_overload(None, &points).unwrap();
            check_overload(Some("run"), &points).map_err(|error| error.to_string())
        };
        assert_eq!(told(&[], &[]), Ok(()));
        assert_eq!(told(&[], &["replay=closed,open"]), Ok(()));
        for closed in ["closed", "dependent"] {
            let refused = told(&[("replay", closed)], &[]).unwrap_err();
            assert!(
                refused.starts_with("overload = run (allowed: left out"),
                "{refused}"
            );
        }
        let load = |word: &str| Scenario::over(Load::Workload(word.parse().unwrap()));
        for (word, open) in [("iometer:depth=4", false), ("poisson", true)] {
            let points = points(&load(word), &[]).unwrap();
            assert_eq!(check_overload(Some("run"), &points).is_ok(), open, "{word}");
        }
    }

    #[test]
    fn no_setting_is_without_effect() {
        let depth = effects(&[("depth", "8")], &[]).unwrap_err();
        assert_eq!(
            depth,
            "depth = 8 (allowed: with replay = closed; here replay = open)"
        );
        let varied = effects(&[], &["sched=look,satf", "depth=1,8"]).unwrap_err();
        assert!(
            varied.starts_with("depth = 1 (allowed: with replay = closed"),
            "{varied}"
        );
        let speed = effects(&[("replay", "closed"), ("speed", "2")], &[]).unwrap_err();
        assert!(
            speed.contains("replay = open or dependent; here replay = closed"),
            "{speed}"
        );
        let guess = effects(&[("service_guess_us", "90")], &["speed=1,2"]).unwrap_err();
        assert!(guess.contains("replay = dependent"), "{guess}");
        // One given for all is read by some; one that is varied must be read by each, for it is in
        // each label.
        assert_eq!(effects(&[("depth", "8")], &["replay=open,closed"]), Ok(()));
        let label = effects(&[], &["replay=closed,open", "depth=1,8"]).unwrap_err();
        assert!(label.contains("here replay = open"), "{label}");
        assert_eq!(
            effects(
                &[
                    ("replay", "dependent"),
                    ("speed", "2"),
                    ("service_guess_us", "9")
                ],
                &[]
            ),
            Ok(())
        );
    }

    #[test]
    fn an_oracle_that_nobody_asks_is_refused() {
        let told = effects(&[("oracle", "noisy")], &["sched=fcfs,look"]).unwrap_err();
        assert!(told.contains("oracle = noisy (allowed: left out"), "{told}");
        assert!(effects(&[], &["oracle=exact,distance"]).is_err());
        assert_eq!(
            effects(&[("oracle", "noisy")], &["sched=fcfs,satf"]),
            Ok(())
        );
        for place in ["sr_array", "mirror"] {
            assert_eq!(
                effects(&[("oracle", "noisy"), ("place", place)], &[]),
                Ok(())
            );
        }
        let told = effects(&[("oracle", "noisy"), ("place", "stripe")], &[]).unwrap_err();
        assert!(told.contains("no scheduler or placement asks"), "{told}");
    }

    #[test]
    fn claims_of_which_no_scheduler_knows_anything_are_refused() {
        let told = |claims, sched| effects(&[("claims", claims)], &[sched]);
        for claims in ["told:group=1=2", "told:weight=1=300", "told:class=1=idle"] {
            let error = told(claims, "sched=mq-deadline,kyber").unwrap_err();
            assert!(error.contains("no scheduler asks the claims"), "{error}");
            assert_eq!(told(claims, "sched=cfq"), Ok(()));
            assert_eq!(told(claims, "sched=kyber,bfq"), Ok(()));
        }
        assert_eq!(told("told:weight=1=300:group=1=2", "sched=slack"), Ok(()));
        for (claims, key) in [
            ("told:class=1=idle", "told.class"),
            ("told:level=1=0", "told.level"),
        ] {
            let error = told(claims, "sched=slack").unwrap_err();
            assert!(
                error.contains(key) && error.contains("as with slack"),
                "{error}"
            );
            assert_eq!(told(claims, "sched=slack,cfq"), Ok(()));
        }
    }

    fn synthetic() -> Scenario {
        Scenario::over(Load::Workload("iometer".parse().unwrap()))
    }

    fn refused(base: &Scenario, words: &[&str]) -> String {
        let vary: Vec<Vary> = words.iter().map(|word| word.parse().unwrap()).collect();
        points(base, &vary).unwrap_err().to_string()
    }

    #[test]
    fn the_name_of_a_part_keeps_the_knobs_that_are_varied() {
        for words in [
            ["place.disks=2,4", "place=stripe,mirror"],
            ["place=stripe,mirror", "place.disks=2,4"],
        ] {
            for Point {
                settings, scenario, ..
            } in grid(&words)
            {
                for (key, value) in settings {
                    let found = match key.as_str() {
                        "place" => scenario.parts.of::<dyn Placement>().name.clone(),
                        _ => scenario.parts.of::<dyn Placement>().knobs[0].1.to_string(),
                    };
                    assert_eq!(found, value, "{key} of {words:?}");
                }
            }
        }
        // A scheduler without the knob that its label would tell is refused, whatever comes first.
        for words in [
            ["sched.age_limit_ms=5,5000", "sched=gap_satf,satf"],
            ["sched=gap_satf,satf", "sched.age_limit_ms=5,5000"],
        ] {
            let points = grid(&words);
            let of_satf = points
                .iter()
                .map(|point| point.scenario.parts.of::<dyn Scheduler>())
                .find(|sched| sched.name == "satf");
            assert_eq!(of_satf.unwrap().knobs.len(), 1);
        }
    }

    #[test]
    fn one_key_is_varied_once_however_it_is_spelled() {
        let told = refused(&synthetic(), &["depth=1,2", "workload.depth=4,8"]);
        assert_eq!(
            told,
            "vary workload.depth = 4,8 (allowed: left out beside depth=1,2, which varies the same key: one of them)"
        );
        let told = refused(&base(), &["place.disks=2,4", "place=stripe:disks=3,mirror"]);
        assert!(
            told.contains("without place.disks=3, as place.disks sets the same"),
            "{told}"
        );
        let told = refused(&base(), &["place=stripe:disks=2:disks=4,linear"]);
        assert!(told.contains("stripe.disks = 2 and 4"), "{told}");
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
