//! What range writes have taken of late, and since when a host can know.
//!
//! Two range writes that wait at the same time may offer the same blocks, and must not land on the
//! same ones. And a host that has not heard yet where a write has landed may offer those blocks
//! again. One rule forbids both. Completions of range writes are counted. A write takes its blocks
//! when it begins, and when it ends its blocks are marked with the number of its completion. An
//! offer says how many completions its host had heard of, its *epoch*. It may have a block only if
//! nothing has taken that since: if its mark is not above the epoch. While the write that took it
//! is under way, the mark is above all.
//!
//! Only so many completions are remembered ([`REMEMBERED`]), and all that came since the epoch of a
//! write that waits, however long it does: it must not land on what was taken meanwhile. What was
//! marked before counts as known to everybody, so an older epoch is refused. O(log n) of `n` runs
//! for a look, a few runs for a change.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// How many completions are remembered at least. A host that is farther behind has to offer anew.
pub(super) const REMEMBERED: usize = 4_096;

/// The mark of blocks whose write is under way.
const UNDER_WAY: u64 = u64::MAX;

/// Blocks that were taken, by their marks.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Runs that do not overlap: the first block, the block behind the last, and the mark.
    runs: BTreeMap<u64, (u64, u64)>,
    /// What the writes had taken whose completions are remembered, the oldest first, each with the
    /// number of its completion.
    remembered: VecDeque<(u64, Range<u64>)>,
    /// Completions so far.
    completions: u64,
    /// Completions that are not remembered any more.
    forgotten: u64,
}

impl Taken {
    /// Completions so far.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// The oldest epoch that will do.
    pub fn oldest(&self) -> u64 {
        self.forgotten
    }

    /// Runs that are remembered.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Of the runs that overlap `range` and are not to be had at `epoch`, the highest.
    #[inline]
    pub fn highest(&self, range: &Range<u64>, epoch: u64) -> Option<Range<u64>> {
        self.overlapping(range, epoch).next()
    }

    /// The same, but the lowest.
    #[inline]
    pub fn lowest(&self, range: &Range<u64>, epoch: u64) -> Option<Range<u64>> {
        self.overlapping(range, epoch).last()
    }

    /// Runs that overlap `range` and are not to be had at `epoch`, from the highest down.
    pub(super) fn overlapping(
        &self,
        range: &Range<u64>,
        epoch: u64,
    ) -> impl Iterator<Item = Range<u64>> {
        let (start, end) = (range.start, range.end);
        let before = self.runs.range(..end).rev();
        let overlapping = before.take_while(move |(_, (end, _))| *end > start);
        overlapping
            .filter(move |(_, (_, mark))| *mark > epoch)
            .map(|(start, (end, _))| *start..*end)
    }

    /// A write of these blocks begins.
    pub fn take(&mut self, range: &Range<u64>) {
        self.mark(range, UNDER_WAY);
    }

    /// What lies in these blocks is gone, and known to be: whoever waits may have them. Writes
    /// under way keep theirs.
    pub fn free(&mut self, range: &Range<u64>) {
        let mut at = range.start;
        while at < range.end
            && let Some((begin, end, mark)) = self.first_from(at, range.end)
        {
            at = end;
            if mark != UNDER_WAY {
                self.mark(&(begin.max(range.start)..end.min(range.end)), mark);
                self.runs.remove(&begin.max(range.start));
            }
        }
    }

    /// The first run that reaches behind `at` and begins below `until`.
    fn first_from(&self, at: u64, until: u64) -> Option<(u64, u64, u64)> {
        let before = self.runs.range(..at).next_back();
        let before = before.filter(|(_, (end, _))| *end > at);
        let (begin, (end, mark)) = before.or_else(|| self.runs.range(at..until).next())?;
        Some((*begin, *end, *mark))
    }

    /// A range write has ended, which had taken these runs of blocks, if any; `oldest` is the least
    /// epoch of those that have not. Gives the number of its completion.
    pub fn complete(&mut self, had: impl Iterator<Item = Range<u64>>, oldest: Option<u64>) -> u64 {
        self.completions += 1;
        for range in had {
            self.mark(&range, self.completions);
            self.remembered.push_back((self.completions, range));
        }
        let enough = self.completions.saturating_sub(REMEMBERED as u64);
        let enough = oldest.map_or(enough, |oldest| enough.min(oldest));
        while self.forgotten < enough {
            self.forget();
        }
        self.completions
    }

    /// Forgets the oldest completion that is remembered.
    fn forget(&mut self) {
        self.forgotten += 1;
        let oldest = self.forgotten;
        while let Some((_, range)) = self
            .remembered
            .front()
            .filter(|(number, _)| *number == oldest)
        {
            let range = range.clone();
            self.remembered.pop_front();
            // Others may have taken some of it since.
            let mut at = range.start;
            while at < range.end
                && let Some((start, (end, mark))) = self.runs.range(at..range.end).next()
            {
                let (start, end, mark) = (*start, *end, *mark);
                if mark == oldest {
                    self.runs.remove(&start);
                }
                at = end;
            }
        }
    }

    /// Gives blocks a mark, which is not below the one that they have.
    fn mark(&mut self, range: &Range<u64>, mark: u64) {
        let Range { start, end } = *range;
        // A run that begins before it, or two of them if it reaches beyond.
        if let Some((before, (behind, old))) = self.runs.range(..start).next_back() {
            let (before, behind, old) = (*before, *behind, *old);
            if behind > start {
                self.runs.insert(before, (start, old));
            }
            if behind > end {
                self.runs.insert(end, (behind, old));
            }
        }
        while let Some((within, (behind, old))) = self.runs.range(start..end).next() {
            let (within, behind, old) = (*within, *behind, *old);
            self.runs.remove(&within);
            if behind > end {
                self.runs.insert(end, (behind, old));
            }
        }
        self.runs.insert(start, (end, mark));
    }
}
