//! `nearslot calibrate`: a drive's file from measured latencies.

use nearslot_core::registry::ConfigError;
use nearslot_lab::calibrate::probe::{Bounds, Opened, probe};
use nearslot_lab::calibrate::{self, CalibrateError, Fit, How, Samples, Target, Verdict};
use nearslot_lab::report::{OutputFile, Outputs, Target as Destination};
use nearslot_lab::scenario::drive_text;
use nearslot_lab::trace;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{CalibrateArgs, TargetWord, TextFormat};
use crate::failure::Failure;
use crate::output;

/// `nearslot calibrate FILE...`.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    let target = match args.target {
        TargetWord::Hdd => Target::Hdd,
        TargetWord::Empirical => Target::Empirical,
        TargetWord::Capped => Target::Capped,
    };
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
    let base = match &args.base {
        None => None,
        Some(name) => Some((name.clone(), drive_text(name).map_err(Failure::usage)?)),
    };
    let output = destination(args)?;
    let (samples, capacity, input) = samples(args)?;
    let how = How {
        target,
        base,
        capacity,
        input,
    };
    let found = calibrate::calibrate(&samples, &how).map_err(failed)?;
    if let Some(output) = output {
        let file = OutputFile::create(&output)?;
        file.save(|out| Ok(out.write_all(found.drive.as_bytes())?))?;
        output::note(&format!("written: {}", output.path().display()));
    }
    match args.format {
        TextFormat::Json => output::print_json(&json!(found))?,
        TextFormat::Text => output::print(&found.to_string())?,
    }
    judged(&found.fit)
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

/// Timed requests, the capacity if it is known, and what they come from.
fn samples(args: &CalibrateArgs) -> Result<(Samples, Option<u64>, String), Failure> {
    let Some(path) = &args.probe else {
        let mut reader = trace::open(&args.files, &read_options(&args.read, &args.span)?)?;
        let samples = calibrate::read(&mut reader).map_err(failed)?;
        let names = args.files.iter().map(|file| file.display().to_string());
        return Ok((samples, args.capacity, names.collect::<Vec<_>>().join(", ")));
    };
    let defaults = Bounds::default();
    let bounds = Bounds {
        reads: args.probe_reads.unwrap_or(defaults.reads),
        seconds: args.probe_seconds.unwrap_or(defaults.seconds),
        seed: defaults.seed,
    };
    let (mut opened, blocks) = Opened::new(path).map_err(failed)?;
    output::note(&format!(
        "timing up to {} reads of {} for up to {} s; nothing is written to it",
        bounds.reads,
        path.display(),
        bounds.seconds
    ));
    let samples = probe(&mut opened, blocks, bounds).map_err(failed)?;
    Ok((
        samples,
        Some(blocks),
        format!("a probe of {}", path.display()),
    ))
}

/// Where the drive's file goes, if it goes anywhere; none of what is read.
fn destination(args: &CalibrateArgs) -> Result<Option<Destination>, Failure> {
    let mut outputs = Outputs::new(args.force.force);
    outputs.prints()?;
    match &args.probe {
        Some(path) => outputs.reads(path),
        None => {
            for file in trace::files(&args.files, args.read.trace_format.as_deref())? {
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

fn failed(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Base(error) => Failure::usage(error),
        error @ CalibrateError::Capacity { .. } => Failure::Usage(error.to_string()),
        error => Failure::Input(error.to_string()),
    }
}
