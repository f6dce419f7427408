//! What a skip costs after a think time: a table, measured on the model of a drive.
//!
//! As the prototype did it: write 4 KiB at p, think, and time a write of 4 KiB at p + skip; for
//! every think time and every skip of a grid, at several p, averaged. A drive of its own is
//! measured, so nothing of a run is in the table. Who looks something up gets the row of the next
//! longer think time, and the column of the next shorter skip: a block that is a little farther
//! than the column is reached, and one that is nearer might just have gone by.
//!
//! To measure costs two commands for each entry and p: the published grid of 1,601 by 1,201 entries
//! is 3.8 million commands for each p. The table takes 10 bytes an entry.

use std::ops::Range;

use nearslot_core::contract::Blueprint;
use nearslot_core::op::Op;
use nearslot_core::units::Duration;

use super::PAYLOAD_BLOCKS;
use crate::bench::Bench;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// From one think time to the next.
    pub think_step: Duration,
    /// How many, 0 included.
    pub thinks: u64,
    /// Blocks of 512 bytes from one skip to the next.
    pub skip_step: u64,
    /// How many, 0 included.
    pub skips: u64,
    /// Places that are averaged over.
    pub repeats: u64,
}

impl Grid {
    /// The published one: 0 to 80 ms by 50 us, 0 to 600 KB by 512 bytes. How often it was repeated
    /// is not said.
    pub const fn published(repeats: u64) -> Grid {
        Grid {
            think_step: Duration::from_us(50),
            thinks: 1_601,
            skip_step: 1,
            skips: 1_201,
            repeats,
        }
    }

    /// Blocks from the begin of the first write to the end of the second one that is farthest.
    pub fn reach(&self) -> u64 {
        (self.skips - 1) * self.skip_step + PAYLOAD_BLOCKS
    }

    /// Entries of the table.
    pub fn entries(&self) -> u64 {
        self.thinks * self.skips
    }
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    grid: Grid,
    /// Nanoseconds, by think time and then by skip.
    cost: Vec<u64>,
    /// Skips of each row, the cheapest first, and of equal ones the shortest.
    order: Vec<u16>,
}

impl Profile {
    /// Skips of a row at most.
    pub const SKIPS_MAX: u64 = 1 << 16;

    /// Measures a drive within some of its blocks; writes end on the medium if `fua`, whatever its
    /// cache. None if `go_on` says that nobody wants it any more.
    ///
    /// # Panics
    /// If the blocks have no room for the longest skip, or the grid is empty.
    pub fn measure(
        blueprint: &dyn Blueprint,
        blocks: Range<u64>,
        grid: Grid,
        fua: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Profile> {
        assert!(
            grid.thinks > 0 && (1..=Profile::SKIPS_MAX).contains(&grid.skips) && grid.repeats > 0,
            "{grid:?}"
        );
        let room = (blocks.end - blocks.start)
            .checked_sub(grid.reach())
            .expect("the region is longer than the longest skip");
        let mut bench = Bench::new(blueprint.drive(), fua);
        let write = |bench: &mut Bench, at| bench.access(Op::Write, at, PAYLOAD_BLOCKS);
        let mut cost = Vec::with_capacity(grid.entries() as usize);
        for think in 0..grid.thinks {
            let think = Duration(grid.think_step.0 * think);
            for skip in 0..grid.skips {
                if !go_on() {
                    return None;
                }
                let mut sum = 0;
                for repeat in 0..grid.repeats {
                    let p = blocks.start + room * repeat / grid.repeats;
                    write(&mut bench, p);
                    bench.think(think);
                    sum += write(&mut bench, p + skip * grid.skip_step).0;
                }
                cost.push(sum / grid.repeats);
            }
        }
        Some(Profile::of(grid, cost))
    }

    /// A table of these costs, by think time and then by skip.
    pub(super) fn of(grid: Grid, cost: Vec<u64>) -> Profile {
        assert_eq!(cost.len() as u64, grid.entries(), "all of the grid");
        let rows = cost.chunks(grid.skips as usize);
        let sorted = rows.flat_map(|row| {
            let mut columns: Vec<u16> = (0..=(grid.skips - 1) as u16).collect();
            columns.sort_by_key(|column| row[usize::from(*column)]);
            columns
        });
        let order = sorted.collect();
        Profile { grid, cost, order }
    }

    /// What was measured.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        self.cost.len() * 10
    }

    /// The costs, by think time and then by skip.
    pub fn costs(&self) -> &[u64] {
        &self.cost
    }

    /// Whether the table has a row for such a think time.
    pub fn covers(&self, think: Duration) -> bool {
        think.0 <= self.grid.think_step.0 * (self.grid.thinks - 1)
    }

    /// The skips, in blocks of 512 bytes, that are quickest after such a think time, the quickest
    /// first. Each stands for those up to the next longer one.
    pub fn quickest(&self, think: Duration) -> impl Iterator<Item = Range<u64>> + '_ {
        let row = think.0.div_ceil(self.grid.think_step.0);
        let row = row.min(self.grid.thinks - 1) as usize;
        let skips = self.grid.skips as usize;
        let step = self.grid.skip_step;
        let order = &self.order[row * skips..(row + 1) * skips];
        order.iter().map(move |column| {
            let begin = u64::from(*column) * step;
            begin..begin + step
        })
    }
}
