//! Writes to the same chunk follow each other in the order in which they came.
//!
//! A placement that writes chunks as a whole reads, changes and writes back where a request covers
//! only a part of one, and maps what it wrote when that is done; two such writes at a time would
//! lose one. So a write (or discard) that touches a chunk of an unfinished one is blocked until
//! that one is answered. Reads are not blocked: what was not answered may be seen or not.
//!
//! On a drive with zones a zone is such a chunk, so that writes reach its pointer in their order,
//! one at a time, as the zone write plugging of Linux has it. Range writes wait for nobody: where
//! they go is not known.
//!
//! Of each chunk only the *last* write that came is kept, as runs of chunks in order: who waits for
//! that one waits for all before it. A new write takes over the runs that it covers, and counts the
//! writes that it took them from. Cost O(log n) per write, and amortised O(1) per write that it
//! waits for, however many wait for the same.

use slab::Slab;

use crate::contract::Shape;
use crate::op::Op;
use crate::request::Request;
use crate::sorted::{Keyed, Sorted};
use crate::units::Blocks;

/// The name of an unfinished write.
pub(super) type Key = u32;

/// Consecutive chunks whose last write is the same one.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    last: u64,
    write: Key,
}

impl Keyed for Run {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.first
    }
}

/// A write that is not answered.
#[derive(Default)]
struct Unfinished {
    /// Order of arrival.
    number: u64,
    /// The request, while it is blocked.
    blocked: Option<Request>,
    /// Writes before it that it waits for.
    waits_for: u32,
    /// Writes that wait for it.
    waiting: Vec<Key>,
    /// Where its first run began, and perhaps does no more.
    first: u64,
    /// The same of its other runs. Hardly ever are there any, so hardly ever is memory needed.
    others: Vec<u64>,
}

/// A blocked write that may begin.
#[derive(Clone, Copy, Debug)]
struct Ready {
    number: u64,
    write: Key,
}

impl Keyed for Ready {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.number
    }
}

/// What becomes of a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It begins. If it is a write, others wait for it under this name until it is answered.
    Begins(Option<Key>),
    /// It is blocked until [`Hazards::next`] gives it.
    Blocked,
}

/// Unfinished writes, and those that wait for one of them.
pub(super) struct Hazards {
    chunk: Blocks,
    /// Before this block the order is open. It is the begin of a chunk.
    from: Blocks,
    /// Runs of chunks that do not overlap.
    runs: Sorted<Run>,
    writes: Slab<Unfinished>,
    /// By order of arrival: blocked writes that may begin now.
    ready: Sorted<Ready>,
    arrived: u64,
    blocked: usize,
    /// Writes so far that were blocked and begin or end within a chunk.
    blocked_in_chunks: u64,
    /// Lists that are not in use, with their memory.
    lists: Vec<Vec<Key>>,
    starts: Vec<Vec<u64>>,
}

impl Hazards {
    /// Those of a placement: writes to the same chunk have an order, or to the same zone of its
    /// drive.
    pub(super) fn of(shape: &Shape) -> Hazards {
        match shape.zones {
            None => Hazards::new(shape.chunk, Blocks(0)),
            Some(zones) => Hazards::new(Blocks(zones.blocks), Blocks(zones.conventional)),
        }
    }

