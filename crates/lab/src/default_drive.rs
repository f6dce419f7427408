//! The drive when none is named: the smallest disk of the catalog that is of today and holds the
//! load.
//!
//! A disk is *of today* if it was first sold in [`TODAY_SINCE`] or later, as `year` of its file
//! says. From then on disks record perpendicularly (Toshiba's MK4007GAL of 2005 was the first) and
//! hold hundreds of gigabytes and more, while arms and spindles have hardly changed: what is in
//! service now moves as these do. Only disks are chosen; a cloud volume's limits are a contract,
//! not a drive that happens to fit.
//!
//! One drive is chosen for all runs of a grid. Disks are tried from the smallest on: each stack is
//! built, so that placements take from the capacity what they need, and the load is laid out on it.
//! That takes a few milliseconds, unless a placement prepares every slot of a drive, as its card
//! says: minutes for a terabyte. With such a placement a drive must be named.

use std::collections::BTreeSet;

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::contract::Placement;
use nearslot_core::registry::ConfigError;
use nearslot_core::units::Blocks;

use crate::catalog::{Disk, TODAY_SINCE, names, of_today};
use crate::error::RunError;
use crate::grid::Point;
use crate::load::LoadedTrace;
use crate::memo::SHARED;
use crate::number::decimal_bytes;
use crate::outcome::ChosenDrive;
use crate::prepare;
use crate::scenario::{AUTO, Load, Scenario};
use crate::workload::fit::{Holder, Mode};
use crate::workload::layout::Layout;

/// Whether a scenario leaves its drive open.
fn is_open(scenario: &Scenario) -> bool {
    scenario.drive.name == AUTO
}

/// The same scenario on a disk of the catalog, with the knobs that were set.
fn on(scenario: &Scenario, disk: &Disk) -> Scenario {
    let mut scenario = scenario.clone();
    disk.name.clone_into(&mut scenario.drive.name);
    scenario
}

/// Checks every name and knob of the points, before a long trace is read. A drive that is left open
/// is any of those that may be chosen, as these have the same knobs.
///
/// # Errors
/// The first mistake; a drive is left open where the placement needs one that is named.
pub fn check(points: &[Point]) -> Result<(), ConfigError> {
    for Point { scenario, .. } in points {
        if is_open(scenario) {
            stack_for_any(scenario)?.check()?;
            check_place(scenario)?;
        } else {
            scenario.stack()?.check()?;
        }
    }
    Ok(())
}

fn stack_for_any(scenario: &Scenario) -> Result<StackConfig, ConfigError> {
    let smallest = &of_today()[0];
    on(scenario, smallest).stack()
}

fn check_place(scenario: &Scenario) -> Result<(), ConfigError> {
    let spec = scenario.placement()?;
    if !spec.prepared {
        return Ok(());
    }
    let allowed = format!(
        "a drive named with --drive where the placement is {}, which prepares every slot of it: that takes minutes for a disk of \
         today; disks of the catalog are, smallest first, {}",
        spec.name,
        names(Blocks(0)).join(", ")
    );
    Err(ConfigError::value("drive", "none named", &allowed))
}

/// Names the drive of all points that leave it open; gives which and why, if there are any, and
/// tells it at once.
///
/// # Errors
/// No disk of today holds the load: the error of the largest.
pub(crate) fn settle(
    points: &[Point],
    trace: Option<&LoadedTrace>,
    tell: Option<fn(&str)>,
) -> Result<(Vec<Point>, Option<ChosenDrive>), RunError> {
    let mut settled = points.to_vec();
    let open: Vec<&Scenario> = points
        .iter()
        .map(|point| &point.scenario)
        .filter(|scenario| is_open(scenario))
        .collect();
    if open.is_empty() {
        return Ok((settled, None));
    }
    open.iter().try_for_each(|scenario| check_place(scenario))?;
    let (disk, fits) = choose(&distinct(&open), trace)?;
    for point in settled.iter_mut().filter(|point| is_open(&point.scenario)) {
        point.scenario = on(&point.scenario, &disk);
    }
    let chosen = ChosenDrive {
        name: disk.name.to_owned(),
        capacity_bytes: disk.capacity.bytes(),
        why: why(&disk, fits, trace),
    };
    if let Some(tell) = tell {
        tell(&chosen.why);
    }
    Ok((settled, Some(chosen)))
}

