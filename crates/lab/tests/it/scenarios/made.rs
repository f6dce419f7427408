//! A scenario made of a seed: its drive, its parts with their knobs, its load.

use std::fmt::Write;

use nearslot_core::config;
use nearslot_core::contract::Scheduler;
use nearslot_core::drive::KINDS;
use nearslot_core::drive::queued::{DEPTH_KNOB, SCHED_KNOB};
use nearslot_core::drive::zoned;
use nearslot_core::registry::{AnyKind, Knob, KnobKind, Of};
use nearslot_core::rng::Rng;
use nearslot_lab::grid::{self, Point, Vary};
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::workload::Synthetic;
use nearslot_trace::OpenOptions;

use crate::scenarios::drives::{drive as drive_text, one};

/// What the upper end of some knobs costs is time or memory, and nothing else is different there.
const COSTLY: &[(&str, f64)] = &[
    ("requests", 300.0),
    ("aging", 2.0),
    ("disks", 24.0),
    ("dm", 6.0),
    ("copies", 6.0),
    ("arrays", 4.0),
    ("log_region_kib", 4_000.0),
    ("map_tracks", 60.0),
    ("nvram_entries", 20_000.0),
    ("bsu", 2_000.0),
    ("contexts", 3.0),
];

/// A disk of 630 MB.
const ROOMY: &str = "kind = 'hdd'\nrpm = 7200\nheads = 8\ncylinders = 1200\nhead_switch_ms = 0.8\nwrite_settle_ms = 0.4\n\
    seek_ms = [[1, 1.0], [1199, 9.0]]\n[[zones]]\ncylinders = [0, 1199]\nsectors_per_track = 128\n";

/// Knobs of a map's log.
const OF_LOG: [&str; 3] = ["portions", "log_region_kib", "nvram_entries"];

/// Knobs that say how targets and classes of streams are kept, of which these loads have none. They
/// are drawn and left out, so that all else of a seed stays as it is.
const OF_STREAMS: [&str; 4] = [
    "admission",
    "prompt_percent",
    "most_percent",
    "prio_aging_expire_ms",
];

/// The knob of a drive that says what its cache is.
const CACHE_KNOB: &str = "cache";

/// A scenario and the files that it needs.
pub(crate) struct Made {
    folder: tempfile::TempDir,
    drive: String,
    scenario: String,
    trace: Option<String>,
    parts: Vec<String>,
    /// Whether each request is one command, whose parts sum up to its service time.
    pub(crate) plain: bool,
}

impl Made {
    pub(crate) fn new(seed: u64) -> Made {
        let rng = &mut Rng::stream(seed, "scenario");
        let mut parts = Vec::new();
        let mut drive = drive_text(rng);
        let zones = zones_of(seed, &drive);
        let knobs = knobs_of(rng, &drive) + &zones;
        let warmup = one(rng, &["0", "0", "0", "auto", "10%"]);
        let mut scenario =
            format!("seed = {seed}\ndrive = 'drive.toml{knobs}'\nwarmup = '{warmup}'\n");
        // Flash works on several commands at a time, too.
        let mut plain = !knobs.contains("queue_depth") && !drive.starts_with("kind = 'ssd'");
        for (index, kind) in config::KINDS.iter().enumerate() {
            // Without a cache nothing is brought beforehand.
            let has_none = kind.key() == "prefetch" && scenario.contains("cache = 'none'");
            // What most stacks have is in half of them, and the parts of one kind meet all parts of
            // another.
            let chosen = match index > 0 && rng.chance(0.5) || has_none {
                true => kind.default.to_owned(),
                false if kind.key() == "faults" => faults_of(rng, &mut parts),
                false if kind.key() == "claims" => claims_of(rng, &scenario, &mut parts),
                false if kind.key() == "cache" => cache_of(rng, kind.kind, seed, &mut parts),
                false if kind.key() == "prefetch" => prefetch_of(rng, kind.kind, seed, &mut parts),
                false if kind.key() == "buffer" => buffer_of(rng, kind.kind, seed, &mut parts),
                false => part(rng, kind.kind, seed / (index as u64 + 1), &mut parts),
            };
            let alike = ["place", "merge", "cache", "prefetch", "buffer"].contains(&kind.key());
            plain &= !alike || chosen == kind.default;
            let _ = writeln!(scenario, "{} = '{chosen}'", kind.key());
        }
        let knobs = without_idle_protection(&mut scenario, &knobs);
        let first = wanted(&scenario);
        let trace = rng.chance(0.5).then(|| trace(rng, first));
        if let Some(trace) = &trace {
            scenario = without_writes(&scenario, trace.contains(",W,")) + &replay(rng);
        } else {
            let load = synthetic(rng, seed, (&mut drive, &knobs), &mut parts);
            if makes_offers(&load) || !zones.is_empty() {
                scenario = carrying_out_offers(&scenario, &mut parts);
            }
            let load = match zones.is_empty() {
                true => load,
                false => ON_ZONES.to_owned(),
            };
            if load.starts_with("tpcb") {
                scenario = on_a_roomy_drive(&scenario, &mut drive, &knobs);
            }
            scenario = fitting(&scenario, &load);
            let _ = writeln!(scenario, "workload = '{load}'");
        }
        Made {
            folder: tempfile::tempdir().unwrap(),
            drive,
            scenario,
            trace,
            parts,
            plain,
        }
    }

