//! Flushes that wait until what drives that are gone alone have is on another one.
//!
//! Data that were answered may be on a drive that is gone, and in the buffer of delayed copies. Their other copies are then written at once
//! (`gone`), and a flush of a client is *held* meanwhile. When none of its chunks is lost any more, the placement flushes the drives that are left
//! itself, as the copies may be in their caches, and answers with the end of that. If one of them cannot be written, its data are lost, and the
//! flush fails as `Gone`.
//!
//! Nothing is held, and nothing is looked at, while no drive is gone. O(chunks that are not settled) for a flush while one is lost, and for
//! each command that ends while a flush is held.

use slab::Slab;

use super::caches::FlushOf;
use super::unsettled::{Unsettled, members};
use super::{CopyOf, FixedCopies, Layout};
use crate::io::Tag;
use crate::op::{Failure, Status};
use crate::plan::{Plan, StepIndex};

/// From here on tags are of flushes that are held: no write has so high a key.
const FIRST: u64 = 1 << 63;

/// Flushes of clients that are held.
#[derive(Default)]
pub(super) struct Held {
    /// By key of their gates; whether the flush of the drives is under way that they wait for last.
    flushes: Slab<bool>,
}

impl Held {
    fn any(&self) -> bool {
        !self.flushes.is_empty()
    }

    fn flushing(&self) -> bool {
        self.flushes.iter().any(|(_, flushing)| *flushing)
    }

    /// Takes out those that wait for the flush of the drives, or all.
    fn take(&mut self, all: bool) -> Vec<Tag> {
        let taken = self
            .flushes
            .iter()
            .filter(|(_, flushing)| all || **flushing);
        let keys: Vec<usize> = taken.map(|(key, _)| key).collect();
        keys.iter().for_each(|key| _ = self.flushes.remove(*key));
        keys.iter().map(|key| Tag(FIRST + *key as u64)).collect()
    }
}

impl<L: Layout> FixedCopies<L> {
    /// A flush of a client waits until nothing is lost.
    pub(super) fn hold_flush(&mut self, out: &mut Plan) -> StepIndex {
        let key = self.held.flushes.insert(false);
        out.gate(Tag(FIRST + key as u64))
    }

    /// Answers what need not wait any more, and what would wait in vain.
    pub(super) fn answer_held(&mut self, out: &mut Plan) {
        if !self.held.any() {
            return;
        }
        if self.has_lost() {
            if !self.all_will_be_saved() {
                let all = self.held.take(true);
                all.iter().for_each(|tag| out.refuse(*tag, Failure::Gone));
            }
            return;
        }
        if self.caches.is_none() {
            let all = self.held.take(true);
            return all.iter().for_each(|tag| out.open(*tag));
        }
        if !self.held.flushing() {
            let flushes = self.held.flushes.iter_mut();
            flushes.for_each(|(_, flushing)| *flushing = true);
            self.plan_flush(FlushOf::Held, out);
        }
    }

    /// The flush of the drives has ended that held ones wait for. If another drive has gone meanwhile, they wait for one more.
    pub(super) fn held_flushed(&mut self, status: Status, out: &mut Plan) {
        match status {
            Status::Failed(Failure::Gone) => {
                let flushes = self.held.flushes.iter_mut();
                flushes.for_each(|(_, flushing)| *flushing = false);
            }
            Status::Failed(failure) => {
                let waited = self.held.take(false);
                waited.iter().for_each(|tag| out.refuse(*tag, failure));
            }
            Status::Done => {
                let waited = self.held.take(false);
                waited.iter().for_each(|tag| out.open(*tag));
            }
        }
    }

    /// Whether each chunk that is lost is being written to a drive that is left, or the buffer has it for one.
    pub(super) fn all_will_be_saved(&self) -> bool {
        let mut lost = self.unsettled.iter().filter(|state| self.is_lost(state));
        !self.column_is_lost && lost.all(|state| self.will_be_saved(state))
    }

    fn will_be_saved(&self, state: &Unsettled) -> bool {
        let left = self.left(state.chunk, self.all);
        let waits = |copy| self.delayed.waits(CopyOf::new(state.chunk, copy));
        let is_written = state.writing || state.flying & left != 0;
        is_written || !state.unbuffered && members(left).any(waits)
    }

    /// No flush is held for nothing.
    pub(super) fn audit_held(&self) {
        let waits = !self.held.any() || self.held.flushing();
        let comes = self.has_lost() && self.all_will_be_saved();
        assert!(waits || comes, "a flush waits in vain");
    }
}
