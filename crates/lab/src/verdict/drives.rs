//! How many drives each choice has, where that differs: several answer sooner than one, whatever
//! else tells the choices apart.
//!
//! The number is that of the run's configuration, so it is told whichever key brought it about:
//! `volumes`, `place`, or a knob of a placement. Where one key alone decides it, its values name
//! the choices; else each choice is named as a whole. One pass over the runs for each key.

use std::collections::BTreeMap;

use crate::number::{counted, list};
use crate::outcome::{Role, Run, Varied};

/// Choices that are named with the same number, and numbers that are told; of more only the range.
const LISTED_MAX: usize = 6;

/// What is to be said of the drives of these runs; `None` if all runs under one load have as many.
pub(super) fn sentence(runs: &[&Run], varied: &[Varied]) -> Option<String> {
    let mut of_load: BTreeMap<&str, u64> = BTreeMap::new();
    let differs = runs.iter().any(|run| {
        let drives = drives(run);
        *of_load.entry(&run.load).or_insert(drives) != drives
    });
    if !differs {
        return None;
    }
    let keys: Vec<&Varied> = varied
        .iter()
        .filter(|varied| varied.role == Role::Choice)
        .collect();
    let alone = keys.len() == 1;
    let by_key = keys.iter().find_map(|varied| {
        let value = |run: &Run| {
            let value = run.settings.get(&varied.key)?;
            Some(if alone {
                value.clone()
            } else {
                format!("{}={value}", varied.key)
            })
        };
        numbers(runs, value)
    });
    let numbers = by_key.or_else(|| numbers(runs, |run| Some(run.choice.clone())));
    let told = numbers.filter(|numbers| {
        let few = numbers.iter().all(|(_, names)| names.len() <= LISTED_MAX);
        few && numbers.len() <= LISTED_MAX
    });
    let told = told.map_or_else(|| range(runs), |numbers| named(&numbers));
    Some(format!(
        "The choices differ in their number of drives: {told}."
    ))
}

/// How many drives a run has.
fn drives(run: &Run) -> u64 {
    run.config["drives"].as_u64().unwrap_or(1)
}

/// Numbers of drives with the names of the runs that have so many, in the order of the runs; `None`
/// if a name stands for two numbers, or a run has none.
fn numbers(
    runs: &[&Run],
    name: impl Fn(&Run) -> Option<String>,
) -> Option<Vec<(u64, Vec<String>)>> {
    let mut of_name: BTreeMap<String, u64> = BTreeMap::new();
    let mut numbers: Vec<(u64, Vec<String>)> = Vec::new();
    for run in runs {
        let (name, drives) = (name(run)?, drives(run));
        match of_name.insert(name.clone(), drives) {
            Some(before) if before != drives => return None,
            Some(_) => {}
            None => match numbers.iter_mut().find(|(number, _)| *number == drives) {
                Some((_, names)) => names.push(name),
                None => numbers.push((drives, vec![name])),
            },
        }
    }
    Some(numbers)
}

/// `own-drives has 3 drives, concat 1`.
fn named(numbers: &[(u64, Vec<String>)]) -> String {
    let told = numbers.iter().enumerate().map(|(index, (number, names))| {
        let have = if names.len() == 1 { "has" } else { "have" };
        match index {
            0 => format!("{} {have} {}", list(names), counted(*number, "drive")),
            _ => format!("{} {number}", list(names)),
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// `from 1 to 64`.
fn range(runs: &[&Run]) -> String {
    let numbers = || runs.iter().map(|run| drives(run));
    let (least, most) = (numbers().min(), numbers().max());
    format!("from {} to {}", least.unwrap_or(1), most.unwrap_or(1))
}
