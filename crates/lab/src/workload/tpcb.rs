//! Transactions like those of TPC-B above a journal, whose log may skip.
//!
//! Each client changes an account, a teller, its branch and the history, and waits until that is
//! committed. The journal is that of ext3: a descriptor with the changed pages, a wait, and a
//! commit block, synchronously; who comes meanwhile goes with the next commit. Pages go home later,
//! or, with `data=ordered`, before each commit. The journal lies on a drive of its own or beside
//! the tables, and writes where its blocks have their places (`skip=none`), where a measured table
//! says that it is quickest (`profile`), where the drive finds it quickest among all that is free
//! (`ranges`), or not at all (`null`).
//!
//! This is the load of the case study of range writes: Anand and others, "Avoiding file system
//! micromanagement with range writes", OSDI 2008, section 6. Neither its benchmark's size nor its
//! times are published, so all of that is a setting. It is no TPC-B result. The parts lie in
//! `workload/tpcb/`, the log that skips in `skiplog`.

use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::io::WriteCache;
use nearslot_core::offer::Offer;
use nearslot_core::registry::{ConfigError, Knob, Knobs, Spec, written};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

use self::journal::{Journal, Skip};
use self::machine::{Machine, Settings};
use self::tables::Tables;
use super::{Below, LoadEnv, Synthetic, Workload, given_up};
use crate::memo::once;
use crate::outcome::{Number, Progress};
use crate::skiplog::{Grid, PAYLOAD_BLOCKS, Profile, SLOT_BLOCKS};

mod found;
mod journal;
mod machine;
mod tables;

struct Tpcb(Machine);

impl Workload for Tpcb {
    fn next_arrival(&self) -> Option<Instant> {
        self.0.due()
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.0.next(now)
    }

    fn offer(&mut self) -> (Arc<Offer>, u64) {
        let (offer, heard) = self.0.offer();
        (Arc::new(offer), heard)
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.0.answered(now, reply);
    }

    fn streams(&self) -> &[String] {
        self.0.streams()
    }

    fn measures(&self) -> (&'static str, Vec<(&'static str, Number)>) {
        (super::MEASURED, self.0.measures())
    }

    fn works(&self) -> bool {
        self.0.progress().done > 0.0
    }

    fn progress(&self, _now: Instant) -> Option<Progress> {
        Some(self.0.progress())
    }
}

/// Whether a load of this kind makes range writes.
pub(super) fn offers(part: &PartConfig) -> bool {
    let skip = part.knobs.iter().find(|(name, _)| name == SKIP.name);
    skip.is_some_and(|(_, value)| value.to_string() == "ranges")
}

