//! A log that is at home on its drive: a control block lies before the records and one behind them,
//! and what no record has is in memory alone.
//!
//! ```text
//! 0      control block, even    } of 4 KiB each, in turns; the younger sound one counts
//! 8      records, round and round
//! end-8  control block, odd     }
//! ```
//!
//! An update is safe when its batch is on the medium. So a batch is written whenever there is an
//! update and no write is under way; what changes meanwhile shares the next one. While a round of
//! checkpoints was asked for, its pieces go in turns with batches: a volume is not safe before its
//! first round, however busy it is.
//!
//! A control block is written when the tail has moved, before any record that follows. Hence no
//! record ever covers what the youngest control block still needs, and all records lie between its
//! tail and the bound of the log. Each life begins with one, too: of two drives with the log, the
//! one that is left behind is the one whose control block is older. Records tell the number of the
//! control block that they follow; a record that follows a younger one than recovery has found says
//! that that one is damaged.
//!
//! And one is written when a drive is set aside that had the log, too, before anything is answered
//! that it lacks. So of two drives, the one that lacks a record has all that was answered, unless
//! the control block of the other says that this one is alone. If a life begins with one drive alone,
//! two of its control blocks say so before anything is answered: else the loss of one would show the
//! drive as it was in an earlier life, and the log of the other drive could be taken for younger.

use super::Entry;
use super::control::{Lacking, is_alone, write_control};
use super::cursor::{LogCursor, Start};
use super::format::{self, ENTRY_BYTES, Kind};
use super::keeper::Keeper;
use super::layout::{CONTROL_BLOCKS, Layout};
use super::nvram::Nvram;
use crate::units::{BLOCK_BYTES, Blocks};

/// What a log has in memory that is at home on its drive.
#[derive(Debug)]
pub(super) struct OnDrive {
    /// Updates as a batch has them. The first are in the log, and stay until they are half of all:
    /// so an update is copied once or twice, however many wait.
    waiting: Vec<u8>,
    /// Bytes of these first ones.
    written: usize,
    /// Bytes that were copied when these went.
    #[cfg(test)]
    copied: usize,
    /// Bytes of the next ones that are in the batch under way.
    under_way: usize,
    /// Number of the youngest control block.
    control: u64,
    /// The tail that it tells.
    tail: Start,
    /// Whether it is of an earlier life.
    is_old: bool,
    lacking: Lacking,
    /// Whether the youngest control block says that one drive alone has all of the log, and the one
    /// under way.
    told_alone: bool,
    telling_alone: bool,
    /// Whether the last record was a batch.
    was_batch: bool,
    nothing: Nvram,
}

impl OnDrive {
    /// Behind a control block of an earlier life. `waiting`: updates of the record that is written
    /// again.
    pub(super) fn resume(control: u64, tail: Start, waiting: &[u8]) -> OnDrive {
        OnDrive {
            waiting: waiting.to_vec(),
            written: 0,
            #[cfg(test)]
            copied: 0,
            under_way: waiting.len(),
            control,
            tail,
            is_old: true,
            lacking: [false; 2],
            told_alone: false,
            telling_alone: false,
            was_batch: false,
            nothing: Nvram::from_bytes(Vec::new()),
        }
    }
}

impl Keeper for OnDrive {
    fn record(&mut self, _layout: &Layout, _cursor: &LogCursor, entry: &Entry) {
        self.waiting.extend(format::put_entry(entry));
    }

    fn is_full(&self, _layout: &Layout) -> bool {
        false
    }

    fn room(&self, _layout: &Layout, _cursor: &LogCursor) -> u32 {
        u32::MAX
    }

    fn at_risk(&self) -> usize {
        (self.waiting.len() - self.written) / ENTRY_BYTES
    }

    fn take_back(&mut self) {
        self.waiting.clear();
        (self.written, self.under_way) = (0, 0);
    }

    fn batch(&mut self, layout: &Layout, _number: u64, round: bool) -> Option<&[u8]> {
        let waiting = &self.waiting[self.written..];
        if waiting.is_empty() || round && self.was_batch {
            return None;
        }
        let largest = layout.half as usize * ENTRY_BYTES;
        self.under_way = waiting.len().min(largest);
        Some(&waiting[..self.under_way])
    }

