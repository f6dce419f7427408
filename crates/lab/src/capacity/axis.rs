//! Along what a capacity is looked for, and the settings that are tried there, from the easiest to
//! the hardest.
//!
//! - `speed` of a replay, and `rate` of a synthetic load: powers of 1 + resolution, so that the
//!   recorded speed is one of them;
//! - `depth` of a closed loop, `bsu` of a load like that of SPC-1, and `drives` of an array: whole
//!   numbers, each at first, then as far apart as the resolution says.
//!
//! Fewer drives are harder. A placement takes drives in multiples of its copies or arrays, and its
//! spares beside these; `linear`, which is one drive, is striped.

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Placement;
use nearslot_core::registry::{ConfigError, Kind, KnobKind, KnobValue, Spec, canonical};

use crate::grid::Point;
use crate::load::LoadedTrace;
use crate::run::RunError;
use crate::scenario::{DEPTH_MAX, Load, Replay, Scenario};
use crate::workload;
use crate::workload::fit::Holder;
use crate::workload::layout::{Layout, Volumes};

words! {
    /// What is looked for.
    Find {
        /// What arrival times are divided by.
        Speed = "speed",
        /// Requests a second.
        Rate = "rate",
        /// Requests in flight.
        Depth = "depth",
        /// Business scaling units of a load like that of SPC-1.
        Bsu = "bsu",
        /// Drives of an array.
        Drives = "drives",
    }
}

/// Speeds that are tried at most and at least.
const SPEEDS: (f64, f64) = (1e-4, 1e6);
/// The same of rates: what the knob allows.
const RATES: (f64, f64) = (1e-3, 1e8);
/// Business scaling units that are tried at most: what the knob allows.
const BSUS_MAX: u64 = 100_000;
/// Drives that are tried at most.
const DRIVES_MAX: u64 = 256;
impl Find {
    /// What is looked for when nothing is said.
    ///
    /// # Errors
    /// The load has nothing of the kind.
    pub fn of(scenario: &Scenario) -> Result<Find, ConfigError> {
        check_counted(scenario)?;
        let can = |find: &Find| find.given(scenario).is_ok();
        let kinds = [Find::Speed, Find::Rate, Find::Depth, Find::Bsu];
        kinds.into_iter().find(can).ok_or_else(|| {
            let allowed = "drives: this load has no speed, rate, depth or bsu of its own";
            ConfigError::value("find", "nothing", allowed)
        })
    }

    /// Whether a load has it, and has it open.
    ///
    /// # Errors
    /// It has not, with what it needs; or it is given, so that there is nothing to look for.
    pub fn check(self, scenario: &Scenario) -> Result<(), ConfigError> {
        check_counted(scenario)?;
        self.given(scenario)?.map_or(Ok(()), |value| {
            let allowed = "left out: it is what is looked for";
            Err(ConfigError::value(self.key(), &value, allowed))
        })
    }

    /// What a load that has it says of it.
    fn given(self, scenario: &Scenario) -> Result<Option<String>, ConfigError> {
        let needs = |allowed: &str| Err(ConfigError::value("find", self.word(), allowed));
        Ok(match (self, &scenario.load) {
            (Find::Speed, Load::Trace(trace)) if trace.replay != Replay::Closed => {
                trace.speed.map(|speed| speed.to_string())
            }
            (Find::Speed, _) => return needs("with a trace and replay = open or dependent"),
            (Find::Depth, Load::Trace(trace)) if trace.replay == Replay::Closed => {
                trace.depth.map(|depth| depth.to_string())
            }
            (Find::Depth | Find::Rate | Find::Bsu, Load::Workload(part)) => {
                let key = self.key();
                if !workload::has_knob(part, key) {
                    let names = workload::having(&[COUNT, key]).join(", ");
                    let or = match self {
                        Find::Depth => "; or with a trace and replay = closed",
                        _ => "",
                    };
                    return needs(&format!(
                        "with a workload that has the knob {key}: {names}{or}"
                    ));
                }
                knob(part, key)
            }
            (Find::Depth, _) => {
                return needs("with replay = closed, or a workload that keeps a depth");
            }
            (Find::Rate, _) => {
                return needs("with a synthetic workload that has a rate; a trace has a speed");
            }
            (Find::Bsu, _) => {
                return needs("with a synthetic workload that has a bsu; a trace has a speed");
            }
            (Find::Drives, _) => return disks(scenario),
        })
    }

