//! Nothing is said of streams: all weigh the same, and their class and level are those of their
//! requests.

use crate::contract::Claims;
use crate::registry::Spec;

pub(super) static SPEC: Spec<Claims> = Spec {
    name: "none",
    aliases: &["equal"],
    summary: "all streams weigh the same; class and level are those of their requests",
    source: "Linux: a process of which nobody has said anything",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, ()| Ok(Box::default()),
};
