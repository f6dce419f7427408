//! A sorted list that is fast when short and still quick when a million items wait.
//!
//! Items lie in order in chunks of at most [`CHUNK_MAX`], with a directory of the keys between
//! chunks: a B+-tree of two floors. With a queue's usual few dozen items that is one array,
//! searched in the cache; a walk to the neighbours is a step in memory. Chunks that run empty are
//! kept for the next split, so nothing is allocated once the list has been as long as it gets (a
//! `BTreeMap` allocates and frees as it goes).
//!
//! Costs: search O(log n); insertion and removal move at most a chunk, and once in some thirty
//! insertions a directory entry per chunk behind the split, which is O(n / chunk²) amortised: a few
//! tens of nanoseconds up to 10^5 items, some hundred at 10^6.

/// Most items in a chunk: one moves half of them at an insertion, so small is quick; the directory
/// has an entry per chunk, so large is quick when millions wait.
const CHUNK_MAX: usize = 64;
/// A chunk with fewer items joins a neighbour if both together fill at most [`JOINED_MAX`].
const LONELY_MAX: usize = CHUNK_MAX / 4;
/// Leaves room, so that the next insertion does not split again what was just joined.
const JOINED_MAX: usize = CHUNK_MAX * 3 / 4;

/// What has a place in an order. Keys are unique within a list.
pub trait Keyed: Copy {
    /// What the order is by.
    type Key: Copy + Ord + std::fmt::Debug;

    /// This item's place in the order.
    fn key(&self) -> Self::Key;
}

/// Items in the order of their keys.
#[derive(Clone, Debug)]
pub struct Sorted<T: Keyed> {
    /// At least one; none is empty but an only one. All keys of one are below all keys of the next.
    chunks: Vec<Vec<T>>,
    /// Between two chunks: keys below it belong to the lower one.
    fences: Vec<T::Key>,
    /// Empty chunks with their memory, for the next split.
    spare: Vec<Vec<T>>,
    len: usize,
}

/// A place in a list, valid until the list changes: an item, or the end behind the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    chunk: usize,
    slot: usize,
}

impl Cursor {
    /// The place of the item `offset` after this one in its run.
    #[inline]
    pub fn plus(self, offset: usize) -> Cursor {
        let Cursor { chunk, slot } = self;
        let slot = slot + offset;
        Cursor { chunk, slot }
    }
}