pub(super) const CLIENTS: Knob = Knob::integer(
    "clients",
    1,
    1..=4_096,
    "clients, each with one transaction at a time",
);
const TRANSACTIONS: Knob = Knob::integer(
    "transactions",
    2_000,
    1..=1_000_000_000,
    "transactions after which the run ends",
);
const WORK: Knob = Knob::number(
    "work_us",
    500.0,
    0.0..=1e9,
    "what a client works for a transaction on average: from half to one and a half of it",
);
const COMMIT_WAIT: Knob = Knob::number(
    "commit_wait_us",
    500.0,
    0.0..=1e9,
    "time on average between the end of descriptor and data and the commit block: from half to one and a half of it",
);
const CACHED: Knob = Knob::number(
    "cached_share",
    1.0,
    0.0..=1.0,
    "share of transactions that find their account in memory; tellers, branches and the history always are",
);
const BRANCHES: Knob = Knob::integer(
    "branches",
    10,
    1..=1_000_000,
    "branches, each with 100,000 accounts on 2,500 pages of 4 KiB",
);
const JOURNAL: Knob = Knob::choice(
    "journal",
    "same",
    &["same", "own"],
    "where the journal lies: before the tables on the same drive, or on the first drive of place=concat, with the tables on the second",
);
const BLOCKS: Knob = Knob::integer(
    "journal_blocks",
    8_192,
    64..=4_194_304,
    "blocks of 4 KiB of the journal",
);
const AT: Knob = Knob::integer(
    "at_block",
    0,
    0..=i64::MAX,
    "512-byte block at which the region of the journal begins",
);
const DATA: Knob = Knob::choice(
    "data",
    "journaled",
    &["journaled", "ordered"],
    "what goes into the journal: the changed pages, which go home later; or a block of inodes, and the pages go home before each commit",
);
pub(super) const SKIP: Knob = Knob::choice(
    "skip",
    "none",
    &["none", "profile", "ranges", "null"],
    "where the journal writes: each block at its place, where a measured table says, where the drive finds it quickest among all free blocks, or nowhere",
);
const SPACE: Knob = Knob::number(
    "space",
    2.0,
    1.1..=64.0,
    "region of a log that skips, as a multiple of the journal",
);
const FORCE: Knob = Knob::flag(
    "force",
    true,
    "whether writes of the journal end on the medium, past the write cache of the drive",
);
const THINK_STEP: Knob = Knob::number(
    "think_step_us",
    200.0,
    1.0..=1e6,
    "step of the table's think times; 50 is the published one",
);
const THINK_MAX: Knob = Knob::number(
    "think_max_ms",
    80.0,
    0.0..=1e5,
    "the longest think time of the table",
);
const SKIP_STEP: Knob = Knob::integer(
    "skip_step_blocks",
    8,
    1..=65_536,
    "step of the table's skips in 512-byte blocks; 1 is the published one",
);
const SKIP_MAX: Knob = Knob::integer(
    "skip_max_blocks",
    1_200,
    0..=4_194_304,
    "the longest skip of the table in 512-byte blocks",
);
const REPEATS: Knob = Knob::integer(
    "repeats",
    3,
    1..=1_000,
    "how often each entry of the table is measured",
);
const WRITE_BACK: Knob = Knob::number(
    "write_back_s",
    30.0,
    0.001..=1e6,
    "age at which a changed page goes home",
);
const DEPTH: Knob = Knob::integer(
    "write_back_depth",
    64,
    1..=65_536,
    "pages that go home at once",
);

/// Knobs that only a log that skips reads, and only one with a table.
const OF_SKIPPING: [&Knob; 1] = [&SPACE];
const OF_TABLE: [&Knob; 5] = [&THINK_STEP, &THINK_MAX, &SKIP_STEP, &SKIP_MAX, &REPEATS];

/// Entries of a table at most: 10 bytes each.
const ENTRIES_MAX: u64 = 20_000_000;

fn wrong<T>(key: &str, value: &str, allowed: &str) -> Result<T, ConfigError> {
    Err(ConfigError::value(&format!("tpcb.{key}"), value, allowed))
}

/// Refuses knobs that have no effect here.
fn check_read(knobs: &Knobs, below: &Below<'_>) -> Result<(), ConfigError> {
    let skip = knobs.choice(SKIP.name);
    let refuse = |of: &[&'static Knob], there: bool, allowed: &str| {
        let set = knobs.first_given(of.iter().copied()).filter(|_| !there);
        set.map_or(Ok(()), |(knob, value)| {
            wrong(knob.name, &value.to_string(), allowed)
        })
    };
    let skips = ["profile", "ranges"].contains(&skip);
    refuse(
        &OF_SKIPPING,
        skips,
        "beside skip=profile or skip=ranges, without which it has no effect",
    )?;
    refuse(
        &OF_TABLE,
        skip == "profile",
        "beside skip=profile, without which it has no effect",
    )?;
    refuse(
        &[&FORCE],
        skip != "null" && below.blueprint.cache() != WriteCache::Off,
        "where the journal writes, on a drive with a write cache, without which it has no effect",
    )
}

/// Where the region of the journal lies, in blocks, and the slots that it has room for; where the
/// tables begin.
struct Layout {
    first: u64,
    slots: u64,
    tables: u64,
}

