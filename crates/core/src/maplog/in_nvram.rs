//! A log that is at home in NVRAM: updates gather in one half of it while the other one is
//! appended.
//!
//! Source: FAST 2002, section 5.

use super::Entry;
use super::control::Lacking;
use super::cursor::{LogCursor, Start};
use super::format::Kind;
use super::keeper::Keeper;
use super::layout::Layout;
use super::nvram::{Half, Nvram};
use crate::units::Blocks;

/// What a log has in NVRAM.
#[derive(Debug)]
pub(super) struct InNvram {
    nvram: Nvram,
    /// Number of the last control block.
    control: u64,
    lacking: Lacking,
    /// The batch that fills.
    filling: u64,
    /// By half: entries, and their checksum.
    counts: [u32; 2],
    sums: [u32; 2],
}

impl InNvram {
    /// Of a new log.
    pub(super) fn blank(layout: &Layout, cursor: &LogCursor) -> InNvram {
        let mut nvram = Nvram::blank(layout);
        let sums = [2, 1].map(|batch| nvram.reset(layout, batch));
        nvram.set_control(1, layout, cursor, [false; 2]);
        InNvram {
            nvram,
            control: 1,
            lacking: [false; 2],
            filling: 1,
            counts: [0; 2],
            sums,
        }
    }

    /// As recovery found it; the halves come in order of age.
    pub(super) fn resume(
        layout: &Layout,
        nvram: Nvram,
        cursor: &LogCursor,
        (control, lacking): (u64, Lacking),
        halves: [Half; 2],
    ) -> InNvram {
        let [old, young] = halves;
        let mut found = InNvram {
            nvram,
            control,
            lacking,
            filling: old.batch,
            counts: [0; 2],
            sums: [0; 2],
        };
        for half in halves {
            let index = (half.batch % 2) as usize;
            (found.counts[index], found.sums[index]) = (half.count, half.sum);
        }
        found.keep_control(layout, cursor);
        if old.batch <= cursor.batches {
            // The power went between the control block and this.
            found.reset(layout, old.batch + 2);
            found.filling = young.batch;
        }
        found.fill_the_other(layout, cursor);
        found
    }

    /// Moves on to the other half if this one is full and the other one's batch is in the log.
    fn fill_the_other(&mut self, layout: &Layout, cursor: &LogCursor) {
        if self.is_full(layout) && self.filling - 1 <= cursor.batches {
            self.filling += 1;
        }
    }

    fn keep_control(&mut self, layout: &Layout, cursor: &LogCursor) {
        self.control += 1;
        let lacking = self.lacking;
        self.nvram
            .set_control(self.control, layout, cursor, lacking);
    }

    fn reset(&mut self, layout: &Layout, batch: u64) {
        let half = (batch % 2) as usize;
        self.sums[half] = self.nvram.reset(layout, batch);
        self.counts[half] = 0;
    }
}

impl Keeper for InNvram {
    #[inline]
    fn record(&mut self, layout: &Layout, cursor: &LogCursor, entry: &Entry) {
        let (batch, half) = (self.filling, (self.filling % 2) as usize);
        let (count, sum) = (self.counts[half], self.sums[half]);
        self.sums[half] = self.nvram.add(layout, batch, count, sum, entry);
        self.counts[half] = count + 1;
        if count + 1 == layout.half {
            self.fill_the_other(layout, cursor);
        }
    }

    #[inline]
    fn is_full(&self, layout: &Layout) -> bool {
        self.counts[(self.filling % 2) as usize] == layout.half
    }

    fn room(&self, layout: &Layout, cursor: &LogCursor) -> u32 {
        let filling = layout.half - self.counts[(self.filling % 2) as usize];
        let other = self.filling - 1 <= cursor.batches;
        filling + if other { layout.half } else { 0 }
    }

    fn at_risk(&self) -> usize {
        0
    }

    fn batch(&mut self, layout: &Layout, number: u64, _round: bool) -> Option<&[u8]> {
        let full = self.counts[(number % 2) as usize] == layout.half;
        full.then(|| self.nvram.entries(layout, number, layout.half))
    }

    fn control(&self) -> u64 {
        0
    }

    fn due(
        &mut self,
        _layout: &Layout,
        _cursor: &LogCursor,
        _block: &mut Vec<u8>,
    ) -> Option<Blocks> {
        None
    }

    fn kept(&mut self, _layout: &Layout, _cursor: &LogCursor) {
        panic!("control blocks are stored with the records")
    }

    /// The control block first. Else recovery would have to look ahead for a half that is given
    /// away, and could.
    fn advanced(&mut self, layout: &Layout, cursor: &LogCursor, kind: Kind) {
        self.keep_control(layout, cursor);
        if kind == Kind::Batch {
            self.reset(layout, cursor.batches + 2);
            self.fill_the_other(layout, cursor);
        }
    }

    fn tell_lacking(&mut self, layout: &Layout, cursor: &LogCursor, lacking: Lacking) {
        if lacking != self.lacking {
            self.lacking = lacking;
            self.keep_control(layout, cursor);
        }
    }

    fn tail(&self, layout: &Layout, cursor: &LogCursor) -> Start {
        cursor.tail(layout)
    }

    fn nvram(&self) -> &Nvram {
        &self.nvram
    }

    #[cfg(test)]
    fn nvram_mut(&mut self) -> &mut Nvram {
        &mut self.nvram
    }

    fn audit(&self, layout: &Layout, cursor: &LogCursor) {
        let batches = cursor.batches;
        let halves = Half::read_both(&self.nvram, layout, batches);
        let halves = halves.unwrap_or_else(|damage| panic!("{damage}"));
        for half in halves {
            let index = (half.batch % 2) as usize;
            assert_eq!(half.count, self.counts[index], "entries of a half");
            assert_eq!(half.sum, self.sums[index], "checksum of a half");
        }
        assert!(self.filling > batches, "a batch in the log fills");
        assert!(self.filling <= batches + 2, "a batch was left out");
    }
}
