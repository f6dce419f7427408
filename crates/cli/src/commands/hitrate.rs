//! `nearslot hitrate`: what caches would miss.

use std::sync::Arc;

use nearslot_lab::hitrate::{self, Told, Which};
use nearslot_lab::report::{self, OutputFile, Outputs};
use nearslot_lab::run::RunError;
use nearslot_lab::sim::Control;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{CountWord, HitrateArgs, TextFormat};
use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;

/// `nearslot hitrate FILE...`.
pub(crate) fn hitrate(args: &HitrateArgs) -> Result<(), Failure> {
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
    };
    let question = told.question().map_err(Failure::usage)?;
    let how = read_options(&args.read, &args.span)?;
    let mut outputs = Outputs::new(args.force.force);
    for file in nearslot_trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    outputs.prints()?;
    let target = args.html.as_ref();
    let target = target.map(|path| outputs.add("--html", path)).transpose()?;
    outputs.complete()?;
    // Opened before a long trace is read, so that a folder that cannot be written is found first.
    let file = target.as_ref().map(OutputFile::create).transpose()?;
    let control = Arc::new(Control::default());
    interrupt::stop(&control)?;
    let found = {
        let _bar = Progress::read_then_ask(&control);
        hitrate::hit_rates(&args.files, &how, &question, &control)
    };
    let found = found.map_err(|error| match error {
        RunError::Config(error) => Failure::usage(error),
        RunError::Stopped(_) => Failure::Interrupted(error.to_string()),
        error => Failure::Input(error.to_string()),
    })?;
    match args.format {
        TextFormat::Json => output::print_json(&json!(found))?,
        TextFormat::Text => output::print(&found.to_string())?,
    }
    if let Some(file) = file {
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
