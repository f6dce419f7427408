//! `nearslot capacity`: how much a drive can take before an objective fails.

use std::path::Path;
use std::sync::Arc;

use nearslot_core::registry::ConfigError;
use nearslot_lab::capacity::{self, Capacity, Find, How, RESOLUTION_DEFAULT};
use nearslot_lab::default_drive;
use nearslot_lab::grid::{self, Point};
use nearslot_lab::objective::objectives;
use nearslot_lab::report::{self, Format, OutputFile, Outputs, Target};
use nearslot_lab::sim::Control;
use serde_json::json;

use super::compare::{blame_run, load, open, vary};
use super::scenario::{Described, describe};
use crate::args::{CapacityArgs, TextFormat};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// `nearslot capacity`.
pub(crate) fn capacity(args: &CapacityArgs, control: &Arc<Control>) -> Result<(), Failure> {
    let mut described = describe(&args.scenario, true)?;
    if let Some(word) = &args.scenario.overload {
        let allowed = "left out: a load that is too much is what is looked for, and ends early";
        return Err(Failure::usage(ConfigError::value(
            "--overload",
            word,
            allowed,
        )));
    }
    vary(
        &mut described,
        &args.vary,
        (&args.scenario, args.sched.as_deref()),
    )?;
    let (how, points) = asked(args, &described)?;
    let (summary, html) = targets(args, &described, &points)?;
    let format = format(args)?;
    let trace = load(&described, &args.scenario.read)?;
    let (summary, html) = (open(summary)?, open(html)?);
    let found = {
        let _bar = Progress::count(control);
        capacity::capacity(&points, trace.as_ref(), &how, control)
    };
    let found = found.map_err(|error| blame_run(&described, error))?;
    write(&found, format, (summary, html))?;
    if found.complete {
        return Ok(());
    }
    let runs = if found.runs == 1 { "run" } else { "runs" };
    let text = format!("interrupted: what {} {runs} found is written", found.runs);
    Err(Failure::Interrupted(text))
}

/// How what was found is printed.
fn format(args: &CapacityArgs) -> Result<TextFormat, Failure> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let told = Format::told(None, args.output.as_deref());
    match told.map_err(|error| Failure::Usage(error.to_string()))? {
        Format::Table => Ok(TextFormat::Text),
        Format::Json => Ok(TextFormat::Json),
        Format::Csv | Format::Parquet => {
            let path = args.output.as_deref().unwrap_or(Path::new(""));
            let path = path.display().to_string();
            let allowed = "a name that ends in .txt or .json, or any with --format text or json";
            Err(Failure::usage(ConfigError::value(
                "--output", &path, allowed,
            )))
        }
    }
}

/// What is to be found, and for which choices.
fn asked(args: &CapacityArgs, described: &Described) -> Result<(How, Vec<Point>), Failure> {
    let scenario = &described.scenario;
    let find = match &args.find {
        Some(word) => word.parse(),
        None => Find::of(scenario),
    };
    if let (Ok(Find::Drives), Some(reaches)) = (&find, &args.scenario.offer) {
        let allowed = "left out beside --find drives: it takes over the drives of --place, and how many these are is looked for; name the host \
                       that offers instead, such as --place offering:within=group:copies=2";
        let error = ConfigError::value("--offer", reaches, allowed);
        return Err(Failure::usage(error));
    }
    let how = How {
        objectives: objectives(&args.slo).map_err(Failure::usage)?,
        find: find.map_err(Failure::usage)?,
        resolution_percent: resolution(args)?,
        jobs: args.jobs,
    };
    let points = described.given.points(scenario).map_err(Failure::usage)?;
    let effects = grid::check_effects(scenario, &points);
    let checked = effects.and_then(|()| capacity::check(&points, &how));
    checked.map_err(|error| described.blame(&error))?;
    default_drive::check(&points).map_err(|error| described.blame(&error))?;
    Ok((how, points))
}

fn resolution(args: &CapacityArgs) -> Result<f64, Failure> {
    let Some(word) = &args.resolution else {
        return Ok(RESOLUTION_DEFAULT);
    };
    let number = word.strip_suffix('%').unwrap_or(word).trim().parse();
    number.map_err(|_| {
        let allowed = "a number of percent, such as 2%";
        Failure::usage(ConfigError::value("resolution", word, allowed))
    })
}

fn targets(
    args: &CapacityArgs,
    described: &Described,
    points: &[Point],
) -> Result<(Option<Target>, Option<Target>), Failure> {
    let mut outputs = Outputs::new(args.force.force);
    if let Some(file) = &described.file {
        outputs.reads(file);
    }
    for point in points {
        for file in point.scenario.files()? {
            outputs.reads(&file);
        }
    }
    if args.output.is_none() {
        outputs.prints()?;
    }
    let output = args.output.as_ref();
    let output = output.map(|path| outputs.add("--output", path));
    let html = args.html.as_ref();
    let html = html.map(|path| outputs.add("--html", path));
    let targets = (output.transpose()?, html.transpose()?);
    outputs.complete()?;
    Ok(targets)
}

fn write(
    found: &Capacity,
    format: TextFormat,
    (summary, html): (Option<OutputFile>, Option<OutputFile>),
) -> Result<(), Failure> {
    let text = match format {
        TextFormat::Json => format!("{:#}\n", json!(found)),
        TextFormat::Text => found.to_string(),
    };
    match summary {
        Some(file) => file.save(|out| Ok(out.write_all(text.as_bytes())?))?,
        None => output::print(&text)?,
    }
    if let Some(file) = html {
        output::save_page(file, &report::figures_html(&capacity::figures(found))?)?;
    }
    Ok(())
}
