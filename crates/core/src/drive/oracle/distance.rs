//! Block distance only: what a host knows that was told nothing about its drive.
//!
//! The price of a place is its distance in blocks from the end of the last command, a nanosecond a
//! block: only the order of prices means anything. SATF over this oracle is SSTF (but for ties).
//! Cylinders are equal ranges of blocks, small enough in number to be walked and large enough to be
//! few; O(1) per price.

use crate::contract::{Arm, Oracle};
use crate::freemap::{FreeMap, Tracks};
use crate::io::Command;
use crate::offer::Legal;
use crate::op::Op;
use crate::position::{
    ArmPosition, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search,
};
use crate::registry::{DriveEnv, Spec};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// Most cylinders that a drive is cut into.
const BANDS_MAX: u64 = 1 << 16;

struct Distance {
    /// Blocks in a cylinder.
    width: u64,
    /// First block behind the last command.
    last: Pba,
}

impl Distance {
    fn new(capacity: Blocks) -> Distance {
        // No drive has more than `CAPACITY_MAX` blocks, so the number of a block within its
        // cylinder fits 32 bits.
        let width = capacity.0.div_ceil(BANDS_MAX).max(1);
        assert!(width <= u64::from(u32::MAX), "{capacity} blocks");
        Distance {
            width,
            last: Pba(0),
        }
    }

    /// The block of this number in a cylinder.
    fn block(&self, cylinder: u32, number: u32) -> Pba {
        Pba(u64::from(cylinder) * self.width + u64::from(number))
    }

    fn build(env: &DriveEnv<'_>) -> Distance {
        Distance::new(env.blueprint.capacity())
    }
}

impl Oracle for Distance {
    /// A block is named by its cylinder and, in place of a head, by its number within the cylinder.
    fn locate(&self, at: Pba) -> Place {
        Place {
            cylinder: (at.0 / self.width) as u32,
            surface: (at.0 % self.width) as u32,
            angle: Angle(0),
        }
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration {
        self.seek_time(now, op, place.arm_position(), len)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.predict(now, op, at, len).end.since(now)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        search::free::by_block(self, search, free, self.last)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        search::offered::by_block(self, self.last, (now, before), legal)
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, _now: Instant, command: &Command) {
        if command.op != Op::Flush {
            self.last = command.at + command.len;
        }
    }
}

impl Arm for Distance {
    fn position(&self) -> ArmPosition {
        let Place {
            cylinder, surface, ..
        } = self.locate(self.last);
        ArmPosition { cylinder, surface }
    }

    fn track_cylinder(&self, tracks: &Tracks, position: ArmPosition) -> u32 {
        tracks.cylinder_at(self.block(position.cylinder, position.surface))
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        match distance {
            0 => Duration::ZERO,
            _ => Duration((u64::from(distance) - 1) * self.width + 1),
        }
    }

    fn seek_time(&self, _now: Instant, _op: Op, to: ArmPosition, _len: Blocks) -> Duration {
        Duration(self.last.distance(self.block(to.cylinder, to.surface)).0)
    }

    /// A nanosecond a block, as all prices here; the way alone.
    fn predict(&self, now: Instant, _op: Op, at: Pba, len: Blocks) -> Predicted {
        let Place {
            cylinder, surface, ..
        } = self.locate(at + len);
        Predicted {
            end: now + Duration(self.last.distance(at).0),
            arm: ArmPosition { cylinder, surface },
        }
    }

    fn positioning_time_after(&self, access: &Predicted, _op: Op, place: &Place) -> Duration {
        let from = self.block(access.arm.cylinder, access.arm.surface);
        Duration(from.distance(self.block(place.cylinder, place.surface)).0)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.seek_at_least(distance)
    }
}

pub(super) static SPEC: Spec<dyn Oracle> = Spec {
    name: "distance",
    aliases: &[],
    summary: "block distance from the end of the last command, nothing of the drive",
    source: "what an operating system's elevator assumes",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| Ok(Box::new(Distance::build(env))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IoId;

    #[test]
    fn the_price_is_the_distance_and_reach_stays_below() {
        let mut oracle = Distance::new(Blocks(40_000_000_000));
        let command = Command {
            io: IoId(0),
            op: Op::Read,
            at: Pba(20_000_000_000),
            len: Blocks(8),
            fua: false,
        };
        oracle.started(Instant::ZERO, &command);
        let head = oracle.position().cylinder;
        for at in [0, 19_999_999_999, 20_000_000_008, 39_999_999_999] {
            let place = oracle.locate(Pba(at));
            let price = oracle.positioning_time(Instant::ZERO, Op::Write, &place, Blocks(1));
            assert_eq!(price.0, at.abs_diff(20_000_000_008));
            assert!(oracle.seek_at_least(head.abs_diff(place.cylinder)) <= price);
        }
    }

    #[test]
    fn a_flush_moves_nothing() {
        let mut oracle = Distance::new(Blocks(100));
        let flush = Command {
            io: IoId(0),
            op: Op::Flush,
            at: Pba(50),
            len: Blocks(0),
            fua: false,
        };
        oracle.started(Instant::ZERO, &flush);
        assert_eq!(oracle.position(), ArmPosition::default());
    }
}
