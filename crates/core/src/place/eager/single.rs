//! Eager writing on one drive: a write goes to whatever slot is free where the heads are.
//!
//! The smallest array of `ew_array`, one copy on one drive. Dilution is space for speed: with a
//! dilution of 2 half of the slots are free, and a free one is hardly ever far.
//!
//! With `map=log` or `map=virtual_log` all that was answered is there after a power cut: each write
//! is forced to the medium if the drives have a volatile cache. With `map=memory` nothing is.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk
//! array for a transaction processing workload", FAST 2002, section 2.

use super::prepare::{AGING, CHUNK, COMPACT, Setup};
use super::store::{HOME, MAP, MAPPED, NVRAM, PORTIONS, REGION, STATIONS};
use super::volume::Volume;
use crate::contract::{OPEN, Placement};
use crate::maplog::Spread;
use crate::registry::{Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::units::{BLOCK_BYTES, Blocks};

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let setup = Setup {
        chunk: Blocks(knobs.integer("chunk_kib") * 1024 / BLOCK_BYTES),
        striping: 1.0,
        dilution: knobs.number("dilution"),
        aging: knobs.number("aging"),
        unit: 1,
        homes: 0,
        drives: 1,
        log: Blocks(0),
        spares: 0,
        stations: 0,
    };
    let volume = Volume {
        setup,
        copies: 1,
        spread: Spread::ByCopy,
        columns: 1,
        unit: 1,
        limits: (1, 0),
        compact: knobs.flag("compact"),
        knobs,
        env,
    };
    volume.placement()
}

pub(in crate::place) static SPEC: Spec<dyn Placement> = Spec {
    name: "eager",
    aliases: &["eager_writing"],
    summary: "one drive, writes go to the free slot nearest to the heads",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[
        Knob::number(
            "dilution",
            2.0,
            1.001..=1e6,
            "slots of the drive per chunk of the volume: 2 leaves half of them free",
        ),
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
