//! What it costs a drive to go on so many blocks behind the last access: tables for reads and
//! writes, measured before anything is run.
//!
//! A file that does not lie in one piece is read, and written, piece by piece. Where the next piece
//! begins too near, it has gone by before the command for it is there, and costs a turn; where it
//! is farther off, all that lies between has to pass. FFS knew the first (McKusick and others, "A
//! fast file system for UNIX", TOCS 2 (3), 1984: `rotdelay`), and had it as a setting. Here it is
//! measured, with all that tracks, surfaces, read-ahead and the bus make of it, as log skipping
//! measures skips of writes ([`crate::skiplog`]).
//!
//! Three accesses of one length follow each other: the second a few blocks behind the first, by
//! turns none to seven, and the third so many blocks behind the second as is to be measured. What
//! the third takes is averaged over several places. So a drive is in no rhythm that only equal
//! skips have. What a drive takes for each block is told apart, by long accesses beside short ones.
//! Reads are by the length of the piece before, which the bus may not have carried yet when it has
//! passed; writes by their own, as their data have to be there first.
//!
//! Departures: a drive has zones, so a volume has as many tables as eighths; within one they are
//! averaged. Measured are 3 accesses for each skip, length and place, reads and writes: a million
//! and a half, and half a second with the simulator as optimised as the demo's.

use nearslot_core::contract::Blueprint;
use nearslot_core::op::Op;

use super::shape::SECTORS;
use crate::bench::Bench;

/// Skips that are measured, 0 included: some tracks of an old drive, a part of one of a new one.
pub const SKIPS: u64 = 384;
/// Blocks of the accesses of a row. What is longer is as the last but for its transfer.
const LENGTHS: [u64; 5] = [1, 2, 4, 8, 16];
/// Places that are averaged over. From one to the next it is a golden section of all, so places
/// that follow each other are far apart.
const PLACES: u64 = 16;
const GOLDEN: u64 = 618_034;
const WHOLE: u64 = 1_000_000;
/// Skips from the first access to the second, 0 included.
const BEFORE: u64 = 8;
/// Tables of a volume.
const PARTS: u64 = 8;

/// One for a part of the volume and for one kind of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What an access costs besides its transfer, in ns, by the class of its length and by how many
    /// blocks it is behind the last, which has the same length.
    cost: Vec<Vec<u64>>,
    /// What a block more costs.
    more: u64,
}

/// The tables of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skips {
    /// Of reads and of writes.
    parts: Vec<[Table; 2]>,
    /// Blocks of a part.
    blocks: u64,
}

impl Skips {
    /// Measures a drive of which so many blocks are used. None if `go_on` says that nobody wants it
    /// any more.
    pub fn measure(
        blueprint: &dyn Blueprint,
        blocks: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Skips> {
        let longest = LENGTHS[LENGTHS.len() - 1];
        let least = 3 * longest + BEFORE + SKIPS + PLACES;
        let parts = PARTS.min(blocks / least).max(1);
        let each = blocks / parts;
        let table = |part: u64, op: Op| {
            let mut bench = Bench::new(blueprint.drive(), false);
            measure(&mut bench, op, (part * each, each), go_on)
        };
        let tables = (0..parts).map(|part| Some([table(part, Op::Read)?, table(part, Op::Write)?]));
        Some(Skips::of(tables.collect::<Option<Vec<_>>>()?, each))
    }

    /// These tables, each of so many blocks of the volume.
    pub fn of(parts: Vec<[Table; 2]>, blocks: u64) -> Skips {
        assert!(!parts.is_empty(), "tables of no part of the volume");
        assert!(blocks > 0, "parts of no block");
        Skips { parts, blocks }
    }

    /// How far skips are in the table.
    pub(super) fn reach(&self, block: u64) -> u64 {
        self.at(block)[0].cost[0].len() as u64
    }

    fn at(&self, block: u64) -> &[Table; 2] {
        let part = (block / self.blocks) as usize;
        &self.parts[part.min(self.parts.len() - 1)]
    }

    /// What so many blocks cost to be written and to be read, so many behind the end of the last,
    /// which were so many; none if that is not in the table.
    pub(super) fn cost(&self, end: u64, last: u64, skip: u64, len: u64) -> Option<u64> {
        let [read, written] = self.at(end);
        let reads = read.cost[class(last)].get(skip as usize)?;
        let writes = written.cost[class(len)].get(skip as usize)?;
        Some(reads + writes + len * (read.more + written.more))
    }

    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.parts.len() * 2 * LENGTHS.len() * SKIPS as usize * 8
    }
}

impl Table {
    /// These costs, by the class of a length and by skip, and what a block more costs.
    pub(super) fn of(cost: Vec<Vec<u64>>, more: u64) -> Table {
        assert_eq!(cost.len(), LENGTHS.len(), "a row for each length");
        assert!(!cost[0].is_empty(), "a table of no skip");
        assert!(cost.iter().all(|costs| costs.len() == cost[0].len()));
        Table { cost, more }
    }
}

/// The longest length that is measured and not above this one.
fn class(len: u64) -> usize {
    let below = LENGTHS.iter().filter(|one| **one <= len).count();
    below.max(1) - 1
}

/// Measures accesses of one kind within some blocks.
fn measure(
    bench: &mut Bench,
    op: Op,
    (begin, blocks): (u64, u64),
    go_on: &dyn Fn() -> bool,
) -> Option<Table> {
    let longest = LENGTHS[LENGTHS.len() - 1];
    let skips = SKIPS.min(blocks - 3 * longest - BEFORE - PLACES);
    let mut rows = 0;
    let mut row = |skip: u64, len: u64| {
        // Nothing is read that a drive still has from the row before.
        let before = rows % BEFORE;
        let reach = 3 * len + before + skip;
        let first = begin + (blocks - reach) * (rows * GOLDEN % WHOLE) / WHOLE;
        rows += 1;
        let mut access = |at: u64| bench.access(op, at * SECTORS, len * SECTORS).0;
        access(first);
        access(first + len + before);
        access(first + len + before + len + skip)
    };
    let mut mean = |skip: u64, len: u64| {
        let sum = || (0..PLACES).map(|_| row(skip, len)).sum::<u64>();
        go_on().then(sum).map(|sum| sum / PLACES)
    };
    let mut of_length =
        |len: u64| -> Option<Vec<u64>> { (0..skips).map(|skip| mean(skip, len)).collect() };
    let cost: Option<Vec<Vec<u64>>> = LENGTHS.iter().map(|len| of_length(*len)).collect();
    let mut cost = cost?;
    let least = |costs: &[u64]| costs.iter().copied().min().expect("there is a skip");
    let more = least(&cost[LENGTHS.len() - 1]).saturating_sub(least(&cost[0])) / (longest - 1);
    for (costs, len) in cost.iter_mut().zip(LENGTHS) {
        costs
            .iter_mut()
            .for_each(|cost| *cost = cost.saturating_sub(more * len));
    }
    Some(Table::of(cost, more))
}
