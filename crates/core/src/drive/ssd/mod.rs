//! Solid-state drives: flash chips on channels, a map of where each unit is, and a controller that
//! collects what is free.
//!
//! Flash is read and programmed by pages and erased by blocks of some hundreds of them. So a drive
//! never writes in place: it keeps a map, and what was overwritten is room that it has to collect,
//! block by block, moving what is still valid. What a host sees follows from three things: how many
//! dies work side by side, what they are busy with that nobody asked for, and how much of that the
//! write cache and over-provisioning save.
//!
//! | File | Idea |
//! |---|---|
//! | [`parameters`] | a drive's file |
//! | [`geometry`] | what it is made of, and how that is numbered |
//! | [`chips`] | dies and channels in time, and what is stopped for a read |
//! | [`map`] | where units are, free blocks, write points, victims |
//! | [`map_cache`] | what of that is in memory |
//! | [`lazy`] | arrays that store only what has changed |
//! | [`precondition`] | what is there before a run |
//! | [`thresholds`] | when blocks are collected |
//! | [`collect`] | moving what is valid, and erasing |
//! | [`buffer`] | what was written and is not on the medium |
//! | [`medium`] | these together |
//! | [`interface`] | commands, link and controller |
//! | [`counts`] | what is counted |
//!
//! Several commands are under way at a time and end in any order ([`Drive::depth`]); there is no
//! arm, and every place is as near as every other to who asks the oracle. What lies in a volatile
//! cache when the power goes is lost ([`Drive::volatile`]); the map itself is taken for safe, as
//! drives keep it in the spare area of their pages.
//!
//! Sources: Agrawal et al., "Design tradeoffs for SSD performance", USENIX ATC 2008; Tavakkol et
//! al., "MQSim", FAST 2018, whose runs this is checked against (`tests/it/mqsim` of the lab);
//! Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, for write amplification.
//! Not modelled: wear that makes blocks fail, static wear levelling, pages of unequal speed, a
//! region that is programmed with one bit a cell, read retries, power states.

mod buffer;
mod chips;
mod collect;
mod counts;
mod geometry;
mod interface;
mod lazy;
mod map;
mod map_cache;
mod medium;
pub mod parameters;
mod precondition;
#[cfg(test)]
mod stalled_tests;
#[cfg(test)]
mod tests;
mod thresholds;

use interface::{Host, SsdDrive};
use medium::Plan;
use parameters::{Allocation, SsdParameters, Unwritten, byte_ps, us};
use precondition::{Initial, State};

use super::cache::{self, CACHE};
use super::flat::{self, FlatOracle};
use super::protection::PROTECTION;
use super::queued::DEPTH_KNOB;
use super::{Kind, zoned};
use crate::contract::{Blueprint, Drive, Oracle};
use crate::freemap::{Room, Tracks, Uncountable};
use crate::io::WriteCache;
use crate::registry::{ConfigError, Knob, Knobs};
use crate::units::{Angle, Blocks, Duration, Pba};

/// A drive before it runs.
#[derive(Clone, Debug)]
struct SsdBlueprint {
    capacity: Blocks,
    host: Host,
    plan: Plan,
    /// What one read of a unit takes.
    read: Duration,
}

impl SsdBlueprint {
    fn read(table: &toml::Table, knobs: &Knobs) -> Result<SsdBlueprint, ConfigError> {
        let parameters = SsdParameters::read(table)?;
        let unit = u64::from(parameters.map_kib) * 2;
        let left = 1.0 - knobs.number("unused_percent") / 100.0;
        let units = (parameters.capacity_blocks / unit) as f64 * left;
        let units = (units as u32).max(1);
        let shape = parameters.geometry(units);
        let thresholds = parameters.thresholds();
        let by_address = parameters.allocation == Allocation::ByAddress;
        let state = match knobs.choice("precondition") {
            "empty" => State::Empty,
            "random" => State::Random,
            "saturated" => State::Saturated,
            _ => State::Full,
        };
        check_zones(knobs, state, unit)?;
        if parameters.suspension.is_none() {
            let allowed = "left out, as the drive's file has no [suspension]";
            knobs.check_idle([&SUSPENSION].into_iter(), allowed)?;
        }
        let cache = chosen_cache(knobs, &parameters)?;
        let kept = parameters.cache.as_ref();
        let room = kept.map_or(0, |cache| cache.kib / parameters.map_kib);
        let times = parameters.times(knobs.flag(SUSPENSION.name));
        let host = &parameters.host;
        let depth = match knobs.integer(DEPTH_KNOB) as u32 {
            0 => parameters.queue_depth,
            depth => depth,
        };
        let host = Host {
            depth,
            cache,
            byte_ps: byte_ps(host.mb_s),
            full_duplex: host.full_duplex,
            memory_ps: kept.map_or(0, |cache| byte_ps(cache.mb_s)),
            command: us(host.command_us),
            read: us(host.read_us),
            write: us(host.write_us),
        };
        let moved = u64::from(shape.unit_bytes()) * (times.byte_ps + host.byte_ps) / 1_000;
        Ok(SsdBlueprint {
            capacity: Blocks(u64::from(units) * unit),
            read: times.read + host.read + Duration(moved),
            host,
            plan: Plan {
                shape,
                times,
                initial: Initial::new(state, shape, by_address, thresholds),
                thresholds,
                map_lines: parameters.map_lines(),
                by_address,
                reads_unwritten: parameters.unwritten == Unwritten::Flash,
                buffer: (room, kept.map_or(0, |cache| cache.pages_at_once)),
                is_pressed: state == State::Saturated && host.has_cache(),
            },
        })
    }
}

