//! Which blocks are known to be bad, and why: a write of them has failed, so what lies there is
//! neither the old nor the new for sure, or they cannot be read, and nothing else tells them either
//! ([`Kind::Bad`]); or the drive that had them went, and nobody has written them since
//! ([`Kind::Gone`]). What they should hold is told by the others of their rows. Of a drive that is
//! gone all is bad, and of a spare that took its place all that was not written yet.
//!
//! Runs of blocks that are bad for one reason and do not overlap, in the order of seats and
//! addresses, each with an entry in NVRAM ([`maplog::rows`](crate::maplog::rows)) if there is such
//! a table. O(log n) for a question, and for each run that changes.

use super::seats::Seat;
use crate::maplog::RowsTable;
use crate::maplog::rows::{Index, Kind, Noted};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Pba};

/// Consecutive blocks of a seat that are bad for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    seat: Seat,
    from: u64,
    to: u64,
    why: Kind,
    /// Its entry.
    kept: Option<Index>,
}

impl Keyed for Run {
    type Key = (Seat, u64);

    #[inline]
    fn key(&self) -> (Seat, u64) {
        (self.seat, self.from)
    }
}

/// What is known to be bad.
#[derive(Default)]
pub(super) struct Bad {
    runs: Sorted<Run>,
    pub(super) table: Option<RowsTable>,
}

impl Bad {
    /// Nothing, and what will be has entries in a table.
    pub(super) fn kept(table: RowsTable) -> Bad {
        Bad {
            runs: Sorted::default(),
            table: Some(table),
        }
    }

    /// Its table in NVRAM.
    pub(super) fn table(&mut self) -> &mut RowsTable {
        self.table.as_mut().expect("it keeps one")
    }

