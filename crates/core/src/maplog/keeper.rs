//! Who keeps the updates of a map log that no record has yet, and says how far the log has come:
//! NVRAM, or the log's own drive.
//!
//! | | NVRAM (`in_nvram`) | Drive (`on_drive`) |
//! |---|---|---|
//! | an update is safe | when NVRAM counts it | when the batch that has it is written |
//! | a batch is written | when half of NVRAM is full | when there is an update and no write is under way |
//! | a control block | stored after each record | a write of its own: before the next record, if the tail has moved, once in each life, and when a drive is left alone |
//!
//! Everything else is the same: records, checkpoints, the region and how it is gone round.
//!
//! Sources: NVRAM, FAST 2002, section 5. The drive is ours.

use std::fmt;

use super::Entry;
use super::control::Lacking;
use super::cursor::{LogCursor, Start};
use super::format::Kind;
use super::layout::Layout;
use super::nvram::Nvram;
use crate::units::Blocks;

/// Keeps what no record has.
pub(super) trait Keeper: fmt::Debug + Send {
    /// Takes an update, for which there is room.
    fn record(&mut self, layout: &Layout, cursor: &LogCursor, entry: &Entry);

    /// Whether no update can be taken before the next record is written.
    fn is_full(&self, layout: &Layout) -> bool;

    /// Updates that can be taken before that.
    fn room(&self, layout: &Layout, cursor: &LogCursor) -> u32;

    /// Updates that were taken, and that a power cut would take back.
    fn at_risk(&self) -> usize;

    /// Forgets the updates that are at risk: they are taken again later. A batch under way that has
    /// some of them counts for nothing.
    fn take_back(&mut self) {}

    /// The updates of the batch with this number, if it is its turn. `round`: a round of
    /// checkpoints was asked for.
    fn batch(&mut self, layout: &Layout, number: u64, round: bool) -> Option<&[u8]>;

    /// Number of the control block that records follow; 0 if they do not tell.
    fn control(&self) -> u64;

    /// The control block that has to be written before the next record, if one has: puts it there,
    /// and says where it goes.
    fn due(&mut self, layout: &Layout, cursor: &LogCursor, block: &mut Vec<u8>) -> Option<Blocks>;

    /// It was written.
    fn kept(&mut self, layout: &Layout, cursor: &LogCursor);

    /// A record is in the log, as the cursor has it.
    fn advanced(&mut self, layout: &Layout, cursor: &LogCursor, kind: Kind);

    /// From now on these drives do not have all of the log. If one alone has, and the log is at home
    /// there, what was recorded is not safe before a control block says so.
    fn tell_lacking(&mut self, layout: &Layout, cursor: &LogCursor, lacking: Lacking);

    /// One control block more has to say it.
    fn tell_again(&mut self) {}

    /// Whether a control block says it, if it is so.
    fn has_told(&self) -> bool {
        true
    }

    /// From where recovery would walk.
    fn tail(&self, layout: &Layout, cursor: &LogCursor) -> Start;

    /// What survives a power cut beside the drives.
    fn nvram(&self) -> &Nvram;

    #[cfg(test)]
    fn nvram_mut(&mut self) -> &mut Nvram;

    /// Panics where something is not what is remembered.
    fn audit(&self, layout: &Layout, cursor: &LogCursor);
}