    /// A scenario that is written out, with the drive's file `drive.toml` and perhaps a trace
    /// `trace.csv`.
    pub(crate) fn of(scenario: &str, drive: &str, trace: Option<&str>) -> Made {
        Made {
            folder: tempfile::tempdir().unwrap(),
            drive: drive.to_owned(),
            scenario: scenario.to_owned(),
            trace: trace.map(str::to_owned),
            parts: Vec::new(),
            plain: false,
        }
    }

    /// The parts that it names.
    pub(crate) fn parts(&self) -> Vec<String> {
        self.parts.clone()
    }

    /// All of it, to read.
    pub(crate) fn text(&self) -> String {
        let trace = self.trace.as_deref().unwrap_or_default();
        format!(
            "{}--- drive.toml\n{}--- trace.csv\n{trace}",
            self.scenario, self.drive
        )
    }

    /// Two runs of it, with other seeds, and the trace if it has one; or why it is refused.
    pub(crate) fn load(&self) -> Result<(Vec<Point>, Option<LoadedTrace>), String> {
        let file = |name: &str, text: &str| std::fs::write(self.folder.path().join(name), text);
        file("drive.toml", &self.drive).unwrap();
        if let Some(trace) = &self.trace {
            file("trace.csv", trace).unwrap();
        }
        let folder = self.folder.path();
        let scenario = Scenario::from_toml(&self.scenario, folder).map_err(|e| e.to_string())?;
        let files = match &scenario.load {
            Load::Trace(trace) => Some(trace.files.clone()),
            Load::Workload(_) => None,
        };
        let trace = files.map(|files| LoadedTrace::read(&files, &OpenOptions::default()));
        let trace = trace.transpose().map_err(|e| e.to_string())?;
        let seed = scenario.seed;
        let seeds = Vary {
            key: "seed".to_owned(),
            values: vec![seed.to_string(), (seed + 1).to_string()],
        };
        let points = grid::points(&scenario, &[seeds]).map_err(|e| e.to_string())?;
        Ok((points, trace))
    }
}

/// Hosts with small files; those of chance nearly always contradict each other.
const HOSTS: &[&str] = &[
    "host:beside=2r2w-rand:file=256KiB:memory=1MiB:read_ahead=64KiB:request_max=64KiB:seconds=0.5:sync_every_ms=100",
    "host:beside=3r-seq:file=512KiB:memory=1MiB:read_ahead=0:request_max=4KiB:seconds=0.3",
    "host:beside=3w-seq:file=1MiB:memory=2MiB:read_ahead=0:journal_pages=0:flush_depth=1:seconds=0.5:anonymous=false",
];

/// Range writes in parts of the drive that every drive has; those of chance nearly always lie
/// beyond it.
const RANGES: &[&str] = &[
    "ranges:within=place:size=512:span_blocks=0",
    "ranges:within=span:size=4k:span_blocks=64:depth=3:read_share=0.3",
    "ranges:within=9:targets=7:size=1k:span_blocks=100:align_blocks=2:depth=60:refill=before",
    "ranges:within=track:targets=3:size=512:span_blocks=90:at_block=7",
];

/// The same on zones.
const ON_ZONES: &str =
    "ranges:within=zone:targets=2:size=1k:align_blocks=2:span_blocks=0:depth=5:read_share=0.3";

