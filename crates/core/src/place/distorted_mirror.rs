//! Doubly distorted mirrors: both copies are written anywhere, and one is moved to a fixed place later.
//!
//! Pairs of drives hold the same blocks. Of every block one drive of the pair is the master: there it has a home, a fixed slot, and
//! blocks that follow each other have homes that do, so that long reads stay long. A write goes eagerly to both drives; in
//! its spare time the master writes the block a third time, to its home. Half of the blocks have their master on one
//! drive, half on the other. Like the original's re-implementation in the study of eager writing, it knows where the heads
//! are, which the original did not.
//!
//! Source: Orji and Solworth, "Doubly distorted mirrors", SIGMOD 1993; Zhang and others, FAST 2002, section 6.3.

use super::delayed::{BUFFER, CopyOf, FOREGROUND};
use super::eager_copies::EagerCopies;
use super::eager_map::{Map, Shape};
use super::eager_state::{Empty, GRANULE, Setup, drives_of};
use super::striping::{Striping, UNIT, numbered, unit_in_granules};
use crate::contract::Placement;
use crate::ids::DriveId;
use crate::registry::{ConfigError, Env, Knob, Knobs, Spec};
use crate::units::{BLOCK_BYTES, Blocks};

/// Pairs of drives: copy 0 of a block is on its master.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    granules: u32,
    /// Over pairs, in granules.
    striping: Striping,
    /// Granules of a drive that have their home there.
    homes: usize,
}

impl Shape for Pairs {
    fn copies(&self) -> u8 {
        2
    }

    fn drives(&self) -> u16 {
        2 * self.striping.columns as u16
    }

    fn granules(&self) -> u32 {
        self.granules
    }

    /// Units of a pair have their master on its two drives in turns.
    fn place(&self, of: CopyOf) -> (DriveId, usize) {
        let (pair, of_pair) = self.striping.place(of.granule.into());
        let unit = self.striping.unit;
        let (row, within) = (of_pair / unit, of_pair % unit);
        let drive = 2 * pair + (row + u64::from(of.copy)) % 2;
        let number = (row / 2 * unit + within) as usize;
        let local = if of.copy == 0 {
            number
        } else {
            self.homes + number
        };
        (DriveId(drive as u16), local)
    }
}

fn build(knobs: &Knobs, env: &Env<'_>) -> Result<Box<dyn Placement>, ConfigError> {
    let (ds, dd) = (knobs.number("ds"), knobs.number("dd"));
    let pairs = u64::from(drives_of(&[("ds", ds), ("dd", dd)])?);
    let drives = drives_of(&[("dm", 2.0), ("ds", ds), ("dd", dd)])?;
    let granule_kib = knobs.integer("granule_kib");
    let striping = Striping {
        columns: pairs,
        unit: unit_in_granules(knobs.integer("stripe_kib"), granule_kib)?,
    };
    let setup = Setup {
        granule: Blocks(granule_kib * 1024 / BLOCK_BYTES),
        striping: ds,
        dilution: dd,
        aging: 0.0,
        unit: 2 * striping.unit,
        homes: striping.unit,
        drives,
        log: Blocks(0),
        spares: 0,
    };
    let units = Empty::prepared(&setup, env)?.units;
    let shape = Pairs {
        granules: numbered(units * setup.unit * pairs)?,
        homes: (units * setup.homes) as usize,
        striping,
    };
    let map = Map::prepared(&shape, &setup, env)?;
    let limits = (
        knobs.integer("foreground"),
        knobs.integer("buffer_granules"),
    );
    let granule = setup.granule;
    Ok(Box::new(EagerCopies::new(
        shape, granule, map, limits, None,
    )?))
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "distorted_mirror",
    aliases: &["ddm", "doubly-distorted-mirror"],
    summary: "mirrored pairs, both copies written anywhere, one moved home later",
    source: "Orji and Solworth, Doubly distorted mirrors, SIGMOD 1993; as in Zhang and others, FAST 2002",
    knobs: &[
        Knob::number(
            "ds",
            1.0,
            1.0..=512.0,
            "Ds, striping: 1/Ds of the cylinders are used; there are 2 x Ds x Dd drives",
        ),
        Knob::number(
            "dd",
            2.0,
            1.001..=512.0,
            "Dd, dilution: slots per block on the cylinders that are used",
        ),
        FOREGROUND,
        BUFFER,
        UNIT,
        GRANULE,
    ],
    build,
};
