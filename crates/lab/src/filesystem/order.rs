//! What must be on the medium before what: the rules by which pointers, blocks and bits of blocks
//! follow each other.
//!
//! A block that has pointers waits while one of the blocks that it points to is not on the medium.
//! A block is *bare* from when it lands until a pointer to it can be found from an inode on the
//! medium, and no bitmap that is written shows it until then. And blocks of a file that was removed
//! are free only when its inode has been written without them. So a power cut at any instant leaves
//! no pointer to a block that was not written, and none that two files have; what it leaves beyond
//! that is blocks that nobody points to, which are free. A few look-ups for each block.

use std::collections::{BTreeMap, BTreeSet};

use super::files::Key;

/// A pointer in a block that was written: to what, and where that lies.
pub(super) type Pointer = (Key, u64);

/// Who waits for whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Blocks with pointers, by how many of their blocks are not on the medium.
    waiting: BTreeMap<Key, u64>,
    /// Blocks of removed files, by the block of inodes that had them.
    freed: BTreeMap<Key, Vec<u64>>,
    bare: BTreeSet<u64>,
    /// The pointers of indirect blocks as they are on the medium.
    written: BTreeMap<Key, Vec<Pointer>>,
}

impl Order {
    /// A block that is not on the medium belongs to what this one points to.
    pub(super) fn wait(&mut self, parent: Key) {
        *self.waiting.entry(parent).or_default() += 1;
    }

    /// It is on the medium, or will never be.
    pub(super) fn wait_no_more(&mut self, parent: Key) {
        let count = self.waiting.get_mut(&parent).expect("it was waited for");
        *count -= 1;
        if *count == 0 {
            self.waiting.remove(&parent);
        }
    }

    /// Whether a block may be written.
    pub(super) fn may_go(&self, key: Key) -> bool {
        !self.waiting.contains_key(&key)
    }

    /// A block has landed.
    pub(super) fn landed(&mut self, at: u64) {
        self.bare.insert(at);
    }

    /// Whether a bitmap must not show it.
    #[cfg(test)]
    pub(super) fn is_bare(&self, at: u64) -> bool {
        self.bare.contains(&at)
    }

    /// A block with pointers is on the medium, itself at `at` if it is an indirect one; gives the
    /// blocks that bitmaps may show from now on.
    pub(super) fn written(
        &mut self,
        key: Key,
        at: Option<u64>,
        pointers: Vec<Pointer>,
    ) -> Vec<u64> {
        let mut shown = Vec::new();
        // What nobody points to on the medium shows nothing yet.
        if at.is_none_or(|at| !self.bare.contains(&at)) {
            self.show(&pointers, &mut shown);
        }
        if at.is_some() {
            self.written.insert(key, pointers);
        }
        shown
    }

    fn show(&mut self, pointers: &[Pointer], shown: &mut Vec<u64>) {
        for (key, at) in pointers {
            if !self.bare.remove(at) {
                continue;
            }
            shown.push(*at);
            if let Some(below) = self.written.remove(key) {
                self.show(&below, shown);
                self.written.insert(*key, below);
            }
        }
    }

    /// A block of a file that was removed is free when this block of inodes has been written.
    pub(super) fn free_behind(&mut self, inodes: Key, at: u64) {
        self.freed.entry(inodes).or_default().push(at);
    }

    /// The blocks that are free when this one, which is being written, is on the medium.
    pub(super) fn freed_by(&mut self, inodes: Key) -> Vec<u64> {
        self.freed.remove(&inodes).unwrap_or_default()
    }

    /// Whether blocks will be free.
    pub(super) fn frees(&self) -> bool {
        !self.freed.is_empty()
    }

    /// A block is free.
    pub(super) fn free(&mut self, at: u64) {
        self.bare.remove(&at);
    }

    /// An indirect block of a file that was removed.
    pub(super) fn forget(&mut self, key: Key) {
        self.waiting.remove(&key);
        self.written.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_show_what_an_inode_leads_to() {
        let mut order = Order::default();
        let (inodes, indirect) = (Key::Inodes(0), Key::Indirect(1, 0));
        let [data, more] = [12, 13].map(|index| Key::Data(1, index));
        for at in [50, 60] {
            order.landed(at);
        }
        // The indirect block is there, but no inode leads to it.
        assert!(
            order
                .written(indirect, Some(60), vec![(data, 50)])
                .is_empty()
        );
        assert_eq!(order.written(inodes, None, vec![(indirect, 60)]), [60, 50]);
        // Now it does.
        order.landed(51);
        let pointers = vec![(data, 50), (more, 51)];
        assert_eq!(order.written(indirect, Some(60), pointers), [51]);
        assert!(!order.is_bare(51));
    }

    #[test]
    fn a_pointer_waits_for_all_that_it_points_to() {
        let (mut order, inodes) = (Order::default(), Key::Inodes(3));
        order.wait(inodes);
        order.wait(inodes);
        order.wait_no_more(inodes);
        assert!(!order.may_go(inodes));
        order.wait_no_more(inodes);
        assert!(order.may_go(inodes));
    }
}