    pub(super) fn new(chunk: Blocks, from: Blocks) -> Hazards {
        Hazards {
            chunk,
            from,
            runs: Sorted::default(),
            writes: Slab::new(),
            ready: Sorted::default(),
            arrived: 0,
            blocked: 0,
            blocked_in_chunks: 0,
            lists: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// A request arrives.
    #[inline]
    pub(super) fn admit(&mut self, request: &Request) -> Admission {
        let changes = matches!(request.op, Op::Write | Op::Discard) && request.extent.len.0 > 0;
        // A range write has no address yet.
        let ordered = self.chunk.0 > 1 && request.extent.end().0 > self.from.0 && !request.offered;
        match ordered && changes {
            true => self.admit_write(request),
            false => Admission::Begins(None),
        }
    }

    fn admit_write(&mut self, request: &Request) -> Admission {
        let first = request.extent.start.0.max(self.from.0) / self.chunk.0;
        let last = (request.extent.end().0 - 1) / self.chunk.0;
        self.arrived += 1;
        let key = self.writes.insert(Unfinished {
            number: self.arrived,
            blocked: None,
            waits_for: 0,
            waiting: self.lists.pop().unwrap_or_default(),
            first,
            others: self.starts.pop().unwrap_or_default(),
        }) as Key;
        let waits_for = self.take_over(first, last, key);
        let write = key;
        self.runs.insert(Run { first, last, write });
        if waits_for == 0 {
            return Admission::Begins(Some(key));
        }
        self.blocked += 1;
        let ends = [request.extent.start.0, request.extent.end().0];
        self.blocked_in_chunks +=
            u64::from(ends.iter().any(|end| !end.is_multiple_of(self.chunk.0)));
        let write = &mut self.writes[key as usize];
        write.waits_for = waits_for;
        write.blocked = Some(*request);
        Admission::Blocked
    }

    /// Removes the runs of these chunks, and lets the new write wait for those whose they were. How
    /// many these are.
    fn take_over(&mut self, first: u64, last: u64, key: Key) -> u32 {
        let mut waits_for = 0;
        while let Some(run) = self.meeting(first, last) {
            self.runs.take(&run.first);
            if run.first < first {
                let last = first - 1;
                self.runs.insert(Run { last, ..run });
            }
            if run.last > last {
                let first = last + 1;
                self.runs.insert(Run { first, ..run });
                self.writes[run.write as usize].others.push(first);
            }
            // Several runs may be of the same write.
            let waiting = &mut self.writes[run.write as usize].waiting;
            if waiting.last() != Some(&key) {
                waiting.push(key);
                waits_for += 1;
            }
        }
        waits_for
    }

    /// A run that overlaps these chunks.
    #[inline]
    fn meeting(&self, first: u64, last: u64) -> Option<Run> {
        let above = self.runs.seek(&first);
        let below = self.runs.before(above);
        let meets = |at| {
            let run = self.runs.at(at)?;
            (run.first <= last && first <= run.last).then_some(*run)
        };
        below.and_then(meets).or_else(|| meets(above))
    }

    /// A write was answered. What waited only for it may begin: see [`Hazards::next`].
    #[inline]
    pub(super) fn answered(&mut self, key: Key) {
        let mut write = self.writes.remove(key as usize);
        for first in std::iter::once(write.first).chain(write.others.drain(..)) {
            let at = self.runs.seek(&first);
            let run = self.runs.at(at);
            if run.is_some_and(|run| run.first == first && run.write == key) {
                self.runs.remove(at);
            }
        }
        if write.others.capacity() > 0 {
            self.starts.push(write.others);
        }
        for waiting in write.waiting.drain(..) {
            let next = &mut self.writes[waiting as usize];
            next.waits_for -= 1;
            if next.waits_for == 0 {
                let number = next.number;
                let write = waiting;
                self.ready.insert(Ready { number, write });
            }
        }
        self.lists.push(write.waiting);
    }

    /// Whether a blocked write may begin now.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A blocked write that may begin now, the oldest first.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Request, Key)> {
        let number = self.ready.first()?.number;
        let key = self.ready.take(&number)?.write;
        let request = self.writes[key as usize].blocked.take();
        self.blocked -= 1;
        Some((request.expect("only what is blocked gets ready"), key))
    }

    /// Writes so far that were blocked and begin or end within a chunk.
    pub(super) fn blocked_in_chunks(&self) -> u64 {
        self.blocked_in_chunks
    }

    /// Requests that are blocked.
    #[inline]
    pub(super) fn blocked(&self) -> usize {
        self.blocked
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub(super) fn audit(&self) {
        let blocked = self.writes.iter().filter(|(_, one)| one.blocked.is_some());
        assert_eq!(blocked.count(), self.blocked, "a blocked write got lost");
        let waits: u32 = self.writes.iter().map(|(_, one)| one.waits_for).sum();
        let waiting: usize = self.writes.iter().map(|(_, one)| one.waiting.len()).sum();
        assert_eq!(waits as usize, waiting, "what writes wait for got lost");
        let mut behind = 0;
        for run in self.runs.iter() {
            assert!(run.first >= behind, "runs overlap at chunk {}", run.first);
            behind = run.last + 1;
        }
    }
}
