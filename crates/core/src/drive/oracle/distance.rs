//! Block distance only: what a host knows that was told nothing about its drive.
//!
//! The price of a place is its distance in blocks from the end of the last command, a nanosecond a block: only the
//! order of prices means anything. SATF over this oracle is SSTF (but for ties). Bands are equal ranges of blocks, small
//! enough in number to be walked and large enough to be few; O(1) per price.

use crate::contract::Oracle;
use crate::freemap::{FreeMap, Tracks};
use crate::io::{Command, Foresight, Head, Place};
use crate::registry::{Env, Spec};
use crate::request::Op;
use crate::search::{self, Landing, Search};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// Most bands that a drive is cut into.
const BANDS_MAX: u64 = 1 << 16;

struct Distance {
    /// Blocks in a band.
    width: u64,
    bands: u32,
    /// First block behind the last command.
    last: Pba,
}

impl Distance {
    fn new(capacity: Blocks) -> Distance {
        // No drive has more than `CAPACITY_MAX` blocks, so the number of a block within its band fits 32 bits.
        let width = capacity.0.div_ceil(BANDS_MAX).max(1);
        assert!(width <= u64::from(u32::MAX), "{capacity} blocks");
        Distance {
            width,
            bands: (capacity.0 / width + 1) as u32,
            last: Pba(0),
        }
    }

    /// The block of this number in a band.
    fn block(&self, band: u32, number: u32) -> Pba {
        Pba(u64::from(band) * self.width + u64::from(number))
    }

    fn build(env: &Env<'_>) -> Distance {
        Distance::new(env.blueprint.capacity())
    }
}

impl Oracle for Distance {
    fn head(&self) -> Head {
        let Place { band, surface, .. } = self.locate(self.last);
        Head { band, surface }
    }

    fn bands(&self) -> u32 {
        self.bands
    }

    /// A block is named by its band and, in place of a head, by its number within the band.
    fn locate(&self, at: Pba) -> Place {
        Place {
            band: (at.0 / self.width) as u32,
            surface: (at.0 % self.width) as u32,
            angle: Angle(0),
        }
    }

    fn track_band(&self, tracks: &Tracks, head: Head) -> u32 {
        tracks.band_at(self.block(head.band, head.surface))
    }

    fn reach(&self, distance: u32) -> Duration {
        match distance {
            0 => Duration::ZERO,
            _ => Duration((u64::from(distance) - 1) * self.width + 1),
        }
    }

    fn position(&self, now: Instant, op: Op, place: &Place) -> Duration {
        self.travel(now, op, place.head())
    }

    fn travel(&self, _now: Instant, _op: Op, to: Head) -> Duration {
        Duration(self.last.distance(self.block(to.band, to.surface)).0)
    }

    /// A nanosecond a block, as all prices here; the way alone.
    fn foresee(&self, now: Instant, _op: Op, at: Pba, len: Blocks) -> Foresight {
        let Place { band, surface, .. } = self.locate(at + len);
        Foresight {
            end: now + Duration(self.last.distance(at).0),
            head: Head { band, surface },
        }
    }

    fn reach_after(&self, distance: u32) -> Duration {
        self.reach(distance)
    }

    fn position_after(&self, access: &Foresight, _op: Op, place: &Place) -> Duration {
        let from = self.block(access.head.band, access.head.surface);
        Duration(from.distance(self.block(place.band, place.surface)).0)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<Landing> {
        search::by_block(self, search, free, self.last)
    }

    fn started(&mut self, _now: Instant, command: &Command) {
        if command.op != Op::Flush {
            self.last = command.at + command.len;
        }
    }
}

pub(super) static SPEC: Spec<dyn Oracle> = Spec {
    name: "distance",
    aliases: &[],
    summary: "block distance from the end of the last command, nothing of the drive",
    source: "what an operating system's elevator assumes",
    knobs: &[],
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
        };
        oracle.started(Instant::ZERO, &command);
        let head = oracle.head().band;
        for at in [0, 19_999_999_999, 20_000_000_008, 39_999_999_999] {
            let place = oracle.locate(Pba(at));
            let price = oracle.position(Instant::ZERO, Op::Write, &place);
            assert_eq!(price.0, at.abs_diff(20_000_000_008));
            assert!(oracle.reach(head.abs_diff(place.band)) <= price);
            assert!(place.band < oracle.bands());
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
        };
        oracle.started(Instant::ZERO, &flush);
        assert_eq!(oracle.head(), Head::default());
    }
}
