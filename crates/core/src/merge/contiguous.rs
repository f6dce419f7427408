//! I/Os of the same kind that continue each other while they wait become one command, as in Linux.
//!
//! An I/O that comes joins one that waits and ends where it begins (back merge), or one that begins
//! where it ends (front merge). If it fills the gap between two, all three become one. The same
//! kind is: read or write, the same priority, the same group of streams. Streams may differ, as in
//! Linux. Merged are the parts of clients' requests that go to one address. What a placement does
//! for itself is not (delayed copies, repairs and rebuilds, a map), nor are forced writes, writes
//! whose address is open (`eager`, `ew_array`, `distorted_mirror`), and reads and writes that wait
//! at several copies (`mirror`, `sr_array`). Small writes of `raid5` find none to join: those of
//! one stripe go one after the other. A run that merged nothing has a warning.

use crate::contract::Merging;
use crate::registry::{Knob, Spec};
use crate::units::Blocks;

/// Blocks in a KiB.
const KIB: u64 = 2;

pub(super) static SPEC: Spec<Merging> = Spec {
    name: "contiguous",
    aliases: &["adjacent"],
    summary: "reads, or writes, that continue each other become one command",
    source: "Linux, block/blk-merge.c and block/elevator.c; the attributes max_sectors_kb and front_merges",
    knobs: &[
        Knob::integer(
            "max_kib",
            1_280,
            1..=1_048_576,
            "KiB of a merged command at most; what is longer by itself stays as it is",
        ),
        Knob::flag(
            "front",
            true,
            "whether an I/O also joins one that begins where it ends",
        ),
    ],
    measures: Merging::MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, _| {
        Ok(Box::new(Merging::Contiguous {
            most: Blocks(knobs.integer("max_kib") * KIB),
            front: knobs.flag("front"),
        }))
    },
};
