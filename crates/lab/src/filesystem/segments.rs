//! The space of a log: segments of equal size, what lives in each, what may be written, and which
//! one is worth cleaning.
//!
//! A block is *open* if it may be written. What was written is *used* until its segment is free
//! again as a whole: that is when nothing in it lives any more, and nothing that a checkpoint leads
//! to did when that checkpoint began. Summaries are used and never live. Ages are counted on a
//! clock of whoever writes; the age of a segment is that of its youngest block, which it keeps when
//! it is moved.
//!
//! Source: Rosenblum and Ousterhout, "The design and implementation of a log-structured file
//! system", TOCS 10 (1), 1992, sections 3.2 to 3.6. Costs: O(log n) of `n` live blocks for a block;
//! O(segments) for the next victim, and for what a checkpoint makes free; O(words of the volume)
//! for runs that are open.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use super::bits::Bits;
use super::files::Key;

/// Runs that are shorter than such a part of a segment are not counted as room by a log that
/// offers: little can be written there.
const SHORT: u64 = 8;

/// By what the cleaner chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanBy {
    /// What is gained times its age, to what it costs to read and write.
    CostBenefit,
    /// Fewest live blocks.
    Greedy,
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    live: u64,
    used: u64,
    /// When its youngest block changed.
    changed: u64,
    /// The epoch in which a block of it died last, or was written.
    touched: u64,
}

/// All segments of a volume.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// The first block of the first one, and how many blocks each has.
    first: u64,
    size: u64,
    all: Vec<Segment>,
    open: Bits,
    /// Blocks in open runs that are not short, where nothing was written or became free since they
    /// were counted.
    counted: Cell<Option<u64>>,
    /// What lives where, and when it changed.
    living: BTreeMap<u64, (Key, u64)>,
    /// How many of that are no data.
    above: u64,
}

