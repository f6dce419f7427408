//! A host: processes above a page cache, in place of requests that come by themselves.
//!
//! What it is made of is told in `lab/src/host/`. Here it is put together of settings: an
//! application that is started (`launch`), greedy readers and writers beside it (`beside`),
//! processes of the user's own (`process`), and a page cache as it is said.
//!
//! It waits for answers and knows its own end: when every process that ends has ended, at the
//! latest after `seconds`. Files begin in the middle of the volume; applications lie in the half
//! before.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::registry::{ConfigError, Knob, KnobValue, Knobs, Spec, written};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::{BLOCK_BYTES, Blocks, Duration, Instant};

use super::{LoadEnv, Synthetic, Workload};
use crate::host::beside::{self, Beside};
use crate::host::startup::{self, Startup};
use crate::host::told::{self, Process, Step};
use crate::host::{self, Machine, Settings};
use crate::number::list;
use crate::outcome::{ApplicationFound, Number, ProcessFound, Progress};

/// The volume, if nothing is said, in blocks: 160 GB, or the whole drive where that is smaller.
const VOLUME: u64 = 160_000_000_000 / BLOCK_BYTES;

/// Files of start-ups that a host is told of.
pub(super) fn files(part: &PartConfig) -> Vec<PathBuf> {
    let names = startups(part).into_iter();
    names
        .filter(|name| startup::is_file(name))
        .map(PathBuf::from)
        .collect()
}

/// Whether some of its processes are of another class than best effort.
pub(super) fn has_classes(part: &PartConfig) -> bool {
    let mut told = part.knobs.iter().filter(|(key, _)| key == "process");
    told.any(|(_, value)| told::has_classes(&value.to_string()))
}

/// The start-ups that are named: to be launched, and by steps of processes, if those can be read.
fn startups(part: &PartConfig) -> Vec<String> {
    let text = |key: &str| {
        let found = part.knobs.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.to_string())
    };
    let steps = text("process").map(|text| told::started(&text));
    let launch = text("launch");
    launch
        .into_iter()
        .chain(steps.into_iter().flatten())
        .collect()
}

/// Files of start-ups are those relative to this directory.
pub(super) fn in_folder(part: &mut PartConfig, directory: &Path) {
    let joined = |name: &str| directory.join(name).display().to_string();
    let names = startups(part)
        .into_iter()
        .filter(|name| startup::is_file(name));
    let names: Vec<String> = names.collect();
    for (key, value) in &mut part.knobs {
        let KnobValue::Text(text) = value else {
            continue;
        };
        match key.as_str() {
            "launch" if names.contains(text) => *text = joined(text),
            "process" => {
                for name in &names {
                    let quoted = |name: &str| serde_json::Value::from(name).to_string();
                    *text = text.replace(&quoted(name), &quoted(&joined(name)));
                }
            }
            _ => {}
        }
    }
}

struct Host(Machine);

impl Workload for Host {
    fn next_arrival(&self) -> Option<Instant> {
        self.0.due()
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.0.next(now)
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.0.answered(now, reply);
    }

    fn streams(&self) -> &[String] {
        self.0.streams()
    }

    fn processes(&self) -> Vec<ProcessFound> {
        self.0.processes()
    }

    fn applications(&self) -> Vec<ApplicationFound> {
        self.0.applications()
    }

    fn measures(&self) -> (&'static str, Vec<(&'static str, Number)>) {
        (host::KEY, self.0.measures())
    }

    fn progress(&self, now: Instant) -> Option<Progress> {
        Some(Progress {
            done: now.0 as f64 / 1e9,
            all: Some(self.0.end().0 as f64 / 1e9),
            unit: "seconds",
        })
    }

    fn startups(&self) -> &[(Instant, Option<Instant>)] {
        self.0.startups()
    }
}

/// What sizes may be.
const BYTES_RANGE: std::ops::RangeInclusive<u64> = PAGE_BYTES..=1 << 42;

fn is_bytes(text: &str) -> bool {
    let fits = |bytes: &u64| bytes.is_multiple_of(PAGE_BYTES) && BYTES_RANGE.contains(bytes);
    told::bytes(text).as_ref().is_some_and(fits)
}

const BYTES: &str = "bytes such as 512MiB or 4GiB, from 4KiB to 4TiB in steps of 4KiB";

