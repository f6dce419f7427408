//! Changes of the map that wait until their store lets them be made, and which of them concern a
//! chunk.
//!
//! A discard asks of each of its chunks whether a change waits, and may add one, so that is no look
//! at all that wait. O(log n) a change, and O(changes of the chunk) a question.

use slab::Slab;

use super::{Change, Landed};
use crate::freemap::Slot;
use crate::io::Tag;
use crate::maplog::Entry;
use crate::place::delayed::CopyOf;
use crate::sorted::{Keyed, Sorted};

/// Changes that wait, each by the tag that its store knows it by, which is that of its gate, too.
#[derive(Default)]
pub(super) struct Waiting {
    /// None where an answer alone has the tag.
    changes: Slab<Option<Waits>>,
    by_chunk: Sorted<OfChunk>,
}

/// A change that waits.
#[derive(Clone, Copy, Debug)]
struct Waits {
    change: Change,
    entry: Entry,
}

/// A change of a chunk.
#[derive(Clone, Copy, Debug)]
struct OfChunk {
    chunk: u32,
    key: usize,
}

impl Keyed for OfChunk {
    type Key = (u32, usize);

    #[inline]
    fn key(&self) -> (u32, usize) {
        (self.chunk, self.key)
    }
}

impl Waiting {
    /// The tag of the change that comes next.
    pub(super) fn next_tag(&self) -> Tag {
        Tag(self.changes.vacant_key() as u64)
    }

    /// A change has to wait, by the tag that came next.
    pub(super) fn add(&mut self, change: Change, entry: Entry) {
        let key = self.changes.insert(Some(Waits { change, entry }));
        let chunk = entry.chunk;
        self.by_chunk.insert(OfChunk { chunk, key });
    }

    /// One of them.
    pub(super) fn get(&self, tag: Tag) -> &Change {
        let waits = self.changes[tag.0 as usize].as_ref();
        &waits.expect("a change waits").change
    }

    /// It need not wait any more. Its tag is kept until that is [given back](Waiting::give_back).
    pub(super) fn take(&mut self, tag: Tag) -> Change {
        let key = tag.0 as usize;
        let waits = self.changes[key].take();
        let Waits { change, entry } = waits.expect("a change waits");
        let taken = self.by_chunk.take(&(entry.chunk, key));
        assert!(taken.is_some(), "{change:?} waits");
        change
    }

    /// A tag for an answer without a change.
    pub(super) fn keep_tag(&mut self) -> Tag {
        Tag(self.changes.insert(None) as u64)
    }

    /// No answer has this tag any more: it is free for others.
    pub(super) fn give_back(&mut self, tag: Tag) {
        let waits = self.changes.remove(tag.0 as usize);
        assert!(waits.is_none(), "{tag:?} is of a change that waits");
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Tag, &Change)> {
        let all = self.changes.iter();
        all.filter_map(|(key, waits)| Some((Tag(key as u64), &waits.as_ref()?.change)))
    }

    /// Those of a chunk.
    fn of(&self, chunk: u32) -> impl Iterator<Item = &Waits> {
        let mut at = self.by_chunk.seek(&(chunk, 0));
        std::iter::from_fn(move || {
            let found = self.by_chunk.at(at)?;
            at = self.by_chunk.after(at);
            let of_chunk = found.chunk == chunk;
            self.changes[found.key].as_ref().filter(|_| of_chunk)
        })
    }

    /// Whether one of a chunk waits.
    pub(super) fn any(&self, chunk: u32) -> bool {
        self.of(chunk).next().is_some()
    }

    /// Whether a copy as it is now is stale after one of them, or lies elsewhere.
    pub(super) fn overtakes(&self, of: CopyOf) -> bool {
        let mut changes = self.of(of.chunk);
        changes.any(|Waits { entry, .. }| entry.alone || entry.copy == of.copy)
    }

    /// Whether what lands of a copy now is not needed: after one of them a newer version, or none,
    /// is what counts, or the copy is where that says. One that gives the copy up is about the slot
    /// where it could not be read.
    pub(super) fn supersedes(&self, of: CopyOf) -> bool {
        let mut changes = self.of(of.chunk);
        changes.any(|Waits { change, entry }| {
            let moves = matches!(change, Change::Moves(_));
            entry.alone || moves && entry.copy == of.copy
        })
    }

    /// Whether one of them brings a newer version of a chunk.
    pub(super) fn renews(&self, chunk: u32) -> bool {
        let brings = |Waits { change, entry }: &Waits| {
            let moves = matches!(change, Change::Moves(_));
            moves && entry.alone
        };
        self.of(chunk).any(brings)
    }

    /// Copies that are on their drives and of which one of them is to tell the map, if they have
    /// what its current copies have: none if one of them makes all others stale, be it a discard.
    pub(super) fn arrived(&self, chunk: u32) -> impl Iterator<Item = (CopyOf, Slot)> {
        let is_new = self.of(chunk).any(|Waits { entry, .. }| entry.alone);
        let all = self.of(chunk).filter(move |_| !is_new);
        all.filter_map(|Waits { change, .. }| match change {
            Change::Moves(Landed { of, slot, .. }) => Some((*of, *slot)),
            _ => None,
        })
    }

