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
use super::eager_log::{self, Keeper, MAP, NVRAM, PORTIONS, REGION};
use super::eager_map::{Map, Shape};
use super::eager_state::{AGING, Empty, GRANULE, Setup, drives_of};
use super::striping::{Striping, UNIT};
use crate::contract::Placement;
use crate::ids::DriveId;
use crate::maplog::Geometry;
use crate::registry::{ConfigError, Env, Knob, Knobs, Spec};
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

/// A unit of the stripe in granules.
///
/// # Errors
/// It is no whole number of them.
pub(super) fn unit_in_granules(stripe_kib: u64, granule_kib: u64) -> Result<u64, ConfigError> {
    if stripe_kib.is_multiple_of(granule_kib) {
        return Ok(stripe_kib / granule_kib);
    }
    let allowed = format!("a multiple of granule_kib = {granule_kib}");
    Err(ConfigError::value(
        "stripe_kib",
        &stripe_kib.to_string(),
        &allowed,
    ))
}

/// So many granules on each of some drives, if 32 bits can number them all.
pub(super) fn count(of_drive: u64, drives: u64) -> Result<u32, ConfigError> {
    let all = of_drive * drives;
    u32::try_from(all).map_err(|_| {
        ConfigError::value(
            "granules of the volume",
            &all.to_string(),
            "at most 2^32 - 1",
        )
    })
}

/// Eager copies on columns, as knobs and drives have them: prepared, or found where an earlier life left them.
///
/// # Errors
/// The log has no room, or what survived of it is damaged.
pub(super) fn placement(
    mut setup: Setup,
    (copies, striping): (u8, Striping),
    limits: (u64, u64),
    knobs: &Knobs,
    env: &Env<'_>,
) -> Result<Box<dyn Placement>, ConfigError> {
    let shape = |of_drive: u64| {
        let granules = count(of_drive, striping.columns)?;
        Ok::<_, ConfigError>(Columns {
            copies,
            granules,
            striping,
        })
    };
    if knobs.choice("map") == "memory" {
        if env.survivors.is_some() {
            let allowed = "log, or nothing of the map survives";
            return Err(ConfigError::value("map", "memory", allowed));
        }
        let shape = shape(Empty::prepared(&setup, env)?.units * setup.unit)?;
        let map = Map::prepared(&shape, &setup, env)?;
        return Ok(Box::new(EagerCopies::new(
            shape,
            setup.granule,
            map,
            limits,
            None,
        )?));
    }
    // The log takes room from the volume, so its map is at most as large as that of a volume without one.
    let largest = Empty::prepared(&setup, env)?;
    let slots = largest.free.tracks().slots();
    let geometry = |shape: &Columns| shape.geometry(env.seed, slots);
    let settings = eager_log::settings(&geometry(&shape(largest.units * setup.unit)?), knobs)?;
    setup.log = settings.region;
    let empty = Empty::prepared(&setup, env)?;
    let shape = shape(empty.units * setup.unit)?;
    let geometry = geometry(&shape);
    let region = empty.region.expect("it was asked for");
    let (map, keeper) = match env.survivors {
        None => {
            let map = Map::prepared(&shape, &setup, env)?;
            (map, Keeper::new(&geometry, &settings, region)?)
        }
        Some(survivors) => {
            let (slots, keeper) = Keeper::recover(&geometry, region, survivors)?;
            let empty = vec![empty.free; setup.drives.into()];
            (Map::found(&shape, empty, slots)?, keeper)
        }
    };
    let mut copies = EagerCopies::new(shape, setup.granule, map, limits, Some(keeper))?;
    if env.survivors.is_some() {
        copies.delay_missing();
    }
    Ok(Box::new(copies))
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
    ],
    build,
};