const LAUNCH: Knob = Knob::text(
    "launch",
    "",
    |_| true,
    "bash, xterm, lowriter, gnometerm, one that was recorded, or a file *.csv",
    "the application that is started, with a cold cache",
);
const LAUNCH_S: Knob = Knob::number("launch_s", 7.0, 0.0..=1e6, "when it is started, in seconds");
const SECONDS: Knob = Knob::number(
    "seconds",
    67.0,
    0.001..=1e6,
    "the run ends when all processes that end have ended and `counted_s` is over, at the latest then",
);
const COUNTED: Knob = Knob::number(
    "counted_s",
    10.0,
    0.001..=1e6,
    "for how long what others read and write is counted, from the first start-up on; the run goes on until then, at the latest to `seconds`",
);
const BESIDE: Knob = Knob::text(
    "beside",
    beside::NOBODY,
    |word| Beside::read(word).is_some(),
    beside::ALLOWED,
    "greedy readers and writers, each with a file of its own",
);
const PROCESS: Knob = Knob::text(
    "process",
    "",
    |_| true,
    "tables [[workload.process]] of a scenario file",
    "processes of your own",
);
const APPLICATION_WRITES: Knob = Knob::flag(
    "application_writes",
    true,
    "whether the application writes what it writes while it starts",
);
const FILE: Knob = Knob::text(
    "file",
    "500MiB",
    is_bytes,
    BYTES,
    "the file of each who is beside",
);
const WRITE_RATE: Knob = Knob::integer(
    "write_rate_kb_s",
    0,
    0..=1_000_000_000,
    "what the writers beside write at most, all together; 0 for as much as they can",
);
const SYNC_EVERY: Knob = Knob::integer(
    "sync_every_ms",
    2_000,
    0..=1_000_000,
    "how often somebody syncs where there are writers beside; 0 for never",
);
const MEMORY: Knob = Knob::text("memory", "4GiB", is_bytes, BYTES, "the page cache");
const BACKGROUND: Knob = Knob::integer(
    "background_percent",
    10,
    0..=99,
    "share of the page cache that is dirty when the flusher begins to write",
);
const DIRTY: Knob = Knob::integer(
    "dirty_percent",
    20,
    1..=100,
    "share that may be dirty at most; half way to it writers are slowed",
);
const FLUSH_EVERY: Knob = Knob::integer(
    "flush_every_ms",
    5_000,
    1..=1_000_000,
    "how often the flusher looks for old pages",
);
const EXPIRE: Knob = Knob::integer(
    "expire_ms",
    30_000,
    1..=10_000_000,
    "how long a page is dirty until it is old",
);
const READ_AHEAD: Knob = Knob::text(
    "read_ahead",
    "128KiB",
    |text| is_bytes(text) || text == "0",
    "bytes such as 128KiB, in steps of 4KiB; 0 for none",
    "the longest window of read-ahead",
);
const LONGEST: Knob = Knob::text(
    "request_max",
    "512KiB",
    is_bytes,
    BYTES,
    "the longest request that the page cache makes",
);
const ANONYMOUS: Knob = Knob::flag(
    "anonymous",
    true,
    "whether what the flusher writes is of a stream of its own; false: of that of who wrote it",
);
const JOURNAL: Knob = Knob::integer(
    "journal_pages",
    8,
    0..=1_024,
    "pages that a commit of the journal writes before it flushes; 0 for none",
);
const FLUSH_DEPTH: Knob = Knob::integer(
    "flush_depth",
    64,
    1..=65_536,
    "requests of writeback that are on their way at once",
);
const COPY: Knob = Knob::number(
    "copy_us",
    1.0,
    0.01..=1_000.0,
    "what it takes to copy a page, in us",
);
const FILE_SYSTEM: Knob = Knob::text(
    "volume",
    "auto",
    |text| text == "auto" || is_bytes(text),
    "auto, or bytes such as 80GiB, from 4KiB to the drive's in steps of 4KiB",
    "the part of the drive that is used, from its front; auto: 160 GB, or all where that is less",
);

/// Which knobs have an effect only where somebody is beside, writes beside, or is started.
const OF_BESIDE: [&Knob; 1] = [&FILE];
const OF_WRITERS: [&Knob; 2] = [&WRITE_RATE, &SYNC_EVERY];
const OF_LAUNCH: [&Knob; 1] = [&LAUNCH_S];
const OF_STARTS: [&Knob; 1] = [&APPLICATION_WRITES];
const OF_WRITEBACK: [&Knob; 7] = [
    &BACKGROUND,
    &DIRTY,
    &FLUSH_EVERY,
    &EXPIRE,
    &ANONYMOUS,
    &JOURNAL,
    &FLUSH_DEPTH,
];

