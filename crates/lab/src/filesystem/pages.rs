//! What is in the cache: blocks that are to be written, the longest waiting first, those on their
//! way out, and data that was used last.
//!
//! A block that becomes dirty while it is being written is to be written once more. O(log n) of `n`
//! blocks.

use std::collections::BTreeMap;

use super::files::{FileId, Key};

/// A block that is dirty, on its way out, or both.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Since when it is dirty, in order.
    since: Option<u64>,
    writing: bool,
}

/// Blocks that are to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    pages: BTreeMap<Key, Page>,
    dirty: BTreeMap<u64, Key>,
    /// Data among that which are not on their way out.
    data: BTreeMap<u64, Key>,
    number: u64,
    cleaned: u64,
}

impl Pages {
    /// How many are dirty or on their way out.
    pub(super) fn len(&self) -> u64 {
        self.pages.len() as u64
    }

    /// What becomes dirty next is dirty since then.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How many are neither any more.
    pub(super) fn cleaned(&self) -> u64 {
        self.cleaned
    }

    /// A block has changed.
    pub(super) fn touch(&mut self, key: Key) {
        let page = self.pages.entry(key).or_default();
        if page.since.is_none() {
            page.since = Some(self.number);
            if key.is_data() && !page.writing {
                self.data.insert(self.number, key);
            }
            self.dirty.insert(self.number, key);
            self.number += 1;
        }
    }

    /// The first that is dirty since `from` or later, with since when.
    pub(super) fn dirty_from(&self, from: u64) -> Option<(u64, Key)> {
        let mut rest = self.dirty.range(from..);
        rest.next().map(|(since, key)| (*since, *key))
    }

    /// All that is dirty, the longest first.
    pub(super) fn dirty(&self) -> impl Iterator<Item = Key> {
        self.dirty.values().copied()
    }

    /// Data that are dirty and not on their way out, the longest first.
    pub(super) fn data(&self) -> impl Iterator<Item = Key> {
        self.data.values().copied()
    }

    /// Since when a block is dirty, if it is and not on its way out.
    pub(super) fn since(&self, key: Key) -> Option<u64> {
        let page = self.pages.get(&key)?;
        page.since.filter(|_| !page.writing)
    }

    /// Whether a block is dirty, and not on its way out.
    pub(super) fn may_go(&self, key: Key) -> bool {
        self.since(key).is_some()
    }

    /// Whether a block is in the cache as it is dirty or on its way out.
    pub(super) fn has(&self, key: Key) -> bool {
        self.pages.contains_key(&key)
    }

    /// A block is written; gives since when it was dirty.
    pub(super) fn begin(&mut self, key: Key) -> u64 {
        let page = self.pages.get_mut(&key).expect("it is dirty");
        let since = page.since.take().expect("it is dirty");
        assert!(!page.writing, "{key:?} is on its way out");
        page.writing = true;
        self.leave(since);
        since
    }

    /// It has been; whether it has changed meanwhile.
    pub(super) fn end(&mut self, key: Key) -> bool {
        let page = self.pages.get_mut(&key).expect("it was on its way out");
        assert!(page.writing, "{key:?} was not on its way out");
        page.writing = false;
        match page.since {
            Some(since) if key.is_data() => {
                self.data.insert(since, key);
            }
            Some(_) => {}
            None => {
                self.pages.remove(&key);
                self.cleaned += 1;
                return false;
            }
        }
        true
    }

    /// It was not written, and is dirty as long as before; whether it has changed meanwhile.
    pub(super) fn put_back(&mut self, key: Key, since: u64) -> bool {
        let again = self.end(key);
        if again {
            let later = self.pages[&key].since.expect("it is dirty");
            self.leave(later);
        } else {
            self.cleaned -= 1;
        }
        let page = Page {
            since: Some(since),
            writing: false,
        };
        self.pages.insert(key, page);
        self.dirty.insert(since, key);
        if key.is_data() {
            self.data.insert(since, key);
        }
        again
    }

    /// What is dirty since then does not wait any more.
    fn leave(&mut self, since: u64) {
        self.dirty.remove(&since);
        self.data.remove(&since);
    }

    /// It needs not be written any more; whether it is on its way out all the same.
    pub(super) fn forget(&mut self, key: Key) -> bool {
        let Some(page) = self.pages.get_mut(&key) else {
            return false;
        };
        let (since, writing) = (page.since.take(), page.writing);
        if let Some(since) = since {
            self.leave(since);
        }
        if !writing {
            self.pages.remove(&key);
            self.cleaned += 1;
        }
        writing
    }
}

/// Data that need not be written, the least recently used first.
#[derive(Clone, Debug, Default)]
pub(super) struct Clean {
    used: BTreeMap<(FileId, u32), u64>,
    order: BTreeMap<u64, (FileId, u32)>,
    number: u64,
}

impl Clean {
    /// A block was used; at most so many stay.
    pub(super) fn use_block(&mut self, of: (FileId, u32), room: u64) {
        self.forget(of);
        self.used.insert(of, self.number);
        self.order.insert(self.number, of);
        self.number += 1;
        while self.used.len() as u64 > room {
            let (_, oldest) = self.order.pop_first().expect("there is one");
            self.used.remove(&oldest);
        }
    }

    /// Whether a block is there.
    pub(super) fn has(&self, of: (FileId, u32)) -> bool {
        self.used.contains_key(&of)
    }

    /// It is not any more.
    pub(super) fn forget(&mut self, of: (FileId, u32)) {
        if let Some(number) = self.used.remove(&of) {
            self.order.remove(&number);
        }
    }

    /// Nothing is.
    pub(super) fn clear(&mut self) {
        self.used.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_on_its_way_out_goes_again() {
        let mut pages = Pages::default();
        let [one, other] = [0, 1].map(Key::Inodes);
        pages.touch(one);
        pages.touch(other);
        pages.touch(one);
        assert_eq!((pages.len(), pages.dirty_from(0)), (2, Some((0, one))));
        let since = pages.begin(one);
        pages.touch(one);
        assert!(!pages.may_go(one) && pages.may_go(other));
        assert!(pages.end(one));
        assert_eq!(pages.dirty_from(since + 1), Some((1, other)));
        // What was not written keeps its turn.
        let since = pages.begin(other);
        pages.touch(other);
        pages.put_back(other, since);
        assert_eq!(pages.dirty_from(0), Some((1, other)));
        pages.begin(one);
        assert!(pages.forget(one) && !pages.forget(other));
        assert!(!pages.end(one));
        assert_eq!((pages.len(), pages.dirty_from(0)), (0, None));
    }

    #[test]
    fn the_least_recently_used_leaves() {
        let mut clean = Clean::default();
        for index in [0, 1, 0, 2] {
            clean.use_block((7, index), 2);
        }
        assert_eq!(
            [0, 1, 2].map(|index| clean.has((7, index))),
            [true, false, true]
        );
    }
}
