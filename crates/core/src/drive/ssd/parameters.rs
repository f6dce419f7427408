//! The file of a drive, and what it has to obey.

use serde::{Deserialize, Serialize};

use super::super::file;
use super::chips::{Stops, Times};
use super::geometry::Geometry;
use super::map::{self, OPEN};
use super::map_cache::ENTRY_BYTES;
use super::thresholds::Thresholds;
use crate::registry::ConfigError;
use crate::units::Duration;

/// A solid-state drive, as its file holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParameters {
    /// Always `ssd`.
    pub kind: String,
    /// What it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was first sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u32>,
    /// Addressable blocks of 512 bytes. What the chips have beyond that is over-provisioning.
    pub capacity_blocks: u64,
    /// Commands that it takes at a time.
    pub queue_depth: u32,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of each die.
    pub planes_per_die: u32,
    /// Whether the planes of a die are programmed and erased together or apart.
    pub planes: Planes,
    /// Blocks of each plane, as they are erased.
    pub blocks_per_plane: u32,
    /// Pages of each block.
    pub pages_per_block: u32,
    /// Of a page, in KiB.
    pub page_kib: u32,
    /// What the map knows a place of, in KiB.
    pub map_kib: u32,
    /// Where a page goes: to the plane that is next, or to the one that its address says.
    pub allocation: Allocation,
    /// Time to sense a page, in microseconds.
    pub read_us: f64,
    /// Time to program a page, in microseconds.
    pub program_us: f64,
    /// Time to erase a block, in microseconds.
    pub erase_us: f64,
    /// Rate of each channel, in MB (10^6 bytes) a second.
    pub channel_mb_s: f64,
    /// What may be stopped for a read; nothing if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<SuspensionParameters>,
    /// What of a unit costs that was never written: nothing, or a read of the flash where it would
    /// be.
    #[serde(default)]
    pub unwritten: Unwritten,
    /// Between the drive and its host.
    pub host: HostParameters,
    /// The write cache; none if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheParameters>,
    /// What of the map is in memory; all of it if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_cache: Option<MapCacheParameters>,
    /// When blocks are collected.
    pub collection: CollectionParameters,
    /// Where the numbers come from: for people, and printed by `show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<toml::Table>,
}

/// How the planes of a die work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Planes {
    /// All are programmed and erased together, as one with longer pages.
    Together,
    /// Each has blocks and pages of its own.
    Apart,
}

/// Where a page goes that a host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// To the planes in turn.
    InTurn,
    /// To the plane that its address says.
    ByAddress,
}

/// What a read of what was never written costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unwritten {
    /// The map says that it is all zeros.
    #[default]
    Zeros,
    /// The flash is read where it would be.
    Flash,
}

/// What may be stopped for a read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionParameters {
    /// Whether programs may.
    pub program: bool,
    /// Whether erases may.
    pub erase: bool,
    /// How long it takes to stop, in microseconds.
    pub takes_us: f64,
}

/// What is between the drive and its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostParameters {
    /// Rate of the link, in MB (10^6 bytes) a second.
    pub mb_s: f64,
    /// Whether it moves in both directions at a time.
    pub full_duplex: bool,
    /// Time of the controller that each command takes alone, in microseconds.
    pub command_us: f64,
    /// What a read takes beyond that, whatever else is under way.
    pub read_us: f64,
    /// What a write takes, or another command.
    pub write_us: f64,
}

/// The write cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheParameters {
    /// Its size.
    pub kib: u32,
    /// The rate of its memory, in MB (10^6 bytes) a second.
    pub mb_s: f64,
    /// Pages that are on their way from there to the flash at a time.
    pub pages_at_once: u32,
    /// Whether capacitors let the drive write it out when the power goes.
    pub protected: bool,
}

/// What of the map is in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCacheParameters {
    /// Its size; an entry takes 8 bytes.
    pub kib: u32,
    /// Entries of consecutive units that come and go together.
    pub line_units: u32,
}

/// When blocks are collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionParameters {
    /// A plane of which so many percent of the blocks are free, or fewer, collects.
    pub start_percent: f64,
    /// With so many percent, or fewer, collection is urgent.
    pub urgent_percent: f64,
    /// What a die does for the host then.
    #[serde(default)]
    pub when_urgent: WhenUrgent,
}

