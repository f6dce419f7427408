//! Every I/O is a command of its own.

use crate::contract::Merging;
use crate::registry::Spec;

pub(super) static SPEC: Spec<Merging> = Spec {
    name: "none",
    aliases: &["off"],
    summary: "every I/O is a command of its own",
    source: "Linux, the attribute nomerges of a block device",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(Merging::None)),
};
