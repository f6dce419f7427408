//! The eager-writing disk array: Dm copies, striped over Ds x Dd drives each.
//!
//! A budget of D = Dm x Ds x Dd drives holds one drive's worth of data. Dm copies on different drives shorten seeks and waits of
//! reads; each drive uses 1/Ds of its cylinders, which shortens seeks; and of those tracks only 1/Dd is full, which makes
//! writes cheap. Ds and Dd may be fractional, their product is a whole number. How writes and reads choose among drives,
//! and what is delayed, is told in `eager_copies`.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk array for a transaction
//! processing workload", FAST 2002, sections 2 and 4.

use super::delayed::{BUFFER, CopyOf, FOREGROUND};
use super::eager_copies::EagerCopies;
use super::eager_keeper::{Keeper, MAP};
use super::eager_log::{self, LogKeeper, NVRAM, PORTIONS, REGION};
use super::eager_map::{Map, Shape};
use super::eager_state::{AGING, COMPACT, Empty, GRANULE, Setup, drives_of};
use super::eager_virtual_log::{self, VirtualFound, VirtualKeeper};
use super::striping::{Striping, UNIT, numbered, unit_in_granules};
use crate::contract::Placement;
use crate::ids::DriveId;
use crate::maplog::{Geometry, Settings};
use crate::registry::{ConfigError, Env, Knob, Knobs, Spec, Survivors};
use crate::rng::Rng;
use crate::units::{BLOCK_BYTES, Blocks};

/// Copies on drives of their own, each striped over as many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) copies: u8,
    pub(super) granules: u32,
    /// In granules.
    pub(super) striping: Striping,
}

impl Columns {
    /// The map's geometry; `slots` of each drive.
    fn geometry(&self, seed: u64, slots: u32) -> Geometry {
        Geometry {
            volume: Rng::stream(seed, "volume").bits(),
            granules: self.granules,
            copies: self.copies,
            columns: self.striping.columns as u16,
            unit: self.striping.unit as u32,
            slots,
        }
    }
}

impl Shape for Columns {
    fn copies(&self) -> u8 {
        self.copies
    }

    fn drives(&self) -> u16 {
        u16::from(self.copies) * self.striping.columns as u16
    }

    fn granules(&self) -> u32 {
        self.granules
    }

    fn place(&self, of: CopyOf) -> (DriveId, usize) {
        let (column, local) = self.striping.place(of.granule.into());
        let drive = u64::from(of.copy) * self.striping.columns + column;
        (DriveId(drive as u16), local as usize)
    }
}