/// Refuses knobs that have no effect here.
fn check_read(knobs: &Knobs, beside: Beside) -> Result<(), ConfigError> {
    let told = !told::started(knobs.choice("process")).is_empty();
    let launches = !knobs.choice("launch").is_empty();
    let refuse = |of: &[&'static Knob], there: bool, needs: &str| {
        let set = knobs.first_given(of.iter().copied()).filter(|_| !there);
        set.map_or(Ok(()), |(knob, value)| {
            let allowed = format!("beside {needs}, without which it has no effect");
            Err(ConfigError::value(
                &format!("host.{}", knob.name),
                &value.to_string(),
                &allowed,
            ))
        })
    };
    refuse(
        &OF_BESIDE,
        beside.any(),
        "readers or writers (beside=10r-seq)",
    )?;
    refuse(&OF_WRITERS, beside.writes(), "writers (beside=5r5w-seq)")?;
    refuse(&OF_LAUNCH, launches, "an application (launch=xterm)")?;
    let starts = launches || told;
    refuse(
        &OF_STARTS,
        starts,
        "an application that is started (launch=lowriter)",
    )
}

fn bytes(knobs: &Knobs, key: &str) -> u64 {
    told::bytes(knobs.choice(key)).expect("the card accepted it")
}

fn pages(knobs: &Knobs, key: &str) -> u64 {
    bytes(knobs, key) / PAGE_BYTES
}

/// The blocks that are used.
fn volume(knobs: &Knobs, capacity: Blocks) -> Result<u64, ConfigError> {
    let text = knobs.choice("volume");
    if text == "auto" {
        return Ok(VOLUME.min(capacity.0));
    }
    let blocks = bytes(knobs, "volume") / BLOCK_BYTES;
    if blocks > capacity.0 {
        let allowed = format!("at most the drive, {} bytes", capacity.bytes());
        return Err(ConfigError::value("host.volume", text, &allowed));
    }
    Ok(blocks)
}

/// Settings of writeback have an effect only where somebody writes.
fn check_written(all: &[Process], knobs: &Knobs) -> Result<(), ConfigError> {
    let writes = |step: &Step| match step {
        Step::Write(_) | Step::Fsync | Step::Sync => true,
        Step::Start(startup) => startup.writes(),
        Step::Read(_) | Step::Think(_) => false,
    };
    let any = all.iter().flat_map(|process| &process.steps).any(writes);
    let set = knobs.first_given(OF_WRITEBACK.iter().copied());
    let wrong = set.filter(|_| !any);
    wrong.map_or(Ok(()), |(knob, value)| {
        let key = format!("host.{}", knob.name);
        let allowed = "where a process writes or syncs; here none does, so it has no effect";
        Err(ConfigError::value(&key, &value.to_string(), allowed))
    })
}

/// What others do is counted beside an application that is started.
fn check_counted(all: &[Process], knobs: &Knobs) -> Result<(), ConfigError> {
    let (starting, others): (Vec<_>, Vec<_>) = all.iter().partition(|process| process.starts());
    let Some((_, value)) = knobs.first_given([&COUNTED].into_iter()) else {
        return Ok(());
    };
    let wrong = |allowed: &str| {
        Err(ConfigError::value(
            "host.counted_s",
            &value.to_string(),
            allowed,
        ))
    };
    if starting.is_empty() || others.is_empty() {
        return wrong("where an application starts beside others, without which it has no effect");
    }
    let begin = starting.iter().map(|process| process.start).min();
    let left = seconds(knobs, "seconds")
        .0
        .saturating_sub(begin.unwrap_or(Duration::ZERO).0);
    if seconds(knobs, "counted_s").0 > left {
        let left = written(left as f64 / 1e9);
        return wrong(&format!(
            "at most {left}, until the run ends after `seconds`"
        ));
    }
    Ok(())
}

/// Limits of the page cache that make sense together.
fn check_memory(knobs: &Knobs) -> Result<(), ConfigError> {
    let (background, hard) = (
        knobs.integer("background_percent"),
        knobs.integer("dirty_percent"),
    );
    if background >= hard {
        let allowed = format!("below dirty_percent, which is {hard}");
        return Err(ConfigError::value(
            "host.background_percent",
            &background.to_string(),
            &allowed,
        ));
    }
    let least = 4 * bytes(knobs, "read_ahead").max(bytes(knobs, "request_max"));
    if bytes(knobs, "memory") < least {
        let allowed = format!("at least {least} bytes, four times read_ahead and request_max");
        return Err(ConfigError::value(
            "host.memory",
            knobs.choice("memory"),
            &allowed,
        ));
    }
    Ok(())
}

fn ms(knobs: &Knobs, key: &str) -> Duration {
    Duration::from_ms(knobs.integer(key))
}

fn seconds(knobs: &Knobs, key: &str) -> Duration {
    Duration::from_ms_f64(knobs.number(key) * 1e3)
}

/// Whether some application had writes to leave out, if it was told to.
fn check_writes(knobs: &Knobs, any_writes: bool, all: &[Process]) -> Result<(), ConfigError> {
    let steps = all.iter().flat_map(|process| &process.steps);
    let started = steps.filter_map(|step| match step {
        Step::Start(startup) => Some(startup.name.clone()),
        _ => None,
    });
    let started: Vec<String> = started.collect();
    if any_writes || knobs.flag("application_writes") || started.is_empty() {
        return Ok(());
    }
    let allowed = format!(
        "with an application that writes while it starts, which {} does not",
        list(&started)
    );
    Err(ConfigError::value(
        "host.application_writes",
        "false",
        &allowed,
    ))
}