    /// As [`Scenario::set`] calls it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Find::Speed => "speed",
            Find::Rate => "rate_rps",
            Find::Depth => "depth",
            Find::Bsu => "bsu",
            Find::Drives => "place.disks",
        }
    }

    /// A setting in words: `3.4 times the recorded speed`.
    pub(crate) fn words(self, value: f64) -> String {
        match self {
            Find::Speed => format!("{value} times the recorded speed"),
            Find::Rate => format!("{value} requests/s"),
            Find::Depth => format!("depth {value}"),
            Find::Bsu if value < 1.5 => "1 BSU".to_owned(),
            Find::Bsu => format!("{value} BSUs"),
            Find::Drives if value < 1.5 => "1 drive".to_owned(),
            Find::Drives => format!("{value} drives"),
        }
    }
}

/// The knob of workloads that say how many requests they make.
const COUNT: &str = "requests";

/// Whether it is known how many requests a load makes. Where that hangs on the answers, each
/// setting has other requests, and no run can be held against another.
fn check_counted(scenario: &Scenario) -> Result<(), ConfigError> {
    match &scenario.load {
        Load::Workload(part) if !workload::has_knob(part, COUNT) => {
            let allowed = format!(
                "a trace, or one of {}: how many requests {} makes hangs on the answers, so no run can be held against another",
                workload::having(&[COUNT]).join(", "),
                part.name
            );
            Err(ConfigError::value("workload", &part.name, &allowed))
        }
        _ => Ok(()),
    }
}

fn knob(part: &PartConfig, key: &str) -> Option<String> {
    let mut knobs = part.knobs.iter();
    let found = knobs.find(|(name, _)| canonical(name) == canonical(key));
    found.map(|(_, value)| value.to_string())
}

/// How many drives an array is said to have.
fn disks(scenario: &Scenario) -> Result<Option<String>, ConfigError> {
    if scenario.volumes() == Some(Volumes::OwnDrives) {
        let allowed = "without volumes = own-drives, which says how many drives there are";
        return Err(ConfigError::value("find", "drives", allowed));
    }
    let place = scenario.parts.of::<dyn Placement>();
    let spec = scenario.placement()?;
    let has = |spec: &Spec<dyn Placement>| spec.knobs.iter().any(|knob| knob.name == "disks");
    if spec.name != "linear" && !has(spec) {
        let with: Vec<&str> = <dyn Placement>::table()
            .iter()
            .filter(|spec| has(spec))
            .map(|spec| spec.name)
            .collect();
        let allowed = format!("one of {} to find drives", with.join(", "));
        return Err(ConfigError::value("place", &place.name, &allowed));
    }
    Ok(knob(place, "disks"))
}

/// The settings of one choice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) find: Find,
    /// From the easiest to the hardest.
    pub(crate) values: Vec<f64>,
    /// What sets the first one, if it is not the range of the setting itself.
    pub(crate) easiest_because: Option<String>,
    /// The same of the last one.
    pub(crate) hardest_because: Option<String>,
}

impl Axis {
    /// The settings of a point, `resolution` apart (0.02 is 2 %). `requests` is how many it has.
    ///
    /// # Errors
    /// The stack cannot be built, or no number of drives holds the trace.
    pub(crate) fn new(
        find: Find,
        point: &Point,
        trace: Option<&LoadedTrace>,
        (requests, resolution): (u64, f64),
    ) -> Result<Axis, RunError> {
        let axis = |values| Axis {
            find,
            values,
            easiest_because: None,
            hardest_because: None,
        };
        Ok(match find {
            Find::Speed => {
                let slowest = trace.map_or(0.0, crate::prepare::slowest);
                axis(powers((SPEEDS.0.max(slowest), SPEEDS.1), resolution))
            }
            Find::Rate => {
                let slowest = slowest_rate(&point.scenario.load, requests);
                axis(powers((RATES.0.max(slowest), RATES.1), resolution))
            }
            Find::Depth => {
                // A queue that is as long as the load is never full.
                let most = (requests / 10).clamp(1, DEPTH_MAX);
                Axis {
                    hardest_because: Some(format!(
                        "no more is tried than {DEPTH_MAX} and a tenth of the {requests} requests"
                    )),
                    ..axis(whole((1, most), 1, resolution))
                }
            }
            Find::Bsu => axis(whole(bsus(&point.scenario.load, requests), 1, resolution)),
            Find::Drives => return drives(point, trace, resolution),
        })
    }