/// Some of what can be set of a drive, but for its zones.
fn knobs_of(rng: &mut Rng, drive: &str) -> String {
    let kind = KINDS
        .iter()
        .find(|kind| drive.starts_with(&format!("kind = '{}'", kind.name)));
    // A drive without a buffer has no choice of caches.
    let buffered = drive.contains("[buffer]") || drive.contains("\ncache = ");
    let knobs = kind.expect("a kind of the table").knobs.iter();
    let knobs: Vec<Knob> = knobs
        .filter(|knob| knob.name != CACHE_KNOB || buffered)
        .filter(|knob| knob.name != "suspension" || drive.contains("\nsuspension = "))
        .filter(|knob| knob.name != "credits_full" || drive.contains("credits = "))
        .filter(|knob| !zoned::KNOBS.iter().any(|other| other.name == knob.name))
        .cloned()
        .collect();
    settings(rng, &knobs, 0.2)
}

/// Now and then a drive has small zones.
fn zones_of(seed: u64, drive: &str) -> String {
    let mut rng = Rng::stream(seed, "zones of a scenario");
    let kinds = ["kind = 'hdd'", "kind = 'ssd'", "kind = 'null'"];
    if !kinds.iter().any(|kind| drive.starts_with(kind)) || rng.chance(0.94) {
        return String::new();
    }
    let blocks = one(&mut rng, &[8, 64, 256]);
    let more = one(
        &mut rng,
        &["", ":zone_capacity_blocks=7", ":append_max_blocks=2"],
    );
    let empty = match drive.starts_with("kind = 'ssd'") {
        true => ":precondition=empty",
        false => "",
    };
    format!(":zone_blocks={blocks}{more}{empty}")
}

/// Transactions above small journals; those of chance nearly always contradict each other.
const TRANSACTIONS: &[&str] = &[
    "tpcb:transactions=60:branches=1:journal_blocks=64:clients=3:cached_share=0.3:write_back_s=0.1",
    "tpcb:transactions=60:branches=1:journal_blocks=64:skip=profile:think_max_ms=2:skip_max_blocks=300:repeats=1:space=1.2",
    "tpcb:transactions=60:branches=1:journal_blocks=64:skip=ranges:clients=2:data=ordered",
    "tpcb:transactions=90:branches=1:journal_blocks=64:skip=null",
];

/// File systems of small groups, some of them full; those of chance nearly always have no room.
const FILE_SYSTEMS: &[&str] = &[
    "filesystem:offer=none:files=40:group_blocks=256:processes=3:reread=true",
    "filesystem:work=postmark:offer=mini-group:files=20:transactions=30:group_blocks=128:cache_kib=64:depth=5",
    "filesystem:work=untar:offer=group:files=30:group_blocks=256:fill=0.7:cache_kib=128:request_kib=16",
    "filesystem:offer=group:files=60:size_kib=100:group_blocks=1024:fill=0.3:processes=5",
    "filesystem:work=update:offer=none:layout=log:files=300:transactions=300:volume_mib=6:group_blocks=256:cache_kib=128:segment_kib=128:clean_below=4:clean_until=8",
    "filesystem:work=postmark:offer=free:layout=log:files=20:transactions=30:fill=0.4:volume_mib=6:group_blocks=256:cache_kib=64:segment_kib=128:clean_below=4:clean_until=8:depth=5",
];

fn makes_offers(load: &str) -> bool {
    let files = load.starts_with("filesystem") && !load.contains("offer=none");
    files || load.starts_with("ranges") || load.contains("skip=ranges")
}

/// Parts that would refuse range writes are left out.
fn carrying_out_offers(scenario: &str, parts: &mut Vec<String>) -> String {
    let refuses = |line: &str| {
        let key = line.split([' ', '=']).next().unwrap_or_default();
        ["place", "cache", "prefetch", "buffer"].contains(&key)
    };
    parts.retain(|part| !refuses(part));
    let rest = scenario.lines().filter(|line| !refuses(line));
    rest.fold(String::new(), |all, line| all + line + "\n")
}

/// A load whose tables need more room than most of these drives have.
fn on_a_roomy_drive(scenario: &str, drive: &mut String, knobs: &str) -> String {
    ROOMY.clone_into(drive);
    scenario.replacen(&format!("drive.toml{knobs}"), "drive.toml", 1)
}

