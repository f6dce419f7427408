//! Eager copies as a scenario asks for them: on new drives, or as an earlier life left them; with
//! their map kept, or in memory.
//!
//! What keeps the map takes room from the volume. How much depends on the size of the map, so that
//! is first taken to be as large as without; then the volume gets what is left.

use super::EagerCopies;
use super::map::Map;
use super::prepare::{Empty, Setup};
use super::store::log::{self, LogStore};
use super::store::virtual_log::{self, FoundLog, VirtualLogStore};
use super::store::{HOME, MapStore, NVRAM, NVRAM_ENTRIES, PORTIONS, REGION, STATIONS};
use crate::contract::Placement;
use crate::maplog::{Geometry, Settings, Spread};
use crate::registry::{ConfigError, Knob, Knobs, Survivors, VolumeEnv, VolumeError};
use crate::rng::Rng;
use crate::units::Blocks;

/// What a placement is made of: the map, what it is of, and who keeps it, if anybody does.
type Parts = (Geometry, Map, Option<Box<dyn MapStore>>);

/// A volume of eager copies, as knobs and drives have it.
pub(in crate::place) struct Volume<'a> {
    pub(in crate::place) setup: Setup,
    pub(in crate::place) copies: u8,
    pub(in crate::place) spread: Spread,
    /// Drives, or pairs of them, that a copy is striped over.
    pub(in crate::place) columns: u16,
    /// Chunks side by side on one of them.
    pub(in crate::place) unit: u64,
    /// Copies that a write waits for, and chunks that may wait for the others.
    pub(in crate::place) limits: (u64, u64),
    /// Whether spare time empties tracks.
    pub(in crate::place) compact: bool,
    pub(in crate::place) knobs: &'a Knobs,
    pub(in crate::place) env: &'a VolumeEnv<'a>,
}

impl Volume<'_> {
    /// The placement.
    ///
    /// # Errors
    /// What keeps the map has no room, or what survived of it is damaged.
    pub(in crate::place) fn placement(mut self) -> Result<Box<dyn Placement>, VolumeError> {
        self.check_effect()?;
        let (geometry, map, store) = match self.knobs.choice("map") {
            "memory" => self.in_memory()?,
            _ => self.kept()?,
        };
        let chunk = self.setup.chunk;
        let (is_kept, may_lose) = (store.is_some(), self.env.blueprint.cache().may_lose());
        let mut copies = EagerCopies::new(geometry, chunk, map, self.limits, store)?;
        copies.forces = is_kept && may_lose;
        copies.keeps_in_caches = !is_kept && may_lose;
        if self.env.survivors.is_some() {
            copies.delay_missing();
        }
        if self.compact {
            copies.compact();
        }
        Ok(Box::new(copies))
    }

    /// Says that an option has no effect.
    fn check_effect(&self) -> Result<(), ConfigError> {
        let (map, home) = (self.knobs.choice("map"), self.knobs.choice(HOME.name));
        let refused = |knob: &Knob, value: &str, allowed: &str| {
            Err(ConfigError::value(knob.name, value, allowed))
        };
        let tracks = self.knobs.integer(STATIONS.name);
        if map != "virtual_log" && tracks > 0 {
            let allowed = format!("0 with map={map}, which has no map sectors");
            return refused(&STATIONS, &tracks.to_string(), &allowed);
        }
        if map != "log" && home == "drive" {
            let allowed = format!("nvram with map={map}, which has no log region");
            return refused(&HOME, home, &allowed);
        }
        let of_log = [&PORTIONS, &REGION, &NVRAM];
        let set = self.knobs.first_given(of_log.into_iter());
        if let Some((knob, value)) = set.filter(|_| map != "log") {
            let default = knob.default_value();
            let allowed = format!("{default} with map={map}, which has no log region");
            return refused(knob, &value.to_string(), &allowed);
        }
        let entries = self.knobs.integer(NVRAM.name);
        if home == "drive" && entries != NVRAM_ENTRIES as u64 {
            let allowed = format!("{NVRAM_ENTRIES} with home=drive, which has no NVRAM");
            return refused(&NVRAM, &entries.to_string(), &allowed);
        }
        Ok(())
    }

    fn in_memory(&self) -> Result<Parts, ConfigError> {
        if self.env.survivors.is_some() {
            let allowed = "log or virtual_log, or nothing of the map survives";
            return Err(ConfigError::value("map", "memory", allowed));
        }
        let geometry = self.geometry(&*Empty::prepared(&self.setup, self.env)?)?;
        let map = Map::prepared(&geometry, &self.setup, self.env)?;
        Ok((geometry, map, None))
    }

    fn kept(&mut self) -> Result<Parts, VolumeError> {
        let largest = self.geometry(&*Empty::prepared(&self.setup, self.env)?)?;
        let kept = StoreChoice::new(self.knobs, &largest, self.setup.chunk)?;
        (self.setup.log, self.setup.spares) = (kept.region(), kept.spares());
        self.setup.stations = kept.stations();
        let empty = Empty::prepared(&self.setup, self.env)?;
        let geometry = self.geometry(&empty)?;
        let (map, store) = match self.env.survivors {
            None => {
                let map = Map::prepared(&geometry, &self.setup, self.env)?;
                kept.begin(&geometry, &empty, map)?
            }
            Some(survivors) => kept.recover(&geometry, &self.setup, &empty, survivors)?,
        };
        Ok((geometry, map, Some(store)))
    }

    /// So many chunks, if 32 bits can number them, as the map and all that keeps it do.
    fn numbered(&self, chunks: u64) -> Result<u32, ConfigError> {
        u32::try_from(chunks).map_err(|_| {
            let allowed = format!(
                "at most {}, as the map numbers them with 32 bits; take a larger chunk_kib, fewer or smaller drives, or mirror",
                u32::MAX
            );
            let value = chunks.to_string();
            self.env
                .names
                .too_much("chunks of the volume", &value, &allowed)
        })
    }

    /// What the map is of, on drives with so much room.
    fn geometry(&self, empty: &Empty) -> Result<Geometry, ConfigError> {
        let of_drive = empty.units * self.setup.unit;
        Ok(Geometry {
            volume: Rng::stream(self.env.seed, "volume").bits(),
            chunks: self.numbered(of_drive * u64::from(self.columns))?,
            copies: self.copies,
            columns: self.columns,
            unit: self.unit as u32,
            spread: self.spread,
            slots: empty.free.tracks().slots(),
        })
    }
}