    /// A point with the setting of this index.
    ///
    /// # Errors
    /// The setting is not allowed.
    pub(crate) fn point(&self, of: &Point, index: usize) -> Result<Point, ConfigError> {
        let mut point = of.clone();
        let (key, value) = (self.find.key(), self.values[index].to_string());
        point.scenario.set(key, &value)?;
        point.label = format!("{} {key}={value}", of.label);
        point.settings.push((key.to_owned(), value));
        Ok(point)
    }

    /// How hard a setting is: greater is harder, and the same for all choices.
    pub(crate) fn hardness(&self, index: usize) -> f64 {
        match self.find {
            Find::Drives => -self.values[index],
            Find::Speed | Find::Rate | Find::Depth | Find::Bsu => self.values[index],
        }
    }

    /// The index of the hardest setting that is at most so hard; the easiest if there is none.
    pub(crate) fn near(&self, value: f64) -> usize {
        let bound = match self.find {
            Find::Drives => -value,
            Find::Speed | Find::Rate | Find::Depth | Find::Bsu => value,
        };
        let below = (0..self.values.len()).rfind(|index| self.hardness(*index) <= bound);
        below.unwrap_or(0)
    }

    /// The index of a setting, if it is one.
    pub(crate) fn index(&self, value: f64) -> Option<usize> {
        self.values
            .iter()
            .position(|other| other.total_cmp(&value).is_eq())
    }
}

/// The lowest rate at which the requests of a synthetic load do not outlast virtual time.
fn slowest_rate(load: &Load, requests: u64) -> f64 {
    let batch = match load {
        Load::Workload(part) => knob(part, "write_batch"),
        Load::Trace(_) => None,
    };
    let batch = batch.and_then(|word| word.parse().ok());
    workload::slowest_rate_rps(requests, batch.unwrap_or(workload::BATCH_DEFAULT))
}

/// Business scaling units from the fewest on with which the requests of a load do not outlast
/// virtual time, and each context has one.
fn bsus(load: &Load, requests: u64) -> (u64, u64) {
    let contexts = match load {
        Load::Workload(part) => knob(part, "contexts"),
        Load::Trace(_) => None,
    };
    let contexts = contexts.and_then(|word| word.parse().ok()).unwrap_or(1);
    (workload::fewest_bsus(requests).max(contexts), BSUS_MAX)
}

/// Powers of 1 + `resolution` in a range, each rounded to the digits that tell neighbours apart: it
/// is printed as it is run.
fn powers((least, most): (f64, f64), resolution: f64) -> Vec<f64> {
    let step = libm::log1p(resolution);
    let index = |value: f64| libm::log(value) / step;
    let (first, last) = (index(least).ceil() as i64, index(most).floor() as i64);
    // One in the last digit is at most a step.
    let digits = 1 + (-libm::log10(resolution)).ceil() as usize;
    let power = |index: i64| rounded(libm::exp(index as f64 * step), digits);
    let powers = (first..=last).map(power);
    powers
        .filter(|value| (least..=most).contains(value))
        .collect()
}

fn rounded(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits - 1);
    text.parse().expect("a printed number reads back")
}

/// Multiples of `unit` in a range, `resolution` apart where that is more than one.
fn whole((least, most): (u64, u64), unit: u64, resolution: f64) -> Vec<f64> {
    let mut values = Vec::new();
    let mut next = least.div_ceil(unit);
    while next * unit <= most {
        values.push((next * unit) as f64);
        next += ((next as f64 * resolution) as u64).max(1);
    }
    values
}

/// The same points, with the fewest drives that their placements take where these refuse as many as
/// they have if not told. How many is what is looked for.
pub(super) fn with_enough(points: &[Point], find: Find) -> Result<Vec<Point>, ConfigError> {
    let mut points = points.to_vec();
    if find == Find::Drives {
        for point in &mut points {
            let Numbers {
                fewest,
                unit,
                spares,
            } = numbers(&point.scenario)?;
            if unit > 1 || spares > 0 {
                point.scenario.set(find.key(), &fewest.to_string())?;
            }
        }
    }
    Ok(points)
}