/// What a die does for the host while collection is urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenUrgent {
    /// Reads go first, and as many pages are programmed as collection makes room for.
    #[default]
    Paced,
    /// Nothing, until a block is free.
    Alone,
}

fn refused<T>(key: &str, value: impl ToString, allowed: &str) -> Result<T, ConfigError> {
    Err(ConfigError::value(key, &value.to_string(), allowed))
}

fn whole(key: &str, value: u32, most: u32) -> Result<(), ConfigError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    refused(key, value, &format!("a whole number from 1 to {most}"))
}

fn number(key: &str, value: f64, least: f64, most: f64) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    refused(key, value, &format!("{least} to {most}"))
}

/// From microseconds.
pub(super) fn us(value: f64) -> Duration {
    Duration::from_ms_f64(value / 1e3)
}

/// Picoseconds of a byte, from MB a second.
pub(super) fn byte_ps(mb_s: f64) -> u64 {
    libm::round(1e6 / mb_s) as u64
}

impl SsdParameters {
    /// Reads a file and checks each value.
    ///
    /// # Errors
    /// A key that there is not, or a value that is not allowed.
    pub(super) fn read(table: &toml::Table) -> Result<SsdParameters, ConfigError> {
        file::read_checked(table, SsdParameters::check)
    }

    fn check(&self) -> Result<(), ConfigError> {
        for (key, value, most) in [
            ("queue_depth", self.queue_depth, 65_536),
            ("channels", self.channels, 64),
            ("dies_per_channel", self.dies_per_channel, 256),
            ("planes_per_die", self.planes_per_die, 16),
            ("blocks_per_plane", self.blocks_per_plane, 1 << 20),
            ("pages_per_block", self.pages_per_block, 1 << 14),
            ("page_kib", self.page_kib, 256),
            ("map_kib", self.map_kib, 32),
        ] {
            whole(key, value, most)?;
        }
        for (key, value) in [
            ("read_us", self.read_us),
            ("program_us", self.program_us),
            ("erase_us", self.erase_us),
        ] {
            number(key, value, 0.001, 1e7)?;
        }
        number("channel_mb_s", self.channel_mb_s, 0.1, 1e5)?;
        if let Some(suspension) = &self.suspension {
            number("suspension.takes_us", suspension.takes_us, 0.0, 1e6)?;
        }
        let host = &self.host;
        number("host.mb_s", host.mb_s, 0.1, 1e6)?;
        for (key, value) in [
            ("host.command_us", host.command_us),
            ("host.read_us", host.read_us),
            ("host.write_us", host.write_us),
        ] {
            number(key, value, 0.0, 1e6)?;
        }
        self.check_caches()?;
        number(
            "collection.start_percent",
            self.collection.start_percent,
            0.0,
            50.0,
        )?;
        number(
            "collection.urgent_percent",
            self.collection.urgent_percent,
            0.0,
            50.0,
        )?;
        self.fits()
    }

    /// Checks the write cache and that of the map.
    fn check_caches(&self) -> Result<(), ConfigError> {
        if let Some(cache) = &self.cache {
            whole("cache.kib", cache.kib, 1 << 26)?;
            number("cache.mb_s", cache.mb_s, 0.1, 1e6)?;
            whole("cache.pages_at_once", cache.pages_at_once, 1 << 20)?;
        }
        if let Some(map) = &self.map_cache {
            whole("map_cache.line_units", map.line_units, 1 << 16)?;
            let least = (u64::from(map.line_units) * ENTRY_BYTES).div_ceil(1024) as u32;
            if !(least..=1 << 26).contains(&map.kib) {
                let allowed = format!("a whole number from {least}, a line, to {}", 1 << 26);
                return refused("map_cache.kib", map.kib, &allowed);
            }
        }
        Ok(())
    }

