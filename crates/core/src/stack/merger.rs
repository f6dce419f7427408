//! I/Os that continue each other while they wait for a drive become one command.
//!
//! Two orders find a neighbour: where waiting I/Os begin, and where they end. Of several that end
//! (or begin) at the same block only the oldest is looked at, so that a thousand reads of one block
//! cost no search. What is merged goes by the name, the age and the stream of its oldest part; its
//! parts are kept in the order of their addresses. O(log n) for each I/O, and O(1) to join two
//! chains; nothing is allocated once the queue has been as long as it gets.

use crate::ids::{GroupId, IoId, StreamId};
use crate::io::Io;
use crate::list::{List, Pool};
use crate::op::Op;
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Pba};

/// Only I/Os of one kind are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    op: Op,
    priority: u16,
    group: GroupId,
    /// Whose it is; none where that does not matter.
    owner: Option<StreamId>,
}

/// Where an I/O that waits begins, or ends.
#[derive(Clone, Copy, Debug)]
struct Border {
    of: Likeness,
    at: Pba,
    sequence: u64,
    id: IoId,
}

impl Keyed for Border {
    type Key = (Likeness, Pba, u64);

    #[inline]
    fn key(&self) -> (Likeness, Pba, u64) {
        (self.of, self.at, self.sequence)
    }
}

/// An I/O as its scheduler sees it, and the I/Os that it is made of.
struct Whole {
    io: Io,
    of: Likeness,
    parts: List,
}

/// What merging did to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grown {
    /// An I/O that waits, as it was.
    pub(super) before: Io,
    /// As it is now.
    pub(super) after: Io,
    /// Another one that waited, and now is a part of it.
    pub(super) gone: Option<Io>,
}

/// I/Os of one queue that wait and may be merged, and those that run.
pub(super) struct Merger {
    most: Blocks,
    front: bool,
    /// Whether what somebody waits for joins only I/Os of its stream.
    apart: bool,
    begins: Sorted<Border>,
    ends: Sorted<Border>,
    /// By name.
    wholes: Vec<Option<Whole>>,
    parts: Pool<IoId>,
}

impl Merger {
    /// Merges up to `most` blocks; only behind what waits, unless `front`. If streams are `apart`,
    /// what somebody waits for joins only I/Os of its own stream.
    pub(super) fn new(most: Blocks, front: bool, apart: bool) -> Merger {
        Merger {
            most,
            front,
            apart,
            begins: Sorted::default(),
            ends: Sorted::default(),
            wholes: Vec::new(),
            parts: Pool::default(),
        }
    }

    /// Joins an I/O to one that waits; none if no neighbour waits.
    pub(super) fn join(&mut self, io: &Io, group: GroupId) -> Option<Grown> {
        let of = self.likeness(io, group);
        let behind = self.neighbour(&self.ends, of, io.at, io.len);
        let Some(behind) = behind else {
            let ahead = self.neighbour(&self.begins, of, end(io), io.len);
            return ahead
                .filter(|_| self.front)
                .map(|id| self.join_front(id, io));
        };
        let mut chain = self.take(behind);
        let before = chain.io;
        let mut after = Io {
            len: before.len + io.len,
            ..before
        };
        self.parts.push_back(&mut chain.parts, io.id);
        // It may have filled a gap.
        let ahead = self.neighbour(&self.begins, of, end(&after), after.len);
        let gone = ahead.map(|ahead| {
            let other = self.take(ahead);
            self.parts.append(&mut chain.parts, other.parts);
            let older = match other.io.sequence < before.sequence {
                true => other.io,
                false => before,
            };
            after = Io {
                at: after.at,
                place: after.place,
                len: after.len + other.io.len,
                ..older
            };
            other.io
        });
        let parts = chain.parts;
        self.put(Whole {
            io: after,
            of,
            parts,
        });
        Some(match gone {
            Some(other) if other.id == after.id => Grown {
                before: other,
                after,
                gone: Some(before),
            },
            gone => Grown {
                before,
                after,
                gone,
            },
        })
    }

    fn join_front(&mut self, ahead: IoId, io: &Io) -> Grown {
        let chain = self.take(ahead);
        let before = chain.io;
        let after = Io {
            at: io.at,
            place: io.place,
            len: io.len + before.len,
            ..before
        };
        let mut parts = List::default();
        self.parts.push_back(&mut parts, io.id);
        self.parts.append(&mut parts, chain.parts);
        self.put(Whole {
            io: after,
            of: chain.of,
            parts,
        });
        Grown {
            before,
            after,
            gone: None,
        }
    }

