//! Mirrored stripes (RAID-10): units go round over columns, each drive of a column holds the same
//! blocks.
//!
//! Copies let a read choose the nearer of several heads, and cost every write as many accesses in
//! place. How reads and writes choose, and what is delayed, is told in `fixed_copies`.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written, and
//! all copies of a block are the same again; if no drive has a volatile cache, all that was
//! answered. A table in NVRAM is needed for that.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988; the scheduling: Yu and others, "Trading
//! capacity for performance in a disk array", OSDI 2000, section 3.4. O(copies) per chunk.

use super::delayed::{BUFFER, FOREGROUND};
use super::fixed_copies::{CopyOf, FixedCopies, Layout};
use super::striping::{Striping, UNIT, unit_in_chunks};
use crate::contract::Placement;
use crate::ids::DriveId;
use crate::registry::{ConfigError, Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::units::{Blocks, Pba};

/// What is written as a whole: 4 KiB.
pub(super) const CHUNK: Blocks = Blocks(8);

struct Mirror {
    striping: Striping,
    copies: u8,
    chunks: u64,
}

impl Mirror {
    fn new(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Mirror, ConfigError> {
        let (disks, copies) = (knobs.integer("disks"), knobs.integer("copies"));
        if !disks.is_multiple_of(copies) {
            let allowed = format!("a multiple of {copies}, the copies");
            return Err(ConfigError::value("disks", &disks.to_string(), &allowed));
        }
        let stripe_kib = knobs.integer("stripe_kib");
        unit_in_chunks(stripe_kib, CHUNK.bytes() / 1024)?;
        let striping = Striping::new(disks / copies, stripe_kib);
        let capacity = striping.capacity(env.blueprint.capacity())?;
        Ok(Mirror {
            chunks: capacity.0 / CHUNK.0,
            striping,
            copies: copies as u8,
        })
    }
}

impl Layout for Mirror {
    fn copies(&self) -> u8 {
        self.copies
    }

    fn drives(&self) -> u16 {
        self.striping.columns as u16 * u16::from(self.copies)
    }

    fn chunks(&self) -> u64 {
        self.chunks
    }

    fn chunk(&self) -> Blocks {
        CHUNK
    }

    fn place(&self, copy: CopyOf) -> (DriveId, Pba) {
        let (column, at) = self.striping.place(copy.chunk().0 * CHUNK.0);
        let drive = column * u64::from(self.copies) + u64::from(copy.copy());
        (DriveId(drive as u16), Pba(at))
    }

    fn striping(&self) -> Striping {
        self.striping
    }
}

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let mirror = Mirror::new(knobs, env)?;
    Ok(Box::new(FixedCopies::new(mirror, knobs, env)?))
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "mirror",
    aliases: &["raid10", "raid-10", "raid1", "raid-1"],
    summary: "mirrored stripes: every block on several drives, reads take the nearest",
    source: "Patterson, Gibson and Katz, SIGMOD 1988; scheduling: Yu and others, Trading capacity for performance, OSDI 2000",
    knobs: &[
        Knob::integer("disks", 2, 1..=1_024, "drives, a multiple of the copies"),
        Knob::integer("copies", 2, 1..=16, "drives that hold the same blocks"),
        FOREGROUND,
        BUFFER,
        UNIT,
    ],
    measures: &[],
    asks: &["oracle"],
    prepared: false,
    promises: super::FLUSHED_COPIES,
    build,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maplog::copies::Chunk;

    /// Chunks whose numbers have the same lower 32 bits do not lie at the same place.
    #[test]
    fn chunks_lie_where_the_whole_number_says() {
        let of = |columns| Mirror {
            striping: Striping::new(columns, 64),
            copies: 2,
            chunks: 1 << 46,
        };
        let place = |columns, chunk| of(columns).place(CopyOf::new(Chunk(chunk), 1));
        let (low, high) = (5, (3 << 32) + 5);
        assert_eq!(place(1, low), (DriveId(1), Pba(40)));
        assert_eq!(place(1, high), (DriveId(1), Pba(8 * high)));
        // 16 chunks a unit: of two columns the first has every other unit.
        assert_eq!(place(2, high + 16), (DriveId(3), Pba((3 << 34) + 40)));
    }
}
