//! Rows whose data and parity may not be of the same writes on the medium, so that a power cut
//! leaves nobody knowing.
//!
//! They have an entry in NVRAM ([`maplog::rows`](crate::maplog::rows)) from before their first
//! write until the last one has ended; over drives whose cache a power cut empties, until a flush
//! has ended that was planned after that. What is found after a cut are parities that tell nothing:
//! they are bad until they are computed anew.
//!
//! When so many entries wait for a flush, the placement flushes its drives itself, so that the
//! table stays bounded. O(log n) per write of a stripe, O(n) per flush.

use slab::Slab;

use super::seats::Seat;
use crate::maplog::RowsTable;
use crate::maplog::rows::{Index, Kind, Noted};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Pba};

/// Entries that may wait for a flush.
const ENTRIES_MAX: usize = 10_000;

/// Consecutive parities of a seat.
#[derive(Clone, Copy, Debug)]
struct Run {
    seat: Seat,
    from: u64,
    to: u64,
    /// Writes that have not ended.
    under_way: u32,
    /// Flushes that were planned before the last one ended.
    ended: u64,
    kept: Index,
}

impl Keyed for Run {
    type Key = (Seat, u64);

    #[inline]
    fn key(&self) -> (Seat, u64) {
        (self.seat, self.from)
    }
}

/// A flush under way.
#[derive(Clone, Copy, Debug)]
struct Flush {
    /// Counted from 1.
    number: u64,
    /// Drives that have not ended it.
    left: usize,
    failed: bool,
    /// Whether no client asked for it.
    own: bool,
}

/// All such rows.
pub(super) struct Written {
    runs: Sorted<Run>,
    /// Whether a power cut may take what a drive has ended.
    loses: bool,
    flushes: Slab<Flush>,
    /// Flushes planned so far.
    planned: u64,
    flushing: bool,
}

impl Written {
    pub(super) fn new(loses: bool) -> Written {
        Written {
            runs: Sorted::default(),
            loses,
            flushes: Slab::new(),
            planned: 0,
            flushing: false,
        }
    }

    /// Whether a power cut may take what a drive has ended.
    pub(super) fn loses(&self) -> bool {
        self.loses
    }

    fn meeting(&self, seat: Seat, from: u64, to: u64) -> Option<Run> {
        let above = self.runs.seek(&(seat, from));
        let meets = |at| {
            let run = self.runs.at(at)?;
            (run.seat == seat && run.from < to && from < run.to).then_some(*run)
        };
        let below = self.runs.before(above);
        below.and_then(meets).or_else(|| meets(above))
    }

    /// A write begins that changes these parities.
    pub(super) fn begin(&mut self, seat: Seat, at: Pba, len: Blocks, table: &mut RowsTable) {
        let (mut from, mut to) = (at.0, at.0 + len.0);
        let first = self.meeting(seat, from, to);
        if let Some(run) = first.filter(|run| run.from <= from && to <= run.to) {
            self.runs.take(&run.key());
            let under_way = run.under_way + 1;
            return self.runs.insert(Run { under_way, ..run });
        }
        let (mut under_way, mut ended, mut before) = (1, 0, Vec::new());
        while let Some(run) = self.meeting(seat, from, to) {
            self.runs.take(&run.key());
            (from, to) = (from.min(run.from), to.max(run.to));
            (under_way, ended) = (under_way + run.under_way, run.ended.max(ended));
            before.push(run.kept);
        }
        let (kind, drive) = (Kind::Writing, seat.0);
        let kept = table.add(&Noted {
            kind,
            drive,
            from,
            to,
        });
        self.runs.insert(Run {
            seat,
            from,
            to,
            under_way,
            ended,
            kept,
        });
        before.into_iter().for_each(|kept| table.remove(kept));
    }

    /// It has ended.
    pub(super) fn end(&mut self, seat: Seat, at: Pba, table: &mut RowsTable) {
        let run = self.meeting(seat, at.0, at.0 + 1);
        let mut run = run.expect("it has begun");
        self.runs.take(&run.key());
        run.under_way -= 1;
        if run.under_way == 0 {
            if !self.loses {
                return table.remove(run.kept);
            }
            run.ended = self.planned;
        }
        self.runs.insert(run);
    }

