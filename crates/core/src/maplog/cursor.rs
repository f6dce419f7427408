//! How far a log has come: where the next record goes, how far the checkpoint is, and from where on
//! the log is needed.
//!
//! Blocks are counted through all laps of the region without end, so an older place is a smaller
//! number, and a block is still there as long as no place one lap later was written. Records are
//! numbered from 1.
//!
//! The writer moves it on by what it has written, recovery by what it finds behind the last place
//! that NVRAM knows of.

use super::format::Kind;
use super::home::Home;
use super::layout::Layout;

/// A record: where it begins, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: u64,
    pub(super) sequence: u64,
}

/// The first record of a log.
const ORIGIN: Start = Start { at: 0, sequence: 1 };

/// How far a log has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogCursor {
    /// Behind the youngest record.
    pub(super) head: u64,
    /// Number of the next record.
    pub(super) sequence: u64,
    /// Batches in the log.
    pub(super) batches: u64,
    /// Portions begun.
    pub(super) begun: u64,
    /// Pieces of the last one that are in the log.
    pub(super) pieces: u64,
    /// Blocks of updates appended since it began.
    pub(super) since: u64,
    /// Where the last portions began, the youngest last: two rounds and the one under way.
    pub(super) starts: Vec<Start>,
    /// Whether the map was empty when the log began, so that a walk from there needs no checkpoint.
    pub(super) from_empty: bool,
}

impl LogCursor {
    /// Nothing was written yet.
    pub(super) fn fresh(from_empty: bool) -> LogCursor {
        LogCursor {
            head: ORIGIN.at,
            sequence: ORIGIN.sequence,
            batches: 0,
            begun: 0,
            pieces: 0,
            since: 0,
            starts: Vec::new(),
            from_empty,
        }
    }

    /// Begins that are kept.
    pub(super) fn starts_max(portions: u8) -> usize {
        2 * usize::from(portions) + 1
    }

    /// The portion that began last.
    fn portion(&self, layout: &Layout) -> Option<u64> {
        Some(self.begun.checked_sub(1)? % u64::from(layout.settings.portions))
    }

    /// Whether a portion lacks pieces.
    fn between(&self, layout: &Layout) -> bool {
        let portion = self.portion(layout);
        portion.is_some_and(|portion| self.pieces < layout.pieces(portion))
    }

    /// Portions that are in the log as a whole, garbage counted.
    pub(super) fn complete(&self, layout: &Layout) -> u64 {
        self.begun - u64::from(self.between(layout))
    }

    /// The portion and the piece that come next.
    pub(super) fn next_piece(&self, layout: &Layout) -> (u64, u64) {
        match self.between(layout) {
            true => (self.portion(layout).unwrap_or(0), self.pieces),
            false => (self.begun % u64::from(layout.settings.portions), 0),
        }
    }

    /// Whether a piece has to go before the next updates.
    pub(super) fn due(&self, layout: &Layout) -> bool {
        let interval = layout.settings.interval.0;
        match self.portion(layout) {
            Some(portion) if self.between(layout) => {
                // Evenly over the interval; at most 2^40 blocks and fewer than 2^40 pieces.
                let pieces = u128::from(layout.pieces(portion));
                u128::from(self.since) * pieces >= u128::from(self.pieces) * u128::from(interval)
            }
            _ => self.since >= interval,
        }
    }

    /// The begin of the portion of this number, counted from 0.
    fn start(&self, number: u64) -> Start {
        let before = self.begun - self.starts.len() as u64;
        self.starts[(number - before) as usize]
    }

    /// From where on the log is needed: the begin of the M-th youngest portion that is whole.
    pub(super) fn tail(&self, layout: &Layout) -> Start {
        let complete = self.complete(layout);
        match complete.checked_sub(layout.settings.portions.into()) {
            Some(number) => self.start(number),
            None => ORIGIN,
        }
    }

    /// Behind the last block that was written from this tail on. At home in NVRAM, which knows all
    /// records but one: that of the record which may be under way, were it the largest. At home on
    /// the drive: the last that a record may have.
    pub(super) fn reach(&self, layout: &Layout, tail: Start) -> u64 {
        match layout.settings.home {
            Home::Nvram => layout.place(self.head) + layout.record_max,
            Home::Drive => tail.at + layout.bound,
        }
    }

    /// Behind the last block that recovery reads. At home on the drive that is one record more: if
    /// the youngest control block is lost, the first record that follows it may begin there, and
    /// tells of it.
    pub(super) fn looks(&self, layout: &Layout, tail: Start) -> u64 {
        let reach = self.reach(layout, tail);
        match layout.settings.home {
            Home::Nvram => reach,
            Home::Drive => (reach + layout.record_max).min(tail.at + layout.lap),
        }
    }

    /// Begins older than the tail whose records no write has reached, the youngest first. The last
    /// may be the origin.
    pub(super) fn older(&self, layout: &Layout) -> Vec<Start> {
        let tail = self.tail(layout);
        let reached = self.reach(layout, tail);
        let older = self.starts.iter().rev().copied().chain([ORIGIN]);
        let mut older: Vec<Start> = older
            .filter(|start| start.at < tail.at)
            .filter(|start| start.at + layout.lap >= reached)
            .collect();
        older.dedup();
        older
    }

    /// Whether a walk from here has seen everything since the map was empty.
    pub(super) fn begins_empty(&self, start: Start) -> bool {
        self.from_empty && start == ORIGIN
    }

    fn append(&mut self, at: u64, blocks: u64) {
        self.head = at + blocks;
        self.sequence += 1;
    }

    /// A record is in the log.
    pub(super) fn add(&mut self, layout: &Layout, kind: Kind, at: u64, blocks: u64) {
        match kind {
            Kind::Batch => self.add_batch(at, blocks),
            Kind::Piece => self.add_piece(layout, at, blocks),
        }
    }

    fn add_batch(&mut self, at: u64, blocks: u64) {
        self.batches += 1;
        self.since += blocks;
        self.append(at, blocks);
    }

    fn add_piece(&mut self, layout: &Layout, at: u64, blocks: u64) {
        if self.between(layout) {
            self.pieces += 1;
        } else {
            (self.begun, self.pieces, self.since) = (self.begun + 1, 1, 0);
            if self.starts.len() == LogCursor::starts_max(layout.settings.portions) {
                self.starts.remove(0);
            }
            let sequence = self.sequence;
            self.starts.push(Start { at, sequence });
        }
        self.append(at, blocks);
    }
}