/// A synthetic load for a drive with these knobs, or a drive for it.
fn synthetic(
    rng: &mut Rng,
    seed: u64,
    (drive, knobs): (&mut String, &str),
    parts: &mut Vec<String>,
) -> String {
    let load = part(rng, Of::<Synthetic>::KIND, seed, parts);
    if load.starts_with("host") {
        return one(rng, HOSTS).to_owned();
    }
    if load.starts_with("ranges") {
        let count = one(rng, &[1, 7, 60, 900]);
        return format!("{}:requests={count}", one(rng, RANGES));
    }
    if load.starts_with("tpcb") {
        return one(rng, TRANSACTIONS).to_owned();
    }
    // Most of these drives are too small for them. The larger one has no buffer, of which a knob
    // may say something.
    let is_disk = drive.starts_with("kind = 'hdd'") || knobs.is_empty();
    let of_buffer = ["cache=", "model="].iter().any(|of| knobs.contains(of));
    let is_files = load.starts_with("filesystem");
    if (is_files || load.starts_with("spc1")) && is_disk && !of_buffer {
        ROOMY.clone_into(drive);
    }
    if is_files {
        return one(rng, FILE_SYSTEMS).to_owned();
    }
    let count = one(rng, &[1, 2, 7, 60, 200]);
    match load.contains(":requests=") {
        true => load,
        false => format!("{load}:requests={count}"),
    }
}

/// What goes wrong, in a few settings: those of chance nearly always contradict each other.
fn faults_of(rng: &mut Rng, parts: &mut Vec<String>) -> String {
    let word = one(
        rng,
        &[
            "none",
            "none",
            "injected:latent_per_tib=4000000:latent_run_blocks=128",
            "injected:latent_per_tib=400000:latent_within_s=60:latent_mend=false:tries_ms=0",
            "injected:timeout_share=0.2:timeout_ms=0.001:slow_add_ms=1000000:slow_share=0.01",
            "injected:gone_at_s=0.05",
            "injected:slow_factor=1000000:slow_share=0.001",
            "injected:slow_factor=3:slow_from_s=0.01:lost_share=0.1:misdirected_share=0.3:torn_share=0.6",
            "injected:rot_per_tib=16777216:rot_within_s=320000000:drive=0",
        ],
    );
    let name = word.split(':').next().unwrap_or(word);
    parts.push(format!("faults {name}"));
    word.to_owned()
}

/// The knobs of a drive, without protected sectors where nothing goes wrong that they see, as they
/// are refused there.
fn without_idle_protection(scenario: &mut String, knobs: &str) -> String {
    let mut seen = ["rot_per_tib", "misdirected_share"].iter();
    if seen.any(|fault| scenario.contains(fault)) {
        return knobs.to_owned();
    }
    let left = knobs.replace(":protection=on", "");
    *scenario = scenario.replacen(
        &format!("drive.toml{knobs}"),
        &format!("drive.toml{left}"),
        1,
    );
    left
}

/// Claims of some streams, where the scheduler goes by them.
fn claims_of(rng: &mut Rng, scenario: &str, parts: &mut Vec<String>) -> String {
    let asks = |name: &str| scenario.contains(&format!("sched = '{name}"));
    if !["bfq", "cfq", "slack"].into_iter().any(asks) {
        parts.push("claims none".to_owned());
        return "none".to_owned();
    }
    let all = [
        "told:weight=0=1000",
        "told:weight=0=1 1=7 2=999:class=1=idle 0=real-time",
        "told:level=0=0 1=7:group=1=3 2=3 3=9",
    ];
    // It goes by weights and groups alone.
    let shares = [
        all[0],
        "told:weight=0=1 1=7 2=999",
        "told:group=1=3 2=3 3=9",
    ];
    let word = one(rng, if asks("slack") { &shares } else { &all });
    parts.push("claims told".to_owned());
    word.to_owned()
}

/// The cache whose turn it is, small or not, with lines of any length.
fn cache_of(rng: &mut Rng, kind: &dyn AnyKind, turn: u64, parts: &mut Vec<String>) -> String {
    let table = kind.parts();
    let usable: Vec<_> = table.iter().filter(|spec| spec.name != "optimal").collect();
    let spec = usable[(turn % usable.len() as u64) as usize];
    parts.push(format!("cache {}", spec.name));
    if spec.name == "none" {
        return spec.name.to_owned();
    }
    let size = one(rng, &["700lines", "4096lines", "64MiB", "20000lines"]);
    let line = one(rng, &[4, 8, 32, 256]);
    let stage = one(rng, &[":stage=line", ":stage=pages"]);
    // A line of one page comes as a whole.
    let stage = if line == 4 { "" } else { stage };
    let writes = one(rng, &["", ":writes=update"]);
    let hit_us = one(rng, &["0", "10", "1000000"]);
    let name = spec.name;
    format!("{name}:size={size}:line_kib={line}{stage}{writes}:hit_us={hit_us}")
}

