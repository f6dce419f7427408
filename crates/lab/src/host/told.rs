//! Processes as users describe them, read and checked.
//!
//! A scenario has them as tables, `[[workload.process]]`; a setting has them as JSON, which is the
//! same. Everything that is wrong is named with the process it stands in and what is allowed.

use std::sync::Arc;

use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::registry::{ConfigError, nearest};
use nearslot_core::size::Size;
use nearslot_core::units::Duration;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::startup::Startup;

/// The largest file.
const FILE_MAX: u64 = 1 << 40;
/// Processes that one table may stand for.
const COUNT_MAX: u64 = 10_000;

/// A process, or several alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// What it is called.
    pub name: String,
    /// How many there are, each with a file of its own.
    pub count: u64,
    /// Pages of its file.
    pub file_pages: u64,
    /// The process whose file it uses, in place of one of its own.
    pub shares: Option<String>,
    /// When it begins.
    pub start: Duration,
    /// It begins when all these have ended, too.
    pub after: Vec<String>,
    /// How often it does its steps; for ever, if nothing is said.
    pub times: Option<u64>,
    /// It begins its steps at most once in so long, and is late if it needs longer.
    pub every: Option<Duration>,
    /// Bytes a second that it reads and writes at most.
    pub rate: Option<u64>,
    /// Linux's class and level, as requests have it.
    pub priority: u16,
    /// Whether it belongs to a load that is told in a word, so that nobody asks whether it is late.
    pub of_load: bool,
    /// What it does.
    pub steps: Vec<Step>,
}

/// Where in its file a process reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Where it ended; at the beginning behind the end of the file.
    Next,
    /// Anywhere.
    Random,
}

/// How long a process thinks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Think {
    /// Always so long.
    Fixed(Duration),
    /// Exponentially distributed around it.
    Mean(Duration),
}

impl Process {
    /// Whether it starts an application.
    pub fn starts(&self) -> bool {
        let starts = |step: &Step| matches!(step, Step::Start(_));
        self.steps.iter().any(starts)
    }
}

/// One thing that a process does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It reads so many pages, so often.
    Read(Access),
    /// It writes them.
    Write(Access),
    /// It computes.
    Think(Think),
    /// It waits until what it wrote to its file is on the medium.
    Fsync,
    /// It waits until everything that anybody wrote is.
    Sync,
    /// It starts an application and waits until that is up.
    Start(Arc<Startup>),
}

impl Step {
    /// Whether it does something with the process's file.
    fn uses_file(&self) -> bool {
        match self {
            Step::Read(_) | Step::Write(_) | Step::Fsync => true,
            Step::Start(startup) => startup.writes(),
            Step::Think(_) | Step::Sync => false,
        }
    }

    /// Whether it asks for something as the process: what `sync` waits for, the flusher writes.
    fn asks(&self) -> bool {
        !matches!(self, Step::Think(_) | Step::Sync)
    }
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Pages at a time.
    pub pages: u64,
    /// How often.
    pub times: u64,
    /// Where.
    pub at: At,
    /// Past the page cache.
    pub direct: bool,
}

/// What a table may have.
#[derive(Deserialize)]
struct Table {
    name: String,
    count: Option<Value>,
    file: Option<Value>,
    shares: Option<String>,
    start_s: Option<Value>,
    after: Option<Vec<String>>,
    times: Option<Value>,
    every_ms: Option<Value>,
    rate_kb_s: Option<Value>,
    class: Option<String>,
    level: Option<Value>,
    steps: Vec<Value>,
}

const KEYS: &[&str] = &[
    "name",
    "count",
    "file",
    "shares",
    "start_s",
    "after",
    "times",
    "every_ms",
    "rate_kb_s",
    "class",
    "level",
    "steps",
];
const ACCESS_KEYS: &[&str] = &["read", "write", "at", "times", "direct"];
const THINK_KEYS: &[&str] = &["think_ms", "think_mean_ms"];
const STEPS: &str = "{ read = \"4KiB\" }, { write = \"4KiB\" }, { think_ms = 5 }, { think_mean_ms = 5 }, { start = \"xterm\" }, \"fsync\" or \"sync\"";

/// Finds the application that a step starts.
pub type Find<'a> = &'a dyn Fn(&str) -> Result<Arc<Startup>, ConfigError>;