/// Pages of tables and history, and the one of inodes behind them.
fn pages(knobs: &Knobs) -> u64 {
    let transactions = knobs.integer(TRANSACTIONS.name) + knobs.integer(CLIENTS.name);
    Tables::pages(knobs.integer(BRANCHES.name), transactions) + 1
}

fn layout(knobs: &Knobs, env: &LoadEnv<'_>, below: &Below<'_>) -> Result<Layout, ConfigError> {
    let (journal, skip) = (knobs.choice(JOURNAL.name), knobs.choice(SKIP.name));
    let own = journal == "own";
    if own && below.place != "concat" {
        return wrong(
            JOURNAL.name,
            journal,
            "same, or place=concat:disks=2 beside it, whose first drive it has then",
        );
    }
    if skip == "profile" && !["linear", "concat"].contains(&below.place) {
        let allowed = format!(
            "none or null: the table is of a drive, and place={} puts blocks elsewhere",
            below.place
        );
        return wrong(SKIP.name, skip, &allowed);
    }
    let drive = below.blueprint.capacity().0;
    let end = if own { drive } else { env.capacity.0 };
    // The same for all ways, so that tables lie where they lie; slots at multiples of their length,
    // as offers are.
    let blocks = knobs.integer(BLOCKS.name);
    let slots = libm::floor(blocks as f64 * knobs.number(SPACE.name)) as u64;
    let at = knobs.integer(AT.name);
    let first = at.min(end).next_multiple_of(SLOT_BLOCKS);
    let behind = first + slots * SLOT_BLOCKS;
    if behind > end {
        let allowed = format!(
            "at most {}, so that a region of {} blocks ends with the {}",
            end.saturating_sub((slots + 1) * SLOT_BLOCKS),
            slots * SLOT_BLOCKS,
            if own { "drive" } else { "volume" },
        );
        return wrong(AT.name, &at.to_string(), &allowed);
    }
    let behind = behind.next_multiple_of(PAYLOAD_BLOCKS);
    let tables = if own { drive } else { behind };
    let (branches, transactions) = (
        knobs.integer(BRANCHES.name),
        knobs.integer(TRANSACTIONS.name),
    );
    let pages = pages(knobs);
    if tables + pages * PAYLOAD_BLOCKS > env.capacity.0 {
        let room = env.capacity.0.saturating_sub(tables) / PAYLOAD_BLOCKS;
        let allowed = format!(
            "so many that tables and history have room on {room} pages; with {transactions} transactions they need {pages}"
        );
        return wrong(BRANCHES.name, &branches.to_string(), &allowed);
    }
    Ok(Layout {
        first,
        slots,
        tables,
    })
}

/// The grid of the table.
fn grid(knobs: &Knobs, region: u64) -> Result<Grid, ConfigError> {
    let step = knobs.number(THINK_STEP.name);
    let most = knobs.number(THINK_MAX.name);
    let skip_step = knobs.integer(SKIP_STEP.name);
    let grid = Grid {
        think_step: Duration::from_ms_f64(step / 1e3),
        thinks: libm::floor(most * 1e3 / step) as u64 + 1,
        skip_step,
        skips: knobs.integer(SKIP_MAX.name) / skip_step + 1,
        repeats: knobs.integer(REPEATS.name),
    };
    if grid.entries() > ENTRIES_MAX || grid.skips > Profile::SKIPS_MAX {
        let allowed = format!(
            "steps that make at most {ENTRIES_MAX} entries and {} skips; these make {} think times by {} skips",
            Profile::SKIPS_MAX,
            grid.thinks,
            grid.skips
        );
        return wrong(THINK_STEP.name, &written(step), &allowed);
    }
    if grid.reach() > region {
        let allowed = format!("at most {}, within the region", region - PAYLOAD_BLOCKS);
        let most = knobs.integer(SKIP_MAX.name).to_string();
        return wrong(SKIP_MAX.name, &most, &allowed);
    }
    Ok(grid)
}

