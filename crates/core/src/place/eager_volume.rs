//! Eager copies as a scenario asks for them: on new drives, or as an earlier life left them; with their map kept, or in memory.
//!
//! What keeps the map takes room from the volume. How much depends on the size of the map, so that is first taken to be as large as
//! without; then the volume gets what is left.

use super::eager_copies::EagerCopies;
use super::eager_keeper::Keeper;
use super::eager_log::{self, LogKeeper};
use super::eager_map::Map;
use super::eager_state::{Empty, Setup};
use super::eager_virtual_log::{self, VirtualFound, VirtualKeeper};
use super::striping::numbered;
use crate::contract::Placement;
use crate::maplog::{Geometry, Settings, Spread};
use crate::registry::{ConfigError, Knobs, Survivors, VolumeEnv};
use crate::rng::Rng;
use crate::units::Blocks;

/// What a placement is made of: the map, what it is of, and who keeps it, if anybody does.
type Parts = (Geometry, Map, Option<Box<dyn Keeper>>);

/// A volume of eager copies, as knobs and drives have it.
pub(super) struct Volume<'a> {
    pub(super) setup: Setup,
    pub(super) copies: u8,
    pub(super) spread: Spread,
    /// Drives, or pairs of them, that a copy is striped over.
    pub(super) columns: u16,
    /// Chunks side by side on one of them.
    pub(super) unit: u64,
    /// Copies that a write waits for, and chunks that may wait for the others.
    pub(super) limits: (u64, u64),
    /// Whether spare time empties tracks.
    pub(super) compact: bool,
    pub(super) knobs: &'a Knobs,
    pub(super) env: &'a VolumeEnv<'a>,
}

impl Volume<'_> {
    /// The placement.
    ///
    /// # Errors
    /// What keeps the map has no room, or what survived of it is damaged.
    pub(super) fn placement(mut self) -> Result<Box<dyn Placement>, ConfigError> {
        let (geometry, map, keeper) = match self.knobs.choice("map") {
            "memory" => self.in_memory()?,
            _ => self.kept()?,
        };
        let chunk = self.setup.chunk;
        let mut copies = EagerCopies::new(geometry, chunk, map, self.limits, keeper)?;
        if self.env.survivors.is_some() {
            copies.delay_missing();
        }
        if self.compact {
            copies.compact();
        }
        Ok(Box::new(copies))
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

    fn kept(&mut self) -> Result<Parts, ConfigError> {
        let largest = self.geometry(&*Empty::prepared(&self.setup, self.env)?)?;
        let kept = Kept::new(self.knobs, &largest, self.setup.chunk)?;
        (self.setup.log, self.setup.spares) = (kept.region(), kept.spares());
        let empty = Empty::prepared(&self.setup, self.env)?;
        let geometry = self.geometry(&empty)?;
        let (map, keeper) = match self.env.survivors {
            None => {
                let map = Map::prepared(&geometry, &self.setup, self.env)?;
                kept.begin(&geometry, &empty, map)?
            }
            Some(survivors) => kept.recover(&geometry, &self.setup, &empty, survivors)?,
        };
        Ok((geometry, map, Some(keeper)))
    }

    /// What the map is of, on drives with so much room.
    fn geometry(&self, empty: &Empty) -> Result<Geometry, ConfigError> {
        let of_drive = empty.units * self.setup.unit;
        Ok(Geometry {
            volume: Rng::stream(self.env.seed, "volume").bits(),
            chunks: numbered(of_drive * u64::from(self.columns))?,
            copies: self.copies,
            columns: self.columns,
            unit: self.unit as u32,
            spread: self.spread,
            slots: empty.free.tracks().slots(),
        })
    }
}

/// How the map is kept.
enum Kept {
    ByLog(Settings),
    /// With so many slots for its sectors.
    ByVirtualLog(u64),
}

/// A map, and what keeps it safe.
type KeptMap = (Map, Box<dyn Keeper>);

impl Kept {
    /// By the knobs, for a map that is no larger than this.
    fn new(knobs: &Knobs, largest: &Geometry, chunk: Blocks) -> Result<Kept, ConfigError> {
        Ok(match knobs.choice("map") {
            "log" => Kept::ByLog(eager_log::settings(largest, knobs)?),
            _ => Kept::ByVirtualLog(eager_virtual_log::slots(largest, chunk)?),
        })
    }

    /// Blocks of a drive in one piece that it takes.
    fn region(&self) -> Blocks {
        match self {
            Kept::ByLog(settings) => settings.region,
            _ => Blocks(0),
        }
    }

    /// Slots of a drive that it takes.
    fn spares(&self) -> u64 {
        match self {
            Kept::ByVirtualLog(slots) => *slots,
            _ => 0,
        }
    }

    /// A volume that was prepared.
    fn begin(
        &self,
        geometry: &Geometry,
        empty: &Empty,
        mut map: Map,
    ) -> Result<KeptMap, ConfigError> {
        let keeper: Box<dyn Keeper> = match self {
            Kept::ByLog(settings) => {
                let region = empty.region.expect("it was asked for");
                Box::new(LogKeeper::new(geometry, settings, region)?)
            }
            Kept::ByVirtualLog(_) => Box::new(VirtualKeeper::new(geometry, &mut map)?),
        };
        Ok((map, keeper))
    }

    /// A volume as an earlier life left it.
    fn recover(
        &self,
        geometry: &Geometry,
        setup: &Setup,
        empty: &Empty,
        survivors: &dyn Survivors,
    ) -> Result<KeptMap, ConfigError> {
        let map = |slots| Map::found(geometry, setup, empty, slots);
        match self {
            Kept::ByLog(_) => {
                let region = empty.region.expect("it was asked for");
                let (slots, keeper) = LogKeeper::recover(geometry, region, survivors)?;
                Ok((map(slots)?, Box::new(keeper)))
            }
            Kept::ByVirtualLog(_) => {
                let found = VirtualFound::read(geometry, empty.free.tracks(), survivors)?;
                let (map, keeper) = found.keep(geometry, map)?;
                Ok((map, Box::new(keeper)))
            }
        }
    }
}
