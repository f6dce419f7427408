//! A log that is at home on its drive: two control blocks lie before the records, and what no record has is in memory alone.
//!
//! ```text
//! 0     control block, even    } of 4 KiB each, in turns; the younger sound one counts
//! 8     control block, odd     }
//! 16    records, round and round
//! ```
//!
//! An update is safe when its batch is on the medium. So a batch is written whenever there is an update and no write is under way;
//! what changes meanwhile shares the next one. While a round of checkpoints was asked for, its pieces go in turns with
//! batches: a volume is not safe before its first round, however busy it is.
//!
//! A control block is written when the tail has moved, before any record that follows. Hence no record ever covers what the
//! youngest control block still needs, and all records lie between its tail and the bound of the log. Each life begins with one, too:
//! of two drives with the log, the one that is left behind is the one whose control block is older. Records tell the number of the
//! control block that they follow; a record that follows a younger one than recovery has found says that that one is damaged.

use super::Entry;
use super::control::write_control;
use super::cursor::{Cursor, Start};
use super::format::{self, ENTRY_BYTES, Kind};
use super::keeper::Keeper;
use super::layout::{CONTROL_BLOCKS, Layout};
use super::nvram::Nvram;
use crate::units::{BLOCK_BYTES, Blocks};

/// What a log has in memory that is at home on its drive.
#[derive(Debug)]
pub(super) struct OnDrive {
    /// Updates that no whole record has, as a batch has them.
    waiting: Vec<u8>,
    /// Bytes of them that are in the batch under way.
    under_way: usize,
    /// Number of the youngest control block.
    control: u64,
    /// The tail that it tells.
    tail: Start,
    /// Whether it is of an earlier life.
    is_old: bool,
    /// Whether the last record was a batch.
    was_batch: bool,
    nothing: Nvram,
}

impl OnDrive {
    /// Behind a control block of an earlier life. `waiting`: updates of the record that is written again.
    pub(super) fn resume(control: u64, tail: Start, waiting: &[u8]) -> OnDrive {
        OnDrive {
            waiting: waiting.to_vec(),
            under_way: waiting.len(),
            control,
            tail,
            is_old: true,
            was_batch: false,
            nothing: Nvram::from_bytes(Vec::new()),
        }
    }
}

impl Keeper for OnDrive {
    fn record(&mut self, _layout: &Layout, _cursor: &Cursor, entry: &Entry) {
        self.waiting.extend(format::put_entry(entry));
    }

    fn is_full(&self, _layout: &Layout) -> bool {
        false
    }

    fn room(&self, _layout: &Layout, _cursor: &Cursor) -> u32 {
        u32::MAX
    }

    fn at_risk(&self) -> usize {
        self.waiting.len() / ENTRY_BYTES
    }

    fn batch(&mut self, layout: &Layout, _number: u64, round: bool) -> Option<&[u8]> {
        if self.waiting.is_empty() || round && self.was_batch {
            return None;
        }
        let largest = layout.half as usize * ENTRY_BYTES;
        self.under_way = self.waiting.len().min(largest);
        Some(&self.waiting[..self.under_way])
    }

    fn control(&self) -> u64 {
        self.control
    }

    fn due(&self, layout: &Layout, cursor: &Cursor, block: &mut Vec<u8>) -> Option<Blocks> {
        if !self.is_old && cursor.tail(layout) == self.tail {
            return None;
        }
        let number = self.control + 1;
        block.clear();
        block.extend(write_control(layout, cursor, number));
        block.resize((CONTROL_BLOCKS * BLOCK_BYTES) as usize, 0);
        Some(Blocks(number % 2 * CONTROL_BLOCKS))
    }

    fn kept(&mut self, layout: &Layout, cursor: &Cursor) {
        self.control += 1;
        (self.tail, self.is_old) = (cursor.tail(layout), false);
    }

    fn advanced(&mut self, _layout: &Layout, _cursor: &Cursor, kind: Kind) {
        self.was_batch = kind == Kind::Batch;
        if self.was_batch {
            self.waiting.drain(..std::mem::take(&mut self.under_way));
        }
    }

    fn tail(&self, _layout: &Layout, _cursor: &Cursor) -> Start {
        self.tail
    }

    fn nvram(&self) -> &Nvram {
        &self.nothing
    }

    #[cfg(test)]
    fn nvram_mut(&mut self) -> &mut Nvram {
        &mut self.nothing
    }

    fn audit(&self, layout: &Layout, cursor: &Cursor) {
        let whole = self.waiting.len().is_multiple_of(ENTRY_BYTES);
        assert!(whole, "a part of an update waits");
        assert!(self.under_way <= self.waiting.len(), "more than waits");
        let tail = cursor.tail(layout);
        assert!(self.tail.at <= tail.at, "the tail moved backward");
    }
}