/// The prefetcher whose turn it is, with tracks as long as any line.
fn prefetch_of(rng: &mut Rng, kind: &dyn AnyKind, turn: u64, parts: &mut Vec<String>) -> String {
    let table = kind.parts();
    let spec = &table[(turn / 3 % table.len() as u64) as usize];
    parts.push(format!("prefetch {}", spec.name));
    let settings: &[&str] = match spec.name {
        "none" => &[""],
        "fixed" => &[":track_kib=256", ":degree=2:track_kib=256"],
        "amp" => &[
            ":track_kib=256:most=4:asynchronous=1:threshold=1",
            ":track_kib=256:most=6:threshold=2",
            ":track_kib=256:most=5:start=3:asynchronous=2:spare=last:threshold=1",
        ],
        _ => &[
            ":track_kib=256:degree=4:trigger=1",
            ":track_kib=256:degree=4:mode=sync:threshold=2",
            ":track_kib=256:degree=2:trigger=0:remedy=false:threshold=2:test=own",
        ],
    };
    format!("{}{}", spec.name, one(rng, settings))
}

/// The write buffer whose turn it is, small or not.
fn buffer_of(rng: &mut Rng, kind: &dyn AnyKind, turn: u64, parts: &mut Vec<String>) -> String {
    let table = kind.parts();
    let spec = &table[(turn / 2 % table.len() as u64) as usize];
    parts.push(format!("buffer {}", spec.name));
    if spec.name == "none" {
        return spec.name.to_owned();
    }
    let size = one(rng, &["64MiB", "2GiB"]);
    let marks = one(rng, &["", ":low_percent=0:high_percent=1", ":full_units=0"]);
    let write_us = one(rng, &["0", "180"]);
    format!("{}:size={size}:write_us={write_us}{marks}", spec.name)
}

/// The part of a kind whose turn it is, with some of its knobs set.
fn part(rng: &mut Rng, kind: &dyn AnyKind, turn: u64, parts: &mut Vec<String>) -> String {
    let table = kind.parts();
    let spec = &table[(turn % table.len() as u64) as usize];
    parts.push(format!("{} {}", kind.card().key, spec.name));
    let often = one(rng, &[0.0, 0.3, 0.6]);
    format!("{}{}", spec.name, settings(rng, spec.knobs, often))
}

/// Settings of a share of the knobs: at both ends and between.
fn settings(rng: &mut Rng, knobs: &[Knob], share: f64) -> String {
    let mut text = String::new();
    for knob in knobs {
        let cap = COSTLY.iter().find(|(name, _)| *name == knob.name);
        let cap = cap.map_or(f64::INFINITY, |(_, cap)| *cap);
        // Without a queue there is nothing to sort, without map sectors nowhere to put them, only a
        // log has a home, one unit has one context, one array has every turn, units need all the
        // room there is, and stripes hold whole units.
        let idle = knob.name == SCHED_KNOB.name && !text.contains(DEPTH_KNOB)
            || knob.name == "map_tracks" && !text.contains("map=virtual_log")
            || knob.name == "targets_ms"
            || knob.name == "extent_stripes" && !text.contains(":arrays=")
            || knob.name == "home" && !text.contains("map=log")
            || knob.name == "nvram_entries" && text.contains("home=drive")
            || knob.name == "contexts" && !text.contains(":bsu=")
            || knob.name == "span" && knobs.iter().any(|knob| knob.name == "bsu")
            || knob.name == "stripe_kib" && knobs.iter().any(|knob| knob.name == "unit_blocks")
            || OF_LOG.contains(&knob.name) && !text.contains("map=log")
            || knob.name.starts_with("hot_") && !text.contains("locality=hot_cold")
            || knob.name == "zipf_exponent" && !text.contains("locality=zipf");
        if rng.chance(share) && !idle {
            let value = value(rng, knob, cap);
            if !OF_STREAMS.contains(&knob.name) {
                let _ = write!(text, ":{}={value}", knob.name);
            }
        }
    }
    text
}

