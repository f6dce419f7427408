//! From the command line to a scenario and how its trace is read.

use std::path::{Path, PathBuf};

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::registry::{ConfigError, Kind, Of};
use nearslot_lab::given::Given;
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_trace::{FioWait, OpenOptions, Options, Span, Spread, TimeUnit, TraceTime};

use super::offer;
use crate::args::{FioWaitWord, ReadArgs, ScenarioArgs, SpanArgs, SpreadWord, TimeUnitWord};
use crate::failure::Failure;
use crate::part_args::several;

/// The scenario that the command line describes, and whether it came from a file.
pub(crate) struct Described {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// The file it came from.
    pub(crate) file: Option<PathBuf>,
    /// What the command line says besides that file.
    pub(crate) given: Given,
    /// Options that name several parts, with their key: what is to be compared.
    pub(crate) several: Vec<(String, Vec<String>)>,
}

impl Described {
    fn new(scenario: Scenario, file: Option<PathBuf>) -> Described {
        Described {
            scenario,
            file,
            given: Given::default(),
            several: Vec::new(),
        }
    }

    /// Sets a key to what an option says, or keeps it to be varied if that is several things.
    fn say(&mut self, key: &str, mut words: Vec<String>) -> Result<(), Failure> {
        match words.as_mut_slice() {
            [word] => self.set(key, word),
            _ => {
                self.several.push((key.to_owned(), words));
                Ok(())
            }
        }
    }

    /// Sets a key as an option of the command line says.
    ///
    /// # Errors
    /// An unknown key or a value that is not allowed.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        self.scenario.set(key, value).map_err(Failure::usage)?;
        self.note(key, value);
        Ok(())
    }

    /// Remembers that a value came from the command line.
    fn note(&mut self, key: &str, value: &str) {
        self.given.once.push((key.to_owned(), value.to_owned()));
    }

    /// A configuration mistake, blamed on the command line where that says what is wrong, else on
    /// the file if the scenario came from one.
    pub(crate) fn blame(&self, error: &ConfigError) -> Failure {
        let file = self.file.as_ref();
        match file.filter(|_| !self.given.explains(self.scenario.parts.kinds(), error)) {
            Some(path) => Failure::file(path, error),
            None => Failure::drive(error),
        }
    }
}

/// Reads the scenario file, if one is named, and sets what the command line says. A command that
/// `compares` runs what is offered beside what is not.
///
/// # Errors
/// The file is unfit, or a word of the command line is wrong.
pub(crate) fn describe(args: &ScenarioArgs, compares: bool) -> Result<Described, Failure> {
    let mut described = base(args)?;
    if let Some(drive) = &args.drive {
        described.set("drive", drive)?;
    }
    let mut parts = named(args, &described.scenario)?;
    offer::add(args, &described.scenario, compares, &mut parts)?;
    for (key, words) in parts {
        described.say(&key, words)?;
    }
    let settings = [
        ("replay", &args.replay),
        ("depth", &args.depth),
        ("refill", &args.refill),
        ("speed", &args.speed),
        ("fit", &args.fit),
        ("volumes", &args.volumes),
        ("warmup", &args.warmup),
        ("seed", &args.seed),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            described.set(key, value)?;
        }
    }
    note_reading(&mut described, args);
    match &mut described.scenario.load {
        Load::Trace(trace) => {
            trace.limit = args.read.limit.or(trace.limit);
            trace.device = args.read.device.clone().or(trace.device.take());
            trace.format = args.read.trace_format.clone().or(trace.format.take());
            let [from, to, busiest] = times(&args.span)?;
            trace.from = from.or(trace.from);
            trace.to = to.or(trace.to);
            trace.busiest = busiest.or(trace.busiest);
        }
        Load::Workload(part) => refuse_reading(args, &part.name)?,
    }
    described
        .scenario
        .check()
        .map_err(|error| described.blame(&error))?;
    Ok(described)
}

/// The setting of a cache that says how large it is.
const SIZE: &str = "size";

