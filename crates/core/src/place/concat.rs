//! One drive behind the other: the volume fills the first, then the second, and so on.
//!
//! What lies together stays on one arm. A volume that is made of several, each as large as a drive,
//! has every one of them on a drive of its own. O(drives touched) per request.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written; if
//! no drive has a volatile cache, all that was answered.
//!
//! It is a stripe whose unit is a whole drive.

use super::stripe;
use super::striping::{Piece, Striping};
use crate::contract::{Drives, Placement, Shape};
use crate::io::Data;
use crate::plan::Plan;
use crate::registry::{Knob, Knobs, Spec, VolumeEnv};
use crate::request::Request;
use crate::units::{Blocks, Instant};

struct Concat {
    striping: Striping,
    /// Whether discards go to the drives, which keep a map then.
    discards: bool,
}

impl Concat {
    fn new(knobs: &Knobs, env: &VolumeEnv<'_>) -> Concat {
        let striping = Striping {
            columns: knobs.integer("disks"),
            unit: env.blueprint.capacity().0,
        };
        let discards = env.blueprint.keeps_map();
        Concat { striping, discards }
    }
}

impl Placement for Concat {
    fn shape(&self) -> Shape {
        Shape {
            drives: self.striping.columns as u16,
            ..Shape::of(Blocks(self.striping.unit * self.striping.columns))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        // On a drive the volume's blocks follow each other.
        let data = |piece: &Piece| Data::from(piece.first);
        stripe::plan((&self.striping, self.discards), request, data, out);
    }
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "concat",
    aliases: &["jbod", "spanned"],
    summary: "several drives, one behind the other",
    source: "md(4) of Linux, its linear mode",
    knobs: &[Knob::integer("disks", 2, 1..=1_024, "drives")],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: super::FLUSHED,
    build: |knobs, env| Ok(Box::new(Concat::new(knobs, env))),
};
