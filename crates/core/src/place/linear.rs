//! One drive, as it is: block n of the volume is block n of the drive.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written; if
//! no drive has a volatile cache, all that was answered.
//!
//! A range write lands where its drive's oracle says.
//!
//! A discard goes to a drive that keeps a map of what is in use, or resets zones; a plain drive
//! needs no I/O for it. Writes and discards of a zone follow each other in the order in which they
//! came, so a client that writes a zone in order need not wait for answers. O(1) per request.

use crate::contract::{Drives, Placement, Shape, ZONES};
use crate::ids::DriveId;
use crate::io::Data;
use crate::op::Op;
use crate::plan::{Plan, PlannedIo, Target};
use crate::registry::Spec;
use crate::request::Request;
use crate::units::{Blocks, Instant, Pba};
use crate::zones::ZoneShape;

struct Linear {
    capacity: Blocks,
    /// Whether the drive keeps a map, or has zones.
    discards: bool,
    zones: Option<ZoneShape>,
}

impl Placement for Linear {
    fn shape(&self) -> Shape {
        Shape {
            offers: true,
            zones: self.zones,
            ..Shape::of(self.capacity)
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        if request.op == Op::Discard && !self.discards {
            return;
        }
        let at = Pba(request.extent.start.0);
        let target = match request.offered {
            true => Target::Offered(at),
            false => Target::At(at),
        };
        let mut planned = PlannedIo::new(DriveId(0), request.op, target, request.extent.len);
        planned.data = (request.op != Op::Discard).then(|| Data::from(request.extent.start));
        out.io(planned);
    }
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "linear",
    aliases: &["single"],
    summary: "one drive, block n on block n",
    source: "what a plain disk does",
    knobs: &[],
    measures: &[],
    asks: &[ZONES],
    prepared: false,
    promises: super::FLUSHED,
    build: |_, env| {
        Ok(Box::new(Linear {
            capacity: env.blueprint.capacity(),
            discards: env.blueprint.keeps_map(),
            zones: env.blueprint.zones(),
        }))
    },
};
