//! `nearslot convert`: a trace rewritten in a format that can be written.

use std::error::Error;

use nearslot_core::registry::ConfigError;
use nearslot_lab::inspect;
use nearslot_lab::report::{Outputs, SharedOutput};
use nearslot_trace::{Header, Record, TimeKind, TraceReader, TraceTime};
use nearslot_trace::{WriteFormat, write};

use super::scenario::read_options;
use crate::args::{ConvertArgs, ConvertSpanArgs, SpanArgs};
use crate::failure::Failure;
use crate::output;

/// `nearslot convert FILE... -o OUTPUT --to FORMAT`.
pub(crate) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let format = write::writer(&args.to).map_err(|error| unknown_format(&args.to, error))?;
    let mut outputs = Outputs::new(args.force.force);
    for file in nearslot_trace::files(&args.files, args.read.trace_format.as_deref())? {
        outputs.reads(&file);
    }
    let target = outputs.add("--output", &args.output)?;
    outputs.complete()?;
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
    let mut reader = nearslot_trace::open(&args.files, &read_options(&args.read, &span)?)?;
    let file = SharedOutput::create(&target)?;
    let name = args.output.display().to_string();
    let lost = match rewrite(&mut reader, format, file, &name) {
        Ok(lost) => lost,
        Err(Unfinished::NoReader) => return Ok(()),
        Err(Unfinished::Failed(failure)) => return Err(failure),
    };
    let written = reader.header().requests;
    output::note(&format!("{written} requests: {name}"));
    for left_out in inspect::left_out(reader.header()) {
        output::note(&left_out.to_string());
    }
    if reader.header().time_kind == TimeKind::None && !format.may_be_untimed {
        let text = format!("the trace has no times: in {name} all requests come at once");
        output::note(&text);
    }
    tell_losses(format, &lost, reader.header());
    Ok(())
}

/// Writes all records of a trace, and counts what of them the format has no place for, loss by
/// loss.
fn rewrite(
    reader: &mut TraceReader,
    format: &WriteFormat,
    file: SharedOutput,
    name: &str,
) -> Result<Vec<u64>, Unfinished> {
    let mut writer = (format.make)(Box::new(file.clone()), name)?;
    let (mut batch, mut lost) = (Vec::new(), vec![0; format.losses.len()]);
    while reader.next_batch(&mut batch)? {
        reader.header().needs_places("a conversion")?;
        writer.write(&batch, reader.header())?;
        for (lost, loss) in lost.iter_mut().zip(format.losses) {
            let of = |record: &&Record| (loss.of)(record, reader.header());
            *lost += batch.iter().filter(of).count() as u64;
        }
    }
    reader.header().needs_most_records()?;
    writer.finish(reader.header())?;
    file.finish()?;
    Ok(lost)
}

/// Why a new file does not have all of a trace.
enum Unfinished {
    /// Whoever was to read it went away, which is no failure.
    NoReader,
    Failed(Failure),
}

/// The one place where it is asked whether the reader of the new file went away. Reading a trace
/// fails for other reasons.
impl<E: Error + Into<Failure> + 'static> From<E> for Unfinished {
    fn from(error: E) -> Unfinished {
        match output::has_no_reader(&error) {
            true => Unfinished::NoReader,
            false => Unfinished::Failed(error.into()),
        }
    }
}

/// There is no such format. Other commands take the end of a span as `--to`, so a time here is
/// meant as that.
fn unknown_format(word: &str, error: ConfigError) -> Failure {
    match word.parse::<TraceTime>() {
        Ok(_) => Failure::Usage(format!(
            "{error}; if {word} is where to stop reading, that is --until {word}"
        )),
        Err(_) if word == "parquet" => Failure::Usage(format!(
            "{error}; this build of nearslot leaves Parquet out: `make build` makes one that has it, target/release/nearslot"
        )),
        Err(_) => Failure::usage(error),
    }
}

/// Devices that are listed by name.
const LISTED_MAX: usize = 6;

/// Says what the new file does not have of the trace.
fn tell_losses(format: &WriteFormat, lost: &[u64], header: &Header) {
    let losses = lost
        .iter()
        .zip(format.losses)
        .filter(|(lost, _)| **lost > 0);
    let losses: Vec<String> = losses.map(|(lost, loss)| (loss.words)(*lost)).collect();
    if !losses.is_empty() {
        let losses = losses.join(", nor for ");
        output::note(&format!(
            "{} has no place for {losses}; parquet keeps all",
            format.name
        ));
    }
    let names = (format.device_names)(&header.devices);
    let devices = header.devices.iter().zip(names);
    let renamed = devices.filter(|(device, name)| device.requests > 0 && device.name != *name);
    let mut renamed: Vec<String> = renamed
        .map(|(device, name)| format!("{} is now {name}", device.name))
        .collect();
    if renamed.len() > LISTED_MAX {
        let more = renamed.split_off(LISTED_MAX).len();
        renamed.push(format!("and {more} more"));
    }
    if !renamed.is_empty() {
        let renamed = renamed.join(", ");
        output::note(&format!(
            "{} calls devices by numbers: {renamed}",
            format.name
        ));
    }
}
