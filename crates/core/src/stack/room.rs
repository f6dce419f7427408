//! The room before a scheduler: I/Os wait here until it admits them.
//!
//! They stand in lines, each in order of age, and of a line only the oldest is asked about. Reads and writes have lines of their own, since a limit of writes must not
//! keep reads out; so has each stream where the scheduler limits them one by one, since one that has its share must not keep others out. In
//! Linux each process waits for its request by itself.

use std::collections::BTreeMap;

use crate::io::Io;
use crate::op::Op;
use crate::sorted::{Keyed, Sorted};

/// An I/O that waits until it is admitted.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) io: Io,
    pub(super) merges: bool,
}

impl Keyed for Held {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.io.sequence
    }
}

/// Whose line it is: whether of writes, and of which stream.
type Whose = (bool, u32);

/// All lines that somebody stands in.
#[derive(Default)]
pub(super) struct Room {
    by_stream: bool,
    lines: BTreeMap<Whose, Sorted<Held>>,
    /// Lines by their oldest.
    by_age: BTreeMap<u64, Whose>,
    /// Lines that nobody stands in, to be used again.
    spare: Vec<Sorted<Held>>,
    held: usize,
}

impl Room {
    /// An empty one, with lines for each stream or for all.
    pub(super) fn new(by_stream: bool) -> Room {
        Room {
            by_stream,
            ..Room::default()
        }
    }

    fn whose(&self, io: &Io) -> Whose {
        let stream = if self.by_stream { io.stream.0 } else { 0 };
        (io.op != Op::Read, stream)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.held
    }

    /// Whether nobody stands in the line of an I/O.
    pub(super) fn is_free_for(&self, io: &Io) -> bool {
        !self.lines.contains_key(&self.whose(io))
    }

    pub(super) fn insert(&mut self, held: Held) {
        let (whose, spare) = (self.whose(&held.io), &mut self.spare);
        let line = self.lines.entry(whose);
        let line = line.or_insert_with(|| spare.pop().unwrap_or_default());
        let before = line.first().map(|held| held.io.sequence);
        line.insert(held);
        self.held += 1;
        self.oldest_changes(whose, before);
    }

    /// Takes an I/O out; `None` if it does not wait here.
    pub(super) fn take(&mut self, io: &Io) -> Option<Held> {
        let whose = self.whose(io);
        let line = self.lines.get_mut(&whose)?;
        let before = line.first().map(|held| held.io.sequence);
        let taken = line.take(&io.sequence)?;
        self.held -= 1;
        self.oldest_changes(whose, before);
        Some(taken)
    }

    /// A line has got or lost an I/O; `before` was the oldest of it.
    fn oldest_changes(&mut self, whose: Whose, before: Option<u64>) {
        let oldest = self.lines[&whose].first();
        let oldest = oldest.map(|held| held.io.sequence);
        if oldest != before {
            before.and_then(|before| self.by_age.remove(&before));
            oldest.and_then(|oldest| self.by_age.insert(oldest, whose));
        }
        if oldest.is_none() {
            self.spare.extend(self.lines.remove(&whose));
        }
    }

    /// The oldest of each line, in order of age.
    pub(super) fn oldest(&self) -> impl Iterator<Item = &Held> {
        let lines = self.by_age.values();
        lines.filter_map(|whose| self.lines[whose].first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{IoId, StreamId};
    use crate::position::Place;
    use crate::units::{Blocks, Instant, Pba};

    fn held(sequence: u64, op: Op, stream: u32) -> Held {
        let io = Io {
            id: IoId(sequence as u32),
            sequence,
            stream: StreamId(stream),
            op,
            at: Pba(0),
            open: false,
            len: Blocks(8),
            arrived: Instant::ZERO,
            priority: 0,
            fua: false,
            sync: op == Op::Read,
            place: Place::default(),
        };
        Held { io, merges: false }
    }

    fn oldest(room: &Room) -> Vec<u64> {
        room.oldest().map(|held| held.io.sequence).collect()
    }

    #[test]
    fn reads_and_writes_stand_apart_and_streams_where_they_are_limited() {
        for (by_stream, expected) in [(false, vec![1, 2]), (true, vec![1, 2, 4])] {
            let mut room = Room::new(by_stream);
            for (sequence, op, stream) in [
                (3, Op::Read, 7),
                (1, Op::Read, 7),
                (2, Op::Write, 7),
                (4, Op::Read, 9),
            ] {
                room.insert(held(sequence, op, stream));
            }
            assert_eq!((oldest(&room), room.len()), (expected, 4));
            assert!(!room.is_free_for(&held(0, Op::Write, 7).io));
            assert_eq!(room.is_free_for(&held(0, Op::Write, 9).io), by_stream);
            assert!(room.take(&held(2, Op::Write, 7).io).is_some());
            assert!(room.take(&held(2, Op::Write, 7).io).is_none());
            assert!(room.is_free_for(&held(0, Op::Write, 7).io));
            assert_eq!(room.len(), 3);
        }
    }
}
