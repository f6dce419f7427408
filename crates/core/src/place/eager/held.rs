//! Answers that wait until what drives that are gone alone have is on another one.
//!
//! A write may be on one drive, and wait for its change of the map, when that drive goes. Its other copies are then written at once, from the
//! buffer of delayed copies, and its answer is *held* until one of them is in the map. So it is with a flush: what it covers may be
//! on such drives and in the buffer. It waits until all of that is written, and only then the drives that are left flush what their
//! caches have.
//!
//! An answer is held as long as every chunk that it waits for has a copy that is being written, or is to be. If one of these cannot be written, its
//! data are lost, and what waited for it fails as `Gone`.
//!
//! Nothing is held, and nothing is looked at, while no drive is gone. O(copies that are not settled, and writes) for a flush while some chunk
//! is lost, and for each command that ends while one is held.

use std::collections::BTreeSet;

use super::EagerCopies;
use crate::io::Tag;
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, PlannedIo, StepIndex, Target};
use crate::units::{Blocks, Pba};

/// The tag of the flush of a drive, which no I/O under way has.
pub(super) const FLUSH: Tag = Tag(u64::MAX);

/// An answer, by the tag of its gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    tag: Tag,
    until: Until,
}

/// What an answer waits for.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// This chunk is on a drive that is left.
    Saved(u32),
    /// All chunks are.
    AllSaved,
}

impl EagerCopies {
    /// A write is on drives that are gone alone: it is answered when its chunk is elsewhere.
    pub(super) fn hold_write(&mut self, tag: Tag, chunk: u32) {
        let until = Until::Saved(chunk);
        self.held.push(Held { tag, until });
    }

    /// A flush of every drive that is left. If something is on the others alone it waits until that is elsewhere, or fails if it will never be.
    pub(super) fn flush(&mut self, out: &mut Plan) {
        let lost = self.has_lost();
        let gate = (lost && self.all_will_be_saved()).then(|| self.hold_flush(out));
        if lost && gate.is_none() {
            out.failure = Some(Failure::Gone);
        }
        self.flush_left(gate, out);
    }

    /// A drive has ended its part of a flush. One that is gone is not needed if everything on it is elsewhere, or will be: then
    /// the others flush once more.
    pub(super) fn flush_ended(&mut self, status: Status, out: &mut Plan) {
        if status != Status::Failed(Failure::Gone) {
            return;
        }
        if !self.has_lost() {
            out.instead = Instead::Tolerated;
        } else if self.all_will_be_saved() {
            let gate = self.hold_flush(out);
            self.flush_left(Some(gate), out);
            out.instead = Instead::Step(gate);
        }
    }

    fn hold_flush(&mut self, out: &mut Plan) -> StepIndex {
        let (tag, until) = (self.changes.keep_tag(), Until::AllSaved);
        self.held.push(Held { tag, until });
        out.gate(tag)
    }

    fn flush_left(&self, gate: Option<StepIndex>, out: &mut Plan) {
        for drive in self.gone.left() {
            let target = Target::At(Pba(0));
            let mut flush = PlannedIo::new(drive, Op::Flush, target, Blocks(0));
            flush.tag = FLUSH;
            let step = out.io(flush);
            if let Some(gate) = gate {
                out.after(gate, step);
            }
        }
    }

    /// Answers what need not wait any more, and what would wait in vain.
    pub(super) fn answer_held(&mut self, out: &mut Plan) {
        let held = std::mem::take(&mut self.held);
        for Held { tag, until } in held {
            let (is_saved, will_be) = self.outlook(until);
            if !is_saved && will_be {
                self.held.push(Held { tag, until });
                continue;
            }
            match is_saved {
                true => out.open(tag),
                false => out.refuse(tag, Failure::Gone),
            }
            self.changes.give_back(tag);
        }
    }

    /// Nothing is saved any more.
    pub(super) fn refuse_held(&mut self, failure: Failure, out: &mut Plan) {
        for Held { tag, .. } in self.held.drain(..) {
            out.refuse(tag, failure);
            self.changes.give_back(tag);
        }
    }

    /// Whether what an answer waits for is so; else, whether it will be.
    fn outlook(&self, until: Until) -> (bool, bool) {
        match until {
            Until::Saved(chunk) => (!self.is_lost(chunk), self.will_be_saved(chunk)),
            Until::AllSaved => {
                let is_saved = !self.has_lost();
                (is_saved, !is_saved && self.all_will_be_saved())
            }
        }
    }

    /// Whether a chunk that is lost is on its way to a drive that is left, or the map is on its way to say that it is there. A write that is
    /// not on as many drives as its request waits for goes on; what that leads to shows when it has ended.
    fn will_be_saved(&self, chunk: u32) -> bool {
        let mut copies = self.copies_of(chunk);
        let is_on_its_way = |of| self.copies.will_have(of) || self.changes.leaves_open(of);
        let delayed = copies.any(|of| !self.gone.has(self.drive(of)) && is_on_its_way(of));
        delayed || self.writes.iter().any(|(_, write)| write.chunk == chunk)
    }

    /// Whether everything that is lost is on its way so, and the map is not lost.
    fn all_will_be_saved(&self) -> bool {
        let chunks: BTreeSet<u32> = self.copies.chunks().chain(self.writing()).collect();
        let saved = |chunk: &&u32| self.is_lost(**chunk) && self.will_be_saved(**chunk);
        let on_their_way = chunks.iter().filter(saved).count();
        !self.map_lost && !self.loses_map() && on_their_way == self.lost
    }

    /// No answer is held for nothing.
    pub(super) fn audit_held(&self) {
        for Held { tag, until } in &self.held {
            let (is_saved, will_be) = self.outlook(*until);
            assert!(!is_saved && will_be, "{tag:?} waits in vain for {until:?}");
        }
    }
}
