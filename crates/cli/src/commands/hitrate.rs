//! `nearslot hitrate`: what caches would miss.

use std::path::PathBuf;
use std::sync::Arc;

use nearslot_lab::hitrate::{self, Told, Which};
use nearslot_lab::report::{self, Format, Outputs, Target};
use nearslot_lab::run::RunError;
use nearslot_lab::sim::Control;

use super::compare::open;
use super::scenario::read_options;
use crate::args::{CountWord, HitrateArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// `nearslot hitrate FILE...`.
pub(crate) fn hitrate(args: &HitrateArgs, control: &Arc<Control>) -> Result<(), Failure> {
    let told = Told {
        caches: &args.cache,
        sizes: args.size.as_deref(),
        curve: args.html.is_some(),
        unit: &args.unit,
        which: match args.count {
            CountWord::All => Which::All,
            CountWord::Reads => Which::Reads,
        },
        sample: args.sample.as_deref(),
        seed: args.seed,
        per_request: args.per_request,
    };
    let question = told.question().map_err(Failure::usage)?;
    let format = Format::told(args.format.as_deref(), args.output.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let how = read_options(&args.read, &args.span)?;
    let (table, page) = targets(args)?;
    // Opened before a long trace is read, so that a folder that cannot be written is found first.
    let (table, page) = (open(table)?, open(page)?);
    let found = {
        let _bar = Progress::read_then_ask(control);
        hitrate::hit_rates(&args.files, &how, &question, control)
    };
    let found = found.map_err(|error| match error {
        RunError::Config(error) => Failure::usage(error),
        RunError::Stopped(_) => Failure::Interrupted(error.to_string()),
        error => Failure::Input(error.to_string()),
    })?;
    match table {
        Some(file) => file.save(|out| hitrate::write(&found, format, out))?,
        None => {
            let mut bytes = Vec::new();
            hitrate::write(&found, format, &mut bytes)?;
            output::print_bytes(&bytes)?;
        }
    }
    if let Some(file) = page {
        output::save_page(file, &report::figures_html(&hitrate::figures(&found))?)?;
    }
    if found.complete {
        return Ok(());
    }
    let text = match found.rows.len() {
        1 => "interrupted: the miss ratio that was found is written".to_owned(),
        rows => format!("interrupted: the {rows} miss ratios that were found are written"),
    };
    Err(Failure::Interrupted(text))
}

/// Where the table and the page go, if they go to files.
fn targets(args: &HitrateArgs) -> Result<(Option<Target>, Option<Target>), Failure> {
    let mut outputs = Outputs::new(args.force.force);
    for file in nearslot_trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    if args.output.is_none() {
        outputs.prints()?;
    }
    let mut add = |option: &str, path: &Option<PathBuf>| {
        let path = path.as_ref();
        path.map(|path| outputs.add(option, path)).transpose()
    };
    let targets = (add("--output", &args.output)?, add("--html", &args.html)?);
    outputs.complete()?;
    Ok(targets)
}