/// Names the drive of all points that leave it open as the largest disk of today, for arrays whose
/// drives need not hold the trace alone.
pub(crate) fn largest(points: &[Point], trace: &LoadedTrace) -> (Vec<Point>, Option<ChosenDrive>) {
    let largest = of_today().pop().expect("the catalog has disks of today");
    let mut settled = points.to_vec();
    for point in settled.iter_mut().filter(|point| is_open(&point.scenario)) {
        point.scenario = on(&point.scenario, &largest);
    }
    let size = |blocks: Blocks| decimal_bytes(blocks.bytes());
    let chosen = ChosenDrive {
        name: largest.name.to_owned(),
        capacity_bytes: largest.capacity.bytes(),
        why: format!(
            "no drive was named, so it is {} ({}), the largest disk of the catalog that is of today (sold since {TODAY_SINCE}): none \
             holds the trace alone, whose addresses end at {}",
            largest.name,
            size(largest.capacity),
            size(trace.end())
        ),
    };
    (settled, Some(chosen))
}

/// The scenarios that differ in what decides whether a drive is large enough.
fn distinct<'a>(open: &[&'a Scenario]) -> Vec<&'a Scenario> {
    let mut seen = BTreeSet::new();
    let decides = |scenario: &Scenario| {
        let load = match &scenario.load {
            Load::Trace(load) => format!("{:?} {:?}", load.volumes, load.fit),
            Load::Workload(part) => part.to_string(),
        };
        let place = scenario.parts.of::<dyn Placement>();
        format!("{} {place} {load}", scenario.drive)
    };
    let first = open
        .iter()
        .filter(|scenario| seen.insert(decides(scenario)));
    first.copied().collect()
}

/// The smallest disk that holds all of them as they are; if there is none, the largest, if what the
/// loads allow to be done about addresses is enough for that one. Tells whether addresses stay as
/// they are.
fn choose(scenarios: &[&Scenario], trace: Option<&LoadedTrace>) -> Result<(Disk, bool), RunError> {
    let mut disks = of_today();
    // What is wrong on the smallest disk is not that it is too small, which is unfit.
    let mut amiss = None;
    for index in 0..disks.len() {
        match hold(scenarios, trace, &disks[index], true) {
            Ok(()) => return Ok((disks.swap_remove(index), true)),
            Err(RunError::Config(error)) if index == 0 => amiss = Some(error),
            Err(RunError::Config(_) | RunError::Unfit(_)) => {}
            Err(other) => return Err(other),
        }
    }
    let largest = disks.pop().expect("the catalog has disks of today");
    match hold(scenarios, trace, &largest, false) {
        Ok(()) => Ok((largest, false)),
        Err(RunError::Config(error)) => Err(amiss.unwrap_or_else(|| tried(error, &largest)).into()),
        Err(RunError::Unfit(error)) => Err(RunError::Unfit(tried(error, &largest))),
        Err(other) => Err(other),
    }
}

/// The same error, for a reader who named no drive.
fn tried(error: ConfigError, largest: &Disk) -> ConfigError {
    ConfigError {
        allowed: format!(
            "{}. No drive was named, so the disks of today were tried up to the largest of the catalog, {}: --drive names another",
            error.allowed, largest.name
        ),
        ..error
    }
}

/// Whether a disk takes all of them: `whole` if addresses may not be changed, whatever the load
/// allows.
fn hold(
    scenarios: &[&Scenario],
    trace: Option<&LoadedTrace>,
    disk: &Disk,
    whole: bool,
) -> Result<(), RunError> {
    for scenario in scenarios {
        let scenario = on(scenario, disk);
        let Assembly { stack, .. } = prepare::built(&scenario, trace)?;
        match (&scenario.load, trace) {
            (Load::Trace(load), Some(trace)) => {
                let mode = if whole { Mode::None } else { load.fit };
                let what = (trace.header(), trace.summary());
                let holder = Holder::over((stack.capacity(), disk.name), disk.capacity);
                Layout::new(load.volumes, mode, what, holder).map_err(RunError::Unfit)?;
            }
            _ => drop(prepare::prepare(&scenario, trace, (&stack, &SHARED))?),
        }
    }
    Ok(())
}

