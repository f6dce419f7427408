//! The drive's true parameters: what a scheduler inside the drive knows.

use crate::contract::Oracle;
use crate::registry::Spec;

pub(super) static SPEC: Spec<dyn Oracle> = Spec {
    name: "exact",
    aliases: &[],
    summary: "true parameters and position, as firmware has them",
    source: "the drive model itself",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| Ok(env.blueprint.exact()),
};