/// Everybody: who is beside, who is told of, and who starts the application.
fn everybody(knobs: &Knobs, env: &LoadEnv<'_>, volume: u64) -> Result<Vec<Process>, ConfigError> {
    let beside = Beside::read(knobs.choice("beside")).expect("the card accepted it");
    check_read(knobs, beside)?;
    let rate = Some(knobs.integer("write_rate_kb_s") * 1_000).filter(|rate| *rate > 0);
    let mut all = beside.processes(pages(knobs, "file"), rate, ms(knobs, "sync_every_ms"));
    let any_writes = Cell::new(false);
    let find = |name: &str| -> Result<Arc<Startup>, ConfigError> {
        let found = startup::find(name, env.seed, volume / 2)?;
        found.check(volume)?;
        any_writes.set(any_writes.get() || found.writes());
        Ok(Arc::new(match knobs.flag("application_writes") {
            true => found,
            false => found.without_writes(),
        }))
    };
    all.extend(told::processes(knobs.choice("process"), &find)?);
    let launch = knobs.choice("launch");
    if !launch.is_empty() {
        let startup = find(launch)?;
        all.push(Process {
            name: "launch".to_owned(),
            count: 1,
            file_pages: told::OWN_FILE / PAGE_BYTES,
            shares: None,
            start: seconds(knobs, "launch_s"),
            after: Vec::new(),
            times: Some(1),
            every: None,
            rate: None,
            priority: 0,
            of_load: false,
            steps: vec![Step::Start(startup)],
        });
    }
    check_writes(knobs, any_writes.get(), &all)?;
    if all.is_empty() {
        let allowed = "an application (launch=xterm), somebody beside (beside=10r-seq) or [[workload.process]]";
        return Err(ConfigError::value("host", "no process", allowed));
    }
    Ok(all)
}

/// Whether every process begins before the run ends.
fn check_starts(all: &[Process], knobs: &Knobs) -> Result<(), ConfigError> {
    let end = seconds(knobs, "seconds");
    let late = all.iter().find(|process| process.start >= end);
    late.map_or(Ok(()), |process| {
        let begins = process.start.0 as f64 / 1e9;
        let allowed = format!("more than {begins} s, when `{}` begins", process.name);
        let value = written(knobs.number("seconds"));
        Err(ConfigError::value("host.seconds", &value, &allowed))
    })
}

fn machine(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Machine, ConfigError> {
    check_memory(knobs)?;
    let volume = volume(knobs, env.capacity)?;
    let all = everybody(knobs, env, volume)?;
    check_starts(&all, knobs)?;
    check_written(&all, knobs)?;
    check_counted(&all, knobs)?;
    let end = Instant::ZERO + seconds(knobs, "seconds");
    let settings = Settings {
        files: (volume / 2 / 8 * 8, volume),
        memory: pages(knobs, "memory"),
        dirty_percent: (
            knobs.integer("background_percent"),
            knobs.integer("dirty_percent"),
        ),
        periodic: (ms(knobs, "flush_every_ms"), ms(knobs, "expire_ms")),
        read_ahead: pages(knobs, "read_ahead"),
        longest: pages(knobs, "request_max"),
        anonymous: knobs.flag("anonymous"),
        journal_pages: knobs.integer("journal_pages"),
        flush_depth: knobs.integer("flush_depth"),
        copy: Duration::from_ms_f64(knobs.number("copy_us") / 1e3),
        counted: seconds(knobs, "counted_s"),
        end,
        seed: env.seed,
    };
    Machine::new(all, settings)
}

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "host",
    aliases: &["processes"],
    summary: "processes above a page cache: an application that starts, others beside it, or your own",
    source: "benchmark suite S (Algodev-github/S 3.6); page cache and writeback of Linux 6.12",
    knobs: &[
        LAUNCH,
        LAUNCH_S,
        SECONDS,
        COUNTED,
        BESIDE,
        PROCESS,
        APPLICATION_WRITES,
        FILE,
        WRITE_RATE,
        SYNC_EVERY,
        MEMORY,
        BACKGROUND,
        DIRTY,
        FLUSH_EVERY,
        EXPIRE,
        READ_AHEAD,
        LONGEST,
        ANONYMOUS,
        JOURNAL,
        FLUSH_DEPTH,
        COPY,
        FILE_SYSTEM,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        Ok(Box::new(Synthetic {
            workload: Box::new(Host(machine(knobs, env)?)),
            requests: None,
            depth: None,
        }))
    },
};
