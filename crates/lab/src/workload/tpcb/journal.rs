//! The journal, as ext3 writes one: where its blocks lie, and which of them may be written again.
//!
//! It is a ring of blocks. A commit writes a descriptor with the pages that its transactions have
//! changed, and later a commit block. Its blocks may be written again once each of its pages is at
//! home, or part of a later commit; commits end in the order in which they came.
//!
//! Where a block of the ring lies on the drive is another question: at its own place, behind the
//! last one in a row; or wherever a log that skips puts it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::offer::Offer;
use nearslot_core::units::Instant;

use crate::skiplog::{Log, PAYLOAD_BLOCKS, Profile, SLOT_BLOCKS, Write, placing};

/// Who places a write of the journal.
#[derive(Clone)]
pub(super) enum Skip {
    /// Nobody: each block has its place.
    None,
    /// A measured table.
    Profile(Arc<Profile>),
    /// The drive, which is offered all that is free.
    Ranges,
    /// Nothing is written.
    Null,
}

/// A part of a write of the journal: one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// Blocks at their own places.
    Own { at: u64, blocks: u64 },
    /// Blocks that went to this slot.
    At { write: Write, slot: u64 },
    /// Blocks that the drive places.
    Open { write: Write },
}

/// Blocks of a commit that are still needed, by pages.
struct Commit {
    blocks: u64,
    pages: u64,
}

/// What is counted of the log.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) wraps: u64,
    /// Writes by a skipping log, the blocks that they left out, and how many were cut.
    pub(super) placed: u64,
    pub(super) skipped: u64,
    pub(super) cut: u64,
    /// Writes after a think time beyond the table.
    pub(super) beyond: u64,
}

pub(super) struct Journal {
    /// Blocks of the ring.
    blocks: u64,
    /// Blocks that are in use, and the next one to be written.
    used: u64,
    head: u64,
    commits: VecDeque<Commit>,
    /// Number of the oldest of them.
    oldest: u64,
    /// First block of the region.
    first: u64,
    skip: Skip,
    log: Option<Log>,
    /// The slot behind the last that was written, and when that ended.
    end: u64,
    answered: Instant,
    pub(super) counts: Counts,
}

impl Journal {
    pub(super) fn new(blocks: u64, first: u64, slots: u64, skip: Skip) -> Journal {
        let skips = matches!(skip, Skip::Profile(_) | Skip::Ranges);
        Journal {
            blocks,
            used: 0,
            head: 0,
            commits: VecDeque::new(),
            oldest: 0,
            first,
            log: skips.then(|| Log::new(blocks, slots)),
            skip,
            end: 0,
            answered: Instant::ZERO,
            counts: Counts::default(),
        }
    }

    /// Who places its writes.
    pub(super) fn skip(&self) -> &Skip {
        &self.skip
    }

    /// Blocks of a log that skips that are neither mapped nor being written.
    pub(super) fn free(&self) -> Option<u64> {
        self.log.as_ref().map(Log::free)
    }

    /// Whether so many blocks may be written.
    pub(super) fn has_room(&self, blocks: u64) -> bool {
        self.used + blocks <= self.blocks
    }

    /// Whether more than three quarters are in use.
    pub(super) fn is_short(&self) -> bool {
        self.used * 4 > self.blocks * 3
    }

    /// Number of the oldest commit that is needed.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// The newest of the oldest commits that have half of the ring, or all that there are.
    pub(super) fn oldest_half(&self) -> u64 {
        let mut blocks = 0;
        let half = self.commits.iter().position(|commit| {
            blocks += commit.blocks;
            blocks * 2 >= self.blocks
        });
        let behind = half.map_or(self.commits.len(), |last| last + 1) as u64;
        self.oldest + behind.saturating_sub(1)
    }

