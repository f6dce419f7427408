//! `nearslot inspect`: what is in a trace, and what is odd about it; with `--html`, in pictures.

use std::path::Path;

use nearslot_core::drive;
use nearslot_lab::inspect::{self, Against, Inspector};
use nearslot_lab::report::{self, OutputFile, Outputs};
use nearslot_lab::scenario::drive_text;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{InspectArgs, TextFormat};
use crate::failure::Failure;
use crate::output;

/// `nearslot inspect FILE...`. Pictures cost time, so the text does without; JSON is always whole.
pub(crate) fn inspect(args: &InspectArgs) -> Result<(), Failure> {
    let drive = match &args.drive {
        None => None,
        Some(name) => {
            let refused = |error| Failure::drive(&error);
            let text = drive_text(name).map_err(refused)?;
            let (blueprint, _) = drive::read(name, &text, &[]).map_err(refused)?;
            Some((name.clone(), blueprint.capacity()))
        }
    };
    let mut outputs = Outputs::new(args.force.force);
    for file in nearslot_trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    if let Some(name) = &args.drive {
        outputs.reads(Path::new(name));
    }
    outputs.prints()?;
    let target = args.html.as_ref();
    let target = target.map(|path| outputs.add("--html", path)).transpose()?;
    outputs.complete()?;
    let mut reader = nearslot_trace::open(&args.files, &read_options(&args.read, &args.span)?)?;
    // Opened before a long trace is read, so that a folder that cannot be written is found first.
    let file = target.as_ref().map(OutputFile::create).transpose()?;
    let inspector = if file.is_some() || args.format == TextFormat::Json {
        Inspector::with_pictures(Against { drive })
    } else {
        Inspector::new(Against { drive })
    };
    let inspection = inspect::inspect(&mut reader, inspector)?;
    match args.format {
        TextFormat::Json => output::print_json(&json!(inspection))?,
        TextFormat::Text => output::print(&inspection.to_string())?,
    }
    if let Some(file) = file {
        output::save_page(file, &report::inspection_html(&inspection)?)?;
    }
    Ok(())
}