impl<T: Keyed> Default for Sorted<T> {
    fn default() -> Sorted<T> {
        Sorted {
            chunks: vec![Vec::new()],
            fences: Vec::new(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Keyed> Sorted<T> {
    /// How many items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an item in its place.
    ///
    /// # Panics
    /// If an item with this key is there already.
    pub fn insert(&mut self, item: T) {
        let key = item.key();
        let mut at = self.chunk_of(&key);
        if self.chunks[at].len() == CHUNK_MAX {
            self.split(at);
            at += usize::from(self.fences[at] <= key);
        }
        let chunk = &mut self.chunks[at];
        let slot = chunk.partition_point(|other| other.key() < key);
        let taken = chunk.get(slot).is_some_and(|other| other.key() == key);
        assert!(!taken, "two items have the key {key:?}");
        // The first chunk takes no memory before it is needed, then as much as the others.
        chunk.reserve_exact(CHUNK_MAX - chunk.len());
        chunk.insert(slot, item);
        self.len += 1;
    }

    /// The first item whose key is not below `key`, or the end.
    #[inline]
    pub fn seek(&self, key: &T::Key) -> Cursor {
        let chunk = self.chunk_of(key);
        let slot = self.chunks[chunk].partition_point(|item| item.key() < *key);
        if slot == self.chunks[chunk].len() {
            return Cursor {
                chunk: chunk + 1,
                slot: 0,
            };
        }
        Cursor { chunk, slot }
    }

    /// How many items have keys below `key`: O(log n) and a look at each run before it.
    pub fn below(&self, key: &T::Key) -> usize {
        let Cursor { chunk, slot } = self.seek(key);
        self.chunks[..chunk].iter().map(Vec::len).sum::<usize>() + slot
    }

    /// The item at a place; none at the end.
    #[inline]
    pub fn at(&self, cursor: Cursor) -> Option<&T> {
        self.chunks.get(cursor.chunk)?.get(cursor.slot)
    }

    /// The place after an item.
    #[inline]
    pub fn after(&self, cursor: Cursor) -> Cursor {
        let Cursor { chunk, slot } = cursor;
        if slot + 1 < self.chunks[chunk].len() {
            return Cursor {
                chunk,
                slot: slot + 1,
            };
        }
        Cursor {
            chunk: chunk + 1,
            slot: 0,
        }
    }

    /// The place before another, which may be the end; none before the first item.
    #[inline]
    pub fn before(&self, cursor: Cursor) -> Option<Cursor> {
        let Cursor { chunk, slot } = cursor;
        if slot > 0 {
            return Some(Cursor {
                chunk,
                slot: slot - 1,
            });
        }
        let chunk = chunk.checked_sub(1)?;
        let slot = self.chunks[chunk].len().checked_sub(1)?;
        Some(Cursor { chunk, slot })
    }

    /// The items from a place on that lie side by side; none at the end.
    #[inline]
    pub fn run_from(&self, cursor: Cursor) -> &[T] {
        match self.chunks.get(cursor.chunk) {
            Some(chunk) => &chunk[cursor.slot..],
            None => &[],
        }
    }

    /// The items before a place that lie side by side; none before the first.
    #[inline]
    pub fn run_before(&self, cursor: Cursor) -> &[T] {
        let Cursor { chunk, slot } = cursor;
        match slot {
            0 => chunk
                .checked_sub(1)
                .map_or(&[], |chunk| &self.chunks[chunk]),
            _ => &self.chunks[chunk][..slot],
        }
    }

    /// The place `count` items after another, which has so many in its run.
    #[inline]
    pub fn forward(&self, cursor: Cursor, count: usize) -> Cursor {
        let Cursor { chunk, slot } = cursor;
        let slot = slot + count;
        if self.chunks.get(chunk).is_some_and(|run| slot < run.len()) {
            return Cursor { chunk, slot };
        }
        Cursor {
            chunk: chunk + 1,
            slot: 0,
        }
    }

    /// The place `count` items before another, which has so many in the run before it.
    #[inline]
    pub fn back(&self, cursor: Cursor, count: usize) -> Cursor {
        let Cursor { chunk, slot } = cursor;
        match slot {
            0 => Cursor {
                chunk: chunk - 1,
                slot: self.chunks[chunk - 1].len() - count,
            },
            _ => Cursor {
                chunk,
                slot: slot - count,
            },
        }
    }

    /// The item with the lowest key.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.chunks.first()?.first()
    }

    /// The item with the highest key.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    /// All items, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// Takes out the item at a place.
    ///
    /// # Panics
    /// At the end: there is none.
    pub fn remove(&mut self, cursor: Cursor) -> T {
        let Cursor { chunk, slot } = cursor;
        let item = self.chunks[chunk].remove(slot);
        self.len -= 1;
        if self.chunks[chunk].len() < LONELY_MAX && self.chunks.len() > 1 {
            self.join(chunk);
        }
        item
    }

    /// Takes out the item with this key, if there is one.
    pub fn take(&mut self, key: &T::Key) -> Option<T> {
        let cursor = self.seek(key);
        let found = self.at(cursor).is_some_and(|item| item.key() == *key);
        found.then(|| self.remove(cursor))
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub fn audit(&self) {
        assert_eq!(self.chunks.len(), self.fences.len() + 1);
        assert_eq!(self.len, self.iter().count());
        for chunk in &self.chunks {
            assert!(chunk.len() <= CHUNK_MAX, "a chunk overflows");
            assert!(!chunk.is_empty() || self.len == 0, "a chunk stays empty");
        }
        for (pair, fence) in self.chunks.windows(2).zip(&self.fences) {
            let (below, above) = (pair[0].last(), pair[1].first());
            assert!(below.is_some_and(|last| last.key() < *fence));
            assert!(above.is_some_and(|first| *fence <= first.key()));
        }
        let keys = || self.iter().map(Keyed::key);
        assert!(
            keys().zip(keys().skip(1)).all(|(low, high)| low < high),
            "keys out of order"
        );
    }

    /// The chunk where a key belongs.
    #[inline]
    fn chunk_of(&self, key: &T::Key) -> usize {
        self.fences.partition_point(|fence| fence <= key)
    }

    fn fresh(&mut self) -> Vec<T> {
        self.spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(CHUNK_MAX))
    }

    /// Moves the upper half of a full chunk into a new one behind it.
    fn split(&mut self, at: usize) {
        let mut upper = self.fresh();
        upper.extend(self.chunks[at].drain(CHUNK_MAX / 2..));
        self.fences.insert(at, upper[0].key());
        self.chunks.insert(at + 1, upper);
    }

    /// Takes an empty chunk out of use; there is another.
    fn retire(&mut self, at: usize) {
        self.fences.remove(at.saturating_sub(1));
        let chunk = self.chunks.remove(at);
        self.spare.push(chunk);
    }

    /// Empties a short chunk into a neighbour, if one has room; an empty one goes in any case.
    fn join(&mut self, at: usize) {
        if self.chunks[at].is_empty() {
            return self.retire(at);
        }
        let room_with = |low: usize| {
            let both = self.chunks.get(low)?.len() + self.chunks.get(low + 1)?.len();
            (both <= JOINED_MAX).then_some(low)
        };
        let lower = at.checked_sub(1).and_then(room_with);
        if let Some(low) = lower.or_else(|| room_with(at)) {
            let (head, tail) = self.chunks.split_at_mut(low + 1);
            head[low].append(&mut tail[0]);
            self.retire(low + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Keyed for (u32, u32) {
        type Key = u32;
        fn key(&self) -> u32 {
            self.0
        }
    }

    #[test]
    fn neighbours_are_found_across_chunks() {
        let mut list = Sorted::default();
        for key in (0..1_000).rev() {
            list.insert((key * 2, key));
        }
        list.audit();
        for probe in 0..1_998 {
            let cursor = list.seek(&probe);
            assert_eq!(list.at(cursor).unwrap().0, probe.div_ceil(2) * 2);
            let before = list.before(cursor).map(|low| list.at(low).unwrap().0);
            let expected = (probe.div_ceil(2) * 2).checked_sub(2);
            assert_eq!(before, expected);
        }
        let end = list.seek(&1_999);
        assert_eq!(list.at(end), None);
        assert_eq!(list.at(list.before(end).unwrap()), Some(&(1_998, 999)));
    }

    #[test]
    fn short_chunks_join_and_memory_is_kept() {
        let mut list = Sorted::default();
        for key in 0..4_096 {
            list.insert((key, 0));
        }
        let chunks = list.chunks.len();
        for key in (0..4_096).filter(|key| key % 16 != 0) {
            list.take(&key).unwrap();
            list.audit();
        }
        assert_eq!(list.len(), 256);
        assert!(list.chunks.len() <= chunks / 8, "{}", list.chunks.len());
        assert_eq!(list.chunks.len() + list.spare.len(), chunks);
    }

    #[test]
    #[should_panic(expected = "two items have the key 7")]
    fn a_key_is_there_once() {
        let mut list = Sorted::default();
        list.insert((7, 1));
        list.insert((7, 2));
    }

    proptest! {
        #[test]
        fn it_does_what_a_tree_does(steps in prop::collection::vec((0u32..400, 0u8..8), 1..2_000)) {
            let (mut list, mut tree) = (Sorted::default(), BTreeMap::new());
            for (index, (key, act)) in steps.into_iter().enumerate() {
                match act {
                    0..=3 if !tree.contains_key(&key) => {
                        list.insert((key, index as u32));
                        tree.insert(key, index as u32);
                    }
                    0..=5 => prop_assert_eq!(list.take(&key).map(|item| item.1), tree.remove(&key)),
                    _ => {
                        let cursor = list.seek(&key);
                        let above = tree.range(key..).next();
                        prop_assert_eq!(list.at(cursor).map(|i| i.0), above.map(|(k, _)| *k));
                        let below = list.before(cursor).and_then(|low| list.at(low));
                        prop_assert_eq!(below.map(|i| i.0), tree.range(..key).next_back().map(|(k, _)| *k));
                    }
                }
                list.audit();
            }
            prop_assert!(list.iter().map(|i| (&i.0, &i.1)).eq(tree.iter()));
        }
    }
}