/// Reads the processes of a setting; none if it is empty.
///
/// # Errors
/// The first thing that is wrong.
pub fn processes(text: &str, find: Find<'_>) -> Result<Vec<Process>, ConfigError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let tables: Vec<Value> = serde_json::from_str(text).map_err(|error| {
        let allowed = format!(
            "tables [[workload.process]] of a scenario, or the same as JSON; it is none at line {}, column {}",
            error.line(),
            error.column()
        );
        ConfigError::value("process", text, &allowed)
    })?;
    let shared: Vec<&str> = tables
        .iter()
        .filter_map(|table| table["shares"].as_str())
        .collect();
    let read = tables.iter().enumerate().map(|(number, table)| {
        let read = process(&format!("process {}", number + 1), table, find)?;
        check_effect(&read, table, shared.contains(&&*read.name))?;
        Ok(read)
    });
    read.collect()
}

/// The applications that steps of these processes start, as far as they can be read.
pub fn started(text: &str) -> Vec<String> {
    let tables: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let steps = tables
        .iter()
        .filter_map(|table| table["steps"].as_array())
        .flatten();
    steps
        .filter_map(|step| step["start"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Whether some of these processes are of another class than best effort, as far as they can be
/// read.
pub fn has_classes(text: &str) -> bool {
    let tables: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let mut classes = tables.iter().filter_map(|table| table["class"].as_str());
    classes.any(|class| class != "best-effort")
}

fn process(place: &str, table: &Value, find: Find<'_>) -> Result<Process, ConfigError> {
    let Value::Object(keys) = table else {
        return Err(ConfigError::value(
            place,
            &table.to_string(),
            "a table with `name` and `steps`",
        ));
    };
    let place = match keys.get("name").and_then(Value::as_str) {
        Some(name) => format!("process `{name}`"),
        None => place.to_owned(),
    };
    let about = |key: &str| format!("{place}: {key}");
    check_keys(&place, keys, KEYS)?;
    let read = serde_json::from_value(table.clone());
    let table: Table = read.map_err(|_| wrong_type(&about, keys))?;
    check_table(&about, &table)?;
    let steps = table.steps.iter().enumerate();
    let steps: Vec<Step> = steps
        .map(|(number, value)| step(&about(&format!("step {}", number + 1)), value, find))
        .collect::<Result<_, _>>()?;
    let file_pages = file_pages(&about, &table, &steps)?;
    let whole = |key: &str, value: Option<&Value>, most| {
        let read = value.map(|value| whole(&about(key), value, most));
        read.transpose()
    };
    let rate = whole("rate_kb_s", table.rate_kb_s.as_ref(), 1 << 40)?;
    let moves = |step: &Step| matches!(step, Step::Read(_) | Step::Write(_));
    if let Some(rate) = rate.filter(|_| !steps.iter().any(moves)) {
        let allowed = "beside a step that reads or writes";
        let key = about("rate_kb_s");
        return Err(ConfigError::value(&key, &rate.to_string(), allowed));
    }
    let start = table.start_s.as_ref();
    let start = start.map(|value| time(&about("start_s"), value, 1e9));
    Ok(Process {
        count: whole("count", table.count.as_ref(), COUNT_MAX)?.unwrap_or(1),
        start: start.transpose()?.unwrap_or(Duration(0)),
        times: whole("times", table.times.as_ref(), 1 << 40)?,
        every: every(&about("every_ms"), table.every_ms.as_ref())?,
        of_load: false,
        priority: priority(&about, table.class.as_deref(), table.level.as_ref())?,
        after: table.after.unwrap_or_default(),
        shares: table.shares,
        rate: rate.map(|kb| kb * 1_000),
        name: table.name,
        file_pages,
        steps,
    })
}

type Fits = fn(&Value) -> bool;

/// Which key of a table is to blame for that it cannot be read, and what is allowed there.
fn wrong_type(about: &dyn Fn(&str) -> String, keys: &Map<String, Value>) -> ConfigError {
    let names = |value: &Value| {
        let names = value.as_array();
        names.is_some_and(|names| names.iter().all(Value::is_string))
    };
    let types: [(&str, Fits, &str); 5] = [
        ("name", Value::is_string, "a name in quotes"),
        ("steps", Value::is_array, STEPS),
        ("shares", Value::is_string, "a name in quotes"),
        ("after", names, "a list of names in quotes"),
        ("class", Value::is_string, "a name in quotes"),
    ];
    let is_needed = |key: &str| ["name", "steps"].contains(&key);
    let wrong = types.iter().find(|(key, fits, _)| match keys.get(*key) {
        None => is_needed(key),
        Some(value) => !fits(value) && (is_needed(key) || !value.is_null()),
    });
    let (key, _, allowed) = wrong.expect("all other keys take any value");
    let found = keys
        .get(*key)
        .map_or("missing".to_owned(), Value::to_string);
    ConfigError::value(&about(key), &found, allowed)
}

/// Whether a table has what it needs, and nothing twice.
fn check_table(about: &dyn Fn(&str) -> String, table: &Table) -> Result<(), ConfigError> {
    let empty = [
        ("name", table.name.is_empty()),
        ("steps", table.steps.is_empty()),
    ];
    if let Some((key, _)) = empty.iter().find(|(_, empty)| *empty) {
        return Err(ConfigError::value(&about(key), "nothing", "at least one"));
    }
    if let (Some(file), Some(_)) = (&table.file, &table.shares) {
        let allowed = "left out beside shares, which names whose file it is";
        return Err(ConfigError::value(
            &about("file"),
            &file.to_string(),
            allowed,
        ));
    }
    Ok(())
}

/// Whether no setting is in vain: the file of a process that does nothing with it, the priority of
/// one that never asks itself.
fn check_effect(process: &Process, table: &Value, shared: bool) -> Result<(), ConfigError> {
    let any = |does: fn(&Step) -> bool| process.steps.iter().any(does);
    let of_file =
        "beside a step that reads or writes, \"fsync\", or an application that writes as it starts";
    let of_requests = "beside a step that reads, writes or starts an application, or \"fsync\"";
    let (uses, asks) = (any(Step::uses_file), any(Step::asks));
    let needs = [
        ("file", uses || shared, of_file),
        ("shares", uses, of_file),
        ("class", asks, of_requests),
        ("level", asks, of_requests),
    ];
    for (key, has_effect, allowed) in needs {
        if let Some(value) = table
            .get(key)
            .filter(|value| !has_effect && !value.is_null())
        {
            let key = format!("process `{}`: {key}", process.name);
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            return Err(ConfigError::value(&key, &value, allowed));
        }
    }
    Ok(())
}

/// Pages of a process's own file, which its steps fit into.
fn file_pages(
    about: &dyn Fn(&str) -> String,
    table: &Table,
    steps: &[Step],
) -> Result<u64, ConfigError> {
    let told = table.file.as_ref();
    let told = told
        .map(|value| pages(&about("file"), value, FILE_MAX))
        .transpose()?;
    let uses = |step: &Step| matches!(step, Step::Read(_) | Step::Write(_) | Step::Fsync);
    let default = match steps.iter().any(uses) {
        true => DEFAULT_FILE,
        false => OWN_FILE,
    };
    let pages = told.unwrap_or(default / PAGE_BYTES);
    if table.shares.is_none() {
        check_steps(&about("steps"), steps, pages)?;
    }
    Ok(pages)
}

/// The file to which an application writes that is started.
pub const OWN_FILE: u64 = 16 << 20;

/// A file of which nothing else is said.
const DEFAULT_FILE: u64 = 500 << 20;

fn check_keys(place: &str, keys: &Map<String, Value>, known: &[&str]) -> Result<(), ConfigError> {
    let unknown = keys.iter().find(|(key, _)| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |(key, value)| {
        Err(ConfigError {
            nearest: nearest(key, known),
            ..ConfigError::value(
                &format!("{place}: {key}"),
                &value.to_string(),
                &format!("one of {}", known.join(", ")),
            )
        })
    })
}

/// Whether no step asks for more at a time than the file has.
fn check_steps(key: &str, steps: &[Step], file_pages: u64) -> Result<(), ConfigError> {
    for step in steps {
        if let Step::Read(access) | Step::Write(access) = step
            && access.pages > file_pages
        {
            let value = format!("{} bytes at a time", access.pages * PAGE_BYTES);
            let allowed = format!("at most the file, {} bytes", file_pages * PAGE_BYTES);
            return Err(ConfigError::value(key, &value, &allowed));
        }
    }
    Ok(())
}

fn step(place: &str, value: &Value, find: Find<'_>) -> Result<Step, ConfigError> {
    let wrong = || ConfigError::value(place, &value.to_string(), STEPS);
    match value {
        Value::String(word) if word == "fsync" => Ok(Step::Fsync),
        Value::String(word) if word == "sync" => Ok(Step::Sync),
        Value::Object(keys) => {
            let has = |key: &str| keys.contains_key(key);
            match () {
                () if has("read") && has("write") => Err(wrong()),
                () if has("read") => Ok(Step::Read(access(place, keys, "read")?)),
                () if has("write") => Ok(Step::Write(access(place, keys, "write")?)),
                () if has("think_ms") || has("think_mean_ms") => think(place, keys),
                () if has("start") => {
                    check_keys(place, keys, &["start"])?;
                    let name = keys["start"].as_str().ok_or_else(wrong)?;
                    Ok(Step::Start(find(name)?))
                }
                () => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn access(place: &str, keys: &Map<String, Value>, verb: &str) -> Result<Access, ConfigError> {
    check_keys(place, keys, ACCESS_KEYS)?;
    let at = match keys.get("at").map(|at| at.as_str().unwrap_or("")) {
        None | Some("next") => At::Next,
        Some("random") => At::Random,
        Some(_) => {
            let value = keys["at"].to_string();
            return Err(ConfigError::value(
                &format!("{place}: at"),
                &value,
                "\"next\" or \"random\"",
            ));
        }
    };
    let direct = keys.get("direct").map_or(Ok(false), |direct| {
        direct.as_bool().ok_or_else(|| {
            ConfigError::value(
                &format!("{place}: direct"),
                &direct.to_string(),
                "true or false",
            )
        })
    })?;
    let times = keys
        .get("times")
        .map(|times| whole(&format!("{place}: times"), times, 1 << 40));
    Ok(Access {
        pages: pages(&format!("{place}: {verb}"), &keys[verb], 1 << 30)?,
        times: times.transpose()?.unwrap_or(1),
        at,
        direct,
    })
}

fn think(place: &str, keys: &Map<String, Value>) -> Result<Step, ConfigError> {
    check_keys(place, keys, THINK_KEYS)?;
    let of = |key: &str| {
        keys.get(key)
            .map(|value| time(&format!("{place}: {key}"), value, 1e6))
    };
    match (
        of("think_ms").transpose()?,
        of("think_mean_ms").transpose()?,
    ) {
        (Some(fixed), None) => Ok(Step::Think(Think::Fixed(fixed))),
        (None, Some(mean)) => Ok(Step::Think(Think::Mean(mean))),
        _ => Err(ConfigError::value(
            place,
            "both",
            "think_ms or think_mean_ms",
        )),
    }
}

/// How often a round begins, which takes some time.
fn every(key: &str, value: Option<&Value>) -> Result<Option<Duration>, ConfigError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let every = time(key, value, 1e6)?;
    if every.0 > 0 {
        return Ok(Some(every));
    }
    let allowed = "above 0, at least 1e-6";
    Err(ConfigError::value(key, &value.to_string(), allowed))
}

/// A whole number from 1 on.
fn whole(key: &str, value: &Value, most: u64) -> Result<u64, ConfigError> {
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        ConfigError::value(
            key,
            &value.to_string(),
            &format!("a whole number from 1 to {most}"),
        )
    })
}

/// A time, given in a unit of so many ns.
fn time(key: &str, value: &Value, unit: f64) -> Result<Duration, ConfigError> {
    let most = 1e18 / unit;
    let number = value
        .as_f64()
        .filter(|number| (0.0..=most).contains(number));
    let ns = number.map(|number| libm::round(number * unit) as u64);
    ns.map(Duration).ok_or_else(|| {
        ConfigError::value(
            key,
            &value.to_string(),
            &format!("a number from 0 to {most:e}"),
        )
    })
}

/// Pages of a size such as `64KiB` or 65536, at most so many bytes.
fn pages(key: &str, value: &Value, most: u64) -> Result<u64, ConfigError> {
    let bytes = match value {
        Value::String(text) => bytes(text),
        other => other.as_u64(),
    };
    let fits =
        |bytes: &u64| bytes.is_multiple_of(PAGE_BYTES) && (PAGE_BYTES..=most).contains(bytes);
    bytes
        .filter(fits)
        .map(|bytes| bytes / PAGE_BYTES)
        .ok_or_else(|| {
            let allowed =
                format!("bytes such as 65536 or 64KiB, 4KiB to {most} bytes in steps of 4KiB");
            ConfigError::value(key, &value.to_string(), &allowed)
        })
}

/// Bytes of a size such as `64KiB`; `None` if it is none.
pub fn bytes(text: &str) -> Option<u64> {
    if let Ok(bytes) = text.parse() {
        return Some(bytes);
    }
    let size: Size = text.parse().ok()?;
    size.is_bytes().then(|| size.lines(0, 1))
}

fn priority(
    about: &dyn Fn(&str) -> String,
    class: Option<&str>,
    level: Option<&Value>,
) -> Result<u16, ConfigError> {
    let level = level.map(|value| {
        let level = value.as_u64().filter(|level| *level <= 7);
        level.ok_or_else(|| {
            ConfigError::value(
                &about("level"),
                &value.to_string(),
                "0, the most urgent, to 7",
            )
        })
    });
    let level = level.transpose()?;
    let class = match class {
        None if level.is_none() => return Ok(0),
        Some("real-time") => 1,
        None | Some("best-effort") => 2,
        Some("idle") => 3,
        Some(other) => {
            let allowed = "real-time, best-effort or idle";
            return Err(ConfigError::value(&about("class"), other, allowed));
        }
    };
    Ok(class << 13 | level.unwrap_or(4) as u16)
}

/// Which processes a process waits for and whose file it uses, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ties {
    /// By process, those that must have ended before.
    pub(super) after: Vec<Vec<usize>>,
    /// By process, the one whose file it uses.
    pub(super) shares: Vec<Option<usize>>,
}

/// Finds what the processes name.
///
/// # Errors
/// Two have one name, or one names none, itself, one that never ends, or one that waits for it.
pub(super) fn ties(processes: &[Process]) -> Result<Ties, ConfigError> {
    let names: Vec<&str> = processes
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    for (number, name) in names.iter().enumerate() {
        if names[..number].contains(name) {
            return Err(ConfigError::value(
                "process",
                name,
                "a name of its own for each",
            ));
        }
    }
    let find = |process: &Process, key: &str, name: &str| {
        let place = format!("process `{}`: {key}", process.name);
        let found = names.iter().position(|other| *other == name);
        found.ok_or_else(|| ConfigError {
            nearest: nearest(name, &names),
            ..ConfigError::value(
                &place,
                name,
                &format!("the name of another process: {}", names.join(", ")),
            )
        })
    };
    let mut ties = Ties::default();
    for process in processes {
        let mut after = Vec::new();
        for name in &process.after {
            let other = find(process, "after", name)?;
            if processes[other].times.is_none() {
                let allowed = "one that ends, which has times";
                return Err(ConfigError::value(
                    &format!("process `{}`: after", process.name),
                    name,
                    allowed,
                ));
            }
            after.push(other);
        }
        ties.after.push(after);
        let shared = process
            .shares
            .as_deref()
            .map(|name| find(process, "shares", name))
            .transpose()?;
        if let Some(other) = shared.filter(|other| processes[*other].shares.is_some()) {
            let allowed = "one with a file of its own";
            let key = format!("process `{}`: shares", process.name);
            return Err(ConfigError::value(&key, names[other], allowed));
        }
        ties.shares.push(shared);
    }
    check_circles(&names, &ties.after)?;
    check_ends(processes, &ties)?;
    Ok(ties)
}

/// Whether the run goes on when a process begins that waits for others and never ends itself.
fn check_ends(processes: &[Process], ties: &Ties) -> Result<(), ConfigError> {
    let ends = |process: usize| processes[process].times.is_some();
    for (own, process) in processes.iter().enumerate() {
        if ends(own) || process.after.is_empty() {
            continue;
        }
        let mut before = vec![false; processes.len()];
        let mut look = ties.after[own].clone();
        while let Some(other) = look.pop() {
            if !std::mem::replace(&mut before[other], true) {
                look.extend(&ties.after[other]);
            }
        }
        if !(0..processes.len()).any(|other| ends(other) && !before[other]) {
            let key = format!("process `{}`: after", process.name);
            let allowed = "with times, or beside another process that ends: the run ends with the last of those, before this one begins";
            return Err(ConfigError::value(&key, &process.after.join(", "), allowed));
        }
    }
    Ok(())
}

/// Whether nobody waits for itself, by however many others.
fn check_circles(names: &[&str], after: &[Vec<usize>]) -> Result<(), ConfigError> {
    let mut ended = vec![false; names.len()];
    // Each pass ends those that wait for none that has not ended.
    for _ in names {
        for process in 0..names.len() {
            ended[process] = ended[process] || after[process].iter().all(|other| ended[*other]);
        }
    }
    let waiting: Vec<&str> = names
        .iter()
        .zip(&ended)
        .filter(|(_, ended)| !**ended)
        .map(|(name, _)| *name)
        .collect();
    match waiting.as_slice() {
        [] => Ok(()),
        _ => Err(ConfigError::value(
            "after",
            &waiting.join(", "),
            "no circle: these wait for each other, so none ever begins",
        )),
    }
}