/// How the map is kept.
enum StoreChoice {
    ByLog(Settings),
    /// With so many slots for its sectors, or tracks.
    ByVirtualLog {
        spares: u64,
        tracks: u64,
    },
}

/// A map, and what keeps it safe.
type StoredMap = (Map, Box<dyn MapStore>);

impl StoreChoice {
    /// By the knobs, for a map that is no larger than this.
    fn new(knobs: &Knobs, largest: &Geometry, chunk: Blocks) -> Result<StoreChoice, ConfigError> {
        Ok(match knobs.choice("map") {
            "log" => StoreChoice::ByLog(log::settings(largest, knobs)?),
            _ => {
                let spares = virtual_log::slots(largest, chunk)?;
                match knobs.integer(STATIONS.name) {
                    0 => StoreChoice::ByVirtualLog { spares, tracks: 0 },
                    tracks => StoreChoice::ByVirtualLog { spares: 0, tracks },
                }
            }
        })
    }

    /// Blocks of a drive in one piece that it takes.
    fn region(&self) -> Blocks {
        match self {
            StoreChoice::ByLog(settings) => settings.region,
            _ => Blocks(0),
        }
    }

    /// Slots of a drive that it takes.
    fn spares(&self) -> u64 {
        match self {
            StoreChoice::ByVirtualLog { spares, .. } => *spares,
            StoreChoice::ByLog(_) => 0,
        }
    }

    /// Tracks of a drive that it takes.
    fn stations(&self) -> u64 {
        match self {
            StoreChoice::ByVirtualLog { tracks, .. } => *tracks,
            StoreChoice::ByLog(_) => 0,
        }
    }

    /// A volume that was prepared.
    fn begin(
        &self,
        geometry: &Geometry,
        empty: &Empty,
        mut map: Map,
    ) -> Result<StoredMap, ConfigError> {
        let store: Box<dyn MapStore> = match self {
            StoreChoice::ByLog(settings) => {
                let region = empty.region.expect("it was asked for");
                Box::new(LogStore::new(geometry, settings, region)?)
            }
            StoreChoice::ByVirtualLog { .. } => {
                let stations = empty.stations.clone();
                Box::new(VirtualLogStore::new(geometry, &mut map, stations)?)
            }
        };
        Ok((map, store))
    }

    /// A volume as an earlier life left it.
    fn recover(
        &self,
        geometry: &Geometry,
        setup: &Setup,
        empty: &Empty,
        survivors: &dyn Survivors,
    ) -> Result<StoredMap, VolumeError> {
        let map = |slots| Map::found(geometry, setup, empty, slots);
        match self {
            StoreChoice::ByLog(settings) => {
                let region = empty.region.expect("it was asked for");
                let (slots, store) = LogStore::recover(geometry, settings.home, region, survivors)?;
                Ok((map(slots)?, Box::new(store)))
            }
            StoreChoice::ByVirtualLog { .. } => {
                let (tracks, stations) = (empty.free.tracks(), &empty.stations);
                let found = FoundLog::read(geometry, tracks, stations.as_ref(), survivors)?;
                let (map, store) = found.keep(geometry, stations.clone(), map)?;
                Ok((map, Box::new(store)))
            }
        }
    }
}