/// Whether zones, if the drive has some, may begin over a map of such units in this state.
fn check_zones(knobs: &Knobs, state: State, unit: u64) -> Result<(), ConfigError> {
    if !zoned::is_on(knobs) {
        return Ok(());
    }
    if state != State::Empty {
        let word = knobs.choice("precondition");
        let allowed = "empty beside zone_blocks, as zones are empty at the begin";
        return Err(ConfigError::value("precondition", word, allowed));
    }
    let blocks = knobs.integer(zoned::ZONE_BLOCKS.name);
    if !blocks.is_multiple_of(unit) {
        let allowed = format!(
            "a multiple of {unit}, the blocks of a unit of the drive's map, as a reset frees whole units"
        );
        return Err(ConfigError::value(
            zoned::ZONE_BLOCKS.name,
            &blocks.to_string(),
            &allowed,
        ));
    }
    Ok(())
}

/// The write cache that a drive has, or could have.
fn chosen_cache(knobs: &Knobs, parameters: &SsdParameters) -> Result<WriteCache, ConfigError> {
    use WriteCache::{Off, Protected, Volatile};
    match &parameters.cache {
        None => cache::chosen(knobs, &[Off], "as the drive's file has no [cache]"),
        Some(own) => {
            let words = match own.protected {
                true => [Protected, Volatile, Off],
                false => [Volatile, Protected, Off],
            };
            cache::chosen(knobs, &words, "what its [cache] may be")
        }
    }
}

impl Blueprint for SsdBlueprint {
    fn capacity(&self) -> Blocks {
        self.capacity
    }

    fn cache(&self) -> WriteCache {
        self.host.cache
    }

    fn depth(&self) -> u32 {
        self.host.depth
    }

    fn keeps_map(&self) -> bool {
        true
    }

    fn drive(&self) -> Box<dyn Drive> {
        Box::new(SsdDrive::new(&self.plan, self.host))
    }

    fn exact(&self) -> Box<dyn Oracle> {
        Box::new(FlatOracle::new(self.read))
    }

    fn turned(&self, _by: Angle) -> Box<dyn Blueprint> {
        Box::new(self.clone())
    }

    fn resting(&self, _at: Pba) -> Box<dyn Blueprint> {
        Box::new(self.clone())
    }

    fn pressed(&self) -> Box<dyn Blueprint> {
        let mut pressed = self.clone();
        pressed.plan.is_pressed = self.host.has_cache();
        Box::new(pressed)
    }

    fn revolution(&self) -> Option<Duration> {
        None
    }

    fn room(&self, slot: Blocks) -> Room {
        flat::room(self.capacity, slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        flat::tracks(self.capacity, slot)
    }
}

const SUSPENSION: Knob = Knob::flag(
    "suspension",
    true,
    "whether programs and erases are stopped for reads, if the drive's file has a [suspension]",
);

pub(super) static KIND: Kind = Kind {
    name: "ssd",
    summary: "flash: channels, dies, a map, collection of what was overwritten, a write cache",
    source: "Agrawal et al. 2008; MQSim (Tavakkol et al. 2018); Desnoyers 2012",
    knobs: &[
        Knob::choice(
            "precondition",
            "full",
            &["full", "empty", "random", "saturated"],
            "what is on the drive before the run: full: all was written once, in order; empty: nothing; random: what \
             uniform random writes have left, after a pause in which as many blocks as usual were freed; saturated: \
             the same without a pause, which is the state where a drive is slowest",
        ),
        Knob::number(
            "unused_percent",
            0.0,
            0.0..=90.0,
            "how much of the capacity the host leaves alone, which is over-provisioning then",
        ),
        SUSPENSION,
        Knob::integer(
            DEPTH_KNOB,
            0,
            0..=65_536,
            "commands that the drive takes at a time; 0: as many as its file says",
        ),
        CACHE,
        PROTECTION,
        zoned::ZONE_BLOCKS,
        zoned::CAPACITY,
        zoned::CONVENTIONAL,
        zoned::APPEND_MAX,
        zoned::RESET,
    ],
    measures: counts::MEASURES,
    read: |table, knobs| Ok(Box::new(SsdBlueprint::read(table, knobs)?)),
};
