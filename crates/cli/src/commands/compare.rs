//! `nearslot run` and `nearslot compare`: a grid of runs, of one point or of many.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nearslot_core::contract::Cache;
use nearslot_core::registry::{ConfigError, Kind};
use nearslot_lab::default_drive;
use nearslot_lab::grid::{self, Point, Vary};
use nearslot_lab::inspect::Inspection;
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::outcome::Results;
use nearslot_lab::overload::Overload;
use nearslot_lab::report::{self, Format, OutputFile, Outputs, ReportError, Target};
use nearslot_lab::run::{self, RunError, Wanted};
use nearslot_lab::scenario::Load;
use nearslot_lab::sim::Control;
use nearslot_trace::TraceError;

use super::scenario::{Described, describe, open_options};
use crate::args::{CompareArgs, OutputArgs, ReadArgs, RunArgs, ScenarioArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::{self, Progress};

/// Compared when nobody says what to compare: no order at all, two that know block numbers, one
/// that knows the drive.
const SCHEDULERS_DEFAULT: &str = "fcfs,look,mq-deadline,satf";

/// `nearslot run`.
pub(crate) fn run(args: &RunArgs, control: &Arc<Control>) -> Result<(), Failure> {
    let mut described = describe(&args.scenario, false)?;
    if let Some(sched) = &args.sched {
        described.set("sched", sched)?;
    }
    if let Some((key, words)) = described.several.first() {
        let words = words.join(",");
        let allowed = "one value; `nearslot compare` takes several";
        return Err(Failure::usage(ConfigError::value(key, &words, allowed)));
    }
    let grid = Grid::default();
    simulate(&described, &grid, (&args.scenario, &args.output), control)
}

/// `nearslot compare`.
pub(crate) fn compare(args: &CompareArgs, control: &Arc<Control>) -> Result<(), Failure> {
    let mut described = describe(&args.scenario, true)?;
    vary(
        &mut described,
        &args.vary,
        (&args.scenario, args.sched.as_deref()),
    )?;
    let grid = Grid {
        baseline: args.baseline.clone(),
        jobs: args.jobs,
    };
    simulate(&described, &grid, (&args.scenario, &args.output), control)
}

/// What is varied: as the words say, and schedulers, which are compared by themselves if nothing is
/// said.
pub(super) fn vary(
    described: &mut Described,
    words: &[String],
    (args, sched): (&ScenarioArgs, Option<&str>),
) -> Result<(), Failure> {
    let vary: Result<Vec<Vary>, _> = words.iter().map(|word| word.parse()).collect();
    let mut vary = vary.map_err(Failure::usage)?;
    refuse_size(args.cache_size.as_deref(), &vary)?;
    for (key, values) in described.several.drain(..).rev() {
        let twice = vary.iter().find(|vary| vary.key == key);
        if let Some(twice) = twice {
            let other = twice.values.join(",");
            let allowed =
                format!("nothing beside --vary {key}={other}, which says the same: one of them");
            let error = ConfigError::value(&format!("--{key}"), &values.join(","), &allowed);
            return Err(Failure::usage(error));
        }
        vary.insert(0, Vary { key, values });
    }
    // An option of its own that varies: the message names both as they were typed.
    if let (Some(words), Some(twice)) = (sched, vary.iter().find(|vary| vary.key == "sched")) {
        let other = twice.values.join(",");
        let allowed =
            format!("nothing beside --vary sched={other}, which says the same: one of them");
        let error = ConfigError::value("--sched", words, &allowed);
        return Err(Failure::usage(error));
    }
    let bare = vary.is_empty() && described.file.is_none();
    if let Some(words) = sched.or(bare.then_some(SCHEDULERS_DEFAULT)) {
        let allowed = "names of schedulers with a comma between two, and none of them empty";
        let wrong = |_| Failure::usage(ConfigError::value("--sched", words, allowed));
        vary.insert(0, format!("sched={words}").parse().map_err(wrong)?);
    }
    described.given.vary = vary;
    Ok(())
}

/// Refuses a size apart from caches that are varied, each of which would be another one without it.
fn refuse_size(size: Option<&str>, vary: &[Vary]) -> Result<(), Failure> {
    let caches = vary.iter().find(|vary| vary.key == <dyn Cache>::CARD.key);
    let Some((size, caches)) = size.zip(caches) else {
        return Ok(());
    };
    let allowed = format!(
        "left out beside --vary {}={}: each of these says its own size, as in cache=lru:size=1GiB; or with --cache in place of --vary",
        caches.key,
        caches.values.join(",")
    );
    Err(Failure::usage(ConfigError::value(
        "--cache-size",
        size,
        &allowed,
    )))
}

/// What makes many runs of one scenario.
#[derive(Default)]
struct Grid {
    baseline: Option<String>,
    jobs: Option<usize>,
}

fn simulate(
    described: &Described,
    grid: &Grid,
    (scenario, output): (&ScenarioArgs, &OutputArgs),
    control: &Arc<Control>,
) -> Result<(), Failure> {
    let format = Format::told(output.format.as_deref(), output.output.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let points = described.given.points(&described.scenario);
    let points = points.map_err(Failure::usage)?;
    grid::baseline(&points, grid.baseline.as_deref()).map_err(Failure::usage)?;
    let effects = grid::check_effects(&described.scenario, &points);
    effects.map_err(|error| described.blame(&error))?;
    grid::check_overload(scenario.overload.as_deref(), &points).map_err(Failure::usage)?;
    // A wrong name is found before a long trace is read.
    default_drive::check(&points).map_err(|error| described.blame(&error))?;
    let targets = Targets::of(described, &points, output)?;
    let trace = load(described, &scenario.read)?;
    let Targets {
        summary,
        html,
        requests,
        commands,
        schedule,
    } = targets;
    // Opened before the first run, so that a folder that cannot be written is found before hours of
    // work.
    let files = (open(summary)?, open(html)?);
    let wanted = Wanted {
        series: files.1.is_some(),
        baseline: grid.baseline.clone(),
        jobs: grid.jobs,
        overload: overload(scenario)?,
        fit_alike: true,
        tell: Some(progress::note),
        requests,
        commands,
        schedule,
    };
    let results = {
        let each = trace.as_ref().map_or(0, |trace| trace.summary().requests);
        let _bar = Progress::watch(control, each * points.len() as u64);
        run::compare(&points, trace.as_ref(), &wanted, control)
    };
    let results = results.map_err(|error| blame_run(described, error))?;
    let inspection = match &trace {
        Some(trace) if wanted.series => {
            Some(run::inspect(&points, trace).map_err(|error| blame_run(described, error))?)
        }
        _ => None,
    };
    write(&results, inspection.as_ref(), format, files)?;
    interrupted(control, &points, &results)
}

fn overload(args: &ScenarioArgs) -> Result<Overload, Failure> {
    let word = args.overload.as_deref();
    let parsed = word.map_or(Ok(Overload::default()), str::parse);
    parsed.map_err(Failure::usage)
}

pub(super) fn load(described: &Described, read: &ReadArgs) -> Result<Option<LoadedTrace>, Failure> {
    let Load::Trace(load) = &described.scenario.load else {
        return Ok(None);
    };
    let how = load.opened(open_options(read, described.scenario.seed));
    let how = how.map_err(|error| described.blame(&error))?;
    let trace = LoadedTrace::read(&load.files, &how).map_err(|error| match error {
        // The format that a scenario file names.
        TraceError::Wrong { what, .. }
            if read.trace_format.is_none() && load.format.is_some() && read.columns.is_none() =>
        {
            Failure::Input(format!("trace.format: {what}"))
        }
        TraceError::Twice { .. } => match &described.file {
            Some(path) => Failure::Input(format!("{}: {error}", path.display())),
            None => Failure::from(error),
        },
        error => Failure::from(error),
    })?;
    Ok(Some(trace))
}

pub(super) fn blame_run(described: &Described, error: RunError) -> Failure {
    match error {
        RunError::Config(error) => described.blame(&error),
        RunError::Conservation { .. } => Failure::Check(error.to_string()),
        RunError::Stopped(_) => Failure::Interrupted(error.to_string()),
        RunError::Unfit(_)
        | RunError::NothingMeasured { .. }
        | RunError::Trace(_)
        | RunError::Workload(_)
        | RunError::Overload(_)
        | RunError::Objective(_)
        | RunError::Output(_) => Failure::Input(error.to_string()),
    }
}

/// How an output is named.
type Add = fn(&mut Outputs, &str, &Path) -> Result<Target, ReportError>;

/// Where everything goes that is written, none of it over something else.
struct Targets {
    summary: Option<Target>,
    html: Option<Target>,
    requests: Option<Target>,
    commands: Option<Target>,
    schedule: Option<Target>,
}

impl Targets {
    fn of(
        described: &Described,
        points: &[Point],
        output: &OutputArgs,
    ) -> Result<Targets, Failure> {
        let mut outputs = Outputs::new(output.force.force);
        if let Some(file) = &described.file {
            outputs.reads(file);
        }
        for point in points {
            for file in point.scenario.files()? {
                outputs.reads(&file);
            }
        }
        if output.output.is_none() {
            outputs.prints()?;
        }
        let mut add = |add: Add, option: &str, path: &Option<PathBuf>| {
            let path = path.as_ref();
            path.map(|path| add(&mut outputs, option, path)).transpose()
        };
        let targets = Targets {
            summary: add(Outputs::add, "--output", &output.output)?,
            html: add(Outputs::add, "--html", &output.html)?,
            requests: add(Outputs::add_rows, "--requests", &output.requests)?,
            commands: add(Outputs::add_rows, "--commands", &output.commands)?,
            schedule: add(Outputs::add, "--blktrace", &output.blktrace)?,
        };
        outputs.complete()?;
        Ok(targets)
    }
}

pub(super) fn open(target: Option<Target>) -> Result<Option<OutputFile>, Failure> {
    let target = target.as_ref();
    Ok(target.map(OutputFile::create).transpose()?)
}

fn write(
    results: &Results,
    inspection: Option<&Inspection>,
    format: Format,
    (summary, html): (Option<OutputFile>, Option<OutputFile>),
) -> Result<(), Failure> {
    match summary {
        Some(file) => report::save(results, format, file)?,
        None => {
            let mut bytes = Vec::new();
            report::write(results, format, &mut bytes)?;
            output::print_bytes(&bytes)?;
        }
    }
    if let Some(file) = html {
        output::save_page(file, &report::html(results, inspection)?)?;
    }
    Ok(())
}

fn interrupted(control: &Control, points: &[Point], results: &Results) -> Result<(), Failure> {
    let (done, planned) = (results.runs.len(), points.len());
    if control.stop.load(Ordering::Relaxed) && done < planned {
        let were = if done == 1 { "was" } else { "were" };
        let text = format!("interrupted: {done} of {planned} runs {were} finished and written");
        return Err(Failure::Interrupted(text));
    }
    if let Some(run) = results.runs.iter().find(|run| run.pending > 0) {
        let text = format!(
            "interrupted: what was measured of {} requests is written",
            run.requests
        );
        return Err(Failure::Interrupted(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    /// A run that loses a request is a fault of ours, and no other failure looks like it.
    #[test]
    fn a_run_ends_with_the_exit_code_of_what_went_wrong() {
        let words = ["nearslot", "run", "--workload", "iometer"];
        let cli = Cli::try_parse_from(words).expect("it can be said");
        let Command::Run(args) = cli.command else {
            panic!("it runs something");
        };
        let described = describe(&args.scenario, false).expect("it is a scenario");
        let code = |error| blame_run(&described, error).code();
        let lost = RunError::Conservation {
            label: "run".to_owned(),
            arrived: 3,
            replied: 1,
            pending: 1,
        };
        assert_eq!(code(lost), 1);
        let wrong = ConfigError::value("depth", "0", "1 and more");
        assert_eq!(code(RunError::Config(wrong)), 2);
        let why = || "why".to_owned();
        for error in [RunError::Overload, RunError::Objective, RunError::Output] {
            assert_eq!(code(error(why())), 3);
        }
        assert_eq!(code(RunError::Stopped(why())), 4);
    }
}
