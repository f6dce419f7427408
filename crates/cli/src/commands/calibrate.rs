//! `nearslot calibrate`: a drive's file from measured latencies.

use std::sync::atomic::Ordering;

use nearslot_core::registry::ConfigError;
use nearslot_lab::calibrate::probe::{Bounds, Opened, probe};
use nearslot_lab::calibrate::{self, CalibrateError, Fit, How, Samples, Target, Verdict};
use nearslot_lab::report::{OutputFile, Outputs, Target as Destination};
use nearslot_lab::scenario::drive_text;
use nearslot_lab::sim::Control;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{CalibrateArgs, TargetWord, TextFormat};
use crate::failure::Failure;
use crate::output;

/// `nearslot calibrate FILE...`.
pub(crate) fn calibrate(args: &CalibrateArgs, control: &Control) -> Result<(), Failure> {
    let target = match args.target {
        TargetWord::Hdd => Target::Hdd,
        TargetWord::Empirical => Target::Empirical,
        TargetWord::Capped => Target::Capped,
    };
    check_options(args, target)?;
    let base = match &args.base {
        None => None,
        Some(name) => Some((
            name.clone(),
            drive_text(name).map_err(|error| Failure::drive(&error))?,
        )),
    };
    // Opened before a probe of hours begins, so that a folder that cannot be written is found
    // first.
    let target_file = destination(args)?;
    let file = target_file.as_ref().map(OutputFile::create).transpose()?;
    let timed = timed(args, control)?;
    let how = How {
        target,
        base,
        capacity: timed.capacity,
        input: timed.input,
    };
    let found = calibrate::calibrate(&timed.samples, &how);
    let found = found.map_err(|error| failed(error, timed.cut_short))?;
    if let Some(file) = file {
        let note = format!("written: {}", file.path().display());
        file.save(|out| Ok(out.write_all(found.drive.as_bytes())?))?;
        output::note(&note);
    }
    match args.format {
        TextFormat::Json => output::print_json(&json!(found))?,
        TextFormat::Text => output::print(&found.to_string())?,
    }
    let judged = judged(&found.fit);
    if !timed.cut_short {
        return judged;
    }
    let and = judged.map_or_else(
        |failure| format!("; {}", failure.message()),
        |()| String::new(),
    );
    Err(Failure::Interrupted(format!(
        "interrupted: the drive is made of the {} reads that had been timed{and}",
        timed.samples.all.len()
    )))
}

/// Whether all options that are given have something to say.
fn check_options(args: &CalibrateArgs, target: Target) -> Result<(), Failure> {
    if let (Some(base), true) = (&args.base, target != Target::Hdd) {
        let allowed = "only with --as hdd: tables and limits take nothing from another drive";
        return Err(Failure::usage(ConfigError::value("--base", base, allowed)));
    }
    // The command line's own check does not see it, as files and a probe exclude each other.
    let bounds = [
        ("--probe-reads", args.probe_reads),
        ("--probe-seconds", args.probe_seconds),
    ];
    for (option, bound) in bounds {
        if let (Some(bound), None) = (bound, &args.probe) {
            let allowed = "only with --probe: a trace is read as it is";
            return Err(Failure::usage(ConfigError::value(
                option,
                &bound.to_string(),
                allowed,
            )));
        }
    }
    Ok(())
}

/// Requests with latencies, and what they come from.
struct Timed {
    samples: Samples,
    /// Blocks of the drive, if they are known.
    capacity: Option<u64>,
    input: String,
    /// A probe was told to stop.
    cut_short: bool,
}

/// A drive that is not to be trusted is a failure, when all has been said of it.
fn judged(fit: &Fit) -> Result<(), Failure> {
    match fit.verdict {
        Verdict::Good | Verdict::Fair => Ok(()),
        Verdict::Poor => {
            let text = "the drive found does not fit the measured times: do not trust it";
            Err(Failure::Check(text.to_owned()))
        }
        Verdict::Unjudged => {
            let why = fit.unjudged.as_deref().unwrap_or_default();
            let text =
                format!("whether the drive found fits the measured times cannot be judged: {why}");
            Err(Failure::Check(text))
        }
    }
}

/// Reads the trace, or probes until `control` says stop.
fn timed(args: &CalibrateArgs, control: &Control) -> Result<Timed, Failure> {
    let Some(path) = &args.probe else {
        let mut reader = nearslot_trace::open(&args.files, &read_options(&args.read, &args.span)?)?;
        let samples = calibrate::read(&mut reader).map_err(|error| failed(error, false))?;
        let names = args.files.iter().map(|file| file.display().to_string());
        return Ok(Timed {
            samples,
            capacity: args.capacity,
            input: names.collect::<Vec<_>>().join(", "),
            cut_short: false,
        });
    };
    let defaults = Bounds::default();
    let bounds = Bounds {
        reads: args.probe_reads.unwrap_or(defaults.reads),
        seconds: args.probe_seconds.unwrap_or(defaults.seconds),
        seed: defaults.seed,
    };
    let (mut opened, blocks) = Opened::new(path).map_err(|error| failed(error, false))?;
    output::note(&format!(
        "timing up to {} reads of {} for up to {} s; nothing is written to it",
        bounds.reads,
        path.display(),
        bounds.seconds
    ));
    let samples = probe(&mut opened, blocks, bounds, control);
    let cut_short = control.stop.load(Ordering::Relaxed);
    let samples = samples.map_err(|error| failed(error, cut_short))?;
    let mut input = format!("a probe of {}", path.display());
    if cut_short {
        let count = samples.all.len();
        input += &format!(", interrupted after {count} of {} reads", bounds.reads);
    }
    Ok(Timed {
        samples,
        capacity: Some(blocks),
        input,
        cut_short,
    })
}

/// Where the drive's file goes, if it goes anywhere; none of what is read.
fn destination(args: &CalibrateArgs) -> Result<Option<Destination>, Failure> {
    let mut outputs = Outputs::new(args.force.force);
    outputs.prints()?;
    match &args.probe {
        Some(path) => outputs.reads(path),
        None => {
            for file in nearslot_trace::files(&args.files, args.read.trace_format.as_deref())? {
                outputs.reads(&file);
            }
        }
    }
    if let Some(base) = args.base.as_ref().filter(|base| base.ends_with(".toml")) {
        outputs.reads(base.as_ref());
    }
    let target = args.output.as_deref();
    let target = target.map(|path| outputs.add("--output", path));
    let target = target.transpose()?;
    outputs.complete()?;
    Ok(target)
}

/// There is no drive; `cut_short` if that is for want of what an interruption left out.
fn failed(error: CalibrateError, cut_short: bool) -> Failure {
    match error {
        error if cut_short => {
            Failure::Interrupted(format!("interrupted, and nothing is written: {error}"))
        }
        CalibrateError::Base(error) => Failure::drive(&error),
        error @ CalibrateError::Capacity { .. } => Failure::Usage(error.to_string()),
        error => Failure::Input(error.to_string()),
    }
}
