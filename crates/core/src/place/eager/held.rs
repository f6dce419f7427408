//! Answers that wait until what drives that are gone alone have is on another one.
//!
//! A write may be on one drive, and wait for its change of the map, when that drive goes. Its other
//! copies are then written at once, from the buffer of delayed copies, and its answer is *held*
//! until one of them is in the map. So it is with a flush: what it covers may be on such drives and
//! in the buffer. It waits until all of that is written, and only then the drives that are left
//! flush what their caches have.
//!
//! An answer is held as long as every chunk that it waits for has a copy that is being written, or
//! is to be. If one of these cannot be written, its data are lost, and what waited for it fails as
//! `Gone`.
//!
//! Nothing is held, and nothing is looked at, while no drive is gone. O(copies that are not
//! settled, writes under way and answers that are held) for a flush while some chunk is lost, and
//! for each command that fails or is left out while one is held: only that can make an answer wait
//! in vain. Else O(answers that are held).

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

/// What becomes of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outlook {
    Saved,
    Waits,
    Vain,
}

impl EagerCopies {
    /// A command has failed, or was left out: what waits for a copy may wait in vain.
    pub(super) fn doubt_held(&mut self) {
        self.in_doubt = true;
    }

    /// A write is on drives that are gone alone: it is answered when its chunk is elsewhere.
    pub(super) fn hold_write(&mut self, tag: Tag, chunk: u32) {
        let until = Until::Saved(chunk);
        self.held.push(Held { tag, until });
        self.doubt_held();
    }

    /// A flush of every drive that is left. If something is on the others alone it waits until that
    /// is elsewhere, or fails if it will never be.
    pub(super) fn flush(&mut self, out: &mut Plan) {
        let lost = self.has_lost();
        let gate = (lost && self.all_will_be_saved()).then(|| self.hold_flush(out));
        if lost && gate.is_none() {
            out.failure = Some(Failure::Gone);
        }
        _ = self.flush_left(gate, out);
    }

    /// A drive has ended its part of a flush. One that is gone is not needed if everything on it is
    /// elsewhere, or will be: then the others flush once more, as a copy may have come into the
    /// cache of one that had ended its part.
    pub(super) fn flush_ended(&mut self, status: Status, out: &mut Plan) {
        if status != Status::Failed(Failure::Gone) {
            return;
        }
        let lost = self.has_lost();
        if lost && !self.all_will_be_saved() {
            return;
        }
        let gate = lost.then(|| self.hold_flush(out));
        let first = match lost || self.keeps_in_caches {
            true => self.flush_left(gate, out),
            false => None,
        };
        out.instead = gate.or(first).map_or(Instead::Tolerated, Instead::Step);
    }

    fn hold_flush(&mut self, out: &mut Plan) -> StepIndex {
        let (tag, until) = (self.changes.keep_tag(), Until::AllSaved);
        self.held.push(Held { tag, until });
        out.gate(tag)
    }

    /// The first of these flushes.
    fn flush_left(&self, gate: Option<StepIndex>, out: &mut Plan) -> Option<StepIndex> {
        let mut first = None;
        for drive in self.gone.left() {
            let target = Target::At(Pba(0));
            let mut flush = PlannedIo::new(drive, Op::Flush, target, Blocks(0));
            flush.tag = FLUSH;
            let step = out.io(flush);
            if let Some(gate) = gate {
                out.after(gate, step);
            }
            first.get_or_insert(step);
        }
        first
    }

    /// Answers what need not wait any more, and what would wait in vain.
    pub(super) fn answer_held(&mut self, out: &mut Plan) {
        if self.held.is_empty() {
            return;
        }
        let in_doubt = std::mem::take(&mut self.in_doubt);
        let written = in_doubt.then(|| self.written());
        let written = written.as_ref();
        let all = self.outlook(Until::AllSaved, written);
        let mut held = std::mem::take(&mut self.held);
        held.retain(|Held { tag, until }| {
            let outlook = match until {
                Until::AllSaved => all,
                Until::Saved(_) => self.outlook(*until, written),
            };
            match outlook {
                Outlook::Waits => return true,
                Outlook::Saved => out.open(*tag),
                Outlook::Vain => out.refuse(*tag, Failure::Gone),
            }
            self.changes.give_back(*tag);
            false
        });
        self.held = held;
    }

    /// Nothing is saved any more.
    pub(super) fn refuse_held(&mut self, failure: Failure, out: &mut Plan) {
        for Held { tag, .. } in self.held.drain(..) {
            out.refuse(tag, failure);
            self.changes.give_back(tag);
        }
    }

    /// Chunks of foreground writes.
    fn written(&self) -> BTreeSet<u32> {
        self.writes.iter().map(|(_, write)| write.chunk).collect()
    }

    /// What becomes of an answer. That it waits in vain is looked for only if that is in doubt: then
    /// these chunks are `written`.
    fn outlook(&self, until: Until, written: Option<&BTreeSet<u32>>) -> Outlook {
        let is_saved = match until {
            Until::Saved(chunk) => !self.is_lost(chunk),
            Until::AllSaved => !self.has_lost(),
        };
        let will_be = |written: &BTreeSet<u32>| match until {
            Until::Saved(chunk) => self.will_be_saved(chunk, written),
            Until::AllSaved => self.all_will_be_saved_by(written),
        };
        match is_saved {
            true => Outlook::Saved,
            false if written.is_some_and(|written| !will_be(written)) => Outlook::Vain,
            false => Outlook::Waits,
        }
    }

    /// Whether a chunk that is lost is on its way to a drive that is left, or the map is on its way
    /// to say that it is there. A write that is not on as many drives as its request waits for goes
    /// on; what that leads to shows when it has ended.
    fn will_be_saved(&self, chunk: u32, written: &BTreeSet<u32>) -> bool {
        let mut copies = self.copies_of(chunk);
        let is_on_its_way = |of| self.copies.will_have(of) || self.changes.leaves_open(of);
        let delayed = copies.any(|of| !self.gone.has(self.drive(of)) && is_on_its_way(of));
        delayed || written.contains(&chunk)
    }

    /// Whether everything that is lost is on its way so, and the map is not lost.
    fn all_will_be_saved(&self) -> bool {
        self.all_will_be_saved_by(&self.written())
    }

    fn all_will_be_saved_by(&self, written: &BTreeSet<u32>) -> bool {
        let chunks: BTreeSet<u32> = self.copies.chunks().chain(self.writing()).collect();
        let saved = |chunk: &&u32| self.is_lost(**chunk) && self.will_be_saved(**chunk, written);
        let on_their_way = chunks.iter().filter(saved).count();
        !self.map_lost && !self.loses_map() && on_their_way == self.lost
    }

    /// No answer is held for nothing.
    pub(super) fn audit_held(&self) {
        let written = self.written();
        for Held { tag, until } in &self.held {
            let outlook = self.outlook(*until, Some(&written));
            assert_eq!(outlook, Outlook::Waits, "{tag:?} for {until:?}");
        }
    }
}
