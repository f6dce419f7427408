//! A file system laid out as ext2, in place of requests that come by themselves: processes make,
//! write, read and remove files.
//!
//! What it is made of is told in `lab/src/filesystem/`. Here it is put together of settings. It is
//! the load of the file-system experiments of the study of range writes (OSDI 2008, section 6),
//! whose traces are not published. What the processes do:
//!
//! - *create*: files of one size in one directory, made by all processes in turn. The load of
//!   figures 9 to 11 of the study of range writes (1,000 files of 4 KiB).
//! - *untar*: a source tree, each directory with its files behind it. It stands for the Linux
//!   source of that study, whose version is not told: a directory has 16 files on average, as Bovet
//!   and Cesati count in Linux 2.4 ("Understanding the Linux kernel", second edition, appendix C:
//!   8,750 in 530, 144 MB in all); sizes are log-normal with a median of 4.6 KB and a mean of 10.7
//!   KB, at most 1 MiB, and there are 20,000 files: these are ours.
//! - *postmark*: Katcher, "PostMark: a new file system benchmark", Network Appliance TR3022, 1997,
//!   with its defaults: 500 files of 500 to 10,000 bytes (9.77 KB), 500 transactions, each of which
//!   makes or removes a file and reads one or appends to it, all four alike; one directory, and
//!   everything is removed at the end.
//! - *update*: files as *create* makes them, and then overwrites of whole ones, drawn: uniform, or
//!   nine of ten to a tenth of the files ("hot and cold" of Rosenblum and Ousterhout, TOCS 10 (1),
//!   1992).
//! - *andrew*: after Howard and others, "Scale and performance in a distributed file system", TOCS
//!   6 (1), 1988, as modified by Ousterhout (1990): directories are made, some 70 files of 200 KB
//!   in all are copied into them (from elsewhere: the copies are written, their source is not
//!   read), looked at, read, and compiled. To look at an inode needs no request, as inodes stay in
//!   memory. That compiling takes 20 s of computing, and what it writes, is ours: the study has 23
//!   s in all, hardly any of it for requests.
//!
//! Several processes do the same beside each other, each in a directory of its own; of *create* and
//! *update* each does a part. They take no time but for what they compute and for reads of what is
//! not in memory, and stand still while half of the cache has to be written. A write goes as soon
//! as there is room in the queue.

use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::offer::Offer;
use nearslot_core::op::Failure;
use nearslot_core::registry::{ConfigError, Knob, KnobValue, Knobs, Spec};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::Instant;

use super::{LoadEnv, Synthetic, Workload, given_up};
use crate::filesystem::log::LogSettings;
use crate::filesystem::machine::Machine;
use crate::filesystem::segments::CleanBy;
use crate::filesystem::shape::{BYTES, GROUP_MAX, GROUP_STEP, INODES, SECTORS, Shape};
use crate::filesystem::skips::Skips;
use crate::filesystem::work::{self, Work};
use crate::filesystem::{self, FileSystem, Offering, Settings};
use crate::memo::once;
use crate::outcome::{Number, ProcessFound};

/// Blocks of a MiB.
const MIB: u64 = (1 << 20) / BYTES;
/// The volume, if nothing is said, in MiB: 16 GiB, or the whole drive where that is smaller.
const VOLUME_MIB: u64 = 16 << 10;
/// The least that a request of a log may have, in KiB.
const REQUEST_OF_LOG: u64 = 32;

struct Files(Machine);

impl Workload for Files {
    fn next_arrival(&self) -> Option<Instant> {
        self.0.due()
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.0.next(now)
    }

    fn offer(&mut self) -> (Arc<Offer>, u64) {
        self.0.offer()
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.0.answered(now, reply);
    }

    /// What others have left no room for goes again, and is told as `exhausted`.
    fn asks_again(&self, failure: Failure) -> bool {
        failure == Failure::Exhausted
    }

    fn processes(&self) -> Vec<ProcessFound> {
        self.0.processes()
    }

    fn measures(&self) -> (&'static str, Vec<(&'static str, Number)>) {
        (filesystem::KEY, self.0.measures())
    }
}

