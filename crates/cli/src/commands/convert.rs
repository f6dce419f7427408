//! `nearslot convert`: a trace rewritten in a format that can be written.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nearslot_lab::report::{Outputs, SharedOutput};
use nearslot_lab::sim::Control;
use nearslot_lab::trace::{self, write};

use super::scenario::read_options;
use crate::args::{ConvertArgs, ConvertSpanArgs, SpanArgs};
use crate::failure::Failure;
use crate::{interrupt, output};

/// `nearslot convert FILE... -o OUTPUT --to FORMAT`.
pub(crate) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let format = write::writer(&args.to).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut outputs = Outputs::new(args.force.force);
    for file in trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    let target = outputs.add("--output", &args.output)?;
    let ConvertSpanArgs {
        from,
        until,
        busiest,
    } = args.span.clone();
    let span = SpanArgs {
        from,
        to: until,
        busiest,
    };
    let control = Arc::new(Control::default());
    interrupt::stop(&control)?;
    let mut reader = trace::open(&args.files, &read_options(&args.read, &span)?)?;
    let file = SharedOutput::create(&target)?;
    let name = args.output.display().to_string();
    let mut writer = (format.make)(Box::new(file.clone()), &name)?;
    let (mut batch, mut lost) = (Vec::new(), 0);
    while reader.next_batch(&mut batch)? {
        if control.stop.load(Ordering::Relaxed) {
            let text = format!("interrupted: {name} was not written");
            return Err(Failure::Interrupted(text));
        }
        reader.header().needs_places("a conversion")?;
        writer.write(&batch, reader.header())?;
        lost += batch
            .iter()
            .filter(|record| (format.loses_time)(record))
            .count();
    }
    writer.finish(reader.header())?;
    file.finish()?;
    let written = reader.header().requests;
    output::note(&format!("{written} requests: {name}"));
    if lost > 0 {
        output::note(&format!(
            "{} has no place for how long {lost} of them took; parquet keeps all",
            format.name
        ));
    }
    Ok(())
}
