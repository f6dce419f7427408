//! The room before a scheduler: I/Os wait here until it admits them.
//!
//! They stand in lines, each in order of age, and of a line only the oldest is asked about. Reads
//! and writes have lines of their own, since a limit of writes must not keep reads out; so has each
//! stream where the scheduler limits them one by one, since one that has its share must not keep
//! others out. In Linux each process waits for its request by itself.

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

/// A line by something: whose it is, or its oldest.
#[derive(Clone, Copy)]
struct By<K> {
    key: K,
    line: usize,
}

impl<K: Ord + Copy + std::fmt::Debug> Keyed for By<K> {
    type Key = K;

    #[inline]
    fn key(&self) -> K {
        self.key
    }
}

/// Reads, writes that somebody waits for, and other writes: those of one class may all be refused.
const CLASSES: usize = 3;

fn class_of(io: &Io) -> usize {
    match io.op {
        Op::Read => 0,
        _ if io.sync => 1,
        _ => 2,
    }
}

/// All lines that somebody stands in.
#[derive(Default)]
pub(super) struct Room {
    by_stream: bool,
    /// Lines, those among them that nobody stands in, which are used again.
    lines: Vec<Sorted<Held>>,
    spare: Vec<usize>,
    by_whose: Sorted<By<Whose>>,
    /// By the class of its oldest.
    by_age: [Sorted<By<u64>>; CLASSES],
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

    /// The line of an I/O, if anybody stands in it.
    fn line_of(&self, io: &Io) -> Option<usize> {
        let whose = self.whose(io);
        let found = self.by_whose.at(self.by_whose.seek(&whose));
        found.filter(|by| by.key == whose).map(|by| by.line)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.held
    }

    /// Whether nobody stands in the line of an I/O.
    pub(super) fn is_free_for(&self, io: &Io) -> bool {
        self.line_of(io).is_none()
    }

    pub(super) fn insert(&mut self, held: Held) {
        let line = self.line_of(&held.io).unwrap_or_else(|| {
            let line = self.spare.pop().unwrap_or(self.lines.len());
            if line == self.lines.len() {
                self.lines.push(Sorted::default());
            }
            let key = self.whose(&held.io);
            self.by_whose.insert(By { key, line });
            line
        });
        self.change(line, |waiting| waiting.insert(held));
        self.held += 1;
    }

    /// Takes an I/O out; `None` if it does not wait here.
    pub(super) fn take(&mut self, io: &Io) -> Option<Held> {
        let line = self.line_of(io)?;
        let taken = self.change(line, |waiting| waiting.take(&io.sequence))?;
        self.held -= 1;
        if self.lines[line].is_empty() {
            self.by_whose.take(&self.whose(io));
            self.spare.push(line);
        }
        Some(taken)
    }

    /// Changes a line, and where it stands by age.
    fn change<T>(&mut self, line: usize, how: impl FnOnce(&mut Sorted<Held>) -> T) -> T {
        let oldest = |waiting: &Sorted<Held>| {
            let first = waiting.first();
            first.map(|held| (class_of(&held.io), held.key()))
        };
        let waiting = &mut self.lines[line];
        let before = oldest(waiting);
        let found = how(waiting);
        let after = oldest(waiting);
        if before != after {
            if let Some((class, key)) = before {
                self.by_age[class].take(&key);
            }
            if let Some((class, key)) = after {
                self.by_age[class].insert(By { key, line });
            }
        }
        found
    }

    /// The oldest of each line, class by class, those of a class in order of age.
    pub(super) fn oldest(&self) -> [impl Iterator<Item = &Held>; CLASSES] {
        self.by_age.each_ref().map(|by_age| {
            let lines = by_age.iter();
            lines.filter_map(|by| self.lines[by.line].first())
        })
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
            offer: None,
            len: Blocks(8),
            arrived: Instant::ZERO,
            priority: 0,
            fua: false,
            sync: op == Op::Read,
            place: Place::default(),
        };
        Held { io, merges: false }
    }

    fn oldest(room: &Room) -> [Vec<u64>; CLASSES] {
        let numbers = |held: &Held| held.io.sequence;
        room.oldest()
            .map(|of_class| of_class.map(numbers).collect())
    }

    #[test]
    fn reads_and_writes_stand_apart_and_streams_where_they_are_limited() {
        for (by_stream, reads) in [(false, vec![1]), (true, vec![1, 4])] {
            let mut room = Room::new(by_stream);
            for (sequence, op, stream) in [
                (3, Op::Read, 7),
                (1, Op::Read, 7),
                (2, Op::Write, 7),
                (4, Op::Read, 9),
            ] {
                room.insert(held(sequence, op, stream));
            }
            assert_eq!((oldest(&room), room.len()), ([reads, vec![], vec![2]], 4));
            assert!(!room.is_free_for(&held(0, Op::Write, 7).io));
            assert_eq!(room.is_free_for(&held(0, Op::Write, 9).io), by_stream);
            assert!(room.take(&held(2, Op::Write, 7).io).is_some());
            assert!(room.take(&held(2, Op::Write, 7).io).is_none());
            assert!(room.is_free_for(&held(0, Op::Write, 7).io));
            assert_eq!(room.len(), 3);
        }
    }
}