    /// Whether one of them gives a copy up.
    pub(super) fn gives_up(&self, of: CopyOf) -> bool {
        let gives_up =
            |waits: &Waits| matches!(waits.change, Change::GivesUp(other, _) if other == of);
        self.of(of.chunk).any(gives_up)
    }

    /// Whether one of them says of a copy that it is given up, or stays after all: until that is
    /// safe, nobody knows what the map on the drives says of it.
    pub(super) fn leaves_open(&self, of: CopyOf) -> bool {
        let concerns = |waits: &Waits| match waits.change {
            Change::GivesUp(other, _) | Change::Stays(other) => other == of,
            Change::Moves(_) | Change::Discards(_) => false,
        };
        self.of(of.chunk).any(concerns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DriveId;
    use crate::place::eager::Reason;

    fn of(chunk: u32, copy: u8) -> CopyOf {
        CopyOf { chunk, copy }
    }

    fn add(waiting: &mut Waiting, change: Change, entry: Entry) -> Tag {
        let tag = waiting.next_tag();
        waiting.add(change, entry);
        tag
    }

    #[test]
    fn changes_are_known_by_their_chunks() {
        let mut waiting = Waiting::default();
        let gives_up = Change::GivesUp(of(7, 1), Slot(3));
        let first = add(&mut waiting, gives_up, of(7, 1).entry(Slot(9), false));
        let second = add(
            &mut waiting,
            Change::Discards(8),
            of(8, 0).entry(Slot(9), true),
        );
        assert!(waiting.any(7));
        assert!(waiting.any(8));
        assert!(!waiting.any(6));
        assert!(!waiting.any(9));
        assert!(waiting.overtakes(of(7, 1)));
        assert!(!waiting.overtakes(of(7, 0)));
        assert!(waiting.overtakes(of(8, 0)));
        assert!(waiting.overtakes(of(8, 1)));
        assert!(waiting.gives_up(of(7, 1)));
        assert!(!waiting.gives_up(of(8, 0)));
        assert_eq!(waiting.take(first).chunk(), 7);
        assert!(!waiting.any(7));
        assert!(waiting.any(8));
        assert_eq!(waiting.iter().count(), 1);
        assert_ne!(waiting.next_tag(), first, "its answer may be held");
        let alone = waiting.keep_tag();
        assert!(![first, second, waiting.next_tag()].contains(&alone));
        waiting.give_back(first);
        assert_eq!(waiting.next_tag(), first);
        assert_eq!(waiting.take(second).chunk(), 8);
    }

    #[test]
    fn what_lands_is_superseded_by_newer_versions_and_by_where_its_copy_goes() {
        let moves = |copy| {
            Change::Moves(Landed {
                of: of(7, copy),
                drive: DriveId(0),
                slot: Slot(9),
                reason: Reason::Move,
            })
        };
        let gives_up = Change::GivesUp(of(7, 1), Slot(3));
        for (change, alone, superseded, renewed) in [
            (gives_up, false, [false, false], false),
            (Change::Stays(of(7, 1)), false, [false, false], false),
            (moves(1), false, [false, true], false),
            (moves(1), true, [true, true], true),
            (Change::Discards(7), true, [true, true], false),
        ] {
            let mut waiting = Waiting::default();
            add(&mut waiting, change, of(7, 1).entry(Slot(9), alone));
            let found = [0, 1].map(|copy| waiting.supersedes(of(7, copy)));
            assert_eq!(found, superseded, "{change:?}");
            assert_eq!(waiting.renews(7), renewed, "{change:?}");
        }
    }

    /// The changes of a chunk may be in several of the pieces that a sorted list consists of.
    #[test]
    fn all_changes_of_a_chunk_are_asked() {
        let mut waiting = Waiting::default();
        for copy in [vec![0; 1_000], vec![1]].concat() {
            let gives_up = Change::GivesUp(of(7, copy), Slot(3));
            add(&mut waiting, gives_up, of(7, copy).entry(Slot(9), false));
        }
        assert_eq!(waiting.of(7).count(), 1_001);
        assert_eq!(waiting.of(6).count() + waiting.of(8).count(), 0);
        assert!(waiting.gives_up(of(7, 1)));
        assert!(!waiting.gives_up(of(7, 2)));
    }

    /// A hundred thousand discards, each asked about before: a look at all that wait each time
    /// would take minutes.
    #[test]
    fn many_changes_wait_and_are_asked_about_quickly() {
        let mut waiting = Waiting::default();
        for chunk in 0..100_000 {
            assert!(!waiting.any(chunk));
            add(
                &mut waiting,
                Change::Discards(chunk),
                of(chunk, 0).entry(Slot(9), true),
            );
        }
        for chunk in 0..100_000 {
            assert_eq!(waiting.take(Tag(chunk)).chunk(), chunk as u32);
        }
    }
}