/// The same points, but for arrays of drives in place of the one drive of `linear`.
pub(super) fn arrays(points: &[Point], find: Find) -> Result<Vec<Point>, ConfigError> {
    let mut points = points.to_vec();
    if find == Find::Drives {
        for point in &mut points {
            if point.scenario.placement()?.name == "linear" {
                *point.scenario.parts.of_mut::<dyn Placement>() = PartConfig::named("stripe");
            }
        }
    }
    Ok(points)
}

/// Numbers of drives that a placement takes.
struct Numbers {
    /// With the spares.
    fewest: u64,
    /// Without the spares each number is a multiple of this.
    unit: u64,
    spares: u64,
}

impl Numbers {
    /// From the fewest on, `resolution` apart.
    fn up_to(&self, most: u64, resolution: f64) -> Vec<f64> {
        let (fewest, most) = (
            self.fewest - self.spares,
            most.max(self.fewest) - self.spares,
        );
        let mut all = whole((fewest, most), self.unit, resolution);
        all.iter_mut()
            .for_each(|drives| *drives += self.spares as f64);
        all
    }
}

/// Those of this placement.
fn numbers(scenario: &Scenario) -> Result<Numbers, ConfigError> {
    let spec = scenario.placement()?;
    let knobs = spec
        .card()
        .check(&scenario.parts.of::<dyn Placement>().knobs)?;
    let told = |names: &[&str]| match knobs.iter().find(|(key, _)| names.contains(key)) {
        Some((_, KnobValue::Integer(drives))) => Some(drives.unsigned_abs()),
        _ => None,
    };
    let unit = told(&["copies", "arrays"]).unwrap_or(1);
    let spares = told(&["spares"]).unwrap_or(0);
    let disks = spec.knobs.iter().find(|knob| knob.name == "disks");
    let fewest = match disks.map(|knob| &knob.kind) {
        Some(KnobKind::Integer { min, .. }) => min.unsigned_abs(),
        _ => 1,
    };
    Ok(Numbers {
        fewest: fewest * unit + spares,
        unit,
        spares,
    })
}

/// Numbers of drives that hold the trace, most first.
fn drives(point: &Point, trace: Option<&LoadedTrace>, resolution: f64) -> Result<Axis, RunError> {
    let all = numbers(&point.scenario)?.up_to(DRIVES_MAX, resolution);
    let mut axis = Axis {
        find: Find::Drives,
        values: all.into_iter().rev().collect(),
        easiest_because: None,
        hardest_because: None,
    };
    leave_out_too_many(&mut axis, point, trace)?;
    let Some(trace) = trace else {
        return Ok(axis);
    };
    // The first `fitting` numbers hold it, those from `beyond` on do not.
    let (mut fitting, mut beyond) = (0, axis.values.len());
    let mut refused = None;
    while fitting < beyond {
        let middle = usize::midpoint(fitting, beyond);
        match fits(&axis, point, trace, middle) {
            Ok(()) => fitting = middle + 1,
            Err(error @ RunError::Unfit(_)) => {
                refused = Some(error);
                beyond = middle;
            }
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) if fitting == 0 => Err(error),
        Some(_) => {
            axis.values.truncate(fitting);
            axis.hardest_because = Some("fewer do not hold the trace's addresses".to_owned());
            Ok(axis)
        }
        None => Ok(axis),
    }
}

/// Leaves the numbers of drives that cannot be had, as the placement has no room for so many of
/// these.
///
/// # Errors
/// Not even the fewest can be had.
fn leave_out_too_many(
    axis: &mut Axis,
    point: &Point,
    trace: Option<&LoadedTrace>,
) -> Result<(), RunError> {
    let Err(mut too_many) = can_be_had(axis, point, trace, 0) else {
        return Ok(());
    };
    // Those up to `refused` cannot be had, those from `had` on can.
    let (mut refused, mut had) = (0, axis.values.len() - 1);
    can_be_had(axis, point, trace, had)?;
    while refused + 1 < had {
        let middle = usize::midpoint(refused, had);
        match can_be_had(axis, point, trace, middle) {
            Ok(()) => had = middle,
            Err(error) => (refused, too_many) = (middle, error),
        }
    }
    let refused = axis.find.words(axis.values[refused]);
    axis.easiest_because = Some(format!("{refused} cannot be had: {too_many}"));
    axis.values.drain(..had);
    Ok(())
}

