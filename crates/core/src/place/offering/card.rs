//! What may be set of a host that offers, and what it counts.

use super::homes::Homes;
use super::{Offering, Within};
use crate::contract::{Geometry, Placement};
use crate::measure::Measure;
use crate::place::striping::{Striping, UNIT};
use crate::registry::{ConfigError, Knob, Knobs, VolumeEnv, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks, Pba};

pub(super) static MEASURES: [Measure; 6] = [
    Measure::count(
        "range_writes",
        "writes",
        "writes that could land in what is free nearby, one for each copy",
    ),
    Measure::count(
        "in_place",
        "writes",
        "writes that were too long for that, not of whole units, or told to stay, and went where their data were",
    ),
    Measure::count(
        "widened",
        "writes",
        "range writes for which what was offered first had no room",
    ),
    Measure::count(
        "halved",
        "writes",
        "range writes that were cut in halves, as no free run was long enough",
    ),
    Measure::count(
        "waited_for_room",
        "writes",
        "range writes that waited until enough was free",
    ),
    Measure::count(
        "read_pieces",
        "reads",
        "commands that clients' reads were cut into",
    ),
];

/// What may be set.
pub(super) const KNOBS: &[Knob] = &[
    Knob::choice(
        "within",
        "group",
        &["track", "group", "disk", "told"],
        "how far from its home a write may land of which the load says nothing; told: it stays, and only writes move of which the load says how far",
    ),
    Knob::number(
        "dilution",
        1.25,
        1.001..=1e6,
        "units of the drive for each of the volume: 1.25 leaves a fifth of them free",
    ),
    Knob::integer(
        "group_mib",
        128,
        1..=1_048_576,
        "MiB of a group, which has its share of what is free",
    ),
    Knob::integer(
        "unit_blocks",
        8,
        1..=2_048,
        "512-byte blocks of a unit; what is not written as whole units goes where it lies",
    ),
    Knob::integer("disks", 1, 1..=1_024, "drives, a multiple of the copies"),
    Knob::integer(
        "copies",
        1,
        1..=16,
        "drives that have the same units, each where it was quickest there",
    ),
    UNIT,
];

/// How a volume is spread over drives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) striping: Striping,
    /// Of each unit, one on each drive of a column.
    pub(super) copies: u8,
}

impl Spread {
    fn of(knobs: &Knobs, chunk: u64) -> Result<Spread, ConfigError> {
        let (disks, copies) = (knobs.integer("disks"), knobs.integer("copies"));
        if !disks.is_multiple_of(copies) {
            let allowed = format!("a multiple of {copies}, the copies");
            return Err(ConfigError::value("disks", &disks.to_string(), &allowed));
        }
        let stripe_kib = knobs.integer("stripe_kib");
        let striping = Striping::new(disks / copies, stripe_kib);
        if striping.columns == 1 {
            if knobs.first_given([&UNIT].into_iter()).is_some() {
                let allowed = "left out where each drive has all data: disks = copies";
                return Err(ConfigError::value(
                    "stripe_kib",
                    &stripe_kib.to_string(),
                    allowed,
                ));
            }
        } else if !striping.unit.is_multiple_of(chunk) {
            let allowed = format!("a multiple of {chunk} blocks of 512 bytes, the unit_blocks");
            return Err(ConfigError::value(
                "stripe_kib",
                &stripe_kib.to_string(),
                &allowed,
            ));
        }
        let copies = copies as u8;
        Ok(Spread { striping, copies })
    }

    /// Blocks of a volume whose columns have this many each.
    fn capacity(&self, column: Blocks) -> Result<Blocks, ConfigError> {
        match self.striping.columns {
            1 => Ok(column),
            _ => self.striping.capacity(column),
        }
    }
}

/// Of settings, over drives of one kind.
pub(super) fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let chunk = knobs.integer("unit_blocks");
    let group = (knobs.integer("group_mib") << 20) / BLOCK_BYTES;
    let geometry = env.blueprint.geometry();
    let told = knobs.choice("within") == "told";
    let within = match (knobs.choice("within"), &geometry) {
        ("track", None) => {
            let allowed = "group or disk: the drive has no tracks";
            return Err(ConfigError::value("within", "track", allowed).into());
        }
        ("track", _) => Within::Track,
        ("group" | "told", _) => Within::Group,
        _ => Within::Disk,
    };
    let units = env.blueprint.capacity().0 / chunk;
    let by_track = geometry.as_ref().filter(|_| within == Within::Track);
    let longest = by_track.map_or(group, |geometry| {
        shortest_track(&**geometry, env.blueprint.capacity())
    });
    let homes = Homes::new(units, longest / chunk, knobs.number("dilution"));
    let Some(homes) = homes else {
        return Err(no_room(knobs, within, longest.min(units * chunk)).into());
    };
    let spread = Spread::of(knobs, chunk)?;
    let capacity = spread.capacity(Blocks(homes.volume() * chunk))?;
    Ok(Box::new(Offering {
        geometry,
        told,
        capacity,
        ..Offering::blank(units, (chunk, group), homes, within, spread)
    }))
}

/// Blocks of the shortest track, of those on which cylinders begin.
fn shortest_track(geometry: &dyn Geometry, capacity: Blocks) -> u64 {
    let last = geometry.position_of(Pba(capacity.0 - 1)).cylinder;
    let first_of = |cylinder| {
        let blocks = geometry.cylinder_blocks(cylinder);
        let track = geometry.track(geometry.position_of(blocks.start))?;
        (!blocks.is_empty()).then_some(track.blocks.0)
    };
    let shortest = (0..=last).filter_map(first_of).min();
    shortest.unwrap_or(0)
}

fn no_room(knobs: &Knobs, within: Within, blocks: u64) -> ConfigError {
    let what = match within {
        Within::Track => "the shortest track",
        Within::Group | Within::Disk => "a group",
    };
    let given = knobs.number("dilution").to_string();
    let allowed = format!(
        "what leaves at least one unit of {} blocks free of {what}, which has {blocks} blocks, and one in use",
        knobs.integer("unit_blocks")
    );
    ConfigError::value("dilution", &given, &allowed)
}