    /// An I/O waits from now on, and others may join it.
    pub(super) fn insert(&mut self, io: &Io, group: GroupId) {
        let mut parts = List::default();
        self.parts.push_back(&mut parts, io.id);
        self.put(Whole {
            io: *io,
            of: self.likeness(io, group),
            parts,
        });
    }

    /// An I/O starts: nothing joins it any more. What the command is to do, if it carries out
    /// several I/Os.
    pub(super) fn started(&mut self, id: IoId) -> Option<Io> {
        let whole = self.wholes.get_mut(id.index())?.take()?;
        self.forget_borders(&whole);
        let several = whole.parts.len() > 1;
        if several {
            let io = whole.io;
            self.wholes[id.index()] = Some(whole);
            return Some(io);
        }
        self.drop_parts(whole.parts);
        None
    }

    /// The I/Os of a command that runs, in the order of their addresses; just the one if it was not
    /// merged.
    pub(super) fn parts(&self, id: IoId) -> impl Iterator<Item = IoId> {
        let whole = self.wholes.get(id.index()).and_then(Option::as_ref);
        let parts = whole
            .into_iter()
            .flat_map(|whole| self.parts.iter(&whole.parts));
        parts.copied()
    }

    /// A command has ended: what it was to do, if it carried out several I/Os. These go to `parts`.
    pub(super) fn ended(&mut self, id: IoId, parts: &mut Vec<IoId>) -> Option<Io> {
        let whole = self.wholes.get_mut(id.index())?.take()?;
        parts.extend(self.parts.iter(&whole.parts));
        self.drop_parts(whole.parts);
        Some(whole.io)
    }

    /// The oldest I/O of the same kind with a border at `at`, unless both together are too long.
    fn neighbour(
        &self,
        borders: &Sorted<Border>,
        of: Likeness,
        at: Pba,
        len: Blocks,
    ) -> Option<IoId> {
        let found = borders.at(borders.seek(&(of, at, 0)))?;
        if (found.of, found.at) != (of, at) {
            return None;
        }
        let whole = self.whole(found.id);
        (whole.io.len + len <= self.most).then_some(found.id)
    }

    fn likeness(&self, io: &Io, group: GroupId) -> Likeness {
        Likeness {
            op: io.op,
            priority: io.priority,
            group,
            owner: (self.apart && io.sync).then_some(io.stream),
        }
    }

    fn whole(&self, id: IoId) -> &Whole {
        let whole = self.wholes[id.index()].as_ref();
        whole.expect("what has borders waits")
    }

    /// Takes out an I/O that waits, with its borders.
    fn take(&mut self, id: IoId) -> Whole {
        let whole = self.wholes[id.index()].take();
        let whole = whole.expect("what has borders waits");
        self.forget_borders(&whole);
        whole
    }

    fn put(&mut self, whole: Whole) {
        let (begin, end) = borders(&whole);
        self.begins.insert(begin);
        self.ends.insert(end);
        let index = whole.io.id.index();
        if self.wholes.len() <= index {
            self.wholes.resize_with(index + 1, || None);
        }
        self.wholes[index] = Some(whole);
    }

    fn forget_borders(&mut self, whole: &Whole) {
        let (begin, end) = borders(whole);
        let taken = (self.begins.take(&begin.key()), self.ends.take(&end.key()));
        assert!(
            matches!(taken, (Some(_), Some(_))),
            "{:?} has no borders",
            whole.io.id
        );
    }

    fn drop_parts(&mut self, mut parts: List) {
        while let Some(front) = parts.front() {
            self.parts.remove(&mut parts, front);
        }
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub(super) fn audit(&self) {
        self.begins.audit();
        self.ends.audit();
        assert_eq!(self.begins.len(), self.ends.len(), "a border got lost");
        for border in self.begins.iter() {
            assert_eq!(
                self.whole(border.id).io.at,
                border.at,
                "it begins elsewhere"
            );
        }
        for border in self.ends.iter() {
            assert_eq!(
                end(&self.whole(border.id).io),
                border.at,
                "it ends elsewhere"
            );
        }
        let wholes = self.wholes.iter().flatten();
        let parts: usize = wholes.map(|whole| whole.parts.len()).sum();
        assert_eq!(parts, self.parts.len(), "a part got lost");
    }
}

fn end(io: &Io) -> Pba {
    io.at + io.len
}

fn borders(whole: &Whole) -> (Border, Border) {
    let Whole { io, of, .. } = whole;
    let begin = Border {
        of: *of,
        at: io.at,
        sequence: io.sequence,
        id: io.id,
    };
    let end = Border {
        at: end(io),
        ..begin
    };
    (begin, end)
}
