//! Striping over drives without copies (RAID-0).
//!
//! Consecutive units go to consecutive drives. Random requests are served by as many arms as there
//! are drives; long ones move many drives at once. O(drives touched) per request.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written; if
//! no drive has a volatile cache, all that was answered.
//!
//! Source: Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)",
//! SIGMOD 1988.

use super::striping::{Piece, Striping, UNIT};
use crate::contract::{Drives, Placement, Shape};
use crate::ids::DriveId;
use crate::io::Data;
use crate::op::Op;
use crate::plan::{Plan, PlannedIo, Target};
use crate::registry::{ConfigError, Knob, Knobs, Spec, VolumeEnv};
use crate::request::Request;
use crate::units::{Blocks, Extent, Instant, Pba};

struct Stripe {
    striping: Striping,
    capacity: Blocks,
    /// Whether discards go to the drives, which keep a map then.
    discards: bool,
}

impl Stripe {
    fn new(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Stripe, ConfigError> {
        let striping = Striping::new(knobs.integer("disks"), knobs.integer("stripe_kib"));
        let capacity = striping.capacity(env.blueprint.capacity())?;
        Ok(Stripe {
            striping,
            capacity,
            discards: env.blueprint.keeps_map(),
        })
    }
}

impl Placement for Stripe {
    fn shape(&self) -> Shape {
        Shape {
            drives: self.striping.columns as u16,
            ..Shape::of(self.capacity)
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        plan(
            (&self.striping, self.discards),
            request,
            |piece| self.striping.data(piece),
            out,
        );
    }
}

/// An I/O for each drive that a request touches; `data` says which blocks of the volume a piece
/// holds. Discards go to the drives if told so.
pub(super) fn plan(
    (striping, discards): (&Striping, bool),
    request: &Request,
    data: impl Fn(&Piece) -> Data,
    out: &mut Plan,
) {
    match request.op {
        Op::Flush => flush(striping, &request.extent, out),
        Op::Discard if !discards => {}
        op => {
            for piece in striping.pieces(&request.extent) {
                let (drive, target) = (DriveId(piece.column as u16), Target::At(piece.at));
                let mut planned = PlannedIo::new(drive, op, target, piece.len);
                planned.data = (op != Op::Discard).then(|| data(&piece));
                out.io(planned);
            }
        }
    }
}

/// A flush of the drives that have what it covers.
fn flush(striping: &Striping, covered: &Extent, out: &mut Plan) {
    for column in striping.columns_of(covered) {
        let (drive, target) = (DriveId(column as u16), Target::At(Pba(0)));
        out.io(PlannedIo::new(drive, Op::Flush, target, Blocks(0)));
    }
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "stripe",
    aliases: &["raid0", "raid-0"],
    summary: "several drives, consecutive units on consecutive ones",
    source: "Patterson, Gibson and Katz, A case for redundant arrays of inexpensive disks, SIGMOD 1988",
    knobs: &[Knob::integer("disks", 2, 1..=1_024, "drives"), UNIT],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: super::FLUSHED,
    build: |knobs, env| Ok(Box::new(Stripe::new(knobs, env)?)),
};