/// What the processes do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Files of one size in one directory.
    Create,
    /// A source tree is unpacked.
    Untar,
    /// PostMark.
    PostMark,
    /// The modified Andrew benchmark.
    Andrew,
    /// Files that are overwritten.
    Update,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Create,
        Kind::Untar,
        Kind::PostMark,
        Kind::Andrew,
        Kind::Update,
    ];

    fn word(self) -> &'static str {
        match self {
            Kind::Create => "create",
            Kind::Untar => "untar",
            Kind::PostMark => "postmark",
            Kind::Andrew => "andrew",
            Kind::Update => "update",
        }
    }

    /// How many files there are if nothing is said.
    fn files(self) -> u64 {
        match self {
            Kind::Create | Kind::Update => 1_000,
            Kind::Untar => 20_000,
            Kind::PostMark => 500,
            Kind::Andrew => 0,
        }
    }
}

const WORK: Knob = Knob::choice(
    "work",
    "create",
    &["create", "untar", "postmark", "andrew", "update"],
    "what processes do: make files of one size in one directory, unpack a source tree, PostMark, the modified Andrew benchmark, make files and overwrite them",
);
const LAYOUT: Knob = Knob::choice(
    "layout",
    "ext2",
    &["ext2", "log"],
    "where blocks lie: in groups as in ext2, or in a log whose segments are cleaned",
);
const OFFER: Knob = Knob::choice(
    "offer",
    "none",
    &["none", "mini-group", "group", "runs", "free"],
    "what of the place of new blocks is left to the drive: nothing, where in the mini-group, where in the group; runs is our own allocator, which joins new blocks of many files and places them by a measured table; free is for a log: anywhere in what is free",
);
const ORDERED: Knob = Knob::flag(
    "ordered",
    false,
    "whether inodes and indirect blocks go behind what they point to where nothing is offered; they always do where something is",
);
const PROCESSES: Knob = Knob::integer(
    "processes",
    1,
    1..=1_024,
    "how many there are; each does the work in a directory of its own, but of create and update a part",
);
const FILES: Knob = Knob::integer(
    "files",
    0,
    0..=1_000_000,
    "files that create and update make in all, and untar and postmark for each process; 0 for 1,000, 20,000 and 500",
);
const SIZE: Knob = Knob::integer(
    "size_kib",
    4,
    1..=1_048_576,
    "KiB of each file that create and update make",
);
const TRANSACTIONS: Knob = Knob::integer(
    "transactions",
    500,
    0..=1_000_000,
    "transactions of postmark, for each process, and overwrites of update in all",
);
const HOT: Knob = Knob::flag(
    "hot",
    false,
    "whether nine of ten overwrites go to a tenth of the files",
);
const FILL: Knob = Knob::number(
    "fill",
    0.0,
    0.0..=1.0,
    "share of every group, or of the log, that is full beforehand, blocks drawn at random",
);
const SEGMENT: Knob = Knob::integer(
    "segment_kib",
    512,
    128..=65_536,
    "KiB of a segment of the log, in steps of 4",
);
const CLEAN_BELOW: Knob = Knob::integer(
    "clean_below",
    8,
    4..=1 << 20,
    "cleaning begins when less than so many segments are free, besides room for what is dirty and for inodes",
);
const CLEAN_UNTIL: Knob = Knob::integer(
    "clean_until",
    16,
    5..=1 << 20,
    "and it ends when so many are",
);
const CLEAN_BY: Knob = Knob::choice(
    "clean_by",
    "cost-benefit",
    &["cost-benefit", "greedy"],
    "which segment is cleaned first: that with the most to gain, times its age, to what it costs; or that with the fewest live blocks",
);
const CHECKPOINT: Knob = Knob::integer(
    "checkpoint_kib",
    16_384,
    512..=1 << 30,
    "KiB that are written from one checkpoint of the log to the next at most, in steps of 4",
);
const DEPTH: Knob = Knob::integer("depth", 16, 1..=65_536, "requests in flight at most");
const CACHE: Knob = Knob::integer(
    "cache_kib",
    16_384,
    8..=1 << 30,
    "KiB that are kept in memory, in steps of 8; half of it may wait to be written",
);
const REQUEST: Knob = Knob::integer(
    "request_kib",
    128,
    4..=1_048_576,
    "KiB of a request at most, in steps of 4",
);
const GROUP: Knob = Knob::integer(
    "group_blocks",
    GROUP_MAX as i64,
    GROUP_STEP as i64..=GROUP_MAX as i64,
    "4-KiB blocks of a group, in steps of 128",
);
const VOLUME: Knob = Knob::integer(
    "volume_mib",
    0,
    0..=1 << 20,
    "MiB of the drive that are used, from its front; 0 for 16 GiB, or all where that is less",
);
const REREAD: Knob = Knob::flag(
    "reread",
    false,
    "whether all files are read when all is written, one after another, with nothing in memory",
);

