//! Flushes that wait until what drives that are gone alone have is on another one.
//!
//! Data that were answered may be on a drive that is gone, and in the buffer of delayed copies.
//! Their other copies are then written at once (`gone`), and a flush of a client is *held*
//! meanwhile. When none of its chunks is lost any more, the placement flushes the drives that are
//! left itself, as the copies may be in their caches, and answers with the end of that. If one of
//! them cannot be written, its data are lost, and the flush fails as `Gone`.
//!
//! Nothing is held, and nothing is looked at, while no drive is gone. O(chunks that are not
//! settled) for a flush while one is lost, and for each command that fails or is left out while a
//! flush is held: only that can make a flush wait in vain.

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
    /// By key of their gates; the flush of the drives that they wait for last, once that is under
    /// way.
    flushes: Slab<Option<Tag>>,
    /// Whether some may wait in vain from now on.
    in_doubt: bool,
}

impl Held {
    fn any(&self) -> bool {
        !self.flushes.is_empty()
    }

    fn flushing(&self) -> bool {
        self.flushes.iter().any(|(_, flush)| flush.is_some())
    }

    /// Takes out those of which the flush of the drives is such.
    fn take(&mut self, is_such: impl Fn(Option<Tag>) -> bool) -> Vec<Tag> {
        let taken = self.flushes.iter().filter(|(_, flush)| is_such(**flush));
        let keys: Vec<usize> = taken.map(|(key, _)| key).collect();
        keys.iter().for_each(|key| _ = self.flushes.remove(*key));
        keys.iter().map(|key| Tag(FIRST + *key as u64)).collect()
    }

    fn take_all(&mut self) -> Vec<Tag> {
        self.take(|_| true)
    }
}

impl<L: Layout> FixedCopies<L> {
    /// A flush of a client waits until nothing is lost.
    pub(super) fn hold_flush(&mut self, out: &mut Plan) -> StepIndex {
        let key = self.held.flushes.insert(None);
        out.gate(Tag(FIRST + key as u64))
    }

    /// A command has failed, or was left out: what waits for a copy may wait in vain.
    pub(super) fn doubt_held(&mut self) {
        self.held.in_doubt = true;
    }

    /// Answers what need not wait any more, and what would wait in vain.
    pub(super) fn answer_held(&mut self, out: &mut Plan) {
        if !self.held.any() {
            return;
        }
        let in_doubt = std::mem::take(&mut self.held.in_doubt);
        if self.has_lost() {
            if in_doubt && !self.all_will_be_saved() {
                let all = self.held.take_all();
                all.iter().for_each(|tag| out.refuse(*tag, Failure::Gone));
            }
            return;
        }
        if self.held.flushing() {
            return;
        }
        let flush = match self.caches.is_some() {
            true => self.plan_flush(FlushOf::Held, out),
            false => None,
        };
        if flush.is_none() {
            let all = self.held.take_all();
            all.iter().for_each(|tag| out.open(*tag));
        }
        let flushes = self.held.flushes.iter_mut();
        flushes.for_each(|(_, of)| *of = flush);
    }

    /// A flush of the drives has ended that held ones may wait for. If another drive has gone
    /// meanwhile, they wait for one more.
    pub(super) fn held_flushed(&mut self, flush: Tag, status: Status, out: &mut Plan) {
        if status == Status::Failed(Failure::Gone) {
            let waiting = self.held.flushes.iter_mut().map(|(_, of)| of);
            waiting.for_each(|of| _ = of.take_if(|of| *of == flush));
            return;
        }
        for tag in self.held.take(|of| of == Some(flush)) {
            match status {
                Status::Done => out.open(tag),
                Status::Failed(failure) => out.refuse(tag, failure),
            }
        }
    }

    /// Whether each chunk that is lost is being written to a drive that is left, or the buffer has
    /// it for one.
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