/// The table of a drive, measured once for all runs that ask for the same.
///
/// # Errors
/// Nobody wants it any more.
fn profile(
    below: &Below<'_>,
    region: (u64, u64),
    grid: Grid,
    force: bool,
) -> Result<Arc<Profile>, ConfigError> {
    let key = format!("skiplog {region:?} {grid:?} {force} {}", below.identity);
    let go_on = || below.memo.wants();
    let measure = || Profile::measure(below.blueprint, region.0..region.1, grid, force, &go_on);
    once(below.memo, &key, measure, Profile::bytes).ok_or_else(given_up)
}

fn machine(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Machine, ConfigError> {
    let below = env.drive.expect("who prepares a load tells it");
    check_read(knobs, &below)?;
    let Layout {
        first,
        slots,
        tables,
    } = layout(knobs, env, &below)?;
    let (clients, blocks) = (knobs.integer(CLIENTS.name), knobs.integer(BLOCKS.name));
    // All pages of a commit may differ, and a quarter of the ring is free when it begins to be
    // short.
    if (4 * clients + 2) * 4 > blocks {
        let allowed = format!(
            "at least {}, four commits of all clients",
            (4 * clients + 2) * 4
        );
        return wrong(BLOCKS.name, &blocks.to_string(), &allowed);
    }
    let force = knobs.flag(FORCE.name);
    let region = (first, first + slots * SLOT_BLOCKS);
    let skip = match knobs.choice(SKIP.name) {
        "profile" => {
            let grid = grid(knobs, region.1 - region.0)?;
            Skip::Profile(profile(&below, region, grid, force)?)
        }
        "ranges" if slots > env.places_max => {
            let allowed = format!(
                "none, profile or null: it offers up to {slots} places, and this scheduler lists them one by one, {} at most",
                env.places_max
            );
            return wrong(SKIP.name, "ranges", &allowed);
        }
        "ranges" => Skip::Ranges,
        "null" => Skip::Null,
        _ => Skip::None,
    };
    let us = |knob: &Knob| Duration::from_ms_f64(knobs.number(knob.name) / 1e3);
    let age = Duration::from_ms_f64(knobs.number(WRITE_BACK.name) * 1e3);
    let settings = Settings {
        clients,
        transactions: knobs.integer(TRANSACTIONS.name),
        work: us(&WORK),
        commit_wait: us(&COMMIT_WAIT),
        cached: knobs.number(CACHED.name),
        tables_at: tables,
        inodes: (knobs.choice(DATA.name) == "ordered").then(|| pages(knobs) - 1),
        force,
        look: Duration(age.0.div_ceil(6)),
        depth: knobs.integer(DEPTH.name),
    };
    let journal = Journal::new(blocks, first, slots, skip);
    let tables = Tables::new(knobs.integer(BRANCHES.name), age);
    let rng = Rng::stream(env.seed, env.label);
    Ok(Machine::new(settings, rng, journal, tables))
}

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "tpcb",
    aliases: &["log_skipping"],
    summary: "transactions like TPC-B above a journal, whose log goes to its places, or skips to where it is quickest",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008, section 6; sizes and times are settings",
    knobs: &[
        CLIENTS,
        TRANSACTIONS,
        WORK,
        COMMIT_WAIT,
        CACHED,
        BRANCHES,
        DATA,
        JOURNAL,
        BLOCKS,
        AT,
        SKIP,
        SPACE,
        FORCE,
        THINK_STEP,
        THINK_MAX,
        SKIP_STEP,
        SKIP_MAX,
        REPEATS,
        WRITE_BACK,
        DEPTH,
    ],
    measures: found::MEASURES,
    asks: &[],
    prepared: true,
    promises: "",
    build: |knobs, env| {
        Ok(Box::new(Synthetic {
            workload: Box::new(Tpcb(machine(knobs, env)?)),
            requests: None,
            depth: None,
        }))
    },
};

#[cfg(test)]
mod tests;