/// Whether a load of this workload makes range writes.
pub(super) fn offers(part: &PartConfig) -> bool {
    let is_it = part.name == SPEC.name || SPEC.aliases.contains(&part.name.as_str());
    let mut knobs = part.knobs.iter();
    let told = knobs.rfind(|(key, _)| key == OFFER.name);
    is_it && told.is_some_and(|(_, value)| *value != KnobValue::Text("none".to_owned()))
}

/// Refuses settings that have no effect here.
fn check_read(knobs: &Knobs, kind: Kind) -> Result<(), ConfigError> {
    let of: [(Knob, &[Kind]); 5] = [
        (
            FILES,
            &[Kind::Create, Kind::Untar, Kind::PostMark, Kind::Update],
        ),
        (SIZE, &[Kind::Create, Kind::Update]),
        (TRANSACTIONS, &[Kind::PostMark, Kind::Update]),
        (HOT, &[Kind::Update]),
        // PostMark leaves nothing to be read.
        (
            REREAD,
            &[Kind::Create, Kind::Untar, Kind::Andrew, Kind::Update],
        ),
    ];
    for (knob, kinds) in &of {
        let given = knobs.first_given(std::iter::once(knob));
        if let Some((_, value)) = given.filter(|_| !kinds.contains(&kind)) {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            let allowed = format!(
                "beside work={}; here it has no effect",
                words.join(" or work=")
            );
            let key = format!("filesystem.{}", knob.name);
            return Err(ConfigError::value(&key, &value.to_string(), &allowed));
        }
    }
    check_layout(knobs)?;
    let given = knobs.first_given(std::iter::once(&ORDERED));
    if let Some((_, value)) = given.filter(|_| knobs.choice("offer") != "none") {
        let allowed = "beside offer=none; what is offered is always in order";
        return Err(ConfigError::value(
            "filesystem.ordered",
            &value.to_string(),
            allowed,
        ));
    }
    Ok(())
}

/// Refuses what is of another layout.
fn check_layout(knobs: &Knobs) -> Result<(), ConfigError> {
    let (is_log, offer) = (knobs.choice("layout") == "log", knobs.choice("offer"));
    let allowed = match is_log {
        true => &["none", "free"][..],
        false => &["none", "mini-group", "group", "runs"],
    };
    if !allowed.contains(&offer) {
        let layout = knobs.choice("layout");
        let allowed = format!("{} beside layout={layout}", allowed.join(", "));
        return Err(ConfigError::value("filesystem.offer", offer, &allowed));
    }
    let of_log = [SEGMENT, CLEAN_BELOW, CLEAN_UNTIL, CLEAN_BY, CHECKPOINT];
    let (of, layout) = match is_log {
        true => (&[ORDERED][..], "ext2"),
        false => (&of_log[..], "log"),
    };
    for knob in of {
        if let Some((_, value)) = knobs.first_given(std::iter::once(knob)) {
            let allowed = format!("beside layout={layout}; here it has no effect");
            let key = format!("filesystem.{}", knob.name);
            return Err(ConfigError::value(&key, &value.to_string(), &allowed));
        }
    }
    Ok(())
}

fn wrong(key: &str, value: u64, allowed: &str) -> ConfigError {
    ConfigError::value(&format!("filesystem.{key}"), &value.to_string(), allowed)
}