/// The parts that options name, several of a kind where they are to be compared; caches with their
/// sizes.
fn named(args: &ScenarioArgs, scenario: &Scenario) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let owned = |words: &str| several(words).into_iter().map(str::to_owned).collect();
    let parts = args.parts.0.iter();
    let mut named: Vec<(String, Vec<String>)> = parts
        .map(|(key, words)| ((*key).to_owned(), owned(words)))
        .collect();
    let Some(sizes) = &args.cache_size else {
        return Ok(named);
    };
    let key = <dyn Cache>::CARD.key;
    let Some((_, caches)) = named.iter_mut().find(|(named, _)| named == key) else {
        if scenario.parts.of::<dyn Cache>().name == "none" {
            let allowed = "left out, or beside --cache or a scenario file that names one; caches of --vary say their own size, as in \
                           cache=lru:size=1GiB";
            return Err(Failure::usage(ConfigError::value(
                "--cache-size",
                sizes,
                allowed,
            )));
        }
        let sizes = sizes.split(',').map(|size| size.trim().to_owned());
        named.push((format!("{key}.{SIZE}"), sizes.collect()));
        return Ok(named);
    };
    let before = std::mem::take(caches);
    for cache in &before {
        let part: PartConfig = cache.parse().map_err(Failure::usage)?;
        // None and the optimum have no size. One that there is not is refused where it is set.
        let card = Of::<dyn Cache>::KIND.find(&part.name);
        if card.is_ok_and(|card| card.knobs.iter().all(|knob| knob.name != SIZE)) {
            caches.push(cache.clone());
            continue;
        }
        if part.knobs.iter().any(|(key, _)| key == SIZE) {
            let allowed = format!("left out beside --cache {cache}, which says it");
            return Err(Failure::usage(ConfigError::value(
                "--cache-size",
                sizes,
                &allowed,
            )));
        }
        let sizes = sizes.split(',').map(str::trim);
        caches.extend(sizes.map(|size| format!("{cache}:{SIZE}={size}")));
    }
    // The optimum, which no stack can have, is refused later, by its name.
    if caches.iter().all(|cache| cache == "none") {
        let allowed = "left out where there is no cache";
        return Err(Failure::usage(ConfigError::value(
            "--cache-size",
            sizes,
            allowed,
        )));
    }
    Ok(named)
}

/// Remembers the options about reading a trace that a scenario file has keys for.
fn note_reading(described: &mut Described, args: &ScenarioArgs) {
    let (read, span) = (&args.read, &args.span);
    let limit = read.limit.map(|limit| limit.to_string());
    let options = [
        ("limit", &limit),
        ("device", &read.device),
        ("format", &read.trace_format),
        ("from", &span.from),
        ("to", &span.to),
        ("busiest", &span.busiest),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            described.note(key, value);
        }
    }
}

/// Options about reading a trace say nothing to a synthetic load.
fn refuse_reading(args: &ScenarioArgs, workload: &str) -> Result<(), Failure> {
    let (read, span) = (&args.read, &args.span);
    let given = [
        ("--trace-format", read.trace_format.is_some()),
        ("--device", read.device.is_some()),
        ("--from", span.from.is_some()),
        ("--to", span.to.is_some()),
        ("--busiest", span.busiest.is_some()),
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

/// Times that a command line has: from, to, busiest.
fn times(span: &SpanArgs) -> Result<[Option<TraceTime>; 3], Failure> {
    let time = |key: &str, word: &Option<String>| {
        let time = word.as_ref().map(|word| TraceTime::told(key, word));
        time.transpose().map_err(Failure::usage)
    };
    Ok([
        time("from", &span.from)?,
        time("to", &span.to)?,
        time("busiest", &span.busiest)?,
    ])
}

fn base(args: &ScenarioArgs) -> Result<Described, Failure> {
    if let Some(workload) = &args.workload {
        let part = workload.parse().map_err(Failure::usage)?;
        let mut described = Described::new(Scenario::over(Load::Workload(part)), None);
        described.note("workload", workload);
        return Ok(described);
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
            Ok(Described::new(read(path)?, Some(path.clone())))
        }
        files => {
            let load = TraceLoad {
                files: files.to_vec(),
                ..TraceLoad::default()
            };
            Ok(Described::new(Scenario::over(Load::Trace(load)), None))
        }
    }
}

fn read(path: &Path) -> Result<Scenario, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Scenario::from_toml(&text, directory).map_err(|error| Failure::file(path, &error))
}

/// How the trace of a command without a scenario is read.
///
/// # Errors
/// The span is wrong.
pub(crate) fn read_options(read: &ReadArgs, span: &SpanArgs) -> Result<OpenOptions, Failure> {
    let [from, to, busiest] = times(span)?;
    Ok(OpenOptions {
        format: read.trace_format.clone(),
        device: read.device.clone(),
        span: Span::told(from, to, busiest).map_err(Failure::usage)?,
        limit: read.limit,
        ..open_options(read, 1)
    })
}

/// How a trace is read, as the command line says and scenarios cannot; `seed` is for random
/// spreading.
pub(crate) fn open_options(read: &ReadArgs, seed: u64) -> OpenOptions {
    let unit = |word| match word {
        TimeUnitWord::S => TimeUnit::Seconds,
        TimeUnitWord::Ms => TimeUnit::Milliseconds,
        TimeUnitWord::Us => TimeUnit::Microseconds,
        TimeUnitWord::Ns => TimeUnit::Nanoseconds,
    };
    let plain = OpenOptions::default();
    OpenOptions {
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
        reorder_window_ns: read
            .reorder_ms
            .map_or(plain.reorder_window_ns, |window_ms| {
                window_ms.saturating_mul(1_000_000)
            }),
        reorder_asked: read.reorder_ms.is_some(),
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
