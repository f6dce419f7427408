//! `nearslot hitrate`: what caches would miss.

use nearslot_core::config::PartConfig;
use nearslot_core::registry::ConfigError;
use nearslot_lab::hitrate::{self, Question, Sample, Size, Unit, Which};
use nearslot_lab::report::{self, OutputFile, Outputs};
use nearslot_lab::run::RunError;
use serde_json::json;

use super::scenario::read_options;
use crate::args::{CountWord, HitrateArgs, TextFormat};
use crate::failure::Failure;
use crate::output;

/// A page is so many bytes at least: traces count in blocks of these.
const PAGE_MIN: u64 = 512;
/// And at most: larger ones hold whatever the trace asks for.
const PAGE_MAX: u64 = 1 << 30;

/// Sizes when none is given.
const SIZES: &[&str] = &["0.1%", "1%", "10%"];
/// Sizes of a curve.
const CURVE: &[&str] = &[
    "0.1%", "0.2%", "0.5%", "1%", "2%", "3%", "5%", "10%", "20%", "30%", "50%", "70%",
];

/// `nearslot hitrate FILE...`.
pub(crate) fn hitrate(args: &HitrateArgs) -> Result<(), Failure> {
    let caches = args.cache.iter().map(|word| word.parse::<PartConfig>());
    let default = if args.html.is_some() { CURVE } else { SIZES };
    let own = args.size.as_deref();
    let sizes: Vec<&str> = own.map_or(default.to_vec(), |own| {
        own.iter().map(String::as_str).collect()
    });
    let sizes = sizes.iter().map(|word| word.parse::<Size>());
    let question = Question {
        caches: caches.collect::<Result<_, _>>().map_err(Failure::usage)?,
        sizes: sizes.collect::<Result<_, _>>().map_err(Failure::usage)?,
        leave_out: own.is_none(),
        unit: unit(&args.unit).map_err(Failure::usage)?,
        which: match args.count {
            CountWord::All => Which::All,
            CountWord::Reads => Which::Reads,
        },
        sample: sample(args).map_err(Failure::usage)?,
    };
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
    let found = hitrate::hit_rates(&args.files, &how, &question).map_err(|error| match error {
        RunError::Config(error) => Failure::usage(error),
        error => Failure::Input(error.to_string()),
    })?;
    match args.format {
        TextFormat::Json => output::print_json(&json!(found))?,
        TextFormat::Text => output::print(&found.to_string())?,
    }
    if let Some(file) = file {
        let note = format!("report: {}", file.path().display());
        let page = report::figures_html(&hitrate::figures(&found))?;
        file.save(|out| Ok(out.write_all(page.as_bytes())?))?;
        output::note(&note);
    }
    Ok(())
}

fn sample(args: &HitrateArgs) -> Result<Option<Sample>, ConfigError> {
    let Some(word) = &args.sample else {
        return Ok(None);
    };
    let percent = word
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    let allowed = "a share of the lines above 0 % and below 100 %, as in 1%";
    let percent = percent.ok_or_else(|| ConfigError::value("sample", word, allowed))?;
    Ok(Some(Sample {
        share: percent / 100.0,
        seed: args.seed,
    }))
}

fn unit(word: &str) -> Result<Unit, ConfigError> {
    if word == "request" {
        return Ok(Unit::Request);
    }
    let bytes = word.parse::<u64>().ok();
    let page =
        bytes.filter(|bytes| bytes.is_multiple_of(512) && (PAGE_MIN..=PAGE_MAX).contains(bytes));
    let allowed =
        format!("request, or bytes of a page, a multiple of 512 from {PAGE_MIN} to {PAGE_MAX}");
    page.map(Unit::Page)
        .ok_or_else(|| ConfigError::value("unit", word, &allowed))
}