    /// Whether there is anything.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.runs.is_empty()
    }

    /// The first bad run of a seat from this block on.
    pub(super) fn first(&self, seat: Seat, from: u64) -> Option<(u64, u64)> {
        let run = self.meeting(seat, from, u64::MAX)?;
        Some((run.from.max(from), run.to))
    }

    /// What was found in the table: it gets an entry of this life before it loses the old one.
    pub(super) fn resume(&mut self, kept: Index, noted: &Noted) {
        let len = Blocks(noted.to - noted.from);
        self.mark(Seat(noted.drive), Pba(noted.from), len, noted.kind);
        self.forget(kept);
    }

    /// The first run that overlaps these blocks.
    fn meeting(&self, seat: Seat, from: u64, to: u64) -> Option<Run> {
        let above = self.runs.seek(&(seat, from));
        let meets = |at| {
            let run = self.runs.at(at)?;
            (run.seat == seat && run.from < to && from < run.to).then_some(*run)
        };
        let below = self.runs.before(above);
        below.and_then(meets).or_else(|| meets(above))
    }

    /// Whether one of these blocks is bad.
    pub(super) fn has(&self, seat: Seat, at: Pba, len: Blocks) -> bool {
        self.meeting(seat, at.0, at.0 + len.0).is_some()
    }

    /// Whether one of these blocks is bad since the drive went that had it.
    pub(super) fn has_gone(&self, seat: Seat, at: Pba, len: Blocks) -> bool {
        let (mut next, to) = (at.0, at.0 + len.0);
        while let Some(run) = self.meeting(seat, next, to) {
            if run.why == Kind::Gone {
                return true;
            }
            next = run.to;
        }
        false
    }

    /// They are, and why.
    pub(super) fn mark(&mut self, seat: Seat, at: Pba, len: Blocks, why: Kind) {
        let marked = (at.0, at.0 + len.0);
        let (mut from, mut to) = marked;
        let mut before = Vec::new();
        while let Some(run) = self.meeting(seat, marked.0, marked.1) {
            self.runs.take(&run.key());
            if run.why == why {
                (from, to) = (from.min(run.from), to.max(run.to));
            }
            before.push(run);
        }
        self.put((seat, why), from, to);
        for run in before {
            if run.why != why {
                self.put_outside(run, marked);
            }
            run.kept.into_iter().for_each(|kept| self.forget(kept));
        }
    }

    /// They were written well.
    pub(super) fn clear(&mut self, seat: Seat, at: Pba, len: Blocks) {
        let (from, to) = (at.0, at.0 + len.0);
        while let Some(run) = self.meeting(seat, from, to) {
            self.runs.take(&run.key());
            self.put_outside(run, (from, to));
            run.kept.into_iter().for_each(|kept| self.forget(kept));
        }
    }

    /// What of a run lies before and behind these blocks.
    fn put_outside(&mut self, run: Run, (from, to): (u64, u64)) {
        if run.from < from {
            self.put((run.seat, run.why), run.from, from);
        }
        if run.to > to {
            self.put((run.seat, run.why), to, run.to);
        }
    }

    /// A run that overlaps no other one.
    fn put(&mut self, (seat, why): (Seat, Kind), from: u64, to: u64) {
        let (kind, drive) = (why, seat.0);
        let noted = Noted {
            kind,
            drive,
            from,
            to,
        };
        let kept = self.table.as_mut().map(|table| table.add(&noted));
        self.runs.insert(Run {
            seat,
            from,
            to,
            why,
            kept,
        });
    }

    fn forget(&mut self, kept: Index) {
        let table = self.table.as_mut().expect("it has an entry there");
        table.remove(kept);
    }

    /// Where within these blocks bad ones begin or end.
    pub(super) fn cuts(&self, seat: Seat, at: Pba, len: Blocks, out: &mut Vec<u64>) {
        let (from, to) = (at.0, at.0 + len.0);
        let mut next = from;
        while let Some(run) = self.meeting(seat, next, to) {
            let ends = [run.from, run.to];
            out.extend(ends.iter().filter(|end| (from..to).contains(end)));
            next = run.to;
            if next >= to {
                break;
            }
        }
    }

    /// How many blocks of a seat are.
    pub(super) fn blocks(&self, seat: Seat) -> u64 {
        self.count(seat, |_| true)
    }

    /// How many of them had a drive that went, and nobody has written since.
    pub(super) fn gone_blocks(&self, seat: Seat) -> u64 {
        self.count(seat, |why| why == Kind::Gone)
    }

    fn count(&self, seat: Seat, counts: impl Fn(Kind) -> bool) -> u64 {
        let (mut blocks, mut next) = (0, 0);
        while let Some(run) = self.meeting(seat, next, u64::MAX) {
            let len = if counts(run.why) {
                run.to - run.from
            } else {
                0
            };
            (blocks, next) = (blocks + len, run.to);
        }
        blocks
    }

    /// Recounts everything from scratch and panics on a contradiction. How many entries the table
    /// has for it.
    pub(super) fn audit(&self) -> usize {
        self.runs.audit();
        let mut before: Option<Run> = None;
        for run in self.runs.iter() {
            assert!(run.from < run.to, "{run:?} is empty");
            assert!(matches!(run.why, Kind::Bad | Kind::Gone), "{run:?}");
            let apart = |other: Run| other.seat != run.seat || other.to <= run.from;
            assert!(before.is_none_or(apart), "{run:?} overlaps {before:?}");
            assert_eq!(run.kept.is_some(), self.table.is_some(), "{run:?}");
            before = Some(*run);
        }
        self.runs.iter().filter(|run| run.kept.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maplog::Parities;
    use crate::rng::Rng;

    /// Why they are bad, too: of a drive that went, but for a block that was then written in vain.
    #[test]
    fn runs_are_found_again_in_the_table() {
        let of = Parities {
            volume: 1,
            drives: 3,
            arrays: 1,
            spares: 0,
            strip: 8,
            extent: 1,
            blocks: 100,
        };
        let mut bad = Bad::kept(RowsTable::new(&of));
        bad.mark(Seat(1), Pba(0), Blocks(100), Kind::Gone);
        bad.mark(Seat(1), Pba(40), Blocks(2), Kind::Bad);
        bad.clear(Seat(1), Pba(0), Blocks(30));
        let bytes = bad.table().bytes().to_vec();
        let (table, found) = RowsTable::recover(&of, bytes).unwrap();
        let mut again = Bad::kept(table);
        for (kept, noted) in found {
            again.resume(kept, &noted);
        }
        for bad in [&bad, &again] {
            let counts = (bad.blocks(Seat(1)), bad.gone_blocks(Seat(1)));
            assert_eq!((counts, bad.audit()), ((70, 68), 3));
            assert!(!bad.has_gone(Seat(1), Pba(40), Blocks(2)));
        }
        let table = again.table.as_ref().unwrap();
        assert_eq!(table.len(), 3, "each has one entry");
    }

    #[test]
    fn runs_are_as_a_flag_for_each_block() {
        let mut rng = Rng::stream(1, "bad");
        let mut bad = Bad::default();
        let mut flags = [[None; 60]; 2];
        for _ in 0..5_000 {
            let seat = rng.below(2) as u16;
            let from = rng.below(60);
            let to = from + 1 + rng.below((60 - from).min(9));
            let blocks = from as usize..to as usize;
            let flags = &mut flags[usize::from(seat)];
            let (seat, at, len) = (Seat(seat), Pba(from), Blocks(to - from));
            let any = flags[blocks.clone()].iter().any(Option::is_some);
            assert_eq!(bad.has(seat, at, len), any);
            let gone = flags[blocks.clone()].contains(&Some(Kind::Gone));
            assert_eq!(bad.has_gone(seat, at, len), gone);
            let mut cuts = Vec::new();
            bad.cuts(seat, at, len, &mut cuts);
            for block in from + 1..to {
                let changes = flags[block as usize] != flags[block as usize - 1];
                assert!(!changes || cuts.contains(&block), "{block} of {cuts:?}");
            }
            if rng.chance(0.5) {
                let why = [Kind::Bad, Kind::Gone][rng.below(2) as usize];
                bad.mark(seat, at, len, why);
                flags[blocks].fill(Some(why));
            } else {
                bad.clear(seat, at, len);
                flags[blocks].fill(None);
            }
            bad.audit();
            let count = |counts: fn(&Option<Kind>) -> bool| {
                flags.iter().filter(|flag| counts(flag)).count() as u64
            };
            assert_eq!(bad.blocks(seat), count(Option::is_some));
            let gone = count(|flag| *flag == Some(Kind::Gone));
            assert_eq!(bad.gone_blocks(seat), gone);
        }
    }
}