    /// The next blocks of the ring are to be written: where, in parts that each lie in a row.
    pub(super) fn next(&mut self, blocks: u64) -> Vec<Range<u64>> {
        assert!(
            self.has_room(blocks),
            "{blocks} blocks beyond {}",
            self.used
        );
        self.used += blocks;
        let begin = self.head;
        let behind = begin + blocks;
        let cut = behind.min(self.blocks);
        self.counts.wraps += u64::from(cut == self.blocks);
        let parts = [begin..cut, 0..behind - cut];
        self.head = behind % self.blocks;
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    /// Places as much of some blocks as goes into one request; none if no slot is free.
    pub(super) fn place(&mut self, now: Instant, blocks: &mut Range<u64>) -> Option<Piece> {
        let count = blocks.end - blocks.start;
        let Some(log) = &mut self.log else {
            let at = self.first + blocks.start * PAYLOAD_BLOCKS;
            blocks.start = blocks.end;
            return Some(Piece::Own { at, blocks: count });
        };
        let fits = log.room(self.end % log.slots(), count);
        if fits == 0 {
            return None;
        }
        self.counts.cut += u64::from(fits < count);
        let logical = blocks.start;
        blocks.start += fits;
        let Skip::Profile(profile) = &self.skip else {
            let write = log.begin(logical, fits);
            return Some(Piece::Open { write });
        };
        let think = now.since(self.answered);
        self.counts.beyond += u64::from(!profile.covers(think));
        let slot = placing::quickest(log, profile, (self.end, think), fits);
        let slot = slot.expect("there is room for it");
        let write = log.begin(logical, fits);
        log.take(&write, slot);
        Some(Piece::At { write, slot })
    }

    /// Where a piece goes: its first block, and how many. Of one that is open where it might.
    pub(super) fn extent(&self, piece: &Piece) -> (u64, u64) {
        match piece {
            Piece::Own { at, blocks } => (*at, blocks * PAYLOAD_BLOCKS),
            Piece::At { write, slot } => {
                let at = self.first + slot * SLOT_BLOCKS;
                (at, write.count * SLOT_BLOCKS)
            }
            Piece::Open { write } => {
                let log = self.log.as_ref().expect("a log that skips");
                let slot = log.next(self.end % log.slots(), write.count);
                let at = self.first + slot.expect("there is room for it") * SLOT_BLOCKS;
                (at, write.count * SLOT_BLOCKS)
            }
        }
    }

    /// All that is free, as a range write offers it.
    pub(super) fn offer(&self) -> Offer {
        let log = self.log.as_ref().expect("a log that skips");
        let block = |slot: u64| self.first + slot * SLOT_BLOCKS;
        let ranges = log.runs().map(|run| block(run.start)..block(run.end));
        Offer::list(ranges.collect(), SLOT_BLOCKS).expect("runs are in order, and there is one")
    }

    /// A piece has been written, beginning at this block.
    pub(super) fn written(&mut self, now: Instant, piece: &Piece, at: u64) {
        self.answered = now;
        let Some(log) = &mut self.log else {
            return;
        };
        let slot = (at - self.first) / SLOT_BLOCKS;
        let write = match piece {
            Piece::Own { .. } => panic!("a block with a place of its own in a log that skips"),
            Piece::At { write, .. } => write,
            Piece::Open { write } => {
                log.take(write, slot);
                write
            }
        };
        log.end(write, slot);
        self.counts.placed += 1;
        self.counts.skipped += (slot + log.slots() - self.end) % log.slots();
        self.end = (slot + write.count) % log.slots();
    }

    /// A commit has ended that changed so many pages; its number.
    pub(super) fn committed(&mut self, blocks: u64, pages: u64) -> u64 {
        self.commits.push_back(Commit { blocks, pages });
        self.oldest + self.commits.len() as u64 - 1
    }

    /// A page of a commit is at home, or part of a later one.
    pub(super) fn released(&mut self, commit: u64) {
        self.commits[(commit - self.oldest) as usize].pages -= 1;
        while let Some(front) = self.commits.front().filter(|front| front.pages == 0) {
            self.used -= front.blocks;
            self.oldest += 1;
            self.commits.pop_front();
        }
    }
}