fn value(rng: &mut Rng, knob: &Knob, cap: f64) -> String {
    match &knob.kind {
        KnobKind::Integer { default, min, max } => {
            let max = (*max as f64).min(cap) as i64;
            let between =
                (*min as f64 + rng.unit() * rng.unit() * rng.unit() * (max - min) as f64) as i64;
            let near = default
                .saturating_add(rng.below(5) as i64 - 2)
                .clamp(*min, max);
            one(rng, &[*min, max, between, near]).to_string()
        }
        KnobKind::Number { default, min, max } => {
            let max = max.min(cap);
            let between = min + rng.unit() * rng.unit() * rng.unit() * (max - min);
            let whole = libm::round(*default * (1.0 + rng.unit())).clamp(*min, max);
            // Products of some have to be whole numbers.
            one(rng, &[*min, max, between, whole, whole]).to_string()
        }
        KnobKind::Choice { options, .. } => one(rng, options).to_owned(),
        KnobKind::Text { .. } if knob.name == SCHED_KNOB.name => {
            let parts = Of::<dyn Scheduler>::KIND.parts();
            parts[rng.below(parts.len() as u64) as usize]
                .name
                .to_owned()
        }
        // The only small language there is: sizes of requests.
        KnobKind::Text { .. } => {
            one(rng, &["512", "4k", "3584", "64k", "512/3+20k/1", "1m"]).to_owned()
        }
        KnobKind::Flag { .. } => rng.chance(0.5).to_string(),
    }
}

/// What the first requests of a trace have to be: a cache wants something to be read, a buffer
/// something to be written, and without reads and writes there are no results.
fn wanted(scenario: &str) -> &'static [&'static str] {
    let has = |kind: &str| !scenario.contains(&format!("{kind} = 'none'"));
    match (has("cache"), has("buffer")) {
        (_, false) => &["R"],
        (false, true) => &["W"],
        (true, true) => &["R", "W"],
    }
}

/// A scenario without what its load refuses, of which the settings were chosen before.
fn fitting(scenario: &str, load: &str) -> String {
    let mut scenario = scenario.to_owned();
    if ["host", "tpcb", "filesystem"]
        .iter()
        .any(|open| load.starts_with(open))
    {
        // Nobody knows how many requests they will have been.
        scenario = scenario.replace("warmup = '10%'", "warmup = 'auto'");
    }
    let reads_only = !load.contains("read_share") || load.contains("read_share=1");
    let any = ["iometer", "poisson"]
        .iter()
        .any(|one| load.starts_with(one));
    without_writes(&scenario, !(any && reads_only))
}

/// Where nothing is written a cache has nothing to do about that.
fn without_writes(scenario: &str, writes: bool) -> String {
    match writes {
        true => scenario.to_owned(),
        false => scenario.replace(":writes=update", ""),
    }
}

/// How far writes of a trace may move, in turns.
const MAY_MOVE: [&str; 7] = ["", "none", "track", "", "group", "disk", ""];

/// A small trace with odd sizes.
fn trace(rng: &mut Rng, first: &[&str]) -> String {
    let mut text = "ts_us,op,offset,len,may_move\n".to_owned();
    let span = one(rng, &[40, 2_000, 100_000]);
    let (mut now, mut next) = (0.0, 0);
    for _ in 0..one(rng, &[1, 2, 30, 150]) {
        now += one(rng, &[0.0, 10.0, 1_000.0, 30_000.0]) * rng.unit();
        let len = one(rng, &[1, 7, 8, 16, 45, 128, 300]);
        let at = if rng.chance(0.3) {
            next
        } else {
            rng.below(span)
        };
        next = at + len;
        let number = text.lines().count() - 1;
        match one(rng, &["R", "R", "W", "W", "W", "F", "D"]) {
            "F" if rng.chance(0.5) && number >= first.len() => {
                let _ = writeln!(text, "{now:.3},F,0,0,");
            }
            op => {
                let op = if op == "F" { "R" } else { op };
                let op = first.get(number).copied().unwrap_or(op);
                let (offset, bytes) = (at * 512, len * 512);
                let may_move = MAY_MOVE[number % MAY_MOVE.len()];
                let _ = writeln!(text, "{now:.3},{op},{offset},{bytes},{may_move}");
            }
        }
    }
    text
}

fn replay(rng: &mut Rng) -> String {
    let fit = one(rng, &["none", "wrap", "wrap", "scale", "truncate"]);
    let replay = one(rng, &["open", "closed", "dependent"]);
    let mut text = format!("[trace]\nfiles = ['trace.csv']\nreplay = '{replay}'\nfit = '{fit}'\n");
    match replay {
        "closed" => {
            let _ = writeln!(text, "depth = {}", one(rng, &[1, 2, 16, 1_048_576]));
            let _ = writeln!(text, "refill = '{}'", one(rng, &["after", "before"]));
        }
        _ => {
            let _ = writeln!(text, "speed = {}", one(rng, &["1e-3", "0.7", "1", "1e9"]));
        }
    }
    text
}