    /// Whether so many entries wait for a flush that one is due that no client has asked for.
    pub(super) fn is_flush_due(&self) -> bool {
        self.loses && !self.flushing && self.runs.len() >= ENTRIES_MAX
    }

    /// A flush of so many drives is planned; its name.
    pub(super) fn flush(&mut self, drives: usize, own: bool) -> u32 {
        self.planned += 1;
        self.flushing |= own;
        self.flushes.insert(Flush {
            number: self.planned,
            left: drives,
            failed: false,
            own,
        }) as u32
    }

    /// A drive has ended a flush, or its request goes on without.
    pub(super) fn flushed(&mut self, name: u32, done: bool, table: &mut RowsTable) {
        let flush = &mut self.flushes[name as usize];
        flush.left -= 1;
        flush.failed |= !done;
        if flush.left > 0 {
            return;
        }
        let Flush {
            number,
            failed,
            own,
            ..
        } = self.flushes.remove(name as usize);
        self.flushing &= !own;
        if failed {
            return;
        }
        let is_safe = |run: &&Run| run.under_way == 0 && run.ended < number;
        let safe: Vec<Run> = self.runs.iter().filter(is_safe).copied().collect();
        for run in safe {
            self.runs.take(&run.key());
            table.remove(run.kept);
        }
    }

    /// Recounts everything from scratch and panics on a contradiction. How many entries the table
    /// has for it.
    pub(super) fn audit(&self) -> usize {
        self.runs.audit();
        let mut before: Option<Run> = None;
        for run in self.runs.iter() {
            let apart = |other: Run| other.seat != run.seat || other.to <= run.from;
            assert!(before.is_none_or(apart), "{run:?} overlaps {before:?}");
            assert!(run.under_way > 0 || self.loses, "{run:?} has ended");
            before = Some(*run);
        }
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maplog::Parities;

    const SEAT: Seat = Seat(2);

    fn table() -> RowsTable {
        RowsTable::new(&Parities {
            volume: 1,
            drives: 5,
            arrays: 1,
            spares: 0,
            strip: 8,
            extent: 1,
            blocks: 1_000,
        })
    }

    /// A flush covers what had ended when it was planned, and nothing that was under way then.
    #[test]
    fn an_entry_waits_for_a_flush_that_came_after_its_write() {
        let (mut table, mut written) = (table(), Written::new(true));
        written.begin(SEAT, Pba(8), Blocks(4), &mut table);
        let early = written.flush(2, false);
        written.end(SEAT, Pba(8), &mut table);
        (0..2).for_each(|_| written.flushed(early, true, &mut table));
        assert_eq!(table.len(), 1, "it was under way");
        let failed = written.flush(2, false);
        written.flushed(failed, true, &mut table);
        written.flushed(failed, false, &mut table);
        assert_eq!(table.len(), 1, "a drive has not flushed");
        let late = written.flush(2, false);
        written.flushed(late, true, &mut table);
        assert_eq!(table.len(), 1, "one drive is left");
        written.flushed(late, true, &mut table);
        assert_eq!((table.len(), written.audit()), (0, 0));
    }

    #[test]
    fn writes_that_overlap_have_one_entry_until_the_last_has_ended() {
        let (mut table, mut written) = (table(), Written::new(false));
        for (at, len) in [(0, 4), (6, 2), (2, 5), (3, 1)] {
            written.begin(SEAT, Pba(at), Blocks(len), &mut table);
        }
        assert_eq!((table.len(), written.audit()), (1, 1));
        for at in [6, 3, 0] {
            written.end(SEAT, Pba(at), &mut table);
            assert_eq!(table.len(), 1);
        }
        written.end(SEAT, Pba(2), &mut table);
        assert_eq!((table.len(), written.audit()), (0, 0));
    }
}