    fn control(&self) -> u64 {
        self.control
    }

    fn due(&mut self, layout: &Layout, cursor: &LogCursor, block: &mut Vec<u8>) -> Option<Blocks> {
        if !self.is_old && self.has_told() && cursor.tail(layout) == self.tail {
            return None;
        }
        let number = self.control + 1;
        self.telling_alone = is_alone(self.lacking);
        block.clear();
        block.extend(write_control(layout, cursor, number, self.lacking));
        block.resize((CONTROL_BLOCKS * BLOCK_BYTES) as usize, 0);
        Some(layout.control_at(number))
    }

    fn kept(&mut self, layout: &Layout, cursor: &LogCursor) {
        self.control += 1;
        // The first one of a life does not count.
        self.told_alone = self.telling_alone && !self.is_old;
        (self.tail, self.is_old) = (cursor.tail(layout), false);
    }

    fn advanced(&mut self, _layout: &Layout, _cursor: &LogCursor, kind: Kind) {
        self.was_batch = kind == Kind::Batch;
        if self.was_batch {
            self.written += std::mem::take(&mut self.under_way);
            if self.written * 2 >= self.waiting.len() {
                self.waiting.drain(..std::mem::take(&mut self.written));
                #[cfg(test)]
                {
                    self.copied += self.waiting.len();
                }
            }
        }
    }

    fn tell_lacking(&mut self, _layout: &Layout, _cursor: &LogCursor, lacking: Lacking) {
        self.lacking = lacking;
    }

    fn tell_again(&mut self) {
        self.told_alone = false;
    }

    fn has_told(&self) -> bool {
        !is_alone(self.lacking) || self.told_alone
    }

    fn tail(&self, _layout: &Layout, _cursor: &LogCursor) -> Start {
        self.tail
    }

    fn nvram(&self) -> &Nvram {
        &self.nothing
    }

    #[cfg(test)]
    fn nvram_mut(&mut self) -> &mut Nvram {
        &mut self.nothing
    }

    fn audit(&self, layout: &Layout, cursor: &LogCursor) {
        let whole = self.waiting.len().is_multiple_of(ENTRY_BYTES);
        assert!(whole, "a part of an update waits");
        let waits = self.waiting.len() - self.written;
        assert!(self.under_way <= waits, "more than waits");
        let tail = cursor.tail(layout);
        assert!(self.tail.at <= tail.at, "the tail moved backward");
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::of_pieces;
    use super::super::{Home, Settings};
    use super::*;

    /// However many wait, and however few a batch takes, an update is copied once at most on
    /// average.
    #[test]
    fn a_batch_costs_what_it_has_and_not_what_waits() {
        let (geometry, settings) = of_pieces();
        let mut settings = Settings {
            home: Home::Drive,
            ..settings
        };
        settings.region = settings.region_min(&geometry).unwrap();
        let layout = Layout::new(&geometry, &settings).unwrap();
        let mut cursor = LogCursor::fresh(true);
        let mut log = OnDrive::resume(0, cursor.tail(&layout), &[]);
        let mut recorded = 0;
        for batch in 0..4_000 {
            // First more come than go.
            for _ in 0..if batch < 2_000 { 17 } else { 3 } {
                recorded += 1;
                let entry = Entry {
                    copy: 0,
                    chunk: recorded % 400,
                    slot: recorded % 500,
                    alone: false,
                };
                log.record(&layout, &cursor, &entry);
            }
            let entries = log.batch(&layout, 0, false).expect("some wait");
            let first = format::take_entry(&geometry, entries).unwrap();
            assert_eq!(first.slot, (batch * 10 + 1) % 500, "in order");
            cursor.add(&layout, Kind::Batch, cursor.head, 1);
            log.advanced(&layout, &cursor, Kind::Batch);
            log.audit(&layout, &cursor);
        }
        assert_eq!(log.at_risk(), 0);
        let all = recorded as usize * ENTRY_BYTES;
        assert!(log.copied <= all, "{} of {all} bytes copied", log.copied);
    }
}