/// A setting that is a multiple of so much.
fn stepped(knobs: &Knobs, knob: &Knob, step: u64) -> Result<u64, ConfigError> {
    let value = knobs.integer(knob.name);
    match value.is_multiple_of(step) {
        true => Ok(value),
        false => Err(wrong(knob.name, value, &format!("a multiple of {step}"))),
    }
}

/// The groups of the part of the drive that is used.
fn shape(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Shape, ConfigError> {
    let drive = env.capacity.0 / SECTORS;
    let asked = knobs.integer("volume_mib");
    let group = stepped(knobs, &GROUP, GROUP_STEP)?;
    let volume = match asked {
        0 => drive.min(VOLUME_MIB * MIB),
        asked => asked * MIB,
    };
    if volume > drive {
        let allowed = format!("at most the drive, {} MiB", drive / MIB);
        return Err(wrong("volume_mib", asked, &allowed));
    }
    // A write that finds no room in its mini-group is offered its group.
    let lists = knobs.choice("offer") != "none";
    // What a write may be offered at most.
    let offered = match knobs.choice("layout") {
        "log" => Some(("volume_mib", volume, MIB)),
        "ext2" => Some((GROUP.name, group, 1)),
        _ => None,
    };
    let offered = offered.filter(|(_, blocks, _)| lists && *blocks > env.places_max);
    if let Some((name, blocks, unit)) = offered {
        let allowed = format!(
            "at most {}, as this scheduler lists the places of an offer one by one",
            env.places_max / unit
        );
        return Err(wrong(name, blocks / unit, &allowed));
    }
    Shape::new(group, volume).ok_or_else(|| {
        let allowed = format!("at most {volume}, which are all blocks of the volume");
        wrong("group_blocks", group, &allowed)
    })
}

/// What the processes do.
fn work(knobs: &Knobs, kind: Kind, rng: &mut Rng) -> Work {
    let processes = knobs.integer("processes");
    let files = match knobs.integer("files") {
        0 => kind.files(),
        files => files,
    };
    match kind {
        Kind::Create => work::create(files, knobs.integer("size_kib") << 10, processes),
        Kind::Untar => work::untar(files, processes, rng),
        Kind::PostMark => work::postmark(files, knobs.integer("transactions"), processes, rng),
        Kind::Andrew => work::andrew(processes, rng),
        Kind::Update => {
            let made = (files, knobs.integer("size_kib") << 10, processes);
            work::update(made, knobs.integer("transactions"), knobs.flag("hot"), rng)
        }
    }
}

/// How a log goes, if it is one.
fn log(knobs: &Knobs, shape: &Shape) -> Result<Option<LogSettings>, ConfigError> {
    if knobs.choice("layout") != "log" {
        return Ok(None);
    }
    let blocks = |knob: &Knob| Ok::<u64, ConfigError>(stepped(knobs, knob, 4)? / (BYTES >> 10));
    let log = LogSettings {
        segment_blocks: blocks(&SEGMENT)?,
        offers: knobs.choice("offer") == "free",
        clean_below: knobs.integer("clean_below"),
        clean_until: knobs.integer("clean_until"),
        clean_by: match knobs.choice("clean_by") {
            "greedy" => CleanBy::Greedy,
            _ => CleanBy::CostBenefit,
        },
        checkpoint_blocks: blocks(&CHECKPOINT)?,
    };
    if log.clean_until <= log.clean_below {
        let allowed = format!("above clean_below, {}", log.clean_below);
        return Err(wrong("clean_until", log.clean_until, &allowed));
    }
    let request = knobs.integer("request_kib");
    if request < REQUEST_OF_LOG {
        let allowed =
            format!("at least {REQUEST_OF_LOG} beside layout=log, as each write has a summary");
        return Err(wrong("request_kib", request, &allowed));
    }
    let segments = log.segments(shape);
    if segments < 2 * log.clean_until {
        let allowed = format!(
            "at most half of the segments of the volume, {segments} (segment_kib, volume_mib)"
        );
        return Err(wrong("clean_until", log.clean_until, &allowed));
    }
    Ok(Some(log))
}

/// Whether a log has room for what is there beforehand.
fn check_fill(
    log: &LogSettings,
    shape: &Shape,
    settings: &Settings,
    fill: f64,
) -> Result<(), ConfigError> {
    let all = log.segments(shape) * log.segment_blocks;
    let dirty = settings.cache_blocks / 2;
    let room = log.room(shape, dirty, settings.request_blocks);
    // What leads to all that needs room as well.
    let most = room.saturating_sub(room / 512) as f64 / all as f64;
    if fill > most {
        let allowed =
            format!("at most {most:.3}, the rest is kept for the cleaner and what is dirty");
        return Err(ConfigError::value(
            "filesystem.fill",
            &fill.to_string(),
            &allowed,
        ));
    }
    Ok(())
}

/// What skips cost the drive, measured once for all runs that ask for the same.
///
/// # Errors
/// Nobody wants it any more.
fn skips(shape: &Shape, env: &LoadEnv<'_>) -> Result<Arc<Skips>, ConfigError> {
    let below = env.drive.expect("who prepares a load tells it");
    let blocks = shape.groups() * shape.group_blocks();
    let key = format!("filesystem skips {blocks} {}", below.identity);
    let measure = || Skips::measure(below.blueprint, blocks, &|| below.memo.wants());
    once(below.memo, &key, measure, Skips::bytes).ok_or_else(given_up)
}

fn machine(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Machine, ConfigError> {
    let is_asked = |kind: &Kind| kind.word() == knobs.choice("work");
    let kind = Kind::ALL.into_iter().find(is_asked);
    let kind = kind.expect("the card accepted it");
    check_read(knobs, kind)?;
    let shape = shape(knobs, env)?;
    let settings = Settings {
        offering: match knobs.choice("offer") {
            "mini-group" => Offering::MiniGroup,
            "group" => Offering::Group,
            "runs" => Offering::Runs(skips(&shape, env)?),
            _ => Offering::None,
        },
        ordered: knobs.flag("ordered"),
        request_blocks: stepped(knobs, &REQUEST, 4)? / (BYTES >> 10),
        cache_blocks: stepped(knobs, &CACHE, 8)? / (BYTES >> 10),
        log: log(knobs, &shape)?,
    };
    if let Some(log) = &settings.log {
        check_fill(log, &shape, &settings, knobs.number("fill"))?;
    }
    let rng = &mut Rng::stream(env.seed, env.label);
    let work = work(knobs, kind, rng);
    let of_log = settings.log;
    let files = FileSystem::new(shape, settings, knobs.number("fill"), rng);
    // What PostMark removes makes room for what it makes.
    let inodes = match of_log.is_some() {
        // A log writes inodes to where it writes all else.
        true => u64::from(work.names).div_ceil(INODES) + 2,
        false => 0,
    };
    let (needs, has) = (work.blocks() + inodes, files.room());
    if kind != Kind::PostMark && needs > has {
        let allowed = format!(
            "what fits: it needs {needs} blocks of 4 KiB, and {has} are free (files, fill, volume_mib)"
        );
        return Err(ConfigError::value("filesystem.work", kind.word(), &allowed));
    }
    let reread = knobs.flag("reread");
    Ok(Machine::new(files, work, knobs.integer("depth"), reread))
}

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "filesystem",
    aliases: &["ext2"],
    summary: "processes over a file system laid out as ext2 or as a log, which chooses the place of each block or offers what its policy leaves open",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008, section 6; policies of ext2 in Linux 2.6; Rosenblum and Ousterhout, The design and implementation of a log-structured file system, TOCS 10 (1), 1992",
    knobs: &[
        WORK,
        LAYOUT,
        OFFER,
        ORDERED,
        PROCESSES,
        FILES,
        SIZE,
        TRANSACTIONS,
        HOT,
        FILL,
        DEPTH,
        CACHE,
        REQUEST,
        GROUP,
        VOLUME,
        SEGMENT,
        CLEAN_BELOW,
        CLEAN_UNTIL,
        CLEAN_BY,
        CHECKPOINT,
        REREAD,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        Ok(Box::new(Synthetic {
            workload: Box::new(Files(machine(knobs, env)?)),
            requests: None,
            depth: None,
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::access::tests::synthetic;

    #[test]
    fn what_has_no_effect_or_does_not_fit_is_refused() {
        for (word, expected) in [
            (
                "work=andrew:files=7",
                "files = 7 (allowed: beside work=create or work=untar or work=postmark or work=update; here it has no effect",
            ),
            (
                "work=untar:size_kib=4",
                "size_kib = 4 (allowed: beside work=create or work=update;",
            ),
            (
                "transactions=500",
                "transactions = 500 (allowed: beside work=postmark or work=update;",
            ),
            (
                "work=postmark:reread=true",
                "reread = true (allowed: beside work=create",
            ),
            (
                "group_blocks=1024:request_kib=6",
                "request_kib = 6 (allowed: a multiple of 4",
            ),
            (
                "group_blocks=1024:cache_kib=12",
                "cache_kib = 12 (allowed: a multiple of 8",
            ),
            (
                "group_blocks=200",
                "group_blocks = 200 (allowed: a multiple of 128",
            ),
            (
                "volume_mib=99999",
                "volume_mib = 99999 (allowed: at most the drive, ",
            ),
            (
                "group_blocks=32768:volume_mib=1",
                "group_blocks = 32768 (allowed: at most 256, which are all",
            ),
            (
                "group_blocks=128:volume_mib=1",
                "work = create (allowed: what fits: it needs 1006 blocks of 4 KiB, and 245 are free",
            ),
            ("offer=track", "offer = track (allowed: "),
            ("hot=true", "hot = true (allowed: beside work=update;"),
            (
                "offer=runs:ordered=true",
                "ordered = true (allowed: beside offer=none;",
            ),
            (
                "offer=group:ordered=true",
                "ordered = true (allowed: beside offer=none;",
            ),
        ] {
            let error = synthetic(&format!("filesystem:{word}")).err().expect(word);
            assert!(error.to_string().contains(expected), "{word}: {error}");
        }
    }

    #[test]
    fn what_does_not_fit_a_log_is_refused() {
        for (word, expected) in [
            (
                "layout=log:offer=group",
                "offer = group (allowed: none, free beside layout=log",
            ),
            (
                "offer=free",
                "offer = free (allowed: none, mini-group, group, runs beside layout=ext2",
            ),
            (
                "clean_by=greedy",
                "clean_by = greedy (allowed: beside layout=log; here it has no effect",
            ),
            (
                "layout=log:ordered=true",
                "ordered = true (allowed: beside layout=ext2;",
            ),
            (
                "group_blocks=1024:layout=log:clean_below=8:clean_until=8",
                "clean_until = 8 (allowed: above clean_below, 8",
            ),
            (
                "group_blocks=1024:layout=log:volume_mib=15",
                "clean_until = 16 (allowed: at most half of the segments of the volume, 23",
            ),
            (
                "group_blocks=1024:layout=log:request_kib=28",
                "request_kib = 28 (allowed: at least 32 beside layout=log",
            ),
            (
                "group_blocks=1024:layout=log:segment_kib=130",
                "segment_kib = 130 (allowed: a multiple of 4",
            ),
            (
                "group_blocks=1024:layout=log:volume_mib=32:fill=0.9",
                "fill = 0.9 (allowed: at most 0.",
            ),
        ] {
            let error = synthetic(&format!("filesystem:{word}")).err().expect(word);
            assert!(error.to_string().contains(expected), "{word}: {error}");
        }
    }

    #[test]
    fn range_writes_are_made_if_something_is_offered() {
        for (word, expected) in [
            ("filesystem", false),
            ("ext2:offer=none", false),
            ("ext2:offer=group", true),
            ("filesystem:offer=mini-group", true),
            ("filesystem:offer=runs", true),
            ("filesystem:layout=log", false),
            ("filesystem:layout=log:offer=free", true),
        ] {
            assert_eq!(offers(&word.parse().unwrap()), expected, "{word}");
        }
    }
}