/// Whether a stack of so many drives can be built.
fn can_be_had(
    axis: &Axis,
    point: &Point,
    trace: Option<&LoadedTrace>,
    index: usize,
) -> Result<(), RunError> {
    let scenario = axis.point(point, index)?.scenario;
    crate::prepare::built(&scenario, trace).map(|_| ())
}

/// Whether so many drives hold the trace.
fn fits(axis: &Axis, point: &Point, trace: &LoadedTrace, index: usize) -> Result<(), RunError> {
    let scenario = axis.point(point, index)?.scenario;
    let Load::Trace(load) = &scenario.load else {
        return Ok(());
    };
    let made = crate::prepare::built(&scenario, Some(trace))?;
    let (capacity, drive) = (made.stack.capacity(), made.blueprint.capacity());
    Layout::new(
        load.volumes,
        load.fit,
        (trace.header(), trace.summary()),
        Holder::over((capacity, &scenario.holder()?), drive),
    )
    .map(|_| ())
    .map_err(RunError::Unfit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(workload: &str) -> Scenario {
        Scenario::over(Load::Workload(workload.parse().unwrap()))
    }

    fn over_trace(settings: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::from_toml("[trace]\nfiles = ['a']", ".".as_ref()).unwrap();
        for (key, value) in settings {
            scenario.set(key, value).unwrap();
        }
        scenario
    }

    #[test]
    fn what_is_looked_for_follows_from_the_load() {
        assert_eq!(Find::of(&scenario("poisson")), Ok(Find::Rate));
        assert_eq!(Find::of(&scenario("iometer")), Ok(Find::Depth));
        assert_eq!(Find::of(&scenario("spc1:contexts=2")), Ok(Find::Bsu));
        assert_eq!(Find::of(&over_trace(&[])), Ok(Find::Speed));
        assert_eq!(
            Find::of(&over_trace(&[("replay", "dependent")])),
            Ok(Find::Speed)
        );
        assert_eq!(
            Find::of(&over_trace(&[("replay", "closed")])),
            Ok(Find::Depth)
        );
    }

    #[test]
    fn what_is_looked_for_in_a_load_that_has_nothing_of_the_kind_has_to_be_said() {
        let nothing = |load: &str| Find::of(&scenario(load)).unwrap_err().to_string();
        assert!(
            nothing("host").starts_with("workload = host (allowed: a trace, or one of iometer")
        );
        assert!(
            nothing("tpcb").starts_with("workload = tpcb (allowed: a trace, or one of iometer")
        );
    }

    #[test]
    fn what_a_load_has_not_or_what_is_given_cannot_be_found() {
        let cases = [
            (over_trace(&[]), Find::Depth, "replay = closed"),
            (over_trace(&[]), Find::Rate, "synthetic workload"),
            (
                over_trace(&[("replay", "closed")]),
                Find::Speed,
                "open or dependent",
            ),
            (over_trace(&[("speed", "2")]), Find::Speed, "left out"),
            (
                over_trace(&[("replay", "closed"), ("depth", "4")]),
                Find::Depth,
                "left out",
            ),
            (scenario("poisson:rate_rps=3"), Find::Rate, "left out"),
            (scenario("poisson"), Find::Speed, "with a trace"),
            (
                scenario("poisson"),
                Find::Depth,
                "(allowed: with a workload that has the knob depth: iometer, ranges; or with a trace and replay = closed)",
            ),
            (
                scenario("iometer"),
                Find::Rate,
                "(allowed: with a workload that has the knob rate_rps: poisson, oltp)",
            ),
            (
                scenario("host"),
                Find::Drives,
                "workload = host (allowed: a trace, or one of iometer, poisson, oltp, spc1, ranges: how many requests host makes",
            ),
            (
                scenario("filesystem"),
                Find::Depth,
                "one of iometer, poisson",
            ),
            (
                over_trace(&[("place", "eager")]),
                Find::Drives,
                "stripe, concat, raid5, mirror",
            ),
            (
                over_trace(&[("place", "stripe:disks=4")]),
                Find::Drives,
                "left out",
            ),
            (
                over_trace(&[("volumes", "own-drives")]),
                Find::Drives,
                "own-drives",
            ),
        ];
        for (scenario, find, words) in cases {
            let error = find.check(&scenario).unwrap_err().to_string();
            assert!(error.contains(words), "{find:?}: {error}");
        }
    }

    #[test]
    fn business_units_are_found_in_a_load_that_leaves_them_open() {
        let cases = [
            (scenario("spc1:bsu=3"), "bsu = 3 (allowed: left out"),
            (
                scenario("poisson"),
                "find = bsu (allowed: with a workload that has the knob bsu: spc1)",
            ),
            (over_trace(&[]), "a trace has a speed"),
        ];
        for (scenario, words) in cases {
            let error = Find::Bsu.check(&scenario).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Find::Bsu.check(&scenario("spc1")), Ok(()));
    }

    #[test]
    fn speeds_are_a_grid_with_the_recorded_one_on_it() {
        // As many digits as tell neighbours apart.
        let cases = [
            (0.001, 4, [1.002, 1.003]),
            (0.02, 3, [1.04, 1.06]),
            (0.5, 2, [2.2, 3.4]),
        ];
        for (resolution, digits, next) in cases {
            let values = powers(SPEEDS, resolution);
            let one = values.iter().position(|value| *value == 1.0).unwrap();
            assert_eq!(values[one + 2..one + 4], next);
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(values[0] >= SPEEDS.0);
            assert!(*values.last().unwrap() <= SPEEDS.1);
            for (index, value) in values.iter().enumerate() {
                let exact = (1.0 + resolution).powi(index as i32 - one as i32);
                let off = 0.500_001 * 10_f64.powi(1 - digits);
                assert!((value / exact - 1.0).abs() < off, "{value} for {exact}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_tried_one_by_one_until_the_resolution_is_finer() {
        let values = whole((1, 400), 1, 0.02);
        let first: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(values[..100], first);
        assert_eq!(values[100..103], [102.0, 104.0, 106.0]);
        assert_eq!(whole((2, 9), 2, 0.02), [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(whole((3, 9), 3, 0.02), [3.0, 6.0, 9.0]);
    }

    #[test]
    fn fewer_drives_are_harder_and_come_in_multiples_of_the_copies() {
        let mut base = over_trace(&[("place", "mirror:copies=3")]);
        base.load = scenario("poisson").load;
        base.set("drive", "null").unwrap();
        let points = crate::grid::points(&base, &[]).unwrap();
        let axis = Axis::new(Find::Drives, &points[0], None, (1_000, 0.02)).unwrap();
        assert!((axis.values[0] - 255.0).abs() < 1e-12);
        assert_eq!(axis.values[axis.values.len() - 2..], [6.0, 3.0]);
        assert!(axis.hardness(0) < axis.hardness(1));
        // At least seven drives: nine.
        assert!((axis.values[axis.near(7.0)] - 9.0).abs() < 1e-12);
        assert_eq!(axis.index(6.0), Some(axis.values.len() - 2));
        let last = axis.values.len() - 1;
        let point = axis.point(&points[0], last).unwrap();
        assert_eq!(
            point.scenario.parts.of::<dyn Placement>().to_string(),
            "mirror:copies=3:disks=3"
        );
    }

    #[test]
    fn spares_are_beside_the_drives_of_which_there_is_a_multiple() {
        for (place, most, fewest) in [
            ("raid5:spares=2", 255, [6, 5]),
            ("raid5:arrays=2:spares=1", 253, [9, 7]),
            ("raid5:arrays=2", 256, [8, 6]),
        ] {
            let mut base = scenario("poisson");
            base.set("drive", "null").unwrap();
            base.set("place", place).unwrap();
            let points = crate::grid::points(&base, &[]).unwrap();
            // Whatever else is asked of a stack before, it can be built.
            let points = with_enough(&points, Find::Drives).unwrap();
            crate::prepare::built(&points[0].scenario, None).expect(place);
            let axis = Axis::new(Find::Drives, &points[0], None, (1_000, 0.02)).unwrap();
            assert_eq!(axis.easiest_because, None, "{place}");
            let told: Vec<u64> = axis.values.iter().map(|drives| *drives as u64).collect();
            assert_eq!(told[0], most, "{place}");
            assert_eq!(told[told.len() - 2..], fewest, "{place}");
            for index in 0..told.len() {
                can_be_had(&axis, &points[0], None, index).expect(place);
            }
        }
    }

    /// 14 columns of 20 TB are all that is numbered beside 12 copies of each chunk, and three
    /// beside 14.
    #[test]
    fn drives_that_a_placement_has_no_room_for_are_left_out() {
        for (copies, most) in [(12, 168), (14, 42)] {
            let mut base = scenario("poisson");
            base.set("drive", "modern-20tb").unwrap();
            base.set("place", &format!("mirror:copies={copies}"))
                .unwrap();
            let points = crate::grid::points(&base, &[]).unwrap();
            let axis = Axis::new(Find::Drives, &points[0], None, (1_000, 0.02)).unwrap();
            let all = Axis {
                values: whole((copies, DRIVES_MAX), copies, 0.02),
                ..axis.clone()
            };
            let had = |index: &usize| can_be_had(&all, &points[0], None, *index).is_ok();
            let scanned: Vec<f64> = (0..all.values.len())
                .filter(had)
                .map(|index| all.values[index])
                .collect();
            assert!(axis.values.iter().rev().eq(&scanned), "{:?}", axis.values);
            assert!((axis.values[0] - f64::from(most)).abs() < 1e-12);
            let because = axis.easiest_because.unwrap();
            let refused = f64::from(most + copies as u32);
            let index = all.index(refused).unwrap();
            let error = can_be_had(&all, &points[0], None, index).unwrap_err();
            let says = "mirror over modern-20tb: chunks of the volume = ";
            assert!(error.to_string().starts_with(says), "{error}");
            assert_eq!(because, format!("{refused} drives cannot be had: {error}"));
        }
    }

    #[test]
    fn where_not_even_the_fewest_drives_can_be_had_that_is_the_error() {
        let mut base = scenario("poisson");
        base.set("drive", "modern-20tb").unwrap();
        base.set("place", "mirror:copies=16").unwrap();
        let points = crate::grid::points(&base, &[]).unwrap();
        let error = Axis::new(Find::Drives, &points[0], None, (1_000, 0.02)).unwrap_err();
        let says = "mirror over modern-20tb: chunks of the volume = 4882956288 ";
        assert!(error.to_string().contains(says), "{error}");
    }

    /// A trace keeps the depth that is tried in flight, as a workload does.
    #[test]
    fn the_depth_that_is_tried_is_set() {
        let closed = over_trace(&[("replay", "closed")]);
        let points = crate::grid::points(&closed, &[]).unwrap();
        let axis = Axis::new(Find::Depth, &points[0], None, (400, 0.02)).unwrap();
        let point = axis.point(&points[0], 6).unwrap();
        let Load::Trace(trace) = &point.scenario.load else {
            panic!("it has a trace");
        };
        assert_eq!(trace.depth() as f64, axis.values[6]);
    }

    #[test]
    fn settings_reach_as_far_as_they_may() {
        let ends = |find, base: &Scenario, requests| {
            let points = crate::grid::points(base, &[]).unwrap();
            let axis = Axis::new(find, &points[0], None, (requests, 0.02)).unwrap();
            (axis.values[0], *axis.values.last().unwrap())
        };
        let within = |(least, most): (f64, f64), range: (f64, f64)| {
            let near = |value: f64, end: f64| (value / end - 1.0).abs() < 0.025;
            near(least, range.0) && near(most, range.1) && least >= range.0 && most <= range.1
        };
        assert!(within(ends(Find::Speed, &over_trace(&[]), 0), (1e-4, 1e6)));
        assert!(within(
            ends(Find::Rate, &scenario("poisson"), 0),
            (1e-3, 1e8)
        ));
        let closed = over_trace(&[("replay", "closed")]);
        assert_eq!(ends(Find::Depth, &closed, 400), (1.0, 40.0));
        assert_eq!(ends(Find::Depth, &closed, 5), (1.0, 1.0));
        let most = ends(Find::Depth, &closed, 100 * DEPTH_MAX).1;
        let share = most / DEPTH_MAX as f64;
        assert!((0.975..=1.0).contains(&share), "{most}");
        assert_eq!(ends(Find::Bsu, &scenario("spc1"), 400).0, 1.0);
        let contexts = scenario("spc1:contexts=3");
        assert!(within(ends(Find::Bsu, &contexts, 400), (3.0, 1e5)));
        let fewest = ends(Find::Bsu, &scenario("spc1"), 1_000_000_000_000).0;
        assert_eq!(fewest, 5.0, "fewer take longer than virtual time lasts");
        let array = over_trace(&[("place", "stripe"), ("drive", "null")]);
        assert_eq!(ends(Find::Drives, &array, 0), (253.0, 1.0));
    }
}