impl Segments {
    /// `count` segments, all clean.
    pub(super) fn new(first: u64, size: u64, count: u64) -> Segments {
        let mut open = Bits::none(size * count);
        (0..size * count).for_each(|at| open.set(at));
        Segments {
            first,
            size,
            all: vec![Segment::default(); count as usize],
            open,
            counted: Cell::new(None),
            living: BTreeMap::new(),
            above: 0,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// Blocks of each.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The blocks of a segment.
    pub(super) fn blocks_of(&self, segment: u64) -> Range<u64> {
        let begin = self.first + segment * self.size;
        begin..begin + self.size
    }

    fn segment_of(&self, at: u64) -> usize {
        ((at - self.first) / self.size) as usize
    }

    /// Blocks that live.
    pub(super) fn live(&self) -> u64 {
        self.living.len() as u64
    }

    /// Blocks that live and are no data: what leads to others.
    pub(super) fn above(&self) -> u64 {
        self.above
    }

    /// Blocks of a segment that do.
    pub(super) fn live_in(&self, segment: u64) -> u64 {
        self.all[segment as usize].live
    }

    /// Blocks of a segment that are open.
    pub(super) fn open_in(&self, segment: u64) -> u64 {
        self.size - self.all[segment as usize].used
    }

    /// The least that a run has which is not short.
    pub(super) fn short(&self) -> u64 {
        self.size / SHORT
    }

    /// Whether all of a segment may be written.
    pub(super) fn is_clean(&self, segment: u64) -> bool {
        self.all[segment as usize].used == 0
    }

    /// The next clean segment behind this one, in row.
    pub(super) fn clean_behind(&self, segment: u64) -> Option<u64> {
        let count = self.count();
        let mut others = (1..=count).map(|step| (segment + step) % count);
        others.find(|other| self.is_clean(*other))
    }

    /// How many segments are clean.
    pub(super) fn clean(&self) -> u64 {
        self.all.iter().filter(|one| one.used == 0).count() as u64
    }

    /// Blocks in open runs that are not short.
    pub(super) fn open_blocks(&self) -> u64 {
        if let Some(counted) = self.counted.get() {
            return counted;
        }
        let counted = self.runs(self.short()).map(|run| run.end - run.start).sum();
        self.counted.set(Some(counted));
        counted
    }

    /// Open runs of at least so many blocks.
    pub(super) fn open_runs(&self, least: u64) -> Vec<Range<u64>> {
        self.runs(least).collect()
    }

    fn runs(&self, least: u64) -> impl Iterator<Item = Range<u64>> {
        let runs = self.open.runs(0..self.size * self.count(), least);
        runs.map(|run| self.first + run.start..self.first + run.end)
    }

    /// These blocks are used from now on.
    pub(super) fn take(&mut self, blocks: Range<u64>, epoch: u64) {
        for at in blocks {
            let segment = self.segment_of(at);
            self.all[segment].touched = epoch;
            self.shut(at);
        }
    }

    /// What is open in a segment is not written any more: it is free again with all of the segment.
    pub(super) fn close(&mut self, segment: u64) {
        for at in self.blocks_of(segment) {
            self.shut(at);
        }
    }

    /// A block is open no more. A write that was under way when its segment was closed may land
    /// there all the same.
    fn shut(&mut self, at: u64) {
        if self.open.has(at - self.first) {
            self.open.clear(at - self.first);
            self.counted.set(None);
            let segment = self.segment_of(at);
            self.all[segment].used += 1;
        }
    }

    /// A block that changed then lives in a block that is used.
    pub(super) fn settle(&mut self, at: u64, key: Key, changed: u64) {
        assert!(!self.open.has(at - self.first), "block {at} is open");
        let before = self.living.insert(at, (key, changed));
        assert_eq!(before, None, "two live at {at}");
        self.above += u64::from(!key.is_data());
        let segment = self.segment_of(at);
        let of = &mut self.all[segment];
        of.live += 1;
        of.changed = of.changed.max(changed);
    }

    /// What lives at a block lives there no more; gives when it changed.
    pub(super) fn die(&mut self, at: u64, epoch: u64) -> u64 {
        let (key, changed) = self.living.remove(&at).expect("something lives there");
        self.above -= u64::from(!key.is_data());
        let segment = self.segment_of(at);
        self.all[segment].live -= 1;
        self.all[segment].touched = epoch;
        changed
    }

    /// When what lives at a block changed.
    pub(super) fn changed(&self, at: u64) -> u64 {
        self.living[&at].1
    }

    /// What lives in a segment, by its place.
    pub(super) fn living_in(&self, segment: u64) -> impl Iterator<Item = (u64, Key, u64)> {
        let all = self.living.range(self.blocks_of(segment));
        all.map(|(at, (key, changed))| (*at, *key, *changed))
    }

    /// A checkpoint is on the medium that began when this epoch did: segments of which nothing
    /// lives since before then are clean. Gives how many that are.
    pub(super) fn checkpoint(&mut self, epoch: u64) -> u64 {
        let mut freed = 0;
        for segment in 0..self.count() {
            let of = &mut self.all[segment as usize];
            if of.used == 0 || of.live > 0 || of.touched >= epoch {
                continue;
            }
            *of = Segment::default();
            self.counted.set(None);
            freed += 1;
            for at in segment * self.size..(segment + 1) * self.size {
                if !self.open.has(at) {
                    self.open.set(at);
                }
            }
        }
        freed
    }

    /// Blocks that will be open when a checkpoint has been written, as nothing lives in their
    /// segments.
    pub(super) fn dead(&self) -> u64 {
        let dead = self.all.iter().filter(|one| one.live == 0);
        dead.map(|one| one.used).sum()
    }

    /// The segment that is most worth cleaning by now, among those that may be cleaned and would
    /// gain something; the first of equals.
    pub(super) fn worst(&self, by: CleanBy, now: u64, may: impl Fn(u64) -> bool) -> Option<u64> {
        let mut best: Option<(u64, (u128, u128))> = None;
        for (segment, of) in (0..).zip(&self.all) {
            if of.live == 0 || of.live == of.used || !may(segment) {
                continue;
            }
            let worth = self.worth(by, now, of);
            let is_better =
                |(_, (gain, cost)): &(u64, (u128, u128))| worth.0 * cost > gain * worth.1;
            if best.as_ref().is_none_or(is_better) {
                best = Some((segment, worth));
            }
        }
        best.map(|(segment, _)| segment)
    }

    /// What cleaning a segment gains, and what it costs.
    fn worth(&self, by: CleanBy, now: u64, of: &Segment) -> (u128, u128) {
        let gain = u128::from(of.used - of.live);
        match by {
            CleanBy::Greedy => (gain, 1),
            CleanBy::CostBenefit => {
                let age = u128::from(now - of.changed) + 1;
                (gain * age, u128::from(of.used + of.live))
            }
        }
    }
}
