//! The eager-writing disk array: Dm copies, striped over Ds x Dd drives each.
//!
//! A budget of D = Dm x Ds x Dd drives holds one drive's worth of data. Dm copies on different
//! drives shorten seeks and waits of reads; each drive uses 1/Ds of its cylinders, which shortens
//! seeks; and of those tracks only 1/Dd is full, which makes writes cheap. Ds and Dd may be
//! fractional, their product is a whole number. How writes and reads choose among drives, and what
//! is delayed, is told in `place/eager`.
//!
//! With `map=log` or `map=virtual_log` all that was answered is there after a power cut: each write
//! is forced to the medium if the drives have a volatile cache. With `map=memory` nothing is.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk
//! array for a transaction processing workload", FAST 2002, sections 2 and 4.

use super::delayed::{BUFFER, FOREGROUND};
use super::eager::prepare::{AGING, CHUNK, COMPACT, Setup};
use super::eager::store::{HOME, MAP, MAPPED, NVRAM, PORTIONS, REGION, STATIONS};
use super::eager::volume::Volume;
use super::striping::{UNIT, drives_of, unit_in_chunks};
use crate::contract::{OPEN, Placement};
use crate::maplog::Spread;
use crate::registry::{Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks};

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let (copies, ds, dd) = (knobs.integer("dm"), knobs.number("ds"), knobs.number("dd"));
    let columns = drives_of(&[("ds", ds), ("dd", dd)])?;
    let drives = drives_of(&[("dm", copies as f64), ("ds", ds), ("dd", dd)])?;
    let chunk_kib = knobs.integer("chunk_kib");
    let unit = unit_in_chunks(knobs.integer("stripe_kib"), chunk_kib)?;
    let setup = Setup {
        chunk: Blocks(chunk_kib * 1024 / BLOCK_BYTES),
        striping: ds,
        dilution: dd,
        aging: knobs.number("aging"),
        unit,
        homes: 0,
        drives,
        log: Blocks(0),
        spares: 0,
        stations: 0,
    };
    let limits = (knobs.integer("foreground"), knobs.integer("buffer_chunks"));
    let volume = Volume {
        setup,
        copies: copies as u8,
        spread: Spread::ByCopy,
        columns,
        unit,
        limits,
        compact: knobs.flag("compact"),
        knobs,
        env,
    };
    volume.placement()
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
        CHUNK,
        AGING,
        MAP,
        HOME,
        NVRAM,
        PORTIONS,
        REGION,
        STATIONS,
        COMPACT,
    ],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: true,
    promises: MAPPED,
    build,
};
