//! Doubly distorted mirrors: both copies are written anywhere, and one is moved to a fixed place
//! later.
//!
//! Pairs of drives hold the same blocks. Of every block one drive of the pair is the master: there
//! it has a home, a fixed slot, and blocks that follow each other have homes that do, so that long
//! reads stay long. A write goes eagerly to both drives; in its spare time the master writes the
//! block a third time, to its home. Half of the blocks have their master on one drive, half on the
//! other. Like the original's re-implementation in the study of eager writing, it knows where the
//! heads are, which the original did not.
//!
//! The map may be kept as that of `ew_array` is. Where homes are is not in it: they follow from the
//! drive, the knobs, and the room that keeping the map takes. A copy that a power cut left
//! elsewhere is read and moved home in spare time.
//!
//! With `map=log` or `map=virtual_log` all that was answered is there after a power cut: each write
//! is forced to the medium if the drives have a volatile cache. With `map=memory` nothing is.
//!
//! Source: Orji and Solworth, "Doubly distorted mirrors", SIGMOD 1993; Zhang and others, FAST 2002,
//! section 6.3.

use super::delayed::{BUFFER, FOREGROUND};
use super::eager::prepare::{CHUNK, Setup};
use super::eager::store::{HOME, MAP, MAPPED, NVRAM, PORTIONS, REGION, STATIONS};
use super::eager::volume::Volume;
use super::striping::{UNIT, drives_of, unit_in_chunks};
use crate::contract::{OPEN, Placement};
use crate::maplog::Spread;
use crate::registry::{Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks};

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let (ds, dd) = (knobs.number("ds"), knobs.number("dd"));
    let pairs = drives_of(&[("ds", ds), ("dd", dd)])?;
    let drives = drives_of(&[("dm", 2.0), ("ds", ds), ("dd", dd)])?;
    let chunk_kib = knobs.integer("chunk_kib");
    let unit = unit_in_chunks(knobs.integer("stripe_kib"), chunk_kib)?;
    // Of two units on a drive one has its home there.
    let setup = Setup {
        chunk: Blocks(chunk_kib * 1024 / BLOCK_BYTES),
        striping: ds,
        dilution: dd,
        aging: 0.0,
        unit: 2 * unit,
        homes: unit,
        drives,
        log: Blocks(0),
        spares: 0,
        stations: 0,
    };
    let limits = (knobs.integer("foreground"), knobs.integer("buffer_chunks"));
    let volume = Volume {
        setup,
        copies: 2,
        spread: Spread::ByPair,
        columns: pairs,
        unit,
        limits,
        compact: false,
        knobs,
        env,
    };
    volume.placement()
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
        CHUNK,
        MAP,
        HOME,
        NVRAM,
        PORTIONS,
        REGION,
        STATIONS,
    ],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: true,
    promises: MAPPED,
    build,
};