/// Eager copies on columns, as knobs and drives have them: prepared, or found where an earlier life left them.
///
/// # Errors
/// What keeps the map has no room, or what survived of it is damaged.
pub(super) fn placement(
    mut setup: Setup,
    (copies, striping): (u8, Striping),
    limits: (u64, u64),
    knobs: &Knobs,
    env: &Env<'_>,
) -> Result<Box<dyn Placement>, ConfigError> {
    let shape = |of_drive: u64| {
        let granules = numbered(of_drive * striping.columns)?;
        Ok::<_, ConfigError>(Columns {
            copies,
            granules,
            striping,
        })
    };
    let granule = setup.granule;
    if knobs.choice("map") == "memory" {
        if env.survivors.is_some() {
            let allowed = "log or virtual_log, or nothing of the map survives";
            return Err(ConfigError::value("map", "memory", allowed));
        }
        let shape = shape(Empty::prepared(&setup, env)?.units * setup.unit)?;
        let map = Map::prepared(&shape, &setup, env)?;
        let mut copies = EagerCopies::new(shape, granule, map, limits, None)?;
        if knobs.flag("compact") {
            copies.compact();
        }
        return Ok(Box::new(copies));
    }
    // What keeps the map takes room from the volume, so the map is at most as large as without.
    let largest = Empty::prepared(&setup, env)?;
    let slots = largest.free.tracks().slots();
    let geometry = shape(largest.units * setup.unit)?.geometry(env.seed, slots);
    let kept = Kept::new(knobs, &geometry, granule)?;
    (setup.log, setup.spares) = (kept.region(), kept.spares());
    let empty = Empty::prepared(&setup, env)?;
    let shape = shape(empty.units * setup.unit)?;
    let geometry = shape.geometry(env.seed, slots);
    let (map, keeper) = match env.survivors {
        None => kept.begin(&geometry, &empty, Map::prepared(&shape, &setup, env)?)?,
        Some(survivors) => kept.recover(&geometry, &shape, &empty, setup.drives, survivors)?,
    };
    let mut copies = EagerCopies::new(shape, granule, map, limits, Some(keeper))?;
    if env.survivors.is_some() {
        copies.delay_missing();
    }
    if knobs.flag("compact") {
        copies.compact();
    }
    Ok(Box::new(copies))
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
    fn new(knobs: &Knobs, largest: &Geometry, granule: Blocks) -> Result<Kept, ConfigError> {
        Ok(match knobs.choice("map") {
            "log" => Kept::ByLog(eager_log::settings(largest, knobs)?),
            _ => Kept::ByVirtualLog(eager_virtual_log::slots(largest, granule)?),
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
        shape: &Columns,
        empty: &Empty,
        drives: u16,
        survivors: &dyn Survivors,
    ) -> Result<KeptMap, ConfigError> {
        let free = vec![empty.free.clone(); drives.into()];
        match self {
            Kept::ByLog(_) => {
                let region = empty.region.expect("it was asked for");
                let (slots, keeper) = LogKeeper::recover(geometry, region, survivors)?;
                Ok((Map::found(shape, free, slots)?, Box::new(keeper)))
            }
            Kept::ByVirtualLog(_) => {
                let found = VirtualFound::read(geometry, empty.free.tracks(), survivors)?;
                let (map, keeper) = found.keep(geometry, |slots| Map::found(shape, free, slots))?;
                Ok((map, Box::new(keeper)))
            }
        }
    }
}

fn build(knobs: &Knobs, env: &Env<'_>) -> Result<Box<dyn Placement>, ConfigError> {
    let (copies, ds, dd) = (knobs.integer("dm"), knobs.number("ds"), knobs.number("dd"));
    let columns = u64::from(drives_of(&[("ds", ds), ("dd", dd)])?);
    let drives = drives_of(&[("dm", copies as f64), ("ds", ds), ("dd", dd)])?;
    let granule_kib = knobs.integer("granule_kib");
    let striping = Striping {
        columns,
        unit: unit_in_granules(knobs.integer("stripe_kib"), granule_kib)?,
    };
    let setup = Setup {
        granule: Blocks(granule_kib * 1024 / BLOCK_BYTES),
        striping: ds,
        dilution: dd,
        aging: knobs.number("aging"),
        unit: striping.unit,
        homes: 0,
        drives,
        log: Blocks(0),
        spares: 0,
    };
    let limits = (
        knobs.integer("foreground"),
        knobs.integer("buffer_granules"),
    );
    placement(setup, (copies as u8, striping), limits, knobs, env)
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "ew_array",
    aliases: &["ew-array"],
    summary: "Dm x Ds x Dd drives: copies, striping and free space, all writes to the nearest free slot",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[
        Knob::integer(
            "dm",
            1,
            1..=16,
            "Dm, copies of a block, each on another drive",
        ),
        Knob::number(
            "ds",
            1.0,
            1.0..=1_024.0,
            "Ds, striping: 1/Ds of the cylinders are used; Ds x Dd is a whole number",
        ),
        Knob::number(
            "dd",
            2.0,
            1.001..=1_024.0,
            "Dd, dilution: slots per block on the cylinders that are used",
        ),
        FOREGROUND,
        BUFFER,
        UNIT,
        GRANULE,
        AGING,
        MAP,
        NVRAM,
        PORTIONS,
        REGION,
        COMPACT,
    ],
    build,
};
