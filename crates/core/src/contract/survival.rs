//! The contracts of a placement that drives can go from, and of one that keeps something for a
//! power cut. Each has them or has not.

use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::units::{Blocks, Duration, Extent};

/// A place of a volume that lacks what it should have: others stand in for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// In which array that is, if there are several.
    pub array: Option<u16>,
    /// The drive that had all of it last, and is gone.
    pub drive: DriveId,
    /// Spares that had the place since, and are gone before they had all of it; in their order.
    pub spent: Vec<DriveId>,
    /// The drive that has the place now, if one has it.
    pub replaced: Option<Replaced>,
}

/// A drive in the place of one that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Which.
    pub by: DriveId,
    /// How many blocks it lacks.
    pub left: Blocks,
    /// Whether it is still being rebuilt. If not, it has all that could be had.
    pub goes_on: bool,
}

/// What is lost of a volume: nothing tells it, until it is written again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many blocks.
    pub blocks: u64,
    /// Where they are, by address: all, or the first of them, at most so many runs
    /// ([`Lost::LISTED`]); fewer where looking for more takes long.
    pub extents: Vec<Extent>,
}

impl Lost {
    /// Runs that are listed at most.
    pub const LISTED: usize = 100;

    /// Sorts runs that do not overlap, makes one of those that continue each other, and leaves the
    /// first ones.
    pub fn put_in_order(&mut self) {
        self.extents.sort_unstable_by_key(|extent| extent.start);
        self.extents.dedup_by(|next, before| {
            let continues = before.end() == next.start;
            before.len.0 += if continues { next.len.0 } else { 0 };
            continues
        });
        self.extents.truncate(Lost::LISTED);
    }
}

/// Chunks of a volume with copies of which few are good: with the newest data, or about to get them
/// in spare time, on a drive that is not gone, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FewCopies {
    /// Chunks with one good copy, which should have more.
    pub one: u64,
    /// Chunks with none.
    pub none: u64,
    /// Blocks of a chunk.
    pub chunk: Blocks,
}

impl FewCopies {
    /// So many more chunks have so many good copies.
    pub fn add(&mut self, copies: usize, chunks: u64) {
        match copies {
            0 => self.none += chunks,
            1 => self.one += chunks,
            _ => {}
        }
    }

    /// A chunk that was counted with so many good copies has another number of them.
    pub fn correct(&mut self, counted: usize, copies: usize) {
        match counted {
            0 => self.none -= 1,
            1 => self.one -= 1,
            _ => {}
        }
        self.add(copies, 1);
    }
}

/// What a placement that can lose drives knows of those that are gone.
pub trait Redundant {
    /// Each place that lacks what it should have, as its drive is gone: a seat of an array with
    /// parity, or a drive with copies.
    fn degraded(&self) -> Vec<Degraded>;

    /// What clients wrote and no drive tells any more. Empty if it keeps no account of that.
    fn lost(&self) -> Lost {
        Lost::default()
    }

    /// How many chunks have few good copies; none of a volume that keeps one copy of each. Counted
    /// when it is asked for.
    fn few_copies(&self) -> Option<FewCopies> {
        None
    }

    /// How long drives have been rebuilt that do not have all, all together: they are not rebuilt
    /// yet, or never were, as another drive went or they did.
    fn rebuilding(&self) -> Duration {
        Duration::ZERO
    }
}

/// What a placement keeps beside the volume's data, so that the volume survives a power cut.
pub trait Persistent {
    /// What has to survive besides the drives; if the drives are enough, what makes recovery short.
    fn nvram(&self) -> &[u8];

    /// What a write of its own, without the volume's data, puts on the drive. Empty if it makes no
    /// such writes.
    fn content(&self, _tag: Tag) -> &[u8] {
        &[]
    }

    /// The reads, one after another, by which the volume would come back if the power went at this
    /// instant. None if nothing has to be read. What is read where drives with a log differ follows from
    /// what lies there: then it is what was read when the volume came back.
    fn recovery(&self, _out: &mut Vec<RecoveryRead>) {}
}
