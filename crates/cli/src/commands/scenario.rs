//! From the command line to a scenario and how its trace is read.

use std::path::{Path, PathBuf};

use nearslot_core::registry::ConfigError;
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_lab::trace::{FioWait, OpenOptions, Options, Spread, TimeUnit};

use crate::args::{FioWaitWord, ReadArgs, ScenarioArgs, SpreadWord, TimeUnitWord};
use crate::failure::Failure;

/// The scenario that the command line describes, and whether it came from a file.
pub(crate) struct Described {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// The file it came from.
    pub(crate) file: Option<PathBuf>,
}

impl Described {
    /// A configuration mistake, blamed on the file if the scenario came from one.
    pub(crate) fn blame(&self, error: &ConfigError) -> Failure {
        match &self.file {
            Some(path) => Failure::file(path, error),
            None if self.scenario.drive.name.ends_with(".toml")
                && error.key.starts_with("drive") =>
            {
                Failure::Input(error.to_string())
            }
            None => Failure::Usage(error.to_string()),
        }
    }
}

/// Reads the scenario file, if one is named, and sets what the command line says.
///
/// # Errors
/// The file is unfit, or a word of the command line is wrong.
pub(crate) fn describe(args: &ScenarioArgs) -> Result<Described, Failure> {
    let mut described = base(args)?;
    let settings = [
        ("drive", &args.drive),
        ("place", &args.place),
        ("oracle", &args.oracle),
        ("replay", &args.replay),
        ("depth", &args.depth),
        ("refill", &args.refill),
        ("speed", &args.speed),
        ("fit", &args.fit),
        ("warmup", &args.warmup),
        ("seed", &args.seed),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            described.scenario.set(key, value).map_err(Failure::usage)?;
        }
    }
    match &mut described.scenario.load {
        Load::Trace(trace) => {
            trace.limit = args.read.limit.or(trace.limit);
            trace.device = args.read.device.clone().or(trace.device.take());
            trace.format = args.read.trace_format.clone().or(trace.format.take());
        }
        Load::Workload(part) => refuse_reading(&args.read, &part.name)?,
    }
    described
        .scenario
        .check()
        .map_err(|error| described.blame(&error))?;
    Ok(described)
}

/// Options about reading a trace say nothing to a synthetic load.
fn refuse_reading(read: &ReadArgs, workload: &str) -> Result<(), Failure> {
    let given = [
        ("--trace-format", read.trace_format.is_some()),
        ("--device", read.device.is_some()),
        ("--limit", read.limit.is_some()),
        ("--columns", read.columns.is_some()),
        ("--time-unit", read.time_unit.is_some()),
        ("--fio-wait", read.fio_wait.is_some()),
        ("--block-size", read.block_size.is_some()),
        ("--spread", read.spread.is_some()),
        ("--reorder-ms", read.reorder_ms.is_some()),
        ("--sort", read.sort),
        ("--strict", read.strict),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} says how a trace is read, and the workload {workload} reads none"
        ))),
        None => Ok(()),
    }
}

fn base(args: &ScenarioArgs) -> Result<Described, Failure> {
    if let Some(workload) = &args.workload {
        let part = workload.parse().map_err(Failure::usage)?;
        return Ok(Described {
            scenario: Scenario::over(Load::Workload(part)),
            file: None,
        });
    }
    match args.input.as_slice() {
        [] => Err(Failure::Usage(
            "nothing to run: name a trace, a scenario file (*.toml) or a --workload".to_owned(),
        )),
        [path]
            if path
                .extension()
                .is_some_and(|extension| extension == "toml") =>
        {
            let scenario = read(path)?;
            Ok(Described {
                scenario,
                file: Some(path.clone()),
            })
        }
        files => {
            let load = TraceLoad {
                files: files.to_vec(),
                ..TraceLoad::default()
            };
            Ok(Described {
                scenario: Scenario::over(Load::Trace(load)),
                file: None,
            })
        }
    }
}

fn read(path: &Path) -> Result<Scenario, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Scenario::from_toml(&text, directory).map_err(|error| Failure::file(path, &error))
}

/// How a trace is read, as the command line says; `seed` is for random spreading.
pub(crate) fn open_options(read: &ReadArgs, seed: u64) -> OpenOptions {
    let unit = |word| match word {
        TimeUnitWord::S => TimeUnit::Seconds,
        TimeUnitWord::Ms => TimeUnit::Milliseconds,
        TimeUnitWord::Us => TimeUnit::Microseconds,
        TimeUnitWord::Ns => TimeUnit::Nanoseconds,
    };
    let plain = OpenOptions::default();
    OpenOptions {
        format: read.trace_format.clone(),
        decode: Options {
            time_unit: read.time_unit.map(unit),
            columns: read.columns.clone(),
            fio_wait: read.fio_wait.map(|word| match word {
                FioWaitWord::AbsMs => FioWait::AbsoluteMs,
                FioWaitWord::RelUs => FioWait::RelativeUs,
            }),
            block_size: read.block_size,
            strict: read.strict,
            ..Options::default()
        },
        device: read.device.clone(),
        limit: read.limit,
        reorder_window_ns: read
            .reorder_ms
            .map_or(plain.reorder_window_ns, |window_ms| {
                window_ms.saturating_mul(1_000_000)
            }),
        sort: read.sort,
        spread: match read.spread {
            None => plain.spread,
            Some(SpreadWord::Even) => Spread::Even,
            Some(SpreadWord::Poisson) => Spread::Poisson(seed),
            Some(SpreadWord::None) => Spread::None,
        },
        spread_asked: read.spread.is_some(),
        ..plain
    }
}