fn why(disk: &Disk, fits: bool, trace: Option<&LoadedTrace>) -> String {
    let size = |blocks: Blocks| decimal_bytes(blocks.bytes());
    let since = format!("of today (sold since {TODAY_SINCE})");
    let reason = match trace {
        None => format!("the smallest disk of the catalog that is {since} and holds the load"),
        Some(trace) if fits => format!(
            "the smallest disk of the catalog that is {since} and holds the trace, whose addresses end at {}",
            size(trace.end())
        ),
        Some(trace) => format!(
            "the largest disk of the catalog that is {since}; the trace, whose addresses end at {}, is fitted to it",
            size(trace.end())
        ),
    };
    format!(
        "no drive was named, so it is {} ({}), {reason}",
        disk.name,
        size(disk.capacity)
    )
}

#[cfg(test)]
mod tests {
    use nearslot_core::config::PartConfig;

    use super::*;
    use crate::catalog::disks;
    use crate::grid::{self, Vary};

    fn points(settings: &[(&str, &str)], vary: &[&str]) -> Vec<Point> {
        let mut base = Scenario::over(Load::Workload(PartConfig::named("iometer")));
        for (key, value) in settings {
            base.set(key, value).unwrap();
        }
        let vary: Vec<Vary> = vary.iter().map(|word| word.parse().unwrap()).collect();
        grid::points(&base, &vary).unwrap()
    }

    #[test]
    fn every_disk_of_the_catalog_tells_its_year_or_is_only_taken_by_name() {
        let years: Vec<_> = disks().iter().map(|disk| (disk.name, disk.year)).collect();
        let expected = [
            ("hp-c2247a", Some(1992)),
            ("seagate-cheetah-9lp", Some(1998)),
            ("scsi-10k-73gb", Some(2003)),
            ("hitachi-7200-90mb", None),
            ("desktop-7200-90mb", Some(2007)),
            ("emulated-7200-150mb", None),
            ("seagate-7200-125mb", None),
            ("modern-20tb", Some(2021)),
        ];
        assert_eq!(years, expected);
        let today: Vec<_> = of_today().iter().map(|disk| disk.name).collect();
        assert_eq!(today, ["desktop-7200-90mb", "modern-20tb"]);
    }

    #[test]
    fn a_synthetic_load_gets_the_smallest_disk_of_today_and_keeps_its_knobs() {
        let points = points(&[("drive.model", "mechanical")], &["sched=fcfs,satf"]);
        let (settled, chosen) = settle(&points, None, None).unwrap();
        let drives = settled.iter().map(|point| point.scenario.drive.to_string());
        let expected = "desktop-7200-90mb:model=mechanical";
        assert_eq!(drives.collect::<Vec<_>>(), [expected, expected]);
        let chosen = chosen.unwrap();
        assert_eq!(
            (chosen.name.as_str(), chosen.capacity_bytes),
            ("desktop-7200-90mb", 1_000_204_886_016)
        );
        assert!(
            chosen.why.contains("of today (sold since 2005)"),
            "{}",
            chosen.why
        );
    }

    #[test]
    fn drives_that_are_named_stay() {
        let points = points(&[("drive", "hp-c2247a")], &[]);
        assert_eq!(settle(&points, None, None).unwrap(), (points.clone(), None));
        let mixed = self::points(&[], &["drive=hp-c2247a,auto"]);
        let (settled, chosen) = settle(&mixed, None, None).unwrap();
        assert_eq!(settled[0], mixed[0]);
        assert_eq!(settled[1].scenario.drive.name, chosen.unwrap().name);
    }

    #[test]
    fn a_placement_that_prepares_every_slot_needs_a_drive_that_is_named() {
        let eager = points(&[("place", "eager")], &[]);
        let error = check(&eager).unwrap_err().to_string();
        assert!(
            error.contains("drive = none named (allowed: a drive named with --drive"),
            "{error}"
        );
        assert!(error.contains("eager"), "{error}");
        assert!(error.contains("hp-c2247a"), "{error}");
        assert!(settle(&eager, None, None).is_err());
        let named = points(&[("place", "eager"), ("drive", "hp-c2247a")], &[]);
        assert_eq!(check(&named), Ok(()));
        assert_eq!(check(&points(&[("place", "stripe")], &[])), Ok(()));
    }

    #[test]
    fn a_wrong_knob_of_an_open_drive_is_found_before_the_trace_is_read() {
        let wrong = points(&[("drive.overhaed_ms", "0.3")], &[]);
        assert_eq!(
            check(&wrong).unwrap_err().nearest.as_deref(),
            Some("overhead_ms")
        );
    }
}