    /// Checks what contradicts each other.
    fn fits(&self) -> Result<(), ConfigError> {
        if !self.page_kib.is_multiple_of(self.map_kib) {
            return refused(
                "page_kib",
                self.page_kib,
                &format!("a multiple of map_kib, which is {}", self.map_kib),
            );
        }
        let units = self.page_units();
        if self.allocation == Allocation::ByAddress && units > 1 {
            let allowed = "in-turn, as a page has several units of the map, which may belong to several planes";
            return refused("allocation", "by-address", allowed);
        }
        let places = [
            self.channels,
            self.dies_per_channel,
            self.own_planes(),
            self.blocks_per_plane,
            self.pages_per_block,
            units,
        ]
        .iter()
        .try_fold(1_u32, |all, count| all.checked_mul(*count));
        if places.is_none_or(|places| places > u32::MAX - 8) {
            let allowed = "fewer, or a larger map_kib: at most 2^32 units of the map";
            return refused("blocks_per_plane", self.blocks_per_plane, allowed);
        }
        let urgent = self.collection.urgent_percent;
        if urgent > self.collection.start_percent {
            let allowed = format!(
                "at most start_percent, which is {}",
                self.collection.start_percent
            );
            return refused("collection.urgent_percent", urgent, &allowed);
        }
        if let Some(cache) = &self.cache {
            let page = units * self.map_kib;
            if cache.kib < 2 * page {
                let allowed = format!("at least {}, two pages of a plane", 2 * page);
                return refused("cache.kib", cache.kib, &allowed);
            }
        }
        self.check_capacity(self.capacity_blocks)
    }

    /// Whether so much may be addressed: what is over has to be enough to collect blocks.
    fn check_capacity(&self, blocks: u64) -> Result<(), ConfigError> {
        let unit = u64::from(self.map_kib) * 2;
        let shape = self.geometry(0);
        let spare = OPEN + 1 + self.thresholds().start;
        let room = shape.blocks.saturating_sub(spare) * shape.block_units();
        let held = room.min(map::collectable(&shape));
        let planes = u64::from(shape.planes);
        let most = planes * u64::from(held.saturating_sub(shape.units)) * unit;
        if blocks == 0 || blocks > most || !blocks.is_multiple_of(unit) {
            let why = match held == room {
                true => format!(
                    "each plane needs {spare} of its {} blocks to collect others",
                    shape.blocks
                ),
                false => format!(
                    "with more, each block of a plane may hold {} of the {} units it has room for, and none is worth collecting",
                    map::too_full(&shape),
                    shape.block_units()
                ),
            };
            let allowed =
                format!("a multiple of {unit}, a unit of the map, and at most {most}: {why}");
            return refused("capacity_blocks", blocks, &allowed);
        }
        Ok(())
    }

    /// Planes of a die that have blocks of their own.
    fn own_planes(&self) -> u32 {
        match self.planes {
            Planes::Together => 1,
            Planes::Apart => self.planes_per_die,
        }
    }

    /// Units of what is programmed together.
    fn page_units(&self) -> u32 {
        self.page_kib / self.map_kib * (self.planes_per_die / self.own_planes())
    }

    /// The drive's counts, with so many units that a host may address.
    pub(super) fn geometry(&self, capacity: u32) -> Geometry {
        let dies = self.channels * self.dies_per_channel;
        Geometry {
            channels: self.channels,
            dies,
            planes: dies * self.own_planes(),
            blocks: self.blocks_per_plane,
            pages: self.pages_per_block,
            units: self.page_units(),
            unit_blocks: self.map_kib * 2,
            capacity,
        }
    }

    /// When planes collect.
    pub(super) fn thresholds(&self) -> Thresholds {
        let of = |percent: f64| {
            let blocks = f64::from(self.blocks_per_plane) * percent / 100.0;
            (libm::floor(blocks) as u32).max(2)
        };
        let start = of(self.collection.start_percent);
        Thresholds {
            start,
            urgent: of(self.collection.urgent_percent).min(start),
            is_paced: self.collection.when_urgent == WhenUrgent::Paced,
        }
    }

    /// Units of a line of the map's cache and lines that fit, if the map is not wholly in memory.
    pub(super) fn map_lines(&self) -> Option<(u32, u32)> {
        let map = self.map_cache.as_ref()?;
        let lines = u64::from(map.kib) * 1024 / ENTRY_BYTES / u64::from(map.line_units);
        Some((map.line_units, lines as u32))
    }

    /// How long what takes.
    pub(super) fn times(&self, stops: bool) -> Times {
        let stops = match &self.suspension {
            Some(suspension) if stops => Stops {
                program: suspension.program,
                erase: suspension.erase,
                takes: us(suspension.takes_us),
            },
            _ => Stops::default(),
        };
        Times {
            read: us(self.read_us),
            program: us(self.program_us),
            erase: us(self.erase_us),
            byte_ps: byte_ps(self.channel_mb_s),
            stops,
        }
    }
}
