//! Range writes on a drive with zones: which zones are reset, and when.
//!
//! A block of a zone is free again only when its zone is reset. So the client counts what was
//! answered in each zone of its span. A zone in which no further write fits is reset at once, with
//! a discard that takes its place in the loop: everything in it counts as dead by then, as in a log
//! or a cache that drops the oldest first. So the load goes on for ever, and after one round of the
//! span it is steady: zones are filled to any degree, and as many blocks are reset as are written.
//! While no zone has room, as all are full and being reset, the client waits. A write that found no
//! pointer in its offer all the same, as after a failure, has the fullest zone reset. A zone that
//! cannot be reset, as a write failed there, is left alone. O(zones of the span) for a write that
//! found none, else O(1).

use std::collections::VecDeque;
use std::ops::Range;

use nearslot_core::ids::RequestId;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::Reply;
use nearslot_core::rng::Rng;
use nearslot_core::zones::ZoneShape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// It is to be reset, or is being reset.
    Resets,
    /// It cannot be reset.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Blocks of the writes that were answered.
    written: u64,
    state: State,
}

/// What a client knows of the zones of its span.
pub(super) struct Kept {
    shape: ZoneShape,
    /// The first zone of the span.
    first: u32,
    zones: Vec<Zone>,
    /// Blocks of a write.
    len: u64,
    /// How many more writes fit, of those that were answered.
    room: u64,
    /// Writes that are not answered.
    under_way: u64,
    /// Zones that are to be reset, by their place in the span.
    due: VecDeque<usize>,
    /// Resets that are not answered.
    resets: Vec<(RequestId, usize)>,
}

impl Kept {
    /// The zones of a span, which are empty, for writes of `len` blocks.
    pub(super) fn new(shape: ZoneShape, span: &Range<u64>, len: u64) -> Kept {
        let zones = (span.end - span.start) / shape.blocks;
        let empty = Zone {
            written: 0,
            state: State::Open,
        };
        Kept {
            shape,
            first: shape.zone_of(span.start).expect("the span was looked at"),
            zones: vec![empty; zones as usize],
            len,
            room: zones * (shape.capacity / len),
            under_way: 0,
            due: VecDeque::new(),
            resets: Vec::new(),
        }
    }

    /// Whether it is worth while to ask: a write may find room, a reset is to be asked for, or no
    /// answer is to come that leads to one.
    pub(super) fn may_ask(&self) -> bool {
        let nothing_comes = self.under_way == 0 && self.resets.is_empty();
        self.under_way < self.room || !self.due.is_empty() || nothing_comes
    }

    /// The blocks of a zone that is to be reset now.
    pub(super) fn next_reset(&mut self, id: RequestId) -> Option<Range<u64>> {
        let index = self.due.pop_front()?;
        self.resets.push((id, index));
        Some(self.blocks(index))
    }

    /// A write is asked for.
    pub(super) fn asks(&mut self) {
        self.under_way += 1;
    }

    /// All blocks of the zone that a place of the span lies in.
    pub(super) fn around(&self, at: u64) -> Range<u64> {
        let zone = self.shape.zone_of(at).expect("the span has no others");
        self.blocks((zone - self.first) as usize)
    }

    /// Where something that was written is read; the begin of a zone that is empty.
    pub(super) fn written(&self, rng: &mut Rng) -> u64 {
        let index = rng.below(self.zones.len() as u64) as usize;
        let writes = self.zones[index].written / self.len;
        self.blocks(index).start + rng.below(writes.max(1)) * self.len
    }

    pub(super) fn replied(&mut self, reply: &Reply) {
        let id = reply.request.id;
        if let Some(found) = self.resets.iter().position(|(reset, _)| *reset == id) {
            let (_, index) = self.resets.swap_remove(found);
            return self.was_reset(index, reply.status);
        }
        if reply.request.op != Op::Write {
            return;
        }
        self.under_way -= 1;
        match reply.status {
            Status::Done => self.has_landed(reply.request.extent.start.0),
            Status::Failed(Failure::Exhausted) => self.found_none(),
            Status::Failed(_) => {}
        }
    }

    fn has_landed(&mut self, at: u64) {
        let zone = self.shape.zone_of(at).expect("no write is conventional");
        let index = (zone - self.first) as usize;
        self.zones[index].written += self.len;
        // It may be reset already, since a write found no room.
        if self.zones[index].state == State::Open {
            self.room -= 1;
            if self.fit_in(index) == 0 {
                self.reset(index);
            }
        }
    }

    /// How many more writes fit into a zone.
    fn fit_in(&self, index: usize) -> u64 {
        (self.shape.capacity - self.zones[index].written) / self.len
    }

    fn reset(&mut self, index: usize) {
        self.room -= self.fit_in(index);
        self.zones[index].state = State::Resets;
        self.due.push_back(index);
    }

    /// A write found no pointer in what it offered: unless resets make room anyway, the fullest
    /// zone is reset.
    fn found_none(&mut self) {
        if !self.due.is_empty() || !self.resets.is_empty() {
            return;
        }
        let open = |index: &usize| self.zones[*index].state == State::Open;
        let all = (0..self.zones.len()).filter(open);
        let fullest = all.min_by_key(|index| self.fit_in(*index));
        if let Some(index) = fullest {
            self.reset(index);
        }
    }

    fn was_reset(&mut self, index: usize, status: Status) {
        let zone = &mut self.zones[index];
        if status.is_done() {
            (zone.written, zone.state) = (0, State::Open);
            self.room += self.fit_in(index);
        } else {
            zone.state = State::Lost;
        }
    }

    fn blocks(&self, index: usize) -> Range<u64> {
        let begin = self.shape.begin(self.first + index as u32);
        begin..begin + self.shape.blocks
    }
}
