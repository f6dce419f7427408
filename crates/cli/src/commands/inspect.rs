//! `nearslot inspect`: what is in a trace, and what is odd about it.

use nearslot_core::drive;
use nearslot_lab::inspect::{self, Against};
use nearslot_lab::report::Outputs;
use nearslot_lab::scenario::drive_text;
use nearslot_lab::trace;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{InspectArgs, TextFormat};
use crate::failure::Failure;
use crate::output;

/// `nearslot inspect FILE...`.
pub(crate) fn inspect(args: &InspectArgs) -> Result<(), Failure> {
    let drive = match &args.drive {
        None => None,
        Some(name) => {
            let text = drive_text(name).map_err(Failure::usage)?;
            let (blueprint, _) = drive::read(name, &text, &[]).map_err(Failure::usage)?;
            Some((name.clone(), blueprint.capacity()))
        }
    };
    let mut outputs = Outputs::new(false);
    for file in trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    outputs.prints()?;
    let mut reader = trace::open(&args.files, &read_options(&args.read, &args.span)?)?;
    let inspection = inspect::inspect(&mut reader, Against { drive })?;
    match args.format {
        TextFormat::Json => output::print_json(&json!(inspection)),
        TextFormat::Text => output::print(&inspection.to_string()),
    }
}
