//! `nearslot convert`: a trace rewritten in a format that can be written.

use nearslot_lab::report::{ReportError, SharedOutput};
use nearslot_lab::trace::{self, write};

use super::scenario::open_options;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::output;

/// `nearslot convert FILE... OUTPUT --to FORMAT`.
pub(crate) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let format = write::writer(&args.to).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut reader = trace::open(&args.files, &open_options(&args.read, 1))?;
    let unwritten = |error: ReportError| Failure::Input(error.to_string());
    let file = SharedOutput::create(&args.output).map_err(unwritten)?;
    let name = args.output.display().to_string();
    let mut writer = (format.make)(Box::new(file.clone()), &name)?;
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        writer.write(&batch, reader.header())?;
    }
    writer.finish(reader.header())?;
    file.finish().map_err(unwritten)?;
    let written = reader.header().requests;
    output::note(&format!("{written} requests: {}", args.output.display()));
    Ok(())
}
